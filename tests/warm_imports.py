"""Imported by the fork server: what the studio, its background process and ``likewise ask`` need."""

import threading

import numpy as np
from threadpoolctl import threadpool_limits

import likewise.cli.ask
import likewise.studio.jobs.analysis
import likewise.studio.server  # noqa: F401
from likewise.active import Interview
from likewise.oracles import LabelOracle

with threadpool_limits(limits=1):  # a thread would not survive the fork
    _y = np.arange(30) % 3
    _interview = Interview(np.eye(3)[_y] + np.linspace(0, 0.1, 30)[:, None], n_clusters=3)
    for _ in range(3):
        _question = _interview.ask()
        _interview.tell(_question, LabelOracle(_y).answer(_question))
    _ = _interview.labels_
assert threading.active_count() == 1
