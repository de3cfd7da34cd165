"""Plots of a tree of labels, with the certainty of each edge and the frequency of each label."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._optional import require
from likewise._templates import load_templates
from likewise.plotting._figure import QUIET, SavableDisplay, make_figure
from likewise.plotting.tree_layout import (
    GIVEN,
    LINE,
    MEANING,
    STEPS,
    UNKNOWN,
    FloatArray,
    Sureness,
    TreeLayout,
    count_texts,
    find_children,
    find_edge_sureness,
    lay_out,
)

if TYPE_CHECKING:
    from likewise.hierarchy import LabelHierarchy

FONT, SMALL, HEAD = 9.0, 7.5, 11.0
_MARGIN = 12.0
_SHORT = 20.0  # length of the last bend of an edge that goes around a name
_DOT = 7.0  # distance from the end of an edge to the name
_TALLEST = 200 * 72.0  # maximum height of a PDF page or an image; text shrinks above about 950 leaves
_TITLE = 24.0
_DPI = (72, 100, 150, 300)  # text is placed on whole pixels, so its width depends slightly on the resolution
_ALL_OPEN = 100  # maximum number of labels of a page with all branches open at first, else two levels


@dataclass(repr=False, eq=False)
class HierarchyDisplay(SavableDisplay):
    """A tree of labels from left to right, with the certainty of each edge and the frequency of each label.

    Create it with :meth:`from_hierarchy` or :meth:`from_estimator`. Each leaf has its own line and the figure
    grows with the number of leaves, so names never overlap. It is easy to read with up to about 100 labels;
    use :meth:`write_html` for more. Edges that are more certain are wider and bluer; the certainty
    is the margin to the second-best parent, as explained in the legend. The number beside a name and the size
    of its dot show the number of rows with the label. If a label has several parents, the edges from all but
    the first are dashed.

    Parameters
    ----------
    hierarchy : LabelHierarchy
        The tree.
    max_chars : int, default=40
        Maximum number of characters of a name; longer names are truncated.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    ax_ : matplotlib Axes
        The axes.
    edges_ : dict of (str or None, str) to PathPatch
        The edges by (parent, child); the parent is None for the root.
    names_ : dict of str to Text
        The names by label.
    counts_ : dict of str to Text
        The numbers beside the names; empty if the counts are unknown.
    dots_ : PathCollection
        The dots, in the order of the labels.

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> from likewise.plotting import HierarchyDisplay
    >>> tree = LabelHierarchy(["bird", "owl", "wren", "fish"], [("bird", "owl"), ("bird", "wren")])
    >>> display = HierarchyDisplay.from_hierarchy(tree)
    >>> sorted(display.edges_, key=str)
    [('bird', 'owl'), ('bird', 'wren'), (None, 'bird'), (None, 'fish')]
    >>> display.save("tree.png")  # doctest: +SKIP
    """

    hierarchy: LabelHierarchy
    _: KW_ONLY
    max_chars: int = 40
    ax_: Any = field(init=False, default=None)
    edges_: dict[tuple[str | None, str], Any] = field(init=False, default_factory=dict)
    names_: dict[str, Any] = field(init=False, default_factory=dict)
    counts_: dict[str, Any] = field(init=False, default_factory=dict)
    dots_: Any = field(init=False, default=None)

    @classmethod
    def from_hierarchy(
        cls, hierarchy: LabelHierarchy, *, ax: Any = None, title: str | None = None, max_chars: int = 40
    ) -> HierarchyDisplay:
        """Plot a tree.

        Parameters
        ----------
        hierarchy : LabelHierarchy
            The tree. Without margins all edges look the same; without counts no numbers are shown.
        ax : matplotlib Axes, optional
            Where to draw; text is scaled down if the axes are too small. By default a new figure is created,
            which needs no screen and is as large as the tree requires.
        title : str, optional
            The title.
        max_chars : int, default=40
            Maximum number of characters of a name; longer names are truncated.

        Returns
        -------
        HierarchyDisplay
            The display; see its attributes.
        """
        return cls(hierarchy, max_chars=max_chars).plot(ax=ax, title=title)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> HierarchyDisplay:
        """Plot the hierarchy of a fitted estimator.

        Parameters
        ----------
        estimator : LatentHierarchyClassifier or other
            A fitted estimator that has `hierarchy_`.
        **options
            Passed to :meth:`from_hierarchy`.

        Returns
        -------
        HierarchyDisplay
            The display; see its attributes.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "hierarchy_")
        return cls.from_hierarchy(estimator.hierarchy_, **options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> HierarchyDisplay:
        """Plot the tree.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; text is scaled down if the axes are too small. By default a new figure is created,
            which needs no screen and is as large as the tree requires.
        title : str, optional
            The title.

        Returns
        -------
        display : HierarchyDisplay
            This object, with its attributes set.
        """
        if isinstance(self.max_chars, bool) or not isinstance(self.max_chars, int) or self.max_chars < 2:
            raise ValueError(f"max_chars must be an integer of at least 2; got {self.max_chars!r}.")
        names = [shorten_name(name, self.max_chars) for name in self.hierarchy.names]
        counts = count_texts(self.hierarchy)
        name_widths = _DOT + measure_texts(names, FONT)
        count_widths = measure_texts(counts, SMALL)
        layout = lay_out(self.hierarchy, name_widths + np.where(count_widths > 0, count_widths + 5.0, 0.0))
        legend = self._make_legend_rows()
        words = [LEGEND_TITLE, COUNTED, *(text for _, _, text in legend)]
        width = max(layout.width, 34.0 + float(measure_texts(words, SMALL).max()))
        width = max(width, float(measure_texts([title or ""], HEAD)[0])) + 2 * _MARGIN
        height = layout.height + LINE * (len(legend) + 2.0 + any(counts)) + 2 * _MARGIN
        if ax is None:  # a figure that is as large as the tree requires
            strip = _TITLE if title else 0.0
            scale = min(1.0, _TALLEST / (height + strip), _TALLEST / width)
            figure = make_figure(width * scale / 72, (height + strip) * scale / 72)
            figure.set_layout_engine("none")
            ax = figure.add_axes((0, 0, 1, height / (height + strip)))
        else:
            box = ax.get_window_extent()
            points = 72 / ax.figure.dpi
            scale = min(1.0, box.width * points / width, box.height * points / height)
        self.ax_ = ax
        self.figure_: Any = ax.figure
        ax.set_xlim(-_MARGIN, width - _MARGIN)
        ax.set_ylim(height - _MARGIN, -_MARGIN)
        ax.set_axis_off()
        ax.set_title(title or "", fontsize=HEAD * scale, parse_math=False)
        self._draw_edges(layout, scale)
        self._draw_names(layout, names, counts, layout.x + name_widths + 5.0, scale)
        self._draw_legend(legend, layout.height + 1.5 * LINE, scale)
        return self

    def write_html(self, path: str | os.PathLike[str], *, title: str = "Label hierarchy") -> None:
        """Write the tree as a self-contained HTML file, without plotting it.

        A click opens or closes a branch. The number of rows with a label and the certainty of its parent
        appear beside its name. A search box finds labels while you type; the tree also works without
        JavaScript. A label with several parents is under the first, and lists the others. Needs Jinja2, from
        the extra ``likewise[plot]``.

        Parameters
        ----------
        path : str or path-like
            The file; an existing file is replaced.
        title : str, default="Label hierarchy"
            The title of the page.

        Examples
        --------
        >>> from likewise.hierarchy import LabelHierarchy
        >>> from likewise.plotting import HierarchyDisplay
        >>> tree = LabelHierarchy(["bird", "owl", "wren"], [("bird", "owl"), ("bird", "wren")])
        >>> HierarchyDisplay(tree).write_html("tree.html", title="Birds")  # doctest: +SKIP
        """
        Path(path).write_text(make_hierarchy_page(self.hierarchy, title), encoding="utf-8", newline="\n")

    def _draw_edges(self, layout: TreeLayout, scale: float) -> None:
        self.edges_ = {}
        steps = find_edge_sureness(self.hierarchy)
        for child, parents in enumerate(self.hierarchy.parent_lists):
            for number, parent in enumerate(parents or (-1,)):
                name = self.hierarchy.names[parent] if parent >= 0 else None
                patch = _draw_edge(layout, parent, child, steps[child], dashed=number > 0, scale=scale)
                self.edges_[name, self.hierarchy.names[child]] = self.ax_.add_patch(patch)

    def _draw_names(
        self, layout: TreeLayout, names: list[str], counts: list[str], beside: FloatArray, scale: float
    ) -> None:
        ax, labels = self.ax_, self.hierarchy.names
        plain = {"va": "center_baseline", "parse_math": False, "zorder": 4}
        self.names_, self.counts_ = {}, {}
        for k, label in enumerate(labels):
            x, y = layout.x[k] + _DOT, layout.y[k]
            self.names_[label] = ax.text(x, y, names[k], fontsize=FONT * scale, **plain)
            if counts[k]:
                self.counts_[label] = ax.text(
                    beside[k], y, counts[k], fontsize=SMALL * scale, color=QUIET, **plain
                )
        known = np.zeros(len(labels)) if self.hierarchy.counts is None else self.hierarchy.counts
        known = np.nan_to_num(known)
        areas = 8.0 + 52.0 * known / known.max() if known.max() > 0 else np.full(len(labels), 14.0)
        self.dots_ = ax.scatter(
            layout.x, layout.y, s=areas * scale**2, color="#333333", linewidth=0, zorder=3
        )
        ax.scatter(*layout.root, s=16 * scale**2, color="white", edgecolor="#333333", zorder=3)

    def _make_legend_rows(self) -> list[tuple[Sureness, bool, str]]:
        """Return the legend: for each kind of edge its style, True if it is dashed, and its text."""
        there = set(find_edge_sureness(self.hierarchy))
        rows: list[tuple[Sureness, bool, str]] = []
        if there & set(STEPS):
            rows += [(step, False, f"{step.word}: {step.range}") for step in STEPS[::-1]]
        if GIVEN in there:
            rows.append((GIVEN, False, f"{GIVEN.word}, {GIVEN.range}"))
        if UNKNOWN in there:
            rows.append((UNKNOWN, False, UNKNOWN.range))
        if not self.hierarchy.is_tree:
            rows.append((UNKNOWN, True, "dashed: further parent"))
        return rows

    def _draw_legend(self, rows: list[tuple[Sureness, bool, str]], top: float, scale: float) -> None:
        plain = {"fontsize": SMALL * scale, "color": QUIET, "va": "center_baseline"}
        self.ax_.text(0, top, LEGEND_TITLE, **plain)
        for number, (step, dashed, text) in enumerate(rows, start=1):
            y = top + number * LINE
            dash = "--" if dashed else "-"
            self.ax_.plot([2, 24], [y, y], dash, color=step.colour, linewidth=step.width * scale)
            self.ax_.text(32, y, text, **plain)
        if self.counts_:
            self.ax_.text(0, top + (len(rows) + 1) * LINE, COUNTED, **plain)


LEGEND_TITLE = f"Certainty of an edge: {MEANING}"
COUNTED = "Number beside a name and size of its dot: rows with the label"


def shorten_name(name: str, max_chars: int) -> str:
    """Put a name on one line, and truncate it if it is too long.

    >>> shorten_name("a label that goes\\n on and on", 12)
    'a label tha…'
    """
    plain = " ".join(name.split()) or "(blank)"
    return plain if len(plain) <= max_chars else plain[: max_chars - 1].rstrip() + "…"


def measure_texts(texts: list[str], size: float) -> FloatArray:
    """Return the widths of texts in points."""
    agg = require("matplotlib.backends.backend_agg", extra="plot").RendererAgg
    font = require("matplotlib.font_manager", extra="plot").FontProperties(size=size)
    widest = np.zeros(len(texts))
    for dpi in _DPI:
        renderer = agg(1, 1, dpi)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about characters missing from the font; rendering warns
            widths = [renderer.get_text_width_height_descent(text, font, False)[0] for text in texts]
        np.maximum(widest, np.array(widths, dtype=np.float64) * 72 / dpi, out=widest)
    return widest


def _draw_edge(
    layout: TreeLayout, parent: int, child: int, step: Sureness, *, dashed: bool, scale: float
) -> Any:
    """Create an edge: along the parent's line to the end of its column, across, and to the child."""
    path = require("matplotlib.path", extra="plot").Path
    patch = require("matplotlib.patches", extra="plot").PathPatch
    if parent < 0:
        (start, high), leave, gap = layout.root, layout.root[0], layout.gaps[-1]
    else:
        start, high, leave = layout.ends[parent] + 3, layout.y[parent], layout.column_ends[parent] + 3
        gap = layout.gaps[parent] - 3
    low, end = layout.y[child], layout.x[child]
    lane = layout.find_lane(parent, child)
    points = [(start, high), *_compute_bend(leave, high, leave + gap, lane), (end, low)]
    if lane != low:
        points[-1:] = _compute_bend(end - _SHORT, lane, end, low)
    bend = [path.LINETO, path.CURVE4, path.CURVE4, path.CURVE4]
    codes = [path.MOVETO, *bend, *(bend if lane != low else [path.LINETO])]
    return patch(
        path(points, codes),
        facecolor="none",
        edgecolor=step.colour,
        linewidth=step.width * scale,
        linestyle=(0, (3, 2)) if dashed else "-",
        capstyle="butt" if dashed else "round",
        zorder=1 if dashed else 2 - 0.1 * step.width,  # draw thin edges above wide ones
    )


def _compute_bend(x: float, y: float, to_x: float, to_y: float) -> list[tuple[float, float]]:
    """Return the points of a bend between two heights."""
    return [(x, y), ((x + to_x) / 2, y), ((x + to_x) / 2, to_y), (to_x, to_y)]


# ---------------------------------------------------------------------- a page with collapsible branches


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
