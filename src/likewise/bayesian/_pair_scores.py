"""The most informative pairs of rows among all pairs, without scoring all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import entr

Criterion = Literal["info", "uncertain"]

_BLOCK = 512
# Number of rows for initial scores: those on which particles differ most, and half as many uncertain rows.
_FIRST_ROWS = 64
# Number of pairs that are scored exactly at a time.
_CHUNK = 8192
# Bounds on the float32 error of a mean, a variance and a score; at most 8e-7, 2e-6 and 2e-6 in trials.
_SLACK_MEAN, _SLACK_VARIANCE, _SLACK_SCORE = 2e-6, 4e-6, 1e-5
_CELLS = 4096
# With more clusters than this, squares of all products of columns cost more than the products themselves.
_FEW_CLUSTERS = 6


@dataclass(frozen=True, eq=False)
class BestPairs:
    """The best pairs of rows, best first.

    Parameters
    ----------
    pairs : ndarray of shape (n_found, 2)
        Rows a < b. Ties go to the smaller a, then to the smaller b.
    scores : ndarray of shape (n_found,)
        The criterion, in nats.
    n_scored : int
        Number of pairs that were scored; bounds exclude the others.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.bayesian._pair_scores import best_pairs
    >>> found = best_pairs(np.full((1, 3, 2), 0.5), 2, criterion="uncertain")
    >>> found.pairs.tolist(), found.scores.round(2).tolist()
    ([[0, 1], [0, 2]], [0.69, 0.69])
    """

    pairs: np.ndarray
    scores: np.ndarray
    n_scored: int


def best_pairs(
    proba: Any,
    n: int = 1,
    *,
    criterion: Criterion = "info",
    epsilon: float = 0.05,
    exclude: Any = (),
    groups: Any = None,
) -> BestPairs:
    """Find the n most informative pairs of rows among all pairs.

    With :math:`q_s = \\epsilon + (1 - 2 \\epsilon) \\sum_k r_{ask} r_{bsk}` the probability of the answer
    SAME for particle s, m its mean over the particles and H the binary entropy,

    - ``"uncertain"`` is H(m), eq. (4.6) of Pei (2017);
    - ``"info"`` is H(m) - mean H(q_s), eq. (4.7): the expected information of the answer about the weights.

    Mean and variance of q over the particles come from matrix products, block by block. A pair is scored
    only if it can be among the best, by the bound ``mean KL(q_s || m) <= c(m) Var(q)``, where
    ``c(m) = sup_q KL(q || m) / (q - m)^2`` is attained at an end of the range of q: KL(q || m) over
    (q - m)^2 is a mean of 1 / (u (1 - u)) between m and q, which is convex. The result is exact.

    Parameters
    ----------
    proba : array-like of shape (n_particles, n_rows, n_clusters)
        The probability of each cluster, for each row and particle.
    n : int, default=1
        Number of pairs to find.
    criterion : {"info", "uncertain"}, default="info"
        The score of a pair.
    epsilon : float, default=0.05
        Probability that an answer is wrong, from 0 to below 0.5.
    exclude : array-like of shape (n_pairs, 2), default=()
        Pairs to leave out, in either order.
    groups : array-like of shape (n_rows,), optional
        The group of each row, or -1 for no group. Pairs within a group are left out.

    Returns
    -------
    found : BestPairs
        The pairs with their scores, best first; fewer than n if there are not as many pairs.

    Notes
    -----
    For few clusters the time is O(S k^2 n^2), spent in matrix products, with S particles, k clusters and n
    rows. Memory is a few blocks of 512 x 512.

    Examples
    --------
    Two particles agree on all rows except the last, so the best pair contains it.

    >>> import numpy as np
    >>> from likewise.bayesian._pair_scores import best_pairs
    >>> r = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])
    >>> other = r.copy()
    >>> other[3] = [0.1, 0.9]
    >>> best_pairs([r, other]).pairs.tolist()
    [[0, 3]]
    """
    r = np.asarray(proba, dtype=np.float64)
    if r.ndim != 3:
        raise ValueError(f"proba must have shape (n_particles, n_rows, n_clusters), got {r.shape}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}.")
    if not 0 <= epsilon < 0.5:
        raise ValueError(f"epsilon must be from 0 to below 0.5, got {epsilon!r}.")
    r = np.ascontiguousarray(r.transpose(1, 0, 2))
    search = _PairSearch(r, n, check_criterion(criterion), epsilon)
    n_rows = len(r)
    masks = _Masks(n_rows, exclude, groups)
    blocks = [slice(lo, min(lo + _BLOCK, n_rows)) for lo in range(0, n_rows, _BLOCK)]
    search.raise_bar(masks)
    for i, a in enumerate(blocks):
        for b in blocks[i:]:
            search.look(a, b, masks)
    return search.get_result()


def check_criterion(criterion: Any) -> Criterion:
    """Return the criterion, or raise an error that lists the options."""
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion must be one of {get_args(Criterion)}, got {criterion!r}.")
    return criterion


class _Masks:
    """The pairs that are allowed: neither excluded nor within a group."""

    def __init__(self, n_rows: int, exclude: Any, groups: Any) -> None:
        pairs = np.asarray(exclude if len(exclude) else np.zeros((0, 2)), dtype=np.int64).reshape(-1, 2)
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n_rows):
            raise ValueError(f"exclude has rows from {pairs.min()} to {pairs.max()}; there are {n_rows}.")
        pairs = np.sort(pairs, axis=1)
        self._pairs = pairs[np.lexsort(pairs.T[::-1])]
        self._groups = None if groups is None else np.asarray(groups, dtype=np.int64)
        self._grouped = np.zeros(0, dtype=np.int64)
        if self._groups is not None:
            if self._groups.shape != (n_rows,):
                raise ValueError(f"groups must have shape ({n_rows},), got {self._groups.shape}.")
            self._grouped = np.flatnonzero(self._groups >= 0)

    def apply(self, bound: np.ndarray, a: slice, b: slice) -> None:
        """Set the bounds of excluded pairs of the block to -inf."""
        if a == b:
            bound[np.tril_indices(len(bound))] = -np.inf
        first, last = np.searchsorted(self._pairs[:, 0], [a.start, a.stop])
        mine = self._pairs[first:last]
        mine = mine[(mine[:, 1] >= b.start) & (mine[:, 1] < b.stop)]
        bound[mine[:, 0] - a.start, mine[:, 1] - b.start] = -np.inf
        if self._groups is not None:
            rows = self._grouped[slice(*np.searchsorted(self._grouped, [a.start, a.stop]))]
            columns = self._grouped[slice(*np.searchsorted(self._grouped, [b.start, b.stop]))]
            i, j = np.nonzero(self._groups[rows][:, None] == self._groups[columns])
            bound[rows[i] - a.start, columns[j] - b.start] = -np.inf

    def find_allowed(self, pairs: np.ndarray) -> np.ndarray:
        """Return a mask of the pairs a < b that are allowed."""
        n = max(int(pairs.max(initial=0)), int(self._pairs.max(initial=0))) + 1
        free = ~np.isin(pairs @ [n, 1], self._pairs @ [n, 1])
        if self._groups is not None:
            g = self._groups[pairs]
            free &= (g[:, 0] != g[:, 1]) | (g[:, 0] < 0)
        return np.asarray(free)


class _PairSearch:
    """The best pairs so far, and the search of a block of pairs."""

    def __init__(self, r: np.ndarray, n: int, criterion: Criterion, epsilon: float) -> None:
        self._r, self._n, self._criterion, self._epsilon = r, n, criterion, epsilon
        self._pairs, self._scores = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        self._n_scored = 0
        n_rows, n_particles, k = r.shape
        self._flat = (r.reshape(n_rows, -1) / np.sqrt(n_particles)).astype(np.float32)
        self._squares: np.ndarray | None = None
        if criterion == "info" and k <= _FEW_CLUSTERS:
            # (sum_k a_k b_k)^2 is a product of all a_k a_l with all b_k b_l; k < l counts twice.
            i, j = np.triu_indices(k)
            twice = np.where(i == j, 1.0, np.sqrt(2.0)) / np.sqrt(n_particles)
            self._squares = np.empty((n_rows, n_particles * len(i)), dtype=np.float32)
            for part in range(0, n_rows, _BLOCK):
                some = r[part : part + _BLOCK]
                self._squares[part : part + _BLOCK] = (some[:, :, i] * some[:, :, j] * twice).reshape(
                    len(some), -1
                )
        self._bounds = _compute_cell_bounds(epsilon, criterion)

    # ------------------------------------------------------------------ exact scores

    def score_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Score pairs in float64."""
        same = np.einsum("csk,csk->cs", self._r[pairs[:, 0]], self._r[pairs[:, 1]])
        q = np.clip(self._epsilon + (1 - 2 * self._epsilon) * same, 0.0, 1.0)
        m = q.mean(axis=1)
        value = entr(m) + entr(1 - m)
        if self._criterion == "info":
            value -= (entr(q) + entr(1 - q)).mean(axis=1)
        return np.asarray(np.maximum(value, 0.0))

    def _score_roughly(self, pairs: np.ndarray) -> np.ndarray:
        """Score pairs in float32, four times as fast as in float64."""
        self._n_scored += len(pairs)
        n_particles, k = self._r.shape[1:]
        a, b = (self._flat[end].reshape(-1, n_particles, k) for end in pairs.T)
        low, high = (np.float32(end) for end in (max(self._epsilon, 1e-7), min(1 - self._epsilon, 1 - 1e-7)))
        q = np.einsum("csk,csk->cs", a, b)
        q *= np.float32(n_particles * (1 - 2 * self._epsilon))
        q += np.float32(self._epsilon)
        np.clip(q, low, high, out=q)
        value = _compute_binary_entropy(q.mean(axis=1))
        if self._criterion == "info":
            value -= _compute_binary_entropy(q).mean(axis=1)
        return np.asarray(value)

    @property
    def _bar(self) -> float:
        """The bound that a pair must reach; no allowed pair has a bound below -1."""
        return float(self._scores[-1]) - 1e-9 if len(self._scores) == self._n else -1.0

    def _add(self, pairs: np.ndarray) -> None:
        if not len(pairs):
            return
        pairs = np.concatenate([self._pairs, pairs])
        scores = np.concatenate([self._scores, self.score_pairs(pairs[len(self._pairs) :])])
        # `raise_bar` may have added a pair already.
        _, first = np.unique(pairs @ [len(self._r), 1], return_index=True)
        pairs, scores = pairs[first], scores[first]
        order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[: self._n]
        self._pairs, self._scores = pairs[order], scores[order]

    def get_result(self) -> BestPairs:
        return BestPairs(self._pairs, self._scores, self._n_scored)

    # ------------------------------------------------------------------ blocks

    def raise_bar(self, masks: _Masks) -> None:
        """Score some pairs of rows on which particles differ most, for an initial bound."""
        differ = np.argsort(-self._r.var(axis=1).sum(axis=1), kind="stable")[:_FIRST_ROWS]
        unclear = np.argsort(self._r.mean(axis=1).max(axis=1), kind="stable")[: _FIRST_ROWS // 2]
        few = np.unique(np.concatenate([differ, unclear]))
        pairs = few[np.column_stack(np.triu_indices(len(few), 1))]
        pairs = pairs[masks.find_allowed(pairs)]
        self._n_scored += len(pairs)
        self._add(pairs)

    def look(self, a: slice, b: slice, masks: _Masks) -> None:
        """Score the pairs of a block that can be among the best."""
        same, square = self._compute_moments(a, b)
        cell = (same * np.float32(_CELLS)).astype(np.int32)
        by_mean, curve = self._bounds
        if square is None:
            bound = np.take(by_mean, cell, mode="clip")
        else:
            square -= same * same
            square += np.float32(_SLACK_VARIANCE)
            square *= np.float32((1 - 2 * self._epsilon) ** 2)
            bound = np.take(curve, cell, mode="clip")
            bound *= square
        masks.apply(bound, a, b)
        flat = np.flatnonzero(bound.ravel() >= self._bar)
        bounds = bound.ravel()[flat]
        if square is not None:
            np.minimum(bounds, np.take(by_mean, cell.ravel()[flat], mode="clip"), out=bounds)
        order = np.argsort(-bounds, kind="stable")
        flat, bounds = flat[order], bounds[order]
        for lo in range(0, len(flat), _CHUNK):
            some = flat[lo : lo + _CHUNK][bounds[lo : lo + _CHUNK] >= self._bar]
            if not len(some):
                break
            i, j = np.divmod(some, bound.shape[1])
            pairs = np.column_stack([i + a.start, j + b.start])
            self._add(pairs[self._score_roughly(pairs) >= self._bar - _SLACK_SCORE])

    def _compute_moments(self, a: slice, b: slice) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the means over the particles of r_a . r_b and of its square, in float32."""
        if self._criterion == "uncertain" or self._squares is not None:
            square = None if self._squares is None else self._squares[a] @ self._squares[b].T
            return self._flat[a] @ self._flat[b].T, square
        n_particles, k = self._r.shape[1:]
        mine, theirs = (self._flat[part].reshape(-1, n_particles, k) for part in (a, b))
        same = np.zeros((len(mine), len(theirs)), dtype=np.float32)
        square = np.zeros_like(same)
        product = np.empty_like(same)
        for s in range(n_particles):
            np.matmul(mine[:, s], theirs[:, s].T, out=product)
            same += product
            product *= product
            square += product
        return same, square * np.float32(n_particles)


def _compute_binary_entropy(q: np.ndarray) -> np.ndarray:
    """Return the binary entropy of q, above 0 and below 1."""
    other = 1 - q
    return np.asarray(-(q * np.log(q) + other * np.log(other)))


def _compute_cell_bounds(epsilon: float, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds for every cell of the mean of r_a . r_b: H(m) minus the smallest entropy, and c(m).

    H is concave and c is convex: H is largest at the end of a cell closest to 1/2, and c at one of the ends.
    """
    ends = np.linspace(0.0, 1.0, _CELLS + 1)
    low = np.clip(ends[:-1] - _SLACK_MEAN, 0.0, 1.0)
    high = np.clip(ends[1:] + _SLACK_MEAN, 0.0, 1.0)
    low, high = (epsilon + (1 - 2 * epsilon) * end for end in (low, high))
    nearest = np.clip(0.5, low, high)
    by_mean = entr(nearest) + entr(1 - nearest)
    if criterion == "info":
        by_mean -= entr(epsilon) + entr(1 - epsilon)
    curve = np.maximum(_compute_curvature(low, epsilon), _compute_curvature(high, epsilon))
    # Rounded up: float32 keeps seven digits.
    return ((by_mean + 1e-6) * (1 + 1e-6)).astype(np.float32), (curve * (1 + 1e-5)).astype(np.float32)


def _compute_curvature(m: np.ndarray, epsilon: float) -> np.ndarray:
    """Return sup KL(q || m) / (q - m)^2 over q from epsilon to 1 - epsilon."""
    inside = np.clip(m, max(epsilon, 1e-7), min(1 - epsilon, 1 - 1e-7))
    found = np.zeros_like(inside)
    for q in (epsilon, 1 - epsilon):
        far = np.abs(q - inside) > 1e-4
        m_far = np.where(far, inside, 0.5)
        q_far = np.where(far, q, 0.25)
        kl = -entr(q_far) - entr(1 - q_far) - q_far * np.log(m_far) - (1 - q_far) * np.log1p(-m_far)
        # If q is close to m, the quotient is close to 1 / (2 m (1 - m)); 0.51 leaves some slack.
        near = 0.51 / (inside * (1 - inside))
        found = np.maximum(found, np.where(far, kl / (q_far - m_far) ** 2, near))
    return found


def score_triplets(
    proba: Any, triplets: Any, *, criterion: Criterion = "info", epsilon: float = 0.05
) -> np.ndarray:
    """Score triplets of rows as :func:`best_pairs` scores pairs, in nats.

    The answer is AB, AC, BC or NEITHER, right with probability 1 - epsilon and otherwise one of the other
    three. ``"uncertain"`` is the entropy of its mean distribution over the particles, ``"info"`` the same
    minus the mean entropy. The answer about a pair has at most log 2 nats, about a triplet log 4.

    Parameters
    ----------
    proba : array-like of shape (n_particles, n_rows, n_clusters)
        The probability of each cluster, for each row and particle.
    triplets : array-like of shape (n_triplets, 3)
        The rows of each triplet.
    criterion : {"info", "uncertain"}, default="info"
        The score: the information that the answer gives, or the uncertainty of the answer.
    epsilon : float, default=0.05
        Probability that an answer is wrong.

    Returns
    -------
    scores : ndarray of shape (n_triplets,)
        The score of each triplet, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.bayesian._pair_scores import score_triplets
    >>> sure = np.eye(3)[[0, 0, 1, 2]]
    >>> other = np.eye(3)[[0, 0, 1, 1]]
    >>> score_triplets([sure, other], [(0, 1, 2), (0, 2, 3)], epsilon=1e-9).round(3).tolist()
    [0.0, 0.693]
    """
    check_criterion(criterion)
    r = np.asarray(proba, dtype=np.float64)
    rows = np.asarray(triplets, dtype=np.int64).reshape(-1, 3)
    scores = np.empty(len(rows))
    for lo in range(0, len(rows), _CHUNK):
        a, b, c = (r[:, rows[lo : lo + _CHUNK, place]] for place in range(3))
        every = np.einsum("snk,snk,snk->sn", a, b, c)
        two = np.stack([np.einsum("snk,snk->sn", u, v) - every for u, v in ((a, b), (a, c), (b, c))])
        relation = np.clip(np.concatenate([two, 1.0 - two.sum(axis=0, keepdims=True)]), 0.0, 1.0)
        answer = epsilon / 3 + (1 - 4 * epsilon / 3) * relation
        value = entr(answer.mean(axis=1)).sum(axis=0)
        if criterion == "info":
            value -= entr(answer).sum(axis=0).mean(axis=0)
        scores[lo : lo + _CHUNK] = np.maximum(value, 0.0)
    return scores
