"""The prior of the weights, which depends on the rows: it favours clear clusters of similar size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_TINY = 1e-300


@dataclass(frozen=True)
class Prior:
    """log P(W | X) = -lambda/2 |W|^2 - tau mean_i H(p_i) + balance H(mean_i p_i); (4.3) has no balance."""

    precision: float
    tau: float
    balance: float

    def compute_row_part(self, logits: np.ndarray) -> np.ndarray:
        """Return the terms that depend on rows, (S,), for logits (S, k, n), which are overwritten."""
        if not logits.shape[2] or not (self.tau or self.balance):
            return np.zeros(len(logits))
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        mass = p.sum(axis=1)
        p /= mass[:, None]
        # H(p) = log of the mass - sum of p times logit
        entropy = np.log(mass).mean(axis=1) - np.einsum("skn,skn->s", p, logits) / logits.shape[2]
        value = -self.tau * entropy
        if self.balance:
            mean = p.mean(axis=2)
            value -= self.balance * (mean * np.log(np.maximum(mean, _TINY))).sum(axis=1)
        return np.asarray(value)

    def compute_gradient(self, log_p: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the terms that depend on rows for one model, and their gradient by the logits, (n, k)."""
        p, n = np.exp(log_p), len(log_p)
        mean = p.mean(axis=0)
        log_mean = np.log(np.maximum(mean, _TINY))
        plogp = p * log_p
        value = self.tau * plogp.sum() / n - self.balance * float(mean @ log_mean)
        # The derivative by p is t = tau log p - balance log mean, up to a constant over clusters; by the
        # logits it is p (t - <p, t>). The sign of the tau term is plus, unlike in the text below (4.13).
        t = self.tau * log_p - self.balance * log_mean
        gradient = p * (t - (p * t).sum(axis=1, keepdims=True)) / n
        return float(value), gradient
