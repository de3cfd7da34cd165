"""``likewise ask``: through pipes and a terminal, with undo, skip, resume, and a kill in between."""

import contextlib
import errno
import json
import os
import pty
import re
import select
import shlex
import sys
import termios
from types import SimpleNamespace

import numpy as np
import pytest

from fork_server import start_command
from likewise.active import Interview, Question, strategies
from likewise.cli._row_text import make_row_formatter
from likewise.oracles._console import Form
from likewise.supervision import read_hints
from likewise.tables import RawTable
from patience import PATIENCE

NAMES = ["a1", "a2", "a3", "b1", "b2", "b3"]
X = np.array([[0, 0], [0, 1], [1, 0], [9, 9], [9, 10], [7, 7]], dtype=float)
ASK = ["ask", "data.csv", "-k", "2", "--id", "name"]


def read_saved(folder, name="data.ask.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def answers(folder, name="data.ask.json"):
    return [event["answer"] for event in read_saved(folder, name)["history"] if event["event"] == "answer"]


class Asked:
    """The command in a process, at pipes or a terminal, with somebody who types when a question appears."""

    def __init__(self, folder, *words, terminal=False):
        self.shown = ""
        self.terminal = terminal
        if terminal:
            self.fd, slave = pty.openpty()
            self.keyboard, streams = self.fd, [slave] * 3
        else:
            stdin, self.keyboard = os.pipe()
            self.stdout, stdout = os.pipe()
            self.fd, stderr = os.pipe()
            streams = [stdin, stdout, stderr]
        env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
        self.process = start_command([*map(str, words)], folder, env, streams, takes_terminal=terminal)

    def wait_for(self, sign):
        while sign not in self.shown:
            ready, _, _ = select.select([self.fd], [], [], PATIENCE)
            assert ready, f"{sign!r} never appeared in {self.shown!r}"
            part = os.read(self.fd, 4096).decode()
            assert part, f"the command ended before {sign!r}: {self.shown!r}"
            self.shown += part
        self.shown = self.shown.partition(sign)[2]

    def type_at(self, sign, typed):
        self.wait_for(sign)
        os.write(self.keyboard, (typed if self.terminal else f"{typed}\n").encode())

    def rest(self):
        """Wait for the end; return the exit code and what else was shown."""
        if not self.terminal:
            os.close(self.keyboard)
            self.keyboard = None
        self.shown += read_to_the_end(self.fd)
        stdout = "" if self.terminal else read_to_the_end(self.stdout)
        self.process.join(PATIENCE)
        return self.process.exitcode, self.shown, stdout

    def kill(self):
        self.process.kill()
        self.process.join(PATIENCE)

    def close(self):
        """End the process, even after a failure."""
        if self.process.is_alive():
            self.kill()
        for fd in {self.keyboard, self.fd} if self.terminal else {self.keyboard, self.fd, self.stdout}:
            if fd is not None:
                os.close(fd)


def read_to_the_end(fd):
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side of a terminal is closed
        while part := os.read(fd, 4096):
            shown += part
    return shown.decode()


@pytest.fixture
def ask(files):
    """Return a function that starts the real command."""
    started = []

    def start(*words, **more):
        started.append(Asked(files, *words, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


# ---------------------------------------------------------------------- through the real command


def test_by_pipes_from_the_first_question_to_the_command_that_goes_on(ask, run, files):
    asked = Asked(
        files, *ASK, "--show", "name", "--annotator", "Ann", "--hints", "h.csv", "--labels", "l.csv"
    )
    birds = {name: name[0] for name in NAMES}
    for _ in range(4):
        asked.wait_for("  1  ")
        first = asked.shown[:2]
        asked.wait_for("  2  ")
        asked.type_at("? help]", "yes" if birds[first] == birds[asked.shown[:2]] else "no")
    asked.type_at("? help]", "q")
    code, shown, stdout = asked.rest()
    assert (code, stdout) == (0, "")
    assert "answers     4 answers: " in shown
    assert "clusters    2, of " in shown
    assert "saved       data.ask.json; run the same command again to resume" in shown
    history = read_saved(files)["history"]
    assert [event["annotator"] for event in history] == ["Ann"] * 4
    hints = read_hints(files / "h.csv", NAMES)
    assert hints == Interview.load(files / "data.ask.json", X, ids=NAMES).supervision
    assert len((files / "l.csv").read_text().splitlines()) == 7
    todo = next(line for line in shown.splitlines() if line.startswith("next "))
    written = (files / "l.csv").read_text()
    run(*shlex.split(todo.removeprefix("next"))[1:])
    assert (files / "l.csv").read_text() == written
    assert (files / "l-2.csv").exists()


def test_at_a_terminal_by_single_keys(ask, files):
    asked = ask(*ASK, "--budget", "3", terminal=True)
    asked.type_at("? help]", "y")
    asked.type_at("? help]", "b")
    asked.type_at("? help]", "\x1b[Az")
    asked.type_at("'z' is not an answer to this question", "n")
    asked.type_at("Question 2 of 3", "s")
    asked.type_at("Question 2 of 3", "u")
    asked.type_at("Question 3 of 3", "n")
    code, shown, _ = asked.rest()
    assert code == 0
    assert "the budget is spent; continue with --budget" in shown
    kinds = [event["event"] for event in read_saved(files)["history"]]
    assert kinds == ["answer", "undo", "answer", "skip", "answer", "answer"]
    assert answers(files)[1:] == ["DIFFERENT", "UNSURE", "DIFFERENT"]


def test_a_kill_loses_nothing_and_the_same_question_comes_again(ask, files):
    asked = ask(*ASK)
    asked.type_at("Question 1", "y")
    asked.type_at("Question 2", "n")
    asked.wait_for("Question 3")
    asked.wait_for("  1  ")
    next_row = asked.shown[:2]
    asked.kill()
    assert answers(files) == ["SAME", "DIFFERENT"]
    again = ask(*ASK)
    again.wait_for("Resuming: read 2 answers from data.ask.json.")
    again.wait_for("Question 3")
    again.wait_for("  1  ")
    assert again.shown[:2] == next_row
    again.type_at("? help]", "u")
    code, _, _ = again.rest()
    assert code == 0
    assert answers(files) == ["SAME", "DIFFERENT", "UNSURE"]
    assert [path.name for path in files.glob(".*")] == []


def test_ctrl_c_keeps_the_answers_and_writes_the_hints(ask, files):
    asked = ask(*ASK, "--hints", "h.csv", "--labels", "l.csv", terminal=True)
    before = termios.tcgetattr(asked.fd)
    asked.type_at("? help]", "y")
    asked.wait_for("Question 2")
    asked.type_at("? help]", "\x03")
    asked.wait_for("answers     ")
    assert termios.tcgetattr(asked.fd) == before
    code, shown, _ = asked.rest()
    assert code == 130
    assert "Traceback" not in shown
    assert "saved       data.ask.json; run the same command again to resume" in shown
    assert answers(files) == ["SAME"]
    assert len(read_hints(files / "h.csv", NAMES).must) == 1
    assert not (files / "l.csv").exists()


# ---------------------------------------------------------------------- typing


def test_undo_skip_and_wrong_keys(run, files):
    result = run(*ASK, input="perhaps\ny\nb\nn\ns\nu\nq\n")
    assert "'perhaps' is not an answer to this question." in result.stderr
    kinds = [event["event"] for event in read_saved(files)["history"]]
    assert kinds == ["answer", "undo", "answer", "skip", "answer"]
    assert answers(files) == ["SAME", "DIFFERENT", "UNSURE"]
    assert "answers     2 answers: 1 different, 1 unsure" in result.stderr


def test_the_end_of_input_quits(run, files):
    result = run(*ASK, input="")
    assert "answers     0 answers" in result.stderr
    assert read_saved(files)["history"] == []
    result = run(*ASK, input="y")  # a last line without an end counts
    assert answers(files) == ["SAME"]


def test_bytes_that_are_no_text_are_no_answer(run, files):
    result = run(*ASK, input=b"\xff\xfe\ny\nq\n")
    assert "is not an answer to this question." in result.stderr
    assert answers(files) == ["SAME"]


def test_a_pipe_of_nonsense_ends_with_a_message(run, files):
    result = run(*ASK, input="what\n" * 100, code=1)
    assert "20 lines in a row were invalid" in result.stderr
    assert read_saved(files)["history"] == []


def test_everything_is_asked_and_that_is_the_end(run, files):
    result = run(*ASK, input="n\n" + "y\n" * 20)
    assert "there is nothing left to ask" in result.stderr
    assert "goes on" not in result.stderr


# ---------------------------------------------------------------------- what is shown


def test_a_column_of_words_is_shown_and_no_feature(run, files):
    rows = [line.split(",") for line in (files / "data.csv").read_text().splitlines()]
    texts = ["text", *(f"song of {name}, sung" for name in NAMES)]
    csv = "".join(f'{",".join(row)},"{text}"\n' for row, text in zip(rows, texts, strict=True))
    (files / "songs.csv").write_text(csv)
    result = run(
        "ask", "songs.csv", "-k", "2", "--id", "name", "--show", "text", "--hints", "h.csv", input="y\n"
    )
    assert ": song of " in result.stderr
    assert "--drop text" in result.stderr  # of the command that goes on
    result = run(
        "ask", "songs.csv", "-k", "2", "--id", "name", "--show", "text,x", "--save", "s.json", input="y\n"
    )
    assert re.search(r"[ab]\d: text song of [ab]\d, sung, x \d", result.stderr)
    (files / "songs.csv").write_text(csv.replace("song", "song " * 20))
    words = ["ask", "songs.csv", "-k", "2", "--id", "name", "--show", "text,x", "--save", "t.json"]
    assert re.search(r"[ab]\d: text: song song .*\n     x: \d\n", run(*words, input="").stderr)


def test_without_show_all_columns_cut_short(run, files):
    assert "a1: x 0, y 0" in run(*ASK, input="q\n").stderr
    wide = ",".join(f"column_{c}" for c in range(60))
    (files / "wide.csv").write_text(
        "\n".join([wide, *(",".join(f"{c * r}" for c in range(60)) for r in range(4))])
    )
    shown = run("ask", "wide.csv", "-k", "2", input="q\n").stderr
    assert "…" in shown
    assert "column_59" not in shown


def test_ids_that_are_shown_are_not_shown_twice(run, files):
    shown = run(*ASK, "--show", "name", input="q\n").stderr
    assert ":" not in shown.partition("Question 1")[2].partition("Do they")[0]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_numbers_are_shown_with_sensible_digits(run, tmp_path, ending):
    from likewise.tables import write_table

    columns = {
        "id": ["0012", "0013", "0014", "0015"],
        "small": [0.12345678901234567, 1.9876543210987654, 2.0, 3.141592653589793],
        "large": [1_000_001.2345678, 1_000_002.8765432, 1_000_003.0, 1_000_004.0],
    }
    write_table(tmp_path / f"rows{ending}", columns)
    shown = run("ask", f"rows{ending}", "-k", "2", "--id", "id", input="q\n").stderr
    rows = ["0012: small 0.1235, large 1000001.23", "0015: small 3.142, large 1000004"]
    assert any(row in shown for row in rows)
    assert not re.search(r"\d\.\d{5}", shown)


# ---------------------------------------------------------------------- going on


def test_a_saved_interview_is_gone_on_with(run, files):
    run(*ASK, "--annotator", "Ann", input="y\n")
    result = run("ask", "data.csv", "--id", "name", "--annotator", "Bob", "--budget", "2", input="n\ny\n")
    assert "Resuming: read 1 answer by Ann from data.ask.json." in result.stderr
    assert "the budget is spent; continue with --budget 22" in result.stderr
    assert [event["annotator"] for event in read_saved(files)["history"]] == ["Ann", "Bob"]
    assert read_saved(files)["budget"] == 2
    result = run(*ASK, input="y\n")
    assert "the budget is spent" in result.stderr
    run(*ASK, "--budget", "3", input="y\n")
    assert len(answers(files)) == 3


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["-k", "3"], "was started with -k 2"),
        (["--discover"], "was started with --discover False"),
        (["--seed", "5"], "was started with --seed 0"),
        (["--known", "hints.csv"], "was started with --known"),
    ],
)
def test_what_an_interview_was_begun_with_cannot_be_changed(run, files, more, expected):
    run(*ASK, input="y\n")
    result = run("ask", "data.csv", "--id", "name", *more, input="y\n", code=2)
    assert expected in result.stderr
    assert "give another file with --save" in result.stderr
    assert answers(files) == ["SAME"]


def test_a_range_of_the_number_of_clusters_is_asked_about_as_groups(run, files):
    ranged = ["ask", "data.csv", "-k", "2:4", "--id", "name"]
    result = run(*ranged, "--hints", "h.csv", "--labels", "l.csv", input="n\n")
    assert "Which group does it belong to?" in result.stderr
    assert "cluster data.csv -k 2 --hints h.csv" in result.stderr  # as many as were found
    assert read_saved(files)["n_clusters"] == [2, 4]
    run(*ranged, input="u\n")
    result = run("ask", "data.csv", "-k", "2:5", "--id", "name", input="u\n", code=2)
    assert "was started with -k 2:4" in result.stderr
    assert len(answers(files)) == 2


def test_the_file_of_other_data_is_refused_and_left_alone(run, files):
    run(*ASK, input="y\n")
    before = (files / "data.ask.json").read_bytes()
    (files / "data.csv").write_text((files / "data.csv").read_text().replace("7,7", "7,8"))
    result = run(*ASK, input="y\n", code=1)
    assert "about other rows" in result.stderr
    assert "give another file with --save" in result.stderr
    assert (files / "data.ask.json").read_bytes() == before
    run(*ASK, "--save", "other.json", input="y\n")
    assert answers(files, "other.json") == ["SAME"]


@pytest.mark.parametrize(
    "content", ['{"format": "likewise inter', "[]", "", '{"format": "likewise interview", "version": 99}']
)
def test_a_damaged_or_newer_file_is_refused(run, files, content):
    (files / "data.ask.json").write_text(content)
    result = run(*ASK, input="y\n", code=1)
    assert "give another file with --save" in result.stderr
    assert (files / "data.ask.json").read_text() == content


@pytest.mark.parametrize("strategy", ["random", "farthest-first", "node-global", "uncertain"])
def test_strategies_by_name_are_gone_on_with(run, files, strategy):
    run(*ASK, "--strategy", strategy, input="y\n")
    run(*ASK, input="n\n")
    assert read_saved(files)["strategy"]["name"] == strategy or strategy.startswith("node")
    assert len(answers(files)) == 2


def test_trays_are_sorted_and_gone_on_with(run, files):
    rows = "".join(f"r{i},{i % 4 * 9 + i / 100},{i % 7}\n" for i in range(40))
    (files / "many.csv").write_text(f"name,x,y\n{rows}")
    words = ["ask", "many.csv", "-k", "4", "--id", "name", "--hints", "h.csv"]
    result = run(*words, "--trays", input="yes\n1122-344\n")
    assert "'yes' is not an answer to this question." in result.stderr
    assert "answers     1 answer: 1 sorted" in result.stderr
    (event,) = read_saved(files, "many.ask.json")["history"]
    assert [len(pile) for pile in event["answer"]["piles"]] == [2, 2, 1, 2]
    assert set(event["items"]) <= {f"r{i}" for i in range(40)}
    result = run(*words, input="u\n")
    assert [event["kind"] for event in read_saved(files, "many.ask.json")["history"]] == ["piles", "piles"]
    run(*words, "--strategy", "random", input="u\n")
    assert read_saved(files, "many.ask.json")["history"][-1]["kind"] == "pair"
    todo = next(line for line in result.stderr.splitlines() if line.startswith("next "))
    run(*shlex.split(todo.removeprefix("next"))[1:])  # the hints of trays are links


def test_triplets_are_answered_by_the_odd_one(run, files):
    words = [*ASK, "--strategy", "info-triplet", "--hints", "h.csv"]
    result = run(*words, input="y\n1\n0\n")
    assert "'y' is not an answer to this question." in result.stderr
    assert answers(files) == ["BC", "NEITHER"]
    assert "--as-links" in result.stderr
    assert "answers     2 answers: 1 odd one out, 1 neither" in run(*words[:-2], input="").stderr


class AboutGroups:
    name = "random"
    needs = frozenset()

    def choose(self, state, n):
        asked = [
            Question.label(0),
            Question.label(3),
            Question.placement(1, [0, 3], examples=[[0, 2], [3]], names=["owls", None]),
            Question.members(3, [4, 2]),
            Question.groups(3, 5),
        ]
        return [question for question in asked if question.key not in state.asked][:n]


def test_questions_about_groups_are_answered_and_gone_on_with(run, files, monkeypatch):
    monkeypatch.setitem(strategies.STRATEGIES, "random", AboutGroups)
    words = [*ASK, "--strategy", "random", "--errors", "0", "--show", "name"]
    result = run(*words, "--hints", "found.csv", input="barn owl\nwren\n1\nb\n")
    assert "  ?  a2\n  1  owls\n  ·  a1\n  ·  a3\n  2  b1\n     ? is the row to place" in result.stderr
    assert answers(files) == [{"name": "barn owl"}, {"name": "wren"}, {"groups": ["a1"]}]
    result = run(*words, "--hints", "found.csv", "--json", input="1\n2\ny\n")
    assert answers(files)[3:] == [{"groups": ["a1"]}, {"unlike": ["a3"]}, "SAME"]
    found = json.loads(result.stdout)
    assert found["said"] == {"named": 2, "placed": 1, "some odd": 1, "same": 1}
    assert found["names"] == {"barn owl": "a1", "wren": "b1"}
    clusters = {one["id"]: one["cluster"] for one in found["labels"]}
    assert clusters["a1"] == clusters["a2"] != clusters["b1"] == clusters["b2"] == clusters["b3"]
    hints = read_hints("found.csv", NAMES)
    assert hints.must.tolist() == [[0, 1], [3, 4], [3, 5]]
    assert hints.cannot.tolist() == [[0, 3], [1, 3], [2, 3]]


def test_the_summary_counts_rows_in_none_of_the_groups(run, files, monkeypatch):
    monkeypatch.setitem(strategies.STRATEGIES, "random", AboutGroups)
    result = run(*ASK, "--strategy", "random", input="owl\nwren\nn\n")
    assert answers(files)[2] == "NEW"
    assert "answers     3 answers: 2 named, 1 new (none of these)" in result.stderr


def test_the_help_lists_the_keys_of_questions_about_groups(run):
    text = run("ask", "--help").stdout
    for question in AboutGroups().choose(SimpleNamespace(asked=()), 5):
        assert Form.for_question(question).text.partition("?")[0] in text


def test_names_of_known_labels_are_the_same_groups(run, files, monkeypatch):
    monkeypatch.setitem(strategies.STRATEGIES, "random", AboutGroups)
    (files / "known.csv").write_text("id,label\na3,barn owl\n", "utf-8")
    words = [*ASK, "--strategy", "random", "--known", "known.csv"]
    result = run(*words, input="Barn OWL\n")
    assert "  1  barn owl\nWhat is it called?" in result.stderr
    result = run(*words, "--json", input="")
    assert json.loads(result.stdout)["names"] == {"barn owl": "a3"}
    assert answers(files) == [{"name": "barn owl"}]


def test_from_a_strategy_with_a_model_of_its_own_to_one_without(run, files):
    run(*ASK, "--strategy", "uncertain", input="y\n")
    run(*ASK, "--strategy", "random", input="n\n")
    assert len(answers(files)) == 2


def test_another_strategy_may_go_on(run, files):
    run(*ASK, "--strategy", "random", input="y\n")
    run(*ASK, "--strategy", "farthest-first", input="y\n")
    assert read_saved(files)["strategy"]["class"] == "FarthestFirst"


def test_a_file_from_before_errors_were_weighed_is_continued(run, files):
    run(*ASK, "--errors", "0", input="y\n")
    content = read_saved(files)
    del content["errors"]
    (files / "data.ask.json").write_text(json.dumps(content))
    result = run(*ASK, input="n\n")
    assert "Resuming: read 1 answer from data.ask.json." in result.stderr
    assert read_saved(files)["errors"] == "learn"
    assert answers(files) == ["SAME", "DIFFERENT"]


def test_errors_are_kept_in_the_file_unless_given_again(run, files):
    run(*ASK, input="y\n")
    assert read_saved(files)["errors"] == "learn"
    run(*ASK, "--errors", "0.2", input="n\n")
    assert read_saved(files)["errors"] == 0.2
    document = json.loads(run(*ASK, "--json", input="y\n").stdout)
    assert read_saved(files)["errors"] == 0.2
    assert document["error_rate"] == {"mean": 0.2, "low": 0.2, "high": 0.2}
    document = json.loads(run(*ASK, "--errors", "0", "--json", input="").stdout)
    assert (read_saved(files)["errors"], document["error_rate"], document["suspects"]) == (0, None, [])


# ---------------------------------------------------------------------- suspect answers

FLOCK = ["ask", "flock.csv", "-k", "2", "--id", "name"]
WRONG = 7  # the answer that is wrong


@pytest.fixture
def flock(files):
    """Write two groups of eight rows, far apart; return typed answers, of which one is wrong."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(8, 2)), rng.normal(size=(8, 2)) + 20]).round(2)
    names = [f"{group}{i}" for group in "ab" for i in range(8)]
    lines = [f"{name},{x},{y}" for name, (x, y) in zip(names, rows, strict=True)]
    (files / "flock.csv").write_text("\n".join(["name,x,y", *lines]) + "\n")
    interview = Interview(rows, n_clusters=2, ids=names)
    typed = []
    while len(typed) < 10:
        question = interview.ask()
        together = names[question.rows[0]][0] == names[question.rows[1]][0]
        together ^= len(typed) + 1 == WRONG
        typed.append("y" if together else "n")
        interview.tell(question, "SAME" if together else "DIFFERENT")
    pairs = [[names[row] for row in reply.question.rows] for reply in interview.replies]
    return typed, pairs


def answer_ten(ask, flock, *words):
    """Give ten answers at a terminal; wait until the wrong one is pointed out."""
    typed, pairs = flock
    asked = ask(*FLOCK, *words, terminal=True)
    for number, key in enumerate(typed, start=1):
        asked.wait_for(f"Question {number}")
        asked.type_at("? help]", key)
    first, second = pairs[WRONG - 1]
    answer = {"y": "yes", "n": "no"}[typed[WRONG - 1]]
    asked.wait_for(f"Answer {WRONG} is suspect: Do {first} and {second} belong together? {answer}; ")
    asked.wait_for(" contradict it.")
    return asked


def events(folder):
    return [(event["event"], event.get("items")) for event in read_saved(folder, "flock.ask.json")["history"]]


def test_a_suspect_answer_is_kept(ask, flock, files):
    asked = answer_ten(ask, flock)
    asked.type_at("Enter leaves it.", "x")
    asked.type_at("'x' is not an answer to this question.", "k")
    asked.wait_for("keep")
    asked.type_at("Question 12", "q")  # an answer that is kept counts twice
    code, shown, _ = asked.rest()
    assert code == 0
    assert "suspect" not in shown
    assert "is suspect" not in shown
    assert events(files)[10:] == [("answer", flock[1][WRONG - 1])]
    assert answers(files, "flock.ask.json")[10] == answers(files, "flock.ask.json")[WRONG - 1]


def test_a_suspect_answer_is_taken_back_and_given_again(ask, flock, files):
    typed, pairs = flock
    asked = answer_ten(ask, flock)
    asked.type_at("Enter leaves it.", "r")
    asked.wait_for("Question 10")
    assert events(files)[10:] == [("undo", None)]  # saved before it is asked again
    asked.type_at("? help]", "y" if typed[WRONG - 1] == "n" else "n")
    asked.type_at("Question 11", "q")
    code, shown, _ = asked.rest()
    assert code == 0
    assert "is suspect" not in shown
    assert events(files)[10:] == [("undo", None), ("answer", pairs[WRONG - 1])]
    assert read_saved(files, "flock.ask.json")["history"][10]["of"] == WRONG - 1


def test_a_suspect_answer_is_left_and_not_pointed_out_again(ask, flock, files):
    asked = answer_ten(ask, flock)
    asked.type_at("Enter leaves it.", "\r")
    asked.type_at("Question 11", "b")
    asked.wait_for("Question 10")
    asked.type_at("? help]", flock[0][-1])
    asked.wait_for("Question 11")
    asked.type_at("? help]", "q")
    code, shown, _ = asked.rest()
    assert code == 0
    assert "Enter leaves it." not in shown
    assert "suspect     1 suspect answer:" in shown
    assert f"answer {WRONG}: Do " in shown
    assert [event for event, _ in events(files)] == ["answer"] * 10 + ["undo", "answer"]


@pytest.mark.parametrize("typed", ["q", "\x04"])
def test_quitting_at_a_suspect_answer_after_the_last_question(ask, flock, files, typed):
    asked = answer_ten(ask, flock, "--budget", "10")
    asked.type_at("Enter leaves it.", typed)
    code, shown, _ = asked.rest()
    assert code == 0
    assert "the budget is spent" in shown
    assert [event for event, _ in events(files)] == ["answer"] * 10


def test_a_pipe_is_not_prompted_and_suspect_answers_are_listed(run, flock):
    typed, pairs = flock
    result = run(*FLOCK, "--json", "--annotator", "Ann", input="\n".join(typed) + "\n")
    assert "Enter leaves it." not in result.stderr
    assert re.search(
        r"errors      About \d+ % of the answers are probably wrong \(\d+ to \d+ %\)\.\n"
        rf"suspect     1 suspect answer:\n            answer {WRONG}: Do .* contradict it\n",
        result.stderr,
    )
    document = json.loads(result.stdout)
    (suspect,) = document["suspects"]
    assert 0.5 <= suspect.pop("chance") < 1
    assert suspect.pop("n_against") > 1
    assert suspect.pop("n_near") > 1
    assert suspect == {
        "number": WRONG,
        "ids": pairs[WRONG - 1],
        "answer": {"y": "SAME", "n": "DIFFERENT"}[typed[WRONG - 1]],
        "annotator": "Ann",
        "confirmed": False,
    }
    rate = document["error_rate"]
    assert 0 < rate["low"] < rate["mean"] < rate["high"] < 0.5


def test_no_error_rate_is_given_after_few_answers_that_agree(run, flock):
    typed, _ = flock
    right = [*typed[: WRONG - 1], {"y": "n", "n": "y"}[typed[WRONG - 1]]]
    result = run(*FLOCK, "--json", input="\n".join(right) + "\n")
    document = json.loads(result.stdout)
    assert document["answers"] == WRONG
    assert document["error_rate"] is not None
    assert "\nerrors " not in result.stderr


def test_few_answers_are_too_few_to_call_one_odd(run, flock):
    result = run(*FLOCK, input="y\n" * 4)  # the first is wrong
    assert "suspect" not in result.stderr
    assert "look wrong" not in result.stderr


def test_nothing_is_suspect_where_answers_are_certain(run, flock):
    typed, _ = flock
    result = run(*FLOCK, "--errors", "0", "--json", input="\n".join(typed) + "\n")
    assert "look wrong" not in result.stderr
    assert json.loads(result.stdout)["suspects"] == []


# ---------------------------------------------------------------------- what comes of it


def test_hints_that_are_known_spare_questions(run, files):
    known = "a,b,link\n" + "".join(f"a1,{name},must\n" for name in ("a2", "a3")) + "b1,b2,must\nb1,b3,must\n"
    (files / "known.csv").write_text(known)
    result = run(*ASK, "--known", "known.csv", input="n\n" * 9)
    assert answers(files) == ["DIFFERENT"]
    assert "clusters    2, of 3, 3 rows" in result.stderr
    run(*ASK, "--known", "known.csv", input="")  # the same ones may be given again
    (files / "labels.csv").write_text("id,label\na1,a\na2,a\na3,a\nb1,b\nb2,b\nb3,b\n")
    result = run(*ASK, "--known", "labels.csv", "--save", "l.json", input="")
    assert "there is nothing left to ask" in result.stderr


def test_one_document_for_scripts(run, files):
    document = json.loads(run(*ASK, "--json", "--hints", "h.csv", input="y\ns\nn\n").stdout)
    assert (document["answers"], document["finished"], document["clusters"]) == (2, False, 2)
    assert document["said"] == {"same": 1, "different": 1}
    assert [row["id"] for row in document["labels"]] == NAMES
    assert document["wrote"] == ["data.ask.json", "h.csv"]
    assert " cluster data.csv -k 2 --hints h.csv --method propagation --id name" in document["next"]
    assert document["answers_read"] == 0
    document = json.loads(run(*ASK, "--json", "--labels", "l.csv", input="").stdout)
    assert document["labels"] is None
    assert document["answers_read"] == 2


def test_the_next_command_replaces_no_file(run, files):
    (files / "labels.csv").write_text("mine")
    (files / "labels-2.csv").write_text("mine too")
    shown = run(*ASK, "--hints", "h.csv", input="y\n").stderr
    assert "--out labels-3.csv" in shown
    assert "it fits again" not in shown
    shown = run(*ASK, "--hints", "h.csv", "--labels", "l.csv", input="").stderr
    assert "--out l-2.csv\n            it fits again, so a few rows may differ from l.csv" in shown


def test_the_number_of_clusters_is_found(run, files):
    birds = {name: name[0] for name in NAMES} | {"b3": "c"}
    interview = Interview(X, discover=True, ids=NAMES)
    typed = []
    while (question := interview.ask()) is not None:
        one, other = (birds[NAMES[row]] for row in question.rows)
        typed.append("y" if one == other else "n")
        interview.tell(question, "SAME" if one == other else "DIFFERENT")
    result = run(
        "ask", "data.csv", "--discover", "--id", "name", "--hints", "h.csv", input="\n".join(typed) + "\n"
    )
    assert "clusters    3, of " in result.stderr
    assert "-k 3" in result.stderr


def test_the_same_command_asks_the_same_questions(run, files):
    shown = [run(*ASK, "--save", f"{c}.json", "--seed", "4", input="y\nn\nn\n").stderr for c in "ab"]
    assert shown[0].replace("a.json", "") == shown[1].replace("b.json", "")


def test_it_is_reported_whether_to_go_on(run, files):
    rows = "".join(f"{i % 2 * 9 + i / 100},{i % 7}\n" for i in range(40))
    (files / "many.csv").write_text(f"x,y\n{rows}")
    words = ["ask", "many.csv", "-k", "2", "--strategy", "random"]
    result = run(*words, "--json", input="\n".join("un" * 5) + "\n")
    assert "10 answers so far. " in result.stderr
    assert "of the labels changed over the last 10 answers" in json.loads(result.stdout)["advice"]
    assert json.loads(run(*words, "--json", "--save", "s.json", input="u\n").stdout)["advice"] is None


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["-k", "7"], 1, "7 clusters need at least as many rows; got 6."),
        (["-k", "2:7"], 1, "7 clusters need at least as many rows; got 6."),
        (["-k", "4:2"], 2, "the smaller number of a range first, such as 50:100; got '4:2'."),
        (
            ["-k", "two"],
            2,
            "expected the number of clusters, such as 4, or a range, such as 50:100; got 'two'.",
        ),
        (["-k", "2:4", "--strategy", "npu"], 1, "a range, which the strategy 'npu' cannot use"),
        ([], 2, "give the number of clusters with -k, or --discover"),
        (["-k", "1"], 2, "-k"),
        (["-k", "2", "--show", "nme"], 2, "has no column 'nme'; did you mean 'name'?"),
        (["-k", "2", "--id", "song"], 2, "has no column 'song'"),
        (["-k", "2", "--strategy", "rndom"], 2, "did you mean 'random'?"),
        (["-k", "2", "--save", "data.csv"], 2, "is also a file that is read"),
        (["-k", "2", "--hints", "h.txt"], 2, "expected a file name that ends with"),
        (["-k", "2", "--hints", "nowhere/h.csv"], 1, "there is no folder"),
        (["-k", "2", "--known", "nowhere.csv"], 1, "there is no file 'nowhere.csv'"),
        (["-k", "2", "--budget", "-1"], 2, "--budget"),
        (["-k", "2", "--trays", "--strategy", "random"], 2, "exclude each other"),
        (["-k", "2", "--errors", "0.5"], 2, "(answers are guesses), such as 0.1; got '0.5'"),
        (["-k", "2", "--errors", "-1"], 2, "(answers are guesses), such as 0.1; got '-1'"),
        (["-k", "2", "--errors", "often"], 2, "expected 'learn' or the share of wrong answers"),
        (["-k", "2", "--errors", "nan"], 2, "got 'nan'"),
        (["-k", "2", "--errors", "0.1", "--strategy", "uncertain"], 2, "--errors 0.1 has no effect with"),
    ],
)
def test_what_cannot_be_asked(run, files, words, code, expected):
    words = words if "--id" in words else [*words, "--id", "name"]
    result = run("ask", "data.csv", *words, input="y\n", code=code)
    assert expected in result.stderr
    assert not (files / "data.ask.json").exists()


def test_data_cannot_come_from_stdin(run, files):
    assert "DATA must be a file" in run("ask", "-", "-k", "2", input="y\n", code=2).stderr


def test_words_that_nobody_shows_are_refused_as_features(run, files):
    assert "is not numeric" in run("ask", "data.csv", "-k", "2", input="y\n", code=1).stderr


def test_one_row(run, files):
    (files / "one.csv").write_text("x,y\n1,2\n")
    assert "there is nothing to ask" in run("ask", "one.csv", "--discover", code=1).stderr


def test_data_that_is_not_utf_8(run, files):
    (files / "latin.csv").write_bytes("name,x,y\né1,0,0\na2,1,1\nb3,9,9\n".encode("latin-1"))
    words = ["ask", "latin.csv", "-k", "2", "--id", "name"]
    assert "--encoding latin-1" in run(*words, input="y\n", code=1).stderr
    run(*words, "--encoding", "latin-1", input="y\n")
    assert len(answers(files, "latin.ask.json")) == 1


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(run, files):
    files.chmod(0o500)
    try:
        assert "permission denied" in run(*ASK, input="y\n", code=1).stderr
    finally:
        files.chmod(0o700)


def test_hints_that_are_there_are_not_replaced_by_a_new_interview(run, files):
    (files / "h.csv").write_text("a,b,link\nann,bob,must\n")
    refused = run(*ASK, "--hints", "h.csv", input="y\n", code=2)
    assert "h.csv exists, and the answers of a new interview would replace it" in refused.stderr
    assert (files / "h.csv").read_text() == "a,b,link\nann,bob,must\n"


# ---------------------------------------------------------------------- two processes


def test_a_second_process_is_refused_and_shown_who_asks_already(ask, run, files):
    first = ask(*ASK)
    first.type_at("Question 1", "y")
    first.wait_for("Question 2")
    before = (files / "data.ask.json").read_bytes()
    second = ask(*ASK)
    code, shown, _ = second.rest()
    assert code == 1
    who = rf"by another likewise ask \(process {first.process.pid}, since 20[\d :-]+UTC\)"
    assert re.search(f"'data.ask.json' is in use {who}", shown)
    assert "another file with --save" in shown
    assert (files / "data.ask.json").read_bytes() == before
    os.symlink("data.ask.json", files / "link.json")  # another name of the same file
    code, shown, _ = ask(*ASK, "--save", "link.json").rest()
    assert (code, f"process {first.process.pid}" in shown) == (1, True)
    first.type_at("? help]", "n")
    first.type_at("Question 3", "q")
    assert first.rest()[0] == 0
    assert answers(files) == ["SAME", "DIFFERENT"]
    assert run(*ASK, input="u\n").exit_code == 0
    assert answers(files) == ["SAME", "DIFFERENT", "UNSURE"]
    assert not (files / "data.ask.json.lock").exists()


def test_what_was_acknowledged_before_a_kill_is_stored_and_the_lock_is_free(ask, files):
    asked = ask(*ASK)
    given = []
    for number, typed in enumerate(["y", "n", "u"], start=1):
        asked.type_at(f"Question {number}", typed)
        given.append({"y": "SAME", "n": "DIFFERENT", "u": "UNSURE"}[typed])
    asked.wait_for("Question 4")  # which acknowledges the third answer
    asked.kill()
    assert answers(files) == given
    assert (files / "data.ask.json.lock").exists()
    again = ask(*ASK)
    again.wait_for("Resuming: read 3 answers from data.ask.json.")
    again.type_at("Question 4", "q")
    assert again.rest()[0] == 0
    assert answers(files) == given


def test_an_answer_that_a_killed_process_wrote_by_halves_is_left_out(ask, run, files):
    run(*ASK, input="y\nn\n")
    path = files / "data.ask.json"
    whole = path.read_bytes()
    run(*ASK, input="y\n")
    more = path.read_bytes()
    start = len(whole) - len("\n ]\n}\n")
    for n_written in (1, 2, 5, 30, len(more) - start - 7):
        path.write_bytes(more[: start + n_written] + whole[start + n_written :])
        (files / "data.ask.json.lock").write_text('{"pid": 1}')
        result = run(*ASK, input="q\n")
        assert "ended in the middle of an answer" in result.stderr
        assert path.read_bytes() == whole


def test_answers_are_appended_and_never_written_again(run, files, monkeypatch):
    from likewise.active import saved_interview

    wrote = []
    write_at = saved_interview._write_at
    monkeypatch.setattr(
        saved_interview,
        "_write_at",
        lambda file, at, data: (wrote.append((at, data)), write_at(file, at, data)),
    )
    run(*ASK, input="y\nn\nu\n")
    assert len(wrote) == 3
    assert [data.count(b'"event"') for _, data in wrote] == [1, 1, 1]
    assert [at for at, _ in wrote] == sorted(at for at, _ in wrote)
    appended = (files / "data.ask.json").read_bytes()
    Interview.load(files / "data.ask.json", X, ids=NAMES).save(files / "whole.json")
    assert (files / "whole.json").read_bytes() == appended


def test_a_file_that_another_program_changed_is_left_alone_and_no_answer_is_lost(ask, files):
    asked = ask(*ASK)
    asked.type_at("Question 1", "y")
    asked.wait_for("Question 2")
    interview = Interview.load(files / "data.ask.json", X, ids=NAMES)
    interview.tell(interview.ask(), "UNSURE")
    interview.save(files / "data.ask.json")
    asked.type_at("? help]", "n")
    code, shown, _ = asked.rest()
    assert code == 1
    assert "'data.ask.json' was changed by another program" in shown
    assert answers(files) == ["SAME", "UNSURE"]
    own = f"data.ask.{asked.process.pid}.json"
    assert own in shown
    assert answers(files, own) == ["SAME", "DIFFERENT"]


def test_a_full_disk_ends_with_the_name_of_the_file_and_all_that_was_acknowledged(run, files, monkeypatch):
    from likewise.active import saved_interview

    write_at, n_writes = saved_interview._write_at, []

    def fail_halfway(file, at, data):
        n_writes.append(1)
        if len(n_writes) in (2, 4):  # the second answer, and the attempt to save it at the end
            write_at(file, at, data[:20])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_at(file, at, data)

    monkeypatch.setattr(saved_interview, "_write_at", fail_halfway)
    result = run(*ASK, input="y\nn\n", code=1)
    assert "'data.ask.json': No space left on device." in result.stderr
    assert answers(files) == ["SAME"]


def test_dropped_columns_are_shown_only_if_they_are_asked_for():
    """A dropped column may hold the classes."""
    columns = ["1", "2"], ["2.5", "3.5"], ["wren", "owl"]
    raw = RawTable("rows.csv", ("id", "size", "class"), columns, None)
    assert make_row_formatter(raw, "id", None, ("class",))(0) == "1: size 2.5"
    assert make_row_formatter(raw, "id", ("class",), ("class",))(1) == "2: owl"
