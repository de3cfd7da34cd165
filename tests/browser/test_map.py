"""The map in a real browser: points, colours, items, and the arithmetic below them."""

import numpy as np
import pytest

from patience import wait_until

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
SHOWN = """() => {
  const canvas = document.querySelector('.map-points');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const found = {};
  for (let i = 0; i < data.length; i += 4) {
    const name = [data[i], data[i + 1], data[i + 2]].join();
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}"""


def open_map(visitor):
    """Open the map and wait until it shows the colours of the groups."""
    page = visitor.page
    visitor.go("map")
    expect(page.locator(".map-legend button").first).to_be_visible()
    wait_until(lambda: recolours(page) > 0, "a map in colours")
    return page


def recolours(page):
    return page.evaluate("performance.getEntriesByName('map-recolour').length")


def colours(page):
    """The number of pixels of each colour, without the rare ones on the edges of discs."""
    return {color: n for color, n in page.evaluate(SHOWN).items() if n >= 25}


def group_colours(page):
    """The colours in the legend, in the notation of the canvas."""
    found = page.evaluate(
        "[...document.querySelectorAll('.map-legend .swatch')]"
        ".map(swatch => getComputedStyle(swatch).backgroundColor)"
    )
    return [color.removeprefix("rgb(").removesuffix(")").replace(" ", "") for color in found]


def places(page, visitor):
    """The screen position of each row, computed with the page's own arithmetic."""
    box = page.locator(".map-overlay").bounding_box()
    found = page.evaluate(
        """async ({width, height}) => {
          const { Camera } = await import('./static/map_camera.js');
          const xy = new Float32Array(await (await fetch('api/map/points')).arrayBuffer());
          const camera = new Camera();
          camera.resize(width, height, width - document.querySelector('.map-tools').offsetLeft);
          const t = camera.transform();
          const place = (_, i) => [xy[2 * i] * t.ax + t.bx, xy[2 * i + 1] * t.ay + t.by];
          return Array.from({length: xy.length / 2}, place);
        }""",
        {"width": box["width"], "height": box["height"]},
    )
    return np.array(found) + np.array([box["x"], box["y"]])


def apart(points):
    """A row whose neighbours are far away, so that the pointer is unambiguous."""
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(far, np.inf)
    return int(np.argmax(far.min(axis=1)))


def still(page):
    """Wait until the better layout has arrived and nothing moves."""
    expect(page.locator(".map-status")).not_to_contain_text("being computed")
    before = page.evaluate(SHOWN)

    def same():
        nonlocal before
        page.wait_for_timeout(100)
        now = page.evaluate(SHOWN)
        held, before = now == before, now
        return held

    wait_until(same, "a map that stands still")


def test_groups_have_colours_of_their_own_and_so_has_doubt(studio, visit):
    page = open_map(visit(studio))
    expect(page.locator(".map-status")).to_contain_text("45 items · 3 groups")
    still(page)
    first, *others = group_colours(page)
    assert {first, *others} <= set(colours(page))

    only = page.locator(".map-legend button").first
    only.click()
    expect(only).to_have_attribute("aria-pressed", "true")
    drawn = colours(page)
    assert first in drawn
    assert not any(color in drawn for color in others)
    only.click()
    assert all(color in colours(page) for color in others)

    page.get_by_role("radio", name="Doubt").check()
    expect(page.locator(".map-ramp")).to_be_visible()
    wait_until(lambda: not set(group_colours(page)) & set(colours(page)), "colours of doubt")
    page.get_by_role("radio", name="Groups").check()
    wait_until(lambda: set(group_colours(page)) <= set(colours(page)), "colours of groups")


def test_pointing_shows_the_item_and_a_click_offers_actions(studio, visit):
    visitor = visit(studio)
    page = open_map(visitor)
    still(page)
    points = places(page, visitor)
    row = apart(points)
    title = f"square-{row:02d}.png"
    page.mouse.move(*points[row])
    expect(page.locator(".map-tip")).to_contain_text(title)
    page.mouse.click(*points[row])
    panel = page.get_by_role("region", name="The selected item")
    expect(panel).to_contain_text(title)
    panel.get_by_role("button", name="does not belong here").click()
    expect(page.locator(".hint-notice")).to_contain_text("do not belong together")
    stated = visitor.events()[-1]
    assert stated.kind == "answer"
    assert stated.body["answer"] == "DIFFERENT"
    assert stated.body["source"] == "groups"
    assert title in stated.body["items"]
    page.locator(".hint-notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".hint-notice")).to_have_count(0)
    assert visitor.events()[-1].body["of"] == stated.seq


def test_the_map_can_be_used_without_a_mouse(studio, visit):
    page = open_map(visit(studio))
    still(page)
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map-tip")).to_contain_text("square-")
    first = page.locator(".map-tip .name").inner_text()
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.locator("#live")).to_contain_text("square-")
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="The selected item")
    expect(panel.get_by_role("button", name="Close", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("application")).to_be_focused()
    assert first.startswith("square-")


def test_zoom_and_back(studio, visit):
    page = open_map(visit(studio))
    still(page)
    before = page.evaluate(SHOWN)
    page.get_by_role("application").focus()
    page.keyboard.press("+")
    wait_until(lambda: page.evaluate(SHOWN) != before, "a closer look")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("0")
    wait_until(lambda: page.evaluate(SHOWN) == before, "the whole map again")
    still(page)
    assert page.evaluate(SHOWN) == before


def test_new_groups_recolour_the_map_automatically(studio, visit):
    visitor = visit(studio)
    page = open_map(visitor)
    before = recolours(page)
    studio.studio.asking.store_pair(
        visitor.person,
        key=f"recolour {before} {visitor.person.id}",
        items=("square-00.png", "square-03.png"),
        answer="SAME",
        why="They belong together.",
    )
    wait_until(lambda: recolours(page) > before, "a new picture")
    # Annotators see the lines of their own answers.
    links = page.evaluate("fetch('api/map/links').then(reply => reply.json())")
    assert [0, 3, 1] in links["links"]


def test_the_map_changes_with_the_theme(studio, visit):
    page = open_map(visit(studio))

    def background():
        return max(colours(page).items(), key=lambda pair: pair[1])[0]

    light = background()
    page.emulate_media(color_scheme="dark")
    wait_until(lambda: background() != light, "a dark map")
    page.emulate_media(color_scheme="light")
    wait_until(lambda: background() == light, "a light map again")
    assert background() == light


def test_names_of_groups_stay_text(studios, visit):
    page = open_map(visit(studios("texts")))
    page.locator(".map-words summary").click()
    expect(page.get_by_role("table")).to_contain_text("Ticket")
    assert "owned" not in page.title().split("·")[0]


def test_axe_finds_nothing(studio, visit, axe):
    page = open_map(visit(studio))
    page.locator(".map-words summary").click()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="The selected item")).to_be_visible()
    assert axe(page) == []


def test_phone_width_needs_no_sideways_scrolling(studio, visit):
    page = open_map(visit(studio, viewport={"width": 360, "height": 740}, has_touch=True))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, {"width": 390, "height": 844}])
def test_no_item_of_the_whole_map_is_below_the_buttons(studio, visit, size):
    page = open_map(visit(studio, viewport=size))
    still(page)
    tools = page.locator(".map-tools").bounding_box()
    assert places(page, None)[:, 0].max() + 6 < tools["x"]
    page.keyboard.press("+")
    page.get_by_role("button", name="Whole map").click()
    assert places(page, None)[:, 0].max() + 6 < tools["x"]


# ---------------------------------------------------------------------- the arithmetic, in the browser


def test_the_nearest_point_equals_that_of_a_full_search(run):
    wrong = run(
        "map_index.js",
        """({ PointIndex }) => {
          let state = 7;
          const draw = () => (state = (state * 16807) % 2147483647) / 2147483647;
          const xy = Float32Array.from({length: 2 * 700}, draw);
          for (let i = 0; i < 200; i++) xy[i] = xy[i + 200]; // rows that share a coordinate
          const index = new PointIndex(xy);
          let wrong = 0;
          for (let trial = 0; trial < 400; trial++) {
            const [x, y] = [draw() * 1.4 - 0.2, draw() * 1.4 - 0.2];
            const [ax, ay] = [50 + 900 * draw(), 50 + 900 * draw()];
            const reach = trial % 3 ? 5 + 40 * draw() : Infinity;
            const away = (i) => ((xy[2 * i] - x) * ax) ** 2 + ((xy[2 * i + 1] - y) * ay) ** 2;
            let [best, bound] = [-1, reach * reach];
            for (let i = 0; i < 700; i++) {
              if (away(i) < bound) [best, bound] = [i, away(i)];
            }
            const found = index.nearest(x, y, ax, ay, reach);
            const far = found < 0 ? reach * reach : away(found);
            if ((found < 0) !== (best < 0) || far !== bound) wrong++;
          }
          return wrong;
        }""",
    )
    assert wrong == 0


def test_the_point_under_the_pointer_stays_fixed_while_zooming(run):
    shift = run(
        "map_camera.js",
        """({ Camera }) => {
          const camera = new Camera();
          camera.resize(900, 500, 60);
          const before = camera.transform();
          const [x, y] = [0.4, 0.6];
          const [px, py] = [x * before.ax + before.bx, y * before.ay + before.by];
          for (const factor of [1.5, 3, 0.7, 2]) camera.zoomBy(factor, px, py);
          const after = camera.transform();
          return [x * after.ax + after.bx - px, y * after.ay + after.by - py];
        }""",
    )
    assert shift == pytest.approx([0, 0], abs=1e-6)


def test_points_by_hand(run):
    got = run(
        "map_raster.js",
        """({ Raster, mixedOrder, orderBy }) => {
          const canvas = document.createElement('canvas');
          const raster = new Raster(canvas);
          raster.resize(4, 4, 0.01);
          // The third is outside of the view, the fourth has no group, the fifth has no place.
          const xy = Float32Array.of(0.1, 0.1, 0.9, 0.6, 1.2, 0.5, 0.6, 0.9, NaN, 0.2);
          raster.setPoints(xy, Uint32Array.of(4, 3, 2, 1, 0));
          raster.project({ax: 4, ay: 4, bx: 0, by: 0});
          const visible = raster.visible;
          raster.radius = 0;
          raster.paint(Uint16Array.of(0, 1, 0, 65535, 1), [[255, 0, 0], [0, 255, 0], [9, 9, 9]], [0, 0, 0]);
          const pixels = [];
          for (let p = 0; p < 16; p++) {
            const at = raster.image.data.slice(4 * p, 4 * p + 3);
            if (at[0] || at[1] || at[2]) pixels.push([p, ...at]);
          }
          const mixed = [...mixedOrder(9)];
          const order = [...orderBy(Uint8Array.of(3, 255, 0, 3))];
          return {visible, pixels, mixed, order, all: [...mixed].sort((a, b) => a - b)};
        }""",
    )
    assert got["visible"] == 3
    # A pixel with a single point has six tenths of its colour.
    assert got["pixels"] == [[0, 153, 0, 0], [11, 0, 153, 0], [14, 5, 5, 5]]
    assert got["all"] == list(range(9))
    assert got["mixed"] != got["all"]
    assert got["order"] == [2, 0, 3, 1]
