"""Files that are all written or none, and errors as messages."""

import os

import pytest

from likewise.cli._output import Outputs, check_output, gathered_warnings, message_of


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
        (IsADirectoryError(21, "Is a directory", "d"), "'d' is a folder; wanted a file."),
        (PermissionError(13, "Permission denied", "f"), "'f' may not be opened: permission denied."),
        (OSError(28, "No space left on device", "f"), "'f': No space left on device."),
        (OSError("odd"), "odd"),
        (ValueError(), "ValueError"),
        (MemoryError("Unable to allocate 1 TiB"), "there is not enough memory for this. Unable to"),
    ],
)
def test_messages(error, text):
    assert message_of(error).startswith(text)


def test_warnings_for_people_are_gathered_and_others_are_not():
    import warnings

    with gathered_warnings() as notes:
        warnings.warn("once", UserWarning, stacklevel=1)
        warnings.warn("once", UserWarning, stacklevel=1)
    assert notes == ["once"]
    with pytest.raises(DeprecationWarning), gathered_warnings():
        warnings.warn("old", DeprecationWarning, stacklevel=1)
