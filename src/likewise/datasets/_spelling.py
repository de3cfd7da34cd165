"""Spelled texts: each word is a bag, each of its letters a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, MatrixLike, RandomStateLike
    from likewise.supervision import Supervision

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_HYPHENED = re.compile(r"[^\W\d_]+(?:['’‐-][^\W\d_]+)*")
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

    def supervision(self, labelled: float = 1.0, *, random_state: RandomStateLike = None) -> Supervision:
        """Return words and their letters as hints; `labelled` is the share of words whose letters are told.

        >>> spell("Twas brillig", random_state=0).supervision(labelled=0.5, random_state=0)
        Supervision(11 rows: 2 bag(s), 1 of them labelled)
        """
        from likewise.supervision import Supervision, sample_bag_labels

        hints = Supervision.from_bags(self.bags, self.bag_labels)
        return hints if labelled == 1 else sample_bag_labels(hints, labelled, random_state=random_state)


def spell(
    text: str,
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    *,
    replace: bool = False,
    exclude: Any = None,
    hyphens: bool = False,
    random_state: RandomStateLike = None,
) -> Spelling:
    """Spell a text with pictures of letters: multi-instance data with a known answer.

    Each word becomes a bag, and each of its letters a row, drawn from the rows of `X` whose label is that
    letter, each at most once. What is told of a bag is which letters it holds, not which row is which. The
    two poems of Briggs, Fern and Raich (2012), which Pei and Fern (2014) cluster, were spelled in this way.

    Parameters
    ----------
    text : str
        The text. Letters are taken in upper case; all else parts words, except an apostrophe inside one.
        Letters with accents need rows of their own in `X`.
    X : array-like of shape (n_samples, n_features), optional
        Rows to spell with, such as those of ``load("letter")``. Without them, each letter from A to Z is a
        Gaussian blob in 16 dimensions, and each row a fresh draw from it.
    y : array-like of shape (n_samples,), optional
        The letter of each row of `X`, in either case.
    replace : bool, default=False
        Whether a row may be drawn more than once. Without it, a letter that the text has more often than `X`
        has rows of it is an error.
    exclude : array-like of int, optional
        Rows of `X` that are not drawn, such as ``other.rows`` of another text, so that no row is in both.
    hyphens : bool, default=False
        Whether a hyphen inside a word joins it rather than parts it.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    Spelling
        Rows, letters, bags and the letters of each bag.

    Notes
    -----
    The cost is O(n_letters · n_features), after O(n_samples) for each letter to find its rows.

    Letter-Carroll as published has 166 words of 717 letters, and the poem gives 167 words of 718 letters: the
    published set has "snicker-snack" as one word, which ``hyphens=True`` does too, and "back" without its K.

    Examples
    --------
    >>> spelled = spell("Twas brillig", random_state=0)
    >>> spelled.X.shape, spelled.words
    ((11, 16), ('TWAS', 'BRILLIG'))
    >>> spelled.bag_labels[1]
    ('B', 'G', 'I', 'L', 'R')
    """
    from likewise._compat import check_random_state
    from likewise.supervision._rows import check_rows

    pattern = _HYPHENED if hyphens else _WORD
    found = pattern.finditer(text)
    words = tuple("".join(c for c in match.group().upper() if c.isalpha()) for match in found)
    if not words:
        raise ValueError(f"the text has no letters to spell: {text[:40]!r}.")
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: give both, or neither for made-up letters.")
    if X is None and exclude is not None:
        raise ValueError("exclude names rows of X, and there is no X; made-up letters are fresh draws.")
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
        known = np.array([str(label).upper() for label in np.asarray(y)], dtype=np.str_)
        if source.ndim != 2 or len(source) != len(known):
            raise ValueError(
                f"X must be of shape (n_samples, n_features) and y name the letter of each of its rows; "
                f"got shape {source.shape} and {len(known)} letters."
            )
        _must_know(set(letters.tolist()), set(known.tolist()))
        free = np.ones(len(known), dtype=bool)
        if exclude is not None:
            free[check_rows(exclude, len(known), width=None, what="exclude")] = False
        rows = _drawn(letters, known, free, replace, rng)
        drawn = source[rows]
    return Spelling(
        X=drawn,
        y=letters,
        bags=np.repeat(np.arange(len(words), dtype=np.int64), [len(word) for word in words]),
        bag_labels={bag: tuple(sorted(set(word))) for bag, word in enumerate(words)},
        words=words,
        rows=rows,
    )


def _drawn(
    letters: npt.NDArray[np.str_],
    known: npt.NDArray[np.str_],
    free: npt.NDArray[np.bool_],
    replace: bool,
    rng: np.random.RandomState,
) -> npt.NDArray[np.int64]:
    """Return a row for each letter, or say which letters have too few."""
    wanted, counts = np.unique(letters, return_counts=True)  # in sorted order, so that a seed fixes the draw
    pools = [np.flatnonzero(free & (known == letter)) for letter in wanted]
    short = [
        f"{letter} ({count} in the text, {len(pool)} rows)"
        for letter, count, pool in zip(wanted.tolist(), counts.tolist(), pools, strict=True)
        if len(pool) < (1 if replace else count)
    ]
    if short:
        more = f" and {len(short) - 5} more" if len(short) > 5 else ""
        way_on = "exclude fewer rows" if replace else "pass replace=True to draw a row more than once"
        raise ValueError(
            f"there are too few rows to spell {', '.join(short[:5])}{more}. Shorten the text, give more "
            f"rows, or {way_on}."
        )
    rows = np.empty(len(letters), dtype=np.int64)
    for letter, count, pool in zip(wanted, counts, pools, strict=True):
        rows[letters == letter] = rng.choice(pool, size=count, replace=replace)
    return rows


def _must_know(wanted: set[str], known: set[str]) -> None:
    if missing := sorted(wanted - known):
        raise ValueError(
            f"there is no row to spell {', '.join(missing)} with. Leave these letters out of the text, "
            "or give rows of them in X and y."
        )
