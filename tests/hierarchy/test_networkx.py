import sys

import pytest
from hypothesis import given

from hierarchy.drawn import hierarchies, same
from likewise.exceptions import HierarchyError, MissingDependencyError
from likewise.hierarchy import LabelHierarchy, read_hierarchy, write_hierarchy

networkx = pytest.importorskip("networkx")
PETS = LabelHierarchy(["kitten", "cat", "toy"], [("cat", "kitten")], scores=[2, 0, 0], counts=[1, 4, 2])


def test_to_a_graph_by_hand():
    graph = PETS.to_networkx()
    assert list(graph.nodes(data=True)) == [
        ("kitten", {"score": 2.0, "count": 1.0}),
        ("cat", {"score": 0.0, "count": 4.0}),
        ("toy", {"score": 0.0, "count": 2.0}),
    ]
    assert list(graph.edges) == [("cat", "kitten")]
    rooted = PETS.to_networkx(root="everything")
    assert set(rooted.edges) == {("everything", "cat"), ("everything", "toy"), ("cat", "kitten")}
    assert networkx.is_arborescence(rooted)
    assert same(LabelHierarchy.from_networkx(rooted, root="everything"), PETS)


def test_from_a_graph_by_hand():
    graph = networkx.DiGraph([(0, 1), (1, 2), (0, 3)])
    graph.nodes[2]["score"] = 1.5
    made = LabelHierarchy.from_networkx(graph, root=0)
    assert made.names == ("1", "2", "3")
    assert made.edges == (("1", "2"),)
    assert made.scores[1] == 1.5
    assert made.scores[0] != made.scores[0]  # unknown
    assert LabelHierarchy.from_networkx(graph).edges == (("0", "1"), ("1", "2"), ("0", "3"))
    many = networkx.MultiDiGraph([("a", "b"), ("a", "b")])
    assert LabelHierarchy.from_networkx(many).edges == (("a", "b"),)


@pytest.mark.parametrize(
    ("graph", "root", "message"),
    [
        (networkx.Graph([(0, 1)]), None, r"undirected.*bfs_tree"),
        (networkx.DiGraph([(0, 1)]), 5, "no node 5, which was given as root"),
        (networkx.DiGraph([(0, 1)]), 1, "the node 1 is a child of 0, so it is not the root"),
        (networkx.DiGraph([(0, 1), (1, 0)]), None, "'0' > '1' > '0'"),
        (networkx.DiGraph([(1, 1)]), None, "its own parent"),
        (networkx.DiGraph([(1, "1")]), None, "'1' occur"),
        (networkx.DiGraph(), None, "no labels"),
    ],
)
def test_graphs_that_are_no_hierarchy(graph, root, message):
    with pytest.raises(HierarchyError, match=message):
        LabelHierarchy.from_networkx(graph, root=root)


def test_a_root_that_is_a_label_is_refused():
    with pytest.raises(HierarchyError, match="'cat' is already a label"):
        PETS.to_networkx(root="cat")


def test_without_networkx_the_error_says_what_to_install(monkeypatch, tmp_path):
    path = tmp_path / "pets.graphml"
    write_hierarchy(PETS, path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    for use in (PETS.to_networkx, lambda: read_hierarchy(path), lambda: write_hierarchy(PETS, path)):
        with pytest.raises(MissingDependencyError, match=r"likewise\[graphs\]"):
            use()


@given(hierarchies())
def test_round_trip(tree):
    assert same(LabelHierarchy.from_networkx(tree.to_networkx()), tree)
    assert same(LabelHierarchy.from_networkx(tree.to_networkx(root="the top"), root="the top"), tree)
    assert networkx.is_directed_acyclic_graph(tree.to_networkx())
