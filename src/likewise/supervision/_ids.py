"""Sample ids outside, row numbers inside: the one object that translates between them."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.exceptions import SupervisionError
from likewise.supervision._rows import IntArray, check_n_samples

_MANY = 20_000  # with more ids, a close match is sought among the simple slips only


@dataclass(frozen=True)
class RowIds:
    """The sample ids of the rows of a data set: different texts, in the order of the rows.

    Ids are always text and are compared letter by letter: "007" is not "7", and neither is the number 7.

    Attributes
    ----------
    ids : tuple of str
        The id of each row.

    Examples
    --------
    >>> from likewise.supervision import RowIds
    >>> ids = RowIds.of(["s1", "s2", "007"])
    >>> ids.rows(["007", "s1"])
    array([2, 0])
    >>> ids[2], len(ids)
    ('007', 3)
    """

    ids: tuple[str, ...]

    @classmethod
    def of(cls, ids: Any) -> RowIds:
        """Check ids, one a row: text, none of them empty, none of them twice."""
        if isinstance(ids, RowIds):
            return ids
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise SupervisionError(f"ids must be a sequence of texts, one a row; got {ids!r}.")
        values = tuple(ids)
        if not values:
            raise SupervisionError("ids is empty; wanted one id a row.")
        for row, value in enumerate(values):
            _check_id(row, value)
        checked = cls(tuple(map(str, values)))  # also turns np.str_ into str
        if len(checked.row_of) < len(values):
            raise SupervisionError(_repeated_text(checked.ids))
        return checked

    @classmethod
    def numbered(cls, n_samples: int) -> RowIds:
        """Return "0", "1", … as the ids of rows that have none of their own.

        Such ids cannot show that the rows were shuffled; see `content` in
        :func:`~likewise.supervision.write_hints`.
        """
        return cls(tuple(map(str, range(check_n_samples(n_samples)))))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __getitem__(self, row: int) -> str:
        return self.ids[row]

    def __contains__(self, value: object) -> bool:
        return value in self.row_of

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.ids[:3])) + (", …" if len(self) > 3 else "")
        return f"RowIds({len(self)} rows: {shown})"

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each id."""
        return {value: row for row, value in enumerate(self.ids)}

    def find(self, value: Any) -> int | None:
        """Return the row of an id, with or without spaces around it; None if there is none."""
        if not isinstance(value, str):
            return None
        row = self.row_of.get(value)
        return self.row_of.get(value.strip()) if row is None else row

    def rows(self, ids: Iterable[str]) -> IntArray:
        """Return the row of each id; an id that no row has is an error that names the nearest one."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        found = [self.row_of.get(value, -1) for value in wanted]
        if -1 in found:
            raise self.unknown_id(wanted[found.index(-1)])
        return np.array(found, dtype=np.int64)

    def unknown_id(self, value: Any) -> SupervisionError:
        """Return the error that no row has this id, which says which one may have been meant."""
        if not isinstance(value, str):
            return SupervisionError(f"an id must be text, got {value!r} of type {type(value).__name__}.")
        near = self._nearest(value)
        tip = f"; did you mean {near!r}?" if near is not None else "."
        return SupervisionError(f"no row has the id {value!r}{tip}", ids=(value,))

    def _nearest(self, value: str) -> str | None:
        plain = _plain(value)
        slip = next((known for known in self.ids if _plain(known) == plain), None)
        if slip is not None or len(self) > _MANY:
            return slip
        close = difflib.get_close_matches(value, self.ids, n=1, cutoff=0.75)
        return close[0] if close else None

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that change with any id and with their order."""
        return _digest(self.ids)

    @cached_property
    def sorted_digest(self) -> str:
        """16 hexadecimal digits that change with any id, whatever their order."""
        return _digest(sorted(self.ids))

    def content_digest(self, content: Any) -> str:
        """Return 16 hexadecimal digits for a table aligned with the ids, its rows taken in the ids' order.

        Rows that are shuffled together with their ids have the same digest. Where ids are mere numbers,
        shuffled rows have another one.
        """
        array = np.asarray(content)
        if array.ndim == 0 or len(array) != len(self):
            raise SupervisionError(f"content must have one row an id: {len(self)}, got shape {array.shape}.")
        array = array[sorted(range(len(self)), key=self.ids.__getitem__)]
        if array.dtype.kind in "biuf":  # so that a table of whole numbers may be stored in either type
            data = np.ascontiguousarray(array, dtype="<f8").tobytes()
        else:
            data = repr(array.tolist()).encode("utf-8", "surrogatepass")
        return hashlib.sha256(repr(array.shape).encode() + data).hexdigest()[:16]


class FewIds(RowIds):
    """Ids of which only those that hints name are known, for data with more rows than can be listed.

    Parameters
    ----------
    row_of : dict of str to int
        The rows of the ids that are known.
    n_samples : int
        How many rows there are.

    Examples
    --------
    >>> from likewise.supervision import FewIds
    >>> ids = FewIds({"wren": 12, "owl": 7_000_000}, 10**8)
    >>> ids.rows(["owl"]), ids[12], len(ids)
    (array([7000000]), 'wren', 100000000)
    """

    digest = sorted_digest = ""  # that of all ids is not known

    def __init__(self, row_of: dict[str, int], n_samples: int) -> None:
        super().__init__(tuple(row_of))
        names = {row: name for name, row in row_of.items()}
        self.__dict__.update(row_of=dict(row_of), _n_samples=check_n_samples(n_samples), _names=names)

    @classmethod
    def numbers(cls, names: Iterable[str], n_samples: int) -> FewIds:
        """Take ids for rows that have none of their own: those of `names` that are row numbers."""
        known = {name: int(name) for name in names if name.isdecimal() and str(int(name)) == name}
        return cls({name: row for name, row in known.items() if row < n_samples}, n_samples)

    def __len__(self) -> int:
        n: int = self.__dict__["_n_samples"]
        return n

    def __getitem__(self, row: int) -> str:
        name: str = self.__dict__["_names"].get(row, str(row))
        return name

    def __repr__(self) -> str:
        return f"FewIds({len(self)} rows, {len(self.ids)} of them by id)"

    def _nearest(self, value: str) -> str | None:
        return None  # it may be close to one of those that are not known


def _plain(value: str) -> str:
    """Reduce an id to what most slips leave alone: no outer blanks, one case, no leading zeros."""
    return value.strip().casefold().lstrip("0")


def _check_id(row: int, value: Any) -> None:
    if not isinstance(value, str):
        raise SupervisionError(
            f"the id of row {row} is {value!r}, of type {type(value).__name__}; ids are text. Read the ids "
            "as text, so that '007' stays '007', or use RowIds.numbered(n) for rows without ids."
        )
    if not value:
        raise SupervisionError(f"the id of row {row} is empty; each row needs an id.")
    if not value.isprintable():  # rare, and the only ids that can hold half a character
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise SupervisionError(f"the id of row {row}, {value!r}, is not valid Unicode.") from error


def _repeated_text(ids: tuple[str, ...]) -> str:
    first: dict[str, int] = {}
    for row, value in enumerate(ids):
        if value in first:
            more = len(ids) - len(set(ids)) - 1
            tail = f", and {more} more are repeated" if more else ""
            return f"rows {first[value]} and {row} both have the id {value!r}{tail}; ids must differ."
        first[value] = row
    raise AssertionError("no id is repeated")


def _digest(ids: Iterable[str]) -> str:
    """Hash texts, each after its length, so that no two lists of ids run together."""
    digest = hashlib.sha256()
    for value in ids:
        data = value.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
