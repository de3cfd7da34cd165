"""Marginal uncertainty: the pair of rows of which it is least certain whether they belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._node_to_pairs import BoolArray, FloatArray, IntArray
from likewise.exceptions import LikewiseError

_ENTRIES = 2_000_000  # so many pairs are looked at in one block; a float64 for each takes 16 MB


@dataclass(frozen=True)
class MarginalUncertainty:
    """The pair whose answer is least certain by the model (*Uncertain* of Pei 2017, eq. 4.6).

    The probability that rows a and b belong together is

    .. math:: m_{ab} = \\sum_k p_{ak} p_{bk} ,

    with p the model's ``predict_proba``. For a model that has ``membership_samples``, such as
    :class:`~likewise.bayesian.BayesianClustering`, it is the mean of this sum over the samples, rows being
    taken as independent within one. Asked is the pair with the largest entropy of a yes with probability m,
    which is the one whose m is nearest to a half, among all pairs that can be asked. Ties are broken at
    random by the seed.

    All pairs are looked at, block by block: O(n^2 k) in matrix products and 16 MB for a block. Of each block
    only pairs better than the best so far are checked for having been asked or being implied.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import State
    >>> from likewise.active.strategies import MarginalUncertainty
    >>> from likewise.discriminative import DiscriminativeClustering
    >>> X = np.array([[0.0], [1.0], [2.4], [4.0], [5.0]])
    >>> model = DiscriminativeClustering(n_clusters=2, random_state=0).fit(X)
    >>> question = MarginalUncertainty().choose(State.of(X, model=model), 1)[0]
    >>> 2 in question.rows
    True
    """

    name: ClassVar[str] = "uncertain"
    needs: ClassVar[frozenset[str]] = frozenset({"proba"})

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n pairs, the least certain first."""
        if state.n_samples < 2 or n < 1:
            return []
        # Rows in a random order: the first of equal pairs is then one drawn at random.
        order = state.rng().permutation(state.n_samples)
        pairs, chance = least_certain(_factors(state)[order], n, askable_pairs(state, order))
        return [
            Question.pair(
                i, j, score=_entropy(m), reason=f"By the model they belong together with chance {m:.2f}."
            )
            for (i, j), m in zip(order[pairs].tolist(), chance.tolist(), strict=True)
        ]


def _entropy(chance: float) -> float:
    both = np.clip(np.array([chance, 1.0 - chance]), 1e-300, 1.0)
    return float(-(both * np.log(both)).sum())


def _factors(state: State) -> FloatArray:
    """Return a row of numbers for each row, such that m is the product of two of them."""
    model = state.model
    if hasattr(model, "membership_samples"):
        samples = np.array(model.membership_samples(), dtype=np.float64)
        samples /= np.sqrt(len(samples))
        return samples.transpose(1, 0, 2).reshape(state.n_samples, -1)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(state.X), dtype=np.float64)
    given = "no model was fitted" if model is None else f"{type(model).__name__} gives none"
    raise LikewiseError(
        f"the strategy 'uncertain' needs probabilities, but {given}. Use a model with predict_proba, such as "
        "DiscriminativeClustering, or another strategy."
    )


def askable_pairs(state: State, order: IntArray) -> Callable[[IntArray, IntArray], BoolArray]:
    """Return a function that tells which pairs of rows, by their places in `order`, can be asked."""
    n = state.n_samples
    keys = [key[1] for key in state.asked if isinstance(key, tuple) and key[0] == "pair"]
    asked = np.array([low * n + high for low, high in keys], dtype=np.int64)

    def askable(first: IntArray, second: IntArray) -> BoolArray:
        i, j = order[first], order[second]
        can: BoolArray = state.relations(i, j) == 0
        return can & ~np.isin(np.minimum(i, j) * n + np.maximum(i, j), asked)

    return askable


def least_certain(
    factors: FloatArray, n: int, askable: Callable[[IntArray, IntArray], BoolArray], entries: int = _ENTRIES
) -> tuple[IntArray, FloatArray]:
    """Return the n pairs i < j whose chance of being together is nearest to a half, and these chances."""

    def certainty(start: int, stop: int) -> FloatArray:
        gap: FloatArray = np.abs(factors[start:stop] @ factors[start:].T - 0.5)
        return -gap

    pairs, _ = select_pairs(certainty, len(factors), n, askable, entries)
    chance: FloatArray = np.einsum("ij,ij->i", factors[pairs[:, 0]], factors[pairs[:, 1]])
    return pairs, chance


def select_pairs(
    score: Callable[[int, int], FloatArray],
    n_rows: int,
    n: int,
    askable: Callable[[IntArray, IntArray], BoolArray],
    entries: int = _ENTRIES,
) -> tuple[IntArray, FloatArray]:
    """Return the n askable pairs i < j with the largest scores, and these scores; the first of equal pairs.

    ``score(start, stop)`` returns the scores of rows start to stop against all rows from start on.
    """
    most = max(1, entries // n_rows)
    # The first block is small, since all of its pairs are checked; it gives a bound for those that follow.
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
