"""GMM-EC: chunklets for must-links and a Markov network for cannot-links (Shental et al. 2004).

The objective is the log of

    (1)  sum over the labellings z that satisfy all links of prod_u a_{z_u} prod_{i in u} p_{z_u}(x_i)

over the chunklets u, minus the log of the normaliser, the same sum without the densities, if it is included.
The E-step computes the marginals of z, exactly or by belief propagation; the M-step of the class weights is
closed without the normaliser, and otherwise equation (4) of ``_pairwise.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise.backends import Rows
from likewise.base import Rule, warn_caller
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import MixtureFit, MixtureSteps, Relations, compute_closed_weights
from likewise.mixture._factors import (
    FactorNetwork,
    LoopyGroups,
    Units,
    component_network,
    refuse_large_groups,
    refuse_weights,
)
from likewise.mixture._gaussian_components import CovarianceType
from likewise.mixture._pairwise import (
    ComponentRelations,
    NormalisedRelations,
    compute_normalised_weights,
    count_approximate,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


class EquivalenceGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with equivalence constraints (GMM-EC; Shental, Bar-Hillel, Hertz & Weinshall 2004).

    The rows of a must-link component (a chunklet) are drawn together from one class. Cannot-links connect
    the class variables :math:`z_u` of the chunklets in a Markov network. With class weights :math:`a` the
    model maximises

    .. math::

        \log \sum_{z \text{ satisfies all links}} \prod_u a_{z_u}
            \prod_{i \in u} N(x_i; \mu_{z_u}, \Sigma_{z_u})
        - [\text{normalize}] \log \sum_{z \text{ satisfies all links}} \prod_u a_{z_u}

    by EM. The second term is the normaliser of the network. It depends on :math:`a`: with it the class
    weights are found by gradient ascent, as in the paper; without it they have a closed form. All links are
    hard: labellings that break a link have probability 0.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes, one Gaussian each.
    normalize : bool, default=False
        Whether the objective includes the normaliser. It is correct if cannot-linked rows were sampled as
        pairs. If rows were sampled first and links stated later, as is usual, rows of small classes are in
        more cannot-links, and the normaliser makes the weights of these classes too small: with 256 random
        cannot-links among 215 rows, a class of 30 % had a weight of 5 % with it and of 30 % without it.
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
        The class of each row. The linked rows of a group have their most probable joint labelling, which
        satisfies every link if such a labelling was found.
    weights_, means_, covariances_, lower_bound_, lower_bounds_, n_iter_, converged_, violations_
        As for :class:`PairwiseGaussianMixture`.
    n_approximate_ : int
        Number of groups of chunklets that were too large to enumerate.

    Warns
    -----
    ConvergenceWarning
        If `labels_` break a link.

    Notes
    -----
    A group of g chunklets joined by cannot-links is enumerated exactly if it has at most 20,000 labellings
    (K^g). The marginals and the normaliser of larger groups come from damped belief propagation, which is
    exact if the cannot-links form a tree and approximate if they form loops; the bound is then the Bethe
    bound and may fall. The joint labelling of a larger group is exact if its graph is nearly a tree (variable
    elimination with tables of at most 20,000 entries); otherwise a search satisfies the links, and the
    labelling may not be the most probable one. If links contradict one another, the must-links win, with a
    warning. A group that has no consistent labelling with K classes raises an error if it is small enough to
    be enumerated. Weighted links raise an error.

    A chunklet of any size counts once towards the class weights. To count every row once, use
    :class:`PairwiseGaussianMixture` with its default settings.

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
        "normalize": Rule.choice(True, False),
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

    def _make_relations_factory(self, hints: Supervision) -> Callable[[], Relations]:
        refuse_weights(hints, type(self).__name__, "Use {PairwiseGaussianMixture}")
        refuse_large_groups(hints, self.n_clusters, type(self).__name__)
        network, large = component_network(Units.from_hints(hints), self.n_clusters)
        return lambda: EquivalenceRelations(network, large, normalize=self.normalize)

    def _keep(self, rows: Rows, steps: MixtureSteps, fit: MixtureFit) -> None:
        super()._keep(rows, steps, fit)
        self.n_approximate_ = count_approximate(steps.relations)
        if self.violations_.share < 1:
            why = (
                f"{self.n_approximate_} group(s) of rows joined by cannot-links were too large to enumerate, "
                "and no labelling that satisfies every link was found; more clusters may help."
                if self.n_approximate_
                else "They contradict one another."
            )
            warn_caller(
                f"{type(self).__name__}: of the links, {self.violations_}. {why}",
                ConvergenceWarning,
            )


class EquivalenceRelations(ComponentRelations):
    """Chunklets drawn as a whole, and a Markov network of cannot-links (Shental et al. 2004).

    A chunklet of any size has one prior factor. The normaliser of the network is the sum over labellings
    without densities; if it is omitted, the class weights have a closed form.
    """

    # Iterations of an M-step with large groups. A partial M-step suffices, and each evaluation of the
    # normaliser costs several sweeps of messages.
    _STEPS = 3

    def __init__(self, network: FactorNetwork, large: np.ndarray, *, normalize: bool) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self.normalize = normalize
        self._large_prior = LoopyGroups(large) if len(large) and normalize else None

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, the class counts, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        if self.normalize:
            total -= self.compute_prior(log_weights)[1]
        return self.network.members.T @ mass, mass.sum(axis=0), total

    def compute_prior(self, log_weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected class counts and the log normaliser of the network under the prior."""
        counts, total = self.network.compute_prior(log_weights)
        if self._large_prior is not None:
            shape = (len(self._large_prior.units), len(log_weights))
            beliefs, log_z = self._large_prior.infer(np.broadcast_to(log_weights, shape))
            counts, total = counts + beliefs.sum(axis=0), total + log_z
        return counts, total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return the weights that maximise the expected log-likelihood, with or without the normaliser."""
        if not self.normalize:
            return compute_closed_weights(counts)
        if self._large_prior is not None:
            n_single = n_free + self.network.n_free
            return compute_normalised_weights(counts, log_weights, n_single, self.compute_prior, self._STEPS)
        return NormalisedRelations(self.network).update_weights(counts, log_weights, n_free)
