"""An oracle that knows the classes."""

from __future__ import annotations

from typing import Any

from likewise.active import Answer, Question
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision


class LabelOracle:
    """Answers by the classes of the rows, and is never wrong.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row; None and NaN mean that it is not known, and the answer then is UNSURE.

    Examples
    --------
    >>> from likewise.active import Question
    >>> from likewise.oracles import LabelOracle
    >>> oracle = LabelOracle(["wren", "owl", "wren", None])
    >>> [str(oracle.answer(Question.pair(0, j))) for j in (1, 2, 3)]
    ['DIFFERENT', 'SAME', 'UNSURE']
    >>> str(oracle.answer(Question.triplet(2, 1, 0)))
    'AC'
    """

    def __init__(self, y: Any) -> None:
        self._codes = Supervision.from_labels(y).label_codes

    def answer(self, question: Question) -> Answer:
        """Return what the classes say."""
        if max(question.rows) >= len(self._codes):
            raise SupervisionError(
                f"the question names row {max(question.rows)}, but the oracle knows the classes of "
                f"{len(self._codes)} rows. Is it a question about other data?"
            )
        codes = self._codes[list(question.rows)].tolist()
        if min(codes) < 0:
            return Answer.UNSURE
        if question.kind == "pair":
            return Answer.SAME if codes[0] == codes[1] else Answer.DIFFERENT
        a, b, c = codes
        alike = [word for word, same in (("AB", a == b), ("AC", a == c), ("BC", b == c)) if same]
        return Answer(alike[0]) if len(alike) == 1 else Answer.NEITHER
