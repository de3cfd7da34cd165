"""Figures for displays, which notebooks and ``plt.show()`` show if pyplot is in use."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from typing import Any

from likewise._optional import require


def make_figure(width: float, height: float) -> Any:
    """Create the figure of a display.

    In IPython, and if pyplot was imported, the figure is managed by pyplot, as with scikit-learn's
    displays: notebooks show it below the cell, and so does ``plt.show()``. Otherwise it needs no screen and
    is not registered with pyplot.
    """
    if "matplotlib.pyplot" in sys.modules or _is_ipython():
        pyplot = require("matplotlib.pyplot", extra="plot")
        return pyplot.figure(figsize=(width, height), layout="constrained")
    return make_detached_figure(width, height)


def _is_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


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
