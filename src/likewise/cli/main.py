"""The ``likewise`` command: a group whose commands are imported only when one of them is wanted.

The lines that ``likewise --help`` shows stand here, so that it imports no command and no numeric package.
"""

from __future__ import annotations

import importlib
from gettext import gettext
from typing import Any

import click

from likewise import __version__

COMMANDS = {
    "cluster": "Cluster a table of rows, following hints.",
    "studio": "Let people answer questions in a browser.",
    "export": "Write labels, hints or answers of a studio project.",
    "report": "Write a page that tells what came out of a studio project.",
    "import-answers": "Take earlier answers, hints or labels into a studio project.",
    "ask": "Answer questions about rows, and cluster by the answers.",
    "choose": "Choose number of clusters and method by held-out hints.",
    "check": "Look through a file of hints before using it.",
    "simulate": "Compare ways to ask, on data whose classes are known.",
    "hierarchy": "Learn the tree behind incomplete tags, and complete them.",
    "compare-hints": "Tell whether pairs or triplets are worth more as questions.",
    "datasets": "List the known data sets, or write one to a file.",
    "demo": "Watch a clustering get better hint by hint.",
    "completion": "Print a script that completes commands in a shell.",
}


class LazyGroup(click.Group):
    """A group that finds its commands by name in the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most wanted first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"likewise.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first word, or say which one is close to it."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(word, COMMANDS, n=1)
            meant = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(COMMANDS)}."
            ctx.fail(f"there is no command {word!r}. {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section(gettext("Commands")):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="likewise")
def cli() -> None:
    """Cluster data the way people mean it, from the few hints that they can give.

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
