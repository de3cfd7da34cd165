"""A person at a terminal: the text shown, the keys typed, and their effect."""

import contextlib
import io
import os
import pty
import select
import threading

import numpy as np
import pytest

from likewise.active import (
    Answer,
    InGroup,
    Interview,
    Named,
    OddOne,
    Piles,
    Question,
    RandomPairs,
    Reason,
    Reply,
    Suspect,
    Unlike,
)
from likewise.exceptions import OracleError
from likewise.oracles import ConsoleOracle, LabelOracle, Wish
from likewise.oracles._console import describe_suspect
from patience import PATIENCE

PAIR = Question.pair(3, 7, reason=Reason("{Row} is a neighbour of {row}, and {row} of neither.", (3, 7, 1)))


def person(typed, **more):
    output = io.StringIO()
    return ConsoleOracle(input=io.StringIO(typed), output=output, **more), output


def ask(typed, question):
    oracle, output = person(typed)
    return oracle.put(question), output.getvalue()


# ---------------------------------------------------------------------- one question


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        (PAIR, "y", Answer.SAME),
        (PAIR, "NO", Answer.DIFFERENT),
        (PAIR, " unsure ", Answer.UNSURE),
        (PAIR, "\n\n\nyes", Answer.SAME),
        (Question.triplet(7, 3, 5), "1", Answer.BC),
        (Question.triplet(7, 3, 5), "2", Answer.AC),
        (Question.triplet(7, 3, 5), "3", Answer.AB),
        (Question.triplet(7, 3, 5), "ab", Answer.AB),
        (Question.triplet(7, 3, 5), "0", Answer.NEITHER),
        (Question.odd([4, 8, 6]), "2", OddOne(6)),
        (Question.odd([4, 8, 6]), "a", Answer.SAME),
        (Question.odd([4, 8, 6]), "none", Answer.NEITHER),
        (Question.odd(range(20, 32)), "12", OddOne(31)),
        (Question.piles([4, 8, 6]), "121", Piles([[4, 8], [6]])),
        (Question.piles([4, 8, 6]), "1, 2 -", Piles([[4], [6]])),
        (Question.piles([4, 8, 6]), "110", Piles([[4, 6]])),
        (Question.piles([4, 8, 6]), "--1", Answer.UNSURE),
        (Question.piles([4, 8, 6]), "u", Answer.UNSURE),
        (Question.piles(range(12)), "123456789abc", Piles([[row] for row in range(12)])),
    ],
)
def test_what_is_typed_is_understood(question, typed, meant):
    reply, _ = ask(typed + "\n", question)
    assert reply.answer == meant
    assert reply.question == question
    assert reply.time is not None
    assert reply.seconds >= 0


@pytest.mark.parametrize(
    ("typed", "wish"), [("s", Wish.SKIP), ("undo", Wish.BACK), ("q", Wish.QUIT), ("", Wish.QUIT)]
)
def test_wishes_and_the_end_of_what_is_typed(typed, wish):
    assert ask(typed, PAIR)[0] is wish


@pytest.mark.parametrize(
    ("question", "typed"),
    [
        (PAIR, "1"),
        (PAIR, "yy"),
        (PAIR, "\ufffd"),
        (Question.triplet(7, 3, 5), "y"),
        (Question.triplet(7, 3, 5), "4"),
        (Question.odd([4, 8, 6]), "8"),  # the number of a row is not its position
        (Question.odd([4, 8, 6]), "ab"),  # a word for triplets
        (Question.odd([4, 8, 6]), "bc"),
        (Question.piles([4, 8, 6]), "12"),
        (Question.piles([4, 8, 6]), "1121"),
        (Question.piles([4, 8]), "no"),
        (Question.piles([4, 8, 6]), "12x"),
    ],
)
def test_a_wrong_key_is_reported_and_the_question_put_again(question, typed):
    reply, shown = ask(f"{typed}\nu\n", question)
    assert reply.answer is Answer.UNSURE
    assert f"{typed!r} is not an answer to this question." in shown
    assert shown.count("? help]") == 2


def test_help_tells_why_with_the_numbers_that_are_shown():
    _, shown = ask("?\ny\n", PAIR)
    assert "Why: Number 1 is a neighbour of number 2, and row 1 of neither." in shown
    assert "b  back" in shown
    reason = Reason("It is in doubt where {list:2} belong; {list:1} stands for 50% of 40.", (20, 30, 10))
    tray = Question.piles([10, 20, 30], reason=reason)
    shown = ask("help\nu\n", tray)[1]
    assert "Why: It is in doubt where 2, 3 belong; 1 stands for 50% of 40." in shown
    assert "sets a row aside" in shown
    reason = Reason("{Row} is close to {row}.", (4, 8))
    assert "Why: Row ? is close to row 1." in ask("?\nu\n", Question.placement(4, [8, 6], reason=reason))[1]
    reason = Reason("{Row} probably belongs with {row}.", (8, 4))
    assert (
        "Why: Row 1 probably belongs with row =." in ask("?\nu\n", Question.members(4, [8], reason=reason))[1]
    )


def test_rows_are_wrapped_and_cannot_steer_the_terminal():
    texts = {3: "a long song of many words\nsecond line", 7: "\x1b[2Jcleared\x07"}
    oracle, output = person("y\n", show=texts.__getitem__, width=30)
    oracle.put(PAIR)
    lines = output.getvalue().splitlines()
    assert lines[:4] == ["  1  a long song of many words", "     second line", "  2   [2Jcleared", lines[3]]
    assert "\x1b" not in output.getvalue()
    assert "\x07" not in output.getvalue()


def test_what_the_output_cannot_write_is_replaced():
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    ConsoleOracle(lambda row: "café", input=io.StringIO("y\n"), output=output).put(PAIR)
    assert "caf?" in output.buffer.getvalue().decode("ascii")


def test_as_an_oracle_it_answers_or_stops():
    oracle, output = person("s\nb\nn\n", annotator="Ann")
    reply = oracle.answer(PAIR)
    assert (reply.answer, reply.annotator) == (Answer.DIFFERENT, "Ann")
    assert output.getvalue().count("You cannot skip or go back here") == 2
    with pytest.raises(OracleError, match="the person stopped") as caught:
        oracle.answer(PAIR)
    assert caught.value.question == PAIR


def test_a_pipe_of_nonsense_is_given_up():
    oracle, _ = person("what\n" * 1000)
    with pytest.raises(OracleError, match="20 lines in a row were invalid, the last of them 'what'"):
        oracle.answer(PAIR)


def test_show_must_be_callable():
    with pytest.raises(TypeError, match="show must be callable"):
        ConsoleOracle(["wren", "owl"])


# ---------------------------------------------------------------------- a whole interview

X = np.array([[0.0], [0.2], [5.0], [5.3], [9.0], [9.4]])


def run_interview(typed, **more):
    interview = Interview(X, n_clusters=3, strategy=RandomPairs(), **more)
    oracle, output = person(typed, annotator="Ann")
    seen = []
    done = oracle.hold(interview, after=lambda interview: seen.append(len(interview.history)))
    return interview, done, seen, output.getvalue()


def test_a_whole_interview_with_undo_and_skip():
    interview, done, seen, shown = run_interview("y\nb\nn\ns\ny\nq\n")
    assert not done
    kinds = [event.kind for event in interview.history]
    assert kinds == ["answer", "undo", "answer", "skip", "answer"]
    assert seen == [1, 2, 3, 4, 5]
    first, again = interview.history[0], interview.history[2]
    assert first.question == again.question
    assert again.reply.answer is Answer.DIFFERENT
    assert {reply.annotator for reply in interview.replies} == {"Ann"}
    assert "Question 1" in shown


def test_back_twice_and_from_the_start():
    interview, _, _, shown = run_interview("b\ny\ny\nb\nb\nn\nq\n")
    assert "There is nothing to go back to." in shown
    assert [reply.answer for reply in interview.replies] == [Answer.DIFFERENT]
    assert interview.replies[0].question == interview.history[0].question


def test_it_ends_with_the_budget_or_with_nothing_left_to_ask():
    interview, done, _, shown = run_interview("u\n" * 5, budget=2)
    assert done
    assert interview.n_answers == 2
    assert "Question 2 of 2" in shown
    interview, done, _, _ = run_interview("y\n" * 20)
    assert done
    assert interview.n_answers == 5  # the sixth follows


def test_a_contradiction_is_shown_with_names():
    class Trays:
        name, needs = "trays", frozenset()

        def choose(self, state, n):
            return [question for question in [Question.piles([0, 1, 2])] if state.can_ask(question)]

    interview = Interview(X, n_clusters=3, strategy=Trays(), ids=list("abcdef"))
    interview.tell(Question.pair(0, 1), "SAME")
    oracle, output = person("121\nq\n")
    oracle.hold(interview)
    assert "This contradicts other answers: a ≠ b, but a = b. b undoes it." in output.getvalue()


def test_more_piles_than_clusters_are_reported_at_once():
    class Trays:
        name, needs = "trays", frozenset()

        def choose(self, state, n):
            return [question for question in [Question.piles([0, 1, 2])] if state.can_ask(question)]

    interview = Interview(X, n_clusters=2, strategy=Trays(), ids=list("abcdef"))
    oracle, output = person("123\nq\n")
    oracle.hold(interview)
    message = "This contradicts other answers: a ≠ b ≠ c, but there are 2 clusters. b undoes it."
    assert message in output.getvalue()


class Lines(io.StringIO):
    """A terminal that gives lines and no single keys, as on Windows."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("choice", "kinds"),
    [("", []), ("x\nK", ["answer"]), ("r\nu", ["undo", "answer"]), ("q", [])],
)
def test_suspect_answers_are_pointed_out_where_lines_are_typed(choice, kinds):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(8, 2)), rng.normal(size=(8, 2)) + 20])
    interview = Interview(rows, n_clusters=2, budget=10)
    for n in range(9):
        question = interview.ask()
        together = (question.rows[0] < 8) == (question.rows[1] < 8)
        interview.tell(question, "SAME" if together != (n == 6) else "DIFFERENT")
    output, saved = io.StringIO(), []
    oracle = ConsoleOracle(input=Lines(f"u\n{choice}\n"), output=output)
    assert oracle.hold(interview, after=lambda interview: saved.append(len(interview.history)), check=True)
    assert output.getvalue().count("Answer 7 is suspect: ") == 1
    assert [event.kind for event in interview.history[10:]] == kinds
    assert saved[-1] == len(interview.history)


@pytest.mark.parametrize(
    ("question", "answer", "n_against", "rows", "text"),
    [
        (
            Question.pair(0, 1),
            "DIFFERENT",
            2,
            (3, 4, 5),
            "Do a and b belong together? no; 2 other answers and 3 near rows contradict it",
        ),
        (
            Question.pair(0, 2),
            "SAME",
            1,
            (),
            "Do a and c belong together? yes; 1 other answer contradicts it",
        ),
        (Question.pair(0, 2), "SAME", 0, (), "Do a and c belong together? yes"),
        (
            Question.odd([0, 1, 2]),
            1,
            0,
            (5,),
            "Which of a, b and c does not belong with the others? a c | b; 1 near row contradicts it",
        ),
    ],
)
def test_a_suspect_answer_in_words(question, answer, n_against, rows, text):
    reply = Reply(question, answer)
    suspect = Suspect(reply, 0.9, 0.1, against=(reply,) * n_against, rows=rows, confirmed=False)
    assert describe_suspect(Interview(X, n_clusters=3, ids=list("abcdef")), suspect) == text


# ---------------------------------------------------------------------- a terminal


class Terminal:
    """A pseudo-terminal with a person at it, who types when a question appears."""

    def __init__(self):
        self.master, slave = pty.openpty()
        self.input = os.fdopen(os.dup(slave), encoding="utf-8")
        self.output = os.fdopen(slave, "w", encoding="utf-8")
        self.shown = self.all = ""

    def type_at(self, sign, keys):
        """Wait until the sign is shown, then type."""
        while sign not in self.shown:
            ready, _, _ = select.select([self.master], [], [], 20)
            assert ready, f"{sign!r} never appeared in {self.shown!r}"
            part = os.read(self.master, 4096).decode()
            self.shown += part
            self.all += part
        self.shown = self.shown.partition(sign)[2]
        os.write(self.master, keys.encode())

    def close(self):
        os.close(self.master)  # first, so no thread still waits for a key
        self.input.close()
        with contextlib.suppress(OSError):
            self.output.close()


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def answers(terminal, question):
    found = []
    oracle = ConsoleOracle(input=terminal.input, output=terminal.output)
    thread = threading.Thread(target=lambda: found.append(oracle.put(question)), daemon=True)
    thread.start()
    return thread, found


def test_single_keys_count_at_a_terminal_and_arrows_do_not(terminal):
    thread, found = answers(terminal, PAIR)
    terminal.type_at("? help]", "\x1b[A\x1b[3~\x1bOHx")
    terminal.type_at("is not an answer to this question", "y")
    thread.join(PATIENCE)
    assert found[0].answer is Answer.SAME
    thread, found = answers(terminal, PAIR)
    terminal.type_at("? help]", "\x04")  # Ctrl-D
    thread.join(PATIENCE)
    assert found == [Wish.QUIT]


def test_what_is_typed_before_the_question_appears_counts(terminal):
    for typed, meant in (("n", Answer.DIFFERENT), ("\x04", None)):
        os.write(terminal.master, typed.encode())
        thread, found = answers(terminal, PAIR)
        thread.join(PATIENCE)
        assert getattr(found[0], "answer", None) is meant


def test_trays_are_lines_at_a_terminal(terminal):
    thread, found = answers(terminal, Question.piles([4, 6, 8]))
    terminal.type_at("? help]", "12")
    terminal.type_at("12", "1\n")
    thread.join(PATIENCE)
    assert found[0].answer == Piles([[4, 8], [6]])
    os.write(terminal.master, b".\n")
    terminal.type_at("\n.", "")
    assert terminal.all.count("121") == 1  # the terminal has shown what is typed


def test_the_terminal_is_left_as_it_was(terminal):
    import termios

    before = termios.tcgetattr(terminal.input.fileno())
    thread, _ = answers(terminal, PAIR)
    terminal.type_at("? help]", "n")
    thread.join(PATIENCE)
    assert termios.tcgetattr(terminal.input.fileno()) == before


def test_a_whole_interview_at_a_terminal_by_single_keys(terminal):
    truth = LabelOracle([0, 0, 1, 1, 2, 2])
    interview = Interview(X, n_clusters=3, strategy=RandomPairs())
    oracle = ConsoleOracle(input=terminal.input, output=terminal.output)
    done = []
    thread = threading.Thread(target=lambda: done.append(oracle.hold(interview)), daemon=True)
    copy = Interview(X, n_clusters=3, strategy=RandomPairs())  # to know the next question
    thread.start()
    while (question := copy.ask()) is not None:
        answer = truth.answer(question)
        terminal.type_at("? help]", "y" if answer is Answer.SAME else "n")
        copy.tell(question, answer)
    thread.join(PATIENCE)
    assert done == [True]
    assert [(r.question, r.answer) for r in interview.replies] == [
        (r.question, r.answer) for r in copy.replies
    ]
    assert isinstance(interview.replies[0], Reply)


# ---------------------------------------------------------------------- groups

PLACEMENT = Question.placement(9, [4, 1, 7], examples=[[4, 5], [1], []], names=["wrens", None, None])
LOOK = Question.members(4, [1, 7, 9], examples=[[4, 5]], names=["wrens"])
LABEL = Question.label(9, examples=[8], names=["wren", "Tawny owl"])


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        (PLACEMENT, "2", InGroup(1)),
        (PLACEMENT, "n", Answer.NEW),
        (PLACEMENT, "New", Answer.NEW),
        (PLACEMENT, "u", Answer.UNSURE),
        (PLACEMENT, "1 3", InGroup([4, 7])),
        (PLACEMENT, "= 1,3", InGroup([4, 7])),
        (LOOK, "a", Answer.SAME),
        (LOOK, "all", Answer.SAME),
        (LOOK, "yes", Answer.SAME),
        (LOOK, "3", Unlike([9])),
        (LOOK, "3 1", Unlike([1, 9])),
        (LOOK, "31", Unlike([1, 9])),
        (LOOK, "unsure", Answer.UNSURE),
        (Question.members(0, range(1, 12)), "11, 1", Unlike([1, 11])),
        (Question.groups(4, 1), "yes", Answer.SAME),
        (Question.groups(4, 1), "n", Answer.DIFFERENT),
        (LABEL, "1", Named("wren")),
        (LABEL, "tawny OWL", Named("Tawny owl")),
        (LABEL, "Winter  wren", Named("Winter wren")),
        (LABEL, "yes", Named("yes")),
        (LABEL, "U", Answer.UNSURE),
        (LABEL, "= u", Named("u")),
        (LABEL, "=1", Named("1")),
        (LABEL, "3", Named("3")),
        (LABEL, "\U0001f469\u200d\U0001f52c", Named("\U0001f469\u200d\U0001f52c")),
    ],
)
def test_answers_about_groups_are_understood(question, typed, meant):
    reply, _ = ask(typed + "\n", question)
    assert reply.answer == meant


@pytest.mark.parametrize(
    ("question", "typed"),
    [
        (PLACEMENT, "4"),
        (PLACEMENT, "0"),
        (PLACEMENT, "y"),
        (PLACEMENT, "="),
        (LOOK, "4"),
        (LOOK, "n"),
        (LOOK, "\u0663"),
        (Question.groups(4, 1), "1"),
        (LABEL, "="),
        (LABEL, "a\0b"),
        (LABEL, "x" * 201),
    ],
)
def test_what_does_not_answer_a_question_about_groups_is_asked_again(question, typed):
    reply, output = ask(f"{typed}\nu\n", question)
    assert reply.answer is Answer.UNSURE
    assert "is not an answer to this question" in output


@pytest.mark.parametrize("question", [PLACEMENT, LOOK, Question.groups(4, 1), LABEL])
@pytest.mark.parametrize(("typed", "wish"), [("skip", Wish.SKIP), ("b", Wish.BACK), ("q", Wish.QUIT)])
def test_wishes_at_questions_about_groups(question, typed, wish):
    assert ask(typed + "\n", question)[0] is wish


def test_groups_are_shown_by_name_and_typical_rows():
    _, output = ask("?\nu\n", PLACEMENT)
    assert output.splitlines()[:7] == [
        "  ?  9",
        "  1  wrens",
        "  ·  4",
        "  ·  5",
        "  2  1",
        "  3  7",
        "     ? is the row to place, a number is a group, · is another row of the same group.",
    ]
    assert "Which group does it belong to?  [1-3 that group, n new, u unsure, s skip," in output
    assert "  =  several groups" in output
    _, output = ask("u\n", LOOK)
    assert output.splitlines()[:6] == ["  =  wrens", "  ·  4", "  ·  5", "  1  1", "  2  7", "  3  9"]
    _, output = ask("u\n", Question.groups(4, 1, examples=[[4, 5], [1, 2]]))
    assert output.splitlines()[:4] == ["  1  4", "  ·  5", "  2  1", "  ·  2"]
    _, output = ask("u\n", LABEL)
    assert output.splitlines()[:4] == ["  ?  9", "  ·  8", "  1  wren", "  2  Tawny owl"]
    assert "What is it called? Type a name or its number.  [1-2 that name, u unsure" in output


@pytest.mark.parametrize(
    ("question", "legend"),
    [(PLACEMENT, "? is the row to place"), (LOOK, "= is the group"), (Question.groups(4, 1), "· is another")],
)
def test_signs_are_explained_at_the_first_question_of_a_kind_and_in_the_help(question, legend):
    oracle, output = person("u\nu\n?\nu\n")
    shown = []
    for _ in range(3):
        oracle.put(question)
        shown.append(output.getvalue().count(legend) - sum(shown))
    assert shown == [1, 0, 1]


class Scripted:
    name = "scripted"
    needs = frozenset()

    def __init__(self, *questions):
        self.questions = questions

    def choose(self, state, n):
        return [question for question in self.questions if question.key not in state.asked][:n]


def test_an_interview_about_groups_offers_names_and_points_out_contradictions():
    strategy = Scripted(Question.placement(1, [0, 3]), Question.label(0), Question.label(1))
    interview = Interview(np.arange(5.0)[:, None], strategy=strategy)
    oracle, output = person("2\nwren\nWREN\n")
    assert oracle.hold(interview)
    assert [str(reply.answer) for reply in interview.replies] == ["IN 3", "wren", "wren"]
    assert "  ?  1\n  1  wren\nWhat is it called?" in output.getvalue()
    assert "This contradicts other answers: 0 ≠ 1, but 0 = 1. b undoes it." in output.getvalue()


def test_a_row_that_gets_a_second_name_is_pointed_out():
    interview = Interview(np.arange(5.0)[:, None], ids=list("abcde"))
    oracle, output = person("")
    for name in ("owl", "wren"):
        oracle._print_effect(interview, Reply(Question.label(0), name))
    assert output.getvalue() == "This contradicts other answers: a is called owl and wren. b undoes it.\n"


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (Reply(Question.placement(0, [3, 2]), 3), "or a new group? d"),
        (Reply(Question.placement(0, [3, 2]), "NEW"), "or a new group? a new group"),
        (Reply(Question.members(0, [3, 2]), [3]), "the group of a? d"),
        (Reply(Question.members(0, [3, 2]), "SAME"), "the group of a? none"),
        (Reply(Question.groups(0, 3), "SAME"), "the same? yes"),
        (Reply(Question.label(0), "wren"), "the group of a? wren"),
    ],
)
def test_a_suspicious_answer_about_groups_is_described(reply, shown):
    interview = Interview(np.arange(5.0)[:, None], ids=list("abcde"))
    suspect = Suspect(reply, 0.7, 0.1, (), (), False)
    assert describe_suspect(interview, suspect).endswith(shown)


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        (LOOK, "311\n", Unlike([9])),  # 1 is taken back
        (LOOK, "\na", Answer.SAME),  # Enter alone says nothing
        (PLACEMENT, "2", InGroup(1)),
        (PLACEMENT, "=13\n", InGroup([4, 7])),
        (PLACEMENT, "n", Answer.NEW),
        (LABEL, "Winter wren\n", Named("Winter wren")),
    ],
)
def test_answers_about_groups_at_a_terminal(terminal, question, typed, meant):
    thread, found = answers(terminal, question)
    terminal.type_at("? help]", typed)
    thread.join(PATIENCE)
    assert found[0].answer == meant
