"""The HTML page of a label tree: complete, nested like the tree, and with escaped names."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hierarchy import LabelHierarchy
from likewise.plotting import HierarchyDisplay
from likewise.plotting._tree import make_hierarchy_page

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Parse a page; collect (depth, name) of the labels, and fail for elements that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.labels, self.tags, self.texts, self.expanded = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "details":
            self.expanded.append("open" in dict(attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "b":
            self.labels.append([self.open.count("details") - ("summary" in self.open), ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] == "b":
            self.labels[-1][1] += data


def depths_of(page):
    return {name: depth for depth, name in Page(page).labels}


NAMES = ["animal", "bird", "owl", "wren", "fish", "tool"]
EDGES = [("animal", "bird"), ("bird", "owl"), ("bird", "wren"), ("animal", "fish")]


def test_the_page_is_nested_like_the_tree(tmp_path):
    HierarchyDisplay(LabelHierarchy(NAMES, EDGES)).write_html(tmp_path / "tree.html", title="Birds")
    page = (tmp_path / "tree.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Birds</title>" in page
    assert depths_of(page) == {"animal": 0, "bird": 1, "owl": 2, "wren": 2, "fish": 1, "tool": 0}
    assert Page(page).expanded == [True, True]
    assert "http" not in page.replace("http-equiv", "")  # nothing is fetched


def test_counts_margins_and_further_parents_are_reported():
    tree = LabelHierarchy(
        NAMES,
        [*EDGES, ("tool", "owl")],
        counts=[9, 7, 3, 4, np.nan, 1234],
        margins=[1e6, 20.0, 2.0, 5.0, np.inf, np.nan],
    )
    lines = dict(re.findall(r"<b>(\w+)</b>(.*?)</(?:summary|div)>", make_hierarchy_page(tree, "t")))
    assert "<small>1,234</small>" in lines["tool"]
    assert "very certain</i>" in lines["animal"]
    assert 'title="the next best parent is worse by 20.0"' in lines["bird"]
    assert ">uncertain</i> <small>also under tool</small>" in lines["owl"]
    assert ">given</i>" in lines["fish"]
    assert "worse" not in lines["fish"]
    assert "nan" not in make_hierarchy_page(tree, "t")
    plain = make_hierarchy_page(LabelHierarchy(NAMES, EDGES), "t")
    assert "class=legend" not in plain
    assert plain.count("<b>") == 6


EVIL = "</b><script>alert('x')</script>&amp;\"'"


def test_a_name_that_looks_like_a_script_is_text():
    tree = LabelHierarchy([EVIL, "b"], [(EVIL, "b")])
    page = Page(make_hierarchy_page(tree, EVIL))
    assert page.tags.count("script") == 1  # ours
    assert [name for _, name in page.labels] == [EVIL, "b"]
    second = LabelHierarchy([EVIL, "b", "c"], [("b", "c"), (EVIL, "c")])
    assert Page(make_hierarchy_page(second, "t")).tags.count("script") == 1
    assert "<title>&lt;/b&gt;" in make_hierarchy_page(tree, EVIL)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True), st.data())
def test_any_names_give_a_page_with_one_script(names, data):
    edges = [(data.draw(st.integers(0, k - 1)), k) for k in range(1, len(names)) if data.draw(st.booleans())]
    try:
        tree = LabelHierarchy(names, edges)
    except ValueError:
        return  # LabelHierarchy rejects blank names
    page = Page(make_hierarchy_page(tree, names[0]))
    assert page.tags.count("script") == 1
    assert len(page.labels) == len(names)
    assert page.tags.count("details") == len({parent for parent, _ in edges})


def test_letters_that_cannot_be_written_do_not_break_the_page(tmp_path):
    HierarchyDisplay(LabelHierarchy(["a\ud800b", "nul\x00"])).write_html(tmp_path / "odd.html")
    page = (tmp_path / "odd.html").read_text(encoding="utf-8")
    assert "\x00" not in page
    assert len(Page(page).labels) == 2


def test_a_large_tree_opens_two_levels_and_a_deep_one_needs_no_recursion():
    deep = Page(make_hierarchy_page(LabelHierarchy.from_parents(np.arange(-1, 1500)), "deep"))
    assert sum(deep.expanded) == 2
    assert len(deep.expanded) == 1500
    assert deep.labels[-1][0] == 1500
    wide = Page(make_hierarchy_page(LabelHierarchy(list(map(str, range(300)))), "wide"))
    assert [depth for depth, _ in wide.labels] == [0] * 300


def test_one_label_is_a_label():
    page = make_hierarchy_page(LabelHierarchy(["a"]), "t")
    assert "1 label." in page


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        HierarchyDisplay(LabelHierarchy(["a"])).write_html(tmp_path / "no" / "tree.html")
