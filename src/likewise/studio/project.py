"""A project of the studio: a folder beside the data with everything except the data.

::

    birds.likewise/
      project.json     the settings, and a fingerprint of the data
      features.npy     one row of numbers per item
      items.sqlite     what is shown of each item
      recipe.npz       how the features of more items are computed
      guideline/       pictures of the guideline
      studio.sqlite    answers and people (created by the store; absent if another database is used)
      secret           the secret of this project, readable by its owner only
      cache/           what can be recreated: thumbnails, the map
      backups/         copies of the answers, made before each migration
      lock             held by the server while it runs

When items are added, new files such as features-1f3c.npy and items-1f3c.sqlite take the place of the two
above; project.json names them. It is replaced last and at once, so a killed process leaves the project as it
was or as it will be.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, get_args
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from likewise._atomic_files import replace_file
from likewise._locks import describe_holder, find_holder, hold_lock
from likewise._optional import require
from likewise.exceptions import BadRequestError, FileFormatError, LikewiseError, LockedError
from likewise.studio.data_files import compute_fingerprint, describe_change
from likewise.studio.items import ItemFile, append_items, make_stamp, write_items
from likewise.studio.records import Addition, AskKind, Described, Item, ItemKind, Settings
from likewise.studio.wording import Wording

# Version 2 has items that were added later. A file says the lowest version that can read it.
FORMAT, VERSION, _WITHOUT_ADDED = "likewise project", 2, 1
SUFFIX, FILE = ".likewise", "project.json"
_MARKED = 256  # number of items, evenly spaced, from which `mark` is computed
_GROUPS = "groups.npz"
_FEATURES, _ITEMS, _SECRET, _LOCK = "features.npy", "items.sqlite", "secret", "lock"
_RECIPE, _ADDING, _WRITING = "recipe.npz", "adding", "writing"
_KEYS = 100  # of the last additions


def get_default_folder(source: Path) -> Path:
    """Return the default folder of the project for a data file or folder.

    >>> (get_default_folder(Path("/data/birds")).as_posix(),
    ...  get_default_folder(Path("/data/tickets.csv")).as_posix())
    ('/data/birds.likewise', '/data/tickets.likewise')
    """
    whole = source.absolute() if source.name else source.resolve()  # resolve "." and ".."
    return whole.with_name((whole.name if whole.is_dir() else whole.stem) + SUFFIX)


@dataclasses.dataclass(frozen=True, eq=False)
class Project:
    """An existing project; see :meth:`create` and :meth:`open`.

    Attributes
    ----------
    folder : Path
        The folder of the project.
    settings : Settings
        The settings.
    described : Described
        A description of its items.
    source : Path
        The file or folder of the data.
    database : str or None
        The URL of the database, with its password; None uses the one in the settings.
    wording : Wording
        What is asked, in the words of the owner.
    """

    folder: Path
    settings: Settings
    described: Described
    source: Path
    database: str | None = None
    _entry: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # of the data, as stored
    _added: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # if items were added
    _gone: list[str] = dataclasses.field(default_factory=list, repr=False)  # ids
    wording: Wording = dataclasses.field(default_factory=Wording)

    # ------------------------------------------------------------------ create and open

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        *,
        X: npt.ArrayLike,
        items: Iterable[Item],
        settings: Settings,
        described: Described,
        source: str | os.PathLike[str],
        database: str | None = None,
        options: Mapping[str, Any] | None = None,
        recipe: Mapping[str, Any] | None = None,
        wording: Wording | None = None,
    ) -> Project:
        """Create a project, completely or not at all: under a temporary name, renamed at the end.

        `options` record how the data were read; they are stored unchanged and are available on reopening.
        `recipe` is that of the features; without it, items can be added only with their features.
        """
        target, data = Path(folder).absolute(), Path(source).absolute()
        if target.exists() or target.is_symlink():
            raise LikewiseError(f"{target} already exists. Open it, or choose another name for the project.")
        rows = _check_features(X)
        try:
            part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        except OSError as error:
            raise LikewiseError(_make_creation_error(target, error)) from error
        try:
            entry = _make_source_entry(data, target) | ({"options": dict(options)} if options else {})
            root = data if data.is_dir() else data.parent
            content = _make_content(settings, described, entry, wording)
            _fill(part, rows, items, content, recipe, root)
            part.rename(target)
            _to_disk(target.parent)
        except (OSError, sqlite3.OperationalError) as error:
            raise LikewiseError(_make_creation_error(target, error)) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return cls.open(target, database=database)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, database: str | None = None) -> Project:
        """Open an existing project, or raise an error that describes the problem."""
        place = Path(folder).absolute()
        settings, described, entry, added, gone, wording = _read_project_file(place)
        data = Path(os.path.normpath(place / entry["path"]))
        project = cls(place, settings, described, data, database, entry, added, gone, wording)
        n = len(project.load_features())
        if not n == project.items.n == project.described.n_items:
            raise FileFormatError(
                f"{place} is inconsistent: {FILE} lists {project.described.n_items} items, "
                f"{_ITEMS} has {project.items.n} and {_FEATURES} {n} rows. Files of two projects may be "
                "mixed; restore a copy, or create the project again and import the answers."
            )
        return project

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Project.open, database=self.database), (self.folder,)

    # ------------------------------------------------------------------ contents

    def load_features(self) -> npt.NDArray[np.floating[Any]]:
        """Return the features, memory-mapped."""
        path = self.folder / self._added.get("features", _FEATURES)
        try:
            X: npt.NDArray[np.floating[Any]] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            why = f"cannot be read: {error}"
            if isinstance(error, FileNotFoundError):
                why = "is missing; the project cannot be opened without it"
            raise FileFormatError(f"{path} {why}. Restore a copy of the project.") from error
        return X

    @cached_property
    def items(self) -> ItemFile:
        """The items, by row and by id."""
        return ItemFile(self.folder / self._added.get("items", _ITEMS))

    @property
    def media_root(self) -> Path:
        """The folder of the media of the items; files outside of it are never opened."""
        return self.source if self.source.is_dir() else self.source.parent

    @property
    def cache(self) -> Path:
        """The folder for files that can be recreated."""
        return self._make_folder("cache")

    @property
    def backups(self) -> Path:
        """The folder for copies of the answers."""
        return self._make_folder("backups")

    @property
    def database_url(self) -> str:
        """The SQLAlchemy URL of the database of answers and people."""
        given = self.database or self.settings.database
        if given is not None:
            return given
        sqlalchemy = require("sqlalchemy", extra="studio")  # quotes special characters in the path
        url = sqlalchemy.URL.create("sqlite", database=str(self.folder / "studio.sqlite"))
        return str(url.render_as_string(hide_password=False))

    @property
    def options(self) -> dict[str, Any]:
        """How the data were read, as passed to :meth:`create`."""
        found = self._entry.get("options")
        return found if isinstance(found, dict) else {}

    def get_secret(self) -> bytes:
        """Return the secret of the project; if missing, create a new one, which logs everybody out."""
        path = self.folder / _SECRET
        try:
            found = path.read_bytes()
        except FileNotFoundError:
            found = b""
        if len(found) < 32:
            replace_file(path, _write_secret)
            return path.read_bytes()
        if os.name == "posix" and path.stat().st_mode & 0o077:
            path.chmod(0o600)  # a copy may have wider permissions
        return found

    # ------------------------------------------------------------------ changes and locking

    def with_settings(self, settings: Settings) -> Project:
        """Store other settings, and return the project with them."""
        self._replace_parts(settings=settings.to_json())
        return dataclasses.replace(self, settings=settings)

    def change_settings(
        self, change: Callable[[Settings, Wording], tuple[Settings, Wording]]
    ) -> tuple[Settings, Wording]:
        """Store what `change` returns for the settings and the wording in the file; return it.

        This object changes with the next :meth:`refresh`, as those of other processes do.
        """
        with self._lock_file():
            settings, wording = change(*_read_settings(self.folder, _read_json(self.folder)))
            self._write_parts(settings=settings.to_json(), wording=wording.to_json())
        return settings, wording

    def _replace_parts(self, **parts: Any) -> None:
        """Replace parts of project.json; the others stay as they are in the file."""
        with self._lock_file():
            self._write_parts(**parts)

    @contextmanager
    def _lock_file(self) -> Iterator[None]:
        """Let one process at a time read project.json and replace it, which takes milliseconds."""
        try:
            with hold_lock(self.folder / _WRITING):
                yield
        except LockedError as error:
            raise LikewiseError(f"{self.folder / FILE} is being changed. Try again.") from error

    def _write_parts(self, **parts: Any) -> None:
        content = _read_json(self.folder) | parts
        content["version"] = VERSION if content.get("added") else _WITHOUT_ADDED
        replace_file(self.folder / FILE, lambda part: _write_json(part, content))
        _to_disk(self.folder)

    @property
    def addition(self) -> Addition | None:
        """What the project had when items were added last; None if none were."""
        if not self._added:
            return None
        labels = None
        if self._added["groups"] is not None:
            path = self.folder / self._added["groups"]
            try:
                labels = np.load(path, allow_pickle=False)
            except (OSError, ValueError) as error:
                raise FileFormatError(
                    f"{path} cannot be read: {error}. Restore a copy of the project."
                ) from error
        return Addition(
            tuple(self._added["sizes"]), self._added["seq"], labels, tuple(self._added["changed"])
        )

    def has_addition(self, key: str) -> bool:
        """Return True if this is the key of one of the last additions."""
        return key in self._added.get("keys", ())

    @property
    def uploaded_rows(self) -> list[tuple[int, int]]:
        """The first row and the end of each part of the items that are not from the source."""
        return [(start, end) for start, end in self._added.get("uploaded", ())]

    def read_recipe(self) -> dict[str, Any]:
        """Return how the features of more items are computed."""
        from likewise.features import read_recipe

        if not (self.folder / _RECIPE).is_file():
            raise LikewiseError(
                f"{self.folder} has no {_RECIPE}, so it was created by an older likewise. To add items, "
                "export its answers, create it again, and import them."
            )
        return read_recipe(self.folder / _RECIPE)

    @contextmanager
    def lock_items(self) -> Iterator[None]:
        """Allow one process to add items at a time."""
        try:
            with hold_lock(self.folder / _ADDING):
                yield
        except LockedError as error:
            raise LikewiseError(
                f"items are being added to {self.folder} ({describe_holder(error.holder)}). Try again when "
                "that has ended."
            ) from error

    def add_items(
        self,
        X: npt.ArrayLike,
        items: Iterable[Item],
        *,
        changed: Mapping[int, npt.ArrayLike] | None = None,
        changed_items: Iterable[Item] = (),
        uploaded: bool = False,
        key: str | None = None,
        gone: Sequence[str] | None = None,
    ) -> Project:
        """Add items, or replace the content of some, completely or not at all; return the project with them.

        Hold :meth:`lock_items` meanwhile. Rows of older items stay. The groups of the last picture are kept
        with the addition: they stay until an answer moves them.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            The features of the new items.
        items : iterable of Item
            The new items, whose rows follow those of the others.
        changed : mapping of int to array-like, optional
            The features of older items whose content changed, by row.
        changed_items : iterable of Item
            These items.
        uploaded : bool, default=False
            Whether the items are not in the source.
        key : str, optional
            Identifies the addition; see :meth:`has_addition`.
        gone : sequence of str, optional
            The ids of all items that are gone from the source; by default as before.
        """
        now = Project.open(self.folder, database=self.database)  # another process may have added some
        old = now.load_features()
        moved: dict[int, Any] = dict(changed or {})
        new = np.asarray(X, dtype=old.dtype).reshape(-1, old.shape[1])
        rows = np.concatenate([old, _check_features(new) if len(new) else new])
        if moved:
            rows[list(moved)] = _check_features(np.stack([np.asarray(row) for row in moved.values()]))
        n, token = now.items.n, secrets.token_hex(4)
        names = {"features": f"features-{token}.npy", "items": f"items-{token}.sqlite", "groups": None}
        kept = now.get_kept_groups()
        try:
            np.save(self.folder / str(names["features"]), rows, allow_pickle=False)
            shutil.copyfile(now.items.path, self.folder / str(names["items"]))
            total = append_items(self.folder / str(names["items"]), items, n, changed_items, now.media_root)
            if total != len(rows):
                raise LikewiseError(f"there are {total - n} new items and {len(new)} rows of features.")
            if kept is not None:
                names["groups"] = f"groups-{token}.npy"
                np.save(self.folder / str(names["groups"]), kept[0], allow_pickle=False)
            for name in names.values():
                if name is not None:
                    _to_disk(self.folder / name)
            was = now._added
            if kept is not None and len(kept[0]) < n:  # there was no picture since the addition before
                moved |= dict.fromkeys(was.get("changed", ()))
            added = {
                **names,
                "sizes": [*was.get("sizes", ()), n],
                "seq": 0 if kept is None else kept[1],
                "changed": sorted(moved),
                "uploaded": [*was.get("uploaded", ()), *([[n, total]] if uploaded else ())],
                "mark": now.mark(),
                "keys": [*was.get("keys", ()), *([key] if key is not None else ())][-_KEYS:],
            }
            described = dataclasses.replace(now.described, n_items=total)
            entry = now._entry if uploaded else {**now._entry, "was": compute_fingerprint(now.source)}
            parts = {"added": added, "described": dataclasses.asdict(described), "source": entry}
            now._replace_parts(**parts, **({} if gone is None else {"gone": list(gone)}))
        except BaseException as error:
            for name in names.values():
                if name is not None:
                    (self.folder / name).unlink(missing_ok=True)
            if not isinstance(error, OSError | sqlite3.Error):
                raise
            raise LikewiseError(f"the items cannot be added to {self.folder}: {error}.") from error
        _remove_old_files(self.folder, {*names.values(), *now._list_files()})
        return Project.open(self.folder, database=self.database)

    def keep_comparison(self, gone: Sequence[str]) -> Project:
        """Store a fingerprint of the data and which items are gone from them, if there is nothing to add."""
        entry = {**self._entry, "was": compute_fingerprint(self.source)}
        self._replace_parts(source=entry, gone=list(gone))
        return Project.open(self.folder, database=self.database)

    @property
    def gone(self) -> tuple[str, ...]:
        """The ids of the items that were gone from the source when it was compared last."""
        return tuple(self._gone)

    def find_gone_rows(self) -> list[int]:
        """Return the rows of items that are gone from the source, or whose file is missing.

        If the items are whole files of a folder, only the files decide, since they may be back by now.
        """
        gone = self.items.get_items(self.items.get_rows(self._gone))
        is_folder = self.source.is_dir()
        rows = {item.row for item in gone if item.part or not is_folder}
        return sorted(rows.union(self.items.find_missing(self.media_root)))

    def _list_files(self) -> list[str]:
        """Return the files of features, items and groups, which an addition replaces."""
        named = [self._added.get(name) for name in ("features", "items", "groups")]
        return [name for name in named if name is not None] or [_FEATURES, _ITEMS]

    def refresh(self) -> bool:
        """Use items and settings that were stored by others; return True if items may have changed."""
        stamp = make_stamp(self.folder / FILE)
        if stamp == self.__dict__.get("_stamp"):
            return False
        now = Project.open(self.folder, database=self.database)
        object.__setattr__(self, "_stamp", stamp)
        object.__setattr__(self, "settings", now.settings)
        object.__setattr__(self, "wording", now.wording)
        if (now._added, now._gone, now._entry) == (self._added, self._gone, self._entry):
            return False
        items = self.items
        for name in ("described", "_entry", "_added", "_gone"):
            object.__setattr__(self, name, getattr(now, name))
        items.switch_to(now.items.path)
        return True

    def describe_changed_source(self) -> str | None:
        """Return a sentence that describes how the data have changed, or None if they have not."""
        return describe_change(self.source, self._entry.get("was", {}))

    def keep_groups(self, labels: npt.NDArray[Any], seq: int = 0) -> None:
        """Store the group of each item, so that groups keep their numbers; ignore a full disk.

        `seq` is the last event that they include.
        """
        part = self.cache / f".groups.{secrets.token_hex(4)}.npz"
        with suppress(OSError):
            np.savez(part, labels=labels, seq=seq)
            os.replace(part, self.cache / _GROUPS)

    def get_kept_groups(self) -> tuple[npt.NDArray[np.int32], int] | None:
        """Return the stored groups and the last event that they include, or None.

        If items were added since, the groups are those of the items before them.
        """
        try:
            with np.load(self.folder / "cache" / _GROUPS, allow_pickle=False) as found:
                labels, seq = found["labels"], int(found["seq"])
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None
        fits = labels.ndim == 1 and 0 < len(labels) <= self.described.n_items and labels.dtype == np.int32
        return (labels, seq) if fits and labels.min() >= 0 else None

    def mark(self) -> str:
        """Return a mark of the first items, derived from some of them, that differs between projects."""
        if "mark" in self._added:
            return str(self._added["mark"])
        n = self.items.n
        some = self.items.get_items(sorted({int(row) for row in np.linspace(0, n - 1, min(n, _MARKED))}))
        shown = [(item.id, item.title, item.text, item.cells, item.media, *item.part) for item in some]
        content = json.dumps([self.described.kind, n, shown], ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @contextmanager
    def lock(self, url: str) -> Iterator[None]:
        """Lock the project for one server; the error for a second server gives the URL of the first."""
        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.folder / _LOCK, url=url))
            except OSError as error:
                raise LikewiseError(
                    f"{self.folder / _LOCK} cannot be opened for writing: {error.strerror}. The studio "
                    "needs a writable folder."
                ) from error
            except LockedError as error:
                where = f" at {error.holder['url']}" if error.holder.get("url") else ""
                raise LikewiseError(
                    f"{self.folder} is open in another studio{where} ({describe_holder(error.holder)}). Use "
                    "that one, or stop it first: two studios would ask the same questions twice."
                ) from error
            yield

    def find_running(self) -> str | None:
        """Return the URL of the server that runs this project, "" if it is unknown, None if none runs."""
        holder = find_holder(self.folder / _LOCK)
        return None if holder is None else str(holder.get("url", ""))

    def _make_folder(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(mode=0o700, exist_ok=True)
        return path


# ---------------------------------------------------------------------- project.json


def _make_content(
    settings: Settings, described: Described, source: Mapping[str, Any], wording: Wording | None
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": _WITHOUT_ADDED,
        "settings": settings.to_json(),
        "source": source,
        "described": dataclasses.asdict(described),
        **({"wording": wording.to_json()} if wording is not None else {}),
    }


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_settings(place: Path, content: Mapping[str, Any]) -> tuple[Settings, Wording]:
    path = place / FILE
    try:
        wording = Wording.from_json(content.get("wording", {}))
    except BadRequestError as error:
        raise FileFormatError(f"{path}: the wording cannot be read: {error}") from error
    try:
        settings = Settings(**content["settings"])
    except TypeError as error:
        raise FileFormatError(f"{path}: the settings cannot be read: {error}.") from error
    if isinstance(settings.n_clusters, list):  # JSON has no tuples
        low_high = settings.n_clusters
        if [type(bound) for bound in low_high] != [int, int] or not 2 <= low_high[0] < low_high[1]:
            raise FileFormatError(
                f"{path}: a range 'n_clusters' must be two integers of at least 2, the smaller one first; "
                f"got {low_high!r}."
            )
        settings = dataclasses.replace(settings, n_clusters=tuple(low_high))
    for name, may_lack in {"n_clusters": True, "overlap": False, "seed": False, "budget": True}.items():
        value = getattr(settings, name)
        if name == "n_clusters" and isinstance(value, tuple):
            continue
        if type(value) is not int and not (may_lack and value is None):
            raise FileFormatError(f"{path}: {name!r} must be an integer; got {value!r}.")
    if settings.ask not in get_args(AskKind):
        raise FileFormatError(
            f"{path}: 'ask' must be one of {', '.join(get_args(AskKind))}; got {settings.ask!r}."
        )
    if settings.independent not in (None, True, False):
        raise FileFormatError(f"{path}: 'independent' must be true or false; got {settings.independent!r}.")
    return settings, wording


def _read_project_file(
    place: Path,
) -> tuple[Settings, Described, dict[str, Any], dict[str, Any], list[str], Wording]:
    """Return settings, description of the items, entries for data, additions and gone items, and wording."""
    path = place / FILE
    content = _read_json(place)
    parts: dict[str, Any] = {name: content.get(name) for name in ("source", "settings", "described")}
    for name, part in parts.items():
        if not isinstance(part, dict):
            raise FileFormatError(f"{path}: {name!r} must be an object; got {part!r}.")
        if name == "source" and not (isinstance(part.get("path"), str) and isinstance(part.get("was"), dict)):
            raise FileFormatError(f"{path}: 'source' must have a path and a fingerprint; got {part!r}.")
    settings, wording = _read_settings(place, content)
    part = parts["described"]
    lists = {name: tuple(part.get(name, ())) for name in ("columns", "notes")}  # JSON has lists only
    try:
        described = Described(**part | lists)
    except TypeError as error:
        raise FileFormatError(f"{path}: the description cannot be read: {error}.") from error
    if described.kind not in get_args(ItemKind):
        raise FileFormatError(f"{path}: unknown kind of item {described.kind!r}.")
    added = content.get("added", {})
    try:
        for name in (added["features"], added["items"], added["groups"] or "-") if added else ():
            if Path(name).name != name:
                raise ValueError(f"{name!r} is not in the folder of the project")
        if added and not (added["sizes"] and isinstance(added["seq"], int) and "changed" in added):
            raise ValueError("it is incomplete")
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: 'added' cannot be read: {error}.") from error
    gone = content.get("gone", [])
    if not isinstance(gone, list) or not all(isinstance(id, str) for id in gone):
        raise FileFormatError(f"{path}: 'gone' must be a list of ids; got {gone!r}.")
    return settings, described, parts["source"], added, gone, wording


def _read_json(place: Path) -> dict[str, Any]:
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


# ---------------------------------------------------------------------- creation


def _check_features(X: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub" or 0 in rows.shape:
        raise LikewiseError(
            f"the features have shape {rows.shape} and type {rows.dtype}; expected numbers of shape "
            "(items, features)."
        )
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise LikewiseError(
            f"feature {column} of row {row} (counted from 0) is {rows[row, column]}; expected finite numbers."
        )
    return np.ascontiguousarray(rows)


def _fill(
    part: Path,
    X: npt.NDArray[np.floating[Any]],
    items: Iterable[Item],
    content: Mapping[str, Any],
    recipe: Mapping[str, Any] | None,
    root: Path,
) -> None:
    np.save(part / _FEATURES, X, allow_pickle=False)
    if recipe:
        from likewise.features import write_recipe

        write_recipe(part / _RECIPE, recipe)
        _to_disk(part / _RECIPE)
    n = write_items(part / _ITEMS, items, root)
    n_described = content["described"]["n_items"]
    if not n == len(X) == n_described:
        raise LikewiseError(
            f"there are {n} items, {len(X)} rows of features and {n_described} items described; these "
            "numbers must be equal."
        )
    _write_json(part / FILE, content)
    _write_secret(part / _SECRET)
    for name in ("cache", "backups"):
        (part / name).mkdir(mode=0o700)
    for name in (_FEATURES, _ITEMS, FILE, _SECRET):
        _to_disk(part / name)
    _to_disk(part)


def _remove_old_files(folder: Path, keep: set[str | None]) -> None:
    """Remove files of earlier additions, and those that a killed process left behind.

    The files of the addition before stay, because a running studio may still open them.
    """
    for pattern in ("features*.npy", "items*.sqlite", "groups*.npy"):
        for path in folder.glob(pattern):
            if path.name not in keep:
                with suppress(OSError):
                    path.unlink()


def _write_secret(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_hex(32).encode("ascii"))


def _to_disk(path: Path) -> None:
    """Wait until a file or folder is on disk, if the system supports it."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_creation_error(target: Path, error: Exception) -> str:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if target.exists():
        return f"{target} was created by another process meanwhile. Open it, or choose another name."
    return (
        f"the project {target} cannot be created: {why}. Nothing was left behind; free some space, or choose "
        "a place that you may write to."
    )


def _make_source_entry(data: Path, target: Path) -> dict[str, Any]:
    """Return the path of the data relative to the project, so that both can be moved together."""
    try:
        was = compute_fingerprint(data)
    except OSError as error:
        raise LikewiseError(f"{data} cannot be read: {error.strerror}.") from error
    try:
        named = data.relative_to(target.parent).as_posix()
    except ValueError:
        return {"path": str(data), "was": was}
    return {"path": f"../{named}", "was": was}
