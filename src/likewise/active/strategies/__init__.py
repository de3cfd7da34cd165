"""Strategies that choose questions, one file each: functions of what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.active.strategies._farthest_first import FarthestFirst
from likewise.active.strategies._information import InformationGain
from likewise.active.strategies._knn import ProbabilisticKNN
from likewise.active.strategies._marginal import MarginalUncertainty
from likewise.active.strategies._min_max import MinMax
from likewise.active.strategies._node_uncertainty import NodeUncertainty
from likewise.active.strategies._point_uncertainty import NormalizedPointUncertainty
from likewise.active.strategies._quire import QUIRE
from likewise.active.strategies._random import RandomPairs
from likewise.active.strategies._regions import UncertainRegions
from likewise.active.strategies._spectral import ActiveSpectral
from likewise.active.strategies._tray import FillTray
from likewise.active.strategies._triplets import Alternating, WithThird

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


def default_strategy(has_model: bool, own_model: bool = False) -> Strategy:
    """Return the strategy that an interview uses if it was given none.

    With the default model, whose classes it looks at, it asks about regions in doubt. With a model of the
    user's own it explores farthest first until there is a row of every group, and then places rows whose
    neighbours are in other clusters; without a model it places rows at random.
    """
    if not has_model:
        return FarthestFirst()
    return NodeUncertainty("local") if own_model else UncertainRegions()
