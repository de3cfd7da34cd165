"""Sound features: they depend on pitch, not on loudness."""

import importlib.util
import io

import numpy as np
import pytest
import soundfile
from scipy.io import wavfile

from likewise.exceptions import FileFormatError, SoundError
from likewise.features import sound_features
from likewise.features._sounds import Wave, log_mel, read_wave

RATE = 16_000


def tone(hertz, seconds=0.5, rate=RATE, loud=0.3):
    return loud * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)


def as_file(samples, rate=RATE, kind="WAV"):
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=kind)
    out.seek(0)
    return out


@pytest.fixture
def paths(tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for k, hertz in enumerate([300, 310, 305, 2000, 2050, 2100]):
        soundfile.write(tmp_path / f"{k}.wav", tone(hertz) + 0.01 * rng.standard_normal(8000), RATE)
        files.append(tmp_path / f"{k}.wav")
    return files


def test_low_and_high_tones_are_separated(paths):
    found = sound_features(paths)
    X = found.X
    assert X.dtype == np.float32
    assert np.isfinite(X).all()
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    assert max(distances[:3, :3].max(), distances[3:, 3:].max()) < distances[:3, 3:].min()
    assert "40 mel bands" in found.description


def test_loudness_changes_nothing(tmp_path, paths):
    quiet = tmp_path / "quiet.flac"
    samples, rate = soundfile.read(paths[0])
    soundfile.write(quiet, samples * 0.25, rate, subtype="PCM_24")
    X = sound_features([*paths, quiet]).X
    assert np.linalg.norm(X[6] - X[0]) < 0.05 * np.linalg.norm(X[0] - X[3])


def test_the_order_of_files_changes_nothing_but_the_order_of_rows(paths):
    X = sound_features(paths).X
    order = [3, 5, 0, 1, 4, 2]
    np.testing.assert_allclose(sound_features([paths[k] for k in order]).X, X[order], atol=2e-3)


def test_broken_files_are_named(paths, tmp_path):
    bad = tmp_path / "bad.mp3"
    bad.write_bytes(b"<html>")
    empty = tmp_path / "empty.wav"
    soundfile.write(empty, np.zeros(0), RATE)
    found = sound_features([paths[0], bad, empty, paths[3]])
    assert len(found.X) == 2
    assert "not a WAV, FLAC, Ogg or MP3" in found.failed[1]
    assert found.failed[2] == "it contains no sound."
    with pytest.raises(FileFormatError, match="none of the 1 sounds"):
        sound_features([bad])


@pytest.mark.parametrize("seconds", [0, -1, np.inf])
def test_a_length_that_is_no_number_of_seconds_is_refused(paths, seconds):
    with pytest.raises(ValueError, match="positive number of seconds"):
        sound_features(paths, most_seconds=seconds)


def test_silence_and_clipped_sound_have_finite_features(paths, tmp_path):
    soundfile.write(tmp_path / "silence.wav", np.zeros(8000), RATE)
    soundfile.write(tmp_path / "clipped.wav", np.sign(tone(300)), RATE)
    found = sound_features([*paths, tmp_path / "silence.wav", tmp_path / "clipped.wav"])
    assert np.isfinite(found.X).all()
    assert not found.failed


def test_long_sounds_are_truncated_with_a_note(paths):
    found = sound_features(paths, most_seconds=0.25)
    assert found.notes == ("only the first 0.25 s of 6 sounds were used.",)


def test_a_cache_returns_the_same_features_and_notes(paths, tmp_path):
    plain, first, second = (
        sound_features(paths, most_seconds=0.25, cache=cache)
        for cache in (None, tmp_path / "cache", tmp_path / "cache")
    )
    for found in (first, second):
        np.testing.assert_array_equal(found.X, plain.X)
        assert (found.description, found.notes) == (plain.description, plain.notes)


# ---------------------------------------------------------------------- waves


def test_channels_become_one_at_one_rate():
    stereo = np.column_stack([tone(440, rate=44_100), -tone(440, rate=44_100)])
    found = read_wave(as_file(stereo, 44_100))
    assert found.rate == RATE
    assert found.seconds == pytest.approx(0.5, abs=0.01)
    assert np.abs(found.samples).max() < 1e-3


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
def test_every_format_is_read(kind):
    found = read_wave(as_file(tone(440, 1.0), kind=kind))
    assert found.seconds == pytest.approx(1.0, abs=0.15)
    spectrum = np.abs(np.fft.rfft(found.samples))
    assert np.fft.rfftfreq(len(found.samples), 1 / RATE)[spectrum.argmax()] == pytest.approx(440, abs=3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32])
def test_a_wav_is_read_without_soundfile_too(dtype, monkeypatch):
    samples = tone(440)
    if dtype == np.uint8:
        data = np.round(samples * 127 + 128).astype(np.uint8)
    elif dtype == np.float32:
        data = samples.astype(np.float32)
    else:
        data = (samples * np.iinfo(dtype).max).astype(dtype)
    out = io.BytesIO()
    wavfile.write(out, RATE, data)
    with_it = read_wave(io.BytesIO(out.getvalue())).samples
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    without = read_wave(io.BytesIO(out.getvalue())).samples
    np.testing.assert_allclose(without, with_it, atol=0.02)
    with pytest.raises(SoundError, match="only WAV files can be read without soundfile"):
        read_wave(io.BytesIO(b"OggS"))


def test_an_implausible_sampling_rate_is_rejected():
    with pytest.raises(SoundError, match="sampling rate is 10; expected 1,000 to 384,000"):
        read_wave(as_file(np.zeros(100), 10))


def test_nan_samples_are_silence():
    samples = tone(440).astype(np.float32)
    samples[100] = np.nan
    out = io.BytesIO()
    wavfile.write(out, RATE, samples)
    out.seek(0)
    assert np.isfinite(read_wave(out).samples).all()


def test_a_tone_is_loudest_in_its_band():
    # The centre of band b of 40 is b + 1 steps up the mel scale from 50 Hz to 8 kHz.
    mels = np.linspace(2595 * np.log10(1 + 50 / 700), 2595 * np.log10(1 + 8000 / 700), 42)
    for band in (5, 20, 35):
        hertz = 700 * (10 ** (mels[band + 1] / 2595) - 1)
        found = log_mel(Wave(tone(hertz).astype(np.float32), RATE, False))
        assert found.shape == (14, 40)
        assert found.mean(axis=0).argmax() == band


def test_the_shortest_sound_has_a_spectrogram():
    found = log_mel(Wave(np.ones(1, dtype=np.float32), RATE, False), n_bands=128, n_frames=7)
    assert found.shape == (7, 128)
    assert np.isfinite(found).all()
