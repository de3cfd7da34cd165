"""Fit metric-learn's estimators. Runs in the peer's environment and process, and does not import likewise.

Reads a .npz file with X and the arguments of the method; prints one line of JSON with CPU seconds, iterations
and the metric.
"""

import json
import sys
import time

import metric_learn
import numpy as np


def main():
    path, method = sys.argv[1:]
    data = np.load(path)
    X = data["X"]
    if method == "LSML":
        model = metric_learn.LSML()
        arguments = {"quadruplets": X[data["quadruplets"]]}
    elif method == "RCA":
        model = metric_learn.RCA()
        arguments = {"X": X, "chunks": data["chunks"]}
    else:
        pairs = X[np.concatenate([data["must"], data["cannot"]])]
        y = np.repeat([1, -1], [len(data["must"]), len(data["cannot"])])
        arguments = {"pairs": pairs, "y": y}
        if method == "ITML":
            model = metric_learn.ITML(max_iter=1000, tol=1e-3)
            arguments["bounds"] = data["bounds"]
        else:
            model = metric_learn.MMC(diagonal=method == "MMC diagonal")
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 10:
        started = time.process_time()
        model.fit(**arguments)
        seconds.append(time.process_time() - started)
    M = model.get_mahalanobis_matrix()
    n_iter = int(getattr(model, "n_iter_", 0))
    print(json.dumps({"cpu": min(seconds), "n_iter": n_iter, "metric": M.tolist()}), flush=True)


if __name__ == "__main__":
    main()
