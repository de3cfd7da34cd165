"""``project.json``: the settings of a project and the fingerprint of its data, in readable form."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, get_args

from likewise.exceptions import FileFormatError
from likewise.studio._fingerprint import Fingerprint
from likewise.studio.records import AskKind, Described, ItemKind, Settings

FORMAT = "likewise project"
VERSION = 1
SUFFIX = ".likewise"
FILE = "project.json"


def write(path: Path, settings: Settings, described: Described, source: dict[str, Any]) -> None:
    """Write the file."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "settings": dataclasses.asdict(settings),
        "source": source,
        "described": dataclasses.asdict(described),
    }
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class ProjectFile:
    """The content of the file; `source` is the entry for the data as stored."""

    settings: Settings
    described: Described
    data: Path
    was: Fingerprint
    source: dict[str, Any]


def read(place: Path) -> ProjectFile:
    """Read the file of the project in a folder, or raise an error that describes the problem."""
    content = _read(place)
    source = _read_source(content, place)
    data = Path(os.path.normpath(place / source["path"]))
    return ProjectFile(
        _read_settings(content, place), _read_description(content, place), data, source["was"], source
    )


def _read(place: Path) -> dict[str, Any]:
    path = place / FILE
    try:
        content = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError as error:
        if place.is_dir():
            raise FileFormatError(
                f"{place} is not a project of the studio: it has no {FILE}. Pass the folder of a project, "
                f"whose name ends in {SUFFIX}, or the data for a new project."
            ) from error
        raise FileFormatError(f"there is no project {place}.") from error
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise FileFormatError(
            f"{path} cannot be read, or is incomplete: {error}. likewise never writes part of this file, so "
            "it may have been edited. Restore it from a copy of the project."
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"{path} is not the file of a project: it lacks “format: {FORMAT}”.")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileFormatError(f"{path}: the version must be an integer; got {version!r}.")
    if version > VERSION:
        raise FileFormatError(
            f"{path}: the project has version {version}, written by a newer likewise; this one reads up to "
            f"version {VERSION}. Update likewise."
        )
    return content


def _read_part(content: dict[str, Any], name: str, place: Path) -> dict[str, Any]:
    part = content.get(name)
    if not isinstance(part, dict):
        raise FileFormatError(f"{place / FILE}: {name!r} must be an object; got {part!r}.")
    return part


def _read_settings(content: dict[str, Any], place: Path) -> Settings:
    part = _read_part(content, "settings", place)
    try:
        settings = Settings(**part)
    except TypeError as error:
        raise FileFormatError(f"{place / FILE}: the settings cannot be read: {error}.") from error
    whole = {"n_clusters": True, "overlap": False, "seed": False, "budget": True}
    for name, may_lack in whole.items():
        value = getattr(settings, name)
        if type(value) is not int and not (may_lack and value is None):
            raise FileFormatError(f"{place / FILE}: {name!r} must be an integer; got {value!r}.")
    if settings.ask not in get_args(AskKind):
        raise FileFormatError(
            f"{place / FILE}: 'ask' must be one of {', '.join(get_args(AskKind))}; got {settings.ask!r}."
        )
    return settings


def _read_description(content: dict[str, Any], place: Path) -> Described:
    part = _read_part(content, "described", place)
    try:
        described = Described(
            **part
            | {
                "columns": tuple(part.get("columns", ())),
                "notes": tuple(part.get("notes", ())),
            }  # JSON has lists only
        )
    except TypeError as error:
        raise FileFormatError(f"{place / FILE}: the description cannot be read: {error}.") from error
    if described.kind not in get_args(ItemKind):
        raise FileFormatError(f"{place / FILE}: unknown kind of item {described.kind!r}.")
    return described


def _read_source(content: dict[str, Any], place: Path) -> dict[str, Any]:
    part = _read_part(content, "source", place)
    if not isinstance(part.get("path"), str) or not isinstance(part.get("was"), dict):
        raise FileFormatError(f"{place / FILE}: 'source' must have a path and a fingerprint; got {part!r}.")
    return part
