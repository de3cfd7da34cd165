"""Options are declared as fields of a dataclass, and a command receives them as one object."""

import inspect
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from likewise.cli._options import DataOptions, argument, collect_options, option, parse_names
from likewise.cli.main import COMMANDS, cli


@dataclass(frozen=True, kw_only=True)
class Options:
    data: str = argument()
    first: int = option("-f", "--first", type=int, default=1, help="The first.")
    table: DataOptions
    last: bool = option("--last", is_flag=True, help="The last.")


@click.command()
@collect_options(Options)
def show(asked):
    """Show what was asked."""
    click.echo(f"{asked.data} {asked.first} {asked.table.id_column} {asked.table.drop} {asked.last}")


def test_values_are_collected_into_one_object_with_groups():
    result = CliRunner().invoke(show, ["rows.csv", "-f", "3", "--id", "name", "--drop", "a,b", "--last"])
    assert result.output == "rows.csv 3 name ('a', 'b') True\n"
    assert CliRunner().invoke(show, ["rows.csv"]).output == "rows.csv 1 None None False\n"


def test_names_may_hold_commas_and_quotes():
    assert parse_names('a,"b,c"') == ("a", "b,c")
    assert parse_names(" a , b ") == ("a", "b")
    with pytest.raises(click.BadParameter, match="at least one"):
        parse_names(",")


def test_options_are_listed_in_the_order_of_the_fields():
    assert [param.name for param in show.params] == [
        "data",
        "first",
        "id_column",
        "text",
        "image",
        "audio",
        "embeddings",
        "features_from",
        "features",
        "drop",
        "no_header",
        "encoding",
        "last",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_more_than_twelve_parameters(name):
    command = cli.get_command(click.Context(cli), name)
    assert len(inspect.signature(command.callback).parameters) <= 12
