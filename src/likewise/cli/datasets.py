"""``likewise datasets``: list the known data sets, and write them to files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _output as output
from likewise.exceptions import LikewiseError

if TYPE_CHECKING:
    from likewise.datasets import Dataset


@click.command("datasets", cls=output.Command)
@click.argument("name", required=False)
@click.option("--out", type=output.OutputPath(), help="Write the data set: .csv, .parquet, or - for stdout.")
@click.option(
    "--bags",
    type=click.Path(),
    help="Write the labels of the bags of the data set: .csv or .parquet; with --out.",
)
@click.option(
    "--folder", type=click.Path(), help="Read it from this folder.  [default: the variable LIKEWISE_DATA]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the catalogue, or NAME's entry, as JSON.")
def command(name: str | None, out: str | None, bags: str | None, folder: str | None, as_json: bool) -> None:
    """List the known data sets, or write one to a file.

    Without NAME, prints the catalogue; with NAME, the entry of that data set. With --out, searches for it in
    scikit-learn, in a folder and at OpenML, and writes it with the columns id, the features, and label.

    \b
    Examples:
      likewise datasets
      likewise datasets iris --out iris.csv
      likewise cluster iris.csv -k 3 --id id --truth label
      likewise datasets letter_carroll --out rows.csv --bags bags.csv
    """
    if bags is not None and (out is None or out == output.STDOUT):
        raise click.UsageError("--bags needs --out FILE, to which the rows are written.")
    if name is None and (out or folder):
        raise click.UsageError("--out and --folder need the NAME of a data set.")
    if out is not None and as_json:
        raise click.UsageError("give --out or --json, not both.")
    from likewise.datasets import describe, get_catalogue
    from likewise.datasets._catalogue import find

    if out is not None:
        assert name is not None
        _write(name, out, bags, folder)
    elif as_json:
        entries = [find(name)] if name is not None else list(get_catalogue().values())
        document: dict[str, Any] = {"datasets": [dataclasses.asdict(entry) for entry in entries]}
        output.print_json(document)
    else:
        click.echo(describe(name))


def _write(name: str, out: str, bags: str | None, folder: str | None) -> None:
    from likewise.datasets import load
    from likewise.tables import format_csv

    if out != output.STDOUT:
        output.check_output(out, (".csv", ".parquet"), "--out")
    output.check_output(bags, (".csv", ".parquet"), "--bags")
    output.check_distinct({"--out": out, "--bags": bags}, [])
    data = load(name, folder=folder)
    columns = make_dataset_columns(data)
    bag_columns = {} if bags is None else make_bag_columns(data)
    if out == output.STDOUT:
        output.write_stdout(format_csv(columns))
        return
    with output.Outputs() as outputs:
        outputs.add_table(out, columns)
        outputs.add_table(bags, bag_columns)
    wrote = out if bags is None else f"{out} and {bags}"
    output.make_console().print(f"{data!r}\nwrote {wrote}")
    if bags is None and data.bags is not None:
        output.make_console().print(
            "note: its rows are in bags; --bags FILE writes their labels.", style="yellow"
        )


def make_dataset_columns(data: Dataset) -> dict[str, list[Any]]:
    """Return a data set as columns: id, bag if there are bags, the features or the text, label."""
    import numpy as np

    if data.y is None or (data.X is None and data.texts is None):
        raise LikewiseError(
            f"{data.name} has several labels per row, which do not fit in one table. "
            f"Use likewise.datasets.load({data.name!r}) in Python."
        )
    n = len(data.y)
    columns: dict[str, list[Any]] = {
        "id": list(map(str, range(n) if data.ids is None else data.ids.tolist()))
    }
    if data.bags is not None:
        columns["bag"] = data.bags.tolist()
    if data.X is None:
        columns["text"] = list(data.texts or ())
    else:
        X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
        names = data.feature_names or tuple(f"f{c}" for c in range(X.shape[1]))
        for c, name in enumerate(names):
            cells = X[:, c].tolist()
            while name in {*columns, "label"}:
                name += "_"
            columns[name] = [None if cell != cell else cell for cell in cells]
    classes, codes = np.unique(data.y, return_inverse=True)
    words = data.target_names or tuple(map(str, classes.tolist()))
    columns["label"] = [words[code] for code in codes.tolist()]
    return columns


def make_bag_columns(data: Dataset) -> dict[str, list[Any]]:
    """Return the labels of the bags of a data set as the columns bag and labels (names of classes)."""
    import numpy as np

    if data.bag_labels is None or data.y is None:
        raise LikewiseError(f"{data.name} has no bags; leave --bags out.")
    classes = np.unique(data.y).tolist()
    words = dict(zip(classes, data.target_names or tuple(map(str, classes)), strict=True))
    columns = {
        bag: [words.get(label, str(label)) for label in labels] for bag, labels in data.bag_labels.items()
    }
    return {"bag": list(columns), "labels": [";".join(labels) for labels in columns.values()]}
