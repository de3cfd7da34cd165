"""Exact inference on a tree of labels: marginals, pairwise marginals and the most probable labels per row.

Each row has a latent vector y of 0 and 1 over K labels. A label depends on its parent, or on a root that is
always 1. The recorded labels z may miss labels that apply, but contain none that does not:

    P(y_c = 1 | y_p = 1) = s_c = 1 / (1 + exp(-logit_c))       P(z_c = 1 | y_c = 1) = keep_c
    P(y_c = 1 | y_p = 0) = eps_c                               P(z_c = 1 | y_c = 0) = 0

All functions take parents (K,): IN, -1 for the root; order (K,): IN, parents before their children;
logits (n, K), eps (K,): IN. Functions that condition on recorded labels take z (n, K) of 0 and 1, keep (K,):
IN. Logits are clipped to [-300, 300], which keeps s and 1 - s above zero.

Messages from children to parents are log-odds instead of two probabilities, one of which would underflow if
many children agree. The probability of y_c given y_p is passed down the tree, not the ratio of Q(y_p, y_c)
to Q(y_p), so there is no division by Q(y_p) if y_p = 0 is impossible.
"""

from math import exp, log, log1p

import numpy as np

from likewise.kernels._njit import njit

_LARGEST = 300.0
_BLOCK = 8  # rows whose pairs are processed together: one or two vector registers
# Sums may be reordered and fused, so that they can be vectorised.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, inline="always")
def _sigmoids(logit):
    """Return s and 1 - s, both to full relative precision."""
    x = min(max(logit, -_LARGEST), _LARGEST)
    odds = exp(-abs(x))
    large = 1.0 / (1.0 + odds)
    if x >= 0.0:
        return large, odds * large
    return odds * large, large


@njit(nogil=True, cache=True, inline="always")
def _log_sigmoids(logit):
    """Return log s and log(1 - s)."""
    x = min(max(logit, -_LARGEST), _LARGEST)
    least = log1p(exp(-abs(x)))
    return min(x, 0.0) - least, -max(x, 0.0) - least


@njit(nogil=True, cache=True)
def _transitions(i, parents, order, logits, eps, z, keep, log_missed, lift, given_one, given_zero):
    """Return log P(z_i), and compute the transition probabilities of the labels of row i given z_i.

    log_missed (K,): IN, log(1 - keep). lift (K,): scratch, the log-odds that a label gets from its children.
    given_one, given_zero (K,): OUT, the probabilities Q(y_c = 1 | y_p = 1) and Q(y_c = 1 | y_p = 0).
    """
    total, product = 0.0, 1.0
    lift[:] = 0.0
    for t in range(len(order) - 1, -1, -1):
        c = order[t]
        p = parents[c]
        if z[i, c]:
            one, zero = 1.0, 0.0
            product *= keep[c]
        elif keep[c] >= 1.0:
            one, zero = 0.0, 1.0
            total -= lift[c]
        else:
            heard = lift[c] + log_missed[c]
            odds = exp(-abs(heard))
            large = 1.0 / (1.0 + odds)
            if heard >= 0.0:
                one, zero = large, odds * large
                product *= (1.0 - keep[c]) * (1.0 + odds)
            else:
                one, zero = odds * large, large
                product *= 1.0 + odds
                total -= lift[c]
        s, not_s = _sigmoids(logits[i, c])
        under_one = s * one + not_s * zero
        product *= under_one
        given_one[c] = s * one / under_one
        if p >= 0:
            under_zero = eps[c] * one + (1.0 - eps[c]) * zero
            if under_zero > 0.0:
                given_zero[c] = eps[c] * one / under_zero
                lift[p] += log(under_one / under_zero)
            else:  # y_p = 0 is impossible; if another label contradicts this, a recorded label still applies
                given_zero[c] = one
                lift[p] = np.inf
        if product < 1e-150 or product > 1e150:
            total += log(product) if product > 0.0 else -np.inf
            product = 1.0
    return total + log(product)


@njit(nogil=True, cache=True, inline="always")
def _spread(parents, order, given_one, given_zero, one, both):
    """Compute, from the root to the leaves, one, both (K,): OUT, Q(y_c = 1) and Q(y_p = 1, y_c = 1)."""
    for t in range(len(order)):
        c = order[t]
        p = parents[c]
        if p < 0:
            one[c] = both[c] = given_one[c]
        else:
            both[c] = one[p] * given_one[c]
            one[c] = both[c] + (1.0 - one[p]) * given_zero[c]


@njit(nogil=True, cache=True)
def posterior(parents, order, logits, eps, z, keep, out_one, out_both):
    """Return log P(z_i) of each row, shape (n,), and compute the marginals of y given the recorded labels.

    out_one (n, K): OUT, Q(y_c = 1). out_both (n, K): OUT, Q(y_p = 1, y_c = 1) with p the parent of c, which
    for a child of the root is Q(y_c = 1). An impossible row has log-probability -inf, for example if a label
    is recorded although its ``keep`` is 0, or although its eps is 0 and its parent, whose keep is 1, is not
    recorded. Costs n K time, K memory.
    """
    n, k = logits.shape
    log_missed = np.log(1.0 - keep)
    lift, given_one, given_zero = np.empty(k), np.empty(k), np.empty(k)
    log_likelihood = np.empty(n)
    for i in range(n):
        log_likelihood[i] = _transitions(
            i, parents, order, logits, eps, z, keep, log_missed, lift, given_one, given_zero
        )
        _spread(parents, order, given_one, given_zero, out_one[i], out_both[i])
    return log_likelihood


@njit(nogil=True, cache=True, fastmath=_FAST)
def _add_pairs(parent_at, given_one, given_zero, one, x, log_not, joint, counts, scores):
    """Add the sums over a block of rows for each pair; labels are numbered by their position in the order.

    parent_at (K,): IN, the number of the parent. given_one, given_zero, one, x, log_not (K, B): IN, x the
    candidate logits, log_not their log(1 - s). joint (K, K, B): scratch, Q(y_j = 1, y_c = 1) for j <= c at
    [c, j]. counts, scores (K, K): OUT, added to; of counts only [c, j] with j <= c.
    """
    for c in range(len(parent_at)):
        p = parent_at[c]
        for j in range(c + 1):
            if j == c:
                for r in range(_BLOCK):
                    joint[c, c, r] = one[c, r]
            elif p < 0:  # connected only through the root, hence independent
                for r in range(_BLOCK):
                    joint[c, j, r] = one[j, r] * one[c, r]
            else:
                far, near = (p, j) if j < p else (j, p)
                for r in range(_BLOCK):
                    with_p = joint[far, near, r]
                    joint[c, j, r] = with_p * given_one[c, r] + (one[j, r] - with_p) * given_zero[c, r]
            count = down = up = 0.0
            for r in range(_BLOCK):
                q = joint[c, j, r]
                count += q
                down += q * x[c, r] + one[j, r] * log_not[c, r]
                up += q * x[j, r] + one[c, r] * log_not[j, r]
            counts[c, j] += count
            scores[j, c] += down
            if j < c:
                scores[c, j] += up


@njit(nogil=True, cache=True)
def pair_sums(parents, order, logits, eps, z, keep, candidate_logits, counts, scores):
    """Sum over rows the expected co-occurrence of all pairs of labels, and the scores of possible edges.

    candidate_logits (n, K): IN, often `logits` itself, the logits of the s that are scored. counts (K, K):
    OUT, added to, the sum of Q(y_p = 1, y_c = 1), symmetric, its diagonal the sum of Q(y_c = 1). scores
    (K, K): OUT, added to, [p, c] the sum of Q(y_p = 1, y_c = 1) log s_c + Q(y_p = 1, y_c = 0) log(1 - s_c).
    The rest of the score of an edge (Pei 2017, eq. 5.9) follows from the counts. Sums over several calls
    equal those of one call with all rows. Costs n K^2 time and K^2 memory.
    """
    n, k = logits.shape
    log_missed = np.log(1.0 - keep)
    lift, row_one, row_zero, row_held, row_both = (
        np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k),
    )  # fmt: skip
    at = np.empty(k, dtype=np.int64)
    parent_at = np.empty(k, dtype=np.int64)
    for t in range(k):
        at[order[t]] = t
        parent_at[t] = at[parents[order[t]]] if parents[order[t]] >= 0 else -1
    given_one, given_zero, one, x, log_not = (
        np.zeros((k, _BLOCK)), np.zeros((k, _BLOCK)), np.zeros((k, _BLOCK)), np.zeros((k, _BLOCK)),
        np.zeros((k, _BLOCK)),
    )  # fmt: skip
    joint = np.empty((k, k, _BLOCK))
    block_counts, block_scores = np.zeros((k, k)), np.zeros((k, k))
    for start in range(0, n, _BLOCK):
        for r in range(_BLOCK):
            i = start + r
            if i >= n:  # padding
                one[:, r] = 0.0
                log_not[:, r] = 0.0
                continue
            _transitions(i, parents, order, logits, eps, z, keep, log_missed, lift, row_one, row_zero)
            _spread(parents, order, row_one, row_zero, row_held, row_both)
            for t in range(k):
                c = order[t]
                given_one[t, r], given_zero[t, r], one[t, r] = row_one[c], row_zero[c], row_held[c]
                log_s, log_not[t, r] = _log_sigmoids(candidate_logits[i, c])
                x[t, r] = log_s - log_not[t, r]
        _add_pairs(parent_at, given_one, given_zero, one, x, log_not, joint, block_counts, block_scores)
    for t in range(k):
        for u in range(k):
            counts[order[t], order[u]] += block_counts[max(t, u), min(t, u)]
            scores[order[t], order[u]] += block_scores[t, u]


@njit(nogil=True, cache=True)
def marginals(parents, order, logits, eps, out):
    """Compute P(y_c = 1) without recorded labels; out (n, K): OUT."""
    for i in range(logits.shape[0]):
        for t in range(len(order)):
            c = order[t]
            p = parents[c]
            s, _ = _sigmoids(logits[i, c])
            out[i, c] = s if p < 0 else out[i, p] * s + (1.0 - out[i, p]) * eps[c]


@njit(nogil=True, cache=True)
def most_probable(parents, order, logits, eps, z, keep, out):
    """Compute the most probable y of each row given the recorded labels; out (n, K) of integers: OUT.

    If z and keep are all 0, nothing was recorded. If both states of a label are equally probable, it gets 0.
    """
    n, k = logits.shape
    log_eps, log_not_eps = np.log(eps), np.log(1.0 - eps)
    log_keep, log_missed = np.log(keep), np.log(1.0 - keep)
    best_one, best_zero = np.empty(k), np.empty(k)  # the best score of the subtree of a label that is 1, or 0
    choice = np.empty((k, 2), dtype=np.bool_)  # the best state of a label for each state of its parent
    for i in range(n):
        best_one[:] = 0.0
        best_zero[:] = 0.0
        for t in range(k - 1, -1, -1):
            c = order[t]
            p = parents[c]
            if z[i, c]:
                best_one[c] += log_keep[c]
                best_zero[c] = -np.inf
            else:
                best_one[c] += log_missed[c]
            log_s, log_not = _log_sigmoids(logits[i, c])
            one, zero = log_s + best_one[c], log_not + best_zero[c]
            choice[c, 1] = one > zero or z[i, c]
            if p >= 0:
                best_one[p] += max(one, zero)
                one, zero = log_eps[c] + best_one[c], log_not_eps[c] + best_zero[c]
                choice[c, 0] = one > zero or z[i, c]
                best_zero[p] += max(one, zero)
        for t in range(k):
            c = order[t]
            p = parents[c]
            out[i, c] = choice[c, 1 if p < 0 else out[i, p]]
