"""Discriminative clustering: a softmax model fitted to pairs, triplets, or both."""

from likewise.discriminative._discriminative_clustering import DiscriminativeClustering
from likewise.discriminative._hints import Noise as Noise
from likewise.discriminative._minibatch import MiniBatchDiscriminativeClustering

__all__ = ["DiscriminativeClustering", "MiniBatchDiscriminativeClustering"]
