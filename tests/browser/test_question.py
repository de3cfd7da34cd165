"""The question page in a real browser: one key answers, nothing is lost, nothing counts twice."""

import json


def test_one_key_or_button_answers_saves_and_advances(visit, studio):
    ann = visit(studio)
    first, second = ann.press("s")
    _, third = ann.press("d")
    ann.press("u")
    ann.saved()
    assert ann.words() == ["SAME", "DIFFERENT", "UNSURE"]
    assert [event.question for event in ann.events()] == [first, second, third]
    assert all(0 < event.seconds < 60 for event in ann.events())

    for key in ("ArrowRight", "ArrowLeft", "1", "2", "3"):  # digits follow the order of the buttons
        ann.press(key)
    before = ann.ready()
    ann.page.get_by_role("button", name="Different").click()
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{before}"])')
    ann.saved()
    assert ann.words()[3:] == ["SAME", "DIFFERENT", "DIFFERENT", "UNSURE", "SAME", "DIFFERENT"]


def test_the_next_question_appears_before_the_answer_is_sent(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.page.route("**/api/answers", lambda route: None)  # no reply
    before, after = ann.press("s")
    assert before != after
    ann.saved("saving")


def test_a_double_press_counts_once(visit, studio):
    ann = visit(studio)
    before = ann.ready()
    ann.page.evaluate(
        """() => {
          for (const repeat of [false, false, true, true]) {
            const pressed = {key: "s", repeat, bubbles: true, cancelable: true};
            document.body.dispatchEvent(new KeyboardEvent("keydown", pressed));
          }
        }"""
    )
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{before}"])')
    ann.saved()
    assert ann.words() == ["SAME"]


def test_undo_brings_the_question_back_also_after_a_reload(visit, studio):
    ann = visit(studio)
    first, second = ann.press("s")
    _, back = ann.press("z")
    assert back == first
    _, then = ann.press("d")
    assert then == second
    ann.saved()
    assert ann.words() == ["SAME", "undo", "DIFFERENT"]
    assert ann.events()[1].body["of"] == ann.events()[0].seq
    ann.page.reload()
    assert ann.press("z")[1] == first


def test_undo_of_an_answer_that_is_not_sent_yet(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.context.set_offline(True)
    first, _ = ann.press("s")
    assert ann.press("z")[1] == first
    ann.press("d")
    ann.context.set_offline(False)
    ann.saved()
    assert ann.words() == ["SAME", "undo", "DIFFERENT"]
    assert ann.events()[1].body["of"] == ann.events()[0].seq


def test_skip_and_come_back(visit, studio):
    ann = visit(studio)
    first, _ = ann.press("k")
    ann.saved()
    assert ann.words() == ["skip"]
    ann.go("history")
    ann.page.get_by_role("button", name="Put back").click()
    ann.page.wait_for_selector(".past.undone")
    ann.go("question")
    # The question that the page had shown in its place may come first.
    assert first in [ann.press("d")[0] for _ in range(2)]


def test_history_can_undo_any_answer(visit, studio):
    ann = visit(studio)
    ann.press("s")
    ann.press("d")
    ann.saved()
    ann.go("history")
    ann.page.get_by_role("button", name="Undo: Same").click()
    ann.page.wait_for_selector(".past.undone")
    assert ann.words() == ["SAME", "DIFFERENT", "undo"]
    assert ann.events()[2].body["of"] == ann.events()[0].seq


# ---------------------------------------------------------------------- nothing is lost


def test_offline_answers_wait_and_are_sent_in_order(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.context.set_offline(True)
    ann.press("s")
    ann.press("d")
    ann.page.get_by_text("2 not saved yet").first.wait_for()
    assert ann.words() == []
    ann.context.set_offline(False)
    ann.saved()
    assert ann.words() == ["SAME", "DIFFERENT"]


def test_answers_survive_a_closed_tab(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.page.route("**/api/answers", lambda route: route.abort())
    ann.press("s")
    ann.saved("stuck")
    ann.page.close(run_before_unload=False)
    ann.page = ann.tab()
    ann.page.goto(studio.url + "/")
    ann.ready()
    ann.saved()
    assert ann.words() == ["SAME"]


def test_leaving_with_unsaved_answers_warns(visit, studio):
    ann = visit(studio, shared=False)
    ann.ready()
    ann.page.route("**/api/answers", lambda route: route.abort())
    ann.press("s")
    ann.saved("stuck")
    asked = []
    ann.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    ann.page.reload()
    assert asked == ["beforeunload"]


def test_a_reply_that_got_lost_counts_once(visit, studio):
    ann = visit(studio)
    ann.ready()
    keys = []

    def deaf(route):
        keys.append(json.loads(route.request.post_data)["key"])
        route.fetch()  # the server receives it, but the browser gets no reply
        route.abort()

    ann.page.route("**/api/answers", deaf, times=1)
    with ann.page.expect_response("**/api/answers"):  # the second request; the first gets no reply
        ann.press("s")
    ann.saved()
    assert ann.words() == ["SAME"]
    assert [event.key for event in ann.events()] == keys


def test_refused_answers_are_shown_and_kept(visit, studio):
    ann = visit(studio)
    ann.ready()
    error = {"error": {"code": "gone", "message": "<b>Withdrawn</b>.", "way_on": "Go on."}}
    ann.page.route("**/api/answers", lambda route: route.fulfill(status=409, json=error), times=1)
    ann.press("s")
    ann.saved("refused")
    ann.page.reload()
    ann.saved("refused")
    ann.page.click("#saved")
    assert "<b>Withdrawn</b>. Go on." in ann.page.inner_text("dialog")
    ann.page.get_by_role("button", name="Try again").click()
    ann.saved()
    assert ann.words() == ["SAME"]


def test_logged_out_in_the_middle_keeps_the_answers(visit, studio):
    ann = visit(studio)
    ann.ready()
    cookies = ann.context.cookies()
    ann.context.clear_cookies()
    ann.press("s")
    ann.page.get_by_role("alert").get_by_text("not logged in").wait_for()
    ann.saved("stuck")
    ann.context.add_cookies(cookies)
    ann.page.get_by_role("button", name="Try again").click()
    ann.saved()
    assert ann.words() == ["SAME"]


def test_a_server_that_went_away_and_came_back(visit, studio):
    ann = visit(studio)
    ann.ready()
    studio.stop()
    ann.press("s")
    ann.page.get_by_role("alert").get_by_text("does not respond").wait_for()
    ann.press("d")
    ann.page.keyboard.press("s")
    ann.page.get_by_text("3 not saved yet").first.wait_for()
    ann.page.wait_for_selector('[data-state="lost"]')  # no more questions are loaded
    studio.start()
    ann.saved()
    ann.ready()
    assert ann.words() == ["SAME", "DIFFERENT", "SAME"]


def test_unsent_answers_are_not_sent_by_another_person(visit, studio):
    ann = visit(studio)
    ann.ready()
    # Routes of the whole browser: a closing page stops using its own routes a moment before it is gone.
    ann.context.route("**/api/answers", lambda route: route.abort())
    ann.press("s")
    ann.saved("stuck")
    ann.page.close(run_before_unload=False)
    ben, link = studio.person()
    ann.page = ann.tab()
    ann.page.goto(link)
    ann.ready()
    ann.saved()
    assert studio.events(ben) == []
    assert ann.words() == []


def test_two_tabs_ask_different_questions(visit, studio):
    ann = visit(studio)
    second = ann.tab()
    second.goto(studio.url + "/")
    here, there = ann.ready(), ann.ready(second)
    assert here != there
    ann.press("s")
    ann.press("d", second)
    ann.saved()
    ann.saved(page=second)
    assert sorted(ann.words()) == ["DIFFERENT", "SAME"]
    assert len({event.question for event in ann.events()}) == 2


# ---------------------------------------------------------------------- items


def test_texts_are_text_and_their_differences_are_marked(visit, studios):
    ann = visit(studios("texts"))
    ann.ready()
    shown = ann.page.locator("figure .text")
    assert "<script>document.title='owned'</script>" in shown.first.inner_text()
    assert "owned" not in ann.page.title().split("Tickets")[0]
    assert ann.page.locator("main script, main img").count() == 0
    assert ann.page.locator("figure mark").count() >= 2
    assert "Hello" not in " ".join(ann.page.locator("figure mark").all_inner_texts())
    rows = ann.page.locator("figure tr")
    assert "country" in rows.nth(1).inner_text()
    assert rows.nth(1).get_attribute("class") == "equal"


def test_three_sounds_have_spectrograms_play_by_key_and_have_five_answers(visit, studios):
    ann = visit(studios("sounds"))
    ann.ready()
    players = ann.page.locator("figure audio")
    assert players.count() == 3
    assert ann.page.locator(".spectrogram img").count() == 3
    ann.page.evaluate(
        """() => {
          window.played = [];
          HTMLMediaElement.prototype.play = async function () { played.push(this.ariaLabel); };
        }"""
    )
    ann.page.keyboard.press("b")
    ann.page.keyboard.press("e")
    assert [label[:7] for label in ann.page.evaluate("played")] == ["Sound B", "Sound C"]
    for key in ("1", "2", "3", "4", "5"):
        ann.press(key)
    ann.saved()
    assert ann.words() == ["AB", "AC", "BC", "NEITHER", "UNSURE"]


def test_a_broken_picture_says_so_and_can_be_answered(visit, studio):
    ann = visit(studio)
    ann.context.route("**/api/items/*/media", lambda route: route.fulfill(status=404, json={}))
    ann.context.route("**/api/items/*/thumb", lambda route: route.fulfill(status=404, json={}))
    ann.page.reload()
    ann.ready()
    ann.page.get_by_text("could not be loaded").first.wait_for()
    ann.press("d")
    ann.saved()
    assert ann.words() == ["DIFFERENT"]


def test_zoom_by_keys_answers_nothing(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.page.keyboard.press(" ")
    ann.page.get_by_text("100 %").wait_for()
    ann.page.keyboard.press("+")
    ann.page.get_by_text("150 %").wait_for()
    ann.page.keyboard.press("0")
    ann.page.get_by_text("100 %").wait_for()
    assert ann.page.locator(".frame img.tiny").count() == 2
    ann.page.keyboard.press("Escape")
    ann.page.wait_for_selector("dialog", state="detached")
    before = ann.ready()
    ann.page.get_by_role("button", name="Same").click()
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{before}"])')
    ann.page.keyboard.press(" ")  # the button has the focus
    ann.page.wait_for_selector("dialog.zoomed[open]")
    ann.page.keyboard.press(" ")
    ann.page.wait_for_selector("dialog", state="detached")
    ann.saved()
    assert ann.words() == ["SAME"]


# ---------------------------------------------------------------------- states and settings


def test_waiting_for_questions_and_the_end(visit, studio):
    ann = visit(studio)
    reply = {"questions": [], "state": "thinking", "message": "Choosing."}
    ann.page.route("**/api/questions", lambda route: route.fulfill(json=reply))
    ann.page.reload()
    ann.page.wait_for_selector('[data-state="thinking"]')
    ann.page.get_by_text("Choosing.").first.wait_for()
    reply.update(state="finished", message="All is answered.")
    ann.page.wait_for_selector('[data-state="finished"]')
    ann.page.get_by_role("link", name="See the groups").wait_for()
    assert ann.page.get_by_text("All is answered.").first.is_visible()
    assert ann.page.get_by_role("button", name="Same").count() == 0
    ann.page.unroute("**/api/questions")
    ann.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # a person returns to the tab
    ann.ready()


def test_dark_and_changed_keys_are_remembered_and_keys_can_be_switched_off(visit, studio):
    ann = visit(studio)
    ann.ready()
    page = ann.page
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.locator("header").get_by_role("button", name="Settings").click()
    page.get_by_label("Dark").check()
    dark = page.evaluate(ground)
    page.locator('[data-name="pair.same"]').click()
    page.keyboard.press("j")
    page.get_by_text("Same (pair) is now J.").wait_for()
    page.keyboard.press("Escape")
    assert page.locator('[data-action="pair.same"] kbd').inner_text() == "J"
    page.reload()
    ann.press("j")
    assert light != dark == page.evaluate(ground)
    page.locator("header").get_by_role("button", name="Settings").click()
    page.get_by_label("Use single keys for answers and actions").uncheck()
    page.keyboard.press("Escape")
    ann.ready()
    assert page.locator("section.question kbd").count() == 0
    page.keyboard.press("j")
    page.keyboard.press("d")
    ann.saved()
    assert ann.words() == ["SAME"]


def test_space_enlarges_after_the_reason_was_opened_by_click(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.page.get_by_text("Why this question?").click()
    ann.page.keyboard.press(" ")
    ann.page.wait_for_selector("dialog.zoomed[open]")


def test_a_dialog_closes_when_the_page_changes(visit, studio):
    ann = visit(studio)
    ann.ready()
    ann.page.keyboard.press("r")
    ann.page.wait_for_selector("dialog[open]")
    ann.go("history")
    ann.page.wait_for_selector("dialog", state="detached")
    ann.page.get_by_role("heading", name="History").wait_for()


def test_escape_closes_the_reason(visit, studio):
    ann = visit(studio)
    before = ann.ready()
    ann.page.get_by_text("Why this question?").click()
    ann.page.wait_for_selector("details.why[open]")
    ann.page.keyboard.press("Escape")
    ann.page.wait_for_selector("details.why:not([open])")
    assert ann.ready() == before


def test_the_reference_book_and_help_open_by_key(visit, studio):
    ann = visit(studio)
    ann.ready()
    same = ann.page.get_by_role("button", name="Same")
    same.focus()
    ann.page.keyboard.press("r")
    ann.page.wait_for_selector('.reference[aria-busy="false"]')
    ann.page.keyboard.press("s")  # a dialog is open: no answer
    ann.page.keyboard.press("Escape")
    ann.page.wait_for_selector("dialog", state="detached")
    assert same.evaluate("button => button === document.activeElement")
    ann.page.keyboard.press("?")
    ann.page.get_by_role("heading", name="Help").wait_for()
    ann.page.keyboard.press("Escape")
    assert ann.words() == []


def test_a_phone_shows_all_without_scrolling_sideways(visit, studio):
    ann = visit(studio, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    before = ann.ready()
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= 360
    for name in ("Different", "Unsure", "Same"):
        box = ann.page.get_by_role("button", name=name).bounding_box()
        assert min(box["height"], box["width"]) >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert box["y"] + box["height"] <= 740
    ann.page.get_by_role("button", name="Same").tap()
    ann.page.wait_for_selector(f'[data-ready="true"]:not([data-question="{before}"])')
    ann.saved()
    assert ann.words() == ["SAME"]


def test_without_a_login_the_page_says_how(browser, studio):
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.url + "/")
    page.get_by_role("heading", name="Please log in").wait_for()
    assert page.get_by_role("button", name="Same").count() == 0
    context.close()
