"""Choosing parameters, the number of clusters and the method by held-out hints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._compat import BaseEstimator, CallbackSupportMixin, MetaEstimatorMixin, with_callbacks
from likewise.base import Progress, warn_caller
from likewise.evaluation._hint_cv import (
    FoldResult,
    HintValidation,
    check_error_score,
    fit_with_hints,
    make_folds,
    retell_warnings,
    run_fits,
    summarise,
)
from likewise.evaluation._hint_folds import HintFold
from likewise.evaluation._hint_scores import check_scoring, usual_scoring

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.supervision import Supervision

Rule = Literal["best", "one_standard_error"]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One estimator with one set of parameters."""

    method: str
    params: dict[str, Any]
    estimator: Any

    @property
    def n_clusters(self) -> int | None:
        """The number of clusters asked for, if the estimator or its last step has such a parameter."""
        estimator = self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
        params = estimator.get_params(deep=False)
        found = params.get("n_clusters", params.get("n_components"))
        return int(found) if isinstance(found, int | np.integer) else None


def _delegated(name: str) -> Callable[[Any], bool]:
    """Tell whether the best estimator, or before fit one of the estimators, has a method."""

    def check(self: Any) -> bool:
        if hasattr(self, "best_estimator_"):
            return hasattr(self.best_estimator_, name)
        try:
            return any(hasattr(estimator, name) for _, estimator, _ in self._methods())
        except ValueError:  # fit will say what is wrong with them
            return False

    return check


class HintSearchCV(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose parameters, the number of clusters and the method by hints that were held out.

    Each candidate is scored as :func:`cross_validate_hints` does, all on the same folds, and the best is
    fitted again with all hints. It stands to hints as scikit-learn's GridSearchCV stands to labels: a person
    who has answers and no true classes chooses a model with it.

    Parameters
    ----------
    estimator : estimator, pipeline, or list of (name, estimator, grid)
        What to choose parameters for; or several methods to choose among, each with its own grid. A dict of
        name to (estimator, grid) is the same.
    param_grid : dict or list of dict, optional
        Parameter names and the values to try, as for GridSearchCV. Not with several methods.
    cv : int or HintKFold, default=5
        The folds of the hints.
    scoring : str or callable, default="auto"
        See :func:`cross_validate_hints`. "auto" is "agreement" where less than a quarter of the held-out
        pairs are together, as with five classes or more, and else "accuracy": where nearly all pairs are
        apart, a model that calls all of them apart is accurate and useless.
    rule : {"best", "one_standard_error"}, default="best"
        ``"best"`` takes the highest score. ``"one_standard_error"`` takes the fewest clusters among the
        candidates that are within one standard error of it. Ties go to fewer clusters, then to the candidate
        that was named first.
    refit : bool, default=True
        Fit the chosen candidate with all hints. Without it there are no `labels_` and no `predict`.
    as_links : bool, default=False
        Say the hints as links to methods that refuse them as they are.
    n_jobs : int or None, default=None
        How many fits to make at once, as in scikit-learn. The choice does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the folds, if `cv` is a number. Estimators have their own.
    error_score : float or "raise", default=nan
        The score of a candidate if a fit fails, with a warning; or raise the error. A candidate with NaN is
        never chosen. If all fail, an error is raised in any case.
    progress : callable, optional
        Called as ``progress(n_done, n_fits)`` after every fit. scikit-learn's own callbacks, such as
        ProgressBar, are told of the same.

    Attributes
    ----------
    cv_results_ : dict of str to ndarray
        A column for each of: method, params and ``param_<name>``, n_clusters, ``mean_test_score`` (over all
        held-out questions together, each counted once), ``error_test_score`` (its standard error),
        ``rank_test_score``, tied, ``split<i>_test_score``, pair_accuracy, triplet_accuracy, mean_fit_time,
        failure (why a fit failed), exception (the same as a `LikewiseError`).
        ``pandas.DataFrame(search.cv_results_)`` is a table of it.
    best_estimator_ : estimator
        The chosen candidate, fitted with all hints.
    best_method_ : str
        The name of the method; the name of the class where only one estimator was given.
    best_params_ : dict
        The parameters that the grid gave it.
    best_index_, best_score_ : int, float
        Its place in `cv_results_`, and its score.
    ties_ : ndarray of int
        The candidates within one standard error of the best score, by their place in `cv_results_`, the
        simplest first: fewer clusters, then the method that was named first. The hints do not tell these
        apart.
    scoring_ : str or callable
        The score that was used.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, by the chosen candidate.
    n_scored_, n_implied_ : int
        How many held-out questions were scored, and how many were not because other hints decide them.
    refit_time_ : float
        Seconds that the last fit took.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likewise import MPCKMeans, PCKMeans
    >>> from likewise.evaluation import HintSearchCV
    >>> from likewise.supervision import sample_links
    >>> X, y = load_iris(return_X_y=True)
    >>> hints = sample_links(y, 100, random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4, 5]}
    >>> methods = [("pck", PCKMeans(random_state=0), grid), ("mpck", MPCKMeans(random_state=0), grid)]
    >>> search = HintSearchCV(methods, random_state=0).fit(X, supervision=hints)
    >>> search.best_method_, search.best_params_, search.labels_.shape
    ('mpck', {'n_clusters': 3}, (150,))
    """

    best_index_: int
    ties_: np.ndarray
    best_method_: str
    best_params_: dict[str, Any]
    best_score_: float
    n_splits_: int
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
        rule: Rule = "best",
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
            The rows, in memory. Dask data are refused: choose by some of their rows, then fit the chosen
            estimator to all.
        y : ignored
            Present for scikit-learn's interface.
        supervision : Supervision
            The hints.

        Returns
        -------
        self : object
        """
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {get_args(Rule)}, got {self.rule!r}.")
        if self.scoring != "auto":
            check_scoring(self.scoring)
        check_error_score(self.error_score)
        candidates = list(self._candidates())
        if not candidates:
            raise ValueError(
                "param_grid is empty, so that there is nothing to choose; {} stands for the defaults."
            )
        folds = make_folds(X, supervision, self.cv, self.random_state)
        assert supervision is not None  # or make_folds would have refused
        self.scoring_ = usual_scoring(folds) if self.scoring == "auto" else self.scoring
        score = check_scoring(self.scoring_)
        results = self._run(X, candidates, folds)
        retell_warnings(result for group in results for result in group)
        found = [summarise(group, folds, score, self.scoring_, self.error_score) for group in results]
        self._report_failures(candidates, found)

        self.best_index_ = self._choose(candidates, found)
        self.ties_ = _ties(candidates, found)
        best = candidates[self.best_index_]
        self.best_method_ = best.method
        self.best_params_ = best.params
        self.best_score_ = found[self.best_index_].score
        self.n_splits_ = len(folds)
        self.n_scored_ = int(found[0].n_scored.sum())
        self.n_implied_ = int(found[0].n_implied.sum())
        self.cv_results_ = _table(candidates, found, self.ties_)
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

    def _methods(self) -> list[tuple[str, Any, Any]]:
        """Return every method as a name, an estimator and a grid."""
        if hasattr(self.estimator, "fit"):
            last = self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
            return [(type(last).__name__, self.estimator, self.param_grid)]
        if self.param_grid is not None:
            raise ValueError("with several methods each has its own grid; leave param_grid out.")
        given: Any = self.estimator
        if isinstance(given, Mapping):
            given = [(name, *_pair(value)) for name, value in given.items()]
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
            raise ValueError(f"the methods need names that differ, at least one; got {names}.")
        return methods

    def _candidates(self) -> Iterator[_Candidate]:
        from sklearn.model_selection import ParameterGrid

        for name, estimator, grid in self._methods():
            for params in ParameterGrid({} if grid is None else grid):
                yield _Candidate(name, params, clone(estimator).set_params(**clone(params, safe=False)))

    def _run(self, X: Any, candidates: list[_Candidate], folds: list[HintFold]) -> list[list[FoldResult]]:
        """Fit every candidate on every fold, and tell of the progress."""
        n_fits = len(candidates) * len(folds)
        flat: list[Any] = [None] * n_fits
        tasks = ((candidate.estimator, fold) for candidate in candidates for fold in folds)
        watch = Progress(self, X, 1)
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
            raise ValueError(f"every fit failed, so that there is nothing to choose. The first is {first}")
        warn_caller(
            f"{len(failed)} of {len(candidates)} candidates failed and have the score {self.error_score}. "
            f"cv_results_['failure'] tells why of each; the first is {first}",
            FitFailedWarning,
        )

    def _choose(self, candidates: list[_Candidate], found: list[HintValidation]) -> int:
        scores = np.array([one.score if one.failure is None else np.nan for one in found])
        if np.isnan(scores).all():
            raise ValueError("every score is NaN, so that there is nothing to choose; look at scoring=.")
        top = int(np.nanargmax(scores))
        slack = found[top].error if self.rule == "one_standard_error" else 0.0
        if not np.isfinite(slack):
            raise ValueError(
                "rule='one_standard_error' needs a scoring given by name, with a standard error."
            )
        # Rounding must not tell equal scores apart.
        near = np.flatnonzero(scores >= scores[top] - slack - 1e-12)
        sizes = [candidates[c].n_clusters for c in near]
        keys = [(np.inf if size is None else size, -scores[c]) for c, size in zip(near, sizes, strict=True)]
        return int(near[min(range(len(near)), key=lambda place: keys[place])])

    # ------------------------------------------------------------------ using

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "HintSearchCV was fitted with refit=False, so that there is no model to ask."
            )
        return self.best_estimator_

    def fit_predict(
        self, X: MatrixLike, y: ArrayLike | None = None, *, supervision: Supervision | None = None
    ) -> np.ndarray:
        """Fit, and return the cluster of each row."""
        labels: np.ndarray = self.fit(X, supervision=supervision).labels_
        return labels

    @available_if(_delegated("predict"))
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the cluster of each new row, by the chosen model."""
        labels: np.ndarray = self._best().predict(X)
        return labels

    @available_if(_delegated("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the chance of each cluster for each row, by the chosen model."""
        chances: np.ndarray = self._best().predict_proba(X)
        return chances

    @available_if(_delegated("transform"))
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return what the chosen model's ``transform`` does."""
        out: np.ndarray = self._best().transform(X)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        return tags


def _pair(value: Any) -> tuple[Any, Any]:
    return tuple(value) if isinstance(value, list | tuple) and len(value) == 2 else (value, None)


def _ties(candidates: list[_Candidate], found: list[HintValidation]) -> np.ndarray:
    """Return the candidates within one standard error of the best score, the simplest first."""
    scores = np.array([one.score if one.failure is None else np.nan for one in found])
    error = found[int(np.nanargmax(scores))].error
    slack = error if np.isfinite(error) else 0.0
    near = np.flatnonzero(scores >= np.nanmax(scores) - slack - 1e-12)
    sizes = [candidates[c].n_clusters for c in near]
    return near[np.argsort([np.inf if size is None else size for size in sizes], kind="stable")]


def _table(candidates: list[_Candidate], found: list[HintValidation], ties: np.ndarray) -> dict[str, Any]:
    """Return the results as columns, one row a candidate."""
    scores = np.array([one.score for one in found])
    table: dict[str, Any] = {
        "method": np.array([candidate.method for candidate in candidates], dtype=object),
        "n_clusters": _masked([candidate.n_clusters for candidate in candidates]),
    }
    names = dict.fromkeys(name for candidate in candidates for name in candidate.params)
    for name in names:
        table[f"param_{name}"] = _masked([c.params.get(name, _ABSENT) for c in candidates])
    table["params"] = [candidate.params for candidate in candidates]
    table["mean_test_score"] = scores
    table["error_test_score"] = np.array([one.error for one in found])
    worst_last = np.where(np.isnan(scores), -np.inf, scores)
    table["rank_test_score"] = np.array([1 + int((worst_last > score).sum()) for score in worst_last])
    table["tied"] = np.isin(np.arange(len(found)), ties)
    for split in range(len(found[0].split_scores)):
        table[f"split{split}_test_score"] = np.array([one.split_scores[split] for one in found])
    for name in ("pair_accuracy", "triplet_accuracy"):
        table[name] = np.array([getattr(one, name) for one in found])
    table["mean_fit_time"] = np.array([one.fit_times.mean() for one in found])
    table["failure"] = np.array([one.failure for one in found], dtype=object)
    table["exception"] = np.array([one.exception for one in found], dtype=object)
    return table


_ABSENT = object()


def _masked(values: list[Any]) -> np.ma.MaskedArray:
    """Return values as GridSearchCV keeps parameters: masked where a candidate has none."""
    data = np.empty(len(values), dtype=object)
    absent = [value is _ABSENT for value in values]
    data[:] = [None if gone else value for value, gone in zip(values, absent, strict=True)]
    return np.ma.MaskedArray(data, mask=absent)
