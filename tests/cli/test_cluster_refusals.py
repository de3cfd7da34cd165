"""``likewise cluster``: error messages, and no output files after an error."""

import json
import sys

import pytest

from likewise.cli import cluster as cluster_module
from likewise.supervision import Supervision, write_hints

BASE = ("cluster", "data.csv", "-k", 2, "--id", "name")


def test_k_is_required_and_positive(run, files):
    assert "-k" in run("cluster", "data.csv", code=2).stderr
    run("cluster", "data.csv", "-k", 0, code=2)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--method", "k-means", "--hints", "hints.csv"), "uses no hints"),
        (("--method", "gm-pr", "--metric", "full"), "--metric is for methods of the k-means family and of"),
        (
            ("--method", "pck-means", "--metric", "full"),
            "--metric of pck-means must be one of 'euclidean', 'cosine'",
        ),
        (("--metric", "cosine"), "--metric of mpck-means must be 'full' or 'diagonal'"),
        (("--method", "k-means", "--per-cluster"), "--per-cluster is for methods that learn a metric"),
        (
            ("--covariance", "diag"),
            "--covariance is for mixtures of Gaussians (gm-pr, mini-batch-gm-pr, gmm-ec",
        ),
        (("--tau", "1"), "--tau is for the discriminative method"),
        (("--json", "--out", "-"), "both write to stdout"),
        (("--out", "labels.xlsx"), "expected a file name that ends with"),
        (("--plot", "p.txt"), "expected a file name that ends with"),
        (("--out", "data.csv"), "is also a file that is read"),
        (("--hints", "hints.csv", "--out", "hints.csv"), "is also a file that is read"),
        (("--features", ","), "expected at least one column name"),
        (("--features", "x,q"), "no column 'q'"),
        (("--encoding", "klingon"), "there is no encoding"),
        (("--method", "magic"), "magic"),
        (("--method", "mpckmean"), "Did you mean 'mpck-means'?"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_usage_errors(run, files, words, output):
    before = sorted(files.iterdir())
    assert output in run(*BASE, *words, code=2).stderr
    assert sorted(files.iterdir()) == before


def test_labels_and_picture_need_two_files(run, files):
    (files / "p.svg").write_text("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.cli._output.PICTURES", (".csv",))
        assert "the file of --out" in run(*BASE, "--out", "l.csv", "--plot", "l.csv", code=2).stderr


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (None, "there is no file 'hints.csv'."),
        ("", "hints.csv is empty"),
        ("a,b,link\na1,A2,must\n", "did you mean 'a2'?"),
        ("a,b,link\na1,a2,perhaps\n", "hints.csv:2: the link is 'perhaps'"),
        ("id,label\na1,A\nb1,B\n", "use them: constrained-k-means, seeded-k-means, bag-spectral."),
        ("a,b,c,answer\na1,a2,b1,AB\n", "--as-links"),
    ],
)
def test_bad_hints_stop_everything(run, files, content, output):
    (files / "hints.csv").unlink()
    if content is not None:
        (files / "hints.csv").write_text(content)
    before = sorted(files.iterdir())
    result = run(*BASE, "--hints", "hints.csv", "--out", "l.csv", "--plot", "p.png", code=1)
    assert output in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(files.iterdir()) == before


def test_as_links_lets_other_kinds_through(run, files):
    (files / "hints.csv").write_text("a,b,c,answer\na1,a2,b1,AB\n")
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--as-links", "--json").stdout)
    assert document["hints"]["must"] == 1
    assert document["hints"]["cannot"] == 2


def test_hints_that_name_other_ids_say_what_the_ids_are(run, files):
    words = ["cluster", "data.csv", "-k", 2, "--drop", "name", "--hints", "hints.csv"]
    output = run(*words, code=1).stderr
    assert "no row has the id 'a1'" in output
    assert "pass it as --id" in output
    (files / "hints.csv").write_text("a,b,link\na1,zzz,must\n")
    assert "in the column 'name' of data.csv" in run(*BASE, "--hints", "hints.csv", code=1).stderr


def test_a_hints_file_of_no_known_format(run, files):
    (files / "hints.txt").write_text("a,b,link\n")
    output = run(*BASE, "--hints", "hints.txt", code=1).stderr
    assert "does not determine the format" in output
    assert "format=" not in output


def test_contradictions_stop_a_hard_method_by_id(run, files):
    (files / "hints.csv").write_text("a,b,link\na1,a2,must\na2,a3,must\na3,a1,cannot\n")
    output = run(*BASE, "--hints", "hints.csv", "--method", "cop-k-means", code=1).stderr
    assert "a1 ≠ a3, yet a1 = a2 = a3" in output
    assert "--method pck-means" in output


def test_impossible_hints_are_reported_by_id(run, files):
    links = "a1,a2,cannot\na2,a3,cannot\na1,a3,cannot\n"
    (files / "hints.csv").write_text("a,b,link\n" + links)
    output = run(*BASE, "--hints", "hints.csv", "--method", "cop-k-means", code=1).stderr
    assert "row 0 is 'a1'" in output


def test_more_clusters_than_rows(run, files):
    words = ["cluster", "data.csv", "-k", 7, "--id", "name"]
    assert "7 clusters need at least as many rows; got 6" in run(*words, code=1).stderr


@pytest.mark.parametrize("out", ["nowhere/l.csv", "."])
def test_places_that_cannot_be_written_are_noticed_before_the_work(run, files, out, monkeypatch):
    monkeypatch.setattr(cluster_module, "make_estimator", lambda *a: pytest.fail("the work began"))
    if out == ".":
        (files / "l.csv").mkdir()
        out = "l.csv"
    assert run(*BASE, "--out", out, code=1).stderr.startswith(
        "Error: 'nowhere" if "/" in out else "Error: 'l"
    )


def test_dev_null_takes_labels(run, files):
    assert run(*BASE, "--out", "/dev/null").stdout == ""


def test_a_failure_while_drawing_leaves_no_labels(run, files, monkeypatch):
    (files / "l.csv").write_text("old")
    monkeypatch.setattr("likewise.plotting.ClusterDisplay.save", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(*BASE, "--out", "l.csv", "--plot", "p.png")
    assert (files / "l.csv").read_text() == "old"
    assert sorted(path.name for path in files.iterdir()) == ["data.csv", "hints.csv", "l.csv"]


def test_a_plot_without_matplotlib_says_what_to_install(run, files, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "likewise[plot]" in run(*BASE, "--plot", "p.png", code=1).stderr


def test_shuffled_data_is_a_note(run, files):
    hints = Supervision.from_links(6, must=[(0, 1)])
    write_hints(files / "hints.csv", hints, ["a2", "a1", "a3", "b1", "b2", "b3"])
    assert "note: hints.csv was written for the same 6 ids" in run(*BASE, "--hints", "hints.csv").stderr
