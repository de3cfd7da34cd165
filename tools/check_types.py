"""Check with pyright which share of the public interface has types.

    python tools/check_types.py tools/node_modules/.bin/pyright

Fails below ``FLOOR``, and lists the names whose types are missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

FLOOR = 0.98


def main(pyright: str) -> int:
    """Run ``pyright --verifytypes``; return 0 if enough of the names have types."""
    # pyright resolves the symbolic link of an interpreter that is given by path, and so leaves the virtual
    # environment; it does not resolve an interpreter that it finds on the search path.
    search = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    command = [pyright, "--verifytypes", "likewise", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=search)
    try:
        report = json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        print(f"pyright gave no report: {done.stdout}{done.stderr}", file=sys.stderr)
        return 1
    score = report["completenessScore"]
    print(f"types: {score:.1%} of the public names, at least {FLOOR:.0%} expected")
    if score >= FLOOR:
        return 0
    for symbol in report["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            print(f"  {symbol['name']}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
