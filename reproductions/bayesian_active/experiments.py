"""The data, the questions, and the trials behind each curve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.special import entr
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from _asking import interview, links
from likewise import MPCKMeans, Supervision
from likewise.active.strategies import MinMax, NormalizedPointUncertainty
from likewise.bayesian import BayesianClustering
from likewise.datasets import load
from likewise.evaluation import pairwise_f
from likewise.exceptions import InconsistentSupervisionWarning
from likewise.metric import ITML

# Questions as in Table 4.1; Parkinsons and Crabs are not in the catalogue of data sets.
BUDGETS = {
    "fertility": 60,
    "sonar": 100,
    "balance_scale": 100,
    "transfusion": 100,
    "letters_ij": 100,
    "digits389": 100,
}
EVERY = 10
TABLE = (10, 20, 30, 40, 50, 60)  # the questions of Table 4.2

PRIOR: dict[str, Any] = {"precision": 10, "tau": 1, "balance": 0, "intercept": False, "epsilon": 0.05}
# Other priors; according to the thesis none of these is better than the one above.
PRIORS = {
    "bc_tree_lambda_1": PRIOR | {"precision": 1},
    "bc_tree_lambda_100": PRIOR | {"precision": 100},
    "bc_tree_tau_0": PRIOR | {"tau": 0},
    "bc_tree_tau_10": PRIOR | {"tau": 10},
    "bc_tree_epsilon_0.01": PRIOR | {"epsilon": 0.01},
    "bc_tree_epsilon_0.2": PRIOR | {"epsilon": 0.2},
    "bc_tree_default": {},
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised rows and their classes, numbered from 0."""

    X: np.ndarray
    y: np.ndarray

    @property
    def n_clusters(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1


@cache
def problem_of(name: str) -> Problem:
    """Return a data set with standardised columns, as in the thesis."""
    found = load(name)
    X = StandardScaler().fit_transform(np.asarray(found.X, dtype=float))
    return Problem(X, np.unique(found.y, return_inverse=True)[1])


def marks_of(budget: int) -> list[int]:
    """Return the numbers of answers after which the clusters are scored."""
    return [*range(0, budget, EVERY), budget]


# ---------------------------------------------------------------------- clusterers


class MetricKMeans:
    """K-means in the metric that ITML learns from links."""

    def __init__(self, n_clusters: int, seed: int) -> None:
        self.n_clusters, self.seed = n_clusters, seed

    def fit(self, X: np.ndarray, supervision: Supervision) -> MetricKMeans:
        """Learn the metric and cluster."""
        learned = ITML(shrinkage=0).fit(X, supervision=supervision).transform(X)
        self.labels_ = KMeans(self.n_clusters, n_init=10, random_state=self.seed).fit(learned).labels_
        return self


def clusterer(key: str, n_clusters: int, seed: int) -> Any:
    """Return the clusterer in the last part of a key."""
    if key.split("_")[0] == "itml":
        return MetricKMeans(n_clusters, seed)
    return MPCKMeans(n_clusters, init="hints", random_state=seed)


def fit_to(key: str, problem: Problem, seed: int) -> Callable[[Supervision], Any]:
    """Return a function that takes hints and returns the fitted clusterer."""

    def fit(hints: Supervision) -> Any:
        return _quietly(clusterer(key, problem.n_clusters, seed).fit, problem.X, supervision=hints)

    return fit


def _quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Answers from classes contradict one another only if equal rows have different classes.
        warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        return call(*args, **kwargs)


def bayesian(problem: Problem, seed: int, options: dict[str, Any]) -> BayesianClustering:
    """Return the Bayesian model: two particles per weight, as in the thesis, or our defaults."""
    n_particles = {"n_particles": 2 * problem.X.shape[1] * problem.n_clusters} if options else {}
    return BayesianClustering(
        problem.n_clusters, warm_start=True, random_state=seed, **n_particles, **options
    )


# ---------------------------------------------------------------------- random questions (Figure 4.1)


def random_pairs(
    n_samples: int, count: int, rng: np.random.Generator, *, tree: bool
) -> list[tuple[int, int]]:
    """Draw distinct pairs of rows; with `tree`, none closes a cycle."""
    found: dict[tuple[int, int], None] = {}
    trees = DisjointSet(range(n_samples))
    while len(found) < count:
        i, j = sorted(rng.choice(n_samples, 2, replace=False).tolist())
        if trees.merge(i, j) or not tree:
            found[i, j] = None
    return [*found]


def random_trial(name: str, seed: int, budget: int) -> dict[str, list[float]]:
    """Return the scores of the methods of Figure 4.1, all with the same pairs."""
    problem = problem_of(name)
    rng = np.random.default_rng([seed, 41])
    drawn = {tree: random_pairs(len(problem.X), budget, rng, tree=tree) for tree in (True, False)}
    scores = {"bc_tree": bc_scores(problem, drawn[True], budget, seed, PRIOR)}
    for key in ("itml", "mpck"):
        scores[key] = score_given_pairs(key, problem, drawn[False], budget, seed)
        scores[f"{key}_tree"] = score_given_pairs(key, problem, drawn[True], budget, seed)
    return scores


def prior_trial(name: str, seed: int, budget: int) -> dict[str, list[float]]:
    """Return the scores of the Bayesian model with other priors, on the pairs of `random_trial`."""
    problem = problem_of(name)
    pairs = random_pairs(len(problem.X), budget, np.random.default_rng([seed, 41]), tree=True)
    return {key: bc_scores(problem, pairs, budget, seed, options) for key, options in PRIORS.items()}


def bc_scores(
    problem: Problem, pairs: Sequence[tuple[int, int]], budget: int, seed: int, options: dict[str, Any]
) -> list[float]:
    """Score the Bayesian model on the first pairs for each mark; particles are kept from mark to mark."""
    model = bayesian(problem, seed, options)
    scores = []
    for mark in marks_of(budget):
        _quietly(model.fit, problem.X, supervision=links(problem.y, pairs[:mark]))
        scores.append(pairwise_f(problem.y, model.labels_))
    return scores


def score_given_pairs(
    key: str, problem: Problem, pairs: Sequence[tuple[int, int]], budget: int, seed: int
) -> list[float]:
    """Score a clusterer on the first pairs for each mark."""
    fit = fit_to(key, problem, seed)
    return [pairwise_f(problem.y, fit(links(problem.y, pairs[:mark])).labels_) for mark in marks_of(budget)]


# ---------------------------------------------------------------------- chosen questions (Figure 4.2)


def bayesian_trial(
    criterion: str, options: dict[str, Any], name: str, seed: int, budget: int
) -> dict[str, Any]:
    """Ask the questions of the Bayesian model; score it, and ITML and MPCKMeans with the same answers.

    Also returns the number of pairs that were better than the one asked but would close a cycle.
    """
    problem = problem_of(name)
    model = bayesian(problem, seed, options)
    marks = marks_of(budget)
    pairs: list[tuple[int, int]] = []
    scores, dropped = [], []
    for n_answers in range(budget + 1):
        _quietly(model.fit, problem.X, supervision=links(problem.y, pairs))
        if n_answers in marks:
            scores.append(pairwise_f(problem.y, model.labels_))
        if n_answers < budget:
            best = model.best_pairs(criterion=criterion)
            if n_answers + 1 in TABLE:
                dropped.append(n_dropped(model, pairs, criterion, float(best.scores[0])))
            i, j = best.pairs[0].tolist()
            pairs.append((i, j))
    if not options:
        return {f"{criterion}_bc_default": scores}
    return {
        f"{criterion}_bc": scores,
        **{
            f"{criterion}_{key}": score_given_pairs(key, problem, pairs, budget, seed)
            for key in ("itml", "mpck")
        },
        "dropped": dropped,
    }


def n_dropped(
    model: BayesianClustering, pairs: Sequence[tuple[int, int]], criterion: str, best: float
) -> int:
    """Count the pairs that were not asked, would close a cycle, and score higher than the best other pair.

    The clusters of two rows of one tree are not independent given the weights, and no exact pass over the
    tree gives the probability of the answer. Such pairs are scored as if they were independent.
    """
    if not pairs:
        return 0
    rows = np.unique(pairs)
    trees = DisjointSet(rows.tolist())
    for i, j in pairs:
        trees.merge(i, j)
    tree = np.array([trees[row] for row in rows.tolist()])
    a, b = np.triu_indices(len(rows), 1)
    asked = {tuple(sorted(pair)) for pair in pairs}
    use = (tree[a] == tree[b]) & [
        (i, j) not in asked for i, j in zip(rows[a].tolist(), rows[b].tolist(), strict=True)
    ]
    r = model.membership_samples()[:, rows]
    same = np.einsum("sck,sck->sc", r[:, a[use]], r[:, b[use]])
    chance = np.clip(model.epsilon + (1 - 2 * model.epsilon) * same, 0.0, 1.0)
    mean = chance.mean(axis=0)
    value = entr(mean) + entr(1 - mean)
    if criterion == "info":
        value -= (entr(chance) + entr(1 - chance)).mean(axis=0)
    return int((value > best + 1e-12).sum())


def npu_trial(key: str, name: str, seed: int, budget: int) -> dict[str, list[float]]:
    """Return the scores of NPU with a clusterer, whose clusters it uses."""
    problem = problem_of(name)
    asked = interview(
        problem.X,
        problem.y,
        NormalizedPointUncertainty(),
        fit_to(key, problem, seed),
        budget=budget,
        marks=marks_of(budget),
        seed=seed,
    )
    return {f"npu_{key}": _scores(problem, asked.labels, budget)}


def min_max_trial(name: str, seed: int, budget: int) -> dict[str, list[float]]:
    """Return the scores of MinMax, which does not use clusters, with both clusterers."""
    problem = problem_of(name)
    out = {}
    for key in ("itml", "mpck"):
        fit = fit_to(key, problem, seed)
        marks = marks_of(budget)
        asked = interview(problem.X, problem.y, MinMax(), fit, budget=budget, marks=marks, seed=seed)
        out[f"min_max_{key}"] = _scores(problem, asked.labels, budget)
    return out


def _scores(problem: Problem, labels: dict[int, np.ndarray], budget: int) -> list[float]:
    return [pairwise_f(problem.y, labels[mark]) for mark in marks_of(budget)]


# A part is measured as a whole, since its curves share questions or have similar costs.
PARTS: dict[str, Callable[[str, int, int], dict[str, Any]]] = {
    "random": random_trial,
    "min_max": min_max_trial,
    "npu_itml": partial(npu_trial, "itml"),
    "npu_mpck": partial(npu_trial, "mpck"),
    "info": partial(bayesian_trial, "info", PRIOR),
    "uncertain": partial(bayesian_trial, "uncertain", PRIOR),
    "priors": prior_trial,
    "info_default": partial(bayesian_trial, "info", {}),
}
