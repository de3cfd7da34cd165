"""Spelled texts: words and letters, the rows that are drawn, and invalid input."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import load, spell
from likewise.exceptions import DatasetNotFoundError, SupervisionError
from profiles import fewer

POEM = "'Twas brillig, and the slithy toves\nDid gyre and gimble in the wabe;"
X = np.arange(12.0).reshape(6, 2)
Y = ["a", "b", "A", "c", "b", "a"]


@pytest.mark.parametrize(
    "make",
    [
        lambda random_state: spell(POEM, random_state=random_state),
        lambda random_state: spell("aba", X, Y, random_state=random_state),
        lambda random_state: spell("aba aba", X, Y, replace=True, random_state=random_state),
    ],
)
def test_the_seed_fixes_everything(make):
    np.random.seed(0)  # noqa: NPY002
    one = make(random_state=3)
    np.random.seed(1)  # noqa: NPY002  (the global generator is not used)
    two, from_state = make(random_state=3), make(random_state=np.random.RandomState(3))
    for field in dataclasses.fields(one):
        for other in (two, from_state):
            np.testing.assert_equal(getattr(other, field.name), getattr(one, field.name))


def test_spelling_by_hand():
    spelled = spell("Don't, a-b!", random_state=0)
    assert spelled.words == ("DONT", "A", "B")
    assert spelled.y.tolist() == list("DONTAB")
    assert spelled.bags.tolist() == [0, 0, 0, 0, 1, 2]
    assert spelled.bag_labels == {0: ("D", "N", "O", "T"), 1: ("A",), 2: ("B",)}
    assert spelled.X.shape == (6, 16)
    assert spelled.rows is None


def test_hyphens_join_words_if_requested():
    assert spell("snicker-snack - a", hyphens=True, random_state=0).words == ("SNICKERSNACK", "A")
    assert spell("snicker-snack - a", random_state=0).words == ("SNICKER", "SNACK", "A")


def test_the_hints_of_a_spelling_are_its_words():
    spelled = spell("abba bab", X, Y, replace=True, random_state=0)
    bags = spelled.supervision().bags
    assert bags.codes.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert bags.labels == (frozenset("AB"), frozenset("AB"))
    assert spelled.supervision(labelled=0).bags.labels == (None, None)


def test_rows_are_those_of_their_letters():
    spelled = spell("abba abba abba", X, Y, replace=True, random_state=0)
    assert set(spelled.rows[spelled.y == "A"].tolist()) == {0, 2, 5}
    assert set(spelled.rows[spelled.y == "B"].tolist()) == {1, 4}
    np.testing.assert_array_equal(spelled.X, X[spelled.rows])


def test_a_row_is_drawn_once_unless_it_may_be_drawn_again():
    for seed in range(5):
        spelled = spell("a bab a", X, Y, random_state=seed)
        assert sorted(spelled.rows.tolist()) == [0, 1, 2, 4, 5]


@fewer(2)
@given(st.text("ab ", min_size=1, max_size=8).filter(str.strip), st.integers(0, 99))
def test_two_texts_can_be_kept_apart(text, seed):
    source, letters = np.arange(40.0)[:, None], list("ab" * 20)
    one = spell(text, source, letters, random_state=seed)
    two = spell(text, source, letters, exclude=one.rows, random_state=seed)
    assert len({*one.rows.tolist(), *two.rows.tolist()}) == 2 * len(one.rows)
    assert (
        one.y.tolist()
        == two.y.tolist()
        == [source_letter.upper() for source_letter in text if source_letter != " "]
    )


@pytest.mark.parametrize("seed", range(5))
def test_made_up_letters_can_be_distinguished(seed):
    spelled = spell("the quick brown fox jumps over the lazy dog " * 3, random_state=seed)
    distance = np.linalg.norm(spelled.X[:, None] - spelled.X, axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (spelled.y[distance.argmin(axis=1)] == spelled.y).mean() > 0.95


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: spell("12 _!"), "no letters"),
        (lambda: spell("abc", [[0.0]]), "pass both"),
        (lambda: spell("abc", [[0.0]], ["a"]), "no row to spell B, C with"),
        (lambda: spell("über"), "no row to spell Ü with"),
        (lambda: spell("a", [0.0], ["a"]), r"got shape \(1,\) and 1 letters"),
        (lambda: spell("abbb", X, Y), r"spell B \(3 in the text, 2 rows\).*replace=True"),
        (lambda: spell("ab", X, Y, exclude=[1, 4]), r"spell B \(1 in the text, 0 rows\)"),
        (lambda: spell("ab", X, Y, exclude=[1, 4], replace=True), "or exclude fewer rows"),
        (lambda: spell("ab", exclude=[1]), "exclude needs X"),
        (lambda: spell("ab", X, Y, exclude=[6]), "exclude"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises((ValueError, SupervisionError), match=words):
        call()


def test_letter_carroll_was_drawn_without_replacement():
    """Its rows are rows of `letter`, none more often than in `letter`."""
    try:
        poem, letter = load("letter_carroll", origin="folder"), load("letter", origin="folder")
    except DatasetNotFoundError as error:
        pytest.skip(f"needs the data files: {error}")
    there = Counter((label, *row) for label, row in zip(letter.y.tolist(), letter.X.tolist(), strict=True))
    used = Counter((label, *row) for label, row in zip(poem.y.tolist(), poem.X.tolist(), strict=True))
    assert used <= there
    words = tuple("".join(poem.y[poem.bags == bag].tolist()) for bag in np.unique(poem.bags).tolist())
    spelled = spell(" ".join(words), letter.X, letter.y, random_state=0)
    assert spelled.words == words
    assert len(set(spelled.rows.tolist())) == len(spelled.rows) == 717
    assert list(spelled.bag_labels.values()) == [
        poem.bag_labels[bag] for bag in np.unique(poem.bags).tolist()
    ]
