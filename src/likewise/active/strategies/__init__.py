"""Query strategies, one file each: functions of the state of an interview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.active.strategies._farthest_first import FarthestFirst, MinMax
from likewise.active.strategies._fill_tray import FillTray
from likewise.active.strategies._information_gain import InformationGain
from likewise.active.strategies._knn import ProbabilisticKNN
from likewise.active.strategies._marginal import MarginalUncertainty
from likewise.active.strategies._node_uncertainty import NodeUncertainty
from likewise.active.strategies._point_uncertainty import NormalizedPointUncertainty
from likewise.active.strategies._quire import QUIRE
from likewise.active.strategies._random import RandomPairs
from likewise.active.strategies._spectral import ActiveSpectral
from likewise.active.strategies._third_row import Alternating, WithThird
from likewise.active.strategies._uncertain_regions import UncertainRegions

if TYPE_CHECKING:
    from likewise.active._state import Strategy

__all__ = [
    "QUIRE",
    "ActiveSpectral",
    "Alternating",
    "FarthestFirst",
    "FillTray",
    "InformationGain",
    "MarginalUncertainty",
    "MinMax",
    "NodeUncertainty",
    "NormalizedPointUncertainty",
    "ProbabilisticKNN",
    "RandomPairs",
    "UncertainRegions",
    "WithThird",
]


def make_default_strategy(has_model: bool, own_model: bool = False) -> Strategy:
    """Return the default strategy of an interview.

    With the default model this is UncertainRegions, which needs the classes of that model. With another model
    it is NodeUncertainty, which finds a row of every group, farthest first, and then places rows whose
    neighbours are in other clusters. Without a model it is FarthestFirst, which then places random rows.
    """
    if not has_model:
        return FarthestFirst()
    return NodeUncertainty("local") if own_model else UncertainRegions()
