"""Tests of metrics without shrinkage; test_shrinkage.py tests the shrinkage."""

import pytest

from likewise.metric import RCA
from likewise.metric._base import MetricLearner


@pytest.fixture(autouse=True)
def as_learned(monkeypatch):
    """Disable shrinkage."""
    for learner in (MetricLearner, RCA):
        monkeypatch.setattr(learner, "_choose_shrinkage", lambda *_: 0.0)
