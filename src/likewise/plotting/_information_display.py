"""Plot of the information in pairs and triplets over the number of classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.evaluation import HintInformation, compare_hints
from likewise.plotting._figure import PALETTE, SavableDisplay, hide_spines, make_figure

FloatArray = npt.NDArray[np.float64]
PAIR, TRIPLET = PALETTE[0], PALETTE[1]


@dataclass(repr=False, eq=False)
class InformationDisplay(SavableDisplay):
    """The information in pairs and triplets, for K classes of equal size (Pei 2017, figure 3.6).

    Create it with :meth:`from_classes`. The left panel compares one triplet with one pair. A triplet shows
    more rows, so the right panel compares two triplets with three pairs, which both show six rows. A given
    distribution can be marked at its number of classes.

    Parameters
    ----------
    n_classes : ndarray of shape (n,)
        The numbers of classes.
    pair_bits, triplet_bits : ndarray of shape (n,)
        The bits of one answer for each number of classes.
    marked : HintInformation or None, default=None
        A distribution to mark.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure; None before :meth:`plot`.
    axes_ : tuple of two matplotlib Axes
        The two panels.
    lines_ : dict of str to Line2D
        The curves: "pair", "triplet", "three pairs", "two triplets".
    marks_ : dict of str to Line2D
        The markers, by the same names; empty if nothing is marked.

    Examples
    --------
    >>> from likewise.evaluation import compare_hints
    >>> from likewise.plotting import InformationDisplay
    >>> display = InformationDisplay.from_classes(12, marked=compare_hints(shares=[0.6, 0.3, 0.1]))
    >>> sorted(display.lines_)
    ['pair', 'three pairs', 'triplet', 'two triplets']
    >>> display.save("information.png")  # doctest: +SKIP
    """

    n_classes: npt.NDArray[np.int64]
    pair_bits: FloatArray
    triplet_bits: FloatArray
    _: KW_ONLY
    marked: HintInformation | None = None
    axes_: tuple[Any, ...] = field(init=False, default=())
    lines_: dict[str, Any] = field(init=False, default_factory=dict)
    marks_: dict[str, Any] = field(init=False, default_factory=dict)

    @classmethod
    def from_classes(
        cls,
        max_classes: int = 20,
        *,
        noise_pair: float = 0.0,
        noise_triplet: float = 0.0,
        marked: HintInformation | None = None,
        axes: Any = None,
    ) -> InformationDisplay:
        """Plot the curves for 2 to `max_classes` classes.

        Parameters
        ----------
        max_classes : int, default=20
            The largest number of classes; increased to that of `marked` if necessary.
        noise_pair, noise_triplet : float, default=0.0
            The probability that an answer is wrong. If `marked` is given, its values are used instead.
        marked : HintInformation, optional
            A distribution to mark, from :func:`likewise.evaluation.compare_hints`.
        axes : sequence of two matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.

        Returns
        -------
        InformationDisplay
            The display; see its attributes.
        """
        if isinstance(max_classes, bool) or not isinstance(max_classes, int | np.integer) or max_classes < 2:
            raise ValueError(f"max_classes must be an integer of at least 2; got {max_classes!r}.")
        if marked is not None:
            max_classes = max(max_classes, len(marked.shares))
            noise_pair, noise_triplet = marked.noise_pair, marked.noise_triplet
        n_classes = np.arange(2, max_classes + 1)
        even = [
            compare_hints(shares=np.full(k, 1 / k), noise_pair=noise_pair, noise_triplet=noise_triplet)
            for k in n_classes
        ]
        display = cls(
            n_classes,
            np.array([found.pair_bits for found in even]),
            np.array([found.triplet_bits for found in even]),
            marked=marked,
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> InformationDisplay:
        """Plot the two panels.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.

        Returns
        -------
        display : InformationDisplay
            This object, with its attributes set.
        """
        if axes is None:
            axes = make_figure(9, 3.8).subplots(1, 2)
        self.axes_ = tuple(axes)
        if len(self.axes_) != 2:
            raise ValueError(f"expected two axes, one per panel; got {len(self.axes_)}.")
        self.figure_: Any = self.axes_[0].figure
        self.lines_, self.marks_ = {}, {}
        panels = (
            ("one answer", (("pair", 1, self.pair_bits), ("triplet", 1, self.triplet_bits))),
            ("six rows shown", (("three pairs", 3, self.pair_bits), ("two triplets", 2, self.triplet_bits))),
        )
        for ax, (title, curves) in zip(self.axes_, panels, strict=True):
            for (name, times, bits), colour, marker in zip(curves, (PAIR, TRIPLET), "so", strict=True):
                (self.lines_[name],) = ax.plot(
                    self.n_classes, times * bits, color=colour, marker=marker, markersize=3.5, label=name
                )
                if self.marked is not None:
                    own = self.marked.pair_bits if "pair" in name else self.marked.triplet_bits
                    (self.marks_[name],) = ax.plot(
                        [len(self.marked.shares)],
                        [times * own],
                        color=colour,
                        marker="*",
                        markersize=14,
                        markeredgecolor="black",
                        linestyle="none",
                        label=f"{name}, your classes",
                    )
            ax.set_title(title)
            ax.set_xlabel("number of classes")
            ax.set_ylabel("bits")
            ax.set_ylim(bottom=0)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.legend(frameon=False, fontsize="small")
            hide_spines(ax)
        return self
