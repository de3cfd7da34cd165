"""A place to run commands in, and the smallest data that they make sense on."""

import pytest
from click.testing import CliRunner

from likewise.cli.main import cli

# Two groups of three birds, far apart; b3 stands a little toward the other group.
DATA = "name,x,y\na1,0,0\na2,0,1\na3,1,0\nb1,9,9\nb2,9,10\nb3,7,7\n"
HINTS = "a,b,link\na1,a2,must\na1,b1,cannot\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``likewise`` with some words in an empty folder, and check the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def _run(*words, code=0, **options):
        result = CliRunner().invoke(cli, list(map(str, words)), prog_name="likewise", **options)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return _run


@pytest.fixture
def files(tmp_path):
    """Write data.csv and hints.csv, and return their folder."""
    (tmp_path / "data.csv").write_text(DATA)
    (tmp_path / "hints.csv").write_text(HINTS)
    return tmp_path
