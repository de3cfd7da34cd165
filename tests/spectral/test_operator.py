"""The operator against its dense form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from likewise.spectral._operator import LowRank, SpectralOperator


def dense(weights, scale, terms, diagonal, shift):
    """Return the dense matrix by the formula."""
    n = len(weights)
    inner = weights + np.diag(diagonal)
    for rows, core in terms:
        inner = inner + rows @ (np.diag(core) if core.ndim == 1 else core) @ rows.T
    return np.diag(scale) @ inner @ np.diag(scale) + shift * np.eye(n)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 12))
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < draw(st.floats(0, 1))), 1)
    weights += weights.T
    terms = []
    for r in draw(st.lists(st.integers(0, 4), max_size=3)):
        core = rng.normal(size=r) if draw(st.booleans()) else rng.normal(size=(r, r))
        terms.append((rng.normal(size=(n, r)), core if core.ndim == 1 else core + core.T))
    return weights, rng.random(n) + 0.1, terms, rng.normal(size=n), draw(st.sampled_from([0.0, -1.5])), rng


@given(problems(), st.booleans(), st.booleans())
def test_products_equal_the_dense_form(problem, sparse_weights, sparse_rows):
    *parts, rng = problem
    weights, scale, terms, diagonal, shift = parts
    whole = dense(*parts)
    operator = SpectralOperator(
        sparse.csr_array(weights) if sparse_weights else weights,
        scale,
        [LowRank(sparse.csr_array(rows) if sparse_rows else rows, core) for rows, core in terms],
        diagonal,
        shift,
    )
    block = rng.normal(size=(len(weights), 3))
    assert_allclose(operator @ block, whole @ block, atol=1e-10)
    assert_allclose(operator @ block[:, 0], whole @ block[:, 0], atol=1e-10)
    assert_allclose(operator @ block[:, :1], whole @ block[:, :1], atol=1e-10)
    assert_allclose(operator.rmatvec(block[:, 0]), whole @ block[:, 0], atol=1e-10)
    assert_allclose(operator.T @ block, whole @ block, atol=1e-10)
    assert_allclose(operator.toarray(), whole, atol=1e-10)
    low_rank = dense(0 * weights, scale, terms, 0 * diagonal, 0.0)
    assert_allclose(operator.apply_terms(block), low_rank @ block, atol=1e-10)
    if sparse_weights:
        part, complete = operator.get_sparse_part()
        kept = [term for term in operator.terms if term.n_entries <= 0.1 * np.count_nonzero(weights)]
        assert complete == (len(kept) == len(terms))
        left = sum((term.scale(scale).toarray() for term in operator.terms if term not in kept), 0 * whole)
        assert_allclose(part.toarray(), whole - left, atol=1e-10)


@given(problems())
def test_omitted_arguments_have_no_effect(problem):
    weights = problem[0]
    assert_array_equal(SpectralOperator(weights).toarray(), weights)
    assert_array_equal(SpectralOperator(sparse.csr_array(weights)).toarray(), weights)


def test_by_hand():
    # s W s = 4 on the pair; s u = (2, 0), so the term adds 0.5 * 4 to the first row; g scaled is (0, 12).
    operator = SpectralOperator(
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.array([2.0, 2.0]),
        [LowRank(np.array([[1.0], [0.0]]), np.array([0.5]))],
        np.array([0.0, 3.0]),
        shift=1.0,
    )
    assert_array_equal(operator.toarray(), [[3.0, 4.0], [4.0, 13.0]])
    assert_array_equal(operator @ np.array([1.0, -1.0]), [-1.0, -9.0])


@pytest.mark.parametrize("core", [np.array([2.0]), np.array([[2.0]])])
def test_terms_with_few_entries_are_added_to_the_sparse_part(core):
    ring = np.roll(np.eye(200), 1, axis=0)
    link = np.zeros((200, 1))
    link[[3, 90]] = 1.0
    terms = [LowRank(sparse.csr_array(link), core), LowRank(np.ones((200, 1)), np.ones(1))]
    operator = SpectralOperator(sparse.csr_array(ring + ring.T), np.full(200, 0.5), terms[:1], shift=1.0)
    part, complete = operator.get_sparse_part()
    assert complete
    assert terms[0].n_entries == 4
    assert_allclose(part.toarray(), operator.toarray(), atol=1e-14)
    assert part.nnz == 400 + 200 + 2
    assert not SpectralOperator(sparse.csr_array(ring + ring.T), terms=terms).get_sparse_part()[1]


def test_weights_are_not_copied_nor_changed():
    weights = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert SpectralOperator(weights, np.array([0.5, 0.5])).weights is weights
    graph = sparse.csr_array(weights)
    operator = SpectralOperator(graph, np.array([0.5, 0.5]))
    assert operator.weights is graph
    assert np.shares_memory(operator.graph.indices, graph.indices)
    assert_array_equal(graph.toarray(), weights)


def test_unsorted_indices_with_duplicates_are_accepted_and_not_modified():
    data, indices, indptr = (
        np.array([2.0, 0.5, 0.5, 1.0, 2.0]),
        np.array([2, 1, 1, 0, 0]),
        np.array([0, 3, 4, 5]),
    )
    graph = sparse.csr_array((data.copy(), indices.copy(), indptr), shape=(3, 3))
    operator = SpectralOperator(graph, np.ones(3))
    operator.graph.sort_indices()
    assert_array_equal(operator.toarray(), [[0, 1, 2], [1, 0, 0], [2, 0, 0]])
    assert_array_equal(graph.indices, indices)
    assert_array_equal(graph.data, data)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.zeros((2, 3)),), "square"),
        ((np.zeros((2, 2)), np.ones(3)), r"scale has shape \(3,\); expected \(2,\)"),
        ((np.zeros((2, 2)), None, [], np.ones(3)), r"diagonal has shape \(3,\)"),
        ((np.zeros((2, 2)), None, [LowRank(np.ones((3, 1)), np.ones(1))]), "3 rows; expected 2"),
    ],
)
def test_invalid_shapes_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        SpectralOperator(*arguments)


def test_a_core_of_invalid_shape_is_refused():
    with pytest.raises(ValueError, match=r"core has shape \(3,\); expected \(2, 2\) or \(2,\) for 2 columns"):
        LowRank(np.ones((4, 2)), np.ones(3))


def test_dense_weights_have_no_sparse_part():
    operator = SpectralOperator(np.zeros((2, 2)))
    assert operator.graph is None
    with pytest.raises(TypeError, match="requires sparse weights"):
        operator.get_sparse_part()
