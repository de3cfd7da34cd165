"""An interview about very many rows, which considers a pool of them and updates it as answers come in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from likewise.active._evidence import Contradiction, Event, Suspect
from likewise.active._pool import LARGE, IntArray, Pool, PoolSample, contains_all
from likewise.active._questions import Key, Question, Reply
from likewise.active._state import InterviewState
from likewise.active._stopping import Outlook
from likewise.backends import Block, Rows, get_n_threads
from likewise.exceptions import SupervisionError

if TYPE_CHECKING:
    from likewise.active._interview import Interview

_KEPT = 3  # number of pools that are cached, for answers that are undone
_AT_ONCE = 4_096  # number of rows per call of predict: a model may compare each row with the whole pool


class PooledInterview:
    """The interview about the pool, created again whenever the pool changes.

    The pool is a function of the rows, the seed and the answers. It consists of the first rows, the hinted
    and answered rows, and, after every ``pool.every`` answers, the rows that are doubtful for a model fitted
    to the first rows and the answers so far. Therefore undoing an answer restores the previous pool, and
    files do not contain the pool.

    Parameters
    ----------
    owner : Interview
        The interview about all rows. Its events use the numbers of all rows.
    all_rows : Rows
        The rows.
    pool : Pool
        The settings of the pool.
    """

    def __init__(self, owner: Interview, all_rows: Rows, pool: Pool) -> None:
        self.owner, self.all_rows, self.pool = owner, all_rows, pool
        pool.check_size(len(all_rows))
        k = owner.cluster_range or owner.n_clusters or 0
        if np.max(k) > pool.size:
            raise ValueError(f"Interview: n_clusters={k}, but pool.size={pool.size}. Use a larger pool.")
        self._hinted = owner.given.restrict_to_hinted()[0]
        if len(self._hinted) > LARGE:
            raise SupervisionError(
                f"Interview: there are {len(self._hinted):,} hinted rows, which all have to be in the pool; "
                f"expected at most {LARGE:,}. Use fewer hints, or all rows with pool=None."
            )
        self._chosen: list[tuple[Any, IntArray]] = []  # pools with the answers that they depend on
        self._inner: tuple[IntArray, Interview] | None = None
        self._labels: tuple[npt.NDArray[Any], Any] | None = None  # labels of the pool, and of all rows

    def branch(self, owner: Interview) -> PooledInterview:
        """Return the same for another interview about the same rows; the sample is drawn once."""
        other = PooledInterview(owner, self.all_rows, self.pool)
        other.__dict__["survey"] = self.survey
        return other

    @cached_property
    def _start(self) -> Any:
        """The model of the first pool before any answer. Other fits start from it, to keep its clusters."""
        rows = self._choose_pool(())
        return self.owner._restrict(self.all_rows.take(rows), self.owner.given._restrict_to(rows)).model_

    @cached_property
    def survey(self) -> PoolSample:
        """The sample that pools are chosen from."""
        return self.pool.draw_sample(self.all_rows, random_state=self.owner.random_state)

    # ------------------------------------------------------------------ the pool

    def get_rows(self) -> IntArray:
        """Return the rows of the pool, given the events that were not undone, ascending."""
        return self.owner._derive("pool", self._find_rows)

    def _find_rows(self) -> IntArray:
        replies = self.owner.replies
        due = 0 if self.owner.model is None else len(replies) - len(replies) % self.pool.every
        chosen = self._choose_pool(replies[:due])
        named = self._find_named_rows(event.question for event in self.owner._get_current_events())
        return chosen if contains_all(chosen, named) else np.union1d(chosen, named)

    def _find_named_rows(self, questions: Iterable[Question]) -> IntArray:
        named_rows = np.array([row for question in questions for row in question.rows], dtype=np.int64)
        return np.union1d(self._hinted, named_rows)

    def _choose_pool(self, replies: tuple[Reply, ...]) -> IntArray:
        """Return the pool that is selected after these answers."""
        used = (replies, self.owner._get_weights(replies))
        for before, rows in self._chosen:
            if before == used:
                return rows
        of: dict[str, Any] = {
            "named": self._find_named_rows(reply.question for reply in replies),
            "random_state": self.owner.random_state,
            "survey": self.survey,
        }
        rows = self.pool.choose_first(self.all_rows, **of)
        if replies:
            inner = self._make_interview(rows, [Event("answer", reply.question, reply) for reply in replies])
            model, labels = inner.model_, inner.labels_
            rows = self.pool.choose_again(self.all_rows, rows, labels, model=model, **of)
        self._chosen = [(used, rows), *self._chosen[: _KEPT - 1]]
        return rows

    # ------------------------------------------------------------------ the interview about it

    def _make_interview(self, rows: IntArray, events: Sequence[Event]) -> Interview:
        """Return an interview about some rows with these events."""
        inner = self.owner._restrict(self.all_rows.take(rows), self.owner.given._restrict_to(rows))
        if self.owner.model is not None:
            inner._fits.like = self._start
        self._set_events(inner, rows, events)
        return inner

    def _set_events(self, inner: Interview, rows: IntArray, events: Sequence[Event]) -> None:
        place, weights = partial(_place, rows), self.owner._weights
        factors = {
            event.question.renumber(place).key: weights[event.question.key]
            for event in events
            if event.question.key in weights
        }
        inner._hold([event.renumber(place) for event in events], factors)

    def get_interview(self) -> Interview:
        """Return the interview about the pool, with the events that were not undone."""
        rows, events = self.get_rows(), self.owner._get_current_events()
        if self._inner is None or not np.array_equal(self._inner[0], rows):
            self._inner = (rows, self._make_interview(rows, events))
        inner = self._inner[1]
        self._set_events(inner, rows, events)
        inner.strategy = self.owner.strategy  # it may be changed at any time
        return inner

    def choose(self, n: int, pending: frozenset[Any]) -> list[Question]:
        """Return up to n questions about the pool, with the numbers of all rows."""
        return [
            self._to_all_rows(question)
            for question in self.get_interview()._choose(n, self._to_pool_keys(pending))
        ]

    def make_state(self, pending: frozenset[Any]) -> InterviewState:
        """Return the state for the strategy, with the numbers of the pool."""
        return self.get_interview()._make_state(self._to_pool_keys(pending))

    def _to_all_rows(self, question: Question) -> Question:
        return question.renumber(partial(_find_row, self.get_rows()))

    def _to_pool_keys(self, keys: frozenset[Any]) -> frozenset[Key]:
        """Return keys of questions with the numbers of the pool; questions about other rows are left out."""
        rows = self.get_rows()
        return frozenset(
            (kind, tuple(_place(rows, row) for row in named))
            for kind, named in keys
            if contains_all(rows, named)
        )

    def find_contradictions(self) -> tuple[Contradiction, ...]:
        """Return the contradictions, with the numbers of all rows."""
        find_rows, find_replies = self._match_inner()
        return tuple(
            Contradiction(find_rows(found.rows), find_rows(found.chain), find_replies(found.replies))
            for found in self.get_interview().contradictions
        )

    def find_suspects(self) -> tuple[Suspect, ...]:
        """Return the answers that look wrong, with the numbers of all rows."""
        find_rows, find_replies = self._match_inner()
        return tuple(
            replace(
                found,
                reply=find_replies([found.reply])[0],
                against=find_replies(found.against),
                rows=find_rows(found.rows),
            )
            for found in self.get_interview().suspects
        )

    def _match_inner(self) -> tuple[Callable[..., tuple[int, ...]], Callable[..., tuple[Reply, ...]]]:
        """Return functions that find the rows and the replies that correspond to those of the pool."""
        rows = self.get_rows()
        own = dict(zip(map(id, self.get_interview().replies), self.owner.replies, strict=True))
        return (
            lambda places: tuple(rows[list(places)].tolist()),
            lambda replies: tuple(own[id(reply)] for reply in replies),
        )

    def compute_progress(self, last: int) -> Outlook:
        """Return the outlook of the interview about the pool."""
        seen = self.get_interview().progress(last)
        return seen if seen.question is None else replace(seen, question=self._to_all_rows(seen.question))

    def predict_labels(self) -> npt.NDArray[Any]:
        """Return the cluster of each row: fitted in the pool, predicted for all other rows."""
        inner, rows = self.get_interview(), self.get_rows()
        model, own = inner.model_, inner.labels_
        if self._labels is None or self._labels[0] is not own:
            self.all_rows.threads = get_n_threads(len(self.all_rows) * inner.X.size, None)
            labelled = partial(_label_block, model, inner.X, rows, own.astype(np.int32))
            with threadpool_limits(1):  # one thread per block; limits set inside of them would not hold
                self._labels = (own, self.all_rows.collect(self.all_rows.make_column(np.int32, labelled)))
        return np.asarray(self._labels[1])


def _place(rows: IntArray, row: int) -> int:
    return int(np.searchsorted(rows, row))


def _find_row(rows: IntArray, place: int) -> int:
    return int(rows[place])


def _label_block(
    model: Any, X: npt.NDArray[Any], rows: IntArray, labels: npt.NDArray[np.int32], block: Block
) -> npt.NDArray[np.int32]:
    """Return the cluster of each row of a block, given the clusters of the pool."""
    found = np.empty(len(block), dtype=np.int32)
    size = len(block) if getattr(model, "_splits_new_rows", False) else _AT_ONCE
    for lo in range(0, len(block), size):
        others = block.X[lo : lo + size]
        if hasattr(model, "predict"):
            found[lo : lo + size] = model.predict(others)
        else:  # the cluster of the nearest row of the pool
            found[lo : lo + size] = labels[pairwise_distances_argmin(others, X)]
    low, high = np.searchsorted(rows, [block.rows.start, block.rows.stop])
    found[rows[low:high] - block.rows.start] = labels[low:high]
    return found
