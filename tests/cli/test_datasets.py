"""``likewise datasets``: the catalogue, and data sets as tables."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from likewise.cli.datasets import make_bag_columns, make_dataset_columns
from likewise.datasets import Dataset, describe
from likewise.exceptions import LikewiseError
from likewise.supervision import read_bags


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)


def test_the_catalogue_is_printed(run):
    assert run("datasets").stdout == describe() + "\n"
    assert run("datasets", "iris").stdout == describe("iris") + "\n"


def test_json(run):
    entries = json.loads(run("datasets", "--json").stdout)["datasets"]
    assert "iris" in {entry["name"] for entry in entries}
    (entry,) = json.loads(run("datasets", "iris", "--json").stdout)["datasets"]
    assert entry["n_rows"] == 150


def test_a_data_set_is_written_and_can_be_clustered(run, tmp_path):
    result = run("datasets", "iris", "--out", "iris.csv")
    assert "wrote iris.csv" in result.stderr
    rows = list(csv.reader((tmp_path / "iris.csv").read_text().splitlines()))
    assert len(rows) == 151
    assert rows[0][0] == "id"
    assert rows[0][-1] == "label"
    assert rows[1][-1] == "setosa"
    words = ["cluster", "iris.csv", "-k", 3, "--id", "id", "--truth", "label", "--json"]
    document = json.loads(run(*words, "--method", "k-means").stdout)
    assert len(document["features"]) == 4
    assert document["scores"]["all"]["ari"] > 0.7
    run("datasets", "iris", "--out", "iris.parquet")
    assert pq.read_table(tmp_path / "iris.parquet").num_rows == 150
    assert run("datasets", "iris", "--out", "-").stdout == (tmp_path / "iris.csv").read_text()


def test_usage_and_unknown_names(run, tmp_path):
    assert "NAME" in run("datasets", "--out", "x.csv", code=2).stderr
    assert "not both" in run("datasets", "iris", "--out", "x.csv", "--json", code=2).stderr
    assert "expected a file name that ends with" in run("datasets", "iris", "--out", "x.xls", code=2).stderr
    assert "Did you mean 'iris'" in run("datasets", "irish", code=1).stderr
    result = run("datasets", "ionosphere", "--folder", tmp_path, "--out", "x.csv", code=1)
    assert "LIKEWISE_DATA" in result.stderr
    assert list(tmp_path.iterdir()) == []


def dataset(**fields):
    return Dataset(name="d", origin="folder", citation="", licence="", **fields)


def test_columns_of_other_kinds():
    bags = dataset(X=np.array([[1.0], [np.nan]]), y=np.array([5, 3]), bags=np.array([7, 7]))
    assert make_dataset_columns(bags) == {
        "id": ["0", "1"],
        "bag": [7, 7],
        "f0": [1.0, None],
        "label": ["5", "3"],
    }
    texts = dataset(texts=("a", "b"), y=np.array(["u", "v"]), ids=np.array(["p", "q"]))
    assert make_dataset_columns(texts) == {"id": ["p", "q"], "text": ["a", "b"], "label": ["u", "v"]}
    clash = dataset(X=np.zeros((1, 2)), y=np.array([0]), feature_names=("id", "label"))
    assert list(make_dataset_columns(clash)) == ["id", "id_", "label_", "label"]
    sparse = SimpleNamespace(toarray=lambda: np.ones((1, 1)))
    assert make_dataset_columns(dataset(X=sparse, y=np.array([0])))["f0"] == [1.0]
    with pytest.raises(LikewiseError, match="several labels"):
        make_dataset_columns(dataset(X=np.zeros((1, 1)), Y=np.zeros((1, 2))))


def test_what_bags_hold_is_reported_in_the_words_of_the_classes():
    birds = dataset(
        X=np.zeros((3, 1)),
        y=np.array([1, 2, 2]),
        target_names=("wren", "owl"),
        bags=np.array([7, 7, 8]),
        bag_labels={7: (1, 2), 8: (2,)},
    )
    assert make_bag_columns(birds) == {"bag": [7, 8], "labels": ["wren;owl", "owl"]}
    with pytest.raises(LikewiseError, match="d has no bags"):
        make_bag_columns(dataset(X=np.zeros((1, 1)), y=np.array([0])))


def test_bags_are_written_beside_the_rows(run, tmp_path, monkeypatch):
    birds = dataset(
        X=np.zeros((3, 1)),
        y=np.array(["w", "o", "o"]),
        bags=np.array([7, 7, 8]),
        bag_labels={7: ("o", "w"), 8: "o"},
    )
    monkeypatch.setattr("likewise.datasets.load", lambda name, folder: birds)
    output = run("datasets", "letter_carroll", "--out", "rows.csv").stderr
    assert "note: its rows are in bags; --bags FILE writes their labels." in output
    output = run("datasets", "letter_carroll", "--out", "rows.csv", "--bags", "bags.csv").stderr
    assert "wrote rows.csv and bags.csv" in output
    assert (tmp_path / "bags.csv").read_text() == "bag,labels\n7,o;w\n8,o\n"
    read = read_bags(tmp_path / "rows.csv", tmp_path / "bags.csv")
    assert read.supervision.bags.codes.tolist() == [0, 0, 1]
    assert "--bags needs --out" in run("datasets", "letter_carroll", "--bags", "b.csv", code=2).stderr
    words = ["datasets", "letter_carroll", "--out", "x.csv", "--bags", "x.csv"]
    assert "the file of --out" in run(*words, code=2).stderr
    words[-1] = "x.jsonl"
    assert "expected a file name that ends with" in run(*words, code=2).stderr
