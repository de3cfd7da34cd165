"""Clustering of rows in bags, from the label sets of the bags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csc_array, csr_array

from likewise._typing import RandomStateLike
from likewise.base import Rule, warn_caller
from likewise.exceptions import InconsistentSupervisionError, LikewiseWarning
from likewise.spectral._affinity import Graph, Recipe
from likewise.spectral._base import Partition, SpectralFamily
from likewise.spectral._block_products import LARGE_GRAPH
from likewise.spectral._eigen import estimate_eigenvalues
from likewise.spectral._operator import LowRank, SpectralOperator
from likewise.spectral._pair_constraints import ApartPairs, LabelSets, LinkedGraph
from likewise.supervision import Supervision, sort_values

Variant = Literal["propagated", "labelled", "exact", "printed"]
AlphaUnit = Literal["auto", "absolute", "degree", "spectrum"]
_PRINTED_ALPHA = 0.7
# Multiplied by the square root of the fraction of rows in labelled bags. Both were chosen on spelled texts
# and on bags made of other data sets: with few labelled bags, larger values isolate their rows.
_ALPHA = 1.5
# With few neighbours, most neighbours of a row have its class.
_NEIGHBORS, _LEAST_NEIGHBORS = 10, 3
_LEAST_VALUE = 1e-3
# Weight of the equal shares of a row's own bag at each step; the rest comes from its neighbours.
_STAY = 0.1
_STEPS = 100
_SETTLED = 1e-3
_SMOOTH = 0.1  # pseudo-count of rows with the overall mixture of classes, added to each cluster
_SWEEPS = 20  # of renaming clusters


@dataclass(frozen=True, eq=False, kw_only=True)
class BagPartition(Partition):
    """A partition and its bags."""

    bags: BagMatrices
    plain: np.ndarray | None  # approximate leading eigenvalues of the graph without hints, if needed
    shares: (
        np.ndarray | None
    )  # (n_samples, n_classes) the propagated class shares, if the next fit starts there


class BagSpectralClustering(SpectralFamily):
    r"""Spectral clustering of rows in bags, from the labels of the bags (after Pei & Fern 2014).

    For example, a recording is known to contain a wren and a thrush, but not which syllables belong to which.
    With W the similarities of the rows and D their row sums, rows are embedded by the K largest eigenvectors
    of

    .. math:: D^{-1/2} (W + \alpha Q) D^{-1/2} . \qquad (1)

    Rows are scaled to length 1 and clustered by k-means. Q measures for each pair of rows how much the label
    sets of their bags support a common class. It is stored in factored form, whose size is linear in the
    number of rows and labels of their bags.

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
        "variant": Rule.choice("propagated", "labelled", "exact", "printed"),
        "alpha": Rule.either(Rule.choice("auto"), Rule.real(0)),
        "alpha_unit": Rule.choice("auto", "absolute", "degree", "spectrum"),
        "class_weight": Rule.choice("auto", "balanced", None),
        "cut_disjoint": Rule.choice("auto", True, False),
        "without_links": Rule.choice(False, True),
        "self_loops": Rule.choice(False, True),
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
        bags = BagMatrices.from_hints(hints)
        self._warn_clash(bags.sets, closure)
        weights, terms, plain, propagated, power, near = linked.weights, [], None, None, 0.0, None
        if bags.sets.known.any():
            if isinstance(last, BagPartition) and last.rows.shape[1] == self.n_clusters:
                plain = last.plain
            if self._get_unit() == "spectrum" and plain is None:
                without_hints = self._make_operator(graph, Supervision.empty(graph.n_samples))
                plain = estimate_eigenvalues(without_hints, self.n_clusters, rng)
            if self._propagates if self.cut_disjoint == "auto" else self.cut_disjoint:
                weights = ApartPairs(closure, bags.sets).cut(weights)
            shares = compute_even_shares(bags.allowed)
            if self._propagates:
                product = SpectralOperator(weights, None, linked.terms, linked.diagonal).__matmul__
                before = None
                if isinstance(last, BagPartition) and last.bags.sets.classes == bags.sets.classes:
                    before = last.shares
                propagated = propagate(product, linked.degrees, bags.allowed, before)
                shares = restrict_to_allowed(bags.allowed, propagated)
                # The class shares nearly span the eigenvectors, unless there are more clusters than classes.
                if self.n_clusters > shares.shape[1]:
                    power = float(bags.sets.known.mean())
                elif graph.n_samples <= LARGE_GRAPH:  # above, the solver is faster without a start
                    near = shares.toarray() * linked.degrees[:, None] ** -0.5
            terms = [self._make_weighted_term(shares, linked.degrees, plain)]
            if not self._propagates:
                terms = self._make_published_terms(bags, terms[0].core)
        elif hints.bags is not None:
            warn_caller(
                f"{type(self).__name__}: none of the {len(hints.bags)} bags has labels, so the bags have no "
                "effect.",
                LikewiseWarning,
            )
        # Normalised by the degrees before similarities were cut or added for the bags: with the new degrees,
        # each small group of rows that the cut isolates would have a separate eigenvector with eigenvalue 1.
        matrix = SpectralOperator(weights, linked.degrees**-0.5, [*linked.terms, *terms], linked.diagonal)
        found = self._partition(matrix, graph, rng, last, power=power, near=near)
        return BagPartition(
            **vars(found), bags=bags, plain=plain, shares=propagated if self.warm_start else None
        )

    def _make_published_terms(self, bags: BagMatrices, core: np.ndarray) -> list[LowRank]:
        alpha = float(core.mean())
        return compute_bag_terms(
            bags,
            self.variant,
            alpha=alpha,
            weights=core / alpha if alpha else np.ones_like(core),
            keep_must=not self.without_links or self.n_clusters > bags.allowed.shape[1],
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
        weights = np.ones(len(values))
        if balanced:
            weights = np.where(present, usual / np.where(present, values, 1.0), 1.0)
        known = np.diff(shares.indptr) > 0
        alpha, unit = self.alpha, 1.0
        if alpha == "auto":
            alpha = _ALPHA * float(known.mean()) ** 0.5 if self._propagates else _PRINTED_ALPHA
        if self._get_unit() == "spectrum":
            assert plain is not None
            rest = plain[1:] if len(plain) > 1 else plain
            unit = float(np.maximum(rest, _LEAST_VALUE).mean()) / usual
        elif self._get_unit() == "degree":
            added = shares @ (weights * np.asarray(shares.sum(axis=0)).ravel())
            unit = float(degrees.mean()) / float(added[known].mean())
        return LowRank(shares, alpha * unit * weights)

    def _keep(self, partition: Partition, hints: Supervision) -> None:
        assert isinstance(partition, BagPartition)
        bags, k, labels = hints.bags, self.n_clusters, partition.labels
        names = name_clusters(partition.bags, labels, k)
        self.classes_ = partition.bags.sets.classes
        self.class_profile_ = compute_profile(partition.bags, labels, k, names)
        self.class_of_cluster_ = np.array([*self.classes_, None], dtype=object)[names]
        self.bag_names_: tuple[Any, ...] = () if bags is None else bags.names
        self.bag_profile_ = np.zeros((len(self.bag_names_), k), dtype=np.int64)
        if bags is not None:
            inside = bags.codes >= 0
            np.add.at(self.bag_profile_, (bags.codes[inside], labels[inside]), 1)


@dataclass(frozen=True, eq=False)
class BagMatrices:
    """Bags as matrices."""

    codes: np.ndarray  # (n_samples,) the bag of each row, or -1; a labelled row is a separate bag
    n_bags: int  # the number of bags
    sets: LabelSets  # the label set of the bag of each row
    allowed: csr_array  # (n_samples, n_classes) 1 for the classes of the bag of each row

    @classmethod
    def from_hints(cls, hints: Supervision) -> BagMatrices:
        """Build from bags and labels of single rows."""
        n, bags, own = hints.n_samples, hints.bags, hints.label_codes
        codes = np.full(n, -1, dtype=np.int64) if bags is None else bags.codes.copy()
        sets_of: list[Any] = [] if bags is None else list(bags.labels)
        for row in np.flatnonzero(own >= 0):
            label, around = hints.classes[own[row]], sets_of[codes[row]] if codes[row] >= 0 else None
            if around is not None and label not in around:
                raise InconsistentSupervisionError(
                    f"row {row} has the label {label!r}, but its bag {bags.names[codes[row]]!r} has only "  # type: ignore[union-attr]
                    f"{sort_values(around)}.",
                    "Correct the label or the labels of the bag.",
                    rows=(int(row),),
                    kinds=("bags", "labels"),
                )
        labelled = np.flatnonzero(own >= 0)
        codes[labelled] = len(sets_of) + np.arange(len(labelled))
        sets_of += [frozenset([hints.classes[own[row]]]) for row in labelled]
        sets = LabelSets.from_codes(sets_of, codes)
        return cls(codes, len(sets_of), sets, sets.make_indicators())

    def make_indicators(self, which: np.ndarray) -> csr_array:
        """Return the indicator columns of the bags, restricted to the rows in the mask `which`."""
        rows = np.flatnonzero((self.codes >= 0) & which)
        shape = (len(self.codes), self.n_bags)
        return csr_array((np.ones(len(rows)), (rows, self.codes[rows])), shape=shape)

    @property
    def labelled_bags(self) -> np.ndarray:
        """The first row of each labelled bag."""
        known = np.flatnonzero(self.sets.known)
        return known[np.unique(self.codes[known], return_index=True)[1]]


def compute_bag_terms(
    bags: BagMatrices,
    variant: Variant,
    *,
    alpha: float,
    weights: np.ndarray,
    keep_must: bool,
    keep_cannot: bool,
) -> list[LowRank]:
    r"""Return :math:`\alpha Q` as terms to add to the similarities.

    With B the indicators of the bags, Y the equal shares of their labels, M their number, w the weights of
    the classes and :math:`G = Y' \mathrm{diag}(w) Y`:

    - printed (eq. 12): :math:`Q = B (G - \mu I) B'`, :math:`\mu = 1'G1 / M^2`;
    - exact, which follows from the sum in eq. 9: :math:`Q = B (G - \mu 11') B'`;
    - labelled: the same with sums over labelled bags only, and 0 for rows of other bags.

    Without ``keep_must`` (``keep_cannot``) the entries that are implied must-links (cannot-links) become 0.
    """
    shares, sets = compute_even_shares(bags.allowed), bags.sets
    of_bags = csr_array(shares[bags.labelled_bags])
    total = float(weights @ np.asarray(of_bags.sum(axis=0)).ravel() ** 2)
    # A bag in which every row is labelled has no rows left and is not counted.
    n_labelled = of_bags.shape[0] if variant == "labelled" else len(np.unique(bags.codes[bags.codes >= 0]))
    mu = total / max(n_labelled, 1) ** 2
    inside = bags.codes >= 0 if variant == "exact" else sets.known
    every = np.ones(len(bags.codes), dtype=bool)
    terms = [LowRank(shares, alpha * weights)]
    if variant == "printed":
        terms.append(LowRank(bags.make_indicators(every), np.full(bags.n_bags, -alpha * mu)))
    else:
        terms.append(LowRank(inside.astype(np.float64)[:, None], np.array([-alpha * mu])))
    if not keep_must:
        own = sets.get_single_classes()
        rows = np.flatnonzero(own >= 0)
        same = csr_array((np.ones(len(rows)), (rows, own[rows])), shape=shares.shape)
        if variant == "printed":
            terms.append(LowRank(same, -alpha * weights))
            terms.append(LowRank(bags.make_indicators(own >= 0), np.full(bags.n_bags, alpha * mu)))
        else:
            terms.append(LowRank(same, -alpha * (weights - mu)))
    if not keep_cannot and variant != "printed":  # in "printed" these entries are already 0
        terms.append(LowRank(sets.make_members(), alpha * mu * sets.find_disjoint().astype(np.float64)))
    return terms


def compute_even_shares(allowed: csr_array) -> csr_array:
    """Return for each row equal shares of the classes of its bag."""
    shares = csr_array(allowed, dtype=np.float64, copy=True)
    counts = np.diff(shares.indptr)
    shares.data[:] = 1.0 / np.repeat(np.maximum(counts, 1), counts)
    return shares


def propagate(
    product: Any, degrees: np.ndarray, allowed: csr_array, start: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the share of each allowed class in each row, propagated from its neighbours.

    With P0 the equal shares and R the similarities divided by the degrees, P is repeatedly replaced by
    :math:`0.9\,R P + 0.1\,P_0`; a row of a labelled bag keeps only the classes of that bag, and every row is
    scaled to sum 1. This separates rows of one bag: a row near rows of bags with wrens becomes a wren, a row
    near rows of bags with thrushes a thrush. Each step costs one product of the graph with n_classes columns.

    `product` multiplies the similarities with a block of columns, and `degrees` are their row sums. `allowed`
    is 1 for the classes of the bag of each row, and empty for a row without a labelled bag. `start` may be
    the shares of a fit with one hint less.
    """
    known = np.diff(allowed.indptr) > 0
    mask = allowed.toarray() > 0
    mask[~known] = True
    first = compute_even_shares(allowed).toarray()
    shares = first if start is None or start.shape != first.shape else _scale_rows_to_one(start * mask, first)
    for _ in range(_STEPS):
        step = (1.0 - _STAY) / degrees[:, None] * product(shares) + _STAY * first
        step = _scale_rows_to_one(step * mask, first)
        change = float(np.abs(step - shares).sum(axis=1).mean())
        shares = step
        if change < _SETTLED:
            break
    return shares


def restrict_to_allowed(allowed: csr_array, shares: np.ndarray) -> csr_array:
    """Return the shares of the allowed classes, in the sparsity pattern of `allowed`."""
    rows = np.repeat(np.arange(len(shares)), np.diff(allowed.indptr))
    return csr_array((shares[rows, allowed.indices], allowed.indices, allowed.indptr), shape=allowed.shape)


def _scale_rows_to_one(shares: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Scale rows to sum 1; a row whose neighbours have no class of its bag keeps its first shares."""
    totals = shares.sum(axis=1, keepdims=True)
    return np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), first)


def compute_class_profile(
    labels: np.ndarray, allowed: csr_array, k: int, start: csr_array | None = None, n_steps: int = 30
) -> np.ndarray:
    """Return the share of each class in each cluster, shape (k, n_classes).

    The maximum-likelihood profile if a row of cluster k has class c with probability ``profile[k, c]`` and
    only the label set of its bag is observed. It is found by expectation maximisation from the shares in
    `start`, or from equal shares.
    """
    shares = compute_even_shares(allowed) if start is None else csr_array(start, copy=True)
    rows = np.repeat(np.arange(allowed.shape[0]), np.diff(allowed.indptr))
    cell = labels[rows] * allowed.shape[1] + allowed.indices
    usual = np.asarray(shares.sum(axis=0)).ravel()
    usual = usual / max(usual.sum(), 1e-300)
    profile = np.tile(usual, (k, 1))
    for _ in range(n_steps if allowed.nnz else 0):
        counts = np.bincount(cell, weights=shares.data, minlength=k * allowed.shape[1])
        before, profile = profile, counts.reshape(k, -1) + _SMOOTH * usual
        profile /= np.maximum(profile.sum(axis=1, keepdims=True), 1e-300)
        if np.abs(profile - before).max() < _SETTLED:
            break
        shares.data[:] = profile.ravel()[cell]
        totals = np.bincount(rows, weights=shares.data, minlength=allowed.shape[0])
        shares.data /= np.maximum(totals, 1e-300)[rows]
    return profile


def name_clusters(bags: BagMatrices, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the class number of each cluster, or -1 for a cluster without rows of labelled bags.

    Maximises the number of rows whose class is a label of their bag, plus the number of bag labels that are
    the class of some row of the bag. With the first term alone, frequent classes would also name clusters of
    classes that always co-occur with them. The search starts from the class that is allowed for most rows of
    each cluster, then renames single clusters and swaps the names of pairs until nothing improves.
    """
    known = np.flatnonzero(bags.sets.known)
    if not len(known):
        return np.full(k, -1)
    codes, of_row = np.unique(bags.codes[known], return_inverse=True)
    shape = (len(codes), k)
    counts = csc_array(csr_array((np.ones(len(known)), (of_row, labels[known])), shape=shape))
    holds = csr_array(bags.allowed[bags.labelled_bags])
    fitting = np.asarray((counts.T @ holds).toarray())  # number of rows of a cluster that may have a class
    names = np.where(fitting.any(axis=1), fitting.argmax(axis=1), -1)
    is_labelled = holds.toarray() > 0
    carried = np.zeros(is_labelled.shape, dtype=np.int64)
    present = [counts.indices[counts.indptr[c] : counts.indptr[c + 1]] for c in range(k)]
    named, every = np.flatnonzero(names >= 0).tolist(), np.arange(is_labelled.shape[1])

    def set_name(cluster: int, step: int) -> None:
        carried[present[cluster], names[cluster]] += step

    def compute_gains(cluster: int, which: np.ndarray) -> np.ndarray:
        """Return the gain of each of these names for a cluster without a name."""
        at = present[cluster][:, None]
        return fitting[cluster, which] + (is_labelled[at, which] & (carried[at, which] == 0)).sum(axis=0)

    for cluster in named:
        set_name(cluster, 1)
    for _ in range(_SWEEPS):
        before = names.copy()
        for cluster in named:
            set_name(cluster, -1)
            gain = compute_gains(cluster, every)
            if gain.max() > gain[names[cluster]]:
                names[cluster] = gain.argmax()
            set_name(cluster, 1)
        # Single changes cannot correct two clusters that have each other's name.
        for one, other in combinations(named, 2):
            pair = names[[one, other]]
            if pair[0] == pair[1]:
                continue
            set_name(one, -1)
            set_name(other, -1)
            of_one, of_other = compute_gains(one, pair), compute_gains(other, pair)
            if of_one[1] + of_other[0] > of_one[0] + of_other[1]:
                names[[other, one]] = pair
            set_name(one, 1)
            set_name(other, 1)
        if (names == before).all():
            break
    return names


def compute_profile(bags: BagMatrices, labels: np.ndarray, k: int, names: np.ndarray) -> np.ndarray:
    """Return the share of each class in each cluster, starting from the class assigned to the cluster."""
    start = compute_even_shares(bags.allowed)
    rows = np.repeat(np.arange(start.shape[0]), np.diff(start.indptr))
    own = names[labels[rows]] == start.indices
    start.data[:] = np.where(own, 1.0, 0.1 * start.data)
    totals = np.bincount(rows, weights=start.data, minlength=start.shape[0])
    start.data /= totals[rows]
    return compute_class_profile(labels, bags.allowed, k, start)
