"""Uncertain regions: by hand, batches, postponed fits, and the default strategy."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise import MPCKMeans, PropagationClustering
from likewise.active import Interview, NodeUncertainty, UncertainRegions, simulate
from likewise.datasets import load
from likewise.exceptions import DatasetNotFoundError
from likewise.oracles import LabelOracle

SIDE = np.repeat([0, 1], 12)


def two_lines():
    """Two groups of twelve rows; a gap between them."""
    return np.r_[np.linspace(0, 1, 12), np.linspace(3, 4, 12)][:, None]


def interview(X, k, **more):
    """An interview with certain answers; tests/active/test_errors.py has those that may be wrong."""
    more = {"errors": 0, **more}
    return Interview(X, model=PropagationClustering(k), strategy=UncertainRegions(), **more)


def test_first_it_is_asked_whether_the_clusters_are_apart():
    question = interview(two_lines(), 2).ask()
    assert SIDE[question.rows[0]] != SIDE[question.rows[1]]
    assert "are the groups the same" in str(question.reason)


def test_a_row_is_put_beside_the_nearest_of_its_likeliest_class():
    asking = interview(two_lines(), 2)
    asking.tell(asking.ask(), "DIFFERENT")
    question = asking.ask()
    assert SIDE[question.rows[0]] == SIDE[question.rows[1]]
    assert "represents nearby rows" in str(question.reason)
    assert question.score > 0


def test_a_batch_is_about_different_regions():
    X = np.r_[np.linspace(0, 1, 60), np.linspace(3, 4, 60)][:, None]
    asking = interview(X, 2)
    medoids = asking.ask().rows
    asking.tell(asking.ask(), "DIFFERENT")
    asked = asking.ask(3)
    rows = sorted(row for question in asked for row in question.rows if row not in medoids)
    assert asked[0] == asking.ask()
    assert len(rows) == 3
    assert np.diff(rows).min() > 5


@pytest.mark.parametrize("vague", ["UNSURE", "skip"])
def test_a_question_asked_in_vain_is_not_asked_again_in_other_words(vague):
    asking = interview(two_lines(), 2)
    asking.tell(asking.ask(), "DIFFERENT")
    first = asking.ask()
    if vague == "skip":
        asking.skip(first)
    else:
        asking.tell(first, vague)
    assert asking.ask().key != first.key


def test_everything_can_be_asked_until_nothing_is_left():
    X = np.r_[two_lines(), two_lines()]
    y = np.random.default_rng(0).integers(3, size=len(X))
    asking = interview(X, 3)
    simulate(asking, LabelOracle(y), y_true=y, every=1000)
    assert asking.finished
    assert adjusted_rand_score(y, asking.labels_) == 1.0


def test_the_model_is_fitted_again_when_answers_have_grown_by_a_share():
    strategy = UncertainRegions(patience=10)
    assert [strategy.count_answers_to_fit(n) for n in (0, 1, 9, 19, 20, 21, 39, 57)] == [
        0,
        1,
        9,
        19,
        20,
        20,
        39,
        55,
    ]
    assert all(n - n // 10 <= strategy.count_answers_to_fit(n) <= n for n in range(300))


def test_a_loaded_interview_asks_the_same_between_two_fits(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    asking = Interview(X, n_clusters=4, strategy=UncertainRegions(patience=5))
    for _ in range(23):
        asking.tell(asking.ask(), LabelOracle(y).answer(asking.ask()))
        asking.labels_  # noqa: B018 - read, so another model is fitted in between
    asking.save(tmp_path / "held.json")
    later = Interview.load(tmp_path / "held.json", X)
    assert later.ask() == asking.ask()
    asking.undo()
    later.undo()
    assert later.ask() == asking.ask()


def test_a_model_without_classes_is_refused():
    asking = Interview(two_lines(), model=MPCKMeans(2), strategy=UncertainRegions())
    with pytest.raises(ValueError, match="PropagationClustering"):
        asking.ask()


@pytest.mark.parametrize("wrong", [{"steps": -1}, {"compare": 0.5}, {"patience": 0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        UncertainRegions(**wrong)


def test_it_is_the_default_with_its_model():
    asking = Interview(two_lines(), n_clusters=2)
    assert isinstance(asking.strategy, UncertainRegions)
    assert isinstance(asking.model, PropagationClustering)
    own = Interview(two_lines(), model=MPCKMeans(2))
    assert isinstance(own.strategy, NodeUncertainty)


def test_clusters_that_do_not_exist_are_found_out():
    # Three groups: k-means merges two of them and splits the third, which is wide.
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 0.1, (30, 2)), rng.normal(0.8, 0.1, (30, 2)), rng.uniform(4, 9, (60, 2))]
    y = np.repeat([0, 1, 2], [30, 30, 60])
    asking = Interview(X, n_clusters=3)
    trace = simulate(asking, LabelOracle(y), 25, y_true=y, every=5)
    assert trace.scores[0] < 0.8
    assert trace.scores[-1] == 1.0


def test_the_number_of_clusters_need_not_be_known():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(4), 20)
    X = np.array([(0, 0), (4, 0), (0, 4), (4, 4)])[y] + rng.normal(0, 0.4, (80, 2))
    asking = Interview(X, discover=True)
    simulate(asking, LabelOracle(y), 60, y_true=y, every=60)
    assert adjusted_rand_score(y, asking.labels_) > 0.95


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_the_default_does_not_end_below_its_start(name):
    try:
        data = load(name)
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    X = np.asarray(data.X, dtype=float)
    if name == "wine":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    k = len(np.unique(data.y))
    trace = simulate(Interview(X, n_clusters=k), LabelOracle(data.y), 60, y_true=data.y, every=30)
    assert trace.scores[-1] > max(trace.scores[0], 0.85)
