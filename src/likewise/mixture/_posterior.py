"""EM-PC: EM with constraints on the posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.base import Rule, choice, either, real
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Relations
from likewise.mixture._gaussians import CovarianceType
from likewise.mixture._links import Units, refuse_weights
from likewise.mixture._relations import ProjectedRelations
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class PosteriorConstrainedGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with posterior constraints (EM-PC; Graça, Ganchev & Taskar 2007).

    The E-step projects the posteriors onto those that keep the links on average:

    .. math::

        \max_{\theta, q} \; \sum_n \log p(x_n; \theta) - KL\big(q \,\|\, p(z | x; \theta)\big)
        \quad \text{s.t.} \quad q_i = q_j \; \forall (i, j) \in M, \qquad
        q_i(m) + q_j(m) \le 1 \; \forall (i, j) \in C, \forall m .

    The model itself knows nothing of links, so they act through the expected classes alone. A cannot-link
    holds on average as soon as either row is undecided between two classes: it says less than it does in
    :class:`PairwiseGaussianMixture`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes, one Gaussian each.
    penalty : float or None, default=None
        None: the constraints hold. A number: a cannot-link may be broken at a cost of `penalty` times its
        weight for each unit of ``q_i(m) + q_j(m) - 1``; that is an upper bound on its multiplier.
    covariance_type, init, n_init, max_iter, tol, reg_covar, random_state, n_jobs
        As for :class:`PairwiseGaussianMixture`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Classes; a row in links has the likeliest class of its projected posterior.
    weights_, means_, covariances_, lower_bound_, lower_bounds_, n_iter_, converged_, violations_
        As for :class:`PairwiseGaussianMixture`.

    Notes
    -----
    The projection is coordinate ascent on the dual, a closed form for each cannot-link (at most one class of
    a pair can be too full), warm from one iteration to the next. It ends when no multiplier moves, or after
    200 sweeps or a million visits to links; with many cannot-links on few rows that can be before all hold,
    and the bound is then a little too high and need not rise. The paper uses cannot-links only; must-links
    are the equality constraints that its method allows as well. Links with weights need a `penalty`. What
    the penalty costs is part of the bound.

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
        "penalty": either(choice(None), real(0, strict=True)),
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

    def _relations(self, hints: Supervision) -> Callable[[], Relations]:
        units = Units.of(hints)
        if self.penalty is None:
            refuse_weights(hints, type(self).__name__, "Set penalty, which they multiply")
            caps = np.full(len(units.edges), np.inf)
        else:
            caps = self.penalty * units.edge_weights
        return lambda: ProjectedRelations(units, caps)
