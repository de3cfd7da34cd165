"""Checks of every request (host, origin, size) and security headers of every response."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from likewise.exceptions import RequestTooLargeError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY = 64 * 1024
_JSON = b"application/json"
# Paths with other limits, for the owner only: the largest body, and its type.
_LARGER = {
    "/api/items": (4 * 1024**2, _JSON),
    "/api/setup": (512 * 1024, _JSON),
    "/api/setup/pictures": (16 * 1024**2, b"application/octet-stream"),
    "/api/uploads": (64 * 1024**2, b"application/octet-stream"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; "
    "img-src 'self' blob: data:; media-src 'self' blob:; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
# Files of other people: even if opened directly, they cannot run scripts or load anything.
MEDIA_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; img-src 'self' data:"
)
_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=(), interest-cohort=()",
    b"x-frame-options": b"DENY",
}


class Guard:
    """ASGI middleware that refuses requests not sent by our pages and adds security headers.

    Parameters
    ----------
    app : ASGI application
        The application to guard.
    hosts : frozenset of str
        The allowed host names, with ports. Requests for any other host are refused, which prevents DNS
        rebinding.
    base : str
        Path prefix of the studio behind a proxy, such as "/birds"; empty for the root.
    is_owner : callable
        Returns whether a request, given by its scope, is the owner's. It may wait for the database.
    """

    def __init__(
        self, app: App, hosts: frozenset[str], base: str = "", *, is_owner: Callable[[Scope], bool]
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.base = base
        self.is_owner = is_owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, value)
        path = scope["path"]
        if self.base and (path == self.base or path.startswith(self.base + "/")):
            # Some proxies remove the base path, others leave it.
            scope = {**scope, "path": path[len(self.base) :] or "/"}
            scope["raw_path"] = scope["path"].encode()
        most, kind = _LARGER.get(scope["path"], (MOST_BODY, _JSON))
        refused = self._find_refusal(scope, headers, most, kind)
        if refused is not None:
            await _answer(send, *refused)
            return
        taken = 0
        started = too_large = False
        # The application reads a body before it knows who sent it; a large one must be the owner's.
        is_large = scope["path"] in _LARGER and scope["method"] not in _SAFE
        is_read = not is_large or await asyncio.to_thread(self.is_owner, scope)

        async def receive_counted() -> Message:
            nonlocal taken, too_large
            if not is_read:
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > most:
                    too_large = True
                    raise RequestTooLargeError
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if too_large and not started:
                return  # the response to a truncated body is dropped
            if message["type"] == "http.response.start":
                started = True
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in _HEADERS.items() if name not in given]
                if b"content-security-policy" not in given:
                    more.append((b"content-security-policy", POLICY.encode()))
                if b"cache-control" not in given:
                    more.append((b"cache-control", b"no-store"))
                if not is_read:
                    more.append((b"connection", b"close"))
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        with suppress(RequestTooLargeError):
            await self.app(scope, receive_counted, send_with_headers)
        if too_large and not started:
            await _answer(send, 413, "too_large", f"A request may have at most {most} bytes here.")

    def _find_refusal(
        self, scope: Scope, headers: dict[bytes, bytes], most: int, expected: bytes
    ) -> tuple[int, str, str] | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        hosts = self.hosts | _get_own_address(scope)
        if host not in hosts:
            return (
                421,
                "wrong_host",
                f"This studio has no address {host[:100]!r}. Use the address it printed. If this address is "
                "right, pass it to the studio as --public-url.",
            )
        if scope["method"] in _SAFE:
            return None
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 10 or int(length) > most:
            return 413, "too_large", f"A request may have at most {most} bytes here."
        origin = headers.get(b"origin")
        is_foreign = origin is not None and _place(origin) not in hosts
        if is_foreign or headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return 403, "wrong_origin", "The request came from another site; nothing was done."
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != expected:
            what = "JSON" if expected == _JSON else "the file"
            return 415, "wrong_type", f"Send {what}, with Content-Type: {expected.decode()}."
        if headers.get(b"x-likewise") != b"1":
            return (
                403,
                "missing_header",
                "Send the header X-Likewise: 1 with every request that changes something.",
            )
        return None


def _get_own_address(scope: Scope) -> frozenset[str]:
    """Return the local address of the connection, which can be trusted: only names can be rebound."""
    server = scope.get("server")
    try:
        address = ipaddress.ip_address(str(server[0]).partition("%")[0]) if server else None
    except ValueError:
        address = None
    if server is None or address is None:
        return frozenset()
    return frozenset(_with_port(_format_url_host(address), server[1]))


def _format_url_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Return an address in URL form."""
    if isinstance(address, ipaddress.IPv6Address):
        return f"[{address}]" if address.ipv4_mapped is None else str(address.ipv4_mapped)
    return str(address)


def _with_port(name: str, port: int | None) -> set[str]:
    """Return the `Host` headers that browsers send: with the port, and without it for port 80."""
    return {f"{name}:{port}", name} if port == 80 else {f"{name}:{port}"}


def _place(origin: bytes) -> str:
    """Return the host and port of an origin, or "" if it is not an origin."""
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return ""


async def _answer(send: Send, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": {"code": code, "message": message, "way_on": ""}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", POLICY.encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),  # the rest of the body is not read
        *_HEADERS.items(),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def is_unspecified(host: str) -> bool:
    """Return True if a host to listen on stands for all addresses of the machine."""
    try:
        return host == "" or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def find_own_hosts() -> list[str]:
    """Return addresses and names by which other machines may reach this one, likeliest first.

    The first is the source address of packets to other networks, if there is one. Loopback addresses are left
    out, because they always lead back to the machine that uses them.
    """
    addresses: list[str] = []
    for family, outside in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((outside, 9))  # selects a source address without sending anything
            addresses.append(probe.getsockname()[0])
    name = socket.gethostname()
    with suppress(OSError):
        addresses += [str(entry[4][0]) for entry in socket.getaddrinfo(name, None)]
    found = []
    for address in addresses:
        parsed = ipaddress.ip_address(address.partition("%")[0])
        if not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified):
            found.append(_format_url_host(parsed))
    names = [name, socket.getfqdn(), *([] if "." in name else [f"{name}.local"])]
    found += [each.lower() for each in names if each and not each.startswith("localhost")]
    return list(dict.fromkeys(found))


def get_hosts(host: str, port: int, public: str | None) -> frozenset[str]:
    """Return the host names allowed for a studio that listens at `host` and `port`.

    If it listens on all addresses, every address and name of the machine is allowed.

    >>> sorted(get_hosts("127.0.0.1", 8123, None))
    ['127.0.0.1:8123', '[::1]:8123', 'localhost:8123']
    >>> "birds.example.org" in get_hosts("0.0.0.0", 80, "https://birds.example.org/study")
    True
    """
    names = {"localhost", "127.0.0.1", "[::1]"}
    if is_unspecified(host):
        names.update(find_own_hosts())
    else:
        try:
            names.add(_format_url_host(ipaddress.ip_address(host)))
        except ValueError:
            names.add(host.lower())
    found = {each for name in names for each in _with_port(name, port)}
    if public is not None:
        place = urlsplit(public)
        found.add(place.netloc.lower())
        if place.port is None and place.hostname:
            found.add(f"{place.hostname.lower()}:{443 if place.scheme == 'https' else 80}")
    return frozenset(found)


def check_base(base: str) -> str:
    """Return a base path with a leading and no trailing slash; raise ValueError for unsafe characters.

    >>> check_base("birds/"), check_base("/"), check_base("")
    ('/birds', '', '')
    """
    inner = base.strip("/")
    if not inner:
        return ""
    parts = inner.split("/")
    if any(
        not part or part in (".", "..") or not all(c.isalnum() or c in "-_." for c in part) for part in parts
    ):
        raise ValueError(f"a base path may have letters, digits, -, _ and . between slashes; got {base!r}.")
    if not inner.isascii():
        raise ValueError(f"a base path must be plain ASCII; got {base!r}.")
    return f"/{inner}"
