"""Figures for displays: shown by notebooks and ``plt.show()`` where pyplot is in use."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from typing import Any

from likewise._optional import require


def new_figure(width: float, height: float) -> Any:
    """Make the figure of a display.

    In IPython, and where pyplot was imported, it is one of pyplot's open figures, as those of scikit-learn's
    displays are: a notebook shows it below the cell, and so does ``plt.show()``. Elsewhere it needs no screen
    and is in nobody's list.
    """
    if "matplotlib.pyplot" in sys.modules or _is_ipython():
        pyplot = require("matplotlib.pyplot", extra="plot")
        return pyplot.figure(figsize=(width, height), layout="constrained")
    return own_figure(width, height)


def _is_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def own_figure(width: float, height: float) -> Any:
    """Make a figure that is in nobody's list of open figures and needs no screen."""
    figure = require("matplotlib.figure", extra="plot").Figure(figsize=(width, height), layout="constrained")
    require("matplotlib.backends.backend_agg", extra="plot").FigureCanvasAgg(figure)
    return figure


def clear_sides(ax: Any) -> None:
    """Leave out the upper and the right rim."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


class Saved(ABC):
    """What displays share: once drawn, ``figure_`` can be written to a file."""

    figure_: Any = None

    @abstractmethod
    def plot(self) -> Any:
        """Draw; a display says how."""

    def save(self, path: str | os.PathLike[str], *, dpi: int = 150) -> None:
        """Write the figure to a file; the end of its name tells the format (.png, .svg, .pdf)."""
        if self.figure_ is None:
            self.plot()
        # Matplotlib would add an ending to /dev/null and to pipes, and write there.
        is_special = os.path.exists(path) and not os.path.isfile(path) and not os.path.splitext(path)[1]
        self.figure_.savefig(path, dpi=dpi, format="png" if is_special else None)
