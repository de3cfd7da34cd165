"""Read texts, pictures, sounds and embeddings as features and items, for the studio and the other commands.

The data are a folder of pictures or sounds, or a table with a column of texts or of file names, or a table
beside a file of embeddings. A folder counts as a table with the columns file and, if it has sub-folders,
folder.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import click
import numpy as np
import numpy.typing as npt

from likewise._words import format_count, format_some, truncate
from likewise.cli._options import FEATURE_METHODS
from likewise.cli._row_text import make_cell_formatter
from likewise.exceptions import FileFormatError
from likewise.features import (
    Features,
    FilePart,
    Step,
    array_features,
    find_scale,
    image_features,
    measure_picture,
    measure_seconds,
    one_scale,
    repeat_features,
    sound_features,
    table_features,
    text_features,
)
from likewise.studio.data_files import FIRST, MEDIA_ENDINGS, detect_content_type, iterate_files
from likewise.studio.items import find_id_problem
from likewise.studio.records import Described, Item, ItemKind
from likewise.tables import (
    Column,
    DataTable,
    KeptIds,
    RawTable,
    RowIds,
    check_roles,
    get_ids,
    parse_number,
    read_columns,
    read_parquet,
)

Medium = Literal["image", "sound"]
WORD = {"text": "texts", "image": "pictures", "sound": "sounds"}
_SINGULAR = {"image": "picture", "sound": "sound"}
CACHE = (".likewise", "features")  # the folder of computed features
_STDIN = "-"
_TITLE = 80  # maximum number of characters
MOST_PARTS = 100_000  # windows of sounds, or regions of pictures
LEAST_SIDE = 4  # pixels of a region
_MOST_WRONG = 10  # lines of a table of regions in an error


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The roles of the columns, and how features are computed."""

    text: Sequence[str] = ()  # columns of text, which are concatenated
    image: str | None = None  # column of the paths of pictures
    audio: str | None = None  # column of the paths of sounds
    id_column: str | None = None
    truth: str | None = None  # column of true classes
    truth_option: str = "--truth"
    bag: str | None = None  # column of bags
    features: str | None = None  # file with one row of numbers for each row of the data
    features_option: str = "--features"
    drop: Sequence[str] = ()
    no_header: bool = False
    encoding: str = "utf-8"
    method: str = "auto"  # of text, image or sound features
    seed: int = 0
    window: float | None = None  # seconds: each sound of a folder is cut into items of this length
    regions: str | None = None  # table of regions of the pictures of a folder, which are the items
    leave_out_blank: bool = False  # whether rows without text are left out also if there are embeddings
    classes_of_folders: bool = True  # whether the sub-folders of a folder are its true classes by default
    recipe: Mapping[str, Any] | None = None  # computes features as those of earlier items
    only: Sequence[int] | None = None  # the rows to read: of a table, or of the sorted files of a folder

    def take(self, made: Features) -> Features:
        """Return the features of the rows to read, scaled as those of earlier items."""
        if self.only is None or self.recipe is None:
            return made
        X = made.X[list(self.only)]
        if X.shape[1] != self.recipe.get("columns"):
            raise FileFormatError(
                f"{self.features} has {X.shape[1]} numbers per row; the items so far have "
                f"{self.recipe.get('columns')}."
            )
        scale = made.recipe["scale"] / self.recipe["scale"]
        return Features(X * X.dtype.type(scale), made.description, made.notes, recipe=self.recipe)

    def list_media_columns(self) -> list[tuple[str, str]]:
        """Return the columns that are compared, each after its option."""
        single = (("--image", self.image), ("--audio", self.audio))
        named = [("--text", name) for name in self.text or ()]
        return named + [(option, name) for option, name in single if name is not None]

    def list_kept_columns(self) -> list[tuple[str, str | None]]:
        """Return the columns of classes and bags, each after its option."""
        return [(self.truth_option, self.truth), ("--bag-column", self.bag)]

    def check_method(self, kind: ItemKind) -> None:
        """Raise an error if features of this kind of items cannot be computed by the method."""
        if self.method == "auto":
            return
        if self.features is not None:
            raise click.UsageError(
                f"--features-from computes features, and {self.features_option} reads them; give one of them."
            )
        fitting = FEATURE_METHODS.get(kind, ())
        if self.method in fitting:
            return
        of = next(WORD[each] for each, names in FEATURE_METHODS.items() if self.method in names)
        tip = f"For {WORD[kind]}, expected auto, {', '.join(fitting)}." if fitting else ""
        data = WORD.get(kind, "a table of numbers; give --text, --image, --audio or a folder")
        raise click.BadParameter(
            f"{self.method} computes features of {of}, but the data are {data}. {tip}".rstrip(),
            param_hint="'--features-from'",
        )


@dataclass(frozen=True, eq=False)
class SourceData:
    """The features and items of a folder or a table."""

    X: np.ndarray
    items: Iterable[Item]  # in the order of the rows, created again on each iteration
    described: Described  # the description of all items, with notes for the user of the studio
    raw: RawTable = field(default_factory=lambda: RawTable("", (), (), None))
    rows: Sequence[int] = ()  # the row of the table of each item
    left_out: Mapping[int, str] = field(default_factory=dict)  # the other rows, and why they are left out
    left_out_notes: tuple[str, ...] = ()
    options: SourceOptions = field(default_factory=SourceOptions)
    shown: Sequence[str | None] | None = None  # the text or file of each row of the table
    is_folder: bool = False
    recipe: Mapping[str, Any] = field(default_factory=dict)  # of the features

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user of the studio."""
        return self.described.notes

    def make_table(self) -> DataTable:
        """Return the features and the ids, classes and bags of their rows."""
        options, raw, rows = self.options, self.raw, self.rows
        id_column = "file" if self.is_folder else options.id_column
        names = get_ids(raw, id_column).ids
        ids = RowIds(tuple(names[row] for row in rows))
        if self.left_out:
            ids = KeptIds(ids.ids, {names[row]: why for row, why in self.left_out.items()})
        kept = {name: raw.get_texts(name) for _, name in options.list_kept_columns() if name is not None}
        taken = {id_column, options.bag, *(name for _, name in options.list_media_columns())}
        prefix = {"text": "text", "image": "picture", "sound": "sound"}.get(self.described.kind, "f")
        shown = None if self.shown is None else tuple(self.shown[row] or "" for row in rows)
        return DataTable(
            ids,
            np.asarray(self.X, dtype=np.float64),
            tuple(f"{prefix}{column}" for column in range(self.X.shape[1])),
            () if self.is_folder else tuple(name for name in raw.names if name not in taken),
            {name: tuple(cells[row] for row in rows) for name, cells in kept.items()},
            description=self.described.features,
            notes=self.left_out_notes,
            texts=shown if prefix == "text" else None,
            files=shown if prefix != "text" else None,
        )


class Reiterable:
    """An iterable that creates its items on each iteration instead of keeping a list."""

    def __init__(self, make: Callable[[], Iterator[Item]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Item]:
        return self._make()


def read_source(path: str | os.PathLike[str], progress: Step | None = None, **options: Any) -> SourceData:
    """Read a folder of pictures or sounds, or a table with texts, files or embeddings.

    `options` are those of :class:`SourceOptions`. `progress` is called with the number of texts or files done
    and the number of all. The features of each text or file are kept in the folder of
    :func:`get_cache_folder`.
    """
    place, given = Path(path), SourceOptions(**options)
    for option, value in (("--window", given.window), ("--regions", given.regions)):
        if value is not None and not place.is_dir():
            needs = f"{option} needs a folder of {'sounds' if option == '--window' else 'pictures'}"
            raise click.UsageError(f"{needs}; got {place}.")
    if given.features is not None:
        check_embeddings_name(given.features, given.features_option)
    named = given.list_media_columns()
    if place.is_dir():
        refused = [*named, ("--id", given.id_column), ("--drop", ", ".join(given.drop) or None)]
        for option, name in refused:
            if name is not None:
                raise click.UsageError(f"{option} refers to a column of a table, but {place} is a folder.")
        return _read_folder(place, given, progress)
    if len({option for option, _ in named}) > 1:
        raise click.UsageError("--text, --image and --audio exclude one another; give only one of them.")
    if str(path) != _STDIN:
        _check_is_table(os.fspath(path))
    raw = read_columns(str(path), header=not given.no_header, encoding=given.encoding)
    roles = [("--id", given.id_column), *given.list_kept_columns(), *named]
    check_roles([*roles, *(("--drop", name) for name in given.drop)], raw.names, raw.path)
    if given.only is None:
        table = _ItemTable(raw, given)
    else:
        table = _ItemTable(_take_rows(raw, given.only), given, raw.n_rows)
    cache = None if str(path) == _STDIN else get_cache_folder(place)
    if given.text:
        return _read_texts(table, cache, progress)
    if named:
        if cache is None:
            raise click.UsageError(f"{named[0][0]} refers to files beside the table, so DATA must be a file.")
        return _read_media_column(table, "image" if given.image is not None else "sound", cache, progress)
    return _read_rows(table)


def _take_rows(raw: RawTable, rows: Sequence[int]) -> RawTable:
    columns = tuple(
        [column[row] for row in rows] if isinstance(column, list) else column[list(rows)]
        for column in raw.columns
    )
    lines = None if raw.lines is None else [raw.lines[row] for row in rows]
    return RawTable(raw.path, raw.names, columns, lines, raw.unnamed)


def list_source_items(path: Path, **options: Any) -> list[Item | None]:
    """Return the items of a folder or a table without their features; None for a row without content.

    The number of an item in the list is what `SourceOptions.only` refers to.
    """
    given = SourceOptions(**options)
    if path.is_dir():
        kind, found, _ = list_media(path)
        parts, _ = _list_parts(path, found, kind, given)
        return [
            Item(row, part.id, kind, _shorten(part.title), media=found[part.file], part=part.part)
            for row, part in enumerate(parts)
        ]
    table = _ItemTable(read_columns(str(path), header=True, encoding=given.encoding), given)
    nothing = Features(np.empty((table.raw.n_rows, 0)), "")
    if given.text:
        texts = table.join_texts()
        empty = {row: "" for row, text in enumerate(texts) if not text.strip() and given.features is None}
        data = table.make_data(nothing, "text", texts, empty)
    elif given.image is not None or given.audio is not None:
        files = table.list_files()
        empty = {row: "" for row, name in enumerate(files) if name is None}
        data = table.make_data(nothing, "image" if given.image is not None else "sound", files, empty)
    else:
        data = table.make_data(nothing, "row", None, {})
    listed: list[Item | None] = [None] * table.raw.n_rows
    for at, item in zip(data.rows, data.items, strict=True):
        listed[at] = item
    return listed


def _check_is_table(path: str) -> None:
    """Raise an error if there is no file, or one that is clearly no table."""
    place = Path(path)
    if not place.exists():
        if re.match("[a-z][a-z0-9+.-]+://", path, re.IGNORECASE):
            raise FileFormatError(
                f"{path} is a URL, and likewise downloads nothing. Save it, and give the file."
            )
        raise FileFormatError(f"there is no file or folder {place}.")
    if place.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        raise FileFormatError(f"expected a CSV, Excel or Parquet table, or a folder; {place} is JSON.")
    if place.suffix.lower() in MEDIA_ENDINGS:
        raise FileFormatError(f"{place} is a single file; give its folder: {place.parent}.")


def get_cache_folder(data: str | os.PathLike[str]) -> Path:
    """Return the folder of computed features, which all commands share: inside a folder, beside a file.

    It is hidden, so :func:`iterate_files` skips it when the items of a folder are read.
    """
    place = Path(os.path.abspath(data))
    return (place if place.is_dir() else place.parent).joinpath(*CACHE)


def _compute_features(
    root: Path,
    names: Sequence[str],
    kind: Medium,
    options: SourceOptions,
    cache: Path,
    progress: Step | None,
    parts: Sequence[tuple[float, ...]] | None = None,
) -> Features:
    """Return features of the files, or parts of them, that can be read; `failed` lists the others."""
    options.check_method(kind)
    make: Callable[..., Features] = image_features if kind == "image" else sound_features
    paths: list[Path | FilePart] = [root / name for name in names]
    if parts is not None:
        paths = [
            FilePart(str(root / name), part) if part else root / name
            for name, part in zip(names, parts, strict=True)
        ]
    try:
        if options.recipe is not None:
            return repeat_features(options.recipe, paths, cache=cache, progress=progress)
        return make(paths, method=options.method, cache=cache, progress=progress)
    except FileFormatError as error:
        raise FileFormatError(f"{root} ({format_some(names, most=1)}): {error}") from error


def _find_unreadable(names: Sequence[str], made: Features) -> list[str]:
    if not made.failed:
        return []
    failures = [f"{names[row]} ({why.rstrip('.')})" for row, why in made.failed.items()]
    return [_format_left_out(failures, "file", "cannot be read and")]


def _format_left_out(names: Sequence[str], noun: str, why: str = "") -> str:
    """Return a note on files that are left out.

    >>> _format_left_out(["a.txt"], "file"), _format_left_out(["a", "b"], "file", "cannot be read and")
    ('1 file is left out: a.txt.', '2 files cannot be read and are left out: a, b.')
    """
    start = f"{format_count(len(names), noun)} {why}".rstrip()
    return f"{start} {'is' if len(names) == 1 else 'are'} left out: {format_some(names)}."


def _check_enough(n: int, where: str) -> None:
    if n < 2:
        raise FileFormatError(f"{where}: expected at least two items; got {n}.")


def _shorten(text: str) -> str:
    """Return the text as a title: one line, truncated."""
    return truncate(" ".join(text.split()), _TITLE)


# ---------------------------------------------------------------------- embeddings


def check_embeddings_name(path: str, option: str) -> None:
    """Raise an error if the name of a file of embeddings has another ending than expected."""
    endings = (".npy",) if option == "--features" else (".npy", ".parquet", ".pq")
    if not path.lower().endswith(endings):
        raise click.BadParameter(
            f"expected a {' or '.join(endings[:2])} file with one row of numbers per item; got {path!r}.",
            param_hint=f"'{option}'",
        )


def read_embeddings(path: str, *, n_rows: int, of: str) -> Features:
    """Read one row of numbers for each of `n_rows` rows from a ``.npy`` or Parquet file.

    `of` says what has these rows, for the error if their number is wrong. A Parquet file has columns of
    numbers, or columns of lists of numbers.
    """
    if path.lower().endswith(".npy"):
        return array_features(path, n_rows=n_rows, of=of)
    if not os.path.isfile(path):
        raise FileFormatError(f"there is no file {path}.")
    table = read_parquet(Path(path).read_bytes(), path)
    blocks = [
        _read_numbers(column, f"{path}: the column {name!r}")
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    if not any(block.size for block in blocks):
        raise FileFormatError(f"{path} has no numbers.")
    if len(table) != n_rows:
        raise FileFormatError(
            f"{path} has {format_count(len(table), 'row')}, but there are {n_rows} {of}; expected one row "
            "for each, in the same order."
        )
    X = np.hstack(blocks)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0].tolist()
        raise FileFormatError(
            f"{path}, row {row}, number {column} (counted from 0) is {X[row, column]}; expected finite "
            "numbers."
        )
    recipe = {"kind": "array", "scale": find_scale(X), "columns": X.shape[1]}
    return Features(one_scale(X), f"{X.shape[1]} numbers per row from {path}", recipe=recipe)


def _read_numbers(column: Any, where: str) -> npt.NDArray[Any]:
    """Return a column of numbers, or of lists of numbers, as a matrix."""
    from pyarrow import compute, types

    kind = column.type
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    number = kind.value_type if is_list else kind
    if not (types.is_integer(number) or types.is_floating(number) or types.is_boolean(number)):
        raise FileFormatError(
            f"{where} has the type {kind}; expected only columns of numbers. Write a file without it."
        )
    n_rows, width = len(column), 1
    if is_list:
        lengths = compute.unique(compute.list_value_length(column)).to_pylist() or [0]
        if len(lengths) > 1 or lengths[0] is None:
            raise FileFormatError(f"{where} has lists of different lengths; expected the same in each row.")
        column, width = compute.list_flatten(column), lengths[0]
    dtype = np.float32 if number.bit_width <= 32 else np.float64
    return np.asarray(column.to_numpy(), dtype=dtype).reshape(n_rows, width)


# ---------------------------------------------------------------------- a folder


def list_media(folder: Path) -> tuple[Medium, list[str], list[str]]:
    """Return the kind of a folder, its sorted files of that kind, and notes on the others."""
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
        notes.append(_format_left_out(sorted(names[minor]), _SINGULAR[minor]))
    if others:
        notes.append(_format_left_out(sorted(others), "file", "of another kind"))
    if away:
        notes.append(
            _format_left_out(away, "file", "with a link out of the folder, or a name that is not UTF-8,")
        )
    return kind, found, notes


def _read_folder(folder: Path, options: SourceOptions, progress: Step | None) -> SourceData:
    kind, found, notes = list_media(folder)
    parents = [PurePosixPath(name).parent.as_posix() for name in found]
    columns = {"file": found}
    if set(parents) != {"."}:
        columns["folder"] = ["" if parent == "." else parent for parent in parents]
    raw = RawTable(str(folder), tuple(columns), tuple(columns.values()), None)
    for option, column in options.list_kept_columns():
        if column == "folder" and column not in columns:
            raise click.UsageError(f"{option} folder refers to sub-folders, and {folder} has none.")
    check_roles(options.list_kept_columns(), raw.names, raw.path)
    options.check_method(kind)
    listed, broken = _list_parts(folder, found, kind, options)
    notes += broken
    n_listed = len(listed)
    if options.only is not None:
        listed = [listed[at] for at in options.only]
    files, ids = [found[part.file] for part in listed], [part.id for part in listed]
    if options.features is not None:  # files need not be read; the studio marks broken ones
        made = options.take(read_embeddings(options.features, n_rows=n_listed, of=WORD[kind]))
    else:
        parts, cache = [part.part for part in listed], get_cache_folder(folder)
        made = _compute_features(folder, files, kind, options, cache, progress, parts)
    notes += [*made.notes, *_find_unreadable(ids, made)]
    left_out = {row: f"it cannot be read: {why.rstrip('.')}" for row, why in made.failed.items()}
    rows = [row for row in range(len(listed)) if row not in made.failed]
    if options.only is None:
        _check_enough(len(rows), str(folder))
    used, advice = [listed[row] for row in rows], []
    truths = None
    if options.truth is not None:
        truths = [raw.get_texts(options.truth)[part.file] for part in used]
    classes = _find_sub_folders([found[part.file] for part in used])
    if truths is None and options.classes_of_folders and classes is not None:
        truths = list(classes)
        advice.append(f"the names of the {len(set(classes))} sub-folders are used as the true classes.")

    def iterate_items() -> Iterator[Item]:
        for row, part in enumerate(used):
            known = None if truths is None else truths[row]
            name = found[part.file]
            yield Item(row, part.id, kind, _shorten(part.title), media=name, truth=known, part=part.part)

    described = Described(
        kind,
        len(used),
        has_truth=truths is not None,
        features=made.description,
        notes=(*notes, *advice),
    )
    items = Reiterable(iterate_items)
    return SourceData(
        made.X, items, described, raw, rows, left_out, tuple(notes), options, files, True, made.recipe
    )


@dataclass(frozen=True)
class _ListedPart:
    """An item of a folder: a file, or a part of it."""

    file: int  # position in the list of files
    id: str
    title: str
    part: tuple[float, ...] = ()


def _list_parts(
    folder: Path, names: list[str], kind: Medium, options: SourceOptions
) -> tuple[list[_ListedPart], list[str]]:
    """Return the items of the files, and notes on files that cannot be read."""
    for option, wanted, given in (
        ("--window", "sound", options.window),
        ("--regions", "image", options.regions),
    ):
        if given is not None and kind != wanted:
            raise click.UsageError(f"{option} is for {WORD[wanted]}, and {folder} has {WORD[kind]}.")
    if options.window is not None:
        return _list_windows(folder, names, options.window)
    if options.regions is not None:
        return _list_regions(folder, names, options.regions), []
    # The title omits the folder, which may be the true class.
    return [_ListedPart(at, name, PurePosixPath(name).name) for at, name in enumerate(names)], []


def _list_windows(folder: Path, names: list[str], seconds: float) -> tuple[list[_ListedPart], list[str]]:
    """Cut sounds into windows; a rest of less than half a window is left out."""
    listed: list[_ListedPart] = []
    failed: dict[str, str] = {}
    for at, name in enumerate(names):
        try:
            with open(folder / name, "rb") as file:
                length = measure_seconds(file)
        except (OSError, ValueError) as error:
            failed[name] = str(error)
            continue
        n = max(1, math.floor(length / seconds + 0.5))
        if len(listed) + n > MOST_PARTS:
            raise FileFormatError(
                f"{folder / name}: windows of {seconds:g} s would be more than {MOST_PARTS:,} items. Give "
                "--window a larger number, or split the folder."
            )
        title = PurePosixPath(name).name
        for window in range(n):
            start, stop = round(window * seconds, 3), round(min((window + 1) * seconds, length), 3)
            shown = f"{title}, {start:g} to {stop:g} s"
            listed.append(_ListedPart(at, f"{name}@{start:g}s", shown, (start, stop)))
    if not failed:
        return listed, []
    failures = [f"{name} ({why.rstrip('.')})" for name, why in failed.items()]
    return listed, [_format_left_out(failures, "file", "cannot be read and")]


def _list_regions(folder: Path, names: list[str], path: str) -> list[_ListedPart]:
    """Read a table of regions with the columns file, x, y, width, height and perhaps id."""
    raw = read_columns(path)
    wanted = ("file", "x", "y", "width", "height")
    if missing := [name for name in wanted if name not in raw.names]:
        raise FileFormatError(
            f"{path} has no column {missing[0]!r}; expected {', '.join(wanted)} and perhaps id. It has "
            f"{format_some(raw.names)}."
        )
    if raw.n_rows > MOST_PARTS:
        raise FileFormatError(f"{path} has {raw.n_rows:,} regions; expected at most {MOST_PARTS:,}.")
    files, given_ids = raw.get_texts("file"), raw.get_texts("id") if "id" in raw.names else None
    columns = [raw.get_column(name) for name in wanted[1:]]
    places, sizes = {name: at for at, name in enumerate(names)}, dict[str, tuple[int, int]]()
    listed, wrong, seen = [], [], dict[str, int]()
    for row, file in enumerate(files):
        name = (file or "").strip().replace("\\", "/").removeprefix("./")
        box = tuple(parse_number(column[row]) for column in columns)
        problem = _find_region_problem(folder, name, box, places, sizes)
        given = (given_ids[row] or "").strip() if given_ids is not None else ""
        left, top, wide, high = (round(value or 0) for value in box) if problem is None else (0, 0, 0, 0)
        id = given or f"{name}@{left},{top},{wide}x{high}"
        if problem is None and (flaw := find_id_problem(id)):
            problem = f"the id {flaw}"
        if problem is None and id in seen:
            problem = f"the id {id[:80]!r} was used in {raw.place(seen[id])}"
        if problem is not None:
            wrong.append(f"{raw.place(row)}: {problem}")
            continue
        seen[id] = row
        shown = given or f"{PurePosixPath(name).name}, {wide} x {high} at {left}, {top}"
        listed.append(_ListedPart(places[name], id, shown, (left, top, wide, high)))
    if wrong:
        first = "\n".join(f"  {each}." for each in wrong[:_MOST_WRONG])
        more = f"\n  and {len(wrong) - _MOST_WRONG} more" if len(wrong) > _MOST_WRONG else ""
        raise FileFormatError(
            f"{format_count(len(wrong), 'region')} of {path} cannot be used:\n{first}{more}\n"
            "Correct or delete these lines."
        )
    return listed


def _find_region_problem(
    folder: Path,
    name: str,
    box: tuple[float | None, ...],
    places: Mapping[str, int],
    sizes: dict[str, tuple[int, int]],
) -> str | None:
    """Return what is wrong with a region, or None. `sizes` keeps the sizes of pictures."""
    if name not in places:
        return f"there is no picture {name[:80]!r} in {folder}"
    left, top, wide, high = box
    if (
        left is None
        or top is None
        or wide is None
        or high is None
        or not math.isfinite(left + top + wide + high)
    ):
        return "x, y, width and height must be numbers"
    if round(wide) < LEAST_SIDE or round(high) < LEAST_SIDE:
        return f"the region has {wide:g} x {high:g} pixels; expected at least {LEAST_SIDE} x {LEAST_SIDE}"
    if name not in sizes:
        try:
            with open(folder / name, "rb") as file:
                sizes[name] = measure_picture(file)
        except (OSError, ValueError) as error:
            return f"{name} cannot be read: {error}"
    width, height = sizes[name]
    if min(left, top) < 0 or round(left) + round(wide) > width or round(top) + round(high) > height:
        return (
            f"the region {wide:g} x {high:g} at {left:g}, {top:g} is not inside the picture, which has "
            f"{width} x {height} pixels"
        )
    return None


def _detect_medium(path: Path) -> Medium | None:
    """Return the medium of a file from its extension or, without one, from its first bytes."""
    if path.suffix:
        return MEDIA_ENDINGS.get(path.suffix.lower())
    try:
        with path.open("rb") as file:
            kind = detect_content_type(file.read(FIRST))
    except OSError:
        return None
    return None if kind is None else "image" if kind.startswith("image/") else "sound"


def _format_no_media(folder: Path, others: list[str]) -> str:
    ends = ", ".join(sorted(end[1:] for end in MEDIA_ENDINGS))
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


# ---------------------------------------------------------------------- a table


@dataclass(frozen=True, eq=False)
class _ItemTable:
    """A table and the roles of its columns."""

    raw: RawTable
    options: SourceOptions
    n_rows: int | None = None  # of the whole table, if only some of its rows are read

    @property
    def shown(self) -> tuple[str, ...]:
        """The text columns, or the column of media files."""
        return tuple(name for _, name in self.options.list_media_columns())

    @property
    def others(self) -> tuple[str, ...]:
        """The other columns, which are shown beside the item."""
        options = self.options
        taken = {options.id_column, options.truth, options.bag, *self.shown, *options.drop}
        return tuple(name for name in self.raw.names if name not in taken)

    def join_texts(self) -> list[str]:
        """Return the text of each row: that of its columns of text."""
        columns = [_get_words(self.raw, name) for name in self.shown]
        return ["\n\n".join(cell for cell in row if cell) for row in zip(*columns, strict=True)]

    def list_files(self) -> list[str | None]:
        """Return the file of each row, relative to the folder of the table; None if the cell is empty."""
        option = "--image" if self.options.image is not None else "--audio"
        cells = _get_words(self.raw, self.shown[0])
        return [
            _make_relative_path(self.raw, row, cell, option) if cell and cell.strip() else None
            for row, cell in enumerate(cells)
        ]

    def get_ids(self) -> tuple[str, ...]:
        """Return the id of each row."""
        ids = get_ids(self.raw, self.options.id_column).ids
        for row, id in enumerate(ids):
            if problem := find_id_problem(id):
                place, column = self.raw.place(row), self.options.id_column
                raise FileFormatError(f"{place}: the id (column {column!r}) {problem}.")
        return ids

    def read_embeddings(self) -> Features | None:
        """Return the features in a file of their own; None if there is no such file."""
        path = self.options.features
        if path is None:
            return None
        n_rows = self.raw.n_rows if self.n_rows is None else self.n_rows
        return self.options.take(read_embeddings(path, n_rows=n_rows, of="rows in the table"))

    def describe_left_out(self, left_out: Mapping[int, str], why: str) -> list[str]:
        """Return a note that counts rows, and names the first of them."""
        if not left_out:
            return []
        ids, be = self.get_ids(), "is" if len(left_out) == 1 else "are"
        names = format_some([ids[row] for row in left_out])
        return [f"{format_count(len(left_out), 'row')} {why} {be} left out: {names}."]

    def _advise(self, beside: Sequence[str]) -> Iterator[str]:
        """Yield notes on column choices that users often regret later."""
        if beside:
            yield (
                f"shown beside each item: {', '.join(beside[:5])}{', …' * (len(beside) > 5)}. Hide columns "
                "with --drop."
            )
        columns = zip(self.raw.names, self.raw.columns, strict=True)
        if self.options.id_column is None and (
            name := next((name for name, column in columns if self._looks_like_ids(name, column)), None)
        ):
            yield f"items are numbered 0, 1, 2 and so on in files; --id {name} uses that column instead."

    def _looks_like_ids(self, name: str, column: Any) -> bool:
        if name in (self.options.truth, *self.shown, *self.options.drop):
            return False
        first = [_format_cell(cell) for cell in column[:20]]
        if all(cell.replace(".", "", 1).lstrip("-").isdigit() for cell in first):
            return False  # measurements are usually distinct, too
        cells = [_format_cell(cell) for cell in column]
        return all(0 < len(cell) <= 40 for cell in cells) and len(set(cells)) == len(cells)

    def make_data(
        self,
        made: Features,
        kind: ItemKind,
        shown: Sequence[str | None] | None,
        left_out: Mapping[int, str],
        notes: Sequence[str] = (),
    ) -> SourceData:
        """Return features and items; `shown` is the text or the file of each row of the table."""
        rows = [row for row in range(self.raw.n_rows) if row not in left_out]
        if self.options.only is None:
            _check_enough(len(rows), self.raw.path)
        ids, names = self.get_ids(), self.others
        truths = None if self.options.truth is None else self.raw.get_texts(self.options.truth)
        formatters = [_cell_formatter(self.raw.get_column(name)) for name in names]

        def iterate_items() -> Iterator[Item]:
            for row, at in enumerate(rows):
                cells = tuple((name, show(at)) for name, show in zip(names, formatters, strict=True))
                known = None if truths is None else truths[at]
                given = None if shown is None else shown[at]
                text, media = (given, None) if kind == "text" else (None, given)
                # The title of a file omits its folder, which may be the true class.
                title = _shorten(text or PurePosixPath(media or "").name)
                yield Item(row, ids[at], kind, title or ids[at], text, cells, media, known)

        has_truth = truths is not None and any(known is not None for known in truths)
        own_notes = (*notes, *made.notes)
        all_notes = (*own_notes, *self._advise(names if self.shown else ()))
        described = Described(kind, len(rows), names, has_truth, made.description, all_notes)
        items = Reiterable(iterate_items)
        options = self.options
        return SourceData(
            made.X,
            items,
            described,
            self.raw,
            rows,
            left_out,
            own_notes,
            options,
            shown,
            recipe=made.recipe,
        )


def _read_texts(table: _ItemTable, cache: Path | None, progress: Step | None) -> SourceData:
    raw, options = table.raw, table.options
    texts = table.join_texts()
    named = " and ".join(map(repr, table.shown))
    options.check_method("text")
    made, left_out = table.read_embeddings(), {}
    if made is None or options.leave_out_blank:
        left_out = {row: f"its text ({named}) is empty" for row, text in enumerate(texts) if is_blank(text)}
    if made is not None and left_out:
        used = [row for row in range(len(texts)) if row not in left_out]
        made = Features(made.X[used], made.description, made.notes, recipe=made.recipe)
    if made is None:
        kept = [text for row, text in enumerate(texts) if row not in left_out]
        try:
            if options.recipe is not None:
                made = repeat_features(options.recipe, kept, cache=cache)
            else:
                made = text_features(
                    kept,
                    method=options.method,
                    named=named,
                    cache=cache,
                    progress=progress,
                    random_state=options.seed,
                )
        except FileFormatError as error:
            raise FileFormatError(f"{raw.path}: {error}") from error
    notes = table.describe_left_out(left_out, f"without text in {named}")
    return table.make_data(made, "text", texts, left_out, notes)


def is_blank(text: str) -> bool:
    """Return True if a text shows nothing: it has only spaces, and characters without a shape.

    >>> is_blank(" \\u200b\\n"), is_blank("?")
    (True, False)
    """
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


def _read_rows(table: _ItemTable) -> SourceData:
    raw, notes = table.raw, []
    table.options.check_method("row")
    made = table.read_embeddings()
    if made is None:
        names = [name for name in table.others if name not in raw.unnamed]
        if left := [name for name in table.others if name in raw.unnamed]:
            if len(left) == 1:
                note = "it may be an index written by pandas, and is not used as a feature. Use it"
                note = f"the column {left[0]} has no name; {note}"
            else:
                note = "they may be indexes written by pandas, and are not used as features. Use one of them"
                note = f"the columns {format_some(left)} have no name; {note}"
            notes.append(f"{note} as the ids with --id '{left[0]}'.")
        columns = {name: raw.get_column(name) for name in names}
        try:
            if table.options.recipe is not None:
                made = repeat_features(table.options.recipe, columns)
            else:
                made = table_features(columns)
        except FileFormatError as error:
            raise FileFormatError(f"{raw.path}: {error}") from error
    return table.make_data(made, "row", None, {}, notes)


def _read_media_column(table: _ItemTable, kind: Medium, cache: Path, progress: Step | None) -> SourceData:
    raw, column, names = table.raw, table.shown[0], table.list_files()
    rows = [row for row, name in enumerate(names) if name is not None]
    found = [name for name in names if name is not None]
    left_out = {row: f"its {column!r} is empty" for row, name in enumerate(names) if name is None}
    notes = table.describe_left_out(left_out, f"without a file in {column!r}")
    if not rows:
        raise FileFormatError(f"{raw.path}: every cell of {column!r} is empty; there is nothing to show.")
    table.options.check_method(kind)
    whole = table.read_embeddings()
    if whole is not None:
        made = Features(whole.X[rows], whole.description, whole.notes)
    else:
        root = Path(raw.path).absolute().parent
        made = _compute_features(root, found, kind, table.options, cache, progress)
        notes += _find_unreadable(found, made)
        left_out |= {
            rows[at]: f"{found[at]} cannot be read: {why.rstrip('.')}" for at, why in made.failed.items()
        }
    return table.make_data(made, kind, names, left_out, notes)


def _make_relative_path(raw: RawTable, row: int, cell: str, option: str) -> str:
    """Return the path of a file relative to the folder of the table, with slashes."""
    where = f"{raw.place(row)}: {option} refers to {cell[:80]!r}, "
    if "://" in cell or cell.lower().startswith(("data:", "//", "\\\\")):
        raise FileFormatError(
            f"{where}a network address. likewise downloads nothing: save the files beside the table and "
            "refer to them there."
        )
    name = cell.strip().replace("\\", "/") if os.name == "nt" else cell.strip()
    folder = Path(os.path.normpath(Path(raw.path).absolute())).parent
    inside = os.path.normpath(folder / name)
    if "\x00" in name or not _is_inside(Path(inside), folder):
        raise FileFormatError(
            f"{where}which is not in the folder of the table, {folder}. Files outside it are not used; "
            "move the table to the folder of the files, or above it."
        )
    return Path(inside).relative_to(folder).as_posix()


def _is_inside(path: Path, folder: Path) -> bool:
    """Return True if a file is in a folder, both by its name and after resolving links."""
    if not path.is_relative_to(folder) or path == folder:
        return False
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # circular links
        return False


# ---------------------------------------------------------------------- cells as text


def _get_words(raw: RawTable, name: str) -> tuple[str | None, ...]:
    cells = tuple(_format_cell(value) or None for value in raw.get_column(name))
    first = next((cell for cell in cells if cell and cell.strip()), None)
    if first is not None and not raw.is_wordy(name):
        raise FileFormatError(
            f"{raw.path}: expected text in the column {name!r}; got only numbers, such as {first}."
        )
    return cells


def _cell_formatter(column: Column) -> Callable[[int], str]:
    """Return a function that formats one cell of the column, with the same digits as ``likewise ask``.

    >>> show = _cell_formatter([0.12345678901234567, None, float("nan"), 1065.0, "0.30000000000000004"])
    >>> [show(row) for row in range(5)]
    ['0.1235', '', '', '1065', '0.3']
    """
    show_number = make_cell_formatter(column)

    def show(row: int) -> str:
        text = _format_cell(column[row])
        return show_number(row) if text and isinstance(column[row], str | float | np.floating) else text

    return show


def _format_cell(value: Any) -> str:
    """Return a cell as text.

    >>> _format_cell(2.0), _format_cell(None), _format_cell(b"abc")
    ('2', '', '3 bytes')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return ""
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else f"{number:.12g}"
    return str(value)
