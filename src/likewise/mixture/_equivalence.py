"""GMM-EC: chunklets for must-links and a Markov network for cannot-links."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.exceptions import ConvergenceWarning

from likewise._rows import Rows
from likewise.base import warn_caller
from likewise.exceptions import InfeasibleSupervisionError
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Fit, Relations, Steps
from likewise.mixture._links import Units, component_network, refuse_weights
from likewise.mixture._relations import EquivalenceRelations, n_approximate
from likewise.supervision import Supervision


class EquivalenceGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with equivalence constraints (GMM-EC; Shental, Bar-Hillel, Hertz & Weinshall 2004).

    The rows of a must-link component (a chunklet) were drawn together from one class. Cannot-links tie the
    class variables :math:`z_u` of the chunklets in a Markov network. It maximises

    .. math::

        \log \sum_{z \text{ keeps every link}} \prod_u a_{z_u} \prod_{i \in u} N(x_i; \mu_{z_u}, \Sigma_{z_u})

    by EM. All links are hard: labellings that break one have no weight. The normaliser of the network, which
    depends on :math:`a`, is left out, as when the class weights are updated in closed form; this and that a
    cannot-link between two rows is not counted twice is where it differs from
    :class:`PairwiseGaussianMixture`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes, one Gaussian each.
    covariance_type, init, n_init, max_iter, tol, reg_covar, random_state, n_jobs
        As for :class:`PairwiseGaussianMixture`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Classes; a row in links has the likeliest class of its chunklet given all links of its group.
    weights_, means_, covariances_, lower_bound_, lower_bounds_, n_iter_, converged_, violations_
        As for :class:`PairwiseGaussianMixture`.
    n_approximate_ : int
        How many groups of chunklets were too large to enumerate.

    Notes
    -----
    A group of g chunklets joined by cannot-links is enumerated exactly if it has at most 20,000 labellings
    (K^g); beyond that its marginals come from damped belief propagation, which is exact where the
    cannot-links form a tree and an approximation where they form loops. The bound is then Bethe's and need
    not rise. Where links contradict one another the must-links win and a warning says so. A group that no
    labelling with so many classes keeps is refused if it is small enough to be enumerated. A cannot-link
    weighs the same however sure; links with weights are refused.

    References
    ----------
    N. Shental, A. Bar-Hillel, T. Hertz, D. Weinshall, "Computing Gaussian mixture models with EM using
    equivalence constraints", NIPS 16, 2004.

    Examples
    --------
    >>> from likewise import EquivalenceGaussianMixture, Supervision
    >>> hints = Supervision.from_links(6, must=[(0, 1), (3, 4)], cannot=[(1, 3)])
    >>> X = [[0.0], [0.2], [0.3], [5.0], [5.1], [5.4]]
    >>> model = EquivalenceGaussianMixture(2, random_state=0).fit(X, supervision=hints)
    >>> bool((model.labels_[:3] == model.labels_[0]).all() and (model.labels_[3:] != model.labels_[0]).all())
    True
    """

    def _relations(self, hints: Supervision) -> Callable[[], Relations]:
        refuse_weights(hints, type(self).__name__, "Use PairwiseGaussianMixture")
        largest = max((len(group) for group in hints.without_conflicts().cannot_groups), default=0)
        if largest > self.n_clusters:
            raise InfeasibleSupervisionError(
                f"{type(self).__name__}: a group says of {largest} rows that no two are together, but "
                f"n_clusters={self.n_clusters}. Ask for more clusters, or use PairwiseGaussianMixture, which "
                "weighs links one by one."
            )
        network, large = component_network(Units.of(hints), self.n_clusters)
        return lambda: EquivalenceRelations(network, large)

    def _keep(self, rows: Rows, steps: Steps, fit: Fit) -> None:
        super()._keep(rows, steps, fit)
        self.n_approximate_ = n_approximate(steps.relations)
        if self.n_approximate_ and self.violations_.share < 1:
            warn_caller(
                f"{type(self).__name__}: of the links, {self.violations_}. {self.n_approximate_} group(s) of "
                "rows joined by cannot-links were too large to enumerate and were treated approximately.",
                ConvergenceWarning,
            )
