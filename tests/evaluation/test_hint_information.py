"""The information in pairs and triplets: by hand, against enumeration, and the corollary."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.evaluation import HintInformation, compare_hints
from likewise.evaluation._hint_information import pair_information, triplet_information
from reference import information as twin


@st.composite
def distributions(draw, max_classes=5):
    parts = draw(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=max_classes))
    return np.array(parts) / sum(parts)


def test_two_equal_classes_by_hand():
    found = compare_hints(shares=[0.5, 0.5])
    assert (found.p_must, found.p_two) == (0.5, 0.25)
    assert (found.pair_bits, found.triplet_bits) == (1.0, 2.0)
    assert (found.three_pairs, found.two_triplets) == (3.0, 4.0)
    assert found.pair_bits_per_row == 0.5
    assert found.triplet_bits_per_row == pytest.approx(2 / 3)
    assert found.no_large_class
    assert not found.enough_neither  # 3/4 is more than 1 - 1/e
    assert not found.triplets_promised
    assert found.triplet_tells_more


def test_one_class_has_no_information():
    assert pair_information([1.0]) == triplet_information([1.0, 0.0]) == 0.0


@pytest.mark.parametrize("k", [2, 3, 7, 13, 20])
def test_equal_classes_have_the_closed_forms_of_the_thesis(k):
    odd = 3 * (k - 1) / k**2
    pair = math.log2(k) - (1 - 1 / k) * math.log2(k - 1)
    triplet = 2 * math.log2(k) - odd * math.log2(k - 1) - (1 - odd) * math.log2(k**2 - 3 * (k - 1))
    assert pair_information(np.full(k, 1 / k)) == pytest.approx(pair)
    assert triplet_information(np.full(k, 1 / k)) == pytest.approx(triplet)
    assert triplet > pair
    assert 2 * triplet > 3 * pair


@given(distributions(), st.floats(0, 1), st.floats(0, 1))
def test_enumeration_of_classes_agrees(shares, noise_pair, noise_triplet):
    assert pair_information(shares, noise=noise_pair) == pytest.approx(
        twin.pair_information(shares, noise_pair), abs=1e-9
    )
    assert triplet_information(shares, noise=noise_triplet) == pytest.approx(
        twin.triplet_information(shares, noise_triplet), abs=1e-9
    )


@given(distributions(max_classes=9))
def test_the_corollary_holds(shares):
    found = compare_hints(shares=shares)
    assert found.triplet_tells_more or not found.triplets_promised
    # Stronger than the corollary; no exception is known.
    assert found.two_triplets >= found.three_pairs - 1e-9


def test_the_corollary_on_many_distributions():
    rng = np.random.RandomState(0)
    promised = 0
    for _ in range(2000):
        shares = rng.dirichlet(np.full(rng.randint(2, 14), rng.choice([0.1, 0.5, 1.0, 5.0])))
        found = compare_hints(shares=shares)
        promised += found.triplets_promised
        assert found.triplet_tells_more or not found.triplets_promised
    assert 500 < promised < 2000


def test_the_conditions_hold_with_equality():
    assert compare_hints(shares=[2 / 3, 1 / 3]).no_large_class
    assert not compare_hints(shares=[0.667, 0.333]).no_large_class


def test_wrong_answers_are_less_informative_and_random_ones_not_at_all():
    shares = [0.5, 0.3, 0.2]
    assert pair_information(shares, noise=0.1) < pair_information(shares)
    assert pair_information(shares, noise=0.5) == pytest.approx(0)
    assert triplet_information(shares, noise=0.75) == pytest.approx(0)
    # Always wrong is as good as always right for a pair, not for a triplet.
    assert pair_information(shares, noise=1.0) == pytest.approx(pair_information(shares))
    assert 0 < triplet_information(shares, noise=1.0) < triplet_information(shares)


def test_noise_can_reverse_the_comparison():
    found = compare_hints(shares=[0.5, 0.5], noise_triplet=0.4)
    assert not found.triplet_tells_more
    assert "a pair is more informative" in str(found)


def test_time_is_used_if_known():
    found = compare_hints(shares=[0.5, 0.5], seconds_pair=3, seconds_triplet=10)
    assert (found.pair_bits_per_minute, found.triplet_bits_per_minute) == (20.0, 12.0)
    assert "bits per minute" in str(found)
    half = compare_hints(shares=[0.5, 0.5], seconds_pair=3)
    assert half.triplet_bits_per_minute is None
    assert "?" in str(half)
    assert "minute" not in str(compare_hints(shares=[0.5, 0.5]))


def test_labels_are_counted():
    from_labels = compare_hints(["a", "b", "a", "c"], noise_pair=0.1)
    assert from_labels == compare_hints(shares=[0.25, 0.5, 0.25], noise_pair=0.1)
    assert from_labels.shares == (0.5, 0.25, 0.25)


def test_as_dict_has_fields_and_derived_values():
    values = compare_hints(shares=[0.9, 0.1]).as_dict()
    assert values["shares"] == (0.9, 0.1)
    assert {"two_triplets", "three_pairs", "triplets_promised", "pair_bits_per_minute"} <= set(values)
    assert set(HintInformation.__dataclass_fields__) <= set(values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare_hints(), "pass either the labels"),
        (lambda: compare_hints([1], shares=[1]), "pass either the labels"),
        (lambda: compare_hints(shares=[0.5, 0.6]), "add up to 1"),
        (lambda: compare_hints(shares=[1.5, -0.5]), "not negative"),
        (lambda: compare_hints(shares=[np.nan, 1]), "finite"),
        (lambda: pair_information([]), "shape"),
        (lambda: pair_information([[1.0]]), "shape"),
        (lambda: pair_information([1.0], noise=1.1), "from 0 to 1"),
        (lambda: triplet_information([1.0], noise=-0.1), "from 0 to 1"),
        (lambda: pair_information([1.0], noise=np.nan), "from 0 to 1"),
        (lambda: compare_hints(shares=[1.0], seconds_pair=0), "seconds_pair"),
        (lambda: compare_hints(["a", None]), "not a label"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
