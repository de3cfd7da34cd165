"""Base class of the mixture family: parameters, starts, the choice among starts, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from likewise._compat import check_random_state, with_callbacks
from likewise._seeding import (
    HintedSubset,
    compute_hinted_space,
    draw_seeds_from_closure,
    extend_seeds,
    find_least_violating,
    label_rows,
)
from likewise.backends import ArrayRows, Block, Rows, as_rows, draw_rows, get_n_threads
from likewise.base import FitProgress, HintedClusterer, Rule, warn_caller
from likewise.evaluation import Satisfaction
from likewise.mixture._em import (
    Mixture,
    MixtureFit,
    MixtureSteps,
    Relations,
    run_em,
    split_rows,
)
from likewise.mixture._gaussian_components import (
    COVARIANCE_TYPES,
    KINDS,
    ComponentMoments,
    Covariances,
    CovarianceType,
    Gaussians,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

# Number of iterations of each start before the best start is finished.
_TRIAL = 15
# Maximum number of rows on which starts are made and tried. Ten starts of 15 iterations then cost as much as
# one iteration on 7.5 million rows, and one Gaussian in a hundred still has about 500 rows. Up to this
# number, rows in a file or on a cluster are loaded into memory too, so the data source does not matter.
_TRIAL_ROWS = 50_000
_IS_ARRAY = Rule(
    "an array of shape (n_components, n_features)", lambda v: hasattr(v, "__len__") and not isinstance(v, str)
)


@dataclass(frozen=True, eq=False)
class FitData:
    """The data of a fit.

    Attributes
    ----------
    rows, named
        All rows, and the hinted rows.
    trial, trial_named
        The rows on which starts are tried, and the hinted rows among them: all rows, or a sample in memory
        that includes every hinted row.
    mean : ndarray of shape (d,)
        The mean of the rows.
    ridge : float
        The constant that is added to variances.
    relations : callable or None
        Makes new relations for each start.
    """

    rows: Rows
    named: HintedSubset
    trial: Rows
    trial_named: HintedSubset
    mean: np.ndarray
    ridge: float
    relations: Callable[[], Relations] | None

    @property
    def sampled(self) -> bool:
        """Whether starts are tried on a sample."""
        return self.trial is not self.rows

    def make_steps(self) -> MixtureSteps:
        """Return the steps over all rows."""
        return MixtureSteps(self.rows, self.named, self.relations and self.relations(), ridge=self.ridge)

    def make_trial_steps(self) -> MixtureSteps:
        """Return the steps over the rows on which starts are tried."""
        return MixtureSteps(
            self.trial, self.trial_named, self.relations and self.relations(), ridge=self.ridge
        )


class MixtureFamily(HintedClusterer, ABC):
    """Base class of the mixture family. A member defines how links affect the clusters of their rows."""

    lower_bound_: float
    lower_bounds_: np.ndarray
    n_iter_: int
    converged_: bool
    labels_: np.ndarray
    violations_: Satisfaction
    weights_: np.ndarray
    means_: np.ndarray
    covariances_: np.ndarray

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links"})
    _reads_blocks = True
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "covariance_type": Rule.choice(*COVARIANCE_TYPES),
        "init": Rule.either(Rule.choice("hints", "k-means", "k-means++"), _IS_ARRAY),
        "n_init": Rule.integer(1),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
        "reg_covar": Rule.real(0),
        "n_jobs": Rule.either(Rule.choice(None, -1), Rule.integer(1)),
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
        random_state: RandomStateLike = None,
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

    # ------------------------------------------------------------------ private hook of the members

    @abstractmethod
    def _make_relations_factory(self, hints: Supervision) -> Callable[[], Relations]:
        """Return a function that makes new relations for each start, since relations may have state."""

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Fit the mixture to the rows of X, guided by the links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows, ParquetRows or dask data
            The rows. A memory map and the readers of :mod:`likewise.datasets` are read in blocks and never
            loaded as a whole; dask arrays and dataframes stay on their cluster.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The links. None means no links.

        Returns
        -------
        self : object
            The fitted mixture.
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        self._warn_few_rows(*rows.shape)
        rng = check_random_state(self.random_state)
        data = self._prepare_fit(rows, hints, rng)
        starts = self._make_starts(data, rng)
        progress = FitProgress(self, X, self._count_runs(len(starts), data.sampled))
        relations, tried = self._try_starts(data, starts, progress)
        fit = self._finish_start(data, relations, tried, rng, progress)
        self._keep(rows, MixtureSteps(rows, data.named, relations, ridge=data.ridge), fit)
        progress.finish()
        return self

    def _warn_few_rows(self, n_rows: int, n_columns: int) -> None:
        """Warn if there are fewer rows than columns to estimate a covariance matrix from."""
        if n_columns > n_rows and self.covariance_type in ("full", "tied"):
            warn_caller(
                f"{type(self).__name__}: X has {n_columns} columns and {n_rows} rows, so covariances of type "
                f"{self.covariance_type!r} are singular apart from reg_covar={self.reg_covar}, and the "
                "clusters are unreliable. Use covariance_type='diag' or 'spherical', or reduce the number of "
                "columns first, for example with sklearn.decomposition.PCA.",
                ConvergenceWarning,
            )

    def _prepare_fit(self, rows: Rows, hints: Supervision, rng: Any) -> FitData:
        """Gather the hinted rows and the rows on which starts are tried."""
        n_parts = self.n_clusters * self._n_sub
        rows.threads = get_n_threads(rows.shape[0] * rows.shape[1] ** 2 * n_parts, self.n_jobs)
        most = self._get_n_trial_rows()
        if len(rows) <= most:
            rows = load_rows(rows)
        hinted, relations = self._gather_hinted_rows(rows, hints)
        trial, trial_hinted = rows, hinted
        if len(rows) > most and isinstance(self.init, str):
            drawn = np.union1d(hinted.rows, draw_rows(len(rows), most, rng))
            trial = ArrayRows(rows.take(drawn), threads=rows.threads)
            trial_hinted = replace(hinted, rows=np.searchsorted(drawn, hinted.rows))
        return FitData(
            rows, hinted, trial, trial_hinted, *self._compute_mean_and_ridge(rows, trial), relations
        )

    def _get_n_trial_rows(self) -> int:
        """Return the maximum number of rows on which starts are tried."""
        return _TRIAL_ROWS

    def _gather_hinted_rows(
        self, rows: Rows, hints: Supervision
    ) -> tuple[HintedSubset, Callable[[], Relations] | None]:
        """Return the hinted rows and the factory of their relations; None without links."""
        hinted_rows, own_hints = hints.restrict_to_hinted()
        closure = self._compute_soft_closure(own_hints, self._on_conflict, hinted_rows)
        relations = self._make_relations_factory(own_hints) if "links" in own_hints.kinds else None
        return HintedSubset.from_data(rows, hinted_rows, own_hints, closure), relations

    def _compute_mean_and_ridge(self, rows: Rows, trial: Rows) -> tuple[np.ndarray, float]:
        """Return the mean of the rows, and the ridge that is added to covariances."""
        mean: np.ndarray = rows.sum(sum_block) / len(rows)
        variance = float((rows.sum(partial(sum_squares_from, mean)) / len(rows)).mean())
        # If all rows are equal, there is no variance to scale the ridge by.
        return mean, self.reg_covar * variance if variance > 0 else 1.0

    def _run(self, steps: MixtureSteps, start: Mixture, max_iter: int, progress: FitProgress) -> MixtureFit:
        progress.begin(max_iter)
        fit = run_em(steps, start, max_iter=max_iter, tol=self.tol, progress=progress)
        progress.end()
        return fit

    def _try_starts(
        self, data: FitData, starts: list[Mixture], progress: FitProgress
    ) -> tuple[Relations | None, MixtureFit]:
        """Run every start for a few iterations; return the best fit and its relations."""
        tried = []
        alone = len(starts) == 1 and not data.sampled
        for start in starts:
            steps = data.make_trial_steps()
            tried.append((steps, self._run(steps, start, self._get_trial_iterations(alone), progress)))
        steps, fit = self._choose(tried, data.named.hints)
        return steps.relations, fit

    def _finish_start(
        self, data: FitData, relations: Relations | None, fit: MixtureFit, rng: Any, progress: FitProgress
    ) -> MixtureFit:
        """Continue the chosen start on all rows."""
        if data.sampled:  # start from the mixture of the trial, with a new history
            fit = MixtureFit(fit.mixture, [], 0, False)
        if fit.converged or fit.n_iter >= self.max_iter:
            return fit
        steps = MixtureSteps(data.rows, data.named, relations, ridge=data.ridge)
        more = self._run(steps, fit.mixture, self.max_iter - fit.n_iter, progress)
        return MixtureFit(more.mixture, fit.bounds + more.bounds, fit.n_iter + more.n_iter, more.converged)

    def _count_runs(self, n_starts: int, sampled: bool) -> int:
        """Return the number of runs of the EM loop: one per start, and one to finish the best."""
        return n_starts + (n_starts > 1 or sampled)

    def _get_trial_iterations(self, alone: bool) -> int:
        """Return the number of trial iterations of a start; a single start is run to convergence at once."""
        return self.max_iter if alone else min(_TRIAL, self.max_iter)

    def _choose(
        self, tried: list[tuple[MixtureSteps, MixtureFit]], hints: Supervision
    ) -> tuple[MixtureSteps, MixtureFit]:
        """Choose the start whose clusters explain the links best.

        Among starts that differ only by chance, the one with the highest bound is chosen. The bound alone is
        not enough: it covers all rows, of which few are linked. Clusters that contradict the links, with the
        linked rows forced into other clusters, often have the highest bound. The criterion is therefore how
        many links would be violated if every row had its most likely cluster.
        """
        if "links" not in hints.kinds or len(tried) == 1:
            return _find_highest(tried)
        own = [steps.predict_without_links(fit.mixture) for steps, fit in tried]
        must_alone = not len(hints.cannot) + len(hints.cannot_groups)
        return _find_highest(
            [tried[at] for at in find_least_violating(own, hints, against_chance=must_alone)]
        )

    def _make_starts(self, data: FitData, rng: Any) -> list[Mixture]:
        """Return every start: means, covariances of the rows nearest to each mean, and equal weights.

        With ``init="hints"``, `n_init` further starts are made from the hints, alternately in the space that
        the links suggest and on the original rows. The first of each type has its means at the must-link
        components.
        """
        k, n_parts = self.n_clusters, self.n_clusters * self._n_sub
        kind, mean = KINDS[self.covariance_type], data.mean
        if not isinstance(self.init, str):
            means = self._check_init_array(self.init, (n_parts, len(mean)))
            total = data.rows.sum(partial(compute_nearest_moments, kind, mean, means))
            return [self._start(total, data, means)]
        X, hinted = get_all_rows(data.trial), data.trial_named
        # A fit with hints includes all starts of the fit without them, so that few hints do not hurt.
        unhinted, starts = rng, []
        if self.init == "hints" and hinted.hints:
            unhinted = deepcopy(rng)
            suggested = compute_hinted_space(X, hinted.hints, hinted.rows)
            for number in range(self.n_init):
                space = X if number % 2 else suggested
                seeds = None
                if number < 2:
                    here, one = space[hinted.rows], np.ones(len(hinted.rows))
                    seeds = draw_seeds_from_closure(here, hinted.closure, k, one, rng, draws=as_rows(space))
                starts.append(self._draw_start(X, space, data, seeds, rng))
        starts += [self._draw_start(X, X, data, None, unhinted) for _ in range(self.n_init)]
        return starts

    def _draw_start(
        self, X: np.ndarray, space: np.ndarray, data: FitData, seeds: np.ndarray | None, rng: Any
    ) -> Mixture:
        """Return the start given by k-means in `space`, from the seeds or from k-means++ draws."""
        k = self.n_clusters
        if seeds is None:
            seeds = extend_seeds(space, np.empty((0, X.shape[1])), k, None, rng)
        # If seeds coincide, there are fewer distinct rows than clusters, and k-means would warn.
        if self.init != "k-means++" and len(np.unique(seeds, axis=0)) == k:
            seeds = KMeans(k, init=seeds, n_init=1, max_iter=30, random_state=rng).fit(space).cluster_centers_
        parts = pairwise_distances_argmin(space, seeds.astype(X.dtype)) * self._n_sub
        if self._n_sub > 1:
            parts = self._split(X, parts, rng)
        kind, n_parts = KINDS[self.covariance_type], k * self._n_sub
        return self._start(compute_moments(kind, data.mean, n_parts, X, parts), data, None)

    def _split(self, X: np.ndarray, parts: np.ndarray, rng: Any) -> np.ndarray:
        """Split each cluster into sub-clusters by k-means++ draws among its rows."""
        parts = parts.copy()
        for first in range(0, self.n_clusters * self._n_sub, self._n_sub):
            rows = np.flatnonzero(parts == first)
            n_sub = min(self._n_sub, len(np.unique(X[rows], axis=0)))
            if n_sub > 1:
                seeds = extend_seeds(X[rows], np.empty((0, X.shape[1])), n_sub, np.ones(len(rows)), rng)
                parts[rows] = first + pairwise_distances_argmin(X[rows], seeds.astype(X.dtype))
        return parts

    def _start(self, total: ComponentMoments, data: FitData, means: np.ndarray | None) -> Mixture:
        """Return the mixture that fits the moments of a partition of the rows, one Gaussian for each part."""
        kind, k = KINDS[self.covariance_type], self.n_clusters
        # A Gaussian with fewer than two rows starts with the covariance of all rows.
        everything = total.share_evenly(tied=kind.name == "tied")
        shapeless = Gaussians.estimate(kind, everything, data.ridge)
        is_small = total.counts < 2
        found = shapeless.update(total, data.ridge)
        if is_small.any() and kind.name != "tied":
            covariances = found.covariances.copy()
            covariances[is_small] = shapeless.covariances[is_small]
            found = Gaussians.from_covariances(kind, found.means, covariances)
        if means is not None:
            found = Gaussians.from_covariances(kind, means - data.mean, found.covariances)
        within = np.full((k, self._n_sub), -np.log(self._n_sub))
        return Mixture(np.full(k, -np.log(k)), within, found, data.mean)

    def _keep(self, rows: Rows, steps: MixtureSteps, fit: MixtureFit) -> None:
        self._keep_mixture(fit.mixture)
        found = self._keep_labels(rows, steps, fit.mixture)
        self.lower_bound_ = fit.bound
        self.lower_bounds_ = np.array(fit.bounds)
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        if not fit.converged:
            self._warn_not_converged(fit.n_iter)
        why = (
            "Some cluster is not the most likely cluster of any row. Use fewer clusters, or increase n_init."
        )
        self._warn_few_clusters(found, self.n_clusters, why)

    def _keep_labels(self, rows: Rows, steps: MixtureSteps, mixture: Mixture) -> int:
        """Label all rows, hinted rows according to their links; return the number of clusters with rows."""
        hinted_labels = steps.predict_hinted_labels(mixture)
        named = steps.named
        self.labels_, n_found = label_rows(
            rows, mixture.predict_without_links, named.rows, hinted_labels, self.n_clusters
        )
        self.violations_ = Satisfaction._from_codes(hinted_labels, named.hints.links, named.rows)
        return n_found

    def _keep_mixture(self, mixture: Mixture) -> None:
        self._mixture = mixture
        self.weights_ = np.exp(mixture.log_weights)
        self.means_ = mixture.gaussians.means + mixture.mean
        self.covariances_ = mixture.gaussians.covariances

    # ------------------------------------------------------------------ using

    def _check_new_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "means_")
        rows = self._check_rows(X, reset=False)
        work = rows.shape[0] * rows.shape[1] ** 2 * len(self.means_)
        rows.threads = get_n_threads(work, self.n_jobs)
        return rows

    def predict(self, X: MatrixLike) -> Any:
        """Return the most likely cluster of each new row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row; a dask array if X is Dask data.
        """
        return self._check_new_rows(X).map_rows(self._mixture.predict_without_links, np.int32)

    def predict_proba(self, X: MatrixLike) -> Any:
        """Return the probability of each cluster for each new row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            The probabilities; a dask array if X is Dask data.
        """
        return self._check_new_rows(X).map_rows(self._mixture.compute_posterior, np.float64, self.n_clusters)

    def score_samples(self, X: MatrixLike) -> Any:
        """Return the log density of each row under the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            The logarithms of the densities; a dask array if X is Dask data.
        """
        return self._check_new_rows(X).map_rows(self._mixture.log_density, np.float64)

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Return the sum of the log densities of the rows, and the number of rows."""
        rows = self._check_new_rows(X)
        return float(rows.sum(partial(_log_density_of_block, self._mixture))), len(rows)

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Return the mean log density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.
        y : ignored
            Present for scikit-learn's interface.

        Returns
        -------
        score : float
            The mean log density. Higher is better.
        """
        total, n_rows = self._log_likelihood(X)
        return total / n_rows

    def _count_parameters(self) -> int:
        n_parts, d = self.means_.shape
        covariances = KINDS[self.covariance_type].count_parameters(n_parts, d)
        return n_parts * d + covariances + n_parts - 1

    def bic(self, X: MatrixLike) -> float:
        """Return the Bayesian information criterion on X; links are ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        bic : float
            The criterion. Lower is better.
        """
        total, n_rows = self._log_likelihood(X)
        return -2 * total + self._count_parameters() * float(np.log(n_rows))

    def aic(self, X: MatrixLike) -> float:
        """Return the Akaike information criterion on X; links are ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        aic : float
            The criterion. Lower is better.
        """
        return -2 * self._log_likelihood(X)[0] + 2 * self._count_parameters()

    def sample(
        self, n_samples: int = 1, *, random_state: RandomStateLike = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.
        random_state : int, RandomState or None, default=None
            Seed of the draws; None uses the parameter `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows, sorted by cluster.
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        check_is_fitted(self, "means_")
        if not Rule.integer(1).holds(n_samples):
            raise ValueError(f"n_samples must be {Rule.integer(1).expected}, got {n_samples!r}.")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        n_parts, d = self.means_.shape
        share = np.exp(self._mixture.log_weights[:, None] + self._mixture.log_within).ravel()
        counts = rng.multinomial(n_samples, share / share.sum())
        matrices = KINDS[self.covariance_type].as_matrices(self.covariances_, n_parts, d)
        # Rounding may leave eigenvalues slightly below 0.
        values, directions = np.linalg.eigh(matrices)
        spread = np.sqrt(np.maximum(values, 0.0))
        X = rng.normal(size=(n_samples, d))
        for part, rows in enumerate(np.split(X, np.cumsum(counts)[:-1])):
            rows[:] = (rows * spread[part]) @ directions[part].T + self.means_[part]
        return X, np.repeat(np.arange(n_parts) // self._n_sub, counts)


def _find_highest(tried: list[tuple[MixtureSteps, MixtureFit]]) -> tuple[MixtureSteps, MixtureFit]:
    """Return the first start whose bound is the highest, up to rounding.

    Starts often end in the same clusters, numbered differently; rounding must not decide between them.
    """
    bounds = [fit.bound for _, fit in tried]
    least = max(bounds) - 1e-9 * max(1.0, *map(abs, bounds))
    return next(pair for pair in tried if not pair[1].bound < least)


def _log_density_of_block(mixture: Mixture, block: Block) -> float:
    return float(mixture.log_density(block.X).sum())


def load_rows(rows: Rows) -> Rows:
    """Return the rows in memory."""
    if isinstance(rows, ArrayRows):
        return rows
    return ArrayRows(get_all_rows(rows), threads=rows.threads)


def get_all_rows(rows: Rows) -> np.ndarray:
    """Return all rows as one array; a single block is not copied."""
    return rows.read(rows.blocks[0]) if len(rows.blocks) == 1 else rows.take(np.arange(len(rows)))


def sum_block(block: Block) -> np.ndarray:
    """Return the sum of the rows of a block."""
    total: np.ndarray = block.X.sum(axis=0, dtype=np.float64)
    return total


def sum_squares_from(mean: np.ndarray, block: Block) -> np.ndarray:
    """Return the column sums of the squared differences between the rows of a block and `mean`."""
    total: np.ndarray = np.square(np.subtract(block.X, mean, dtype=np.float64)).sum(axis=0)
    return total


def compute_moments(
    kind: Covariances, mean: np.ndarray, n_parts: int, X: np.ndarray, parts: np.ndarray
) -> ComponentMoments:
    """Return the moments of rows whose Gaussians are known."""
    each = np.eye(n_parts)
    found = [
        kind.compute_moments(kind.prepare(X[rows], mean), each[parts[rows]])
        for rows in split_rows(X, kind, n_parts)
    ]
    return sum(found[1:], start=found[0])


def compute_nearest_moments(
    kind: Covariances, mean: np.ndarray, means: np.ndarray, block: Block
) -> ComponentMoments:
    """Return the moments of the rows of a block, each assigned to the Gaussian with the nearest mean."""
    parts = np.empty(0, dtype=np.int64)
    if len(block):
        parts = pairwise_distances_argmin(block.X, means.astype(block.X.dtype))
    return compute_moments(kind, mean, len(means), block.X, parts)
