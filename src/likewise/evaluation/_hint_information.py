"""The information in one answer about a pair or a triplet, in bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._repr_html import render_table
from likewise.evaluation._scores import encode_labels

FloatArray = npt.NDArray[np.float64]


def pair_information(shares: Any, *, noise: float = 0.0) -> float:
    """Return the information in an answer to "do these two belong together?", in bits.

    Two rows are drawn at random from classes with proportions p_k. They belong to the same class with
    probability P_M = Σ p_k². A correct answer l is determined by the classes Y, so I(Y; l) = H(l), which is
    P_M log₂ 1/P_M + (1 - P_M) log₂ 1/(1 - P_M) (Pei 2017, equation 3.12). If an answer is wrong with
    probability ε, then I(Y; l) = H(l) - H(ε): the answer "together" has probability
    (1 - ε) P_M + ε (1 - P_M), and H(ε) bits of it are noise.

    Parameters
    ----------
    shares : array-like of shape (n_classes,)
        The proportion of each class; the sum is 1.
    noise : float, default=0.0
        The probability ε that an answer is wrong.

    Returns
    -------
    float
        Between 0 and 1 bit.

    Examples
    --------
    >>> pair_information([0.5, 0.5])
    1.0
    >>> round(pair_information([0.25] * 4), 3)
    0.811
    >>> pair_information([0.5, 0.5], noise=0.5)
    0.0
    """
    p_must, noise = _compute_p_must(check_shares(shares)), _check_noise(noise)
    p_yes = (1 - noise) * p_must + noise * (1 - p_must)
    return max(0.0, _compute_entropy(p_yes, 1 - p_yes) - _compute_entropy(noise, 1 - noise))


def triplet_information(shares: Any, *, noise: float = 0.0) -> float:
    """Return the information in an answer to "which two of these three belong together?", in bits.

    Each of the answers AB, AC and BC has probability P_R = Σ p_k² (1 - p_k), and NEITHER has the rest. For
    correct answers, I(Y; l) = H(l) = 3 P_R log₂ 1/P_R + (1 - 3 P_R) log₂ 1/(1 - 3 P_R) (Pei 2017, equation
    3.13). With probability ε the answer is one of the three wrong ones, each equally likely, and
    I(Y; l) = H(l) - H(ε) - ε log₂ 3.

    Parameters
    ----------
    shares : array-like of shape (n_classes,)
        The proportion of each class; the sum is 1.
    noise : float, default=0.0
        The probability ε that an answer is wrong.

    Returns
    -------
    float
        Between 0 and 2 bits.

    Examples
    --------
    >>> round(triplet_information([0.5, 0.5]), 3)
    2.0
    >>> round(triplet_information([0.25] * 4, noise=0.1), 3)
    1.281
    """
    p_two, noise = _compute_p_two(check_shares(shares)), _check_noise(noise)
    two = (1 - noise) * p_two + noise / 3 * (1 - p_two)  # of AB; AC and BC have the same probability
    noise_entropy = _compute_entropy(noise, 1 - noise) + noise * math.log2(3)
    return max(0.0, _compute_entropy(two, two, two, 1 - 3 * two) - noise_entropy)


@dataclass(frozen=True)
class HintInformation:
    """The information in answers about pairs and triplets, for given proportions of the classes.

    Parameters
    ----------
    shares : tuple of float
        The proportion of each class, the largest first.
    p_must : float
        P_M, the probability that two random rows belong to the same class.
    p_two : float
        P_R, the probability of each of the answers AB, AC and BC for three random rows.
    pair_bits, triplet_bits : float
        The information in one answer about a pair and about a triplet, in bits.
    noise_pair, noise_triplet : float, default=0.0
        The probability that an answer is wrong.
    seconds_pair, seconds_triplet : float, optional
        The time that an answer takes, if known.

    Examples
    --------
    >>> from likewise.evaluation import compare_hints
    >>> found = compare_hints(shares=[0.5, 0.5])
    >>> found.pair_bits, found.triplet_bits, found.triplet_tells_more
    (1.0, 2.0, True)
    """

    shares: tuple[float, ...]
    p_must: float
    p_two: float
    pair_bits: float
    triplet_bits: float
    noise_pair: float = 0.0
    noise_triplet: float = 0.0
    seconds_pair: float | None = None
    seconds_triplet: float | None = None

    @property
    def three_pairs(self) -> float:
        """The bits of three pairs, which show six rows, as two triplets do."""
        return 3 * self.pair_bits

    @property
    def two_triplets(self) -> float:
        """The bits of two triplets, which show six rows, as three pairs do."""
        return 2 * self.triplet_bits

    @property
    def pair_bits_per_row(self) -> float:
        """The bits of a pair, divided by the number of rows shown."""
        return self.pair_bits / 2

    @property
    def triplet_bits_per_row(self) -> float:
        """The bits of a triplet, divided by the number of rows shown."""
        return self.triplet_bits / 3

    @property
    def pair_bits_per_minute(self) -> float | None:
        """The bits of answers about pairs in one minute; None if `seconds_pair` is unknown."""
        return None if self.seconds_pair is None else 60 * self.pair_bits / self.seconds_pair

    @property
    def triplet_bits_per_minute(self) -> float | None:
        """The bits of answers about triplets in one minute; None if `seconds_triplet` is unknown."""
        return None if self.seconds_triplet is None else 60 * self.triplet_bits / self.seconds_triplet

    @property
    def no_large_class(self) -> bool:
        """True if no class has more than 2/3 of the rows: the first condition of corollary 3.4.1.1."""
        return self.shares[0] <= 2 / 3 + _ROUNDING

    @property
    def enough_neither(self) -> bool:
        """True if 3 P_R ≤ 1 - 1/e, so NEITHER is common enough: the second condition."""
        return 3 * self.p_two <= 1 - 1 / math.e + _ROUNDING

    @property
    def triplets_promised(self) -> bool:
        """True if both conditions hold, so a correct triplet has at least as many bits as a correct pair."""
        return self.no_large_class and self.enough_neither

    @property
    def triplet_tells_more(self) -> bool:
        """True if one triplet has at least as many bits as one pair, the conclusion of the corollary."""
        return self.triplet_bits >= self.pair_bits - _ROUNDING

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the derived properties by name.

        Returns
        -------
        values : dict of str to object
            The values.
        """
        derived = [name for name, value in vars(type(self)).items() if isinstance(value, property)]
        return {name: getattr(self, name) for name in (*self.__dataclass_fields__, *derived)}

    def __str__(self) -> str:
        triplet = self.triplet_tells_more
        more = "a triplet is at least as informative" if triplet else "a pair is more informative"
        lines = [
            f"{len(self.shares)} classes, the largest with {self.shares[0]:.1%} of the rows",
            f"two rows have the same class   P_M   {self.p_must:.4f}",
            f"each of AB, AC, BC             P_R   {self.p_two:.4f}",
            f"{'':<24}{'pair':>10}{'triplet':>10}",
            f"{'bits per answer':<24}{self.pair_bits:>10.4f}{self.triplet_bits:>10.4f}",
            f"{'bits per row shown':<24}{self.pair_bits_per_row:>10.4f}{self.triplet_bits_per_row:>10.4f}",
            f"{'bits per six rows shown':<24}{self.three_pairs:>10.4f}{self.two_triplets:>10.4f}",
        ]
        if self.noise_pair or self.noise_triplet:
            lines.append(f"{'wrong answers':<24}{self.noise_pair:>10.1%}{self.noise_triplet:>10.1%}")
        if self.seconds_pair is not None or self.seconds_triplet is not None:
            cells = (
                f"{'?' if rate is None else format(rate, '.3f'):>10}"
                for rate in (self.pair_bits_per_minute, self.triplet_bits_per_minute)
            )
            lines.append(f"{'bits per minute':<24}{''.join(cells)}")
        lines.append(f"no class above 2/3: {'yes' if self.no_large_class else 'no'}")
        lines.append(f"3 P_R at most 1 - 1/e: {'yes' if self.enough_neither else 'no'}")
        lines.append(f"for one answer each: {more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = [
            ("bits per answer", self.pair_bits, self.triplet_bits),
            ("bits per row shown", self.pair_bits_per_row, self.triplet_bits_per_row),
            ("bits per six rows shown", self.three_pairs, self.two_triplets),
            ("fraction of wrong answers", self.noise_pair, self.noise_triplet),
        ]
        if self.seconds_pair is not None or self.seconds_triplet is not None:
            rows.append(("bits per minute", self.pair_bits_per_minute, self.triplet_bits_per_minute))
        title = f"{len(self.shares)} classes, the largest with {self.shares[0]:.1%} of the rows"
        return render_table(title, ("", "pair", "triplet"), rows)


def compare_hints(
    labels: Any = None,
    *,
    shares: Any = None,
    noise_pair: float = 0.0,
    noise_triplet: float = 0.0,
    seconds_pair: float | None = None,
    seconds_triplet: float | None = None,
) -> HintInformation:
    """Compare the information in answers about pairs and about triplets, for given classes.

    For correct answers, a triplet has at least as many bits as a pair if no class has more than 2/3 of the
    rows and 3 P_R ≤ 1 - 1/e (Pei 2017, corollary 3.4.1.1). The conditions are sufficient, not necessary: two
    classes of equal size violate the second, but a triplet has 2 bits and a pair 1. A triplet also shows
    three rows, and people take longer and make more errors. Pass the error rates and times if you have
    measured them.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), optional
        The class of each row, from which the proportions are computed.
    shares : array-like of shape (n_classes,), optional
        The proportion of each class, instead of `labels`. The sum is 1.
    noise_pair, noise_triplet : float, default=0.0
        The probability that an answer is wrong.
    seconds_pair, seconds_triplet : float, optional
        The time that an answer takes.

    Returns
    -------
    HintInformation
        The comparison, which prints as a small table.

    Notes
    -----
    Rows are treated as drawn independently, which for labels of n rows holds up to a term of 1/n.

    Examples
    --------
    >>> found = compare_hints(shares=[0.9, 0.1])
    >>> round(found.two_triplets, 2), round(found.three_pairs, 2)
    (2.54, 2.04)
    >>> found.triplets_promised, found.triplet_tells_more
    (False, True)
    >>> print(compare_hints(["wren", "wren", "owl", "owl"]))
    2 classes, the largest with 50.0% of the rows
    two rows have the same class   P_M   0.5000
    each of AB, AC, BC             P_R   0.2500
                                  pair   triplet
    bits per answer             1.0000    2.0000
    bits per row shown          0.5000    0.6667
    bits per six rows shown     3.0000    4.0000
    no class above 2/3: yes
    3 P_R at most 1 - 1/e: no
    for one answer each: a triplet is at least as informative
    """
    if (labels is None) == (shares is None):
        raise ValueError("pass either the labels of the rows or the shares of the classes to compare_hints.")
    if labels is not None:
        counts = np.bincount(encode_labels(labels, what="labels"))
        shares = counts / counts.sum()
    given = check_shares(shares)
    for name, seconds in (("seconds_pair", seconds_pair), ("seconds_triplet", seconds_triplet)):
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise ValueError(f"{name} must be a finite time above 0; got {seconds!r}.")
    return HintInformation(
        shares=tuple(sorted(given.tolist(), reverse=True)),
        p_must=_compute_p_must(given),
        p_two=_compute_p_two(given),
        pair_bits=pair_information(given, noise=noise_pair),
        triplet_bits=triplet_information(given, noise=noise_triplet),
        noise_pair=float(noise_pair),
        noise_triplet=float(noise_triplet),
        seconds_pair=seconds_pair,
        seconds_triplet=seconds_triplet,
    )


# Round proportions such as (2/3, 1/3) meet the conditions with equality.
_ROUNDING = 1e-12


def check_shares(shares: Any) -> FloatArray:
    """Check that shares form a distribution, and normalise them."""
    given = np.asarray(shares, dtype=np.float64)
    if given.ndim != 1 or not given.size:
        raise ValueError(f"shares must be one number per class, shape (n_classes,); got shape {given.shape}.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"shares must be finite and not negative; got {given.tolist()}.")
    if abs(given.sum() - 1) > 1e-6:
        raise ValueError(
            f"shares must add up to 1; got a sum of {given.sum():g}. Divide counts by their sum first, or "
            "pass the labels of the rows as labels=."
        )
    return given / given.sum()


def _check_noise(noise: float) -> float:
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is the probability of a wrong answer, from 0 to 1; got {noise!r}.")
    return float(noise)


def _compute_p_must(shares: FloatArray) -> float:
    return float((shares**2).sum())


def _compute_p_two(shares: FloatArray) -> float:
    return float((shares**2 * (1 - shares)).sum())


def _compute_entropy(*chances: float) -> float:
    return -sum(p * math.log2(p) for p in chances if p > 0)
