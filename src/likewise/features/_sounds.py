"""Sounds as numbers: how loud each band of pitch is, how much that varies and how fast."""

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
    """Turn sound files into rows of numbers.

    Of the log-mel spectrogram of each sound, 40 bands from 50 Hz to 8 kHz, a row holds three numbers a band:
    the mean, the standard deviation, and the mean step from one window to the next. The sound is brought to
    one loudness first. Each of the three blocks counts alike; principal components leave `n_features` numbers
    or fewer.

    Parameters
    ----------
    paths : sequence of path
        WAV, FLAC, Ogg or MP3 files; without soundfile only WAV.
    n_features : int, default=64
        How many numbers a sound gets, at most.
    most_seconds : float, default=60
        What comes after is not listened to.
    progress : callable or None
        Called with how many of how many are done.

    Returns
    -------
    Features
        A row for each sound that can be read, in float32.
    """
    cut: list[object] = []

    def row(path: str | os.PathLike[str]) -> FloatArray:
        with open_file(path) as file:
            sound = read_wave(file, most_seconds=most_seconds)
        if sound.cut:
            cut.append(path)
        # Loudness as a whole says how near the microphone was, and nothing of the sound.
        loud = float(np.sqrt(np.square(sound.samples, dtype=np.float64).mean()))
        even = sound if loud < 1e-7 else replace(sound, samples=sound.samples / np.float32(10.0 * loud))
        bands = log_mel(even, n_bands=_BANDS)
        steps = np.abs(np.diff(bands, axis=0)).mean(axis=0) if len(bands) > 1 else np.zeros(_BANDS)
        return np.concatenate([bands.mean(axis=0), bands.std(axis=0), steps])

    X, failed = read_all(paths, row, what="sounds", progress=progress)
    blocks = [one_scale(X[:, start : start + _BANDS]) for start in range(0, X.shape[1], _BANDS)]
    found, share = main_directions(np.hstack(blocks), n_features)
    description = f"{found.shape[1]} numbers from {_BANDS} bands of pitch, {share:.0%} of their variance"
    notes = (f"of {len(cut)} sound(s) only the first {most_seconds:g} s were used.",) if cut else ()
    return Features(one_scale(found), description, notes, failed)
