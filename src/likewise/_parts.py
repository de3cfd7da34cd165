"""Registry of classes that a package uses but may not import.

``likewise/__init__.py`` registers each under a role; it is imported on first use. This gives `Interview` a
default model although `active` may not import `spectral`.
"""

from __future__ import annotations

import importlib
from typing import Any

_PARTS: dict[str, tuple[str, str]] = {}


def register_part(role: str, module: str, name: str) -> None:
    """Register the class for a role: the module that exports it and its name there."""
    _PARTS[role] = (module, name)


def get_part(role: str) -> Any:
    """Import and return the class for a role."""
    module, name = _PARTS[role]
    return getattr(importlib.import_module(module), name)
