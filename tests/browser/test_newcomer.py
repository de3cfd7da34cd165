"""A newcomer's whole run in a real browser, from the command to the exports."""

import importlib.util
from pathlib import Path

TOUR = Path(__file__).parents[2] / "examples" / "studio_tour.py"


def test_a_newcomer_answers_undoes_skips_contradicts_and_exports(browser, tmp_path):
    spec = importlib.util.spec_from_file_location("studio_tour", TOUR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.tour(tmp_path, browser=browser, n_birds=96, n_answers=15)
    assert found["undone"], "undo should show the question again"
    assert found["answers"] in (18, 19)  # 15, one undone, and two or three corrections
    assert found["labels"] == 96
    assert found["contradiction"]["found"] >= 1
    assert found["contradiction"]["left"] == 0
    assert found["report"] == 200
    assert found["problems"] == []
