"""How well a clustering agrees with the truth, and how far it keeps the hints.

Every score is worked out from the contingency table (rows that share a class and a cluster) or from the
labels of the rows that a hint names; no list of all pairs of rows is ever built.
"""

from __future__ import annotations

from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    rand_score,
    v_measure_score,
)

from likewise.evaluation._agreement import (
    PairwiseScores,
    pairwise_f,
    pairwise_precision_recall_f,
    purity_score,
)
from likewise.evaluation._satisfaction import (
    Satisfaction,
    TripletSatisfaction,
    link_satisfaction,
    triplet_satisfaction,
)
from likewise.evaluation._scores import Rows, Scores, scores

__all__ = [
    "PairwiseScores",
    "Rows",
    "Satisfaction",
    "Scores",
    "TripletSatisfaction",
    "adjusted_rand_score",
    "link_satisfaction",
    "normalized_mutual_info_score",
    "pairwise_f",
    "pairwise_precision_recall_f",
    "purity_score",
    "rand_score",
    "scores",
    "triplet_satisfaction",
    "v_measure_score",
]
