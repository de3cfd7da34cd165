"""Sound features: mean, deviation and mean change of the power in mel bands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from likewise.features._features import (
    Features,
    FloatArray,
    Step,
    main_directions,
    one_scale,
    open_file,
    read_all,
)
from likewise.features._waves import log_mel, read_wave

_BANDS = 40


def sound_features(
    paths: Sequence[str | os.PathLike[str]],
    *,
    n_features: int = 64,
    most_seconds: float = 60.0,
    progress: Step | None = None,
) -> Features:
    """Compute features of sound files.

    Each of the 40 bands of the log-mel spectrogram, from 50 Hz to 8 kHz, gives three numbers: the mean, the
    standard deviation, and the mean change from one window to the next. The loudness is normalised first. The
    three blocks have equal weight; principal components reduce them to at most `n_features` numbers.

    Parameters
    ----------
    paths : sequence of path
        WAV, FLAC, Ogg or MP3 files; without soundfile only WAV.
    n_features : int, default=64
        Maximum number of features.
    most_seconds : float, default=60
        Only this many seconds from the start of each sound are used.
    progress : callable or None
        Called as ``progress(n_done, n_total)``.

    Returns
    -------
    Features
        One row for each sound that can be read, in float32.
    """
    cut: list[object] = []

    def row(path: str | os.PathLike[str]) -> FloatArray:
        with open_file(path) as file:
            sound = read_wave(file, most_seconds=most_seconds)
        if sound.cut:
            cut.append(path)
        # The overall loudness depends on the distance to the microphone, not on the sound.
        loud = float(np.sqrt(np.square(sound.samples, dtype=np.float64).mean()))
        even = sound if loud < 1e-7 else replace(sound, samples=sound.samples / np.float32(10.0 * loud))
        bands = log_mel(even, n_bands=_BANDS)
        steps = np.abs(np.diff(bands, axis=0)).mean(axis=0) if len(bands) > 1 else np.zeros(_BANDS)
        return np.concatenate([bands.mean(axis=0), bands.std(axis=0), steps])

    X, failed = read_all(paths, row, what="sounds", progress=progress)
    for block in np.hsplit(X, 3):  # views, scaled in place to save memory
        block[:] = one_scale(block)
    found, share = main_directions(X, n_features)
    description = f"{found.shape[1]} numbers from {_BANDS} mel bands, with {share:.0%} of their variance"
    notes = (f"only the first {most_seconds:g} s of {len(cut)} sound(s) were used.",) if cut else ()
    return Features(one_scale(found), description, notes, failed)
