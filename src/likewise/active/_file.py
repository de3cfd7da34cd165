"""Interviews as files: one readable JSON object, the history one event a line."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.active import strategies
from likewise.active._history import Event
from likewise.active._questions import Question
from likewise.active._state import Strategy, checked_rows
from likewise.exceptions import FileFormatError, LikewiseError
from likewise.supervision import RowIds, Supervision
from likewise.supervision._jsonl import json_objects, json_records
from likewise.supervision._records import Problems, hints_of, records_of
from likewise.supervision.io import put_in_place

if TYPE_CHECKING:
    from likewise.active._interview import Interview

FORMAT = "likewise interview"
VERSION = 1


def save(interview: Interview, path: str | os.PathLike[str]) -> None:
    """Write an interview beside the old file, then put it in its place."""
    hints = list(json_objects(records_of(interview.given, RowIds.numbered(interview.n_samples))))
    head = {
        "format": FORMAT,
        "version": VERSION,
        "data": _described(interview.X),
        "seed": interview.seed,
        "n_clusters": interview.n_clusters,
        "discover": interview.discover,
        "budget": interview.budget,
        "strategy": _strategy_entry(interview.strategy),
        "model": None if interview.model_is_default else repr(interview.model),
    }
    parts = [f" {json.dumps(key)}: {_text(value)}" for key, value in head.items()]
    parts += [_lines("hints", hints), _lines("history", [_event_entry(e) for e in interview.history])]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    put_in_place(path, lambda part: part.write_bytes(text.encode("utf-8")))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(key: str, entries: list[dict[str, Any]]) -> str:
    inside = ",".join(f"\n  {_text(entry)}" for entry in entries)
    return f" {json.dumps(key)}: [{inside}{chr(10) + ' ' if inside else ''}]"


def _described(X: np.ndarray) -> dict[str, Any]:
    return {"rows": X.shape[0], "columns": X.shape[1], "digest": RowIds.numbered(len(X)).content_digest(X)}


def _strategy_entry(strategy: Strategy) -> dict[str, Any]:
    """Return what a strategy is made of; parameters that JSON cannot hold have to be given again."""
    entry: dict[str, Any] = {"name": strategy.name, "class": type(strategy).__name__, "parameters": None}
    if dataclasses.is_dataclass(strategy):
        values = {part.name: getattr(strategy, part.name) for part in dataclasses.fields(strategy)}
        try:
            same = json.loads(_text(values)) == values
        except (TypeError, ValueError):
            same = False
        entry["parameters"] = values if same else None
    return entry


def _event_entry(event: Event) -> dict[str, Any]:
    if event.kind == "undo":
        return {"event": "undo", "of": event.undoes}
    question = event.question
    entry: dict[str, Any] = {"event": event.kind, "kind": question.kind, "rows": list(question.rows)}
    if event.reply is not None:
        entry["answer"] = str(event.reply.answer)
        for name in ("annotator", "time", "seconds"):
            entry[name] = getattr(event.reply, name)
    entry |= {"score": question.score, "why": question.why}
    return {name: value for name, value in entry.items() if value not in (None, "")}


@dataclass(frozen=True)
class Saved:
    """What stands in a file."""

    path: str
    content: dict[str, Any]

    def interview(
        self, make: Callable[..., Interview], X: Any, *, model: Any, strategy: Strategy | None
    ) -> Interview:
        """Make the interview again, for the rows that it was about."""
        said = self.content
        rows = checked_rows(X)
        self._check_data(rows)
        if model is None and said.get("model") is not None:
            raise LikewiseError(
                f"{self.path}: the interview was held with the model {said['model']}. "
                "Give it again: Interview.load(path, X, model=…)."
            )
        chosen = self._strategy() if strategy is None else strategy
        hints = self._hints(len(rows))
        try:
            plain = {name: said[name] for name in ("n_clusters", "seed", "budget", "discover")}
            if getattr(model, "n_clusters", None) is not None and not said["discover"]:
                plain["n_clusters"] = None  # another model may have another number of clusters
            interview = make(rows, model=model, strategy=chosen, supervision=hints, **plain)
        except (KeyError, ValueError) as error:
            raise FileFormatError(f"{self.path}: the interview cannot be made again: {error}") from error
        for number, entry in enumerate(self._get("history", list)):
            try:
                self._replay(interview, entry)
            except (LikewiseError, KeyError, TypeError, ValueError) as error:
                raise FileFormatError(
                    f"{self.path}: event {number} of the history, {entry!r}, cannot be read: {error}"
                ) from error
        return interview

    def _get(self, name: str, kind: type) -> Any:
        value = self.content.get(name)
        if not isinstance(value, kind):
            raise FileFormatError(f"{self.path}: {name!r} should be a {kind.__name__}, got {value!r}.")
        return value

    def _check_data(self, X: Any) -> None:
        was, now = self._get("data", dict), _described(np.asarray(X))
        if was != now:
            raise FileFormatError(
                f"{self.path}: the interview is about other rows: {was.get('rows')} x {was.get('columns')} "
                f"with digest {was.get('digest')}; these are {now['rows']} x {now['columns']} with digest "
                f"{now['digest']}. Give the rows as they were, in their order and scaled alike."
            )

    def _strategy(self) -> Strategy:
        entry = self._get("strategy", dict)
        found = getattr(strategies, str(entry.get("class")), None)
        if entry.get("class") not in strategies.__all__ or found is None or entry.get("parameters") is None:
            raise LikewiseError(
                f"{self.path}: the strategy {entry.get('name')!r} cannot be made from the file. "
                "Give it again: Interview.load(path, X, strategy=…)."
            )
        try:
            made: Strategy = found(**entry["parameters"])
        except TypeError as error:
            raise FileFormatError(f"{self.path}: the strategy {entry!r} cannot be made: {error}.") from error
        return made

    def _hints(self, n_rows: int) -> Supervision:
        problems = Problems(self.path, word=", hint ")
        objects = list(enumerate(self._get("hints", list), start=1))
        for number, value in objects:
            if not isinstance(value, dict):
                problems.add(number, f"wanted an object, got {value!r}.")
        problems.settle()
        return hints_of(json_records(objects, problems), RowIds.numbered(n_rows), problems)

    @staticmethod
    def _replay(interview: Interview, entry: dict[str, Any]) -> None:
        """Do again what an entry of the history says."""
        if entry["event"] == "undo":
            interview._undo_event(entry["of"])
            return
        question = Question(
            entry["kind"], tuple(entry["rows"]), entry.get("score"), str(entry.get("why", ""))
        )
        if entry["event"] == "skip":
            interview.skip(question)
        elif entry["event"] == "answer":
            told = {name: entry.get(name) for name in ("annotator", "time", "seconds")}
            interview.tell(question, entry["answer"], **told)
        else:
            raise ValueError(f"no such event: {entry['event']!r}.")


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a file and check that it is a whole interview of a version that is known."""
    name = os.fspath(path)
    try:
        content = json.loads(Path(path).read_bytes().decode("utf-8"))
    except ValueError as error:
        raise FileFormatError(
            f"{name}: not a saved interview, or one that is cut short: {error}. "
            "Files are put in place whole, so look for a copy made by hand or a failed download."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"{name}: not a saved interview: it does not say “format: {FORMAT}”.")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"{name}: the version should be a whole number, got {version!r}.")
    if version > VERSION:
        raise FileFormatError(
            f"{name}: the file is of version {version}, written by a newer likewise; this one reads up to "
            f"version {VERSION}. Update likewise."
        )
    return Saved(name, content)
