"""A tree of labels as an HTML page with collapsible branches, for hundreds of labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from likewise._templates import load_templates
from likewise.plotting._sureness import GIVEN, MEANING, STEPS, count_texts, find_edge_sureness
from likewise.plotting._tree_layout import find_children

if TYPE_CHECKING:
    from likewise.hierarchy import LabelHierarchy

_ALL_OPEN = 100  # maximum number of labels for which all branches are open at first, else two levels


def write_hierarchy_html(
    hierarchy: LabelHierarchy, path: str | os.PathLike[str], *, title: str = "Label hierarchy"
) -> None:
    """Write a tree of labels as a self-contained HTML file.

    A click opens or closes a branch. The number of rows with a label and the certainty of its parent appear
    beside its name. A search box finds labels while you type; the tree also works without JavaScript. A label
    with several parents is under the first, and lists the others. Needs Jinja2, from the extra
    ``likewise[plot]``.

    Parameters
    ----------
    hierarchy : LabelHierarchy
        The tree. Margins and counts are shown if it has them.
    path : str or path-like
        The file; an existing file is replaced.
    title : str, default="Label hierarchy"
        The title of the page.

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> from likewise.plotting import write_hierarchy_html
    >>> tree = LabelHierarchy(["bird", "owl", "wren"], [("bird", "owl"), ("bird", "wren")])
    >>> write_hierarchy_html(tree, "tree.html", title="Birds")  # doctest: +SKIP
    """
    Path(path).write_text(make_hierarchy_page(hierarchy, title), encoding="utf-8", newline="\n")


def make_hierarchy_page(hierarchy: LabelHierarchy, title: str) -> str:
    """Return the HTML of the page."""
    steps = find_edge_sureness(hierarchy)
    scale = list(STEPS[::-1]) if set(steps) & set(STEPS) else []
    scale += [GIVEN] if GIVEN in steps else []
    page = load_templates("likewise.plotting", extra="plot").get_template("tree.html")
    return page.render(
        title=title,
        tree=hierarchy,
        counts=count_texts(hierarchy),
        steps=steps,
        given=GIVEN,
        meaning=MEANING.capitalize(),
        scale=scale,
        walk=_walk(hierarchy),
    )


def _walk(hierarchy: LabelHierarchy) -> Iterator[tuple[int, bool | None]]:
    """Yield each label, and whether its branch is open or None for a leaf; -1 ends a branch.

    It uses a stack because a chain of labels may be long.
    """
    below = find_children(hierarchy)
    levels = 2 if hierarchy.n_labels > _ALL_OPEN else hierarchy.n_labels
    waiting: list[tuple[int, int]] = [(k, 0) for k in below[-1][::-1]]
    while waiting:
        k, depth = waiting.pop()
        if k < 0 or not below[k]:
            yield k, None
        else:
            yield k, depth < levels
            waiting.append((-1, depth))
            waiting += [(child, depth + 1) for child in below[k][::-1]]
