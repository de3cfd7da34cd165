"""Print the files, functions and greatest call depth inside likewise of a small fit and of a command.

The fit is ``MPCKMeans(3).fit`` on iris; the command is ``likewise cluster`` on the same rows and hints. Run
`python tools/walk.py` for both, with ``fit`` or ``cluster`` for one of them, and with ``-v`` for the
functions of each file and the deepest chain of calls. Lambdas and comprehensions are not counted. Everything
is run twice, so that imports and compilation do not count.
"""

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from click.testing import CliRunner
from sklearn.datasets import load_iris

import likewise
from likewise import MPCKMeans, Supervision
from likewise.cli.main import cli

MUST, CANNOT = [(0, 1), (2, 3), (60, 61)], [(0, 60), (0, 120), (60, 121)]


def record_calls(work):
    """Call `work` twice; return the functions of the second call by file, and the deepest chain of names."""
    root = str(Path(likewise.__file__).parent)
    found, stack, deepest = defaultdict(set), [], []

    def on_event(frame, event, _):
        nonlocal deepest
        code = frame.f_code
        if not code.co_filename.startswith(root) or code.co_name.startswith("<"):
            return
        if event == "call":
            found[str(Path(code.co_filename).relative_to(root))].add(code.co_qualname)
            stack.append(code.co_qualname)
            if len(stack) > len(deepest):
                deepest = list(stack)
        elif event == "return":
            stack.pop()

    work()
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found, deepest


def walk_fit():
    """Return the calls of a fit with a few links."""
    X, _ = load_iris(return_X_y=True)
    hints = Supervision.from_links(len(X), must=MUST, cannot=CANNOT)
    model = MPCKMeans(3, random_state=0)
    return record_calls(lambda: model.fit(X, supervision=hints))


def run_command(command):
    """Run the command line without printing; raise an error if it fails."""
    done = CliRunner().invoke(cli, command)
    if done.exit_code:
        raise RuntimeError(done.output)


def walk_cluster():
    """Return the calls of ``likewise cluster data.csv -k 3 --hints hints.csv --id id``."""
    X, _ = load_iris(return_X_y=True)
    rows = [f"r{i},{','.join(map(str, row))}" for i, row in enumerate(X.tolist())]
    links = [f"r{i},r{j},{kind}" for kind, pairs in (("must", MUST), ("cannot", CANNOT)) for i, j in pairs]
    with tempfile.TemporaryDirectory() as folder:
        data, hints = Path(folder, "data.csv"), Path(folder, "hints.csv")
        data.write_text("\n".join(["id,a,b,c,d", *rows]) + "\n")
        hints.write_text("\n".join(["a,b,link", *links]) + "\n")
        command = ["cluster", str(data), "-k", "3", "--hints", str(hints), "--id", "id"]
        return record_calls(lambda: run_command(command))


def main():
    """Print the counts, and the functions if asked for."""
    walks = {"fit": walk_fit, "cluster": walk_cluster}
    for name in [name for name in sys.argv[1:] if name in walks] or walks:
        found, deepest = walks[name]()
        n_functions = sum(map(len, found.values()))
        print(f"{name}: {len(found)} files, {n_functions} functions, depth {len(deepest)}")
        if "-v" in sys.argv[1:]:
            for file, names in sorted(found.items(), key=lambda item: -len(item[1])):
                print(f"{len(names):4} {file}: {', '.join(sorted(names))}")
            print(" > ".join(deepest))


if __name__ == "__main__":
    main()
