"""Links, groups and triplets in a common form: a true relation, and an answer that may be wrong.

The probabilities of answers given the truth, the noise, are fixed, or learned from the disagreement of hints
and clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from likewise.kernels.mean_field import IndexedHints, ascend
from likewise.supervision import RowGroups, Supervision

NoiseKind = Literal["uniform", "confusion"]
# Pseudo-count of the prior of a learned noise for each true relation, with errors at the rate epsilon. With
# few hints the noise stays near epsilon; many hints outweigh the prior.
PRIOR_COUNT = 20.0
# A triplet from the point of view of one of its rows, i. Row: the position of i. Columns: the answers that
# put i with u, i with v, and u with v, where u and v are the other two rows in order.
_SEEN_FROM = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
_OTHERS = np.array([[1, 2], [0, 2], [0, 1]])


@dataclass(frozen=True, eq=False)
class Noise:
    """The probability of each answer for each true relation.

    Parameters
    ----------
    pairs : ndarray of shape (2, 2)
        Rows are the true relation, together or apart; columns are the answer, must-link or cannot-link.
    triplets : ndarray of shape (4, 4)
        Rows are the true relation, columns are the answer; both in the order AB, AC, BC, NEITHER.

    Examples
    --------
    >>> from likewise.discriminative import Noise
    >>> Noise.uniform(0.1, 0.3).pairs.tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    pairs: np.ndarray
    triplets: np.ndarray

    @classmethod
    def uniform(cls, pair_epsilon: float, triplet_epsilon: float) -> Noise:
        """Return the noise in which all wrong answers are equally likely (Pei 2017, tables 3.1 and 3.2).

        Parameters
        ----------
        pair_epsilon : float
            Probability that the answer about a pair is wrong.
        triplet_epsilon : float
            Probability that the answer about a triplet is wrong.

        Returns
        -------
        noise : Noise
            The noise.
        """
        return cls(_make_uniform_table(2, pair_epsilon), _make_uniform_table(4, triplet_epsilon))

    def compute_logs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of both tables.

        Returns
        -------
        pairs : ndarray of shape (2, 2)
            The logarithm of `pairs`.
        triplets : ndarray of shape (4, 4)
            The logarithm of `triplets`.
        """
        return np.log(self.pairs), np.log(self.triplets)


def _make_uniform_table(size: int, epsilon: float) -> np.ndarray:
    table = np.full((size, size), epsilon / (size - 1))
    np.fill_diagonal(table, 1.0 - epsilon)
    return table


def _make_exchangeable(counts: np.ndarray) -> np.ndarray:
    """Return counts of shape (4, 4), averaged over the order of AB, AC and BC."""
    mean = np.empty((4, 4))
    right = np.trace(counts[:3, :3])
    mean[:3, :3] = counts[:3, :3][~np.eye(3, dtype=bool)].mean()
    np.fill_diagonal(mean[:3, :3], right / 3)
    mean[:3, 3] = counts[:3, 3].mean()
    mean[3, :3] = counts[3, :3].mean()
    mean[3, 3] = counts[3, 3]
    return mean


def learn_noise(kind: NoiseKind, prior: Noise, counts: tuple[np.ndarray, np.ndarray]) -> Noise:
    """Return the most probable noise, given the expected counts of (true relation, answer).

    For "confusion" each row of a table has a Dirichlet prior whose mode is the row of `prior`; for "uniform"
    the single error probability has the corresponding Beta prior. The result maximises the likelihood of the
    counts times this prior, whose logarithm is `compute_prior_log_density`, up to a constant.

    AB, AC and BC share their probabilities: the rows of a triplet are stored in ascending order, so the three
    names are interchangeable.
    """
    tables = []
    for table, seen in zip((prior.pairs, prior.triplets), counts, strict=True):
        total = np.maximum(seen, 0.0) + PRIOR_COUNT * table
        if kind == "confusion":
            total = total if len(total) == 2 else _make_exchangeable(total)
            tables.append(total / total.sum(axis=1, keepdims=True))
        else:
            wrong = total[~np.eye(len(total), dtype=bool)].sum() / total.sum()
            # Above chance level, answers would mean their opposite. The density is unimodal, so the nearest
            # allowed value is the best.
            tables.append(_make_uniform_table(len(table), min(wrong, 0.9 * (1.0 - 1.0 / len(table)))))
    return Noise(*tables)


def compute_prior_log_density(noise: Noise, prior: Noise) -> float:
    """Return the logarithm of the prior density of a learned noise, up to a constant."""
    pairs, triplets = noise.compute_logs()
    return PRIOR_COUNT * float((prior.pairs * pairs).sum() + (prior.triplets * triplets).sum())


class HintTerms:
    """The hints of a fit, with hinted rows numbered from 0 in ascending order.

    Attributes
    ----------
    rows : ndarray
        The hinted rows.
    total_weight : float
        The sum of the weights of all hints, or their number if that is larger; a group of s rows counts as
        s (s - 1) / 2 hints.
    """

    def __init__(self, hints: Supervision, *, use_neither: bool) -> None:
        use = np.ones(len(hints.answers), dtype=bool) if use_neither else hints.answers < 3
        triplets, groups = hints.triplets[use], (hints.must_groups, hints.cannot_groups)
        pairs = np.concatenate([hints.must, hints.cannot])
        named = np.concatenate([pairs.ravel(), triplets.ravel(), *(g.members for g in groups)])
        self.rows = np.unique(named).astype(np.int64)
        self._pairs = np.searchsorted(self.rows, pairs)
        self._triplets = np.searchsorted(self.rows, triplets)
        self._pair_answer = np.repeat([0, 1], [len(hints.must), len(hints.cannot)])
        self._pair_weight = np.concatenate([hints.must_weights, hints.cannot_weights])
        self._answer = hints.answers[use].astype(np.int64)
        self._triplet_weight = hints.triplet_weights[use]
        self._index_hints()
        self._index_groups(groups)
        sizes = np.bincount(self._group_of, minlength=len(self._group_weight))
        self._group_pairs = self._group_weight * sizes * (sizes - 1) / 2
        stated = self._pair_weight.sum() + self._triplet_weight.sum() + self._group_pairs.sum()
        # The weight of the hints relative to the model is divided by this. With the small sum of light hints
        # alone, q could not move from its start.
        n_hints = len(self._pairs) + len(self._triplets) + (sizes * (sizes - 1) / 2).sum()
        self.total_weight = float(max(stated, n_hints))

    def _index_hints(self) -> None:
        """Index pairs and triplets by row; each hint is listed once for each of its rows."""
        P, T = len(self._pairs), len(self._triplets)
        row = np.concatenate([self._pairs.T.ravel(), self._triplets.T.ravel()])
        first = np.concatenate([self._pairs[:, ::-1].T.ravel(), self._triplets[:, _OTHERS[:, 0]].T.ravel()])
        second = np.concatenate([np.full(2 * P, -1), self._triplets[:, _OTHERS[:, 1]].T.ravel()])
        order = np.argsort(row, kind="stable")
        self._order = order
        self._first, self._second = first[order].astype(np.int64), second[order].astype(np.int64)
        self._indptr = np.searchsorted(row[order], np.arange(len(self.rows) + 1))
        self._place = np.repeat(np.arange(3), T)

    def _index_groups(self, groups: tuple[RowGroups, RowGroups]) -> None:
        members = np.searchsorted(self.rows, np.concatenate([g.members for g in groups]))
        self._members = members.astype(np.int64)
        self._group_of = np.concatenate([groups[0].group_of, groups[1].group_of + len(groups[0])])
        self._group_weight = np.concatenate([g.weights for g in groups])
        self._group_answer = np.repeat([0, 1], [len(g) for g in groups])
        order = np.argsort(members, kind="stable")
        self._groups_of_rows = self._group_of[order]
        self._group_ptr = np.searchsorted(members[order], np.arange(len(self.rows) + 1))

    def __len__(self) -> int:
        return len(self._pairs) + len(self._triplets) + len(self._group_weight)

    def compute_pulls(self, noise: Noise | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the contribution of each hint to its rows: log-likelihoods, or 0 and 1 without noise.

        For each pair or triplet and row: if the row is with the first other row, with the second, and with
        both; and for each group. See `likewise.kernels.mean_field`.
        """
        pair, triplet = (np.eye(2), np.eye(4)) if noise is None else noise.compute_logs()
        together = pair[0] - pair[1]  # for each answer, the log-likelihood ratio of together to apart
        of_pairs = np.tile(self._pair_weight * together[self._pair_answer], 2)
        better = (triplet[:3] - triplet[3])[:, self._answer] * self._triplet_weight  # versus NEITHER, (3, T)
        seen = better[_SEEN_FROM]  # position of the row, relation from its point of view, triplet
        none = np.zeros(len(of_pairs))
        return (
            np.concatenate([of_pairs, seen[:, 0].ravel()])[self._order],
            np.concatenate([none, seen[:, 1].ravel()])[self._order],
            np.concatenate([none, -seen.sum(axis=1).ravel()])[self._order],
            self._group_weight * together[self._group_answer],
        )

    def expect(
        self, log_p: np.ndarray, q: np.ndarray, noise: Noise | None, *, max_sweeps: int, tol: float
    ) -> int:
        """Update q in place by mean field, eq. (3.10), or (3.11) without noise; return the sweeps made."""
        first, second, both, groups = self.compute_pulls(noise)
        hints = IndexedHints(
            self._indptr, self._first, self._second, first, second, both,
            self._group_ptr, self._groups_of_rows, groups,
        )  # fmt: skip
        n_sweeps: int = ascend(log_p, hints, noise is None, max_sweeps, tol, self._sum_groups(q), q)
        return n_sweeps

    def _sum_groups(self, q: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(self._group_weight), q.shape[1]))
        np.add.at(sums, self._group_of, q[self._members])
        return sums

    def compute_counts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected weight of each (true relation, answer): pairs (2, 2) and triplets (4, 4)."""
        pairs, triplets = np.zeros((2, 2)), np.zeros((4, 4))
        same = np.einsum("ik,ik->i", q[self._pairs[:, 0]], q[self._pairs[:, 1]])
        sums = self._sum_groups(q)
        squares = np.bincount(
            self._group_of, weights=np.einsum("ik,ik->i", q, q)[self._members], minlength=len(sums)
        )
        in_groups = self._group_weight * (np.einsum("gk,gk->g", sums, sums) - squares) / 2
        for answer, weight, together in (
            (self._pair_answer, self._pair_weight, self._pair_weight * same),
            (self._group_answer, self._group_pairs, in_groups),
        ):
            pairs[0] += np.bincount(answer, weights=together, minlength=2)
            pairs[1] += np.bincount(answer, weights=weight - together, minlength=2)
        for state, probability in enumerate(self.compute_relations(q)):
            triplets[state] = np.bincount(
                self._answer, weights=self._triplet_weight * probability, minlength=4
            )
        return pairs, triplets

    def compute_relations(self, q: np.ndarray) -> np.ndarray:
        """Return the probability of AB, AC, BC and NEITHER for each triplet, shape (4, n_triplets)."""
        a, b, c = (q[self._triplets[:, place]] for place in range(3))
        ab = a * b
        every = np.einsum("ik,ik->i", ab, c)
        two = np.stack([ab.sum(axis=1), np.einsum("ik,ik->i", a, c), np.einsum("ik,ik->i", b, c)]) - every
        return np.vstack([two, 1.0 - two.sum(axis=0)])

    def log_likelihood(self, q: np.ndarray, noise: Noise) -> float:
        """Return the expected weighted log-likelihood of all answers."""
        return float(
            sum(
                (seen * table).sum()
                for seen, table in zip(self.compute_counts(q), noise.compute_logs(), strict=True)
            )
        )
