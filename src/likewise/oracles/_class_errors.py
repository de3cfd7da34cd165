"""Errors that depend on the classes, which are merged or confused, and all kinds of errors by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist

from likewise.active import AnswerValue, Oracle, Question
from likewise.base import Rule
from likewise.exceptions import SupervisionError
from likewise.oracles._given_answers import LabelOracle, check_argument, read_classes
from likewise.oracles._simulated import (
    PROBABILITY,
    ErringOracle,
    FatigueOracle,
    FloatArray,
    LookAlikeOracle,
    NoisyOracle,
    Pairs,
    check_rows,
)
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import MatrixLike

ErrorKind = Literal["uniform", "look-alike", "coarse", "fatigue", "confusion"]
_GUESS = 0.5  # the probability of an error between two classes that cannot be distinguished


class CoarseOracle(Oracle):
    """Answers by groups of classes: rows of two classes in one group are SAME.

    Simulates an annotator who uses fewer categories than the data has, such as a language model that finds 24
    categories where 77 are meant. The errors are systematic: the answers never contradict each other, and
    further questions do not correct them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    groups : int or mapping of class to group
        The number of groups, or the group of each class. Classes that are absent from the mapping keep their
        names: ``{"wren": "finch"}`` merges the wrens into the finches. With a number, the nearest classes
        are merged (average linkage of the class means), which needs X.
    X : array-like of shape (n_samples, n_features), optional
        The rows, if `groups` is a number.

    Attributes
    ----------
    groups : dict
        The group of each class.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import CoarseOracle
    >>> oracle = CoarseOracle(["wren", "finch", "owl"], {"wren": "songbird", "finch": "songbird"})
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2)]
    ['SAME', 'DIFFERENT']
    >>> CoarseOracle(["wren", "finch", "owl"], 2, X=[[0.0], [1.0], [9.0]]).groups
    {'finch': 0, 'owl': 1, 'wren': 0}
    """

    def __init__(self, y: Any, groups: int | Mapping[Any, Hashable], *, X: MatrixLike | None = None) -> None:
        labels = read_classes(y)
        self.groups: dict[Hashable, Hashable]
        if isinstance(groups, Mapping):
            self.groups = _check_groups(groups, labels.classes)
        else:
            most = max(1, len(labels.classes))
            rule = Rule(
                f"a mapping of class to group or an integer from 1 to {most}, the number of classes",
                lambda v: Rule.integer(1).holds(v) and v <= most,
            )
            check_argument("CoarseOracle", "groups", groups, rule)
            self.groups = _merge_classes(labels, X, groups)
        codes = {group: code for code, group in enumerate(dict.fromkeys(self.groups.values()))}
        merged = [codes[group] for group in self.groups.values()]
        self._truth = LabelOracle([merged[code] if code >= 0 else None for code in labels.label_codes])
        self._truth._classes = [list(codes)[code] for code in self._truth._classes]

    def answer(self, question: Question) -> AnswerValue:
        return self._truth.answer(question)


class ConfusionOracle(ErringOracle):
    """Answers by the classes of the rows, and confuses certain classes.

    The probability of a wrong answer to a pair of rows is given for each pair of classes. The same question
    always gets the same answer. Wrong answers to triplets and odd ones out are drawn in proportion to the
    mean probability of the pairs that they misjudge. On a tray, rows move to the piles of classes that they
    are confused with.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE.
    confusion : mapping of (class, class) to float
        The probability of a wrong answer to a pair of rows of these two classes, in either order. For a class
        with itself, it is the probability that two of its rows are answered DIFFERENT. Absent pairs of
        classes are answered correctly.
    random_state : int, default=0
        Seed of the errors.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import ConfusionOracle
    >>> oracle = ConfusionOracle(["wren", "finch", "owl"], {("finch", "wren"): 1.0})
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2)]
    ['SAME', 'DIFFERENT']
    """

    confusion: dict[tuple[Any, Any], float]

    def __init__(self, y: Any, confusion: Mapping[tuple[Any, Any], float], *, random_state: int = 0) -> None:
        super().__init__(y, random_state)
        self.confusion, self._chances = _check_confusion(confusion, read_classes(y).classes)

    def _compute_chance(self, question: Question, pairs: Pairs) -> float:
        codes = [sorted((int(self._codes[i]), int(self._codes[j]))) for i, j in pairs]
        return float(np.mean([self._chances.get((a, b), 0.0) for a, b in codes]))


def choose_confusions(y: Any, X: Any, rate: float, random_state: int) -> dict[tuple[Any, Any], float]:
    """Return pairs of classes to confuse such that the mean error over random pairs of rows is the rate."""
    check_argument("make_oracle", "random_state", random_state, Rule.integer(0))
    labels = read_classes(y)
    pairs = list(combinations(range(len(labels.classes)), 2))
    if X is None:
        order = np.random.default_rng(random_state).permutation(len(pairs))
    else:
        order = np.argsort(pdist(_compute_class_means("make_oracle", labels, X)), kind="stable")
    counts = np.bincount(labels.label_codes[labels.label_codes >= 0], minlength=len(labels.classes))
    n_pairs = max(1, int(counts.sum()) * (int(counts.sum()) - 1) // 2)
    confusion: dict[tuple[Any, Any], float] = {}
    missing = float(rate)
    for place in order:
        if missing < 1e-12:
            break
        a, b = pairs[place]
        share = int(counts[a]) * int(counts[b]) / n_pairs
        chance = min(_GUESS, missing / share)
        confusion[labels.classes[a], labels.classes[b]] = chance
        missing -= share * chance
    if missing > 1e-9:
        raise SupervisionError(
            f"make_oracle: with 'confusion', rate must be at most {rate - missing:.3g} for these classes "
            f"(every two of them are then confused half the time), got {rate:g}. Use a lower rate, or pass "
            "the probabilities to ConfusionOracle."
        )
    return confusion


def _merge_classes(labels: Supervision, X: Any, n_groups: int) -> dict[Hashable, Hashable]:
    if X is None:
        raise ValueError(
            f"CoarseOracle: classes are merged into {n_groups} groups by their distances, but X is missing. "
            "Pass the rows as X, or a mapping of class to group."
        )
    means = _compute_class_means("CoarseOracle", labels, X)
    if len(means) < 2:
        return dict.fromkeys(labels.classes, 0)
    groups = cut_tree(linkage(means, "average"), n_clusters=n_groups).ravel()
    return dict(zip(labels.classes, groups.tolist(), strict=True))


def _check_groups(groups: Mapping[Any, Hashable], classes: tuple[Hashable, ...]) -> dict[Hashable, Hashable]:
    for name, group in groups.items():
        _check_class("CoarseOracle", name, classes)
        if not isinstance(group, Hashable):
            raise SupervisionError(
                f"CoarseOracle: groups[{name!r}] must be a name or a number, got {group!r}."
            )
    return {name: groups.get(name, name) for name in classes}


def _check_confusion(
    confusion: Mapping[tuple[Any, Any], float], classes: tuple[Hashable, ...]
) -> tuple[dict[tuple[Any, Any], float], dict[tuple[int, int], float]]:
    """Return the probabilities by classes, as given, and by the codes of the classes in ascending order."""
    if not isinstance(confusion, Mapping):
        raise SupervisionError(
            "ConfusionOracle: confusion must be a mapping of (class, class) to a probability, such as "
            f"{{('wren', 'finch'): 0.3}}; got {confusion!r}."
        )
    code_of = {name: code for code, name in enumerate(classes)}
    chances: dict[tuple[int, int], float] = {}
    for names, chance in confusion.items():
        if not isinstance(names, tuple) or len(names) != 2:
            raise SupervisionError(f"ConfusionOracle: the keys must be pairs of classes, got {names!r}.")
        for name in names:
            _check_class("ConfusionOracle", name, classes)
        check_argument("ConfusionOracle", f"confusion[{names!r}]", chance, PROBABILITY)
        first, second = sorted(code_of[name] for name in names)
        if chances.setdefault((first, second), float(chance)) != chance:
            raise SupervisionError(
                f"ConfusionOracle: classes {names[0]!r} and {names[1]!r} have two probabilities, "
                f"{chances[first, second]:g} and {chance:g}. The order of the classes does not matter; "
                "pass one of them."
            )
    return dict(confusion), chances


def _check_class(owner: str, name: Any, classes: tuple[Hashable, ...]) -> None:
    if name not in classes:
        some = ", ".join(map(repr, classes[:5])) + (", …" if len(classes) > 5 else "")
        raise SupervisionError(f"{owner}: no row has the class {name!r}; expected one of {some}.")


def _compute_class_means(owner: str, labels: Supervision, X: Any) -> FloatArray:
    codes = labels.label_codes
    rows = check_rows(owner, X, len(codes))
    known = codes >= 0
    sums = np.zeros((len(labels.classes), rows.shape[1]))
    np.add.at(sums, codes[known], rows[known])
    counts = np.bincount(codes[known], minlength=len(labels.classes))
    return sums / counts[:, None]


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
    check_argument("make_oracle", "kind", kind, Rule.choice(*get_args(ErrorKind)))
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
