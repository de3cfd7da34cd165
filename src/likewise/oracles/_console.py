"""An oracle that asks a person at a terminal."""

from __future__ import annotations

import datetime
import enum
import importlib
import io
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, TextIO

from likewise.active import (
    Answer,
    AnswerValue,
    InGroup,
    Interview,
    Named,
    OddOne,
    Question,
    Reply,
    Suspect,
    Unlike,
)
from likewise.exceptions import OracleError, SupervisionError, render

_MOST_WRONG = 20  # after this many invalid lines in a row, input from a pipe is given up
_PILES = "123456789abc"
_ASIDE = "-"
CHECK_EVERY = 5  # check for suspicious answers after every 5th answer, because this may cost a fit
# The end of the input: Ctrl-D in single-key mode, or zero if it was typed before this mode began.
_ENDS = ("", "\x04", "\0")
_ESCAPE = "\x1b"
_ODD = 0.5  # answers are pointed out from this probability of being wrong on


class KeyReader:
    """Reads keys or lines from a stream.

    Parameters
    ----------
    stream : text stream
        A terminal is read by single keys, without the Enter key; a pipe or a file is read by lines.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._termios: Any = None
        if stream.isatty():
            try:
                self._termios = importlib.import_module("termios")
                self._fd = stream.fileno()
            except (ImportError, io.UnsupportedOperation):  # Windows has no such module; read lines instead
                self._termios = None

    @property
    def by_key(self) -> bool:
        """Whether single keys can be read."""
        return self._termios is not None

    @property
    def echoes(self) -> bool:
        """Whether typed lines are visible: a terminal shows them, a pipe does not."""
        return self._stream.isatty()

    def read_line(self) -> str | None:
        """Return the next line without its end; None if there is none."""
        try:
            line = self._stream.readline()
        except OSError:  # the terminal was closed
            return None
        return line.rstrip("\r\n") if line else None

    def read_key(self, ask: Callable[[], None], *, enter: bool = False) -> str | None:
        """Return the next printable key; None at the end of the input.

        `ask` is called once the terminal is in single-key mode, so an immediate answer is not lost. The Enter
        key is ignored, or returned as an empty string if `enter` is true.
        """
        with self._enable_single_keys():
            ask()
            while True:
                char = self._read()
                if char in _ENDS:
                    return None
                if enter and char in "\r\n":
                    return ""
                if char == _ESCAPE:  # as of an arrow key: skip a bracket, and all up to a letter
                    if self._read() in ("[", "O"):
                        while (char := self._read()) and not (char.isalpha() or char == "~"):
                            pass
                elif char.isprintable() and not char.isspace():
                    return char

    def drop_typed_ahead(self) -> None:
        """Discard keys that were pressed but not read yet."""
        if self.by_key:
            self._termios.tcflush(self._fd, self._termios.TCIFLUSH)

    def _read(self) -> str:
        try:
            return self._stream.read(1)
        except OSError:
            return ""

    @contextmanager
    def _enable_single_keys(self) -> Iterator[None]:
        """Put the terminal into single-key mode; Ctrl-C still interrupts."""
        termios = self._termios
        before = termios.tcgetattr(self._fd)
        now = [*before[:6], list(before[6])]
        now[3] &= ~(termios.ECHO | termios.ICANON)
        now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
        # Keys that were typed ahead are kept.
        termios.tcsetattr(self._fd, termios.TCSADRAIN, now)
        try:
            yield
        finally:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, before)


class Wish(enum.StrEnum):
    """A request that a person makes instead of answering: skip the question, go back, or quit.

    Examples
    --------
    >>> import io
    >>> from likewise.active import Question
    >>> from likewise.oracles import ConsoleOracle, Wish
    >>> person = ConsoleOracle(input=io.StringIO("s\\n"), output=io.StringIO())
    >>> person.put(Question.pair(0, 1)) is Wish.SKIP
    True
    """

    SKIP = "skip"
    BACK = "back"
    QUIT = "quit"


_WISHES = {"s": Wish.SKIP, "b": Wish.BACK, "q": Wish.QUIT}
_CHOICES = {"k": "keep", "r": "ask again", "": "go on", "q": "quit"}  # for a suspicious answer
_LONG = {
    "yes": "y",
    "same": "y",
    "no": "n",
    "different": "n",
    "unsure": "u",
    "skip": "s",
    "back": "b",
    "undo": "b",
    "quit": "q",
    "all": "a",
    "neither": "0",
    "none": "0",
}
# Further words for some kinds of questions.
_WORDS = {
    "triplet": {"bc": "1", "ac": "2", "ab": "3"},  # the two that belong together leave out the third
    "placement": {"new": "n"},
    "members": dict.fromkeys(("y", "yes", "same"), "a"),
}
_MARKS = {"placement": "?", "members": "="}  # of the first row, where the others have numbers
_SEVERAL = "="  # several numbers follow, or a name that is also a key
# What the signs before rows mean.
_LEGENDS = {
    "placement": "? is the row to place, a number is a group, · is another row of the same group.",
    "members": "= is the group, · is another row of it, a number is a row that may belong to it.",
    "groups": "A number is a group, · is another row of the same group.",
}


@dataclass(frozen=True)
class Form:
    """The text of a kind of question, and the answer and description of each key."""

    text: str
    keys: dict[str, tuple[AnswerValue, str]]
    numbers: str = "that one"  # the meaning of a number

    @classmethod
    def for_question(cls, question: Question) -> Form:
        rows = question.rows
        unsure = {"u": (Answer.UNSURE, "unsure")}
        keys: dict[str, tuple[AnswerValue, str]]
        if question.kind == "pair":
            keys = {"y": (Answer.SAME, "yes"), "n": (Answer.DIFFERENT, "no"), **unsure}
            return cls("Do they belong together?", keys)
        if question.kind == "triplet":
            odd = dict(zip("123", (Answer.BC, Answer.AC, Answer.AB), strict=True))
            keys = {key: (answer, f"{key} is the odd one") for key, answer in odd.items()}
            keys["0"] = (Answer.NEITHER, "none: all three belong together, or no two")
            return cls("Which one is the odd one out?", {**keys, **unsure})
        if question.kind == "odd":
            keys = {str(at): (OddOne(row), f"{at} is the odd one") for at, row in enumerate(rows, start=1)}
            keys["a"] = (Answer.SAME, "all belong together")
            keys["0"] = (Answer.NEITHER, "no single one")
            return cls("Which one is the odd one out?", {**keys, **unsure})
        if question.kind == "placement":
            keys = {
                str(at): (InGroup(row), f"group {at}") for at, row in enumerate(question.references, start=1)
            }
            keys["n"] = (Answer.NEW, "new: none of these groups")
            return cls("Which group does it belong to?", {**keys, **unsure}, "that group")
        if question.kind == "members":
            keys = {"a": (Answer.SAME, "all belong to it"), **unsure}
            return cls("Which do not belong to the group? Type their numbers, then Enter.", keys)
        if question.kind == "groups":
            keys = {"y": (Answer.SAME, "yes"), "n": (Answer.DIFFERENT, "no"), **unsure}
            return cls("Are these two groups the same?", keys)
        if question.kind == "label":
            offered = enumerate(_list_names(question), start=1)
            keys = {str(at): (name, name.name) for at, name in offered}
            text = "What is it called? Type a name" + " or its number" * bool(keys) + "."
            return cls(text, {**keys, **unsure}, "that name")
        example = "".join("112"[at % 3] for at in range(len(rows) - 1)) + _ASIDE
        text = f"Which belong together? Type the pile of each in turn, {_ASIDE} to set one aside, as"
        return cls(f"{text} {example}.", {**unsure})

    def format_keys(self) -> str:
        """Return a short description of the keys."""
        digits = [key for key in self.keys if key.isdecimal() and key != "0"]
        span = f"{digits[0]}-{digits[-1]}" if len(digits) > 1 else "".join(digits)
        numbers = [f"{span} {self.numbers}"] if digits else []
        words = [
            f"{key} {word.partition(':')[0]}" for key, (_, word) in self.keys.items() if key not in digits
        ]
        wishes = [f"{key} {wish}" for key, wish in _WISHES.items()]
        return ", ".join([*numbers, *words, *wishes, "? help"])


class ConsoleOracle:
    """Asks a person at a terminal, or a program that writes lines to a pipe.

    ========= ==============================================================================
    question  keys
    ========= ==============================================================================
    pair      y (yes), n (no)
    triplet   the number of the odd one; 0 if there is none
    odd       the number of the odd one; a if all belong together; 0 if there is no single one
    piles     the pile of each row in turn, such as 1121-2, with - for a row that is set aside
    placement the number of the group; n (new) if it is none of them; = and several numbers if
              one group is shown more than once
    members   the numbers of the rows that do not belong to the group; a if all belong to it
    groups    y (yes), n (no)
    label     a name, or the number of a name in use; = before a name that is also a key
    any       u (unsure), s (skip), b (back: undo the previous answer), q (quit), ? (help)
    ========= ==============================================================================

    At a terminal keys take effect at once, except for trays, names and several numbers, which end with the
    Enter key. A number that is typed twice is taken back. Groups are shown by their name and their most
    typical rows; the first question of a kind explains the signs. A name that differs from a name in use only
    in upper and lower case becomes that name. Input from a pipe is read by lines and may also contain words:
    yes, no, new, unsure, skip, back, quit.

    Parameters
    ----------
    show : callable, optional
        Called with a row number; returns the text that is shown for the row. By default its number.
    input, output : text stream, optional
        The streams for answers and questions. By default stdin and stderr.
    annotator : str, optional
        The name of the person, recorded with the answers.
    width : int, optional
        Maximum line length. By default the width of the terminal.

    Examples
    --------
    >>> import io, sys
    >>> from likewise.active import Question
    >>> from likewise.oracles import ConsoleOracle
    >>> birds = ["wren", "tawny owl", "winter wren"]
    >>> streams = {"input": io.StringIO("y\\n"), "output": sys.stdout}
    >>> person = ConsoleOracle(birds.__getitem__, **streams, annotator="Ann")
    >>> reply = person.answer(Question.pair(0, 2))
      1  wren
      2  winter wren
    Do they belong together?  [y yes, n no, u unsure, s skip, b back, q quit, ? help] yes
    >>> str(reply.answer), reply.annotator
    ('SAME', 'Ann')
    """

    def __init__(
        self,
        show: Callable[[int], str] | None = None,
        *,
        input: TextIO | None = None,
        output: TextIO | None = None,
        annotator: str | None = None,
        width: int | None = None,
    ) -> None:
        if show is not None and not callable(show):
            raise TypeError(f"ConsoleOracle: show must be callable with a row number, got {show!r}.")
        self.show = show
        self.annotator = annotator
        self.width = width
        # A program without a terminal may have no stdin at all; then the input is empty.
        self._typed = KeyReader((sys.stdin or io.StringIO()) if input is None else input)
        self._output = output
        self._explained: set[str] = set()  # the kinds of question whose signs were explained

    # ------------------------------------------------------------------ one question

    def answer(self, question: Question) -> Reply:
        """Ask a question until it is answered. Skip and back are not available here.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Reply
            The answer with the annotator, the time and the duration. An OracleError is raised if the person
            quits.
        """
        answer = self.put(question)
        while answer in (Wish.SKIP, Wish.BACK):
            self.write_line("You cannot skip or go back here; u is unsure, q quits.")
            answer = self.put(question)
        if isinstance(answer, Reply):
            return answer
        raise OracleError(f"“{question.text}” was not answered: the person stopped.", question)

    def put(self, question: Question, heading: str = "") -> Reply | Wish:
        """Show a question and read the answer.

        Parameters
        ----------
        question : Question
            The question.
        heading : str, default=""
            A line of text to show above the question.

        Returns
        -------
        Reply or Wish
            The answer, or the request to skip, go back or quit. The end of the input means quit.
        """
        form = Form.for_question(question)
        if heading:
            self.write_line(heading)
        self._print_question(question)
        if question.kind in _LEGENDS and question.kind not in self._explained:
            self.write_line(f"     {_LEGENDS[question.kind]}")
            self._explained.add(question.kind)
        start = time.perf_counter()
        n_wrong = 0
        while True:
            typed = self._read_next(question, f"{form.text}  [{form.format_keys()}] ")
            if typed is None:
                self.write_line("" if self._typed.echoes else "quit")
                return Wish.QUIT
            parsed = parse_typed(typed, question, form)
            if isinstance(parsed, Wish):
                self._echo(parsed, question)
                return parsed
            if parsed is not None:
                answer, word = parsed
                self._echo(word, question)
                seconds = round(time.perf_counter() - start, 3)
                now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                return Reply(question, answer, self.annotator, now, seconds)
            if typed in ("?", "help"):
                self._echo("help", question)
                self._print_help(question, form)
                continue
            n_wrong += 1
            self._echo(typed, question)
            self.write_line(f"{typed!r} is not an answer to this question.")
            if n_wrong == _MOST_WRONG and not self._typed.echoes:
                raise OracleError(
                    f"“{question.text}” was not answered: {n_wrong} lines in a row were invalid, the last of "
                    f"them {typed!r}. Expected one of {form.format_keys()} on each line.",
                    question,
                )

    def _read_next(self, question: Question, prompt: str, *, enter: bool = False) -> str | None:
        """Return the next input; empty lines are ignored, unless `enter` is true."""
        if self._accepts_keys(question):
            if question.kind in ("placement", "members") and not enter:
                return self._read_numbers(question, prompt)
            key = self._typed.read_key(lambda: self._write(prompt), enter=enter)
            return key if key is None else key.lower()
        self._write(prompt)
        while (line := self._typed.read_line()) is not None:
            text = line.strip()
            if text or enter:
                return text if question.kind == "label" and not enter else text.lower()
        return None

    def _read_numbers(self, question: Question, prompt: str) -> str | None:
        """Return the next key, or several numbers up to the Enter key; one that is typed twice is removed."""
        most = len(question.rows) - 1
        numbers: list[str] = []
        several = question.kind == "members"
        key = self._typed.read_key(lambda: self._write(prompt))
        while key is not None:
            if key == _SEVERAL:
                several = True
                self._write("= ")
            elif several and key.isdecimal() and 1 <= int(key) <= most:
                numbers = [one for one in numbers if one != key] if key in numbers else [*numbers, key]
                self._write(f"{key} " if key in numbers else f"(not {key}) ")
            elif key == "" and numbers:
                self._write("= ")
                return " ".join(numbers)
            elif key:
                return key.lower()
            key = self._typed.read_key(lambda: None, enter=True)
        return None

    def _accepts_keys(self, question: Question) -> bool:
        return self._typed.by_key and question.kind not in ("piles", "label") and len(question.rows) < 10

    def _echo(self, word: str, question: Question) -> None:
        # A terminal that reads whole lines shows them itself.
        if self._accepts_keys(question) or not self._typed.echoes:
            self.write_line(word)

    def _print_help(self, question: Question, form: Form) -> None:
        if question.reason:
            mark = _MARKS.get(question.kind)
            first = 1 if mark is None else 0
            shown: dict[int, Any] = {row: number for number, row in enumerate(question.rows, start=first)}
            words = {"row": "number", "rows": "numbers"}
            if mark is not None:  # "row ?" beside "row 2"
                shown[question.rows[0]], words = mark, {}
            self.write_line(f"  Why: {render(question.reason, shown, words=words)}")
        if question.kind in _LEGENDS:
            self.write_line(f"  {_LEGENDS[question.kind]}")
        for key, (_, word) in form.keys.items():
            self.write_line(f"  {key}  {word}")
        if question.kind == "placement":
            self.write_line(f"  {_SEVERAL}  several groups, such as = 1 3, if one is shown twice")
        if question.kind == "label":
            self.write_line(f"  {_SEVERAL}  before a name that is also a key, such as = q")
        if question.kind == "piles":
            self.write_line("  Rows with the same sign belong together. Signs are 1 to 9, a, b and c;")
            self.write_line(f"  {_ASIDE} sets a row aside.")
        self.write_line("  s  skip: not asked again, and it does not count")
        self.write_line("  b  back to the previous question; its answer is undone")
        self.write_line("  q  quit")

    # ------------------------------------------------------------------ a whole interview

    def hold(
        self,
        interview: Interview,
        *,
        after: Callable[[Interview], Any] | None = None,
        heading: Callable[[Interview], str] | None = None,
        check: bool = False,
    ) -> bool:
        """Ask the questions of an interview until there are no more, or the person quits.

        Parameters
        ----------
        interview : Interview
            The interview. The answers are recorded at once, so they are kept if this is interrupted.
        after : callable, optional
            Called with the interview after every answer, skip and undo, for example to save it.
        heading : callable, optional
            Called with the interview before every question; returns the text to show above it. By default
            the number of the question.
        check : bool, default=False
            Whether to point out answers that look wrong, each once, after every fifth answer and at the end.
            The person may keep such an answer, answer again, or go on. Has no effect without a terminal.

        Returns
        -------
        bool
            True if there is nothing left to ask, False if the person quit.
        """
        question = _offer_names(interview, interview.ask())
        pointed_out: set[Hashable] = set()
        while question is not None:
            left = "" if interview.left is None else f" of {interview.n_answers + interview.left}"
            number = f"\nQuestion {interview.n_answers + 1}{left}"
            answer = self.put(question, number if heading is None else heading(interview))
            undone = None
            if answer is Wish.QUIT:
                return False
            if answer is Wish.BACK:
                try:
                    undone = interview.undo()
                except SupervisionError:
                    self.write_line("There is nothing to go back to.")
                    continue
            elif isinstance(answer, Reply):
                self._print_effect(interview, answer)
            else:
                interview.skip(question)
            if after is not None:
                after(interview)
            if undone is not None:
                question = undone.question
                continue
            again = self._check(interview, pointed_out, after) if check and self._typed.echoes else None
            if isinstance(again, Wish):
                return interview.finished
            question = _offer_names(interview, again or interview.ask())
        return True

    def _check(
        self,
        interview: Interview,
        pointed_out: set[Hashable],
        after: Callable[[Interview], Any] | None,
    ) -> Question | Wish | None:
        """Point out suspicious answers, if a check is due; return the question to ask again, or QUIT."""
        if interview.n_answers % CHECK_EVERY and not interview.finished:
            return None
        while (suspect := _find_new(interview, pointed_out)) is not None:
            pointed_out.add((suspect.question.key, suspect.reply.answer))
            choice = self._choose(interview, suspect)
            if choice == "q":
                return Wish.QUIT
            if choice == "k":
                interview.confirm(suspect.question)
            elif choice == "r":
                interview.undo(suspect.question)
            if choice and after is not None:
                after(interview)
            if choice == "r":
                return suspect.question
        return None

    def _choose(self, interview: Interview, suspect: Suspect) -> str:
        """Point out an answer and return the key that is pressed; the end of the input means quit."""
        number = interview.replies.index(suspect.reply) + 1
        self._typed.drop_typed_ahead()  # an Enter pressed after the last answer does not refer to this answer
        self.write_line(
            f"\nAnswer {number} is suspect: {_strip_controls(describe_suspect(interview, suspect))}."
        )
        while True:
            prompt = "k keeps it (it then counts twice), r asks again, Enter leaves it. "
            typed = self._read_next(suspect.question, prompt, enter=True)
            typed = "q" if typed is None else typed
            self._echo(_CHOICES.get(typed, typed), suspect.question)
            if typed in _CHOICES:
                return typed
            self.write_line(f"{typed!r} is not an answer to this question.")

    def _print_effect(self, interview: Interview, reply: Reply) -> None:
        name = str if interview.ids is None else interview.ids.__getitem__
        before = {contradiction.rows for contradiction in interview.contradictions}
        interview.tell(
            reply.question, reply.answer, annotator=reply.annotator, time=reply.time, seconds=reply.seconds
        )
        for contradiction in interview.contradictions:
            if contradiction.rows not in before:
                if len(contradiction.rows) == 1:
                    names = dict.fromkeys(str(one.answer) for one in contradiction.replies)
                    self.write_line(
                        f"This contradicts other answers: {name(contradiction.rows[0])} is called "
                        f"{' and '.join(names)}. b undoes it."
                    )
                    continue
                apart = " ≠ ".join(map(name, contradiction.rows))
                chain = " = ".join(map(name, contradiction.chain))
                but = f"but {chain}" if chain else f"but there are {interview.n_clusters} clusters"
                self.write_line(f"This contradicts other answers: {apart}, {but}. b undoes it.")

    # ------------------------------------------------------------------ writing

    def write_line(self, text: str) -> None:
        """Write a line to the output.

        Parameters
        ----------
        text : str
            The line, without its end.
        """
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        output = sys.stderr if self._output is None else self._output
        encoding = getattr(output, "encoding", None) or "utf-8"
        output.write(text.encode(encoding, "replace").decode(encoding))
        output.flush()

    def _print_question(self, question: Question) -> None:
        """Show the rows of a question, and its groups by their names and typical rows."""
        rows, references = question.rows, question.references
        if question.kind == "label":
            others = chain.from_iterable(question.examples)
            self._print_group("?", tuple(dict.fromkeys((*rows, *others))), None)
            for number, offered in enumerate(_list_names(question), start=1):
                self._print_text(str(number), offered.name)
            return
        if question.kind == "placement":
            self._print_row(_MARKS["placement"], rows[0])
        for number, (row, examples, name) in enumerate(
            zip_longest(references, question.examples, question.names), start=1
        ):
            self._print_group(
                _MARKS["members"] if question.kind == "members" else str(number), examples or (row,), name
            )
        if question.kind not in ("placement", "groups"):
            for number, row in enumerate(rows[len(references) :], start=1):
                self._print_row(str(number), row)

    def _print_group(self, sign: str, rows: Sequence[int], name: str | None) -> None:
        """Show a group: its name, if it has one, and some of its rows."""
        if name:
            self._print_text(sign, name)
        for at, row in enumerate(rows):
            self._print_row("·" if name or at else sign, row)

    def _print_row(self, sign: str, row: int) -> None:
        self._print_text(sign, str(row) if self.show is None else self.show(row))

    def _print_text(self, sign: str, text: str) -> None:
        width = self.width or shutil.get_terminal_size().columns
        first = f"{sign:>3}  "
        lines = [
            line
            for part in text.splitlines()
            for line in textwrap.wrap(_strip_controls(part), max(width - 5, 20))
        ]
        for at, line in enumerate(lines or [""]):
            self.write_line(f"{first if at == 0 else ' ' * len(first)}{line}".rstrip())


def _list_names(question: Question) -> list[Named]:
    """Return the names that a label question offers; those that cannot be typed as a name are left out."""
    found = []
    for name in question.names:
        with suppress(SupervisionError):
            found.append(Named(name or ""))
    return found


def _offer_names(interview: Interview, question: Question | None) -> Question | None:
    """Return a label question with the names in use, if it offers none."""
    if question is None or question.kind != "label" or question.names:
        return question
    return replace(question, names=tuple(interview.names))


def _strip_controls(text: str) -> str:
    """Replace control characters by spaces."""
    return "".join(char if char.isprintable() else " " for char in text)


def find_suspects(interview: Interview) -> list[Suspect]:
    """Return the answers that are probably wrong and were not confirmed, most suspicious first.

    The result is empty with fewer than five answers.
    """
    suspects = interview.suspects if interview.n_answers >= CHECK_EVERY else ()
    return [suspect for suspect in suspects if suspect.chance >= _ODD and not suspect.confirmed]


def _find_new(interview: Interview, pointed_out: set[Hashable]) -> Suspect | None:
    """Return the first suspicious answer that is new and is the last one to its question."""
    last = {reply.question.key: reply for reply in interview.replies}
    for suspect in find_suspects(interview):
        key = suspect.question.key
        if (key, suspect.reply.answer) not in pointed_out and last[key] == suspect.reply:
            return suspect
    return None


def describe_suspect(interview: Interview, suspect: Suspect) -> str:
    """Return a suspicious answer as text: the question, the answer, and what contradicts it."""
    name = str if interview.ids is None else interview.ids.__getitem__
    reply = suspect.reply
    if reply.question.kind in ("pair", "groups"):
        answer = "yes" if reply.answer is Answer.SAME else "no"
    elif isinstance(reply.answer, InGroup):
        answer = " = ".join(map(name, reply.answer.references))
    elif isinstance(reply.answer, Unlike):
        answer = ", ".join(map(name, reply.answer.rows))
    elif not reply.piles:
        words = {"NEW": "a new group", "SAME": "none"}
        answer = words.get(str(reply.answer), str(reply.answer))
    else:
        answer = " | ".join(" ".join(map(name, pile)) for pile in reply.piles)
    counts = ((len(suspect.against), "other answer"), (len(suspect.rows), "near row"))
    reasons = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n]
    verb = "contradicts" if sum(n for n, _ in counts) == 1 else "contradict"
    because = f"; {' and '.join(reasons)} {verb} it" if reasons else ""
    return f"{interview.text(reply.question)} {answer}{because}"


def parse_typed(typed: str, question: Question, form: Form) -> Wish | tuple[AnswerValue, str] | None:
    """Return the answer or request that was typed, with its description; None if it is invalid."""
    words = _LONG | _WORDS.get(question.kind, {})
    if question.kind == "label":
        words = {word: key for word, key in words.items() if key in (*_WISHES, "u")}
        key = words.get(typed.lower(), typed.lower())
    else:
        key = words.get(typed, typed)
    if key in _WISHES:
        return _WISHES[key]
    if key in form.keys:
        return form.keys[key]
    if question.kind == "label":
        return None if typed in ("?", "help") else parse_name(typed.removeprefix(_SEVERAL), form)
    if question.kind in ("placement", "members"):
        return _parse_numbers(typed.removeprefix(_SEVERAL), question)
    signs = typed.replace(" ", "").replace(",", "")
    if question.kind != "piles" or len(signs) != len(question.rows) or set(signs) - {*_PILES, _ASIDE, "0"}:
        return None
    piles: dict[str, list[int]] = {}
    for sign, row in zip(signs, question.rows, strict=True):
        if sign not in (_ASIDE, "0"):
            piles.setdefault(sign, []).append(row)
    return question.check_answer(list(piles.values())), signs


def parse_name(typed: str, form: Form) -> tuple[AnswerValue, str] | None:
    """Return the name that was typed, as it is written in other answers; None if it is not a name."""
    try:
        name = Named(typed)
    except SupervisionError:
        return None
    for used, _ in form.keys.values():
        if isinstance(used, Named) and used.name.casefold() == name.name.casefold():
            name = used
    return name, name.name


def _parse_numbers(typed: str, question: Question) -> tuple[AnswerValue, str] | None:
    """Return the answer with these numbers of groups or rows; None if they are not numbers of the question.

    Up to nine numbers may be typed without spaces.
    """
    others = question.rows[1:]
    numbers = typed.replace(",", " ").split()
    if len(others) < 10:
        numbers = list("".join(numbers))
    if not numbers or not all(one.isascii() and one.isdecimal() for one in numbers):
        return None
    places = [int(one) - 1 for one in numbers]
    if not all(0 <= at < len(others) for at in places):
        return None
    rows = [others[at] for at in places]
    answer = InGroup(rows) if question.kind == "placement" else Unlike(rows)
    return answer, ", ".join(numbers)
