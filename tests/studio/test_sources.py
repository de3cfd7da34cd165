"""The data of a studio: folders and tables, and what can be wrong with them."""

import os
import struct
import zlib

import click
import numpy as np
import pytest
import soundfile
from PIL import Image

from likewise.cli._items import read_source
from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio.media import open_media
from likewise.studio.project import Project, get_default_folder
from likewise.studio.records import Settings
from likewise.studio.sample import write_sample

TABLE = "name,kind,size,text,file\nx1,a,1,birds sing loud,p/0.png\nx2,b,2,stocks fell today,p/1.png\n"
TABLE += "x3,a,3,birds fly high,p/2.png\n"


def draw(path, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def beep(path, hertz=440):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.sin(np.arange(4000) * hertz / 2500), 16_000)


@pytest.fixture
def folder(tmp_path):
    for k, name in enumerate(["b/2.png", "a/1.png", "b/1.png", "a/10.PNG"]):
        draw(tmp_path / "birds" / name, k)
    return tmp_path / "birds"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    for k in range(3):
        draw(tmp_path / "p" / f"{k}.png", k)
    return tmp_path / "t.csv"


# ---------------------------------------------------------------------- folders


def test_a_folder_of_pictures_with_a_folder_for_each_class(folder):
    data = read_source(folder)
    items = list(data.items)
    assert [item.id for item in items] == ["a/1.png", "a/10.PNG", "b/1.png", "b/2.png"]
    assert [item.truth for item in items] == ["a", "a", "b", "b"]
    assert [item.title for item in items] == [
        "1.png",
        "10.PNG",
        "1.png",
        "2.png",
    ]  # which do not reveal the class
    assert [item.row for item in items] == [0, 1, 2, 3]
    assert {item.kind for item in items} == {"image"}
    assert data.X.shape[0] == 4
    assert data.described.n_items == 4
    assert data.described.has_truth
    assert data.notes == ("the names of the 2 sub-folders are used as the true classes.",)
    assert list(data.items) == items  # and again


def test_a_project_can_be_created_from_it(folder):
    data = read_source(folder)
    project = Project.create(
        get_default_folder(folder),
        X=data.X,
        items=data.items,
        settings=Settings("Birds"),
        described=data.described,
        source=folder,
    )
    assert (
        read_source(folder.parent / "birds").described == data.described
    )  # the project is not among the data
    for item in project.items:
        open_media(project, item).close()


def test_files_outside_class_folders_have_no_class(folder):
    draw(folder / "top.png")
    data = read_source(folder)
    assert not data.described.has_truth
    assert all(item.truth is None for item in data.items)


def test_a_single_subfolder_is_not_a_class(tmp_path):
    for k in range(2):
        draw(tmp_path / "d" / "all" / f"{k}.png", k)
    assert not read_source(tmp_path / "d").described.has_truth


def test_the_features_do_not_depend_on_when_files_were_written(folder, tmp_path):
    X = read_source(folder).X
    again = tmp_path / "again"
    for name in ["b/1.png", "a/10.PNG", "a/1.png", "b/2.png"]:
        (again / name).parent.mkdir(parents=True, exist_ok=True)
        (again / name).write_bytes((folder / name).read_bytes())
    np.testing.assert_array_equal(read_source(again).X, X)


def test_in_a_mixed_folder_the_rarer_of_sounds_and_pictures_is_left_out(tmp_path):
    for k in range(3):
        beep(tmp_path / "d" / f"{k}.wav", 300 * (k + 1))
    draw(tmp_path / "d" / "cover.png")
    (tmp_path / "d" / "notes.txt").write_text("x")
    (tmp_path / "d" / "logo.svg").write_text("<svg/>")
    data = read_source(tmp_path / "d")
    assert data.described.kind == "sound"
    assert data.described.n_items == 3
    assert data.notes == (
        "1 picture is left out: cover.png.",
        "2 files of another kind are left out: logo.svg, notes.txt.",
    )


def test_hidden_files_are_skipped_and_files_without_extension_are_inspected(folder):
    draw(folder / "a" / ".hidden.png")
    draw(folder / ".trash" / "x.png")
    (folder / "a" / "1.png").rename(folder / "a" / "one")
    data = read_source(folder)
    assert [item.id for item in data.items] == ["a/10.PNG", "a/one", "b/1.png", "b/2.png"]


def test_unreadable_pictures_are_left_out_and_named(folder):
    (folder / "a" / "bad.png").write_bytes(b"no picture")
    data = read_source(folder)
    assert data.described.n_items == 4
    assert data.notes[0] == (
        "1 file cannot be read and is left out: a/bad.png (it is not a PNG, JPEG, GIF, WebP or BMP image)."
    )


def test_links_out_of_the_folder_and_odd_names_are_left_out(folder, tmp_path):
    draw(tmp_path / "private.png")
    (folder / "a" / "link.png").symlink_to(tmp_path / "private.png")
    (folder / "a" / "inside.png").symlink_to("1.png")
    odd = os.fsencode(folder / "b") + b"/\xff.png"
    try:
        with open(odd, "wb") as file:
            file.write((folder / "a" / "1.png").read_bytes())
    except OSError:
        pytest.skip("this disk takes UTF-8 names only")
    data = read_source(folder)
    ids = [item.id for item in data.items]
    assert "a/inside.png" in ids
    assert "a/link.png" not in ids
    assert len(ids) == 5
    assert "2 files with a link out of the folder, or a name that is not UTF-8, are left out" in data.notes[0]
    assert r"\udcff" in data.notes[0]


def test_a_folder_without_media_is_refused_with_its_contents(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"no pictures or sounds. It is empty; expected files that end with"
    ):
        read_source(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(FileFormatError, match=r"It has a\.txt; expected"):
        read_source(tmp_path)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(FileFormatError, match=r"If a table lists them, give that: .*t\.csv"):
        read_source(tmp_path)


def test_one_picture_and_only_broken_ones_are_errors(tmp_path):
    draw(tmp_path / "d" / "a.png")
    with pytest.raises(FileFormatError, match=r"expected at least two items; got 1"):
        read_source(tmp_path / "d")
    (tmp_path / "d" / "a.png").write_bytes(b"x")
    with pytest.raises(FileFormatError, match=r"d \(a\.png\): none of the 1 pictures can be read"):
        read_source(tmp_path / "d")


def test_embeddings_of_a_folder_have_a_row_for_each_file_by_name(folder, tmp_path):
    np.save(tmp_path / "e.npy", np.eye(4))
    data = read_source(folder, features=str(tmp_path / "e.npy"))
    assert data.X.shape == (4, 4)
    assert "4 numbers per row from" in data.described.features
    np.save(tmp_path / "e.npy", np.eye(5))
    with pytest.raises(FileFormatError, match=r"has 5 row\(s\), but there are 4 pictures"):
        read_source(folder, features=str(tmp_path / "e.npy"))


def test_options_of_tables_are_refused_for_a_folder(folder):
    with pytest.raises(click.UsageError, match="--text refers to a column of a table"):
        read_source(folder, text=("a",))
    with pytest.raises(click.BadParameter, match=r"expected a \.npy file"):
        read_source(folder, features="size")


# ---------------------------------------------------------------------- tables


def test_rows_of_a_table(table):
    data = read_source(table, id_column="name", truth="kind", drop=("file", "text"))
    items = list(data.items)
    assert [item.id for item in items] == ["x1", "x2", "x3"]
    assert [item.truth for item in items] == ["a", "b", "a"]
    assert items[1].cells == (("size", "2"),)
    assert items[1].kind == "row"
    assert data.described.columns == ("size",)
    assert data.described.has_truth
    assert data.X.shape == (3, 1)


def test_texts_of_a_table(table):
    data = read_source(table, text=("text",), id_column="name", drop=("file",))
    items = list(data.items)
    assert items[0].kind == "text"
    assert items[0].text == items[0].title == "birds sing loud"
    assert items[0].cells == (("kind", "a"), ("size", "1"))
    assert "of 'text'" in data.described.features
    both = next(iter(read_source(table, text=("text", "kind")).items))
    assert both.text == "birds sing loud\n\na"
    assert both.id == "0"


def test_pictures_of_a_table(table):
    data = read_source(table, image="file", id_column="name")
    items = list(data.items)
    assert [item.media for item in items] == ["p/0.png", "p/1.png", "p/2.png"]
    assert items[0].kind == "image"
    assert items[0].title == "0.png"
    assert ("kind", "a") in items[0].cells
    assert "numbers from" in data.described.features


def test_sounds_of_a_table(tmp_path):
    for k in range(3):
        beep(tmp_path / f"{k}.wav", 200 * (k + 1))
    (tmp_path / "t.csv").write_text("f\n0.wav\n./1.wav\n2.wav\n")
    assert [item.media for item in read_source(tmp_path / "t.csv", audio="f").items] == [
        "0.wav",
        "1.wav",
        "2.wav",
    ]


def test_rows_whose_file_is_missing_broken_or_not_named_are_left_out(table):
    (table.parent / "p" / "1.png").write_bytes(b"x")
    table.write_text(TABLE + "x4,b,4,more,\nx5,b,5,more,p/gone.png\n")
    data = read_source(table, image="file", id_column="name")
    assert [item.id for item in data.items] == ["x1", "x3"]
    assert [item.row for item in data.items] == [0, 1]
    assert data.X.shape[0] == 2
    assert data.notes[0] == "1 row without a file in 'file' is left out: x4."
    assert "2 files cannot be read and are left out: p/1.png (it is not" in data.notes[1]
    assert "p/gone.png (there is no such file)" in data.notes[1]


def test_without_ids_the_rows_keep_their_numbers(table):
    (table.parent / "p" / "0.png").unlink()
    assert [item.id for item in read_source(table, image="file").items] == ["1", "2"]


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/a.png",
        "HTTP://x/a.png",
        "file:///etc/passwd",
        "data:image/png;base64,AAAA",
        "//x/a",
    ],
)
def test_addresses_are_never_fetched(tmp_path, address):
    (tmp_path / "t.csv").write_text(f'f\n"{address}"\n')
    with pytest.raises(FileFormatError, match=r"t\.csv:2: --image refers to .*downloads nothing"):
        read_source(tmp_path / "t.csv", image="f")


@pytest.mark.parametrize("name", ["../x.png", "/etc/x.png", "p/../../x.png", ".", "out/x.png"])
def test_files_outside_the_folder_of_the_table_are_refused(tmp_path, name):
    place = tmp_path / "here"
    place.mkdir()
    (place / "out").symlink_to(tmp_path)
    (place / "t.csv").write_text(f"f\n{name}\n")
    with pytest.raises(FileFormatError, match="not in the folder of the table"):
        read_source(place / "t.csv", image="f")


def test_embeddings_of_a_table(table):
    np.save(table.parent / "e.npy", np.arange(6.0).reshape(3, 2))
    given = {"features": str(table.parent / "e.npy")}
    assert read_source(table, **given).X.shape == (3, 2)
    assert read_source(table, text=("text",), **given).X.shape == (3, 2)
    table.write_text(TABLE.replace("p/1.png", ""))
    data = read_source(table, image="file", **given)
    whole = read_source(table, **given).X
    np.testing.assert_array_equal(data.X, whole[[0, 2]])


def test_a_parquet_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": [1.5, None, 2.0],
            "when": pandas.to_datetime(["2024-01-01", "2024-02-01", None]),
            "w": ["a", None, "b"],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    data = read_source(tmp_path / "t.parquet")
    items = list(data.items)
    assert items[0].cells[0] == ("n", "1.5")
    assert items[1].cells[0] == ("n", "")
    assert items[2].cells[0] == ("n", "2")
    assert items[0].cells[1][1].startswith("2024-01-01")
    assert items[2].cells[1][1] == ""
    assert np.isfinite(data.X).all()


def test_an_index_column_written_by_pandas_is_not_a_feature(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n0,5\n1,6\n2,9\n")
    data = read_source(tmp_path / "t.csv")
    assert data.X.shape == (3, 1)
    assert "--id 'column 1'" in data.notes[0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": ("txt",)}, FileFormatError, "no column 'txt'; did you mean 'text'"),
        (
            {"image": "text", "audio": "file"},
            click.UsageError,
            "--text, --image and --audio exclude one another",
        ),
        ({"id_column": "name", "truth": "name"}, FileFormatError, "given for --id too"),
        ({"id_column": "kind"}, FileFormatError, "the id 'a' .* also occurs in line 2"),
        ({"features": "gone.npy"}, FileFormatError, "there is no file"),
        ({"drop": ("name", "kind", "size", "text", "file")}, FileFormatError, r"t\.csv: no column is left"),
    ],
)
def test_unsuitable_options_are_refused(table, options, error, message):
    with pytest.raises(error, match=message):
        list(read_source(table, **options).items)


def test_files_that_are_not_tables_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="there is no file or folder"):
        read_source(tmp_path / "gone.csv")
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(FileFormatError, match="expected a CSV, Excel or Parquet table, or a folder"):
        read_source(tmp_path / "a.jsonl")
    draw(tmp_path / "a.png")
    with pytest.raises(FileFormatError, match="is a single file; give its folder"):
        read_source(tmp_path / "a.png")
    (tmp_path / "t.csv").write_bytes("a,b\nö,1\nü,2\n".encode("latin-1"))
    with pytest.raises(LikewiseError, match="--encoding"):
        read_source(tmp_path / "t.csv")
    assert [item.cells[0][1] for item in read_source(tmp_path / "t.csv", encoding="latin-1").items] == [
        "ö",
        "ü",
    ]
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(LikewiseError, match=r"constant columns|two or more"):
        read_source(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("id,a\ni\x00,1\nj,2\n")
    with pytest.raises(FileFormatError, match="NUL"):
        list(read_source(tmp_path / "t.csv", id_column="id").items)


# ---------------------------------------------------------------------- the sample


def test_the_names_of_the_sample_birds_do_not_reveal_the_kind(tmp_path):
    truth = write_sample(tmp_path / "birds", n=40)
    names = sorted(path.name for path in (tmp_path / "birds").iterdir())
    assert names[:2] == ["bird-001.png", "bird-002.png"]
    assert len(truth) == len(names) == 40
    assert len(set(truth)) == 8
    data = read_source(tmp_path / "birds")
    assert data.described.n_items == 40
    assert not data.described.has_truth
    with Image.open(tmp_path / "birds" / "bird-001.png") as image:
        assert image.size == (320, 320)
    with pytest.raises(LikewiseError, match="already exists"):
        write_sample(tmp_path / "birds")
    with pytest.raises(LikewiseError, match="n must be between 2 and 600; got 1"):
        write_sample(tmp_path / "other", n=1)
    assert write_sample(tmp_path / "again", n=40) == truth


# ---------------------------------------------------------------------- parts of files


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name, seconds in (("long.wav", 7.2), ("short.wav", 0.4)):
        soundfile.write(folder / name, np.sin(np.arange(int(seconds * 8000)) / 3), 8000)
    return folder


def test_long_recordings_are_cut_into_windows(recordings):
    data = read_source(recordings, window=2.0)
    items = list(data.items)
    assert [item.id for item in items] == [
        *("long.wav@0s", "long.wav@2s", "long.wav@4s", "long.wav@6s"),
        "short.wav@0s",
    ]
    assert [item.part for item in items][2:] == [(4.0, 6.0), (6.0, 7.2), (0.0, 0.4)]
    assert items[1].title == "long.wav, 2 to 4 s"
    assert {item.media for item in items} == {"long.wav", "short.wav"}
    assert data.X.shape[0] == data.described.n_items == 5
    data = read_source(recordings, window=5.0)
    assert [item.id for item in data.items] == ["long.wav@0s", "short.wav@0s"]  # a rest of 2.2 s is left out


def test_windows_differ_as_the_sound_does(tmp_path):
    (tmp_path / "r").mkdir()
    time = np.arange(8 * 8000) / 8000
    pitches = np.where(time < 4, 200.0, 2000.0)
    soundfile.write(tmp_path / "r" / "a.wav", np.sin(2 * np.pi * pitches * time), 8000)
    for _ in range(2):  # the second time from the cache
        X = read_source(tmp_path / "r", window=2.0).X
        assert np.linalg.norm(X[0] - X[1]) < 0.1 * np.linalg.norm(X[0] - X[2])


def test_a_broken_recording_is_left_out_with_a_note(recordings):
    (recordings / "bad.wav").write_bytes(b"RIFF0000WAVEjunk")
    data = read_source(recordings, window=2.0)
    assert "bad.wav" in data.notes[0]
    assert data.described.n_items == 5


def test_too_many_windows_are_refused(recordings, monkeypatch):
    monkeypatch.setattr("likewise.cli._items.MOST_PARTS", 50)
    with pytest.raises(FileFormatError, match=r"windows of 0\.1 s would be more than 50 items"):
        read_source(recordings, window=0.1)


def test_windows_of_a_sound_that_claims_a_huge_length_are_refused(recordings):
    path = recordings / "claims.flac"
    soundfile.write(path, np.zeros(8000), 8000)
    content = bytearray(path.read_bytes())
    content[21] |= 0x0F  # with the next four bytes: the number of samples
    content[22:26] = b"\xff" * 4
    path.write_bytes(content)
    with pytest.raises(
        FileFormatError, match=r"claims.flac: windows of 2 s would be more than 100,000 items"
    ):
        read_source(recordings, window=2.0)


def test_windows_need_sounds_and_regions_pictures(recordings, folder, table):
    with pytest.raises(click.UsageError, match=r"--regions is for pictures, and .* has sounds"):
        read_source(recordings, regions="boxes.csv")
    with pytest.raises(click.UsageError, match=r"--window is for sounds, and .* has pictures"):
        read_source(folder, window=1.0)
    with pytest.raises(click.UsageError, match="--window needs a folder of sounds"):
        read_source(table, audio="file", window=1.0)


def test_regions_of_pictures_are_items(folder):
    path = folder.parent / "boxes.csv"
    path.write_text("file,x,y,width,height,id,other\na/1.png,0,0,6,6,eye,1\n./b/2.png,4,5.0,8,7,,2\n")
    items = list(read_source(folder, regions=str(path)).items)
    assert [item.id for item in items] == ["eye", "b/2.png@4,5,8x7"]
    assert [item.title for item in items] == ["eye", "2.png, 8 x 7 at 4, 5"]
    assert [(item.media, item.part) for item in items] == [
        ("a/1.png", (0, 0, 6, 6)),
        ("b/2.png", (4, 5, 8, 7)),
    ]
    assert [item.truth for item in items] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a/1.png,0,0,13,5", "13 x 5 at 0, 0 is not inside the picture, which has 12 x 12 pixels"),
        ("a/1.png,-1,0,5,5", "5 x 5 at -1, 0 is not inside"),
        ("a/1.png,0,0,1e12,1e12", "is not inside"),
        ("a/1.png,0,0,3,50", "3 x 50 pixels; expected at least 4 x 4"),
        ("a/1.png,0,0,nan,5", "must be numbers"),
        ("a/1.png,0,0,inf,5", "must be numbers"),
        ("a/1.png,0,0,,5", "must be numbers"),
        ("../secret.png,0,0,5,5", "there is no picture '../secret.png'"),
        ("a/1.png,0,0,5,5", "was used in .*boxes.csv:2"),
    ],
)
def test_wrong_regions_are_refused_with_their_lines(folder, line, problem):
    draw(folder.parent / "secret.png")
    path = folder.parent / "boxes.csv"
    path.write_text(f"file,x,y,width,height\na/1.png,0,0,5,5\n{line}\n")
    with pytest.raises(FileFormatError, match=rf"(?s)1 region of .*boxes.csv:3: .*{problem}") as caught:
        read_source(folder, regions=str(path))
    assert "Correct or delete these lines" in str(caught.value)


def test_too_many_regions_are_refused_before_they_are_read(folder, monkeypatch):
    monkeypatch.setattr("likewise.cli._items.MOST_PARTS", 2)
    path = folder.parent / "boxes.csv"
    path.write_text("file,x,y,width,height\n" + "missing.png,0,0,5,5\n" * 3)
    with pytest.raises(FileFormatError, match=r"boxes\.csv has 3 regions; expected at most 2"):
        read_source(folder, regions=str(path))


@pytest.mark.parametrize(
    ("side", "problem"), [(60_000, "it has too many pixels"), (10_000, "it has 10,000 x 10,000 pixels")]
)
def test_regions_of_a_picture_bomb_are_refused(folder, side, problem):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    content = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(10_000)))
    (folder / "bomb.png").write_bytes(content)
    path = folder.parent / "boxes.csv"
    path.write_text(f"file,x,y,width,height\nbomb.png,0,0,{side},{side}\n")
    with pytest.raises(FileFormatError, match=rf"bomb\.png cannot be read: {problem}; .* 80,000,000"):
        read_source(folder, regions=str(path))


def test_a_table_of_regions_without_a_column_is_refused(folder):
    path = folder.parent / "boxes.csv"
    path.write_text("file,x,y,width\na/1.png,0,0,5\n")
    with pytest.raises(FileFormatError, match="has no column 'height'"):
        read_source(folder, regions=str(path))


def test_texts_that_show_nothing_are_left_out_also_with_embeddings(tmp_path):
    (tmp_path / "t.csv").write_text('text\nbirds sing\n" \u200b"\nbirds fly\n""\nstocks fell\n', "utf-8")
    np.save(tmp_path / "e.npy", np.arange(10.0).reshape(5, 2))
    options = {"text": ["text"], "features": str(tmp_path / "e.npy"), "features_option": "--embeddings"}
    data = read_source(tmp_path / "t.csv", **options, leave_out_blank=True)
    assert [item.id for item in data.items] == ["0", "2", "4"]
    assert len(data.X) == 3
    assert "2 rows without text in 'text' are left out: 1, 3." in data.notes
    assert len(read_source(tmp_path / "t.csv", **options).X) == 5  # other commands need no text
