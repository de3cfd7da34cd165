"""Mini-batch fits of the k-means family: batches drawn by `fit` or passed to `partial_fit`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise._batches import AT_ONCE, BatchChecksMixin, Patience, read_batches
from likewise._blocks import ArrayRows, Block, Recipe, Rows, draw_rows
from likewise._compat import check_random_state, with_callbacks
from likewise._hinted import HintedSubset
from likewise._threads import get_n_threads
from likewise.base import FitProgress, Rule, choice, either, integer, real, warn_caller
from likewise.kmeans._base import FitPlan, center_rows
from likewise.kmeans._clusters import (
    NOTHING_FIXED,
    FixedLabels,
    compute_mean_row,
    label_block,
    mean_squared_distance,
)
from likewise.kmeans._loop import KMeansSteps, Start
from likewise.kmeans._mpck import LinkedRows, Penalty, SoftLinks
from likewise.kmeans._running_sums import SPAN, Batch, RunningClusters

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike
    from likewise.evaluation import Satisfaction
    from likewise.supervision import Supervision

# Size of the first batch of a fit, on which starts are tried, in batches.
_FIRST = 3
# Maximum number of iterations of a start on the first batch.
_SETTLE = 100


class BatchFitMixin(BatchChecksMixin, SoftLinks):
    """Members that process rows in batches and keep running sums."""

    cluster_centers_: np.ndarray
    objective_: float
    labels_: np.ndarray
    violations_: Satisfaction

    batch_size: int
    half_life: float | None
    max_no_improvement: int | None
    reassignment_ratio: float

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "batch_size": integer(1),
        "half_life": either(choice(None), real(0, strict=True)),
        "max_no_improvement": either(choice(None), integer(1)),
        "reassignment_ratio": real(0),
    }

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X with batches drawn from them, guided by the hints.

        Hinted rows are in every batch, with reduced weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The rows. All rows are read twice, to validate and to label them.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The hints. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row. It does not change the penalties of links. If weights are so large that
            sums overflow, the objective is divided by a power of two.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        rows, hints = self._check_fit(X, y, supervision, in_blocks=True)
        rows = self._rescale_weights(self._with_weights(rows, sample_weight))
        rng = self._rng = check_random_state(self.random_state)
        hinted_rows, few = hints.restrict_to_hinted()
        named = HintedSubset.from_data(rows, hinted_rows, few, self._compute_closure(few, hinted_rows))
        n, size = len(rows), min(self.batch_size, len(rows))
        drawn, weight, share = _draw_first_batch(rows, named, _FIRST * max(size, self.n_clusters), rng)
        middle = compute_mean_row(ArrayRows(drawn).with_weights(weight))
        # Hinted rows come first in a batch.
        here = replace(named, rows=np.arange(len(hinted_rows)), X=center_rows(middle, named.X))
        first = self._make_batch(drawn, weight, middle, here, round(share * n), share)
        every = self._make_linked_rows(first, rng)
        linked = None if every is None else every.with_share(share, self._make_batch_penalty(first.rows))
        plan = self._make_first_steps(first, linked, middle, rng)

        progress = FitProgress(self, X, plan.n_runs + 1)
        best = plan.choose(self._fit_starts(plan, _SETTLE, progress))
        state = RunningClusters.begin(middle, Start(best.centers, best.metric), plan.steps.learning)
        state, where = self._update_on_batch(state, first, linked, best.assigned.hinted_labels, rng)
        settled = self.max_no_improvement is None
        # The first batch, which the start was fitted to, has been processed.
        patience = Patience(self.max_no_improvement, self.tol, burn_in=SPAN - 1, relative=True)
        most = max(int(np.ceil((self.max_iter * n - first.size) / size)), 0)
        if size == n and best.converged:  # all batches would be equal
            most, settled = 0, True
        progress.begin(max(most, 1))
        for drawn, weight in read_batches(rows, _draw_pools(n, hinted_rows, size, most, rng)):
            drawn = np.concatenate([named.X, drawn])
            weight = np.concatenate([size / n * named.weight, weight])
            batch = self._make_batch(drawn, weight, middle, here, size, size / n)
            if every is not None:
                linked = every.with_share(batch.share, self._make_batch_penalty(batch.rows, state))
            state, where = self._update_on_batch(state, batch, linked, where, rng)
            if progress.step() or patience.is_exhausted(-state.objective):
                settled = True
                break
        progress.end()

        self.n_iter_ = max(int(np.ceil(state.n_rows / n)), 1)
        self._keep_running(state)
        found = self._label_rows(rows, named, linked, where)
        why = "X may have fewer distinct rows, or the hints may make that many clusters impossible."
        if not self._warn_few_clusters(found, self.n_clusters, why) and not settled:
            warn_caller(
                f"{type(self).__name__} stopped after {state.n_steps} batches before the objective had "
                "converged. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        progress.finish()
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the clusters with one batch of rows and hints about the rows of this batch.

        The first batch also determines the start: several starts are drawn from it and run to convergence on
        it, and the best is selected as in `fit` of :class:`PCKMeans`. It needs at least as many distinct rows
        as there are clusters, unless `init` is an array. After `fit`, batches continue from its result.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows of the batch, one or more.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            Hints about the rows of this batch, numbered from 0. Put linked rows in the same batch; links
            between batches are not possible.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row. It does not change the penalties of links.

        Returns
        -------
        self : object
            The updated clusterer.
        """
        state: RunningClusters | None = getattr(self, "_running", None)
        rows, hints = self._check_batch(X, y, supervision, first=state is None)
        rows = self._weigh_batch(rows, sample_weight, first=state is None)
        self._check_start_or_state(rows, state)
        if state is None:
            self._rng = check_random_state(self.random_state)
        rng, middle = self._rng, compute_mean_row(rows) if state is None else state.middle
        hinted_rows, few = hints.restrict_to_hinted()
        rows.threads = self._get_n_threads(rows)
        shifted = rows.transform(partial(center_rows, middle.astype(rows.dtype)))
        named = HintedSubset.from_data(shifted, hinted_rows, few, self._compute_closure(few, hinted_rows))
        batch = Batch(shifted, named, len(rows))
        linked = self._make_linked_rows(batch, rng, state)
        where = None
        if state is None:
            plan = self._make_first_steps(batch, linked, middle, rng)
            start = plan.starts[0]
            if isinstance(self.init, str):
                best = plan.choose(self._fit_starts(plan, _SETTLE))
                start, where = Start(best.centers, best.metric), best.assigned.hinted_labels
            state = RunningClusters.begin(middle, start, plan.steps.learning)
        state, where = self._update_on_batch(state, batch, linked, where, rng)
        self.n_iter_ = 1
        self._keep_running(state)
        self._label_rows(rows, named, linked, where)
        return self

    # ------------------------------------------------------------------ one batch

    def _make_batch(
        self,
        X: np.ndarray,
        weight: np.ndarray,
        middle: np.ndarray,
        named: HintedSubset,
        size: int,
        share: float,
    ) -> Batch:
        """Return a batch of drawn rows, hinted rows first."""
        rows = ArrayRows(center_rows(middle, X)).with_weights(weight)
        rows.threads = self._get_n_threads(rows)
        return Batch(rows, named, size, share)

    def _get_n_threads(self, rows: Rows) -> int:
        return get_n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)

    def _make_linked_rows(
        self, batch: Batch, rng: Any, state: RunningClusters | None = None
    ) -> LinkedRows | None:
        """Return the linked rows of a batch; the rows seen before determine the penalty of links."""
        if "links" not in batch.named.hints.kinds:
            return None
        return LinkedRows(batch.rows, batch.named, self._make_batch_penalty(batch.rows, state), rng)

    def _make_batch_penalty(self, rows: Rows, state: RunningClusters | None = None) -> Penalty:
        """Return the penalty of broken links at the scale of the rows seen before, else of `rows`."""
        return self._make_penalty(
            lambda: mean_squared_distance(rows) if state is None else state.mean_squared_distance
        )

    def _make_first_steps(
        self, batch: Batch, linked: LinkedRows | None, middle: np.ndarray, rng: Any
    ) -> FitPlan:
        """Return the steps on the first batch, and the starts drawn from it."""
        learning = self._make_learning(linked)
        steps = KMeansSteps(
            batch.rows, self.n_clusters, hinted=linked, learning=learning, watch=batch.named.rows
        )
        starts = self._make_starts(batch.rows, batch.named, middle, rng)
        return FitPlan(steps, starts, batch.named.hints)

    def _update_on_batch(
        self,
        state: RunningClusters,
        batch: Batch,
        linked: LinkedRows | None,
        where: np.ndarray | None,
        rng: Any,
    ) -> tuple[RunningClusters, np.ndarray]:
        """Process one batch, given the previous labels of its hinted rows; return the state and labels."""
        learning = self._make_learning(linked)
        steps = KMeansSteps(
            batch.rows,
            self.n_clusters,
            hinted=linked,
            learning=learning,
            watch=batch.named.rows,
            fill=False,
        )
        state, where = state.take_batch(steps, where, batch.size, self.half_life)
        state = state.refill_clusters(batch, self.reassignment_ratio, rng)
        return state if learning is None else state.learn_metric(learning), where

    # ------------------------------------------------------------------ input and output

    def _check_start_or_state(self, rows: Rows, state: RunningClusters | None) -> None:
        """Raise an error if the first batch is too small for a start, or if a later one cannot continue."""
        name, n, k = type(self).__name__, len(rows), self.n_clusters
        if state is not None:
            if not state.is_compatible(k, self._make_learning(None)):
                raise ValueError(
                    f"{name}: n_clusters, metric or per_cluster has changed since the first batch. "
                    "Restore it, or start again with fit or with a new copy: sklearn.base.clone(model)."
                )
        elif isinstance(self.init, str):
            every = np.arange(n)
            different = len(np.unique(rows.take(every)[rows.get_weights(every) > 0], axis=0))
            if different < k:
                raise ValueError(
                    f"{name}: the first batch has {n} rows, {different} of them distinct, but the "
                    f"starting centres of n_clusters={k} clusters are drawn from it. Pass at least {k} "
                    "distinct rows first, or pass the starting centres as init."
                )

    def _keep_running(self, state: RunningClusters) -> None:
        self._running = state
        self._assigned_to = (state.centers + state.middle).astype(state.middle.dtype)
        self.cluster_centers_ = (self._assigned_to / self._row_unit).astype(state.middle.dtype)
        self.objective_ = state.objective
        self.n_steps_, self.n_rows_seen_ = state.n_steps, state.n_rows
        self._keep_metric(state.metric)
        self._n_features_out = self.n_clusters

    def _label_rows(
        self, rows: Rows, named: HintedSubset, linked: LinkedRows | None, where: np.ndarray
    ) -> int:
        """Label the rows with the current clusters; return the number of clusters that have rows."""
        state, held = self._running, NOTHING_FIXED
        if linked is not None:
            placed = linked.place(state.metric, state.centers, where.astype(np.int64))
            held = FixedLabels(named.rows, placed.labels.astype(np.int32))
        rows.threads = self._get_n_threads(rows)
        recipe = partial(label_block, state.centers, state.metric, held)
        labels = rows.make_column(np.int32, partial(_shift_block, state.middle.astype(rows.dtype), recipe))
        counts: np.ndarray = rows.sum(partial(_count_sizes, self.n_clusters), labels)
        self.labels_ = rows.collect(labels)
        self.violations_ = named.compute_satisfaction(held.labels)
        return int(np.count_nonzero(counts))


def _draw_first_batch(
    rows: Rows, named: HintedSubset, size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw the first batch; return rows, weights, and the factor for the weights of hinted rows."""
    size = min(size, len(rows))
    while True:  # until some drawn row has a positive weight
        share = size / len(rows)
        free = np.setdiff1d(draw_rows(len(rows), size, rng), named.rows, assume_unique=True)
        weight = np.concatenate([share * named.weight, rows.get_weights(free)])
        if weight.any():
            return np.concatenate([named.X, rows.take(free)]), weight, share
        size = min(2 * size, len(rows))


def _draw_pools(
    n_rows: int, hinted_rows: np.ndarray, size: int, n_batches: int, rng: np.random.RandomState
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Draw the unhinted rows of several batches at a time; see :func:`read_batches`."""
    left = n_batches
    while left > 0:
        n = max(1, min(AT_ONCE, n_rows // size, left))
        left -= n
        free = np.setdiff1d(draw_rows(n_rows, n * size, rng), hinted_rows, assume_unique=True)
        yield free, np.array_split(rng.permutation(len(free)), n)


def _shift_block(middle: np.ndarray, recipe: Recipe, block: Block) -> np.ndarray:
    return recipe(replace(block, X=center_rows(middle, block.X)))


def _count_sizes(k: int, block: Block) -> np.ndarray:
    assert block.kept is not None
    return np.bincount(block.kept, minlength=k)
