"""Measure how many answers an interview needs: the table of the page "How many answers do I need?".

Run with ``python examples/how_many_answers.py`` (some minutes). Answers come from the true classes. Data sets
that are not part of scikit-learn are read from the folder in ``LIKEWISE_DATA``, or skipped.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from likewise.active import Interview
from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError
from likewise.oracles import LabelOracle

COUNTS = (0, 10, 20, 50, 100, 200)
RAW = {"iris", "digits", "digits389", "letters_ijl", "pendigits", "semeion", "vowel"}  # comparable columns
NAMES = [
    *("wdbc", "ionosphere", "pima", "transfusion", "iris", "wine", "letters_ijl", "digits389", "protein"),
    *("segment", "ecoli", "mfeat", "digits", "semeion", "vowel", "coil20"),
]


def scores_of_interview(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the adjusted Rand index after each number of answers in ``COUNTS``."""
    interview = Interview(X, n_clusters=len(np.unique(y)), random_state=seed)
    oracle, scores = LabelOracle(y), []
    for count in COUNTS:
        while interview.n_answers < count and (question := interview.ask()) is not None:
            interview.tell(question, oracle.answer(question))
        scores.append(adjusted_rand_score(y, interview.labels_))
    return scores


def main() -> None:
    """Print one line of the table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| data | rows | columns | clusters |", " | ".join(map(str, COUNTS)), "|")
    for name in options.names:
        try:
            data = load(name)
        except DatasetNotFoundError:
            print(f"{name}: not found, skipped")
            continue
        X = np.asarray(data.X, dtype=float)
        if name not in RAW:
            X = StandardScaler().fit_transform(X)
        mean = np.mean([scores_of_interview(X, data.y, seed) for seed in range(options.seeds)], axis=0)
        cells = " | ".join(f"{value:.2f}" for value in mean)
        print(f"| {name} | {X.shape[0]} | {X.shape[1]} | {len(np.unique(data.y))} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
