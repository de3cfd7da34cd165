"""EM-PC: EM with constraints on the posteriors (Graça, Ganchev & Taskar 2007).

The E-step replaces the posteriors p of the linked rows by

    (1)  q = argmin KL(q || p) subject to q_i = q_j for must-links and
         q_i(m) + q_j(m) <= 1 for cannot-links and every class m

and the M-step is that of any mixture, with q as the responsibilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.base import Rule
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Relations, compute_closed_weights
from likewise.mixture._factors import Units, log_sum_exp, refuse_weights
from likewise.mixture._gaussian_components import CovarianceType
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class PosteriorConstrainedGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with posterior constraints (EM-PC; Graça, Ganchev & Taskar 2007).

    The E-step projects the posteriors onto those that satisfy the links on average:

    .. math::

        \max_{\theta, q} \; \sum_n \log p(x_n; \theta) - KL\big(q \,\|\, p(z | x; \theta)\big)
        \quad \text{s.t.} \quad q_i = q_j \; \forall (i, j) \in M, \qquad
        q_i(m) + q_j(m) \le 1 \; \forall (i, j) \in C, \forall m .

    The model itself contains no links; they act only through the expected classes. A cannot-link is
    satisfied on average as soon as either row is undecided between two classes, so it is weaker than in
    :class:`PairwiseGaussianMixture`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes, one Gaussian each.
    penalty : float or None, default=None
        With None the constraints are hard. With a number, a cannot-link may be violated at a cost of
        `penalty` times its weight per unit of ``q_i(m) + q_j(m) - 1``, which bounds its multiplier.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        The shape of the covariances, as in scikit-learn.
    init : {"hints", "k-means", "k-means++"} or array of shape (n_clusters, n_features), default="hints"
        Starting means. "k-means++" draws them; "k-means" runs k-means from such draws. "hints" uses the
        starts of "k-means" and as many more from the links: k-means alternately in a linear space that the
        links suggest and on the original rows, where the first start of each type uses the must-link
        components. Without links "hints" is "k-means". An array gives the only start.
    n_init : int, default=10
        Number of starts; twice as many with ``init="hints"`` and links. Each is tried for 15 iterations.
        Among the starts whose classes break the fewest links, with every row in its most likely class, the
        one with the highest likelihood is finished. With more than 50,000 rows, starts are tried on the
        linked rows and a sample of 50,000 rows.
    max_iter : int, default=200
        Maximum number of iterations of a start.
    tol : float, default=1e-4
        Stop when the mean log-likelihood per row changes by less than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances, as a fraction of the mean variance of a feature.
    random_state : int, RandomState or None, default=None
        Seed of the starts. Pass an int for the same result on every call.
    n_jobs : int or None, default=None
        Maximum number of threads; None and -1 use the current OpenMP limit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The class of each row; a linked row has the most likely class of its projected posterior.
    weights_, means_, covariances_, lower_bound_, lower_bounds_, n_iter_, converged_, violations_
        As for :class:`PairwiseGaussianMixture`.

    Notes
    -----
    The projection is coordinate ascent on the dual, with a closed form for each cannot-link (at most one
    class of a pair violates its constraint) and a warm start from the previous iteration. It ends when no
    multiplier changes, or after 200 sweeps or a million link updates. With many cannot-links on few rows
    some may still be violated then; the bound is slightly too high and may fall. The paper uses only
    cannot-links; must-links are equality constraints, which its method also allows. Weighted links need a
    `penalty`. The cost of the penalty is part of the bound.

    References
    ----------
    J. Graça, K. Ganchev, B. Taskar, "Expectation maximization and posterior constraints", NIPS 20, 2007.

    Examples
    --------
    >>> from likewise import PosteriorConstrainedGaussianMixture, Supervision
    >>> hints = Supervision.from_links(6, must=[(0, 1), (3, 4)], cannot=[(1, 3)])
    >>> X = [[0.0], [0.2], [0.3], [5.0], [5.1], [5.4]]
    >>> model = PosteriorConstrainedGaussianMixture(2, random_state=0).fit(X, supervision=hints)
    >>> bool((model.labels_[:3] == model.labels_[0]).all() and (model.labels_[3:] != model.labels_[0]).all())
    True
    """

    parameter_rules: ClassVar[dict[str, Rule]] = {
        **MixtureFamily.parameter_rules,
        "penalty": Rule.either(Rule.choice(None), Rule.real(0, strict=True)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: float | None = None,
        covariance_type: CovarianceType = "full",
        init: Any = "hints",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        reg_covar: float = 1e-6,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            covariance_type=covariance_type,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            reg_covar=reg_covar,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.penalty = penalty

    def _make_relations_factory(self, hints: Supervision) -> Callable[[], Relations]:
        units = Units.from_hints(hints)
        if self.penalty is None:
            refuse_weights(hints, type(self).__name__, "Set penalty, which they multiply")
            caps = np.full(len(units.edges), np.inf)
        else:
            caps = self.penalty * units.edge_weights
        return lambda: ProjectedRelations(units, caps)


class ProjectedRelations:
    """Posteriors projected onto the constraints (Graça, Ganchev & Taskar 2007).

    Minimises KL(q || p), where p are the posteriors without links, subject to q_i = q_j for must-links and
    ``q_i(m) + q_j(m) <= 1`` for cannot-links and every class m. Must-links make q of a component the
    geometric mean of the posteriors of its rows. At most one class of a cannot-link can violate its
    constraint, and its multiplier has a closed form: with q' the posteriors without this link,
    ``lambda = (logit q'_A + logit q'_B) / (1/|A| + 1/|B|)`` if positive. Links are visited in turn until no
    multiplier changes: coordinate ascent on a concave dual. Multipliers are kept between calls, so a
    projection that stops early is continued in the next call.
    """

    _TOL = 1e-8
    _SWEEPS, _VISITS = 200, 1_000_000  # maximum number of sweeps, and of link updates in all sweeps

    def __init__(self, units: Units, caps: np.ndarray) -> None:
        self.units, self.rows = units, units.rows
        self.share = 1.0 / units.sizes
        self.caps = caps  # the largest multiplier of each link
        self._multiplier = np.zeros(len(units.edges))
        self._class = np.zeros(len(units.edges), dtype=np.int64)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return q of the linked rows, its sum, and the sum of ``log p(x) - KL(q || p)`` minus penalties."""
        logits = log_density + log_weights
        norm = log_sum_exp(logits)
        logits = logits - norm[:, None]
        q = self.project(self.share[:, None] * (self.units.members @ logits))
        rows_q = self.units.members.T @ q
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(rows_q > 0, rows_q * (np.log(rows_q) - logits), 0.0)
        return rows_q, rows_q.sum(axis=0), float(norm.sum() - divergence.sum()) - self._compute_cost(q)

    def project(self, logits: np.ndarray) -> np.ndarray:
        """Return the projected posteriors of the units, given the mean logits of their rows."""
        from likewise.kernels.projection import hold_apart

        edges = self.units.edges
        tilted = np.ascontiguousarray(logits)
        for place in (0, 1):
            ends = edges[:, place]
            np.subtract.at(tilted, (ends, self._class), self._multiplier * self.share[ends])
        if len(edges):
            sweeps = max(min(self._SWEEPS, self._VISITS // len(edges)), 10)
            state = self._multiplier, self._class, tilted
            hold_apart(edges, self.share, self.caps, sweeps, self._TOL, *state)
        q: np.ndarray = np.exp(tilted - log_sum_exp(tilted)[:, None])
        return q

    def _compute_cost(self, q: np.ndarray) -> float:
        """Return the penalty of violated links; 0 if the constraints are hard."""
        soft = np.isfinite(self.caps)
        first, second = self.units.edges[soft].T
        violated = (q[first] + q[second] - 1.0).max(axis=1, initial=0.0)
        return float(self.caps[soft] @ violated)

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the most likely class of each projected posterior."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))
