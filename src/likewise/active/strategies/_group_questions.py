"""Placements, and questions about members, pairs and two groups, by expected gain per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from likewise._reasons import Reason
from likewise.active._group_answers import AnswerLog, GroupAnswers, IntArray, limit_threads
from likewise.active._group_model import FittedGroups, GroupClustering, compute_p_new
from likewise.active._questions import MOST_GROUPS, Question
from likewise.active._state import CheckedStrategy, InterviewState
from likewise.base import Rule

_SPREAD = 3.0  # weight of the rows that an answer covers, against the row itself
_NEARLY_EQUAL = 0.9  # rows of one members question have a smaller cosine than this
_SMALLEST_SHARE = 0.01  # rows with a smaller share of the largest gain are left out
_LAST_MEMBERS, _LAST_CHECKS = 100, 12
_PAGE_ODDS = 0.15  # show more groups if the row belongs to one of them with this probability
_CHECK_AGE, _CHECK_SIZE, _CHECK_TIMES = 30, 8, 5  # groups that are checked for being another one
_WORTH = 2.0  # rows that joining two groups of one row is worth
_LARGE = 30  # rows of a group beyond these do not add to the gain of a check
_DOUBTFUL = 30  # rows whose placement may be repeated
_REPEAT_AFTER = 2  # answers between a placement and its repetition
_SMALLEST_DOUBT = 0.05
_AT_ONCE = 1e6
_UNSURE_FOR = 50  # a row is not asked about for this many answers after UNSURE, then twice as many
_N_EXAMPLES = 3


@dataclass(frozen=True)
class GroupQuestions(CheckedStrategy):
    r"""Placements, questions about members and about two groups, by expected gain per second (ours).

    For many groups, or an unknown number of them. With :math:`p_1, p_2` the two largest probabilities of a
    row, and :math:`p_0` the probability that it belongs to no group so far, the doubt about the row is
    :math:`u = p_0 + (1 - p_0)(1 - p_1)`. An answer about row j also covers the rows near it:
    :math:`r_j = \sum_i u_i \max(0, s_{ij} - c_i) / (1 - b)`, summed over its 40 nearest rows, where
    :math:`s_{ij}` is the cosine, :math:`c_i` the largest cosine of i to a row with answers, and b the median
    cosine to the 40th neighbour. The gains, in rows, are

    - *placement* of j: :math:`u_j + 3 r_j`;
    - *members* of a group: the sum of :math:`v_j + 3 \min(1, 2 v_j) \rho p_1 (1 - p_0) r_j` over `n_members`
      rows that probably belong to it, where :math:`v = (1 - p_0) p_2`, and :math:`\rho` is the proportion of
      rows that belonged to their groups in such questions, relative to the predictions;
    - *pair* of one such row and the reference of its group: the same for this row alone;
    - *check* of a small group, whose reference is placed among the other groups: the probability that it is
      one of them times half its size;
    - *repeat* of a placement that the other rows contradict: the probability that it is wrong, given all
      other rows and answers, times the gain of a placement without it.

    The question with the largest gain per second is asked. After "none of these" more groups are shown if the
    row belongs to one of them with a probability of at least 0.15. If answers may be wrong, another question
    is asked before two groups stay joined, and large groups that overlap others are checked, too.

    Parameters
    ----------
    n_members : int, default=5
        The number of rows in a question about the members of a group, beside its reference, 1 to 11.
    n_groups : int, default=7
        The largest number of groups in a placement, 1 to 7.

    Notes
    -----
    The model is fitted again after about :math:`0.6 \sqrt{n}` answers, where n is their number, and later
    after n / 40. The cost of a
    question is linear in the number of rows, and does not grow with the number of answers but for what the
    interview does with its history.

    Examples
    --------
    >>> from likewise.active import GroupQuestions, Interview
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [-1.0, 0.1], [-0.9, 0.0]]
    >>> interview = Interview(X, strategy=GroupQuestions())
    >>> interview.ask().kind
    'placement'
    """

    n_members: int = 5
    n_groups: int = MOST_GROUPS

    name: ClassVar[str] = "groups"
    needs: ClassVar[frozenset[str]] = frozenset({"groups"})
    parameter_rules: ClassVar[dict[str, Rule]] = {
        "n_members": Rule("an integer from 1 to 11", lambda v: Rule.integer(1).holds(v) and v <= 11),
        "n_groups": Rule("an integer from 1 to 7", lambda v: Rule.integer(1).holds(v) and v <= MOST_GROUPS),
    }

    def count_answers_to_fit(self, n_answers: int) -> int:
        """Return the number of answers that the model is fitted to; it is not fitted again for each question.

        Parameters
        ----------
        n_answers : int
            The number of answers so far.

        Returns
        -------
        int
            The number of answers that the model is fitted to, at most `n_answers`.
        """
        return n_answers - n_answers % max(1, int(0.6 * n_answers**0.5), n_answers // 40)

    def choose(self, state: InterviewState, n: int) -> list[Question]:
        model = state.model
        if not isinstance(model, GroupClustering):
            raise ValueError(
                f"{self.name}: {type(model).__name__} has no groups. Leave the model out; the strategy has "
                "its own."
            )
        answers = model.log_.cut(state.replies, model.error_rate != 0)
        if model.groups_ is None or not answers.n_groups:
            return list(islice((q for q in _ask_first(model.log_) if state.can_ask(q)), n))
        found: dict[Any, Question] = {}
        with limit_threads(len(model.log_.neighborhoods.rows)):
            asker = _GroupAsker(self, state, model.groups_, model.log_, answers)
            while (
                len(found) < n and (question := asker.find_best()) is not None and question.key not in found
            ):
                found[question.key] = question
                asker.block(question)
        return list(found.values())


def _ask_first(log: AnswerLog) -> Iterator[Question]:
    """Yield placements of central rows in the group of the most central one."""
    neighborhoods = log.neighborhoods
    if len(neighborhoods.rows) < 2:
        return
    center = neighborhoods.cosines.sum(axis=1)
    first = int(center.argmax())
    away = neighborhoods.rows @ neighborhoods.rows[first]
    value = np.where(away < 0.5 * (1 + neighborhoods.base), center, center - 2 * neighborhoods.near.shape[1])
    value[first] = -np.inf
    for row in np.argsort(-value, kind="stable").tolist():
        if row != first:
            reason = Reason("{Row} is typical of many {things}.", (row,))
            yield Question.placement(row, [first], examples=[[first]], reason=reason)


def _list_asked_rows(kind: str, rows: tuple[int, ...]) -> tuple[int, ...]:
    """Return the rows that a question is about, without the references of the groups shown."""
    if kind in ("groups", "pair"):
        return rows
    return rows[1:] if kind == "members" else rows[:1]


def _find_largest(values: npt.NDArray[Any], n: int) -> list[int]:
    """Return the places of the largest values above 0, largest first."""
    places = np.argpartition(-values, n)[:n] if n < len(values) else np.arange(len(values))
    places = places[values[places] > 0]
    found: list[int] = places[np.lexsort((places, -values[places]))].tolist()
    return found


class _GroupAsker:
    """Finds the question with the largest gain per second."""

    def __init__(
        self,
        strategy: GroupQuestions,
        state: InterviewState,
        fitted: FittedGroups,
        log: AnswerLog,
        answers: GroupAnswers,
    ) -> None:
        self.strategy, self.state, self.fitted, self.log, self.answers = strategy, state, fitted, log, answers
        self.neighborhoods, self.n_groups = log.neighborhoods, answers.n_groups
        self.seconds: Mapping[str, float] = state.seconds_per_kind
        self.means = log.compute_means(answers)
        # The groups of the fit, in the numbers that they have now, and the answers since the fit.
        self.now_of = fitted.find_numbers_in(answers)
        known = fitted.confirmed >= 0
        self.confirmed = np.where(known, self.now_of[fitted.confirmed], -1)
        self.touched = np.unique(answers.rows[len(fitted.answers.rows) :])
        for row in self.touched:
            self.confirmed[row] = answers.get_group(int(row))
        self.confirmed[answers.references] = answers.group_of
        self.first_ref = np.full(self.n_groups, -1)
        self.first_ref[answers.group_of[::-1]] = np.arange(len(answers.references))[::-1]
        self._measure_doubt()
        self._block_pending()

    def _measure_doubt(self) -> None:
        fitted, neighborhoods = self.fitted, self.neighborhoods
        top, p1, p2 = (each.copy() for each in fitted.top_two)
        sure = self.confirmed >= 0
        self.predicted = self.now_of[top]
        p_new = fitted.p_new.copy()
        fresh = np.setdiff1d(np.arange(self.n_groups), self.now_of)
        if len(fresh):
            near = (neighborhoods.rows @ self.means[fresh].T).max(axis=1)
            p_new = compute_p_new(np.maximum(near, fitted.nearness), fitted.threshold)
        again = self.touched[~sure[self.touched]]  # refused by their group since the fit
        p2[again] = p1[again] = 0.5 * p1[again]
        p_new[sure] = 0.0
        self.p1, self.p_new = p1, p_new
        self.u = np.where(sure, 0.0, p_new + (1 - p_new) * (1 - p1))
        self.v = np.where(sure, 0.0, (1 - p_new) * p2)
        self.cover = fitted.get_cover(neighborhoods).copy()
        rows = np.flatnonzero(sure & (fitted.confirmed < 0))
        np.maximum.at(self.cover, neighborhoods.near[rows].ravel(), neighborhoods.cosines[rows].ravel())
        self._measure_spread()
        self.size = np.bincount(self.predicted, minlength=self.n_groups)
        self.n_confirmed = np.bincount(self.confirmed[sure], minlength=self.n_groups)

    def _measure_spread(self) -> None:
        near, cosines, base = self.neighborhoods.near, self.neighborhoods.cosines, self.neighborhoods.base
        room = np.maximum(0.0, cosines - self.cover[near]) / max(1.0 - base, 1e-6)
        self.spread = np.einsum("ij,ij->i", self.u[near].astype(np.float32), room)

    def _block_pending(self) -> None:
        """Leave out rows that were skipped or UNSURE, or that other people are asked about now."""
        self.blocked: set[int] = set()
        for row, times in zip(*np.unique(self.answers.unsure[:, 0], return_counts=True), strict=True):
            last = self.answers.unsure[self.answers.unsure[:, 0] == row, 1].max()
            if self.answers.n_answers - last <= _UNSURE_FOR * 2 ** (times - 1):
                self._leave_out(np.array([row]))
        pending: Any = self.state.asked - self.log.get_answered_keys(self.state.replies)
        if rows := [row for kind, rows in pending for row in _list_asked_rows(kind, rows)]:
            self._leave_out(np.array(rows, dtype=np.int64))

    def block(self, question: Question) -> None:
        """Leave out the rows of a question that will be asked."""
        self._leave_out(np.array(_list_asked_rows(question.kind, question.rows), dtype=np.int64))

    def _leave_out(self, rows: IntArray) -> None:
        self.blocked.update(rows.tolist())
        self.u[rows] = self.v[rows] = 0.0
        near = self.neighborhoods.near[rows].ravel()
        np.maximum.at(self.cover, near, self.neighborhoods.cosines[rows].ravel())
        self._measure_spread()

    def find_best(self) -> Question | None:
        """Return the question with the largest gain per second that may be asked."""
        if (page := self.ask_next_page()) is not None:
            return page
        kinds = (
            self.ask_join(),
            self.ask_placement(),
            self.ask_members(),
            self.ask_check(),
            self.ask_repeat(),
        )
        found = [question for question in kinds if question is not None]
        return max(found, key=lambda question: question.score or 0.0) if found else None

    # ------------------------------------------------------------------ groups to show

    def find_candidates(self, row: int, exclude: set[int]) -> list[int]:
        """Return the most probable groups of a row: by model, by nearest rows and by means, in turn."""
        by_model = self.now_of[np.argsort(-self.fitted.proba[row], kind="stable")[:20]].tolist()
        by_row = [group for group in self.confirmed[self.neighborhoods.near[row]].tolist() if group >= 0]
        by_mean = np.argsort(-(self.means @ self.neighborhoods.rows[row]), kind="stable").tolist()
        lists = [by_model, by_row, by_mean] if self.fitted.n_groups < self.n_groups else [by_model, by_row]
        found: dict[int, None] = {}
        for at in range(max(map(len, lists))):
            for groups in lists:
                if at < len(groups) and groups[at] not in exclude:
                    found[groups[at]] = None
            if len(found) >= self.strategy.n_groups:
                break
        for group in by_mean:
            if len(found) >= self.strategy.n_groups:
                break
            if group not in exclude:
                found[group] = None
        return list(found)[: self.strategy.n_groups]

    def find_differing(self, ref: int) -> set[int]:
        """Return the groups that answers separate from the group of a reference, and that group."""
        answers = self.answers
        own = int(answers.group_of[ref])
        pairs = answers.group_of[answers.votes[answers.votes[:, 2] < 0, :2]]
        found = {own, *pairs[pairs[:, 0] == own, 1].tolist(), *pairs[pairs[:, 1] == own, 0].tolist()}
        mine = (self.confirmed[answers.rows] == own) & (answers.signs < 0)
        return found | set(answers.group_of[answers.refs[mine]].tolist())

    @cached_property
    def names(self) -> dict[int, str]:
        """The name of each group that has one."""
        named = ((int(self.confirmed[row]), name) for name, row in self.state.names.items())
        return {group: name for group, name in reversed(list(named)) if group >= 0}

    def show(self, groups: list[int], without: int = -1) -> dict[str, Any]:
        """Return typical rows of groups, other than the row that is asked about, and their names."""
        return {
            "examples": [self.find_typical(group, without) for group in groups],
            "names": [self.names.get(group) for group in groups] if self.names else None,
        }

    @cached_property
    def members(self) -> list[IntArray]:
        """The confirmed rows of each group."""
        rows = np.flatnonzero(self.confirmed >= 0)
        rows = rows[np.argsort(self.confirmed[rows], kind="stable")]
        return np.split(rows, np.searchsorted(self.confirmed[rows], np.arange(1, self.n_groups)))

    def find_typical(self, group: int, without: int = -1) -> list[int]:
        """Return the confirmed rows of a group that are nearest to its mean, its reference first."""
        reference = self.get_reference(group)
        rows = self.members[group]
        rows = rows[rows != without]
        order = rows[np.argsort(-(self.neighborhoods.rows[rows] @ self.means[group]), kind="stable")].tolist()
        return [reference, *(row for row in order[:_N_EXAMPLES] if row != reference)][:_N_EXAMPLES]

    def get_reference(self, group: int) -> int:
        """Return the first reference of a group."""
        return int(self.answers.references[self.first_ref[group]])

    def _place(self, row: int, groups: list[int], gain: float, reason: str) -> Question | None:
        """Return a placement that was not asked before; if it was, with fewer groups."""
        while groups:
            question = Question.placement(
                row,
                [self.get_reference(group) for group in groups],
                score=gain / self.seconds["placement"],
                reason=Reason(reason, (row,)),
                **self.show(groups, without=row),
            )
            if self.state.can_ask(question):
                return question
            groups = groups[:-1]
        return None

    # ------------------------------------------------------------------ kinds of questions

    def ask_placement(self) -> Question | None:
        """Return the placement of the row that covers most doubt."""
        gains = np.where(self.confirmed < 0, self.u + _SPREAD * self.spread, 0.0)
        gains[list(self.blocked)] = 0.0
        for row in _find_largest(gains, 20):
            groups = self.find_candidates(row, self.answers.find_refused(row, self.fitted.is_cautious))
            reason = "{Row} represents nearby {things} whose group is uncertain."
            if (self.answers.rows == row).any():
                reason = "Earlier answers about {row} do not tell its group."
            question = self._place(row, groups, float(gains[row]), reason)
            if question is not None:
                return question
        return None

    def ask_members(self) -> Question | None:
        """Return the question about members of the group in which most doubtful rows can be confirmed.

        A single row is asked about as a pair with the reference of its group, which takes less time.
        """
        shown, n_members = self.answers.shown_members[-_LAST_MEMBERS:], self.strategy.n_members
        accuracy = (5.0 + shown[:, 1].sum()) / (5.0 + shown[:, 0].sum())
        hit = np.minimum(1.0, accuracy * self.p1 * (1 - self.p_new))
        gains = self.v + _SPREAD * np.minimum(1.0, 2 * self.v) * hit * self.spread
        gains[self.touched] = 0.0
        rows = np.flatnonzero(gains > _SMALLEST_SHARE * gains.max(initial=0.0))
        order = rows[np.lexsort((rows, -gains[rows], self.predicted[rows]))]
        cuts = np.searchsorted(self.predicted[order], np.arange(self.n_groups + 1))
        total = np.concatenate([[0.0], np.cumsum(gains[order])])
        bounds = total[np.minimum(cuts[:-1] + n_members, cuts[1:])] - total[cuts[:-1]]
        best: Question | None = None
        for group in np.argsort(-bounds, kind="stable").tolist():
            least = 0.0 if best is None else float(best.score or 0.0) * self.seconds["members"]
            if bounds[group] <= least:
                break
            chosen = self._select_members(order[cuts[group] : min(cuts[group + 1], cuts[group] + 30)])
            if (gain := float(gains[chosen].sum())) <= least:
                continue
            reference = self.get_reference(group)
            question = Question.members(
                reference,
                chosen,
                score=gain / self.seconds["members"],
                reason=Reason("These {things} probably belong with {row}.", (reference,)),
                **self.show([group]),
            )
            best = question if self.state.can_ask(question) else best
        pairs = (self._make_pair(int(row), float(gains[row])) for row in _find_largest(gains, 5))
        pair = next((question for question in pairs if self.state.can_ask(question)), None)
        return max((q for q in (best, pair) if q is not None), key=lambda q: q.score or 0.0, default=None)

    def _make_pair(self, row: int, gain: float) -> Question:
        rows = row, self.get_reference(int(self.predicted[row]))
        reason = Reason("{rows:2} probably belong together.", rows)
        return Question.pair(*rows, score=gain / self.seconds["pair"], reason=reason)

    def _select_members(self, rows: IntArray) -> list[int]:
        """Return the first rows that are not nearly equal to one before."""
        alike = self.neighborhoods.rows[rows] @ self.neighborhoods.rows[rows].T > _NEARLY_EQUAL
        chosen: list[int] = []
        for at in range(len(rows)):
            if len(chosen) < self.strategy.n_members and not alike[at, chosen].any():
                chosen.append(at)
        return [int(rows[at]) for at in chosen]

    @cached_property
    def overlap(self) -> npt.NDArray[np.float64]:
        """The largest overlap of each group with another one, of those at the last fit."""
        found = np.zeros(self.n_groups)
        np.maximum.at(found, self.now_of, self.fitted.overlap)
        return found

    def ask_join(self) -> Question | None:
        """Return the question whether two groups are the same, if one answer about it may be wrong."""
        answers = self.answers
        if not self.fitted.is_cautious:
            return None
        for refs in answers.unsettled:
            sides = [(self._list_shown_for(ref), int(answers.group_of[ref])) for ref in refs]
            sides.sort(key=lambda side: -len(side[0]))
            (large, small), groups = zip(*sides, strict=True)
            if small[0] in self.blocked:  # another question compares them
                continue
            size = min(self.size[list(groups)].min(), _LARGE)
            for rows in ((row, small[0]) for row in large):
                question = Question.groups(
                    *rows,
                    score=0.5 * (_WORTH + size) / self.seconds["groups"],
                    reason=Reason("It is not clear yet whether the groups of {rows:2} are the same.", rows),
                    examples=[each[:_N_EXAMPLES] for each in (large, small)],
                    names=[self.names.get(group) for group in groups] if self.names else None,
                )
                if self.state.can_ask(question):
                    return question
        return None

    def _list_shown_for(self, ref: int) -> list[int]:
        """Return a reference and the rows that were put into its group first, the nearest before others."""
        answers, reference = self.answers, int(self.answers.references[ref])
        belongs = answers.signs > 0
        rows, first = np.unique(answers.rows[belongs], return_index=True)
        rows = rows[answers.refs[belongs][first] == ref]
        rows = np.setdiff1d(rows[self.confirmed[rows] == answers.group_of[ref]], answers.references)
        nearness = self.neighborhoods.rows[rows] @ self.neighborhoods.rows[reference]
        return [reference, *rows[np.argsort(-nearness, kind="stable")].tolist()]

    def ask_next_page(self) -> Question | None:
        """Return more groups for the row of the last answer, "none of these", if it may belong to one."""
        page, row = self.answers.paged
        if row < 0 or row in self.blocked:
            return None
        ref = int(np.flatnonzero(self.answers.references == row)[0])
        placed, later = self.answers.placed, self.answers.again[self.answers.again[:, 3] > 0, 2]
        nearness = placed[placed[:, 2] == row][-1:, 0].astype(np.float32)
        p_new = float(compute_p_new(nearness, self.fitted.threshold)[0])
        missed = (1.5 + later.sum()) / (10.0 + (placed[:, 1] == 0).sum() + later.sum()) * 0.5**page
        if (1 - p_new) * missed < _PAGE_ODDS * (p_new + (1 - p_new) * missed):
            return None
        groups = self.find_candidates(row, self.find_differing(ref))
        return self._place(row, groups, _AT_ONCE, "{Row} belongs to none of the groups shown before.")

    def ask_check(self) -> Question | None:
        """Return the placement of the reference of a small group among the others: is it one of them?"""
        answers = self.answers
        if self.n_groups < 2:
            return None
        checks = answers.again[answers.again[:, 3] == 0]
        chance = (1.0 + checks[-_LAST_CHECKS:, 2].sum()) / (4.0 + len(checks[-_LAST_CHECKS:]))
        share = np.where(self.n_confirmed <= _CHECK_SIZE, 1.0, 0.0)
        if self.fitted.is_cautious:  # then large groups may be others, too
            share = np.maximum(share, self.overlap / max(self.overlap.max(), 1e-12))
        most: int | None = self.state.model.bounds[1]
        if most is not None and self.n_groups > most:
            chance = max(chance, min(0.5, (self.n_groups - most) / max(share.sum(), 1.0)))
        times = np.bincount(checks[:, 1].astype(np.int64), minlength=len(answers.references))[self.first_ref]
        last = answers.births.copy()
        np.maximum.at(last, answers.again[:, 1].astype(np.int64), answers.again[:, 0].astype(np.int64))
        old = answers.n_answers - last[self.first_ref] >= _CHECK_AGE
        gains = share * chance * 0.5**times * (_WORTH + 0.5 * np.minimum(self.size, _LARGE))
        gains[~old | (times >= _CHECK_TIMES)] = 0.0
        for group in np.argsort(-gains, kind="stable")[:5].tolist():
            ref = int(self.first_ref[group])
            row = int(answers.references[ref])
            if gains[group] <= 0 or row in self.blocked:
                continue
            groups = self.find_candidates(row, self.find_differing(ref))
            question = self._place(
                row, groups, float(gains[group]), "The group of {row} may be the same as another one."
            )
            if question is not None:
                return question
        return None

    def ask_repeat(self) -> Question | None:
        """Return another placement of a row whose answers the other rows contradict."""
        if self.n_groups < 2:
            return None
        rows = np.array(_find_largest(self.fitted.doubt, _DOUBTFUL), dtype=np.int64)
        fresh = self.answers.rows[self.answers.numbers >= self.answers.n_answers - _REPEAT_AFTER]
        skip = np.concatenate([self.touched, fresh, self.answers.references, list(self.blocked)])
        rows = rows[~np.isin(rows, skip) & (self.fitted.doubt[rows] >= _SMALLEST_DOUBT)]
        near, cosines, base = (
            self.neighborhoods.near[rows],
            self.neighborhoods.cosines[rows],
            self.neighborhoods.base,
        )
        cover = self.cover[near]
        cover[cover <= cosines + 1e-6] = base  # without the row itself
        room = np.maximum(0.0, cosines - cover) / max(1.0 - base, 1e-6)
        gains = self.fitted.doubt[rows] * (1.0 + _SPREAD * (self.u[near] * room).sum(axis=1))
        for at in np.argsort(-gains, kind="stable")[:5].tolist():
            row = int(rows[at])
            own = int(self.confirmed[row])
            groups = self.find_candidates(row, self.answers.find_refused(row, cautious=True))
            groups = groups if own in groups else [*groups[: self.strategy.n_groups - 1], own]
            reason = "{Row} may have been placed in the wrong group: it resembles another one as well."
            question = self._place(row, groups, float(gains[at]), reason)
            if question is not None:
                return question
        return None
