"""The k-means family: k-means with hints. All members share one loop."""

from likewise.kmeans._base import AssignmentProblem as AssignmentProblem
from likewise.kmeans._base import KMeansFamily
from likewise.kmeans._cop import COPKMeans
from likewise.kmeans._labelled import ConstrainedKMeans, SeededKMeans
from likewise.kmeans._minibatch import MiniBatchMPCKMeans, MiniBatchPCKMeans
from likewise.kmeans._mpck import MPCKMeans
from likewise.kmeans._pck import MKMeans, PCKMeans

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "KMeansFamily",
    "MKMeans",
    "MPCKMeans",
    "MiniBatchMPCKMeans",
    "MiniBatchPCKMeans",
    "PCKMeans",
    "SeededKMeans",
]
