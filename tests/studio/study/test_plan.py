"""The plan: equal numbers for all participants, right answers, and stages derived from the events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise._reasons import Reason
from likewise.exceptions import StudyError
from likewise.studio.study import ALLOWED, Study, StudyOptions
from likewise.studio.study.pool import draw_pool, find_right_answer
from studio.study.simulated import Record, clouds, small_study, take_part

PEOPLE = range(2, 12)


@pytest.fixture(scope="module")
def study():
    return small_study()


def list_planned(study, person, kind=None):
    every = [one for task in study.get_tasks(person) for one in task.questions]
    return [one for one in every if kind in (None, one.asked.kind)]


# ---------------------------------------------------------------------- the sets


def test_all_participants_have_equal_numbers_of_easy_and_difficult_questions(study):
    for person in PEOPLE:
        for kind, n in (("pair", 30), ("triplet", 20)):
            difficulties = [one.asked.difficulty for one in list_planned(study, person, kind)]
            assert len(difficulties) == n
            assert difficulties.count("difficult") == n // 2


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_difficult_questions_is_kept(share):
    difficulties = [one.asked.difficulty for one in list_planned(small_study(difficult=share), 2, "pair")]
    assert difficulties.count("difficult") == round(30 * share)


def test_no_question_is_repeated_for_one_person_not_even_from_practice(study):
    for person in PEOPLE:
        every = [one for part in study.get_parts(person) for one in part.questions]
        assert len({frozenset(one.items) for one in every}) == len(every)
        assert len({one.id for one in every}) == len(every)


def test_the_right_answer_matches_the_order_shown(study):
    classes = dict(zip(study.ids, study.truths, strict=True))
    for one in list_planned(study, 2) + list(study.get_parts(2)[0].questions):
        assert one.asked.truth == find_right_answer([classes[item] for item in one.items])
        assert tuple(study.ids[row] for row in one.asked.rows) == one.items


def test_every_answer_is_right_for_some_questions(study):
    truths = {one.asked.truth for person in PEOPLE for one in list_planned(study, person)}
    assert truths == {*ALLOWED["pair"], *ALLOWED["triplet"]}
    firsts = [one.asked.rows[0] < one.asked.rows[1] for one in list_planned(study, 2)]
    assert 0.2 < np.mean(firsts) < 0.8


def test_the_order_of_the_tasks_is_balanced_over_participants(study):
    firsts = [study.get_task_order(person)[0] for person in range(5, 25)]
    assert firsts.count("pair") == 10
    assert all(
        {task.questions[0].asked.kind for task in study.get_tasks(p)} == {"pair", "triplet"} for p in PEOPLE
    )


def test_easy_and_difficult_questions_are_mixed(study):
    difficulties = [one.asked.difficulty for one in list_planned(study, 3, "pair")]
    assert len(set(difficulties[:15])) == len(set(difficulties[15:])) == 2


def test_two_blocks_are_in_mirrored_order():
    study = small_study(blocks=2)
    order = study.get_task_order(2)
    assert order == (order[0], order[1], order[1], order[0])
    sizes = [len(task.questions) for task in study.get_tasks(2)]
    assert sorted(sizes) == [10, 10, 15, 15]
    assert all(
        {q.asked.kind for q in task.questions} == {kind}
        for task, kind in zip(study.get_tasks(2), order, strict=True)
    )


def test_the_same_seed_and_person_give_the_same_questions(study):
    again = small_study()
    assert again.get_parts(3) == study.get_parts(3)
    assert [q.items for q in list_planned(study, 3)] != [q.items for q in list_planned(study, 4)]
    assert small_study(seed=1).get_parts(3) != study.get_parts(3)


def test_the_questions_are_named_by_person_task_and_number(study):
    assert study.get_tasks(3)[0].questions[16].id == "study-3-t1-17"
    assert study.get_parts(3)[0].questions[0].id == "study-3-p-1"
    assert study.find(3, "study-3-t1-17") is study.get_tasks(3)[0].questions[16]
    assert study.find(3, "study-4-t1-17") is None


def test_practice_is_the_same_for_all_and_covers_most_answers(study):
    practice = {person: study.get_parts(person)[0].questions for person in PEOPLE}
    sets = {frozenset(frozenset(one.items) for one in some) for some in practice.values()}
    assert len(sets) == 1
    kinds = [one.asked.kind for one in practice[2]]
    assert kinds.count("pair") == kinds.count("triplet") == 4
    truths = [one.asked.truth for one in practice[2]]
    assert truths.count("SAME") == truths.count("DIFFERENT") == truths.count("NEITHER") == 2
    assert tuple(kinds[:1]) == study.get_task_order(2)[:1]


def test_examples_of_the_reference_book_are_not_asked_about(study):
    assert [name for name, _ in study.reference] == ["class 0", "class 1", "class 2"]
    shown = {item for _, item in study.reference}
    assert not any(shown & set(one.items) for person in PEOPLE for one in list_planned(study, person))


def test_items_without_a_class_are_not_asked_about():
    X, ids, truths = clouds()
    truths[:40] = [None] * 40
    study = Study(X, ids, truths, StudyOptions(n_pairs=30, n_triplets=20))
    assert not any(
        row < 40 for person in PEOPLE for one in list_planned(study, person) for row in one.asked.rows
    )


# ---------------------------------------------------------------------- the pool


def test_difficulty_by_hand():
    # Class a at 0, 1 and 9, class b at 10 and 30: the pairs 0-9 and 1-9 are far for their kind, 9-10 is near.
    X, classes = np.array([[0.0], [1.0], [9.0], [10.0], [30.0]]), ["a", "a", "a", "b", "b"]
    pool = draw_pool(X, np.arange(5), classes, "pair", 5, seed=0)
    difficult = {frozenset(one.rows) for one in pool if one.difficulty == "difficult"}
    # SAME: 0-1 (1), 1-2 (8), 0-2 (9), 3-4 (20).
    # DIFFERENT: 2-3 (1), 1-3 (9), 0-3 (10), 2-4 (21), 1-4 (29), 0-4 (30).
    assert difficult == {frozenset(pair) for pair in [(0, 2), (3, 4), (2, 3), (1, 3), (0, 3)]}


def test_difficulty_of_triplets_by_hand():
    # a: 0, 1   b: 3   c: 8. Two together: (0, 1, 3) gap 2 - 1, (0, 1, 8) gap 7 - 1.
    # None: (0, 3, 8) gap 5 - 3, (1, 3, 8) gap 5 - 2: there a pair stands out more.
    X, classes = np.array([[0.0], [1.0], [3.0], [8.0]]), ["a", "a", "b", "c"]
    pool = draw_pool(X, np.arange(4), classes, "triplet", 4, seed=0)
    assert {one.rows: (one.truth, one.difficulty) for one in pool} == {
        (0, 1, 2): ("AB", "difficult"),
        (0, 1, 3): ("AB", "easy"),
        (0, 2, 3): ("NEITHER", "easy"),
        (1, 2, 3): ("NEITHER", "difficult"),
    }


def test_a_pool_of_many_rows_is_drawn_without_listing_all():
    n = 100_000
    X, rows = np.arange(float(n))[:, None], np.arange(n)
    pool = draw_pool(X, rows, ["a", "b"] * (n // 2), "triplet", 40, seed=0)
    assert len({frozenset(one.rows) for one in pool}) == len(pool) == 4000
    assert all(len(set(one.rows)) == 3 for one in pool)


def test_identical_rows_still_give_a_study():
    _, ids, truths = clouds()
    study = Study(np.zeros((120, 2)), ids, truths, StudyOptions(n_pairs=30, n_triplets=20))
    assert len(list_planned(study, 2)) == 50


# ---------------------------------------------------------------------- stages


def test_the_stages_of_a_study_from_beginning_to_end(study):
    record, seen = Record(), []
    for _ in range(1000):
        stage = study.find_stage(2, record.events)
        where = (stage.name, stage.task.number if stage.task else None)
        if not seen or seen[-1] != where:
            seen.append(where)
        if stage.name == "done":
            break
        take_part(study, record, 2, upto=1)
    assert seen == [
        ("intro", None),
        ("practice", 0),
        ("break", 1),
        ("task", 1),
        ("break", 2),
        ("task", 2),
        ("survey", None),
        ("done", None),
    ]


def test_without_practice_the_first_task_follows_the_introduction():
    study = small_study(practice=0)
    assert study.find_stage(2, []).name == "intro"
    assert study.find_next_stage(2, []) == "task 1"
    record = take_part(study, Record(), 2, upto=1)
    assert study.find_stage(2, record.events).name == "task"


def test_a_stage_as_json(study):
    record = take_part(study, Record(), 2, upto=1 + 8 + 1 + 5)
    first = study.get_task_order(2)[0]
    assert study.find_stage(2, record.events).to_json() == {
        "stage": "task",
        "task": {
            **{"number": 1, "of": 2, "kind": first, "n": study.options.count_questions(first), "done": 5},
            "data_set": "",
        },
        "reference": True,
        "answers": list(ALLOWED[first]),
    }
    assert not study.find_stage(2, record.events).allows_undo


WHOLE = take_part(small_study(), Record(), 4).events


@given(st.integers(0, len(WHOLE)))
def test_resuming_from_any_prefix_of_the_events_gives_the_same_study(study, n):
    record = Record()
    record.events = list(WHOLE[:n])
    take_part(study, record, 4)
    assert record.events == WHOLE


def test_events_of_others_do_not_affect_the_stage(study):
    record = take_part(study, Record(), 2)
    assert study.find_stage(3, record.events).name == "intro"
    assert study.find_stage(2, record.events).name == "done"


def test_an_undone_answer_is_asked_again(study):
    record = take_part(study, Record(), 2, upto=15)
    last = record.events[-1]
    record.add("undo", 2, {"of": last.seq})
    assert study.get_questions(2, record.events, 1)[0].id == last.question


def test_questions_belong_to_the_current_part(study):
    assert study.get_questions(2, [], 5) == []
    record = take_part(study, Record(), 2, upto=1 + 7)
    assert [q.id for q in study.get_questions(2, record.events, 5)] == ["study-2-p-8"]
    record = take_part(study, record, 2, upto=1)
    assert study.get_questions(2, record.events, 5) == []  # a break
    record = take_part(study, record, 2, upto=1)
    assert [q.id for q in study.get_questions(2, record.events, 2)] == ["study-2-t1-1", "study-2-t1-2"]


def test_a_queued_question_does_not_reveal_the_answer(study):
    record = take_part(study, Record(), 2, upto=1)
    (question,) = study.get_questions(2, record.events, 1)
    assert (question.score, question.reason) == (None, Reason())


# ---------------------------------------------------------------------- refusals


def test_unsure_is_not_offered(study):
    record = take_part(study, Record(), 2, upto=1)
    (question,) = study.get_questions(2, record.events, 1)
    with pytest.raises(StudyError, match="'UNSURE' is not offered"):
        study.check_answer(2, record.events, question.id, "UNSURE")


@pytest.mark.parametrize("name", ["study-2-t2-1", "study-3-p-1", "study-2-p-1", "no such"])
def test_only_open_questions_can_be_answered(study, name):
    record = take_part(study, Record(), 2, upto=2)
    with pytest.raises(StudyError, match="is not open for you now"):
        study.check_answer(2, record.events, name, "SAME")


def test_nobody_can_go_on_before_everything_is_answered(study):
    record = take_part(study, Record(), 2, upto=2)
    with pytest.raises(StudyError, match="7 questions of this part must be answered first"):
        study.find_next_stage(2, record.events)
    record = take_part(study, record, 2, survey=None)
    with pytest.raises(StudyError, match="questionnaire has not been submitted"):
        study.find_next_stage(2, record.events)
    with pytest.raises(StudyError, match="over for you"):
        study.find_next_stage(2, take_part(study, record, 2).events)


@pytest.mark.parametrize(
    ("truths", "message"),
    [
        (["a"] * 20, "all of one class, 'a'"),
        ([None] * 20, "without classes"),
        ([f"c{i}" for i in range(20)], "has a different class"),
        (["a", "b"] * 10, "Use fewer pairs, or add more"),
    ],
)
def test_too_few_classes_or_items(truths, message):
    X = np.arange(20.0)[:, None]
    with pytest.raises(StudyError, match=message):
        Study(X, [str(i) for i in range(20)], truths, StudyOptions(n_pairs=600, n_triplets=40))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_too_few_items_are_refused_with_a_message(n):
    with pytest.raises(StudyError, match=r"needs|different class"):
        Study(np.zeros((n, 1)), list("abcd"[:n]), list("xyxy"[:n]), StudyOptions())


def test_numbers_of_rows_ids_and_classes_must_be_equal():
    with pytest.raises(StudyError, match="2 rows, 1 ids and 2 classes"):
        Study(np.zeros((2, 1)), ["a"], ["x", "y"], StudyOptions())
