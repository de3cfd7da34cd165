"""``likewise studio``: people answer questions in a browser."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import _check_encoding, parse_names
from likewise.cli._output import Command, make_console, print_json
from likewise.cli._strategies import STRATEGIES, StrategyName

if TYPE_CHECKING:
    from likewise.studio.project import Project

SAMPLE = "sample-digits"
_SAMPLE_CLUSTERS = 10
# What may be changed when a project is opened again: all else is derived from the answers anyway.
_CHANGEABLE = ("n_clusters", "discover", "ask", "overlap", "budget", "strategy", "title")
# How the data are read: said again it must be the same.
_OF_STUDIES = ("pairs", "triplets", "practice", "difficult", "blocks", "pool")
_FIXED = ("text", "image", "audio", "id_column", "truth", "features", "drop", "seed", "study", *_OF_STUDIES)


@click.command("studio", cls=Command)
@click.argument("path", type=click.Path(), required=False)
@click.option(
    "--text", callback=parse_names, metavar="COLUMN", help="The column of texts to show and compare."
)
@click.option("--image", metavar="COLUMN", help="The column of paths of pictures, relative to the table.")
@click.option("--audio", metavar="COLUMN", help="The column of paths of sounds, relative to the table.")
@click.option("--id", "id_column", metavar="COLUMN", help="The column of ids; by default 0, 1, 2 and so on.")
@click.option("--truth", metavar="COLUMN", help="The column of true classes, for a study. It is never shown.")
@click.option(
    "--features", type=click.Path(), metavar="FILE", help="A .npy file of numbers, one row for each item."
)
@click.option(
    "--drop",
    callback=parse_names,
    metavar="A,B,C",
    help="Columns that are neither shown nor used; all others are shown.",
)
@click.option(
    "--encoding", callback=_check_encoding, default="utf-8", show_default=True, help="Encoding of a CSV file."
)
@click.option("-k", "--clusters", type=click.IntRange(min=2), help="The number of groups.")
@click.option("--discover", is_flag=True, help="The number of groups is not known; answers open new ones.")
@click.option(
    "--ask", type=click.Choice(["pairs", "triplets", "both"]), help="What is asked.  [default: pairs]"
)
@click.option(
    "--overlap", type=click.IntRange(1, 20), help="How many people get each question.  [default: 1]"
)
@click.option("--budget", type=click.IntRange(min=0), help="The most answers, of all people together.")
@click.option(
    "--strategy",
    type=StrategyName(),
    metavar="NAME",
    help=f"What chooses the questions: {', '.join(STRATEGIES)}.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Another seed, other questions.")
@click.option("--title", help="What the pages call the project.  [default: the name of PATH]")
@click.option("--project", "folder", type=click.Path(), help="Where the project is.  [default: beside PATH]")
@click.option("--db", metavar="URL", help="A PostgreSQL database in place of the project's own file.")
@click.option(
    "--study", is_flag=True, help="Hold a study of pairs against triplets; the truth must be known."
)
@click.option("--pairs", type=click.IntRange(min=1), help="Pairs a participant answers.  [default: 60]")
@click.option("--triplets", type=click.IntRange(min=1), help="Triplets a participant answers.  [default: 40]")
@click.option(
    "--practice", type=click.IntRange(min=0), help="Questions of each kind to practise on.  [default: 4]"
)
@click.option("--difficult", type=click.FloatRange(0, 1), help="The share of difficult ones.  [default: 0.5]")
@click.option("--blocks", type=click.IntRange(min=1), help="Tasks that each kind is cut into.  [default: 1]")
@click.option(
    "--pool", type=click.Path(), help="A CSV of questions marked easy or difficult: a,b,c,difficulty."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65_535), default=0, help="The port.  [default: any that is free]"
)
@click.option("--base-path", default="", metavar="/PATH", help="The path below which a proxy shows it.")
@click.option("--public-url", metavar="URL", help="The address by which browsers come, if it is another.")
@click.option("--open/--no-open", "open_browser", default=True, help="Open a browser.  [default: open]")
@click.option(
    "--sample", is_flag=True, help="Make a folder of handwritten digits at PATH first, to try it on."
)
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON document.")
@click.pass_context
def command(ctx: click.Context, /, **asked: Any) -> None:
    """Let people answer questions in a browser.

    The items are grouped by the answers. PATH is a folder of pictures or sounds, or a CSV or Parquet table. A
    project is made beside it, or the one that is there is opened again: nothing that was answered is ever
    lost. The login link on stdout works once; the same command gives another while the studio runs. Ctrl-C
    ends it.

    \b
    Examples:
      likewise studio photos/ -k 8
      likewise studio tickets.csv --text message --discover --overlap 2
      likewise studio birds.csv --audio file --id name -k 5 --ask both
      likewise studio vectors.csv --features embeddings.npy -k 12 --no-open -p 8080
      likewise studio --sample
    """
    from likewise._optional import require

    for package in ("fastapi", "uvicorn", "sqlalchemy", "alembic"):
        require(package, extra="studio")
    from likewise.studio.security import check_base
    from likewise.studio.server import StudioServer, check_public, make_login_link

    # What is wrong with these is said before a project is made.
    check_base(asked["base_path"])
    check_public(asked["public_url"])
    project = _open_project(ctx, asked)

    stderr = make_console()
    if changed := project.describe_changed_source():
        stderr.print(f"note: {changed}", style="yellow")
    if (url := project.find_running()) is not None:
        _print_links(make_login_link(project, url), [url], project, asked)
        stderr.print("The studio runs already; this is another login link for its owner.")
        return
    server = StudioServer(
        project,
        host=asked["host"],
        port=asked["port"],
        base=asked["base_path"],
        public=asked["public_url"],
    )
    if asked["host"] not in ("127.0.0.1", "localhost", "::1") and not asked["public_url"]:
        stderr.print(
            f"note: the studio listens at {asked['host']} without encryption; others on the network can read "
            "along. Put it behind a proxy with https, and give its address as --public-url.",
            style="yellow",
        )
    server.serve(ready=lambda studio, link: _announce(link, server.urls, project, asked))
    stderr.print(f"Ended. All answers are in {project.folder}.")


def _announce(link: str, urls: list[str], project: Project, asked: dict[str, Any]) -> None:
    _print_links(link, urls, project, asked)
    stderr = make_console()
    if len(urls) > 1:
        stderr.print(f"Others on the network reach the studio at {urls[0]}, or at {', '.join(urls[1:])}.")
    stderr.print(f"{project.settings.title}: {project.described.n_items:,} items, project {project.folder}")
    stderr.print("The link logs you in as the owner, once. Ctrl-C ends the studio; nothing is lost.")


def _print_links(link: str, urls: list[str], project: Project, asked: dict[str, Any]) -> None:
    if asked["as_json"]:
        print_json({"login": link, "url": urls[0], "urls": urls, "project": str(project.folder)})
    else:
        click.echo(link)
    sys.stdout.flush()
    if asked["open_browser"]:
        import threading
        import webbrowser

        # Beside all else: some browsers do not return before they are closed.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


# ---------------------------------------------------------------------- the project


def _open_project(ctx: click.Context, asked: dict[str, Any]) -> Project:
    """Open the project that is there, with what was asked for anew, or make one."""
    from likewise.studio.project import Project, get_default_folder

    path = asked["path"]
    if path is None and not asked["sample"]:
        raise click.UsageError(
            "give the PATH of a folder or a table, or --sample for handwritten digits to try it on."
        )
    path = Path(path or SAMPLE)
    if path.suffix == ".likewise" and path.is_dir():
        folder = path
    else:
        folder = Path(asked["folder"]) if asked["folder"] else get_default_folder(path)
    if not folder.exists():
        if not asked["study"] and (odd := [name for name in _OF_STUDIES if asked[name] is not None]):
            raise click.UsageError(f"--{odd[0]} is about a study; give --study too, or leave it out.")
        return _create_project(path, folder, asked, _make_source_options(ctx, asked))
    project = Project.open(folder, database=asked["db"])
    _check_database(asked["db"], project)
    changes = {name: value for name, value in _get_changed_settings(asked).items() if value is not None}
    if changes.get("n_clusters") is not None:
        changes["discover"] = asked["discover"]
    elif changes.get("discover"):
        changes["n_clusters"] = None
    was = project.options
    fixed = [
        f"--{name.replace('id_column', 'id')}"
        for name, value in _make_source_options(ctx, asked).items()
        if was.get(name) != value
    ]
    if fixed:
        raise click.UsageError(
            f"{folder} is there already, and {', '.join(fixed)} cannot be changed any more. Leave that out "
            f"to open it again, or give --project another folder to begin anew. {_warn_if_unused(project)}"
        )
    _check_clusters(asked, project.described.n_items)
    settings = dataclasses.replace(project.settings, **changes)
    return project if settings == project.settings else project.with_settings(settings)


def _warn_if_unused(project: Project) -> str:
    """Say so if nothing would be lost with a project."""
    from likewise.exceptions import StoreError
    from likewise.studio.store import open_store

    try:
        store = open_store(project.database_url)
        try:
            used = store.read(lambda tx: tx.get_last_seq())
        finally:
            store.close()
    except StoreError:
        return ""
    return "" if used else "It has no answers yet, so that you may as well remove it."


def _make_source_options(ctx: click.Context, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what was said of how the data are read, as JSON has it."""
    options = {
        name: asked[name]
        for name in _FIXED
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    for name in ("text", "drop"):
        if name in options:
            options[name] = list(options[name])
    for name in ("features", "pool"):
        if name in options:
            options[name] = str(Path(options[name]).resolve())
    return options


def _check_database(url: str | None, project: Project) -> None:
    """Refuse a database that is not the project's: its answers would seem lost, and others' would count."""
    if url is None or _hide_password(url) == project.settings.database:
        return
    kept = project.settings.database or f"{project.folder.name}/studio.sqlite"
    raise click.UsageError(
        f"{project.folder} keeps its answers in {kept}, and --db names another database. Leave --db out, or "
        "give that one. To go over to another, make a project with --db and --project, and bring the answers "
        "into it with likewise export --what answers and likewise import-answers."
    )


def _check_clusters(asked: dict[str, Any], n_items: int) -> None:
    if asked["clusters"] and asked["clusters"] > n_items:
        raise click.UsageError(f"-k {asked['clusters']} groups were asked of {n_items} items.")


def _get_changed_settings(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what the options say of settings that may change; None where they are silent."""
    options = {**asked, "n_clusters": asked["clusters"], "discover": asked["discover"] or None}
    return {name: options[name] for name in _CHANGEABLE}


def _create_project(path: Path, folder: Path, asked: dict[str, Any], options: dict[str, Any]) -> Project:
    """Read the data, find features, and make the project; `options` is kept in it."""
    from likewise.cli._studio_data import read_source
    from likewise.studio.project import Project
    from likewise.studio.records import Settings

    sample = asked["sample"] and not path.exists()
    stderr = make_console()
    known = None if asked["db"] is None else _read_answered_ids(asked["db"])
    if sample:
        from likewise.studio.sample import write_sample

        write_sample(path)
        stderr.print(f"Wrote handwritten digits to {path}.")
    if not asked["clusters"] and not asked["discover"]:
        if asked["sample"]:
            asked["clusters"] = _SAMPLE_CLUSTERS
        elif not asked["study"]:
            stderr.print(
                "note: neither -k nor --discover was given; groups are opened as answers demand them."
            )
            asked["discover"] = True
    with stderr.status("Reading the items …") as status:
        data = read_source(
            path,
            text=asked["text"],
            image=asked["image"],
            audio=asked["audio"],
            id_column=asked["id_column"],
            truth=asked["truth"],
            features=asked["features"],
            drop=asked["drop"] or (),
            encoding=asked["encoding"],
            seed=asked["seed"],
            progress=lambda done, total: status.update(f"Reading the items … {done:,} of {total:,}"),
        )
        for note in data.notes:
            stderr.print(f"note: {note}", style="yellow")
        _check_clusters(asked, data.described.n_items)
        if known:
            _check_known(known, {item.id for item in data.items}, path, stderr)
        if asked["study"]:
            data = _shuffle_items(data, asked["seed"])
            if not asked["clusters"] and not asked["discover"]:
                asked["clusters"] = len({item.truth for item in data.items} - {None}) or None
        wanted = {name: value for name, value in _get_changed_settings(asked).items() if value is not None}
        settings = Settings(
            seed=asked["seed"],
            database=_hide_password(asked["db"]),
            study=_make_study_options(asked, data) if asked["study"] else None,
            **{"title": path.resolve().stem, **wanted},
        )
        return Project.create(
            folder,
            X=data.X,
            items=data.items,
            settings=settings,
            described=data.described,
            source=path,
            database=asked["db"],
            options=options,
        )


def _read_answered_ids(url: str) -> list[str]:
    """Return the ids of items that a database has answers about, in the order of the answers."""
    from likewise.studio.store import open_store

    store = open_store(url)
    try:
        events = store.read(lambda tx: tx.get_events(kinds=["answer"]))
    finally:
        store.close()
    return [id for event in events for id in event.body.get("items", ())]


def _check_known(known: list[str], ids: set[str], path: Path, stderr: Any) -> None:
    """Take over the answers of a project that was lost, but never those about other items."""
    unknown = [id for id in known if id not in ids]
    if unknown:
        raise click.UsageError(
            f"the database holds answers about {unknown[0][:80]!r}, which is not among the items of {path}. "
            "A database is for one project; give an empty one, or an empty schema with "
            "?options=-csearch_path%3DNAME."
        )
    stderr.print("note: the database has answers about these items already; they count.")


def _hide_password(url: str | None) -> str | None:
    if url is None:
        return None
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        given = make_url(url)  # its set() takes None for "as it was"
    except (ArgumentError, ValueError):
        return None  # opening it says what is wrong, without the password
    query = {name: value for name, value in given.query.items() if name != "password"}
    plain = URL.create(given.drivername, given.username, None, given.host, given.port, given.database, query)
    return plain.render_as_string(hide_password=False)


def _shuffle_items(data: Any, seed: int) -> Any:
    """Put the items in a random order: where they are sorted by class, pages could tell it by their rows."""
    import numpy as np

    items = list(data.items)
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    mixed = [dataclasses.replace(items[at], row=row) for row, at in enumerate(order)]
    return dataclasses.replace(data, X=data.X[order], items=mixed)


def _make_study_options(asked: dict[str, Any], data: Any) -> dict[str, Any]:
    """Return the options of a study, after a look at whether it can be held."""
    from likewise.studio.study import Study, StudyOptions
    from likewise.studio.study.pool import read_pool

    if not data.described.has_truth:
        raise click.UsageError(
            "a study needs the true classes: name their column with --truth, or sort the files into a folder "
            "for each class."
        )
    names = {"pairs": "n_pairs", "triplets": "n_triplets"}
    given = {
        names.get(option, option): asked[option]
        for option in _OF_STUDIES
        if asked[option] is not None and option != "pool"
    }
    if asked["pool"] is not None:
        given["pool"] = read_pool(asked["pool"])
    options = StudyOptions(seed=asked["seed"], **given)
    items = list(data.items)
    Study(data.X, [item.id for item in items], [item.truth for item in items], options)
    return options.to_json()
