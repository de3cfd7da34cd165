"""The data, the graph, the clusterers, the strategies and the trials."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score, v_measure_score
from sklearn.preprocessing import StandardScaler

from _asking import interview
from likewise import FlexibleSpectralClustering, SpectralLearning, Supervision
from likewise.active import strategies
from likewise.datasets import load
from likewise.exceptions import InfeasibleSupervisionError

MEASURES: dict[str, Callable[[Any, Any], float]] = {"rand": rand_score, "v_measure": v_measure_score}
N_NEIGHBORS = 10
# The level of the authors' program, and lower levels to try if no vector reaches it.
LEVELS = (0.5, 0.25, 0.1, 0.0, -0.3, -1.0)


@dataclass(frozen=True)
class Length:
    """The number of questions, and the number of answers between scores."""

    budget: int
    every: int

    @property
    def marks(self) -> list[int]:
        """The numbers of answers after which the clusters are scored."""
        return [*range(0, self.budget, self.every), self.budget]


# The paper's figures are not available, so the numbers of questions are ours.
SETS = {
    "balance_scale": Length(120, 10),
    "pima": Length(120, 10),
    "sonar": Length(100, 10),
    "wine": Length(80, 10),
    "cho": Length(120, 10),
    "semeion": Length(300, 30),
    "mfeat": Length(300, 30),
}
# The paper does not define the similarity of rows; "dense" is spectral learning on a graph of all pairs.
METHODS = ("spectral", "flexible", "dense")
DATA = {"spectral": tuple(SETS), "flexible": ("pima", "sonar"), "dense": tuple(SETS)[:5]}


@dataclass(frozen=True)
class Asking:
    """A strategy: its class, and whether it places rows one by one, with a clustering in between."""

    make: Callable[[], Any]
    by_node: bool = True


STRATEGIES = {
    "random": Asking(strategies.RandomPairs),
    "ffqs": Asking(strategies.FarthestFirst),
    "quire": Asking(strategies.QUIRE),
    "pknn": Asking(strategies.ProbabilisticKNN),
    "local": Asking(lambda: strategies.NodeUncertainty("local")),
    "global": Asking(lambda: strategies.NodeUncertainty("global")),
    "density": Asking(lambda: strategies.NodeUncertainty("density")),
    "compound": Asking(lambda: strategies.NodeUncertainty("compound")),
    "asc": Asking(strategies.ActiveSpectral, by_node=False),  # it selects pairs, not rows
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised rows and their classes, numbered from 0."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any) -> Problem:
        """Standardise the columns, without constant ones."""
        X = np.asarray(X, dtype=float)
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        return cls(X, np.unique(y, return_inverse=True)[1])

    @cached_property
    def near(self) -> Any:
        """The similarity of each row to its nearest neighbours; 0 for all others."""
        return self._alike(N_NEIGHBORS)

    @cached_property
    def full(self) -> Any:
        """The similarities of all pairs of rows."""
        return self._alike(None)

    def _alike(self, n_neighbors: int | None) -> Any:
        model = SpectralLearning(2, n_neighbors=n_neighbors, random_state=0)
        return _quietly(model.fit, self.X).affinity_matrix_

    @property
    def n_clusters(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1


@cache
def problem_of(name: str) -> Problem:
    """Return a data set; its graphs are computed once."""
    found = load(name)
    return Problem.of(found.X, found.y)


def _quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # The graph of ten neighbours of some sets is disconnected; it is the same in every fit.
        warnings.filterwarnings("ignore", ".*(connected components|no similar rows)", UserWarning)
        return call(*args, **kwargs)


def fit_to(method: str, problem: Problem, seed: int) -> Callable[[Supervision], Any]:
    """Return a function that takes hints and returns the fitted clusterer."""
    similarities = problem.full if method == "dense" else problem.near
    common: dict[str, Any] = {"affinity": "precomputed", "random_state": seed}

    def spectral(hints: Supervision) -> Any:
        model = SpectralLearning(problem.n_clusters, normalization="additive", **common)
        return _quietly(model.fit, similarities, supervision=hints)

    def flexible(hints: Supervision) -> Any:
        for level in LEVELS:
            model = FlexibleSpectralClustering(problem.n_clusters, level=level, **common)
            try:
                return _quietly(model.fit, similarities, supervision=hints)
            except InfeasibleSupervisionError:
                continue
        return _quietly(FlexibleSpectralClustering(problem.n_clusters, **common).fit, similarities)

    return flexible if method == "flexible" else spectral


def trial(name: str, method: str, strategy: str, seed: int, length: Length) -> np.ndarray:
    """Return the scores of an interview: measures x numbers of answers."""
    problem = problem_of(name)
    asking = STRATEGIES[strategy]
    asked = interview(
        problem.X,
        problem.y,
        asking.make(),
        fit_to(method, problem, seed),
        budget=length.budget,
        marks=length.marks,
        seed=seed,
        by_node=asking.by_node,
    )
    return np.array(
        [[score(problem.y, asked.labels[mark]) for mark in length.marks] for score in MEASURES.values()]
    )
