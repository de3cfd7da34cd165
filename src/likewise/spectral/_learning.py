"""Spectral learning: links change the similarities."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from likewise._typing import RandomStateLike
from likewise.base import Rule
from likewise.spectral._affinity import Graph
from likewise.spectral._base import Partition, SpectralFamily
from likewise.spectral._operator import SpectralOperator
from likewise.spectral._pair_constraints import LabelSets, LinkedGraph
from likewise.supervision import Supervision

Normalization = Literal["symmetric", "additive"]


class SpectralLearning(SpectralFamily):
    r"""Spectral clustering with links as similarities of 1 or 0 (SpLearn; Kamvar, Klein & Manning 2003).

    Must-linked rows get similarity 1 and cannot-linked rows 0, for stated and implied links. With W the
    changed matrix and D its row sums, the rows are embedded by the K largest eigenvectors of

    .. math:: D^{-1/2} W D^{-1/2} \quad (1) \qquad\text{or}\qquad (W + d_\max I - D) / d_\max \quad (2) ,

    the *symmetric* normalisation or the *additive* normalisation of the paper; rows are scaled to length 1
    and clustered by k-means. The two differ considerably: with the additive form, outliers of small degree
    often become separate clusters, with and without hints.

    Links are treated as certain, and their weights are ignored. If links contradict one another, the
    must-links win, with a warning. Time and memory are linear in the number of rows, edges of the graph and
    links.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    normalization : {"symmetric", "additive"}, default="symmetric"
        How the changed similarities are normalised, see above.
    {graph}
    self_loops : bool, default=False
        Whether W has a diagonal: exp(0) = 1, as in the definition of W in the papers, or the diagonal of X if
        `affinity` is "precomputed". By default the diagonal is 0.
    {embedding}

    Attributes
    ----------
    {fitted}

    References
    ----------
    S. D. Kamvar, D. Klein and C. D. Manning (2003), Spectral learning, IJCAI. The normalisation is restated
    by Xiong, Johnson and Corso, Online active constraint selection for semi-supervised clustering, sect. 2.4.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.spectral import SpectralLearning
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> hints = Supervision.from_links(6, cannot=[(1, 2)])
    >>> labels = SpectralLearning(2, random_state=0).fit_predict(X, supervision=hints)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[5])
    True
    """

    normalization: Normalization
    self_loops: bool

    _reads_label_sets: ClassVar[bool] = True
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "normalization": Rule.choice("symmetric", "additive"),
        "self_loops": Rule.choice(False, True),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalization: Normalization = "symmetric",
        metric: str = "euclidean",
        affinity: str = "local",
        n_neighbors: Any = "auto",
        scale: Any = "median",
        neighbor_search: str = "auto",
        self_loops: bool = False,
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

    def _make_operator(self, graph: Graph, hints: Supervision) -> SpectralOperator:
        closure = self._compute_soft_closure(hints, "Here the must-links win.")
        sets = LabelSets.from_bags(hints.bags, graph.n_samples) if self.as_links else None
        if sets is not None:
            self._warn_clash(sets, closure)
        linked = LinkedGraph.from_closure(graph, closure, sets)
        if self.normalization == "symmetric":  # eq. 1
            return SpectralOperator(linked.weights, linked.degrees**-0.5, linked.terms, linked.diagonal)
        scale = np.full(graph.n_samples, linked.degrees.max() ** -0.5)  # eq. 2
        added = -linked.degrees if linked.diagonal is None else linked.diagonal - linked.degrees
        return SpectralOperator(linked.weights, scale, linked.terms, added, shift=1.0)

    def _extend_eigenvectors(self, alike: Any, degrees: np.ndarray, found: Partition) -> np.ndarray:
        if self.normalization == "symmetric":
            return super()._extend_eigenvectors(alike, degrees, found)
        # Solve eq. 2, (W u + (d_max - d) u) / d_max = lambda u, for the entry of the new row.
        largest = found.scale[0] ** -2
        below = (found.eigen.values - 1.0) * largest + degrees[:, None]
        sums = np.asarray(alike @ found.eigen.vectors)
        return np.divide(sums, below, out=np.zeros_like(sums), where=below > 1e-9 * largest)
