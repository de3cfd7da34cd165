"""The margins kernel against readable reference code."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.kernels.assign import two_nearest_groups
from profiles import fewer
from reference.margins import two_nearest_groups as twin


def find_nearest_two(X, sites, group):
    n = len(X)
    first, second, near, far = np.empty(n, int), np.empty(n, int), np.empty(n), np.empty(n)
    two_nearest_groups(X, np.ascontiguousarray(sites.T), group, first, second, near, far)
    return np.stack([first, second], axis=1), np.stack([near, far], axis=1)


@fewer(2)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 9), d=st.integers(1, 4), m=st.integers(2, 8))
def test_it_equals_the_reference(seed, n, d, m):
    rng = np.random.default_rng(seed)
    X, sites = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    group = np.r_[0, 3, rng.integers(0, 4, m - 2)]
    groups, away = find_nearest_two(X, sites, group)
    expected_groups, expected_away = twin(X, sites, group)
    np.testing.assert_array_equal(groups, expected_groups)
    np.testing.assert_allclose(away, expected_away, rtol=1e-12)


def test_with_one_group_there_is_no_second():
    groups, away = find_nearest_two(np.zeros((1, 1)), np.array([[2.0], [1.0]]), np.array([5, 5]))
    assert groups.tolist() == [[5, -1]]
    assert away.tolist() == [[1.0, np.inf]]
