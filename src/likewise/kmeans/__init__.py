"""The k-means family: k-means that takes hints, all on one loop."""

from likewise.kmeans._cop import COPKMeans
from likewise.kmeans._labelled import ConstrainedKMeans, SeededKMeans
from likewise.kmeans._minibatch import MiniBatchMPCKMeans, MiniBatchPCKMeans
from likewise.kmeans._soft import MKMeans, MPCKMeans, PCKMeans

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "MKMeans",
    "MPCKMeans",
    "MiniBatchMPCKMeans",
    "MiniBatchPCKMeans",
    "PCKMeans",
    "SeededKMeans",
]
