"""Import of optional packages at the point of use."""

from __future__ import annotations

import importlib
from types import ModuleType

from likewise.exceptions import MissingDependencyError


def require(name: str, *, extra: str) -> ModuleType:
    """Import an optional package, or raise an error that names the extra of likewise to install.

    >>> require("math", extra="plot").pi > 3
    True
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name.partition('.')[0]} is required but not installed. "
            f"Install it with: pip install 'likewise[{extra}]'"
        ) from error
