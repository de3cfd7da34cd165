"""Sample ids, and their translation to row numbers."""

from __future__ import annotations

import difflib
import hashlib
import numbers
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError

IntArray = npt.NDArray[np.int64]
_MANY = 20_000  # with more ids, only simple typing errors are recognised


def check_n_samples(n_samples: Any) -> int:
    """Check the number of rows and return it as an int."""
    if isinstance(n_samples, bool) or not isinstance(n_samples, numbers.Integral):
        raise SupervisionError(
            f"n_samples must be an integer, the number of rows of the data; got "
            f"{type(n_samples).__name__}. Pass X.shape[0], or len(X)."
        )
    if n_samples < 1:
        raise SupervisionError(f"n_samples must be at least 1, got {n_samples}.")
    return int(n_samples)


@dataclass(frozen=True)
class RowIds:
    """The sample ids of the rows of a data set: distinct strings, in the order of the rows.

    Ids are always strings and are compared exactly: "007" is neither "7" nor the number 7. Use
    :meth:`from_ids` to check ids.

    Parameters
    ----------
    ids : tuple of str
        The id of each row.

    Examples
    --------
    >>> from likewise.supervision import RowIds
    >>> ids = RowIds.from_ids(["s1", "s2", "007"])
    >>> ids.find_rows(["007", "s1"])
    array([2, 0])
    >>> ids[2], len(ids)
    ('007', 3)
    """

    ids: tuple[str, ...]

    @classmethod
    def from_ids(cls, ids: Any) -> RowIds:
        """Check that there is one id for each row, and that the ids are distinct, non-empty strings.

        Parameters
        ----------
        ids : iterable of str or RowIds
            The id of each row.

        Returns
        -------
        ids : RowIds
            The checked ids.
        """
        if isinstance(ids, RowIds):
            return ids
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise SupervisionError(f"ids must be a sequence of strings, one for each row; got {ids!r}.")
        values = tuple(ids)
        if not values:
            raise SupervisionError("ids is empty; expected one id for each row.")
        if not all(isinstance(value, str) and value and value.isprintable() for value in values):
            for row, value in enumerate(values):
                _check_id(row, value)
        checked = cls(tuple(map(str, values)))  # also turns np.str_ into str
        if more := len(values) - len(checked.row_of):
            first: dict[str, int] = {}
            row = next(row for row, value in enumerate(checked.ids) if first.setdefault(value, row) != row)
            tail = f", and {more - 1} more are repeated" if more > 1 else ""
            raise SupervisionError(
                f"rows {first[checked.ids[row]]} and {row} both have the id {checked.ids[row]!r}{tail}; ids "
                "must differ."
            )
        return checked

    @classmethod
    def from_row_numbers(cls, n_samples: int) -> RowIds:
        """Return "0", "1", … as the ids of rows without ids.

        Such ids cannot reveal that the rows were shuffled; see `content` in
        :func:`~likewise.supervision.write_hints`.

        Parameters
        ----------
        n_samples : int
            The number of rows.

        Returns
        -------
        ids : RowIds
            The row numbers as ids.
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
        """Find the row of an id, ignoring surrounding spaces if necessary.

        Parameters
        ----------
        value : object
            The id.

        Returns
        -------
        row : int or None
            The row; None if no row has this id.
        """
        if not isinstance(value, str):
            return None
        row = self.row_of.get(value)
        return self.row_of.get(value.strip()) if row is None else row

    def find_rows(self, ids: Iterable[str]) -> IntArray:
        """Return the row of each id.

        Parameters
        ----------
        ids : str or iterable of str
            The ids.

        Returns
        -------
        rows : ndarray of int
            The row of each id.

        Raises
        ------
        SupervisionError
            If no row has an id. The message suggests the most similar id.
        """
        wanted = [ids] if isinstance(ids, str) else list(ids)
        found = [self.row_of.get(value, -1) for value in wanted]
        if -1 in found:
            raise self.unknown_id(wanted[found.index(-1)])
        return np.array(found, dtype=np.int64)

    def unknown_id(self, value: Any) -> SupervisionError:
        """Return the error for an unknown id, which suggests the most similar one.

        Parameters
        ----------
        value : object
            The unknown id.

        Returns
        -------
        error : SupervisionError
            The error, to be raised by the caller.
        """
        if not isinstance(value, str):
            return SupervisionError(f"an id must be a string, got {value!r} of type {type(value).__name__}.")
        near = self._find_nearest(value)
        tip = f"; did you mean {near!r}?" if near is not None else "."
        return SupervisionError(f"no row has the id {value!r}{tip}", ids=(value,))

    def _find_nearest(self, value: str) -> str | None:
        plain = _simplify(value)
        slip = next((known for known in self.ids if _simplify(known) == plain), None)
        if slip is not None or len(self) > _MANY:
            return slip
        close = difflib.get_close_matches(value, self.ids, n=1, cutoff=0.75)
        return close[0] if close else None

    @cached_property
    def digest(self) -> str:
        """A hash of the ids in their order, as 16 hexadecimal digits."""
        return _compute_digest(self.ids)

    @cached_property
    def sorted_digest(self) -> str:
        """A hash of the ids that does not depend on their order, as 16 hexadecimal digits."""
        return _compute_digest(sorted(self.ids))

    def compute_content_digest(self, content: Any) -> str:
        """Return a hash of a table, with its rows sorted by id.

        If the rows are shuffled together with their ids, the hash stays the same. If the ids are row numbers,
        it changes.

        Parameters
        ----------
        content : array-like of shape (n_samples, ...)
            The table, with one row for each id.

        Returns
        -------
        digest : str
            16 hexadecimal digits.
        """
        array = np.asarray(content)
        if array.ndim == 0 or len(array) != len(self):
            raise SupervisionError(
                f"content must have one row for each of {len(self)} ids, got shape {array.shape}."
            )
        array = array[sorted(range(len(self)), key=self.ids.__getitem__)]
        if array.dtype.kind in "biuf":  # the same hash for integers stored as integers or floats
            data = np.ascontiguousarray(array, dtype="<f8").tobytes()
        else:
            data = repr(array.tolist()).encode("utf-8", "surrogatepass")
        return hashlib.sha256(repr(array.shape).encode() + data).hexdigest()[:16]


class FewIds(RowIds):
    """The ids of some rows only, for data with too many rows to list all ids.

    Parameters
    ----------
    row_of : dict of str to int
        The rows of the known ids, such as those that occur in hints.
    n_samples : int
        The number of rows.

    Examples
    --------
    >>> from likewise.supervision import FewIds
    >>> ids = FewIds({"wren": 12, "owl": 7_000_000}, 10**8)
    >>> ids.find_rows(["owl"]), ids[12], len(ids)
    (array([7000000]), 'wren', 100000000)
    """

    digest = sorted_digest = ""  # the hash of all ids is unknown

    def __init__(self, row_of: dict[str, int], n_samples: int) -> None:
        super().__init__(tuple(row_of))
        names = {row: name for name, row in row_of.items()}
        self.__dict__.update(row_of=dict(row_of), _n_samples=check_n_samples(n_samples), _names=names)

    @classmethod
    def from_numbers(cls, names: Iterable[str], n_samples: int) -> FewIds:
        """Interpret names as row numbers, for rows without ids.

        Parameters
        ----------
        names : iterable of str
            The names; those that are not row numbers are ignored.
        n_samples : int
            The number of rows.

        Returns
        -------
        ids : FewIds
            The names that are row numbers.
        """
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

    def _find_nearest(self, value: str) -> str | None:
        return None  # a similar id may be among the unknown ones


class KeptIds(RowIds):
    """The ids of the rows of a file that are used; rows without text or with an unreadable file are not.

    Parameters
    ----------
    ids : tuple of str
        The ids of the rows that are used.
    left_out : mapping of str to str
        The ids of the other rows, and why each is left out.

    Examples
    --------
    >>> from likewise.tables import KeptIds
    >>> print(KeptIds(("wren", "owl"), {"finch": "its text is empty"}).unknown_id("finch"))
    the row 'finch' is left out: its text is empty. Remove what refers to it.
    """

    def __init__(self, ids: tuple[str, ...], left_out: Mapping[str, str]) -> None:
        super().__init__(ids)
        self.__dict__["left_out"] = left_out

    def unknown_id(self, value: Any) -> SupervisionError:
        """Return the error for an id that no row has, or whose row is left out."""
        left_out: Mapping[str, str] = self.__dict__["left_out"]
        why = left_out.get(value.strip()) if isinstance(value, str) else None
        if why is None:
            return super().unknown_id(value)
        return SupervisionError(f"the row {value!r} is left out: {why}. Remove what refers to it.")


def _simplify(value: str) -> str:
    """Normalise an id: no surrounding spaces, one case, no leading zeros."""
    return value.strip().casefold().lstrip("0")


def _check_id(row: int, value: Any) -> None:
    if not isinstance(value, str):
        raise SupervisionError(
            f"the id of row {row} is {value!r}, of type {type(value).__name__}; ids are strings. Read the "
            "ids as strings, so '007' stays '007', or use RowIds.from_row_numbers(n) for rows without ids."
        )
    if not value:
        raise SupervisionError(f"the id of row {row} is empty; each row needs an id.")
    if not value.isprintable():  # only such ids can contain a lone surrogate
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise SupervisionError(f"the id of row {row}, {value!r}, is not valid Unicode.") from error


def _compute_digest(ids: Iterable[str]) -> str:
    """Hash the ids, each with its length, so different lists have different hashes."""
    digest = hashlib.sha256()
    for value in ids:
        data = value.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
