"""Complete studios for the tests of the service."""

import pytest

from studio.service.desk import open_desk


@pytest.fixture
def open_studio(tmp_path):
    """Opens studios, and closes them at the end of the test."""
    opened = []

    def opener(n=8, options=None, **settings):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        opened.append(open_desk(folder, n, options, **settings))
        return opened[-1]

    yield opener
    for desk in opened:
        desk.close()


@pytest.fixture
def desk(open_studio):
    """A studio of eight texts in two groups."""
    return open_studio()
