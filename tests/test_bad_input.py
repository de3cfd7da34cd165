"""Bad and odd input: every estimator gives finite results or a clear error, and no NumPy warning escapes."""

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold
from sklearn.utils.validation import has_fit_parameter

from every_estimator import find_hinted_estimators
from likewise import (
    BayesianClustering,
    COPKMeans,
    DiscriminativeClustering,
    EquivalenceGaussianMixture,
    PCKMeans,
    Supervision,
)
from likewise.active import Interview
from likewise.evaluation import HintSearchCV, cross_validate_hints
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    SupervisionError,
    ThinSupervisionWarning,
    TooFewClustersWarning,
    UnsupportedSupervisionError,
)
from likewise.supervision import sample_links, sample_triplets

ESTIMATORS = find_hinted_estimators()
NAMES = [cls.__name__ for cls in ESTIMATORS]
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS, ids=NAMES)
for_links = pytest.mark.parametrize(
    "cls", [c for c in ESTIMATORS if "links" in c.supported_hints], ids=lambda c: c.__name__
)
clusterers = pytest.mark.parametrize(
    "cls", [c for c in ESTIMATORS if hasattr(c, "fit_predict")], ids=lambda c: c.__name__
)

N = 60
Y = np.repeat([0, 1, 2], 20)
X0 = np.random.default_rng(0).normal(size=(N, 3)) + 6 * np.eye(3)[Y]
NOISE = np.random.default_rng(1).normal(size=(N, 97))


def true_hints(cls, *, n=30, noise=0.0):
    """Return hints of the kinds that a method supports, all correct unless there is noise."""
    hints = Supervision.empty(N)
    if "links" in cls.supported_hints:
        hints |= sample_links(Y, n, noise=noise, random_state=0)
    if "triplets" in cls.supported_hints:
        hints |= sample_triplets(Y, n, noise=noise, random_state=0)
    if cls.supported_hints == {"labels"}:
        hints |= Supervision.from_labels([c if i % 5 == 0 else None for i, c in enumerate(Y.tolist())])
    return hints


def fit_model(cls, X, hints, n_clusters=3, **params):
    """Fit with every warning an error, except those that a fit may give."""
    known = cls().get_params(deep=False)
    wanted = {"n_clusters": n_clusters, "random_state": 0, "n_init": 2, "n_particles": 8, "max_iter": 30}
    wanted |= {name: "drop" for name in ("cannot", "neither") if known.get(name) == "refuse"}
    model = cls().set_params(**{k: v for k, v in (wanted | params).items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        warnings.simplefilter("ignore", ThinSupervisionWarning)  # there are few hints
        return model.fit(X, supervision=hints)


@cache
def fit_plain(cls):
    """Fit ordinary rows with true hints, as a comparison for several tests."""
    return fit_model(cls, X0, true_hints(cls))


def assert_sound(model, X, n_clusters=3):
    """Assert that all results of a fit are finite and that the labels are valid."""
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, float | np.ndarray):
            assert np.asarray(value).dtype.kind == "O" or np.isfinite(value).all(), name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for use in ("predict", "predict_proba", "transform", "score"):
            if hasattr(model, use):
                assert np.isfinite(getattr(model, use)(X)).all(), use
    if hasattr(model, "labels_"):
        assert model.labels_.shape == (len(X),)
        assert set(model.labels_.tolist()) <= set(range(n_clusters))


# ---------------------------------------------------------------------- odd hints

EVEN = range(0, N, 2)
SAY = {
    "star of must": {
        "links": Supervision.from_links(N, must=[(0, j) for j in range(1, 20)]),
        "triplets": Supervision.from_triplets(N, [(0, j, 59) for j in range(1, 20)], "AB"),
        "labels": Supervision.from_labels([0] * 20 + [None] * 40),
    },
    "star of cannot": {
        "links": Supervision.from_links(N, cannot=[(0, j) for j in range(1, N)]),
        "triplets": Supervision.from_triplets(N, [(0, j, j + 1) for j in range(1, 58)], "BC"),
    },
    "one component": {
        "links": Supervision.from_links(N, must=[(i, i + 1) for i in range(N - 1)]),
        "labels": Supervision.from_labels([0] * N),
    },
    "one group": {"links": Supervision.from_links(N, must_groups=[range(N)])},
    "two groups are all": {
        "links": Supervision.from_links(N, must_groups=[range(30), range(30, N)], cannot=[(0, 59)])
    },
    "cliques of two": {"links": Supervision.from_links(N, cannot_groups=[[i, 20 + i] for i in range(20)])},
    "every row": {
        "links": Supervision.from_links(
            N, must=[(i, i + 1) for i in EVEN], cannot=[(i, (i + 20) % N) for i in range(N)]
        ),
        "triplets": Supervision.from_triplets(
            N, [(i, i // 20 * 20 + (i + 1) % 20, (i + 20) % N) for i in range(N)], "AB"
        ),
        "labels": Supervision.from_labels(Y.tolist()),
    },
    "only neither": {
        "triplets": Supervision.from_triplets(N, [(i, i + 20, i + 40) for i in range(20)], "NEITHER")
    },
    "weights": {
        "links": Supervision.from_links(
            N,
            must=[(0, 1), (20, 21), (40, 41)],
            cannot=[(0, 20), (0, 40), (20, 40)],
            must_weights=[1e-12, 1, 1e12],
            cannot_weights=[1e12, 1e-12, 1],
        ),
        "triplets": Supervision.from_triplets(
            N, [(0, 1, 20), (20, 21, 40), (2, 40, 41)], ["AB", "AB", "BC"], weights=[1e-12, 1, 1e12]
        ),
    },
    "none": {},
}
# Hints that a method may refuse, and a word of its message.
REFUSED = {
    "weights": ("EquivalenceGaussianMixture", "PosteriorConstrainedGaussianMixture"),
    "MMC": "Give links of both kinds",
}


@every_estimator
@pytest.mark.parametrize("name", SAY)
def test_odd_hints(cls, name):
    said = [part for kind, part in SAY[name].items() if kind in cls.supported_hints]
    if SAY[name] and not said:
        pytest.skip("the method supports no hint of this kind")
    hints = Supervision.empty(N)
    for part in said if cls.__name__ != "RCA" else said[:1]:
        hints |= part
    if (
        cls.__name__ == "MMC"
        and hints
        and not (len(hints.cannot) and len(hints.must) + len(hints.must_groups))
    ):
        with pytest.raises(InfeasibleSupervisionError, match=REFUSED["MMC"]):
            fit_model(cls, X0, hints)
    elif name == "weights" and cls.__name__ in REFUSED["weights"]:
        with pytest.raises(UnsupportedSupervisionError, match="carry weights"):
            fit_model(cls, X0, hints)
    else:
        assert_sound(fit_model(cls, X0, hints), X0)


@pytest.mark.parametrize("noise", ["uniform", "confusion"])
@pytest.mark.parametrize("name", SAY)
def test_odd_hints_with_noise_that_is_learned(noise, name):
    hints = Supervision.empty(N)
    for kind in ("links", "triplets"):
        hints |= SAY[name].get(kind, hints)
    model = fit_model(DiscriminativeClustering, X0, hints, noise=noise)
    assert_sound(model, X0)
    assert np.isfinite(model.noise_.pairs).all()
    assert np.isfinite(model.noise_.triplets).all()


CONTRADICTION = Supervision.from_links(N, must=[(0, 1), (1, 2), (20, 21)], cannot=[(0, 2), (0, 30)])


@for_links
@pytest.mark.filterwarnings("ignore:.*They contradict one another:sklearn.exceptions.ConvergenceWarning")
def test_contradictory_links(cls):
    if cls is COPKMeans:
        with pytest.raises(InconsistentSupervisionError, match="0 – 1 – 2"):
            fit_model(cls, X0, CONTRADICTION)
        return
    known = cls().get_params(deep=False)
    params = {"n_clusters": 3, "random_state": 0, "cannot": "drop", "shrinkage": 0}
    model = cls().set_params(**{k: v for k, v in params.items() if k in known})
    with pytest.warns(InconsistentSupervisionWarning, match=f"{cls.__name__}.*rows 0 and 2"):
        model.fit(X0, supervision=CONTRADICTION)
    assert_sound(model, X0)


def test_hard_hints_of_a_soft_method_refuse_contradictions():
    with pytest.raises(InconsistentSupervisionError, match="0 – 1 – 2"):
        fit_model(DiscriminativeClustering, X0, CONTRADICTION, epsilon=0)


@pytest.mark.parametrize(
    "cls", [c for c in ESTIMATORS if "triplets" in c.supported_hints], ids=lambda c: c.__name__
)
def test_contradictory_triplets(cls):
    hints = Supervision.from_triplets(N, [(0, 1, 2), (0, 1, 2), (3, 4, 50)], ["AB", "AC", "AB"])
    known = cls().get_params(deep=False)
    model = cls().set_params(
        **{k: v for k, v in {"n_clusters": 3, "random_state": 0, "shrinkage": 0}.items() if k in known}
    )
    with pytest.warns(InconsistentSupervisionWarning, match=cls.__name__):
        model.fit(X0, supervision=hints)
    assert_sound(model, X0)


def test_triplets_and_pairs_with_repeated_rows_are_refused():
    with pytest.raises(SupervisionError, match="0"):
        Supervision.from_triplets(N, [(0, 0, 1)], "AB")
    with pytest.raises(SupervisionError, match="4"):
        Supervision.from_links(N, must=[(4, 4)])


@every_estimator
def test_hints_for_other_rows(cls):
    with pytest.raises(SupervisionError, match=r"59 rows, but X has 60.*hints\[rows\]"):
        fit_model(cls, X0, true_hints(cls)[:59])


@every_estimator
def test_noisy_hints(cls):
    assert_sound(fit_model(cls, X0, true_hints(cls, noise=0.4)), X0)


@clusterers
def test_one_cluster(cls):
    if "links" in cls.supported_hints:
        hints = Supervision.from_links(N, cannot=[(0, 59)])
    elif cls.supported_hints == {"labels"}:
        hints = true_hints(cls)
    else:
        pytest.skip("triplets are no matter of the number of clusters here")
    with pytest.raises(InfeasibleSupervisionError, match=r"n_clusters=1.*Ask for at least"):
        fit_model(cls, X0, hints, n_clusters=1)
    assert set(fit_model(cls, X0, None, n_clusters=1).labels_) == {0}


@clusterers
def test_more_clusters_than_rows(cls):
    with pytest.raises(ValueError, match=r"n_samples=60.*n_clusters=61.*fewer clusters"):
        fit_model(cls, X0, true_hints(cls), n_clusters=61)


# As many clusters as rows; the cost of a Bayesian fit grows with the square of their number.
@pytest.mark.parametrize(
    ("cls", "n_clusters"),
    [(c, 12 if c is BayesianClustering else N) for c in ESTIMATORS if hasattr(c, "fit_predict")],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_empty_clusters(cls, n_clusters):
    model = fit_model(cls, X0, true_hints(cls), n_clusters=n_clusters, n_init=1, max_iter=20)
    assert_sound(model, X0, n_clusters)


@pytest.mark.parametrize("size", [4, 12])
def test_a_clique_of_more_rows_than_clusters(size):
    hints = Supervision.from_links(N, cannot_groups=[range(size)])
    for cls in (COPKMeans, EquivalenceGaussianMixture) if size == 4 else (COPKMeans,):
        with pytest.raises(InfeasibleSupervisionError, match=r"more|at least 12|at least 4"):
            fit_model(cls, X0, hints)


def test_a_large_clique_is_refused_by_hard_links():
    hints = Supervision.from_links(N, cannot_groups=[range(12)])
    with pytest.raises(InfeasibleSupervisionError, match="more clusters"):
        fit_model(EquivalenceGaussianMixture, X0, hints, n_init=1, max_iter=2)


@clusterers
def test_more_rows_that_must_be_apart_than_clusters_are_named_at_once(cls):
    if "links" not in cls.supported_hints or "cannot" in cls().get_params():
        pytest.skip("takes no cannot-links")
    hints = Supervision.from_links(N, must=[(9, 3)], cannot=[(3, 30), (30, 50), (50, 9)])
    known = cls().get_params(deep=False)
    estimator = cls(
        **{name: value for name, value in {"n_clusters": 2, "random_state": 0}.items() if name in known}
    )
    named = r"3 rows must be apart from one another \(rows 3, 30, 50\), but there are only 2 clusters"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X0, supervision=hints)
            errors = []
        except InfeasibleSupervisionError as error:
            errors = [str(error)]
    said = errors + [str(w.message) for w in caught if w.category is TooFewClustersWarning]
    assert any(re.search(named, text) for text in said), said


@every_estimator
@pytest.mark.parametrize("unit", ["datetime64[s]", "timedelta64[D]"])
def test_times_are_refused(cls, unit):
    with pytest.raises(
        ValueError, match=rf"{cls.__name__}: X holds times \({re.escape(unit)}\); expected numbers"
    ):
        cls().fit(np.arange(N * 2).reshape(N, 2).astype(unit), supervision=true_hints(cls))


def test_a_column_of_times_is_named():
    frame = pd.DataFrame({"x": range(4), "when": pd.date_range("2020-01-01", periods=4, tz="UTC")})
    for refuse in (lambda: PCKMeans(2).fit(frame), lambda: Interview(frame, n_clusters=2)):
        with pytest.raises(ValueError, match="the column 'when' of X holds times"):
            refuse()


# ---------------------------------------------------------------------- odd rows

ROWS = {
    "more columns than rows": np.hstack([X0, NOISE]),
    "duplicate rows": np.repeat(X0[::20], 20, axis=0),
    "constant column": np.column_stack([X0, np.full(N, 1e8 / 3)]),
    "equal columns": np.column_stack([X0, X0[:, 0]]),
    "identical rows": np.full((N, 3), 2.1),
    "zeros": np.zeros((N, 3)),
    "one column": (6 * Y + NOISE[:, 0])[:, None],
    "columns of different scales": X0 * [1e8, 1, 1e-8],
    "1e150": X0 * 1e150,
}
# Batches update the same covariances by the same code.
SHAPES = [
    (cls, {"covariance_type": shape, "reg_covar": 0.0})
    for cls in ESTIMATORS
    if hasattr(cls(), "covariance_type") and not hasattr(cls, "partial_fit")
    for shape in ("full", "tied", "diag", "spherical")
]


@every_estimator
@pytest.mark.parametrize("name", ROWS)
def test_odd_rows(cls, name):
    X = ROWS[name]
    assert_sound(fit_model(cls, X, true_hints(cls), n_init=1), X)


@pytest.mark.parametrize(("cls", "params"), SHAPES)
@pytest.mark.parametrize("name", ["more columns than rows", "duplicate rows", "constant column", "zeros"])
def test_singular_covariances(cls, params, name):
    X = ROWS[name]
    assert_sound(fit_model(cls, X, true_hints(cls), n_init=1, **params), X)


@pytest.mark.parametrize(
    "cls", [c for c in ESTIMATORS if hasattr(c(), "per_cluster")], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("metric", ["full", "diagonal"])
@pytest.mark.parametrize("name", ["more columns than rows", "duplicate rows", "constant column", "zeros"])
def test_singular_metrics(cls, metric, name):
    X = ROWS[name]
    assert_sound(fit_model(cls, X, true_hints(cls), metric=metric, per_cluster=True), X)


@pytest.mark.parametrize("cls", [c for c in ESTIMATORS if hasattr(c(), "prior")], ids=lambda c: c.__name__)
def test_a_singular_prior_is_refused(cls):
    with pytest.raises(ValueError, match=r"59 of 100 directions.*prior='identity'"):
        fit_model(cls, ROWS["more columns than rows"], true_hints(cls), prior="covariance")


@every_estimator
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_rows_that_are_not_finite(cls, value, word):
    X = X0.copy()
    X[1, 2] = value
    with pytest.raises(ValueError, match=word):
        fit_model(cls, X, true_hints(cls))


@every_estimator
@pytest.mark.parametrize(("scale", "dtype"), [(1e8, np.float64), (1e-8, np.float32)])
def test_the_scale_does_not_matter(cls, scale, dtype):
    hints, X = true_hints(cls), (X0 * scale).astype(dtype)
    model, plain = fit_model(cls, X, hints), fit_plain(cls)
    assert_sound(model, X)
    if hasattr(model, "labels_"):
        assert adjusted_rand_score(plain.labels_, model.labels_) == 1.0


@clusterers
def test_the_origin_does_not_matter(cls):
    hints = true_hints(cls)
    labels = fit_model(cls, X0 + 1e8, hints).labels_
    assert adjusted_rand_score(fit_plain(cls).labels_, labels) == 1.0


@every_estimator
def test_values_too_large_to_square(cls):
    with pytest.raises(ValueError, match="too large"):
        fit_model(cls, X0 * 1e200, true_hints(cls))


@pytest.mark.parametrize(
    "cls",
    [c for c in ESTIMATORS if hasattr(c(), "init") and c.__name__ != "SSSVaD"],
    ids=lambda c: c.__name__,
)
def test_float32_too_large_to_square(cls):
    X = (X0 * 1e20).astype(np.float32)
    with pytest.raises(ValueError, match="too large"):
        fit_model(cls, X, true_hints(cls))


@every_estimator
def test_values_whose_squares_nearly_underflow(cls):
    hints, X = true_hints(cls), X0 * 1e-160
    model, plain = fit_model(cls, X, hints), fit_plain(cls)
    assert_sound(model, X)
    if hasattr(model, "labels_"):
        assert adjusted_rand_score(plain.labels_, model.labels_) == 1.0


RESCALED = [c for c in ESTIMATORS if c._rescales_rows]


@pytest.mark.parametrize("cls", RESCALED, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e-160, np.float64), (1e-300, np.float64), (1e-30, np.float32)]
)
def test_learned_metrics_of_tiny_rows_are_those_of_rows_of_any_size(cls, scale, dtype):
    X, hints = (X0 * scale).astype(dtype), true_hints(cls)
    unit = X.astype(np.float64) / scale
    start = {"init": unit[[0, 20, 40]], "n_init": 1}
    plain = fit_model(cls, unit, hints, **start)
    model = fit_model(cls, X, hints, **start | {"init": X[[0, 20, 40]]})
    assert_sound(model, X)
    assert (model.labels_ == plain.labels_).all()
    np.testing.assert_allclose(model.cluster_centers_ / scale, plain.cluster_centers_, rtol=1e-5)
    np.testing.assert_allclose(model.transform(X), plain.transform(unit), rtol=1e-4)
    with pytest.raises(ValueError, match="too large"):
        model.predict(np.full((1, 3), np.finfo(dtype).max ** 0.9))


@pytest.mark.parametrize("cls", [c for c in ESTIMATORS if c not in RESCALED], ids=lambda c: c.__name__)
def test_values_too_small_to_square(cls):
    with pytest.raises(ValueError, match="too small"):
        fit_model(cls, X0 * 1e-200, true_hints(cls))


@pytest.mark.parametrize(
    "cls",
    [c for c in ESTIMATORS if hasattr(c, "metric_") and not hasattr(c, "labels_")],
    ids=lambda c: c.__name__,
)
def test_learned_distances_of_tiny_rows_are_in_proportion(cls):
    hints = true_hints(cls)
    model, plain = fit_model(cls, X0 * 1e-160, hints), fit_plain(cls)
    mapped, expected = model.transform(X0 * 1e-160), plain.transform(X0)
    found, wanted = (
        np.linalg.norm((Z / np.abs(Z).max())[:, None] - Z / np.abs(Z).max(), axis=2)
        for Z in (mapped, expected)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    if np.abs(model.components_).max() > 1e155:
        with pytest.raises(OverflowError, match="components_"):
            _ = model.metric_


# ---------------------------------------------------------------------- weights of rows

weighted_fits = pytest.mark.parametrize(
    "cls", [c for c in ESTIMATORS if has_fit_parameter(c, "sample_weight")], ids=lambda c: c.__name__
)


def fit_with_weights(cls, weight, **params):
    known = cls().get_params(deep=False)
    params = {"n_clusters": 3, "random_state": 0, "n_init": 2} | params
    params |= {name: "drop" for name in ("cannot", "neither") if known.get(name) == "refuse"}
    model = cls().set_params(**{name: value for name, value in params.items() if name in known})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        noise = 0.0 if cls is COPKMeans else 0.2
        return model.fit(X0, supervision=true_hints(cls, noise=noise), sample_weight=weight)


@weighted_fits
@pytest.mark.parametrize("size", [1e300, 1e307, 1e-310])
def test_row_weights_of_any_size_are_a_unit(cls, size):
    """Multiplying the weights of rows and links by a constant does not change the clusters."""
    weight = np.random.default_rng(0).uniform(0.5, 1.0, size=N)
    links = {"must_weight": float(size), "cannot_weight": float(size)}
    model = fit_with_weights(cls, weight * size, **links)
    plain = fit_with_weights(cls, weight)
    assert_sound(model, X0)
    assert adjusted_rand_score(plain.labels_, model.labels_) == 1.0
    if hasattr(model, "cluster_centers_"):
        np.testing.assert_allclose(
            np.sort(model.cluster_centers_, 0), np.sort(plain.cluster_centers_, 0), rtol=1e-6
        )


@weighted_fits
def test_one_row_of_a_huge_weight(cls):
    assert_sound(fit_with_weights(cls, np.where(np.arange(N) == 5, 1e300, 1.0)), X0)


# ---------------------------------------------------------------------- weights of hints


def square():
    """Return four clouds at the corners of a square, and links that separate top from bottom."""
    above, right = np.arange(100) % 2, np.arange(100) // 50
    X = np.random.default_rng(0).normal(size=(100, 2)) + 6 * np.column_stack([right, above])
    return X, sample_links(above, 20, random_state=1)


def weigh_links(links, weight):
    return Supervision.from_links(
        100, must=links.must, cannot=links.cannot, must_weights=weight, cannot_weights=weight
    )


@pytest.mark.parametrize("weight", [1e-3, 1e-6, 1e-300])
def test_tiny_weights_of_hints_have_no_effect(weight):
    X, links = square()
    model = DiscriminativeClustering(2, n_init=2, max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        bare = model.fit(X).score(X)
        model.fit(X, supervision=weigh_links(links, weight))
    assert np.isfinite(model.lower_bounds_).all()
    assert model.converged_
    assert model.score(X) > 0.9 * bare


@pytest.mark.parametrize("noise", ["uniform", "confusion"])
def test_huge_weights_of_hints_keep_a_learned_noise_finite(noise):
    hints = Supervision.from_triplets(N, [(0, 1, 20), (20, 21, 40)], "AB", weights=1e16)
    assert_sound(fit_model(DiscriminativeClustering, X0, hints, noise=noise, max_iter=5), X0)


# ---------------------------------------------------------------------- many hints


@pytest.mark.parametrize(
    "cls",
    [
        pytest.param(c, marks=pytest.mark.slow if c.__name__ in ("ITML", "SparseLP") else ())
        for c in ESTIMATORS
    ],
    ids=NAMES,
)
def test_a_hundred_hints_a_row(cls):
    n = 240  # of 28,680 pairs, most are linked
    y = np.arange(n) % 3
    X = np.random.default_rng(0).normal(size=(n, 3)) + 6 * np.eye(3)[y]
    if "links" in cls.supported_hints:
        hints = sample_links(y, 100 * n, random_state=0)
    elif "triplets" in cls.supported_hints:
        hints = sample_triplets(y, 100 * n, random_state=0)
    else:
        hints = Supervision.from_labels(y.tolist())
    assert_sound(fit_model(cls, X, hints, n_init=1), X)


# ---------------------------------------------------------------------- choosing by hints


def score_by_cross_validation(X, hints, *, model=None, **how):
    model = model or PCKMeans(3, n_init=1, random_state=0)
    return cross_validate_hints(model, X, hints, random_state=0, **how).score


def score_by_search(X, hints, *, model=None, grid=None, **how):
    model = model or PCKMeans(3, n_init=1, random_state=0)
    grid = {"n_clusters": [2, 3]} if grid is None else grid
    return HintSearchCV(model, grid, random_state=0, **how).fit(X, supervision=hints).best_score_


both = pytest.mark.parametrize("choose", [score_by_cross_validation, score_by_search])
LINKS = sample_links(Y, 30, random_state=0)


@both
@pytest.mark.parametrize(
    ("hints", "words"),
    [
        (None, "no hints.*supervision="),
        (Supervision.empty(N), "0 pair.*5 folds.*Add hints"),
        (Supervision.from_links(N, must=[(0, 1)]), "1 pair.*5 folds.*fewer folds"),
        (Supervision.from_links(N, must_groups=[range(N)]), "Groups of links and bags are never held out"),
        (LINKS[:59], "59 rows, but X has 60"),
        (Y, "got ndarray"),
    ],
)
def test_hints_that_cannot_be_held_out(choose, hints, words):
    with pytest.raises(SupervisionError, match=words):
        choose(X0, hints)


@both
@pytest.mark.parametrize("scoring", ["accuracy", "agreement", "balanced_accuracy", "log_score"])
@pytest.mark.parametrize("name", ["star of must", "star of cannot", "one component", "every row", "weights"])
def test_choosing_by_odd_hints(choose, name, scoring):
    with warnings.catch_warnings():
        # The best model may have fewer clusters than the cannot-links require, and warns.
        warnings.simplefilter("ignore", TooFewClustersWarning)
        assert np.isfinite(choose(X0, SAY[name]["links"], cv=2, scoring=scoring))


@both
def test_choosing_by_contradictory_links_warns_and_continues(choose):
    noisy = sample_links(Y, 100, noise=0.3, random_state=0)
    with pytest.warns(InconsistentSupervisionWarning, match="PCKMeans: .* contradict the must-links"):
        assert np.isfinite(choose(X0, noisy))


@both
def test_choosing_by_answers_that_are_all_neither(choose):
    model = DiscriminativeClustering(3, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert choose(X0, SAY["only neither"]["triplets"], model=model) == 1.0


def test_fits_that_fail_are_reported():
    X = np.where(np.arange(180).reshape(60, 3) == 5, np.nan, X0)
    with pytest.warns(FitFailedWarning, match="5 of 5 fits failed.*NaN"):
        assert np.isnan(score_by_cross_validation(X, LINKS))
    with pytest.raises(ValueError, match=r"every fit failed.*NaN"):
        score_by_search(X, LINKS)
    with pytest.raises(ValueError, match=r"every fit failed.*n_samples=60.*fewer clusters"):
        score_by_search(X0, LINKS, grid={"n_clusters": [61, 99]})
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed.*n_clusters=1 "):
        assert score_by_search(X0, LINKS, grid={"n_clusters": [1, 3]}) == 1.0


@both
def test_folds_over_rows_are_refused(choose):
    with pytest.raises((TypeError, ValueError), match="HintKFold"):
        choose(X0, LINKS, cv=KFold(3))


@pytest.mark.parametrize(
    ("how", "words"), [({"grid": []}, "grid"), ({"scoring": lambda held_out: np.nan}, "NaN.*sc")]
)
def test_a_search_with_nothing_to_choose_is_refused(how, words):
    with pytest.raises(ValueError, match=words):
        score_by_search(X0, LINKS, **how)


@both
def test_choosing_by_huge_weights(choose):
    hints = Supervision.from_links(
        N, must=LINKS.must, cannot=LINKS.cannot, must_weights=1e200, cannot_weights=1e200
    )
    assert np.isfinite(choose(X0, hints, scoring="agreement"))


# ---------------------------------------------------------------------- commands


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write a table and run ``likewise`` beside it; return the exit code and the output."""
    from click.testing import CliRunner

    from likewise.cli.main import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    rows = [f"r{i},{a},{b},{c}" for i, (a, b, c) in enumerate(X0)]
    for name, kept in {
        "data.csv": rows,
        "same.csv": [f"r{i},1,1,1" for i in range(N)],
        "nan.csv": ["r0,nan,1,1", *rows[1:]],
        "inf.csv": ["r0,inf,1,1", *rows[1:]],
        "short.csv": rows[:2],
    }.items():
        (tmp_path / name).write_text("\n".join(["name,x,y,z", *kept]) + "\n")

    def _run(command, data, lines, *words):
        sort = "a,b,c,answer" if lines and lines[0].count(",") == 3 else "a,b,link"
        (tmp_path / "hints.csv").write_text("\n".join([sort, *lines]) + "\n")
        where = [data, "--hints", "hints.csv"] if command == "cluster" else [data, "hints.csv"]
        result = CliRunner().invoke(cli, [command, *where, "--id", "name", *words], prog_name="likewise")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return _run


GOOD = ["r0,r1,must", "r20,r21,must", "r0,r20,cannot", "r20,r40,cannot"]
AGAINST = ["r0,r1,must", "r1,r2,must", "r0,r2,cannot", "r3,r30,cannot"]
NEITHER = [f"r{i},r{i + 20},r{i + 40},NEITHER" for i in range(10)]


@pytest.mark.parametrize(
    ("data", "lines", "words", "said"),
    [
        ("data.csv", GOOD, ["-k", "1"], "n_clusters=1"),
        ("data.csv", GOOD, ["-k", "61"], "61 clusters need at least as many rows; got 60"),
        ("short.csv", [], ["-k", "3"], "3 clusters need at least as many rows; got 2"),
        ("nan.csv", GOOD, ["-k", "3"], "nan.csv:2: the column 'x' is 'nan'"),
        ("inf.csv", GOOD, ["-k", "3"], "inf.csv:2: the column 'x' is 'inf'"),
        ("data.csv", ["r0,r0,r1,AB"], ["-k", "3"], "'r0' occurs twice"),
        ("data.csv", ["r0,r99,must"], ["-k", "3"], "no row has the id 'r99'"),
        ("data.csv", NEITHER, ["-k", "3"], "does not use triplets"),
        ("data.csv", AGAINST, ["-k", "3", "--method", "cop-k-means"], "r0 = r1 = r2"),
    ],
)
def test_cluster_refuses(run, data, lines, words, said):
    code, output = run("cluster", data, lines, *words)
    assert code != 0
    assert said in output


@pytest.mark.parametrize("method", ["mpck-means", "gmm-ec", "em-pc", "discriminative"])
@pytest.mark.parametrize(("data", "lines"), [("same.csv", GOOD), ("data.csv", AGAINST), ("data.csv", [])])
def test_cluster_continues(run, method, data, lines):
    code, output = run("cluster", data, lines, "-k", "3", "--method", method, "--n-init", "2")
    assert code == 0, output
    assert "nan" not in output.casefold()


@pytest.mark.parametrize(
    ("data", "lines", "words", "said"),
    [
        ("data.csv", [], ["-k", "2:3"], "cannot be split into 2 folds"),
        ("data.csv", GOOD, ["-k", "1"], "n_clusters=1"),
        ("data.csv", GOOD, ["-k", "60:61"], "61 clusters need at least as many rows; got 60"),
        ("nan.csv", GOOD, ["-k", "2:3"], "nan.csv:2"),
    ],
)
def test_choose_refuses(run, data, lines, words, said):
    code, output = run("choose", data, lines, "--cv", "2", "--methods", "pck-means", *words)
    assert code != 0
    assert said in output


def test_the_suggested_option_for_neither_works(run):
    _, output = run("cluster", "data.csv", NEITHER, "-k", "3", "--method", "sss-vad")
    assert "neither='drop'" not in output


def test_answers_that_cannot_be_links_are_reported(run):
    _, output = run("cluster", "data.csv", NEITHER, "-k", "3", "--as-links")
    assert "NEITHER" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shares", ".5,.6"], "add up to 1; got a sum of 1.1"),
        (["--shares", "nan,1"], "finite"),
        (["--shares", "-1,2"], "not negative"),
        (["--shares", ","], "got ','"),
        (["--classes", "3", "--noise-pair", "nan"], "got nan"),
        (["--classes", "3", "--seconds-pair", "inf", "--seconds-triplet", "1"], "got inf"),
    ],
)
def test_compare_hints_refuses(words, said):
    from click.testing import CliRunner

    from likewise.cli.main import cli

    result = CliRunner().invoke(cli, ["compare-hints", *words], prog_name="likewise")
    assert result.exit_code != 0
    assert said in result.output
