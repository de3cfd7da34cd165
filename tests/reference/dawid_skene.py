"""Slow twins of the model of Dawid and Skene: all correct answers are enumerated, without logarithms."""

from itertools import product

import numpy as np


def enumerate_posterior(votes, shares, tables):
    """Return the probability of each answer to each question, by enumeration of all correct answers."""
    questions = range(votes.n_questions)
    posterior = np.zeros((votes.n_questions, votes.n_answers))
    for right in product(range(votes.n_answers), repeat=votes.n_questions):
        chance = np.prod([shares[right[q]] for q in questions])
        for q, a, code in zip(votes.question, votes.annotator, votes.code, strict=True):
            chance *= tables[a, right[q], code]
        posterior[list(questions), list(right)] += chance
    return posterior / posterior.sum(axis=1, keepdims=True)


def log_density(votes, shares, tables, prior_counts):
    """Return the log posterior density of shares and tables, up to a constant, by enumeration."""
    total = 0.0
    for right in product(range(votes.n_answers), repeat=votes.n_questions):
        chance = np.prod([shares[j] for j in right])
        for q, a, code in zip(votes.question, votes.annotator, votes.code, strict=True):
            chance *= tables[a, right[q], code]
        total += chance
    return np.log(total) + (prior_counts * np.log(tables)).sum() + np.log(shares).sum()
