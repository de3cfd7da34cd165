"""Safe reading of image files: known formats, limited size, orientation from EXIF."""

from __future__ import annotations

import threading
import warnings
from typing import IO, TYPE_CHECKING, Any

from likewise._optional import require
from likewise.exceptions import PictureError, describe_cause

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # formats that browsers show
MOST_PIXELS = 80_000_000  # below the 89 million pixels at which Pillow warns of decompression bombs
_opening = threading.Lock()  # warning filters are global to the process


def read_picture(file: IO[bytes] | Any, *, side: int | None = None) -> Image:
    """Return the first frame of an image as RGB, upright and on a white background.

    With `side`, a larger image is reduced until neither side is longer.
    """
    pillow: Any = require("PIL.Image", extra="studio")
    ops: Any = require("PIL.ImageOps", extra="studio")
    try:
        with _opening, warnings.catch_warnings():
            warnings.simplefilter("ignore", pillow.DecompressionBombWarning)
            opened = pillow.open(file, formats=FORMATS)
        with opened as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise PictureError(
                    f"it has {width:,} x {height:,} pixels; expected at most {MOST_PIXELS:,} in total."
                )
            if side is not None:
                image.draft("RGB", (side, side))  # decodes a JPEG at a reduced size
            found = ops.exif_transpose(image)
            if found.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in found.info:
                clear = found.convert("RGBA")
                found = pillow.new("RGBA", clear.size, "white")
                found.alpha_composite(clear)
            found = _convert_to_eight_bits(found, pillow)
            if side is not None:
                found.thumbnail((side, side))
    except PictureError:
        raise
    except pillow.UnidentifiedImageError as error:
        raise PictureError("it is not a PNG, JPEG, GIF, WebP or BMP image.") from error
    except pillow.DecompressionBombError as error:
        raise PictureError(f"it has too many pixels; expected at most {MOST_PIXELS:,}.") from error
    except Exception as error:  # decoders raise almost any exception for corrupt files
        raise PictureError(f"the image is corrupt or truncated ({describe_cause(error)}).") from error
    return found


def _convert_to_eight_bits(image: Any, pillow: Any) -> Any:
    """Return RGB; 16-bit grey is scaled, because Pillow's conversion would clip it to white."""
    if image.mode.startswith("I;16") or image.mode == "I":
        import numpy as np

        grey = np.asarray(image, dtype=np.float64)
        image = pillow.fromarray(np.clip(grey / 257.0, 0.0, 255.0).astype(np.uint8))
    return image if image.mode == "RGB" else image.convert("RGB")
