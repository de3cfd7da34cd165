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
    assert run("diff.js", code) == {"text": "b", "only": True}


def test_cells_that_differ_are_marked(run):
    code = """m => m.compareCells([
      [["n", "1.0"], ["x", "a"], ["only", "1"]], [["n", "1"], ["x", "b"]], [["n", "2"], ["x", "c"]]])"""
    found = run("diff.js", code)
    assert found["columns"] == ["n", "x", "only"]
    assert found["apart"] == [[False, False, True], [True, True, True], [True, False, False]]
    assert found["values"][2] == ["1", None, None]


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
