"""Comparisons of many interviews: summaries of traces, and runs that do not depend on their execution."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import normalized_mutual_info_score

from likewise import MPCKMeans, PCKMeans
from likewise.active import (
    Comparison,
    Estimate,
    Interview,
    MinMax,
    RandomPairs,
    RunFailure,
    Trace,
    compare,
    simulate,
)
from likewise.active.strategies import DEFAULT, STRATEGIES, make_model, make_strategy
from likewise.bayesian import BayesianClustering
from likewise.exceptions import LikewiseError, SupervisionError, UnsupportedSupervisionError
from likewise.oracles import LabelOracle, NoisyOracle

X = np.array([[0.0], [0.2], [0.4], [4.0], [4.2], [4.4], [8.0], [8.2], [8.4]])
Y = np.repeat(["wren", "owl", "wren"], 3)
FAST = PCKMeans(2, n_init=1)


def compare_methods(strategies=("random", "min-max"), **more):
    return compare(strategies, X, Y, **{"budget": 6, "repeats": 3, "model": FAST} | more)


def trace(scores, n_answers=(0, 10, 20), seconds=()):
    return Trace(np.array(n_answers), np.array(scores, dtype=float), np.array(seconds, dtype=float))


FOUND = Comparison(
    {
        "a": {0: trace([0, 0.2, 0.4]), 1: trace([0, 0.4, 0.6])},
        "b": {0: trace([0, 0.6, 0.8]), 1: trace([0, 0.6, 1.0]), 2: trace([0, 0.2, 0.2])},
        "c": {},
    },
    (RunFailure("c", 0, "ValueError: no"),),
)


def assert_same(one, other):
    """Compare all but the seconds."""
    assert one.names == other.names
    for name in one.names:
        assert list(one.traces[name]) == list(other.traces[name])
        for seed, interview in one.traces[name].items():
            np.testing.assert_array_equal(interview.n_answers, other.traces[name][seed].n_answers)
            np.testing.assert_array_equal(interview.scores, other.traces[name][seed].scores)


# ---------------------------------------------------------------------- summaries of traces


def test_curves_by_hand():
    assert FOUND.n_answers.tolist() == [0, 10, 20]
    np.testing.assert_allclose(FOUND.scores("a"), [[0, 0.2, 0.4], [0, 0.4, 0.6]])
    curve = FOUND.curve("a")
    np.testing.assert_allclose(curve.mean, [0, 0.3, 0.5])
    # s = √.02, the standard error .1, and t of one degree of freedom 12.706.
    np.testing.assert_allclose(curve.high - curve.mean, [0, 1.2706, 1.2706], atol=1e-4)
    np.testing.assert_allclose(curve.mean - curve.low, curve.high - curve.mean)


def test_areas_by_hand():
    area = FOUND.measure("a")  # (1 + 3) / 20 and (2 + 5) / 20
    assert area.mean == pytest.approx(0.275)
    assert area.error == pytest.approx(0.075)
    assert area.n_runs == 2
    assert set(FOUND.areas) == {"a", "b"}
    assert FOUND.measure("b", "final").mean == pytest.approx(2 / 3)
    assert FOUND.measure("b", "start").mean == 0


def test_a_run_that_ended_early_keeps_its_score():
    found = Comparison({"a": {0: trace([0, 1], [0, 4])}, "b": {0: trace([0, 0.5, 1.0], [0, 4, 8])}})
    assert found.n_answers.tolist() == [0, 4, 8]
    assert found.scores("a").tolist() == [[0, 1, 1]]
    assert found.measure("a").mean == pytest.approx(0.75)  # trace.area would be .5, over half the width
    assert found.measure("b").mean == pytest.approx(0.5)


def test_answers_to_reach_by_hand():
    reached = FOUND.answers_to_reach(0.6)
    assert (reached["a"].median, reached["a"].n_reached, reached["a"].n_runs) == (None, 1, 2)
    assert (reached["b"].median, reached["b"].n_reached, reached["b"].n_runs) == (10, 2, 3)
    assert "c" not in reached


def test_differences_are_paired_by_seed():
    of_areas = FOUND.difference(
        "b", "a"
    )  # (3 + 7 - 1 - 3) / 20 and (3 + 8 - 2 - 5) / 20; seed 2 has no partner
    assert of_areas.n_runs == 2
    assert of_areas.mean == pytest.approx(0.25)
    assert of_areas.error == pytest.approx(0.05)
    assert FOUND.difference("a", "b").mean == pytest.approx(-0.25)
    assert FOUND.difference("b", "a", of="final").mean == pytest.approx(0.4)


def test_intervals_are_those_of_scipy():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 8))
    by_us = Estimate.from_values(one, 0.9)
    interval = ttest_1samp(one, 0).confidence_interval(0.9)
    np.testing.assert_allclose([by_us.low, by_us.high], [interval.low, interval.high])
    found = Comparison(
        {
            name: {seed: trace([0, value], [0, 1]) for seed, value in enumerate(values)}
            for name, values in (("one", one), ("other", other))
        }
    )
    paired = found.difference("one", "other", of="final")
    interval = ttest_rel(one, other).confidence_interval(0.95)
    np.testing.assert_allclose([paired.low, paired.high], [interval.low, interval.high])


def test_one_run_has_no_band():
    found = Comparison({"a": {5: trace([0, 0.2, 0.4])}})
    assert found.curve("a").low is None
    assert found.curve("a").high is None
    assert found.measure("a") == Estimate(pytest.approx(0.2), None, None, None, 1)
    assert found.rows()[0]["area_error"] is None
    assert "area" in found.table()


def test_the_table_by_hand():
    assert FOUND.table(reach=0.6).splitlines() == [
        "strategy  runs  start  final     ±  area     ±  behind the best, 95 %       answers to .6  seconds",
        "b            3   .000   .667  .240  .400  .126                           10 (2 of 3 runs)",
        "a            2   .000   .500  .100  .275  .075  -.250 [-.885, .385]    more (1 of 2 runs)",
        "c            0                                  every run failed",
    ]
    rows = FOUND.rows(reach=0.6)
    assert [row["strategy"] for row in rows] == ["b", "a", "c"]
    assert [row["failed"] for row in rows] == [0, 0, 1]
    assert [row["reached"] for row in rows] == [2, 1, 0]
    assert rows[1]["behind"] == pytest.approx(-0.25)
    assert rows[0]["behind"] is None
    assert rows[0]["seconds"] is None
    assert "answers_to_reach" not in FOUND.rows()[0]
    json.dumps(rows, allow_nan=False)


def test_all_or_no_run_reaching_a_score():
    found = Comparison({"a": {0: trace([0, 0.5, 1]), 1: trace([0, 1, 1])}, "b": {0: trace([0, 0, 0])}})
    table = found.table(reach=1).splitlines()
    assert "15" in table[1]
    assert "never" in table[2]


def test_a_comparison_goes_through_json():
    again = Comparison.from_dict(json.loads(json.dumps(FOUND.to_dict())))
    assert_same(again, FOUND)
    assert again.errors == FOUND.errors
    assert again.table(0.6) == FOUND.table(0.6)
    assert repr(again) == "Comparison(a, b, c: 5 runs, 1 failed)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FOUND.curve("d"), "there is no strategy 'd'; expected one of a, b, c"),
        (lambda: FOUND.curve("c"), "every run of 'c' failed"),
        (lambda: FOUND.measure("a", "median"), "of must be one of"),
        (lambda: FOUND.curve("a", level=95), "level must be between 0 and 1"),
        (
            lambda: Comparison({"a": {0: trace([0, 0, 0])}, "b": {1: trace([0, 0, 0])}}).difference("a", "b"),
            "have no seed for which both runs succeeded",
        ),
    ],
)
def test_what_cannot_be_stated(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------------- runs


def test_a_run_is_the_interview_of_its_seed():
    found = compare_methods(random_state=4)
    assert found.names == ("random", "min-max")
    assert [list(runs) for runs in found.traces.values()] == [[4, 5, 6]] * 2
    alone = simulate(
        Interview(X, model=PCKMeans(2, n_init=1), strategy=MinMax(), n_clusters=2, random_state=5),
        LabelOracle(Y),
        6,
        y_true=Y,
    )
    np.testing.assert_array_equal(found.traces["min-max"][5].scores, alone.scores)
    assert found.score_name == "adjusted Rand index"
    assert found.errors == ()


def test_the_same_seed_gives_the_same_and_another_another():
    first = compare_methods()
    assert_same(first, compare_methods())
    shifted = compare_methods(random_state=1)
    for seed in (1, 2):
        np.testing.assert_array_equal(
            first.traces["random"][seed].scores, shifted.traces["random"][seed].scores
        )
    assert len({interview.scores.tobytes() for interview in first.traces["random"].values()}) > 1


@pytest.mark.slow  # other processes have to import everything
def test_two_processes_find_what_one_finds():
    one = compare_methods(n_jobs=1, oracle=lambda seed: NoisyOracle(Y, rate=0.2, random_state=seed))
    two = compare_methods(n_jobs=2, oracle=lambda seed: NoisyOracle(Y, rate=0.2, random_state=seed))
    assert_same(one, two)


@pytest.mark.slow  # other processes have to import everything
def test_large_rows_reach_other_processes_too():
    rng = np.random.default_rng(0)
    truth = np.arange(4000) % 2
    wide = rng.normal(size=(4000, 40)) + 9 * truth[:, None]  # so large that joblib uses a memory map
    assert_same(*(compare("random", wide, truth, budget=1, repeats=2, model=FAST, n_jobs=n) for n in (1, 2)))


def test_strategies_may_come_in_many_ways():
    assert compare_methods("random", repeats=1).names == ("random",)
    assert compare_methods(RandomPairs(), repeats=1).names == ("random",)
    assert compare_methods([RandomPairs(), "min-max", None], repeats=1).names == (
        "random",
        "min-max",
        "default",
    )
    assert compare_methods((RandomPairs(), FAST), repeats=1, model=None).names == ("random with PCKMeans",)
    by_name = {"plain": RandomPairs(), "with metric": ("random", MPCKMeans(2, n_init=1))}
    found = compare_methods(by_name, repeats=1)
    assert found.names == ("plain", "with metric")
    alone = compare_methods({"with metric": "random"}, model=MPCKMeans(2, n_init=1), repeats=1)
    np.testing.assert_array_equal(found.scores("with metric"), alone.scores("with metric"))


def test_every_name_is_that_of_its_strategy():
    called = {name: make_strategy(name).name for name in STRATEGIES}
    assert called == {name: name for name in STRATEGIES}
    assert make_strategy(DEFAULT) is None
    assert isinstance(make_model("uncertain", 3), BayesianClustering)
    assert make_model("random", 3) is None
    assert all(
        make_model(name, 3) is not None
        for name in STRATEGIES
        if make_strategy(name).needs & {"proba", "draws"}
    )


def test_scores_are_taken_every_so_many_answers():
    calls = []

    def mutual(truth, labels):
        calls.append(list(truth) == list(Y))
        return normalized_mutual_info_score(truth, labels)

    found = compare_methods("random", every=4, score=mutual, repeats=1)
    assert found.n_answers.tolist() == [0, 4, 6]
    assert found.score_name == "mutual"
    assert calls == [True] * 3


def test_a_budget_larger_than_all_pairs_ends_with_the_questions():
    found = compare_methods(budget=1000, repeats=2)
    assert found.n_answers[-1] < 36
    assert found.measure("random", "final").mean == 1.0
    assert_same(found, compare_methods(budget=None, repeats=2))


def test_progress_is_reported_and_else_nothing(capfd):
    calls = []
    compare_methods(repeats=2, progress=lambda *numbers: calls.append(numbers))
    assert calls == [(n, 4) for n in range(1, 5)]
    compare_methods(repeats=1, progress=True)  # stderr is not a terminal here
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_drawn_on_a_terminal(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    compare_methods("random", repeats=1, progress=True)
    shown = capfd.readouterr()
    assert "interviews" in shown.err
    assert shown.out == ""


# ---------------------------------------------------------------------- failures


class Moody:
    def __init__(self, seed):
        self.seed, self.n_answers = seed, 0

    def answer(self, question):
        self.n_answers += 1
        if self.seed == 1 and self.n_answers == 3:
            raise ConnectionError("gone")
        return "UNSURE"


def test_a_run_that_fails_loses_no_other():
    with pytest.warns(FitFailedWarning, match=r"2 of 6 runs failed, the first 'random' with seed 1.*gone"):
        found = compare_methods(oracle=Moody)
    assert [list(runs) for runs in found.traces.values()] == [[0, 2]] * 2
    assert [(failure.strategy, failure.seed) for failure in found.errors] == [("random", 1), ("min-max", 1)]
    assert "ConnectionError: gone" in found.errors[0].error
    assert "keeps the 2 answer(s)" in found.errors[0].error
    assert found.rows()[0]["failed"] == 1


def test_if_all_runs_fail_there_is_an_error():
    class Broken:
        def __init__(self, seed):
            pass

        def answer(self, question):
            raise ConnectionError("gone")

    with pytest.raises(LikewiseError, match="every run failed, the first 'random' with seed 0: OracleError"):
        compare_methods(oracle=Broken)


def test_warnings_of_all_runs_are_reported_once():
    with pytest.warns(ConvergenceWarning, match=r"'random' with seed 0: .*more such warning") as caught:
        compare_methods(model=PCKMeans(2, n_init=1, max_iter=1))
    assert len(caught) == 1


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_lies_fail_nothing(rate):
    found = compare_methods(budget=40, oracle=lambda seed: NoisyOracle(Y, rate=rate, random_state=seed))
    assert found.errors == ()
    assert all(np.isfinite(found.scores(name)).all() for name in found.names)


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"strategies": "rndom"}, ValueError, "no strategy 'rndom'; did you mean 'random'"),
        (
            {"strategies": "xyz"},
            ValueError,
            "no strategy 'xyz'; expected one of default, regions, tray, random",
        ),
        ({"strategies": []}, ValueError, "strategies is empty"),
        ({"strategies": 3}, TypeError, "must be a dict or a list"),
        ({"strategies": [3]}, TypeError, "expected a strategy such as"),
        ({"strategies": [RandomPairs]}, TypeError, "expected a strategy such as"),
        ({"strategies": ["random", RandomPairs()]}, ValueError, "2 strategies are called 'random'"),
        ({"strategies": "uncertain"}, LikewiseError, "needs probabilities, which PCKMeans does not have"),
        ({"model": KMeans(2)}, UnsupportedSupervisionError, "does not support hints"),
        ({"model": PCKMeans(3), "n_clusters": 2}, ValueError, "n_clusters=2, but the model has n_clusters=3"),
        ({"n_clusters": 10}, ValueError, "10"),
        ({"n_clusters": 1}, ValueError, "n_clusters must be"),
        ({"budget": -1}, ValueError, "budget must be"),
        ({"repeats": 0}, ValueError, "repeats must be"),
        ({"every": 0}, ValueError, "every must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
        ({"oracle": LabelOracle(Y)}, TypeError, "a function that makes an oracle from the seed"),
        ({"oracle": lambda seed: "SAME"}, TypeError, "expected an oracle with a method answer"),
        ({"y_true": ["wren"] * 9}, ValueError, "got 'wren' for all 9 rows"),
        ({"y_true": [*Y[:-1], None]}, SupervisionError, "no class for 1 row"),
        ({"y_true": Y[:3]}, SupervisionError, "one class per row"),
        ({"X": np.where(X == 0, np.nan, X)}, ValueError, "NaN"),
    ],
)
def test_what_cannot_be_compared(more, error, message):
    given = {"strategies": "random", "X": X, "y_true": Y, "model": PCKMeans(2)} | more
    with pytest.raises(error, match=message):
        compare(**given)
