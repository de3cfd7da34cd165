"""Folds over hints. Held-out hints that the training hints imply are not scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise._compat import check_random_state
from likewise.exceptions import SupervisionError
from likewise.supervision import TRIPLET_ANSWERS, Closure, Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
NEITHER = TRIPLET_ANSWERS.index("NEITHER")


@dataclass(frozen=True, eq=False)
class HintFold:
    """One fold: the training hints, and the held-out questions with their answers.

    Parameters
    ----------
    train : Supervision
        The training hints.
    pairs : ndarray of shape (n_pairs, 2)
        The held-out pairs of rows whose relation the training hints do not imply.
    together : ndarray of bool, of shape (n_pairs,)
        True if the pair belongs together.
    pair_weights : ndarray of shape (n_pairs,)
        The weight of each pair.
    triplets : ndarray of shape (n_triplets, 3)
        The held-out triplets of rows whose answer the training hints do not imply.
    answers : ndarray of shape (n_triplets,)
        Their answers: 0 AB, 1 AC, 2 BC, 3 NEITHER.
    triplet_weights : ndarray of shape (n_triplets,)
        The weight of each triplet.
    n_implied : int
        The number of held-out pairs and triplets that are left out because the training hints imply them.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.evaluation import HintKFold
    >>> hints = Supervision.from_links(4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    >>> fold = next(HintKFold(2, random_state=0).split(hints))
    >>> fold.train
    Supervision(4 rows: 1 must, 1 cannot)
    >>> fold.n_scored + fold.n_implied
    2
    """

    train: Supervision
    pairs: IntArray
    together: BoolArray
    pair_weights: FloatArray
    triplets: IntArray
    answers: IntArray
    triplet_weights: FloatArray
    n_implied: int

    @property
    def n_scored(self) -> int:
        """The number of held-out pairs and triplets that are scored."""
        return len(self.pairs) + len(self.triplets)


class HintKFold:
    """Split the hints, not the rows, into k folds.

    Pairs, triplets and labels are distributed over the folds; each is held out once. The sizes of the folds
    differ by at most one, and so do their numbers of must-links, of cannot-links, of triplets answered AB, AC
    or BC, of triplets answered NEITHER, and of labels of each class. Groups of links and bags are statements
    about many rows, and are training hints in every fold.

    A held-out label is scored as pairs: its row with one random labelled row of each class.

    A held-out question is not scored if the training hints imply its answer: through chains of must-links, a
    cannot-link between two such chains, triplets read as links, labels and bags, or a triplet answered
    NEITHER with two rows that are known to be together or apart.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2.
    random_state : int, RandomState instance or None, default=None
        The seed for shuffling.

    Examples
    --------
    >>> from likewise import Supervision
    >>> hints = Supervision.from_links(6, must=[(0, 1), (1, 2), (0, 2), (4, 5)], cannot=[(0, 3), (3, 5)])
    >>> for fold in HintKFold(2, random_state=0).split(hints):
    ...     print(fold.train, fold.pairs.tolist(), fold.n_implied)
    Supervision(6 rows: 2 must, 1 cannot) [[4, 5], [3, 5]] 1
    Supervision(6 rows: 2 must, 1 cannot) [[0, 1], [0, 2], [0, 3]] 0
    """

    def __init__(self, n_splits: int = 5, *, random_state: RandomStateLike = None) -> None:
        if not isinstance(n_splits, int | np.integer) or isinstance(n_splits, bool) or n_splits < 2:
            raise ValueError(f"the number of folds must be an integer of at least 2; got {n_splits!r}.")
        self.n_splits: int = int(n_splits)
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"HintKFold({self.n_splits}, random_state={self.random_state!r})"

    def split(self, supervision: Supervision) -> Iterator[HintFold]:
        """Yield the folds. The cost of each is linear in the rows and the hints.

        Parameters
        ----------
        supervision : Supervision
            The hints to split.

        Yields
        ------
        fold : HintFold
            The training hints and the held-out questions.
        """
        if not isinstance(supervision, Supervision):
            raise SupervisionError(
                f"supervision must be a likewise.Supervision; got {type(supervision).__name__}. "
                "Make one with Supervision.from_links(len(X), must=[(0, 3)], cannot=[(1, 7)])."
            )
        labelled = np.flatnonzero(supervision.label_codes >= 0)
        strata = [
            *np.unique(supervision.label_codes[labelled], return_counts=True)[1].tolist(),
            len(supervision.must),
            len(supervision.cannot),
            int((supervision.answers != NEITHER).sum()),
            int((supervision.answers == NEITHER).sum()),
        ]
        self._check_enough(sum(strata), supervision)
        rng = check_random_state(self.random_state)
        dealt = self._deal(strata, rng)
        n_labels, n_links = len(labelled), len(supervision.must) + len(supervision.cannot)
        label_fold = np.full(supervision.n_samples, -1)
        label_fold[labelled[np.argsort(supervision.label_codes[labelled], kind="stable")]] = dealt[:n_labels]
        must_fold, cannot_fold = np.split(dealt[n_labels : n_labels + n_links], [len(supervision.must)])
        triplet_fold = np.empty(len(supervision.answers), dtype=np.int64)
        by_sort = np.argsort(supervision.answers == NEITHER, kind="stable")
        triplet_fold[by_sort] = dealt[n_labels + n_links :]
        asked = _pair_labelled_rows(supervision, rng)
        for k in range(self.n_splits):
            yield _fold(
                supervision, label_fold == k, must_fold == k, cannot_fold == k, triplet_fold == k, asked
            )

    def _check_enough(self, n_hints: int, supervision: Supervision) -> None:
        if n_hints >= self.n_splits:
            return
        kept = ""
        if len(supervision.must_groups) or len(supervision.cannot_groups) or supervision.bags is not None:
            kept = " Groups of links and bags are never held out; use pairs, triplets or labels instead."
        raise SupervisionError(
            f"{n_hints} pair(s), triplet(s) and label(s) cannot be split into {self.n_splits} folds. "
            f"Add hints, or use fewer folds.{kept}"
        )

    def _deal(self, strata: list[int], rng: Any) -> IntArray:
        """Return the fold of each hint, stratum after stratum, continuing the round robin across strata."""
        start, dealt = 0, [np.empty(0, dtype=np.int64)]
        order = rng.permutation(self.n_splits)
        for size in strata:
            folds = order[(start + np.arange(size)) % self.n_splits]
            dealt.append(rng.permutation(folds))
            start += size
        return np.concatenate(dealt).astype(np.int64)


def _pair_labelled_rows(hints: Supervision, rng: Any) -> tuple[IntArray, IntArray]:
    """Return, for each labelled row, another labelled row of each class, or -1 if there is none."""
    codes = hints.label_codes
    rows = np.flatnonzero(codes >= 0)
    partners = np.full((len(rows), len(hints.classes)), -1, dtype=np.int64)
    for c in range(len(hints.classes)):
        members = np.flatnonzero(codes == c)
        place = rng.randint(0, len(members), size=len(rows))
        partner = members[place]
        itself = partner == rows
        partner[itself] = members[(place[itself] + 1) % len(members)]
        partners[:, c] = np.where(partner == rows, -1, partner)
    return rows, partners


def _fold(
    hints: Supervision,
    labels_out: BoolArray,
    must_out: BoolArray,
    cannot_out: BoolArray,
    triplets_out: BoolArray,
    asked: tuple[IntArray, IntArray],
) -> HintFold:
    train = _drop_hints(hints, labels_out, must_out, cannot_out, triplets_out)
    rows, partners = asked
    out = labels_out[rows]
    i = np.repeat(rows[out], partners.shape[1])
    j = partners[out].reshape(-1)
    i, j = i[j >= 0], j[j >= 0]
    # If both labels are held out, the pair may have been drawn twice.
    drawn = np.unique(np.sort(np.column_stack([i, j]), axis=1), axis=0)
    of_labels = hints.label_codes[drawn[:, 0]] == hints.label_codes[drawn[:, 1]]
    pairs = np.concatenate([hints.must[must_out], hints.cannot[cannot_out], drawn])
    together = np.concatenate([np.ones(must_out.sum(), bool), np.zeros(cannot_out.sum(), bool), of_labels])
    weights = np.concatenate(
        [hints.must_weights[must_out], hints.cannot_weights[cannot_out], np.ones(len(drawn))]
    )
    triplets, answers = hints.triplets[triplets_out], hints.answers[triplets_out].astype(np.int64)
    closure, waiting = _close_hints(train)
    open_pairs = find_relations(closure, pairs) == UNKNOWN
    open_triplets = ~_find_decided(closure, triplets, waiting)
    return HintFold(
        train=train,
        pairs=pairs[open_pairs],
        together=together[open_pairs],
        pair_weights=weights[open_pairs],
        triplets=triplets[open_triplets],
        answers=answers[open_triplets],
        triplet_weights=hints.triplet_weights[triplets_out][open_triplets],
        n_implied=int((~open_pairs).sum() + (~open_triplets).sum()),
    )


def _drop_hints(
    hints: Supervision, labels: BoolArray, must: BoolArray, cannot: BoolArray, triplets: BoolArray
) -> Supervision:
    """Return the hints without the marked labels, links and triplets."""
    n = hints.n_samples
    kept = hints.select_kinds("bags")
    if "links" in hints.kinds:
        kept |= Supervision.from_links(
            n,
            must=hints.must[~must],
            cannot=hints.cannot[~cannot],
            must_weights=hints.must_weights[~must],
            cannot_weights=hints.cannot_weights[~cannot],
            must_groups=hints.must_groups,
            cannot_groups=hints.cannot_groups,
            must_group_weights=hints.must_groups.weights,
            cannot_group_weights=hints.cannot_groups.weights,
        )
    if "triplets" in hints.kinds:
        words = np.array(TRIPLET_ANSWERS)[hints.answers[~triplets]].tolist()
        kept |= Supervision.from_triplets(
            n, hints.triplets[~triplets], words, weights=hints.triplet_weights[~triplets]
        )
    if "labels" in hints.kinds:
        codes = np.where(labels, -1, hints.label_codes).tolist()
        kept |= Supervision.from_labels([None if c < 0 else hints.classes[c] for c in codes], missing=None)
    return kept


# ---------------------------------------------------------------------- what the training hints imply

APART, TOGETHER, UNKNOWN = 0, 1, -1


def find_relations(closure: Closure, pairs: IntArray) -> IntArray:
    """Return TOGETHER, APART or UNKNOWN for each pair by the closure; must-links take precedence."""
    first, second = closure.component[pairs[:, 0]], closure.component[pairs[:, 1]]
    edges = closure.cannot[:, 0] * closure.n_components + closure.cannot[:, 1]
    asked = np.minimum(first, second) * closure.n_components + np.maximum(first, second)
    apart = np.isin(asked, edges)
    groups = closure.cannot_groups
    if len(groups):
        members = csr_array(
            (np.ones(len(groups.members)), (groups.members, groups.group_of)),
            shape=(closure.n_components, len(groups)),
        )
        apart |= np.asarray(members[first].multiply(members[second]).sum(axis=1)).reshape(-1) > 0
    found: IntArray = np.where(first == second, TOGETHER, np.where(apart, APART, UNKNOWN))
    return found


_SIDES = ((0, 1), (0, 2), (1, 2))  # the pairs ab, ac, bc of a triplet
# The partitions of three rows: which of ab, ac, bc are together, and the resulting answer.
_PARTITIONS = (((1, 0, 0), 0), ((0, 1, 0), 1), ((0, 0, 1), 2), ((1, 1, 1), NEITHER), ((0, 0, 0), NEITHER))


def _find_sides(closure: Closure, triplets: IntArray) -> IntArray:
    return np.column_stack([find_relations(closure, triplets[:, side]) for side in _SIDES])


def _find_decided(closure: Closure, triplets: IntArray, waiting: IntArray) -> BoolArray:
    """Mark the triplets with at most one possible answer, or whose components were answered NEITHER."""
    known = _find_sides(closure, triplets)
    possible = np.zeros((len(triplets), len(TRIPLET_ANSWERS)), dtype=bool)
    for together, answer in _PARTITIONS:
        possible[:, answer] |= ((known == UNKNOWN) | (known == np.array(together))).all(axis=1)
    # If three components were answered NEITHER, so is every triplet of their rows.
    asked, waiting_components = (np.sort(closure.component[rows], axis=1) for rows in (triplets, waiting))
    place = np.unique(np.concatenate([waiting_components, asked]), axis=0, return_inverse=True)[1].reshape(-1)
    decided: BoolArray = (possible.sum(axis=1) <= 1) | np.isin(
        place[len(waiting_components) :], place[: len(waiting_components)]
    )
    return decided


def _close_hints(train: Supervision) -> tuple[Closure, IntArray]:
    """Return the closure of all training hints as links, and the NEITHER triplets that imply no links.

    A triplet answered NEITHER alone implies no links. If two of its rows are known to be together, so are
    all three, and if two are known to be apart, so are all. Such links are added until nothing changes.
    """
    links = train.to_links()
    waiting = train.triplets[train.answers == NEITHER]
    while True:
        closure = links.closure(on_conflict="keep")
        known = _find_sides(closure, waiting)
        news = (known != UNKNOWN).any(axis=1)
        if not news.any():
            return closure, waiting
        same = (known[news] == TOGETHER).any(axis=1)
        new_answers = waiting[news]
        more = {
            "must": np.concatenate([new_answers[same][:, side] for side in _SIDES]),
            "cannot": np.concatenate([new_answers[~same][:, side] for side in _SIDES]),
        }
        links |= Supervision.from_links(train.n_samples, **more)
        waiting = waiting[~news]
