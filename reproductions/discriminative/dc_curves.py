"""The curves of the figures: their estimators, hints and looks."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans

from likewise import EquivalenceGaussianMixture
from likewise.discriminative import DiscriminativeClustering
from likewise.evaluation import HintSearchCV
from likewise.metric import ITML, LSML, MMC, RelativeSVM, SparseLP, SSSVaD

KMEANS_STARTS = 20
SMALL = ("ionosphere", "pima", "balance_scale")
# Hints per row at level 1. The same number of shown rows needs 1.5 times as many pairs as triplets.
SHARES = {"pairs": 0.1, "triplets": 0.05, "matched_pairs": 0.075}
SEARCHED = {"tau": [0.5, 1.0, 1.5], "alpha": [2.0**-10, 2.0**-6, 2.0**-2]}


@dataclass(frozen=True)
class Curve:
    """A curve: its name, the kind of its hints, the estimator for k clusters and a seed, and its look."""

    label: str
    kind: str | None
    make: Callable[[int, int], Any]
    color: str = "#000000"  # from the colour-blind safe palette of Okabe and Ito
    marker: str = "o"
    line: Any = "-"
    selected: bool = False  # True if parameters are chosen by held-out hints
    only: tuple[str, ...] = ()  # the data sets, if not all
    levels: tuple[int, ...] = ()  # the levels, if not all
    most_runs: int = 1000


def dc(**parameters: Any) -> Callable[[int, int], Any]:
    """Return a factory of our estimator with the given parameters."""
    return lambda k, seed: DiscriminativeClustering(k, init="hints", random_state=seed, **parameters)


def make_search(scoring: str) -> Callable[[int, int], Any]:
    """Return a factory of a search over tau and alpha by five folds of the hints."""
    return lambda k, seed: HintSearchCV(dc()(k, seed), SEARCHED, cv=5, scoring=scoring, random_state=seed)


def make_constrained_em(k: int, seed: int) -> Any:
    """Return GMM-EC with 10 starts; 3 with many classes, where a start takes seconds."""
    return EquivalenceGaussianMixture(k, n_init=10 if k <= 10 else 3, random_state=seed)


# Eq. 3.11 from the first sweep, from one start.
PRINTED: dict[str, Any] = {"epsilon": 0.0, "anneal": False, "n_init": 1}
# A search costs 46 fits, so it has few runs, one number of hints, and only sets with fast fits.
SEARCH: dict[str, Any] = {"selected": True, "levels": (3,), "most_runs": 5}
SEARCHED_ON = (*SMALL, "msrcv2")
ALL_BUT_HJA = (*SMALL, "digits389", "letters_ijlt", "msrcv2")


CURVES = {
    "kmeans": Curve(
        "K-Means, no hints",
        None,
        lambda k, seed: KMeans(k, n_init=KMEANS_STARTS, random_state=seed),
        "#999999",
        "",
        ":",
    ),
    "dc_none": Curve("DC, no hints", None, dc(), "#666666", "", "--", only=SEARCHED_ON),
    # Figure 3.2
    "dc_p": Curve("DC-P", "pairs", dc(), "#D55E00", "o"),
    "dc_p_chosen": Curve(
        "DC-P, tau and lambda chosen",
        "pairs",
        make_search("agreement"),
        "#000000",
        "*",
        "",
        only=SEARCHED_ON,
        **SEARCH,
    ),
    "dc_p_accuracy": Curve(
        "DC-P, chosen by accuracy", "pairs", make_search("accuracy"), only=("msrcv2",), **SEARCH
    ),
    "xing": Curve("Xing", "pairs", lambda k, seed: MMC(diagonal=True, shrinkage=0), "#56B4E9", "^", "--"),
    "xing_0": Curve(
        "Xing, rho = 0",
        "pairs",
        lambda k, seed: MMC(diagonal=True, regularization=0.0, shrinkage=0),
        "#56B4E9",
        "<",
        ":",
        only=SEARCHED_ON,
    ),
    "itml": Curve("ITML", "pairs", lambda k, seed: ITML(shrinkage=0), "#0072B2", "s", "--"),
    "em": Curve(
        "Constrained EM",
        "pairs",
        make_constrained_em,
        "#009E73",
        "v",
        "--",
    ),
    # Figure 3.3
    "dc_r": Curve("DC-R", "triplets", dc(), "#CC79A7", "D"),
    "dc_r_c": Curve("DC-R-C", "triplets", dc(neither="drop"), "#E69F00", "P"),
    "dc_r_chosen": Curve(
        "DC-R, tau and lambda chosen",
        "triplets",
        make_search("agreement"),
        "#000000",
        "*",
        "",
        only=SEARCHED_ON,
        **SEARCH,
    ),
    "lsml": Curve(
        "LSML", "triplets", lambda k, seed: LSML(shrinkage=0, neither="drop"), "#0072B2", "s", "--"
    ),
    "sparse_lp": Curve(
        "sparseLP", "triplets", lambda k, seed: SparseLP(shrinkage=0, neither="drop"), "#56B4E9", "^", "--"
    ),
    "relative_svm": Curve(
        "SVM-style", "triplets", lambda k, seed: RelativeSVM(neither="drop"), "#F0E442", "<", "--"
    ),
    "sssvad": Curve(
        "SSSVaD",
        "triplets",
        lambda k, seed: SSSVaD(k, neither="drop", random_state=seed),
        "#009E73",
        "v",
        "--",
    ),
    # Figures 3.4 and 3.5, beside DC-P and DC-R
    "dc_p_hard": Curve("DC-P, hard", "pairs", dc(epsilon=0.0), "#000000", "X", "--"),
    "dc_r_hard": Curve("DC-R, hard", "triplets", dc(epsilon=0.0), "#000000", "X", "--"),
    "dc_p_printed": Curve(
        "DC-P, hard as printed", "pairs", dc(**PRINTED), "#0072B2", "s", ":", only=SEARCHED_ON
    ),
    "dc_r_printed": Curve(
        "DC-R, hard as printed", "triplets", dc(**PRINTED), "#0072B2", "s", ":", only=SEARCHED_ON
    ),
    # Section 3.3.3.1: epsilon from 0.05 to 0.15 makes little difference
    "dc_p_15": Curve("DC-P, epsilon 0.15", "pairs", dc(epsilon=0.15), levels=(3,), only=ALL_BUT_HJA),
    "dc_r_15": Curve("DC-R, epsilon 0.15", "triplets", dc(epsilon=0.15), levels=(3,), only=ALL_BUT_HJA),
    # Figure 3.8, beside DC-R and DC-R-C
    "dc_p_matched": Curve("DC-P", "matched_pairs", dc(), "#D55E00", "o"),
}


@cache
def fingerprint(curve: str) -> str:
    """Return a digest of the parameters and the code of a method, which identifies its version."""
    model = CURVES[curve].make(2, 0)
    digest = hashlib.sha256(f"{KMEANS_STARTS}".encode())
    for part in (model, getattr(model, "estimator", None)):  # a search contains an estimator
        if part is not None:
            digest.update(f"{type(part).__name__} {part.get_params()}".encode())
            for file in sorted(Path(inspect.getfile(type(part))).parent.glob("*.py")):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
