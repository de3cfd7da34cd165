"""An interview: questions out, answers in, and everything else derived from the answers."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from likewise.active import _file
from likewise.active._checks import (
    check_question,
    checked_data,
    checked_hints,
    checked_ids,
    checked_n_clusters,
    checked_strategy,
    warn_of_crowd,
    whole,
)
from likewise.active._evidence import (
    Pair,
    Suspect,
    check_errors,
    collect_votes,
    find_suspects,
    list_pairs,
    metric_due,
    weigh_annotators,
)
from likewise.active._history import (
    Contradiction,
    Event,
    contradictions_of,
    crowds_of,
    standing,
    supervision_of,
)
from likewise.active._models import Fits, check_model, default_model
from likewise.active._names import model_for, strategy_named
from likewise.active._pool import Pool
from likewise.active._pooled import Pooled
from likewise.active._questions import Answer, Key, Question, Reply, Said, keys_of
from likewise.active._state import Knowledge, State, Strategy, find_neither
from likewise.active._stopping import Outlook, outlook
from likewise.active.strategies import default_strategy
from likewise.exceptions import LikewiseError, SupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import MatrixLike
    from likewise.supervision._ids import RowIds


class Interview:
    """Asks about rows, takes the answers, and clusters the rows by them.

    The answers are the only state: hints, model, labels and the next question are derived from them, the rows
    and the seed. So asking again gives the same question until an answer comes in, and an interview that is
    saved and loaded goes on where it was.

    An answer is evidence, not a fact. By default its chance of being wrong is estimated from how well the
    rows and the other answers predict it; an answer that many others speak against counts little, and may be
    checked with another question. With ``errors=0`` answers are certain. A question whose answer follows from
    believed answers is not asked. If the number of clusters K is known, a row that belongs to none of K - 1
    groups that are all apart belongs to the last one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
        The rows.
    model : estimator, optional
        A clusterer that honours links, unfitted. By default :class:`~likewise.spectral.PropagationClustering`
        with ``learn_metric=True``.
    strategy : Strategy or str, optional
        What chooses the questions, or its name, such as "npu", which brings the model that it needs if none
        is given. By default ``UncertainRegions()`` with the default model, ``NodeUncertainty("local")`` with
        another, and ``FarthestFirst()`` without one.
    n_clusters : int, optional
        How many clusters there are. By default what the model says, or not known.
    supervision : Supervision, optional
        Hints that are known beforehand.
    ids : list of str or RowIds, optional
        The names of the rows, all different. :meth:`text` and saved files then speak of them in place of
        row numbers.
    seed : int, default=0
        Makes the interview repeatable. A model whose ``random_state`` is None is given it too.
    budget : int, optional
        The most answers that are asked for. By default until nothing is left to ask.
    discover : bool, default=False
        The number of clusters is not known; a cluster is opened whenever the answers demand one more than
        `n_clusters` (2 if that is not given).
    errors : "learn" or float, default="learn"
        How often answers are wrong: learned from the answers, a rate below 0.5, or 0 if they are certain. It
        takes effect with a model that weighs links, one with a parameter ``error_rate`` such as the default,
        whose own value it replaces. Other models take every answer as it is.
    pool : Pool, "auto" or None, default="auto"
        Of very many rows an interview looks at a pool that is chosen from them: strategy and model see these
        rows alone. By default with more than 100,000 rows, wherever they are; None looks at all rows.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row by all that is known; fitted when it is looked at, if there is news. With a
        pool the model is fitted to the pool and predicts the rows that are not in it, or they are given the
        cluster of the nearest row of the pool by a model that cannot predict: a pass over all rows.
    pool_rows : ndarray or None
        The rows of the pool, ascending: what strategy and model look at. None if they look at all.
    supervision : Supervision
        The hints given and the answers, contradictions and all.
    history : tuple of Event
        All that happened.
    contradictions : tuple of Contradiction
        Answers that cannot all be true. A model that weighs links settles them by votes; for others the
        must-links win, and of a tray with more piles than `n_clusters` some are not kept apart.
    suspects : tuple of Suspect
        Answers that look wrong, most suspicious first, each with its reasons.
    error_rate : ErrorRate or None
        The share of wrong answers: estimated, with an interval of 90 %, or the rate given as `errors`. None
        where answers are certain or there are none.
    n_asked, left : int
        How many answers count, those of UNSURE among them, and how many the budget has left (None without).
    finished : bool
        True if there is nothing more to ask.

    Notes
    -----
    Telling an answer costs nothing. The first question after it costs the closure, linear in rows and
    answers, what the strategy costs, and a fit if the strategy looks at labels. With a pool all this is
    counted in the rows of the pool; the first question costs drawing it, and a question after every
    ``pool.every`` answers a fit and a pass over all rows.

    Examples
    --------
    >>> from likewise.active import Answer, Interview, RandomPairs
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs(), seed=7)
    >>> question = interview.ask()
    >>> question == interview.ask()                        # until it is told
    True
    >>> apart = (question.rows[0] < 2) != (question.rows[1] < 2)
    >>> reply = interview.tell(question, Answer.DIFFERENT if apart else Answer.SAME, annotator="Ann")
    >>> interview.ask().key == question.key, interview.n_asked, len(interview.history)
    (False, 1, 1)
    >>> undone = interview.undo()
    >>> interview.ask() == question, interview.n_asked, len(interview.history)
    (True, 0, 2)
    """

    pool: Pool | None

    def __init__(
        self,
        X: MatrixLike,
        *,
        model: Any = None,
        strategy: Strategy | str | None = None,
        n_clusters: int | None = None,
        supervision: Supervision | None = None,
        ids: Any = None,
        seed: int = 0,
        budget: int | None = None,
        discover: bool = False,
        errors: float | Literal["learn"] = "learn",
        pool: Pool | Literal["auto"] | None = "auto",
    ) -> None:
        self.X, self.pool = checked_data(X, pool)
        self.ids: RowIds | None = checked_ids(ids, self.n_samples)
        self.seed: int = whole("seed", seed, low=0)
        self.budget: int | None = budget if budget is None else whole("budget", budget, low=0)
        if not isinstance(discover, bool | np.bool_):
            raise ValueError(f"Interview: discover must be True or False, got {discover!r}.")
        self.discover: bool = bool(discover)
        self.errors: float | str = check_errors(errors)
        self.given: Supervision = checked_hints(supervision, self.n_samples, X)
        self.n_clusters: int | None = checked_n_clusters(n_clusters, model, self.discover, self.n_samples)
        warn_of_crowd(self.given, self._n_known_clusters)
        if isinstance(strategy, str):
            if model is None and self.n_clusters is not None:
                model = model_for(strategy, self.n_clusters)
            strategy = strategy_named(strategy)
        if strategy is None:
            strategy = default_strategy(model is not None or self.n_clusters is not None, model is not None)
        self.strategy: Strategy = checked_strategy(strategy)
        self.model_is_default: bool = model is None
        if model is None and self.n_clusters is not None:
            model = default_model(self.n_clusters)
        self.model: Any | None = None if model is None else check_model(model, self.strategy, self.given)
        parameters = {} if self.model is None else self.model.get_params()
        self._weighs_errors = self.errors != 0 and "error_rate" in parameters
        self._learns_metric = bool(parameters.get("learn_metric"))
        if self.model is not None and "error_rate" in parameters:
            self.model.set_params(error_rate=self.errors)
        if self.model is None and self.strategy.needs:
            raise ValueError(
                f"Interview: the strategy {self.strategy.name!r} needs a model. Pass n_clusters, or model, "
                "or discover=True if the number of clusters is not known."
            )
        self._history: list[Event] = []
        self._cache: dict[Any, Any] = {}
        self._standing: tuple[int, tuple[Reply, ...], frozenset[Key]] | None = None  # for so many events
        self._known: tuple[int, Knowledge] | None = None
        self._found_suspects: tuple[int, tuple[Suspect, ...]] | None = None
        self._fits = Fits(self.model, self.X, self.n_clusters, self.discover, self.seed)
        # By their answers: the last two, and the one whose metric the others use.
        self._recent_fits: list[tuple[tuple[Reply, ...], tuple[Any, npt.NDArray[Any]]]] = []
        self._last: tuple[tuple[Any, ...], list[Question]] | None = None
        self._pooled = None if self.pool is None else Pooled(self, self.X, self.pool)

    def _about(self, X: npt.NDArray[Any], hints: Supervision) -> Interview:
        """Return an interview like this one about few rows."""
        alike = {
            name: getattr(self, name)
            for name in ("model", "n_clusters", "seed", "budget", "discover", "errors")
        }
        return Interview(X, strategy=self.strategy, supervision=hints, pool=None, **alike)

    def __repr__(self) -> str:
        left = "" if self.left is None else f", {self.left} left"
        return (
            f"Interview({self.n_samples} rows, strategy {self.strategy.name!r}: {self.n_asked} answers{left})"
        )

    # ------------------------------------------------------------------ asking and telling

    @overload
    def ask(
        self, n: None = None, exclude: Iterable[Question] = (), *, annotator: str | None = None
    ) -> Question | None: ...

    @overload
    def ask(
        self, n: int, exclude: Iterable[Question] = (), *, annotator: str | None = None
    ) -> list[Question]: ...

    def ask(
        self, n: int | None = None, exclude: Iterable[Question] = (), *, annotator: str | None = None
    ) -> Question | list[Question] | None:
        """Return the next question, or None if there is nothing more to ask; or a list of up to `n`.

        Parameters
        ----------
        n : int, optional
            How many different questions are wanted, for several people or a page of them. Without it the one
            question comes by itself.
        exclude : iterable of Question
            Questions that others are thinking about. They are not chosen and count against the budget.
        annotator : str, optional
            Who will answer. With several annotators, the default strategy never asks people to check their
            own answers; over a pool this is ignored.
        """
        pending = keys_of(exclude)
        wanted = 1 if n is None else whole("n", n, low=1)
        if self.left is not None:
            wanted = min(wanted, self.left - len(pending - self._told_keys()))
        key = (len(self._history), wanted, pending, self.strategy, annotator)
        if self._last is None or self._last[0] != key:
            self._last = (key, self._chosen(wanted, pending, annotator) if wanted > 0 else [])
        questions = list(self._last[1])
        if n is not None:
            return questions
        return questions[0] if questions else None

    def tell(
        self,
        question: Question,
        answer: Said | str | int | Sequence[Sequence[int]],
        *,
        annotator: str | None = None,
        time: str | datetime.datetime | None = None,
        seconds: float | None = None,
    ) -> Reply:
        """Take the answer to a question, which need not be the one asked last, nor have been asked at all.

        Parameters
        ----------
        question : Question
            What is answered.
        answer : Answer or its word, OddOne or Piles
            SAME (or yes, or True), DIFFERENT (or no, or False) or UNSURE to a pair; AB, AC, BC, NEITHER or
            UNSURE to a triplet; the odd row, SAME, NEITHER or UNSURE to an odd one out; a list of piles or
            UNSURE to a tray.
        annotator : str, optional
            Who says so.
        time : str (ISO 8601) or datetime, optional
            When.
        seconds : float, optional
            How long it took to answer.
        """
        check_question(question, self.n_samples)
        reply = Reply(question, question.fitting(answer), annotator, time, seconds)  # type: ignore[arg-type]
        self._history.append(Event("answer", question, reply))
        return reply

    def skip(self, question: Question) -> None:
        """Leave a question out: it is not asked again, says nothing and costs nothing of the budget."""
        check_question(question, self.n_samples)
        self._history.append(Event("skip", question))

    def undo(self, question: Question | None = None) -> Event:
        """Take back the last answer or skip, or the last that concerns `question`.

        The history keeps both the event and its undoing. Returned is the event that no longer counts.
        """
        wanted = None if question is None else question.key
        for at in reversed(standing(self._history)):
            event = self._history[at]
            if wanted is None or event.question.key == wanted:
                self._undo_event(at)
                return event
        which = "" if question is None else f" about rows {', '.join(map(str, question.rows))}"
        raise SupervisionError(f"there is no answer{which} to undo.")

    def _undo_event(self, at: int) -> None:
        if at not in standing(self._history):
            raise SupervisionError(f"event {at} is no answer or skip that still counts.")
        self._history.append(Event("undo", self._history[at].question, undoes=at))

    def confirm(self, question: Question) -> Reply:
        """Repeat the last answer to a question, so that it counts twice. It uses one answer of the budget."""
        for reply in reversed(self.replies):
            if reply.question.key == question.key:
                return self.tell(reply.question, reply.answer, annotator=reply.annotator)
        raise SupervisionError(
            f"there is no answer about rows {', '.join(map(str, question.rows))} to confirm. Use tell."
        )

    def text(self, question: Question) -> str:
        """Return a question in words that speak of ids, if the rows have some, and of row numbers if not.

        >>> from likewise.active import Interview, Question
        >>> Interview([[0.0], [1.0]], ids=["wren", "owl"]).text(Question.pair(0, 1))
        'Do wren and owl belong together?'
        """
        check_question(question, self.n_samples)
        return question.text if self.ids is None else question.worded(self.ids.__getitem__)

    # ------------------------------------------------------------------ what is known

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def pool_rows(self) -> npt.NDArray[np.int64] | None:
        """The rows that strategy and model look at, ascending; None for all."""
        return None if self._pooled is None else self._pooled.rows()

    @property
    def history(self) -> tuple[Event, ...]:
        """All that happened: answers, skips and undoings, in order."""
        return tuple(self._history)

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The answers that count: those that were not undone."""
        return self._counting()[0]

    @property
    def n_asked(self) -> int:
        """How many answers count, UNSURE among them."""
        return len(self.replies)

    @property
    def left(self) -> int | None:
        """How many answers the budget has left; None without a budget."""
        return None if self.budget is None else max(self.budget - self.n_asked, 0)

    @property
    def finished(self) -> bool:
        """True if there is nothing more to ask: the budget is spent, or the strategy has no question."""
        return self.ask() is None

    @property
    def supervision(self) -> Supervision:
        """The hints that were given and the answers, contradictions and all."""
        if self._pooled is not None:
            return self.given | supervision_of(self.replies, self.n_samples)
        return self._knowledge().supervision

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What was said to be apart and cannot be: by the chain that joins it, or for want of clusters."""
        if self._pooled is not None:
            return self._pooled.contradictions()
        said = self._knowledge().said
        crowds = crowds_of(said, self.replies, self._n_known_clusters)
        return contradictions_of(said, self.replies) + crowds

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Answers that look wrong, most suspicious first; empty where answers are certain."""
        if self._pooled is not None:
            return self._pooled.suspects()
        if not self._weighs_errors or not self.replies:
            return ()
        if self._found_suspects is None or self._found_suspects[0] != len(self._history):
            self._found_suspects = (len(self._history), find_suspects(self))
        return self._found_suspects[1]

    @property
    def error_rate(self) -> Any:
        """The estimated share of wrong answers, None where answers are certain or there are none."""
        if not self._weighs_errors or not self.replies:
            return None
        return self.model_.error_rate_

    @property
    def labels_(self) -> npt.NDArray[Any]:
        """The cluster of each row by all that is known so far."""
        if self._pooled is not None:
            found: npt.NDArray[Any] = self._pooled.labels()
            return found
        return self._fitted()[1]

    @property
    def model_(self) -> Any:
        """The model fitted to all that is known so far, and to the rows of the pool if there is one."""
        if self._pooled is not None:
            return self._pooled.interview().model_
        return self._fitted()[0]

    def progress(self, last: int = 10) -> Outlook:
        """Tell how far the interview has come, and whether it is worth going on.

        Costs a fit without the last answers and five without a fifth of them each, unless they were made
        before; see :class:`Outlook`.

        Parameters
        ----------
        last : int, default=10
            How many answers to look back.
        """
        last = whole("last", last, low=1)
        return outlook(self, last) if self._pooled is None else self._pooled.progress(last)

    def state(self, exclude: Iterable[Question] = ()) -> State:
        """Return what a strategy is shown now, with the questions of `exclude` as good as asked.

        With a pool it speaks of the rows of the pool, numbered from 0; see `pool_rows`.
        """
        pending = keys_of(exclude)
        return self._state(pending) if self._pooled is None else self._pooled.state(pending)

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the interview to a readable JSON file, whole or not at all.

        It holds the history, the hints that were given, the seed, the names of strategy and model, and a
        fingerprint of the rows, but not the rows. Where the rows have ids it speaks of these. Of a pool it
        holds the settings; the fingerprint is then that of 10,000 rows, drawn once.
        """
        _file.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        X: MatrixLike,
        *,
        model: Any = None,
        strategy: Strategy | str | None = None,
        ids: Any = None,
    ) -> Interview:
        """Read an interview about the same rows and go on with it: the next question is the same.

        A strategy of likewise and the default model are made anew from the file; a `model` or `strategy`
        of your own has to be given again, and so have `ids`. Another model or strategy than before may be
        given, and ids to rows that had none.
        """
        read = _file.read(path)
        return read.interview(cls, X, model=model, strategy=strategy, ids=ids)

    # ------------------------------------------------------------------ deriving

    def _knowledge(self) -> Knowledge:
        """Return what follows from all answers if they are certain."""
        if self._known is None or self._known[0] != len(self._history):
            hints = self.given | supervision_of(self.replies, self.n_samples)
            self._known = (len(self._history), Knowledge.of(hints, self._n_known_clusters))
        return self._known[1]

    def _known_by(self, replies: Sequence[Reply], weights: Sequence[float] | None = None) -> Knowledge:
        """Return what a model is fitted to, by some of the answers."""
        if self._weighs_errors:
            neither = self._find_neither(replies)
            return Knowledge.from_votes(collect_votes(self.given, replies, self.n_samples, weights), neither)
        if len(replies) == self.n_asked and replies == self.replies:
            return self._knowledge()
        hints = self.given | supervision_of(replies, self.n_samples)
        return Knowledge.of(hints, self._n_known_clusters)

    def _find_neither(self, replies: Sequence[Reply]) -> npt.NDArray[np.int64]:
        """Return the triplets answered NEITHER, which no link can hold."""
        vague = [reply for reply in replies if reply.answer is Answer.NEITHER]
        if not vague and "triplets" not in self.given.kinds:
            return np.empty((0, 3), dtype=np.int64)
        return find_neither(self.given | supervision_of(vague, self.n_samples))

    @property
    def _n_known_clusters(self) -> int | None:
        return None if self.discover else self.n_clusters

    def _fitted(self) -> tuple[Any, npt.NDArray[Any]]:
        return self._fit_to(self.replies)

    def _fit_to(self, replies: tuple[Reply, ...]) -> tuple[Any, npt.NDArray[Any]]:
        """Return the model fitted to the first answers, `replies`, and the cluster of each row.

        The metric is learned at the numbers of answers that `metric_due` gives, and reused in between.
        """
        for before, found in self._recent_fits:
            if before == replies:
                return found
        due = metric_due(len(replies)) if self._learns_metric else len(replies)
        source = None if due == len(replies) else self._fit_to(replies[:due])[0]
        found = self._fits.of(self._known_by(replies), source)
        if self._weighs_errors and len({reply.annotator for reply in replies}) > 1:
            passed = getattr(found[0], "passed_", None)
            weights = weigh_annotators(replies, getattr(passed, "evidence", None))
            if weights is not None:
                found = self._fits.of(self._known_by(replies, weights), source)
        kept = [entry for entry in self._recent_fits if len(entry[0]) == due or entry is self._recent_fits[0]]
        self._recent_fits = [(replies, found), *kept[:2]]
        return found

    def _n_looked_at(self) -> int:
        """Return how many answers the model of the strategy knows: all, or as many as are enough for it."""
        count = getattr(self.strategy, "count_answers_to_fit", None)
        return self.n_asked if count is None else count(self.n_asked)

    def _known_to_strategy(self, model: Any, n: int) -> Knowledge:
        """Return what follows from the first n answers that `model` believes, and from all later ones."""
        believed = getattr(model, "believed_", None)
        if not self._weighs_errors or believed is None:
            return self._knowledge()
        hints = believed
        if n < self.n_asked:
            hints = (hints | supervision_of(self.replies[n:], self.n_samples)).without_conflicts()
        neither = self._find_neither(self.replies[:n])
        if len(neither):
            hints = hints | Supervision.from_triplets(self.n_samples, neither, "NEITHER")
        return Knowledge.of(hints, self._n_known_clusters)

    def _list_own_pairs(self, annotator: str | None) -> frozenset[Pair]:
        """Return the pairs that this annotator answered; none with fewer than two annotators."""
        if annotator is None or len({reply.annotator for reply in self.replies}) < 2:
            return frozenset()
        own = [reply for reply in self.replies if reply.annotator == annotator]
        return frozenset(pair for reply in own for pair, _ in list_pairs(reply))

    def _state(self, pending: frozenset[Any], annotator: str | None = None) -> State:
        n = self._n_looked_at()
        model, labels = self._fit_to(self.replies[:n]) if self.strategy.needs else (None, None)
        known = self._known_to_strategy(model, n)
        return State(
            X=self.X,
            supervision=known.supervision,
            closure=known.closure,
            n_clusters=self._n_known_clusters,
            model=model,
            labels=labels,
            asked=pending | self._told_keys(),
            seed=self.seed,
            cache=self._cache,
            n_answers=self.n_asked,
            own_pairs=self._list_own_pairs(annotator),
        )

    def _events(self) -> list[Event]:
        """Return the events that count."""
        return [self._history[at] for at in standing(self._history)]

    def _hold(self, history: list[Event]) -> None:
        """Let this be all that happened. Fits and caches stay, since they go by what is known."""
        if history != self._history:
            self._history = history
            # These are kept by the length of the history.
            self._standing = self._known = self._last = self._found_suspects = None

    def _told_keys(self) -> frozenset[Key]:
        return self._counting()[1]

    def _counting(self) -> tuple[tuple[Reply, ...], frozenset[Key]]:
        """Return the replies that count, and the keys of the questions that were answered or skipped."""
        if self._standing is None or self._standing[0] != len(self._history):
            events = self._events()
            replies = tuple(event.reply for event in events if event.reply is not None)
            keys = frozenset(event.question.key for event in events)
            self._standing = (len(self._history), replies, keys)
        return self._standing[1:]

    def _chosen(self, n: int, pending: frozenset[Any], annotator: str | None = None) -> list[Question]:
        if self._pooled is not None:
            return self._pooled.chosen(n, pending)
        state = self._state(pending, annotator)
        questions = self.strategy.choose(state, n)
        wrong = [question for question in questions if not state.can_ask(question)]
        if wrong or len(keys_of(questions)) < len(questions) or len(questions) > n:
            raise LikewiseError(
                f"the strategy {self.strategy.name!r} chose {wrong or questions} where at most {n} different "
                "questions that can be asked were wanted. This is an error of the strategy."
            )
        return questions
