"""Flexible constrained spectral clustering: the cut is cheap, and the links hold to a level."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import euclidean_distances

from likewise.base import Rule, choice, either
from likewise.exceptions import InfeasibleSupervisionError
from likewise.seeding import fewest_broken
from likewise.spectral._affinity import Graph
from likewise.spectral._base import Partition, SpectralFamily
from likewise.spectral._eigen import Eigen
from likewise.spectral._link_terms import implied_links
from likewise.spectral._operator import SpectralOperator
from likewise.spectral._pencil import Feasible, Pencil
from likewise.spectral._rounding import by_kmeans, cluster_means
from likewise.supervision import Supervision

# What "auto" tries, the laxest first. Random links, a few for each cluster, want the first ones; links among
# all pairs of many labelled rows, as in the paper, the last ones.
_LEVELS = (-1.0, -0.3, 0.0, 0.03, 0.1, 0.25, 0.5, 0.75)
_BELOW_ONE = Rule(
    "a number below 1",
    lambda v: (
        isinstance(v, int | float | np.integer | np.floating)
        and not isinstance(v, bool)
        and bool(np.isfinite(v))
        and bool(v < 1)
    ),
)


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
        keeps the first that break no more links than chance explains (the least weight broken plus its
        square root), linked rows being taken where their neighbours would put them. A high level suits links
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

    level: float | Literal["auto"]

    _honours: ClassVar[frozenset[str]] = frozenset({"links"})
    _rules: ClassVar[dict[str, Rule]] = {**SpectralFamily._rules, "level": either(_BELOW_ONE, choice("auto"))}

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
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    def _operator(self, graph: Graph, hints: Supervision) -> SpectralOperator:
        return SpectralOperator(graph.weights, graph.degrees**-0.5)

    def _cluster(self, graph: Graph, hints: Supervision, rng: Any, last: Partition | None) -> Partition:
        closure = self._soft_closure(hints)
        self._costs: np.ndarray | None = None
        self.level_ = self.beta_ = None
        wanted = self.n_clusters - 1
        if wanted == 0 or "links" not in hints.kinds:
            return super()._cluster(graph, hints, rng, _plain(last, self.n_clusters))
        pencil = Pencil(graph, implied_links(hints, closure), tol=self.tol, solver=self.eigen_solver, rng=rng)
        values = pencil.link_eigenvalues(wanted)
        volume = float(graph.degrees.sum())
        if not isinstance(self.level, str):
            found = pencil.feasible(self.level * self._most(values), wanted)
            self._refuse_too_few(found, values)
            self._costs, self.level_ = found.costs, float(self.level)
            self.beta_ = self.level_ * float(values[-1]) * volume
            return self._parted(found, self.beta_ / volume, graph, rng)

        plain = super()._cluster(graph, hints, rng, _plain(last, self.n_clusters))
        tried: list[Any] = [(None, None, None, plain)]
        judged = [self._by_neighbors(plain, graph, hints)]
        positive = values[-1] > 1e-9 * values[0]
        for level in _LEVELS:
            beta = level * float(values[-1] if positive else values[0])
            found = pencil.feasible(beta, wanted)
            if len(found.costs) < wanted:
                break  # a higher level leaves no more
            self._costs = found.costs
            tried.append((level, beta * volume, found.costs, self._parted(found, beta, graph, rng)))
            judged.append(self._by_neighbors(tried[-1][-1], graph, hints))
        best = fewest_broken(judged, hints)[0]
        self.level_, self.beta_, self._costs, kept = tried[best]
        return replace(kept, n_rounds=len(tried))

    def _by_neighbors(self, partition: Partition, graph: Graph, hints: Supervision) -> np.ndarray:
        """Return the labels, with rows that hints speak of where their neighbours alone would put them.

        A vector that gathers at the linked rows keeps every link and tells nothing of the others; so links
        are counted as if the rows themselves had none.
        """
        places = self._placed(self._extended(graph.weights, graph.degrees, partition), graph.degrees)
        means = cluster_means(partition.rows, partition.labels, self.n_clusters)
        far = euclidean_distances(places, means, squared=True)
        far[:, np.bincount(partition.labels, minlength=self.n_clusters) == 0] = np.inf
        return np.where(hints.touched, far.argmin(axis=1), partition.labels)

    def _most(self, values: np.ndarray) -> float:
        """Return the eigenvalue that the level is a share of, if there is one."""
        if values[-1] > 1e-9 * values[0]:
            return float(values[-1])
        n_positive = int((values > 1e-9 * values[0]).sum())
        raise InfeasibleSupervisionError(
            f"{type(self).__name__}: n_clusters={self.n_clusters} wants {self.n_clusters - 1} eigenvectors "
            f"that keep the links to level={self.level!r}, but the links have only {n_positive} positive "
            "eigenvalue(s). Give links among more rows, ask for fewer clusters, or set level='auto'."
        )

    def _refuse_too_few(self, found: Feasible, values: np.ndarray) -> None:
        if len(found.costs) == self.n_clusters - 1:
            return
        raise InfeasibleSupervisionError(
            f"{type(self).__name__}: n_clusters={self.n_clusters} wants {self.n_clusters - 1} eigenvectors "
            f"that keep the links to level={self.level!r} (of {values[-1]:.3g}) and part the rows, but "
            f"{len(found.costs)} exist(s): where must-links outweigh cannot-links, one cluster of all rows "
            "keeps them too, and takes the place of one. Lower the level, give cannot-links, or set "
            "level='auto'."
        )

    def _parted(self, found: Feasible, beta: float, graph: Graph, rng: Any) -> Partition:
        eigen = Eigen(1.0 + found.eigenvalues * beta, found.vectors, 0, "pencil", found.converged)
        rows = self._placed(found.vectors, graph.degrees)
        if self.n_clusters == 2:
            labels = (rows[:, 0] > 0).astype(np.int64)
        else:
            labels = by_kmeans(rows, self.n_clusters, self.n_init, rng)
        return Partition(eigen=eigen, rows=rows, labels=labels, scale=graph.degrees**-0.5)

    def _placed(self, vectors: np.ndarray, degrees: np.ndarray) -> np.ndarray:
        """Return the rows of u. For two clusters only their signs count, so nothing else is compared."""
        if self._costs is None:
            return super()._placed(vectors, degrees)
        rows: np.ndarray = vectors / np.sqrt(degrees)[:, None]
        return np.where(rows > 0, 1.0, -1.0) if self.n_clusters == 2 else rows * (1.0 - self._costs)

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        if self._costs is None:
            self.costs_ = 1.0 - partition.eigen.values[1:]
            return
        self.costs_ = self._costs
        if self.n_clusters == 2:
            self.embedding_ = partition.eigen.vectors * partition.scale[:, None] * (1.0 - self._costs)


def _plain(last: Partition | None, n_clusters: int) -> Partition | None:
    """Return what a plain fit can begin with: the vectors of a fit without links."""
    return last if last is not None and last.eigen.vectors.shape[1] == n_clusters else None
