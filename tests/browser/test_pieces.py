"""Unit tests of the small modules of the pages, run in a browser."""


def mark_pieces(pieces):
    return ["".join(f"[{p['text']}]" if p["only"] else p["text"] for p in side) for side in pieces]


def test_words_on_only_one_side_are_marked_in_order(run):
    pieces = run("diff.js", "m => m.markTexts(['The red cat sat.', 'the old black cat sat!'])")
    assert mark_pieces(pieces) == ["The [red] cat sat.", "the [old black] cat sat!"]


def test_moved_words_are_marked_once(run):
    assert mark_pieces(run("diff.js", "m => m.markTexts(['a b c', 'c a b'])")) == ["a b [c]", "[c] a b"]


def test_in_three_texts_words_of_only_one_are_marked(run):
    pieces = run("diff.js", "m => m.markTexts(['one two', 'two three', 'two one four'])")
    assert mark_pieces(pieces) == ["one two", "two [three]", "two one [four]"]


def test_other_scripts_and_empty_texts_are_cut_into_words(run):
    assert mark_pieces(run("diff.js", "m => m.markTexts(['קפה חם', 'קפה קר'])")) == ["קפה [חם]", "קפה [קר]"]
    assert mark_pieces(run("diff.js", "m => m.markTexts(['', 'x'])")) == ["", "[x]"]


def test_long_texts_are_marked_too(run):
    code = "m => m.markTexts(['a '.repeat(50000) + 'b', 'a '.repeat(50000)]).map(side => side.length)"
    assert run("diff.js", code) == [1, 1]  # words beyond the cap are ignored, and nothing hangs
    code = "m => m.markTexts(['a '.repeat(3000) + 'b', 'a '.repeat(3000)])[0].at(-1)"
    assert run("diff.js", code) == {"text": "b", "only": True, "shared": False, "rarity": 1}


def test_differences_are_scaled_by_their_column(run):
    code = """m => {
      const known = new Map([["a", 10, 0], ["b", 0.01, 0], ["word", 0.5, null]].map(
        ([name, typical, low]) => [name, {name, typical, low, high: 9, middle: [1, 2], decimals: 2}]));
      return m.compareCells([
        [["a", "5"], ["b", "0.30"], ["word", "red"], ["same", "1.0"]],
        [["a", "9"], ["b", "0.32"], ["word", "red"], ["same", "1"]]], known);
    }"""
    found = run("diff.js", code)
    assert found["columns"] == ["b", "a", "word", "same"]  # a small number may be a large difference
    gaps = [[round(gap, 6) for gap in each] for each in found["apart"]]
    assert gaps == [[2, 2], [0.4, 0.4], [0, 0], [0, 0]]
    assert found["values"][0] == ["0.30", "0.32"]


def test_of_three_cells_the_odd_one_is_marked(run):
    code = """m => m.compareCells([
      [["n", "1.0"], ["x", "a"], ["only", "1"]], [["n", "1"], ["x", "b"]], [["n", "2"], ["x", "c"]]])"""
    found = run("diff.js", code)
    assert found["columns"] == ["n", "x", "only"]
    assert found["apart"] == [[0, 0, 1], [1, 1, 1], [1, 0, 0]]
    assert found["values"][2] == ["1", None, None]


def test_columns_in_which_groups_differ_come_before_those_that_vary_within_them(run):
    code = """m => {
      const about = name => [name, {name, low: 0, high: 9, typical: 2}];
      const known = new Map(["kind", "noise", "same"].map(about));
      const row = (kind, noise) => [["same", "5"], ["noise", noise], ["kind", kind]];
      return m.orderColumns([[row("1", "1"), row("1", "9")], [row("8", "1"), row("8", "9")]], known);
    }"""
    assert run("diff.js", code) == ["kind", "same", "noise"]


def test_numbers_of_a_column_are_shown_alike(run):
    code = """m => {
      const column = {name: "x", typical: 1, low: -1, high: 3, middle: [0, 1], decimals: 2, levels: []};
      return ["0.5", "-1", "n/a", ""].map(cell => [m.formatCell(cell, column), m.placeInRange(cell, column)]);
    }"""
    assert run("diff.js", code) == [["0.50", 0.375], ["\u22121.00", 0], ["n/a", None], ["", None]]


def test_elements_come_from_an_allow_list(run):
    refused = """m => [
      () => m.h('script'),
      () => m.h('div', {onclick: 'alert(1)'}),
      () => m.h('div', {style: 'color: red'}),
      () => m.h('div', {innerHTML: '<b>'}),
      () => m.h('a', {href: 'javascript:alert(1)'}),
      () => m.h('img', {src: '//elsewhere.example/x.png'}),
      () => m.h('a', {href: 'data:text/html,<script>1</script>'}),
    ].map(make => { try { make(); return `made by ${make}`; } catch (error) { return error.name; } })"""
    assert run("dom.js", refused) == ["TypeError"] * 7


def test_children_are_text(run):
    made = """m => {
      const p = m.h("p", {title: '"><b>'}, "<b>x</b>", 0, null, false, ["y", m.h("i", null, "z")]);
      return [p.title, p.textContent, p.children.length];
    }"""
    assert run("dom.js", made) == ['"><b>', "<b>x</b>0yz", 1]


def test_the_clock_stops_while_the_page_is_hidden(run):
    code = """m => {
      let now = 1000;
      const kept = performance.now;
      performance.now = () => now;
      const clock = new m.Clock();
      clock.start();
      now += 1500; clock.turn(true);
      now += 60000; clock.turn(false);
      now += 250;
      const seconds = clock.seconds;
      performance.now = kept;
      return seconds;
    }"""
    assert run("asking.js", code) == 1.75


def test_the_outbox_works_without_a_database(run):
    code = """async m => {
      const sent = [];
      const post = async (path, body) => {
        sent.push([path, body.of ?? null]);
        return {seq: 10 + sent.length};
      };
      const box = new m.Outbox({post}, "test", Promise.resolve(m.memoryKeeper()));
      const first = box.post("api/answers", {key: "a"});
      const second = box.post("api/undo", {key: "b", of: null}, {undoes: "a"});
      return {replies: await Promise.all([first, second]), sent, left: box.waiting.length};
    }"""
    found = run("outbox.js", code)
    assert found == {
        "replies": [{"seq": 11}, {"seq": 12}],
        "sent": [["api/answers", None], ["api/undo", 11]],
        "left": 0,
    }


def test_a_key_given_to_one_action_is_taken_from_another(run):
    code = """m => {
      localStorage.clear();
      const keys = new m.Keys();
      const lost = keys.bind("skip", "S");
      const first = [lost, keys.of("skip"), keys.of("pair.same"), keys.of("triplet.ab")];
      return [first, [keys.bind("triplet.ab", "s"), keys.of("skip")]];
    }"""
    first, second = run("keys.js", code)
    assert first == ["Same", ["s"], ["ArrowRight", "3"], ["1"]]
    assert second == ["Skip", []]


def test_axes_of_a_spectrogram_have_round_numbers(run):
    found = run("sound.js", "m => [0.3, 3, 61, 600].map(seconds => m.chooseTimes(seconds))")
    assert found[0] == [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert found[1] == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    assert found[2:] == [[0, 20, 40, 60], [0, 100, 200, 300, 400, 500, 600]]
    places = run("sound.js", "m => [50, 1000, 8000].map(m.placePitch)")
    assert (places[0], places[2]) == (0, 1)
    assert 0.3 < places[1] < 0.4


def test_short_sounds_stay_visible_beside_long_ones(run):
    code = "m => [[2, 3], [2, 60], [0, 0.5, 60], [0], []].map(lengths => m.chooseSpan(lengths))"
    assert run("sound.js", code) == [3, 12, 3, 0, 0]
    assert run("sound.js", "m => m.chooseTimes(12, 60)") == list(range(0, 61, 2))


def test_an_older_report_of_the_progress_is_recognised(run):
    code = """m => [[[4, 3, 3], [4, 4, 3]], [[4, 4, 3], [4, 3, 3]], [[4, 4, 4], [4, 4, 4]],
        [[3, 3, 3], [4, 2, 2]], [[5, 2, 2], [4, 4, 4]], [[4, 4, 3], [4, 4, 4]], [[4, 4, 4], [4, 4, 3]]]
      .map(([one, other]) => m.isOlder({version: one}, {version: other}))"""
    assert run("progress.js", code) == [True, False, False, True, False, True, False]


def test_names_of_columns_break_between_their_words(run):
    code = """m => {
      const card = m.itemCard({row: 0, id: "a", kind: "row", title: "a", text: null, broken: null,
        cells: [["od280/od315_of_wines", "1"]]}, {onOpen: null});
      const name = card.querySelector(".column");
      return [name.textContent, name.querySelectorAll("wbr").length];
    }"""
    assert run("item.js", code) == ["od280/od315_of_wines", 3]


def test_rare_words_are_marked_and_common_ones_are_not(run):
    code = """m => {
      const rarity = m.rarityOf({n: 1000, words: [["the", 900], ["is", 400], ["card", 100], ["blue", 20]]});
      const marked = m.markTexts(["the card is blue", "the card was lost is"], rarity);
      return marked.map(side => side.filter(one => one.only || one.shared)
        .map(one => [one.text, one.shared, Math.round(100 * one.rarity)]));
    }"""
    assert run("diff.js", code) == [
        [["card", True, 33], ["blue", False, 57]],
        [["card", True, 33], ["was lost", False, 100]],
    ]


def test_of_many_words_the_rarest_are_marked(run):
    code = """m => {
      const common = Array.from({length: 40}, (_, i) => [`w${i}`, 10 + i]);
      const text = common.map(([word]) => word).join(" ");
      return m.markTexts([text, "x"], m.rarityOf({n: 1000, words: common}))[0].filter(one => one.only);
    }"""
    (found,) = run("diff.js", code)
    assert found["text"] == " ".join(f"w{i}" for i in range(12))


def test_labels_of_the_map_avoid_items_buttons_and_each_other(run):
    code = """m => {
      const stage = document.createElement("div"), tools = document.createElement("div");
      stage.style.cssText = "position: absolute; left: 0; top: 0; width: 400px; height: 300px";
      tools.className = "map-tools";
      tools.style.cssText = "position: absolute; right: 0; top: 0; width: 40px; height: 120px";
      const names = new m.MapNames();
      names.element.style.cssText = "position: absolute; inset: 0";
      stage.append(names.element, tools);
      document.body.append(stage);
      const groups = [0, 1].map(number =>
        ({number, name: "name", size: 9 - number, description: [], typical: [{row: number}]}));
      names.set(groups);
      for (const one of names.labels) {
        [one.width, one.height] = [60, 20];
      }
      // Row 0 has others above it; row 1 is beside the buttons.
      const above = Array.from({length: 20}, (_, i) => [170 + 3 * i, 131]);
      const xy = new Float32Array([200, 150, 350, 60, ...above.flat()]);
      names.place({ax: 1, bx: 0, ay: 1, by: 0}, xy, () => true);
      const found = names.labels.map(({label}) => label.style.transform.match(/-?[0-9.]+/g).map(Number));
      stage.remove();
      return found;
    }"""
    first, second = run("map_names.js", code)
    assert first == [170, 159]  # below its item
    assert second[0] + 60 < 360  # left of the buttons


def test_labels_of_the_map_keep_units_and_means(run):
    code = """m => {
      const names = new m.MapNames();
      const description = ["petal length (cm) 1.46 (others 4.26)", "red 90 % (others 20 %)", "slow (song)"];
      names.set([{number: 1, name: "short", size: 9, description, typical: [{row: 0}]}]);
      return names.element.querySelector("span").textContent;
    }"""
    assert run("map_names.js", code) == "petal length (cm) 1.46, red 90 %, slow (song)"


def test_small_spectrograms_have_one_scale_although_a_sound_fails(run):
    code = """m => {
      const part = document.createElement("div");
      part.innerHTML = [0, 1, 2].map(row =>
        `<div class="example"><figure class="of-sound" data-row="${row}"><img></figure></div>`
        + `<audio data-row="${row}"></audio>`).join("");
      m.toOneScaleSmall([part]);
      const widths = () => [...part.querySelectorAll("img")].map(image => image.style.width);
      const [long, short, failed] = part.querySelectorAll("audio");
      for (const [player, seconds] of [[long, 4], [short, 1]]) {
        Object.defineProperty(player, "duration", {value: seconds});
        player.dispatchEvent(new Event("loadedmetadata"));
      }
      const before = widths();
      Object.defineProperty(failed, "error", {value: {code: 4}});
      failed.dispatchEvent(new Event("error"));
      return [before, widths()];
    }"""
    assert run("sound.js", code) == [["", "", ""], ["100%", "25%", ""]]
