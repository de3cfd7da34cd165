"""Pairs against triplets within the same participants, and whether the answers so far show a difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from likewise.studio.study.answers import Participant, SurveyRow
from likewise.studio.study.curves import BUDGETS, StudyCurves
from likewise.studio.study.options import QuestionKind

# If all of five people lean to the same side, chance explains it in more than 5 % of such studies (2 / 2^5);
# of six it does not.
FEWEST = 6
_LEVEL = 0.95


@dataclass(frozen=True)
class KindComparison:
    """A figure of both kinds of question, and the difference within participants.

    Attributes
    ----------
    title : str
        What is compared.
    pair, triplet : float or None
        Means over the `n` participants that have both figures.
    low, high : float or None
        95% interval of the mean difference, pairs minus triplets, by Student's t, within the values that it
        can have; None for fewer than two participants.
    n : int
        Number of participants.
    better : {"pair", "triplet"} or None
        The better kind; None if these participants do not show which it is.
    """

    title: str
    pair: float | None
    triplet: float | None
    low: float | None
    high: float | None
    n: int
    better: Literal["pair", "triplet"] | None

    @classmethod
    def from_values(
        cls,
        title: str,
        values: Iterable[tuple[float | None, float | None]],
        *,
        is_share: bool,
        less_is_better: bool = False,
    ) -> KindComparison:
        """Compare the figures of pairs and of triplets, one of each per participant.

        >>> rights = [(0.9, 0.7), (0.8, 0.7), (0.9, 0.6), (1.0, 0.9), (0.9, 0.7), (0.7, 0.6)]
        >>> KindComparison.from_values("right", rights, is_share=True).better
        'pair'
        >>> KindComparison.from_values("right", rights[:5], is_share=True).better is None
        True
        """
        both = np.array([pair for pair in values if None not in pair], dtype=np.float64).reshape(-1, 2)
        if not len(both):
            return cls(title, None, None, None, None, 0, None)
        pair, triplet = both.mean(axis=0).tolist()
        n, apart = len(both), both[:, 0] - both[:, 1]
        if n < 2:
            return cls(title, pair, triplet, None, None, n, None)
        half = float(stats.t.ppf(0.5 + _LEVEL / 2, n - 1) * apart.std(ddof=1) / np.sqrt(n))
        low, high = pair - triplet - half, pair - triplet + half
        if is_share:
            low, high = max(low, -1.0), min(high, 1.0)
        better: Literal["pair", "triplet"] | None = None
        if n >= FEWEST and (low > 0 or high < 0):
            better = "pair" if (low > 0) != less_is_better else "triplet"
        return cls(title, pair, triplet, low, high, n, better)


def compare_kinds(people: Sequence[Participant], curves: StudyCurves | None) -> tuple[KindComparison, ...]:
    """Compare the two kinds of question: seconds, right answers and, if given, clusterings.

    Parameters
    ----------
    people : sequence of Participant
        The participants; those who did not finish are left out.
    curves : StudyCurves or None
        The clusterings.
    """
    finished = [person for person in people if person.finished]
    found = [
        KindComparison.from_values(
            "Seconds per question",
            ((_compute_seconds(one, "pair"), _compute_seconds(one, "triplet")) for one in finished),
            is_share=False,
            less_is_better=True,
        ),
        KindComparison.from_values(
            "Right answers",
            ((_compute_share_right(one, "pair"), _compute_share_right(one, "triplet")) for one in finished),
            is_share=True,
        ),
    ]
    if curves is not None:
        for budget in BUDGETS:
            scores = (curves.get(budget, "P").by_person, curves.get(budget, "R").by_person)
            title = f"F-measure, same {budget}"
            found.append(KindComparison.from_values(title, zip(*scores, strict=True), is_share=True))
    return tuple(found)


def find_preferred(row: SurveyRow) -> Literal["pair", "triplet"] | None:
    """Return the kind that more people rated better; None if a sign test at 5 % does not show it.

    >>> find_preferred(SurveyRow("preference", "Preference", 17, 5, 2))
    'pair'
    >>> find_preferred(SurveyRow("preference", "Preference", 3, 0, 0)) is None
    True
    """
    n = row.pair + row.triplet
    if n == 0 or stats.binomtest(row.pair, n).pvalue >= 1 - _LEVEL:
        return None
    return "pair" if row.pair > row.triplet else "triplet"


def _compute_seconds(person: Participant, kind: QuestionKind) -> float | None:
    found = [one.seconds for one in person.get_answers(kind) if one.seconds is not None]
    return sum(found) / len(found) if found else None


def _compute_share_right(person: Participant, kind: QuestionKind) -> float | None:
    given = person.get_answers(kind)
    return sum(one.answer == one.truth for one in given) / len(given) if given else None
