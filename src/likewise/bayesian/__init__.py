"""Bayesian clustering: particles over a softmax model, and the questions most worth asking."""

from likewise.bayesian._clustering import BayesianClustering
from likewise.bayesian._pairs import BestPairs, best_pairs
from likewise.bayesian._triplets import score_triplets

__all__ = ["BayesianClustering", "BestPairs", "best_pairs", "score_triplets"]
