"""A tree of labels as an HTML page with collapsible branches, for hundreds of labels."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.plotting._sureness import GIVEN, MEANING, STEPS, Sureness, count_texts, find_edge_sureness
from likewise.plotting._tree_layout import find_children

if TYPE_CHECKING:
    from likewise.hierarchy import LabelHierarchy

_ALL_OPEN = 100  # maximum number of labels for which all branches are open at first, else two levels
_UNPRINTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # not allowed in HTML


def write_hierarchy_html(
    hierarchy: LabelHierarchy, path: str | os.PathLike[str], *, title: str = "Label hierarchy"
) -> None:
    """Write a tree of labels as a self-contained HTML file.

    A click opens or closes a branch. The number of rows with a label and the certainty of its parent appear
    beside its name. A search box finds labels while you type; the tree also works without JavaScript. A label
    with several parents is under the first, and lists the others.

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
    text = make_hierarchy_page(hierarchy, title)
    Path(path).write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))


def make_hierarchy_page(hierarchy: LabelHierarchy, title: str) -> str:
    """Return the HTML of the page."""
    n = hierarchy.n_labels
    there = set(find_edge_sureness(hierarchy))
    shown = STEPS[::-1] if there & set(STEPS) else ()
    scale = [_format_chip(step) + f" {step.range}" for step in shown]
    scale += [f"{_format_chip(GIVEN)} {GIVEN.range}"] if GIVEN in there else []
    legend = f"<p class=legend>{MEANING.capitalize()}: {', '.join(scale)}.</p>" if scale else ""
    return (
        "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
        '<meta name=viewport content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_escape(title)}</h1>\n<p>{n} label{'s' * (n != 1)}.</p>\n{legend}\n{_CONTROLS}\n"
        f"<main>\n{''.join(_format_branches(hierarchy))}</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _format_branches(hierarchy: LabelHierarchy) -> list[str]:
    """Return the nested elements, built with a stack because a chain of labels may be long."""
    below = find_children(hierarchy)
    levels = 2 if hierarchy.n_labels > _ALL_OPEN else hierarchy.n_labels
    lines = _format_lines(hierarchy)
    parts: list[str] = []
    waiting: list[tuple[int, int]] = [(k, 0) for k in below[-1][::-1]]
    while waiting:
        k, depth = waiting.pop()
        if k < 0:
            parts.append("</details>\n")
        elif below[k]:
            parts.append(f"<details{' open' * (depth < levels)}><summary>{lines[k]}</summary>\n")
            waiting.append((-1, depth))
            waiting += [(child, depth + 1) for child in below[k][::-1]]
        else:
            parts.append(f"<div>{lines[k]}</div>\n")
    return parts


def _format_lines(hierarchy: LabelHierarchy) -> list[str]:
    """Return the line of each label: its name, frequency and the certainty of its parent."""
    steps, counts = find_edge_sureness(hierarchy), count_texts(hierarchy)
    lines: list[str] = []
    for k, name in enumerate(hierarchy.names):
        parts = [f"<b>{_escape(name)}</b>"]
        if counts[k]:
            parts.append(f"<small>{counts[k]}</small>")
        if steps[k].word:
            margin = None if hierarchy.margins is None else float(hierarchy.margins[k])
            parts.append(_format_chip(steps[k], margin))
        if others := hierarchy.parent_lists[k][1:]:
            also = ", ".join(_escape(hierarchy.names[p]) for p in others)
            parts.append(f"<small>also under {also}</small>")
        lines.append(" ".join(parts))
    return lines


def _format_chip(step: Sureness, margin: float | None = None) -> str:
    lead = (
        "" if margin is None or step is GIVEN else f' title="the next best parent is worse by {margin:,.1f}"'
    )
    return f'<i style="border-color:{step.colour}"{lead}>{step.word}</i>'


def _escape(text: str) -> str:
    return html.escape(_UNPRINTED.sub("\N{REPLACEMENT CHARACTER}", text))


_STYLE = """
body { font: 15px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; }
h1 { font-size: 1.4rem; }
details { overflow-wrap: anywhere; }
details > details, details > div { margin-left: 1.2rem; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before, main div::before { content: ''; display: inline-block; width: 1.1rem; }
summary::before { content: '\\25b8'; }
details[open] > summary::before { content: '\\25be'; }
b { font-weight: 500; }
summary b { font-weight: 700; }
small, .legend { color: #666; }
i { font-style: normal; font-size: .8em; color: #444; }
i { border-left: .5em solid; padding-left: .35em; margin-left: .4em; }
input { font: inherit; padding: .2rem .5rem; width: 18rem; max-width: 100%; }
.no { display: none; }
.hit > b, .hit > summary > b { background: #ffe9a8; }
@media (prefers-color-scheme: dark) {
  body { background: #181818; color: #ddd; }
  small, .legend { color: #aaa; }
  i { color: #bbb; }
  .hit > b, .hit > summary > b { color: #000; }
}
"""

_CONTROLS = (
    "<p id=controls hidden><input id=find type=search placeholder='find a label' aria-label='find a label'> "
    "<button id=open>open all</button> <button id=close>close all</button> <small id=found></small></p>"
)

_SCRIPT = """
(() => {
  const by = id => document.getElementById(id);
  const nodes = [...document.querySelectorAll('main details, main div')];
  const name = e => e.querySelector('b').textContent.toLowerCase();
  const branches = nodes.filter(e => e.tagName === 'DETAILS');
  const before = branches.map(e => e.open);
  let searching = false;
  by('controls').hidden = false;
  by('open').onclick = () => branches.forEach(e => e.open = true);
  by('close').onclick = () => branches.forEach(e => e.open = false);
  by('find').oninput = () => {
    const word = by('find').value.trim().toLowerCase();
    if (word && !searching) branches.forEach((e, i) => before[i] = e.open);
    if (!word && searching) branches.forEach((e, i) => e.open = before[i]);
    searching = word !== '';
    const hits = nodes.filter(e => word && name(e).includes(word));
    const kept = new Set();
    for (const hit of hits)
      for (let e = hit; e.tagName !== 'MAIN' && !kept.has(e); e = e.parentElement) kept.add(e);
    const hit = new Set(hits);
    for (const e of nodes) {
      e.classList.toggle('hit', hit.has(e));
      e.classList.toggle('no', searching && !kept.has(e));
    }
    if (searching)
      for (const e of branches) e.open = [...e.children].some(c => kept.has(c));
    by('found').textContent = searching ? hits.length + ' found' : '';
  };
})();
"""
