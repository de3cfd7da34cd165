"""Hints that relate rows: links, as pairs and as groups, and triplets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from likewise.exceptions import SupervisionError
from likewise.supervision.row_checks import FloatArray, IntArray

TripletAnswer = Literal["AB", "AC", "BC", "NEITHER"]
TRIPLET_ANSWERS: tuple[str, ...] = get_args(TripletAnswer)
# AB leaves c out, AC leaves b out, BC leaves a out. The table is its own inverse: a triplet whose odd one
# is at position p has the answer _ODD_ONE[p].
_ODD_ONE = (2, 1, 0)
_MUST = ("must", "must-link", "must_link", "ml", "same", "yes", "y", "true", "1", "+1", "1.0")
_CANNOT = ("cannot", "cannot-link", "cannot_link", "cl", "different", "no", "n", "false", "-1", "-1.0")
LINK_WORDS = dict.fromkeys(_MUST, "must") | dict.fromkeys(_CANNOT, "cannot")


def freeze(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view of an array, because hints are immutable."""
    view = array.view()
    view.flags.writeable = False
    return view


class ReadOnly:
    """Mixin for dataclasses whose arrays stay read-only after unpickling; pickle drops the flag."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, freeze(value) if isinstance(value, np.ndarray) else value)


def sort_unique(values: IntArray) -> IntArray:
    """Return the sorted unique values. np.unique (NumPy 2.x) hashes: 8 times as long on 10^6 keys."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


@dataclass(frozen=True, eq=False)
class RowPositions:
    """Maps row numbers to their positions in `rows` (ascending).

    Every row looked up must be in `rows`: a missing row gets a wrong position, not -1.
    """

    rows: IntArray

    def __getitem__(self, old: IntArray) -> IntArray:
        return np.searchsorted(self.rows, old)


def parse_link(cell: Any) -> str:
    """Return "must" or "cannot" for a cell of a table of links; other words raise a ValueError.

    0 is refused, because it means "different" in some tables and "unknown" in others.
    """
    word = str(cell).strip().lower()
    if word not in LINK_WORDS:
        tip = " 0 may mean cannot or unknown: write cannot, or leave the link out."
        raise ValueError(
            f"the link is {cell!r}; expected must or cannot, yes or no.{tip * (word in ('0', '0.0'))}"
        )
    return LINK_WORDS[word]


def check_rows(values: Any, n_samples: int, *, width: int | None, what: str) -> IntArray:
    """Check row numbers, in an array with `width` columns or in a flat list (None); return them as int64."""
    shape = (0,) if width is None else (0, width)
    if values is None:
        return np.empty(shape, dtype=np.int64)
    if isinstance(values, set | frozenset):
        values = sorted(values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged
        wanted = "a flat list of rows" if width is None else f"rows of {width} numbers"
        raise SupervisionError(f"{what} must be {wanted}; the lengths differ.") from error
    if array.size == 0:
        return np.empty(shape, dtype=np.int64)
    if width is not None and (array.ndim != 2 or array.shape[1] != width):
        raise SupervisionError(
            f"{what} must be an array of shape (n, {width}), one hint per row; got shape {array.shape}."
        )
    if width is None and array.ndim != 1:
        raise SupervisionError(f"{what} must be a flat list of rows; got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise SupervisionError(
            f"{what} must contain integer row numbers, got values of type {array.dtype}. To refer to rows by "
            "index label, pass index=, as in Supervision.from_links(index=df.index, …). Files of hints refer "
            "to rows by id."
        )
    flat = array.reshape(-1)
    wrong = np.flatnonzero((flat < 0) | (flat >= n_samples))
    if wrong.size:
        at = int(wrong[0]) // (width or 1)
        raise SupervisionError(
            f"{what}[{at}] names row {flat[wrong[0]]}, but the rows are numbered 0 to {n_samples - 1}.",
            parameter=what,
        )
    return array.astype(np.int64, copy=False)


def check_weights(weights: Any, n: int, *, what: str) -> FloatArray:
    """Check weights: one for each of `n` hints, or one for all hints; None means 1."""
    if weights is None:
        return np.ones(n)
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SupervisionError(f"{what} must be numbers, got {weights!r}.") from error
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise SupervisionError(
            f"{what} must have one weight per hint: expected {n}; got shape {array.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if bad.size:
        raise SupervisionError(
            f"{what}[{bad[0]}] is {array[bad[0]]}; weights must be finite and above 0.",
            "Remove a hint that should not count.",
            parameter=what,
        )
    return array


def check_pairs(values: Any, weights: Any, n_samples: int, *, what: str) -> tuple[IntArray, FloatArray]:
    """Check pairs and their weights, and convert them to the normal form."""
    pairs = check_rows(values, n_samples, width=2, what=what)
    weight = check_weights(weights, len(pairs), what=f"{what}_weights")
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if same.size:
        raise SupervisionError(f"{what}[{same[0]}] links row {pairs[same[0], 0]} with itself.")
    return _normalise_pairs(pairs, weight, n_samples)


def _normalise_pairs(pairs: IntArray, weight: FloatArray, n_samples: int) -> tuple[IntArray, FloatArray]:
    """Return pairs as i < j, sorted, each once with its largest weight."""
    keys = pairs.min(axis=1) * n_samples + pairs.max(axis=1)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if keys.size else np.empty(0, dtype=np.intp)
    first, second = np.divmod(keys[start], n_samples)
    heaviest = np.maximum.reduceat(weight[order], start) if keys.size else weight.copy()
    normal = np.column_stack([first, second])
    normal.setflags(write=False)
    heaviest.setflags(write=False)
    return normal, heaviest


@dataclass(frozen=True, eq=False)
class RowGroups(ReadOnly):
    """Weighted groups of rows. Iterating over them yields the rows of each group.

    Parameters
    ----------
    indptr : ndarray of shape (n_groups + 1,)
        The members of group g are ``members[indptr[g]:indptr[g + 1]]``.
    members : ndarray of int
        The rows of all groups, ascending in each group.
    weights : ndarray of shape (n_groups,)
        The weight of each group.

    Examples
    --------
    >>> from likewise import Supervision
    >>> groups = Supervision.from_links(5, must_groups=[[0, 2, 4]]).must_groups
    >>> [rows.tolist() for rows in groups], groups.n_pairs
    ([[0, 2, 4]], 3)
    """

    indptr: IntArray
    members: IntArray
    weights: FloatArray

    @classmethod
    def from_lists(cls, groups: Any, n_samples: int, *, weights: Any = None, what: str) -> RowGroups:
        """Check groups given as lists of rows.

        Parameters
        ----------
        groups : iterable of array-like of int, or None
            The rows of each group, at least two. A repeated group counts once, with the largest weight.
        n_samples : int
            The number of rows of the data.
        weights : float or array-like of shape (n_groups,), optional
            The weight of each group; 1 by default.
        what : str
            The name of the groups in error messages.

        Returns
        -------
        groups : RowGroups
            The checked groups.
        """
        lists = [] if groups is None else list(groups)
        weight = check_weights(weights, len(lists), what=f"weights of {what}")
        seen: dict[bytes, float] = {}
        for g, group in enumerate(lists):
            rows = check_rows(group, n_samples, width=None, what=f"{what}[{g}]")
            unique = np.unique(rows)
            if unique.size < rows.size:
                values, counts = np.unique(rows, return_counts=True)
                raise SupervisionError(f"{what}[{g}] contains row {values[counts > 1][0]} twice.")
            if unique.size < 2:
                raise SupervisionError(f"{what}[{g}] has {unique.size} row(s); a group needs at least two.")
            key = unique.tobytes()
            seen[key] = max(seen.get(key, 0.0), float(weight[g]))
        keys = sorted(seen)
        indptr = np.cumsum([0, *(len(key) // 8 for key in keys)], dtype=np.int64)
        members = np.frombuffer(b"".join(keys), dtype=np.int64)
        weight = np.array([seen[key] for key in keys], dtype=np.float64)
        for array in (indptr, members, weight):
            array.setflags(write=False)
        return cls(indptr, members, weight)

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[IntArray]:
        return (self.members[a:b] for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True))

    @property
    def group_of(self) -> IntArray:
        """The group of each entry of `members`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    @property
    def n_pairs(self) -> int:
        """The number of pairs in all groups."""
        sizes = np.diff(self.indptr)
        return int((sizes * (sizes - 1) // 2).sum())

    def restrict(self, positions: IntArray) -> RowGroups:
        """Restrict the groups to some rows. Groups with fewer than two remaining rows are dropped.

        Parameters
        ----------
        positions : ndarray of shape (n_samples,)
            The new position of each row; -1 for a row that is removed.

        Returns
        -------
        groups : RowGroups
            The renumbered groups.
        """
        if not len(self):
            return self
        moved = [positions[rows] for rows in self]
        return self._replace_members([rows[rows >= 0] for rows in moved])

    def _replace_members(self, members: Sequence[IntArray]) -> RowGroups:
        """Return groups with other members; groups with fewer than two are dropped."""
        use = [g for g, rows in enumerate(members) if len(rows) >= 2]
        n_samples = int(np.concatenate([self.members[:0], *members]).max(initial=-1)) + 1
        return RowGroups.from_lists(
            [members[g] for g in use], n_samples, weights=self.weights[use], what="groups"
        )

    def union(self, other: RowGroups, n_samples: int) -> RowGroups:
        """Combine with other groups of the same rows.

        Parameters
        ----------
        other : RowGroups
            The other groups.
        n_samples : int
            The number of rows.

        Returns
        -------
        groups : RowGroups
            The groups of both. A group in both has the larger weight.
        """
        weights = np.concatenate([self.weights, other.weights])
        return RowGroups.from_lists([*self, *other], n_samples, weights=weights, what="groups")

    def list_star_edges(self) -> IntArray:
        """Return edges from the first member of each group to the others.

        Returns
        -------
        edges : ndarray of shape (n_edges, 2)
            Size - 1 edges for each group, which connect its members.
        """
        first = np.repeat(self.members[self.indptr[:-1]], np.diff(self.indptr))
        return np.asarray(np.column_stack([first, self.members])[first != self.members])

    def _make_incidence(self, n_rows: int) -> csr_array:
        """Return a matrix of shape (n_rows, n_groups) with 1 for each member of each group."""
        entries = (np.ones(len(self.members)), (self.members, self.group_of))
        return csr_array(entries, shape=(n_rows, len(self)))

    def list_pairs(self) -> tuple[IntArray, FloatArray]:
        """Enumerate the pairs of all groups. Their number is quadratic in the sizes of the groups.

        Returns
        -------
        pairs : ndarray of shape (n_pairs, 2)
            The pairs.
        weights : ndarray of shape (n_pairs,)
            The weight of the group of each pair.
        """
        corners = [np.triu_indices(len(rows), 1) for rows in self]
        lists = [np.column_stack([rows[i], rows[j]]) for rows, (i, j) in zip(self, corners, strict=True)]
        weights = np.repeat(self.weights, [len(pairs) for pairs in lists])
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *lists]), weights

    @cached_property
    def _by_member(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.members, kind="stable")
        return self.members[order], self.group_of[order]

    def find_shared(self, i: int, j: int) -> IntArray:
        """Return the groups that contain both rows. Takes a binary search after a single sort.

        Parameters
        ----------
        i, j : int
            The rows.

        Returns
        -------
        groups : ndarray of int
            The indices of the groups that contain both.
        """
        members, group_of = self._by_member
        of_i, of_j = (group_of[slice(*np.searchsorted(members, [k, k + 1]))] for k in (i, j))
        return np.intersect1d(of_i, of_j)


@dataclass(frozen=True, eq=False)
class Links(ReadOnly):
    """Must-links and cannot-links, as pairs and as groups."""

    must: IntArray
    must_weights: FloatArray
    cannot: IntArray
    cannot_weights: FloatArray
    must_groups: RowGroups
    cannot_groups: RowGroups

    @classmethod
    def from_pairs_and_groups(
        cls,
        n_samples: int,
        must: Any = None,
        cannot: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        must_groups: Any = None,
        cannot_groups: Any = None,
        must_group_weights: Any = None,
        cannot_group_weights: Any = None,
    ) -> Links:
        """Check and normalise must-links and cannot-links, given as pairs and groups."""
        return cls(
            *check_pairs(must, must_weights, n_samples, what="must"),
            *check_pairs(cannot, cannot_weights, n_samples, what="cannot"),
            RowGroups.from_lists(must_groups, n_samples, weights=must_group_weights, what="must_groups"),
            RowGroups.from_lists(
                cannot_groups, n_samples, weights=cannot_group_weights, what="cannot_groups"
            ),
        )

    def __len__(self) -> int:
        return (
            len(self.must)
            + len(self.cannot)
            + len(self.must_groups.weights)
            + len(self.cannot_groups.weights)
        )

    @property
    def rows(self) -> IntArray:
        """The rows of all links, with repetitions."""
        groups = self.must_groups.members, self.cannot_groups.members
        return np.concatenate([self.must.reshape(-1), self.cannot.reshape(-1), *groups])

    def restrict(self, rows: IntArray, positions: IntArray) -> Links:
        """Return the links between the remaining rows, renumbered."""
        kept: list[Any] = []  # must, its weights, cannot, its weights
        n_samples = max(len(rows), 1)
        for pairs, weights in ((self.must, self.must_weights), (self.cannot, self.cannot_weights)):
            moved = positions[pairs]
            use = (moved >= 0).all(axis=1)
            kept += _normalise_pairs(moved[use], weights[use], n_samples)
        for groups in (self.must_groups, self.cannot_groups):
            kept.append(groups.restrict(positions) if len(groups.weights) else groups)
        return Links(*kept)

    def union(self, other: Links, n_samples: int) -> Links:
        """Return the links of both; a link in both has the larger weight."""
        merged: list[Any] = []
        for name in ("must", "cannot"):
            pairs = np.concatenate([getattr(self, name), getattr(other, name)])
            weights = np.concatenate([getattr(self, f"{name}_weights"), getattr(other, f"{name}_weights")])
            merged += _normalise_pairs(pairs, weights, n_samples)
        merged.append(self.must_groups.union(other.must_groups, n_samples))
        merged.append(self.cannot_groups.union(other.cannot_groups, n_samples))
        return Links(*merged)

    def summary(self) -> str:
        """Describe the links in a few words."""
        counts = {
            "must": len(self.must),
            "cannot": len(self.cannot),
            "must group(s)": len(self.must_groups.weights),
            "cannot group(s)": len(self.cannot_groups.weights),
        }
        return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


# ---------------------------------------------------------------------- triplets


def check_answers(answers: Any, n: int) -> npt.NDArray[np.int8]:
    """Convert the words AB, AC, BC, NEITHER (one for all, or one per triplet) to the codes 0 to 3."""
    words = [answers] * n if isinstance(answers, str) else list(answers)
    if len(words) != n:
        raise SupervisionError(f"answers must be one word per triplet: expected {n}; got {len(words)}.")
    for t, word in enumerate(words):
        if str(word).upper() not in TRIPLET_ANSWERS:
            raise SupervisionError(
                f"answers[{t}] is {word!r}; expected one of {', '.join(TRIPLET_ANSWERS)}. "
                "Remove triplets whose answer is unknown."
            )
    return np.array([TRIPLET_ANSWERS.index(str(word).upper()) for word in words], dtype=np.int8)


@dataclass(frozen=True, eq=False)
class Triplets(ReadOnly):
    """Triplets (a, b, c) with a < b < c, and the answer to "which two belong together?"."""

    rows_abc: IntArray
    answers: npt.NDArray[np.int8]
    weights: FloatArray

    @classmethod
    def from_arrays(cls, n_samples: int, triplets: Any, answers: Any, weights: Any = None) -> Triplets:
        """Check triplets and convert them to the normal form: rows ascending, without repetitions."""
        rows = check_rows(triplets, n_samples, width=3, what="triplets")
        weight = check_weights(weights, len(rows), what="weights")
        codes = check_answers(answers, len(rows))
        order = np.argsort(rows, axis=1, kind="stable")
        sorted_rows = np.take_along_axis(rows, order, axis=1)
        twice = np.flatnonzero((np.diff(sorted_rows, axis=1) == 0).any(axis=1))
        if twice.size:
            given = tuple(rows[twice[0]].tolist())
            raise SupervisionError(f"triplets[{twice[0]}] is {given}; expected three different rows.")
        return cls._sort_and_merge(sorted_rows, _reorder_codes(codes, order), weight)

    @classmethod
    def _sort_and_merge(cls, rows: IntArray, codes: npt.NDArray[np.int8], weight: FloatArray) -> Triplets:
        order = np.lexsort((-weight, codes, rows[:, 2], rows[:, 1], rows[:, 0]))
        rows, codes, weight = rows[order], codes[order], weight[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
        return cls(freeze(rows[new]), freeze(codes[new]), freeze(weight[new]))

    def __len__(self) -> int:
        return len(self.rows_abc)

    @property
    def rows(self) -> IntArray:
        """The rows of all triplets, with repetitions."""
        return self.rows_abc.reshape(-1)

    def restrict(self, rows: IntArray, positions: IntArray) -> Triplets:
        """Return the triplets whose three rows remain, renumbered."""
        moved = positions[self.rows_abc]
        use = (moved >= 0).all(axis=1)
        moved = moved[use]
        order = np.argsort(moved, axis=1, kind="stable")
        codes = _reorder_codes(self.answers[use], order)
        return self._sort_and_merge(np.take_along_axis(moved, order, axis=1), codes, self.weights[use])

    def union(self, other: Triplets, n_samples: int) -> Triplets:
        """Return the triplets of both."""
        return self._sort_and_merge(
            np.concatenate([self.rows_abc, other.rows_abc]),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.weights, other.weights]),
        )

    def summary(self) -> str:
        """Describe the triplets in a few words."""
        return f"{len(self)} triplet(s)"


def _reorder_codes(codes: npt.NDArray[np.int8], order: IntArray) -> npt.NDArray[np.int8]:
    """Return the codes of the answers after the three rows are put in `order`."""
    out = codes.copy()
    odd = np.array([*_ODD_ONE, -1])[codes]  # which of a, b, c is the odd one; -1 for NEITHER
    pairs = codes < 3
    place = (order == odd[:, None]).argmax(axis=1)  # its new position
    out[pairs] = np.array(_ODD_ONE, dtype=np.int8)[place[pairs]]
    return out
