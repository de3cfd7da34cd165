"""Small problems worked out on paper."""

import numpy as np
import pytest

from likewise import Supervision
from likewise.exceptions import InconsistentSupervisionWarning
from likewise.metric import ITML, LSML, MMC, RCA, RelativeSVM, SparseLP, SSSVaD
from likewise.supervision import sample_triplets

LEARNERS = [ITML, LSML, MMC, RCA, RelativeSVM, SparseLP]
X = np.array([[0.0, 0.0], [0.0, 4.0], [1.0, 0.0], [1.0, 4.0]])
SIDES = Supervision.from_links(4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
TRIPLETS = Supervision.from_triplets(4, [(0, 1, 2), (2, 3, 0)], "AB")


@pytest.mark.parametrize("cls", LEARNERS)
@pytest.mark.parametrize("hints", [None, Supervision.empty(4)])
def test_without_hints_distances_do_not_change(cls, hints):
    model = cls().fit(X, supervision=hints)
    np.testing.assert_array_equal(model.components_, np.eye(2))
    np.testing.assert_array_equal(model.transform(X), X)


def test_rca_inverts_the_covariance_within_chunklets():
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    hints = Supervision.from_links(5, must=[(0, 1), (2, 3)])
    # Off their means by (±1, 0) and (0, ±2): sums of squares 2 and 8 over four rows.
    M = RCA(regularization=0).fit(rows, supervision=hints).metric_
    np.testing.assert_allclose(M, [[2.0, 0.0], [0.0, 0.5]], atol=1e-12)


def test_rca_shrinks_the_covariance_towards_the_covariance_of_all_rows():
    rows = np.array([[0.0], [2.0], [10.0]])  # variance 56/3; within the chunklet 1
    M = RCA(regularization=0.25).fit(rows, supervision=Supervision.from_links(3, must=[(0, 1)])).metric_
    np.testing.assert_allclose(M, [[1 / (0.75 + 0.25 * 56 / 3)]])


def test_rca_takes_rows_of_one_label_as_a_chunklet():
    labels = Supervision.from_labels(["a", "a", "b", "b", None])
    links = Supervision.from_links(5, must=[(0, 1), (2, 3)])
    rows = np.array([[0.0, 0.0], [2.0, 1.0], [5.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    np.testing.assert_allclose(
        RCA().fit(rows, supervision=labels).metric_, RCA().fit(rows, supervision=links).metric_
    )


def test_rca_sorts_directions_by_fishers_criterion():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    rows = rng.normal(size=(60, 3))
    rows[:, 1] += 20 * y  # the second column separates the classes
    hints = Supervision.from_labels(y.tolist())
    all_of_them, one = RCA().fit(rows, supervision=hints), RCA(1).fit(rows, supervision=hints)
    np.testing.assert_allclose(one.components_, all_of_them.components_[:1])
    assert np.abs(one.components_[0]).argmax() == 1
    assert one.get_feature_names_out().tolist() == ["rca0"]


def test_itml_projects_one_must_link():
    rows = np.array([[0.0], [2.0], [5.0]])
    hints = Supervision.from_links(3, must=[(0, 1)])
    # d² = 4 m should be at most 1. With the dual a: 1/(4m) = 1/4 + a, 1/xi = 1 - a / gamma, 4m = xi:
    # a (1 + 1/gamma) = 3/4, so gamma = 1 gives a = 3/8 and 4m = 1 / (5/8).
    M = ITML(1.0, bounds=(1.0, 9.0)).fit(rows, supervision=hints).metric_
    np.testing.assert_allclose(M, [[0.4]])
    M = ITML(1e9, bounds=(1.0, 9.0)).fit(rows, supervision=hints).metric_
    np.testing.assert_allclose(M, [[0.25]], rtol=1e-6)


def test_itml_ignores_links_within_their_bounds():
    model = ITML(bounds=(17.0, 0.5)).fit(X, supervision=SIDES)
    np.testing.assert_allclose(model.metric_, np.eye(2))
    assert model.bounds_ == (17.0, 0.5)


def test_itml_weights_are_the_price_of_slack():
    rows = np.array([[0.0], [2.0], [5.0]])
    heavy = Supervision.from_links(3, must=[(0, 1)], must_weights=7.0)
    light = Supervision.from_links(3, must=[(0, 1)])
    np.testing.assert_allclose(
        ITML(1.0, bounds=(1, 9)).fit(rows, supervision=heavy).metric_,
        ITML(7.0, bounds=(1, 9)).fit(rows, supervision=light).metric_,
    )


def test_itml_default_bounds_are_percentiles_of_squared_distances():
    rows = np.arange(101.0)[:, None]
    squared = [float((i - j) ** 2) for i in range(101) for j in range(i)]
    model = ITML().fit(rows, supervision=Supervision.from_links(101, must=[(0, 1)]))
    np.testing.assert_allclose(model.bounds_, np.percentile(squared, (5, 95)))


@pytest.mark.parametrize("diagonal", [True, False])
def test_mmc_with_one_link_of_each_kind(diagonal):
    # S = diag(0, 16), 2T = diag(0.5, 8), rho = 0.5: S_rho = diag(0.25, 12). The cannot-link lies along
    # the first column, which gets all the weight: 0.25 m = 1, so the link has length 2.
    hints = Supervision.from_links(4, must=[(0, 1)], cannot=[(0, 2)])
    model = MMC(diagonal=diagonal, regularization=0.5, tol=1e-9).fit(X, supervision=hints)
    np.testing.assert_allclose(model.metric_, [[4.0, 0.0], [0.0, 0.0]], atol=1e-6)
    assert model.objective_ == pytest.approx(2.0, rel=1e-6)


def test_mmc_diagonal_divides_the_weight_between_columns():
    # S = identity. One cannot-link along each column, weights 3 and 4: maximise (3 sqrt(z1) + 4 sqrt(z2)) / 7
    # with z1 + z2 = 1, so z1 : z2 = 9 : 16.
    rows = np.array([[0.0, 0.0], [np.sqrt(2), 0.0], [0.0, np.sqrt(2)], [1.0, 0.0], [0.0, 1.0]])
    hints = Supervision.from_links(
        5, must=[(0, 1), (0, 2)], cannot=[(0, 3), (0, 4)], cannot_weights=[3.0, 4.0]
    )
    for diagonal in (True, False):
        model = MMC(diagonal=diagonal, regularization=0, tol=1e-12).fit(rows, supervision=hints)
        np.testing.assert_allclose(model.metric_.diagonal(), [9 / 25, 16 / 25], rtol=1e-5)


def test_lsml_without_violated_comparisons_keeps_the_prior():
    hints = Supervision.from_triplets(4, [(0, 2, 1)], "AB")  # 0 is 1 from 2 and 4 from 1
    np.testing.assert_allclose(LSML().fit(X, supervision=hints).metric_, np.eye(2))
    prior = np.diag([1.0, 2.0])
    np.testing.assert_allclose(LSML(prior=prior).fit(X, supervision=hints).metric_, prior)


def test_lsml_satisfies_a_violated_comparison():
    free = LSML(gamma=1e-6).fit(X, supervision=TRIPLETS).distances(X)
    learned = LSML(gamma=1e4).fit(X, supervision=TRIPLETS)
    assert free[0, 1] == pytest.approx(4.0, rel=1e-3)
    # With m11 = 16 m22 the remaining terms are 17 m22 - 2 log m22 - log 16, minimal at m22 = 2 / 17.
    np.testing.assert_allclose(learned.metric_, np.diag([32 / 17, 2 / 17]), atol=2e-3)
    assert learned.objective_ == pytest.approx(2 - np.log(64 / 289), abs=1e-3)


def test_sparse_lp_uses_one_column_where_one_suffices():
    M = SparseLP().fit(X, supervision=TRIPLETS).metric_
    # The first comparison requires m11 - 16 m22 >= s = 2 (0.25 + 4) = 8.5, and the others require no more.
    np.testing.assert_allclose(M, [[8.5, 0.0], [0.0, 0.0]], atol=1e-9)


def test_relative_svm_takes_the_smallest_weight_that_keeps_the_margin():
    # Two of the four comparisons concern d(0, 2)² - d(0, 1)² = w1 - 16 w2, two d(1, 2)² - d(0, 1)² = w1; in
    # units of s = 8.5 the former require w1 >= 8.5 if C is large.
    M = RelativeSVM(C=100).fit(X, supervision=TRIPLETS).metric_
    np.testing.assert_allclose(M, [[8.5, 0.0], [0.0, 0.0]], rtol=1e-4, atol=1e-9)
    # With a small C all multipliers are at their bounds: w1 = C Σ gains = C 4 / 8.5.
    M = RelativeSVM(C=0.1).fit(X, supervision=TRIPLETS).metric_
    np.testing.assert_allclose(M, [[0.4 / 8.5, 0.0], [0.0, 0.0]], rtol=1e-4, atol=1e-9)


def test_relative_svm_with_a_kernel_learns_what_column_weights_cannot():
    # Rows in a disc and on a ring around it: any two rows on the ring are similar.
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 60), np.arange(60) % 2
    rows = (0.3 + 2 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    hints = sample_triplets(y, 60, neither=False, random_state=0)

    def kept(model):
        away = model.fit(rows, supervision=hints).distances(rows)
        order = np.array([(0, 1, 2), (0, 2, 1), (1, 2, 0)])[hints.answers]
        a, b, c = np.take_along_axis(hints.triplets, order, axis=1).T
        return np.mean((away[a, b] < away[a, c]) & (away[a, b] < away[b, c]))

    with pytest.warns(InconsistentSupervisionWarning, match="no positive weights satisfy these triplets"):
        assert kept(RelativeSVM(C=10)) < 0.7
    model = RelativeSVM(C=10, kernel="rbf")
    assert kept(model) > 0.95
    # New rows are mapped by the same kernel functions.
    away = model.distances(np.array([[0.0, 2.3], [-2.3, 0.0], [0.0, 0.1]]))
    assert away[0, 1] < away[0, 2]
    new = np.zeros((3, 2))
    assert model.transform(new).shape == (3, len(model.landmarks_))
    assert model.get_feature_names_out().shape == (len(model.landmarks_),)


def test_sssvad_gives_weight_to_the_column_that_explains_the_triplets():
    rows = np.array([[0, 0], [0, 5], [0, 9], [4, 0], [4, 4], [4, 9]], dtype=float)
    hints = Supervision.from_triplets(6, [(0, 2, 3), (3, 5, 0), (1, 2, 4)], "AB")
    model = SSSVaD(2, random_state=0).fit(rows, supervision=hints)
    assert model.violations_.share == 1.0
    assert (model.feature_weights_[:, 0] > model.feature_weights_[:, 1]).all()
    np.testing.assert_allclose(model.feature_weights_.mean(axis=1), 1.0)
    for h in (0, 1):
        np.testing.assert_allclose(model.cluster_centers_[h], rows[model.labels_ == h].mean(axis=0))


def test_distances_agree_with_the_metric():
    model = ITML(100, bounds=(1, 4)).fit(X, supervision=SIDES)
    v = X[0] - X[3]
    assert model.distances(X)[0, 3] == pytest.approx(np.sqrt(v @ model.metric_ @ v))
    assert model.distances(X[:1], X[1:]).shape == (1, 3)
