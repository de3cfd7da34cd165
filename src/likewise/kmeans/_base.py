"""What the members of the k-means family share: parameters, starts, the choice among them, prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._compat import with_callbacks
from likewise._rows import Rows
from likewise._threads import n_threads
from likewise.base import HintedClusterer, Progress, Rule, choice, either, integer, real
from likewise.evaluation import link_satisfaction
from likewise.kmeans._loop import Fit, HintedRows, Learning, Start, Steps, alternate
from likewise.kmeans._metric import Metric
from likewise.kmeans._stats import mean_row, weights_within
from likewise.seeding import extend_seeds, fewest_broken, seeds_from_closure
from likewise.supervision import Closure, Supervision

# How many iterations of each start are made before the promising ones are chosen.
_TRIAL = 5
_IS_ARRAY = Rule(
    "an array of shape (n_clusters, n_features)", lambda v: hasattr(v, "__len__") and not isinstance(v, str)
)


class KMeansFamily(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HintedClusterer):
    """Base of the k-means family. A member says how hinted rows are placed and what metric is learned."""

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": integer(1),
        "init": either(choice("hints", "k-means++"), _IS_ARRAY),
        "n_init": integer(1),
        "max_iter": integer(1),
        "tol": real(0),
        "n_jobs": either(choice(None, -1), integer(1)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "hints",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ what a member supplies

    def _closure(self, hints: Supervision) -> Closure:
        """Return the closure that the start is drawn from."""
        return hints.closure()

    def _hinted_rows(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> HintedRows | None:
        """Return the rows that hints hold in place, or None."""
        return None

    def _parts(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> tuple[HintedRows | None, Learning | None]:
        """Return the rows that hints hold in place, and how a metric is learned, either or both None."""
        return self._hinted_rows(X, weight, hints, closure, rng), None

    def _suggested_metric(self, X: Rows, weight: np.ndarray, closure: Closure) -> Metric | None:
        """Return the metric that the must-links suggest, where one is learned."""
        return None

    def _n_starts(self, hints: Supervision) -> int:
        """Return how many starts are worth making."""
        return self.n_init

    def _n_hinted_starts(self, hints: Supervision) -> int:
        """Return how many starts, the first ones, take their centres from the hints."""
        return 1

    def _seeds(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, rng: Any
    ) -> np.ndarray:
        """Return the starting centres that the hints suggest."""
        return seeds_from_closure(X, closure, self.n_clusters, weight, rng)

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, supervision: Any = None, sample_weight: Any = None) -> Any:
        """Cluster the rows of X, guided by the hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows. float32 is kept as float32. A memory map and the readers of
            :mod:`likewise.datasets` are read in blocks and never held whole.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts. It leaves the penalties of links as they are.

        Returns
        -------
        self : object
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        weight = self._row_weights(sample_weight, len(rows))
        rng = check_random_state(self.random_state)
        closure = self._closure(hints)

        rows.threads = n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)
        middle = mean_row(rows, weight)
        rows = rows.through(lambda block: block - middle)  # distances lose fewer digits around the origin
        hinted, learning = self._parts(rows, weight, hints, closure, rng)
        steps = Steps(rows, weight, self.n_clusters, hinted=hinted, learning=learning)
        shift_tol = self.tol * steps.variance
        starts = self._starts(rows, weight, hints, closure, middle, rng)
        try_first = hinted is not None and "links" in hints.kinds and len(starts) > 2
        progress = Progress(self, X, len(starts) + 2 * try_first)

        def run(start: Start, max_iter: int) -> Fit:
            progress.begin(max_iter)
            fit = alternate(
                steps,
                start,
                max_iter=max_iter,
                shift_tol=shift_tol,
                cost_tol=self.tol,
                learn_by=self.max_iter // 2,
                progress=progress,
            )
            progress.end()
            return fit

        if hinted is not None and try_first:
            tried = [run(start, min(_TRIAL, self.max_iter)) for start in starts]
            starts = _promising(tried, hinted, hints)
        fits = [run(start, self.max_iter) for start in starts]
        best = _choose(fits, hinted, hints)
        self._keep(best, steps.labels_of(best), middle, hints)
        progress.finish()
        return self

    def _row_weights(self, sample_weight: Any, n_samples: int) -> np.ndarray:
        """Return the weight of each row; where all are 1, in no memory."""
        if sample_weight is None:
            return np.broadcast_to(np.float64(1.0), n_samples)
        return self._check_weight(sample_weight, n_samples)

    def _starts(
        self, X: Rows, weight: np.ndarray, hints: Supervision, closure: Closure, middle: Any, rng: Any
    ) -> list[Start]:
        """Return every start: the first from the hints, the others drawn by k-means++.

        Where a metric is learned, every third start has the metric that the must-links suggest from the
        beginning, and the others keep the Euclidean one until the labels settle; the first of either sort
        is from the hints. Neither sort is better in general, and the hints tell which was right.
        """
        plain = Metric.euclidean(X.shape[1])
        if not isinstance(self.init, str):
            given = self._given_init(self.init, (self.n_clusters, X.shape[1]))
            return [Start(given - middle, plain)]
        suggested = self._suggested_metric(X, weight, closure)
        hinted = self._n_hinted_starts(hints) if self.init == "hints" and hints else 0
        starts = []
        for number in range(self._n_starts(hints)):
            metric = plain if suggested is None or number % 3 else suggested
            space = X if metric is plain else X.through(metric.embed)
            if number < hinted:
                seeds = self._seeds(space, weight, hints, closure, rng)
            else:
                seeds = extend_seeds(space, np.empty((0, X.shape[1])), self.n_clusters, weight, rng)
            starts.append(Start(metric.unembed(seeds), metric, learn=metric is not plain))
        return starts

    def _keep(self, fit: Fit, labels: np.ndarray, middle: np.ndarray, hints: Supervision) -> None:
        self.labels_ = labels
        self.cluster_centers_ = (fit.centers + middle).astype(middle.dtype)
        self.n_iter_ = fit.n_iter
        self.objective_ = fit.objective
        self._metric = fit.metric
        self._n_features_out = self.n_clusters
        if "links" in self._honours:
            self.violations_ = link_satisfaction(labels, hints)
        why = "X may have fewer distinct rows, or the hints leave fewer rows to part, than that."
        if not self._warn_few_clusters(labels, self.n_clusters, why) and not fit.converged:
            self._warn_not_converged(fit.n_iter)

    # ------------------------------------------------------------------ using

    def _new_rows(self, X: Any) -> tuple[Rows, Metric, np.ndarray]:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        rows.threads = n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)
        return rows, self._metric, np.asarray(self.cluster_centers_, dtype=np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each new row: the nearest one, since nothing was said of it.

        Takes what `fit` takes.
        """
        rows, metric, centers = self._new_rows(X)
        labels = np.empty(len(rows), dtype=np.int32)

        def label(block: np.ndarray, part: slice) -> None:
            labels[part] = metric.costs(block, centers).argmin(axis=1)

        list(rows.map(label))
        return labels

    def transform(self, X: Any) -> np.ndarray:
        """Return the distance of each row to each centre, shape (n_samples, n_clusters)."""
        rows, metric, centers = self._new_rows(X)
        out = np.empty((len(rows), len(centers)), dtype=rows.dtype)

        def measure(block: np.ndarray, part: slice) -> None:
            out[part] = np.sqrt(metric.distances(block, centers))

        list(rows.map(measure))
        return out

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the cost of the rows in their nearest clusters, links left out. Higher is better."""
        rows, metric, centers = self._new_rows(X)
        weight = self._row_weights(sample_weight, len(rows))

        def cost(block: np.ndarray, part: slice) -> float:
            return float(weights_within(weight, part) @ metric.costs(block, centers).min(axis=1))

        return -sum(rows.map(cost))


def _choose(fits: list[Fit], hinted: HintedRows | None, hints: Supervision) -> Fit:
    """Choose among fits by how well the clusters explain the hints, then by the objective.

    The objective alone would not do: all rows enter it and only few are hinted, so clusters that contradict
    the hints, with the hinted rows forced out of their nearest cluster, often have the lowest. So add up the
    weights of the links that the hinted rows would break if they went to their nearest clusters. Fits
    within one standard deviation (the square root of the least sum, at least 1) are taken as equal. Among
    these, starts that began with the plain metric go before the others, so that few hints do not lead far
    from k-means; then the lowest objective wins.
    """
    if hinted is None or "links" not in hints.kinds:
        return _lowest(fits)
    linked = hints[hinted.rows]
    nearest = [fit.assigned.nearest for fit in fits]
    equal = [fits[at] for at in fewest_broken(nearest, linked)]
    plain = [fit for fit in equal if not fit.start.learn]
    return _lowest(plain or equal)


def _lowest(fits: list[Fit]) -> Fit:
    """Return the first fit whose objective is the lowest but for rounding.

    Starts often end in the same clusters, numbered otherwise; the order of a sum shall not choose among them.
    """
    objectives = [fit.objective for fit in fits]
    bound = min(objectives) + 1e-9 * max(map(abs, objectives))
    return next(fit for fit in fits if not fit.objective > bound)


def _promising(tried: list[Fit], hinted: HintedRows, hints: Supervision) -> list[Start]:
    """Return where to go on after a few iterations: at the best start of either sort.

    Which classes a cluster unites is decided in the first iterations, so little is lost by not finishing
    the others.
    """
    sorts = [[fit for fit in tried if fit.start.learn == learn] for learn in (True, False)]
    best = [_choose(fits, hinted, hints) for fits in sorts if fits]
    return [Start(fit.centers, fit.metric, fit.start.learn, fit.n_iter, fit.assigned.told) for fit in best]
