"""``likewise demo``: it ends, the score climbs, and what it says to type next works."""

import csv
import json
import shlex
import sys
from itertools import pairwise

import pytest

from likewise.cli import demo
from likewise.datasets import make_two_views
from likewise.supervision import RowIds, read_hints


def test_the_demo_does_what_it_says(run, few, tmp_path):
    shown = run("demo").stdout
    folder = tmp_path / "likewise-demo"
    assert sorted(path.name for path in folder.iterdir()) == [
        "clusters.png",
        "data.csv",
        "hints.csv",
        "labels.csv",
    ]
    assert (folder / "clusters.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((folder / "data.csv").read_text().splitlines()))
    assert len(rows) == 300
    hints = read_hints(folder / "hints.csv", RowIds.from_ids([row["id"] for row in rows]))
    assert len(hints.must) + len(hints.cannot) == demo.BUDGETS[-1]

    labels = (folder / "labels.csv").read_text()
    (folder / "labels.csv").unlink()
    words = shlex.split(shown.splitlines()[-1])
    assert len(words) > 1  # the first word is the program
    again = run(*words[1:])
    assert f"{len(hints.must)} must, {len(hints.cannot)} cannot" in again.stderr
    assert (folder / "labels.csv").read_text() == labels


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(demo, "N_DRAWS", 1)


def test_the_score_climbs(run, monkeypatch):
    monkeypatch.setattr(demo, "N_DRAWS", 4)
    rounds = json.loads(run("demo", "--json", "--out-dir", "a b").stdout)["rounds"]
    assert [one["n_hints"] for one in rounds] == list(demo.BUDGETS)
    assert rounds[0]["ari_untouched"] < 0.2
    assert rounds[-1]["ari_untouched"] > 0.9
    assert rounds[-1]["kept"] > 0.9


def test_the_next_command_survives_a_folder_with_blanks(run, few, tmp_path):
    shown = run("demo", "--out-dir", "a b", "--seed", 1).stdout
    run(*shlex.split(shown.splitlines()[-1])[1:])
    assert "'a b/data.csv'" in shown


def test_without_matplotlib_there_is_no_picture_and_a_note(run, few, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = run("demo").stdout
    assert "there is no picture" in shown
    assert "--plot" not in shown
    assert not (tmp_path / "likewise-demo" / "clusters.png").exists()


def test_a_folder_that_cannot_be_made(run, few, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in run("demo", "--out-dir", "file/x", code=1).stderr


def test_hints_grow():
    y = make_two_views(random_state=0).y
    growing = demo.draw_growing_hints(y, 0)
    assert [len(h.must) + len(h.cannot) for h in growing] == list(demo.BUDGETS)
    for less, more in pairwise(growing):
        assert less | more == more
