"""Sound features: mean, deviation and mean change of the power in mel bands."""

from __future__ import annotations

import importlib.util
import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import IO

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise.exceptions import SoundError, describe_cause
from likewise.features._features import (
    Features,
    FloatArray,
    Step,
    main_directions,
    one_scale,
    open_file,
    read_all,
)

RATE = 16_000  # samples per second, after resampling
_BANDS = 40
_WINDOW, _LOWEST = 1024, 50.0  # samples (64 ms), Hz
_RATES = (1_000, 384_000)
_MOST_SAMPLES = 100_000_000
_Samples = npt.NDArray[np.float32]


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


# ---------------------------------------------------------------------- reading, and spectrograms


@dataclass(frozen=True, eq=False)
class Wave:
    """One channel of sound at `rate` samples per second; `cut` is True if the file is longer."""

    samples: _Samples
    rate: int
    cut: bool

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.samples) / self.rate


def read_wave(file: IO[bytes], *, most_seconds: float = 60.0, rate: int = RATE) -> Wave:
    """Read the beginning of a WAV, FLAC, Ogg or MP3 file, mixed to one channel and resampled."""
    if importlib.util.find_spec("soundfile"):
        samples, given, cut = _read_by_soundfile(file, most_seconds)
    else:
        samples, given, cut = _read_by_scipy(file, most_seconds)
    if not len(samples):
        raise SoundError("it contains no sound.")
    mono = np.nan_to_num(samples.mean(axis=1), nan=0.0, posinf=1.0, neginf=-1.0)
    if given != rate:
        from scipy.signal import resample_poly

        common = gcd(given, rate)
        mono = resample_poly(mono, rate // common, given // common).astype(np.float32)
    return Wave(mono, rate, cut)


def _read_by_soundfile(file: IO[bytes], most_seconds: float) -> tuple[_Samples, int, bool]:
    soundfile = require("soundfile", extra="studio")
    try:
        with soundfile.SoundFile(file) as sound:
            rate = _check_rate(sound.samplerate)
            n = min(int(most_seconds * rate), _MOST_SAMPLES // max(1, sound.channels))
            found = sound.read(n, dtype="float32", always_2d=True)
            return found, rate, sound.frames > len(found)
    except SoundError:
        raise
    except Exception as error:  # decoders raise almost any exception for corrupt files
        # The message of soundfile also contains the repr of the file object.
        why = describe_cause(getattr(error, "error_string", error))
        raise SoundError(f"it is not a WAV, FLAC, Ogg or MP3 sound, or it is corrupt ({why}).") from error


def _read_by_scipy(file: IO[bytes], most_seconds: float) -> tuple[_Samples, int, bool]:
    """Read a WAV file without soundfile."""
    from scipy.io import wavfile

    data = file.read()
    if data[:4] != b"RIFF":
        raise SoundError(
            "only WAV files can be read without soundfile; install it with: pip install 'likewise[studio]'."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)
            rate, found = wavfile.read(io.BytesIO(data))
    except Exception as error:  # as above
        raise SoundError(f"it is not a WAV sound, or it is corrupt ({error}).") from error
    rate = _check_rate(rate)
    if found.dtype == np.uint8:
        found = found.astype(np.float32) / 128.0 - 1.0
    elif found.dtype.kind == "i":
        found = found.astype(np.float32) / np.float32(np.iinfo(found.dtype).max)
    found = found.reshape(len(found), -1).astype(np.float32)
    n = int(most_seconds * rate)
    return found[:n], rate, len(found) > n


def _check_rate(rate: int) -> int:
    if not _RATES[0] <= rate <= _RATES[1]:
        raise SoundError(
            f"its sampling rate is {rate}; expected {_RATES[0]:,} to {_RATES[1]:,} samples per second."
        )
    return int(rate)


def log_mel(sound: Wave, *, n_bands: int = 40, n_frames: int | None = None) -> _Samples:
    """Return the logarithm of the power in mel bands over time, of shape (n_frames, n_bands).

    Windows of 64 ms overlap by half; with `n_frames`, that many windows span the sound. Bands are
    triangles on the mel scale, 2595 log10(1 + f / 700).
    """
    samples = sound.samples
    if len(samples) < _WINDOW:
        samples = np.pad(samples, (0, _WINDOW - len(samples)))
    last = len(samples) - _WINDOW
    n = max(1, last // (_WINDOW // 2) + 1) if n_frames is None else n_frames
    starts = np.linspace(0, last, n).astype(np.int64) if n > 1 else np.zeros(1, dtype=np.int64)
    window = np.hanning(_WINDOW).astype(np.float32)
    bank = _mel_bank(sound.rate, n_bands)
    out = np.empty((n, n_bands), dtype=np.float32)
    for first in range(0, n, 512):
        part = starts[first : first + 512]
        frames = samples[part[:, None] + np.arange(_WINDOW)] * window
        power = np.square(np.abs(np.fft.rfft(frames, axis=1)))
        out[first : first + len(part)] = np.log(power @ bank + 1e-8)
    return out


def _mel_bank(rate: int, n_bands: int) -> npt.NDArray[np.float64]:
    """Return the weights of the triangular mel bands, of shape (frequencies, bands)."""

    def mel(hertz: float) -> float:
        return float(2595.0 * np.log10(1.0 + hertz / 700.0))

    edges = np.linspace(mel(_LOWEST), mel(rate / 2), n_bands + 2)
    edges = 700.0 * (10.0 ** (edges / 2595.0) - 1.0)
    hertz = np.fft.rfftfreq(_WINDOW, 1.0 / rate)[:, None]
    # A band narrower than the frequency resolution must still include one frequency.
    width = np.maximum(np.diff(edges), rate / _WINDOW)
    rising = (hertz - (edges[1:-1] - width[:-1])) / width[:-1]
    falling = ((edges[1:-1] + width[1:]) - hertz) / width[1:]
    return np.maximum(0.0, np.minimum(rising, falling))
