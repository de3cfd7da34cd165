"""Clear errors for failures of a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from likewise._optional import require
from likewise.exceptions import DaskClusterError

T = TypeVar("T")

# Maximum time to wait for a scheduler, in seconds.
_PATIENCE = 10.0


def explain_failures(client: Any, ask: Callable[[], T]) -> T:
    """Return the result of `ask`; convert failures of the cluster to errors that explain what to do."""
    distributed = require("distributed", extra="scale")
    from concurrent.futures import CancelledError

    try:
        return ask()
    except distributed.KilledWorker as error:
        raise DaskClusterError(
            f"{error.allowed_failures + 1} workers were lost one after another on the same chunk of rows "
            f"(the last at {_find_address(error)}). Usually a worker has too little memory to process a "
            "chunk: use smaller chunks (X.rechunk), or give the workers more memory (memory_limit=)."
        ) from error
    except (CancelledError, distributed.comm.CommClosedError) as error:
        where = getattr(getattr(client, "scheduler", None), "address", "its address")
        raise DaskClusterError(
            f"the Dask scheduler at {where} was lost during the fit, with the rows on its workers. "
            "Connect again and restart the fit."
        ) from error


def _find_address(error: Any) -> str:
    return str(getattr(error.last_worker, "address", error.last_worker))


def get_client(client: Any) -> Any:
    """Return a Dask client: the given client, a client for the given address, or the current client."""
    distributed = require("distributed", extra="scale")
    if isinstance(client, str):
        before = _get_current_client(distributed)
        if before is not None and before.scheduler is not None and before.scheduler.address == client:
            return before
        try:
            opened = _open_client(distributed, client)
        except (OSError, TimeoutError, ValueError, MemoryError) as error:
            broken = _get_current_client(distributed)  # Dask keeps it as the current client
            if broken is not None and broken is not before:
                broken.close()
            raise ConnectionError(
                f"no Dask scheduler answers at {client} ({str(error) or type(error).__name__}). Use the "
                "address that `dask scheduler` prints, such as tcp://127.0.0.1:8786."
            ) from error
        try:
            return _with_workers(opened)
        except DaskClusterError:
            opened.close()
            raise
    if client is not None:
        return _with_workers(client)
    try:
        return _with_workers(distributed.get_client())
    except ValueError as error:
        raise ConnectionError(
            "the rows are Dask data, but there is no Dask client. Create one first, for this "
            "machine with distributed.Client(), or pass client= to likewise.distributed.fit."
        ) from error


def _open_client(distributed: Any, address: str) -> Any:
    """Return a client for an address, with a timeout: it may not be a scheduler, or may not respond."""
    found: list[Any] = []

    def attempt() -> None:
        try:
            found.append(distributed.Client(address, timeout=_PATIENCE))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(1.5 * _PATIENCE)
    if not found:
        raise TimeoutError("the address is in use, but does not respond like a scheduler")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _with_workers(client: Any) -> Any:
    """Wait until the scheduler has workers; return the client."""
    if explain_failures(client, client.nthreads):
        return client
    try:  # workers may still be starting
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise DaskClusterError(
            f"the Dask scheduler at {client.scheduler.address} has no workers. Start some with `dask worker`."
        ) from None
    return client


def gather_results(client: Any, futures: list[Any]) -> list[Any]:
    """Return the results of tasks; if all workers are lost, wait for new ones for a limited time."""
    distributed = require("distributed", extra="scale")

    def ask() -> list[Any]:
        alone = 0
        while True:
            try:
                with client.as_current():
                    distributed.wait(futures, timeout=_PATIENCE)
                break
            except TimeoutError:
                alone = 0 if client.nthreads() else alone + 1
                if alone > 3:
                    raise DaskClusterError(
                        f"all workers of the Dask scheduler at {client.scheduler.address} were lost during "
                        f"the fit, and none returned within {4 * _PATIENCE:.0f} seconds. Start some "
                        "with `dask "
                        "worker`, and restart the fit."
                    ) from None
        found: list[Any] = client.gather(futures)
        return found

    return explain_failures(client, ask)


def _get_current_client(distributed: Any) -> Any:
    """Return the current client, or None."""
    with suppress(ValueError):
        return distributed.Client.current()
    return None
