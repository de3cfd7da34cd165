"""Gaussian mixtures with links, which act in the generative model, as a network, or on the posteriors."""

from likewise.mixture._equivalence import EquivalenceGaussianMixture
from likewise.mixture._minibatch import MiniBatchPairwiseGaussianMixture
from likewise.mixture._pairwise import PairwiseGaussianMixture
from likewise.mixture._posterior_constraints import PosteriorConstrainedGaussianMixture

__all__ = [
    "EquivalenceGaussianMixture",
    "MiniBatchPairwiseGaussianMixture",
    "PairwiseGaussianMixture",
    "PosteriorConstrainedGaussianMixture",
]
