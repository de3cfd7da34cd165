"""Plot of the rate at which each label is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from likewise.plotting._figure import PALETTE, AxesDisplay
from likewise.plotting._tree import FONT, shorten_name

_LINE = 0.2  # distance between labels in inches
_TALLEST = 200.0  # maximum height of a PDF page or an image in inches


class MissingRateDisplay(AxesDisplay):
    """The rate at which each label is missing, one dot for each label, the highest on top.

    Create it with :meth:`from_estimator`. The number beside a name and the size of its dot show the number of
    rows with the label: the rate of a rare label is uncertain. The dashed line is the rate over all labels.

    Parameters
    ----------
    names : sequence of str
        The labels.
    rates : ndarray of shape (n_labels,)
        For each label, the fraction of the rows with the label in which it is not recorded.
    shared : float or None, default=None
        The rate over all labels.
    counts : ndarray of shape (n_labels,) or None, default=None
        The number of rows with each label.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    ax_ : matplotlib Axes
        The axes.
    dots_ : PathCollection
        The dots, the highest rate first.
    line_ : Line2D or None
        The shared rate.
    order_ : ndarray of shape (n_labels,)
        The indices of the labels, from the highest rate to the lowest.

    Examples
    --------
    >>> from likewise.plotting import MissingRateDisplay
    >>> display = MissingRateDisplay(["owl", "wren"], [0.1, 0.3], shared=0.2, counts=[40, 7]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['wren (7)', 'owl (40)']
    >>> display.save("missing.png")  # doctest: +SKIP
    """

    _title_style: ClassVar[Mapping[str, Any]] = {"loc": "left", "parse_math": False}

    def __init__(
        self, names: Sequence[str], rates: Any, *, shared: float | None = None, counts: Any = None
    ) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self.rates: np.ndarray = np.asarray(rates, dtype=np.float64)
        self.shared = shared
        self.counts: np.ndarray | None = None if counts is None else np.asarray(counts, dtype=np.float64)
        self.dots_: Any = None
        self.line_: Any = None
        self.order_: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, title: str | None = None
    ) -> MissingRateDisplay:
        """Plot the missing rates of a fitted estimator.

        Parameters
        ----------
        estimator : LatentHierarchyClassifier
            A fitted estimator. With ``missing_rate="per-label"``, each label has its own rate.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        title : str, optional
            The title.

        Returns
        -------
        MissingRateDisplay
            The display; see its attributes.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, "missing_rates_")
        return cls(
            [str(name) for name in estimator.classes_],
            estimator.missing_rates_,
            shared=float(estimator.missing_rate_),
            counts=estimator.hierarchy_.counts,
        ).plot(ax=ax, title=title)

    def _check_and_measure(self) -> tuple[float, float]:
        n = len(self.names)
        if self.rates.shape != (n,) or (self.counts is not None and self.counts.shape != (n,)):
            got = [self.rates.shape] + ([] if self.counts is None else [self.counts.shape])
            raise ValueError(f"expected one rate and one count per label, {n} of each; got shapes {got}.")
        if not n:
            raise ValueError("there are no labels to plot.")
        return 6.5, min(_TALLEST, 1.3 + _LINE * n)

    def _draw(self, ax: Any) -> None:
        n = len(self.names)
        counts = np.zeros(n) if self.counts is None else np.nan_to_num(self.counts)
        self.order_ = np.lexsort((np.arange(n), -np.nan_to_num(self.rates)))
        rows = np.arange(n)
        rates = self.rates[self.order_]
        ax.hlines(rows, 0.0, rates, color="#DDDDDD", linewidth=1, zorder=1)
        sizes: Any = (12.0 + 60.0 * counts / counts.max())[self.order_] if counts.max() > 0 else 30.0
        self.dots_ = ax.scatter(rates, rows, s=sizes, color=PALETTE[0], linewidth=0, zorder=3)
        self.line_ = None
        if self.shared is not None:
            self.line_ = ax.axvline(self.shared, color=PALETTE[5], linewidth=1.2, linestyle="--", zorder=2)
        size = FONT * min(1.0, _TALLEST / (1.3 + _LINE * n))
        names = [shorten_name(self.names[k], 40) for k in self.order_.tolist()]
        if self.counts is not None:
            numbers = self.counts[self.order_].tolist()
            names = [
                name if np.isnan(n) else f"{name} ({n:,.0f})" for name, n in zip(names, numbers, strict=True)
            ]
        ax.set_yticks(rows, names, fontsize=size, parse_math=False)
        ax.set_ylim(n - 0.4, -0.6)
        ax.set_xlim(0.0, max(0.1, 1.1 * float(np.nanmax([*rates, self.shared or 0.0]))))
        ax.set_xlabel("missing rate" + (f" (dashed: all labels, {self.shared:.2f})" if self.line_ else ""))
