"""Contents of the plot of a label tree, in which names never overlap."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from likewise.hierarchy import LabelHierarchy
from likewise.plotting import HierarchyDisplay
from likewise.plotting.tree_layout import (
    GIVEN,
    LINE,
    STEPS,
    UNKNOWN,
    find_children,
    find_edge_sureness,
    find_sureness,
    lay_out,
)
from profiles import fewer

#   root ── animal ── bird ── owl
#        │         │       └─ wren
#        │         └─ fish
#        └─ tool
NAMES = ["animal", "bird", "owl", "wren", "fish", "tool"]
EDGES = [("animal", "bird"), ("bird", "owl"), ("bird", "wren"), ("animal", "fish")]
COUNTS = [9, 7, 3, 4, 1, 1234]
MARGINS = [1e6, 20.0, 2.0, 5.0, np.inf, np.nan]


def animals(edges=(), **columns):
    return LabelHierarchy(NAMES, [*EDGES, *edges], **columns)


# ---------------------------------------------------------------------- layout by hand


def test_leaves_are_in_rows_and_other_labels_centred_above_their_children():
    layout = lay_out(animals(counts=COUNTS), np.full(6, 50.0))
    rows = dict(zip(NAMES, layout.y / LINE, strict=True))
    # The most frequent first: tool, then animal with bird (wren, owl) and fish.
    assert rows == {"tool": 0.5, "wren": 1.5, "owl": 2.5, "fish": 3.5, "bird": 2.0, "animal": 2.75}
    columns = {x: {name for name, at in zip(NAMES, layout.x, strict=True) if at == x} for x in layout.x}
    assert list(dict(sorted(columns.items())).values()) == [
        {"animal", "tool"},
        {"bird", "fish"},
        {"owl", "wren"},
    ]
    assert layout.root == (0.0, LINE * (0.5 + 2.75) / 2)
    assert layout.first_parents.tolist() == [-1, 0, 1, 1, 0, -1]


def test_a_column_is_as_wide_as_its_longest_name_with_something_under_it():
    widths = np.array([60.0, 30.0, 10.0, 10.0, 500.0, 900.0])
    layout = lay_out(animals(), widths)
    x = dict(zip(NAMES, layout.x, strict=True))
    assert layout.column_ends[0] == x["animal"] + 60  # tool is longer, but alone in its row
    assert layout.column_ends[1] == layout.column_ends[4] == x["bird"] + 30
    assert x["bird"] == pytest.approx(layout.column_ends[0] + layout.gaps[0])
    assert layout.width == x["tool"] + 900


def test_a_second_parent_makes_every_name_count_for_its_column():
    layout = lay_out(animals([("tool", "owl")]), np.array([60.0, 30.0, 10.0, 10.0, 500.0, 900.0]))
    assert layout.column_ends[0] == layout.x[5] + 900


def test_a_label_is_to_the_right_of_all_its_parents():
    tree = LabelHierarchy(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    layout = lay_out(tree, np.full(4, 10.0))
    assert layout.x[0] < layout.x[1] < layout.x[2] < layout.x[3]
    assert layout.first_parents[3] == 0


def test_an_edge_from_a_second_parent_avoids_names():
    # c is the only label under b, so both are in one row; the edge from a to c would cross b.
    tree = LabelHierarchy(["b", "a", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    layout = lay_out(tree, np.full(3, 10.0))
    a, b, c = 1, 0, 2
    assert layout.first_parents[c] == b
    assert layout.y[b] == layout.y[c]
    assert layout.find_lane(b, c) == layout.y[c]
    assert abs(layout.find_lane(a, c) - layout.y[c]) == LINE / 2


def test_the_most_frequent_come_first_and_every_label_once():
    assert find_children(animals([("tool", "owl")], counts=COUNTS)) == {
        **{-1: [5, 0], 0: [1, 4], 1: [3, 2]},
        **{2: [], 3: [], 4: [], 5: []},
    }
    assert find_children(animals())[-1] == [0, 5]


def test_a_chain_of_a_thousand_labels_needs_no_recursion():
    chain = LabelHierarchy.from_parents(np.arange(-1, 1200))
    layout = lay_out(chain, np.full(1201, 5.0))
    assert (np.diff(layout.x) > 0).all()
    assert set(layout.y) == {LINE / 2}


# ---------------------------------------------------------------------- certainty


def test_margins_become_words_colours_and_widths():
    steps = find_edge_sureness(animals(margins=MARGINS))
    assert [step.word for step in steps] == ["very certain", "certain", "uncertain", "likely", "given", ""]
    assert find_edge_sureness(animals()) == [UNKNOWN] * 6
    assert find_sureness(None) is UNKNOWN
    widths = [step.width for step in STEPS]
    assert widths == sorted(widths)
    assert len({step.colour for step in (*STEPS, GIVEN, UNKNOWN)}) == 6


def test_edges_show_their_certainty():
    from matplotlib.colors import to_hex

    display = HierarchyDisplay.from_hierarchy(animals(margins=MARGINS))
    for (_, child), edge in display.edges_.items():
        step = find_sureness(MARGINS[NAMES.index(child)])
        assert to_hex(edge.get_edgecolor()).upper() == step.colour.upper()
        assert edge.get_linewidth() == step.width
    assert set(display.edges_) == {*EDGES, (None, "animal"), (None, "tool")}
    words = texts_of(display)
    assert {
        "very certain: 100 and more",
        "uncertain: under 3",
        "given, or the only choice",
        "unknown",
    } <= words
    assert any(
        text.startswith("Certainty of an edge: loss in log-likelihood with the next best parent")
        for text in words
    )


def test_the_legend_lists_only_what_is_shown():
    words = texts_of(HierarchyDisplay.from_hierarchy(animals()))
    assert "unknown" in words
    assert not any("certain:" in text or "dashed" in text or "Number beside" in text for text in words)


def test_edges_beyond_the_first_parent_are_dashed():
    display = HierarchyDisplay.from_hierarchy(animals([("tool", "owl")]))
    assert display.edges_["bird", "owl"].get_linestyle() in ("-", "solid")
    assert display.edges_["tool", "owl"].get_linestyle() not in ("-", "solid")
    assert "dashed: further parent" in texts_of(display)


# ---------------------------------------------------------------------- names, numbers and dots


def texts_of(display):
    return {text.get_text() for text in display.ax_.texts}


def test_counts_are_beside_names_and_in_the_dots():
    display = HierarchyDisplay.from_hierarchy(animals(counts=[9, 7, 3, 4, np.nan, 1234]))
    assert display.counts_["tool"].get_text() == "1,234"
    assert display.counts_["tool"].get_position()[0] > display.names_["tool"].get_position()[0]
    assert "fish" not in display.counts_
    sizes = dict(zip(NAMES, display.dots_.get_sizes(), strict=True))
    assert sizes["tool"] > sizes["animal"] > sizes["owl"] > sizes["fish"] > 0
    assert HierarchyDisplay.from_hierarchy(animals()).counts_ == {}
    for counts in ([0] * 6, [np.nan] * 6):
        assert len(set(HierarchyDisplay.from_hierarchy(animals(counts=counts)).dots_.get_sizes())) == 1


def test_names_are_plain_text_on_one_line_and_truncated():
    tree = LabelHierarchy(["$x^2$", "two\nlines", "a" * 70, "<b>", "_", r"\frac{"])
    display = HierarchyDisplay.from_hierarchy(tree, max_chars=10)
    assert [text.get_text() for text in display.names_.values()] == [
        *("$x^2$", "two lines", "aaaaaaaaa…", "<b>", "_", r"\frac{")
    ]
    display.figure_.canvas.draw()
    for wrong in (1, 2.5, True, "ten"):
        with pytest.raises(ValueError, match="max_chars must be an integer of at least 2"):
            HierarchyDisplay.from_hierarchy(tree, max_chars=wrong)


def test_the_figure_grows_with_the_leaves():
    heights = [
        HierarchyDisplay.from_hierarchy(LabelHierarchy(map(str, range(n)))).figure_.get_size_inches()[1]
        for n in (10, 60, 110)
    ]
    assert heights[2] - heights[1] == pytest.approx(heights[1] - heights[0])
    assert heights[1] - heights[0] == pytest.approx(50 * LINE / 72)


def test_a_very_large_tree_still_fits_on_a_page():
    display = HierarchyDisplay.from_hierarchy(LabelHierarchy(map(str, range(1500))))
    assert display.figure_.get_size_inches()[1] == pytest.approx(200)
    assert display.names_["0"].get_fontsize() < 9


def test_from_an_estimator_on_given_axes_and_to_a_file(tmp_path):
    class Model(BaseEstimator):
        def fit(self, X, Y):
            raise NotImplementedError

    model = Model()
    with pytest.raises(NotFittedError):
        HierarchyDisplay.from_estimator(model)
    model.hierarchy_ = animals(counts=COUNTS, margins=MARGINS)
    axes = Figure(figsize=(3, 1.5)).subplots()
    display = HierarchyDisplay.from_estimator(model, ax=axes, title="birds & $co")
    assert display.ax_ is axes
    assert axes.get_title() == "birds & $co"
    assert display.names_["owl"].get_fontsize() < 9  # there is little space
    for end, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        display.save(tmp_path / f"tree{end}")
        assert (tmp_path / f"tree{end}").read_bytes().startswith(start)
    display = HierarchyDisplay(animals())
    display.save(tmp_path / "own.png", dpi=50)
    assert display.figure_ is not None


# ---------------------------------------------------------------------- a law: nothing overlaps


@st.composite
def hierarchies(draw, *, more_parents):
    n = draw(st.integers(1, 14))
    words = st.text("abc mW", min_size=1, max_size=45).filter(lambda word: word.strip())
    names = draw(st.lists(words, min_size=n, max_size=n, unique=True))
    edges = set()
    for child in range(1, n):
        for _ in range(1 + more_parents):
            parent = draw(st.integers(-1, child - 1))
            edges |= {(parent, child)} if parent >= 0 else set()
    order = draw(st.permutations(range(n)))
    edges = [(order[p], order[c]) for p, c in sorted(edges)]
    return LabelHierarchy(names, edges, counts=draw(st.lists(st.integers(0, 99999), min_size=n, max_size=n)))


def boxes_of(display):
    renderer = display.figure_.canvas.get_renderer()
    texts = [*display.names_.values(), *display.counts_.values()]
    return np.array([text.get_window_extent(renderer).extents for text in texts])


def n_overlaps(boxes):
    """Count pairs of boxes that overlap by more than a pixel in both directions."""
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    return int(np.triu((high - low > 1.0).all(axis=2), k=1).sum())


def test_overlaps_are_noticed():
    assert n_overlaps(np.array([[0, 0, 9, 9], [5, 5, 20, 20], [30, 0, 40, 9]])) == 1


@pytest.mark.parametrize("more_parents", [0, 1], ids=["tree", "dag"])
@given(data=st.data())
@fewer(5)
def test_names_never_overlap(more_parents, data):
    display = HierarchyDisplay.from_hierarchy(data.draw(hierarchies(more_parents=more_parents)))
    boxes = boxes_of(display)
    assert n_overlaps(boxes) == 0
    width, height = display.figure_.canvas.get_width_height()
    assert boxes[:, :2].min() >= 0
    assert (boxes[:, 2] <= width).all()
    assert (boxes[:, 3] <= height).all()


@given(data=st.data())
@fewer(2)
def test_no_edge_of_a_tree_crosses_a_name(data):
    display = HierarchyDisplay.from_hierarchy(data.draw(hierarchies(more_parents=0)))
    renderer = display.figure_.canvas.get_renderer()
    boxes = {name: text.get_window_extent(renderer).extents for name, text in display.names_.items()}
    for edge in display.edges_.values():
        (bends,) = display.ax_.transData.transform_path(edge.get_path()).to_polygons(closed_only=False)
        along = np.linspace(0, len(bends) - 1, 40 * len(bends))
        points = np.stack([np.interp(along, range(len(bends)), bends[:, d]) for d in (0, 1)], axis=1)
        for x0, y0, x1, y1 in boxes.values():
            inside = (points > [x0 + 1, y0 + 1]).all(axis=1) & (points < [x1 - 1, y1 - 1]).all(axis=1)
            assert not inside.any()


def test_missing_glyphs_are_reported_only_when_drawn():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        display = HierarchyDisplay.from_hierarchy(LabelHierarchy(["鳥"]))
        assert caught == []
        display.figure_.canvas.draw()
        assert any("Glyph" in str(warning.message) for warning in caught)
