"""``likewise export``: three kinds of file, three formats, found by the project or its data."""

import csv
import io
import json

import pytest

from likewise.supervision import read_hints
from small_projects import IDS, WEIRD, AnswerWriter, make, open_project_store


@pytest.fixture
def project(tmp_path):
    """A project with two answers, beside its data."""
    project = make(tmp_path)
    with open_project_store(project) as store:
        ann = AnswerWriter(store)
        ann.answer("a1", "a2", answer="SAME")
        ann.answer("a1", "b1", answer="DIFFERENT")
    project.items.close()
    return tmp_path


@pytest.mark.parametrize("name", ["birds.likewise", "birds.likewise/", "birds.csv", "birds"])
def test_labels_go_to_stdout_and_all_else_to_stderr(run, project, name):
    result = run("export", name)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["id"] for row in rows] == list(IDS)
    assert [row["group"] for row in rows] == ["1"] * 4 + ["2"] * 4
    assert "8 items in 2 groups, 2 answers" in result.stderr


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_end_of_the_name_tells_the_format(run, project, ending):
    run("export", "birds", "--what", "hints", "--out", f"hints.{ending}")
    hints = read_hints(project / f"hints.{ending}", IDS)
    assert (hints.must.tolist(), hints.cannot.tolist()) == ([[0, 1]], [[0, 4]])


def test_hints_are_taken_by_the_cluster_command(run, project):
    run("export", "birds", "--what", "hints", "--out", "hints.csv")
    rows = "".join(f"{id},{k // 4 * 9}\n" for k, id in enumerate(IDS))
    (project / "data.csv").write_text(f"id,x\n{rows}")
    run("cluster", "data.csv", "-k", "2", "--id", "id", "--hints", "hints.csv", "--out", "clusters.csv")
    assert (project / "clusters.csv").exists()


def test_all_three_go_to_a_folder(run, project):
    result = run("export", "birds", "--what", "all", "--format", "jsonl", "--out", "result", "--json")
    output = json.loads(result.stdout)
    assert output["wrote"] == ["result/labels.jsonl", "result/hints.jsonl", "result/answers.jsonl"]
    assert (output["items"], output["groups"], output["answers"]) == (8, 2, 2)
    assert sorted(path.name for path in (project / "result").iterdir()) == [
        *("answers.jsonl", "hints.jsonl", "labels.jsonl")
    ]
    answers = [json.loads(line) for line in (project / "result/answers.jsonl").read_text().splitlines()]
    assert [answer["annotator"] for answer in answers] == ["Ann", "Ann"]
    run("export", "birds", "--what", "all", "--out", "result")  # again, and beside the others
    assert len(list((project / "result").iterdir())) == 6


def test_a_project_of_weird_ids(run, tmp_path):
    project = make(tmp_path, WEIRD)
    with open_project_store(project) as store:
        AnswerWriter(store).answer(*WEIRD[:2], answer="SAME")
    result = run("export", "birds", "--what", "hints", code=1)
    assert "read 2 ids as a formula, '=1+1' first" in result.stderr
    run("export", "birds", "--what", "all", "--out", "result", code=1)
    assert not (tmp_path / "result").exists()  # nothing is written if one cannot be
    run("export", "birds", "--what", "hints", "--raw", "--out", "hints.csv")
    assert read_hints(tmp_path / "hints.csv", WEIRD).must.tolist() == [[0, 1]]
    labels = run("export", "birds").stdout_bytes
    assert b"\n'=1+1,1," in labels


@pytest.mark.parametrize(
    ("words", "code", "match"),
    [
        (["nothing"], 1, "there is no project at 'nothing', nor beside it at 'nothing.likewise'"),
        (["birds", "--what", "all"], 2, "give a folder with --out"),
        (["birds", "--json"], 2, "give the file a name with --out"),
        (["birds", "--format", "csv", "--out", "x.jsonl"], 2, "disagree; leave --format out"),
        (["birds", "--out", "x.txt"], 2, "expected a file name that ends with"),
        (["birds", "--out", "nowhere/x.csv"], 1, "there is no folder 'nowhere'"),
        (["birds", "--what", "all", "--out", "birds.csv"], 2, "is a file"),
        (["birds", "--what", "all", "--out", "nowhere/x"], 1, "there is no folder 'nowhere'"),
        (["birds", "--db", "mysql://x"], 1, "neither sqlite"),
    ],
)
def test_what_cannot_be_done_is_reported(run, project, words, code, match):
    assert match in run("export", *words, code=code).stderr


def test_a_broken_project_is_reported(run, project):
    (project / "birds.likewise" / "project.json").write_text("{")
    assert "project.json" in run("export", "birds", code=1).stderr
