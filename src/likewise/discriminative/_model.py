"""What the members of the family share: checks of hints, starts on few rows, and the model put to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr, softmax
from sklearn.utils.validation import check_is_fitted

from likewise._rows import Block, Rows, drawn_rows
from likewise._threads import n_threads
from likewise.base import HintedClusterer
from likewise.discriminative._em import Fit, Problem, State
from likewise.discriminative._hints import HintTerms
from likewise.discriminative._noise import Noise, NoiseKind
from likewise.discriminative._order import OrderedRows, order_hinted_rows
from likewise.discriminative._softmax import Objective, row_parts
from likewise.discriminative._space import Space
from likewise.discriminative._starts import Starts
from likewise.evaluation import link_satisfaction, triplet_satisfaction
from likewise.exceptions import InfeasibleSupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike
    from likewise.evaluation import Satisfaction, TripletSatisfaction

# Iterations after which the promising start is known: later ones seldom change the order of the bounds.
TRIAL = 10
# Starts are made and tried on the hinted rows and so many others; all rows are for the one that is finished.
_FEW_ROWS = 20_000
# Hard hints freeze whatever they begin with, so that they begin where soft ones end, the last nearly hard.
SOFT_EPSILONS = (0.05, 1e-3, 1e-6)

# Climbs a problem from a state for at most so many iterations.
Run = Callable[[Problem, State, int], Fit]


@dataclass(frozen=True, eq=False)
class Told:
    """The rows that hints name, and what is said of them.

    Attributes
    ----------
    named : ndarray
        All of them, ascending.
    hints : Supervision
        What is said of these alone, numbered from 0.
    used : ndarray
        Which of them, by place, are named by hints that the method uses, in an order that depends on the
        rows and their hints alone.
    terms : HintTerms
        What these hints say, of the rows in `used` alone.
    """

    named: np.ndarray
    hints: Supervision
    used: np.ndarray
    terms: HintTerms

    @classmethod
    def of(cls, hints: Supervision, rows: Rows, *, use_neither: bool) -> Told:
        """Gather them."""
        named, few = hints.named()
        used = HintTerms(few, use_neither=use_neither).rows
        if len(used):
            mine = named[used]
            used = used[order_hinted_rows(rows.take(mine), rows.weight_of(mine), few[used])]
        kept = few[used] if len(used) else Supervision.none(1)
        return cls(named, few, used, HintTerms(kept, use_neither=use_neither))

    @property
    def rows(self) -> np.ndarray:
        """The rows that the method is told of."""
        return self.named[self.used]

    def links(self) -> Supervision:
        """Return all that follows as links, of `rows` alone."""
        return (self.hints[self.used] if len(self.used) else Supervision.none(1)).to_links()


@dataclass(frozen=True, eq=False)
class Few:
    """Rows that were gathered: all, or a sample of them with all that hints name.

    Attributes
    ----------
    Z, weight : ndarray
        What the model sees of them, and their weights.
    told : ndarray
        Which of them hints name.
    everyone : bool
        Whether these are all rows there are.
    """

    Z: np.ndarray
    weight: np.ndarray
    told: np.ndarray
    everyone: bool

    @classmethod
    def of(cls, near: Rows, space: Space, arranged: OrderedRows) -> Few:
        """Gather them from the rows that were arranged, `near` as the space wants them."""
        hinted = arranged.hinted
        if arranged.sample is None or arranged.sample_weight is None:
            everyone = np.arange(len(near))
            return cls(space.standardised(near, everyone), near.weight_of(everyone), hinted, True)
        which = np.concatenate([hinted, arranged.sample])
        weight = np.concatenate([near.weight_of(hinted), arranged.sample_weight])
        return cls(space.standardised(near, which), weight, np.arange(len(hinted)), False)


@dataclass(frozen=True, eq=False)
class Model:
    """The fitted model, small enough to be sent to wherever rows are."""

    space: Space
    coef: np.ndarray
    intercept: np.ndarray

    def logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the clusters, shape (n_samples, n_clusters)."""
        out = np.empty((len(X), len(self.coef)))
        for part in row_parts(len(X)):
            np.matmul(self.space.features(X[part]), self.coef.T, out=out[part])
        out += self.intercept
        return out

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the clusters."""
        out: np.ndarray = softmax(self.logits(X), axis=1)
        return out

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the most probable clusters."""
        found: np.ndarray = self.logits(X).argmax(axis=1).astype(np.int32)
        return found


def _labelled(model: Model, told: np.ndarray, labels: np.ndarray, block: Block) -> np.ndarray:
    """Label the rows of a block; those that hints name have labels already."""
    mine = model.labels(block.X)
    first, last = np.searchsorted(told, [block.rows.start, block.rows.stop])  # ascending
    mine[told[first:last] - block.rows.start] = labels[first:last]
    return mine


def _label(model: Model, told: np.ndarray, labels: np.ndarray, block: Block) -> np.ndarray:
    """Label the rows of a block, and count the clusters."""
    mine = _labelled(model, told, labels, block)
    if block.kept is not None:
        block.kept[...] = mine
    return np.bincount(mine, minlength=len(model.coef))


def _information(model: Model, block: Block) -> np.ndarray:
    """Return the weighted sums of the probabilities and, at the end, of their entropies."""
    p = model.probabilities(block.X)
    return np.append(block.weight @ p, block.weight @ entr(p).sum(axis=1))


class SoftmaxClusterer(HintedClusterer):
    """Base of the family. A member says how the weights are fitted."""

    labels_: np.ndarray
    violations_: Satisfaction
    triplet_violations_: TripletSatisfaction

    _reads_blocks = True

    tau: float
    alpha: float
    epsilon: float
    neither: str
    n_init: int
    n_jobs: int | None
    coef_: np.ndarray
    intercept_: np.ndarray
    hinted_: np.ndarray
    hinted_proba_: np.ndarray
    _space: Space

    # ------------------------------------------------------------------ fitting

    def _told(self, hints: Supervision, rows: Rows) -> Told:
        """Gather what hints say. Refuse what cannot hold.

        Contradictions are refused by hard hints and warned of by soft ones.
        """
        if self.n_clusters == 1 and (hints.answers < 3).any():
            raise InfeasibleSupervisionError(
                "{estimator}: with n_clusters=1 all rows are together: no triplet can leave one out.",
                "Ask for at least two clusters, or drop the triplets.",
                parameter="n_clusters",
                kinds=("triplets",),
                estimator=type(self).__name__,
            )
        told = Told.of(hints, rows, use_neither=self.neither == "use")
        links = told.hints.to_links()
        if self.epsilon == 0:
            self._hard_closure(links, told.named)
        else:
            self._soft_closure(links, rows=told.named)
        return told

    def _arranged(self, rows: Rows, told: Told, rng: np.random.RandomState) -> OrderedRows:
        return OrderedRows.of(rows, told.rows, _FEW_ROWS, rng)

    def _problem(
        self,
        near: Rows,
        space: Space,
        hinted: np.ndarray,
        terms: HintTerms,
        learned: NoiseKind | None = None,
        few: Few | None = None,
    ) -> Problem:
        """Return what is to be climbed: on rows wherever they are, or on few that were gathered."""
        scales = {"m": terms.total_weight or 1.0, "tau": self.tau, "alpha": self.alpha}
        if few is not None:
            objective = Objective.of(few.Z, few.weight, few.told, self.n_clusters, **scales)
        else:
            rows, see = space.seen(near)
            objective = Objective.over(rows, hinted, self.n_clusters, see=see, **space.folded, **scales)
        epsilon = self.epsilon or SOFT_EPSILONS[0]
        return Problem(objective, terms, Noise.uniform(epsilon, epsilon), learned)

    def _best_start(self, few: Few, problem: Problem, told: Told, rng: Any, run: Run) -> Fit:
        """Try every start on few rows for a few iterations, and return the best one."""
        starts = Starts(few.Z, few.weight, few.told, told.links(), self.n_clusters, rng)
        tried = [run(problem, problem.start(starts.weights(n)), TRIAL) for n in range(self.n_init)]
        return max(tried, key=lambda fit: fit.bounds[-1])

    def _label_rows(self, rows: Rows, told: Told, q: np.ndarray) -> int:
        """Label all rows in one pass, and tell which hints that keeps; return how many clusters have rows."""
        ascending = np.argsort(told.rows)
        self.hinted_, self.hinted_proba_ = told.rows[ascending], q[ascending]
        model, labels = self._model(), self.hinted_proba_.argmax(axis=1).astype(np.int32)
        recipe = partial(_labelled, model, self.hinted_, labels)
        column = rows.column(np.int32, recipe)
        work = partial(_label, model, self.hinted_, labels)
        counts = rows.sum(work, column, becomes=recipe, afresh=True)
        self.labels_ = rows.whole(column)
        of_named = np.zeros(max(len(told.named), 1), dtype=np.int32)  # without hints they speak of one row
        of_named[: len(told.named)] = model.labels(rows.take(told.named))
        of_named[np.sort(told.used)] = labels
        self.violations_ = link_satisfaction(of_named, told.hints).of_rows(told.named)
        self.triplet_violations_ = triplet_satisfaction(of_named, told.hints)
        return int(np.count_nonzero(counts))

    # ------------------------------------------------------------------ using

    def _model(self) -> Model:
        return Model(self._space, self.coef_, self.intercept_)

    def _new_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        rows.threads = n_threads(rows.shape[0] * self.coef_.size, self.n_jobs)
        return rows

    def decision_function(self, X: MatrixLike) -> Any:
        """Return the logits of the clusters, shape (n_samples, n_clusters). Takes what `fit` takes."""
        return self._new_rows(X).produce(self._model().logits, np.float64, self.n_clusters)

    def predict_proba(self, X: MatrixLike) -> Any:
        """Return the probabilities of the clusters, shape (n_samples, n_clusters)."""
        return self._new_rows(X).produce(self._model().probabilities, np.float64, self.n_clusters)

    def predict(self, X: MatrixLike) -> Any:
        """Return the most probable cluster of each row, by the model alone."""
        return self._new_rows(X).produce(self._model().labels, np.int32)

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the information (in nats) that the rows hold about their clusters; higher is better.

        It is the entropy of the mean probabilities less the mean entropy: 0 for one cluster or none clear,
        at most log(n_clusters). Hints are left out; :class:`~likewise.evaluation.HintSearchCV` scores those.
        """
        rows = self._with_weights(self._new_rows(X), sample_weight)
        *mean, entropy = rows.sum(partial(_information, self._model())) / rows.total_weight
        return float(entr(mean).sum() - entropy)


def drawn_free(n_free: int, size: int, told: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Draw different rows that no hint names, ascending; no array over all rows is made."""
    at, told = drawn_rows(n_free, size, rng), np.sort(told)
    return at + np.searchsorted(told - np.arange(len(told)), at, side="right")
