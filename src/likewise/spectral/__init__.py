"""Spectral clustering: hints change a similarity graph, whose leading eigenvectors embed the rows."""

from __future__ import annotations

from likewise.spectral._bag_spectral import BagSpectralClustering
from likewise.spectral._flexible import FlexibleSpectralClustering
from likewise.spectral._kernel_kmeans import ConstrainedKernelKMeans
from likewise.spectral._learning import SpectralLearning
from likewise.spectral._link_evidence import ErrorRate as ErrorRate
from likewise.spectral._propagation_clustering import PropagationClustering
from likewise.spectral._regularized import RegularizedSpectralClustering

__all__ = [
    "BagSpectralClustering",
    "ConstrainedKernelKMeans",
    "FlexibleSpectralClustering",
    "PropagationClustering",
    "RegularizedSpectralClustering",
    "SpectralLearning",
]
