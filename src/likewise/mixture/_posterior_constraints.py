"""EM-PC: EM with constraints on the posteriors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.base import Rule, choice, either, real
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Relations
from likewise.mixture._gaussian_components import CovarianceType
from likewise.mixture._relations import ProjectedRelations
from likewise.mixture._units import Units, refuse_weights
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
        With None the constraints are hard. With a number, a cannot-link may be broken at a cost of `penalty`
        times its weight per unit of ``q_i(m) + q_j(m) - 1``, which bounds its multiplier.
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
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores.

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

    def _make_relations_factory(self, hints: Supervision) -> Callable[[], Relations]:
        units = Units.from_hints(hints)
        if self.penalty is None:
            refuse_weights(hints, type(self).__name__, "Set penalty, which they multiply")
            caps = np.full(len(units.edges), np.inf)
        else:
            caps = self.penalty * units.edge_weights
        return lambda: ProjectedRelations(units, caps)
