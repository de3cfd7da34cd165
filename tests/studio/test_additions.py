"""Items that are added to a project: completely or not at all, and groups stay until an answer moves them."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.project import Project
from likewise.studio.records import Item, StoredEvent
from small_projects import make

IDS = [f"i{k}" for k in range(12)]


def new_items(project, n, prefix="new"):
    first = project.items.n
    return [Item(first + k, f"{prefix}{first + k}", "text", "new", text="new") for k in range(n)]


def tell(analysis, *pairs):
    events = [
        StoredEvent(
            seq,
            f"key-{seq}",
            "answer",
            1,
            "2026-03-09T12:00:00+00:00",
            {"kind": "pair", "items": [a, b], "answer": answer, "source": "question"},
        )
        for seq, (a, b, answer) in enumerate(pairs, start=1)
    ]
    analysis.tell(events)
    return analysis


def test_an_addition_keeps_rows_and_names_new_files(tmp_path):
    project = make(tmp_path, IDS)
    X = np.array(project.load_features())
    project.keep_groups(np.arange(12, dtype=np.int32) // 6, 5)
    with project.lock_items():
        now = project.add_items([[0.5, 0.5], [9.5, 0.5]], new_items(project, 2))
    np.testing.assert_array_equal(now.load_features()[:12], X)
    assert now.items.get_ids() == [*IDS, "new12", "new13"]
    assert now.described.n_items == 14
    assert (now.addition.sizes, now.addition.seq, now.addition.changed) == ((12,), 5, ())
    assert now.addition.labels.tolist() == [0] * 6 + [1] * 6
    assert now.mark() == project.mark()
    # Without a picture since then, the groups of the older items are kept by the next addition too.
    with now.lock_items():
        third = now.add_items([[1.0, 1.0]], new_items(now, 1), uploaded=True)
    assert third.addition.sizes == (12, 14)
    assert third.addition.seq == 5
    assert third.addition.labels.tolist() == [0] * 6 + [1] * 6
    assert third.uploaded_rows == [(14, 15)]
    # The files of the addition before stay for a running studio; older ones do not.
    assert len(list(project.folder.glob("features*.npy"))) == 2
    assert not (project.folder / "features.npy").exists()
    assert project.refresh()
    assert project.items.get(14).id == "new14"
    assert not project.refresh()


def test_changed_items_keep_their_rows(tmp_path):
    project = make(tmp_path, IDS)
    other = Item(3, "i3", "text", "other", text="another text")
    now = project.add_items([], [], changed={3: [4.0, 4.0]}, changed_items=[other])
    assert now.items.get(3) == other
    assert now.load_features()[3].tolist() == [4.0, 4.0]
    assert now.addition.changed == (3,)


def test_items_that_changed_before_the_last_picture_may_move(tmp_path):
    project = make(tmp_path, IDS)
    project.keep_groups(np.arange(12, dtype=np.int32) // 6, 5)
    other = Item(3, "i3", "text", "other", text="another text")
    now = project.add_items(
        [[1.0, 1.0]], new_items(project, 1), changed={3: [4.0, 4.0]}, changed_items=[other]
    )
    assert now.add_items([[1.0, 1.0]], new_items(now, 1)).addition.changed == (3,)
    now = Project.open(project.folder)
    now.keep_groups(np.zeros(14, dtype=np.int32), 6)  # this picture has the changed item
    assert now.add_items([[1.0, 1.0]], new_items(now, 1)).addition.changed == ()


@pytest.mark.parametrize(
    ("rows", "items", "message"),
    [
        ([[1.0, 2.0]], [Item(12, "i3", "text", "x")], "used for an earlier item"),
        ([[1.0, 2.0]], [Item(11, "x", "text", "x")], "has row 11"),
        ([[1.0, np.nan]], [Item(12, "x", "text", "x")], "expected finite numbers"),
        ([[1.0, 2.0]], [], "0 new items and 1 rows"),
    ],
)
def test_a_bad_addition_changes_nothing(tmp_path, rows, items, message):
    project = make(tmp_path, IDS)
    before = sorted(path.name for path in project.folder.iterdir())
    with pytest.raises(LikewiseError, match=message):
        project.add_items(rows, items)
    assert sorted(path.name for path in project.folder.iterdir()) == before
    assert Project.open(project.folder).items.n == 12


def test_settings_that_are_stored_later_keep_the_addition(tmp_path):
    project = make(tmp_path, IDS)
    project.add_items([[1.0, 2.0]], new_items(project, 1))
    project.with_settings(project.settings)  # an object from before the addition
    assert Project.open(project.folder).items.n == 13


def test_a_file_outside_the_folder_is_refused(tmp_path):
    project = make(tmp_path, IDS)
    project.add_items([[1.0, 2.0]], new_items(project, 1))
    path = project.folder / "project.json"
    path.write_text(path.read_text().replace('"features": "features-', '"features": "../features-'))
    with pytest.raises(FileFormatError, match="is not in the folder of the project"):
        Project.open(project.folder)


def test_one_process_adds_at_a_time(tmp_path):
    project = make(tmp_path, IDS)
    other = "from pathlib import Path; from likewise.studio.project import Project; import sys\n"
    other += "with Project.open(Path(sys.argv[1])).lock_items(): print('added')"
    with project.lock_items():
        done = subprocess.run(
            [sys.executable, "-c", other, project.folder], capture_output=True, text=True, check=False
        )
    assert "items are being added" in done.stderr
    assert "added" not in done.stdout


ADDER = """
import sys
from likewise.studio.project import Project
from likewise.studio.records import Item
project = Project.open(sys.argv[1])
print("ready", flush=True)
while True:
    n = project.items.n
    items = [Item(n + k, f"new{n + k}", "text", "new", text="x" * 500) for k in range(40)]
    project = project.add_items([[float(n + k), 1.0] for k in range(40)], items)
    print(project.items.n, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_a_kill_leaves_the_project_before_or_after_the_addition(tmp_path):
    project = make(tmp_path, IDS)
    for round_ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", ADDER, project.folder], stdout=subprocess.PIPE, text=True
        )
        n = Project.open(project.folder).items.n
        for line in [child.stdout.readline() for _ in range(1 + round_)]:
            n = int(line) if line != "ready\n" else n
        for _ in range(997 * round_):  # at another moment of the next addition each time
            os.stat(project.folder)
        child.send_signal(signal.SIGKILL)
        rest = [int(line) for line in child.stdout if line.endswith("\n") and line != "ready\n"]
        child.wait()
        child.stdout.close()
        now = Project.open(project.folder)  # checks that features, items and description agree
        assert now.items.n in (max([n, *rest]), max([n, *rest]) + 40)
        assert now.items.get_ids()[:12] == IDS
        assert now.items.get(now.items.n - 1).row == now.items.n - 1
        for name in ("features*.npy", "items*.sqlite"):
            assert len(list(project.folder.glob(name))) <= 3  # the last two, and one that was left behind


def test_groups_stay_until_an_answer_moves_them(tmp_path):
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    X = centers[np.arange(90) % 3] + rng.normal(size=(90, 2))
    ids = [f"i{k}" for k in range(90)]
    project = make(tmp_path, ids[:60], discover=True)
    first = tell(ProjectAnalysis(X[:60], ids[:60], project.settings), ("i0", "i1", "DIFFERENT"))
    picture = first.make_picture()
    project.keep_groups(picture.labels, picture.seq)
    items = [Item(k, ids[k], "text", "new", text="new") for k in range(60, 90)]
    far = [Item(90, "far", "text", "far", text="far")]
    now = project.add_items(np.vstack([X[60:], [[99.0, 99.0]]]), [*items, *far])
    X = np.vstack([X, [[99.0, 99.0]]])
    ids.append("far")
    pairs = [("i0", "i1", "DIFFERENT")]
    second = ProjectAnalysis(X, ids, now.settings, None, None, now.addition)
    shown = tell(second, *pairs).make_picture()
    np.testing.assert_array_equal(shown.labels[:60], picture.labels)
    assert 90 in shown.unplaced
    pairs += [
        (f"i{a}", f"i{b}", "SAME" if a % 3 == b % 3 else "DIFFERENT") for a in range(1, 6) for b in range(a)
    ]
    pairs.append(("i1", "far", "SAME"))
    later = tell(second, *pairs).make_picture()
    assert later.labels[2] not in (later.labels[0], later.labels[1])
    assert 90 not in later.unplaced
    again = ProjectAnalysis(X, ids, now.settings, None, None, now.addition)  # after a restart
    np.testing.assert_array_equal(tell(again, *pairs).make_picture().labels, later.labels)
