"""``likewise simulate``: the table, the files, and errors."""

import csv
import io
import json
import subprocess
import sysconfig
import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise.active import Interview, Question, RandomPairs
from likewise.active.strategies import STRATEGIES as KNOWN
from likewise.cli._methods import MODELS, STRATEGIES, make_strategy_and_model
from likewise.cli.main import cli
from likewise.cli.simulate import ERROR_KINDS
from likewise.oracles._class_errors import ErrorKind

SPECIES = np.repeat(["wren", "owl", "finch"], 6)


@pytest.fixture
def birds(tmp_path):
    """Write three groups of birds, of which two are near one another."""
    X = np.random.RandomState(0).normal(size=(18, 2)) + np.repeat([[0, 0], [9, 0], [11, 2]], 6, axis=0)
    rows = [
        f"b{i},{a:.3f},{b:.3f},{species}\n"
        for i, ((a, b), species) in enumerate(zip(X, SPECIES, strict=True))
    ]
    (tmp_path / "data.csv").write_text("name,x,y,species\n" + "".join(rows))
    return tmp_path


BASE = (
    "simulate",
    "data.csv",
    "--id",
    "name",
    "--label",
    "species",
    "--budget",
    6,
    "--every",
    3,
    "--repeats",
    2,
)
FAST = ("--strategies", "random,min-max", "--model", "pck-means")


def document_of(run, *words):
    document = json.loads(run(*BASE, *FAST, "--json", *words).stdout)
    for row in document["results"]:
        row.pop("seconds")  # which differ from run to run
    return document


def test_the_table(run, birds):
    result = run(*BASE, *FAST, "--reach", 0.5)
    lines = result.stdout.splitlines()
    assert lines[0] == "18 rows, 3 clusters, 2 runs each of up to 6 answers"
    heads = "strategy start final ± area ± behind the best, 95 % answers to .5 seconds"
    assert lines[2].split() == heads.split()
    assert {line.split()[0] for line in lines[3:5]} == {"random", "min-max"}
    assert lines[-2] == "sorted by area, the largest first"
    areas = [float(line.split()[4]) for line in lines[3:5]]
    assert areas == sorted(areas, reverse=True)
    assert "adjusted Rand index" in lines[-1]
    assert result.stderr == ""


def test_json_has_what_was_asked_and_found(run, birds):
    document = document_of(run, "--every", 2, "--reach", 0.2, "--seed", 3, "--errors", 0.25)
    assert document["clusters"] == 3
    assert document["n_rows"] == 18
    assert (document["seed"], document["reach"]) == (3, 0.2)
    assert (document["error_rate"], document["error_kind"]) == (0.25, "uniform")
    assert document["errors"] == document["notes"] == document["wrote"] == []
    areas = [row["area"] for row in document["results"]]
    assert areas == sorted(areas, reverse=True)
    assert [row["runs"] for row in document["results"]] == [2, 2]
    assert document["results"][0]["behind"] is None
    assert document["results"][1]["behind"] == pytest.approx(areas[1] - areas[0])
    assert document["results"][0]["reached"] == 2
    curve = document["curves"]["random"]
    assert curve["n_answers"] == [0, 2, 4, 6]
    assert len(curve["mean"]) == len(curve["low"]) == len(curve["high"]) == 4


def test_files(run, birds):
    result = run(*BASE, *FAST, "--out", "curves.csv", "--plot", "curves.png", "--reach", 0.9)
    assert (birds / "curves.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO((birds / "curves.csv").read_text())))
    assert [row["answers"] for row in rows] == ["0", "3", "6"] * 2
    assert [row["strategy"] for row in rows] == ["random"] * 3 + ["min-max"] * 3
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)
    assert result.stderr.splitlines() == ["wrote curves.csv", "wrote curves.png"]
    assert run(*BASE, *FAST, "--out", "curves.csv", "-q").stderr == ""


def test_one_run_has_no_band(run, birds):
    document = json.loads(
        run(*BASE[:-1], 1, *FAST, "--json", "--out", "curves.csv", "--plot", "curves.svg").stdout
    )
    assert document["curves"]["random"]["low"] is None
    assert document["results"][0]["area_error"] is None
    rows = list(csv.DictReader(io.StringIO((birds / "curves.csv").read_text())))
    assert {row["low"] for row in rows} == {""}


def test_the_same_command_gives_the_same_curves(run, birds):
    first = document_of(run)
    assert first == document_of(run)
    assert first["curves"] != document_of(run, "--seed", 7)["curves"]
    assert first["curves"] != document_of(run, "--errors", 0.5)["curves"]


def test_errors_of_each_kind(run, birds):
    without, uniform = document_of(run), document_of(run, "--errors", 0.3)
    for kind in ERROR_KINDS:
        document = document_of(run, "--errors", 0.3, "--error-kind", kind)
        assert (document["error_rate"], document["error_kind"]) == (0.3, kind)
        assert document["errors"] == []
        assert document["curves"] != without["curves"]
        assert (document == uniform) == (kind == "uniform")
    shown = run(*BASE, *FAST, "--errors", 0.3, "--error-kind", "coarse")
    assert shown.stdout.splitlines()[0].endswith("up to 6 answers, coarse errors at a rate of 0.3")


def test_coarse_errors_keep_the_score_below_perfect(run, birds):
    words = (*BASE, *FAST, "--budget", 500, "--every", 500, "--json", "-q")
    document = json.loads(run(*words, "--errors", 0.3, "--error-kind", "coarse").stdout)
    merged = adjusted_rand_score(SPECIES, np.where(SPECIES == "finch", "owl", SPECIES))
    assert document["results"][0]["final"] == pytest.approx(merged)


def test_fatigue_spreads_over_the_budget(monkeypatch, run, birds):
    from likewise import oracles

    asked = []
    monkeypatch.setattr(
        oracles,
        "make_oracle",
        lambda *args, real=oracles.make_oracle, **more: asked.append(more) or real(*args, **more),
    )
    document_of(run, "--errors", 0.2, "--error-kind", "fatigue")
    assert {(more["rate"], more["n_questions"]) for more in asked} == {(0.2, 6)}


def test_no_errors_have_no_kind(run, birds):
    document = document_of(run)
    assert (document["error_rate"], document["error_kind"]) == (0, None)


@pytest.mark.slow  # other processes import everything again
def test_jobs_change_nothing(run, birds):
    words = ("--errors", 0.2, "--error-kind", "look-alike")
    assert document_of(run, *words) == document_of(run, *words, "--jobs", 2)


@pytest.mark.slow  # a separate process
def test_the_installed_command_runs(birds):
    script = Path(sysconfig.get_path("scripts"), "likewise")
    words = [*map(str, BASE), *FAST, "--jobs", "2", "--plot", "curves.png"]
    done = subprocess.run([script, *words], cwd=birds, capture_output=True, text=True, check=True)
    assert "min-max" in done.stdout
    assert done.stderr == "wrote curves.png\n"
    assert (birds / "curves.png").exists()


def test_the_number_of_clusters_can_be_given(run, birds):
    assert document_of(run, "-k", 2)["clusters"] == 2


def test_the_default_is_compared_with_chance(run, birds):
    document = json.loads(run(*BASE, "--json", "--every", 6).stdout)
    assert {row["strategy"] for row in document["results"]} == {"default", "random"}
    assert document["model"] is None


def test_a_strategy_that_needs_probabilities_finds_its_model(run, birds):
    words = (*BASE[:-1], 1, "--budget", 2, "--every", 2, "--strategies", "uncertain", "--json")
    assert json.loads(run(*words).stdout)["results"][0]["runs"] == 1
    refused = run(*words, "--model", "pck-means", code=1)
    assert "'uncertain' needs probabilities, which PCKMeans does not have" in refused.stderr


def test_standardized_columns_have_equal_weight(run, birds):
    text = (birds / "data.csv").read_text().splitlines()
    wide = [f"{line},{'z' if i == 0 else 1e6 * (i % 7)}" for i, line in enumerate(text)]
    (birds / "data.csv").write_text("\n".join(wide) + "\n")
    plain = document_of(run)["results"][0]["start"]
    assert document_of(run, "--standardize")["results"][0]["start"] > plain
    assert document_of(run, "--drop", "z")["results"][0]["start"] > plain


def test_a_budget_larger_than_all_pairs_is_a_note(run, birds):
    words = (*BASE, *FAST, "--budget", 500, "--every", 100)
    result = run(*words)
    assert "note: no run used more than" in result.stderr
    assert "nothing left to ask" in result.stderr
    assert json.loads(run(*words, "--json").stdout)["results"][0]["final"] == 1.0


def test_runs_that_fail_are_a_note(run, birds, monkeypatch):
    def choose(self, state, n, real=RandomPairs.choose):
        if state.random_state == 1 and state.n_answers == 2:
            raise RuntimeError("no more")
        return real(self, state, n)

    monkeypatch.setattr(RandomPairs, "choose", choose)
    document = document_of(run)
    assert document["errors"] == [
        {"strategy": "random", "seed": 1, "error": "RuntimeError: no more", "rows": []}
    ]
    assert "1 run(s) failed, the first 'random' with seed 1" in document["notes"][0]
    shown = run(*BASE, *FAST)
    assert "note: 1 run(s) failed" in shown.stderr
    assert "runs" in shown.stdout.splitlines()[2].split()


# ---------------------------------------------------------------------- names


def test_every_kind_of_errors_of_the_library_has_a_name_here():
    assert tuple(ERROR_KINDS) == get_args(ErrorKind)


def test_every_strategy_of_the_library_has_a_name_here():
    assert set(STRATEGIES) == {"default", *KNOWN}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_takes_answers(name, birds):
    X = np.random.RandomState(0).normal(size=(18, 2)) + np.repeat([[0, 0], [9, 0], [11, 2]], 6, axis=0)
    strategy, model = make_strategy_and_model("random", 3, name)
    interview = Interview(X, strategy=strategy, model=model)
    for pair, answer in (((0, 1), "SAME"), ((0, 7), "DIFFERENT")):
        interview.tell(Question.pair(*pair), answer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on so few rows some methods do not settle
        labels = interview.labels_
    assert labels.shape == (18,)


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--strategies", "rndom"), 2, "there is no strategy 'rndom'; did you mean 'random'?"),
        (
            ("--strategies", "xyz"),
            2,
            "there is no strategy 'xyz'; expected one of default, regions, tray",
        ),
        (("--strategies", ","), 2, "expected the name of a strategy"),
        (("--model", "k-means"), 2, "'k-means' is not one of"),
        (("--label", "specis"), 2, "has no column 'specis'; did you mean 'species'?"),
        (("--label", "name"), 2, "is given for"),
        (("--drop", "species"), 2, "the column 'species' is given for --label too"),
        (("--budget", 0), 2, "0 is not in the range"),
        (("--errors", 1.5), 2, "1.5 is not in the range"),
        (
            ("--errors", 0.1, "--error-kind", "lookalike"),
            2,
            "'lookalike' is not one of 'uniform', 'look-alike'",
        ),
        (("--error-kind", "coarse"), 2, "'coarse' needs an error rate; add --errors"),
        (("--errors", 0.9, "--error-kind", "confusion"), 1, "rate must be at most 0.353 for these classes"),
        (("-k", 19), 1, "19 clusters need at least as many rows; got 18"),
        (("--plot", "curves.doc"), 2, "expected a file name that ends with"),
        (("--out", "data.csv"), 2, "is also a file that is read"),
    ],
)
def test_what_is_refused(run, birds, words, code, message):
    refused = run(*BASE, *words, code=code)
    assert message in refused.stderr
    assert refused.stdout == ""


def test_the_label_column_must_be_named(run, birds):
    refused = run("simulate", "data.csv", code=2)
    assert "Missing option '--label'" in refused.stderr
    assert "'--label'" in run(*BASE, "--label", "specis", code=2).stderr
    assert "--truth" not in run(*BASE, "--label", "specis", code=2).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,species\n1,a\n2,a\n3,a\n", "all rows have the same 'species', 'a'"),
        ("x,species\n1,a\n2,b\n3,c\n", "every row has a different 'species'"),
        ("x,species\n1,a\n2,\n3,b\n4,b\n", "1 row(s) have no 'species', the first of them '1'"),
        ("x,species\n1,a\n,b\n3,b\n", "the column 'x' is empty"),
        ("x,species\n1,a\nnan,b\n3,b\n", "expected a finite number"),
        ("species\na\nb\nb\n", "no column left to use as a feature"),
    ],
)
def test_data_that_will_not_do(run, tmp_path, text, message):
    (tmp_path / "data.csv").write_text(text)
    assert message in run("simulate", "data.csv", "--label", "species", code=1).stderr


def test_classes_may_look_like_numbers(run, tmp_path):
    (tmp_path / "data.csv").write_text("x,species\n1,0.5\n2,0.5\n3,1.5\n")
    words = ("simulate", "data.csv", "--label", "species", "--repeats", 1, "--budget", 1, *FAST, "--json")
    assert json.loads(run(*words).stdout)["clusters"] == 2


def test_no_such_file(run):
    assert "there is no file 'none.csv'" in run("simulate", "none.csv", "--label", "y", code=1).stderr


def test_help_names_every_strategy_and_model(run):
    shown = "".join(run("simulate", "--help").output.split())  # lines are broken at hyphens too
    assert all(name in shown for name in (*STRATEGIES, *MODELS))
    assert "simulate" in cli.list_commands(None)


def test_the_curves_go_to_stdout_and_the_rest_to_stderr(run, birds):
    result = run(*BASE, *FAST, "--out", "-")
    run(*BASE, *FAST, "--out", "curves.csv")
    assert result.stdout == (birds / "curves.csv").read_text()
    assert "score: " in result.stderr
    assert run(*BASE, *FAST, "--out", "-", "-q").stderr == ""
    assert "both write to stdout" in run(*BASE, *FAST, "--out", "-", "--json", code=2).stderr
