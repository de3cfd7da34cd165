"""Image features: principal components of thumbnails or of histograms of oriented gradients."""

from __future__ import annotations

import importlib.util
import os
import threading
import warnings
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from likewise._optional import require
from likewise.exceptions import PictureError, describe_cause
from likewise.features._features import (
    Features,
    FloatArray,
    Step,
    main_directions,
    one_scale,
    open_file,
    read_all,
)

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # formats that browsers show
MOST_PIXELS = 80_000_000  # below the 89 million pixels at which Pillow warns of decompression bombs
_GREY, _COLOUR, _HOG = 16, 4, 64  # sides in pixels
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_opening = threading.Lock()  # warning filters are global to the process


def image_features(
    paths: Sequence[str | os.PathLike[str]],
    *,
    n_features: int = 64,
    method: str = "auto",
    progress: Step | None = None,
) -> Features:
    """Compute features of image files.

    Each image is reduced to 16 x 16 grey pixels for its content and to 4 x 4 pixels of colour difference for
    its colours. With scikit-image, histograms of oriented gradients (HOG), which are robust to lighting and
    small shifts, replace the grey pixels. The two blocks have equal weight; principal components reduce them
    to at most `n_features` numbers. On 600 handwritten digits k-means found the classes with an adjusted Rand
    index of 0.75 with gradients and 0.59 with pixels.

    Parameters
    ----------
    paths : sequence of path
        PNG, JPEG, GIF (its first frame), WebP or BMP files.
    n_features : int, default=64
        Maximum number of features.
    method : {"auto", "pixels", "hog"}, default="auto"
        "auto" is "hog" if scikit-image is installed.
    progress : callable or None
        Called as ``progress(n_done, n_total)``.

    Returns
    -------
    Features
        One row for each image that can be read, in float32.
    """
    if method not in ("auto", "pixels", "hog"):
        raise ValueError(f"method must be 'auto', 'pixels' or 'hog'; got {method!r}.")
    if method == "auto":
        method = "hog" if importlib.util.find_spec("skimage") else "pixels"

    def row(path: str | os.PathLike[str]) -> FloatArray:
        with open_file(path) as file:
            image = read_picture(file, side=4 * _HOG)
        shape = _gradients(image) if method == "hog" else (_draw_square(image, _GREY) @ _LUMA).ravel()
        pixels = _draw_square(image, _COLOUR)
        colour = (pixels - (pixels @ _LUMA)[..., None])[..., [0, 2]]  # of red and blue, from grey
        return np.concatenate([shape, colour.ravel()])

    X, failed = read_all(paths, row, what="pictures", progress=progress)
    shapes, colours = np.hsplit(X, [-2 * _COLOUR * _COLOUR])  # views, scaled in place to save memory
    in_colour = np.ptp(colours) > 1e-3  # scaling would amplify rounding errors of grey images
    for block in (shapes, colours) if in_colour else (shapes,):
        block[:] = one_scale(block) / np.float32(np.sqrt(block.shape[1]))  # a total variance of 1
    found, share = main_directions(X if in_colour else shapes, n_features)
    what = "oriented gradients (HOG)" if method == "hog" else f"{_GREY} x {_GREY} grey pixels"
    what += f" and {_COLOUR} x {_COLOUR} colours" if in_colour else ""
    description = f"{found.shape[1]} numbers from {what}, with {share:.0%} of their variance"
    return Features(one_scale(found), description, failed=failed)


def _draw_square(image: Any, side: int) -> FloatArray:
    """Return the pixels, in [0, 1], of an image resized to a square; BOX averages all pixels."""
    from PIL.Image import Resampling

    drawn = image.resize((side, side), Resampling.BOX if min(image.size) >= side else Resampling.BILINEAR)
    return np.asarray(drawn, dtype=np.float32) / np.float32(255.0)


def _gradients(image: Any) -> FloatArray:
    from skimage.feature import hog

    grey = _draw_square(image, _HOG) @ _LUMA
    found: FloatArray = hog(grey, orientations=8, pixels_per_cell=(8, 8), cells_per_block=(2, 2))
    return found


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
            if found.mode.startswith("I;16") or found.mode == "I":
                # Pillow's conversion would clip 16-bit grey to white.
                grey = np.asarray(found, dtype=np.float64)
                found = pillow.fromarray(np.clip(grey / 257.0, 0.0, 255.0).astype(np.uint8))
            found = found if found.mode == "RGB" else found.convert("RGB")
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
