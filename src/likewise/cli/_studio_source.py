"""What a project of the studio is made of, and the steps that folders and tables share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from likewise.exceptions import FileFormatError
from likewise.features import Features, array_features, image_features, sound_features
from likewise.features._features import Step, format_some
from likewise.studio.records import Described, Item

Medium = Literal["image", "sound"]
WORD = {"image": "pictures", "sound": "sounds"}
_TITLE = 80  # letters


@dataclass(frozen=True, eq=False)
class SourceData:
    """What a project is made of.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features)
        The features.
    items : iterable of Item
        In the order of the rows; made anew each time that one goes through them.
    described : Described
        What the items are, as a whole; its notes are those to print.
    """

    X: np.ndarray
    items: Iterable[Item]
    described: Described

    @property
    def notes(self) -> tuple[str, ...]:
        """What ought to be said."""
        return self.described.notes


class Reiterable:
    """Things that are made each time that one goes through them, so that there need not be a list."""

    def __init__(self, make: Callable[[], Iterator[Item]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Item]:
        return self._make()


def compute_features(
    root: Path, kind: Medium, names: list[str], features: str | None, progress: Step | None
) -> tuple[Features, list[int]]:
    """Return features, and which of the files they are of."""
    if features is not None:  # files need not be read; a broken one is shown as such
        return array_features(features, n_rows=len(names), of=WORD[kind]), list(range(len(names)))
    make: Callable[..., Features] = image_features if kind == "image" else sound_features
    try:
        made = make([root / name for name in names], progress=progress)
    except FileFormatError as error:
        raise FileFormatError(f"{root}: {error} The first file is {names[0]}.") from error
    return made, [row for row in range(len(names)) if row not in made.failed]


def find_unreadable(names: list[str], made: Features) -> list[str]:
    if not made.failed:
        return []
    failures = [f"{names[row]} ({why.rstrip('.')})" for row, why in made.failed.items()]
    return [f"{len(failures)} file(s) cannot be read and are left out: {format_some(failures)}."]


def check_enough(n: int, where: str) -> None:
    if n < 2:
        raise FileFormatError(f"{where} has {n} item(s) to look at; wanted two or more.")


def shorten(text: str) -> str:
    """Return a title: one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
