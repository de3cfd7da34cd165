"""Simulated errors: uniform, look-alikes, coarse groups, fatigue and confused classes."""

import hashlib
import pickle
from itertools import combinations, permutations
from typing import get_args

import numpy as np
import pytest

from likewise.active import Answer, OddOne, Piles, Question, RandomPairs, Reply, compare
from likewise.exceptions import SupervisionError
from likewise.oracles import (
    CoarseOracle,
    ConfusionOracle,
    FatigueOracle,
    LabelOracle,
    LookAlikeOracle,
    NoisyOracle,
    make_oracle,
)
from likewise.oracles._class_errors import ErrorKind

KINDS = get_args(ErrorKind)
Y = np.repeat(np.arange(6), 10)
# Six classes on a line; classes 0 and 1 are nearest, then 2 and 3, then 4 and 5.
X = np.random.default_rng(0).normal(np.repeat([0.0, 1.0, 8.0, 10.0, 18.0, 21.0], 10)[:, None], 0.5)
PAIRS = [Question.pair(*pair) for pair in combinations(range(60), 2)]
MANY = [
    *PAIRS[::29],
    *(Question.triplet(i, (i * 7 + 1) % 60, (i * 11 + 2) % 60) for i in range(3, 50, 4)),
    *(Question.odd([i, i + 1, i + 2, i + 9]) for i in range(0, 50, 4)),
    *(Question.piles(range(i, 60, 9)) for i in range(9)),
]


def find_wrong(oracle, y, questions):
    truth = LabelOracle(y)
    return np.array([oracle.answer(question) != truth.answer(question) for question in questions])


# ---------------------------------------------------------------------- all kinds


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_answers(kind):
    answers = [make_oracle(kind, Y, X, rate=0.2, random_state=3).answer(question) for question in MANY]
    oracle = make_oracle(kind, Y, X, rate=0.2, random_state=3)
    if kind != "fatigue":  # its answers depend on the order of the questions
        assert [oracle.answer(question) for question in reversed(MANY)] == answers[::-1]
    first = [oracle.answer(question) for question in MANY]
    assert [oracle.answer(question) for question in MANY] == first
    again = pickle.loads(pickle.dumps(oracle))
    assert [again.answer(question) for question in MANY] == first


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "coarse"])  # which is not random
def test_another_seed_gives_other_errors(kind):
    one, other = (make_oracle(kind, Y, X, rate=0.2, random_state=seed) for seed in (0, 1))
    some = PAIRS[::9]
    assert [one.answer(question) for question in some] != [other.answer(question) for question in some]


@pytest.mark.parametrize("kind", KINDS)
def test_without_errors_the_classes_answer(kind):
    assert not find_wrong(make_oracle(kind, Y, X, rate=0.0), Y, MANY).any()


@pytest.mark.parametrize("kind", ["uniform", "look-alike", "confusion"])
def test_the_rate_is_the_share_of_wrong_answers_to_random_pairs(kind):
    for rate in (0.05, 0.2):
        wrong = find_wrong(make_oracle(kind, Y, X, rate=rate), Y, PAIRS)
        assert wrong.mean() == pytest.approx(rate, abs=0.03)  # 1770 draws: three standard deviations


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_classes_are_unsure(kind):
    y = [None, *Y[1:]]
    oracle = make_oracle(kind, y, X, rate=0.2)
    assert oracle.answer(Question.pair(0, 1)) is Answer.UNSURE
    assert oracle.answer(Question.triplet(0, 1, 2)) is Answer.UNSURE
    assert 0 not in {row for pile in oracle.answer(Question.piles(range(12))).groups for row in pile}


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_gets_a_fitting_answer_in_any_order(kind):
    oracle = make_oracle(kind, Y, X, rate=0.2, random_state=5)
    for question in MANY:
        answer = oracle.answer(question)
        assert question.check_answer(answer) == answer
        if isinstance(answer, Piles):
            assert sorted(row for pile in answer.groups for row in pile) == sorted(question.rows)
        if question.kind == "triplet":
            for rows in permutations(question.rows):
                assert oracle.answer(Question.triplet(*rows)) is Reply(question, answer).to(
                    Question.triplet(*rows)
                )


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_about_other_data_is_refused(kind):
    with pytest.raises(SupervisionError, match="contains row 60"):
        make_oracle(kind, Y, X).answer(Question.pair(0, 60))


@pytest.mark.parametrize("kind", KINDS)
def test_whole_interviews(kind):
    found = compare(
        RandomPairs(),
        X,
        Y,
        budget=6,
        every=6,
        repeats=1,
        oracle=lambda seed: make_oracle(kind, Y, X, rate=0.2, random_state=seed),
    )
    assert found.errors == ()


# ---------------------------------------------------------------------- uniform


def test_uniform_errors_are_what_they_were_before_there_were_other_kinds():
    # The answers must not change: the hash was computed before the other kinds were added, on 2026-11-17.
    y = [0, 1, 2, None, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3]
    questions = [Question.pair(*rows) for rows in combinations(range(14), 2)]
    questions += [Question.triplet(*rows[::-1]) for rows in combinations(range(14), 3)]
    questions += [Question.odd(rows) for rows in combinations(range(8), 4)]
    questions += [Question.piles(rows) for rows in combinations(range(10), 6)]
    answers = [
        str(NoisyOracle(y, rate=rate, random_state=seed).answer(question))
        for rate in (0.1, 1 / 3, 0.7)
        for seed in (0, 5)
        for question in questions
    ]
    assert (
        hashlib.sha256("\n".join(answers).encode()).hexdigest()
        == "75c93dc4a30b63206c17f502a88febc4d4e54e588a9cc8a2b9765989185a8f4a"
    )


# ---------------------------------------------------------------------- look-alikes


def test_look_alike_chances_by_hand():
    # Distances 1, 3, 4, 5, 6, 9 have the ranks 1/12, 3/12 … 11/12; the weights 11, 3, 7, 7, 3, 1 (of 12) have
    # the mean 16/36, so s is 0.3 · 36/16.
    oracle = LookAlikeOracle([0, 0, 1, 1], [[0.0], [3.0], [4.0], [9.0]], rate=0.3)
    expected = {(1, 2): 11, (0, 1): 3, (0, 2): 7, (2, 3): 7, (1, 3): 3, (0, 3): 1}
    for (i, j), weight in expected.items():
        assert oracle.compute_error_probability(i, j) == oracle.compute_error_probability(j, i)
        assert oracle.compute_error_probability(i, j) == pytest.approx(0.3 * 36 / 16 * weight / 12)


@pytest.mark.parametrize("rate", [0.1, 0.6, 0.95])
def test_look_alike_chances_grow_with_similarity_and_have_the_rate_as_their_mean(rate):
    oracle = LookAlikeOracle(Y, X, rate=rate)
    pairs = np.array([question.rows for question in PAIRS])
    chances = np.array([oracle.compute_error_probability(i, j) for i, j in pairs.tolist()])
    assert chances.mean() == pytest.approx(rate)
    assert chances.max() <= 0.95
    distances = np.abs(X[pairs[:, 0], 0] - X[pairs[:, 1], 0])
    order = np.argsort(distances)
    same = (Y[pairs[:, 0]] == Y[pairs[:, 1]])[order]
    assert (np.diff(chances[order][same]) >= 0).all()
    assert (np.diff(chances[order][~same]) <= 0).all()
    if rate == 0.1:
        assert chances[order][~same][0] > 10 * chances[order][~same][-1]


def test_look_alike_answers_are_wrong_where_the_chances_are_high():
    oracle = LookAlikeOracle(Y, X, rate=0.2, random_state=1)
    wrong = find_wrong(oracle, Y, PAIRS)
    chances = np.array([oracle.compute_error_probability(*question.rows) for question in PAIRS])
    high = chances > np.quantile(chances, 0.75)
    assert wrong[high].mean() == pytest.approx(chances[high].mean(), abs=0.07)  # 440 draws
    assert wrong[~high].mean() == pytest.approx(chances[~high].mean(), abs=0.035)


def test_look_alike_ranks_of_many_rows_come_from_a_sample():
    rng = np.random.default_rng(1)
    y = rng.integers(5, size=400)  # 79,800 pairs
    rows = rng.normal(size=(400, 2)) + y[:, None]
    oracle = LookAlikeOracle(y, rows, rate=0.1)
    chances = [
        oracle.compute_error_probability(i, (i + step) % 400) for i in range(400) for step in (1, 57, 133)
    ]
    assert np.mean(chances) == pytest.approx(0.1, abs=0.008)
    assert chances[:30] == [
        LookAlikeOracle(y, rows, rate=0.1, random_state=9).compute_error_probability(i, (i + step) % 400)
        for i in range(10)
        for step in (1, 57, 133)
    ]


def test_look_alikes_on_a_tray_move_to_the_pile_that_they_resemble():
    # Rows 0 to 3 of class 0, three of class 1 beside them, three of class 2 far away.
    rows = np.array([0.0, 0.1, 0.2, 0.3, 1.0, 1.1, 1.2, 9.0, 9.1, 9.2])[:, None]
    y = np.repeat([0, 1, 2], [4, 3, 3])
    near = far = 0
    for seed in range(200):
        piles = LookAlikeOracle(y, rows, rate=0.1, random_state=seed).answer(Question.piles(range(10))).groups
        near += any({0, 4} <= set(pile) for pile in piles)
        far += any({0, 7} <= set(pile) for pile in piles)
    assert far > 0
    assert near > 3 * far


def test_look_alike_triplets_confuse_the_near_row():
    # The truth is AB. Row 2 is near row 1, so BC is the most frequent of the two wrong pairs.
    rows, y = [[0.0], [5.0], [5.1], [20.0]], [0, 0, 1, 2]
    answers = [
        LookAlikeOracle(y, rows, rate=0.3, random_state=seed).answer(Question.triplet(0, 1, 2))
        for seed in range(500)
    ]
    counts = {word: answers.count(word) for word in ("AB", "AC", "BC", "NEITHER")}
    assert min(counts.values()) > 0
    assert counts["BC"] > 1.3 * counts["AC"]


def test_rows_that_are_all_equal_have_one_chance():
    oracle = LookAlikeOracle([0, 0, 1], np.ones((3, 2)), rate=0.2)
    assert [oracle.compute_error_probability(*pair) for pair in ((0, 1), (0, 2), (1, 2))] == pytest.approx(
        [0.2] * 3
    )
    assert LookAlikeOracle([None, None], [[0.0], [1.0]]).compute_error_probability(0, 1) == 0


# ---------------------------------------------------------------------- coarse


def test_coarse_answers_are_a_partition_of_whole_classes():
    oracle = CoarseOracle(Y, 4, X=X)
    assert len(set(oracle.groups.values())) == 4
    group_of = np.array([oracle.groups[label] for label in Y])
    for question in PAIRS:
        i, j = question.rows
        assert (oracle.answer(question) is Answer.SAME) == (group_of[i] == group_of[j])
    # The nearest two classes are merged first, then the next.
    assert oracle.groups[0] == oracle.groups[1]
    assert oracle.groups[2] == oracle.groups[3]
    assert oracle.groups[4] != oracle.groups[5]


def test_coarse_answers_to_all_kinds_of_questions():
    oracle = CoarseOracle(list("abcc"), {"a": "x", "b": "x"})
    assert oracle.answer(Question.triplet(0, 1, 2)) is Answer.AB
    assert oracle.answer(Question.odd([0, 1, 2])) == OddOne(2)
    assert oracle.answer(Question.piles(range(4))) == Piles([[0, 1], [2, 3]])


def test_a_class_can_be_merged_into_another():
    oracle = CoarseOracle(["wren", "finch", "owl"], {"wren": "finch"})
    assert oracle.groups == {"wren": "finch", "finch": "finch", "owl": "owl"}
    assert [oracle.answer(Question.pair(0, j)) for j in (1, 2)] == ["SAME", "DIFFERENT"]


@pytest.mark.parametrize(("rate", "n_groups"), [(0.0, 77), (0.001, 76), (0.1, 69), (0.69, 24), (1.0, 1)])
def test_the_rate_of_a_coarse_oracle_is_the_share_of_classes_merged(rate, n_groups):
    rows = np.random.default_rng(0).normal(size=(77, 3))
    assert len(set(make_oracle("coarse", np.arange(77), rows, rate=rate).groups.values())) == n_groups


# ---------------------------------------------------------------------- fatigue


def test_the_rate_of_a_tired_annotator_grows_to_its_final_value():
    oracle = FatigueOracle(Y, rate=0.1, final_rate=0.5, n_questions=5)
    rates = []
    for question in PAIRS[:7]:
        rates.append(oracle.current_rate)
        oracle.answer(question)
        oracle.answer(question)  # again, which does not count
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5])
    assert oracle.n_answered == 7


def test_a_tired_annotator_is_wrong_more_often_later():
    wrong = find_wrong(FatigueOracle(Y, rate=0.0, final_rate=0.4, n_questions=len(PAIRS)), Y, PAIRS)
    thirds = [part.mean() for part in np.array_split(wrong, 3)]
    assert thirds == pytest.approx([0.4 / 6, 0.4 / 2, 0.4 * 5 / 6], abs=0.06)  # 590 draws each


def test_a_tired_annotator_repeats_the_first_answer():
    oracle = FatigueOracle([0] * 60, rate=0.0, final_rate=1.0, n_questions=2)
    assert oracle.answer(PAIRS[0]) is Answer.SAME
    assert {oracle.answer(question) for question in PAIRS[1:]} == {Answer.DIFFERENT}
    assert oracle.answer(PAIRS[0]) is Answer.SAME


def test_a_question_that_cannot_be_answered_tires_no_one():
    oracle = FatigueOracle([0, 1])
    with pytest.raises(SupervisionError):
        oracle.answer(Question.pair(0, 5))
    assert oracle.n_answered == 0


@pytest.mark.parametrize(("rate", "first", "final"), [(0.1, 0.0, 0.2), (0.5, 0.0, 1.0), (0.7, 0.4, 1.0)])
def test_the_mean_of_a_growing_rate_is_the_rate(rate, first, final):
    oracle = make_oracle("fatigue", Y, rate=rate, n_questions=50)
    assert (oracle.rate, oracle.final_rate) == pytest.approx((first, final))
    rates = []
    for question in PAIRS[:50]:
        rates.append(oracle.current_rate)
        oracle.answer(question)
    assert np.mean(rates) == pytest.approx(rate)


# ---------------------------------------------------------------------- confused classes


def test_confused_classes_are_wrong_at_their_chance_and_others_never():
    confusion = {(1, 0): 0.3, (2, 2): 0.5}
    wrong = find_wrong(ConfusionOracle(Y, confusion), Y, PAIRS)
    classes = np.sort([[Y[row] for row in question.rows] for question in PAIRS], axis=1)
    confused = (classes == [0, 1]).all(axis=1)
    split = (classes == [2, 2]).all(axis=1)
    assert wrong[confused].mean() == pytest.approx(0.3, abs=0.14)  # 100 draws: three standard deviations
    assert wrong[split].mean() == pytest.approx(0.5, abs=0.23)  # 45 draws
    assert not wrong[~confused & ~split].any()


def test_on_a_tray_rows_move_to_the_class_that_they_are_confused_with():
    question = Question.piles([0, 1, 10, 11, 20, 21])
    moved = 0
    for seed in range(200):
        piles = ConfusionOracle(Y, {(0, 1): 0.2}, random_state=seed).answer(question).groups
        assert (20, 21) in piles
        moved += sum(0 in pile and bool({10, 11} & set(pile)) for pile in piles)
    assert moved == pytest.approx(200 * (1 - 0.8**3), rel=0.25)  # one of rows 0, 10 and 11 moved


def test_the_odd_one_out_is_only_mistaken_for_a_confused_class():
    apart = Question.odd([0, 1, 2, 20])  # classes 0 and 2
    near = Question.odd([0, 1, 2, 10])  # classes 0 and 1
    answers = [
        [ConfusionOracle(Y, {(0, 1): 0.6}, random_state=seed).answer(question) for question in (apart, near)]
        for seed in range(100)
    ]
    assert {answer for answer, _ in answers} == {OddOne(20)}
    assert {answer for _, answer in answers} == {OddOne(row) for row in (0, 1, 2, 10)}


def test_the_nearest_classes_are_confused_first():
    oracle = make_oracle("confusion", Y, X, rate=0.03)
    # 10 · 10 of 1770 pairs of rows with probability 0.5, and the rest of the rate with the next two classes.
    assert list(oracle.confusion) == [(0, 1), (2, 3)]
    assert list(oracle.confusion.values()) == pytest.approx([0.5, 0.03 * 17.7 - 0.5])


def test_without_rows_the_seed_chooses_the_confused_classes():
    chosen = {tuple(make_oracle("confusion", Y, rate=0.02, random_state=seed).confusion) for seed in range(8)}
    assert len(chosen) > 3


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: make_oracle("lookalike", Y, X),
            "kind must be one of 'uniform', 'look-alike'.*got 'lookalike'",
        ),
        (lambda: make_oracle("coarse", Y), "'coarse' errors depend on the distances.*Pass the rows as X"),
        (lambda: make_oracle("look-alike", Y), "'look-alike' errors depend on the distances"),
        (lambda: make_oracle("uniform", Y, rate=2), "rate must be a number from 0 to 1, got 2"),
        (lambda: make_oracle("confusion", Y, X, rate=0.9), "rate must be at most 0.424 .* got 0.9"),
        (
            lambda: make_oracle("confusion", Y, random_state=-1),
            "random_state must be an integer of at least 0, got -1",
        ),
        (lambda: make_oracle("fatigue", Y, n_questions=1), "n_questions must be an integer of at least 2"),
        (lambda: LookAlikeOracle(Y, X[:5]), "X has 5 rows, but y has 60 entries"),
        (lambda: LookAlikeOracle(Y, X, rate=1.0), "rate must be a number from 0 to 0.95, got 1.0"),
        (lambda: LookAlikeOracle(Y, X * np.nan), "contains NaN"),
        (lambda: CoarseOracle(Y, 4), "X is missing. Pass the rows as X, or a mapping"),
        (lambda: CoarseOracle(Y, 7, X=X), "an integer from 1 to 6, the number of classes, got 7"),
        (lambda: CoarseOracle(Y, None), "groups must be a mapping of class to group or an integer"),
        (lambda: CoarseOracle(Y, {9: "x"}), "no row has the class 9; expected one of 0, 1, 2, 3, 4, …"),
        (lambda: CoarseOracle(Y, {1: ["x"]}), r"groups\[1\] must be a name or a number"),
        (lambda: FatigueOracle(Y, rate=0.3), "final_rate must be a number from rate, which is 0.3, to 1"),
        (lambda: ConfusionOracle(Y, 0.1), "confusion must be a mapping of"),
        (lambda: ConfusionOracle(Y, {"ab": 0.1}), "keys must be pairs of classes, got 'ab'"),
        (lambda: ConfusionOracle(Y, {(0, 9): 0.1}), "no row has the class 9"),
        (lambda: ConfusionOracle(Y, {(0, 1): 1.1}), r"confusion\[\(0, 1\)\] must be a number from 0 to 1"),
        (lambda: ConfusionOracle(Y, {(0, 1): 0.1, (1, 0): 0.2}), "two probabilities, 0.1 and 0.2"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
