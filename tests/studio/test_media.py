"""Media: only files in the folder of the data, only safe types, and clear errors for all others."""

import io
import os

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from likewise.exceptions import MediaError, NotAFileError, OutsideFolderError
from likewise.studio import data_files
from likewise.studio import media as media_module
from likewise.studio.data_files import detect_content_type, open_beneath
from likewise.studio.media import explain_broken, make_spectrogram, make_thumbnail, open_media
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings

X = np.zeros((2, 1))


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    Image.new("RGB", (700, 350), "red").save(data / "a.png")
    Image.new("RGB", (60, 30), "blue").save(data / "sub" / "b.jpg")
    soundfile.write(data / "c.wav", np.sin(np.arange(16_000) / 5), 16_000)
    (tmp_path / "secret.png").write_bytes((data / "a.png").read_bytes())
    return data


@pytest.fixture
def project(folder):
    items = [Item(0, "a", "image", "a", media="a.png"), Item(1, "b", "image", "b", media="sub/b.jpg")]
    return Project.create(
        folder.parent / "data.likewise",
        X=X,
        items=items,
        settings=Settings("x"),
        described=Described("image", 2),
        source=folder,
    )


def image(name):
    return Item(0, "x", "image", "x", media=name)


def sound(name):
    return Item(0, "x", "sound", "x", media=name)


def window(name, start, stop):
    return Item(0, "x", "sound", "x", media=name, part=(start, stop))


def region(name, *box):
    return Item(0, "x", "image", "x", media=name, part=box)


def check_refused(project, item, reason, message):
    with pytest.raises(MediaError, match=message) as caught:
        open_media(project, item)
    assert caught.value.reason == reason
    assert str(project.folder.parent) not in str(caught.value)  # messages do not reveal where the data are
    assert explain_broken(project, item) == str(caught.value)


def test_a_file_is_opened_with_its_type_and_size(project, folder):
    with open_media(project, project.items.get(0)) as media:
        assert media.content_type == "image/png"
        assert media.size == (folder / "a.png").stat().st_size
        assert media.read() == (folder / "a.png").read_bytes()
    assert media.file.closed
    with open_media(project, project.items.get(1)) as media:
        assert media.content_type == "image/jpeg"
    assert explain_broken(project, project.items.get(0)) is None


def test_a_part_of_a_file_can_be_read(project, folder):
    whole = (folder / "c.wav").read_bytes()
    for start, stop in ((0, None), (10, 20), (len(whole) - 5, len(whole) + 100), (7, 7)):
        media = open_media(project, sound("c.wav"))
        assert b"".join(media.iterate_part(start, stop, chunk=1000)) == whole[start:stop]
        assert media.file.closed


def test_the_tag_changes_with_the_file(project, folder):
    with open_media(project, image("a.png")) as media:
        was = media.etag
    with open_media(project, image("a.png")) as media:
        assert media.etag == was
    Image.new("RGB", (5, 5)).save(folder / "a.png")
    with open_media(project, image("a.png")) as media:
        assert media.etag != was


# ---------------------------------------------------------------------- where a file may be


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "sub/../../secret.png",
        "sub/../a.png",
        "/etc/passwd",
        "..",
        "..\\secret.png",
        "C:/x.png",
        "a.png\x00.jpg",
        "",
    ],
)
def test_a_path_out_of_the_folder_is_refused(project, name):
    check_refused(project, image(name), "refused", "is outside the folder")


def test_an_absolute_path_is_refused_even_if_it_is_inside(project, folder):
    with pytest.raises(MediaError) as caught:
        open_media(project, image(str(folder / "a.png")))
    assert caught.value.reason == "refused"


def test_links_are_followed_inside_and_refused_outside(project, folder):
    (folder / "inside.png").symlink_to("a.png")
    (folder / "outside.png").symlink_to("../secret.png")
    (folder / "far").symlink_to(folder.parent)
    (folder / "round.png").symlink_to("round.png")
    with open_media(project, image("inside.png")) as media:
        assert media.content_type == "image/png"
    check_refused(project, image("outside.png"), "refused", "is outside the folder")
    check_refused(project, image("far/secret.png"), "refused", "is outside the folder")
    check_refused(project, image("round.png"), "broken", "cannot be opened")


def test_a_link_created_meanwhile_has_no_effect(project, folder, monkeypatch):
    """Between checking and opening a path, a folder is replaced by a link."""

    walk = data_files._walk

    def swapped(*given):
        (folder / "sub").rename(folder / "was")
        (folder / "sub").symlink_to(folder.parent)
        return walk(*given)

    (folder.parent / "b.jpg").write_bytes((folder / "sub" / "b.jpg").read_bytes())
    monkeypatch.setattr(data_files, "_walk", swapped)
    with pytest.raises(MediaError) as caught:
        open_media(project, image("sub/b.jpg"))
    assert caught.value.reason == "broken"


def test_folders_and_pipes_are_refused(project, folder):
    check_refused(project, image("sub"), "broken", "not a plain file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.png")
        check_refused(project, image("pipe.png"), "broken", "not a plain file")


def test_a_folder_that_is_a_link_works(tmp_path, folder):
    (tmp_path / "link").symlink_to(folder)
    open_beneath(tmp_path / "link", "a.png").close()


@given(st.text(max_size=30))
def test_no_name_reaches_outside(tmp_path_factory, name):
    root = tmp_path_factory.getbasetemp() / "law" / "root"
    root.mkdir(parents=True, exist_ok=True)
    try:
        open_beneath(root, name).close()
    except (OutsideFolderError, NotAFileError, OSError, UnicodeEncodeError):
        return
    raise AssertionError(f"{name!r} was opened in an empty folder")


# ---------------------------------------------------------------------- what a file may be


def test_a_missing_or_changed_file_is_reported(project, folder):
    (folder / "a.png").unlink()
    check_refused(project, project.items.get(0), "gone", "'a.png' is missing")
    (folder / "a.png").write_bytes(b"")
    check_refused(project, project.items.get(0), "broken", "is empty")
    (folder / "a.png").write_text("<html><script>alert(1)</script></html>")
    check_refused(project, project.items.get(0), "refused", "expected PNG, JPEG, GIF, WebP or BMP")
    (folder / "a.png").write_bytes((folder / "c.wav").read_bytes())
    check_refused(project, project.items.get(0), "refused", "is audio/wav; expected PNG")


def test_messages_do_not_contain_the_folder_which_may_be_the_class(project, folder):
    (folder / "sub" / "b.jpg").unlink()
    check_refused(project, project.items.get(1), "gone", r"the file 'b\.jpg' is missing")


def test_an_unreadable_file_is_reported(project, monkeypatch):
    def denied(*given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(media_module, "open_beneath", denied)  # rights themselves do not bind root
    check_refused(project, project.items.get(0), "broken", "Permission denied")


@pytest.mark.parametrize(
    "content",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<?xml version='1.0'?><svg/>",
        b"<!doctype html><p>hello",
        b"\xef\xbb\xbf<html>",
        b"%PDF-1.7",
        b"BM is a car, nearly",
        b"RIFF\x00\x00\x00\x00AVI LIST",
        b"\xff\xff\xff\xff",
        b"PK\x03\x04",
        b"GIF",
        b"",
    ],
)
def test_unlisted_types_are_refused(project, folder, content):
    assert detect_content_type(content) is None
    for name in ("x.png", "x.svg", "x.html"):
        (folder / name).write_bytes(content)
        with pytest.raises(MediaError):
            open_media(project, image(name))


def test_listed_types_are_detected_by_their_first_bytes():
    def drawn(kind):
        out = io.BytesIO()
        Image.new("RGB", (4, 4)).save(out, kind)
        return detect_content_type(out.getvalue()[:64])

    def heard(kind):
        out = io.BytesIO()
        soundfile.write(out, np.zeros(20_000), 44_100, format=kind)
        return detect_content_type(out.getvalue()[:64])

    pictures = {kind: drawn(kind) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP")}
    assert pictures == {kind: f"image/{kind.lower()}" for kind in pictures}
    sounds = {"WAV": "audio/wav", "OGG": "audio/ogg", "FLAC": "audio/flac", "MP3": "audio/mpeg"}
    assert {kind: heard(kind) for kind in sounds} == sounds


@given(st.binary(max_size=64))
def test_text_is_never_detected_as_media(data):
    """Everything that begins like markup is refused."""
    assert detect_content_type(b"<" + data) is None
    assert detect_content_type(b" <" + data) is None


def test_an_item_without_a_file_is_reported(project):
    refused_item = Item(0, "r", "row", "r")
    with pytest.raises(MediaError, match="no picture and no sound") as caught:
        open_media(project, refused_item)
    assert caught.value.reason == "none"
    assert explain_broken(project, refused_item) is None


# ---------------------------------------------------------------------- small pictures


def test_a_thumbnail_is_small_and_made_once(project, monkeypatch):
    with make_thumbnail(project, project.items.get(0)) as made:
        assert made.content_type == "image/webp"
        first = made.read()
    assert Image.open(io.BytesIO(first)).size == (512, 256)
    monkeypatch.setattr(media_module, "_make_small", None)  # it is not called again
    with make_thumbnail(project, project.items.get(0)) as again:
        assert again.read() == first
        assert again.etag == made.etag
        assert again.size == len(first)


def test_a_small_picture_stays_as_it_is(project):
    with make_thumbnail(project, project.items.get(1)) as made:
        assert Image.open(made.file).size == (60, 30)


def test_a_changed_picture_gets_another_thumbnail(project, folder):
    with make_thumbnail(project, project.items.get(0)) as made:
        was = made.read()
    Image.new("RGB", (90, 90), "green").save(folder / "a.png")
    with make_thumbnail(project, project.items.get(0)) as made:
        assert made.read() != was


def test_a_half_written_cache_entry_is_not_used(project):
    with make_thumbnail(project, project.items.get(0)) as made:
        whole = made.read()
    [kept] = [path for path in (project.folder / "cache").rglob("*") if path.is_file()]
    kept.write_bytes(b"")
    with make_thumbnail(project, project.items.get(0)) as made:
        assert made.read() == whole


def test_with_a_full_disk_pictures_are_still_shown(project, monkeypatch):
    (project.folder / "cache").rmdir()
    (project.folder / "cache").write_text("in the way")
    with make_thumbnail(project, project.items.get(0)) as made:
        assert made.size > 0


def test_broken_pictures_and_sounds_are_reported(project, folder):
    whole = (folder / "a.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MediaError, match=r"'cut\.png' cannot be shown: the image is corrupt") as caught:
        make_thumbnail(project, image("cut.png"))
    assert caught.value.reason == "broken"
    (folder / "cut.ogg").write_bytes(b"OggS" + b"\x00" * 50)
    with pytest.raises(MediaError, match=r"'cut\.ogg' cannot be shown"):
        make_spectrogram(project, sound("cut.ogg"))


def test_a_decompression_bomb_is_refused(project, folder, monkeypatch):
    from likewise.features import _images

    monkeypatch.setattr(_images, "MOST_PIXELS", 1000)
    with pytest.raises(MediaError, match="700 x 350 pixels; expected at most 1,000"):
        make_thumbnail(project, image("a.png"))


def test_a_spectrogram_shows_pitch_upwards(project, folder):
    time = np.arange(32_000) / 16_000
    soundfile.write(folder / "low.wav", 0.5 * np.sin(2 * np.pi * 200 * time), 16_000)
    soundfile.write(folder / "high.wav", 0.5 * np.sin(2 * np.pi * 4000 * time), 16_000)
    rows = {}
    for name in ("low.wav", "high.wav"):
        with make_spectrogram(project, sound(name)) as made:
            assert made.content_type == "image/png"
            drawn = np.asarray(Image.open(made.file).convert("L"), dtype=float)
        assert drawn.shape == (128, 240)
        rows[name] = drawn.mean(axis=1).argmax()
    assert rows["high.wav"] < 64 < rows["low.wav"]  # row 0 is at the top


def test_a_long_sound_and_silence_have_spectrograms(project, folder):
    soundfile.write(folder / "long.wav", np.zeros(16_000 * 40), 16_000)
    with make_spectrogram(project, sound("long.wav")) as made:
        drawn = np.asarray(Image.open(made.file).convert("L"))
    assert drawn.shape == (128, 2560)
    assert drawn.max() < 30  # silence is dark


def test_a_picture_has_no_spectrogram_and_a_sound_no_thumbnail(project):
    with pytest.raises(MediaError, match="has no spectrogram"):
        make_spectrogram(project, image("a.png"))
    with pytest.raises(MediaError, match="it has a spectrogram instead"):
        make_thumbnail(project, sound("c.wav"))


# ---------------------------------------------------------------------- parts of files


def test_only_the_window_of_a_sound_is_served(project, folder):
    samples = np.repeat(np.linspace(-0.5, 0.5, 6), 8000)  # another value in each half second
    soundfile.write(folder / "steps.wav", samples, 16_000, subtype="FLOAT")
    with open_media(project, window("steps.wav", 1.0, 2.0)) as media:
        assert media.content_type == "audio/wav"
        assert media.size == 44 + 2 * 16_000
        found, rate = soundfile.read(media.file)
        tag = media.etag
    assert rate == 16_000
    assert found == pytest.approx(samples[16_000:32_000], abs=1e-4)
    assert open_media(project, window("steps.wav", 0.5, 2.0)).etag != tag


def test_windows_of_a_sound_have_their_own_spectrograms(project, folder):
    time = np.arange(48_000) / 16_000
    pitches = np.where(time < 1.5, 300.0, 4000.0)
    soundfile.write(folder / "two.wav", 0.5 * np.sin(2 * np.pi * pitches * time), 16_000)
    loudest = []
    for part in ((0.0, 1.5), (1.5, 3.0)):
        with make_spectrogram(project, window("two.wav", *part)) as made:
            drawn = np.asarray(Image.open(made.file).convert("L"), dtype=float)
        loudest.append(drawn.mean(axis=1).argmax())
    assert loudest[1] < 64 < loudest[0]


def test_a_window_of_many_samples_is_small(project, folder):
    soundfile.write(folder / "bat.wav", np.zeros((384_000, 4)), 384_000)
    with open_media(project, window("bat.wav", 0.0, 1.0)) as media:
        assert media.size == 44 + 2 * 48_000  # one channel, at most 48 kHz


@pytest.mark.parametrize("part", [(5.0, 6.0), (1e9, 2e9)])
def test_a_window_after_the_end_is_reported(project, part):
    with pytest.raises(MediaError, match=r"'c\.wav' cannot be shown: it contains no sound"):
        open_media(project, window("c.wav", *part))


def test_only_the_region_of_a_picture_is_served(project, folder):
    picture = Image.new("RGB", (100, 80), "white")
    picture.paste("blue", (30, 20, 60, 50))
    picture.save(folder / "boxes.png")
    for made in (open_media, make_thumbnail):
        with made(project, region("boxes.png", 30, 20, 30, 30)) as media:
            shown = Image.open(media.file).convert("RGB")
        assert shown.size == (30, 30)
        assert np.ptp(np.asarray(shown), axis=(0, 1)).max() == 0


@pytest.mark.parametrize("box", [(690, 0, 20, 20), (-1, 0, 5, 5), (0, 0, 1e9, 1e9)])
def test_a_region_outside_of_its_picture_is_not_served(project, box):
    for made in (open_media, make_thumbnail):
        with pytest.raises(MediaError, match="is not inside its 700 x 350 pixels"):
            made(project, region("a.png", *box))
