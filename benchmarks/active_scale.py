"""Measure interviews over millions of rows in a file: ``python benchmarks/active_scale.py --rows 10000000``.

Prints the seconds to the first question and to later ones, the peak memory besides the file, and the adjusted
Rand index on 100,000 other rows after 0, 50 and 100 answers, for chosen questions and for random pairs. The
rows are ten classes of two blobs each; the smallest class has 1 % of the rows. A file of 64 bytes per row is
written to a temporary folder (``--folder``) and deleted at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from likewise.active import Interview, Pool, RandomPairs
from likewise.datasets import MemmapRows
from likewise.oracles import LabelOracle

N_CLASSES, N_FEATURES, BLOCK = 10, 16, 100_000
SHARES = np.array([0.2, 0.18, 0.16, 0.13, 0.1, 0.08, 0.06, 0.05, 0.03, 0.01])


def write_rows(path, n_rows, seed):
    """Write the rows block by block; return their classes, and one more block of rows for testing."""
    rng = np.random.default_rng(seed)
    centers = 1.6 * rng.normal(size=(2, N_CLASSES, N_FEATURES))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, N_FEATURES))
    classes = np.empty(n_rows, dtype=np.int8)

    def drawn(n):
        y = rng.choice(N_CLASSES, size=n, p=SHARES)
        noise = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
        return centers[rng.integers(0, 2, n), y].astype(np.float32) + noise, y

    for lo in range(0, n_rows, BLOCK):
        part = slice(lo, min(lo + BLOCK, n_rows))
        rows[part], classes[part] = drawn(part.stop - lo)
    rows.flush()
    return classes, drawn(BLOCK)


def own_memory():
    """Return the bytes of memory of this process that are not mapped files, if the system reports it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def interview(rows, classes, test, n_answers, looked_at, **how):
    """Run an interview; return the seconds of each question, the scores and the peak memory."""
    oracle, (X, y) = LabelOracle(classes), test
    seconds, scores, memory = [], {}, 0.0
    start = time.perf_counter()
    talk = Interview(rows, n_clusters=N_CLASSES, **how)
    for n_given in range(n_answers + 1):
        question = talk.ask()
        seconds.append(time.perf_counter() - start)
        memory = max(memory, own_memory())
        if n_given in looked_at:
            scores[n_given] = adjusted_rand_score(y, talk.model_.predict(X))
        if question is None:
            break
        start = time.perf_counter()
        talk.tell(question, oracle.answer(question))
    return np.array(seconds), scores, memory


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--every", type=int, default=Pool().every, help="answers between two pools")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="folder for the file")
    parser.add_argument("--only", choices=["chosen", "random"], help="run one of the two interviews")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    pool = Pool(every=asked.every)
    looked_at = sorted({0, asked.answers // 2, asked.answers})
    ways = {"chosen": {}, "random": {"strategy": RandomPairs()}}
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        classes, test = write_rows(f"{folder}/rows.npy", asked.rows, asked.seed)
        before = own_memory()
        print(f"{asked.rows:,} rows x {N_FEATURES}, a new pool of {pool.size:,} every {pool.every} answers")
        print(
            "| questions | first s | next s: median | most | MB | ARI after "
            + ", ".join(map(str, looked_at))
            + " |"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        for name, way in ways.items():
            if asked.only in (None, name):
                rows = MemmapRows(f"{folder}/rows.npy")
                seconds, scores, memory = interview(
                    rows, classes, test, asked.answers, looked_at, pool=pool, random_state=asked.seed, **way
                )
                later = seconds[1:] if len(seconds) > 1 else seconds
                print(
                    f"| {name} | {seconds[0]:.1f} | {np.median(later):.2f} | {later.max():.1f} "
                    f"| {(memory - before) / 1e6:.0f} | {', '.join(f'{s:.3f}' for s in scores.values())} |"
                )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
