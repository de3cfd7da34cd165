"""Bad rows, bad parameters, odd hints: a clear error, a warning, or the right answer. Never NaN."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from likewise import Supervision
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    SupervisionError,
    UnsupportedSupervisionError,
)
from likewise.metric import ITML, LSML, MMC, RCA, RelativeSVM, SparseLP, SSSVaD
from likewise.supervision import sample_links, sample_triplets

X, Y = load_iris(return_X_y=True)
DIGITS, DIGIT = load_digits(return_X_y=True)
LINKED = [ITML(), MMC(), MMC(diagonal=True), RCA(cannot="drop")]
WITH_TRIPLETS = [
    LSML(),
    RelativeSVM(),
    RelativeSVM(kernel="rbf"),
    SparseLP(),
    SSSVaD(3, n_init=1, random_state=0),
]


def finite(model):
    if isinstance(model, SSSVaD):
        return bool(np.isfinite(model.feature_weights_).all() and np.isfinite(model.cluster_centers_).all())
    return bool(np.isfinite(model.components_).all()) and len(model.components_) > 0


@pytest.mark.parametrize("model", LINKED, ids=str)
def test_digits_with_their_constant_columns(model):
    for n_links in (40, 300):
        hints = sample_links(DIGIT, n_links, random_state=0)
        fitted = clone(model).fit(DIGITS, supervision=hints)
        assert finite(fitted)
        assert np.isfinite(fitted.transform(DIGITS)).all()
    assert (DIGITS.std(axis=0) == 0).any()


@pytest.mark.parametrize("model", WITH_TRIPLETS[:2], ids=str)
def test_digits_with_triplets(model):
    hints = sample_triplets(DIGIT, 60, neither=False, random_state=0)
    assert finite(clone(model).fit(DIGITS, supervision=hints))


@pytest.mark.parametrize("model", LINKED + WITH_TRIPLETS, ids=str)
def test_more_columns_than_rows(model):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    wide = rng.normal(size=(12, 20)) + 3 * y[:, None]
    if "links" in model.supported_hints:
        hints = sample_links(y, 20, random_state=0)
    else:
        hints = sample_triplets(y, 10, neither=False, random_state=0)
    model = clone(model)
    if isinstance(model, SSSVaD):
        model.set_params(n_clusters=2)
    assert finite(model.fit(wide, supervision=hints))


@pytest.mark.parametrize("model", LINKED, ids=str)
def test_all_links_on_one_row(model):
    hints = Supervision.from_links(
        150, must=[(0, i) for i in range(1, 40)], cannot=[(0, i) for i in range(60, 99)]
    )
    assert finite(clone(model).fit(X, supervision=hints))


@pytest.mark.parametrize("model", LINKED, ids=str)
def test_identical_rows(model):
    rows = np.repeat([[0.0, 0.0], [1.0, 3.0], [2.0, 1.0]], 4, axis=0)
    hints = Supervision.from_links(12, must=[(0, 1), (4, 5), (8, 9), (0, 2)], cannot=[(0, 4), (5, 9)])
    assert finite(clone(model).fit(rows, supervision=hints))
    same = Supervision.from_links(12, must=[(0, 1), (4, 8)], cannot=[(0, 4), (2, 3)])
    if isinstance(model, RCA):
        assert finite(clone(model).fit(rows, supervision=same))
        return
    with pytest.warns(InconsistentSupervisionWarning, match=r"rows 2 and 3, would separate identical rows"):
        assert finite(clone(model).fit(rows, supervision=same))


@pytest.mark.parametrize("model", WITH_TRIPLETS, ids=str)
def test_triplets_of_identical_rows(model):
    rows = np.repeat([[0.0, 0.0], [1.0, 3.0], [2.0, 1.0]], 4, axis=0)
    fine = Supervision.from_triplets(12, [(0, 1, 4), (4, 5, 8), (8, 9, 0)], "AB")
    assert finite(clone(model).fit(rows, supervision=fine))
    odd = Supervision.from_triplets(12, [(0, 4, 1), (4, 5, 8), (8, 9, 0)], "AB")
    with pytest.warns(InconsistentSupervisionWarning, match="identical rows"):
        assert finite(clone(model).fit(rows, supervision=odd))


@pytest.mark.parametrize("model", [*LINKED, *WITH_TRIPLETS[:2]], ids=str)
def test_rows_that_are_all_equal(model):
    rows = np.ones((6, 3))
    if "links" in model.supported_hints:
        hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)])
    else:
        hints = Supervision.from_triplets(6, [(0, 1, 2)], "AB")
    model = clone(model)
    if isinstance(model, RCA):
        model.fit(rows, supervision=hints)
    else:
        with pytest.warns(InconsistentSupervisionWarning, match="identical"):
            model.fit(rows, supervision=hints)
    np.testing.assert_array_equal(model.components_, np.eye(3))


def test_links_of_one_kind():
    must, cannot = (
        Supervision.from_links(150, must=[(0, 1), (2, 3)]),
        Supervision.from_links(150, cannot=[(0, 60), (1, 120)]),
    )
    for hints in (must, cannot):
        assert finite(ITML().fit(X, supervision=hints))
    assert finite(RCA().fit(X, supervision=must))
    np.testing.assert_array_equal(RCA(cannot="drop").fit(X, supervision=cannot).components_, np.eye(4))
    with pytest.raises(InfeasibleSupervisionError, match=r"no cannot-links.*use RCA or ITML"):
        MMC().fit(X, supervision=must)
    with pytest.raises(InfeasibleSupervisionError, match=r"no must-links.*use ITML"):
        MMC().fit(X, supervision=cannot)


def test_rca_refuses_cannot_links_unless_set_to_drop_them():
    both = Supervision.from_links(150, must=[(0, 1)], cannot=[(0, 60)])
    with pytest.raises(UnsupportedSupervisionError, match=r"1 cannot-link.*cannot='drop'"):
        RCA().fit(X, supervision=both)
    alone = RCA().fit(X, supervision=Supervision.from_links(150, must=[(0, 1)]))
    np.testing.assert_array_equal(RCA(cannot="drop").fit(X, supervision=both).components_, alone.components_)


@pytest.mark.parametrize("model", LINKED, ids=str)
def test_contradictory_links_give_a_warning(model):
    hints = Supervision.from_links(150, must=[(0, 1), (1, 2), (50, 51)], cannot=[(0, 2), (0, 100)])
    with pytest.warns(InconsistentSupervisionWarning, match=r"rows 0 and 2.*0 – 1 – 2"):
        assert finite(clone(model).fit(X, supervision=hints))


@pytest.mark.parametrize("model", WITH_TRIPLETS, ids=str)
def test_contradictory_triplets_give_a_warning(model):
    hints = Supervision.from_triplets(150, [(0, 1, 60), (0, 1, 60), (0, 2, 99)], ["AB", "AC", "AB"])
    with pytest.warns(InconsistentSupervisionWarning, match=r"contradictory answers.*\(0, 1, 60\)"):
        assert finite(clone(model).fit(X, supervision=hints))


@pytest.mark.parametrize("model", WITH_TRIPLETS, ids=str)
def test_neither_is_refused_or_dropped_and_never_ignored_silently(model):
    hints = Supervision.from_triplets(150, [(0, 1, 60), (0, 60, 120)], ["AB", "NEITHER"])
    with pytest.raises(UnsupportedSupervisionError, match=r"1 of 2 triplets.*neither='drop'"):
        clone(model).fit(X, supervision=hints)
    dropped = clone(model).set_params(neither="drop").fit(X, supervision=hints)
    alone = clone(model).fit(X, supervision=Supervision.from_triplets(150, [(0, 1, 60)], "AB"))
    if isinstance(model, SSSVaD):
        np.testing.assert_array_equal(dropped.labels_, alone.labels_)
    else:
        np.testing.assert_array_equal(dropped.components_, alone.components_)
    nothing = Supervision.from_triplets(150, [(0, 60, 120)], "NEITHER")
    assert finite(clone(model).set_params(neither="drop").fit(X, supervision=nothing))


def test_many_links_on_few_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    rows = rng.normal(size=(500, 5)) + 2 * np.eye(5)[y]
    hints = sample_links(y, 50_000, random_state=0)
    for model in (ITML(max_iter=20, tol=1.0), MMC(), RCA(cannot="drop")):
        assert finite(model.fit(rows, supervision=hints))
    triplets = sample_triplets(y, 20_000, neither=False, random_state=0)
    assert finite(LSML().fit(rows, supervision=triplets))


def test_groups_beyond_the_limit_raise_an_error_with_a_suggestion():
    hints = Supervision.from_links(2000, must_groups=[range(2000)], cannot=[(0, 1)])
    with pytest.raises(SupervisionError, match=r"1999000 links.*use RCA"):
        ITML().fit(np.zeros((2000, 2)), supervision=hints.drop_conflicts())


def test_a_tight_iteration_limit_is_reported():
    hints = sample_links(Y, 100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ITML stopped after 1 iterations"):
        ITML(max_iter=1).fit(X, supervision=hints)
    with pytest.warns(ConvergenceWarning, match="MMC stopped"):
        MMC(max_iter=1, tol=0).fit(X, supervision=hints)
    triplets = sample_triplets(Y, 100, neither=False, random_state=0)
    with pytest.warns(ConvergenceWarning, match="LSML stopped"):
        LSML(max_iter=1).fit(X, supervision=triplets)


def test_a_zero_metric_is_reported():
    triplets = sample_triplets(Y, 30, neither=False, random_state=0)
    with pytest.warns(InconsistentSupervisionWarning, match="Lower sparsity"):
        model = SparseLP(1e6).fit(X, supervision=triplets)
    np.testing.assert_array_equal(model.components_, np.eye(4))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RCA(n_components=0), "n_components must be None or an integer|n_components must be one of None or"),
        (RCA(n_components=9), "n_components=9, but X has 4 columns"),
        (RCA(regularization=1.5), "regularization must be a number from 0 to 1, got 1.5"),
        (RCA(cannot="ignore"), "cannot must be one of 'refuse', 'drop', got 'ignore'"),
        (ITML(gamma=0), "gamma must be a number above 0"),
        (ITML(gamma=np.inf), "gamma"),
        (ITML(bounds=(1,)), "bounds must be .* two positive numbers"),
        (ITML(bounds=(0, 1)), "bounds"),
        (ITML(bounds="ab"), "bounds"),
        (ITML(prior="random"), "prior must be one of 'identity', 'covariance'"),
        (ITML(prior=np.eye(3)), r"prior must be finite, symmetric and of shape \(4, 4\), got shape \(3, 3\)"),
        (ITML(prior=np.diag([1.0, 1, 1, 0])), "positive definite"),
        (LSML(prior=["a"]), "prior is not an array of numbers"),
        (LSML(tol=0), "tol must be a number above 0"),
        (LSML(neither="use"), "neither must be one of"),
        (MMC(diagonal="yes"), "diagonal"),
        (MMC(max_iter=0), "max_iter must be an integer of at least 1"),
        (RelativeSVM(C=0), "C must be a number above 0"),
        (RelativeSVM(kernel="cosine"), "kernel must be one of None, 'linear', 'poly', 'rbf', got 'cosine'"),
        (RelativeSVM(gamma=-1), "gamma must be one of None or a number above 0"),
        (SparseLP(sparsity=0), "sparsity must be a number above 0"),
        (SSSVaD(0), "n_clusters must be an integer of at least 1"),
        (SSSVaD(151), "n_samples=150 should be >= n_clusters=151"),
        (SSSVaD(3, temperature=0), "temperature"),
        (SSSVaD(3, init="random"), "init must be one of"),
    ],
    ids=str,
)
def test_errors_name_the_invalid_parameter_and_the_expected_value(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X)


def test_a_covariance_without_inverse_is_no_prior():
    with pytest.raises(ValueError, match=r"vary in only 61 of 64 directions.*prior='identity'"):
        ITML(prior="covariance").fit(DIGITS)


def test_sssvad_with_fewer_distinct_rows_than_clusters():
    rows = np.repeat([[0.0, 0.0], [5.0, 5.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="found 2 distinct clusters of the 3"):
        model = SSSVaD(3, random_state=0).fit(rows)
    assert finite(model)
