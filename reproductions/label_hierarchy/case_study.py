"""Case study without a known tree: learn a tree of labels, and assess how far it can be trusted."""

from __future__ import annotations

from typing import Any

import experiments as ex
import numpy as np
import pandas as pd
from scipy.stats import chi2
from sklearn.preprocessing import StandardScaler

from likewise.datasets import load
from likewise.hierarchy import LabelHierarchy

SETS = ("emotions", "yeast")
N_DRAWS = 20


def case(name: str, n_draws: int = N_DRAWS) -> dict[str, Any]:
    """Learn the tree of a set, and repeat it on bootstrap samples of the rows."""
    data = load(name)
    X = StandardScaler().fit_transform(np.asarray(data.X, dtype=float))
    Y = pd.DataFrame(np.asarray(data.Y, dtype=np.uint8), columns=list(data.label_names))
    model, by_em = ex.LATENT(**ex.LEARN), ex.LATENT(**ex.LEARN, rate_from="em")
    settled = ex.fit_model(model, X, Y) and ex.fit_model(by_em, X, Y)
    tree: LabelHierarchy = model.hierarchy_
    edges, again = _edges(tree, Y), _again(tree, X, Y, n_draws)
    return {
        "n_samples": len(X),
        "n_features": X.shape[1],
        "n_labels": Y.shape[1],
        "recorded": [int(n) for n in Y.sum()],
        "tree": {
            "names": list(tree.names),
            "parents": [int(p) for p in tree.parents],
            "scores": tree.scores.round(1).tolist(),
            "margins": tree.margins.round(1).tolist(),
            "counts": tree.counts.round(0).tolist(),
        },
        "edges": [
            {"parent": p, "child": c, **edges[p, c], "drawn_again": round(again[p, c], 2)}
            for p, c in tree.edges
        ],
        "one_rate": _one_rate(list(edges.values())),
        "missing_rate": round(model.missing_rate_, 3),
        "missing_rate_em": round(by_em.missing_rate_, 3),
        "n_anchors": int(model.n_anchors_),
        "settled": settled,
        "f1": _score_held_out(X, Y, np.asarray(data.split)),
    }


def _edges(tree: LabelHierarchy, Y: pd.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    """Count the rows with the child, and those of them with the parent, for each edge."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for p, c in tree.edges:
        child = Y[c] == 1
        at = tree.names.index(c)
        found[p, c] = {
            "score": round(float(tree.scores[at]), 1),
            "margin": round(float(tree.margins[at]), 1),
            "rows": int(child.sum()),
            "with_parent": int((child & (Y[p] == 1)).sum()),
        }
    return found


def _one_rate(edges: list[dict[str, Any]]) -> dict[str, float]:
    """Test whether parents are recorded with the child equally often along all edges (random gaps)."""
    rows, both = (np.array([edge[key] for edge in edges], dtype=float) for key in ("rows", "with_parent"))
    share = both.sum() / rows.sum()
    value = float((((both - share * rows) ** 2) / (rows * share * (1 - share))).sum())
    shares = both / rows
    return {
        "least": round(float(shares.min()), 3),
        "most": round(float(shares.max()), 3),
        "chi2": round(value, 1),
        "freedom": len(edges) - 1,
        "p": float(f"{chi2.sf(value, len(edges) - 1):.1e}"),
    }


def _again(tree: LabelHierarchy, X: np.ndarray, Y: pd.DataFrame, n_draws: int) -> dict[Any, float]:
    """Return the share of bootstrap trees in which each edge is found again."""
    rng = np.random.default_rng(0)
    seen = dict.fromkeys(tree.edges, 0)
    for _ in range(n_draws):
        rows = rng.integers(len(X), size=len(X))
        model = ex.LATENT(**ex.LEARN, max_iter=1)  # the tree is learned before EM
        ex.fit_model(model, X[rows], Y.iloc[rows])
        for edge in set(model.hierarchy_.edges) & set(seen):
            seen[edge] += 1
    return {edge: n / n_draws for edge, n in seen.items()}


def _score_held_out(X: np.ndarray, Y: pd.DataFrame, split: np.ndarray) -> dict[str, list[float]]:
    """Return F1 micro and macro on the test rows, for the learned tree and for separate classifiers."""
    train, test = split == "train", split == "test"
    models = {
        "learn": ex.LATENT(**ex.LEARN),
        "learn, nothing missing": ex.LATENT(**(ex.LEARN | {"missing_rate": 0.0})),
        "BR": ex.BinaryRelevance(),
    }
    out = {}
    for key, model in models.items():
        ex.fit_model(model, X[train], Y[train])
        out[key] = [round(f1, 3) for f1 in ex.f1_scores(Y[test].to_numpy(), model.predict(X[test]))]
    return out


def hierarchy(found: dict[str, Any]) -> LabelHierarchy:
    """Return the tree of recorded results."""
    tree = found["tree"]
    edges = [(p, c) for c, p in enumerate(tree["parents"]) if p >= 0]
    more = {key: np.array(tree[key]) for key in ("scores", "margins", "counts")}
    return LabelHierarchy(tree["names"], edges, **more)


def format_tree(found: dict[str, Any]) -> list[str]:
    """Return the tree as text, one line per label with its number of rows and the margin of its edge."""
    tree = hierarchy(found)
    recorded = dict(zip(tree.names, found["recorded"], strict=True))
    margins = dict(zip(tree.names, tree.margins, strict=True))
    again = {edge["child"]: edge["drawn_again"] for edge in found["edges"]}

    def lines(name: str, depth: int) -> list[str]:
        sure = f", margin {margins[name]:.1f}" + (f", again {again[name]:.0%}" if name in again else "")
        here = [f"{'    ' * depth}{name} ({recorded[name]} rows{sure})"]
        return here + [line for child in tree.children(name) for line in lines(child, depth + 1)]

    return [line for name in tree.tops for line in lines(name, 0)]
