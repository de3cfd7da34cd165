"""Benchmarks: the tables in the pages are those of the results, and no public estimator is left out."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in ("growth", "tables", "_results"):
        sys.modules.pop(name, None)


def test_the_tables_are_those_of_the_results(scripts):
    import tables

    for page in tables.PAGES:
        text = page.read_text(encoding="utf-8")
        assert tables.MARKED.search(text)
        assert tables.replace_tables(text) == text, f"{page.name}: run python benchmarks/tables.py"


def test_results_of_which_nothing_is_known_leave_their_table(scripts, tmp_path, monkeypatch, capsys):
    import _results
    import tables

    monkeypatch.setattr(_results, "FOLDER", tmp_path)
    text = "<!-- table: growth cells -->\nas it was\n<!-- end of table -->"
    assert tables.replace_tables(text) == text
    assert "growth cells: not in results/growth.json" in capsys.readouterr().out
    _results.save_part("growth", "cells", [{"cpu": 1 / 3, "found": [2e-9 / 3]}], "a command")
    assert _results.read_results("growth")["cells"]["rows"] == [{"cpu": 0.333333, "found": [6.66667e-10]}]


def test_the_growth_of_every_public_estimator_is_measured(scripts, monkeypatch):
    import growth

    growth.check_complete()
    measured = {record["method"] for record in growth.read_results("growth")["cells"]["rows"]}
    assert measured == set(growth.FLOORS) | set(growth.METHODS)
    monkeypatch.delitem(growth.METHODS, "ITML")
    with pytest.raises(SystemExit, match="no entry for ITML: add"):
        growth.check_complete()


def test_records_of_methods_that_no_longer_exist_are_dropped(scripts, tmp_path, monkeypatch):
    import _results
    import growth

    monkeypatch.setattr(_results, "FOLDER", tmp_path)
    old = [{"method": name, "rows": 1000, "cpu": 1.0} for name in ("Renamed", "KMeans", "PCKMeans")]
    _results.save_part("growth", "cells", old, "a command")
    monkeypatch.setattr(growth, "run_cell", lambda name, n, *_: {"method": name, "rows": n, "cpu": 2.0})
    monkeypatch.setattr(sys, "argv", ["growth.py", "--only", "KMeans", "--rows", "1000"])
    growth.main()
    kept = {each["method"]: each["cpu"] for each in _results.read_results("growth")["cells"]["rows"]}
    assert kept == {"KMeans": 2.0, "PCKMeans": 1.0}
