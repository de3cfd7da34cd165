"""``likewise import-answers``: earlier files into a project, while a studio may be running."""

import json

import pytest

from likewise.studio.exports import Snapshot
from small_projects import IDS, AnswerWriter, make, open_project_store


@pytest.fixture
def project(tmp_path):
    """An empty project."""
    project = make(tmp_path)
    project.items.close()
    return project


def output(project):
    with open_project_store(project) as store:
        snapshot = Snapshot.from_store(store)
    return [(snapshot.get_name(e.person), *e.body["items"], e.body["answer"]) for e in snapshot.answers]


def test_a_file_of_hints(run, tmp_path, project):
    (tmp_path / "hints.csv").write_text("a,b,link\na1,a2,must\na1,b1,cannot\n")
    result = run("import-answers", "birds", "hints.csv", "--annotator", "Ann")
    assert output(project) == [("Ann", "a1", "a2", "SAME"), ("Ann", "a1", "b1", "DIFFERENT")]
    assert result.stdout == ""
    for part in ("2 answers from hints", "imported    2", "new: Ann"):
        assert part in result.stderr
    assert "0; 2 existed already" in run("import-answers", "birds", "hints.csv", "--annotator", "Ann").stderr


def test_what_was_asked_at_the_terminal(run, tmp_path, project):
    rows = "".join(f"{id},{x}\n" for id, x in zip(IDS, range(8), strict=True))
    (tmp_path / "data.csv").write_text(f"name,x\n{rows}")
    words = ["ask", "data.csv", "-k", "2", "--id", "name", "--budget", "3", "--annotator", "Bob"]
    run(*words, input="y\nn\ny\n")
    told = json.loads(run("import-answers", "birds.likewise", "data.ask.json", "--json").stdout)
    assert (told["form"], told["n_new"], told["people"]) == ("interview", 3, ["Bob"])
    assert [row[-1] for row in output(project)] == ["SAME", "DIFFERENT", "SAME"]


def test_an_export_comes_home_without_adding_anything(run, tmp_path, project):
    with open_project_store(project) as store:
        AnswerWriter(store).answer("a1", "a2", answer="SAME")
    for ending in ("csv", "jsonl", "parquet"):
        run("export", "birds", "--what", "answers", "--out", f"answers.{ending}")
        told = json.loads(run("import-answers", "birds", f"answers.{ending}", "--json").stdout)
        assert (told["n_read"], told["n_new"]) == (1, 0)


def test_a_wrong_file_changes_nothing(run, tmp_path, project):
    (tmp_path / "bad.csv").write_text("a,b,answer\na1,a2,SAME\na1,nobody,SAME\na1,a3,PERHAPS\n")
    told = run("import-answers", "birds", "bad.csv", code=1).stderr
    for part in (
        "bad.csv:3: no row has the id 'nobody'",
        "bad.csv:4: 'PERHAPS' does not answer a pair",
        "Nothing was imported.",
    ):
        assert part in told
    assert output(project) == []


def test_what_is_not_there_is_reported(run, tmp_path, project):
    assert "there is no file 'gone.csv'" in run("import-answers", "birds", "gone.csv", code=1).stderr
    (tmp_path / "x.csv").write_text("a,b,answer\n")
    assert "there is no project at 'other'" in run("import-answers", "other", "x.csv", code=1).stderr
