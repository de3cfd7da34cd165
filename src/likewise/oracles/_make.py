"""Simulated annotators by the name of the kind of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from likewise.active import Oracle
from likewise.base import choice
from likewise.oracles._class_errors import CoarseOracle, ConfusionOracle, choose_confusions
from likewise.oracles._fatigue import FatigueOracle
from likewise.oracles._label_oracle import read_classes
from likewise.oracles._look_alike import LookAlikeOracle
from likewise.oracles._noisy import NoisyOracle
from likewise.oracles._simulated import PROBABILITY, check_argument

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

ErrorKind = Literal["uniform", "look-alike", "coarse", "fatigue", "confusion"]


def make_oracle(
    kind: ErrorKind,
    y: Any,
    X: MatrixLike | None = None,
    *,
    rate: float = 0.1,
    n_questions: int = 100,
    random_state: int = 0,
) -> Oracle:
    """Make a simulated annotator with errors of a given kind.

    ========== =========================================== =========================================
    kind       errors                                      meaning of `rate`
    ========== =========================================== =========================================
    uniform    :class:`NoisyOracle`: all questions equally the probability of an error
    look-alike :class:`LookAlikeOracle`: different rows    the mean over random pairs
               that are near, same rows that are far
    coarse     :class:`CoarseOracle`: the nearest classes  the fraction of classes merged into
               are merged                                  others, at least one class if above 0
    fatigue    :class:`FatigueOracle`: the rate grows      the mean over the first `n_questions`
    confusion  :class:`ConfusionOracle`: certain classes   the mean over random pairs
               are confused
    ========== =========================================== =========================================

    Strategies that ask about doubtful pairs select more look-alikes and more pairs of merged or confused
    classes than random pairs would contain, so their proportion of wrong answers can be above `rate`.

    Parameters
    ----------
    kind : {"uniform", "look-alike", "coarse", "fatigue", "confusion"}
        The kind of errors.
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    X : array-like of shape (n_samples, n_features), optional
        The rows. "look-alike" and "coarse" need them. "confusion" uses them to confuse the nearest classes
        first; without X the classes are drawn at random.
    rate : float, default=0.1
        The rate of errors as defined in the table. "look-alike" allows at most 0.95.
    n_questions : int, default=100
        Only for "fatigue": the number of questions over which the error rate grows. It rises from
        0 to ``2 * rate``, or from ``2 * rate - 1`` to 1 if `rate` is above 0.5.
    random_state : int, default=0
        Seed of the errors.

    Returns
    -------
    Oracle
        An object with the method ``answer(question)``.

    Notes
    -----
    "coarse" leaves ``n_classes - round(rate * n_classes)`` groups: 24 groups of 77 classes at a rate of 0.69.

    "confusion" goes through the pairs of classes, nearest class means first. Each gets an error rate of 0.5
    until the mean over random pairs of rows is `rate`; the last one gets the remainder.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import make_oracle
    >>> X, y = [[0.0], [1.0], [9.0]], ["wren", "finch", "owl"]
    >>> oracle = make_oracle("coarse", y, X, rate=0.3)
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2)]
    ['SAME', 'DIFFERENT']
    """
    check_argument("make_oracle", "kind", kind, choice(*get_args(ErrorKind)))
    check_argument("make_oracle", "rate", rate, PROBABILITY)
    if kind in ("look-alike", "coarse") and X is None:
        raise ValueError(
            f"make_oracle: {kind!r} errors depend on the distances between rows, but X is missing. Pass the "
            "rows as X, or choose 'uniform', 'fatigue' or 'confusion'."
        )
    if kind == "uniform":
        return NoisyOracle(y, rate=rate, random_state=random_state)
    if kind == "look-alike":
        return LookAlikeOracle(y, X, rate=rate, random_state=random_state)
    if kind == "fatigue":
        start, final = max(0.0, 2 * rate - 1), min(1.0, 2 * rate)
        return FatigueOracle(
            y, rate=start, final_rate=final, n_questions=n_questions, random_state=random_state
        )
    if kind == "confusion":
        return ConfusionOracle(y, choose_confusions(y, X, rate, random_state), random_state=random_state)
    n_classes = len(read_classes(y).classes)
    n_merged = max(1, round(rate * n_classes)) if rate > 0 else 0
    return CoarseOracle(y, max(1, n_classes - n_merged), X=X)
