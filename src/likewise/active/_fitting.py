"""Checks of the model of an interview, and fitting it to the answers."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from likewise.active._state import Knowledge, Strategy
from likewise.base import Rule, describe_too_few_clusters, warn_caller
from likewise.exceptions import LikewiseError, TooFewClustersWarning, UnsupportedSupervisionError
from likewise.supervision import Closure, Supervision
from likewise.supervision.cliques import Edges, find_clique

_KEPT_FITS = 32  # enough for the last ten answers and for five-fold cross-validation
_CONVERTED = frozenset({"triplets", "labels"})  # given as links to a model that does not support them


def check_integer(name: str, value: Any, *, low: int) -> int:
    """Check that a value is an integer of at least `low`."""
    rule = Rule.integer(low)
    if not rule.holds(value):
        raise ValueError(f"Interview: {name} must be {rule.expected}, got {value!r}.")
    return int(value)


def check_model(model: Any, strategy: Strategy, given: Supervision) -> Any:
    """Return an unfitted copy of the model, after checking that it suits the strategy and the hints."""
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(
            f"model must be an estimator such as MPCKMeans(n_clusters=3), got {model!r}; "
            "leave it out for the default."
        )
    parameters = inspect.signature(model.fit).parameters
    if "supervision" not in parameters and not any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        raise UnsupportedSupervisionError(
            f"{name} does not support hints: its fit has no parameter `supervision`. Use a clusterer of "
            "likewise."
        )
    supported = getattr(_find_clusterer(model), "supported_hints", None)
    if supported is not None and "links" not in supported:
        raise UnsupportedSupervisionError(
            f"{name} supports {', '.join(sorted(supported))}, but the answers of an interview are links. "
            "Use a clusterer that supports links, such as MPCKMeans."
        )
    if supported is not None and (refused := given.kinds - supported - _CONVERTED):
        raise UnsupportedSupervisionError(
            f"{name} supports {', '.join(sorted(supported))} and cannot use {', '.join(sorted(refused))}. "
            "Convert the hints to links with hints.to_links(), or use another model."
        )
    if "proba" in strategy.needs and not any(
        hasattr(model, method) for method in ("predict_proba", "co_membership_proba")
    ):
        raise LikewiseError(
            f"the strategy {strategy.name!r} needs probabilities, which {name} does not have. "
            "Use a model with predict_proba, or another strategy."
        )
    if "draws" in strategy.needs and not all(
        hasattr(model, method) for method in ("membership_samples", "best_pairs", "triplet_scores")
    ):
        raise LikewiseError(
            f"the strategy {strategy.name!r} needs posterior draws, which {name} does not have. "
            "Use BayesianClustering, or the strategy MarginalUncertainty."
        )
    return clone(model)


def check_errors(errors: Any) -> float | str:
    """Check the parameter `errors` of an interview: an error rate or "learn"."""
    if isinstance(errors, str) and errors == "learn":
        return errors
    if not Rule.real(0).holds(errors):
        raise ValueError(
            f"Interview: errors must be 'learn' or a number from 0 to below 0.5, got {errors!r}."
        )
    if errors >= 0.5:
        raise ValueError(
            f"Interview: errors must be below 0.5, got {errors!r}. With 0.5, answers carry no information, "
            "and above it they are mostly reversed: swap SAME and DIFFERENT, or leave errors out to learn "
            "the rate."
        )
    return float(errors)


ClusterRange = tuple[int, int]


def check_n_clusters(
    n_clusters: Any, model: Any, discover: bool, n_samples: int
) -> tuple[int | None, ClusterRange | None]:
    """Return the number of clusters, as given or from the model, and the range that is given instead.

    The number is None if it is unknown, and the range if there is none.
    """
    of_model = getattr(model, "n_clusters", None)
    if discover and model is not None and of_model is None:
        raise ValueError(
            f"Interview: discover=True sets the parameter n_clusters, which {type(model).__name__} does not "
            "have."
        )
    if n_clusters is None:
        n_clusters = 2 if discover and model is None else of_model
    elif of_model is not None and of_model != n_clusters and not discover:
        raise ValueError(
            f"Interview: n_clusters={n_clusters}, but the model has n_clusters={of_model}. Set only one of "
            "them."
        )
    if n_clusters is None:
        return None, None
    if isinstance(n_clusters, tuple | list):
        k, bounds = _check_cluster_range(n_clusters, discover)
    else:
        k, bounds = check_integer("n_clusters", n_clusters, low=2), None
    if max(bounds or (k or 0,)) > n_samples:
        raise ValueError(
            f"Interview: n_clusters={n_clusters}, but there are only {n_samples} rows. Use fewer clusters."
        )
    return k, bounds


def _check_cluster_range(bounds: Sequence[Any], discover: bool) -> tuple[int | None, ClusterRange | None]:
    """Return the number of clusters if both bounds are equal, and the range otherwise."""
    if len(bounds) != 2 or not all(Rule.integer(2).holds(bound) for bound in bounds) or bounds[0] > bounds[1]:
        raise ValueError(
            "Interview: a range of n_clusters must be two integers of at least 2, the smaller one first, "
            f"such as (50, 100); got {bounds!r}."
        )
    if discover:
        raise ValueError(
            f"Interview: n_clusters={tuple(bounds)} is a range already; leave discover=True out, which is "
            "for an unknown number."
        )
    low, high = map(int, bounds)
    return (low, None) if low == high else (None, (low, high))


def warn_of_too_few_clusters(hints: Supervision, n_clusters: int | None) -> None:
    """Warn if the hints cannot-link more rows to one another than there are clusters."""
    if n_clusters is None or not (len(hints.cannot) or len(hints.cannot_groups)):
        return
    rows, few = hints.select_kinds("links").restrict_to_hinted()
    too_few = describe_too_few_clusters(
        TooFewClustersWarning, "Interview", few.closure(on_conflict="drop"), n_clusters, few, rows
    )
    if too_few is not None:
        warn_caller(too_few)


def _find_clusterer(model: Any) -> Any:
    """Return the last step of a pipeline: its `labels_` satisfy the hints, but its `predict` may not."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


@dataclass(eq=False)
class FitCache:
    """A cache of the fits of an interview.

    It keeps the last two fitted models, because a strategy may use a model of fewer answers, and the labels
    of the last few fits.
    """

    model: Any
    X: npt.NDArray[Any]
    n_clusters: int | None
    discover: bool
    random_state: int
    like: Any = None  # a model fitted to other rows of the same kind
    _last: list[tuple[Supervision, Any, Any, npt.NDArray[Any]]] = field(default_factory=list)
    _labels: dict[Supervision, npt.NDArray[Any]] = field(default_factory=dict)
    _ready: dict[int | None, Any] = field(default_factory=dict)  # by the number of clusters

    def get(self, known: Knowledge, metric_source: Any = None) -> tuple[Any, npt.NDArray[Any]]:
        """Return the model fitted to the hints and answers, and the cluster of each row.

        The metric is copied from `metric_source`, a model fitted to fewer answers, if it is given.
        """
        hints = known.hints
        for before, source, model, labels in self._last:
            if source is metric_source and (before is hints or before == hints):
                return model, labels
        model, labels = self._fit(known, metric_source)
        self._last = [(hints, metric_source, model, labels), *self._last[:1]]
        if metric_source is None:
            self._keep(hints, labels)
        return model, labels

    def get_labels(self, known: Knowledge) -> npt.NDArray[Any]:
        """Return only the cluster of each row, from the cache if possible."""
        hints = known.hints
        if hints not in self._labels:
            self._keep(hints, self._fit(known)[1])
        return self._labels[hints]

    def _keep(self, hints: Supervision, labels: npt.NDArray[Any]) -> None:
        self._labels[hints] = labels
        if len(self._labels) > _KEPT_FITS:
            del self._labels[next(iter(self._labels))]  # the oldest

    def _fit(self, known: Knowledge, metric_source: Any = None) -> tuple[Any, npt.NDArray[Any]]:
        """Fit a copy of the model to the hints, and return it with the cluster of each row.

        Cannot-links that contradict must-links are left out, unless the model weights links. If the model
        does not support triplets or labels, it gets the links that they imply. A model that has these methods
        reuses the graph of an earlier fit, starts from a model of other rows, and reuses a learned metric.
        """
        model = clone(self._prepare(known.closure))
        before = self._last[0][2] if self._last else None
        earlier = {"start_from": self.like, "reuse_graph": before, "reuse_metric": metric_source}
        for method, source in earlier.items():
            if source is not None and hasattr(model, method):
                getattr(model, method)(source)
        hints = known.hints
        supported = getattr(_find_clusterer(model), "supported_hints", hints.kinds)
        if converted := (hints.kinds & _CONVERTED) - supported:
            others = hints.select_kinds(*(hints.kinds - converted))
            hints = hints.select_kinds(*converted).to_links() | others
        settled = known.are_votes or not len(known.closure.conflicts)
        with warnings.catch_warnings():  # `Interview.contradictions` lists the contradictions
            warnings.simplefilter("ignore", TooFewClustersWarning)
            model.fit(self.X, supervision=hints if settled else hints.drop_conflicts())
        labels = getattr(_find_clusterer(model), "labels_", None)
        if labels is None and hasattr(model, "predict"):
            labels = model.predict(self.X)
        if labels is None:
            raise LikewiseError(
                f"{type(model).__name__} has neither labels_ nor predict; expected a clusterer."
            )
        return model, np.asarray(labels)

    def _prepare(self, closure: Closure) -> Any:
        """Return the model with its number of clusters, and with the seed as each random state that is None.

        If there may be more clusters than the interview starts with, the parameter ``fixed_n_clusters`` of a
        model that has it is set to False.
        """
        if self.model is None:
            raise ValueError("Interview: there is no model to label the rows. Pass n_clusters, or model.")
        k = self.n_clusters
        if self.discover:
            k = min(max(k or 2, count_required_clusters(closure)), len(self.X))
        if k not in self._ready:
            parameters = self.model.get_params()
            changes: dict[str, Any] = {
                name: self.random_state % 2**32
                for name, value in parameters.items()
                if value is None and name.rpartition("__")[2] == "random_state"
            }
            if self.discover and "fixed_n_clusters" in parameters:
                changes["fixed_n_clusters"] = False
            if k is not None and "n_clusters" in parameters:
                changes["n_clusters"] = k
            self._ready = {k: clone(self.model).set_params(**changes)}
        return self._ready[k]


def count_required_clusters(closure: Closure) -> int:
    """Return a lower bound on the number of clusters: the size of a clique of cannot-linked components.

    The search is greedy, starting with the component with the most cannot-links: finding the largest clique
    is NP-hard.
    """
    edges = Edges(closure)
    hinted = np.flatnonzero(edges.counts)
    return max(len(find_clique(edges, hinted[np.argsort(-edges.counts[hinted], kind="stable")])), 1)
