"""Plots of clusterings, model choices, interviews, hints and label trees.

Matplotlib and Jinja2 are imported on use.
"""

from likewise.plotting._bag_display import BagDisplay
from likewise.plotting._choice import ChoiceDisplay
from likewise.plotting._cluster_display import ClusterDisplay
from likewise.plotting._curves import COLOURS as COLOURS
from likewise.plotting._curves import CurveDisplay
from likewise.plotting._figure import MARKERS as MARKERS
from likewise.plotting._figure import QUIET as QUIET
from likewise.plotting._figure import hide_spines as hide_spines
from likewise.plotting._figure import make_detached_figure as make_detached_figure
from likewise.plotting._information_display import InformationDisplay
from likewise.plotting._missing import MissingRateDisplay
from likewise.plotting._tree import HierarchyDisplay

__all__ = [
    "BagDisplay",
    "ChoiceDisplay",
    "ClusterDisplay",
    "CurveDisplay",
    "HierarchyDisplay",
    "InformationDisplay",
    "MissingRateDisplay",
]
