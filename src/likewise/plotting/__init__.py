"""Pictures of clusterings, choices and hints; matplotlib is imported when one is drawn."""

from likewise.plotting._bags import BagDisplay
from likewise.plotting._choice import ChoiceDisplay
from likewise.plotting._clusters import ClusterDisplay
from likewise.plotting._information import InformationDisplay

__all__ = ["BagDisplay", "ChoiceDisplay", "ClusterDisplay", "InformationDisplay"]
