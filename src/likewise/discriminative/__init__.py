"""Discriminative clustering: a softmax model fitted to pairs, triplets, or both."""

from likewise.discriminative._discriminative_clustering import DiscriminativeClustering
from likewise.discriminative._minibatch import MiniBatchDiscriminativeClustering
from likewise.discriminative._noise import Noise

__all__ = ["DiscriminativeClustering", "MiniBatchDiscriminativeClustering", "Noise"]
