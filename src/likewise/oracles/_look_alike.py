"""Errors on similar rows of different classes and dissimilar rows of the same class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.active import Answer, Question
from likewise.base import Rule, real
from likewise.oracles._simulated import ErringOracle, FloatArray, Pairs, check_argument, check_rows

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

IntArray = npt.NDArray[np.intp]

_N_PAIRS = 10_000  # number of sampled pairs that distances are ranked against
_LARGEST_CHANCE = 0.95  # maximum probability of an error on a pair


class LookAlikeOracle(ErringOracle):
    """Answers by the classes of the rows, and confuses similar rows.

    The probability of a wrong answer to a pair depends on the rank r of its distance, from 0 for the nearest
    to 1 for the farthest of random pairs:

        p(i, j) = min(0.95, s (1 - r)) if the classes differ, min(0.95, s r) if they are the same.

    The factor s makes the mean of p over random pairs equal to `rate`. The proportion of errors is larger for
    a strategy that asks about doubtful pairs, and smaller for a strategy that asks about clear pairs. The
    same question always gets the same answer.

    Wrong answers to triplets and odd ones out are drawn in proportion to the mean p of the pairs that they
    misjudge. On a tray, a row tends to move to the pile of the rows that it resembles.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    X : array-like of shape (n_samples, n_features)
        The rows; distances are Euclidean. Scale the columns, or pass an embedding, so distances reflect what
        a person would confuse.
    rate : float, default=0.1
        The mean probability of a wrong answer over random pairs, from 0 to 0.95.
    random_state : int, default=0
        Seed of the errors. The probabilities p do not depend on it.

    Notes
    -----
    Ranks are relative to all pairs of rows with a known class, or to a fixed sample of 10,000 of them.

    Examples
    --------
    >>> from likewise.oracles import LookAlikeOracle
    >>> oracle = LookAlikeOracle([0, 0, 1, 1], [[0.0], [3.0], [4.0], [9.0]], rate=0.3)
    >>> round(oracle.compute_error_probability(1, 2), 2), round(oracle.compute_error_probability(0, 3), 2)
    (0.62, 0.06)
    """

    def __init__(self, y: Any, X: MatrixLike, *, rate: float = 0.1, random_state: int = 0) -> None:
        super().__init__(y, random_state)
        largest = Rule(
            f"a number from 0 to {_LARGEST_CHANCE}", lambda v: real(0).holds(v) and v <= _LARGEST_CHANCE
        )
        check_argument("LookAlikeOracle", "rate", rate, largest)
        self.rate: float = float(rate)
        self._X = check_rows("LookAlikeOracle", X, len(self._codes))
        i, j = _sample_pairs(np.flatnonzero(self._codes >= 0))
        distances = self._compute_distances(i, j)
        self._sample = np.sort(distances)
        self._scale = _compute_scale(self._compute_weights(i, j, distances), self.rate)

    def compute_error_probability(self, i: int, j: int) -> float:
        """Return the probability p(i, j) of a wrong answer to a pair.

        Parameters
        ----------
        i, j : int
            The two rows.

        Returns
        -------
        float
            The probability of a wrong answer; 0 if a class is unknown.
        """
        question = Question.pair(i, j)
        if self._truth.answer(question) is Answer.UNSURE:
            return 0.0
        return self._compute_chance(question, [(i, j)])

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        i, j = np.array(pairs, dtype=np.intp).T
        weights = self._compute_weights(i, j, self._compute_distances(i, j))
        return float(np.minimum(_LARGEST_CHANCE, self._scale * weights).mean())

    def _compute_distances(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(np.linalg.norm(self._X[i] - self._X[j], axis=1))

    def _compute_weights(self, i: IntArray, j: IntArray, distances: FloatArray) -> FloatArray:
        below = np.searchsorted(self._sample, distances, side="left")
        up_to = np.searchsorted(self._sample, distances, side="right")
        ranks = (below + up_to) / (2 * max(1, len(self._sample)))
        return np.where(self._codes[i] == self._codes[j], ranks, 1 - ranks)


def _sample_pairs(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of these rows, or a fixed sample if there are many."""
    n = len(rows)
    if n * (n - 1) // 2 <= _N_PAIRS:
        i, j = np.triu_indices(n, k=1)
    else:
        rng = np.random.default_rng(0)
        i, j = rng.integers(n, size=_N_PAIRS), rng.integers(n - 1, size=_N_PAIRS)
        j += j >= i
    return rows[i], rows[j]


def _compute_scale(weights: FloatArray, rate: float) -> float:
    """Return s such that the mean of min(0.95, s · weights) is the rate, by bisection."""
    if not len(weights):
        return 0.0
    low, high = 0.0, _LARGEST_CHANCE / float(weights.min())
    for _ in range(80):
        middle = (low + high) / 2
        if np.minimum(_LARGEST_CHANCE, middle * weights).mean() < rate:
            low = middle
        else:
            high = middle
    return low
