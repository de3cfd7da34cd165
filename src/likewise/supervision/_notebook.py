"""The HTML representation of hints in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise._repr_html import list_some, render_table

if TYPE_CHECKING:
    from likewise.supervision._supervision import Supervision


def render_supervision(hints: Supervision) -> str:
    """Return an HTML table of the kinds of hints, with the number and the first few of each."""
    rows: list[tuple[str, int, str]] = []
    for name, pairs, sign in (("must-links", hints.must, "="), ("cannot-links", hints.cannot, "≠")):
        rows.append(
            (name, len(pairs), list_some([f"{i} {sign} {j}" for i, j in pairs[:5].tolist()], len(pairs)))
        )
    for name, groups, sign in (
        ("must-link groups", hints.must_groups, "="),
        ("cannot-link groups", hints.cannot_groups, "≠"),
    ):
        few = [list_some(list(map(str, group.tolist()))) for group, _ in zip(groups, range(2), strict=False)]
        rows.append((name, len(groups), "; ".join(f"{sign} {group}" for group in few)))
    triplets = [
        f"{' '.join(map(str, rows_))}: {word}"
        for rows_, word in zip(hints.triplets[:5].tolist(), hints.answer_words[:5], strict=True)
    ]
    rows.append(("triplets", len(hints.triplets), list_some(triplets, len(hints.triplets))))
    n_labels = int((hints.label_codes >= 0).sum())
    rows.append(("labelled rows", n_labels, f"classes {list_some(list(map(str, hints.classes)))}"))
    if hints.bags is not None:
        n_known = sum(labels is not None for labels in hints.bags.labels)
        rows.append(("bags", len(hints.bags), f"{n_known} of them labelled"))
    shown = [row for row in rows if row[1]]
    n_hinted = int(hints.touched.sum())
    title = f"Supervision: {hints.n_samples:,} rows, {n_hinted:,} of them in hints"
    return render_table(
        title, ("hints", "number", "such as"), shown, [] if shown else ["There are no hints."]
    )
