"""``likewise check``: the diagnosis by ids, and its exit code."""

import json

import pytest


def test_good_hints(run, files):
    result = run("check", "hints.csv", "data.csv", "--id", "name")
    assert "6 rows; 3 of them have hints (50%)" in result.stdout
    assert "links       1 must, 1 cannot" in result.stdout
    assert "conflicts   none" in result.stdout
    assert "coherent" in result.stdout
    assert result.stderr == ""


def test_contradictions_show_the_chain_by_id_and_exit_1(run, files):
    (files / "hints.csv").write_text("a,b,link\na1,a2,must\na2,b3,must\nb3,a1,cannot\n")
    result = run("check", "hints.csv", "data.csv", "--id", "name", code=1)
    assert "a1 ≠ b3, yet a1 = a2 = b3" in result.stdout
    document = json.loads(run("check", "hints.csv", "data.csv", "--id", "name", "--json", code=1).stdout)
    assert document["conflicts"] == [{"a": "a1", "b": "b3", "chain": ["a1", "a2", "b3"]}]
    assert document["ok"] is False


def test_links_that_contradict_labels(run, files):
    text = "kind,a,b,label\nlabel,a1,,A\nlabel,b1,,B\nmust,a1,b1,\n"
    (files / "hints.csv").write_text(text)
    assert "a1 ≠ b1, yet a1 = b1" in run("check", "hints.csv", "data.csv", "--id", "name", code=1).stdout


def test_triplets_with_two_answers(run, files):
    (files / "hints.csv").write_text("a,b,c,answer\na1,a2,b1,AB\na1,a2,b1,AC\n")
    result = run("check", "hints.csv", "data.csv", "--id", "name", code=1)
    assert "a1, a2, b1: AB and AC" in result.stdout


def test_many_contradictions_are_cut(run, tmp_path):
    (tmp_path / "d.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(30)))
    pairs = "".join(f"{i},{i + 1},must\n{i},{i + 1},cannot\n" for i in range(0, 30, 2))
    (tmp_path / "h.csv").write_text("a,b,link\n" + pairs)
    assert "and 5 more; --json lists all" in run("check", "h.csv", "d.csv", code=1).stdout


def test_too_few_clusters(run, files):
    (files / "hints.csv").write_text("a,b,link\na1,a2,cannot\na2,a3,cannot\na1,a3,cannot\n")
    words = ["check", "hints.csv", "data.csv", "--id", "name", "-k"]
    assert "at least 3 clusters, more than the 2 given" in run(*words, 2, code=1).stderr
    assert "informative" in run(*words, 3).stdout


def test_ratings_of_links_are_explained(run, files):
    (files / "hints.csv").write_text("a,b,link\na1,a2,must\na1,b1,cannot\n")
    words = ["check", "hints.csv", "data.csv", "--id", "name"]
    shown = run(*words).stdout
    assert "coherent: share of pairs of a must-link and a cannot-link" in shown
    assert "Links between random rows: " in shown
    assert "informative:" not in shown
    assert "informative: share of the links that k-means without hints breaks" in run(*words, "-k", 2).stdout


def test_coherence_is_compared_with_that_of_random_links(run, tmp_path):
    # Along one line, two links do not conflict if they lie beside one another; random ones often overlap.
    (tmp_path / "d.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(40)))
    (tmp_path / "h.csv").write_text("a,b,link\n0,1,must\n2,3,must\n20,30,cannot\n")
    document = json.loads(run("check", "h.csv", "d.csv", "--json").stdout)
    assert document["coherence"] == 1.0
    assert 0.2 < document["chance_coherence"] < 0.5  # two segments of a line are apart with probability 1/3
    by_chance = f"Links between random rows: {document['chance_coherence']:.0%}"
    assert by_chance in run("check", "h.csv", "d.csv").stdout


@pytest.mark.parametrize(
    ("must", "cannot", "verdict"),
    [
        ([(0, 1)], [(20, 30)], "too few of one kind of links (1)"),
        ([(i, i + 1) for i in range(9)], [(30 - i, 31 + i) for i in range(9)], "which is fine"),
        ([(i, 39 - i) for i in range(9)], [(9 + i, 29 - i) for i in range(9)], "clearly lower"),
    ],
    ids=["few", "beside one another", "within one another"],
)
def test_coherence_has_a_verdict(run, tmp_path, must, cannot, verdict):
    (tmp_path / "d.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(40)))
    links = [(*pair, word) for pairs, word in ((must, "must"), (cannot, "cannot")) for pair in pairs]
    (tmp_path / "h.csv").write_text("a,b,link\n" + "".join(f"{a},{b},{word}\n" for a, b, word in links))
    assert verdict in run("check", "h.csv", "d.csv").stdout


def test_standardized_features_are_checked(run, tmp_path):
    # From row 0 one link goes left and one goes right, both up by 1. In raw units only left and right count.
    rows = ["40,0", "0,1", "60,1", "0,0", "100,0", "100,1"]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    (tmp_path / "h.csv").write_text("a,b,link\n0,1,must\n0,2,cannot\n")
    words = ("check", "h.csv", "d.csv", "--json")
    assert json.loads(run(*words).stdout)["coherence"] == 1.0
    assert json.loads(run(*words, "--standardize").stdout)["coherence"] == 0.0


def test_json_of_good_hints(run, files):
    document = json.loads(run("check", "hints.csv", "data.csv", "--id", "name", "--json").stdout)
    assert document["ok"] is True
    assert document["n_must"] == 1
    assert document["conflicts"] == document["triplet_conflicts"] == document["notes"] == []


def test_data_without_usable_features_can_still_be_checked(run, files):
    (files / "data.csv").write_text("name,colour\na1,red\na2,\nb1,blue\n")
    result = run("check", "hints.csv", "data.csv", "--id", "name")
    assert "1 must, 1 cannot" in result.stdout
    assert "note: coherence is left out: data.csv:2: the column 'colour' is not numeric" in result.stderr


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        (None, "there is no file 'hints.csv'."),
        ("a,b,link\na1,a1,must\n", "hints.csv:2: the id 'a1' occurs twice; expected different ids."),
        ("a,b,link\na1,a9,must\n", "no row has the id 'a9'"),
    ],
)
def test_bad_hints(run, files, hints, message):
    (files / "hints.csv").unlink()
    if hints is not None:
        (files / "hints.csv").write_text(hints)
    result = run("check", "hints.csv", "data.csv", "--id", "name", code=1)
    assert message in result.stderr
    assert result.stdout == ""


def test_bad_data_and_bad_usage(run, files):
    assert "there is no file 'no.csv'." in run("check", "hints.csv", "no.csv", code=1).stderr
    assert "no pictures or sounds" in run("check", "hints.csv", files, code=1).stderr
    assert "did you mean 'name'?" in run("check", "hints.csv", "data.csv", "--id", "nme", code=2).stderr
    run("check", "hints.csv", code=2)


def test_data_from_stdin(run, files):
    text = (files / "data.csv").read_text()
    assert "6 rows" in run("check", "hints.csv", "-", "--id", "name", input=text).stdout


def test_notes_on_hints_made_in_a_spreadsheet(run, files):
    (files / "hints.csv").write_text("id;label;who\na1;1;Ann\na2;-1;Bo\na3;2;Ann\n")
    result = run("check", "hints.csv", "data.csv", "--id", "name")
    message = " ".join(result.output.split())
    assert "1 label(s) of -1 were read as unlabelled" in message
    assert "ignored the column(s) 'who'" in message


def test_hints_are_compared_with_the_true_classes(run, files):
    (files / "d.csv").write_text("id,x,bird\na,1,owl\nb,2,owl\nc,3,wren\nd,4,wren\ne,5,\n")
    (files / "h.csv").write_text(
        "kind,a,b,c,answer,label\nmust,a,b,,,\nmust,b,c,,,\ncannot,a,d,,,\nmust,d,e,,,\n"
        "triplet,a,b,c,AB,\ntriplet,a,c,d,AB,\nlabel,a,,,,owl\nlabel,d,,,,owl\n"
    )
    options = ("check", "h.csv", "d.csv", "--id", "id", "--truth", "bird")
    message = run(*options, code=1).stdout  # a and d are apart, yet have one label
    summary = "1 of 2 must-links, 1 of 1 cannot-links, 1 of 2 triplets, 1 of 2 labels agree with it"
    assert f"truth       {summary}" in message
    assert (
        "hints that disagree with the column 'bird' (= together, ≠ apart)\n  b = c\n  d is owl\n" in message
    )
    truth = json.loads(run(*options, "--json", code=1).stdout)["truth"]
    assert truth["right"] == {"must-links": 1, "cannot-links": 1, "triplets": 1, "labels": 1}
    assert truth["against"] == ["b = c", "d is owl"]
    assert "truth " not in run("check", "hints.csv", "data.csv", "--id", "name").stdout
