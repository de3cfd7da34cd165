"""Ctrl-C ends a long fit in each of its phases: the graph, its eigenvectors, and what follows."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from likewise import PropagationClustering, SpectralLearning
from likewise._compat import HAS_CALLBACKS

# The fit prints a line when a phase begins. If the signal were ignored, it would print the next line, too.
# Modules that a phase would import are imported before: Python ignores a signal while it ends an import.
FIT = """
import likewise.kernels.assign, likewise.kernels.near_rows, sklearn.cluster, sklearn.neighbors
import numpy as np
from scipy.sparse import random_array
from likewise import Supervision
from likewise.spectral import {name}, _affinity, _base, _kernel_kmeans, _pencil

def announce(module, function, line):
    inner = getattr(module, function)

    def outer(*given, **more):
        print(line, flush=True)
        return inner(*given, **more)

    setattr(module, function, outer)

announce(_affinity, "find_near_rows", "search")
announce(_affinity, "_compute_scales", "weights")
announce(_base, "compute_leading_eigenvectors", "eigenvectors")
announce(_base, "round_by_kmeans", "clusters")
announce(_kernel_kmeans.ConstrainedKernelKMeans, "_improve_labels", "moves")
announce(_pencil.Pencil, "find_feasible", "level")
announce(_base.SpectralFamily, "_find_fewest_violated", "choice")
rng = np.random.default_rng(0)
{make}
print("fitted", flush=True)
"""
MANY_ROWS = "X = rng.normal(size=(200_000, {d})); {name}(8, random_state=0).fit(X)"
LARGE_GRAPH = """
half = random_array((100_000, 100_000), density=1e-4, rng=rng, format="csr")
{name}(40, affinity="precomputed", tol=1e-10, random_state=0).fit(half + half.T)
"""
LINKED_GRAPH = """
half = random_array((20_000, 20_000), density=1e-3, rng=rng, format="csr")
links = Supervision.from_links(20_000, must=[(0, 1), (2, 3), (4, 5)], cannot=[(0, 2), (2, 4), (0, 4)])
{name}(3, affinity="precomputed", n_init=40, tol=0.01, random_state=0).fit(half + half.T, supervision=links)
"""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be sent SIGINT alone")
@pytest.mark.parametrize(
    ("name", "make", "phase", "later"),
    [
        ("SpectralLearning", MANY_ROWS.replace("{d}", "16"), "search", "weights"),
        ("SpectralLearning", MANY_ROWS.replace("{d}", "6"), "search", "weights"),  # exact, by a tree
        ("PropagationClustering", MANY_ROWS.replace("{d}", "16"), "search", "weights"),
        ("SpectralLearning", LARGE_GRAPH, "eigenvectors", "clusters"),
        ("BagSpectralClustering", LARGE_GRAPH, "eigenvectors", "clusters"),
        ("RegularizedSpectralClustering", LARGE_GRAPH, "eigenvectors", "clusters"),
        ("ConstrainedKernelKMeans", LINKED_GRAPH, "moves", "choice"),
        ("FlexibleSpectralClustering", LINKED_GRAPH, "level", "choice"),
    ],
    ids=["cells", "tree", "propagation", "eigenvectors", "bags", "regularized", "moves", "levels"],
)
def test_an_interrupt_ends_the_phase(name, make, phase, later):
    code = FIT.replace("{make}", make).replace("{name}", name)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        seen = []
        while phase not in seen:
            seen.append(child.stdout.readline().strip())
            assert seen[-1], child.stderr.read()  # the fit failed before the phase
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode == -signal.SIGINT
    assert later not in output.split()


@pytest.mark.skipif(not HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
@pytest.mark.parametrize("cls", [SpectralLearning, PropagationClustering])
def test_callbacks_see_the_graph_and_the_clusters(cls):
    class Recorder:
        def __init__(self):
            self.tasks = []

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.tasks.append(context.task_name)

        def teardown(self, estimator, context):
            pass

    recorder, X = Recorder(), np.random.default_rng(0).normal(size=(60, 2))
    cls(2, random_state=0).set_callbacks(recorder).fit(X)
    assert recorder.tasks == ["iteration", "iteration", "start 0", "fit"]
