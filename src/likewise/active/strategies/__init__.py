"""Query strategies, one file each: functions of the state of an interview."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from likewise._parts import get_part
from likewise.active._state import Strategy
from likewise.active.strategies._farthest_first import FarthestFirst, MinMax
from likewise.active.strategies._fill_tray import FillTray
from likewise.active.strategies._group_questions import GroupQuestions
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

__all__ = [
    "QUIRE",
    "ActiveSpectral",
    "Alternating",
    "FarthestFirst",
    "FillTray",
    "GroupQuestions",
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

DEFAULT = "default"  # the strategy that an interview uses by default
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "regions": UncertainRegions,
    "tray": FillTray,
    "random": RandomPairs,
    "groups": GroupQuestions,
    "triplets": WithThird,
    "both": Alternating,
    "farthest-first": FarthestFirst,
    "min-max": MinMax,
    "npu": NormalizedPointUncertainty,
    "node-local": lambda: NodeUncertainty("local"),
    "node-global": lambda: NodeUncertainty("global"),
    "node-density": lambda: NodeUncertainty("density"),
    "node-compound": lambda: NodeUncertainty("compound"),
    "asc": ActiveSpectral,
    "quire": QUIRE,
    "pknn": ProbabilisticKNN,
    "uncertain": MarginalUncertainty,
    "info": InformationGain,
    "info-triplet": lambda: InformationGain("triplet"),
}
_NEED_DRAWS = ("uncertain", "info", "info-triplet")  # or probabilities, which the default model lacks


# With more clusters than this, the default strategy asks about groups. With 20 clusters (COIL-20) 60 pairs
# were better than 60 such questions, with 26 (letter) both were equally good; with 77 pairs tell little.
_MANY_CLUSTERS = 30


def make_default_strategy(n_clusters: int | None, own_model: bool = False) -> Strategy:
    """Return the default strategy of an interview.

    With up to 30 clusters this is UncertainRegions, which needs the classes of the default model. With more,
    or if the number is unknown, it is GroupQuestions, which has its own model. With another model it is
    NodeUncertainty, which finds a row of every group, farthest first, and then places rows whose neighbours
    are in other clusters.
    """
    if own_model:
        return NodeUncertainty("local")
    if n_clusters is None or n_clusters > _MANY_CLUSTERS:
        return GroupQuestions()
    return UncertainRegions()


def make_strategy(name: str) -> Strategy | None:
    """Return the strategy with a name; None for "default", which lets the interview choose.

    >>> from likewise.active.strategies import make_strategy
    >>> make_strategy("node-local").name
    'node-local'
    """
    if name == DEFAULT:
        return None
    if name not in STRATEGIES:
        close = difflib.get_close_matches(str(name), (DEFAULT, *STRATEGIES), n=1)
        meant = (
            f"did you mean {close[0]!r}?"
            if close
            else f"expected one of {', '.join((DEFAULT, *STRATEGIES))}."
        )
        raise ValueError(f"there is no strategy {name!r}; {meant}")
    return STRATEGIES[name]()


def make_model(name: str, n_clusters: int) -> Any:
    """Return the model that a named strategy needs; None if it works with the default model."""
    return get_part("model with draws")(n_clusters=n_clusters) if name in _NEED_DRAWS else None
