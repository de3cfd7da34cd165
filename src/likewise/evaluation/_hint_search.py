"""Selection of parameters, the number of clusters and the method by held-out hints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._compat import (
    BaseEstimator,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    check_random_state,
    with_callbacks,
)
from likewise.base import FitProgress, Rule, repeat_warnings, warn_caller
from likewise.evaluation._hint_cv import (
    FoldResult,
    HeldOut,
    HintValidation,
    check_error_score,
    check_scoring,
    choose_scoring,
    fit_with_hints,
    make_folds,
    run_fits,
    summarise,
)
from likewise.evaluation._hint_folds import HintFold, HintKFold

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.supervision import Supervision

SelectionRule = Literal["simplest_method", "best", "one_standard_error"]
_REPEATS = 3  # different splits into folds, if several methods are compared
_CLOSE = 0.5  # maximum distance, in standard errors, of a simpler method from the best score
_GROUPS = 50  # groups of questions of the jackknife that estimates standard errors


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One estimator with one set of parameters."""

    method: str
    params: dict[str, Any]
    estimator: Any

    @property
    def n_clusters(self) -> int | None:
        """The `n_clusters` or `n_components` of the estimator or its last step; None if it has neither."""
        estimator = self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
        params = estimator.get_params(deep=False)
        found = params.get("n_clusters", params.get("n_components"))
        return int(found) if isinstance(found, int | np.integer) else None


def _has_method(name: str) -> Callable[[Any], bool]:
    """Return a predicate that is True if the best estimator (before fit: any estimator) has a method."""

    def check(self: Any) -> bool:
        if hasattr(self, "best_estimator_"):
            return hasattr(self.best_estimator_, name)
        try:
            return any(hasattr(estimator, name) for _, estimator, _ in self._list_methods())
        except ValueError:  # fit raises the error
            return False

    return check


class HintSearchCV(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose parameters, the number of clusters and the method by held-out hints.

    Each candidate is scored as in :func:`cross_validate_hints`, all on the same folds, and the best is fitted
    again with all hints. It does for hints what scikit-learn's GridSearchCV does for labels: use it to choose
    a model if you have hints but no true classes.

    Parameters
    ----------
    estimator : estimator, pipeline, or list of (name, estimator, grid)
        The estimator to tune, or several methods to choose from, each with its own grid. A dict of name to
        (estimator, grid) is also accepted.
    param_grid : dict or list of dict, optional
        The parameter values to try, as for GridSearchCV. Must be omitted with several methods.
    cv : int or HintKFold, default=5
        The number of folds of the hints, or the splitter.
    scoring : str or callable, default="auto"
        The score; see :func:`cross_validate_hints`. "auto" is "agreement" if less than a quarter of the
        held-out pairs are together, as with five classes or more, and else "accuracy". If nearly all pairs
        are apart, a useless model that predicts "apart" for all of them is accurate.
    n_repeats : int or "auto", default="auto"
        Number of times the hints are split into folds; scores are means over all of them. "auto" is 3 with
        several methods and 1 with one. With few hints, scores depend on which hints share a fold, and
        repeats reduce this.
    rule : {"simplest_method", "best", "one_standard_error"}, default="simplest_method"
        ``"best"`` selects the highest score. ``"simplest_method"`` selects the first method in the list whose
        best score is within half a standard error (of the difference) of the highest score, so list the
        simplest method first. With one method it is the same as "best". ``"one_standard_error"`` selects the
        fewest clusters among the candidates in `ties_`. Equal scores go to fewer clusters, then to the first
        candidate.
    refit : bool, default=True
        Fit the chosen candidate with all hints. Otherwise `labels_` and `predict` are not
        available.
    as_links : bool, default=False
        Convert the hints to links for methods that do not support them.
    n_jobs : int or None, default=None
        The number of parallel fits, as in scikit-learn. It does not change the result.
    random_state : int, RandomState instance or None, default=None
        The seed for the folds, if `cv` is a number. Estimators have their own seeds.
    error_score : float or "raise", default=nan
        The score to use, with a warning, for a candidate whose fit fails; "raise" raises the error. A
        candidate with the score NaN is never chosen. If all candidates fail, an error is raised in any case.
    progress : callable, optional
        Called as ``progress(n_done, n_fits)`` after every fit. scikit-learn's callbacks, such as ProgressBar,
        are supported too.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        A column for each of: method, params and ``param_<name>``, n_clusters, ``mean_test_score`` (over all
        held-out questions together), ``error_test_score`` (its standard error), ``error_difference`` (the
        standard error of how far it is behind the best, see `ties_`), ``rank_test_score``, tied,
        ``split<i>_test_score``, pair_accuracy, triplet_accuracy, mean_fit_time, failure (the reason),
        exception (the same as a `LikewiseError`). ``pandas.DataFrame(search.cv_results_)`` makes a table.
    best_estimator_ : estimator
        The chosen candidate, fitted with all hints.
    best_method_ : str
        The name of the chosen method; the name of the class if only one estimator was given.
    best_params_ : dict
        The parameters of the chosen candidate that come from the grid.
    best_index_ : int
        The index of the chosen candidate in `cv_results_`.
    best_score_ : float
        Its score.
    ties_ : ndarray of int
        Indices in `cv_results_` of the candidates whose score is within one standard error (of the
        difference) of the best. All candidates are scored on the same held-out hints, so differences vary
        less than the scores themselves; the error is estimated by leaving out groups of hints in turn (the
        jackknife). Fewer clusters come first, then the first method.
    scoring_ : str or callable
        The score that was used.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row from the chosen candidate.
    n_scored_, n_implied_ : int
        The number of held-out questions that were scored, and the number that were left out because other
        hints imply the answer. With several repeats, the numbers of the first one.
    n_splits_, n_repeats_ : int
        The number of folds and of repeats.
    refit_time_ : float
        The time of the final fit in seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likewise import MPCKMeans, PCKMeans
    >>> from likewise.evaluation import HintSearchCV
    >>> from likewise.supervision import sample_links
    >>> X, y = load_iris(return_X_y=True)
    >>> hints = sample_links(y, 100, random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4], "n_init": [1]}
    >>> methods = [("pck", PCKMeans(random_state=0), grid), ("mpck", MPCKMeans(random_state=0), grid)]
    >>> search = HintSearchCV(methods, random_state=0).fit(X, supervision=hints)
    >>> search.best_method_, search.best_params_, search.labels_.shape
    ('mpck', {'n_clusters': 3, 'n_init': 1}, (150,))
    """

    best_index_: int
    ties_: np.ndarray
    best_method_: str
    best_params_: dict[str, Any]
    best_score_: float
    n_splits_: int
    n_repeats_: int
    n_scored_: int
    n_implied_: int
    cv_results_: dict[str, Any]
    best_estimator_: Any
    refit_time_: float
    labels_: Any
    n_features_in_: int

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"supervision": True}

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = "auto",
        n_repeats: int | Literal["auto"] = "auto",
        rule: SelectionRule = "simplest_method",
        refit: bool = True,
        as_links: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        error_score: float | str = np.nan,
        progress: Callable[[int, int], Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.rule = rule
        self.refit = refit
        self.as_links = as_links
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.progress = progress

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> Self:
        """Score every candidate, choose one, and fit it with all hints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in memory. Dask data raise an error: choose a model on some of the rows, then fit it to
            all rows.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision
            The hints.

        Returns
        -------
        self : HintSearchCV
            The fitted search.
        """
        if self.rule not in get_args(SelectionRule):
            raise ValueError(f"rule must be one of {get_args(SelectionRule)}; got {self.rule!r}.")
        repeats = Rule.integer(1)
        if self.n_repeats != "auto" and not repeats.holds(self.n_repeats):
            raise ValueError(f"n_repeats must be 'auto' or {repeats.expected}; got {self.n_repeats!r}.")
        if self.scoring != "auto":
            check_scoring(self.scoring)
        check_error_score(self.error_score)
        candidates = list(self._list_candidates())
        if not candidates:
            raise ValueError(
                "param_grid is empty, so there is nothing to choose from; pass {} for the defaults."
            )
        rounds = self._make_rounds(X, supervision, len({candidate.method for candidate in candidates}))
        assert supervision is not None  # _make_rounds raises an error otherwise
        folds = [fold for one in rounds for fold in one]
        self.scoring_ = choose_scoring(folds) if self.scoring == "auto" else self.scoring
        score = check_scoring(self.scoring_)
        results = self._run(X, candidates, folds)
        repeat_warnings(warned for group in results for result in group for warned in result.warned)
        found = [summarise(group, folds, score, self.scoring_, self.error_score) for group in results]
        # Repeats use the same questions, so they do not reduce the sampling error.
        found = [replace(one, error=one.error * len(rounds) ** 0.5) for one in found]
        self._report_failures(candidates, found)

        scores = np.array([one.score if one.failure is None else np.nan for one in found])
        if np.isnan(scores).all():
            raise ValueError("every score is NaN, so no candidate can be chosen; check scoring=.")
        errors = _compute_difference_errors(results, folds, score, int(np.nanargmax(scores)))
        tied = scores >= np.nanmax(scores) - errors - _ROUNDING
        close = scores >= np.nanmax(scores) - _CLOSE * errors - _ROUNDING
        self.best_index_ = self._choose(candidates, scores, tied, close)
        self.ties_ = _sort_by_size(candidates, np.flatnonzero(tied))
        best = candidates[self.best_index_]
        self.best_method_ = best.method
        self.best_params_ = best.params
        self.best_score_ = found[self.best_index_].score
        self.n_splits_, self.n_repeats_ = len(rounds[0]), len(rounds)
        self.n_scored_ = sum(fold.n_scored for fold in rounds[0])
        self.n_implied_ = sum(fold.n_implied for fold in rounds[0])
        self.cv_results_ = _make_table(candidates, found, tied, errors)
        if self.refit:
            began = time.perf_counter()
            self.best_estimator_ = fit_with_hints(clone(best.estimator), X, supervision, self.as_links)
            self.refit_time_ = time.perf_counter() - began
            last = (
                self.best_estimator_[-1] if hasattr(self.best_estimator_, "steps") else self.best_estimator_
            )
            self.labels_ = last.labels_ if hasattr(last, "labels_") else self.best_estimator_.predict(X)
            if hasattr(self.best_estimator_, "n_features_in_"):
                self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def _list_methods(self) -> list[tuple[str, Any, Any]]:
        """Return every method as a name, an estimator and a grid."""
        if hasattr(self.estimator, "fit"):
            last = self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
            return [(type(last).__name__, self.estimator, self.param_grid)]
        if self.param_grid is not None:
            raise ValueError("each of several methods has its own grid; omit param_grid.")
        given: Any = self.estimator
        if isinstance(given, Mapping):
            given = [
                (name, *(value if isinstance(value, list | tuple) and len(value) == 2 else (value, None)))
                for name, value in given.items()
            ]
        methods = []
        for entry in given if isinstance(given, list | tuple) else [given]:
            if (
                not isinstance(entry, list | tuple)
                or len(entry) not in (2, 3)
                or not hasattr(entry[1], "fit")
            ):
                raise ValueError(
                    "estimator must be an estimator, a list of (name, estimator, grid) or a dict of name to "
                    f"(estimator, grid); got {entry!r}."
                )
            methods.append((str(entry[0]), entry[1], entry[2] if len(entry) == 3 else None))
        names = [name for name, _, _ in methods]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"expected at least one method, with unique names; got {names}.")
        return methods

    def _list_candidates(self) -> Iterator[_Candidate]:
        from sklearn.model_selection import ParameterGrid

        for name, estimator, grid in self._list_methods():
            for params in ParameterGrid({} if grid is None else grid):
                yield _Candidate(name, params, clone(estimator).set_params(**clone(params, safe=False)))

    def _make_rounds(self, X: Any, supervision: Any, n_methods: int) -> list[list[HintFold]]:
        """Split the hints into folds, once per repeat."""
        n_repeats = self.n_repeats
        if n_repeats == "auto":
            n_repeats = _REPEATS if n_methods > 1 else 1
        rounds = [make_folds(X, supervision, self.cv, self.random_state)]
        seed = getattr(self.cv, "random_state", self.random_state)
        rng = check_random_state(seed)
        for _ in range(n_repeats - 1):
            cv = HintKFold(len(rounds[0]), random_state=rng.randint(2**31 - 1))
            rounds.append(make_folds(X, supervision, cv, None))
        return rounds

    def _run(self, X: Any, candidates: list[_Candidate], folds: list[HintFold]) -> list[list[FoldResult]]:
        """Fit every candidate on every fold, and report the progress."""
        n_fits = len(candidates) * len(folds)
        flat: list[Any] = [None] * n_fits
        tasks = ((candidate.estimator, fold) for candidate in candidates for fold in folds)
        watch = FitProgress(self, X, 1)
        watch.begin(n_fits)
        fits = run_fits(tasks, X, self.as_links, self.n_jobs, self.error_score)
        for n_done, (place, result) in enumerate(fits, start=1):
            flat[place] = result
            watch.step()
            if self.progress is not None:
                self.progress(n_done, n_fits)
        watch.end()
        watch.finish()
        return [flat[start : start + len(folds)] for start in range(0, n_fits, len(folds))]

    def _report_failures(self, candidates: list[_Candidate], found: list[HintValidation]) -> None:
        failed = [(c, one) for c, one in zip(candidates, found, strict=True) if one.failure is not None]
        if not failed:
            return
        candidate, one = failed[0]
        first = f"{candidate.method} with {candidate.params}: {one.failure}"
        if len(failed) == len(candidates):
            raise ValueError(f"every fit failed, so no candidate can be chosen. The first failure: {first}")
        warn_caller(
            f"{len(failed)} of {len(candidates)} candidates failed and have the score {self.error_score}. "
            f"See cv_results_['failure'] for the reasons; the first: {first}",
            FitFailedWarning,
        )

    def _choose(
        self, candidates: list[_Candidate], scores: np.ndarray, tied: np.ndarray, close: np.ndarray
    ) -> int:
        """Return the candidate that the rule selects."""

        def best_of(among: np.ndarray) -> int:
            top = among[scores[among] >= np.nanmax(scores[among]) - _ROUNDING]
            return int(_sort_by_size(candidates, top)[0])

        if self.rule == "one_standard_error":
            return int(_sort_by_size(candidates, np.flatnonzero(tied), scores)[0])
        valid = np.flatnonzero(~np.isnan(scores))
        if self.rule == "simplest_method":
            methods = np.array([candidates[c].method for c in valid], dtype=object)
            for method in dict.fromkeys(methods):
                if close[found := best_of(valid[methods == method])]:
                    return found
        return best_of(valid)

    # ------------------------------------------------------------------ using

    def _find_best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("HintSearchCV was fitted with refit=False, so there is no fitted model.")
        return self.best_estimator_

    def fit_predict(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> np.ndarray:
        """Fit, and return the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in memory.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision
            The hints.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row from the chosen candidate.
        """
        labels: np.ndarray = self.fit(X, supervision=supervision).labels_
        return labels

    @available_if(_has_method("predict"))
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the cluster of each row with the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        labels: np.ndarray = self._find_best().predict(X)
        return labels

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each cluster for each row with the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            The probabilities.
        """
        chances: np.ndarray = self._find_best().predict_proba(X)
        return chances

    @available_if(_has_method("transform"))
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Transform the rows with the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        out : ndarray
            The output of the model's ``transform``.
        """
        out: np.ndarray = self._find_best().transform(X)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        return tags


_ROUNDING = 1e-12  # scores that differ by less are equal


def _sort_by_size(
    candidates: list[_Candidate], places: np.ndarray, scores: np.ndarray | None = None
) -> np.ndarray:
    """Sort candidates by number of clusters, then by score if given, then by position."""
    sizes = [candidates[c].n_clusters for c in places]
    sizes = [np.inf if size is None else size for size in sizes]
    return places[np.lexsort((-scores[places] if scores is not None else np.zeros(len(places)), sizes))]


def _compute_difference_errors(
    results: list[list[FoldResult]], folds: list[HintFold], score: Any, top: int
) -> np.ndarray:
    """Return the standard error of the difference between the score of each candidate and of `top`.

    The delete-a-group jackknife leaves out groups of questions, with all repeats of a question. The error is
    NaN for a candidate that failed, and infinite with a single question.
    """
    rows = [np.pad(fold.pairs, ((0, 0), (0, 1)), constant_values=-1) for fold in folds]
    asked = np.concatenate(
        [part for pair, fold in zip(rows, folds, strict=True) for part in (pair, fold.triplets)]
    )
    groups = np.unique(asked, axis=0, return_inverse=True)[1].reshape(-1) % _GROUPS
    used = np.unique(groups)
    errors = np.full(len(results), np.nan)
    without = np.full((len(results), len(used)), np.nan)
    for c, group in enumerate(results):
        if all(result.held_out is not None for result in group):
            held_out = HeldOut.concatenate(
                [result.held_out for result in group if result.held_out is not None]
            )
            errors[c] = np.inf
            if len(used) > 1:
                without[c] = [score(held_out.take(groups != one)).value for one in used]
    if len(used) > 1:
        difference = without[top] - without
        spread = (difference - difference.mean(axis=1, keepdims=True)) ** 2
        errors = np.sqrt((len(used) - 1) / len(used) * spread.sum(axis=1))
    return errors


def _make_table(
    candidates: list[_Candidate], found: list[HintValidation], tied: np.ndarray, errors: np.ndarray
) -> dict[str, Any]:
    """Return the results as columns, with one row per candidate."""
    scores = np.array([one.score for one in found])
    table: dict[str, Any] = {
        "method": np.array([candidate.method for candidate in candidates], dtype=object),
        "n_clusters": _mask_missing([candidate.n_clusters for candidate in candidates]),
    }
    names = dict.fromkeys(name for candidate in candidates for name in candidate.params)
    for name in names:
        table[f"param_{name}"] = _mask_missing([c.params.get(name, _ABSENT) for c in candidates])
    table["params"] = [candidate.params for candidate in candidates]
    table["mean_test_score"] = scores
    table["error_test_score"] = np.array([one.error for one in found])
    table["error_difference"] = errors
    worst_last = np.where(np.isnan(scores), -np.inf, scores)
    table["rank_test_score"] = np.array([1 + int((worst_last > score).sum()) for score in worst_last])
    table["tied"] = tied
    for split in range(len(found[0].split_scores)):
        table[f"split{split}_test_score"] = np.array([one.split_scores[split] for one in found])
    for name in ("pair_accuracy", "triplet_accuracy"):
        table[name] = np.array([getattr(one, name) for one in found])
    table["mean_fit_time"] = np.array([one.fit_times.mean() for one in found])
    table["failure"] = np.array([one.failure for one in found], dtype=object)
    table["exception"] = np.array([one.exception for one in found], dtype=object)
    return table


_ABSENT = object()


def _mask_missing(values: list[Any]) -> np.ma.MaskedArray:
    """Return values masked for candidates without the parameter, as in GridSearchCV."""
    data = np.empty(len(values), dtype=object)
    absent = [value is _ABSENT for value in values]
    data[:] = [None if gone else value for value, gone in zip(values, absent, strict=True)]
    return np.ma.MaskedArray(data, mask=absent)
