"""Studios that run as commands and stop with the test."""

import pytest

from studio.whole.command import Command, write_table


@pytest.fixture
def start(tmp_path):
    """Start ``likewise studio`` on a small table, or with other arguments."""
    commands = []

    def _start(*words, **options):
        if not words or str(words[0]).startswith("-"):
            path = tmp_path / "birds.csv"
            words = (path if path.exists() else write_table(tmp_path), *words)
        commands.append(Command(*words, cwd=tmp_path, **options))
        return commands[-1]

    yield _start
    for command in commands:
        command.close()
