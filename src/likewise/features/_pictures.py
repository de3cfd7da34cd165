"""Picture files opened with care: known formats only, not too large, the right way up."""

from __future__ import annotations

import threading
import warnings
from typing import IO, TYPE_CHECKING, Any

from likewise._optional import require
from likewise.exceptions import PictureError, describe_cause

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # what browsers show
MOST_PIXELS = 80_000_000  # below the 89 million at which Pillow begins to warn of bombs
_opening = threading.Lock()  # filters of warnings belong to the whole process


def read_picture(file: IO[bytes] | Any, *, side: int | None = None) -> Image:
    """Return the first frame of a picture as RGB, the right way up; what is transparent becomes white.

    With `side` a picture that is larger is made smaller, so that neither side is longer.
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
                    f"it has {width:,} x {height:,} pixels; wanted at most {MOST_PIXELS:,} in all."
                )
            if side is not None:
                image.draft("RGB", (side, side))  # a JPEG is then decoded at a fraction of its size
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
        raise PictureError("it is not a PNG, JPEG, GIF, WebP or BMP picture.") from error
    except pillow.DecompressionBombError as error:
        raise PictureError(f"it has too many pixels; wanted at most {MOST_PIXELS:,}.") from error
    except Exception as error:  # on broken files decoders raise almost anything
        raise PictureError(f"the picture is broken or cut short ({describe_cause(error)}).") from error
    return found


def _convert_to_eight_bits(image: Any, pillow: Any) -> Any:
    """Return RGB; 16-bit grey is scaled, which Pillow's own conversion clips to white."""
    if image.mode.startswith("I;16") or image.mode == "I":
        import numpy as np

        grey = np.asarray(image, dtype=np.float64)
        image = pillow.fromarray(np.clip(grey / 257.0, 0.0, 255.0).astype(np.uint8))
    return image if image.mode == "RGB" else image.convert("RGB")
