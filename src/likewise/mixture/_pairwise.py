"""GM-PR: a Gaussian mixture whose links are part of the generative model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise._blocks import Rows
from likewise.base import Rule, choice, integer
from likewise.mixture._base import MixtureFamily
from likewise.mixture._em import MixtureFit, MixtureSteps, Relations
from likewise.mixture._gaussian_components import CovarianceType
from likewise.mixture._relations import (
    RelationsKind,
    count_approximate,
    get_relations_kind,
    make_pairwise_relations,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike


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
        and a link that disagrees with the data may be broken. A row in r links counts r times, and class
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
        one with the highest likelihood is finished. If all links are must-links, broken links are compared
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
        Maximum number of threads; None uses the current OpenMP limit and -1 all cores.

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
        "n_subclusters": integer(1),
        "relations": choice("auto", "components", "pairs"),
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

    def _keep(self, rows: Rows, steps: MixtureSteps, fit: MixtureFit) -> None:
        super()._keep(rows, steps, fit)
        self.subcluster_weights_ = np.exp(self._mixture.log_within)
        self.n_approximate_ = count_approximate(steps.relations)
        self.relations_ = get_relations_kind(steps.relations)
