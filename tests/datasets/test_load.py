"""The order of the places where load looks, and its messages if nothing is found."""

import gzip
import hashlib
import subprocess
import sys
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from sklearn import datasets as sk

from likewise.datasets import _catalogue, _load, get_catalogue, load
from likewise.exceptions import DatasetNotFoundError, FileFormatError


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)


def never(**_):
    raise AssertionError("nothing should be fetched")


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("iris", sk.load_iris),
        ("wine", sk.load_wine),
        ("digits", sk.load_digits),
        ("wdbc", sk.load_breast_cancer),
        ("breast_cancer", sk.load_breast_cancer),
        ("Breast-Cancer", sk.load_breast_cancer),
    ],
)
def test_scikit_learns_copy_comes_first(name, original, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "not there"))
    data, bunch = load(name, fetch=never), original()
    assert data.origin == "scikit-learn"
    np.testing.assert_array_equal(data.X, bunch.data)
    np.testing.assert_array_equal(data.y, bunch.target)
    assert data.target_names == tuple(map(str, bunch.target_names))
    entry = get_catalogue()[data.name]
    assert data.X.shape == (entry.n_rows, entry.n_columns)
    assert len(data.target_names) == entry.n_classes


# ---------------------------------------------------------------- a temporary folder with a separate
# catalogue


def write(folder, name, text):
    content = gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode()
    (folder / name).write_bytes(content)
    return name, hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Create a small folder: `letter` with 4 rows, its part `letters_ij`, and the bags `letter_carroll`."""
    small = dict(get_catalogue())
    rows = "a,b,label\n1,2.5,I\n3,4,J\n5,6,L\n7,8,I\n"
    small["letter"] = replace(small["letter"], files=(write(tmp_path, "letter.csv.gz", rows),))
    small["letter_carroll"] = replace(
        small["letter_carroll"],
        files=(
            write(tmp_path, "letter_carroll.csv.gz", "bag,label,f0\n1,I,1\n1,J,2\n4,I,3\n"),
            write(tmp_path, "letter_carroll.bags.csv", "bag,labels\n1,I;J\n4,I\n"),
        ),
    )
    frozen = MappingProxyType(small)
    monkeypatch.setattr(_catalogue, "get_catalogue", lambda: frozen)
    monkeypatch.setattr(_load, "get_catalogue", lambda: frozen)
    return tmp_path


def test_the_variable_is_read_when_load_is_called(folder, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match="LIKEWISE_DATA is not set"):
        load("letter", origin="folder")
    monkeypatch.setenv("LIKEWISE_DATA", str(folder))
    data = load("letter", fetch=never)
    assert data.origin == "folder"
    assert data.X.tolist() == [[1, 2.5], [3, 4], [5, 6], [7, 8]]
    assert data.y.tolist() == ["I", "J", "L", "I"]
    assert data.feature_names == ("a", "b")
    assert data.target_names == ("I", "J", "L")
    assert repr(data) == "Dataset('letter': X 4 x 2, 3 classes; from folder)"


def test_bags_from_files(folder):
    data = load("letter_carroll", folder=folder)
    assert data.bags.tolist() == [1, 1, 4]
    assert data.bag_labels == {1: ("I", "J"), 4: ("I",)}
    assert data.X.tolist() == [[1], [2], [3]]


def test_a_part_is_selected_from_its_parent(folder):
    data = load("letters_ij", folder=folder)
    assert data.name == "letters_ij"
    assert data.X.tolist() == [[1, 2.5], [3, 4], [7, 8]]
    assert data.y.tolist() == ["I", "J", "I"]
    assert data.target_names == ("I", "J")


def test_a_changed_file_is_refused(folder):
    wanted = hashlib.sha256((folder / "letter.csv.gz").read_bytes()).hexdigest()
    (folder / "letter.csv.gz").write_bytes(b"other")
    found = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(FileFormatError, match=rf"letter\.csv\.gz.*expected SHA-256 {wanted}; got {found}"):
        load("letter", folder=folder)


def test_a_missing_second_file_is_named(folder):
    (folder / "letter_carroll.bags.csv").unlink()
    with pytest.raises(DatasetNotFoundError, match=r"but not letter_carroll\.bags\.csv"):
        load("letter_carroll", folder=folder)


def test_a_folder_that_is_not_there(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    with pytest.raises(DatasetNotFoundError, match=r"folder is '.*gone', which is not a folder"):
        load("sonar", folder=gone)
    monkeypatch.setenv("LIKEWISE_DATA", str(gone))
    with pytest.raises(DatasetNotFoundError, match=r"LIKEWISE_DATA is set to '.*gone'"):
        load("sonar", fetch=never)


def test_a_folder_without_the_file_goes_no_further(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"has no file sonar\.csv\.gz"):
        load("sonar", folder=tmp_path, fetch=never)
    with pytest.raises(DatasetNotFoundError, match="use origin='scikit-learn'"):
        load("iris", folder=tmp_path)


def test_arguments_that_contradict(tmp_path):
    with pytest.raises(ValueError, match="pass one of the two"):
        load("sonar", folder=tmp_path, origin="openml")
    with pytest.raises(ValueError, match="'openml'; got 'web'"):
        load("sonar", origin="web")
    with pytest.raises(DatasetNotFoundError, match="ships no copy"):
        load("sonar", origin="scikit-learn")


# ---------------------------------------------------------------- OpenML, through a stub


def sends(X, y, names=None):
    calls = []

    def fetch(**keywords):
        calls.append(keywords)
        return SimpleNamespace(
            data=X,
            target=np.array(y, dtype=object),
            feature_names=names or [f"V{c}" for c in range(X.shape[1])],
        )

    fetch.calls = calls
    return fetch


def test_openml_comes_last(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))  # a folder without the file
    rng = np.random.default_rng(0)
    fetch = sends(rng.normal(size=(208, 60)), ["Rock"] * 97 + ["Mine"] * 111)
    data = load("sonar", fetch=fetch)
    assert data.origin == "openml"
    assert data.X.shape == (208, 60)
    assert data.target_names == ("Mine", "Rock")
    assert fetch.calls == [{"data_id": 40, "as_frame": False, "parser": "liac-arff"}]


def test_the_fetcher_is_scikit_learns(monkeypatch):
    fetch = sends(np.zeros((208, 60)), ["Rock"] * 97 + ["Mine"] * 111)
    monkeypatch.setattr(sk, "fetch_openml", fetch)
    assert load("sonar").origin == "openml"
    assert len(fetch.calls) == 1


def test_parts_are_selected_from_openmls_copy():
    X = np.arange(10992 * 16, dtype=float).reshape(-1, 16)
    y = [str(k) for k in np.resize(np.arange(10), 10992)]
    data = load("digits389", origin="openml", fetch=sends(X, y))
    assert data.y[:3].tolist() == [3, 8, 9]
    assert (data.X[:3] == X[[3, 8, 9]]).all()
    assert data.target_names == ("3", "8", "9")


def test_openmls_copies_are_converted_to_the_form_of_the_catalogue():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2310, 19))
    X[:, 2] = 9.0
    segment = load("segment", origin="openml", fetch=sends(X, np.resize(list("abcdefg"), 2310)))
    assert segment.X.shape == (2310, 18)
    assert "V2" not in segment.feature_names
    X = rng.normal(size=(699, 9))
    X[:16, 5] = np.nan
    wisconsin = load("wisconsin", origin="openml", fetch=sends(X, np.resize(["benign", "malignant"], 699)))
    assert wisconsin.X.shape == (683, 9)
    names = ["Speaker_Number", "Sex", *(f"Feature_{c}" for c in range(10))]
    y = [f"h{k}d" for k in np.resize(np.arange(11), 990)]
    vowel = load("vowel", origin="openml", fetch=sends(rng.normal(size=(990, 12)), y, names))
    assert vowel.feature_names[0] == "Feature_0"


@pytest.mark.parametrize(
    "error", [URLError("no route"), ValueError("no such data set"), TimeoutError("late")]
)
def test_a_failed_fetch_says_what_to_do(error):
    def fetch(**_):
        raise error

    with pytest.raises(DatasetNotFoundError) as caught:
        load("letters_ij", fetch=fetch)
    message = str(caught.value)
    for words in (
        "LIKEWISE_DATA is not set",
        "OpenML's data set 6",
        "put letters_ij.csv.gz",
        "openml.org/d/6",
    ):
        assert words in message
    assert caught.value.__cause__ is error


def test_a_wrong_set_from_openml_is_refused():
    with pytest.raises(DatasetNotFoundError, match=r"\(3, 60, 2\), but the catalogue has \(208, 60, 2\)"):
        load("sonar", fetch=sends(np.zeros((3, 60)), ["a", "b", "a"]))


def test_a_data_set_that_is_nowhere_else_says_so():
    with pytest.raises(DatasetNotFoundError, match=r"OpenML number is unknown.*put msrcv2\.csv\.gz, msrcv2"):
        load("msrcv2", fetch=never)


def test_importing_is_light():
    code = (
        "import sys, likewise; before = set(sys.modules); import likewise.datasets as d; d.describe();"
        "new = set(sys.modules) - before; print([m for m in ('sklearn', 'pandas', 'scipy') if m in new])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
