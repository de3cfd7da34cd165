"""FastTag: a linear map that completes labels, and a linear map that predicts the result from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from likewise.base import Rule
from likewise.multilabel._base import RATE, LabelColumns, MultilabelClassifier, check_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, RandomStateLike

CORRUPTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
MOST_LAYERS = 5
FEWEST = 10  # minimum number of rows to hold some out
MOST_HELD_OUT = 5_000  # maximum number of held-out rows on which settings are compared


class Setting(NamedTuple):
    """Parameters that can be chosen on held-out rows."""

    corruption: float
    ridge: float
    n_layers: int


class FastTag(MultilabelClassifier):
    """Two linear maps that must agree: one completes incomplete labels, the other predicts them from the row.

    Recorded labels y are assumed to be incomplete. A map B reconstructs them from corrupted copies ỹ in which
    each label is removed with probability p, in expectation over the corruption; By are the enriched labels.
    A map W with intercept b predicts them from the row. Both minimise

    .. math::

        \\frac1n \\sum_i \\lVert B y_i - W x_i - b \\rVert^2 + \\lambda \\lVert W \\rVert^2
        + \\frac{\\gamma}{n} \\sum_i E \\lVert y_i - B \\tilde y_i \\rVert^2, \\tag{1}

    which is convex, with the expectation in closed form: with S = Σ y yᵀ it is the trace of
    S - 2 (1 - p) S Bᵀ + B Q Bᵀ, where Q = (1 - p)² S + p (1 - p) diag(S). Given B, W is a ridge regression;
    substituting it leaves a quadratic problem in B with the solution

    .. math::

        B = \\gamma (1 - p) S \\, (\\gamma Q + \\bar S - M)^{-1}, \\tag{2}

    where S̄ is S of the centred labels and M is the part of it that the ridge regression on X explains. The
    alternating updates of the published method converge to the same solution. Further layers are applied to
    the enriched labels of the previous layer, so labels that never occur together, but both occur with a
    third, can support each other (bootstrapping).

    Parameters
    ----------
    corruption : float or "auto", default="auto"
        The probability p that a label is removed, from 0 to below 1. "auto" tries 0.1, 0.3, … 0.9.
    ridge : float or "auto", default="auto"
        λ, in units of the mean variance of the columns of X, so their scale does not matter. "auto" tries
        0.001, 0.01, … 10.
    reconstruction : float, default=10.0
        γ, the weight of the reconstruction loss. With small values, labels that the row does not predict
        shrink towards 0.
    n_layers : int or "auto", default="auto"
        Number of layers. "auto" adds layers, up to 5, while the validation score improves.
    validation_fraction : float, default=0.2
        Fraction of rows held out to choose the parameters that are "auto": those with the best average
        precision of the recorded labels, over all held-out rows and labels, are used to refit on all rows.
        At most 5,000 held-out rows are used. With fewer than 10 rows, or no label on the held-out rows, the
        middle values and one layer are used.
    threshold : float or array of shape (n_labels,), default=0.5
        A label is predicted if its probability is above this.
    random_state : int, RandomState or None, default=None
        Seed of the split into training and held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The names of the labels.
    enrichment_ : ndarray of shape (n_labels, n_labels)
        B, the product over the layers. Row j is the contribution of each recorded label to label j.
    coef_ : ndarray of shape (n_labels, n_features)
        W of the last layer.
    intercept_ : ndarray of shape (n_labels,)
        b of the last layer.
    corruption_, ridge_, n_layers_ : float, float, int
        The values of these parameters that were used.
    n_features_in_ : int
        The number of columns of X.

    Notes
    -----
    After M. Chen, A. Zheng and K. Q. Weinberger, Fast image tagging, ICML 2013. The derivation here was made
    without access to the paper: the two losses, their weights and the bootstrapping follow the published
    idea; the intercept, the joint solution, the choice of parameters on held-out rows and the probabilities
    are ours. A probability is a logistic function of Wx + b, one for each label, fitted to the enriched
    labels of the training rows, clipped to [0, 1] and set to 1 where a label was recorded.

    The cost is O(n d² + d³) for each ridge that is tried and O(K³) for each corruption; with more columns
    than rows O(n² d + n³). Reduce the columns first if there are many.

    Examples
    --------
    Rows with the first label also have the second, but it was recorded on only half of them.

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
        "corruption": Rule.either(Rule.choice("auto"), RATE),
        "ridge": Rule.either(Rule.choice("auto"), Rule.real(0, strict=True)),
        "reconstruction": Rule.real(0, strict=True),
        "n_layers": Rule.either(Rule.choice("auto"), Rule.integer(1)),
        "validation_fraction": Rule(
            "a number above 0 and below 1", lambda v: Rule.real(0).holds(v) and 0 < v < 1
        ),
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
        self.corruption_, self.ridge_, self.n_layers_ = self._choose_setting(X, labels.Y)
        seen = RidgeAxes.from_data(X, Y)
        *_, self.enrichment_ = iterate_layers(
            seen, self.corruption_, self.ridge_, self.reconstruction, self.n_layers_
        )
        self.coef_ = self.enrichment_ @ (seen.axes @ seen.regress(self.ridge_)).T
        self.intercept_ = self.enrichment_ @ seen.shares - self.coef_ @ seen.means
        self._curves = fit_logistic_curves(self._compute_scores(X), np.clip(Y @ self.enrichment_.T, Y, 1.0))

    def _choose_setting(self, X: Any, Y: np.ndarray) -> Setting:
        """Return the allowed setting that ranks the labels of held-out rows best."""
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
        seeing, left_out = train_test_split(
            np.arange(len(Y)), test_size=self.validation_fraction, random_state=self.random_state
        )
        left_out = left_out[:MOST_HELD_OUT]  # in random order
        if not Y[left_out].any():
            return plain
        seen = RidgeAxes.from_data(X[seeing], Y[seeing].astype(np.float64))
        rows, wanted = seen.project(X[left_out]), Y[left_out].ravel()
        tried: list[tuple[float, Setting]] = []
        for ridge in ridges:
            plainly = rows @ seen.regress(ridge) + seen.shares
            for corruption in corruptions:
                tried += self._try_layers(seen, plainly, wanted, corruption, ridge)
        return max(tried, key=lambda one: one[0])[1]

    def _try_layers(
        self, seen: RidgeAxes, plainly: np.ndarray, wanted: np.ndarray, corruption: float, ridge: float
    ) -> list[tuple[float, Setting]]:
        """Return the average precision after each layer, up to the first layer that does not improve it.

        `wanted` are the labels of the held-out rows, `plainly` the predictions of the ridge regression.
        """

        def compute_precision(B: np.ndarray) -> float:
            return float(average_precision_score(wanted, (plainly @ B.T).ravel()))

        if self.n_layers != "auto":
            *_, B = iterate_layers(seen, corruption, ridge, self.reconstruction, self.n_layers)
            return [(compute_precision(B), Setting(corruption, ridge, self.n_layers))]
        tried: list[tuple[float, Setting]] = []
        maps = iterate_layers(seen, corruption, ridge, self.reconstruction, MOST_LAYERS)
        for layer, B in enumerate(maps, start=1):
            tried.append((compute_precision(B), Setting(corruption, ridge, layer)))
            if layer > 1 and tried[-1][0] <= tried[-2][0]:
                break
        return tried

    def _compute_scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def enrich(self, Y: ArrayLike) -> np.ndarray:
        """Return the enriched labels By.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Recorded labels, with the same columns as in `fit`.

        Returns
        -------
        enriched : ndarray of shape (n_samples, n_labels)
            The enriched labels. They are not probabilities and may be outside [0, 1].
        """
        check_is_fitted(self, "classes_")
        labels = check_labels(Y, who=type(self).__name__)
        self._check_columns(Y, labels)
        return np.asarray(labels.Y @ self.enrichment_.T)

    def _compute_odds(self, X: Any) -> np.ndarray:
        slope, shift = self._curves
        return self._compute_scores(X) * slope + shift


def fit_logistic_curves(scores: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and shift of a logistic function for each column that maps scores to values from 0 to 1.

    Slopes are not negative. An additional row with the mean score and the target 0.5 keeps them finite.
    """
    n, n_labels = scores.shape
    mean, scale = scores.mean(axis=0), scores.std(axis=0)
    slopes, shifts = np.zeros(n_labels), logit((wanted.sum(axis=0) + 0.5) / (n + 1.0))
    sides = np.repeat([1, 0], n + 1)
    for k in np.flatnonzero(scale > 1e-12 * np.abs(scores).max(axis=0, initial=0.0)):
        column = np.append((scores[:, k] - mean[k]) / scale[k], 0.0)
        share = np.append(wanted[:, k], 0.5)
        curve = LogisticRegression(max_iter=1000).fit(
            np.tile(column, 2)[:, None], sides, sample_weight=np.append(share, 1.0 - share)
        )
        if curve.coef_[0, 0] > 0.0:
            slopes[k] = curve.coef_[0, 0] / scale[k]
            shifts[k] = curve.intercept_[0] - slopes[k] * mean[k]
    return slopes, shifts


@dataclass(frozen=True, eq=False)
class RidgeAxes:
    """Rows X and labels Y in the eigenvectors of the scatter of X, where a ridge regression is a division."""

    n: int  # number of rows
    means: np.ndarray  # (n_features,), the means of the columns of X
    shares: np.ndarray  # (n_labels,), the means of the labels
    axes: np.ndarray  # (n_features, r), the eigenvectors V of the scatter of the centred rows
    spread: np.ndarray  # (r,), the eigenvalues: sums of squares along the axes
    crossed: np.ndarray  # (r, n_labels), VᵀXᵀY of the centred rows
    scatter: np.ndarray  # (n_labels, n_labels), YᵀY of the labels, not centred
    unit: float  # the mean variance of the columns, or 1 if all columns are constant

    @classmethod
    def from_data(cls, X: Any, Y: np.ndarray) -> RidgeAxes:
        """Compute the axes from the scatter of the columns or of the rows, whichever is smaller."""
        n, d = X.shape
        means, shares = np.asarray(X.mean(axis=0)).reshape(-1), Y.mean(axis=0)
        if d <= n:
            spread, axes = linalg.eigh(_decompose_columns(X, means))
            keep = spread > max(spread[-1], 0.0) * d * np.finfo(float).eps
            spread, axes = spread[keep], axes[:, keep]
        else:
            spread, sides = linalg.eigh(_decompose_rows(X, means))
            keep = spread > max(spread[-1], 0.0) * n * np.finfo(float).eps
            spread, sides = spread[keep], sides[:, keep]
            axes = (X.T @ sides - np.outer(means, sides.sum(axis=0))) / np.sqrt(spread)
        crossed = axes.T @ (X.T @ Y - n * np.outer(means, shares))
        unit = float(spread.sum()) / (n * d)
        return cls(n, means, shares, axes, spread, crossed, Y.T @ Y, unit or 1.0)

    def project(self, X: Any) -> np.ndarray:
        """Return the coordinates of centred rows along the axes."""
        return np.asarray(X @ self.axes - self.means @ self.axes)

    def regress(self, ridge: float) -> np.ndarray:
        """Return VᵀWᵀ, of shape (r, n_labels), for the ridge regression W of the labels on the rows."""
        return self.crossed / (self.spread + self.n * ridge * self.unit)[:, None]


def compute_restoring_terms(scatter: np.ndarray, corruption: float) -> tuple[np.ndarray, np.ndarray]:
    """Return P and Q of the expected reconstruction loss tr(S - 2 P Bᵀ + B Q Bᵀ) in eq. 1."""
    kept = 1.0 - corruption
    return kept * scatter, kept**2 * scatter + kept * corruption * np.diag(np.diag(scatter))


def iterate_layers(
    seen: RidgeAxes, corruption: float, ridge: float, reconstruction: float, n_layers: int
) -> Iterator:
    """Yield the map B from recorded to enriched labels (eq. 2) after each layer.

    The labels of a layer are a linear map of the labels of the previous layer, so the rows are not needed.
    """
    explained = seen.crossed.T @ seen.regress(ridge)
    left = seen.scatter - seen.n * np.outer(seen.shares, seen.shares) - explained
    total = np.eye(len(seen.shares))
    for _ in range(n_layers):
        P, Q = compute_restoring_terms(total @ seen.scatter @ total.T, corruption)
        wanted = reconstruction * Q + total @ left @ total.T
        # Labels without rows, and equal labels, make the system singular: take the solution of least norm.
        B = linalg.lstsq(wanted, reconstruction * P, cond=1e-12)[0].T
        total = B @ total
        yield total


def _decompose_columns(X: Any, means: np.ndarray) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray((X.T @ X).toarray() - X.shape[0] * np.outer(means, means))
    off = X - means
    return np.asarray(off.T @ off)


def _decompose_rows(X: Any, means: np.ndarray) -> np.ndarray:
    if not sparse.issparse(X):
        off = X - means
        return np.asarray(off @ off.T)
    inner = (X @ X.T).toarray()
    to_mean = X @ means
    return np.asarray(inner - to_mean[:, None] - to_mean[None, :] + means @ means)
