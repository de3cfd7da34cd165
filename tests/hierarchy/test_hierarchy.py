import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hierarchy.drawn import ancestors, hierarchies, same
from likewise.datasets import make_label_tree
from likewise.exceptions import HierarchyError, LikewiseError
from likewise.hierarchy import LabelHierarchy

#         root
#        /    \
#   animal    toy      "kitten" precedes its parents in the columns
#    /   \
#  dog   cat
#          \
#         kitten
NAMES = ("kitten", "animal", "cat", "toy", "dog")
EDGES = [("animal", "cat"), ("animal", "dog"), ("cat", "kitten")]
PETS = LabelHierarchy(NAMES, EDGES)
# A kitten that is also a toy.
BOTH = LabelHierarchy(NAMES, [*EDGES, ("toy", "kitten")])


def wrong(*given, make=LabelHierarchy, **named):
    with pytest.raises(HierarchyError) as error:
        make(*given, **named)
    return str(error.value)


# ------------------------------------------------------------------ by hand


def test_a_tree_by_hand():
    assert PETS.names == NAMES
    assert PETS.n_labels == len(PETS) == 5
    assert PETS.is_tree
    assert PETS.edges == (("cat", "kitten"), ("animal", "cat"), ("animal", "dog"))
    assert PETS.parents.tolist() == [2, -1, 1, -1, 1]
    assert PETS.parents.dtype == PETS.order.dtype == PETS.depths.dtype == np.int64
    assert PETS.parent_lists == ((2,), (), (1,), (), (1,))
    assert PETS.depths.tolist() == [2, 0, 1, 0, 1]
    assert PETS.order.tolist() == [1, 3, 2, 4, 0]
    assert PETS.tops == ("animal", "toy")
    assert PETS.children("animal") == ("cat", "dog")
    assert PETS.children("toy") == PETS.ancestors("toy") == PETS.descendants("toy") == ()
    assert PETS.ancestors("kitten") == ("cat", "animal")
    assert PETS.descendants("animal") == ("cat", "dog", "kitten")
    assert PETS.ancestor_matrix().astype(int).tolist() == [
        [0, 0, 0, 0, 0],
        [1, 0, 1, 0, 1],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]
    assert repr(PETS) == "LabelHierarchy(5 labels: 2 on the root, 3 edges, depth 2)"


def test_several_parents_by_hand():
    assert not BOTH.is_tree
    assert BOTH.parent_lists == ((2, 3), (), (1,), (), (1,))
    assert BOTH.ancestors("kitten") == ("cat", "toy", "animal")
    assert BOTH.depths.tolist() == [2, 0, 1, 0, 1]  # the longest path
    assert BOTH.tops == ("animal", "toy")
    with pytest.raises(HierarchyError, match=r"'kitten' has the parents 'cat' and 'toy'.*parent_lists"):
        _ = BOTH.parents


def test_edges_may_be_names_or_positions_and_may_be_stated_twice():
    assert LabelHierarchy(NAMES, [(1, 2), (1, 4), (2, 0)]) == PETS
    assert LabelHierarchy(NAMES, np.array([(1, 2), (2, 0), (1, 4), (1, 2)])) == PETS
    assert LabelHierarchy(np.array(NAMES), [("animal", 2), (np.int64(1), "dog"), *EDGES]) == PETS
    assert type(LabelHierarchy(np.array(NAMES)).names[0]) is str


def test_edges_that_include_the_root():
    made = LabelHierarchy.from_edges([("root", "animal"), *EDGES, ("root", "toy")])
    assert made.names == ("animal", "cat", "dog", "kitten", "toy")
    assert made.restrict(NAMES) == PETS
    assert LabelHierarchy.from_edges([*EDGES, ("top", "toy")], names=NAMES, root="top") == PETS
    assert LabelHierarchy.from_edges(EDGES, names=NAMES) == PETS
    assert LabelHierarchy.from_edges([("root", "a")], root=None).edges == (("root", "a"),)


def test_parents_of_a_random_label_tree():
    toy = make_label_tree(50, 9, random_state=3)
    made = LabelHierarchy.from_parents(toy.parents)
    assert made.names == tuple("012345678")
    assert made.parents.tolist() == toy.parents.tolist()
    assert made.consistency(toy.Y).consistent_rows == 1.0
    assert LabelHierarchy.from_parents([2, -1, 1, -1, 1], NAMES) == PETS
    assert LabelHierarchy.from_parents(np.array([-1], dtype=np.int8), ["one"]).tops == ("one",)


def test_scores_margins_and_counts_are_kept():
    made = LabelHierarchy(
        ["a", "b", "c"], [(0, 1)], scores=[0, 2, 0], margins=[np.inf, 1, np.nan], counts=[9, 4, 1]
    )
    assert made.scores.tolist() == [0.0, 2.0, 0.0]
    assert made.margins[0] == np.inf
    assert made.counts.dtype == np.float64
    assert PETS.scores is PETS.margins is PETS.counts is None


def test_restricting_by_hand():
    assert PETS.restrict(["toy", "kitten", "animal"]).edges == (("animal", "kitten"),)
    assert PETS.restrict(["kitten", "dog"]).edges == ()
    assert PETS.restrict(sorted(NAMES)).restrict(NAMES) == PETS
    assert BOTH.restrict(["toy", "kitten", "animal"]).parent_lists == ((), (0, 2), ())
    hierarchy = LabelHierarchy(NAMES, EDGES, scores=[5, 0, 4, 0, 3], margins=range(5), counts=range(5))
    part = hierarchy.restrict(["animal", "kitten", "dog"])
    np.testing.assert_array_equal(part.scores, [0, np.nan, 3])  # the parent of the kitten changed
    np.testing.assert_array_equal(part.margins, [1, np.nan, 4])
    np.testing.assert_array_equal(part.counts, [1, 0, 4])


def test_a_chain_of_thousands():
    n = 3000
    chain = LabelHierarchy.from_parents(np.arange(-1, n - 1))
    assert chain.depths.tolist() == chain.order.tolist() == list(range(n))
    assert len(chain.ancestors(str(n - 1))) == n - 1
    assert chain.ancestor_matrix().sum() == n * (n - 1) // 2
    assert chain.restrict(["0", str(n - 1)]).edges == (("0", str(n - 1)),)


# ------------------------------------------------------------------ immutability


def test_equality_is_by_names_and_edges():
    assert LabelHierarchy(NAMES, EDGES[::-1], scores=np.zeros(5)) == PETS
    assert hash(LabelHierarchy(NAMES, EDGES[::-1])) == hash(PETS)
    assert PETS != BOTH
    assert LabelHierarchy(sorted(NAMES), EDGES) != PETS
    assert PETS != "pets"


def test_a_hierarchy_is_immutable():
    hierarchy = LabelHierarchy(["a", "b"], [(0, 1)], scores=[0, 1])
    for made in (
        hierarchy,
        pickle.loads(pickle.dumps(hierarchy)),
        copy.deepcopy(hierarchy),
        copy.copy(hierarchy),
    ):
        assert same(made, hierarchy)
        with pytest.raises(AttributeError, match="is immutable"):
            made.names = ("c",)
        with pytest.raises(AttributeError, match="is immutable"):
            del made.names
        for array in (made.scores, made.parents, made.order, made.depths):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    scores = np.zeros(2)
    made = LabelHierarchy(["a", "b"], scores=scores)
    scores[0] = 7
    assert made.scores[0] == 0


# ------------------------------------------------------------------ bad input


def test_a_cycle_is_shown():
    message = wrong(list("dabc"), [("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")])
    assert message == "the edges form a cycle: 'a' > 'b' > 'c' > 'a'. Remove one of these edges."
    assert "'0' > '1' > '0'" in wrong([1, 0], make=LabelHierarchy.from_parents)
    ring = wrong(np.roll(np.arange(50), 1), make=LabelHierarchy.from_parents)
    assert ring.startswith("the edges form a cycle: '0' > '1' > '2' > '3' > '4' > (43 more) > '48'")


@pytest.mark.parametrize(
    ("names", "edges", "message"),
    [
        ("aba", [], "'a' occur(s) more than once among the names"),
        ([], [], "there are no labels"),
        (["a", ""], [], "names[1] is empty"),
        (["a", 3], [], "names[1] is 3, of type int"),
        (["cat", "dog"], [("cat", "dgo")], "there is no label 'dgo'. Did you mean 'dog'?"),
        (["cat", "dog"], [("xyz", "dog")], "The labels are 'cat' and 'dog'."),
        ("ab", [("a", "a")], "label 'a' is its own parent"),
        ("ab", [(0, 2)], "position 2; expected a position from 0 to 1"),
        ("ab", [(-1, 0)], "A child of the root needs no edge"),
        ("ab", np.array([[0, 1], [0, 5]]), "edges[1] refers to position 5"),
        ("ab", [("a", "b", "c")], "edges[0] is ('a', 'b', 'c')"),
        ("ab", [(0.0, 1.0)], "edges[0] contains 0.0"),
        ("ab", [(True, 0)], "edges[0] contains True"),
        ("ab", [0, 1], "edges[0] is 0"),
        ("ab", ["ab"], "edges[0] is 'ab'; an edge is a pair (parent, child)."),
    ],
)
def test_bad_names_and_edges(names, edges, message):
    assert message in wrong(list(names), edges)


def test_a_string_is_not_a_list_of_labels():
    assert "got the string 'cat'. Put it in a list" in wrong("cat")


@pytest.mark.parametrize("column", ["scores", "margins", "counts"])
def test_bad_columns(column):
    assert "of shape (2,); got shape (3,)" in wrong(["a", "b"], **{column: [1, 2, 3]})
    assert "one number per label" in wrong(["a", "b"], **{column: ["x", 2]})


def test_counts_are_not_negative():
    assert "counts[1] is -1.0; expected at least 0" in wrong(["a", "b"], counts=[0, -1])


def test_the_root_is_no_label():
    make = LabelHierarchy.from_edges
    assert "'root' is a child of 'a', but it is the name of the root" in wrong([("a", "root")], make=make)
    assert "'root' is both a label and the name of the root" in wrong(
        [("root", "a")], names=["root", "a"], make=make
    )
    assert "no label 'c'" in wrong([("root", "c")], names=["a", "b"], make=make)
    assert "'a' is a child of the root 'root' and of 'b'" in wrong([("root", "a"), ("b", "a")], make=make)
    assert "there are no labels" in wrong([], make=make)


def test_bad_parents():
    make = LabelHierarchy.from_parents
    assert "parents[1] is 2; expected a position from 0 to 1, or -1" in wrong([-1, 2], make=make)
    assert "parents[0] is -2" in wrong([-2, 0], make=make)
    assert "type float64" in wrong([-1.0, 0.0], make=make)
    assert "got 3 names and 2 parents" in wrong([-1, 0], ["a", "b", "c"], make=make)
    assert "is its own parent" in wrong([-1, 1], make=make)


@pytest.mark.parametrize("ask", ["children", "ancestors", "descendants"])
def test_an_unknown_label_is_refused(ask):
    with pytest.raises(HierarchyError, match=r"no label 'kat'\. Did you mean 'cat'"):
        getattr(PETS, ask)("kat")
    with pytest.raises(LikewiseError, match="no label 3"):
        getattr(PETS, ask)(3)
    assert "no label 'bird'" in wrong(["cat", "bird"], make=PETS.restrict)
    assert "'cat' occur(s) more than once" in wrong(["cat", "cat"], make=PETS.restrict)


# ------------------------------------------------------------------ laws


@given(hierarchies())
def test_ancestors_equal_the_reference(tree):
    pairs = ancestors(tree)
    above = tree.ancestor_matrix()
    assert {(tree.names[a], tree.names[d]) for a, d in np.argwhere(above)} == pairs
    for name in tree.names:
        assert set(tree.ancestors(name)) == {a for a, d in pairs if d == name}
        assert set(tree.descendants(name)) == {d for a, d in pairs if a == name}
        assert set(tree.children(name)) == {c for p, c in tree.edges if p == name}
    place = np.argsort(tree.order)
    at = {name: k for k, name in enumerate(tree.names)}
    assert all(place[at[p]] < place[at[c]] and tree.depths[at[p]] < tree.depths[at[c]] for p, c in tree.edges)


@given(hierarchies(), st.data())
def test_restricting_keeps_the_ancestor_relation(tree, data):
    kept = data.draw(st.lists(st.sampled_from(tree.names), min_size=1, unique=True))
    part = tree.restrict(kept)
    assert part.names == tuple(kept)
    assert ancestors(part) == {(a, d) for a, d in ancestors(tree) if a in kept and d in kept}
    assert part.is_tree or not tree.is_tree
    assert same(tree.restrict(tree.names), tree)


@given(hierarchies(tree=True))
def test_a_tree_is_its_parents(tree):
    assert tree.is_tree
    assert LabelHierarchy.from_parents(tree.parents, tree.names) == tree
    assert LabelHierarchy.from_edges(tree.edges, names=tree.names, root=None) == tree
