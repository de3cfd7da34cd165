"""Compiled kernels are cached if possible, and otherwise compiled in each process."""

import ast
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from likewise.kernels import _njit
from sources import SOURCE, list_files, list_nodes

pytestmark = pytest.mark.long  # other processes import and compile

COMPILE = """
import json, sys, tempfile, warnings
tempfile.tempdir = sys.argv[1]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import likewise
    import numpy as np
    from likewise.kernels import projection
    odds = projection._log_odds(np.log([0.5, 0.25, 0.25]), 0)
print(json.dumps({
    "file": likewise.__file__,
    "odds": round(odds, 12) + 0.0,
    "cache": projection._log_odds.stats.cache_path,
    "warnings": [str(w.message) for w in caught if w.category is RuntimeWarning],
}))
"""


@pytest.fixture(scope="module")
def read_only_copy(tmp_path_factory):
    """Copy the package to a folder that is not writable."""
    root = tmp_path_factory.mktemp("read_only")
    shutil.copytree(SOURCE, root / "site" / "likewise", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [root / "site", *(path for path in (root / "site").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield root
    for folder in folders:
        folder.chmod(0o755)  # so that it can be removed


def run_read_only(root, temporary):
    """Compile a kernel in a process that has no writable home and cannot write to the copy."""
    command = [sys.executable]
    if os.getuid() == 0:  # permissions do not bind root, unless it gives up the capability
        if shutil.which("setpriv") is None:
            pytest.skip("root can write everywhere, and setpriv is not there to change that")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    env |= {"PYTHONPATH": str(root / "site"), "HOME": str(root / "site")}
    run = {"capture_output": True, "text": True, "env": env, "cwd": root}
    write = f"open({str(root / 'site' / 'likewise' / 'written')!r}, 'w')"
    if "PermissionError" not in subprocess.run([*command, "-c", write], **run).stderr:
        pytest.skip("the copy of the package cannot be made read-only on this system")
    done = subprocess.run([*command, "-c", COMPILE, str(temporary)], **run)
    if "messagestream" in done.stderr:
        pytest.skip("this SciPy cannot be imported without a temporary folder")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["file"]) == root / "site" / "likewise" / "__init__.py"
    assert found["odds"] == 0
    return found


posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")


@posix
def test_read_only_installation_without_a_home_caches_in_a_temporary_folder(read_only_copy, tmp_path):
    found = run_read_only(read_only_copy, tmp_path)
    cache = Path(found["cache"])
    assert cache.parents[1] == tmp_path
    assert list(cache.glob("projection._log_odds*.nbc"))
    assert found["warnings"] == []


@posix
def test_without_any_writable_folder_kernels_are_compiled_with_one_warning(read_only_copy):
    found = run_read_only(read_only_copy, read_only_copy / "site")
    assert found["cache"] is None
    assert len(found["warnings"]) == 1
    assert "NUMBA_CACHE_DIR" in found["warnings"][0]


# ---------------------------------------------------------------------- damaged files


def add(a, b):
    return a + b


def compile_into(folder, monkeypatch):
    monkeypatch.setattr(_njit.config, "CACHE_DIR", str(folder))
    return _njit.njit(cache=True)(add)


@pytest.fixture
def filled(tmp_path, monkeypatch):
    assert compile_into(tmp_path, monkeypatch)(1, 2) == 3
    again = compile_into(tmp_path, monkeypatch)
    assert again(1, 2) == 3
    assert sum(again.stats.cache_hits.values()) == 1
    return tmp_path


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "rubbish"])
def test_damaged_cache_files_are_replaced(filled, monkeypatch, kind, damage):
    (path,) = filled.rglob(f"*.{kind}")
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "truncated": whole[: len(whole) // 2], "rubbish": b"rubbish"}[damage])
    kernel = compile_into(filled, monkeypatch)
    assert kernel(1, 2) == 3
    assert sum(kernel.stats.cache_misses.values()) == 1
    mended = compile_into(filled, monkeypatch)
    assert mended(1, 2) == 3
    assert sum(mended.stats.cache_hits.values()) == 1


def test_a_cache_that_cannot_be_written_to_costs_one_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(_njit, "_has_warned", False)

    def fail(self, *args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", fail)
    kernel = compile_into(tmp_path, monkeypatch)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert kernel(1, 2) == 3
    assert kernel(1.0, 2.0) == 3.0  # in these tests a second warning is an error


# ---------------------------------------------------------------------- the temporary folder


def use_temporary_folder(monkeypatch, folder):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return _njit._make_private_folder()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="temporary folders are private on Windows")
def test_temporary_cache_is_not_shared_with_other_users(tmp_path, monkeypatch):
    folder = use_temporary_folder(monkeypatch, tmp_path)
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert use_temporary_folder(monkeypatch, tmp_path) == folder
    os.chmod(folder, 0o777)
    assert use_temporary_folder(monkeypatch, tmp_path) == ""
    os.rmdir(folder)
    os.symlink(tmp_path, folder)
    assert use_temporary_folder(monkeypatch, tmp_path) == ""
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    os.mkdir(tmp_path / "likewise-12345", mode=0o700)
    assert use_temporary_folder(monkeypatch, tmp_path) == ""


def test_all_kernels_use_the_tolerant_cache():
    for path in list_files():
        if path.name == "_njit.py" or "numba" not in path.read_text(encoding="utf-8"):
            continue
        for node in list_nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.split(".")[0] == "numba" for name in names), (
                f"{path} imports numba; use likewise.kernels._njit"
            )
