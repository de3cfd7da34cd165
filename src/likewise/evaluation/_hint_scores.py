"""How well held-out answers are predicted: chances of answers from chances of clusters, and their scores."""

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
# What a model cannot rule out: without it one sure and wrong prediction would cost infinitely much, and a
# method that gives labels and no chances is always sure.
_DOUBT = 0.05


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Answers that were held out, and what a model that was not told of them says.

    Attributes
    ----------
    chances : ndarray of shape (n_questions, 4)
        The probability of each answer. Of a pair the columns are together, apart and twice 0; of a triplet
        they are AB, AC, BC and NEITHER.
    answers : ndarray of shape (n_questions,)
        The column of the answer that was given.
    is_triplet : ndarray of bool, of shape (n_questions,)
        Whether the question is of three rows.
    weights : ndarray of shape (n_questions,)
        How much each answer counts.
    """

    chances: FloatArray
    answers: IntArray
    is_triplet: npt.NDArray[np.bool_]
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.answers)

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Put the answers of several folds together."""
        names = ("chances", "answers", "is_triplet", "weights")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def of(cls, fold: HintFold, clusters: FloatArray) -> HeldOut:
        """Predict the answers of a fold from the chances of clusters, shape (n_samples, n_clusters).

        The clusters of different rows are taken as independent: two rows are together with probability
        Σ_k p_ak p_bk.
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
        """Return some of the answers."""
        names = ("chances", "answers", "is_triplet", "weights")
        return HeldOut(*(getattr(self, name)[mask] for name in names))

    def score(self, scoring: HintScoring = "accuracy") -> float:
        """Return a score by its name; see :func:`cross_validate_hints`."""
        return check_scoring(scoring)(self).value

    @property
    def predicted(self) -> IntArray:
        """The likeliest answer to each question; two rows that are as likely together as apart are apart."""
        likeliest: IntArray = self.chances.argmax(axis=1)
        even = ~self.is_triplet & (self.chances[:, 0] <= self.chances[:, 1])
        return np.where(even, 1, likeliest)

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether each answer is the predicted one."""
        return self.predicted == self.answers

    @property
    def strata(self) -> IntArray:
        """The sort of each answer: 0 together, 1 apart, 2 two of three together, 3 neither.

        AB, AC and BC are one sort, since which of the rows is called A says nothing.
        """
        return _sort_of(self.answers, self.is_triplet)

    def share_right(self, *, triplets: bool) -> float:
        """Return the share of pairs, or of triplets, that are right; NaN where there are none."""
        use = self.is_triplet == triplets
        return float(np.average(self.right[use], weights=self.weights[use])) if use.any() else np.nan


@dataclass(frozen=True)
class Scored:
    """A score, the higher the better, and its standard error."""

    value: float
    error: float


def _sort_of(answers: IntArray, is_triplet: npt.NDArray[np.bool_]) -> IntArray:
    return np.where(is_triplet, np.where(answers == NEITHER, 3, 2), answers)


def _mean(values: FloatArray, weights: FloatArray) -> Scored:
    mean = float(weights @ values) / float(weights.sum())
    return Scored(mean, float(np.sqrt((weights**2) @ (values - mean) ** 2) / weights.sum()))


def _agreement(held: HeldOut) -> Scored:
    """Return (o - e) / (1 - e) with o the share that is right and e the share that chance would get right."""
    observed = _mean(held.right.astype(np.float64), held.weights)
    predicted = _sort_of(held.predicted, held.is_triplet)
    by_chance = 0.0
    for triplet, sorts in ((False, {0: 1, 1: 1}), (True, {2: 3, 3: 1})):
        use = held.is_triplet == triplet
        total = held.weights[use].sum()
        for sort, n_answers in sorts.items():
            given, said = ((held.weights * (use & (side == sort))).sum() for side in (held.strata, predicted))
            by_chance += given * said / (n_answers * total) if total else 0.0
    by_chance /= held.weights.sum()
    if 1 - by_chance < 1e-12:  # only one sort of answer, always given and always predicted
        return Scored(0.0, 0.0)
    return Scored((observed.value - by_chance) / (1 - by_chance), observed.error / (1 - by_chance))


def _accuracy(held: HeldOut) -> Scored:
    return _mean(held.right.astype(np.float64), held.weights)


def _balanced_accuracy(held: HeldOut) -> Scored:
    parts = [
        _mean(held.right[use].astype(np.float64), held.weights[use])
        for sort in range(4)
        if (use := held.strata == sort).any()
    ]
    error = np.sqrt(sum(part.error**2 for part in parts)) / len(parts)
    return Scored(float(np.mean([part.value for part in parts])), float(error))


def _log_score(held: HeldOut) -> Scored:
    chance = held.chances[np.arange(len(held)), held.answers]
    n_answers = np.where(held.is_triplet, len(TRIPLET_ANSWERS), 2)
    return _mean(np.log2((1 - _DOUBT) * chance + _DOUBT / n_answers), held.weights)


_SCORES: dict[str, Callable[[HeldOut], Scored]] = {
    "accuracy": _accuracy,
    "agreement": _agreement,
    "balanced_accuracy": _balanced_accuracy,
    "log_score": _log_score,
}


# Where fewer of the pairs than this are together, a model that calls all pairs apart is accurate.
_FEW_TOGETHER = 0.25


def usual_scoring(folds: Sequence[HintFold]) -> HintScoring:
    """Return "agreement" where few of the held-out pairs are together, as with many classes."""
    together = np.concatenate([fold.together for fold in folds])
    return "agreement" if len(together) and together.mean() < _FEW_TOGETHER else "accuracy"


def check_scoring(scoring: Any) -> Callable[[HeldOut], Scored]:
    """Return the function of a score by its name, or make one of a function."""
    if isinstance(scoring, str) and scoring in _SCORES:
        score = _SCORES[scoring]
        return lambda held: score(replace(held, weights=held.weights / held.weights.max()))
    if callable(scoring):
        return lambda held: Scored(float(scoring(held)), np.nan)
    names = ", ".join(map(repr, get_args(HintScoring)))
    raise ValueError(f"scoring must be one of {names}, or a function of a HeldOut; got {scoring!r}.")
