"""Sound features: mel bands above the background and the rhythm, or the output of a network."""

from __future__ import annotations

import importlib.util
import io
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import numpy.typing as npt

from likewise._optional import require
from likewise._words import format_count
from likewise.exceptions import SoundError, describe_cause
from likewise.features._cache import RowCache
from likewise.features._features import (
    Features,
    FileFeatures,
    FloatArray,
    Reduction,
    Step,
    read_all,
)
from likewise.features._models import MODELS, open_model
from likewise.features._onnx import load_graph

RATE = 16_000  # samples per second, after resampling
METHODS = ("mel", "speech", "birdnet")
_BANDS = 40
_BACKGROUND, _PEAK = 20, 95  # percentiles over time
_FRAMES, _LEAST = 76, 12_640  # mel frames of a window of the speech network; samples of the first window
_BIRD_RATE, _BIRD_WINDOW = 48_000, 144_000  # samples a second; samples of a window
_WINDOW, _LOWEST = 1024, 50.0  # samples (64 ms), Hz
_RATES = (1_000, 384_000)
_MOST_SAMPLES = 100_000_000
_MOST_RATE = 48_000
_Samples = npt.NDArray[np.float32]


class SoundFeatures(FileFeatures):
    """Compute features of sound files from their spectrograms, or with a network.

    "mel" computes the log-mel spectrogram, of 40 bands from 50 Hz to 8 kHz. The 20th percentile of a band is
    its background; the loudness of a moment is the sum of all bands above their background. A row has
    three blocks of equal weight: the mean of each band over time, weighted by the loudness; the 95th
    percentile of each band above its background; and the rhythm, which is the spectrum of the loudness over
    time. The level of a recording is normalised first. Principal components reduce the rows to at most
    `n_features` numbers.

    Parameters
    ----------
    method : {"auto", "mel", "speech", "birdnet"}, default="auto"
        "auto" is "mel". "speech" (for words and low sounds, at half speed so that it hears up to 7.6 kHz) and
        "birdnet" (for birds) are networks whose licence, CC BY-NC-SA 4.0, excludes commercial use; they are
        added with ``likewise models add``.
    n_features : int, default=64
        Maximum number of features.
    most_seconds : float, default=60
        Only this many seconds from the start of each sound are used.
    cache : path or None, default=None
        A folder in which to keep what was computed, so that each sound is read once.

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
    sound_features : The same as a function, which leaves out sounds that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import wavfile
    >>> from likewise.features import SoundFeatures
    >>> time = np.arange(8000) / 8000
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, f"{pitch}.wav") for pitch in (300, 600, 1200)]
    ...     for path in paths:
    ...         wavfile.write(path, 8000, np.sin(2 * np.pi * int(path.stem) * time).astype(np.float32))
    ...     X = SoundFeatures().fit_transform(paths)
    >>> X.shape
    (3, 2)
    """

    _what = "sound"

    def __init__(
        self,
        method: str = "auto",
        *,
        n_features: int = 64,
        most_seconds: float = 60.0,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self.method = method
        self.n_features = n_features
        self.most_seconds = most_seconds
        self.cache = cache

    def _prepare(self) -> None:
        if self.method not in ("auto", *METHODS):
            expected = ", ".join(map(repr, ("auto", *METHODS)))
            raise ValueError(f"method must be one of {expected}; got {self.method!r}.")
        if not 0 < self.most_seconds < np.inf:
            raise ValueError(f"most_seconds must be a positive number of seconds; got {self.most_seconds!r}.")
        self.method_ = "mel" if self.method == "auto" else self.method

    def _read(
        self, paths: Sequence[str | os.PathLike[str]], progress: Step | None
    ) -> tuple[FloatArray, dict[int, str]]:
        summarize: Callable[[Wave], FloatArray] = _summarize_bands
        rate = RATE
        if self.method_ != "mel":
            summarize, rate = _load_network(self.method_, open_model(self.method_))

        def read(file: BinaryIO, part: tuple[float, ...]) -> FloatArray:
            sound = read_wave(file, most_seconds=self.most_seconds, rate=rate, part=part)
            # The overall loudness depends on the distance to the microphone, not on the sound.
            loud = float(np.sqrt(np.square(sound.samples, dtype=np.float64).mean()))
            scale = np.float32(1.0 if loud < 1e-7 else 10.0 * loud)
            normalised = replace(sound, samples=sound.samples / scale)
            return np.append(
                summarize(normalised), sound.cut
            )  # so that the cache knows which sounds were cut

        cache = RowCache(self.cache, f"{self.method_}-{self.most_seconds:g}s")
        rows, failed = read_all(paths, read, what="sound", progress=progress, cache=cache)
        if n_cut := np.count_nonzero(rows[:, -1]):
            sounds = format_count(int(n_cut), "sound")
            self.notes_ = (f"only the first {self.most_seconds:g} s of {sounds} were used.",)
        return rows[:, :-1], failed

    def _make_reduction(self, rows: FloatArray) -> tuple[Reduction, str]:
        if self.method_ == "mel":
            return Reduction(self.n_features, [_BANDS, 2 * _BANDS]), f"{_BANDS} mel bands and the rhythm"
        model = MODELS[self.method_]
        self.notes_ += (f"the licence of {self.method_!r}, {model.licence}, excludes commercial use.",)
        n = rows.shape[1] // 3
        return Reduction(self.n_features, [n, 2 * n]), f"the {model.summary}"


def sound_features(
    paths: Sequence[str | os.PathLike[str]],
    *,
    n_features: int = 64,
    method: str = "auto",
    most_seconds: float = 60.0,
    cache: str | os.PathLike[str] | None = None,
    progress: Step | None = None,
) -> Features:
    """Compute features of sound files; those that cannot be read are left out.

    Parameters
    ----------
    paths : sequence of path
        WAV, FLAC, Ogg or MP3 files; without soundfile only WAV.
    n_features : int, default=64
        Maximum number of features.
    method : {"auto", "mel", "speech", "birdnet"}, default="auto"
        See :class:`SoundFeatures`.
    most_seconds : float, default=60
        Only this many seconds from the start of each sound are used.
    cache : path or None, default=None
        A folder in which to keep what was computed, so that each sound is read once.
    progress : callable or None
        Called as ``progress(n_done, n_total)``.

    Returns
    -------
    Features
        One row for each sound that can be read, in float32.
    """
    transformer = SoundFeatures(method, n_features=n_features, most_seconds=most_seconds, cache=cache)
    return transformer._compute(paths, progress)


# ---------------------------------------------------------------------- a row for each sound


def _summarize_bands(sound: Wave) -> FloatArray:
    """Return the mean of each mel band, weighted by loudness, its 95th percentile, and the rhythm."""
    bands = log_mel(sound, n_bands=_BANDS)
    above = np.maximum(bands - np.percentile(bands, _BACKGROUND, axis=0), 0.0)
    loudness = above.sum(axis=1)
    mean = np.average(bands, axis=0, weights=loudness if loudness.any() else None)
    return np.concatenate([mean, np.percentile(above, _PEAK, axis=0), _measure_rhythm(loudness)])


def _measure_rhythm(loudness: FloatArray) -> FloatArray:
    """Return the spectrum of the loudness over time, from 0 Hz to half the number of windows per second."""
    varied = loudness - loudness.mean()
    size = float(np.sqrt(np.square(varied).sum()))
    if len(varied) < 2 or size == 0:
        return np.zeros(_BANDS)
    spectrum = np.abs(np.fft.rfft(varied / size, n=max(len(varied), 2 * _BANDS)))
    edges = np.linspace(0, len(spectrum), _BANDS + 1)
    cumulated = np.concatenate([[0.0], np.cumsum(spectrum)])
    return np.diff(np.interp(edges, np.arange(len(cumulated)), cumulated)) / np.diff(edges)


@lru_cache
def _load_network(method: str, files: tuple[Path, ...]) -> tuple[Callable[[Wave], FloatArray], int]:
    """Return the function that computes a row from a sound, and the sampling rate that it expects."""
    if method == "birdnet":
        return _load_birdnet(files[0]), _BIRD_RATE
    mel, network = (load_graph(path, extra="onnx") for path in files)

    def summarize(sound: Wave) -> FloatArray:
        # Samples of twice the rate, taken as 16 kHz, are the sound at half speed.
        samples = np.clip(sound.samples * 32767.0, -32768.0, 32767.0).astype(np.float32)
        samples = np.pad(samples, (0, max(0, _LEAST - len(samples))))
        frames = mel.run(None, {mel.get_inputs()[0].name: samples[None]})[0].reshape(-1, 32) / 10.0 + 2.0
        starts = np.arange(0, len(frames) - _FRAMES + 1, 16)  # every 80 ms of the sound at full speed
        windows = frames[starts[:, None] + np.arange(_FRAMES)][..., None].astype(np.float32)
        return _pool(network.run(None, {network.get_inputs()[0].name: windows})[0].reshape(len(starts), -1))

    return summarize, 2 * RATE


def _load_birdnet(path: Path) -> Callable[[Wave], FloatArray]:
    runtime = require("ai_edge_litert.interpreter", extra="birdnet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = runtime.Interpreter(str(path), num_threads=1, experimental_preserve_all_tensors=True)
    network.allocate_tensors()
    first, last = network.get_input_details()[0]["index"], network.get_output_details()[0]["index"]
    busy = threading.Lock()

    def summarize(sound: Wave) -> FloatArray:
        n = -(-len(sound.samples) // _BIRD_WINDOW)
        windows = np.pad(sound.samples, (0, n * _BIRD_WINDOW - len(sound.samples))).reshape(n, -1)
        found = []
        for window in windows:
            with busy:
                network.set_tensor(first, window[None])
                network.invoke()
                found.append(network.get_tensor(last - 1)[0].copy())  # the layer before the species
        return _pool(np.array(found))

    return summarize


def _pool(windows: FloatArray) -> FloatArray:
    return np.concatenate([windows.mean(axis=0), windows.std(axis=0), windows.max(axis=0)])


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


def measure_seconds(file: IO[bytes]) -> float:
    """Return the duration of a sound in seconds."""
    if importlib.util.find_spec("soundfile") is None:
        samples, rate, _ = _read_by_scipy(file, 0.0, np.inf)
        return len(samples) / rate
    soundfile = require("soundfile", extra="sound")
    try:
        with soundfile.SoundFile(file) as sound:
            return float(sound.frames / _check_rate(sound.samplerate))
    except SoundError:
        raise
    except Exception as error:  # as in _read_by_soundfile
        raise SoundError(f"it is not a WAV, FLAC, Ogg or MP3 sound, or it is corrupt ({error}).") from error


def read_wave(
    file: IO[bytes],
    *,
    most_seconds: float = 60.0,
    rate: int | None = RATE,
    part: tuple[float, ...] = (),
) -> Wave:
    """Read the beginning of a WAV, FLAC, Ogg or MP3 file, mixed to one channel and resampled.

    With `part` (start and stop in seconds), only this part is read. Without `rate`, the sound keeps its rate
    up to 48,000 samples per second.
    """
    start, stop = part or (0.0, np.inf)
    read = _read_by_soundfile if importlib.util.find_spec("soundfile") else _read_by_scipy
    samples, given, cut = read(file, start, min(most_seconds, stop - start))
    cut = cut and most_seconds < stop - start
    if not len(samples):
        raise SoundError("it contains no sound.")
    rate = min(given, _MOST_RATE) if rate is None else rate
    mono = np.nan_to_num(samples.mean(axis=1), nan=0.0, posinf=1.0, neginf=-1.0)
    if given != rate:
        from scipy.signal import resample_poly

        common = gcd(given, rate)
        mono = resample_poly(mono, rate // common, given // common).astype(np.float32)
    return Wave(mono, rate, cut)


def _read_by_soundfile(file: IO[bytes], start: float, most_seconds: float) -> tuple[_Samples, int, bool]:
    soundfile = require("soundfile", extra="sound")
    try:
        with soundfile.SoundFile(file) as sound:
            rate = _check_rate(sound.samplerate)
            n = round(min(most_seconds * rate, _MOST_SAMPLES // max(1, sound.channels)))
            sound.seek(min(round(start * rate), sound.frames))
            found = sound.read(n, dtype="float32", always_2d=True)
            return found, rate, sound.frames > sound.tell()
    except SoundError:
        raise
    except Exception as error:  # decoders raise almost any exception for corrupt files
        # The message of soundfile also contains the repr of the file object.
        why = describe_cause(getattr(error, "error_string", error))
        raise SoundError(f"it is not a WAV, FLAC, Ogg or MP3 sound, or it is corrupt ({why}).") from error


def _read_by_scipy(file: IO[bytes], start: float, most_seconds: float) -> tuple[_Samples, int, bool]:
    """Read a WAV file without soundfile."""
    from scipy.io import wavfile

    data = file.read()
    if data[:4] != b"RIFF":
        raise SoundError(
            "only WAV files can be read without soundfile; install it with: pip install 'likewise[sound]'."
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
    first = round(start * rate)
    last = round(min(start + most_seconds, len(found) / rate) * rate)
    return found[first:last], rate, len(found) > last


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
