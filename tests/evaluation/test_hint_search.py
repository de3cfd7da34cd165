"""HintSearchCV: candidates, the choice, its table, and delegated methods."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_clusterer
from sklearn.cluster import KMeans
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise import COPKMeans, MPCKMeans, PCKMeans
from likewise._compat import HAS_CALLBACKS
from likewise.evaluation import HintKFold, HintSearchCV, cross_validate_hints
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision, sample_links, sample_triplets

Y = np.repeat([0, 1, 2], 20)
X = np.random.RandomState(0).normal(size=(60, 3)) + 5 * np.eye(3)[Y]
HINTS = sample_links(Y, 60, random_state=0)
K = {"n_clusters": [2, 3, 4]}


def pck(**options):
    return PCKMeans(n_init=2, random_state=0, **options)


def test_it_finds_the_number_of_clusters_and_fits_with_all_hints():
    search = HintSearchCV(pck(), K, random_state=0).fit(X, supervision=HINTS)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_method_ == "PCKMeans"
    assert search.best_index_ == 1
    assert search.best_score_ == pytest.approx(1.0)
    expected = pck(n_clusters=3).fit(X, supervision=HINTS)
    np.testing.assert_array_equal(search.labels_, expected.labels_)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))
    np.testing.assert_array_equal(search.transform(X), expected.transform(X))
    assert not hasattr(search, "predict_proba")
    assert search.n_features_in_ == 3
    assert search.n_scored_ + search.n_implied_ == 60
    assert search.refit_time_ > 0


def test_the_scores_are_those_of_cross_validation():
    search = HintSearchCV(pck(), K, random_state=0).fit(X, supervision=HINTS)
    for c, k in enumerate(K["n_clusters"]):
        alone = cross_validate_hints(pck(n_clusters=k), X, HINTS, random_state=0)
        assert search.cv_results_["mean_test_score"][c] == alone.score
        assert search.cv_results_["error_test_score"][c] == alone.error
        splits = [search.cv_results_[f"split{i}_test_score"][c] for i in range(5)]
        np.testing.assert_array_equal(splits, alone.split_scores)


def test_the_results_are_a_table():
    grids = [{"n_clusters": [2, 3]}, {"n_clusters": [3], "must_weight": [0.5, 2.0]}]
    search = HintSearchCV(pck(), grids, cv=3, random_state=0).fit(X, supervision=HINTS)
    table = pd.DataFrame(search.cv_results_)
    assert len(table) == 4
    assert table["n_clusters"].tolist() == [2, 3, 3, 3]
    assert table["rank_test_score"].tolist() == [4, 1, 1, 1]
    assert search.cv_results_["param_must_weight"].mask.tolist() == [True, True, False, False]
    assert table["params"][2] == {"must_weight": 0.5, "n_clusters": 3}
    assert table["failure"].isna().all()
    assert table["mean_fit_time"].gt(0).all()
    assert search.best_index_ == 1  # ties go to the first candidate


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.long
def test_the_method_is_chosen_too(as_dict):
    methods = [("blind", KMeans(2, n_init=2, random_state=0), None), ("pck", pck(), K)]
    if as_dict:
        methods = {"blind": methods[0][1], "pck": (pck(), K)}
    search = HintSearchCV(methods, random_state=0).fit(X, supervision=HINTS)
    assert search.best_method_ == "pck"
    assert search.cv_results_["method"].tolist() == ["blind", "pck", "pck", "pck"]
    assert search.cv_results_["n_clusters"].tolist() == [2, 2, 3, 4]


def test_probabilities_are_delegated():
    search = HintSearchCV(GaussianMixture(random_state=0), {"n_components": [2, 3]}, random_state=0)
    assert hasattr(search, "predict_proba")
    search.fit(X, supervision=HINTS)
    assert search.best_params_ == {"n_components": 3}
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(search.labels_, search.predict(X))  # a mixture has no labels_


def test_pipelines_are_searched_by_step():
    pipeline = make_pipeline(StandardScaler(), MPCKMeans(n_init=2, random_state=0))
    grid = {"mpckmeans__n_clusters": [2, 3], "standardscaler": [StandardScaler(), "passthrough"]}
    search = HintSearchCV(pipeline, grid, cv=3, random_state=0).fit(X, supervision=HINTS)
    assert search.best_method_ == "MPCKMeans"
    assert search.best_params_["mpckmeans__n_clusters"] == 3
    assert search.cv_results_["n_clusters"].tolist() == [2, 2, 3, 3]
    assert adjusted_rand_score(Y, search.labels_) == 1.0


def test_the_search_inside_a_pipeline_gets_the_hints():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), HintSearchCV(pck(), K, cv=3, random_state=0))
        pipeline.fit(X, supervision=HINTS)
    assert pipeline[-1].best_params_ == {"n_clusters": 3}


def test_triplets_and_methods_for_links():
    hints = sample_triplets(Y, 60, random_state=0)
    search = HintSearchCV(pck(), K, as_links=True, cv=3, random_state=0).fit(X, supervision=hints)
    assert search.best_params_ == {"n_clusters": 3}
    assert search.cv_results_["triplet_accuracy"][1] == 1.0
    assert np.isnan(search.cv_results_["pair_accuracy"]).all()


# ---------------------------------------------------------------------- the choice


class Preset(KMeans):
    """An estimator whose labels are right for rows `first` to `n_right` and unique elsewhere."""

    def __init__(self, n_clusters=2, *, n_right=60, first=0):
        super().__init__(n_clusters)
        self.n_right = n_right
        self.first = first

    def fit(self, X, y=None):
        rows = np.arange(60)
        self.kept_ = np.where((rows < self.n_right) & (rows >= self.first), Y, 3 + rows)
        return self

    def predict(self, X):
        return self.kept_


def choose_candidate(rows, **options):
    grid = [{"n_clusters": [k], "n_right": [n]} for k, n in rows]
    search = HintSearchCV(Preset(), grid, cv=2, random_state=0, refit=False, **options)
    return search.fit(X, supervision=HINTS).best_index_


def test_equal_scores_go_to_fewer_clusters_and_then_to_the_first():
    assert choose_candidate([(5, 60), (4, 60), (4, 60)]) == 1
    assert choose_candidate([(5, 60), (4, 30)]) == 0


def test_one_standard_error_prefers_fewer_clusters():
    rows = [(5, 60), (2, 20), (4, 50)]
    assert choose_candidate(rows) == 0
    assert choose_candidate(rows, rule="one_standard_error") == 0  # a perfect score has no error
    rows = [(5, 54), (2, 20), (4, 52)]
    assert choose_candidate(rows) == 0
    assert choose_candidate(rows, rule="one_standard_error") == 2
    assert (
        choose_candidate(rows, rule="one_standard_error", scoring=lambda held_out: held_out.right.mean()) == 2
    )
    with pytest.raises(ValueError, match="rule must be one of"):
        choose_candidate(rows, rule="simplest")


def search_presets(rows, **options):
    grid = [{"n_clusters": [k], "n_right": [n]} for k, n in rows]
    search = HintSearchCV(Preset(), grid, cv=2, random_state=0, refit=False, **options)
    return search.fit(X, supervision=HINTS)


def test_candidates_within_one_standard_error_are_ties_the_simplest_first():
    search = search_presets([(5, 54), (2, 20), (4, 52), (4, 54), (3, 20)])
    assert search.ties_.tolist() == [2, 3, 0]  # fewer clusters first, then by position
    assert search.cv_results_["tied"].tolist() == [True, False, True, True, False]
    assert search.best_index_ == 3  # the choice follows the rule
    assert search_presets([(5, 60), (4, 50)]).ties_.tolist() == [0]  # a perfect score has no error
    own = search_presets([(5, 60), (4, 60), (4, 20)], scoring=lambda held_out: held_out.right.mean())
    assert own.ties_.tolist() == [1, 0]


def test_the_error_of_a_difference_is_that_of_paired_answers():
    search = search_presets([(5, 54), (4, 40)])
    right = np.array([[(pair < n).all() for pair in HINTS.must] for n in (54, 40)], dtype=float)
    difference = np.concatenate([right[0] - right[1], np.zeros(len(HINTS.cannot))])
    expected = difference.std() / np.sqrt(len(difference))
    assert search.cv_results_["error_difference"][0] == 0
    assert search.cv_results_["error_difference"][1] == pytest.approx(expected, rel=0.1)  # 50 groups


def search_methods(*n_right, **options):
    methods = [(f"method {place}", Preset(3, n_right=n)) for place, n in enumerate(n_right)]
    search = HintSearchCV(methods, cv=2, random_state=0, refit=False, **options)
    return search.fit(X, supervision=HINTS)


@pytest.mark.parametrize(("rule", "best"), [("simplest_method", "simple"), ("best", "rich")])
def test_the_first_of_hardly_distinguished_methods_is_chosen(rule, best):
    # Each is right where the other is wrong, and the second a little more often.
    methods = [("simple", Preset(3, first=10)), ("rich", Preset(3, n_right=46))]
    search = HintSearchCV(methods, cv=2, rule=rule, random_state=0, refit=False).fit(X, supervision=HINTS)
    simple, rich = search.cv_results_["mean_test_score"]
    assert 0 < rich - simple < 0.5 * search.cv_results_["error_difference"][0]
    assert search.best_method_ == best


def test_a_clearly_better_method_is_chosen_although_listed_last():
    assert search_methods(20, 54).best_method_ == "method 1"
    assert search_methods(54, 20).best_method_ == "method 0"


def test_the_number_of_clusters_of_a_method_is_the_best_one():
    methods = [("first", Preset(), [{"n_clusters": [k], "n_right": [n]} for k, n in ((2, 46), (3, 54))])]
    methods.append(("second", Preset(5, n_right=54)))
    search = HintSearchCV(methods, cv=2, random_state=0, refit=False).fit(X, supervision=HINTS)
    assert search.cv_results_["tied"].tolist() == [False, True, True]
    assert (search.best_method_, search.best_params_["n_clusters"]) == ("first", 3)


def test_several_methods_are_compared_on_three_splits():
    once, thrice = search_methods(52, 54, n_repeats=1), search_methods(52, 54)
    assert (once.n_repeats_, thrice.n_repeats_) == (1, 3)
    assert (once.n_splits_, once.n_scored_) == (thrice.n_splits_, thrice.n_scored_)
    # These models do not depend on the folds, so repeats hardly change scores and errors.
    for name in ("mean_test_score", "error_test_score", "error_difference"):
        np.testing.assert_allclose(once.cv_results_[name], thrice.cv_results_[name], rtol=0.1)
    assert np.isfinite(thrice.cv_results_["split5_test_score"]).all()
    assert search_presets([(2, 60)]).n_repeats_ == 1
    with pytest.raises(ValueError, match="n_repeats must be 'auto' or an integer of at least 1; got 0"):
        search_methods(52, 54, n_repeats=0)


@pytest.mark.filterwarnings("ignore::likewise.exceptions.TooFewClustersWarning")
def test_agreement_is_the_score_if_few_pairs_are_together():
    search = search_presets([(3, 60), (3, 20)])
    assert HINTS.must.shape[0] > 0.25 * 60
    assert search.scoring_ == "accuracy"
    many = np.arange(60) % 10
    hints = sample_links(many, 60, random_state=0)
    grid = {"n_clusters": [2, 3]}
    search = HintSearchCV(pck(), grid, cv=2, random_state=0).fit(X, supervision=hints)
    assert search.scoring_ == "agreement"
    assert (
        HintSearchCV(pck(), grid, cv=2, scoring="accuracy").fit(X, supervision=hints).scoring_ == "accuracy"
    )
    with pytest.raises(ValueError, match="scoring must be one of"):
        HintSearchCV(pck(), grid, scoring="best").fit(X, supervision=hints)


def test_agreement_rejects_a_model_that_predicts_apart_for_all_pairs():
    many = np.repeat(np.arange(10), 12)
    rows = np.random.RandomState(0).normal(size=(120, 2)) + 3 * np.column_stack([many % 4, many // 4])
    hints = sample_links(many, 100, random_state=0)

    class Alone(KMeans):
        """An estimator that puts every row into a separate cluster."""

        def fit(self, X, y=None):
            return self

        def predict(self, X):
            return np.arange(len(X))

    methods = [("alone", Alone(2)), ("pck", pck(n_clusters=5))]
    by = {
        scoring: HintSearchCV(methods, cv=2, scoring=scoring, random_state=0, refit=False)
        .fit(rows, supervision=hints)
        .best_method_
        for scoring in ("accuracy", "auto")
    }
    assert by == {"accuracy": "alone", "auto": "pck"}


def test_the_choice_does_not_depend_on_the_number_of_jobs():
    calls = []
    one = HintSearchCV(pck(), K, cv=2, random_state=3).fit(X, supervision=HINTS)
    two = HintSearchCV(
        pck(), K, cv=2, random_state=3, n_jobs=2, progress=lambda done, total: calls.append((done, total))
    ).fit(X, supervision=HINTS)
    for name in ("mean_test_score", "split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    assert calls == [(n, 6) for n in range(1, 7)]


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_scikit_learns_callbacks_see_every_fit():
    class Counter:
        n_tasks = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            Counter.n_tasks += context.task_name == "iteration"

        def teardown(self, estimator, context):
            pass

    HintSearchCV(pck(), K, cv=2, random_state=0).set_callbacks(Counter()).fit(X, supervision=HINTS)
    assert Counter.n_tasks == 6


# ---------------------------------------------------------------------- failures


def test_failed_candidates_are_skipped():
    # Four rows that are pairwise apart do not fit into two or three clusters.
    apart = [(0, 20), (0, 40), (20, 40), (1, 0), (1, 20), (1, 40)]
    hints = HINTS | Supervision.from_links(60, cannot_groups=[[0, 1, 20, 40]], cannot=apart)
    search = HintSearchCV(COPKMeans(n_init=1, random_state=0), K, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match=r"2 of 3 candidates failed.*n_clusters': 2"):
        search.fit(X, supervision=hints)
    assert search.best_params_ == {"n_clusters": 4}
    assert np.isnan(search.cv_results_["mean_test_score"][:2]).all()
    assert search.cv_results_["rank_test_score"].tolist() == [2, 2, 1]
    assert "InfeasibleSupervisionError" in search.cv_results_["failure"][0]
    assert search.cv_results_["failure"][2] is None


def test_if_all_fail_an_error_says_why():
    search = HintSearchCV(pck(), {"n_clusters": [1, 100]}, cv=2, random_state=0)
    with pytest.raises(ValueError, match=r"every fit failed.*PCKMeans with {'n_clusters': 1}"):
        search.fit(X, supervision=HINTS)
    with pytest.raises(SupervisionError, match="n_clusters=1"):
        search.set_params(error_score="raise").fit(X, supervision=HINTS)


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        ([("a", pck(), K)], K, "omit param_grid"),
        ([("a", pck(), K), ("a", pck(), K)], None, "unique names"),
        ([], None, "unique names"),
        ([pck()], None, "list of \\(name, estimator, grid\\)"),
        ("pck", None, "list of \\(name, estimator, grid\\)"),
        ({"a": (K, pck())}, None, "list of \\(name, estimator, grid\\)"),
        (pck(), {"n_cluster": [2]}, "n_cluster"),
    ],
)
def test_invalid_searches_are_rejected(estimator, grid, message):
    search = HintSearchCV(estimator, grid)
    assert hasattr(search, "predict") in (True, False)
    with pytest.raises(ValueError, match=message):
        search.fit(X, supervision=HINTS)


def test_hints_are_needed():
    with pytest.raises(SupervisionError, match="no hints to score by"):
        HintSearchCV(pck(), K).fit(X)
    with pytest.raises(SupervisionError, match="cannot be split into 5 folds"):
        HintSearchCV(pck(), K).fit(X, supervision=Supervision.from_links(60, must=[(0, 1)]))


def test_without_refit_there_is_no_model():
    search = HintSearchCV(pck(), K, cv=2, refit=False, random_state=0)
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, supervision=HINTS)
    assert not hasattr(search, "labels_")
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(X)


# ---------------------------------------------------------------------- scikit-learn's contract


def test_it_is_an_estimator():
    methods = [("pck", pck(), K), ("k", KMeans(3, n_init=1, random_state=0), None)]
    search = HintSearchCV(methods, cv=HintKFold(3, random_state=0))
    copy = clone(search)
    assert copy.estimator[0][1] is not methods[0][1]
    assert copy.get_params()["cv"].n_splits == 3
    assert is_clusterer(search)
    assert "HintSearchCV" in repr(search)
    labels = search.fit_predict(X, supervision=HINTS)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    np.testing.assert_array_equal(labels, search.labels_)
    assert methods[0][1].n_clusters == 8  # the input is unchanged
