"""The clustering methods, by their names on the command line.

The kinds of hints that each method supports are listed here, so that an unsuitable method is rejected without
importing any.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from typing import Any

import click

from likewise.cli._options import option
from likewise.exceptions import UnsupportedSupervisionError

LINKS, LABELS = frozenset({"links"}), frozenset({"labels"})


@dataclass(frozen=True)
class Method:
    """A method of the command line: its class, supported hints and options.

    Attributes
    ----------
    home : str
        ``module:class``.
    uses : frozenset of str
        The kinds of hints that it supports.
    options : frozenset of str
        The command-line options that apply to it, besides those common to all methods.
    hard : bool
        Whether it breaks no link, so that contradictory links are an error.
    says_links : bool
        Whether it converts other hints to links itself, which avoids a list of all pairs.
    settings : tuple of (str, object)
        Parameters that the command line sets, to the same values as an interview.
    """

    home: str
    uses: frozenset[str] = LINKS
    options: frozenset[str] = frozenset({"--max-iter"})
    hard: bool = False
    says_links: bool = False
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def estimator(self) -> Any:
        """The estimator class; its module is imported on first use."""
        module, _, name = self.home.partition(":")
        return getattr(importlib.import_module(module), name)


_ITERATES = frozenset({"--max-iter"})
_METRIC = _ITERATES | {"--metric", "--per-cluster"}
_COVARIANCE = _ITERATES | {"--covariance"}
_GRAPH = frozenset({"--affinity", "--neighbors"})
METHODS = {
    "mpck-means": Method("likewise.kmeans:MPCKMeans", options=_METRIC),
    "pck-means": Method("likewise.kmeans:PCKMeans"),
    "mk-means": Method("likewise.kmeans:MKMeans", options=_METRIC),
    "mini-batch-mpck-means": Method("likewise.kmeans:MiniBatchMPCKMeans", options=_METRIC),
    "mini-batch-pck-means": Method("likewise.kmeans:MiniBatchPCKMeans"),
    "cop-k-means": Method("likewise.kmeans:COPKMeans", hard=True),
    "constrained-k-means": Method("likewise.kmeans:ConstrainedKMeans", uses=LABELS),
    "seeded-k-means": Method("likewise.kmeans:SeededKMeans", uses=LABELS),
    "gm-pr": Method("likewise.mixture:PairwiseGaussianMixture", options=_COVARIANCE),
    "mini-batch-gm-pr": Method("likewise.mixture:MiniBatchPairwiseGaussianMixture", options=_COVARIANCE),
    "gmm-ec": Method("likewise.mixture:EquivalenceGaussianMixture", options=_COVARIANCE),
    "em-pc": Method("likewise.mixture:PosteriorConstrainedGaussianMixture", options=_COVARIANCE),
    "discriminative": Method(
        "likewise.discriminative:DiscriminativeClustering",
        uses=frozenset({"links", "triplets"}),
        options=_ITERATES | {"--tau"},
    ),
    "mini-batch-discriminative": Method(
        "likewise.discriminative:MiniBatchDiscriminativeClustering",
        uses=frozenset({"links", "triplets"}),
        options=_ITERATES | {"--tau"},
    ),
    "sss-vad": Method("likewise.metric:SSSVaD", uses=frozenset({"triplets"})),
    "bag-spectral": Method(
        "likewise.spectral:BagSpectralClustering",
        uses=frozenset({"bags", "labels", "links"}),
        options=_GRAPH | {"--alpha", "--variant"},
        says_links=True,
    ),
    "spectral-learning": Method("likewise.spectral:SpectralLearning", options=_GRAPH, says_links=True),
    "spectral-reg": Method(
        "likewise.spectral:RegularizedSpectralClustering",
        options=_GRAPH | {"--drop-cannot"},
        says_links=True,
    ),
    "flexible-spectral": Method(
        "likewise.spectral:FlexibleSpectralClustering", options=_GRAPH, says_links=True
    ),
    "propagation": Method(
        "likewise.spectral:PropagationClustering",
        options=frozenset({"--neighbors"}),
        settings=(("error_rate", "learn"), ("learn_metric", True)),
    ),
    "kernel-k-means": Method(
        "likewise.spectral:ConstrainedKernelKMeans", options=_GRAPH | _ITERATES, says_links=True
    ),
    "k-means": Method(
        "sklearn.cluster:KMeans", uses=frozenset(), settings=(("n_init", 10),)
    ),  # uses no hints
}
DEFAULT = "mpck-means"


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """The parameters of the estimators that can be set, by their names; None if the option is not given."""

    metric: str | None = option(
        "--metric", type=click.Choice(["full", "diagonal"]), help="The kind of metric to learn."
    )
    per_cluster: bool | None = option(
        "--per-cluster", is_flag=True, default=None, help="Learn a metric for each cluster."
    )
    covariance_type: str | None = option(
        "--covariance",
        type=click.Choice(["full", "tied", "diag", "spherical"]),
        help="The covariance type of a mixture of Gaussians.",
    )
    tau: float | None = option(
        "--tau",
        type=click.FloatRange(min=0),
        help="Weight of the mutual-information term (method discriminative).",
    )
    affinity: str | None = option(
        "--affinity",
        type=click.Choice(["local", "rbf", "neighbors"]),
        help="Similarity of rows in spectral methods: RBF with local or one common width, or nearest "
        "neighbours.",
    )
    n_neighbors: int | None = option(
        "--neighbors",
        type=click.IntRange(min=1),
        help="Number of neighbours of each row in the graph; by default all up to a few thousand rows, 10 "
        "for bag-spectral.",
    )
    alpha: float | None = option(
        "--alpha",
        type=click.FloatRange(min=0),
        help="Weight of the bags in bag-spectral; by default 1.5, less if few bags are labelled.",
    )
    variant: str | None = option(
        "--variant",
        type=click.Choice(["propagated", "labelled", "exact", "printed"]),
        help="How bag-spectral uses bags; by default propagated. The others are the variants of the paper.",
    )
    cannot: str | None = option(
        "--drop-cannot", flag_value="drop", help="Leave out cannot-links, which spectral-reg does not use."
    )
    n_init: int | None = option(
        "--n-init", type=click.IntRange(min=1), help="Number of starts, of which the best is used."
    )
    max_iter: int | None = option(
        "--max-iter", type=click.IntRange(min=1), help="Maximum number of iterations of one start."
    )

    def make_parameters(self, method: str) -> dict[str, Any]:
        """Return the parameters that were given; raise an error for one that the method lacks."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for parameter, (name, what) in _APPLIES_TO.items():
            if given[parameter] is not None and name not in METHODS[method].options:
                fitting = [other for other in METHODS if name in METHODS[other].options]
                raise click.UsageError(f"{name} is for {what} ({', '.join(fitting)}), not for {method}.")
        return {name: value for name, value in given.items() if value is not None}


# For each parameter, the option that sets it and the methods that it applies to.
_APPLIES_TO = {
    "max_iter": ("--max-iter", "iterative methods"),
    "metric": ("--metric", "methods that learn a metric"),
    "per_cluster": ("--per-cluster", "methods that learn a metric"),
    "covariance_type": ("--covariance", "mixtures of Gaussians"),
    "tau": ("--tau", "the discriminative method"),
    "affinity": ("--affinity", "spectral methods"),
    "n_neighbors": ("--neighbors", "spectral methods"),
    "cannot": ("--drop-cannot", "the method that uses must-links only"),
    "alpha": ("--alpha", "clustering from bags"),
    "variant": ("--variant", "clustering from bags"),
}


def make_estimator(method: str, n_clusters: int, seed: int, options: dict[str, Any]) -> Any:
    """Return an unfitted estimator for a method."""
    settings = dict(METHODS[method].settings)
    return METHODS[method].estimator(n_clusters, random_state=seed, **settings | options)


def is_blockwise(method: str) -> bool:
    """Return True if a method can cluster rows that are not in memory; imports its module."""
    return bool(getattr(METHODS[method].estimator, "_reads_blocks", False))


def get_honoured_kinds(method: str) -> frozenset[str]:
    """Return the kinds of hints that a method supports."""
    return METHODS[method].uses


def find_methods(kinds: frozenset[str]) -> list[str]:
    """Return the methods that support all of these kinds of hints."""
    return [name for name, method in METHODS.items() if kinds <= method.uses]


def check_honoured(method: str, kinds: frozenset[str]) -> None:
    """Raise an error if a method does not support these hints; the message lists the methods that do."""
    if kinds <= get_honoured_kinds(method):
        return
    missing = sorted(kinds - get_honoured_kinds(method))
    fitting = find_methods(kinds)
    if fitting:
        way_on = f"These methods use them: {', '.join(fitting)}."
    else:
        way_on = "No method uses them directly."
    with_links = [name for name in METHODS if METHODS[name].says_links or METHODS[name].uses >= LINKS]
    raise UnsupportedSupervisionError(
        f"--method {method} does not use {' or '.join(missing)}; hints are never ignored. {way_on} Or add "
        f"--as-links, which converts all hints to links, for "
        f"{', '.join(with_links)}."
    )
