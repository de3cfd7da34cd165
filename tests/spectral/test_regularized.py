"""Must-links as a penalty: the matrix against its formula, weights, refused hints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from likewise import RegularizedSpectralClustering, SpectralLearning, Supervision
from likewise.exceptions import InconsistentSupervisionWarning, UnsupportedSupervisionError
from likewise.spectral._affinity import Graph
from reference import bag_constraints as twin
from reference.bag_constraints import draw_weights

SEEDS = st.integers(0, 10_000)


def matrix_of(model, W, hints, as_sparse=False):
    checked = model._check_supervision(hints, len(W), given=W)
    return model._make_operator(Graph.from_weights(csr_array(W) if as_sparse else W), checked).toarray()


def test_the_matrix_by_hand():
    # All degrees are 2. The link adds beta to the pair and subtracts it from the two diagonal entries.
    W = np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
    hints = Supervision.from_links(3, must=[(0, 1)], must_weights=0.5)
    found = matrix_of(RegularizedSpectralClustering(2, beta=4.0), W, hints)
    assert_allclose(found, [[-1, 1.5, 0.5], [1.5, -1, 0.5], [0.5, 0.5, 0]])
    group = Supervision.from_links(3, must_groups=[[0, 1, 2]])
    found = matrix_of(RegularizedSpectralClustering(2, beta=2.0), W, group)
    assert_allclose(found, [[-2, 1.5, 1.5], [1.5, -2, 1.5], [1.5, 1.5, -2]])


@given(SEEDS, st.booleans(), st.floats(0, 50))
def test_the_matrix_equals_the_formula(seed, as_sparse, beta):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    W = draw_weights(rng, n)
    pairs = [rng.choice(n, 2, replace=False) for _ in range(rng.integers(0, 5))]
    groups = [rng.choice(n, rng.integers(2, 4), replace=False) for _ in range(rng.integers(0, 3))]
    hints = Supervision.from_links(
        n,
        must=pairs or None,
        must_weights=rng.uniform(0.1, 2, len(pairs)) if pairs else None,
        must_groups=groups or None,
        must_group_weights=rng.uniform(0.1, 2, len(groups)) if groups else None,
    )
    wanted = twin.normalize(W, W - beta * twin.must_laplacian(hints))
    found = matrix_of(RegularizedSpectralClustering(2, beta=beta), W, hints, as_sparse)
    assert_allclose(found, wanted, atol=1e-9)


def test_beta_zero_or_no_links_is_plain_spectral_clustering():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    plain = SpectralLearning(3, random_state=0).fit(X)
    hints = Supervision.from_links(40, must=[(0, 9), (3, 30)], must_groups=[[5, 6, 7]])
    for model, links in (
        (RegularizedSpectralClustering(3, random_state=0), None),
        (RegularizedSpectralClustering(3, beta=0.0, random_state=0), hints),
    ):
        model.fit(X, supervision=links)
        assert_allclose(model.eigenvalues_, plain.eigenvalues_)
        assert_array_equal(model.labels_, plain.labels_)


def test_heavier_links_bring_rows_closer():
    X = np.array([[0.0], [1.0], [2.0], [4.0], [6.0], [7.0], [8.0]])
    hints = Supervision.from_links(7, must=[(2, 4)])

    def gap(beta):
        model = RegularizedSpectralClustering(2, beta=beta, row_normalize=False, random_state=0)
        rows = model.fit(X, supervision=hints).embedding_
        return np.linalg.norm(rows[2] - rows[4])

    assert gap(0.0) > gap(0.1) > gap(1.0) > gap(20.0)
    assert gap(1e6) < 1e-3


def test_cannot_links_are_refused_or_dropped():
    X = np.random.default_rng(1).normal(size=(12, 2))
    hints = Supervision.from_links(12, must=[(0, 1)], cannot=[(2, 3)], cannot_groups=[[4, 5, 6]])
    with pytest.raises(UnsupportedSupervisionError, match=r"cannot use the 2 cannot-link.*cannot='drop'"):
        RegularizedSpectralClustering(2).fit(X, supervision=hints)
    dropped = RegularizedSpectralClustering(2, cannot="drop", random_state=0).fit(X, supervision=hints)
    must = RegularizedSpectralClustering(2, random_state=0).fit(
        X, supervision=Supervision.from_links(12, must=[(0, 1)])
    )
    assert_array_equal(dropped.labels_, must.labels_)
    assert dropped.violations_.n_must + dropped.violations_.n_cannot > 1  # includes dropped links


def test_contradictions_warn():
    X = np.random.default_rng(2).normal(size=(12, 2))
    hints = Supervision.from_links(12, must=[(0, 1)], cannot=[(0, 1)])
    with pytest.warns(InconsistentSupervisionWarning, match="Only the must-links are used here"):
        RegularizedSpectralClustering(2, cannot="drop", random_state=0).fit(X, supervision=hints)


# ---------------------------------------------------------------------- bags


def bags(sets):
    names = list(range(len(sets)))
    return Supervision.from_bags(
        [name for name in names for _ in range(4)], dict(zip(names, sets, strict=True))
    )


def test_rows_of_single_label_bags_come_together():
    X = np.random.default_rng(3).normal(size=(16, 2))
    hints = bags([{1}, {1}, {1, 2}, None])
    model = RegularizedSpectralClustering(2, as_links=True, random_state=0).fit(X, supervision=hints)
    by_links = RegularizedSpectralClustering(2, random_state=0).fit(X, supervision=hints.to_links())
    assert adjusted_rand_score(model.labels_, by_links.labels_) == 1.0
    assert len(set(model.labels_[:8])) == 1


@pytest.mark.parametrize("sets", [[{1}, {2}], [{1, 2}, {3, 4}], [{1}, {2, 3}]])
def test_bags_that_share_no_label_imply_cannot_links_which_are_refused(sets):
    X = np.random.default_rng(4).normal(size=(8, 2))
    with pytest.raises(UnsupportedSupervisionError, match="cannot='drop'"):
        RegularizedSpectralClustering(4, as_links=True).fit(X, supervision=bags(sets))


def test_bags_that_imply_no_must_links_are_reported():
    X = np.random.default_rng(5).normal(size=(8, 2))
    model = RegularizedSpectralClustering(3, as_links=True, cannot="drop", random_state=0)
    with pytest.warns(UserWarning, match="for 3 clusters the bags imply no must-links"):
        model.fit(X, supervision=bags([{1}, {2}]))
    plain = RegularizedSpectralClustering(3, random_state=0).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
