"""Run COBRAS or A3S with true answers. Runs in the peer's environment and process; does not import likewise.

Reads a .npz file with X and y, and a JSON object from the command line. Writes a .npz file with the classes
in the peer's order of rows and, for each number of answers in the object, the number of answers that were
given, the labels, the rows that the answers touched and CPU seconds.

A3S is the authors' program, run as published. It reads features from a file, and a regression from distances
to probabilities, which its own function fits on the labels of k-means with the true number of classes.
"""

import base64
import contextlib
import json
import random
import runpy
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

from _peer_active import Stopped, ask_cobras, limit


def run_cobras(task, X, y):
    np.random.seed(task["seed"])  # noqa: NPY002  (the peer draws from the global generator)
    labels, pairs, seconds, note = ask_cobras(X, y, max(task["answers"]), task["seconds"])
    labels = [labels[0] if found is None else found for found in labels]  # none before the first clusters
    states = []
    for answers in task["answers"]:
        n = min(answers, len(labels) - 1)
        touched = np.isin(np.arange(len(y)), pairs[:n])
        states.append((n, np.asarray(labels[n]), touched, seconds[n - 1] if n else 0.0))
    return y, states, note


def run_a3s(task, X, y, folder):
    """Run A3S.py on files with our rows; read its labels when it computes scores."""
    sys.path.insert(0, task["program"])
    settings, metric = import_module("Data_feature"), import_module("metric")

    path, model = folder / "rows.txt", folder / "regression.pkl"
    with path.open("w") as lines:
        for row, label in zip(X.astype(np.float32), y, strict=True):
            features = base64.b64encode(row.tobytes()).decode()
            lines.write(json.dumps({"features": features, "targetId": f"{label + 1:04d}"}) + "\n")
    # The first of its data sets becomes ours.
    settings.data_paths[0], settings.iso_paths[0], settings.n_list[0] = str(path), str(model), len(y)
    random.seed(task["seed"])
    np.random.seed(task["seed"])  # noqa: NPY002
    settings.compute_posterior_prob_by_l2_distance(
        str(model), X.astype(np.float32), K=int(y.max()) + 1, n_neighbors=task["neighbors"]
    )
    states, classes = {}, []
    compute_nmi = metric.NMI

    def record(y_true, labels):
        known = sys._getframe(1).f_globals  # of the program, which calls this to print its scores
        if not states:
            classes.append(y_true.copy())
        touched = np.count_nonzero(known["state"], axis=1) > 1
        states[known["count"]] = (labels.copy(), touched, time.process_time())
        return compute_nmi(y_true, labels)

    metric.NMI, note = record, ""
    arguments = {"seed": task["seed"], "d": 0, "n": 0, "iso": 0, "tau": task["tau"], "T": task["rounds"]}
    sys.argv = ["A3S.py", *(word for key, value in arguments.items() for word in (f"--{key}", str(value)))]
    limit(task["seconds"])
    try:
        with contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(str(Path(task["program"]) / "A3S.py"), run_name="__main__")
    except Stopped:
        note = f"stopped after {task['seconds']} s"
    finally:
        limit(0)
    if not states:
        raise SystemExit(f"A3S: no clusters after {task['seconds']} s")
    found, start = [], states[min(states)][-1]
    for answers in task["answers"]:
        n = max(count for count in states if count <= answers)
        labels, touched, spent = states[n]
        found.append((n, labels, touched, spent - start))
    return classes[0], found, note


def main():
    warnings.simplefilter("ignore")
    path, target, task = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    data = np.load(path)
    X, y = data["X"], data["y"]
    sys.setrecursionlimit(10**5)
    if task["peer"] == "COBRAS":
        y, states, note = run_cobras(task, X, y)
    else:
        y, states, note = run_a3s(task, X, y, path.parent)
    n, labels, touched, seconds = zip(*states, strict=True)
    np.savez(target, y=y, answers=n, labels=labels, touched=touched, seconds=seconds, note=note)


if __name__ == "__main__":
    main()
