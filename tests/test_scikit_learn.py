"""Hints are split with the rows by scikit-learn's splitters, searches and pipelines."""

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise import MPCKMeans, PCKMeans
from likewise._compat import HAS_CALLBACKS
from likewise.evaluation import HintSearchCV
from likewise.supervision import sample_links

X, Y = load_iris(return_X_y=True)
HINTS = sample_links(Y, 300, random_state=0)
ARI = make_scorer(adjusted_rand_score)


class Listening(PCKMeans):
    """Records the arguments of fit, to show that hints were split with the rows."""

    def fit(self, X, y=None, *, supervision=None, sample_weight=None):
        self.heard_ = (len(X), supervision)
        return super().fit(X, y, supervision=supervision, sample_weight=sample_weight)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validate_splits_the_hints_with_the_rows(routing, n_jobs):
    folds = KFold(3, shuffle=True, random_state=0)
    # Threads start faster than processes; tests/evaluation/test_hint_search.py sends hints to processes.
    with sklearn.config_context(enable_metadata_routing=routing), joblib.parallel_config("threading"):
        result = cross_validate(
            Listening(3, random_state=0), X, Y, cv=folds, scoring=ARI, n_jobs=n_jobs,
            params={"supervision": HINTS}, return_estimator=True,
        )  # fmt: skip
    for model, (train, _) in zip(result["estimator"], folds.split(X), strict=True):
        n, heard = model.heard_
        assert n == len(train) == 100
        assert heard == HINTS[train]
        assert 0 < len(heard.must) < len(HINTS.must)
    assert result["test_score"].mean() > 0.5


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search_around_a_pipeline(routing):
    pipeline = make_pipeline(StandardScaler(), Listening(3, random_state=0))
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(pipeline, {"listening__must_weight": [0.1, 1.0]}, scoring=ARI, cv=3)
        name = "supervision" if routing else "listening__supervision"
        search.fit(X, Y, **{name: HINTS})
    assert search.best_estimator_[-1].heard_ == (150, HINTS)
    assert search.cv_results_["mean_test_score"].shape == (2,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("routing", [False, True])
def test_a_search_by_hints_inside_cross_validation_by_rows(routing):
    search = HintSearchCV(PCKMeans(n_init=2, random_state=0), {"n_clusters": [2, 3]}, cv=3, random_state=0)
    folds = KFold(2, shuffle=True, random_state=0)
    # Threads start faster than processes; tests/evaluation/test_hint_search.py sends hints to processes.
    with sklearn.config_context(enable_metadata_routing=routing), joblib.parallel_config("threading"):
        result = cross_validate(
            search, X, Y, cv=folds, scoring=ARI, params={"supervision": HINTS}, return_estimator=True
        )
    for model, (train, _) in zip(result["estimator"], folds.split(X), strict=True):
        assert model.labels_.shape == (75,)
        assert model.n_scored_ + model.n_implied_ == len(HINTS[train].must) + len(HINTS[train].cannot)
        assert model.best_params_ == {"n_clusters": 3}
    assert result["test_score"].mean() > 0.5


def test_train_test_split_splits_the_hints():
    X_train, X_test, hints_train, hints_test = train_test_split(X, HINTS, test_size=0.3, random_state=0)
    assert hints_train.shape == (len(X_train),)
    assert hints_test.shape == (len(X_test),)
    rows = train_test_split(np.arange(150), test_size=0.3, random_state=0)[0]
    assert hints_train == HINTS[rows]
    model = MPCKMeans(3, random_state=0).fit(X_train, supervision=hints_train)
    assert model.predict(X_test).shape == (45,)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_scikit_learns_callbacks_see_every_start_and_iteration():
    class Recorder:
        def __init__(self):
            self.tasks = []

        def setup(self, estimator, context):
            self.tasks.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.tasks.append(context.task_name)

        def teardown(self, estimator, context):
            self.tasks.append("teardown")

    recorder = Recorder()
    model = MPCKMeans(3, n_init=2, random_state=0).set_callbacks(recorder)
    model.fit(X, supervision=HINTS)
    assert recorder.tasks[0] == "setup"
    assert recorder.tasks[-2:] == ["fit", "teardown"]
    assert recorder.tasks.count("start 0") == recorder.tasks.count("start 1") == 1
    assert recorder.tasks.count("iteration") >= model.n_iter_


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_scikit_learns_progress_bar_runs():
    from sklearn.callback import ProgressBar

    model = PCKMeans(3, n_init=2, random_state=0).set_callbacks(ProgressBar())
    assert model.fit(X, supervision=HINTS).labels_.shape == (150,)
