"""Reasons for questions: a sentence template and the rows in it, rendered by each display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

from likewise.exceptions import Names, get_name, render


@dataclass(frozen=True)
class Reason:
    """The reason why a question was chosen: a sentence with placeholders for rows.

    The library shows row numbers, ``likewise ask`` shows the numbers on the screen, and the studio shows the
    names of items; see :func:`likewise.exceptions.render`.

    Parameters
    ----------
    template : str, default=""
        The sentence. ``{row}`` stands for the word "row" and the next of `rows`, ``{rows:3}`` for "rows" and
        the next three, ``{list:3}`` for the next three without a noun, and ``{things}`` for the word "rows"
        without numbers. ``{Row}`` and ``{Rows:3}`` are capitalised for the start of a sentence. Double a
        brace to show it as it is.
    rows : tuple of int or str, default=()
        The rows in the order of their placeholders: row numbers, or ids in the studio.

    Examples
    --------
    >>> from likewise.active import Reason
    >>> from likewise.exceptions import render
    >>> reason = Reason("{Row} has no cluster yet; {row} is near.", (4, 7))
    >>> str(reason)
    'Row 4 has no cluster yet; row 7 is near.'
    >>> render(reason, {4: "wren", 7: "owl"}, words={"row": "item"})
    'Item wren has no cluster yet; item owl is near.'
    """

    template: str = ""
    rows: tuple[int | str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        try:
            n_rows = sum(
                _count_rows(name, spec) for _, name, spec, _ in Formatter().parse(self.template) if name
            )
        except ValueError as error:
            raise ValueError(
                f"the template {self.template!r} cannot be read: {error}. Placeholders are {{row}}, "
                "{rows:2}, {list:2} and {things}; double any brace that should be shown."
            ) from error
        if n_rows != len(self.rows):
            raise ValueError(
                f"the template {self.template!r} has places for {n_rows} row(s); got {len(self.rows)}."
            )

    @classmethod
    def from_text(cls, text: str) -> Reason:
        """Make a reason from a plain sentence. Row numbers in it are not replaced.

        Parameters
        ----------
        text : str
            The sentence; braces in it are shown as they are.

        Returns
        -------
        Reason
            A reason without placeholders.
        """
        return cls(text.replace("{", "{{").replace("}", "}}"))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Reason:
        """Make a reason from the result of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            A mapping with the keys "template" and "rows".

        Returns
        -------
        Reason
            The reason with this template and these rows.
        """
        return cls(str(document["template"]), tuple(document["rows"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the template and the rows in a form that can be written as JSON.

        Returns
        -------
        dict
            The keys are "template" and "rows".
        """
        return {"template": self.template, "rows": list(self.rows)}

    @property
    def is_plain(self) -> bool:
        """Whether the sentence has no placeholders, so that every display shows the same text."""
        return all(name is None for _, name, _, _ in Formatter().parse(self.template))

    def __bool__(self) -> bool:
        return bool(self.template)

    def __str__(self) -> str:
        return render(self) if self else ""

    def __add__(self, other: Reason) -> Reason:
        """Join two reasons into one text."""
        return Reason(f"{self.template} {other.template}".strip(), self.rows + other.rows)

    def renumber(self, number: Callable[[Any], Any]) -> Reason:
        """Replace the rows by other numbers or ids.

        Parameters
        ----------
        number : callable
            Called with each row; returns its new number or id.

        Returns
        -------
        Reason
            The same sentence about the new rows.
        """
        return replace(self, rows=tuple(number(row) for row in self.rows))

    def _render(self, names: Names | None, words: Mapping[str, str]) -> str:
        rows = list(self.rows)
        parts: list[str] = []
        for literal, name, spec, _ in Formatter().parse(self.template):
            parts.append(literal)
            if name is not None:
                n_rows = _count_rows(name, spec)
                parts.append(_write_place(name, rows[:n_rows], names, words))
                del rows[:n_rows]
        return "".join(parts)


def _count_rows(name: str, spec: str | None) -> int:
    """Return the number of rows that a placeholder takes."""
    if name in ("things", "row", "Row") and not spec:
        return 0 if name == "things" else 1
    if name in ("rows", "Rows", "list") and spec and spec.isdecimal():
        return int(spec)
    raise ValueError(f"there is no placeholder {{{name}{':' if spec else ''}{spec or ''}}}")


def _write_place(name: str, rows: list[Any], names: Names | None, words: Mapping[str, str]) -> str:
    if name == "things":
        return words.get("things", "rows")
    shown = [get_name(names, row) for row in rows]
    if names is not None and None in shown:  # some rows have no name: show row numbers and "rows" for all
        names, words = None, {}
    texts = [str(row) for row in rows] if names is None else [str(text) for text in shown]
    if name == "list":
        return ", ".join(texts)
    noun = words.get(name.lower(), name.lower())
    listed = f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]
    return f"{noun.capitalize() if name[0] == 'R' else noun} {listed}"
