"""Multi-label classifiers that model dependence between labels and labels that were not recorded."""

from likewise.multilabel._binary_relevance import BinaryRelevance
from likewise.multilabel._chow_liu import ChowLiuTree
from likewise.multilabel._clique import CliqueLabelGraph
from likewise.multilabel._fast_tag import FastTag
from likewise.multilabel._latent import LatentHierarchyClassifier
from likewise.multilabel._latent import Suggestion as Suggestion
from likewise.multilabel._summary import HierarchySummary as HierarchySummary

__all__ = [
    "BinaryRelevance",
    "ChowLiuTree",
    "CliqueLabelGraph",
    "FastTag",
    "LatentHierarchyClassifier",
]
