import os

import pytest

from hierarchy.drawn import same
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy import LabelHierarchy, read_hierarchy, write_hierarchy


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "a.nwk"
        path.write_text(text, encoding="utf-8", newline="")
        return read_hierarchy(path, **options)

    return read


def test_newick_by_hand(tmp_path, read):
    tree = LabelHierarchy(["kitten", "big cat", "it's", "root"], [(1, 0), (1, 2)], counts=[1, 2, 3, 0.5])
    path = tmp_path / "a.nwk"
    write_hierarchy(tree, path)
    text = path.read_text(encoding="utf-8")
    assert text == (
        "((kitten[&column=0,count=1],'it''s'[&column=2,count=3])'big cat'[&column=1,count=2],"
        "root[&column=3,count=0.5]);\n"
    )
    assert same(read(text), tree)


@pytest.mark.parametrize(
    ("text", "names", "edges"),
    [
        ("(a,b);", "a b", ""),
        ("((a,b)c,d);", "c a b d", "ca cb"),
        ("((a,b)c,d)root;", "c a b d", "ca cb"),
        ("(a,b)c;", "c a b", "ca cb"),
        ("a;", "a", ""),
        ("(a:1,\n b:2e-3 ) c\t: 1.5 ;\n\n", "c a b", "ca cb"),
        ("[one](a[two],[three]b:1[four])[five]c[six]; [seven]\n", "c a b", "ca cb"),
        ("('a','b')c;", "c a b", "ca cb"),
        ("(a[&column=1,score=2],b[&column=1])c;", "c a b", "ca cb"),  # not written by `compose`
        ("(a[&column=2,score=2],b[&column=0])c[&column=1];", "b c a", "ca cb"),
    ],
)
def test_newick_of_other_programs(read, text, names, edges):
    made = read(text)
    assert made.names == tuple(names.split())
    assert set(made.edges) == {tuple(edge) for edge in edges.split()}


def test_an_underscore_stays_an_underscore(read):
    assert read("(credit_cards,'credit cards');").names == ("credit_cards", "credit cards")


def test_the_root_may_have_another_name(read):
    assert read("(a,b)all;", root="all").names == ("a", "b")
    assert read("(a,b)root;", root="all").edges == (("root", "a"), ("root", "b"))


def test_only_trees_can_be_written(tmp_path):
    both = LabelHierarchy(["a", "b", "c"], [("a", "c"), ("b", "c")])
    with pytest.raises(
        HierarchyError, match=r"'c' has several parents.*only trees\. Write CSV, GraphML or JSON"
    ):
        write_hierarchy(both, tmp_path / "a.nwk")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((a,b)c,\nd", "a.nwk:2: the bracket of line 1 is never closed"),
        ("(a,\n(b,c)d;", "a.nwk:2: the bracket of line 1 is never closed"),
        ("(a,b)c);", "a.nwk:1: a closing bracket has no opening bracket"),
        ("(a,b)", "does not end with a semicolon; the file may be truncated"),
        (
            "(a,b);\n(c,d);",
            "a.nwk:2: a second tree begins here. Put each tree in a separate file.",
        ),
        ("a,b;", "a comma outside all brackets makes two roots"),
        ("((a,b),\nc);", "a.nwk:1: the node above 'a' and 'b' has no name. Add a name after its bracket"),
        ("(a,,b);", "a name is missing between"),
        ("(a,b,);", "a name is missing between"),
        ("();", "a name is missing between"),
        ("(a,\n'');", "a.nwk:2: a name is empty"),
        ("(a b);", "'b' follows 'a'; a comma is missing, or quotes around a name with spaces"),
        ("(a'b');", "'b' follows 'a'"),
        ("(a:1 b);", "'b' follows 'a'"),
        ("(a(b));", "a bracket opens right after 'a'; a comma is missing"),
        ("((a)(b));", "a bracket opens right after ')'"),
        ("(a,\nb,\na);", "a.nwk:3: label 'a' is already in line 1"),
        ("((a)root)root;", "label 'root' is already in line 1"),
        ("(a:x,b);", "expected a branch length after a colon; got 'x'"),
        ("(a:,b);", "expected a branch length after a colon; got nothing"),
        ("(a:1:2,b);", "two colons"),
        ("(a,\n'b);", "a.nwk:2: a quote is never closed"),
        ("(a,b[c);", "a comment is never closed"),
        ("(a,b]);", "unexpected ']'"),
        (";", "there are no labels"),
        ("root;", "there are no labels"),
        ("(a[&column=0,count=x]);", "the comment of label 'a' contains 'x'; expected a number"),
    ],
)
def test_newick_that_is_wrong(read, tmp_path, text, message):
    with pytest.raises(FileFormatError) as error:
        read(text)
    shown = str(error.value).replace(str(tmp_path) + os.sep, "")
    assert message in shown
    assert shown.startswith("a.nwk:")
