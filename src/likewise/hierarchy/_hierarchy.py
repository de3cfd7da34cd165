"""Label hierarchies."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from likewise._optional import require
from likewise.exceptions import HierarchyError
from likewise.hierarchy._edges import (
    BoolArray,
    Edge,
    FloatArray,
    IntArray,
    ancestor_matrix,
    check_column,
    check_names,
    cycle_text,
    depths_or_cycle,
    edge_positions,
    format_names,
    group_values,
    nearest_kept,
    reachable,
    read_edges,
    read_parents,
    unknown_label,
)
from likewise.hierarchy._indicators import Consistency, read_indicators, with_labels

if TYPE_CHECKING:
    from likewise._typing import ArrayLike

# The optional numeric columns: singular name (one label, in files and graphs) and plural name (attribute).
COLUMNS = {"score": "scores", "margin": "margins", "count": "counts"}


class LabelHierarchy:
    """A tree or directed acyclic graph of labels, in which a label includes the labels below it.

    A row with a label should have all ancestors of the label. A label without a parent is a child of the
    root, which is not a label itself and has no name here. A hierarchy is immutable, and two hierarchies are
    equal if they have the same names in the same order and the same edges.

    Parameters
    ----------
    names : iterable of str
        The labels, in the order of the columns of the indicators.
    edges : iterable of (parent, child), default=()
        Pairs of names, or of positions in `names`. Repeated edges count once.
    scores : array-like of shape (n_labels,), optional
        The gain in log-likelihood from the parents of each label over the root alone; 0 for a child of the
        root. NaN means unknown, here and below.
    margins : array-like of shape (n_labels,), optional
        The loss in log-likelihood if each label had its second-best parent; infinite if there is no other
        candidate.
    counts : array-like of shape (n_labels,), optional
        The number of rows with each label.

    Attributes
    ----------
    names : tuple of str
        The labels.
    scores, margins, counts : ndarray of float64, of shape (n_labels,), or None
        As given, read-only.

    Notes
    -----
    Creating a hierarchy costs O(n_labels + n_edges). :meth:`ancestor_matrix`, :meth:`close` and all methods
    that need every ancestor of every label take n_labels² bytes.

    Examples
    --------
    >>> from likewise.hierarchy import LabelHierarchy
    >>> pets = LabelHierarchy(["animal", "cat", "kitten", "toy"], [("animal", "cat"), ("cat", "kitten")])
    >>> pets
    LabelHierarchy(4 labels: 2 on the root, 2 edges, depth 2)
    >>> pets.ancestors("kitten"), pets.tops
    (('cat', 'animal'), ('animal', 'toy'))
    >>> pets.close([[0, 0, 1, 0], [0, 1, 0, 1]])
    array([[1, 1, 1, 0],
           [1, 1, 0, 1]])
    >>> print(pets.consistency([[0, 0, 1, 0], [1, 1, 0, 1]]))
    50.0% of 2 rows are consistent; most often violated: 'kitten' without 'cat', in 1 row(s)
    """

    names: tuple[str, ...]
    scores: FloatArray | None
    margins: FloatArray | None
    counts: FloatArray | None
    _pairs: IntArray
    _depths: IntArray
    _index: dict[str, int]

    def __init__(
        self,
        names: Iterable[str],
        edges: Any = (),
        *,
        scores: Any = None,
        margins: Any = None,
        counts: Any = None,
    ) -> None:
        checked = check_names(names)
        index = {name: k for k, name in enumerate(checked)}
        pairs = edge_positions(edges, checked, index)
        self.__dict__.update(
            names=checked,
            scores=check_column(scores, len(checked), "scores"),
            margins=check_column(margins, len(checked), "margins"),
            counts=check_column(counts, len(checked), "counts", least=0),
            _pairs=_freeze(pairs),
            _index=index,
        )
        depths, cycle = depths_or_cycle(self.parent_lists, self._child_lists)
        if cycle:
            raise HierarchyError(f"{cycle_text([checked[k] for k in cycle])} Remove one of these edges.")
        self.__dict__["_depths"] = _freeze(depths)

    # ------------------------------------------------------------------ creation

    @classmethod
    def from_edges(
        cls, edges: Any, *, names: Iterable[str] | None = None, root: str | None = "root"
    ) -> LabelHierarchy:
        """Create a hierarchy from pairs of names, which may include the root.

        Parameters
        ----------
        edges : iterable of (parent, child)
            Pairs of names. A pair with the parent `root` makes the child a child of the root.
        names : iterable of str, optional
            The labels in column order. By default the labels in `edges`, in order of appearance.
        root : str or None, default="root"
            The name of the root; None if `edges` does not include it.

        Returns
        -------
        hierarchy : LabelHierarchy
            The hierarchy.

        Examples
        --------
        >>> LabelHierarchy.from_edges([("root", "animal"), ("animal", "cat")]).edges
        (('animal', 'cat'),)
        """
        return cls(**read_edges(edges, names, root))

    @classmethod
    def from_parents(cls, parents: Any, names: Iterable[str] | None = None) -> LabelHierarchy:
        """Create a tree from the position of each label's parent.

        Parameters
        ----------
        parents : array-like of int, of shape (n_labels,)
            The positions of the parents; -1 for a child of the root.
        names : iterable of str, optional
            The labels; by default "0", "1" and so on.

        Returns
        -------
        hierarchy : LabelHierarchy
            The tree.

        Examples
        --------
        >>> LabelHierarchy.from_parents([-1, 0, 0, 1]).edges
        (('0', '1'), ('0', '2'), ('1', '3'))
        """
        return cls(**read_parents(parents, names))

    @classmethod
    def from_networkx(cls, graph: Any, *, root: Any = None) -> LabelHierarchy:
        """Create a hierarchy from a directed networkx graph whose edges go from parent to child.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes, converted to strings, are the labels, in their order. The node attributes ``score``,
            ``margin`` and ``count`` are kept.
        root : node, optional
            The node that is the root and therefore not a label.

        Returns
        -------
        hierarchy : LabelHierarchy
            The hierarchy.
        """
        return cls(**read_graph(graph, root))

    def to_networkx(self, *, root: str | None = None) -> Any:
        """Return a networkx ``DiGraph`` with an edge from each parent to each of its children.

        Parameters
        ----------
        root : str, optional
            If given, a node with this name is added, with edges to the children of the root.

        Returns
        -------
        networkx.DiGraph
            The nodes are the names, with the attributes ``score``, ``margin`` and ``count`` where they are
            known. Needs ``pip install 'likewise[graphs]'``.
        """
        return make_graph(self, root)

    # ------------------------------------------------------------------ structure

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.names)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The edges (parent, child) between labels, ordered by the position of the child."""
        return tuple((self.names[p], self.names[c]) for p, c in self._pairs.tolist())

    @cached_property
    def parent_lists(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the parents of each label; empty for a child of the root."""
        return group_values(self._pairs[:, 1], self._pairs[:, 0], self.n_labels)

    @cached_property
    def _child_lists(self) -> tuple[tuple[int, ...], ...]:
        return group_values(self._pairs[:, 0], self._pairs[:, 1], self.n_labels)

    @cached_property
    def is_tree(self) -> bool:
        """True if no label has more than one parent."""
        return all(len(above) <= 1 for above in self.parent_lists)

    @cached_property
    def parents(self) -> IntArray:
        """The position of each label's parent, -1 for the root. Raises HierarchyError if not a tree."""
        if not self.is_tree:
            k, above = next((k, above) for k, above in enumerate(self.parent_lists) if len(above) > 1)
            names = format_names(self.names[p] for p in above)
            raise HierarchyError(
                f"label {self.names[k]!r} has the parents {names}, so this is not a tree. Use parent_lists, "
                "which contains all parents."
            )
        parents = np.full(self.n_labels, -1, dtype=np.int64)
        parents[self._pairs[:, 1]] = self._pairs[:, 0]
        return _freeze(parents)

    @property
    def depths(self) -> IntArray:
        """The length of the longest path from the top to each label; 0 for a child of the root."""
        return self._depths

    @cached_property
    def order(self) -> IntArray:
        """The positions of the labels, parents before children: by depth, then by position."""
        return _freeze(np.argsort(self.depths, kind="stable"))

    @cached_property
    def tops(self) -> tuple[str, ...]:
        """The children of the root."""
        return tuple(name for name, above in zip(self.names, self.parent_lists, strict=True) if not above)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the children of a label.

        Parameters
        ----------
        name : str
            The label.

        Returns
        -------
        names : tuple of str
            Its children, by position.
        """
        return tuple(self.names[k] for k in self._child_lists[self._find_position(name)])

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return all labels above a label.

        Parameters
        ----------
        name : str
            The label.

        Returns
        -------
        names : tuple of str
            Its ancestors, the nearest first.
        """
        return tuple(self.names[k] for k in reachable(self._find_position(name), self.parent_lists))

    def descendants(self, name: str) -> tuple[str, ...]:
        """Return all labels below a label.

        Parameters
        ----------
        name : str
            The label.

        Returns
        -------
        names : tuple of str
            Its descendants, the nearest first.
        """
        return tuple(self.names[k] for k in reachable(self._find_position(name), self._child_lists))

    def ancestor_matrix(self) -> BoolArray:
        """Return the ancestor relation as a matrix.

        Returns
        -------
        matrix : ndarray of bool, of shape (n_labels, n_labels)
            The entry ``[a, d]`` is True if label a is an ancestor of label d.
        """
        return ancestor_matrix(self.parent_lists, self.order)

    # ------------------------------------------------------------------ with label indicators

    def close(self, Y: ArrayLike) -> Any:
        """Add the ancestors of its labels to every row.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame, of shape (n_samples, n_labels)
            1 where a row has a label, else 0. Columns are in the order of `names`; columns of a DataFrame
            are matched by name.

        Returns
        -------
        ndarray, sparse matrix or DataFrame
            A copy of the same kind and dtype. Closing it again changes nothing.

        Notes
        -----
        The cost is proportional to the number of labels of the rows in the result.
        """
        upwards = sparse.csr_array(
            self.ancestor_matrix().T | np.eye(self.n_labels, dtype=bool), dtype=np.int32
        )
        closed = sparse.csr_array(read_indicators(Y, self.names) @ upwards)
        closed.data[:] = 1
        return with_labels(Y, closed, self.names)

    def consistency(self, Y: ArrayLike) -> Consistency:
        """Count the rows with a label but without one of its parents.

        Parameters
        ----------
        Y : array-like, sparse matrix or DataFrame, of shape (n_samples, n_labels)
            As in :meth:`close`.

        Returns
        -------
        Consistency
            The fraction of consistent rows, and the number of violations of each of :attr:`edges`.
        """
        return Consistency.from_labels(read_indicators(Y, self.names), self._pairs, self.edges)

    def restrict(self, names: Iterable[str]) -> LabelHierarchy:
        """Keep some of the labels; the children of removed labels move to their nearest kept ancestors.

        Parameters
        ----------
        names : iterable of str
            The labels to keep, in their new order. With all labels this only changes the order.

        Returns
        -------
        LabelHierarchy
            The ancestor relation between kept labels is unchanged. Labels whose parents changed have the
            score and the margin NaN.

        Examples
        --------
        >>> pets = LabelHierarchy.from_edges([("animal", "cat"), ("cat", "kitten")])
        >>> pets.restrict(["kitten", "animal"]).edges
        (('animal', 'kitten'),)
        """
        kept = check_names(names)
        at = [self._find_position(name) for name in kept]
        above = nearest_kept(self.parent_lists, self.order, set(at))
        moved = np.array([sorted(above[k]) != list(self.parent_lists[k]) for k in at])

        def part(column: FloatArray | None, *, of_edges: bool) -> FloatArray | None:
            return None if column is None else np.where(moved & of_edges, np.nan, column[at])

        return LabelHierarchy(
            kept,
            [(self.names[p], self.names[k]) for k in at for p in above[k]],
            scores=part(self.scores, of_edges=True),
            margins=part(self.margins, of_edges=True),
            counts=part(self.counts, of_edges=False),
        )

    # ------------------------------------------------------------------ object protocol

    def _find_position(self, name: str) -> int:
        if name not in self._index:
            raise unknown_label(name, self.names)
        return self._index[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a LabelHierarchy is immutable; {name!r} cannot be set. Create a new one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a LabelHierarchy is immutable; {name!r} cannot be deleted.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelHierarchy):
            return NotImplemented
        return self.names == other.names and np.array_equal(self._pairs, other._pairs)

    def __hash__(self) -> int:
        return hash((self.names, self._pairs.tobytes()))

    def __len__(self) -> int:
        return self.n_labels

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled arrays lose their read-only flag; creating a new object restores it.
        columns = {of: getattr(self, of) for of in COLUMNS.values()}
        return partial(LabelHierarchy, **columns), (self.names, self._pairs)

    def __repr__(self) -> str:
        return (
            f"LabelHierarchy({self.n_labels} labels: {len(self.tops)} on the root, {len(self._pairs)} edges, "
            f"depth {self.depths.max()})"
        )


def _freeze(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array


def get_known_columns(hierarchy: LabelHierarchy) -> dict[str, list[float]]:
    """Return the columns that are present, as Python numbers; integral counts are converted to int."""
    columns = {name: getattr(hierarchy, of) for name, of in COLUMNS.items()}
    numbers = {name: values.tolist() for name, values in columns.items() if values is not None}
    if "count" in numbers:
        numbers["count"] = [int(x) if x.is_integer() else x for x in numbers["count"]]
    return numbers


# ---------------------------------------------------------------------- networkx


def read_graph(graph: Any, root: Any) -> dict[str, Any]:
    """Return the names, edges and columns of a directed graph without the node `root`."""
    if not graph.is_directed():
        raise HierarchyError(
            "the graph is undirected, so parents and children cannot be distinguished. Direct it first, for "
            "example with networkx.bfs_tree(graph, root)."
        )
    if root is not None:
        if root not in graph:
            raise HierarchyError(
                f"the graph has no node {root!r}, which was given as root. Omit root if the graph has none."
            )
        above = next(iter(graph.predecessors(root)), None)
        if above is not None:
            raise HierarchyError(f"the node {root!r} is a child of {above!r}, so it is not the root.")
    nodes = [node for node in graph.nodes if root is None or node != root]
    at = {node: k for k, node in enumerate(nodes)}
    parts: dict[str, Any] = {
        "names": [str(node) for node in nodes],
        "edges": [(at[p], at[c]) for p, c in graph.edges() if p in at],
    }
    for attribute, column in COLUMNS.items():
        values = [graph.nodes[node].get(attribute) for node in nodes]
        if any(value is not None for value in values):
            parts[column] = [float("nan") if value is None else value for value in values]
    return parts


def make_graph(hierarchy: LabelHierarchy, root: str | None) -> Any:
    """Return a hierarchy as a directed graph, with a node for the root if `root` is given."""
    graph = require("networkx", extra="graphs").DiGraph()
    if root is not None:
        if root in hierarchy.names:
            raise HierarchyError(f"{root!r} is already a label. Give the root another name.")
        graph.add_node(root)
    graph.add_nodes_from(hierarchy.names)
    for attribute, column in COLUMNS.items():
        values = getattr(hierarchy, column)
        for name, value in zip(hierarchy.names, [] if values is None else values.tolist(), strict=False):
            graph.nodes[name][attribute] = value
    if root is not None:
        graph.add_edges_from((root, name) for name in hierarchy.tops)
    graph.add_edges_from(hierarchy.edges)
    return graph
