"""Files that are all written or none, and errors as messages."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from pathlib import Path

import pytest

from fork_server import start_command
from likewise.cli._output import Outputs, check_output, format_error, gather_warnings
from likewise.supervision import RowIds, sample_links, write_hints
from likewise.tables import write_table
from patience import PATIENCE

SCRIPT = Path(sysconfig.get_path("scripts"), "likewise")


def test_all_or_none(tmp_path):
    (tmp_path / "a").write_text("old")

    def write_and_fail():
        with Outputs() as outputs:
            outputs.add(str(tmp_path / "a"), lambda part: part.write_text("new"))
            outputs.add(str(tmp_path / "b"), lambda part: part.write_text("new"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    with Outputs() as outputs:
        outputs.add(str(tmp_path / "a"), lambda part: part.write_text("new"))
        outputs.add(str(tmp_path / "b"), lambda part: part.write_text("new"))
        assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_link_that_a_folder_is_reached_by_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    path = str(tmp_path / "link" / "labels.csv")
    check_output(path, (".csv",), "--out")
    with Outputs() as outputs:
        outputs.add(path, lambda part: part.write_text("new"))
    assert (tmp_path / "real" / "labels.csv").read_text() == "new"


def test_a_link_keeps_pointing_where_it_did(tmp_path):
    (tmp_path / "real").write_text("old")
    os.symlink(tmp_path / "real", tmp_path / "link")
    with Outputs() as outputs:
        outputs.add(str(tmp_path / "link"), lambda part: part.write_text("new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "shut").mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        check_output(str(tmp_path / "shut" / "l.csv"), (".csv",), "--out")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (IsADirectoryError(21, "Is a directory", "d"), "'d' is a folder; expected a file."),
        (PermissionError(13, "Permission denied", "f"), "'f' cannot be opened: permission denied."),
        (OSError(28, "No space left on device", "f"), "'f': No space left on device. Free some"),
        (OSError("odd"), "odd"),
        (ValueError(), "ValueError"),
        (MemoryError("Unable to allocate 1 TiB"), "there is not enough memory for this. Unable to"),
    ],
)
def test_messages(error, text):
    assert format_error(error).startswith(text)


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_warnings_for_people_are_gathered_and_others_are_not():
    import warnings

    with gather_warnings() as notes:
        warnings.warn("once", UserWarning, stacklevel=1)
        warnings.warn("once", UserWarning, stacklevel=1)
    assert notes == ["once"]
    with pytest.raises(DeprecationWarning), gather_warnings():
        warnings.warn("old", DeprecationWarning, stacklevel=1)


# ---------------------------------------------------------------------- pipes, full disks, links, inputs


CLUSTER = ("cluster", "data.csv", "-k", "2", "--id", "name")


def command(*words, cwd, stdin=None, stdout=None):
    """Run the command in a process with streams of the system; return its exit code and its stderr."""
    with tempfile.TemporaryFile("w+") as stderr, open(os.devnull, "r+") as nothing:
        streams = [os.dup((stream or nothing).fileno()) for stream in (stdin, stdout, stderr)]
        process = start_command([*map(str, words)], cwd, dict(os.environ), streams)
        process.join(PATIENCE)
        stderr.seek(0)
        return process.exitcode, stderr.read()


def installed_command(*words, cwd, stdout):
    """Run the installed command, which ends as an interpreter ends; return its exit code and its stderr."""
    words = [SCRIPT, *map(str, words)]
    done = subprocess.run(words, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("out", ["-", "/dev/stdout", "/dev/fd/1"])
def test_every_name_of_stdout_is_stdout(run, files, out):
    assert run(*CLUSTER, "--out", out, "-q").stdout.startswith("id,cluster\na1,")


def test_stdout_that_is_redirected_to_a_file_is_written_and_not_replaced(files):
    with open(files / "labels.txt", "wb") as stdout:
        stdout.write(b"before\n")
        stdout.flush()
        assert command(*CLUSTER, "-q", "--out", "/dev/stdout", cwd=files, stdout=stdout) == (0, "")
    assert (files / "labels.txt").read_text().startswith("before\nid,cluster\n")


def test_a_named_pipe_is_written_as_csv(files):
    os.mkfifo(files / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((files / "pipe").read_text()), daemon=True)
    reader.start()
    assert command(*CLUSTER, "-q", "--out", "pipe", cwd=files) == (0, "")
    reader.join(PATIENCE)
    assert found[0].startswith("id,cluster\na1,")


@pytest.mark.parametrize(
    ("words", "start"),
    [(CLUSTER, command), ((*CLUSTER, "--json"), command), (("datasets",), installed_command)],
    ids=["table", "json", "installed"],
)
def test_a_reader_that_has_enough_ends_the_command_without_a_word(files, words, start):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stdout:
        assert start(*words, cwd=files, stdout=stdout) == (1, "")


needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")


@needs_full
@pytest.mark.parametrize(
    ("words", "start"),
    [
        (CLUSTER, command),
        ((*CLUSTER, "--json"), command),
        (("datasets", "iris", "--out", "-"), installed_command),
    ],
    ids=["table", "json", "installed"],
)
def test_a_full_disk_behind_stdout_is_named(files, words, start):
    with open("/dev/full", "wb", buffering=0) as full:
        code, stderr = start(*words, cwd=files, stdout=full)
    assert code == 1
    assert "'stdout': No space left on device. Free some space" in stderr
    assert "Traceback" not in stderr


@needs_full
@pytest.mark.parametrize(
    "words",
    [
        (*CLUSTER, "--out", "/dev/full"),
        (*CLUSTER, "--out", "l.csv", "--plot", "/dev/full"),
        ("datasets", "iris", "--out", "/dev/full"),
    ],
)
def test_a_full_disk_behind_a_file_is_named(run, files, words):
    assert "'/dev/full': No space left on device." in run(*words, code=1).stderr
    assert not (files / "l.csv").exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda part: part.write_bytes(bytes(100_000)),
        lambda part: write_table(part.with_suffix(".parquet"), {"id": list(range(100_000))}),
        lambda part: write_hints(
            part.with_suffix(".csv"), sample_links([0, 1] * 9000, 9000), RowIds.from_row_numbers(18_000)
        ),
    ],
    ids=["bytes", "parquet", "hints"],
)
def test_a_full_disk_is_reported_by_the_name_that_was_given(small_disk, write):
    target = small_disk / "labels.csv"
    target.write_text("old")

    def put():
        with Outputs() as outputs:
            outputs.add(str(target), write)

    with pytest.raises(OSError, match="No space left on device") as caught:
        put()
    assert format_error(caught.value) == (
        f"{str(target)!r}: No space left on device. Free some space, or write to another disk."
    )
    assert target.read_text() == "old"


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("target", ["other.csv", "nowhere.csv"])
def test_a_symbolic_link_is_refused_before_the_work(run, files, target):
    (files / "other.csv").write_text("precious")
    os.symlink(target, files / "link.csv")
    output = run(*CLUSTER, "--out", "link.csv", code=2).stderr
    assert "'link.csv' is a symbolic link to " in output
    assert target in output
    assert (files / "link.csv").is_symlink()
    assert (files / "other.csv").read_text() == "precious"
    assert not (files / "nowhere.csv").exists()


def test_an_input_is_not_written_over_whatever_it_is_called(run, files):
    before = (files / "data.csv").read_bytes()
    os.link(files / "data.csv", files / "same.csv")
    os.symlink("data.csv", files / "link.csv")
    for out in ("data.csv", "./data.csv", "same.csv", "link.csv"):
        output = run(*CLUSTER, "--out", out, code=2).stderr
        assert "is also a file that is read" in output
    words = ("cluster", "-", "-k", "2", "--id", "name", "--out", "data.csv")
    with open(files / "data.csv", "rb") as stdin:
        code, stderr = command(*words, cwd=files, stdin=stdin)
    assert code == 2
    assert "is also a file that is read, by another name" in stderr
    assert (files / "data.csv").read_bytes() == before


@pytest.mark.parametrize("out", ["rows/labels.parquet", "rows/part.parquet"])
def test_labels_do_not_go_among_the_parquet_files_that_are_read(run, tmp_path, out):
    (tmp_path / "rows").mkdir()
    write_table(tmp_path / "rows" / "part.parquet", {"x": [0.0, 1.0, 8.0, 9.0]})
    output = run("cluster", "--parquet", "rows", "-k", "2", "--out", out, code=2).stderr
    assert "is also in the folder that is read" in output
    assert [path.name for path in (tmp_path / "rows").iterdir()] == ["part.parquet"]
