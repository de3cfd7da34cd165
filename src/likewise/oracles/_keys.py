"""Reading input: single keys from a terminal, lines from other streams."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

# The end of the input: Ctrl-D in single-key mode, or zero if it was typed before this mode began.
ENDS = ("", "\x04", "\0")
_ESCAPE = "\x1b"


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
                if char in ENDS:
                    return None
                if enter and char in "\r\n":
                    return ""
                if char == _ESCAPE:
                    self._pass_over_sequence()
                elif char.isprintable() and not char.isspace():
                    return char

    def drop_typed_ahead(self) -> None:
        """Discard keys that were pressed but not read yet."""
        if self.by_key:
            self._termios.tcflush(self._fd, self._termios.TCIFLUSH)

    def _pass_over_sequence(self) -> None:
        """Skip the rest of an escape sequence, as of an arrow key: a bracket, and all up to a letter."""
        if self._read() in ("[", "O"):
            while (char := self._read()) and not (char.isalpha() or char == "~"):
                pass

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
