"""Saved interviews: readable, complete, and only for the same rows."""

import json
import signal
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fork_server import start_process
from likewise import MPCKMeans, PCKMeans, Supervision
from likewise.active import FarthestFirst, Interview, NodeUncertainty, Question, RandomPairs, Reason
from likewise.exceptions import FileFormatError, LikewiseError
from patience import PATIENCE

X = np.array([[0.0, 1.0], [0.2, 1.0], [0.4, 0.0], [5.0, 1.0], [5.2, 3.0], [5.4, 1.0]])


@dataclass(frozen=True)
class Own:
    """A strategy that the package does not know."""

    detail: Any = None
    name: ClassVar[str] = "own"
    needs: ClassVar[frozenset[str]] = frozenset()

    def choose(self, state, n):
        return RandomPairs().choose(state, n)


@pytest.fixture
def saved(tmp_path):
    interview = Interview(X, n_clusters=2, strategy=RandomPairs(), random_state=4, budget=9)
    interview.tell(
        Question.pair(3, 0, score=0.25, reason="Far apart."), "DIFFERENT", annotator="Zoë", seconds=1.5
    )
    interview.skip(Question.pair(1, 2))
    interview.tell(Question.triplet(5, 1, 0), "UNSURE", time="2026-03-09T12:00:00")
    interview.undo()
    path = tmp_path / "interview.json"
    interview.save(path)
    return interview, path


def run_code(code, folder):
    """Run Python code in a folder, in another process with other hashes of strings; return its exit code."""
    process = start_process(exec, (f"import os\nos.chdir({str(folder)!r})\n{code}", {}))
    process.join(PATIENCE)
    return process.exitcode


def edit_file(path, **changes):
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | changes), encoding="utf-8")
    return path


def test_a_reason_follows_its_rows_into_a_file_and_back(tmp_path):
    interview = Interview(X, n_clusters=2, ids=list("abcdef"))
    reason = Reason("{Row} is near to {row}.", (3, 5))
    interview.tell(Question.pair(3, 0, reason=reason), "SAME")
    path = tmp_path / "interview.json"
    interview.save(path)
    entry = json.loads(path.read_text(encoding="utf-8"))["history"][0]
    assert entry["why"] == "Row 3 is near to row 5."
    assert entry["reason"] == {"template": "{Row} is near to {row}.", "rows": ["d", "f"]}
    again = Interview.load(path, X, ids=list("abcdef"))
    assert again.replies[0].question.reason == reason


def test_a_file_with_the_reason_as_a_sentence_is_read(saved):
    _, path = saved
    assert Interview.load(path, X).replies[0].question.reason == Reason("Far apart.")


def test_a_file_can_be_read_by_people(saved):
    interview, path = saved
    digest = json.loads(path.read_text(encoding="utf-8"))["data"]["digest"]
    assert path.read_text(encoding="utf-8") == (
        "{\n"
        ' "format": "likewise interview",\n'
        ' "version": 3,\n'
        f' "data": {{"rows": 6, "columns": 2, "digest": "{digest}"}},\n'
        ' "seed": 4,\n'
        ' "n_clusters": 2,\n'
        ' "discover": false,\n'
        ' "budget": 9,\n'
        ' "errors": "learn",\n'
        ' "strategy": {"name": "random", "class": "RandomPairs", "parameters": {}},\n'
        ' "model": null,\n'
        ' "hints": [],\n'
        ' "history": [\n'
        '  {"event": "answer", "kind": "pair", "rows": [0, 3], "answer": "DIFFERENT", "annotator": "Zoë", '
        '"seconds": 1.5, "score": 0.25, "why": "Far apart."},\n'
        '  {"event": "skip", "kind": "pair", "rows": [1, 2]},\n'
        '  {"event": "answer", "kind": "triplet", "rows": [5, 1, 0], "answer": "UNSURE", '
        '"time": "2026-03-09T12:00:00"},\n'
        '  {"event": "undo", "of": 2}\n'
        " ]\n"
        "}\n"
    )
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # nothing left beside it
    assert interview.n_answers == 1


def test_what_is_loaded_is_what_was_saved(saved, tmp_path):
    interview, path = saved
    loaded = Interview.load(path, X.tolist())
    assert loaded.history == interview.history
    assert (loaded.random_state, loaded.budget, loaded.left, loaded.strategy) == (4, 9, 8, RandomPairs())
    assert loaded.ask() == interview.ask()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_another_process_asks_the_same(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3)).round(6)
    interview = Interview(rows, n_clusters=3, random_state=2)
    for answer in ("DIFFERENT", "UNSURE", "SAME", "DIFFERENT", "DIFFERENT", "SAME"):
        interview.tell(interview.ask(), answer)
    interview.save(tmp_path / "i.json")
    code = (
        "import numpy as np, pathlib\n"
        "from likewise.active import Interview\n"
        "rows = np.random.default_rng(0).normal(size=(30, 3)).round(6)\n"
        "asked = Interview.load('i.json', rows).ask(4)\n"
        "pathlib.Path('asked').write_text(str([question.rows for question in asked]))"
    )
    assert run_code(code, tmp_path) == 0
    assert (tmp_path / "asked").read_text() == str([question.rows for question in interview.ask(4)])


def test_given_hints_and_parameters_come_back(tmp_path):
    hints = Supervision.from_links(6, must=[(0, 1)], must_weights=2.5, cannot_groups=[[0, 3, 4]])
    hints |= Supervision.from_triplets(6, [(0, 1, 5)], "AB")
    interview = Interview(
        X, strategy=NodeUncertainty("global", n_neighbors=4), n_clusters=3, discover=True, supervision=hints
    )
    interview.save(tmp_path / "i.json")
    loaded = Interview.load(tmp_path / "i.json", X)
    assert loaded.given == hints
    assert loaded.strategy == NodeUncertainty("global", n_neighbors=4)
    assert (loaded.discover, loaded.n_clusters) == (True, 3)
    assert loaded.ask() == interview.ask()


def test_a_file_without_errors_is_continued_with_errors_learned(saved):
    interview, path = saved
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["errors"]
    path.write_text(json.dumps(content), encoding="utf-8")
    loaded = Interview.load(path, X)
    assert loaded.errors == "learn"
    assert loaded.ask() == interview.ask()
    loaded.tell(loaded.ask(), "SAME")
    assert loaded.error_rate.mean > 0


def test_another_strategy_may_be_given(saved):
    _, path = saved
    assert Interview.load(path, X, strategy=FarthestFirst()).strategy == FarthestFirst()


def test_a_model_of_ones_own_has_to_be_given_again(tmp_path):
    interview = Interview(X, model=PCKMeans(n_clusters=2), strategy=NodeUncertainty())
    interview.save(tmp_path / "i.json")
    with pytest.raises(
        LikewiseError, match=r"the interview used the model PCKMeans\(n_clusters=2\), .* Pass it again"
    ):
        Interview.load(tmp_path / "i.json", X)
    assert Interview.load(tmp_path / "i.json", X, model=PCKMeans(n_clusters=2)).ask() == interview.ask()
    assert Interview.load(tmp_path / "i.json", X, model=MPCKMeans(n_clusters=3)).n_clusters == 3


@pytest.mark.parametrize("strategy", [Own(), Own(detail=object())])
def test_a_strategy_of_ones_own_has_to_be_given_again(tmp_path, strategy):
    interview = Interview(X, n_clusters=2, strategy=strategy)
    interview.save(tmp_path / "i.json")
    with pytest.raises(LikewiseError, match="the strategy 'own' cannot be restored from the file"):
        Interview.load(tmp_path / "i.json", X)
    assert Interview.load(tmp_path / "i.json", X, strategy=Own()).ask() == interview.ask()


@pytest.mark.parametrize("other", [X[:5], X[:, :1], X + 1e-9, X[::-1]])
def test_other_rows_are_refused(saved, other):
    with pytest.raises(FileFormatError, match="about other rows"):
        Interview.load(saved[1], other)


def test_a_newer_version_is_refused(saved):
    with pytest.raises(FileFormatError, match="got 5, written by a newer likewise"):
        Interview.load(edit_file(saved[1], version=5), X)


def test_an_older_version_is_read(saved):
    interview, path = saved
    assert Interview.load(edit_file(path, version=1), X).history == interview.history


def test_a_file_cut_short_is_refused_wherever_it_is_cut(saved):
    _, path = saved
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="truncated"):
            Interview.load(path, X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "hints"}, "not a saved interview"),
        ({"version": "1"}, "must be an integer"),
        ({"data": None}, "'data' must be a dict"),
        ({"history": None}, "'history' must be a list"),
        ({"hints": {}}, "'hints' must be a list"),
        ({"hints": [3]}, "hint 1: expected an object"),
        ({"hints": [{"kind": "must", "items": ["0", "9"]}]}, "hint 1"),
        ({"seed": None}, "random_state must be"),
        ({"n_clusters": 99}, "n_clusters=99"),
        ({"strategy": {"class": "RandomPairs", "name": "random", "parameters": {"x": 1}}}, "is invalid"),
        ({"history": ["answer"]}, "event 0 of the history"),
        ({"history": [{"event": "shrug", "kind": "pair", "rows": [0, 1]}]}, "no such event: 'shrug'"),
        ({"history": [{"event": "answer", "kind": "pair", "rows": [0, 1]}]}, "event 0 .* 'answer'"),
        (
            {"history": [{"event": "answer", "kind": "pair", "rows": [0, 9], "answer": "SAME"}]},
            "contains row 9",
        ),
        ({"history": [{"event": "answer", "kind": "pair", "rows": 3, "answer": "SAME"}]}, "event 0"),
        ({"history": [{"event": "undo", "of": 0}]}, "is not an answer or skip that still counts"),
    ],
)
def test_a_file_that_was_spoilt_is_refused(saved, changes, message):
    with pytest.raises(FileFormatError, match=message):
        Interview.load(edit_file(saved[1], **changes), X)


def test_missing_settings_are_reported(saved):
    content = json.loads(saved[1].read_text(encoding="utf-8"))
    del content["seed"]
    saved[1].write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FileFormatError, match="'seed'"):
        Interview.load(saved[1], X)


def test_an_old_file_stays_whole_if_saving_fails(saved, monkeypatch):
    interview, path = saved
    before = path.read_bytes()
    interview.tell(interview.ask(), "SAME")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        interview.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("folder", ["none", "none/of/these"])
def test_saving_into_a_folder_that_is_not_there_names_the_folder(saved, folder):
    interview, path = saved
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*none.*'\. Create it first") as error:
        interview.save(path.parent / folder / "interview.json")
    assert ".part" not in str(error.value)
    assert not (path.parent / "none").exists()


def test_a_save_that_was_killed_does_not_hinder_the_next(saved):
    interview, path = saved
    code = f"""
import os, signal
import numpy as np
from likewise.active import Interview
X = np.array({X.tolist()})
interview = Interview.load({path.name!r}, X)
interview.tell(interview.ask(), "SAME")
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
interview.save({path.name!r})
"""
    before = path.read_bytes()
    assert run_code(code, path.parent) == -signal.SIGKILL
    left = [entry for entry in path.parent.iterdir() if entry != path]
    assert [entry.suffix for entry in left] == [".part"]
    assert path.read_bytes() == before
    interview.tell(interview.ask(), "SAME")
    interview.save(path)
    assert Interview.load(path, X).history == interview.history
    assert [entry for entry in path.parent.iterdir() if entry != path] == left  # nor is it taken for ours


def test_a_strategy_may_be_given_by_name_when_loading(saved):
    assert Interview.load(saved[1], X, strategy="min-max").strategy.name == "min-max"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Interview.load(tmp_path / "nothing.json", X)
