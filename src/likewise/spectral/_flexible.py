"""Flexible constrained spectral clustering: the cut is cheap, and the links hold to a level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from likewise.base import Rule, choice, either
from likewise.exceptions import InfeasibleSupervisionError
from likewise.seeding import find_fewest_broken
from likewise.spectral._affinity import Graph
from likewise.spectral._base import Partition, SpectralFamily
from likewise.spectral._eigen import Eigen
from likewise.spectral._link_terms import derive_implied_links, with_mean_weight
from likewise.spectral._pencil import Feasible, Pencil
from likewise.spectral._rounding import compute_cluster_means, round_by_kmeans
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

# What "auto" tries, the laxest first. Random links, a few for each cluster, want the first ones; links among
# all pairs of many labelled rows, as in the paper, the last ones.
_LEVELS = (-1.0, -0.3, 0.0, 0.03, 0.1, 0.25, 0.5, 0.75)
_NONE = 1e-9  # an eigenvalue of a smaller share of the largest is none
_BELOW_ONE = Rule(
    "a number below 1",
    lambda v: (
        isinstance(v, int | float | np.integer | np.floating)
        and not isinstance(v, bool)
        and bool(np.isfinite(v))
        and bool(v < 1)
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cut(Partition):
    """Rows parted by feasible vectors: their costs, and the level and the beta that they meet."""

    costs: np.ndarray
    level: float
    beta: float


class FlexibleSpectralClustering(SpectralFamily):
    r"""Normalised cut under a lower bound on how well links are kept (CSC, CSP; Wang & Davidson 2010).

    With the normalised Laplacian :math:`\bar L = I - D^{-1/2} W D^{-1/2}` and the normalised links
    :math:`\bar Q = D^{-1/2} Q D^{-1/2}`, where :math:`Q_{ij}` is the weight of a must-link, minus the weight
    of a cannot-link, or 0, it solves

    .. math:: \min_v v^\top \bar L v \quad\text{s.t.}\quad v^\top \bar Q v \ge \alpha,
              \ \|v\|^2 = \mathrm{vol}, \ v \ne D^{1/2} 1 ,

    through the generalised eigenproblem
    :math:`\bar L v = \lambda (\bar Q - \frac{\beta}{\mathrm{vol}} I) v`: its eigenvectors with
    :math:`\lambda > 0` are feasible, as :math:`v^\top \bar Q v > \beta`. For two clusters, as published, the
    one of least cost :math:`v^\top \bar L v` is taken and rows are parted by the sign of
    :math:`u = D^{-1/2} v`. For K clusters the K - 1 feasible vectors of least cost are taken, the columns of
    u multiplied by one minus the cost of the unit vector, and the rows clustered by k-means (Wang, Qian &
    Davidson 2014; from memory, and as in the authors' program). Vectors of one sign throughout are passed
    over, as in that program: they part nothing.

    The restatement of Xiong, Johnson & Corso (eq. 10) has the normalised Laplacian with
    :math:`u^\top D u = \mathrm{vol}` and an unnormalised Q; here all are normalised, as in the original.

    Links count with all that follows from them: rows of one must-link component are together, with the mean
    weight of its links, and components with a cannot-link between them are apart. Contradictions are weighed
    against one another, with a warning. Without links, and with one cluster, it is plain spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    level : float below 1, or "auto", default="auto"
        How well the links are to be kept: :math:`\beta / \mathrm{vol}` as a share of the (K - 1)-th largest
        eigenvalue of :math:`\bar Q`, the most for which K - 1 feasible vectors can exist. The authors'
        program has 0.5 for two clusters. Below 0 the links may be broken. Where too few vectors are feasible
        an error says how many. "auto" makes the plain clusters and those of some levels from -1 to 0.75, and
        keeps the first that break no more links than chance explains (the fewest, and their square root or
        one more), linked rows being taken where their neighbours would put them. A high level suits links
        between all pairs of many rows; with few random links such vectors gather at the linked rows.
    {common}

    Attributes
    ----------
    {fitted}
    level_ : float or None
        The level that was used; None where the plain clusters were kept.
    beta_ : float or None
        The same as :math:`\beta`.
    costs_ : ndarray of shape (n_clusters - 1,)
        The cost :math:`v^\top \bar L v / \|v\|^2` of each vector.

    Notes
    -----
    ``embedding_`` has K - 1 columns, and ``eigenvalues_`` holds :math:`1 + \lambda \beta / \mathrm{vol}`: the
    mean of the neighbours of a row without links is so many times its own place, and new rows are placed by
    that. Where "auto" keeps the plain clusters both are those of plain spectral clustering.

    Up to 500 rows every feasible vector is found by a dense solver, O(n^3) for each level. Of more rows those
    with the least :math:`\lambda` are found, which mostly have the least cost: with a graph of all pairs the
    K + 7 first, after one Cholesky factorisation; with a sparse graph the K - 1 first, each by some five
    steps of Newton's method, a step being the leading eigenvectors of the graph plus a multiple of the links,
    in memory linear in both. Neither ``row_normalize`` nor "discretize" applies to K - 1 columns; they are
    for the plain clusters.

    References
    ----------
    X. Wang and I. Davidson (2010), Flexible constrained spectral clustering, KDD, sect. 3.
    X. Wang, B. Qian and I. Davidson (2014), On constrained spectral clustering and its applications, Data
    Mining and Knowledge Discovery 28.
    C. Xiong, D. Johnson and J. J. Corso, Online active constraint selection for semi-supervised clustering,
    sect. 2.4, eq. 10.

    Examples
    --------
    Four clouds at the corners of a square; the links part them into above and below.

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

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "level": either(_BELOW_ONE, choice("auto")),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        level: float | Literal["auto"] = "auto",
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
        last = None if isinstance(last, Cut) else last  # a plain fit begins with plain vectors
        if wanted == 0 or "links" not in hints.kinds:
            return super()._cluster(graph, hints, rng, last)
        pencil = Pencil(
            graph, derive_implied_links(hints, closure), tol=self.tol, solver=self.eigen_solver, rng=rng
        )
        values = pencil.compute_link_eigenvalues(wanted)
        if not isinstance(self.level, str):
            most = self._get_largest(values)
            found = pencil.find_feasible(self.level * most, wanted)
            self._refuse_too_few(found, most)
            return self._partition_by_vectors(found, float(self.level), self.level * most, graph, rng)

        tried = [super()._cluster(graph, hints, rng, last)]
        most = float(values[-1] if values[-1] > _NONE * values[0] else values[0])
        for level in _LEVELS:
            found = pencil.find_feasible(level * most, wanted)
            if len(found.costs) < wanted:
                break  # a higher level leaves no more
            tried.append(self._partition_by_vectors(found, level, level * most, graph, rng))
        judged = [self._label_by_neighbors(partition, graph, hints) for partition in tried]
        best = find_fewest_broken(judged, with_mean_weight(hints, 1.0))[0]
        return replace(tried[best], n_rounds=len(tried))

    def _label_by_neighbors(self, partition: Partition, graph: Graph, hints: Supervision) -> np.ndarray:
        """Return the labels, with rows that hints speak of where their neighbours alone would put them.

        A vector that gathers at the linked rows keeps every link and tells nothing of the others; so links
        are counted as if the rows themselves had none.
        """
        return np.where(
            hints.touched, self._assign_new_rows(graph.weights, graph.degrees, partition), partition.labels
        )

    def _get_largest(self, values: np.ndarray) -> float:
        """Return the eigenvalue that the level is a share of, if there is one."""
        if values[-1] > _NONE * values[0]:
            return float(values[-1])
        n_positive = int((values > _NONE * values[0]).sum())
        raise InfeasibleSupervisionError(
            f"{{estimator}}: n_clusters={self.n_clusters} wants {self.n_clusters - 1} eigenvectors "
            f"that keep the links to level={self.level!r}, but the links have only {n_positive} positive "
            "eigenvalue(s).",
            "Give links among more rows, ask for fewer clusters, or set level='auto'.",
            parameter="level",
            kinds=("links",),
            estimator=type(self).__name__,
        )

    def _refuse_too_few(self, found: Feasible, most: float) -> None:
        if len(found.costs) == self.n_clusters - 1:
            return
        raise InfeasibleSupervisionError(
            f"{{estimator}}: n_clusters={self.n_clusters} wants {self.n_clusters - 1} eigenvectors "
            f"that keep the links to level={self.level!r} (of {most:.3g}) and part the rows, but "
            f"{len(found.costs)} exist(s): where must-links outweigh cannot-links, one cluster of all rows "
            "keeps them too, and takes the place of one.",
            "Lower the level, give cannot-links, or set level='auto'.",
            parameter="level",
            kinds=("links",),
            estimator=type(self).__name__,
        )

    def _partition_by_vectors(
        self, found: Feasible, level: float, beta: float, graph: Graph, rng: Any
    ) -> Cut:
        """Part the rows by the vectors, for two clusters by sign."""
        eigen = Eigen(1.0 + found.eigenvalues * beta, found.vectors, 0, "pencil", found.converged)
        half, stretch = graph.degrees**-0.5, 1.0 - found.costs
        places = found.vectors * half[:, None]
        rows = places * stretch
        if self.n_clusters == 2:
            labels = (places[:, 0] > 0).astype(np.int64)
        else:
            labels = round_by_kmeans(rows, self.n_clusters, self.n_init, rng)
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
        nearest: np.ndarray = filled[pairwise_distances_argmin(places * found.stretch, means)]
        return nearest

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        self.level_: float | None = None
        self.beta_: float | None = None
        self.costs_ = 1.0 - partition.eigen.values[1:]
        if isinstance(partition, Cut):
            self.level_, self.beta_, self.costs_ = partition.level, partition.beta, partition.costs
