"""Spelled texts: each word is a bag, and each of its letters is a row."""

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
    """A spelled text: its words as bags, and their letters as rows.

    Parameters
    ----------
    X : ndarray of shape (n_letters, n_features)
        The features of each letter of the text.
    y : ndarray of str, of shape (n_letters,)
        The letter of each row, in upper case.
    bags : ndarray of shape (n_letters,)
        The word of each row, as a number from 0.
    bag_labels : mapping of int to tuple of str
        The distinct letters of each word, sorted.
    words : tuple of str
        The words in upper case.
    rows : ndarray of shape (n_letters,), optional
        The row of the `X` passed to :func:`spell` that each row is a copy of; None if no `X` was passed.

    Examples
    --------
    >>> from likewise.datasets import spell
    >>> spelled = spell("Twas brillig", random_state=0)
    >>> spelled.X.shape, spelled.words
    ((11, 16), ('TWAS', 'BRILLIG'))
    >>> "".join(spelled.y[spelled.bags == 1])
    'BRILLIG'
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.str_]
    bags: npt.NDArray[np.int64]
    bag_labels: Mapping[int, tuple[str, ...]]
    words: tuple[str, ...]
    rows: npt.NDArray[np.int64] | None = None

    def supervision(self, labelled: float = 1.0, *, random_state: RandomStateLike = None) -> Supervision:
        """Return the words and their letters as hints.

        Parameters
        ----------
        labelled : float, default=1.0
            The fraction of the words whose letters are known; see
            :func:`likewise.supervision.sample_bag_labels`.
        random_state : int, RandomState or None, default=None
            The seed for choosing these words.

        Returns
        -------
        hints : Supervision
            Hints that contain only bags.

        Examples
        --------
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
    """Spell a text with samples of letters: multi-instance data with known classes.

    Each word becomes a bag, and each of its letters a row. The row is drawn from the rows of `X` whose label
    is that letter, each at most once. The labels of a bag give the letters that it contains, not which row is
    which. The two poems of Briggs, Fern and Raich (2012), which Pei and Fern (2014) cluster, were spelled in
    this way.

    Parameters
    ----------
    text : str
        The text. Letters are converted to upper case. All other characters separate words, except an
        apostrophe inside a word. Letters with accents need separate rows in `X`.
    X : array-like of shape (n_samples, n_features), optional
        Samples of letters, such as those of ``load("letter")``. By default each letter from A to Z is a
        Gaussian blob in 16 dimensions, and each row a new draw from it.
    y : array-like of shape (n_samples,), optional
        The letter of each row of `X`, in upper or lower case.
    replace : bool, default=False
        Allow rows to be drawn more than once. Otherwise it is an error if a letter occurs more often in the
        text than in `y`.
    exclude : array-like of int, optional
        Rows of `X` that must not be drawn, such as the `rows` of another text.
    hyphens : bool, default=False
        Treat a word with a hyphen as one word.
    random_state : int, RandomState or None, default=None
        The seed.

    Returns
    -------
    Spelling
        The rows, their letters, their bags and the letters of each bag.

    Notes
    -----
    The cost is O(n_letters · n_features), plus O(n_samples) for each distinct letter.

    The published Letter-Carroll data set has 166 words with 717 letters, while the poem has 167 words with
    718 letters: the data set has "snicker-snack" as one word, as with ``hyphens=True``, and "back" without
    its K.

    Examples
    --------
    >>> spelled = spell("Twas brillig", random_state=0)
    >>> spelled.X.shape, spelled.words
    ((11, 16), ('TWAS', 'BRILLIG'))
    >>> spelled.bag_labels[1]
    ('B', 'G', 'I', 'L', 'R')
    """
    from likewise._compat import check_random_state
    from likewise.supervision._row_checks import check_rows

    pattern = _HYPHENED if hyphens else _WORD
    found = pattern.finditer(text)
    words = tuple("".join(c for c in match.group().upper() if c.isalpha()) for match in found)
    if not words:
        raise ValueError(f"the text has no letters to spell: {text[:40]!r}.")
    if (X is None) != (y is None):
        raise ValueError("pass both X and y, or neither for synthetic letters.")
    if X is None and exclude is not None:
        raise ValueError("exclude needs X; without X, all letters are synthetic.")
    letters = np.array([letter for word in words for letter in word], dtype=np.str_)
    rng = check_random_state(random_state)
    rows = None
    if X is None:
        _check_known(set(letters.tolist()), set(_ALPHABET))
        # The means are about 2.5 · sqrt(2 · 16) = 14 standard deviations apart.
        means = rng.normal(scale=2.5, size=(len(_ALPHABET), 16))
        drawn = means[[_ALPHABET.index(letter) for letter in letters]]
        drawn = drawn + rng.normal(size=drawn.shape)
    else:
        source = np.asarray(X, dtype=np.float64)
        known = np.array([str(label).upper() for label in np.asarray(y)], dtype=np.str_)
        if source.ndim != 2 or len(source) != len(known):
            raise ValueError(
                f"X must have shape (n_samples, n_features) and y one letter per row; "
                f"got shape {source.shape} and {len(known)} letters."
            )
        _check_known(set(letters.tolist()), set(known.tolist()))
        free = np.ones(len(known), dtype=bool)
        if exclude is not None:
            free[check_rows(exclude, len(known), width=None, what="exclude")] = False
        rows = _draw_letters(letters, known, free, replace, rng)
        drawn = source[rows]
    return Spelling(
        X=drawn,
        y=letters,
        bags=np.repeat(np.arange(len(words), dtype=np.int64), [len(word) for word in words]),
        bag_labels={bag: tuple(sorted(set(word))) for bag, word in enumerate(words)},
        words=words,
        rows=rows,
    )


def _draw_letters(
    letters: npt.NDArray[np.str_],
    known: npt.NDArray[np.str_],
    free: npt.NDArray[np.bool_],
    replace: bool,
    rng: np.random.RandomState,
) -> npt.NDArray[np.int64]:
    """Draw a row for each letter; raise an error that lists the letters with too few rows."""
    wanted, counts = np.unique(letters, return_counts=True)  # sorted, so the seed determines the draw
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
            f"there are too few rows to spell {', '.join(short[:5])}{more}. Shorten the text, pass more "
            f"rows, or {way_on}."
        )
    rows = np.empty(len(letters), dtype=np.int64)
    for letter, count, pool in zip(wanted, counts, pools, strict=True):
        rows[letters == letter] = rng.choice(pool, size=count, replace=replace)
    return rows


def _check_known(wanted: set[str], known: set[str]) -> None:
    if missing := sorted(wanted - known):
        raise ValueError(
            f"there is no row to spell {', '.join(missing)} with. Remove these letters from the text, "
            "or add rows for them to X and y."
        )
