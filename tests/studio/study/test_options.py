"""Options of a study: JSON, invalid values, and pools marked by hand."""

import json

import pytest

from likewise.exceptions import FileFormatError, StudyError
from likewise.studio.study import MarkedQuestion, Study, StudyOptions, read_pool
from studio.study.simulated import clouds


def test_options_survive_json():
    options = StudyOptions(
        n_pairs=6,
        n_triplets=4,
        pool=(MarkedQuestion("a", "b", None, "easy"), MarkedQuestion("a", "b", "c", "difficult")),
    )
    assert StudyOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert StudyOptions.from_json({}) == StudyOptions()


def test_the_defaults_show_the_same_number_of_items():
    assert StudyOptions().same_items
    assert StudyOptions(n_pairs=195, n_triplets=130).same_items
    assert not StudyOptions(n_pairs=50).same_items


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_pairs": 0}, "n_pairs of a study must be an integer from 1"),
        ({"n_pairs": True}, "n_pairs"),
        ({"n_triplets": 2.5}, "n_triplets"),
        ({"n_triplets": 10**9}, "n_triplets"),
        ({"difficult": 1.5}, "difficult of a study must be a number from 0 to 1"),
        ({"difficult": float("nan")}, "difficult"),
        ({"practice": -1}, "practice"),
        ({"reference": 1}, "true or false"),
        ({"seed": -1}, "seed"),
        ({"blocks": 50}, "leave some empty"),
        ({"colour": "red"}, "no option 'colour'"),
        ({"pool": [["a", "b", None, "hard"]]}, "'easy' or 'difficult'; got 'hard'"),
        ({"pool": [["a", "b"]]}, "list of"),
        ({"pool": 3}, "list of"),
    ],
)
def test_invalid_options_are_refused(given, message):
    with pytest.raises(StudyError, match=message):
        StudyOptions.from_json(given)


def make_marked_rows(n):
    """Return pairs and triplets about the first rows, every second one difficult."""
    ids = [f"item {i}" for i in range(2 * n + 1)]
    words = ["easy", "difficult"]
    pairs = [MarkedQuestion(ids[i], ids[2 * n - i], None, words[i % 2]) for i in range(n)]
    return pairs + [MarkedQuestion(ids[i], ids[2 * n - i], ids[n], words[i % 2]) for i in range(n)]


def test_a_pool_marked_by_hand(tmp_path):
    path = tmp_path / "pool.csv"
    rows = [f"{a},{b},{c or ''},{difficulty}" for a, b, c, difficulty in make_marked_rows(16)]
    path.write_text("\n".join(["a,b,c,difficulty", *rows]), encoding="utf-8")
    pool = read_pool(path)
    assert pool == tuple(make_marked_rows(16))
    study = Study(*clouds(), StudyOptions(n_pairs=10, n_triplets=10, practice=2, pool=pool))
    marks = {frozenset(filter(None, one[:3])): one.difficulty for one in pool}
    for task in study.get_tasks(2):
        assert [one.asked.difficulty for one in task.questions].count("difficult") == 5
        assert all(marks[frozenset(one.items)] == one.asked.difficulty for one in task.questions)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,difficulty\n", "missing: c"),
        ("a,b,c,difficulty\n", "no questions"),
        ("a,b,c,difficulty\n1,2,,easy\n1,3,,hard\n", "line 3: difficulty must be easy or difficult"),
        ("a,b,c,difficulty\n1,,,easy\n", "line 2: a and b are required"),
        ("a,b,c,difficulty\n1,2,easy\n", "line 2: its number of cells"),
        ("a,b,c,difficulty\n" + "1,2,,?\n" * 9, "and 4 more"),
    ],
)
def test_invalid_pool_files_are_refused(tmp_path, text, message):
    path = tmp_path / "pool.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_pool(path)


def test_a_missing_pool_file_is_reported(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_pool(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        (MarkedQuestion("item 1", "nobody", None, "easy"), "'nobody', which is not among the items"),
        (MarkedQuestion("item 1", "item 1", None, "easy"), "one item twice"),
        (MarkedQuestion("item 16", "item 0", "item 32", "easy"), "twice; remove one"),
        (MarkedQuestion("item 1", "item 119", None, "easy"), "whose class is not known"),
    ],
)
def test_pools_that_do_not_match_the_items(marked, message):
    X, ids, truths = clouds()
    truths[119] = None
    pool = (*make_marked_rows(16), marked)
    with pytest.raises(StudyError, match=message):
        Study(X, ids, truths, StudyOptions(n_pairs=10, n_triplets=10, practice=2, pool=pool))


def test_a_pool_that_is_too_small():
    options = StudyOptions(n_pairs=20, n_triplets=10, practice=2, pool=tuple(make_marked_rows(16)))
    with pytest.raises(StudyError, match=r"the pool marked by hand gave .* or mark more"):
        Study(*clouds(), options)
