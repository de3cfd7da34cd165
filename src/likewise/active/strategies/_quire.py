"""QUIRE: the row whose group, whatever it is, leaves the least to lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

from likewise.active._questions import Question
from likewise.active._state import State
from likewise.active.strategies._exploration import explore_then
from likewise.active.strategies._labels import by_score
from likewise.active.strategies._node_to_pairs import FloatArray, IntArray, Places, Placing
from likewise.active.strategies._rows import default_gamma, squared_distances, standardized_of
from likewise.base import choice, integer, real

Form = Literal["printed", "exact"]


@dataclass(frozen=True)
class QUIRE:
    """The row with the least loss when its group is the worst one (QUIRE; Huang, Jin & Zhou 2010).

    For two groups, y = 1 and y = -1, a kernel machine with squared loss has the least objective
    :math:`y^\\top L y`, with :math:`L = (K + \\lambda I)^{-1}` over all rows. A row s is worth asking if that
    is small though s be of the worse group and the other rows without one of whatever suits best:

    .. math:: \\max_{y_s = \\pm 1} \\; \\min_{y_u \\in \\mathbb R^u} \\; y^\\top L y .

    With l the placed rows and u the others without s, the *printed* form of this is

    .. math:: L_{ss} - \\det(L_{aa}) / L_{ss} + 2 \\, |(L_{sl} - L_{su} L_{uu}^{-1} L_{ul}) \\, y_l| ,

    with a = u and s together; so it stands in the programs that follow the paper. The *exact* value, by the
    inverse of a block, is

    .. math:: y_l^\\top M_{ll}^{-1} y_l + (1 + |\\mu_s|)^2 / \\sigma_s^2 , \\qquad
        \\mu_s = K_{sl} M_{ll}^{-1} y_l , \\quad
        \\sigma_s^2 = M_{ss} - K_{sl} M_{ll}^{-1} K_{ls} , \\quad M = K + \\lambda I :

    groups relaxed to any number drop out, so that rows without one say nothing, and what is left is the mean
    and the variance of a Gaussian process. The last term of the printed form is :math:`2 |\\mu_s| /
    \\sigma_s^2`; the first does look at all rows. The paper was not at hand, and both are from memory.

    With more than two groups the value is the mean over the groups, each against the rest; for two groups
    both are the same. Groups are first explored as :class:`FarthestFirst` does, and rows are placed by pairs,
    as Xiong, Johnson & Corso did to compare with it. The kernel is Gaussian,
    :math:`e^{-\\gamma \\lVert x - z \\rVert^2}`, on columns of unit variance.
    Ties are broken at random by the seed.

    No model is needed. With m rows placed, a question costs O(n m (d + m)) and 32 MB. The printed form
    inverts a matrix of all rows once: up to `max_rows` of them, O(max_rows^3); of more, it looks at the
    placed rows and others drawn by the seed.

    Parameters
    ----------
    form : {"printed", "exact"}, default="printed"
        Which value is made least.
    ridge : float, default=1.0
        The ridge lambda.
    gamma : float, optional
        How fast similarity falls with the squared distance. By default 1 / d, for columns of unit variance.
    max_rows : int, default=2000
        The most rows that the printed form looks at, beyond the placed ones.

    References
    ----------
    S.-J. Huang, R. Jin and Z.-H. Zhou (2010), Active learning by querying informative and representative
    examples, NIPS.

    Examples
    --------
    By the exact value, row 2 is as good as unknown: its mean is 0, and it is far from both placed rows.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import State
    >>> from likewise.active.strategies import QUIRE
    >>> X = np.array([[0.0], [1.0], [4.0], [7.0], [8.0]])
    >>> state = State.of(X, Supervision.from_links(5, cannot=[(0, 4)]), n_clusters=2)
    >>> 2 in QUIRE("exact").choose(state, 1)[0].rows
    True
    """

    form: Form = "printed"
    ridge: float = 1.0
    gamma: float | None = None
    max_rows: int = 2000

    name: ClassVar[str] = "quire"
    needs: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        rules = {"form": choice(*get_args(Form)), "ridge": real(0, strict=True), "max_rows": integer(2)}
        for parameter, rule in rules.items():
            if not rule.holds(value := getattr(self, parameter)):
                raise ValueError(f"{parameter} must be {rule.wanted}, got {value!r}.")
        if self.gamma is not None and not (above := real(0, strict=True)).holds(self.gamma):
            raise ValueError(f"gamma must be {above.wanted} or None, got {self.gamma!r}.")

    def choose(self, state: State, n: int) -> list[Question]:
        """Return at most n questions that place rows."""
        return explore_then(state, n, lambda places: self._placing(state, places), least=2)

    def _placing(self, state: State, places: Places) -> Placing:
        rows = standardized_of(state)
        gamma = default_gamma(rows) if self.gamma is None else self.gamma
        mean, variance, log_det = predictions(rows, places, gamma, self.ridge)
        if self.form == "exact":
            values = ((1 + np.abs(mean)) ** 2).mean(axis=1) / variance
        else:
            own, log_det_all = self._own(state, rows, gamma)
            # A minor of the inverse: det L_aa = det M_ll / det M, next to 0 unless few rows are left, or the
            # ridge is below 1. Then it may be too large for a float.
            open_ones = np.exp(min(log_det - log_det_all, 500.0))
            values = own - open_ones / own + 2 * np.abs(mean).mean(axis=1) / variance

        def because(row: int) -> str:
            return "would leave least to lose, whatever its group"

        # A row that was not looked at has an infinite value; questions want a score that is finite.
        largest = float(values[np.isfinite(values)].max(initial=0.0))
        scores = -np.where(np.isfinite(values), values, largest + 1.0)
        return Placing(by_score(state, places, scores), because, scores)

    def _own(self, state: State, rows: FloatArray, gamma: float) -> tuple[FloatArray, float]:
        """Return L_ss of each row, infinite for one not looked at, and log det M; kept in the cache."""
        key = ("quire", gamma, self.ridge, self.max_rows, state.seed)
        if key not in state.cache:
            state.cache[key] = own_values(rows, self._seen(state), gamma, self.ridge)
        found: tuple[FloatArray, float] = state.cache[key]
        return found

    def _seen(self, state: State) -> IntArray:
        every = np.arange(state.n_samples)
        if state.n_samples <= self.max_rows:
            return every
        rng = np.random.default_rng([state.seed, state.n_samples])  # the same whatever the answers are
        return np.sort(rng.choice(every, self.max_rows, replace=False))


def predictions(
    rows: FloatArray, places: Places, gamma: float, ridge: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return mu (n_samples, n_groups) and sigma^2 (n_samples,) of each row, and log det M_ll."""
    placed = places.placed
    kernel = np.exp(-gamma * cdist(rows[placed], rows[placed], "sqeuclidean"))
    root = cholesky(kernel + ridge * np.eye(len(placed)), lower=True)
    sign = np.where(places.group[placed][:, None] == np.arange(places.n_groups), 1.0, -1.0)
    weights = cho_solve((root, True), sign)
    mean, variance = np.empty((len(rows), places.n_groups)), np.empty(len(rows))
    for block, away in squared_distances(rows, placed):
        similar = np.exp(-gamma * away)
        mean[block] = similar @ weights
        told = solve_triangular(root, similar.T, lower=True)
        variance[block] = 1 + ridge - np.einsum("ln,ln->n", told, told)
    return mean, variance, 2 * float(np.log(np.diagonal(root)).sum())


def own_values(rows: FloatArray, seen: IntArray, gamma: float, ridge: float) -> tuple[FloatArray, float]:
    """Return the diagonal of the inverse of M, infinite for rows that are not seen, and log det M."""
    M = np.exp(-gamma * cdist(rows[seen], rows[seen], "sqeuclidean")) + ridge * np.eye(len(seen))
    factor = cho_factor(M, lower=True)
    own = np.full(len(rows), np.inf)
    own[seen] = np.diagonal(cho_solve(factor, np.eye(len(seen))))
    return own, 2 * float(np.log(np.diagonal(factor[0])).sum())
