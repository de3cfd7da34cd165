"""Derive the questions, groups, conflicts and progress of the studio from its events."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.active import Pool, Question
from likewise.active._questions import Key
from likewise.active._state import check_rows
from likewise.studio.jobs._agreement_of_people import SettledReplies, compute_standing, settle
from likewise.studio.jobs._group_numbers import Labels, compute_doubt, make_groups, renumber
from likewise.studio.jobs._ledger import Ledger, StandingReplies
from likewise.studio.jobs._progress import ChangeCurve, KeptLabels, advise
from likewise.studio.jobs._sampled_interview import IntArray, SampledInterview, silence_warnings
from likewise.studio.records import (
    Conflict,
    OddAnswer,
    Picture,
    Progress,
    QueuedQuestion,
    Ready,
    Settings,
    Standing,
    StoredEvent,
)

# Above this number of rows the first fit takes seconds, so the first questions and picture use a sample.
_LARGE = 20_000
_SAMPLE = 2_000
_MEANWHILE = 48  # minimum number of questions to last until all rows have been fitted
# Above this number of rows a fit takes minutes, so a larger pool always represents all rows.
_HUGE = 300_000
_HUGE_SAMPLE = 5_000


class Brain:
    """Derives from the events what the studio shows and asks. It has no other state.

    The answers of one person go unchanged to an :class:`~likewise.active.Interview`. Answers of several
    people to the same question are first combined: a verdict counts if its weight is at least 0.5, and an
    answer of a person who proved unreliable counts only if another person gave the same; see
    :class:`~likewise.oracles.Annotators`. Undecided questions become conflicts.

    The interview treats answers as evidence. The picture lists those that look wrong. Confirmed answers and
    corrections of the groups count as several answers.

    Practice answers never count. Answers of a study count in the picture but do not influence the questions.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    ids : sequence of str
        The item id of each row.
    settings : Settings
        The settings of the project.
    before : ndarray of shape (n_samples,), optional
        The groups of an earlier picture; groups that persist keep their numbers.

    Notes
    -----
    With more than 20,000 rows the first questions and the first picture use 2,000 rows, drawn once, and all
    rows mentioned in answers; each row is shown in the group of the nearest of these. The next picture and
    later questions use all rows. With more than 300,000 rows a pool of 5,000 always represents all rows; see
    :class:`~likewise.active.Pool`.

    Examples
    --------
    >>> from likewise.studio.jobs.brain import Brain
    >>> from likewise.studio.records import Settings, StoredEvent
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> brain = Brain(X, list("abcdefgh"), Settings("toy", n_clusters=2))
    >>> body = {"kind": "pair", "items": ["a", "h"], "answer": "DIFFERENT", "source": "question"}
    >>> brain.tell([StoredEvent(1, "k1", "answer", 1, "2026-03-09T12:00:00+00:00", body)])  # answers changed?
    True
    >>> picture = brain.make_picture()
    >>> picture.seq, [group.size for group in picture.groups], picture.links.tolist()
    (1, [4, 4], [[0, 7, 0]])
    """

    ids: list[str]
    settings: Settings

    def __init__(
        self, X: Any, ids: Sequence[str], settings: Settings, before: npt.NDArray[Any] | None = None
    ) -> None:
        self.X: npt.NDArray[Any] = check_rows(X)
        self.ids, self.settings = list(ids), settings
        if len(self.ids) != len(self.X):
            raise ValueError(f"Brain: expected one id per row ({len(self.X)}); got {len(self.ids)}.")
        self._ledger = Ledger({name: row for row, name in enumerate(self.ids)})
        self._sampled: SampledInterview | None = None
        self._survey: Any = None  # summary of very many rows, from which the pool is chosen
        self._full: SampledInterview | None = None  # created when needed
        self._asking: SampledInterview | None = None  # ignores answers of a study
        self._knows_all = len(self.X) <= _LARGE  # True once all rows have been fitted
        self._queued: dict[Key, QueuedQuestion] = {}
        self._labels: Labels | None = None  # of the last picture
        self._before = before  # groups of an earlier run
        self._curve, self._kept = ChangeCurve(), KeptLabels()
        self._agreed: dict[bool, tuple[StandingReplies, SettledReplies]] = {}

    # ------------------------------------------------------------------ events

    def tell(self, events: Sequence[StoredEvent]) -> bool:
        """Add stored events, ignoring those added before; return True if answers changed."""
        return self._ledger.tell(events)

    @property
    def seq(self) -> int:
        """The seq of the last event added."""
        return self._ledger.seq

    @property
    def ignored(self) -> dict[int, str]:
        """Events that could not be read, each with a reason."""
        return self._ledger.ignored

    @property
    def rough(self) -> bool:
        """True while pictures and questions use the first small sample; the next picture is better."""
        return not self._knows_all

    @property
    def lags(self) -> bool:
        """True if the progress curve has missing points."""
        return self._is_small and self._curve.is_behind(self._settle().replies)

    @property
    def _is_small(self) -> bool:
        return 1 < len(self.X) <= _LARGE

    def _settle(self, steering: bool = False) -> SettledReplies:
        counted = self._ledger.get_standing()
        before = self._agreed.get(steering)
        if before is None or before[0] is not counted:
            voices = [voice for voice in counted.voices if voice.steers or not steering]
            before = self._agreed[steering] = (counted, settle(voices, counted.confirmed))
        return before[1]

    # ------------------------------------------------------------------ views

    def _sample(self) -> IntArray:
        """Return representative rows: drawn once by the seed, plus those mentioned in answers."""
        seed = self.settings.seed
        if len(self.X) > _HUGE:
            pool = Pool(size=_HUGE_SAMPLE)
            if self._survey is None:
                self._survey = pool.draw_sample(self.X, random_state=seed)
            return pool.choose_first(
                self.X, named=self._find_named_rows(), random_state=seed, survey=self._survey
            )
        drawn = np.random.default_rng(seed).choice(len(self.X), size=_SAMPLE, replace=False)
        return np.union1d(drawn, self._find_named_rows())

    def _find_named_rows(self) -> IntArray:
        counted = self._ledger.get_standing()
        rows = [row for voice in counted.voices for row in voice.reply.question.rows]
        return np.unique(np.array(rows, dtype=np.int64))

    def _get_view(self) -> SampledInterview:
        """Return the interview with all answers that count: about all rows, or about the sample."""
        if self._knows_all and len(self.X) <= _HUGE:
            if self._full is None:
                self._full = SampledInterview(self.X, self.settings)
            view = self._full
        else:
            if self._sampled is None or not self._sampled.covers(self._find_named_rows()):
                self._sampled = SampledInterview(self.X, self.settings, self._sample())
                self._asking = None
            view = self._sampled
        settled = self._settle()
        view.hold(settled.replies, self._ledger.get_standing().skipped, settled.weights)
        return view

    def _get_steering_view(self) -> SampledInterview:
        """Return the interview that chooses questions; it does not use the answers of a study."""
        view = self._get_view()
        if all(voice.steers for voice in self._ledger.get_standing().voices):
            return view
        if self._asking is None or self._asking.rows is not view.rows:
            self._asking = SampledInterview(self.X, self.settings, view.rows)
            self._asking.interview.X = view.interview.X
            self._asking.interview.share_fits(view.interview)
        settled = self._settle(steering=True)
        self._asking.hold(settled.replies, self._ledger.get_standing().skipped, settled.weights)
        return self._asking

    # ------------------------------------------------------------------ questions

    def choose_questions(self, n: int, pending: Sequence[QueuedQuestion] = ()) -> Ready:
        """Return up to n questions that nobody is looking at.

        An unanswered question that was returned before keeps its id.
        """
        seq = self.seq
        if len(self.X) < 2:
            return Ready(seq, (), "There is only one item, so there is nothing to compare.")
        known = [self._read(question) for question in pending]
        waiting = [question for question in known if question is not None]
        with silence_warnings():
            view = self._get_steering_view()
            found = view.ask(max(n, _MEANWHILE if self.rough else 1), waiting)
        before, self._queued = self._queued, {}
        for question in found:
            self._queued[question.key] = before.get(question.key) or self._name_question(question)
        finished = None
        if not found and not waiting:
            finished = self._explain_finish(view)
        return Ready(seq, tuple(self._queued.values()), finished)

    def _read(self, queued: QueuedQuestion) -> Question | None:
        row_of = self._ledger.row_of
        if not all(item in row_of for item in queued.items):
            return None
        return Question(queued.kind, tuple(row_of[item] for item in queued.items))

    def _name_question(self, question: Question) -> QueuedQuestion:
        """Give a question an id, and its rows an order that does not reveal the expected answer."""
        if question.kind not in ("pair", "triplet"):
            raise ValueError(
                f"the strategy {self.settings.strategy!r} asks {question.kind!r} questions, for which the "
                "studio has no page. Use a strategy that asks about pairs or triplets."
            )
        rows = list(question.rows)
        random.Random(f"{self.settings.seed} {sorted(rows)}").shuffle(rows)
        return QueuedQuestion(
            id=secrets.token_hex(8),
            kind=question.kind,
            items=tuple(self.ids[row] for row in rows),
            score=question.score,
            reason=question.reason.renumber(self.ids.__getitem__),
        )

    @staticmethod
    def _explain_finish(view: SampledInterview) -> str:
        spent = view.interview.left == 0
        return "The budget is used up." if spent else "There is nothing left to ask."

    # ------------------------------------------------------------------ picture and progress

    def make_picture(self) -> Picture:
        """Return the groups that follow from all answers. Persisting groups keep their numbers.

        While :attr:`rough` is true the first picture uses a sample; the second uses all rows.
        """
        start = time.perf_counter()
        with silence_warnings():
            labels, doubt = self._fit()
            odd = self._find_odd_answers()
        self._labels = labels = renumber(labels, self._before if self._labels is None else self._labels)
        self._kept.add(self._n_answers, labels)
        return Picture(
            seq=self.seq,
            labels=labels,
            doubt=doubt,
            groups=make_groups(self.X, labels, doubt),
            conflicts=self._find_conflicts(),
            links=self._list_links(),
            seconds=time.perf_counter() - start,
            odd=odd,
        )

    def _fit(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
        if len(self.X) < 2:
            return np.zeros(len(self.X), dtype=np.int64), np.zeros(len(self.X), dtype=np.float32)
        if self.rough and self._labels is not None:
            self._knows_all = True
        view = self._get_view()
        if len(self.X) > _HUGE:
            self._knows_all = True
        model, labels = view.interview.model_, view.interview.labels_
        doubt = compute_doubt(model, view.interview.X, labels)
        return view.extend_to_all(labels), view.extend_to_all(doubt)

    def _find_conflicts(self) -> tuple[Conflict, ...]:
        settled = self._settle()
        if len(self.X) < 2:
            return settled.disputes
        view = self._get_view()
        held = view.interview
        events = {id(reply): seqs for reply, seqs in zip(held.replies, settled.events, strict=True)}
        found = []
        for one in held.contradictions:
            if not one.chain:  # more mutually separate rows than clusters; suspects cover it
                continue
            behind = sorted({seq for reply in one.replies for seq in events[id(reply)]})
            rows, chain = (
                tuple(int(row) if view.rows is None else int(view.rows[row]) for row in part)
                for part in (one.rows, one.chain)
            )
            found.append(Conflict(rows, chain, tuple(behind)))
        return (*settled.disputes, *found)

    def _find_odd_answers(self) -> tuple[OddAnswer, ...]:
        """Return the unconfirmed answers that look wrong, most suspicious first."""
        if len(self.X) < 2:
            return ()
        settled, voices = self._settle(), {voice.seq: voice for voice in self._ledger.get_standing().voices}
        held = self._get_view().interview
        place = {id(reply): at for at, reply in enumerate(held.replies)}
        found = []
        for suspect in held.suspects:
            at = place[id(suspect.reply)]
            reply = settled.replies[at]
            if reply.question.key in settled.confirmed:
                continue
            given = [s for s in settled.events[at] if voices[s].reply.to(reply.question) == reply.answer]
            found.append(
                OddAnswer(
                    rows=reply.question.rows,
                    events=tuple(given),
                    chance=suspect.chance,
                    n_against=len({other.question.key for other in suspect.against}),
                    n_near=len(suspect.rows),
                )
            )
        return tuple(found)

    def _estimate_error_rate(self) -> tuple[float, float, float] | None:
        """Return the estimated share of wrong answers, with an interval."""
        rate = self._get_view().interview.error_rate if len(self.X) > 1 else None
        return None if rate is None else (float(rate.mean), float(rate.low), float(rate.high))

    def _list_links(self) -> npt.NDArray[np.int32]:
        """Return each answered pair of rows once; a pair with both answers counts as SAME."""
        relations: dict[tuple[int, int], int] = {}
        for reply in self._settle().replies:
            for at, pile in enumerate(reply.piles):
                for i in pile:
                    for j in pile:
                        if i < j:
                            relations[i, j] = 1
                    for other in reply.piles[at + 1 :]:
                        for j in other:
                            relations.setdefault((min(i, j), max(i, j)), 0)
        links = [(i, j, together) for (i, j), together in relations.items()]
        return np.array(links, dtype=np.int32).reshape(-1, 3)

    @property
    def _n_answers(self) -> int:
        return len(self._settle().replies)

    def compute_progress(self) -> Progress:
        """Return the progress of the interview.

        With up to 20,000 rows this is the interview's own outlook, and each call adds a few points to the
        curve until it is complete (:attr:`lags`). With more rows it is the change between pictures.
        """
        n = self._n_answers
        if not self._is_small:
            ready = Ready(0, tuple(self._queued.values())) if self._queued else self.choose_questions(1)
            gain = next((question.score for question in ready.questions), None)
            going, reason, advised = advise(n, ready.finished, self._kept.changed)
            points = tuple(self._kept.points)
            with silence_warnings():
                rate = self._estimate_error_rate()
            return Progress(
                self.seq, n, self._kept.changed, gain, None, None, going, advised, points, rate, reason
            )
        with silence_warnings():
            held = self._get_view().interview
            outlook = held.progress()
            self._curve.extend(held)
            rate = self._estimate_error_rate()
        return Progress(
            seq=self.seq,
            n_answers=n,
            changed=outlook.changed,
            gain=outlook.gain,
            accuracy=outlook.accuracy,
            interval=outlook.interval,
            worth_asking=outlook.worth_asking,
            advice=outlook.advice,
            curve=tuple(self._curve.points),
            error_rate=rate,
            reason=outlook.reason,
        )

    def compute_standing(self) -> Standing:
        """Return the agreement between people and the estimated reliability of each."""
        return compute_standing(self._ledger.get_standing())
