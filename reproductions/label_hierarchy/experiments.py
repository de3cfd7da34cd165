"""The data, the missing labels, the methods and the trials."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from likewise.datasets import load, make_label_tree
from likewise.evaluation import ancestor_f1, robinson_foulds
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import (
    BinaryRelevance,
    ChowLiuTree,
    CliqueLabelGraph,
    FastTag,
    LatentHierarchyClassifier,
)

NOISES = (0.1, 0.2, 0.3, 0.4, 0.5)
N_COMPONENTS = 100
CHURCH_TOP, CHURCH_LEAST = "02", 8  # the branch that is used, and the minimum number of rows of a label

# ---------------------------------------------------------------------- data


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, all their labels, and the true tree; a set without features has constant rows."""

    X: np.ndarray
    Y: np.ndarray
    hierarchy: LabelHierarchy


@dataclass(frozen=True, eq=False)
class Trial:
    """Training rows with missing labels, and test rows with all their labels."""

    X: np.ndarray
    Z: pd.DataFrame
    X_test: np.ndarray
    Y_test: np.ndarray
    hierarchy: LabelHierarchy


@dataclass(frozen=True)
class DataSet:
    """A data set: its loader, and the numbers of rows for learning and for testing."""

    label: str
    make: Callable[[int], Problem]
    n_train: int
    n_test: int
    most_runs: int = 100  # maximum number of runs for slow sets
    methods: tuple[str, ...] = ()  # the methods to measure; empty for all


@cache
def newsgroups() -> Problem:
    """Return 20 Newsgroups: logarithms of the counts of 1,000 words, reduced to 100 components."""
    data = load("20news_w1000")
    counts = data.X.astype(np.float64).copy()
    counts.data = np.log1p(counts.data)
    X = TruncatedSVD(N_COMPONENTS, random_state=0).fit_transform(counts)
    return Problem(X, np.asarray(data.Y, dtype=bool), tree_of(data))


@cache
def church() -> Problem:
    """Return Church-FUN: the rows and the labels of one branch, without rare labels."""
    data = load("church_fun")
    names, Y = list(data.label_names), np.asarray(data.Y, dtype=bool)
    rows = Y[:, names.index(CHURCH_TOP)]
    Y = Y[rows]
    kept = [
        name
        for k, name in enumerate(names)
        if name.split("/")[0] == CHURCH_TOP and Y[:, k].sum() >= CHURCH_LEAST
    ]
    X = np.asarray(data.X, dtype=float)[rows]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return Problem(X, Y[:, [names.index(name) for name in kept]], tree_of(data).restrict(kept))


@cache
def clinc() -> Problem:
    """Return CLINC150: TF-IDF of the sentences, reduced to 100 components; 10 domains of 15 intents each."""
    data = load("clinc150")
    words = TfidfVectorizer().fit_transform(data.texts)
    X = TruncatedSVD(N_COMPONENTS, random_state=0).fit_transform(words)
    tree = LabelHierarchy.from_edges(data.hierarchy)
    held = np.array([[name == label for name in tree.names] for label in data.target_names])
    of_row = dict(zip(data.target_names, held, strict=True))
    return Problem(X, tree.close(np.array([of_row[label] for label in data.y])), tree)


@cache
def pascal() -> Problem:
    """Return Pascal 2007: 20 labels of images and their 3 groups; the features are not in the catalogue."""
    data = load("voc2007_labels")
    tree = LabelHierarchy.from_edges(data.hierarchy)
    held = np.zeros((len(data.Y), tree.n_labels), dtype=bool)
    columns = [tree.names.index(name) for name in data.label_names]
    held[:, columns] = np.asarray(data.Y) == 1
    return Problem(np.zeros((len(held), 1)), tree.close(held), tree)


def make_problem_factory(n_labels: int, n_samples: int) -> Callable[[int], Problem]:
    """Return a function from a seed to a random tree of labels and rows that obey it."""

    def make(seed: int) -> Problem:
        data = make_label_tree(n_samples, n_labels, n_features=20, missing_rate=0.0, random_state=seed)
        return Problem(data.X, data.Y, LabelHierarchy.from_parents(data.parents))

    return make


def tree_of(data: Any) -> LabelHierarchy:
    """Return the tree of a set, with labels in the order of the columns."""
    return LabelHierarchy.from_edges(data.hierarchy, names=data.label_names)


# The methods for 160 labels: "learn" takes 10 s there, the steps of the thesis up to a minute.
QUICKEST = ("learn", "gt", "literal", "chow_liu", "chow_liu_cut", "br", "br_rescaled", "fasttag", "clique")
LABELS_ONLY = ("learn", "counts", "chow_liu", "chow_liu_cut")  # methods for sets without features
SETS = {
    "voc2007": DataSet("Pascal 2007, labels only", lambda seed: pascal(), 5011, 4952, methods=LABELS_ONLY),
    "20news": DataSet("20 Newsgroups", lambda seed: newsgroups(), 2000, 4000),
    "church": DataSet("Church-FUN", lambda seed: church(), 217, 109),
    "clinc150": DataSet("CLINC150", lambda seed: clinc(), 3000, 4000, most_runs=3, methods=QUICKEST),
    "tree15": DataSet("made, 15 labels", make_problem_factory(15, 4000), 2000, 2000),
    "tree40": DataSet("made, 40 labels", make_problem_factory(40, 4000), 2000, 2000),
}


def draw_problem(name: str, noise: float, seed: int) -> Trial:
    """Draw rows and remove labels; a label that is missing at a low noise is also missing at a higher one."""
    here = SETS[name]
    problem = here.make(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(problem.X))
    train, test = order[: here.n_train], order[here.n_train : here.n_train + here.n_test]
    recorded = problem.Y[train] & (rng.random((len(train), problem.Y.shape[1])) >= noise)
    scaler = StandardScaler().fit(problem.X[train])
    names = list(problem.hierarchy.names)
    return Trial(
        scaler.transform(problem.X[train]),
        pd.DataFrame(recorded.astype(np.uint8), columns=names),
        scaler.transform(problem.X[test]),
        problem.Y[test],
        problem.hierarchy,
    )


# ---------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Method:
    """A method; `knows` is what it is given: "tree", "rate" or nothing."""

    estimator: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    knows: str = ""
    sets: tuple[str, ...] = tuple(SETS)  # the sets for which it is fast enough

    def make(self, hierarchy: LabelHierarchy, noise: float) -> Any:
        """Return the unfitted estimator."""
        known = {"tree": {"hierarchy": hierarchy}, "rate": {"missing_rate": noise}}.get(self.knows, {})
        return self.estimator(**self.options, **known)


LATENT = LatentHierarchyClassifier
# The model of the thesis: one missing rate, marginals along the tree, and the threshold 0.5, as for BR.
MODEL: dict[str, Any] = {"missing_rate": "shared", "marginals": "tree", "threshold": 0.5}
THESIS_STEPS: dict[str, Any] = MODEL | {"rate_from": "em", "annealing": (0.05, 0.98)}
LEARN: dict[str, Any] = MODEL | {"start": "inclusion"}
SMALL = ("church", "tree15")
METHODS = {
    "learn": Method(LATENT, LEARN),
    "gt": Method(LATENT, LEARN, knows="tree"),
    "learn_em": Method(LATENT, LEARN | {"rate_from": "em"}),
    "gt_em": Method(LATENT, LEARN | {"rate_from": "em"}, knows="tree"),
    "counts": Method(LATENT, MODEL | {"start": "counts"}),
    "literal": Method(LATENT, THESIS_STEPS | {"start": "star", "structure_step": "literal"}),
    "counts_literal": Method(LATENT, THESIS_STEPS | {"start": "counts", "structure_step": "literal"}),
    "intercept": Method(LATENT, MODEL | {"start": "star", "structure_step": "intercept"}),
    "profile": Method(
        LATENT, MODEL | {"start": "star", "structure_step": "profile", "max_iter": 10}, sets=SMALL
    ),
    "chow_liu": Method(ChowLiuTree),
    "chow_liu_cut": Method(ChowLiuTree, {"edges": "attracting"}),
    "br": Method(BinaryRelevance),
    "br_rescaled": Method(BinaryRelevance, knows="rate"),
    "fasttag": Method(FastTag, {"random_state": 0}),
    "clique": Method(CliqueLabelGraph),
}
TREE = ("rf", "rf_directed", "ancestor_f1", "n_edges")
LABELS = ("f1_micro", "f1_macro", "tuned_micro", "tuned_macro")
MEASURES = (*TREE, *LABELS, "rate", "settled", "seconds")


def methods_of(name: str) -> list[str]:
    """Return the methods to measure on a set."""
    wanted = SETS[name].methods or METHODS
    return [key for key, method in METHODS.items() if key in wanted and name in method.sets]


def trial(name: str, method: str, noise: float, seed: int) -> list[float]:
    """Fit a method to one draw; return its measures, NaN for those it lacks."""
    data = draw_problem(name, noise, seed)
    model = METHODS[method].make(data.hierarchy, noise)
    began = time.process_time()
    settled = fit_model(model, data.X, data.Z)
    seconds = time.process_time() - began
    found = [*tree_scores(model, data.hierarchy), *label_scores(model, data)]
    return [*found, getattr(model, "missing_rate_", np.nan), settled, seconds]


def fit_model(model: Any, X: np.ndarray, Z: Any) -> bool:
    """Fit the model; return True if it converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Z)
    return not any(issubclass(each.category, ConvergenceWarning) for each in caught)


def tree_scores(model: Any, true: LabelHierarchy) -> list[float]:
    """Return the distance of the tree from the true one, and its number of edges between labels."""
    found = getattr(model, "hierarchy_", None)
    if found is None:
        return [np.nan] * len(TREE)
    return [
        robinson_foulds(true, found, directed=False),
        robinson_foulds(true, found),
        ancestor_f1(true, found),
        len(found.edges),
    ]


def label_scores(model: Any, data: Trial) -> list[float]:
    """Return F1 micro and macro, at the threshold 0.5 and at thresholds set on the training rows."""
    if not np.ptp(data.X_test):  # a set without features
        return [np.nan] * len(LABELS)
    at_half = f1_scores(data.Y_test, model.predict(data.X_test))
    if not hasattr(model, "calibrate"):
        return [*at_half, np.nan, np.nan]
    model.calibrate(data.X, data.Z)
    return [*at_half, *f1_scores(data.Y_test, model.predict(data.X_test))]


def f1_scores(true: np.ndarray, found: np.ndarray) -> list[float]:
    """Return F1 micro and macro; macro ignores labels that are neither true nor predicted for any row."""
    return [float(f1_score(true, found, average=how, zero_division=np.nan)) for how in ("micro", "macro")]
