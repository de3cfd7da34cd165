"""The report of a study: JSON without names, and sections of plain text, tables and figures."""

import json
from dataclasses import replace

import pytest

from likewise.studio.study.curves import BUDGETS, METHODS, PARTS, StudyCurve, StudyCurves
from likewise.studio.study.study_report import make_study_report, make_study_sections
from studio.study.simulated import BETTER, Record, small_study, take_part

CURVES = StudyCurves(
    curves=tuple(
        StudyCurve(budget, method, PARTS, (0.5,) * 5, (0.4,) * 5, (0.6,) * 5, (3.0,) * 5, (2.0,) * 5)
        for budget in BUDGETS
        for method in METHODS
    ),
    start=0.3,
    n_people=2,
    n_rows=60,
    n_all_rows=120,
)


@pytest.fixture(scope="module")
def report():
    study = small_study(n_pairs=9, n_triplets=6, practice=1)
    record = Record()
    for person in (2, 3):
        survey = {**BETTER, "comments": f"<b>{person}</b> is easier"}
        take_part(study, record, person, survey=survey, right=lambda planned: not planned.id.endswith("-1"))
    take_part(study, record, 4, upto=12)
    take_part(study, record, 5, upto=2)  # only practice: not a participant yet
    report = make_study_report(study, record.events, curves=False)
    return replace(report, sets=(replace(report.sets[0], curves=CURVES),))


def test_the_numbers_as_json(report):
    shown = json.loads(json.dumps(report.to_json()))
    assert shown["tables"]["n"] == 2
    assert (shown["n_began"], shown["tables"]["n_left_out"]) == (3, 1)
    assert shown["options"]["n_pairs"] == 9
    assert shown["comments"] == ["<b>2</b> is easier", "<b>3</b> is easier"]
    assert [one["name"] for one in shown["sets"]] == [""]
    assert shown["sets"][0]["curves"]["n_people"] == 2


def test_the_sections_of_a_report(report):
    pytest.importorskip("matplotlib")
    sections = make_study_sections(report)
    assert [one.title for one in sections] == [
        "Study",
        "Questionnaire",
        "Time",
        "Right and wrong answers",
        "Clustering",
        "Comments",
    ]
    assert sections[0].paragraphs[0] == (
        "2 participants answered all questions. "
        "1 more started but did not finish; their answers are left out."
    )
    assert sections[0].paragraphs[1].startswith("So few show nothing yet")
    assert sections[0].tables[0].rows[1] == (
        *("Right answers", "88.9%", "83.3%", "+5.6% (+5.6% to +5.6%)", "nothing yet"),
    )
    pairs, triplets = sections[2].tables
    assert pairs.rows == (("seconds", "1.00 ± 0.00", "1.00 ± 0.00", "1.00 ± 0.00"),)
    assert triplets.head == ("", "any answer", "two belong together", "neither")
    confusion = sections[3].tables[0]
    assert confusion.head == ("right answer", "different", "same")
    assert confusion.title == "Pairs (88.89% right)"  # one of nine is wrong
    survey = sections[1].tables[0]
    assert survey.rows[1] == ("Less effort per question", "2/2", "0/2", "0/2", "nothing yet")
    for section in sections:
        for table in section.tables:
            assert all(len(row) == len(table.head) for row in table.rows)
    assert all(figure.png.startswith(b"\x89PNG") and figure.alt for figure in sections[4].figures)
    assert len(sections[4].figures) == 2


def test_a_study_that_nobody_started():
    (section,) = make_study_sections(make_study_report(small_study(), []))
    assert section.paragraphs[1] == "Nobody has started yet."


def test_a_study_that_nobody_finished():
    study = small_study()
    report = make_study_report(study, take_part(study, Record(), 2, upto=20).events)
    assert report.sets[0].curves is None
    (section,) = make_study_sections(report)
    assert section.paragraphs[1] == "1 participant started; nobody has answered all questions yet."


def test_tables_alone_need_no_clustering():
    study = small_study(n_pairs=3, n_triplets=3)
    record = take_part(study, Record(), 2)
    report = make_study_report(study, record.events, curves=False)
    assert [one.title for one in make_study_sections(report)][-1] == "Right and wrong answers"
    assert report.to_json()["sets"][0]["curves"] is None
