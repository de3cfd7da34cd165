"""Fit a method to hints, with error messages that use row ids and command-line options."""

from __future__ import annotations

from typing import Any

from likewise.cli._methods import METHODS, check_honoured
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    SupervisionError,
    UnsupportedSupervisionError,
    render,
)
from likewise.supervision import RowIds, Supervision


def select_hints(
    hints: Supervision, method: str, n_clusters: int, as_links: bool, options: dict[str, Any]
) -> Supervision:
    """Return the hints in the form that the method uses; raise an error if it does not support them."""
    if not as_links:
        check_honoured(method, hints.kinds)
        return hints
    if METHODS[method].says_links:
        options["as_links"] = True
        return hints
    links = hints.select_kinds("links", "triplets", "labels").to_links()
    if (bags := hints.bags) is not None:
        n_classes = len({label for labels in bags.labels for label in labels or ()})
        links |= hints.select_kinds("bags").to_links(more_clusters_than_classes=n_clusters > n_classes)
    check_honoured(method, links.kinds)
    return links


def fit_by_ids(model: Any, X: Any, hints: Supervision, ids: RowIds, method: str) -> list[str]:
    """Fit the model and return notes; contradictions are reported with ids instead of row numbers."""
    import warnings

    from likewise.cli._contradictions import find_link_conflicts

    if method == "sss-vad" and (hints.answers == 3).any():
        raise UnsupportedSupervisionError(
            f"{int((hints.answers == 3).sum())} of {len(hints.answers)} triplets have the answer NEITHER, "
            "which --method sss-vad cannot use. Remove them from the file, or use --method discriminative."
        )
    if not hints:
        model.fit(X)
        return []
    rows, few = hints.restrict_to_hinted()  # there may be millions of rows and few hinted ones
    conflicts = (
        find_link_conflicts(few, RowIds.from_ids([ids[row] for row in rows.tolist()])) if len(rows) else []
    )
    if conflicts and METHODS[method].hard:
        raise InconsistentSupervisionError(
            f"the hints contradict one another: {conflicts[0]}. {_format_more(len(conflicts))}{method} "
            "breaks no "
            "link, so it cannot continue. Remove one of these hints, or use a method that may break links, "
            "such as --method pck-means."
        )
    with warnings.catch_warnings():
        if conflicts:
            warnings.simplefilter("ignore", InconsistentSupervisionWarning)
        try:
            model.fit(X, supervision=hints)
        except SupervisionError as error:
            raise type(error)(render(error, ids, words=list_terms())) from error
    if not conflicts:
        return []
    return [
        f"the hints contradict one another: {conflicts[0]}. {_format_more(len(conflicts))}Not all can be "
        "kept."
    ]


def list_terms() -> dict[str, str]:
    """Return the command-line terms for the classes and parameters that errors mention."""
    methods = {method.home.partition(":")[2]: f"--method {name}" for name, method in METHODS.items()}
    return {**methods, "cannot='drop'": "--drop-cannot"}


def _format_more(n_conflicts: int) -> str:
    return f"There are {n_conflicts - 1} more; likewise check lists them. " if n_conflicts > 1 else ""
