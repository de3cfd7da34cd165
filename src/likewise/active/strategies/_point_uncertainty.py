"""NPU: the row whose group is most uncertain for each question that it is expected to cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._labels import by_score, labels_of
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray, Places, Placing, place
from likewise.base import integer

_MOST_ROWS = 5_000  # trees grown on more rows tell little more of which rows are alike, and take longer
_FROM_EACH = 20  # so many rows of each cluster are among them, if it has so many


@dataclass(frozen=True)
class NormalizedPointUncertainty:
    """Normalised point uncertainty (NPU; Xiong, Azimi & Fern 2014).

    A random forest is grown to tell the current clusters apart; two rows are similar by the share of trees
    in which they fall into the same leaf. The probability that row x belongs to group i is its mean
    similarity to the rows of that group, over the sum of these means. Placed next is the row with the
    largest

    .. math:: \\frac{-\\sum_i p_i \\log p_i}{\\sum_i i \\, p_{(i)}} ,

    the entropy of its group over the number of questions that placing it is expected to take, with
    :math:`p_{(1)} \\ge p_{(2)} \\ge \\dots` since the likeliest group is asked first. A row that is similar
    to no placed row has equal probabilities. While there is one group all entropies are 0, and the row that
    is least similar to it is taken. Ties are broken at random by the seed.

    Growing the forest costs O(T n d log n), once for each clustering, on 5,000 rows drawn by the seed where
    there are more; it is kept while the labels stay the same. Scoring the rows costs O(T n) for each group.

    Parameters
    ----------
    n_trees : int, default=50
        The number T of trees.

    References
    ----------
    S. Xiong, J. Azimi and X. Z. Fern (2014), Active learning of constraints for semi-supervised clustering,
    IEEE TKDE 26(1), algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import State
    >>> from likewise.active.strategies import NormalizedPointUncertainty
    >>> X = np.array([[0.0], [0.1], [1.0], [5.0], [5.1], [9.0]])
    >>> hints = Supervision.from_links(6, cannot=[(0, 4)])
    >>> state = State.of(X, hints, n_clusters=2, labels=np.array([0, 0, 0, 1, 1, 1]))
    >>> questions = NormalizedPointUncertainty().choose(state, 4)
    >>> len(questions), bool(questions[0].score >= questions[1].score)
    (4, True)
    """

    n_trees: int = 50

    name: ClassVar[str] = "npu"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __post_init__(self) -> None:
        if not (rule := integer(1)).holds(self.n_trees):
            raise ValueError(f"n_trees must be {rule.wanted}, got {self.n_trees!r}.")

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions that place rows."""
        places = Places.of(state)
        if not len(places.unplaced):
            return []
        similarity = similarities(self._leaves(state), places)
        chance = probabilities(similarity)
        scores = normalized_uncertainty(chance) if places.n_groups > 1 else -similarity[:, 0]
        rows = by_score(state, places, scores)

        def because(row: int) -> str:
            return f"may be of {np.exp(_entropy(chance[row])):.1f} groups for what it costs to ask"

        return place(state, places, Placing(rows, because, scores, likely=lambda row: chance[row]), n)

    def _leaves(self, state: State) -> IntArray:
        """Return the leaf of each row in each tree, shape (n_samples, n_trees)."""
        from sklearn.ensemble import RandomForestClassifier

        labels = labels_of(state, self.name)
        key = ("npu leaves", self.n_trees, state.seed)
        before = state.cache.get(key)
        if before is not None and np.array_equal(before[0], labels):
            kept: IntArray = before[1]
            return kept
        forest = RandomForestClassifier(self.n_trees, random_state=state.seed % 2**32)
        # Rows are drawn beforehand: a tree that is told to draw them looks at the weights of all.
        some = some_of_each(labels, _MOST_ROWS, state.seed)
        leaves: IntArray = forest.fit(state.X[some], labels[some]).apply(state.X)
        state.cache[key] = (labels, leaves)
        return leaves


def some_of_each(labels: IntArray, n: int, seed: int) -> IntArray:
    """Return about n rows drawn by the seed, with some of each cluster; all rows if there are no more."""
    if len(labels) <= n:
        return np.arange(len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    each = [order[labels[order] == z][:_FROM_EACH] for z in np.unique(labels)]
    return np.unique(np.concatenate([order[:n], *each]))


def similarities(leaves: IntArray, places: Places) -> FloatArray:
    """Return the mean similarity of each row to the rows of each group, shape (n_samples, n_groups)."""
    placed = places.placed
    found = np.zeros((len(leaves), places.n_groups))
    for leaf in leaves.T:
        # How many rows of each group are in each leaf: no pair of rows is looked at.
        table = np.zeros((int(leaf.max()) + 1, places.n_groups))
        np.add.at(table, (leaf[placed], places.group[placed]), 1.0)
        found += table[leaf]
    means: FloatArray = found / (leaves.shape[1] * np.array([len(rows) for rows in places.members]))
    return means


def probabilities(similarity: FloatArray) -> FloatArray:
    """Return how probable each group is for each row; all alike where no group is similar at all."""
    total = similarity.sum(axis=1, keepdims=True)
    even = np.full_like(similarity, 1.0 / similarity.shape[1])
    chance: FloatArray = np.divide(similarity, total, out=even, where=total > 0)
    return chance


def _entropy(chance: FloatArray) -> FloatArray:
    log = np.log(chance, out=np.zeros_like(chance), where=chance > 0)
    entropy: FloatArray = -(chance * log).sum(axis=-1)
    return entropy


def normalized_uncertainty(chance: FloatArray) -> FloatArray:
    """Return the entropy of each row's group over the expected number of questions."""
    ordered = -np.sort(-chance, axis=1)
    questions = ordered @ np.arange(1.0, chance.shape[1] + 1)
    uncertainty: FloatArray = _entropy(ordered) / questions
    return uncertainty
