"""The queue of questions, and leases: who is looking at which question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, get_args

import sqlalchemy as sa

from likewise._reasons import Reason
from likewise.exceptions import BadValueError
from likewise.studio.records import AskedKind, QueuedQuestion
from likewise.studio.store._connection import (
    MOST_NAME,
    DialectStatement,
    StoreConnection,
    check_integer,
    check_number,
    check_text,
)
from likewise.studio.store._schema import leases, questions

_COLUMNS: Any = (questions.c.id, questions.c.kind, questions.c["items"], questions.c.score, questions.c.why)
_QUEUED = questions.c.queued == 1
_HERE = leases.c.question == questions.c.id
_QUESTION: Any = sa.bindparam("the_question")
_PERSON: Any = sa.bindparam("the_person")
_NOW: Any = sa.bindparam("the_time")
_OVERLAP: Any = sa.bindparam("overlap")
_N: Any = sa.bindparam("n", type_=sa.Integer())

# Built once: building a statement costs as much as running it.
_LIVE = sa.and_(leases.c.state == "held", leases.c.until > _NOW)
_HELD = (
    sa.select(*_COLUMNS)
    .join(leases, _HERE)
    .where(leases.c.person == _PERSON, _LIVE)
    .order_by(questions.c.place)
    .limit(_N)
)
# "Mine": answered, skipped or held by this person now. "Others": answered or held by others.
_MINE = sa.and_(leases.c.person == _PERSON, sa.or_(leases.c.state.in_(["answered", "skipped"]), _LIVE))
_OTHERS = sa.and_(leases.c.person != _PERSON, sa.or_(leases.c.state == "answered", _LIVE))
_OPEN = (
    sa.select(*_COLUMNS)
    .where(questions.c.id.in_(sa.select(leases.c.question).where(_LIVE)))
    .order_by(questions.c.place)
)
_FREE = (
    sa.select(*_COLUMNS)
    .where(
        _QUEUED,
        questions.c.n_answers < _OVERLAP,
        ~sa.exists().where(_HERE, _MINE),
        sa.select(sa.func.count()).select_from(leases).where(_HERE, _OTHERS).scalar_subquery() < _OVERLAP,
    )
    .order_by(questions.c.place)
    .limit(_N)
    .with_for_update(of=questions, skip_locked=True, key_share=True)  # PostgreSQL; not needed for SQLite
)
_AMONG = leases.c.question.in_(sa.bindparam("among", expanding=True))
_TAKEN_SINCE = sa.union_all(
    sa.select(leases.c.question).where(_AMONG, _MINE),
    sa.select(leases.c.question)
    .where(_AMONG, _OTHERS)
    .group_by(leases.c.question)
    .having(sa.func.count() >= _OVERLAP),
)
_N_OTHERS = sa.select(sa.func.count()).select_from(leases).where(leases.c.question == _QUESTION, _OTHERS)
_HELD_BY_OTHERS = sa.select(sa.func.count()).select_from(leases).where(leases.c.person != _PERSON, _LIVE)
_FULL = sa.select(questions.c.id).where(_QUEUED, questions.c.n_answers >= _OVERLAP)
_WITHDRAW_FULL = (
    sa.update(questions)
    .where(questions.c.id.in_(_FULL.with_for_update(skip_locked=True, key_share=True).scalar_subquery()))
    .values(queued=0)
)
_RENEW = (
    sa.update(leases)
    .where(leases.c.person == _PERSON, leases.c.state == "held", _AMONG)
    .values(until=sa.bindparam("end"))
)
_STATE = sa.select(leases.c.state).where(leases.c.question == _QUESTION, leases.c.person == _PERSON)
_COUNT = (
    sa.update(questions)
    .where(questions.c.id == _QUESTION)
    .values(n_answers=questions.c.n_answers + sa.bindparam("by", type_=sa.Integer()))
)


def _upsert_lease(insert: Any, **only: Any) -> Any:
    return insert.on_conflict_do_update(
        index_elements=["question", "person"],
        set_={"state": insert.excluded.state, "until": insert.excluded.until},
        **only,
    )


_MARK = DialectStatement.from_builder(_upsert_lease, leases)
_ANSWERED = DialectStatement.from_builder(
    lambda insert: _upsert_lease(insert, where=leases.c.state != "answered").returning(leases.c.question),
    leases,
)
_ENQUEUE = DialectStatement.from_builder(
    lambda insert: insert.on_conflict_do_update(
        index_elements=["id"],
        set_={"queued": 1, "place": insert.excluded.place},
        where=questions.c.queued == 0,
    ),
    questions,
)
_TRIES = 20


class Queue(StoreConnection):
    """Questions and leases.

    A question is offered until the required number of people have answered it. A lease reserves it for one
    person until it expires; the caller supplies the current time.
    """

    def refill(self, new: Sequence[QueuedQuestion], *, now: float | None = None) -> None:
        """Replace all questions that nobody holds or has answered; the remaining ones stay in front.

        An expired lease counts as held unless `now` is given. Questions that a person has seen can still be
        found by :meth:`get_question`.
        """
        rows = [_make_row(question) for question in new]
        held: Any = leases.c.state == "held"
        if now is not None:
            held = sa.and_(held, leases.c.until > check_number(now, "the time"))
        self._lock_exclusive()  # prevents leases meanwhile
        seen = sa.exists().where(_HERE)
        kept = sa.exists().where(_HERE, sa.or_(held, leases.c.state == "answered"))
        self._change(sa.delete(questions).where(_QUEUED, ~seen))
        self._change(sa.update(questions).where(_QUEUED, ~kept).values(queued=0))
        if not rows:
            return
        last = self._run(sa.select(sa.func.coalesce(sa.func.max(questions.c.place), 0))).scalar_one()
        for place, row in enumerate(rows, start=last + 1):
            row["place"] = place
        self._change(_ENQUEUE, rows)

    def lease(
        self, person: int, n: int, *, now: float, until: float, overlap: int
    ) -> list[tuple[QueuedQuestion, float]]:
        """Lease up to `n` questions to a person until `until`: those they hold, then new ones.

        Questions that this person answered or skipped, or that have `overlap` answers and active leases of
        other people, are excluded.
        """
        n = check_integer(n, "n", least=0)
        given: dict[str, Any] = {
            **_bind(person, now),
            "overlap": check_integer(overlap, "overlap", least=1),
            "end": check_number(until, "the end of the lease"),
        }
        self._lock_shared()
        found = [_make_question(row) for row in self._run(_HELD, {**given, "n": n})]
        if found:
            self._change(_RENEW, {**given, "among": [question.id for question in found]})
        if len(found) < n:
            self._change(_WITHDRAW_FULL, given)
            taken = self._take(n - len(found), given)
            found += taken
            self._mark([question.id for question in taken], person, "held", given["end"])
        return [(question, given["end"]) for question in found]

    def get_question(self, id: str) -> QueuedQuestion | None:
        """Return a question that is queued or was leased, or None."""
        wanted = check_text(id, "the question")
        row = self._run(sa.select(*_COLUMNS).where(questions.c.id == wanted)).one_or_none()
        return None if row is None else _make_question(row)

    def was_leased(self, id: str, person: int) -> bool:
        """Return True if this person was ever given this question, even if the lease has expired."""
        return self._get_state(id, person) is not None

    def is_leased(self, id: str, person: int) -> bool:
        """Return True if this person holds this question: neither answered, skipped nor released."""
        return self._get_state(id, person) == "held"

    def mark_answered(self, id: str, person: int) -> None:
        """Record that the person answered the question; repeated calls have no effect."""
        self._lock_shared()
        row = {"question": check_text(id, "the question"), "person": check_integer(person, "the person")}
        first = self._change(
            _ANSWERED,
            {**row, "state": "answered", "until": 0.0},
            unknown=f"There is no person {person}, or no question {id}.",
        ).one_or_none()
        if first is not None:
            self._change(_COUNT, {"the_question": id, "by": 1})

    def withdraw(self, person: int, ids: Sequence[str]) -> None:
        """Stop offering these questions until they are queued again, and release the person's leases.

        Leases of other people are kept.
        """
        self.release(person, ids)
        self._change(sa.update(questions).where(questions.c.id.in_(list(ids))).values(queued=0))

    def replace_question(self, person: int, id: str, new: QueuedQuestion) -> None:
        """Withdraw a question and offer another in its place."""
        place = self._run(sa.select(questions.c.place).where(questions.c.id == id)).scalar_one()
        self.withdraw(person, [id])
        self._change(_ENQUEUE, [{**_make_row(new), "place": place}])

    def mark_skipped(self, id: str, person: int) -> None:
        """Record that the person skipped this question; others may get it until the queue is refilled."""
        self._leave(id, person, "skipped", 0.0)

    def reopen(self, id: str, person: int, *, now: float, until: float, overlap: int) -> None:
        """Lease a question again after an answer or skip was undone.

        If it has `overlap` answers and active leases of others by now, it is released instead.
        """
        given = {"the_question": check_text(id, "the question"), **_bind(person, now)}
        end = check_number(until, "the end of the lease")
        if self._run(_N_OTHERS, given).scalar_one() < check_integer(overlap, "overlap", least=1):
            self._leave(id, person, "held", end)
        else:
            self._leave(id, person, "released", 0.0)

    def release(self, person: int, ids: Iterable[str] | None = None) -> None:
        """Release these questions, or all that the person holds."""
        self._lock_shared()
        wanted = leases.c.person == check_integer(person, "the person")
        change = sa.update(leases).where(wanted, leases.c.state == "held").values(state="released")
        if ids is not None:
            change = change.where(leases.c.question.in_([check_text(id, "the question") for id in ids]))
        self._change(change)

    def open_leases(self, now: float) -> list[QueuedQuestion]:
        """Return the questions that people are looking at."""
        return [_make_question(row) for row in self._run(_OPEN, {"the_time": check_number(now, "the time")})]

    def count_leases_of_others(self, person: int, now: float) -> int:
        """Return the number of active leases of other people."""
        return int(self._run(_HELD_BY_OTHERS, _bind(person, now)).scalar_one())

    def _take(self, n: int, given: dict[str, Any]) -> list[QueuedQuestion]:
        """Select free questions and lock them."""
        taken: list[QueuedQuestion] = []
        for _ in range(_TRIES):
            found = [_make_question(row) for row in self._run(_FREE, {**given, "n": n})]
            if not self._postgres:
                return found
            # Another transaction may have leased a question after our statement began and before it locked
            # the row. The row is locked now, so a second check is final.
            among = {**given, "among": [question.id for question in found]}
            gone = set(self._run(_TAKEN_SINCE, among).scalars()) if found else set()
            taken = [question for question in found if question.id not in gone]
            if not gone:
                break
        return taken

    def _mark(self, ids: Sequence[str], person: int, state: str, until: float) -> None:
        if not ids:
            return
        self._change(
            _MARK,
            [{"question": id, "person": person, "state": state, "until": until} for id in ids],
            unknown=f"There is no person {person}, or no question {', '.join(ids)}.",
        )

    def _leave(self, id: str, person: int, state: str, until: float) -> None:
        self._lock_shared()
        if self._get_state(id, person) == "answered":
            self._change(_COUNT, {"the_question": id, "by": -1})
        self._mark([id], person, state, until)

    def _get_state(self, id: str, person: int) -> str | None:
        given = {"the_question": check_text(id, "the question"), **_bind(person)}
        state: str | None = self._run(
            _STATE.with_for_update() if self._writing else _STATE, given
        ).scalar_one_or_none()
        return state


def _bind(person: int, now: float | None = None) -> dict[str, Any]:
    """Return values for the parameters of statements."""
    given = {} if now is None else {"the_time": check_number(now, "the time")}
    return {"the_person": check_integer(person, "the person"), **given}


def _make_row(question: QueuedQuestion) -> dict[str, Any]:
    if question.kind not in get_args(AskedKind):
        kinds = ", ".join(get_args(AskedKind))
        raise BadValueError(f"The kind of a question must be one of {kinds}; got {question.kind!r}.")
    for item in (*question.items, *(item for shown in question.examples for item in shown)):
        check_text(item, "an item of a question", empty=True)
    for name in filter(None, question.names):
        check_text(name, "the name of a group")
    items: Any = question.items
    if question.examples or question.names:
        items = {"items": items, "examples": question.examples, "names": question.names}
    return {
        "id": check_text(question.id, "the id of a question", most=MOST_NAME),
        "kind": question.kind,
        "items": json.dumps(items, ensure_ascii=False),
        "score": None if question.score is None else check_number(question.score, "the score"),
        "why": check_text(_reason_to_text(question.reason), "why", empty=True),
        "queued": 1,
        "n_answers": 0,
    }


def _make_question(row: Any) -> QueuedQuestion:
    id, kind, items, score, why = row
    found = json.loads(items)
    shown = found if isinstance(found, dict) else {"items": found, "examples": [], "names": []}
    return QueuedQuestion(
        id=id,
        kind=kind,
        items=tuple(shown["items"]),
        score=score,
        reason=_reason_from_text(why),
        examples=tuple(map(tuple, shown["examples"])),
        names=tuple(shown["names"]),
    )


def _reason_to_text(reason: Reason) -> str:
    """Return the stored form of a reason: a sentence, or JSON if it mentions items."""
    return str(reason) if reason.is_plain else json.dumps(reason.to_dict(), ensure_ascii=False)


def _reason_from_text(text: str) -> Reason:
    """Return the reason of a stored question; older projects have only a sentence."""
    if text.startswith("{"):
        with suppress(ValueError, KeyError):
            return Reason.from_dict(json.loads(text))
    return Reason.from_text(text)
