"""Run interviews for the reproductions: a strategy asks, the true classes answer, a clusterer is scored.

:class:`likewise.active.Interview` fits a model after every answer. The papers ask several questions about a
row between two fits, and the figures score every tenth answer. This module fits only at these points.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from likewise import Supervision
from likewise.active import InterviewState

Fit = Callable[[Supervision], Any]  # takes hints, returns a model with labels_


@dataclass
class Asked:
    """The questions of an interview, and the clusters after some numbers of answers.

    Attributes
    ----------
    pairs : list of (int, int)
        The questions, in order.
    labels : dict of int to ndarray
        The clusters after some numbers of answers.
    n_fits : int
        The number of fits.
    """

    pairs: list[tuple[int, int]] = field(default_factory=list)
    labels: dict[int, np.ndarray] = field(default_factory=dict)
    n_fits: int = 0


def links(y: np.ndarray, pairs: Any) -> Supervision:
    """Return links between pairs of rows from their classes."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Supervision.from_links(len(y), must=pairs[same], cannot=pairs[~same])


def get_known_links(state: InterviewState) -> Supervision:
    """Return the answers as links, and the links that the number of clusters implies.

    A row that is apart from all groups but one belongs to that one: its must-link is not asked, but given to
    clusterers.
    """
    links = state.closure.links
    return Supervision.from_links(state.n_samples, must=links.must, cannot=links.cannot)


def interview(
    X: np.ndarray,
    y: np.ndarray,
    strategy: Any,
    fit: Fit,
    *,
    budget: int,
    marks: Collection[int],
    seed: int,
    by_node: bool = True,
) -> Asked:
    """Ask, and return the questions and the clusters after the numbers of answers in `marks`.

    With `by_node` a strategy that uses clusters gets new ones for each new row without answers, as in Xiong,
    Johnson & Corso, sect. 2.3; otherwise after every answer. A strategy that does not use clusters costs one
    fit per mark.
    """
    looks = bool(strategy.needs)
    asked = Asked()
    keys: set[Any] = set()
    fixed: dict[str, Any] = {"n_clusters": len(np.unique(y)), "random_state": seed, "cache": {}}
    state = InterviewState.from_data(X, **fixed)
    fitted_at = -1
    for n_answers in range(budget + 1):
        if n_answers in marks or (looks and (n_answers == 0 or not by_node)):
            state, fitted_at = _refit(state, fit, asked), n_answers
        if n_answers in marks:
            asked.labels[n_answers] = state.labels
        if n_answers == budget:
            break
        question = next(iter(strategy.choose(state, 1)), None)
        if looks and fitted_at < n_answers and question is not None and _is_new(state, question):
            state, fitted_at = _refit(state, fit, asked), n_answers
            question = next(iter(strategy.choose(state, 1)), None)
        if question is None:
            break
        asked.pairs.append(question.rows)
        keys.add(question.key)
        answers = state.supervision | links(y, [question.rows])
        state = InterviewState.from_data(
            X,
            answers,
            model=state.model,
            labels=state.labels,
            asked=frozenset(keys),
            n_answers=len(keys),
            **fixed,
        )
    if len(asked.pairs) < budget:  # all answers are known, so the labels stay the same
        last = _refit(state, fit, asked).labels
        asked.labels |= {mark: last for mark in marks if mark > len(asked.pairs)}
    return asked


def _refit(state: InterviewState, fit: Fit, asked: Asked) -> InterviewState:
    model = fit(get_known_links(state))
    asked.n_fits += 1
    return replace(state, model=model, labels=np.asarray(model.labels_))


def _is_new(state: InterviewState, question: Any) -> bool:
    """Return True if a question contains a row without answers."""
    touched = state.supervision.touched
    return not all(touched[row] for row in question.rows)
