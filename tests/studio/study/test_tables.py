"""The tables of the study, computed by hand, and the thesis's numbers through the same functions."""

import pytest

from likewise.exceptions import StudyError
from likewise.studio.study import Questionnaire
from likewise.studio.study.answers import (
    Participant,
    Spread,
    StudyAnswer,
    compute_accuracy,
    compute_confusion,
    compute_tables,
    compute_times,
    find_participants,
)
from studio.study.simulated import BETTER, Record, small_study, take_part


def pair(truth, answer, seconds, difficulty="easy"):
    return StudyAnswer("pair", (0, 1), truth, answer, seconds, difficulty)


def triplet(truth, answer, seconds, difficulty="easy"):
    return StudyAnswer("triplet", (0, 1, 2), truth, answer, seconds, difficulty)


ANN = Participant(
    person=2,
    first="pair",
    pairs=(
        pair("SAME", "SAME", 2.0),
        pair("SAME", "DIFFERENT", 4.0, "difficult"),
        pair("DIFFERENT", "DIFFERENT", 6.0, "difficult"),
    ),
    triplets=(triplet("AB", "AB", 3.0), triplet("NEITHER", "BC", 5.0)),
    survey=Questionnaire.from_answers(BETTER),
    finished=True,
)
BOB = Participant(
    person=3,
    first="triplet",
    pairs=(
        pair("DIFFERENT", "DIFFERENT", 1.0),
        pair("DIFFERENT", "DIFFERENT", 1.0, "difficult"),
        pair("DIFFERENT", "SAME", 4.0, "difficult"),
    ),
    triplets=(triplet("NEITHER", "NEITHER", 10.0), triplet("AC", "NEITHER", None)),
    survey=None,
    finished=True,
)


def test_times_by_hand():
    times = compute_times([ANN, BOB])
    # Ann 4, Bob 2 seconds per pair; the deviations from their mean 3 are 1 and 1, divided by n - 1 = 1.
    assert times.pair == Spread(3.0, pytest.approx(2**0.5), 2)
    assert times.same == Spread(3.0, pytest.approx(2**0.5), 2)  # 2 and 4
    assert times.different == Spread(3.0, pytest.approx(8**0.5), 2)  # 5 and 1
    assert times.triplet == Spread(7.0, pytest.approx(18**0.5), 2)  # 4 and 10: one time was not sent
    assert times.pick == Spread(4.0, None, 1)  # Bob never answered NEITHER
    assert times.neither == Spread(10.0, None, 1)


def test_confusions_by_hand():
    pairs = compute_confusion([ANN, BOB], "pair")
    assert pairs.words == ("DIFFERENT", "SAME")
    assert pairs.table == ((1.5, 0.5), (0.5, 0.5))
    assert pairs.accuracy == 4 / 6
    assert (pairs.easy, pairs.difficult) == (1.0, 0.5)
    assert pairs.by_person == Spread(pytest.approx(2 / 3), pytest.approx(0.0), 2)
    triplets = compute_confusion([ANN, BOB], "triplet")
    assert triplets.words == ("NEITHER", "AB", "AC", "BC")
    assert triplets.table == ((0.5, 0, 0, 0.5), (0, 0.5, 0, 0), (0.5, 0, 0, 0), (0, 0, 0, 0))
    assert triplets.accuracy == 0.5


def test_without_participants_the_tables_are_empty():
    tables = compute_tables([])
    assert (tables.n, tables.n_left_out, tables.n_surveys) == (0, 0, 0)
    assert tables.times.pair == Spread(None, None, 0)
    assert tables.pairs.accuracy is None
    assert all(row.pair == row.triplet == row.none == 0 for row in tables.survey)


def test_unfinished_participants_are_left_out():
    eve = Participant(4, "pair", (pair("SAME", "DIFFERENT", 99.0),), (), None, finished=False)
    assert compute_tables([ANN, BOB, eve]).times == compute_tables([ANN, BOB]).times
    assert compute_tables([ANN, BOB, eve]).n_left_out == 1


# Pei (2017), Tables 3.8 and 3.9, as printed; read on 2026-11-16.
THESIS = {
    "birdsong triplets": (
        [[59.88, 3.46, 3.38, 3.62], [2.62, 14.73, 0.12, 0.62],
         [3.65, 0.31, 17.00, 0.38], [3.62, 0.31, 0.42, 15.88]],
        82.68,
    ),
    "flower pairs": ([[158.54, 4.54], [2.00, 29.92]], 96.65),
    "flower triplets": (
        [[75.88, 1.46, 1.73, 2.15], [0.88, 14.12, 0.08, 0.15],
         [1.19, 0.12, 13.42, 0.15], [1.23, 0.08, 0.04, 17.31]],
        92.88,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THESIS)
def test_the_accuracies_of_the_thesis_follow_from_its_tables(name):
    table, printed = THESIS[name]
    assert 100 * compute_accuracy(table) == pytest.approx(printed, abs=0.015)


def test_the_accuracy_of_birdsong_pairs_does_not_follow_from_its_table():
    # The caption of Table 3.8(a) says 83.52%; the counts below it give 92.09%.
    assert 100 * compute_accuracy([[142.42, 6.50], [8.92, 37.15]]) == pytest.approx(92.09, abs=0.01)


# ---------------------------------------------------------------------- from events


def test_practice_does_not_count_and_the_first_of_two_answers_does():
    study = small_study(n_pairs=3, n_triplets=2, practice=1)
    record = take_part(study, Record(), 2)
    question = study.get_tasks(2)[0].questions[0]
    other = "DIFFERENT" if question.asked.truth == "SAME" else "SAME"
    record.answer(study, 2, question.queued, "NEITHER" if question.asked.kind == "triplet" else other, 500.0)
    (ann,) = find_participants(study, record.events)
    assert (len(ann.pairs), len(ann.triplets), ann.finished) == (3, 2, True)
    assert compute_tables([ann]).times.pair.mean == 1.0
    assert compute_tables([ann]).pairs.accuracy == compute_tables([ann]).triplets.accuracy == 1.0
    assert ann.survey == Questionnaire.from_answers(BETTER)


def test_the_owner_can_be_left_out():
    study = small_study(n_pairs=3, n_triplets=2)
    record = take_part(study, take_part(study, Record(), 1), 2)
    assert [one.person for one in find_participants(study, record.events)] == [1, 2]
    assert [one.person for one in find_participants(study, record.events, leave_out={1})] == [2]


def test_answers_to_another_study_are_refused():
    record = take_part(small_study(n_pairs=3, n_triplets=2), Record(), 2)
    with pytest.raises(StudyError, match="about other items than the plan"):
        find_participants(small_study(n_pairs=3, n_triplets=2, seed=2), record.events)


def test_a_simulated_study_recovers_its_parameters():
    """Six people: pairs wrong one time in ten in 2 s, triplets one in five in 5 s, NEITHER a second more."""
    study = small_study(n_pairs=30, n_triplets=20)
    record = Record()
    for person in range(2, 8):
        counts = {"pair": 0, "triplet": 0}

        def right(planned, counts=counts):
            counts[planned.asked.kind] += 1
            return counts[planned.asked.kind] % (10 if planned.asked.kind == "pair" else 5) != 0

        def seconds(planned, given, person=person):
            own = 0.1 * (person - 4.5)
            return (2.0 if planned.asked.kind == "pair" else 5.0) + (given == "NEITHER") + own

        take_part(study, record, person, right=right, seconds=seconds)
    people = find_participants(study, record.events)
    tables = compute_tables(people)
    assert [one.first for one in people].count("pair") == 3
    assert tables.n == tables.n_surveys == 6
    # Practice has four questions of each kind, so the cycle of errors starts within it.
    assert tables.pairs.accuracy == pytest.approx(0.9, abs=0.01)
    assert tables.triplets.accuracy == pytest.approx(0.8, abs=0.01)
    spread = pytest.approx(0.1 * 3.5**0.5)
    assert (tables.times.pair.mean, tables.times.pair.std) == (pytest.approx(2.0), spread)
    assert (tables.times.pick.mean, tables.times.pick.std) == (pytest.approx(5.0), spread)
    assert tables.times.neither.mean == pytest.approx(6.0)
    assert sum(map(sum, tables.pairs.table)) == pytest.approx(30)
    assert sum(map(sum, tables.triplets.table)) == pytest.approx(20)
    assert [(row.pair, row.triplet, row.none) for row in tables.survey][2:4] == [(6, 0, 0), (0, 0, 6)]
