"""A store on each database, with people in it."""

import pytest

from likewise.studio.store import open_store


@pytest.fixture
def store(database_url, tmp_path):
    opened = open_store(database_url, backups=tmp_path / "backups")
    yield opened
    opened.close()


@pytest.fixture
def people(store):
    """The ids of three people."""
    names = (("Ann", "owner"), ("Bob", "annotator"), ("Cem", "annotator"))
    return [store.write(lambda t, who=who: t.add_person(*who)).id for who in names]
