"""The studio without HTTP: everything the pages can do, as methods."""

from likewise.studio.service._studio import Studio

__all__ = ["Studio"]
