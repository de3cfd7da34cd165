"""The project folder: created completely or not at all, readable, locked by one server."""

import errno
import json
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio import project as project_module
from likewise.studio.project import Project, get_default_folder
from likewise.studio.records import Described, Item, Settings
from patience import PATIENCE

X = np.arange(12.0).reshape(4, 3)


def items(n=4):
    return [Item(k, f"i{k}", "row", f"item {k}") for k in range(n)]


def make(folder, **changes):
    data = folder / "birds.csv"
    if not data.exists():
        data.write_text("a\n1\n2\n3\n4\n")
    given = {
        "X": X,
        "items": items(),
        "settings": Settings("Birds", n_clusters=2, study={"n_pairs": 3}),
        "described": Described("row", 4, columns=("a",), features="3 numbers", notes=("one",)),
        "source": data,
    }
    return Project.create(folder / "birds.likewise", **given | changes)


def edit(project, **changes):
    path = project.folder / "project.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes))


def test_a_created_project_can_be_opened(tmp_path):
    made = make(tmp_path)
    again = Project.open(tmp_path / "birds.likewise")
    assert again.settings == made.settings
    assert again.described == made.described
    assert again.source == tmp_path / "birds.csv"
    assert again.media_root == tmp_path
    np.testing.assert_array_equal(again.load_features(), X)
    assert isinstance(again.load_features(), np.memmap)
    assert list(again.items) == items()
    assert again.describe_changed_source() is None
    assert len(again.get_secret()) == 64
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["birds.csv", "birds.likewise"]


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_the_folder_is_private(tmp_path):
    project = make(tmp_path)
    assert project.folder.stat().st_mode & 0o777 == 0o700
    secret = project.folder / "secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    secret.chmod(0o644)
    assert project.get_secret()
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_lost_secret_is_replaced(tmp_path):
    project = make(tmp_path)
    was = project.get_secret()
    (project.folder / "secret").unlink()
    assert project.get_secret() != was
    assert project.get_secret() == project.get_secret()


def test_its_file_is_readable_json(tmp_path):
    content = json.loads((make(tmp_path).folder / "project.json").read_text(encoding="utf-8"))
    assert content["format"] == "likewise project"
    assert content["version"] == 1
    assert content["source"]["path"] == "../birds.csv"
    assert content["settings"]["title"] == "Birds"


def test_data_and_project_can_be_moved_together(tmp_path):
    make(tmp_path)
    (tmp_path / "new").mkdir()
    for name in ("birds.csv", "birds.likewise"):
        (tmp_path / name).rename(tmp_path / "new" / name)
    moved = Project.open(tmp_path / "new" / "birds.likewise")
    assert moved.source == tmp_path / "new" / "birds.csv"
    assert moved.describe_changed_source() is None


def test_data_in_another_place_have_an_absolute_path(tmp_path):
    (tmp_path / "far").mkdir()
    data = tmp_path / "far" / "x.csv"
    data.write_text("a\n1\n")
    (tmp_path / "here").mkdir()
    assert make(tmp_path / "here", source=data).source == data


def test_the_default_folder_of_a_project(tmp_path, monkeypatch):
    (tmp_path / "v1.2").mkdir()
    assert get_default_folder(tmp_path / "v1.2") == tmp_path / "v1.2.likewise"
    assert get_default_folder(tmp_path / "t.csv") == tmp_path / "t.likewise"
    monkeypatch.chdir(tmp_path / "v1.2")
    from pathlib import Path

    assert get_default_folder(Path()) == tmp_path / "v1.2.likewise"


def test_settings_can_be_changed(tmp_path):
    project = make(tmp_path)
    changed = project.with_settings(Settings("Vögel", ask="both", overlap=2))
    assert changed.settings.title == "Vögel"
    assert Project.open(project.folder).settings == changed.settings
    assert Project.open(project.folder).described == project.described


def test_it_can_be_pickled(tmp_path):
    again = pickle.loads(pickle.dumps(make(tmp_path)))
    assert again.items.get(2).id == "i2"


def test_the_database_is_the_file_or_the_one_given(tmp_path):
    odd = tmp_path / "a b%20#ü"
    odd.mkdir()
    project = make(odd)
    from sqlalchemy import make_url

    assert make_url(project.database_url).database == str(project.folder / "studio.sqlite")
    other = Project.open(project.folder, database="postgresql+psycopg://u:p@localhost/x")
    assert other.database_url == "postgresql+psycopg://u:p@localhost/x"
    kept = project.with_settings(Settings("x", database="postgresql+psycopg://u@localhost/x"))
    assert kept.database_url == "postgresql+psycopg://u@localhost/x"


# ---------------------------------------------------------------------- whole or not at all


def test_an_existing_folder_is_refused(tmp_path):
    make(tmp_path)
    with pytest.raises(LikewiseError, match=r"already exists. Open it"):
        make(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": items(3)}, "3 items, 4 rows of features and 4 items described"),
        ({"items": [items()[0], items()[0]]}, "has row 0"),
        ({"X": np.full((4, 3), np.nan)}, "feature 0 of row 0 .* is nan"),
        ({"X": np.zeros(4)}, r"shape \(4,\)"),
        ({"X": np.zeros((4, 0))}, r"shape \(4, 0\)"),
        ({"source": "/nowhere/at/all"}, "cannot be read"),
    ],
)
def test_invalid_input_leaves_nothing_behind(tmp_path, changes, message):
    with pytest.raises(LikewiseError, match=message):
        make(tmp_path, **changes)
    assert [entry.name for entry in tmp_path.iterdir()] == ["birds.csv"]


@pytest.mark.parametrize("at", ["save", "write_items", "_write_secret", "_to_disk"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, at):
    def full(*given, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np if at == "save" else project_module, at, full)
    with pytest.raises(
        LikewiseError, match=r"cannot be created: No space left on device. Nothing was left behind"
    ):
        make(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["birds.csv"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
@pytest.mark.parametrize("n", [2_000, 50_000])  # items and features together are too large
def test_a_really_full_disk_leaves_nothing_behind(tmp_path, n):
    code = (
        "import resource, sys\n"
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from likewise.studio.project import Project\n"
        "from likewise.studio.records import Described, Item, Settings\n"
        "folder, n = Path(sys.argv[1]), int(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "items = (Item(k, f'i{k}', 'row', 't' * 30) for k in range(n))\n"
        "try:\n"
        "    Project.create(folder / 'x.likewise', X=np.zeros((n, 1)), items=items, settings=Settings('x'),\n"
        "                   described=Described('row', n), source=folder)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(n)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("LikewiseError the project")
    assert "Nothing was left behind" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_source_of_items_that_fails_leaves_nothing_behind(tmp_path):
    def failing():
        yield items()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, items=failing())
    assert [entry.name for entry in tmp_path.iterdir()] == ["birds.csv"]


def test_the_second_of_two_concurrent_creations_fails(tmp_path):
    def slow():
        yield from items()
        make(tmp_path)

    with pytest.raises(LikewiseError, match="created by another process meanwhile"):
        make(tmp_path, items=slow())
    assert Project.open(tmp_path / "birds.likewise").items.n == 4
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["birds.csv", "birds.likewise"]


def test_a_missing_parent_folder_is_reported(tmp_path):
    with pytest.raises(LikewiseError, match="cannot be created: No such file"):
        make(tmp_path).create(
            tmp_path / "no" / "x.likewise",
            X=X,
            items=items(),
            settings=Settings("x"),
            described=Described("row", 4),
            source=tmp_path / "birds.csv",
        )


# ---------------------------------------------------------------------- opened with care


def test_a_newer_project_is_refused_by_both_versions(tmp_path):
    project = make(tmp_path)
    edit(project, version=7)
    with pytest.raises(
        FileFormatError, match=r"has version 7, written by a newer likewise; .* up to version 2. Update"
    ):
        Project.open(project.folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "it lacks"),
        ({"version": "1"}, "must be an integer; got '1'"),
        ({"version": True}, "must be an integer; got True"),
        ({"settings": []}, "'settings' must be an object"),
        ({"settings": {"title": "x", "wings": 2}}, "settings cannot be read.*wings"),
        ({"settings": {"title": "x", "overlap": "2"}}, "'overlap' must be an integer; got '2'"),
        ({"settings": {"title": "x", "ask": "quads"}}, "one of default, pairs, .*; got 'quads'"),
        ({"described": {"kind": "film", "n_items": 4}}, "unknown kind of item 'film'"),
        ({"described": {"n_items": 4}}, "the description cannot be read"),
        ({"described": {"kind": "row", "n_items": 5}}, "is inconsistent"),
        ({"source": {"path": 3}}, "'source' must have"),
    ],
)
def test_an_invalid_project_file_is_reported(tmp_path, changes, message):
    project = make(tmp_path)
    edit(project, **changes)
    with pytest.raises(FileFormatError, match=message):
        Project.open(project.folder)


def test_broken_and_missing_files_are_reported(tmp_path):
    project = make(tmp_path)
    whole = (project.folder / "project.json").read_bytes()
    (project.folder / "project.json").write_bytes(whole[:50])
    with pytest.raises(FileFormatError, match="is incomplete"):
        Project.open(project.folder)
    (project.folder / "project.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match="is incomplete"):
        Project.open(project.folder)
    (project.folder / "project.json").write_bytes(whole)
    features = (project.folder / "features.npy").read_bytes()
    (project.folder / "features.npy").write_bytes(features[:-8])
    with pytest.raises(FileFormatError, match=r"features\.npy cannot be read"):
        Project.open(project.folder)
    (project.folder / "features.npy").unlink()
    with pytest.raises(FileFormatError, match=r"features\.npy is missing"):
        Project.open(project.folder)
    with pytest.raises(FileFormatError, match=r"not a project of the studio: it has no project\.json"):
        Project.open(tmp_path)
    with pytest.raises(FileFormatError, match="there is no project"):
        Project.open(tmp_path / "x.likewise")


# ---------------------------------------------------------------------- data that change


def test_a_changed_data_file_is_noticed_and_a_touched_one_is_not(tmp_path):
    project = make(tmp_path)
    data = tmp_path / "birds.csv"
    os.utime(data, (1, 1))
    assert project.describe_changed_source() is None
    data.write_text("a\n1\n2\n3\n5\n")
    assert "contents differ" in project.describe_changed_source()
    data.write_text("a\n1\n")
    assert "had 10 bytes and now has 4" in project.describe_changed_source()
    data.unlink()
    assert "cannot be read" in project.describe_changed_source()
    data.mkdir()
    assert "was a file when the project was created, now a folder" in project.describe_changed_source()


def test_a_changed_folder_is_noticed(tmp_path):
    pictures = tmp_path / "birds"
    pictures.mkdir()
    (pictures / "a.png").write_bytes(b"1")
    (pictures / ".hidden").write_bytes(b"1")
    project = make(tmp_path, source=pictures)
    (pictures / ".other").write_bytes(b"1")
    assert project.describe_changed_source() is None
    (pictures / "b.png").write_bytes(b"1")
    assert "had 1 files and now has 2" in project.describe_changed_source()
    (pictures / "a.png").unlink()
    assert "names or contents differ" in project.describe_changed_source()


# ---------------------------------------------------------------------- one server


def test_a_second_server_gets_the_address_of_the_first(tmp_path, monkeypatch):
    from likewise import _locks

    monkeypatch.setattr(_locks, "_PAUSE", 0.001)
    project = make(tmp_path)
    assert project.find_running() is None
    with project.lock("http://127.0.0.1:1/x"):
        assert project.find_running() == "http://127.0.0.1:1/x"
        with (
            pytest.raises(
                LikewiseError,
                match=rf"another studio at http://127.0.0.1:1/x \(process {os.getpid()}, since 20",
            ),
            project.lock("http://127.0.0.1:3"),
        ):
            pass
        assert project.find_running() == "http://127.0.0.1:1/x"
    assert project.find_running() is None
    with project.lock("http://127.0.0.1:4"):
        assert project.find_running() == "http://127.0.0.1:4"


def test_a_killed_server_releases_the_lock(tmp_path):
    project = make(tmp_path)
    code = (
        "import sys\n"
        "from likewise.studio.project import Project\n"
        "with Project.open(sys.argv[1]).lock('http://127.0.0.1:9'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(project.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout.readline().strip() == b"held"
            assert project.find_running() == "http://127.0.0.1:9"
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait(timeout=PATIENCE)
    assert project.find_running() is None
    with project.lock("http://127.0.0.1:10"):
        assert project.find_running() == "http://127.0.0.1:10"


def test_groups_are_stored_and_a_broken_file_is_ignored(tmp_path):
    project = make(tmp_path)
    assert project.get_kept_groups() is None
    labels = np.arange(project.described.n_items, dtype=np.int32)
    project.keep_groups(labels, 7)
    kept, seq = project.get_kept_groups()
    assert (kept.tolist(), seq) == (labels.tolist(), 7)
    project.keep_groups(np.append(labels, 0).astype(np.int32))  # more than there are items
    assert project.get_kept_groups() is None
    (project.cache / "groups.npz").write_bytes(b"nothing")
    assert project.get_kept_groups() is None
