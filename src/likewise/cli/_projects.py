"""Find, open and read a studio project: shared by the commands about projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from likewise.exceptions import FileFormatError

if TYPE_CHECKING:
    from likewise.studio.project import Project
    from likewise.studio.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def add_project_options(function: F) -> F:
    """Give a command the argument PROJECT and the option --db."""
    function = click.option(
        "--db",
        metavar="URL",
        help="The project's PostgreSQL database, with its password: postgresql://…",
    )(function)
    return click.argument("project", type=click.Path())(function)


@dataclass(frozen=True)
class OpenProject:
    """A project and its store."""

    project: Project
    store: Store


@contextmanager
def open_project(path: str, database: str | None) -> Iterator[OpenProject]:
    """Open a project for the duration of a block; a studio may be running on it."""
    from likewise.studio.project import Project
    from likewise.studio.store import open_store

    project = Project.open(find_project(path), database=database)
    store = open_store(project.database_url, backups=project.backups)
    try:
        yield OpenProject(project, store)
    finally:
        store.close()
        project.items.close()


def find_project(path: str) -> Path:
    """Return the folder of a project from its own path or the path of its data."""
    from likewise.studio.project import get_default_folder

    given = Path(path)
    beside = get_default_folder(given)
    places = [given, beside, beside.with_name(f"{given.name}{beside.suffix}")]
    for place in places:
        if (place / "project.json").exists():
            return place
    if given.suffix == beside.suffix and given.is_dir():
        return given  # opening it raises an error with the reason
    raise FileFormatError(
        f"there is no project at {path!r}, nor beside it at {beside.name!r}. Create one with: likewise "
        f"studio {path}"
    )
