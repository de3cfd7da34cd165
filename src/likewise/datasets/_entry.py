"""An entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["labels", "bags", "multilabel", "text"]
Origin = Literal["scikit-learn", "folder", "openml"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The description of a data set in the catalogue, available before it is loaded.

    Parameters
    ----------
    name : str
        The name for :func:`~likewise.datasets.load`.
    n_rows, n_columns, n_classes : int
        The numbers of rows, features (0 if there are none) and classes; for "multilabel", the number of
        labels.
    files : tuple of (str, str)
        File names and their SHA-256. The first file contains the rows.
    source, citation, licence : str
        Where the data come from, what to cite, and the terms of use. Check the licence at the source before
        you redistribute the data.
    kind : {"labels", "bags", "multilabel", "text"}, default="labels"
        One class for each row; rows in labelled bags; several labels for each row; texts with one class each.
    n_bags : int, optional
        The number of bags, for "bags".
    sklearn_copy : str, optional
        The data set that scikit-learn ships: ``sklearn.datasets.load_<sklearn_copy>``.
    openml_id : int, optional
        The number of the data set at OpenML.
    parent : str, optional
        The data set that this one is a part of.
    keep : tuple of str, default=()
        The classes of `parent` to keep.
    class_names : tuple of str, default=()
        The names of the classes in the sorted order of their values, if the file contains numbers.
    aliases : tuple of str, default=()
        Other names that `load` accepts.
    note : str, default=""
        What to be aware of when using the data.

    Examples
    --------
    >>> from likewise.datasets import get_catalogue
    >>> entry = get_catalogue()["iris"]
    >>> entry.n_rows, entry.n_classes, entry.kind
    (150, 3, 'labels')
    >>> "scikit-learn" in entry.origins
    True
    """

    name: str
    n_rows: int
    n_columns: int
    n_classes: int
    files: tuple[tuple[str, str], ...]
    source: str
    citation: str
    licence: str
    kind: Kind = "labels"
    n_bags: int | None = None
    sklearn_copy: str | None = None
    openml_id: int | None = None
    parent: str | None = None
    keep: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    note: str = ""

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The places where `load` looks for the data set, in order. A part is also found with its parent."""
        found: list[Origin] = ["folder"]
        if self.sklearn_copy is not None:
            found.insert(0, "scikit-learn")
        if self.openml_id is not None or self.parent is not None:
            found.append("openml")
        return tuple(found)
