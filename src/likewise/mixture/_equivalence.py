"""GMM-EC: chunklets for must-links and a Markov network for cannot-links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.exceptions import ConvergenceWarning

from likewise._rows import Rows
from likewise.base import Rule, choice, warn_caller
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Fit, Relations, Steps
from likewise.mixture._gaussians import CovarianceType
from likewise.mixture._links import Units, component_network, refuse_large_groups, refuse_weights
from likewise.mixture._relations import EquivalenceRelations, n_approximate
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class EquivalenceGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with equivalence constraints (GMM-EC; Shental, Bar-Hillel, Hertz & Weinshall 2004).

    The rows of a must-link component (a chunklet) were drawn together from one class. Cannot-links tie the
    class variables :math:`z_u` of the chunklets in a Markov network. With class weights :math:`a` it
    maximises

    .. math::

        \log \sum_{z \text{ keeps every link}} \prod_u a_{z_u} \prod_{i \in u} N(x_i; \mu_{z_u}, \Sigma_{z_u})
        - [\text{normalize}] \log \sum_{z \text{ keeps every link}} \prod_u a_{z_u}

    by EM. The second term is the normaliser of the network. It depends on :math:`a`, so that with it the
    class weights are found by gradient ascent, as in the paper; without it they have a closed form. All links
    are hard: labellings that break one have no probability.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes, one Gaussian each.
    normalize : bool, default=False
        Whether the objective has the normaliser. It is right where cannot-linked pairs were drawn as pairs.
        Where rows were drawn first and links stated later, as is usual, rows of small classes are in more
        cannot-links, and the normaliser makes the weights of these classes too small: with 256 random
        cannot-links among 215 rows a class of 30 % had a weight of 5 % with it and of 30 % without it.
    covariance_type, init, n_init, max_iter, tol, reg_covar, random_state, n_jobs
        As for :class:`PairwiseGaussianMixture`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Classes. The linked rows of a group have their most probable joint labelling, which keeps every link
        wherever one was found that does.
    weights_, means_, covariances_, lower_bound_, lower_bounds_, n_iter_, converged_, violations_
        As for :class:`PairwiseGaussianMixture`.
    n_approximate_ : int
        How many groups of chunklets were too large to enumerate.

    Warns
    -----
    ConvergenceWarning
        If `labels_` break a link.

    Notes
    -----
    A group of g chunklets joined by cannot-links is enumerated exactly if it has at most 20,000 labellings
    (K^g); beyond that its marginals and its normaliser come from damped belief propagation, which is exact
    where the cannot-links form a tree and an approximation where they form loops. The bound is then Bethe's
    and need not rise. The joint labelling of a larger group is exact too where its graph is nearly a tree
    (variable elimination with tables of at most 20,000 entries); elsewhere a search keeps the links, and the
    labelling need not be the most probable one. Where links contradict one another the must-links win and a
    warning says so. A group that no labelling with K classes keeps is refused if it is small enough to
    be enumerated. Links with weights are refused.

    A chunklet counts once towards the class weights, whatever its size. Where that is not wanted, use
    :class:`PairwiseGaussianMixture`, whose default counts every row once.

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

    n_approximate_: int

    parameter_rules: ClassVar[dict[str, Rule]] = {
        **MixtureFamily.parameter_rules,
        "normalize": choice(True, False),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        normalize: bool = False,
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
        self.normalize = normalize

    def _relations(self, hints: Supervision) -> Callable[[], Relations]:
        refuse_weights(hints, type(self).__name__, "Use {PairwiseGaussianMixture}")
        refuse_large_groups(hints, self.n_clusters, type(self).__name__)
        network, large = component_network(Units.of(hints), self.n_clusters)
        return lambda: EquivalenceRelations(network, large, normalize=self.normalize)

    def _keep(self, rows: Rows, steps: Steps, fit: Fit) -> None:
        super()._keep(rows, steps, fit)
        self.n_approximate_ = n_approximate(steps.relations)
        if self.violations_.share < 1:
            why = (
                f"{self.n_approximate_} group(s) of rows joined by cannot-links were too large to enumerate, "
                "and no labelling that keeps every link was found; more clusters may help."
                if self.n_approximate_
                else "They contradict one another."
            )
            warn_caller(
                f"{type(self).__name__}: of the links, {self.violations_}. {why}",
                ConvergenceWarning,
            )
