"""Derive classes from links and propagate them along the graph, for PropagationClustering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from likewise.spectral._smoothing import Smoother
from likewise.supervision import Closure
from likewise.supervision._cliques import Edges

if TYPE_CHECKING:
    from likewise.spectral._uncertain import Evidence

# Weight of a medoid in the class counts of its initial cluster, in rows whose class is known.
_TRUST = 1.0
# Weight of the uniform distribution in class probabilities, so that no class has probability 0.
_DOUBT = 0.02
# A component starts a new class once the classes it may still belong to have less than this probability.
_OPENS = 0.25


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """The parts of a fit that do not depend on links.

    Attributes
    ----------
    smoother : Smoother
        The nearest-neighbour graph.
    first : ndarray of shape (n_samples,)
        The initial cluster of each row, without links.
    smoothed : ndarray of shape (n_samples, n_first)
        The initial clusters as shares, smoothed along the graph.
    medoids : ndarray of shape (n_first,)
        The row nearest to the mean of each initial cluster.
    """

    smoother: Smoother
    first: np.ndarray
    smoothed: np.ndarray
    medoids: np.ndarray

    @classmethod
    def from_clusters(
        cls, X: np.ndarray, smoother: Smoother, first: np.ndarray, smoothed: np.ndarray
    ) -> PreparedGraph:
        """Find the medoids of the initial clusters, which are numbered from 0 and not empty."""
        n_first = int(first.max()) + 1
        means = np.stack([X[first == c].mean(axis=0) for c in range(n_first)])
        away = ((X - means[first]) ** 2).sum(axis=1)
        order = np.lexsort((away, first))
        medoids = order[np.searchsorted(first[order], np.arange(n_first))]
        return cls(smoother, first, smoothed, medoids)


@dataclass(frozen=True, eq=False)
class ClassAnchors:
    """The rows whose class is fixed when classes are propagated along the graph.

    Attributes
    ----------
    rows : ndarray of shape (n_anchors,)
        Linked rows with a class and the medoids of the initial clusters, ascending.
    classes : ndarray of shape (n_anchors,)
        The class of each anchor.
    linked : ndarray of shape (n_anchors,)
        False for a medoid without links.
    counted : ndarray of shape (n_anchors,)
        Whether the class of the row counts as evidence about the classes of its initial cluster.
    """

    rows: np.ndarray
    classes: np.ndarray
    linked: np.ndarray
    counted: np.ndarray

    def compute_base(self, ready: PreparedGraph, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class shares of all rows by their initial clusters, and the class counts of these.

        The class counts of an initial cluster are those of its medoid and its counted anchors. `targets`
        contains the shares of the anchors.
        """
        counts = np.zeros((len(ready.medoids), targets.shape[1]))
        medoids = np.searchsorted(self.rows, ready.medoids)
        counts[np.arange(len(medoids))] = _TRUST * targets[medoids]
        np.add.at(counts, ready.first[self.rows[self.counted]], targets[self.counted])
        return ready.smoothed @ (counts / counts.sum(axis=1, keepdims=True)), counts


@dataclass(frozen=True, eq=False)
class PropagatedClasses:
    """The classes and their shares in all rows.

    A class is a must-link component, or an initial cluster without links. There may be more classes than
    clusters while it is unknown which classes belong to the same cluster.

    Attributes
    ----------
    shares : ndarray of shape (n_samples, n_classes)
        The probability of each class for each row.
    unreached : ndarray of shape (n_samples,)
        From 0 for a linked row with a class to 1 for a row far from any linked row.
    class_of : ndarray of shape (n_samples,)
        The class of each linked row, or -1.
    heads : ndarray of shape (n_classes,)
        One row of each class.
    alike : ndarray of shape (n_classes, n_classes)
        The overlap of the classes, from 0 to 1; -1 on the diagonal and for classes known to be different.
    cluster_of_class : ndarray of shape (n_classes,)
        The cluster of each class.
    n_passes : int
        Number of propagations along the graph.
    smoother : Smoother
        The graph.
    anchors : ClassAnchors
        The rows whose classes were propagated.
    evidence : Evidence or None
        The evidence of each link, if links may be wrong.
    """

    shares: np.ndarray
    unreached: np.ndarray
    class_of: np.ndarray
    heads: np.ndarray
    alike: np.ndarray
    cluster_of_class: np.ndarray
    n_passes: int
    smoother: Smoother
    anchors: ClassAnchors
    evidence: Evidence | None = None

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
    ready: PreparedGraph, closure: Closure, n_clusters: int | None, *, count_guesses: bool = True
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

    def __init__(self, ready: PreparedGraph, closure: Closure, n_clusters: int | None) -> None:
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
        targets = np.eye(len(self.heads))[anchors.classes]
        base, _ = anchors.compute_base(self.ready, targets)
        return interpolate_shares(self.ready, base, anchors, targets)

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


def interpolate_shares(
    ready: PreparedGraph,
    base: np.ndarray,
    anchors: ClassAnchors,
    targets: np.ndarray,
    noise: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return `shares` and `unreached` of all rows, given the shares of the anchors."""
    columns = np.column_stack([base, np.ones(len(base))])
    wanted = np.column_stack([targets, ~anchors.linked])
    found = ready.smoother.interpolate(columns, anchors.rows, wanted, noise)
    return normalize_shares(found[:, :-1]), np.clip(found[:, -1], 0.0, 1.0)


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
