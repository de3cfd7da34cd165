"""What is asked in the owner's words, remarks of annotators, and the first minutes, in a real browser."""

import io
import json
import re

import pytest

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
PROGRESS = {
    **{"n_answers": 60, "mine": 60, "changed": 0.12, "gain": None, "accuracy": 0.9, "interval": [0.8, 0.97]},
    **{
        "worth_asking": True,
        "advice": "",
        "reason": "changing",
        "curve": [],
        "groups": 3,
        "conflicts": 0,
        "suspects": 0,
    },
    **{"error_rate": None, "fitting": False, "behind": 0},
}


@pytest.fixture
def words(studio):
    """Set the wording of the studio; it is reset at the end."""
    before = {"title": "Squares", "criterion": "", "guideline": "", "questions": {}, "examples": []}
    how = {
        "n_clusters": 3,
        "discover": False,
        "ask": "default",
        "overlap": 1,
        "budget": None,
        "independent": None,
    }
    yield studio.studio.setup.change
    studio.studio.setup.change({**before, **how})


def picture():
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (60, 40), (30, 120, 200)).save(out, "PNG")
    return out.getvalue()


# ---------------------------------------------------------------------- the owner's words


def test_the_criterion_is_above_every_question_and_changes_without_a_reload(visit, studio, words):
    words({"criterion": "The same colour, whatever the size."})
    ann = visit(studio)
    ann.ready()
    line = ann.page.locator(".question .criterion")
    assert line.inner_text() == "The same colour, whatever the size."
    assert line.bounding_box()["y"] < ann.page.locator("#question-text").bounding_box()["y"]
    words({"criterion": "The same shade.", "questions": {"pair": "Same shade?"}, "title": "Shades"})
    line.get_by_text("The same shade.").wait_for()
    ann.page.locator(".brand").get_by_text("Shades").wait_for()
    expect(ann.page.locator("#question-text")).to_have_text("Same shade?")
    ann.press("s")
    expect(ann.page.locator("#question-text")).to_have_text("Same shade?")


def test_texts_of_the_owner_are_never_parsed_as_html(visit, studio, words, run):
    words(
        {
            "title": HOSTILE[:100],
            "criterion": HOSTILE,
            "guideline": f"# {HOSTILE}\n\n- {HOSTILE}\n\n**{HOSTILE}**",
        }
    )
    ann = visit(studio)
    ann.ready()
    ann.go("guide")
    ann.page.locator(".guide h2").wait_for()
    assert ann.page.locator(".guide script, .guide img[src='x']").count() == 0
    assert HOSTILE in ann.page.locator(".guide h2").inner_text()
    assert "owned" not in ann.page.evaluate("document.title.replace(/<.*/, '')")
    drawn = run(
        "markdown.js",
        "m => m.renderMarkdown('![a](javascript:alert(1)) [x](http://evil.test) ![b](item:9)"
        " ![c](picture:zz)', () => null).map(one => one.outerHTML).join('')",
    )
    assert (
        drawn
        == '<p dir="auto">![a](javascript:alert(1)) [x](http://evil.test) ![b](item:9) ![c](picture:zz)</p>'
    )


def test_simple_marks_become_elements(run):
    text = "# Title\\n\\nA **bold** and *thin* word\\nnext line\\n\\n- one\\n- two\\n\\n1. first"
    drawn = run(
        "markdown.js", f"m => m.renderMarkdown('{text}', () => null).map(one => one.outerHTML).join('')"
    )
    assert re.sub(r' dir="auto"', "", drawn) == (
        "<h2>Title</h2><p>A <strong>bold</strong> and <em>thin</em> word<br>next line</p>"
        "<ul><li>one</li><li>two</li></ul><ol><li>first</li></ol>"
    )


def test_the_owner_writes_everything_in_the_page(visit, studio, words, axe):
    owner = visit(studio, "owner")
    owner.ready()
    owner.go("setup")
    page = owner.page
    page.get_by_label("Title", exact=True).fill("Our squares")
    page.get_by_label("What “together” means").fill("The same colour")
    page.get_by_label("Guideline", exact=True).fill("# Look at the colour\n\n")
    page.get_by_label("Picture for the guideline").set_input_files(
        {"name": "blue.png", "mimeType": "image/png", "buffer": picture()}
    )
    playwright.expect(page.locator("#setup-guideline")).to_have_value(re.compile("picture:"))
    page.get_by_role("button", name="Insert an item").click()
    page.locator("dialog .pick").first.click()
    playwright.expect(page.locator("#setup-guideline")).to_have_value(re.compile("item:"))
    page.get_by_role("button", name="Add a group").click()
    page.get_by_label("Name of the group").fill("Reds")
    page.get_by_role("button", name="Add items").click()
    page.locator("dialog .pick").nth(0).click()
    page.locator("dialog .pick").nth(1).click()
    page.get_by_role("button", name="Use these items").click()
    page.get_by_text("Words of the questions").click()
    page.get_by_label("Two items").fill("Same colour?")
    page.get_by_label("People who get each question").fill("2")
    page.get_by_label("Maximum number of answers").fill("500")
    assert axe(page) == []
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved. Open pages").wait_for()
    project = studio.studio.project
    assert (project.settings.title, project.settings.overlap, project.settings.budget) == (
        "Our squares",
        2,
        500,
    )
    assert project.wording.questions == {"pair": "Same colour?"}
    assert [(name, len(items)) for name, items in project.wording.examples] == [("Reds", 2)]
    page.get_by_role("link", name="See the guideline").click()
    page.locator(".guide-picture").wait_for()
    assert page.locator(".guide-picture").evaluate("one => one.decode().then(() => one.naturalWidth)") == 60
    assert page.locator(".guide-item .item-card").count() == 1
    assert page.locator(".guide-group .item-card").count() == 2
    assert axe(page) == []
    owner.go("setup")
    page.get_by_label("Number of groups").fill("900")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Not saved: The number of groups must be between 2 and").wait_for()


def test_a_range_of_groups_is_set_in_the_page(visit, studios):
    served = studios("rows")  # with a range, groups are asked about, and the next visitor may still get these
    owner = visit(served, "owner")
    owner.ready()
    owner.go("setup")
    page = owner.page
    groups, more = page.get_by_label("Number of groups"), page.get_by_label("Answers may open more groups")
    groups.fill("a few")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Not saved: The number of groups is “a few”; expected a number").wait_for()
    assert served.studio.project.settings.n_clusters == 3
    groups.fill("2 – 4")
    playwright.expect(more).to_be_disabled()
    playwright.expect(more).not_to_be_checked()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved. Open pages").wait_for()
    assert served.studio.project.settings.n_clusters == (2, 4)
    page.reload()
    playwright.expect(page.get_by_label("Number of groups")).to_have_value("2 to 4")
    page.get_by_label("Number of groups").fill("")
    playwright.expect(page.get_by_label("Answers may open more groups")).to_be_checked()


def test_independent_annotators_have_no_pages_about_groups(visit, studio, words):
    words({"overlap": 2})
    ann = visit(studio)
    ann.ready()
    menu = ann.page.locator(".top nav a")
    assert menu.all_inner_texts() == ["Question", "History"]
    assert ann.page.locator(".why").count() == 0
    ann.go("groups")
    ann.page.wait_for_url("**/#/question")
    words({"independent": False})
    ann.page.locator('.top nav a[data-view="groups"]').wait_for()
    ann.go("groups")
    ann.page.locator(".group-card").first.wait_for()
    words({"independent": True})
    ann.ready()  # led back to the questions


# ---------------------------------------------------------------------- remarks


def test_a_note_goes_with_the_answer(visit, studio, axe):
    ann = visit(studio)
    ann.ready()
    ann.page.keyboard.press("t")
    ann.page.get_by_label("It is stored with your answer").fill("the edges are blurred")
    assert axe(ann.page) == []
    ann.page.get_by_role("button", name="Keep the note").click()
    noted = ann.page.locator('[data-action="note"]')
    assert noted.get_attribute("aria-pressed") == "true"
    ann.press("s")
    ann.saved()
    assert ann.events()[-1].body["note"] == "the edges are blurred"
    assert noted.get_attribute("aria-pressed") == "false"
    ann.press("d")
    ann.saved()
    assert "note" not in ann.events()[-1].body
    ann.go("history")
    ann.page.get_by_text("“the edges are blurred”").wait_for()


def test_a_broken_item_is_reported_undone_and_put_back(visit, studios, axe):
    served = studios("far squares")
    ann = visit(served)
    question = ann.ready()
    title = ann.page.locator("figcaption .title").first.inner_text()
    ann.page.keyboard.press("x")
    ann.page.locator("dialog .broken-choice").wait_for()
    assert axe(ann.page) == []
    ann.page.get_by_role("button", name=f"{title} is broken").click()
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{question}"])')
    ann.saved()
    assert [event.kind for event in ann.events()] == ["broken"]
    ann.page.keyboard.press("z")
    ann.page.wait_for_selector(f'[data-ready="true"][data-question="{question}"]')
    ann.saved()
    assert [event.kind for event in ann.events()] == ["broken", "undo"]
    ann.page.keyboard.press("x")
    ann.page.get_by_role("button", name=f"{title} is broken").click()
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{question}"])')
    ann.saved()
    owner = visit(served, "owner", shared=False)
    owner.ready()
    owner.go("setup")
    owner.page.get_by_role("button", name=f"Ask about {title} again").click()
    owner.page.get_by_text("None has been reported.").wait_for()
    assert served.studio.broken.show() == {"items": []}


# ---------------------------------------------------------------------- the first minutes


def test_newcomers_get_three_steps_once_and_again_from_help(visit, studio, axe):
    ann = visit(studio, newcomer=True)
    dialog = ann.page.locator("dialog.intro-dialog")
    dialog.wait_for()
    next_one = dialog.get_by_role("button", name="Next")
    place = next_one.bounding_box()
    dialog.get_by_role("button", name="Different").click()
    assert "“Same” is the better answer" in dialog.get_by_role("status").inner_text()
    assert next_one.bounding_box() == place
    assert axe(ann.page) == []
    next_one.click()
    next_one.click()
    assert "Step 3 of 3" in dialog.inner_text()
    dialog.get_by_role("button", name="Start").click()
    assert ann.events() == []  # nothing of it counts
    ann.press("s")
    ann.saved()
    ann.page.reload()
    ann.ready()
    assert dialog.count() == 0
    ann.page.keyboard.press("?")
    ann.page.get_by_role("button", name="Show the introduction").click()
    dialog.wait_for()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_buttons_never_move(visit, studio, width, height):
    """Whatever the progress says, and while the next question is being chosen."""
    ann = visit(studio)
    ann.page.set_viewport_size({"width": width, "height": height})
    ann.ready()
    reports = [
        {
            **PROGRESS,
            "n_answers": 0,
            "mine": 0,
            "changed": None,
            "accuracy": None,
            "interval": None,
            "reason": "early",
        },
        PROGRESS,
        {**PROGRESS, "n_answers": 12345, "conflicts": 24, "suspects": 7, "error_rate": [0.3, 0.2, 0.4]},
        {
            **PROGRESS,
            "worth_asking": False,
            "reason": "settled",
            "curve": [[10, 0.4], [20, 0.2], [30, 0.0]],
            "behind": 3,
        },
    ]
    places = set()
    for report in reports:
        ann.page.evaluate(
            "async ([report]) => {"
            " const { drawProgress } = await import(new URL('static/progress.js', document.baseURI));"
            " drawProgress(document.querySelector('.progress'), report); }",
            [report],
        )
        places.add(json.dumps(ann.page.locator('[data-action="pair.same"]').bounding_box()))
    ann.page.route("**/api/questions", lambda route: route.abort())
    section = ann.page.locator("section.question")
    section.evaluate("one => { one.dataset.state = 'thinking'; }")
    places.add(json.dumps(ann.page.locator('[data-action="pair.same"]').bounding_box()))
    assert len(places) == 1, places


def test_the_progress_line_says_what_the_last_answers_changed(visit, studio, axe):
    ann = visit(studio)
    ann.press("s")
    ann.saved()
    change = ann.page.locator(".progress .change")
    change.get_by_text(re.compile("ten answers|answers so far")).wait_for()
    ann.page.locator('[data-action="progress"]').click()
    ann.page.locator("dialog").get_by_text("Go on: it is too early").wait_for()
    assert axe(ann.page) == []


def test_the_progress_line_keeps_the_focus(visit, studio):
    ann = visit(studio)
    ann.ready()
    draw = (
        "async ([report]) => {"
        " const { drawProgress } = await import(new URL('static/progress.js', document.baseURI));"
        " drawProgress(document.querySelector('.progress'), report);"
        " return document.activeElement.textContent; }"
    )
    report = {**PROGRESS, "conflicts": 1, "suspects": 2}
    ann.page.evaluate(draw, [report])
    for name, more in (("1 contradiction", "3 contradictions"), ("2 suspect answers", "5 suspect answers")):
        ann.page.get_by_role("link", name=name).focus()
        assert ann.page.evaluate(draw, [report]) == name
        assert ann.page.evaluate(draw, [{**report, "conflicts": 3, "suspects": 5}]) == more
        ann.page.evaluate(draw, [report])
    ann.page.locator('[data-action="progress"]').focus()
    assert ann.page.evaluate(draw, [{**report, "suspects": 0}]) == "Details"


def test_on_a_phone_everything_is_on_the_screen(visit, studio, words, axe):
    words({"criterion": "The same colour, whatever the size.", "guideline": "Look."})
    owner = visit(studio, "owner")
    owner.page.set_viewport_size({"width": 390, "height": 844})
    owner.ready()
    for link in owner.page.locator(".top nav a").all():
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    for action in (
        "pair.different",
        "pair.unsure",
        "pair.same",
        "undo",
        "skip",
        "note",
        "broken",
        "zoom",
        "reference",
    ):
        box = owner.page.locator(f'.desk [data-action="{action}"]').bounding_box()
        assert box["x"] >= 0, action
        assert box["x"] + box["width"] <= 390, action
        assert box["y"] + box["height"] <= 844, action
    assert owner.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert axe(owner.page) == []
    for view in ("setup", "guide"):
        owner.go(view)
        owner.page.locator(f".view.{view}").wait_for()
        assert owner.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert axe(owner.page) == []


@pytest.mark.parametrize("width", [390, 740, 1024])
def test_every_entry_of_the_menu_is_on_the_screen(visit, studio, width):
    owner = visit(studio, "owner")
    owner.page.set_viewport_size({"width": width, "height": 768})
    owner.ready()
    assert owner.page.locator(".top nav a").count() == 8
    menu = owner.page.locator(".top nav ul")
    assert menu.evaluate("one => one.scrollWidth <= one.clientWidth")
    ends = owner.page.locator(".top nav a").evaluate_all(
        "found => found.map(one => one.getBoundingClientRect().right)"
    )
    box = menu.bounding_box()
    assert max(ends) <= box["x"] + box["width"]


def test_people_who_are_locked_out_see_a_message(visit, studio):
    ann = visit(studio)
    ann.ready()
    studio.studio.people.set_active(ann.person.id, False, studio.studio.people.get_owner())
    ann.page.keyboard.press("s")
    ann.page.locator(".banner").get_by_text("The owner of this project has ended your access.").wait_for()
    ann.page.on("dialog", lambda dialog: dialog.accept())
    ann.page.reload()
    ann.page.get_by_role("heading", name="You are locked out").wait_for()
