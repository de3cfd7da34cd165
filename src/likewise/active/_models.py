"""The default model of an interview, and fitting a model to the answers."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from likewise._parts import get_part
from likewise.active._state import Knowledge, Strategy
from likewise.exceptions import LikewiseError, TooFewClustersWarning, UnsupportedSupervisionError
from likewise.supervision import Closure, Supervision
from likewise.supervision._cliques import find_clique
from likewise.supervision._component_edges import Edges

_KEPT_FITS = 32  # enough for the last ten answers and for five-fold cross-validation


def make_default_model(n_clusters: int) -> Any:
    """Return the default model of an interview."""
    return get_part("default model")(n_clusters=n_clusters, learn_metric=True)


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
    if supported is not None and (refused := given.kinds - supported - {"triplets"}):
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


def _find_clusterer(model: Any) -> Any:
    """Return the last step of a pipeline: its `labels_` satisfy the hints, but its `predict` may not."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def prepare_model(model: Any, n_clusters: int | None, random_state: int, more: bool) -> Any:
    """Return a copy of the model that is ready to be fitted.

    Random states that are None are set from the seed. If there may be `more` clusters than `n_clusters`, the
    parameter ``fixed_n_clusters`` of a model that has it is set to False.
    """
    copy = clone(model)
    parameters = copy.get_params()
    changes: dict[str, Any] = {
        name: random_state % 2**32
        for name, value in parameters.items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    if more and "fixed_n_clusters" in parameters:
        changes["fixed_n_clusters"] = False
    if n_clusters is not None and "n_clusters" in parameters:
        changes["n_clusters"] = n_clusters
    return copy.set_params(**changes)


def fit_model(
    model: Any,
    X: npt.NDArray[Any],
    hints: Supervision,
    before: Any = None,
    settled: bool = False,
    like: Any = None,
    metric_source: Any = None,
) -> tuple[Any, npt.NDArray[Any]]:
    """Fit a copy of the model to the hints, and return it with the cluster of each row.

    Cannot-links that contradict must-links are left out, unless `settled` states that there are none or that
    the model weights links. If the model does not support triplets, it gets the links that they imply. If the
    model has these methods and the argument is given, ``reuse_graph(before)`` reuses the graph of an earlier
    fit, ``start_from(like)`` starts from a model of other rows, and ``reuse_metric(metric_source)`` reuses a
    learned metric.
    """
    copy = clone(model)
    if like is not None and hasattr(copy, "start_from"):
        copy.start_from(like)
    if before is not None and hasattr(copy, "reuse_graph"):
        copy.reuse_graph(before)
    if metric_source is not None and hasattr(copy, "reuse_metric"):
        copy.reuse_metric(metric_source)
    supported = getattr(_find_clusterer(copy), "supported_hints", hints.kinds)
    if "triplets" in hints.kinds and "triplets" not in supported:
        others = hints.select_kinds(*(hints.kinds - {"triplets"}))
        hints = hints.select_kinds("triplets").to_links() | others
    with warnings.catch_warnings():  # `Interview.contradictions` lists the contradictions
        warnings.simplefilter("ignore", TooFewClustersWarning)
        copy.fit(X, supervision=hints if settled else hints.drop_conflicts())
    labels = getattr(_find_clusterer(copy), "labels_", None)
    if labels is None and hasattr(copy, "predict"):
        labels = copy.predict(X)
    if labels is None:
        raise LikewiseError(f"{type(copy).__name__} has neither labels_ nor predict; expected a clusterer.")
    return copy, np.asarray(labels)


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
        if self.model is None:
            raise ValueError("Interview: there is no model to label the rows. Pass n_clusters, or model.")
        k = self.n_clusters
        if self.discover:
            k = min(max(k or 2, count_required_clusters(known.closure)), len(self.X))
        if k not in self._ready:
            self._ready = {k: prepare_model(self.model, k, self.random_state, self.discover)}
        before = self._last[0][2] if self._last else None
        settled = known.are_votes or not len(known.closure.conflicts)
        return fit_model(self._ready[k], self.X, known.hints, before, settled, self.like, metric_source)


def count_required_clusters(closure: Closure) -> int:
    """Return a lower bound on the number of clusters: the size of a clique of cannot-linked components.

    The search is greedy, starting with the component with the most cannot-links: finding the largest clique
    is NP-hard.
    """
    edges = Edges(closure)
    hinted = np.flatnonzero(edges.counts)
    return max(len(find_clique(edges, hinted[np.argsort(-edges.counts[hinted], kind="stable")])), 1)
