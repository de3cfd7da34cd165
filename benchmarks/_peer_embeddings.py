"""Fit FAISS or SuperKMeans to the rows of a file; run by embeddings.py, maybe in another environment.

Without further arguments than a method, print the version of its package.
"""

import json
import sys
import time
from importlib import metadata

import numpy as np

PACKAGES = {"faiss": "faiss-cpu", "superkmeans": "superkmeans"}


def fit_faiss(X, k, seed, n_iter):
    import faiss

    faiss.omp_set_num_threads(1)
    n, d = X.shape
    start = time.process_time()
    model = faiss.Kmeans(d, k, niter=n_iter, seed=seed, nredo=1, max_points_per_centroid=n)
    model.train(X)
    model.index.search(X, 1)  # the labels, which the fit of others includes
    return time.process_time() - start, model.centroids, len(model.iteration_stats)


def fit_superkmeans(X, k, seed, n_iter):
    from superkmeans import SuperKMeans

    # Zero stands for the defaults: 10 iterations on a sample of the rows.
    more = {"iters": n_iter, "sampling_fraction": 1.0, "max_points_per_cluster": len(X)} if n_iter else {}
    start = time.process_time()
    model = SuperKMeans(k, X.shape[1], hierarchical=False, n_threads=1, seed=seed, **more)
    centers = model.train(X)
    model.assign(X, centers)
    return time.process_time() - start, centers, len(model.iteration_stats)


def main():
    method = sys.argv[1]
    __import__(method)
    if len(sys.argv) == 2:
        print(metadata.version(PACKAGES[method]))
        return
    path, k, seed, n_iter, target = sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]
    X = np.load(path)
    fit = {"faiss": fit_faiss, "superkmeans": fit_superkmeans}[method]
    fit(X[: 40 * k], k, seed, n_iter)  # warm up
    seconds, centers, done = fit(X, k, seed, n_iter)
    np.save(target, centers)
    print(json.dumps({"cpu": seconds, "n_iter": done}))


main()
