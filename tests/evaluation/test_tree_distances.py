import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hierarchy.drawn import ancestors, hierarchies
from likewise.evaluation._tree_distances import ancestor_f1, robinson_foulds
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from profiles import fewer

NAMES = ["animal", "cat", "dog", "kitten"]
TRUE = LabelHierarchy(NAMES, [("animal", "cat"), ("animal", "dog"), ("cat", "kitten")])
MOVED = LabelHierarchy(NAMES, [("animal", "cat"), ("animal", "dog"), ("dog", "kitten")])
TURNED = LabelHierarchy(NAMES, [("cat", "animal"), ("animal", "dog"), ("cat", "kitten")])
FLAT = LabelHierarchy(NAMES)
CUT = LabelHierarchy(NAMES, [("animal", "cat"), ("animal", "dog")])


@pytest.mark.parametrize(
    ("found", "plain", "rooted", "undirected", "both"),
    [
        (TRUE, 0, 0, 0, 0),
        (MOVED, 2, 2, 2, 2),
        (TURNED, 2, 4, 0, 2),  # the root also has another child
        (FLAT, 3, 6, 3, 6),
        (CUT, 1, 2, 1, 2),
    ],
)
def test_robinson_foulds_by_hand(found, plain, rooted, undirected, both):
    assert robinson_foulds(TRUE, found) == plain
    assert robinson_foulds(TRUE, found, root_edges=True) == rooted
    assert robinson_foulds(TRUE, found, directed=False) == undirected
    assert robinson_foulds(TRUE, found, directed=False, root_edges=True) == both
    assert type(robinson_foulds(TRUE, found)) is int


def test_ancestor_f1_by_hand():
    # animal > cat, animal > dog, animal > kitten, cat > kitten
    assert ancestor_f1(TRUE, TRUE) == 1.0
    assert ancestor_f1(TRUE, MOVED) == 2 * 3 / (4 + 4)
    assert ancestor_f1(TRUE, TURNED) == 2 * 2 / (4 + 4)  # animal > dog and cat > kitten
    assert ancestor_f1(TRUE, CUT) == 2 * 2 / (4 + 2)
    assert ancestor_f1(TRUE, FLAT) == 0.0
    assert ancestor_f1(FLAT, FLAT) == 1.0


def test_labels_may_be_in_another_order():
    other = TRUE.restrict(["kitten", "dog", "animal", "cat"])
    assert robinson_foulds(TRUE, other, root_edges=True) == robinson_foulds(other, TRUE) == 0
    assert ancestor_f1(other, TRUE) == 1.0


@pytest.mark.parametrize("score", [robinson_foulds, ancestor_f1])
def test_different_labels_are_named(score):
    found = LabelHierarchy(["animal", "cat", "bird"])
    message = "only the true one has 'dog' and 'kitten'; only the found one has 'bird'"
    with pytest.raises(HierarchyError, match=message):
        score(TRUE, found)
    with pytest.raises(HierarchyError, match=r"only the true one has 'kitten'\. Compare"):
        score(TRUE, TRUE.restrict(NAMES[:3]))
    with pytest.raises(TypeError, match=r"found must be a LabelHierarchy; got list.*from_parents"):
        score(TRUE, [-1, 0, 0, 1])


def test_thousands_of_labels():
    n = 2000
    chain, star = (
        LabelHierarchy.from_parents(np.arange(-1, n - 1)),
        LabelHierarchy.from_parents(np.full(n, -1)),
    )
    assert robinson_foulds(chain, star, root_edges=True) == 2 * (n - 1)
    assert ancestor_f1(chain, chain) == 1.0


# ------------------------------------------------------------------ laws


@st.composite
def three(draw, tree=False):
    labels = list("abcde")[: draw(st.integers(1, 5))]
    return [draw(hierarchies(draw(st.permutations(labels)), tree=tree)) for _ in range(3)]


FLAGS = [{"directed": d, "root_edges": r} for d in (True, False) for r in (True, False)]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@fewer(4)
@given(trees=three())
def test_robinson_foulds_is_a_distance(flags, trees):
    def between(one, other):
        return robinson_foulds(one, other, **flags)

    a, b, c = trees
    assert between(a, a) == 0
    assert between(a, b) == between(b, a) >= 0
    assert between(a, c) <= between(a, b) + between(b, c)


@pytest.mark.parametrize("flags", FLAGS[:3], ids=str)
@fewer(4)
@given(trees=three(tree=True))
def test_trees_at_no_distance_are_equal(flags, trees):
    a, b, _ = trees
    # Without directions only the edges of the root show which end is the parent.
    assert (robinson_foulds(a, b, **flags) == 0) == (a == b.restrict(a.names))


@fewer(4)
@given(trees=three())
def test_scores_equal_the_reference(trees):
    a, b, _ = trees
    assert robinson_foulds(a, b) == len(set(a.edges) ^ set(b.edges))
    undirected = [{frozenset(edge) for edge in tree.edges} for tree in (a, b)]
    assert robinson_foulds(a, b, directed=False) == len(undirected[0] ^ undirected[1])
    rooted = [set(tree.edges) | {(None, top) for top in tree.tops} for tree in (a, b)]
    assert robinson_foulds(a, b, root_edges=True) == len(rooted[0] ^ rooted[1])
    one, other = ancestors(a), ancestors(b)
    wanted = 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0
    assert ancestor_f1(a, b) == ancestor_f1(b, a) == wanted
