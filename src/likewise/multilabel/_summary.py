"""How well the data support a learned hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from likewise.hierarchy import LabelHierarchy
from likewise.multilabel._label_trees import compute_binomial_likelihood, find_certain_labels
from likewise.multilabel._own_rates import compute_exchange_evidence

if TYPE_CHECKING:
    from likewise.multilabel._latent import LatentHierarchyClassifier

GUESS = 3.0  # nats: an edge with a smaller margin over the next best parent is a guess
_NOT_WORSE = 2.0  # nats of evidence against equality from which two labels are distinguished, at known rates


@dataclass(frozen=True)
class HierarchySummary:
    """How well the data support a learned hierarchy.

    Parameters
    ----------
    n_labels, n_edges : int
        Number of labels, and of edges between labels.
    guesses : tuple of (str, str)
        Edges (parent, child) whose next best parent is worse by less than 3 nats.
    indistinguishable : tuple of (str, str)
        Edges (parent, child) for which the data do not determine which of the two is above the other.
    missing_rate : float
        The fraction of true labels that was not recorded.
    rates_differ : bool
        True if labels have separate missing rates.
    unknown_rates : tuple of str
        Labels whose missing rate the data do not identify.

    Examples
    --------
    >>> from likewise.datasets import make_label_tree
    >>> from likewise.multilabel import LatentHierarchyClassifier
    >>> data = make_label_tree(1000, 8, missing_rate=0.3, random_state=0)
    >>> summary = LatentHierarchyClassifier().fit(data.X, data.Z).summary()
    >>> summary.n_labels, summary.n_edges, round(summary.missing_rate, 1)
    (8, 6, 0.3)
    """

    n_labels: int
    n_edges: int
    guesses: tuple[tuple[str, str], ...]
    indistinguishable: tuple[tuple[str, str], ...]
    missing_rate: float
    rates_differ: bool
    unknown_rates: tuple[str, ...]

    @property
    def n_guesses(self) -> int:
        """The number of edges that are guesses."""
        return len(self.guesses)

    def __str__(self) -> str:
        lines = [
            f"{self.n_labels} labels, {self.n_edges} edges between them; {self.n_guesses} of these "
            f"{'is a guess' if self.n_guesses == 1 else 'are guesses'}{_format_pairs(self.guesses, 5)}."
        ]
        if self.indistinguishable:
            lines.append(
                "The data do not determine which of these is above the other"
                f"{_format_pairs(self.indistinguishable, self.n_edges)}."
            )
        differ = ", different by label" if self.rates_differ else ""
        lines.append(f"Missing rate {self.missing_rate:.2f}{differ}.")
        if self.unknown_rates and len(self.unknown_rates) == self.n_labels:
            lines.append(
                "The missing rate cannot be estimated from the tree (no edge is certain enough, or "
                "rate_from='em'); it was estimated by EM."
            )
        elif self.unknown_rates:
            lines.append(
                f"The missing rates of {len(self.unknown_rates)} label(s) with no recorded label below them "
                "cannot be estimated; the mean rate of the other labels is used."
            )
        return "\n".join(lines)


def _format_pairs(pairs: tuple[tuple[str, str], ...], most: int) -> str:
    if not pairs:
        return ""
    more = f" and {len(pairs) - most} more" if len(pairs) > most else ""
    return ": " + ", ".join(f"{parent} > {child}" for parent, child in pairs[:most]) + more


def summarise(model: LatentHierarchyClassifier) -> HierarchySummary:
    """Return the summary of a fitted model."""
    tree = model.hierarchy_
    margins = dict(zip(tree.names, np.asarray(tree.margins), strict=True))
    order = sorted(tree.edges, key=lambda edge: (margins[edge[1]], edge))
    return HierarchySummary(
        n_labels=tree.n_labels,
        n_edges=len(tree.edges),
        guesses=tuple(edge for edge in order if margins[edge[1]] < GUESS),
        indistinguishable=model.indistinguishable_,
        missing_rate=model.missing_rate_,
        rates_differ=len(set(model.missing_rates_)) > 1,
        unknown_rates=tuple(np.array(tree.names, dtype=object)[~model.rate_is_known_]),
    )


def find_exchangeable(Z: np.ndarray, tree: LabelHierarchy, scores: np.ndarray) -> tuple[tuple[str, str], ...]:
    """Return edges (parent, child) whose labels could be exchanged, if each label has an unknown rate.

    `scores` of shape (n_samples, n_labels) are cross-fitted log-odds that labels are recorded.
    """
    _, known = find_certain_labels(Z, tree)
    return tuple(
        (tree.names[above[0]], tree.names[c])
        for c, above in enumerate(tree.parent_lists)
        if len(above) == 1 and Z[:, c].any() and compute_exchange_evidence(Z, known, tree, c, scores) < GUESS
    )


def find_indistinguishable(
    Z: np.ndarray, tree: LabelHierarchy, rates: np.ndarray
) -> tuple[tuple[str, str], ...]:
    """Return labels that the records do not distinguish from their only child, at known rates.

    If every row with p also has its child c, rows with p recorded have c recorded with frequency 1 - α_c, and
    the two could be exchanged. They are distinguished if the frequency is lower and a likelihood ratio
    rejects equality.
    """
    pairs = []
    n_children = np.bincount([p for ps in tree.parent_lists for p in ps], minlength=tree.n_labels)
    for c, above in enumerate(tree.parent_lists):
        if len(above) != 1 or n_children[above[0]] != 1:
            continue
        p = above[0]
        rows = Z[:, p] > 0
        n, both, keep = int(rows.sum()), int(Z[rows, c].sum()), 1.0 - float(rates[c])
        if not Z[:, c].any():
            continue
        share = min(both / max(n, 1), keep)  # more records than expected are not evidence against equality
        free, equal = compute_binomial_likelihood(both, n, np.array([share, keep]), 1e-3)
        if free - equal < _NOT_WORSE:
            pairs.append((tree.names[p], tree.names[c]))
    return tuple(pairs)
