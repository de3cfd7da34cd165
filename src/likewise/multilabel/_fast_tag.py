"""FastTag: labels enriched by what a linear map restores of them, and a linear map of the rows beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule, choice, either, integer, real
from likewise.multilabel._base import MultilabelClassifier
from likewise.multilabel._enrichment import Seen, enriching
from likewise.multilabel._labels import LabelColumns, check_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike

CORRUPTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
MOST_LAYERS = 5
FEWEST = 10  # rows, below which nothing is held out

IS_CORRUPTION: Rule = either(
    choice("auto"),
    Rule("a number from 0 up to, not including, 1", lambda v: real(0).holds(v) and bool(v < 1)),
)


@dataclass(frozen=True)
class Setting:
    """What can be chosen on held-out rows."""

    corruption: float
    ridge: float
    n_layers: int


class FastTag(MultilabelClassifier):
    """Two linear maps that must agree: one restores labels from some of them, one reads them off the row.

    Recorded labels y are taken as incomplete. A map B restores them from copies ỹ in which each label was
    lost with the probability p, in the mean over all ways to lose labels; By are then the enriched labels. A
    map W with the intercept b predicts these from the row. Both minimise

    .. math::

        \\frac1n \\sum_i \\lVert B y_i - W x_i - b \\rVert^2 + \\lambda \\lVert W \\rVert^2
        + \\frac{\\gamma}{n} \\sum_i E \\lVert y_i - B \\tilde y_i \\rVert^2,

    which is convex, with the expectation in closed form: with S = Σ y yᵀ it is the trace of
    S - 2 (1 - p) S Bᵀ + B Q Bᵀ, where Q = (1 - p)² S + p (1 - p) diag(S). Given B, W is a ridge regression;
    put in, what is left is quadratic in B and solved at once,

    .. math::

        B = \\gamma (1 - p) S \\, (\\gamma Q + \\bar S - M)^{-1},

    where S̄ is S of the centred labels and M the part of it that the ridge regression on X explains. The two
    closed forms in turn, as the method is told, come to the same. Further layers do the same to labels that
    the layers before enriched, so that labels which never go together, but both go with a third, can help
    each other (bootstrapping).

    Parameters
    ----------
    corruption : float or "auto", default="auto"
        The probability p with which a label is lost: from 0, below 1. "auto" tries 0.1, 0.3, … 0.9.
    ridge : float or "auto", default="auto"
        λ, in units of the mean variance of the columns of X, so that their scale does not matter. "auto"
        tries 0.001, 0.01, … 10.
    reconstruction : float, default=10.0
        γ, how much it counts that labels are restored. With little, labels that the row does not tell fade.
    n_layers : int or "auto", default="auto"
        How many times labels are enriched. "auto" goes on, up to 5, as long as it helps.
    validation_fraction : float, default=0.2
        The share of rows held out for what is "auto": those values are taken that give the best average
        precision of the recorded labels of these rows, over all rows and labels at once; then all rows are
        used. With fewer than 10 rows, or no label on those held out, the values in the middle are taken and
        one layer.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted where its probability is above.
    random_state : int, RandomState or None, default=None
        Draws the rows that are held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    enrichment_ : ndarray of shape (n_labels, n_labels)
        B, the product over the layers: row j says how much each recorded label adds to label j.
    coef_ : ndarray of shape (n_labels, n_features)
        W of the last layer.
    intercept_ : ndarray of shape (n_labels,)
        b of the last layer.
    corruption_, ridge_, n_layers_ : float, float, int
        The values that were used.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    After M. Chen, A. Zheng and K. Q. Weinberger, Fast image tagging, ICML 2013. The derivation here is our
    own, made without the paper at hand: the two losses, their weights and the bootstrapping follow its
    published idea; the intercept, the joint solution, the choice of values on held-out rows and the
    probabilities are ours. A probability is a logistic curve of Wx + b, one for each label, fitted to the
    enriched labels of the training rows, cut to 0 and 1, and to 1 where a label was recorded.

    Costs O(n d² + d³) for each ridge that is tried and O(K³) for each corruption; for more columns than rows
    O(n² d + n³). X with many columns is best reduced first.

    Examples
    --------
    Rows that hold the first label hold the second, but on half of them it was not recorded.

    >>> import numpy as np
    >>> from likewise.multilabel import FastTag
    >>> first = np.arange(40) % 2
    >>> Y = np.column_stack([first, first * (np.arange(40) // 2 % 2)])
    >>> model = FastTag(corruption=0.5, ridge=0.01).fit(first[:, None], Y)
    >>> model.enrich(Y[:4]).round(1)
    array([[0. , 0. ],
           [0.9, 0.3],
           [0. , 0. ],
           [1.4, 1.1]])
    """

    corruption_: float
    ridge_: float
    n_layers_: int
    enrichment_: Any
    coef_: Any
    intercept_: Any

    parameter_rules: ClassVar[dict[str, Rule]] = {
        "corruption": IS_CORRUPTION,
        "ridge": either(choice("auto"), real(0, strict=True)),
        "reconstruction": real(0, strict=True),
        "n_layers": either(choice("auto"), integer(1)),
        "validation_fraction": Rule("a number above 0 and below 1", lambda v: real(0).holds(v) and 0 < v < 1),
    }

    def __init__(
        self,
        corruption: float | Literal["auto"] = "auto",
        ridge: float | Literal["auto"] = "auto",
        *,
        reconstruction: float = 10.0,
        n_layers: int | Literal["auto"] = "auto",
        validation_fraction: float = 0.2,
        threshold: Any = 0.5,
        random_state: RandomStateLike = None,
    ) -> None:
        self.corruption = corruption
        self.ridge = ridge
        self.reconstruction = reconstruction
        self.n_layers = n_layers
        self.validation_fraction = validation_fraction
        self.threshold = threshold
        self.random_state = random_state

    def _fit(self, X: Any, labels: LabelColumns) -> None:
        Y = labels.Y.astype(np.float64)
        chosen = self._chosen(X, labels.Y)
        self.corruption_, self.ridge_, self.n_layers_ = chosen.corruption, chosen.ridge, chosen.n_layers
        seen = Seen.of(X, Y)
        *_, self.enrichment_ = enriching(
            seen, self.corruption_, self.ridge_, self.reconstruction, self.n_layers_
        )
        self.coef_ = self.enrichment_ @ (seen.axes @ seen.held_back(self.ridge_)).T
        self.intercept_ = self.enrichment_ @ seen.shares - self.coef_ @ seen.means
        self._curves = logistic_curves(self._scores(X), np.clip(Y @ self.enrichment_.T, Y, 1.0))

    def _chosen(self, X: Any, Y: np.ndarray) -> Setting:
        """Return the setting that orders the labels of held-out rows best, of those that may be taken."""
        corruptions = CORRUPTIONS if self.corruption == "auto" else (self.corruption,)
        ridges = RIDGES if self.ridge == "auto" else (self.ridge,)
        plain = Setting(
            corruptions[len(corruptions) // 2],
            ridges[len(ridges) // 2],
            1 if self.n_layers == "auto" else self.n_layers,
        )
        if len(corruptions) == len(ridges) == 1 and self.n_layers != "auto":
            return plain
        if len(Y) < FEWEST:
            return plain
        seeing, held = train_test_split(
            np.arange(len(Y)), test_size=self.validation_fraction, random_state=self.random_state
        )
        if not Y[held].any():
            return plain
        seen = Seen.of(X[seeing], Y[seeing].astype(np.float64))
        rows, wanted = seen.along(X[held]), Y[held].ravel()
        tried: list[tuple[float, Setting]] = []
        for ridge in ridges:
            plainly = rows @ seen.held_back(ridge) + seen.shares
            for corruption in corruptions:
                tried += self._layers_tried(seen, plainly, wanted, corruption, ridge)
        return max(tried, key=lambda one: one[0])[1]

    def _layers_tried(
        self, seen: Seen, plainly: np.ndarray, wanted: np.ndarray, corruption: float, ridge: float
    ) -> list[tuple[float, Setting]]:
        """Return how well the layers order the labels `wanted`, as long as each is better than the last.

        `plainly` is what the ridge regression says of the recorded labels.
        """

        def precision(B: np.ndarray) -> float:
            return float(average_precision_score(wanted, (plainly @ B.T).ravel()))

        if self.n_layers != "auto":
            *_, B = enriching(seen, corruption, ridge, self.reconstruction, self.n_layers)
            return [(precision(B), Setting(corruption, ridge, self.n_layers))]
        tried: list[tuple[float, Setting]] = []
        maps = enriching(seen, corruption, ridge, self.reconstruction, MOST_LAYERS)
        for layer, B in enumerate(maps, start=1):
            tried.append((precision(B), Setting(corruption, ridge, layer)))
            if layer > 1 and tried[-1][0] <= tried[-2][0]:
                break
        return tried

    def _scores(self, X: Any) -> np.ndarray:
        scores: np.ndarray = X @ self.coef_.T + self.intercept_
        return scores

    def enrich(self, Y: ArrayLike) -> np.ndarray:
        """Return labels enriched by those that go with them: By, of shape (n_samples, n_labels)."""
        check_is_fitted(self, "classes_")
        labels = check_labels(Y, who=type(self).__name__)
        self._check_columns(Y, labels)
        enriched: np.ndarray = labels.Y @ self.enrichment_.T
        return enriched

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log-odds of each label's probability, of shape (n_samples, n_labels)."""
        check_is_fitted(self, "classes_")
        slope, shift = self._curves
        odds: np.ndarray = self._scores(self._check_X(X, reset=False)) * slope + shift
        return odds

    def _probabilities(self, X: Any) -> np.ndarray:
        slope, shift = self._curves
        shares: np.ndarray = expit(self._scores(X) * slope + shift)
        return shares


def logistic_curves(scores: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and shift of a logistic curve for each column, that takes scores to shares from 0 to 1.

    Slopes are not negative. One row more, at the mean score and wanted by half, keeps curves finite.
    """
    n, n_labels = scores.shape
    middle, scale = scores.mean(axis=0), scores.std(axis=0)
    slopes, shifts = np.zeros(n_labels), logit((wanted.sum(axis=0) + 0.5) / (n + 1.0))
    sides = np.repeat([1, 0], n + 1)
    for k in np.flatnonzero(scale > 1e-12 * np.abs(scores).max(axis=0, initial=0.0)):
        column = np.append((scores[:, k] - middle[k]) / scale[k], 0.0)
        share = np.append(wanted[:, k], 0.5)
        curve = LogisticRegression(max_iter=1000).fit(
            np.tile(column, 2)[:, None], sides, sample_weight=np.append(share, 1.0 - share)
        )
        if curve.coef_[0, 0] > 0.0:
            slopes[k] = curve.coef_[0, 0] / scale[k]
            shifts[k] = curve.intercept_[0] - slopes[k] * middle[k]
    return slopes, shifts
