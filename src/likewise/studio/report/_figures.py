"""The key figures at the top of a report."""

from __future__ import annotations

from statistics import median
from typing import Any

from likewise.studio.report._gather import ReportData

FEW = 10  # shared questions, below which the agreement of people is not judged


def make_key_figures(data: ReportData) -> list[tuple[str, str]]:
    """Return the name and the value of each key figure; of a study, those of its participants."""
    if data.study_figures is not None:
        return _make_study_figures(data.study_figures)
    found = [
        ("Items", f"{data.n_items:,}"),
        ("Groups", f"{data.n_clusters:,}"),
        ("Answers", f"{data.n_answers:,}"),
        ("People", f"{len(data.people):,}"),
    ]
    if data.accuracy is not None:
        found.append(("Held-out answers predicted", _format_share(data.accuracy, data.interval)))
    if data.observed is not None and data.n_shared >= FEW:
        found.append(("Agreement of people", f"{data.observed:.0%}"))
    found.append(("Contradictions", f"{data.n_conflicts:,}"))
    if data.seconds:
        found.append(("Time per question", f"{median(data.seconds):.1f} s"))
    return found


def _format_share(share: float, interval: tuple[float, float] | None) -> str:
    """Return a share with its interval, limited to what a share can be.

    >>> _format_share(0.95, (0.88, 1.02))
    '95% (88 to 100%)'
    """
    if interval is None:
        return f"{share:.0%}"
    low, high = (min(max(limit, 0.0), 1.0) for limit in interval)
    return f"{share:.0%} ({100 * low:.0f} to {high:.0%})"


def _make_study_figures(figures: Any) -> list[tuple[str, str]]:
    tables = figures["tables"]
    n, began = tables["n"], figures["n_began"]
    found = [("Participants who finished", f"{n:,} of {began:,} who started" if began else "none yet")]
    for kind in ("pair", "triplet"):
        right, seconds = tables[f"{kind}s"]["accuracy"], tables["times"][kind]["mean"]
        if n and right is not None:
            found.append((f"Right {kind}s", f"{right:.1%}"))
        if n and seconds is not None:
            found.append((f"Seconds per {kind}", f"{seconds:.1f}"))
    return found
