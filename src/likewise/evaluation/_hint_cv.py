"""Cross-validation over hints: fit with some of them, predict the others, and score the predictions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from likewise._repr_html import render_table
from likewise.backends import is_distributed
from likewise.base import Warned, repeat_warnings, warn_caller
from likewise.evaluation._hint_folds import NEITHER, HintFold, HintKFold
from likewise.evaluation._scores import check_same_rows
from likewise.exceptions import (
    LikewiseError,
    SupervisionError,
    TooFewClustersWarning,
    UnsupportedSupervisionError,
    render,
)
from likewise.supervision import TRIPLET_ANSWERS, Supervision

if TYPE_CHECKING:
    from likewise._typing import MatrixLike, RandomStateLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HintScoring = Literal["accuracy", "agreement", "balanced_accuracy", "log_score"]
# The weight of the uniform distribution in the log score. Without it, one confident wrong prediction would
# have an infinite cost, and a method without probabilities is always confident.
_DOUBT = 0.05


@dataclass(frozen=True, eq=False)
class HintValidation:
    """The result of :func:`cross_validate_hints`: how well a model predicts held-out hints.

    Parameters
    ----------
    score : float
        The score over all held-out questions, each counted once; higher is better.
    error : float
        The standard error of the score, with answers treated as independent.
    split_scores : ndarray of shape (n_splits,)
        The score of each fold; NaN if the training hints imply all held-out hints of the fold.
    pair_accuracy, triplet_accuracy : float
        The fraction of held-out pairs, and of held-out triplets, that are predicted correctly; NaN if there
        are none.
    n_scored, n_implied : ndarray of shape (n_splits,)
        The number of held-out questions in each fold that were scored, and the number that were left out
        because the training hints imply the answer.
    fit_times : ndarray of shape (n_splits,)
        The time of each fit in seconds.
    scoring : str
        The name of the score.
    failure : str, optional
        The reason why a fit failed; None if all succeeded. `score` is then the `error_score`.
    exception : LikewiseError, optional
        The same as an exception; an exception of another library is wrapped in a `LikewiseError`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likewise import PCKMeans
    >>> from likewise.evaluation import cross_validate_hints
    >>> from likewise.supervision import sample_links
    >>> X, y = load_iris(return_X_y=True)
    >>> hints = sample_links(y, 60, random_state=0)
    >>> found = cross_validate_hints(PCKMeans(3, random_state=0), X, hints, cv=3, random_state=0)
    >>> found.split_scores.shape, 0 <= found.score <= 1
    ((3,), True)
    """

    score: float
    error: float
    split_scores: FloatArray
    pair_accuracy: float
    triplet_accuracy: float
    n_scored: IntArray
    n_implied: IntArray
    fit_times: FloatArray
    scoring: str
    failure: str | None = None
    exception: LikewiseError | None = None

    def __str__(self) -> str:
        if self.failure is not None:
            return f"failed: {self.failure}"
        shares = [
            f"{share:.1%} of the {kind} right"
            for kind, share in (("pairs", self.pair_accuracy), ("triplets", self.triplet_accuracy))
            if not np.isnan(share)
        ]
        return (
            f"{self.scoring} {self.score:.3f} ± {self.error:.3f}; {', '.join(shares)} "
            f"({self.n_scored.sum()} held out in {len(self.n_scored)} folds, {self.n_implied.sum()} implied)"
        )

    def _repr_html_(self) -> str:
        columns = (self.split_scores, self.n_scored, self.n_implied, self.fit_times)
        rows = enumerate(zip(*(column.tolist() for column in columns), strict=True), start=1)
        head = ("fold", self.scoring, "held-out hints", "implied", "seconds")
        return render_table(str(self), head, [(fold, *cells) for fold, cells in rows])


def cross_validate_hints(
    estimator: Any,
    X: MatrixLike,
    supervision: Supervision,
    *,
    cv: int | HintKFold = 5,
    scoring: HintScoring | Callable[[HeldOut], float] = "accuracy",
    as_links: bool = False,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    error_score: float | str = np.nan,
    progress: Callable[[int, int], Any] | None = None,
) -> HintValidation:
    """Score a model by held-out hints, without true classes.

    The hints, not the rows, are split into folds (:class:`HintKFold`). For each fold, the model is fitted to
    all rows with the hints of the other folds. It then predicts the held-out hints: do these two rows belong
    together, and which two of these three? Questions whose answer the training hints imply are left out and
    counted.

    The predictions come from ``predict_proba(X)`` if available, with Σ_k p_ak p_bk the probability that rows
    a and b belong together; else from ``predict(X)``, else from ``labels_``. A row is therefore judged by the
    cluster that the model predicts for it, not by the one that a training hint forced. In our measurements
    this chose the number of clusters better.

    Parameters
    ----------
    estimator : estimator or pipeline
        An estimator with ``fit(X, supervision=hints)``, or a pipeline that ends with one. It is cloned. An
        estimator that takes no hints, such as scikit-learn's KMeans, is fitted without them, as a baseline.
    X : array-like of shape (n_samples, n_features)
        The rows.
    supervision : Supervision
        The hints. Pairs, triplets and labels are held out; groups of links and bags are always used to train.
    cv : int or HintKFold, default=5
        The number of folds, or the splitter.
    scoring : str or callable, default="accuracy"
        - ``"accuracy"``: the fraction of held-out answers that are predicted correctly.
        - ``"agreement"``: (o - e) / (1 - e), with o the accuracy and e the accuracy expected by chance
          (Cohen's kappa). 1 is perfect, 0 is chance. For random pairs it estimates the adjusted Rand index,
          which is this number over all pairs (Warrens 2008).
        - ``"balanced_accuracy"``: the mean of the accuracies for must-links, cannot-links, triplets answered
          AB, AC or BC, and triplets answered NEITHER.
        - ``"log_score"``: the mean log₂ probability of the answer, after mixing in 5 % of a uniform
          distribution, which makes methods without probabilities comparable.
        - a function that takes a :class:`HeldOut` and returns a number, where higher is better.
    as_links : bool, default=False
        Convert the training hints to links (``to_links()``) if the estimator does not support them. Then a
        method for links can be compared with a method for triplets on the same questions.
    n_jobs : int or None, default=None
        The number of parallel fits, as in scikit-learn. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The seed for the folds, if `cv` is a number.
    error_score : float or "raise", default=nan
        The score to use, with a warning, if a fit fails; "raise" raises the error.
    progress : callable, optional
        Called as ``progress(n_done, n_fits)`` after every fit.

    Returns
    -------
    HintValidation
        The score, its standard error, and details for each fold.

    See Also
    --------
    HintSearchCV : choose among parameters and methods in this way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likewise import MPCKMeans
    >>> from likewise.supervision import sample_links
    >>> X, y = load_iris(return_X_y=True)
    >>> hints = sample_links(y, 100, random_state=0)
    >>> for k in (2, 3, 4):
    ...     model = MPCKMeans(k, random_state=0)
    ...     print(k, round(cross_validate_hints(model, X, hints, random_state=0).score, 2))
    2 0.78
    3 0.98
    4 0.89
    """
    folds = make_folds(X, supervision, cv, random_state)
    score = check_scoring(scoring)
    check_error_score(error_score)
    results: list[Any] = [None] * len(folds)
    tasks = ((estimator, fold) for fold in folds)
    for n_done, (place, result) in enumerate(run_fits(tasks, X, as_links, n_jobs, error_score), start=1):
        results[place] = result
        if progress is not None:
            progress(n_done, len(folds))
    repeat_warnings(warned for result in results for warned in result.warned)
    found = summarise(results, folds, score, scoring, error_score)
    if found.failure is not None:
        n_failed = sum(result.failure is not None for result in results)
        warn_caller(f"{n_failed} of {len(folds)} fits failed. The first: {found.failure}", FitFailedWarning)
    return found


# ---------------------------------------------------------------------- parts shared with the search


@dataclass(frozen=True, eq=False)
class FoldResult:
    """The result of one fit."""

    held_out: HeldOut | None
    fit_time: float
    failure: str | None
    exception: LikewiseError | None
    warned: tuple[Warned, ...]


def make_folds(X: Any, supervision: Any, cv: Any, random_state: Any) -> list[HintFold]:
    """Check the hints and split them into folds, at least one of which has questions to score."""
    if supervision is None:
        raise SupervisionError("there are no hints to score by; pass them as supervision=.")
    if is_distributed(X):
        raise TypeError(
            f"cross-validation over hints fits in memory, but X is a Dask {type(X).__name__}. Choose a "
            "model with some of the hinted rows, X[rows].compute() with supervision[rows]; then fit the "
            "chosen estimator to X with all hints."
        )
    check_same_rows(supervision, X.shape[0] if hasattr(X, "shape") else len(X), X, what="X")
    if hasattr(cv, "split") and not isinstance(cv, HintKFold):
        raise TypeError(
            f"cv must be an integer or a HintKFold, which splits hints rather than rows; got {cv!r}."
        )
    splitter = cv if hasattr(cv, "split") else HintKFold(cv, random_state=random_state)
    folds = list(splitter.split(supervision))
    if not any(fold.n_scored for fold in folds):
        raise SupervisionError(
            "each hint is implied by the others, so none can be scored when held out. Add hints about other "
            "rows, or change the number of folds with cv=."
        )
    return folds


def check_error_score(error_score: Any) -> None:
    """Check that the value is a number or "raise"."""
    if error_score != "raise" and (isinstance(error_score, str) or not np.isscalar(error_score)):
        raise ValueError(f"error_score must be a number or 'raise'; got {error_score!r}.")


def run_fits(
    tasks: Iterable[tuple[Any, HintFold]], X: Any, as_links: bool, n_jobs: int | None, error_score: Any
) -> Iterator[tuple[int, FoldResult]]:
    """Fit and predict for each task; yield the index of the task and its result, in order of completion."""
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(
        delayed(_fit_and_ask)(place, estimator, X, fold, as_links, error_score == "raise")
        for place, (estimator, fold) in enumerate(tasks)
    )


def _fit_and_ask(
    place: int, estimator: Any, X: Any, fold: HintFold, as_links: bool, raises: bool
) -> tuple[int, FoldResult]:
    began = time.perf_counter()
    held_out, failure = None, None
    exception: LikewiseError | None = None
    with warnings.catch_warnings(record=True) as caught:
        # Collect the warnings of each fit, in any process; the caller repeats each category once.
        warnings.simplefilter("always")
        try:
            model = fit_with_hints(clone(estimator), X, fold.train, as_links)
            fit_time = time.perf_counter() - began
            held_out = HeldOut.from_fold(fold, predict_cluster_proba(model, X))
        except Exception as error:
            if raises:
                raise
            fit_time, failure = time.perf_counter() - began, f"{type(error).__name__}: {error}"
            exception = error if isinstance(error, LikewiseError) else LikewiseError(render(error))
            exception.__traceback__ = None  # it would keep the arrays of the fit in memory
    # The scores show which numbers of clusters are too small, so a warning for each fold is not needed.
    kept = (w for w in caught if not issubclass(w.category, TooFewClustersWarning))
    warned = tuple(Warned.from_record(w) for w in kept)
    return place, FoldResult(held_out, fit_time, failure, exception, warned)


def fit_with_hints(estimator: Any, X: Any, hints: Supervision, as_links: bool) -> Any:
    """Fit an estimator or a pipeline with hints, or without hints if it does not support any."""
    try:
        return _fit(estimator, X, hints)
    except UnsupportedSupervisionError:
        if not as_links:
            raise
    return _fit(estimator, X, hints.to_links())


def _fit(estimator: Any, X: Any, hints: Supervision) -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        if get_routing_for_object(estimator).consumes("fit", ["supervision"]):
            return estimator.fit(X, supervision=hints)
    if has_fit_parameter(estimator, "supervision"):
        return estimator.fit(X, supervision=hints)
    return estimator.fit(X)


def predict_cluster_proba(model: Any, X: Any) -> FloatArray:
    """Return the probability of each cluster for each row; 0 or 1 for a model that only predicts labels."""
    if hasattr(model, "predict_proba"):
        chances: FloatArray = np.asarray(model.predict_proba(X), dtype=np.float64)
        return chances
    if hasattr(model, "predict"):
        labels = model.predict(X)
    else:
        labels = getattr(model[-1] if hasattr(model, "steps") else model, "labels_", None)
        if labels is None:
            raise TypeError(
                f"{type(model).__name__} has neither predict_proba nor predict nor labels_ after fit; "
                "one of them is needed to predict hints."
            )
    names, codes = np.unique(labels, return_inverse=True)
    # A row in no cluster (-1) belongs together with no other row, so all its probabilities are 0.
    rows = np.eye(len(names)) * (names != -1)[:, None]
    return rows[codes]


def summarise(
    results: list[FoldResult], folds: list[HintFold], score: Any, scoring: Any, error_score: Any
) -> HintValidation:
    """Combine the folds of one candidate."""
    found = HintValidation(
        score=np.nan,
        error=np.nan,
        split_scores=np.full(len(folds), np.nan),
        pair_accuracy=np.nan,
        triplet_accuracy=np.nan,
        n_scored=np.array([fold.n_scored for fold in folds]),
        n_implied=np.array([fold.n_implied for fold in folds]),
        fit_times=np.array([result.fit_time for result in results]),
        scoring=scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score"),
    )
    failed = next((result for result in results if result.failure is not None), None)
    if failed is not None:
        whole = float(error_score)
        return replace(
            found,
            score=whole,
            split_scores=np.full(len(folds), whole),
            failure=failed.failure,
            exception=failed.exception,
        )
    parts = [result.held_out for result in results if result.held_out is not None]
    joined = HeldOut.concatenate(parts)
    total = score(joined)
    return replace(
        found,
        score=total.value,
        error=total.error,
        split_scores=np.array([score(part).value if len(part) else np.nan for part in parts]),
        pair_accuracy=joined.compute_accuracy(triplets=False),
        triplet_accuracy=joined.compute_accuracy(triplets=True),
    )


# ---------------------------------------------------------------------- scores of held-out answers


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out answers, and the probabilities that a model gives them.

    Parameters
    ----------
    chances : ndarray of shape (n_questions, 4)
        The probability of each answer. For a pair, the columns are together, apart, 0 and 0; for a triplet,
        they are AB, AC, BC and NEITHER.
    answers : ndarray of shape (n_questions,)
        The column of the held-out answer.
    is_triplet : ndarray of bool, of shape (n_questions,)
        True for a triplet.
    weights : ndarray of shape (n_questions,)
        The weight of each answer.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.evaluation import HeldOut
    >>> held_out = HeldOut(
    ...     chances=np.array([[0.9, 0.1, 0, 0], [0.2, 0.8, 0, 0]]),
    ...     answers=np.array([0, 0]),
    ...     is_triplet=np.array([False, False]),
    ...     weights=np.ones(2),
    ... )
    >>> held_out.right.tolist(), held_out.score("accuracy")
    ([True, False], 0.5)
    """

    chances: FloatArray
    answers: IntArray
    is_triplet: npt.NDArray[np.bool_]
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.answers)

    @classmethod
    def concatenate(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Concatenate the answers of several folds.

        Parameters
        ----------
        parts : sequence of HeldOut
            The answers of each fold.

        Returns
        -------
        held_out : HeldOut
            All answers.
        """
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    @classmethod
    def from_fold(cls, fold: HintFold, clusters: FloatArray) -> HeldOut:
        """Predict the answers of a fold from the cluster probabilities of the rows.

        The clusters of different rows are treated as independent: rows a and b are together with probability
        Σ_k p_ak p_bk.

        Parameters
        ----------
        fold : HintFold
            The held-out questions and their answers.
        clusters : ndarray of shape (n_samples, n_clusters)
            The probability of each cluster for each row.

        Returns
        -------
        held_out : HeldOut
            The predictions.
        """
        together = np.einsum("ik,ik->i", clusters[fold.pairs[:, 0]], clusters[fold.pairs[:, 1]])
        none = np.zeros(len(together))
        a, b, c = (clusters[fold.triplets[:, side]] for side in range(3))
        ab, ac, bc = (np.einsum("ik,ik->i", p, q) for p, q in ((a, b), (a, c), (b, c)))
        all_three = np.einsum("ik,ik,ik->i", a, b, c)
        two = [side - all_three for side in (ab, ac, bc)]
        pairs = np.column_stack([together, 1 - together, none, none])
        chances = np.concatenate([pairs, np.column_stack([*two, 1 - sum(two)])])
        return cls(
            chances=np.clip(chances, 0.0, 1.0),
            answers=np.concatenate([np.where(fold.together, 0, 1), fold.answers]),
            is_triplet=np.arange(fold.n_scored) >= len(fold.pairs),
            weights=np.concatenate([fold.pair_weights, fold.triplet_weights]),
        )

    def take(self, mask: npt.NDArray[np.bool_]) -> HeldOut:
        """Return some of the answers.

        Parameters
        ----------
        mask : ndarray of bool of shape (n_questions,)
            The answers to keep.

        Returns
        -------
        held_out : HeldOut
            These answers.
        """
        return HeldOut(*(getattr(self, f.name)[mask] for f in fields(self)))

    def score(self, scoring: HintScoring = "accuracy") -> float:
        """Return a score by its name.

        Parameters
        ----------
        scoring : {"accuracy", "agreement", "balanced_accuracy", "log_score"}, default="accuracy"
            The score; see :func:`cross_validate_hints`.

        Returns
        -------
        score : float
            The score; higher is better.
        """
        return check_scoring(scoring)(self).value

    @property
    def predicted(self) -> IntArray:
        """The most probable answer to each question; ties between together and apart count as apart."""
        likeliest: IntArray = self.chances.argmax(axis=1)
        even = ~self.is_triplet & (self.chances[:, 0] <= self.chances[:, 1])
        return np.where(even, 1, likeliest)

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """True for answers that are predicted correctly."""
        return self.predicted == self.answers

    @property
    def strata(self) -> IntArray:
        """The type of each answer: 0 together, 1 apart, 2 AB, AC or BC, 3 NEITHER.

        AB, AC and BC are one type, since the order of the rows in a triplet is arbitrary.
        """
        return self._sort(self.answers)

    def _sort(self, answers: IntArray) -> IntArray:
        return np.where(self.is_triplet, np.where(answers == NEITHER, 3, 2), answers)

    def compute_accuracy(self, *, triplets: bool) -> float:
        """Return the fraction of pairs, or of triplets, that are predicted correctly.

        Parameters
        ----------
        triplets : bool
            Score the triplets instead of the pairs.

        Returns
        -------
        share : float
            The weighted fraction; NaN if there are none.
        """
        use = self.is_triplet == triplets
        return float(np.average(self.right[use], weights=self.weights[use])) if use.any() else np.nan


@dataclass(frozen=True)
class ScoreEstimate:
    """A score, where higher is better, and its standard error."""

    value: float
    error: float


def _compute_mean(values: FloatArray, weights: FloatArray) -> ScoreEstimate:
    mean = float(weights @ values) / float(weights.sum())
    return ScoreEstimate(mean, float(np.sqrt((weights**2) @ (values - mean) ** 2) / weights.sum()))


def _compute_agreement(held_out: HeldOut) -> ScoreEstimate:
    """Return (o - e) / (1 - e), with the observed accuracy o and the accuracy e expected by chance."""
    observed = _compute_accuracy(held_out)
    predicted = held_out._sort(held_out.predicted)
    by_chance = 0.0
    for triplet, sorts in ((False, {0: 1, 1: 1}), (True, {2: 3, 3: 1})):
        use = held_out.is_triplet == triplet
        total = held_out.weights[use].sum()
        for sort, n_answers in sorts.items():
            given, predicted_weight = (
                (held_out.weights * (use & (side == sort))).sum() for side in (held_out.strata, predicted)
            )
            by_chance += given * predicted_weight / (n_answers * total) if total else 0.0
    by_chance /= held_out.weights.sum()
    if 1 - by_chance < 1e-12:  # only one type of answer, which is always predicted
        return ScoreEstimate(0.0, 0.0)
    return ScoreEstimate((observed.value - by_chance) / (1 - by_chance), observed.error / (1 - by_chance))


def _compute_accuracy(held_out: HeldOut) -> ScoreEstimate:
    return _compute_mean(held_out.right.astype(np.float64), held_out.weights)


def _compute_balanced_accuracy(held_out: HeldOut) -> ScoreEstimate:
    parts = [_compute_accuracy(held_out.take(held_out.strata == sort)) for sort in np.unique(held_out.strata)]
    error = np.sqrt(sum(part.error**2 for part in parts)) / len(parts)
    return ScoreEstimate(float(np.mean([part.value for part in parts])), float(error))


def _log_score(held_out: HeldOut) -> ScoreEstimate:
    chance = held_out.chances[np.arange(len(held_out)), held_out.answers]
    n_answers = np.where(held_out.is_triplet, len(TRIPLET_ANSWERS), 2)
    return _compute_mean(np.log2((1 - _DOUBT) * chance + _DOUBT / n_answers), held_out.weights)


_SCORES: dict[str, Callable[[HeldOut], ScoreEstimate]] = {
    "accuracy": _compute_accuracy,
    "agreement": _compute_agreement,
    "balanced_accuracy": _compute_balanced_accuracy,
    "log_score": _log_score,
}


# If a smaller fraction of the pairs is together, a model that predicts "apart" for all pairs is accurate.
_FEW_TOGETHER = 0.25


def choose_scoring(folds: Sequence[HintFold]) -> HintScoring:
    """Return "agreement" if few of the held-out pairs are together, as with many classes, else "accuracy"."""
    together = np.concatenate([fold.together for fold in folds])
    return "agreement" if len(together) and together.mean() < _FEW_TOGETHER else "accuracy"


def check_scoring(scoring: Any) -> Callable[[HeldOut], ScoreEstimate]:
    """Return the scoring function for a name, or wrap a function."""
    if isinstance(scoring, str) and scoring in _SCORES:
        score = _SCORES[scoring]
        return lambda held_out: score(replace(held_out, weights=held_out.weights / held_out.weights.max()))
    if callable(scoring):
        return lambda held_out: ScoreEstimate(float(scoring(held_out)), np.nan)
    names = ", ".join(map(repr, get_args(HintScoring)))
    raise ValueError(f"scoring must be one of {names}, or a function of a HeldOut; got {scoring!r}.")
