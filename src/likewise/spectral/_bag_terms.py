"""The bag-constraint matrix of Pei & Fern as low-rank terms, in its published variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from likewise.exceptions import InconsistentSupervisionError
from likewise.spectral._bag_propagation import compute_even_shares
from likewise.spectral._operator import LowRank
from likewise.spectral._pair_constraints import LabelSets
from likewise.supervision import Supervision
from likewise.supervision._labels import sort_values

Variant = Literal["propagated", "labelled", "exact", "printed"]


@dataclass(frozen=True, eq=False)
class BagMatrices:
    """Bags as matrices.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        The bag of each row, or -1. A labelled row is a separate bag.
    n_bags : int
        The number of bags.
    sets : LabelSets
        The label set of the bag of each row.
    allowed : csr_array of shape (n_samples, n_classes)
        1 for the classes of the bag of each row.
    """

    codes: np.ndarray
    n_bags: int
    sets: LabelSets
    allowed: csr_array

    @classmethod
    def from_hints(cls, hints: Supervision) -> BagMatrices:
        """Build from bags and labels of single rows."""
        n, bags, own = hints.n_samples, hints.bags, hints.label_codes
        codes = np.full(n, -1, dtype=np.int64) if bags is None else bags.codes.copy()
        sets_of: list[Any] = [] if bags is None else list(bags.labels)
        for row in np.flatnonzero(own >= 0):
            label, around = hints.classes[own[row]], sets_of[codes[row]] if codes[row] >= 0 else None
            if around is not None and label not in around:
                raise InconsistentSupervisionError(
                    f"row {row} has the label {label!r}, but its bag {bags.names[codes[row]]!r} has only "  # type: ignore[union-attr]
                    f"{sort_values(around)}.",
                    "Correct the label or the labels of the bag.",
                    rows=(int(row),),
                    kinds=("bags", "labels"),
                )
        labelled = np.flatnonzero(own >= 0)
        codes[labelled] = len(sets_of) + np.arange(len(labelled))
        sets_of += [frozenset([hints.classes[own[row]]]) for row in labelled]
        sets = LabelSets.from_codes(sets_of, codes)
        return cls(codes, len(sets_of), sets, sets.make_indicators())

    def make_indicators(self, which: np.ndarray) -> csr_array:
        """Return the indicator columns of the bags, restricted to the rows in the mask `which`."""
        rows = np.flatnonzero((self.codes >= 0) & which)
        shape = (len(self.codes), self.n_bags)
        return csr_array((np.ones(len(rows)), (rows, self.codes[rows])), shape=shape)

    @property
    def labelled_bags(self) -> np.ndarray:
        """The first row of each labelled bag."""
        known = np.flatnonzero(self.sets.known)
        first: np.ndarray = known[np.unique(self.codes[known], return_index=True)[1]]
        return first


def compute_bag_terms(
    bags: BagMatrices,
    variant: Variant,
    *,
    alpha: float,
    weights: np.ndarray,
    keep_must: bool,
    keep_cannot: bool,
) -> list[LowRank]:
    r"""Return :math:`\alpha Q` as terms to add to the similarities.

    With B the indicators of the bags, Y the equal shares of their labels, M their number, w the weights of
    the classes and :math:`G = Y' \mathrm{diag}(w) Y`:

    - printed (eq. 12): :math:`Q = B (G - \mu I) B'`, :math:`\mu = 1'G1 / M^2`;
    - exact, which follows from the sum in eq. 9: :math:`Q = B (G - \mu 11') B'`;
    - labelled: the same with sums over labelled bags only, and 0 for rows of other bags.

    Without ``keep_must`` (``keep_cannot``) the entries that are implied must-links (cannot-links) become 0.
    """
    shares, sets = compute_even_shares(bags.allowed), bags.sets
    of_bags = csr_array(shares[bags.labelled_bags])
    total = float(weights @ np.asarray(of_bags.sum(axis=0)).ravel() ** 2)
    # A bag in which every row is labelled has no rows left and is not counted.
    n_labelled = of_bags.shape[0] if variant == "labelled" else len(np.unique(bags.codes[bags.codes >= 0]))
    mu = total / max(n_labelled, 1) ** 2
    inside = bags.codes >= 0 if variant == "exact" else sets.known
    every = np.ones(len(bags.codes), dtype=bool)
    terms = [LowRank(shares, alpha * weights)]
    if variant == "printed":
        terms.append(LowRank(bags.make_indicators(every), np.full(bags.n_bags, -alpha * mu)))
    else:
        terms.append(LowRank(inside.astype(np.float64)[:, None], np.array([-alpha * mu])))
    if not keep_must:
        own = sets.get_single_classes()
        rows = np.flatnonzero(own >= 0)
        same = csr_array((np.ones(len(rows)), (rows, own[rows])), shape=shares.shape)
        if variant == "printed":
            terms.append(LowRank(same, -alpha * weights))
            terms.append(LowRank(bags.make_indicators(own >= 0), np.full(bags.n_bags, alpha * mu)))
        else:
            terms.append(LowRank(same, -alpha * (weights - mu)))
    if not keep_cannot and variant != "printed":  # in "printed" these entries are already 0
        terms.append(LowRank(sets.make_members(), alpha * mu * sets.find_disjoint().astype(np.float64)))
    return terms
