"""How items of each kind are shown, so that people can judge them, in a real browser."""

PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1440, "height": 900}
CUT_OFF = """() => [...document.querySelectorAll('.cells th, .cells td')]
  .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"""


def test_columns_that_set_two_rows_apart_come_first_and_only_they_are_marked(visit, studios, axe):
    ann = visit(studios("rows"))
    ann.ready()
    shown = ann.page.evaluate(
        """() => [...document.querySelectorAll('figure.item')].map(figure =>
          [...figure.querySelectorAll('tr')].map(row => ({
            column: row.querySelector('th').textContent,
            text: row.querySelector('td').textContent,
            marked: row.classList.contains('apart'),
            place: parseFloat(row.querySelector('.here')?.style.left ?? 'NaN'),
            other: parseFloat(row.querySelector('.other')?.style.left ?? 'NaN'),
          })))"""
    )
    columns = [[cell["column"] for cell in row] for row in shown]
    assert columns[0] == columns[1]
    assert len(columns[0]) == 4
    marks = [cell["marked"] for cell in shown[0]]
    assert marks == sorted(marks, reverse=True)  # in the order of what sets them apart
    for a, b in zip(*shown, strict=True):
        if a["column"] != "region":
            assert (a["place"], a["other"]) == (b["other"], b["place"])  # each bar shows both values
    decimals = {cell["column"]: len(cell["text"].split(" ")[0].partition(".")[2]) for cell in shown[0]}
    assert (decimals["ash"], decimals["proline"]) == (2, 0)
    for size in (WIDE, PHONE):
        ann.page.set_viewport_size(size)
        assert ann.page.evaluate(CUT_OFF) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert axe(ann.page) == []


def test_tables_side_by_side_scroll_together(visit, studios):
    ann = visit(studios("rows"))
    ann.ready()
    tables = ann.page.locator(".cells")
    tables.evaluate_all(
        "all => all.forEach(one => { one.style.minHeight = 0; one.style.flex = '0 0 60px'; })"
    )
    tables.first.evaluate("one => { one.scrollTop = 20; }")
    ann.page.wait_for_function("() => document.querySelectorAll('.cells')[1].scrollTop === 20")


def test_a_second_is_equally_wide_in_all_sounds(visit, studios, axe):
    ann = visit(studios("sounds"))
    ann.ready()
    ann.page.wait_for_function("() => document.querySelectorAll('.plot.scaled').length === 3")
    found = ann.page.evaluate(
        """() => [...document.querySelectorAll('figure.item')].map(figure => ({
          seconds: figure.querySelector('audio').duration,
          width: figure.querySelector('.spectrogram').getBoundingClientRect().width,
          times: figure.querySelector('.times').textContent,
          pitches: figure.querySelector('.pitches').textContent,
        }))"""
    )
    scales = [sound["width"] / sound["seconds"] for sound in found]
    assert max(scales) < 1.01 * min(scales)
    assert len({round(sound["seconds"], 2) for sound in found}) > 1
    assert {sound["pitches"] for sound in found} == {"kHz0.51248"}
    assert len({sound["times"] for sound in found}) == 1
    assert found[0]["times"].startswith("0 s0.")
    assert axe(ann.page) == []


def test_short_sounds_can_be_judged_beside_long_ones(visit, studios, axe):
    ann = visit(studios("uneven sounds"))
    scales = """() => [...document.querySelectorAll('figure.item')].map(figure => {
      const [track, shown] = ['.track', '.spectrogram'].map(one => figure.querySelector(one));
      const {duration} = figure.querySelector('audio');
      return {duration, pixels: shown.offsetWidth / duration, share: shown.offsetWidth / track.clientWidth};
    })"""
    while True:  # until a question has both
        ann.ready()
        ann.page.wait_for_function("() => document.querySelectorAll('.plot.scaled').length === 3")
        found = ann.page.evaluate(scales)
        if {round(one["duration"]) for one in found} == {1, 20}:
            break
        ann.press("n")
    pixels = [one["pixels"] for one in found]
    assert max(pixels) < 1.02 * min(pixels)
    assert min(one["share"] for one in found) > 0.15
    assert axe(ann.page) == []
    before = ann.page.get_attribute("section.question", "data-question")
    track = ann.page.locator('.track[tabindex="0"]').first
    track.focus()
    ann.page.keyboard.press("ArrowRight")
    assert track.evaluate("one => one.scrollLeft") > 0
    assert ann.page.get_attribute("section.question", "data-question") == before
    track.evaluate("one => { one.scrollLeft = 0; }")
    track.evaluate("""one => {
      const player = one.closest('.sound').querySelector('audio');
      player.currentTime = 15;
      player.dispatchEvent(new Event('seeked'));
      player.muted = true;
      player.play();
    }""")
    ann.page.wait_for_function(
        "one => one.scrollLeft > 0", arg=track.element_handle()
    )  # it follows the sound


def test_loop_applies_to_all_sounds_and_stays(visit, studios):
    ann = visit(studios("sounds"))
    ann.ready()
    ann.page.get_by_role("button", name="Loop").first.click()
    assert ann.page.evaluate("[...document.querySelectorAll('audio')].every(one => one.loop)")
    ann.press("5")  # keys still answer
    pressed = "[...document.querySelectorAll('.loop')].map(one => one.ariaPressed)"
    assert ann.page.evaluate(pressed) == ["true"] * 3


def test_long_texts_are_folded_and_unfold(visit, studios, axe):
    ann = visit(studios("texts"))
    long = " ".join(f"word{i}" for i in range(400)) + " the end."
    question = {
        **{"id": "q1", "kind": "pair", "text": "Together?", "why": "", "practice": False, "until": 9e9},
        "items": [
            {
                **{"row": row, "id": f"t{row}", "kind": "text", "title": f"t{row}", "text": text},
                **{"cells": [], "media": None, "thumb": None, "spectrogram": None, "broken": None},
            }
            for row, text in enumerate((long, "word1 and short"))
        ],
    }
    reply = {"questions": [question], "state": "ready", "message": None}
    ann.page.route("**/api/questions", lambda route: route.fulfill(json=reply))
    ann.page.reload()
    ann.ready()
    texts = ann.page.locator("figure .text")
    assert "word399" not in texts.first.inner_text()
    more = ann.page.get_by_role("button", name="Show all")
    assert more.count() == 1
    assert axe(ann.page) == []
    more.click()
    assert more.count() == 0
    spoken = texts.first.evaluate(
        "one => { one.querySelectorAll('.sr').forEach(each => each.remove()); return one.textContent; }"
    )
    assert spoken.replace("… ", "") == long


def test_texts_on_small_cards_are_cut_between_lines(visit, studios):
    ann = visit(studios("texts"))
    ann.ready()
    ann.page.keyboard.press("r")
    ann.page.wait_for_selector(".reference .item-card")
    for width in (1280, 390):
        ann.page.set_viewport_size({"width": width, "height": 800})
        cut = ann.page.evaluate(
            """() => {
              const end = one => one.getBoundingClientRect().bottom;
              return [...document.querySelectorAll('.reference .shown')]
                .filter(one => end(one.querySelector('.words')) > end(one)).map(one => one.textContent);
            }"""
        )
        assert cut == []
