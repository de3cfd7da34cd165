"""Flexible constrained spectral clustering: the cheapest cut that satisfies the links to a given level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from likewise._typing import RandomStateLike
from likewise.base import Rule
from likewise.exceptions import InfeasibleSupervisionError
from likewise.spectral._affinity import Graph
from likewise.spectral._base import Partition, SpectralFamily, compute_cluster_means, round_by_kmeans
from likewise.spectral._eigen import Eigen
from likewise.spectral._pair_constraints import derive_implied_links
from likewise.spectral._pencil import Feasible, Pencil
from likewise.supervision import Supervision

# The levels that "auto" tries, in ascending order. A few random links per cluster need low levels; links
# between all pairs of many labelled rows, as in the paper, need high levels.
_LEVELS = (-1.0, -0.3, 0.0, 0.03, 0.1, 0.25, 0.5, 0.75)
_COMPARE_TOL = 3e-3  # of the vectors by which levels are compared; those of the selected level are refined
_NONE = 1e-9  # eigenvalues below this share of the largest count as 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Cut(Partition):
    """A partition by feasible vectors, with their costs, the level and beta."""

    costs: np.ndarray
    level: float
    beta: float


class FlexibleSpectralClustering(SpectralFamily):
    r"""Normalised cut with a lower bound on link satisfaction (CSC, CSP; Wang & Davidson 2010).

    With the normalised Laplacian :math:`\bar L = I - D^{-1/2} W D^{-1/2}` and the normalised links
    :math:`\bar Q = D^{-1/2} Q D^{-1/2}`, where :math:`Q_{ij}` is the weight of a must-link, minus the weight
    of a cannot-link, or 0, the problem

    .. math:: \min_v v^\top \bar L v \quad\text{s.t.}\quad v^\top \bar Q v \ge \alpha,
              \ \|v\|^2 = \mathrm{vol}, \ v \ne D^{1/2} 1 ,

    is solved through the generalised eigenproblem
    :math:`\bar L v = \lambda (\bar Q - \frac{\beta}{\mathrm{vol}} I) v`. Its eigenvectors with
    :math:`\lambda > 0` are feasible, as :math:`v^\top \bar Q v > \beta`. For two clusters, as published, rows
    are divided by the sign of :math:`u = D^{-1/2} v` for the feasible v with the lowest cost
    :math:`v^\top \bar L v`. For K clusters the K - 1 feasible vectors with the lowest costs are used: each
    column of u is multiplied by one minus the cost of the unit vector, and the rows are clustered by k-means
    (Wang, Qian & Davidson 2014; from memory, and as in the authors' program). As in that program, vectors
    without entries of both signs are skipped, since they do not separate rows.

    The restatement of Xiong, Johnson & Corso (eq. 10) has the normalised Laplacian with
    :math:`u^\top D u = \mathrm{vol}` and an unnormalised Q; here all are normalised, as in the original.

    Implied links are included: all rows of a must-link component are linked, with the mean weight of its
    links, and all rows of two components with a cannot-link between them are cannot-linked. Contradictory
    links give a warning and are traded off against one another. Without links, or with one cluster, this is
    plain spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    level : float below 1, or "auto", default="auto"
        The lower bound on link satisfaction: :math:`\beta / \mathrm{vol}` as a share of the (K - 1)-th
        largest eigenvalue of :math:`\bar Q`, the largest value for which K - 1 feasible vectors can exist.
        The authors' program has 0.5 for two clusters. With negative levels links may be violated. If too few
        vectors are feasible, an error is raised. "auto" compares plain spectral clustering with levels from
        -1 to 0.75 and keeps the first whose number of violated links is within chance of the lowest number m
        (m plus its square root, or m + 1). For this comparison linked rows are assigned by their neighbours.
        High levels suit links between all pairs of many rows; with few random links such vectors separate
        only the linked rows.
    {common}

    Attributes
    ----------
    {fitted}
    level_ : float or None
        The level that was used; None if plain spectral clustering was kept.
    beta_ : float or None
        The value of :math:`\beta` at this level.
    costs_ : ndarray of shape (n_clusters - 1,)
        The cost :math:`v^\top \bar L v / \|v\|^2` of each vector.

    Notes
    -----
    ``embedding_`` has K - 1 columns, and ``eigenvalues_`` contains :math:`1 + \lambda \beta / \mathrm{vol}`:
    for a row without links, the mean of the neighbours is this factor times its own coordinate, which is how
    `predict` embeds new rows. If "auto" keeps plain spectral clustering, both attributes refer to it.

    Up to 500 rows all feasible vectors are found by a dense solver, O(n^3) for each level. For more rows only
    those with the smallest :math:`\lambda` are found, which nearly always have the lowest cost: the first
    K + 7 with a graph of all pairs, after one Cholesky factorisation; the first K - 1 with a sparse graph, by
    Rayleigh-Ritz on a basis of at most 8 (K + 3) columns, which all levels share. "auto" compares levels by
    vectors of tolerance 0.003 in this case, and refines those of the selected level to `tol`. On one core,
    10,000 rows with 10 clusters, 200 links and a given graph take 1 s, and 100,000 rows take 6 s.
    ``row_normalize`` and "discretize" apply only to plain spectral clustering.

    References
    ----------
    X. Wang and I. Davidson (2010), Flexible constrained spectral clustering, KDD, sect. 3.
    X. Wang, B. Qian and I. Davidson (2014), On constrained spectral clustering and its applications, Data
    Mining and Knowledge Discovery 28.
    C. Xiong, D. Johnson and J. J. Corso, Online active constraint selection for semi-supervised clustering,
    sect. 2.4, eq. 10.

    Examples
    --------
    Four clouds at the corners of a square; the links separate the upper two from the lower two.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.spectral import FlexibleSpectralClustering
    >>> above, right = np.arange(80) % 2, np.arange(80) // 40
    >>> X = np.random.default_rng(0).normal(size=(80, 2)) + 4 * np.column_stack([right, above])
    >>> hints = Supervision.from_labels([int(above[i]) if i % 8 < 2 else None for i in range(80)])
    >>> model = FlexibleSpectralClustering(2, level=0.5, as_links=True, random_state=0)
    >>> model.fit(X, supervision=hints).violations_.share
    1.0
    >>> bool(max((model.labels_ == above).mean(), (model.labels_ != above).mean()) > 0.9)
    True
    """

    costs_: np.ndarray

    level: float | Literal["auto"]

    _seconds_per_row: ClassVar[tuple[float, float]] = (2e-5, 1.4e-5)  # eight levels
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "level": Rule.either(
            Rule("a number below 1", lambda v: Rule.real(-np.inf).holds(v) and bool(v < 1)),
            Rule.choice("auto"),
        ),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        level: float | Literal["auto"] = "auto",
        metric: str = "euclidean",
        affinity: str = "local",
        n_neighbors: Any = "auto",
        scale: Any = "median",
        neighbor_search: str = "auto",
        as_links: bool = False,
        row_normalize: bool = True,
        assign_labels: str = "kmeans",
        n_init: int = 10,
        eigen_solver: str = "auto",
        tol: float = 1e-5,
        warm_start: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self._store_parameters(locals())

    def _cluster(self, graph: Graph, hints: Supervision, rng: Any, last: Partition | None) -> Partition:
        closure = self._compute_soft_closure(hints)
        wanted = self.n_clusters - 1
        last = None if isinstance(last, Cut) else last  # feasible vectors are no start for plain eigenvectors
        if wanted == 0 or "links" not in hints.kinds:
            return super()._cluster(graph, hints, rng, last)
        pencil = Pencil(
            graph, derive_implied_links(hints, closure), tol=self.tol, solver=self.eigen_solver, rng=rng
        )
        values = pencil.compute_link_eigenvalues(wanted)
        positive = values > _NONE * values[0]
        if not isinstance(self.level, str):
            level, most = float(self.level), float(values[-1])
            if not positive[-1]:
                raise self._make_error(
                    f"level={self.level!r}, but the link matrix has only {positive.sum()} positive "
                    "eigenvalue(s).",
                    "Add links between other rows, lower n_clusters, or set level='auto'.",
                )
            found = pencil.find_feasible(level * most, wanted)
            if len(found.costs) < wanted:
                raise self._make_error(
                    f"level={self.level!r} (of {most:.3g}) and separate the rows, but {len(found.costs)} "
                    "exist(s). If must-links outweigh cannot-links, a single cluster also satisfies them, "
                    "which takes the place of one eigenvector.",
                    "Lower the level, add cannot-links, or set level='auto'.",
                )
            return self._partition_by_vectors(found, level, level * most, graph, rng)

        tried = [super()._cluster(graph, hints, rng, last)]
        pencil.start_from(tried[0].eigen)
        most = float(values[-1] if positive[-1] else values[0])
        for level in _LEVELS:
            found = pencil.find_feasible(level * most, wanted, tol=_COMPARE_TOL)
            if len(found.costs) < wanted:
                break  # higher levels have even fewer feasible vectors
            tried.append(self._partition_by_vectors(found, level, level * most, graph, rng))
        best = tried[self._find_fewest_violated(tried, graph, hints)[0]]
        if isinstance(best, Cut) and pencil.is_iterative and self.tol < _COMPARE_TOL:
            found = pencil.find_feasible(best.level * most, wanted)
            if len(found.costs) == wanted:
                best = self._partition_by_vectors(
                    found, best.level, best.level * most, graph, rng, best.labels
                )
        return replace(best, n_rounds=len(tried))

    def _make_error(self, what: str, suggestion: str) -> InfeasibleSupervisionError:
        return InfeasibleSupervisionError(
            f"{{estimator}}: n_clusters={self.n_clusters} requires {self.n_clusters - 1} eigenvectors that "
            f"satisfy the links to {what}",
            suggestion,
            parameter="level",
            kinds=("links",),
            estimator=type(self).__name__,
        )

    def _partition_by_vectors(
        self,
        found: Feasible,
        level: float,
        beta: float,
        graph: Graph,
        rng: Any,
        first: np.ndarray | None = None,
    ) -> Cut:
        """Cluster the rows by the feasible vectors; for two clusters, by sign; else k-means, from `first`."""
        eigen = Eigen(1.0 + found.eigenvalues * beta, found.vectors, 0, "pencil", found.converged)
        half, stretch = graph.degrees**-0.5, 1.0 - found.costs
        places = found.vectors * half[:, None]
        rows = places * stretch
        if self.n_clusters == 2:
            labels = (places[:, 0] > 0).astype(np.int64)
        else:
            labels = round_by_kmeans(rows, self.n_clusters, self.n_init, rng, first)
        volume = float(graph.degrees.sum())
        return Cut(eigen, rows, labels, half, stretch, costs=found.costs, level=level, beta=beta * volume)

    def _assign_new_rows(self, alike: Any, degrees: np.ndarray, found: Partition) -> np.ndarray:
        if not isinstance(found, Cut):
            return super()._assign_new_rows(alike, degrees, found)
        places = self._extend_eigenvectors(alike, degrees, found) / np.sqrt(degrees)[:, None]
        if self.n_clusters == 2:
            return (places[:, 0] > 0).astype(np.int64)
        filled = np.unique(found.labels)
        means = compute_cluster_means(found.rows, found.labels, self.n_clusters)[filled]
        return filled[pairwise_distances_argmin(places * found.stretch, means)]

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        self.level_: float | None = None
        self.beta_: float | None = None
        self.costs_ = 1.0 - partition.eigen.values[1:]
        if isinstance(partition, Cut):
            self.level_, self.beta_, self.costs_ = partition.level, partition.beta, partition.costs
