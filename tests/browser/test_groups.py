"""Groups, contradictions and people in a real browser: corrections become hints."""

import pytest

from patience import wait_until

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


def open_groups(visitor):
    """Open the gallery and wait for its cards."""
    visitor.go("groups")
    expect(visitor.page.locator(".group-card").first).to_be_visible()
    return visitor.page


def notice(page):
    return page.locator(".hint-notice")


def last_event(visitor, kind="answer"):
    """The last event of a visitor, once it is of this kind."""

    def find():
        events = visitor.events()
        return events[-1] if events and events[-1].kind == kind else None

    return wait_until(find, f"an event of the kind {kind}")


def say(studio, person, *pairs):
    """Store a person's answers about pairs of squares."""
    for k, (i, j, answer) in enumerate(pairs):
        studio.studio.asking.store_pair(
            person,
            key=f"answer {person.id} {k}",
            items=(f"square-{i:02d}.png", f"square-{j:02d}.png"),
            answer=answer,
            why="answer",
        )


# ---------------------------------------------------------------------- groups


def test_each_group_shows_typical_and_doubtful_members(studio, visit):
    page = open_groups(visit(studio))
    expect(page.locator(".group-card")).to_have_count(3)
    card = page.locator(".group-card").first
    expect(card.locator(".group-part").first.locator(".tile")).to_have_count(4)
    expect(card.locator(".group-part").nth(1).locator(".tile")).to_have_count(4)
    expect(card.locator("img").first).to_be_visible()


def test_fewer_groups_than_were_set_are_explained(studio, visit):
    owner = visit(studio, role="owner", shared=False)
    wanted = {}

    def set_wanted(route):
        content = route.fetch().json()
        content["wanted"] = wanted["n"] = len(content["groups"]) + 1
        route.fulfill(json=content)

    owner.go("groups")
    expect(owner.page.locator(".group-card").first).to_be_visible()
    note = owner.page.locator("p.note", has_text="The number of groups is set to")
    expect(note).to_be_hidden()
    owner.page.route("**/api/groups", set_wanted)
    owner.page.reload()
    expect(note).to_be_visible()
    assert f"set to {wanted['n']}" in note.inner_text()


def test_enter_saves_a_name_and_escape_cancels(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    rename = page.get_by_role("button", name="Rename").first
    rename.click()
    page.keyboard.type("Not to be kept")
    page.keyboard.press("Escape")
    expect(rename).to_be_focused()
    assert visitor.events() == []
    rename.click()
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    expect(page.locator(".group-card h2").first).to_have_text(HOSTILE)
    named = last_event(visitor, "name")
    assert named.body["name"] == HOSTILE
    assert "owned" not in page.title()
    notice(page).get_by_role("button", name="Undo").click()
    expect(page.locator(".group-card h2").first).to_have_text("Group 1")
    assert last_event(visitor, "undo").body["of"] == named.seq


def test_an_invalid_name_is_refused_with_a_message(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    page.get_by_role("button", name="Rename").nth(1).click()
    page.keyboard.type("line\u202eturned")
    page.keyboard.press("Enter")
    expect(page.locator(".toast.bad")).to_contain_text("one line of text")
    expect(page.locator(".group-card h2").nth(1)).to_have_text("Group 2")
    assert visitor.events() == []


@pytest.mark.parametrize(
    ("key", "answer", "words"), [("x", "DIFFERENT", "not here"), ("b", "SAME", "belongs here")]
)
def test_a_key_on_an_item_becomes_a_hint(studio, visit, key, answer, words):
    visitor = visit(studio)
    page = open_groups(visitor)
    tile = page.locator(".group-card").first.locator(".group-part").nth(1).locator(".tile").first
    name = tile.locator(".name").inner_text()
    tile.get_by_role("button").first.focus()
    page.keyboard.press(key)
    page.keyboard.press(key)  # a repetition does not count
    expect(notice(page)).to_contain_text("Saved as a hint")
    stated = last_event(visitor)
    assert stated.body["answer"] == answer
    assert stated.body["items"][0] == name
    assert len(visitor.events()) == 1
    notice(page).get_by_role("button", name="Undo").click()
    last_event(visitor, "undo")


def test_two_groups_are_merged_after_confirmation(studio, visit):
    visitor = visit(studio)
    page = open_groups(visitor)
    boxes = page.get_by_role("checkbox", name="Merge with other groups")
    boxes.nth(0).check()
    expect(page.locator(".merge-bar").first).to_contain_text("Choose the groups")
    boxes.nth(2).check()
    page.get_by_role("button", name="Merge these two").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".item-card")).to_have_count(12)
    dialog.get_by_role("button", name="Yes, one group").click()
    expect(notice(page)).to_contain_text("Group 1 and group 3 are one group")
    assert last_event(visitor, "repair").body["act"] == "merge"
    notice(page).get_by_role("button", name="Undo").click()
    last_event(visitor, "undo")


def test_all_members_are_shown_page_by_page(studio, visit):
    visitor = visit(studio)
    page = visitor.page
    # Pages of 60 would need a project with hundreds of items.
    page.route(
        "**/api/groups/*/items*",
        lambda route: route.continue_(url=route.request.url.replace("limit=60", "limit=6")),
    )
    open_groups(visitor)
    page.get_by_role("link", name="Show all").first.click()
    expect(page.locator(".tile")).to_have_count(6)
    more = page.get_by_role("button", name="Show more")
    more.click()
    expect(page.locator(".tile")).to_have_count(12)
    expect(page.locator(".tile").nth(6).get_by_role("button").first).to_be_focused()
    titles = page.locator(".tile .name").all_inner_texts()
    assert len(set(titles)) == 12
    page.get_by_label("Most typical first").check()
    expect(page.locator(".tile")).to_have_count(6)
    page.get_by_role("link", name="All groups").click()
    expect(page.locator(".group-card")).to_have_count(3)


# ---------------------------------------------------------------------- contradictions


def test_a_long_word_in_an_answer_is_broken_on_a_phone(studio, visit):
    visitor = visit(studio, viewport={"width": 390, "height": 844})
    page = visitor.page
    visitor.go("conflicts")
    page.locator(".conflict-part").last.wait_for()
    page.evaluate(
        """async () => {
          const h = (await import(new URL('static/dom.js', document.baseURI))).h;
          const entry = h('div', {class: 'answer-entry'}, h('strong', null, 'x'.repeat(500)));
          document.querySelector('.conflicts').append(h('article', {class: 'card conflict'},
            h('ol', {class: 'chain'}, h('li', {class: 'chain-step'}, entry))));
        }"""
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_contradiction_shows_its_chain_and_can_be_resolved(studio, visit):
    visitor = visit(studio)
    page = visitor.page
    visitor.go("conflicts")
    say(studio, visitor.person, (1, 4, "SAME"), (4, 7, "SAME"), (7, 1, "DIFFERENT"))
    conflict = page.locator(".conflict")
    expect(conflict).to_have_count(1)
    expect(conflict.locator(".chain-step.together")).to_have_count(2)
    expect(conflict.locator(".chain-step.apart")).to_have_count(1)
    for square in ("square-01.png", "square-04.png", "square-07.png"):
        expect(conflict).to_contain_text(square)
    conflict.locator(".chain-step.apart").get_by_role("button", name="Undo this answer").click()
    expect(conflict).to_have_count(0)
    expect(page.get_by_text("All answers are consistent.")).to_be_visible()
    assert last_event(visitor, "undo").body["of"] == visitor.events()[2].seq


def test_of_many_contradictions_ten_are_shown_at_once(studio, visit):
    visitor = visit(studio)
    page = visitor.page
    visitor.go("conflicts")
    say(studio, visitor.person, (11, 14, "SAME"), (14, 17, "SAME"), (17, 11, "DIFFERENT"))
    conflict = page.locator(".conflict")
    expect(conflict).to_have_count(1)

    def repeat(route):
        body = route.fetch().json()
        route.fulfill(json={**body, "conflicts": body["conflicts"] * 25})

    page.route("**/api/conflicts", repeat)
    page.reload()
    expect(conflict).to_have_count(10)
    page.get_by_role("button", name="Show 10 more of 25 contradictions").click()
    expect(conflict).to_have_count(20)
    expect(conflict.nth(10)).to_be_focused()
    page.get_by_role("button", name="Show 5 more of 25 contradictions").click()
    expect(conflict).to_have_count(25)
    expect(page.locator(".show-more:visible")).to_have_count(0)
    page.unroute_all()
    conflict.first.locator(".chain-step.apart").get_by_role("button", name="Undo this answer").click()
    expect(conflict).to_have_count(0)


def test_a_question_of_a_contradiction_can_be_answered_again(studio, visit):
    visitor = visit(studio)
    page = visitor.page
    visitor.press("s")
    asked = last_event(visitor)
    one, other = (int(item[7:9]) for item in asked.body["items"])
    third = next(row for row in range(45) if row not in (one, other))
    say(studio, visitor.person, (one, third, "SAME"), (third, other, "DIFFERENT"))
    visitor.go("conflicts")
    again = page.get_by_role("button", name="Answer again")
    expect(again).to_have_count(1)
    again.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Same", exact=True)).to_have_attribute("aria-pressed", "true")
    dialog.get_by_role("button", name="Different", exact=True).click()
    expect(page.locator(".conflict")).to_have_count(0)
    answered = last_event(visitor)
    assert answered.question == asked.question
    assert answered.body["answer"] == "DIFFERENT"


def test_annotators_do_not_see_answers_of_others(studio, visit):
    first, second = visit(studio), visit(studio)
    say(studio, first.person, (2, 5, "SAME"), (5, 8, "SAME"), (8, 2, "DIFFERENT"))
    first.go("conflicts")
    expect(first.page.locator(".conflict")).to_have_count(1)
    second.go("conflicts")
    expect(second.page.get_by_text("can be seen only by the owner")).to_be_visible()
    expect(second.page.locator(".conflict")).to_have_count(0)
    owner = visit(studio, role="owner")
    owner.go("conflicts")
    owner.page.locator(".conflict .chain-step.apart").get_by_role("button", name="Undo this answer").click()
    expect(first.page.locator(".conflict")).to_have_count(0)


# ---------------------------------------------------------------------- descriptions


def test_each_group_of_texts_shows_its_keywords(studios, visit):
    served = studios("texts")
    visitor = visit(served)
    page = open_groups(visitor)
    expect(page.locator(".group-card .group-description")).to_have_count(3)
    phrases = served.studio.hub.descriptions.phrases
    for number, words in phrases.items():
        card = page.locator(f'.group-card[data-number="{number}"]')
        expect(card.locator(".group-description")).to_have_text(", ".join(words))
    assert {"invoice", "colours"} <= {word for words in phrases.values() for word in words}
    visitor.go("groups/0")
    expect(page.locator(".group-description")).to_have_text(", ".join(phrases[0]))


def test_pictures_have_no_keywords(studio, visit):
    page = open_groups(visit(studio))
    expect(page.locator(".group-description")).to_have_count(0)


def test_the_owner_sees_which_features_are_used(studio, visit):
    owner = visit(studio, role="owner")
    owner.go("people")
    part = owner.page.get_by_role("region", name="Data")
    expect(part).to_contain_text("45 pictures, described by 4 numbers.")
    expect(part.get_by_role("listitem")).to_have_text("One file was left out.")


# ---------------------------------------------------------------------- people and results


def test_the_owner_adds_and_locks_out_a_person(studio, visit, browser):
    owner = visit(studio, role="owner")
    page = owner.page
    owner.go("people")
    page.get_by_label("Name of new person").fill("Dora")
    page.get_by_role("button", name="Add and create link").click()
    link = page.get_by_label("Login link of Dora").input_value()
    page.keyboard.press("Escape")
    expect(page.get_by_role("row", name="Dora")).to_be_visible()
    context = browser.new_context()
    theirs = context.new_page()
    theirs.goto(link)
    expect(theirs.get_by_role("link", name="Question")).to_be_visible()
    expect(theirs.get_by_role("link", name="People")).to_have_count(0)
    page.get_by_role("button", name="Lock out Dora").click()
    expect(page.get_by_role("row", name="Dora (locked out)")).to_be_visible()
    theirs.reload()
    expect(theirs.get_by_role("heading", name="You are locked out")).to_be_visible()
    context.close()


def test_results_can_be_downloaded(studio, visit):
    owner = visit(studio, role="owner")
    page = owner.page
    owner.go("people")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Groups as CSV").click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 46


def test_annotators_cannot_see_the_people_page(studio, visit):
    visitor = visit(studio)
    visitor.go("people")
    expect(visitor.page.get_by_role("button", name="Add and create link")).to_have_count(0)
    assert visitor.page.evaluate("fetch('api/people').then(reply => reply.status)") == 403


# ---------------------------------------------------------------------- for everybody


def test_axe_finds_nothing(studio, visit, axe):
    owner = visit(studio, role="owner")
    first = {
        "groups": ".group-card",
        "groups/0": ".tile",
        "conflicts": "h1",
        "people": "table.people tbody tr",
    }
    for route, shown in first.items():
        owner.go(route)
        expect(owner.page.locator(shown).first).to_be_visible()
        assert axe(owner.page) == []


@pytest.mark.parametrize("kind", ["texts", "sounds"])
def test_other_kinds_of_items(studios, visit, axe, kind):
    visitor = visit(studios(kind), viewport={"width": 360, "height": 740})
    page = open_groups(visitor)
    if kind == "texts":
        expect(page.locator(".group-description").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []
