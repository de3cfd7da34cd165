"""A project can be opened only with the database that has its answers."""

import dataclasses

import click
import pytest

from small_projects import make

pytest.importorskip("sqlalchemy")


def test_a_different_database_is_refused(tmp_path):
    from likewise.cli.studio import _check_database

    project = make(tmp_path)
    _check_database(None, project)
    with pytest.raises(click.UsageError, match=r"keeps its answers in birds.likewise/studio.sqlite"):
        _check_database("postgresql://u:secret@h/birds", project)
    url = "postgresql://u@h/birds"
    moved = project.with_settings(dataclasses.replace(project.settings, database=url))
    _check_database("postgresql://u:secret@h/birds", moved)
    with pytest.raises(click.UsageError, match="postgresql://u@h/birds, and --db is another") as refused:
        _check_database("postgresql://u:secret@h/other", moved)
    assert "secret" not in str(refused.value)
