"""An interview about all rows, or a representative sample, whose answers can be replaced."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.active import Event, Interview, Question, Reply
from likewise.active._questions import Key
from likewise.active._state import Knowledge
from likewise.studio.records import Settings

IntArray = npt.NDArray[np.int64]
_NAMED = {"pairs": None, "triplets": "triplets", "both": "both"}


class ReplayedInterview(Interview):
    """An interview whose answers are set all at once, and again whenever they change.

    Every event can change the estimated reliability of people and therefore earlier replies. So the history
    is replaced, not extended; fits and caches are kept, because they are keyed by the known answers.
    """

    _factors: Mapping[Key, float] = MappingProxyType({})

    def hold(
        self, replies: Sequence[Reply], skipped: Iterable[Question], weights: Sequence[float] = ()
    ) -> None:
        """Replace all answers and all skipped questions.

        Each answer counts as many times as its weight; the default weight is 1.
        """
        factors = {
            reply.question.key: weight for reply, weight in zip(replies, weights, strict=False) if weight != 1
        }
        if factors != self._factors:
            self._factors, self._recent_fits = factors, []
            self._hold([])  # clears what was derived with other weights
        history = [Event("answer", reply.question, reply) for reply in replies]
        history += [Event("skip", question) for question in skipped]
        self._hold(history)

    def _derive_knowledge(
        self, replies: Sequence[Reply], weights: Sequence[float] | None = None
    ) -> Knowledge:
        if self._factors:
            base = weights if weights is not None else [1.0] * len(replies)
            weights = [
                weight * self._factors.get(reply.question.key, 1.0)
                for reply, weight in zip(replies, base, strict=True)
            ]
        return super()._derive_knowledge(replies, weights)

    def share_fits(self, other: ReplayedInterview) -> None:
        """Share the fits of another interview about the same rows, so a graph is built only once."""
        self._fits = other._fits

    def get_labels_after(self, n: int) -> npt.NDArray[Any]:
        """Return the labels after the first n answers."""
        return self._fits.get_labels(self._derive_knowledge(self.replies[:n]))


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Suppress warnings: the groups show the same facts, and nobody reads the output of a worker."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def make_interview(X: npt.NDArray[Any], settings: Settings) -> ReplayedInterview:
    """Create the interview for the given settings.

    Without a number of clusters it starts with two and adds more as the answers require. There are never more
    clusters than rows.
    """
    k = settings.n_clusters
    strategy = settings.strategy or _NAMED[settings.ask]
    return ReplayedInterview(
        X,
        n_clusters=min(max(k or 2, 2), len(X)),
        discover=settings.discover or k is None,
        strategy=strategy,
        random_state=settings.seed,
        budget=settings.budget,
        pool=None,
    )


class SampledInterview:
    """An interview about a subset of the rows that is used with the row numbers of the full data.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        All rows.
    settings : Settings
        The settings of the project.
    rows : ndarray, optional
        Rows of the interview, ascending; all by default.
    """

    def __init__(self, X: npt.NDArray[Any], settings: Settings, rows: IntArray | None = None) -> None:
        self.X, self.rows = X, rows
        self.interview = make_interview(X if rows is None else np.ascontiguousarray(X[rows]), settings)
        self._nearest: IntArray | None = None

    def covers(self, rows: IntArray) -> bool:
        """Return True if the interview is about all of these rows."""
        return self.rows is None or bool(np.isin(rows, self.rows).all())

    def hold(
        self, replies: Sequence[Reply], skipped: Iterable[Question], weights: Sequence[float] = ()
    ) -> None:
        """Replace all answers, leaving out those about rows outside the interview."""
        if self.rows is not None:
            known = [self._knows(reply.question) for reply in replies]
            weights = list(compress(weights, known))
            replies = [
                Reply(
                    self._to_sample(reply.question), reply.answer, reply.annotator, reply.time, reply.seconds
                )
                for reply in compress(replies, known)
            ]
            skipped = [self._to_sample(question) for question in skipped if self._knows(question)]
        self.interview.hold(replies, skipped, weights)

    def _knows(self, question: Question) -> bool:
        return self.covers(np.array(question.rows))

    def _to_sample(self, question: Question) -> Question:
        assert self.rows is not None
        at = np.searchsorted(self.rows, question.rows).tolist()
        return Question(question.kind, tuple(at), question.score)  # its reason may mention other rows

    def _to_all_rows(self, question: Question) -> Question:
        if self.rows is None:
            return question
        return question.renumber(self.rows.tolist().__getitem__)

    def ask(self, n: int, pending: Iterable[Question]) -> list[Question]:
        """Return up to n questions that are not pending."""
        if self.rows is not None:
            pending = [self._to_sample(question) for question in pending if self._knows(question)]
        return [self._to_all_rows(question) for question in self.interview.ask(n, list(pending))]

    def extend_to_all(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give every row the value of the nearest row of the interview. Nearest rows are found once."""
        if self.rows is None:
            return values
        if self._nearest is None:
            from sklearn.metrics import pairwise_distances_argmin

            self._nearest = pairwise_distances_argmin(self.X, self.interview.X)
            self._nearest[self.rows] = np.arange(len(self.rows))
        found: npt.NDArray[Any] = values[self._nearest]
        return found
