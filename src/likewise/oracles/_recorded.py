"""An oracle that repeats earlier answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from likewise.active import Answer, OddOne, Piles, Question, Reply
from likewise.exceptions import SupervisionError

Missing = Literal["raise", "unsure"]


class RecordedOracle:
    """Repeats earlier answers. If a question was answered several times, the last answer counts.

    Parameters
    ----------
    replies : iterable of Reply
        The earlier replies, such as ``interview.replies``.
    missing : {"raise", "unsure"}, default="raise"
        Whether a question without an earlier answer raises a SupervisionError or is answered UNSURE.

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> from likewise.oracles import RecordedOracle
    >>> oracle = RecordedOracle([Reply(Question.pair(0, 4), "SAME")], missing="unsure")
    >>> str(oracle.answer(Question.pair(4, 0))), str(oracle.answer(Question.pair(0, 1)))
    ('SAME', 'UNSURE')
    """

    def __init__(self, replies: Iterable[Reply], *, missing: Missing = "raise") -> None:
        if missing not in get_args(Missing):
            raise ValueError(f"missing must be one of {get_args(Missing)}, got {missing!r}.")
        self.missing = missing
        self._replies = {}
        for reply in replies:
            if not isinstance(reply, Reply):
                raise SupervisionError(f"replies must contain Reply objects, got {reply!r}.")
            self._replies[reply.question.key] = reply

    def answer(self, question: Question) -> Answer | OddOne | Piles:
        """Return the earlier answer to a question.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        Answer, OddOne or Piles
            The earlier answer; UNSURE if there is none and `missing` is "unsure".
        """
        reply = self._replies.get(question.key)
        if reply is not None:
            return reply.to(question)
        if self.missing == "unsure":
            return Answer.UNSURE
        raise SupervisionError(
            f"there is no recorded answer to “{question.text}”. Use missing='unsure' to answer UNSURE "
            "instead."
        )
