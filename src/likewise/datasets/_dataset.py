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
    """A loaded data set: features, labels, and their source. Fields that a data set lacks are None.

    Parameters
    ----------
    name : str
        The name of the data set in the catalogue.
    origin : {"scikit-learn", "folder", "openml"}
        Where this copy was found.
    citation, licence : str
        What to cite, and the terms of use.
    X : ndarray of float64 or CSR array, of shape (n_samples, n_features), optional
        The features. NaN marks a value that is missing in the original.
    y : ndarray of shape (n_samples,), optional
        The class of each row, with the values that the source uses: integers if all of them are, else
        strings.
    feature_names, target_names : tuple of str, optional
        The names of the columns of `X` and of the classes; ``target_names[k]`` names the k-th smallest value
        of `y`.
    bags : ndarray of shape (n_samples,), optional
        The bag of each row.
    bag_labels : mapping of bag to tuple of labels, optional
        The labels of each bag, sorted.
    X_unlabelled : ndarray of shape (n_unlabelled, n_features), optional
        Further rows of these bags, whose class is unknown.
    bags_unlabelled : ndarray of shape (n_unlabelled,), optional
        The bag of each row of `X_unlabelled`.
    Y : ndarray of shape (n_samples, n_labels), optional
        Indicators of the labels, for data with several labels for each row.
    label_names : tuple of str, optional
        The names of the columns of `Y`.
    hierarchy : tuple of (parent, child), optional
        The edges of the tree of labels, whose root is ``"root"``. A row of `Y` with a label also has all
        ancestors of the label that have a column.
    texts : tuple of str, optional
        The texts, in the order of `y`.
    split : ndarray of str, of shape (n_samples,), optional
        The part of the published split that each row belongs to: "train", "test", "valid" or "trainval".
    views : ndarray of str, of shape (n_features,), optional
        The group of features that each column belongs to.
    ids : ndarray of str, of shape (n_samples,), optional
        The name of each row in the source.

    Examples
    --------
    >>> from likewise.datasets import load
    >>> iris = load("iris")
    >>> iris
    Dataset('iris': X 150 x 4, 3 classes; from scikit-learn)
    >>> iris.X.shape, iris.y.shape
    ((150, 4), (150,))
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
        """Return the bags and their labels as hints.

        Parameters
        ----------
        labelled : float, default=1.0
            The fraction of the bags that keep their labels; see
            :func:`likewise.supervision.sample_bag_labels`.
        random_state : int, RandomState or None, default=None
            The seed for choosing these bags.

        Returns
        -------
        hints : Supervision
            Hints that contain only bags.

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
                f"{self.name} has no bags, so it has no hints. Sample hints from its "
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
