"""Answer the questions of another package from known labels. Runs in the peer's environment and process.

Does not import likewise. Reads a .npz file with X, y and k, and a JSON object from the command line; prints
one JSON object with the ARI of each clusterer after given numbers of answers, and CPU seconds.

Every call of the oracle counts as an answer. The strategies ask all questions in one call. Their state after
each number of answers is therefore read from the caller's local variables when the next question comes; a run
with that budget would return the same. A fit gets fewer links with the same closure, because the time of a
fit with all links grows with the fourth power of the answers.
"""

import json
import signal
import sys
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

# Order of the fits for scores while there is time, so that a few fits already give the shape of the curve.
FIRST = (0, 60, 200, 1000, 20, 500, 100, 10, 40, 300, 700, 5, 150, 30, 80, 400, 50, 2, 1)


class Stopped(BaseException):
    """Raised when the time is over; not an Exception, so that the peer does not catch it."""


def limit(seconds):
    """Raise Stopped after this many CPU seconds; 0 removes the limit."""

    def stop(*_):
        raise Stopped

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)


class Oracle:
    """Answers from labels, with the methods that the peers call; records the state at each mark."""

    def __init__(self, y, marks, know, over):
        self.y, self.marks, self.know, self.over = y, set(marks), know, over
        self.budget = self.max_queries_cnt = max(marks)
        self.queries = self.queries_cnt = 0
        self.started = time.process_time()
        self.pairs, self.caller = [], None
        self.known, self.seconds = {}, {}

    def mark(self, caller):
        if self.queries in self.marks and self.queries not in self.known:
            self.known[self.queries] = self.know(self, caller)

    def query(self, i, j):
        self.seconds[self.queries + 1] = time.process_time() - self.started
        self.caller = sys._getframe(1)
        self.mark(self.caller)
        if self.queries == self.budget:
            raise self.over
        self.queries += 1
        self.queries_cnt = self.queries
        same = bool(self.y[i] == self.y[j])
        self.pairs.append((int(i), int(j), same))
        return same


def reduce_links(must, cannot):
    """Return fewer links with the same closure: a star per component, and a link per pair of components."""
    parent = {}

    def top(i):
        while parent.setdefault(i, i) != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in must:
        a, b = top(i), top(j)
        parent[max(a, b)] = min(a, b)
    stars = [(top(i), i) for i in sorted(parent) if top(i) != i]
    between = {(min(a, b), max(a, b)) for a, b in ((top(i), top(j)) for i, j in cannot)}
    return stars, sorted(between)


def list_links_by_answers(oracle, _):
    return (
        [(i, j) for i, j, same in oracle.pairs if same],
        [(i, j) for i, j, same in oracle.pairs if not same],
    )


def list_links_by_groups(_, caller):
    """Return links from the current neighbourhoods of Explore & Consolidate or MinMax."""
    here = caller.f_locals
    groups = here["neighborhoods"] if "neighborhoods" in here else here["self"].neighborhoods
    must = [(group[0], i) for group in groups for i in group[1:]]
    cannot = [(a[0], b[0]) for n, a in enumerate(groups) for b in groups[:n]]
    return must, cannot


def predict_by_labels(_, caller):
    """Return the last clusters of a strategy that fits before each question."""
    me = caller.f_locals["self"]
    return np.array(me.clusterer.labels_ if hasattr(me, "clusterer") else me.partition)


def list_links_by_lists(_, caller):
    return list(caller.f_locals["ml"]), list(caller.f_locals["cl"])


def clusterers():
    from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans, MPCKMeans, PCKMeans

    def lean(cls):
        class Lean(cls):
            def fit(self, X, y=None, ml=(), cl=()):
                ml, cl = reduce_links(ml, cl)
                return super().fit(X, ml=ml, cl=cl)

        return Lean

    return {"PCK": lean(PCKMeans), "MPCK": lean(MPCKMeans), "COP": lean(COPKMeans)}


def asker(peer, strategy, X, k, clusterer):
    """Return a function that asks an oracle, a function that reads the state, and the error at the end."""
    if peer == "a-s-s-c":
        from active_semi_clustering.active.pairwise_constraints import NPU, ExploreConsolidate, MinMax
        from active_semi_clustering.active.pairwise_constraints.example_oracle import MaximumQueriesExceeded
        from active_semi_clustering.active.pairwise_constraints.random import Random

        made, know = {
            "random": lambda: (Random(n_clusters=k), list_links_by_answers),
            "E&C": lambda: (ExploreConsolidate(n_clusters=k), list_links_by_groups),
            "MinMax": lambda: (MinMax(n_clusters=k), list_links_by_groups),
            "NPU": lambda: (NPU(clusterer=clusterer(n_clusters=k)), predict_by_labels),
        }[strategy]()
        return lambda oracle: made.fit(X, oracle=oracle), know, MaximumQueriesExceeded
    from skquery.exceptions import EmptyBudgetError
    from skquery.pairwise import AIPC, FFQS, NPU, SASC, MinMax, RandomMLCL

    made, know = {
        "random": lambda: (RandomMLCL(), list_links_by_answers),
        "FFQS": lambda: (FFQS(), list_links_by_groups),
        "MinMax": lambda: (MinMax(), list_links_by_groups),
        "NPU": lambda: (NPU(cc_alg=clusterer(n_clusters=k)), predict_by_labels),
        "AIPC": lambda: (AIPC(), list_links_by_lists),
        "SASC": lambda: (SASC(), list_links_by_lists),
    }[strategy]()
    return lambda oracle: made.fit(X, oracle, n_clusters=k), know, EmptyBudgetError


def fit_model(make, X, k, links, seconds):
    """Return labels and CPU seconds, or the reason for a failure. A fit with empty clusters is repeated."""
    started = time.process_time()
    limit(seconds)
    try:
        while True:
            try:
                labels = make(n_clusters=k).fit(X, ml=links[0], cl=links[1]).labels_
                return labels, time.process_time() - started, ""
            except Exception as error:  # any error of the peer is its result
                if type(error).__name__ != "EmptyClustersException":
                    return None, time.process_time() - started, type(error).__name__
    except Stopped:
        return None, time.process_time() - started, f"a fit takes over {seconds} s"
    finally:
        limit(0)


def links_and_clusters(task, X, y, k):
    makers = clusterers()
    names, looks = task["clusterers"], task["strategy"] == "NPU"
    ask, know, over = asker(task["peer"], task["strategy"], X, k, makers[names[0]])
    oracle = Oracle(y, task["answers"], know, over)
    if task["strategy"] == "AIPC":
        oracle.budget = min(oracle.budget, len(y) - 1)  # the peer uses the budget as a row number
    note = ""
    limit(task["ask_seconds"])
    try:
        ask(oracle)
    except Stopped:
        note = f"asking stopped after {task['ask_seconds']} s"
    except Exception as error:
        note = f"{type(error).__name__} while asking"
    finally:
        limit(0)
    if oracle.caller is not None:  # the state of a strategy that ended before its budget was used up
        oracle.marks.add(oracle.queries)
        oracle.mark(oracle.caller)
    out = {"asked": oracle.queries, "note": note, "ask_seconds": oracle.seconds, "curves": {}, "notes": {}}
    for name in names:
        curve, seconds, why, spent = {}, {}, "", 0.0
        for mark in sorted(oracle.known, key=lambda a: FIRST.index(a) if a in FIRST else 3):
            if looks:
                curve[mark] = adjusted_rand_score(y, oracle.known[mark])
            elif spent < task["fit_seconds"] or mark in (*FIRST[:4], oracle.queries):
                labels, cpu, word = fit_model(makers[name], X, k, oracle.known[mark], task["one_fit"])
                spent, seconds[mark], why = spent + cpu, cpu, why or word
                if labels is not None:
                    curve[mark] = adjusted_rand_score(y, labels)
                if cpu >= task["one_fit"]:
                    break
        out["curves"][name] = sorted((a, round(float(score), 4)) for a, score in curve.items())
        out["notes"][name] = "; ".join(filter(None, (note, why)))
        out.setdefault("fit_seconds", {})[name] = seconds
    return out


def ask_cobras(X, y, n_questions, seconds):
    """Run COBRAS, which clusters as it asks and does not know the number of clusters.

    Return its labels after each answer, the pairs it asked about, CPU seconds before each question, and a
    note if the time was over.
    """
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    class Querier:
        """A querier; those of cobras-ts also import the ones for notebooks and web pages."""

        def __init__(self):
            self.started, self.seconds, self.pairs = time.process_time(), [], []

        def query_points(self, i, j):
            spent = time.process_time() - self.started
            if spent > seconds:
                raise Stopped
            self.seconds.append(spent)
            self.pairs.append((int(i), int(j)))
            return bool(y[i] == y[j])

        def update_clustering(self, _):
            pass

        def continue_cluster_process(self):
            return True

    querier = Querier()
    model = COBRAS_kmeans(X, querier, n_questions)
    note = ""
    try:
        model.cluster()
    except Stopped:
        note = f"stopped after {seconds} s"
    labels = [np.zeros(len(y), dtype=int), *(labels for labels, _, _ in model.intermediate_results)]
    return labels, querier.pairs, querier.seconds, note


def cobras(task, X, y):
    labels, _, seconds, note = ask_cobras(X, y, max(task["answers"]), task["ask_seconds"])
    scores = [adjusted_rand_score(y, labels[min(a, len(labels) - 1)]) for a in task["answers"]]
    return {
        "asked": len(labels) - 1,
        "note": note,
        "ask_seconds": {n + 1: spent for n, spent in enumerate(seconds)},
        "curves": {"": [(a, round(float(s), 4)) for a, s in zip(task["answers"], scores, strict=True)]},
        "notes": {"": note},
        "fit_seconds": {"": {}},
    }


def main():
    warnings.simplefilter("ignore")
    task = json.loads(sys.argv[2])
    data = np.load(sys.argv[1])
    X, y, k = data["X"], data["y"], int(data["k"])
    sys.setrecursionlimit(10**5)
    np.random.seed(task["seed"])  # noqa: NPY002  (the peers draw from the global generator)
    started = time.process_time()
    out = cobras(task, X, y) if task["peer"] == "COBRAS" else links_and_clusters(task, X, y, k)
    marks = {*task["answers"], out["asked"]}
    out["ask_seconds"] = {a: seconds for a, seconds in out["ask_seconds"].items() if a in marks}
    out["cpu"] = time.process_time() - started
    print(json.dumps(out))


if __name__ == "__main__":
    main()
