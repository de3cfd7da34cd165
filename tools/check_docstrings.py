"""Check the docstrings of public names with numpydoc: ``python tools/check_docstrings.py [PACKAGE ...]``.

Every public function, class and method must document its parameters and return value; every public class
must have an example.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from enum import Enum
from types import ModuleType

from numpydoc.validate import validate

import likewise

# Parameters that are missing, unknown, in another order or without a type or description; a missing Returns.
CHECKS = {"GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"}
# Methods that every scikit-learn estimator has, with the same docstrings.
INHERITED = {"get_params", "set_params", "get_metadata_routing"}
# Packages with names for the other packages only.
INTERNAL = {"likewise.tables"}


def is_constructed_as_documented(value: type) -> bool:
    """Return True if the docstring of a class must document the signature that numpydoc reads.

    For an enumeration or a protocol numpydoc reads the signature of the metaclass, and for most exceptions
    that of the base class, which documents it.
    """
    if issubclass(value, BaseException):
        return "__init__" in vars(value)
    return not (issubclass(value, Enum) or getattr(value, "_is_protocol", False))


def list_packages() -> list[ModuleType]:
    """Return the public packages and modules that have a list of public names."""
    names = ["likewise", *(f"likewise.{found.name}" for found in pkgutil.iter_modules(likewise.__path__))]
    public = [name for name in names if not name.split(".")[-1].startswith("_") and name not in INTERNAL]
    modules = [importlib.import_module(name) for name in public]
    return [module for module in modules if getattr(module, "__all__", ())]


def list_members(owner: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class that likewise defines, with full names.

    A method that overrides another one may inherit its docstring.
    """
    for base in owner.__mro__:
        if not base.__module__.startswith("likewise"):
            continue
        for name, member in vars(base).items():
            is_documented = callable(member) or isinstance(member, classmethod | staticmethod)
            inherits = not getattr(member, "__doc__", None) and inspect.getdoc(getattr(base, name))
            if is_documented and not inherits and not name.startswith("_") and name not in INHERITED:
                yield f"{base.__module__}.{base.__qualname__}.{name}", member


def list_public(module: ModuleType) -> Iterator[str]:
    """Yield the full names of the public objects of a module, by the module that defines them."""
    for name in module.__all__:
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        if not str(value.__module__).startswith("likewise"):
            continue
        yield f"{value.__module__}.{value.__qualname__}"
        if inspect.isclass(value):
            yield from (full for full, _ in list_members(value))


def find_problems(name: str) -> list[str]:
    """Return the problems of the docstring of a name."""
    report = validate(name)
    value = pkgutil.resolve_name(name)
    has_own_signature = not inspect.isclass(value) or is_constructed_as_documented(value)
    checks = CHECKS if has_own_signature else CHECKS - {"PR01"}
    found = [f"{code} {text}" for code, text in report["errors"] if code in checks]
    if inspect.isclass(value) and not issubclass(value, BaseException) and ">>>" not in (value.__doc__ or ""):
        found.append("no example")
    return found


def main(packages: list[str]) -> int:
    """Print the problems of all public names, or of those in some packages."""
    names = sorted({name for module in list_packages() for name in list_public(module)})
    kept = [name for name in names if not packages or any(name.startswith(each) for each in packages)]
    n_bad = 0
    for name in kept:
        if problems := find_problems(name):
            n_bad += 1
            print(f"{name}: {'; '.join(problems)}")
    print(f"docstrings: {len(kept)} public names, {n_bad} with problems")
    return int(n_bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
