"""The ``likewise`` command: a group that imports each of its commands only when it is run.

``COMMANDS`` holds the summaries for ``likewise --help``, which therefore imports no numeric package.
"""

from __future__ import annotations

import importlib
from gettext import gettext
from typing import Any

import click

from likewise import __version__

COMMANDS = {
    "cluster": "Cluster rows, texts, pictures or sounds, following hints.",
    "studio": "Let people answer questions in a browser.",
    "export": "Write labels, hints or answers of a studio project.",
    "report": "Write a report on a studio project as an HTML page.",
    "import-answers": "Import earlier answers, hints or labels into a studio project.",
    "ask": "Answer questions about rows, and cluster by the answers.",
    "choose": "Choose method and number of clusters by held-out hints.",
    "check": "Check a file of hints before using it.",
    "simulate": "Compare query strategies on data with known classes.",
    "hierarchy": "Learn the tree behind incomplete tags, and complete them.",
    "compare-hints": "Compare the value of pair and triplet questions.",
    "models": "List the models that compute features, or add one.",
    "datasets": "List the known data sets, or write one to a file.",
    "demo": "Watch a clustering improve with more hints.",
    "completion": "Print a script that completes commands in a shell.",
}
# Where a command is if not as `command` in the module with its name.
_HOMES = {
    "export": ("projects", "export"),
    "report": ("projects", "report"),
    "import-answers": ("projects", "import_answers"),
}


class LazyGroup(click.Group):
    """A group that finds its commands by name in the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; fail with the closest name if there is no such command."""
        if cmd_name not in COMMANDS:
            if cmd_name.startswith("-") or ctx.resilient_parsing:
                return None
            from likewise.cli._options import find_closest

            close = find_closest(cmd_name, COMMANDS)
            meant = f"Did you mean {close!r}?" if close else f"Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"there is no command {cmd_name!r}. {meant}")
        module, name = _HOMES.get(cmd_name, (cmd_name.replace("-", "_"), "command"))
        command: click.Command = getattr(importlib.import_module(f"likewise.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section(gettext("Commands")):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="likewise")
def cli() -> None:
    """Cluster data with the help of a few hints: links, triplets, bags, labels or answers.

    \b
    Examples:
      likewise demo
      likewise check hints.csv data.csv --id name
      likewise choose data.csv hints.csv -k 2:8
      likewise cluster data.csv -k 3 --hints hints.csv --out labels.csv
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line; the entry point of the ``likewise`` script."""
    return cli.main(args=args, prog_name="likewise")
