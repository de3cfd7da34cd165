"""A custom query strategy: ask about neighbours that the model puts into different clusters.

Run it with ``python examples/boundary_pairs.py``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.neighbors import NearestNeighbors

from likewise import MPCKMeans
from likewise.active import Interview, Question, RandomPairs
from likewise.datasets import make_two_views
from likewise.evaluation import scores
from likewise.oracles import LabelOracle


@dataclass(frozen=True)
class BoundaryPairs:
    """Ask about the closest neighbours in different clusters, then about random pairs."""

    n_neighbors: int = 5
    name: ClassVar[str] = "boundary"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})

    def choose(self, state, n):
        """Return at most n questions, closest pairs first."""
        key = ("boundary", self.n_neighbors)
        if key not in state.cache:  # X does not change in an interview, so neither do the neighbours
            n_neighbors = min(self.n_neighbors, state.n_samples - 1)
            state.cache[key] = NearestNeighbors(n_neighbors=n_neighbors).fit(state.X).kneighbors()
        distances, neighbors = state.cache[key]
        rows, columns = np.nonzero(state.labels[:, None] != state.labels[neighbors])
        order = np.argsort(distances[rows, columns], kind="stable")
        pairs = zip(rows[order].tolist(), neighbors[rows, columns][order].tolist(), strict=True)
        questions = [Question.pair(i, j, reason="Close rows in different clusters.") for i, j in pairs]
        questions = [question for question in questions if state.can_ask(question)]
        distinct = {question.key: question for question in [*questions, *RandomPairs().choose(state, n)]}
        return list(distinct.values())[:n]


if __name__ == "__main__":
    toy = make_two_views(random_state=0)
    interview = Interview(toy.X, model=MPCKMeans(n_clusters=3), strategy=BoundaryPairs(), random_state=0)
    oracle = LabelOracle(toy.y)
    for _ in range(20):
        question = interview.ask()
        interview.tell(question, oracle.answer(question))
    print(f"{interview.n_answers} answers, adjusted Rand index {scores(toy.y, interview.labels_).ari:.2f}")
