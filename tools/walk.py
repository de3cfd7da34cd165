"""Print the files, functions and greatest call depth inside likewise of ``MPCKMeans(3).fit`` on iris.

Run `python tools/walk.py`, with ``-v`` for the functions of each file and the deepest chain of calls. Lambdas
and comprehensions are not counted. The fit is run twice, so that imports and compilation do not count.
"""

import sys
from collections import defaultdict
from pathlib import Path

from sklearn.datasets import load_iris

import likewise
from likewise import MPCKMeans, Supervision


def record_calls(work):
    """Call `work`; return the names of the called functions by file, and the deepest chain of names."""
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

    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found, deepest


def walk_fit():
    """Fit once to warm up, and return the calls of a second fit."""
    X, _ = load_iris(return_X_y=True)
    must, cannot = [(0, 1), (2, 3), (60, 61)], [(0, 60), (0, 120), (60, 121)]
    hints = Supervision.from_links(len(X), must=must, cannot=cannot)
    model = MPCKMeans(3, random_state=0).fit(X, supervision=hints)
    return record_calls(lambda: model.fit(X, supervision=hints))


def main():
    """Print the counts, and the functions if asked for."""
    found, deepest = walk_fit()
    n_functions = sum(map(len, found.values()))
    print(f"{len(found)} files, {n_functions} functions, depth {len(deepest)}")
    if "-v" in sys.argv[1:]:
        for file, names in sorted(found.items(), key=lambda item: -len(item[1])):
            print(f"{len(names):4} {file}: {', '.join(sorted(names))}")
        print(" > ".join(deepest))


if __name__ == "__main__":
    main()
