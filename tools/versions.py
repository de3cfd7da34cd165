"""Run part of the tests with the oldest packages that likewise allows, or on each Python that it supports.

    python tools/versions.py --oldest          # the lowest versions declared in pyproject.toml
    python tools/versions.py                   # every supported Python
    python tools/versions.py 3.12 3.13         # only these

Versions are read from pyproject.toml. Each environment is a folder beside ``--venv`` (``.venv-oldest``,
``.venv-3.12``). A Python that is not installed is reported and skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Extras left out: WordLlama needs a newer NumPy, and nothing at run time depends on LiteRT or Sphinx.
OMITTED_EXTRAS = {"text", "birdnet", "docs"}
# Public names, scikit-learn's checks and a fit of every estimator, kernels, the command line, and one folder
# for each extra.
TESTS = [
    "tests/test_house.py",
    "tests/test_estimators.py",
    "tests/test_scikit_learn.py",
    *(f"tests/{name}" for name in ("cli", "kernels", "plotting", "hierarchy", "studio", "features")),
    "tests/distributed",
]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[^]]*)\])?([>=]=(?P<floor>[\d.]+))?")


def read_project() -> dict:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def list_extras(project: dict) -> list[str]:
    """Return the extras that are installed for these tests."""
    return sorted(set(project["project"]["optional-dependencies"]) - OMITTED_EXTRAS)


def list_requirements(project: dict) -> list[str]:
    """Return the requirements of the package, these extras and the group of test tools."""
    extras = project["project"]["optional-dependencies"]
    listed = [project["project"]["dependencies"], *(extras[name] for name in list_extras(project))]
    return sorted({each for part in listed for each in part} | set(project["dependency-groups"]["test"]))


def pin_lowest(requirements: list[str]) -> list[str]:
    """Return ``name==floor`` for each ``name>=floor`` or ``name==floor``; raise an error for others.

    Models are required in one version, because their files are checked by digest.

    >>> pin_lowest(["numpy>=1.26", "dask[array,dataframe]>=2025.1"])
    ['numpy==1.26', 'dask==2025.1']
    """
    pins = []
    for requirement in requirements:
        match = REQUIREMENT.fullmatch(requirement)
        if match is None or match["floor"] is None:
            raise SystemExit(f"pyproject.toml has no floor for {requirement!r}; write it as name>=version")
        pins.append(f"{match['name']}=={match['floor']}")
    return pins


def list_pythons(project: dict) -> list[str]:
    """Return the Python versions in the classifiers."""
    prefix = "Programming Language :: Python :: 3."
    return [each.rpartition(" ")[2] for each in project["project"]["classifiers"] if each.startswith(prefix)]


def find_python(version: str) -> str | None:
    """Return an interpreter of this version: this one, one on the path, or one of pyenv's."""
    found = [sys.executable, shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for path in filter(None, found):
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return str(path)
    return None


def install(python: str, folder: Path, constraints: list[str], project: dict) -> bool:
    """Create or update the environment; return True if all packages could be installed."""
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([own, "-m", "pip", "install", "--quiet", "pip>=25.1"], check=True)
    listed = folder / "constraints.txt"
    listed.write_text("".join(f"{each}\n" for each in constraints))
    pip = [own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--constraint", listed]
    what = [
        "--group",
        f"{ROOT}/pyproject.toml:test",
        "--editable",
        f"{ROOT}[{','.join(list_extras(project))}]",
    ]
    return subprocess.run([*pip, *what]).returncode == 0


def run_tests(folder: Path, arguments: list[str]) -> int:
    """Run the tests in an environment with a separate compilation cache."""
    own = folder / "bin" / "python"
    subprocess.run([own, "-m", "pip", "freeze", "--exclude-editable"], check=True)
    env = os.environ | {
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "OMP_WAIT_POLICY": "PASSIVE",
        "OPENBLAS_NUM_THREADS": "1",
    }
    env.pop("PYTHONPATH", None)
    # Warnings are errors, as in all tests, except deprecations in other versions of other packages.
    options = ["-q", "-m", "not slow"]
    for category in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"):
        options += ["-W", f"ignore::{category}"]
    done = subprocess.run([own, "-m", "pytest", *options, *(arguments or TESTS)], cwd=ROOT, env=env)
    return done.returncode


def main() -> int:
    """Build the environments and run the tests; return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pythons", nargs="*", help="such as 3.12; all supported ones if left out")
    parser.add_argument(
        "--oldest", action="store_true", help="the lowest declared versions on the oldest Python"
    )
    parser.add_argument(
        "--venv", type=Path, default=ROOT / ".venv", help="environments are created beside this folder"
    )
    parser.add_argument(
        "--pytest",
        nargs=argparse.REMAINDER,
        default=[],
        help="arguments for pytest instead of the default tests",
    )
    given = parser.parse_args()
    project = read_project()
    pythons = given.pythons or list_pythons(project)
    constraints: list[str] = []
    if given.oldest:
        pythons = (given.pythons or list_pythons(project))[:1]
        constraints = pin_lowest(list_requirements(project))
    outcomes = {}
    for version in pythons:
        name = "oldest" if given.oldest else version
        python = find_python(version)
        if python is None:
            outcomes[name] = f"skipped: python{version} is not installed"
            continue
        folder = given.venv.absolute().with_name(f"{given.venv.name}-{name}")
        print(f"== {name}: Python {version} in {folder}", flush=True)
        if not install(python, folder, constraints, project):
            outcomes[name] = "failed: packages could not be installed"
            continue
        outcomes[name] = "failed" if run_tests(folder, given.pytest) else "passed"
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome}")
    return int(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
