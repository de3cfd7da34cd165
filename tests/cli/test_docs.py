"""Every command of the documentation runs, in the order of the page, with the files that it shows."""

import re
import shlex
from pathlib import Path

from likewise.cli._methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "command-line.md"


def test_the_page_works_from_top_to_bottom(run, tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.cli.demo.N_DRAWS", 2)
    blocks = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    n_commands = 0
    for language, file, text in blocks:
        if file:
            (tmp_path / file).write_text(text)
        if language != "console":
            continue
        for line in text.splitlines():
            command, _, code = line.removeprefix("$ likewise ").partition("# exit ")
            run(*shlex.split(command), code=int(code or 0))
            n_commands += 1
    assert n_commands == 27
    assert (tmp_path / "clusters.png").exists()
    assert (tmp_path / "bags.png").exists()


def test_every_option_that_the_page_names_exists():
    import click

    from likewise.cli.main import COMMANDS, cli

    context = click.Context(cli)
    known = {
        opt for name in COMMANDS for param in cli.get_command(context, name).params for opt in param.opts
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE.read_text())) <= known | {"--help"}


def test_the_page_of_methods_names_each_class_and_its_option():
    lines = (DOCS / "which-method.md").read_text(encoding="utf-8").splitlines()
    pairs = []
    for _, classes, options, _ in (line.strip("| ").split(" | ") for line in lines if line.count(" | ") == 3):
        names = [name for name in re.findall(r"`([a-z-]+)`", options) if name in METHODS]
        pairs += list(zip(re.findall(r"`(\w+)", classes), names, strict=False))
    assert len(pairs) == 10
    assert [METHODS[name].home.partition(":")[2] for _, name in pairs] == [cls for cls, _ in pairs]
