r"""Links as evidence: which links to believe, and the probability that each link is right.

A link may be wrong. Three steps turn links into beliefs:

1. *Votes*. Each link is a vote for or against joining two rows. Groups of rows are joined greedily, the pair
   of groups with the largest sum of votes first, until no sum is positive (greedy additive edge contraction
   for correlation clustering); then single rows move to where more votes are for them. A link is believed if
   it agrees with the groups. So a row linked to two groups that are apart stays with one of them, and no
   single link can merge two groups that other links keep apart.
2. *Classes and shares* are derived from the believed links as if they were certain.
3. *Belief propagation*. The prior of the class of each linked row is the prediction of the graph and the
   mixtures without its own label. A link between rows i and j that is wrong with probability
   :math:`\varepsilon` multiplies the probability of classes :math:`(c_i, c_j)` by :math:`1-\varepsilon` if
   it agrees and by :math:`\varepsilon` if it does not. Messages along the links give the posterior of the
   class of every row and of every link. Chains of links lose certainty with their length, and evidence adds
   up.

The error rate is averaged over a grid, by the likelihood of each link given the rows and the other links.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from likewise.spectral._classes import (
    ClassAnchors,
    PreparedRows,
    PropagatedClasses,
    normalize_shares,
)
from likewise.spectral._gaussian_metric import GraphShares, HintedMixtureRows, LearnedMetric
from likewise.supervision import Links, Supervision

_RATE_PRIOR = (1.3, 10.0)  # Beta: mean .115, and flat enough that 30 links override it
START_RATE = 0.06  # for reliability, and for the messages from which the rate is estimated
_LEAST_RATE = 0.01  # lower bound of an estimated rate: the next link may always be wrong
_RATES = np.array(
    [0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.18, 0.22, 0.27, 0.32, 0.4]
)
_SHARPNESS = np.array([0.7, 1.0, 1.4, 2.0, 2.8])  # shares may be under- or over-confident
_SWEEPS = 5
_ROUNDS = 12
_SETTLED = 1e-3
_DOUBT = 0.02  # probability distributed equally over the classes
_NEW_CLASS = (0.2, 0.02)  # probability of an unknown class: while classes are missing, and afterwards
_ROOT = 0.9  # prior probability that the root of a class belongs to it
_UNREACHED = 0.3  # probability that the class of a row is wrong if no chain of links joins it to its root
_CERTAIN = 20.0  # maximum weight of a link; it is practically certain
_KIND_ROWS = 30.0  # pseudo-count that shrinks the rate of each kind of link towards the common rate
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
class LinkVotes:
    """Links as pairs of rows with signs and weights."""

    pairs: (
        np.ndarray
    )  # (n_votes, 2) must-links, then cannot-links, in the order of the supervision; then groups
    signs: np.ndarray  # (n_votes,) 1 for must-link, -1 for cannot-link
    weights: np.ndarray  # (n_votes,) a link of weight 2 counts as two independent links

    @classmethod
    def from_links(cls, links: Links) -> LinkVotes:
        """List all links; a must-link group is a chain of pairs, a cannot-link group all of its pairs."""
        chains = [np.column_stack([rows[:-1], rows[1:]]) for rows in links.must_groups]
        chain_weights = np.repeat(links.must_groups.weights, [len(pairs) for pairs in chains])
        cliques, clique_weights = links.cannot_groups.list_pairs()
        sizes = len(links.must), len(links.cannot), len(chain_weights), len(cliques)
        weights = [links.must_weights, links.cannot_weights, chain_weights, clique_weights]
        return cls(
            np.concatenate([links.must, links.cannot, *chains, cliques]).astype(np.int64),
            np.repeat([1.0, -1.0, 1.0, -1.0], sizes),
            np.minimum(np.concatenate(weights), _CERTAIN),
        )

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows of all votes, ascending."""
        return np.unique(self.pairs)

    @cached_property
    def places(self) -> np.ndarray:
        """The pairs as indices into `rows`."""
        return np.searchsorted(self.rows, self.pairs)

    def join(self) -> np.ndarray:
        """Return the group of each row in `rows`, joined greedily by the sums of votes."""
        between: list[dict[int, float]] = [{} for _ in self.rows]
        for (i, j), vote in zip(self.places.tolist(), (self.signs * self.weights).tolist(), strict=True):
            between[i][j] = between[j][i] = between[i].get(j, 0.0) + vote
        queue = [
            (-vote, i, j)
            for i, others in enumerate(between)
            for j, vote in others.items()
            if vote > 0 < j - i
        ]
        heapq.heapify(queue)
        group = list(range(len(self.rows)))
        alive = [True] * len(group)
        while queue:
            vote, i, j = heapq.heappop(queue)
            if not (alive[i] and alive[j]) or between[i].get(j) != -vote:
                continue  # one of the groups has been joined since, or the sum has changed
            if len(between[i]) < len(between[j]):
                i, j = j, i
            alive[j] = False
            group[j] = i
            del between[i][j]
            for other, value in between[j].items():
                if other == i:
                    continue
                del between[other][j]
                total = between[i][other] = between[other][i] = between[i].get(other, 0.0) + value
                if total > 0:
                    heapq.heappush(queue, (-total, min(i, other), max(i, other)))
        found = np.array(group, dtype=np.int64)
        while not ((further := found[found]) == found).all():
            found = further
        return self._move_rows(found)

    def _move_rows(self, group: np.ndarray) -> np.ndarray:
        """Move single rows to the group with the most votes, or out of a group with votes against them."""
        neighbors: list[list[tuple[int, float]]] = [[] for _ in self.rows]
        for (i, j), vote in zip(self.places.tolist(), (self.signs * self.weights).tolist(), strict=True):
            neighbors[i].append((j, vote))
            neighbors[j].append((i, vote))
        found = group.tolist()
        unused = len(found)
        for _ in range(_SWEEPS):
            moved = False
            for row, others in enumerate(neighbors):
                votes: dict[int, float] = {}
                for other, vote in others:
                    votes[found[other]] = votes.get(found[other], 0.0) + vote
                best = max(votes, key=votes.__getitem__)
                here = votes.get(found[row], 0.0)
                if votes[best] > max(here, 0.0):
                    found[row], moved = best, True
                elif here < 0.0:
                    found[row], unused, moved = unused, unused + 1, True
            if not moved:
                break
        return np.unique(found, return_inverse=True)[1]

    def find_agreeing(self, group: np.ndarray) -> np.ndarray:
        """Return a mask of the votes that agree with the groups of `rows`."""
        first, second = self.places.T
        return np.asarray((group[first] == group[second]) == (self.signs > 0))

    def get_believed_links(self, believed: np.ndarray, n_samples: int) -> Supervision:
        """Return the believed votes as links."""
        must = believed & (self.signs > 0)
        cannot = believed & (self.signs < 0)
        return Supervision.from_links(n_samples, must=self.pairs[must], cannot=self.pairs[cannot])


def compute_unreliability(
    votes: LinkVotes,
    believed: np.ndarray,
    class_of: np.ndarray,
    medoids: np.ndarray,
    n_clusters: int,
    rate: float,
) -> np.ndarray:
    r"""Return the probability that the class of each row is wrong, by links alone; 1 without a class.

    The root of a class is the row with the most must-links within the class; its probability is 0. For other
    rows, by distance from the roots, the log-odds of the links to rows nearer to a root are added up. With
    :math:`\rho` the probability that the other row is right, a link that agrees contributes
    :math:`\log(s/u)`, where :math:`s = (1-\varepsilon)\rho + \varepsilon(1-\rho)` and :math:`u = 1 - s`. A
    cannot-link to one of many other classes contributes little.
    """
    n = len(class_of)
    chance = np.where(class_of >= 0, _UNREACHED, 1.0)
    neighbors: dict[int, list[tuple[int, float, float]]] = {}
    inside = np.zeros(n)
    use = votes.pairs[believed], votes.signs[believed], votes.weights[believed]
    for (i, j), sign, weight in zip(*(part.tolist() for part in use), strict=True):
        neighbors.setdefault(i, []).append((j, sign, weight))
        neighbors.setdefault(j, []).append((i, sign, weight))
        if sign > 0 and class_of[i] == class_of[j] >= 0:
            inside[i] += weight
            inside[j] += weight
    inside[medoids] += 0.5
    placed = np.flatnonzero(class_of >= 0)
    order = placed[np.lexsort((placed, -inside[placed], class_of[placed]))]
    layer = order[np.unique(class_of[order], return_index=True)[1]].tolist()
    depth = dict.fromkeys(layer, 0)
    chance[layer] = 0.0
    k = max(n_clusters, 2)
    level = 0
    while layer:
        level += 1
        following = {
            j
            for i in layer
            for j, sign, _ in neighbors.get(i, ())
            if j not in depth and class_of[j] >= 0 and (sign > 0) == (class_of[j] == class_of[i])
        }
        depth.update(dict.fromkeys(following, level))
        for i in following:
            odds = 0.0
            for other, sign, weight in neighbors[i]:
                if depth.get(other, level) >= level:
                    continue
                right = 1.0 - chance[other]
                agree = (1.0 - rate) * right + rate * (1.0 - right)
                against = 1.0 - agree
                if class_of[other] == class_of[i]:
                    odds += sign * weight * np.log(agree / against)
                elif sign > 0:
                    odds -= weight * np.log(agree / against)
                else:
                    odds += weight * np.log(agree * (k - 1) / (against + (k - 2) * agree))
            chance[i] = min(1.0 / (1.0 + np.exp(min(odds, 500.0))), 0.49)
        layer = sorted(following)
    return chance


@dataclass(frozen=True, eq=False)
class ErrorRate:
    """The estimated fraction of links that are wrong.

    Parameters
    ----------
    mean : float
        The posterior mean.
    low, high : float
        The bounds of a 90 % interval.
    same : float
        The probability that two rows of the same cluster are cannot-linked.
    different : float
        The probability that two rows of different clusters are must-linked.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.spectral import PropagationClustering
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> hints = Supervision.from_links(8, must=[(0, 1), (0, 2), (1, 2), (4, 5)], cannot=[(0, 4), (1, 2)])
    >>> model = PropagationClustering(2, error_rate="learn", random_state=0).fit(X, supervision=hints)
    >>> rate = model.error_rate_
    >>> rate.low < rate.mean < rate.high
    True
    """

    mean: float
    low: float
    high: float
    same: float
    different: float

    @classmethod
    def from_rate(cls, rate: float) -> ErrorRate:
        """Return the error rate for a given value that is not learned.

        Parameters
        ----------
        rate : float
            The fraction of wrong links.

        Returns
        -------
        error_rate : ErrorRate
            The rate, with an interval of width 0.
        """
        return cls(rate, rate, rate, rate, rate)


def estimate_rate(predicted: np.ndarray, weights: np.ndarray | None = None) -> tuple[ErrorRate, float]:
    """Estimate the error rate from the probability of each link given the rows and the other links.

    The probabilities may be over- or under-confident, so their odds are raised to a power, which is averaged
    over a grid together with the rate. The estimate is at most 0.4, the end of the grid. The log
    pseudo-likelihood of the links, up to a constant, is also returned.
    """
    a, b = _RATE_PRIOR
    odds = np.log(np.clip(predicted, 1e-6, 1 - 1e-6) / np.clip(1 - predicted, 1e-6, 1 - 1e-6))
    weights = np.ones(len(odds)) if weights is None else np.minimum(weights, 1.0)
    sharpened = 1.0 / (1.0 + np.exp(-np.outer(_SHARPNESS, odds)))[:, None]
    likelihood = np.log((1 - _RATES)[:, None] * sharpened + _RATES[:, None] * (1 - sharpened)) @ weights
    prior = (a - 1) * np.log(_RATES) + (b - 1) * np.log1p(-_RATES)
    scores = likelihood + prior - np.abs(np.log(_SHARPNESS))[:, None]
    chances = np.exp(scores - scores.max()) * np.gradient(_RATES)
    log_evidence = float(np.log(chances.sum()) + scores.max())
    chances = chances.sum(axis=0) / chances.sum()
    mean = float(chances @ _RATES)
    below = np.cumsum(chances) - chances / 2
    low, high = np.interp([0.05, 0.95], below, _RATES)
    return ErrorRate(mean, float(low), float(high), mean, mean), log_evidence


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posteriors of linked rows and of links."""

    rows: np.ndarray  # (n_rows,) the linked rows
    classes: np.ndarray  # (n_rows, n_classes) the probability of each class
    right: np.ndarray  # (n_votes,) the probability that each link is right
    predicted: np.ndarray  # (n_votes,) the same given only the rows and the other links
    rate: ErrorRate  # the fraction of wrong links
    # (n_rows, n_classes) The probability of each class without the links of the row. The remainder up to 1 is
    # the probability of an unknown class.
    prior: np.ndarray
    # The log pseudo-likelihood of the links, up to a constant: each link is predicted from the others
    log_evidence: float


def infer_beliefs(
    votes: LinkVotes, prior: np.ndarray, roots: dict[int, int], n_missing: int, rate: float | None
) -> Beliefs:
    """Combine the class predictions of the rows with all links, believed or not, by belief propagation.

    `prior` contains the share of each class in each of ``votes.rows``, without the row's own label; `roots`
    the root row of each class that has one; `n_missing` is the number of classes that are still unknown. If
    `rate` is None, the error rate is estimated.
    """
    n_classes = prior.shape[1]
    unseen = _NEW_CLASS[0] if n_missing > 0 else _NEW_CLASS[1]
    prior = (1 - _DOUBT) * prior + _DOUBT / n_classes
    row_prior = np.column_stack([(1 - unseen) * prior, np.full(len(prior), unseen)])
    prior = row_prior.copy()  # `row_prior` contains predictions from other rows only, without the roots
    for c, row in roots.items():
        place = int(np.searchsorted(votes.rows, row))
        if place < len(votes.rows) and votes.rows[place] == row:
            prior[place] *= 1 - _ROOT
            prior[place, c] += _ROOT
    if rate is None:
        _, together = _propagate(votes, prior, START_RATE, START_RATE)
        predicted = np.where(votes.signs > 0, together, 1 - together)
        found, log_evidence = estimate_rate(predicted, votes.weights)
        found = _estimate_kinds(found, votes, predicted)
        same, different = max(found.same, _LEAST_RATE), max(found.different, _LEAST_RATE)
    else:
        found = ErrorRate.from_rate(rate)
        same = different = max(rate, 1e-6)
    classes, together = _propagate(votes, prior, same, different)
    together = np.clip(together, 1e-9, 1 - 1e-9)
    yes, no = _compute_likelihoods(votes, same, different)
    posterior = yes * together / (yes * together + no * (1 - together))
    positive = votes.signs > 0
    if rate is not None:
        log_evidence = float(np.log(yes * together + no * (1 - together)).sum())
    return Beliefs(
        rows=votes.rows,
        classes=classes[:, :-1] / np.maximum(classes[:, :-1].sum(axis=1, keepdims=True), 1e-300),
        right=np.where(positive, posterior, 1 - posterior),
        predicted=np.where(positive, together, 1 - together),
        rate=found,
        prior=row_prior[:, :-1],
        log_evidence=log_evidence,
    )


def _compute_likelihoods(votes: LinkVotes, same: float, different: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the likelihoods of each vote if its rows share a class and if not, scaled to sum 1."""
    positive = votes.signs > 0
    yes = np.where(positive, 1 - same, same) ** votes.weights
    no = np.where(positive, different, 1 - different) ** votes.weights
    return yes / (yes + no), no / (yes + no)


def _estimate_kinds(rate: ErrorRate, votes: LinkVotes, predicted: np.ndarray) -> ErrorRate:
    """Add the error rates of pairs in the same and in different clusters, shrunk towards the common rate."""
    right = (1 - rate.mean) * predicted
    right = right / np.maximum(right + rate.mean * (1 - predicted), 1e-12)
    positive = votes.signs > 0
    together = np.where(positive, right, 1 - right).sum()
    apart = len(right) - together
    same = (_KIND_ROWS * rate.mean + (1 - right[~positive]).sum()) / (_KIND_ROWS + together)
    different = (_KIND_ROWS * rate.mean + (1 - right[positive]).sum()) / (_KIND_ROWS + apart)
    return ErrorRate(rate.mean, rate.low, rate.high, float(same), float(different))


def _propagate(
    votes: LinkVotes, prior: np.ndarray, same: float, different: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return class posteriors of the rows, and for each vote the probability that its rows share a class.

    The latter does not use the vote itself.
    """
    m = len(votes)
    first, second = votes.places.T
    source, target = np.r_[first, second], np.r_[second, first]
    back = np.r_[np.arange(m, 2 * m), np.arange(m)]
    incoming = csr_array((np.ones(2 * m), (target, np.arange(2 * m))), shape=(len(prior), 2 * m))
    yes, no = (np.tile(part, 2)[:, None] for part in _compute_likelihoods(votes, same, different))
    logs = np.log(np.maximum(prior, 1e-12))
    messages = np.zeros((2 * m, prior.shape[1]))

    def send() -> tuple[np.ndarray, np.ndarray]:
        totals = logs + incoming @ messages
        without = totals[source] - messages[back]
        without = np.exp(without - without.max(axis=1, keepdims=True))
        return totals, without / without.sum(axis=1, keepdims=True)

    for step in range(_ROUNDS):
        chances = send()[1]
        # Not no + (yes - no) * chances, which is 0 for chances that round to 1 and links of large weight.
        news = np.log(np.maximum(no * (1 - chances) + yes * chances, 1e-300))
        news -= news.mean(axis=1, keepdims=True)
        change = float(np.abs(news - messages).max(initial=0.0))
        messages = news if step <= 4 else 0.5 * (messages + news)  # damping makes cycles converge
        if change < _SETTLED:
            break
    totals, chances = send()
    posterior = np.exp(totals - totals.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior, (chances[:m] * chances[m:]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class MedoidLink:
    """The evidence that the two initial medoids belong together; with two clusters all else depends on it."""

    medoids: tuple[int, int]  # the medoids of the two initial clusters
    # Log-odds that they belong together, by the link between them and by links to rows near them
    log_odds: float
    # A pair of rows whose answer would confirm or refute it; None if no check is needed
    check: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of links that may be wrong."""

    votes: LinkVotes  # the links
    believed: np.ndarray  # (n_votes,) a mask of the links from which the classes were derived
    beliefs: Beliefs  # the posterior of rows and links
    # (n_samples,) the probability that the class of each row is wrong, by links alone; 1 for rows without a
    # class
    unreliability: np.ndarray
    # The evidence about the two initial medoids, if there are two clusters and a link between the medoids
    medoid_link: MedoidLink | None


def judge_medoid_link(ready: PreparedRows, votes: LinkVotes, rate: float | None) -> MedoidLink | None:
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
    near: dict[int, list[int]] = {}
    for medoid in (a, b):
        away = ((ready.X - ready.X[medoid]) ** 2).sum(axis=1)
        away[medoid] = np.inf
        near[medoid] = np.argsort(away, kind="stable")[:_STAND_INS].tolist()
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


def weigh_links(
    ready: PreparedRows,
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
    anchors = propagated.anchors
    targets = np.eye(n_classes)[anchors.classes]
    for _ in range(_PASSES):  # later passes predict rows from corrected labels
        prior = _hold_out(ready, propagated, targets)[votes.rows]
        if metric is not None:
            prior = _distribute(propagated, prior, metric, votes.rows)
        beliefs = infer_beliefs(votes, prior, roots, n_missing, rate)
        before = targets
        targets, known = _update_targets(propagated, beliefs)
        if np.abs(targets - before).max(initial=0.0) < _PASS_TOL:
            break
    shares = propagated.shares.copy()
    if ready.smoother.has_influence(len(anchors.rows)):
        # Propagate the classes again, from posteriors instead of certain labels.
        sure = targets.max(axis=1)
        noise = np.where(known, _NOISE * 4.0 * sure * (1.0 - sure), 0.0)
        shares, _ = anchors.interpolate(ready, targets, noise)
    if metric is not None:
        shares = _distribute(propagated, shares, metric)
    shares[beliefs.rows] = beliefs.classes
    evidence = Evidence(votes, believed, beliefs, unreliability, medoid_link)
    return replace(propagated, shares=shares, evidence=evidence)


def _hold_out(ready: PreparedRows, propagated: PropagatedClasses, targets: np.ndarray) -> np.ndarray:
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


def make_graph_shares(ready: PreparedRows, propagated: PropagatedClasses) -> GraphShares:
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
