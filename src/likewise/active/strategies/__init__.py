"""Strategies that choose questions, one file each: functions of what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.active.strategies._farthest_first import FarthestFirst
from likewise.active.strategies._marginal import MarginalUncertainty
from likewise.active.strategies._min_max import MinMax
from likewise.active.strategies._node_uncertainty import NodeUncertainty
from likewise.active.strategies._point_uncertainty import NormalizedPointUncertainty
from likewise.active.strategies._random import RandomPairs

if TYPE_CHECKING:
    from likewise.active._state import Strategy

__all__ = [
    "FarthestFirst",
    "MarginalUncertainty",
    "MinMax",
    "NodeUncertainty",
    "NormalizedPointUncertainty",
    "RandomPairs",
]


def default_strategy(has_model: bool) -> Strategy:
    """Return the strategy that an interview uses if it was given none.

    It explores farthest first until there is a row of every group. Then it places rows whose neighbours are
    in other clusters if there is a model to make clusters, and rows at random if there is none.
    """
    return NodeUncertainty("local") if has_model else FarthestFirst()
