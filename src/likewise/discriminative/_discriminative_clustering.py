"""DiscriminativeClustering: a linear softmax model of the clusters, fitted to links and triplets."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from likewise._compat import check_random_state, with_callbacks
from likewise._seeding import is_clearly_better
from likewise.backends import Rows, get_n_threads
from likewise.base import FitProgress, Rule, warn_caller
from likewise.discriminative._hints import Noise, NoiseKind
from likewise.discriminative._model import SOFT_EPSILONS, TRIAL, GatheredRows, HintData, Run, SoftmaxClusterer
from likewise.discriminative._row_features import OrderedRows, Space
from likewise.discriminative._softmax import DiscriminativeFit, HintedObjective
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

Init = Literal["auto", "hints"]
Neither = Literal["use", "drop"]

_HARDENING = 10


class DiscriminativeClustering(SoftmaxClusterer):
    """Clustering with a linear softmax model, fitted to links, triplets or both, and to all rows.

    With :math:`p_{ik} \\propto \\exp(w_k^\\top x_i + b_k)`, hinted rows I and other rows U, it maximises
    (Pei, Fern, Tjahja & Rosales 2016; eq. 3.6 of Pei 2017, ch. 3, whose equation numbers are used here)

    .. math::

        \\tfrac1m \\log P(\\text{answers} \\mid X_I)
        + \\tau \\Big[ H\\big(\\tfrac1n \\sum_i p_i\\big) - \\tfrac1{|U|} \\sum_{i \\in U} H(p_i) \\Big]
        - \\alpha \\sum_k \\|w_k\\|^2

    The first term is the log-likelihood of the m answers. A link states whether two rows are in the same
    cluster; the answer to a triplet states which two of the three rows are, without the third, or NEITHER. An
    answer is wrong with probability `epsilon`. The second term favours clear clusters of similar size, the
    third is a penalty on the weights. Without hints this is regularised information maximisation (Krause,
    Perona & Gomes 2010).

    Sums over the unknown clusters of all hinted rows are intractable, so a lower bound is maximised,
    eq. (3.7), alternating between mean field over q, the distributions of the clusters of hinted rows, one
    row after another (eqs. 3.8 to 3.10), and L-BFGS over the weights. Columns are standardised to mean 0 and
    variance 1 first, so their units do not matter.

    Parameters
    ----------
    n_clusters : int, default=8
        Maximum number of clusters. Clusters that neither hints nor rows support stay empty.
    tau : float, default=0.5
        The weight of the information term. Large values favour clear clusters of similar size.
    alpha : float, default=0.002
        The weight of the penalty, for columns of variance 1. The paper calls it lambda.
    epsilon : float, default=0.05
        Probability that an answer is wrong, from 0 to below 0.5. With 0 hints are hard: contradictions raise
        an error, and a hinted row can only be in clusters that satisfy most of its hints (eq. 3.11).
    anneal : bool, default=True
        Whether hard hints start as soft hints: epsilon is lowered in stages, and eq. 3.11 is applied last.
        False applies eq. 3.11 from the first sweep, as printed, which freezes errors of the start.
    noise : {None, "uniform", "confusion"}, default=None
        Whether the probabilities of wrong answers are learned: None fixes them at epsilon, "uniform" learns
        one for pairs and one for triplets, "confusion" one for each true relation and each wrong answer.
        With few hints they stay near epsilon; see Notes.
    neither : {"use", "drop"}, default="use"
        Whether the answer NEITHER to a triplet is used, or dropped as is usual for triplets.
    fourier_features : int or None, default=None
        Number of random Fourier features of a Gaussian kernel that replace the columns, for clusters with
        nonlinear boundaries. None uses the columns.
    gamma : float or None, default=None
        Coefficient of the kernel ``exp(-gamma |x - y|^2)`` on columns of variance 1. None uses
        1 / n_features.
    init : {"auto", "hints"}, default="auto"
        The starts. "hints" makes `n_init` starts, half of them in a space transformed by the hints.
        "auto" also fits without hints and continues from there, unless the hints clearly favour another
        start; see Notes.
    n_init : int, default=6
        Number of starts. Each is tried for a few iterations, and the one with the best bound is finished.
    max_iter : int, default=300
        Maximum number of iterations of one start.
    tol : float, default=1e-5
        Stop when an iteration raises the bound by no more than this.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit. Small data use one thread.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row: for hinted rows the most probable one given model and hints, for the others
        the most probable one given the model, as in `predict`.
    coef_ : ndarray of shape (n_clusters, n_features)
        The weights of the original columns, or of the Fourier features.
    intercept_ : ndarray of shape (n_clusters,)
        The biases, which are not penalised.
    noise_ : Noise
        The probability of each answer for each true relation, `noise_.pairs` and `noise_.triplets`.
    hinted_proba_ : ndarray of shape (n_hinted, n_clusters)
        q, the probabilities of the clusters of the hinted rows, given the hints.
    hinted_ : ndarray of shape (n_hinted,)
        The hinted rows.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate.
    triplet_violations_ : likewise.evaluation.TripletSatisfaction
        The triplets that the labels satisfy and violate.
    lower_bound_ : float
        The final bound.
    lower_bounds_ : ndarray of shape (n_iter_,)
        The bound after each iteration of the selected start, after its selection. It never falls, except
        with epsilon=0, where the share of satisfied hints replaces their log-likelihood.
    n_iter_ : int
        The number of these iterations.
    converged_ : bool
        Whether the iterations ended because the bound no longer rose.

    Notes
    -----
    An iteration costs O(n k d) for each of a few gradients, and O(k) per hint and sweep. The cost of a group
    of s rows is linear in s, although it represents s (s - 1) / 2 pairs. Rows in memory need two additional
    arrays of n x k. Rows in files need only one block per thread; a gradient then takes 1.5 times as long,
    since probabilities are computed twice.

    A learned noise has a prior worth 20 answers for each true relation, of which a share epsilon is wrong: a
    Dirichlet density for each row of a confusion matrix, or the corresponding Beta density for a uniform
    noise, whose error rate is also kept below chance level. AB, AC and BC share their probabilities, since
    the rows of a triplet are stored in ascending order and the names are interchangeable. The logarithm of
    the prior, up to a constant, is part of the bound. The noise is learned only after the fit with epsilon
    has converged, since noise learned from a poor clustering would explain its errors away.

    A few hints can be explained in many ways, and a poor solution often has the highest bound. With
    ``init="auto"`` the fit without hints of the same `random_state` is therefore continued with the hints.
    Another start replaces it if its bound is higher and it breaks clearly fewer links (by two standard
    deviations, compared link by link) than the fit without hints. This about doubles the time of the starts.
    With ``anneal=False`` and hard hints, the procedure as printed, "auto" means "hints".

    The likelihood of the hints is divided by their total weight m, so many hints do not have more weight than
    few, but are harder to satisfy by chance.

    The order of the rows does not matter: permuting them, with their hints and weights, permutes the labels.
    With more than 20,000 rows without hints this holds up to rounding, which may move rows at a boundary.

    Examples
    --------
    Four clouds at the corners of a square, to be separated into above and below. Only hints can decide.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.discriminative import DiscriminativeClustering
    >>> rng = np.random.default_rng(0)
    >>> above, right = np.arange(100) % 2, np.arange(100) // 50
    >>> X = rng.normal(size=(100, 2)) + 6 * np.column_stack([right, above])
    >>> triplets = Supervision.from_triplets(100, [(0, 50, 1), (3, 53, 2), (8, 58, 59)], "AB")
    >>> links = Supervision.from_links(100, must=[(4, 60)], cannot=[(4, 5)])
    >>> model = DiscriminativeClustering(n_clusters=2, random_state=0).fit(X, supervision=triplets | links)
    >>> model.labels_.tolist() in (above.tolist(), (1 - above).tolist())
    True
    >>> model.triplet_violations_.share, model.violations_.share
    (1.0, 1.0)
    >>> bool(model.predict([[3.0, 7.0]])[0] == model.labels_[1])
    True
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    noise_: Noise
    lower_bounds_: np.ndarray
    lower_bound_: float
    n_iter_: int
    converged_: bool

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links", "triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "tau": Rule.real(0),
        "alpha": Rule.real(0, strict=True),
        "epsilon": Rule("a number from 0 to below 0.5", lambda v: Rule.real(0).holds(v) and v < 0.5),
        "anneal": Rule.choice(True, False),
        "noise": Rule.choice(None, *get_args(NoiseKind)),
        "neither": Rule.choice(*get_args(Neither)),
        "fourier_features": Rule.either(Rule.choice(None), Rule.integer(1)),
        "gamma": Rule.either(Rule.choice(None), Rule.real(0, strict=True)),
        "init": Rule.choice(*get_args(Init)),
        "n_init": Rule.integer(1),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
        "n_jobs": Rule.either(Rule.choice(None, -1), Rule.integer(1)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tau: float = 0.5,
        alpha: float = 0.002,
        epsilon: float = 0.05,
        anneal: bool = True,
        noise: NoiseKind | None = None,
        neither: Neither = "use",
        fourier_features: int | None = None,
        gamma: float | None = None,
        init: Init = "auto",
        n_init: int = 6,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.alpha = alpha
        self.epsilon = epsilon
        self.anneal = anneal
        self.noise = noise
        self.neither = neither
        self.fourier_features = fourier_features
        self.gamma = gamma
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X, guided by the hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows. A memory map and the readers of :mod:`likewise.datasets` are read in blocks and never
            loaded as a whole.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            Links, groups and triplets. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row in the information term and in the starts. It does not change the weights
            of hints.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        if self.epsilon == 0 and self.noise is not None:
            raise ValueError(
                f"{type(self).__name__}: noise={self.noise!r} requires epsilon above 0; with epsilon=0 "
                "answers are never wrong. Set epsilon above 0, or noise=None."
            )
        rows = self._weigh_rows(rows, sample_weight)
        hint_data = self._gather_hints(hints, rows)
        rng = check_random_state(self.random_state)
        unhinted_rng = deepcopy(rng)
        width = rows.shape[1] if self.fourier_features is None else self.fourier_features
        rows.threads = get_n_threads(len(rows) * width * self.n_clusters, self.n_jobs)
        # BLAS and OpenMP use one thread, and blocks are merged in order: sums in another order differ in the
        # last digits, which a long optimisation can amplify to a different result.
        with threadpool_limits(1):
            arranged = self._arrange_rows(rows, hint_data, rng)
            space = Space.with_fourier(arranged.moments, rows, self.fourier_features, self.gamma, rng)
            fit = self._fit(X, rows, arranged, space, hint_data, rng, unhinted_rng)
            self._keep(fit, rows, space, hint_data)
        return self

    def _continue_unhinted(
        self,
        tried: DiscriminativeFit,
        rows: Rows,
        problem: HintedObjective,
        hint_data: HintData,
        rng: Any,
        run: Run,
    ) -> DiscriminativeFit:
        """Continue the fit without hints, or return the tried start if it breaks clearly fewer links.

        If there are many rows, the fit without hints is made on a sample.
        """
        nothing = self._gather_hints(Supervision.empty(len(rows)), rows)
        arranged = self._arrange_rows(rows, nothing, rng)
        # Equal to the space of the fit with hints up to rounding: random draws have the same order.
        space = Space.with_fourier(arranged.moments, rows, self.fourier_features, self.gamma, rng)
        near = space.center_rows(arranged.rows)
        few = GatheredRows.from_rows(near, space, arranged)
        free = self._make_objective(near, space, arranged.hinted, nothing.terms, None, few)
        unhinted = run(free, self._choose_start(few, free, nothing, rng, run).state, self.max_iter).state
        continued = run(problem, problem.start(unhinted.W), TRIAL)
        own, other = (problem.objective.log_p_hinted(W).argmax(axis=1) for W in (tried.state.W, unhinted.W))
        is_clear = is_clearly_better(own, other, hint_data.as_links(), 2.0)
        return tried if is_clear and tried.bounds[-1] > continued.bounds[-1] else continued

    def _fit(
        self,
        X: Any,
        rows: Rows,
        arranged: OrderedRows,
        space: Space,
        hint_data: HintData,
        rng: Any,
        unhinted_rng: Any,
    ) -> DiscriminativeFit:
        """Try the starts, finish the best one, then learn the noise or make the hints hard."""
        as_printed = self.epsilon == 0 and not self.anneal
        is_auto = self.init == "auto" and len(hint_data.terms) > 0 and not as_printed
        stages = 0 if as_printed else len(SOFT_EPSILONS)
        more = stages if self.epsilon == 0 else int(self.noise is not None)
        progress = FitProgress(self, X, self.n_init + 1 + more + (self.n_init + 2) * is_auto)

        def run(problem: HintedObjective, state: Any, max_iter: int, **how: bool) -> DiscriminativeFit:
            max_iter = min(max_iter, self.max_iter)
            progress.begin(max_iter)
            how = {"hard": as_printed, **how}
            fit = problem.maximise(state, max_iter=max_iter, tol=self.tol, done=progress.step, **how)
            progress.end()
            return fit

        near, hinted = space.center_rows(arranged.rows), arranged.hinted
        few = GatheredRows.from_rows(near, space, arranged)
        problem = self._make_objective(near, space, hinted, hint_data.terms, self.noise, few)
        best = self._choose_start(few, problem, hint_data, rng, run)
        if is_auto:
            best = self._continue_unhinted(best, rows, problem, hint_data, unhinted_rng, run)
        if not few.everyone:
            problem = self._make_objective(near, space, hinted, hint_data.terms, self.noise)
        fit = run(problem, best.state, self.max_iter)
        if self.noise is not None:
            fit = run(problem, fit.state, self.max_iter, learn=True).continue_from(fit)
        elif self.epsilon == 0 and self.anneal and len(problem.terms):
            for epsilon in SOFT_EPSILONS[1:]:
                softer = replace(fit.state, noise=Noise.uniform(epsilon, epsilon))
                fit = run(problem, softer, _HARDENING)
            fit = run(problem, fit.state, self.max_iter, hard=True)
        progress.finish()
        return fit

    def _keep(self, fit: DiscriminativeFit, rows: Rows, space: Space, hint_data: HintData) -> None:
        state = fit.state
        self._space = space
        self.coef_, self.intercept_ = space.fold(state.W)
        self.noise_ = Noise.uniform(0.0, 0.0) if self.epsilon == 0 else state.noise
        self.lower_bounds_ = np.array(fit.bounds)
        self.lower_bound_ = fit.bounds[-1]
        self.n_iter_ = len(fit.bounds)
        self.converged_ = fit.converged
        self._warn(self._label_rows(rows, hint_data, state.q), hint_data)

    def _warn(self, n_found: int, hint_data: HintData) -> None:
        """Warn about empty clusters, violated hard hints and missing convergence."""
        name = type(self).__name__
        why = "Neither hints nor rows support more; X may have fewer distinct rows. Increase tau to get more."
        self._warn_few_clusters(n_found, self.n_clusters, why)
        links, triplets = self.violations_, self.triplet_violations_
        violated = links.n_must + links.n_cannot - links.n_must_kept - links.n_cannot_kept
        used = hint_data.hints.answers < (4 if self.neither == "use" else 3)
        violated += int(used[triplets.violated].sum())
        if self.epsilon == 0 and violated:
            total = links.n_must + links.n_cannot + int(used.sum())
            warn_caller(
                f"{name}: epsilon=0, but the labels break {violated} of {total} hints: rows are assigned one "
                "at a time, and no single change helps. Increase n_init or n_clusters.",
                ConvergenceWarning,
            )
        if not self.converged_:
            self._warn_not_converged(self.n_iter_)
