"""The kernels of softmax models against a few lines of NumPy."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from likewise.kernels.softmax import add_masses, differentiate_softmax, mix_logits, rotate, transpose


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=(2, 5, 3, 7))  # two sets of five models, 3 clusters, 7 rows


def test_mixed_logits_have_a_maximum_of_zero(logits):
    a, b = logits
    which, x, y = np.array([4, 1]), np.array([0.5, -2.0]), np.array([3.0, 0.25])
    out = np.empty((2, 3, 5))
    mix_logits(a, b, which, x, y, 2, np.empty(7), out)
    mixed = x[:, None, None] * a[which, :, 2:] + y[:, None, None] * b[which, :, 2:]
    np.testing.assert_allclose(out, mixed - mixed.max(axis=1, keepdims=True), atol=1e-15)
    assert (out.max(axis=1) == 0.0).all()


def test_only_chosen_models_are_rotated(logits):
    a, b = logits
    found = a.copy()
    rotate(found, b, np.array([3]), np.array([0.6]), np.array([0.8]))
    np.testing.assert_allclose(found[3], 0.6 * a[3] + 0.8 * b[3])
    np.testing.assert_array_equal(np.delete(found, 3, axis=0), np.delete(a, 3, axis=0))


def test_sums_over_clusters_and_transposed_rows(logits):
    a, p = logits[0], np.exp(logits[0])
    mass, mixed = np.empty((2, 5, 7))
    add_masses(p, a, mass, mixed)
    np.testing.assert_allclose(mass, p.sum(axis=1))
    np.testing.assert_allclose(mixed, (p * a).sum(axis=1))
    rows, out = np.array([6, 0]), np.empty((5, 2, 3))
    transpose(a, np.ones_like(mass), -np.log(mass), rows, out)
    np.testing.assert_allclose(out, log_softmax(a, axis=1).transpose(0, 2, 1)[:, rows])
    transpose(p, 1.0 / mass, np.zeros_like(mass), rows, out)
    np.testing.assert_allclose(out, softmax(a, axis=1).transpose(0, 2, 1)[:, rows])


def test_derivatives_by_logits(logits):
    """Room for more rows than there are, as in the last block of many rows."""
    x, by_mean, tau = logits[0, 0], np.array([0.3, -1.0, 2.0]), 1.5
    p, mass = softmax(x[:, :4], axis=0), np.exp(x[:, :4]).sum(axis=0)
    t = tau * np.log(p) + by_mean[:, None]
    out = np.zeros_like(x)
    total = differentiate_softmax(x, np.exp(x), 1.0 / mass, np.log(mass), tau, by_mean, out)
    assert total == pytest.approx((p * t).sum())
    np.testing.assert_allclose(out[:, :4], p * (t - (p * t).sum(axis=0)))
    assert not out[:, 4:].any()
