"""``likewise studio --add``: what is new, changed or gone in the data, for every kind of data."""

import numpy as np
import pytest

from cli.test_studio import TABLE, data, picture, served, sound, studio  # noqa: F401 (fixtures)
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.project import Project
from likewise.studio.records import Settings

pytest.importorskip("fastapi")
LINES = TABLE.splitlines()


def add_picture(folder):
    picture(folder / "pics/6.png", 123)
    picture(folder / "pics/2.png", 255)  # another colour than before
    (folder / "pics/3.png").unlink()


def add_class(folder):
    picture(folder / "classes/a/6.png", 123)
    picture(folder / "classes/a/2.png", 255)
    (folder / "classes/b/3.png").unlink()


def add_sound(folder):
    sound(folder / "sounds/6.wav", 0.33)
    sound(folder / "sounds/2.wav", 1.5)
    (folder / "sounds/3.wav").unlink()


def write_regions(folder, ids, left=0):
    lines = [f"{name}.png,{left if name == 2 else 0},0,4,4,r{name}" for name in ids]
    (folder / "boxes.csv").write_text("\n".join(["file,x,y,width,height,id", *lines]) + "\n")


def add_region(folder):
    picture(folder / "pics/6.png", 123)
    picture(folder / "pics/2.png", 255)
    write_regions(folder, (0, 1, 2, 4, 5, 6), left=2)


def add_line(folder):
    new = "i6,text of an owl,pics/1.png,sounds/1.wav,9,1,b"
    changed = "i2,another cat entirely,pics/4.png,sounds/4.wav,-9,0,a"
    lines = [*LINES[:3], changed, *LINES[5:], new]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")


def add_embedding(folder):
    add_line(folder)
    X = np.arange(18.0).reshape(6, 3)
    np.save(folder / "numbers.npy", np.vstack([X[:2], [[-5.0, 1.0, 2.0]], X[4:], [[9.0, 9.0, 9.0]]]))


KINDS = {
    "pictures": (("pics",), add_picture, ("6.png", "2.png", "3.png")),
    "classes": (("classes",), add_class, ("a/6.png", "a/2.png", "b/3.png")),
    "sounds": (("sounds",), add_sound, ("6.wav", "2.wav", "3.wav")),
    "windows": (("sounds", "--window", "60"), add_sound, ("6.wav@0s", "2.wav@0s", "3.wav@0s")),
    "regions": (("pics", "--regions", "boxes.csv"), add_region, ("r6", "r2", "r3")),
    "texts": (("t.csv", "--text", "message", "--id", "name"), add_line, ("i6", "i2", "i3")),
    "rows": (("t.csv", "--id", "name", "--drop", "picture,sound,message"), add_line, ("i6", "i2", "i3")),
    "picture column": (("t.csv", "--image", "picture", "--id", "name"), add_line, ("i6", "i2", "i3")),
    "embeddings": (
        ("t.csv", "--embeddings", "numbers.npy", "--text", "message", "--id", "name"),
        add_embedding,
        ("i6", "i2", "i3"),
    ),
}


@pytest.mark.parametrize(("words", "change", "ids"), KINDS.values(), ids=KINDS)
def test_new_changed_and_removed_items(run, data, served, monkeypatch, words, change, ids):  # noqa: F811
    monkeypatch.chdir(data)
    write_regions(data, range(6))
    studio(run, *words, "-k", "2")
    before = served[-1]
    X, old = np.array(before.load_features()), list(before.items)
    mark = before.mark()
    change(data)
    added, changed, removed = ids
    done = studio(run, words[0], "--add")
    said = " ".join(done.stderr.split())
    assert f"1 item added: {added}." in said
    assert f"1 item changed: {changed}. Answers about changed items stay." in said
    assert f"1 item gone: {removed}. Items that are gone are not asked about; their answers stay." in said
    assert "has changed since" not in said
    now = Project.open(before.folder)
    assert now.items.get_ids() == [*(item.id for item in old), added]
    rows = now.load_features()
    row = before.items.get_row(changed)
    same = np.arange(len(X)) != row
    np.testing.assert_array_equal(rows[: len(X)][same], X[same])
    assert not np.allclose(rows[row], X[row])
    assert np.isfinite(rows).all()
    assert now.mark() == mark
    assert now.items.get(row).row == row
    again = studio(run, words[0], "--add")
    assert "item added" not in again.stderr
    assert "item changed" not in again.stderr
    assert Project.open(before.folder).addition.sizes == (6,)


def test_a_class_folder_names_the_class_of_a_new_file(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "classes", "-k", "2")
    picture(data / "classes/b/9.png", 9)
    studio(run, "classes", "--add")
    assert Project.open(data / "classes.likewise").items.get(6).truth == "b"


def test_a_new_recording_is_cut_into_windows(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "sounds", "--window", "0.1", "-k", "2")
    before = served[-1].items.get_ids()
    sound(data / "sounds/7.wav", 0.33)
    studio(run, "sounds", "--add")
    now = Project.open(served[-1].folder)
    new = now.items.get_ids()[len(before) :]
    assert new == [id.replace("0.wav", "7.wav") for id in before if id.startswith("0.wav")]
    assert now.items.get(len(before)).part == (0.0, 0.1)


def test_rows_without_ids_are_appended(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "t.csv", "--text", "message", "-k", "2")
    with open(data / "t.csv", "a") as file:
        file.write("i6,one more owl,,,1,1,b\ni7,,,,1,1,b\n")
    said = studio(run, "t.csv", "--add").stderr
    assert "1 item added: 6." in said
    assert Project.open(data / "t.likewise").items.n == 7


def test_rows_that_moved_are_refused_without_ids(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    for words, first in ((("--text", "message"), "new owl"), (("--drop", "name,picture,sound,message"), "x")):
        (data / "t.csv").write_text(TABLE)
        folder = data / f"{words[0]}.likewise"
        project = ("--project", str(folder))
        studio(run, "t.csv", *words, "-k", "2", *project)
        lines = [*LINES[:3], *LINES[4:]]  # without row 2
        (data / "t.csv").write_text("\n".join(lines) + "\n")
        said = " ".join(studio(run, "t.csv", "--add", *project, code=1).stderr.split())
        assert "row 2 now has the content of row 3. The project has no column of ids" in said
        before = [item.text or item.cells for item in served[-1].items]
        assert [item.text or item.cells for item in Project.open(folder).items] == before
        (data / "t.csv").write_text("\n".join([*LINES[:-2], f"i4,{first},,,-4,0,a"]) + "\n")  # last row gone
        assert "1 item gone: 5." in studio(run, "t.csv", "--add", *project).stderr


@pytest.mark.parametrize("scale", [1, 1e-7, 1e7])
@pytest.mark.parametrize("has_outlier", [False, True])
def test_rows_of_similar_numbers_do_not_move_unseen(run, tmp_path, served, scale, has_outlier):  # noqa: F811
    rows = [f"{(1001 + k) * scale!r},{(5000 + k) * scale!r}" for k in range(30)]
    if has_outlier:  # without it, more digits are shown
        rows[2] = f"{3e4 * scale!r},{9e5 * scale!r}"
    path = tmp_path / "t.csv"

    def write(lines):
        path.write_text("\n".join(["a,b", *lines]) + "\n")

    write(rows)
    studio(run, str(path), "-k", "2")
    write([*rows[:2], *rows[3:]])
    said = " ".join(studio(run, str(path), "--add", code=1).stderr.split())
    assert "row 2 now has the content of row 3." in said
    write([rows[0], *rows])  # a row above the others
    assert "have moved" in studio(run, str(path), "--add", code=1).stderr
    write([*rows[:2], rows[3], rows[2], *rows[4:]])
    assert "have moved" in studio(run, str(path), "--add", code=1).stderr
    edited = f"{1010.5 * scale!r},{5004 * scale!r}"
    write([*rows[:4], edited, *rows[5:]])
    assert "1 item changed: 4." in studio(run, str(path), "--add").stderr
    write([*rows[:4], edited, *rows[5:], f"{1031 * scale!r},{5030 * scale!r}"])
    said = studio(run, str(path), "--add").stderr
    assert "1 item added: 30." in said
    assert "changed" not in said


@pytest.mark.parametrize("words", [("--text", "message"), ("--drop", "name,picture,sound,message")])
def test_other_rows_do_not_take_the_answers_of_rows_that_are_gone(run, data, served, monkeypatch, words):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "t.csv", *words, "-k", "2")
    (data / "t.csv").write_text("\n".join(LINES[:-2]) + "\n")
    assert "2 items gone: 4, 5." in studio(run, "t.csv", "--add").stderr
    new = ["j4,one new owl,,,40,1,a", "j5,another new owl,,,50,1,b"]
    (data / "t.csv").write_text("\n".join([*LINES[:-2], *new]) + "\n")
    said = " ".join(studio(run, "t.csv", "--add", code=1).stderr.split())
    assert "row 4 of" in said
    assert "is back with other content; expected what it had. The project has no column of ids" in said
    (data / "t.csv").write_text("\n".join([*LINES, *new]) + "\n")
    said = studio(run, "t.csv", "--add").stderr
    assert "2 items added: 6, 7." in said
    assert "2 items back: 4, 5." in said


def test_a_row_that_is_gone_comes_back(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    words = ("t.csv", "--text", "message", "--id", "name")
    studio(run, *words, "-k", "2")
    folder = served[-1].folder
    watching = Project.open(folder)  # as a running studio does
    watching.refresh()
    (data / "t.csv").write_text("\n".join([*LINES[:3], *LINES[4:]]) + "\n")
    said = studio(run, "t.csv").stderr
    assert "--add" in said  # how to use the changed data
    studio(run, "t.csv", "--add")
    now = Project.open(folder)
    assert (now.gone, now.find_gone_rows()) == (("i2",), [2])
    assert watching.refresh()
    assert watching.find_gone_rows() == [2]
    assert watching.describe_changed_source() is None
    assert ProjectAnalysis.from_project(now).make_picture().gone == (2,)
    with now.lock_items():
        assert now.add_items([], []).gone == ("i2",)  # an upload changes nothing about it
    (data / "t.csv").write_text(TABLE)
    assert "1 item back: i2. Items that are back are asked about again." in " ".join(
        studio(run, "t.csv", "--add").stderr.split()
    )
    assert Project.open(folder).find_gone_rows() == []
    assert watching.refresh()


def test_a_file_that_is_gone_comes_back(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "pics", "-k", "2")
    watching = Project.open(served[-1].folder)
    watching.refresh()
    (data / "pics/3.png").unlink()
    assert "1 item gone: 3.png." in studio(run, "pics", "--add").stderr
    assert watching.refresh()
    assert watching.find_gone_rows() == [3]
    assert "Nothing has changed." in studio(run, "pics", "--add").stderr
    picture(data / "pics/3.png", 120)
    assert watching.find_gone_rows() == []  # without another comparison, for example after a restart
    assert "1 item back: 3.png." in studio(run, "pics", "--add").stderr
    assert watching.refresh()


def test_a_touched_file_is_not_a_changed_one(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "pics", "-k", "2")
    picture(data / "pics/2.png", 80)  # the same content again
    assert "Nothing has changed." in studio(run, "pics", "--add").stderr


def test_a_file_that_cannot_be_read_is_left_out(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    studio(run, "pics", "-k", "2")
    (data / "pics/7.png").write_bytes(b"no picture")
    picture(data / "pics/8.png", 80)
    said = studio(run, "pics", "--add").stderr
    assert "cannot be read" in said
    assert "1 item added: 8.png." in said


def test_what_is_refused(run, data, served, monkeypatch):  # noqa: F811
    monkeypatch.chdir(data)
    assert "there is no project" in studio(run, "pics", "--add", code=2).stderr
    studio(run, "pics", "-k", "2")
    project = served[-1]
    (project.folder / "recipe.npz").unlink()
    picture(data / "pics/8.png", 80)
    assert "created by an older likewise" in studio(run, "pics", "--add", code=1).stderr
    project.with_settings(Settings("Study", study={"n_pairs": 1}))
    assert "the items of a study are fixed" in studio(run, "pics", "--add", code=1).stderr
