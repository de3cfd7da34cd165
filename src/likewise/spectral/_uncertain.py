"""Class shares from links that may be wrong, weighted by the evidence of each link."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise.spectral._classes import (
    ClassAnchors,
    PreparedGraph,
    PropagatedClasses,
    interpolate_shares,
    normalize_shares,
)
from likewise.spectral._gaussian_metric import GraphShares, HintedMixtureRows, LearnedMetric
from likewise.spectral._link_evidence import (
    START_RATE,
    Beliefs,
    LinkVotes,
    compute_unreliability,
    infer_beliefs,
)

_NOISE = 1.0  # noise variance of a label at even odds, relative to the variance of the field there
_PASSES = 3
_PASS_TOL = 0.1  # stop once no share changes by more than this
_LEAST_NOISE_RATE = 0.01
_STAND_INS = 3  # number of nearest rows of a medoid that may represent it
_STAND_IN_RIGHT = 0.9  # probability that such a row has the class of its medoid
_STAND_IN_OTHER = 0.03  # probability that it has the class of the other medoid if there are two classes
_SETTLED_ODDS = 3.0  # absolute log-odds above which the link between the medoids needs no check
_MOST_CHECKS = 2


@dataclass(frozen=True, eq=False)
class MedoidLink:
    """The evidence that the two initial medoids belong together; with two clusters all else depends on it.

    Attributes
    ----------
    medoids : tuple of (int, int)
        The medoids of the two initial clusters.
    log_odds : float
        Log-odds that they belong together, by the link between them and by links to rows near them.
    check : tuple of (int, int) or None
        A pair of rows whose answer would confirm or refute it; None if no check is needed.
    """

    medoids: tuple[int, int]
    log_odds: float
    check: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of links that may be wrong.

    Attributes
    ----------
    votes : LinkVotes
        The links.
    believed : ndarray of shape (n_votes,)
        A mask of the links from which the classes were derived.
    beliefs : Beliefs
        The posterior of rows and links.
    unreliability : ndarray of shape (n_samples,)
        The probability that the class of each row is wrong, by links alone; 1 for rows without a class.
    medoid_link : MedoidLink or None
        The evidence about the two initial medoids, if there are two clusters and a link between the medoids.
    """

    votes: LinkVotes
    believed: np.ndarray
    beliefs: Beliefs
    unreliability: np.ndarray
    medoid_link: MedoidLink | None


def judge_medoid_link(
    X: np.ndarray, ready: PreparedGraph, votes: LinkVotes, rate: float | None
) -> MedoidLink | None:
    """Combine the link between the two initial medoids, if there is one, with links to rows near them.

    With two clusters, a wrong link between the medoids makes every later answer count for the wrong class,
    and no other link contradicts it. So it is checked with rows near the medoids.
    """
    a, b = sorted(ready.medoids.tolist())
    direct = (votes.pairs == [a, b]).all(axis=1)
    if not direct.any():
        return None
    rate = START_RATE if rate is None else max(rate, _LEAST_NOISE_RATE)
    odds = float((votes.signs * votes.weights)[direct].sum() * np.log((1 - rate) / rate))
    joined = (1 - rate) * (_STAND_IN_OTHER + _STAND_IN_RIGHT) + rate * (1 - _STAND_IN_OTHER - _STAND_IN_RIGHT)
    parted = (1 - rate) * _STAND_IN_OTHER + rate * (1 - _STAND_IN_OTHER)
    near = {medoid: _find_nearest(X, medoid) for medoid in (a, b)}
    asked = {tuple(pair) for pair in votes.pairs.tolist()}
    n_checks, check = 0, None
    for rank in range(_STAND_INS):
        for medoid, other in ((a, b), (b, a)):
            if rank >= len(near[other]):
                continue
            stand_in = near[other][rank]
            if stand_in in (a, b) or stand_in in near[medoid]:
                continue
            pair = (min(medoid, stand_in), max(medoid, stand_in))
            if pair not in asked:
                check = check or (medoid, stand_in)
                continue
            n_checks += 1
            at = (votes.pairs == pair).all(axis=1)
            net = float((votes.signs * votes.weights)[at].sum())
            odds += abs(net) * float(np.log(joined / parted if net > 0 else (1 - joined) / (1 - parted)))
    settled = abs(odds) >= _SETTLED_ODDS or n_checks >= _MOST_CHECKS
    return MedoidLink((a, b), odds, None if settled else check)


def _find_nearest(X: np.ndarray, row: int) -> list[int]:
    away = ((X - X[row]) ** 2).sum(axis=1)
    away[row] = np.inf
    return [int(r) for r in np.argsort(away, kind="stable")[:_STAND_INS]]


def weigh_links(
    ready: PreparedGraph,
    propagated: PropagatedClasses,
    votes: LinkVotes,
    believed: np.ndarray,
    n_clusters: int | None,
    rate: float | None,
    metric: LearnedMetric | None,
    medoid_link: MedoidLink | None,
) -> PropagatedClasses:
    """Return the classes with shares that treat links as evidence, given classes from certain links."""
    start = START_RATE if rate is None else max(rate, _LEAST_NOISE_RATE)
    n_classes = propagated.n_classes
    unreliability = compute_unreliability(
        votes, believed, propagated.class_of, ready.medoids, n_clusters or n_classes, start
    )
    roots = {int(propagated.class_of[row]): int(row) for row in np.flatnonzero(unreliability == 0.0)}
    n_missing = 0 if n_clusters is None else n_clusters - n_classes
    targets = np.eye(n_classes)[propagated.anchors.classes]
    for _ in range(_PASSES):  # later passes predict rows from corrected labels
        prior = _hold_out(ready, propagated, targets)[votes.rows]
        if metric is not None:
            prior = _distribute(propagated, prior, metric, votes.rows)
        beliefs = infer_beliefs(votes, prior, roots, n_missing, rate)
        before = targets
        targets, known = _update_targets(propagated, beliefs)
        if np.abs(targets - before).max(initial=0.0) < _PASS_TOL:
            break
    shares = _soften(ready, propagated, targets, known)
    if metric is not None:
        shares = _distribute(propagated, shares, metric)
    shares[beliefs.rows] = beliefs.classes
    evidence = Evidence(votes, believed, beliefs, unreliability, medoid_link)
    return replace(propagated, shares=shares, evidence=evidence)


def _hold_out(ready: PreparedGraph, propagated: PropagatedClasses, targets: np.ndarray) -> np.ndarray:
    """Return the shares of all rows; those of linked anchors do not use their own label.

    `targets` contains the shares of the anchors: their labels, or the posteriors of these.
    """
    anchors, shares = propagated.anchors, propagated.shares.copy()
    if not ready.smoother.has_influence(len(anchors.rows)):
        # Too many to hold out one by one: average over the neighbours instead.
        shares[anchors.rows] = ready.smoother.diffuse(propagated.shares, 1, 0.0)[anchors.rows]
        return shares
    base, counts = anchors.compute_base(ready, targets)
    found = ready.smoother.hold_out(base, anchors.rows, targets)
    # The label is also removed from the counts of its initial cluster.
    first = ready.first[anchors.rows]
    rest = counts[first] - targets * anchors.counted[:, None]
    total = rest.sum(axis=1, keepdims=True)
    rest = np.where(total > 0, rest / np.where(total > 0, total, 1.0), 1.0 / propagated.n_classes)
    with_own = (counts / counts.sum(axis=1, keepdims=True))[first]
    found += ready.smoothed[anchors.rows, first][:, None] * (rest - with_own)
    shares[anchors.rows[anchors.linked]] = normalize_shares(found)[anchors.linked]
    return shares


def _update_targets(propagated: PropagatedClasses, beliefs: Beliefs) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the anchors with posteriors where they exist, and a mask of these anchors."""
    anchors = propagated.anchors
    targets = np.eye(propagated.n_classes)[anchors.classes]
    place = np.minimum(np.searchsorted(beliefs.rows, anchors.rows), len(beliefs.rows) - 1)
    known = anchors.linked & (beliefs.rows[place] == anchors.rows)
    targets[known] = beliefs.classes[place[known]]
    return targets, known


def _soften(
    ready: PreparedGraph, propagated: PropagatedClasses, targets: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Propagate the classes along the graph again, from posteriors instead of certain labels."""
    anchors = propagated.anchors
    if not ready.smoother.has_influence(len(anchors.rows)):
        return propagated.shares.copy()
    sure = targets.max(axis=1)
    noise = np.where(known, _NOISE * 4.0 * sure * (1.0 - sure), 0.0)
    base, _ = anchors.compute_base(ready, targets)
    return interpolate_shares(ready, base, anchors, targets, noise)[0]


def _distribute(
    propagated: PropagatedClasses, shares: np.ndarray, metric: LearnedMetric, rows: np.ndarray | None = None
) -> np.ndarray:
    """Rescale the shares of classes so that their sums per cluster equal the shares of the stack.

    Classes within a cluster keep their proportions. With `rows`, `shares` are the held-out shares of these
    rows.
    """
    clusters = propagated.cluster_of_class
    k = int(clusters.max()) + 1
    of_cluster = shares @ np.eye(k)[clusters]
    class_then = propagated.class_of[metric.rows]
    now = np.where(class_then >= 0, clusters[np.maximum(class_then, 0)], -1)
    stacked = metric.combine(of_cluster, metric.match(now), rows)
    size = np.bincount(clusters, minlength=k)[clusters]
    total = of_cluster[:, clusters]
    part = np.where(total > 1e-6, shares / np.maximum(total, 1e-300), 1.0 / size)
    return normalize_shares(part * stacked[:, clusters])


def stack_shares(propagated: PropagatedClasses, metric: LearnedMetric) -> PropagatedClasses:
    """Return the classes with shares that use a learned metric, for certain links.

    The shares of linked anchors, and zeros for classes that links rule out, do not change.
    """
    shares = _distribute(propagated, propagated.shares, metric)
    fixed = propagated.anchors.rows[propagated.anchors.linked]
    shares[fixed] = propagated.shares[fixed]
    shares[propagated.shares < 1e-9] = 0.0
    return replace(propagated, shares=normalize_shares(shares))


def compute_cluster_evidence(propagated: PropagatedClasses, beliefs: Beliefs) -> HintedMixtureRows:
    """Return the cluster posterior and likelihood of each linked row."""
    of_cluster = np.eye(int(propagated.cluster_of_class.max()) + 1)[propagated.cluster_of_class]
    shares = beliefs.classes @ of_cluster
    return HintedMixtureRows(beliefs.rows, shares, shares / (beliefs.prior @ of_cluster))


def make_graph_shares(ready: PreparedGraph, propagated: PropagatedClasses) -> GraphShares:
    """Return a function that computes the cluster shares of all rows from those of some rows."""
    k = int(propagated.cluster_of_class.max()) + 1
    of_medoid = propagated.cluster_of_class[propagated.shares[ready.medoids].argmax(axis=1)]

    def compute(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        everything = np.union1d(rows, ready.medoids)
        linked = np.isin(everything, rows)
        values = np.zeros((len(everything), k))
        values[np.searchsorted(everything, ready.medoids)] = np.eye(k)[of_medoid]
        values[linked] = targets
        anchors = ClassAnchors(everything, values.argmax(axis=1), linked, linked)
        base, _ = anchors.compute_base(ready, values)
        return normalize_shares(ready.smoother.interpolate(base, rows, targets))

    return compute
