"""Groups from answers: a mixture on the sphere with a learned linear metric."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import ClusterWarning
from scipy.special import expit, log_softmax, logit, logsumexp, softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from likewise.active._evidence import MOST_REASONS, SUSPICIOUS, Suspect, compute_annotator_weights
from likewise.active._group_answers import (
    AnswerLog,
    FloatArray,
    GroupAnswers,
    IntArray,
    RowNeighborhoods,
    limit_threads,
    list_names_of_hints,
    list_relations_of_hints,
    scale_lengths,
    sum_groups,
)
from likewise.active._questions import MOST_GROUPS, Reply
from likewise.base import Rule
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision

_SHARPNESS = 20.0  # log-odds of a group per unit of cosine
_FREE = 0.2  # weight of a row without answers in the means
_PASSES, _FIRST_PASSES, _METRIC_PASSES, _START_PASSES = 1, 4, 2, 3
_LAST_OPENED = 10  # placements that show whether most open a group
_APART = 0.6  # distance of a start group to its mean, relative to the nearest group, if it is a group itself
_WARD_ROWS, _WARD_ROWS_PER_GROUP = 2000, 20  # of the sample that Ward's method gets
_OWN = 12.0  # log-odds of a reference row for its own group
_NEW_SLOPE = 15.0  # of the probability of a new group, per unit of cosine
_LAST_PLACED = 80  # placements that the threshold of new groups is fitted to
_FIRST_METRIC = 28  # no metric is learned before this many answers
_FEWEST_HELD_OUT = 20  # rows with answers that it takes to tell whether the metric helps
_FIRST_RATE = 0.07  # error rate before it is learned
_ALMOST_NEVER = 1e-9  # error rate of answers that are taken as correct
_RATES = (0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3)
_SOFTNESS = (0.4, 0.6, 0.8, 1.0, 1.3, 1.7)
_CAUTIOUS_RATE = 0.04  # from this error rate on, joins are confirmed, and large groups are checked
_CERTAINLY = 0.999
_PRIOR_WRONG, _PRIOR_RIGHT = 3.0, 30.0  # wrong and correct answers assumed before the first
_LARGEST_C, _SMALL_GROUP = 30.0, 40  # C of the logistic regression; less for groups of more rows than this
_ELSEWHERE = 0.03  # probability that a row belongs to a group that is not known yet
_FINER = 1.5  # start groups per requested group: with fewer, small groups merge into large ones
_POSSIBLE = 0.1  # least mean of `p_new` at which a start group may be a missing group
_PRIOR_AGREED, _PRIOR_ROWS = 0.88, 8.0  # proportion and number of rows assumed before the first answer
_STRONGEST = 2.0  # largest log-odds that a row belongs with the other rows of its start group


@dataclass(frozen=True)
class GroupErrorRate:
    """The estimated proportion of wrong answers, with a 90 % interval."""

    mean: float
    low: float
    high: float


@dataclass(eq=False)
class FittedGroups:
    """The groups that answers confirm, fitted to all rows.

    Attributes
    ----------
    answers : GroupAnswers
        The answers of the fit.
    transformed_rows : ndarray of shape (n_samples, n_features)
        The unit rows after the linear map W.
    means, raw_means : ndarray of shape (n_groups, n_features)
        The unit mean of each group, of the transformed rows and of the given ones.
    proba : ndarray of shape (n_samples, n_groups)
        The probability of each group.
    evidence : ndarray of shape (n_samples, n_groups)
        The log-odds of each group from the answers about the row alone.
    confirmed : ndarray of int
        The group that the answers about a row name, or -1.
    p_new, nearness, threshold
        The probability that a row belongs to no group so far, a logistic function of its cosine to the
        nearest group, and the cosine at which it is one half.
    doubt : ndarray of shape (n_samples,)
        The probability that the answers about a row are wrong, given all other rows and answers; 0 for rows
        without answers and for references.
    elsewhere : ndarray of shape (n_samples,)
        The part of `doubt` that the row belongs to no group so far. Its weight in the means is less by it.
    transform : ndarray or None
        The map W; None if it predicts answers no better than the given space.
    rate, rate_interval : float, (float, float) or None
        The proportion of wrong answers, and a 90 % interval; None while there are too few answers for one.
    sums : ndarray of shape (n_groups, n_features)
        The weighted sums of the transformed rows of each group.
    """

    answers: GroupAnswers
    transformed_rows: FloatArray
    means: FloatArray
    raw_means: FloatArray
    proba: FloatArray
    evidence: FloatArray
    confirmed: IntArray
    p_new: FloatArray
    nearness: FloatArray
    doubt: FloatArray
    elsewhere: FloatArray
    threshold: float
    transform: FloatArray | None
    rate: float
    rate_interval: tuple[float, float] | None
    sums: FloatArray
    _cover: FloatArray | None = None

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.means)

    @property
    def is_cautious(self) -> bool:
        """Whether answers are wrong so often that joins are confirmed, and large groups are checked."""
        return self.rate >= _CAUTIOUS_RATE

    def find_numbers_in(self, answers: GroupAnswers) -> IntArray:
        """Return the number of each group among the groups of later answers."""
        now_of = np.zeros(self.n_groups, dtype=np.int64)
        now_of[self.answers.group_of] = answers.group_of[: len(self.answers.references)]
        return now_of

    def get_cover(self, neighborhoods: RowNeighborhoods) -> FloatArray:
        """Return the largest cosine of each row to a near row with answers; computed once."""
        if self._cover is None:
            self._cover = np.full(len(self.confirmed), neighborhoods.base, dtype=np.float32)
            rows = np.flatnonzero(self.confirmed >= 0)
            np.maximum.at(self._cover, neighborhoods.near[rows].ravel(), neighborhoods.cosines[rows].ravel())
        return self._cover

    @cached_property
    def predictions(self) -> tuple[FloatArray, FloatArray]:
        """The probability of each piece of evidence given everything else, and that it is wrong."""
        answers = self.answers
        rows, at = np.unique(answers.rows, return_inverse=True)
        weights = np.where(self.confirmed[rows] >= 0, 1.0, _FREE * (1 - self.p_new[rows]))
        own = self.proba[rows] * weights[:, None].astype(np.float32)
        cosines = _compute_cosines_without(self.transformed_rows[rows], self.sums, own)
        prior = np.log(1 - _ELSEWHERE) + log_softmax(_SHARPNESS * cosines, axis=1)
        groups, places = answers.group_of[answers.refs], np.arange(len(at))
        odds = _compute_odds(answers, self.rate)
        logits = (prior + self.evidence[rows])[at].astype(np.float64)
        logits[places, groups] -= odds  # without this answer
        total = np.logaddexp(logsumexp(logits, axis=1), np.log(_ELSEWHERE))
        belongs = np.exp(logits[places, groups] - total)
        predicted = np.where(answers.signs > 0, belongs, 1 - belongs)
        right = predicted * np.exp(np.abs(odds))
        return predicted, (1 - predicted) / np.maximum(right + 1 - predicted, 1e-12)

    @cached_property
    def overlap(self) -> FloatArray:
        """The largest overlap of each group with another one, relative to the smaller of the two."""
        size = np.maximum(self.proba.sum(axis=0), 1e-12)
        shares = self.proba.T @ self.proba / np.minimum.outer(size, size)
        np.fill_diagonal(shares, 0.0)
        return np.asarray(shares.max(axis=0))

    @cached_property
    def top_two(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The most probable group of each row, its probability, and that of the second."""
        top = self.proba.argmax(axis=1)
        first = self.proba[np.arange(len(top)), top]
        second = np.partition(self.proba, -2, axis=1)[:, -2] if self.n_groups > 1 else np.zeros_like(first)
        return top, first, second


def compute_p_new(nearness: FloatArray, threshold: float) -> FloatArray:
    """Return the probability that each row belongs to no group so far."""
    return np.asarray(expit(-_NEW_SLOPE * (nearness - threshold)), dtype=np.float32)


def _fit_threshold(answers: GroupAnswers, start: float, rate: float) -> float:
    """Fit the cosine below which a placed row is more often in a new group than not (Fisher scoring).

    An answer is wrong with probability `rate`: without this, the few rows of new groups that were placed in a
    group far away would lower the threshold for all rows.
    """
    last = answers.placed[-_LAST_PLACED:]
    found = start
    for _ in range(12):
        p = expit(-_NEW_SLOPE * (last[:, 0] - found))
        says_new = rate / MOST_GROUPS + (1 - rate - rate / MOST_GROUPS) * p
        change = _NEW_SLOPE * (1 - rate - rate / MOST_GROUPS) * p * (1 - p)
        spread = np.maximum(says_new * (1 - says_new), 1e-12)
        slope = ((last[:, 1] - says_new) * change / spread).sum() - 20.0 * (found - start)
        curve = (change**2 / spread).sum() + 20.0
        found += float(np.clip(slope / curve, -0.1, 0.1))
    return found


def _compute_odds(answers: GroupAnswers, rate: float) -> npt.NDArray[np.float64]:
    """Return the log-odds of each piece of evidence for the group that it is about.

    An answer that is wrong is one of the other answers that were possible, so it has the log-odds
    log((1 - rate) / rate) + log(choices).
    """
    odds = np.log((1 - rate) / max(rate, _ALMOST_NEVER)) + np.log(answers.choices)
    return np.asarray(answers.signs * odds * (1.0 if answers.weights is None else answers.weights))


def _compute_evidence(n: int, answers: GroupAnswers, rate: float) -> tuple[FloatArray, IntArray]:
    """Return the log-odds of each row for each group from the answers, and the confirmed group or -1."""
    E = np.zeros((n, answers.n_groups), dtype=np.float32)
    np.add.at(E, (answers.rows, answers.group_of[answers.refs]), _compute_odds(answers, rate))
    confirmed = np.where(E.max(axis=1) > 1e-3, E.argmax(axis=1), -1)
    E[answers.references, answers.group_of] += _OWN
    confirmed[answers.references] = answers.group_of
    return E, confirmed


def _compute_proba(cosines: FloatArray, E: FloatArray, links: IntArray) -> FloatArray:
    """Return P with P_ig proportional to exp(20 z_i m_g + E_ig), where z_i m_g are cosines."""
    logits = _SHARPNESS * cosines
    logits += E
    return np.asarray(softmax(_separate(logits, links), axis=1))


def _separate(logits: FloatArray, links: IntArray) -> FloatArray:
    """Lower the logits of a row for the group of a cannot-linked row, if neither row stands for a group."""
    for i, j in links[:, :2].tolist():
        logits[j] -= _OWN * softmax(logits[i])
    return logits


def _learn_transform(rows: FloatArray, R: FloatArray, moment: FloatArray) -> FloatArray:
    """Return W = S^(-1/4): S is the scatter within groups, shrunk by half towards the identity.

    `moment` is the weighted sum of the outer products of the rows with themselves.
    """
    size = R.sum(axis=0)
    means = R.T @ rows / np.maximum(size, 1e-12)[:, None]
    S = (moment - (means * size[:, None]).T @ means) / max(float(size.sum()), 1e-12)
    S = 0.5 * S + 0.5 * max(np.trace(S) / len(S), 1e-9) * np.eye(len(S), dtype=np.float32)
    values, vectors = np.linalg.eigh(S)  # well-conditioned: single precision is enough
    return np.asarray((vectors * np.maximum(values, 1e-12) ** -0.25) @ vectors.T)


def _predicts_better(
    rows: FloatArray, R: FloatArray, moment: FloatArray, answers: GroupAnswers, confirmed: IntArray
) -> bool:
    """Return True if the learned metric predicts held-out answers better: those about every other row."""
    known = np.unique(answers.rows[confirmed[answers.rows] >= 0])
    if len(known) < _FEWEST_HELD_OUT:
        return False
    half = known[::2]
    kept = R.copy()
    kept[half] = 0.0
    left_out = (rows[half] * R[half].sum(axis=1)[:, None]).T @ rows[half]
    gain = 0.0
    for sign, Z in ((-1, rows), (1, scale_lengths(rows @ _learn_transform(rows, kept, moment - left_out)))):
        P = softmax(Z[half] @ (_SHARPNESS * scale_lengths(kept.T @ Z)).T, axis=1)
        gain += sign * float(np.log(P[np.arange(len(half)), confirmed[half]] + 1e-3).sum())
    return gain > 0


def _compute_cosines_without(Z: FloatArray, sums: FloatArray, own: FloatArray) -> FloatArray:
    """Return the cosines of rows to the means of the groups, without the share of the row in the mean."""
    along = Z @ sums.T
    lengths = np.einsum("ij,ij->i", sums, sums) - 2 * along * own + own**2
    return np.asarray((along - own) / np.sqrt(np.maximum(lengths, 1e-6)))


def _compute_doubt(
    which: IntArray,
    spaces: Sequence[tuple[FloatArray, FloatArray]],
    R: FloatArray,
    E: FloatArray,
    confirmed: IntArray,
    threshold: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the probability that answers about rows are wrong, and that the rows are in no group so far.

    Both are given all other rows and answers: the groups are those without the row itself. The alternatives
    to its group are the other groups, and a group that is not known yet. `spaces` are rows and sums of
    groups, transformed and as given.
    """
    fits, near = (_compute_cosines_without(Z[which], sums, R[which]) for Z, sums in spaces)
    p_new = compute_p_new(near.max(axis=1), threshold)
    prior = np.exp(_SHARPNESS * (fits - fits.max(axis=1, keepdims=True)))
    prior *= ((1 - p_new) / prior.sum(axis=1))[:, None]
    peak = np.maximum(E[which].max(axis=1, initial=0.0), 0.0)
    joint = prior * np.exp(E[which] - peak[:, None])
    mine, elsewhere = joint[np.arange(len(which)), confirmed[which]], p_new * np.exp(-peak)
    total = np.maximum(joint.sum(axis=1) + elsewhere, 1e-12)
    return 1 - mine / total, elsewhere / total


def _learn_rate(
    answers: GroupAnswers, R: FloatArray, spaces: Sequence[tuple[FloatArray, FloatArray]], threshold: float
) -> tuple[float, tuple[float, float]]:
    """Return the most probable error rate, and a 90 % interval.

    Each row with answers is predicted from the groups without its own share in their means. The softness of
    the predictions is fitted with the rate. A row that was asked about twice says most about the rate:
    features that are wrong predict both answers badly, a wrong answer contradicts the other.

    Rows that opened a group are predicted by nothing, but their answers were correct unless the group was
    joined with another one. Without them the rate would be that of rows put into known groups, three times
    as high while most rows belong to groups that are not known yet. A rate that is too high costs little, a
    rate that is too low costs much, so some wrong answers are assumed before the first. `spaces` are rows
    and sums of groups, transformed and as given.
    """
    rows, at = np.unique(answers.rows, return_inverse=True)
    net, choices = np.zeros((2, len(rows), R.shape[1]), dtype=np.float32)
    cells = at, answers.group_of[answers.refs]
    np.add.at(net, cells, answers.signs)
    np.add.at(choices, cells, answers.signs * np.log(answers.choices))
    n_in = np.bincount(at, weights=answers.signs > 0)
    n_out = np.bincount(at, weights=answers.signs < 0)
    n_right = _PRIOR_RIGHT + answers.placed[:, 1].sum()
    fits, near = (_compute_cosines_without(Z[rows], sums, R[rows]) for Z, sums in spaces)
    elsewhere = np.maximum(compute_p_new(near.max(axis=1), threshold), _ELSEWHERE)
    logits = _SHARPNESS * (fits - fits.max(axis=1, keepdims=True))
    totals = np.full(len(_RATES), -np.inf)
    for softness in _SOFTNESS:
        p = np.exp(softness * logits)
        p *= ((1 - elsewhere) / p.sum(axis=1))[:, None]
        for place, rate in enumerate(_RATES):
            odds = np.log((1 - rate) / rate)
            value = np.log((p * np.exp(odds * net + choices)).sum(axis=1) + elsewhere)
            value += n_in * np.log(rate) + n_out * np.log(1 - rate)
            prior = _PRIOR_WRONG * np.log(rate) + n_right * np.log(1 - rate)
            totals[place] = max(totals[place], float(value.sum() + prior))
    shares = np.exp(totals - totals.max())
    below = np.cumsum(shares / shares.sum())
    low, high = np.searchsorted(below, [0.05, 0.95])
    return _RATES[int(totals.argmax())], (_RATES[int(low)], _RATES[min(int(high), len(_RATES) - 1)])


def fit_groups(
    neighborhoods: RowNeighborhoods,
    answers: GroupAnswers,
    *,
    source: FittedGroups | None = None,
    error_rate: float | str = "learn",
    learn_metric: bool = True,
) -> FittedGroups:
    """Fit the groups to answers by EM.

    Map and error rate come from `source`, a fit to fewer answers, if it is given.
    The result depends on the answers and on the source only, so it does not depend on when it is computed.
    """
    rows, (n, G) = neighborhoods.rows, (len(neighborhoods.rows), answers.n_groups)
    learns = error_rate == "learn"
    rate = float(error_rate) if not learns else _FIRST_RATE if source is None else source.rate
    interval = (rate, rate) if not learns else None if source is None else source.rate_interval
    E, confirmed = _compute_evidence(n, answers, rate)
    sure = confirmed >= 0
    raw = scale_lengths(sum_groups(neighborhoods.smooth[sure], confirmed[sure], G))
    transform = None
    if source is not None:
        transform, n_old = source.transform, len(source.answers.references)
        now_of = source.find_numbers_in(answers)
        size = source.proba.sum(axis=0)[:, None]
        raw[np.unique(now_of)] = scale_lengths(sum_groups(source.raw_means * size, now_of, G))[
            np.unique(now_of)
        ]
    threshold = _fit_threshold(answers, neighborhoods.base, rate)
    Z = rows if source is None else source.transformed_rows
    means = raw if transform is None else scale_lengths(raw @ transform)
    fresh = raw if source is None else raw[np.setdiff1d(answers.group_of, answers.group_of[:n_old])]
    nearness = (rows @ fresh.T).max(axis=1, initial=-1.0)
    if source is not None:
        nearness = np.maximum(nearness, source.nearness)
    p_new = compute_p_new(nearness, threshold)
    weights = np.where(sure, 1.0, _FREE * (1.0 - p_new)).astype(np.float32)[:, None]
    answered_rows = np.setdiff1d(answers.rows[sure[answers.rows]], answers.references)
    if source is not None:
        weights[answered_rows, 0] = 1.0 - source.elsewhere[answered_rows]
    learn_metric = learn_metric and source is None and answers.n_answers >= _FIRST_METRIC and G > 1
    for left in range(_PASSES if source is not None else _FIRST_PASSES, 0, -1):
        R = _compute_proba(Z @ means.T, E, answers.links)
        R *= weights
        if learn_metric and left <= _METRIC_PASSES:
            if left == _METRIC_PASSES:
                moment = np.asarray((rows * weights).T @ rows, dtype=np.float32)
            transform = _learn_transform(rows, R, moment)
            Z = scale_lengths(rows @ transform)
        sums = R.T @ Z
        means = scale_lengths(sums)
        if source is None and left == _METRIC_PASSES + 1 and rate > 0:
            found = _compute_doubt(answered_rows, [(Z, sums)] * 2, R, E, confirmed, threshold)
            weights[answered_rows, 0] = 1.0 - found[1]
    raw_sums = sums if Z is rows else R.T @ rows
    raw = scale_lengths(raw_sums)
    if learn_metric and not _predicts_better(rows, R, moment, answers, confirmed):
        transform, Z, sums, means = None, rows, raw_sums, raw
    if learns and source is None and len(answers.rows) >= _FEWEST_HELD_OUT:
        rate, interval = _learn_rate(answers, R, [(Z, sums), (rows, raw_sums)], threshold)
        E, confirmed = _compute_evidence(n, answers, rate)
    cosines = Z @ means.T
    P = _compute_proba(cosines, E, answers.links)
    nearness = (cosines if Z is rows else rows @ raw.T).max(axis=1)
    p_new = compute_p_new(nearness, threshold)
    p_new[confirmed >= 0] = 0.0
    doubt, elsewhere = np.zeros((2, n), dtype=np.float32)
    answered_rows = np.setdiff1d(answers.rows[confirmed[answers.rows] >= 0], answers.references)
    if rate < _CAUTIOUS_RATE:  # then few answers are doubtful
        answered_rows = answered_rows[P[answered_rows, confirmed[answered_rows]] < _CERTAINLY]
    if rate > 0:
        spaces = (Z, sums), (rows, raw_sums)
        found = _compute_doubt(answered_rows, spaces, R, E, confirmed, threshold)
        doubt[answered_rows], elsewhere[answered_rows] = found
    return FittedGroups(
        answers,
        Z,
        means,
        raw,
        P,
        E,
        confirmed,
        p_new,
        nearness,
        doubt,
        elsewhere,
        threshold,
        transform,
        rate,
        interval,
        sums,
    )


def _set_weights(answers: GroupAnswers, weights: Sequence[float]) -> GroupAnswers:
    """Return the answers with a weight for each piece of evidence; hints before the interview count once."""
    return replace(answers, weights=np.array([*weights, 1.0])[answers.numbers]) if len(weights) else answers


def _find_start_groups(neighborhoods: RowNeighborhoods, n_groups: int, random_state: int) -> IntArray:
    """Return the groups that an interview starts from: k-means from the groups that Ward's method finds.

    Ward's method gets a sample of the rows. It finds small groups that k-means from random seeds joins.
    """
    rows = neighborhoods.rows
    if n_groups == len(rows):
        return np.arange(n_groups)
    draw = np.random.default_rng(random_state).permutation(len(rows))
    sample = rows[np.sort(draw[: max(_WARD_ROWS, _WARD_ROWS_PER_GROUP * n_groups)])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusterWarning)  # two rows look like a matrix of distances
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than groups
        found = AgglomerativeClustering(n_groups).fit_predict(sample)
        centers = sum_groups(sample, found, n_groups) / np.bincount(found)[:, None]
        fitted = KMeans(n_groups, init=centers, n_init=1, max_iter=_START_PASSES).fit(rows)
    return np.asarray(fitted.labels_, dtype=np.int64)


def _add_start_groups(
    fitted: FittedGroups, start: IntArray, bounds: tuple[int, int | None]
) -> tuple[FloatArray, FloatArray]:
    """Return probabilities and evidence with the start groups in which no row is confirmed.

    They stand for groups that were not found yet: those whose rows probably belong to no group so far, and
    those whose rows possibly do, until the minimum number of groups is reached. While most
    placements open a group, also those whose rows are much nearer to one another than to any group so far.
    There are never more groups than there can be.
    """
    Z, sure = fitted.transformed_rows, fitted.confirmed >= 0
    size = np.bincount(start)
    touched = np.bincount(start[sure], minlength=len(size)) > 0
    new = np.bincount(start, weights=fitted.p_new)
    free = np.flatnonzero(~touched & (size > 0))
    likely = new[free] > 0.5 * size[free]
    opened = fitted.answers.placed[-_LAST_OPENED:, 1]
    if 2 * opened.sum() > len(opened):
        others = scale_lengths(sum_groups(Z, start, len(size))[start] - Z)  # without the row itself
        own = np.bincount(start, weights=1.0 - np.einsum("ij,ij->i", Z, others))
        nearest = np.bincount(start, weights=1.0 - (Z @ fitted.means.T).max(axis=1))
        likely |= ((own < _APART * nearest) & (size > 2))[free]
    fewest, most = (len(free) if k is None else max(k - fitted.n_groups, 0) for k in bounds)
    if len(fitted.answers.placed):  # they show which rows may belong to no group so far
        fewest = min(fewest, int((new[free] > _POSSIBLE * size[free]).sum()))
    wanted = min(max(int(likely.sum()), fewest), most)
    order = np.lexsort((-new[free], ~likely)) if fewest < most else np.argsort(-new[free], kind="stable")
    free = free[order[:wanted]]
    if not len(free):
        return fitted.proba, fitted.evidence
    sums = np.array([Z[start == g].sum(axis=0) for g in free])
    means = np.vstack([fitted.means, scale_lengths(sums.astype(np.float32))])
    unknown = np.repeat(np.where(sure, -_OWN, 0.0)[:, None], len(free), axis=1).astype(np.float32)
    E = np.hstack([fitted.evidence, unknown])
    weights = np.where(sure, 1.0, _FREE).astype(np.float32)[:, None]
    for _ in range(_START_PASSES):
        P = _compute_proba(Z @ means.T, E, fitted.answers.links)
        means = scale_lengths(np.asarray((P * weights).T @ Z, dtype=np.float32))
    return _compute_proba(Z @ means.T, E, fitted.answers.links), E


def _add_evidence_of_start_groups(fitted: FittedGroups, start: IntArray) -> FittedGroups:
    """Return the groups with evidence for rows without answers: the answers about rows of their start group.

    Its strength is the log-odds that two answered rows of a start group belong to the same group; it is 0 if
    answers show that start groups are mixed.
    """
    sure = fitted.confirmed >= 0
    own, groups = start[sure], fitted.confirmed[sure]
    counts = np.zeros((int(start.max()) + 1, fitted.n_groups), dtype=np.float32)
    np.add.at(counts, (own, groups), 1.0)
    total = counts.sum(axis=1)
    seen = total[own] > 1
    agreed = ((counts[own, groups] - 1) / np.maximum(total[own] - 1, 1.0)).sum()
    share = (agreed + _PRIOR_AGREED * _PRIOR_ROWS) / (seen.sum() + _PRIOR_ROWS)
    lean = np.clip(logit(share), 0.0, _STRONGEST) * counts / np.maximum(total, 1.0)[:, None]
    E = fitted.evidence + np.where(sure[:, None], 0.0, lean[start]).astype(np.float32)
    P = _compute_proba(fitted.transformed_rows @ fitted.means.T, E, fitted.answers.links)
    return replace(fitted, evidence=E, proba=P)


def _separate_start_groups(neighborhoods: RowNeighborhoods, start: IntArray, links: IntArray) -> IntArray:
    """Return the groups before any answer, with rows moved to the next group if a cannot-link requires it."""
    if not len(links):
        return start
    centers = scale_lengths(sum_groups(neighborhoods.rows, start, int(start.max()) + 1))
    labels = start.copy()
    for i, j in links[:, :2].tolist():
        if labels[i] == labels[j] and len(centers) > 1:
            scores = centers @ neighborhoods.rows[j]
            scores[labels[i]] = -np.inf
            labels[j] = scores.argmax()
    return labels


def _train_on_itself(rows: FloatArray, fitted: FittedGroups, P: FloatArray, evidence: FloatArray) -> IntArray:
    """Return the most probable groups of a logistic regression that is trained on the groups found so far.

    It is trained again on its own groups; if a start group vanished by this, the first result is returned.
    """
    confirmed = fitted.confirmed >= 0
    C = _LARGEST_C * min(1.0, (_SMALL_GROUP * P.shape[1] / len(rows)) ** 0.5)
    labels: IntArray = P.argmax(axis=1).astype(np.int64)
    for is_again in (False, True):
        n_groups = len(np.unique(labels))
        if n_groups < 2:
            break
        weight = np.where(confirmed, 1.0, 0.3 * P.max(axis=1) ** 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 60 iterations are enough
            head = LogisticRegression(C=C, max_iter=60)
            head.fit(rows, labels, sample_weight=weight)
        scores = np.full(P.shape, -30.0, dtype=np.float32)
        scores[:, head.classes_] = head.predict_log_proba(rows)
        scores = _separate(scores + evidence, fitted.answers.links)
        found = scores.argmax(axis=1).astype(np.int64)
        if is_again and P.shape[1] > fitted.n_groups and len(np.unique(found)) < n_groups:
            break
        P, labels = softmax(scores, axis=1), found
    return labels


def weigh_answers(fitted: FittedGroups, replies: Sequence[Reply]) -> list[float] | None:
    """Return a weight for each reply, by how well the rows and other answers predict its annotator's answers.

    None unless at least two annotators gave enough answers.
    """
    stated: dict[str | None, list[float]] = {reply.annotator: [] for reply in replies}
    for number, p in zip(fitted.answers.numbers.tolist(), fitted.predictions[0].tolist(), strict=True):
        if number >= 0:
            stated[replies[number].annotator].append(p)
    weights = compute_annotator_weights(stated)
    return None if weights is None else [weights[reply.annotator] for reply in replies]


def find_group_suspects(
    fitted: FittedGroups, neighborhoods: RowNeighborhoods, replies: Sequence[Reply]
) -> tuple[Suspect, ...]:
    """Return the answers that look wrong, most suspicious first; each with its most doubtful piece."""
    answers = fitted.answers
    predicted, wrong = fitted.predictions
    groups = answers.group_of[answers.refs]
    worst: dict[int, int] = {}
    for piece in np.argsort(-wrong, kind="stable").tolist():
        if wrong[piece] < SUSPICIOUS:
            break
        if answers.numbers[piece] >= 0:
            worst.setdefault(int(answers.numbers[piece]), piece)
    found = []
    for number, piece in worst.items():
        row, group, sign = int(answers.rows[piece]), groups[piece], answers.signs[piece]
        same_row = np.flatnonzero((answers.rows == row) & (answers.numbers >= 0))
        opposed = same_row[((groups[same_row] == group) == (answers.signs[same_row] > 0)) != (sign > 0)]
        likely = int(group)
        if sign > 0:  # the most similar other group
            cosines = fitted.means @ fitted.transformed_rows[row]
            cosines[group] = -np.inf
            likely = int(cosines.argmax())
        near = [other for other in neighborhoods.near[row].tolist() if fitted.confirmed[other] == likely]
        same = (groups[same_row] == group) & (answers.signs[same_row] == sign)
        found.append(
            Suspect(
                reply=replies[number],
                chance=float(wrong[piece]),
                predicted=float(predicted[piece]),
                against=tuple(replies[other] for other in dict.fromkeys(answers.numbers[opposed].tolist()))[
                    :MOST_REASONS
                ],
                rows=tuple(near[:MOST_REASONS]),
                confirmed=bool(same.sum() > 1),
            )
        )
    return tuple(found)


class GroupClustering(ClusterMixin, BaseEstimator):
    r"""Many groups from few answers: a mixture on the sphere with a learned linear metric (ours).

    With unit rows :math:`z_i = x_i W / |x_i W|` and a unit mean :math:`m_g` for each group,

    .. math:: P_{ig} \propto \exp(20 z_i^\top m_g + E_{ig}),

    where :math:`E_{ig}` is the log-odds of the answers about row i and group g at the estimated error rate.
    Means and probabilities alternate (EM); rows without answers have a weight of 0.2, and less if they
    probably belong to no group so far. :math:`W = S^{-1/4}` partially whitens the scatter S within the
    groups, which is first averaged with a multiple of the identity of equal trace. W is used only if it
    predicts held-out answers better. `labels_` are the predictions of a logistic regression trained on these
    groups.

    Groups are those that the hints confirm. While there are fewer than `n_clusters`, start groups without
    answers stand for the others. Start groups are found by k-means from those of Ward's method on a sample.
    A row without answers belongs more probably to the groups of the other rows of its start group, by as
    much as answers about rows of one start group agree.
    If links given to `fit` confirm more groups than `n_clusters`, as links between random rows do, components
    of links that are nearest to the same start group are taken as one group, unless links separate them. A
    component that links separate from all groups stays one of its own.

    Parameters
    ----------
    n_clusters : int or (int, int), optional
        The number of groups, or the smallest and largest number that it may be. If None it is unknown. There
        are :math:`1.5 \sqrt{n}` start groups, or the nearest number that is allowed. After the first answer
        there are up to 1.5 times the largest number; only those that may be missing groups are used.
    error_rate : float or "learn", default="learn"
        The proportion of wrong answers, or "learn".
    learn_metric : bool, default=True
        Whether a linear map of the rows is learned from the answers.
    random_state : int, optional
        Seed of the sample for the start groups.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The group of each row.
    groups_ : FittedGroups
        The groups, with probabilities and means.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.active import GroupClustering
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [-1.0, 0.1], [-0.9, 0.0]]
    >>> hints = Supervision.from_links(6, must=[(0, 1), (2, 3)], cannot=[(0, 2)])
    >>> len(set(GroupClustering(3, random_state=0).fit(X, supervision=hints).labels_.tolist()))
    3
    """

    supported_hints = frozenset({"links", "labels", "triplets"})

    def __init__(
        self,
        n_clusters: int | tuple[int, int] | None = None,
        *,
        error_rate: float | str = "learn",
        learn_metric: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.error_rate = error_rate
        self.learn_metric = learn_metric
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, supervision: Supervision | None = None) -> GroupClustering:
        """Find the groups of rows from links and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Ignored.
        supervision : Supervision, optional
            Links and labels.

        Returns
        -------
        GroupClustering
            The fitted estimator.
        """
        rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        hints = Supervision.empty(len(rows)) if supervision is None else supervision
        if not isinstance(hints, Supervision) or hints.n_samples != len(rows):
            raise SupervisionError(
                f"GroupClustering: supervision must be hints for the {len(rows)} rows, got {hints!r}. Create "
                "hints with Supervision.from_links(len(X), must=[(0, 3)], cannot=[(1, 7)])."
            )
        if unused := hints.kinds - self.supported_hints:
            raise SupervisionError(
                f"GroupClustering does not use {' or '.join(sorted(unused))}. Convert them with "
                "hints.to_links()."
            )
        k = [] if self.n_clusters is None else np.ravel(self.n_clusters).tolist()
        if not all(Rule.integer(1).holds(each) for each in k) or k != sorted(k) or len(k) > 2:
            raise ValueError(
                "GroupClustering: n_clusters must be an integer of at least 1, or two of them, the smaller "
                f"one first, or None; got {self.n_clusters!r}."
            )
        if k and k[-1] > len(rows):
            raise ValueError(
                f"GroupClustering: n_clusters={self.n_clusters}, but there are only {len(rows)} rows. Use "
                "fewer clusters."
            )
        neighborhoods = RowNeighborhoods.from_data(rows, int(self.random_state or 0))
        relations, names = list_relations_of_hints(hints), list_names_of_hints(hints)
        self.fit_replies(AnswerLog(neighborhoods, relations, names), ())
        if not names and (names := self._name_groups()):
            self.fit_replies(AnswerLog(neighborhoods, relations, names), ())
        return self

    def _name_groups(self) -> list[tuple[int, str]]:
        """Return a name for each reference row if links confirm more groups than there are; else nothing.

        Links between random rows do not tell which of their components are the same group. Each component
        gets the name of the nearest start group that no cannot-linked component has taken. Those with the
        fewest start groups left choose first, and of these the one that fits its start group best. A
        component without any left gets no name, which may happen although other choices satisfy all links.
        """
        found, most = self.groups_, self.bounds[1]
        if found is None or most is None or found.n_groups <= most:
            return []
        answers, rows = found.answers, self.log_.neighborhoods.rows
        scores = (
            self.log_.compute_means(answers) @ scale_lengths(sum_groups(rows, self._get_start(most), most)).T
        )
        apart: list[set[int]] = [set() for _ in range(found.n_groups)]
        for first, second in answers.group_of[answers.votes[answers.votes[:, 2] < 0, :2]].tolist():
            apart[first].add(second)
            apart[second].add(first)
        name_of = np.full(found.n_groups, -1)
        margin = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel() if most > 1 else scores[:, 0]
        turn = np.empty(found.n_groups)
        turn[np.argsort(-margin, kind="stable")] = np.arange(found.n_groups)
        for _ in range(found.n_groups):
            group = int(turn.argmin())
            turn[group], name = np.inf, int(scores[group].argmax())
            if scores[group, name] > -np.inf:
                name_of[group] = name
                others = [other for other in apart[group] if scores[other, name] > -np.inf]
                scores[others, name] = -np.inf
                turn[others] -= found.n_groups  # one start group fewer is left
        named = name_of[answers.group_of]
        return [(int(answers.references[at]), f"\0{named[at]}") for at in np.flatnonzero(named >= 0)]

    def _get_start(self, n_groups: int) -> IntArray:
        """Return the groups of the rows before any answer."""
        neighborhoods = self.log_.neighborhoods
        n, seed = len(neighborhoods.rows), int(self.random_state or 0)
        return self.log_.get_start(n_groups, lambda k: _find_start_groups(neighborhoods, min(k, n), seed))

    def fit_replies(
        self,
        log: AnswerLog,
        replies: tuple[Any, ...],
        source: GroupClustering | None = None,
        weights: Sequence[float] = (),
    ) -> GroupClustering:
        """Find the groups from replies.

        Parameters
        ----------
        log : AnswerLog
            What is known about the rows, with the hints given before the interview.
        replies : tuple of Reply
            The replies.
        source : GroupClustering, optional
            An estimator fitted to fewer replies, whose space and error rate are used again.
        weights : sequence of float, default=()
            How many times each reply counts; by default once.

        Returns
        -------
        GroupClustering
            The fitted estimator.
        """
        self.log_, answers = log, _set_weights(log.cut(replies, self.error_rate != 0), weights)
        self.__dict__.pop("labels_", None)  # of an earlier fit
        self.groups_: FittedGroups | None = None
        if answers.n_groups:
            with limit_threads(len(log.neighborhoods.rows)):
                self.groups_ = fit_groups(
                    log.neighborhoods,
                    answers,
                    source=None if source is None else source.groups_,
                    error_rate=self.error_rate,
                    learn_metric=self.learn_metric,
                )
        self._links, found = answers.links, self.groups_
        self.error_rate_: GroupErrorRate | None = None
        if found is not None and found.rate_interval is not None:
            self.error_rate_ = GroupErrorRate(found.rate, *found.rate_interval)
        return self

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The fewest and most groups that there can be; 0 and None if their number is unknown."""
        k = self.n_clusters
        return (0, None) if k is None else k if isinstance(k, tuple) else (k, k)

    @cached_property
    def labels_(self) -> npt.NDArray[np.int64]:
        """The group of each row; computed when it is first read."""
        with limit_threads(len(self.log_.neighborhoods.rows)):
            return self._compute_labels()

    def _compute_labels(self) -> npt.NDArray[np.int64]:
        neighborhoods, found = self.log_.neighborhoods, self.groups_
        n, (fewest, most) = len(neighborhoods.rows), self.bounds
        n_start = max(2, round(1.5 * n**0.5), fewest)
        if most is not None:
            n_start = min(n_start, most if found is None else round(_FINER * most))
        start = self._get_start(n_start)
        if found is None:
            labels = _separate_start_groups(neighborhoods, start, self._links)
        else:
            found = _add_evidence_of_start_groups(found, start)
            P, evidence = _add_start_groups(found, start, self.bounds)
            labels = _train_on_itself(neighborhoods.rows, found, P, evidence)
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
