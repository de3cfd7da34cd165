"""``likewise compare-hints``: from labels, classes or shares."""

import json

import pytest

from likewise.evaluation import compare_hints


@pytest.fixture
def labels(tmp_path):
    (tmp_path / "labels.csv").write_text("id,kind\n1,wren\n2,wren\n3,owl\n4,owl\n5,\n")
    return tmp_path


def test_labels_of_the_only_column_that_is_not_of_ids(run, labels):
    result = run("compare-hints", "labels.csv")
    assert result.stdout == f"{compare_hints(['wren', 'wren', 'owl', 'owl'])}\n"
    assert "4 labels of the column 'kind' were counted" in result.stderr
    assert "1 row(s) without a label were left out" in result.stderr


def test_a_column_can_be_named(run, labels):
    document = json.loads(run("compare-hints", "labels.csv", "--column", "id", "--json").stdout)
    assert document["shares"] == [0.2] * 5
    assert any("no label occurs twice" in note for note in document["notes"])


def test_a_single_column_is_taken_whatever_its_name(run, tmp_path):
    (tmp_path / "l.csv").write_text("id\nx\nx\ny\n")
    assert "2 classes" in run("compare-hints", "l.csv").stdout


def test_labels_from_stdin_and_without_a_header(run, tmp_path):
    assert "3 classes" in run("compare-hints", "-", "--no-header", input="a\nb\nc\nc\n").stdout


def test_classes_shares_noise_and_seconds(run, tmp_path):
    words = ["--noise-pair", ".1", "--noise-triplet", ".2", "--seconds-pair", "4", "--seconds-triplet", "7"]
    document = json.loads(run("compare-hints", "--classes", 4, *words, "--json").stdout)
    expected = compare_hints(
        shares=[0.25] * 4, noise_pair=0.1, noise_triplet=0.2, seconds_pair=4, seconds_triplet=7
    )
    assert document["pair_bits"] == expected.pair_bits
    assert document["triplet_bits_per_minute"] == expected.triplet_bits_per_minute
    assert document["triplet_tells_more"] == expected.triplet_tells_more
    assert (
        run("compare-hints", "--shares", ".5, .3,.2").stdout == f"{compare_hints(shares=[0.5, 0.3, 0.2])}\n"
    )


def test_a_picture_is_drawn(run, labels):
    result = run("compare-hints", "labels.csv", "--plot", "bits.png")
    assert "wrote bits.png" in result.stderr
    assert (labels / "bits.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ((), "exactly one of LABELS"),
        (("labels.csv", "--classes", 3), "exactly one of LABELS"),
        (("--classes", 3, "--column", "kind"), "give that file"),
        (("--classes", 0), "--classes"),
        (("--shares", "a,b"), "expected numbers"),
        (("--classes", 3, "--noise-pair", 2), "--noise-pair"),
        (("--classes", 3, "--seconds-pair", 0), "--seconds-pair"),
        (("--classes", 3, "--plot", "bits.txt"), "expected a file name that ends with"),
        (("labels.csv", "--column", "knd"), "it has 'id', 'kind'"),
        (("labels.csv", "--plot", "labels.csv"), "is also a file that is read"),
    ],
)
def test_usage_errors(run, labels, words, output):
    assert output in run("compare-hints", *words, code=2).stderr


def test_several_columns_want_a_name(run, tmp_path):
    (tmp_path / "d.csv").write_text("x,y\n1,a\n2,b\n")
    assert "has several columns ('x', 'y'); choose the column" in run("compare-hints", "d.csv", code=2).stderr


def test_data_errors(run, tmp_path):
    assert "there is no file" in run("compare-hints", "nowhere.csv", code=1).stderr
    assert "add up to 1" in run("compare-hints", "--shares", ".5,.4", code=1).stderr
    (tmp_path / "l.csv").write_text("id,kind\n1,\n2,\n")
    assert "in the column 'kind'; it is empty" in run("compare-hints", "l.csv", code=1).stderr
    (tmp_path / "l.csv").write_text("id,kind\n1,0.5\n2,0.7\n")
    assert "2 classes" in run("compare-hints", "l.csv").stdout
