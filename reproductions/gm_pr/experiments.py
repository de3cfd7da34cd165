"""The methods, the data and the trials behind each figure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from likewise import (
    ConstrainedKernelKMeans,
    EquivalenceGaussianMixture,
    FlexibleSpectralClustering,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.datasets import load
from likewise.evaluation import purity_score
from likewise.supervision import sample_links

MEASURES = {"purity": purity_score, "adjusted_rand": adjusted_rand_score}
PAPER: dict[str, Any] = {"init": "k-means++", "n_init": 1}  # one k-means++ draw: the start of section 4.1


@dataclass(frozen=True)
class Method:
    """A curve: its label, its look, and its estimator."""

    label: str
    estimator: Callable[..., Any]
    color: str  # from the colour-blind safe palette of Okabe and Ito
    marker: str
    line: str = "-"
    options: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0  # share of the trials: ten starts take ten times as long and vary less
    graph: bool = False  # True if it clusters the similarities of the rows

    def make(self, n_clusters: int, seed: int) -> Any:
        """Return the estimator for a number of clusters and a seed."""
        return self.estimator(n_clusters, random_state=seed, **self.options)


GM_PR, GMM_EC, EM_PC = (
    PairwiseGaussianMixture,
    EquivalenceGaussianMixture,
    PosteriorConstrainedGaussianMixture,
)
PAIRS: dict[str, Any] = {"relations": "pairs"}  # every link is a separate factor
NORMALIZED: dict[str, Any] = {"normalize": True}  # with the normaliser of the network of cannot-links
GRAPH: dict[str, Any] = {"affinity": "precomputed"}
METHODS = {
    "gm_pr": Method("GM-PR", GM_PR, "#0072B2", "o", options=PAPER | PAIRS),
    "gmm_ec": Method("GMM-EC", GMM_EC, "#D55E00", "s", "--", PAPER | NORMALIZED),
    "em_pc": Method("EM-PC", EM_PC, "#009E73", "^", "-.", PAPER),
    "gm_pr_components": Method(
        "GM-PR, components", GM_PR, "#CC79A7", "D", "-", PAPER | {"relations": "components"}
    ),
    "gm_pr_default": Method("GM-PR, our default start", GM_PR, "#56B4E9", "o", ":", PAIRS, share=0.5),
    "gmm_ec_default": Method("GMM-EC, our default start", GMM_EC, "#E69F00", "s", ":", share=0.5),
    "gm_pr_2": Method("GM-PR, $m_K$ = 2", GM_PR, "#E69F00", "s", "--", PAPER | PAIRS | {"n_subclusters": 2}),
    "gm_pr_3": Method("GM-PR, $m_K$ = 3", GM_PR, "#009E73", "^", "-.", PAPER | PAIRS | {"n_subclusters": 3}),
    "gm_pr_4": Method("GM-PR, $m_K$ = 4", GM_PR, "#CC79A7", "D", ":", PAPER | PAIRS | {"n_subclusters": 4}),
    "gm_pr_3_default": Method(
        "GM-PR, $m_K$ = 3, our default start",
        GM_PR,
        "#CC79A7",
        "D",
        ":",
        PAIRS | {"n_subclusters": 3},
        share=0.5,
    ),
    "sskk": Method("SSKK", ConstrainedKernelKMeans, "#D55E00", "v", "--", GRAPH, share=0.3, graph=True),
    "csc": Method("CSC", FlexibleSpectralClustering, "#E69F00", "s", "--", GRAPH, share=0.3, graph=True),
}
SETS = {
    "digits123": "digits 1, 2, 3 of the MNIST test set, two principal components",
    "digits4567": "digits 4, 5, 6, 7 of the MNIST test set, two principal components",
    "coil20_10": "COIL-20, 10 principal components",
    "coil20_15": "COIL-20, 15 principal components",
    "coil20_20": "COIL-20, 20 principal components",
}
DIGITS, OBJECTS = ("digits123", "digits4567"), ("coil20_10", "coil20_15", "coil20_20")


@dataclass(frozen=True)
class Sweep:
    """A figure of curves: scores of some methods by the number of links."""

    title: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    links: tuple[int, ...] = (0, 8, 32, 128, 512)
    balance: float | None = None  # the share of must-links; None: as in random pairs
    share: float = 1.0  # of the trials


SWEEPS = {
    4: Sweep(
        "must- and cannot-links",
        DIGITS,
        ("gm_pr", "gmm_ec", "gm_pr_components", "gm_pr_default", "gmm_ec_default"),
    ),
    6: Sweep("must-links only", DIGITS, ("gm_pr", "gmm_ec", "gm_pr_components"), balance=1.0),
    7: Sweep("cannot-links only", DIGITS, ("gm_pr", "gmm_ec", "em_pc", "gm_pr_components"), balance=0.0),
    9: Sweep(
        "must- and cannot-links",
        OBJECTS,
        ("gm_pr_3", "gm_pr", "gm_pr_3_default", "sskk", "csc"),
        links=(0, 250, 1000),
        share=0.5,
    ),
    10: Sweep("must- and cannot-links", DIGITS, ("gm_pr", "gm_pr_2", "gm_pr_3", "gm_pr_4")),
}


# ---------------------------------------------------------------------- sweeps over the number of links


def data_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the principal components of a set and the classes, numbered from 0."""
    kind, _, n_components = name.partition("_")
    found = load("coil20" if kind == "coil20" else "mnist_test")
    X, y = np.asarray(found.X, dtype=float), np.asarray(found.y)
    if not n_components:
        rows = np.isin(y, [int(digit) for digit in kind.removeprefix("digits")])
        X, y = X[rows], y[rows]
    # scikit-learn would choose a randomised solver.
    X = PCA(int(n_components or 2), svd_solver="covariance_eigh").fit_transform(X)
    return X, np.unique(y, return_inverse=True)[1]


def fit(method: Method, X: np.ndarray, n_clusters: int, seed: int, hints: Supervision | None) -> Any:
    """Fit and return the estimator without its convergence warning; it records whether it converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.make(n_clusters, seed).fit(X, supervision=hints)


def fit_graph(
    method: Method, affinity: np.ndarray, n_clusters: int, seed: int, hints: Supervision | None
) -> tuple[np.ndarray, bool]:
    """Cluster the similarities of the rows; return the clusters, and whether the fit converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = method.make(n_clusters, seed).fit(affinity, supervision=hints).labels_
    return labels, not any(issubclass(each.category, ConvergenceWarning) for each in caught)


def scores_of(y: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return purity and the adjusted Rand index."""
    return [float(measure(y, labels)) for measure in MEASURES.values()]


def sweep_trial(sweep: Sweep, X: np.ndarray, y: np.ndarray, seed: int, methods: list[str]) -> np.ndarray:
    """Return the scores of one trial and whether the fit converged: methods x numbers of links x 3.

    A trial has one start and new links for each number, the same for all methods. The labels are those of
    `predict`, which ignores the links of a row; methods on graphs return the labels of the fit, which uses
    the links.
    """
    k = int(y.max()) + 1
    affinity = similarities(X) if any(METHODS[name].graph for name in methods) else None
    found = np.empty((len(methods), len(sweep.links), len(MEASURES) + 1))
    for c, count in enumerate(sweep.links):
        drawn = int(np.random.SeedSequence([seed, count]).generate_state(1)[0])
        hints = sample_links(y, count, balance=sweep.balance, random_state=drawn) if count else None
        for m, name in enumerate(methods):
            if METHODS[name].graph:
                labels, settled = fit_graph(METHODS[name], affinity, k, seed, hints)
            else:
                model = fit(METHODS[name], X, k, seed, hints)
                labels, settled = model.predict(X), model.converged_
            found[m, c] = [*scores_of(y, labels), settled]
    return found


def similarities(X: np.ndarray) -> np.ndarray:
    """Return a Gaussian kernel whose width is the mean squared distance of two rows, as in section 4.1."""
    squares = pairwise_distances(X, metric="sqeuclidean")
    squares /= -squares.sum() / (len(X) * (len(X) - 1))
    return np.exp(squares, out=squares)


def spectral_trials(X: np.ndarray, y: np.ndarray, n_trials: int) -> np.ndarray:
    """Return the scores of spectral clustering, trials x measures; only its k-means depends on the trial."""
    k, affinity = int(y.max()) + 1, similarities(X)
    embedding = spectral_embedding(affinity, n_components=k, drop_first=False, random_state=0)
    runs = (KMeans(k, n_init=10, random_state=seed).fit_predict(embedding) for seed in range(n_trials))
    return np.array([scores_of(y, labels) for labels in runs])


# ---------------------------------------------------------------------- the toys of figures 3 and 8

STARTS = {"paper": PAPER, "default": {}}
RECOVERED = 0.9  # minimum purity of a split that counts as found; the true boundary has 0.98
N_TOY = 200


@dataclass(frozen=True)
class LinkAmount:
    """The number and kind of links on a toy."""

    n_must: int
    n_cannot: int
    telling: bool = False  # True for links that a person would choose, False for random ones

    @property
    def label(self) -> str:
        """Return the label of the links."""
        if not self.n_must + self.n_cannot:
            return "no links"
        return f"{self.n_must} must, {self.n_cannot} cannot{', telling' * self.telling}"


AMOUNTS = ((2, 2), (2, 0), (0, 2), (8, 8))
TOY_LINKS = (LinkAmount(0, 0), *(LinkAmount(m, c, telling) for telling in (False, True) for m, c in AMOUNTS))
MOON_LINKS = (LinkAmount(0, 0), LinkAmount(2, 2), LinkAmount(8, 8), LinkAmount(32, 32))


def make_toy(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows in four groups, whether a row is in the upper half, and whether it is on the right.

    The intended split is top against bottom; the gap between left and right is wider.
    """
    rng = np.random.default_rng(seed)
    above = np.repeat([0, 1], N_TOY // 2)
    right = rng.integers(2, size=N_TOY)
    centres = np.column_stack([np.where(right, 1.5, -1.5), np.where(above, 1.0, -1.0)])
    return centres + rng.normal(size=(N_TOY, 2)) * [0.6, 0.5], above, right


def toy_links(amount: LinkAmount, y: np.ndarray, other: np.ndarray, seed: int) -> Supervision | None:
    """Draw links from the classes y.

    Telling links contradict the other split: must-links across it, cannot-links within one of its parts.
    """
    if not amount.n_must + amount.n_cannot:
        return None
    rng = np.random.default_rng([seed, amount.n_must, amount.n_cannot])
    a, b = np.triu_indices(len(y), 1)
    same, across = y[a] == y[b], other[a] != other[b]
    pools = (same & across, ~same & ~across) if amount.telling else (same, ~same)
    sizes = (amount.n_must, amount.n_cannot)
    must, cannot = (
        np.column_stack([a, b])[rng.choice(np.flatnonzero(pool), n, replace=False)]
        for pool, n in zip(pools, sizes, strict=True)
    )
    return Supervision.from_links(len(y), must=must, cannot=cannot)


def toy_trial(seed: int) -> np.ndarray:
    """Return, for each number of links, whether GM-PR and GMM-EC found the intended split.

    The first four columns are GM-PR and GMM-EC from each start. The last is True if the intended split has a
    higher likelihood of GM-PR than left against right, both fitted from the means of their halves.
    """
    X, y, right = make_toy(seed)
    found = np.empty((len(TOY_LINKS), 5))
    for t, amount in enumerate(TOY_LINKS):
        hints = toy_links(amount, y, right, seed)
        runs = [
            Method("", estimator, "", "", options=start | model)
            for estimator, model in ((GM_PR, PAIRS), (GMM_EC, {}))
            for start in STARTS.values()
        ]
        labels = [fit(method, X, 2, seed, hints).predict(X) for method in runs]
        found[t, :4] = [purity_score(y, each) >= RECOVERED for each in labels]
        halves = [np.array([X[half == side].mean(axis=0) for side in (0, 1)]) for half in (y, right)]
        meant, wide = (
            fit(Method("", GM_PR, "", "", options=PAIRS | {"init": means}), X, 2, seed, hints)
            for means in halves
        )
        found[t, 4] = meant.lower_bound_ > wide.lower_bound_
    return found


def moons_trial(seed: int) -> np.ndarray:
    """Return the share of rows in the wrong moon: numbers of links x (m_K 1 and 2) x starts."""
    X, y = make_moons(N_TOY, noise=0.1, random_state=seed)
    found = np.empty((len(MOON_LINKS), 2, len(STARTS)))
    for t, amount in enumerate(MOON_LINKS):
        hints = toy_links(amount, y, y, seed)
        for m in range(2):
            for s, start in enumerate(STARTS.values()):
                method = Method("", GM_PR, "", "", options=PAIRS | {"n_subclusters": m + 1, **start})
                found[t, m, s] = 1 - purity_score(y, fit(method, X, 2, seed, hints).predict(X))
    return found
