"""Pairs drawn at random: what every other strategy is measured against."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import ClassVar

import numpy as np

from likewise.active._questions import Key, Question
from likewise.active._state import State

_DRAWS = 64  # when so many draws in a row bring nothing new, the open pairs are listed


@dataclass(frozen=True)
class RandomPairs:
    """Pairs drawn uniformly from those that can be asked.

    Costs O(1) for a question while most pairs are open. Once few are, the open pairs of components are
    listed, which costs the square of the number of components.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import RandomPairs, State
    >>> state = State.of(np.zeros((4, 1)), seed=7)
    >>> questions = RandomPairs().choose(state, 100)
    >>> len(questions), RandomPairs().choose(state, 1) == questions[:1]
    (6, True)
    """

    name: ClassVar[str] = "random"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: State, n: int) -> list[Question]:
        """Return n pairs that can be asked, or as many as there are."""
        found: dict[Key, Question] = {}
        rng = state.rng()
        listing = rng.spawn(1)[0]  # a stream of its own: the first questions are the same for any n
        hopeful = state.n_samples > 1
        while hopeful and len(found) < n:
            hopeful = False
            for question in _draws(state.n_samples, rng):
                if len(found) < n and question.key not in found and state.can_ask(question):
                    found[question.key] = question
                    hopeful = True
        if len(found) < n:
            rest = islice(_listed(state, listing, dict(found)), n - len(found))
            found |= {question.key: question for question in rest}
        return list(found.values())


def _question(i: int, j: int) -> Question:
    return Question.pair(i, j, reason="Drawn at random.")


def _draws(n_samples: int, rng: np.random.Generator) -> list[Question]:
    """Return some pairs of different rows, drawn with replacement."""
    first = rng.integers(n_samples, size=_DRAWS)
    second = rng.integers(n_samples - 1, size=_DRAWS)
    second += second >= first
    return [_question(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def _listed(state: State, rng: np.random.Generator, but: Container[Key]) -> Iterator[Question]:
    """Yield every other pair that can be asked, in random order: components first, then rows within them."""
    closure = state.closure
    every = np.arange(closure.n_components)
    rows = closure.components(min_size=1)
    pairs = []
    for c in every[:-1]:
        others = every[c + 1 :]
        open_ones = others[state.component_relations(c, others) == 0]
        pairs.append(np.column_stack([np.full(len(open_ones), c), open_ones]))
    if not pairs:
        return
    ends = np.concatenate(pairs)
    # The first to arrive among exponential clocks is a draw by weight without replacement.
    arrival = rng.exponential(size=len(ends)) / (closure.sizes[ends[:, 0]] * closure.sizes[ends[:, 1]])
    for c, d in ends[np.argsort(arrival, kind="stable")].tolist():
        for i, j in product(rng.permutation(rows[c]).tolist(), rng.permutation(rows[d]).tolist()):
            question = _question(i, j)
            if question.key not in but and question.key not in state.asked:
                yield question
