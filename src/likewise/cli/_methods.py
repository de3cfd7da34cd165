"""The methods that ``likewise cluster`` offers, by the names that people type."""

from __future__ import annotations

from typing import Any

import click

from likewise.exceptions import UnsupportedSupervisionError

METHODS = {
    "mpck-means": "MPCKMeans",
    "pck-means": "PCKMeans",
    "mk-means": "MKMeans",
    "cop-k-means": "COPKMeans",
    "constrained-k-means": "ConstrainedKMeans",
    "seeded-k-means": "SeededKMeans",
    "k-means": "",  # scikit-learn's, which takes no hints
}
DEFAULT = "mpck-means"
HARD = ("cop-k-means",)  # these break no link, so links that contradict one another stop them
WITH_METRIC = ("mpck-means", "mk-means")  # these learn one, so --metric and --per-cluster are for them


def options_of(
    method: str, *, n_init: int | None, max_iter: int | None, metric: str | None, per_cluster: bool
) -> dict[str, Any]:
    """Return the parameters that the options set; an option that the method does not have is refused."""
    for option, given in (("--metric", metric is not None), ("--per-cluster", per_cluster)):
        if given and method not in WITH_METRIC:
            raise click.UsageError(
                f"{option} is for methods that learn a metric ({', '.join(WITH_METRIC)}), not for {method}."
            )
    said = {"n_init": n_init, "max_iter": max_iter, "metric": metric, "per_cluster": per_cluster or None}
    return {name: value for name, value in said.items() if value is not None}


def estimator_of(method: str, n_clusters: int, seed: int, options: dict[str, Any]) -> Any:
    """Make the estimator of a method."""
    if method == "k-means":
        from sklearn.cluster import KMeans

        return KMeans(n_clusters, random_state=seed, **{"n_init": 10, **options})
    import likewise.kmeans

    return getattr(likewise.kmeans, METHODS[method])(n_clusters, random_state=seed, **options)


def honoured(method: str) -> frozenset[str]:
    """Return the kinds of hint that a method uses."""
    if not METHODS[method]:
        return frozenset()
    import likewise.kmeans

    kinds: frozenset[str] = getattr(likewise.kmeans, METHODS[method])._honours
    return kinds


def check_honoured(method: str, kinds: frozenset[str]) -> None:
    """Refuse hints that a method does not use, and say which methods do."""
    if kinds <= honoured(method):
        return
    missing = sorted(kinds - honoured(method))
    fitting = [other for other in METHODS if kinds <= honoured(other)]
    if fitting:
        way_on = f"These methods use them: {', '.join(fitting)}."
    else:
        way_on = "No method here uses them as they are."
    linked = [other for other in METHODS if "links" in honoured(other)]
    raise UnsupportedSupervisionError(
        f"--method {method} does not use {' or '.join(missing)}, and to leave them aside would be worse than "
        f"to stop. {way_on} Or add --as-links, which says everything with links, for {', '.join(linked)}."
    )
