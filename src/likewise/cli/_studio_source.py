"""The data of a studio project, and the steps of reading it that folders and tables share."""

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
_TITLE = 80  # maximum number of characters


@dataclass(frozen=True, eq=False)
class SourceData:
    """The features and items of a new project.

    Attributes
    ----------
    X : ndarray of shape (n_items, n_features)
        The features.
    items : iterable of Item
        The items in the order of the rows, created again on each iteration.
    described : Described
        The description of all items, with notes for the user.
    """

    X: np.ndarray
    items: Iterable[Item]
    described: Described

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        return self.described.notes


class Reiterable:
    """An iterable that creates its items on each iteration instead of keeping a list."""

    def __init__(self, make: Callable[[], Iterator[Item]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Item]:
        return self._make()


def compute_features(
    root: Path, kind: Medium, names: list[str], features: str | None, progress: Step | None
) -> tuple[Features, list[int]]:
    """Return features, and the indices of the files that could be read."""
    if features is not None:  # files need not be read; the studio marks broken ones
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
        raise FileFormatError(f"{where}: expected at least two items; got {n}.")


def shorten(text: str) -> str:
    """Return the text as a title: one line, truncated."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
