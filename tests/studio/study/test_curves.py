"""Clusterings from the answers: which answers are used at each step, and the results."""

import pytest

from likewise.exceptions import StudyError
from likewise.studio.study.answers import Participant, StudyAnswer, find_participants
from likewise.studio.study.curves import (
    PARTS,
    compute_study_curves,
    draw_numbers,
    draw_scores,
    format_png,
    select_answers,
)
from studio.study.simulated import Record, small_study, take_part


def participant(pair_seconds, triplet_seconds):
    pairs = [StudyAnswer("pair", (i, i + 1), "SAME", "SAME", s) for i, s in enumerate(pair_seconds)]
    words = ("AB", "NEITHER")
    triplets = [
        StudyAnswer("triplet", (i, i + 1, i + 2), "AB", words[i % 2], s)
        for i, s in enumerate(triplet_seconds)
    ]
    return Participant(2, "pair", tuple(pairs), tuple(triplets), None, True)


def numbers(person, budget, method):
    return [len(step) for step in select_answers(person, budget, method)]


def test_same_items_use_one_fifth_per_step():
    ann = participant([1.0] * 15, [9.0] * 10)
    assert numbers(ann, "items", "P") == [3, 6, 9, 12, 15]
    assert numbers(ann, "items", "R") == [2, 4, 6, 8, 10]
    assert numbers(ann, "items", "R-C") == [1, 2, 3, 4, 5]
    assert select_answers(ann, "items", "P")[0] == ann.pairs[:3]


def test_the_same_time_ends_with_the_quicker_kind():
    # Pairs take 15 s, triplets 40 s: T is 15, with 3, 6, 9, 12 and 15 s. A triplet takes 4 s.
    ann = participant([1.0] * 15, [4.0] * 10)
    assert numbers(ann, "time", "P") == [3, 6, 9, 12, 15]
    assert numbers(ann, "time", "R") == [0, 1, 2, 3, 3]
    assert numbers(ann, "time", "R-C") == [0, 1, 1, 2, 2]


def test_a_missing_time_counts_as_the_mean():
    ann = participant([1.0, None, 3.0], [6.0])
    assert numbers(ann, "time", "P") == [1, 1, 2, 2, 3]


def test_rounding_does_not_exclude_the_last_answer():
    ann = participant([0.1] * 30, [1.7] * 20)
    assert numbers(ann, "time", "P")[-1] == 30


@pytest.fixture(scope="module")
def found():
    study = small_study(n_pairs=15, n_triplets=10, practice=0)
    record = Record()
    for person in (2, 3):
        take_part(study, record, person, seconds=lambda planned, given: float(len(planned.items)))
    seen = []
    people = find_participants(study, record.events)
    curves = compute_study_curves(
        study, people, max_rows=60, progress=lambda done, total: seen.append((done, total))
    )
    return study, people, curves, seen


def test_the_curves_of_a_small_study(found):
    _, people, curves, seen = found
    assert seen == [(n, 60) for n in range(1, 61)]
    assert (curves.n_people, curves.n_all_rows) == (2, 120)
    asked = [{row for given in (*one.pairs, *one.triplets) for row in given.rows} for one in people]
    assert curves.n_rows == max(60, *map(len, asked))
    for curve in curves.curves:
        assert curve.parts == PARTS
        assert all(
            0 <= low <= mean <= high
            for low, mean, high in zip(curve.low, curve.mean, curve.high, strict=True)
        )
        assert curve.n_used == curve.n_correct  # no errors
    assert curves.get("items", "P").n_used == (3, 6, 9, 12, 15)
    # Both take 30 s in total; a pair takes 2 s, a triplet 3 s.
    assert curves.get("time", "P").n_used == (3, 6, 9, 12, 15)
    assert curves.get("time", "R").n_used == (2, 4, 6, 8, 10)
    assert curves.get("items", "P").mean[-1] > 0.6


def test_the_same_answers_give_the_same_score(found):
    _, _, curves, _ = found
    assert curves.get("items", "P").mean == curves.get("time", "P").mean


def test_without_participants_there_is_nothing_to_compare(found):
    with pytest.raises(StudyError, match="nobody has finished"):
        compute_study_curves(found[0], [])


def test_the_figures_are_plotted(found):
    pytest.importorskip("matplotlib")
    curves = found[2]
    scores, counts = draw_scores(curves), draw_numbers(curves)
    assert [ax.get_title() for ax in scores.axes] == ["same number of items", "same time"]
    assert len(counts.axes[0].lines) == 6
    assert format_png(scores).startswith(b"\x89PNG")


class Counted:
    """Replaces clusterings: more answers give higher scores."""

    def __init__(self, X, truths, rows, seed):
        pass

    def score(self, given):
        return len(given) / 10


def test_means_and_intervals_by_hand(monkeypatch):
    # Ann answers all pairs within T, Bob half of them: shares 1 and 0.5 of ten, times 0.1 each.
    monkeypatch.setattr("likewise.studio.study.curves._StudyFits", Counted)
    ann, bob = participant([1.0] * 10, [1.0] * 10), participant([2.0] * 10, [1.0] * 10)
    study = small_study(n_pairs=10, n_triplets=10, practice=0)
    curve = compute_study_curves(study, [ann, bob]).get("time", "P")
    assert curve.n_used == (1.5, 3.0, 4.5, 6.0, 7.5)
    assert curve.mean == pytest.approx((0.15, 0.3, 0.45, 0.6, 0.75))
    # Two values 0.2 and 0.1: s / sqrt(2) = 0.05, and Student's t for one degree is 12.706.
    assert curve.high[0] == pytest.approx(0.15 + 12.706 * 0.05, abs=1e-3)
    assert curve.low[0] == 0  # a score is from 0 to 1
    assert curve.high[-1] == 1
    assert curve.by_person == (1.0, 0.5)


def test_one_participant_has_no_interval(monkeypatch):
    monkeypatch.setattr("likewise.studio.study.curves._StudyFits", Counted)
    curves = compute_study_curves(small_study(), [participant([1.0] * 10, [1.0] * 10)])
    assert curves.curves[0].low == (None,) * 5
    pytest.importorskip("matplotlib")
    draw_scores(curves)
