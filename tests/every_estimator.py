"""All estimators that take hints, found by walking the package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from likewise.base import HintedEstimator


def find_hinted_estimators() -> list[type[HintedEstimator]]:
    """Find all public estimators of likewise that take hints, sorted by name."""
    package = importlib.import_module("likewise")
    found: set[type[HintedEstimator]] = set()
    for info in pkgutil.walk_packages(package.__path__, "likewise."):
        if ".cli" in info.name or ".studio" in info.name:
            continue
        for _, cls in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
            if not issubclass(cls, HintedEstimator) or cls.__name__.startswith("_"):
                continue
            if cls.supported_hints and not inspect.isabstract(cls) and cls.__module__.startswith("likewise."):
                found.add(cls)
    return sorted(found, key=lambda cls: cls.__name__)
