"""Certainty of the edges of a label tree: words and colours shared by all plots of trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise.plotting._cluster_display import PALETTE

MEANING = "loss in log-likelihood with the next best parent"


@dataclass(frozen=True)
class Sureness:
    """One step of the scale of certainty.

    Attributes
    ----------
    word : str
        The name of the step.
    range : str
        The range of margins, in words.
    colour : str
        From orange (uncertain) to blue (certain), suitable for colour-blind readers.
    width : float
        The width of a line in points.
    """

    word: str
    range: str
    colour: str
    width: float


_LIMITS = (3.0, 10.0, 100.0)
STEPS = (
    Sureness("uncertain", "under 3", PALETTE[5], 0.9),
    Sureness("likely", "3 to 10", PALETTE[1], 1.5),
    Sureness("certain", "10 to 100", PALETTE[4], 2.2),
    Sureness("very certain", "100 and more", PALETTE[0], 3.0),
)
GIVEN = Sureness("given", "or the only choice", "#333333", 2.2)
UNKNOWN = Sureness("", "unknown", "#999999", 1.2)


def find_sureness(margin: float | None) -> Sureness:
    """Return the step of the scale for a margin; None and NaN mean unknown.

    >>> [find_sureness(margin).word for margin in (0.0, 3.0, 99.9, 1e6, float("inf"))]
    ['uncertain', 'likely', 'certain', 'very certain', 'given']
    """
    if margin is None or math.isnan(margin):
        return UNKNOWN
    if math.isinf(margin):
        return GIVEN
    return STEPS[sum(margin >= limit for limit in _LIMITS)]


def find_edge_sureness(hierarchy: Any) -> list[Sureness]:
    """Return the certainty of the edge into each label."""
    margins = hierarchy.margins
    if margins is None:
        return [UNKNOWN] * hierarchy.n_labels
    return [find_sureness(float(margin)) for margin in margins]


def count_texts(hierarchy: Any) -> list[str]:
    """Return the number of rows with each label as text; empty if unknown."""
    if hierarchy.counts is None:
        return [""] * hierarchy.n_labels
    return ["" if math.isnan(count) else f"{count:,.0f}" for count in hierarchy.counts]
