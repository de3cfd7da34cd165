"""CliqueLabelGraph: multi-label classification with a graph of labels that grows clique by clique."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from likewise.base import Rule, warn_caller, warn_if_long
from likewise.multilabel._base import LabelColumns, MultilabelClassifier
from likewise.multilabel._clique_model import CliqueGraph, LabelGraph

Prediction = Literal["marginals", "map"]
Loss = Literal["softmax", "hinge"]

_GAP, _WARN_GAP = 0.002, 0.01  # duality gaps of the hinge, relative to the objective
_MOST_PLANES = 150


class CliqueLabelGraph(MultilabelClassifier):
    """Multi-label classification with a learned graph of labels that grows clique by clique.

    A row x with labels y has the score

    .. math::

        F(x, y) = \\sum_k y_k (w_k^T x + b_k) + \\sum_{(j, k) \\in G} v_{jk} y_j y_k. \\tag{1}

    The true labels should have a higher score than all others, by a margin proportional to the number Δ of
    labels that differ. The loss is a soft maximum over all labellings:

    .. math::

        \\sum_i \\Bigl[ \\log \\sum_y e^{F(x_i, y) + m \\Delta(y, y_i)} - F(x_i, y_i) \\Bigr]
        + \\frac{1}{2C} \\bigl( \\lVert w \\rVert^2 + \\lVert v \\rVert^2 \\bigr). \\tag{2}

    The graph G is learned too. It starts without edges. Each round adds the cliques of labels whose edges
    would lower the loss most, estimated from its slope and curvature at v = 0, and refits all parameters,
    until no edge would gain enough. Labels connected by edges form a group; groups are kept so small that
    sums over labellings are exact.

    With ``loss="hinge"`` the model is a structured support vector machine, in the manner of Tan et al.
    (2015): only the labelling with the highest score counts, and each clique c of pairs has a weight
    :math:`\\eta_c` that is learned too,

    .. math::

        \\min_{w, b, v, \\eta} \\sum_i \\max_y \\bigl[ F(x_i, y) + m \\Delta(y, y_i) - F(x_i, y_i) \\bigr]
        + \\frac{1}{2C} \\Bigl( \\lVert (w, b) \\rVert^2 + \\sum_c \\lVert v_c \\rVert^2 / \\eta_c \\Bigr),
        \\qquad \\eta \\ge 0, \\; \\tfrac{1}{|c|} \\sum_c \\eta_c = 1 , \\tag{3}

    where the weight of an edge is the sum over its cliques. Cliques that help little get a weight near 0.
    Groups may have any size: with up to `max_group` labels the best labelling is exact; for larger groups it
    comes from a linear-programming relaxation over the edges, rounded and improved label by label. The
    problem is solved by cutting planes.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, as in scikit-learn's ``LogisticRegression``.
    loss : {"softmax", "hinge"}, default="softmax"
        Whether all labellings count, as in the first formula, or only the one with the highest score.
    margin : float, default=1.0
        The margin m per differing label; must be above 0 with the hinge loss. With 0 the softmax loss is the
        negative log-likelihood of a conditional random field, and without edges that of one logistic
        regression per label. A margin exaggerates scores; probabilities are corrected for this exactly for
        labels without edges, and approximately for others.
    clique_size : int, default=4
        Maximum number of labels in a clique.
    max_group : int from 2 to 12, default=6
        Maximum number of labels in a group; the cost is exponential in it. With the hinge loss, the maximum
        size of groups whose best labelling is exact.
    min_gain : float or None, default=None
        Minimum decrease of the loss, in nats, for an edge to be added. With the hinge loss, the minimum
        decrease of the objective per new edge in a round; otherwise the round is undone and the search ends.
        None uses half the logarithm of the number of rows, as in the Bayesian information criterion.
    prediction : {"marginals", "map"}, default="marginals"
        Whether ``predict`` returns the labels whose probability is above the threshold, or the labelling with
        the highest score, which ignores the threshold.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted if its probability is above this.
    max_rounds : int, default=20
        Maximum number of rounds that add cliques. With 0 there is no graph.
    max_iter : int, default=500
        Maximum number of L-BFGS iterations, or of cutting planes, in the last fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    cliques_ : list of tuples of str
        The cliques in the order in which they were added.
    pair_weights_ : ndarray of shape (n_labels, n_labels)
        v: positive for labels that occur together more often than the row explains, negative for labels that
        exclude each other, 0 without an edge.
    clique_weights_ : ndarray of shape (n_cliques,)
        The weights of the cliques, with mean 1; all 1 unless the loss is the hinge.
    coef_ : ndarray of shape (n_labels, n_features)
        The coefficients w.
    intercept_ : ndarray of shape (n_labels,)
        The intercepts b.
    n_rounds_ : int
        Number of rounds that added cliques.
    n_iter_ : int
        Number of iterations of the last fit.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    In the manner of M. Tan, Q. Shi, A. van den Hengel, C. Shen, J. Gao, F. Hu and Z. Zhang, Learning graph
    structure for multi-label image classification via clique generation, CVPR 2015, written without access to
    the paper. From its abstract: the graph and the classifier are learned jointly under a margin, as a convex
    program, and cliques are activated iteratively. Choices made here: the features of a clique are the pairs
    of its labels, edges do not depend on the row, and the stopping rule is `min_gain`. The default replaces
    the hinge by a smooth upper bound (the softmax margin of Gimpel & Smith 2010), which gives probabilities.
    With the hinge loss ``predict_proba`` is a logistic function of the margin of each label, with two
    parameters fitted on the training rows, and only a rough guide.

    A step costs O(n K d + n 2^g K / g) for groups of g labels, and a round O(n K²). Relaxed groups with e
    edges cost O(n e) per step. With 10^5 rows of 16 columns and 8 labels a fit takes 1.5 s, six times as long
    as a logistic regression for each label, since all labels of a group are fitted together.

    Recorded labels are taken as complete; missing labels are not modelled. A label that all rows or no rows
    have gets no edges and the probability (n₁ + ½) / (n + 1).

    Examples
    --------
    The row shows that exactly one of two labels is present, but not which.

    >>> import numpy as np
    >>> from likewise.multilabel import CliqueLabelGraph
    >>> there, which = np.arange(80) % 2, np.arange(80) // 2 % 2
    >>> Y = np.column_stack([there * which, there * (1 - which)])
    >>> model = CliqueLabelGraph().fit(there[:, None], Y)
    >>> model.cliques_, bool(model.pair_weights_[0, 1] < -1)
    ([('0', '1')], True)
    """

    coef_: np.ndarray
    intercept_: Any
    cliques_: list[tuple[int, ...]]
    clique_weights_: np.ndarray
    n_iter_: int
    pair_weights_: np.ndarray
    n_rounds_: int

    _graph: LabelGraph | CliqueGraph
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "C": Rule.real(0, strict=True),
        "loss": Rule.choice("softmax", "hinge"),
        "margin": Rule.real(0),
        "clique_size": Rule.integer(2),
        "max_group": Rule("an integer from 2 to 12", lambda v: Rule.integer(2).holds(v) and bool(v <= 12)),
        "min_gain": Rule.either(Rule.choice(None), Rule.real(0)),
        "prediction": Rule.choice("marginals", "map"),
        "max_rounds": Rule.integer(0),
        "max_iter": Rule.integer(1),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Loss = "softmax",
        margin: float = 1.0,
        clique_size: int = 4,
        max_group: int = 6,
        min_gain: float | None = None,
        prediction: Prediction = "marginals",
        threshold: Any = 0.5,
        max_rounds: int = 20,
        max_iter: int = 500,
    ) -> None:
        self.C = C
        self.loss = loss
        self.margin = margin
        self.clique_size = clique_size
        self.max_group = max_group
        self.min_gain = min_gain
        self.prediction = prediction
        self.threshold = threshold
        self.max_rounds = max_rounds
        self.max_iter = max_iter

    def _fit(self, X: Any, labels: LabelColumns) -> None:
        n = len(labels.Y)
        varies = np.flatnonzero((labels.counts > 0) & (labels.counts < n))
        self.coef_ = np.zeros((labels.n_labels, X.shape[1]))
        self.intercept_ = logit((labels.counts + 0.5) / (n + 1.0))
        if self.loss == "hinge":
            self._fit_hinge(X, labels, varies)
        else:
            self._fit_softmax(X, labels, varies)
        self._pair_up()

    def _fit_softmax(self, X: Any, labels: LabelColumns, varies: np.ndarray) -> None:
        seconds = labels.n_labels * (len(labels.Y) * 1.6e-6 + X.size * 1.2e-8)  # measured with max_group=6
        warn_if_long(self, seconds, "Fit a sample of the rows, and predict the others.")
        start = np.column_stack([self.coef_, self.intercept_])[varies]
        loss = SoftMargin(X, labels.Y[:, varies].astype(np.float64), self.C, self.margin)
        graph, cliques, fitted = self._grow(loss, start)
        self.coef_[varies], self.intercept_[varies] = fitted.coef[:, :-1], fitted.coef[:, -1]
        self.cliques_ = [tuple(labels.names[varies[k]] for k in clique) for clique in cliques]
        self.clique_weights_ = np.ones(len(cliques))
        self.n_iter_ = max(1, fitted.n_iter)
        if fitted.n_iter >= self.max_iter:
            warn_caller(
                f"CliqueLabelGraph stopped after {fitted.n_iter} iterations before its loss settled. Scale "
                "the columns of X, for instance with StandardScaler, or raise max_iter.",
                ConvergenceWarning,
            )
        self._graph, self._weights = LabelGraph(labels.n_labels, varies[graph.edges]), fitted.weights

    def _pair_up(self) -> None:
        """Store the weights of the edges as a matrix."""
        n_labels = len(self.classes_)
        if isinstance(self._graph, CliqueGraph):
            edges, weights = self._graph.graph.edges, self._graph.compute_edge_weights(self._weights)
        else:
            edges, weights = self._graph.edges, self._weights
        self.pair_weights_ = np.zeros((n_labels, n_labels))
        j, k = edges.T
        self.pair_weights_[j, k] = self.pair_weights_[k, j] = weights

    def _fit_hinge(self, X: Any, labels: LabelColumns, varies: np.ndarray) -> None:
        if self.margin == 0:
            raise ValueError(
                "CliqueLabelGraph: loss='hinge' needs a margin above 0, got margin=0: without a margin all "
                "parameters at 0 have no loss. Give a margin, or use loss='softmax'."
            )
        Y = labels.Y[:, varies].astype(np.float64)
        loss = HingeLoss(X, Y, self.C, self.margin)
        least = np.log(len(Y)) / 2.0 if self.min_gain is None else self.min_gain
        graph = CliqueGraph(len(varies), (), self.max_group)
        self.n_rounds_ = 0
        fitted = loss.fit(graph, max_iter=self.max_iter, tol=_GAP)
        while self.n_rounds_ < self.max_rounds:
            news = generate_cliques(fitted.gains - least, graph.graph, self.clique_size, len(varies))
            if not news:
                break
            wider = CliqueGraph(len(varies), (*graph.cliques, *news), self.max_group)
            again = loss.fit(wider, fitted, max_iter=self.max_iter, tol=_GAP)
            n_new = len(wider.graph.edges) - len(graph.graph.edges)
            if fitted.objective - again.objective <= least * n_new:
                break
            graph, fitted = wider, again
            self.n_rounds_ += 1
        self.coef_[varies], self.intercept_[varies] = fitted.coef[:, :-1], fitted.coef[:, -1]
        cliques = tuple(tuple(varies[list(c)].tolist()) for c in graph.cliques)
        self._graph, self._weights = CliqueGraph(labels.n_labels, cliques, self.max_group), fitted.weights
        self.cliques_ = [tuple(labels.names[k] for k in clique) for clique in cliques]
        self.clique_weights_ = fitted.clique_weights
        self.n_iter_ = fitted.n_iter
        if fitted.gap > _WARN_GAP:
            warn_caller(
                f"CliqueLabelGraph stopped after {fitted.n_iter} cutting planes with a duality gap of "
                f"{fitted.gap:.1%} of the objective. Scale the columns of X, lower C, or raise max_iter.",
                ConvergenceWarning,
            )
        margins = self._graph.compute_margins(self._compute_own_odds(X), self._weights)[:, varies]
        self._varies, self._platt = varies, fit_log_odds(margins.ravel(), Y.ravel())

    def _grow(
        self, loss: SoftMargin, start: np.ndarray
    ) -> tuple[LabelGraph, list[tuple[int, ...]], CliqueFit]:
        """Grow the graph with a rough fit in each round, and fit it accurately at the end."""
        graph = LabelGraph(len(start), np.empty((0, 2), dtype=np.int64))
        least = np.log(len(loss.Y)) / 2.0 if self.min_gain is None else self.min_gain
        fitted = CliqueFit(start, np.zeros(0), 0)
        cliques: list[tuple[int, ...]] = []
        self.n_rounds_ = 0
        while self.n_rounds_ < self.max_rounds:
            fitted = loss.fit(graph, fitted, max_iter=min(100, self.max_iter), tol=1e-3)
            net = loss.compute_gains(graph, fitted) - least
            news = generate_cliques(net, graph, self.clique_size, self.max_group)
            if not news:
                break
            self.n_rounds_ += 1
            cliques += news
            graph, fitted = extend_graph(graph, fitted, news)
        return graph, cliques, loss.fit(graph, fitted, max_iter=self.max_iter, tol=1e-5)

    def _compute_own_odds(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _compute_odds(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label, corrected for the margin.

        For a label without edges that a fraction q of equal rows has, the loss is smallest where
        q σ(m - f) = (1 - q) σ(m + f); this is solved for the log-odds of q.
        """
        if isinstance(self._graph, CliqueGraph):
            margins = self._graph.compute_margins(self._compute_own_odds(X), self._weights)
            margins[:, self._varies] = self._platt[0] * margins[:, self._varies] + self._platt[1]
            return margins
        proba = self._graph.expect(self._compute_own_odds(X), self._weights).proba
        score = logit(np.clip(proba, 1e-300, 1.0 - 1e-16))
        return np.asarray(np.logaddexp(0.0, score - self.margin) - np.logaddexp(0.0, -score - self.margin))

    def _predict(self, X: Any) -> np.ndarray:
        if self.prediction == "marginals":
            return super()._predict(X)
        return self._graph.find_best(self._compute_own_odds(X), self._weights)


def fit_log_odds(margins: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept that map margins to log-odds (Platt 1999), for all labels together."""
    if not len(margins):
        return 1.0, 0.0
    fitted = LogisticRegression().fit(margins[:, None], labels)
    return max(float(fitted.coef_[0, 0]), 0.0), float(fitted.intercept_[0])


# ---------------------------------------------------------------------- the loss with a soft maximum


class CliqueFit(NamedTuple):
    """Fitted parameters of the labels (K, d + 1), with the intercepts last, and weights of the edges (e,)."""

    coef: np.ndarray
    weights: np.ndarray
    n_iter: int


class SoftMargin:
    """The objective with ``loss="softmax"`` (eq. 2), on rows X (n, d) and labels Y (n, K)."""

    def __init__(self, X: Any, Y: np.ndarray, C: float, margin: float) -> None:
        self.X, self.Y, self.C, self.margin = X, Y, C, margin
        self.together = Y.T @ Y

    def _compute_odds(self, coef: np.ndarray) -> np.ndarray:
        """Return log-odds with the margin subtracted from the score of the true value of each label."""
        return np.asarray(self.X @ coef[:, :-1].T + coef[:, -1] + self.margin * (1.0 - 2.0 * self.Y))

    def compute_value(
        self, graph: LabelGraph, coef: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss and its gradients with respect to the parameters of the labels and the edges."""
        odds = self._compute_odds(coef)
        expected = graph.expect(odds, weights)
        met = self.together[graph.edges[:, 0], graph.edges[:, 1]]
        # Δ is the number of true labels plus Σ y (1 - 2 yᵢ); Y * odds contains the first part and the margin.
        loss = expected.log_total - float((self.Y * odds).sum()) - float(weights @ met)
        loss += (float((coef[:, :-1] ** 2).sum()) + float(weights @ weights)) / (2.0 * self.C)
        off = expected.proba - self.Y
        slope = np.column_stack([(self.X.T @ off).T, off.sum(axis=0)])
        slope[:, :-1] += coef[:, :-1] / self.C
        return loss, slope, expected.joined - met + weights / self.C

    def fit(self, graph: LabelGraph, start: CliqueFit, *, max_iter: int, tol: float) -> CliqueFit:
        """Minimise the loss, starting from `start`."""
        shape, cut = start.coef.shape, start.coef.size
        if not cut:
            return start

        def compute_loss(at: np.ndarray) -> tuple[float, np.ndarray]:
            loss, slope, pull = self.compute_value(graph, at[:cut].reshape(shape), at[cut:])
            return loss / len(self.Y), np.append(slope.ravel(), pull) / len(self.Y)

        result = minimize(
            compute_loss,
            np.append(start.coef.ravel(), start.weights),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "gtol": tol, "ftol": 0.0, "maxcor": 20},
        )
        return CliqueFit(result.x[:cut].reshape(shape), result.x[cut:], int(result.nit))

    def compute_gains(self, graph: LabelGraph, fitted: CliqueFit) -> np.ndarray:
        """Return the decrease of the loss from an edge between any two labels, to second order.

        It is 0 for existing edges. The parameters of the labels are fixed, so the true decrease is larger.
        """
        sums, variances = graph.compute_pair_moments(self._compute_odds(fitted.coef), fitted.weights)
        gains: np.ndarray = (sums - self.together) ** 2 / (2.0 * (variances + 1.0 / self.C))
        j, k = graph.edges.T
        gains[j, k] = gains[k, j] = 0.0
        np.fill_diagonal(gains, 0.0)
        return gains


def generate_cliques(
    net: np.ndarray, graph: LabelGraph, clique_size: int, max_group: int
) -> list[tuple[int, ...]]:
    """Return the cliques with the largest gain, at most one for each connected component of the graph.

    `net` is the gain of each edge minus the minimum gain; existing edges count as 0. A clique starts with the
    best edge and adds the label whose edges to it gain most.
    """
    net = net.copy()
    j, k = graph.edges.T
    net[j, k] = net[k, j] = 0.0
    np.fill_diagonal(net, -np.inf)
    part = graph.part
    size = np.bincount(part)
    free = np.ones(len(net), dtype=bool)
    cliques = []
    first, second = np.triu_indices(len(net), 1)
    order = np.argsort(-net[first, second], kind="stable")
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if net[a, b] <= 0.0:
            break
        clique = [a, b]
        if not (free[a] and free[b]) or size[np.unique(part[clique])].sum() > max_group:
            continue
        while len(clique) < clique_size:
            joined = np.unique(part[clique])
            room = max_group - int(size[joined].sum())
            fits = free & (np.isin(part, joined) | (size[part] <= room))
            worth = np.where(fits, net[clique].sum(axis=0), -np.inf)
            if worth.max() <= 0.0:
                break
            clique.append(int(worth.argmax()))
        cliques.append(tuple(sorted(clique)))
        free &= ~np.isin(part, part[clique])
    return cliques


def extend_graph(
    graph: LabelGraph, fitted: CliqueFit, cliques: list[tuple[int, ...]]
) -> tuple[LabelGraph, CliqueFit]:
    """Return the graph with the edges of the cliques added; new edges have weight 0."""
    known = {pair: 0.0 for clique in cliques for pair in combinations(clique, 2)}
    known |= zip(map(tuple, graph.edges.tolist()), fitted.weights.tolist(), strict=True)
    edges = sorted(known)
    weights = np.array([known[edge] for edge in edges])
    return LabelGraph(graph.n_labels, np.array(edges)), CliqueFit(fitted.coef, weights, fitted.n_iter)


# ---------------------------------------------------------------------- the loss with the highest score


class HingeFit(NamedTuple):
    """Fitted parameters of the labels (K, d + 1), intercepts last, and weights of pairs and cliques."""

    coef: np.ndarray
    weights: np.ndarray
    clique_weights: np.ndarray
    objective: float
    gap: float
    n_iter: int
    gains: np.ndarray  # (K, K): approximate decrease of the objective from a weight for a pair of labels


class CuttingPlane(NamedTuple):
    """A lower bound b - aᵀθ of the sum of hinges."""

    a: np.ndarray
    b: float
    both: np.ndarray  # [j, k]: the number of rows with both labels in Y minus that in the rival labellings
    differ: np.ndarray  # [j, k]: the number of rows in which this co-occurrence differs


class HingeLoss:
    """The objective with ``loss="hinge"`` (eq. 3), on rows X (n, d) and labels Y (n, K)."""

    def __init__(self, X: Any, Y: np.ndarray, C: float, margin: float) -> None:
        self.X, self.Y, self.C, self.margin = X, Y, C, margin

    def find_rivals(self, graph: CliqueGraph, coef: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return loss-augmented labellings: they maximise the score plus the margin for each wrong label."""
        odds = self.X @ coef[:, :-1].T + coef[:, -1] + self.margin * (1.0 - 2.0 * self.Y)
        return graph.find_best(odds, weights)

    def make_plane(self, graph: CliqueGraph, rivals: np.ndarray) -> CuttingPlane:
        """Return the bound of the sum of hinges that follows from these rival labellings."""
        off = self.Y - rivals
        own = np.column_stack([np.asarray(self.X.T @ off).T, off.sum(axis=0)])
        true, rival, shared = (labels.T @ labels for labels in (self.Y, rivals, self.Y * rivals))
        both = true - rival
        j, k = graph.pairs.T
        a = np.append(own.ravel(), both[j, k])
        return CuttingPlane(a, self.margin * float(np.abs(off).sum()), both, true + rival - 2.0 * shared)

    def fit(
        self, graph: CliqueGraph, start: HingeFit | None = None, *, max_iter: int, tol: float
    ) -> HingeFit:
        """Minimise the objective by cutting planes; return the parameters and the weights of the cliques.

        Each step adds the bound of the current rivals, solves the dual over all bounds, and sets the optimal
        weight of each clique given the norm of its pairs.
        """
        n_own = self.Y.shape[1] * (self.X.shape[1] + 1)
        n_cliques = len(graph.cliques)
        shape = (self.Y.shape[1], self.X.shape[1] + 1)
        clique_weights = np.ones(n_cliques)
        theta = np.zeros(n_own + len(graph.edge_of))
        if start is not None:
            theta[:n_own] = start.coef.ravel()
            theta[n_own : n_own + len(start.weights)] = start.weights
        planes: list[CuttingPlane] = []
        alpha = np.empty(0)
        best: tuple[float, np.ndarray, np.ndarray] | None = None
        gap, n_iter = np.inf, 0
        while n_iter < max_iter:
            n_iter += 1
            rivals = self.find_rivals(graph, theta[:n_own].reshape(shape), theta[n_own:])
            plane = self.make_plane(graph, rivals)
            norms = graph.compute_clique_norms(theta[n_own:])
            # The minimum over clique weights η with mean 1 of Σ |v_c|² / η_c.
            penalty = float(norms.sum() ** 2 / n_cliques) if n_cliques else 0.0
            value = (float(theta[:n_own] @ theta[:n_own]) + penalty) / (2.0 * self.C)
            value += max(plane.b - float(plane.a @ theta), 0.0)
            if best is None or value < best[0]:
                best = (value, theta, clique_weights)
            if len(planes) >= _MOST_PLANES:  # drop planes with the smallest multipliers
                planes = [planes[t] for t in np.argsort(-alpha, kind="stable")[: _MOST_PLANES // 2]]
            planes.append(plane)
            A, b = np.stack([each.a for each in planes]), np.array([each.b for each in planes])
            scale = np.append(np.full(n_own, self.C), self.C * clique_weights[graph.clique_of])
            alpha = solve_planes(A, b, scale)
            gap = best[0] - self._compute_dual(graph, alpha @ A, float(alpha @ b), n_own)
            if gap <= tol * best[0]:
                break
            theta = scale * (alpha @ A)
            norms = graph.compute_clique_norms(theta[n_own:])
            if norms.sum() > 0:
                # A weight of exactly 0 would stay 0.
                clique_weights = n_cliques * (norms + 0.01 * norms.mean()) / (1.01 * norms.sum())
        assert best is not None
        value, theta, clique_weights = best
        shares = list(zip(alpha.tolist(), planes, strict=True))
        slopes = np.asarray(sum(share * plane.both for share, plane in shares), dtype=np.float64)
        differ = np.asarray(sum(share * plane.differ for share, plane in shares), dtype=np.float64)
        return HingeFit(
            theta[:n_own].reshape(shape),
            theta[n_own:],
            clique_weights,
            value,
            max(gap, 0.0) / max(value, 1e-12),
            n_iter,
            slopes**2 / (2.0 * (differ + 1.0 / self.C)),
        )

    def _compute_dual(self, graph: CliqueGraph, normal: np.ndarray, offset: float, n_own: int) -> float:
        """Return the lower bound from a mixture of planes; it holds for all weights of the cliques."""
        norms = graph.compute_clique_norms(normal[n_own:])
        largest = len(norms) * float(norms.max(initial=0.0)) ** 2
        return offset - self.C * (float(normal[:n_own] @ normal[:n_own]) + largest) / 2.0


def solve_planes(A: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Minimise Σ θ² / (2 scale) + max(0, max_t b_t - a_tᵀθ) and return the multipliers of the bounds.

    The dual is bᵀα - |Σ α_t a_t|²_scale / 2 over α ≥ 0 with a sum of at most 1. After a Cholesky
    factorisation it is a non-negative least-squares problem, with a row of large weight for the sum.
    """
    n = len(b)
    gram = np.zeros((n + 1, n + 1))  # the last entry is the bound 0, so the multipliers sum to 1
    gram[:n, :n] = (A * scale) @ A.T
    gram[np.diag_indices(n + 1)] += 1e-9 * max(float(np.trace(gram)) / (n + 1), 1e-12)
    root = np.linalg.cholesky(gram)
    right = np.linalg.solve(root, np.append(b, 0.0))
    heavy = 1e3 * max(float(np.abs(root).max()), float(np.abs(right).max()), 1.0)
    left = np.vstack([root.T, np.full(n + 1, heavy)])
    alpha = nnls(left, np.append(right, heavy), maxiter=30 * (n + 10))[0]
    return np.asarray(alpha[:n] / max(float(alpha.sum()), 1e-300))
