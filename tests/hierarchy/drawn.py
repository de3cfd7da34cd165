"""Random hierarchies, and slow reference implementations of their methods."""

import numpy as np
from hypothesis import strategies as st

from likewise.hierarchy import LabelHierarchy

HARD = [
    *("a,b", 'a"b', "a'b", "''", " a", "a ", "a b", "(a)", "a:b", "a;b", "[a]", "[&column=0]", "a_b"),
    *("root", "root_", "#1", "=1", "1", "-1", "nan", "é", "日本", "<b>&amp;", "\ufeffa", "\u2028", "\x85"),
    *("a\nb", "a\r", "\r\n", "\t"),
]
# Control characters have a separate test, since XML does not allow them.
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"])


def names(min_size=1, max_size=7, letters=LETTERS):
    return st.lists(
        st.text(letters, min_size=1, max_size=4) | st.sampled_from(HARD),
        min_size=min_size,
        max_size=max_size,
        unique=True,
    )


@st.composite
def hierarchies(draw, labels=None, tree=False):
    """Draw labels in any order, each under none, one or (unless it is a tree) several earlier labels."""
    labels = draw(names()) if labels is None else labels
    order = draw(st.permutations(range(len(labels))))
    edges = []
    for k, child in enumerate(order):
        above = st.lists(st.sampled_from(order[:k]), max_size=1 if tree else 3) if k else st.just([])
        edges += [(parent, child) for parent in draw(above)]
    number = st.floats(allow_nan=True, allow_infinity=True)
    column = st.none() | st.lists(number, min_size=len(labels), max_size=len(labels))
    count = st.floats(min_value=0, allow_infinity=False) | st.integers(0, 10**6)
    counts = st.none() | st.lists(count, min_size=len(labels), max_size=len(labels))
    return LabelHierarchy(labels, edges, scores=draw(column), margins=draw(column), counts=draw(counts))


def ancestors(hierarchy):
    """Return all pairs (ancestor, descendant), by following edges until there are no new pairs."""
    pairs = set(hierarchy.edges)
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def same(one, other):
    """Return True if two hierarchies agree in everything, including the columns that equality ignores."""
    columns = [(getattr(one, c), getattr(other, c)) for c in ("scores", "margins", "counts")]
    known = [
        (a is None) == (b is None) and (a is None or np.array_equal(a, b, equal_nan=True)) for a, b in columns
    ]
    return one == other and all(known)
