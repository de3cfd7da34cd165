"""What the studio refuses, with a code for programs, a sentence for people, and a way on."""

from __future__ import annotations

from typing import ClassVar

from likewise.exceptions import LikewiseError


class Refused(LikewiseError):
    """Something that was asked of the studio and is not done."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400

    def __init__(self, message: str, way_on: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_on = way_on


class NotLoggedIn(Refused):
    """Nobody is logged in, or a login has run out."""

    code = "not_logged_in"
    status = 401


class NotAllowed(Refused):
    """Somebody asked for what only others may do or see."""

    code = "not_allowed"
    status = 403


class NotFound(Refused):
    """There is no such thing."""

    code = "not_found"
    status = 404


class Clash(Refused):
    """It does not go with what was said before."""

    code = "clash"
    status = 409


class BadRequest(Refused):
    """What was sent makes no sense."""

    code = "bad_request"
    status = 422


class TooMany(Refused):
    """Too many tries in too short a time."""

    code = "too_many"
    status = 429
