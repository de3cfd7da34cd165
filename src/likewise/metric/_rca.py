"""Relevant component analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from likewise.base import FitProgress, Rule, choice, either, integer, real
from likewise.exceptions import UnsupportedSupervisionError
from likewise.metric._base import IS_SHRINKAGE, LearnedTransform, MetricLearner
from likewise.metric._comparisons import IS_UNUSED, Unused
from likewise.metric._matrix import compute_scale, compute_total_covariance, compute_whitener
from likewise.metric._shrinkage import Learn
from likewise.supervision import Supervision


class RCA(MetricLearner):
    """Relevant component analysis: whiten what varies among rows that belong together.

    With chunklets of rows that belong together and their means m_c, the metric is the inverse of the
    covariance within chunklets (Bar-Hillel, Hertz, Shental & Weinshall 2005, algorithm 1)

    .. math::

        M = \\left( (1 - \\rho) C + \\rho T \\right)^{-1}, \\qquad
        C = \\frac1N \\sum_c \\sum_{i \\in c} (x_i - m_c)(x_i - m_c)^T

    with T the covariance of all rows and ρ the `regularization`, which the paper does not have: with fewer
    rows in chunklets than columns C has no inverse. With ρ = 0 and an invertible C it is the paper's.
    Directions in which no row differs from another get the weight 0, so constant columns do no harm; with
    ρ = 0 so do those in which no chunklet varies.
    With ``shrinkage=0`` the units of the columns do not matter.

    Chunklets are the must-link components, with rows of the same label joined. Cannot-links have no place in
    the method.

    Parameters
    ----------
    n_components : int or None, default=None
        Keep so many of the directions in which all rows vary most relative to the chunklets (Fisher's
        criterion, as the paper proposes), at most as many as the rows vary in. None keeps all of these.
    regularization : float from 0 to 1, default=0.05
        How far the covariance within chunklets is drawn towards that of all rows. 1 ignores the hints.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the identity: 0 keeps it as it was learned, 1 ignores it.
        "auto" does so by the number of rows in chunklets, see Notes; with `n_components` it means 0.
    cannot : {"refuse", "drop"}, default="refuse"
        Whether stated cannot-links are an error or are left out.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map L, the most telling direction first.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the identity that was used.

    Notes
    -----
    Costs O(n d²) for the rows and O(d³). Weights of links do not enter: a link only joins chunklets. Without
    must-links and labels the map is the identity.

    A covariance of few rows is poor. ``shrinkage="auto"`` is p / (p + m), where p = d (d + 1) / 2 is the
    number of free parameters of M and m the number of rows in chunklets minus the number of chunklets: while
    m is far below p, the metric stays close to the identity. With `n_components`, "auto" means 0.

    Examples
    --------
    The second column varies among rows that belong together, so it counts less.

    >>> from likewise.metric import RCA
    >>> from likewise import Supervision
    >>> X = [[0.0, 0.0], [0.1, 9.0], [1.0, 1.0], [1.1, 8.0], [2.0, 5.0], [2.1, 2.0]]
    >>> hints = Supervision.from_links(6, must=[(0, 1), (2, 3)])
    >>> M = RCA(shrinkage=0).fit(X, supervision=hints).metric_
    >>> bool(M[0, 0] > 50 * M[1, 1])
    True
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links", "labels"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_components": either(choice(None), integer(1)),
        "regularization": Rule("a number from 0 to 1", lambda v: real(0).holds(v) and bool(v <= 1)),
        "shrinkage": IS_SHRINKAGE,
        "cannot": IS_UNUSED,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularization: float = 0.05,
        shrinkage: float | Literal["auto"] = "auto",
        cannot: Unused = "refuse",
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.shrinkage = shrinkage
        self.cannot = cannot

    def _get_shrinkage(self) -> Any:
        """Return the parameter; to mix in the identity would undo the choice of few directions."""
        return 0.0 if self.shrinkage == "auto" and self.n_components is not None else self.shrinkage

    def _choose_shrinkage(self, X: np.ndarray, hints: Supervision, prior: np.ndarray, learn: Learn) -> float:
        """Return p / (p + m), for p free parameters and m rows in chunklets minus the number of chunklets."""
        sizes = hints.to_links().closure(on_conflict="keep").sizes
        n_independent_links = int(sizes[sizes >= 2].sum() - (sizes >= 2).sum())
        n_numbers = X.shape[1] * (X.shape[1] + 1) / 2
        return n_numbers / (n_numbers + n_independent_links)

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        n_cannot = len(hints.cannot) + len(hints.cannot_groups)
        if n_cannot and self.cannot == "refuse":
            raise UnsupportedSupervisionError(
                f"RCA learns from rows that belong together and cannot use the {n_cannot} cannot-link(s).",
                "RCA(cannot='drop') leaves them out; ITML and MMC learn from both.",
                parameter="cannot",
                kinds=("links",),
                estimator="RCA",
            )
        d = X.shape[1]
        if self.n_components is not None and self.n_components > d:
            raise ValueError(
                f"RCA: n_components={self.n_components}, but X has {d} columns. Ask for at most {d}."
            )
        closure = self._compute_soft_closure(hints.to_links())
        size = compute_scale(X)
        X = X / size
        within = _compute_chunklet_covariance(X, closure.component)
        if within is None:
            return LearnedTransform(np.eye(d)[: self.n_components])
        W = compute_whitener(within, compute_total_covariance(X), self.regularization)[: self.n_components]
        return LearnedTransform(W / size if len(W) else np.eye(d)[: self.n_components])


def _compute_chunklet_covariance(X: np.ndarray, component: np.ndarray) -> np.ndarray | None:
    """Return the covariance C within chunklets of two rows or more, or None without any."""
    rows = np.flatnonzero(np.bincount(component)[component] >= 2)
    if not len(rows):
        return None
    _, chunk = np.unique(component[rows], return_inverse=True)
    sums = np.zeros((chunk.max() + 1, X.shape[1]))
    np.add.at(sums, chunk, X[rows])
    off = X[rows] - (sums / np.bincount(chunk)[:, None])[chunk]
    C: np.ndarray = off.T @ off / len(rows)
    return C
