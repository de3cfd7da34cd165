"""LatentHierarchyClassifier: incomplete multi-labels on a hierarchy that is learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil, log
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from likewise._compat import CallbackSupportMixin, check_random_state, with_callbacks
from likewise.base import FitProgress, Rule, warn_caller, warn_if_long
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy, PartialHierarchy
from likewise.kernels.label_tree import most_probable
from likewise.multilabel._base import (
    IS_THRESHOLD,
    PER_LABEL,
    RATE,
    LabelColumns,
    MultilabelClassifier,
    check_labels,
)
from likewise.multilabel._combined import compute_tree_marginals, cross_fit, find_best_thresholds
from likewise.multilabel._em import (
    STRUCTURE_STEPS,
    EMResult,
    LabelPosterior,
    LatentHierarchyModel,
    compute_edge_scores,
    compute_rates,
    infer,
    make_first_model,
    run_em,
)
from likewise.multilabel._label_trees import (
    LEAST_RATE,
    LearnedTree,
    allow_all_edges,
    compute_chain_evidence,
    compute_inclusion_scores,
    compute_net_evidence,
    compute_relaxations,
    count_pairs,
    estimate_anchored_rates,
    find_best_tree,
    find_certain_labels,
    learn_tree,
    make_chow_liu_tree,
    make_count_tree,
    make_star,
    select_rate_edges,
    settle_with_rate,
    with_further_parents,
)
from likewise.multilabel._own_rates import (
    has_different_rates,
    has_more_evidence,
    learn_tree_and_rates,
    run_gap_test,
    score_records,
)
from likewise.multilabel._summary import (
    HierarchySummary,
    find_exchangeable,
    find_indistinguishable,
    summarise,
)

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

_STARTS = ("auto", "inclusion", "counts", "chow-liu", "star")
_FIRST_RATE = 0.2  # EM starts here if no cell identifies the missing rate
_IS_START = Rule(
    f"one of {', '.join(map(repr, _STARTS))}, or a tuple of these",
    lambda v: (
        (isinstance(v, str) and v in _STARTS)
        or (isinstance(v, tuple) and len(v) > 0 and all(isinstance(s, str) and s in _STARTS for s in v))
    ),
)
_IS_ANNEALING = Rule(
    "None, or a pair (first relaxation, factor), both between 0 and 1",
    lambda v: (
        v is None
        or (
            isinstance(v, tuple)
            and len(v) == 2
            and all(Rule.real(0, strict=True).holds(x) and x < 1 for x in v)
        )
    ),
)


@dataclass(frozen=True)
class Suggestion:
    """A label that was not recorded although the row probably has it.

    Parameters
    ----------
    row : int
        The number of the row.
    label : str
        The name of the label.
    probability : float
        The probability that the row has the label, given its features and its recorded labels.

    Examples
    --------
    >>> from likewise.datasets import make_label_tree
    >>> from likewise.multilabel import LatentHierarchyClassifier
    >>> data = make_label_tree(1000, 8, missing_rate=0.3, random_state=0)
    >>> model = LatentHierarchyClassifier().fit(data.X, data.Z)
    >>> suggestion = model.suggest(data.X, data.Z, top=1)[0]
    >>> suggestion.row, suggestion.label in model.classes_
    (0, True)
    """

    row: int
    label: str
    probability: float


class LatentHierarchyClassifier(CallbackSupportMixin, MultilabelClassifier):
    r"""Learn a hierarchy of labels, the rate of missing labels and a classifier from incomplete labels.

    Recorded labels are correct; labels that are not recorded may be missing. The true labels y of a row form
    a tree whose root is always present (Pei 2017, chapter 5):

    .. math::

       P(y_c = 1 \mid y_p = 1, x) = \sigma(w_c \cdot x + b_c), \quad P(y_c = 1 \mid y_p = 0) = \varepsilon,
       \quad P(z_c = 1 \mid y_c = 1) = 1 - \alpha, \quad P(z_c = 1 \mid y_c = 0) = 0,

    where p is the parent of c and z are the recorded labels. EM maximises
    :math:`\sum_i \log P(z_i \mid x_i) - \frac{l2}{2} \|W\|^2`: the E-step is exact on a tree, and the M-step
    is one weighted logistic regression per label.

    Parameters
    ----------
    hierarchy : LabelHierarchy, PartialHierarchy, list of (parent, child), or None, default=None
        The hierarchy if it is known. Labels without a parent in the list are children of the root; labels
        may have several parents for any `structure`. A PartialHierarchy fixes some edges and forbids others;
        a label whose parent it fixes gets no further parents. With None all edges are learned.
    structure : {"tree", "dag"}, default="tree"
        With "dag" a learned label may have several parents and implies all of them. Inference is then
        approximate.
    start : {"auto", "inclusion", "counts", "chow-liu", "star"} or tuple of these, default="auto"
        How the tree is learned. ``inclusion`` scores how well the counts of two incomplete labels agree with
        one including the other, and estimates the missing rate as well; ``counts`` does so as if no labels
        were missing; ``auto`` improves both trees by moving labels to better parents and keeps the one with
        more evidence; ``chow-liu`` is the tree of mutual information; ``star`` makes all labels children of
        the root. Of several starts in a tuple, the one with the largest penalised likelihood is kept.
    structure_step : {None, "literal", "intercept", "profile"}, default=None
        Whether EM changes the tree: by eq. 5.9 of the thesis as printed ("literal"), with the intercept
        adapted to each candidate parent, or with the classifier refitted for each ("profile"). None keeps the
        tree of the start, which works best: with good features the likelihood hardly distinguishes trees.
    missing_rate : {"auto", "shared", "per-label"}, float or array of shape (n_labels,), default="auto"
        The probability α that a true label is not recorded: one rate for all labels (``shared``), one per
        label (``per-label``), or given numbers. With ``per-label``, the tree and the rates are estimated
        alternately, and an edge is excluded if the features predict which records of the parent are missing,
        since labels are assumed to be missing at random. ``auto`` uses one rate unless the data favour
        separate rates. The rate of a label without children cannot be estimated; it is set to the mean rate
        of the other labels, and :meth:`summary` reports it.
    rate_from : {"anchors", "em"}, default="anchors"
        How the rate is estimated. ``anchors``: a label above a recorded label is certainly present; the
        fraction of these that is not recorded is the rate. ``em``: eq. 5.7, which underestimates the rate,
        since the classifier can overfit to missing labels. If no label is above another, ``em`` is used.
    l2 : float, default=1.0
        The weight of the penalty; 1 / C of scikit-learn's LogisticRegression.
    relaxation : float, default=1e-3
        The probability ε of a label whose parent is absent; at most a tenth of the frequency of the label.
    annealing : tuple (float, float) or None, default=None
        The initial ε and the factor by which it falls in each iteration, down to `relaxation`; it falls to
        `relaxation` at once if EM converges earlier. The thesis uses (0.05, 0.98). None uses `relaxation`
        throughout.
    n_init : int, default=1
        Number of starts. All but the first learn their tree from a bootstrap sample of the rows. The one with
        the largest penalised likelihood is kept.
    decode : {"marginal", "map"}, default="marginal"
        Whether to predict the labels whose probability is above the threshold, or the most probable set of
        labels.
    marginals : {"combined", "tree"}, default="combined"
        The probability of a label of a new row. ``tree`` is the product of the classifiers from the root to
        the label. ``combined`` also uses a separate classifier of the label and those of its descendants,
        with weights per label fitted to out-of-fold probabilities; it is better if a label is a union of
        dissimilar labels.
    threshold : float, array of shape (n_labels,) or "f1", default="f1"
        A label is predicted if its probability is above this. ``"f1"`` chooses the threshold of each label
        that maximises F1 for out-of-fold probabilities of the training rows, corrected for missing labels;
        :meth:`calibrate` uses other rows. With 40,000 rows or more, a sample of at least 20,000 that has
        about 200 records of the rarest label is used, as for the weights of `marginals`. With
        ``decode="map"`` no threshold is used, and a numeric value raises `ValueError`.
    max_iter : int, default=100
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the penalised log-likelihood per row grows by less than this.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap samples of starts after the first.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    hierarchy_ : LabelHierarchy
        The hierarchy. Its ``scores`` are the gain of each edge over an edge from the root, in nats; its
        ``margins`` are the difference to the next best parent. An edge with a margin near 0 is a guess. The
        margin does not show whether two labels could be exchanged, as equal labels can.
    indistinguishable_ : tuple of (str, str)
        Edges (parent, child) for which the data do not determine which label is above the other. If rates are
        given or shared, these are labels whose only child may be present on the same rows. With a rate per
        label, a child may also be equal to its parent and recorded less often; the edge is listed if neither
        the records nor the features rule this out.
    missing_rate_ : float
        The fraction of true labels that was not recorded.
    missing_rates_ : ndarray of shape (n_labels,)
        The same for each label.
    rate_is_known_ : ndarray of bool of shape (n_labels,)
        True where the missing rate was given, or estimated for this label. With one shared rate, True for all
        labels if any cell identifies it (``n_anchors_ > 0``). With a rate per label, False for labels with
        nothing recorded below them, which get the mean rate of the other labels; if EM estimates these rates,
        True for all labels.
    n_anchors_ : int
        Number of cells in which a label is known to be present, from which the rate was estimated; 0 if EM
        estimated it or it was given.
    relaxations_ : ndarray of shape (n_labels,)
        ε of each label.
    coef_, intercept_ : ndarray of shape (n_labels, n_features), (n_labels,)
        The classifier of each label among rows that have its parents.
    thresholds_ : ndarray of shape (n_labels,)
        Each label is predicted if its probability is above this.
    log_likelihood_, objective_ : float
        The log-likelihood of the recorded labels, and the same minus the penalty.
    objective_history_ : ndarray of shape (n_iter_ + 1,)
        The penalised log-likelihood before each iteration and at the end.
    n_iter_ : int
        Number of EM iterations.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ChowLiuTree : A tree of mutual information, and classifiers along it.
    BinaryRelevance : One independent classifier per label.

    Notes
    -----
    An iteration costs O(n (d + 1) n_labels) time; learning the tree costs O(n n_labels²) for the counts of
    pairs. Combined marginals and thresholds refit the classifiers five times, without EM. A
    `structure_step` costs O(n n_labels²) per iteration and O(n_labels²) memory. With 10^5 rows of 16 columns
    and 8 labels a fit takes 3.5 s, 14 times as long as one logistic regression for each label: each iteration
    fits the classifiers again.

    With ``structure="dag"`` a label needs all its parents. Further parents are added to the tree if recorded
    labels support them. The E-step passes messages as if there were no cycles (exact on trees; on small
    graphs the mean error of the probabilities was 0.01). The probability of a label without any record is the
    product of the classifiers of all its ancestors, which is exact as ε goes to 0. ``decode="map"`` needs a
    tree.

    References
    ----------
    Y. Pei (2017). Learning with partial supervision for clustering and classification, chapter 5.

    Examples
    --------
    >>> from likewise.datasets import make_label_tree
    >>> data = make_label_tree(1000, 8, missing_rate=0.3, random_state=0)
    >>> model = LatentHierarchyClassifier().fit(data.X, data.Z)
    >>> bool((model.hierarchy_.parents == data.parents).all())
    True
    >>> round(model.missing_rate_, 1)
    0.3
    >>> max(s.probability for s in model.suggest(data.X, data.Z, top=1)) > 0.9
    True
    """

    missing_rates_: np.ndarray
    missing_rate_: float
    n_anchors_: int
    hierarchy_: LabelHierarchy
    relaxations_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    log_likelihood_: float
    objective_: float
    objective_history_: np.ndarray
    n_iter_: int
    rate_is_known_: Any
    indistinguishable_: tuple[tuple[str, str], ...]
    thresholds_: np.ndarray

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "structure": Rule.choice("tree", "dag"),
        "start": _IS_START,
        "structure_step": Rule.choice(None, *STRUCTURE_STEPS),
        "missing_rate": Rule.either(Rule.choice("auto", "shared", "per-label"), RATE, PER_LABEL),
        "rate_from": Rule.choice("anchors", "em"),
        "l2": Rule.real(0, strict=True),
        "relaxation": Rule(
            "a number above 0 and below 0.5", lambda v: Rule.real(0, strict=True).holds(v) and v < 0.5
        ),
        "annealing": _IS_ANNEALING,
        "n_init": Rule.integer(1),
        "decode": Rule.choice("marginal", "map"),
        "marginals": Rule.choice("combined", "tree"),
        "threshold": Rule.either(IS_THRESHOLD, Rule.choice("f1")),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
    }

    def __init__(
        self,
        hierarchy: Any = None,
        *,
        structure: str = "tree",
        start: Any = "auto",
        structure_step: str | None = None,
        missing_rate: Any = "auto",
        rate_from: str = "anchors",
        l2: float = 1.0,
        relaxation: float = 1e-3,
        annealing: tuple[float, float] | None = None,
        n_init: int = 1,
        decode: str = "marginal",
        marginals: str = "combined",
        threshold: Any = "f1",
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.structure = structure
        self.start = start
        self.structure_step = structure_step
        self.missing_rate = missing_rate
        self.rate_from = rate_from
        self.l2 = l2
        self.relaxation = relaxation
        self.annealing = annealing
        self.n_init = n_init
        self.decode = decode
        self.marginals = marginals
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: MatrixLike, Y: ArrayLike) -> Self:
        """Learn the hierarchy, the missing rate and the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            1 where a label was recorded and 0 elsewhere, whether the row has the label or not. The columns of
            a DataFrame name the labels.

        Returns
        -------
        self : LatentHierarchyClassifier
            The fitted classifier.
        """
        super().fit(X, Y)
        return self

    # ------------------------------------------------------------------ learning

    def _fit(self, X: Any, labels: LabelColumns) -> None:
        given, allowed = _get_known_hierarchy(self.hierarchy, labels.names)
        if given is not None and self.decode == "map" and not given.is_tree:
            raise ValueError(
                "decode='map' needs a tree, but labels of this hierarchy have several parents. Use "
                "decode='marginal'."
            )
        if self.structure == "dag" and self.decode == "map":
            raise ValueError("decode='map' needs structure='tree'; use decode='marginal' with 'dag'.")
        if self.decode == "map" and not isinstance(self.threshold, str):
            raise ValueError(
                f"decode='map' uses no thresholds; got threshold={self.threshold!r}. Omit threshold, or "
                "use decode='marginal'."
            )
        rng = check_random_state(self.random_state)
        starts = [given] if given is not None else list(self._make_starts(X, labels, allowed, rng))
        # Measured for a dozen iterations; sparse X counts its non-zeros.
        cost = len(labels.Y) * 4e-6 + X.size * 8e-8
        suggestion = "Fit a sample of the rows, and predict the others."
        warn_if_long(self, labels.n_labels * cost * len(starts), suggestion)
        progress = FitProgress(self, X, len(starts))
        best: EMResult | None = None
        for hierarchy in starts:
            progress.begin(self.max_iter)
            found = self._fit_from_start(X, labels.Y, hierarchy, allowed, progress)
            progress.end()
            if best is None or found.objective > best.objective:
                best = found
        progress.finish()
        assert best is not None
        self._keep(best, X, labels)

    def _make_starts(
        self, X: Any, labels: LabelColumns, allowed: np.ndarray, rng: np.random.RandomState
    ) -> Any:
        """Yield the initial trees."""
        names = (self.start,) if isinstance(self.start, str) else self.start
        for n in range(self.n_init):
            rows = slice(None) if n == 0 else rng.randint(len(labels.Y), size=len(labels.Y))
            for name in names:
                tree = self._make_first_tree(name, X[rows], labels.Y[rows], allowed)
                yield tree.build_hierarchy(labels.names)

    def _make_first_tree(self, name: str, X: Any, Z: np.ndarray, allowed: np.ndarray) -> LearnedTree:
        if name == "counts":
            return make_count_tree(Z, allowed, self.relaxation)
        if name == "chow-liu":
            return make_chow_liu_tree(Z, allowed)
        if name == "star":
            return make_star(Z.shape[1], allowed)
        given = self._get_given_rates()
        tree = learn_tree(Z, allowed, self.relaxation, given)
        if given is None and name == "auto":
            tree = self._select_better_tree(tree, Z, allowed)
        if given is not None or self.missing_rate == "shared":
            return tree
        return self._learn_own_rates(tree, X, Z, allowed)

    def _select_better_tree(self, tree: LearnedTree, Z: np.ndarray, allowed: np.ndarray) -> LearnedTree:
        """Return this tree, or the improved tree of ``start="counts"`` if that has more evidence."""
        counted = make_count_tree(Z, allowed, self.relaxation)
        rate = estimate_anchored_rates(Z, LabelHierarchy.from_parents(counted.parents))[0]
        other = settle_with_rate(Z, counted, max(rate, LEAST_RATE) if rate > 0 else LEAST_RATE, allowed)
        return other if compute_net_evidence(other) > compute_net_evidence(tree) + 1e-9 else tree

    def _learn_own_rates(self, tree: LearnedTree, X: Any, Z: np.ndarray, allowed: np.ndarray) -> LearnedTree:
        """Estimate a tree and separate rates alternately; return the tree with more evidence."""
        if not select_rate_edges(tree.scores).any():  # no edge identifies a rate
            return tree
        shared = estimate_anchored_rates(Z, LabelHierarchy.from_parents(tree.parents))[0]
        test = run_gap_test(X, Z, self.l2)
        other = learn_tree_and_rates(Z, test, allowed, self.relaxation, shared)
        return other if has_more_evidence(other, tree, shared, Z, test, self.relaxation) else tree

    def _get_given_rates(self) -> np.ndarray | None:
        if isinstance(self.missing_rate, str):
            return None
        return self._check_per_label("missing_rate", self.missing_rate, below=1.0)

    def _estimate_first_rates(self, Z: np.ndarray, hierarchy: LabelHierarchy) -> tuple[np.ndarray, int]:
        """Return initial missing rates and the number of cells they come from, 0 if EM estimates them."""
        given = self._get_given_rates()
        if given is not None:
            return given, 0
        if self._learns_hierarchy and hierarchy.scores is not None:  # skip edges that may be due to chance
            anchors = set(np.array(hierarchy.names, dtype=object)[select_rate_edges(hierarchy.scores)])
            edges = [edge for edge in hierarchy.edges if edge[1] in anchors]
            hierarchy = LabelHierarchy(hierarchy.names, edges)
        shared, own, n_cells = estimate_anchored_rates(Z, hierarchy)
        if self.rate_from == "em" or not n_cells:
            return np.full(Z.shape[1], _FIRST_RATE), 0
        has_own = self.missing_rate == "per-label" or (
            self.missing_rate == "auto" and has_different_rates(Z, hierarchy)
        )
        return (own if has_own else np.full(Z.shape[1], shared)), n_cells

    def _fit_from_start(
        self, X: Any, Z: np.ndarray, hierarchy: LabelHierarchy, allowed: np.ndarray, progress: FitProgress
    ) -> EMResult:
        """Run EM from one initial hierarchy."""
        counts = Z.sum(axis=0)
        rates, n_cells = self._estimate_first_rates(Z, hierarchy)
        if self.structure == "dag" and self._learns_hierarchy:
            hierarchy = with_further_parents(hierarchy, count_pairs(Z), len(Z), rates, allowed)
            rates, n_cells = self._estimate_first_rates(Z, hierarchy)

        def compute_eps(rates: np.ndarray, t: int) -> np.ndarray:
            now = self.relaxation
            if self.annealing is not None:
                now = max(now, self.annealing[0] * self.annealing[1] ** t)
            return compute_relaxations(counts, len(Z), rates, now)

        anchored = rates if n_cells else None
        expected = compute_rates(Z, shared=self.missing_rate != "per-label")

        def update_rates(one: np.ndarray) -> np.ndarray:
            return expected(one) if anchored is None else anchored

        def reshape(model: LatentHierarchyModel, posterior: LabelPosterior, t: int) -> LatentHierarchyModel:
            model = replace(model, relaxations=compute_eps(model.rates, t))
            if self.structure_step is None or not self._learns_hierarchy or not model.hierarchy.is_tree:
                return model
            scores = compute_edge_scores(model, posterior, X, Z, self.l2, self.structure_step)
            tree = find_best_tree(scores, allowed)
            if np.array_equal(tree.parents, model.hierarchy.parents):
                return model
            changed = tree.build_hierarchy(model.hierarchy.names)
            nonlocal anchored
            estimated_rates, n_cells = self._estimate_first_rates(Z, changed)
            anchored = estimated_rates if n_cells else None
            return replace(model, hierarchy=changed, rates=estimated_rates if n_cells else model.rates)

        return run_em(
            X,
            Z,
            make_first_model(Z, X.shape[1], hierarchy, rates, compute_eps(rates, 0)),
            l2=self.l2,
            max_iter=self.max_iter,
            tol=self.tol,
            update_rates=update_rates if self._get_given_rates() is None else None,
            reshape=reshape if self.annealing is not None or self.structure_step is not None else None,
            settled_from=self._annealed_by,
            step=progress.step,
        )

    @property
    def _annealed_by(self) -> int:
        """The iteration in which ε reaches `relaxation`."""
        if self.annealing is None or self.annealing[0] <= self.relaxation:
            return 0
        return ceil(log(self.relaxation / self.annealing[0]) / log(self.annealing[1]))

    @property
    def _learns_hierarchy(self) -> bool:
        """True if some edges of the hierarchy are learned."""
        return self.hierarchy is None or isinstance(self.hierarchy, PartialHierarchy)

    def _keep(self, found: EMResult, X: Any, labels: LabelColumns) -> None:
        """Set the fitted attributes."""
        if not found.converged:
            warn_caller(
                f"EM did not converge in {self.max_iter} iterations: raise max_iter (now {self.max_iter}) or "
                f"tol (now {self.tol:g}).",
                ConvergenceWarning,
            )
        self._model = found.model
        model, Z = found.model, labels.Y
        self.missing_rates_ = np.array(model.rates)
        posterior = infer(model, X, Z)
        self.missing_rate_ = float(
            1.0 - ((1.0 - model.rates) * posterior.one).sum() / max(posterior.one.sum(), 1e-12)
        )
        if len(set(model.rates)) == 1:
            self.missing_rate_ = float(model.rates[0])
        self.n_anchors_ = self._estimate_first_rates(Z, model.hierarchy)[1]
        self.hierarchy_ = self._describe_hierarchy(model, Z, posterior.one.sum(axis=0))
        self.relaxations_ = np.array(model.relaxations)
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.log_likelihood_ = posterior.log_likelihood
        self.objective_ = found.objective
        self.objective_history_ = np.array(found.history)
        self.n_iter_ = len(found.history) - 1
        self.rate_is_known_ = self._find_known_rates(Z)
        if self._get_given_rates() is None and len(set(model.rates)) > 1:
            scores = score_records(X, Z, self.l2)
            self.indistinguishable_ = find_exchangeable(Z, self.hierarchy_, scores)
        else:
            self.indistinguishable_ = find_indistinguishable(Z, self.hierarchy_, self.missing_rates_)
        self._set_marginals(X, Z, posterior)

    def _find_known_rates(self, Z: np.ndarray) -> Any:
        """Return True for labels whose rates were given, or estimated from data that identify them."""
        if self._get_given_rates() is not None or len(set(self.missing_rates_)) == 1:
            return np.full(Z.shape[1], self._get_given_rates() is not None or self.n_anchors_ > 0)
        below, _ = find_certain_labels(Z, self.hierarchy_)
        return np.any(below, axis=0) | (self.n_anchors_ == 0)  # without anchors, EM estimates each

    def _set_marginals(self, X: Any, Z: np.ndarray, posterior: LabelPosterior) -> None:
        """Fit the combined marginals and the thresholds to out-of-fold probabilities."""
        combine = self.marginals == "combined" and self.decode == "marginal"
        rows, chances, self._combination = None, None, None
        if self.decode == "marginal" and (combine or isinstance(self.threshold, str)):
            rows, chances, self._combination = cross_fit(
                X, Z, self._model, posterior, self.l2, combine=combine
            )
        if not isinstance(self.threshold, str):
            self.thresholds_ = np.array(self._check_per_label("threshold", self.threshold))
        elif chances is None:
            self.thresholds_ = np.full(Z.shape[1], 0.5)
        else:
            self.thresholds_ = find_best_thresholds(chances, Z[rows], self.missing_rates_)

    def _describe_hierarchy(
        self, model: LatentHierarchyModel, Z: np.ndarray, counts: np.ndarray
    ) -> LabelHierarchy:
        """Return the hierarchy with label counts and scores, even if it was given."""
        tree = model.hierarchy
        if tree.is_tree:
            gains = compute_chain_evidence(Z, tree, model.rates).T
        else:
            gains = compute_inclusion_scores(count_pairs(Z), len(Z), model.rates, model.relaxations)
        scores = np.array(
            [min((gains[p, c] for p in ps), default=0.0) for c, ps in enumerate(tree.parent_lists)]
        )
        margins = tree.margins if tree.margins is not None else np.full(len(tree.names), np.inf)
        return LabelHierarchy(tree.names, tree.edges, scores=scores, margins=margins, counts=counts)

    # ------------------------------------------------------------------ predicting

    def _compute_probabilities(self, X: Any) -> np.ndarray:
        by_tree = compute_tree_marginals(self._model, X)
        if self._combination is None:
            return by_tree
        return self._combination.compute_probabilities(X, by_tree, self._model.hierarchy)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label minus those of its threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples, n_labels)
            With ``decode="marginal"`` a label is predicted where this is positive.
        """
        chances = np.clip(self.predict_proba(X), 1e-12, 1.0 - 1e-12)
        return logit(chances) - logit(np.clip(self.thresholds_, 1e-12, 1.0 - 1e-12))

    def _predict(self, X: Any) -> np.ndarray:
        if self.decode == "marginal":
            return (self._compute_probabilities(X) > self.thresholds_).astype(np.int64)
        logits, tree = self._model.compute_logits(X), self._model.hierarchy
        none, out = np.zeros(logits.shape, dtype=np.uint8), np.empty(logits.shape, dtype=np.int64)
        no_rates = np.zeros(logits.shape[1])
        most_probable(tree.parents, tree.order, logits, self._model.relaxations, none, no_rates, out)
        return out

    def complete_labels(self, X: MatrixLike, Y: ArrayLike) -> np.ndarray:
        """Return the probability of each label for each row, given its features and its recorded labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            The recorded labels, with the same columns as in `fit`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_labels)
            The probabilities; 1 where a label was recorded.
        """
        X, Z = self._check_rows_and_labels(X, Y)
        return infer(self._model, X, Z).one

    def suggest(self, X: MatrixLike, Y: ArrayLike, top: int = 5, *, least: float = 0.0) -> list[Suggestion]:
        """Return the most probable labels that were not recorded, as questions for annotators.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            The recorded labels, with the same columns as in `fit`.
        top : int, default=5
            Maximum number of suggestions per row.
        least : float, default=0.0
            Minimum probability of a suggestion.

        Returns
        -------
        suggestions : list of Suggestion
            The suggestions row by row, the most probable label of each row first.
        """
        if not Rule.integer(1).holds(top):
            raise ValueError(f"top must be an integer of at least 1; got {top!r}.")
        if not Rule.real(0).holds(least):
            raise ValueError(f"least must be a number of at least 0; got {least!r}.")
        X, Z = self._check_rows_and_labels(X, Y)
        chances = infer(self._model, X, Z).one
        open_to = np.where(Z.astype(bool), -np.inf, chances)
        ranked = np.argsort(-open_to, axis=1, kind="stable")[:, :top]
        return [
            Suggestion(row, str(self.classes_[c]), float(chances[row, c]))
            for row, found in enumerate(ranked)
            for c in found
            if not Z[row, c] and chances[row, c] >= least
        ]

    def summary(self) -> HierarchySummary:
        """Summarise the support for the hierarchy: guesses, equal labels, rates that cannot be estimated.

        Returns
        -------
        summary : HierarchySummary
            The summary, which prints as a few sentences.
        """
        check_is_fitted(self, "classes_")
        return summarise(self)

    def calibrate(self, X: MatrixLike, Y: ArrayLike) -> Self:
        """Set the threshold of each label to maximise F1 on these rows, whose labels may be incomplete.

        At a known missing rate α, the number of recorded labels divided by 1 - α is an unbiased estimate of
        the number of true labels, also among the predicted ones. F1 is therefore that of complete labels, up
        to sampling error.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows that were not in `fit`.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            The recorded labels of these rows, with the same columns as in `fit`.

        Returns
        -------
        self : LatentHierarchyClassifier
            The classifier with new `thresholds_`.
        """
        X, Z = self._check_rows_and_labels(X, Y)
        if self.decode == "map":
            raise ValueError("decode='map' uses no thresholds; fit with decode='marginal' to calibrate them.")
        self.thresholds_ = find_best_thresholds(self._compute_probabilities(X), Z, self.missing_rates_)
        return self

    def _check_rows_and_labels(self, X: Any, Y: Any) -> tuple[Any, np.ndarray]:
        check_is_fitted(self, "classes_")
        X = self._check_X(X, reset=False)
        labels = check_labels(Y, who=type(self).__name__)
        check_consistent_length(X, labels.Y)
        self._check_columns(Y, labels)
        return X, labels.Y


def _get_known_hierarchy(given: Any, names: tuple[str, ...]) -> tuple[LabelHierarchy | None, np.ndarray]:
    """Return the hierarchy if it is given as a whole (else None), and a mask of allowed edges.

    Node 0 of the mask is the root.
    """
    part = given if isinstance(given, PartialHierarchy) else PartialHierarchy()
    allowed = part.get_allowed_edges(names) if part.fixed or part.forbidden else allow_all_edges(len(names))
    if given is None or isinstance(given, PartialHierarchy):
        return None, allowed
    if not isinstance(given, Iterable | LabelHierarchy) or isinstance(given, Iterator):
        raise HierarchyError(
            "hierarchy must be a LabelHierarchy, a PartialHierarchy, a list of "
            f"pairs (parent, child) or None; got {given!r}."
        )
    if not isinstance(given, LabelHierarchy):
        # A label named "root" is an ordinary label; children of the root need no edge.
        given = LabelHierarchy.from_edges(given, names=names, root=None if "root" in names else "root")
    lacking, unknown = set(names) - set(given.names), set(given.names) - set(names)
    if lacking or unknown:
        some = sorted(unknown or lacking)[:5]
        raise HierarchyError(
            f"the hierarchy and the columns of Y have different labels: {', '.join(map(repr, some))} "
            f"{'is not a column' if unknown else 'is not in the hierarchy'}. Name the columns of Y with "
            "a DataFrame, or restrict the hierarchy to them with hierarchy.restrict(names)."
        )
    return LabelHierarchy(names, given.edges), allowed
