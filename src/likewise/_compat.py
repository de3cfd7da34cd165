"""What differs between the versions of scikit-learn that likewise runs on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:  # scikit-learn 1.9 and newer
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


__all__ = ["HAS_CALLBACKS", "CallbackSupportMixin", "with_callbacks"]
