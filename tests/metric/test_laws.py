"""Properties that hold for all problems of a kind."""

import warnings

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from likewise import Supervision
from likewise.exceptions import SupervisionError, UnsupportedSupervisionError
from likewise.metric import ITML, LSML, MMC, RCA, RelativeSVM, SparseLP, SSSVaD
from likewise.supervision import KINDS, sample_links, sample_triplets
from profiles import fewer

IRIS, Y = load_iris(return_X_y=True)
LINKS = sample_links(Y, 60, random_state=0)
TRIPLETS = sample_triplets(Y, 40, neither=False, random_state=0)
ALL = [
    ITML(),
    LSML(),
    MMC(),
    MMC(diagonal=True),
    RCA(cannot="drop"),
    RelativeSVM(),
    SparseLP(),
    SparseLP(diagonal=True),
]
SEEDS = st.integers(0, 10_000)


def hints_for(model, seed=0):
    if "links" in model.supported_hints:
        return sample_links(Y, 60, random_state=seed)
    return sample_triplets(Y, 40, neither=False, random_state=seed)


@pytest.mark.parametrize("model", ALL, ids=str)
def test_metrics_are_symmetric_positive_and_finite(model):
    for seed in range(3):
        M = clone(model).fit(IRIS, supervision=hints_for(model, seed)).metric_
        np.testing.assert_array_equal(M, M.T)
        assert np.isfinite(M).all()
        assert np.linalg.eigvalsh(M)[0] >= -1e-10 * np.abs(M).max()


@pytest.mark.parametrize("model", ALL, ids=str)
def test_hints_help_k_means(model):
    mapped = clone(model).fit(IRIS, supervision=hints_for(model)).transform(IRIS)
    plain, learned = (KMeans(3, n_init=5, random_state=0).fit_predict(X) for X in (IRIS, mapped))
    assert adjusted_rand_score(Y, learned) >= adjusted_rand_score(Y, plain) - 0.01


@pytest.mark.parametrize("model", ALL, ids=str)
def test_order_of_hints_and_of_rows_within_them_does_not_matter(model):
    hints = hints_for(model)
    if "links" in hints.kinds:
        turned = Supervision.from_links(150, hints.must[::-1, ::-1], hints.cannot[::-1, ::-1])
    else:
        words = {"AB": "BC", "AC": "AC", "BC": "AB"}
        turned = Supervision.from_triplets(
            150, hints.triplets[::-1, ::-1], [words[w] for w in hints.answer_words[::-1]]
        )
    np.testing.assert_array_equal(
        clone(model).fit(IRIS, supervision=hints).components_,
        clone(model).fit(IRIS, supervision=turned).components_,
    )


@pytest.mark.parametrize("model", ALL, ids=str)
def test_a_shift_of_all_rows_changes_nothing(model):
    hints = hints_for(model)
    here = clone(model).fit(IRIS, supervision=hints).metric_
    there = clone(model).fit(IRIS + 100.0, supervision=hints).metric_
    np.testing.assert_allclose(there, here, rtol=1e-3, atol=1e-3 * np.abs(here).max())


@pytest.mark.parametrize("model", [RCA(cannot="drop"), MMC(), MMC(diagonal=True)], ids=str)
def test_units_of_the_columns_do_not_matter(model):
    units = np.array([1.0, 100.0, 0.01, 7.0])
    one = clone(model).fit(IRIS, supervision=LINKS).distances(IRIS)
    other = clone(model).fit(IRIS * units, supervision=LINKS).distances(IRIS * units)
    np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6 * one.max())


@pytest.mark.parametrize("model", [LSML(), RelativeSVM(), RelativeSVM(kernel="rbf"), SparseLP()], ids=str)
def test_the_scale_of_all_rows_does_not_matter(model):
    one = clone(model).fit(IRIS, supervision=TRIPLETS).metric_
    other = clone(model).fit(IRIS * 50.0, supervision=TRIPLETS).metric_
    np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4 * np.abs(one).max())


@given(SEEDS)
@fewer(4)
def test_rca_whitens_the_variation_within_chunklets(seed):
    hints = sample_links(Y, 80, random_state=seed, balance=1.0)
    mapped = RCA(regularization=0).fit(IRIS, supervision=hints).transform(IRIS)
    parts = [mapped[rows] - mapped[rows].mean(axis=0) for rows in hints.closure().components()]
    within = np.concatenate(parts)
    np.testing.assert_allclose(within.T @ within / len(within), np.eye(4), atol=1e-7)


@given(SEEDS)
@fewer(4)
def test_itml_with_costly_slack_satisfies_every_feasible_link(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 10)
    X = (rng.uniform(0, 1, (20, 2)) + np.outer(y, [4, 0])) @ rng.normal(size=(2, 2))
    hints = sample_links(y, 30, random_state=seed)
    # The classes are farther apart than they vary, so some metric satisfies these bounds.
    model = ITML(1e6, bounds=(5.0, 0.5), max_iter=20_000, tol=1e-7).fit(X, supervision=hints)
    squared = np.square(model.distances(X))
    i, j = hints.must.T
    assert (squared[i, j] <= 5.0 * 1.01).all()
    i, j = hints.cannot.T
    assert (squared[i, j] >= 0.5 * 0.99).all()


@pytest.mark.parametrize("model", [*ALL, SSSVaD(3, random_state=0)], ids=str)
def test_unsupported_hints_and_hints_for_other_rows_are_refused(model):
    everything = {
        "links": LINKS,
        "triplets": TRIPLETS,
        "labels": Supervision.from_labels(Y.tolist()),
        "bags": Supervision.from_bags((np.arange(150) % 5).tolist(), {0: [1, 2]}),
    }
    for kind in set(KINDS) - model.supported_hints:
        with pytest.raises(UnsupportedSupervisionError, match=kind):
            clone(model).fit(IRIS, supervision=everything[kind])
    with pytest.raises(SupervisionError, match="149"):
        clone(model).fit(IRIS, supervision=hints_for(model)[:149])


@pytest.mark.parametrize("model", ALL, ids=str)
def test_float32_rows_give_the_same_metric_and_stay_float32(model):
    X = np.round(IRIS * 16)
    hints = hints_for(model)
    one, other = (
        clone(model).fit(X, supervision=hints),
        clone(model).fit(X.astype(np.float32), supervision=hints),
    )
    np.testing.assert_allclose(other.metric_, one.metric_, rtol=1e-6, atol=1e-9 * np.abs(one.metric_).max())
    assert other.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("temperature", [1e6, 0.5])
def test_sssvad_without_triplets_is_k_means_when_hot(temperature):
    ours = SSSVaD(3, temperature=temperature, random_state=0).fit(IRIS)
    theirs = KMeans(3, n_init=5, random_state=0).fit(IRIS)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > (0.999 if temperature > 1 else 0.5)
    if temperature > 1:
        np.testing.assert_allclose(ours.feature_weights_, 1.0, atol=1e-4)
        scale = np.square(IRIS - IRIS.mean(axis=0)).mean() * 4
        assert ours.objective_ == pytest.approx(theirs.inertia_ / scale, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_sssvad_predicts_the_fitted_labels_of_unhinted_rows(seed):
    hints = sample_triplets(Y, 30, neither=False, random_state=seed)
    model = SSSVaD(3, random_state=seed).fit(IRIS, supervision=hints)
    free = ~hints.touched
    np.testing.assert_array_equal(model.predict(IRIS)[free], model.labels_[free])
    again = SSSVaD(3, random_state=seed).fit(IRIS, supervision=hints)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert model.cluster_centers_.dtype == np.float64


def test_a_learner_in_a_pipeline_and_a_search_gets_its_hints():
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(ITML(), KMeans(3, n_init=2, random_state=0))
        pipe.fit(IRIS, supervision=LINKS)
        alone = ITML().fit(IRIS, supervision=LINKS)
        np.testing.assert_allclose(pipe[0].metric_, alone.metric_)
        assert not np.allclose(pipe[0].metric_, np.eye(4))
        search = GridSearchCV(pipe, {"itml__gamma": [0.1, 1.0]}, cv=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(IRIS, supervision=LINKS)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
