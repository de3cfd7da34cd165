"""The studio over HTTP, inside the test process, with clients that are logged in or not."""

import pytest

from studio.http.web import Site, picture_project
from studio.service.desk import Desk, open_desk


@pytest.fixture
def site(tmp_path):
    """The studio of eight texts."""
    site = Site(open_desk(tmp_path))
    yield site
    site.close()


@pytest.fixture
def pictures(tmp_path):
    """The studio of a folder of pictures and of files that are not pictures."""
    site = Site(Desk(picture_project(tmp_path)))
    yield site
    site.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A studio for all tests of a module that change nothing in it."""
    site = Site(open_desk(tmp_path_factory.mktemp("shared")))
    yield site
    site.close()


@pytest.fixture(scope="module")
def visitor(shared):
    """A client of an annotator of the shared studio."""
    return shared.annotator()
