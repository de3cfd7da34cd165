"""Several annotators: their agreement, their reliability, and the most probable answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import cohen_kappa_score

from likewise.active import Answer, Named, Question, Reply, collect_relations
from likewise.base import Rule, warn_caller
from likewise.exceptions import LikewiseWarning, SupervisionError
from likewise.oracles._dawid_skene import (
    AnnotatorVotes,
    FloatArray,
    Judgement,
    compute_krippendorff_alpha,
    compute_observed_agreement,
    judge,
)
from likewise.oracles._given_answers import check_argument
from likewise.supervision import Supervision

WORDS = {
    "pair": (Answer.SAME, Answer.DIFFERENT),
    "triplet": (Answer.AB, Answer.AC, Answer.BC, Answer.NEITHER),
}
Rows = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Annotator:
    """The estimated quality of one annotator.

    Parameters
    ----------
    name : str or None
        The name of the annotator; None for replies without a name.
    n_answers : int
        The number of pairs and triplets that the annotator answered.
    n_shared : int
        The number of these that another annotator answered too.
    n_unsure : int
        The number of questions that the annotator answered with UNSURE, or with NEITHER about more than three
        rows. They are left out.
    accuracy : float or None
        The estimated proportion of correct answers; None without answers.
    reliability : float or None
        How informative the answers are: 1 if they are always correct, 0 if they do not depend on the correct
        answer, negative if they are wrong more often than by chance. For a table of k possible answers it is
        (trace - 1) / (k - 1); pairs and triplets are averaged, weighted by the number of answers. None
        without answers.
    tables : mapping of str to ndarray
        For "pair" and "triplet", the estimated probability of each given answer (column) for each correct
        answer (row).

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> from likewise.oracles import Annotators
    >>> pairs = [Question.pair(0, 1), Question.pair(0, 2)]
    >>> replies = [Reply(pair, "SAME", annotator=name) for pair in pairs for name in ("Ann", "Bob")]
    >>> ann = Annotators(replies).annotators[0]
    >>> ann.name, ann.n_answers, ann.n_shared, ann.tables["pair"].shape
    ('Ann', 2, 2, (2, 2))
    """

    name: str | None
    n_answers: int
    n_shared: int
    n_unsure: int
    accuracy: float | None
    reliability: float | None
    tables: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Agreement:
    """The agreement of annotators on questions that two or more of them answered.

    Parameters
    ----------
    n_questions : int
        The number of such questions.
    observed : float or None
        The proportion of agreement among all pairs of answers to the same question; None without such pairs.
    alpha : float or None
        Krippendorff's alpha: 1 for perfect agreement, 0 for agreement by chance. None if it is undefined
        (0 / 0).
    kappas : mapping of (str, str) to float or None
        Cohen's kappa of every two annotators who share questions; None if it is undefined.

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> from likewise.oracles import Annotators
    >>> statements = {"Ann": ["SAME", "DIFFERENT"], "Bob": ["SAME", "DIFFERENT"]}
    >>> replies = [
    ...     Reply(Question.pair(0, i), answer, annotator=name)
    ...     for name, answers in statements.items()
    ...     for i, answer in enumerate(answers, start=1)
    ... ]
    >>> Annotators(replies).agreement().kappas
    {('Ann', 'Bob'): 1.0}
    """

    n_questions: int
    observed: float | None
    alpha: float | None
    kappas: Mapping[tuple[str | None, str | None], float | None]


@dataclass(frozen=True)
class Verdict:
    """The most probable answer to a question, given the answers of several people.

    Parameters
    ----------
    question : Question
        The pair or triplet.
    answer : Answer
        The most probable answer.
    probability : float
        The probability that it is correct.
    n_votes : int
        The number of people who answered.

    Examples
    --------
    >>> from likewise.active import Answer, Question
    >>> from likewise.oracles import Verdict
    >>> round(Verdict(Question.pair(0, 1), Answer.SAME, probability=0.9, n_votes=2).weight, 2)
    0.8
    """

    question: Question
    answer: Answer
    probability: float
    n_votes: int

    @property
    def weight(self) -> float:
        """The weight as a hint: 1 for a certain answer, 0 for a random guess; 2p - 1 for a pair."""
        n = len(WORDS[self.question.kind])
        return (n * self.probability - 1) / (n - 1)


class Annotators:
    """Combines the answers of several people, weighted by the estimated reliability of each.

    This is the model of Dawid and Skene (1979). Question i has a correct answer, drawn with class
    probabilities p. If j is correct, annotator a answers l with probability t[a, j, l], independently of the
    others. EM maximises the posterior of p and t. It starts from the votes and alternates between the
    probability of each answer being correct (their equation 2.5) and the tables given these probabilities
    (2.3 and 2.4). This reverses the answers of an annotator who is mostly wrong, and gives no weight to an
    annotator who always gives the same answer.

    The prior adds `strength` answers to each row of each table, of which the proportion `accuracy` is
    correct, so the answers cannot be permuted. Tables and class probabilities are estimated from questions
    that two or more annotators answered. Annotators who share no question keep the prior, with a warning,
    because their answers give no information about their reliability.

    Pairs and triplets are treated separately. Odd ones out and piles are converted to the pairs that they
    state. UNSURE is left out, as is NEITHER about more than three rows. If an annotator answered a question
    twice, the last answer counts.

    Parameters
    ----------
    replies : iterable of Reply
        The replies of an interview, ``interview.replies``, or of several interviews about the same rows.
    accuracy : float, default=0.8
        The prior mean of the accuracy of an annotator, between 0 and 1, for pairs and for triplets.
    strength : float, default=4
        The weight of the prior as a number of answers.
    max_iter : int, default=1000
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when no entry of a table changes by more than this.

    Attributes
    ----------
    annotators : tuple of Annotator
        The estimated quality of each annotator, in the order of their first replies.
    verdicts : tuple of Verdict
        The most probable answer to each pair and triplet; pairs first, sorted by rows.

    Notes
    -----
    An iteration costs (number of answers) x (number of possible answers). If most annotators make the same
    errors, the result follows them; only the prior counteracts this. The pairs that a tray states are not
    independent, so the posterior of answers from trays is overconfident.

    References
    ----------
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM
    algorithm, Applied Statistics 28, 1979. K. Krippendorff, Content Analysis, 2004, chapter 11.

    Examples
    --------
    >>> from likewise.active import Question, Reply
    >>> from likewise.oracles import Annotators
    >>> # Cem has mixed up the keys
    >>> statements = {"Ann": "SDSDSDSDSD", "Bob": "SDSDSDSDSS", "Cem": "DSDSDSDSDS"}
    >>> replies = [
    ...     Reply(Question.pair(0, i + 1), "SAME" if letter == "S" else "DIFFERENT", annotator=name)
    ...     for name, letters in statements.items()
    ...     for i, letter in enumerate(letters)
    ... ]
    >>> people = Annotators(replies)
    >>> [(one.name, one.reliability > 0) for one in people.annotators]
    [('Ann', True), ('Bob', True), ('Cem', False)]
    >>> people.supervision(11)
    Supervision(11 rows: 5 must, 5 cannot)
    """

    def __init__(
        self,
        replies: Iterable[Reply],
        *,
        accuracy: float = 0.8,
        strength: float = 4.0,
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        if not Rule.real(0, strict=True).holds(accuracy) or accuracy >= 1:
            raise ValueError(f"Annotators: accuracy must be a number between 0 and 1, got {accuracy!r}.")
        check_argument("Annotators", "strength", strength, Rule.real(0, strict=True))
        check_argument("Annotators", "max_iter", max_iter, Rule.integer(1))
        check_argument("Annotators", "tol", tol, Rule.real(0))
        statements, unsure = _collect_statements(replies)
        self.names: tuple[str | None, ...] = tuple(unsure)
        self._questions: dict[str, dict[Rows, int]] = {}  # the index of each question
        self._votes: dict[str, AnnotatorVotes] = {}
        self._judged: dict[str, Judgement] = {}
        for kind, words in WORDS.items():
            given = statements[kind]
            asked = sorted({rows for rows, _ in given})
            questions = self._questions[kind] = {rows: at for at, rows in enumerate(asked)}
            votes = self._votes[kind] = _make_votes(given, questions, self.names, len(words))
            found = judge(votes, accuracy=accuracy, strength=strength, max_iter=max_iter, tol=tol)
            self._judged[kind] = found
            if not found.converged:
                warn_caller(
                    f"Annotators: the tables for {kind}s still changed after {max_iter} iterations. Pass a "
                    "larger max_iter or tol.",
                    ConvergenceWarning,
                )
        self.annotators: tuple[Annotator, ...] = tuple(
            self._describe_annotator(a, unsure[name]) for a, name in enumerate(self.names)
        )
        self.verdicts: tuple[Verdict, ...] = tuple(self._get_verdicts())
        if alone := [one for one in self.annotators if one.n_answers and not one.n_shared]:
            warn_caller(
                f"{_format_names(alone)} answered no question that others answered too, so their reliability "
                f"is unknown; it is assumed that they are right with probability {accuracy:g}. Ask two "
                "people some of the questions.",
                LikewiseWarning,
            )

    def __repr__(self) -> str:
        n = {kind: len(questions) for kind, questions in self._questions.items()}
        return f"Annotators({len(self.names)}: {n['pair']} pairs, {n['triplet']} triplets)"

    def _describe_annotator(self, a: int, n_unsure: int) -> Annotator:
        n_answers = n_shared = 0
        right = informed = 0.0
        tables: dict[str, FloatArray] = {}
        for kind, votes in self._votes.items():
            mine = votes.annotator == a
            n = int(mine.sum())
            if not n:
                continue
            found = self._judged[kind]
            tables[kind] = table = found.tables[a]
            n_answers += n
            n_shared += int((votes.counts.sum(axis=1)[votes.question[mine]] > 1).sum())
            right += n * float(found.shares @ np.diag(table))
            informed += n * float((np.trace(table) - 1) / (len(table) - 1))
        accuracy = right / n_answers if n_answers else None
        reliability = informed / n_answers if n_answers else None
        return Annotator(self.names[a], n_answers, n_shared, n_unsure, accuracy, reliability, tables)

    def _get_verdicts(self) -> Iterable[Verdict]:
        for kind, words in WORDS.items():
            n_votes = self._votes[kind].counts.sum(axis=1).tolist()
            for rows, at in self._questions[kind].items():
                chances = self._judged[kind].posterior[at]
                best = int(chances.argmax())
                yield Verdict(
                    Question(kind, rows),  # type: ignore[arg-type]
                    words[best],
                    float(chances[best]),
                    n_votes[at],
                )

    def agreement(self, kind: str = "pair") -> Agreement:
        """Return the agreement of the annotators.

        Parameters
        ----------
        kind : {"pair", "triplet"}, default="pair"
            The kind of question.

        Returns
        -------
        Agreement
            The observed agreement, Krippendorff's alpha and Cohen's kappas.
        """
        if kind not in WORDS:
            raise ValueError(f"kind must be one of {tuple(WORDS)}, got {kind!r}.")
        votes = self._votes[kind]
        counts = votes.counts
        shared = int((counts.sum(axis=1) > 1).sum())
        return Agreement(
            shared,
            compute_observed_agreement(counts),
            compute_krippendorff_alpha(counts),
            self._compute_kappas(votes),
        )

    def _compute_kappas(self, votes: AnnotatorVotes) -> dict[tuple[str | None, str | None], float | None]:
        codes = np.full((votes.n_annotators, votes.n_questions), -1)
        codes[votes.annotator, votes.question] = votes.code
        found: dict[tuple[str | None, str | None], float | None] = {}
        for a, b in combinations(range(votes.n_annotators), 2):
            both = (codes[a] >= 0) & (codes[b] >= 0)
            if not both.any():
                continue
            one_word = len(np.unique(codes[[a, b]][:, both])) == 1  # 0 / 0
            kappa = None if one_word else float(cohen_kappa_score(codes[a, both], codes[b, both]))
            found[self.names[a], self.names[b]] = kappa
        return found

    def posterior(self, question: Question) -> dict[Answer, float]:
        """Return the posterior probability of each answer to a question.

        Parameters
        ----------
        question : Question
            A pair or triplet with at least one answer. Any other question raises a SupervisionError.

        Returns
        -------
        dict of Answer to float
            The probability that each answer is correct.
        """
        rows = tuple(sorted(question.rows))
        if question.kind not in WORDS or rows not in self._questions[question.kind]:
            raise SupervisionError(
                f"there is no answer to “{question.text}”. There are posteriors only for pairs and triplets "
                "with answers; trays count as their pairs."
            )
        at = self._questions[question.kind][rows]
        chances = self._judged[question.kind].posterior[at].tolist()
        ordered = Question(question.kind, rows)
        words = [_get_word(Reply(ordered, word).to(question)) for word in WORDS[question.kind]]
        return dict(zip(words, chances, strict=True))

    def supervision(self, n_samples: int) -> Supervision:
        """Return the verdicts as weighted hints.

        If p is the probability that a verdict is correct, the weight is 2p - 1 for a pair and (4p - 1) / 3
        for a triplet. This is 1 for a certain answer, the same as for a hint without a weight, and 0
        for a random guess, which is left out. (Log odds would be the weights of a likelihood, but they are
        not bounded, and penalties are compared with distances.)

        Parameters
        ----------
        n_samples : int
            The number of rows of the data.

        Returns
        -------
        Supervision
            Must-links, cannot-links and triplets with their weights.
        """
        kept = [verdict for verdict in self.verdicts if verdict.weight > 1e-9]
        by_word = {word: [v for v in kept if v.answer is word] for word in WORDS["pair"]}
        links = [[v.question.rows for v in by_word[word]] for word in WORDS["pair"]]
        weights = [[v.weight for v in by_word[word]] for word in WORDS["pair"]]
        hints = Supervision.from_links(
            n_samples, *links, must_weights=weights[0] or None, cannot_weights=weights[1] or None
        )
        triplets = [v for v in kept if v.question.kind == "triplet"]
        if not triplets:
            return hints
        return hints | Supervision.from_triplets(
            n_samples,
            [v.question.rows for v in triplets],
            [str(v.answer) for v in triplets],
            weights=[v.weight for v in triplets],
        )

    def describe(self) -> str:
        """Return a text table of the annotators and their agreement.

        Returns
        -------
        str
            One line per annotator, and one for pairs and for triplets with shared questions.
        """
        lines = [f"{'annotator':<16}{'answers':>8}{'shared':>8}{'unsure':>8}{'right':>8}{'reliable':>10}"]
        for one in self.annotators:
            right, reliable = (f"{v:.2f}" if v is not None else "" for v in (one.accuracy, one.reliability))
            taken = "  unknown: assumed" if one.n_answers and not one.n_shared else ""
            lines.append(
                f"{one.name or '(no name)':<16}{one.n_answers:>8}{one.n_shared:>8}{one.n_unsure:>8}"
                f"{right:>8}{reliable:>10}{taken}"
            )
        for kind in WORDS:
            if (found := self.agreement(kind)).observed is not None:
                alpha = "" if found.alpha is None else f", Krippendorff's alpha {found.alpha:.2f}"
                several = f"{found.n_questions} answered by several, who agree on {found.observed:.0%}"
                lines.append(f"{kind}s: {several}{alpha}")
        return "\n".join(lines)


def _get_word(answer: Any) -> Answer:
    assert isinstance(answer, Answer)
    return answer


def _collect_statements(
    replies: Iterable[Reply],
) -> tuple[dict[str, dict[tuple[Rows, str | None], int]], dict[str | None, int]]:
    """Return the code of the last answer by question and annotator, and the number of UNSURE answers."""
    statements: dict[str, dict[tuple[Rows, str | None], int]] = {kind: {} for kind in WORDS}
    unsure: dict[str | None, int] = {}
    last: dict[tuple[object, str | None], Reply] = {}
    for reply in replies:
        if not isinstance(reply, Reply):
            raise SupervisionError(f"replies must contain Reply objects, got {reply!r}.")
        last.pop((reply.question.key, reply.annotator), None)
        last[reply.question.key, reply.annotator] = reply
    counted = list(last.values())
    for reply, stated in zip(counted, collect_relations(counted), strict=True):
        who = reply.annotator
        unsure.setdefault(who, 0)
        if reply.question.kind == "triplet" and reply.answer is not Answer.UNSURE:
            ordered = Question.triplet(*sorted(reply.question.rows))
            statements["triplet"][ordered.rows, who] = WORDS["triplet"].index(_get_word(reply.to(ordered)))
            continue
        if reply.answer is Answer.NEITHER and len(reply.question.rows) == 3:
            rows = tuple(sorted(reply.question.rows))
            statements["triplet"][rows, who] = WORDS["triplet"].index(Answer.NEITHER)
            continue
        unsure[who] += not stated and not isinstance(reply.answer, Named)
        for i, j, together in sorted((min(i, j), max(i, j), together) for i, j, together in stated):
            statements["pair"][(i, j), who] = int(not together)
    return statements, unsure


def _make_votes(
    statements: dict[tuple[Rows, str | None], int],
    questions: dict[Rows, int],
    names: tuple[str | None, ...],
    n_answers: int,
) -> AnnotatorVotes:
    who = {name: number for number, name in enumerate(names)}
    cells = np.array(
        [(questions[rows], who[name], code) for (rows, name), code in statements.items()], dtype=np.int64
    )
    question, annotator, code = cells.reshape(-1, 3).T
    return AnnotatorVotes(question, annotator, code, len(questions), len(names), n_answers)


def _format_names(annotators: list[Annotator]) -> str:
    names = [one.name or "(no name)" for one in annotators]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
