"""Stopping criteria: changed labels, held-out answers, and the advice."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise import MPCKMeans
from likewise.active import Answer, Interview, NodeUncertainty, Outlook, Question, RandomPairs
from likewise.active._stopping import _compute_wilson_interval, compute_changed_share
from likewise.oracles import LabelOracle


def blobs(n=30, seed=0, gap=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(3 * n) % 3
    return rng.normal(size=(3 * n, 2)) + gap * np.array([[0, 0], [1, 0], [0, 1]])[y], y


def asking_about(X, **more):
    return Interview(X, **{"model": MPCKMeans(n_clusters=3), "strategy": NodeUncertainty("local")} | more)


def hold_answers(interview, y, n):
    oracle = LabelOracle(y)
    for _ in range(n):
        question = interview.ask()
        if question is not None:
            interview.tell(question, oracle.answer(question))
    return interview


class Echo(MPCKMeans):
    """Puts rows into clusters by the first column, regardless of hints; counts its fits."""

    fits = 0

    def fit(self, X, y=None, *, supervision=None, sample_weight=None):
        type(self).fits += 1
        self.labels_ = (X[:, 0] > 0).astype(int)
        return self


# ---------------------------------------------------------------------- parts by hand


def test_changes_are_counted_whatever_the_clusters_are_called():
    before = np.array([0, 0, 0, 1, 1, 2])
    assert compute_changed_share(before, np.array([5, 5, 5, 3, 3, 4])) == 0.0
    assert compute_changed_share(before, np.array([1, 1, 0, 0, 0, 2])) == pytest.approx(1 / 6)
    assert compute_changed_share(before, np.zeros(6)) == pytest.approx(
        1 / 2
    )  # one cluster where there were three


def test_the_interval_is_that_of_wilson():
    from scipy.stats import binomtest

    for right, n in [(0, 10), (7, 10), (45, 50), (50, 50)]:
        wanted = binomtest(right, n).proportion_ci(method="wilson")
        assert _compute_wilson_interval(right / n, n) == pytest.approx((wanted.low, wanted.high), abs=1e-6)


# ---------------------------------------------------------------------- held-out answers by hand


def test_held_out_answers_are_compared_with_labels_that_did_not_know_them():
    # The model clusters the rows by their sign; all answers but the last agree.
    X = np.r_[np.linspace(-2, -1, 12), np.linspace(1, 2, 12)][:, None]
    asking = Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs())
    for i in range(11):
        asking.tell(Question.pair(i, 12 + i), "DIFFERENT")  # none is implied by the others
    asking.tell(Question.pair(11, 23), "SAME")
    found = asking.progress()
    assert (found.n_held_out, found.accuracy) == (12, pytest.approx(11 / 12))
    assert found.interval == pytest.approx(_compute_wilson_interval(11 / 12, 12))
    assert (found.changed, found.n_answers, found.last) == (0.0, 12, 10)


def test_what_the_others_imply_is_not_held_out_and_a_tray_counts_by_its_open_pairs():
    X = np.r_[np.linspace(-2, -1, 15), np.linspace(1, 2, 15)][:, None]
    asking = Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs())
    for i in range(10):
        asking.tell(Question.pair(i, 15 + i), "DIFFERENT")
    assert asking.progress().n_held_out == 10
    asking.tell(Question.pair(2, 4), "UNSURE")
    asking.tell(Question.pair(0, 1), "SAME")  # in another fold than the answers that it connects
    asking.tell(Question.pair(1, 15), "DIFFERENT")  # is implied, and implies the first answer
    assert asking.progress().n_held_out == 10
    asking.tell(Question.piles([10, 11, 25]), [[10, 25], [11]])  # right of one pair in three
    found = asking.progress()
    assert (found.n_held_out, found.accuracy) == (11, pytest.approx((10 + 1 / 3) / 11))
    asking.tell(Question.piles([26, 27]), "UNSURE")
    assert asking.progress().n_held_out == 11


def test_ten_held_out_answers_are_needed():
    X = np.r_[np.linspace(-2, -1, 12), np.linspace(1, 2, 12)][:, None]
    asking = Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs())
    for i in range(9):
        asking.tell(Question.pair(i, 12 + i), "DIFFERENT")
    assert (asking.progress().accuracy, asking.progress().interval) == (None, None)
    asking.tell(Question.pair(9, 21), "DIFFERENT")
    assert asking.progress().accuracy == 1.0


# ---------------------------------------------------------------------- advice


def test_before_the_first_answers_it_is_too_soon():
    X, y = blobs()
    found = asking_about(X).progress()
    assert (found.changed, found.accuracy, found.worth_asking) == (None, None, True)
    assert str(found) == found.advice == "There are fewer than 10 answers yet: go on."
    assert hold_answers(asking_about(X), y, 3).progress(last=3).last == 3


def test_settled_labels_that_the_answers_bear_out_are_a_sign_to_stop():
    X, y = blobs(gap=20.0)
    asking = hold_answers(asking_about(X, random_state=1), y, 45)
    found = asking.progress()
    assert adjusted_rand_score(y, asking.labels_) == 1.0
    assert (found.changed, found.accuracy) == (0.0, 1.0)
    assert found.interval[0] > 0.8
    assert not found.worth_asking
    assert found.advice_code == "settled"
    assert found.advice.endswith("more answers will change little.")
    assert found.question == asking.ask() is not None
    assert found.gain == found.question.score


def test_labels_that_still_move_are_a_sign_to_go_on():
    X, y = blobs(gap=0.0)  # only the answers separate the classes
    found = hold_answers(
        asking_about(X, model=MPCKMeans(n_clusters=3, init="hints"), random_state=1), y, 40
    ).progress()
    assert found.changed > 0.02
    assert found.accuracy < 0.8
    assert found.worth_asking
    assert found.advice_code == "changing"
    assert found.advice.endswith("% of the labels changed over the last 10 answers: go on.")


def test_settled_labels_that_the_answers_do_not_bear_out_are_no_sign_to_stop():
    X = np.r_[np.linspace(-2, -1, 12), np.linspace(1, 2, 12)][:, None]
    asking = Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs())
    for i in range(12):
        asking.tell(Question.pair(i, 12 + i), "SAME")
    found = asking.progress()
    assert (found.changed, found.accuracy, found.worth_asking) == (0.0, 0.0, True)
    assert found.advice == (
        "0.0% of the labels changed over the last 10 answers, but only 0% (0% to 24%) of the held-out "
        "answers are predicted: go on, or try another model."
    )


def test_a_few_answers_that_bear_them_out_are_not_certain_enough():
    X = np.r_[np.linspace(-2, -1, 16), np.linspace(1, 2, 16)][:, None]
    asking = Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs())
    for i in range(15):
        asking.tell(Question.pair(i, 16 + i), "DIFFERENT")
    found = asking.progress()
    assert (found.accuracy, found.worth_asking) == (1.0, True)
    assert found.advice.endswith(
        "100% (80% to 100%) of the held-out answers are predicted, which is not certain enough: go on."
    )
    asking.tell(Question.pair(15, 31), "DIFFERENT")
    assert not asking.progress().worth_asking


def test_settled_labels_with_little_to_check_them_are_no_sign_to_stop():
    X, _ = blobs(gap=20.0)
    asking = asking_about(X, strategy=RandomPairs())
    for i in range(3):
        asking.tell(Question.pair(i, i + 3), "SAME")
    found = asking.progress(last=3)
    assert (found.changed, found.worth_asking) == (0.0, True)
    assert found.advice_code == "untested"
    assert "too few answers could be held out" in found.advice


def test_an_oracle_that_is_never_sure_is_a_sign_to_stop():
    X, _ = blobs()
    asking = asking_about(X, strategy=RandomPairs())
    for _ in range(10):
        asking.tell(asking.ask(), Answer.UNSURE)
    assert asking.progress().advice.startswith("All of the last 10 answers were UNSURE")
    assert not asking.progress().worth_asking


def test_the_end_is_a_sign_to_stop():
    X, y = blobs()
    spent = hold_answers(asking_about(X, budget=2), y, 2).progress()
    assert (spent.worth_asking, spent.advice, spent.question, spent.gain) == (
        False,
        "The budget is spent.",
        None,
        None,
    )
    done = hold_answers(Interview([[0.0], [1.0]], n_clusters=2), [0, 1], 1).progress()
    assert (done.worth_asking, done.advice) == (False, "There is nothing left to ask.")


def test_without_a_model_there_is_little_to_say():
    X, y = blobs()
    found = hold_answers(Interview(X, strategy="farthest-first"), y, 12).progress()
    assert (found.changed, found.accuracy, found.worth_asking) == (None, None, True)
    assert found.advice_code == "no model"
    assert found.advice.startswith("Without a model")


# ---------------------------------------------------------------------- caching


def test_it_is_derived_from_the_answers_alone(tmp_path):
    X, y = blobs(gap=3.0)
    asking = hold_answers(asking_about(X, random_state=5), y, 20)
    first = asking.progress()
    assert isinstance(first, Outlook)
    assert asking.progress() == first
    asking.save(tmp_path / "i.json")
    assert Interview.load(tmp_path / "i.json", X, model=MPCKMeans(n_clusters=3)).progress() == first
    asking.tell(asking.ask(), "UNSURE")
    asking.undo()
    assert asking.progress() == first


def test_looking_again_costs_no_fit():
    X, y = blobs()
    asking = hold_answers(Interview(X, model=Echo(n_clusters=3), strategy=RandomPairs()), y, 15)
    Echo.fits = 0
    asking.progress()
    assert Echo.fits == 8  # now, ten answers ago, before the first, and five folds
    asking.progress()
    _ = asking.progress(last=10).changed
    assert Echo.fits == 8


@pytest.mark.parametrize("last", [0, -1, 1.5, None])
def test_how_far_to_look_back_is_checked(last):
    X, _ = blobs()
    with pytest.raises(ValueError, match="last must be an integer of at least 1"):
        asking_about(X).progress(last=last)
