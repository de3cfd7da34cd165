"""Probabilities of held-out answers from probabilities of clusters, and the scores of such predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from likewise.evaluation._hint_folds import NEITHER, HintFold
from likewise.supervision import TRIPLET_ANSWERS

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HintScoring = Literal["accuracy", "agreement", "balanced_accuracy", "log_score"]
# The weight of the uniform distribution in the log score. Without it, one confident wrong prediction would
# have an infinite cost, and a method without probabilities is always confident.
_DOUBT = 0.05


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out answers, and the probabilities that a model gives them.

    Parameters
    ----------
    chances : ndarray of shape (n_questions, 4)
        The probability of each answer. For a pair, the columns are together, apart, 0 and 0; for a triplet,
        they are AB, AC, BC and NEITHER.
    answers : ndarray of shape (n_questions,)
        The column of the held-out answer.
    is_triplet : ndarray of bool, of shape (n_questions,)
        True for a triplet.
    weights : ndarray of shape (n_questions,)
        The weight of each answer.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.evaluation import HeldOut
    >>> held = HeldOut(
    ...     chances=np.array([[0.9, 0.1, 0, 0], [0.2, 0.8, 0, 0]]),
    ...     answers=np.array([0, 0]),
    ...     is_triplet=np.array([False, False]),
    ...     weights=np.ones(2),
    ... )
    >>> held.right.tolist(), held.score("accuracy")
    ([True, False], 0.5)
    """

    chances: FloatArray
    answers: IntArray
    is_triplet: npt.NDArray[np.bool_]
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.answers)

    @classmethod
    def concatenate(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Concatenate the answers of several folds.

        Parameters
        ----------
        parts : sequence of HeldOut
            The answers of each fold.

        Returns
        -------
        held : HeldOut
            All answers.
        """
        names = ("chances", "answers", "is_triplet", "weights")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def from_fold(cls, fold: HintFold, clusters: FloatArray) -> HeldOut:
        """Predict the answers of a fold from the cluster probabilities of the rows.

        The clusters of different rows are treated as independent: rows a and b are together with probability
        Σ_k p_ak p_bk.

        Parameters
        ----------
        fold : HintFold
            The held-out questions and their answers.
        clusters : ndarray of shape (n_samples, n_clusters)
            The probability of each cluster for each row.

        Returns
        -------
        held : HeldOut
            The predictions.
        """
        together = np.einsum("ik,ik->i", clusters[fold.pairs[:, 0]], clusters[fold.pairs[:, 1]])
        none = np.zeros(len(together))
        a, b, c = (clusters[fold.triplets[:, side]] for side in range(3))
        ab, ac, bc = (np.einsum("ik,ik->i", p, q) for p, q in ((a, b), (a, c), (b, c)))
        all_three = np.einsum("ik,ik,ik->i", a, b, c)
        two = [side - all_three for side in (ab, ac, bc)]
        chances = np.concatenate(
            [
                np.column_stack([together, 1 - together, none, none]),
                np.column_stack([*two, 1 - sum(two)]),
            ]
        )
        return cls(
            chances=np.clip(chances, 0.0, 1.0),
            answers=np.concatenate([np.where(fold.together, 0, 1), fold.answers]),
            is_triplet=np.arange(fold.n_scored) >= len(fold.pairs),
            weights=np.concatenate([fold.pair_weights, fold.triplet_weights]),
        )

    def take(self, mask: npt.NDArray[np.bool_]) -> HeldOut:
        """Return some of the answers.

        Parameters
        ----------
        mask : ndarray of bool of shape (n_questions,)
            The answers to keep.

        Returns
        -------
        held_out : HeldOut
            These answers.
        """
        names = ("chances", "answers", "is_triplet", "weights")
        return HeldOut(*(getattr(self, name)[mask] for name in names))

    def score(self, scoring: HintScoring = "accuracy") -> float:
        """Return a score by its name.

        Parameters
        ----------
        scoring : {"accuracy", "agreement", "balanced_accuracy", "log_score"}, default="accuracy"
            The score; see :func:`cross_validate_hints`.

        Returns
        -------
        score : float
            The score; higher is better.
        """
        return check_scoring(scoring)(self).value

    @property
    def predicted(self) -> IntArray:
        """The most probable answer to each question; ties between together and apart count as apart."""
        likeliest: IntArray = self.chances.argmax(axis=1)
        even = ~self.is_triplet & (self.chances[:, 0] <= self.chances[:, 1])
        return np.where(even, 1, likeliest)

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """True for answers that are predicted correctly."""
        return self.predicted == self.answers

    @property
    def strata(self) -> IntArray:
        """The type of each answer: 0 together, 1 apart, 2 AB, AC or BC, 3 NEITHER.

        AB, AC and BC are one type, since the order of the rows in a triplet is arbitrary.
        """
        return _sort_of(self.answers, self.is_triplet)

    def compute_accuracy(self, *, triplets: bool) -> float:
        """Return the fraction of pairs, or of triplets, that are predicted correctly.

        Parameters
        ----------
        triplets : bool
            Score the triplets instead of the pairs.

        Returns
        -------
        share : float
            The weighted fraction; NaN if there are none.
        """
        use = self.is_triplet == triplets
        return float(np.average(self.right[use], weights=self.weights[use])) if use.any() else np.nan


@dataclass(frozen=True)
class ScoreEstimate:
    """A score, where higher is better, and its standard error."""

    value: float
    error: float


def _sort_of(answers: IntArray, is_triplet: npt.NDArray[np.bool_]) -> IntArray:
    return np.where(is_triplet, np.where(answers == NEITHER, 3, 2), answers)


def _compute_mean(values: FloatArray, weights: FloatArray) -> ScoreEstimate:
    mean = float(weights @ values) / float(weights.sum())
    return ScoreEstimate(mean, float(np.sqrt((weights**2) @ (values - mean) ** 2) / weights.sum()))


def _compute_agreement(held: HeldOut) -> ScoreEstimate:
    """Return (o - e) / (1 - e), with the observed accuracy o and the accuracy e expected by chance."""
    observed = _compute_mean(held.right.astype(np.float64), held.weights)
    predicted = _sort_of(held.predicted, held.is_triplet)
    by_chance = 0.0
    for triplet, sorts in ((False, {0: 1, 1: 1}), (True, {2: 3, 3: 1})):
        use = held.is_triplet == triplet
        total = held.weights[use].sum()
        for sort, n_answers in sorts.items():
            given, predicted_weight = (
                (held.weights * (use & (side == sort))).sum() for side in (held.strata, predicted)
            )
            by_chance += given * predicted_weight / (n_answers * total) if total else 0.0
    by_chance /= held.weights.sum()
    if 1 - by_chance < 1e-12:  # only one type of answer, which is always predicted
        return ScoreEstimate(0.0, 0.0)
    return ScoreEstimate((observed.value - by_chance) / (1 - by_chance), observed.error / (1 - by_chance))


def _compute_accuracy(held: HeldOut) -> ScoreEstimate:
    return _compute_mean(held.right.astype(np.float64), held.weights)


def _compute_balanced_accuracy(held: HeldOut) -> ScoreEstimate:
    parts = [
        _compute_mean(held.right[use].astype(np.float64), held.weights[use])
        for sort in range(4)
        if (use := held.strata == sort).any()
    ]
    error = np.sqrt(sum(part.error**2 for part in parts)) / len(parts)
    return ScoreEstimate(float(np.mean([part.value for part in parts])), float(error))


def _log_score(held: HeldOut) -> ScoreEstimate:
    chance = held.chances[np.arange(len(held)), held.answers]
    n_answers = np.where(held.is_triplet, len(TRIPLET_ANSWERS), 2)
    return _compute_mean(np.log2((1 - _DOUBT) * chance + _DOUBT / n_answers), held.weights)


_SCORES: dict[str, Callable[[HeldOut], ScoreEstimate]] = {
    "accuracy": _compute_accuracy,
    "agreement": _compute_agreement,
    "balanced_accuracy": _compute_balanced_accuracy,
    "log_score": _log_score,
}


# If a smaller fraction of the pairs is together, a model that predicts "apart" for all pairs is accurate.
_FEW_TOGETHER = 0.25


def choose_scoring(folds: Sequence[HintFold]) -> HintScoring:
    """Return "agreement" if few of the held-out pairs are together, as with many classes, else "accuracy"."""
    together = np.concatenate([fold.together for fold in folds])
    return "agreement" if len(together) and together.mean() < _FEW_TOGETHER else "accuracy"


def check_scoring(scoring: Any) -> Callable[[HeldOut], ScoreEstimate]:
    """Return the scoring function for a name, or wrap a function."""
    if isinstance(scoring, str) and scoring in _SCORES:
        score = _SCORES[scoring]
        return lambda held: score(replace(held, weights=held.weights / held.weights.max()))
    if callable(scoring):
        return lambda held: ScoreEstimate(float(scoring(held)), np.nan)
    names = ", ".join(map(repr, get_args(HintScoring)))
    raise ValueError(f"scoring must be one of {names}, or a function of a HeldOut; got {scoring!r}.")
