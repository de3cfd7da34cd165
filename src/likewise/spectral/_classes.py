"""Classes found by links, and what near rows say of all others: the work behind PropagationClustering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from likewise.spectral._smoothing import Smoother
from likewise.supervision import Closure
from likewise.supervision._component_edges import Edges

if TYPE_CHECKING:
    from likewise.spectral._uncertain import Evidence

# How much the first clusters are trusted, in rows whose class is known.
_TRUST = 1.0
# Each class has at least this chance, so that what looks certain can still be ruled out.
_DOUBT = 0.02
# A component opens a class of its own once the classes it may still belong to had this chance together.
_OPENS = 0.25


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """All that does not depend on links.

    Attributes
    ----------
    smoother : Smoother
        The graph of neighbours.
    first : ndarray of shape (n_samples,)
        The cluster of each row without any links.
    smoothed : ndarray of shape (n_samples, n_first)
        The same as shares, smoothed along the graph.
    medoids : ndarray of shape (n_first,)
        The row in the middle of each of these clusters.
    """

    smoother: Smoother
    first: np.ndarray
    smoothed: np.ndarray
    medoids: np.ndarray

    @classmethod
    def from_clusters(
        cls, X: np.ndarray, smoother: Smoother, first: np.ndarray, smoothed: np.ndarray
    ) -> PreparedGraph:
        """Find the medoids of the first clusters, which are numbered from 0 with none empty."""
        n_first = int(first.max()) + 1
        means = np.stack([X[first == c].mean(axis=0) for c in range(n_first)])
        away = ((X - means[first]) ** 2).sum(axis=1)
        order = np.lexsort((away, first))
        medoids = order[np.searchsorted(first[order], np.arange(n_first))]
        return cls(smoother, first, smoothed, medoids)


@dataclass(frozen=True, eq=False)
class ClassAnchors:
    """The rows whose class is fixed when classes are passed along the graph.

    Attributes
    ----------
    rows : ndarray of shape (n_anchors,)
        Linked rows that have a class, and the medoids of the first clusters; ascending.
    classes : ndarray of shape (n_anchors,)
        The class of each.
    linked : ndarray of shape (n_anchors,)
        False for a medoid that no link names: nothing was learned there.
    counted : ndarray of shape (n_anchors,)
        Whether the class of the row counts as evidence about the classes of its first cluster.
    """

    rows: np.ndarray
    classes: np.ndarray
    linked: np.ndarray
    counted: np.ndarray

    def compute_base(self, ready: PreparedGraph, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares that the first clusters suggest, and the counts behind them.

        Each first cluster has the mixture of classes that its medoid and its counted rows have. `targets` are
        the shares of the anchors.
        """
        counts = np.zeros((len(ready.medoids), targets.shape[1]))
        medoids = np.searchsorted(self.rows, ready.medoids)
        counts[np.arange(len(medoids))] = _TRUST * targets[medoids]
        np.add.at(counts, ready.first[self.rows[self.counted]], targets[self.counted])
        return ready.smoothed @ (counts / counts.sum(axis=1, keepdims=True)), counts


@dataclass(frozen=True, eq=False)
class PropagatedClasses:
    """What links and near rows say of all rows.

    A class is a component of must-linked rows, or a first cluster of which no link speaks yet. There may be
    more classes than clusters as long as it is not known which of them are one.

    Attributes
    ----------
    shares : ndarray of shape (n_samples, n_classes)
        How likely each row is of each class. Rows sum to 1.
    unreached : ndarray of shape (n_samples,)
        How little is known around each row: 1 far from any row with a link, 0 at one that has a class.
    class_of : ndarray of shape (n_samples,)
        The class of each row that links place, -1 elsewhere.
    heads : ndarray of shape (n_classes,)
        A row of each class.
    alike : ndarray of shape (n_classes, n_classes)
        How much the classes overlap, from 0 to 1; -1 for a class itself and for classes known to be apart.
    cluster_of_class : ndarray of shape (n_classes,)
        The cluster that each class is part of.
    n_passes : int
        How many times classes were passed along the graph.
    smoother : Smoother
        The graph.
    anchors : Anchors
        The rows that classes were passed on from.
    evidence : Evidence or None
        What each link is worth, where links may be wrong.
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
        """How likely each row is of each cluster."""
        n_clusters = int(self.cluster_of_class.max()) + 1
        if n_clusters == self.n_classes:
            return self.shares  # they are numbered alike
        return np.asarray(self.shares @ np.eye(n_clusters)[self.cluster_of_class])


def pass_classes(
    ready: PreparedGraph, closure: Closure, n_clusters: int | None, *, count_guesses: bool = True
) -> PropagatedClasses:
    """Find the classes, place what can be placed, and pass the classes along the graph.

    `n_clusters` is None if their number is not known: then every class is a cluster. Without
    `count_guesses` the first clusters keep their classes if most linked rows have a guessed class.
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
    """Keeps the components that head a class, and which class each component is of (-1: none yet)."""

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
        """Return the components that links name and that head no class."""
        others = self.touched.copy()
        others[self.heads] = False
        return np.flatnonzero(others)

    def open_to(self, components: np.ndarray) -> np.ndarray:
        """Return which classes each component may belong to."""
        at, other = self.edges.find_apart(self.heads)
        where = np.full(self.closure.n_components, -1, dtype=np.int64)
        where[components] = np.arange(len(components))
        allowed = np.ones((len(components), len(self.heads)), dtype=bool)
        use = where[other] >= 0
        allowed[where[other[use]], at[use]] = False
        return allowed

    def find_known_apart(self) -> np.ndarray:
        """Return which classes are known to be apart."""
        return ~self.open_to(self.heads)

    def complete(self) -> bool:
        """Tell whether as many classes as there are clusters are all known to be apart."""
        if self.n_clusters is None:
            return False
        apart = self.find_known_apart()
        return len(apart) >= self.n_clusters and int(apart.sum()) == len(apart) * (len(apart) - 1)

    def compute_mean_shares(self, shares: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return the mean share of the rows of each component."""
        rows = self.linked_rows
        sums = np.zeros((self.closure.n_components, shares.shape[1]))
        np.add.at(sums, self.closure.component[rows], shares[rows])
        return np.asarray(sums[components] / self.closure.sizes[components, None])

    def find_anchors(self) -> ClassAnchors:
        """Return the rows that have a class; a medoid stands for its cluster before any link names it."""
        component = self.closure.component
        of_row = self.place[component]
        rows = np.union1d(self.linked_rows[of_row[self.linked_rows] >= 0], self.ready.medoids)
        linked = self.touched[component[rows]]
        return ClassAnchors(rows, of_row[rows], linked, linked & self.counts_rows)

    def propagate(self) -> tuple[np.ndarray, np.ndarray]:
        """Pass the classes from the rows that have one along the graph."""
        self.n_passes += 1
        anchors = self.find_anchors()
        targets = np.eye(len(self.heads))[anchors.classes]
        base, _ = anchors.compute_base(self.ready, targets)
        return interpolate_shares(self.ready, base, anchors, targets)

    def open_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Open a class for each component that can hardly be of any other, one after another."""
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
            # Those that are apart from it open theirs at once; others may turn out to be of the new one.
            for c in waiting[order[1:]].tolist():
                if np.isin(news, self.edges.find_apart(np.array([c]))[1]).all():
                    news = np.append(news, c)
            self._open(news)

    def guess(self, shares: np.ndarray) -> bool:
        """Place components with the class they most likely are of, where that can be said; tell if any was.

        Those of two rows or more, since a must-link between rows of no class is worth something only so;
        those to which one class is left when there are as many classes as clusters; and those that are apart
        from one another and would be of the same class.
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
        """Tell whether more linked rows have a guessed class than one that follows from links."""
        component = self.closure.component[self.linked_rows]
        n_guessed = int(self.guessed[component].sum())
        return 2 * n_guessed > int((self.place[component] >= 0).sum())

    def keep_first_clusters(self) -> None:
        """Withdraw all guesses, and let the first clusters be of the classes of their medoids.

        A guess follows from the first clusters, so it is no evidence about them. If guessed rows counted, a
        few would decide about whole clusters: with 20 true links drawn at random clusters became worse than
        without any.
        """
        waiting = self.find_waiting()
        self.place[waiting], self.guessed[waiting] = -1, False
        self.counts_rows = False

    def rule_out_apart(self, shares: np.ndarray) -> np.ndarray:
        """Take from rows the classes that they are known to be apart from."""
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
    """Return the shares of all rows, and how little is known around each, given those of the anchors."""
    columns = np.column_stack([base, np.ones(len(base))])
    wanted = np.column_stack([targets, ~anchors.linked])
    found = ready.smoother.interpolate(columns, anchors.rows, wanted, noise)
    return normalize_shares(found[:, :-1]), np.clip(found[:, -1], 0.0, 1.0)


def normalize_shares(shares: np.ndarray) -> np.ndarray:
    """Cut shares at 0 and scale each row to sum 1; a row without any has even ones."""
    shares = np.maximum(shares, 0.0)
    total = shares @ np.ones((shares.shape[1], 1))  # four times as fast as a sum over short rows
    if not total.all():
        nothing = total[:, 0] == 0
        shares[nothing], total[nothing] = 1.0, shares.shape[1]
    shares /= total
    return shares


def _merge_classes(alike: np.ndarray, sizes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the cluster of each class: classes join until there are no more than `n_clusters`.

    First those whose joining would put the fewest pairs of rows together that are apart, in expectation.
    Classes that are known to be apart join only when nothing else is left.
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
