"""Serve a studio on a port with uvicorn, with a login link and an orderly shutdown."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from likewise.exceptions import LikewiseError
from likewise.studio.app import create_app
from likewise.studio.project import Project
from likewise.studio.security import check_base, find_own_hosts, get_hosts, is_unspecified
from likewise.studio.service import Studio
from likewise.studio.service._accounts import find_owner, make_link_token
from likewise.studio.store import open_store

_BACKLOG = 256


class _Server(uvicorn.Server):
    """A uvicorn server that closes open event streams at shutdown; they would delay it."""

    def __init__(self, config: uvicorn.Config, closing: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = closing

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the studio; uvicorn would raise them again before the project is unlocked."""
        return nullcontext()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down; if forced, without waiting for open requests."""
        self._tell()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn would cancel the application's shutdown and report a failure
            await self.lifespan.shutdown()


def _is_not_cancelled(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a request that was open at shutdown."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def listen(host: str, port: int) -> socket.socket:
    """Open the port, so that its number is known and an occupied port is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError, UnicodeError) as error:
        listener.close()
        number = getattr(error, "errno", None)
        unknown = isinstance(error, socket.gaierror | UnicodeError) or number == errno.EADDRNOTAVAIL
        way_on = (
            "Pass an address of this machine as --host."
            if unknown
            else "Choose another port with --port, or 0 for any free port."
        )
        raise LikewiseError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}. {way_on}"
        ) from error
    listener.listen(_BACKLOG)
    return listener


def check_public(url: str | None) -> str | None:
    """Return the public address without a trailing slash; raise an error if it is not an address.

    >>> check_public("https://example.org/birds/")
    'https://example.org/birds'
    """
    if url is None:
        return None
    try:
        place = urlsplit(url)
        fits = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
    except ValueError:
        fits = False
    if not fits or place.query or place.fragment or place.username or not url.isprintable() or " " in url:
        raise LikewiseError(
            f"the public address is {url!r}; expected what browsers show, such as https://example.org/birds."
        )
    return url.rstrip("/")


class StudioServer:
    """A web server for one project.

    Parameters
    ----------
    project : Project
        The project.
    host, port : str, int
        Where to listen; port 0 selects a free port.
    base : str
        Path prefix behind a proxy.
    public : str, optional
        The public address, such as "https://birds.example.org/studio", if it differs.

    Attributes
    ----------
    url : str
        The public address, with which login links begin.
    urls : list of str
        `url` and, if it listens on all addresses of the machine, further addresses.
    """

    def __init__(
        self,
        project: Project,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        base: str = "",
        public: str | None = None,
    ) -> None:
        self.project = project
        self._base = check_base(base)
        self._public = check_public(public)
        self._socket = listen(host, port)
        self._port = self._socket.getsockname()[1]
        self._host = host
        own = [f"[{host}]" if ":" in host else host]
        if is_unspecified(host):
            own = [each for each in find_own_hosts() if ":" in host or not each.startswith("[")]
        self.urls: list[str] = [f"http://{each}:{self._port}{self._base}" for each in own or ["127.0.0.1"]]
        if self._public is not None:
            self.urls = [self._public]
        self.url: str = self.urls[0]
        self._server: _Server | None = None
        self._asked_to_end = False

    def make_link(self, token: str) -> str:
        """Return the login link for a token."""
        return make_link(self.url, token)

    def serve(self, ready: Callable[[Studio, str], Any] | None = None, **options: Any) -> None:
        """Serve until stopped; `ready` is called with the studio and a login link for its owner."""
        try:
            with (
                self._handle_signals(),
                self.project.lock(self.url),
                Studio(self.project, **options) as studio,
            ):
                app = create_app(
                    studio,
                    hosts=get_hosts(self._host, self._port, self._public),
                    link=self.make_link,
                    base=self._base,
                    https=bool(self._public and self._public.startswith("https://")),
                )
                config = uvicorn.Config(
                    app,
                    http="h11",  # enforces its limit on the length of headers
                    log_level="warning",
                    access_log=False,
                    server_header=False,
                    date_header=False,
                    timeout_graceful_shutdown=5,
                    timeout_keep_alive=30,
                    limit_concurrency=500,
                    h11_max_incomplete_event_size=32 * 1024,
                )
                logging.getLogger("uvicorn.error").addFilter(_is_not_cancelled)
                self._server = _Server(config, lambda: app.app.state.closing.set())
                self._server.should_exit = self._asked_to_end  # may have been set while starting
                if ready is not None:
                    owner = studio.people.get_owner()
                    ready(studio, self.make_link(studio.people.make_link_token(owner.id)))
                self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Stop the server; may be called from another thread or a signal handler."""
        self._asked_to_end = True
        if self._server is not None:
            self._server.should_exit = True

    @contextmanager
    def _handle_signals(self) -> Iterator[None]:
        """Shut down on SIGINT and SIGTERM; a second Ctrl-C does not wait for open requests."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(number: int, _: Any) -> None:
            if self._asked_to_end and number == signal.SIGINT and self._server is not None:
                self._server.force_exit = True
            self.stop()

        before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def make_login_link(project: Project, url: str) -> str:
    """Return a login link for the owner of a studio that runs at `url`."""
    store = open_store(project.database_url, backups=project.backups)
    try:
        return make_link(url, make_link_token(store, find_owner(store).id, time.time()))
    finally:
        store.close()


def make_link(url: str, token: str) -> str:
    """Return the login link for a token. The token follows the #, which browsers do not send."""
    return f"{url}/login#{token}"
