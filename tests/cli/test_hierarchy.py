"""``likewise hierarchy``: the tree, the suggestions, the files, and errors."""

import csv
import io
import json
import re
import sys

import numpy as np
import pytest

from likewise.cli._tree_report import SHOWN, format_least_sure, format_tree
from likewise.hierarchy import LabelHierarchy, read_hierarchy

PARENTS = {"animal": None, "bird": "animal", "owl": "bird", "wren": "bird", "tool": None, "saw": "tool"}
WORDS = {
    **{"animal": "alive breathes", "bird": "wings feathers", "owl": "night hoots", "wren": "tiny song"},
    **{"tool": "handle work", "saw": "teeth wood"},
}
N = 200


def path_of(label):
    return [label, *path_of(PARENTS[label])] if label else []


@pytest.fixture(scope="module")
def world():
    """Draw items with a text of the words of their labels, and tags of which a fifth is missing."""
    rng = np.random.RandomState(0)
    leaves = ["owl", "wren", "saw", "animal", "tool"]
    labels_of_rows = [path_of(leaves[k]) for k in rng.randint(len(leaves), size=N)]
    texts = [" ".join(word for label in labels for word in WORDS[label].split()) for labels in labels_of_rows]
    tags = [
        (f"i{i}", label) for i, labels in enumerate(labels_of_rows) for label in labels if rng.rand() > 0.2
    ]
    return {"labels": labels_of_rows, "texts": texts, "tags": tags, "X": rng.normal(size=(N, 3))}


@pytest.fixture
def items(world, tmp_path):
    """Write items.csv with text and a number, tags.csv with one tag a line, and the true tree."""
    rows = [
        f"i{i},{text},{x:.3f}\n"
        for i, (text, x) in enumerate(zip(world["texts"], world["X"][:, 0], strict=True))
    ]
    (tmp_path / "items.csv").write_text("id,description,price\n" + "".join(rows))
    (tmp_path / "tags.csv").write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in world["tags"]))
    edges = "".join(f"{parent or 'root'},{child}\n" for child, parent in PARENTS.items())
    (tmp_path / "truth.csv").write_text("parent,child\n" + edges)
    return tmp_path


BASE = ("hierarchy", "items.csv", "--labels", "tags.csv", "--text", "description", "--features-from", "words")


def parents_in(document):
    return {one["label"]: one["parents"] for one in document["labels"]}


TRUE = {label: [parent] if parent else [] for label, parent in PARENTS.items()}


# ---------------------------------------------------------------------- what it gives


def test_the_command_of_the_issue(run, items, world):
    result = run(*BASE, "--out", "tree.json", "--plot", "tree.png", "--suggest", "suggestions.csv")
    assert f"{N} rows, 6 labels, {len(world['tags'])} tags" in result.stdout
    assert "one tag per line in 'label', ids in 'id'" in result.stdout
    assert "learned from 12 words of 'description'" in result.stdout
    assert "rows are named by 'id'" in result.stdout
    assert re.search(r"missing rate about 0\.[12]\d", result.stdout)
    assert "note: not used: price." in result.stderr
    tree = read_hierarchy(items / "tree.json")
    assert {child: parent for parent, child in tree.edges} == {c: p for c, p in PARENTS.items() if p}
    assert tree.margins is not None
    assert (items / "tree.png").read_bytes().startswith(b"\x89PNG")
    recorded = set(world["tags"])
    with open(items / "suggestions.csv") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "label", "probability"]
    assert not {(row["id"], row["label"]) for row in rows} & recorded
    missing = {(f"i{i}", label) for i, labels in enumerate(world["labels"]) for label in labels} - recorded
    likely = {(row["id"], row["label"]) for row in rows if float(row["probability"]) > 0.5}
    assert len(likely & missing) > 0.9 * len(missing)
    assert len(likely & missing) > 0.9 * len(likely)


def test_suggestions_are_cut_by_number_and_by_probability(run, items):
    run(*BASE, "--suggest", "s.csv", "--top", 2, "--quiet")
    rows = list(csv.DictReader(io.StringIO((items / "s.csv").read_text())))
    per_row = [row["id"] for row in rows]
    assert max(map(per_row.count, set(per_row))) == 2
    first = [float(row["probability"]) for row in rows if row["id"] == per_row[0]]
    assert first == sorted(first, reverse=True)
    result = run(*BASE, "--suggest", "s.jsonl", "--at-least", 0.9)
    kept = [json.loads(line) for line in (items / "s.jsonl").read_text().splitlines()]
    assert kept
    assert min(one["probability"] for one in kept) >= 0.9
    assert f"{len(kept)} suggestions for" in result.stdout


def test_the_tree_is_printed_with_how_sure_it_is(run, items):
    shown = run(*BASE, "--truth", "truth.csv").stdout
    assert re.search(
        r"^  animal  \(\d+\)  .*\n    bird  \(\d+\)  .*\n      (owl|wren)  ", shown, re.MULTILINE
    )
    assert "least certain:" in shown
    assert re.search(r"  \w+ under (\w+|the root): [\d.,]+\n", shown)
    assert "against the truth: Robinson-Foulds distance 0, ancestor F1 1.000" in shown


def test_json_has_everything(run, items, world):
    result = run(*BASE, "--json", "--truth", "truth.csv", "--suggest", "s.csv", "--seed", 3)
    document = json.loads(result.stdout)
    assert parents_in(document) == TRUE
    assert (document["n_rows"], document["n_labels"], document["n_tags"]) == (N, 6, len(world["tags"]))
    assert document["robinson_foulds"] == 0
    assert document["ancestor_f1"] == 1
    assert document["seed"] == 3
    assert document["wrote"] == ["s.csv"]
    assert document["n_suggested"] == len((items / "s.csv").read_text().splitlines()) - 1
    for one in document["labels"]:
        assert one["recorded"] == sum(label == one["label"] for _, label in world["tags"])
        assert one["held"] >= one["recorded"] - 1e-6
        assert 0 <= one["missing_rate"] < 1
    assert result.stderr == ""


def test_the_same_command_gives_the_same_tree(run, items):
    assert run(*BASE, "--json").stdout == run(*BASE, "--json").stdout


def test_quiet_says_nothing(run, items):
    result = run(*BASE, "--quiet", "--out", "tree.csv")
    assert result.stdout == result.stderr == ""
    assert (items / "tree.csv").exists()


@pytest.mark.parametrize("name", ["t.json", "t.csv", "t.nwk", "t.newick"])
def test_the_tree_goes_to_any_format(run, items, name):
    run(*BASE, "--out", name, "--quiet")
    assert len(read_hierarchy(items / name).edges) == 4


def test_pictures_and_pages(run, items):
    run(
        *BASE,
        "--plot",
        "t.html",
        "--html",
        "u.html",
        "--missing-plot",
        "m.png",
        "--missing-rate",
        "per-label",
    )
    page = (items / "t.html").read_text()
    assert page == (items / "u.html").read_text()
    assert "<b>wren</b>" in page
    assert (items / "m.png").read_bytes().startswith(b"\x89PNG")
    run(*BASE, "--plot", "t.svg", "-q")
    assert b"<svg" in (items / "t.svg").read_bytes()


def test_a_long_picture_is_reported(run, items, monkeypatch):
    monkeypatch.setattr("likewise.cli.hierarchy._READS_BADLY", 5)
    assert "an HTML page is easier to read: --plot t.html" in run(*BASE, "--plot", "t.pdf").stderr
    assert "reads better" not in run(*BASE, "--plot", "t.html").stderr


def test_letters_that_the_font_lacks_are_one_note(run, items):
    tags = (items / "tags.csv").read_text().replace("owl", "梟木").replace("wren", "鷦鷯")
    (items / "tags.csv").write_text(tags, encoding="utf-8")
    output = run(*BASE, "--plot", "t.png").stderr
    assert "the font of the picture lacks 4 character(s); --html shows all of them" in output
    assert "Glyph" not in output


def test_too_few_iterations_are_reported_by_the_option(run, items):
    output = run(*BASE, "--max-iter", 1).stderr
    assert "did not converge in 1 iterations; increase --max-iter" in output


def test_items_from_stdin_and_tags_from_parquet(run, items):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = list(csv.DictReader(io.StringIO((items / "tags.csv").read_text())))
    columns = {"id": [int(row["id"][1:]) for row in rows], "label": [row["label"] for row in rows]}
    parquet.write_table(pyarrow.table(columns), items / "tags.parquet")
    data = re.sub(r"^i(\d+),", r"\1,", (items / "items.csv").read_text(), flags=re.MULTILINE)
    words = ("hierarchy", "-", "--labels", "tags.parquet", "--text", "description", "--json")
    assert parents_in(json.loads(run(*words, input=data).stdout)) == TRUE


# ---------------------------------------------------------------------- what is known beforehand


def test_a_given_tree_is_kept(run, items):
    (items / "given.csv").write_text(
        "parent,child\nroot,animal\nroot,bird\nanimal,owl\nbird,wren\nroot,tool\nroot,saw\ntool,axe\n"
    )
    result = run(*BASE, "--hierarchy", "given.csv", "--json")
    document = json.loads(result.stdout)
    assert parents_in(document) == {**TRUE, "bird": [], "owl": ["animal"], "saw": []}
    assert all(one["margin"] is None for one in document["labels"])
    assert document["notes"] == [
        "not used: price. Give columns of numbers with --features, text with --text.",
        "1 label(s) of given.csv are never used and are left out: 'axe'.",
    ]
    assert "given" in run(*BASE, "--hierarchy", "given.csv").stdout


def test_fixed_and_forbidden_edges_are_kept(run, items):
    (items / "fixed.csv").write_text("parent,child,why\nanimal,owl,asked\n,saw,asked\n")
    (items / "forbidden.csv").write_text("parent,child\nbird,wren\nroot,bird\n")
    words = (*BASE, "--fixed", "fixed.csv", "--forbidden", "forbidden.csv", "--json")
    found = parents_in(json.loads(run(*words).stdout))
    assert found["owl"] == ["animal"]
    assert found["saw"] == []
    assert found["wren"] != ["bird"]
    assert found["bird"] != []


def test_a_label_called_root_is_a_label(run, items):
    text = (items / "tags.csv").read_text().replace(",tool", ",root")
    (items / "tags.csv").write_text(text)
    (items / "fixed.csv").write_text("parent,child\nroot,saw\n,animal\n")
    found = parents_in(json.loads(run(*BASE, "--fixed", "fixed.csv", "--json").stdout))
    assert found["saw"] == ["root"]
    assert found["animal"] == []


def test_missing_rates_shared_by_label_and_given(run, items):
    shared = json.loads(run(*BASE, "--json").stdout)
    assert len({one["missing_rate"] for one in shared["labels"]}) == 1
    same = json.loads(run(*BASE, "--json", "--missing-rate", "shared").stdout)
    assert same["missing_rate"] == shared["missing_rate"]
    own = json.loads(run(*BASE, "--json", "--missing-rate", "per-label").stdout)
    assert len({one["missing_rate"] for one in own["labels"]}) > 1
    given = json.loads(run(*BASE, "--json", "--missing-rate", 0.3).stdout)
    assert given["missing_rate"] == 0.3
    assert "missing rate 0.30, as given" in run(*BASE, "--missing-rate", 0.3).stdout
    assert re.search(r"from 0\.\d+ to 0\.\d+ by label", run(*BASE, "--missing-rate", "per-label").stdout)


def test_a_dag_runs(run, items):
    document = json.loads(run(*BASE, "--structure", "dag", "--json", "--plot", "t.png").stdout)
    assert document["structure"] == "dag"
    assert "cannot contain a dag" in run(*BASE, "--structure", "dag", "--out", "t.nwk", code=2).stderr


# ---------------------------------------------------------------------- what is learned from


def test_embeddings_columns_and_text(run, items, world):
    np.save(items / "e.npy", world["X"])
    np.save(items / "E.NPY.npy", np.hstack([world["X"], world["X"]]))
    base = ("hierarchy", "items.csv", "--labels", "tags.csv", "--json")
    one = json.loads(run(*base, "--features", "e.npy").stdout)
    assert one["features"] == ["3 numbers per row from e.npy"]
    assert any("not used: description, price" in note for note in one["notes"])
    words = ("--text", "description", "--features-from", "words")
    both = json.loads(run(*base, "--features", "price,e.npy", *words).stdout)
    assert both["n_features"] == 1 + 3 + 12
    assert both["notes"] == []
    numbers = json.loads(run(*base, "--drop", "description", "--standardize").stdout)
    assert numbers["features"] == ["1 column(s) of numbers"]
    two = json.loads(run(*base, *words, "--text", "price", "--components", 4).stdout)
    assert two["n_features"] == 4
    assert re.fullmatch(r"4 components of [\d,]+ words of 'description' and 'price'", two["features"][0])


def test_labels_in_columns_of_the_data(run, tmp_path, world):
    names = list(PARENTS)
    tags = set(world["tags"])
    lines = [
        ",".join([f"{x:.3f}" for x in row] + [str(int((f"i{i}", name) in tags)) for name in names])
        for i, row in enumerate(world["X"])
    ]
    (tmp_path / "wide.csv").write_text("x,y,z," + ",".join(names) + "\n" + "\n".join(lines) + "\n")
    document = json.loads(run("hierarchy", "wide.csv", "--label-columns", ",".join(names), "--json").stdout)
    assert parents_in(document) == TRUE
    assert document["n_features"] == 3
    assert document["layout"] == "columns of 0 and 1"
    shown = run("hierarchy", "wide.csv", "--label-columns", ",".join(names)).stdout
    assert "tags in the data: columns of 0 and 1; rows are numbered from 0" in shown
    output = run("hierarchy", "wide.csv", "--label-columns", "x,bird", code=1).stderr
    assert "in the label column 'x'; got" in output
    output = run("hierarchy", "wide.csv", "--label-columns", "brid", code=2).stderr
    assert "did you mean 'bird'" in output


def test_a_label_that_is_never_used_is_left_out(run, items, world):
    tags = set(world["tags"])
    names = [*PARENTS, "unicorn"]
    lines = [",".join([f"i{i}", *(str(int((f"i{i}", name) in tags)) for name in names)]) for i in range(N)]
    (items / "tags.csv").write_text("id," + ",".join(names) + "\n" + "\n".join(lines) + "\n")
    (items / "fixed.csv").write_text("parent,child\nanimal,unicorn\nbird,owl\n")
    document = json.loads(run(*BASE, "--fixed", "fixed.csv", "--json").stdout)
    assert document["unused_labels"] == ["unicorn"]
    assert parents_in(document) == TRUE
    assert "1 label(s) are never used and are left out: 'unicorn'." in document["notes"]
    assert "1 edge(s) of fixed.csv with labels that are never used are left out." in document["notes"]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (
            ("--label-columns", "price"),
            "either as a file with --labels or as columns of DATA with --label-columns",
        ),
        (("--hierarchy", "truth.csv", "--fixed", "truth.csv"), "--hierarchy fixes the whole tree"),
        (("--separator", ""), "got an empty --separator"),
        (("--missing-rate", "often"), "expected auto, shared, per-label or a rate such as 0.2"),
        (("--missing-rate", "1"), "expected auto, shared, per-label or a rate such as 0.2"),
        (("--missing-rate", "nan"), "expected auto, shared, per-label or a rate such as 0.2"),
        (("--out", "tree.txt"), "expected a file name that ends with .json"),
        (("--plot", "tree.gif"), "expected a file name that ends with"),
        (("--html", "tree.png"), "expected a file name that ends with"),
        (("--missing-plot", "m.html"), "expected a file name that ends with"),
        (("--suggest", "s.xlsx"), "expected a file name that ends with"),
        (("--out", "truth.csv", "--truth", "truth.csv"), "is also a file that is read"),
        (("--out", "t.csv", "--suggest", "t.csv"), "is also the file of --out"),
        (("--text", "descripton"), "did you mean 'description'"),
        (("--text", "description"), "the column 'description' is given twice"),
        (("--drop", "description"), "the column 'description' is given for --text too"),
        (("--id", "price", "--features", "price"), "the column 'price' is given for --id too"),
        (("--top", 0), "--top"),
    ],
)
def test_usage_errors(run, items, words, output):
    before = sorted(items.iterdir())
    assert output in run(*BASE, *words, code=2).stderr
    assert sorted(items.iterdir()) == before


@pytest.mark.parametrize(("package", "words"), [("jinja2", "--html t.html"), ("matplotlib", "--plot t.png")])
def test_a_missing_package_is_reported_before_the_fit(run, items, monkeypatch, package, words):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("likewise.cli.hierarchy._read_labels", lambda *_: pytest.fail("read the labels"))
    assert "likewise[plot]" in run(*BASE, *words.split(), code=1).stderr


def test_the_tags_must_be_somewhere(run, items):
    assert "--label-columns" in run("hierarchy", "items.csv", "--text", "description", code=2).stderr


def run_refused(run, *words):
    result = run(*BASE, *words, code=1)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return result.stderr


def test_files_that_are_not_there(run, items):
    assert "there is no file 'no.npy'" in run_refused(run, "--features", "no.npy")
    assert "there is no file 'no.csv'" in run_refused(run, "--truth", "no.csv")
    assert "there is no folder 'no'" in run_refused(run, "--out", "no/tree.json")


def test_ids_that_no_item_has_are_named(run, items):
    with open(items / "tags.csv", "a") as file:
        file.write("i9999,owl\nI5,owl\nother,saw\ni9999,saw\n")
    output = run_refused(run)
    n_lines = len((items / "tags.csv").read_text().splitlines())
    assert f"tags.csv:{n_lines - 3}: no row has the id 'i9999'" in output
    assert "3 of the" in output
    assert "are not in the column 'id' of items.csv: 'i9999', 'I5', 'other'." in output


def test_without_shared_ids_rows_are_numbers(run, items):
    text = (items / "tags.csv").read_text().replace("id,label", "item,label")
    (items / "tags.csv").write_text(text)
    assert "pass --id" in run_refused(run)
    assert "6 labels" in run(*BASE, "--id", "id").stdout
    (items / "tags.csv").write_text(text.replace("\ni", "\n"))
    assert "rows are numbered from 0" in run(*BASE).stdout


def test_text_that_is_not_there(run, items):
    lines = (items / "items.csv").read_text().splitlines()
    empty = [lines[0], *(re.sub(",.*,", ",,", line) for line in lines[1:])]
    (items / "items.csv").write_text("\n".join(empty) + "\n")
    assert "every cell of 'description' is empty; there is no text to learn from" in run_refused(run)
    (items / "items.csv").write_text("\n".join(empty).replace(",,", ",- ?,") + "\n")
    assert "no cell of 'description' contains a word" in run_refused(run)
    (items / "items.csv").write_text("\n".join([*lines[:-3], *empty[-3:]]) + "\n")
    assert "3 rows have no text in 'description'" in run(*BASE).stderr


def test_wrong_encodings_name_the_right_option(run, items):
    tags = (items / "tags.csv").read_text().replace("owl", "chouette hulotte é")
    (items / "tags.csv").write_bytes(tags.encode("latin-1"))
    assert "--labels-encoding latin-1" in run_refused(run)
    assert "é" in run(*BASE, "--labels-encoding", "latin-1").stdout
    text = (items / "items.csv").read_text().replace("night", "nuit à")
    (items / "items.csv").write_bytes(text.encode("latin-1"))
    output = run_refused(run, "--labels-encoding", "latin-1")
    assert "pass --encoding latin-1" in output
    run(*BASE, "--labels-encoding", "latin-1", "--encoding", "latin-1")


def test_embeddings_that_do_not_fit(run, items, world):
    np.save(items / "short.npy", world["X"][:7])
    assert f"short.npy: expected one row for each of the {N}" in run_refused(run, "--features", "short.npy")
    X = world["X"].copy()
    X[3, 1] = np.nan
    np.save(items / "gap.npy", X)
    assert "gap.npy, row 3, column 1 (counted from 0): expected a finite number; got nan" in run_refused(
        run, "--features", "gap.npy"
    )
    np.save(items / "line.npy", X[:, 0])
    assert "expected an array of numbers of shape (rows, features)" in run_refused(
        run, "--features", "line.npy"
    )


def test_nothing_to_learn_from(run, items):
    base = ("hierarchy", "items.csv", "--labels", "tags.csv")
    output = run(*base, code=1).stderr
    assert "the column 'description' is not numeric" in output
    assert "pass --text 'description'" in output
    assert "has no column left to learn from" in run(*base, "--drop", "description,price", code=1).stderr


def test_trees_that_do_not_fit(run, items):
    (items / "less.csv").write_text("parent,child\nroot,animal\nanimal,brid\n")
    output = run_refused(run, "--hierarchy", "less.csv")
    assert "5 of the 6 labels of the tags are not in it: 'bird', 'owl'" in output
    assert "Did you mean 'brid'?" in output
    assert "are not in it" in run_refused(run, "--truth", "less.csv")
    (items / "round.csv").write_text("parent,child\nanimal,bird\nbird,animal\n")
    assert "animal" in run_refused(run, "--hierarchy", "round.csv")
    (items / "tree.txt").write_text("x")
    assert "expected a file that ends with .json" in run_refused(run, "--hierarchy", "tree.txt")


@pytest.mark.parametrize(
    ("option", "text", "output"),
    [
        ("--fixed", "parent,child\nanimal,howl\n", "e.csv:2: no tag is 'howl'. Did you mean 'owl'?"),
        ("--fixed", "up,down\na,b\n", "there is no column 'parent' and none 'child'"),
        ("--fixed", "parent,child\nanimal,\n", "e.csv:2: expected a label as the child"),
        ("--fixed", "parent,child\nanimal,root\n", "e.csv:2: the child is the root"),
        ("--fixed", "parent,child\nanimal,owl\nbird,owl\n", "two fixed parents"),
        ("--fixed", "parent,child\nanimal,owl\nowl,animal\n", "animal"),
        ("--forbidden", "parent,child\nowl,owl\n", "its own parent"),
    ],
)
def test_edges_that_cannot_be(run, items, option, text, output):
    (items / "e.csv").write_text(text)
    assert output in run_refused(run, option, "e.csv")


# ---------------------------------------------------------------------- the printed tree


def test_a_rate_that_nothing_tells_is_called_a_guess(run, items):
    (items / "tags.csv").write_text("id,label\n" + "".join(f"i{i},owl\n" for i in range(0, N, 3)))
    shown = run(*BASE).stdout
    assert f"{N} rows, 1 label, " in shown
    assert "a guess, because no edge is certain enough" in shown
    assert "a guess" not in run(*BASE, "--missing-rate", 0.1).stdout


def test_a_large_tree_is_cut_at_a_depth():
    tree = LabelHierarchy.from_parents([-1] * 10 + [k // 9 for k in range(90)])
    lines = format_tree(tree)
    assert len(lines) == 11
    assert lines[0] == "0  … 9 more below"
    assert lines[-1] == "(100 labels; --all shows the whole tree)"
    assert len(format_tree(tree, whole=True)) == 100
    assert format_tree(tree, whole=True)[:3] == ["0", "  10", "  11"]


def test_a_large_star_is_cut_too():
    lines = format_tree(LabelHierarchy(list(map(str, range(SHOWN + 7)))))
    assert lines[SHOWN - 1 :] == [
        str(SHOWN - 1),
        "… 7 more on this level",
        "(47 labels; --all shows the whole tree)",
    ]
    whole = LabelHierarchy(list(map(str, range(SHOWN))))
    assert format_tree(whole) == list(whole.names)


def test_what_a_line_says():
    tree = LabelHierarchy(
        ["a", "b", "c\nd"],
        [("a", "c\nd"), ("b", "c\nd")],
        margins=[np.inf, 12.34, 0.5],
        counts=[1234, 2.6, np.nan],
    )
    assert format_tree(tree) == [
        "a  (1,234)  given",
        "  c d  uncertain +0.5  also under b",
        "b  (3)  certain +12.3",
    ]
    assert format_least_sure(tree) == ["c\nd under a and b: 0.5", "b under the root: 12.3"]
    assert format_least_sure(LabelHierarchy(["a"])) == []


def test_the_tree_goes_to_stdout_and_the_rest_to_stderr(run, items):
    result = run(*BASE, "--out", "-")
    run(*BASE, "--out", "tree.json", "--quiet")
    assert result.stdout == (items / "tree.json").read_text()
    assert result.stderr
    assert run(*BASE, "--out", "-", "--quiet").stderr == ""
    assert "both write to stdout" in run(*BASE, "--out", "-", "--json", code=2).stderr
