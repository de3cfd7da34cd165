"""The clustering methods, by their names on the command line.

The kinds of hints that each method supports are listed here, so that an unsuitable method is rejected without
importing any.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import click

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
# For each option, the parameter that it sets and the methods that it applies to.
_OPTIONS = {
    "--max-iter": ("max_iter", "iterative methods"),
    "--metric": ("metric", "methods that learn a metric"),
    "--per-cluster": ("per_cluster", "methods that learn a metric"),
    "--covariance": ("covariance_type", "mixtures of Gaussians"),
    "--tau": ("tau", "the discriminative method"),
    "--affinity": ("affinity", "spectral methods"),
    "--neighbors": ("n_neighbors", "spectral methods"),
    "--drop-cannot": ("cannot", "the method that uses must-links only"),
    "--alpha": ("alpha", "clustering from bags"),
    "--variant": ("variant", "clustering from bags"),
}


def build_options(method: str, *, n_init: int | None = None, **own: Any) -> dict[str, Any]:
    """Return the parameters that the options set; raise an error for an option that the method lacks.

    `own` are the method-specific options, by parameter name; None means that the option was not given.
    """
    given = {"n_init": n_init}
    for option, (parameter, what) in _OPTIONS.items():
        value = own.get(parameter)
        if value is not None and option not in METHODS[method].options:
            fitting = [name for name, other in METHODS.items() if option in other.options]
            raise click.UsageError(f"{option} is for {what} ({', '.join(fitting)}), not for {method}.")
        given[parameter] = value
    return {name: value for name, value in given.items() if value is not None}


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
