"""``likewise completion``: print a script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from likewise.cli._output import Command

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script that completes commands in a shell.

    \b
    Examples:
      eval "$(likewise completion bash)"        in ~/.bashrc
      eval "$(likewise completion zsh)"         in ~/.zshrc
      likewise completion fish > ~/.config/fish/completions/likewise.fish
    """
    from likewise.cli.main import cli

    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(cli, {}, "likewise", "_LIKEWISE_COMPLETE").source())
