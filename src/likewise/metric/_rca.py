"""Relevant component analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from likewise.base import FitProgress, Rule
from likewise.exceptions import UnsupportedSupervisionError
from likewise.metric._base import IS_SHARE, IS_SHRINKAGE, IS_UNUSED, LearnedTransform, MetricLearner, Unused
from likewise.metric._shrinkage import Learn, compute_scale, compute_total_covariance, compute_whitener
from likewise.supervision import Supervision


class RCA(MetricLearner):
    """Relevant component analysis: whiten the variation among rows that belong together.

    Given chunklets of rows that belong together, with means m_c, the metric is the inverse of the covariance
    within chunklets (Bar-Hillel, Hertz, Shental & Weinshall 2005, algorithm 1)

    .. math::

        M = \\left( (1 - \\rho) C + \\rho T \\right)^{-1}, \\qquad
        C = \\frac1N \\sum_c \\sum_{i \\in c} (x_i - m_c)(x_i - m_c)^T

    where T is the covariance of all rows and ρ the `regularization`. The paper has ρ = 0, but with fewer rows
    in chunklets than columns C has no inverse. Directions in which all rows are equal get weight 0, so
    constant columns do no harm; with ρ = 0 the same holds for directions in which no chunklet varies.
    With ``shrinkage=0`` the units of the columns do not matter.

    Chunklets are the must-link components, with rows of the same label joined. The method cannot use
    cannot-links.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions to keep: those in which all rows vary most relative to the chunklets (Fisher's
        criterion, as the paper proposes). None keeps all directions in which rows vary.
    regularization : float from 0 to 1, default=0.05
        The ρ above: how far the covariance within chunklets is shrunk towards the covariance of all rows.
        1 ignores the hints.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the identity: 0 keeps it as it was learned, 1 ignores it.
        "auto" uses the number of rows in chunklets, see Notes; with `n_components` it means 0.
    cannot : {"refuse", "drop"}, default="refuse"
        Whether stated cannot-links raise an error or are dropped.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map L. Directions are sorted by Fisher's criterion, largest first.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the identity that was used.

    Notes
    -----
    The cost is O(n d² + d³). Weights of links are not used: a link only joins chunklets. Without must-links
    and labels the map is the identity.

    The covariance of few rows is inaccurate. ``shrinkage="auto"`` is p / (p + m), where p = d (d + 1) / 2 is
    the number of free parameters of M and m the number of rows in chunklets minus the number of chunklets:
    while m is far below p, the metric stays close to the identity.

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
        "n_components": Rule.either(Rule.choice(None), Rule.integer(1)),
        "regularization": IS_SHARE,
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
        """Return 0 for "auto" with `n_components`: the identity would add the dropped directions again."""
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
                "RCA(cannot='drop') drops them; ITML and MMC learn from both kinds of links.",
                parameter="cannot",
                kinds=("links",),
                estimator="RCA",
            )
        d = X.shape[1]
        if self.n_components is not None and self.n_components > d:
            raise ValueError(
                f"RCA: n_components={self.n_components}, but X has {d} columns; expected at most {d}."
            )
        closure = self._compute_soft_closure(hints.to_links())
        size = compute_scale(X)
        X = X / size
        component, sizes = closure.component, closure.sizes
        rows = np.flatnonzero(sizes[component] >= 2)
        if not len(rows):
            return LearnedTransform(np.eye(d)[: self.n_components])
        _, chunk = np.unique(component[rows], return_inverse=True)
        sums = np.zeros((chunk.max() + 1, d))
        np.add.at(sums, chunk, X[rows])
        off = X[rows] - (sums / np.bincount(chunk)[:, None])[chunk]
        C = off.T @ off / len(rows)
        W = compute_whitener(C, compute_total_covariance(X), self.regularization)[: self.n_components]
        return LearnedTransform(W / size if len(W) else np.eye(d)[: self.n_components])
