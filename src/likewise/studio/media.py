"""Serve the files of items, whole and as thumbnails or spectrograms, by item and never by path."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import threading
import wave
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from likewise.exceptions import MediaError, NotAFileError, OutsideFolderError, PictureError, SoundError
from likewise.studio.data_files import FIRST, detect_content_type, open_beneath
from likewise.studio.project import Project
from likewise.studio.records import Item

if TYPE_CHECKING:  # the server imports this module and must start before scikit-learn is imported
    from likewise.features import Wave

SIDE = 512  # pixels
_HIGH, _DEEP = 128, 70.0  # of a spectrogram: pixels, and dynamic range in decibels
_PER_SECOND, _LEAST_WIDE, _MOST_WIDE = 80, 240, 2560  # pixels of a spectrogram
_RATE = 16_000  # samples per second, so pitches up to 8 kHz are shown
_LONGEST = 600.0  # maximum number of seconds in a spectrogram
_LOOK = 3  # increased when rendering changes, which invalidates cached pictures
_decoding = threading.BoundedSemaphore(2)  # decoding a large picture takes 250 MB


@dataclass(frozen=True, eq=False)
class Media(AbstractContextManager["Media"]):
    """An open file with the response headers it needs; close it after sending.

    Attributes
    ----------
    content_type : str
        Detected from the first bytes of the file, not from its name.
    size : int
        In bytes.
    etag : str
        Changes with the file; without quotes.
    file : binary file
        Open for reading; seekable.
    """

    content_type: str
    size: int
    etag: str
    file: BinaryIO

    def __post_init__(self) -> None:
        # If a request is cancelled between opening and sending, nothing else closes the file.
        weakref.finalize(self, self.file.close)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def read(self) -> bytes:
        """Return the whole content."""
        self.file.seek(0)
        return self.file.read()

    def iterate_part(
        self, start: int = 0, stop: int | None = None, *, chunk: int = 65_536
    ) -> Iterator[bytes]:
        """Yield the bytes from `start` up to but excluding `stop`, then close the file."""
        try:
            self.file.seek(start)
            left = (self.size if stop is None else min(stop, self.size)) - start
            while left > 0 and (data := self.file.read(min(chunk, left))):
                left -= len(data)
                yield data
        finally:
            self.close()


# ---------------------------------------------------------------------- files


def open_media(project: Project, item: Item) -> Media:
    """Open the picture or sound of an item, or the part of it that is the item; or raise MediaError."""
    media = _open_file(project, item)
    if not item.part:
        return media
    with media:
        if item.kind == "image":
            return _get_cached(project, "crop", item, media, lambda: _make_small(media, None, item))
        with _decoding:
            data = _cut_window(media, item)
        return Media("audio/wav", len(data), _compute_digest(media.etag, item.part), io.BytesIO(data))


def _open_file(project: Project, item: Item) -> Media:
    if item.media is None or item.kind not in ("image", "sound"):
        raise MediaError("this item has no picture and no sound.", "none")
    name = _get_file_name(item)
    try:
        file = open_beneath(project.media_root, item.media)
    except FileNotFoundError as error:
        raise MediaError(f"the file {name!r} is missing. Put it back where it was before.", "gone") from error
    except OutsideFolderError as error:
        raise MediaError(
            f"the file {name!r} is outside the folder of the data, and is not shown.", "refused"
        ) from error
    except (NotAFileError, OSError, RuntimeError) as error:  # RuntimeError: circular symbolic links
        why = getattr(error, "strerror", None) or "it is not a plain file"
        raise MediaError(f"the file {name!r} cannot be opened: {why}.", "broken") from error
    try:
        found = os.fstat(file.fileno())
        first = file.read(FIRST)
        file.seek(0)
        kind = _check_type(item, first)
    except BaseException as error:
        file.close()
        if isinstance(error, OSError):
            raise MediaError(f"the file {name!r} cannot be read: {error.strerror}.", "broken") from error
        raise
    return Media(kind, found.st_size, _compute_digest(item.media, found.st_mtime_ns, found.st_size), file)


def explain_broken(project: Project, item: Item) -> str | None:
    """Return the reason why the file of an item cannot be shown, or None if it can or has no file."""
    if item.media is None:
        return None
    try:
        open_media(project, item).close()
    except MediaError as error:
        return str(error)
    return None


def _get_file_name(item: Item) -> str:
    """Return the file name of an item without its folder, which may be the true class."""
    return PurePosixPath(item.media or "").name


def _check_type(item: Item, first: bytes) -> str:
    found = detect_content_type(first)
    if not first:
        raise MediaError(f"the file {_get_file_name(item)!r} is empty.", "broken")
    wanted = "image/" if item.kind == "image" else "audio/"
    if found is None or not found.startswith(wanted):
        listed = "PNG, JPEG, GIF, WebP or BMP" if item.kind == "image" else "WAV, MP3, Ogg or FLAC"
        raise MediaError(
            f"the file {_get_file_name(item)!r} is {found or 'of an unsupported type'}; expected {listed}.",
            "refused",
        )
    return found


def _compute_digest(*parts: object) -> str:
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8")).hexdigest()[:32]


# ---------------------------------------------------------------------- thumbnails and spectrograms


def make_thumbnail(project: Project, item: Item, *, side: int = SIDE) -> Media:
    """Return a cached picture of at most `side` pixels either way, rotated upright."""
    with _open_file(project, item) as media:
        if not media.content_type.startswith("image/"):
            raise MediaError("this item is a sound; it has a spectrogram instead.", "none")
        return _get_cached(project, f"thumb {side}", item, media, lambda: _make_small(media, side, item))


def make_spectrogram(project: Project, item: Item) -> Media:
    """Return a cached spectrogram: time to the right, pitch upwards, bright for loud.

    Its width is 80 pixels per second, but at least 240 and at most 1,280 pixels. Its height is 128 bands from
    50 Hz to 8 kHz on the mel scale.
    """
    with _open_file(project, item) as media:
        if not media.content_type.startswith("audio/"):
            raise MediaError("this item is a picture; it has no spectrogram.", "none")
        return _get_cached(project, "sound", item, media, lambda: _draw_spectrogram(media, item))


def _get_cached(project: Project, what: str, item: Item, media: Media, make: Callable[[], bytes]) -> Media:
    """Return a picture from the cache, or make it and cache it if the cache is writable."""
    name = _compute_digest(_LOOK, what, media.etag, *item.part)
    place = project.folder / "cache" / "pictures" / name[:2] / name
    data = b""
    with suppress(OSError):
        data = place.read_bytes()
    kind = detect_content_type(data[:FIRST])
    if kind is None:
        with _decoding:
            data = make()
        part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
        with suppress(OSError):  # full or read-only: made again next time
            try:
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                part.write_bytes(data)
                os.replace(part, place)
            finally:
                part.unlink(missing_ok=True)
        kind = detect_content_type(data[:FIRST])
    assert kind is not None
    return Media(kind, len(data), name, io.BytesIO(data))


def _make_small(media: Media, side: int | None, item: Item) -> bytes:
    """Return a picture, or the part of it that is the item, reduced to `side` if that is given."""
    from PIL import features

    from likewise.features import read_picture

    try:
        image = read_picture(media.file, side=side, box=item.part)
    except PictureError as error:
        raise MediaError(f"the file {_get_file_name(item)!r} cannot be shown: {error}", "broken") from error
    out = io.BytesIO()
    if not features.check("webp"):
        image.save(out, "JPEG", quality=85)
    elif media.content_type == "image/jpeg" or max(image.size) > 256:
        image.save(out, "WEBP", quality=82)
    else:
        image.save(out, "WEBP", lossless=True)  # keeps sharp edges of small drawings
    return out.getvalue()


def _read_sound(media: Media, item: Item, rate: int | None) -> Wave:
    from likewise.features import read_wave

    try:
        return read_wave(media.file, most_seconds=_LONGEST, rate=rate, part=item.part)
    except SoundError as error:
        raise MediaError(f"the file {_get_file_name(item)!r} cannot be shown: {error}", "broken") from error


def _cut_window(media: Media, item: Item) -> bytes:
    """Return the part of a sound that is the item as a WAV file of one channel."""
    sound = _read_sound(media, item, None)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        file.writeframes((np.clip(sound.samples, -1.0, 1.0) * 32767.0).astype("<i2").tobytes())
    return out.getvalue()


def _draw_spectrogram(media: Media, item: Item) -> bytes:
    from PIL import Image

    sound = _read_sound(media, item, _RATE)
    image = Image.fromarray(_compute_pixels(sound))
    image.putpalette(_make_palette().tobytes())
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _compute_pixels(sound: Wave) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the brightness by pitch (highest first) and time."""
    from likewise.features import log_mel

    wide = min(max(round(_PER_SECOND * sound.seconds), _LEAST_WIDE), _MOST_WIDE)
    bands = log_mel(sound, n_bands=_HIGH)
    if len(bands) > wide:  # several windows per pixel: the loudest, which keeps short clicks visible
        bands = np.maximum.reduceat(bands, np.arange(wide) * len(bands) // wide, axis=0)
    else:
        bands = log_mel(sound, n_bands=_HIGH, n_frames=wide)
    decibels = bands * (10.0 / np.log(10.0))
    top = max(float(decibels.max()), _DEEP - 80.0)  # silence is at -80 and stays dark
    shown = np.clip((decibels - (top - _DEEP)) / _DEEP, 0.0, 1.0)
    return np.ascontiguousarray((shown * 255.0).astype(np.uint8).T[::-1])


def _make_palette() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return 256 colours of increasing brightness: near black, violet, orange, pale yellow.

    Brightness alone distinguishes them, so the picture does not depend on colour vision.
    """
    stops = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    colours = np.array([[8, 8, 26], [66, 26, 110], [176, 50, 96], [243, 140, 58], [253, 246, 200]])
    at = np.linspace(0.0, 1.0, 256)
    return np.column_stack([np.interp(at, stops, colours[:, c]) for c in range(3)]).round().astype(np.uint8)
