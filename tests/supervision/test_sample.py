import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision, sample_links, sample_triplets
from likewise.supervision._sample import _number_to_pairs, _number_to_triples
from reference.supervision import list_statements

Y = np.array([0, 0, 0, 1, 1, 2])


def test_every_pair_and_every_triplet_can_be_drawn():
    hints = sample_links(Y, 15, random_state=0)
    assert hints.must.tolist() == [[0, 1], [0, 2], [1, 2], [3, 4]]
    assert len(hints.cannot) == 11
    every = sample_triplets(Y, 20, random_state=0)
    assert len(every.triplets) == 20
    assert every.answer_words.count("NEITHER") == 1 + 6  # three of class 0; one of each class
    odd = sample_triplets(Y, 13, neither=False, random_state=0)
    assert "NEITHER" not in odd.answer_words
    with pytest.raises(SupervisionError, match=r"expected at least 14 triplets with two rows .* got 13"):
        sample_triplets(Y, 14, neither=False)


def test_labels_may_be_anything_and_unknown_rows_are_never_drawn():
    hints = sample_links(["a", None, ("b", 1), "a", float("nan")], 3, random_state=1)
    assert hints == Supervision.from_links(5, must=[(0, 3)], cannot=[(0, 2), (2, 3)])


def test_rows_restrict_the_drawing():
    only = [5, 0, 1, 1]
    hints = sample_links(Y, 3, rows=only, random_state=0)
    assert hints == Supervision.from_links(6, must=[(0, 1)], cannot=[(0, 5), (1, 5)])
    mask = np.isin(np.arange(6), only)
    assert sample_links(Y, 3, rows=mask, random_state=0) == hints
    assert sample_triplets(Y, 1, rows=only, random_state=0).triplets.tolist() == [[0, 1, 5]]


def test_balance_is_kept_exactly():
    y = np.arange(1000) % 20
    hints = sample_links(y, 101, balance=0.5, random_state=3)
    assert (len(hints.must), len(hints.cannot)) == (50, 51)
    assert len(sample_links(y, 40, balance=1.0, random_state=3).must) == 40
    assert len(sample_links(y, 40, balance=0.0, random_state=3).cannot) == 40


def test_noise_turns_answers_round():
    y = np.arange(300) % 3
    clean = sample_links(y, 2000, random_state=5)
    wrong = sample_links(y, 2000, noise=1.0, random_state=5)
    assert wrong.must.tolist() == clean.cannot.tolist()
    assert wrong.cannot.tolist() == clean.must.tolist()
    some = sample_links(y, 2000, noise=0.2, random_state=5)
    n_wrong = (y[some.must[:, 0]] != y[some.must[:, 1]]).sum()
    n_wrong += (y[some.cannot[:, 0]] == y[some.cannot[:, 1]]).sum()
    assert 320 < n_wrong < 480  # 400 expected, 18 the standard deviation
    triplets = sample_triplets(y, 2000, random_state=5)
    all_wrong = sample_triplets(y, 2000, noise=1.0, random_state=5)
    assert triplets.triplets.tolist() == all_wrong.triplets.tolist()
    assert (triplets.answers != all_wrong.answers).all()
    replaced = np.bincount(all_wrong.answers[triplets.answers == 3], minlength=4)
    assert replaced[3] == 0
    assert replaced[:3].min() > 0.25 * replaced.sum()


def test_a_seed_settles_everything():
    for draw in (sample_links, sample_triplets):
        first = draw(Y, 6, noise=0.3, random_state=7)
        assert first == draw(Y, 6, noise=0.3, random_state=7)
        assert first == draw(Y, 6, noise=0.3, random_state=np.random.RandomState(7))
        assert any(draw(Y, 6, noise=0.3, random_state=seed) != first for seed in range(5))


@pytest.mark.long
def test_draws_are_even():
    pairs = np.concatenate([_all_pairs(sample_links(Y, 3, random_state=seed)) for seed in range(300)])
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    assert len(counts) == 15
    assert abs(counts - 60).max() < 35  # 7 is the standard deviation
    few = np.concatenate([_all_pairs(sample_links([0] * 20, 2, random_state=seed)) for seed in range(1000)])
    counts = np.unique(few, axis=0, return_counts=True)[1]
    assert len(counts) == 190
    assert counts.max() < 30  # 11 expected; the numbers are drawn one by one here


def _all_pairs(hints):
    return np.concatenate([hints.must, hints.cannot])


def test_nothing_asked_nothing_drawn():
    assert sample_links(Y, 0) == Supervision.empty(6)
    assert sample_triplets([1], 0) == Supervision.empty(1)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"n_links": 16}, SupervisionError, "expected at least 16 pairs of rows with a known class; got 15"),
        (
            {"n_links": 10, "balance": 0.5},
            SupervisionError,
            "expected at least 5 pairs of rows of one class; got 4",
        ),
        (
            {"n_links": 13, "balance": 0.1},
            SupervisionError,
            "expected at least 12 pairs of rows of two classes",
        ),
        ({"n_links": -1}, ValueError, "at least 0"),
        ({"n_links": 2.0}, ValueError, "an integer"),
        ({"n_links": 1, "noise": 1.5}, ValueError, "noise, the probability"),
        ({"n_links": 1, "balance": -0.1}, ValueError, "balance, the fraction"),
        ({"n_links": 1, "rows": [6]}, SupervisionError, "names row 6"),
        ({"n_links": 1, "rows": [0.5]}, SupervisionError, "integer row numbers"),
    ],
)
def test_bad_requests(given, error, text):
    with pytest.raises(error, match=text):
        sample_links(Y, **given)


def test_too_many_triplets_to_number():
    with pytest.raises(SupervisionError, match="too many to number"):
        sample_triplets(np.zeros(4_000_000, dtype=int), 1)


@given(st.integers(0, 2**61))
def test_numbers_of_pairs_are_decoded_exactly(number):
    i, j = _number_to_pairs(np.array([number]))[0].tolist()
    assert 0 <= i < j
    assert j * (j - 1) // 2 + i == number


@given(st.integers(0, 2**62))
def test_numbers_of_triplets_are_decoded_exactly(number):
    i, j, k = _number_to_triples(np.array([number]))[0].tolist()
    assert 0 <= i < j < k
    assert k * (k - 1) * (k - 2) // 6 + j * (j - 1) // 2 + i == number


@given(st.lists(st.sampled_from([0, 1, 2, None]), min_size=1, max_size=9), st.data())
def test_answers_are_true_and_distinct(y, data):
    known = sum(v is not None for v in y)
    n = data.draw(st.integers(0, known * (known - 1) // 2))
    hints = sample_links(y, n, random_state=data.draw(st.integers(0, 99)))
    assert len(hints.must) + len(hints.cannot) == n
    assert all(y[i] == y[j] is not None for i, j in hints.must)
    assert all(y[i] != y[j] and None not in (y[i], y[j]) for i, j in hints.cannot)
    m = data.draw(st.integers(0, known * (known - 1) * (known - 2) // 6))
    triplets = sample_triplets(y, m, random_state=data.draw(st.integers(0, 99)))
    assert len(triplets.triplets) == m
    for members, odd in list_statements(triplets)["triplets"]:
        classes = [y[i] for i in members]
        rest = {y[i] for i in members if i != odd}
        assert None not in classes
        if odd is None:
            assert len(set(classes)) != 2
        else:
            assert len(rest) == 1
            assert y[odd] not in rest


def test_a_million_rows_are_no_trouble():
    y = np.arange(1_000_000) % 7
    hints = sample_links(y, 10_000, balance=0.3, random_state=0)
    assert (len(hints.must), len(hints.cannot)) == (3_000, 7_000)
    assert (y[hints.must[:, 0]] == y[hints.must[:, 1]]).all()
    assert len(sample_triplets(y, 1_000, random_state=0).triplets) == 1_000
