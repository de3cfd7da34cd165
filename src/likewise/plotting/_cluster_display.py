"""Plot of a clustering in the plane, with its links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.evaluation._codes import check_same_rows
from likewise.plotting._drawn_links import select_links
from likewise.plotting._figure import SavableDisplay, hide_spines, make_figure
from likewise.plotting._projection import PlanarProjection, project

if TYPE_CHECKING:
    from likewise._typing import MatrixLike
    from likewise.supervision import Supervision

# The palette of Okabe and Ito, which is suitable for all kinds of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NOISE = "#BBBBBB"
KEPT, BROKEN = "#444444", "#D00000"
_IN_LEGEND = 20  # maximum number of clusters in the legend


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
        The lines that were drawn: any of "must", "cannot", "broken must", "broken cannot".

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

    def __init__(
        self,
        points: npt.NDArray[np.float64],
        labels: npt.NDArray[Any],
        *,
        axes: tuple[str, str] = ("", ""),
        supervision: Supervision | None = None,
        n_rows: int | None = None,
        n_links: int | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.axes = axes
        self.supervision = supervision
        self.n_rows = n_rows
        self.n_links = n_links
        self.figure_: Any = None
        self.ax_: Any = None
        self.clusters_: list[Any] = []
        self.links_: dict[str, Any] = {}

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
        _check(X, rows, found, supervision, max_points, max_links)
        n_rows = n_links = None
        if len(rows) > max_points:
            use = _select_rows(found, supervision, max_points, max_links)
            n_rows = len(rows)
            n_links = sum(kind.n_stated for kind in select_links(found, supervision, 0))
            rows, found = rows[use], found[use]
            supervision = None if supervision is None else supervision[use]
        plane: PlanarProjection = project(rows, feature_names)
        display = cls(
            plane.points, found, axes=plane.axes, supervision=supervision, n_rows=n_rows, n_links=n_links
        )
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
        self.ax_, self.figure_ = ax, ax.figure
        n_links, n_drawn = self._draw_links(max_links)
        self._draw_points()
        left_out = []
        n_links = n_links if self.n_links is None else self.n_links
        if self.n_rows is not None:
            left_out.append(f"{len(self.points):,} of {self.n_rows:,} rows")
        if n_drawn < n_links:
            left_out.append(f"{n_drawn:,} of {n_links:,} links")
        note = f"{' and '.join(left_out)} shown" if left_out else ""
        ax.set_title("\n".join(text for text in (title or "", note) if text))
        ax.set_xlabel(self.axes[0])
        ax.set_ylabel(self.axes[1])
        if not self.axes[1]:
            ax.set_yticks([])
        hide_spines(ax)
        if legend:
            self._draw_legend()
        return self

    def _draw_points(self) -> None:
        n = len(self.points)
        size = float(np.clip(9000 / max(n, 1), 6, 36))
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
                colour = PALETTE[number % len(PALETTE)]
                marker = MARKERS[number // len(PALETTE) % len(MARKERS)]
                name = f"cluster {label}"
                number += 1
            rims: Any = "white"
            if known is not None:
                rims = ["black" if given else "white" for given in known[rows]]
            self.clusters_.append(
                self.ax_.scatter(
                    *self.points[rows].T,
                    s=size,
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
            for broken in (False, True):
                pairs = drawn.pairs[drawn.broken == broken]
                if not len(pairs):
                    continue
                name = f"broken {kind}" if broken else kind
                lines = collections.LineCollection(
                    self.points[pairs],
                    colors=BROKEN if broken else KEPT,
                    linewidths=2.4 if broken else 1.1,
                    linestyles="solid" if kind == "must" else (0, (4, 2.5)),
                    label=f"{'broken ' if broken else ''}{kind}-link ({len(pairs):,})",
                    zorder=4 if broken else 3,
                )
                self.ax_.add_collection(lines)
                self.links_[name] = lines
        return n_links, n_drawn

    def _draw_legend(self) -> None:
        handles = [*self.clusters_[:_IN_LEGEND], *self.links_.values()]
        texts = [handle.get_label() for handle in handles]
        more = len(self.clusters_) - _IN_LEGEND
        if more > 0:
            texts[_IN_LEGEND - 1] += f" and {more} more"
        self.ax_.legend(
            handles, texts, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small"
        )


def _check(X: Any, rows: Any, labels: Any, supervision: Any, max_points: int, max_links: int) -> None:
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"X must have shape (n_samples, n_features); got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("X contains values that are not finite; fill in or drop them first.")
    if labels.shape != (len(rows),):
        raise ValueError(f"labels must have shape ({len(rows)},), one per row; got {labels.shape}.")
    if supervision is not None:
        check_same_rows(supervision, len(rows), X, what="X")
    if max_points < 2 or max_links < 0:
        raise ValueError(
            f"max_points must be at least 2 and max_links at least 0; got {max_points} and {max_links}."
        )


def _select_rows(labels: Any, supervision: Any, max_points: int, max_links: int) -> npt.NDArray[np.int64]:
    """Return the rows to show: the ends of the links to show, and a random sample of the others."""
    linked = np.empty(0, dtype=np.int64)
    if supervision is not None:
        drawn = select_links(labels, supervision, min(max_links, max_points // 2))
        linked = np.unique(np.concatenate([kind.pairs.reshape(-1) for kind in drawn]))
    others = np.setdiff1d(np.arange(len(labels)), linked)
    lot = np.random.RandomState(0).permutation(others)[: max_points - len(linked)]
    return np.sort(np.concatenate([linked, lot]))
