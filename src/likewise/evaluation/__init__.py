"""Scores: agreement with true classes, satisfaction of hints, and the information in hints.

:class:`HintSearchCV` selects a model by held-out hints, without true classes.

Every score is computed from the contingency table of classes and clusters or from the labels of the
hinted rows; the pairs of rows are never enumerated.
"""

from __future__ import annotations

from likewise.evaluation._cluster_descriptions import ClusterDescription as ClusterDescription
from likewise.evaluation._cluster_descriptions import ColumnDifference as ColumnDifference
from likewise.evaluation._cluster_descriptions import describe_clusters
from likewise.evaluation._hint_cv import HeldOut as HeldOut
from likewise.evaluation._hint_cv import HintScoring as HintScoring
from likewise.evaluation._hint_cv import HintValidation as HintValidation
from likewise.evaluation._hint_cv import cross_validate_hints
from likewise.evaluation._hint_folds import HintFold as HintFold
from likewise.evaluation._hint_folds import HintKFold
from likewise.evaluation._hint_information import (
    HintInformation as HintInformation,
)
from likewise.evaluation._hint_information import (
    compare_hints,
)
from likewise.evaluation._hint_search import HintSearchCV
from likewise.evaluation._satisfaction import (
    Satisfaction as Satisfaction,
)
from likewise.evaluation._satisfaction import (
    TripletSatisfaction as TripletSatisfaction,
)
from likewise.evaluation._satisfaction import (
    link_satisfaction,
    triplet_satisfaction,
)
from likewise.evaluation._scores import (
    Rows as Rows,
)
from likewise.evaluation._scores import (
    Scores as Scores,
)
from likewise.evaluation._scores import check_same_rows as check_same_rows
from likewise.evaluation._scores import (
    pairwise_f,
    purity_score,
    scores,
)
from likewise.evaluation._tree_distances import ancestor_f1, robinson_foulds

__all__ = [
    "HintKFold",
    "HintSearchCV",
    "ancestor_f1",
    "compare_hints",
    "cross_validate_hints",
    "describe_clusters",
    "link_satisfaction",
    "pairwise_f",
    "purity_score",
    "robinson_foulds",
    "scores",
    "triplet_satisfaction",
]
