"""BayesianClustering: particles from the posterior of a softmax model of the clusters."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import entr, log_softmax, softmax
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from likewise._compat import check_random_state, with_callbacks
from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
from likewise.base import FitProgress, HintedClusterer, Rule
from likewise.bayesian._answer_network import LOUDEST, AnswerNetwork
from likewise.bayesian._pair_scores import BestPairs, Criterion, best_pairs, score_triplets
from likewise.bayesian._particles import (
    Posterior,
    Prior,
    Target,
    carry,
    check_rows,
    compute_together,
    draw_starts,
    find_mode,
)
from likewise.evaluation import Satisfaction, TripletSatisfaction, link_satisfaction, triplet_satisfaction
from likewise.exceptions import InfeasibleSupervisionError, SupervisionError
from likewise.supervision import Supervision

# Maximum number of rows in the prior of the particles; their mean is close to that of all rows.
_PRIOR_ROWS = 1000
# With larger weights, sums lose the digits that distinguish particles, and a fit would not terminate.
_MOST_WEIGHT = 1e12


class BayesianClustering(HintedClusterer):
    """Clustering with samples from the posterior of a softmax model, given answers that may be wrong.

    With :math:`p_{ik} \\propto \\exp(w_k^\\top x_i + b_k)`, clusters of rows independent given W, and answers
    that are wrong with probability `epsilon`, the posterior of the weights is (eqs. 4.1 to 4.5 of Pei 2017,
    ch. 4, whose equation numbers are used here)

    .. math::

        P(W \\mid Z, X) \\propto P(W \\mid X) \\sum_y \\prod_i p_{i y_i}
        \\prod_{z \\in Z} P(z \\mid y)

        \\log P(W \\mid X) = -\\tfrac\\lambda2 \\|W\\|^2 - \\tfrac\\tau n \\sum_i H(p_i)
        + \\beta H\\big(\\tfrac1n \\sum_i p_i\\big)

    An answer is a link, which states whether two rows are in the same cluster, or the answer to a triplet,
    which states which two of three rows are, without the third, or NEITHER. The sum over the unknown clusters
    is exact if answers form trees or cycles of few rows. The posterior is represented by particles, moved by
    slice sampling and updated answer by answer with ``warm_start=True``. The clusters are those of the most
    probable weights. The particles give the probability that two rows are in the same cluster and the most
    informative pair of rows to ask about.

    Columns are standardised to mean 0 and variance 1 first, so their units do not matter.

    Parameters
    ----------
    n_clusters : int, default=8
        Maximum number of clusters. Clusters that neither hints nor rows support stay empty.
    precision : float, default=1.0
        Inverse of the prior variance of a weight, for columns of variance 1; lambda in the paper.
    tau : float, default=20.0
        Strength of the prior for clear clusters, in nats of answers.
    balance : float, default=20.0
        Strength of the prior for clusters of similar size. The paper has no such term; its prior is
        ``precision=10, tau=1, balance=0, intercept=False``, see Notes.
    epsilon : float, default=0.05
        Probability that an answer is wrong, above 0 and below 0.5.
    intercept : bool, default=True
        Whether clusters have a bias, with the same prior as the weights. The paper has none.
    n_particles : int, default=96
        Number of particles.
    n_moves : int, default=5
        Number of slice-sampling moves of each particle in each step towards a new posterior.
    n_init : int, default=4
        Number of starts of the search for the most probable weights: the best particles and k-means.
    max_iter : int, default=200
        Maximum number of L-BFGS iterations of one start.
    tol : float, default=1e-6
        Stop when an iteration raises the log-posterior by no more than this, relative to its value.
    warm_start : bool, default=False
        Whether a fit to the same rows continues from the particles of the last fit: they are reweighted for
        the changes in the hints, resampled and moved. Answers may have been added or withdrawn.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. Pass an int for the same result on every call.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row: for hinted rows the most probable joint assignment (max-product) given the
        most probable weights, for the others as in `predict`.
    coef_ : ndarray of shape (n_clusters, n_features)
        The most probable weights of the original columns.
    intercept_ : ndarray of shape (n_clusters,)
        The biases.
    particles_ : ndarray of shape (n_particles, n_clusters, n_features + 1)
        Equally weighted draws of the weights for standardised columns, with the bias last.
    log_posterior_ : float
        The logarithm of P(W, answers | X) at the most probable weights, up to a constant, eq. (4.13).
    exact_ : bool
        Whether all sums over clusters are exact; False if answers form cycles among too many rows.
    violations_ : likewise.evaluation.Satisfaction
        The stated links that the labels satisfy and violate.
    triplet_violations_ : likewise.evaluation.TripletSatisfaction
        The triplets that the labels satisfy and violate.
    n_steps_ : int
        Number of steps in which the particles were moved to this posterior.
    n_iter_ : int
        Number of L-BFGS iterations of the selected start.
    converged_ : bool
        Whether L-BFGS converged.

    Notes
    -----
    Sum-product passes k numbers along each answer and costs O(k) per answer and particle. Rows in cycles are
    summed over by enumeration if they have at most 4096 joint assignments, including attached trees. In
    larger cycles, must-links that no cannot-link contradicts are treated as certain. If large cycles remain,
    each answer that closes a cycle refers to a copy of a row with an independent cluster. A must-link group
    of s rows counts as s - 1 links to its first row, a cannot-link group as s (s - 1) / 2 links. A weight
    multiplies the log-odds of an answer; weights above 1e12 raise an error.

    A move costs about ten passes over the hinted rows and up to 1,000 others, for all particles, O(S k n)
    each. Many new answers are introduced gradually (tempering), in steps that keep half of the particles
    effective. The particles take most of a fit, whatever the number of rows: with 16 columns, 10 clusters and
    200 links 2.5 s of CPU for 1,000 rows, and 3 s with one start for 100,000. Fewer particles take less.

    With the prior of the paper the most probable weights without answers are 0 on most data, and the
    clusters are arbitrary. The stronger prior here gives clusters without answers; it is harmful if the
    classes behind the answers do not form clusters.

    Clusters are exchangeable: their numbers may differ between particles, so weights are never averaged.

    Examples
    --------
    Four clouds at the corners of a square, to be separated into above and below. Only hints can decide.

    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.bayesian import BayesianClustering
    >>> rng = np.random.default_rng(0)
    >>> above, right = np.arange(100) % 2, np.arange(100) // 50
    >>> X = rng.normal(size=(100, 2)) + 6 * np.column_stack([right, above])
    >>> hints = Supervision.from_links(100, must=[(4, 60), (6, 58)], cannot=[(4, 5), (58, 59), (3, 70)])
    >>> model = BayesianClustering(n_clusters=2, random_state=0).fit(X, supervision=hints)
    >>> model.labels_.tolist() in (above.tolist(), (1 - above).tolist())
    True
    >>> together = model.co_membership_proba(pairs=[(4, 60), (4, 5), (1, 51)])
    >>> bool(together[0] > 0.9), bool(together[1] < 0.1), bool(together[2] > 0.5)
    (True, True, True)
    >>> model.best_pairs(2).pairs.shape
    (2, 2)
    """

    n_steps_: int
    log_posterior_: float
    n_iter_: int
    converged_: bool
    coef_: Any
    intercept_: Any
    exact_: bool
    labels_: np.ndarray
    violations_: Satisfaction
    triplet_violations_: TripletSatisfaction

    supported_hints: ClassVar[frozenset[str]] = frozenset({"links", "triplets"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": Rule.integer(1),
        "precision": Rule.real(0, strict=True),
        "tau": Rule.real(0),
        "balance": Rule.real(0),
        "epsilon": Rule(
            "a number above 0 and below 0.5", lambda v: Rule.real(0, strict=True).holds(v) and v < 0.5
        ),
        "intercept": Rule.choice(True, False),
        "n_particles": Rule.integer(1),
        "n_moves": Rule.integer(0),
        "n_init": Rule.integer(1),
        "max_iter": Rule.integer(1),
        "tol": Rule.real(0),
        "warm_start": Rule.choice(True, False),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        precision: float = 1.0,
        tau: float = 20.0,
        balance: float = 20.0,
        epsilon: float = 0.05,
        intercept: bool = True,
        n_particles: int = 96,
        n_moves: int = 5,
        n_init: int = 4,
        max_iter: int = 200,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.precision = precision
        self.tau = tau
        self.balance = balance
        self.epsilon = epsilon
        self.intercept = intercept
        self.n_particles = n_particles
        self.n_moves = n_moves
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Cluster the rows of X, guided by the answers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision, optional
            Links, groups of links and triplets. None means no hints.

        Returns
        -------
        self : object
            The fitted clusterer.
        """
        X, hints = self._check_fit(X, y, supervision)
        if self.n_clusters == 1 and (hints.answers < 3).any():
            raise InfeasibleSupervisionError(
                "{estimator}: with n_clusters=1 all rows are in one cluster, so no triplet can be satisfied.",
                "Set n_clusters to at least 2, or drop the triplets.",
                parameter="n_clusters",
                kinds=("triplets",),
                estimator=type(self).__name__,
            )
        self._check_weights(hints)
        self._compute_soft_closure(hints.to_links())
        self._scaler = StandardScaler().fit(np.asarray(X, dtype=np.float64))
        features = self._compute_features(X)
        # One thread: sums in another order differ in their last digits, and random draws amplify that.
        with threadpool_limits(1):
            self._fit(features, hints)
        self._finish(hints)
        return self

    def _check_weights(self, hints: Supervision) -> None:
        """Refuse weights so large that sums lose all other terms to rounding."""
        kinds = {
            "must-link": hints.must_weights,
            "must-link group": hints.must_groups.weights,
            "cannot-link": hints.cannot_weights,
            "cannot-link group": hints.cannot_groups.weights,
            "triplet": hints.triplet_weights,
        }
        for kind, weights in kinds.items():
            largest = float(np.max(weights, initial=0.0))
            if largest > _MOST_WEIGHT:
                enough = LOUDEST / np.log((1.0 - self.epsilon) / self.epsilon)
                raise SupervisionError(
                    f"{{estimator}}: the weight of a {kind} is {largest:g}; expected at most "
                    f"{_MOST_WEIGHT:g}. A weight multiplies the log-odds of an answer: with "
                    f"epsilon={self.epsilon:g} a weight of {enough:.0f} makes it practically certain.",
                    f"Divide the weights by {largest / enough:.3g}, or use weights of 1 and a smaller "
                    "epsilon.",
                    parameter="epsilon",
                    estimator=type(self).__name__,
                )

    def _compute_features(self, X: np.ndarray) -> np.ndarray:
        """Return the features of the model: standardised columns, and a last column for the intercept."""
        Z = self._scaler.transform(np.asarray(X, dtype=np.float64))
        return np.column_stack([Z, np.full(len(Z), 1.0 if self.intercept else 0.0)])

    def _fit(self, features: np.ndarray, hints: Supervision) -> None:
        prior = Prior(self.precision, self.tau, self.balance)
        network = AnswerNetwork.from_hints(hints, self.n_clusters, self.epsilon)
        shape = (self.n_particles, self.n_clusters, features.shape[1])
        last: Posterior | None = getattr(self, "_posterior", None) if self.warm_start else None
        if last is not None and not last.is_reusable(features, shape, prior):
            last = None
        n_refits = 0 if last is None else last.n_refits + 1
        # A refit uses new random numbers, or all particles would repeat the same moves.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng([seed, n_refits])
        if last is None:
            n = len(features)
            seen = np.arange(n) if n <= _PRIOR_ROWS else np.sort(rng.choice(n, _PRIOR_ROWS, replace=False))
            W, named = rng.standard_normal(shape) / np.sqrt(self.precision), network.rows
        else:
            seen, W, named = last.seen, last.W, np.union1d(network.rows, last.network.rows)

        def make_target(network: AnswerNetwork) -> Target:
            rows = np.concatenate([named, seen])
            return Target(prior, network, features[rows], np.searchsorted(named, network.rows), len(named))

        new = make_target(network)
        W, self.n_steps_ = carry(
            W, None if last is None else make_target(last.network), new, self.n_moves, rng
        )
        mode = self._find_mode(W, last, new, features, rng)
        self.particles_ = W
        self._posterior = Posterior(prior, network, features, seen, W, mode, n_refits)

    def _find_mode(
        self,
        W: np.ndarray,
        last: Posterior | None,
        target: Target,
        features: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Find the mode, from the last one or from k-means, and from the best particles."""
        value = target.compute_value(target.compute_logits(W)) - self.precision / 2 * (W**2).sum(axis=(1, 2))
        best = W[np.argsort(-value, kind="stable")]
        if last is None:
            begin = [*best[: (self.n_init + 1) // 2]]
            begin += draw_starts(features, self.n_clusters, self.n_init - len(begin), rng)
        else:
            begin = [last.mode, best[0]]
        progress = FitProgress(self, features, len(begin))
        found = None
        for start in begin:
            progress.begin(self.max_iter)
            mode = find_mode(
                start, features, target.prior, target.network,
                max_iter=self.max_iter, tol=self.tol, done=progress.step,
            )  # fmt: skip
            progress.end()
            if found is None or mode.value > found.value + 1e-9 * abs(found.value):
                found = mode
        progress.finish()
        assert found is not None
        self.log_posterior_, self.n_iter_, self.converged_ = found.value, found.n_iter, found.converged
        return found.W

    def _finish(self, hints: Supervision) -> None:
        mode, network = self._posterior.mode, self._posterior.network
        log_p = log_softmax(self._posterior.features @ mode.T, axis=1)
        self.coef_ = mode[:, :-1] / self._scaler.scale_
        bias = mode[:, -1] if self.intercept else np.zeros(self.n_clusters)
        self.intercept_ = bias - self.coef_ @ self._scaler.mean_
        self.exact_ = network.exact
        self.labels_ = log_p.argmax(axis=1).astype(np.int32)
        if len(network.rows):
            self.labels_[network.rows] = network.find_best(log_p[network.rows])
        self.violations_ = link_satisfaction(self.labels_, hints)
        self.triplet_violations_ = triplet_satisfaction(self.labels_, hints)
        why = "Neither hints nor rows support more; X may have fewer distinct rows."
        self._warn_few_clusters(self.labels_, self.n_clusters, why)
        if not self.converged_:
            self._warn_not_converged(self.n_iter_)

    # ------------------------------------------------------------------ using

    def _transform_new(self, X: Any) -> np.ndarray:
        """Return the features of new rows."""
        check_is_fitted(self)
        return self._compute_features(self._check_X(X, reset=False))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probabilities of the clusters under the most probable weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            The probabilities.
        """
        return softmax(self._transform_new(X) @ self._posterior.mode.T, axis=1)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the most probable cluster of each row under the most probable weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        return self.predict_proba(X).argmax(axis=1).astype(np.int32)

    def membership_samples(self, X: MatrixLike | None = None) -> np.ndarray:
        """Return the probabilities of the clusters for each particle.

        The clusters of different particles do not correspond. Only quantities that do not depend on the
        numbering of the clusters, such as whether two rows are together, can be averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows. With None, the rows of the fit, given the answers.

        Returns
        -------
        proba : ndarray of shape (n_particles, n_samples, n_clusters)
            The probabilities.
        """
        check_is_fitted(self)
        if X is not None:
            return self._posterior.predict_proba(self._transform_new(X))
        return self._posterior.compute_proba()

    def co_membership_proba(self, X: MatrixLike | None = None, *, pairs: Any = None) -> np.ndarray:
        """Return the posterior probability that two rows are in the same cluster, averaged over particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows. With None, the rows of the fit, given the answers.
        pairs : array-like of shape (n_pairs, 2), optional
            The pairs of rows. None means all pairs.

        Returns
        -------
        proba : ndarray of shape (n_pairs,) or (n_samples, n_samples)
            The probability for each pair, or the matrix of all pairs if `pairs` is None.
        """
        r = self.membership_samples(X)
        n = r.shape[1]
        if pairs is not None:
            pairs = check_rows(pairs, n, width=2, what="pairs")
            chance = compute_together(r, pairs)
            if X is None:
                self._posterior.put_right(chance, pairs)
            return chance
        flat = r.transpose(1, 0, 2).reshape(n, -1)
        chance = np.clip(flat @ flat.T / len(r), 0.0, 1.0)
        np.fill_diagonal(chance, 1.0)
        if X is None:
            rows = self._posterior.network.rows
            a, b = (rows[end] for end in np.triu_indices(len(rows), 1))
            answered = chance[a, b]
            self._posterior.put_right(answered, np.column_stack([a, b]))
            chance[a, b] = chance[b, a] = answered
        return chance

    def best_pairs(
        self,
        n: int = 1,
        *,
        criterion: Criterion = "info",
        exclude: Any = (),
        rows: Any = None,
        cycles: bool = False,
    ) -> BestPairs:
        """Find the most informative pairs of rows of the fit, among all pairs.

        The information is eq. (4.7) of Pei (2017), the uncertainty eq. (4.6). The result is exact.

        Parameters
        ----------
        n : int, default=1
            Number of pairs to find.
        criterion : {"info", "uncertain"}, default="info"
            The score: the information that the answer gives about the weights, or the uncertainty of the
            answer.
        exclude : array-like of shape (n_pairs, 2), default=()
            Pairs to leave out, in either order.
        rows : array-like of int, optional
            Consider only pairs of these rows. The time is quadratic in their number. None means all rows.
        cycles : bool, default=False
            Whether to include pairs that are already connected by answers, directly or not. They are scored
            as if their clusters were independent given the weights, which is an approximation.

        Returns
        -------
        found : BestPairs
            The pairs with their scores, best first.
        """
        r = self.membership_samples()
        groups = None if cycles else self._posterior.number_groups()
        exclude = check_rows(exclude, r.shape[1], width=2, what="exclude")
        if rows is None:
            return best_pairs(r, n, criterion=criterion, epsilon=self.epsilon, exclude=exclude, groups=groups)
        rows = np.unique(check_rows(rows, r.shape[1]))
        at = np.full(r.shape[1], -1)
        at[rows] = np.arange(len(rows))
        inner = at[exclude]
        found = best_pairs(
            r[:, rows],
            n,
            criterion=criterion,
            epsilon=self.epsilon,
            exclude=inner[(inner >= 0).all(axis=1)],
            groups=None if groups is None else groups[rows],
        )
        return BestPairs(rows[found.pairs], found.scores, found.n_scored)

    def triplet_scores(self, triplets: Any, *, criterion: Criterion = "info") -> np.ndarray:
        """Score triplets of rows of the fit by the value of their answers.

        Rows that are connected by answers are scored as if their clusters were independent given the weights.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3)
            The rows of each triplet.
        criterion : {"info", "uncertain"}, default="info"
            The score: the information that the answer gives about the weights, or the uncertainty of the
            answer.

        Returns
        -------
        scores : ndarray of shape (n_triplets,)
            The score of each triplet, in nats.
        """
        r = self.membership_samples()
        rows = check_rows(triplets, r.shape[1], width=3, what="triplets")
        return score_triplets(r, rows, criterion=criterion, epsilon=self.epsilon)

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Return the mutual information, in nats, between rows and clusters; hints are not used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            Present for scikit-learn's interface.

        Returns
        -------
        score : float
            The mutual information. Higher is better.
        """
        p = self.predict_proba(X)
        return float(entr(p.mean(axis=0)).sum() - entr(p).sum(axis=1).mean())
