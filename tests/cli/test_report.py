"""``likewise report``: a page, figures, or both."""

import json

import pytest

from small_projects import AnswerWriter, make, open_project_store


@pytest.fixture
def project(tmp_path):
    """A project with a contradiction."""
    project = make(tmp_path)
    with open_project_store(project) as store:
        ann = AnswerWriter(store)
        ann.answer("a1", "a2", answer="SAME")
        ann.answer("a2", "a3", answer="SAME")
        ann.answer("a1", "a3", answer="DIFFERENT")
        ann.name_group("a1", "wrens")
    project.items.close()
    return tmp_path


def test_the_page_is_written(run, project):
    result = run("report", "birds", "--html", "report.html")
    page = (project / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "wrens" in page
    assert result.stdout == ""
    for part in (
        "Birds: 8 items in 2 groups",
        "3 by 1 person",
        "1 contradiction\n",
        "wrote       report.html",
    ):
        assert part in result.stderr


def test_a_project_without_answers_has_no_people(run, tmp_path):
    make(tmp_path).items.close()
    shown = run("report", "birds", "--html", "report.html").stderr
    assert "answers     none yet\n" in shown
    assert "people" not in shown


def test_figures_as_json(run, project):
    output = json.loads(run("report", "birds.likewise", "--json").stdout)
    assert (output["items"], output["answers"], output["contradictions"]) == (8, 3, 1)
    assert {group["name"] for group in output["groups"]} == {"wrens", None}
    assert output["people"][0] | {"seconds": None} == {
        "name": "Ann",
        "role": "annotator",
        "answers": 3,
        "unsure": 0,
        "shared": 0,
        "accuracy": None,
        "reliability": None,
        "seconds": None,
    }
    assert output["wrote"] == []


def test_the_page_on_stdout(run, project):
    assert run("report", "birds", "--html", "-").stdout.endswith("</html>\n")


@pytest.mark.parametrize(
    ("words", "code", "match"),
    [
        ([], 2, "give --html FILE"),
        (["--html", "-", "--json"], 2, "both write to stdout"),
        (["--html", "report.pdf"], 2, "expected a file name that ends with"),
        (["--html", "nowhere/report.html"], 1, "there is no folder"),
    ],
)
def test_what_cannot_be_done_is_reported(run, project, words, code, match):
    assert match in run("report", "birds", *words, code=code).stderr
