"""Problems that new users met on the pages: sentences, scripts, small groups."""

import json

import pytest

PROGRESS = {
    "advice": "",
    "reason": "",
    "n_answers": 40,
    "worth_asking": True,
    "changed": 0.0,
    "accuracy": None,
    "interval": None,
}


def module(page, name, code):
    """Run a function of a module of the page."""
    return page.evaluate(f"async () => ({code})(await import(new URL('static/{name}', document.baseURI)))")


def ask(visitor, items):
    """Show a given question."""
    blank = {"text": None, "cells": [], "media": None, "thumb": None, "spectrogram": None, "broken": None}
    shown = [
        {**blank, "row": row, "id": f"i{row}", "title": f"i{row}", **item} for row, item in enumerate(items)
    ]
    question = {
        "id": "q",
        "kind": "pair",
        "text": "Do these belong together?",
        "why": "",
        "items": shown,
        "groups": [],
        "practice": False,
        "until": 9e9,
    }
    reply = {"questions": [question], "state": "ready", "message": None}
    visitor.page.route("**/api/questions", lambda route: route.fulfill(json=reply))
    visitor.page.reload()
    visitor.ready()


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        ({"n_answers": 3, "reason": "early"}, "too early"),
        ({"changed": 0.3, "reason": "changing"}, "the next ten will probably move about as many"),
        ({"reason": "untested"}, "too few answers yet to test"),
        ({"reason": "inaccurate", "accuracy": 0.6, "interval": [0.4, 0.8]}, "not predict"),
        ({"reason": "uncertain", "accuracy": 0.9, "interval": [0.7, 1.0]}, "Go on a little"),
        ({"reason": "settled", "accuracy": 1.0, "worth_asking": False}, "You can stop"),
        ({"reason": "settled"}, "unless they find something new"),
        ({"reason": "unsure", "worth_asking": False}, "all “Unsure”"),
        (
            {"reason": "finished", "advice": "The budget is spent.", "worth_asking": False},
            "The budget is spent.",
        ),
    ],
)
def test_advice_is_in_plain_words(run, progress, expected):
    sentence = run("progress.js", f"m => m.adviceSentence({json.dumps({**PROGRESS, **progress})})")
    assert expected in sentence
    assert "label" not in sentence


def test_progress_reports_predicted_answers_and_not_items_in_the_right_group(run):
    known = json.dumps({**PROGRESS, "accuracy": 0.894, "interval": [0.8, 0.95]})
    assert run("progress.js", f"m => m.testSentence({known})") == (
        "Test: groups computed without some of the answers predict 89 % of these correctly "
        "(likely between 80 % and 95 %)."
    )


def test_three_answers_are_not_called_the_last_ten(run):
    for n, words in ((3, "The answers so far moved no item"), (12, "The last ten answers moved no item")):
        known = json.dumps({**PROGRESS, "n_answers": n})
        assert run("progress.js", f"m => m.changeSentence({known})").startswith(words)


def test_right_to_left_text_keeps_its_direction_with_marks(visit, studios):
    ann = visit(studios("texts"))
    ask(ann, [{"kind": "text", "text": "قهوة ساخنة"}, {"kind": "text", "text": "hot coffee"}])
    assert ann.page.locator(".text mark").count() == 2
    directions = ann.page.eval_on_selector_all(
        ".text", "all => all.map(one => getComputedStyle(one).direction)"
    )
    assert directions == ["rtl", "ltr"]


def test_empty_cells_that_differ_can_be_read(visit, studios, axe):
    ann = visit(studios("texts"))
    ask(ann, [{"kind": "row", "cells": [["colour", value], ["note", ""]]} for value in ("red", "")])
    assert ann.page.locator("tr.apart .muted").count() == 1
    assert axe(ann.page) == []


def test_at_double_zoom_the_buttons_do_not_cover_the_items(visit, studios):
    ann = visit(studios("texts"), viewport={"width": 640, "height": 400})
    ann.ready()
    items, desk = (ann.page.locator(name).bounding_box() for name in (".items", ".desk"))
    assert items["y"] + items["height"] <= desk["y"]


def test_undo_reports_what_was_undone_and_names_are_in_the_history(visit, studio):
    ann = visit(studio)
    ann.go("groups")
    ann.page.get_by_role("button", name="Rename").first.click()
    ann.page.keyboard.type("owls")
    ann.page.keyboard.press("Enter")
    ann.page.locator(".hint-notice").wait_for()
    ann.go("history")
    ann.page.locator(".past").get_by_text("Named “owls”").wait_for()
    ann.go("question")
    ann.ready()
    ann.page.keyboard.press("z")
    ann.page.locator(".toast").get_by_text("Undone: Named “owls”").wait_for()
    named, undone = ann.events()[-2:]
    assert (named.kind, undone.kind, undone.body["of"]) == ("name", "undo", named.seq)


def test_long_messages_leave_the_undo_button_whole(visit, studio):
    ann = visit(studio)
    reply = {"seq": 1, "new": True, "message": "Saved as a hint. " * 20}
    ann.page.route("**/api/groups/*/not-here", lambda route: route.fulfill(json=reply))
    ann.go("groups")
    ann.page.get_by_role("button", name="does not belong here").first.click()
    box = ann.page.locator(".hint-notice").get_by_role("button", name="Undo").bounding_box()
    assert box["width"] > box["height"]


def test_no_member_is_both_typical_and_doubtful_on_one_card(visit, studio):
    ann = visit(studio)
    item = {"id": "a", "kind": "image", "title": "a", "text": None, "cells": [], "media": None, "thumb": None}
    some = [{**item, "row": row, "spectrogram": None, "broken": None} for row in range(6)]
    group = {
        "number": 0,
        "name": None,
        "size": 6,
        "color": "#336699",
        "description": [],
        "typical": some[:5],
        "doubtful": some[::-1],
    }
    alone = {**group, "number": 1, "size": 1, "typical": some[:1], "doubtful": some[:1]}
    reply = {"seq": 1, "groups": [group, alone]}
    ann.page.route("**/api/groups", lambda route: route.fulfill(json=reply))
    ann.go("groups")
    ann.page.wait_for_selector(".group-card")
    rows = "all => all.map(one => one.dataset.row)"
    assert sorted(ann.page.locator(".group-card").nth(0).locator(".item-card").evaluate_all(rows)) == list(
        "012345"
    )
    assert ann.page.locator(".group-card").nth(1).locator(".item-card").evaluate_all(rows) == ["0"]


def test_sounds_of_the_reference_book_can_be_heard(visit, studios, axe):
    ann = visit(studios("sounds"))
    ann.ready()
    ann.page.keyboard.press("r")
    ann.page.locator(".reference .item-card button").first.click()
    ann.page.wait_for_selector("dialog[open] .closer audio")
    assert axe(ann.page) == []
    ann.page.keyboard.press("Escape")
    ann.page.wait_for_selector(".closer", state="detached")
    assert ann.page.locator("dialog[open] .reference").count() == 1


@pytest.mark.parametrize(("study", "words"), [(False, ["Unsure", "Skip"]), (True, ["Three items", "No two"])])
def test_help_lists_only_the_available_actions(visit, studio, study, words):
    ann = visit(studio)
    ann.ready()
    module(
        ann.page,
        "settings.js",
        f"""m => m.openHelp({{keys: {{enabled: true, of: () => []}},
          me: {{project: {{ask: "pairs", kind: "image", study: {json.dumps(study)}}}}}}})""",
    )
    text = ann.page.locator("dialog[open]").inner_text()
    assert all(word in text for word in words)
    assert "Play sound" not in text
    assert ("Skip" in text) is ("Undo" in text) is ("Unsure" in text) is not study


def test_a_question_that_the_server_withdrew_is_not_shown(visit, studio):
    ann = visit(studio)
    ann.ready()
    items = ann.page.evaluate("() => fetch('api/items?rows=0,1').then(reply => reply.json())")["items"]
    blank = {"kind": "pair", "text": "", "why": "", "items": items, "groups": []}
    q = {name: {**blank, "id": name, "practice": False, "until": 9e9} for name in "abcd"}
    batch = {"questions": [q["a"], q["b"], q["c"]], "state": "ready", "message": None}
    reply = {
        "seq": 1,
        "new": True,
        "next": [q["b"], q["d"]],
        "state": "ready",
        "message": None,
        "right": None,
    }
    ann.page.route("**/api/questions", lambda route: route.fulfill(json=batch))
    ann.page.route("**/api/answers", lambda route: route.fulfill(json=reply))
    ann.page.reload()
    assert ann.press("s") == ("a", "b")
    ann.saved()
    batch["questions"] = reply["next"]
    ann.page.wait_for_function(
        """async () => (await navigator.locks.query()).held.some(lock => lock.name.endsWith(" d"))"""
    )
    assert ann.press("s") == ("b", "d")  # and not c, which is implied by the answer to a
