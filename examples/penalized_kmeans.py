"""A custom estimator of the k-means family for labels of which some are wrong.

Run it with ``python examples/penalized_kmeans.py``.
"""

from typing import ClassVar

import numpy as np

from likewise import Supervision
from likewise.base import Rule
from likewise.kmeans import SeededKMeans


class PenalizedKMeans(SeededKMeans):
    """Seeded k-means in which a labelled row pays a penalty for leaving the cluster of its class.

    Minimises the sum of squared distances to the centers, plus `label_weight` times the mean squared distance
    between two rows for each labelled row that is not in the cluster of its class. With a weight of 0 this is
    `SeededKMeans`, and with a large weight `ConstrainedKMeans`.
    """

    parameter_rules: ClassVar = {**SeededKMeans.parameter_rules, "label_weight": Rule.real(0)}

    def __init__(self, n_clusters=8, *, label_weight=1.0, init="hints", n_init=5, max_iter=300, tol=1e-4,
                 random_state=None, n_jobs=None):  # fmt: skip
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol,
                         random_state=random_state, n_jobs=n_jobs)  # fmt: skip
        self.label_weight = label_weight

    def assign_hinted_rows(self, problem):
        """Assign each labelled row to the cluster with the lowest cost, penalty included."""
        classes = problem.hints.label_codes
        is_other = np.arange(problem.costs.shape[1]) != classes[:, None]
        return (problem.costs + self.label_weight * problem.scale * is_other).argmin(axis=1)

    def compute_penalty(self, labels, problem):
        """Return the penalty for labelled rows outside the cluster of their class."""
        return self.label_weight * problem.scale * np.count_nonzero(labels != problem.hints.label_codes)


if __name__ == "__main__":
    X = [[0.0], [0.2], [0.4], [0.6], [5.0], [5.2], [5.4], [5.6]]
    hints = Supervision.from_labels(["a", None, "a", "b", "b", None, "b", None])  # row 3 has a wrong label
    for label_weight in (0.0, 0.5, 100.0):
        model = PenalizedKMeans(n_clusters=2, label_weight=label_weight).fit(X, supervision=hints)
        print(label_weight, [model.classes_[label] for label in model.labels_])
