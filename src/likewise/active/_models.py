"""The model of an interview: what is used unless one is given, and how one is fitted to the answers."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from likewise.active._state import State, Strategy
from likewise.exceptions import LikewiseError, UnsupportedSupervisionError
from likewise.supervision import Supervision

# A strategy and an interview are given a model and import none; the default alone is known, by its name.
DEFAULT_MODEL = ("likewise.kmeans", "MPCKMeans")


def default_model(n_clusters: int) -> Any:
    """Return the model that an interview uses if it was given none."""
    room, name = DEFAULT_MODEL
    return getattr(importlib.import_module(room), name)(n_clusters=n_clusters)


def check_model(model: Any, strategy: Strategy, given: Supervision) -> Any:
    """Return an unfitted copy of the model, or say why it cannot be used here."""
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise TypeError(
            f"model must be an estimator such as MPCKMeans(n_clusters=3), got {model!r}; "
            "leave it out for the default."
        )
    parameters = inspect.signature(model.fit).parameters
    if "supervision" not in parameters and not any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        raise UnsupportedSupervisionError(
            f"{name} takes no hints: its fit has no parameter `supervision`. Use a clusterer of likewise."
        )
    honours = getattr(_clusterer(model), "_honours", None)
    if honours is not None and "links" not in honours:
        raise UnsupportedSupervisionError(
            f"{name} honours {', '.join(sorted(honours))}, but the answers of an interview are links. "
            "Use a clusterer that honours links, such as MPCKMeans."
        )
    if honours is not None and (refused := given.kinds - honours - {"triplets"}):
        raise UnsupportedSupervisionError(
            f"{name} honours {', '.join(sorted(honours))} and cannot use {', '.join(sorted(refused))}. Say "
            "the given hints as links with hints.to_links(), or use another model."
        )
    if "proba" in strategy.needs and not any(
        hasattr(model, method) for method in ("predict_proba", "co_membership_proba")
    ):
        raise LikewiseError(
            f"the strategy {strategy.name!r} needs probabilities, which {name} does not give. "
            "Use a model with predict_proba, or another strategy."
        )
    return clone(model)


def _clusterer(model: Any) -> Any:
    """Return the step of a pipeline that clusters: its labels keep the hints, which its predict may not."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def fitted(
    model: Any, X: npt.NDArray[Any], hints: Supervision, n_clusters: int | None, seed: int
) -> tuple[Any, npt.NDArray[Any]]:
    """Fit a copy of the model to the hints, and return it with the cluster of each row.

    Contradictions are left out, the must-links winning. A model that does not honour triplets is given the
    links that they imply. Random states that were left open come from the seed.
    """
    copy = clone(model)
    parameters = copy.get_params()
    open_states = [
        name
        for name, value in parameters.items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    copy.set_params(**dict.fromkeys(open_states, seed % 2**32))
    if n_clusters is not None and "n_clusters" in parameters:
        copy.set_params(n_clusters=n_clusters)
    honours = getattr(_clusterer(copy), "_honours", hints.kinds)
    if "triplets" in hints.kinds and "triplets" not in honours:
        others = hints.only(*(hints.kinds - {"triplets"}))
        hints = hints.only("triplets").to_links() | others
    copy.fit(X, supervision=hints.without_conflicts())
    labels = getattr(_clusterer(copy), "labels_", None)
    if labels is None and hasattr(copy, "predict"):
        labels = copy.predict(X)
    if labels is None:
        raise LikewiseError(f"{type(copy).__name__} has no labels_ and no predict: it is not a clusterer.")
    return copy, np.asarray(labels)


def demanded(state: State) -> int:
    """Return how many clusters the answers demand at least: components found that are all apart.

    A greedy walk from the component told apart from most others; the best such set is hard to find.
    """
    closure = state.closure
    ends = np.concatenate([closure.cannot.reshape(-1), closure.cannot_groups.members])
    names, degree = np.unique(ends, return_counts=True)
    chosen: list[int] = []
    for c in names[np.argsort(-degree, kind="stable")].tolist():
        if (state.component_relations(c, np.array(chosen, dtype=np.int64)) < 0).all():
            chosen.append(c)
    return max(len(chosen), 1)
