"""Bad rows, bad links, bad parameters: a clear error, or a warning and numbers that are finite."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from likewise import (
    EquivalenceGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    UnsupportedSupervisionError,
)
from likewise.supervision import sample_links

X = np.random.default_rng(0).normal(size=(40, 3)) + 3 * np.eye(3)[np.arange(40) % 3]
LINKS = Supervision.from_links(40, must=[(0, 3), (1, 4)], cannot=[(0, 1), (2, 4)])
SHAPES = ["full", "tied", "diag", "spherical"]
MEMBERS = {
    "pairs": PairwiseGaussianMixture(relations="pairs"),
    "components": PairwiseGaussianMixture(relations="components"),
    "subclusters": PairwiseGaussianMixture(n_subclusters=2),
    "equivalence": EquivalenceGaussianMixture(),
    "posterior": PosteriorConstrainedGaussianMixture(),
}


def member(name, k=3, **more):
    model = MEMBERS[name]
    return type(model)(**{**model.get_params(), "n_clusters": k, "n_init": 2, "random_state": 0, **more})


def check_fit(model, rows, hints):
    """Fit data whose classes may become empty; check that all numbers are finite and densities valid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, supervision=hints)
    for name in ("means_", "covariances_", "weights_", "lower_bounds_"):
        assert np.isfinite(getattr(model, name)).all(), name
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(rows)).all()
    assert np.isfinite(model.sample(5)[0]).all()
    return model


DEGENERATE = {
    "more columns than rows": np.random.default_rng(1).normal(size=(12, 30)),
    "rows many times": np.repeat(np.random.default_rng(2).normal(size=(4, 3)), 3, axis=0),
    "a constant column": np.column_stack([X[:12, :2], np.full(12, 7.0)]),
    "columns that repeat": X[:12, [0, 0, 1]],
    "all rows alike": np.ones((12, 3)),
    "an outlier": np.vstack([X[:11], [[1e9, -1e9, 1e9]]]),
    "tiny numbers": X[:12] * 1e-160,
    "huge numbers": X[:12] * 1e100,
}


# The shapes differ where a covariance is singular or underflows.
HARD = ("more columns than rows", "all rows alike", "tiny numbers")


@pytest.mark.parametrize("name", list(MEMBERS))
@pytest.mark.parametrize(
    ("kind", "shape"),
    [(kind, shape) for kind in DEGENERATE for shape in (SHAPES if kind in HARD else SHAPES[:1])],
)
def test_degenerate_rows_give_finite_numbers(kind, shape, name):
    rows = DEGENERATE[kind]
    hints = Supervision.from_links(12, must=[(0, 1)], cannot=[(2, 3), (3, 5)])
    check_fit(member(name, covariance_type=shape, max_iter=5), rows, hints)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_ridge_and_a_constant_column_give_finite_numbers(shape):
    rows = np.column_stack([X[:, :2], np.full(40, 7.0)])
    check_fit(
        PairwiseGaussianMixture(2, covariance_type=shape, reg_covar=0, n_init=2, random_state=0), rows, LINKS
    )


@pytest.mark.parametrize("name", list(MEMBERS))
def test_every_link_on_one_row(name):
    star = Supervision.from_links(
        40, must=[(0, i) for i in range(3, 12, 3)], cannot=[(0, i) for i in (1, 2, 4, 5, 7, 8, 10, 11)]
    )
    model = check_fit(member(name, max_iter=30), X, star)
    assert model.violations_.share > 0.8


@pytest.mark.parametrize("name", list(MEMBERS))
def test_every_row_in_links(name):
    y = np.arange(40) % 3
    chain = [(i, i + 3) for i in range(37)]
    hints = Supervision.from_links(40, must=chain, cannot=[(0, 1), (1, 2), (0, 2)])
    model = check_fit(member(name, init=np.eye(3)[np.repeat([0, 1, 2], 2)] * 3 + 0.1 * X[:6]
                          if name == "subclusters" else 3 * np.eye(3)), X, hints)  # fmt: skip
    assert model.violations_.share == 1.0
    assert [len(set(model.labels_[y == c])) for c in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("name", ["pairs", "components", "equivalence", "posterior"])
def test_only_cannot_links(name):
    pairs = np.arange(40).reshape(20, 2)
    model = check_fit(member(name), X, Supervision.from_links(40, cannot=pairs))
    assert model.violations_.n_cannot == 20
    assert (model.weights_ > 0).all()


@pytest.mark.parametrize("name", list(MEMBERS))
def test_an_empty_class_is_reported_and_keeps_its_parameters(name):
    far = np.array([[0.0, 0, 0], [3, 3, 3], [1e6, 1e6, 1e6]])
    init = np.repeat(far, 2, axis=0) if name == "subclusters" else far
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters of the 3 asked for"):
        model = member(name, init=init, covariance_type="tied", max_iter=300).fit(X, supervision=LINKS)
    assert np.isfinite(model.means_).all()
    assert model.weights_.min() < 1e-6
    assert (model.weights_ > 0).all()


@pytest.mark.parametrize("name", list(MEMBERS))
def test_one_class(name):
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        member(name, 1).fit(X, supervision=LINKS)
    model = member(name, 1).fit(X, supervision=Supervision.from_links(40, must=[(0, 1)]))
    assert set(model.labels_) == {0}
    assert model.weights_.tolist() == [1.0]


@pytest.mark.parametrize("name", list(MEMBERS))
def test_more_columns_than_rows_give_a_warning_if_covariances_are_matrices(name):
    wide = np.random.default_rng(0).normal(size=(20, 30))
    for shape in ("full", "tied"):
        words = f"30 columns and 20 rows.*{shape}.*covariance_type='diag'"
        with pytest.warns(ConvergenceWarning, match=words):
            member(name, 2, covariance_type=shape).fit(wide)
    member(name, 2, covariance_type="diag", max_iter=300).fit(wide)


def test_more_clusters_than_rows_is_refused():
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        PairwiseGaussianMixture(5).fit(X[:4])


@pytest.mark.parametrize("name", list(MEMBERS))
def test_links_that_contradict_one_another_give_a_warning_and_a_fit(name):
    hints = Supervision.from_links(40, must=[(0, 3), (3, 6)], cannot=[(0, 6), (1, 2)])
    weighs = name in ("pairs", "subclusters")
    with pytest.warns(InconsistentSupervisionWarning, match="0 – 3 – 6") as seen:
        model = check_fit(member(name, max_iter=50), X, hints)
    assert ("weighed against one another" if weighs else "must-links win") in str(seen[0].message)
    if not weighs:
        assert model.violations_.n_must_kept == 2
        assert model.violations_.violated_cannot.tolist()[0] == [0, 6]


@pytest.mark.parametrize("name", ["components", "equivalence"])
@pytest.mark.filterwarnings("ignore::likewise.exceptions.TooFewClustersWarning")
def test_links_that_no_labelling_satisfies_are_refused_if_they_are_hard(name):
    triangle = Supervision.from_links(40, must=[(2, 5)], cannot=[(0, 1), (1, 2), (5, 0)])
    with pytest.raises(
        InfeasibleSupervisionError, match=r"n_clusters=2: 3 must-link components .* 3 cannot-links"
    ):
        member(name, 2).fit(X, supervision=triangle)
    assert check_fit(member(name, 3), X, triangle).violations_.n_cannot == 3
    for soft in ("pairs", "posterior"):
        assert check_fit(member(soft, 2), X, triangle).violations_.share < 1


def test_a_large_odd_cycle_with_two_classes_gives_finite_numbers():
    ring = [(i, (i + 1) % 21) for i in range(21)]
    for normalize in (False, True):
        hints = Supervision.from_links(40, cannot=ring)
        model = check_fit(member("equivalence", 2, normalize=normalize, max_iter=5), X, hints)
        assert model.n_approximate_ == 1
        assert len(model.violations_.violated_cannot) == 1


def test_a_violated_link_always_gives_a_warning():
    ring = Supervision.from_links(40, cannot=[(i, (i + 1) % 21) for i in range(21)])
    with pytest.warns(ConvergenceWarning, match=r"20 of 21 .*too large to enumerate"):
        member("equivalence", 2).fit(X, supervision=ring)
    contrary = Supervision.from_links(40, must=[(0, 3), (3, 6)], cannot=[(0, 6)])
    with (
        pytest.warns(InconsistentSupervisionWarning),
        pytest.warns(ConvergenceWarning, match="They contradict one another"),
    ):
        member("equivalence").fit(X, supervision=contrary)


def test_weights_are_refused_if_links_are_hard():
    heavy = Supervision.from_links(40, must=[(0, 3)], must_weights=2.0)
    group = Supervision.from_links(40, cannot_groups=[[0, 1, 2]], cannot_group_weights=0.5)
    for hints in (heavy, group):
        for name, way_on in (
            ("components", "relations='pairs'"),
            ("equivalence", "PairwiseGaussianMixture"),
            ("posterior", "penalty"),
        ):
            with pytest.raises(UnsupportedSupervisionError, match=f"links carry weights.*{way_on}"):
                member(name).fit(X, supervision=hints)
        check_fit(member("pairs"), X, hints)
        check_fit(member("posterior", penalty=1.0), X, hints)


def test_other_kinds_of_hints_are_refused():
    labels = Supervision.from_labels([0, 1, *[None] * 38])
    with pytest.raises(UnsupportedSupervisionError, match=r"cannot use labels.*to_links"):
        PairwiseGaussianMixture(2).fit(X, supervision=labels)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", list(MEMBERS))
def test_rows_that_are_not_finite_are_refused(name, bad):
    rows = X.copy()
    rows[7, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        member(name).fit(rows, supervision=LINKS)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_subclusters": 0}, "n_subclusters must be an integer of at least 1"),
        ({"n_subclusters": 1.5}, "n_subclusters"),
        ({"covariance_type": "round"}, "covariance_type must be one of 'full', 'tied', 'diag', 'spherical'"),
        ({"relations": "triples"}, "relations must be one of 'auto', 'components', 'pairs'"),
        ({"init": "random"}, "init must be one of 'hints'"),
        ({"init": np.zeros((2, 3))}, r"init must be finite and of shape \(3, 3\), got shape \(2, 3\)"),
        ({"init": np.zeros((3, 2))}, r"shape \(3, 3\), got shape \(3, 2\)"),
        ({"init": np.full((3, 3), np.nan)}, "init must be finite"),
        ({"init": {"a": 1}}, "init is not an array of numbers"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
        ({"reg_covar": -1e-3}, "reg_covar"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_an_invalid_parameter_is_named_with_the_expected_values(parameters, words):
    with pytest.raises(ValueError, match=words):
        PairwiseGaussianMixture(**{"n_clusters": 3, **parameters}).fit(X)


@pytest.mark.parametrize("penalty", [0, -1.0, np.inf, "high"])
def test_an_invalid_penalty_is_refused(penalty):
    with pytest.raises(ValueError, match="penalty must be one of None or a number above 0"):
        PosteriorConstrainedGaussianMixture(3, penalty=penalty).fit(X)


def test_init_must_have_one_mean_per_subcluster():
    with pytest.raises(ValueError, match=r"shape \(6, 3\), got shape \(3, 3\)"):
        PairwiseGaussianMixture(3, n_subclusters=2, init=X[:3]).fit(X)


@pytest.mark.parametrize("name", list(MEMBERS))
def test_float32_rows_are_fitted_in_double_precision(name):
    rows = np.round(X * 8).astype(np.float32)
    one = check_fit(member(name), rows, LINKS)
    two = check_fit(member(name), rows.astype(np.float64), LINKS)
    assert one.means_.dtype == np.float64
    np.testing.assert_allclose(one.means_, two.means_, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_too_few_iterations_are_reported():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        model = PairwiseGaussianMixture(3, max_iter=2, random_state=0).fit(X, supervision=LINKS)
    assert not model.converged_
    assert model.n_iter_ == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "components", "equivalence", "posterior"])
def test_a_hundred_times_as_many_links_as_rows(name):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1000)
    rows = rng.normal(size=(1000, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    hints = sample_links(y, 100_000, random_state=0)
    for said in (hints, Supervision.from_links(1000, cannot=hints.cannot)):
        model = check_fit(member(name), rows, said)
        assert model.violations_.share > 0.95


@pytest.mark.parametrize("name", ["pairs", "components", "equivalence", "posterior"])
def test_ten_times_as_many_links_as_rows(name):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    rows = rng.normal(size=(200, 4)) + 2 * rng.normal(size=(3, 4))[y]
    model = check_fit(member(name, max_iter=30), rows, sample_links(y, 2000, random_state=0))
    assert model.violations_.share > 0.95
