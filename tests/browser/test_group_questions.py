"""Questions about groups in a real browser: keys and taps, on a large and a small screen."""

import uuid

import pytest

from likewise.studio.records import NewEvent, QueuedQuestion

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PHONE = {"width": 390, "height": 844}


def name(row):
    return f"square-{row:02d}.png"


def ask(served, kind, rows, **shown):
    """Undo all answers, queue one question, which only people who come later can see, and return its id."""
    hub = served.studio.hub
    hub._refill = lambda ready: None  # from now on the questions of the worker are left out
    for event in hub.log.get_counted("answer"):
        hub.add_event(NewEvent(uuid.uuid4().hex, "undo", event.person, {"of": event.seq}))
    question = QueuedQuestion(uuid.uuid4().hex[:16], kind, tuple(map(name, rows)), **shown)

    def fill(tx):
        earlier = [one.id for one in tx.get_people()]
        for person in earlier:
            tx.release(person)
        tx.refill([question])
        for person in earlier:  # whose windows may still be open
            tx.mark_skipped(question.id, person)

    served.studio.store.write(fill)
    return question.id


def of_colour(colour, n=3):
    return tuple(name(colour + 3 * k) for k in range(10, 10 + n))


QUESTIONS = {
    "placement": (
        (27, 0, 1, 2),
        {"examples": tuple(of_colour(k) for k in range(3)), "names": ("red", None, "green")},
    ),
    "members": ((0, 3, 6, 7, 9), {"examples": (of_colour(0),), "names": ("red",)}),
    "groups": ((0, 1), {"examples": (of_colour(0), of_colour(1))}),
    "label": ((3,), {"examples": (of_colour(0),), "names": ("owl", "wren")}),
}


@pytest.fixture
def come(studios, visit):
    """Show a question of a kind to a new person on a screen of a size."""

    def show(kind, **options):
        served = studios("prepared squares")
        rows, shown = QUESTIONS[kind]
        wanted = ask(served, kind, rows, **shown)
        ann = visit(served, **options)
        assert ann.ready() == wanted
        return ann

    return show


def answers(ann):
    ann.saved()
    return [
        (event.body["kind"], event.body.get("answer")) for event in ann.events() if event.kind == "answer"
    ]


def advance(ann, act):
    """Do something and wait until the question on the screen is another one or none."""
    before = ann.ready()
    act()
    ann.page.wait_for_selector(f'section.question:not([data-question="{before}"])')


@pytest.mark.parametrize(("key", "answer"), [("2", {"groups": [name(1)]}), ("n", "NEW"), ("u", "UNSURE")])
def test_a_key_places_an_item(come, key, answer):
    ann = come("placement")
    page = ann.page
    expect(page.locator(".choose")).to_have_count(3)
    expect(page.locator(".choose").first).to_contain_text("red")
    expect(page.locator(".choose").first.locator("img")).to_have_count(3)
    advance(ann, lambda: page.keyboard.press(key))
    assert answers(ann) == [("placement", answer)]


def test_a_tap_places_an_item_on_a_phone_and_the_buttons_stay(come, axe):
    ann = come("placement", viewport=PHONE, has_touch=True)
    page = ann.page
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert axe(page) == []
    advance(ann, page.locator(".choose").nth(2).tap)
    assert answers(ann) == [("placement", {"groups": [name(2)]})]
    ann.go("history")
    expect(page.locator(".past").first).to_contain_text("In green")
    page.locator(".past").first.get_by_role("button", name="Undo").click()
    expect(page.locator(".past").first).to_contain_text("undone")


def test_keys_select_the_items_that_do_not_belong(come, axe):
    ann = come("members")
    page = ann.page
    confirm = page.locator('[data-action="members.confirm"]')
    expect(confirm).to_contain_text("All belong")
    for key in ("3", "1", "1"):
        page.keyboard.press(key)
    expect(confirm).to_contain_text("1 does not belong")
    expect(page.locator('.tap[aria-pressed="true"]')).to_have_count(1)
    assert axe(page) == []
    advance(ann, lambda: page.keyboard.press("Enter"))
    assert answers(ann) == [("members", {"unlike": [name(7)]})]
    ann.go("history")
    expect(page.locator(".past").first).to_contain_text("1 of 4 does not belong")


def test_taps_select_the_items_that_do_not_belong(come):
    ann = come("members", viewport=PHONE, has_touch=True)
    page = ann.page
    box = page.locator('[data-action="members.confirm"]').bounding_box()
    page.locator(".tap").nth(2).tap()
    assert page.locator('[data-action="members.confirm"]').bounding_box() == box
    page.locator(".tap").nth(2).tap()
    advance(ann, page.locator('[data-action="members.confirm"]').tap)
    assert answers(ann) == [("members", "SAME")]


def test_two_groups(come, axe):
    ann = come("groups")
    expect(ann.page.locator(".group-panel img")).to_have_count(6)
    assert axe(ann.page) == []
    advance(ann, lambda: ann.page.keyboard.press("d"))
    assert answers(ann) == [("groups", "DIFFERENT")]


def test_two_groups_on_a_phone(come):
    ann = come("groups", viewport=PHONE, has_touch=True)
    advance(ann, ann.page.get_by_role("button", name="Same").tap)
    assert answers(ann) == [("groups", "SAME")]


def test_a_name_is_typed_and_names_the_group(come, axe):
    ann = come("label")
    page = ann.page
    expect(page.get_by_label("Name of the group")).to_be_focused()
    assert axe(page) == []
    page.keyboard.type("song thrush")
    advance(ann, lambda: page.keyboard.press("Enter"))
    assert answers(ann) == [("label", {"name": "song thrush"})]
    ann.go("groups")
    expect(page.get_by_text("song thrush").first).to_be_visible()


def test_a_name_in_use_is_chosen_with_a_tap(come):
    ann = come("label", viewport=PHONE, has_touch=True)
    advance(ann, ann.page.get_by_role("button", name="wren").tap)
    assert answers(ann) == [("label", {"name": "wren"})]


def test_the_studio_asks_them_by_itself_and_undoes_them(studios, visit):
    ann = visit(studios("grouped squares"))
    first = ann.ready()
    assert ann.page.locator(".items").get_attribute("class").split()[1] in ("placement", "members", "groups")
    _, second = ann.press("u")
    assert second != first
    _, back = ann.press("z")
    assert back == first
    ann.saved()
    assert [event.kind for event in ann.events()] == ["answer", "undo"]
