"""Synthetic data: determined by the seed, with the properties that the docstrings state."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from likewise.datasets import make_label_tree, make_two_views
from profiles import fewer


@pytest.mark.parametrize(
    "make",
    [
        make_two_views,
        make_label_tree,
    ],
)
def test_the_seed_fixes_everything(make):
    np.random.seed(0)  # noqa: NPY002
    one = make(random_state=3)
    np.random.seed(1)  # noqa: NPY002  (the global generator is not used)
    two, from_state = make(random_state=3), make(random_state=np.random.RandomState(3))
    for field in dataclasses.fields(one):
        first = getattr(one, field.name)
        for other in (two, from_state):
            np.testing.assert_equal(getattr(other, field.name), first)


def within(toy, n_links, seed):
    """Return feature weights that make rows of a group close: the inverse spread of must-links."""
    rng = np.random.default_rng(seed)
    pairs = []
    while len(pairs) < n_links:
        i, j = rng.integers(len(toy.X), size=2)
        if i != j and toy.y[i] == toy.y[j]:
            pairs.append((i, j))
    i, j = np.array(pairs).T
    return 1 / np.sqrt(((toy.X[i] - toy.X[j]) ** 2).mean(axis=0))


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_k_means_finds_the_other_view_and_a_few_links_correct_it(n_groups, seed):
    toy = make_two_views(n_groups=n_groups, random_state=seed)
    plain = KMeans(n_groups, n_init=5, random_state=0).fit_predict(toy.X)
    assert adjusted_rand_score(toy.y, plain) < 0.2
    assert adjusted_rand_score(toy.y_other, plain) > 0.9
    weighted = KMeans(n_groups, n_init=5, random_state=0).fit_predict(toy.X * within(toy, 10, seed))
    assert adjusted_rand_score(toy.y, weighted) > 0.9
    sizes = np.unique(toy.y, return_counts=True)[1]
    assert np.ptp(sizes) <= n_groups


def test_two_views_with_noise():
    toy = make_two_views(200, n_noise=3, random_state=0)
    assert toy.X.shape == (200, 5)
    plain = KMeans(3, n_init=5, random_state=0).fit_predict(toy.X)
    assert adjusted_rand_score(toy.y, plain) < 0.2


@fewer(2)
@given(
    st.integers(1, 60), st.integers(1, 10), st.integers(1, 4), st.floats(0, 0.9), st.integers(0, 2**32 - 1)
)
def test_label_trees_are_closed_and_only_lose_labels(n, k, max_depth, missing_rate, seed):
    tree = make_label_tree(n, k, max_depth=max_depth, missing_rate=missing_rate, random_state=seed)
    assert (tree.parents < np.arange(k)).all()
    assert (tree.Z <= tree.Y).all()
    for c, parent in enumerate(tree.parents):
        depth, up = 1, parent
        while up >= 0:
            depth, up = depth + 1, tree.parents[up]
        assert depth <= max_depth
        if parent >= 0:
            assert (tree.Y[:, c] <= tree.Y[:, parent]).all()


def test_label_tree_rates():
    tree = make_label_tree(5000, 6, missing_rate=0.25, random_state=0)
    assert tree.Z.sum() / tree.Y.sum() == pytest.approx(0.75, abs=0.02)
    for c, parent in enumerate(tree.parents):
        able = tree.Y[:, parent] if parent >= 0 else np.ones(5000, dtype=bool)
        assert tree.Y[able, c].mean() == pytest.approx(0.6, abs=0.01)
    assert (make_label_tree(missing_rate=0, random_state=0).Z == make_label_tree(random_state=0).Y).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_two_views(8), "n_samples must be at least 9; got 8"),
        (lambda: make_two_views(n_groups=1), "n_groups must be at least 2"),
        (lambda: make_two_views(stretch=1), "stretch must be above 1"),
        (lambda: make_label_tree(missing_rate=1), "missing_rate"),
        (lambda: make_label_tree(n_labels=0), "n_labels must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
