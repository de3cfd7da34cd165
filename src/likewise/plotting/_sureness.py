"""How sure an edge of a label tree is, in words and colours that all pictures of trees share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise.plotting._clusters import PALETTE

MEANING = "how much worse the next best choice is, in log-likelihood"


@dataclass(frozen=True)
class Sureness:
    """One step of the scale.

    Attributes
    ----------
    word : str
        What it is called.
    range : str
        The margins of this step, in words.
    colour : str
        Orange for doubt to blue for none, which people who see few colours tell apart too.
    width : float
        Of a line, in points.
    """

    word: str
    range: str
    colour: str
    width: float


_LIMITS = (3.0, 10.0, 100.0)
STEPS = (
    Sureness("open", "under 3", PALETTE[5], 0.9),
    Sureness("likely", "3 to 10", PALETTE[1], 1.5),
    Sureness("sure", "10 to 100", PALETTE[4], 2.2),
    Sureness("very sure", "100 and more", PALETTE[0], 3.0),
)
GIVEN = Sureness("given", "or the only choice", "#333333", 2.2)
UNKNOWN = Sureness("", "not known", "#999999", 1.2)


def find_sureness(margin: float | None) -> Sureness:
    """Return the step of the scale that a margin falls on; None or NaN if it is not known.

    >>> [find_sureness(margin).word for margin in (0.0, 3.0, 99.9, 1e6, float("inf"))]
    ['open', 'likely', 'sure', 'very sure', 'given']
    """
    if margin is None or math.isnan(margin):
        return UNKNOWN
    if math.isinf(margin):
        return GIVEN
    return STEPS[sum(margin >= limit for limit in _LIMITS)]


def find_edge_sureness(hierarchy: Any) -> list[Sureness]:
    """Return how sure the edge into each label is."""
    margins = hierarchy.margins
    if margins is None:
        return [UNKNOWN] * hierarchy.n_labels
    return [find_sureness(float(margin)) for margin in margins]


def count_texts(hierarchy: Any) -> list[str]:
    """Return how many rows hold each label, as text; empty where that is not known."""
    if hierarchy.counts is None:
        return [""] * hierarchy.n_labels
    return ["" if math.isnan(count) else f"{count:,.0f}" for count in hierarchy.counts]
