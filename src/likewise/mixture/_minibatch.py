"""Mini-batch GM-PR: stepwise EM on batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from likewise._batches import AT_ONCE, BatchChecksMixin, Patience, draw_pools, read_batches
from likewise._compat import check_random_state
from likewise.backends import ArrayRows, Rows, draw_rows
from likewise.base import FitProgress, Rule
from likewise.mixture._base import FitData, MixtureFamily, load_rows
from likewise.mixture._em import (
    Expectations,
    Mixture,
    MixtureFit,
    MixtureSteps,
    Relations,
    expect_block,
    maximise,
)
from likewise.mixture._gaussian_components import CovarianceType
from likewise.mixture._pairwise import (
    NormalisedRelations,
    PairwiseGaussianMixture,
    RelationsKind,
    SelectedRelations,
    compute_pair_weights,
    get_relations_kind,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

# Maximum number of rows on which starts are tried: five batches of the default size.
_TRIAL_ROWS = 10_240
# A fit stops if the running mean of the bound has not risen for _PATIENCE batches. The first _BURN_IN batches
# are not compared.
_PATIENCE, _BURN_IN = 40, 10
_DECAY = Rule(
    "a number above 0.5 and at most 1",
    lambda v: isinstance(v, int | float | np.integer | np.floating) and bool(0.5 < v <= 1),
)


@dataclass(frozen=True, eq=False)
class RunningExpectations:
    """Running means of the expectations, per row, over the batches so far.

    `pair_weight` is the running mean of the weight of cannot-links per row.
    """

    expected: Expectations
    pair_weight: float
    n_rows: int
    n_steps: int = 0

    def blend_in(self, batch: RunningExpectations, *, offset: float, decay: float) -> RunningExpectations:
        """Return the running means after a batch, whose influence decreases with every step."""
        step = (self.n_steps + 1 + offset) ** -decay
        expected = self.expected * (1 - step) + batch.expected * step
        # The bound is averaged over batches only: on the rows that the start was fitted to it is too high.
        share = max(step, 1 / (self.n_steps + 1))
        bound = self.expected.bound * (1 - share) + batch.expected.bound * share
        return RunningExpectations(
            replace(expected, bound=bound),
            self.pair_weight * (1 - step) + batch.pair_weight * step,
            self.n_rows + batch.n_rows,
            self.n_steps + 1,
        )

    def maximise(self, mixture: Mixture, ridge: float) -> Mixture:
        """M-step: return the mixture that maximises the running expectations."""
        weights = compute_pair_weights(self.expected.class_counts, mixture.log_weights, self.pair_weight)
        return maximise(mixture, self.expected, weights, ridge)


class BatchSteps(MixtureSteps):
    """The steps of EM on batches: the E-step extrapolates from a drawn batch to all rows."""

    def __init__(
        self,
        data: FitData,
        relations: Relations | None,
        running: RunningExpectations,
        pace: dict[str, float],
        size: int,
        tol: float,
        rng: Any,
    ) -> None:
        super().__init__(data.rows, data.named, relations, ridge=data.ridge)
        self.running = running
        self._size, self._pace = min(size, len(self.rows)), pace
        self._batches = read_batches(self.rows, self._draw_pools(rng))
        self._patience = Patience(_PATIENCE, tol, burn_in=_BURN_IN)

    def _draw_pools(self, rng: Any) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Draw the rows of several batches at a time, and leave out the linked rows."""
        n_rows, size = len(self.rows), self._size
        pools = draw_pools(lambda n: draw_rows(n_rows, n * size, rng), min(AT_ONCE, n_rows // size), rng)
        for drawn, batches in pools:
            parts = [np.setdiff1d(drawn[at], self.linked, assume_unique=True) for at in batches]
            every = np.sort(np.concatenate(parts))
            yield every, [np.searchsorted(every, part) for part in parts]

    def expect_free(self, mixture: Mixture) -> Expectations:
        """Return the expectations of all unlinked rows, extrapolated from the next batch."""
        X, _ = next(self._batches)
        batch = ArrayRows(X, [slice(0, len(X))])
        nothing = np.empty(0, dtype=np.int64)
        found = batch.sum(partial(expect_block, self.free_mixture(mixture), nothing))
        return found * (self.n_free / max(len(X), 1))

    def maximise(self, mixture: Mixture, expected: Expectations) -> Mixture:
        """Update the running means with a batch, and return the mixture that maximises them."""
        self.running = self.running.blend_in(_make_running(self, expected, self._size), **self._pace)
        if isinstance(self.relations, SelectedRelations):
            counts = self.running.expected.class_counts * len(self.rows)
            self.relations.update_weights(counts, mixture.log_weights, self.n_free)
        return self.running.maximise(mixture, self.ridge)

    def has_settled(self, bounds: list[float], tol: float) -> bool:
        """Return True if the running mean of the bound has not risen by more than `tol` for many batches."""
        return self._patience.is_exhausted(self.running.expected.bound)


def _make_running(steps: MixtureSteps, expected: Expectations, n_rows: int) -> RunningExpectations:
    """Return the means per row of expectations of all rows that were estimated from `n_rows` rows."""
    pairs = steps.relations if isinstance(steps.relations, NormalisedRelations) else None
    pair_weight = 0.0 if pairs is None else float(pairs.network.pair_weights.sum())
    return RunningExpectations(expected * (1 / len(steps.rows)), pair_weight / len(steps.rows), n_rows)


class MiniBatchPairwiseGaussianMixture(BatchChecksMixin, PairwiseGaussianMixture):
    r"""Gaussian mixture with pairwise relations, fitted on batches of rows.

    Maximises the objective of :class:`PairwiseGaussianMixture` by stepwise EM (Cappé & Moulines 2009): the
    expected sufficient statistics of batch t, averaged over its rows, update a running mean

    .. math::

        S_t = (1 - \gamma_t) S_{t-1} + \gamma_t \bar s(\text{batch}_t; \theta_{t-1}), \qquad
        \gamma_t = (t + t_0)^{-\kappa}

    and the parameters are those that maximise the likelihood of :math:`S_t`. `fit` draws batches from all
    rows; linked rows are in every batch, with the same share as among all rows. `partial_fit` takes batches
    from the caller, each with links about its own rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes.
    n_subclusters : int, default=1
        Number of Gaussians per class.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        The shape of the covariances, as in scikit-learn.
    relations : {"auto", "components", "pairs"}, default="auto"
        How links enter the model, as in :class:`PairwiseGaussianMixture`. In `partial_fit`, "auto" decides
        for the links of each batch separately; links of one kind then share the class weights of the mixture.
    batch_size : int, default=2048
        Number of rows that `fit` draws per batch.
    learning_decay : float, default=0.7
        :math:`\kappa`, above 0.5 and at most 1. With larger values later batches change the estimates less.
    learning_offset : float, default=10.0
        :math:`t_0`. With larger values early batches change the start less.
    init : {"hints", "k-means", "k-means++"} or array, default="hints"
        Starting means, as in :class:`PairwiseGaussianMixture`. `partial_fit` draws them from the first batch,
        `fit` from the linked rows and a sample of about 10,000 rows.
    n_init : int, default=3
        Number of starts. Each is tried for 15 iterations on these rows, and the best one is continued.
    max_iter : int, default=500
        Maximum number of batches of a fit.
    tol : float, default=1e-3
        A fit stops when the running mean of the log-likelihood per row has not risen by more than this for
        40 batches.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances, as a fraction of the mean variance of a feature among the rows
        on which starts are tried.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The class of each row, after `partial_fit` of each row of the last batch. The classes of linked rows
        take the links into account.
    n_steps_, n_iter_ : int
        Number of batches that were processed.
    n_rows_seen_ : int
        Number of rows in these batches; rows drawn twice count twice.
    lower_bound_ : float
        The running mean of the log-likelihood per row.
    lower_bounds_ : ndarray of shape (n_steps_,)
        The log-likelihood per row of each batch.
    converged_ : bool
        Whether `fit` stopped because the likelihood no longer rose.
    weights_, subcluster_weights_, means_, covariances_, violations_, relations_
        As for :class:`PairwiseGaussianMixture`.

    Notes
    -----
    A step costs O((b + h) K S d^2) for batches of b rows and h linked rows, independent of the total number
    of rows. A fit reads all rows twice, to validate and to label them.

    References
    ----------
    O. Cappé, E. Moulines, "On-line expectation-maximization algorithm for latent data models", JRSS B 71,
    2009.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import MiniBatchPairwiseGaussianMixture, Supervision
    >>> rng = np.random.default_rng(0)
    >>> model = MiniBatchPairwiseGaussianMixture(2, random_state=0)
    >>> hints = Supervision.from_links(100, must=[(0, 1)], cannot=[(0, 50)])
    >>> for _ in range(3):
    ...     X = np.repeat([[1.0, 1.0], [6.0, 6.0]], 50, axis=0) + rng.normal(size=(100, 2))
    ...     model = model.partial_fit(X, supervision=hints)
    >>> model.n_steps_, model.n_rows_seen_, sorted(model.means_[:, 0].round().tolist())
    (3, 300, [1.0, 6.0])
    """

    lower_bound_: float

    n_iter_: int
    n_steps_: int
    n_rows_seen_: int
    parameter_rules: ClassVar[dict[str, Rule]] = {
        **PairwiseGaussianMixture.parameter_rules,
        "batch_size": Rule.integer(1),
        "learning_decay": _DECAY,
        "learning_offset": Rule.real(0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_subclusters: int = 1,
        covariance_type: CovarianceType = "full",
        relations: RelationsKind = "auto",
        batch_size: int = 2048,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        init: Any = "hints",
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_subclusters=n_subclusters,
            covariance_type=covariance_type,
            relations=relations,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            reg_covar=reg_covar,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset

    def _count_runs(self, n_starts: int, sampled: bool) -> int:
        return n_starts + 1 if isinstance(self.init, str) else 1

    def _get_trial_iterations(self, alone: bool) -> int:
        return super()._get_trial_iterations(alone=False)

    def _get_n_trial_rows(self) -> int:
        return _TRIAL_ROWS

    def _compute_mean_and_ridge(self, rows: Rows, trial: Rows) -> tuple[np.ndarray, float]:
        return super()._compute_mean_and_ridge(trial, trial)

    # ------------------------------------------------------------------ fitting

    @property
    def _pace(self) -> dict[str, float]:
        return {"offset": self.learning_offset, "decay": self.learning_decay}

    def _try_starts(
        self, data: FitData, starts: list[Mixture], progress: FitProgress
    ) -> tuple[Relations | None, MixtureFit]:
        if not isinstance(self.init, str):  # there is nothing to choose
            return data.make_steps().relations, MixtureFit(starts[0], [], 0, False)
        return super()._try_starts(data, starts, progress)

    def _finish_start(
        self, data: FitData, relations: Relations | None, fit: MixtureFit, rng: Any, progress: FitProgress
    ) -> MixtureFit:
        first = self._expect_first(data, relations, fit.mixture)
        before = replace(first, n_rows=0)
        steps = BatchSteps(data, relations, before, self._pace, self.batch_size, self.tol, rng)
        found = self._run(steps, first.maximise(fit.mixture, data.ridge), self.max_iter, progress)
        self._running, self._ridge = steps.running, data.ridge
        return found

    def _expect_first(
        self, data: FitData, relations: Relations | None, mixture: Mixture
    ) -> RunningExpectations:
        """Return the expectations of all rows under a start, extrapolated from the trial rows."""
        trial = MixtureSteps(data.trial, data.trial_named, relations, ridge=data.ridge)
        steps = MixtureSteps(data.rows, data.named, relations, ridge=data.ridge)
        found = trial.expect_free(mixture) * (steps.n_free / max(trial.n_free, 1.0))
        if relations is not None:
            found = found + steps.expect_linked(mixture)
        return _make_running(steps, found, len(data.trial))

    def _keep(self, rows: Rows, steps: MixtureSteps, fit: MixtureFit) -> None:
        MixtureFamily._keep(self, rows, steps, fit)  # without the number of approximate groups
        self.relations_ = get_relations_kind(steps.relations)
        self._keep_running(self._running)

    def _keep_running(self, running: RunningExpectations) -> None:
        self._running = running
        self.lower_bound_ = running.expected.bound
        self.n_steps_ = self.n_iter_ = running.n_steps
        self.n_rows_seen_ = running.n_rows

    def partial_fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Update the mixture with a batch of rows, guided by links about the rows of this batch.

        The first batch determines the start, as in `fit`, and needs at least `n_clusters` rows unless `init`
        is an array. After `fit`, batches continue from its result.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the batch.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            The links between rows of this batch. None means no links.

        Returns
        -------
        self : object
            The updated mixture.
        """
        begun = hasattr(self, "_running")
        rows, hints = self._check_batch(X, y, supervision, first=not begun)
        rows = load_rows(rows)
        if begun:
            self._check_unchanged()
        elif len(rows) < self.n_clusters and isinstance(self.init, str):
            raise ValueError(
                f"{type(self).__name__}: the first batch has {len(rows)} row(s), too few to start "
                f"n_clusters={self.n_clusters}. Start with a larger batch, use fewer clusters, or pass the "
                "starting means as init."
            )
        if begun:
            named, make = self._gather_hinted_rows(rows, hints)
            steps, before = MixtureSteps(rows, named, make and make(), ridge=self._ridge), self._mixture
            batch = _make_running(steps, steps.expect(before), len(rows))
            running = self._running.blend_in(batch, **self._pace)
            bounds = np.append(self.lower_bounds_, batch.expected.bound)
        else:
            rng = check_random_state(self.random_state)
            data = self._prepare_fit(rows, hints, rng)
            relations, fit = self._try_starts(data, self._make_starts(data, rng), FitProgress(None, X, 0))
            steps, before, self._ridge = data.make_steps(), fit.mixture, data.ridge
            running = replace(self._expect_first(data, relations, before), n_rows=len(rows), n_steps=1)
            bounds = np.array([running.expected.bound])
        self._keep_mixture(running.maximise(before, self._ridge))
        self._keep_labels(rows, steps, self._mixture)
        self.relations_ = get_relations_kind(steps.relations)
        self._keep_running(running)
        self.lower_bounds_ = bounds
        return self

    def _check_unchanged(self) -> None:
        """Raise an error if a parameter has changed so that the mixture cannot be continued."""
        was = (self._mixture.log_within.shape, self._mixture.gaussians.kind.name)
        if was != ((self.n_clusters, self.n_subclusters), self.covariance_type):
            (k, n_sub), kind = was
            raise ValueError(
                f"{type(self).__name__}: the first batch was fitted with n_clusters={k}, "
                f"n_subclusters={n_sub}, covariance_type={kind!r}, and one of these has changed. Restore it, "
                "or start again with a clone."
            )
