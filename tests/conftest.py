"""What tests of several rooms need."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """Skip where there is no folder of data files; a test does not fetch from the network."""
    folder = Path(os.environ.get("LIKEWISE_DATA") or "no folder given")
    if not folder.is_dir():
        pytest.skip("LIKEWISE_DATA names no folder of data files")
    return folder
