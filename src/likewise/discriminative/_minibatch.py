"""MiniBatchDiscriminativeClustering: the same objective, optimised in small steps on batches of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from likewise._batches import BatchChecksMixin, Patience, draw_pools, read_batches
from likewise._compat import check_random_state, with_callbacks
from likewise.backends import Rows, get_n_threads
from likewise.base import FitProgress, Rule
from likewise.discriminative._discriminative_clustering import Neither
from likewise.discriminative._hints import Noise
from likewise.discriminative._model import GatheredRows, HintData, SoftmaxClusterer, draw_unhinted_rows
from likewise.discriminative._row_features import OrderedRows, Space
from likewise.discriminative._softmax import DiscriminativeFit, HintedObjective, Objective, VariationalState
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

# Number of rows that are read at once and split into batches, since reading scattered rows is slow.
_POOL_ROWS = 32_768
# Mean-field sweeps per step. If the same rows come again, q continues from its last value.
_SWEEPS = 3
_SWEEP_TOL = 1e-3
# A fit stops when the smoothed bound has risen by no more than `tol` in this many batches.
_PATIENCE = 20
_SMOOTHING = 0.1


@dataclass(eq=False)
class RunningMean:
    """An exponentially weighted running mean."""

    total: Any = 0.0
    weight: float = 0.0

    def add(self, value: Any, keep: float) -> Any:
        """Add a value and return the mean; the weights of earlier values are multiplied by `keep`."""
        self.total = keep * self.total + (1.0 - keep) * value
        self.weight = keep * self.weight + (1.0 - keep)
        return self.total / self.weight


@dataclass(eq=False)
class Ascent:
    """Gradient ascent with a step length per weight, from its past gradients (Adam, Kingma & Ba 2015)."""

    gradient: RunningMean
    square: RunningMean
    steps: int = 0

    def make_step(self, W: np.ndarray, gradient: np.ndarray, rate: float) -> np.ndarray:
        """Return the weights after one step; step lengths decrease with the square root of their number."""
        self.steps += 1
        towards = self.gradient.add(gradient, 0.9)
        spread = np.sqrt(self.square.add(np.square(gradient), 0.99))
        moved: np.ndarray = W + rate / np.sqrt(1.0 + self.steps / 10) * towards / (spread + 1e-8)
        return moved


class MiniBatchDiscriminativeClustering(BatchChecksMixin, SoftmaxClusterer):
    """:class:`DiscriminativeClustering` in small steps, each on a batch of rows and the hints about them.

    The objective is the same. A step improves q, the distributions of the clusters of the hinted rows in the
    batch, by a few mean-field sweeps and then moves the weights once along the gradient. A batch is too small
    to measure the sizes of the clusters, so the balance term uses a running mean of the probabilities.

    :meth:`fit` handles more rows than fit into memory: it reads all rows three times, to validate them, to
    compute the scale of the columns and to label them, and draws batches at random. The hinted rows are in
    every batch. :meth:`partial_fit` takes batches from the caller.

    Parameters
    ----------
    n_clusters : int, default=8
        Maximum number of clusters. Clusters that neither hints nor rows support stay empty.
    tau : float, default=0.5
        The weight of the information term. Large values favour clear clusters of similar size.
    alpha : float, default=0.002
        The weight of the penalty, for columns of variance 1.
    epsilon : float, default=0.05
        Probability that an answer is wrong, above 0 and below 0.5.
    neither : {"use", "drop"}, default="use"
        Whether the answer NEITHER to a triplet is used, or dropped as is usual for triplets.
    batch_size : int, default=1024
        Number of rows that `fit` draws per step, besides the hinted rows.
    learning_rate : float, default=0.05
        Length of the first steps, for columns of variance 1.
    half_life : float, default=10000
        Number of further rows after which the weight of a row in the balance of the clusters has halved.
    n_init : int, default=3
        Number of starts. They are tried on the first batch, in `fit` on up to 20,000 rows.
    max_iter : int, default=500
        Maximum number of batches of `fit`.
    tol : float, default=1e-4
        `fit` stops when the smoothed bound has not risen by more than this in twenty batches.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads in passes over all rows; None and -1 use the current OpenMP limit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, as in :class:`DiscriminativeClustering`; after `partial_fit`, of each row of
        the last batch.
    coef_, intercept_ : ndarray
        The weights of the original columns, and the biases.
    hinted_, hinted_proba_ : ndarray
        The hinted rows among these, and the probabilities of their clusters, given the hints.
    violations_, triplet_violations_
        The links and triplets about these rows that the labels satisfy and violate.
    lower_bound_ : float
        The bound, smoothed over batches.
    n_steps_, n_rows_seen_ : int
        Number of steps, and of rows in their batches; a row counts each time it is in a batch.
    n_iter_ : int
        Number of batches of the last `fit`, or of all calls of `partial_fit`.

    Notes
    -----
    A step costs O(b k d) for a batch of b rows. The likelihood of the hints is divided by the larger of their
    total weight in the batch and its running mean, so a batch with few hints has less weight.

    Hints can only be about rows of the same batch.

    Permuting the rows of `fit`, or of a batch, permutes the labels. With more than 20,000 rows without hints
    the starts still do not depend on the order of the rows, but the rows drawn for a batch do.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.discriminative import MiniBatchDiscriminativeClustering
    >>> rng = np.random.default_rng(0)
    >>> model = MiniBatchDiscriminativeClustering(n_clusters=2, random_state=0)
    >>> above, right = np.arange(100) % 2, np.arange(100) // 50
    >>> hints = Supervision.from_links(100, must=[(0, 50), (1, 51)], cannot=[(0, 1), (50, 51)])
    >>> for _ in range(5):
    ...     X = rng.normal(size=(100, 2)) + 6 * np.column_stack([right, above])
    ...     _ = model.partial_fit(X, supervision=hints)
    >>> model.labels_.tolist() in (above.tolist(), (1 - above).tolist())
    True
    >>> model.n_steps_, model.n_rows_seen_
    (5, 500)
    """

    lower_bound_: float
    coef_: np.ndarray
    intercept_: np.ndarray

    n_iter_: int
    n_steps_: int
    n_rows_seen_: int
    supported_hints: ClassVar[frozenset[str]] = frozenset({"links", "triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "tau": Rule.real(0),
        "alpha": Rule.real(0, strict=True),
        "epsilon": Rule(
            "a number above 0 and below 0.5", lambda v: Rule.real(0, strict=True).holds(v) and v < 0.5
        ),
        "neither": Rule.choice(*get_args(Neither)),
        "batch_size": Rule.integer(1),
        "learning_rate": Rule.real(0, strict=True),
        "half_life": Rule.real(0, strict=True),
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
        neither: Neither = "use",
        batch_size: int = 1024,
        learning_rate: float = 0.05,
        half_life: float = 10_000,
        n_init: int = 3,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.alpha = alpha
        self.epsilon = epsilon
        self.neither = neither
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.half_life = half_life
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
        """Cluster the rows of X with batches drawn at random, guided by the hints.

        Results of earlier fits are discarded.

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
        rows = self._weigh_rows(rows, sample_weight)
        hint_data = self._gather_hints(hints, rows)
        rng = check_random_state(self.random_state)
        rows.threads = get_n_threads(rows.shape[0] * rows.shape[1] * self.n_clusters, self.n_jobs)
        with threadpool_limits(1):
            arranged = self._arrange_rows(rows, hint_data, rng)
            self._moments = arranged.moments
            space = Space.from_moments(self._moments, rows)
            near = space.center_rows(arranged.rows)
            progress = FitProgress(self, X, self.n_init + 1)
            state = self._begin(near, space, arranged, hint_data, rng, progress)
            progress.begin(self.max_iter)
            state, settled = self._maximise_on_batches(
                near, space, arranged.hinted, hint_data, state, rng, progress
            )
            progress.end()
            found = self._keep(rows, space, hint_data, state)
        progress.finish()
        self.n_iter_ = self.n_steps_
        why = "Neither hints nor rows support more; X may have fewer distinct rows."
        self._warn_few_clusters(found, self.n_clusters, why)
        if not settled:
            self._warn_not_converged(self.n_iter_)
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        supervision: Supervision | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one step on a batch of rows. The first batch also determines the start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the batch. They must fit into memory.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            Hints about the rows of this batch. None means no hints.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row in the information term.

        Returns
        -------
        self : object
            The updated clusterer.
        """
        first = not hasattr(self, "coef_")
        rows, hints = self._check_batch(X, y, supervision, first=first)
        self._check_start_or_state(len(rows), first)
        rows = self._weigh_rows(rows, sample_weight, reset=first)
        hint_data = self._gather_hints(hints, rows)
        with threadpool_limits(1):
            rng = check_random_state(self.random_state)
            arranged = self._arrange_rows(rows, hint_data, rng)
            self._moments = arranged.moments if first else self._moments + arranged.moments
            space = Space.from_moments(self._moments, rows)
            near = space.center_rows(arranged.rows)
            if first:
                state = self._begin(near, space, arranged, hint_data, rng)
            else:
                state = VariationalState(
                    space.unfold(self.coef_, self.intercept_), np.empty((0, 0)), self._make_noise()
                )
            everyone = np.arange(len(rows))
            Z, weight = space.transform(near, everyone), near.get_weights(everyone)
            batch = GatheredRows(Z, weight, arranged.hinted, True)
            state = self._update_on_batch(batch, hint_data, state, anew=True)
            self._keep(rows, space, hint_data, state)
        self.n_iter_ = self.n_steps_
        return self

    def _check_start_or_state(self, n_samples: int, first: bool) -> None:
        """Raise an error if the first batch is too small for a start, or if a later one cannot continue."""
        name, k = type(self).__name__, self.n_clusters
        if first and n_samples < k:
            raise ValueError(
                f"{name}: the first batch has n_samples={n_samples} row(s); expected at least n_clusters={k}."
                " Start with a larger batch."
            )
        if not first and len(self.coef_) != k:
            raise ValueError(
                f"{name}: n_clusters={k}, but earlier batches were fitted with {len(self.coef_)}. Use "
                "clone(model) to start again."
            )

    def _make_noise(self) -> Noise:
        return Noise.uniform(self.epsilon, self.epsilon)

    def _begin(
        self,
        near: Rows,
        space: Space,
        arranged: OrderedRows,
        hint_data: HintData,
        rng: Any,
        progress: FitProgress | None = None,
    ) -> VariationalState:
        """Discard earlier results and return the best start."""
        self._ascent = Ascent(RunningMean(), RunningMean())
        self._balance, self._usual_hints, self._bound = RunningMean(), RunningMean(), RunningMean()
        self.n_steps_ = self.n_rows_seen_ = 0

        def run(problem: HintedObjective, state: VariationalState, max_iter: int) -> DiscriminativeFit:
            if progress is None:
                return problem.maximise(state, max_iter=max_iter, tol=self.tol)
            progress.begin(max_iter)
            fit = problem.maximise(state, max_iter=max_iter, tol=self.tol, done=progress.step)
            progress.end()
            return fit

        few = GatheredRows.from_rows(near, space, arranged)
        problem = self._make_objective(near, space, arranged.hinted, hint_data.terms, None, few)
        return self._choose_start(few, problem, hint_data, rng, run).state

    def _update_on_batch(
        self, batch: GatheredRows, hint_data: HintData, state: VariationalState, *, anew: bool = False
    ) -> VariationalState:
        """Improve q, then update the weights once; with `anew` q is initialised for new rows."""
        n_rows = len(batch.Z)
        keep = 0.5 ** (n_rows / self.half_life)
        m = hint_data.terms.total_weight
        # A single hint in a batch must not count as much as a hundred hints in another.
        m = max(m, self._usual_hints.add(m, keep)) or 1.0
        objective = Objective.from_memory(
            batch.Z, batch.weight, batch.hinted_rows, self.n_clusters, m=m, tau=self.tau, alpha=self.alpha
        )
        problem = HintedObjective(objective, hint_data.terms, state.noise)
        log_p = objective.log_p_hinted(state.W)
        q = np.exp(log_p) if anew else state.q.copy()
        if len(hint_data.terms):
            hint_data.terms.expect(log_p, q, state.noise, max_sweeps=_SWEEPS, tol=_SWEEP_TOL)
        value, gradient = objective.compute_value_and_gradient(
            state.W, np.ascontiguousarray(q.T), lambda mean: self._balance.add(mean, keep)
        )
        bound = problem.compute_bound(VariationalState(state.W, q, state.noise), value)
        self.lower_bound_ = float(self._bound.add(bound, 1.0 - _SMOOTHING))
        self.n_steps_ += 1
        self.n_rows_seen_ += n_rows
        return VariationalState(self._ascent.make_step(state.W, gradient, self.learning_rate), q, state.noise)

    def _maximise_on_batches(
        self,
        near: Rows,
        space: Space,
        which: np.ndarray,
        hint_data: HintData,
        state: VariationalState,
        rng: Any,
        progress: FitProgress,
    ) -> tuple[VariationalState, bool]:
        """Make steps on batches until the bound converges; return the last state and whether it converged."""
        hinted, own = space.transform(near, which), near.get_weights(which)
        first, rest = np.arange(len(hinted)), near.total_weight - float(own.sum())
        patience, settled = Patience(_PATIENCE, self.tol, burn_in=_PATIENCE // 2), False
        n_free = len(near) - len(which)
        at_once = round(min(n_free, _POOL_ROWS) / self.batch_size)
        pools = draw_pools(lambda _: draw_unhinted_rows(n_free, _POOL_ROWS, which, rng), at_once, rng)
        for Z, weight in read_batches(near, pools, lambda rows: space.transform(near, rows)):
            share = weight * (rest / weight.sum()) if weight.any() else weight
            batch = GatheredRows(np.vstack([hinted, Z]), np.concatenate([own, share]), first, False)
            state = self._update_on_batch(batch, hint_data, state)
            settled = progress.step() or patience.is_exhausted(self.lower_bound_)
            if settled or self.n_steps_ >= self.max_iter:
                break
        return state, settled

    def _keep(self, rows: Rows, space: Space, hint_data: HintData, state: VariationalState) -> int:
        """Set the attributes and label the rows; return the number of clusters that have rows."""
        self._space = space
        self.coef_, self.intercept_ = space.fold(state.W)
        return self._label_rows(rows, hint_data, state.q)
