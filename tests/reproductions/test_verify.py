"""What the reproductions recorded, verified by their own script."""

import sys

import pytest

from reference.reproductions import REPRODUCTIONS


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(REPRODUCTIONS)
    import verify

    yield verify
    del sys.modules["verify"]


def test_recorded_results_agree_with_tables_and_verdicts(script, capsys):
    code = script.main([])
    output = capsys.readouterr().out
    assert code == 0, output
    assert output.count(" checks passed") == len(script.PAPERS) == 7


def test_a_claim_that_no_longer_holds_is_reported(script, capsys, monkeypatch):
    def check_the_impossible():
        """Two and two make five."""
        assert 2 + 2 == 5, "sums"

    monkeypatch.setattr(script, "find_checks", lambda claims: [check_the_impossible])
    assert script.main(["mpck_means"]) == 1
    output = capsys.readouterr().out
    assert "mpck_means: 0 of 1 checks passed" in output
    assert "Two and two make five." in output
    assert "sums" in output
