"""The class `Interview`: it asks questions, records the answers, and derives its state from the history."""

from __future__ import annotations

import copy
import datetime
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from likewise._event_log import EventLog
from likewise._parts import get_part
from likewise.active import saved_interview
from likewise.active._evidence import (
    Contradiction,
    Event,
    Pair,
    Suspect,
    build_supervision,
    collect_votes,
    find_contradictions,
    find_first_rows,
    find_hinted_names,
    find_suspects,
    find_too_many_groups,
    get_metric_answers,
    list_all_pairs,
    weigh_annotators,
)
from likewise.active._extension import (
    Extension,
    Placements,
    carry_labels,
    check_new_rows,
    find_answered_rows,
    place_rows,
)
from likewise.active._fitting import (
    FitCache,
    check_errors,
    check_integer,
    check_model,
    check_n_clusters,
    warn_of_too_few_clusters,
)
from likewise.active._group_answers import (
    AnswerLog,
    RowNeighborhoods,
    list_names_of_hints,
    list_relations_of_hints,
)
from likewise.active._group_model import GroupClustering, find_group_suspects, weigh_answers
from likewise.active._pool import Pool, check_data
from likewise.active._pooled_interview import PooledInterview
from likewise.active._questions import (
    SECONDS_PER_KIND,
    Answer,
    AnswerValue,
    Key,
    Question,
    Reply,
    check_question,
    get_keys,
)
from likewise.active._state import (
    InterviewState,
    Knowledge,
    RepliesState,
    Strategy,
    check_hints,
    check_ids,
    check_rows,
    check_strategy,
    find_neither,
)
from likewise.active._stopping import Outlook, compute_outlook
from likewise.active.strategies import make_default_strategy, make_model, make_strategy
from likewise.exceptions import LikewiseError, SupervisionError
from likewise.supervision import Supervision

if TYPE_CHECKING:
    from likewise._typing import MatrixLike
    from likewise.tables import RowIds

_WeightedReplies = tuple[tuple[Reply, ...], tuple[float, ...]]
T = TypeVar("T")
_PRIOR_ANSWERS = 10  # the assumed seconds of an answer count as much as this many measured ones
_LONGEST_ANSWER = 10  # longer answers, in multiples of the assumed seconds, count as this long


class Interview:
    """Asks questions about rows, records the answers, and clusters the rows accordingly.

    The history (answers, skips, undos) is the only state: hints, model, labels and the next question are
    derived from it, the rows and the seed. Asking again therefore returns the same question until an answer
    is recorded, and an interview that is saved and loaded continues where it stopped.

    An answer is evidence, not a fact. By default, the probability that it is wrong is estimated from how well
    the rows and the other answers predict it. An answer that many others contradict has little weight, and
    may be checked with another question. With ``errors=0`` all answers are taken as correct. A question is
    not asked if its answer follows from answers that the model believes. If the number of clusters K is known
    and K - 1 groups are known to be different, a row that belongs to none of them belongs to the last
    cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
        The rows.
    model : estimator, optional
        An unfitted clusterer that supports links. By default
        :class:`~likewise.spectral.PropagationClustering` with ``learn_metric=True``, and
        :class:`~likewise.active.GroupClustering` with the strategy "groups".
    strategy : Strategy or str, optional
        The strategy that selects the questions, or its name, such as "npu". A name also sets the model that
        the strategy needs, unless `model` is given. By default ``NodeUncertainty("local")`` if `model` is
        given, ``GroupQuestions()`` if there are more than 30 clusters or their number is unknown, and
        ``UncertainRegions()`` otherwise.
    n_clusters : int or (int, int), optional
        The number of clusters, or the smallest and largest number that it may be, for the strategy "groups".
        By default `n_clusters` of the model; unknown without a model. Then the rows start in an estimated
        number of groups, which the answers change.
    supervision : Supervision, optional
        Hints that are known before the interview.
    ids : list of str or RowIds, optional
        Unique names of the rows. :meth:`text` and saved files use them instead of row numbers.
    random_state : int, default=0
        Seed of the interview. It is also passed to a model whose ``random_state`` is None.
    budget : int, optional
        Maximum number of answers. By default questions are asked until there is nothing left to ask.
    discover : bool, default=False
        Whether the number of clusters is unknown. If True, the interview starts with `n_clusters` clusters
        (2 by default) and adds one whenever the answers require it.
    errors : "learn" or float, default="learn"
        The proportion of wrong answers: "learn" estimates it from the answers; otherwise a rate below 0.5, or
        0 if all answers are correct. It applies to models with a parameter ``error_rate``, such as the
        default, and replaces the value of that parameter. Other models take every answer as correct.
    pool : Pool, "auto" or None, default="auto"
        The pool of rows that strategy and model see if there are very many rows. "auto" uses ``Pool()`` for
        more than 100,000 rows and all rows otherwise; None always uses all rows.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, given the hints and all answers. The model is fitted on access if there are
        new answers. With a pool, the model is fitted to the pool and predicts the clusters of the other rows
        in one pass; if it cannot predict, they get the cluster of the nearest row of the pool.
    pool_rows : ndarray or None
        The rows of the pool, ascending. None if strategy and model see all rows.
    supervision : Supervision
        The hints and the answers, including contradictions.
    history : tuple of Event
        All answers, skips and undos in order.
    contradictions : tuple of Contradiction
        Answers that cannot all be true. A model that weights links resolves them by the weights. For other
        models, must-links take precedence, and if a tray has more piles than `n_clusters`, some piles share a
        cluster.
    suspects : tuple of Suspect
        Answers that look wrong, most suspicious first, each with its reasons.
    error_rate : ErrorRate or None
        The proportion of wrong answers: an estimate with a 90 % interval, or the rate given as `errors`. None
        if answers are taken as correct or if there are none.
    n_clusters, cluster_range : int or None, (int, int) or None
        The number of clusters, or the range that was given instead.
    n_answers, left : int
        The number of answers, including UNSURE, and the number left in the budget (None without a budget).
    finished : bool
        Whether there is nothing left to ask.

    Notes
    -----
    Recording an answer takes almost no time. Choosing the next question takes the time of the closure, which
    is linear in rows and answers, of the selection by the strategy, and of a fit if the strategy needs the
    model. With a pool, these times depend on the size of the pool. Drawing the pool is part of the first
    question, and after every ``pool.every`` answers a question also takes a fit and a pass over all rows.

    Examples
    --------
    >>> from likewise.active import Answer, Interview, RandomPairs
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> interview = Interview(X, n_clusters=2, strategy=RandomPairs(), random_state=7)
    >>> question = interview.ask()
    >>> question == interview.ask()                        # until it is answered
    True
    >>> apart = (question.rows[0] < 2) != (question.rows[1] < 2)
    >>> reply = interview.tell(question, Answer.DIFFERENT if apart else Answer.SAME, annotator="Ann")
    >>> interview.ask().key == question.key, interview.n_answers, len(interview.history)
    (False, 1, 1)
    >>> undone = interview.undo()
    >>> interview.ask() == question, interview.n_answers, len(interview.history)
    (True, 0, 2)
    """

    pool: Pool | None

    def __init__(
        self,
        X: MatrixLike,
        *,
        model: Any = None,
        strategy: Strategy | str | None = None,
        n_clusters: int | tuple[int, int] | None = None,
        supervision: Supervision | None = None,
        ids: Any = None,
        random_state: int = 0,
        budget: int | None = None,
        discover: bool = False,
        errors: float | Literal["learn"] = "learn",
        pool: Pool | Literal["auto"] | None = "auto",
    ) -> None:
        self.X, self.pool = check_data(X, pool)
        self.ids: RowIds | None = check_ids(ids, self.n_samples)
        self.random_state: int = check_integer("random_state", random_state, low=0)
        self.budget: int | None = budget if budget is None else check_integer("budget", budget, low=0)
        if not isinstance(discover, bool | np.bool_):
            raise ValueError(f"Interview: discover must be True or False, got {discover!r}.")
        self.discover: bool = bool(discover)
        self.errors: float | str = check_errors(errors)
        self.given: Supervision = check_hints(supervision, self.n_samples, X)
        self._first_rows: Mapping[str, int] = find_hinted_names(self.given)  # of each name in the hints
        self.n_clusters: int | None
        self.cluster_range: tuple[int, int] | None
        self.n_clusters, self.cluster_range = check_n_clusters(
            n_clusters, model, self.discover, self.n_samples
        )
        warn_of_too_few_clusters(self.given, self._n_known_clusters)
        if isinstance(strategy, str):
            if model is None and self.n_clusters is not None:
                model = make_model(strategy, self.n_clusters)
            strategy = make_strategy(strategy)
        if strategy is None:
            strategy = make_default_strategy(self.n_clusters, model is not None)
        self.strategy: Strategy = check_strategy(strategy)
        self.model_is_default: bool = model is None
        if model is None and "groups" in self.strategy.needs:
            model = GroupClustering(self.cluster_range or self._n_known_clusters)
        elif model is None and self.n_clusters is not None:
            model = get_part("default model")(n_clusters=self.n_clusters, learn_metric=True)
        self.model: Any | None = None if model is None else check_model(model, self.strategy, self.given)
        parameters = {} if self.model is None else self.model.get_params()
        self._weighs_errors = self.errors != 0 and "error_rate" in parameters
        self._learns_metric = bool(parameters.get("learn_metric"))
        if self.model is not None and "error_rate" in parameters:
            self.model.set_params(error_rate=self.errors)
        if self.cluster_range is not None and not isinstance(self.model, GroupClustering):
            raise ValueError(
                f"Interview: n_clusters={self.cluster_range} is a range, which the strategy "
                f"{self.strategy.name!r} cannot use. Pass a single number, or strategy='groups' without a "
                "model."
            )
        if self.model is None and self.strategy.needs:
            raise ValueError(
                f"Interview: the strategy {self.strategy.name!r} needs a model. Pass n_clusters, or model, "
                "or discover=True if the number of clusters is unknown."
            )
        self._log: EventLog[Event] = EventLog()
        self._weights: Mapping[Key, float] = {}  # weights other than 1, by the key of the question
        self._extension: Extension | None = None  # if rows were added
        self._forget_fits()
        self._pooled = None if self.pool is None else PooledInterview(self, self.X, self.pool)

    def _forget_fits(self) -> None:
        """Start without fits, for other rows than before."""
        # Cache of values derived from `_log` and `_weights`; cleared when either changes.
        self._derived: dict[str, Any] = {}
        self._cache: dict[Any, Any] = {}
        self._fits = FitCache(self.model, self.X, self.n_clusters, self.discover, self.random_state)
        # Fits with the answers and weights that they used: the last two, and the one whose metric they reuse.
        self._recent_fits: list[tuple[_WeightedReplies, tuple[Any, npt.NDArray[Any] | None]]] = []
        self._answer_log: AnswerLog | None = None  # for a model that is fitted to replies
        self._base_labels: npt.NDArray[Any] | None = None  # of the model, when rows were added last

    def _restrict(self, X: npt.NDArray[Any], hints: Supervision) -> Interview:
        """Return an interview with the same settings about the rows of a pool."""
        alike = {
            name: getattr(self, name)
            for name in ("model", "n_clusters", "random_state", "budget", "discover", "errors")
        }
        alike["n_clusters"] = self.cluster_range or self.n_clusters
        return Interview(X, strategy=self.strategy, supervision=hints, pool=None, **alike)

    def __repr__(self) -> str:
        left = "" if self.left is None else f", {self.left} left"
        strategy = repr(self.strategy.name)
        return f"Interview({self.n_samples} rows, strategy {strategy}: {self.n_answers} answers{left})"

    # ------------------------------------------------------------------ questions and answers

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
        """Return the next question, or a list of questions.

        Parameters
        ----------
        n : int, optional
            Maximum number of questions, for several people or for a page of questions. By default a single
            question is returned instead of a list.
        exclude : iterable of Question, default=()
            Questions that other people are answering now. They are not selected and count towards the budget.
        annotator : str, optional
            The person who will answer. With several annotators, the default strategy does not ask people to
            check their own answers. Ignored if there is a pool.

        Returns
        -------
        Question, list of Question or None
            The next question, or None if there is nothing left to ask. If `n` is given, a list of at most `n`
            different questions.
        """
        pending = get_keys(exclude)
        wanted = 1 if n is None else check_integer("n", n, low=1)
        if self.left is not None:
            wanted = min(wanted, self.left - len(pending - self._get_answered_keys()))
        key = (wanted, pending, self.strategy, annotator)
        last = self._derived.get("questions")
        if last is None or last[0] != key:
            last = (key, self._choose(wanted, pending, annotator) if wanted > 0 else [])
            self._derived["questions"] = last
        questions: list[Question] = list(last[1])
        if n is not None:
            return questions
        return questions[0] if questions else None

    def tell(
        self,
        question: Question,
        answer: AnswerValue | str | int | Sequence[int] | Sequence[Sequence[int]],
        *,
        annotator: str | None = None,
        time: str | datetime.datetime | None = None,
        seconds: float | None = None,
    ) -> Reply:
        """Record the answer to a question. The question need not have been asked by this interview.

        Parameters
        ----------
        question : Question
            The question that is answered.
        answer : Answer, OddOne, Piles, InGroup, Unlike, Named, str, bool, int or list
            For a pair or two groups: SAME (or yes, or True), DIFFERENT (or no, or False) or UNSURE. For a
            triplet: AB, AC, BC, NEITHER or UNSURE. For an odd one out: the odd row, SAME, NEITHER or UNSURE.
            For a tray: a list of piles or UNSURE. For a placement: the reference row of a group, NEW or
            UNSURE. For members: a list of the rows that do not belong, SAME or UNSURE. For a label question:
            a name or UNSURE.
        annotator : str, optional
            The name of the person who answered.
        time : str or datetime, optional
            The time of the answer; a string in ISO 8601 format.
        seconds : float, optional
            The number of seconds that the answer took.

        Returns
        -------
        Reply
            The recorded answer.
        """
        check_question(question, self.n_samples)
        reply = Reply(question, question.check_answer(answer), annotator, time, seconds)  # type: ignore[arg-type]
        self._record(Event("answer", question, reply))
        return reply

    def skip(self, question: Question) -> None:
        """Skip a question: it is not asked again, adds no hint and does not count towards the budget.

        Parameters
        ----------
        question : Question
            The question to skip.
        """
        check_question(question, self.n_samples)
        self._record(Event("skip", question))

    def _record(self, event: Event) -> None:
        self._log.add([(len(self._log), event)])
        kept = {}
        if event.kind != "undo":  # these only grow, so a long history costs no more than a short one
            if "replies" in self._derived:
                kept["replies"] = self._derived["replies"] + (() if event.reply is None else (event.reply,))
            if "answered" in self._derived:
                kept["answered"] = self._derived["answered"] | {event.question.key}
            if "names" in self._derived and event.question.kind != "label":
                kept["names"] = self._derived["names"]
            if "seconds" in self._derived and (event.reply is None or event.reply.seconds is None):
                kept["seconds"] = self._derived["seconds"]
        self._derived = kept

    def replace(
        self,
        replies: Sequence[Reply],
        skipped: Iterable[Question] = (),
        *,
        weights: Sequence[float] | None = None,
    ) -> None:
        """Replace the history by these answers and skipped questions.

        For a program that combines the answers of several people, where a new answer may change earlier ones.
        Fits are kept, because they are keyed by the answers that they used.

        Parameters
        ----------
        replies : sequence of Reply
            All answers, in order.
        skipped : iterable of Question, default=()
            The questions that are not asked again.
        weights : sequence of float, optional
            How many times each answer counts. By default once. Models that take answers as correct ignore
            the weights.

        Examples
        --------
        >>> from likewise.active import Interview, Question, Reply
        >>> interview = Interview([[0.0], [0.1], [5.0]], n_clusters=2)
        >>> interview.replace([Reply(Question.pair(0, 1), "SAME")], weights=[2.0])
        >>> interview.n_answers, len(interview.history)
        (1, 1)
        """
        events = [Event("answer", reply.question, reply) for reply in replies]
        events += [Event("skip", question) for question in skipped]
        for event in events:
            check_question(event.question, self.n_samples)
        given = () if weights is None else zip(replies, weights, strict=True)
        self._hold(events, {reply.question.key: weight for reply, weight in given if weight != 1})

    def _hold(self, history: Iterable[Event], weights: Mapping[Key, float] | None = None) -> None:
        events, factors = tuple(history), weights or {}
        if events != self.history or factors != self._weights:
            self._log, self._weights, self._derived = EventLog(enumerate(events)), factors, {}

    def branch(self) -> Interview:
        """Return an interview about the same rows with the same settings, without answers.

        The two share the fits and the sample of the pool, which saves time if they get similar answers.

        Returns
        -------
        Interview
            The new interview.

        Examples
        --------
        >>> from likewise.active import Interview, Question
        >>> interview = Interview([[0.0], [0.1], [5.0]], n_clusters=2)
        >>> reply = interview.tell(Question.pair(0, 1), "SAME")
        >>> interview.branch().n_answers, interview.n_answers
        (0, 1)
        """
        other = copy.copy(self)
        other._log, other._weights, other._derived, other._cache = EventLog(), {}, {}, {}
        other._recent_fits = []
        if self._pooled is not None:
            other._pooled = self._pooled.branch(other)
        return other

    def undo(self, question: Question | None = None) -> Event:
        """Undo the last answer or skip. The history keeps both the event and the undo.

        Parameters
        ----------
        question : Question, optional
            Undo the last answer or skip of this question. By default the last of all.

        Returns
        -------
        Event
            The event that no longer counts.
        """
        wanted = None if question is None else question.key
        for at in reversed(self._log.find_not_undone("answer", "skip")):
            event = self._log[at]
            if wanted is None or event.question.key == wanted:
                self._undo_event(at)
                return event
        which = "" if question is None else f" about rows {', '.join(map(str, question.rows))}"
        raise SupervisionError(f"there is no answer{which} to undo.")

    def _undo_event(self, at: int) -> None:
        if at not in self._log.find_not_undone("answer", "skip"):
            raise SupervisionError(f"event {at} is not an answer or skip that still counts.")
        self._record(Event("undo", self._log[at].question, undoes=at))

    def confirm(self, question: Question) -> Reply:
        """Record the last answer to a question once more, as a further vote for it.

        It has no effect on models that take answers as correct. This uses one answer of the budget.

        Parameters
        ----------
        question : Question
            A question that was answered before.

        Returns
        -------
        Reply
            The new answer.
        """
        for reply in reversed(self.replies):
            if reply.question.key == question.key:
                return self.tell(reply.question, reply.answer, annotator=reply.annotator)
        raise SupervisionError(
            f"there is no answer about rows {', '.join(map(str, question.rows))} to confirm. Use tell."
        )

    def text(self, question: Question) -> str:
        """Return the text of a question, with ids if the rows have them and row numbers otherwise.

        Parameters
        ----------
        question : Question
            A question about rows of this interview.

        Returns
        -------
        str
            The question as a sentence.

        Examples
        --------
        >>> from likewise.active import Interview, Question
        >>> Interview([[0.0], [1.0]], ids=["wren", "owl"]).text(Question.pair(0, 1))
        'Do wren and owl belong together?'
        """
        check_question(question, self.n_samples)
        return question.text if self.ids is None else question.to_text(self.ids.__getitem__)

    # ------------------------------------------------------------------ more rows

    def extend(self, X_new: MatrixLike, *, ids: Any = None) -> Placements:
        """Add rows. Old rows keep their numbers, answers and clusters, and new rows are placed among them.

        The model is fitted to all rows, but an old row changes its cluster only if an answer moves it: an
        answer about the row itself, or one that makes the model choose another cluster than it chose with the
        answers of this moment. Clusters keep their numbers; clusters that only appear now get unused ones, so
        numbers may have gaps. With a number of clusters that is given, new rows never open another one.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_features)
            The new rows, with the same features: pass them through the transformer that was fitted to the old
            rows. :class:`GroupClustering` subtracts the mean of the rows that the interview began with.
        ids : list of str or RowIds, optional
            Unique names of the new rows, required if the old rows have ids.

        Returns
        -------
        Placements
            The cluster and its probability for each new row, and the rows that fit nowhere.

        Notes
        -----
        This costs a fit to the old rows, if there is none for the last answer, and one to all rows. With a
        pool, rows cannot be added.

        Examples
        --------
        >>> from likewise.active import Interview, Question
        >>> interview = Interview([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], n_clusters=2)
        >>> reply = interview.tell(Question.pair(0, 3), "DIFFERENT")
        >>> before = interview.labels_
        >>> placed = interview.extend([[5.3], [90.0]])
        >>> bool((interview.labels_[:6] == before).all()), bool(placed.labels[0] == before[3])
        (True, True)
        >>> placed.rows.tolist(), placed.unplaced.tolist()
        ([6, 7], [7])
        """
        if self._pooled is not None:
            raise LikewiseError(
                "Interview: rows cannot be added to an interview with a pool. Pass pool=None, which uses all "
                "rows, or start another interview about all rows and pass it the answers with replace()."
            )
        X = check_new_rows(self.X, check_rows(X_new))
        if (ids is None) != (self.ids is None):
            raise SupervisionError(
                "Interview: the old rows have ids. Pass ids for the new ones."
                if ids is None
                else "Interview: the old rows have no ids, so the new ones cannot have any. Leave ids out."
            )
        names = self.ids if self.ids is None else check_ids([*self.ids.ids, *ids], len(X))
        sizes = (*(self._extension.sizes if self._extension is not None else ()), self.n_samples)
        labels = None if self.model is None else np.asarray(self.labels_)
        self.X, self.ids, self.given = X, names, self.given.extend(len(X))
        self._extension = Extension(sizes, labels, self.history)
        self._forget_fits()
        return self.placements

    @property
    def placements(self) -> Placements:
        """Where the rows of the last :meth:`extend` belong, given all answers."""
        if self._extension is None:
            raise LikewiseError("Interview: no rows were added. Add some with extend(X_new).")
        n_old = self._extension.sizes[-1]
        if self.model is None:
            raise LikewiseError("Interview: there is no model to place rows. Pass n_clusters, or model.")
        return self._derive("placements", lambda: place_rows(self, n_old))

    # ------------------------------------------------------------------ results

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.X)

    @property
    def pool_rows(self) -> npt.NDArray[np.int64] | None:
        """The rows of the pool, ascending; None if strategy and model see all rows."""
        return None if self._pooled is None else self._pooled.get_rows()

    @property
    def history(self) -> tuple[Event, ...]:
        """All answers, skips and undos in order."""
        return self._log.get_events()

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The answers that were not undone, in order."""
        return self._derive(
            "replies", lambda: tuple(e.reply for e in self._get_current_events() if e.reply is not None)
        )

    @property
    def n_answers(self) -> int:
        """The number of answers that were not undone, including UNSURE."""
        return len(self.replies)

    @property
    def left(self) -> int | None:
        """The number of answers left in the budget; None without a budget."""
        return None if self.budget is None else max(self.budget - self.n_answers, 0)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask: the budget is spent, or the strategy has no question."""
        return self.ask() is None

    @property
    def names(self) -> dict[str, int]:
        """The first row of each name, in the hints and then in the answers to label questions.

        Examples
        --------
        >>> from likewise.active import Interview, Question
        >>> interview = Interview([[0.0], [0.1], [5.0]])
        >>> for row, name in enumerate(["wren", "wren", "owl"]):
        ...     reply = interview.tell(Question.label(row), name)
        >>> interview.names, interview.supervision.must.tolist(), interview.supervision.cannot.tolist()
        ({'wren': 0, 'owl': 2}, [[0, 1]], [[0, 2]])
        """
        return dict(self._derive("names", lambda: find_first_rows(self.replies, self._first_rows)))

    @property
    def seconds_per_kind(self) -> dict[str, float]:
        """The seconds that an answer takes, by the kind of question.

        The mean over the answers in the history that state their seconds, including those that were undone,
        and ten answers of an assumed length: 2.5 s for a pair, 4 s for a triplet, an odd one out, members
        and two groups, 5 s for a placement, 6 s for a label and 8 s for a tray. An answer that took more
        than ten times the assumed length, such as after a break, counts as ten times that length.
        """
        return dict(self._derive("seconds", self._measure_seconds))

    def _measure_seconds(self) -> dict[str, float]:
        totals = {kind: _PRIOR_ANSWERS * seconds for kind, seconds in SECONDS_PER_KIND.items()}
        counts = dict.fromkeys(totals, _PRIOR_ANSWERS)
        for event in self.history:
            if event.reply is not None and event.reply.seconds is not None:
                kind = event.question.kind
                totals[kind] += min(event.reply.seconds, _LONGEST_ANSWER * SECONDS_PER_KIND[kind])
                counts[kind] += 1
        return {kind: total / counts[kind] for kind, total in totals.items()}

    @property
    def supervision(self) -> Supervision:
        """The hints and the answers, including contradictions."""
        if self._pooled is not None:
            return self.given | build_supervision(self.replies, self.n_samples, self._first_rows)
        return self._get_knowledge().supervision

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Answers that cannot all be true, because of other answers or the number of clusters."""
        if self._pooled is not None:
            return self._pooled.find_contradictions()
        stated = self._get_knowledge().stated
        first = self._first_rows
        too_many = find_too_many_groups(stated, self.replies, self._n_known_clusters, first)
        return find_contradictions(stated, self.replies, first) + too_many

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Answers that look wrong, most suspicious first; empty if answers are taken as correct."""
        if self._pooled is not None:
            return self._pooled.find_suspects()
        if not self._weighs_errors or not self.replies:
            return ()
        return self._derive("suspects", self._find_suspects)

    def _find_suspects(self) -> tuple[Suspect, ...]:
        if not isinstance(self.model, GroupClustering):
            return find_suspects(self)
        model = self.model_
        if model.groups_ is None:
            return ()
        return find_group_suspects(model.groups_, model.log_.neighborhoods, self.replies)

    @property
    def error_rate(self) -> Any:
        """The estimated proportion of wrong answers; None if all count as correct, or before it is known."""
        if not self._weighs_errors or not self.replies:
            return None
        return self.model_.error_rate_

    @property
    def labels_(self) -> npt.NDArray[Any]:
        """The cluster of each row, given the hints and all answers."""
        if self._pooled is not None:
            return self._pooled.predict_labels()
        return self._get_labels(self.replies)

    def _get_labels(self, replies: tuple[Reply, ...]) -> npt.NDArray[Any]:
        """Return the cluster of each row, given the first answers, `replies`."""
        return self._carry(self._get_model_labels(replies), replies)

    def _get_model_labels(self, replies: tuple[Reply, ...]) -> npt.NDArray[Any]:
        model, labels = self._fit_to(replies)
        return model.labels_ if labels is None else labels

    def _carry(self, labels: npt.NDArray[Any], replies: Sequence[Reply]) -> npt.NDArray[Any]:
        """Return labels of the model, in which rows older than the last addition keep their cluster."""
        added = self._extension
        if added is None or added.labels is None:
            return labels
        then = tuple(e.reply for e in EventLog(enumerate(added.events)).get_not_undone("answer") if e.reply)
        if self._base_labels is None:
            self._base_labels = self._get_model_labels(then)
        return carry_labels(added.labels, self._base_labels, labels, find_answered_rows(then, replies))

    def labels_after(self, n_answers: int) -> npt.NDArray[Any]:
        """Return the cluster of each row, given the hints and the first answers.

        Parameters
        ----------
        n_answers : int
            The number of answers.

        Returns
        -------
        ndarray of shape (n_samples,)
            The clusters. Without a pool, the metric is learned anew from these answers. `labels_` may reuse a
            metric learned from fewer answers, so ``labels_after(n_answers)`` can differ from it.
        """
        n = check_integer("n_answers", n_answers, low=0)
        if self._pooled is not None:
            other = self.branch()
            other._hold([Event("answer", reply.question, reply) for reply in self.replies[:n]], self._weights)
            return other.labels_
        return self._fit_labels(self.replies[:n], None)

    @property
    def model_(self) -> Any:
        """The model fitted to the hints and all answers, on the rows of the pool if there is one."""
        if self._pooled is not None:
            return self._pooled.get_interview().model_
        return self._fit_to(self.replies)[0]

    def progress(self, last: int = 10) -> Outlook:
        """Estimate how far the interview has come and whether more questions are worthwhile.

        This costs one fit without the last answers and five fits for cross-validation, unless these fits
        exist already; see :class:`Outlook`.

        Parameters
        ----------
        last : int, default=10
            The number of most recent answers whose effect is measured.

        Returns
        -------
        Outlook
            What the last answers changed, how well answers are predicted, and advice.
        """
        last = check_integer("last", last, low=1)
        return compute_outlook(self, last) if self._pooled is None else self._pooled.compute_progress(last)

    def state(self, exclude: Iterable[Question] = ()) -> InterviewState:
        """Return the state that a strategy selects the next question from.

        Parameters
        ----------
        exclude : iterable of Question, default=()
            Questions that must not be selected, in addition to those that were answered or skipped.

        Returns
        -------
        InterviewState
            The rows, the hints and answers, and the fitted model. With a pool, these are the rows of the
            pool, numbered from 0; see `pool_rows`.
        """
        pending = get_keys(exclude)
        return self._make_state(pending) if self._pooled is None else self._pooled.make_state(pending)

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the interview to a readable JSON file. An existing file is replaced only if writing succeeds.

        The file contains the history, the hints, the seed, the names of strategy and model, and a fingerprint
        of the rows, but not the rows. It uses ids if the rows have them. With a pool, it contains the
        settings of the pool, and the fingerprint of a fixed sample of 10,000 rows.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        saved_interview.save(self, path)

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
        """Read an interview from a file and continue it. The next question is the same as before.

        The strategies of likewise and the default model are restored from the file. Pass any other model or
        strategy again, and also `ids`. You may pass another model or strategy than before, and ids for rows
        that had none.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`save` wrote.
        X : array-like of shape (n_samples, n_features), numpy.memmap, MemmapRows or ParquetRows
            The same rows as before. Other rows are refused.
        model : estimator, optional
            The model. By default the model of the file, if it was the default model.
        strategy : Strategy or str, optional
            The strategy. By default the strategy of the file, if it is a strategy of likewise.
        ids : list of str or RowIds, optional
            Unique names of the rows, required if the rows had ids when the interview was saved.

        Returns
        -------
        Interview
            The interview with its history.
        """
        read = saved_interview.read(path)
        return read.restore(cls, X, model=model, strategy=strategy, ids=ids)

    # ------------------------------------------------------------------ derived state

    def _derive(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value that follows from the events. It is computed once, until the events change."""
        if name not in self._derived:
            self._derived[name] = compute()
        found: T = self._derived[name]
        return found

    def _get_knowledge(self) -> Knowledge:
        """Return the hints and answers with what they imply, treating every answer as correct."""
        return self._derive("knowledge", lambda: self._make_knowledge(self.replies))

    def _make_knowledge(self, replies: Sequence[Reply]) -> Knowledge:
        hints = self.given | build_supervision(replies, self.n_samples, self._first_rows)
        return Knowledge.from_supervision(hints, self._n_known_clusters)

    def _derive_knowledge(
        self, replies: Sequence[Reply], weights: Sequence[float] | None = None
    ) -> Knowledge:
        """Return the knowledge that a model is fitted to, given some of the answers."""
        if self._weighs_errors:
            if self._weights:
                base = [1.0] * len(replies) if weights is None else weights
                factors = self._get_weights(replies)
                weights = [weight * factor for weight, factor in zip(base, factors, strict=True)]
            neither = self._find_neither(replies)
            votes = collect_votes(self.given, replies, self.n_samples, weights, self._first_rows)
            return Knowledge.from_votes(votes, neither)
        if len(replies) == self.n_answers and replies == self.replies:
            return self._get_knowledge()
        return self._make_knowledge(replies)

    def _get_weights(self, replies: Sequence[Reply]) -> tuple[float, ...]:
        """Return how many times each answer counts; an empty tuple if all count once."""
        return tuple(self._weights.get(reply.question.key, 1.0) for reply in replies) if self._weights else ()

    def _find_neither(self, replies: Sequence[Reply]) -> npt.NDArray[np.int64]:
        """Return the triplets with the answer NEITHER, in the hints and in `replies`.

        Links cannot express them.
        """
        vague = [reply for reply in replies if reply.answer is Answer.NEITHER]
        if not vague and "triplets" not in self.given.kinds:
            return np.empty((0, 3), dtype=np.int64)
        return find_neither(self.given | build_supervision(vague, self.n_samples))

    @property
    def _n_known_clusters(self) -> int | None:
        return None if self.discover else self.n_clusters

    def _fit_to(self, replies: tuple[Reply, ...]) -> tuple[Any, npt.NDArray[Any] | None]:
        """Return the model fitted to the first answers, `replies`, and the cluster of each row.

        The clusters are None if the model computes them when they are first read.

        The metric is learned at the numbers of answers that `get_metric_answers` returns, and reused in
        between.
        """
        used = (replies, self._get_weights(replies))
        for before, kept_fit in self._recent_fits:
            if before == used:
                return kept_fit
        due = get_metric_answers(len(replies)) if self._learns_metric else len(replies)
        source = None if due == len(replies) else self._fit_to(replies[:due])[0]
        found: tuple[Any, npt.NDArray[Any] | None]
        if isinstance(self.model, GroupClustering):
            found = self._fit_groups(replies, source), None
        else:
            found = self._fits.get(self._derive_knowledge(replies), source)
        if found[1] is not None and self._weighs_errors and len({reply.annotator for reply in replies}) > 1:
            passed = getattr(found[0], "propagation_", None)
            weights = weigh_annotators(replies, getattr(passed, "evidence", None), self._first_rows)
            if weights is not None:
                found = self._fits.get(self._derive_knowledge(replies, weights), source)
        recent = self._recent_fits
        kept = [entry for entry in recent if len(entry[0][0]) == due or entry is recent[0]]
        self._recent_fits = [(used, found), *kept[:2]]
        return found

    def _fit_groups(self, replies: tuple[Reply, ...], source: Any = None, *, alone: bool = False) -> Any:
        """Return the groups fitted to some answers; what the answers say is read once and shared by all fits.

        If `alone`, these answers need not be the first of the interview, and nothing is shared.
        """
        if self._answer_log is None:
            n_first = self.n_samples if self._extension is None else self._extension.sizes[0]
            neighborhoods = RowNeighborhoods.from_data(self.X, self.random_state, n_first)
            hints = list_relations_of_hints(self.given), list_names_of_hints(self.given)
            self._answer_log = AnswerLog(neighborhoods, *hints)
        model = clone(self.model)
        if model.random_state is None:
            model.random_state = self.random_state % 2**32
        log, weights = self._answer_log.branch() if alone else self._answer_log, self._get_weights(replies)
        model.fit_replies(log, replies, source, weights)
        if self._weighs_errors and model.groups_ and len({reply.annotator for reply in replies}) > 1:
            of_annotators = weigh_answers(model.groups_, replies)
            if of_annotators is not None:
                both = np.multiply(weights or 1.0, of_annotators)
                model.fit_replies(log, replies, source, both.tolist())
        return model

    def _fit_labels(self, replies: tuple[Reply, ...], known: Knowledge | None) -> npt.NDArray[Any]:
        """Return the cluster of each row for some answers, with the metric learned from them alone."""
        if isinstance(self.model, GroupClustering):
            labels: npt.NDArray[Any] = self._fit_groups(replies, alone=True).labels_
        else:
            labels = self._fits.get_labels(self._derive_knowledge(replies) if known is None else known)
        return self._carry(labels, replies)

    def _derive_strategy_knowledge(self, model: Any, n: int) -> Knowledge:
        """Return the knowledge from the first n answers that `model` believes and from all later answers."""
        believed = getattr(model, "accepted_links_", None)
        if not self._weighs_errors or believed is None:
            return self._get_knowledge()
        hints = believed
        if n < self.n_answers:
            first = find_first_rows(self.replies[:n], self._first_rows)
            later = build_supervision(self.replies[n:], self.n_samples, first)
            hints = (hints | later).drop_conflicts()
        neither = self._find_neither(self.replies[:n])
        if len(neither):
            hints = hints | Supervision.from_triplets(self.n_samples, neither, "NEITHER")
        return Knowledge.from_supervision(hints, self._n_known_clusters)

    def _list_own_pairs(self, annotator: str | None) -> frozenset[Pair]:
        """Return the pairs that this annotator answered; none with fewer than two annotators."""
        if annotator is None or len({reply.annotator for reply in self.replies}) < 2:
            return frozenset()
        pairs = zip(self.replies, list_all_pairs(self.replies, self._first_rows), strict=True)
        return frozenset(pair for reply, own in pairs if reply.annotator == annotator for pair, _ in own)

    def _make_state(self, pending: frozenset[Any], annotator: str | None = None) -> InterviewState:
        count = getattr(self.strategy, "count_answers_to_fit", None)
        n = self.n_answers if count is None else count(self.n_answers)
        model, labels = self._fit_to(self.replies[:n]) if self.strategy.needs else (None, None)
        fields = {
            "X": self.X,
            "n_clusters": self._n_known_clusters,
            "model": model,
            "labels": labels,
            "asked": pending | self._get_answered_keys(),
            "random_state": self.random_state,
            "cache": self._cache,
            "n_answers": self.n_answers,
            "replies": self.replies,
            "names": self.names,
            "seconds_per_kind": self.seconds_per_kind,
        }
        if isinstance(model, GroupClustering):
            return RepliesState.from_replies(self._get_knowledge, **fields)
        known = self._derive_strategy_knowledge(model, n)
        return InterviewState(
            supervision=known.supervision,
            closure=known.closure,
            own_pairs=self._list_own_pairs(annotator),
            **fields,
        )

    def _get_current_events(self) -> list[Event]:
        """Return the answers and skips that were not undone."""
        return self._log.get_not_undone("answer", "skip")

    def _get_answered_keys(self) -> frozenset[Key]:
        """Return the keys of the questions that were answered or skipped."""
        return self._derive(
            "answered", lambda: frozenset(event.question.key for event in self._get_current_events())
        )

    def _choose(self, n: int, pending: frozenset[Any], annotator: str | None = None) -> list[Question]:
        if self._pooled is not None:
            return self._pooled.choose(n, pending)
        state = self._make_state(pending, annotator)
        questions = self.strategy.choose(state, n)
        wrong = [question for question in questions if not state.can_ask(question)]
        if wrong or len(get_keys(questions)) < len(questions) or len(questions) > n:
            raise LikewiseError(
                f"the strategy {self.strategy.name!r} returned {wrong or questions}; expected at most {n} "
                "different questions that can be asked. This is a bug in the strategy."
            )
        return questions
