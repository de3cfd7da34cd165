"""The state that a strategy selects questions from, and the protocol of strategies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.utils import check_array

from likewise.active._evidence import Merge, Pair, find_merges
from likewise.active._questions import SECONDS_PER_KIND, Question, Reply
from likewise.base import Rule, check_no_times
from likewise.exceptions import SupervisionError
from likewise.supervision import TRIPLET_ANSWERS, Closure, RowIds, Supervision
from likewise.supervision.cliques import derive_implied_links
from likewise.supervision.row_checks import check_row_labels

IntArray = npt.NDArray[np.int64]
Known = Literal["must", "cannot", "unknown"]

# Bags are left out: disjoint label sets may imply a million pairs, and no strategy asks about bags.
_LINKED_KINDS = ("links", "triplets", "labels")
_NEITHER = TRIPLET_ANSWERS.index("NEITHER")


@dataclass(frozen=True, eq=False)
class InterviewState:
    """The rows, the answers so far and the model fitted to them: the input of a strategy.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    supervision : Supervision
        The hints and the answers so far, including contradictions.
    closure : Closure
        What follows from them and from the number of clusters: the components of the must-links and the
        cannot-links between components. Cannot-links that contradict must-links are left out.
    n_clusters : int, optional
        The number of clusters; None if it is unknown.
    model : estimator, optional
        The fitted model; None if the strategy needs none.
    labels : ndarray of shape (n_samples,), optional
        The cluster of each row according to the model.
    asked : frozenset, default=frozenset()
        The keys of the questions that must not be selected, because they were answered or skipped or because
        another person is answering them.
    random_state : int, default=0
        The seed of the interview.
    cache : dict, default={}
        A cache for results that are expensive to compute, such as a neighbour graph. It outlives the state,
        so a key must contain everything that the value depends on except X. An empty cache costs time but
        does not change the questions.
    n_answers : int, default=0
        The number of answers so far.
    own_pairs : frozenset of (int, int), default=frozenset()
        Pairs that the next annotator has answered before; UncertainRegions does not ask them to check these.
    replies : tuple of Reply, default=()
        The answers so far, in order.
    names : mapping of str to int, default={}
        The first row of each name, in the hints and then in the answers to label questions.
    seconds_per_kind : mapping of str to float, optional
        The seconds that an answer takes, by the kind of question; see ``Interview.seconds_per_kind``.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Supervision
    >>> from likewise.active import Question, InterviewState
    >>> hints = Supervision.from_links(5, must=[(0, 3)], cannot=[(3, 1)])
    >>> state = InterviewState.from_data(np.zeros((5, 2)), hints)
    >>> state.knows(0, 1), state.knows(0, 2), [rows.tolist() for rows in state.neighbourhoods()]
    ('cannot', 'unknown', [[0, 3], [1]])
    >>> state.can_ask(Question.pair(0, 1)), state.can_ask(Question.pair(1, 2))
    (False, True)
    """

    X: npt.NDArray[Any]
    supervision: Supervision
    closure: Closure
    n_clusters: int | None = None
    model: Any = None
    labels: npt.NDArray[Any] | None = None
    asked: frozenset[Hashable] = frozenset()
    random_state: int = 0
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    n_answers: int = 0
    own_pairs: frozenset[Pair] = frozenset()
    replies: tuple[Reply, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    seconds_per_kind: Mapping[str, float] = field(default_factory=lambda: dict(SECONDS_PER_KIND))

    @classmethod
    def from_data(
        cls, X: npt.NDArray[Any], supervision: Supervision | None = None, **more: Any
    ) -> InterviewState:
        """Make a state from rows and hints, and compute the closure.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        supervision : Supervision, optional
            The hints and answers. By default there are none.
        **more : dict
            Other fields of the state, such as `n_clusters` or `model`.

        Returns
        -------
        InterviewState
            The state with its closure.
        """
        hints = Supervision.empty(len(X)) if supervision is None else supervision
        return cls(
            X=X,
            supervision=hints,
            closure=Knowledge.from_supervision(hints, more.get("n_clusters")).closure,
            **more,
        )

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.X)

    def knows(self, i: int, j: int) -> Known:
        """Return the relation that the answers state or imply for two rows.

        Parameters
        ----------
        i, j : int
            The two rows.

        Returns
        -------
        {"must", "cannot", "unknown"}
            Whether the rows belong together, do not belong together, or neither is known.
        """
        c, d = int(self.closure.component[i]), int(self.closure.component[j])
        if c == d:
            return "must"
        keys, key = self._cannot_keys, min(c, d) * self.closure.n_components + max(c, d)
        at = int(keys.searchsorted(key))
        if at < len(keys) and keys[at] == key:
            return "cannot"
        groups = self.closure.cannot_groups
        return "cannot" if len(groups) and len(groups.find_shared(c, d)) else "unknown"

    def relations(self, i: Any, j: Any) -> npt.NDArray[np.int8]:
        """Return the relation that the answers state or imply for many pairs of rows.

        Parameters
        ----------
        i, j : array-like of int
            The rows of the pairs. The two arrays are broadcast against each other.

        Returns
        -------
        ndarray of int8
            1 for rows that belong together, -1 for rows that do not, 0 if neither is known.
        """
        return self.component_relations(self.closure.component[i], self.closure.component[j])

    def component_relations(self, c: Any, d: Any) -> npt.NDArray[np.int8]:
        """Return the relation that the answers state or imply for many pairs of components of the closure.

        Parameters
        ----------
        c, d : array-like of int
            The components of the pairs. The two arrays are broadcast against each other.

        Returns
        -------
        ndarray of int8
            1 for the same component, -1 for components with a cannot-link, 0 if neither is known.
        """
        c, d = np.broadcast_arrays(np.asarray(c), np.asarray(d))
        known = np.zeros(c.shape, dtype=np.int8)
        if len(keys := self._cannot_keys):
            pairs = np.minimum(c, d) * self.closure.n_components + np.maximum(c, d)
            known[keys[np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)] == pairs] = -1
        if len(self.closure.cannot_groups):
            member = self._memberships
            both = member[c.reshape(-1)].multiply(member[d.reshape(-1)]).sum(axis=1)
            known[np.asarray(both).reshape(c.shape) > 0] = -1
        known[c == d] = 1
        return known

    @cached_property
    def _cannot_keys(self) -> IntArray:
        low, high = self.closure.cannot.T
        return np.sort(low * self.closure.n_components + high)

    @cached_property
    def _memberships(self) -> csr_array:
        """Membership of components (rows) in groups whose components are all different (columns)."""
        groups = self.closure.cannot_groups
        entries = (np.ones(len(groups.members)), (groups.members, groups.group_of))
        return csr_array(entries, shape=(self.closure.n_components, len(groups)))

    def neighbourhoods(self) -> list[IntArray]:
        """Return the linked rows, grouped by component.

        A row that has only cannot-links is a neighbourhood of one row. Two neighbourhoods are not necessarily
        known to be different; see :meth:`knows`.

        Returns
        -------
        list of ndarray of int
            The rows of each neighbourhood, ascending.
        """
        links = self.closure.links
        rows = np.unique(links.rows)
        component = self.closure.component[rows]
        order = np.argsort(component, kind="stable")
        cuts = np.flatnonzero(np.diff(component[order])) + 1
        return [part for part in np.split(rows[order], cuts) if len(part)]

    def get_name(self, row: int) -> str | None:
        """Return the name of the group of a row, or None if no row of its group has a name.

        Parameters
        ----------
        row : int
            The row.

        Returns
        -------
        str or None
            The first name that was given to a row of the same component.
        """
        return self._names_of_components.get(int(self.closure.component[row]))

    @cached_property
    def _names_of_components(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for name, row in self.names.items():
            found.setdefault(int(self.closure.component[row]), name)
        return found

    def rng(self) -> np.random.Generator:
        """Return a random generator, seeded with the seed of the interview and the number of answers.

        Returns
        -------
        numpy.random.Generator
            A new generator. It draws the same numbers until the next answer.
        """
        return np.random.default_rng([self.random_state, self.n_answers])

    @property
    def merges(self) -> tuple[Merge, ...]:
        """Answers that are the only link between two groups. Pairs across the groups may still be asked."""
        cached = self.cache.get("merges")
        if cached is None or cached[0] is not self.model:
            cached = self.cache["merges"] = (self.model, find_merges(self.model))
        return cached[1]

    def can_ask(self, question: Question) -> bool:
        """Return True if a question may be asked: it was not asked before, and its answer is not implied.

        A placement or a question about members may be asked if the relation of its first row to any other is
        unknown, and a label question if the group of the row has no name.

        Parameters
        ----------
        question : Question
            The question.

        Returns
        -------
        bool
            True if a strategy may select the question.
        """
        if question.key in self.asked:
            return False
        if len(question.rows) == 2:
            pair = np.array([question.rows])
            return self.knows(*question.rows) == "unknown" or any(
                merge.are_across(pair).any() for merge in self.merges
            )
        if question.kind == "label":
            return self.get_name(question.rows[0]) is None
        if question.kind in ("placement", "members"):
            return bool((self.relations(question.rows[0], np.array(question.rows[1:])) == 0).any())
        # This holds for triplets too: two known relations leave two answers open, unless both are must-links.
        first, second = np.triu_indices(len(question.rows), 1)
        rows = np.array(question.rows)
        return bool((self.relations(rows[first], rows[second]) == 0).any())


class RepliesState(InterviewState):
    """The state for a strategy that reads the replies: hints and closure are derived only if they are read.

    A question may be asked if it was not asked before, even if earlier answers imply the answer: answers may
    be wrong, and the strategy decides which to check.
    """

    @classmethod
    def from_replies(cls, derive: Callable[[], Knowledge], **fields: Any) -> RepliesState:
        """Make the state; `derive` returns the hints and the closure."""
        state = cls(supervision=None, closure=None, **fields)  # type: ignore[arg-type]
        for name in ("supervision", "closure"):
            del state.__dict__[name]
        object.__setattr__(state, "_derive", derive)
        return state

    def __getattr__(self, name: str) -> Any:
        if name not in ("supervision", "closure"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        known: Knowledge = self.__dict__["_derive"]()
        for part in ("supervision", "closure"):
            object.__setattr__(self, part, getattr(known, part))
        return self.__dict__[name]

    def can_ask(self, question: Question) -> bool:
        return question.key not in self.asked


def check_rows(X: Any) -> npt.NDArray[Any]:
    """Check that rows are dense, finite and two-dimensional."""
    check_no_times(X, "Interview")
    return np.asarray(check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X"))


def check_hints(supervision: Any, n_samples: int, X: Any) -> Supervision:
    """Check that the hints are for these rows; None becomes empty hints."""
    if supervision is None:
        return Supervision.empty(n_samples)
    if not isinstance(supervision, Supervision) or supervision.n_samples != n_samples:
        raise SupervisionError(
            f"Interview: supervision must be hints for the {n_samples} rows, got {supervision!r}. Create "
            "hints with Supervision.from_links(len(X), must=[(0, 3)], cannot=[(1, 7)])."
        )
    check_row_labels(supervision, X, "Interview")
    return supervision


def check_ids(ids: Any, n_samples: int) -> RowIds | None:
    """Check the ids of the rows, if there are any."""
    if ids is None:
        return None
    names = RowIds.from_ids(ids)
    if len(names) != n_samples:
        raise SupervisionError(f"Interview: expected one id per row, {n_samples}; got {len(names)}.")
    return names


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Hints and answers, and their implications.

    Attributes
    ----------
    supervision : Supervision
        The hints and answers, including contradictions.
    hints : Supervision
        The same, with the links that follow from the number of clusters, and the links that follow from
        NEITHER about three rows once the relation of two of them is known.
    stated : Closure
        The closure of `supervision`; must-links take precedence over contradictory cannot-links.
    closure : Closure
        The closure of `hints`.
    are_votes : bool
        Whether the hints are answers that may contradict one another, for a model that weights them.
    """

    supervision: Supervision
    hints: Supervision
    stated: Closure
    closure: Closure
    are_votes: bool = False

    @classmethod
    def from_votes(cls, votes: Supervision, neither: IntArray) -> Knowledge:
        """Make the knowledge for a model that weights links and derives their implications itself.

        `neither` are triplets answered NEITHER; the links that they imply are added to the votes.
        """
        closure = votes.closure(on_conflict="drop")
        while implied := _derive_neither_links(closure, neither):
            votes = votes | implied
            closure = votes.closure(on_conflict="drop")
        return cls(votes, votes, closure, closure, are_votes=True)

    @classmethod
    def from_supervision(cls, supervision: Supervision, n_clusters: int | None) -> Knowledge:
        """Compute the implications of links, triplets and labels, in time linear in rows and hints."""
        plain = supervision.kinds <= {"links"}
        links = supervision if plain else supervision.select_kinds(*_LINKED_KINDS).to_links()
        stated = links.closure(on_conflict="drop")
        hints, closure = supervision, stated
        neither = find_neither(supervision)
        implied = derive_implied_links(closure, n_clusters) | _derive_neither_links(closure, neither)
        while implied:
            hints, links = hints | implied, links | implied
            closure = links.closure(on_conflict="drop")
            implied = _derive_neither_links(closure, neither)  # an implied link may settle another triplet
        return cls(supervision, hints, stated, closure)


def find_neither(supervision: Supervision) -> IntArray:
    """Return the triplets that were answered NEITHER."""
    return np.asarray(supervision.triplets[supervision.answers == _NEITHER])


def _derive_neither_links(closure: Closure, triplets: IntArray) -> Supervision:
    """Return the links that follow from NEITHER once the relation of two of the three rows is known.

    NEITHER means that all three rows belong together or that all are different, so one known relation implies
    the others. Nothing follows if the known relations contradict both readings.
    """
    nothing = Supervision.empty(len(closure.component))
    if not len(triplets):
        return nothing
    ends = triplets[:, [[0, 1], [0, 2], [1, 2]]].reshape(-1, 2)
    state = InterviewState(X=np.empty((nothing.n_samples, 0)), supervision=nothing, closure=closure)
    known = state.relations(*ends.T).reshape(-1, 3)
    open_ones = (known == 0).ravel()
    together, apart = (known == 1).any(axis=1), (known == -1).any(axis=1)
    must = ends[open_ones & np.repeat(together & ~apart, 3)]
    cannot = ends[open_ones & np.repeat(apart & ~together, 3)]
    return Supervision.from_links(nothing.n_samples, must=must, cannot=cannot)


# The requirements that a strategy may have of a fitted model.
NEEDS = ("labels", "proba", "draws", "classes", "groups")


class Strategy(Protocol):
    """The protocol of query strategies: any object with `name`, `needs` and `choose`.

    A strategy is a function of the :class:`InterviewState` that it is given and keeps no state between calls;
    write it as a frozen dataclass whose fields are its parameters. No base class is needed.

    A strategy may also have a method ``count_answers_to_fit(n_answers)``. It returns the number of answers
    that the model has to be fitted to, so an expensive model need not be fitted again for each question.
    Without it, the model is fitted to all answers.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> from likewise.active import Interview, Question
    >>> @dataclass(frozen=True)
    ... class FirstPairs:
    ...     name: ClassVar[str] = "first pairs"
    ...     needs: ClassVar[frozenset[str]] = frozenset()
    ...
    ...     def choose(self, state, n):
    ...         pairs = (Question.pair(i, j) for j in range(state.n_samples) for i in range(j))
    ...         return [question for question in pairs if state.can_ask(question)][:n]
    >>> interview = Interview([[0.0], [1.0], [5.0]], strategy=FirstPairs())
    >>> reply = interview.tell(interview.ask(), "SAME")
    >>> interview.ask().rows
    (0, 2)
    """

    @property
    def name(self) -> str:
        """The name of the strategy in files and tables."""

    @property
    def needs(self) -> frozenset[str]:
        """The requirements of the strategy for the fitted model; empty if it needs no model.

        - "labels": the clusters, in ``state.labels``;
        - "proba": a ``state.model`` with `predict_proba` or `co_membership_proba`;
        - "draws": a ``state.model`` with `membership_samples`, `best_pairs` and `triplet_scores`;
        - "classes": a ``state.model`` that is a :class:`~likewise.spectral.PropagationClustering`;
        - "groups": a ``state.model`` that is a :class:`~likewise.active.GroupClustering`.
        """

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        """Select the next questions.

        Parameters
        ----------
        state : InterviewState
            The rows, the answers so far, their implications, and the fitted model.
        n : int
            The maximum number of questions.

        Returns
        -------
        questions : list of Question
            At most n different questions, best first, all of which ``state.can_ask`` allows. Fewer if there
            are no more. The same state must give the same questions, so use only ``state.rng()`` for
            randomness.
        """


def check_strategy(strategy: Any) -> Strategy:
    """Return the strategy, looked up by name if necessary; raise an error if it is not a strategy."""
    if isinstance(strategy, type) or not all(hasattr(strategy, part) for part in ("name", "needs", "choose")):
        raise TypeError(
            "Interview: expected a strategy such as RandomPairs(), with name, needs and choose, or the name "
            f"of a strategy, such as 'npu'; got {strategy!r}."
        )
    if unknown := set(strategy.needs) - set(NEEDS):
        raise ValueError(
            f"Interview: the strategy {strategy.name!r} needs {', '.join(map(repr, sorted(unknown)))}; "
            f"expected any of {', '.join(map(repr, NEEDS))}, or an empty set if it needs no model."
        )
    found: Strategy = strategy
    return found


class CheckedStrategy(Strategy, Protocol):
    """A strategy with rules for its parameters, which are checked when it is made."""

    parameter_rules: ClassVar[Mapping[str, Rule]] = {}

    def __post_init__(self) -> None:
        for name, rule in self.parameter_rules.items():
            if not rule.holds(value := getattr(self, name)):
                raise ValueError(f"{name} must be {rule.expected}, got {value!r}.")
