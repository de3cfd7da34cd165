"""A study from its introduction to its end, and what is refused on the way."""

import threading

import numpy as np
import pytest

from likewise.exceptions import BadRequestError, ConflictError, NotAllowedError
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from likewise.studio.store import open_store
from studio.service.desk import Desk, new_key

N_PAIRS, N_TRIPLETS, PRACTICE = 6, 4, 2
SURVEY = {
    "performance": "pair",
    "effort_per_query": "triplet",
    "overall_effort": "none",
    "frustration": "none",
    "preference": "pair",
    "comments": "nice\x07",
}


def study_project(tmp_path):
    """Make a study about forty texts of two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + 4 * y[:, None]
    items = [
        Item(i, f"{'ab'[y[i]]}{i}", "text", f"text {i}", text="words", truth=f"class {'ab'[y[i]]}")
        for i in range(40)
    ]
    source = tmp_path / "texts.csv"
    source.write_text("x\n")
    options = {"n_pairs": N_PAIRS, "n_triplets": N_TRIPLETS, "practice": PRACTICE}
    return Project.create(
        tmp_path / "texts.likewise",
        X=X,
        items=items,
        settings=Settings("Texts", n_clusters=2, study=options),
        described=Described("text", 40, has_truth=True),
        source=source,
    )


@pytest.fixture
def desk(tmp_path):
    opened = Desk(study_project(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def ann(desk):
    return desk.person("Ann")


def go_on(desk, person, key=None):
    return desk.studio.asking.go_on(person, key or new_key())


def answer_all(desk, person):
    """Answer all questions of the current part; return the views."""
    found = []
    while questions := desk.ask(person, 3):
        found.append(desk.answer(person, questions[0], desk.true_word(questions[0])))
    return found


def to_the_end(desk, person):
    while (stage := desk.studio.asking.show_stage(person)["stage"]) not in ("survey", "done"):
        if stage in ("intro", "break"):
            go_on(desk, person)
        answer_all(desk, person)


def test_from_the_introduction_to_the_end(desk, ann):
    stages = [desk.studio.asking.show_stage(ann)]
    assert desk.ask(ann, 3) == []  # no questions before the introduction is left
    stages.append(go_on(desk, ann))
    practised = answer_all(desk, ann)
    for _ in range(2):
        stages.append(desk.studio.asking.show_stage(ann))
        stages.append(go_on(desk, ann))
        answered = answer_all(desk, ann)
        assert all(view["right"] is None for view in answered)  # only practice shows the right answer
        assert len(answered) == (N_PAIRS if stages[-1]["task"]["kind"] == "pair" else N_TRIPLETS)
    stages.append(desk.studio.asking.show_stage(ann))
    assert [stage["stage"] for stage in stages] == [
        *("intro", "practice", "break", "task", "break", "task", "survey")
    ]
    assert len(practised) == 2 * PRACTICE
    assert all(view["right"] for view in practised)
    assert {stage["task"]["kind"] for stage in stages if stage["stage"] == "task"} == {"pair", "triplet"}
    desk.studio.asking.store_survey(ann, new_key(), SURVEY)
    assert desk.studio.asking.show_stage(ann)["stage"] == "done"
    sources = [event.body["source"] for event in desk.events("answer")]
    assert sources == ["practice"] * 2 * PRACTICE + ["study"] * (N_PAIRS + N_TRIPLETS)
    desk.settle()
    assert desk.asking.show_progress(ann)["n_answers"] == N_PAIRS + N_TRIPLETS
    assert desk.asking.show_progress(ann)["fitting"] is False


def test_practice_is_marked_and_does_not_count(desk, ann):
    go_on(desk, ann)
    (question,) = desk.ask(ann, 1)
    assert question["practice"] is True
    desk.answer(ann, question, "SAME" if question["kind"] == "pair" else "AB")
    assert desk.asking.show_progress(ann)["n_answers"] == 0
    assert desk.asking.show_progress(ann)["behind"] == 0


def test_the_owner_sees_how_far_participants_are(desk, ann):
    bob = desk.person("Bob")
    go_on(desk, bob)
    answer_all(desk, bob)  # practice, which does not count
    to_the_end(desk, ann)
    assert desk.studio.asking.show_participants()["n_finished"] == 0
    desk.studio.asking.store_survey(ann, new_key(), SURVEY)
    shown = desk.studio.asking.show_participants()
    assert shown["n_finished"] == 1
    first, second = sorted(shown["participants"], key=lambda one: one["name"])
    n = N_PAIRS + N_TRIPLETS
    assert (first["name"], first["stage"], first["done"], first["n"]) == ("Ann", "done", n, n)
    assert first["seconds"] > 0
    assert (second["name"], second["stage"], second["done"]) == ("Bob", "break", 0)
    assert second["last"] is not None
    carl = desk.person("Carl")
    last = desk.studio.asking.show_participants()["participants"][-1]
    assert (last["id"], last["stage"], last["last"]) == (carl.id, "intro", None)


def test_a_question_does_not_reveal_its_answer(desk, ann):
    to_the_end(desk, ann)
    bob = desk.person("Bob")
    go_on(desk, bob)
    answer_all(desk, bob)
    go_on(desk, bob)
    seen = str(desk.ask(bob, 3)) + str(desk.asking.show_history(bob, None, 50)) + str(desk.groups.show_all())
    assert "class " not in seen
    assert "easy" not in seen
    assert "difficult'" not in seen


def test_the_reference_book_has_one_example_of_each_class(desk, ann):
    book = desk.groups.show_reference(ann)
    assert book["given"] is True
    assert [(group["name"], len(group["items"])) for group in book["groups"]] == [
        ("class a", 1),
        ("class b", 1),
    ]


def test_skips_undos_and_statements_are_refused(desk, ann):
    go_on(desk, ann)
    (question,) = desk.ask(ann, 1)
    for act in (
        lambda: desk.skip(ann, question),
        lambda: desk.undo(ann),
        lambda: desk.undo(desk.owner),
        lambda: desk.groups.remove_item(ann, 0, key=new_key(), row=0),
        lambda: desk.studio.repairs.repair(ann, key=new_key(), act="shelve", rows=[0]),
        lambda: desk.studio.repairs.repair(desk.owner, key=new_key(), act="split", rows=[0, 1]),
        lambda: desk.asking.keep(desk.owner, key=new_key(), of=1),
        lambda: desk.asking.ask_again(desk.owner, key=new_key(), of=1),
    ):
        with pytest.raises(NotAllowedError):
            act()
    assert not desk.events("answer", "skip", "undo", "repair")


@pytest.mark.parametrize("word", ["UNSURE", "same", "XYZ"])
def test_unsure_is_refused(desk, ann, word):
    go_on(desk, ann)
    with pytest.raises(ConflictError, match="not offered"):
        desk.answer(ann, desk.ask(ann, 1)[0], word)


def test_a_question_is_answered_once_and_in_its_part(desk, ann):
    go_on(desk, ann)
    first = desk.ask(ann, 1)[0]
    word = desk.true_word(first)
    key = new_key()
    seq = desk.answer(ann, first, word, key=key)["seq"]
    assert desk.answer(ann, first, word, key=key)["seq"] == seq  # sent again
    with pytest.raises(ConflictError, match="not open"):
        desk.answer(ann, first, word)
    with pytest.raises(ConflictError, match="not open"):  # of a task that has not begun
        desk.answer(ann, {"id": f"study-{ann.id}-t2-1"}, "SAME")
    wrong = next(w for w in ("SAME", "DIFFERENT", "AB", "AC") if w != word)
    with pytest.raises(ConflictError, match="another answer"):
        desk.answer(ann, first, wrong, key=key)


def test_nobody_can_answer_the_questions_of_others(desk, ann):
    bob = desk.person("Bob")
    go_on(desk, ann)
    go_on(desk, bob)
    (theirs,) = desk.ask(bob, 1)
    with pytest.raises(ConflictError, match="not open"):
        desk.answer(ann, theirs, desk.true_word(theirs))


def in_tabs(work):
    """Do the same in eight tabs at once; return what each got."""
    gate, found = threading.Barrier(8), []

    def tab():
        gate.wait()
        try:
            found.append(work())
        except ConflictError as error:
            found.append(str(error))

    tabs = [threading.Thread(target=tab) for _ in range(8)]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join()
    return found


def check_tabs(desk):
    ann = desk.person("Ann")
    in_tabs(lambda: go_on(desk, ann))
    assert len(desk.events("stage")) == 1
    (question,) = desk.ask(ann, 1)
    found = in_tabs(lambda: desk.answer(ann, question, desk.true_word(question))["new"])
    assert found.count(True) == 1
    assert len(desk.events("answer")) == 1
    to_the_end(desk, ann)
    in_tabs(lambda: desk.studio.asking.store_survey(ann, new_key(), SURVEY))
    assert len(desk.events("survey")) == 1


def test_several_tabs_do_each_thing_once(desk):
    check_tabs(desk)


def test_several_tabs_do_each_thing_once_on_postgresql(tmp_path, postgres_url):
    """There, two transactions run at once, and neither sees what the other is about to commit."""
    store = open_store(postgres_url, backups=tmp_path / "backups")
    desk = Desk(study_project(tmp_path), store=store)
    try:
        check_tabs(desk)
    finally:
        desk.close()
        store.close()


def test_nobody_can_go_on_before_the_part_is_done_or_twice(desk, ann):
    key = new_key()
    assert go_on(desk, ann, key)["stage"] == "practice"
    assert go_on(desk, ann, key)["stage"] == "practice"  # sent again
    assert len(desk.events("stage")) == 1
    with pytest.raises(ConflictError):
        go_on(desk, ann)
    with pytest.raises(ConflictError, match="after all questions"):
        desk.studio.asking.store_survey(ann, new_key(), SURVEY)


def test_the_questionnaire_can_be_submitted_once(desk, ann):
    to_the_end(desk, ann)
    with pytest.raises(BadRequestError):
        desk.studio.asking.store_survey(ann, new_key(), {**SURVEY, "preference": "both"})
    key = new_key()
    for _ in range(2):
        assert desk.studio.asking.store_survey(ann, key, SURVEY) == {"done": True}
    with pytest.raises(ConflictError, match="already"):
        desk.studio.asking.store_survey(ann, new_key(), SURVEY)
    with pytest.raises(ConflictError):
        go_on(desk, ann)
    assert len(desk.events("survey")) == 1


def test_a_study_goes_on_after_a_restart(desk, ann):
    go_on(desk, ann)
    answer_all(desk, ann)
    go_on(desk, ann)
    before = desk.ask(ann, 3)
    again = desk.again()
    try:
        assert [q["id"] for q in again.ask(ann, 3)] == [q["id"] for q in before]
        to_the_end(again, ann)
        assert again.studio.asking.show_stage(ann)["stage"] == "survey"
    finally:
        again.close()
