"""Given hierarchies, whole or partial: they are respected, or an error says why they cannot be."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import make_label_tree
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy, PartialHierarchy
from likewise.multilabel import LatentHierarchyClassifier
from profiles import fewer

DATA = make_label_tree(60, 4, n_features=2, missing_rate=0.2, random_state=1)
Y = pd.DataFrame(DATA.Z, columns=list("abcd"))


def fit(hierarchy, **params):
    return LatentHierarchyClassifier(hierarchy, **params).fit(DATA.X, Y)


@st.composite
def partials(draw):
    """Draw a PartialHierarchy over a to d; it may be unsatisfiable."""
    nodes = ["root", *"abcd"]
    edges = [(p, c) for p in nodes for c in "abcd" if p != c]
    fixed = draw(st.lists(st.sampled_from(edges), max_size=3, unique_by=lambda edge: edge[1]))
    forbidden = draw(st.lists(st.sampled_from([e for e in edges if e not in fixed]), max_size=9))
    try:
        return PartialHierarchy(fixed, forbidden)
    except HierarchyError:  # a cycle of fixed edges is rejected at once
        return PartialHierarchy((), forbidden)


def is_possible(partial):
    """Return True if the root reaches every label over allowed edges."""
    try:
        allowed = partial.get_allowed_edges(list("abcd"))
    except HierarchyError:
        return False
    reached = np.eye(5, dtype=bool)[0]
    for _ in range(5):
        reached = reached | allowed[reached].any(axis=0)
    return bool(reached.all())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@fewer(2)
@given(
    partial=partials(),
    start=st.sampled_from(["inclusion", "counts", "chow-liu", "star"]),
    step=st.sampled_from([None, "literal", "intercept", "profile"]),
    structure=st.sampled_from(["tree", "dag"]),
    n_init=st.sampled_from([1, 2]),
)
def test_fixed_and_forbidden_edges_are_respected(partial, start, step, structure, n_init):
    params = {"start": start, "structure_step": step, "structure": structure, "n_init": n_init}
    params |= {"random_state": 0, "max_iter": 5}
    if not is_possible(partial):
        with pytest.raises(HierarchyError, match=r"contain no tree|no possible parent"):
            fit(partial, **params)
        return
    found = fit(partial, **params).hierarchy_
    edges = {*found.edges, *(("root", top) for top in found.tops)}
    assert edges.issuperset(partial.fixed)
    assert edges.isdisjoint(partial.forbidden)
    if structure == "tree":
        assert found.is_tree


def test_a_fixed_edge_is_certain_and_changes_the_rest():
    free = fit(None).hierarchy_
    fixed = fit(PartialHierarchy(fixed=[("d", "a")])).hierarchy_
    assert ("d", "a") not in free.edges
    assert ("d", "a") in fixed.edges
    assert fixed.margins[0] == np.inf
    assert np.isfinite(free.margins).all()
    assert fit(PartialHierarchy()).hierarchy_ == free


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "form a cycle"),
        ([("a", "cat")], "no label 'cat'"),
        ([("cat", "a")], "no label 'cat'"),
        ([("a", "a")], "its own parent"),
        ([("a", "b", "c")], "a pair"),
        ("abc", "a pair"),
        (7, "hierarchy must be a LabelHierarchy.*got 7"),
        (LabelHierarchy(["a", "b"]), "'c', 'd' is not in the hierarchy.*Name the columns"),
        (LabelHierarchy(list("abcde")), "'e' is not a column"),
        (LabelHierarchy(list("wxyz")), "is not a column.*restrict"),
        (PartialHierarchy([("a", "cat")]), "no label 'cat'"),
        (PartialHierarchy(forbidden=[("root", name) for name in "abcd"]), "contain no tree"),
        (PartialHierarchy(forbidden=[(name, "a") for name in ["root", *"bcd"]]), "no possible parent"),
    ],
)
def test_bad_hierarchies(known, words):
    with pytest.raises(HierarchyError, match=words):
        fit(known)


def test_two_top_labels_are_children_of_the_root():
    # A forest is a tree if the implicit root is counted, so it is accepted.
    model = fit([("a", "b"), ("c", "d")])
    assert model.hierarchy_.tops == ("a", "c")
    assert model.hierarchy_.edges == (("a", "b"), ("c", "d"))
    same = fit([("root", "a"), ("a", "b"), ("root", "c"), ("c", "d")])
    np.testing.assert_array_equal(same.coef_, model.coef_)
    assert fit([]).hierarchy_.tops == tuple("abcd")


def test_a_graph_may_be_given():
    model = fit([("a", "c"), ("b", "c"), ("c", "d")])
    assert not model.hierarchy_.is_tree
    assert model.hierarchy_.edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert np.isfinite(model.objective_history_).all()
    chances = model.predict_proba(DATA.X)
    for p, c in ((0, 2), (1, 2), (2, 3)):
        assert (chances[:, c] <= chances[:, p] + model.relaxations_[c] + 1e-12).all()


def test_a_label_may_be_called_root():
    named = pd.DataFrame(DATA.Z, columns=["root", "b", "c", "d"])
    model = LatentHierarchyClassifier([("root", "b")]).fit(DATA.X, named)
    assert model.hierarchy_.edges == (("root", "b"),)
    with pytest.raises(HierarchyError, match="another name"):
        LatentHierarchyClassifier(PartialHierarchy([("root", "b")])).fit(DATA.X, named)
    other = PartialHierarchy([("root", "b")], root="top")
    assert ("root", "b") in LatentHierarchyClassifier(other).fit(DATA.X, named).hierarchy_.edges


def test_a_given_hierarchy_leaves_nothing_to_learn():
    tree = LabelHierarchy(list("abcd"), [("d", "a")])
    for params in ({"structure_step": "profile"}, {"structure": "dag"}, {"start": "star", "n_init": 3}):
        assert fit(tree, **params).hierarchy_ == tree
