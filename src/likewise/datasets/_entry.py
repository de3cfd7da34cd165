"""One line of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["labels", "bags", "multilabel", "text"]
Origin = Literal["scikit-learn", "folder", "openml"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of a data set before it is loaded.

    Attributes
    ----------
    name : str
        What :func:`~likewise.datasets.load` calls it.
    n_rows, n_columns, n_classes : int
        Rows, features (0 where there are none) and classes; for "multilabel", the number of labels.
    kind : {"labels", "bags", "multilabel", "text"}
        One class a row; rows in labelled bags; several labels a row; texts with one class each.
    files : tuple of (str, str)
        File names and their SHA-256. The first one holds the rows.
    source, citation, licence, note : str
        Where it comes from, what to cite, under which terms, and what to watch for. Check the licence at
        the source before passing data on.
    n_bags : int or None
        The number of bags, for "bags".
    sklearn_copy : str or None
        The set that scikit-learn ships: ``sklearn.datasets.load_<sklearn_copy>``.
    openml_id : int or None
        Its number at OpenML.
    parent, keep : str or None, tuple of str
        For a part of another set: that set, and the classes to keep.
    class_names : tuple of str
        Names of the classes in the sorted order of their values, where the file holds numbers.
    aliases : tuple of str
        Other names that `load` takes.
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
        """Where `load` can look for it, in this order; a part of another set is also where that one is."""
        found: list[Origin] = ["folder"]
        if self.sklearn_copy is not None:
            found.insert(0, "scikit-learn")
        if self.openml_id is not None or self.parent is not None:
            found.append("openml")
        return tuple(found)
