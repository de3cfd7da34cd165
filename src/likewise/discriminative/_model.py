"""Base class of the discriminative family: checks of hints, starts on a sample of rows, prediction."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr, softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likewise._seeding import draw_seeds_from_closure, extend_seeds, label_rows
from likewise.backends import Block, Rows, as_rows, draw_rows, get_n_threads
from likewise.base import HintedClusterer
from likewise.discriminative._hints import HintTerms, Noise, NoiseKind
from likewise.discriminative._row_features import OrderedRows, Space, order_hinted_rows
from likewise.discriminative._softmax import (
    DiscriminativeFit,
    HintedObjective,
    Objective,
    VariationalState,
    split_block,
)
from likewise.evaluation import link_satisfaction, triplet_satisfaction
from likewise.exceptions import InfeasibleSupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike
    from likewise.evaluation import Satisfaction, TripletSatisfaction

# Number of iterations to try a start; further iterations seldom change the order of the bounds.
TRIAL = 10
# Starts are tried on the hinted rows and this many others; the selected start is finished on all rows.
_FEW_ROWS = 20_000
# Hard hints freeze their initial assignment, so they start from fits with soft hints that become nearly hard.
SOFT_EPSILONS = (0.05, 1e-3, 1e-6)
# The penalty of the logistic fit to the labels of a start. It is large, since confident weights are hard to
# leave.
_START_ALPHA = 0.125
_START_STEPS = 30
# Weight of the scatter of all rows relative to the scatter within must-links, in must-links.
_PRIOR_LINKS = 5.0
# Lower bound of the variance of a direction, relative to the mean over all directions.
_NARROWEST = 0.01

# Improves a state of a problem for at most the given number of iterations.
Run = Callable[[HintedObjective, VariationalState, int], DiscriminativeFit]


@dataclass(frozen=True, eq=False)
class HintData:
    """The hinted rows and their hints.

    Attributes
    ----------
    named : ndarray
        All hinted rows, ascending.
    hints : Supervision
        The hints, restricted to these rows and numbered from 0.
    used : ndarray
        Positions in `named` of the rows whose hints the method uses, in an order that depends only on the
        rows and their hints.
    terms : HintTerms
        The terms of these hints, restricted to the rows in `used`.
    """

    named: np.ndarray
    hints: Supervision
    used: np.ndarray
    terms: HintTerms

    @classmethod
    def from_hints(cls, hints: Supervision, rows: Rows, *, use_neither: bool) -> HintData:
        """Collect the hinted rows."""
        named, few = hints.restrict_to_hinted()
        used = HintTerms(few, use_neither=use_neither).rows
        if len(used):
            mine = named[used]
            used = used[order_hinted_rows(rows.take(mine), rows.get_weights(mine), few[used])]
        kept = few[used] if len(used) else Supervision.empty(1)
        return cls(named, few, used, HintTerms(kept, use_neither=use_neither))

    @property
    def rows(self) -> np.ndarray:
        """The hinted rows that the method uses."""
        return self.named[self.used]

    def as_links(self) -> Supervision:
        """Return all implied links, restricted to `rows`."""
        return (self.hints[self.used] if len(self.used) else Supervision.empty(1)).to_links()


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """Rows in memory: all rows, or all hinted rows and a sample of the others.

    Attributes
    ----------
    Z, weight : ndarray
        The features of the rows and their weights.
    hinted_rows : ndarray
        Positions of the hinted rows.
    everyone : bool
        Whether these are all rows.
    """

    Z: np.ndarray
    weight: np.ndarray
    hinted_rows: np.ndarray
    everyone: bool

    @classmethod
    def from_rows(cls, near: Rows, space: Space, arranged: OrderedRows) -> GatheredRows:
        """Collect the rows; `near` are the rows in the form that `space` expects."""
        hinted = arranged.hinted
        if arranged.sample is None or arranged.sample_weight is None:
            everyone = np.arange(len(near))
            return cls(space.transform(near, everyone), near.get_weights(everyone), hinted, True)
        which = np.concatenate([hinted, arranged.sample])
        weight = np.concatenate([near.get_weights(hinted), arranged.sample_weight])
        return cls(space.transform(near, which), weight, np.arange(len(hinted)), False)


def stretch(
    X: np.ndarray, weight: np.ndarray, links: Supervision, hinted_rows: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the rows in a space in which must-linked rows vary equally in all directions.

    The scatter within must-links and must-link groups, shrunk towards the scatter of all rows, becomes the
    identity, as in relevant component analysis (Bar-Hillel et al. 2003). Returns None without must-links.
    With `hinted_rows`, links refer to positions in that array.
    """
    must, groups = links.must, links.must_groups
    if not len(must) and not len(groups):
        return None
    few = X if hinted_rows is None else X[hinted_rows]
    apart = (few[must[:, 0]] - few[must[:, 1]]) * np.sqrt(links.must_weights / 2)[:, None]
    scatter, count = apart.T @ apart, links.must_weights.sum()
    for rows, each in zip(groups, groups.weights, strict=True):
        within = few[rows] - few[rows].mean(axis=0)
        scatter += each * within.T @ within
        count += each * (len(rows) - 1)
    overall = (X * (weight / weight.sum())[:, None]).T @ X
    values, vectors = np.linalg.eigh((scatter + _PRIOR_LINKS * overall) / (count + _PRIOR_LINKS))
    values = np.maximum(values, max(_NARROWEST * values.mean(), np.finfo(float).tiny))
    stretched: np.ndarray = X @ (vectors / np.sqrt(values))
    return stretched


class Starts:
    """The starts of a fit. Random numbers are drawn from the given generator, in the order of the starts.

    Parameters
    ----------
    X, weight : ndarray
        Rows in memory and their weights.
    hinted_rows : ndarray
        The hinted rows among them, ascending.
    hints : Supervision
        The hints, numbered by positions in `hinted_rows`.
    n_clusters : int
        The number of clusters.
    rng : RandomState
        The random number generator.
    """

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray,
        hinted_rows: np.ndarray,
        hints: Supervision,
        n_clusters: int,
        rng: np.random.RandomState,
    ) -> None:
        links = hints.to_links()
        self._weight = weight
        self._hinted_rows = hinted_rows
        self._k = n_clusters
        self._rng = rng
        self._closure = links.closure(on_conflict="keep")
        stretched = stretch(X, weight, links, hinted_rows)
        self._spaces = [X] if stretched is None else [stretched, X]
        everyone, n = np.arange(len(X)), float(len(X))
        self._logistic = Objective.from_memory(
            X, weight, everyone, n_clusters, m=n, tau=0.0, alpha=_START_ALPHA
        )

    def compute_weights(self, number: int) -> np.ndarray:
        """Return the weights of start `number`; spaces alternate, and the second start in each uses hints."""
        space, hinted_rows = self._spaces[number % len(self._spaces)], self._hinted_rows
        draws = as_rows(space, weight=self._weight)
        if number // len(self._spaces) == 1 and self._closure.n_components < len(hinted_rows):
            seeds = draw_seeds_from_closure(
                space[hinted_rows], self._closure, self._k, self._weight[hinted_rows], self._rng, draws=draws
            )
        else:
            seeds = extend_seeds(draws, np.empty((0, space.shape[1])), self._k, None, self._rng)
        with warnings.catch_warnings():  # about duplicate rows; the estimator warns about empty clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(self._k, init=seeds, n_init=1, max_iter=30).fit(space, sample_weight=self._weight)
        labels = model.labels_
        q = np.zeros((self._k, len(labels)))
        q[labels, np.arange(len(labels))] = 1.0
        zero = np.zeros(self._logistic.shape)
        return self._logistic.maximise(zero, q, max_iter=_START_STEPS, tol=1e-4)[0]


@dataclass(frozen=True, eq=False)
class SoftmaxModel:
    """The fitted model, small enough to be sent to remote workers."""

    space: Space
    coef: np.ndarray
    intercept: np.ndarray

    def compute_logits(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of the clusters, shape (n_samples, n_clusters)."""
        out = np.empty((len(X), len(self.coef)))
        for part in split_block(len(X)):
            np.matmul(self.space.compute_features(X[part]), self.coef.T, out=out[part])
        out += self.intercept
        return out

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the clusters."""
        out: np.ndarray = softmax(self.compute_logits(X), axis=1)
        return out

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the most probable clusters."""
        found: np.ndarray = self.compute_logits(X).argmax(axis=1).astype(np.int32)
        return found


def _sum_information(model: SoftmaxModel, block: Block) -> np.ndarray:
    """Return the weighted sums of the probabilities, followed by the weighted sum of their entropies."""
    p = model.predict_proba(block.X)
    return np.append(block.weight @ p, block.weight @ entr(p).sum(axis=1))


class SoftmaxClusterer(HintedClusterer):
    """Base class of the family. A member defines how the weights are fitted."""

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

    def _gather_hints(self, hints: Supervision, rows: Rows) -> HintData:
        """Collect the hinted rows; raise an error for infeasible hints.

        Contradictions raise an error if hints are hard and give a warning if they are soft.
        """
        if self.n_clusters == 1 and (hints.answers < 3).any():
            raise InfeasibleSupervisionError(
                "{estimator}: with n_clusters=1 all rows are in one cluster, so no triplet can be satisfied.",
                "Set n_clusters to at least 2, or drop the triplets.",
                parameter="n_clusters",
                kinds=("triplets",),
                estimator=type(self).__name__,
            )
        hint_data = HintData.from_hints(hints, rows, use_neither=self.neither == "use")
        links = hint_data.hints.to_links()
        if self.epsilon == 0:
            self._compute_hard_closure(links, hint_data.named)
        else:
            self._compute_soft_closure(links, rows=hint_data.named)
        return hint_data

    def _arrange_rows(self, rows: Rows, hint_data: HintData, rng: np.random.RandomState) -> OrderedRows:
        return OrderedRows.from_rows(rows, hint_data.rows, _FEW_ROWS, rng)

    def _make_objective(
        self,
        near: Rows,
        space: Space,
        hinted: np.ndarray,
        terms: HintTerms,
        learned: NoiseKind | None = None,
        few: GatheredRows | None = None,
    ) -> HintedObjective:
        """Return the optimisation problem, on all rows or on the `few` in memory."""
        scales = {"m": terms.total_weight or 1.0, "tau": self.tau, "alpha": self.alpha}
        if few is not None:
            objective = Objective.from_memory(few.Z, few.weight, few.hinted_rows, self.n_clusters, **scales)
        else:
            rows, see = space.transform_lazily(near)
            objective = Objective.from_rows(rows, hinted, self.n_clusters, see=see, **space.folded, **scales)
        epsilon = self.epsilon or SOFT_EPSILONS[0]
        return HintedObjective(objective, terms, Noise.uniform(epsilon, epsilon), learned)

    def _choose_start(
        self, few: GatheredRows, problem: HintedObjective, hint_data: HintData, rng: Any, run: Run
    ) -> DiscriminativeFit:
        """Try every start on few rows for a few iterations and return the best fit."""
        starts = Starts(few.Z, few.weight, few.hinted_rows, hint_data.as_links(), self.n_clusters, rng)
        tried = [run(problem, problem.start(starts.compute_weights(n)), TRIAL) for n in range(self.n_init)]
        return max(tried, key=lambda fit: fit.bounds[-1])

    def _label_rows(self, rows: Rows, hint_data: HintData, q: np.ndarray) -> int:
        """Label all rows in one pass and check the hints; return the number of clusters that have rows."""
        ascending = np.argsort(hint_data.rows)
        self.hinted_, self.hinted_proba_ = hint_data.rows[ascending], q[ascending]
        model, labels = self._get_model(), self.hinted_proba_.argmax(axis=1).astype(np.int32)
        self.labels_, n_found = label_rows(rows, model.predict, self.hinted_, labels, self.n_clusters)
        of_named = np.zeros(
            max(len(hint_data.named), 1), dtype=np.int32
        )  # without hints there is one dummy row
        of_named[: len(hint_data.named)] = model.predict(rows.take(hint_data.named))
        of_named[np.sort(hint_data.used)] = labels
        self.violations_ = link_satisfaction(of_named, hint_data.hints).renumber(hint_data.named)
        self.triplet_violations_ = triplet_satisfaction(of_named, hint_data.hints)
        return n_found

    # ------------------------------------------------------------------ using

    def _get_model(self) -> SoftmaxModel:
        return SoftmaxModel(self._space, self.coef_, self.intercept_)

    def _check_new_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        rows.threads = get_n_threads(rows.shape[0] * self.coef_.size, self.n_jobs)
        return rows

    def decision_function(self, X: MatrixLike) -> Any:
        """Return the logits of the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        logits : ndarray of shape (n_samples, n_clusters)
            The logits.
        """
        return self._check_new_rows(X).map_rows(self._get_model().compute_logits, np.float64, self.n_clusters)

    def predict_proba(self, X: MatrixLike) -> Any:
        """Return the probabilities of the clusters, by the model without hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            The probabilities.
        """
        return self._check_new_rows(X).map_rows(self._get_model().predict_proba, np.float64, self.n_clusters)

    def predict(self, X: MatrixLike) -> Any:
        """Return the most probable cluster of each row, by the model without hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        return self._check_new_rows(X).map_rows(self._get_model().predict, np.int32)

    def score(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the mutual information, in nats, between rows and clusters.

        It is the entropy of the mean probabilities minus the mean entropy: 0 for a single cluster or if no
        cluster is clear, at most log(n_clusters). Hints are not used;
        :class:`~likewise.evaluation.HintSearchCV` scores hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in any form that `fit` accepts.
        y : ignored
            Present for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        score : float
            The mutual information. Higher is better.
        """
        rows = self._with_weights(self._check_new_rows(X), sample_weight)
        *mean, entropy = rows.sum(partial(_sum_information, self._get_model())) / rows.total_weight
        return float(entr(mean).sum() - entropy)


def draw_unhinted_rows(
    n_free: int, size: int, hinted_rows: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Draw distinct rows without hints, in ascending order, without an array over all rows."""
    at, hinted_rows = draw_rows(n_free, size, rng), np.sort(hinted_rows)
    return at + np.searchsorted(hinted_rows - np.arange(len(hinted_rows)), at, side="right")
