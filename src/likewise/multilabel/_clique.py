"""CliqueLabelGraph: multi-label classification with a graph of labels that grows clique by clique."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule, choice, either, integer, real, warn_caller
from likewise.multilabel._base import MultilabelClassifier
from likewise.multilabel._clique_generation import CliqueFit, SoftMargin, extend_graph, generate_cliques
from likewise.multilabel._clique_hinge import CliqueGraph, HingeLoss
from likewise.multilabel._clique_model import LabelGraph
from likewise.multilabel._label_matrix import LabelColumns

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

Prediction = Literal["marginals", "map"]
Loss = Literal["softmax", "hinge"]

_GAP, _WARN_GAP = 0.002, 0.01  # duality gaps of the hinge, relative to the objective


class CliqueLabelGraph(MultilabelClassifier):
    """Multi-label classification with a learned graph of labels that grows clique by clique.

    A row x with labels y has the score

    .. math::

        F(x, y) = \\sum_k y_k (w_k^T x + b_k) + \\sum_{(j, k) \\in G} v_{jk} y_j y_k.

    The true labels should have a higher score than all others, by a margin proportional to the number Δ of
    labels that differ. The loss is a soft maximum over all labellings:

    .. math::

        \\sum_i \\Bigl[ \\log \\sum_y e^{F(x_i, y) + m \\Delta(y, y_i)} - F(x_i, y_i) \\Bigr]
        + \\frac{1}{2C} \\bigl( \\lVert w \\rVert^2 + \\lVert v \\rVert^2 \\bigr).

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
        \\qquad \\eta \\ge 0, \\; \\tfrac{1}{|c|} \\sum_c \\eta_c = 1 ,

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
    edges cost O(n e) per step. Recorded labels are taken as complete; missing labels are not modelled. A
    label that all rows or no rows have gets no edges and the probability (n₁ + ½) / (n + 1).

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
        "C": real(0, strict=True),
        "loss": choice("softmax", "hinge"),
        "margin": real(0),
        "clique_size": integer(2),
        "max_group": Rule("an integer from 2 to 12", lambda v: integer(2).holds(v) and bool(v <= 12)),
        "min_gain": either(choice(None), real(0)),
        "prediction": choice("marginals", "map"),
        "max_rounds": integer(0),
        "max_iter": integer(1),
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
        own: np.ndarray = X @ self.coef_.T + self.intercept_
        return own

    def _compute_odds(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label, corrected for the margin.

        For a label without edges that a fraction q of equal rows has, the loss is smallest where
        q σ(m - f) = (1 - q) σ(m + f); this is solved for the log-odds of q.
        """
        if isinstance(self._graph, CliqueGraph):
            margins = self._graph.compute_margins(self._compute_own_odds(X), self._weights)
            margins[:, self._varies] = self._platt[0] * margins[:, self._varies] + self._platt[1]
            return margins
        held = self._graph.expect(self._compute_own_odds(X), self._weights).held
        score = logit(np.clip(held, 1e-300, 1.0 - 1e-16))
        odds: np.ndarray = np.logaddexp(0.0, score - self.margin) - np.logaddexp(0.0, -score - self.margin)
        return odds

    def _compute_probabilities(self, X: Any) -> np.ndarray:
        shares: np.ndarray = expit(self._compute_odds(X))
        return shares

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_odds : ndarray of shape (n_samples, n_labels)
            The logarithm of p / (1 - p), where p are the probabilities of `predict_proba`.
        """
        check_is_fitted(self, "classes_")
        return self._compute_odds(self._check_X(X, reset=False))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Y : ndarray of int, shape (n_samples, n_labels)
            1 where a label is predicted and 0 elsewhere.
        """
        if self.prediction == "marginals":
            return super().predict(X)
        check_is_fitted(self, "classes_")
        best: np.ndarray = self._graph.find_best(
            self._compute_own_odds(self._check_X(X, reset=False)), self._weights
        )
        return best


def fit_log_odds(margins: np.ndarray, held: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept that map margins to log-odds (Platt 1999), for all labels together."""
    if not len(margins):
        return 1.0, 0.0
    fitted = LogisticRegression().fit(margins[:, None], held)
    return max(float(fitted.coef_[0, 0]), 0.0), float(fitted.intercept_[0])
