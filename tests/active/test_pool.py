"""Pools, and interviews about very many rows."""

from itertools import pairwise

import numpy as np
import pytest

from likewise import MPCKMeans, Supervision
from likewise.active import (
    Answer,
    FarthestFirst,
    Interview,
    OddOne,
    Piles,
    Pool,
    Question,
    RandomPairs,
    Reason,
)
from likewise.active import _pool as checks_module
from likewise.active import _pool as doubt_module
from likewise.active._questions import Reply
from likewise.backends import ArrayRows, Rows
from likewise.datasets import MemmapRows
from likewise.exceptions import FileFormatError, SupervisionError
from likewise.oracles import LabelOracle
from likewise.spectral import PropagationClustering

N = 3_000
SMALL = Pool(size=150, sample=1_200, every=4, doubtful=0.25, n_neighbors=8)
CUTS = [0, 0, 1, 2, 700, 700, 701, 2_500, N]
BLOCKS = [slice(lo, hi) for lo, hi in pairwise(CUTS)]


def make_case():
    """Three clusters that overlap and one of a hundredth of the rows, far away."""
    rng = np.random.default_rng(5)
    y = rng.choice(4, size=N, p=[0.4, 0.35, 0.24, 0.01])
    centers = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0], [30, 30, 30]])
    return (centers[y] + rng.normal(size=(N, 3))).astype(np.float32), y


X, Y = make_case()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    name = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(name, X)
    return name


def interview(rows=X, **more):
    return Interview(rows, **{"n_clusters": 4, "pool": SMALL, "random_state": 3} | more)


def answer_questions(talk, n, oracle=None):
    """Answer n questions; return their rows."""
    oracle, asked = oracle or LabelOracle(Y), []
    for _ in range(n):
        question = talk.ask()
        talk.tell(question, oracle.answer(question))
        asked.append(question.rows)
    return asked


# ---------------------------------------------------------------------- pools


def test_a_pool_goes_by_rows_and_seed_and_not_by_blocks(path):
    first = SMALL.choose_first(X, random_state=1)
    assert len(first) == len(np.unique(first)) == 150
    among, labels = np.arange(400), Y[:400]
    refreshed = SMALL.choose_again(X, among, labels, random_state=1)
    for rows in (ArrayRows(X, BLOCKS), MemmapRows(path, block_rows=97)):
        np.testing.assert_array_equal(SMALL.choose_first(rows, random_state=1), first)
        np.testing.assert_array_equal(SMALL.choose_again(rows, among, labels, random_state=1), refreshed)
    assert not np.array_equal(SMALL.choose_first(X, random_state=2), first)


def test_a_small_cluster_has_more_than_its_share():
    pools = [SMALL.choose_first(X, random_state=seed) for seed in range(5)]
    assert min((Y[rows] == 3).sum() for rows in pools) >= 3  # its share would be one or two
    assert np.mean([(Y[rows] == 3).mean() for rows in pools]) > 2 * (Y == 3).mean()


def test_named_rows_stay():
    named = [2_999, 5, 17]
    assert set(named) <= set(SMALL.choose_first(X, named=named).tolist())
    rows = SMALL.choose_again(X, np.arange(300), Y[:300], named=named)
    assert len(rows) == 150
    assert set(named) <= set(rows.tolist())
    assert len(SMALL.choose_first(X, named=range(200))) == 200  # more than its size


def test_a_later_pool_brings_rows_from_between_clusters():
    model = MPCKMeans(3, n_init=1, random_state=0).fit(X[Y < 3])
    some = np.flatnonzero(Y < 3)
    first = SMALL.choose_first(X)
    rows = SMALL.choose_again(X, some, model.labels_, model=model)
    new = np.setdiff1d(rows, first)
    assert len(new) > 15

    def margin(rows):
        near, far = np.sort(model.transform(X[rows]), axis=1)[:, :2].T
        return (far - near) / (far + near)

    closest = np.sort(margin(new))[: int(150 * 0.125)]
    assert closest.max() < 0.05
    assert np.median(margin(first)) > 0.2


def test_of_very_many_rows_every_so_many_th_is_looked_at(monkeypatch):
    monkeypatch.setattr(doubt_module, "_LOOKED_AT", 600)
    monkeypatch.setattr(doubt_module, "_CLEAR", 1.0)
    sites = doubt_module.find_sites(X[:300], Y[:300], 0)
    rows = doubt_module.find_ambiguous_rows(ArrayRows(X), *sites, None, 50)
    assert len(rows) == 50
    assert not (rows % 5).any()
    np.testing.assert_array_equal(
        doubt_module.find_ambiguous_rows(ArrayRows(X, BLOCKS), *sites, None, 50), rows
    )


def test_with_one_cluster_nothing_is_in_doubt():
    rows = SMALL.choose_again(X, [0, 1, 2], [0, 0, 0])
    np.testing.assert_array_equal(rows, SMALL.choose_first(X))


def test_duplicates_make_a_pool():
    assert len(Pool(size=10, sample=40).choose_first(np.zeros((50, 2)))) == 10
    assert Pool(size=2, sample=2).choose_first(np.zeros((2, 1))).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"size": 1}, "size must be an integer of at least 2"),
        ({"size": 2.5}, "size must be"),
        ({"every": 0}, "every must be"),
        ({"doubtful": 1.5}, "doubtful must be a number from 0 to 1, got 1.5"),
        ({"size": 100, "sample": 50}, "got size=100 and sample=50"),
        ({"neighbor_search": "magic"}, "neighbor_search must be one of"),
    ],
)
def test_bad_settings_of_a_pool(settings, words):
    with pytest.raises(ValueError, match=words):
        Pool(**settings)


# ---------------------------------------------------------------------- interviews


def test_questions_speak_of_all_rows_and_labels_are_those_of_the_model(path):
    talk = interview(MemmapRows(path, block_rows=101), pool=Pool(size=150, sample=1_200), errors=0)
    asked = answer_questions(talk, 10)
    assert max(max(rows) for rows in asked) >= 150
    rows = talk.pool_rows
    assert set(np.unique(asked)) <= set(rows.tolist())
    assert talk.supervision.n_samples == N
    assert talk.supervision.restrict_to_hinted()[0].tolist() == np.unique(asked).tolist()

    hints = talk.state().closure.links
    supervision = Supervision.from_links(len(rows), must=hints.must, cannot=hints.cannot)
    model = PropagationClustering(4, learn_metric=True, random_state=3)
    model.fit(X[rows], supervision=supervision)
    expected = model.predict(X)
    expected[rows] = model.labels_
    np.testing.assert_array_equal(talk.labels_, expected)
    assert talk.labels_ is talk.labels_  # a pass over all rows, made once


def test_the_same_rows_anywhere_give_the_same_interview(path):
    asked = answer_questions(interview(), 6)
    assert answer_questions(interview(ArrayRows(X, BLOCKS)), 6) == asked
    assert answer_questions(interview(np.load(path, mmap_mode="r")), 6) == asked


def test_how_many_rows_there_are_decides_whether_there_is_a_pool(path, monkeypatch):
    few = Interview(MemmapRows(path), n_clusters=4)
    assert few.pool is None
    assert few.pool_rows is None
    np.testing.assert_array_equal(few.X, X)
    assert few.ask() == Interview(X, n_clusters=4).ask()
    monkeypatch.setattr(checks_module, "LARGE", N - 1)
    monkeypatch.setattr(checks_module, "Pool", lambda: SMALL)
    assert Interview(X, n_clusters=4).pool == Interview(MemmapRows(path), n_clusters=4).pool == SMALL
    assert Interview(X, n_clusters=4, pool=None).pool is None
    with pytest.raises(
        ValueError, match="pool=None needs all rows in memory, but X is a MemmapRows of 3,000"
    ):
        Interview(MemmapRows(path), n_clusters=4, pool=None)


def test_a_model_that_cannot_predict_labels_by_the_nearest_row():
    class Fixed(MPCKMeans):
        @property
        def predict(self):
            raise AttributeError("predict")

    talk = interview(X[:600], model=Fixed(4), pool=Pool(size=50, sample=200))
    rows = talk.pool_rows
    nearest = ((X[:600, None] - X[rows]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(talk.labels_, talk.labels_[rows][nearest])


def test_the_pool_is_chosen_anew_when_it_is_due_and_an_undo_brings_it_back():
    talk = interview()
    first = talk.pool_rows
    answer_questions(talk, 3)
    np.testing.assert_array_equal(talk.pool_rows, first)
    last, before = talk.ask(), talk.history
    talk.tell(last, LabelOracle(Y).answer(last))
    assert not np.array_equal(talk.pool_rows, first)
    assert talk.ask() != last
    talk.undo()
    np.testing.assert_array_equal(talk.pool_rows, first)
    assert talk.ask() == last
    assert talk.history[:3] == before


def test_answers_of_an_interview_with_a_pool_can_be_replaced():
    talk = interview()
    answer_questions(talk, 6)
    replies, labels, question = talk.replies, talk.labels_, talk.ask()
    after = talk.labels_after(3)
    other = talk.branch()
    assert other.n_answers == 0
    other.replace(replies)
    np.testing.assert_array_equal(other.pool_rows, talk.pool_rows)
    np.testing.assert_array_equal(other.labels_, labels)
    assert other.ask() == question
    other.replace(replies, weights=[4.0] * 6)
    assert other.error_rate.mean != talk.error_rate.mean
    other.replace(replies[:3])
    np.testing.assert_array_equal(other.labels_, after)


def test_what_is_reported_other_rows_counts_until_it_is_undone():
    talk = interview(supervision=Supervision.from_links(N, must=[(2_000, 2_001)]))
    assert {2_000, 2_001} <= set(talk.pool_rows.tolist())
    outside = np.setdiff1d(np.arange(N), talk.pool_rows)[:2].tolist()
    question = talk.ask()
    talk.tell(Question.pair(*outside), "SAME")
    assert set(outside) <= set(talk.pool_rows.tolist())
    assert talk.labels_[outside[0]] == talk.labels_[outside[1]]
    talk.tell(Question.pair(*outside), "DIFFERENT")
    (contradiction,) = talk.contradictions
    assert (contradiction.rows, contradiction.chain) == (tuple(outside), tuple(outside))
    assert contradiction.replies == talk.replies
    talk.undo()
    assert talk.contradictions == ()
    talk.undo()
    assert talk.ask() == question
    assert "2000" not in talk.text(question) or 2_000 in question.rows


def test_budget_unsure_skips_and_questions_that_others_have():
    talk = interview(budget=3)
    questions = talk.ask(2)
    assert talk.ask(5, exclude=questions[:1])[0].key != questions[0].key
    assert len(talk.ask(5, exclude=[*questions[:1], Question.pair(0, 1)])) == 1  # the budget has three
    talk.tell(questions[0], Answer.UNSURE)
    talk.skip(questions[1])
    keys = [questions[0].key, questions[1].key]
    assert talk.ask().key not in keys
    assert talk.left == 2
    outlook = talk.progress()
    assert outlook.question == talk.ask()
    answer_questions(talk, 2)
    assert talk.finished
    assert talk.progress().advice == "The budget is spent."


def test_clusters_are_opened_as_answers_demand():
    talk = interview(n_clusters=2, discover=True)
    one_each = [int(np.flatnonzero(c == Y)[0]) for c in range(4)]
    for at, i in enumerate(one_each):
        for j in one_each[:at]:
            talk.tell(Question.pair(i, j), "DIFFERENT")
    assert len(set(talk.labels_[one_each].tolist())) == 4


def test_without_a_model_the_first_pool_stays():
    talk = Interview(X, strategy=FarthestFirst(), pool=SMALL)
    first = talk.pool_rows
    answer_questions(talk, 5)
    np.testing.assert_array_equal(talk.pool_rows, first)
    talk.strategy = RandomPairs()
    assert str(talk.ask().reason) == "Drawn at random."


def test_a_saved_interview_goes_on_with_the_same_question(path, tmp_path):
    rows = MemmapRows(path)
    talk = interview(rows, supervision=Supervision.from_links(N, cannot=[(2_998, 1)]))
    answer_questions(talk, 5)
    talk.save(tmp_path / "talk.json")
    again = Interview.load(tmp_path / "talk.json", X)
    assert again.pool == SMALL
    assert again.history == talk.history
    assert again.given == talk.given
    assert again.ask() == talk.ask()
    with pytest.raises(FileFormatError, match="about other rows"):
        Interview.load(tmp_path / "talk.json", X + 1)
    text = (tmp_path / "talk.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"size": 150', '"size": 0'))
    with pytest.raises(FileFormatError, match=r"the pool .* is invalid: Pool: size must be"):
        Interview.load(tmp_path / "bad.json", X)


class Endless(Rows):
    """So many rows that nothing can be held of each of them."""

    shape, dtype, blocks = (10**12, 2), np.dtype(np.float64), ()

    def read(self, rows):
        raise AssertionError("no block is read")

    def take(self, rows):
        return np.column_stack([np.asarray(rows) % 7, np.asarray(rows) % 11]).astype(np.float64)

    def transform(self, function, n_features=None):
        raise AssertionError("the rows stay as they are")


def test_nothing_is_held_of_all_rows(tmp_path):
    hints = Supervision.from_links(10**12, must=[(5, 10**11)])
    talk = Interview(Endless(), n_clusters=3, pool=SMALL, supervision=hints)
    while talk.n_answers < 5:
        question = talk.ask()
        talk.tell(question, "SAME" if question.rows[0] % 3 == question.rows[1] % 3 else "DIFFERENT")
    talk.tell(Question.pair(7, 10**12 - 1), "SAME")
    assert talk.contradictions == ()
    assert 10**12 - 1 in talk.pool_rows
    assert len(talk.supervision.must) >= 2
    talk.save(tmp_path / "talk.json")
    again = Interview.load(tmp_path / "talk.json", Endless())
    assert again.given == hints
    assert again.ask() == talk.ask()


def test_answers_and_words_are_renumbered():
    reason = Reason("It is in doubt where {list:2} belong; {list:1} stands for 50% of 40.", (3, 4, 1))
    tray = Question.piles([1, 3, 4], reason=reason)
    reply = Reply(tray, Piles([[1, 3], [4]])).renumber(lambda row: 10 * row)
    assert str(reply.question.reason) == "It is in doubt where 30, 40 belong; 10 stands for 50% of 40."
    assert reply.answer == Piles([[10, 30], [40]])
    odd = Reply(Question.odd([1, 3, 4]), OddOne(3)).renumber(lambda row: 10 * row)
    assert odd.answer == OddOne(30)
    reason = Reason("{Row} is near {row}; of which 2 and 5 {things} are known.", (2, 5))
    pair = Question.pair(2, 5, score=0.5, reason=reason)
    assert str(pair.renumber(lambda row: row + 90).reason) == (
        "Row 92 is near row 95; of which 2 and 5 rows are known."
    )
    assert Question.triplet(4, 1, 3).renumber(lambda row: 10 * row).rows == (40, 10, 30)


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"pool": 5_000}, TypeError, "pool must be a Pool, 'auto' or None, got 5000"),
        ({"pool": Pool()}, ValueError, "a pool of size=5000 cannot be chosen from 3000 rows"),
        ({"pool": Pool(size=3), "n_clusters": 4}, ValueError, "n_clusters=4, but pool.size=3"),
    ],
)
def test_what_an_interview_with_a_pool_refuses(how, error, words):
    with pytest.raises(error, match=words):
        interview(**how)


def test_a_value_that_is_no_number_is_named_by_its_block(tmp_path):
    broken = X.copy()
    broken[205, 2] = np.nan
    np.save(tmp_path / "broken.npy", broken)
    with pytest.raises(ValueError, match="block 2 of X has nan in its row 5, column 2, which is row 205"):
        interview(MemmapRows(tmp_path / "broken.npy", block_rows=100))


def test_hints_that_name_too_many_rows_are_refused(monkeypatch):
    from likewise.active import _pooled_interview

    monkeypatch.setattr(_pooled_interview, "LARGE", 3)
    hints = Supervision.from_links(N, must=[(0, 1), (2, 3)])
    with pytest.raises(SupervisionError, match="there are 4 hinted rows"):
        interview(supervision=hints)
