"""The methods, the data in bags, and the trials behind each figure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from likewise.datasets import load, spell
from likewise.evaluation import purity_score
from likewise.spectral import BagSpectralClustering, RegularizedSpectralClustering, SpectralLearning
from likewise.supervision import Supervision, sample_bag_labels

TEXTS = Path(__file__).parent / "texts"
MEASURES = {"purity": purity_score, "nmi": normalized_mutual_info_score}
SETS = ("letter_carroll", "msrcv2", "hja_birdsong")
POEMS = {"tyger": "the_tyger.txt", "frost": "the_road_not_taken.txt"}
PLAIN = ("segment", "vowel", "semeion", "ecoli", "letter", "pendigits", "coil20")
DEVELOPMENT = (*POEMS, *PLAIN)
MOST_ROWS = 1000  # of bags generated from a plain set
MOST_LABELS = 4  # of such a bag
DENSE: dict[str, Any] = {"n_neighbors": None}  # all pairs, as in the paper


@dataclass(frozen=True)
class Method:
    """A curve: its label, its look, and its estimator."""

    label: str
    estimator: Callable[..., Any]
    color: str  # from the colour-blind safe palette of Okabe and Ito
    marker: str
    line: Any = "-"
    options: dict[str, Any] = field(default_factory=dict)
    uses: str = "bags"  # or "links", or "nothing"
    alpha: Callable[[float], float] | None = None  # takes the share of labelled bags

    def make(self, n_clusters: int, seed: int, share: float = 1.0, **options: Any) -> Any:
        """Return the estimator for a number of clusters and a seed."""
        if self.alpha is not None:
            options["alpha"] = self.alpha(share)
        return self.estimator(n_clusters, random_state=seed, **self.options | options)


BAG = BagSpectralClustering
PRINTED = DENSE | {"variant": "printed"}
LINKS = DENSE | {"as_links": True}
UNPROPAGATED = {
    "variant": "labelled",
    "class_weight": "balanced",
    "alpha_unit": "spectrum",
    "cut_disjoint": True,
    "n_neighbors": 10,
}
METHODS = {
    "sp": Method("SP: no hints", BAG, "#000000", "x", ":", PRINTED | {"alpha": 0.0}, uses="nothing"),
    "sp_10": Method(
        "SP on the default's graph (10 neighbours)",
        BAG,
        "#777777",
        "+",
        ":",
        PRINTED | {"alpha": 0.0, "n_neighbors": 10},
        uses="nothing",
    ),
    "sp_additive": Method(
        "SpLearn, additive: no hints",
        SpectralLearning,
        "#999999",
        "1",
        "-.",
        DENSE | {"normalization": "additive"},
        uses="nothing",
    ),
    "splearn": Method("SpLearn, symmetric", SpectralLearning, "#E69F00", "s", "--", LINKS, uses="links"),
    "splearn_additive": Method(
        "SpLearn, additive",
        SpectralLearning,
        "#E69F00",
        "P",
        ":",
        LINKS | {"normalization": "additive"},
        uses="links",
    ),
    "spreg": Method(
        "SpReg",
        RegularizedSpectralClustering,
        "#CC79A7",
        "^",
        "--",
        # The spectrum is wide; a tighter tolerance takes twice as long and gives the same four digits.
        LINKS | {"cannot": "drop", "tol": 1e-3},
        uses="links",
    ),
    "csp": Method("CSP (printed)", BAG, "#0072B2", "o", "-", PRINTED),
    "csp_without": Method("CSP w.o. clml", BAG, "#56B4E9", "o", "--", PRINTED | {"without_links": True}),
    "sp_loops": Method(
        "SP, W_pp = 1",
        BAG,
        "#000000",
        "*",
        ":",
        PRINTED | {"alpha": 0.0, "self_loops": True},
        uses="nothing",
    ),
    "csp_loops": Method("CSP (printed), W_pp = 1", BAG, "#0072B2", "*", "-", PRINTED | {"self_loops": True}),
    "exact": Method("CSP, exact", BAG, "#009E73", "v", "-.", DENSE | {"variant": "exact"}),
    "labelled": Method("CSP, labelled", BAG, "#009E73", "<", ":", DENSE | {"variant": "labelled"}),
    "default": Method("our default (propagated)", BAG, "#D55E00", "D"),
    # Ablations of the default
    "all_pairs": Method("graph of all pairs", BAG, "", "", options=DENSE),
    "no_propagation": Method(
        "no propagation", BAG, "", "", options=UNPROPAGATED, alpha=lambda share: 1.5 * share**0.5
    ),
    "no_balance": Method("classes weigh by rows", BAG, "", "", options={"class_weight": None}),
    "no_cut": Method("no cut", BAG, "", "", options={"cut_disjoint": False}),
    "absolute": Method("α = 0.7, absolute", BAG, "", "", options={"alpha": 0.7, "alpha_unit": "absolute"}),
    "degree": Method("α by degree", BAG, "", "", options={"alpha_unit": "degree"}),
}
ABLATION = ("default", "all_pairs", "no_propagation", "no_balance", "no_cut", "absolute", "degree")


# ---------------------------------------------------------------------- rows in bags


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised rows, their classes numbered from 0, their bags and the classes of each bag."""

    X: np.ndarray
    y: np.ndarray
    bags: np.ndarray
    bag_labels: Mapping[Any, Any]

    @classmethod
    def of(cls, X: Any, y: Any, bags: Any, bag_labels: Mapping[Any, Any]) -> Problem:
        """Standardise the rows and number the classes."""
        classes = np.unique(y, return_inverse=True)[1]
        return cls(StandardScaler().fit_transform(np.asarray(X, dtype=float)), classes, bags, bag_labels)

    @property
    def n_classes(self) -> int:
        """Return the number of classes C."""
        return int(self.y.max()) + 1

    @property
    def labels_per_bag(self) -> float:
        """Return the mean number of classes per bag."""
        return float(np.mean([len(labels) for labels in self.bag_labels.values()]))

    def implied(self) -> tuple[float, float]:
        """Return the shares of the pairs of rows that the bags imply to be must-links and cannot-links."""
        names, codes = np.unique(self.bags, return_inverse=True)
        classes = sorted({label for labels in self.bag_labels.values() for label in labels})
        holds = np.array(
            [[label in set(self.bag_labels[bag]) for label in classes] for bag in names.tolist()]
        )
        sizes, common = np.bincount(codes).astype(float), holds.astype(int) @ holds.T.astype(int)
        alone = holds.sum(axis=1) == 1
        pairs = np.outer(sizes, sizes) - np.diag(sizes)  # ordered
        must = pairs[np.outer(alone, alone) & (common == 1)].sum()
        return float(must / pairs.sum()), float(pairs[common == 0].sum() / pairs.sum())

    def without_single_labels(self) -> Problem:
        """Return the rows of bags with several labels, and these bags."""
        several = {bag: labels for bag, labels in self.bag_labels.items() if len(labels) > 1}
        keep = np.array([bag in several for bag in self.bags.tolist()])
        return Problem.of(self.X[keep], self.y[keep], self.bags[keep], several)

    def hints(self, share: float, seed: int) -> Supervision:
        """Return the bags, of which a share keeps its labels."""
        hints = Supervision.from_bags(self.bags, self.bag_labels)
        return hints if share == 1 else sample_bag_labels(hints, share, random_state=seed)


def problem_of(name: str) -> Problem:
    """Return one of the three sets of the paper."""
    data = load(name)
    return Problem.of(data.X, data.y, data.bags, data.bag_labels)


def poem(name: str) -> str:
    """Return the lines of a poem; the first line of its file names the author."""
    return (TEXTS / POEMS[name]).read_text(encoding="utf-8").split("\n", 1)[1]


def make_problem(name: str, seed: int) -> Problem:
    """Return a new draw of a development set: a spelled poem, or bags of the rows of a plain set."""
    if name in POEMS:
        letters = load("letter")
        spelled = spell(poem(name), letters.X, letters.y, random_state=seed)
        return Problem.of(spelled.X, spelled.y, spelled.bags, spelled.bag_labels)
    data = load(name)
    rows, bags = draw_themed_bags(data.y, np.random.default_rng(seed))
    y = data.y[rows]
    labels = {bag: sorted(set(y[bags == bag].tolist())) for bag in range(bags.max() + 1)}
    return Problem.of(data.X[rows], y, bags, labels)


def draw_themed_bags(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw bags of 2 to 8 rows from one to four classes; return the rows and their bags.

    No row is drawn twice. Classes are drawn with probabilities proportional to their remaining rows.
    """
    left = {label: rng.permutation(np.flatnonzero(y == label)).tolist() for label in np.unique(y)}
    rows: list[int] = []
    bags: list[int] = []
    bag = 0
    while len(rows) < min(MOST_ROWS, len(y)) and any(left.values()):
        names = [label for label, some in left.items() if some]
        sizes = np.array([len(left[label]) for label in names], dtype=float)
        n_labels = min(int(rng.integers(1, MOST_LABELS + 1)), len(names))
        theme = rng.choice(len(names), n_labels, replace=False, p=sizes / sizes.sum())
        for _ in range(int(rng.integers(max(2, n_labels), 9))):
            some = left[names[int(rng.choice(theme))]]
            if some:
                rows.append(some.pop())
                bags.append(bag)
        bag += bag in bags[-1:]
    return np.array(rows), np.array(bags)


# ---------------------------------------------------------------------- fits


def imply_must_links(hints: Supervision, n_clusters: int, n_classes: int) -> Supervision:
    """Return hints that imply must-links if K = C, even if a rare class is in no labelled bag.

    The estimators take the number of classes from the hints; if K is larger, a class may be several clusters.
    In the experiment K = C is known.
    """
    seen = {label for labels in hints.bags.labels for label in labels or ()}
    if n_clusters > n_classes or len(seen) == n_classes:
        return hints
    alone = [
        labels[0] if labels and len(labels) == 1 else None for labels in map(_as_list, hints.bags.labels)
    ]
    return hints | Supervision.from_labels([alone[code] for code in hints.bags.codes]).to_links()


def _as_list(labels: Any) -> list[Any]:
    return list(labels or ())


def fit_scores(
    problem: Problem,
    key: str,
    share: float,
    seeds: tuple[int, ...],
    n_clusters: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> np.ndarray:
    """Return the scores of a fit and whether it converged: seeds x 3.

    If all bags are labelled, or hints are not used, runs differ only in the starts of k-means. They share one
    fit, and the eigenvectors are computed once.
    """
    k, method = n_clusters or problem.n_classes, METHODS[key]
    hints = None if method.uses == "nothing" else problem.hints(share, seeds[0])
    if method.uses == "links":
        hints = imply_must_links(hints, k, problem.n_classes)
    model = method.make(k, seeds[0], share, **options or {})
    settled = fit_model(model, problem.X, hints)
    if not settled:
        # The eigenvalues of the additive form crowd at 1, so the whole matrix may have to be decomposed.
        settled = fit_model(model.set_params(eigen_solver="dense"), problem.X, hints)
    found = [model.labels_]
    found += [
        KMeans(k, n_init=model.n_init, random_state=seed).fit_predict(model.embedding_) for seed in seeds[1:]
    ]
    return np.array(
        [[*(float(score(problem.y, each)) for score in MEASURES.values()), settled] for each in found]
    )


def fit_model(model: Any, X: np.ndarray, hints: Supervision | None) -> bool:
    """Fit the model; return True if it converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, supervision=hints)
    return not any(issubclass(each.category, ConvergenceWarning) for each in caught)


def groups_of(seeds: tuple[int, ...], share: float, key: str) -> list[tuple[int, ...]]:
    """Return the runs that share a fit."""
    return [seeds] if share == 1 or METHODS[key].uses == "nothing" else [(seed,) for seed in seeds]


def make_scores(name: str, seed: int, methods: tuple[str, ...], shares: tuple[float, ...]) -> np.ndarray:
    """Return the scores on a new draw of a development set: methods x shares x 3."""
    problem = make_problem(name, seed)
    found = np.empty((len(methods), len(shares), len(MEASURES) + 1))
    for m, key in enumerate(methods):
        for s, share in enumerate(shares):
            if s and METHODS[key].uses == "nothing":
                found[m, s] = found[m, 0]
            else:
                found[m, s] = fit_scores(problem, key, share, (seed,))[0]
    return found
