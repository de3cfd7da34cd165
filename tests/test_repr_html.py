"""Results as HTML for notebooks: escaped, and readable on light and dark pages."""

import re

import numpy as np
import pytest

from likewise import Supervision
from likewise._repr_html import render_table
from likewise.active import Comparison, Question, Trace
from likewise.evaluation import (
    compare_hints,
    link_satisfaction,
    scores,
    triplet_satisfaction,
)

ROUGE = "<script>alert('&')</script>"
LINKS = Supervision.from_links(9, must=[(i, i + 1) for i in range(8)], cannot=[(0, 8)])
TRIPLETS = Supervision.from_triplets(9, [[0, 1, 8]], ["AC"])
LABELS = [0, 0, 0, 0, 1, 1, 1, 1, 1]
TRACE = Trace(np.array([0, 2]), np.array([0.1, 0.3]), np.zeros(2))
RESULTS = {
    "hints": LINKS | TRIPLETS | Supervision.from_labels([ROUGE, *[None] * 8]),
    "no hints": Supervision.empty(3),
    "links": link_satisfaction(LABELS, LINKS),
    "triplets": triplet_satisfaction(LABELS, TRIPLETS),
    "question": Question.pair(0, 1, reason=ROUGE, score=0.5),
    "scores": scores(LABELS, LABELS),
    "comparison": Comparison({ROUGE: {0: TRACE}}),
    "information": compare_hints(LABELS),
}


@pytest.mark.parametrize("name", RESULTS)
def test_texts_are_escaped_and_elements_are_closed(name):
    html = RESULTS[name]._repr_html_()
    assert "<script" not in html
    assert ("&lt;script&gt;alert(&#x27;&amp;&#x27;)" in html) == (name in ("hints", "question", "comparison"))
    for tag in ("div", "table", "tr", "td", "th", "p"):
        assert html.count(f"<{tag}") - html.count("<thead") * (tag == "th") == html.count(f"</{tag}>")


@pytest.mark.parametrize("name", RESULTS)
def test_colours_are_inherited_from_the_page(name):
    styles = ";".join(re.findall(r'style="([^"]*)"', RESULTS[name]._repr_html_()))
    assert set(re.findall(r"(?<![\w-])color: ([^;]+)", styles)) == {"inherit"}
    assert "background" not in styles


def test_long_lists_are_shortened():
    html = RESULTS["links"]._repr_html_()
    assert "<td" in html
    assert "3 = 4" in html  # the violated one
    assert "0 = 1, 1 = 2, 2 = 3, 3 = 4, 4 = 5 and 3 more" in RESULTS["hints"]._repr_html_()


def test_links_and_triplets_kept_read_as_sentences():
    assert repr(RESULTS["links"]) == ("Satisfaction(7 of 8 must-links and 1 of 1 cannot-links kept (88.9%))")
    assert repr(RESULTS["triplets"]) == "TripletSatisfaction(0 of 1 triplets kept (0.0%))"


def test_missing_numbers_are_empty_cells():
    html = render_table("t", ["a", "b"], [[float("nan"), None]])
    assert re.findall(r"<td[^>]*>([^<]*)</td>", html) == ["", ""]
