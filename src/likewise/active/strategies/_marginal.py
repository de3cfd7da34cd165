"""Marginal uncertainty: the pair of rows whose relation is least certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.active._questions import Question
from likewise.active._state import InterviewState, Strategy
from likewise.active.strategies._placing import BoolArray, FloatArray, IntArray, list_asked
from likewise.exceptions import LikewiseError

_ENTRIES = 2_000_000  # pairs per block; as float64 they take 16 MB


@dataclass(frozen=True)
class MarginalUncertainty(Strategy):
    """The pair whose answer the model is least certain of (*Uncertain*, Pei 2017, eq. 4.6).

    The probability that rows a and b belong together is

    .. math:: m_{ab} = \\sum_k p_{ak} p_{bk} ,

    with p the model's ``predict_proba``. For a model that has ``membership_samples``, such as
    :class:`~likewise.bayesian.BayesianClustering`, it is the mean of this sum over the samples; within a
    sample, rows are independent. Of all pairs that can be asked, the one with the largest binary entropy of m
    is selected, that is, the one whose m is closest to 1/2. Ties are broken at random, reproducibly by the
    seed.

    All pairs are scored in blocks, with matrix products in O(n^2 k) and 16 MB per block. Only pairs of a
    block that are better than the best so far are checked for being askable.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import MarginalUncertainty
    >>> from likewise.discriminative import DiscriminativeClustering
    >>> X = np.array([[0.0], [1.0], [2.4], [4.0], [5.0]])
    >>> model = DiscriminativeClustering(n_clusters=2, random_state=0).fit(X)
    >>> question = MarginalUncertainty().choose(InterviewState.from_data(X, model=model), 1)[0]
    >>> 2 in question.rows
    True
    """

    name: ClassVar[str] = "uncertain"
    needs: ClassVar[frozenset[str]] = frozenset({"proba"})

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        if state.n_samples < 2 or n < 1:
            return []
        # With rows in random order, the first of several equal pairs is a random one.
        order = state.rng().permutation(state.n_samples)
        pairs, chance = find_least_certain(_compute_factors(state)[order], n, make_pair_filter(state, order))
        return [
            Question.pair(
                i,
                j,
                score=_compute_entropy(m),
                reason=f"By the model they belong together with probability {m:.2f}.",
            )
            for (i, j), m in zip(order[pairs].tolist(), chance.tolist(), strict=True)
        ]


def _compute_entropy(chance: float) -> float:
    both = np.clip(np.array([chance, 1.0 - chance]), 1e-300, 1.0)
    return float(-(both * np.log(both)).sum())


def _compute_factors(state: InterviewState) -> FloatArray:
    """Return a vector for each row such that m is the inner product of two vectors."""
    model = state.model
    if hasattr(model, "membership_samples"):
        samples = np.array(model.membership_samples(), dtype=np.float64)
        samples /= np.sqrt(len(samples))
        return samples.transpose(1, 0, 2).reshape(state.n_samples, -1)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(state.X), dtype=np.float64)
    given = "no model was fitted" if model is None else f"{type(model).__name__} has none"
    raise LikewiseError(
        f"the strategy 'uncertain' needs probabilities, but {given}. Use a model with predict_proba, such as "
        "DiscriminativeClustering, or another strategy."
    )


def make_pair_filter(state: InterviewState, order: IntArray) -> Callable[[IntArray, IntArray], BoolArray]:
    """Return a function that selects the askable pairs, given by the positions of their rows in `order`."""
    n = state.n_samples
    asked = np.array([low * n + high for low, high in list_asked(state, "pair")], dtype=np.int64)

    def is_askable(first: IntArray, second: IntArray) -> BoolArray:
        i, j = order[first], order[second]
        can: BoolArray = state.relations(i, j) == 0
        return can & ~np.isin(np.minimum(i, j) * n + np.maximum(i, j), asked)

    return is_askable


def find_least_certain(
    factors: FloatArray, n: int, askable: Callable[[IntArray, IntArray], BoolArray], entries: int = _ENTRIES
) -> tuple[IntArray, FloatArray]:
    """Return the n pairs i < j whose probability m is closest to 1/2, and these probabilities."""

    def compute_certainty(start: int, stop: int) -> FloatArray:
        gap: FloatArray = np.abs(factors[start:stop] @ factors[start:].T - 0.5)
        return -gap

    pairs, _ = select_pairs(compute_certainty, len(factors), n, askable, entries)
    chance: FloatArray = np.einsum("ij,ij->i", factors[pairs[:, 0]], factors[pairs[:, 1]])
    return pairs, chance


def select_pairs(
    score: Callable[[int, int], FloatArray],
    n_rows: int,
    n: int,
    askable: Callable[[IntArray, IntArray], BoolArray],
    entries: int = _ENTRIES,
) -> tuple[IntArray, FloatArray]:
    """Return the n askable pairs i < j with the largest scores, and these scores. Ties go to the first pair.

    ``score(start, stop)`` returns the scores of rows start to stop against all rows from start on.
    """
    most = max(1, entries // n_rows)
    # All pairs of the first block are checked, so it is small; it gives a bound for the next ones.
    step, start = max(1, most // 64), 0
    pairs, scores = np.empty((0, 2), dtype=np.int64), np.empty(0)
    while start < n_rows - 1:
        stop = min(start + step, n_rows)
        block = score(start, stop)
        block[np.tril_indices(stop - start, m=n_rows - start)] = -np.inf
        bound = scores[-1] if len(scores) == n else -np.inf
        first, second = np.nonzero(block > bound)
        can = askable(first + start, second + start)
        first, second = first[can], second[can]
        pairs = np.concatenate([pairs, np.column_stack([first, second]) + start])
        scores = np.concatenate([scores, block[first, second]])
        best = np.argsort(-scores, kind="stable")[:n]
        pairs, scores = pairs[best], scores[best]
        step, start = most, stop
    return pairs, scores
