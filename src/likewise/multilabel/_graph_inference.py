"""Approximate inference of true labels when labels may have several parents.

A label has probability s_c if all its parents are present and ε_c otherwise, so it implies each of its
parents. Exact sums over a graph with cycles take exponential time. Loopy belief propagation passes damped
messages as on a tree for a number of rounds: it is exact on trees, and a better approximation the fewer
labels have several parents. The log-likelihood is the Bethe approximation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from likewise.hierarchy import LabelHierarchy

_ROUNDS = 30
_DAMPING = 0.5
_LARGEST = 300.0


class _Messages:
    """Messages about the labels as log-odds, which stay precise for probabilities near 0 and near 1.

    Attributes
    ----------
    heard : ndarray of shape (n_samples, n_labels)
        Sum of the evidence of the recorded labels, infinite where it is certain, and all messages.
    up : list of ndarray of shape (n_samples, n_parents)
        Messages of each label to each of its parents.
    down : ndarray of shape (n_samples, n_labels)
        Message of the classifier and the parents of each label to it.
    """

    def __init__(
        self, lists: tuple[tuple[int, ...], ...], logits: np.ndarray, eps: np.ndarray, seen: np.ndarray
    ) -> None:
        logits = np.asfortranarray(logits)  # labels are visited one column at a time
        self.lists, self.eps = lists, eps
        self.s, self.not_s = expit(logits), expit(-logits)
        self.up = [np.zeros((len(logits), len(parents)), order="F") for parents in lists]
        self.down = np.where([not parents for parents in lists], logits, 0.0)
        self.heard = np.asfortranarray(seen + self.down)
        self.n_children = np.bincount([p for parents in lists for p in parents], minlength=len(lists))

    def from_below(self, c: int) -> np.ndarray:
        """Return the log-odds of c without the message of its classifier and its parents."""
        return self.heard[:, c] - self.down[:, c]

    def get_parent_odds(self, c: int) -> np.ndarray:
        """Return the log-odds of the parents of c without the messages of c, shape (n_parents, n_samples)."""
        return self.heard.T[list(self.lists[c])] - self.up[c].T

    def compute_fit(self, c: int, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the likelihood of the messages to c if all its parents are present, and if not."""
        one, zero, eps = expit(own), expit(-own), self.eps[c]
        return self.s[:, c] * one + self.not_s[:, c] * zero, eps * one + (1.0 - eps) * zero

    def sweep(self, order: np.ndarray, damping: float) -> float:
        """Pass all messages, up and then down; return the largest change of a probability."""
        inner = [c for c in order if self.lists[c]]
        change = 0.0
        for c in inner[::-1]:
            inside, outside = self.compute_fit(c, self.from_below(c))
            into = self.get_parent_odds(c)
            for j, p in enumerate(self.lists[c]):
                every, rest = _compute_all_held(np.delete(into, j, axis=0))
                new = np.log(inside * every + outside * rest) - np.log(outside)
                change = max(change, _move(self.up[c][:, j], new, damping, self.heard[:, p]))
        for c in inner:
            every, rest = _compute_all_held(self.get_parent_odds(c))
            one = self.s[:, c] * every + self.eps[c] * rest
            zero = self.not_s[:, c] * every + (1.0 - self.eps[c]) * rest
            new = np.log(one) - np.log(zero)
            change = max(change, _move(self.down[:, c], new, damping, self.heard[:, c]))
        return change


def compute_graph_posterior(
    hierarchy: LabelHierarchy,
    logits: np.ndarray,
    relaxations: np.ndarray,
    Z: np.ndarray | None,
    keep: np.ndarray | None,
    *,
    max_rounds: int = _ROUNDS,
    tol: float = 1e-6,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the fields of `LabelPosterior`: `one`, `both`, `above` and the log-likelihood.

    Parameters
    ----------
    hierarchy : LabelHierarchy
        The hierarchy.
    logits : ndarray of shape (n_samples, n_labels)
        Log-odds of a label given all its parents.
    relaxations : ndarray of shape (n_labels,)
        The probability ε of a label that lacks a parent.
    Z, keep : ndarray of shape (n_samples, n_labels), (n_labels,), or None
        The recorded labels, and 1 minus the missing rates; None if no labels were recorded.
    max_rounds : int
        Maximum number of rounds.
    tol : float
        Messages are passed until no probability changes by more than this.
    """
    on, off = np.zeros_like(logits), np.zeros_like(logits)
    if Z is not None and keep is not None:
        with np.errstate(divide="ignore"):  # impossible values have probability 0
            on, off = np.log(np.where(Z, keep, 1.0 - keep)), np.log(np.where(Z, 0.0, 1.0))
    messages = _Messages(hierarchy.parent_lists, np.clip(logits, -_LARGEST, _LARGEST), relaxations, on - off)
    for t in range(max_rounds):
        if messages.sweep(hierarchy.order, 0.0 if hierarchy.is_tree or t == 0 else _DAMPING) < tol:
            break
    return _read_out(messages, on, off)


def _read_out(
    messages: _Messages, on: np.ndarray, off: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Compute probabilities and the Bethe log-likelihood (factors minus shared labels) from messages."""
    one, both, above = np.empty_like(on), np.empty_like(on), np.ones_like(on)
    total = 0.0
    for c in range(on.shape[1]):
        odds, own, into = messages.heard[:, c], messages.from_below(c), messages.get_parent_odds(c)
        held, free = expit(odds), expit(-odds)
        inside, outside = messages.compute_fit(c, own)
        every, rest = _compute_all_held(into)
        mass = inside * every + outside * rest
        one[:, c] = held
        both[:, c] = every * messages.s[:, c] * expit(own) / mass
        if len(into):
            above[:, c] = inside * every / mass
        total += _compute_factor(messages, c, own, into, mass).sum()
        total += (_multiply(held, on[:, c]) + _multiply(free, off[:, c])).sum()
        shared = messages.n_children[c]
        total += shared * (_multiply(held, log_expit(odds)) + _multiply(free, log_expit(-odds))).sum()
    return one, both, above, float(total)


def _compute_factor(
    messages: _Messages, c: int, own: np.ndarray, into: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """Return Σ b log(f / b) over the states of the factor of c, with b = f · messages / mass.

    log(f / b) = log mass - Σ log messages, so only the marginals of the factor are needed.
    """
    eps = messages.eps[c]
    every, rest = _compute_all_held(into)
    held = (messages.s[:, c] * every + eps * rest) * expit(own) / mass
    free = (messages.not_s[:, c] * every + (1.0 - eps) * rest) * expit(-own) / mass
    out = np.log(mass) - _multiply(held, log_expit(own)) - _multiply(free, log_expit(-own))
    inside, outside = messages.compute_fit(c, own)
    for j, odds in enumerate(into):
        every, rest = _compute_all_held(np.delete(into, j, axis=0))
        held = expit(odds) * (inside * every + outside * rest) / mass
        free = expit(-odds) * outside / mass
        out -= _multiply(held, log_expit(odds)) + _multiply(free, log_expit(-odds))
    return out


def _compute_all_held(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that all of several independent labels are present, and its complement."""
    log_every = log_expit(odds).sum(axis=0)
    return np.exp(log_every), -np.expm1(log_every)


def _multiply(chance: np.ndarray, log_value: np.ndarray) -> np.ndarray:
    """Return the product, or 0 where the probability is 0 and the logarithm infinite."""
    return np.where(chance > 0.0, chance * np.where(chance > 0.0, log_value, 0.0), 0.0)


def _move(old: np.ndarray, new: np.ndarray, damping: float, heard: np.ndarray) -> float:
    """Replace a message by its damped update in place, here and in `heard`; return the largest change."""
    new = damping * old + (1.0 - damping) * new
    change = float(np.abs(expit(new) - expit(old)).max(initial=0.0))
    heard += new - old
    old[:] = new
    return change
