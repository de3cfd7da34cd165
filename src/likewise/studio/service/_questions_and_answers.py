"""Questions and answers: leases, answers, skips, undo and the history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NoReturn

from likewise.exceptions import BadRequestError, ConflictError, NotFoundError
from likewise.studio._repairs import count_new_groups
from likewise.studio.project import Project
from likewise.studio.records import (
    Item,
    NewEvent,
    Person,
    Picture,
    QueuedQuestion,
    Settings,
    StoredEvent,
)
from likewise.studio.service import _views as views
from likewise.studio.service._accounts import clean_name
from likewise.studio.service._hub import Hub, append
from likewise.studio.store import Transaction
from likewise.studio.wording import LONGEST_NOTE, QUESTIONS, check_text

WORDS = {
    "pair": ("SAME", "DIFFERENT", "UNSURE"),
    "triplet": ("AB", "AC", "BC", "NEITHER", "UNSURE"),
    "placement": ("NEW", "UNSURE"),
    "members": ("SAME", "UNSURE"),
    "groups": ("SAME", "DIFFERENT", "UNSURE"),
    "label": ("UNSURE",),
}
_ALSO = {
    "placement": ', or the number of the group, {"groups": [1]}',
    "members": ', or the numbers of the items that do not belong, {"unlike": [1, 3]}',
    "label": ', or {"name": "the name"}',
}
GivenAnswer = str | Mapping[str, Any]
PREFETCHED = 3  # questions sent with the acknowledgement of an answer
# Shown in the history, each with an undo button.
UNDOABLE = ("answer", "skip", "name", "confirm", "again", "broken", "repair")
_SHOWN_REPAIRED = 8  # items of a repair in the history
Leased = list[tuple[QueuedQuestion, float]]
State = Literal["ready", "thinking", "finished"]


class QuestionsAndAnswers:
    """The part of the studio that annotators use. The questions come from an interview.

    Subclasses that ask other questions override :meth:`give_questions` and :meth:`answer`, and what they do
    not allow.

    Attributes
    ----------
    texts : mapping of str to str
        The question, by its kind, unless the owner has given it another text.
    follows_plan : bool
        True if questions are fixed in advance, as in a study: answers are final, and the people who answer
        see neither groups nor names.
    """

    texts: Mapping[str, str] = QUESTIONS
    follows_plan: bool = False

    def __init__(self, hub: Hub, project: Project, clock: Callable[[], float], lease_seconds: float) -> None:
        self._hub = hub
        self._project = project
        self._items = project.items
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._names: dict[int, str] = {}
        self._group_names: tuple[Picture | None, list[tuple[str, str]], dict[int, str]] = (None, [], {})
        # The examples that the owner chose, by group, with the picture and the examples they are based on.
        self._placed_examples: tuple[Any, Any, dict[int | None, tuple[str, Sequence[str]]]] = (None, (), {})

    @property
    def _settings(self) -> Settings:
        return self._project.settings  # the owner may change them at any time

    def count_wanted_groups(self) -> int | None:
        """Return the number of groups set, after splits and merges; None if it is open or a range."""
        wanted = self._settings.n_clusters
        if not isinstance(wanted, int):
            return None
        return wanted + count_new_groups(event.body for event in self._hub.log.get_counted("repair"))

    def hides_groups(self, person: Person) -> bool:
        """Return True if a person must see neither the groups nor why a question is asked."""
        return person.role != "owner" and (self.follows_plan or self._settings.hides_groups)

    def get_text(self, kind: str) -> str:
        """Return the question of a kind, in the words of the owner if there are any."""
        return self._project.wording.questions.get(kind) or self.texts[kind]

    # ------------------------------------------------------------------ questions

    def give_questions(self, person: Person, n: int) -> views.QuestionsView:
        """Lease up to `n` questions to a person, including those they already hold."""
        leased = self._hub.store.write(lambda tx: self._lease(tx, person, n))
        if len(leased) < n:
            self._hub.wake_worker()
        return self._make_views(leased, person)

    def _lease(self, tx: Transaction, person: Person, n: int) -> Leased:
        """Lease questions that are not implied by answers given since they were chosen."""
        while True:
            kept, implied, changed = self._hub.split_questions(
                self._lease_within_budget(tx, person, n), person.id, self._settings.overlap
            )
            if not implied and not changed:
                return kept
            tx.withdraw(person.id, implied)  # not an event: nobody was asked
            for id, question in changed.items():
                tx.replace_question(person.id, id, question)

    def _lease_within_budget(self, tx: Transaction, person: Person, n: int, n_new: int = 0) -> Leased:
        """Lease as many questions as the budget allows; `n_new` answers are not in the log yet."""
        budget, now = self._settings.budget, self._clock()
        if budget is not None:
            left = budget - self._hub.log.count_answers() - n_new - tx.count_leases_of_others(person.id, now)
            n = max(min(n, left), 0)
        return tx.lease(
            person.id, n, now=now, until=now + self._lease_seconds, overlap=self._settings.overlap
        )

    def _make_views(self, leased: Leased, person: Person) -> views.QuestionsView:
        state, message = self._get_state(bool(leased))
        return {
            "questions": [self._make_question_view(question, until, person) for question, until in leased],
            "state": state,
            "message": message,
        }

    def _get_state(self, some: bool) -> tuple[State, str | None]:
        if some:
            return "ready", None
        budget = self._settings.budget
        if budget is not None and self._hub.log.count_answers() >= budget:
            return "finished", f"All {budget} answers have been given. Thank you."
        if self._hub.finished is not None and self._hub.asked_seq >= self._hub.log.last:
            return "finished", self._hub.finished
        if self._hub.trouble is not None:
            return (
                "thinking",
                "The next questions are delayed: something went wrong, and the owner can see details.",
            )
        if self._hub.asked_seq >= self._hub.log.last and self._hub.is_queue_leased():
            return "thinking", "Other people are answering the remaining questions at the moment."
        return "thinking", "The next questions are being chosen."

    def _make_question_view(
        self, question: QueuedQuestion, until: float, person: Person, practice: bool = False
    ) -> views.QuestionView:
        # Ids in the reason that would reveal the class are replaced.
        ids = [str(id) for id in dict.fromkeys(question.reason.rows)]
        shown = self.make_item_views(self._items.get_rows(ids))
        names = {id: id if id == view["id"] else view["title"] for id, view in zip(ids, shown, strict=True)}
        return {
            "id": question.id,
            "kind": question.kind,
            "text": self.get_text(question.kind),
            "why": "" if self.hides_groups(person) else views.write_reason(question.reason, names),
            "items": self.make_item_views(self._items.get_rows(question.items)),
            "groups": self._show_groups(question),
            "names": self._list_names(question) if question.kind == "label" else [],
            "practice": practice,
            "until": until,
        }

    def _list_names(self, question: QueuedQuestion) -> list[str]:
        """Return the names in use, which a label question offers."""
        names = [*question.names, *self.get_group_names().values()]
        return sorted({name for name in names if name}, key=str.casefold)

    def _show_groups(self, question: QueuedQuestion) -> list[views.ShownGroupView]:
        """Return the groups in a question as they are shown: by name, and by items.

        The items are the examples that the owner chose for the group, then typical ones.
        """
        references = question.references
        if not references:
            return []
        examples = question.examples or tuple((reference,) for reference in references)
        names = question.names if question.kind != "label" else ()
        called, by_group = self.get_group_names(), self._place_chosen_examples()
        by_name, judged = dict(self._project.wording.examples), set(question.judged)
        found: list[views.ShownGroupView] = []
        for at, (reference, shown) in enumerate(zip(references, examples, strict=True)):
            group = self._find_group(reference)
            name = (names[at] if names else None) or (None if group is None else called.get(group))
            if name in by_name:
                chosen: Sequence[str] = by_name[name]
            else:
                title, chosen = by_group.get(group, (None, ()))
                name = name or title
            typical = shown or (reference,)
            items = tuple(dict.fromkeys(item for item in (*chosen, *typical) if item not in judged))
            rows = self._items.get_rows(items[: len(typical)] or typical)
            found.append({"name": name, "items": self.make_item_views(rows)})
        return found

    def _find_group(self, item: str) -> int | None:
        """Return the number of the group of an item; None if there is no picture with it yet."""
        row, picture = self._items.get_row(item), self._hub.picture
        if picture is None or row >= len(picture.labels):
            return None
        return int(picture.labels[row])

    def _place_chosen_examples(self) -> dict[int | None, tuple[str, Sequence[str]]]:
        """Return the examples that the owner chose, with their name, by the number of their group.

        Groups with a name and examples of that name are left out. Each other set of examples goes to the
        group that contains most of its items. If two sets compete for a group, the one with more items there
        gets it, and the other goes to its next-best group.
        """
        picture, called = self._hub.picture, self.get_group_names()
        taken = set(called.values())
        examples = tuple(each for each in self._project.wording.examples if each[0] not in taken)
        if self._placed_examples[0] is not picture or self._placed_examples[1] != (examples, called):
            counts: list[tuple[int, int, int]] = []  # minus the number of items, place in the list, group
            for at, (_, items) in enumerate(examples):
                groups = Counter(group for item in items if (group := self._find_group(item)) is not None)
                counts += [(-n, at, group) for group, n in groups.items() if group not in called]
            found: dict[int | None, tuple[str, Sequence[str]]] = {}
            placed = set[int]()
            for _, at, group in sorted(counts):
                if at not in placed and group not in found:
                    found[group] = examples[at]
                    placed.add(at)
            self._placed_examples = (picture, (examples, called), found)
        return self._placed_examples[2]

    def get_group_names(self) -> dict[int, str]:
        """Return the names of the groups in the latest picture, by number."""
        picture, named = self._hub.picture, self._hub.log.get_group_names()
        if picture is None:
            return {}
        if self._group_names[0] is not picture or self._group_names[1] != named:
            rows = self._items.get_rows([item for item, _ in named])
            names = {
                int(picture.labels[row]): name
                for row, (_, name) in zip(rows, named, strict=True)
                if row < len(picture.labels)  # items may have been added since
            }
            self._group_names = (picture, named, names)
        return self._group_names[2]

    def get_item(self, row: int) -> Item:
        """Return an item."""
        if not 0 <= row < self._items.n:
            raise NotFoundError(f"There is no item {row}; there are {self._items.n}, numbered from 0.")
        return self._items.get(row)

    def get_rows(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of items."""
        return self._items.get_rows(ids)

    def make_item_views(self, rows: Sequence[int]) -> list[views.ItemView]:
        """Return the views of items, without what people must not see."""
        return [views.make_item_view(self.veil(item)) for item in self._items.get_items(rows)]

    def veil(self, item: Item) -> Item:
        """Return an item without what the people who answer must not see."""
        return item

    def get_examples(self) -> Sequence[tuple[str, str]] | None:
        """Return examples of the true classes, as (class, item id); None if the classes are unknown."""
        return None

    def get_chosen_examples(self) -> list[views.ReferenceGroupView]:
        """Return the examples that the owner chose."""
        return [
            {"name": name, "items": self.make_item_views(self._items.get_rows(chosen))}
            for name, chosen in self._project.wording.examples
        ]

    # ------------------------------------------------------------------ answers

    def answer(
        self,
        person: Person,
        *,
        key: str,
        question: str,
        answer: GivenAnswer,
        seconds: float | None,
        note: str | None = None,
    ) -> views.AnsweredView:
        """Store an answer and return the next questions, once the answer is on disk.

        An answer is a word, or in terms of the numbers shown {"groups": [1]}, {"unlike": [2, 3]} or
        {"name": "wren"}. It states what the person saw, even if the groups have changed since. A note for the
        owner is kept with it.
        """
        text = check_text(note, "A note", LONGEST_NOTE) if note else ""
        return self._store_reply(person, key, question, answer, seconds, text)

    def skip(self, person: Person, *, key: str, question: str, seconds: float | None) -> views.AnsweredView:
        """Store that a person skipped a question."""
        return self._store_reply(person, key, question, None, seconds)

    def _store_reply(
        self,
        person: Person,
        key: str,
        question: str,
        answer: GivenAnswer | None,
        seconds: float | None,
        note: str = "",
    ) -> views.AnsweredView:
        kind: Literal["answer", "skip"] = "skip" if answer is None else "answer"

        def work(tx: Transaction) -> tuple[StoredEvent, bool, Leased]:
            asked = tx.get_question(question)
            if asked is None or not tx.was_leased(question, person.id):
                raise NotFoundError(
                    "You were not asked this question, or it was withdrawn long ago.",
                    "Your other answers are safe; go on with the next question.",
                )
            body = make_body(asked, "question", None if answer is None else read_answer(asked, answer))
            if note:
                body["note"] = note
            event, new = append(tx, NewEvent(key, kind, person.id, body, question, seconds))
            if new and kind == "answer":
                tx.mark_answered(question, person.id)
            elif new:
                tx.mark_skipped(question, person.id)
            n_new = int(new and kind == "answer")
            return event, new, self._lease_within_budget(tx, person, PREFETCHED, n_new)

        event, new, leased = self._hub.store.write(work)
        self._hub.take_event(event)
        kept, implied, changed = self._hub.split_questions(leased, person.id, self._settings.overlap)
        if implied or changed:
            kept = self._hub.store.write(lambda tx: self._lease(tx, person, PREFETCHED))
        return self._make_answered_view(person, event, new, self._make_views(kept, person))

    def _make_answered_view(
        self, person: Person, event: StoredEvent, new: bool, shown: views.QuestionsView, right: str = ""
    ) -> views.AnsweredView:
        return {
            "seq": event.seq,
            "new": new,
            "next": shown["questions"],
            "state": shown["state"],
            "message": shown["message"],
            "right": right or None,
            "progress": self.show_progress(person),
        }

    def store_pair(
        self,
        person: Person,
        *,
        key: str,
        items: tuple[str, str],
        answer: Literal["SAME", "DIFFERENT"],
        why: str,
    ) -> views.StatedView:
        """Store a statement about two items that a person made without being asked."""
        body = {"kind": "pair", "items": list(items), "answer": answer, "source": "groups", "why": why}
        event, new = self._hub.add_event(NewEvent(key, "answer", person.id, body))
        return {"seq": event.seq, "new": new, "message": why}

    def store_repair(self, person: Person, key: str, body: Mapping[str, Any]) -> views.StatedView:
        """Store a repair of the groups; see :mod:`likewise.studio._repairs`."""
        event, new = self._hub.add_event(NewEvent(key, "repair", person.id, body))
        return {"seq": event.seq, "new": new, "message": str(event.body["why"])}

    # ------------------------------------------------------------------ undo

    def undo(self, person: Person, *, key: str, of: int | None) -> views.UndoneView:
        """Undo one's last action, or the one with the seq `of`; the owner may undo anyone's.

        Actions are answers, skips, names, repairs, confirmations, questions asked again and broken items. The
        question of an answer or skip comes back, unless enough others have answered or hold it.
        """
        self._hub.refresh()

        def work(tx: Transaction) -> tuple[StoredEvent, StoredEvent, tuple[QueuedQuestion, float] | None]:
            before = tx.get_event_by_key(key)
            if before is not None and before.person == person.id and before.kind == "undo":
                target = self._find_target(person, int(before.body["of"]), repeated=True)
            else:
                target = self._find_target(person, of, repeated=False)
            event, new = append(tx, NewEvent(key, "undo", person.id, {"of": target.seq}))
            if target.question is None:
                return event, target, None
            mine = target.person == person.id
            now = self._clock()
            until = now + self._lease_seconds if mine else 0.0  # the other person is not looking at it
            if new:
                overlap = self._settings.overlap
                tx.reopen(target.question, target.person, now=now, until=until, overlap=overlap)
            again = (
                tx.get_question(target.question)
                if mine and tx.is_leased(target.question, person.id)
                else None
            )
            return event, target, None if again is None else (again, until)

        event, target, leased = self._hub.store.write(work)
        self._hub.refresh()
        return {
            "seq": event.seq,
            "undone": self.show_event(target, person),
            "question": None if leased is None else self._make_question_view(*leased, person),
        }

    def _find_target(self, person: Person, of: int | None, repeated: bool) -> StoredEvent:
        log = self._hub.log
        if of is None:
            mine = log.get_not_undone(*UNDOABLE, person=person.id)
            if not mine:
                raise NotFoundError("You have nothing to undo.")
            return mine[-1]
        event = log.get(of)
        theirs = event is not None and event.person != person.id and person.role != "owner"
        if event is None or theirs or event.kind not in UNDOABLE:
            raise NotFoundError(f"There is no action {of} that you can undo.")
        if log.is_undone(of) and not repeated:
            raise ConflictError("It was already undone.", "Look at the history for what counts now.")
        return event

    def revisit(self, person: Person, *, key: str, question: str) -> views.UndoneView:
        """Undo a skip, so that the question can be answered."""
        self._hub.refresh()
        skips = [e for e in self._hub.log.get_not_undone("skip", person=person.id) if e.question == question]
        if not skips:
            raise NotFoundError("You have not skipped this question, or have undone the skip.")
        return self.undo(person, key=key, of=skips[-1].seq)

    # ------------------------------------------------------------------ answers that look wrong

    def keep(self, person: Person, *, key: str, of: int) -> views.StatedView:
        """Confirm an answer, so that it counts more: one's own, or anyone's for the owner."""
        return self._mark_answer(
            person, "confirm", key, of, "The answer now counts more and is no longer listed here."
        )

    def ask_again(self, person: Person, *, key: str, of: int) -> views.StatedView:
        """Ask the question of an answer again; the answer counts until there is another."""
        return self._mark_answer(person, "again", key, of, "The answer counts until there is a new one.")

    def _mark_answer(
        self, person: Person, kind: Literal["confirm", "again"], key: str, of: int, message: str
    ) -> views.StatedView:
        self._hub.refresh()

        def work(tx: Transaction) -> tuple[StoredEvent, bool]:
            before = tx.get_event_by_key(key)
            if before is None or before.person != person.id or before.kind != kind:
                self._check_markable(person, kind, of)
            return append(tx, NewEvent(key, kind, person.id, {"of": of}))

        event, new = self._hub.store.write(work)
        self._hub.refresh()
        return {"seq": event.seq, "new": new, "message": message}

    def _check_markable(self, person: Person, kind: str, of: int) -> None:
        """Raise an error if an answer cannot be confirmed or asked again."""
        log, answer = self._hub.log, self._hub.log.get(of)
        theirs = answer is not None and answer.person != person.id and person.role != "owner"
        if answer is None or theirs or answer.kind != "answer":
            raise NotFoundError(f"There is no answer {of} that you can change.")
        if not log.is_last_answer(answer):
            raise ConflictError("This answer no longer counts.", "Look at the history for what counts now.")
        if kind == "confirm" and log.is_confirmed(of):
            raise ConflictError("It was already confirmed.")
        if kind == "again" and log.is_asked_again(answer):
            raise ConflictError("It is already being asked again.")
        budget = self._settings.budget
        if kind == "again" and budget is not None and log.count_answers() >= budget:
            raise ConflictError(
                f"All {budget} answers of the budget have been given.",
                "Undo the answer, and its question can be asked again.",
            )

    # ------------------------------------------------------------------ history and progress

    def show_history(self, person: Person, before: int | None, limit: int) -> views.HistoryView:
        """Return past events, newest first: the owner sees all, others only their own."""
        self._hub.refresh()
        whose = None if person.role == "owner" else person.id
        events = [e for e in self._hub.log.get_events_of(whose) if e.kind in UNDOABLE]
        if before is not None:
            events = [e for e in events if e.seq < before]
        page = events[::-1][:limit]
        return {"events": [self.show_event(e, person) for e in page], "more": len(events) > limit}

    def show_event(self, event: StoredEvent, person: Person, among: Collection[str] = ()) -> views.EventView:
        """Return the view of an event for a person who may see it; of a repair, relations `among` items."""
        body, of_answer = event.body, event
        asked, related = body.get("items"), []
        if event.kind in ("name", "broken"):
            asked = [body["item"]]
        elif event.kind == "repair":
            related = [one for one in event.relations if one[0] in among and one[1] in among]
            named = [item for relation in related for item in relation[:2]]
            asked = list(dict.fromkeys([*body["items"][:_SHOWN_REPAIRED], *named]))
        elif event.kind in ("confirm", "again") and (about := self._hub.log.get(int(body["of"]))) is not None:
            body = {name: value for name, value in about.body.items() if name != "source"}
            asked = body["items"]
            of_answer = about
        mine = event.person == person.id
        undone = self._hub.log.is_undone(event.seq)
        rows = self._items.get_rows(asked) if asked else []
        row_of = dict(zip(asked or (), rows, strict=True))
        answer = body.get("answer")
        if answer is not None:
            related = of_answer.relations
        may = (mine or person.role == "owner") and not self.follows_plan
        return {
            "seq": event.seq,
            "kind": event.kind,
            "time": event.time,
            "person": self.get_name(event.person),
            "mine": mine,
            "question": {
                "kind": str(body.get("kind", event.kind)),
                "items": self.make_item_views(rows),
                "groups": self._show_groups(make_question(body)) if "kind" in body else [],
            }
            if asked
            else None,
            "question_id": event.question,
            "answer": show_answer(body["kind"], body["items"], answer) if answer is not None else None,
            "relations": [(row_of[a], row_of[b], int(together)) for a, b, together in related],
            "seconds": event.seconds,
            "source": body.get("source"),
            "name": body.get("name"),
            "note": body.get("note"),
            "sentence": body.get("why") if event.kind == "repair" else None,
            "n_items": len(event.body["items"]) if event.kind == "repair" else len(rows),
            "undone": undone,
            "can_undo": may and not undone,
        }

    def get_name(self, person: int) -> str:
        """Return the name of a person."""
        if person not in self._names:
            people = self._hub.store.read(lambda tx: tx.get_people())
            self._names = {one.id: one.name for one in people}
        return self._names.get(person, "?")

    def show_progress(self, person: Person) -> views.ProgressView:
        """Return the progress of the interview."""
        hub = self._hub
        found = hub.progress
        # First: the rest may be newer.
        version = (hub.log.last, hub.picture.seq if hub.picture else 0, found.seq if found else 0)
        behind = hub.behind
        picture = None if self.hides_groups(person) else hub.picture
        return {
            "version": version,
            "n_answers": hub.log.count_answers(),
            "mine": hub.log.count_answers(person.id),
            "changed": found.changed if found else None,
            "gain": found.gain if found else None,
            "accuracy": found.accuracy if found else None,
            "interval": found.interval if found else None,
            "worth_asking": found.worth_asking if found else True,
            "advice": found.advice if found else "",
            "reason": found.reason if found else "",
            "curve": list(found.curve) if found else [],
            "groups": len(picture.groups) if picture else 0,
            "conflicts": len(picture.conflicts) if picture else 0,
            "suspects": len(picture.suspects) if picture else 0,
            "error_rate": found.error_rate if found else None,
            "fitting": behind > 0,
            "behind": behind,
        }


def check_word(kind: str, answer: str) -> None:
    """Raise an error if a word does not answer this kind of question."""
    if answer not in WORDS[kind]:
        _refuse_answer(kind, answer)


def read_answer(asked: QueuedQuestion, given: GivenAnswer) -> str | dict[str, Any]:
    """Return an answer with ids instead of the numbers shown, which start with 1."""
    if isinstance(given, str):
        check_word(asked.kind, given)
        return given
    name = next(iter(given), "")
    if (asked.kind, name) == ("label", "name"):
        return {"name": " ".join(clean_name(str(given["name"]), "The name of a group").split())}
    if (asked.kind, name) not in (("placement", "groups"), ("members", "unlike")):
        _refuse_answer(asked.kind, json.dumps(dict(given), ensure_ascii=False))
    shown = asked.items[1:]
    numbers = sorted(set(given[name]))
    if not all(1 <= number <= len(shown) for number in numbers) or (name == "groups" and not numbers):
        raise BadRequestError(
            f"The question has the numbers 1 to {len(shown)}; got {list(given[name])}.", "Reload the page."
        )
    return {name: [shown[number - 1] for number in numbers]} if numbers else "SAME"


def show_answer(kind: str, items: Sequence[str], answer: GivenAnswer) -> views.AnswerView:
    """Return a stored answer with the numbers shown instead of ids."""
    if isinstance(answer, str):
        return answer
    if kind == "label":
        return dict(answer)
    return {name: [items.index(item) for item in chosen] for name, chosen in answer.items()}


def make_question(body: Mapping[str, Any]) -> QueuedQuestion:
    """Return the question of the event of an answer or a skip."""
    examples = tuple(map(tuple, body.get("examples", ())))
    return QueuedQuestion(
        "", body["kind"], tuple(body["items"]), examples=examples, names=tuple(body.get("names", ()))
    )


def _refuse_answer(kind: str, answer: str) -> NoReturn:
    raise BadRequestError(
        f"{answer} is not a valid answer to a {kind} question.",
        f"Answer one of {', '.join(WORDS[kind])}{_ALSO.get(kind, '')}.",
    )


def make_body(asked: QueuedQuestion, source: str, answer: GivenAnswer | None) -> dict[str, Any]:
    """Return the body of the event of an answer or a skip."""
    body: dict[str, Any] = {"kind": asked.kind, "items": list(asked.items), "source": source}
    if answer is not None:
        body["answer"] = answer
    if asked.score is not None:
        body["score"] = asked.score
    if asked.reason:
        body["why"] = views.write_reason(asked.reason)
    if not asked.reason.is_plain:
        body["reason"] = asked.reason.to_dict()
    if asked.examples:
        body["examples"] = [list(shown) for shown in asked.examples]
    if asked.names:
        body["names"] = list(asked.names)
    return body
