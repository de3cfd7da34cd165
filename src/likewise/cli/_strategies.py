"""The strategies and models of interviews that the command line offers, by the names that people type.

What they are called stands here, so that a name can be refused without importing any of them.
"""

from __future__ import annotations

import difflib
from typing import Any

import click

from likewise.cli._methods import LINKS, METHODS, Method

STRATEGIES = {
    "default": "what likewise trusts most, model and strategy",
    "regions": "rows that speak for many in doubt; the strategy of the default",
    "tray": "trays of rows to sort into piles",
    "random": "pairs drawn at random",
    "triplets": "as regions, with a third row beside each two",
    "both": "as regions, pairs and triplets in turn",
    "farthest-first": "far rows until each group has one, then rows at random",
    "min-max": "as farthest-first, then the row farthest from those already placed",
    "npu": "rows uncertain for what they cost to ask",
    "node-local": "rows whose neighbours are in other clusters",
    "node-global": "rows that a mixture of all rows is unsure of",
    "node-density": "rows that densities of all clusters are unsure of",
    "node-compound": "rows that both their neighbours and the densities are unsure of",
    "asc": "the pair that a spectral embedding most likely gets wrong",
    "quire": "rows that leave least to lose, whatever their group",
    "pknn": "rows whose likeliest group is least likely by the nearest placed rows",
    "uncertain": "the pair that the model is least sure of",
    "info": "the pair whose answer tells most about the model",
    "info-triplet": "the three rows whose answer tells most about the model",
}
# Answers are links of both sorts, so that models are the methods that use both.
MODELS = {
    **{name: method for name, method in METHODS.items() if method.uses >= LINKS and name != "spectral-reg"},
    "bayesian": Method("likewise.bayesian:BayesianClustering"),
}


class StrategyNames(click.ParamType):
    """Names of strategies with commas between; a name that is not known gets the closest one shown."""

    name = "strategies"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, each once, in the order given."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip().lower() for name in str(value).split(",") if name.strip()))
        if not names:
            self.fail(f"no strategy is named; there are {', '.join(STRATEGIES)}.", param, ctx)
        for name in names:
            if name not in STRATEGIES:
                close = difflib.get_close_matches(name, STRATEGIES, n=1)
                meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(STRATEGIES)}."
                self.fail(f"there is no strategy {name!r}; {meant}", param, ctx)
        return names


class StrategyName(StrategyNames):
    """The name of one strategy."""

    name = "strategy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        names = super().convert(value, param, ctx)
        if len(names) > 1:
            self.fail(f"{value!r} names {len(names)} strategies; wanted one.", param, ctx)
        return names[0]


def make_named_model(name: str, n_clusters: int) -> Any:
    """Make the model of a name; an interview gives it its seed."""
    return MODELS[name].estimator(n_clusters=n_clusters)


def make_strategy_and_model(name: str, n_clusters: int, model: str | None = None) -> tuple[Any, Any]:
    """Make the strategy and the model of a name, as ``Interview`` takes them: None is its own choice.

    `model` is the name of the model that was asked for. Without it a strategy that looks at probabilities
    gets ``BayesianClustering``.
    """
    from likewise.active._registry import make_model, make_strategy

    chosen = make_model(name, n_clusters) if model is None else make_named_model(model, n_clusters)
    return make_strategy(name), chosen
