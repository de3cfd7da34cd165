"""Spectral clustering with must-links as a penalty."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from likewise._typing import RandomStateLike
from likewise.base import Rule, warn_caller
from likewise.exceptions import LikewiseWarning, UnsupportedSupervisionError
from likewise.spectral._affinity import Graph
from likewise.spectral._base import SpectralFamily
from likewise.spectral._operator import LowRank, SpectralOperator
from likewise.spectral._pair_constraints import LabelSets, make_member_matrix
from likewise.supervision import Supervision


class RegularizedSpectralClustering(SpectralFamily):
    r"""Normalised cut with a penalty on violated must-links (SpReg; Ji & Xu 2006).

    With W the similarities, D their row sums and L the Laplacian of the graph of must-links (each with its
    weight), rows are embedded by the K largest eigenvectors of

    .. math:: D^{-1/2} (W - \beta L) D^{-1/2} \qquad (1) ,

    so two linked rows cost :math:`\beta` times the squared distance between their coordinates; rows are then
    scaled to length 1 and clustered by k-means. The memory of a group is linear in its number of rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K.
    beta : float, default=20
        The weight of a must-link; 20 is the value of the paper.
    cannot : {"refuse", "drop"}, default="refuse"
        Whether cannot-links, which the method cannot use, raise an error or are dropped.
    {common}

    Attributes
    ----------
    {fitted}

    References
    ----------
    X. Ji and W. Xu (2006), Document clustering with prior knowledge, SIGIR; as compared with by Y. Pei and
    X. Z. Fern (2014), Pattern Recognition Letters 37, sect. 5.2.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.spectral import RegularizedSpectralClustering
    >>> X = [[0.0], [1.0], [2.0], [4.0], [6.0], [7.0], [8.0]]
    >>> hints = Supervision.from_links(7, must=[(3, 4)])
    >>> labels = RegularizedSpectralClustering(2, random_state=0).fit_predict(X, supervision=hints)
    >>> bool(labels[3] == labels[6] != labels[0])
    True
    """

    beta: float
    cannot: Literal["refuse", "drop"]

    _reads_label_sets: ClassVar[bool] = True
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "beta": Rule.real(0),
        "cannot": Rule.choice("refuse", "drop"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: float = 20.0,
        cannot: Literal["refuse", "drop"] = "refuse",
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

    def _check_supervision(
        self, supervision: Any, n_samples: int, y: Any = None, *, given: Any
    ) -> Supervision:
        hints = super()._check_supervision(supervision, n_samples, y, given=given)
        name, n_cannot = type(self).__name__, len(hints.cannot) + len(hints.cannot_groups)
        fields: dict[str, Any] = {
            "suggestion": "{cannot='drop'} leaves them out; {SpectralLearning} and "
            "{FlexibleSpectralClustering} use both kinds of links.",
            "parameter": "cannot",
            "estimator": name,
            "terms": ("cannot='drop'", "SpectralLearning", "FlexibleSpectralClustering"),
        }
        if n_cannot and self.cannot == "refuse":
            raise UnsupportedSupervisionError(
                f"{{estimator}} learns from must-links and cannot use the {n_cannot} cannot-link(s).",
                kinds=("links",),
                **fields,
            )
        sets = LabelSets.from_bags(hints.bags, n_samples)
        apart = (sets.holds @ sets.holds.T).nnz < len(sets.sizes) ** 2
        if apart and self.cannot == "refuse":
            raise UnsupportedSupervisionError(
                "{estimator} learns from must-links and cannot use the cannot-links between rows of bags "
                "that share no label.",
                kinds=("bags",),
                **fields,
            )
        if sets.known.any() and not len(hints.must) and not len(hints.must_groups):
            warn_caller(
                f"{name}: for {self.n_clusters} clusters the bags imply no must-links, so they have no "
                "effect.",
                LikewiseWarning,
            )
        return hints

    def _make_operator(self, graph: Graph, hints: Supervision) -> SpectralOperator:
        """Return the matrix of eq. 1; links are added to W, and groups are low-rank terms."""
        self._compute_soft_closure(hints, "Only the must-links are used here.")
        n, groups = graph.n_samples, hints.must_groups
        i, j = hints.must.T
        links = csr_array((self.beta * hints.must_weights, (i, j)), shape=(n, n))
        links = links + links.T
        diagonal = -np.asarray(links.sum(axis=1)).ravel()
        weights = graph.weights
        if len(i):
            weights = csr_array(weights + links) if issparse(weights) else weights + links.toarray()
        terms = []
        if len(groups):
            # The Laplacian of a complete graph of m rows with weights w is w (m I - 11').
            sizes = np.diff(groups.indptr)
            ones = make_member_matrix(groups, n)
            terms.append(LowRank(ones, self.beta * groups.weights))
            diagonal -= ones @ (self.beta * groups.weights * sizes)
        return SpectralOperator(weights, graph.degrees**-0.5, terms, diagonal)
