"""Clustering methods, and strategies of interviews, by their names on the command line.

The kinds of hints of each method are listed here, so that an unsuitable method is rejected without importing
any; tests compare them with the estimators. Which options apply follows from the parameters of an estimator.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import find_closest, option
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
_LINKS_AND_TRIPLETS = LINKS | {"triplets"}


@dataclass(frozen=True)
class Method:
    """A method of the command line."""

    home: str  # ``module:class``
    uses: frozenset[str] = LINKS  # the kinds of hints that it supports
    hard: bool = False  # whether it breaks no link, so that contradictory links are an error
    # Default parameters on the command line; those of propagation equal the defaults of an interview.
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def estimator(self) -> Any:
        """The estimator class; its module is imported on first use."""
        module, _, name = self.home.partition(":")
        return getattr(importlib.import_module(module), name)

    def has_parameters(self, *names: str) -> bool:
        """Return True if its estimator has all of these parameters."""
        return set(names) <= set(self.estimator._get_param_names())


METHODS = {
    "mpck-means": Method("likewise.kmeans:MPCKMeans"),
    "pck-means": Method("likewise.kmeans:PCKMeans"),
    "mk-means": Method("likewise.kmeans:MKMeans"),
    "mini-batch-mpck-means": Method("likewise.kmeans:MiniBatchMPCKMeans"),
    "mini-batch-pck-means": Method("likewise.kmeans:MiniBatchPCKMeans"),
    "cop-k-means": Method("likewise.kmeans:COPKMeans", hard=True),
    "constrained-k-means": Method("likewise.kmeans:ConstrainedKMeans", LABELS),
    "seeded-k-means": Method("likewise.kmeans:SeededKMeans", LABELS),
    "gm-pr": Method("likewise.mixture:PairwiseGaussianMixture"),
    "mini-batch-gm-pr": Method("likewise.mixture:MiniBatchPairwiseGaussianMixture"),
    "gmm-ec": Method("likewise.mixture:EquivalenceGaussianMixture"),
    "em-pc": Method("likewise.mixture:PosteriorConstrainedGaussianMixture"),
    "discriminative": Method("likewise.discriminative:DiscriminativeClustering", _LINKS_AND_TRIPLETS),
    "mini-batch-discriminative": Method(
        "likewise.discriminative:MiniBatchDiscriminativeClustering", _LINKS_AND_TRIPLETS
    ),
    "sss-vad": Method("likewise.metric:SSSVaD", frozenset({"triplets"})),
    "bag-spectral": Method("likewise.spectral:BagSpectralClustering", LINKS | {"bags", "labels"}),
    "spectral-learning": Method("likewise.spectral:SpectralLearning"),
    "spectral-reg": Method("likewise.spectral:RegularizedSpectralClustering"),
    "flexible-spectral": Method("likewise.spectral:FlexibleSpectralClustering"),
    "propagation": Method(
        "likewise.spectral:PropagationClustering", settings=(("error_rate", "learn"), ("learn_metric", True))
    ),
    "kernel-k-means": Method("likewise.spectral:ConstrainedKernelKMeans"),
    "k-means": Method("sklearn.cluster:KMeans", frozenset(), settings=(("n_init", 10),)),
}
DEFAULT = "mpck-means"


def _parameter(name: str, what: str, *, beside: tuple[str, ...] = (), **settings: Any) -> Any:
    """Declare an option of the methods whose estimators have a parameter with the name of the field.

    `what` describes these methods; `beside`: parameters that the estimator must have as well.
    """
    declared = option(name, **settings).metadata
    return field(metadata={**declared, "option": name, "what": what, "beside": beside})


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Options that set parameters of the estimator; each field is named after its parameter.

    A field is None if the option is not given.
    """

    metric: str | None = _parameter(
        "--metric",
        "methods of the k-means family and of graphs",
        type=click.Choice(["full", "diagonal", "euclidean", "cosine"]),
        help="full or diagonal: the kind of metric to learn. cosine: compare the directions of rows, as is "
        "usual for texts and embeddings, in methods of graphs and k-means methods that learn no metric.",
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
        beside=("variant",),  # elsewhere, alpha is another parameter
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
        given = {each: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        for each in given:
            if "option" not in each.metadata:
                continue
            names = (each.name, *each.metadata["beside"])
            if not METHODS[method].has_parameters(*names):
                fitting = ", ".join(name for name, other in METHODS.items() if other.has_parameters(*names))
                raise click.UsageError(
                    f"{each.metadata['option']} is for {each.metadata['what']} ({fitting}), not for {method}."
                )
            rule = getattr(METHODS[method].estimator, "parameter_rules", {}).get(each.name)
            if rule is not None and not rule.holds(given[each]):
                raise click.UsageError(
                    f"{each.metadata['option']} of {method} must be {rule.expected}, got {given[each]!r}."
                )
        return {each.name: value for each, value in given.items()}


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


def check_supported(method: str, kinds: frozenset[str]) -> None:
    """Raise an error if a method does not support these hints; the message lists the methods that do."""
    if kinds <= METHODS[method].uses:
        return
    missing = sorted(kinds - METHODS[method].uses)
    fitting = find_methods(kinds)
    way_on = f"These methods use them: {', '.join(fitting)}." if fitting else "No method uses them directly."
    with_links = [name for name, other in METHODS.items() if other.uses >= LINKS]
    raise UnsupportedSupervisionError(
        f"--method {method} does not use {' or '.join(missing)}; hints are never ignored. {way_on} Or add "
        f"--as-links, which converts all hints to links, for {', '.join(with_links)}."
    )


# ---------------------------------------------------------------------- fitting


def prepare_hints(
    hints: Supervision, method: str, n_clusters: int, as_links: bool, options: dict[str, Any]
) -> Supervision:
    """Return the hints in the form that the method uses; raise an error if it does not support them.

    May set ``options["as_links"]``.
    """
    if not as_links:
        check_supported(method, hints.kinds)
        return hints
    if METHODS[method].has_parameters("as_links"):  # it avoids a list of all pairs
        options["as_links"] = True
        return hints
    links = hints.select_kinds("links", "triplets", "labels").to_links()
    if (bags := hints.bags) is not None:
        n_classes = len({label for labels in bags.labels for label in labels or ()})
        links |= hints.select_kinds("bags").to_links(more_clusters_than_classes=n_clusters > n_classes)
    check_supported(method, links.kinds)
    return links


@dataclass(frozen=True)
class LinkConflict:
    """Two cannot-linked rows that a chain of must-links or labels joins."""

    a: str
    b: str
    chain: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.a} ≠ {self.b}, yet {' = '.join(self.chain)}"


def find_link_conflicts(hints: Supervision, ids: RowIds | list[str]) -> list[LinkConflict]:
    """Return the cannot-links that must-links contradict; labels count as links.

    >>> from likewise.supervision import Supervision
    >>> hints = Supervision.from_links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    >>> print(find_link_conflicts(hints, ["wren", "finch", "owl"])[0])
    wren ≠ owl, yet wren = finch = owl
    """
    closed = hints.select_kinds("links", "labels").to_links().closure(on_conflict="drop")
    return [
        LinkConflict(ids[i], ids[j], tuple(ids[row] for row in closed.path(i, j)))
        for i, j in closed.conflicts.tolist()
    ]


@contextmanager
def report_by_ids(hints: Supervision, ids: RowIds, method: str) -> Iterator[list[str]]:
    """Report contradictions between the hints of a fit with ids instead of row numbers; yield notes."""
    import warnings

    if method == "sss-vad" and (hints.answers == 3).any():
        raise UnsupportedSupervisionError(
            f"{int((hints.answers == 3).sum())} of {len(hints.answers)} triplets have the answer NEITHER, "
            "which --method sss-vad cannot use. Remove them from the file, or use --method discriminative."
        )
    if not hints.kinds:
        yield []
        return
    rows, few = hints.restrict_to_hinted()  # there may be millions of rows and few hinted ones
    conflicts = find_link_conflicts(few, [ids[row] for row in rows.tolist()])
    contradiction = f"the hints contradict one another: {conflicts[0]}. " if conflicts else ""
    if len(conflicts) > 1:
        contradiction += f"There are {len(conflicts) - 1} more; likewise check lists them. "
    if conflicts and METHODS[method].hard:
        raise InconsistentSupervisionError(
            f"{contradiction}{method} breaks no link, so it cannot continue. Remove one of these hints, or "
            "use a method that may break links, such as --method pck-means."
        )
    with warnings.catch_warnings():
        if conflicts:
            warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        try:
            yield [f"{contradiction}Not all can be kept."] if conflicts else []
        except SupervisionError as error:
            raise type(error)(render(error, ids, words=list_terms())) from error


def list_terms() -> dict[str, str]:
    """Return the command-line terms for the classes and parameters that errors mention."""
    methods = {method.home.partition(":")[2]: f"--method {name}" for name, method in METHODS.items()}
    return {**methods, "cannot='drop'": "--drop-cannot"}


# ---------------------------------------------------------------------- strategies of interviews

STRATEGIES = {
    "default": "the default model and strategy of interviews",
    "regions": "rows that represent many uncertain ones; the default strategy",
    "tray": "trays of rows to sort into piles",
    "random": "pairs drawn at random",
    "groups": "placements in groups and looks at groups; for many groups, with a model of its own",
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


def make_name_error(what: str, name: str, known: Iterable[str]) -> click.BadParameter:
    """Return the error for an unknown name, which suggests the closest name or lists all."""
    close = find_closest(name, known)
    meant = f"did you mean {close!r}?" if close else f"expected one of {', '.join(known)}."
    return click.BadParameter(f"there is no {what} {name!r}; {meant}")


def parse_strategies(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Parse names of strategies, separated by commas; the error for an unknown one suggests the closest."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter(f"expected the name of a strategy: {', '.join(STRATEGIES)}.")
    for name in names:
        if name not in STRATEGIES:
            raise make_name_error("strategy", name, STRATEGIES)
    return names


def strategy_option() -> Any:
    """Declare a field as the name of one strategy."""

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        if value is None:
            return None
        names = parse_strategies(ctx, param, value)
        if len(names) > 1:
            raise click.BadParameter(f"expected one strategy; got {len(names)}: {value!r}.")
        return names[0]

    text = f"The strategy that chooses the questions: {', '.join(STRATEGIES)}."
    return option("--strategy", callback=parse, metavar="NAME", help=text)


def make_strategy_and_model(name: str, n_clusters: int, model: str | None = None) -> tuple[Any, Any]:
    """Return the strategy with this name and its model for ``Interview``; None stands for the default.

    `model` is the name of the model. Without it, a strategy that uses probabilities gets
    ``BayesianClustering``. An interview sets its seed.
    """
    from likewise.active.strategies import make_model, make_strategy

    if model is None:
        return make_strategy(name), make_model(name, n_clusters)
    return make_strategy(name), MODELS[model].estimator(n_clusters=n_clusters)
