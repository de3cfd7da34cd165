"""Information gain: the question whose answer is most informative about the model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from likewise.active._questions import Key, Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.active.strategies._placing import IntArray, add_questions, list_asked
from likewise.active.strategies._random import RandomPairs
from likewise.base import Rule
from likewise.exceptions import LikewiseError

Kind = Literal["pair", "triplet"]

_HOT = 64  # number of best pairs, and of rows that the draws differ on most, for triplets
_REFERENCES = 32
_BLOCK = 512
_THIRDS = 16


@dataclass(frozen=True)
class InformationGain(CheckedStrategy):
    """The question whose answer is most informative about the weights of a model (*Info*, Pei 2017, eq. 4.7).

    With W the weights, of which the model has posterior draws, and z the answer, the question maximises

    .. math:: I(W; z) = H(z) - E_W [ H(z \\mid W) ] :

    the entropy of the answer averaged over all draws, minus the mean entropy given a single draw. A pair that
    every draw is unsure of has a gain of 0 here, but a high score with :class:`MarginalUncertainty`. The
    model must provide draws: :class:`~likewise.bayesian.BayesianClustering`, or any model with the methods
    ``membership_samples``, ``best_pairs`` and ``triplet_scores``.

    *Pairs* are found exactly among all pairs of the rows, or of `max_rows` of them. Pairs of rows that
    answers connect, over any number of links, come after all others; the paper leaves them out. *Triplets*
    (future work in the paper) are selected from `n_candidates`: all triplets if there are not more. Otherwise
    three quarters are drawn from the rows of the 64 best pairs and the 64 rows that the draws differ on most,
    and one quarter from all rows; they are drawn again for each question.

    Pairs cost O(S k^2 n^2) in matrix products for S draws and k clusters: 0.4 s for 3,000 rows, 7 s for
    20,000. With `max_rows` these take 1 s. Triplets cost O(S k) each beyond the best pairs.

    Parameters
    ----------
    kind : {"pair", "triplet"}, default="pair"
        The kind of question.
    max_rows : int, default=3500
        Maximum number of rows whose pairs are scored. If there are more, the rows are used for which the
        draws differ most on whether they belong together with each of 32 reference rows. A third is selected
        by the mean and a third by the maximum over random reference rows, and a third by the maximum over the
        32 rows that come first by the mean.
    n_candidates : int, default=8192
        The number of triplets that are scored.

    References
    ----------
    Y. Pei (2017), chapter 4, eq. 4.7.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import InterviewState
    >>> from likewise.active.strategies import InformationGain
    >>> from likewise.bayesian import BayesianClustering
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = BayesianClustering(n_clusters=2, n_particles=16, random_state=0).fit(X)
    >>> state = InterviewState.from_data(X, model=model, labels=model.labels_)
    >>> question = InformationGain().choose(state, 1)[0]
    >>> question.rows == tuple(model.best_pairs().pairs[0].tolist()), question.score > 0
    (True, True)
    >>> InformationGain("triplet").choose(state, 1)[0].kind
    'triplet'
    """

    kind: Kind = "pair"
    max_rows: int = 3_500
    n_candidates: int = 8_192

    needs: ClassVar[frozenset[str]] = frozenset({"draws"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "kind": Rule.choice(*get_args(Kind)),
        "max_rows": Rule.integer(3),
        "n_candidates": Rule.integer(1),
    }

    @property
    def name(self) -> str:
        """The name of the strategy in files and tables."""
        return "info" if self.kind == "pair" else "info-triplet"

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        model = _with_draws(state)
        if state.n_samples < 2 or n < 1:
            return []
        if self.kind == "triplet" and state.n_samples > 2:
            return self._choose_triplets(state, model, n)
        return self._choose_pairs(state, model, n)

    # ------------------------------------------------------------------ pairs

    def _choose_pairs(self, state: InterviewState, model: Any, n: int) -> list[Question]:
        rows = self._choose_pool(state, model)
        passed = list_asked(state, "pair")
        found: list[Question] = []
        for cycles in (False, True):
            wanted = n
            while len(found) < n:
                best = model.best_pairs(wanted, exclude=passed, rows=rows, cycles=cycles)
                for (i, j), score in zip(best.pairs.tolist(), best.scores.tolist(), strict=True):
                    passed.append((i, j))
                    question = Question.pair(i, j, score=score, reason=_describe_gain(score))
                    if len(found) < n and state.can_ask(question):
                        found.append(question)
                if len(best.pairs) < wanted:
                    break
                wanted *= 2  # few of the best pairs can be asked, because many relations are known already
        if len(found) < n and rows is not None:
            return add_questions({q.key: q for q in found}, RandomPairs().choose(state, n), n)
        return found

    def _choose_pool(self, state: InterviewState, model: Any) -> IntArray | None:
        """Return the rows whose pairs are scored; None for all rows."""
        if state.n_samples <= self.max_rows:
            return None
        third = self.max_rows // 3
        return np.unique(np.concatenate([order[:third] for order in order_by_disagreement(state, model)]))

    # ------------------------------------------------------------------ triplets

    def _choose_triplets(self, state: InterviewState, model: Any, n: int) -> list[Question]:
        candidates = self._draw_candidates(state, model)
        scores = np.asarray(model.triplet_scores(candidates), dtype=np.float64)
        found: dict[Key, Question] = {}
        for at in np.argsort(-scores, kind="stable").tolist():
            if len(found) >= n:
                return list(found.values())
            score = float(scores[at])
            question = Question.triplet(*candidates[at].tolist(), score=score, reason=_describe_gain(score))
            if state.can_ask(question):
                found[question.key] = question
        more = _open_triplets(state, n) if comb(state.n_samples, 3) > self.n_candidates else []
        return add_questions(found, more, n)

    def _draw_candidates(self, state: InterviewState, model: Any) -> IntArray:
        """Return triplets of rows in ascending order."""
        n, rng = state.n_samples, state.rng()
        if comb(n, 3) <= self.n_candidates:
            return np.array(list(combinations(range(n), 3)), dtype=np.int64)
        best = model.best_pairs(_HOT, rows=self._choose_pool(state, model), cycles=True).pairs
        hot = np.unique(np.concatenate([best.ravel(), order_by_disagreement(state, model)[0][:_HOT]]))
        n_hot = 3 * self.n_candidates // 4
        drawn = np.concatenate(
            [
                hot[rng.integers(len(hot), size=(n_hot, 3))],
                rng.integers(n, size=(self.n_candidates - n_hot, 3)),
            ]
        )
        drawn = np.unique(np.sort(drawn, axis=1), axis=0)
        return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]


def _describe_gain(score: float) -> str:
    return f"The expected information gain about the model is {score:.3f} nats."


def _with_draws(state: InterviewState) -> Any:
    """Return the model after checking that it provides draws of its weights."""
    model = state.model
    if all(hasattr(model, part) for part in ("membership_samples", "best_pairs", "triplet_scores")):
        return model
    given = "no model was fitted" if model is None else f"{type(model).__name__} has only one set of weights"
    raise LikewiseError(
        f"the strategy 'info' needs posterior draws of the weights of a model, but {given}. Use "
        "BayesianClustering as the model, or the strategy MarginalUncertainty, which needs only "
        "predict_proba."
    )


def order_by_disagreement(state: InterviewState, model: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return three orders of the rows, each beginning with the rows that the draws differ on most.

    The numbering of clusters may differ between draws. Therefore the variance is computed for the probability
    to belong together with each of some reference rows. The orders are by the mean and by the maximum over
    random reference rows, and by the maximum over the rows that come first by the mean.
    """
    r = np.asarray(model.membership_samples(), dtype=np.float32)
    n = state.n_samples
    some = state.rng().choice(n, min(_REFERENCES, n), replace=False)
    varies = _compute_variation(r, some)
    by_mean, by_most = (
        np.argsort(-each, kind="stable") for each in (varies.mean(axis=1), varies.max(axis=1))
    )
    by_first = np.argsort(-_compute_variation(r, by_mean[:_REFERENCES]).max(axis=1), kind="stable")
    return by_mean, by_most, by_first


def _compute_variation(r: npt.NDArray[np.float32], some: IntArray) -> npt.NDArray[np.float32]:
    """Return the variance over the draws of the probability to belong together with each of some rows."""
    others = r[:, some].transpose(0, 2, 1)
    varies = np.empty((r.shape[1], len(some)), dtype=np.float32)
    for lo in range(0, len(varies), _BLOCK):
        varies[lo : lo + _BLOCK] = (r[:, lo : lo + _BLOCK] @ others).var(axis=0)
    return varies


def _open_triplets(state: InterviewState, n: int) -> list[Question]:
    """Return triplets that can be asked, each with a pair of rows about which nothing is known."""
    rng = state.rng()
    found = []
    for i, j in (pair.rows for pair in RandomPairs().choose(state, n)):
        for third in rng.permutation(state.n_samples)[:_THIRDS].tolist():
            if third not in (i, j):
                question = Question.triplet(i, j, third, reason="There are no other questions left.")
                if state.can_ask(question):
                    found.append(question)
    return found
