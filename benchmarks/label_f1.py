"""Measure F1 on new rows of a latent hierarchy and of independent classifiers, also with missing labels.

`python benchmarks/label_f1.py` (`--data NAME ...`, `--seeds 3`, `--noises 0 0.3`). The baseline is
`BinaryRelevance` with the true missing rate, with the threshold 0.5 and with thresholds set for F1 by
five-fold cross-validation. `LatentHierarchyClassifier()` has its defaults, with and without the true tree,
and its previous defaults (`marginals="tree", threshold=0.5`). The method was developed on the sets in
`LOOKED_AT`; the others were not looked at during development.
"""

import argparse
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, precision_recall_curve
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from likewise.datasets import load, make_label_tree
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import BinaryRelevance, LatentHierarchyClassifier

HERE = Path(__file__).parent
LOOKED_AT = ("20news", "cellcycle", "emotions", "letter groups", "pendigits groups", "yeast")
OTHERS = ("diatoms", "clinc150", "church", "scene", "semeion groups", "made 25", "made 60")
N_TRAIN, N_TEST, FEWEST = 1500, 1500, 5
METHODS = ("BR at 0.5", "BR, thresholds", "true tree", "learned tree", "true tree, before")


def groups(name, seed):
    """Return the classes of a set with random groups of four as parents: unions of unrelated labels."""
    data = load(name)
    y = np.asarray(data.y).astype(str)
    classes = np.random.default_rng(seed).permutation(np.unique(y))
    parts = np.array_split(classes, max(3, len(classes) // 4))
    edges = [(f"group {i}", str(c)) for i, part in enumerate(parts) for c in part]
    tree = LabelHierarchy.from_edges(edges)
    return np.asarray(data.X, dtype=float), tree.close(y[:, None] == np.array(tree.names)), tree


@cache
def rows_of(name, seed):
    """Return rows, labels and the true tree, or None if there is none."""
    if name.startswith("made"):
        data = make_label_tree(2500, int(name[5:]), n_features=20, missing_rate=0.0, random_state=100 + seed)
        return data.X, data.Y, LabelHierarchy.from_parents(data.parents)
    if name.endswith("groups"):
        return groups(name.split()[0], seed)
    if name == "clinc150":
        data = load(name)
        X = TruncatedSVD(100, random_state=0).fit_transform(TfidfVectorizer().fit_transform(data.texts))
        tree = LabelHierarchy.from_edges(data.hierarchy)
        return X, tree.close(np.asarray(data.y)[:, None] == np.array(tree.names)), tree
    data = load(
        {"20news": "20news_w1000", "church": "church_fun", "cellcycle": "cellcycle_fun"}.get(name, name)
    )
    Y = np.asarray(data.Y, dtype=bool)
    if name == "20news":
        counts = data.X.astype(float).copy()
        counts.data = np.log1p(counts.data)
        X = TruncatedSVD(100, random_state=0).fit_transform(counts)
        return X, Y, LabelHierarchy.from_edges(data.hierarchy, names=data.label_names)
    X = np.asarray(data.X, dtype=float)
    if data.hierarchy is None:
        return X, Y, None
    least = 25 if name == "diatoms" else 200
    kept = np.flatnonzero(Y.sum(axis=0) >= least)
    names = [data.label_names[k] for k in kept]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return X, Y[:, kept], LabelHierarchy.from_edges(data.hierarchy, names=data.label_names).restrict(names)


def draw_problem(name, noise, seed):
    """Return training rows with missing labels, test rows, and the true tree."""
    X, Y, tree = rows_of(name, seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_train = min(N_TRAIN, int(0.6 * len(X)))
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    Z = Y[train] & (rng.random((n_train, Y.shape[1])) >= noise)
    kept = np.flatnonzero(Z.sum(axis=0) >= FEWEST)
    names = [str(k) for k in kept]
    if tree is not None:
        names = [tree.names[k] for k in kept]
        tree = tree.restrict(names)
    scaler = StandardScaler().fit(X[train])
    Z = pd.DataFrame(Z[:, kept].astype(np.uint8), columns=names)
    return scaler.transform(X[train]), Z, scaler.transform(X[test]), Y[test][:, kept], tree


def f1_thresholds(chances, Z, noise):
    """Return the threshold of each label with the highest F1; Z has a share 1 - noise of the true labels."""
    out = []
    for c in range(Z.shape[1]):
        precision, recall, cuts = precision_recall_curve(Z[:, c], chances[:, c])
        precision = np.minimum(precision / (1 - noise), 1.0)
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        out.append(cuts[min(f1.argmax(), len(cuts) - 1)])
    return np.array(out)


def trial(name, noise, seed):
    """Return F1 macro and micro of each method."""
    X, Z, X_new, Y_new, tree = draw_problem(name, noise, seed)
    plain = BinaryRelevance(missing_rate=noise)
    chances = plain.fit(X, Z).predict_proba(X_new)
    crossed = cross_val_predict(plain, X, Z.to_numpy(), cv=5, method="predict_proba")
    cuts = f1_thresholds(crossed, Z.to_numpy(), noise)
    found = {"BR at 0.5": chances > 0.5, "BR, thresholds": chances >= cuts}
    models = {"learned tree": LatentHierarchyClassifier()}
    if tree is not None:
        models["true tree"] = LatentHierarchyClassifier(tree)
        models["true tree, before"] = LatentHierarchyClassifier(tree, marginals="tree", threshold=0.5)
    for key, model in models.items():
        found[key] = model.fit(X, Z).predict(X_new)
    return {
        key: [float(f1_score(Y_new, each, average=how, zero_division=0)) for how in ("macro", "micro")]
        for key, each in found.items()
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=[*OTHERS, *LOOKED_AT])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--noises", type=float, nargs="+", default=[0.0, 0.3])
    parser.add_argument("--out", type=Path, default=HERE / "results" / "label_f1.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.data:
        for noise in args.noises:
            runs = [trial(name, noise, seed) for seed in range(args.seeds)]
            results[f"{name}, {noise:g}"] = {
                key: {
                    "runs": [run[key] for run in runs],
                    "mean": np.mean([run[key] for run in runs], 0).tolist(),
                }
                for key in runs[0]
            }
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(json.dumps(results, indent=1))
            print(f"{name}, {noise:g}: done", flush=True)
    table = Table("data, missing", *METHODS, title="F1 macro / micro")
    for key, row in results.items():
        cells = ["{:.3f} / {:.3f}".format(*row[name]["mean"]) if name in row else "" for name in METHODS]
        table.add_row(key, *cells)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
