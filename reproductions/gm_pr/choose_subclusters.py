"""Choose the number of Gaussians per class, m_K, by cross-validation over links, as in the paper.

Run ``python reproductions/gm_pr/choose_subclusters.py``; ``--data digits123`` for one set. Held-out links
score m_K = 1 to 4 in five folds. The table shows the choice in each trial, and the purity of the choice next
to that of each fixed number.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from experiments import METHODS, data_of

from likewise.evaluation import HintSearchCV, purity_score
from likewise.exceptions import DatasetNotFoundError
from likewise.supervision import sample_links

CANDIDATES = (1, 2, 3, 4)
SETS = {"digits123": (512,), "digits4567": (512,), "coil20_10": (1000,)}


def choose_subclusters(name: str, n_links: int, seed: int) -> tuple[int, dict[int, float]]:
    """Return the m_K with the best held-out score, and the purity of a fit to all links for each m_K."""
    X, y = data_of(name)
    k = int(y.max()) + 1
    hints = sample_links(y, n_links, random_state=seed)
    purity = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = HintSearchCV(
            METHODS["gm_pr"].make(k, seed), {"n_subclusters": list(CANDIDATES)}, cv=5, refit=False
        )
        search.fit(X, supervision=hints)
        for m in CANDIDATES:
            model = METHODS["gm_pr"].make(k, seed).set_params(n_subclusters=m)
            purity[m] = float(purity_score(y, model.fit(X, supervision=hints).predict(X)))
    return int(search.best_params_["n_subclusters"]), purity


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", choices=SETS, default=tuple(SETS))
    parser.add_argument("--trials", type=int, default=3)
    given = parser.parse_args()
    print("| data, links | chosen m_K | purity, chosen |", *(f"m_K = {m} |" for m in CANDIDATES))
    print("| --- " * (3 + len(CANDIDATES)) + "|")
    for name in given.data:
        for n_links in SETS[name]:
            try:
                trials = [choose_subclusters(name, n_links, seed) for seed in range(given.trials)]
            except DatasetNotFoundError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
            chosen = np.mean([purity[m] for m, purity in trials])
            means = [np.mean([purity[m] for _, purity in trials]) for m in CANDIDATES]
            numbers = ", ".join(str(m) for m, _ in trials)
            print(f"| {name}, {n_links} | {numbers} | {chosen:.3f} |", *(f"{mean:.3f} |" for mean in means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
