"""Questions about groups: placements, members, two groups and labels."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.active import (
    Answer,
    InGroup,
    Interview,
    InterviewState,
    Named,
    Pool,
    Question,
    Reply,
    Trace,
    Unlike,
    build_supervision,
    collect_relations,
    simulate,
)
from likewise.exceptions import FileFormatError, SupervisionError
from likewise.oracles import LabelOracle, NoisyOracle, RecordedOracle

X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2], [9.3]])


def ask_nothing(**more):
    return Interview(X, **{"strategy": "farthest-first", **more})


def name_rows(interview, names):
    for row, name in names:
        interview.tell(Question.label(row), name)
    return interview


# ---------------------------------------------------------------------- questions


def test_the_first_row_of_a_placement_and_of_members_has_its_own_role():
    placed = Question.placement(5, [9, 2, 7])
    assert (placed.rows, placed.references) == ((5, 9, 2, 7), (9, 2, 7))  # the order is kept
    assert placed.key == ("placement", (5, 2, 7, 9)) == Question.placement(5, [7, 2, 9]).key
    assert placed.key != Question.placement(2, [5, 7, 9]).key
    assert Question.members(5, [9, 2]).key == ("members", (5, 2, 9))
    assert Question.groups(7, 3).rows == (7, 3)
    assert Question.groups(7, 3).key == Question.groups(3, 7).key != Question.pair(3, 7).key


def test_examples_and_names_are_shown_but_do_not_identify_a_question():
    shown = Question.placement(5, [9, 2], examples=[[9, 8], [2]], names=["wren", None])
    assert (shown.examples, shown.names) == (((9, 8), (2,)), ("wren", None))
    assert shown.key == Question.placement(5, [9, 2]).key
    assert shown.text == "Does row 5 belong to wren (row 9), the group of row 2 or a new group?"
    assert shown.renumber(lambda row: 10 * row).examples == ((90, 80), (20,))
    assert Question.label(3, examples=[4, 5], names=["wren"]).examples == ((4, 5),)


def test_questions_as_sentences():
    birds = ["wren", "owl", "tit"].__getitem__
    assert Question.members(0, [1, 2]).text == "Which of rows 1 and 2 do not belong to the group of row 0?"
    assert Question.members(0, [1]).to_text(birds) == "Does owl belong to the group of wren?"
    assert Question.groups(2, 0).to_text(birds) == "Are the group of tit and the group of wren the same?"
    assert Question.label(1).text == "What is the name of the group of row 1?"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Question.placement(1, []), "needs 1 to 7 groups to choose from; got no group for row 1"),
        (lambda: Question.members(4, []), "needs 1 to 11 rows to compare .* got only the reference row 4"),
        (lambda: Question.placement(1, range(2, 10)), "one row and 1 to 7 groups"),
        (lambda: Question.placement(1, [2, 1]), "different rows"),
        (lambda: Question.members(1, range(2, 14)), "2 to 12 different rows"),
        (lambda: Question.members(1, [2, 2]), "different rows"),
        (lambda: Question.groups(1, 1), "2 different rows"),
        (lambda: Question("label", (1, 2)), "a label question has 1 row"),
        (lambda: Question.placement(1, [2, 3], examples=[[2]]), "examples for each of the 2 groups"),
        (lambda: Question.placement(1, [2, 3], names=["a"]), "a name or None for each of the 2 groups"),
        (lambda: Question.groups(1, 2, names=["a", 5]), "must be strings or None"),
        (lambda: Question.groups(1, 2, examples=[["a"], [2]]), "expected row numbers"),
        (lambda: Question.pair(1, 2).check_answer("NEW"), "NEW does not answer a pair"),
        (lambda: Question.placement(1, [2]).check_answer(3), "row 3 is not in the question"),
        (lambda: Question.placement(1, [2]).check_answer(1), "row 1 is the row to place"),
        (lambda: Question.placement(1, [2]).check_answer("SAME"), "SAME does not answer a placement"),
        (lambda: Question.placement(1, [2]).check_answer([]), "use NEW if there is none"),
        (lambda: Question.placement(1, [2]).check_answer(True), "does not answer a placement"),
        (lambda: Question.members(1, [2]).check_answer([1]), "row 1 is the reference row"),
        (lambda: Question.members(1, [2]).check_answer([7]), "row 7 is not in the question"),
        (lambda: Question.members(1, [2]).check_answer("DIFFERENT"), "does not answer a question about mem"),
        (
            lambda: Question.groups(1, 2).check_answer("NEITHER"),
            "does not answer a question about two",
        ),
        (lambda: Question.label(1).check_answer(Answer.SAME), "SAME does not answer a label question"),
        (lambda: Question.label(1).check_answer("new"), "NEW does not answer a label question"),
        (lambda: Question.label(1).check_answer(5), "does not answer a label question"),
        (lambda: Question.label(1).check_answer("  "), "1 to 200 characters"),
        (lambda: Named("a" * 201), "1 to 200 characters, got 201"),
        (lambda: Named("a\0b"), "control character"),
        (lambda: Named("\ud800"), "control character"),
        (lambda: Named(5), "a name must be a string"),
        (lambda: InGroup("a"), "expected row numbers"),
        (lambda: Unlike(None), "expected row numbers"),
    ],
)
def test_what_is_no_question_about_groups_or_no_answer_is_refused(make, message):
    with pytest.raises(SupervisionError, match=message):
        make()


def test_names_are_normalized():
    assert Named(" winter \n\t wren ").name == "winter wren"
    assert Named("e\u0301") == Named("\u00e9")
    assert Named("Wren") != Named("wren")
    assert Question.label(0).check_answer("unsure") is Answer.UNSURE
    assert Question.label(0).check_answer(Named("unsure")) == Named("unsure")


# ---------------------------------------------------------------------- what answers state


@pytest.mark.parametrize(
    ("question", "answer", "relations"),
    [
        (Question.pair(0, 1), "SAME", [(0, 1, True)]),
        (Question.triplet(2, 1, 0), "AB", [(1, 2, True), (0, 1, False), (0, 2, False)]),
        (Question.odd([0, 1, 2]), "SAME", [(0, 1, True), (0, 2, True), (1, 2, True)]),
        (Question.odd([0, 1, 2]), "NEITHER", []),
        (Question.piles([0, 1, 2]), [[0, 2], [1]], [(0, 2, True), (0, 1, False), (2, 1, False)]),
        (Question.placement(5, [9, 2]), 2, [(5, 9, False), (5, 2, True)]),
        (Question.placement(5, [9, 2]), [2, 9], [(5, 9, True), (5, 2, True)]),
        (Question.placement(5, [9, 2]), "new", [(5, 9, False), (5, 2, False)]),
        (Question.placement(5, [9, 2]), "UNSURE", []),
        (Question.members(5, [9, 2]), [9], [(5, 9, False), (5, 2, True)]),
        (Question.members(5, [9, 2]), [], [(5, 9, True), (5, 2, True)]),
        (Question.members(5, [9, 2]), {9, 2}, [(5, 9, False), (5, 2, False)]),
        (Question.members(5, [9, 2]), "unsure", []),
        (Question.groups(7, 3), "yes", [(3, 7, True)]),
        (Question.groups(7, 3), False, [(3, 7, False)]),
        (Question.label(5), "wren", []),
    ],
)
def test_relations_by_hand(question, answer, relations):
    reply = Reply(question, answer)
    assert sorted(reply.relations) == sorted(relations)
    hints = build_supervision([reply], 10)
    if reply.question.kind != "triplet" and reply.answer is not Answer.NEITHER:
        together = {tuple(sorted((i, j))) for i, j, same in relations if same}
        closure = hints.closure()
        assert all(closure.component[i] == closure.component[j] for i, j in together)
        apart = {tuple(sorted((i, j))) for i, j, same in relations if not same}
        assert {tuple(sorted(pair)) for pair in hints.cannot.tolist()} == apart


def test_members_say_nothing_about_the_odd_rows_among_each_other():
    state = InterviewState.from_data(
        X, build_supervision([Reply(Question.members(0, [1, 3, 6]), [3, 6])], 10)
    )
    assert (state.knows(0, 1), state.knows(1, 3), state.knows(3, 6)) == ("must", "cannot", "unknown")


def test_a_placement_says_nothing_about_the_other_groups_among_each_other():
    state = InterviewState.from_data(X, build_supervision([Reply(Question.placement(0, [1, 3, 6]), 1)], 10))
    assert (state.knows(0, 1), state.knows(1, 3), state.knows(3, 6)) == ("must", "cannot", "unknown")


def test_names_relate_the_first_rows_of_each():
    replies = [
        Reply(Question.label(row), name)
        for row, name in [(4, "owl"), (7, "wren"), (2, "owl"), (2, "owl"), (1, "tit"), (4, "owl")]
    ]
    assert collect_relations(replies) == [
        (),
        ((7, 4, False),),
        ((2, 4, True),),
        ((2, 4, True),),
        ((1, 4, False), (1, 7, False)),
        (),
    ]
    assert collect_relations(replies[:1], {"tit": 0}) == [((4, 0, False),)]


def test_a_name_of_the_hints_is_the_same_group():
    given = Supervision.from_labels([None, "wren", None, "owl", None, None, None, None, None, None])
    interview = name_rows(Interview(X, supervision=given), [(2, "wren"), (6, "tit")])
    state = interview.state()
    assert interview.names == {"wren": 1, "owl": 3, "tit": 6}
    assert (state.knows(1, 2), state.knows(2, 3), state.knows(3, 6)) == ("must", "cannot", "cannot")
    assert (state.get_name(2), state.get_name(8)) == ("wren", None)


# ---------------------------------------------------------------------- contradictions, undo, open questions


def test_a_name_for_a_row_whose_group_has_another_name_is_a_contradiction():
    interview = name_rows(ask_nothing(), [(0, "wren"), (3, "owl")])
    interview.tell(Question.pair(0, 1), "SAME")
    assert interview.contradictions == ()
    reply = interview.tell(Question.label(1), "owl")
    (found,) = interview.contradictions
    assert (set(found.rows), set(found.chain)) == ({0, 3}, {0, 1, 3})
    assert reply in found.replies
    assert len(found.replies) == 3  # the name that separates them, the pair, the second name
    interview.undo()
    assert interview.contradictions == ()


def test_a_row_with_two_names_is_a_contradiction():
    interview = name_rows(ask_nothing(), [(0, "wren"), (0, "owl"), (3, "owl")])
    (found,) = interview.contradictions
    assert (found.rows, found.chain, len(found.replies)) == ((0,), (), 2)
    assert str(found) == "row 0 has more than one name: wren, owl"
    assert interview.state().knows(0, 3) == "must"


def test_undoing_the_first_use_of_a_name_leaves_the_other_uses():
    interview = name_rows(ask_nothing(), [(0, "wren"), (1, "wren"), (2, "wren")])
    interview.undo(Question.label(0))
    assert interview.names == {"wren": 1}
    assert interview.supervision.must.tolist() == [[1, 2]]


def test_a_question_is_open_as_long_as_its_answer_is_not_known():
    interview = ask_nothing()
    placed, look = Question.placement(0, [3, 6]), Question.members(3, [4, 5])
    assert interview.state().can_ask(placed)
    interview.tell(placed, "UNSURE")
    assert not interview.state().can_ask(placed)  # it was asked
    interview.undo()
    interview.tell(Question.pair(0, 3), "DIFFERENT")
    assert interview.state().can_ask(placed)
    interview.tell(Question.pair(0, 6), "SAME")
    assert not interview.state().can_ask(placed)
    interview.tell(Question.pair(3, 4), "SAME")
    assert interview.state().can_ask(look)
    interview.tell(Question.pair(4, 5), "DIFFERENT")
    assert not interview.state().can_ask(look)
    interview.tell(Question.label(4), "owl")
    assert not interview.state().can_ask(Question.label(3))
    assert interview.state().can_ask(Question.label(0))


def test_a_stale_placement_is_recorded_and_states_what_was_seen():
    interview = ask_nothing()
    stale = Question.placement(0, [3, 6])
    interview.tell(Question.groups(3, 6), "SAME")  # another person joined the two groups meanwhile
    interview.tell(stale, 3)
    (found,) = interview.contradictions  # 0 was seen to be unlike 6
    assert set(found.rows) == {0, 6}
    assert len(found.replies) == 2
    interview.undo(stale)
    interview.tell(stale, [3, 6])  # the group is shown twice, and both are chosen
    assert interview.contradictions == ()


def test_a_row_that_was_placed_meanwhile():
    interview = ask_nothing()
    stale = Question.placement(0, [3, 6])
    interview.tell(Question.pair(0, 1), "SAME")
    interview.tell(Question.placement(1, [3, 6]), 6)
    assert not interview.state().can_ask(stale)
    reply = interview.tell(stale, 6)  # recorded as a further vote
    assert interview.replies[-1] == reply
    assert interview.contradictions == ()


def test_more_placements_than_clusters_are_a_contradiction():
    interview = Interview(X, n_clusters=2)
    interview.tell(Question.groups(3, 6), "DIFFERENT")
    interview.tell(Question.placement(0, [3, 6]), "NEW")
    (found,) = interview.contradictions
    assert found.rows == (0, 3, 6)
    assert len(found.replies) == 2


def test_a_question_about_rows_that_do_not_exist_is_refused():
    for question in (
        Question.placement(0, [12]),
        Question.members(0, [1], examples=[[12]]),
        Question.label(12),
    ):
        with pytest.raises(SupervisionError, match="row 12, but the rows are numbered 0 to 9"):
            ask_nothing().tell(question, "UNSURE")


def test_answers_about_groups_shape_the_clusters():
    interview = Interview(X, n_clusters=3, errors=0)
    interview.tell(Question.placement(2, [3, 6]), 6)  # against the features
    interview.tell(Question.members(6, [2, 7, 8, 3]), [3])
    interview.tell(Question.groups(6, 0), "no")
    labels = interview.labels_
    assert labels[2] == labels[6] == labels[7] == labels[8]
    assert len({labels[6], labels[3], labels[0]}) == 3


def test_a_wrong_look_at_a_group_is_suspicious():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(c, 0.3, size=(20, 2)) for c in (0, 6, 12)])
    interview = Interview(rows, n_clusters=3)
    for base in (0, 20, 40):
        interview.tell(Question.members(base, range(base + 1, base + 12)), "SAME")
    for a, b in ((0, 20), (20, 40), (0, 40)):
        interview.tell(Question.groups(a, b), "DIFFERENT")
    wrong = interview.tell(Question.members(0, [12, 13, 27]), "SAME")  # 27 is like 20
    assert interview.suspects[0].reply == wrong
    assert interview.labels_[27] == interview.labels_[20] != interview.labels_[13]


def test_progress_counts_answers_about_groups():
    interview = Interview(X, n_clusters=3)
    oracle = LabelOracle([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    for row in (1, 2, 4, 5, 7, 8, 9):
        question = Question.placement(row, [0, 3, 6])
        interview.tell(question, oracle.answer(question))
    for row in (0, 3, 6):
        interview.tell(Question.label(row), oracle.answer(Question.label(row)))
    assert interview.progress().advice_code != "one-sided"
    only = Interview(X, n_clusters=3)
    for row in range(1, 10):
        only.tell(Question.members(0, [row]), "SAME")
    only.tell(Question.label(0), "wren")
    assert only.progress().advice_code in ("one-sided", "finished")


# ---------------------------------------------------------------------- seconds


def test_seconds_are_learned_from_the_history():
    interview = ask_nothing()
    assert interview.seconds_per_kind["placement"] == 5.0
    interview.tell(Question.placement(0, [3]), 3, seconds=16.0)
    interview.tell(Question.placement(1, [3]), 3)
    assert interview.seconds_per_kind["placement"] == pytest.approx((10 * 5 + 16) / 11)
    interview.undo(Question.placement(0, [3]))  # it took the time nevertheless
    interview.tell(Question.placement(2, [3]), 3, seconds=3600)  # a break
    assert interview.seconds_per_kind["placement"] == pytest.approx((10 * 5 + 16 + 50) / 12)
    assert interview.seconds_per_kind["pair"] == 2.5
    assert interview.state().seconds_per_kind == interview.seconds_per_kind


# ---------------------------------------------------------------------- files

ROWS = st.integers(0, 9)


@st.composite
def replies(draw):
    kind = draw(st.sampled_from(["pair", "placement", "members", "groups", "label"]))
    rows = draw(st.lists(ROWS, min_size=2, max_size=8, unique=True))
    name = st.none() | st.text(max_size=5)
    if kind == "label":
        question = Question.label(rows[0], examples=rows[1:], names=draw(st.lists(st.text(max_size=5))))
        named = st.text(min_size=1, max_size=5).filter(is_name).map(Named)
        return Reply(question, draw(named | st.just(Answer.UNSURE)))
    if kind in ("pair", "groups"):
        question = getattr(Question, kind)(*rows[:2])
        return Reply(question, draw(st.sampled_from(["SAME", "DIFFERENT", "UNSURE"])))
    n = len(rows) - 1 if kind == "placement" else 1
    question = getattr(Question, kind)(
        rows[0],
        rows[1:],
        examples=draw(st.none() | st.lists(st.lists(ROWS, max_size=3), min_size=n, max_size=n)),
        names=draw(st.none() | st.lists(name, min_size=n, max_size=n)),
        score=0.25,
        reason="why",
    )
    some = st.lists(st.sampled_from(rows[1:]), unique=True)
    if kind == "members":
        return Reply(question, draw(some | st.just("UNSURE")))
    chosen = st.lists(st.sampled_from(rows[1:]), unique=True, min_size=1)
    return Reply(question, draw(chosen | st.sampled_from(["NEW", "UNSURE"])), "Ann", None, 2.0)


def is_name(text):
    try:
        Named(text)
    except SupervisionError:
        return False
    return True


@given(given_replies=st.lists(replies(), max_size=8), undone=st.booleans(), ids=st.booleans())
def test_a_saved_interview_comes_back(tmp_path_factory, given_replies, undone, ids):
    names = [f"bird {row}" for row in range(10)] if ids else None
    interview = Interview(X, ids=names)
    for reply in given_replies:
        interview.tell(reply.question, reply.answer, annotator=reply.annotator, seconds=reply.seconds)
    if undone and given_replies:
        interview.undo()
    path = tmp_path_factory.mktemp("saved") / "i.json"
    interview.save(path)
    again = Interview.load(path, X, ids=names)
    assert again.history == interview.history
    assert again.supervision == interview.supervision
    assert again.names == interview.names
    assert [c.rows for c in again.contradictions] == [c.rows for c in interview.contradictions]


@given(reply=replies(), data=st.data())
def test_renumbering_there_and_back(reply, data):
    order = data.draw(st.permutations(range(10)))
    assert reply.renumber(order.__getitem__).renumber(order.index) == reply


def test_a_spoilt_answer_about_groups_is_refused(tmp_path):
    interview = ask_nothing()
    interview.tell(Question.placement(0, [3, 6]), 6)
    interview.save(tmp_path / "i.json")
    content = json.loads((tmp_path / "i.json").read_text("utf-8"))
    for changes in (
        {"answer": {"groups": [5]}},
        {"answer": {"groups": 6}},
        {"answer": {"group": [6]}},
        {"answer": {"name": 6}},
        {"answer": "SAME"},
        {"names": ["a"]},
        {"examples": [[3], [60]]},
        {"rows": [0, 0, 6]},
    ):
        spoilt = content | {"history": [content["history"][0] | changes]}
        (tmp_path / "j.json").write_text(json.dumps(spoilt), "utf-8")
        with pytest.raises(FileFormatError, match="event 0 of the history"):
            Interview.load(tmp_path / "j.json", X)


# ---------------------------------------------------------------------- oracles

Y = ["wren", "wren", "wren", "owl", "owl", "owl", "tit", "tit", "tit", None]


@given(reply=replies())
def test_the_oracle_that_knows_the_classes_states_no_wrong_relation(reply):
    oracle = LabelOracle(Y)
    answer = oracle.answer(reply.question)
    assert (answer is Answer.UNSURE) == any(Y[row] is None for row in reply.question.rows)
    for i, j, together in Reply(reply.question, answer).relations:
        assert together == (Y[i] == Y[j])


def test_the_answers_of_the_oracle_by_hand():
    oracle = LabelOracle(Y)
    assert oracle.answer(Question.placement(0, [3, 2, 6])) == InGroup(2)
    assert oracle.answer(Question.placement(0, [3, 6])) is Answer.NEW
    assert oracle.answer(Question.placement(0, [3, 2, 1])) == InGroup([1, 2])  # a group that is shown twice
    assert oracle.answer(Question.members(0, [1, 3, 2, 6])) == Unlike([3, 6])
    assert oracle.answer(Question.members(0, [1, 2])) is Answer.SAME
    assert oracle.answer(Question.groups(0, 2)) is Answer.SAME
    assert oracle.answer(Question.groups(0, 3)) is Answer.DIFFERENT
    assert oracle.answer(Question.label(3)) == Named("owl")
    mixed = LabelOracle(np.array([1, "1", 2], dtype=object))
    assert len({mixed.answer(Question.label(row)) for row in range(3)}) == 3


def test_an_oracle_that_is_always_wrong():
    oracle = NoisyOracle(Y, rate=1.0)
    assert oracle.answer(Question.placement(0, [3, 2, 6])) in (InGroup(3), InGroup(6), Answer.NEW)
    assert oracle.answer(Question.placement(0, [3])) == InGroup(3)
    assert oracle.answer(Question.members(0, [1, 3, 2, 6])) == Unlike([1, 2])
    assert oracle.answer(Question.groups(0, 3)) is Answer.SAME
    assert oracle.answer(Question.label(3)) in (Named("wren"), Named("tit"))
    assert NoisyOracle(["wren"] * 3, rate=1.0).answer(Question.label(0)) == Named("wren")
    assert oracle.answer(Question.label(9)) is Answer.UNSURE


def test_error_rates_are_those_that_were_given():
    y = np.repeat(np.arange(20), 20)
    oracle, truth = NoisyOracle(y, rate=0.1, random_state=3), LabelOracle(y)
    rng = np.random.default_rng(0)
    n, tiles, placed = 600, 0, []
    for _ in range(n):
        rows = rng.choice(len(y), size=8, replace=False).tolist()
        members, placement = Question.members(rows[0], rows[1:6]), Question.placement(rows[0], rows[1:])
        right, told = Reply(members, truth.answer(members)), Reply(members, oracle.answer(members))
        tiles += sum(a != b for a, b in zip(right.relations, told.relations, strict=True))
        placed.append(oracle.answer(placement) != truth.answer(placement))
        assert oracle.answer(placement) == oracle.answer(Question.placement(rows[0], rows[:0:-1]))
    assert tiles / (5 * n) == pytest.approx(0.1, abs=0.02)
    assert np.mean(placed) == pytest.approx(0.1, abs=0.04)


def test_recorded_answers_about_groups_are_repeated():
    replies = [Reply(Question.placement(0, [3, 6]), 6), Reply(Question.label(0), "wren")]
    oracle = RecordedOracle(replies, missing="unsure")
    assert oracle.answer(Question.placement(0, [6, 3])) == InGroup(6)
    assert oracle.answer(Question.placement(3, [0, 6])) is Answer.UNSURE
    assert oracle.answer(Question.label(0, names=["owl"])) == Named("wren")


def test_a_simulation_counts_the_seconds_of_the_person():
    class InTurn:
        name, needs = "in turn", frozenset()

        def choose(self, state, n):
            asked = [Question.pair(0, 3), Question.placement(1, [0, 3]), Question.members(3, [4, 5])]
            return [question for question in asked if question.key not in state.asked][:n]

    y = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    interview = Interview(X, n_clusters=3, strategy=InTurn())
    trace = simulate(interview, LabelOracle(y), y_true=y)
    assert trace.answer_seconds.tolist() == [0.0, 2.5, 7.5, 11.5]
    assert trace.get_scores_after([0.0, 100.0]).tolist() == [trace.start, trace.final]
    assert Trace.from_dict(trace.to_dict()).answer_seconds.tolist() == trace.answer_seconds.tolist()
    old = {key: value for key, value in trace.to_dict().items() if key != "answer_seconds"}
    with pytest.raises(ValueError, match="no answer_seconds"):
        Trace.from_dict(old).get_scores_after([1.0])


# ---------------------------------------------------------------------- hints and pools


@pytest.mark.parametrize("errors", ["learn", 0])
def test_labels_among_the_hints_reach_a_model_that_takes_links(errors):
    hints = Supervision.from_labels([None, "owl", None, "owl", None, None, "tit", None, None, None])
    interview = Interview(X, n_clusters=3, supervision=hints, errors=errors)
    interview.tell(Question.label(7), "tit")
    labels = interview.labels_
    assert labels[1] == labels[3] != labels[6] == labels[7]


def test_answers_about_groups_in_a_pool():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2)) + 20 * (np.arange(300) % 3)[:, None]
    oracle = LabelOracle(np.arange(300) % 3)
    interview = Interview(rows, n_clusters=3, pool=Pool(size=40))
    questions = [
        Question.placement(290, [6, 7, 8], examples=[[9, 12], [13], [14]], names=["a", None, None]),
        Question.members(290, [291, 292, 293], examples=[[299]]),
        Question.groups(8, 6),
        Question.label(290),
        Question.label(6, names=["2"]),
    ]
    for question in questions:
        interview.tell(question, oracle.answer(question))
    assert {290, 8, 291, 293} <= set(interview.pool_rows.tolist())
    assert (interview.contradictions, interview.names) == ((), {"2": 290, "0": 6})
    interview.tell(Question.label(8), "0")
    assert {(6, 8), (6, 290)} <= {tuple(sorted(found.rows)) for found in interview.contradictions}
    assert interview.ask() is not None
