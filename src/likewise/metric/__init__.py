"""Metrics learned from hints: transformers, and a clusterer with a separate metric for each cluster."""

from likewise.metric._itml import ITML
from likewise.metric._lsml import LSML
from likewise.metric._mmc import MMC
from likewise.metric._rca import RCA
from likewise.metric._relative_svm import RelativeSVM
from likewise.metric._sparse_lp import SparseLP
from likewise.metric._sssvad import SSSVaD

__all__ = ["ITML", "LSML", "MMC", "RCA", "RelativeSVM", "SSSVaD", "SparseLP"]
