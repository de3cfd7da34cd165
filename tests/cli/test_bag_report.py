"""Bags on the command line: read, clustered, reported bag by bag, drawn, and refused."""

import csv
import json

import numpy as np
import pytest

from likewise.cli._bag_report import BagReport, describe_sizes
from likewise.cli._methods import METHODS
from likewise.supervision import Bags, RowIds

# Three kinds of syllable in eight recordings; d4 of r4 lies among the owls, though nobody heard an owl there.
PLACES = {"wren": (0, 0), "owl": (9, 9), "finch": (0, 9)}
RECORDINGS = {
    "r1": "wren wren owl",
    "r2": "owl owl owl",
    "r3": "finch finch wren",
    "r4": "finch wren wren owl",
    "r5": "owl finch finch",
    "r6": "wren wren wren",
    "r7": "finch owl owl",
    "r8": "finch finch",
}
HELD = {bag: sorted(set(sung.split())) for bag, sung in RECORDINGS.items()} | {"r4": ["finch", "wren"]}


@pytest.fixture
def songs(tmp_path):
    """Write rows.csv and bags.csv, and return their folder."""
    lines = ["name,rec,kind,x,y"]
    rng = np.random.default_rng(0)
    for bag, sung in RECORDINGS.items():
        for letter, kind in zip("abcd", sung.split(), strict=False):
            x, y = np.round(np.array(PLACES[kind]) + rng.normal(scale=0.6, size=2), 3)
            lines.append(f"{letter}{bag[1]},{bag},{kind},{x},{y}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    told = [f"{bag},{';'.join(labels)}" for bag, labels in HELD.items()]
    (tmp_path / "bags.csv").write_text("\n".join(["bag,labels", *told]) + "\n")
    return tmp_path


ROWS = ("cluster", "rows.csv", "-k", 3, "--id", "name", "--truth", "kind")
BAGS = ("--bags", "bags.csv", "--bag-column", "rec")
BASE = (*ROWS, "--method", "bag-spectral", *BAGS)
LIGHTLY = ("--variant", "labelled", "--alpha", 0.01)  # features outweigh the labels of r4


def records(path):
    return list(csv.DictReader(path.read_text().splitlines()))


# ---------------------------------------------------------------------- the report by hand


def report_by_hand():
    bags = Bags.from_arrays(
        ["r2", "r2", "r1", "r1", None, "r3"], {"r2": ["wren", "owl"], "r1": ["wren", "finch"]}
    )
    labels, ids = np.array([0, 0, 1, 2, 0, 1]), RowIds.from_ids(list("abcdef"))
    return BagReport(bags, labels, ids, 3, ("wren", "owl", None))


def test_a_report_by_hand():
    report = report_by_hand()
    assert report.profile.tolist() == [[0, 1, 1], [2, 0, 0], [0, 1, 0]]  # r1, r2, r3
    assert report.strangers == [[2], [], []]  # an owl where there was none; d is of no class
    assert report.missing == [["finch", "wren"], ["owl"], []]
    assert report.unclaimed == ["finch"]
    assert report.n_rows == (2, 4)
    assert report.n_labels == (1, 4)
    assert report.find_doubtful() == [0, 1]
    assert [row["bag"] for row in report.make_rows()] == ["r2", "r1", "r3"]
    assert report.make_rows()[1] == {
        "bag": "r1",
        "rows": 2,
        "labels": ["finch", "wren"],
        "missing": ["finch", "wren"],
        "strangers": ["c"],
        "clusters": {"1": 1, "2": 1},
    }
    assert report.make_rows()[2]["labels"] is None
    assert report.make_columns() == {
        "bag": ["r2", "r1", "r3"],
        "rows": [2, 2, 1],
        "labels": ["owl;wren", "finch;wren", ""],
        "missing": ["owl", "finch;wren", ""],
        "strangers": ["", "c", ""],
        "cluster 0: wren": [2, 0, 0],
        "cluster 1: owl": [0, 1, 1],
        "cluster 2": [0, 1, 0],
    }
    assert report.format_lines() == [
        "bags        3, 2 of them labelled; 1 to 2 rows each; 1 row in no bag",
        "            2 of 4 rows in a cluster whose class is a label of their bag (50%)",
        "            1 of 4 labels of bags found in a row of the bag (25%)",
        "            no cluster stands for finch",
        "doubtful    bag  rows  labels      not found   also found",
        "            r1      2  finch;wren  finch;wren  owl",
        "            r2      2  owl;wren    owl",
    ]


def test_without_classes_only_the_counts_are_reported():
    whole = report_by_hand()
    report = BagReport(whole.bags, whole.labels, whole.ids, 3)
    assert report.format_lines() == ["bags        3, 2 of them labelled; 1 to 2 rows each; 1 row in no bag"]
    assert report.find_doubtful() == []
    assert report.as_dict()["labels_carried"] is None
    assert list(report.make_columns())[-3:] == ["cluster 0", "cluster 1", "cluster 2"]


def test_long_tables_of_doubt_are_cut():
    bags = Bags.from_arrays([f"r{i}" for i in range(15)], {f"r{i}": ["x" * 40] for i in range(15)})
    report = BagReport(bags, np.zeros(15, dtype=np.int64), RowIds.from_row_numbers(15), 1, ("y",))
    lines = report.format_lines()
    assert lines[-1] == "            and 5 more; --bag-report and --json list all bags"
    assert len([line for line in lines if "…" in line]) == 10
    assert describe_sizes(bags) == "1 row each"


# ---------------------------------------------------------------------- clustering


def test_bags_are_clustered_and_reported(run, songs):
    result = run(*BASE, *LIGHTLY, "--out", "l.csv", "--bag-report", "r.csv")
    message = result.stderr
    assert "hints       8 bag(s), 8 of them labelled, about 24 rows" in message
    assert "23 of 24 rows in a cluster whose class is a label of their bag (96%)" in message
    assert "doubtful    bag  rows" in message
    assert "r4      4  finch;wren" in message
    assert "all rows    ARI 1.000" in message
    assert "wrote r.csv" in message
    table = records(songs / "r.csv")
    assert [row["bag"] for row in table] == list(RECORDINGS)
    assert table[3]["strangers"] == "d4"
    (owls,) = [name for name in table[0] if name.endswith(": owl")]
    assert [row[owls] for row in table] == ["1", "3", "0", "1", "1", "0", "2", "0"]


def test_json_has_every_bag(run, songs):
    document = json.loads(run(*BASE, *LIGHTLY, "--json").stdout)
    assert sorted(document["classes"]) == ["finch", "owl", "wren"]
    bags = document["bags"]
    assert (bags["bags"], bags["labelled"]) == (8, 8)
    assert bags["classes"] == document["classes"]
    assert bags["rows_in_a_class_of_their_bag"] == [23, 24]
    assert [row["bag"] for row in bags["report"]] == list(RECORDINGS)
    assert bags["report"][3]["strangers"] == ["d4"]
    assert sum(sum(row["clusters"].values()) for row in bags["report"]) == 24
    assert document["hints"]["bags"] == 8
    assert document["bag_file"] == "bags.csv"


def test_the_profile_is_that_of_the_estimator(songs):
    from likewise.supervision import read_bags

    data = read_bags(songs / "rows.csv", songs / "bags.csv", bag="rec", label="kind", id="name")
    model = METHODS["bag-spectral"].estimator(3, random_state=0).fit(data.X, supervision=data.supervision)
    report = BagReport(data.supervision.bags, model.labels_, data.ids, 3, tuple(model.class_of_cluster_))
    np.testing.assert_array_equal(report.profile, model.bag_profile_)
    assert set(report.classes) == {"wren", "owl", "finch"}


def test_the_column_of_bags_is_no_feature_and_called_bag_by_default(run, songs):
    (songs / "rows.csv").write_text((songs / "rows.csv").read_text().replace("rec", "bag", 1))
    words = [*ROWS, "--method", "bag-spectral", "--bags", "bags.csv", "--json"]
    assert json.loads(run(*words).stdout)["features"] == ["x", "y"]


def test_some_bags_and_rows_may_say_nothing(run, songs):
    lines = (songs / "bags.csv").read_text().splitlines()
    (songs / "bags.csv").write_text("\n".join([*lines[:4], *lines[5:7]]) + "\n")
    text = (songs / "rows.csv").read_text().replace("b8,r8", "b8,")
    (songs / "rows.csv").write_text(text)
    message = run(*BASE).stderr
    assert "8, 5 of them labelled; 1 to 4 rows each; 1 row in no bag" in message


def test_bags_that_nobody_labelled_say_nothing(run, songs):
    result = run(*ROWS, "--method", "bag-spectral", "--bag-column", "rec", "--json", "--plot", "p.png")
    document = json.loads(result.stdout)
    assert "none of the 8 bags has labels" in "".join(document["notes"])
    assert document["classes"] == document["bags"]["classes"] == []
    assert document["bags"]["report"][0]["labels"] is None
    assert (songs / "p.png").exists()


def test_a_file_of_hints_may_hold_the_bags(run, songs):
    whole = json.loads(run(*BASE, "--json").stdout)
    rows = records(songs / "rows.csv")
    told = [f"{row['name']},{row['rec']},{';'.join(HELD[row['rec']])}" for row in rows]
    (songs / "hints.csv").write_text("\n".join(["id,bag,labels", *told]) + "\n")
    words = [*ROWS, "--drop", "rec", "--method", "bag-spectral", "--hints", "hints.csv", "--json"]
    document = json.loads(run(*words).stdout)
    assert document["labels"] == whole["labels"]
    assert document["bags"] == whole["bags"]


@pytest.mark.parametrize("method", ["spectral-learning", "spectral-reg", "kernel-k-means", "pck-means"])
def test_methods_for_links_take_bags_as_links(run, songs, method):
    words = [*ROWS, "--method", method, *BAGS]
    message = run(*words, code=1).stderr
    assert f"--method {method} does not use bags" in message
    assert "These methods use them: bag-spectral" in message
    assert "add --as-links" in message
    if method == "spectral-reg":
        message = run(*words, "--as-links", code=1).stderr
        assert "--drop-cannot leaves them out; --method spectral-learning and --method flexible" in message
        words.append("--drop-cannot")
    result = run(*words, "--as-links", "--bag-report", "r.csv", "--json")
    document = json.loads(result.stdout)
    assert document["scores"]["all"]["ari"] > 0.8
    assert len(document["bags"]["report"]) == 8
    assert document["bags"]["classes"] == []


def test_more_clusters_than_classes_make_no_must_links(run, songs):
    words = [
        "cluster",
        "rows.csv",
        "--id",
        "name",
        "--truth",
        "kind",
        "--method",
        "pck-means",
        *BAGS,
        "--as-links",
    ]
    three = json.loads(run(*words, "-k", 3, "--json").stdout)["hints"]
    four = json.loads(run(*words, "-k", 4, "--json").stdout)["hints"]
    assert three["must_groups"] == 3
    assert four["must"] == four["must_groups"] == 0
    assert four["cannot"] > 0


def test_options_of_the_graph_reach_the_method(run, songs):
    words = [*BASE, "--affinity", "neighbors", "--neighbors", 5, "--alpha", 2, "--variant", "exact", "--json"]
    document = json.loads(run(*words).stdout)
    asked = {name: document[name] for name in ("affinity", "n_neighbors", "alpha", "variant")}
    assert asked == {"affinity": "neighbors", "n_neighbors": 5, "alpha": 2.0, "variant": "exact"}
    assert document["scores"]["all"]["ari"] == 1.0


# ---------------------------------------------------------------------- the picture


def test_the_picture_shows_examples(run, songs, monkeypatch):
    from likewise.plotting import BagDisplay

    drawn = []
    save = BagDisplay.save
    monkeypatch.setattr(BagDisplay, "save", lambda self, path: (drawn.append(self), save(self, path)))
    run(*BASE, "--out", "l.csv", "--plot", "p.png")
    run(*BASE, "--standardize", "--out", "l.csv", "--plot", "p.svg", "--image-shape", "1x2")
    assert (songs / "p.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (songs / "p.svg").read_bytes()
    assert [display.image_shape for display in drawn] == [None, (1, 2)]
    np.testing.assert_array_equal(drawn[1].X, drawn[0].X)  # images are not scaled
    assert set(drawn[0].examples_) == {"wren", "owl", "finch"}
    assert drawn[0].axes_[0].get_title() == "bag-spectral, 3 clusters"
    assert drawn[0].axes_[0].get_xlabel() == "x"


def test_an_image_shape_that_does_not_fit(run, songs):
    assert "2 features of a row" in run(*BASE, "--plot", "p.png", "--image-shape", "3x3", code=1).stderr
    assert not (songs / "p.png").exists()


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*BASE, "--plot", "p.png", "--image-shape", "8by8"), "such as 8x8; got '8by8'"),
        ((*BASE, "--image-shape", "1x2"), "--image-shape is for --plot with --method bag-spectral"),
        ((*ROWS, "--drop", "rec", "--bag-report", "r.csv"), "--bag-report needs bags"),
        ((*ROWS, "--method", "k-means", *BAGS), "uses no hints; leave --hints and --bags out"),
        ((*ROWS, "--bags", "bags.csv"), "has no column 'bag'"),
        ((*ROWS, *BAGS, "--drop", "rec"), "is given for --bag-column too"),
        ((*BASE, "--bag-report", "r.txt"), "expected a file name that ends with"),
        ((*BASE, "--bag-report", "bags.csv"), "is also a file that is read"),
        ((*BASE, "--max-iter", "5"), "--max-iter is for iterative methods"),
        (
            (*ROWS, *BAGS, "--alpha", "1"),
            "--alpha is for clustering from bags (bag-spectral), not for mpck-means",
        ),
        ((*ROWS, *BAGS, "--affinity", "rbf"), "--affinity is for spectral methods (bag-spectral, spectral-"),
    ],
)
def test_usage_errors(run, songs, words, message):
    before = sorted(songs.iterdir())
    assert message in run(*words, code=2).stderr
    assert sorted(songs.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file 'bags.csv'."),
        ("", "bags.csv is empty"),
        ("bag,labels\nr9,owl\n", "bags.csv:2: bag 'r9' has labels, but no row is in it."),
        ("bag,labels\nr9,owl\n", "The bags of the rows are in the column 'rec'."),
        ("bag,labels\nr1,\n", "bags.csv:2: bag 'r1' has no labels."),
        ("bag,labels\nr1,owl\nr1,wren\n", "bags.csv:3: bag 'r1' has the labels wren, but owl on line 2."),
        ("bag,labels\nr1,\xe9\n".encode("latin-1"), "--hints-encoding latin-1 or --hints-encoding cp1252"),
        ("id,bag,labels\na1,r1,owl\n", "give it as --hints"),
    ],
)
def test_bad_tables_of_bags_stop_everything(run, songs, content, message):
    (songs / "bags.csv").unlink()
    if content is not None:
        (songs / "bags.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run(*BASE, "--out", "l.csv", code=1)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (songs / "l.csv").exists()


def test_other_bad_bags(run, songs):
    (songs / "bags.txt").write_text("bag,labels\n")
    words = [*ROWS, "--method", "bag-spectral", "--bag-column", "rec", "--bags", "bags.txt"]
    assert "expected a file that ends with .csv or .parquet" in run(*words, code=1).stderr
    (songs / "rows.csv").write_text("name,rec,kind,x\na,,owl,1\nb,,wren,2\n")
    assert "no row is in a bag" in run(*BASE[:3], 2, *BASE[4:], code=1).stderr
    (songs / "rows.csv").write_text("name,rec,kind,x\na,1.0,owl,1\nb,2.0,wren,2\n")
    (songs / "bags.csv").write_text("bag,labels\n1,owl\n")
    assert "there are rows in bag '1.0'" in run(*BASE[:3], 2, *BASE[4:], code=1).stderr


def test_a_table_of_bags_is_no_file_of_hints(run, songs):
    words = [*ROWS, "--drop", "rec", "--hints", "bags.csv"]
    assert "give it as --bags" in run(*words, code=1).stderr


def test_more_labels_than_rows_is_a_note(run, songs):
    text = (songs / "bags.csv").read_text().replace("r8,finch", "r8,finch;owl;wren")
    (songs / "bags.csv").write_text(text)
    assert "note: bags.csv: 1 bag(s) have more labels than rows: 'r8' (3 for 2)" in run(*BASE).stderr


def test_a_column_called_bag_that_is_a_feature_is_noted(run, songs):
    (songs / "rows.csv").write_text("bag,x\n1,0\n1,1\n2,9\n2,8\n")
    words = ["cluster", "rows.csv", "-k", 2, "--method", "k-means"]
    assert "If it identifies bags, pass --bag-column bag." in run(*words).stderr


# ---------------------------------------------------------------------- other commands


def test_check_looks_through_bags(run, songs):
    words = ["check", "bags.csv", "rows.csv", "--bag-column", "rec", "--id", "name", "--truth", "kind"]
    message = run(*words).stdout
    assert "bags        8, 8 of them labelled" in message
    assert "2 to 4 rows each" in message
    assert (
        "bag labels  3 class(es), 1.6 per bag on average; 3 bag(s) with one label; 6 different sets"
        in message
    )
    found = json.loads(run(*words, "--json").stdout)["bags"]
    assert (found["classes"], found["in_one_bag_only"]) == (3, [])
    (songs / "bags.csv").write_text("bag,labels\nr1,owl;wren\nr2,owl;finch\n")
    assert "in one bag only: finch, wren" in run(*words).stdout


def test_choose_says_that_it_takes_no_bags(run, songs):
    for words in (["--bags", "bags.csv"], ["--bag-column", "rec"]):
        message = run("choose", "rows.csv", "hints.csv", *words, code=2).stderr
        assert "likewise choose does not support bags" in message
    assert "--bags" not in run("choose", "--help").output


def test_help_shows_how_bags_are_given(run):
    assert "--method bag-spectral --bags bags.csv --bag-column bag" in run("cluster", "--help").output
