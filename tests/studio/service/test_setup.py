"""What the owner sets in the page: stored at once, used without a restart, and refused if it is wrong."""

import dataclasses
import io
import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from likewise.exceptions import (
    BadRequestError,
    ConflictError,
    FileFormatError,
    NotAllowedError,
    NotFoundError,
)
from likewise.studio.project import Project
from likewise.studio.records import QueuedQuestion
from likewise.studio.wording import QUESTIONS, Wording
from patience import wait_until
from small_projects import make
from studio.service.desk import Desk, names, new_key, open_desk
from studio.study.test_desk import study_project


@pytest.fixture
def desk(tmp_path):
    desk = open_desk(tmp_path, n=16)
    yield desk
    desk.close()


@pytest.fixture
def ann(desk):
    return desk.person("Ann")


def png(size=(40, 30)):
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, "PNG")
    return out.getvalue()


# ---------------------------------------------------------------------- wording


def test_questions_are_asked_in_the_words_of_the_owner(desk, ann):
    assert desk.ask(ann)[0]["text"] == QUESTIONS["pair"]
    desk.studio.setup.change(
        {"criterion": " the same species ", "questions": {"pair": "Same bird?"}, "title": "Wrens"}
    )
    assert desk.ask(ann)[0]["text"] == "Same bird?"
    shown = desk.studio.show_me(ann)["project"]
    assert (shown["title"], shown["criterion"], shown["has_guide"]) == ("Wrens", "the same species", False)
    desk.studio.setup.change({"questions": {"pair": ""}})
    assert desk.ask(ann)[0]["text"] == QUESTIONS["pair"]
    assert desk.studio.setup.show()["criterion"] == "the same species"


def test_settings_and_wording_survive_and_are_seen_by_other_processes(desk):
    desk.studio.setup.change({"criterion": "the same", "overlap": 3, "examples": [("Wren", [2, 5])]})
    other = Project.open(desk.project.folder)
    assert other.settings.overlap == 3
    assert other.wording == Wording("the same", {}, "", (("Wren", ("a2", "a5")),))
    # another process, such as the command line, changes a setting meanwhile
    other.with_settings(dataclasses.replace(other.settings, title="Elsewhere"))
    desk.studio.use_changes()
    assert desk.project.settings.title == "Elsewhere"
    assert desk.project.settings.overlap == 3


def test_a_project_of_an_older_version_opens_and_stays_readable_for_it(tmp_path):
    project = make(tmp_path)
    content = json.loads((project.folder / "project.json").read_text())
    assert "independent" not in content["settings"]
    assert "wording" not in content
    assert content["version"] == 1
    project.change_settings(lambda settings, wording: (settings, Wording("the same")))
    content = json.loads((project.folder / "project.json").read_text())
    assert "independent" not in content["settings"]
    assert content["version"] == 1  # an older likewise ignores the wording
    assert Project.open(project.folder).wording.criterion == "the same"


@pytest.mark.parametrize(
    ("wording", "match"),
    [
        ({"criterion": "two\nlines"}, "one line"),
        ({"criterion": 3}, "must be a text"),
        ({"questions": {"riddle": "?"}}, "no kind of question 'riddle'"),
        ({"surprise": 1}, "unknown entries"),
        ({"examples": [["", ["a0"]]]}, "need the name"),
        ([], "must be an object"),
    ],
)
def test_a_damaged_wording_in_the_file_is_reported(tmp_path, wording, match):
    project = make(tmp_path)
    path = project.folder / "project.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"wording": wording}))
    with pytest.raises(FileFormatError, match=match):
        Project.open(project.folder)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"title": "  "}, "must not be empty"),
        ({"title": "x" * 101}, "can have at most 100"),
        ({"criterion": "a\u202eb"}, "control characters"),
        ({"criterion": "x" * 301}, "can have at most 300"),
        ({"guideline": "x" * 20_001}, "can have at most 20,000"),
        ({"guideline": "a\x00b"}, "control characters"),
        ({"guideline": "![a](item:16)"}, "no item '16'; there are 16"),
        ({"guideline": "![a](item:x)"}, "no item 'x'"),
        ({"guideline": "![a](picture:0123456789abcdef)"}, "no uploaded picture"),
        ({"questions": {"pair": "x" * 201}}, "can have at most 200"),
        ({"examples": [("A", [])]}, "1 to 24 items"),
        ({"n_clusters": 1}, "between 2 and the number of items, 16; got 1"),
        ({"n_clusters": 17}, "got 17"),
        ({"overlap": 0}, "between 1 and 20"),
        ({"budget": -1}, "The budget must be between"),
    ],
)
def test_wrong_settings_are_refused_and_change_nothing(desk, change, match):
    before = (desk.project.folder / "project.json").read_bytes()
    with pytest.raises(BadRequestError, match=match):
        desk.studio.setup.change({"criterion": "good", **change})
    assert (desk.project.folder / "project.json").read_bytes() == before
    with pytest.raises(NotFoundError, match="no item 99"):
        desk.studio.setup.change({"examples": [("A", [99])]})


def test_a_killed_process_leaves_the_old_settings_or_the_new_ones(tmp_path):
    project = make(tmp_path)
    code = (
        "import sys, itertools\n"
        "from dataclasses import replace\n"
        "from likewise.studio.project import Project\n"
        "from likewise.studio.wording import Wording\n"
        "project = Project.open(sys.argv[1])\n"
        "for n in itertools.count(2):\n"
        "    project.change_settings(lambda s, w: (replace(s, overlap=n), Wording('x' * 300)))\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", code, project.folder], stdout=subprocess.PIPE, env=os.environ
        )
        acknowledged = [int(child.stdout.readline()) for _ in range(8)][-1]
        child.kill()
        child.communicate()
        assert Project.open(project.folder).settings.overlap >= acknowledged
        project.with_settings(dataclasses.replace(project.settings, overlap=1))  # the lock is free


# ---------------------------------------------------------------------- how it is asked


def test_the_kind_of_question_and_the_number_of_groups_change_without_a_restart(desk, ann):
    desk.studio.setup.change({"ask": "triplets", "n_clusters": 3})
    desk.settle()
    assert desk.teller.analysis.settings.ask == "triplets"
    assert desk.teller.analysis.settings.n_clusters == 3
    wait_until(
        lambda: {one["kind"] for one in desk.ask(desk.person(new_key()), 2)} == {"triplet"}, "triplets"
    )
    desk.studio.setup.change({"n_clusters": None, "ask": "default"})
    assert desk.project.settings.discover


def test_a_larger_budget_brings_questions_back(desk, ann):
    desk.studio.setup.change({"budget": 1})
    desk.settle()
    desk.answer(ann, desk.ask(ann)[0], "SAME")
    desk.settle()
    assert desk.asking.give_questions(ann, 1)["state"] == "finished"
    desk.studio.setup.change({"budget": None})
    desk.settle()
    assert desk.ask(ann)


def test_pages_are_told_of_changes(desk):
    seen, analysis = [], desk.teller.analysis
    leave = desk.hub.watch(lambda name, content: seen.append(name))
    desk.studio.setup.change({"criterion": "the same"})
    assert seen.count("settings") == 1
    assert desk.teller.analysis is analysis  # no restart for a word
    desk.studio.setup.change({"ask": "triplets"})
    assert seen.count("settings") == 2
    assert desk.teller.analysis is not analysis
    leave()


def test_chosen_examples_are_the_face_of_their_group_in_questions(desk):
    desk.settle()
    labels, items = desk.studio.hub.picture.labels, names(16)
    one = [items[row] for row in range(16) if labels[row] == labels[0]]
    other = [items[row] for row in range(16) if labels[row] != labels[0]]
    asked = QueuedQuestion(
        "q", "placement", (one[-1], one[0], other[0]), examples=((one[0], one[1]), (other[0], other[1]))
    )

    def show():
        found = desk.asking._show_groups(asked)
        return [(group["name"], [item["id"] for item in group["items"]]) for group in found]

    assert show() == [(None, [one[0], one[1]]), (None, [other[0], other[1]])]
    rows = [items.index(item) for item in (one[-1], one[2], other[3])]  # most of them are in the first group
    desk.studio.setup.change({"examples": [("Wren", rows)]})
    # The item to place is not its own example.
    assert show() == [("Wren", [one[2], other[3]]), (None, [other[0], other[1]])]
    desk.studio.setup.change({"examples": [("Wren", [items.index(one[2])])]})
    assert show() == [("Wren", [one[2], one[0]]), (None, [other[0], other[1]])]
    number = int(labels[items.index(other[0])])
    desk.groups.name_group(desk.owner, number, key=new_key(), name="Wren")
    desk.settle()
    assert show()[1] == ("Wren", [one[2], other[0]])  # the owner's name of a group decides


def test_chosen_examples_never_rename_a_group(desk):
    desk.settle()
    labels, items = desk.studio.hub.picture.labels, names(16)
    one = [row for row in range(16) if labels[row] == labels[0]]
    other = [row for row in range(16) if labels[row] != labels[0]]
    asked = QueuedQuestion("q", "placement", (items[one[-1]], items[one[0]], items[other[0]]))
    desk.groups.name_group(desk.owner, int(labels[0]), key=new_key(), name="Robin")
    desk.settle()
    # Most wrens are in the group of robins, which keeps its name; robins elsewhere name nothing else.
    examples = [("Wren", [*one[:2], other[1]]), ("Robin", other[2:4])]
    desk.studio.setup.change({"examples": examples})
    assert [group["name"] for group in desk.asking._show_groups(asked)] == ["Robin", "Wren"]


def test_questions_show_groups_of_items_that_the_picture_lacks(desk):
    desk.settle()
    hub, items = desk.studio.hub, names(16)
    hub.picture = dataclasses.replace(hub.picture, labels=hub.picture.labels[:10])
    asked = QueuedQuestion("q", "placement", (items[0], items[1], items[12]))
    desk.studio.setup.change({"examples": [("Wren", [13])]})
    assert [group["name"] for group in desk.asking._show_groups(asked)] == [None, None]


# ---------------------------------------------------------------------- independent annotators


@pytest.mark.parametrize(
    ("overlap", "independent", "hidden"),
    [(1, None, False), (2, None, True), (2, False, False), (1, True, True)],
)
def test_independent_annotators_see_no_reasons_and_no_groups(desk, ann, overlap, independent, hidden):
    desk.studio.setup.change({"overlap": overlap, "independent": independent})
    desk.state(desk.owner, "a0", "a1", "SAME")
    desk.settle()
    assert (desk.ask(ann)[0]["why"] == "") is hidden
    assert desk.ask(desk.owner)[0]["why"]
    assert (desk.asking.show_progress(ann)["groups"] == 0) is hidden
    assert (desk.groups.show_reference(ann)["groups"] == []) is hidden
    assert desk.groups.show_reference(desk.owner)["groups"]
    assert desk.studio.show_me(ann)["project"]["shows_groups"] is not hidden
    assert desk.studio.show_me(desk.owner)["project"]["shows_groups"]
    desk.studio.setup.change({"examples": [("Wren", [0, 1])]})
    assert [group["name"] for group in desk.groups.show_reference(ann)["groups"]] == ["Wren"]


# ---------------------------------------------------------------------- guideline


def test_a_guideline_has_pictures_and_items(desk):
    digest = desk.studio.setup.receive_picture("leaf.png", png())["picture"]
    text = f"# Birds\n\n![one](item:3) ![two](item:0) ![three](item:3) ![leaf](picture:{digest})"
    desk.studio.setup.change({"guideline": text})
    guide = desk.studio.setup.show_guide()
    assert [item["row"] for item in guide["items"]] == [3, 0]
    assert guide["text"] == text
    with Image.open(io.BytesIO(desk.studio.setup.read_picture(digest))) as image:
        assert (image.format, image.size) == ("WEBP", (40, 30))


def test_pictures_are_drawn_anew_and_others_refused(desk):
    script = b"<script>alert(1)</script>"
    digest = desk.studio.setup.receive_picture("a.png", png() + script)["picture"]
    assert script not in desk.studio.setup.read_picture(digest)
    for content in (b"<svg/>", b"", png()[:60]):
        with pytest.raises(BadRequestError, match=r"not a picture|cannot be read"):
            desk.studio.setup.receive_picture("a.png", content)
    with pytest.raises(NotFoundError):
        desk.studio.setup.read_picture("0" * 16)


def test_pictures_that_nothing_mentions_are_removed_after_a_day(desk):
    kept, lost = (
        desk.studio.setup.receive_picture("a.png", png(size))["picture"] for size in ((9, 9), (8, 8))
    )
    desk.studio.setup.change({"guideline": f"![a](picture:{kept})"})
    for path in (desk.project.folder / "guideline").iterdir():
        os.utime(path, (0, 0))
    desk.studio.setup.change({"title": "Birds"})
    assert [path.stem for path in (desk.project.folder / "guideline").iterdir()] == [kept]
    assert lost != kept


# ---------------------------------------------------------------------- notes and broken items


def test_a_note_is_stored_with_the_answer(desk, ann):
    question = desk.ask(ann)[0]
    desk.asking.answer(
        ann, key=new_key(), question=question["id"], answer="SAME", seconds=1.0, note=" blurred "
    )
    assert desk.events("answer")[-1].body["note"] == "blurred"
    assert desk.asking.show_history(desk.owner, None, 5)["events"][0]["note"] == "blurred"
    with pytest.raises(BadRequestError, match="A note can have at most 1,000"):
        desk.asking.answer(
            ann, key=new_key(), question=desk.ask(ann)[0]["id"], answer="SAME", seconds=1.0, note="x" * 1001
        )


def report(desk, person, question, row, key=None):
    return desk.studio.broken.report(person, key=key or new_key(), row=row, question=question, note="empty")


def test_a_broken_item_is_no_longer_asked_about_and_can_be_put_back(desk, ann):
    question = desk.ask(ann)[0]
    item = question["items"][0]
    key = new_key()
    event = report(desk, ann, question["id"], item["row"], key)
    assert report(desk, ann, question["id"], item["row"], key) == {**event, "new": False}
    assert not report(desk, desk.owner, None, item["row"])["new"]  # it is broken already
    desk.settle()
    asked = [one for many in desk.ask_to_the_end(ann, 3) for one in answer_all(desk, ann, many)]
    assert asked
    assert not [one for one in asked if item["id"] in [other["id"] for other in one["items"]]]
    (listed,) = desk.studio.broken.show()["items"]
    assert (listed["item"]["id"], listed["person"], listed["note"]) == (item["id"], "Ann", "empty")
    assert desk.asking.show_history(ann, None, 200)["events"][-1]["kind"] == "broken"
    desk.undo(desk.owner, of=event["seq"])
    assert desk.studio.broken.show()["items"] == []


def answer_all(desk, person, questions):
    for question in questions:
        desk.answer(person, question, desk.true_word(question))
    desk.settle()
    return questions


def test_annotators_report_only_items_they_were_asked_about(desk, ann):
    question = desk.ask(ann)[0]
    shown = {item["row"] for item in question["items"]}
    other = next(row for row in range(16) if row not in shown)
    for asked, row in ((question["id"], other), (None, other), ("nothing", other)):
        with pytest.raises(NotFoundError, match="not asked about"):
            report(desk, ann, asked, row)
    with pytest.raises(NotFoundError, match="not asked about"):
        report(desk, desk.person("Bob"), question["id"], min(shown))
    assert report(desk, desk.owner, None, other)["new"]


@pytest.mark.parametrize("ask", ["pairs", "triplets", "groups"])
def test_the_worker_chooses_no_questions_about_broken_items(tmp_path, ask):
    desk = open_desk(tmp_path, n=16, ask=ask, n_clusters=None if ask == "groups" else 2)
    try:
        for row in (0, 3, 9, 15):
            report(desk, desk.owner, None, row)
        desk.settle()
        broken = {names(16)[row] for row in (0, 3, 9, 15)}
        found = desk.teller.analysis.choose_questions(40).questions
        assert found
        assert not [question for question in found if broken & set(question.judged)]
    finally:
        desk.close()


# ---------------------------------------------------------------------- studies


def test_how_a_study_asks_cannot_be_changed(tmp_path):
    desk = Desk(study_project(tmp_path))
    try:
        desk.studio.setup.change({"criterion": "the same class", "title": "Study 2"})
        assert desk.studio.show_me(desk.person("Bob"))["project"]["criterion"] == "the same class"
        with pytest.raises(ConflictError, match="cannot be changed"):
            desk.studio.setup.change({"overlap": 2})
        with pytest.raises(NotAllowedError, match="study"):
            report(desk, desk.owner, None, 0)
    finally:
        desk.close()
