"""What ``likewise cluster`` says of the contents of clusters."""

import json

import numpy as np
import pytest
from sklearn.cluster import KMeans

from likewise.cli._report import format_contents, list_contents
from likewise.supervision import RowIds
from likewise.tables import DataTable


class Labelled:
    """A model that says nothing but labels."""

    labels_ = None


class Sure(Labelled):
    """A model with probabilities."""

    def __init__(self, shares):
        self.shares = np.array(shares)

    def predict_proba(self, X):
        return self.shares


def contents_of(X, labels, model=None):
    X = np.array(X, dtype=float)
    names = tuple("xyzuvw"[: X.shape[1]])
    table = DataTable(RowIds.from_ids([f"r{i}" for i in range(len(X))]), X, names)
    model = model or Labelled()
    model.labels_ = np.array(labels)
    return list_contents(model, X, table)


def lines_of(X, labels):
    X = np.array(X, dtype=float)
    table = DataTable(RowIds.from_row_numbers(len(X)), X, tuple("xyzuvw"[: X.shape[1]]))
    return format_contents(contents_of(X, labels), table)


def test_columns_typical_and_doubtful_rows_by_hand():
    # In x two groups about 0 and 10; r4 leans to the other group; y is constant.
    X = [[0, 1], [0, 1], [0, 1], [0, 1], [3, 1], [10, 1], [10, 1], [10, 1], [10, 1]]
    labels = [0, 0, 0, 0, 0, 1, 1, 1, 1]
    first, second = contents_of(X, labels)
    (column,) = first["columns"]
    assert (column["name"], column["mean"]) == ("x", pytest.approx(0.6))
    assert column["mean_elsewhere"] == pytest.approx(10)
    assert column["difference"] == pytest.approx((0.6 - 10) / np.std([row[0] for row in X]))
    assert (first["size"], second["size"]) == (5, 4)
    assert first["doubtful"][0] == {"id": "r4", "next_best_cluster": 1}
    assert "r4" not in first["typical"]
    assert len(first["typical"]) == len(second["typical"]) == 3


def test_probabilities_say_what_is_in_doubt():
    shares = [[0.9, 0.1, 0], [0.99, 0.01, 0], [0.6, 0, 0.4], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    X = [[0.0], [0.1], [0.2], [0.0], [-0.1], [9.0], [-9.0]]
    first = contents_of(X, [0, 0, 0, 0, 0, 1, 2], Sure(shares))[0]
    assert first["typical"] == ["r0", "r3", "r1"]
    assert [tuple(row.values()) for row in first["doubtful"]] == [("r2", 2), ("r4", 1)]


def test_a_cluster_without_rows_is_left_out_and_one_cluster_has_no_others():
    assert [one["cluster"] for one in contents_of([[0], [1], [9]], [0, 0, 2])] == [0, 2]
    assert lines_of([[0], [1]], [0, 0]) == []


def test_a_cluster_that_differs_in_nothing_says_so():
    lines = lines_of([[1, 1], [1, 1], [1, 1]], [0, 0, 1])
    assert lines[0] == "contents      0  no column differs much"


def test_many_clusters_are_folded_to_the_largest():
    labels = np.repeat(np.arange(12), [3] * 2 + [4] * 8 + [3] * 2)
    lines = lines_of(labels[:, None] * 5.0, labels)
    assert len(lines) == 2 * 8 + 1
    assert lines[-1].strip() == "and 4 smaller clusters; --json lists all"
    assert [int(line[12:15]) for line in lines[:-1:2]] == list(range(2, 10))
    assert len(contents_of(labels[:, None] * 5.0, labels)) == 12


def test_the_order_of_rows_changes_nothing():
    X = np.random.RandomState(0).normal(size=(40, 3))
    labels = (X[:, 0] > 0).astype(int)
    order = np.random.RandomState(1).permutation(40)
    one, other = contents_of(X, labels)[0], contents_of(X[order], labels[order])[0]
    assert [column["name"] for column in one["columns"]] == [column["name"] for column in other["columns"]]
    assert one["typical"] == [f"r{order[int(id[1:])]}" for id in other["typical"]]
    assert {row["id"] for row in one["doubtful"]} == {
        f"r{order[int(row['id'][1:])]}" for row in other["doubtful"]
    }


def test_centres_of_a_model_and_means_agree_on_plain_k_means():
    X = np.random.RandomState(0).normal(size=(60, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    labels = model.labels_.astype(int)
    for one, other in zip(contents_of(X, labels, model), contents_of(X, labels), strict=True):
        assert {row["id"] for row in one["doubtful"]} == {row["id"] for row in other["doubtful"]}


def test_the_summary_and_json_have_them(run, files):
    result = run("cluster", "data.csv", "-k", "2", "--id", "name", "--hints", "hints.csv", "--out", "l.csv")
    lines = result.stderr.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("contents"))
    described = "\n".join(lines[at : at + 4])
    assert "x 0.33 (others 8.33)" in described
    assert "x 8.33 (others 0.33)" in described
    document = json.loads(run("cluster", "data.csv", "-k", "2", "--id", "name", "--json", "-q").stdout)
    birds = [one["typical"] + [row["id"] for row in one["doubtful"]] for one in document["contents"]]
    assert sorted(sorted(part) for part in birds) == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]
    assert {column["name"] for one in document["contents"] for column in one["columns"]} == {"x", "y"}
