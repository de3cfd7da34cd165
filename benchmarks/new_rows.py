"""Measure an interview to which rows are added in ten parts, with classes that only appear later.

Run ``python benchmarks/new_rows.py --embeddings FOLDER``; FOLDER has ``banking77_minilm.npz`` with the arrays
X and y. A third of the classes, 26 of 77, has no row in the first part; three of them (two in the last part)
join with each later part. Every class that has joined is spread evenly over the remaining parts. The number
of groups is unknown, answers are true, and `--first` and `--each` say how many are given before the first
addition and after each one.

Per part, the table shows: the old rows whose group changed when the part was added (it must be 0), the old
rows that the answers after it moved, how many of the added rows fit nowhere, how many of these are of a new
class and how many rows of new classes there are. At the end: F1 of each class that came later, matched with
one group, and of the others.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from likewise.active import Interview, match_labels
from likewise.oracles import LabelOracle

N_PARTS = 10


def divide(y, seed):
    """Return the part of each row, and the part in which each class appears first."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    first = np.zeros(len(classes), dtype=int)
    for at, late in enumerate(classes[: len(classes) // 3 + 1]):
        first[late] = 1 + at * (N_PARTS - 1) // (len(classes) // 3 + 1)
    part = np.empty(len(y), dtype=int)
    for label in classes:
        rows = rng.permutation(np.flatnonzero(y == label))
        part[rows] = first[label] + np.arange(len(rows)) % (N_PARTS - first[label])
    return part, first


def compute_f1(y, labels):
    """Return the F1 of each class with the group that is matched with it, each group once."""
    groups = np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((y.max() + 1, groups.max() + 1))
    np.add.at(counts, (y, groups), 1)
    f1 = 2 * counts / (counts.sum(axis=1, keepdims=True) + counts.sum(axis=0))
    rows, columns = linear_sum_assignment(-f1)
    found = np.zeros(len(f1))
    found[rows] = f1[rows, columns]
    return found


def answer(interview, oracle, n):
    """Give some answers; return the CPU seconds that asking took."""
    began = time.process_time()
    for _ in range(n):
        question = interview.ask()
        if question is None:
            break
        interview.tell(question, oracle.answer(question))
    return time.process_time() - began


def run(X, y, n_first, n_each, seed):
    """Add the parts one after the other; print a line for each, and the scores at the end."""
    part, first = divide(y, seed)
    order = np.argsort(part, kind="stable")
    X, y, part = X[order], y[order], part[order]
    ends = np.searchsorted(part, np.arange(1, N_PARTS + 1))
    oracle = LabelOracle(y)
    interview = Interview(X[: ends[0]], strategy="groups", random_state=seed)
    answer(interview, oracle, n_first)
    for number, (start, end) in enumerate(pairwise(ends), start=1):
        shown = interview.labels_
        began = time.process_time()
        placed = interview.extend(X[start:end])
        spent = time.process_time() - began
        changed = int((interview.labels_[:start] != shown).sum())
        new = first[y[start:end]] == number
        lost = np.isin(placed.rows, placed.unplaced)
        answer(interview, oracle, n_each)
        moved = int((match_labels(interview.labels_, shown)[:start] != shown).sum())
        cells = (seed, number + 1, end, interview.n_answers, changed, moved, int(lost.sum()))
        cells += (f"{int((lost & new).sum())} of {int(new.sum())}", f"{spent:.1f}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    scores, labels = {}, interview.labels_
    for name, found in (("kept", labels), ("model", interview.model_.labels_)):
        f1 = compute_f1(y, found)
        scores[name] = (f1[first > 0].mean(), f1[first == 0].mean(), adjusted_rand_score(y, found))
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embeddings", default="embeddings", help="folder with banking77_minilm.npz")
    parser.add_argument("--first", type=int, default=100, help="answers before the first addition")
    parser.add_argument("--each", type=int, default=60, help="answers after each addition")
    parser.add_argument("--seeds", type=int, nargs="+", default=(0,))
    asked = parser.parse_args()
    arrays = np.load(Path(asked.embeddings) / "banking77_minilm.npz", allow_pickle=True)
    X, y = arrays["X"].astype(np.float32), np.unique(arrays["y"], return_inverse=True)[1]
    print("| seed | part | rows | answers | changed | moved | fit nowhere | of new classes | CPU s |")
    print("|" + " --- |" * 9)
    for seed in asked.seeds:
        for name, (late, early, ari) in run(X, y, asked.first, asked.each, seed).items():
            print(f"seed {seed}, labels of the {'interview' if name == 'kept' else 'model'}: F1 of classes")
            print(f"  that came later {late:.3f}, of the others {early:.3f}; ARI {ari:.3f}", flush=True)


if __name__ == "__main__":
    main()
