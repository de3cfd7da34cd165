"""Convert files of groups and hints, and interviews, to statements about item ids."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from likewise._event_log import find_undone
from likewise.active import Question
from likewise.exceptions import FileFormatError, LikewiseError
from likewise.supervision import RowIds, Supervision, read_hints
from likewise.tables import Problems

MOST_SHOWN = 100  # maximum number of bad lines reported at once
NOT_IMPORTED = "Nothing was imported."
MOST = 100_000  # more would keep a studio busy for hours


class PastAnswer(NamedTuple):
    """One earlier answer."""

    kind: Literal["pair", "triplet"]
    items: tuple[str, ...]
    answer: str
    annotator: str | None = None
    seconds: float | None = None
    time: str | None = None
    line: int = 0


@dataclass
class PastAnswers:
    """The content of a file.

    Attributes
    ----------
    form : {"answers", "labels", "hints", "interview"}
        The kind of file.
    answers : list of PastAnswer
        The statements.
    names : list of (str, str)
        An item id and the name of the item's group.
    notes : list of str
        What was left out, and why.
    """

    form: Literal["answers", "labels", "hints", "interview"]
    answers: list[PastAnswer] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_limits(earlier: PastAnswers, path: Path) -> PastAnswers:
    """Raise an error if a file has more answers than a studio can handle."""
    if len(earlier.answers) > MOST:
        raise FileFormatError(
            f"{path} would become {len(earlier.answers):,} answers; expected at most {MOST:,}. Keep the most "
            "informative lines, such as some items of each group. Nothing was imported."
        )
    return earlier


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> format_count(1, "answer"), format_count(2000, "answer")
    ('1 answer', '2,000 answers')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def check_name(name: str) -> str:
    """Return the name of a person or group; raise ValueError if it cannot be shown on one line."""
    from likewise.studio.service._accounts import clean_name

    try:
        return clean_name(name, "a name")
    except LikewiseError as error:
        raise ValueError(f"{name[:80]!r}: {error}") from error


# ---------------------------------------------------------------------- groups and hints


def make_group_statements(groups: list[list[str]]) -> list[PastAnswer]:
    """Return few statements that define the groups: the first item of a group with each of its others."""
    together = [PastAnswer("pair", (items[0], other), "SAME") for items in groups for other in items[1:]]
    return together + _make_apart_statements([items[0] for items in groups])


def _make_apart_statements(items: Iterable[str]) -> list[PastAnswer]:
    return [PastAnswer("pair", pair, "DIFFERENT") for pair in combinations(items, 2)]


def read_hints_file(path: Path, ids: RowIds, kind: str, encoding: str) -> PastAnswers:
    """Read a file of hints as answers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        hints = read_hints(path, ids, format=kind, encoding=encoding)  # type: ignore[arg-type]
    earlier = _convert_hints(hints, ids, str(path))
    earlier.notes[:0] = [str(warning.message) for warning in caught]
    return check_limits(earlier, path)


def _convert_hints(hints: Supervision, ids: RowIds, path: str) -> PastAnswers:
    """Convert hints to answers."""
    if "bags" in hints.kinds:
        raise FileFormatError(
            f"{path} has bags, but the studio asks no questions about bags. Convert them to links with "
            "likewise.supervision.bags_to_links, and import these. Nothing was imported."
        )
    earlier = PastAnswers("hints")
    answers = earlier.answers

    def get_ids(rows: Iterable[int]) -> list[str]:
        return [ids[row] for row in rows]

    answers += [PastAnswer("pair", tuple(get_ids(pair)), "SAME") for pair in hints.must.tolist()]
    answers += [PastAnswer("pair", tuple(get_ids(pair)), "DIFFERENT") for pair in hints.cannot.tolist()]
    for group in hints.must_groups:
        first, *others = get_ids(group.tolist())
        answers += [PastAnswer("pair", (first, other), "SAME") for other in others]
    for group in hints.cannot_groups:
        answers += _make_apart_statements(get_ids(group.tolist()))
    for rows, answer in zip(hints.triplets.tolist(), hints.answer_words, strict=True):
        answers.append(PastAnswer("triplet", tuple(get_ids(rows)), str(answer)))
    groups: dict[int, list[str]] = {}
    for row, code in enumerate(hints.label_codes.tolist()):
        if code >= 0:
            groups.setdefault(code, []).append(ids[row])
    answers += make_group_statements(list(groups.values()))
    try:
        earlier.names = [(items[0], check_name(str(hints.classes[code]))) for code, items in groups.items()]
    except ValueError as error:
        raise FileFormatError(
            f"{path}: a label cannot be the name of a group: {error} Nothing was imported."
        ) from error
    if any((weights != 1).any() for weights in _list_weights(hints)):
        earlier.notes.append("Weights were ignored: the weight of an answer depends on who gave it.")
    return earlier


def _list_weights(hints: Supervision) -> list[Any]:
    links = [hints.must_weights, hints.cannot_weights, hints.triplet_weights]
    return [*links, hints.must_groups.weights, hints.cannot_groups.weights]


# ---------------------------------------------------------------------- interviews of `likewise ask`


def read_interview(path: Path, ids: RowIds) -> PastAnswers:
    """Read the answers of an interview that still count; trays become the pairs that they imply."""
    from likewise.active import _saved_interview

    content = _saved_interview.read(path).content
    rows = content.get("data", {}).get("rows") if isinstance(content.get("data"), dict) else None
    problems = Problems(str(path), ", event ", shown=MOST_SHOWN, end=NOT_IMPORTED)
    earlier = PastAnswers("interview")
    history = content.get("history")
    if not isinstance(history, list):
        raise FileFormatError(f"{path}: 'history' must be a list; got {history!r}.")
    if any("rows" in entry for entry in history if isinstance(entry, dict)):
        if rows != len(ids):
            raise FileFormatError(
                f"{path} refers to row numbers, of {rows} rows; this project has {len(ids)} items. Hold the "
                "interview with likewise ask --id COLUMN, so that it refers to ids."
            )
        earlier.notes.append("The interview refers to row numbers; they were read as rows of this project.")
    undone = find_undone(_find_undos(history))
    n_silent = 0
    for number, entry in enumerate(history):
        try:
            if not isinstance(entry, dict):
                raise ValueError(f"expected an object; got {entry!r}.")
            if entry.get("event") != "answer" or number in undone:
                continue
            new_answers = _convert_entry(entry, ids, number)
            n_silent += not new_answers
            earlier.answers += new_answers
        except (LikewiseError, ValueError, KeyError, TypeError, IndexError) as error:
            problems.add(number, f"{json.dumps(entry, ensure_ascii=False)[:200]} cannot be read: {error}")
    problems.settle()
    if n_silent:
        earlier.notes.append(f"Left out: {format_count(n_silent, 'answer')} about trays without a link.")
    given = content.get("hints")
    if given:
        hints = _saved_interview.SavedInterview(str(path), content)._restore_hints(ids)
        earlier.answers += (more := _convert_hints(hints, ids, str(path))).answers
        earlier.names += more.names
    return check_limits(earlier, path)


def _find_undos(history: list[Any]) -> dict[int, int]:
    """Return the number of the event that each undo takes back, by the number of the undo."""
    return {
        number: entry["of"]
        for number, entry in enumerate(history)
        if isinstance(entry, dict) and entry.get("event") == "undo" and isinstance(entry.get("of"), int)
    }


def _convert_entry(entry: Mapping[str, Any], ids: RowIds, number: int) -> list[PastAnswer]:
    from likewise.active import _saved_interview
    from likewise.active._questions import Reply

    named: RowIds | None = ids if "items" in entry else None
    rows = _saved_interview._get_rows(entry["items" if named is not None else "rows"], named)
    who = {name: entry.get(name) for name in ("annotator", "time", "seconds")}
    if any(row >= len(ids) for row in rows if isinstance(row, int)):
        raise ValueError(f"there is no row {max(rows)}; the rows are 0 to {len(ids) - 1}.")
    reply = Reply(Question(entry["kind"], rows), _saved_interview._answer_of(entry["answer"], named), **who)
    name = None if reply.annotator is None else check_name(reply.annotator)
    more = {"annotator": name, "seconds": reply.seconds, "time": reply.time, "line": number}
    question = reply.question
    if question.kind in ("pair", "triplet"):
        # A pair may have been shown in the other order; its meaning is the same.
        items = tuple(ids[row] for row in question.rows)
        return [PastAnswer(question.kind, items, str(reply.answer), **more)]  # type: ignore[arg-type]
    piles = [[ids[row] for row in pile] for pile in reply.piles]
    found = [PastAnswer("pair", (pile[0], other), "SAME", **more) for pile in piles for other in pile[1:]]  # type: ignore[arg-type]
    for one, other in combinations(piles, 2):
        found += [PastAnswer("pair", pair, "DIFFERENT", **more) for pair in product(one, other)]  # type: ignore[arg-type]
    return found
