"""Plot of a clustering of bags: a map of the rows, and examples of each class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise._words import truncate
from likewise.evaluation._scores import check_same_rows
from likewise.plotting._cluster_display import check_rows, format_plane, get_look, get_point_size, project
from likewise.plotting._figure import NOISE, QUIET, VIOLATED, SavableDisplay, make_figure
from likewise.tables import standardize_columns

if TYPE_CHECKING:
    from likewise._typing import MatrixLike
    from likewise.supervision import Supervision

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_MAP = 5.2  # the width of the map in inches
_CELL = 0.62  # distance between examples in inches
_SHOWN = 6  # maximum number of classes without a cluster that are listed
_HIGH = 0.66  # height of an example in its cell of size 1; the rest is for a name below
_DEVIATIONS = 2.5  # standard deviations at which a profile is clipped


@dataclass(repr=False, eq=False)
class BagDisplay(SavableDisplay):
    """Clusters and the classes that they represent: a map, and examples of each class.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`. The left plot shows the rows in the
    plane, coloured by the class of their cluster. The right plot shows the rows nearest to the centres of the
    clusters of each class, as images or as profiles of their standardised features, with the names of their
    bags. A row whose bag is not labelled with the class is marked red, because it contradicts the hints.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    labels : ndarray of shape (n_samples,)
        The cluster of each row.
    class_of_cluster : sequence
        The class that each cluster represents; None for a cluster without a class.
    space : ndarray of shape (n_samples, n_dimensions)
        The space in which examples are chosen by distance to the cluster centres.
    supervision : Supervision or None, default=None
        The hints; examples are named after their bags.
    image_shape : (int, int) or None, default=None
        The height and width of the images; None draws profiles.
    feature_names : sequence of str or None, default=None
        Names for the axes of the map, if there are two features.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    axes_ : tuple of two matplotlib Axes
        The map and the examples.
    points_ : dict of class to PathCollection
        The points of each class on the map, in decreasing order of size. The key None has the points of
        clusters without a class.
    examples_ : dict of class to ndarray
        The example rows of each class that is shown.
    against_ : dict of class to list of int
        The examples whose bag is not labelled with the class.
    n_left_out_ : int
        The number of classes that are not shown because of `max_classes`.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.plotting import BagDisplay
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]])
    >>> hints = Supervision.from_bags(["r1", "r1", "r1", "r2"], {"r1": ["wren", "owl"], "r2": ["wren"]})
    >>> display = BagDisplay.from_predictions(X, [0, 0, 1, 1], ["wren", "owl"], supervision=hints)
    >>> {name: rows.tolist() for name, rows in display.examples_.items()}
    {'owl': [2, 3], 'wren': [0, 1]}
    >>> display.against_
    {'owl': [3], 'wren': []}
    >>> display.save("bags.png")  # doctest: +SKIP
    """

    X: FloatArray
    labels: IntArray
    class_of_cluster: Sequence[Any]
    _: KW_ONLY
    space: FloatArray
    supervision: Supervision | None = None
    image_shape: tuple[int, int] | None = None
    feature_names: Any = None
    axes_: tuple[Any, ...] = field(init=False, default=())
    points_: dict[Hashable, Any] = field(init=False, default_factory=dict)
    examples_: dict[Hashable, IntArray] = field(init=False, default_factory=dict)
    against_: dict[Hashable, list[int]] = field(init=False, default_factory=dict)
    n_left_out_: int = field(init=False, default=0)

    # ------------------------------------------------------------------ making

    @classmethod
    def from_predictions(
        cls,
        X: MatrixLike,
        labels: Any,
        class_of_cluster: Sequence[Any],
        *,
        supervision: Supervision | None = None,
        space: Any = None,
        image_shape: tuple[int, int] | None = None,
        n_examples: int = 8,
        max_classes: int = 16,
        max_points: int = 5000,
        feature_names: Any = None,
        title: str | None = None,
        axes: Any = None,
    ) -> BagDisplay:
        """Plot rows, their clusters, and examples of the classes that the clusters represent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. The map shows two features unchanged, and more features by two principal components.
        labels : array-like of shape (n_samples,)
            The cluster of each row, from 0.
        class_of_cluster : sequence of length n_clusters
            The class that each cluster represents, or None. Several clusters may represent the same class.
        supervision : Supervision, optional
            Hints with bags, about the same rows.
        space : array-like of shape (n_samples, n_dimensions), optional
            The space in which examples are chosen by distance to the cluster centres, such as a spectral
            embedding. By default the standardised features.
        image_shape : (int, int), optional
            Draw rows as grey images of this height and width.
        n_examples : int, default=8
            Maximum number of examples of each class.
        max_classes : int, default=16
            Maximum number of classes to show examples of: those with the most rows.
        max_points : int, default=5000
            Maximum number of rows on the map. They are sampled with a fixed seed.
        feature_names : sequence of str, optional
            Names for the axes of the map, if there are two features.
        title : str, optional
            The title of the map. A note on what is not shown is added if necessary.
        axes : sequence of two matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.

        Returns
        -------
        BagDisplay
            The display; see its attributes.
        """
        rows, found = np.asarray(X, dtype=np.float64), np.asarray(labels)
        _check(X, rows, found, class_of_cluster, supervision, image_shape)
        if min(n_examples, max_classes) < 1 or max_points < 2:
            raise ValueError(
                "n_examples and max_classes must be at least 1 and max_points at least 2; got "
                f"{n_examples}, {max_classes} and {max_points}."
            )
        near = standardize_columns(rows) if space is None else np.asarray(space, dtype=np.float64)
        if near.ndim != 2 or len(near) != len(rows) or not np.isfinite(near).all():
            raise ValueError(
                f"space must be finite numbers with {len(rows)} rows, as X has; got shape {near.shape}."
            )
        display = cls(
            rows,
            found.astype(np.int64),
            tuple(class_of_cluster),
            space=near,
            supervision=supervision,
            image_shape=image_shape,
            feature_names=feature_names,
        )
        return display.plot(
            n_examples=n_examples, max_classes=max_classes, max_points=max_points, title=title, axes=axes
        )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: MatrixLike, supervision: Supervision | None = None, **options: Any
    ) -> BagDisplay:
        """Plot the clusters that a fitted estimator found in rows in bags.

        Parameters
        ----------
        estimator : fitted clusterer
            An estimator with `labels_` and `class_of_cluster_`, such as
            :class:`likewise.spectral.BagSpectralClustering`. Examples are chosen in its `embedding_`.
        X : array-like of shape (n_samples, n_features)
            The rows that the estimator was fitted to.
        supervision : Supervision, optional
            The hints that the estimator was fitted with.
        **options
            Passed to :meth:`from_predictions`.

        Returns
        -------
        BagDisplay
            The display; see its attributes.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        classes = getattr(estimator, "class_of_cluster_", None)
        if classes is None:
            raise TypeError(
                f"{type(estimator).__name__} has no class_of_cluster_; plot it with "
                "ClusterDisplay, or pass class_of_cluster to BagDisplay.from_predictions."
            )
        options.setdefault("space", getattr(estimator, "embedding_", None))
        return cls.from_predictions(X, estimator.labels_, classes, supervision=supervision, **options)

    # ------------------------------------------------------------------ drawing

    def plot(
        self,
        *,
        n_examples: int = 8,
        max_classes: int = 16,
        max_points: int = 5000,
        title: str | None = None,
        axes: Any = None,
    ) -> BagDisplay:
        """Plot the map and the examples.

        Parameters
        ----------
        n_examples : int, default=8
            Maximum number of examples of each class.
        max_classes : int, default=16
            Maximum number of classes to show examples of: those with the most rows.
        max_points : int, default=5000
            Maximum number of rows on the map. They are sampled with a fixed seed.
        title : str, optional
            The title of the map.
        axes : sequence of two matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.

        Returns
        -------
        display : BagDisplay
            This object, with its attributes set.
        """
        clusters = group_clusters_by_class(self.class_of_cluster, self.labels)
        shown = list(clusters)[:max_classes]
        self.n_left_out_ = len(clusters) - len(shown)
        if axes is None:
            wide, high = n_examples * _CELL + 1.6, max(len(shown), 1) * _CELL + 0.9
            figure = make_figure(_MAP + wide, max(4.6, high))
            axes = figure.subplots(1, 2, gridspec_kw={"width_ratios": [_MAP, wide]})
            axes[0].set_box_aspect(float(np.clip(high / _MAP, 0.9, 1.6)))
            axes[0].set_anchor("N")
        self.axes_ = tuple(axes)
        if len(self.axes_) != 2:
            raise ValueError(
                f"expected two axes, one for the map and one for the examples; got {len(self.axes_)}."
            )
        self.figure_: Any = self.axes_[0].figure
        looks = {name: get_look(number) for number, name in enumerate(clusters)}
        self._draw_map(clusters, looks, max_points, title)
        self.examples_ = {
            name: find_typical_rows(self.space, self.labels, clusters[name], n_examples) for name in shown
        }
        self.against_ = {
            name: [row for row in rows.tolist() if self._is_against(row, name)]
            for name, rows in self.examples_.items()
        }
        self._draw_examples(clusters, looks, n_examples)
        return self

    def _draw_map(
        self, clusters: dict[Hashable, list[int]], looks: dict[Any, Any], max_points: int, title: str | None
    ) -> None:
        ax, n = self.axes_[0], len(self.X)
        rows = np.sort(np.random.RandomState(0).permutation(n)[:max_points])
        points, labels = project(self.X, self.feature_names)
        self.points_ = {}
        none = [c for c, name in enumerate(self.class_of_cluster) if name is None]
        for name, members in [*clusters.items(), (None, none)]:
            of_class = rows[np.isin(self.labels[rows], members)]
            if not of_class.size:
                continue
            colour, marker = looks.get(name, (NOISE, "o"))
            self.points_[name] = ax.scatter(
                *points[of_class].T,
                s=get_point_size(len(rows)),
                c=colour,
                marker=marker,
                edgecolors="white",
                linewidths=0.4,
                label="no class" if name is None else str(name),
                zorder=2 if name is not None else 1,
            )
        notes = [title]
        notes += [f"{len(rows):,} of {n:,} rows shown"] if len(rows) < n else []
        grey = int(np.isin(self.labels, none).sum())
        notes += [f"grey: in clusters without a class ({grey:,})"] if grey else []
        format_plane(ax, labels, notes)

    def _draw_examples(
        self, clusters: dict[Hashable, list[int]], looks: dict[Any, Any], n_examples: int
    ) -> None:
        ax = self.axes_[1]
        values = (
            self.X
            if self.image_shape is not None
            else np.clip(standardize_columns(self.X) / _DEVIATIONS, -1, 1)
        )
        limits = float(self.X.min()), float(self.X.max())
        bags = None if self.supervision is None else self.supervision.bags
        names = []
        for line, (name, rows) in enumerate(self.examples_.items()):
            colour, marker = looks[name]
            n_rows = int(np.isin(self.labels, clusters[name]).sum())
            names.append(f"{truncate(str(name), 16)}\n{n_rows:,} row{'' if n_rows == 1 else 's'}")
            ax.scatter([-0.22], [line + _HIGH / 2], s=42, c=colour, marker=marker, clip_on=False)
            for place, row in enumerate(rows.tolist()):
                against = row in self.against_[name]
                if self.image_shape is not None:
                    image = values[row].reshape(self.image_shape)
                    _draw_image(ax, image, limits, (place, line), VIOLATED if against else colour, against)
                else:
                    _draw_profile(ax, values[row], (place, line), colour, against)
                if bags is not None and bags.codes[row] >= 0:
                    text = truncate(str(bags.names[bags.codes[row]]), 9)
                    at = place + 0.5, line + _HIGH + 0.03
                    how = {"ha": "center", "va": "top", "fontsize": 6.5, "clip_on": False}
                    ax.text(*at, text, color=VIOLATED if against else QUIET, **how)
        ax.set_aspect("equal", adjustable="box", anchor="NW")
        ax.set_xlim(-0.45, n_examples)
        ax.set_ylim(max(len(self.examples_), 1), 0)
        ax.set_xticks([])
        ax.set_yticks([line + _HIGH / 2 for line in range(len(names))], names, fontsize="small")
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.set_title("\n".join(self._format_notes()), fontsize="medium")
        ax.set_xlabel(self._format_caption(bags is not None), color=QUIET, fontsize="x-small", loc="left")

    def _is_against(self, row: int, name: Hashable) -> bool:
        """Return True if the bag of a row has labels, but not this one."""
        bags = None if self.supervision is None else self.supervision.bags
        if bags is None or bags.codes[row] < 0:
            return False
        labels = bags.labels[bags.codes[row]]
        return labels is not None and name not in labels

    def _format_notes(self) -> list[str]:
        """Return notes on the classes that the grid shows and omits."""
        notes = ["examples of each class" if self.examples_ else "no cluster has a class"]
        if self.n_left_out_:
            n = len(self.examples_) + self.n_left_out_
            notes = [f"examples of the {len(self.examples_)} largest of {n} classes"]
        bags = None if self.supervision is None else self.supervision.bags
        bag_classes = set() if bags is None else {label for labels in bags.labels for label in labels or ()}
        missing = sorted(map(str, bag_classes - set(self.class_of_cluster)))
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            notes.append(f"no cluster for {', '.join(missing[:_SHOWN])}{more}")
        return notes

    def _format_caption(self, named: bool) -> str:
        if not self.examples_:
            return ""
        parts = (
            []
            if self.image_shape is not None
            else [f"one bar per feature, clipped at {_DEVIATIONS:g} standard deviations from its mean"]
        )
        parts += ["bags below the examples"] if named else []
        parts += ["red: the bag is not labelled with the class"] if any(self.against_.values()) else []
        return "; ".join(parts)


def _check(X: Any, rows: Any, labels: Any, classes: Any, supervision: Any, image_shape: Any) -> None:
    check_rows(rows)
    if labels.shape != (len(rows),) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be {len(rows)} integers, one per row; got {labels.dtype} of shape {labels.shape}."
        )
    if labels.min() < 0 or labels.max() >= len(classes):
        raise ValueError(
            f"class_of_cluster has {len(classes)} clusters, but labels range from {labels.min()} to "
            f"{labels.max()}."
        )
    if supervision is not None:
        check_same_rows(supervision, len(rows), X, what="X")
    if image_shape is not None:
        shape = tuple(image_shape)
        if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != rows.shape[1]:
            raise ValueError(
                f"image_shape must be a height and a width whose product is the {rows.shape[1]} features of "
                f"a row; got {image_shape!r}."
            )


# ---------------------------------------------------------------------- examples of a class


def find_typical_rows(space: FloatArray, labels: IntArray, clusters: Sequence[int], limit: int) -> IntArray:
    """Return the rows nearest to the means of their clusters, alternating between clusters.

    The cost is O(n_samples · n_dimensions) for the rows of these clusters.

    >>> space = np.array([[0.0], [1.0], [5.0], [9.0], [9.5]])
    >>> find_typical_rows(space, np.array([0, 0, 0, 1, 1]), [0, 1], 3).tolist()
    [3, 1, 4]
    """
    ranked: list[tuple[int, float, int]] = []
    for cluster in clusters:
        rows = np.flatnonzero(labels == cluster)
        if not rows.size:
            continue
        away = ((space[rows] - space[rows].mean(axis=0)) ** 2).sum(axis=1)
        nearest = np.lexsort((rows, away))[:limit]
        ranked += [(turn, float(away[k]), int(rows[k])) for turn, k in enumerate(nearest)]
    return np.array([row for _, _, row in sorted(ranked)[:limit]], dtype=np.int64)


def group_clusters_by_class(class_of_cluster: Sequence[Any], labels: IntArray) -> dict[Hashable, list[int]]:
    """Return the clusters of each class, the class with the most rows first, without clusters of no class.

    >>> group_clusters_by_class(["owl", None, "wren", "owl"], np.array([0, 2, 2, 2, 3, 1]))
    {'wren': [2], 'owl': [0, 3]}
    """
    sizes = np.bincount(labels, minlength=len(class_of_cluster))
    found: dict[Hashable, list[int]] = {}
    for cluster, name in enumerate(class_of_cluster):
        if name is not None:
            found.setdefault(name, []).append(cluster)
    order = sorted(found, key=lambda name: (-int(sizes[found[name]].sum()), str(name)))
    return {name: found[name] for name in order}


def _draw_image(
    ax: Any, image: FloatArray, limits: tuple[float, float], at: tuple[int, int], colour: str, against: bool
) -> None:
    """Draw a grey image with square pixels; `limits` are the values of white and black."""
    (height, width), (place, line) = image.shape, at
    unit = min(_HIGH / height, 0.92 / width)
    left, middle = place + 0.5 - unit * width / 2, line + _HIGH / 2
    box = (left, left + unit * width, middle + unit * height / 2, middle - unit * height / 2)
    low, high = limits
    ax.imshow(image, cmap="gray_r", vmin=low, vmax=max(high, low + 1e-12), extent=box)
    _draw_frame(ax, box, colour, 2.0 if against else 0.8)


def _draw_profile(ax: Any, values: FloatArray, at: tuple[int, int], colour: str, against: bool) -> None:
    """Draw one bar per value; values are between -1 and 1."""
    place, line = at
    left, right, middle = place + 0.06, place + 0.94, line + _HIGH / 2
    edges = np.linspace(left, right, len(values) + 1)
    ax.stairs(middle - values * _HIGH / 2, edges, baseline=middle, fill=True, color=colour)
    _draw_frame(
        ax, (left, right, line + _HIGH, line), VIOLATED if against else "#CCCCCC", 1.3 if against else 0.5
    )


def _draw_frame(ax: Any, box: tuple[float, float, float, float], colour: str, width: float) -> None:
    left, right, bottom, top = box
    rectangle = require("matplotlib.patches", extra="plot").Rectangle
    shape = rectangle((left, top), right - left, bottom - top, fill=False, zorder=3)
    shape.set_edgecolor(colour)
    shape.set_linewidth(width)
    ax.add_patch(shape)
