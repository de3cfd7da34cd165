"""Results of benchmarks as JSON: one file per script, with date, command and commit of every part.

Git ignores them, except those that `tables.py` reads, so the tables can be made again from a clone.
"""

import datetime
import json
import platform
import subprocess
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "results"


def read_results(name):
    """Return the parts in results/<name>.json; an empty dict if the script has not run."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def find_commit():
    """Return the last commit that changed the package, or None outside a checkout."""
    command = ["git", "-C", str(HERE.parent), "log", "-1", "--first-parent", "--format=%h", "--", "src"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def round_numbers(value):
    """Round all floats to six significant digits; further digits differ between runs."""
    if isinstance(value, dict):
        return {key: round_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [round_numbers(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def save_part(name, part, rows, command, **more):
    """Replace one part of results/<name>.json; the other parts stay as they are."""
    results = read_results(name)
    packages = ("likewise", "scikit-learn", "numpy", "numba")
    results[part] = {
        "date": datetime.date.today().isoformat(),
        "command": command,
        "commit": find_commit(),
        "versions": {"python": platform.python_version(), **{p: metadata.version(p) for p in packages}},
        **more,
        "rows": round_numbers(rows),
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
