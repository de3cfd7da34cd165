"""The group: quick, lazy, and helpful about what was typed wrongly."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import click
import pytest

import likewise
from likewise.cli.main import COMMANDS, cli

SCRIPT = Path(sysconfig.get_path("scripts"), "likewise")


def test_help_lists_every_command_with_the_line_that_the_command_has(run):
    shown = run("--help").output
    context = click.Context(cli)
    for name, line in COMMANDS.items():
        command = cli.get_command(context, name)
        assert line in shown
        assert command.help.splitlines()[0] == line
        assert command.name == name


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_shows_an_example(run, name):
    shown = run(*name.split(), "--help").output
    assert "Examples:" in shown
    assert f"likewise {name}".strip() in shown.partition("Examples:")[2]


def test_short_help_option_works_too(run):
    assert run("-h").output == run("--help").output


def test_help_imports_no_command_and_no_numeric_package():
    code = (
        "import sys; from likewise.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "commands = {m for m in sys.modules if m.startswith('likewise.cli.') and m != 'likewise.cli.main'}\n"
        "assert not heavy | commands, heavy | commands"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_imports_no_numeric_package(name):
    code = (
        "import sys; from likewise.cli.main import main\n"
        f"try:\n    main([{name!r}, '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(run):
    assert run("--version").output == f"likewise, version {likewise.__version__}\n"


@pytest.mark.parametrize(("word", "meant"), [("clutser", "'cluster'"), ("xyz", "demo")])
def test_an_unknown_command_is_a_usage_error_that_names_a_known_one(run, word, meant):
    result = run(word, code=2)
    assert f"there is no command {word!r}" in result.stderr
    assert meant in result.stderr


def test_an_unknown_option_is_a_usage_error(run):
    for words in (("--nonsense",), ("check", "--nonsense")):
        assert "--nonsense" in run(*words, code=2).stderr


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o nosort"), ("zsh", "#compdef likewise"), ("fish", "complete ")]
)
def test_completion_prints_a_script(run, shell, sign):
    script = run("completion", shell).stdout
    assert sign in script
    assert "_LIKEWISE_COMPLETE" in script


def test_completion_of_an_unknown_shell_is_a_usage_error(run):
    assert "'cmd' is not one of 'bash', 'zsh', 'fish'" in run("completion", "cmd", code=2).stderr


def test_the_shell_is_reported_commands_and_options():
    def completed(words, cword):
        env = {**os.environ, "_LIKEWISE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": cword}
        return subprocess.run([SCRIPT], env=env, capture_output=True, text=True, check=True).stdout

    assert "cluster" in completed("likewise cl", "1")
    assert "--standardize" in completed("likewise cluster --st", "2")


def test_the_installed_script_clusters(files):
    words = [SCRIPT, "cluster", "data.csv", "-k", "2", "--id", "name", "--hints", "hints.csv"]
    env = {**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "error::UserWarning"}
    done = subprocess.run(words, cwd=files, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "id,cluster"
    assert len(done.stdout.splitlines()) == 7
    assert "1 of 1 must-links and 1 of 1 cannot-links kept" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_installed_script_says_no_without_a_traceback(tmp_path):
    words = [SCRIPT, "cluster", "nowhere.csv", "-k", "2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: there is no file 'nowhere.csv'.\n"
    assert done.stdout == ""


def test_debug_shows_the_traceback(tmp_path):
    words = [SCRIPT, "cluster", "nowhere.csv", "-k", "2", "--debug"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "FileNotFoundError" in done.stderr
