"""A sample folder of pictures: the handwritten digits that come with scikit-learn."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from likewise._optional import require
from likewise.exceptions import LikewiseError

_SCALE = 16


def write_sample(folder: str | os.PathLike[str], *, n: int = 600, seed: int = 0) -> list[str]:
    """Write `n` handwritten digits as PNG files of 160 x 160 pixels and return their true digits.

    File names such as ``digit-001.png`` do not reveal the digit. The folder is written under a temporary name
    and then renamed; an existing folder is an error.

    References
    ----------
    E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository,
    1998.
    """
    from sklearn.datasets import load_digits

    target = Path(folder).absolute()
    if target.exists():
        raise LikewiseError(f"{target} already exists; choose another folder for the sample.")
    digits = load_digits()
    if not 2 <= n <= len(digits.images):
        raise LikewiseError(f"n must be between 2 and {len(digits.images)}; got {n}.")
    chosen = np.random.default_rng(seed).permutation(len(digits.images))[:n]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        for number, row in enumerate(chosen, start=1):
            _draw(digits.images[row], part / f"digit-{number:03d}.png")
        part.chmod(0o755)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [str(digits.target[row]) for row in chosen]


def _draw(pixels: np.ndarray, path: Path) -> None:
    """Draw 8 x 8 grey levels (0 to 16) as dark ink on white, with a margin and smooth edges."""
    pillow = require("PIL.Image", extra="studio")
    levels = np.pad(np.clip(pixels / 16.0, 0.0, 1.0), 1)
    ink = pillow.fromarray((levels * 255.0).round().astype(np.uint8))
    large = ink.resize((10 * _SCALE, 10 * _SCALE), pillow.Resampling.BICUBIC)
    # A steep curve around mid-grey turns blurred areas into strokes.
    strokes = 1.0 / (1.0 + np.exp(-(np.asarray(large, dtype=np.float64) / 255.0 - 0.5) * 14.0))
    pillow.fromarray((255.0 - strokes * 225.0).round().astype(np.uint8)).save(path, "PNG")
