"""NPU: the row with the largest uncertainty per expected number of questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.active._questions import Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._placing import (
    FloatArray,
    IntArray,
    PlacedRows,
    Placing,
    cache_result,
    get_model_labels,
    order_by_score,
    place,
)
from likewise.base import Rule

_MOST_ROWS = 5_000  # more rows improve the similarities little and take longer
_FROM_EACH = 20  # minimum number of rows of each cluster among them, if it has as many


@dataclass(frozen=True)
class NormalizedPointUncertainty(CheckedStrategy):
    """Normalised point uncertainty (NPU; Xiong, Azimi & Fern 2014).

    A random forest is trained to predict the current clusters. The similarity of two rows is the proportion
    of trees in which they fall into the same leaf. The probability that row x belongs to group i is its mean
    similarity to the rows of that group, divided by the sum of these means over the groups. The row with the
    largest

    .. math:: \\frac{-\\sum_i p_i \\log p_i}{\\sum_i i \\, p_{(i)}}

    is placed next: the entropy of its group divided by the expected number of questions, with
    :math:`p_{(1)} \\ge p_{(2)} \\ge \\dots`, as the most probable group is asked first. A row that is not
    similar to any placed row has equal probabilities. While there is only one group, all entropies are 0, and
    the row that is least similar to it is taken. Ties are broken at random, reproducibly by the seed.

    Training the forest costs O(T n d log n) for each new clustering, on a random subset of 5,000 rows if
    there are more; it is cached until the labels change. Scoring the rows costs O(T n) for each group.

    Parameters
    ----------
    n_trees : int, default=50
        The number of trees T.

    References
    ----------
    S. Xiong, J. Azimi and X. Z. Fern (2014), Active learning of constraints for semi-supervised clustering,
    IEEE TKDE 26(1), algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import NormalizedPointUncertainty
    >>> X = np.array([[0.0], [0.1], [1.0], [5.0], [5.1], [9.0]])
    >>> hints = Supervision.from_links(6, cannot=[(0, 4)])
    >>> state = InterviewState.from_data(X, hints, n_clusters=2, labels=np.array([0, 0, 0, 1, 1, 1]))
    >>> questions = NormalizedPointUncertainty().choose(state, 4)
    >>> len(questions), bool(questions[0].score >= questions[1].score)
    (4, True)
    """

    n_trees: int = 50

    name: ClassVar[str] = "npu"
    needs: ClassVar[frozenset[str]] = frozenset({"labels"})
    parameter_rules: ClassVar[dict[str, Rule]] = {"n_trees": Rule.integer(1)}

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        places = PlacedRows.from_state(state)
        if not len(places.unplaced):
            return []
        similarity = compute_group_similarities(self._find_leaves(state), places)
        chance = compute_probabilities(similarity)
        scores = compute_normalized_uncertainty(chance) if places.n_groups > 1 else -similarity[:, 0]
        rows = order_by_score(state, places, scores)

        def explain(row: int) -> str:
            return f"may belong to any of {np.exp(_compute_entropy(chance[row])):.1f} groups, at little cost"

        return place(state, places, Placing(rows, explain, scores, likely=lambda row: chance[row]), n)

    def _find_leaves(self, state: InterviewState) -> IntArray:
        """Return the leaf of each row in each tree, shape (n_samples, n_trees)."""
        from sklearn.ensemble import RandomForestClassifier

        labels = get_model_labels(state, self.name)

        def compute() -> IntArray:
            forest = RandomForestClassifier(self.n_trees, random_state=state.random_state % 2**32)
            # The subset is drawn here: with max_samples each tree would handle the weights of all rows.
            some = draw_some_of_each(labels, _MOST_ROWS, state.random_state)
            return np.asarray(forest.fit(state.X[some], labels[some]).apply(state.X))

        key = ("npu leaves", self.n_trees, state.random_state)
        return cache_result(state, key, compute, labels)


def draw_some_of_each(labels: IntArray, n: int, random_state: int) -> IntArray:
    """Return a random subset of about n rows with some of each cluster; all rows if there are not more."""
    if len(labels) <= n:
        return np.arange(len(labels))
    order = np.random.default_rng(random_state).permutation(len(labels))
    each = [order[labels[order] == z][:_FROM_EACH] for z in np.unique(labels)]
    return np.unique(np.concatenate([order[:n], *each]))


def compute_group_similarities(leaves: IntArray, places: PlacedRows) -> FloatArray:
    """Return the mean similarity of each row to the rows of each group, shape (n_samples, n_groups)."""
    placed = places.placed
    found = np.zeros((len(leaves), places.n_groups))
    for leaf in leaves.T:
        # Count the rows of each group in each leaf; no pairs of rows are needed.
        table = np.zeros((int(leaf.max()) + 1, places.n_groups))
        np.add.at(table, (leaf[placed], places.group[placed]), 1.0)
        found += table[leaf]
    return np.asarray(found / (leaves.shape[1] * np.array([len(rows) for rows in places.members])))


def compute_probabilities(similarity: FloatArray) -> FloatArray:
    """Return the probability of each group for each row; equal if all similarities are 0."""
    total = similarity.sum(axis=1, keepdims=True)
    even = np.full_like(similarity, 1.0 / similarity.shape[1])
    return np.asarray(np.divide(similarity, total, out=even, where=total > 0))


def _compute_entropy(chance: FloatArray) -> FloatArray:
    log = np.log(chance, out=np.zeros_like(chance), where=chance > 0)
    return np.asarray(-(chance * log).sum(axis=-1))


def compute_normalized_uncertainty(chance: FloatArray) -> FloatArray:
    """Return the entropy of each row's group, divided by the expected number of questions."""
    ordered = -np.sort(-chance, axis=1)
    questions = ordered @ np.arange(1.0, chance.shape[1] + 1)
    return _compute_entropy(ordered) / questions
