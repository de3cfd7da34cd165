"""Screen readers and keyboards: axe-core finds nothing in any state; all is reachable and announced."""

import pytest


@pytest.mark.parametrize("kind", ["pictures", "texts", "sounds"])
def test_axe_finds_nothing_on_questions(visit, studios, axe, kind):
    ann = visit(studios(kind))
    ann.press("3")
    ann.saved()
    assert axe(ann.page) == []
    if kind == "texts":
        ann.page.set_viewport_size({"width": 360, "height": 740})
        assert axe(ann.page) == []


def test_axe_finds_nothing_on_dialogs_and_history(visit, studio, axe):
    ann = visit(studio)
    ann.press("s")
    ann.saved()
    header = ann.page.locator("header")
    for opener in ("?", "r", " ", "Settings", "saved"):
        if len(opener) == 1:
            ann.page.keyboard.press(opener)
        else:
            header.get_by_role("button", name=opener).click()
        ann.page.wait_for_selector("dialog[open]")
        assert axe(ann.page) == []
        ann.page.keyboard.press("Escape")
        ann.page.wait_for_selector("dialog", state="detached")
    ann.go("history")
    ann.page.wait_for_selector(".past")
    assert axe(ann.page) == []
    ann.page.get_by_role("button", name="Undo: Same").click()
    ann.page.wait_for_selector(".past.undone")
    assert axe(ann.page) == []


def test_axe_finds_nothing_while_there_is_a_problem(visit, studio, axe):
    ann = visit(studio)
    ann.ready()
    ann.context.set_offline(True)
    for _ in range(3):
        ann.page.keyboard.press("s")
        ann.page.wait_for_timeout(1)
        if ann.page.get_attribute("section.question", "data-state") == "ready":
            ann.ready()
    ann.saved("stuck")
    assert axe(ann.page) == []
    ann.context.set_offline(False)
    ann.saved()


def test_axe_finds_nothing_between_questions(visit, studio, axe):
    ann = visit(studio)
    reply = {"questions": [], "state": "thinking", "message": None}
    ann.page.route("**/api/questions", lambda route: route.fulfill(json=reply))
    for state in ("thinking", "finished"):
        reply["state"] = state
        ann.page.reload()
        ann.page.wait_for_selector(f'[data-state="{state}"]')
        assert axe(ann.page) == []


def test_the_next_question_and_saving_are_announced(visit, studio):
    ann = visit(studio)
    ann.press("s")
    live = ann.page.locator("#live")
    title = ann.page.locator("figcaption .title").first.inner_text()
    live.get_by_text(title).wait_for(state="attached")
    assert live.inner_text().startswith("Do these belong together?")
    ann.page.locator('header [role="status"]').get_by_text("Saved").wait_for(state="attached")


def test_all_answers_can_be_reached_by_tab_and_keep_the_focus(visit, studio):
    ann = visit(studio)
    ann.ready()
    seen = []
    for _ in range(30):
        ann.page.keyboard.press("Tab")
        seen.append(ann.page.evaluate("document.activeElement.dataset.action ?? ''"))
        if seen[-1] == "pair.same":
            break
    assert [name for name in seen if name.startswith("pair.")] == [
        "pair.different",
        "pair.unsure",
        "pair.same",
    ]
    outline = ann.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    before = ann.ready()
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{before}"])')
    assert ann.page.evaluate("document.activeElement.dataset.action") == "pair.same"
    ann.saved()
    assert ann.words() == ["SAME"]
