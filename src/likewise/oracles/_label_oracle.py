"""An oracle that knows the classes and makes no errors."""

from __future__ import annotations

from typing import Any

from likewise.active import Answer, OddOne, Piles, Question
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision


def read_classes(y: Any) -> Supervision:
    """Return the true classes of rows as labels; -1 is a class, and the index of a Series is ignored."""
    return Supervision.from_labels(y.to_numpy() if hasattr(y, "to_numpy") else y, missing=None)


class LabelOracle:
    """Answers by the classes of the rows, and is never wrong.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row. None and NaN mean unknown; questions about such rows are answered UNSURE. On a
        tray, such rows are set aside and the others are sorted.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import LabelOracle
    >>> oracle = LabelOracle(["wren", "owl", "wren", None])
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2, 3)]
    ['DIFFERENT', 'SAME', 'UNSURE']
    >>> str(oracle.answer(Question.triplet(2, 1, 0)))
    'AC'
    >>> str(oracle.answer(Question.odd([0, 1, 2]))), str(oracle.answer(Question.piles([0, 1, 2, 3])))
    ('ODD 1', '0 2 | 1')
    """

    def __init__(self, y: Any) -> None:
        self._codes = read_classes(y).label_codes

    def answer(self, question: Question) -> Answer | OddOne | Piles:
        """Answer a question by the classes of the rows.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Answer, OddOne or Piles
            The correct answer; UNSURE if a class is unknown.
        """
        if max(question.rows) >= len(self._codes):
            raise SupervisionError(
                f"the question contains row {max(question.rows)}, but the oracle knows the classes of "
                f"{len(self._codes)} rows. It may be a question about other data."
            )
        piles: dict[int, list[int]] = {}
        for row in question.rows:
            piles.setdefault(int(self._codes[row]), []).append(row)
        unknown = piles.pop(-1, [])
        if question.kind == "piles":
            return question.check_answer(list(piles.values()))
        if unknown:
            return Answer.UNSURE
        if len(piles) == 1 and question.kind != "triplet":
            return Answer.SAME
        if question.kind == "pair":
            return Answer.DIFFERENT
        alone = [rows[0] for rows in piles.values() if len(rows) == 1]
        if len(piles) != 2 or len(alone) != 1:
            return Answer.NEITHER
        if question.kind == "odd":
            return OddOne(alone[0])
        return (Answer.BC, Answer.AC, Answer.AB)[question.rows.index(alone[0])]
