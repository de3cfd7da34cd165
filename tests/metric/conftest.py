"""Metrics here are taken as they were learned; how far they are shrunk is the matter of test_shrinkage.py."""

import pytest

from likewise.metric import LSML, RCA, SparseLP
from likewise.metric._base import MetricLearner


@pytest.fixture(autouse=True)
def as_learned(monkeypatch):
    """Choose no shrinkage."""
    for learner in (MetricLearner, LSML, RCA, SparseLP):
        monkeypatch.setattr(learner, "_choose_shrinkage", lambda *_: 0.0)
