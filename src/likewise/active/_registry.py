"""Strategies by the names that people type, and the models that those which want a certain one go with."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any

from likewise.active import strategies
from likewise.active._state import Strategy

DEFAULT = "default"  # what an interview uses if it is given neither strategy nor model
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "regions": strategies.UncertainRegions,
    "tray": strategies.FillTray,
    "random": strategies.RandomPairs,
    "triplets": strategies.WithThird,
    "both": strategies.Alternating,
    "farthest-first": strategies.FarthestFirst,
    "min-max": strategies.MinMax,
    "npu": strategies.NormalizedPointUncertainty,
    "node-local": lambda: strategies.NodeUncertainty("local"),
    "node-global": lambda: strategies.NodeUncertainty("global"),
    "node-density": lambda: strategies.NodeUncertainty("density"),
    "node-compound": lambda: strategies.NodeUncertainty("compound"),
    "asc": strategies.ActiveSpectral,
    "quire": strategies.QUIRE,
    "pknn": strategies.ProbabilisticKNN,
    "uncertain": strategies.MarginalUncertainty,
    "info": strategies.InformationGain,
    "info-triplet": lambda: strategies.InformationGain("triplet"),
}
# These look at probabilities, which the default model need not give. As no family imports another, the model
# is known by its name.
_BAYESIAN = ("likewise.bayesian", "BayesianClustering")
_MODELS = dict.fromkeys(("uncertain", "info", "info-triplet"), _BAYESIAN)


def make_strategy(name: str) -> Strategy | None:
    """Return the strategy of a name; None for "default", by which an interview chooses for itself.

    >>> from likewise.active._registry import make_strategy
    >>> make_strategy("node-local").name
    'node-local'
    """
    if name == DEFAULT:
        return None
    if name not in STRATEGIES:
        close = difflib.get_close_matches(str(name), (DEFAULT, *STRATEGIES), n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join((DEFAULT, *STRATEGIES))}."
        raise ValueError(f"there is no strategy {name!r}; {meant}")
    return STRATEGIES[name]()


def make_model(name: str, n_clusters: int) -> Any:
    """Return the model that the strategy of a name wants; None if the model of an interview will do."""
    if name not in _MODELS:
        return None
    room, model = _MODELS[name]
    return getattr(importlib.import_module(room), model)(n_clusters=n_clusters)
