"""Random hints from the true classes, with a given number of hints and error rate, for experiments.

The candidate pairs or triplets are numbered, distinct numbers are drawn, and each number is converted back to
its rows. The candidates are never listed, so the cost depends on the numbers of hints and rows only.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.exceptions import SupervisionError
from likewise.supervision._labels import Bags, Labels
from likewise.supervision._links import TRIPLET_ANSWERS, check_rows
from likewise.supervision._supervision import Supervision
from likewise.supervision.row_checks import IntArray, select_rows

if TYPE_CHECKING:
    from likewise._typing import ArrayLike, RandomStateLike

_MOST = 2**62  # candidates are numbered with 64 bits


def sample_links(
    y: ArrayLike,
    n_links: int,
    *,
    noise: float = 0.0,
    balance: float | None = None,
    rows: Any = None,
    random_state: RandomStateLike = None,
) -> Supervision:
    """Draw must-links and cannot-links from the true classes.

    Pairs of rows are drawn uniformly without replacement; a pair is a must-link if its rows have the same
    class and a cannot-link otherwise, and each answer is flipped with probability `noise`. The cost
    is O(n_samples log n_samples + n_links log n_links); no list of pairs is built.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true class of each row, any hashable. A row whose class is None or NaN is never drawn.
    n_links : int
        The number of links.
    noise : float, default=0.0
        The probability that an answer is wrong, independently for each link.
    balance : float, optional
        The fraction of must-links before noise, such as 0.5. By default all pairs are equally likely, so
        most are cannot-links if there are many classes.
    rows : array-like of int or bool, optional
        Draw among these rows only, such as the training rows.
    random_state : int, RandomState instance or None, default=None
        The seed. The same seed gives the same links.

    Returns
    -------
    Supervision
        Hints for all the rows of `y`.

    Raises
    ------
    SupervisionError
        If there are fewer such pairs than `n_links`.

    Examples
    --------
    >>> from likewise.supervision import sample_links
    >>> sample_links(["a", "a", "b", "b", None], 6, random_state=0)
    Supervision(5 rows: 2 must, 4 cannot)
    >>> sample_links([0, 0, 0, 1, 1, 1], 4, balance=0.5, rows=[0, 1, 2, 3], random_state=0)
    Supervision(6 rows: 2 must, 2 cannot)
    """
    n_links, rng = _check_budget(n_links, noise, "n_links"), _make_generator(random_state)
    pool = _Pool(y, rows)
    if balance is None:
        drawn = _draw_distinct(rng, pool.n_pairs, n_links, "pairs of rows with a known class")
        pairs = _number_to_pairs(drawn)
    else:
        if not 0 <= balance <= 1:
            raise ValueError(f"balance, the fraction of must-links, must be from 0 to 1; got {balance!r}.")
        n_must = round(balance * n_links)
        same = _draw_distinct(rng, pool.n_same, n_must, "pairs of rows of one class")
        apart = _draw_distinct(
            rng, pool.n_pairs - pool.n_same, n_links - n_must, "pairs of rows of two classes"
        )
        pairs = np.concatenate([pool.get_pairs_in_class(same), pool.get_pairs_across(apart)])
    must = pool.codes[pairs[:, 0]] == pool.codes[pairs[:, 1]]
    must ^= rng.random_sample(n_links) < noise
    pairs = pool.rows[pairs]
    return Supervision.from_links(pool.n_samples, must=pairs[must], cannot=pairs[~must])


def sample_triplets(
    y: ArrayLike,
    n_triplets: int,
    *,
    noise: float = 0.0,
    neither: bool = True,
    rows: Any = None,
    random_state: RandomStateLike = None,
) -> Supervision:
    """Draw triplets and their answers from the true classes.

    Triplets of rows are drawn uniformly without replacement. The answer names the two rows of one class if
    the third is of another, and is NEITHER if all three classes are equal or all differ. With probability
    `noise` the answer is replaced by one of the three others, each equally likely. The cost is
    O(n_samples log n_samples + n_triplets log n_triplets).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true class of each row, any hashable. A row whose class is None or NaN is never drawn.
    n_triplets : int
        The number of triplets.
    noise : float, default=0.0
        The probability that an answer is wrong, independently for each triplet.
    neither : bool, default=True
        With False, only triplets whose true answer is not NEITHER are drawn.
    rows : array-like of int or bool, optional
        Draw among these rows only.
    random_state : int, RandomState instance or None, default=None
        The seed. The same seed gives the same triplets.

    Returns
    -------
    Supervision
        Hints for all the rows of `y`.

    Examples
    --------
    >>> from likewise.supervision import sample_triplets
    >>> sample_triplets([0, 0, 1, 1], 4, random_state=0).answer_words
    ('AB', 'AB', 'BC', 'BC')
    """
    n_triplets, rng = _check_budget(n_triplets, noise, "n_triplets"), _make_generator(random_state)
    pool = _Pool(y, rows)
    if neither:
        what = "triplets of rows with a known class"
        places = _number_to_triples(_draw_distinct(rng, pool.n_triplets, n_triplets, what))
    else:
        what = "triplets with two rows of one class and one of another"
        places = pool.get_odd_ones(_draw_distinct(rng, pool.n_odd, n_triplets, what))
    a, b, c = pool.codes[places].T
    answers = np.select([(a == b) & (b != c), (a == c) & (b != c), (b == c) & (a != b)], [0, 1, 2], 3)
    wrong = rng.random_sample(n_triplets) < noise
    shift = rng.randint(1, len(TRIPLET_ANSWERS), size=n_triplets)
    answers = np.where(wrong, (answers + shift) % len(TRIPLET_ANSWERS), answers)
    words = np.array(TRIPLET_ANSWERS)[answers].tolist()
    return Supervision.from_triplets(pool.n_samples, pool.rows[places], words)


def sample_bag_labels(
    hints: Supervision, share: float, *, random_state: RandomStateLike = None
) -> Supervision:
    """Keep the labels of some randomly chosen bags, and make the other bags unlabelled.

    Of m labelled bags, ``round(share * m)`` keep their labels; each subset of this size is equally likely.
    With the same seed, a larger share keeps all bags of a smaller share, as learning curves need. Rows stay
    in their bags, and other hints do not change.

    Parameters
    ----------
    hints : Supervision
        Hints with bags.
    share : float
        The fraction of the labelled bags that stay labelled, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        The seed.

    Returns
    -------
    Supervision
        Hints for the same rows.

    Examples
    --------
    >>> from likewise.supervision import Supervision, sample_bag_labels
    >>> hints = Supervision.from_bags([0, 0, 1, 2, 3], {b: ["wren", "owl"] for b in range(4)})
    >>> sample_bag_labels(hints, 0.5, random_state=0)
    Supervision(5 rows: 4 bag(s), 2 of them labelled)
    """
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0 <= share <= 1:
        raise ValueError(
            f"share, the fraction of bags that keep their labels, must be from 0 to 1; got {share!r}."
        )
    rng = _make_generator(random_state)
    if (bags := hints.bags) is None:
        raise SupervisionError(
            f"expected hints with bags; got {hints!r}. Create them with Supervision.from_bags."
        )
    labelled = [b for b, labels in enumerate(bags.labels) if labels is not None]
    kept = {labelled[place] for place in rng.permutation(len(labelled))[: round(share * len(labelled))]}
    labels = tuple(labels_of_bag if b in kept else None for b, labels_of_bag in enumerate(bags.labels))
    parts = hints._parts | {"bags": Bags(bags.codes, bags.names, labels)}
    return Supervision(hints.n_samples, parts, hints._index)


class _Pool:
    """The rows that may be drawn, ordered by class, with a number for each pair and triplet of them."""

    def __init__(self, y: Any, rows: Any) -> None:
        labels = Labels.from_array(y)
        codes = labels.codes
        self.n_samples = len(codes)
        drawn = np.arange(self.n_samples) if rows is None else _check_pool(rows, self.n_samples)
        drawn = drawn[codes[drawn] >= 0]
        self.rows: IntArray = drawn[np.argsort(codes[drawn], kind="stable")]
        self.codes: IntArray = codes[self.rows]
        self.sizes: IntArray = np.bincount(self.codes, minlength=len(labels.classes)).astype(np.int64)
        self.starts: IntArray = np.cumsum(self.sizes) - self.sizes
        m = len(self.rows)
        self.n_pairs = m * (m - 1) // 2
        self.n_same = int((self.sizes * (self.sizes - 1) // 2).sum())
        self.n_triplets = m * (m - 1) * (m - 2) // 6

    @property
    def n_odd(self) -> int:
        """The number of triplets with exactly two rows of one class."""
        return sum(s * (s - 1) // 2 * (len(self.rows) - s) for s in self.sizes.tolist())

    def get_pairs_in_class(self, numbers: IntArray) -> IntArray:
        """Return the pairs of positions with these numbers, among the pairs of rows of the same class."""
        c, rest = _split_by_block(numbers, self.sizes * (self.sizes - 1) // 2)
        return _number_to_pairs(rest) + self.starts[c][:, None]

    def get_pairs_across(self, numbers: IntArray) -> IntArray:
        """Return the pairs of positions with these numbers, among the pairs of rows of different classes.

        A row of a class that begins at position s forms a pair with each of the s rows before the class.
        """
        c, rest = _split_by_block(numbers, self.sizes * self.starts)
        row, before = np.divmod(rest, np.maximum(self.starts[c], 1))
        return np.column_stack([before, self.starts[c] + row])

    def get_odd_ones(self, numbers: IntArray) -> IntArray:
        """Return the triplets of positions with these numbers, among triplets with two rows of one class."""
        others = len(self.rows) - self.sizes
        c, rest = _split_by_block(numbers, self.sizes * (self.sizes - 1) // 2 * others)
        pair, odd = np.divmod(rest, np.maximum(others[c], 1))
        odd = np.where(odd >= self.starts[c], odd + self.sizes[c], odd)
        return np.column_stack([_number_to_pairs(pair) + self.starts[c][:, None], odd])


def _check_budget(n: Any, noise: float, what: str) -> int:
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
        raise ValueError(f"{what} must be an integer of at least 0, got {n!r}.")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise, the probability of a wrong answer, must be from 0 to 1; got {noise!r}.")
    return int(n)


def _check_pool(rows: Any, n_samples: int) -> IntArray:
    array = np.asarray(rows)
    if array.dtype == bool:
        return select_rows(array, n_samples)
    return np.unique(check_rows(array, n_samples, width=None, what="rows"))


def _make_generator(random_state: Any) -> np.random.RandomState:
    from likewise._compat import check_random_state  # here, so that reading hints does not load scikit-learn

    rng: np.random.RandomState = check_random_state(random_state)
    return rng


def _draw_distinct(rng: np.random.RandomState, total: int, n: int, what: str) -> IntArray:
    """Draw n different numbers below `total`; each set is equally likely."""
    if n > total:
        raise SupervisionError(f"expected at least {n} {what}; got {total}. Ask for fewer hints.")
    if total > _MOST:
        raise SupervisionError(
            f"there are {total} {what}, too many to number. Pass `rows` to draw among fewer rows."
        )
    if total <= 4 * n:  # many draws would repeat; a permutation costs at most 4 times as much as the hints
        return rng.permutation(total)[:n].astype(np.int64)
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        more = rng.randint(0, total, size=n + n // 8 + 8 - len(drawn), dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        # Keep the order of drawing, because truncating a sorted list would favour low numbers.
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn[:n]


def _split_by_block(numbers: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Split numbers that run through blocks of sizes `counts` into the block and the number within it."""
    ends = np.cumsum(counts)
    block = np.searchsorted(ends, numbers, side="right")
    return block, numbers - (ends - counts)[block]


def _number_to_pairs(numbers: IntArray) -> IntArray:
    """Return pair number k as (i, j), i < j, where the pairs are numbered j (j - 1) / 2 + i."""
    j = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    j = _correct_guess(j, numbers, lambda k: k * (k - 1) // 2)
    return np.column_stack([numbers - j * (j - 1) // 2, j])


def _number_to_triples(numbers: IntArray) -> IntArray:
    """Return triplet number t as (i, j, k), i < j < k, numbered k (k - 1) (k - 2) / 6 + pair number."""
    k = np.cbrt(6 * numbers.astype(np.float64)).astype(np.int64) + 1
    k = _correct_guess(k, numbers, _count_triples_below)
    return np.column_stack([_number_to_pairs(numbers - _count_triples_below(k)), k])


def _count_triples_below(k: IntArray) -> IntArray:
    # Divide early, so intermediate products do not exceed 64 bits unless the numbers do.
    half: IntArray = k * (k - 1) // 2
    out: IntArray = half // 3 * (k - 2) + half % 3 * (k - 2) // 3
    return out


def _correct_guess(guess: IntArray, numbers: IntArray, first: Any) -> IntArray:
    """Return the largest k with first(k) <= number, from a guess that rounding errors shifted by 1 or 2."""
    for _ in range(3):
        guess = np.where(first(guess) > numbers, guess - 1, guess)
        guess = np.where(first(guess + 1) <= numbers, guess + 1, guess)
    return guess
