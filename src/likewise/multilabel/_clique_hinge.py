"""The structured hinge loss of a graph of labels, with learned clique weights, solved by cutting planes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls

from likewise.multilabel._clique_model import LabelGraph, LabelGroup

_SWEEPS = 20  # rounds of message passing, for groups that are too large to enumerate
_MOST_PLANES = 150


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """A graph whose edges are the pairs of cliques; each clique has a weight for each pair of its labels.

    Attributes
    ----------
    n_labels : int
        The number of labels.
    cliques : tuple of tuples of int
        The labels of each clique, ascending. If two cliques share a pair, their weights for it are added.
    exact_up_to : int
        Maximum number of labels of a connected group whose labellings are enumerated.
    """

    n_labels: int
    cliques: tuple[tuple[int, ...], ...]
    exact_up_to: int

    @cached_property
    def pairs(self) -> np.ndarray:
        """The pairs of labels in the cliques, concatenated clique by clique."""
        each = [np.array(c)[np.column_stack(np.triu_indices(len(c), 1))] for c in self.cliques]
        return np.concatenate(each) if each else np.empty((0, 2), dtype=np.int64)

    @cached_property
    def clique_of(self) -> np.ndarray:
        """The clique of each pair."""
        sizes = [len(c) * (len(c) - 1) // 2 for c in self.cliques]
        return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)

    @cached_property
    def graph(self) -> LabelGraph:
        """The edges of all cliques."""
        return LabelGraph(self.n_labels, np.unique(self.pairs, axis=0))

    @cached_property
    def edge_of(self) -> np.ndarray:
        """The edge of each pair."""
        return np.unique(self.pairs, axis=0, return_inverse=True)[1].reshape(-1)

    def compute_edge_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each edge: the sum over the cliques that contain it."""
        return np.bincount(self.edge_of, weights=weights, minlength=len(self.graph.edges))

    def find_best(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the labelling with the highest score for each row: exact in small groups, else relaxed."""
        edges = self.compute_edge_weights(weights)
        found = (odds > 0.0).astype(np.int64)
        for group in self.graph.groups:
            own, pulls = odds[:, group.members], edges[group.edges]
            if len(group.members) <= self.exact_up_to:
                found[:, group.members] = group.find_best(own, pulls)
            else:
                found[:, group.members] = improve_labels(
                    group, own, pulls, compute_relaxed_margins(group, own, pulls) > 0
                )
        return found

    def compute_margins(self, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return, for each label, the highest score with the label minus the highest score without it.

        In groups that are too large to enumerate, return the beliefs of the relaxation.
        """
        edges = self.compute_edge_weights(weights)
        found = odds.copy()
        for group in self.graph.groups:
            own, pulls = odds[:, group.members], edges[group.edges]
            if len(group.members) > self.exact_up_to:
                found[:, group.members] = compute_relaxed_margins(group, own, pulls)
                continue
            holds = group.states.astype(bool)
            for rows in group.split_rows(len(odds)):
                worth = own[rows] @ group.states.T + group.joined @ pulls
                for k, label in enumerate(group.members):
                    found[rows, label] = worth[:, holds[:, k]].max(axis=1) - worth[:, ~holds[:, k]].max(
                        axis=1
                    )
        return found


def compute_relaxed_margins(group: LabelGroup, odds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return beliefs of the linear-programming relaxation over the edges: positive for labels it selects.

    Max-product linear programming (Globerson & Jaakkola 2007): coordinate descent on the dual, edge by edge
    and for all rows at once. The bound never rises, and is tight on trees; after ties or slow convergence
    the signs of the beliefs may not be the best labelling.
    """
    beliefs = odds.copy()  # score of presence minus score of absence, with all messages
    messages = np.zeros((2, len(weights), len(odds)))
    for _ in range(_SWEEPS):
        before = beliefs.copy()
        for e, ((j, k), v) in enumerate(zip(group.pairs.tolist(), weights.tolist(), strict=True)):
            first, second = beliefs[:, j] - messages[0, e], beliefs[:, k] - messages[1, e]
            # The maximum over the other end of v y_j y_k + its belief, for y_j = 1 minus y_j = 0.
            to_first = np.maximum(second + v, 0.0) - np.maximum(second, 0.0)
            to_second = np.maximum(first + v, 0.0) - np.maximum(first, 0.0)
            messages[0, e], messages[1, e] = (to_first - first) / 2.0, (to_second - second) / 2.0
            beliefs[:, j], beliefs[:, k] = (first + to_first) / 2.0, (second + to_second) / 2.0
        if np.abs(beliefs - before).max(initial=0.0) < 1e-9:
            break
    return beliefs


def improve_labels(group: LabelGroup, odds: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Change single labels while this raises the score; return the labellings."""
    m = len(group.members)
    pulls = np.zeros((m, m))
    pulls[group.pairs[:, 0], group.pairs[:, 1]] = weights
    pulls += pulls.T
    found = start.astype(np.float64)
    for _ in range(2 * m):
        gain = (odds + found @ pulls) * (1.0 - 2.0 * found)
        best = gain.argmax(axis=1)
        rows = np.flatnonzero(gain[np.arange(len(gain)), best] > 1e-12)
        if not len(rows):
            break
        found[rows, best[rows]] = 1.0 - found[rows, best[rows]]
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class HingeFit:
    """Fitted parameters of the labels (K, d + 1), intercepts last, and weights of pairs and cliques."""

    coef: np.ndarray
    weights: np.ndarray
    clique_weights: np.ndarray
    objective: float
    gap: float
    n_iter: int
    gains: np.ndarray  # (K, K): approximate decrease of the objective from a weight for a pair of labels


@dataclass(frozen=True, eq=False)
class CuttingPlane:
    """A lower bound b - aᵀθ of the sum of hinges.

    ``both[j, k]`` is the number of rows with both labels in Y minus the number in the rival labellings;
    ``differ[j, k]`` is the number of rows in which this co-occurrence differs.
    """

    a: np.ndarray
    b: float
    both: np.ndarray
    differ: np.ndarray


class HingeLoss:
    """The objective of CliqueLabelGraph with ``loss="hinge"``, on rows X (n, d) and labels Y (n, K)."""

    def __init__(self, X: Any, Y: np.ndarray, C: float, margin: float) -> None:
        self.X, self.Y, self.C, self.margin = X, Y, C, margin

    def find_rivals(self, graph: CliqueGraph, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return loss-augmented labellings: they maximise the score plus the margin for each wrong label."""
        odds = self.X @ coef[:, :-1].T + coef[:, -1] + self.margin * (1.0 - 2.0 * self.Y)
        return graph.find_best(odds, weights)

    def make_plane(self, graph: CliqueGraph, rivals: np.ndarray) -> CuttingPlane:
        """Return the bound of the sum of hinges that follows from these rival labellings."""
        off = self.Y - rivals
        own = np.column_stack([np.asarray(self.X.T @ off).T, off.sum(axis=0)])
        true, rival, shared = (held.T @ held for held in (self.Y, rivals, self.Y * rivals))
        both = true - rival
        j, k = graph.pairs.T
        a = np.append(own.ravel(), both[j, k])
        return CuttingPlane(a, self.margin * float(np.abs(off).sum()), both, true + rival - 2.0 * shared)

    def fit(
        self, graph: CliqueGraph, start: HingeFit | None = None, *, max_iter: int, tol: float
    ) -> HingeFit:
        """Minimise the objective by cutting planes; return the parameters and the weights of the cliques.

        Each step adds the bound of the current rivals, solves the dual over all bounds, and sets the optimal
        weight of each clique given the norm of its pairs.
        """
        n_own = self.Y.shape[1] * (self.X.shape[1] + 1)
        n_cliques = len(graph.cliques)
        shape = (self.Y.shape[1], self.X.shape[1] + 1)
        clique_weights = np.ones(n_cliques)
        theta = np.zeros(n_own + len(graph.edge_of))
        if start is not None:
            theta[:n_own] = start.coef.ravel()
            theta[n_own : n_own + len(start.weights)] = start.weights
        planes: list[CuttingPlane] = []
        alpha = np.empty(0)
        best: tuple[float, np.ndarray, np.ndarray] | None = None
        gap, n_iter = np.inf, 0
        while n_iter < max_iter:
            n_iter += 1
            plane = self.make_plane(
                graph, self.find_rivals(graph, theta[:n_own].reshape(shape), theta[n_own:])
            )
            norms = compute_clique_norms(graph, theta[n_own:])
            value = (float(theta[:n_own] @ theta[:n_own]) + self._compute_clique_penalty(norms)) / (
                2.0 * self.C
            )
            value += max(plane.b - float(plane.a @ theta), 0.0)
            if best is None or value < best[0]:
                best = (value, theta, clique_weights)
            if len(planes) >= _MOST_PLANES:  # drop planes with the smallest multipliers
                planes = [planes[t] for t in np.argsort(-alpha, kind="stable")[: _MOST_PLANES // 2]]
            planes.append(plane)
            A, b = np.stack([each.a for each in planes]), np.array([each.b for each in planes])
            scale = np.append(np.full(n_own, self.C), self.C * clique_weights[graph.clique_of])
            alpha = solve_planes(A, b, scale)
            gap = best[0] - self._compute_dual(graph, alpha @ A, float(alpha @ b), n_own)
            if gap <= tol * best[0]:
                break
            theta = scale * (alpha @ A)
            norms = compute_clique_norms(graph, theta[n_own:])
            if norms.sum() > 0:
                # A weight of exactly 0 would stay 0.
                clique_weights = n_cliques * (norms + 0.01 * norms.mean()) / (1.01 * norms.sum())
        assert best is not None
        value, theta, clique_weights = best
        shares = list(zip(alpha.tolist(), planes, strict=True))
        slopes = np.asarray(sum(share * plane.both for share, plane in shares), dtype=np.float64)
        differ = np.asarray(sum(share * plane.differ for share, plane in shares), dtype=np.float64)
        return HingeFit(
            theta[:n_own].reshape(shape),
            theta[n_own:],
            clique_weights,
            value,
            max(gap, 0.0) / max(value, 1e-12),
            n_iter,
            slopes**2 / (2.0 * (differ + 1.0 / self.C)),
        )

    def _compute_dual(self, graph: CliqueGraph, normal: np.ndarray, offset: float, n_own: int) -> float:
        """Return the lower bound from a mixture of planes; it holds for all weights of the cliques."""
        norms = compute_clique_norms(graph, normal[n_own:])
        largest = len(norms) * float(norms.max(initial=0.0)) ** 2
        return offset - self.C * (float(normal[:n_own] @ normal[:n_own]) + largest) / 2.0

    @staticmethod
    def _compute_clique_penalty(norms: np.ndarray) -> float:
        """Return min over clique weights η with mean 1 of Σ |v_c|² / η_c."""
        return float(norms.sum() ** 2 / len(norms)) if len(norms) else 0.0


def compute_clique_norms(graph: CliqueGraph, weights: np.ndarray) -> np.ndarray:
    """Return |v_c| of each clique."""
    return np.sqrt(np.bincount(graph.clique_of, weights=weights**2, minlength=len(graph.cliques)))


def solve_planes(A: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Minimise Σ θ² / (2 scale) + max(0, max_t b_t - a_tᵀθ) and return the multipliers of the bounds.

    The dual is bᵀα - |Σ α_t a_t|²_scale / 2 over α ≥ 0 with a sum of at most 1. After a Cholesky
    factorisation it is a non-negative least-squares problem, with a row of large weight for the sum.
    """
    n = len(b)
    gram = np.zeros((n + 1, n + 1))  # the last entry is the bound 0, so the multipliers sum to 1
    gram[:n, :n] = (A * scale) @ A.T
    gram[np.diag_indices(n + 1)] += 1e-9 * max(float(np.trace(gram)) / (n + 1), 1e-12)
    root = np.linalg.cholesky(gram)
    right = np.linalg.solve(root, np.append(b, 0.0))
    heavy = 1e3 * max(float(np.abs(root).max()), float(np.abs(right).max()), 1.0)
    alpha = nnls(np.vstack([root.T, np.full(n + 1, heavy)]), np.append(right, heavy), maxiter=30 * (n + 10))[
        0
    ]
    multipliers: np.ndarray = alpha[:n] / max(float(alpha.sum()), 1e-300)
    return multipliers
