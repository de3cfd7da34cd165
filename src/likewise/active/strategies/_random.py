"""Random pairs: the baseline for all other strategies."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import ClassVar

import numpy as np

from likewise.active._questions import Key, Question
from likewise.active._state import InterviewState, Strategy

_DRAWS = 64  # if this many draws in a row bring nothing new, the remaining pairs are listed


@dataclass(frozen=True)
class RandomPairs(Strategy):
    """Pairs drawn uniformly from those that can be asked.

    A question costs O(1) while most pairs can be asked. Once few are left, all pairs of components are
    listed, which is quadratic in the number of components.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.active import RandomPairs, InterviewState
    >>> state = InterviewState.from_data(np.zeros((4, 1)), random_state=7)
    >>> questions = RandomPairs().choose(state, 100)
    >>> len(questions), RandomPairs().choose(state, 1) == questions[:1]
    (6, True)
    """

    name: ClassVar[str] = "random"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        found: dict[Key, Question] = {}
        rng = state.rng()
        listing = rng.spawn(1)[0]  # a separate stream, so the first questions are the same for any n
        hopeful = state.n_samples > 1
        while hopeful and len(found) < n:
            hopeful = False
            for question in _draw_pairs(state.n_samples, rng):
                if len(found) < n and question.key not in found and state.can_ask(question):
                    found[question.key] = question
                    hopeful = True
        if len(found) < n:
            rest = islice(_list_pairs(state, listing, dict(found)), n - len(found))
            found |= {question.key: question for question in rest}
        return list(found.values())


def _make_question(i: int, j: int) -> Question:
    return Question.pair(i, j, reason="Drawn at random.")


def _draw_pairs(n_samples: int, rng: np.random.Generator) -> list[Question]:
    """Return some pairs of different rows, drawn with replacement."""
    first = rng.integers(n_samples, size=_DRAWS)
    second = rng.integers(n_samples - 1, size=_DRAWS)
    second += second >= first
    return [_make_question(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def _list_pairs(state: InterviewState, rng: np.random.Generator, but: Container[Key]) -> Iterator[Question]:
    """Yield all remaining pairs that can be asked, in random order of components, then of rows."""
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
    # Sorting by exponential arrival times draws by weight without replacement.
    arrival = rng.exponential(size=len(ends)) / (closure.sizes[ends[:, 0]] * closure.sizes[ends[:, 1]])
    for c, d in ends[np.argsort(arrival, kind="stable")].tolist():
        for i, j in product(rng.permutation(rows[c]).tolist(), rng.permutation(rows[d]).tolist()):
            question = _make_question(i, j)
            if question.key not in but and question.key not in state.asked:
                yield question
