"""Placements, members of groups and questions about two groups, for many groups or an unknown number."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from likewise import PCKMeans, Supervision
from likewise.active import Answer, GroupQuestions, Interview, Pool, Question, Reply, simulate
from likewise.active._group_answers import AnswerLog, RowNeighborhoods, find_roots, limit_threads, scale_rows
from likewise.active._group_model import (
    GroupClustering,
    _add_evidence_of_start_groups,
    _fit_threshold,
    fit_groups,
)
from likewise.active.strategies._group_questions import _GroupAsker
from likewise.exceptions import SupervisionError
from likewise.oracles import LabelOracle, make_oracle
from likewise.supervision import sample_links


def make_groups(n_groups=12, n_rows=10, spread=0.35, seed=0, n_features=16):
    """Return unit rows around random directions, and the group of each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_groups), n_rows)
    X = rng.normal(size=(n_groups, n_features))[y] + spread * rng.normal(size=(len(y), n_features))
    order = rng.permutation(len(y))
    return (X / np.linalg.norm(X, axis=1, keepdims=True))[order], y[order]


def answer(interview, y, n, **tell):
    oracle = LabelOracle(y)
    for _ in range(n):
        question = interview.ask()
        if question is None:
            break
        interview.tell(question, oracle.answer(question), **tell)
    return interview


@pytest.fixture(scope="module")
def groups():
    return make_groups()


@pytest.fixture(scope="module")
def neighborhoods(groups):
    return RowNeighborhoods.from_data(groups[0], 0)


# ---------------------------------------------------------------------- what answers say


def test_a_placement_states_one_group_and_a_members_question_states_each_row(neighborhoods):
    replies = (
        Reply(Question.placement(5, [1]), "NEW"),
        Reply(Question.placement(7, [1, 5]), 5),
        Reply(Question.members(1, [8, 9]), [9]),
    )
    found = AnswerLog(neighborhoods).cut(replies)
    assert found.references.tolist() == [1, 5]
    assert found.group_of.tolist() == [0, 1]
    said = list(zip(found.rows.tolist(), found.refs.tolist(), found.signs.tolist(), strict=True))
    assert said == [(7, 1, 1), (8, 0, 1), (9, 0, -1)]
    assert found.choices.tolist() == [2, 1, 1]  # wrong: the other group or NEW; a member has one other answer
    assert [found.get_group(row) for row in (7, 8, 9)] == [1, 0, -1]
    assert found.find_refused(9, cautious=False) == {0}
    assert found.find_refused(9, cautious=True) == set()


def test_a_cut_of_the_log_is_the_log_of_the_first_replies(neighborhoods):
    replies = (
        Reply(Question.placement(5, [1]), "NEW"),
        Reply(Question.placement(5, [9]), 9),
        Reply(Question.members(1, [2, 3]), "SAME"),
    )
    log = AnswerLog(neighborhoods)
    log.cut(replies)
    for n in range(4):
        found, fresh = log.cut(replies[:n]), AnswerLog(neighborhoods).cut(replies[:n])
        assert found.references.tolist() == fresh.references.tolist()
        assert found.group_of.tolist() == fresh.group_of.tolist()
        assert found.placed.tolist() == fresh.placed.tolist()
        assert found.paged == fresh.paged
    assert log.cut(replies[1:]).references.tolist() == [9, 1]  # other replies: read anew


def test_references_that_belong_together_are_one_group(neighborhoods):
    replies = (
        Reply(Question.members(1, [2]), "SAME"),
        Reply(Question.members(5, [6]), "SAME"),
        Reply(Question.placement(9, [1, 5]), [1, 5]),  # the person sees that both are the same
    )
    assert AnswerLog(neighborhoods).cut(replies).n_groups == 1
    assert AnswerLog(neighborhoods).cut((*replies, Reply(Question.groups(1, 5), "DIFFERENT"))).n_groups == 2


@pytest.mark.parametrize(
    ("answers", "n_groups", "is_unsettled"),
    [
        ([], 1, True),  # besides the placement, which joins them
        (["SAME"], 1, False),
        (["UNSURE"], 1, False),
        (["DIFFERENT"], 2, True),
        (["DIFFERENT", "UNSURE"], 2, False),
        (["DIFFERENT", "DIFFERENT"], 2, False),
        (["DIFFERENT", "SAME"], 2, True),
        (["DIFFERENT", "SAME", "SAME"], 1, False),
    ],
)
def test_answers_that_contradict_one_another_join_groups_by_two_more(
    neighborhoods, answers, n_groups, is_unsettled
):
    placed = Reply(Question.placement(5, [1]), 1)
    grown = Reply(Question.members(1, [2, 3]), "SAME"), Reply(Question.members(5, [6]), "SAME")
    shown = zip(((1, 5), (2, 5), (3, 5)), answers, strict=False)  # rows 2 and 3 stand for the group of row 1
    replies = *grown, placed, *(Reply(Question.groups(*rows), text) for rows, text in shown)
    found = AnswerLog(neighborhoods).cut(replies)
    assert (found.n_groups, found.unsettled) == (n_groups, ((0, 1),) if is_unsettled else ())


def test_answers_about_joined_groups_add_up(neighborhoods):
    replies = (
        *(Reply(Question.members(row, [row + 1]), "SAME") for row in (1, 5, 8)),
        *(Reply(Question.groups(*rows), "SAME") for rows in ((1, 5), (2, 6), (1, 8))),
    )
    log = AnswerLog(neighborhoods)
    assert (log.cut(replies).n_groups, log.cut(replies).unsettled) == (1, ((0, 2),))
    apart = (*replies, Reply(Question.groups(5, 8), "DIFFERENT"))
    assert (log.cut(apart).n_groups, log.cut(apart).unsettled) == (2, ((0, 2),))


def test_contradicting_answers_about_groups_lead_to_a_question_about_another_row():
    X, y = make_groups(n_groups=3)
    rows = [np.flatnonzero(y == g).tolist() for g in range(3)]
    interview = Interview(X, n_clusters=2, strategy="groups", errors=0.1)
    (first, *same), (second, *_), (third, *others) = rows
    interview.tell(Question.members(first, same[:4]), "SAME")
    interview.tell(Question.placement(second, [first]), "NEW")
    interview.tell(Question.members(third, others[:2]), "SAME")
    interview.tell(Question.placement(third, [first, second]), first)  # wrong
    question = interview.ask()
    assert (question.kind, set(question.rows)) == ("groups", {first, third})
    interview.tell(question, "DIFFERENT")
    question = interview.ask()
    assert question.kind == "groups"
    assert third in question.rows
    assert set(question.rows) & set(same)
    interview.tell(question, "DIFFERENT")
    assert interview.ask().kind != "groups"


def test_equal_names_are_one_group(neighborhoods):
    names = {4: "owl", 7: "wren", 2: "owl"}
    found = AnswerLog(neighborhoods).cut(
        tuple(Reply(Question.label(row), name) for row, name in names.items())
    )
    assert found.references.tolist() == [4, 7]
    assert found.get_group(2) == 0
    assert found.votes[:, :3].tolist() == [[0, 1, -1]]


def test_rows_that_have_length_one_are_not_scaled():
    X = np.array([[1.0, 0.0], [0.6, 0.8]])
    assert np.allclose(scale_rows(X), X)
    assert np.allclose(np.linalg.norm(scale_rows(10 * X + 3), axis=1), 1.0)


# ---------------------------------------------------------------------- the model


def test_the_model_uses_links_and_labels(groups):
    X, y = groups
    rows = np.flatnonzero(y < 3)[:9]
    hints = Supervision.from_labels([f"g{y[i]}" if i in rows else None for i in range(len(y))])
    labels = GroupClustering(12, random_state=0).fit(X, supervision=hints).labels_
    assert len(set(labels.tolist())) == 12
    assert all((labels[i] == labels[j]) == (y[i] == y[j]) for i in rows for j in rows)


def test_links_between_random_rows_do_not_give_more_groups_than_there_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 600)
    X = 2.0 * rng.normal(size=(5, 8))[y] + rng.normal(size=(600, 8))
    for n_links in (60, 300):
        hints = sample_links(y, n_links, balance=0.5, random_state=0)
        labels = GroupClustering(5, random_state=0).fit(X, supervision=hints).labels_
        assert len(np.unique(labels)) == 5
        assert adjusted_rand_score(y, labels) > 0.85
    must, apart = [(0, 1), (2, 3), (4, 5)], [(0, 2), (0, 4), (2, 4)]
    separate = Supervision.from_links(600, must=must, cannot=apart)  # links come before the number of groups
    labels = GroupClustering(2, random_state=0).fit(X, supervision=separate).labels_
    assert len(np.unique(labels[[0, 2, 4]])) == 3


@pytest.mark.parametrize("seed", range(12))
def test_links_that_two_groups_satisfy_give_two_groups(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 5)), np.repeat([0, 1], 6)
    must = rng.permutation(200)[:24].reshape(12, 2)
    pairs = rng.permutation(np.argwhere(y[:, None] < y))[:14]
    cannot = np.column_stack([must[pairs[:, 0], 0], must[pairs[:, 1], 1]])
    hints = Supervision.from_links(200, must=must.tolist(), cannot=cannot.tolist())
    labels = GroupClustering(2, random_state=0).fit(X, supervision=hints).labels_
    assert len(np.unique(labels)) == 2


def test_a_cannot_link_between_rows_without_groups_separates_them():
    X = np.array([[1.0, 0.0], [0.99, 0.1], [0.0, 1.0], [0.1, 0.99], [0.8, 0.6], [0.8, 0.6]])
    hints = Supervision.from_links(6, must=[(0, 1), (2, 3)], cannot=[(4, 5), (0, 2)])
    model = GroupClustering(2).fit(X, supervision=hints)
    assert model.labels_[4] != model.labels_[5]
    assert model.groups_.proba[[4, 5]].argmax(axis=1).tolist() in ([0, 1], [1, 0])


def test_a_metric_is_learned_only_if_held_out_answers_are_predicted_better():
    """One noisy direction hides the groups; a learned metric shrinks it."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 30)
    X = 0.9 * np.eye(6)[y] @ rng.normal(size=(6, 12)) + 0.4 * rng.normal(size=(180, 12))
    X += np.outer(rng.normal(size=180), 6 * np.eye(12)[0])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    interview = answer(Interview(X, strategy="groups", n_clusters=6), y, 100)
    assert interview.model_.groups_.transform is not None
    log, replies = interview._answer_log, interview.replies
    learned = fit_groups(log.neighborhoods, log.cut(replies)).proba.argmax(axis=1)
    given = fit_groups(log.neighborhoods, log.cut(replies), learn_metric=False).proba.argmax(axis=1)
    assert adjusted_rand_score(y, learned) > adjusted_rand_score(y, given)


# ---------------------------------------------------------------------- interviews


@pytest.mark.parametrize("n_clusters", [None, 12])
def test_few_answers_find_the_groups(groups, n_clusters):
    X, y = groups
    interview = answer(Interview(X, strategy="groups", n_clusters=n_clusters), y, 60)
    assert len(set(interview.labels_.tolist())) == 12
    assert adjusted_rand_score(y, interview.labels_) > 0.95
    kinds = {reply.question.kind for reply in interview.replies}
    assert "placement" in kinds
    assert all(len(reply.question.rows) <= 8 for reply in interview.replies)


def count(labels):
    return len(set(labels.tolist()))


def test_a_range_bounds_the_groups_at_the_start(groups):
    X, y = groups
    sizes = {
        k: count(Interview(X, n_clusters=k).labels_) for k in ((2, 4), (5, 40), (25, 40), (25, 25), None)
    }
    assert sizes == {(2, 4): 4, (5, 40): 16, (25, 40): 25, (25, 25): 25, None: 16}  # 16 is 1.5 sqrt(120)
    few, many = (count(answer(Interview(X, n_clusters=k), y, 3).labels_) for k in ((2, 4), (25, 40)))
    assert few <= 4 < 16 < many <= 40


def test_more_groups_than_the_range_allows_are_checked_for_being_the_same():
    X, y = make_groups(spread=0.6)
    scores = []
    for k in (None, (2, 40), (2, 4)):
        interview = answer(Interview(X, strategy="groups"), y, 35)
        limited = Interview(X, strategy="groups", n_clusters=k)
        limited.replace(interview.replies)
        state = limited._make_state(frozenset())
        model = state.model
        answers = model.log_.cut(state.replies)
        asker = _GroupAsker(limited.strategy, state, model.groups_, model.log_, answers)
        scores.append(asker.ask_check().score)
    assert scores[0] == scores[1] < scores[2]


def test_a_range_is_saved(groups, tmp_path):
    X, y = groups
    interview = answer(Interview(X, n_clusters=(5, 40)), y, 30)
    interview.save(tmp_path / "range.json")
    loaded = Interview.load(tmp_path / "range.json", X)
    assert (loaded.n_clusters, loaded.cluster_range) == (None, (5, 40))
    assert loaded.ask() == interview.ask()
    assert loaded.labels_.tolist() == interview.labels_.tolist()


def test_a_range_in_a_pool():
    X, y = make_groups(n_groups=6, n_rows=60, spread=0.3)
    interview = answer(Interview(X, n_clusters=(4, 9), pool=Pool(200)), y, 20)
    assert adjusted_rand_score(y, interview.labels_) > 0.8


def test_all_questions_about_groups_end_in_the_truth():
    X, y = make_groups(n_groups=5, n_rows=6, spread=1.2)
    interview = answer(Interview(X, strategy="groups"), y, 500)
    assert interview.finished
    assert adjusted_rand_score(y, interview.labels_) == 1.0
    assert not interview.contradictions


def test_the_state_is_a_function_of_the_history(groups, tmp_path):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 45)
    asked = interview.ask()
    assert interview.labels_ is not None
    assert interview.ask() == asked  # reading the partition changes nothing
    interview.tell(asked, "UNSURE")
    interview.undo()
    assert interview.ask() == asked
    fresh = Interview(X, strategy="groups")
    fresh.replace(interview.replies)
    assert fresh.ask() == asked
    interview.save(tmp_path / "groups.json")
    loaded = Interview.load(tmp_path / "groups.json", X)
    assert loaded.ask() == asked
    assert loaded.labels_.tolist() == interview.labels_.tolist()


def test_the_order_of_the_rows_does_not_matter(groups):
    X, y = groups
    order = np.random.default_rng(3).permutation(len(y))
    one, other = Interview(X, strategy="groups"), Interview(X[order], strategy="groups")
    for _ in range(25):
        question, same = one.ask(), other.ask()
        assert question.kind == same.kind
        rows = order[list(same.rows)].tolist()
        assert list(question.rows) == (sorted(rows) if same.kind == "pair" else rows)
        one.tell(question, LabelOracle(y).answer(question))
        other.tell(same, LabelOracle(y[order]).answer(same))


def test_several_questions_at_once_differ_and_leave_out_pending_ones(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 20)
    several = interview.ask(4)
    assert len({question.key for question in several}) == 4
    rows = [question.rows[0] for question in several if question.kind == "placement"]
    assert len(set(rows)) == len(rows)
    others = interview.ask(2, exclude=several)
    assert not {question.key for question in others} & {question.key for question in several}


def test_a_row_that_somebody_is_unsure_about_is_not_placed_again(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 15)
    question = interview.ask()
    interview.tell(question, "UNSURE")
    for _ in range(15):
        asked = interview.ask()
        assert asked.kind == "members" or asked.rows[0] != question.rows[0]
        interview.tell(asked, LabelOracle(y).answer(asked))


def test_groups_are_shown_with_typical_rows_and_names(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 40)
    reference = interview.model_.groups_.answers.references[0]
    interview.tell(Question.label(int(reference)), "owl")
    oracle = LabelOracle(y)
    for _ in range(40):
        question = interview.ask()
        assert len(question.examples) == len(question.references)
        for shown, row in zip(question.examples, question.references, strict=True):
            assert shown[0] == row
            assert {y[each] for each in shown} == {y[row]}
        assert question.reason
        if reference in question.references:
            assert question.names[question.references.index(reference)] == "owl"
            break
        interview.tell(question, oracle.answer(question))
    else:
        pytest.fail("the named group was never shown")


def test_none_of_these_opens_a_group(groups):
    X, _ = groups
    interview = Interview(X, strategy="groups")
    for n in range(1, 6):
        interview.tell(interview.ask(), Answer.NEW)
        assert interview.model_.groups_.n_groups == n + 1


def test_hints_given_before_are_used(groups):
    X, y = groups
    first = [int(np.flatnonzero(y == g)[0]) for g in range(4)]
    second = [int(np.flatnonzero(y == g)[1]) for g in range(4)]
    hints = Supervision.from_links(
        len(y), must=list(zip(first, second, strict=True)), cannot=[(first[0], row) for row in first[1:]]
    )
    interview = Interview(X, strategy="groups", supervision=hints)
    assert interview.model_.groups_.n_groups == 4
    assert set(interview.ask().references) <= set(first)


def test_pairs_that_a_person_answers_count_too(groups):
    X, y = groups
    interview = Interview(X, strategy="groups")
    i, j = np.flatnonzero(y == 0)[:2].tolist()
    interview.tell(Question.pair(i, j), "SAME")
    k = int(np.flatnonzero(y == 1)[0])
    interview.tell(Question.pair(i, k), "DIFFERENT")
    assert interview.model_.groups_.confirmed[j] == interview.model_.groups_.confirmed[i] == 0
    assert interview.labels_[i] == interview.labels_[j]


def test_wrong_answers_are_noticed_and_most_of_the_gain_is_kept():
    X, y = make_groups(n_groups=15, n_rows=20, spread=0.6, seed=1)
    true = answer(Interview(X, strategy="groups"), y, 200)
    wrong = Interview(X, strategy="groups")
    simulate(wrong, make_oracle("uniform", y, rate=0.15, random_state=0), 200, y_true=y, every=200)
    assert true.error_rate.mean <= 0.02
    assert 0.07 <= wrong.error_rate.mean <= 0.25
    start, end = (adjusted_rand_score(y, it.labels_) for it in (Interview(X, strategy="groups"), true))
    assert adjusted_rand_score(y, wrong.labels_) - start > 0.6 * (end - start)


def test_seconds_decide_between_kinds(groups):
    """Members are left out if they take long, and pairs are asked about if they are quick."""
    X, y = groups
    kinds = {}
    for kind, seconds in (("members", 4.0), ("members", 3600.0), ("pair", 0.1)):
        interview = Interview(X, strategy="groups")
        for n in range(40):
            question = Question.members(n, [n + 1]) if kind == "members" else Question.pair(n, n + 1)
            interview.tell(question, "UNSURE", seconds=seconds)
        answer(interview, y, 40)
        kinds[kind, seconds] = Counter(reply.question.kind for reply in interview.replies[40:])
    assert kinds["members", 3600.0]["members"] < kinds["members", 4.0]["members"]
    assert kinds["pair", 0.1]["pair"] > kinds["members", 4.0]["pair"]


def test_a_pool_of_the_rows_is_asked_about():
    X, y = make_groups(n_groups=6, n_rows=60, spread=0.3)
    interview = answer(Interview(X, strategy="groups", pool=Pool(200)), y, 20)
    assert len(interview.labels_) == len(y)
    assert adjusted_rand_score(y, interview.labels_) > 0.8


def test_progress_is_estimated(groups):
    X, y = groups
    seen = answer(Interview(X, strategy="groups"), y, 40).progress()
    assert seen.accuracy is not None
    assert seen.accuracy > 0.8


# ---------------------------------------------------------------------- bad input


def test_rows_that_are_all_alike_can_be_asked_about():
    interview = Interview(np.ones((6, 3)), strategy="groups")
    answer(interview, np.zeros(6), 20)
    assert interview.finished
    assert set(interview.labels_.tolist()) == {0}


def test_one_group_and_two_rows():
    interview = answer(Interview([[0.0, 1.0], [1.0, 0.0]], strategy="groups"), [0, 0], 5)
    assert interview.finished
    assert interview.labels_.tolist() == [0, 0]


def test_rows_that_are_all_alike_can_be_told_apart_by_answers():
    y = np.arange(20) % 4
    interview = answer(Interview(np.ones((20, 3)), strategy="groups"), y, 100)
    assert interview.finished
    assert adjusted_rand_score(y, interview.labels_) == 1.0


def test_every_row_can_be_a_group_of_its_own():
    X = np.random.default_rng(0).normal(size=(12, 4))
    interview = answer(Interview(X, strategy="groups"), np.arange(12), 100)
    assert interview.finished
    assert sorted(interview.labels_.tolist()) == list(range(12))


def test_more_groups_than_rows_are_refused():
    with pytest.raises(ValueError, match="only 3 rows"):
        Interview(np.eye(3), strategy="groups", n_clusters=4)
    for k in (4, (2, 4)):
        with pytest.raises(ValueError, match="only 3 rows"):
            GroupClustering(k).fit(np.eye(3))


@pytest.mark.parametrize("bad", [0, 2.5, "3", (3, 2), (1, 2, 3), (0, 2)])
def test_a_number_of_groups_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match="GroupClustering: n_clusters must be an integer of at least 1"):
        GroupClustering(bad).fit(np.eye(3))


def test_a_placement_keeps_its_meaning_if_groups_change_after_it_was_shown():
    y = np.repeat(np.arange(4), 10)
    X = np.eye(4)[y] + 0.1 * np.random.default_rng(0).normal(size=(40, 4))
    interview = Interview(X, strategy="groups", errors=0)
    first = Question.placement(10, [0])
    interview.tell(first, "NEW")
    interview.tell(Question.placement(20, [0, 10]), "NEW")
    shown, join = Question.placement(11, [0, 10, 20]), Question.groups(0, 10)
    interview.tell(join, "SAME")  # the groups of 0 and 10 are joined before the placement is answered
    interview.tell(join, "SAME")
    interview.tell(shown, 10)
    assert interview.labels_[0] == interview.labels_[10] == interview.labels_[11] != interview.labels_[20]
    for question in (join, join, first):  # and now row 10 starts no group any more
        interview.undo(question)
    assert interview.labels_[0] != interview.labels_[10] == interview.labels_[11] != interview.labels_[20]
    assert interview.ask() is not None


def test_a_name_for_two_groups_that_differ_is_a_contradiction():
    X, y = make_groups(n_groups=3, n_rows=10)
    first, other = (int(np.flatnonzero(y == g)[0]) for g in (0, 1))
    interview = Interview(X, strategy="groups")
    interview.tell(Question.placement(other, [first]), "NEW")
    interview.tell(Question.label(first), "owl")
    interview.tell(Question.label(other), "owl")
    assert [set(found.rows) for found in interview.contradictions] == [{first, other}]
    assert interview.names == {"owl": first}
    interview.undo()
    assert interview.contradictions == ()


@pytest.mark.parametrize("bad", [(5,), (9, 3), (1, 3), (5, 7.5), (3, 4, 5)])
def test_a_range_that_is_none_is_refused(groups, bad):
    with pytest.raises(ValueError, match=r"two integers of at least 2, the smaller one first"):
        Interview(groups[0], n_clusters=bad)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": (5, 121)}, "only 120 rows"),
        ({"n_clusters": (5, 9), "discover": True}, "leave discover=True out"),
        ({"n_clusters": (5, 9), "strategy": "regions"}, "'regions' cannot use"),
        ({"n_clusters": (5, 9), "strategy": "info"}, "'info' cannot use"),
        ({"n_clusters": (5, 9), "model": PCKMeans(7)}, "Set only one"),
        ({"n_clusters": (5, 60), "pool": Pool(50)}, r"n_clusters=\(5, 60\), but pool.size=50"),
    ],
)
def test_a_range_that_cannot_be_used_is_refused(groups, settings, message):
    with pytest.raises(ValueError, match=message):
        Interview(groups[0], **settings)


def test_another_model_is_refused(groups):
    from likewise import MPCKMeans

    interview = Interview(groups[0], strategy="groups", model=MPCKMeans(12))
    with pytest.raises(ValueError, match="Leave the model out"):
        interview.ask()


@pytest.mark.parametrize(("name", "value"), [("n_members", 0), ("n_members", 12), ("n_groups", 8)])
def test_sizes_of_questions_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer from 1 to"):
        GroupQuestions(**{name: value})


@pytest.mark.parametrize(("n_clusters", "name"), [(30, "regions"), (31, "groups"), (None, "groups")])
def test_many_clusters_are_asked_about_as_groups(n_clusters, name):
    X = np.random.default_rng(0).normal(size=(40, 3))
    assert Interview(X, n_clusters=n_clusters).strategy.name == name
    assert Interview(X, model=PCKMeans(n_clusters or 31)).strategy.name == "node-local"


def test_every_undo_leads_back_to_the_question_before():
    X, y = make_groups()
    interview, oracle, asked = Interview(X), LabelOracle(y), []
    for _ in range(30):
        asked.append(interview.ask())
        interview.tell(asked[-1], oracle.answer(asked[-1]))
        interview.undo()
        assert interview.ask().key == asked[-1].key
        interview.tell(asked[-1], oracle.answer(asked[-1]))
    while asked:
        interview.undo()
        assert interview.ask().key == asked.pop().key


@pytest.mark.parametrize("skips", [False, True])
def test_the_interview_goes_on_after_an_unsure_or_skipped_first_question(skips):
    X, _ = make_groups()
    interview = Interview(X)
    for _ in range(3):
        question = interview.ask()
        if skips:
            interview.skip(question)
        else:
            interview.tell(question, Answer.UNSURE)
        assert interview.ask() is not None
        assert interview.ask().key != question.key


def count_groups(model):
    return model.groups_.n_groups


def test_chains_of_must_links_and_piles_are_one_group():
    X, _ = make_groups()
    for must in ([(0, 1), (1, 2)], [(0, 1), (2, 3), (1, 2)], [(0, 1), (2, 3), (3, 1)]):
        hints = Supervision.from_links(len(X), must=must)
        model = GroupClustering(12, random_state=0).fit(X, supervision=hints)
        rows = sorted({row for link in must for row in link})
        assert count_groups(model) == 1
        assert len(set(model.labels_[rows].tolist())) == 1
    interview = Interview(X)
    interview.tell(Question.piles([0, 1, 2, 3]), [[0, 1, 2], [3]])
    assert len(set(interview.labels_[[0, 1, 2]].tolist())) == 1
    assert interview.labels_[3] != interview.labels_[0]


def test_cannot_links_and_single_labels_are_used_without_other_hints():
    X, y = make_groups(n_groups=3, n_rows=20)
    i, j = np.flatnonzero(y == 0)[:2].tolist()
    hints = Supervision.from_links(len(X), cannot=[(i, j)])
    labels = GroupClustering(3, random_state=0).fit(X, supervision=hints).labels_
    assert labels[i] != labels[j]
    names = [None] * len(X)
    names[i], names[j] = "a", "b"
    labels = GroupClustering(3, random_state=0).fit(X, supervision=Supervision.from_labels(names)).labels_
    assert labels[i] != labels[j]


def test_a_name_among_the_hints_is_the_group_of_that_name():
    X, y = make_groups(n_groups=3, n_rows=10)
    first, other = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    names = [None] * len(X)
    names[first] = "a"
    interview = Interview(X, supervision=Supervision.from_labels(names))
    interview.tell(Question.label(int(other)), "a")
    assert interview.labels_[first] == interview.labels_[other]


def test_a_second_fit_forgets_the_labels_of_the_first():
    X, _ = make_groups()
    model = GroupClustering(12, random_state=0)
    assert len(model.fit(X).labels_) == len(X)
    assert len(model.fit(X[:40]).labels_) == 40


def test_hints_for_other_rows_or_of_other_kinds_are_refused():
    X, _ = make_groups()
    with pytest.raises(SupervisionError, match="hints for the 120 rows"):
        GroupClustering(12).fit(X, supervision=Supervision.from_links(3, must=[(0, 1)]))
    bags = Supervision.from_bags([0] * 60 + [1] * 60, {0: ["a"], 1: ["b"]})
    with pytest.raises(SupervisionError, match="does not use bags"):
        GroupClustering(12).fit(X, supervision=bags)


def test_a_skipped_placement_leaves_its_groups_in_later_questions():
    X, y = make_groups()
    interview = answer(Interview(X), y, 20)
    question = interview.ask()
    while question.kind != "placement":
        interview.tell(question, LabelOracle(y).answer(question))
        question = interview.ask()
    interview.skip(question)
    state = interview._make_state(frozenset())
    model = state.model
    answers = model.log_.cut(state.replies)
    asker = _GroupAsker(interview.strategy, state, model.groups_, model.log_, answers)
    assert question.rows[0] in asker.blocked
    assert not set(question.rows[1:]) & asker.blocked


# ---------------------------------------------------------------------- wrong answers


def tell_wrongly(interview, y):
    """Place one row in a wrong group, and return the question."""
    oracle = LabelOracle(y)
    while True:
        question = interview.ask()
        right = oracle.answer(question)
        if question.kind == "placement" and right is not Answer.NEW and len(question.references) > 1:
            wrong = next(row for row in question.references if y[row] != y[question.rows[0]])
            interview.tell(question, wrong)
            return question
        interview.tell(question, right)


def test_a_wrong_placement_is_a_suspect_until_it_is_confirmed(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 40)
    assert interview.suspects == ()
    question = tell_wrongly(interview, y)
    suspect = interview.suspects[0]
    assert suspect.question == question
    assert suspect.predicted < 0.05
    assert not suspect.confirmed
    assert suspect.rows
    assert {y[row] for row in suspect.rows} == {y[question.rows[0]]}
    assert "contradict" in str(suspect)
    interview.confirm(question)
    confirmed = [each for each in interview.suspects if each.question == question]
    assert all(each.confirmed and each.chance < suspect.chance for each in confirmed)


def test_wrong_answers_hardly_move_the_threshold_of_new_groups(neighborhoods):
    """Two of 22 rows of new groups were placed in a group that is far away."""
    old, new, wrong = ([[0.6, 0, 0]] * 40, [[0.2, 1, 0]] * 20, [[0.0, 0, 0]] * 2)
    log = AnswerLog(neighborhoods).cut(())
    right, robust, fragile = (
        _fit_threshold(replace(log, placed=np.array(placed)), 0.3, rate)
        for placed, rate in ((old + new, 0.1), (old + new + wrong, 0.1), (old + new + wrong, 0.0))
    )
    assert 2 * (right - robust) < right - fragile


def test_a_row_of_an_unknown_group_in_a_wrong_group_does_not_hide_its_own():
    X, y = make_groups(n_groups=8, n_rows=15, spread=0.5)
    rows = [np.flatnonzero(y == g).tolist() for g in range(8)]
    replies = [
        Reply(Question.placement(rows[g][0], [rows[h][0] for h in range(g)]), "NEW") for g in range(1, 7)
    ]
    for g in range(7):
        shown = [rows[h][0] for h in range(7)]
        replies += [Reply(Question.placement(row, shown), rows[g][0]) for row in rows[g][1:3]]
    odd, fitted = rows[7][0], []
    replies.append(Reply(Question.placement(odd, [rows[h][0] for h in range(7)]), rows[3][0]))
    for rate in (0.1, 0.0):
        model = GroupClustering(error_rate=rate)
        fitted.append(model.fit_replies(AnswerLog(RowNeighborhoods.from_data(X, 0)), tuple(replies)).groups_)
    assert fitted[0].elsewhere[odd] > 0.5
    assert np.delete(fitted[0].elsewhere, odd).max() < 0.1
    assert (fitted[0].p_new[rows[7][1:]] > fitted[1].p_new[rows[7][1:]]).all()
    assert (fitted[0].nearness[rows[7][1:]] < fitted[1].nearness[rows[7][1:]]).mean() > 0.9


def test_a_second_answer_about_a_row_contradicts_the_first(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 40)
    question = tell_wrongly(interview, y)
    row, group = question.rows[0], int(y[question.rows[0]])
    same = next(r for r in interview.model_.groups_.answers.references.tolist() if y[r] == group)
    interview.tell(Question.members(same, [row]), "SAME")
    suspect = next(each for each in interview.suspects if each.question == question)
    assert [reply.question.kind for reply in suspect.against] == ["members"]


def test_a_row_that_was_placed_is_not_placed_again_at_once():
    X, y = make_groups(n_groups=10, n_rows=20, spread=1.0)
    interview, oracle = Interview(X, random_state=0), make_oracle("uniform", y, rate=0.2, random_state=0)
    placed = []
    for _ in range(120):
        question = interview.ask()
        reply = interview.tell(question, oracle.answer(question))
        into_group = question.kind == "placement" and reply.answer is not Answer.NEW
        placed.append(question.rows[0] if into_group else None)
    again = [at for at, row in enumerate(placed) if row is not None and row in placed[:at]]
    assert again  # some rows were placed again, but later
    assert all(placed[at] not in placed[max(at - 2, 0) : at] for at in again)


def test_without_errors_answers_are_certain(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups", errors=0), y, 30)
    question = tell_wrongly(interview, y)
    assert interview.suspects == ()
    placed = interview.replies[-1].answer.references[0]
    assert interview.labels_[question.rows[0]] == interview.labels_[placed]
    assert interview.model_.groups_.doubt.max() == 0.0
    assert interview.model_.groups_.proba[question.rows[0]].max() > 0.999


def test_an_annotator_who_is_often_wrong_has_little_weight():
    X, y = make_groups(n_groups=8, n_rows=20, spread=0.5)
    true, wrong = LabelOracle(y), make_oracle("uniform", y, rate=0.4, random_state=0)
    interview = Interview(X, strategy="groups")
    for n in range(90):
        question = interview.ask()
        oracle, name = (wrong, "Bob") if n % 3 == 0 else (true, "Ann")
        interview.tell(question, oracle.answer(question), annotator=name)
    found = interview.model_.groups_.answers
    weight = {
        name: found.weights[[interview.replies[at].annotator == name for at in found.numbers]].mean()
        for name in ("Ann", "Bob")
    }
    assert weight["Bob"] < 0.7 * weight["Ann"]


def test_weights_of_answers_are_used(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 30)
    tell_wrongly(interview, y)
    row = interview.replies[-1].question.rows[0]
    before = interview.model_.groups_.evidence[row].max()
    interview.replace(interview.replies, weights=[1.0] * 30 + [2.0] * (interview.n_answers - 30))
    assert interview.model_.groups_.evidence[row].max() == pytest.approx(2 * before, rel=0.3)


# ---------------------------------------------------------------------- what is asked again


def test_a_row_is_asked_about_again_some_time_after_unsure():
    X, y = make_groups(n_groups=6, n_rows=25, spread=1.0)
    interview = answer(Interview(X, strategy="groups"), y, 12)
    question = interview.ask()
    while question.kind != "placement":
        interview.tell(question, LabelOracle(y).answer(question))
        question = interview.ask()
    interview.tell(question, "UNSURE")
    row, first = question.rows[0], interview.n_answers
    while (asked := interview.ask()) is not None:
        if row in (asked.rows[1:] if asked.kind == "members" else asked.rows[:1]):
            break
        interview.tell(asked, LabelOracle(y).answer(asked))
    assert asked is not None
    assert interview.n_answers - first >= 50


def test_another_group_is_shown_if_members_of_the_best_one_are_pending(groups):
    X, y = groups
    interview = answer(Interview(X, strategy="groups"), y, 40)
    state = interview._make_state(frozenset())
    model = state.model
    asker = _GroupAsker(interview.strategy, state, model.groups_, model.log_, model.log_.cut(state.replies))
    first = asker.ask_members()
    asker.state = interview._make_state(frozenset({first.key}))
    second = asker.ask_members()
    assert second.rows[0] != first.rows[0]
    assert second.score <= first.score


def test_a_row_that_was_placed_before_is_asked_about_for_another_reason():
    X, y = make_groups(n_groups=12, n_rows=20, spread=0.8, seed=2)
    interview = Interview(X, strategy="groups")
    oracle, asked, reasons = make_oracle("uniform", y, rate=0.2, random_state=0), set(), set()
    for _ in range(150):
        question = interview.ask()
        rows = set(question.rows[1:] if question.kind == "members" else question.rows[:1])
        if question.kind == "placement" and rows <= asked:
            reasons.add(question.reason.template)
        asked |= rows
        interview.tell(question, oracle.answer(question))
    assert any("wrong group" in reason for reason in reasons)
    assert not any("represents" in reason for reason in reasons)


def test_the_error_rate_is_unknown_until_there_are_enough_answers():
    X, y = make_blobs(120, 8, centers=6, cluster_std=2.0, random_state=0)
    interview, oracle = Interview(X, random_state=0), LabelOracle(y)
    known = []
    for _ in range(40):
        question = interview.ask()
        interview.tell(question, oracle.answer(question))
        known.append(interview.error_rate is not None)
    assert not known[4]
    assert known[-1]
    assert interview.error_rate.low <= interview.error_rate.mean <= interview.error_rate.high


@pytest.mark.parametrize(("rate", "low", "high"), [(0.0, 0.0, 0.04), (0.1, 0.04, 0.2)])
def test_the_error_rate_counts_answers_that_opened_groups(rate, low, high):
    """A wrong answer often puts a row of a group that is not known yet into a known one."""
    X, y = make_groups(n_groups=60, n_rows=8, spread=0.5, n_features=24)
    interview, oracle = Interview(X, random_state=0), make_oracle("uniform", y, rate=rate, random_state=1)
    for _ in range(200):
        question = interview.ask()
        interview.tell(question, oracle.answer(question))
    assert low <= interview.error_rate.mean <= high


def test_tight_groups_are_shown_before_an_answer_confirms_them():
    X, y = make_groups(n_groups=20, spread=0.3)
    interview = answer(Interview(X, random_state=0), y, 10)
    n_confirmed = interview.model_.groups_.n_groups
    assert n_confirmed < 12
    assert 18 <= len(set(interview.labels_.tolist())) <= 22
    assert adjusted_rand_score(y, interview.labels_) > 0.9


def test_the_last_of_several_threads_restores_the_limits():
    X = np.ones((100, 100)) @ np.ones((100, 100))  # loads BLAS
    assert X[0, 0] == 100
    before = [pool["num_threads"] for pool in threadpool_info()]
    first, second = limit_threads(10), limit_threads(10)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
    second.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_start_groups_are_evidence_as_far_as_answers_agree(groups):
    X, y = groups
    rows = np.arange(0, len(y), 2)
    hints = Supervision.from_labels([f"g{y[i]}" if i % 2 == 0 else None for i in range(len(y))])
    fitted = GroupClustering(12, random_state=0).fit(X, supervision=hints).groups_
    own, free = np.full(len(y), -1), np.setdiff1d(np.arange(len(y)), rows)
    for i in rows:
        own[y == y[i]] = fitted.confirmed[i]
    added = _add_evidence_of_start_groups(fitted, y).evidence - fitted.evidence
    assert (added[rows] == 0).all()
    assert (added[free, own[free]] > 1.5).all()
    assert np.count_nonzero(added) == len(free)
    mixed = np.arange(len(y)) // 2 % 5  # start groups with rows of all groups
    assert np.array_equal(_add_evidence_of_start_groups(fitted, mixed).evidence, fitted.evidence)


def join_one_by_one(n, votes, may_err):
    """Return the roots of `find_roots`, counting all votes again after each join."""
    roots = list(range(n))
    while True:
        tally = Counter()
        for a, b, sign in votes:
            low, high = sorted((roots[a], roots[b]))
            if low != high:
                tally[low, high, sign] += 1
        leads = {pair: tally[*pair, 1] - tally[*pair, -1] for pair in sorted({key[:2] for key in tally})}
        leads = {pair: lead for pair, lead in leads.items() if lead > min(tally[*pair, -1], may_err)}
        if not leads:
            return roots
        low, high = max(leads, key=leads.get)
        roots = [low if root == high else root for root in roots]


@given(
    votes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([-1, 0, 1])), max_size=25),
    may_err=st.booleans(),
)
def test_groups_are_joined_as_by_counting_again(votes, may_err):
    votes = [vote for vote in votes if vote[0] != vote[1]]
    roots, unsettled = find_roots(6, np.array(votes, dtype=np.int64).reshape(-1, 3), may_err)
    assert roots.tolist() == join_one_by_one(6, votes, may_err)
    assert all(sum({(a, b), (b, a)} & {vote[:2]} != set() for vote in votes) < 5 for a, b in unsettled)


def test_several_questions_at_once_compare_two_groups_once():
    X, y = make_groups(n_groups=3)
    first, second, third = (np.flatnonzero(y == g).tolist() for g in range(3))
    interview = Interview(X, n_clusters=2, strategy="groups", errors=0.1)
    interview.tell(Question.members(first[0], first[1:5]), "SAME")
    interview.tell(Question.placement(second[0], [first[0]]), "NEW")
    interview.tell(Question.members(third[0], third[1:3]), "SAME")
    interview.tell(Question.placement(third[0], [first[0], second[0]]), first[0])
    kinds = [question.kind for question in interview.ask(6)]
    assert kinds.count("groups") == 1
    assert len(kinds) == 6


def test_a_row_with_answers_for_both_groups_does_not_stand_for_one(neighborhoods):
    replies = (
        *(Reply(Question.members(row, [row + 1]), "SAME") for row in (1, 5)),
        Reply(Question.members(5, [2]), "SAME"),
        Reply(Question.groups(1, 5), "UNSURE"),
        Reply(Question.groups(30, 31), "UNSURE"),  # about two unknown rows
    )
    found = AnswerLog(neighborhoods).cut(replies)
    assert found.references.tolist() == [1, 5]
    assert found.n_groups == 2


def test_all_questions_can_be_asked_at_once(groups):
    X, y = groups
    interview = Interview(X, strategy="groups")
    for row in range(40):
        interview.tell(Question.pair(row, row + 1), "UNSURE", seconds=0.1)
    questions = answer(interview, y, 20).ask(200)
    assert len({question.key for question in questions}) == len(questions) > 20
    assert {"pair", "placement"} <= {question.kind for question in questions}
