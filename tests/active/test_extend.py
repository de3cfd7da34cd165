"""Rows that join an interview: old rows keep numbers, answers and clusters; new rows are placed."""

import json

import numpy as np
import pytest

from likewise import Supervision
from likewise.active import Interview, Pool, Question, carry_labels
from likewise.exceptions import FileFormatError, LikewiseError, SupervisionError
from likewise.oracles import LabelOracle


def make_blobs(n, centers, seed):
    """Return rows around points that are far apart, and the point of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(centers)
    return np.asarray(centers)[y] + 0.3 * rng.standard_normal((n, len(centers[0]))), y


CENTERS = 6.0 * np.eye(6)
FIRST, Y_FIRST = make_blobs(200, CENTERS[:4], 0)
MORE, Y_MORE = make_blobs(60, CENTERS, 1)
Y = np.concatenate([Y_FIRST, Y_MORE])
SETTINGS = {
    "pairs": {"n_clusters": 4},
    "discover": {"discover": True, "n_clusters": 2},
    "groups": {"strategy": "groups"},
    "groups, K given": {"strategy": "groups", "n_clusters": 6},
}


def answer(interview, n, y=Y):
    oracle = LabelOracle(y)
    for _ in range(n):
        question = interview.ask()
        if question is None:
            break
        interview.tell(question, oracle.answer(question))
    return interview


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("n_answers", [0, 25])
def test_old_rows_keep_their_clusters_and_answers(settings, n_answers):
    interview = answer(Interview(FIRST, **settings), n_answers, Y_FIRST)
    labels, history = interview.labels_, interview.history
    placed = interview.extend(MORE)
    np.testing.assert_array_equal(interview.labels_[:200], labels)
    assert interview.history == history
    assert interview.n_samples == 260
    assert placed.rows.tolist() == list(range(200, 260))
    np.testing.assert_array_equal(placed.labels, interview.labels_[200:])
    assert ((placed.proba >= 0) & (placed.proba <= 1)).all()
    assert set(placed.unplaced.tolist()) <= set(placed.rows.tolist())


def test_rows_of_known_groups_join_them_and_the_others_fit_nowhere():
    interview = answer(Interview(FIRST, strategy="groups"), 60, Y_FIRST)
    placed = interview.extend(MORE)
    known = Y_MORE < 4
    assert set(placed.unplaced.tolist()) == set((200 + np.flatnonzero(~known)).tolist())
    for group in range(4):
        of_old = set(interview.labels_[:200][group == Y_FIRST].tolist())
        assert set(placed.labels[group == Y_MORE].tolist()) == of_old
    assert placed.proba[known].min() > 0.9 > 0.5 > placed.proba[~known].max()


def test_answers_find_the_new_groups():
    interview = answer(Interview(FIRST, strategy="groups"), 60, Y_FIRST)
    before = interview.labels_
    interview.extend(MORE)
    answer(interview, 25)
    labels = interview.labels_
    assert len({(a, b) for a, b in zip(labels.tolist(), Y.tolist(), strict=True)}) == 6
    np.testing.assert_array_equal(labels[:200], before)  # true answers about groups of new rows move none
    assert not len(interview.placements.unplaced)


def test_a_far_row_fits_nowhere_for_pairs_too():
    interview = answer(Interview(FIRST, n_clusters=4), 10, Y_FIRST)
    far = np.full((1, 6), -50.0)
    placed = interview.extend(np.vstack([MORE[:4], far]))
    assert 204 in placed.unplaced
    assert not set(placed.unplaced.tolist()) & {200, 201, 202, 203}


def test_an_answer_about_an_old_row_moves_it():
    interview = Interview(FIRST, n_clusters=4, errors=0)
    other = int(np.flatnonzero(interview.labels_ != interview.labels_[0])[0])
    interview.extend(MORE)
    interview.tell(Question.pair(0, other), "SAME")
    assert interview.labels_[0] == interview.labels_[other]
    interview.undo()
    assert interview.labels_[0] != interview.labels_[other]


def test_each_addition_keeps_what_was_shown_before_it():
    interview = answer(Interview(FIRST[:30], strategy="groups"), 15, Y_FIRST)
    for start in (30, 50):
        shown = interview.labels_
        interview.extend(FIRST[start : start + 20])
        np.testing.assert_array_equal(interview.labels_[:start], shown)
        answer(interview, 10, Y_FIRST)
    assert interview.n_samples == 70


def test_old_rows_keep_their_scale():
    """Rows that are not of length one are centred by the mean of the first rows, wherever new ones are."""
    interview = Interview(FIRST, strategy="groups")
    old = interview.model_.log_.neighborhoods.rows
    interview.extend(MORE + 100.0)
    np.testing.assert_array_equal(interview.model_.log_.neighborhoods.rows[:200], old)


def test_a_saved_interview_continues_after_an_addition(tmp_path):
    interview = answer(Interview(FIRST, strategy="groups", ids=[f"a{i}" for i in range(200)]), 30, Y_FIRST)
    interview.extend(MORE, ids=[f"b{i}" for i in range(60)])
    answer(interview, 10)
    interview.save(tmp_path / "birds.json")
    ids = interview.ids
    X = np.vstack([FIRST, MORE])
    again = Interview.load(tmp_path / "birds.json", X, ids=ids)
    np.testing.assert_array_equal(again.labels_, interview.labels_)
    np.testing.assert_array_equal(again.placements.unplaced, interview.placements.unplaced)
    assert again.ask() == interview.ask()
    shown = again.labels_
    again.extend(MORE[:5] + 0.01, ids=[f"c{i}" for i in range(5)])
    np.testing.assert_array_equal(again.labels_[:260], shown)


@pytest.mark.parametrize(
    "added", [{"sizes": [260]}, {"labels": [0]}, {"sizes": []}, {"after": "x"}, {"sizes": [200, 200]}]
)
def test_a_file_with_wrong_additions_is_refused(tmp_path, added):
    interview = Interview(FIRST, strategy="groups")
    interview.extend(MORE)
    interview.save(tmp_path / "birds.json")
    content = json.loads((tmp_path / "birds.json").read_text())
    assert content["version"] == 4
    content["added"] |= added
    (tmp_path / "birds.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="added rows cannot be read"):
        Interview.load(tmp_path / "birds.json", np.vstack([FIRST, MORE]))


def test_hints_stay():
    hints = Supervision.from_labels(["wren", "owl", *[None] * 198])
    interview = Interview(FIRST, n_clusters=4, supervision=hints)
    interview.extend(MORE)
    assert interview.supervision.n_samples == 260
    assert interview.supervision.label_codes[:3].tolist() == hints.label_codes[:3].tolist()
    assert interview.names == {"owl": 1, "wren": 0}


@pytest.mark.parametrize(
    ("settings", "rows", "ids", "error", "message"),
    [
        ({}, np.zeros((2, 3)), None, SupervisionError, "the rows have 6 columns, and the new rows 3"),
        ({}, MORE, ["x"] * 60, SupervisionError, "the old rows have no ids"),
        ({"ids": [str(i) for i in range(200)]}, MORE, None, SupervisionError, "Pass ids for the new ones"),
        ({"ids": [str(i) for i in range(200)]}, MORE[:1], ["3"], SupervisionError, "3"),
        ({"pool": Pool(size=50, sample=50)}, MORE, None, LikewiseError, "with a pool"),
        ({}, np.full((1, 6), np.nan), None, ValueError, "NaN"),
    ],
)
def test_bad_additions_change_nothing(settings, rows, ids, error, message):
    interview = Interview(FIRST, n_clusters=4, **settings)
    with pytest.raises(error, match=message):
        interview.extend(rows, ids=ids)
    assert interview.n_samples == 200
    assert interview.ask() is not None


def test_nothing_was_added():
    with pytest.raises(LikewiseError, match="no rows were added"):
        _ = Interview(FIRST, n_clusters=4).placements


def test_carried_labels_by_hand():
    """Rows 0 to 5 are old. The model moved row 2 without an answer, and joined clusters 1 and 2 by one."""
    kept = np.array([0, 0, 0, 1, 1, 2])
    base = np.array([5, 5, 6, 6, 6, 7, 6])
    assert carry_labels(kept, base, base).tolist() == [0, 0, 0, 1, 1, 2, 1]
    joined = np.array([5, 5, 6, 6, 6, 6, 6])
    assert carry_labels(kept, base, joined).tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert carry_labels(kept, base, base, answered=[2]).tolist() == [0, 0, 1, 1, 1, 2, 1]
    split = np.array([5, 5, 6, 6, 8, 7, 8])
    assert carry_labels(kept, base, split).tolist() == [0, 0, 0, 1, 3, 2, 3]
