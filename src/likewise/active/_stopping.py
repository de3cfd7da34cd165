"""Stopping criteria: changes by the last answers, accuracy on held-out answers, and suspect answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from likewise.active._evidence import collect_relations
from likewise.active._questions import Answer, Question, Relation, Reply
from likewise.active._state import InterviewState

if TYPE_CHECKING:
    from likewise.active._interview import Interview

_FOLDS = 5
_FEWEST = 10  # with fewer answers the interval would be too wide to be useful
_SETTLED = 0.01  # labels have settled if at most this fraction changed over the last answers
_RIGHT = 0.8  # required proportion of correctly predicted held-out answers: 16 of 16 reach it
_Z = 1.959964  # quantile of the normal distribution for an interval of 95 %
_DISAGREE = 0.25  # from this estimated error rate on, the answers disagree with the rows
_POOR = 0.12  # from this estimated error rate on, more answers do not help once labels have settled
_COMPARED = 30  # from this many answers on, the clusters should predict better than the initial ones
_CONTRADICT = 0.3  # the initial clusters usually get at least this proportion of answers right
_WORSE = 0.05  # tolerated loss of accuracy, because few answers are held out


AdviceCode = Literal[
    "",
    "finished",
    "early",
    "unsure",
    "no model",
    "one-sided",
    "disagreement",
    "worse",
    "changing",
    "untested",
    "quality",
    "inaccurate",
    "uncertain",
    "settled",
]


@dataclass(frozen=True)
class Outlook:
    """How far an interview has come, and whether more questions are worthwhile.

    :meth:`Interview.progress` returns one.

    Parameters
    ----------
    n_answers : int
        The number of answers.
    last : int
        The number of most recent answers that `changed` refers to.
    changed : float or None
        The proportion of rows whose cluster changed over the last answers. Clusters before and after are
        matched so that this proportion is smallest. None without answers or without a model.
    question : Question or None
        The next question.
    gain : float or None
        The score that the strategy gave the next question, if any. Scores of different strategies cannot be
        compared.
    accuracy : float or None
        The mean proportion of correctly predicted answers in five-fold cross-validation: for each fold the
        model is fitted to the hints and the other answers, and predicts the pairs that the answers of the
        fold state and the other answers do not imply. None with fewer than 10 such answers. Strategies ask
        about doubtful rows, so the labels of other rows are usually more accurate.
    interval : tuple of (float, float) or None
        The 95 % confidence interval of the accuracy (Wilson 1927), if answers are independent.
    n_held_out : int
        The number of answers in the accuracy: those that state pairs which the other answers do not imply.
    worth_asking : bool
        Whether more questions are worthwhile. False if there is nothing left to ask, if the last answers were
        all UNSURE, if the answers disagree with the rows and with one another (an error rate of 25 % or
        more), or if the labels have settled. They have settled if at most 1 % changed over the last answers
        and either the interval is above 80 % or so many answers look wrong that more answers of the same
        quality would not help.
    advice : str
        A sentence with the recommendation and its reason.
    advice_code : str, default=""
        The reason of the advice as one word, for programs: "finished" (nothing left to ask), "early" (too few
        answers), "unsure" (all of the last answers), "no model", "one-sided" (no answer separates rows),
        "disagreement" (of the answers with the rows or with one another), "worse" (than before the first
        answer), "changing" (labels), "untested" (too few answers to hold out), "quality" (of the answers is
        too poor), "inaccurate", "uncertain" (accuracy) or "settled".
    start_accuracy : float, optional
        The proportion of the same answers that the clusters before the first answer predict correctly.
    error_rate : float, optional
        The estimated proportion of wrong answers; None if answers are taken as correct.
    error_interval : tuple of (float, float), optional
        The 90 % interval of the error rate.
    n_suspects : int, default=0
        The number of answers that look wrong; see ``Interview.suspects``.

    Examples
    --------
    >>> from likewise.active import Interview, RandomPairs
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs(), random_state=7)
    >>> interview.progress().advice
    'There are fewer than 10 answers yet: go on.'
    """

    n_answers: int
    last: int
    changed: float | None
    question: Question | None
    gain: float | None
    accuracy: float | None
    interval: tuple[float, float] | None
    n_held_out: int
    worth_asking: bool
    advice: str
    advice_code: AdviceCode = ""
    start_accuracy: float | None = None
    error_rate: float | None = None
    error_interval: tuple[float, float] | None = None
    n_suspects: int = 0

    def __str__(self) -> str:
        return self.advice


def compute_outlook(interview: Interview, last: int) -> Outlook:
    """Compute what the last answers changed and how well held-out answers are predicted."""
    replies = interview.replies
    question = interview.ask()
    rate, n_suspects = interview.error_rate, len(interview.suspects)
    changed, right, at_start = None, np.empty(0), np.empty(0)
    if interview.model is not None and replies:
        labels = interview._get_labels(replies)
        changed = compute_changed_share(interview._get_labels(replies[:-last]), labels)
        right, at_start = _predict_held_out(interview, replies)
    enough = len(right) >= _FEWEST
    accuracy = float(right.mean()) if enough else None
    found = Outlook(
        n_answers=len(replies),
        last=min(last, len(replies)),
        changed=changed,
        question=question,
        gain=None if question is None else question.score,
        accuracy=accuracy,
        interval=None if accuracy is None else _compute_wilson_interval(accuracy, len(right)),
        n_held_out=len(right),
        worth_asking=True,
        advice="",
        start_accuracy=float(at_start.mean()) if enough else None,
        error_rate=None if rate is None else rate.mean,
        error_interval=None if rate is None else (rate.low, rate.high),
        n_suspects=n_suspects,
    )
    worth, code, advice = _advise(interview, found, last)
    return replace(found, worth_asking=worth, advice=advice, advice_code=code)


def _advise(interview: Interview, seen: Outlook, last: int) -> tuple[bool, AdviceCode, str]:
    """Return whether more questions are worthwhile, the reason, and a sentence with both."""
    replies = interview.replies
    if seen.question is None:
        spent = interview.left == 0
        return False, "finished", "The budget is spent." if spent else "There is nothing left to ask."
    if len(replies) < last:
        return True, "early", f"There are fewer than {last} answers yet: go on."
    if all(reply.answer is Answer.UNSURE for reply in replies[-last:]):
        text = f"All of the last {last} answers were UNSURE: more such answers will change nothing."
        return False, "unsure", text
    if seen.changed is None:
        return True, "no model", "Without a model there are no labels to evaluate: go on as long as you like."
    check, wrong = "Check the suspects first, or use" if seen.n_suspects else "Use", ""
    if interview.errors == "learn" and seen.error_rate is not None and seen.error_interval is not None:
        if (interview.n_clusters or 0) > 1 and _is_one_sided(interview):
            text = (
                "All answers so far are that rows belong together, so nothing separates the clusters. "
                "Check a few of them, or use fewer clusters."
            )
            return True, "one-sided", text
        low, high = seen.error_interval
        wrong = f"about {seen.error_rate:.0%} of the answers are probably wrong ({low:.0%} to {high:.0%})"
        if seen.error_rate >= _DISAGREE:
            text = (
                f"The answers disagree with the rows and with one another: {wrong}. {check} other features."
            )
            return False, "disagreement", text
    moved = f"{seen.changed:.1%} of the labels changed over the last {last} answers"
    if seen.accuracy is None or seen.interval is None or seen.start_accuracy is None:
        if seen.changed > _SETTLED:
            return True, "changing", f"{moved}: go on."
        return True, "untested", f"{moved}, but too few answers could be held out to check them: go on."
    if seen.n_held_out >= _COMPARED and seen.start_accuracy < _CONTRADICT:
        text = (
            f"The answers disagree with the rows: the clusters before the first answer get only "
            f"{seen.start_accuracy:.0%} of them right. Check a few of them, or use other features."
        )
        return True, "disagreement", text
    if seen.n_held_out >= _COMPARED and seen.accuracy < min(seen.start_accuracy - _WORSE, _RIGHT):
        text = (
            f"The clusters predict held-out answers worse ({seen.accuracy:.0%}) than those before the first "
            f"answer ({seen.start_accuracy:.0%}): "
            f"{'check the suspects, or try' if seen.n_suspects else 'try'} other features."
        )
        return True, "worse", text
    if seen.changed > _SETTLED:
        return True, "changing", f"{moved}: go on."
    low, high = seen.interval
    held_out = f"{seen.accuracy:.0%} ({low:.0%} to {high:.0%}) of the held-out answers are predicted"
    if wrong and low < _RIGHT and seen.error_rate is not None and seen.error_rate >= _POOR:
        check = " Check the suspects." if seen.n_suspects else ""
        return False, "quality", f"{moved}, and {wrong}: more answers of this quality will not help.{check}"
    if seen.accuracy < _RIGHT:
        return True, "inaccurate", f"{moved}, but only {held_out}: go on, or try another model."
    if low < _RIGHT:
        return True, "uncertain", f"{moved} and {held_out}, which is not certain enough: go on."
    return False, "settled", f"{moved} and {held_out}: more answers will change little."


def compute_changed_share(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> float:
    """Return the smallest proportion of rows in another cluster over all matchings of the clusters."""
    table = contingency_matrix(before, after)
    return 1.0 - float(table[linear_sum_assignment(table, maximize=True)].sum()) / len(before)


def _predict_held_out(
    interview: Interview, replies: Sequence[Reply]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return for each held-out answer the proportion of its pairs that the labels predict correctly.

    The first array is for the model fitted to the other answers, the second for the clusters before the first
    answer.
    """
    relations = collect_relations(replies, interview._first_rows)
    if sum(map(bool, relations)) < _FEWEST:
        return np.empty(0), np.empty(0)
    start = interview.labels_after(0)
    found: list[tuple[float, float]] = []
    for fold in range(_FOLDS):
        others = tuple(r for at, r in enumerate(replies) if at % _FOLDS != fold)
        known = interview._derive_knowledge(others)
        labels = interview._fit_labels(others, known)
        state = InterviewState(X=interview.X, supervision=known.supervision, closure=known.closure)
        for pairs in relations[fold::_FOLDS]:
            share = _score_pairs(pairs, state, labels)
            before = _score_pairs(pairs, state, start)
            found += [] if share is None or before is None else [(share, before)]
    right, at_start = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return right, at_start


def _is_one_sided(interview: Interview) -> bool:
    """Return True if no answer separates rows."""
    relations = collect_relations(interview.replies, interview._first_rows)
    return all(together for pairs in relations for *_, together in pairs)


def _score_pairs(pairs: Sequence[Relation], state: InterviewState, labels: npt.NDArray[Any]) -> float | None:
    """Return the proportion of the pairs of an answer that the labels predict; None if all are implied."""
    if not pairs:
        return None
    i, j, together = (np.array(part) for part in zip(*pairs, strict=True))
    open_ones = state.relations(i, j) == 0
    right = (labels[i] == labels[j]) == together
    return float(right[open_ones].mean()) if open_ones.any() else None


def _compute_wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval for a proportion of n."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)
