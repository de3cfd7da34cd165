"""The model of Dawid and Skene: the error rates of annotators without known answers, by EM.

A vote consists of three numbers: the question, the annotator, and the code of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AnnotatorVotes:
    """Answers of several annotators to several questions, at most one per annotator and question.

    Attributes
    ----------
    question, annotator, code : ndarray of shape (n_votes,)
        The question, the annotator and the answer of each vote.
    n_questions, n_annotators, n_answers : int
        The number of questions, annotators and possible answers.
    """

    question: IntArray
    annotator: IntArray
    code: IntArray
    n_questions: int
    n_annotators: int
    n_answers: int

    @property
    def counts(self) -> IntArray:
        """The number of annotators who gave each answer to each question, (n_questions, n_answers)."""
        counts = np.zeros((self.n_questions, self.n_answers), dtype=np.int64)
        np.add.at(counts, (self.question, self.code), 1)
        return counts

    def select(self, questions: npt.NDArray[np.bool_]) -> AnnotatorVotes:
        """Return the votes on some questions, without renumbering the questions."""
        use = questions[self.question]
        parts = (self.question[use], self.annotator[use], self.code[use])
        return AnnotatorVotes(*parts, self.n_questions, self.n_annotators, self.n_answers)


@dataclass(frozen=True, eq=False)
class Judgement:
    """The result of EM.

    Attributes
    ----------
    posterior : ndarray of shape (n_questions, n_answers)
        The probability that each answer is correct.
    shares : ndarray of shape (n_answers,)
        The prior probability of each correct answer.
    tables : ndarray of shape (n_annotators, n_answers, n_answers)
        The probability of each given answer (last axis) for each correct answer (middle axis).
    objective : list of float
        The log posterior density that EM maximises, up to a constant, before each iteration and at the end.
    converged : bool
        Whether the tables converged within `max_iter` iterations.
    """

    posterior: FloatArray
    shares: FloatArray
    tables: FloatArray
    objective: list[float]
    converged: bool


def make_prior_table(n_answers: int, accuracy: float) -> FloatArray:
    """Return the table of an annotator with a given accuracy, whose errors are uniform."""
    table = np.full((n_answers, n_answers), (1 - accuracy) / (n_answers - 1))
    np.fill_diagonal(table, accuracy)
    return table


def log_evidence(votes: AnnotatorVotes, shares: FloatArray, tables: FloatArray) -> FloatArray:
    """Return the log joint probability of each correct answer and the votes, (n_questions, n_answers)."""
    log_tables = np.log(tables)
    found = np.tile(np.log(shares), (votes.n_questions, 1))
    np.add.at(found, votes.question, log_tables[votes.annotator, :, votes.code])
    return found


def judge(votes: AnnotatorVotes, *, accuracy: float, strength: float, max_iter: int, tol: float) -> Judgement:
    """Estimate tables and shares from questions with two votes or more, and the posterior of all questions.

    EM maximises the log likelihood of the votes plus ``strength * make_prior_table * log(tables)`` plus
    ``log(shares)``, each summed over its entries. This is equivalent to `strength` more answers of each
    annotator for each correct answer, with the proportion `accuracy` of them correct. The prior keeps tables
    away from 0, and prevents EM from permuting the answers.
    """
    prior_counts = strength * make_prior_table(votes.n_answers, accuracy)
    counts = votes.counts
    several = counts.sum(axis=1) > 1
    # A question that one person answered gives no information about the accuracy of that person, and EM would
    # count the answer as its own confirmation.
    shared = votes.select(several)
    posterior = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    tables = np.empty((votes.n_annotators, votes.n_answers, votes.n_answers))
    objective: list[float] = []
    converged = False
    for _ in range(max_iter + 1):
        old = tables.copy() if objective else None
        confusion_counts = np.zeros((votes.n_annotators, votes.n_answers, votes.n_answers))
        np.add.at(confusion_counts, (shared.annotator, shared.code), posterior[shared.question])
        tables = confusion_counts.swapaxes(1, 2) + prior_counts
        tables /= tables.sum(axis=2, keepdims=True)
        shares = posterior[several].sum(axis=0) + 1.0
        shares /= shares.sum()
        logs = log_evidence(shared, shares, tables)
        totals = logsumexp(logs, axis=1)
        posterior = np.exp(logs - totals[:, None])
        prior = float((prior_counts * np.log(tables)).sum() + np.log(shares).sum())
        objective.append(float(totals[several].sum()) + prior)
        if old is not None and np.abs(tables - old).max(initial=0.0) <= tol:
            converged = True
            break
    logs = log_evidence(votes, shares, tables)
    posterior = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return Judgement(posterior, shares, tables, objective, converged)


def compute_krippendorff_alpha(counts: IntArray) -> float | None:
    """Return Krippendorff's alpha for nominal data, from the number of each answer to each question.

    It is 1 minus the disagreement within questions divided by the disagreement among all answers. None if no
    question has two answers, or if all answers are the same, where it is 0 / 0.

    >>> compute_krippendorff_alpha(np.array([[2, 0], [2, 0], [0, 2], [1, 1]]))
    0.533...
    """
    n = counts.sum(axis=1)
    counts = counts[n > 1].astype(np.float64)
    n = n[n > 1]
    totals = counts.sum(axis=0)
    total = totals.sum()
    expected = total**2 - (totals**2).sum()
    if expected == 0:
        return None
    within = ((n**2 - (counts**2).sum(axis=1)) / (n - 1)).sum()
    return float(1 - (total - 1) * within / expected)


def compute_observed_agreement(counts: IntArray) -> float | None:
    """Return the proportion of agreeing pairs of answers to the same question; None if there are no pairs.

    >>> compute_observed_agreement(np.array([[2, 0], [1, 2]]))
    0.5
    """
    n = counts.sum(axis=1)
    pairs = (n * (n - 1)).sum()
    return float((counts * (counts - 1)).sum() / pairs) if pairs else None
