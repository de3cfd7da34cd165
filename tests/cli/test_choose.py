"""``likewise choose``: the table, the choice, the next command, and errors."""

import csv
import io
import json
import shlex

import numpy as np
import pytest

from likewise.cli.choose import USUAL
from likewise.supervision import sample_links, sample_triplets

Y = np.repeat([0, 1, 2], 12)
NAMES = [f"r{i}" for i in range(36)]


@pytest.fixture
def birds(tmp_path):
    """Write three clear groups, and links and triplets about them."""
    X = np.random.RandomState(0).normal(size=(36, 2)) + 8 * np.array([[0, 0], [1, 0], [0, 1]])[Y]
    rows = [f"{name},{a:.4f},{b:.4f}\n" for name, (a, b) in zip(NAMES, X, strict=True)]
    (tmp_path / "data.csv").write_text("name,x,y\n" + "".join(rows))
    links = sample_links(Y, 40, random_state=0)
    lines = [f"r{i},r{j},must\n" for i, j in links.must] + [f"r{i},r{j},cannot\n" for i, j in links.cannot]
    (tmp_path / "hints.csv").write_text("a,b,link\n" + "".join(lines))
    three = sample_triplets(Y, 40, random_state=0)
    lines = [
        f"r{a},r{b},r{c},{word}\n"
        for (a, b, c), word in zip(three.triplets.tolist(), three.answer_words, strict=True)
    ]
    (tmp_path / "triplets.csv").write_text("a,b,c,answer\n" + "".join(lines))
    return tmp_path


BASE = ("choose", "data.csv", "hints.csv", "--id", "name", "-k", "2:4", "--cv", 3)
METHODS = ("--methods", "pck-means,k-means")


def test_the_right_number_is_chosen_and_the_next_command_works(run, birds):
    result = run(*BASE, *METHODS)
    assert "held-out hints in 3 folds" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    first = next(line for line in lines if line and line[0] in ("pck-means", "k-means"))
    assert first[:2] == ["pck-means", "3"]
    assert first[-1] == "chosen"
    todo = shlex.split(result.stdout.splitlines()[-1])
    assert todo[1:] == [
        *("cluster", "data.csv", "-k", "3", "--method", "pck-means", "--hints", "hints.csv"),
        *("--id", "name", "--out", "labels.csv"),
    ]
    run(*todo[1:])
    with open(birds / "labels.csv") as file:
        labels = [row["cluster"] for row in csv.DictReader(file)]
    assert len({(int(c), label) for c, label in zip(Y, labels, strict=True)}) == 3


def test_the_next_command_says_what_was_reported(run, birds):
    data = (birds / "data.csv").read_text()
    (birds / "wide.csv").write_text(
        "\n".join(f"{line},{'z' if i == 0 else i}" for i, line in enumerate(data.splitlines())) + "\n"
    )
    words = ["choose", "wide.csv", "hints.csv", "triplets.csv", "--id", "name", "-k", 3, "--cv", 2, "--json"]
    words += ["--methods", "pck-means", "--as-links", "--standardize", "--seed", 4, "--drop", "z"]
    document = json.loads(run(*words).stdout)
    todo = shlex.split(document["next"])
    for option in (["--as-links"], ["--standardize"], ["--seed", "4"], ["--drop", "z"]):
        assert " ".join(option) in " ".join(todo)
    assert todo.count("--hints") == 2
    assert document["best"]["triplets_right"] == 1.0
    run(*todo[1:])
    baseline = json.loads(run(*BASE, "--methods", "k-means", "--json").stdout)["next"]
    assert "--hints" not in baseline


def test_json_out_and_plot(run, birds):
    result = run(*BASE, *METHODS, "--json", "--out", "t.csv", "--plot", "c.png", "--seed", 1)
    document = json.loads(result.stdout)
    assert document["wrote"] == ["t.csv", "c.png"]
    assert len(document["results"]) == 6
    assert document["results"][0]["chosen"]
    assert document["best"] == document["results"][0]
    assert document["n_scored"] + document["n_implied"] == 40
    rows = list(csv.DictReader(io.StringIO((birds / "t.csv").read_text())))
    assert [row["method"] for row in rows] == [row["method"] for row in document["results"]]
    assert float(rows[0]["score"]) == document["best"]["score"]
    assert (birds / "c.png").read_bytes().startswith(b"\x89PNG")
    assert all(line.endswith(" fits") for line in result.stderr.splitlines())


def scores_of(result):
    rows = json.loads(result.stdout)["results"]
    return [(row["method"], row["clusters"], row["score"]) for row in rows]


def test_the_same_command_gives_the_same_scores(run, birds):
    first = scores_of(run(*BASE, *METHODS, "--json"))
    assert first == scores_of(run(*BASE, *METHODS, "--json"))
    assert first != scores_of(run(*BASE, *METHODS, "--json", "--seed", 1))


@pytest.mark.slow  # other processes import everything again
def test_jobs_change_nothing(run, birds):
    words = (*BASE, *METHODS, "--json")
    assert scores_of(run(*words)) == scores_of(run(*words, "--jobs", 2))


def test_names_of_methods_are_not_cut(run, birds, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert "constrained-k-means" in run(*BASE, "--methods", "pck-means,constrained-k-means", code=1).stderr
    words = [*BASE[:5], "-k", 3, "--cv", 2, "--methods", "discriminative,k-means"]
    assert "discriminative" in run(*words).stdout


@pytest.mark.parametrize(
    ("output", "numbers"),
    [("3", [3]), ("2:4", [2, 3, 4]), ("4,2", [2, 4]), ("2:3,5", [2, 3, 5]), (" 2 : 3 ", [2, 3])],
)
def test_numbers_of_clusters(run, birds, output, numbers):
    words = [*BASE[:5], "-k", output, "--cv", 2, "--methods", "k-means", "--json"]
    rows = json.loads(run(*words).stdout)["results"]
    assert sorted(row["clusters"] for row in rows) == numbers


def test_progress_goes_to_stderr_in_a_few_lines_off_a_terminal(run, birds):
    words = [*BASE[:5], "-k", "2:4", "--cv", 4, "--methods", "k-means"]
    result = run(*words)
    lines = [line for line in result.stderr.splitlines() if line.endswith(" fits")]
    assert lines[-1] == "12 of 12 fits"
    assert len(lines) == 10
    assert "fits" not in result.stdout
    assert "fits" not in run(*words, "--quiet").stderr


def test_a_long_table_is_cut(run, birds, monkeypatch):
    monkeypatch.setattr("likewise.cli.choose.SHOWN", 1)
    shown = run(*BASE[:5], "-k", "2:3", "--cv", 2, *METHODS).stdout
    assert "and 3 more; --out and --json have all" in shown


def test_the_usual_methods_are_those_that_use_the_hints(run, birds, monkeypatch):
    monkeypatch.setattr("likewise.cli.choose.USUAL", ("pck-means", "seeded-k-means"))
    rows = json.loads(run(*BASE, "--json").stdout)["results"]
    assert {row["method"] for row in rows} == {"pck-means"}
    assert len(set(USUAL)) == len(USUAL)


def test_mixtures_are_among_the_usual_methods():
    assert {"gm-pr", "em-pc"} < set(USUAL)
    assert USUAL.index("pck-means") < USUAL.index("mpck-means") < USUAL.index("gm-pr")  # simplest first


def test_the_next_command_writes_to_a_new_file(run, birds):
    (birds / "labels.csv").write_text("mine\n")
    (birds / "labels-2.csv").write_text("mine too\n")
    document = json.loads(run(*BASE, "--methods", "pck-means", "--json").stdout)
    assert shlex.split(document["next"])[-2:] == ["--out", "labels-3.csv"]


def test_ties_are_reported_the_fewest_clusters_first(run, birds):
    words = (*BASE[:5], "-k", "3:4", "--cv", 3, "--methods", "pck-means,k-means")
    document = json.loads(run(*words, "--json").stdout)
    assert document["scoring"] == "accuracy"
    assert document["ties"][0] == {"method": "pck-means", "clusters": 3}
    tied = {(row["method"], row["clusters"]) for row in document["results"] if row["tied"]}
    assert tied == {(tie["method"], tie["clusters"]) for tie in document["ties"]}
    output = " ".join(run(*words).stdout.split())
    assert len(tied) > 1
    assert f"{len(tied)} candidates are tied: each is worse than the best by at most one" in output
    fewest = [tie["method"] for tie in document["ties"] if tie["clusters"] == 3]
    assert f"The fewest clusters among them: 3, with {', '.join(fewest)}." in output


def test_labels_choose_too(run, birds):
    rows = "".join(f"r{i},{c}\n" for i, c in enumerate(Y) if i % 3 == 0)
    (birds / "hints.csv").write_text("id,label\n" + rows)
    document = json.loads(run(*BASE, "--methods", "seeded-k-means", "--json").stdout)
    assert document["best"]["clusters"] == 3
    assert any("candidates failed" in note for note in document["notes"])  # two clusters, three classes
    failed = [row for row in document["results"] if row["failure"]]
    assert [row["clusters"] for row in failed] == [2]
    assert failed[0]["score"] is None
    assert "failed" in run(*BASE, "--methods", "seeded-k-means").stdout


def test_contradictions_are_a_note_or_a_failure(run, birds):
    with open(birds / "hints.csv", "a") as file:
        file.write("".join(f"r{i},r{i + 1},must\n" for i in range(8)))
        file.write("".join(f"r{i},r{i + 2},cannot\n" for i in range(7)))
    output = run(*BASE, "--methods", "pck-means,cop-k-means").stderr
    assert "contradict" in output
    assert run(*BASE, "--methods", "pck-means", "--quiet").stderr == ""
    assert "every fit failed" in run(*BASE, "--methods", "cop-k-means", code=1).stderr


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("-k", "two"), "expected numbers such as 4, 2:12 or 2,3,5"),
        (("-k", "4:2"), "expected numbers of clusters of at least 1"),
        (("-k", "0:3"), "expected numbers of clusters of at least 1"),
        (("--methods", "mpckmean"), "there is no method 'mpckmean'; did you mean 'mpck-means'?"),
        (("--methods", "magic"), "there is no method 'magic'; expected one of mpck-means"),
        (("--methods", ","), "there is no method"),
        (("--cv", 1), "--cv"),
        (("--scoring", "luck"), "--scoring"),
        (("--out", "t.xlsx"), "expected a file name that ends with"),
        (("--out", "hints.csv"), "is also a file that is read"),
        (("--plot", "c.txt"), "expected a file name that ends with"),
        (("--jobs", 0), "--jobs"),
    ],
)
def test_usage_errors(run, birds, words, output):
    before = sorted(birds.iterdir())
    assert output in run(*BASE, *words, code=2).stderr
    assert sorted(birds.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("-k", "2:99"), "99 clusters need at least as many rows; got 36"),
        (("--cv", 50), "cannot be split into 50 folds"),
        (("--methods", "seeded-k-means"), "does not use links"),
        (("nowhere.csv",), "there is no file 'nowhere.csv'"),
    ],
)
def test_data_errors(run, birds, words, output):
    result = run(*BASE, *words, code=1)
    assert output in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_hints_are_needed(run, birds):
    assert "HINTS" in run("choose", "data.csv", code=2).stderr


def test_kinds_that_no_usual_method_uses(run, birds):
    (birds / "mixed.csv").write_text("id,label\nr0,x\nr1,y\n")
    output = run(*BASE[:2], "mixed.csv", *BASE[2:], code=1).stderr
    assert "no method uses labels and links directly. Add --as-links" in output


@pytest.mark.parametrize("scoring", ["accuracy", "balanced-accuracy", "log-score"])
def test_scores_by_name(run, birds, scoring):
    document = json.loads(run(*BASE, "--methods", "pck-means", "--scoring", scoring, "--json").stdout)
    assert document["best"]["clusters"] == 3
    assert document["scoring"] == scoring


def test_one_standard_error(run, birds):
    document = json.loads(run(*BASE, "--methods", "pck-means", "--one-standard-error", "--json").stdout)
    assert document["best"]["clusters"] == 3


def test_the_table_goes_to_stdout_and_the_rest_to_stderr(run, birds):
    words = (*BASE, *METHODS, "-k", 3, "--cv", 2)
    result = run(*words, "--out", "-")
    run(*words, "--out", "table.csv")
    written = (birds / "table.csv").read_text().splitlines()
    assert result.stdout.splitlines()[0] == written[0]
    assert len(result.stdout.splitlines()) == len(written)
    assert "next, cluster with this choice:" in result.stderr
    assert run(*words, "--out", "-", "-q").stderr == ""
    assert "both write to stdout" in run(*words, "--out", "-", "--json", code=2).stderr
