"""Files of hints by sample id: read and write CSV, JSON Lines and Parquet, read Excel workbooks.

If any line of a file is invalid, an error lists the invalid lines, and nothing is read. Files are written
under a temporary name and then renamed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from likewise._atomic_files import replace_file
from likewise.exceptions import (
    ChangedIdsWarning,
    FileFormatError,
    QuestionableHintsWarning,
    ShuffledIdsWarning,
)
from likewise.supervision._hint_tables import TYPED, TYPES, table_cells, table_records, table_types
from likewise.supervision._ids import RowIds
from likewise.supervision._jsonl import IDS, iterate_json_objects, iterate_json_records
from likewise.supervision._records import FIELDS, Record, build_hints, iterate_records
from likewise.supervision._supervision import Supervision
from likewise.tables import (
    WRITTEN,
    Problems,
    choose_format,
    decode,
    format_csv_line,
    make_problems,
    parse_json_lines,
    read_rows,
    write_parquet,
)

__all__ = ["Format", "read_hints", "write_hints"]

Format = Literal["csv", "jsonl", "parquet", "xlsx"]
_MARK = "# likewise hints"
_METADATA = b"likewise_hints"


@dataclass(frozen=True)
class _FileHeader:
    """The first line of a file, which describes the ids and the data that it was written for."""

    n: int
    digest: str
    sorted: str
    lines: int
    content: str = ""
    types: dict[str, str] = field(default_factory=dict)

    @classmethod
    def for_ids(
        cls, ids: RowIds, content: Any, lines: int, types: dict[str, str] | None = None
    ) -> _FileHeader:
        """Describe the ids and the data that a file is written for."""
        digest = "" if content is None else ids.compute_content_digest(content)
        return cls(len(ids), ids.digest, ids.sorted_digest, lines, digest, types or {})

    @classmethod
    def from_header(cls, content: dict[str, Any], path: str) -> _FileHeader:
        """Parse and check the first line of a file."""
        try:
            types = {name: str(content[f"{name}_type"]) for name in TYPED if f"{name}_type" in content}
            if not set(types.values()) <= set(TYPES):
                raise ValueError
            return cls(
                n=int(content["n"]),
                digest=str(content.get("digest", "")),
                sorted=str(content.get("sorted", "")),
                lines=int(content.get("lines", 0)),
                content=str(content.get("content", "")),
                types=types,
            )
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(
                f"{path}:1: the line about the ids is invalid: {content!r}. Remove it to read the file "
                "without checking its ids."
            ) from None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are not empty, as plain values."""
        content = asdict(self)
        types = content.pop("types")
        return {k: v for k, v in content.items() if v != ""} | {f"{k}_type": v for k, v in types.items()}

    def check(self, ids: RowIds, content: Any, n_lines: int, path: str) -> None:
        """Compare with the given ids and data; raise an error or warn if they differ."""
        if n_lines < self.lines:
            raise FileFormatError(
                f"{path}: expected {self.lines} lines of hints; got {n_lines}. The file is truncated. If "
                f"lines were removed on purpose, change lines={self.lines} in its first line."
            )
        if content is not None and self.content and ids.compute_content_digest(content) != self.content:
            raise FileFormatError(
                f"{path}: the hints were written for other data: the rows have changed, or are in another "
                "order. Restore the data, or leave `content` out if you are sure."
            )
        if not self.digest or self.digest == ids.digest or (not ids.digest and self.n == len(ids)):
            return  # FewIds has no digest of all ids
        if self.sorted == ids.sorted_digest:
            warnings.warn(
                f"{path} was written for the same {self.n} ids in another order. The hints follow the ids; "
                "check that other row-aligned data do so too.",
                ShuffledIdsWarning,
                stacklevel=3,
            )
            return
        warnings.warn(
            f"{path} was written for {self.n} ids that differ from the {len(ids)} given ids. All ids in its "
            "hints are known.",
            ChangedIdsWarning,
            stacklevel=3,
        )


def read_hints(
    path: str | os.PathLike[str],
    ids: Any,
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
    content: Any = None,
    missing: Any = -1,
) -> Supervision:
    """Read hints from a file that refers to rows by sample id.

    A table (CSV, Parquet, Excel) is recognised by its header: ``a,b,link[,weight]``,
    ``a,b,c,answer[,weight]``, ``id,label``, ``id,bag[,labels]``, or the general layout of
    :func:`write_hints`. Other columns are ignored, with a warning. The cells of a text are separated by
    commas, semicolons or tabs. Spaces around ids do not count. Time and memory are linear in the file.

    Parameters
    ----------
    path : path-like
        The file.
    ids : RowIds or sequence of str
        The id of each row of the data, in the order of the rows.
    format : {"csv", "jsonl", "parquet", "xlsx"}, optional
        By default the file extension determines it. Excel workbooks need openpyxl; their first sheet is read.
    encoding : str, default="utf-8"
        The encoding of a CSV or JSON Lines file. A byte order mark and Windows line ends are accepted.
    content : array-like of shape (n_samples, ...), optional
        The data. It is an error if the file was written with `content` and the data differ. This detects
        shuffled rows if the ids are row numbers.
    missing : object, default=-1
        A label that means "unknown", as in :meth:`Supervision.from_labels`. The default applies only if all
        labels are integers; use None if -1 is a class. In a file of :func:`write_hints` every label is a
        class.

    Returns
    -------
    Supervision
        Hints for ``len(ids)`` rows.

    Raises
    ------
    FileFormatError
        If anything in the file is invalid; the message gives the line, and nothing is read.

    Warns
    -----
    ShuffledIdsWarning
        If the file was written for the same ids in another order. The hints follow the ids.
    ChangedIdsWarning
        If it was written for other ids, but all ids in its hints are known.
    QuestionableHintsWarning
        If a column was ignored, a label was read as "unknown", or two labels differ only in case or spaces.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import read_hints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "links.csv")
    ...     _ = path.write_text("a,b,link\\ns1,s2,must\\ns2,007,cannot\\n")
    ...     read_hints(path, ["s1", "s2", "007"])
    Supervision(3 rows: 1 must, 1 cannot)
    """
    row_ids = RowIds.from_ids(ids)
    problems, written, records = _open(path, format, encoding)
    counted = _CountedRecords(records)
    by_hand = written is None
    hints = build_hints(counted, row_ids, problems, missing=missing if by_hand else None, by_hand=by_hand)
    if written is not None:
        written.check(row_ids, content, len(counted.lines), problems.path)
    for note in problems.notes:
        warnings.warn(f"{problems.path}: {note}", QuestionableHintsWarning, stacklevel=2)
    return hints


def list_ids_in_file(
    path: str | os.PathLike[str], *, format: Format | None = None, encoding: str = "utf-8"
) -> list[str]:
    """Return the distinct ids in a file of hints, for data whose ids do not all fit in memory."""
    problems, _, records = _open(path, format, encoding)
    cells = [cell for record in records for cell in (record.a, record.b, record.c)]
    problems.settle()
    names = [name for cell in cells if isinstance(cell, str) for name in (cell, cell.strip())]
    return list(dict.fromkeys(filter(None, names)))


def _open(
    path: str | os.PathLike[str], format: Format | None, encoding: str
) -> tuple[Problems, _FileHeader | None, Iterator[Record]]:
    """Read the records and the first line of a file of hints, without looking up the ids."""
    kind = choose_format(path, format)
    problems = make_problems(path, kind)
    data = Path(path).read_bytes()
    if not data.strip():
        raise FileFormatError(f"{problems.path} is empty; expected at least a header.")
    if kind == "jsonl":
        return problems, *_read_jsonl(decode(data, encoding, problems.path), problems)
    return problems, *_read_table(data, kind, encoding, problems)


def write_hints(
    path: str | os.PathLike[str],
    hints: Supervision,
    ids: Any,
    *,
    format: Format | None = None,
    content: Any = None,
) -> None:
    """Write hints to a file that refers to rows by sample id, with a digest of the list of ids.

    A table has the columns ``kind,a,b,c,answer,label,bag,group,weight``, of which each kind uses some; JSON
    Lines has one object per hint. Reading the file with the same ids gives the same hints. The file is
    written under a temporary name and then renamed, so a crash leaves the old file intact.

    Parameters
    ----------
    path : path-like
        The file. An existing file is replaced.
    hints : Supervision
        The hints. Labels and bags must be strings or numbers, in a table all of the same type.
    ids : RowIds or sequence of str
        The id of each row. Use ``RowIds.from_row_numbers(n)`` if there are none.
    format : {"csv", "jsonl", "parquet"}, optional
        By default the file extension determines it. Parquet needs pyarrow; ``.tsv`` is CSV with tabs.
    content : array-like of shape (n_samples, ...), optional
        The data; their digest is written too, and :func:`read_hints` compares it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from likewise.supervision import Supervision, read_hints, write_hints
    >>> hints = Supervision.from_links(3, must=[(0, 1)], cannot_groups=[[0, 1, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "hints.jsonl")
    ...     write_hints(path, hints, ["s1", "s2", "s3"])
    ...     print(path.read_text().splitlines()[1])
    ...     read_hints(path, ["s1", "s2", "s3"]) == hints
    {"kind": "must", "items": ["s1", "s2"]}
    True
    """
    row_ids = RowIds.from_ids(ids)
    kind = choose_format(path, format, WRITTEN)
    records = list(iterate_records(hints, row_ids))
    if kind == "jsonl":
        objects = list(iterate_json_objects(records))
        first = {"kind": IDS, **_FileHeader.for_ids(row_ids, content, len(objects)).as_dict()}
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [first, *objects])
        replace_file(path, lambda part: part.write_bytes(text.encode("utf-8")))
        return
    written = _FileHeader.for_ids(row_ids, content, len(records), table_types(records)).as_dict()
    if kind == "parquet":
        cells = [[cell or None for cell in table_cells(record)] for record in records]
        columns = {name: [row[c] for row in cells] for c, name in enumerate(FIELDS)}
        types, metadata = dict.fromkeys(FIELDS, "string"), {_METADATA: json.dumps(written)}
        replace_file(path, lambda part: write_parquet(columns, part, types=types, metadata=metadata))
        return
    first_line = "; ".join([_MARK, *(f"{key}={value}" for key, value in written.items())])
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    rows = [FIELDS, *map(table_cells, records)]
    lines = [first_line, *(format_csv_line(row, delimiter) for row in rows)]
    replace_file(path, lambda part: part.write_bytes("".join(line + "\n" for line in lines).encode("utf-8")))


class _CountedRecords:
    """An iterator over records that counts the lines they are on."""

    def __init__(self, records: Iterator[Record]) -> None:
        self.records, self.lines = records, set[int]()

    def __iter__(self) -> Iterator[Record]:
        for record in self.records:
            self.lines.add(record.line)
            yield record


# ---------------------------------------------------------------------- the formats

_Read = tuple[_FileHeader | None, Iterator[Record]]


def _read_table(data: bytes, kind: str, encoding: str, problems: Problems) -> _Read:
    table = read_rows(data, kind, encoding, problems)
    written = None
    if kind == "parquet":
        try:
            content = json.loads(table.metadata.get(_METADATA, "null"))
        except ValueError as error:
            raise FileFormatError(f"{problems.path} cannot be read as Parquet: {error}.") from error
        written = _FileHeader.from_header(content, problems.path) if content else None
    for comment in table.comments[: 1 if kind == "csv" else None]:
        if comment.startswith(_MARK):
            written = _parse_mark(comment, problems.path)
    if written is not None and table.unfinished > 1:
        problems.add(
            table.unfinished,
            "the last line does not end; the file may be truncated. If it is not, end the line.",
        )
    if not table.header and kind != "parquet":
        problems.add(table.line, "there is no header.")
        problems.settle()
    return written, table_records(table.header, table.rows, written.types if written else {}, problems)


def _parse_mark(line: str, path: str) -> _FileHeader:
    """Parse the first line of a file of :func:`write_hints`, possibly saved again by a spreadsheet program.

    A spreadsheet adds empty cells and quotes, and Windows a carriage return.
    """
    parts = (part.strip(' "').partition("=") for part in line.rstrip(",;\t\r").split(";")[1:])
    return _FileHeader.from_header({name: value for name, _, value in parts}, path)


def _read_jsonl(text: str, problems: Problems) -> _Read:
    objects = list(parse_json_lines(text, problems))
    written = None
    if objects and objects[0][1].get("kind") == IDS:
        written = _FileHeader.from_header(objects.pop(0)[1], problems.path)
    return written, iterate_json_records(iter(objects), problems)
