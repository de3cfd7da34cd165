"""Every page for every kind of item: axe-core, narrow screens, and use by keyboard alone."""

import pytest

from patience import wait_until

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
# A page, and what shows that its content is there.
PAGES = {
    "question": 'section.question[data-ready="true"] .refit[data-behind="false"]',
    "groups": ".group-card .group-part",
    "groups/0": ".tile",
    "map": ".map-legend li",
    "conflicts": ".conflict",
    "history": ".past",
    "guide": ".guide-group figure",
    "setup": ".broken-item",
    "people": "table.people tbody tr",
}
WORDING = {
    "criterion": "The same kind, whatever its size, its colour, its direction and where it was found; " * 2,
    "guideline": "# What to look at\n\n- the **shape**\n- ![the first](item:0)",
    "examples": [["The first kind, which has a long name", [0, 3]]],
}
# Elements that Tab must reach: of radio buttons with one name only the chosen one.
REACHABLE = """() => [...document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.disabled && one.tabIndex >= 0
    && !(one.type === 'radio' && !one.checked) && !one.closest('audio'))
  .map((one, i) => { one.dataset.reached = i; return `${i}: ${one.outerHTML.slice(0, 90)}`; })"""


@pytest.fixture
def prepared(studios):
    """A studio of a kind with wording, contradictory answers, a shelf and a broken item; once per kind."""

    def get(kind):
        served = studios(kind)
        studio = served.studio
        if studio.project.wording.criterion:
            return served
        studio.setup.change(WORDING)
        ids = studio.project.items.get_ids()
        ann, _ = served.person("Someone with a rather long name", "owner")
        for k, (a, b, answer) in enumerate(((0, 3, "SAME"), (3, 6, "SAME"), (0, 6, "DIFFERENT"))):
            items, key = (ids[a], ids[b]), f"contradiction-{k}"
            studio.asking.store_pair(ann, key=key, items=items, answer=answer, why="answer")
        studio.repairs.repair(ann, key="to-the-shelf", act="shelve", rows=[20])
        studio.broken.report(ann, key="broken-item", row=19, question=None, note="It is empty.")
        wait_until(lambda: studio.hub.picture and studio.hub.picture.conflicts, "a contradiction")
        return served

    return get


def open_page(visitor, page):
    visitor.go(page)
    expect(visitor.page.locator(PAGES[page]).first).to_be_visible()


@pytest.mark.parametrize("kind", ["pictures", "texts", "sounds", "rows"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(prepared, visit, axe, kind):
    owner = visit(prepared(kind), role="owner")
    owner.press("u")
    owner.saved()
    for page in PAGES:
        open_page(owner, page)
        for size in (WIDE, PHONE):
            owner.page.set_viewport_size(size)
            assert (page, axe(owner.page)) == (page, [])
            assert owner.page.evaluate("document.documentElement.scrollWidth") <= size["width"], page


@pytest.mark.parametrize("kind", ["pictures", "rows"])
def test_tab_reaches_everything_on_every_page(prepared, visit, kind):
    owner = visit(prepared(kind), role="owner")
    owner.press("u")
    owner.saved()
    for page in PAGES:
        open_page(owner, page)
        wanted = owner.page.evaluate(REACHABLE)
        owner.page.evaluate("() => document.activeElement.blur()")
        seen, hidden = set(), []
        for _ in range(2 * len(wanted) + 10):
            owner.page.keyboard.press("Tab")
            at, is_marked, name = owner.page.evaluate(
                """() => { const one = document.activeElement, style = getComputedStyle(one);
                  const marked = style.outlineStyle !== 'none';
                  return [one.dataset.reached ?? null, marked, one.outerHTML.slice(0, 90)]; }"""
            )
            if at is None:
                continue
            if not is_marked:
                hidden.append(name)
            seen.add(int(at))
            if len(seen) == len(wanted):
                break
        assert (page, [one for i, one in enumerate(wanted) if i not in seen]) == (page, [])
        assert (page, hidden) == (page, [])


def test_axe_finds_nothing_in_any_dialog(prepared, visit, axe):
    owner = visit(prepared("pictures"), role="owner")
    for size in (WIDE, PHONE):
        owner.page.set_viewport_size(size)
        open_page(owner, "question")
        for key in "?r txo":
            if key == "o":
                owner.page.get_by_role("button", name="Details").click()
            else:
                owner.page.keyboard.press(key)
            owner.page.wait_for_selector('dialog[open]:not(:has([aria-busy="true"]))')
            assert (key, axe(owner.page)) == (key, [])
            owner.page.keyboard.press("Escape")
            owner.page.wait_for_selector("dialog", state="detached")
        open_page(owner, "setup")
        owner.page.get_by_role("button", name="Insert an item…").click()
        owner.page.wait_for_selector("dialog[open] figure")
        assert axe(owner.page) == []
        owner.page.keyboard.press("Escape")


def test_axe_finds_nothing_for_newcomers_and_people_without_a_login(prepared, visit, axe):
    served = prepared("pictures")
    ann = visit(served, newcomer=True)
    for step in range(3):
        ann.page.wait_for_selector("dialog.intro-dialog[open]")
        for size in (WIDE, PHONE):
            ann.page.set_viewport_size(size)
            assert (step, axe(ann.page)) == (step, [])
        ann.page.locator("dialog .primary").click()
    owner, _ = served.person(role="owner")
    served.studio.people.set_active(ann.person.id, False, owner)
    for path, title in (("/", "You are locked out"), ("/login", None)):
        ann.page.goto(served.url + path)
        if title:
            expect(ann.page.get_by_role("heading", name=title)).to_be_visible()
        assert (path, axe(ann.page)) == (path, [])
    ann.context.clear_cookies()
    ann.page.goto(served.url)
    expect(ann.page.get_by_role("heading", name="Please log in")).to_be_visible()
    assert axe(ann.page) == []
