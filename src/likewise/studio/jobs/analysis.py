"""Derive the questions, groups, conflicts and progress of the studio from its events."""

from __future__ import annotations

import random
import secrets
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise.active import (
    Interview,
    Key,
    Pool,
    Question,
    carry_labels,
    check_rows,
    find_answered_rows,
    find_far_rows,
    match_labels,
)
from likewise.active.strategies import DEFAULT
from likewise.studio.items import ItemFile
from likewise.studio.jobs._ledger import (
    CountedReplies,
    Ledger,
    SettledReplies,
    Voice,
    agrees,
    compute_agreement,
    settle,
)
from likewise.studio.jobs._progress import ChangeCurve, KeptLabels, advise
from likewise.studio.project import Project
from likewise.studio.records import (
    Addition,
    AskedKind,
    Conflict,
    Group,
    GroupDescriptions,
    PeopleAgreement,
    Picture,
    Progress,
    QueuedQuestion,
    Ready,
    Settings,
    StoredEvent,
    SuspectAnswer,
    list_judged,
)

if TYPE_CHECKING:
    from likewise.studio.jobs.descriptions import DescribedGroup

IntArray = npt.NDArray[np.int64]
# Above this number of rows the first fit takes seconds, so the first questions and picture use a sample.
_LARGE = 20_000
_FIRST_POOL = Pool(size=2_000, sample=2_000)
_FIRST_QUESTIONS = 48  # enough questions to ask until the fit to all rows is done
_POOL: Pool | Literal["auto"] = "auto"  # of all other questions and pictures
_MOST_ROUNDS = 12  # of asking for others; each excludes twice as many questions as the one before
_STRATEGIES = {"pairs": "regions"}  # other kinds of questions have the names of their strategies


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Suppress warnings: the groups show the same facts, and a background process has no screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class ProjectAnalysis:
    """Computes the questions and groups that the studio shows from its events.

    Answers are kept only as events; ids of open questions, group numbers and the progress curve are carried
    over between calls.

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
    items : ItemFile, optional
        The items, to describe the groups.
    added : Addition, optional
        If items were added: older items keep the groups of that moment until an answer moves them.
    gone : sequence of int, optional
        Rows that are gone from the data; they are not asked about, like broken items.

    Notes
    -----
    With more than 20,000 rows the first questions and the first picture use a pool of 2,000 rows, drawn at
    random, and all rows mentioned in answers. The next picture and later questions use all rows, or the
    default pool of an interview if there are more than 100,000; see :class:`~likewise.active.Pool`. With a
    pool, each row is shown in the group of the nearest row of the pool.

    Examples
    --------
    >>> from likewise.studio.jobs.analysis import ProjectAnalysis
    >>> from likewise.studio.records import Settings, StoredEvent
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> analysis = ProjectAnalysis(X, list("abcdefgh"), Settings("toy", n_clusters=2))
    >>> body = {"kind": "pair", "items": ["a", "h"], "answer": "DIFFERENT", "source": "question"}
    >>> event = StoredEvent(1, "k1", "answer", 1, "2026-03-09T12:00:00+00:00", body)
    >>> analysis.tell([event])  # answers changed?
    True
    >>> picture = analysis.make_picture()
    >>> picture.seq, [group.size for group in picture.groups], picture.links.tolist()
    (1, [4, 4], [[0, 7, 0]])
    """

    ids: list[str]
    settings: Settings

    def __init__(
        self,
        X: Any,
        ids: Sequence[str],
        settings: Settings,
        before: npt.NDArray[Any] | None = None,
        items: ItemFile | None = None,
        added: Addition | None = None,
        gone: Sequence[int] = (),
    ) -> None:
        self.X: npt.NDArray[Any] = check_rows(X)
        self.ids, self.settings = list(ids), settings
        if len(self.ids) != len(self.X):
            raise ValueError(
                f"ProjectAnalysis: expected one id per row ({len(self.X)}); got {len(self.ids)}."
            )
        self._ledger = Ledger({name: row for row, name in enumerate(self.ids)})
        self._interview: Interview | None = None  # created when needed
        self._interview_key: tuple[int, tuple[int, ...]] = (0, ())  # its new groups and its shelf
        self._fitted_X = self.X  # in which rows on the shelf are copies of others
        self._asking: Interview | None = None  # ignores answers of a study
        self._nearest: tuple[IntArray, IntArray] | None = None  # the pool, and the place of the nearest row
        # False while questions and pictures use the small first pool.
        k = settings.n_clusters[1] if isinstance(settings.n_clusters, tuple) else settings.n_clusters
        self._is_past_first_pool = len(self.X) <= _LARGE or (k or 0) > _FIRST_POOL.size
        self._queued: dict[Key, QueuedQuestion] = {}
        # Rows of items that cannot be judged, and questions about them that the strategy has chosen.
        # Questions that are not asked because of some broken rows and some rows on the shelf.
        self._unanswerable: tuple[Any, dict[Key, Question]] = (None, {})
        self._labels: Labels | None = None  # of the last picture
        self._before = before  # groups of an earlier run
        self._added, self._base = added, dict[bool, npt.NDArray[Any]]()  # groups by events up to the addition
        if before is None and added is not None:
            self._before = added.labels
        self._far: IntArray | None = None  # rows of the addition that fit nowhere
        self._items, self._gone = items, frozenset(gone)
        self._described: tuple[Labels, dict[int, DescribedGroup]] | None = None
        self._curve, self._kept = ChangeCurve(), KeptLabels()
        self._agreed: dict[bool, tuple[CountedReplies, SettledReplies]] = {}

    @classmethod
    def from_project(cls, project: Project, settings: Settings | None = None) -> ProjectAnalysis:
        """Create the analysis of a project, with the settings of the project unless others are given."""
        kept = project.get_kept_groups()
        return cls(
            project.load_features(),
            project.items.get_ids(),
            settings or project.settings,
            None if kept is None else kept[0],
            project.items,
            project.addition,
            project.find_gone_rows(),
        )

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
        """True while pictures and questions use the first small pool; the next picture is better."""
        return not self._is_past_first_pool

    @property
    def lags(self) -> bool:
        """True if the progress curve has missing points."""
        return self._is_small and self._curve.is_behind(self._settle().replies)

    @property
    def _is_small(self) -> bool:
        return 1 < len(self.X) <= _LARGE

    def _settle(self, steering: bool = False) -> SettledReplies:
        counted = self._ledger.get_counted_replies()
        before = self._agreed.get(steering)
        if before is None or before[0] is not counted:
            voices = [voice for voice in counted.get_grouped_voices() if voice.steers or not steering]
            before = self._agreed[steering] = (counted, settle(voices, counted.confirmed))
        return before[1]

    # ------------------------------------------------------------------ interviews

    def _get_interview(self) -> Interview:
        """Return the interview with all answers that count.

        Without a number of clusters it asks about groups, or starts with two and adds more as the answers
        require. There are never more clusters than rows.
        """
        counted = self._ledger.get_counted_replies()
        key = (counted.n_new_groups, counted.shelf)
        if self._interview is None or self._interview_key != key:
            asked = self.settings
            self._interview_key, self._asking, self._curve = key, None, ChangeCurve()
            self._fitted_X = hide_rows(self.X, counted.shelf)
            self._nearest, self._base = None, {}
            k = self._find_n_clusters(counted.n_new_groups)
            kind = "pairs" if asked.study else asked.ask  # a study chooses its own questions
            strategy = asked.strategy or _STRATEGIES.get(kind, kind)
            finds_groups = k is None and strategy in (DEFAULT, "groups")
            self._interview = Interview(
                self._fitted_X,
                n_clusters=None if finds_groups else k or 2,
                discover=not finds_groups and (asked.discover or k is None),
                strategy=strategy,
                random_state=asked.seed,
                budget=asked.budget,
                pool=_FIRST_POOL if self.rough else _POOL,
            )
        self._replace_answers(self._interview)
        return self._interview

    def _find_n_clusters(self, n_new_groups: int) -> int | tuple[int, int] | None:
        """Return the number of clusters, or its range, after splits and merges; at most one per row.

        Splits and merges change a number. They widen a range only if it would exclude their result.
        """
        k, most = self.settings.n_clusters, len(self.X)
        if k is None:
            return None
        if isinstance(k, int):
            return min(max(k + n_new_groups, 2), most)
        low, high = max(k[0] + min(n_new_groups, 0), 2), k[1] + max(n_new_groups, 0)
        return min(low, most), min(high, most)

    def _get_steering_interview(self) -> Interview:
        """Return the interview that chooses questions; it does not use the answers of a study."""
        interview = self._get_interview()
        if all(voice.steers for voice in self._ledger.get_counted_replies().voices):
            return interview
        if self._asking is None:
            self._asking = interview.branch()
        self._replace_answers(self._asking, steering=True)
        return self._asking

    def _replace_answers(self, interview: Interview, steering: bool = False) -> None:
        settled = self._settle(steering)
        skipped = (*self._ledger.get_counted_replies().skipped, *settled.divided)
        interview.replace(settled.replies, skipped, weights=settled.weights or None)

    # ------------------------------------------------------------------ questions

    def choose_questions(self, n: int, pending: Sequence[QueuedQuestion] = ()) -> Ready:
        """Return up to n questions that nobody is looking at.

        While the first pool is in use (:attr:`rough`), at least 48 are returned if there are that
        many. An unanswered question that was returned before keeps its id.
        """
        seq = self.seq
        if len(self.X) < 2:
            return Ready(seq, (), "There is only one item, so there is nothing to compare.")
        known = [self._read(question) for question in pending]
        waiting = [question for question in known if question is not None]
        with silence_warnings():
            interview = self._get_steering_interview()
            found = self._ask(interview, max(n, _FIRST_QUESTIONS if self.rough else 1), waiting)
        before, self._queued = self._queued, {}
        for question in found:
            now, old = self._name_question(question), before.get(question.key)
            is_same = old is not None and (old.examples, old.names) == (now.examples, now.names)
            self._queued[question.key] = old if old is not None and is_same else now
        finished = None
        if not found and not waiting:
            spent = interview.left == 0
            finished = "The budget is used up." if spent else "There is nothing left to ask."
        return Ready(seq, tuple(self._queued.values()), finished)

    def _ask(self, interview: Interview, n: int, waiting: Sequence[Question]) -> list[Question]:
        """Return up to n questions, none of which is about a broken item or a row on the shelf."""
        broken = self._find_rows_not_to_ask()
        shelf = frozenset(self._ledger.get_counted_replies().shelf)
        if not broken and not shelf:
            return interview.ask(n, waiting)
        if self._unanswerable[0] != (broken, shelf):
            self._unanswerable = ((broken, shelf), {})
        others, found = self._unanswerable[1], list[Question]()
        budget, left = interview.budget, interview.left
        n = n if left is None else min(n, left - len(waiting))
        interview.budget = None  # questions that are not asked do not count towards it
        for _ in range(_MOST_ROUNDS):
            if len(found) >= n or len(self.X) - len(broken | shelf) < 2:
                break
            more = interview.ask(max(n, len(others)), [*waiting, *others.values(), *found])
            if not more:
                break
            for question in more:
                judged = list_judged(question.kind, question.rows)
                if broken.intersection(judged) or shelf.intersection(question.rows):
                    others[question.key] = question
                else:
                    found.append(question)
        interview.budget = budget
        return [
            replace(
                one, examples=tuple(tuple(row for row in shown if row not in shelf) for shown in one.examples)
            )
            for one in found[: max(n, 0)]
        ]

    def _find_rows_not_to_ask(self) -> frozenset[int]:
        return self._ledger.get_broken_rows() | self._gone

    def _read(self, queued: QueuedQuestion) -> Question | None:
        row_of = self._ledger.row_of
        if not all(item in row_of for item in queued.items):
            return None
        return Question(queued.kind, tuple(row_of[item] for item in queued.items))

    def _name_question(self, question: Question) -> QueuedQuestion:
        """Give a question an id, and its rows an order that does not reveal the expected answer."""
        if question.kind not in get_args(AskedKind):
            raise ValueError(
                f"the strategy {self.settings.strategy!r} asks {question.kind!r} questions, for which the "
                "studio has no page. Use a strategy that asks about pairs, triplets or groups."
            )
        rows, names = list(question.rows), list(question.names)
        broken = self._find_rows_not_to_ask()
        examples = [[row for row in shown if row not in broken] or shown for shown in question.examples]
        draw = random.Random(f"{self.settings.seed} {sorted(rows)}")
        if question.kind in ("pair", "triplet"):
            draw.shuffle(rows)
        elif question.kind == "groups" and draw.random() < 0.5:
            rows, examples, names = rows[::-1], examples[::-1], names[::-1]
        return QueuedQuestion(
            id=secrets.token_hex(8),
            kind=cast(AskedKind, question.kind),
            items=tuple(self.ids[row] for row in rows),
            score=question.score,
            reason=question.reason.renumber(self.ids.__getitem__),
            examples=tuple(tuple(self.ids[row] for row in shown) for shown in examples),
            names=tuple(names),
        )

    # ------------------------------------------------------------------ picture and progress

    def make_picture(self) -> Picture:
        """Return the groups that follow from all answers. Persisting groups keep their numbers.

        If :attr:`rough` is true, the first picture uses a small pool; the second uses all rows, or the
        default pool above 100,000 rows.
        """
        start = time.perf_counter()
        with silence_warnings():
            labels, doubt = self._fit()
            suspects = self._find_suspect_answers()
        self._labels = labels = renumber(labels, self._before if self._labels is None else self._labels)
        self._kept.add(self._n_answers, labels)
        shelf = self._ledger.get_counted_replies().shelf
        return Picture(
            seq=self.seq,
            labels=labels,
            doubt=doubt,
            groups=make_groups(self.X, labels, doubt, shelf),
            conflicts=self._find_conflicts(),
            links=self._list_links(),
            seconds=time.perf_counter() - start,
            suspects=suspects,
            unplaced=self._find_unplaced(),
            shelf=shelf,
            gone=tuple(sorted(self._gone)),
        )

    def _find_unplaced(self) -> tuple[int, ...]:
        """Return the rows of the last addition that fit nowhere and that no answer is about."""
        if self._added is None or self._added.sizes[-1] == len(self.X):
            return ()
        if self._far is None:
            self._far = find_far_rows(self.X, self._added.sizes[-1], self.settings.seed)
        answered = {row for reply in self._settle().replies for row in reply.question.rows}
        left = self._gone.union(answered, self._ledger.get_counted_replies().shelf)
        return tuple(row for row in self._far.tolist() if row not in left)

    def describe_groups(self) -> GroupDescriptions:
        """Return what sets the groups of the last picture apart; nothing without items or a picture."""
        if self._items is None or self._labels is None:
            return GroupDescriptions(self.seq, {})
        labels = self._labels.copy()
        labels[list(self._ledger.get_counted_replies().shelf)] = -1
        if self._described is None or not np.array_equal(self._described[0], labels):
            from likewise.studio.jobs.descriptions import describe_groups

            self._described = labels, describe_groups(self._items, labels, seed=self.settings.seed)
        described = self._described[1]
        return GroupDescriptions(
            self.seq,
            {group: one.phrases for group, one in described.items()},
            {group: one.name for group, one in described.items()},
        )

    def _fit(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
        """Return the group of each row, and how doubtful it is."""
        labels, doubt = self._fit_model()
        added = self._added
        if added is None or added.labels is None or len(self.X) < 2:
            return labels, doubt
        then = settle(*self._ledger.get_earlier_replies(added.seq)).replies
        if self.rough not in self._base:
            earlier = self._get_interview().branch()
            earlier.replace(then)
            # With the first small pool, the groups are rough anyway.
            self._base[self.rough] = labels if self.rough else self._compute_labels(earlier)
        answered = find_answered_rows(then, self._settle().replies) | set(added.changed)
        return carry_labels(added.labels, self._base[self.rough], labels, answered), doubt

    def _compute_labels(self, interview: Interview) -> npt.NDArray[Any]:
        """Return the group of each row; with a pool, that of the nearest row of the pool."""
        if interview.pool_rows is None:
            return interview.labels_
        from sklearn.metrics import pairwise_distances_argmin

        nearest = pairwise_distances_argmin(self._fitted_X, self._fitted_X[interview.pool_rows])
        labels: npt.NDArray[Any] = interview.model_.labels_[nearest]
        return labels

    def _fit_model(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
        if len(self.X) < 2:
            return np.zeros(len(self.X), dtype=np.int64), np.zeros(len(self.X), dtype=np.float32)
        if self.rough and self._labels is not None:
            self._is_past_first_pool = True
            self._interview = self._asking = None
        interview = self._get_interview()
        model, pool = interview.model_, interview.pool_rows
        if pool is None:
            return interview.labels_, compute_doubt(model, self._fitted_X, interview.labels_)
        if self._nearest is None or not np.array_equal(self._nearest[0], pool):
            from sklearn.metrics import pairwise_distances_argmin

            nearest = pairwise_distances_argmin(self._fitted_X, self._fitted_X[pool])
            nearest[pool] = np.arange(len(pool))
            self._nearest = (pool, nearest)
        nearest = self._nearest[1]
        return model.labels_[nearest], compute_doubt(model, self._fitted_X[pool], model.labels_)[nearest]

    def _find_conflicts(self) -> tuple[Conflict, ...]:
        settled = self._settle()
        if len(self.X) < 2:
            return settled.disputes
        interview = self._get_interview()
        events = {id(reply): seqs for reply, seqs in zip(interview.replies, settled.events, strict=True)}
        found = []
        for one in interview.contradictions:
            if not one.chain:  # more mutually separate rows than clusters; suspects cover it
                continue
            behind = sorted({seq for reply in one.replies for seq in events[id(reply)]})
            found.append(Conflict(one.rows, one.chain, tuple(behind)))
        return (*settled.disputes, *found)

    def _find_suspect_answers(self) -> tuple[SuspectAnswer, ...]:
        """Return the unconfirmed answers that look wrong, most suspicious first."""
        if len(self.X) < 2:
            return ()
        settled, voices = self._settle(), dict[int, Voice]()
        for voice in self._ledger.get_counted_replies().voices:
            if not voice.repairs:
                voices[voice.seq] = voice
        interview = self._get_interview()
        place = {id(reply): at for at, reply in enumerate(interview.replies)}
        found = []
        for suspect in interview.suspects:
            at = place[id(suspect.reply)]
            reply = settled.replies[at]
            if reply.question.key in settled.confirmed:
                continue
            given = [s for s in settled.events[at] if s in voices and agrees(voices[s], reply)]
            if not given:  # a part of a repair
                continue
            found.append(
                SuspectAnswer(
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
        rate = self._get_interview().error_rate if len(self.X) > 1 else None
        return None if rate is None else (float(rate.mean), float(rate.low), float(rate.high))

    def _list_links(self) -> npt.NDArray[np.int32]:
        """Return each answered pair of rows once; a pair with both answers counts as SAME."""
        relations: dict[tuple[int, int], int] = {}
        for reply in self._settle().replies:
            for i, j, together in reply.relations:
                pair = (min(i, j), max(i, j))
                relations[pair] = max(relations.get(pair, 0), int(together))
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
            interview = self._get_interview()
            outlook = interview.progress()
            self._curve.extend(interview)
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
            reason=outlook.advice_code,
        )

    def compute_agreement(self) -> PeopleAgreement:
        """Return the agreement between people and the estimated reliability of each."""
        return compute_agreement(self._ledger.get_counted_replies())


def hide_rows(X: npt.NDArray[Any], rows: Sequence[int]) -> npt.NDArray[Any]:
    """Return X with the given rows replaced by copies of the others, so that they can form no group.

    The copies are spread over the others, since many of one row would attract a group. They are drawn
    independently of the given rows, so that one row more changes few of them.

    >>> hide_rows(np.array([[0.0], [99.0], [1.0], [98.0]]), [1, 3]).ravel().tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    order = np.random.default_rng(0).permutation(len(X))
    others = order[~np.isin(order, rows)]
    if not len(rows) or not len(others):
        return X
    shown = np.array(X)
    shown[list(rows)] = X[np.resize(others, len(rows))]
    return shown


# ---------------------------------------------------------------------- groups as the pages show them

Labels = npt.NDArray[np.int32]
Doubt = npt.NDArray[np.float32]
_SHOWN = 24
_CHOICE = 4  # candidates per row shown; rows far apart are chosen among them


def renumber(labels: npt.NDArray[Any], before: npt.NDArray[Any] | None) -> Labels:
    """Number clusters as before, matched such that as few rows as possible change their number.

    Clusters without a match get the smallest free numbers. If there were no clusters before, the largest
    cluster is number 0. `before` may lack the last rows.
    """
    if before is not None:
        return match_labels(labels, before).astype(np.int32)
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    n = int(codes.max()) + 1
    order = np.argsort(-np.bincount(codes, minlength=n), kind="stable")
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n)
    return number[codes]


def compute_doubt(model: Any, X: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Doubt:
    """Return how uncertain the cluster of each row is, from 0 to 1.

    For a model with probabilities, it is 1 minus the difference between the two largest. Otherwise it is the
    ratio of the distances to the centres of the row's own and the nearest other cluster.
    """
    shares = getattr(model, "cluster_proba_", None)
    if shares is None and hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
    if shares is not None:
        if shares.shape[1] < 2:
            return np.zeros(len(X), dtype=np.float32)
        top = np.partition(shares, shares.shape[1] - 2, axis=1)[:, -2:]
        return np.clip(1.0 - (top[:, 1] - top[:, 0]), 0.0, 1.0).astype(np.float32)
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if not codes.any():
        return np.zeros(len(X), dtype=np.float32)
    centres = [X[codes == code].mean(axis=0, dtype=np.float64) for code in range(int(codes.max()) + 1)]
    away = cdist(X, np.stack(centres))
    own = away[np.arange(len(X)), codes].copy()
    away[np.arange(len(X)), codes] = np.inf
    other = away.min(axis=1)
    near = np.divide(own, other, out=np.ones_like(own), where=other > 0)
    found: Doubt = np.clip(near, 0.0, 1.0).astype(np.float32)
    return found


def make_groups(
    X: npt.NDArray[Any], labels: Labels, doubt: Doubt, shelf: Sequence[int] = ()
) -> tuple[Group, ...]:
    """Return the groups in the order of their numbers, with rows to show, none of them on the shelf."""
    order = np.argsort(labels, kind="stable")
    if shelf:
        order = order[~np.isin(order, shelf)]
    numbers, starts = np.unique(labels[order], return_index=True)
    if not len(order):
        return ()
    found = []
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        most = rows[np.argsort(-doubt[rows], kind="stable")[:_SHOWN]]
        doubtful = tuple(most[doubt[most] > 0].tolist())
        found.append(Group(number, len(rows), _find_typical(X, rows), doubtful))
    return tuple(found)


def _find_typical(X: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Return rows near the centre of their group, nearest first, that differ from each other."""
    inside = X[rows]
    away = ((inside - inside.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1)
    near = np.argsort(away, kind="stable")[: _SHOWN * _CHOICE]
    chosen = [0]
    apart = cdist(inside[near], inside[near[:1]])[:, 0]
    while len(chosen) < min(_SHOWN, len(near)):
        apart[chosen[-1]] = -1.0
        chosen.append(int(apart.argmax()))
        apart = np.minimum(apart, cdist(inside[near], inside[near[chosen[-1:]]])[:, 0])
        apart[chosen] = -1.0
    return tuple(rows[near[np.sort(chosen)]].tolist())
