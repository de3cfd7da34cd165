"""The studio without HTTP: everything that its pages can do, as methods."""

from likewise.studio.service._studio import Studio
from likewise.studio.service.errors import (
    BadRequest,
    Clash,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    Refused,
    TooMany,
)

__all__ = [
    "BadRequest",
    "Clash",
    "NotAllowed",
    "NotFound",
    "NotLoggedIn",
    "Refused",
    "Studio",
    "TooMany",
]
