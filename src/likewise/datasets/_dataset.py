"""A loaded data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise.datasets._entry import Origin
from likewise.exceptions import SupervisionError

if TYPE_CHECKING:
    from likewise._typing import RandomStateLike
    from likewise.supervision import Supervision

Label = str | int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Dataset:
    """Rows, their labels, and where they come from. Fields that a set does not have are None.

    Attributes
    ----------
    name, origin, citation, licence : str
        The catalogue's name, where this copy was found, what to cite, under which terms.
    X : ndarray of float64 or CSR array, of shape (n_samples, n_features)
        The features. NaN marks a missing value of the original.
    y : ndarray of shape (n_samples,)
        The class of each row, with the values that the source uses: integers where all are, else strings.
    feature_names, target_names : tuple of str
        ``target_names[k]`` names the k-th smallest value of `y`.
    bags, bag_labels : ndarray of shape (n_samples,), mapping of bag to labels
        For rows in bags: each row's bag, and the sorted labels of each bag.
    X_unlabelled, bags_unlabelled : ndarray
        Further rows of those bags, whose label is not known.
    Y, label_names : ndarray of shape (n_samples, n_labels), tuple of str
        For several labels a row: the indicators and the names of their columns.
    hierarchy : tuple of (parent, child)
        The tree over the labels; its top is ``"root"``. A row of `Y` that holds a label holds every
        ancestor of it that has a column.
    texts : tuple of str
        The texts, in the order of `y`.
    split : ndarray of str
        The part of each row in the published split: "train", "test", "valid" or "trainval".
    views : ndarray of str
        The block that each column belongs to.
    ids : ndarray of str
        The source's name of each row.
    """

    name: str
    origin: Origin
    citation: str
    licence: str
    X: Any = None
    y: npt.NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    bags: npt.NDArray[np.int64] | None = None
    bag_labels: Mapping[int, tuple[Label, ...]] | None = None
    X_unlabelled: npt.NDArray[np.float64] | None = None
    bags_unlabelled: npt.NDArray[np.int64] | None = None
    Y: npt.NDArray[Any] | None = None
    label_names: tuple[str, ...] | None = None
    hierarchy: tuple[tuple[str, str], ...] | None = None
    texts: tuple[str, ...] | None = None
    split: npt.NDArray[np.str_] | None = None
    views: npt.NDArray[np.str_] | None = None
    ids: npt.NDArray[np.str_] | None = None

    def supervision(self, labelled: float = 1.0, *, random_state: RandomStateLike = None) -> Supervision:
        """Return what is known of the rows besides their features, as hints: the bags and their labels.

        Parameters
        ----------
        labelled : float, default=1.0
            The share of the bags that keep their labels; see
            :func:`likewise.supervision.sample_bag_labels`.
        random_state : int, RandomState or None
            The seed of that choice.

        Examples
        --------
        >>> data = Dataset(
        ...     name="birds", origin="folder", citation="", licence="", bags=np.array([1, 1, 2]),
        ...     bag_labels={1: ("wren", "owl"), 2: ("owl",)},
        ... )
        >>> data.supervision()
        Supervision(3 rows: 2 bag(s), 2 of them labelled)
        >>> data.supervision(labelled=0.5, random_state=0)
        Supervision(3 rows: 2 bag(s), 1 of them labelled)
        """
        from likewise.supervision import Supervision, sample_bag_labels

        if self.bags is None:
            raise SupervisionError(
                f"{self.name} has no bags, so there is nothing to take hints from. Draw some from its "
                "classes with likewise.supervision.sample_links(data.y, n), or sample_triplets."
            )
        hints = Supervision.from_bags(self.bags, self.bag_labels)
        return hints if labelled == 1 else sample_bag_labels(hints, labelled, random_state=random_state)

    def __repr__(self) -> str:
        parts = []
        if self.X is not None:
            parts.append(f"X {self.X.shape[0]} x {self.X.shape[1]}")
        if self.texts is not None:
            parts.append(f"{len(self.texts)} texts")
        if self.target_names is not None:
            parts.append(f"{len(self.target_names)} classes")
        if self.bag_labels is not None:
            parts.append(f"{len(self.bag_labels)} bags")
        if self.Y is not None:
            parts.append(f"Y {self.Y.shape[0]} x {self.Y.shape[1]}")
        return f"Dataset({self.name!r}: {', '.join(parts)}; from {self.origin})"
