"""Plot of a clustering in the plane, with its links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.evaluation._scores import check_same_rows
from likewise.plotting._figure import (
    KEPT,
    LEGEND,
    MARKERS,
    NOISE,
    PALETTE,
    VIOLATED,
    SavableDisplay,
    hide_spines,
    make_figure,
)

if TYPE_CHECKING:
    from likewise._typing import MatrixLike
    from likewise.supervision import Supervision

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_IN_LEGEND = 20  # maximum number of clusters in the legend
_GOLDEN = 0.6180339887498949  # fractional parts of its multiples spread evenly over [0, 1]


@dataclass(repr=False, eq=False)
class ClusterDisplay(SavableDisplay):
    """Plot of a clustering in the plane: a colour for each cluster, lines for must-links and cannot-links.

    Create it with :meth:`from_predictions` or :meth:`from_estimator`. Must-links are solid lines,
    cannot-links are dashed, and violated links are red and thicker. Labelled rows have a dark edge. Triplets
    and bags are not shown.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        The position of each row in the plane.
    labels : ndarray of shape (n_samples,)
        The cluster of each row; -1 for a row in no cluster.
    axes : tuple of two str, default=("", "")
        The labels of the axes.
    supervision : Supervision or None, default=None
        The hints, about the same rows.
    n_rows, n_links : int or None, default=None
        The total numbers of rows and links if only some are shown; None if all are.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    ax_ : matplotlib Axes
        The axes.
    clusters_ : list of PathCollection
        The points of each cluster, by ascending label.
    links_ : dict of str to LineCollection
        The lines that were drawn: any of "must", "cannot", "violated must", "violated cannot".

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.plotting import ClusterDisplay
    >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]]
    >>> hints = Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 2)])
    >>> display = ClusterDisplay.from_predictions(X, [0, 0, 1, 1], supervision=hints)
    >>> sorted(display.links_)
    ['cannot', 'must']
    >>> display.save("clusters.png")  # doctest: +SKIP
    """

    points: FloatArray
    labels: npt.NDArray[Any]
    _: KW_ONLY
    axes: tuple[str, str] = ("", "")
    supervision: Supervision | None = None
    n_rows: int | None = None
    n_links: int | None = None
    ax_: Any = field(init=False, default=None)
    clusters_: list[Any] = field(init=False, default_factory=list)
    links_: dict[str, Any] = field(init=False, default_factory=dict)

    # ------------------------------------------------------------------ making

    @classmethod
    def from_predictions(
        cls,
        X: MatrixLike,
        labels: Any,
        *,
        supervision: Supervision | None = None,
        ax: Any = None,
        max_points: int = 5000,
        max_links: int = 500,
        feature_names: Any = None,
        title: str | None = None,
        legend: bool = True,
    ) -> ClusterDisplay:
        """Plot rows and their clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. Two features are shown unchanged, more by their first two principal components.
        labels : array-like of shape (n_samples,)
            The cluster of each row; -1 for none.
        supervision : Supervision, optional
            The hints that the clustering used; their links are shown.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        max_points : int, default=5000
            Maximum number of rows to show. Linked rows are shown first; the others are sampled with
            a fixed seed.
        max_links : int, default=500
            Maximum number of links to show, violated ones first.
        feature_names : sequence of str, optional
            Names for the axes.
        title : str, optional
            The title. A note on what is not shown is added if necessary.
        legend : bool, default=True
            Add a legend.

        Returns
        -------
        ClusterDisplay
            The display; see its attributes.
        """
        rows = np.asarray(X, dtype=np.float64)
        found = np.asarray(labels)
        check_rows(rows)
        if found.shape != (len(rows),):
            raise ValueError(f"labels must have shape ({len(rows)},), one per row; got {found.shape}.")
        if supervision is not None:
            check_same_rows(supervision, len(rows), X, what="X")
        if max_points < 2 or max_links < 0:
            raise ValueError(
                f"max_points must be at least 2 and max_links at least 0; got {max_points} and {max_links}."
            )
        n_rows = n_links = None
        if len(rows) > max_points:
            use = _select_rows(found, supervision, max_points, max_links)
            n_rows = len(rows)
            n_links = sum(kind.n_stated for kind in select_links(found, supervision, 0))
            rows, found = rows[use], found[use]
            supervision = None if supervision is None else supervision[use]
        points, axes = project(rows, feature_names)
        display = cls(points, found, axes=axes, supervision=supervision, n_rows=n_rows, n_links=n_links)
        return display.plot(ax=ax, max_links=max_links, title=title, legend=legend)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: MatrixLike, supervision: Supervision | None = None, **options: Any
    ) -> ClusterDisplay:
        """Plot rows and the clusters that a fitted estimator assigns to them.

        Parameters
        ----------
        estimator : fitted clusterer
            Its `labels_` are used if there is one for each row, because they reflect the hints; otherwise
            ``predict(X)`` is used.
        X : array-like of shape (n_samples, n_features)
            The rows.
        supervision : Supervision, optional
            The hints.
        **options
            Passed to :meth:`from_predictions`.

        Returns
        -------
        ClusterDisplay
            The display; see its attributes.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]]
        >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
        >>> len(ClusterDisplay.from_estimator(model, X).clusters_)
        2
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        labels = getattr(estimator, "labels_", None)
        if labels is None or len(labels) != len(np.asarray(X)):
            labels = estimator.predict(X)
        return cls.from_predictions(X, labels, supervision=supervision, **options)

    # ------------------------------------------------------------------ drawing

    def plot(
        self, *, ax: Any = None, max_links: int = 500, title: str | None = None, legend: bool = True
    ) -> ClusterDisplay:
        """Plot the rows and the links.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        max_links : int, default=500
            Maximum number of links to show, violated ones first.
        title : str, optional
            The title. A note on what is not shown is added if necessary.
        legend : bool, default=True
            Add a legend.

        Returns
        -------
        display : ClusterDisplay
            This object, with its attributes set.
        """
        if ax is None:
            ax = make_figure(8, 5.5).subplots()
        self.ax_ = ax
        self.figure_: Any = ax.figure
        n_links, n_drawn = self._draw_links(max_links)
        self._draw_points()
        left_out = []
        n_links = n_links if self.n_links is None else self.n_links
        if self.n_rows is not None:
            left_out.append(f"{len(self.points):,} of {self.n_rows:,} rows")
        if n_drawn < n_links:
            left_out.append(f"{n_drawn:,} of {n_links:,} links")
        note = f"{' and '.join(left_out)} shown" if left_out else ""
        format_plane(ax, self.axes, (title, note))
        if legend:
            handles = [*self.clusters_[:_IN_LEGEND], *self.links_.values()]
            texts = [handle.get_label() for handle in handles]
            more = len(self.clusters_) - _IN_LEGEND
            if more > 0:
                texts[_IN_LEGEND - 1] += f" and {more} more"
            ax.legend(handles, texts, **LEGEND)
        return self

    def _draw_points(self) -> None:
        known = None
        if self.supervision is not None and "labels" in self.supervision.kinds:
            known = self.supervision.label_codes >= 0
        self.clusters_ = []
        number = 0
        for label in np.unique(self.labels):
            rows = np.flatnonzero(self.labels == label)
            if label == -1:
                colour, marker, name = NOISE, "o", "in no cluster"
            else:
                (colour, marker), name = get_look(number), f"cluster {label}"
                number += 1
            rims: Any = "white"
            if known is not None:
                rims = ["black" if given else "white" for given in known[rows]]
            self.clusters_.append(
                self.ax_.scatter(
                    *self.points[rows].T,
                    s=get_point_size(len(self.points)),
                    c=colour,
                    marker=marker,
                    edgecolors=rims,
                    linewidths=0.4 if known is None else np.where(known[rows], 1.2, 0.4),
                    label=f"{name} ({len(rows):,})",
                    zorder=2,
                )
            )

    def _draw_links(self, max_links: int) -> tuple[int, int]:
        collections = require("matplotlib.collections", extra="plot")
        self.links_ = {}
        n_links = n_drawn = 0
        for kind, drawn in zip(
            ("must", "cannot"), select_links(self.labels, self.supervision, max_links), strict=True
        ):
            n_links += drawn.n_stated
            n_drawn += len(drawn.pairs)
            for violated in (False, True):
                pairs = drawn.pairs[drawn.violated == violated]
                if not len(pairs):
                    continue
                name = f"violated {kind}" if violated else kind
                lines = collections.LineCollection(
                    self.points[pairs],
                    colors=VIOLATED if violated else KEPT,
                    linewidths=2.4 if violated else 1.1,
                    linestyles="solid" if kind == "must" else (0, (4, 2.5)),
                    label=f"{'violated ' if violated else ''}{kind}-link ({len(pairs):,})",
                    zorder=4 if violated else 3,
                )
                self.ax_.add_collection(lines)
                self.links_[name] = lines
        return n_links, n_drawn


def _select_rows(labels: Any, supervision: Any, max_points: int, max_links: int) -> IntArray:
    """Return the rows to show: the ends of the links to show, and a random sample of the others."""
    linked = np.empty(0, dtype=np.int64)
    if supervision is not None:
        drawn = select_links(labels, supervision, min(max_links, max_points // 2))
        linked = np.unique(np.concatenate([kind.pairs.reshape(-1) for kind in drawn]))
    others = np.setdiff1d(np.arange(len(labels)), linked)
    lot = np.random.RandomState(0).permutation(others)[: max_points - len(linked)]
    return np.sort(np.concatenate([linked, lot]))


# ---------------------------------------------------------------------- rows in the plane


def check_rows(rows: FloatArray) -> None:
    """Raise a ValueError for rows that cannot be shown."""
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"X must have shape (n_samples, n_features); got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("X contains values that are not finite; fill in or drop them first.")


def get_look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a group of points."""
    return PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]


def get_point_size(n: int) -> float:
    """Return the area of each of n points, in square points."""
    return float(np.clip(9000 / max(n, 1), 6, 36))


def format_plane(ax: Any, axes: tuple[str, str], notes: Iterable[str | None]) -> None:
    """Write the title and the labels of the axes; an axis without a label has no ticks."""
    ax.set_title("\n".join(filter(None, notes)))
    ax.set_xlabel(axes[0])
    ax.set_ylabel(axes[1])
    if not axes[1]:
        ax.set_yticks([])
    hide_spines(ax)


def project(X: Any, feature_names: Any = None) -> tuple[FloatArray, tuple[str, str]]:
    """Return rows as points, and the labels of the axes.

    Two features are shown unchanged, more by their first two principal components.

    The components maximise the variance of the projected rows; they come from the singular value
    decomposition of the centred rows, in O(n d min(n, d)) for n rows of d features. The largest entry of a
    component is positive, so the same rows always give the same plot. One feature is shown along x, with
    the rows spread evenly over y.

    Examples
    --------
    >>> points, axes = project(np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 0.0, 1.0]]))
    >>> points[:, 0].tolist(), axes[0]
    ([-2.0, 0.0, 2.0], 'first component (100% of the variance)')
    """
    X = np.asarray(X, dtype=np.float64)
    names = tuple(feature_names) if feature_names is not None else None
    if X.shape[1] == 1:
        spread = np.arange(1, len(X) + 1) * _GOLDEN % 1
        return np.column_stack([X[:, 0], spread]), (names[0] if names else "feature 0", "")
    if X.shape[1] == 2:
        return X, (names[0], names[1]) if names else ("feature 0", "feature 1")
    centred = X - X.mean(axis=0)
    _, singular, components = np.linalg.svd(centred, full_matrices=False)
    components = components[:2]
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
    points = np.zeros((len(X), 2))
    points[:, : len(components)] = centred @ (components * np.where(signs == 0, 1.0, signs)[:, None]).T
    share = np.zeros(2)
    total = float((singular**2).sum())
    if total > 0:
        share[: len(components)] = singular[:2] ** 2 / total
    first, second = (
        f"{word} component ({part:.0%} of the variance)"
        for word, part in zip(("first", "second"), share, strict=True)
    )
    return points, (first, second)


# ---------------------------------------------------------------------- links to show


class DrawnLinks(NamedTuple):
    """Links of one kind to show, perhaps a subset of those in the hints."""

    pairs: IntArray  # of rows
    violated: npt.NDArray[np.bool_]  # True for links that the clustering violates
    n_stated: int  # number of links in the hints


def select_links(labels: npt.NDArray[Any], supervision: Any, limit: int) -> tuple[DrawnLinks, DrawnLinks]:
    """Return the must-links and the cannot-links to show, at most `limit` in total.

    A must-link group is shown as links from its first row to the others, a cannot-link group as its pairs. If
    there are more links than `limit`, violated links come first, and the two kinds alternate.
    """
    if supervision is None:
        none = DrawnLinks(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), 0)
        return none, none
    must = np.concatenate([supervision.must, supervision.must_groups.list_star_edges()])
    groups = supervision.cannot_groups
    in_groups = islice((pair for rows in groups for pair in combinations(rows.tolist(), 2)), limit)
    cannot = np.concatenate([supervision.cannot, np.array(list(in_groups), dtype=np.int64).reshape(-1, 2)])
    n_cannot = len(supervision.cannot) + groups.n_pairs
    violated_must = labels[must[:, 0]] != labels[must[:, 1]]
    violated_cannot = labels[cannot[:, 0]] == labels[cannot[:, 1]]
    turn = np.concatenate([_number_in_turns(violated_must), _number_in_turns(violated_cannot)])
    chosen = np.sort(np.lexsort((turn, ~np.concatenate([violated_must, violated_cannot])))[:limit])
    first, second = chosen[chosen < len(must)], chosen[chosen >= len(must)] - len(must)
    return (
        DrawnLinks(must[first], violated_must[first], len(must)),
        DrawnLinks(cannot[second], violated_cannot[second], n_cannot),
    )


def _number_in_turns(violated: npt.NDArray[np.bool_]) -> IntArray:
    """Number the violated links from 0, and the satisfied links from 0 as well."""
    turns: IntArray = np.where(violated, np.cumsum(violated), np.cumsum(~violated)) - 1
    return turns
