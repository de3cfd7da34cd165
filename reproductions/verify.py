"""Verify what the reproductions recorded: tables of the READMEs, completeness, and verdicts on claims.

``python reproductions/verify.py`` reads the ``expected.json`` of each paper and fits nothing. Each check is a
function of ``claims.py`` beside it, so a new recording that overturns a verdict is noticed.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
PAPERS = sorted(path.parent.name for path in FOLDER.glob("*/claims.py"))


def load(paper: str, name: str) -> ModuleType:
    """Import a file of a reproduction under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{name}_of_{paper}", FOLDER / paper / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def find_checks(claims: ModuleType) -> Iterator[Callable[..., None]]:
    """Yield the functions of a module whose names begin with ``check_``."""
    yield from (value for name, value in vars(claims).items() if name.startswith("check_"))


def verify(paper: str) -> Iterator[tuple[Callable[..., None], str]]:
    """Yield each check of a paper with the failure that it found, or an empty text."""
    path, before = sys.path.copy(), set(sys.modules)
    sys.path.insert(0, str(FOLDER / paper))
    try:
        run, claims = load(paper, "run"), load(paper, "claims")
        for check in find_checks(claims):
            try:
                check(run) if inspect.signature(check).parameters else check()
            except AssertionError as error:
                yield check, f"{traceback.extract_tb(error.__traceback__)[-1].line}: {error}"
            else:
                yield check, ""
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:  # other papers have modules of the same names
            if Path(getattr(sys.modules[name], "__file__", None) or "").is_relative_to(FOLDER / paper):
                del sys.modules[name]


def main(arguments: list[str] | None = None) -> int:
    """Verify the given papers, or all of them, and return 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("papers", nargs="*", choices=[*PAPERS, []], help="all by default", metavar="PAPER")
    failed = 0
    for paper in parser.parse_args(arguments).papers or PAPERS:
        found = list(verify(paper))
        failures = [(check, failure) for check, failure in found if failure]
        print(f"{paper}: {len(found) - len(failures)} of {len(found)} checks passed")
        for check, failure in failures:
            print(f"  failed: {check.__doc__} {failure}")
        failed += len(failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
