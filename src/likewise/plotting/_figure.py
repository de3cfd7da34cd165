"""A figure of its own for a picture: it needs no screen and touches no global state."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from likewise._optional import require


def new_figure(width: float, height: float) -> Any:
    """Make a figure that is in nobody's list of open figures."""
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
        self.figure_.savefig(path, dpi=dpi)
