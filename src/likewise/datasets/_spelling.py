"""Spelled texts: each word is a bag, each of its letters a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, eq=False)
class Spelling:
    """A text as rows in bags.

    Attributes
    ----------
    X : ndarray of shape (n_letters, n_features)
        One row for each letter of the text.
    y : ndarray of str, of shape (n_letters,)
        The letter of each row, in upper case.
    bags : ndarray of shape (n_letters,)
        The word of each row, numbered from 0.
    bag_labels : mapping of int to tuple of str
        The letters of each word, sorted, each once.
    words : tuple of str
        The words in upper case.
    rows : ndarray of shape (n_letters,) or None
        The row of the given `X` that each row is a copy of; None if there was none given.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.str_]
    bags: npt.NDArray[np.int64]
    bag_labels: Mapping[int, tuple[str, ...]]
    words: tuple[str, ...]
    rows: npt.NDArray[np.int64] | None = None


def spell(text: str, X: Any = None, y: Any = None, *, random_state: Any = None) -> Spelling:
    """Spell a text with pictures of letters: multi-instance data with a known answer.

    Each word becomes a bag, and each of its letters a row, drawn with replacement from the rows of `X`
    whose label is that letter. What is told of a bag is which letters it holds, not which row is which.
    Letter-Carroll of Briggs, Fern and Raich (2012) is a poem spelled in this way.

    Parameters
    ----------
    text : str
        The text. Letters are taken in upper case; all else parts words, except an apostrophe inside one.
    X : array-like of shape (n_samples, n_features), optional
        Rows to spell with, such as those of ``load("letter")``. Without them, each letter from A to Z is a
        Gaussian blob in 16 dimensions, and each row a fresh draw from it.
    y : array-like of shape (n_samples,), optional
        The letter of each row of `X`, in either case.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    Spelling
        Rows, letters, bags and the letters of each bag.

    Notes
    -----
    The cost is O(n_letters · n_features), after O(n_samples) to sort the rows given.

    Examples
    --------
    >>> spelled = spell("Twas brillig", random_state=0)
    >>> spelled.X.shape, spelled.words
    ((11, 16), ('TWAS', 'BRILLIG'))
    >>> spelled.bag_labels[1]
    ('B', 'G', 'I', 'L', 'R')
    """
    from sklearn.utils import check_random_state

    words = tuple("".join(c for c in match.group().upper() if c.isalpha()) for match in _WORD.finditer(text))
    if not words:
        raise ValueError(f"the text has no letters to spell: {text[:40]!r}.")
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: give both, or neither for made-up letters.")
    letters = np.array([letter for word in words for letter in word], dtype=np.str_)
    rng = check_random_state(random_state)
    rows = None
    if X is None:
        _must_know(set(letters.tolist()), set(_ALPHABET))
        # The means lie 2.5 · sqrt(2 · 16), about 14 standard deviations, from one another.
        means = rng.normal(scale=2.5, size=(len(_ALPHABET), 16))
        drawn = means[[_ALPHABET.index(letter) for letter in letters]]
        drawn = drawn + rng.normal(size=drawn.shape)
    else:
        source = np.asarray(X, dtype=np.float64)
        known = np.array([str(label).upper() for label in y], dtype=np.str_)
        if source.ndim != 2 or len(source) != len(known):
            raise ValueError(
                f"X must be of shape (n_samples, n_features) and y name the letter of each of its rows; "
                f"got shape {source.shape} and {len(known)} letters."
            )
        _must_know(set(letters.tolist()), set(known.tolist()))
        rows = np.empty(len(letters), dtype=np.int64)
        for letter in np.unique(letters):  # in sorted order, so that a seed fixes the draw
            at = np.flatnonzero(letters == letter)
            rows[at] = rng.choice(np.flatnonzero(known == letter), size=len(at))
        drawn = source[rows]
    return Spelling(
        X=drawn,
        y=letters,
        bags=np.repeat(np.arange(len(words), dtype=np.int64), [len(word) for word in words]),
        bag_labels={bag: tuple(sorted(set(word))) for bag, word in enumerate(words)},
        words=words,
        rows=rows,
    )


def _must_know(wanted: set[str], known: set[str]) -> None:
    if missing := sorted(wanted - known):
        raise ValueError(
            f"there is no row to spell {', '.join(missing)} with. Leave these letters out of the text, "
            "or give rows of them in X and y."
        )
