"""Repairs of many items in a real browser: select, move, split off, shelve, merge, search, and the map."""

import pytest

from patience import wait_until

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
PHONE = {"width": 390, "height": 844}


def open_groups(visitor):
    visitor.go("groups")
    expect(visitor.page.locator(".group-card").first).to_be_visible()
    expect(visitor.page.locator(".shelf")).to_be_visible()
    return visitor.page


def last_repair(visitor, n=1):
    """The last repair of a visitor, once there are n."""

    def find():
        repairs = [event for event in visitor.events() if event.kind == "repair"]
        return repairs[-1] if len(repairs) == n else None

    return wait_until(find, f"repair {n}")


def tiles(page, card=0):
    return page.locator(".group-cards .group-card").nth(card).locator(".tile")


def undo_notice(page):
    page.locator(".hint-notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast.good").last).to_have_text("Undone.")


# ---------------------------------------------------------------------- selection


def test_clicks_with_shift_and_control_select_and_escape_clears(studio, visit):
    page = open_groups(visit(studio))
    bar = page.locator(".repair-bar")
    expect(bar).to_be_hidden()
    tiles(page).nth(0).get_by_role("checkbox").check()
    expect(bar).to_contain_text("1 item selected")
    tiles(page).nth(3).locator(".shown").click(modifiers=["Shift"])
    expect(bar).to_contain_text("4 items selected")
    tiles(page).nth(1).locator(".shown").click(modifiers=["Control"])
    expect(bar).to_contain_text("3 items selected")
    expect(page.locator("dialog")).to_have_count(0)  # nothing was enlarged
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(page.locator(".tile.picked")).to_have_count(0)


def test_items_are_moved_by_keyboard_alone_and_the_move_is_undone(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    names = [tiles(page).nth(at).locator(".name").inner_text() for at in range(3)]
    tiles(page).nth(0).locator("button.shown").focus()
    page.keyboard.press("s")
    tiles(page).nth(2).locator("button.shown").focus()
    page.keyboard.press("Shift+S")
    page.keyboard.press("m")
    expect(page.get_by_role("dialog")).to_contain_text("3 items belong to")
    page.keyboard.type("group 3")
    page.keyboard.press("Enter")
    expect(page.locator(".hint-notice")).to_contain_text("3 items belong to group 3.")
    repair = last_repair(visitor)
    assert repair.body["act"] == "move"
    assert repair.body["items"] == names
    expect(page.locator(".repair-bar")).to_be_hidden()
    page.keyboard.press("z")
    wait_until(lambda: visitor.events()[-1].kind == "undo", "the undo")
    assert visitor.events()[-1].body["of"] == repair.seq


def test_a_refit_says_which_items_moved(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    for at in range(2):
        tiles(page).nth(at).get_by_role("checkbox").check()
    page.get_by_role("button", name="None of these").click()
    last_repair(visitor)
    moves = page.locator(".moves")
    expect(moves).to_contain_text("moved after 1 repair")
    moves.get_by_role("button").click()
    expect(page.get_by_role("dialog").locator("li").filter(has_text="no group")).to_have_count(2)
    page.keyboard.press("Escape")
    shelf = page.locator(".shelf")
    expect(shelf.locator(".tile")).to_have_count(2)
    for at in range(2):
        shelf.get_by_role("checkbox").nth(at).check()
    page.get_by_role("button", name="Take off the shelf").click()
    expect(page.locator(".hint-notice")).to_contain_text("can be in a group again")
    expect(shelf.locator(".tile")).to_have_count(0)


def test_items_are_dragged_to_a_group_and_to_a_new_one(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    tile = tiles(page, 0).nth(0)
    name = tile.locator(".name").inner_text()
    tile.drag_to(page.locator(".group-cards .group-card").nth(1).locator("header"))
    repair = last_repair(visitor)
    assert (repair.body["act"], repair.body["items"]) == ("move", [name])
    undo_notice(page)


def test_a_phone_selects_by_tap_and_splits_off(studio, visit):
    visitor = visit(studio)
    visitor.page.set_viewport_size(PHONE)
    page = open_groups(visitor)
    for at in range(3):
        tiles(page).nth(at).get_by_role("checkbox").click()
    button = page.get_by_role("button", name="Split off as a new group")
    expect(button).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    button.click()
    assert last_repair(visitor).body["act"] == "split"
    expect(page.locator(".group-cards .group-card")).to_have_count(4)
    undo_notice(page)
    expect(page.locator(".group-cards .group-card")).to_have_count(3)


def test_three_groups_are_merged_at_once(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    for at in range(3):
        page.get_by_role("checkbox", name="Merge with other groups").nth(at).check()
    page.get_by_role("button", name="Merge these 3").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes, one group").click()
    expect(page.locator(".hint-notice")).to_contain_text("are one group")
    assert len(last_repair(visitor).body["items"]) == 3
    undo_notice(page)


def test_all_members_shown_are_selected_on_the_page_of_a_group(studio, visit):
    page = open_groups(visit(studio))
    page.get_by_role("link", name="Show all").first.click()
    expect(page.get_by_text("shown.")).to_be_visible()
    n = page.locator(".tiles .tile").count()
    page.get_by_role("button", name="Select all shown").click()
    expect(page.locator(".repair-bar")).to_contain_text(f"{n} items selected")
    page.get_by_role("button", name="Clear").click()


# ---------------------------------------------------------------------- search and names


def test_search_finds_items_and_filters_groups(studios, visit):
    page = open_groups(visit(studios("texts")))
    page.get_by_role("searchbox").fill("INVOICE")
    expect(page.locator(".found .tile").first).to_contain_text("invoice")
    expect(page.locator(".group-search")).to_contain_text("15 items found")
    page.get_by_role("button", name="Select them all").click()
    expect(page.locator(".repair-bar")).to_contain_text("15 items selected")
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").fill("nothing has this")
    expect(page.locator(".group-cards .group-card:visible")).to_have_count(0)
    page.get_by_role("searchbox").fill("")
    expect(page.locator(".group-cards .group-card:visible")).to_have_count(3)


def test_a_suggested_name_is_accepted_with_one_key(studios, visit):
    visitor = visit(studios("texts"))
    page = open_groups(visitor)
    card = page.locator(".group-cards .group-card").first
    expect(card.locator(".accept-name")).to_be_visible()
    wanted = card.locator(".accept-name span").inner_text().removeprefix("Name it “").removesuffix("”")
    card.get_by_role("button", name="Rename").focus()
    page.keyboard.press("y")
    expect(card.locator("h2")).to_have_text(wanted)
    assert visitor.events()[-1].body["name"] == wanted
    undo_notice(page)


def test_the_history_shows_a_repair_as_a_sentence_with_one_undo(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    for at in range(4):
        tiles(page).nth(at).get_by_role("checkbox").check()
    page.keyboard.press("o")
    repair = last_repair(visitor)
    visitor.go("history")
    entry = page.locator(".past").first
    expect(entry).to_contain_text("4 items belong to none of the groups.")
    entry.get_by_role("button", name="Undo").click()
    wait_until(lambda: visitor.events()[-1].kind == "undo", "the undo")
    assert visitor.events()[-1].body["of"] == repair.seq


# ---------------------------------------------------------------------- the map


def open_map(visitor):
    visitor.go("map")
    page = visitor.page
    expect(page.locator(".map-wait")).to_be_hidden()
    expect(page.locator(".map-legend li").first).to_be_visible()
    return page


def test_the_lasso_selects_items_for_a_repair(studio, visit):
    visitor = visit(studio)
    page = open_map(visitor)
    page.get_by_role("button", name="Select items (lasso)").click()
    box = page.locator(".map-overlay").bounding_box()
    corners = [(0.02, 0.02), (0.9, 0.02), (0.9, 0.98), (0.02, 0.98)]
    page.mouse.move(box["x"] + 0.02 * box["width"], box["y"] + 0.02 * box["height"])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
    page.mouse.up()
    bar = page.locator(".repair-bar")
    expect(bar).to_contain_text("selected")
    n = int(bar.locator("p").inner_text().split()[0])
    assert 5 < n <= 45
    page.get_by_role("button", name="Belongs to…").click()
    page.keyboard.press("Enter")
    repair = last_repair(visitor)
    assert len(repair.body["items"]) == n
    undo_notice(page)


def test_items_are_selected_on_the_map_by_keyboard(studio, visit):
    visitor = visit(studio)
    page = open_map(visitor)
    page.locator(".map-overlay").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("s")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("s")
    expect(page.locator(".repair-bar")).to_contain_text("2 items selected")
    page.keyboard.press("o")
    assert last_repair(visitor).body["act"] == "shelve"
    undo_notice(page)


def test_the_map_shows_names_and_keywords_and_highlights_what_is_searched(studios, visit):
    visitor = visit(studios("texts"))
    page = open_map(visitor)
    names = page.locator(".map-name:not(.away)")
    expect(names.first).to_be_visible()
    expect(names.filter(has_text="invoice")).to_have_count(1)
    page.get_by_role("searchbox", name="Search items").fill("invoice")
    expect(page.locator(".map-search")).to_contain_text("15 items found")
    page.get_by_role("button", name="Select them").click()
    expect(page.locator(".repair-bar")).to_contain_text("15 items selected")
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="Names").uncheck()
    expect(page.locator(".map-name").first).to_be_hidden()


def test_the_map_is_coloured_by_a_column(studios, visit):
    page = open_map(visit(studios("rows")))
    choice = page.get_by_role("combobox", name="Colour by a column")
    choice.select_option("region")
    expect(page.locator(".map-column li").first).to_be_visible()
    expect(page.locator(".map-column")).to_contain_text("south")
    choice.select_option("proline")
    expect(page.locator(".map-column")).to_contain_text("proline: from")
    page.get_by_role("radio", name="Groups").check()
    expect(page.locator(".map-column")).to_be_hidden()
    expect(choice).to_have_value("")


# ---------------------------------------------------------------------- for everyone


@pytest.mark.parametrize("width", [1280, 390])
def test_a_checker_finds_nothing_while_items_are_repaired(studios, visit, axe, width):
    visitor = visit(studios("texts"))
    visitor.page.set_viewport_size({"width": width, "height": 844})
    page = open_groups(visitor)
    page.get_by_role("searchbox").fill("invoice")
    page.get_by_role("button", name="Select them all").click()
    assert axe(page) == []
    page.get_by_role("button", name="Belongs to…").click()
    assert axe(page) == []
    page.keyboard.press("Escape")
    open_map(visitor)
    expect(page.locator(".repair-bar")).to_be_visible()  # one selection for both pages
    page.get_by_role("combobox", name="Colour by a column").select_option("plan")
    expect(page.locator(".map-column li").first).to_be_visible()
    assert axe(page) == []
