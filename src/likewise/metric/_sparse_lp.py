"""Sparse metrics by linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import linprog

from likewise.base import FitProgress, Rule, warn_caller
from likewise.exceptions import InconsistentSupervisionWarning
from likewise.metric._base import (
    IS_SHRINKAGE,
    IS_UNUSED,
    LearnedTransform,
    MetricLearner,
    Unused,
    get_comparisons,
)
from likewise.supervision import Supervision

# Variables with a smaller reduced cost would not change the optimum noticeably.
_SLACK = 1e-7


class SparseLP(MetricLearner):
    r"""Sparse metric by linear programming: few columns and pairs of columns explain the triplets.

    The answer AB means that d(a, b) is less than d(a, c) and d(b, c). For comparisons t of a near pair
    :math:`n_t` and a far pair :math:`f_t`, with weights that sum to 1, SparseLP minimises (Rosales & Fung
    2006, the program with a diagonally dominant metric)

    .. math::

        \sum_t w_t \varepsilon_t + \frac{\lambda}{d} \sum_{kl} |M_{kl}|
        \quad\text{with}\quad d_M(f_t)^2 - d_M(n_t)^2 \ge s (1 - \varepsilon_t),
        \quad \varepsilon_t \ge 0, \quad M_{kk} \ge \sum_{l \ne k} |M_{kl}|

    where s is the mean squared distance between two rows, so the scale of X does not matter. Diagonal
    dominance makes M positive semidefinite by linear constraints alone.

    Diagonally dominant matrices are the sums of :math:`e_k e_k^T` and :math:`(e_k \pm e_l)(e_k \pm e_l)^T`
    with non-negative weights. So the program has d² weights, most of which are 0. It is solved by column
    generation: it starts with the diagonal terms and adds those with a negative reduced cost until there is
    none. The result is the optimum over all weights.

    Parameters
    ----------
    sparsity : float, default=0.01
        The cost λ of the entries of M. Larger values use fewer columns.
    diagonal : bool, default=False
        Whether M is diagonal, with one weight per column.
    shrinkage : "auto" or float from 0 to 1, default="auto"
        How far the learned metric is shrunk towards the identity: 0 keeps it as it was learned, 1 ignores it.
        "auto" is chosen by cross-validation: the largest of five values with a loss close to the lowest.
    neither : {"refuse", "drop"}, default="refuse"
        Whether triplets with the answer NEITHER, which contain no comparison, raise an error or are dropped.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The linear map L. Its number of rows is the rank of M.
    metric_ : ndarray of shape (n_features, n_features)
        M = LᵀL.
    shrinkage_ : float
        The shrinkage towards the identity that was used.
    objective_ : float
        The value of the objective, before shrinkage.

    Notes
    -----
    The cost is that of a few linear programs with one constraint per comparison, solved by HiGHS; a thousand
    comparisons with 64 columns take seconds. It hardly depends on the number of rows: with 200 triplets, a
    fit to 10^5 rows of 16 columns takes 0.3 s, four times as long as linear discriminant analysis with all
    labels; most of it is cross-validation.

    Contradictory answers give a warning and are traded off against one another. Without triplets the map is
    the identity.

    A metric learned from few triplets overfits them. ``shrinkage="auto"`` is five-fold cross-validation over
    the hinted rows, which costs five more fits to fewer triplets: the largest shrinkage whose loss on
    held-out comparisons is within two standard errors of the best. If that is 1, the identity is used, with a
    :class:`~likewise.exceptions.ThinSupervisionWarning`.

    Examples
    --------
    Only the first column shows which rows belong together.

    >>> from likewise.metric import SparseLP
    >>> from likewise import Supervision
    >>> X = [[0, 0], [0, 4], [1, 0], [1, 4]]
    >>> hints = Supervision.from_triplets(4, [(0, 1, 2), (2, 3, 0)], "AB")
    >>> M = SparseLP(shrinkage=0).fit(X, supervision=hints).metric_
    >>> (M > 0).tolist()
    [[True, False], [False, False]]
    """

    supported_hints: ClassVar[frozenset[str]] = frozenset({"triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "sparsity": Rule.real(0, strict=True),
        "diagonal": Rule.choice(True, False),
        "shrinkage": IS_SHRINKAGE,
        "neither": IS_UNUSED,
    }

    def __init__(
        self,
        sparsity: float = 0.01,
        *,
        diagonal: bool = False,
        shrinkage: float | Literal["auto"] = "auto",
        neither: Unused = "refuse",
    ) -> None:
        self.sparsity = sparsity
        self.diagonal = diagonal
        self.shrinkage = shrinkage
        self.neither: Unused = neither

    def _learn(self, X: np.ndarray, hints: Supervision, progress: FitProgress) -> LearnedTransform:
        d = X.shape[1]
        comparisons = get_comparisons(self, X, hints, self.neither)
        scale = np.sqrt(2.0 * np.square(X).sum(axis=1).mean())
        if not len(comparisons) or scale == 0:
            return LearnedTransform(np.eye(d))
        near, far = comparisons.get_near_differences(X) / scale, comparisons.get_far_differences(X) / scale
        weight = comparisons.weights / comparisons.weights.sum()
        price = self.sparsity / d
        parts = _Parts.make_single(d)
        while True:
            gain = parts.compute_squares(far) - parts.compute_squares(near)
            # Solve the dual: its solution, one number per comparison, gives the reduced costs of other terms.
            found = linprog(
                -np.ones(len(weight)),
                A_ub=gain.T,
                b_ub=price * parts.entries,
                bounds=np.column_stack([np.zeros(len(weight)), weight]),
                method="highs",
            )
            if found.x is None:
                raise RuntimeError(f"SparseLP: HiGHS did not solve the linear program: {found.message}")
            if self.diagonal or progress.step():
                break
            worth = (far.T * found.x) @ far - (near.T * found.x) @ near
            more = parts.select_worth_adding(worth, price, 2 * d)
            if not len(more.k):
                break
            parts = parts.append(more)
        M = parts.sum(np.maximum(-found.ineqlin.marginals, 0.0), d)
        if not M.any():
            warn_caller(
                f"SparseLP: with sparsity={self.sparsity:g} the optimal metric for these triplets is zero, "
                "so the original distances are used. Lower sparsity, or look for contradictory triplets.",
                InconsistentSupervisionWarning,
            )
            return LearnedTransform(np.eye(d), objective=float(-found.fun))
        return LearnedTransform.from_matrix(M, objective=float(-found.fun))


@dataclass(frozen=True)
class _Parts:
    """Terms of a diagonally dominant matrix: e_k e_k^T (sign 0) or (e_k + sign e_l)(e_k + sign e_l)^T."""

    k: np.ndarray
    l: np.ndarray
    sign: np.ndarray

    @classmethod
    def make_single(cls, d: int) -> _Parts:
        return cls(np.arange(d), np.arange(d), np.zeros(d))

    @property
    def entries(self) -> np.ndarray:
        """The sum of the absolute entries of each term."""
        return np.where(self.sign == 0, 1.0, 4.0)

    def compute_squares(self, V: np.ndarray) -> np.ndarray:
        """Return v^T P v for each row v of V and each term P."""
        return np.square(V[:, self.k] + self.sign * V[:, self.l])

    def select_worth_adding(self, worth: np.ndarray, price: float, most: int) -> _Parts:
        """Return up to `most` new terms whose worth exceeds their cost, in decreasing order of the excess."""
        own = worth.diagonal()
        k, l = np.triu_indices(len(own), 1)
        k, l, sign = np.tile(k, 2), np.tile(l, 2), np.repeat([1.0, -1.0], len(k))
        excess = own[k] + own[l] + 2.0 * sign * worth[k, l] - 4.0 * price
        known = np.isin(_make_key(k, l, sign), _make_key(self.k, self.l, self.sign))
        order = np.flatnonzero((excess > _SLACK) & ~known)
        order = order[np.argsort(-excess[order], kind="stable")][:most]
        return _Parts(k[order], l[order], sign[order])

    def append(self, more: _Parts) -> _Parts:
        return _Parts(
            np.concatenate([self.k, more.k]),
            np.concatenate([self.l, more.l]),
            np.concatenate([self.sign, more.sign]),
        )

    def sum(self, weight: np.ndarray, d: int) -> np.ndarray:
        M = np.zeros((d, d))
        np.add.at(M, (self.k, self.k), weight)
        two = self.sign != 0
        k, l = self.k[two], self.l[two]
        np.add.at(M, (l, l), weight[two])
        np.add.at(M, (k, l), (self.sign * weight)[two])
        np.add.at(M, (l, k), (self.sign * weight)[two])
        return M


def _make_key(k: np.ndarray, l: np.ndarray, sign: np.ndarray) -> np.ndarray:
    return (k * 2**31 + l) * 4 + sign.astype(np.int64)
