"""What the members of the mixture family share: parameters, starts, the choice among them, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._compat import with_callbacks
from likewise._threads import n_threads
from likewise.base import HintedClusterer, Progress, Rule, choice, either, integer, real
from likewise.evaluation import link_satisfaction
from likewise.mixture._em import Fit, Mixture, Relations, Steps, climb
from likewise.mixture._gaussians import COVARIANCE_TYPES, KINDS, CovarianceType, Gaussians
from likewise.mixture._network import lse
from likewise.seeding import extend_seeds, fewest_broken, hinted_space, seeds_from_closure
from likewise.supervision import Closure, Supervision

# How many iterations of each start are made before the best of them is finished.
_TRIAL = 15
_IS_ARRAY = Rule(
    "an array of shape (n_components, n_features)", lambda v: hasattr(v, "__len__") and not isinstance(v, str)
)


class MixtureFamily(HintedClusterer, ABC):
    """Base of the mixture family. A member says what links make of the classes of their rows."""

    _honours = frozenset({"links"})
    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": integer(1),
        "covariance_type": choice(*COVARIANCE_TYPES),
        "init": either(choice("hints", "k-means", "k-means++"), _IS_ARRAY),
        "n_init": integer(1),
        "max_iter": integer(1),
        "tol": real(0),
        "reg_covar": real(0),
        "n_jobs": either(choice(None, -1), integer(1)),
    }
    _n_sub = 1
    _on_conflict = "The must-links win."

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance_type: CovarianceType = "full",
        init: Any = "hints",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        reg_covar: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ what a member supplies

    @abstractmethod
    def _relations(self, hints: Supervision) -> Callable[[], Relations]:
        """Return what makes the relations anew for each start, for they may keep state."""

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, supervision: Any = None) -> Any:
        """Fit the mixture to the rows of X, guided by the links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The links. None means none.

        Returns
        -------
        self : object
        """
        X, hints = self._check_fit(X, y, supervision)
        closure = self._soft_closure(hints, self._on_conflict)
        rng = check_random_state(self.random_state)
        relations = self._relations(hints) if "links" in hints.kinds else None

        middle = X.mean(axis=0, dtype=np.float64)
        variance = float(X.var(axis=0, dtype=np.float64).mean())
        # Rows that are all alike have no variance to take a share of.
        self._ridge = self.reg_covar * variance if variance > 0 else 1.0
        threads = n_threads(X.size * X.shape[1] * self.n_clusters * self._n_sub, self.n_jobs)
        starts = self._starts(X, middle, hints, closure, rng)
        progress = Progress(self, X, len(starts) + (len(starts) > 1))

        def run(steps: Steps, start: Mixture, max_iter: int) -> Fit:
            progress.begin(max_iter)
            fit = climb(steps, start, max_iter=max_iter, tol=self.tol, progress=progress)
            progress.end()
            return fit

        def steps() -> Steps:
            tied = relations() if relations is not None else None
            return Steps(X, middle, tied, ridge=self._ridge, threads=threads)

        tried = []
        for start in starts:
            made = steps()
            tried.append((made, run(made, start, self._trial(starts))))
        best, fit = self._choose(tried, hints)
        if not fit.converged and fit.n_iter < self.max_iter:
            more = run(best, fit.mixture, self.max_iter - fit.n_iter)
            fit = Fit(more.mixture, fit.bounds + more.bounds, fit.n_iter + more.n_iter, more.converged)
        self._keep(best, fit, middle, hints)
        progress.finish()
        return self

    def _choose(self, tried: list[tuple[Steps, Fit]], hints: Supervision) -> tuple[Steps, Fit]:
        """Choose the start whose classes explain the links, and among equals the highest bound.

        The bound alone would not do: all rows enter it and only few are in links, so classes that contradict
        the links, with the linked rows pulled over one by one, often have the highest. So ask which links
        would be broken if every row went to its likeliest class.
        """
        if "links" not in hints.kinds or len(tried) == 1:
            return max(tried, key=lambda pair: pair[1].bound)
        own = [steps.own_labels(fit.mixture) for steps, fit in tried]
        return max((tried[at] for at in fewest_broken(own, hints)), key=lambda pair: pair[1].bound)

    def _trial(self, starts: list[Mixture]) -> int:
        return self.max_iter if len(starts) == 1 else min(_TRIAL, self.max_iter)

    def _starts(
        self, X: np.ndarray, middle: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> list[Mixture]:
        """Return every start: means, each row to the nearest, covariances of these, equal weights.

        With ``init="hints"`` every other start is made in the space that the links suggest, and the first
        of either sort has its means at the must-link components.
        """
        one = np.ones(len(X))
        k, n_parts = self.n_clusters, self.n_clusters * self._n_sub
        if not isinstance(self.init, str):
            means = self._given_init(self.init, (n_parts, X.shape[1]))
            return [self._start(X, middle, pairwise_distances_argmin(X, means.astype(X.dtype)), means)]
        told = self.init == "hints" and bool(hints)
        suggested = hinted_space(X, hints) if told else X
        starts = []
        for number in range(self.n_init):
            space = X if number % 2 else suggested
            if told and number < 2:
                seeds = seeds_from_closure(space, closure, k, one, rng)
            else:
                seeds = extend_seeds(space, np.empty((0, X.shape[1])), k, one, rng)
            # Seeds that coincide mean fewer distinct rows than clusters, of which k-means would complain.
            if self.init != "k-means++" and len(np.unique(seeds, axis=0)) == k:
                seeds = (
                    KMeans(k, init=seeds, n_init=1, max_iter=30, random_state=rng).fit(space).cluster_centers_
                )
            parts = pairwise_distances_argmin(space, seeds.astype(X.dtype)) * self._n_sub
            if self._n_sub > 1:
                parts = self._split(X, parts, rng)
            starts.append(self._start(X, middle, parts, None))
        return starts

    def _split(self, X: np.ndarray, parts: np.ndarray, rng: Any) -> np.ndarray:
        """Cut each class into sub-clusters by k-means++ draws among its rows."""
        parts = parts.copy()
        for first in range(0, self.n_clusters * self._n_sub, self._n_sub):
            rows = np.flatnonzero(parts == first)
            n_sub = min(self._n_sub, len(np.unique(X[rows], axis=0)))
            if n_sub > 1:
                seeds = extend_seeds(X[rows], np.empty((0, X.shape[1])), n_sub, np.ones(len(rows)), rng)
                parts[rows] = first + pairwise_distances_argmin(X[rows], seeds.astype(X.dtype))
        return parts

    def _start(
        self, X: np.ndarray, middle: np.ndarray, parts: np.ndarray, means: np.ndarray | None
    ) -> Mixture:
        """Return the parameters of a partition of the rows into components."""
        kind = KINDS[self.covariance_type]
        k, n_parts = self.n_clusters, self.n_clusters * self._n_sub
        steps = Steps(X, middle, None, ridge=self._ridge, threads=1)
        blocks = steps.pieces(slice(0, len(X)), kind, n_parts)
        moments = [kind.moments(steps.block(rows, kind), np.eye(n_parts)[parts[rows]]) for rows in blocks]
        total = sum(moments[1:], start=moments[0])
        # A component without rows, or with too few to have a shape, begins with the shape of all rows.
        everything = total.shared(tied=kind.name == "tied")
        shapeless = Gaussians.estimate(kind, everything, self._ridge)
        few = total.counts < 2
        found = shapeless.updated(total, self._ridge)
        if few.any() and kind.name != "tied":
            covariances = found.covariances.copy()
            covariances[few] = shapeless.covariances[few]
            found = Gaussians.of(kind, found.means, covariances)
        if means is not None:
            found = Gaussians.of(kind, means - middle, found.covariances)
        return Mixture(np.full(k, -np.log(k)), np.full((k, self._n_sub), -np.log(self._n_sub)), found)

    def _keep(self, steps: Steps, fit: Fit, middle: np.ndarray, hints: Supervision) -> None:
        mixture = fit.mixture
        self._mixture, self._middle = mixture, middle
        self.labels_ = steps.labels(mixture)
        self.weights_ = np.exp(mixture.log_weights)
        self.means_ = mixture.gaussians.means + middle
        self.covariances_ = mixture.gaussians.covariances
        self.lower_bound_ = fit.bound
        self.lower_bounds_ = np.array(fit.bounds)
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.violations_ = link_satisfaction(self.labels_, hints)
        if not fit.converged:
            self._warn_not_converged(fit.n_iter)
        why = "Some class is nowhere the likeliest. Ask for fewer clusters, or raise n_init."
        self._warn_few_clusters(self.labels_, self.n_clusters, why)

    # ------------------------------------------------------------------ using

    def _log_joint(self, X: Any) -> np.ndarray:
        """Return log a_m p_m(x), shape (n, K)."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        steps = Steps(X, self._middle, None, ridge=self._ridge, threads=1)
        joint = np.empty((len(X), self._mixture.n_classes))
        for rows, block in steps.blocks_of(slice(0, len(X)), self._mixture):
            joint[rows] = lse(self._mixture.log_components(block))
        joint += self._mixture.log_weights
        return joint

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each new row: nothing was said of it."""
        labels: np.ndarray = self._log_joint(X).argmax(axis=1).astype(np.int32)
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class for each new row, shape (n_samples, n_clusters)."""
        joint = self._log_joint(X)
        found: np.ndarray = np.exp(joint - lse(joint)[:, None])
        return found

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row under the mixture."""
        return lse(self._log_joint(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of the rows. Higher is better."""
        return float(self.score_samples(X).mean())

    def _n_parameters(self) -> int:
        n_parts, d = self.means_.shape
        covariances = KINDS[self.covariance_type].n_parameters(n_parts, d)
        return n_parts * d + covariances + n_parts - 1

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion on X, links left out. Lower is better."""
        log_density = self.score_samples(X)
        return float(-2 * log_density.sum() + self._n_parameters() * np.log(len(log_density)))

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion on X, links left out. Lower is better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the mixture; return them and the class of each, class by class.

        `random_state` is that of the estimator where it is not given.
        """
        check_is_fitted(self)
        if not integer(1).holds(n_samples):
            raise ValueError(f"n_samples must be {integer(1).wanted}, got {n_samples!r}.")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        n_parts, d = self.means_.shape
        share = np.exp(self._mixture.log_weights[:, None] + self._mixture.log_within).ravel()
        counts = rng.multinomial(n_samples, share / share.sum())
        matrices = KINDS[self.covariance_type].matrices(self.covariances_, n_parts, d)
        # By eigenvalues: what rounding has left a little below 0 is 0.
        values, directions = np.linalg.eigh(matrices)
        spread = np.sqrt(np.maximum(values, 0.0))
        X = rng.normal(size=(n_samples, d))
        for part, rows in enumerate(np.split(X, np.cumsum(counts)[:-1])):
            rows[:] = (rows * spread[part]) @ directions[part].T + self.means_[part]
        return X, np.repeat(np.arange(n_parts) // self._n_sub, counts)
