"""Convert answers to hints and weighted links; find contradictions and answers that look wrong.

An answer is evidence, not a fact: some contradict others, and some look wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from likewise.active._questions import Answer, Named, Question, Relation, Reply
from likewise.exceptions import SupervisionError
from likewise.supervision import Closure, Supervision
from likewise.supervision.cliques import find_too_large_clique

if TYPE_CHECKING:
    from likewise.active._interview import Interview

EventKind = Literal["answer", "skip", "undo"]
Pair = tuple[int, int]
_CERTAIN = 20.0  # weight of hints given before the interview: practically certain
SUSPICIOUS = 0.2  # answers are listed from this probability of being wrong on
_FIRST_METRIC = 8  # up to this many answers the metric is learned at every fit
_METRIC_GROWTH = (1.25, 1.5)  # then whenever answers grow by this factor, before and after _METRIC_EARLY
_METRIC_EARLY = 28
_FEWEST_PAIRS = 5  # annotators are weighted once two of them have stated this many pairs
_REVERSED_PAIRS = 15  # the answers of an annotator are reversed only from this many pairs on
_WEIGHT_INSTEAD_OF_ZERO = 0.05  # so that no answer is dropped
_ANNOTATOR_PRIOR = (1.0, 8.0)  # Beta: one answer in nine is wrong
_WEIGHTS = (-1.0, 3.0)  # smallest and largest weight of an annotator's answers
MOST_REASONS = 5
# Smallest group for which a merge is checked: with at most _FEW_CLASSES classes; with more.
_MIN_GROUP_SIZES = (3, 2)
_FEW_CLASSES = 4
_CONFIRMED = 1.5  # an answer of this weight, repeated or by a trusted annotator, is not checked


@dataclass(frozen=True)
class Event:
    """An entry in the history of an interview: an answer, a skipped question, or an undo.

    Parameters
    ----------
    kind : {"answer", "skip", "undo"}
        The kind of event.
    question : Question
        The question that was answered or skipped, or that is open again after an undo.
    reply : Reply, optional
        The reply, if the event is an answer.
    undoes : int, optional
        The index in the history of the event that no longer counts, if the event is an undo.

    Examples
    --------
    >>> from likewise.active import Interview, Question
    >>> interview = Interview([[0.0], [1.0], [5.0]])
    >>> reply = interview.tell(Question.pair(0, 1), "SAME")
    >>> undone = interview.undo()
    >>> [(event.kind, event.undoes) for event in interview.history]
    [('answer', None), ('undo', 0)]
    """

    kind: EventKind
    question: Question
    reply: Reply | None = None
    undoes: int | None = None

    def renumber(self, number: Callable[[int], int]) -> Event:
        """Replace the row numbers of an answer or a skip.

        Parameters
        ----------
        number : callable
            Called with each row number; returns the new one.

        Returns
        -------
        Event
            The same event about the new rows.
        """
        reply = None if self.reply is None else self.reply.renumber(number)
        return Event(self.kind, self.question.renumber(number), reply)


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be true.

    Either must-links connect two cannot-linked rows, or more rows are cannot-linked to one another than there
    are clusters, or one row has two names.

    Parameters
    ----------
    rows : tuple of int
        Two rows with a cannot-link between them; or a set of rows with cannot-links between all of them that
        is larger than the number of clusters; or the row that has two names.
    chain : tuple of int
        The rows on the path of must-links from the first row to the second. Empty if there are too few
        clusters, or if one row has two names.
    replies : tuple of Reply
        The answers that state the cannot-links or a must-link of the chain. Links that none of them states
        were given as hints.

    Examples
    --------
    >>> from likewise.active import Interview, Question
    >>> interview = Interview([[0.0], [1.0], [5.0]])
    >>> for i, j, answer in [(0, 1, "SAME"), (1, 2, "SAME"), (0, 2, "DIFFERENT")]:
    ...     reply = interview.tell(Question.pair(i, j), answer)
    >>> contradiction = interview.contradictions[0]
    >>> contradiction.rows, contradiction.chain, len(contradiction.replies)
    ((0, 2), (0, 1, 2), 3)
    """

    rows: tuple[int, ...]
    chain: tuple[int, ...]
    replies: tuple[Reply, ...]

    def __str__(self) -> str:
        if len(self.rows) == 1:
            names = dict.fromkeys(str(reply.answer) for reply in self.replies)
            return f"row {self.rows[0]} has more than one name: {', '.join(names)}"
        apart = f"rows {', '.join(map(str, self.rows[:-1]))} and {self.rows[-1]} are cannot-linked"
        if self.chain:
            return f"{apart}, but must-links connect them: {' = '.join(map(str, self.chain))}"
        return f"{apart} to one another, which requires more clusters than there are"


def collect_relations(
    replies: Sequence[Reply], first_rows: Mapping[str, int] | None = None
) -> list[tuple[Relation, ...]]:
    """Return what each reply states about pairs of rows, including the names.

    The first row with a name represents the name. A row that gets the same name belongs with it. A name that
    was not used before separates its row from the first row of every other name. All else that names say
    about rows follows from these relations.

    Parameters
    ----------
    replies : sequence of Reply
        All replies that count, in order.
    first_rows : mapping of str to int, optional
        The first row of each name in the hints.

    Returns
    -------
    list of tuple of (int, int, bool)
        For each reply the pairs of rows, and whether they belong together.

    Examples
    --------
    >>> from likewise.active import Question, Reply, collect_relations
    >>> names = {4: "owl", 7: "wren", 2: "owl"}
    >>> collect_relations([Reply(Question.label(row), name) for row, name in names.items()])
    [(), ((7, 4, False),), ((2, 4, True),)]
    """
    first = dict(first_rows or {})
    found = []
    for reply in replies:
        if not isinstance(reply.answer, Named):
            found.append(reply.relations)
            continue
        row, name = reply.question.rows[0], reply.answer.name
        if name in first:
            stated: tuple[Relation, ...] = ((row, first[name], True),) if first[name] != row else ()
        else:
            # A row with two names is not separated from itself: `find_name_contradictions` reports it.
            stated = tuple((row, other, False) for other in dict.fromkeys(first.values()) if other != row)
            first[name] = row
        found.append(stated)
    return found


def find_first_rows(replies: Sequence[Reply], first_rows: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the first row of each name, in the hints (`first_rows`) and then in the replies."""
    first = dict(first_rows or {})
    for reply in replies:
        if isinstance(reply.answer, Named):
            first.setdefault(reply.answer.name, reply.question.rows[0])
    return first


def find_hinted_names(hints: Supervision) -> dict[str, int]:
    """Return the first row of each label in the hints; labels that cannot be names are left out."""
    first: dict[str, int] = {}
    if "labels" not in hints.kinds:
        return first
    rows = np.flatnonzero(hints.label_codes >= 0)
    codes, places = np.unique(hints.label_codes[rows], return_index=True)
    for code, row in sorted(zip(codes.tolist(), rows[places].tolist(), strict=True), key=lambda at: at[1]):
        with suppress(SupervisionError):
            first.setdefault(Named(str(hints.classes[code])).name, row)
    return first


def build_supervision(
    replies: Sequence[Reply], n_samples: int, first_rows: Mapping[str, int] | None = None
) -> Supervision:
    """Return the replies as supervision; UNSURE adds nothing.

    A tray adds a must-link group for each pile and a cannot-link for each pair of rows of different piles (at
    most 66, because a tray has at most 12 rows). Fewer cannot-links would imply the others, but then a method
    that weights links would give cannot-links less weight than must-links. Names become links as well, see
    :func:`collect_relations`; `first_rows` are the first rows of the names in the hints.
    """
    must: list[tuple[int, ...]] = []
    cannot: list[tuple[int, int]] = []
    triplets: list[tuple[tuple[int, ...], str]] = []
    for reply, relations in zip(replies, collect_relations(replies, first_rows), strict=True):
        question = reply.question
        # NEITHER about three rows is stored as a triplet, for all kinds of questions.
        if question.kind == "triplet" or (reply.answer is Answer.NEITHER and len(question.rows) == 3):
            if reply.answer is not Answer.UNSURE:
                triplets.append((question.rows, str(reply.answer)))
            continue
        if reply.piles:
            must += [pile for pile in reply.piles if len(pile) > 1]
        else:
            must += [(i, j) for i, j, together in relations if together]
        cannot += [(i, j) for i, j, together in relations if not together]
    links = Supervision.from_links(
        n_samples,
        must=[pile for pile in must if len(pile) == 2],
        cannot=cannot,
        must_groups=[pile for pile in must if len(pile) > 2],
    )
    if not triplets:
        return links
    return links | Supervision.from_triplets(n_samples, *zip(*triplets, strict=True))


def find_contradictions(
    closure: Closure, replies: Sequence[Reply], first_rows: Mapping[str, int] | None = None
) -> tuple[Contradiction, ...]:
    """Return the cannot-links between rows that must-links connect, each with the answers involved."""
    found = list(_find_name_contradictions(replies, first_rows or {}))
    if not len(closure.conflicts):
        return tuple(found)
    about: dict[tuple[Pair, bool], list[int]] = defaultdict(list)
    for at, relations in enumerate(collect_relations(replies, first_rows)):
        for i, j, together in relations:
            about[_sort_pair(i, j), together].append(at)
    for i, j in closure.conflicts.tolist():
        chain = closure.path(i, j)
        involved = set(about[_sort_pair(i, j), False]).union(
            *(about[_sort_pair(*step), True] for step in pairwise(chain))
        )
        found.append(Contradiction((i, j), chain, tuple(replies[at] for at in sorted(involved))))
    return tuple(found)


def _find_name_contradictions(replies: Sequence[Reply], first_rows: Mapping[str, int]) -> list[Contradiction]:
    """Return the rows that are the first with two names: links cannot separate a row from itself."""
    first = find_first_rows(replies, first_rows)
    if len(set(first.values())) == len(first):
        return []
    names: dict[int, list[str]] = defaultdict(list)
    for name, row in first.items():
        names[row].append(name)
    return [
        Contradiction(
            (row,),
            (),
            tuple(r for r in replies if isinstance(r.answer, Named) and r.question.rows[0] == row),
        )
        for row, several in names.items()
        if len(several) > 1
    ]


def find_too_many_groups(
    closure: Closure,
    replies: Sequence[Reply],
    n_clusters: int | None,
    first_rows: Mapping[str, int] | None = None,
) -> tuple[Contradiction, ...]:
    """Return sets of mutually cannot-linked rows that are larger than the number of clusters.

    The first are trays that were sorted into too many piles; piles that must-links connect count once. If
    there are none, the result is a set of rows that several answers and hints separate, if one is found.
    """
    if n_clusters is None:
        return ()
    found = []
    for reply in replies:
        rows = {int(closure.component[pile[0]]): pile[0] for pile in reply.piles}
        if len(rows) > n_clusters:
            found.append(Contradiction(tuple(sorted(rows.values())), (), (reply,)))
    if not found and len(clique := find_too_large_clique(closure, n_clusters)):
        components = set(closure.component[clique].tolist())
        about = tuple(
            reply
            for reply, relations in zip(replies, collect_relations(replies, first_rows), strict=True)
            if any(
                not together and {int(closure.component[i]), int(closure.component[j])} <= components
                for i, j, together in relations
            )
        )
        found.append(Contradiction(tuple(clique.tolist()), (), about))
    return tuple(found)


# ---------------------------------------------------------------------- answers with errors


def get_metric_answers(n_answers: int) -> int:
    """Return the number of answers that the metric is learned from.

    It depends on the number of answers only, so a loaded interview learns the same metric again.
    """
    due = _FIRST_METRIC
    if n_answers <= due:
        return n_answers
    while (following := math.ceil(due * _METRIC_GROWTH[due >= _METRIC_EARLY])) <= n_answers:
        due = following
    return due


def list_pairs(reply: Reply) -> list[tuple[Pair, int]]:
    """Return the pairs that a reply states: 1 for must-link, -1 for cannot-link. Piles become chains."""
    return _sign_pairs(reply, reply.relations)


def list_all_pairs(
    replies: Sequence[Reply], first_rows: Mapping[str, int] | None = None
) -> list[list[tuple[Pair, int]]]:
    """Return the pairs that each reply states, as :func:`list_pairs` does, including the names."""
    relations = collect_relations(replies, first_rows)
    return [_sign_pairs(reply, stated) for reply, stated in zip(replies, relations, strict=True)]


def _sign_pairs(reply: Reply, relations: Sequence[Relation]) -> list[tuple[Pair, int]]:
    if reply.piles:
        together = [(_sort_pair(i, j), 1) for pile in reply.piles for i, j in pairwise(sorted(pile))]
    else:
        together = [(_sort_pair(i, j), 1) for i, j, together in relations if together]
    return together + [(_sort_pair(i, j), -1) for i, j, together in relations if not together]


def _sort_pair(i: int, j: int) -> Pair:
    return (i, j) if i < j else (j, i)


def collect_votes(
    given: Supervision,
    replies: Sequence[Reply],
    n_samples: int,
    weights: Sequence[float] | None = None,
    first_rows: Mapping[str, int] | None = None,
) -> Supervision:
    """Return all answers as weighted links. Weights of answers to the same pair add up.

    A negative weight reverses an answer. Hints given before the interview count as certain.
    """
    votes: dict[tuple[Pair, int], float] = defaultdict(float)
    for at, pairs in enumerate(list_all_pairs(replies, first_rows)):
        weight = 1.0 if weights is None else weights[at]
        for pair, sign in pairs:
            votes[pair, sign if weight >= 0 else -sign] += abs(weight)
    parts: dict[int, list[tuple[Pair, float]]] = {1: [], -1: []}
    for (pair, sign), weight in votes.items():
        if weight > 0:
            parts[sign].append((pair, weight))
    answers = Supervision.from_links(
        n_samples,
        must=[pair for pair, _ in parts[1]],
        must_weights=[weight for _, weight in parts[1]],
        cannot=[pair for pair, _ in parts[-1]],
        cannot_weights=[weight for _, weight in parts[-1]],
    )
    if not given:
        return answers
    stated = given.select_kinds(*(given.kinds & {"links", "triplets", "labels"})).to_links()
    certain = Supervision.from_links(
        n_samples,
        must=stated.must,
        must_weights=np.full(len(stated.must), _CERTAIN),
        cannot=stated.cannot,
        cannot_weights=np.full(len(stated.cannot), _CERTAIN),
        must_groups=list(stated.must_groups),
        must_group_weights=np.full(len(stated.must_groups), _CERTAIN),
        cannot_groups=list(stated.cannot_groups),
        cannot_group_weights=np.full(len(stated.cannot_groups), _CERTAIN),
    )
    return answers | certain


def look_up(evidence: Any, values: npt.NDArray[Any]) -> dict[tuple[Pair, int], float]:
    """Return the value of each answered pair and sign."""
    votes = evidence.votes
    keys = zip(map(tuple, votes.pairs.tolist()), votes.signs.astype(int).tolist(), strict=True)
    return dict(zip(keys, values.tolist(), strict=True))


def weigh_annotators(
    replies: Sequence[Reply], evidence: Any, first_rows: Mapping[str, int] | None = None
) -> list[float] | None:
    """Return a weight for each reply, by how well the other answers predict the answers of its annotator.

    None unless at least two annotators gave enough answers. The answers of an annotator who is wrong more
    often than right are reversed, but only after many answers.
    """
    by_annotator: dict[str | None, list[float]] = defaultdict(list)
    if evidence is None:
        return None
    predicted = look_up(evidence, evidence.beliefs.predicted)
    for reply, pairs in zip(replies, list_all_pairs(replies, first_rows), strict=True):
        by_annotator[reply.annotator] += [predicted[stated] for stated in pairs if stated in predicted]
    weights = compute_annotator_weights(by_annotator)
    return None if weights is None else [weights[reply.annotator] for reply in replies]


def compute_annotator_weights(
    by_annotator: Mapping[str | None, Sequence[float]],
) -> dict[str | None, float] | None:
    """Return a weight for each annotator from the predicted probabilities of the answers; see above."""
    if sum(len(values) >= _FEWEST_PAIRS for values in by_annotator.values()) < 2:
        return None
    common = _fit_rate(np.concatenate([np.array(values) for values in by_annotator.values()]))
    unit = math.log((1 - min(common, 0.45)) / min(common, 0.45))
    weights: dict[str | None, float] = {}
    for annotator, values in by_annotator.items():
        rate = _fit_rate(np.array(values))
        if rate > 0.5 and len(values) < _REVERSED_PAIRS:
            rate = 0.5
        weight = math.log((1 - rate) / rate) / unit or _WEIGHT_INSTEAD_OF_ZERO
        weights[annotator] = min(max(weight, _WEIGHTS[0]), _WEIGHTS[1])
    return weights


def _fit_rate(predicted: npt.NDArray[np.float64]) -> float:
    """Estimate an error rate by EM from the probability of each answer given all others."""
    a, b = _ANNOTATOR_PRIOR
    rate = 0.1
    for _ in range(30):
        right = (1 - rate) * predicted
        right = right / np.maximum(right + rate * (1 - predicted), 1e-12)
        rate = float((a + (1 - right).sum()) / (a + b + len(predicted)))
    return min(max(rate, 0.005), 0.995)


@dataclass(frozen=True)
class Suspect:
    """An answer that looks wrong.

    Parameters
    ----------
    reply : Reply
        The answer.
    chance : float
        The estimated probability that it is wrong. If the answer is about several pairs, the largest of their
        probabilities.
    predicted : float
        The probability of the answer given the rows and all other answers.
    against : tuple of Reply
        At most five other answers about at least one of its rows: they state the opposite, or they agree with
        the most probable clusters, with which this answer disagrees.
    rows : tuple of int
        At most five answered neighbours of either row that share its most probable cluster.
    confirmed : bool
        Whether the pair was answered the same way more than once.

    Examples
    --------
    >>> from likewise.active import Question, Reply, Suspect
    >>> reply = Reply(Question.pair(0, 4), "SAME")
    >>> print(Suspect(reply, chance=0.7, predicted=0.1, against=(), rows=(1, 3), confirmed=False))
    “Do rows 0 and 4 belong together?” SAME: wrong with probability 70%; 2 near rows contradict it.
    """

    reply: Reply
    chance: float
    predicted: float
    against: tuple[Reply, ...]
    rows: tuple[int, ...]
    confirmed: bool

    @property
    def question(self) -> Question:
        """The question that was answered."""
        return self.reply.question

    def __str__(self) -> str:
        reasons = []
        if self.against:
            n = len(self.against)
            reasons.append(
                f"{n} other answer{'s' if n > 1 else ''} about {'these' if n > 1 else 'the same'} rows"
            )
        if self.rows:
            reasons.append(f"{len(self.rows)} near row{'s' if len(self.rows) > 1 else ''}")
        verb = "contradicts" if len(self.against) + len(self.rows) == 1 else "contradict"
        because = f"; {' and '.join(reasons)} {verb} it" if reasons else ""
        answer = f"“{self.reply.question.text}” {self.reply.answer}"
        return f"{answer}: wrong with probability {self.chance:.0%}{because}."


def find_suspects(interview: Interview) -> tuple[Suspect, ...]:
    """Return the answers that look wrong, most suspicious first."""
    passed = getattr(interview.model_, "propagation_", None)
    evidence = getattr(passed, "evidence", None)
    if passed is None or evidence is None:
        return ()
    right = look_up(evidence, evidence.beliefs.right)
    predicted = look_up(evidence, evidence.beliefs.predicted)
    replies = interview.replies
    stated = list_all_pairs(replies, interview._first_rows)
    times: dict[tuple[Pair, int], int] = defaultdict(int)
    about: dict[int, list[int]] = defaultdict(list)
    for at, pairs in enumerate(stated):
        for pair, sign in pairs:
            times[pair, sign] += 1
        for row in replies[at].question.rows:
            about[row].append(at)
    classes = np.full(len(passed.class_of), -1, dtype=np.int64)
    classes[evidence.beliefs.rows] = passed.cluster_of_class[evidence.beliefs.classes.argmax(axis=1)]
    found = []
    for at, (reply, pairs) in enumerate(zip(replies, stated, strict=True)):
        # The answers of an unreliable annotator may have been reversed, that is, counted with the other sign.
        wrong = {
            (pair, sign): 1.0 - right[pair, sign] if (pair, sign) in right else right[pair, -sign]
            for pair, sign in pairs
            if (pair, sign) in right or (pair, -sign) in right
        }
        if not wrong:
            continue
        pair, sign = max(wrong, key=wrong.__getitem__)
        chance = wrong[pair, sign]
        if chance < SUSPICIOUS:
            continue
        others = dict.fromkeys(o for row in pair for o in about[row] if o != at)
        odd = not _agree_with_classes([(pair, sign)], classes)
        against = [
            replies[o]
            for o in others
            if (pair, -sign) in stated[o] or (odd and stated[o] and _agree_with_classes(stated[o], classes))
        ]
        near = _find_near(passed, pair, classes) if odd else ()
        found.append(
            Suspect(
                reply=reply,
                chance=float(chance),
                predicted=float(predicted.get((pair, sign), 1.0 - predicted.get((pair, -sign), 0.5))),
                against=tuple(against[:MOST_REASONS]),
                rows=near,
                confirmed=times[pair, sign] > 1,
            )
        )
    return tuple(sorted(found, key=lambda suspect: -suspect.chance))


@dataclass(frozen=True, eq=False)
class Merge:
    """Two groups of rows linked by a single SAME answer that was not confirmed.

    Attributes
    ----------
    pair : tuple of (int, int)
        The two rows of the answer, the smaller first.
    first, second : ndarray of int
        The rows of either group, including its row of the pair.
    """

    pair: Pair
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]

    def are_across(self, pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each pair whether one row is in the first group and the other in the second."""
        in_first, in_second = np.isin(pairs, self.first), np.isin(pairs, self.second)
        return np.asarray((in_first & in_second[:, ::-1]).any(axis=1))


def find_merges(model: Any) -> tuple[Merge, ...]:
    """Return the pairs of groups that a single unconfirmed SAME answer connects.

    Nothing contradicts such an answer, because no other answer links the two groups. The result is sorted by
    the size of the smaller group, largest first. Small groups are left out: if the answer places only one
    row, asking about a new row nearby tells as much and also places that row. Answers with a large weight are
    left out as well.
    """
    evidence = getattr(getattr(model, "propagation_", None), "evidence", None)
    if evidence is None:
        return ()
    few = model.propagation_.n_classes <= _FEW_CLASSES
    least = _MIN_GROUP_SIZES[0 if few else 1]
    votes = evidence.votes
    n = len(votes.rows)
    ends = votes.places[evidence.believed & (votes.signs > 0)]
    n_links = np.bincount(ends.ravel(), minlength=n)
    found = []
    for at in np.flatnonzero((n_links[ends] > 1).all(axis=1)).tolist():
        rest = np.delete(ends, at, axis=0)
        _, group = connected_components(csr_array((np.ones(len(rest)), rest.T), shape=(n, n)))
        i, j = ends[at]
        if group[i] == group[j]:
            continue
        merge = Merge(
            pair=_sort_pair(int(votes.rows[i]), int(votes.rows[j])),
            first=votes.rows[group == group[i]],
            second=votes.rows[group == group[j]],
        )
        across = merge.are_across(votes.pairs)
        is_only_link = across.sum() == 1 and votes.weights[across] < _CONFIRMED
        if is_only_link and min(len(merge.first), len(merge.second)) >= least:
            found.append(merge)
    return tuple(sorted(found, key=lambda merge: -min(len(merge.first), len(merge.second))))


def _agree_with_classes(pairs: Sequence[tuple[Pair, int]], classes: npt.NDArray[np.int64]) -> bool:
    """Return True if the pairs agree with the most probable clusters."""
    return all((classes[i] == classes[j]) == (sign > 0) for (i, j), sign in pairs)


def _find_near(passed: Any, pair: Pair, classes: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Return neighbours that have answers and are in the most probable cluster of one row of the pair."""
    found: list[int] = []
    for row in pair:
        near = passed.smoother.get_neighbors(row)
        found += [int(r) for r in near if classes[r] >= 0 and classes[r] == classes[row] and r not in pair]
    return tuple(dict.fromkeys(found))[:MOST_REASONS]
