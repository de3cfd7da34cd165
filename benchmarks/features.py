"""Features of texts, pictures and sounds: how well the groups are found with them, and at what cost.

Run `python benchmarks/features.py`, with `--only texts sounds` for some parts. Texts need the folder
LIKEWISE_DATA; a model that is not here is left out (`likewise models`). One thread, CPU time.

- Texts: normalised mutual information (NMI) of k-means, mean of 5 seeds with n_init=2, on the test texts of
  Banking77 (77 intents) and CLINC150 (150), and on 6,000 titles of Stack Overflow (20 tags, from --titles).
  The weight of WordLlama beside MiniLM and the number of components were chosen on CLINC150 and the titles;
  Banking77 was not looked at.
- Interviews: accuracy (best assignment of clusters to classes) of a default interview on the texts of
  Banking77 after 0, 200, 500 and 1,000 true answers, seeds 0 to 2.
- Pictures: adjusted Rand index on COIL-20 after 60 and 200 true answers of a default interview, seeds 0 to 4.
- Sounds: adjusted Rand index of k-means on 8 generated kinds of sound, 40 each, with noise 0 to 15 dB below
  them. The features were chosen with generator seeds 0 and 1; seeds 2 to 4 are reported.
"""

import argparse
import csv
import gzip
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.io import wavfile
from scipy.optimize import linear_sum_assignment
from scipy.signal import lfilter
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

from likewise.active import Interview
from likewise.datasets import load
from likewise.exceptions import LikewiseError
from likewise.features import image_features, sound_features, text_features
from likewise.oracles import LabelOracle

RATE = 22_050  # of the generated sounds


def measure(compute, n):
    """Return features and CPU milliseconds per item; None if the method is not installed."""
    try:
        compute(slice(0, 2))  # loads the model
    except LikewiseError:
        return None
    start = time.process_time()
    found = compute(slice(None))
    return found, 1000 * (time.process_time() - start) / n


def score_kmeans(X, y, score):
    k = len(set(y))
    return float(np.mean([score(y, KMeans(k, n_init=2, random_state=s).fit_predict(X)) for s in range(5)]))


def run_interview(X, y, random_state, checkpoints, score):
    interview, person, scores = (
        Interview(X, n_clusters=len(set(y)), random_state=random_state),
        LabelOracle(y),
        {},
    )
    if 0 in checkpoints:
        scores[0] = float(score(y, interview.labels_))
    for n in range(1, max(checkpoints) + 1):
        question = interview.ask()
        if question is None:
            break
        interview.tell(question, person.answer(question))
        if n in checkpoints:
            scores[n] = float(score(y, interview.labels_))
    return scores


# ---------------------------------------------------------------------- texts


def list_texts(folder, titles):
    for name in ("banking77", "clinc150"):
        path = folder / f"{name}.csv.gz"
        if path.exists():
            yield name, path
    if titles is not None:
        yield "titles", titles


def read_texts(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
    return [row["text"] for row in rows], [row["label"] for row in rows]


def run_texts(folder, titles):
    for name, path in list_texts(folder, titles):
        texts, y = read_texts(path)
        for method in ("words", "wordllama", "minilm", "minilm+wordllama"):
            found = measure(lambda part, m=method, t=texts: text_features(t[part], method=m).X, len(texts))
            if found is not None:
                X, cost = found
                nmi = score_kmeans(X, y, normalized_mutual_info_score)
                yield {"part": "texts", "data": name, "method": method, "nmi": nmi, "ms": cost}


def compute_accuracy(y_true, labels):
    counts = contingency_matrix(y_true, labels)
    rows, columns = linear_sum_assignment(-counts)
    return counts[rows, columns].sum() / len(labels)


def run_interviews(folder):
    path, checkpoints = folder / "banking77.csv.gz", (0, 200, 500, 1000)
    if not path.exists():
        return
    texts, y = read_texts(path)
    for method in ("words", "wordllama", "minilm", "minilm+wordllama"):
        found = measure(lambda part, m=method: text_features(texts[part], method=m).X, len(texts))
        if found is not None:
            runs = [run_interview(found[0], y, s, checkpoints, compute_accuracy) for s in range(3)]
            after = {n: float(np.mean([run[n] for run in runs])) for n in checkpoints}
            yield {"part": "interviews", "data": "banking77", "method": method, "accuracy": after}


# ---------------------------------------------------------------------- pictures


def run_pictures():
    from PIL import Image

    data = load("coil20")
    side = round(data.X.shape[1] ** 0.5)
    scale = 255 if data.X.max() <= 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{row:04}.png") for row in range(len(data.X))]
        for path, row in zip(paths, data.X, strict=True):
            Image.fromarray((row.reshape(side, side) * scale).astype(np.uint8)).save(path)
        for method in ("pixels", "efficientnet"):
            found = measure(lambda part, m=method: image_features(paths[part], method=m).X, len(paths))
            if found is not None:
                X, cost = found
                runs = [run_interview(X, data.y, s, (60, 200), adjusted_rand_score) for s in range(5)]
                after = {n: float(np.mean([run[n] for run in runs])) for n in (60, 200)}
                yield {"part": "pictures", "data": "coil20", "method": method, "ari": after, "ms": cost}


# ---------------------------------------------------------------------- sounds


def draw_sound(kind, rng):
    """Return two seconds or so of one of eight kinds of sound, with noise."""
    n = int(RATE * rng.uniform(1.5, 3))
    seconds, pitch = np.arange(n) / RATE, rng.uniform(0.9, 1.1)

    def sing(hertz):
        return np.sin(2 * np.pi * np.cumsum(np.broadcast_to(hertz, n)) / RATE)

    def pulse(per_second, width):
        envelope, at = np.zeros(n), rng.uniform(0, 1 / per_second)
        while at < seconds[-1]:
            envelope += np.exp(-0.5 * ((seconds - at) / width) ** 2)
            at += rng.uniform(0.95, 1.05) / per_second
        return envelope

    if kind == 0:
        sound = sing(1000 * pitch) * pulse(2, 0.08)
    elif kind == 1:
        sound = sing(1000 * pitch) * pulse(8, 0.02)
    elif kind == 2:
        sound = sing(pitch * (3000 + 800 * np.sin(2 * np.pi * 20 * seconds))) * pulse(1.5, 0.15)
    elif kind == 3:
        sound = sing(2000 * pitch * (1 + 0.5 * ((3 * seconds) % 1))) * pulse(3, 0.1)
    elif kind == 4:
        sound = rng.normal(size=n) * pulse(5, 0.01)
    elif kind == 5:
        sound = sum(sing(220 * pitch * h) / h for h in range(1, 9)) * pulse(1, 0.25)
    elif kind == 6:
        sound = sing(5000 * pitch) * pulse(4, 0.04)
    else:
        resonance = [1, -1.8 * np.cos(2 * np.pi * 600 * pitch / RATE), 0.9]
        sound = lfilter([1], resonance, rng.normal(size=n)) * pulse(0.8, 0.3)
    noise = rng.normal(size=n)
    noise = noise if rng.random() < 0.5 else lfilter([1], [1, -0.95], noise)
    found = sound / sound.std() + noise / noise.std() * 10 ** (-rng.uniform(0, 15) / 20)
    return found * rng.uniform(0.05, 0.5) / np.abs(found).max()


def run_sounds():
    scores, costs = {}, {}
    for seed in (2, 3, 4):
        with tempfile.TemporaryDirectory() as folder:
            rng = np.random.default_rng(seed)
            paths, y, total = [], [], 0
            for kind in range(8):
                for copy in range(40):
                    path, sound = Path(folder, f"{kind}_{copy:02}.wav"), draw_sound(kind, rng)
                    wavfile.write(path, RATE, (sound * 32767).astype(np.int16))
                    paths.append(path)
                    y.append(kind)
                    total += len(sound) / RATE
            for method in ("mel", "speech", "birdnet"):
                found = measure(lambda part, m=method, p=paths: sound_features(p[part], method=m).X, total)
                if found is not None:
                    scores.setdefault(method, []).append(score_kmeans(found[0], y, adjusted_rand_score))
                    costs[method] = found[1]
    for method, each in scores.items():
        speed = 1000 / costs[method]
        yield {
            "part": "sounds",
            "data": "generated",
            "method": method,
            "ari": float(np.mean(each)),
            "real_time": speed,
        }


# ---------------------------------------------------------------------- speed


def run_speed():
    words = [
        "card",
        "payment",
        "refund",
        "bank",
        "transfer",
        "lost",
        "account",
        "password",
        "order",
        "parcel",
    ]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 20)) for _ in range(100_000)]
    for method in ("words", "wordllama"):
        found = measure(lambda part, m=method: text_features(texts[part], method=m).X, 1)
        if found is not None:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            seconds = found[1] / 1000
            yield {
                "part": "speed",
                "data": "100,000 texts",
                "method": method,
                "s": seconds,
                "peak_mb": memory,
            }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=["speed", "texts", "interviews", "pictures", "sounds"])
    parser.add_argument("--titles", type=Path, help="a .csv.gz with the columns text, split and label")
    parser.add_argument("--json", type=Path, help="write the results here")
    asked = parser.parse_args()
    folder = Path(os.environ.get("LIKEWISE_DATA", "."))
    parts = {
        "speed": run_speed,
        "texts": lambda: run_texts(folder, asked.titles),
        "interviews": lambda: run_interviews(folder),
        "pictures": run_pictures,
        "sounds": run_sounds,
    }
    results = []
    with threadpool_limits(1):
        for name, run in parts.items():
            if asked.only is None or name in asked.only:
                for result in run():
                    results.append(result)
                    print(result, flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
