"""A graph of labels that grows clique by clique."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule, choice, either, integer, real, warn_caller
from likewise.multilabel._base import MultilabelClassifier
from likewise.multilabel._clique_generation import Fitted, SoftMargin, extended, generated
from likewise.multilabel._clique_hinge import CliqueGraph, HingeLoss
from likewise.multilabel._clique_model import LabelGraph
from likewise.multilabel._labels import LabelColumns

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

Prediction = Literal["marginals", "map"]
Loss = Literal["softmax", "hinge"]

_GAP, _WARN_GAP = 0.002, 0.01  # duality gaps of the hinge, relative to the objective


class CliqueLabelGraph(MultilabelClassifier):
    """Labels that lean on one another along a graph, which grows clique by clique.

    A row x with the labels y scores

    .. math::

        F(x, y) = \\sum_k y_k (w_k^T x + b_k) + \\sum_{(j, k) \\in G} v_{jk} y_j y_k.

    The true labels should score more than any others, by a margin that grows with the number of labels that
    differ, Δ. Rows that fall short pay, and all labellings that come too near count, not the nearest alone:

    .. math::

        \\sum_i \\Bigl[ \\log \\sum_y e^{F(x_i, y) + m \\Delta(y, y_i)} - F(x_i, y_i) \\Bigr]
        + \\frac{1}{2C} \\bigl( \\lVert w \\rVert^2 + \\lVert v \\rVert^2 \\bigr).

    The graph G is learned with the rest. It begins without edges; then, in rounds, cliques of labels are
    generated whose edges would lower this loss most, by the slope and the curvature of the loss at v = 0, and
    all is fitted anew, until no edge would gain enough. Labels that edges join, directly or not, form a
    group; groups stay so small that every sum over labellings is exact.

    With ``loss="hinge"`` it is a structured support vector machine, in the manner of Tan et al. (2015): the
    nearest rival alone counts, and each clique c of pairs has a weight :math:`\\eta_c` that is learned too,

    .. math::

        \\min_{w, b, v, \\eta} \\sum_i \\max_y \\bigl[ F(x_i, y) + m \\Delta(y, y_i) - F(x_i, y_i) \\bigr]
        + \\frac{1}{2C} \\Bigl( \\lVert (w, b) \\rVert^2 + \\sum_c \\lVert v_c \\rVert^2 / \\eta_c \\Bigr),
        \\qquad \\eta \\ge 0, \\; \\tfrac{1}{|c|} \\sum_c \\eta_c = 1 ,

    where the weight of an edge is the sum of those of its cliques. Cliques that help little get a weight near
    0. Groups may be of any size: up to `max_group` labels the rival is exact; beyond that it comes from the
    linear-programming relaxation over the edges, rounded and improved label by label. The program is solved
    by cutting planes.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, as in scikit-learn's ``LogisticRegression``.
    loss : {"softmax", "hinge"}, default="softmax"
        Whether all rivals count, as in the first formula, or the nearest alone.
    margin : float, default=1.0
        m, the margin for each label that differs; above 0 for the hinge. With 0 the loss is the likelihood of
        a conditional random field, and without edges that of logistic regressions, one a label. A margin
        drives scores apart; probabilities are drawn back by as much as a label without edges needs, and are
        exact with 0.
    clique_size : int, default=4
        The most labels of a clique.
    max_group : int from 2 to 12, default=6
        The most labels of a group; see the costs below. With the hinge, the most for which rivals are exact.
    min_gain : float or None, default=None
        How much, in nats, an edge has to lower the loss. With the hinge, how much a round of cliques has to
        lower the objective for each new edge; else it is undone, and is the last. None asks for half the
        logarithm of the number of rows, as the Bayesian information criterion does of a parameter.
    prediction : {"marginals", "map"}, default="marginals"
        Whether ``predict`` takes the labels whose probability is above the threshold, or the labels of the
        greatest score, for which the threshold means nothing.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted where its probability is above.
    max_rounds : int, default=20
        The most times that cliques are generated. With 0 there is no graph.
    max_iter : int, default=500
        The most iterations of L-BFGS, or the most cutting planes, for the last fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    cliques_ : list of tuples of str
        The cliques in the order in which they were generated.
    pair_weights_ : ndarray of shape (n_labels, n_labels)
        v: above 0 for labels that go together more than the row explains, below for such that exclude each
        other, 0 where there is no edge.
    clique_weights_ : ndarray of shape (n_cliques,)
        The weights of the cliques, with mean 1; all 1 unless the loss is the hinge.
    coef_ : ndarray of shape (n_labels, n_features)
        The coefficients w.
    intercept_ : ndarray of shape (n_labels,)
        The intercepts b.
    n_rounds_ : int
        How many times cliques were generated.
    n_iter_ : int
        The iterations of the last fit.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    In the manner of M. Tan, Q. Shi, A. van den Hengel, C. Shen, J. Gao, F. Hu and Z. Zhang, Learning graph
    structure for multi-label image classification via clique generation, CVPR 2015, made without the paper at
    hand. From its abstract: the graph and the classifier are learned together under a margin, as a convex
    program, and cliques are activated iteratively. Choices made here: the features of a clique are the pairs
    of its labels, edges do not depend on the row, and the stopping rule is `min_gain`. The default replaces
    the hinge by a smooth bound of it (the softmax margin of Gimpel & Smith 2010), which gives probabilities.
    With the hinge ``predict_proba`` is a logistic function of the margin of each label, with two numbers
    fitted on the training rows: a rough guide.

    A step costs O(n K d + n 2^g K / g) for groups of g labels and a round O(n K²). Relaxed groups of e edges
    cost O(n e) a step. Labels are taken as they
    were recorded: nothing is done for those that are missing. A label that every row holds, or none, is left
    alone, with the probability (n₁ + ½) / (n + 1).

    Examples
    --------
    The row tells that there is one of two labels, but not which.

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
        graph, cliques, fitted = self._grown(loss, start)
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
        """Keep the weights of the edges as a matrix."""
        n_labels = len(self.classes_)
        if isinstance(self._graph, CliqueGraph):
            edges, weights = self._graph.graph.edges, self._graph.edge_weights(self._weights)
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
            news = generated(fitted.gains - least, graph.graph, self.clique_size, len(varies))
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
        margins = self._graph.margins(self._own(X), self._weights)[:, varies]
        self._varies, self._platt = varies, fit_log_odds(margins.ravel(), Y.ravel())

    def _grown(self, loss: SoftMargin, start: np.ndarray) -> tuple[LabelGraph, list[tuple[int, ...]], Fitted]:
        """Grow the graph, with a loose fit in each round, and fit it well in the end."""
        graph = LabelGraph(len(start), np.empty((0, 2), dtype=np.int64))
        least = np.log(len(loss.Y)) / 2.0 if self.min_gain is None else self.min_gain
        fitted = Fitted(start, np.zeros(0), 0)
        cliques: list[tuple[int, ...]] = []
        self.n_rounds_ = 0
        while self.n_rounds_ < self.max_rounds:
            fitted = loss.fit(graph, fitted, max_iter=min(100, self.max_iter), tol=1e-3)
            net = loss.gains(graph, fitted) - least
            news = generated(net, graph, self.clique_size, self.max_group)
            if not news:
                break
            self.n_rounds_ += 1
            cliques += news
            graph, fitted = extended(graph, fitted, news)
        return graph, cliques, loss.fit(graph, fitted, max_iter=self.max_iter, tol=1e-5)

    def _own(self, X: Any) -> np.ndarray:
        own: np.ndarray = X @ self.coef_.T + self.intercept_
        return own

    def _odds(self, X: Any) -> np.ndarray:
        """Return the log-odds of each label, without what the margin adds to them.

        For a label of no group, held by a share q of like rows, the loss is least where
        q σ(m - f) = (1 - q) σ(m + f); solved for the log-odds of q.
        """
        if isinstance(self._graph, CliqueGraph):
            margins = self._graph.margins(self._own(X), self._weights)
            margins[:, self._varies] = self._platt[0] * margins[:, self._varies] + self._platt[1]
            return margins
        held = self._graph.expect(self._own(X), self._weights).held
        score = logit(np.clip(held, 1e-300, 1.0 - 1e-16))
        odds: np.ndarray = np.logaddexp(0.0, score - self.margin) - np.logaddexp(0.0, -score - self.margin)
        return odds

    def _probabilities(self, X: Any) -> np.ndarray:
        shares: np.ndarray = expit(self._odds(X))
        return shares

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label's probability, of shape (n_samples, n_labels)."""
        check_is_fitted(self, "classes_")
        return self._odds(self._check_X(X, reset=False))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return 1 where a label is predicted and 0 elsewhere, of shape (n_samples, n_labels)."""
        if self.prediction == "marginals":
            return super().predict(X)
        check_is_fitted(self, "classes_")
        best: np.ndarray = self._graph.best(self._own(self._check_X(X, reset=False)), self._weights)
        return best


def fit_log_odds(margins: np.ndarray, held: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept that make log-odds of margins (Platt 1999), for all labels together."""
    if not len(margins):
        return 1.0, 0.0
    fitted = LogisticRegression().fit(margins[:, None], held)
    return max(float(fitted.coef_[0, 0]), 0.0), float(fitted.intercept_[0])
