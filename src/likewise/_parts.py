"""Parts of likewise that lower layers use without importing them.

The top-level package names the parts, by what they are for; each is imported when it is first used. So an
interview has a default model although the layer of interviews knows no model.
"""

from __future__ import annotations

import importlib
from typing import Any

_PARTS: dict[str, tuple[str, str]] = {}


def register_part(role: str, module: str, name: str) -> None:
    """Name the part for a role: the module that defines it and its name there."""
    _PARTS[role] = (module, name)


def get_part(role: str) -> Any:
    """Import and return the part for a role."""
    module, name = _PARTS[role]
    return getattr(importlib.import_module(module), name)
