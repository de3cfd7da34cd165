"""Interviews as files: one readable JSON object, with one event of the history per line."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._atomic_files import name_file_in_errors, replace_file
from likewise._reasons import Reason
from likewise.active import strategies
from likewise.active._evidence import Event
from likewise.active._extension import Extension
from likewise.active._pool import Pool, check_data
from likewise.active._questions import (
    Answer,
    AnswerValue,
    InGroup,
    Named,
    OddOne,
    Piles,
    Question,
    QuestionKind,
    Unlike,
)
from likewise.active._state import Strategy, check_ids
from likewise.backends import Rows, draw_rows
from likewise.exceptions import ChangedFileError, FileFormatError, LikewiseError
from likewise.supervision import FewIds, RowIds, Supervision
from likewise.supervision._records import build_hints, iterate_records
from likewise.supervision.io import iterate_json_objects, iterate_json_records
from likewise.tables import Problems

if TYPE_CHECKING:
    from likewise.active._interview import Interview

FORMAT = "likewise interview"
# Version 1 had pairs and triplets only, and no ids; version 2 no questions about groups; version 3 no added
# rows. A file says the lowest version that can read it.
VERSION, _WITHOUT_ADDED_ROWS = 4, 3
_LOOKED_AT = 10_000  # number of sampled rows in the fingerprint of very many rows
_HISTORY = '\n "history": ['
_NEXT_EVENT = re.compile(r"[\s,]*\{")
_END_EMPTY, _END = b"]\n}\n", b"\n ]\n}\n"  # the end of a file without events, and with events


def save(interview: Interview, path: str | os.PathLike[str]) -> None:
    """Write an interview under a temporary name, then rename the file."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{os.fspath(path)!r} cannot be written: there is no folder {folder!r}. Create it first."
        )
    ids = interview.ids
    # Only hinted rows are written, so the cost does not depend on the number of rows.
    named, few = interview.given.restrict_to_hinted()
    names = RowIds(tuple(str(row) if ids is None else ids[row] for row in named.tolist() or [0]))
    hints = list(iterate_json_objects(iterate_records(few, names)))
    added = interview._extension
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": _WITHOUT_ADDED_ROWS if added is None else VERSION,
        "data": _describe_data(interview.X, ids),
        "seed": interview.random_state,
        "n_clusters": interview.cluster_range or interview.n_clusters,
        "discover": interview.discover,
        "budget": interview.budget,
        "errors": interview.errors,
        "strategy": _make_strategy_entry(interview.strategy),
        "model": None if interview.model_is_default else repr(interview.model),
    }
    if interview.pool is not None:
        head["pool"] = dataclasses.asdict(interview.pool)
    if added is not None:
        head["added"] = {
            "sizes": list(added.sizes),
            "labels": None if added.labels is None else added.labels.tolist(),
            "after": _count_common(added.events, interview.history),
        }
    parts = [f" {json.dumps(key)}: {_format_value(value)}" for key, value in head.items()]
    parts += [
        _format_lines("hints", hints),
        _format_lines("history", [_make_event_entry(e, ids) for e in interview.history]),
    ]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    replace_file(path, lambda part: part.write_bytes(text.encode("utf-8")))


def _count_common(then: Sequence[Event], now: Sequence[Event]) -> int:
    """Return the number of events from which both histories start."""
    equal = (a == b for a, b in zip(then, now, strict=False))
    return next((at for at, same in enumerate(equal) if not same), min(len(then), len(now)))


class GrowingFile:
    """A saved interview to which events are appended, each by one write that is synced to disk.

    Saved events are never written again, so answers of another program are not overwritten. A write that
    fails leaves the file unchanged.

    Parameters
    ----------
    path : str
        The file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._n_events, self._n_rows = -1, 0
        self._stamp: tuple[int, ...] = ()

    def save(self, interview: Interview) -> None:
        """Write the whole interview the first time and after rows were added, and else only new events."""
        if self._n_events < 0 or self._n_rows != interview.n_samples:
            save(interview, self.path)
            self._stamp = _get_stamp(os.stat(self.path))
            self._n_events, self._n_rows = len(interview.history), interview.n_samples
        elif events := interview.history[self._n_events :]:
            self._append([_make_event_entry(event, interview.ids) for event in events])
            self._n_events += len(events)

    def _append(self, entries: list[dict[str, Any]]) -> None:
        end = _END if self._n_events else _END_EMPTY
        lines = ",".join(f"\n  {_format_value(entry)}" for entry in entries)
        added = ("," if self._n_events else "").encode() + lines.encode("utf-8") + _END
        with name_file_in_errors(self.path), open(self.path, "r+b", buffering=0) as file:
            if _get_stamp(os.fstat(file.fileno())) != self._stamp:
                raise ChangedFileError(f"{self.path!r} was changed by another program.")
            size = file.seek(0, os.SEEK_END)
            try:
                _write_at(file, size - len(end), added)
                os.fsync(file.fileno())
            except BaseException:
                _write_at(file, size - len(end), end)  # overwrites existing bytes, so it needs no disk space
                file.truncate(size)
                raise
            finally:
                self._stamp = _get_stamp(os.fstat(file.fileno()))


def _get_stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _write_at(file: io.FileIO, at: int, data: bytes) -> None:
    file.seek(at)
    while data:  # a disk that is nearly full accepts only a part
        data = data[file.write(data) or 0 :]


def repair(path: str | os.PathLike[str]) -> int | None:
    """Remove an incomplete last event, left by a killed process; it was never acknowledged.

    Returns the number of complete events, or None if there was nothing to repair.
    """
    text = Path(path).read_bytes().decode("utf-8", errors="ignore")
    try:
        json.loads(text)
        return None
    except ValueError:
        head, found, rest = text.partition(_HISTORY)
    if not found:
        return None
    events: list[dict[str, Any]] = []
    decoder, at = json.JSONDecoder(), 0
    while match := _NEXT_EVENT.match(rest, at):
        try:
            event, at = decoder.raw_decode(rest, match.end() - 1)
        except ValueError:
            break
        events.append(event)
    mended = f"{head}\n{_format_lines('history', events)}\n}}\n"
    replace_file(path, lambda part: part.write_bytes(mended.encode("utf-8")))
    return len(events)


def _format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _format_lines(key: str, entries: list[dict[str, Any]]) -> str:
    inside = ",".join(f"\n  {_format_value(entry)}" for entry in entries)
    return f" {json.dumps(key)}: [{inside}{chr(10) + ' ' if inside else ''}]"


def _describe_data(X: np.ndarray | Rows, ids: RowIds | None) -> dict[str, Any]:
    some = X
    if isinstance(X, Rows):
        some = X.take(draw_rows(len(X), _LOOKED_AT, np.random.RandomState(0)))
    digest = RowIds.from_row_numbers(len(some)).compute_content_digest(some)
    described = {"rows": X.shape[0], "columns": X.shape[1], "digest": digest}
    return described if ids is None else described | {"ids": ids.digest}


def _make_strategy_entry(strategy: Strategy) -> dict[str, Any]:
    """Return the name, class and parameters of a strategy; parameters are None if JSON cannot store them."""
    entry: dict[str, Any] = {"name": strategy.name, "class": type(strategy).__name__, "parameters": None}
    if dataclasses.is_dataclass(strategy):
        values = {part.name: getattr(strategy, part.name) for part in dataclasses.fields(strategy)}
        try:
            same = json.loads(_format_value(values)) == values
        except (TypeError, ValueError):
            same = False
        entry["parameters"] = values if same else None
    return entry


def _make_event_entry(event: Event, ids: RowIds | None) -> dict[str, Any]:
    if event.kind == "undo":
        return {"event": "undo", "of": event.undoes}
    question = event.question
    entry: dict[str, Any] = {"event": event.kind, "kind": question.kind}
    entry["rows" if ids is None else "items"] = _get_ids(question.rows, ids)
    if event.reply is not None:
        entry["answer"] = answer_entry(event.reply.answer, ids)
        for name in ("annotator", "time", "seconds"):
            entry[name] = getattr(event.reply, name)
    entry["examples"] = [_get_ids(rows, ids) for rows in question.examples] or None
    entry["names"] = list(question.names) or None
    entry |= {"score": question.score, "why": str(question.reason)}
    if not question.reason.is_plain:  # for programs that show rows under other names; `why` is for people
        rows = [int(row) for row in question.reason.rows]
        entry["reason"] = {"template": question.reason.template, "rows": _get_ids(rows, ids)}
    return {name: value for name, value in entry.items() if value not in (None, "")}


def answer_entry(answer: AnswerValue, ids: RowIds | None) -> Any:
    """Return an answer for JSON: a word, or an object such as {"odd": 3} or {"piles": [[0, 3], [1]]}.

    The objects for groups are {"groups": [3]}, {"unlike": [0, 3]} and {"name": "wren"}.
    """
    if isinstance(answer, OddOne):
        return {"odd": _get_ids([answer.row], ids)[0]}
    if isinstance(answer, Piles):
        return {"piles": [_get_ids(pile, ids) for pile in answer.groups]}
    if isinstance(answer, InGroup):
        return {"groups": _get_ids(answer.references, ids)}
    if isinstance(answer, Unlike):
        return {"unlike": _get_ids(answer.rows, ids)}
    if isinstance(answer, Named):
        return {"name": answer.name}
    return str(answer)


def _read_reason(entry: Mapping[str, Any], ids: RowIds | None) -> Reason:
    """Return the reason of a question; older files contain only a sentence."""
    if "reason" not in entry:
        return Reason.from_text(str(entry.get("why", "")))
    document = entry["reason"]
    return Reason(document["template"], _get_rows(document["rows"], ids))


def _answer_of(entry: Any, ids: RowIds | None) -> Any:
    """Return the answer of an entry; `Question.check_answer` checks it later."""
    if not isinstance(entry, dict):
        return Answer.from_word(entry)
    if set(entry) == {"odd"}:
        return OddOne(_get_rows([entry["odd"]], ids)[0])
    if set(entry) == {"piles"} and isinstance(entry["piles"], list):
        return Piles(tuple(_get_rows(pile, ids) for pile in entry["piles"]))
    if set(entry) == {"groups"}:
        return InGroup(_get_rows(entry["groups"], ids))
    if set(entry) == {"unlike"}:
        return Unlike(_get_rows(entry["unlike"], ids))
    if set(entry) == {"name"}:
        return Named(entry["name"])
    raise ValueError(
        f"expected as the answer a word, or an object with odd, piles, groups, unlike or name; got {entry!r}."
    )


def _question_of(entry: Mapping[str, Any], ids: RowIds | None) -> Question:
    """Return the question of an entry."""
    kind: QuestionKind = entry["kind"]
    rows = _get_rows(entry["rows" if ids is None else "items"], ids)
    examples = tuple(_get_rows(shown, ids) for shown in entry.get("examples", ()))
    names = tuple(entry.get("names", ()))
    return Question(kind, rows, entry.get("score"), _read_reason(entry, ids), examples, names)


def _get_ids(rows: Iterable[int], ids: RowIds | None) -> list[Any]:
    return [row if ids is None else ids[row] for row in rows]


def _get_rows(named: Any, ids: RowIds | None) -> tuple[int, ...]:
    if not isinstance(named, list):
        raise ValueError(f"expected a list of rows; got {named!r}.")
    return tuple(named) if ids is None else tuple(ids.find_rows(named).tolist())


@dataclass(frozen=True)
class SavedInterview:
    """The content of a file."""

    path: str
    content: dict[str, Any]

    def restore(
        self, make: Callable[..., Interview], X: Any, *, model: Any, strategy: Strategy | str | None, ids: Any
    ) -> Interview:
        """Recreate the interview, for the same rows."""
        content = self.content
        rows, pool = check_data(X, self._restore_pool())
        names = self._check_data(rows, check_ids(ids, len(rows)))
        if model is None and content.get("model") is not None:
            raise LikewiseError(
                f"{self.path}: the interview used the model {content['model']}, which is not in the file. "
                "Pass it again: Interview.load(path, X, model=…)."
            )
        chosen = self._restore_strategy() if strategy is None else strategy
        hints = self.restore_hints(names, rows)
        try:
            plain = {name: content[name] for name in ("n_clusters", "budget", "discover")}
            plain["random_state"] = content["seed"]
            if getattr(model, "n_clusters", None) is not None and not content["discover"]:
                plain["n_clusters"] = None  # another model may have another number of clusters
            plain["errors"] = content.get("errors", "learn")  # files of older versions have no such key
            interview = make(
                rows, model=model, strategy=chosen, supervision=hints, ids=ids, pool=pool, **plain
            )
        except (KeyError, ValueError) as error:
            raise FileFormatError(f"{self.path}: the interview cannot be restored: {error}") from error
        for number, entry in enumerate(self._get("history", list)):
            try:
                self._replay(interview, entry, names)
            except (LikewiseError, KeyError, TypeError, ValueError) as error:
                raise FileFormatError(
                    f"{self.path}: event {number} of the history, {entry!r}, cannot be read: {error}"
                ) from error
        if (entry := content.get("added")) is not None:
            interview._extension = self._restore_added(entry, interview)
            interview._forget_fits()
        return interview

    def _restore_added(self, entry: Any, interview: Interview) -> Extension:
        """Return what the interview knew when rows were added."""
        try:
            sizes = tuple(int(size) for size in entry["sizes"])
            labels = entry["labels"] if entry["labels"] is None else np.array(entry["labels"], dtype=np.int64)
            if not sizes or not 0 < max(sizes) < interview.n_samples or sorted(set(sizes)) != list(sizes):
                raise ValueError(f"the numbers of rows are {sizes}")
            if labels is not None and (labels.shape != (sizes[-1],) or labels.min() < 0):
                raise ValueError(f"expected {sizes[-1]} clusters")
            return Extension(sizes, labels, interview.history[: int(entry["after"])])
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{self.path}: the added rows cannot be read: {error}.") from error

    def _get(self, name: str, kind: type) -> Any:
        value = self.content.get(name)
        if not isinstance(value, kind):
            raise FileFormatError(f"{self.path}: {name!r} must be a {kind.__name__}, got {value!r}.")
        return value

    def _check_data(self, X: Any, ids: RowIds | None) -> RowIds | None:
        """Raise an error if the rows or the ids differ from the file; return the ids that the file uses."""
        was = dict(self._get("data", dict))
        named = was.pop("ids", None)
        now = _describe_data(X, None)
        if was != now:
            raise FileFormatError(
                f"{self.path}: the interview is about other rows: {was.get('rows')} x {was.get('columns')} "
                f"with digest {was.get('digest')}; these are {now['rows']} x {now['columns']} with digest "
                f"{now['digest']}. Pass the same rows, in the same order and with the same scaling."
            )
        if named is None:
            return None
        if ids is None:
            raise LikewiseError(
                f"{self.path}: the file refers to rows by id. Pass the ids: Interview.load(path, X, ids=…)."
            )
        if ids.digest != named:
            raise FileFormatError(
                f"{self.path}: expected ids with digest {named}; got {ids.digest}. Pass the same ids, in the "
                "order of the rows."
            )
        return ids

    def _restore_pool(self) -> Pool | None:
        """Return the settings of the pool; None if the interview has no pool."""
        entry = self.content.get("pool")
        if entry is None:
            return None
        try:
            return Pool(**entry)
        except (TypeError, ValueError) as error:
            raise FileFormatError(f"{self.path}: the pool {entry!r} is invalid: {error}") from error

    def _restore_strategy(self) -> Strategy:
        entry = self._get("strategy", dict)
        found = getattr(strategies, str(entry.get("class")), None)
        if entry.get("class") not in strategies.__all__ or found is None or entry.get("parameters") is None:
            raise LikewiseError(
                f"{self.path}: the strategy {entry.get('name')!r} cannot be restored from the file. "
                "Pass it again: Interview.load(path, X, strategy=…)."
            )
        try:
            made: Strategy = found(**entry["parameters"])
        except TypeError as error:
            raise FileFormatError(f"{self.path}: the strategy {entry!r} is invalid: {error}.") from error
        return made

    def restore_hints(self, ids: RowIds | None, X: np.ndarray | Rows | tuple[()] = ()) -> Supervision:
        """Return the hints that the interview began with; the rows are needed if they have no ids."""
        problems = Problems(self.path, word=", hint ")
        objects = list(enumerate(self._get("hints", list), start=1))
        if ids is None and isinstance(X, Rows):  # too many rows to list all numbers
            ids = FewIds.from_numbers(re.findall(r'"(\d+)"', json.dumps(objects)), len(X))
        elif ids is None:
            ids = RowIds.from_row_numbers(len(X))
        for number, value in objects:
            if not isinstance(value, dict):
                problems.add(number, f"expected an object; got {value!r}.")
        problems.settle()
        return build_hints(iterate_json_records(objects, problems), ids, problems)

    @staticmethod
    def _replay(interview: Interview, entry: dict[str, Any], ids: RowIds | None) -> None:
        """Apply an entry of the history to the interview."""
        if entry["event"] == "undo":
            interview._undo_event(entry["of"])
            return
        question = _question_of(entry, ids)
        if entry["event"] == "skip":
            interview.skip(question)
        elif entry["event"] == "answer":
            details = {name: entry.get(name) for name in ("annotator", "time", "seconds")}
            interview.tell(question, _answer_of(entry["answer"], ids), **details)
        else:
            raise ValueError(f"no such event: {entry['event']!r}.")


def read(path: str | os.PathLike[str]) -> SavedInterview:
    """Read a file and check that it is a complete interview of a known version."""
    name = os.fspath(path)
    try:
        content = json.loads(Path(path).read_bytes().decode("utf-8"))
    except ValueError as error:
        raise FileFormatError(
            f"{name}: not a saved interview, or a truncated one: {error}. "
            "Interviews are saved atomically, so the cause may be a manual copy or a failed download."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"{name}: not a saved interview: expected “format: {FORMAT}”.")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"{name}: the version must be an integer, got {version!r}.")
    if version > VERSION:
        raise FileFormatError(
            f"{name}: expected a version up to {VERSION}; got {version}, written by a newer likewise. "
            "Update likewise."
        )
    return SavedInterview(name, content)
