"""Spectral learning: the matrix against its formula, bags through links, contradictions, new rows."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from likewise import SpectralLearning, Supervision
from likewise.exceptions import (
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    UnsupportedSupervisionError,
)
from likewise.spectral._affinity import Graph
from likewise.supervision import sample_links
from profiles import fewer
from reference import bag_constraints as twin
from reference.bag_constraints import draw_bags, draw_links, draw_weights

SEEDS = st.integers(0, 10_000)
FORMS = st.sampled_from([(n, s) for n in ("symmetric", "additive") for s in (False, True)])
WRITTEN_OUT = {"symmetric": twin.normalize, "additive": twin.additive}


def matrix_of(model, W, hints, as_sparse=False):
    """Return the dense matrix that a model computes from a graph and hints."""
    checked = model._check_supervision(hints, len(W), given=W)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        return model._make_operator(Graph.from_weights(csr_array(W) if as_sparse else W), checked).toarray()


def ring(n=24):
    """Return rows on a circle, which only hints can divide."""
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


# ---------------------------------------------------------------------- by hand


def test_both_normalisations_by_hand():
    # Rows 0 and 1 belong together: 1 instead of 0.5, so the degrees are 2, 4 and 4.
    W = np.array([[0, 0.5, 1.0], [0.5, 0, 3.0], [1.0, 3.0, 0]])
    hints = Supervision.from_links(3, must=[(0, 1)])
    found = matrix_of(SpectralLearning(2), W, hints)
    assert_allclose(found, [[0, 8**-0.5, 8**-0.5], [8**-0.5, 0, 0.75], [8**-0.5, 0.75, 0]])
    found = matrix_of(SpectralLearning(2, normalization="additive"), W, hints)
    assert_allclose(found, [[0.5, 0.25, 0.25], [0.25, 0, 0.75], [0.25, 0.75, 0]])


@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_self_loops_put_ones_on_the_diagonal_of_the_printed_matrix(n_neighbors):
    X = ring()
    plain, looped = (
        SpectralLearning(2, n_neighbors=n_neighbors, self_loops=loops, random_state=0).fit(X)
        for loops in (False, True)
    )
    W = looped.affinity_matrix_ if n_neighbors is None else looped.affinity_matrix_.toarray()
    assert_allclose(np.diag(W), 1.0)
    bare = plain.affinity_matrix_ if n_neighbors is None else plain.affinity_matrix_.toarray()
    assert_allclose(W - np.eye(24), bare)
    degrees = W.sum(axis=1)
    values = np.sort(np.linalg.eigvalsh(W / np.sqrt(degrees[:, None] * degrees)))[::-1]
    assert_allclose(looped.eigenvalues_, values[:2], rtol=1e-5)
    assert_array_equal(looped.predict(X), looped.labels_)


def test_self_loops_remain_with_links():
    W = np.array([[1.0, 0.5, 1.0], [0.5, 1.0, 3.0], [1.0, 3.0, 1.0]])
    hints = Supervision.from_links(3, must=[(0, 1)])
    expected = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 3.0], [1.0, 3.0, 1.0]])
    degrees = expected.sum(axis=1)
    for as_sparse in (False, True):
        found = matrix_of(SpectralLearning(2, self_loops=True), W, hints, as_sparse)
        assert_allclose(found, expected / np.sqrt(degrees[:, None] * degrees))
    model = SpectralLearning(2, affinity="precomputed", self_loops=True, random_state=0).fit(W)
    assert_allclose(np.diag(model.affinity_matrix_), 1.0)


def test_links_decide_where_a_ring_is_cut():
    X = ring()
    hints = Supervision.from_links(24, cannot=[(0, 23), (11, 12)])
    labels = SpectralLearning(2, n_neighbors=4, random_state=0).fit_predict(X, supervision=hints)
    assert len(set(labels[:12])) == len(set(labels[12:])) == 1
    assert labels[0] != labels[23]
    turned = Supervision.from_links(24, cannot=[(5, 6), (17, 18)])
    labels = SpectralLearning(2, n_neighbors=4, random_state=0).fit_predict(X, supervision=turned)
    assert len(set(labels[6:18])) == 1
    assert labels[5] != labels[6]


# ---------------------------------------------------------------------- twins


@given(SEEDS, FORMS, st.booleans())
def test_the_matrix_equals_the_formula(seed, form, true_links):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    W = draw_weights(rng, n)
    hints = draw_links(rng, n, rng.integers(0, 3, n) if true_links else None)
    found = matrix_of(SpectralLearning(2, normalization=form[0]), W, hints, form[1])
    assert_allclose(found, WRITTEN_OUT[form[0]](twin.make_linked_matrix(W, hints)), atol=1e-12)


@given(SEEDS, FORMS, st.booleans())
def test_bags_labels_and_triplets_are_converted_by_to_links(seed, form, more):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    y = rng.integers(0, 3, n)
    W = draw_weights(rng, n)
    hints = draw_bags(rng, n, y) | draw_links(rng, n, y)
    if rng.uniform() < 0.5:
        hints = hints | Supervision.from_labels([int(c) if rng.uniform() < 0.3 else None for c in y])
    rows = rng.permutation(n)[:3]
    if y[rows[0]] == y[rows[1]] != y[rows[2]]:
        hints = hints | Supervision.from_triplets(n, [rows], "AB")
    bag_classes = {c for labels in (hints.bags.labels if hints.bags else ()) for c in labels or ()}
    n_classes = len(bag_classes | set(hints.classes))
    model = SpectralLearning(max(n_classes, 1) + more, normalization=form[0], as_links=True)
    links = hints.to_links(more_clusters_than_classes=model.n_clusters > n_classes)
    found = matrix_of(model, W, hints, form[1])
    assert_allclose(found, WRITTEN_OUT[form[0]](twin.make_linked_matrix(W, links)), atol=1e-12)


# ---------------------------------------------------------------------- laws


def test_weights_of_links_are_ignored():
    X = ring()
    weighed = Supervision.from_links(24, must=[(0, 12)], cannot=[(0, 6)], must_weights=9, cannot_weights=0.1)
    even = Supervision.from_links(24, must=[(0, 12)], cannot=[(0, 6)])
    one, other = (SpectralLearning(2, random_state=0).fit(X, supervision=h) for h in (weighed, even))
    assert_array_equal(one.labels_, other.labels_)


@pytest.mark.parametrize("normalization", ["symmetric", "additive"])
def test_all_links_recover_the_classes(normalization):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = rng.normal(size=(45, 2))  # the rows carry no information about the classes
    hints = Supervision.from_labels(y.tolist())
    model = SpectralLearning(3, normalization=normalization, as_links=True, random_state=0)
    assert adjusted_rand_score(y, model.fit_predict(X, supervision=hints)) == 1.0


def test_more_true_links_do_no_harm_on_average():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1]])[y]

    def score(n_links):
        hints = [sample_links(y, n_links, random_state=seed) for seed in range(3)] if n_links else [None]
        fits = [SpectralLearning(3, random_state=0).fit(X, supervision=h) for h in hints]
        return np.mean([adjusted_rand_score(y, fit.labels_) for fit in fits])

    assert score(0) < score(150) < score(600)


@fewer(2)
@given(SEEDS)
def test_a_row_without_hints_is_extended_exactly_in_the_additive_form(seed):
    # Its entry in an eigenvector follows from its similarities, its degree and the eigenvalue alone.
    rng = np.random.default_rng(seed)
    W = draw_weights(rng, 10) + 0.05 * (1 - np.eye(10))
    hints = Supervision.from_links(10, must=[(0, 1), (1, 2)], cannot=[(2, 3)])
    model = SpectralLearning(2, normalization="additive", affinity="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some random graphs are disconnected
        model.fit(W, supervision=hints)
    found = model._last.partition
    free = np.arange(4, 10)
    degrees = W[free].sum(axis=1)
    whole = model._extend_eigenvectors(W[free], degrees, found)
    below = (found.eigen.values - 1) * found.scale[0] ** -2 + degrees[:, None]
    certain = below > 1e-3  # other entries are inaccurate and set to 0
    assert_allclose(whole[certain], found.eigen.vectors[free][certain], atol=1e-6)
    assert certain.any()


# ---------------------------------------------------------------------- contradictions and refusals


def test_contradictory_links_warn_and_the_must_links_win():
    X = ring(8)
    hints = Supervision.from_links(8, must=[(0, 1), (1, 2)], cannot=[(0, 2), (4, 5)])
    with pytest.warns(InconsistentSupervisionWarning, match=r"0 – 1 – 2\. Here the must-links win"):
        model = SpectralLearning(2, random_state=0).fit(X, supervision=hints)
    right = SpectralLearning(2, random_state=0).fit(X, supervision=hints.drop_conflicts())
    assert_array_equal(model.labels_, right.labels_)
    assert_allclose(model.eigenvalues_, right.eigenvalues_)


@pytest.mark.parametrize("k", [2, 4])
def test_links_between_bags_that_share_no_label_warn(k):
    hints = Supervision.from_bags(list("aabbccdd"), {"a": [1], "b": [2, 3]})
    hints = hints | Supervision.from_links(8, must=[(0, 7), (7, 2)])
    with pytest.warns(InconsistentSupervisionWarning, match=r"rows 0 and 2 share no label.* 0 – 7 – 2"):
        SpectralLearning(k, as_links=True, random_state=0).fit(ring(8), supervision=hints)


def test_other_kinds_are_refused_unless_as_links_is_true():
    X = ring(8)
    hints = Supervision.from_bags(list("aabbccdd"), {"a": [1], "b": [2]})
    with pytest.raises(UnsupportedSupervisionError, match="cannot use bags"):
        SpectralLearning(2).fit(X, supervision=hints)
    model = SpectralLearning(2, as_links=True, random_state=0).fit(X, supervision=hints)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.violations_.share == 1.0


def test_one_cluster_and_a_cannot_link_is_refused():
    with pytest.raises(InfeasibleSupervisionError, match="n_clusters=1"):
        SpectralLearning(1).fit(ring(8), supervision=Supervision.from_links(8, cannot=[(0, 1)]))
