"""The catalogue against the table in the data folder, and each set against the catalogue."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from likewise import datasets
from likewise.datasets import describe, get_catalogue, load
from likewise.exceptions import DatasetNotFoundError

FOLDER = Path(os.environ.get("LIKEWISE_DATA") or "no folder given")
with_folder = pytest.mark.skipif(not FOLDER.is_dir(), reason="LIKEWISE_DATA is not a folder of data files")


def read_stated_rows():
    """Return the rows of the table in the folder's README: name, shape, classes, start of the SHA-256."""
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 7 and cells[0] != "name" and set(line) - set("|-"):
            yield cells[0], cells[1], int(cells[2].split()[0]), re.findall(r"[0-9a-f]{12}", cells[6])


@with_folder
def test_the_catalogue_has_what_the_readme_states():
    table = {name: rest for name, *rest in read_stated_rows()}
    assert set(table) == set(get_catalogue())
    for name, (shape, n_classes, digests) in table.items():
        entry = get_catalogue()[name]
        numbers = [int(n) for n in re.findall(r"\d+", shape)]
        assert entry.n_rows == numbers[0], name
        assert entry.n_columns == (numbers[1] if " x " in shape else 0), name
        assert entry.n_bags == (numbers[2] if "bags" in shape else None), name
        assert entry.n_classes == n_classes, name
        assert sorted(digest[:12] for _, digest in entry.files) == sorted(digests), name


@with_folder
def test_every_data_file_is_in_the_catalogue():
    known = {file for entry in get_catalogue().values() for file, _ in entry.files}
    assert known == {path.name for path in FOLDER.iterdir() if path.name != "README.md"}


@with_folder
@pytest.mark.parametrize("name", get_catalogue())
def test_each_set_loads_as_stated(name):
    entry, data = get_catalogue()[name], load(name, folder=FOLDER)
    assert (data.name, data.origin) == (name, "folder")
    assert (data.citation, data.licence) == (entry.citation, entry.licence)
    if entry.n_columns:
        assert data.X.shape == (entry.n_rows, entry.n_columns)
        assert data.X.dtype == np.float64
        assert data.feature_names is None or len(data.feature_names) == entry.n_columns
    else:
        assert data.X is None
    if entry.kind == "multilabel":
        assert data.Y.shape == (entry.n_rows, entry.n_classes)
        assert len(data.label_names) == entry.n_classes
        assert data.y is None
    else:
        assert data.y.shape == (entry.n_rows,)
        assert len(np.unique(data.y)) == len(data.target_names) == entry.n_classes
    assert data.split is None or data.split.shape == (entry.n_rows,)
    assert f"from {data.origin}" in repr(data)


@with_folder
@pytest.mark.parametrize("name", [n for n, e in get_catalogue().items() if e.kind == "bags"])
def test_bags_have_the_labels_of_their_rows(name):
    data = load(name, folder=FOLDER)
    assert len(data.bag_labels) == get_catalogue()[name].n_bags
    labels_of_bags = {
        bag: tuple(np.unique(data.y[data.bags == bag]).tolist()) for bag in np.unique(data.bags).tolist()
    }
    assert labels_of_bags == data.bag_labels


@with_folder
@pytest.mark.parametrize("name", ["20news_w1000", "church_fun", "cellcycle_fun", "diatoms"])
def test_labels_are_closed_upwards(name):
    data = load(name, folder=FOLDER)
    column = {label: c for c, label in enumerate(data.label_names)}
    assert {child for _, child in data.hierarchy} == set(column)
    for parent, child in data.hierarchy:
        if parent != "root":
            assert (data.Y[:, column[child]] <= data.Y[:, column[parent]]).all()


@with_folder
def test_details_that_are_easy_to_get_wrong():
    news = load("20news_w1000", folder=FOLDER)
    assert sparse.issparse(news.X)
    assert news.X.format == "csr"
    assert news.X.has_sorted_indices
    own = np.array([news.label_names.index(news.target_names[k]) for k in news.y])
    assert news.Y[np.arange(len(own)), own].all()
    birds = load("hja_birdsong", folder=FOLDER)
    assert birds.X_unlabelled.shape == (5234, 38)
    assert birds.bags_unlabelled.shape == (5234,)
    assert birds.target_names[1] == "WIWR"
    voc = load("voc2007_labels", folder=FOLDER)
    assert set(np.unique(voc.Y).tolist()) == {-1, 0, 1}
    assert voc.ids[0] == "000005"  # a name, not the number 5
    assert "train" in voc.label_names
    banking = load("banking77", folder=FOLDER)
    assert banking.texts[0] == "I am still waiting on my card?"
    assert dict(zip(*np.unique(banking.split, return_counts=True), strict=True)) == {
        "train": 10003,
        "test": 3080,
    }
    assert np.isnan(load("church_fun", folder=FOLDER).X).any()
    views = load("mfeat", folder=FOLDER).views
    assert dict(zip(*np.unique(views, return_counts=True), strict=True))["fac"] == 216
    letters, carroll = load("letter", folder=FOLDER), load("letter_carroll", folder=FOLDER)
    rows = {(*row, letter) for row, letter in zip(letters.X.tolist(), letters.y.tolist(), strict=True)}
    assert all((*row, k) in rows for row, k in zip(carroll.X.tolist(), carroll.y.tolist(), strict=True))


@with_folder
@pytest.mark.parametrize("name", ["iris", "wine", "digits", "wdbc"])
def test_scikit_learn_and_the_folder_agree(name):
    shipped, filed = load(name), load(name, folder=FOLDER)
    np.testing.assert_allclose(shipped.X, filed.X, rtol=1e-7)
    named = np.array(shipped.target_names)[shipped.y]
    if filed.y.dtype.kind == "U":
        assert (named == filed.y).all()
    else:
        assert (np.unique(filed.y, return_inverse=True)[1] == shipped.y).all()


@with_folder
@pytest.mark.parametrize("name", [n for n, e in get_catalogue().items() if e.parent])
def test_parts_are_their_parents_rows(name, tmp_path):
    file = get_catalogue()[get_catalogue()[name].parent].files[0][0]
    shutil.copy(FOLDER / file, tmp_path / file)
    cut, filed = load(name, folder=tmp_path), load(name, folder=FOLDER)
    np.testing.assert_array_equal(cut.X, filed.X)
    np.testing.assert_array_equal(cut.y, filed.y)
    assert cut.target_names == filed.target_names


def test_entries_are_whole():
    for name, entry in get_catalogue().items():
        assert entry.name == name == name.lower()
        assert entry.source
        assert entry.citation.endswith(".")
        assert entry.licence
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for _, digest in entry.files)
        assert entry.parent is None or (entry.parent in get_catalogue() and entry.keep)
        assert (entry.kind == "bags") == (entry.n_bags is not None)
    with pytest.raises(TypeError):
        get_catalogue()["mine"] = get_catalogue()["iris"]


def test_describe():
    lines = describe().splitlines()
    assert len(lines) == 1 + len(get_catalogue())
    assert lines[0].split() == ["name", "rows", "columns", "classes", "kind", "found", "in", "licence"]
    one = describe("Letters-IJL")
    assert "part of letter: classes I, J, L" in one
    assert "2263 rows, 16 columns, 3 classes" in one
    assert "note: Zeros" in describe("pima")
    assert "548 bags" in describe("hja_birdsong")
    assert "13083 texts, 77 classes" in describe("banking77")


def test_unknown_names_bring_close_ones():
    with pytest.raises(DatasetNotFoundError, match=r"'letters_ij'.*describe\(\)"):
        load("leters_ij")
    with pytest.raises(DatasetNotFoundError) as caught:
        load("zzzzzz")
    assert "Did you mean" not in str(caught.value)


def test_public_names_are_sorted_and_there():
    assert datasets.__all__ == sorted(datasets.__all__)
    assert all(hasattr(datasets, name) for name in datasets.__all__)
