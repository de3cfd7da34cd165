"""Optional packages are imported where they are used, through :func:`require`."""

from __future__ import annotations

import importlib
from types import ModuleType

from likewise.exceptions import MissingDependencyError


def require(name: str, *, extra: str) -> ModuleType:
    """Import an optional package, or say which extra of likewise brings it.

    >>> require("math", extra="plot").pi > 3
    True
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name.partition('.')[0]} is needed here and is not installed. "
            f"Install it with: pip install 'likewise[{extra}]'"
        ) from error
