"""The strategies and models of interviews, by their names on the command line.

The names are listed here so that an unknown name is rejected without importing any strategy.
"""

from __future__ import annotations

import difflib
from typing import Any

import click

from likewise.cli._methods import LINKS, METHODS, Method

STRATEGIES = {
    "default": "the default model and strategy of interviews",
    "regions": "rows that represent many uncertain ones; the strategy of the default",
    "tray": "trays of rows to sort into piles",
    "random": "pairs drawn at random",
    "triplets": "like regions, with a third row added to each pair",
    "both": "like regions, alternating pairs and triplets",
    "farthest-first": "distant rows until each group has one, then random rows",
    "min-max": "like farthest-first, then the row farthest from the rows already placed",
    "npu": "rows with the highest uncertainty per expected question",
    "node-local": "rows whose neighbours are in other clusters",
    "node-global": "rows that a mixture fitted to all rows is unsure of",
    "node-density": "rows that the densities of the clusters are unsure of",
    "node-compound": "rows that both their neighbours and the densities are unsure of",
    "asc": "the pair that a spectral embedding most likely gets wrong",
    "quire": "rows with the smallest worst-case loss over their possible groups",
    "pknn": "rows whose most probable group is least probable given the nearest placed rows",
    "uncertain": "the pair that the model is least sure of",
    "info": "the pair whose answer is most informative about the model",
    "info-triplet": "the triplet whose answer is most informative about the model",
}
# Answers become must-links and cannot-links, so only methods that use both can be models.
MODELS = {
    **{name: method for name, method in METHODS.items() if method.uses >= LINKS and name != "spectral-reg"},
    "bayesian": Method("likewise.bayesian:BayesianClustering"),
}


class StrategyNames(click.ParamType):
    """Names of strategies, separated by commas; the error for an unknown name suggests the closest one."""

    name = "strategies"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip().lower() for name in str(value).split(",") if name.strip()))
        if not names:
            self.fail(f"expected the name of a strategy: {', '.join(STRATEGIES)}.", param, ctx)
        for name in names:
            if name not in STRATEGIES:
                close = difflib.get_close_matches(name, STRATEGIES, n=1)
                meant = (
                    f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(STRATEGIES)}."
                )
                self.fail(f"there is no strategy {name!r}; {meant}", param, ctx)
        return names


class StrategyName(StrategyNames):
    """The name of one strategy."""

    name = "strategy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        names = super().convert(value, param, ctx)
        if len(names) > 1:
            self.fail(f"expected one strategy; got {len(names)}: {value!r}.", param, ctx)
        return names[0]


def make_named_model(name: str, n_clusters: int) -> Any:
    """Return the model with this name; an interview sets its seed."""
    return MODELS[name].estimator(n_clusters=n_clusters)


def make_strategy_and_model(name: str, n_clusters: int, model: str | None = None) -> tuple[Any, Any]:
    """Return the strategy with this name and its model for ``Interview``; None stands for the default.

    `model` is the name of the model. Without it, a strategy that uses probabilities gets
    ``BayesianClustering``.
    """
    from likewise.active.strategies import make_model, make_strategy

    chosen = make_model(name, n_clusters) if model is None else make_named_model(model, n_clusters)
    return make_strategy(name), chosen
