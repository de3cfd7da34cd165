"""Questions about groups in a real browser: keys and taps, on a large and a small screen."""

import uuid

import pytest

from likewise.studio.records import NewEvent, QueuedQuestion

from .conftest import SETTLED

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
CROWDED = """() => {
  const box = one => one.getBoundingClientRect();
  const parts = [...document.querySelectorAll('.items > *, .naming > *')];
  const over = parts.filter(one => one.nextElementSibling
    && box(one).right > box(one.nextElementSibling).left
    && box(one).bottom > box(one.nextElementSibling).top + 1);
  const cut = [...document.querySelectorAll('.group-panel, .choose, .tap, .line')].filter(one =>
    one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1);
  return [...over, ...cut].map(one => one.outerHTML.slice(0, 120));
}"""


def name(row):
    return f"square-{row:02d}.png"


def ask(served, kind, rows, examples=(), names=()):
    """Undo all answers, queue one question, which only people who come later can see, and return its id."""
    hub = served.studio.hub
    hub._refill = lambda ready: None  # from now on the questions of the worker are left out
    for event in hub.log.get_counted("answer"):
        hub.add_event(NewEvent(uuid.uuid4().hex, "undo", event.person, {"of": event.seq}))
    ids = served.project.items.get_ids()
    groups = tuple(tuple(ids[row] for row in group) for group in examples)
    question = QueuedQuestion(
        uuid.uuid4().hex[:16], kind, tuple(ids[row] for row in rows), examples=groups, names=names
    )

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
    return tuple(colour + 3 * k for k in range(5, 5 + n))


QUESTIONS = {
    "placement": (
        (12, 0, 1, 2),
        {"examples": tuple(of_colour(k) for k in range(3)), "names": ("red", None, "green")},
    ),
    "members": ((0, 3, 6, 7, 9), {"examples": (of_colour(0),), "names": ("red",)}),
    "groups": ((0, 1), {"examples": (of_colour(0), of_colour(1))}),
    "label": ((3,), {"examples": (of_colour(0),), "names": ("owl", "wren")}),
}


@pytest.fixture
def come(studios, visit):
    """Show a question of a kind to a new person on a screen of a size."""

    def show(kind, items="prepared squares", **options):
        served = studios(items)
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


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("items", ["rows", "texts", "sounds", "prepared squares"])
def test_nothing_is_cut_off_or_covered_on_any_screen(come, axe, items, kind):
    ann = come(kind, items)
    for size in (WIDE, PHONE):
        ann.page.set_viewport_size(size)
        ann.page.evaluate(SETTLED)
        assert ann.page.evaluate(CROWDED) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert axe(ann.page) == []


PLACES = """() => ['.answers', '.more', '.progress'].map(name => {
  const box = document.querySelector(name).getBoundingClientRect();
  return [name, box.y, box.height].join(' ');
})"""


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("items", ["rows", "texts", "sounds", "prepared squares"])
def test_the_buttons_have_one_place_in_every_kind_of_question(studios, visit, items, size):
    """Also if there is one group to choose from, or eleven items of a group."""
    served = studios(items)
    few = ("placement", (12, 0), {"examples": (of_colour(0, 1),)})
    many = ("members", (0, *range(1, 12)), {"examples": (of_colour(0),)})
    places = {}
    for kind, rows, shown in [(kind, *QUESTIONS[kind]) for kind in QUESTIONS] + [few, many]:
        ask(served, kind, rows, **shown)
        ann = visit(served, shared=False, viewport=size)
        ann.ready()
        ann.page.evaluate(SETTLED)
        for place in ann.page.evaluate(PLACES):
            places.setdefault(place, (kind, len(rows)))
    assert len(places) == 3, places


def test_columns_that_set_the_groups_apart_come_first_with_equal_decimals(come):
    ann = come("groups", "rows")
    cards = ann.page.locator(".lines")
    expect(cards).to_have_count(6)
    first = [card.locator(".line").first.inner_text() for card in cards.all()]
    assert all("region" in words or "proline" in words for words in first)  # the others are noise
    ash = [card.locator(".line", has_text="ash").locator(".value").inner_text() for card in cards.all()]
    assert {len(value.partition(".")[2]) for value in ash} == {2}


def test_an_item_and_the_groups_have_their_columns_in_one_order(come):
    page = come("placement", "rows").page
    shown = page.locator(".choose").first.locator(".lines").first.locator(".column").all_inner_texts()
    assert page.locator("figure.item th").all_inner_texts() == shown


def test_groups_of_rows_show_between_which_values_they_are(come):
    page = come("placement", "rows").page
    line = page.locator(".choose").nth(0).locator(".line", has_text="proline")
    low, high = map(int, line.locator(".value").inner_text().split(" to "))
    assert 300 < low < high < 500
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        bar = line.locator(".range")
        assert bar.is_visible()
        assert bar.locator(".here, .other").count() == 3  # of three typical rows
        wide = page.locator(".choose .range").evaluate_all("found => found.map(one => one.offsetWidth)")
        assert max(wide) == min(wide) > 50
    assert page.locator(".choose .line", has_text="region").first.locator(".value").inner_text() == "north"


def test_other_pages_show_columns_in_the_order_of_the_data(come):
    ann = come("placement", "rows")
    first = ann.page.locator(".choose").first.locator(".lines .column").first
    assert first.text_content() != "ash"  # the column that sets the groups apart
    advance(ann, lambda: ann.page.keyboard.press("1"))
    ann.saved()
    ann.go("history")
    expect(ann.page.locator(".item-card .lines .column").first).to_have_text("ash")


def test_a_second_is_equally_wide_in_all_small_spectrograms(come):
    ann = come("members", "sounds")
    ann.page.wait_for_function("() => document.querySelector('.tap img').style.width")
    found = ann.page.evaluate(
        """() => [...document.querySelectorAll('.taps > *')].map(one =>
          parseFloat(one.querySelector('img').style.width) / one.querySelector('audio').duration)"""
    )
    assert len(found) == 4
    assert found == pytest.approx([found[0]] * 4, rel=1e-3)


@pytest.mark.parametrize(("kind", "rows"), [("placement", (12, 0, 1)), ("groups", (0, 1))])
def test_a_second_is_equally_wide_in_groups_of_one_and_of_three_sounds(studios, visit, kind, rows):
    served = studios("sounds")
    ask(served, kind, rows, examples=(of_colour(0, 1), of_colour(1, 3)))
    ann = visit(served)
    ann.ready()
    ann.page.wait_for_function("() => document.querySelector('.example img').style.width")
    scales = ann.page.evaluate(
        """() => [...document.querySelectorAll('.example img')].map(one => {
          const {row} = one.closest('[data-row]').dataset;
          return one.offsetWidth / document.querySelector(`audio[data-row="${row}"]`).duration;
        })"""
    )
    assert len(scales) == 4
    assert max(scales) < 1.04 * min(scales)  # widths are whole pixels


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
