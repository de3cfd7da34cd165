"""Clustering of rows in bags, from the label sets of the bags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from likewise.base import Rule, choice, either, real, warn_caller
from likewise.exceptions import LikewiseWarning
from likewise.spectral._affinity import Graph, Recipe
from likewise.spectral._bag_propagation import compute_even_shares, propagate, restrict_to_allowed
from likewise.spectral._bag_terms import BagMatrices, Variant, compute_bag_terms
from likewise.spectral._base import Partition, SpectralFamily
from likewise.spectral._cluster_names import compute_profile, name_clusters
from likewise.spectral._eigen import estimate_eigenvalues
from likewise.spectral._operator import LowRank, SpectralOperator
from likewise.spectral._pair_constraints import ApartPairs, LinkedGraph
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

AlphaUnit = Literal["auto", "absolute", "degree", "spectrum"]
_PRINTED_ALPHA = 0.7
# Multiplied by the square root of the fraction of rows in labelled bags. Both were chosen on spelled texts
# and on bags made of other data sets: with few labelled bags, larger values isolate their rows.
_ALPHA = 1.5
# With few neighbours, most neighbours of a row have its class.
_NEIGHBORS, _LEAST_NEIGHBORS = 10, 3
_LEAST_VALUE = 1e-3


@dataclass(frozen=True, eq=False)
class BagPartition(Partition):
    """A partition and its bags.

    Attributes
    ----------
    bag_matrices : BagMatrices
        The bags.
    shares : ndarray of shape (n_samples, n_classes) or None
        The propagated class shares of each row, if they are stored for the next fit.
    """

    bag_matrices: BagMatrices | None = None
    shares: np.ndarray | None = None


class BagSpectralClustering(SpectralFamily):
    r"""Spectral clustering of rows in bags, from the labels of the bags (after Pei & Fern 2014).

    For example, a recording is known to contain a wren and a thrush, but not which syllables belong to which.
    With W the similarities of the rows and D their row sums, rows are embedded by the K largest eigenvectors
    of

    .. math:: D^{-1/2} (W + \alpha Q) D^{-1/2} ,

    scaled to length 1 and clustered by k-means. Q measures for each pair of rows how much the label sets of
    their bags support a common class. It is stored in factored form, whose size is linear in the number of
    rows and labels of their bags.

    - ``variant="propagated"``, the default: :math:`Q = P\,\mathrm{diag}(w)\,P'`, where P contains the shares
      of the classes of its bag for each row. The shares start equal and are propagated along the graph: each
      row takes the mean of its neighbours, restricted to the labels of its bag, until convergence. Rows whose
      bags share no label are not neighbours. w gives all classes the same weight. With more clusters than
      classes the eigenvectors are multiplied by their eigenvalues to the power of the fraction of rows in
      labelled bags, since those beyond the classes are less informative.
    - ``"printed"``: :math:`Q = B (Y'Y - \mu I) B'`, eq. 12 of the paper, with B the indicators of the bags, Y
      the equal shares of their labels, and :math:`\mu` the mean entry of Y'Y.
    - ``"exact"``: :math:`Q = B (Y'Y - \mu 11') B'`, which follows from the sum in eq. 9 of the paper.
    - ``"labelled"``: the same with the sum over labelled bags only, so unlabelled bags have no effect.

    A labelled row counts as a bag of one row. Links change W as in :class:`SpectralLearning`: must-linked
    rows get similarity 1, cannot-linked rows 0.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters K. Use the number of classes to find the classes, or more to find groups within
        them.
    variant : {"propagated", "labelled", "exact", "printed"}, default="propagated"
        The matrix Q, see above.
    alpha : float or "auto", default="auto"
        The weight of the bags. "auto": 1.5 times the square root of the fraction of rows in labelled bags for
        "propagated", 0.7 as in the paper for the others.
    alpha_unit : {"auto", "absolute", "degree", "spectrum"}, default="auto"
        The meaning of alpha = 1. "absolute": W + Q. "degree": for rows in labelled bags, the row sums of the
        bag term are on average equal to those of W. "spectrum": the leading eigenvalues of the bag term are
        on average equal to those of the graph without the first. "auto": "spectrum" for "propagated",
        "absolute" for the others.
    class_weight : {"auto", "balanced"} or None, default="auto"
        "balanced": all classes have the same weight, regardless of their number of rows. None: no weights.
        "auto": "balanced" for "propagated", None for the others.
    cut_disjoint : bool or "auto", default="auto"
        Whether similarities between rows of bags that share no label are set to 0. "auto": True for
        "propagated", False for the others.
    without_links : bool, default=False
        Whether to set the entries of Q to 0 that must-links and cannot-links could express (the ablation
        "w.o. clml" of the paper). Only for "labelled", "exact" and "printed".
    {graph}
    self_loops : bool, default=False
        Whether W has a diagonal: exp(0) = 1, as in the definition of W in the papers, or the diagonal of X if
        `affinity` is "precomputed". By default the diagonal is 0.
    {embedding}

    Attributes
    ----------
    {fitted}
    bag_profile_ : ndarray of shape (n_bags, n_clusters)
        Number of rows of each bag in each cluster; bags in the order of ``bag_names_``.
    bag_names_ : tuple
        The names of the bags.
    class_of_cluster_ : ndarray of object, of shape (n_clusters,)
        The class of each cluster. The assignment maximises the number of rows that get a label of their bag,
        plus the number of bag labels that some row of the bag gets. None for a cluster without rows of
        labelled bags.
    class_profile_ : ndarray of shape (n_clusters, n_classes)
        The estimated share of each class among the rows of each cluster, from the labels of the bags.
    classes_ : tuple
        The classes, in the order of the columns of ``class_profile_``.

    Notes
    -----
    With ``n_neighbors="auto"``, "propagated" uses 10 neighbours for any number of rows, or half of the mean
    cluster size if that is less, but at least 3: along a graph of all pairs the classes would mix. A product
    with the matrix costs O(edges + labels of rows). Memory is linear in the number of rows, except for
    n_samples x n_classes numbers during propagation.

    References
    ----------
    Y. Pei and X. Z. Fern (2014), Constrained instance clustering in multi-instance multi-label learning,
    Pattern Recognition Letters 37, 107-114. Y. Pei (2017), PhD thesis, Oregon State University, chapter 2.

    Examples
    --------
    Two recordings contain a wren and an owl each, but it is unknown which syllable belongs to which bird. Two
    more contain a single bird, which determines the names of the clusters.

    >>> from likewise import Supervision
    >>> from likewise.spectral import BagSpectralClustering
    >>> X = [[0.0, 0.0], [0.1, 1.0], [0.0, 0.1], [0.1, 1.1], [0.1, 0.0], [0.0, 1.1]]
    >>> bags = ["r1", "r1", "r2", "r2", "r3", "r4"]
    >>> birds = {"r1": ["wren", "owl"], "r2": ["wren", "owl"], "r3": ["wren"], "r4": ["owl"]}
    >>> model = BagSpectralClustering(2, n_neighbors=2, random_state=0)
    >>> model.fit(X, supervision=Supervision.from_bags(bags, birds)).class_of_cluster_[model.labels_].tolist()
    ['wren', 'owl', 'wren', 'owl', 'wren', 'owl']
    """

    classes_: tuple[Any, ...]
    class_profile_: np.ndarray
    class_of_cluster_: np.ndarray
    bag_profile_: np.ndarray

    variant: Variant
    alpha: Any
    alpha_unit: AlphaUnit
    class_weight: Any
    cut_disjoint: Any
    without_links: bool
    self_loops: bool

    supported_hints: ClassVar[frozenset[str]] = frozenset({"bags", "labels", "links"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **SpectralFamily.parameter_rules,
        "variant": choice("propagated", "labelled", "exact", "printed"),
        "alpha": either(choice("auto"), real(0)),
        "alpha_unit": choice("auto", "absolute", "degree", "spectrum"),
        "class_weight": choice("auto", "balanced", None),
        "cut_disjoint": choice("auto", True, False),
        "without_links": choice(False, True),
        "self_loops": choice(False, True),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        variant: Variant = "propagated",
        alpha: float | Literal["auto"] = "auto",
        alpha_unit: AlphaUnit = "auto",
        class_weight: Literal["auto", "balanced"] | None = "auto",
        cut_disjoint: bool | Literal["auto"] = "auto",
        without_links: bool = False,
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

    # ------------------------------------------------------------------ values of "auto" parameters

    @property
    def _propagates(self) -> bool:
        return self.variant == "propagated"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.without_links and self._propagates:
            raise ValueError(
                f"{type(self).__name__}: without_links=True requires variant='labelled', 'exact' or "
                "'printed'; got variant='propagated'. Set without_links=False, or choose another variant."
            )

    def _make_recipe(self, n_samples: int) -> Recipe:
        recipe = super()._make_recipe(n_samples)
        if not self._propagates or self.n_neighbors != "auto":
            return recipe
        # With few rows, more neighbours would belong to other clusters.
        few = min(_NEIGHBORS, max(_LEAST_NEIGHBORS, n_samples // (2 * self.n_clusters)))
        return replace(recipe, n_neighbors=few)

    def _compute_alpha(self, share: float) -> float:
        given = _ALPHA * share**0.5 if self._propagates else _PRINTED_ALPHA
        return given if self.alpha == "auto" else float(self.alpha)

    def _get_unit(self) -> str:
        auto = "spectrum" if self._propagates else "absolute"
        return auto if self.alpha_unit == "auto" else self.alpha_unit

    # ------------------------------------------------------------------ fitting

    def _check_n_clusters(self, n_clusters: int, n_samples: int, hints: Supervision) -> None:
        # Fewer clusters than classes are allowed if bags rather than rows are labelled.
        super()._check_n_clusters(n_clusters, n_samples, hints.select_kinds("links"))

    def _convert_to_links(self, hints: Supervision) -> Supervision:
        return hints.select_kinds("bags", "labels", "links") | hints.select_kinds("triplets").to_links()

    def _cluster(self, graph: Graph, hints: Supervision, rng: Any, last: Partition | None) -> Partition:
        closure = self._compute_soft_closure(hints.select_kinds("links"), "Here the must-links win.")
        linked = LinkedGraph.from_closure(graph, closure)
        bag_matrices = BagMatrices.from_hints(hints)
        self._warn_clash(bag_matrices.sets, closure)
        if not bag_matrices.sets.known.any():
            if hints.bags is not None:
                warn_caller(
                    f"{type(self).__name__}: none of the {len(hints.bags)} bags has labels, so the bags have "
                    "no effect.",
                    LikewiseWarning,
                )
            return _with_bags(
                self._partition(_make_matrix(linked, linked.weights, []), graph, rng, last), bag_matrices
            )
        plain = None if last is None or last.rows.shape[1] != self.n_clusters else last.plain
        if self._get_unit() == "spectrum" and plain is None:
            plain = self._compute_plain_eigenvalues(graph, rng)
        cut = self._propagates if self.cut_disjoint == "auto" else self.cut_disjoint
        weights = ApartPairs(closure, bag_matrices.sets).cut(linked.weights) if cut else linked.weights
        if not self._propagates:
            terms = self._make_published_terms(bag_matrices, linked, plain)
            return _with_bags(
                self._partition(_make_matrix(linked, weights, terms), graph, rng, last), bag_matrices, plain
            )
        passing = SpectralOperator(weights, None, linked.terms, linked.diagonal)
        before = last.shares if isinstance(last, BagPartition) and last.bag_matrices is not None else None
        same = before is not None and last.bag_matrices.sets.classes == bag_matrices.sets.classes  # type: ignore[union-attr]
        propagated = propagate(
            passing.__matmul__, linked.degrees, bag_matrices.allowed, before if same else None
        )
        shares = restrict_to_allowed(bag_matrices.allowed, propagated)
        terms = [self._make_weighted_term(shares, linked.degrees, plain)]
        # The class shares nearly span the eigenvectors, unless there are more clusters than classes.
        more = self.n_clusters > shares.shape[1]
        near = None if more else shares.toarray() * linked.degrees[:, None] ** -0.5
        power = float(bag_matrices.sets.known.mean()) if more else 0.0
        found = self._partition(
            _make_matrix(linked, weights, terms), graph, rng, last, power=power, near=near
        )
        return _with_bags(found, bag_matrices, plain, propagated if self.warm_start else None)

    def _compute_plain_eigenvalues(self, graph: Graph, rng: Any) -> np.ndarray:
        """Return the leading eigenvalues of the graph without hints, largest first."""
        return estimate_eigenvalues(
            self._make_operator(graph, Supervision.empty(graph.n_samples)), self.n_clusters, rng
        )

    def _make_published_terms(
        self, bag_matrices: BagMatrices, linked: LinkedGraph, plain: np.ndarray | None
    ) -> list[LowRank]:
        term = self._make_weighted_term(compute_even_shares(bag_matrices.allowed), linked.degrees, plain)
        alpha = float(term.core.mean())
        return compute_bag_terms(
            bag_matrices,
            self.variant,
            alpha=alpha,
            weights=term.core / alpha if alpha else np.ones_like(term.core),
            keep_must=not self.without_links or self.n_clusters > bag_matrices.allowed.shape[1],
            keep_cannot=not self.without_links,
        )

    def _make_weighted_term(
        self, shares: csr_array, degrees: np.ndarray, plain: np.ndarray | None
    ) -> LowRank:
        """Return alpha P diag(w) P' in the unit `alpha_unit`."""
        # If all shares are 0 or 1, these are the eigenvalues of D^-1/2 P P' D^-1/2.
        values = np.asarray(shares.power(2).T @ (1.0 / degrees)).ravel()
        balanced = self._propagates if self.class_weight == "auto" else self.class_weight == "balanced"
        present = values > 0
        usual = float(values[present].mean())
        weights = (
            np.where(present, usual / np.where(present, values, 1.0), 1.0)
            if balanced
            else np.ones(len(values))
        )
        known = np.diff(shares.indptr) > 0
        unit = 1.0
        if self._get_unit() == "spectrum":
            assert plain is not None
            rest = plain[1:] if len(plain) > 1 else plain
            unit = float(np.maximum(rest, _LEAST_VALUE).mean()) / usual
        elif self._get_unit() == "degree":
            added = shares @ (weights * np.asarray(shares.sum(axis=0)).ravel())
            unit = float(degrees.mean()) / float(added[known].mean())
        return LowRank(shares, self._compute_alpha(float(known.mean())) * unit * weights)

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        assert isinstance(partition, BagPartition)
        assert partition.bag_matrices is not None
        bag_matrices, k = partition.bag_matrices, self.n_clusters
        names = name_clusters(bag_matrices, partition.labels, k)
        self.classes_ = bag_matrices.sets.classes
        self.class_profile_ = compute_profile(bag_matrices, partition.labels, k, names)
        self.class_of_cluster_ = np.array([*self.classes_, None], dtype=object)[names]
        bags = hints.bags
        self.bag_names_: tuple[Any, ...] = () if bags is None else bags.names
        self.bag_profile_ = np.zeros((len(self.bag_names_), k), dtype=np.int64)
        if bags is not None:
            inside = bags.codes >= 0
            np.add.at(self.bag_profile_, (bags.codes[inside], partition.labels[inside]), 1)


def _make_matrix(linked: LinkedGraph, weights: Any, terms: list[LowRank]) -> SpectralOperator:
    """Return the matrix normalised by the degrees before similarities were cut or added for the bags.

    With the new degrees, each small group of rows that the cut isolates would have a separate eigenvector
    with eigenvalue 1.
    """
    return SpectralOperator(weights, linked.degrees**-0.5, [*linked.terms, *terms], linked.diagonal)


def _with_bags(
    found: Partition,
    bag_matrices: BagMatrices,
    plain: np.ndarray | None = None,
    shares: np.ndarray | None = None,
) -> BagPartition:
    return BagPartition(**{**vars(found), "bag_matrices": bag_matrices, "plain": plain, "shares": shares})
