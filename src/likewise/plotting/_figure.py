"""What displays share: figures, colours, and plots on one pair of axes."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from likewise._optional import require

# The palette of Okabe and Ito, which is suitable for all kinds of colour vision.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
NOISE, QUIET = "#BBBBBB", "#666666"
KEPT, VIOLATED = "#444444", "#D00000"
# A legend to the right of the axes.
LEGEND = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False, "fontsize": "small"}


def make_figure(width: float, height: float) -> Any:
    """Create the figure of a display.

    In IPython, and if pyplot was imported, the figure is managed by pyplot, as with scikit-learn's
    displays: notebooks show it below the cell, and so does ``plt.show()``. Otherwise it needs no screen and
    is not registered with pyplot.
    """
    ipython = sys.modules.get("IPython")
    in_ipython = ipython is not None and ipython.get_ipython() is not None
    if "matplotlib.pyplot" in sys.modules or in_ipython:
        pyplot = require("matplotlib.pyplot", extra="plot")
        return pyplot.figure(figsize=(width, height), layout="constrained")
    return make_detached_figure(width, height)


def make_detached_figure(width: float, height: float) -> Any:
    """Create a figure that needs no screen and is not registered with pyplot."""
    figure = require("matplotlib.figure", extra="plot").Figure(figsize=(width, height), layout="constrained")
    require("matplotlib.backends.backend_agg", extra="plot").FigureCanvasAgg(figure)
    return figure


def hide_spines(ax: Any) -> None:
    """Hide the top and right spines."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


class SavableDisplay(ABC):
    """Base class of displays, which can save their figure to a file."""

    figure_: Any = None

    @abstractmethod
    def plot(self) -> Any:
        """Draw the display."""

    def save(self, path: str | os.PathLike[str], *, dpi: int = 150) -> None:
        """Save the figure to a file; plot it first if necessary.

        Parameters
        ----------
        path : path
            The file. Its extension determines the format, such as ``.png``, ``.svg`` or ``.pdf``.
        dpi : int, default=150
            The resolution of pixel images, in dots per inch.
        """
        if self.figure_ is None:
            self.plot()
        # Matplotlib would append an extension to names such as /dev/null and write to another file.
        is_special = os.path.exists(path) and not os.path.isfile(path) and not os.path.splitext(path)[1]
        self.figure_.savefig(path, dpi=dpi, format="png" if is_special else None)


class AxesDisplay(SavableDisplay):
    """Base class of displays on one pair of axes."""

    ax_: Any = None
    _title_style: ClassVar[Mapping[str, Any]] = {}

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is created, which notebooks show.
        title : str, optional
            The title.

        Returns
        -------
        display : object
            This object, with its attributes set.
        """
        size = self._check_and_measure()
        if ax is None:
            ax = make_figure(*size).subplots()
        self.ax_ = ax
        self.figure_: Any = ax.figure
        ax.set_title(title or "", **self._title_style)
        hide_spines(ax)
        self._draw(ax)
        return self

    @abstractmethod
    def _check_and_measure(self) -> tuple[float, float]:
        """Check what is to be drawn, and return the width and height of a new figure in inches."""

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes."""
