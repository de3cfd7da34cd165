"""Laws of the family: the bound never falls, order does not matter, weights are copies, links are used."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from likewise import (
    EquivalenceGaussianMixture,
    MiniBatchPairwiseGaussianMixture,
    PairwiseGaussianMixture,
    PosteriorConstrainedGaussianMixture,
    Supervision,
)
from likewise.supervision import sample_links
from profiles import fewer

SEEDS = st.integers(0, 10_000)
SHAPES = st.sampled_from(["full", "tied", "diag", "spherical"])
MEMBERS = {
    "pairs": lambda k, **more: PairwiseGaussianMixture(k, relations="pairs", **more),
    "subclusters": lambda k, **more: PairwiseGaussianMixture(k, n_subclusters=2, **more),
    "components": lambda k, **more: PairwiseGaussianMixture(k, relations="components", **more),
    "equivalence": lambda k, **more: EquivalenceGaussianMixture(k, **more),
    "normalized": lambda k, **more: EquivalenceGaussianMixture(k, normalize=True, **more),
    "posterior": lambda k, **more: PosteriorConstrainedGaussianMixture(k, **more),
    "penalty": lambda k, **more: PosteriorConstrainedGaussianMixture(k, penalty=0.5, **more),
}


def quiet(model, X, hints):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, supervision=hints)


def blobs(seed, n=60, k=3, apart=2.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, 2)) + apart * rng.normal(size=(k, 2))[y], y


@fewer(8)
@given(seed=SEEDS, shape=SHAPES, k=st.integers(2, 4), balance=st.sampled_from([None, 0.0, 1.0]))
@pytest.mark.parametrize("name", list(MEMBERS))
def test_the_bound_never_falls(name, seed, shape, k, balance):
    X, y = blobs(seed, k=k)
    # Few enough links that every group of components is enumerated.
    hints = sample_links(y, 16 if balance is None else 6, balance=balance, random_state=seed)
    n_parts = 2 * k if name == "subclusters" else k
    model = MEMBERS[name](k, covariance_type=shape, init=X[:n_parts], tol=0, max_iter=12, reg_covar=1e-9)
    bounds = quiet(model, X, hints).lower_bounds_
    assert len(bounds) == 12
    assert np.diff(bounds).min() > -1e-7 * max(1.0, np.abs(bounds).max())
    assert bounds[-1] > bounds[0]


@fewer(25)
@given(seed=SEEDS)
@pytest.mark.parametrize("name", list(MEMBERS))
def test_neither_the_order_of_links_nor_that_of_their_ends_matters(name, seed):
    X, y = blobs(seed)
    hints = sample_links(y, 20, random_state=seed)
    rng = np.random.default_rng(seed)

    def turned(pairs):
        flip = rng.uniform(size=len(pairs)) < 0.5
        pairs = np.where(flip[:, None], pairs[:, ::-1], pairs)
        return rng.permutation(pairs)

    other = Supervision.from_links(60, must=turned(hints.must), cannot=turned(hints.cannot))
    one, two = (
        quiet(MEMBERS[name](3, n_init=2, max_iter=6, random_state=0), X, said) for said in (hints, other)
    )
    np.testing.assert_allclose(one.lower_bounds_, two.lower_bounds_, rtol=1e-9)
    np.testing.assert_array_equal(one.labels_, two.labels_)


@fewer(8)
@given(seed=SEEDS)
@pytest.mark.parametrize("name", list(MEMBERS))
def test_the_order_of_rows_does_not_matter(name, seed):
    X, y = blobs(seed)
    hints = sample_links(y, 16, random_state=seed)
    order = np.random.default_rng(seed).permutation(60)
    start = X[:6] if name == "subclusters" else X[:3]
    one = quiet(MEMBERS[name](3, init=start, max_iter=8, tol=0), X, hints)
    two = quiet(MEMBERS[name](3, init=start, max_iter=8, tol=0), X[order], hints[order])
    np.testing.assert_allclose(one.lower_bounds_, two.lower_bounds_, rtol=1e-6)
    np.testing.assert_allclose(one.means_, two.means_, rtol=1e-4, atol=1e-5)


def test_a_link_stated_twice_counts_once_and_a_weight_of_two_is_two_copies():
    X, y = blobs(0)
    hints = sample_links(y, 10, random_state=0)
    start = {"relations": "pairs", "init": X[:3], "max_iter": 8, "tol": 0}
    once = quiet(PairwiseGaussianMixture(3, **start), X, hints)
    said_twice = Supervision.from_links(
        60, must=np.repeat(hints.must, 2, axis=0), cannot=np.repeat(hints.cannot, 2, axis=0)
    )
    np.testing.assert_array_equal(
        quiet(PairwiseGaussianMixture(3, **start), X, said_twice).lower_bounds_, once.lower_bounds_
    )
    # From one start, each further copy adds the same to the likelihood.
    first = [
        quiet(
            PairwiseGaussianMixture(3, **start),
            X,
            Supervision.from_links(
                60, must=hints.must, cannot=hints.cannot, must_weights=w, cannot_weights=w
            ),
        ).lower_bounds_[0]
        for w in (1.0, 2.0, 3.0)
    ]
    assert first[0] == once.lower_bounds_[0]
    assert first[2] - first[1] == pytest.approx(first[1] - first[0])
    assert first[1] < first[0] - 0.1


def test_without_cannot_links_a_must_group_is_the_component_of_its_links():
    X, _ = blobs(1)
    start = {"init": X[:3], "max_iter": 10, "tol": 0}
    group = Supervision.from_links(60, must_groups=[[0, 5, 9], [3, 4, 8, 10]])
    chain = Supervision.from_links(60, must=[(0, 5), (5, 9), (3, 4), (4, 8), (8, 10)])
    pairs = PairwiseGaussianMixture(3, relations="pairs", **start)
    components = PairwiseGaussianMixture(3, relations="components", **start)
    for one, other in (
        ((EquivalenceGaussianMixture(3, **start), chain), (pairs, group)),
        ((components, chain), (components, group)),
    ):
        bounds = [quiet(clone(model), X, hints).lower_bounds_ for model, hints in (one, other)]
        np.testing.assert_allclose(*bounds, rtol=1e-9)


def test_two_rows_and_a_must_link_by_hand():
    # Two Gaussians of variance 1 at 0 and 4, weights 1/2: the pair (0, 4) is as likely in either class, and
    # so are both of its rows; an unlinked row at 4 has odds e^8.
    X = np.array([[0.0], [4.0], [4.0], [0.0]])
    hints = Supervision.from_links(4, must=[(0, 1)])
    model = PairwiseGaussianMixture(
        2, relations="pairs", covariance_type="spherical", init=[[0.0], [4.0]], reg_covar=0.25, max_iter=1
    )
    # All rows lie on the means: the start has the variance 0 + 0.25 * 4 = 1.
    quiet(model, X, hints)
    tail = 1 / (1 + np.exp(8))
    log_phi = -0.5 * np.log(2 * np.pi)
    pair = np.log(0.5 * 2 * np.exp(-8)) + 2 * log_phi
    free = 2 * (np.log(0.5 * (1 + np.exp(-8))) + log_phi)
    assert model.lower_bound_ == pytest.approx((pair + free) / 4)
    # Class 0 has 1/2 of rows 0 and 1, `tail` of row 2 and the rest of row 3.
    mean = (0.5 * 4 + tail * 4) / (0.5 + 0.5 + tail + (1 - tail))
    np.testing.assert_allclose(model.means_.ravel(), [mean, 4 - mean])
    np.testing.assert_allclose(model.weights_, [0.5, 0.5])


@pytest.mark.parametrize("name", ["pairs", "components", "equivalence", "posterior"])
def test_links_change_the_clusters(name):
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = np.column_stack([4 * rng.choice([-1, 1], 160), 2 * y]) + 0.4 * rng.normal(size=(160, 2))
    hints = sample_links(y, 30, random_state=0)
    plain = MEMBERS[name](2, random_state=0).fit(X)
    told = MEMBERS[name](2, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, plain.labels_) < 0.2
    assert adjusted_rand_score(y, told.labels_) > 0.95
    assert told.violations_.share > 0.95


@fewer(25)
@given(seed=SEEDS)
@pytest.mark.parametrize("name", ["components", "equivalence", "normalized"])
def test_labels_satisfy_every_link_if_links_are_hard(name, seed):
    X, y = blobs(seed, apart=1.0)
    for n_links in (14, 90):  # with the second, groups are too large to enumerate
        hints = sample_links(y, n_links, balance=0.2, random_state=seed)
        model = quiet(MEMBERS[name](3, n_init=1, max_iter=10, random_state=0), X, hints)
        assert model.violations_.share == 1.0


def test_most_likely_classes_of_single_rows_would_break_a_link():
    # Two equal rows, and a third that is nearer to the first of three classes than either: each of the two
    # has class 1 as its most likely class, and they cannot be together.
    X = np.array([[0.0], [0.1], [5.0], [5.1], [-5.0], [-5.1], [0.05], [0.06], [0.04]])
    hints = Supervision.from_links(9, cannot=[(6, 7), (7, 8), (6, 8)])
    model = EquivalenceGaussianMixture(3, covariance_type="tied", init=[[0.0], [5.0], [-5.0]], max_iter=1)
    quiet(model, X, hints)
    assert sorted(model.labels_[6:].tolist()) == [0, 1, 2]
    assert len(set(model.predict(X[6:]).tolist())) == 1


def make_unbalanced_rows(seed, n=215):
    """Rows like those of the thyroid set: five measurements, a wide minority of 30 % beside the normal."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) >= 0.7 * n).astype(int)
    X = rng.normal(size=(n, 5)) * np.where(y[:, None], 1.8, 0.7)
    X[y == 1, :2] += 2.0
    return X, y


@pytest.mark.parametrize("balance", [None, 0.0, 1.0], ids=["both", "cannot", "must"])
@pytest.mark.parametrize("n_links", [64, 256, 500])
def test_class_weights_are_those_of_all_rows_for_any_links(n_links, balance):
    scores = []
    for seed in range(2):
        X, y = make_unbalanced_rows(seed)
        hints = sample_links(y, n_links, balance=balance, random_state=seed)
        model = PairwiseGaussianMixture(2, n_init=4, random_state=seed).fit(X, supervision=hints)
        assert model.relations_ == "components"
        assert model.weights_.min() == pytest.approx(0.30, abs=0.03)
        scores.append(adjusted_rand_score(y, model.predict(X)))
    # Without links 0.89. With every link a separate factor 0.89, 0.66 and 0.92 for 256 links.
    assert np.mean(scores) > (0.85 if n_links == 64 else 0.87)


@pytest.mark.parametrize("classes", [[0], [1], [0, 1]], ids=["large", "small", "each"])
def test_class_weights_do_not_depend_on_the_classes_that_must_links_are_drawn_from(classes):
    X, y = make_unbalanced_rows(0)
    rng = np.random.default_rng(0)
    must = [rng.choice(np.flatnonzero(y == c), 2, replace=False) for c in classes * (200 // len(classes))]
    hints = Supervision.from_links(len(y), must=must)
    for cls in (PairwiseGaussianMixture, MiniBatchPairwiseGaussianMixture):
        model = cls(2, n_init=3, random_state=0).fit(X, supervision=hints)
        assert model.relations_ == "components"
        assert model.weights_.min() == pytest.approx(0.30, abs=0.03)
        assert adjusted_rand_score(y, model.predict(X)) > 0.87


def test_must_links_alone_do_not_merge_overlapping_classes():
    # Three classes of 150, 35 and 30 rows. With one prior factor for each row ARI 0.69, now 0.78.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [150, 35, 30])
    X = rng.normal(size=(215, 5)) * np.array([0.7, 1.5, 1.2])[y][:, None]
    X[y == 1, :2] += 1.5
    X[y == 2, 1:3] -= 1.5
    hints = sample_links(y, 256, balance=1.0, random_state=0)
    model = PairwiseGaussianMixture(3, n_init=4, random_state=0).fit(X, supervision=hints)
    assert np.sort(model.weights_)[::-1] == pytest.approx([150 / 215, 35 / 215, 30 / 215], abs=0.04)
    assert adjusted_rand_score(y, model.predict(X)) > 0.74


def test_pairs_are_chosen_for_links_that_differ_in_weight_or_cannot_all_be_satisfied():
    X, _ = blobs(0)
    sure = Supervision.from_links(60, must=[(0, 1)], cannot=[(2, 3)])
    must_alone = Supervision.from_links(60, must=[(0, 1), (1, 2)])
    weighed = Supervision.from_links(60, must=[(0, 1)], must_weights=2.0)
    contrary = Supervision.from_links(60, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    impossible = Supervision.from_links(60, cannot_groups=[[0, 1, 2, 3]])
    for cls in (PairwiseGaussianMixture, MiniBatchPairwiseGaussianMixture):
        for hints, kind in (
            (None, None),
            (sure, "components"),
            (must_alone, "components"),
            (weighed, "pairs"),
            (contrary, "pairs"),
            (impossible, "pairs"),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = cls(3, n_init=1, max_iter=3, random_state=0).fit(X, supervision=hints)
            assert model.relations_ == kind


def test_a_single_cannot_link_holds_in_the_labels():
    # Two rows inside one blob: without the link both have the same class, also in `predict`.
    X, y = blobs(3, n=90, apart=6.0)
    middles = np.array([X[y == c].mean(axis=0) for c in range(3)])
    at = np.argsort(np.square(X - middles[0]).sum(axis=1))[:2]
    hints = Supervision.from_links(90, cannot=[at])
    for name in ("pairs", "components", "equivalence"):
        model = quiet(MEMBERS[name](3, init=middles), X, hints)
        assert model.labels_[at[0]] != model.labels_[at[1]]
        assert model.predict(X[at]).tolist() == [0, 0]
        assert model.violations_.share == 1.0
