"""GM-PR: a Gaussian mixture whose links are part of the generative model (Yu, Elhabian & Whitaker).

With class weights a and class densities p_m, EM maximises the sum over unlinked rows of log sum_m a_m p_m(x)
plus the terms of the linked rows, which are one of

    (1)  "pairs": for each must-link log sum_m a_m p_m(x_i) p_m(x_j), and for each cannot-link the log of
         sum_{m != m'} a_m a_m' p_m(x_i) p_m'(x_j) / (1 - sum_m a_m^2)  (`NormalisedRelations`)

    (2)  "components", links of both kinds: log of the sum over the labellings z that satisfy all links of
         prod_i a_{z_i} p_{z_i}(x_i)  (`ComponentRelations`)

    (3)  "components", links of one kind: as (2), with class weights b for must-link components and f for
         unlinked rows, plus sum_m log b_m f_m  (`SelectedRelations`)

The E-step is inference over units and factors (``_factors.py``). The M-step of the Gaussians is that of any
mixture (``_em.py``); the class weights have a closed form in (2) and (3), and with a normaliser they minimise

    (4)  - sum_m c_m eta_m + n log sum_m exp eta_m + log Z(eta) over eta = log a, with expected class counts c
         and n factors of one unit  (`compute_normalised_weights`)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize

from likewise.backends import Rows
from likewise.base import Rule
from likewise.exceptions import InfeasibleSupervisionError
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import Mixture, MixtureFit, MixtureSteps, Relations, compute_closed_weights
from likewise.mixture._factors import (
    FactorNetwork,
    LoopyGroups,
    Units,
    build_pair_network,
    component_network,
    compute_pair_prior,
    has_weights,
    log_sum_exp,
    refuse_large_groups,
    refuse_weights,
)
from likewise.mixture._gaussian_components import CovarianceType
from likewise.mixture._most_probable import find_most_probable_labels, has_consistent_labels
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike

RelationsKind = Literal["auto", "components", "pairs"]


class PairwiseGaussianMixture(MixtureFamily):
    r"""Gaussian mixture with pairwise relations (GM-PR; Yu, Elhabian & Whitaker).

    Must-linked rows share one class variable; the joint prior of the classes of two cannot-linked rows is 0
    on the diagonal. With class weights :math:`a_m` and class densities
    :math:`p_m(x) = \sum_k \pi_{mk} N(x; \mu_{mk}, \Sigma_{mk})` the model maximises

    .. math::

        \sum_{n \text{ unlinked}} \log \sum_m a_m p_m(x_n)
        + \sum_{(i,j) \in M} w_{ij} \log \sum_m a_m p_m(x_i) p_m(x_j)
        + \sum_{(i,j) \in C} w_{ij} \log
          \frac{\sum_{m \ne m'} a_m a_{m'} p_m(x_i) p_{m'}(x_j)}{1 - \sum_m a_m^2}

    by EM (``relations="pairs"``, as in the paper). With ``relations="components"``, which the default
    ``"auto"`` selects for unweighted links for which a consistent labelling is found, every row counts once
    and implied links are used. With links of both kinds, rows are drawn independently and links restrict the
    possible labellings z:

    .. math:: \log \sum_{z \text{ satisfies all links}} \prod_i a_{z_i} p_{z_i}(x_i) .

    Links of one kind only were selected by their answer, so class proportions differ between linked and
    unlinked rows. Must-link components u then have class weights b, unlinked rows have class weights f, and

    .. math::

        \log \sum_{z \text{ satisfies all links}} \prod_u b_{z_u} \prod_{i \in u} p_{z_u}(x_i)
        + \sum_{n \text{ unlinked}} \log \sum_m f_m p_m(x_n) + \sum_m \log b_m f_m

    is maximised; `weights_` is the mean class probability over all rows. Without links this is
    scikit-learn's ``GaussianMixture``.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of classes.
    n_subclusters : int, default=1
        Number of Gaussians per class (m_K in the paper). Use more than one if a class is far from Gaussian.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        The shape of the covariances, as in scikit-learn.
    relations : {"auto", "components", "pairs"}, default="auto"
        "components" uses the second or third objective. The rows of a must-link component have one class, and
        groups of components joined by cannot-links are enumerated if they have at most 20,000 labellings;
        larger groups are treated by belief propagation, and `n_approximate_` counts them. Raises an error for
        weighted links and for enumerated groups with no consistent labelling.
        "pairs" uses the objective of the paper: every link is a separate factor with its weight as exponent,
        and a link that disagrees with the data may be violated. A row in r links counts r times, and class
        weights are estimated from links and unlinked rows, not from every row once, which biases them: a
        class of 30 % of thyroid-like rows had a weight of 5 to 26 % with 64 to 256 links.
        "auto" selects "components" for unweighted links for which a consistent labelling is found, and
        "pairs" otherwise.
    init : {"hints", "k-means", "k-means++"} or array, default="hints"
        Starting means. "k-means++" draws them; "k-means" runs k-means from such draws. "hints" uses the
        starts of "k-means" and as many more from the links: k-means alternately in a linear space that the
        links suggest and on the original rows, where the first start of each type uses the must-link
        components. Without links "hints" is "k-means". An array of the shape of `means_` gives the only
        start.
    n_init : int, default=10
        Number of starts; twice as many with ``init="hints"`` and links. Each is tried for 15 iterations.
        Among the starts whose classes break the fewest links, with every row in its most likely class, the
        one with the highest likelihood is finished. If all links are must-links, violated links are compared
        with the number expected by chance in classes of the same sizes. With more than 50,000 rows, starts
        are made and tried on the linked rows and a sample of 50,000 rows, and the chosen one is continued on
        all rows; a start given as an array uses all rows at once.
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
        The class of each row; a dask array if X is Dask data. With ``relations_="components"``, linked rows
        have the most probable joint labelling of their group (approximate in large groups); with ``"pairs"``,
        a linked row has its most probable class given its links, averaged over them if it is in several.
        `predict` ignores links.
    weights_ : ndarray of shape (n_clusters,)
        The class weights: the expected share of all rows in each class.
    subcluster_weights_ : ndarray of shape (n_clusters, n_subclusters)
        The weight of each Gaussian within its class.
    means_ : ndarray of shape (n_clusters * n_subclusters, n_features)
        The means of the components. Component c belongs to class ``c // n_subclusters``.
    covariances_ : ndarray
        The covariances of the components, in the shapes that scikit-learn uses.
    lower_bound_ : float
        The objective at the last E-step, divided by the number of rows.
    lower_bounds_ : ndarray of shape (n_iter_,)
        The same for each iteration on all rows.
    n_iter_, converged_
        Number of iterations, and whether the likelihood converged.
    violations_ : Satisfaction
        The links that `labels_` satisfies and violates.
    n_approximate_ : int
        With ``relations_="components"``: number of groups that were too large to enumerate.
    relations_ : {"components", "pairs"} or None
        Which of the two was fitted; None without links.

    Notes
    -----
    An iteration costs O(n K S d^2) for full covariances, O(n K S d) for diagonal ones, plus O(links x K).
    The joint prior is read as ``a_m a_m' / (1 - sum a^2)`` once for each cannot-link, since the printed
    eqs. 6 to 9 put the normaliser inside a product over classes. With cannot-links and more than two classes,
    the class weights have no closed form. The negative objective is convex in log a (not in a, as stated
    below eq. 19) and is minimised over log a. With "pairs", linked rows do not also enter the term of the
    unlinked rows.

    With links of one kind, the linked rows may come from any classes, as long as their selection depends on
    the rows only through their classes: both b and f are estimated. With links of both kinds, pairs are
    assumed to have been chosen first and answered later.

    References
    ----------
    Y.-Y. Yu, S. Y. Elhabian, R. T. Whitaker, "Clustering With Pairwise Relationships: A Generative
    Approach".

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import PairwiseGaussianMixture, Supervision
    >>> rng = np.random.default_rng(0)
    >>> corners = np.repeat([[-3, -1], [3, -1], [-3, 1], [3, 1]], 30, axis=0)
    >>> X = corners + 0.4 * rng.normal(size=(120, 2))
    >>> hints = Supervision.from_links(120, must=[(0, 30), (60, 90)], cannot=[(1, 61), (31, 91)])
    >>> model = PairwiseGaussianMixture(2, random_state=0).fit(X, supervision=hints)
    >>> bool((model.labels_[:60] == model.labels_[0]).all() and model.labels_[0] != model.labels_[60])
    True
    """

    subcluster_weights_: np.ndarray
    n_approximate_: int
    relations_: str | None

    parameter_rules: ClassVar[dict[str, Rule]] = {
        **MixtureFamily.parameter_rules,
        "n_subclusters": Rule.integer(1),
        "relations": Rule.choice("auto", "components", "pairs"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_subclusters: int = 1,
        covariance_type: CovarianceType = "full",
        relations: RelationsKind = "auto",
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
        self.n_subclusters = n_subclusters
        self.relations = relations

    @property
    def _on_conflict(self) -> str:  # type: ignore[override]
        components = self.relations == "components"
        return MixtureFamily._on_conflict if components else "All are weighed against one another."

    @property
    def _n_sub(self) -> int:  # type: ignore[override]
        return self.n_subclusters

    def _make_relations_factory(self, hints: Supervision) -> Callable[[], Relations]:
        return make_pairwise_relations(hints, self.n_clusters, self.relations, type(self).__name__)

    def _keep_mixture(self, mixture: Mixture) -> None:
        super()._keep_mixture(mixture)
        self.subcluster_weights_ = np.exp(mixture.log_within)

    def _keep(self, rows: Rows, steps: MixtureSteps, fit: MixtureFit) -> None:
        super()._keep(rows, steps, fit)
        self.n_approximate_ = count_approximate(steps.relations)
        self.relations_ = get_relations_kind(steps.relations)


def count_approximate(relations: Relations | None) -> int:
    """Return the number of groups of units that were not treated exactly."""
    network = getattr(relations, "network", None)
    return 0 if network is None else int(network.n_approximate)


def make_pairwise_relations(
    hints: Supervision, n_clusters: int, kind: RelationsKind, name: str
) -> Callable[[], Relations]:
    """Return a function that makes relations from the links, by must-link components or link by link.

    "auto" selects components for unweighted links for which a consistent labelling is found. Links of one
    kind only were selected by their answer, and get separate class weights.
    """
    if kind == "components":
        refuse_weights(hints, name, "Use relations='pairs'")
    is_certain = not has_weights(hints) and not len(hints.closure(on_conflict="drop").conflicts)
    has_must = len(hints.must) + len(hints.must_groups) > 0
    has_cannot = len(hints.cannot) + len(hints.cannot_groups) > 0
    relations = ComponentRelations if has_must and has_cannot else SelectedRelations
    if kind == "components" or (kind == "auto" and is_certain):
        try:
            refuse_large_groups(hints, n_clusters, name)
            network, large = component_network(Units.from_hints(hints), n_clusters)
        except InfeasibleSupervisionError:
            if kind == "components":
                raise
        else:
            if kind == "components" or has_consistent_labels(large, n_clusters):
                return lambda: relations(network, large)
    pairs = build_pair_network(hints)
    return lambda: NormalisedRelations(pairs)


def get_relations_kind(relations: Relations | None) -> str | None:
    """Return which relations were fitted; None without links."""
    if relations is None:
        return None
    return "pairs" if isinstance(relations, NormalisedRelations) else "components"


class NormalisedRelations:
    """Factors with normalised priors (Yu, Elhabian & Whitaker).

    The log-likelihood of the linked rows is the log normaliser of the factors with densities minus the log
    normaliser under the prior, which is ``log(1 - sum a^2)`` for a cannot-link.
    """

    def __init__(self, network: FactorNetwork) -> None:
        self.network, self.rows = network, network.rows

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, the class counts, and the log-likelihood."""
        mass, total = self.network.infer(self.network.members @ log_density + log_weights)
        _, prior = self.network.compute_prior(log_weights)
        return self.network.members.T @ mass, mass.sum(axis=0), total - prior

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return the weights that maximise the expected log-likelihood."""
        net = self.network
        if not net.groups:
            return compute_pair_weights(counts, log_weights, float(net.pair_weights.sum()))
        return compute_normalised_weights(counts, log_weights, n_free + net.n_free, net.compute_prior)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the most likely class of each row, averaged over its links."""
        mass, _, _ = self.expect(log_weights, log_density)
        return np.asarray(mass.argmax(axis=1))


def compute_pair_weights(counts: np.ndarray, log_weights: np.ndarray, pair_weight: float) -> np.ndarray:
    """Return log class weights from class counts that include two per cannot-link of total `pair_weight`."""
    if not pair_weight:
        return compute_closed_weights(counts)
    if len(counts) == 2:
        # 1 - a^2 - (1 - a)^2 = 2 a (1 - a): with two classes, a cannot-link carries no information about a.
        left = np.maximum(counts - pair_weight, 0.0)
        return compute_closed_weights(left) if left.any() else log_weights
    n_single = float(counts.sum()) - 2 * pair_weight
    return compute_normalised_weights(
        counts, log_weights, n_single, partial(compute_pair_prior, weight=pair_weight)
    )


def compute_normalised_weights(
    counts: np.ndarray,
    log_weights: np.ndarray,
    n_single: float,
    prior: Callable[[np.ndarray], tuple[np.ndarray, float]],
    max_iter: int = 100,
) -> np.ndarray:
    """Return the eta = log a that minimises ``- sum c_m eta_m + n log sum exp eta + log Z(eta)``.

    This is convex in eta. It is not convex in `a`, as the paper claims below eq. 19: log(1 - |a|^2) is
    concave. `prior` returns the gradient of log Z and its value.
    """

    def compute_energy(eta: np.ndarray) -> tuple[float, np.ndarray]:
        expected, log_z = prior(eta)
        norm = log_sum_exp(eta)
        value = -counts @ eta + n_single * norm + log_z
        return float(value) / scale, (n_single * np.exp(eta - norm) + expected - counts) / scale

    scale = float(counts.sum())
    found = minimize(
        compute_energy,
        log_weights,
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 1e-15, "maxiter": max_iter},
    )
    # If all rows are in cannot-links, the optimum may be at a vertex, where some eta is minus infinity.
    return compute_closed_weights(np.exp(found.x - found.x.max()))


class ComponentRelations:
    """Rows drawn independently, with links of both kinds that restrict the possible labellings.

    The likelihood is ``sum_z prod_i a[z_i] p(x_i | z_i)`` over the labellings z that satisfy every link. All
    rows, linked or not, count once towards the class weights, so these have a closed form. Must-link
    components are units. Groups of units that are too large to enumerate are treated by belief propagation,
    which is exact on trees.
    """

    def __init__(self, network: FactorNetwork, large: np.ndarray) -> None:
        self.network, self.rows, self.edges = network, network.rows, large
        self.large = LoopyGroups(large) if len(large) else None
        self._sizes = np.asarray(network.members.sum(axis=1)).reshape(-1, 1)

    def _log_unary(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the log prior and density of each unit in each class."""
        unary: np.ndarray = self.network.members @ log_density + self._sizes * log_weights
        return unary

    def _infer(self, log_weights: np.ndarray, log_density: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the probability of each class for each unit, and the log of the sum over labellings."""
        log_unary = self._log_unary(log_weights, log_density)
        mass, total = self.network.infer(log_unary)
        if self.large is not None:
            beliefs, log_z = self.large.infer(log_unary[self.large.units])
            mass[self.large.units] += beliefs
            total += log_z
        return mass, total

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, its sum over rows, and the bound."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        return of_rows, of_rows.sum(axis=0), total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Return weights in proportion to the counts."""
        return compute_closed_weights(counts)

    def predict_labels(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """Return the class of each row in the most probable labelling of its group."""
        log_unary = self._log_unary(log_weights, log_density)
        units = find_most_probable_labels(self.network, self.edges, log_unary)
        return units[self.network.members.T.tocsr().indices]  # every row is in one unit


class SelectedRelations(ComponentRelations):
    """Links of one kind, selected by their answer: linked and unlinked rows have separate class weights.

    Pairs that were selected because both rows are in one class come from large classes too often, and rows
    in no such pair from small classes. So linked units have class weights b, one factor per unit, and
    unlinked rows have class weights f. The objective is ``log sum_z prod_u b[z_u] prod_i p(x_i | z_u)`` over
    the labellings that satisfy every link, plus ``sum log sum_m f_m p_m(x)`` over unlinked rows, plus
    ``sum_m log b_m f_m``, which keeps every class possible if there are few units. The class weights of the
    mixture are the mean class probabilities over all rows.
    """

    def __init__(self, network: FactorNetwork, large: np.ndarray) -> None:
        super().__init__(network, large)
        self._sizes = np.ones_like(self._sizes)
        self._log_linked: np.ndarray | None = None
        self.log_free: np.ndarray | None = None  # log f; None before the first M-step

    def _log_unary(self, log_weights: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        linked = log_weights if self._log_linked is None else self._log_linked
        return super()._log_unary(linked, log_density)

    def expect(
        self, log_weights: np.ndarray, log_density: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the mass of each row in each class, its sum over rows, and the bound with its penalty."""
        mass, total = self._infer(log_weights, log_density)
        of_rows = self.network.members.T @ mass
        self._unit_counts, self._row_counts = mass.sum(axis=0), of_rows.sum(axis=0)
        for own in (self._log_linked, self.log_free):
            total += float((log_weights if own is None else own).sum())
        return of_rows, self._row_counts, total

    def update_weights(self, counts: np.ndarray, log_weights: np.ndarray, n_free: float) -> np.ndarray:
        """Update the weights of linked units and of unlinked rows; return the weights of all rows."""
        self._log_linked = compute_closed_weights(self._unit_counts + 1.0)
        self.log_free = compute_closed_weights(np.maximum(counts - self._row_counts, 0.0) + 1.0)
        return compute_closed_weights(counts)
