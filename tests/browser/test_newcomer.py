"""Whole runs in a real browser, from the command to the exports."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples"


def load_example(name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_a_newcomer_answers_undoes_skips_contradicts_and_exports(browser, tmp_path, monkeypatch):
    found = load_example("studio_tour", monkeypatch).tour(tmp_path, browser=browser, n_birds=96, n_answers=15)
    assert found["undone"], "undo should show the question again"
    assert found["answers"] == 16 + found["contradiction"]["corrections"]  # 15, and one undone
    assert found["labels"] == 96
    assert found["contradiction"]["found"] >= 1
    assert found["contradiction"]["left"] == 0
    assert found["report"] == 200
    assert found["problems"] == []


def test_recordings_are_grouped_with_single_keys_despite_wrong_answers(browser, tmp_path, monkeypatch):
    walks = load_example("studio_walks", monkeypatch)
    birds = walks.write_birds(tmp_path / "birds", np.random.default_rng(0), n_each=12)
    found = walks.walk(browser, birds, error_rate=0.05, n_answers=40)
    assert found["answers"] == 40
    assert found["wrong"] == 2
    # Which questions wait in the page when an answer is given depends on the speed of the machine, and so do
    # the groups after 40 answers: .78 was seen at load 14.
    assert found["ari"] >= found["ari_before"] + 0.1
    assert found["faults"] == []
