import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hierarchy.drawn import HARD, hierarchies, names, same
from likewise.exceptions import FileFormatError, HierarchyError
from likewise.hierarchy import LabelHierarchy, read_hierarchy, write_hierarchy
from profiles import fewer

FORMATS = ["csv", "newick", "graphml", "json"]
PETS = LabelHierarchy(
    ["kitten", "animal", "cat", "toy"],
    [("animal", "cat"), ("cat", "kitten")],
    scores=[12.5, 0, 1 / 3, float("nan")],
    margins=[float("inf"), 0, 1e-300, 2],
    counts=[3, 10, 7.5, 0],
)
BOTH = LabelHierarchy(["kitten", "cat", "toy"], [("cat", "kitten"), ("toy", "kitten")], counts=[1, 2, 3])


@pytest.fixture
def file(tmp_path):
    def write(content, name="pets.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def bad(path, **options):
    with pytest.raises(FileFormatError) as error:
        read_hierarchy(path, **options)
    return str(error.value).replace(str(path.parent) + os.sep, "")


# ------------------------------------------------------------------ round trips


@pytest.mark.parametrize("format", FORMATS)
def test_round_trip_of_everything(tmp_path, format):
    path = tmp_path / f"pets.{format}"
    write_hierarchy(PETS, path)
    assert same(read_hierarchy(path), PETS)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    write_hierarchy(LabelHierarchy(["one"]), path)  # replaced
    assert same(read_hierarchy(str(path)), LabelHierarchy(["one"]))
    if format != "newick":
        write_hierarchy(BOTH, path)
        assert same(read_hierarchy(path), BOTH)


@pytest.mark.parametrize("format", FORMATS)
def test_round_trip_of_difficult_names(tmp_path, format):
    tree = LabelHierarchy.from_parents([(k - 1) // 2 if k % 5 else -1 for k in range(len(HARD))], HARD)
    path = tmp_path / "hard"
    write_hierarchy(tree, path, format=format)
    assert same(read_hierarchy(path, format=format), tree)


@pytest.mark.parametrize("format", FORMATS)
@fewer(2)
@given(data=st.data())
def test_round_trip_of_random_hierarchies(tmp_path, format, data):
    tree = data.draw(hierarchies(tree=format == "newick"))
    path = tmp_path / f"tree.{format}"
    write_hierarchy(tree, path)
    assert same(read_hierarchy(path), tree)


@pytest.mark.parametrize("format", ["csv", "newick", "json"])
@fewer(2)
@given(data=st.data())
def test_round_trip_of_control_characters(tmp_path, format, data):
    labels = data.draw(names(letters=st.characters(categories=["Cc", "Zs", "Zl", "Zp", "Po"])))
    tree = data.draw(hierarchies(labels, tree=True))
    path = tmp_path / f"tree.{format}"
    write_hierarchy(tree, path)
    assert same(read_hierarchy(path), tree)


@pytest.mark.parametrize("format", FORMATS)
def test_round_trip_of_a_chain_of_thousands(tmp_path, format):
    chain = LabelHierarchy.from_parents(range(-1, 2999))
    path = tmp_path / f"chain.{format}"
    write_hierarchy(chain, path)
    assert read_hierarchy(path) == chain


@pytest.mark.parametrize("format", FORMATS)
def test_an_old_file_stays_if_writing_fails(tmp_path, format, monkeypatch):
    path = tmp_path / f"pets.{format}"
    write_hierarchy(PETS, path)

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_hierarchy(BOTH if format != "newick" else LabelHierarchy(["a"]), path)
    monkeypatch.undo()
    assert read_hierarchy(path) == PETS
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_format_follows_the_extension_or_the_argument(tmp_path):
    for name in ("a.CSV", "a.nwk", "a.newick", "a.graphml", "a.JSON"):
        write_hierarchy(PETS, tmp_path / name)
        assert read_hierarchy(tmp_path / name) == PETS
    with pytest.raises(
        ValueError, match=r"'pets\.txt' does not determine the format; use a name that ends with one of \.csv"
    ):
        write_hierarchy(PETS, "pets.txt")
    with pytest.raises(ValueError, match=r"format must be one of .*'newick'.*, got 'xml'"):
        read_hierarchy("pets.csv", format="xml")
    with pytest.raises(FileNotFoundError):
        read_hierarchy(tmp_path / "none.csv")


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_file_is_refused(file, format):
    for content in ("", " \n\n"):
        assert (
            bad(file(content, f"pets.{format}"))
            == f"pets.{format} is empty; a hierarchy needs at least one label."
        )


@pytest.mark.parametrize("format", ["csv", "newick", "json"])
def test_another_encoding_is_refused_and_can_be_given(tmp_path, format):
    tree = LabelHierarchy(["café", "thé"], [(0, 1)])
    path = tmp_path / f"cafe.{format}"
    write_hierarchy(tree, path)
    assert "café".encode() in path.read_bytes()
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    message = bad(path)
    assert "which is not utf-8. Save the file as UTF-8, or pass encoding='latin-1'" in message
    assert message.startswith(
        {"csv": "cafe.csv:2:", "newick": "cafe.newick:1:", "json": "cafe.json:5:"}[format]
    )
    assert read_hierarchy(path, encoding="latin-1") == tree


# ------------------------------------------------------------------ CSV


def test_csv_by_hand(tmp_path):
    path = tmp_path / "pets.csv"
    write_hierarchy(PETS, path)
    assert path.read_text() == (
        "parent,child,score,margin,count\n"
        "cat,kitten,12.5,inf,3\n"
        "root,animal,0.0,0.0,10\n"
        "animal,cat,0.3333333333333333,1e-300,7.5\n"
        "root,toy,,2.0,0\n"
    )


def test_the_tables_of_the_data_sets_are_read(data_folder):
    for path in sorted(data_folder.glob("*.hierarchy.csv")):
        made = read_hierarchy(path)
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        assert made.n_labels == len(lines)
        edges = [tuple(line.split(",")) for line in lines]
        assert set(made.edges) == {edge for edge in edges if edge[0] != "root"}
        assert made.names == tuple(child for _, child in edges)


def test_tables_that_people_write(file):
    plain = read_hierarchy(file("\ufeff# pets\r\nChild , PARENT,note\r\ncat,animal,x\r\n\r\ndog,animal,\r\n"))
    assert (plain.names, plain.tops) == (("animal", "cat", "dog"), ("animal",))
    top = file("parent,child\neverything,cat\n,dog\n")
    assert read_hierarchy(top, root="everything").tops == ("cat", "dog")
    assert read_hierarchy(top).edges == (("everything", "cat"),)
    assert read_hierarchy(file("parent,child\n,root\nroot,cat\n")).edges == (("root", "cat"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "missing: parent and child. Begin the file with the line parent,child."),
        ("# pets\nparent,kid\n", "pets.csv:2: the columns are 'parent', 'kid'; missing: child."),
        (
            "parent,child,weight\n",
            "expected only parent, child, score, margin, count, note, got 'weight'",
        ),
        ("parent,child,child\n", "column names must be unique"),
        ("parent,child\n", "there are no lines below the header"),
        ("parent,child\na,b\nb\n", "pets.csv:3: 1 cell(s), but the header has 2."),
        ("parent,child\na,\n", "pets.csv:2: the child is empty"),
        ("parent,child\na,b\nc,c\n", "pets.csv:3: label 'c' is its own parent"),
        (
            "parent,child\na,b\nx,y\nb,c\nc,a\n",
            "pets.csv:5: the edges form a cycle: 'b' > 'c' > 'a' > 'b'.",
        ),
        (
            "parent,child\nroot,b\na,b\n",
            "pets.csv:2: label 'b' is a child of the root here and has a parent elsewhere.",
        ),
        ("parent,child,score\na,b,x\n", "pets.csv:2: the score is 'x'; expected a number"),
        ("parent,child,count\na,c,1\nb,c,2\n", "pets.csv:3: label 'c' has the count 2 here and 1 above."),
        ("parent,child,count\n,c,-2\n", "counts[0] is -2.0"),
        ('parent,child\na,"b\n', "pets.csv:2: a quote is opened and never closed"),
    ],
)
def test_tables_that_are_wrong(file, content, message):
    assert message in bad(file(content))


def test_several_bad_lines_are_reported_at_once(file):
    message = bad(file("parent,child\na\nb,b\nc,d\n"))
    assert message.splitlines() == [
        "pets.csv:2: 1 cell(s), but the header has 2.",
        "pets.csv:3: label 'b' is its own parent. Remove this line.",
        "Nothing was read.",
    ]


# ------------------------------------------------------------------ GraphML

GRAPH = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
LABEL = '<key id="k" for="node" attr.name="label" attr.type="string"/>'


def test_graphml_of_other_programs(file):
    nodes = '<node id="n0"/><node id="n1"/><node id="root"/><edge source="n0" target="n1"/>'
    path = file(GRAPH.format(f'<graph edgedefault="directed">{nodes}</graph>'), "a.graphml")
    assert read_hierarchy(path).names == ("n0", "n1")  # the node "root" without parents
    assert read_hierarchy(path, root="n0").names == ("n1", "root")
    named = "".join(f'<node id="n{k}"><data key="k">{w}</data></node>' for k, w in enumerate(["top", "cat"]))
    edge = '<edge source="n0" target="n1"/>'
    path = file(GRAPH.format(f'{LABEL}<graph edgedefault="directed">{named}{edge}</graph>'), "b.graphml")
    assert read_hierarchy(path).edges == (("top", "cat"),)
    assert read_hierarchy(path, root="top").names == ("cat",)


def test_graphml_that_is_wrong(file):
    def graph(inside, direction="directed"):
        return file(GRAPH.format(f'{LABEL}<graph edgedefault="{direction}">{inside}</graph>'), "a.graphml")

    two = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
    assert "a.graphml: the graph is undirected" in bad(graph(two, "undirected"))
    assert "'a' > 'b' > 'a'" in bad(graph(two + '<edge source="b" target="a"/>'))
    alike = "".join(f'<node id="{k}"><data key="k">x</data></node>' for k in "ab")
    assert "'x' occur(s) more than once" in bad(graph(alike))
    assert "no labels" in bad(graph(""))
    assert "a.graphml:2: invalid XML" in bad(file("<graphml>\n<graph", "a.graphml"))
    assert "invalid GraphML" in bad(file("<html></html>", "a.graphml"))
    assert "invalid GraphML" in bad(graph('<node id="a"><data key="none">1</data></node>'))
    assert "invalid XML" in bad(file(b'<?xml version="1.0"?>\n<a>\xff</a>', "a.graphml"))


def test_characters_that_xml_forbids_are_rejected(tmp_path):
    for name in ("a\x00", "\x1f", "\uffff"):
        with pytest.raises(
            HierarchyError,
            match=r"which GraphML does not allow\. Rename it, or write "
            r"CSV or JSON",
        ):
            write_hierarchy(LabelHierarchy([name]), tmp_path / "a.graphml")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ JSON


def test_json_by_hand(tmp_path):
    path = tmp_path / "pets.json"
    write_hierarchy(PETS, path)
    assert path.read_text().splitlines()[4:6] == [
        '    {"name": "kitten", "parents": ["cat"], "score": 12.5, "margin": "inf", "count": 3},',
        '    {"name": "animal", "parents": [], "score": 0.0, "margin": 0.0, "count": 10},',
    ]
    message = json.loads(path.read_text())
    assert (message["format"], message["version"]) == ("likewise label hierarchy", 1)
    assert message["labels"][3]["score"] is None


def test_json_that_people_write(file):
    labels = [{"name": "a", "parents": ["root"]}, {"name": "b", "parents": ["a"], "count": 2}, {"name": "c"}]
    path = file(json.dumps({"format": "likewise label hierarchy", "version": 1, "labels": labels}), "a.json")
    made = read_hierarchy(path)
    assert (made.edges, made.tops) == ((("a", "b"),), ("a", "c"))
    assert made.counts[1] == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": "x"}, 'not a label hierarchy; expected an object with "format"'),
        ({"version": 2}, "format version 2, but this version of likewise reads up to 1. Update likewise"),
        ({"version": "1"}, "the version is '1'"),
        ({"labels": {}}, '"labels" must be a list'),
        ({"labels": []}, "there are no labels"),
        ({"labels": ["a"]}, 'labels[0] is "a"; expected {"name"'),
        ({"labels": [{"name": 1}]}, "labels[0] is"),
        ({"labels": [{"name": "a", "parents": "b"}]}, "labels[0] is"),
        ({"labels": [{"name": "a"}, {"name": "a"}]}, "'a' occur(s) more than once"),
        ({"labels": [{"name": "a", "parents": ["b"]}]}, "there is no label 'b'"),
        ({"labels": [{"name": "a", "parents": ["a"]}]}, "its own parent"),
        ({"labels": [{"name": "a", "parents": ["b"]}, {"name": "b", "parents": ["a"]}]}, "'a' > 'b' > 'a'"),
        ({"labels": [{"name": "a", "score": "x"}]}, "the score of label 'a' is 'x'; expected a number"),
        ({"labels": [{"name": "a", "count": True}]}, "the count of label 'a' is True"),
    ],
)
def test_json_that_is_wrong(file, changed, message):
    whole = {"format": "likewise label hierarchy", "version": 1, "labels": [{"name": "a"}]}
    shown = bad(file(json.dumps(whole | changed), "a.json"))
    assert message in shown
    assert shown.startswith("a.json: ")


def test_truncated_json(file):
    assert "a.json:2: invalid JSON" in bad(file('{\n"format": ', "a.json"))
    assert "not a label hierarchy" in bad(file("[1]", "a.json"))
