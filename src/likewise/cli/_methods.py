"""The clustering methods, by their names on the command line: their hints, their options, and fitting.

The kinds of hints and the options of each method are listed here, so that an unsuitable method is rejected
without importing any; tests compare them with the estimators.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import option
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    SupervisionError,
    UnsupportedSupervisionError,
    render,
)

if TYPE_CHECKING:
    from likewise.supervision import RowIds, Supervision

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


def _parameter(name: str, what: str, **settings: Any) -> Any:
    """Declare an option of some methods only; `what` describes them."""
    return field(metadata={**option(name, **settings).metadata, "option": name, "what": what})


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """The parameters of the estimators that can be set, by their names; None if the option is not given."""

    metric: str | None = _parameter(
        "--metric",
        "methods that learn a metric",
        type=click.Choice(["full", "diagonal"]),
        help="The kind of metric to learn.",
    )
    per_cluster: bool | None = _parameter(
        "--per-cluster",
        "methods that learn a metric",
        is_flag=True,
        default=None,
        help="Learn a metric for each cluster.",
    )
    covariance_type: str | None = _parameter(
        "--covariance",
        "mixtures of Gaussians",
        type=click.Choice(["full", "tied", "diag", "spherical"]),
        help="The covariance type of a mixture of Gaussians.",
    )
    tau: float | None = _parameter(
        "--tau",
        "the discriminative method",
        type=click.FloatRange(min=0),
        help="Weight of the mutual-information term (method discriminative).",
    )
    affinity: str | None = _parameter(
        "--affinity",
        "spectral methods",
        type=click.Choice(["local", "rbf", "neighbors"]),
        help="Similarity of rows in spectral methods. local: RBF with a width per row; rbf: one width; "
        "neighbors: nearest neighbours.",
    )
    n_neighbors: int | None = _parameter(
        "--neighbors",
        "spectral methods",
        type=click.IntRange(min=1),
        help="Number of neighbours of each row in the graph; by default 10 for bag-spectral and propagation "
        "(fewer with few rows), and for the others all rows up to 4,000, 30 neighbours above.",
    )
    alpha: float | None = _parameter(
        "--alpha",
        "clustering from bags",
        type=click.FloatRange(min=0),
        help="Weight of the bags in bag-spectral; by default 1.5, less if not all bags are labelled, and 0.7 "
        "for the variants of the paper.",
    )
    variant: str | None = _parameter(
        "--variant",
        "clustering from bags",
        type=click.Choice(["propagated", "labelled", "exact", "printed"]),
        help="How bag-spectral uses bags; by default propagated. The others are the variants of the paper.",
    )
    cannot: str | None = _parameter(
        "--drop-cannot",
        "the method that uses must-links only",
        flag_value="drop",
        help="Method spectral-reg: drop cannot-links, which it cannot use.",
    )
    n_init: int | None = option(
        "--n-init", type=click.IntRange(min=1), help="Number of starts, of which the best is used."
    )
    max_iter: int | None = _parameter(
        "--max-iter",
        "iterative methods",
        type=click.IntRange(min=1),
        help="Maximum number of iterations of one start.",
    )

    def make_parameters(self, method: str) -> dict[str, Any]:
        """Return the parameters that were given; raise an error for one that the method lacks."""
        given = [(each, value) for each in fields(self) if (value := getattr(self, each.name)) is not None]
        for each, _ in given:
            name = each.metadata.get("option")
            if name is not None and name not in METHODS[method].options:
                fitting = ", ".join(other for other in METHODS if name in METHODS[other].options)
                raise click.UsageError(
                    f"{name} is for {each.metadata['what']} ({fitting}), not for {method}."
                )
        return {each.name: value for each, value in given}


def make_estimator(method: str, n_clusters: int, seed: int, options: dict[str, Any]) -> Any:
    """Return an unfitted estimator for a method."""
    settings = dict(METHODS[method].settings)
    return METHODS[method].estimator(n_clusters, random_state=seed, **settings | options)


def is_blockwise(method: str) -> bool:
    """Return True if a method can cluster rows that are not in memory; imports its module."""
    return bool(getattr(METHODS[method].estimator, "_reads_blocks", False))


def find_methods(kinds: frozenset[str]) -> list[str]:
    """Return the methods that support all of these kinds of hints."""
    return [name for name, method in METHODS.items() if kinds <= method.uses]


def check_honoured(method: str, kinds: frozenset[str]) -> None:
    """Raise an error if a method does not support these hints; the message lists the methods that do."""
    if kinds <= METHODS[method].uses:
        return
    missing = sorted(kinds - METHODS[method].uses)
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


# ---------------------------------------------------------------------- fitting


def select_hints(
    hints: Supervision, method: str, n_clusters: int, as_links: bool, options: dict[str, Any]
) -> Supervision:
    """Return the hints in the form that the method uses; raise an error if it does not support them."""
    if not as_links:
        check_honoured(method, hints.kinds)
        return hints
    if METHODS[method].says_links:
        options["as_links"] = True
        return hints
    links = hints.select_kinds("links", "triplets", "labels").to_links()
    if (bags := hints.bags) is not None:
        n_classes = len({label for labels in bags.labels for label in labels or ()})
        links |= hints.select_kinds("bags").to_links(more_clusters_than_classes=n_clusters > n_classes)
    check_honoured(method, links.kinds)
    return links


def fit_by_ids(model: Any, X: Any, hints: Supervision, ids: RowIds, method: str) -> list[str]:
    """Fit the model and return notes; contradictions are reported with ids instead of row numbers."""
    import warnings

    from likewise.cli._contradictions import find_link_conflicts
    from likewise.supervision import RowIds

    if method == "sss-vad" and (hints.answers == 3).any():
        raise UnsupportedSupervisionError(
            f"{int((hints.answers == 3).sum())} of {len(hints.answers)} triplets have the answer NEITHER, "
            "which --method sss-vad cannot use. Remove them from the file, or use --method discriminative."
        )
    if not hints:
        model.fit(X)
        return []
    rows, few = hints.restrict_to_hinted()  # there may be millions of rows and few hinted ones
    conflicts = (
        find_link_conflicts(few, RowIds.from_ids([ids[row] for row in rows.tolist()])) if len(rows) else []
    )
    if conflicts and METHODS[method].hard:
        raise InconsistentSupervisionError(
            f"the hints contradict one another: {conflicts[0]}. {_format_more(len(conflicts))}{method} "
            "breaks no "
            "link, so it cannot continue. Remove one of these hints, or use a method that may break links, "
            "such as --method pck-means."
        )
    with warnings.catch_warnings():
        if conflicts:
            warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        try:
            model.fit(X, supervision=hints)
        except SupervisionError as error:
            raise type(error)(render(error, ids, words=list_terms())) from error
    if not conflicts:
        return []
    return [
        f"the hints contradict one another: {conflicts[0]}. {_format_more(len(conflicts))}Not all can be "
        "kept."
    ]


def list_terms() -> dict[str, str]:
    """Return the command-line terms for the classes and parameters that errors mention."""
    methods = {method.home.partition(":")[2]: f"--method {name}" for name, method in METHODS.items()}
    return {**methods, "cannot='drop'": "--drop-cannot"}


def _format_more(n_conflicts: int) -> str:
    return f"There are {n_conflicts - 1} more; likewise check lists them. " if n_conflicts > 1 else ""
