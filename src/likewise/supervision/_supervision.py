"""The row-aligned collection of all hints about a data set."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from likewise.exceptions import SupervisionError
from likewise.supervision._closure import Closure, OnConflict, Relation, compute_closure, drop_conflicts
from likewise.supervision._convert import LIMIT, derive_links
from likewise.supervision._diagnosis import Diagnosis, diagnose, render_hints
from likewise.supervision._labels import Bags, Labels
from likewise.supervision._links import (
    TRIPLET_ANSWERS,
    Links,
    RowGroups,
    RowPositions,
    Triplets,
    check_rows,
    freeze,
    parse_link,
    sort_unique,
)
from likewise.supervision.row_checks import (
    FloatArray,
    IntArray,
    RowIndex,
    align,
    check_n_samples,
    check_same_index,
    check_same_labels,
    find_first_positions,
    select_rows,
)

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

Kind = Literal["links", "triplets", "bags", "labels"]
KINDS: tuple[str, ...] = get_args(Kind)
_Part = Links | Triplets | Bags | Labels
_NO_LINKS = Links.from_pairs_and_groups(1)
_NO_TRIPLETS = Triplets.from_arrays(1, None, [])


class Supervision:
    """Hints about the rows of a data set: links, triplets, bags and labels. Immutable and row-aligned.

    Create hints with :meth:`from_links`, :meth:`from_triplets`, :meth:`from_bags` or :meth:`from_labels`, and
    combine them with ``|``. Hints have ``shape == (n_samples,)``. Indexing them with a slice, a mask or
    integers restricts them to these rows and renumbers them, so ``train_test_split``, ``cross_validate``,
    ``GridSearchCV`` and pipelines split hints together with the rows. A link is kept if both of its rows are.
    If an index contains a row twice, as in a bootstrap, its links and triplets go to the first copy, and its
    label and bag to all copies.

    Stated hints are stored in a normal form: pairs as i < j, each once, with the largest weight that was
    given. Implied links are derived by :meth:`closure`.

    Parameters
    ----------
    n_samples : int
        The number of rows.
    parts : mapping of str to object, optional
        The hints of each kind, as the ``from_`` methods create them. By default there are none.
    index : tuple, optional
        The index label of each row, for error messages and for checking that hints match a data frame.

    Examples
    --------
    >>> from likewise import Supervision
    >>> hints = Supervision.from_links(8, must=[(0, 3), (3, 5)], cannot=[(1, 7), (5, 1)])
    >>> hints
    Supervision(8 rows: 2 must, 2 cannot)
    >>> hints.relation(0, 7).kind, hints.relation(0, 1).reason
    ('unknown', '0 = 3 = 5 ≠ 1')
    >>> hints[:4]
    Supervision(4 rows: 1 must)
    >>> hints | Supervision.from_labels([None] * 7 + ["wren"])
    Supervision(8 rows: 2 must, 2 cannot; 1 label(s) of 1 class(es))
    """

    n_samples: int
    """The number of rows."""
    shape: tuple[int]
    """``(n_samples,)``, as for any array aligned with the rows."""
    ndim: int = 1
    """1: the rows."""
    kinds: frozenset[str]
    """The kinds of hints: any of "links", "triplets", "bags", "labels"."""
    links: Links
    """The links, empty if there are none."""
    must: IntArray
    """Pairs of rows that belong together, i < j, sorted."""
    must_weights: FloatArray
    """The weight of each must-link."""
    cannot: IntArray
    """Pairs of rows that do not belong together, i < j, sorted."""
    cannot_weights: FloatArray
    """The weight of each cannot-link."""
    must_groups: RowGroups
    """Groups of rows that all belong together."""
    cannot_groups: RowGroups
    """Groups of rows, no two of which belong together."""
    triplets: IntArray
    """Triplets of rows, ascending."""
    answers: npt.NDArray[np.int8]
    """The answer to each triplet as a code: 0 AB, 1 AC, 2 BC, 3 NEITHER."""
    triplet_weights: FloatArray
    """The weight of each triplet."""
    bags: Bags | None
    """The bag of each row and the labels of each bag, or None."""
    classes: tuple[Hashable, ...]
    """The labels that occur, sorted."""
    _index: tuple[Any, ...] | None  # the index labels of the rows, if given
    _parts: dict[str, Any]

    def __init__(
        self, n_samples: int, parts: Mapping[str, _Part] | None = None, index: tuple[Any, ...] | None = None
    ) -> None:
        n = n_samples if type(n_samples) is int and n_samples > 0 else check_n_samples(n_samples)
        given: Mapping[str, Any] = parts or {}
        kept = {kind: given[kind] for kind in KINDS if given.get(kind) is not None and len(given[kind])}
        links, triplets = kept.get("links", _NO_LINKS), kept.get("triplets", _NO_TRIPLETS)
        self.__dict__.update(
            vars(links),  # must, must_weights, must_groups and the same of cannot-links
            n_samples=n,
            shape=(n,),
            kinds=frozenset(kept),
            links=links,
            triplets=triplets.rows_abc,
            answers=triplets.answers,
            triplet_weights=triplets.weights,
            bags=kept.get("bags"),
            classes=kept["labels"].classes if "labels" in kept else (),
            _parts=kept,
            _index=index,
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("hints are immutable; make new hints and combine them with |.")

    # ------------------------------------------------------------------ creation

    @classmethod
    def empty(cls, n_samples: int) -> Supervision:
        """Return empty hints.

        Parameters
        ----------
        n_samples : int
            The number of rows.

        Returns
        -------
        hints : Supervision
            Hints without content.
        """
        return cls(n_samples)

    @classmethod
    def from_links(
        cls,
        n_samples: int | None = None,
        must: Any = None,
        cannot: Any = None,
        *,
        index: Any = None,
        must_weights: Any = None,
        cannot_weights: Any = None,
        must_groups: Any = None,
        cannot_groups: Any = None,
        must_group_weights: Any = None,
        cannot_group_weights: Any = None,
    ) -> Supervision:
        """Create hints from pairs of rows that belong together or do not.

        Parameters
        ----------
        n_samples : int, optional
            The number of rows, ``len(X)``; not needed with `index`.
        must, cannot : array-like of shape (n, 2), optional
            Pairs of row numbers, or of labels of `index`. Neither the order of the pairs nor the order in a
            pair matters.
        index : pandas.Index or sequence of shape (n_samples,), optional
            The label of each row, such as ``df.index``. Pairs and groups then refer to rows by label, also if
            the labels are integers.
        must_weights, cannot_weights : float or array-like of shape (n,), optional
            The weight of each link, by default 1. A repeated link counts once, with the largest weight.
        must_groups, cannot_groups : list of lists of rows, optional
            Groups of rows that all belong together, or no two of which belong together. A group of m rows
            represents m (m - 1) / 2 links in memory for m numbers.
        must_group_weights, cannot_group_weights : float or array-like, optional
            The weight of each link in a group, by default 1.

        Returns
        -------
        hints : Supervision
            Hints with links only.

        Examples
        --------
        >>> hints = Supervision.from_links(index=["a", "b", "c"], must=[("a", "c")])
        >>> hints.must.tolist()
        [[0, 2]]
        """
        for what, hinted, weights in (("must", must, must_weights), ("cannot", cannot, cannot_weights)):
            if hasattr(weights, "iloc"):  # a Series of pandas
                check_same_index(hinted, weights, what)
        labels = None
        if index is not None or n_samples is None:
            names = RowIndex.from_index(index, n_samples)
            n_samples, labels = names.n_samples, names.labels
            must, cannot = names.find_rows(must, "must", width=2), names.find_rows(cannot, "cannot", width=2)
            must_groups = names.find_rows(must_groups, "must_groups")
            cannot_groups = names.find_rows(cannot_groups, "cannot_groups")
        n = check_n_samples(n_samples)
        links = Links.from_pairs_and_groups(
            n,
            must,
            cannot,
            must_weights,
            cannot_weights,
            must_groups,
            cannot_groups,
            must_group_weights,
            cannot_group_weights,
        )
        return cls(n, {"links": links}, labels)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        index: Any = None,
        a: str = "a",
        b: str = "b",
        link: str = "link",
        weight: str = "weight",
    ) -> Supervision:
        """Create links from a data frame with one link in each row.

        Parameters
        ----------
        frame : pandas.DataFrame, or mapping of column to values
            The links. Other columns are ignored.
        index : pandas.Index or sequence of shape (n_samples,)
            The label of each row of the data, such as ``df.index``, to which the columns `a` and `b` refer;
            ``range(len(X))`` if they contain row numbers. It is required.
        a, b : str, default="a" and "b"
            The columns with the two rows of a link.
        link : str, default="link"
            The column with the kind of link: must or cannot. Same and different, yes and no, True and False,
            and 1 and -1 are accepted too.
        weight : str, default="weight"
            The column with the weights. Without such a column, each link has the weight 1.

        Returns
        -------
        hints : Supervision
            Hints with links only.

        Examples
        --------
        >>> links = {"left": ["a", "b"], "right": ["c", "c"], "same": [True, False]}
        >>> hints = Supervision.from_frame(links, index=["a", "b", "c"], a="left", b="right", link="same")
        >>> hints.must.tolist(), hints.cannot.tolist()
        ([[0, 2]], [[1, 2]])
        """
        if index is None:
            raise SupervisionError(
                "from_frame needs the labels of the rows of the data: pass index=df.index, to which the "
                f"columns {a!r} and {b!r} refer, or index=range(len(X)) if they contain row numbers."
            )
        columns = list(frame.columns if hasattr(frame, "columns") else frame)
        for name in (a, b, link, *([weight] if weight != "weight" else [])):
            if name not in columns:
                raise SupervisionError(
                    f"the frame has no column {name!r}; its columns are {', '.join(map(repr, columns))}. "
                    "Name the columns with a=, b= and link=."
                )
        first, second, words = (list(frame[name]) for name in (a, b, link))
        weights = list(frame[weight]) if weight in columns else [1.0] * len(first)
        pairs: dict[str, list[tuple[int, ...]]] = {"must": [], "cannot": []}
        pair_weights: dict[str, list[float]] = {"must": [], "cannot": []}
        names = RowIndex.from_index(index)
        for row, cells in enumerate(zip(first, second, words, weights, strict=True)):
            try:
                kind = parse_link(cells[2])
            except ValueError as error:
                raise SupervisionError(f"row {row} of the frame: {error}") from None
            pairs[kind].append(tuple(names.find_row(label, f"row {row} of the frame") for label in cells[:2]))
            pair_weights[kind].append(cells[3])
        links = Links.from_pairs_and_groups(
            names.n_samples,
            pairs["must"],
            pairs["cannot"],
            pair_weights["must"],
            pair_weights["cannot"],
        )
        return cls(names.n_samples, {"links": links}, names.labels)

    @classmethod
    def from_triplets(
        cls,
        n_samples: int | None = None,
        triplets: Any = None,
        answers: Any = "AB",
        *,
        index: Any = None,
        weights: Any = None,
    ) -> Supervision:
        """Create hints from answers to "which two of these three belong together?".

        Parameters
        ----------
        n_samples : int, optional
            The number of rows; not needed with `index`.
        triplets : array-like of shape (n, 3)
            The rows (a, b, c) of each triplet.
        answers : {"AB", "AC", "BC", "NEITHER"} or a sequence of them, default="AB"
            The two rows that belong together without the third; NEITHER if all three or no two belong
            together. The default means "a is more like b than like c".
        index : pandas.Index or sequence of shape (n_samples,), optional
            The label of each row. Triplets then refer to rows by label.
        weights : float or array-like of shape (n,), optional
            The weight of each triplet, by default 1.

        Returns
        -------
        hints : Supervision
            Hints with triplets only.

        Examples
        --------
        >>> Supervision.from_triplets(5, [(4, 1, 0)], "AC").triplets
        array([[0, 1, 4]])
        >>> Supervision.from_triplets(5, [(4, 1, 0)], "AC").answer_words
        ('AC',)
        """
        names = RowIndex.from_index(index, n_samples)
        rows = names.find_rows(triplets, "triplets", width=3)
        part = Triplets.from_arrays(names.n_samples, rows, answers, weights)
        return cls(names.n_samples, {"triplets": part}, names.labels)

    @classmethod
    def from_bags(
        cls, bags: Any, bag_labels: Mapping[Any, Any] | None = None, *, index: Any = None
    ) -> Supervision:
        """Create hints from bags: groups of rows that share a set of labels.

        Parameters
        ----------
        bags : array-like of shape (n_samples,)
            The bag of each row, any hashable; None for a row in no bag.
        bag_labels : mapping of bag to a collection of labels, optional
            The labels of each bag. A bag that is missing or None is unlabelled.
        index : pandas.Index or sequence of shape (n_samples,), optional
            The label of each row. `bags` can then be a Series or a mapping of label to bag.

        Returns
        -------
        hints : Supervision
            Hints with bags only.

        Examples
        --------
        >>> Supervision.from_bags(["r1", "r1", "r2"], {"r1": ["wren", "thrush"]})
        Supervision(3 rows: 2 bag(s), 1 of them labelled)
        """
        values, row_labels = align(bags, index, "bags")
        part = Bags.from_arrays(values, bag_labels)
        return cls(len(part.codes), {"bags": part}, row_labels)

    @classmethod
    def from_labels(cls, labels: Any, *, index: Any = None, missing: Any = -1) -> Supervision:
        """Create hints from the labels of some rows.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            The label of each row, any hashable. None and NaN always mean "unknown". A Series must have the
            index 0, 1, 2, …, unless `index` is given.
        index : pandas.Index or sequence of shape (n_samples,), optional
            The index label of each row of the data, such as ``df.index``. `labels` can then be a Series,
            which is aligned by its index, or a mapping of index label to class; rows that it does not contain
            are unlabelled.
        missing : object, default=-1
            A further marker for "unknown", such as "". By default the number -1, as in scikit-learn; use None
            if -1 is a class.

        Returns
        -------
        hints : Supervision
            Hints with labels only.

        Warns
        -----
        QuestionableHintsWarning
            If -1 and 1 are the only labels, because -1 may then be a class.

        Examples
        --------
        >>> Supervision.from_labels([0, -1, 1, -1, 1])
        Supervision(5 rows: 3 label(s) of 2 class(es), -1 read as unlabelled)
        >>> Supervision.from_labels([0, -1, 1, -1, 1], missing=None)
        Supervision(5 rows: 5 label(s) of 3 class(es))
        >>> Supervision.from_labels({"b": "wren"}, index=["a", "b", "c"]).label_codes
        array([-1,  0, -1])
        """
        values, row_labels = align(labels, index, "labels")
        part = Labels.from_array(values, missing)
        if missing == -1 and not isinstance(missing, bool):
            part.warn_of_two_signs()
        return cls(len(part.codes), {"labels": part}, row_labels)

    # ------------------------------------------------------------------ row alignment

    def __len__(self) -> int:
        return self.n_samples

    def __iter__(self) -> Any:
        raise TypeError("hints are not iterable; iterate over hints.must, hints.cannot and so on.")

    def __getitem__(self, key: Any) -> Supervision:
        rows = select_rows(key, self.n_samples)
        if not len(rows):
            raise SupervisionError(f"the index selects none of the {self.n_samples} rows.")
        return self._restrict(rows, find_first_positions(rows, self.n_samples))

    def _restrict(self, rows: IntArray, positions: Any) -> Supervision:
        """Return the hints about some rows; `positions` has the new position of each row, -1 for none."""
        parts = {kind: part.restrict(rows, positions) for kind, part in self._parts.items()}
        index = None if self._index is None else tuple(self._index[row] for row in rows)
        return Supervision(len(rows), parts, index)

    def restrict_to_hinted(self) -> tuple[IntArray, Supervision]:
        """Return the rows with hints, and the hints restricted to these rows.

        For links and triplets, the memory depends on the number of hints, not on the number of rows.

        Returns
        -------
        rows : ndarray of int
            The rows with hints, ascending.
        hints : Supervision
            The same hints about these rows only, renumbered. If there are no hints, these are empty hints
            about one row.

        Examples
        --------
        >>> rows, few = Supervision.from_links(10**12, must=[(5, 10**11)], cannot=[(5,
        ...     7)]).restrict_to_hinted()
        >>> rows.tolist(), few.must.tolist(), few.cannot.tolist()
        ([5, 7, 100000000000], [[0, 2]], [[0, 1]])
        """
        rows = sort_unique(
            np.concatenate([np.empty(0, dtype=np.int64), *(part.rows for part in self._parts.values())])
        )
        return rows, self._restrict(rows, RowPositions(rows)) if len(rows) else Supervision(1)

    def _restrict_to(self, rows: IntArray) -> Supervision:
        """Return the hints about ascending rows that include all rows with hints, renumbered."""
        return self._restrict(rows, RowPositions(rows))

    def extend(self, n_samples: int) -> Supervision:
        """Return the same hints for more rows; the new rows come last and have no hints.

        Parameters
        ----------
        n_samples : int
            The number of rows, at least as many as now.

        Returns
        -------
        hints : Supervision
            The hints for `n_samples` rows. Index labels are left out.

        Examples
        --------
        >>> Supervision.from_labels(["wren", None, "owl"]).extend(5)
        Supervision(5 rows: 2 label(s) of 2 class(es))
        """
        if n_samples < self.n_samples:
            raise SupervisionError(
                f"the hints are for {self.n_samples} rows; got n_samples={n_samples}. To leave rows out, "
                "index the hints: hints[rows]."
            )
        parts: dict[str, Any] = dict(self._parts)
        for kind, part in parts.items():
            if isinstance(part, Labels | Bags):
                codes = np.concatenate([part.codes, np.full(n_samples - self.n_samples, -1)])
                parts[kind] = replace(part, codes=freeze(codes.astype(part.codes.dtype)))
        return Supervision(n_samples, parts)

    def _name_rows(self, rows: Iterable[int], among: IntArray | None = None) -> list[str]:
        """Return the names of rows for messages: their numbers, and their index labels if known.

        If the hints are about a part of the rows, `among` has the numbers of these rows.
        """
        labels = self._index
        return [
            f"{row if among is None else among[row]}{'' if labels is None else f' ({labels[row]!r})'}"
            for row in rows
        ]

    def __or__(self, other: object) -> Supervision:
        if not isinstance(other, Supervision):
            return NotImplemented
        if other.n_samples != self.n_samples:
            raise SupervisionError(
                f"hints for {self.n_samples} rows and hints for {other.n_samples} rows cannot be combined."
            )
        check_same_labels(self._index, other._index)
        parts: dict[str, Any] = {**other._parts, **self._parts}
        for kind in self.kinds & other.kinds:
            parts[kind] = self._parts[kind].union(other._parts[kind], self.n_samples)
        return Supervision(self.n_samples, parts, self._index if self._index is not None else other._index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Supervision) and self._make_key() == other._make_key()

    def __hash__(self) -> int:
        return hash(self._make_key())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Supervision, (self.n_samples, self._parts, self._index))

    def __deepcopy__(self, memo: Any) -> Supervision:
        return self  # the hints are immutable

    def _make_key(self) -> tuple[Any, ...]:
        def simplify(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return (value.shape, value.tobytes())
            if isinstance(value, Links | Triplets | Bags | Labels | RowGroups):
                return tuple(simplify(getattr(value, field.name)) for field in fields(value) if field.compare)
            return value

        return (self.n_samples, *((kind, simplify(part)) for kind, part in self._parts.items()))

    def __repr__(self) -> str:
        summary = "; ".join(part.summary() for part in self._parts.values()) or "no hints"
        return f"Supervision({self.n_samples} rows: {summary})"

    # ------------------------------------------------------------------ content

    def __bool__(self) -> bool:
        return bool(self._parts)

    def select_kinds(
        self, *kinds: str | frozenset[str] | set[str] | list[str] | tuple[str, ...]
    ) -> Supervision:
        """Return only the hints of some kinds.

        Parameters
        ----------
        *kinds : str or collection of str
            The kinds to keep: "links", "triplets", "bags" or "labels".

        Returns
        -------
        hints : Supervision
            The hints of these kinds, about the same rows.

        Examples
        --------
        >>> both = Supervision.from_links(3, must=[(0, 1)]) | Supervision.from_labels([1, None, 2])
        >>> both.select_kinds("labels")
        Supervision(3 rows: 2 label(s) of 2 class(es))
        """
        wanted = {k for kind in kinds for k in ([kind] if isinstance(kind, str) else kind)}
        if unknown := wanted - set(KINDS):
            raise SupervisionError(f"expected kinds of hints among {list(KINDS)}; got {sorted(unknown)}.")
        parts = {kind: part for kind, part in self._parts.items() if kind in wanted}
        return Supervision(self.n_samples, parts, self._index)

    @property
    def answer_words(self) -> tuple[str, ...]:
        """The answer to each triplet as a word."""
        return tuple(TRIPLET_ANSWERS[code] for code in self.answers)

    @property
    def label_codes(self) -> IntArray:
        """The label of each row as an index into :attr:`classes`; -1 if it is unknown."""
        if "labels" not in self.kinds:
            return np.full(self.n_samples, -1, dtype=np.int64)
        codes: IntArray = self._parts["labels"].codes
        return codes

    @property
    def touched(self) -> npt.NDArray[np.bool_]:
        """A mask of the rows with at least one hint; rows of unlabelled bags do not count."""
        mask = np.zeros(self.n_samples, dtype=bool)
        for part in self._parts.values():
            mask[part.rows] = True
        return mask

    # ------------------------------------------------------------------ implications

    def closure(self, on_conflict: OnConflict = "raise") -> Closure:
        """Return the must-link components and the cannot-links between them.

        Time and memory are linear in the rows and links; implied pairs are not enumerated.

        Parameters
        ----------
        on_conflict : {"raise", "drop", "keep"}, default="raise"
            What to do with a cannot-link between rows that must-links connect: raise an error that shows the
            chain, drop the cannot-link, or keep it as an edge from the component to itself.

        Returns
        -------
        closure : Closure
            The components and the cannot-links between them.
        """
        closed = compute_closure(self.links, self.n_samples, on_conflict)
        if on_conflict == "raise" and len(closed.conflicts):
            raise closed._make_conflict_error(self._name_rows)
        return closed

    @cached_property
    def _kept_closure(self) -> Closure:
        return self.closure(on_conflict="keep")

    def relation(self, i: int, j: int) -> Relation:
        """Return the relation between two rows that the links imply, and the reason.

        Must-links take precedence over contradictory cannot-links; :meth:`closure` shows the contradictions.

        Parameters
        ----------
        i, j : int
            Two different rows.

        Returns
        -------
        relation : Relation
            Whether the rows belong together, do not belong together, or neither is known.
        """
        a, b = check_rows([i, j], self.n_samples, width=None, what="relation").tolist()
        if a == b:
            raise SupervisionError(f"expected two different rows; got row {a} twice.")
        return self._kept_closure.relation(a, b)

    def to_links(self, *, more_clusters_than_classes: bool = False, limit: int = LIMIT) -> Supervision:
        """Convert all hints to links: the stated links, and those that triplets, bags and labels imply.

        See :func:`triplets_to_links`, :func:`bags_to_links` and :func:`labels_to_links` for the links that
        each kind implies. Labels and bags are converted independently of each other.

        Parameters
        ----------
        more_clusters_than_classes : bool, default=False
            Whether a class may consist of several clusters. Rows of the same class are then not must-linked.
        limit : int, default=1_000_000
            Maximum number of cannot-links from bags, and from labels; it is an error if there are more.

        Returns
        -------
        hints : Supervision
            Hints with links only.

        Examples
        --------
        >>> hints = Supervision.from_links(4, must=[(0, 3)]) | Supervision.from_labels(["x", "y", "x", None])
        >>> hints.to_links().relation(3, 1).reason
        '3 = 0 ≠ 1'
        """
        links, n = self.links, self.n_samples
        for kind, part in self._parts.items():
            if kind != "links":
                links = links.union(derive_links(part, n, more_clusters_than_classes, limit), n)
        return Supervision(n, {"links": links}, self._index)

    def diagnose(self, X: MatrixLike | None = None, *, labels: Any = None) -> Diagnosis:
        """Compute statistics of the hints: coverage, components, contradictions, redundancy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            The rows, to compute the coherence of the links.
        labels : array-like of shape (n_samples,), optional
            The clusters of a method without hints, to compute the informativeness of the links.

        Returns
        -------
        diagnosis : Diagnosis
            The statistics.
        """
        return diagnose(self, X, labels)

    def describe(self, X: MatrixLike | None = None, *, labels: Any = None) -> str:
        """Return the diagnosis as text; use ``print(hints.describe())``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            The rows, to compute the coherence of the links.
        labels : array-like of shape (n_samples,), optional
            The clusters of a method without hints, to compute the informativeness of the links.

        Returns
        -------
        text : str
            A report of several lines.
        """
        return str(self.diagnose(X, labels=labels))

    def _repr_html_(self) -> str:
        return render_hints(self)

    def drop_conflicts(self) -> Supervision:
        """Remove the cannot-links that contradict the must-links.

        Returns
        -------
        hints : Supervision
            The other hints.
        """
        parts = self._parts | {"links": drop_conflicts(self.links, self.n_samples)}
        return Supervision(self.n_samples, parts, self._index)
