import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hierarchy.drawn import hierarchies
from likewise.exceptions import HierarchyError
from likewise.hierarchy import PartialHierarchy


def wrong(names=None, **named):
    with pytest.raises(HierarchyError) as error:
        PartialHierarchy(**named).get_allowed_edges(names)
    return str(error.value)


def test_nothing_known_allows_everything():
    assert PartialHierarchy() == PartialHierarchy([], [])
    assert PartialHierarchy().get_allowed_edges(["a", "b"]).astype(int).tolist() == [
        [0, 1, 1],
        [0, 0, 1],
        [0, 1, 0],
    ]


def test_fixed_and_forbidden_edges_by_hand():
    known = PartialHierarchy(
        fixed=[("a", "b"), ("b", "c"), ("top", "d")], forbidden=[("d", "a"), ["c", "a"]], root="top"
    )
    assert known.fixed == (("a", "b"), ("b", "c"), ("top", "d"))
    assert known.names == ("a", "b", "c", "d")
    #                     to: -  a  b  c  d  e
    assert known.get_allowed_edges(list("abcde")).astype(int).tolist() == [
        [0, 1, 0, 0, 1, 1],  # the root
        [0, 0, 1, 0, 0, 1],  # a
        [0, 0, 0, 1, 0, 1],  # b, which is below a and so cannot be above it
        [0, 0, 0, 0, 0, 1],  # c
        [0, 0, 0, 0, 0, 1],  # d
        [0, 1, 0, 0, 0, 0],  # e
    ]


def test_it_is_immutable_hashable_and_picklable():
    known = PartialHierarchy([("a", "b"), ("a", "b")], root="top")
    assert known.fixed == (("a", "b"),)
    assert pickle.loads(pickle.dumps(known)) == known
    assert hash(known) == hash(PartialHierarchy((("a", "b"),), root="top"))
    with pytest.raises(AttributeError):
        known.fixed = ()


def test_contradictory_edges_are_rejected():
    assert "'c' has two fixed parents, 'a' and 'b'" in wrong(fixed=[("a", "c"), ("b", "c")])
    assert "'c' has two fixed parents, 'root' and 'b'" in wrong(fixed=[("root", "c"), ("b", "c")])
    assert "from 'a' to 'b' is both fixed and forbidden" in wrong(fixed=[("a", "b")], forbidden=[("a", "b")])
    assert "'b' > 'a' > 'b'" in wrong(fixed=[("a", "b"), ("b", "a")])
    assert "forbidden[0] makes 'a' its own parent" in wrong(forbidden=[("a", "a")])
    assert "fixed[0] makes 'root' a child of 'a'" in wrong(fixed=[("a", "root")])
    assert "fixed[0] is 'ab'; an edge is a pair" in wrong(fixed=["ab"])
    assert "fixed[0] is 0, of type int" in wrong(fixed=[(0, 1)])
    assert "root is empty" in wrong(root="")


def test_edges_that_do_not_match_the_labels_are_rejected():
    assert "no label 'dgo'. Did you mean 'dog'?" in wrong(["cat", "dog"], fixed=[("cat", "dgo")])
    assert "no label 'x'" in wrong(["a", "b"], forbidden=[("x", "a")])
    assert "'root' is both a label and the name of the root" in wrong(["root", "b"])
    cut = [("root", "a"), ("b", "a")]
    assert "'a' has no possible parent" in wrong(["a", "b"], forbidden=cut)
    # Only b is left above a, and it is fixed below it.
    assert "'a' has no possible parent" in wrong(["a", "b"], fixed=[("a", "b")], forbidden=[("root", "a")])


@given(hierarchies(tree=True), st.data())
def test_a_tree_is_allowed_by_its_own_edges(tree, data):
    root = "the root"
    edges = [*tree.edges, *((root, name) for name in tree.tops)]
    fixed = data.draw(st.lists(st.sampled_from(edges), unique=True))
    some = [(a, b) for a in [root, *tree.names] for b in tree.names if a != b and (a, b) not in edges]
    forbidden = data.draw(st.lists(st.sampled_from(some), unique=True)) if some else []
    may = PartialHierarchy(fixed, forbidden, root).get_allowed_edges(tree.names)
    node = {root: 0, **{name: k + 1 for k, name in enumerate(tree.names)}}
    assert all(may[node[p], node[c]] for p, c in edges)
    assert not any(may[node[p], node[c]] for p, c in forbidden)
    assert all(np.flatnonzero(may[:, node[c]]).tolist() == [node[p]] for p, c in fixed)
