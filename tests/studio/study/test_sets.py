"""Several data sets within one participant, as in the thesis."""

import numpy as np
import pytest

from likewise.exceptions import StudyError
from likewise.studio.study import MarkedQuestion, Study, StudyOptions
from likewise.studio.study.answers import find_participants
from likewise.studio.study.study_report import make_study_report, make_study_sections
from studio.study.simulated import Record, clouds, take_part

OPTIONS = {"n_pairs": 6, "n_triplets": 4, "practice": 2, "sets": True}


def make_study(n_sets=2, **options):
    X, ids, classes = clouds(60 * n_sets)
    names = ["birds", "flowers", "moths"][:n_sets]
    truths = [f"{names[row // 60]}/{name}" for row, name in enumerate(classes)]
    return Study(X, ids, truths, StudyOptions(**{**OPTIONS, **options}))


@pytest.fixture(scope="module")
def study():
    return make_study()


def find_sets(study, rows):
    return {study.truths[row].partition("/")[0] for row in rows}


def test_every_participant_has_all_tasks_about_each_data_set(study):
    for person in range(2, 10):
        tasks = study.get_tasks(person)
        kinds = [(task.data_set, task.questions[0].asked.kind, len(task.questions)) for task in tasks]
        assert sorted(kinds) == [
            *(("birds", "pair", 6), ("birds", "triplet", 4)),
            *(("flowers", "pair", 6), ("flowers", "triplet", 4)),
        ]
        for task in tasks:
            assert all(find_sets(study, one.asked.rows) == {task.data_set} for one in task.questions)
        assert [task.number for task in tasks] == [1, 2, 3, 4]


@pytest.mark.parametrize("n_sets", [2, 3])
def test_the_orders_of_sets_and_kinds_are_balanced(n_sets):
    study = make_study(n_sets)
    orders = [(study.get_set_order(p)[0], study.get_task_order(p)[0]) for p in range(2, 2 + 8 * n_sets)]
    assert len(set(orders)) == 2 * n_sets
    assert {orders.count(one) for one in orders} == {4}


def test_practice_is_about_both_data_sets(study):
    practice = study.get_parts(2)[0].questions
    assert set.union(*(find_sets(study, one.asked.rows) for one in practice)) == {"birds", "flowers"}


def test_a_stage_names_the_data_set(study):
    record = take_part(study, Record(), 2, upto=1 + 4)
    stage = study.find_stage(2, record.events)
    assert stage.name == "break"
    assert stage.task.data_set == study.get_set_order(2)[0]


def test_one_data_set_has_the_questions_it_had(study):
    X, ids, classes = clouds(60)
    alone = StudyOptions(**{**OPTIONS, "sets": False})
    tasks = Study(X, ids, [f"birds/{name}" for name in classes], alone).get_tasks(3)
    assert [task.data_set for task in tasks] == ["", ""]
    assert tasks == Study(X, ids, classes, alone).get_tasks(3)


def test_the_report_has_tables_for_each_data_set(study):
    record = Record()
    for person in range(2, 8):
        # Pairs of flowers are answered wrongly.
        take_part(
            study,
            record,
            person,
            right=lambda one: one.asked.kind == "triplet" or find_sets(study, one.asked.rows) == {"birds"},
        )
    (first, *_) = find_participants(study, record.events)
    assert first.finished
    assert [len(first.restrict(name).pairs) for name in study.sets] == [6, 6]
    report = make_study_report(study, record.events, curves=False)
    assert [one.tables.pairs.accuracy for one in report.sets] == [1.0, 0.0]
    assert report.tables.pairs.accuracy == 0.5
    sections = make_study_sections(report)
    assert [one.title for one in sections[2:]] == [
        *("Time: birds", "Right and wrong answers: birds"),
        *("Time: flowers", "Right and wrong answers: flowers"),
    ]
    birds, flowers = (table.rows[1] for table in sections[0].tables)
    assert birds[-1] == "nothing yet"
    assert flowers == ("Right answers", "0.0%", "100.0%", "-100.0% (-100.0% to -100.0%)", "triplets")
    assert not any("So few" in line for line in sections[0].paragraphs)


def test_curves_of_a_data_set_use_only_its_rows(study):
    record = take_part(study, Record(), 2)
    report = make_study_report(study, record.events, max_rows=40)
    assert [one.curves.n_all_rows for one in report.sets] == [60, 60]
    assert [one.n_classes for one in report.sets] == [3, 3]


@pytest.mark.parametrize("name", ["owl", "/owl", "birds/"])
def test_a_class_without_a_data_set_is_refused(name):
    X, ids, classes = clouds(60)
    with pytest.raises(StudyError, match="is of no data set"):
        Study(X, ids, [name, *(f"birds/{one}" for one in classes[1:])], StudyOptions(**OPTIONS))


def test_a_data_set_with_one_class_is_refused():
    X = np.zeros((40, 1))
    truths = ["birds/owl", "birds/wren"] * 10 + ["flowers/rose"] * 20
    with pytest.raises(StudyError, match="of 'flowers' are all of one class"):
        Study(X, [str(row) for row in range(40)], truths, StudyOptions(**OPTIONS))


def test_a_marked_question_is_about_one_data_set():
    pool = tuple(MarkedQuestion(f"item {k}", f"item {k + 1}", None, "easy") for k in range(50, 70))
    with pytest.raises(StudyError, match="several data sets: item 59, item 60"):
        make_study(pool=pool)
