"""``likewise cluster``: labels, summary, JSON, picture, and errors."""

import csv
import io
import json

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise.discriminative
import likewise.kmeans
import likewise.mixture
import likewise.spectral
from likewise.cli._methods import METHODS, MethodOptions
from likewise.cli._report import compute_scores, find_strayed_rows
from likewise.cli.cluster import command
from likewise.exceptions import InconsistentSupervisionError, InconsistentSupervisionWarning
from likewise.kmeans import MPCKMeans
from likewise.supervision import Supervision

BASE = ("cluster", "data.csv", "-k", 2, "--id", "name")


def labels_of(text):
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["id", "cluster"]
    return dict(rows[1:])


def group_ids(labels):
    """Return the groups of ids, without regard to how clusters are numbered."""
    groups = {}
    for name, label in labels.items():
        groups.setdefault(label, set()).add(name)
    return {frozenset(group) for group in groups.values()}


TWO = {frozenset({"a1", "a2", "a3"}), frozenset({"b1", "b2", "b3"})}


# ---------------------------------------------------------------------- results


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_two_groups(run, files, method):
    words = [*BASE, "--method", method]
    if method in ("seeded-k-means", "constrained-k-means"):
        (files / "hints.csv").write_text("id,label\na1,A\nb1,B\n")
    if method == "spectral-reg":
        (files / "hints.csv").write_text("a,b,link\na1,a2,must\nb1,b2,must\n")
    if method == "kernel-k-means":  # two links weigh as much as half of six rows
        (files / "hints.csv").write_text("a,b,link\na1,a2,must\na2,a3,must\na1,b1,cannot\n")
    if method == "sss-vad":
        (files / "hints.csv").write_text("a,b,c,answer\na1,a2,b1,AB\nb2,b3,a3,AB\n")
    if method != "k-means":
        words += ["--hints", "hints.csv"]
    assert group_ids(labels_of(run(*words).stdout)) == TWO


OPTIONS = {
    "--metric": "metric",
    "--per-cluster": "per_cluster",
    "--covariance": "covariance_type",
    "--tau": "tau",
    "--max-iter": "max_iter",
    "--affinity": "affinity",
    "--neighbors": "n_neighbors",
    "--alpha": "alpha",
    "--variant": "variant",
    "--drop-cannot": "cannot",
}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_reported_of_the_methods_is_so(method):
    model = METHODS[method].estimator()
    parameters = set(model.get_params())
    parameters -= {"alpha"} if method.endswith("discriminative") else set()  # a penalty, not offered
    assert {"n_clusters", "n_init", "random_state"} <= parameters
    for option, name in OPTIONS.items():
        default = model.get_params().get(name)
        value = 1 if default is None else default  # a value that the estimator accepts
        given = MethodOptions(**{**dict.fromkeys(OPTIONS.values()), "n_init": None, name: value})
        if name in parameters:
            assert given.make_parameters(method) == {name: value}
        else:
            with pytest.raises(click.UsageError, match=f"{option} is for .* not for {method}"):
                given.make_parameters(method)
    assert METHODS[method].uses == getattr(model, "supported_hints", frozenset())


@pytest.mark.parametrize("method", METHODS)
def test_the_values_that_options_accept_are_those_of_the_estimator(method):
    rules = getattr(METHODS[method].estimator, "parameter_rules", {})
    for param in (param for param in command.params if param.name in rules):
        kind = param.type
        if param.name != "alpha" or method == "bag-spectral":
            flag = param.flag_value if isinstance(param.flag_value, str) else True
            values = getattr(kind, "choices", None) or [getattr(kind, "min", flag)]
            holds = [rules[param.name].holds(value) for value in values]
            assert sum(holds) == 2 if param.name == "metric" else all(holds), param.name


# spectral-reg takes no cannot-links, so that nothing can contradict its must-links.
FOR_LINKS = [name for name in METHODS if "links" in METHODS[name].uses and name != "spectral-reg"]


@pytest.mark.parametrize("method", FOR_LINKS)
def test_the_methods_called_hard_are_those_that_refuse_contradictions(method):
    model = METHODS[method].estimator(2, n_init=1, random_state=0)
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0], [8.0, 9.0]])
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    expected = InconsistentSupervisionError if METHODS[method].hard else InconsistentSupervisionWarning
    with pytest.raises(expected):  # warnings are errors here
        model.fit(X, supervision=hints)


def test_every_clusterer_of_the_families_is_offered():
    offered = {method.home for method in METHODS.values()}
    for room in (likewise.kmeans, likewise.mixture, likewise.spectral, likewise.discriminative):
        for name in room.__all__:
            is_clusterer = hasattr(getattr(room, name), "fit") and not name.endswith("Family")
            assert not is_clusterer or f"{room.__name__}:{name}" in offered


def test_the_covariance_of_a_mixture_can_be_chosen(run, files):
    words = [*BASE, "--method", "gm-pr", "--hints", "hints.csv", "--covariance", "spherical", "--json"]
    document = json.loads(run(*words).stdout)
    assert document["covariance_type"] == "spherical"
    assert group_ids({row["id"]: row["cluster"] for row in document["labels"]}) == TWO


def test_triplets_are_used_and_counted(run, files):
    (files / "hints.csv").write_text("a,b,c,answer\na1,a2,b1,AB\nb1,b2,a1,AB\na1,b1,b2,AB\n")
    words = [*BASE, "--method", "discriminative", "--hints", "hints.csv"]
    output = run(*words).stderr
    assert "triplets    2 of 3 triplets kept (66.7%)" in output
    assert "violated: a1, b1, b2   (AB)" in output
    kept = json.loads(run(*words, "--json").stdout)["kept"]
    assert kept["triplets"] == [2, 3]
    assert kept["broken_triplets"] == [{"items": ["a1", "b1", "b2"], "answer": "AB"}]


def test_labels_are_those_of_the_estimator(run, files):
    X = np.loadtxt(files / "data.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(0, 3)])
    model = MPCKMeans(2, metric="diagonal", n_init=3, random_state=5).fit(X, supervision=hints)
    words = [*BASE, "--hints", "hints.csv", "--metric", "diagonal", "--n-init", 3, "--seed", 5]
    found = labels_of(run(*words).stdout)
    assert list(found.values()) == list(map(str, model.labels_))


def test_the_same_command_gives_the_same_labels(run, files):
    assert run(*BASE).stdout == run(*BASE).stdout


def test_standardized_features_count_alike(run, files):
    rows = "".join(f"{5 * (i % 2)},{1000 * (i // 4) + i}\n" for i in range(8))
    (files / "wide.csv").write_text("x,y\n" + rows)
    words = ["cluster", "wide.csv", "-k", 2, "--method", "k-means", "--quiet"]
    plain = group_ids(labels_of(run(*words).stdout))
    assert plain == {frozenset("0123"), frozenset("4567")}
    (files / "wide.csv").write_text("x,y\n" + "".join(f"{5 * (i % 2)},{i % 4 * 10}\n" for i in range(8)))
    scaled = group_ids(labels_of(run(*words, "--standardize").stdout))
    assert scaled == {frozenset("0246"), frozenset("1357")}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_labels_are_written_as_the_ending_says(run, files, ending):
    out = files / f"labels.{ending}"
    result = run(*BASE, "--out", out.name)
    assert result.stdout == ""
    assert f"wrote {out.name}" in result.stderr
    if ending == "csv":
        found = labels_of(out.read_text())
    elif ending == "parquet":
        columns = pq.read_table(out).to_pydict()
        found = dict(zip(columns["id"], columns["cluster"], strict=True))
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        found = {row["id"]: row["cluster"] for row in rows}
    assert group_ids(found) == TWO
    assert sorted(path.name for path in files.iterdir()) == sorted(["data.csv", "hints.csv", out.name])


def test_out_dash_is_stdout(run, files):
    assert run(*BASE, "--out", "-").stdout == run(*BASE).stdout


def test_data_can_come_from_stdin(run, files):
    text = (files / "data.csv").read_text()
    result = run("cluster", "-", "-k", 2, "--id", "name", "--hints", "hints.csv", input=text)
    assert group_ids(labels_of(result.stdout)) == TWO
    assert "<stdin>:1" in run("cluster", "-", "-k", 2, input="1,2\n3,4\n", code=1).stderr


def test_hints_of_several_files_are_joined(run, files):
    (files / "more.csv").write_text("a,b,link\nb1,b2,must\n")
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--hints", "more.csv", "--json").stdout)
    assert document["hints"]["must"] == 2
    assert document["hint_files"] == ["hints.csv", "more.csv"]


def test_rows_without_ids_are_named_by_number(run, files):
    (files / "hints.csv").write_text("a,b,link\n0,1,must\n0,3,cannot\n")
    words = ["cluster", "data.csv", "-k", 2, "--drop", "name", "--hints", "hints.csv"]
    assert list(labels_of(run(*words).stdout)) == list("012345")


def test_a_picture_is_drawn(run, files):
    run(*BASE, "--hints", "hints.csv", "--out", "l.csv", "--plot", "p.png")
    assert (files / "p.png").read_bytes().startswith(b"\x89PNG")
    run(*BASE, "--out", "l.csv", "--plot", "p.svg")
    assert b"<svg" in (files / "p.svg").read_bytes()


# ---------------------------------------------------------------------- summary and JSON


def test_the_summary_tells_sizes_and_violated_hints_by_id(run, files):
    links = "a1,b1,must\na2,b2,must\na1,a2,must\na1,b2,cannot\nb1,b2,must\n"
    (files / "hints.csv").write_text("a,b,link\n" + links)
    result = run(*BASE, "--hints", "hints.csv", "--method", "pck-means", "--out", "l.csv")
    output = result.stderr
    assert "rows        6, 2 features" in output
    assert "4 must, 1 cannot, about 4 rows" in output
    assert "pck-means, 2 clusters" in output
    assert "violated: " in output
    assert "note: the hints contradict one another: a1 ≠ b2, yet" in output


def test_long_lists_of_violated_links_are_cut_and_json_has_all(run, tmp_path):
    # Neighbours in a tight group are cannot-linked, with too little weight to split it.
    rows = "".join(f"{i},{i / 1000 + 1000 * (i >= 60)}\n" for i in range(120))
    (tmp_path / "d.csv").write_text("n,x\n" + rows)
    links = "".join(f"{i},{i + 1},cannot,1e-9\n" for i in range(0, 60, 2))
    (tmp_path / "h.csv").write_text("a,b,link,weight\n" + links)
    words = ["cluster", "d.csv", "-k", 2, "--id", "n", "--hints", "h.csv", "--method", "pck-means"]
    output = run(*words, "--out", "l.csv").stderr
    assert output.count("violated: ") == 10
    assert "and 20 more; --json lists all" in output
    document = json.loads(run(*words, "--json").stdout)
    assert len(document["kept"]["broken"]) == 30
    assert document["kept"]["broken"][0] == {"link": "cannot", "a": "0", "b": "1"}
    assert document["kept"]["share"] == 0


def test_json_is_one_document_with_everything(run, files):
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--json").stdout)
    assert document["rows"] == 6
    assert document["features"] == ["x", "y"]
    assert document["method"] == "mpck-means"
    assert sorted(document["sizes"]) == [3, 3]
    assert document["kept"]["must"] == [1, 1]
    assert group_ids({row["id"]: row["cluster"] for row in document["labels"]}) == TWO
    assert document["wrote"] == []
    assert document["notes"] == []


def test_json_with_a_file_leaves_the_labels_to_the_file(run, files):
    document = json.loads(run(*BASE, "--json", "--out", "l.csv", "--quiet").stdout)
    assert document["labels"] is None
    assert document["wrote"] == ["l.csv"]


def test_quiet_says_nothing_but_the_result(run, files):
    result = run(*BASE, "--quiet")
    assert result.stderr == ""
    assert group_ids(labels_of(result.stdout)) == TWO


def test_truth_is_scored_and_no_feature(run, files):
    (files / "data.csv").write_text("name,x,kind\na1,0,A\na2,1,A\na3,1.5,\nb1,9,B\nb2,10,B\n")
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--truth", "kind", "--json").stdout)
    assert document["features"] == ["x"]
    assert document["scores"]["all"]["ari"] == 1.0
    assert document["scores"]["all"]["n_rows"] == 4
    assert document["scores"]["untouched"]["n_rows"] == 1
    output = run(*BASE, "--hints", "hints.csv", "--truth", "kind").stderr
    assert "all rows    ARI 1.000" in output
    (files / "data.csv").write_text("name,x,kind\na1,0,A\na2,1,A\nb1,9,B\n")
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--truth", "kind", "--json").stdout)
    assert document["scores"]["untouched"] is None


def test_labelled_rows_that_stray_are_reported(run, files):
    (files / "hints.csv").write_text("id,label\na1,A\na2,A\nb1,B\nb2,A\n")
    output = run(*BASE, "--hints", "hints.csv", "--method", "seeded-k-means").stderr
    assert "labels      3 of 4 with their class" in output
    assert "not: b2" in output
    document = json.loads(run(*BASE, "--hints", "hints.csv", "--method", "seeded-k-means", "--json").stdout)
    assert document["classes"] == ["A", "B"]
    assert document["kept"]["strayed"] == ["b2"]


def test_strayed_rows_by_hand():
    none = np.full(4, -1)
    assert find_strayed_rows(np.array([0, 0, 1, 1]), none) == ()
    assert find_strayed_rows(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])) == (2,)
    # Two classes in one cluster: only one of them can have it.
    assert find_strayed_rows(np.array([0, 0, 0, 1]), np.array([0, 0, 1, -1])) == (2,)


def test_scores_leave_out_rows_whose_class_is_not_known():
    found = compute_scores(("A", None, "B"), np.array([0, 0, 1]), np.array([True, False, False]))
    assert found["all"].n_rows == 2
    assert found["untouched"].n_rows == 1


def test_the_iterations_can_be_limited(run, files):
    document = json.loads(run(*BASE, "--max-iter", 1, "--json").stdout)
    assert document["iterations"] == document["max_iter"] == 1


def test_warnings_are_notes(run, files):
    (files / "data.csv").write_text("name,x\na,1\nb,1\nc,1\n")
    with np.errstate(all="ignore"):
        result = run(*BASE, "--method", "k-means")
    assert "note: " in result.stderr
    assert ConvergenceWarning.__name__ not in result.stderr


def test_a_terminal_gets_a_bar_and_others_do_not(run, files, monkeypatch):
    names = []

    class Bar:
        def __init__(self, *columns, console, transient):
            assert transient

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def add_task(self, text, total):
            assert total == 4
            return 0

        def update(self, task, description, advance):
            names.append(description)

    monkeypatch.setattr("rich.progress.Progress", Bar)
    run(*BASE)
    assert names == []
    import click.testing

    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: True, raising=False)
    run(*BASE, "--plot", "p.png")
    assert names == ["reading", "clustering", "drawing", "writing"]


def test_hints_in_another_encoding(run, files):
    (files / "data.csv").write_text("name,x\nä,1\nö,2\nü,9\n", encoding="latin-1")
    (files / "hints.csv").write_text("a,b,link\nä,ö,must\n", encoding="latin-1")
    words = [*BASE, "--hints", "hints.csv", "--encoding", "latin-1"]
    assert "--hints-encoding latin-1 or --hints-encoding cp1252" in run(*words, code=1).stderr
    found = labels_of(run(*words, "--hints-encoding", "latin-1").stdout)
    assert group_ids(found) == {frozenset("äö"), frozenset("ü")}


def test_a_feature_that_looks_like_an_id_is_noted(run, files):
    (files / "data.csv").write_text("ID,x\n1,0\n2,9\n")
    words = ["cluster", "data.csv", "-k", 2, "--method", "k-means"]
    assert "note: the column 'ID' is used as a feature" in run(*words).stderr
    assert "note" not in run(*words, "--id", "ID").stderr
