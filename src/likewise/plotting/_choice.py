"""Plot of the scores of a search on held-out hints, over the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from likewise.plotting._figure import LEGEND, MARKERS, PALETTE, VIOLATED, AxesDisplay


@dataclass(repr=False, eq=False)
class ChoiceDisplay(AxesDisplay):
    """Scores on held-out hints over the number of clusters, one line for each method, with the choice marked.

    Create it with :meth:`from_search`. Bars are one standard error to either side. If a grid has other
    parameters besides the number of clusters, a line shows the best score for each number of clusters.

    Parameters
    ----------
    cv_results : mapping of str to array
        The `cv_results_` of a :class:`likewise.evaluation.HintSearchCV`.
    best_index : int
        The index of the chosen candidate.
    scoring : str, default="accuracy"
        The name of the score.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    ax_ : matplotlib Axes
        The axes.
    lines_ : dict of str to ErrorbarContainer
        The line of each method.
    best_ : Line2D
        The marker of the chosen candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from likewise import PCKMeans
    >>> from likewise.evaluation import HintSearchCV
    >>> from likewise.plotting import ChoiceDisplay
    >>> from likewise.supervision import sample_links
    >>> X, y = load_iris(return_X_y=True)
    >>> search = HintSearchCV(PCKMeans(random_state=0), {"n_clusters": [2, 3, 4]}, random_state=0)
    >>> display = ChoiceDisplay.from_search(search.fit(X, supervision=sample_links(y, 90, random_state=0)))
    >>> float(display.best_.get_xdata()[0])
    3.0
    >>> display.save("choice.png")  # doctest: +SKIP
    """

    cv_results: Mapping[str, Any]
    _: KW_ONLY
    best_index: int
    scoring: str = "accuracy"
    lines_: dict[str, Any] = field(init=False, default_factory=dict)
    best_: Any = field(init=False, default=None)

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None, title: str | None = None) -> ChoiceDisplay:
        """Plot the results of a fitted search.

        Parameters
        ----------
        search : HintSearchCV
            A fitted search.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        title : str, optional
            The title.

        Returns
        -------
        ChoiceDisplay
            The display; see its attributes.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(search, "cv_results_")
        scoring = search.scoring_
        name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
        return cls(search.cv_results_, best_index=search.best_index_, scoring=name).plot(ax=ax, title=title)

    def _check_and_measure(self) -> tuple[float, float]:
        found = self.cv_results
        for method, n_clusters in zip(found["method"], found["n_clusters"], strict=True):
            if n_clusters is None:
                raise ValueError(
                    f"{method} has no parameter n_clusters, so it has no position on the axis. "
                    "Plot cv_results_ over another parameter yourself."
                )
        return 7.5, 4.5

    def _draw(self, ax: Any) -> None:
        sizes = np.asarray(self.cv_results["n_clusters"]).astype(np.int64)
        scores = np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        errors = np.nan_to_num(np.asarray(self.cv_results["error_test_score"], dtype=np.float64))
        self.lines_ = {}
        methods = list(dict.fromkeys(self.cv_results["method"]))
        # Shift the lines slightly to keep their error bars apart.
        shifts = {m: 0.08 * (number - (len(methods) - 1) / 2) for number, m in enumerate(methods)}
        for number, method in enumerate(methods):
            rows = np.flatnonzero((self.cv_results["method"] == method) & np.isfinite(scores))
            if not rows.size:
                continue  # every fit failed
            rows = rows[np.lexsort((-scores[rows], sizes[rows]))]
            rows = rows[np.unique(sizes[rows], return_index=True)[1]]  # the best at each number of clusters
            self.lines_[method] = ax.errorbar(
                sizes[rows] + shifts[method],
                scores[rows],
                yerr=errors[rows],
                color=PALETTE[number % len(PALETTE)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=5,
                capsize=2,
                linewidth=1.4,
                elinewidth=0.8,
                label=method,
            )
        best, method = int(sizes[self.best_index]), self.cv_results["method"][self.best_index]
        (self.best_,) = ax.plot(
            [best + shifts[method]],
            [scores[self.best_index]],
            marker="o",
            markersize=16,
            markerfacecolor="none",
            markeredgecolor=VIOLATED,
            markeredgewidth=1.8,
            linestyle="none",
            label=f"chosen: {method}, {best} clusters",
            zorder=5,
        )
        ax.set_xticks(np.unique(sizes))
        ax.set_xlabel("number of clusters")
        ax.set_ylabel(f"{self.scoring.replace('_', ' ')} on held-out hints")
        ax.legend(**LEGEND)
