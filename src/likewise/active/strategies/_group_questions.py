"""Group questions: placements, looks at groups and pairs of groups, by expected gain per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.active._group_answers import AnswerLog, FloatArray, GroupAnswers, IntArray, Surroundings
from likewise.active._group_model import FittedGroups

SECONDS = {"pair": 2.5, "placement": 5.0, "members": 4.0, "groups": 4.0}


@dataclass
class Settings:
    beta: float = 3.0
    n_tiles: int = 5
    n_shown: int = 7
    look_weight: float = 1.0
    page_odds: float = 0.15
    again_age: int = 30
    again_size: int = 8
    again_times: int = 5
    again_base: float = 2.0
    doubt_weight: float = 3.0
    forced: bool = False


@dataclass
class Choice:
    kind: str
    first: int
    rest: tuple[int, ...]
    gain: float
    why: str = ""


class GroupChooser:
    """Finds the best question of each kind."""

    def __init__(self, around: Surroundings, fitted: FittedGroups, log: AnswerLog, answers: GroupAnswers,
                 n_clusters: int | None, settings: Settings, seconds: dict[str, float] = SECONDS, last=None) -> None:
        self.around, self.fitted, self.log, self.answers = around, fitted, log, answers
        self.n_clusters, self.settings, self.seconds = n_clusters, settings, seconds
        self.last = last
        n = len(around.rows)
        known = len(fitted.answers.rows)
        G0 = fitted.n_groups
        # The groups of the fit in the numbering of now, and the answers since the fit.
        self.n_groups = answers.n_groups
        old_refs = len(fitted.answers.references)
        self.now_of = np.zeros(G0, dtype=np.int64)
        self.now_of[fitted.answers.group_of] = answers.group_of[:old_refs]
        self.confirmed = np.where(fitted.confirmed >= 0, self.now_of[fitted.confirmed], -1) if G0 else np.full(n, -1)
        rows, refs, signs = answers.rows[known:], answers.refs[known:], answers.signs[known:]
        touched = np.unique(rows)
        self.dirty = touched
        for row in touched:
            mine = answers.rows == row
            E = np.zeros(self.n_groups)
            weights = answers.signs[mine] * (1 + np.log(answers.choices[mine]))
            np.add.at(E, answers.group_of[answers.refs[mine]], weights)
            self.confirmed[row] = E.argmax() if E.max() > 0 else -1
        self.confirmed[answers.references] = answers.group_of
        self._prepare()

    def _prepare(self) -> None:
        fitted, around, set_ = self.fitted, self.around, self.settings
        top, p1, p2 = (each.copy() for each in fitted.top_two)
        n = len(top)
        sure = self.confirmed >= 0
        self.predicted = self.now_of[top]
        p_new = fitted.p_new.copy()
        # groups found since the fit
        means = self.log.get_means()
        fresh = np.setdiff1d(np.arange(self.n_groups), self.now_of)
        if len(fresh):
            from scipy.special import expit
            near = (around.rows @ means[fresh].T).max(axis=1)
            near = np.maximum(near, fitted.nearness)
            p_new = np.where(sure, 0, expit(-15.0 * (near - fitted.threshold))).astype(np.float32)
        # tapped since the fit
        for row in self.dirty:
            if not sure[row]:
                p1[row], p2[row] = 0.5 * p1[row], 0.5 * p1[row]
        self.p_new = p_new
        u = p_new + (1 - p_new) * (1 - p1)
        v = (1 - p_new) * p2
        u[sure] = 0
        v[sure] = 0
        self.u, self.v, self.p1 = u, v, p1
        cover = np.full(n, around.base, dtype=np.float32)
        rows = np.flatnonzero(sure)
        np.maximum.at(cover, around.near[rows].ravel(), around.cosines[rows].ravel())
        room = np.maximum(0, around.cosines - cover[around.near]) / max(1 - around.base, 1e-6)
        self.rep = (u[around.near] * room).sum(axis=1)
        self.size = np.bincount(self.predicted, minlength=self.n_groups)
        self.n_confirmed = np.bincount(self.confirmed[sure], minlength=self.n_groups)
        self.ref_of = np.full(self.n_groups, -1)
        for ref, g in zip(self.answers.references[::-1], self.answers.group_of[::-1]):
            self.ref_of[g] = ref

    # ---------------------------------------------------------------- candidates

    def get_refused(self, row: int) -> set[int]:
        a = self.answers
        mine = a.rows == row
        net = np.zeros(self.n_groups)
        np.add.at(net, a.group_of[a.refs[mine]], a.signs[mine])
        return set(np.flatnonzero(net < (0 if self.fitted.rate < 0.03 else -1)).tolist())

    def find_candidates(self, row: int, exclude: set[int]) -> list[int]:
        """Return the most probable groups of a row: by model, by nearest confirmed row and by mean, in turn."""
        by_model = self.now_of[np.argsort(-self.fitted.proba[row], kind="stable")[:20]].tolist() if self.fitted.n_groups else []
        near = self.confirmed[self.around.near[row]]
        by_row = [g for g in near.tolist() if g >= 0]
        by_mean = np.argsort(-(self.log.get_means() @ self.around.rows[row]), kind="stable")[:20].tolist()
        found: list[int] = []
        lists = [by_model, by_row, by_mean] if len(by_model) < self.n_groups else [by_model, by_row]
        at = 0
        while len(found) < self.settings.n_shown and at < max(map(len, lists)):
            for each in lists:
                if at < len(each) and each[at] not in exclude and each[at] not in found:
                    found.append(each[at])
            at += 1
        rest = [g for g in by_mean if g not in exclude and g not in found]
        return (found + rest)[: self.settings.n_shown]

    # ---------------------------------------------------------------- kinds

    def best_placement(self) -> Choice | None:
        value = (self.u + self.settings.beta * self.rep) * (self.confirmed < 0)
        order = np.argsort(-value, kind="stable")[:20]
        for row in order:
            row = int(row)
            if value[row] <= 0:
                return None
            groups = self.find_candidates(row, self.get_refused(row))
            if groups:
                return Choice("placement", row, tuple(int(self.ref_of[g]) for g in groups), float(value[row]) / self.seconds["placement"])
        return None

    def best_look(self) -> Choice | None:
        s = self.settings
        tiles = self.answers.tiles[-100:]
        rho = (5 + tiles[:, 1].sum()) / (5 + tiles[:, 0].sum())
        p = np.minimum(1, rho * self.p1 * (1 - self.p_new))
        value = (self.v + s.beta * np.minimum(1, 2 * self.v) * p * self.rep) * (self.confirmed < 0)
        value[self.dirty] = 0
        order = np.argsort(-value, kind="stable")
        order = order[value[order] > 0]
        if not len(order):
            return None
        group = self.predicted[order]
        by = np.argsort(group, kind="stable")
        order, group = order[by], group[by]
        cuts = np.searchsorted(group, np.arange(self.n_groups + 1))
        total = np.concatenate([[0], np.cumsum(value[order])])
        bound = np.array([total[min(cuts[g] + s.n_tiles, cuts[g + 1])] - total[cuts[g]] for g in range(self.n_groups)])
        best, best_gain = None, 0.0
        for g in np.argsort(-bound, kind="stable"):
            if bound[g] <= best_gain:
                break
            chosen: list[int] = []
            for row in order[cuts[g] : min(cuts[g + 1], cuts[g] + 30)]:
                if all(float(self.around.rows[row] @ self.around.rows[c]) <= 0.9 for c in chosen):
                    chosen.append(int(row))
                    if len(chosen) == s.n_tiles:
                        break
            gain = float(value[chosen].sum())
            if gain > best_gain:
                best, best_gain = (int(g), chosen), gain
        if best is None:
            return None
        return Choice("members", int(self.ref_of[best[0]]), tuple(best[1]), s.look_weight * best_gain / self.seconds["members"])

    def get_differing(self, ref: int) -> set[int]:
        """Return the groups that answers separate from the group of a reference."""
        a = self.answers
        g = a.group_of[ref]
        pairs = a.group_of[a.votes[a.votes[:, 2] < 0, :2]]
        found = set(pairs[pairs[:, 0] == g, 1].tolist()) | set(pairs[pairs[:, 1] == g, 0].tolist())
        mine = self.confirmed[a.rows] == g
        found |= set(a.group_of[a.refs[mine & (a.signs < 0)]].tolist())
        return found - {int(g)}

    def next_page(self) -> Choice | None:
        """Show more groups for the row of the last answer, "none of these", if it may belong to one of them."""
        s, a = self.settings, self.answers
        page, row = a.paged
        if row < 0:
            return None
        ref = int(np.flatnonzero(a.references == row)[0])
        near = a.placed[a.placed[:, 2] == row][-1, 0]
        p_new = 1 / (1 + np.exp(15.0 * (near - self.fitted.threshold)))
        later = a.again[a.again[:, 3] > 0]
        hits = float((a.placed[:, 1] == 0).sum())
        later_hits = float(later[:, 2].sum())
        mu = (1.5 + later_hits) / (10 + hits + later_hits) * 0.5**page
        odds = (1 - p_new) * mu / (p_new + (1 - p_new) * mu)
        forced = s.forced and self.n_clusters is not None and self.n_groups > self.n_clusters
        if odds < s.page_odds and not forced:
            return None
        groups = self.find_candidates(row, self.get_differing(ref) | {int(a.group_of[ref])})
        if not groups:
            return None
        return Choice("placement", row, tuple(int(self.ref_of[g]) for g in groups), 1e6, "page")

    def best_again(self) -> Choice | None:
        """Place the reference of a small group again, among other groups: is it one of them?"""
        s, a = self.settings, self.answers
        if self.n_groups < 2:
            return None
        checks = a.again[a.again[:, 3] == 0][-12:, 2]
        p_dup = (1 + checks.sum()) / (4 + len(checks))
        if self.n_clusters is not None and self.n_groups > self.n_clusters:
            n_small = int((self.n_confirmed <= s.again_size).sum())
            p_dup = max(p_dup, min(0.5, (self.n_groups - self.n_clusters) / max(n_small, 1)))
        gains = []
        first = {}
        for idx in range(len(a.references) - 1, -1, -1):
            first[int(a.group_of[idx])] = idx
        for g, idx in first.items():
            checked = a.again[(a.again[:, 1] == idx)]
            times = int((checked[:, 3] == 0).sum())
            since = max(int(checked[-1, 0]) if len(checked) else 0, int(a.births[idx]))
            if self.n_confirmed[g] <= s.again_size and times < s.again_times and a.n_answers - since >= s.again_age:
                gains.append((p_dup * 0.5**times * (s.again_base + 0.5 * min(self.size[g], 30)) / self.seconds["placement"], -g, idx))
        for gain, _, idx in sorted(gains, reverse=True)[:5]:
            groups = self.find_candidates(int(a.references[idx]), self.get_differing(idx) | {int(a.group_of[idx])})
            if groups:
                return Choice("placement", int(a.references[idx]), tuple(int(self.ref_of[g]) for g in groups), gain, "again")
        return None

    def best_check(self) -> Choice | None:
        """Place a row again whose answers the other rows contradict."""
        rows = np.flatnonzero(self.fitted.confirmed >= 0)
        own = self.fitted.proba[rows, self.fitted.confirmed[rows]]
        doubt = 1 - own
        doubt[np.isin(rows, self.dirty) | np.isin(rows, self.answers.references)] = 0
        if not len(rows) or doubt.max() < 0.05:
            return None
        at = int(doubt.argmax())
        row = int(rows[at])
        groups = self.find_candidates(row, self.get_refused(row))
        if int(self.confirmed[row]) not in groups:
            groups = [*groups[: self.settings.n_shown - 1], int(self.confirmed[row])]
        gain = float(doubt[at]) * self.settings.doubt_weight / self.seconds["placement"]
        return Choice("placement", row, tuple(int(self.ref_of[g]) for g in groups), gain, "check")

    def choose(self) -> Choice | None:
        if (page := self.next_page()) is not None:
            return page
        found = [c for c in (self.best_placement(), self.best_look(), self.best_again(), self.best_check()) if c is not None]
        return max(found, key=lambda c: c.gain) if found else None


def count_answers_to_fit(n: int, growth: float = 0.6) -> int:
    return n - n % max(1, int(growth * n**0.5))
