"""Pictures of clusterings and their hints; matplotlib is imported when one is drawn."""

from likewise.plotting._clusters import ClusterDisplay

__all__ = ["ClusterDisplay"]
