"""The soft-margin loss of a graph of labels, and the choice of cliques that lower it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from likewise.multilabel._clique_model import LabelGraph


@dataclass(frozen=True, eq=False)
class CliqueFit:
    """Fitted parameters of the labels (K, d + 1), with the intercepts last, and weights of the edges (e,)."""

    coef: np.ndarray
    weights: np.ndarray
    n_iter: int


class SoftMargin:
    """The objective of CliqueLabelGraph with ``loss="softmax"``, on rows X (n, d) and labels Y (n, K)."""

    def __init__(self, X: Any, Y: np.ndarray, C: float, margin: float) -> None:
        self.X, self.Y, self.C, self.margin = X, Y, C, margin
        self.together = Y.T @ Y

    def _compute_odds(self, coef: np.ndarray) -> np.ndarray:
        """Return log-odds with the margin subtracted from the score of the true value of each label."""
        odds: np.ndarray = self.X @ coef[:, :-1].T + coef[:, -1] + self.margin * (1.0 - 2.0 * self.Y)
        return odds

    def compute_value(
        self, graph: LabelGraph, coef: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss and its gradients with respect to the parameters of the labels and the edges."""
        odds = self._compute_odds(coef)
        expected = graph.expect(odds, weights)
        met = self.together[graph.edges[:, 0], graph.edges[:, 1]]
        # Δ is the number of true labels plus Σ y (1 - 2 yᵢ); Y * odds contains the first part and the margin.
        loss = expected.log_total - float((self.Y * odds).sum()) - float(weights @ met)
        loss += (float((coef[:, :-1] ** 2).sum()) + float(weights @ weights)) / (2.0 * self.C)
        off = expected.held - self.Y
        slope = np.column_stack([(self.X.T @ off).T, off.sum(axis=0)])
        slope[:, :-1] += coef[:, :-1] / self.C
        return loss, slope, expected.joined - met + weights / self.C

    def fit(self, graph: LabelGraph, start: CliqueFit, *, max_iter: int, tol: float) -> CliqueFit:
        """Minimise the loss, starting from `start`."""
        shape, cut = start.coef.shape, start.coef.size
        if not cut:
            return start

        def compute_loss(at: np.ndarray) -> tuple[float, np.ndarray]:
            loss, slope, pull = self.compute_value(graph, at[:cut].reshape(shape), at[cut:])
            return loss / len(self.Y), np.append(slope.ravel(), pull) / len(self.Y)

        result = minimize(
            compute_loss,
            np.append(start.coef.ravel(), start.weights),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxcor": 20},
        )
        return CliqueFit(result.x[:cut].reshape(shape), result.x[cut:], int(result.nit))

    def compute_gains(self, graph: LabelGraph, fitted: CliqueFit) -> np.ndarray:
        """Return the decrease of the loss from an edge between any two labels, to second order.

        It is 0 for existing edges. The parameters of the labels are fixed, so the true decrease is larger.
        """
        sums, variances = graph.compute_pair_moments(self._compute_odds(fitted.coef), fitted.weights)
        gains: np.ndarray = (sums - self.together) ** 2 / (2.0 * (variances + 1.0 / self.C))
        j, k = graph.edges.T
        gains[j, k] = gains[k, j] = 0.0
        np.fill_diagonal(gains, 0.0)
        return gains


def generate_cliques(
    net: np.ndarray, graph: LabelGraph, clique_size: int, max_group: int
) -> list[tuple[int, ...]]:
    """Return the cliques with the largest gain, at most one for each connected component of the graph.

    `net` is the gain of each edge minus the minimum gain; existing edges count as 0. A clique starts with the
    best edge and adds the label whose edges to it gain most.
    """
    net = net.copy()
    j, k = graph.edges.T
    net[j, k] = net[k, j] = 0.0
    np.fill_diagonal(net, -np.inf)
    part = graph.part
    size = np.bincount(part)
    free = np.ones(len(net), dtype=bool)
    cliques = []
    first, second = np.triu_indices(len(net), 1)
    order = np.argsort(-net[first, second], kind="stable")
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if net[a, b] <= 0.0:
            break
        clique = [a, b]
        if not (free[a] and free[b]) or size[np.unique(part[clique])].sum() > max_group:
            continue
        while len(clique) < clique_size:
            joined = np.unique(part[clique])
            room = max_group - int(size[joined].sum())
            fits = free & (np.isin(part, joined) | (size[part] <= room))
            worth = np.where(fits, net[clique].sum(axis=0), -np.inf)
            if worth.max() <= 0.0:
                break
            clique.append(int(worth.argmax()))
        cliques.append(tuple(sorted(clique)))
        free &= ~np.isin(part, part[clique])
    return cliques


def extend_graph(
    graph: LabelGraph, fitted: CliqueFit, cliques: list[tuple[int, ...]]
) -> tuple[LabelGraph, CliqueFit]:
    """Return the graph with the edges of the cliques added; new edges have weight 0."""
    known = dict(zip(map(tuple, graph.edges.tolist()), fitted.weights.tolist(), strict=True))
    for clique in cliques:
        for at, first in enumerate(clique):
            for second in clique[at + 1 :]:
                known.setdefault((first, second), 0.0)
    edges = sorted(known)
    weights = np.array([known[edge] for edge in edges])
    return LabelGraph(graph.n_labels, np.array(edges)), CliqueFit(fitted.coef, weights, fitted.n_iter)
