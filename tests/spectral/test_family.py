"""Behaviour shared by all members: plain spectral clustering without hints, new rows, warm starts."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

from likewise import BagSpectralClustering, RegularizedSpectralClustering, SpectralLearning, Supervision
from likewise.exceptions import SupervisionError
from likewise.spectral import _base
from profiles import fewer

SEEDS = st.integers(0, 10_000)
MEMBERS = [SpectralLearning, RegularizedSpectralClustering, BagSpectralClustering]


def blobs(seed=0, n=20, k=3, d=3):
    """Return clear clusters, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n)
    return rng.normal(size=(len(y), d)) + 8 * np.eye(k, d)[y], y


def must(n, *pairs):
    return Supervision.from_links(n, must=list(pairs))


def draw_affinity(seed, n=25):
    rng = np.random.default_rng(seed)
    return rbf_kernel(rng.normal(size=(n, 3)), gamma=0.5)


def up_to_sign(a, b, **tolerance):
    for one, other in zip(a.T, b.T, strict=True):
        assert_allclose(one * np.sign(one @ other), other, **tolerance)


# ---------------------------------------------------------------------- no hints: scikit-learn


@pytest.mark.parametrize("cls", MEMBERS)
@fewer(4)
@given(seed=SEEDS, k=st.integers(1, 5))
def test_without_hints_the_embedding_equals_scikit_learns(cls, seed, k):
    A = draw_affinity(seed)
    theirs = spectral_embedding(A, n_components=k, drop_first=False, random_state=0, eigen_tol=1e-12)
    model = cls(k, affinity="precomputed", row_normalize=False, random_state=0).fit(A)
    half = A.sum(axis=1) - 1
    values = np.sort(np.linalg.eigvalsh((A - np.eye(25)) / np.sqrt(np.outer(half, half))))[::-1]
    assert_allclose(model.eigenvalues_, values[:k], atol=1e-8)
    assume((-np.diff(values[: k + 1])).min() > 1e-3)  # repeated eigenvalues do not determine the vectors
    up_to_sign(model.embedding_, theirs, atol=1e-5)


def graphs(X):
    nearest = kneighbors_graph(X, 8, include_self=True)
    yield rbf_kernel(X, gamma=0.1)
    yield csr_array((nearest + nearest.T) / 2)


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("row_normalize", [False, True])
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize"])
def test_without_hints_the_clusters_equal_scikit_learns(cls, row_normalize, assign_labels):
    X, _ = blobs(1)
    X[:, 0] += 0.6 * X[:, 1]  # not too easy
    params = {"assign_labels": assign_labels, "random_state": 0}
    for A in graphs(X):
        model = cls(3, affinity="precomputed", row_normalize=row_normalize, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the graph is disconnected
            theirs = SpectralClustering(3, affinity="precomputed", **params).fit_predict(A)
            ours = model.fit_predict(A)
        assert adjusted_rand_score(theirs, ours) == 1.0


def test_without_hints_the_clusters_equal_scikit_learns_on_overlapping_clusters():
    X = np.random.default_rng(2).uniform(size=(60, 2)) * [4, 1]
    A = rbf_kernel(X, gamma=3.0)
    theirs = SpectralClustering(3, affinity="precomputed", n_init=20, random_state=0).fit_predict(A)
    for cls in MEMBERS:
        model = cls(3, affinity="precomputed", row_normalize=False, n_init=20, random_state=0)
        assert adjusted_rand_score(theirs, model.fit_predict(A)) == 1.0


@pytest.mark.parametrize("cls", [SpectralLearning, RegularizedSpectralClustering])
def test_graphs_of_the_same_name_equal_scikit_learns(cls):
    X, _ = blobs(3)
    theirs = SpectralClustering(3, gamma=1 / (2 * 1.5**2), random_state=0).fit(X)
    ours = cls(3, affinity="rbf", scale=1.5, random_state=0).fit(X)
    assert_allclose(ours.affinity_matrix_ + np.eye(60), theirs.affinity_matrix_)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1.0
    theirs = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=8, random_state=0)
    ours = cls(3, affinity="neighbors", n_neighbors=7, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # both graphs are disconnected
        theirs.fit(X)
    wanted = theirs.affinity_matrix_.toarray()
    np.fill_diagonal(wanted, 0.0)
    assert_array_equal(ours.affinity_matrix_.toarray(), wanted)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1.0


@pytest.mark.parametrize("cls", MEMBERS)
def test_fitted_attributes(cls):
    X, y = blobs(4)
    model = cls(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.labels_.dtype == np.int32
    assert model.embedding_.shape == (60, 3)
    assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1.0)
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert model.n_iter_ == 1
    assert model.n_features_in_ == 3
    assert model.violations_.share == 1.0 or np.isnan(model.violations_.share)
    assert issparse(model.affinity_matrix_) == (cls is BagSpectralClustering)
    assert not model.affinity_matrix_.diagonal().any()


@pytest.mark.parametrize("cls", MEMBERS)
def test_shared_parameters_are_documented_in_every_member(cls):
    assert "{common}" not in cls.__doc__
    assert "{fitted}" not in cls.__doc__
    for name in cls().get_params():
        assert f"\n    {name} : " in cls.__doc__, name


# ---------------------------------------------------------------------- new rows


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize(
    "params", [{}, {"n_neighbors": 8}, {"affinity": "rbf"}, {"row_normalize": False}], ids=str
)
def test_new_rows_near_a_cluster_are_assigned_to_it(cls, params):
    X, _ = blobs(5)
    new, y = blobs(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = cls(3, random_state=0, **params).fit(X, supervision=must(60, (0, 1), (30, 31)))
    found = model.predict(new)
    assert found.dtype == np.int32
    assert adjusted_rand_score(y, found) == 1.0
    assert_array_equal(found, model.labels_[[0, 20, 40]][y])
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_new_rows_of_given_similarities(cls, as_sparse):
    X, _ = blobs(7)
    new, y = blobs(8, n=5)
    A, B = rbf_kernel(X, gamma=0.1), rbf_kernel(new, X, gamma=0.1)
    model = cls(3, affinity="precomputed", random_state=0).fit(csr_array(A) if as_sparse else A)
    found = model.predict(csr_array(B) if as_sparse else B)
    assert_array_equal(found, model.labels_[[0, 20, 40]][y])
    assert_array_equal(model.predict(A), model.labels_)
    with pytest.raises(ValueError, match="60 features"):
        model.predict(B[:, :50])
    with pytest.raises(ValueError, match="must not be negative"):
        model.predict(-B)


def test_new_rows_are_processed_in_blocks(monkeypatch):
    X, _ = blobs(22)
    new, _ = blobs(23)
    for n_neighbors in (None, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = SpectralLearning(3, n_neighbors=n_neighbors, random_state=0).fit(X)
        at_once = model.predict(new)
        with monkeypatch.context() as patch:
            patch.setattr(_base, "_BLOCK", 7 * 60)
            assert_array_equal(model.predict(new), at_once)


def test_a_new_row_without_similar_rows_goes_to_the_largest_cluster():
    X, y = blobs(9)
    for largest in range(3):
        more = np.vstack([X[y == largest], X])
        model = SpectralLearning(3, affinity="rbf", scale=1.0, random_state=0).fit(more)
        assert model.predict([[1e4, 0, 0]])[0] == model.labels_[0]


@fewer(2)
@given(SEEDS, st.sampled_from(MEMBERS))
def test_rows_without_hints_are_extended_exactly(seed, cls):
    # lambda u_i is row i of the matrix times u, and that row contains only similarities.
    A = draw_affinity(seed, 15)
    np.fill_diagonal(A, 0.0)
    hints = must(15, (0, 1), (1, 2))
    params = {}
    if cls is BagSpectralClustering:
        bags = Supervision.from_bags(["a", "a", "b", "b", *[None] * 11], {"a": ["x"], "b": ["x", "y"]})
        hints, params = hints | bags, {"variant": ["labelled", "printed", "propagated"][seed % 3]}
    model = cls(8, affinity="precomputed", random_state=0, **params).fit(A, supervision=hints)
    found = model._last.partition
    useful = found.eigen.values > _base._LEAST_VALUE * found.eigen.values[0]
    extended = model._extend_eigenvectors(A[4:], A[4:].sum(axis=1), found)
    assert_allclose(extended[:, useful], found.eigen.vectors[4:][:, useful], atol=1e-7)
    assert not extended[:, ~useful].any()


def test_predict_before_fit_and_after_pickling():
    X, _ = blobs(10)
    with pytest.raises(ValueError, match="not fitted"):
        SpectralLearning(3).predict(X)
    model = SpectralLearning(3, random_state=0).fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X + 0.1), model.predict(X + 0.1))


# ---------------------------------------------------------------------- warm starts


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("n_neighbors", [None, 8])
def test_a_second_fit_on_the_same_rows_reuses_the_graph(cls, n_neighbors):
    X, y = blobs(11)
    X[:, 0] += X[:, 1]
    params = {"n_neighbors": n_neighbors, "random_state": 0}
    first, second = must(60, (0, 5)), must(60, (0, 5), (21, 30), (41, 50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = cls(3, warm_start=True, **params).fit(X, supervision=first)
        graph = model.affinity_matrix_
        model.fit(X.copy(), supervision=second)
        cold = cls(3, **params).fit(X, supervision=second)
    assert model.affinity_matrix_ is graph
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert adjusted_rand_score(cold.labels_, model.labels_) == 1.0
    assert_allclose(model.eigenvalues_, cold.eigenvalues_, rtol=1e-4)


def test_warm_and_cold_starts_of_many_rows_agree():
    # More rows than the dense solver is used for.
    X, y = blobs(12, n=200)
    first, second = must(600, (0, 5)), must(600, (0, 5), (210, 300))
    model = SpectralLearning(3, n_neighbors=15, warm_start=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, supervision=first)
        cold_products = model._last.partition.eigen.n_products
        model.fit(X, supervision=second)
        cold = SpectralLearning(3, n_neighbors=15, random_state=0).fit(X, supervision=second)
    assert model._last.partition.eigen.solver == "warm"
    assert model._last.partition.eigen.n_products < cold_products
    assert_allclose(model.eigenvalues_, cold.eigenvalues_, rtol=1e-4)
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("cls", MEMBERS)
def test_other_rows_are_not_mistaken_for_those_of_the_last_fit(cls):
    X, _ = blobs(13)
    model = cls(3, warm_start=True, random_state=0).fit(X)
    graph = model.affinity_matrix_
    other = X.copy()
    other[3, 1] += 1e-9
    assert model.fit(other).affinity_matrix_ is not graph
    for changed in ({"n_neighbors": 9}, {"affinity": "rbf"}):
        model.fit(X)
        graph = model.affinity_matrix_
        assert model.set_params(**changed).fit(X).affinity_matrix_ is not graph
    fewer = model.fit(X[:50])
    assert len(fewer.labels_) == 50


def test_without_warm_start_nothing_is_reused():
    X, _ = blobs(14)
    model = SpectralLearning(3, random_state=0).fit(X)
    graph = model.affinity_matrix_
    assert model.set_params(warm_start=True).fit(X).affinity_matrix_ is not graph
    assert model.set_params(warm_start=False).fit(X).affinity_matrix_ is not graph


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize(("before", "after"), [(2, 5), (5, 2)])
def test_warm_starts_for_another_number_of_clusters(cls, before, after):
    X, y = blobs(15, n=15, k=5, d=5)
    bags = Supervision.from_bags(np.arange(75).tolist(), {b: [int(y[b])] for b in range(0, 75, 5)})
    hints = bags if cls is BagSpectralClustering else must(75, (0, 5), (20, 25))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = cls(before, warm_start=True, random_state=0).fit(X, supervision=hints)
        model.set_params(n_clusters=after).fit(X, supervision=hints)
        cold = cls(after, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(model.labels_, cold.labels_) == 1.0
    assert model.embedding_.shape == (75, after)
    assert_allclose(model.eigenvalues_, cold.eigenvalues_, rtol=1e-4)


def test_a_warm_start_reuses_given_similarities():
    A = rbf_kernel(blobs(16)[0], gamma=0.1)
    for given_one in (A, csr_array(A)):
        model = SpectralLearning(3, affinity="precomputed", warm_start=True, random_state=0).fit(given_one)
        graph = model.affinity_matrix_
        assert model.fit(given_one.copy()).affinity_matrix_ is graph
        assert model.fit(given_one * 2).affinity_matrix_ is not graph


# ---------------------------------------------------------------------- seeds


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize"])
def test_the_same_seed_gives_the_same_clusters(cls, assign_labels):
    X = np.random.default_rng(17).normal(size=(50, 3))
    fits = [cls(4, assign_labels=assign_labels, random_state=7).fit(X) for _ in range(2)]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert_array_equal(fits[0].embedding_, fits[1].embedding_)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize(
    ("A", "sentence"),
    [
        (np.ones((4, 3)), r"expects a square matrix of similarities; got shape \(4, 3\)"),
        (np.triu(np.ones((4, 4))), r"must be symmetric.*\(A \+ A\.T\) / 2"),
        (-np.ones((4, 4)), "must not be negative, got -1.*Convert distances d"),
        (np.full((4, 4), np.nan), "NaN"),
        (np.full((4, 4), np.inf), "infinity"),
        (np.ones((1, 1)), "minimum of 2"),
        (csr_array(np.triu(np.ones((4, 4)))), "must be symmetric"),
        (csr_array(-np.ones((4, 4))), "must not be negative"),
    ],
)
def test_invalid_similarities(cls, A, sentence):
    with pytest.raises(ValueError, match=sentence):
        cls(2, affinity="precomputed").fit(A)


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("affinity", ["local", "rbf", "neighbors"])
def test_sparse_rows_have_the_graph_of_dense_rows(cls, affinity):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = cls(2, affinity=affinity, random_state=0)
    dense = model.fit(X).affinity_matrix_
    found = model.fit(csr_array(X)).affinity_matrix_
    assert_allclose(*(each.toarray() if issparse(each) else each for each in (found, dense)), atol=1e-6)


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 61}, "n_samples=60 should be >= n_clusters=61"),
        ({"affinity": "cosine"}, "affinity must be one of 'local'"),
        ({"n_neighbors": 0}, "n_neighbors must be one of None, 'auto' or an integer of at least 1"),
        ({"affinity": "neighbors", "n_neighbors": None}, "requires a number of neighbours"),
        ({"scale": 0.0}, "scale must be one of 'median', 'mean' or a number above 0"),
        ({"scale": "max"}, "scale must be"),
        ({"assign_labels": "qr"}, "assign_labels must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"eigen_solver": "amg"}, "eigen_solver must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"as_links": 1}, "as_links must be"),
        ({"row_normalize": "yes"}, "row_normalize must be"),
        ({"neighbor_search": "fast"}, "neighbor_search must be"),
        ({"warm_start": None}, "warm_start must be"),
    ],
    ids=str,
)
def test_invalid_parameters(cls, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        cls(**{"n_clusters": 3, **params}).fit(blobs()[0])


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_row_without_similar_rows_is_reported_and_gives_no_nan(cls, as_sparse):
    A = rbf_kernel(blobs(18, n=6)[0], gamma=0.1)
    A[4], A[:, 4] = 0.0, 0.0
    A[4, 4] = 1.0  # similar only to itself
    model = cls(3, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match=r"1 row\(s\) have no similar rows, the first of them row 4"):
        model.fit(csr_array(A) if as_sparse else A)
    assert np.isfinite(model.embedding_).all()
    rest = np.arange(18) != 4
    assert adjusted_rand_score(np.repeat([0, 1, 2], 6)[rest], model.labels_[rest]) == 1.0


@pytest.mark.parametrize("cls", MEMBERS)
def test_links_determine_the_cluster_of_a_row_without_similar_rows(cls):
    A = rbf_kernel(blobs(19, n=6)[0], gamma=0.1)
    A[4], A[:, 4] = 0.0, 0.0
    with pytest.warns(UserWarning, match="Only hints can determine their clusters"):
        model = cls(3, affinity="precomputed", random_state=0).fit(A, supervision=must(18, (4, 10)))
    assert model.labels_[4] == model.labels_[10] != model.labels_[0]


@pytest.mark.parametrize("cls", MEMBERS)
def test_no_row_has_similar_rows(cls):
    model = cls(2, affinity="precomputed", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(np.eye(6))
    assert any("6 row(s) have no similar rows" in str(w.message) for w in caught)
    assert np.isfinite(model.embedding_).all()
    assert model.labels_.shape == (6,)
    assert model.predict(np.zeros((2, 6))).tolist() == [np.bincount(model.labels_).argmax()] * 2


@pytest.mark.parametrize("cls", MEMBERS)
def test_more_components_than_clusters_are_reported(cls):
    A = np.kron(np.eye(4), np.ones((5, 5)))
    with pytest.warns(UserWarning, match="has 4 connected components, more than n_clusters=3"):
        model = cls(3, affinity="precomputed", random_state=0).fit(A)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_as_many_components_as_clusters_are_the_clusters(cls, as_sparse):
    y = np.repeat([0, 1, 2], [3, 7, 5])
    A = (y[:, None] == y).astype(float)
    model = cls(3, affinity="precomputed", random_state=0).fit(csr_array(A) if as_sparse else A)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert_allclose(model.eigenvalues_, 1.0)


@pytest.mark.parametrize("cls", MEMBERS)
def test_more_clusters_than_distinct_rows_of_a_component(cls):
    # Two components of three rows each, and five clusters: some rows are single, none is lost.
    A = np.kron(np.eye(2), np.ones((3, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cls(5, affinity="precomputed", random_state=0).fit(A)
    assert np.isfinite(model.embedding_).all()
    assert not set(model.labels_[:3]) & set(model.labels_[3:])


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("affinity", ["local", "rbf", "neighbors"])
def test_rows_that_are_all_equal(cls, affinity):
    model = cls(2, affinity=affinity, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(np.ones((30, 2)))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.eigenvalues_).all()


@pytest.mark.parametrize("cls", MEMBERS)
def test_duplicates_of_few_rows_are_the_clusters(cls):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], 12, axis=0)
    model = cls(3, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 12), model.labels_) == 1.0


@pytest.mark.parametrize("cls", MEMBERS)
@pytest.mark.parametrize("affinity", ["local", "rbf", "neighbors"])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (3, 2), (3, 3)])
def test_two_and_three_rows(cls, affinity, n, k):
    X = np.array([[0.0], [1.0], [5.0]])[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cls(k, affinity=affinity, random_state=0).fit(X)
    assert model.labels_.shape == (n,)
    assert model.labels_.max() < k
    assert np.isfinite(model.embedding_).all()
    assert model.predict(X).shape == (n,)


@pytest.mark.parametrize("cls", MEMBERS)
def test_one_row_and_one_cluster(cls):
    model = cls(1, random_state=0)
    assert model.fit_predict([[1.0, 2.0]]).tolist() == [0]
    assert model.predict([[0.0, 0.0]]).tolist() == [0]
    X, _ = blobs(20)
    assert not model.fit_predict(X).any()
    assert not cls(1, assign_labels="discretize", random_state=0).fit_predict(X).any()


@pytest.mark.parametrize("cls", MEMBERS)
def test_more_neighbours_than_rows_means_all_rows(cls):
    X, _ = blobs(21, n=5)
    many = cls(3, n_neighbors=100, random_state=0).fit(X)
    every = cls(3, n_neighbors=None, random_state=0).fit(X)
    assert_allclose(many.affinity_matrix_.toarray(), every.affinity_matrix_, atol=1e-10)
    assert adjusted_rand_score(many.labels_, every.labels_) == 1.0


def test_a_link_within_one_row_is_refused():
    with pytest.raises(SupervisionError, match="row 3"):
        must(60, (3, 3))


@pytest.mark.parametrize("cls", MEMBERS)
def test_eigenvectors_that_do_not_converge_are_reported(cls, monkeypatch):
    found = _base.compute_leading_eigenvectors

    def unfinished(*args, **kwargs):
        eigen = found(*args, **kwargs)
        return type(eigen)(eigen.values, eigen.vectors, eigen.n_products, eigen.solver, False)

    monkeypatch.setattr(_base, "compute_leading_eigenvectors", unfinished)
    with pytest.warns(ConvergenceWarning, match=r"eigenvectors.*tol"):
        cls(3, random_state=0).fit(blobs()[0])
