"""Bayesian clustering: particles of a softmax model, and the most informative questions."""

from likewise.bayesian._bayesian_clustering import BayesianClustering
from likewise.bayesian._pair_scores import BestPairs as BestPairs

__all__ = ["BayesianClustering"]
