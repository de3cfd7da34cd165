"""The strategies by name, and the models of strategies that need a specific one."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any

from likewise.active import strategies
from likewise.active._state import Strategy

DEFAULT = "default"  # the strategy that an interview uses by default
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
# These strategies need probabilities, which the default model does not have. This layer does not import
# estimators, so the model is imported by name when it is needed.
_BAYESIAN = ("likewise.bayesian", "BayesianClustering")
_MODELS = dict.fromkeys(("uncertain", "info", "info-triplet"), _BAYESIAN)


def make_strategy(name: str) -> Strategy | None:
    """Return the strategy with a name; None for "default", which lets the interview choose.

    >>> from likewise.active._registry import make_strategy
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
    if name not in _MODELS:
        return None
    module, model = _MODELS[name]
    return getattr(importlib.import_module(module), model)(n_clusters=n_clusters)
