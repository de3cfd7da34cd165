"""Items that the owner adds in the page: files are first uploaded one by one, then added together."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._words import format_count, format_some, truncate
from likewise.exceptions import BadRequestError, FileFormatError, NotFoundError
from likewise.studio.additions import check_additions_allowed
from likewise.studio.data_files import FIRST, MEDIA_ENDINGS, detect_content_type
from likewise.studio.items import find_id_problem
from likewise.studio.project import Project
from likewise.studio.records import Item, Picture
from likewise.studio.service._group_pages import get_color
from likewise.studio.service._hub import Hub
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers
from likewise.studio.service._views import AddedView, AdditionView, GroupLabelView, PlacedItemView, UploadView

MOST_FILES, MOST_BYTES = 2_000, 2 * 1024**3  # that wait for being added
_FORGOTTEN = 24 * 3600.0  # seconds after which a file that was never added is removed
_SHOWN = 60
_TITLE = 80
_FORBIDDEN = frozenset('/\\:*?"<>|')
# Names that stand for devices in Windows, with any ending: the folder of the data may be opened there.
_DEVICES = frozenset({"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}) | {
    f"{port}{number}" for port in ("COM", "LPT") for number in "0123456789¹²³"
}
_WORDS = {"image": "pictures", "sound": "sounds", "text": "texts", "row": "rows of a table"}


@dataclass(frozen=True)
class NewItem:
    """An item without a file: its text, the cells of its columns, or its features."""

    id: str | None = None
    text: str | None = None
    cells: Mapping[str, str | float | None] | None = None
    features: Sequence[float] | None = None


class ItemUploads:
    """Receives files and rows, and adds them to the project.

    Parameters
    ----------
    project : Project
        The project.
    hub : Hub
        The latest derived state.
    asking : QuestionsAndAnswers
        Shows items.
    use_new_items : callable
        Called after an addition.
    """

    def __init__(
        self, project: Project, hub: Hub, asking: QuestionsAndAnswers, use_new_items: Callable[[], None]
    ) -> None:
        self._project = project
        self._hub = hub
        self._asking = asking
        self._use_new_items = use_new_items

    @property
    def _folder(self) -> Path:
        path = self._project.folder / "uploads"
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    # ------------------------------------------------------------------ receiving files

    def receive_file(self, name: str, content: bytes) -> UploadView:
        """Keep a file until it is added; it must be of the kind of the project's items."""
        check_additions_allowed(self._project)
        kind = self._project.described.kind
        if kind not in ("image", "sound"):
            raise BadRequestError(
                f"The items of this project are {_WORDS[kind]}, not files.", "Send them as items instead."
            )
        self._check_whole_files(self._project)
        _check_name(name, kind)
        found = detect_content_type(content[:FIRST]) or ""
        if not found.startswith("image/" if kind == "image" else "audio/"):
            raise BadRequestError(
                f"{name} is not one of the {_WORDS[kind]} that the studio can show.",
                "Use PNG, JPEG, GIF, WebP or BMP." if kind == "image" else "Use WAV, FLAC, Ogg or MP3.",
            )
        waiting = self._list_waiting()
        if len(waiting) >= MOST_FILES or sum(size for _, size in waiting) + len(content) > MOST_BYTES:
            raise BadRequestError(
                f"{format_count(len(waiting), 'file')} wait for being added.", "Add these first, then go on."
            )
        upload = secrets.token_hex(16)
        part = self._folder / f".{upload}.part"
        try:
            part.write_bytes(content)
            os.replace(part, self._folder / f"{upload}-{name}")
        finally:
            part.unlink(missing_ok=True)
        return {"upload": upload, "name": name}

    @staticmethod
    def _check_whole_files(project: Project) -> None:
        """Raise an error if the items are windows or regions: an upload does not say which parts it has."""
        if project.items.get(0).part:
            raise BadRequestError(
                "The items of this project are parts of files.",
                "Put the files into the folder, and run likewise studio with --add.",
            )

    def _list_waiting(self) -> list[tuple[Path, int]]:
        """Return the files that wait and their sizes; those of yesterday are removed."""
        found = []
        for path in self._folder.iterdir():
            with suppress(OSError):
                about = path.stat()
                if time.time() - about.st_mtime > _FORGOTTEN:
                    path.unlink()
                else:
                    found.append((path, about.st_size))
        return found

    # ------------------------------------------------------------------ adding

    def add(self, key: str, items: Sequence[NewItem], uploads: Sequence[str]) -> AddedView:
        """Add items and uploaded files to the project, all at once; the same key counts once."""
        check_additions_allowed(self._project)
        if not items and not uploads:
            raise BadRequestError("There is nothing to add.")
        failed: list[str] = []
        with self._project.lock_items():
            project = Project.open(self._project.folder, database=self._project.database)
            if project.has_addition(key):
                return {"new": False, "n": 0, "n_items": project.items.n, "message": "It was added before."}
            if items:
                if uploads:
                    raise BadRequestError("Send either items or files, not both at once.")
                added = self._add_items(project, key, items)
            else:
                added, failed = self._add_files(project, key, uploads)
        self._use_new_items()
        message = f"{format_count(len(added), 'item')} added."
        if failed:
            message += f" {format_count(len(failed), 'file')} could not be read: {format_some(failed)}."
        return {"new": True, "n": len(added), "n_items": self._project.items.n, "message": message}

    def _add_items(self, project: Project, key: str, given: Sequence[NewItem]) -> list[str]:
        kind, columns = project.described.kind, project.described.columns
        if kind in ("image", "sound"):
            raise BadRequestError(f"The items of this project are {_WORDS[kind]}.", "Upload the files first.")
        n, known = project.items.n, set(project.items.get_ids())
        taken = known.union(new.id for new in given if new.id is not None)
        free = (id for number in count(1) if (id := f"upload-{number}") not in taken)
        items = []
        for at, new in enumerate(given):
            id = new.id if new.id is not None else next(free)
            if problem := find_id_problem(id):
                raise BadRequestError(f"The id of item {at + 1} {problem}.")
            if id in known:
                raise BadRequestError(f"There is an item with the id {id[:80]!r} already.", "Use another id.")
            if kind == "text" and not (new.text or "").strip():
                raise BadRequestError(f"Item {at + 1} has no text.")
            known.add(id)
            cells = new.cells or {}
            shown = tuple((name, _format_cell(cells.get(name))) for name in columns)
            title = truncate(" ".join((new.text or id).split()), _TITLE)
            items.append(Item(n + at, id, kind, title, new.text if kind == "text" else None, shown))
        project.add_items(_compute_features(project, given), items, uploaded=True, key=key)
        return [item.id for item in items]

    def _add_files(self, project: Project, key: str, uploads: Sequence[str]) -> tuple[list[str], list[str]]:
        from likewise.features import repeat_features

        self._check_whole_files(project)
        kind, is_folder = project.described.kind, project.source.is_dir()
        waiting = {path.name[:32]: path for path, _ in self._list_waiting()}
        for upload in uploads:
            if upload not in waiting:
                raise NotFoundError("A file was not uploaded, or was added already.", "Upload it again.")
        staged = [waiting[upload] for upload in uploads]
        recipe = project.read_recipe()
        if recipe.get("kind") == "array":
            raise BadRequestError(
                "The features of this project come from a file, so those of new items are unknown.",
                "Add them to the data, and run the studio with --add.",
            )
        try:
            made = repeat_features(recipe, staged)
        except FileFormatError as error:
            for path in staged:
                path.unlink(missing_ok=True)
            raise BadRequestError("None of the files can be read.", str(error)) from error
        names = [path.name[33:] for path in staged]
        readable = [at for at in range(len(staged)) if at not in made.failed]
        taken, placed = set(project.items.get_ids()), list[Path]()
        items: list[Item] = []
        try:
            for at in readable:
                name = _place_file(staged[at], project.media_root, names[at], taken)
                placed.append(project.media_root / name)
                taken.add(name)
                title = truncate(name, _TITLE)
                items.append(Item(project.items.n + len(items), name, kind, title, media=name))
            project.add_items(made.X, items, uploaded=not is_folder, key=key)
        except BaseException:
            for path in placed:
                path.unlink(missing_ok=True)
            raise
        for path in staged:
            path.unlink(missing_ok=True)
        return [item.id for item in items], [names[at] for at in made.failed]

    # ------------------------------------------------------------------ views

    def show(self) -> AdditionView:
        """Return how many items joined last, which of them fit nowhere, and which items are gone."""
        addition, picture = self._project.addition, self._hub.picture
        n = self._project.items.n
        n_old = n if addition is None else addition.sizes[-1]
        is_fitted = picture is not None and len(picture.labels) == n
        unplaced = picture.unplaced if is_fitted and picture is not None else ()
        gone = picture.gone if picture is not None else ()
        return {
            "n_items": n,
            "n_new": n - n_old,
            "placed": self._show_placed(picture, n_old) if is_fitted and picture is not None else [],
            "n_unplaced": len(unplaced),
            "unplaced": self._asking.make_item_views(unplaced[:_SHOWN]),
            "n_gone": len(gone),
            "gone": self._asking.make_item_views(gone[:_SHOWN]),
            "fitting": addition is not None and not is_fitted,
        }

    def _show_placed(self, picture: Picture, n_old: int) -> list[PlacedItemView]:
        """Return new items with their groups, the most uncertain first, without those that fit nowhere."""
        labels, names = picture.shown_labels, self._asking.get_group_names()
        rows = np.setdiff1d(np.flatnonzero(labels[n_old:] >= 0) + n_old, picture.unplaced)
        rows = rows[np.argsort(-picture.doubt[rows], kind="stable")][:_SHOWN]
        found: list[PlacedItemView] = []
        for item in self._asking.make_item_views(rows.tolist()):
            number = int(labels[item["row"]])
            group: GroupLabelView = {"number": number, "name": names.get(number), "color": get_color(number)}
            found.append({"item": item, "group": group, "doubt": float(picture.doubt[item["row"]])})
        return found


def _check_name(name: str, kind: str) -> None:
    """Raise an error unless a name is that of a plain file of this kind, on every system."""
    odd = not name.isprintable() or name.startswith((".", " ")) or name.endswith((".", " "))
    odd = odd or name.partition(".")[0].rstrip().upper() in _DEVICES
    if odd or _FORBIDDEN & set(name) or find_id_problem(name) or len(name.encode()) > 200:
        raise BadRequestError(
            f"{name[:80]!r} cannot be the name of a file.",
            "Use letters, digits, blanks, dots and hyphens; at most 200 bytes, without a path, and not the "
            "name of a device such as CON.",
        )
    if MEDIA_ENDINGS.get(Path(name).suffix.lower()) != kind:
        endings = ", ".join(end for end, medium in MEDIA_ENDINGS.items() if medium == kind)
        raise BadRequestError(f"The name of {name[:80]!r} must end in one of {endings}.")


def _place_file(source: Path, folder: Path, name: str, taken: set[str]) -> str:
    """Copy a file into the folder of the data under its name, or a similar one that is free; return it."""
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        shutil.copyfile(source, part)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        stem, end = os.path.splitext(name)
        for number in range(1, 10_000):
            wanted = name if number == 1 else f"{stem}-{number}{end}"
            if wanted in taken:
                continue
            with suppress(FileExistsError):
                os.link(part, folder / wanted)  # unlike a renaming, never replaces a file
                return wanted
        raise BadRequestError(f"There are too many files with the name {name}.")
    except OSError as error:
        raise BadRequestError(f"{name} cannot be stored: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _format_cell(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.12g}"


def _compute_features(project: Project, given: Sequence[NewItem]) -> npt.NDArray[Any]:
    from likewise.features import repeat_features

    recipe = project.read_recipe()
    if recipe.get("kind") == "array":
        width = recipe["columns"]
        for at, new in enumerate(given):
            if new.features is None or len(new.features) != width:
                raise BadRequestError(f"Item {at + 1} needs {width} features, as the items so far have.")
        scaled: npt.NDArray[Any] = np.array([new.features for new in given]) / recipe["scale"]
        return scaled
    if any(new.features is not None for new in given):
        raise BadRequestError("The features of this project are computed; leave them out.")
    try:
        if recipe.get("kind") == "text":
            return repeat_features(recipe, [new.text for new in given]).X
        names = {name for new in given for name in new.cells or {}}
        cells = {name: [(new.cells or {}).get(name) for new in given] for name in names}
        return repeat_features(recipe, cells).X
    except FileFormatError as error:
        raise BadRequestError(str(error)) from error
