"""Enlarged pictures zoom and move together."""

import pytest

# The transform of each picture, and its box.
STATE = """() => [...document.querySelectorAll(".frame img")].map((image) => {
  const { left, top, width, height } = image.getBoundingClientRect();
  return { transform: image.style.transform, left, top, width, height };
})"""


@pytest.fixture
def enlarged(visit, studio):
    """A person who has enlarged two pictures by a click on the first."""

    def enlarge(**options):
        ann = visit(studio, **options)
        ann.ready()
        ann.page.locator("button.picture").first.click()
        ann.page.wait_for_selector("dialog.zoomed[open]")
        return ann

    return enlarge


def find_state(page):
    first, second = page.evaluate(STATE)
    assert first["transform"] == second["transform"]
    return first


def test_the_wheel_zooms_both_pictures_around_the_pointer(enlarged, axe):
    page = enlarged().page
    frame = page.locator(".frame").nth(1).bounding_box()
    x, y = frame["x"] + 0.8 * frame["width"], frame["y"] + 0.3 * frame["height"]
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    page.get_by_text("272 %").wait_for()
    find_state(page)
    second = page.evaluate(STATE)[1]
    assert (x - second["left"]) / second["width"] == pytest.approx(0.8, abs=0.01)
    assert (y - second["top"]) / second["height"] == pytest.approx(0.3, abs=0.01)
    assert axe(page) == []


def test_drags_and_arrows_move_both_and_reset_shows_all(enlarged):
    page = enlarged().page
    whole = find_state(page)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    before = find_state(page)
    frame = page.locator(".frame").first.bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 10)
    page.mouse.up()
    after = find_state(page)
    assert (after["left"] - before["left"], after["top"] - before["top"]) == pytest.approx((40, 10), abs=1)
    page.keyboard.press("ArrowRight")
    assert find_state(page)["left"] < after["left"]
    page.get_by_role("button", name="Reset").click()
    assert find_state(page) == whole


def test_a_pinch_zooms_both(enlarged):
    ann = enlarged(has_touch=True, viewport={"width": 390, "height": 780})
    page = ann.page
    frame = page.locator(".frame").first.bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    session = ann.context.new_cdp_session(page)

    def touch(kind, apart):
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if apart else []})

    touch("touchStart", 30)
    for apart in (40, 50, 60):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    page.get_by_text("200 %").wait_for()
    state = find_state(page)
    middle = (x - state["left"]) / state["width"]
    assert middle == pytest.approx(0.5, abs=0.02)
