"""Pictures of clusterings, choices, interviews and hints; matplotlib is imported when one is drawn."""

from likewise.plotting._bags import BagDisplay
from likewise.plotting._choice import ChoiceDisplay
from likewise.plotting._clusters import ClusterDisplay
from likewise.plotting._curves import CurveDisplay
from likewise.plotting._information import InformationDisplay

__all__ = ["BagDisplay", "ChoiceDisplay", "ClusterDisplay", "CurveDisplay", "InformationDisplay"]
