"""BayesianClustering: what it takes, how a fit goes, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from likewise._compat import check_random_state, with_callbacks
from likewise.base import HintedClusterer, Progress, Rule, choice, integer, real
from likewise.bayesian._answers import LOUDEST
from likewise.bayesian._mode import climb, starts
from likewise.bayesian._network import Network
from likewise.bayesian._pairs import BestPairs, Criterion, best_pairs
from likewise.bayesian._particles import Target, carry
from likewise.bayesian._posterior import Posterior, checked_rows, together
from likewise.bayesian._prior import Prior
from likewise.bayesian._triplets import score_triplets
from likewise.evaluation import link_satisfaction, triplet_satisfaction
from likewise.exceptions import InfeasibleSupervisionError, SupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.evaluation import Satisfaction, TripletSatisfaction

# The prior of the particles looks at no more rows than this; the mean over them is near that over all.
_PRIOR_ROWS = 1000
# With larger weights sums lose the digits that tell particles apart, and a fit would not end.
_MOST_WEIGHT = 1e12


class BayesianClustering(HintedClusterer):
    """Draws from the posterior of a softmax model of the clusters, given answers that may be wrong.

    With :math:`p_{ik} \\propto \\exp(w_k^\\top x_i + b_k)`, clusters of rows independent given W, and answers
    that are wrong with probability `epsilon`, the posterior of the weights is (Pei 2017, ch. 4,
    whose equations are numbered here; 4.1 to 4.5)

    .. math::

        P(W \\mid Z, X) \\propto P(W \\mid X) \\sum_y \\prod_i p_{i y_i}
        \\prod_{z \\in Z} P(z \\mid y)

        \\log P(W \\mid X) = -\\tfrac\\lambda2 \\|W\\|^2 - \\tfrac\\tau n \\sum_i H(p_i)
        + \\beta H\\big(\\tfrac1n \\sum_i p_i\\big)

    An answer is a link, which tells whether two rows are together, or a triplet's, which tells which two of
    three are, or that no two stand out. The sum over the unknown clusters is exact where answers form trees,
    or cycles of few rows. The weights are held as particles, moved by slice sampling, and refitted answer by
    answer with ``warm_start=True``; the clusters are those of the most probable weights. From the particles
    come the probability that two rows are together and the pair of rows most worth asking about.

    Columns are brought to mean 0 and variance 1 first, so that their units do not matter.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters to find, at most: one that nothing asks for stays empty.
    precision : float, default=1
        One over the prior variance of a weight, the paper's lambda, for columns of variance 1.
    tau : float, default=20
        How much the prior asks for clear clusters. It weighs as much as so many nats of answers.
    balance : float, default=20
        How much the prior asks for clusters of like size. The paper has none; its priors are
        ``precision=10, tau=1, balance=0, intercept=False``; see Notes.
    epsilon : float, default=0.05
        How often an answer is wrong, above 0 and below 0.5.
    intercept : bool, default=True
        Whether clusters have a bias, with the prior of the weights. The paper has none.
    n_particles : int, default=96
        How many draws of the weights to hold.
    n_moves : int, default=5
        How many slice-sampling moves each particle makes for each step towards a new posterior.
    n_init : int, default=4
        From how many starts the most probable weights are sought: the best particles, and k-means.
    max_iter : int, default=200
        The most iterations of L-BFGS from one start.
    tol : float, default=1e-6
        Stop when an iteration raises the log-posterior by no more than this share of it.
    warm_start : bool, default=False
        Whether a fit to the same rows goes on from the particles of the last one: they are weighed by what
        changed in the hints, resampled and moved. Answers may have been added or taken back.
    random_state : int, RandomState or None
        Makes the fit repeatable.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row: for rows that hints name the most probable clusters together (max-product),
        given the most probable weights; for the others as `predict`.
    coef_ : ndarray of shape (n_clusters, n_features)
        The most probable weights, for the columns as they were given.
    intercept_ : ndarray of shape (n_clusters,)
        The biases.
    particles_ : ndarray of shape (n_particles, n_clusters, n_features + 1)
        Draws of the weights, for standardised columns; the last one is the bias. All count alike.
    log_posterior_ : float
        The logarithm of P(W, answers | X) at the most probable weights, up to a constant, eq. (4.13).
    exact_ : bool
        Whether all sums over clusters are exact: False if answers close cycles among too many rows.
    violations_ : likewise.evaluation.Satisfaction
        Which stated links the labels break.
    triplet_violations_ : likewise.evaluation.TripletSatisfaction
        Which triplets the labels break.
    n_steps_ : int
        In how many steps the particles were carried to this posterior.
    n_iter_ : int
        The number of iterations of L-BFGS from the start that was kept.
    converged_ : bool
        Whether it ended on a summit.

    Notes
    -----
    Sum-product sends k numbers along each answer and costs O(k) an answer and particle. Rows in cycles are
    summed over way by way if there are at most 4096 ways to place them, trees that hang on them included. In
    larger ones must-links that no cannot-link contradicts are taken as certain. If that leaves large cycles,
    each answer that closes one speaks of a copy of a row, whose cluster is drawn anew. A must group of s rows
    counts as s - 1 links through its first row, a cannot group as s (s - 1) / 2. A weight multiplies the
    log-odds of an answer; weights above a million are refused.

    A move costs some ten passes over the rows that hints name and up to 1,000 others, for all particles, O(S
    k n) each. Many answers at once come in by degrees (tempering), each as large as keeps half of the
    particles effective.

    With the paper's prior the most probable weights without answers are 0 on most data, and clusters are
    arbitrary. The heavier prior here gives clusters at once; it does harm where the classes that answers
    speak of are no clusters at all.

    Clusters have no names: particles may differ in which is which, so that weights are never averaged.

    Examples
    --------
    Four clouds at the corners of a square, to be parted into above and below. Nothing but hints can tell.

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
        "n_clusters": integer(1),
        "precision": real(0, strict=True),
        "tau": real(0),
        "balance": real(0),
        "epsilon": Rule(
            "a number above 0 and below 0.5", lambda v: real(0, strict=True).holds(v) and v < 0.5
        ),
        "intercept": choice(True, False),
        "n_particles": integer(1),
        "n_moves": integer(0),
        "n_init": integer(1),
        "max_iter": integer(1),
        "tol": real(0),
        "warm_start": choice(True, False),
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
        """
        X, hints = self._check_fit(X, y, supervision)
        if self.n_clusters == 1 and (hints.answers < 3).any():
            raise InfeasibleSupervisionError(
                "{estimator}: with n_clusters=1 all rows are together: no triplet can leave one out.",
                "Ask for at least two clusters, or drop the triplets.",
                parameter="n_clusters",
                kinds=("triplets",),
                estimator=type(self).__name__,
            )
        self._check_weights(hints)
        self._soft_closure(hints.to_links())
        self._scaler = StandardScaler().fit(np.asarray(X, dtype=np.float64))
        features = self._features(self._scaler, X)
        # One thread: sums that are cut differently differ in their last digits, and draws follow them.
        with threadpool_limits(1):
            self._fit(features, hints)
        self._finish(hints)
        return self

    def _check_weights(self, hints: Supervision) -> None:
        """Refuse weights whose sums would swallow everything else."""
        kinds = {
            "must-link": hints.must_weights,
            "must group": hints.must_groups.weights,
            "cannot-link": hints.cannot_weights,
            "cannot group": hints.cannot_groups.weights,
            "triplet": hints.triplet_weights,
        }
        for kind, weights in kinds.items():
            largest = float(np.max(weights, initial=0.0))
            if largest > _MOST_WEIGHT:
                enough = LOUDEST / np.log((1.0 - self.epsilon) / self.epsilon)
                raise SupervisionError(
                    f"{{estimator}}: the weight of a {kind} is {largest:g}, and at most "
                    f"{_MOST_WEIGHT:g} is allowed. A weight multiplies the log-odds of an answer: with "
                    f"epsilon={self.epsilon:g} one of {enough:.0f} makes it certain.",
                    f"Divide the weights by {largest / enough:.3g}, or use weights of 1 and a smaller "
                    "epsilon.",
                    parameter="epsilon",
                    estimator=type(self).__name__,
                )

    def _features(self, scaler: StandardScaler, X: np.ndarray) -> np.ndarray:
        """Return the columns that the model sees: standardised, and a last one for the intercept."""
        Z = scaler.transform(np.asarray(X, dtype=np.float64))
        return np.column_stack([Z, np.full(len(Z), 1.0 if self.intercept else 0.0)])

    def _fit(self, features: np.ndarray, hints: Supervision) -> None:
        prior = Prior(self.precision, self.tau, self.balance)
        network = Network.of(hints, self.n_clusters, self.epsilon)
        shape = (self.n_particles, self.n_clusters, features.shape[1])
        last: Posterior | None = getattr(self, "_posterior", None) if self.warm_start else None
        if last is not None and not last.suits(features, shape, prior):
            last = None
        n_refits = 0 if last is None else last.n_refits + 1
        # A refit draws anew: with the same draws particles would go the same way again and again.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng([seed, n_refits])
        if last is None:
            n = len(features)
            seen = np.arange(n) if n <= _PRIOR_ROWS else np.sort(rng.choice(n, _PRIOR_ROWS, replace=False))
            W, named = rng.standard_normal(shape) / np.sqrt(self.precision), network.rows
        else:
            seen, W, named = last.seen, last.W, np.union1d(network.rows, last.network.rows)

        def target(told: Network) -> Target:
            rows = np.concatenate([named, seen])
            return Target(prior, told, features[rows], np.searchsorted(named, told.rows), len(named))

        new = target(network)
        W, self.n_steps_ = carry(W, None if last is None else target(last.network), new, self.n_moves, rng)
        mode = self._climb(W, last, new, features, rng)
        self.particles_ = W
        self._posterior = Posterior(prior, network, features, seen, W, mode, n_refits)

    def _climb(
        self,
        W: np.ndarray,
        last: Posterior | None,
        target: Target,
        features: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Find the mode, from the last one or from k-means, and from the best particles."""
        value = target.value(target.logits(W)) - self.precision / 2 * (W**2).sum(axis=(1, 2))
        best = W[np.argsort(-value, kind="stable")]
        if last is None:
            begin = [*best[: (self.n_init + 1) // 2]]
            begin += starts(features, self.n_clusters, self.n_init - len(begin), rng)
        else:
            begin = [last.mode, best[0]]
        progress = Progress(self, features, len(begin))
        found = None
        for start in begin:
            progress.begin(self.max_iter)
            mode = climb(
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
            self.labels_[network.rows] = network.best(log_p[network.rows])
        self.violations_ = link_satisfaction(self.labels_, hints)
        self.triplet_violations_ = triplet_satisfaction(self.labels_, hints)
        why = "Neither hints nor rows ask for more; X may have fewer distinct rows."
        self._warn_few_clusters(self.labels_, self.n_clusters, why)
        if not self.converged_:
            self._warn_not_converged(self.n_iter_)

    # ------------------------------------------------------------------ using

    def _seen(self, X: Any) -> np.ndarray:
        """Return new rows as the model sees them."""
        check_is_fitted(self)
        return self._features(self._scaler, self._check_X(X, reset=False))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probabilities of the clusters by the most probable weights, (n_samples, n_clusters)."""
        probability: np.ndarray = softmax(self._seen(X) @ self._posterior.mode.T, axis=1)
        return probability

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the most probable cluster of each row, by the most probable weights."""
        labels: np.ndarray = self.predict_proba(X).argmax(axis=1).astype(np.int32)
        return labels

    def membership_samples(self, X: MatrixLike | None = None) -> np.ndarray:
        """Return the probabilities of the clusters by each particle, (n_particles, n_samples, n_clusters).

        Without X they are those of the rows of the fit, and rows that answers name hear the answers. The
        clusters of different particles do not correspond: only what is the same whatever the clusters are
        called, such as whether two rows are together, may be averaged.
        """
        check_is_fitted(self)
        if X is not None:
            return self._posterior.new_proba(self._seen(X))
        return self._posterior.proba()

    def co_membership_proba(self, X: MatrixLike | None = None, *, pairs: Any = None) -> np.ndarray:
        """Return the posterior probability that two rows are together, over all particles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows, of which no answer speaks. None for the rows of the fit, with the answers heard.
        pairs : array-like of shape (n_pairs, 2), optional
            Which pairs of rows. None for all.

        Returns
        -------
        ndarray of shape (n_pairs,), or (n_samples, n_samples) for all pairs
        """
        r = self.membership_samples(X)
        n = r.shape[1]
        if pairs is not None:
            pairs = checked_rows(pairs, n, width=2, what="pairs")
            chance = together(r, pairs)
            if X is None:
                self._posterior.put_right(chance, pairs)
            return chance
        flat = r.transpose(1, 0, 2).reshape(n, -1)
        chance = np.clip(flat @ flat.T / len(r), 0.0, 1.0)
        np.fill_diagonal(chance, 1.0)
        if X is None:
            rows = self._posterior.network.rows
            a, b = (rows[end] for end in np.triu_indices(len(rows), 1))
            told = chance[a, b]
            self._posterior.put_right(told, np.column_stack([a, b]))
            chance[a, b] = chance[b, a] = told
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
        """Find the pairs of rows of the fit most worth asking about; see :func:`best_pairs`.

        Parameters
        ----------
        n : int
            How many pairs.
        criterion : {"info", "uncertain"}
            The information that the answer gives about the weights, or how uncertain the answer is.
        exclude : array-like of shape (n_pairs, 2)
            Pairs that must not be found.
        rows : array-like, optional
            Look only at pairs of these rows, for large n: time grows with the square of their number.
        cycles : bool
            Whether pairs that answers tie already, at whatever distance, may be found. They are scored as if
            their clusters were independent given the weights, which they are not.
        """
        r = self.membership_samples()
        groups = None if cycles else self._posterior.groups()
        exclude = checked_rows(exclude, r.shape[1], width=2, what="exclude")
        if rows is None:
            return best_pairs(r, n, criterion=criterion, epsilon=self.epsilon, exclude=exclude, groups=groups)
        rows = np.unique(checked_rows(rows, r.shape[1]))
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
        """Score triplets of rows of the fit by how much their answers would tell; see :func:`score_triplets`.

        Rows that answers tie are scored as if their clusters were independent given the weights.
        """
        r = self.membership_samples()
        rows = checked_rows(triplets, r.shape[1], width=3, what="triplets")
        return score_triplets(r, rows, criterion=criterion, epsilon=self.epsilon)

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """Return the information (in nats) that the rows hold about their clusters; higher is better."""
        value, _ = Prior(1.0, 1.0, 1.0).gradient(np.log(np.maximum(self.predict_proba(X), 1e-300)))
        return value
