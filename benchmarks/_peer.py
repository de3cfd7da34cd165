"""Fit the peer's estimators. Runs in the peer's environment and process, and does not import likewise.

Importing active-semi-supervised-clustering makes NumPy raise floating-point errors in the whole process, so
it runs in a separate one. Reads a .npz file with X, must, cannot and k; prints one line of JSON per method.
"""

import json
import sys
import time

import numpy as np


def main():
    path, *methods = sys.argv[1:]
    data = np.load(path)
    X, k = data["X"], int(data["k"])
    must = [tuple(map(int, pair)) for pair in data["must"]]
    cannot = [tuple(map(int, pair)) for pair in data["cannot"]]
    from active_semi_clustering.semi_supervised.pairwise_constraints import MPCKMeans, PCKMeans

    for method in methods:
        np.random.seed(0)  # noqa: NPY002  (the peer draws from the global generator)
        model = {"PCK": PCKMeans, "MPCK": MPCKMeans}[method](n_clusters=k)
        started = time.process_time()
        model.fit(X, ml=must, cl=cannot)
        seconds = time.process_time() - started
        print(json.dumps({"method": method, "cpu": seconds, "labels": model.labels_.tolist()}), flush=True)


if __name__ == "__main__":
    main()
