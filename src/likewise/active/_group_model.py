"""Groups from answers: a mixture on the sphere, in a space that bends with the answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.cluster import KMeans

from likewise.active._group_answers import FloatArray, GroupAnswers, IntArray, Surroundings

_FREE = 0.2  # weight of a row without answers
_NEW_SLOPE = 15.0
_LAST_PLACED = 80
_RATES = np.array([0.01, 0.02, 0.04, 0.07, 0.1, 0.14, 0.2, 0.3])
_PRIOR = 8.0
_SOFT = np.array([0.4, 0.6, 0.8, 1.0, 1.3, 1.7])


def _unit(rows: FloatArray) -> FloatArray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-12)[:, None]


@dataclass(eq=False)
class FittedGroups:
    """The groups that the answers confirm, fitted to all rows."""

    answers: GroupAnswers
    n_groups: int
    means: FloatArray  # in the bent space
    raw_means: FloatArray
    proba: FloatArray
    evidence: FloatArray  # log-odds
    confirmed: IntArray  # group or -1
    p_new: FloatArray
    nearness: FloatArray
    threshold: float
    bend: FloatArray | None
    rate: float
    softness: float = 1.0
    sharpness: float = 20.0

    @cached_property
    def top_two(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The most probable group of each row, its probability, and that of the second."""
        top = self.proba.argmax(axis=1)
        p1 = self.proba[np.arange(len(top)), top]
        p2 = np.partition(self.proba, -2, axis=1)[:, -2] if self.n_groups > 1 else np.zeros_like(p1)
        return top, p1, p2

    def bend_rows(self, rows: FloatArray) -> FloatArray:
        return rows if self.bend is None else _unit(rows @ self.bend)


def fit_threshold(answers: GroupAnswers, start: float) -> float:
    """Fit the cosine below which a row is more often in a new group than not (Newton, logistic)."""
    last = answers.placed[-_LAST_PLACED:]
    theta = start
    for _ in range(12):
        p = expit(-_NEW_SLOPE * (last[:, 0] - theta))
        slope = _NEW_SLOPE * (last[:, 1] - p).sum() - 20.0 * (theta - start)
        curve = _NEW_SLOPE**2 * (p * (1 - p)).sum() + 20.0
        theta += float(np.clip(slope / curve, -0.1, 0.1))
    return theta


def compute_evidence(n: int, answers: GroupAnswers, log_odds: float) -> tuple[FloatArray, IntArray]:
    """Return the log-odds of each row for each group from the answers, and the confirmed group or -1."""
    E = np.zeros((n, answers.n_groups), dtype=np.float32)
    weights = answers.signs * (log_odds + np.log(answers.choices))
    np.add.at(E, (answers.rows, answers.group_of[answers.refs]), weights)
    confirmed = np.where(E.max(axis=1) > 1e-3, E.argmax(axis=1), -1)
    E[answers.references, answers.group_of] += 12.0
    confirmed[answers.references] = answers.group_of
    return E, confirmed


def learn_bend(rows: FloatArray, R: FloatArray) -> FloatArray:
    """Return W = S^(-1/4), with S the scatter within groups, shrunk by half towards a multiple of the identity."""
    weights = R.sum(axis=1)
    raw = R.T @ rows / np.maximum(R.sum(axis=0), 1e-12)[:, None]
    total = (rows * weights[:, None]).T @ rows
    between = (raw * R.sum(axis=0)[:, None]).T @ raw
    S = ((total - between) / max(float(weights.sum()), 1e-12)).astype(np.float64)
    d = len(S)
    S = 0.5 * S + 0.5 * np.trace(S) / d * np.eye(d)
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, 1e-12)
    return ((vectors * values**-0.25) @ vectors.T).astype(np.float32)


def fit_groups(
    around: Surroundings,
    answers: GroupAnswers,
    *,
    source: FittedGroups | None = None,
    error_rate: float | str = "learn",
    sharpness: float = 20.0,
    passes: int = 2,
    cold_passes: int = 4,
    bends: bool = True,
) -> FittedGroups:
    """Fit the groups to answers; from `source`, fitted to fewer answers, if it is given."""
    rows = around.rows
    n, G = len(rows), answers.n_groups
    learn = error_rate == "learn"
    rate = (source.rate if source is not None else 0.05) if learn else max(float(error_rate), 0.01)
    softness = source.softness if source is not None else 1.0
    E, confirmed = compute_evidence(n, answers, float(np.log((1 - rate) / rate)))
    raw = np.zeros((G, rows.shape[1]), dtype=np.float32)
    sure = confirmed >= 0
    np.add.at(raw, confirmed[sure], around.smooth[sure])
    raw = _unit(raw)
    bend = None
    if source is not None:
        bend = source.bend
        old = np.full(G, -1)
        old[answers.group_of[: len(source.answers.references)]] = source.answers.group_of
        kept = old >= 0
        raw[kept] = _unit(source.raw_means[old[kept]] + 0.0)
    theta0 = around.base if source is None else source.threshold
    theta = fit_threshold(answers, around.base) if len(answers.placed) else theta0
    Z = rows if bend is None else _unit(rows @ bend)
    means = raw if bend is None else _unit(raw @ bend)
    nearness = (rows @ raw.T).max(axis=1)
    p_new = compute_p_new(nearness, theta, sure)
    weights = np.where(sure, 1.0, _FREE * (1.0 - p_new)).astype(np.float32)
    for _ in range(passes if source is not None else cold_passes):
        R = compute_proba(Z, means, E, sharpness)
        R *= weights[:, None]
        if source is None and bends and answers.n_answers >= 20:
            bend = learn_bend(rows, R)
            Z = _unit(rows @ bend)
        means = R.T @ Z
        size = np.linalg.norm(means, axis=1)
        means = _unit(means)
    if learn and source is None and len(answers.rows) >= 20:
        rate, softness = learn_rate(answers, R, Z, means, size, sharpness)
        E, confirmed = compute_evidence(n, answers, float(np.log((1 - rate) / rate)))
        sure = confirmed >= 0
    raw = _unit(R.T @ rows)
    P = compute_proba(Z, means, E, sharpness)
    nearness = (rows @ raw.T).max(axis=1)
    p_new = compute_p_new(nearness, theta, sure)
    return FittedGroups(
        answers, G, means, raw, P, E, confirmed, p_new, nearness, theta, bend, rate, softness, sharpness
    )


def compute_p_new(nearness: FloatArray, threshold: float, sure: Any) -> FloatArray:
    """Return the probability that each row belongs to no group so far."""
    p_new = expit(-_NEW_SLOPE * (nearness - threshold)).astype(np.float32)
    p_new[sure] = 0.0
    return p_new


def compute_proba(Z: FloatArray, means: FloatArray, E: FloatArray, sharpness: float) -> FloatArray:
    """Return the probability of each group for each row."""
    P = Z @ (sharpness * means).T
    P += E
    P -= P.max(axis=1, keepdims=True)
    np.exp(P, out=P)
    P /= P.sum(axis=1, keepdims=True)
    return P


def learn_rate(
    answers: GroupAnswers, R: FloatArray, Z: FloatArray, means: FloatArray, size: FloatArray, sharpness: float
) -> tuple[float, float]:
    """Return the error rate and the softness of the predictions with the largest marginal likelihood.

    Each row with answers is predicted from the groups without its own share in their means.
    """
    rows, at = np.unique(answers.rows, return_inverse=True)
    net, choices = np.zeros((2, len(rows), R.shape[1]), dtype=np.float32)
    cells = at, answers.group_of[answers.refs]
    np.add.at(net, cells, answers.signs)
    np.add.at(choices, cells, answers.signs * np.log(answers.choices))
    n_in = np.bincount(at, weights=answers.signs > 0)
    n_out = np.bincount(at, weights=answers.signs < 0)
    cosines, own = Z[rows] @ means.T, R[rows]
    logits = (size * cosines - own) / np.sqrt(np.maximum(size**2 - 2 * size * cosines * own + own**2, 1e-6))
    logits *= sharpness
    logits -= logits.max(axis=1, keepdims=True)
    best = (-np.inf, 0.05, 1.0)
    for softness in _SOFT:
        p = np.exp(softness * logits)
        p *= 0.97 / p.sum(axis=1, keepdims=True)
        for rate in _RATES:
            odds = np.log((1 - rate) / rate)
            value = np.log((p * np.exp(odds * net + choices)).sum(axis=1) + 0.03)
            value += n_in * np.log(rate) + n_out * np.log(1 - rate)
            total = float(value.sum() + _PRIOR * np.log(1 - rate))
            if total > best[0]:
                best = (total, float(rate), float(softness))
    return best[1], best[2]


def find_start(around: Surroundings, n_groups: int, random_state: int) -> IntArray:
    """Return the k-means groups from which an interview without answers starts."""
    fitted = KMeans(n_groups, n_init=1, random_state=random_state, max_iter=30).fit(around.rows)
    return fitted.labels_.astype(np.int64)


def label_rows(
    around: Surroundings, fitted: FittedGroups, start: IntArray, n_clusters: int | None, polish: bool = True
) -> IntArray:
    """Return the group of each row: start groups without answers, then the groups that the answers confirm."""
    G = fitted.n_groups
    P, sure = fitted.proba, fitted.confirmed >= 0
    rows = around.rows
    if n_clusters is None or G < n_clusters:
        touched = np.zeros(start.max() + 1, dtype=bool)
        touched[start[sure]] = True
        sums = np.zeros((len(touched), rows.shape[1]), dtype=np.float32)
        np.add.at(sums, start, rows)
        size = np.bincount(start)
        free = np.flatnonzero(~touched)
        mean_new = np.bincount(start, weights=fitted.p_new) / np.maximum(size, 1)
        if n_clusters is None:
            free = free[mean_new[free] > 0.5]
        else:
            free = free[np.argsort(-(mean_new * size)[free], kind="stable")][: n_clusters - G]
        if len(free):
            centers = np.vstack([fitted.raw_means, _unit(sums[free])])
            for _ in range(5):
                logits = rows @ centers.T
                logits[:, :G] += fitted.evidence / fitted.sharpness
                labels = logits.argmax(axis=1)
                labels[sure] = fitted.confirmed[sure]
                sums = np.zeros_like(centers)
                np.add.at(sums, labels, rows)
                centers = _unit(sums)
            return labels
    target = P.argmax(axis=1)
    if not polish or G < 2:
        return target
    weight = np.where(sure, 1.0, 0.3 * P.max(axis=1) ** 2).astype(np.float32)
    return polish_labels(fitted.bend_rows(rows) if False else rows, target, weight, fitted)


def polish_labels(rows, target, weight, fitted):
    from sklearn.linear_model import LogisticRegression
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = LogisticRegression(C=30, max_iter=60).fit(rows, target, sample_weight=weight)
    scores = np.full((len(rows), fitted.n_groups), -30.0, dtype=np.float32)
    scores[:, head.classes_] = head.predict_log_proba(rows)
    return (scores + fitted.evidence).argmax(axis=1)
