"""Derive classes from links and propagate them along the graph, for PropagationClustering."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, cg

from likewise.backends.neighbor_index import CandidateIndex, NeighborIndex
from likewise.spectral._affinity import Graph, Recipe, count_neighbors_of_new_rows
from likewise.spectral._block_products import LARGE_GRAPH, GraphBlocks
from likewise.spectral._gaussian_metric import MixtureSpace
from likewise.supervision import Closure
from likewise.supervision.cliques import Edges

if TYPE_CHECKING:
    from likewise.spectral._link_evidence import Evidence

# Weight of a medoid in the class counts of its initial cluster, in rows whose class is known.
_TRUST = 1.0
# Weight of the uniform distribution in class probabilities, so that no class has probability 0.
_DOUBT = 0.02
# A component starts a new class once the classes it may still belong to have less than this probability.
_OPENS = 0.25
_TOL, _STEPS = 1e-5, 500  # of conjugate gradients
_TOL_LARGE = 1e-4  # for large graphs, which are solved in single precision
# Up to this many rows, and this many numbers, columns of the inverse are stored; above, each is solved anew.
_MOST_ROWS = 1_500
_MOST_KEPT = 20_000_000
_BLOCK = 512  # samples
# Added to a unit diagonal: two rows that are only similar to each other would make the matrix singular.
_RIDGE = 1e-9
_RIDGE_LARGE = 10 * _TOL_LARGE  # above the error of the solutions


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedRows:
    """The parts of a fit that do not depend on links."""

    key: tuple[Any, ...]  # the parameters they were made with
    X: np.ndarray
    recipe: Recipe  # of the graph
    graph: Graph  # of nearest neighbours
    smoother: Smoother
    centers: np.ndarray  # of k-means
    first: np.ndarray  # (n_samples,) the initial cluster of each row, numbered from 0; none is empty
    smoothed: np.ndarray  # (n_samples, n_first) the initial clusters as shares, smoothed along the graph
    medoids: np.ndarray  # (n_first,) the row nearest to the mean of each initial cluster
    space: MixtureSpace | None  # the rows prepared for mixtures, if a metric is learned

    @cached_property
    def index(self) -> NeighborIndex:
        """The rows, arranged to find the neighbours of new rows."""
        return NeighborIndex(self.X)

    @cached_property
    def candidates(self) -> CandidateIndex:
        """The rows, arranged to find most of the neighbours of new rows."""
        return CandidateIndex(self.X, count_neighbors_of_new_rows(self.recipe, len(self.X)))

    def has_rows(self, X: Any) -> bool:
        """Return True if these are the rows X."""
        if self.X is X:
            return True
        if issparse(X) or issparse(self.X):
            same = issparse(X) and issparse(self.X) and X.shape == self.X.shape
            return bool(same and not (X != self.X).nnz)
        return np.array_equal(self.X, X)


@dataclass(frozen=True, eq=False)
class ClassAnchors:
    """The rows whose class is fixed when classes are propagated along the graph."""

    # (n_anchors,) linked rows with a class and the medoids of the initial clusters, ascending
    rows: np.ndarray
    classes: np.ndarray  # (n_anchors,) the class of each anchor
    linked: np.ndarray  # (n_anchors,) false for a medoid without links
    # (n_anchors,) whether the class of the row counts as evidence about the classes of its initial cluster
    counted: np.ndarray

    def compute_base(self, ready: PreparedRows, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class shares of all rows by their initial clusters, and the class counts of these.

        The class counts of an initial cluster are those of its medoid and its counted anchors. `targets`
        contains the shares of the anchors.
        """
        counts = np.zeros((len(ready.medoids), targets.shape[1]))
        medoids = np.searchsorted(self.rows, ready.medoids)
        counts[np.arange(len(medoids))] = _TRUST * targets[medoids]
        np.add.at(counts, ready.first[self.rows[self.counted]], targets[self.counted])
        return ready.smoothed @ (counts / counts.sum(axis=1, keepdims=True)), counts

    def interpolate(
        self, ready: PreparedRows, targets: np.ndarray, noise: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `shares` and `unreached` of all rows, given the shares of the anchors (eq. 1)."""
        base, _ = self.compute_base(ready, targets)
        columns = np.column_stack([base, np.ones(len(base))])
        wanted = np.column_stack([targets, ~self.linked])
        found = ready.smoother.interpolate(columns, self.rows, wanted, noise)
        return normalize_shares(found[:, :-1]), np.clip(found[:, -1], 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class PropagatedClasses:
    """The classes and their shares in all rows.

    A class is a must-link component, or an initial cluster without links. There may be more classes than
    clusters while it is unknown which classes belong to the same cluster.
    """

    shares: np.ndarray  # (n_samples, n_classes) the probability of each class for each row
    # (n_samples,) from 0 for a linked row with a class to 1 for a row far from any linked row
    unreached: np.ndarray
    class_of: np.ndarray  # (n_samples,) the class of each linked row, or -1
    heads: np.ndarray  # (n_classes,) one row of each class
    # (n_classes, n_classes) the overlap of the classes, from 0 to 1; -1 on the diagonal and for classes known
    # to be different
    alike: np.ndarray
    cluster_of_class: np.ndarray  # (n_classes,) the cluster of each class
    n_passes: int  # number of propagations along the graph
    smoother: Smoother  # the graph
    anchors: ClassAnchors  # the rows whose classes were propagated
    evidence: Evidence | None = None  # the evidence of each link, if links may be wrong

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.heads)

    @cached_property
    def cluster_shares(self) -> np.ndarray:
        """The probability of each cluster for each row."""
        n_clusters = int(self.cluster_of_class.max()) + 1
        if n_clusters == self.n_classes:
            return self.shares  # classes and clusters have the same numbers
        return np.asarray(self.shares @ np.eye(n_clusters)[self.cluster_of_class])


def propagate_classes(
    ready: PreparedRows, closure: Closure, n_clusters: int | None, *, count_guesses: bool = True
) -> PropagatedClasses:
    """Derive the classes from the links and propagate them along the graph.

    `n_clusters` is None if the number of clusters is unknown; every class is then a cluster. Without
    `count_guesses`, the initial clusters keep their classes if the class of most linked rows is guessed.
    """
    builder = _ClassBuilder(ready, closure, n_clusters)
    shares, unreached = builder.open_classes()
    if builder.guess(shares):
        if not count_guesses and builder.is_mostly_guessed():
            builder.keep_first_clusters()
            builder.guess(builder.propagate()[0])
        shares, unreached = builder.propagate()
    shares = builder.rule_out_apart(shares)
    heads = builder.heads
    overlap = shares.T @ shares
    length = np.sqrt(np.where(np.diag(overlap) > 0, np.diag(overlap), 1.0))
    alike = overlap / np.outer(length, length)
    alike[builder.find_known_apart()] = -1.0
    np.fill_diagonal(alike, -1.0)
    clusters = np.arange(len(heads))
    if n_clusters is not None and n_clusters < len(heads):
        sizes = np.bincount(shares.argmax(axis=1), minlength=len(heads)) + 1.0
        clusters = _merge_classes(alike, sizes, n_clusters)
    return PropagatedClasses(
        shares=shares,
        unreached=unreached,
        class_of=np.where(builder.touched, builder.place, -1)[closure.component],
        heads=closure.first_rows[heads],
        alike=alike,
        cluster_of_class=clusters,
        n_passes=builder.n_passes,
        smoother=ready.smoother,
        anchors=builder.find_anchors(),
    )


class _ClassBuilder:
    """The components that define a class, and the class of each component (-1: none yet)."""

    def __init__(self, ready: PreparedRows, closure: Closure, n_clusters: int | None) -> None:
        self.ready, self.closure, self.n_clusters = ready, closure, n_clusters
        self.edges = Edges(closure)
        component = closure.component
        self.touched = np.zeros(closure.n_components, dtype=bool)
        self.touched[component[closure.links.rows]] = True
        found = component[ready.medoids]
        self.place = np.full(closure.n_components, -1, dtype=np.int64)
        self.heads = found[:0]
        self._open(found[np.sort(np.unique(found, return_index=True)[1])])
        self.linked_rows = np.flatnonzero(self.touched[component])
        self.guessed = np.zeros(closure.n_components, dtype=bool)
        self.counts_rows = True
        self.n_passes = 0

    def _open(self, news: np.ndarray) -> None:
        self.place[news] = len(self.heads) + np.arange(len(news))
        self.heads = np.append(self.heads, news)

    def find_waiting(self) -> np.ndarray:
        """Return the linked components that do not define a class."""
        others = self.touched.copy()
        others[self.heads] = False
        return np.flatnonzero(others)

    def open_to(self, components: np.ndarray) -> np.ndarray:
        """Return a mask of the classes that each component may belong to."""
        at, other = self.edges.find_apart(self.heads)
        where = np.full(self.closure.n_components, -1, dtype=np.int64)
        where[components] = np.arange(len(components))
        allowed = np.ones((len(components), len(self.heads)), dtype=bool)
        use = where[other] >= 0
        allowed[where[other[use]], at[use]] = False
        return allowed

    def find_known_apart(self) -> np.ndarray:
        """Return a mask of the pairs of classes that are known to be different."""
        return ~self.open_to(self.heads)

    def complete(self) -> bool:
        """Return True if there are at least `n_clusters` classes and all are known to be different."""
        if self.n_clusters is None:
            return False
        apart = self.find_known_apart()
        return len(apart) >= self.n_clusters and int(apart.sum()) == len(apart) * (len(apart) - 1)

    def compute_mean_shares(self, shares: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return the mean shares of the rows of each component."""
        rows = self.linked_rows
        sums = np.zeros((self.closure.n_components, shares.shape[1]))
        np.add.at(sums, self.closure.component[rows], shares[rows])
        return np.asarray(sums[components] / self.closure.sizes[components, None])

    def find_anchors(self) -> ClassAnchors:
        """Return the linked rows with a class, and the medoids, which represent their initial clusters."""
        component = self.closure.component
        of_row = self.place[component]
        rows = np.union1d(self.linked_rows[of_row[self.linked_rows] >= 0], self.ready.medoids)
        linked = self.touched[component[rows]]
        return ClassAnchors(rows, of_row[rows], linked, linked & self.counts_rows)

    def propagate(self) -> tuple[np.ndarray, np.ndarray]:
        """Propagate the classes of the anchors; return `shares` and `unreached`."""
        self.n_passes += 1
        anchors = self.find_anchors()
        return anchors.interpolate(self.ready, np.eye(len(self.heads))[anchors.classes])

    def open_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Start a class for each component that is unlikely to belong to any existing class, in turn."""
        while True:
            shares, unreached = self.propagate()
            waiting = self.find_waiting()
            chances = (1 - _DOUBT) * self.compute_mean_shares(shares, waiting) + _DOUBT
            allowed = self.open_to(waiting)
            left = (chances * allowed).sum(axis=1) / chances.sum(axis=1)
            if self.complete():
                left[allowed.any(axis=1)] = 1.0
            order = np.argsort(left, kind="stable")
            order = order[left[order] < _OPENS]
            if not len(order):
                return shares, unreached
            news = waiting[order[:1]]
            # Components known to be different from all new ones start a class at once; the others may belong
            # to a new class.
            for c in waiting[order[1:]].tolist():
                if np.isin(news, self.edges.find_apart(np.array([c]))[1]).all():
                    news = np.append(news, c)
            self._open(news)

    def guess(self, shares: np.ndarray) -> bool:
        """Assign components to their most probable class; return True if any was assigned.

        Three kinds of components are assigned: components of two or more rows, whose must-links would
        otherwise have no effect; components with only one possible class, if there are as many classes as
        clusters; and cannot-linked components with the same most probable class.
        """
        waiting = self.find_waiting()
        allowed = self.open_to(waiting)
        sure = (allowed.sum(axis=1) == 1) & (len(self.heads) == self.n_clusters)
        chances = ((1 - _DOUBT) * self.compute_mean_shares(shares, waiting) + _DOUBT) * allowed
        likeliest = np.full(self.closure.n_components, -1, dtype=np.int64)
        likeliest[waiting] = chances.argmax(axis=1)
        ends, others = self.edges.find_apart(waiting)
        use = sure | (self.closure.sizes[waiting] > 1)
        use[ends[likeliest[waiting[ends]] == likeliest[others]]] = True
        waiting, chances, sure = waiting[use], chances[use], sure[use]
        for at in np.argsort(-chances.max(axis=1, initial=0.0), kind="stable").tolist():
            c = int(waiting[at])
            near = self.place[self.edges.find_apart(np.array([c]))[1]]
            chances[at, near[near >= 0]] = 0.0
            if chances[at].any():
                self.place[c] = int(chances[at].argmax())
                self.guessed[c] = not sure[at]
        return bool((self.place[waiting] >= 0).any())

    def is_mostly_guessed(self) -> bool:
        """Return True if the class of most linked rows is guessed instead of implied by links."""
        component = self.closure.component[self.linked_rows]
        n_guessed = int(self.guessed[component].sum())
        return 2 * n_guessed > int((self.place[component] >= 0).sum())

    def keep_first_clusters(self) -> None:
        """Withdraw all guesses, and give each initial cluster the class of its medoid.

        A guess follows from the initial clusters, so it is no evidence about them. If guessed rows counted, a
        few would decide about whole clusters: with 20 true random links, clusters became worse than without
        links.
        """
        waiting = self.find_waiting()
        self.place[waiting], self.guessed[waiting] = -1, False
        self.counts_rows = False

    def rule_out_apart(self, shares: np.ndarray) -> np.ndarray:
        """Return the shares with 0 for classes that a row is known not to belong to."""
        waiting = self.find_waiting()
        component = self.closure.component[self.linked_rows]
        rows = self.linked_rows[np.isin(component, waiting)]
        mask = self.open_to(waiting)[np.searchsorted(waiting, self.closure.component[rows])]
        shares = shares.copy()
        shares[rows] = normalize_shares((shares[rows] + 1e-12) * mask)
        return shares


def normalize_shares(shares: np.ndarray) -> np.ndarray:
    """Clip shares at 0 and scale each row to sum 1; a row of zeros gets equal shares."""
    shares = np.maximum(shares, 0.0)
    total = shares @ np.ones((shares.shape[1], 1))  # four times as fast as shares.sum(axis=1)
    if not total.all():
        nothing = total[:, 0] == 0
        shares[nothing], total[nothing] = 1.0, shares.shape[1]
    shares /= total
    return shares


def _merge_classes(alike: np.ndarray, sizes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the cluster of each class, merging classes until there are at most `n_clusters`.

    The next pair to merge joins the fewest pairs of rows of different clusters, in expectation. Classes that
    are known to be different are merged only if no other pair is left.
    """
    n = len(sizes)
    cluster, alike, sizes = np.arange(n), alike.copy(), sizes.copy()
    alive = np.ones(n, dtype=bool)
    for _ in range(n - n_clusters):
        cost = np.outer(sizes, sizes) * (1.0 - alike)
        cost[alike < 0] += 4.0 * sizes.sum() ** 2
        cost[~alive] = cost[:, ~alive] = np.inf
        np.fill_diagonal(cost, np.inf)
        a, b = sorted(np.unravel_index(cost.argmin(), cost.shape))
        apart = (alike[a] < 0) | (alike[b] < 0)
        alike[a] = alike[:, a] = np.where(apart, -1.0, np.maximum(alike[a], alike[b]))
        sizes[a] += sizes[b]
        alive[b] = False
        cluster[cluster == b] = a
    return np.asarray(np.unique(cluster, return_inverse=True)[1])


class Smoother:
    r"""Solver of :math:`(D - (1-\gamma) W)\,x = b` for the weights W and the degrees D of a graph.

    The solution for :math:`b = \gamma D p` is p smoothed along the graph: it minimises
    :math:`(1-\gamma)\sum_{ij} w_{ij}(x_i - x_j)^2/2 + \gamma\sum_i d_i (x_i - p_i)^2`. It corresponds to a
    random walk with restart of about :math:`1/\gamma` steps. The result for a column does not depend on other
    columns. Conjugate gradients solve one column at a time in double precision, or, for graphs of more than
    40,000 rows, several at a time in single precision.
    """

    def __init__(self, graph: Graph, gamma: float) -> None:
        self.gamma = gamma
        self.degrees: np.ndarray = graph.degrees
        self._root = 1.0 / np.sqrt(graph.degrees)
        scale = diags_array(self._root)
        normal = csr_array(scale @ csr_array(graph.weights) @ scale)
        self._blocks = GraphBlocks(normal) if graph.n_samples > LARGE_GRAPH else None
        self._ridge = _RIDGE if self._blocks is None else _RIDGE_LARGE
        self._order = _find_cache_order(normal)
        self._place = np.argsort(self._order)
        self._normal = csr_array(normal[self._order][:, self._order])
        self._influence: dict[int, np.ndarray] = {}

    def with_gamma(self, gamma: float) -> Smoother:
        """Return a smoother of the same graph with another gamma."""
        other = copy.copy(self)
        other.gamma, other._influence = gamma, {}
        return other

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.degrees)

    def get_neighbors(self, row: int) -> np.ndarray:
        """Return the neighbours of a row in the graph."""
        at = self._place[row]
        start, end = self._normal.indptr[at : at + 2]
        return np.asarray(self._order[self._normal.indices[start:end]])

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return the columns of `values`, smoothed along the graph."""
        right = self.gamma * self.degrees[:, None] * values
        return np.ascontiguousarray(self._solve(right.T).T)

    def diffuse(self, values: np.ndarray, steps: int, power: float) -> np.ndarray:
        """Return a vector, or each column of an array, after some steps of diffusion.

        With power 0 each row gets the mean of its surroundings, with power 1 the mass that flows to it.
        """
        scale = (self._root ** (2 * power - 1)).reshape(-1, *[1] * (values.ndim - 1))
        spread = (values * scale)[self._order]
        for _ in range(steps):
            spread = self._normal @ spread
        return np.asarray(spread[self._place] / scale)

    def has_influence(self, n_rows: int) -> bool:
        """Return True if columns of the inverse are stored for this many rows, so hold-out is cheap."""
        return n_rows <= _MOST_ROWS and n_rows * self.n_samples <= _MOST_KEPT

    def interpolate(
        self, base: np.ndarray, rows: np.ndarray, values: np.ndarray, noise: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the smooth columns `base` plus the smoothest change that gives `rows` their `values`.

        With `noise`, a variance per row relative to the variance of the field there, rows approach their
        values only as far as their surroundings agree. This requires `has_influence`.
        """
        if not len(rows):
            return base
        missing = values - base[rows]
        if not self.has_influence(len(rows)) or (self._blocks is not None and noise is None):
            return base + self._extend_smoothly(rows, missing)
        unit, root = self._compute_correlation(rows)
        unit[np.diag_indices(len(rows))] += self._ridge if noise is None else self._ridge + noise
        factor = cho_factor(unit.T, overwrite_a=True, check_finite=False)
        weights = cho_solve(factor, missing / root[:, None], check_finite=False) / root[:, None]
        del factor, unit
        columns, found = [self._influence[row] for row in rows.tolist()], np.array(base, dtype=np.float64)
        for start in range(0, self.n_samples, _BLOCK):  # a matrix of all columns would need much memory
            part = slice(start, start + _BLOCK)
            found[part] += np.stack([column[part] for column in columns]).T @ weights
        return found

    def hold_out(self, base: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the values that `interpolate` would give each of `rows` if that row were held out.

        With K the covariance of the rows, these are ``values - (K^-1 missing) / diag(K^-1)`` for all rows at
        once (Dubrule 1983).
        """
        unit, root = self._compute_correlation(rows)
        unit[np.diag_indices(len(rows))] += self._ridge
        missing = (values - base[rows]) / root[:, None]
        factor = cho_factor(unit.T, overwrite_a=True, check_finite=False)
        away = cho_solve(factor, missing, check_finite=False)
        inverse, _ = dpotri(factor[0], lower=factor[1], overwrite_c=True)
        away /= np.diag(inverse)[:, None]
        return np.asarray(values - away * root[:, None])

    def _compute_correlation(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the correlation matrix of `rows` and their scales, from the columns of the inverse for them.

        The correlation is made symmetric, which it is up to rounding.
        """
        new = [row for row in dict.fromkeys(rows.tolist()) if row not in self._influence]
        if new:
            ones = np.zeros((len(new), self.n_samples))
            ones[np.arange(len(new)), new] = 1.0
            self._influence.update(zip(new, self._solve(ones), strict=True))
        own = np.empty((len(rows), len(rows)))
        for at, row in enumerate(rows.tolist()):
            own[at] = self._influence[row][rows]
        root = np.sqrt(np.diag(own))
        own += own.T
        own /= 2 * root[:, None]
        own /= root
        return own, root

    def _extend_smoothly(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the smoothest change of each column that has `values` at `rows`."""
        scaled = np.zeros((self.n_samples, values.shape[1]))
        scaled[rows] = values / self._root[rows, None]
        spread = np.stack([self._normal @ column for column in scaled[self._order].T])[:, self._place]
        free = np.ones(self.n_samples)
        free[rows] = 0.0
        found = self._solve_by_gradients((1.0 - self.gamma) * spread * free, free).T
        found[rows] = scaled[rows]
        return np.asarray(found * self._root[:, None])

    def _solve(self, rights: np.ndarray) -> np.ndarray:
        return self._solve_by_gradients(rights * self._root, None) * self._root

    def _solve_by_gradients(self, rights: np.ndarray, free: np.ndarray | None) -> np.ndarray:
        """Solve (I - (1-gamma) N) x = right for each right side; entries with `free` = 0 stay 0."""
        if self._blocks is not None:
            fixed = None if free is None else free == 0
            return self._blocks.solve(rights, 1.0 - self.gamma, fixed=fixed, tol=_TOL_LARGE, max_iter=_STEPS)
        free = None if free is None else free[self._order]

        def multiply(x: np.ndarray) -> np.ndarray:
            change = self._normal @ x
            change *= self.gamma - 1.0
            change += x
            return change if free is None else change * free

        operator = LinearOperator(self._normal.shape, matvec=multiply, dtype=np.float64)
        found = [cg(operator, x[self._order], rtol=_TOL, atol=0.0, maxiter=_STEPS)[0] for x in rights]
        return np.stack(found)[:, self._place]


def _find_cache_order(graph: csr_array) -> np.ndarray:
    """Return an order of the rows in which products with the graph take two thirds of the time.

    Rows are sorted by their number of neighbours, which helps branch prediction, and then by position in the
    graph, which improves cache locality.
    """
    near = np.argsort(reverse_cuthill_mckee(graph, symmetric_mode=True))
    return np.lexsort((near, np.diff(graph.indptr)))
