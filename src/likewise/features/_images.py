"""Image features: principal components of a network's output, of gradients, or of thumbnails."""

from __future__ import annotations

import importlib.util
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
from sklearn.preprocessing import normalize

from likewise._optional import require
from likewise.exceptions import MissingDependencyError, PictureError, describe_cause
from likewise.features._cache import RowCache
from likewise.features._efficientnet import SIDE, build_efficientnet, read_checkpoint
from likewise.features._features import (
    Features,
    FileFeatures,
    FloatArray,
    Reduction,
    Step,
    read_all,
)
from likewise.features._models import MODELS, can_run, open_model
from likewise.features._onnx import load_graph

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # formats that browsers show
MOST_PIXELS = 80_000_000  # below the 89 million pixels at which Pillow warns of decompression bombs
_GREY, _COLOUR, _HOG = 16, 4, 64  # sides in pixels
_BATCH = 8
METHODS = ("efficientnet", "hog", "pixels")
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_opening = threading.Lock()  # warning filters are global to the process


class ImageFeatures(FileFeatures):
    """Compute features of image files with a network trained on ImageNet, or from gradients or pixels.

    "efficientnet" is the pooled output of EfficientNet-Lite0 for the image at 128 x 128 pixels, scaled to
    unit length. "pixels" reduces each image to 16 x 16 grey pixels for its content and 4 x 4 pixels of colour
    difference for its colours; "hog" replaces the grey pixels by histograms of oriented gradients, which are
    robust to lighting and small shifts. Principal components reduce the rows to at most `n_features` numbers.

    Parameters
    ----------
    method : {"auto", "efficientnet", "hog", "pixels"}, default="auto"
        "auto" is the first of them that is installed.
    n_features : int, default=256
        Maximum number of features.
    cache : path or None, default=None
        A folder in which to keep what was computed, so that each image is read once.

    Attributes
    ----------
    method_ : str
        The method that is used.
    description_ : str
        A description of the features for people.
    notes_ : tuple of str
        Further remarks.
    n_features_out_ : int
        The number of features.

    See Also
    --------
    image_features : The same as a function, which leaves out images that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from likewise.features import ImageFeatures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, f"{shade}.png") for shade in (0, 50, 200)]
    ...     for path in paths:
    ...         Image.new("L", (32, 32), int(path.stem)).save(path)
    ...     X = ImageFeatures(method="pixels").fit_transform(paths)
    >>> X.shape
    (3, 1)
    """

    _what = "picture"

    def __init__(
        self,
        method: str = "auto",
        *,
        n_features: int = 256,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self.method = method
        self.n_features = n_features
        self.cache = cache

    def _prepare(self) -> None:
        if self.method not in ("auto", *METHODS):
            expected = ", ".join(map(repr, ("auto", *METHODS)))
            raise ValueError(f"method must be one of {expected}; got {self.method!r}.")
        self.method_ = _choose_method() if self.method == "auto" else self.method
        if self.method_ == "hog":
            _import_hog()

    def _read(
        self, paths: Sequence[str | os.PathLike[str]], progress: Step | None
    ) -> tuple[FloatArray, dict[int, str]]:
        encode = _load_network(*open_model("efficientnet")) if self.method_ == "efficientnet" else None

        def read(file: BinaryIO, box: tuple[float, ...]) -> FloatArray:
            image = read_picture(file, side=4 * _HOG, box=box)
            if encode is not None:
                return _draw_square(image, SIDE, smooth=True)
            return _summarize(image, self.method_)

        cache = RowCache(self.cache, self.method_)
        return read_all(paths, read, what="picture", progress=progress, encode=encode, cache=cache)

    def _make_reduction(self, rows: FloatArray) -> tuple[Reduction, str]:
        if self.method_ == "efficientnet":
            return Reduction(self.n_features, equal_weights=False), "EfficientNet-Lite0 (ImageNet)"
        n_colours = 2 * _COLOUR * _COLOUR
        source = "oriented gradients (HOG)" if self.method_ == "hog" else f"{_GREY} x {_GREY} grey pixels"
        if np.ptp(rows[:, -n_colours:]) > 1e-3:
            source += f" and {_COLOUR} x {_COLOUR} colours"
        return Reduction(self.n_features, [rows.shape[1] - n_colours]), source


def image_features(
    paths: Sequence[str | os.PathLike[str]],
    *,
    n_features: int = 256,
    method: str = "auto",
    cache: str | os.PathLike[str] | None = None,
    progress: Step | None = None,
) -> Features:
    """Compute features of image files; those that cannot be read are left out.

    Parameters
    ----------
    paths : sequence of path
        PNG, JPEG, GIF (its first frame), WebP or BMP files.
    n_features : int, default=256
        Maximum number of features.
    method : {"auto", "efficientnet", "hog", "pixels"}, default="auto"
        See :class:`ImageFeatures`.
    cache : path or None, default=None
        A folder in which to keep what was computed, so that each image is read once.
    progress : callable or None
        Called as ``progress(n_done, n_total)``.

    Returns
    -------
    Features
        One row for each image that can be read, in float32.
    """
    return ImageFeatures(method, n_features=n_features, cache=cache)._compute(paths, progress)


def _choose_method() -> str:
    if can_run(MODELS["efficientnet"]):
        return "efficientnet"
    return "hog" if importlib.util.find_spec("skimage") else "pixels"


@lru_cache
def _load_network(path: Path) -> Callable[[FloatArray], FloatArray]:
    with open(path, "rb") as file:
        graph = build_efficientnet(read_checkpoint(file))
    session = load_graph(graph, extra="vision")
    output = session.get_outputs()[0].name

    def encode(images: FloatArray) -> FloatArray:
        pixels = (images * np.float32(255.0) - np.float32(127.0)) / np.float32(128.0)
        pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        parts = [
            session.run([output], {"pixels": pixels[first : first + _BATCH]})[0]
            for first in range(0, len(pixels), _BATCH)
        ]
        found: FloatArray = normalize(np.concatenate(parts))
        return found

    return encode


def _summarize(image: Image, method: str) -> FloatArray:
    """Return the shape of a picture, as gradients or grey pixels, and its colours."""
    shape = _gradients(image) if method == "hog" else (_draw_square(image, _GREY) @ _LUMA).ravel()
    pixels = _draw_square(image, _COLOUR)
    colour = (pixels - (pixels @ _LUMA)[..., None])[..., [0, 2]]  # of red and blue, from grey
    return np.concatenate([shape, colour.ravel()])


def _draw_square(image: Any, side: int, *, smooth: bool = False) -> FloatArray:
    """Return the pixels, in [0, 1], of an image resized to a square; BOX averages all pixels."""
    from PIL.Image import Resampling

    how = Resampling.BOX if min(image.size) >= side else Resampling.BILINEAR
    drawn = image.resize((side, side), Resampling.BICUBIC if smooth else how)
    return np.asarray(drawn, dtype=np.float32) / np.float32(255.0)


def _import_hog() -> Callable[..., FloatArray]:
    try:
        from skimage.feature import hog
    except ImportError as error:
        raise MissingDependencyError(
            "the method 'hog' needs scikit-image. Install it with: pip install scikit-image"
        ) from error
    found: Callable[..., FloatArray] = hog
    return found


def _gradients(image: Any) -> FloatArray:
    hog = _import_hog()
    grey = _draw_square(image, _HOG) @ _LUMA
    found: FloatArray = hog(grey, orientations=8, pixels_per_cell=(8, 8), cells_per_block=(2, 2))
    return found


def measure_picture(file: IO[bytes]) -> tuple[int, int]:
    """Return the width and height of an image, held upright."""
    pillow: Any = require("PIL.Image", extra="vision")
    try:
        with _open(file) as image:
            width, height = image.size
            _check_pixels(width, height)
            is_turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)  # the orientation; reads a whole PNG
    except PictureError:
        raise
    except pillow.DecompressionBombError as error:
        raise PictureError(f"it has too many pixels; expected at most {MOST_PIXELS:,}.") from error
    except Exception as error:  # decoders raise almost any exception for corrupt files
        raise PictureError(f"it is not an image, or it is corrupt ({describe_cause(error)}).") from error
    return (height, width) if is_turned else (width, height)


def _open(file: IO[bytes] | Any) -> Any:
    """Open an image without the warning of Pillow about its size, which is checked next."""
    pillow: Any = require("PIL.Image", extra="vision")
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore", pillow.DecompressionBombWarning)
        return pillow.open(file, formats=FORMATS)


def _check_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise PictureError(
            f"it has {width:,} x {height:,} pixels; expected at most {MOST_PIXELS:,} in total."
        )


def read_picture(file: IO[bytes] | Any, *, side: int | None = None, box: tuple[float, ...] = ()) -> Image:
    """Return the first frame of an image as RGB, upright and on a white background.

    With `box` (left, top, width and height in pixels), only this part is returned. With `side`, a larger
    image is reduced until neither side is longer.
    """
    pillow: Any = require("PIL.Image", extra="vision")
    ops: Any = require("PIL.ImageOps", extra="vision")
    try:
        with _open(file) as image:
            _check_pixels(*image.size)
            if side is not None and not box:
                image.draft("RGB", (side, side))  # decodes a JPEG at a reduced size
            found = ops.exif_transpose(image)
            if found.mode.startswith("I;16") or found.mode == "I":
                # Pillow's conversion would clip 16-bit grey to white.
                grey = np.asarray(found, dtype=np.float64)
                found = pillow.fromarray(np.clip(grey / 257.0, 0.0, 255.0).astype(np.uint8))
            if found.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in found.info:
                clear = found.convert("RGBA")
                found = pillow.new("RGBA", clear.size, "white")
                found.alpha_composite(clear)
            found = found if found.mode == "RGB" else found.convert("RGB")
            if box:
                left, top, wide, high = (round(value) for value in box)
                if min(left, top) < 0 or left + wide > found.width or top + high > found.height:
                    raise PictureError(
                        f"the region {box} is not inside its {found.width} x {found.height} pixels."
                    )
                found = found.crop((left, top, left + wide, top + high))
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
