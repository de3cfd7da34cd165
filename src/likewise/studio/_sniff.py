"""Detect the type of a file from its first bytes. Only the types listed here are ever served."""

from __future__ import annotations

FIRST = 64  # number of bytes inspected
_BMP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})


def detect_content_type(first: bytes) -> str | None:
    """Return the content type of a picture or sound that browsers show and that has no scripts, or None.

    >>> detect_content_type(b"fLaC...."), detect_content_type(b"<svg onload='alert(1)'>")
    ('audio/flac', None)
    """
    if first.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if first.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if first.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if first.startswith(b"RIFF") and first[8:12] == b"WEBP":
        return "image/webp"
    if first.startswith(b"BM") and int.from_bytes(first[14:18], "little") in _BMP_HEADERS:
        return "image/bmp"
    if first.startswith((b"RIFF", b"RF64")) and first[8:12] == b"WAVE":
        return "audio/wav"
    if first.startswith(b"OggS"):
        return "audio/ogg"
    if first.startswith(b"fLaC"):
        return "audio/flac"
    if first.startswith(b"ID3") or _is_mpeg_frame(first):
        return "audio/mpeg"
    return None


def _is_mpeg_frame(first: bytes) -> bool:
    """Return True for the header of an MPEG audio frame: sync bits, then no field with a reserved value."""
    if len(first) < 4 or first[0] != 0xFF or first[1] & 0xE0 != 0xE0:
        return False
    version, layer = first[1] >> 3 & 3, first[1] >> 1 & 3
    bitrate, rate = first[2] >> 4, first[2] >> 2 & 3
    return version != 1 and layer != 0 and bitrate not in (0, 15) and rate != 3
