"""A study in a real browser, from the introduction to the thanks."""

from dataclasses import replace
from pathlib import Path

import pytest

import likewise.studio
from browser.conftest import READY, Served, blobs, pictures
from likewise.studio.project import Project
from likewise.studio.records import Described
from likewise.studio.study import SURVEY, Study, StudyOptions
from likewise.studio.study.answers import find_participants

OPTIONS = StudyOptions(n_pairs=3, n_triplets=2, practice=1)
KEYS = {"SAME": "s", "DIFFERENT": "d", "AB": "1", "AC": "2", "BC": "3", "NEITHER": "n"}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """A running study about squares in three colours."""
    folder = tmp_path_factory.mktemp("study")
    X, items, source, settings = pictures(folder)
    _, groups = blobs(len(items))
    items = [replace(item, truth=f"colour {group}") for item, group in zip(items, groups, strict=True)]
    project = Project.create(
        folder / "study.likewise",
        X=X,
        items=items,
        settings=replace(settings, study=OPTIONS.to_json()),
        described=Described("image", len(items), has_truth=True),
        source=source,
    )
    served = Served(project)
    served.study = Study(X, [i.id for i in items], [i.truth for i in items], OPTIONS)
    yield served
    served.stop()


def stage(visitor, name):
    visitor.page.wait_for_selector(f'[data-stage="{name}"]')


def answer(visitor, *, right=True):
    """Answer the current question, rightly or wrongly."""
    name = visitor.ready()
    asked = visitor.served.study.find(visitor.person.id, name).asked
    words = ["SAME", "DIFFERENT"] if asked.kind == "pair" else ["AB", "NEITHER"]
    word = asked.truth if right else next(one for one in words if one != asked.truth)
    visitor.page.keyboard.press(KEYS[word])
    return name, asked


def practise(visitor):
    """Answer the practice questions, and close the feedback to each."""
    for n in range(2):
        answer(visitor, right=n == 0)
        visitor.page.wait_for_selector("dialog.feedback[open]")
        visitor.page.get_by_role("button", name="Next question" if n == 0 else "Go on").click()
        visitor.page.wait_for_selector("dialog.feedback", state="detached")


def do_task(visitor, n):
    """Answer n questions correctly."""
    for _ in range(n):
        name, _ = answer(visitor)
        visitor.page.wait_for_selector(
            f'{READY}:not([data-question="{name}"]), [data-stage="break"], [data-stage="survey"]'
        )


def start(visitor, label):
    visitor.page.get_by_role("button", name=label).click()


def test_a_study_from_beginning_to_end(visit, held):
    ann = visit(held)
    stage(ann, "intro")
    assert ann.page.get_by_role("heading", name="Thank you for taking part").is_visible()
    start(ann, "Start")

    stage(ann, "practice")
    ann.ready()
    assert ann.page.locator(".study-line").inner_text().startswith("Practice · 1 of 2")
    answer(ann, right=False)
    ann.page.get_by_role("dialog", name="Not quite").wait_for()
    start(ann, "Next question")
    answer(ann)
    ann.page.get_by_role("dialog", name="Correct").wait_for()
    start(ann, "Go on")

    sizes = [len(task.questions) for task in held.study.get_tasks(ann.person.id)]
    stage(ann, "break")
    assert ann.page.get_by_role("heading", name="Practice is over").is_visible()
    start(ann, "Start task 1")
    stage(ann, "task")
    ann.ready()
    assert f"Task 1 of 2 · 1 of {sizes[0]}" in ann.page.locator(".study-line").inner_text()
    do_task(ann, sizes[0])
    stage(ann, "break")
    assert ann.page.get_by_role("heading", name="Task 1 of 2 is done").is_visible()
    start(ann, "Start task 2")
    do_task(ann, sizes[1])

    stage(ann, "survey")
    for question in SURVEY:
        group = ann.page.get_by_role("group", name=question.text)
        group.get_by_label("Triplets" if question.turned else "Pairs").check()
    ann.page.get_by_role("textbox").fill("Two are <b>easier</b> than three.")
    start(ann, "Send")
    stage(ann, "done")

    events = ann.events()
    (found,) = find_participants(held.study, events)
    assert found.finished
    assert all(one.answer == one.truth and one.seconds > 0 for one in (*found.pairs, *found.triplets))
    assert found.survey.comments == "Two are <b>easier</b> than three."
    assert (found.survey.preference, found.survey.frustration) == ("pair", "triplet")
    assert [e.body["source"] for e in events if e.kind == "answer"] == ["practice"] * 2 + ["study"] * 5


def test_axe_finds_nothing_on_the_pages_of_a_study(visit, held, axe):
    ann = visit(held)
    reply = {"reference": True, "answers": []}
    ann.page.route("**/api/study", lambda route: route.fulfill(json=reply))
    for name in ("intro", "break", "survey", "done"):
        task = {"number": 2, "of": 2, "kind": "triplet", "n": 2, "done": 0} if name == "break" else None
        reply.update(stage=name, task=task)
        ann.page.reload()
        stage(ann, name)
        assert axe(ann.page) == []


def test_axe_finds_nothing_on_practice(visit, held, axe):
    ann = visit(held, viewport={"width": 360, "height": 740})
    start(ann, "Start")
    ann.ready()
    assert axe(ann.page) == []
    answer(ann, right=False)
    ann.page.wait_for_selector("dialog.feedback[open]")
    assert axe(ann.page) == []


def test_a_study_has_no_unsure_skip_undo_note_or_broken_items(visit, held):
    ann = visit(held)
    start(ann, "Start")
    name = ann.ready()
    for label in ("Unsure", "Skip", "Undo", "Note", "Broken"):
        assert ann.page.get_by_role("button", name=label).count() == 0
    for key in "ukztx":
        ann.page.keyboard.press(key)
    assert ann.ready() == name
    assert ann.words() == ["stage"]


def test_the_owner_sees_the_progress_of_participants(visit, held, axe):
    ann = visit(held)
    start(ann, "Start")
    practise(ann)
    start(ann, "Start task 1")
    do_task(ann, 1)
    ann.saved()
    owner = visit(held, "owner")
    owner.go("people")
    part = owner.page.get_by_role("region", name="Progress of the participants")
    row = part.locator("tr", has_text=ann.person.name)
    row.get_by_text("answers questions").wait_for()
    assert "1 of 5" in row.inner_text()
    assert axe(owner.page) == []
    owner.page.get_by_label("Name of new person").fill("Zoe")
    owner.page.get_by_role("button", name="Add and create link").click()
    part.get_by_role("row", name="Zoe not started").wait_for(state="attached")  # below the dialog
    heads = owner.page.get_by_role("region", name="People").locator("thead").inner_text().split()
    assert heads == ["Name", "Role", "Answers", "Seconds", "Actions"]  # agreement needs shared questions


def test_a_study_continues_after_a_reload(visit, held):
    ann = visit(held)
    start(ann, "Start")
    practise(ann)
    stage(ann, "break")
    ann.page.reload()
    stage(ann, "break")
    start(ann, "Start task 1")
    do_task(ann, 1)
    ann.saved()
    second = ann.ready()
    ann.page.reload()
    assert ann.ready() == second == f"study-{ann.person.id}-t1-2"
    assert "2 of" in ann.page.locator(".study-line").inner_text()


def test_the_questionnaire_requires_all_five_answers(visit, held):
    ann = visit(held)
    reply = {"stage": "survey", "task": None, "reference": True, "answers": []}
    ann.page.route("**/api/study", lambda route: route.fulfill(json=reply))
    ann.page.reload()
    stage(ann, "survey")
    ann.page.get_by_label("Pairs").first.check()
    start(ann, "Send")
    assert ann.page.get_by_role("button", name="Send").is_enabled()
    assert ann.page.locator("input:invalid").count() > 0
    assert "survey" not in ann.words()


def test_the_reference_book_is_available_and_names_the_classes(visit, held, axe):
    ann = visit(held)
    stage(ann, "intro")
    ann.page.locator(".study").get_by_role("button", name="Reference book").click()
    dialog = ann.page.get_by_role("dialog")
    dialog.get_by_text("colour 2").wait_for()
    assert dialog.locator("figcaption").count() == 0  # names could tell the class
    places = [one.bounding_box() for one in dialog.locator("section").all()]
    assert len({place["y"] for place in places}) == 1  # beside one another
    assert axe(ann.page) == []


def test_no_reply_contains_the_truth_too_early(visit, held):
    ann = visit(held, shared=False)
    bodies = []
    ann.page.on("response", lambda response: bodies.append(response) if "/api/" in response.url else None)
    start(ann, "Start")
    practise(ann)
    start(ann, "Start task 1")
    do_task(ann, 1)
    ann.saved()
    sent = [
        one.json() for one in bodies if one.url.endswith(("/api/answers", "/api/questions", "/api/study"))
    ]
    right = [one["right"] for one in sent if "right" in one]
    assert [word is None for word in right] == [False, False, True]
    assert "colour" not in str(sent)


def test_the_page_asks_what_the_tables_count():
    script = (Path(likewise.studio.__file__).parent / "static" / "study_survey.js").read_text(
        encoding="utf-8"
    )
    assert all(f'name: "{one.name}", text: "{one.text}"' in script for one in SURVEY)
