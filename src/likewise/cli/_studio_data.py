"""Read the data of a studio project: a folder of pictures or sounds, or a table, as items and features."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import click

from likewise.cli._studio_source import (
    WORD,
    Medium,
    Reiterable,
    SourceData,
    check_enough,
    compute_features,
    find_unreadable,
    shorten,
)
from likewise.cli._studio_table import read_table_source
from likewise.exceptions import FileFormatError
from likewise.features._features import Step, format_some
from likewise.studio._data_files import FIRST, detect_content_type, iterate_files
from likewise.studio.items import find_id_problem
from likewise.studio.records import Described, Item

__all__ = ["SourceData", "read_source"]

ENDS: dict[str, Medium] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".jpe", ".gif", ".webp", ".bmp"), "image"),
    **dict.fromkeys((".wav", ".wave", ".mp3", ".ogg", ".oga", ".flac"), "sound"),
}


def read_source(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str] | None = None,
    image: str | None = None,
    audio: str | None = None,
    id_column: str | None = None,
    truth: str | None = None,
    features: str | None = None,
    drop: Sequence[str] = (),
    encoding: str = "utf-8",
    seed: int = 0,
    progress: Step | None = None,
) -> SourceData:
    """Read a folder of pictures or sounds, or a table with a column `image` or `audio` of file names.

    `text` lists one or more columns of text, which are concatenated. `features` is a ``.npy`` file with one
    row per item. `progress` is called with the number of files read so far and the number of all files.
    """
    place = Path(path)
    if features is not None and not features.lower().endswith(".npy"):
        raise click.BadParameter(
            f"expected a .npy file with one row of numbers per item; got {features!r}.",
            param_hint="'--features'",
        )
    if place.is_dir():
        named = {
            "--text": ", ".join(text or ()) or None,
            "--image": image,
            "--audio": audio,
            "--id": id_column,
            "--truth": truth,
        }
        for option, name in [*named.items(), ("--drop", ", ".join(drop) or None)]:
            if name is not None:
                raise click.UsageError(f"{option} refers to a column of a table, but {place} is a folder.")
        return _read_folder(place, features, progress)
    if not place.exists():
        if re.match("[a-z]{3,}:/", place.as_posix()):
            raise FileFormatError(
                f"{place} is a URL, and the studio downloads nothing. Save it, and give the file."
            )
        raise FileFormatError(f"there is no file or folder {place}.")
    if place.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        raise FileFormatError(f"expected a CSV or Parquet table, or a folder; {place} is JSON.")
    if place.suffix.lower() in ENDS:
        raise FileFormatError(f"{place} is a single file; give its folder: {place.parent}.")
    return read_table_source(
        place,
        text=text or (),
        image=image,
        audio=audio,
        id_column=id_column,
        truth=truth,
        features=features,
        drop=drop,
        encoding=encoding,
        seed=seed,
        progress=progress,
    )


# ---------------------------------------------------------------------- a folder


def _read_folder(folder: Path, features: str | None, progress: Step | None) -> SourceData:
    names: dict[Medium, list[str]] = {"image": [], "sound": []}
    others: list[str] = []
    away: list[str] = []
    top = folder.resolve()
    for name, _ in iterate_files(folder):
        medium = _detect_medium(folder / name)
        if medium is None:
            others.append(name)
        elif find_id_problem(name) or not (folder / name).resolve().is_relative_to(top):
            away.append(ascii(name)[1:-1] if find_id_problem(name) else name)
        else:
            names[medium].append(name)
    kind: Medium = max(names, key=lambda each: len(names[each]))
    found = sorted(names[kind])
    minor: Medium = "sound" if kind == "image" else "image"
    if not found:
        raise FileFormatError(_format_no_media(folder, others))
    notes = []
    if names[minor]:
        notes.append(f"{len(names[minor])} {WORD[minor]} are left out: {format_some(sorted(names[minor]))}.")
    if others:
        notes.append(f"{len(others)} file(s) of other kinds are left out: {format_some(sorted(others))}.")
    if away:
        notes.append(
            f"{len(away)} link(s) out of the folder or names that are not UTF-8 are left out: "
            f"{format_some(away)}."
        )
    made, kept = compute_features(folder, kind, found, features, progress)
    notes += [*made.notes, *find_unreadable(found, made)]
    found = [found[row] for row in kept]
    check_enough(len(found), str(folder))
    truths = _find_sub_folders(found)
    if truths is not None:
        notes.append(f"the names of the {len(set(truths))} sub-folders are used as the true classes.")

    def iterate_items() -> Iterator[Item]:
        for row, name in enumerate(found):
            # The title omits the folder, which may be the true class.
            title = PurePosixPath(name).name
            known = None if truths is None else truths[row]
            yield Item(row, name, kind, shorten(title), media=name, truth=known)

    described = Described(
        kind, len(found), has_truth=truths is not None, features=made.description, notes=tuple(notes)
    )
    return SourceData(made.X, Reiterable(iterate_items), described)


def _detect_medium(path: Path) -> Medium | None:
    """Return the medium of a file from its extension or, without one, from its first bytes."""
    if path.suffix:
        return ENDS.get(path.suffix.lower())
    try:
        with path.open("rb") as file:
            kind = detect_content_type(file.read(FIRST))
    except OSError:
        return None
    return None if kind is None else "image" if kind.startswith("image/") else "sound"


def _format_no_media(folder: Path, others: list[str]) -> str:
    ends = ", ".join(sorted(end[1:] for end in ENDS))
    tables = [name for name in others if name.lower().endswith((".csv", ".tsv", ".xlsx", ".parquet", ".pq"))]
    if tables:
        return f"{folder} has no pictures or sounds. If a table lists them, give that: {folder / tables[0]}."
    has = f"It has {format_some(sorted(others))}" if others else "It is empty"
    return f"{folder} has no pictures or sounds. {has}; expected files that end with one of {ends}."


def _find_sub_folders(names: list[str]) -> list[str] | None:
    """Return the folder of each file, if all files are one level deep in at least two folders."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(len(each) != 2 for each in parts) or len({each[0] for each in parts}) < 2:
        return None
    return [each[0] for each in parts]
