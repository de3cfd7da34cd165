"""The decorator of all kernels: numba's ``njit`` with a cache whose errors never stop a fit.

Numba keeps compiled functions in ``NUMBA_CACHE_DIR``, beside the source, or in the user's cache folder
(``XDG_CACHE_HOME``), and raises if it can write to none of them, as in a container with a read-only
installation and no home. Here the cache then goes to a temporary folder that only this user can write to.
If that fails as well, kernels are compiled without a cache, and one warning says so. A cache file that is
truncated, damaged or unreadable is replaced.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.extending import register_jitable as register_jitable

config: Any = numba.config  # its attributes are created at run time


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's ``njit`` decorator; with ``cache``, compiled code is kept on disk if possible."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache and not config.DISABLE_JIT:
            dispatcher._cache = _open_cache(function)
        return dispatcher

    return compile_lazily


class _KernelCache(FunctionCache):
    """Numba's cache of one function. Files that cannot be read or written only cost a compilation."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None if it is not in the cache or cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes can raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function, replacing a damaged index if necessary."""
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()  # start with an empty index
                super().save_overload(sig, data)
            except Exception as error:
                warn_uncached(str(error))


def _open_cache(function: Callable[..., Any]) -> FunctionCache | NullCache:
    try:
        return _KernelCache(function)
    except RuntimeError:  # "no locator available": numba can write to none of its folders
        pass
    with contextlib.suppress(RuntimeError), cache_in_temporary_folder():
        return _KernelCache(function)
    warn_uncached("neither the installation, the user's cache folder nor a temporary folder is writable")
    return NullCache()


@contextlib.contextmanager
def cache_in_temporary_folder() -> Iterator[None]:
    """Cache functions that are decorated in this context in a private temporary folder, if there is one."""
    before = config.CACHE_DIR
    config.CACHE_DIR = _make_private_folder()
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _make_private_folder() -> str:
    """Return a temporary folder that only this user can write to, or "" if there is none.

    Cached code is executed, so folders that other users own or can write to are not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else None  # temporary folders are private on Windows
    try:
        folder = os.path.join(tempfile.gettempdir(), "likewise" if user is None else f"likewise-{user}")
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, mode=0o700)
        status = os.lstat(folder)
    except OSError:
        return ""
    is_private = user is None or (status.st_uid == user and not status.st_mode & 0o022)
    return folder if is_private and stat.S_ISDIR(status.st_mode) else ""


_has_warned = False


def warn_uncached(reason: str) -> None:
    """Warn, once per process, that compiled kernels are not cached."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(
            f"compiled kernels cannot be cached ({reason}), so each process compiles them again, which takes "
            "some seconds. Set NUMBA_CACHE_DIR to a writable folder to avoid this.",
            RuntimeWarning,
            stacklevel=2,
        )
