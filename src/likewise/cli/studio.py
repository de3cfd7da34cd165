"""``likewise studio``: let people answer questions in a browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _options as opt
from likewise.cli._methods import strategy_option
from likewise.cli._output import Command, make_console, print_json
from likewise.exceptions import BadRequestError

if TYPE_CHECKING:
    from likewise.studio.project import Project
    from likewise.studio.records import Settings

SAMPLE, _SAMPLE_TITLE = "sample-birds", "Birds"
_SAMPLE_CLUSTERS = 8
# Settings that may be changed when an existing project is opened.
_CHANGEABLE = ("n_clusters", "discover", "ask", "overlap", "budget", "strategy", "title")
# Settings that determine how the data are read; if given again, they must be the same.
_OF_STUDIES = ("pairs", "triplets", "practice", "difficult", "blocks", "sets", "pool")
_OF_FEATURES = ("features", "embeddings", "features_from")
_FIXED = (
    *("text", "image", "audio", "id_column", "truth", *_OF_FEATURES, "drop", "seed", "study"),
    *("window", "regions"),
    *_OF_STUDIES,
)


@dataclass(frozen=True, kw_only=True)
class StudioOptions:
    """The options of the command."""

    path: str | None = opt.argument(type=click.Path(), required=False)
    text: tuple[str, ...] = opt.column(
        "--text", multiple=True, help="A text column to show and compare; may be given several times."
    )
    image: str | None = opt.column(
        "--image", help="The column with paths of pictures, relative to the table."
    )
    audio: str | None = opt.column("--audio", help="The column with paths of sounds, relative to the table.")
    id_column: str | None = opt.column("--id", help="The column of ids; by default 0, 1, 2 and so on.")
    truth: str | None = opt.column(
        "--truth", help="The column of true classes, for a study. It is never shown."
    )
    embeddings: str | None = opt.embeddings()
    features: str | None = opt.path(
        "--features", metavar="FILE", help="A .npy file of features, one row per item; like --embeddings."
    )
    features_from: str = opt.features_from()
    window: float | None = opt.option(
        "--window",
        type=opt.NumberRange(0.1, 120),
        metavar="SECONDS",
        help="Cut the sounds of a folder into items of this length.",
    )
    regions: str | None = opt.path(
        "--regions",
        metavar="FILE",
        help="A CSV of regions of pictures, which are the items: file,x,y,width,height,id.",
    )
    drop: tuple[str, ...] | None = opt.columns(
        "--drop", help="Columns that are neither shown nor used; all others are shown."
    )
    encoding: str = opt.encoding_option("--encoding", "Encoding of a CSV file.")
    clusters: int | tuple[int, int] | None = opt.clusters(
        "The number of groups, or a range of it, such as 50:100."
    )
    discover: bool = opt.flag("--discover", help="The number of groups is unknown; answers open new ones.")
    ask: str | None = opt.choice(
        "--ask",
        values=["default", "pairs", "triplets", "both", "groups"],
        help="The kind of questions. By default groups if there are more than 30 or if their number is "
        "unknown, and pairs otherwise.",
    )
    overlap: int | None = opt.option(
        "--overlap", type=click.IntRange(1, 20), help="Number of people who get each question.  [default: 1]"
    )
    budget: int | None = opt.integer(
        "--budget", least=0, help="Maximum number of answers from all people together."
    )
    strategy: str | None = strategy_option()
    seed: int = opt.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Random seed.")
    title: str | None = opt.option(
        "--title", help="The title of the project on its pages.  [default: the name of PATH]"
    )
    folder: str | None = opt.path("--project", help="Folder of the project.  [default: beside PATH]")
    db: str | None = opt.option(
        "--db", metavar="URL", help="A PostgreSQL database instead of a file in the project folder."
    )
    study: bool = opt.flag(
        "--study", help="Run a study of pairs against triplets; the true classes must be known."
    )
    pairs: int | None = opt.integer("--pairs", least=1, help="Pairs per participant.  [default: 60]")
    triplets: int | None = opt.integer("--triplets", least=1, help="Triplets per participant.  [default: 40]")
    practice: int | None = opt.integer(
        "--practice", least=0, help="Practice questions of each kind.  [default: 4]"
    )
    difficult: float | None = opt.option(
        "--difficult", type=opt.NumberRange(0, 1), help="Share of difficult questions.  [default: 0.5]"
    )
    blocks: int | None = opt.integer("--blocks", least=1, help="Number of tasks for each kind.  [default: 1]")
    sets: bool | None = opt.flag(
        "--sets", default=None, help="The items are of several data sets; classes are named set/class."
    )
    pool: str | None = opt.path(
        "--pool", help="A CSV of questions marked easy or difficult: a,b,c,difficulty."
    )
    host: str = opt.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
    port: int = opt.option(
        "-p", "--port", type=click.IntRange(0, 65_535), default=0, help="The port.  [default: any free port]"
    )
    base_path: str = opt.option(
        "--base-path", default="", metavar="/PATH", help="The path at which a proxy serves the studio."
    )
    public_url: str | None = opt.option(
        "--public-url", metavar="URL", help="The address that browsers use, if it differs."
    )
    open_browser: bool = opt.option("--open/--no-open", default=True, help="Open a browser.  [default: open]")
    add: bool = opt.flag(
        "--add", help="Add what is new in PATH to its project; groups stay until an answer moves them."
    )
    sample: bool = opt.flag(
        "--sample", help="Create a folder of drawn birds at PATH first, to try the studio."
    )
    as_json: bool = opt.flag("--json", help="Print the addresses as one JSON document.")

    def get_text_columns(self) -> list[str]:
        """Return the columns of text."""
        return [name for value in self.text for name in opt.parse_names(value)]

    def get_changed_settings(self) -> dict[str, Any]:
        """Return the changeable settings that were given."""
        options = {**vars(self), "n_clusters": self.clusters, "discover": self.discover or None}
        return {name: options[name] for name in _CHANGEABLE if options[name] is not None}

    def check_clusters(self, n_items: int) -> None:
        """Raise an error if there are more groups than items."""
        most = self.clusters[1] if isinstance(self.clusters, tuple) else self.clusters
        if most and most > n_items:
            given = opt.format_clusters(self.clusters)
            raise click.UsageError(f"-k {given} needs at least as many items; got {n_items}.")

    def check_range(self, settings: Settings) -> None:
        """Raise an error if a range of groups is given with what needs a single number."""
        try:
            settings.check_range()
        except BadRequestError as error:
            raise click.UsageError(str(error)) from error


@click.command("studio", cls=Command)
@opt.collect_options(StudioOptions)
@click.pass_context
def command(ctx: click.Context, asked: StudioOptions) -> None:
    """Let people answer questions in a browser.

    The items are grouped by the answers. PATH is a folder of pictures or sounds, or a CSV or Parquet table. A
    project is created beside it, or opened if it exists; no answer is ever lost. The login link on stdout
    works once; run the same command again for another one while the studio runs. Ctrl-C ends it.

    \b
    Examples:
      likewise studio photos/ -k 8
      likewise studio tickets.csv --text message --discover --overlap 2
      likewise studio birds.csv --audio file --id name -k 5 --ask both
      likewise studio vectors.csv --embeddings vectors.npy -k 12 --no-open -p 8080
      likewise studio tickets.csv --text message -k 50:100
      likewise studio photos/ --add
      likewise studio --sample
    """
    from likewise._optional import require

    for package in ("fastapi", "uvicorn", "sqlalchemy", "alembic"):
        require(package, extra="studio")
    from likewise.studio.security import check_base
    from likewise.studio.server import StudioServer, check_public, make_login_link

    # Check these before a project is created.
    if asked.features and asked.embeddings:
        raise click.UsageError("--features and --embeddings are the same here; give one of them.")
    check_base(asked.base_path)
    check_public(asked.public_url)
    project = _open_project(ctx, asked)

    stderr = make_console()
    if asked.add:
        project = _add_items(project, asked)
    if changed := project.describe_changed_source():
        stderr.print(f"note: {changed}", style="yellow")
    if (url := project.find_running()) is not None:
        _print_links(make_login_link(project, url), [url], project, asked)
        stderr.print("The studio is running already; this is another login link for its owner.")
        return
    server = StudioServer(
        project, host=asked.host, port=asked.port, base=asked.base_path, public=asked.public_url
    )
    if asked.host not in ("127.0.0.1", "localhost", "::1") and not asked.public_url:
        stderr.print(
            f"note: the studio listens on {asked.host} without encryption; others on the network can read "
            "the traffic. Put it behind a proxy with https, and give its address as --public-url.",
            style="yellow",
        )
    server.serve(ready=lambda studio, link: _announce(link, server.urls, project, asked))
    stderr.print(f"Ended. All answers are in {project.folder}.")


def _announce(link: str, urls: list[str], project: Project, asked: StudioOptions) -> None:
    _print_links(link, urls, project, asked)
    stderr = make_console()
    if len(urls) > 1:
        stderr.print(f"Others on the network reach the studio at {urls[0]}, or at {', '.join(urls[1:])}.")
    stderr.print(f"{project.settings.title}: {project.described.n_items:,} items, project {project.folder}")
    stderr.print("The link logs you in as the owner and works once. Ctrl-C ends the studio; nothing is lost.")


def _print_links(link: str, urls: list[str], project: Project, asked: StudioOptions) -> None:
    if asked.as_json:
        print_json({"login": link, "url": urls[0], "urls": urls, "project": str(project.folder)})
    else:
        click.echo(link)
    sys.stdout.flush()
    if asked.open_browser:
        import threading
        import webbrowser

        # In a thread, because some browsers block until they are closed.
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


# ---------------------------------------------------------------------- the project


def _open_project(ctx: click.Context, asked: StudioOptions) -> Project:
    """Open the existing project with changed settings, or create one."""
    from likewise.studio.project import Project, get_default_folder

    if asked.path is None and not asked.sample:
        raise click.UsageError(
            "give the PATH of a folder or a table, or --sample to try the studio with drawn birds."
        )
    path = Path(asked.path or SAMPLE)
    if asked.sample:
        _check_sample(path)
    if path.suffix == ".likewise" and path.is_dir():
        folder = path
    else:
        folder = Path(asked.folder) if asked.folder else get_default_folder(path)
    if not folder.exists():
        if asked.add:
            raise click.UsageError(
                f"there is no project {folder} to add items to. Leave --add out to create it."
            )
        if not asked.study and (odd := [name for name in _OF_STUDIES if getattr(asked, name) is not None]):
            raise click.UsageError(f"--{odd[0]} applies to studies; add --study, or leave it out.")
        return _create_project(path, folder, asked, _make_source_options(ctx, asked))
    project = Project.open(folder, database=asked.db)
    _check_database(asked.db, project)
    changes = asked.get_changed_settings()
    if changes.get("n_clusters") is not None:
        changes["discover"] = asked.discover
    elif changes.get("discover"):
        changes["n_clusters"] = None
    was = project.options
    fixed = [
        f"--{name.replace('id_column', 'id').replace('_', '-')}"
        for name, value in _make_source_options(ctx, asked).items()
        if was.get(name) != value
    ]
    if fixed:
        raise click.UsageError(
            f"{folder} exists, and {', '.join(fixed)} cannot be changed any more. Leave that out to open the "
            f"project, or give --project another folder for a new one. {_warn_if_unused(project)}"
        )
    asked.check_clusters(project.described.n_items)
    settings = replace(project.settings, **changes)
    asked.check_range(settings)
    return project if settings == project.settings else project.with_settings(settings)


def _check_sample(path: Path) -> None:
    """Raise an error if there is something at the path other than the sample."""
    from likewise.studio.sample import FIRST

    if path.exists() and not (path / FIRST).exists():
        raise click.UsageError(
            f"--sample draws birds in a new folder, and {path} exists already. Leave --sample out to use "
            "what is in it, or name a folder that does not exist."
        )


def _add_items(project: Project, asked: StudioOptions) -> Project:
    """Add what is new in the data, and replace what has changed; features are computed of these alone."""
    from likewise.cli._items import list_source_items, read_source
    from likewise.studio.additions import (
        add_from_source,
        check_additions_allowed,
        check_places,
        compare_with_source,
    )

    check_additions_allowed(project)
    stderr, was = make_console(), project.options
    names = ("text", "image", "audio", "id_column", "truth", "drop", "seed", "window", "regions")
    options = {name: was[name] for name in names if name in was}
    options |= {
        "features": was.get("features") or was.get("embeddings"),
        "features_option": "--features" if was.get("features") else "--embeddings",
        "encoding": asked.encoding,
    }
    with project.lock_items(), stderr.status("Reading the new items …") as status:
        project = type(project).open(project.folder, database=project.database)
        listed = list_source_items(project.source, **options)
        found = compare_with_source(project, listed)
        if not project.source.is_dir() and was.get("id_column") is None:
            check_places(project, listed, found)
        only = [*found.new, *found.maybe_changed]
        places, X = [], project.load_features()[:0]
        if only:
            data = read_source(
                project.source,
                lambda done, total: status.update(f"Reading the new items … {done:,} of {total:,}"),
                only=only,
                recipe=project.read_recipe(),
                **options,
            )
            places, X = [only[row] for row in data.rows], data.X
            for note in data.left_out_notes:
                stderr.print(f"note: {note}", style="yellow")
        project, done = add_from_source(project, listed, found, places, X)
    for sentence in done.describe():
        stderr.print(sentence)
    return project


def _warn_if_unused(project: Project) -> str:
    """Return a remark if the project has no answers and can be deleted."""
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
    return "" if used else "It has no answers yet, so you can also delete it."


def _make_source_options(ctx: click.Context, asked: StudioOptions) -> dict[str, Any]:
    """Return the options for reading the data as JSON values."""
    options = {
        name: getattr(asked, name)
        for name in _FIXED
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if "text" in options:
        options["text"] = asked.get_text_columns()
    if "drop" in options:
        options["drop"] = list(options["drop"])
    for name in ("features", "embeddings", "pool", "regions"):
        if name in options:
            options[name] = str(Path(options[name]).resolve())
    return options


def _check_database(url: str | None, project: Project) -> None:
    """Raise an error if the database is not the project's: it would show the answers of another project."""
    if url is None or _hide_password(url) == project.settings.database:
        return
    kept = project.settings.database or f"{project.folder.name}/studio.sqlite"
    raise click.UsageError(
        f"{project.folder} keeps its answers in {kept}, and --db is another database. Leave --db out, or "
        "give that one. To move to another database, create a project with --db and --project, and copy the "
        "answers with likewise export --what answers and likewise import-answers."
    )


def _create_project(path: Path, folder: Path, asked: StudioOptions, options: dict[str, Any]) -> Project:
    """Read the data, compute features, and create the project, which stores `options`."""
    from likewise.cli._items import read_source
    from likewise.studio.project import Project
    from likewise.studio.records import Settings

    sample = asked.sample and not path.exists()
    stderr = make_console()
    known = None if asked.db is None else _read_answered_ids(asked.db)
    if sample:
        from likewise.studio.sample import write_sample

        write_sample(path)
        stderr.print(f"Wrote drawings of birds to {path}.")
    wording = None
    if asked.sample:
        from likewise.studio.sample import WORDING

        wording = WORDING
    if not asked.clusters and not asked.discover:
        if asked.sample:
            asked = replace(asked, clusters=_SAMPLE_CLUSTERS)
        elif not asked.study:
            stderr.print("note: without -k or --discover, answers open new groups as needed.")
            asked = replace(asked, discover=True)
    if asked.sets and path.is_dir() and asked.truth is None:
        asked = replace(asked, truth="folder")  # such as flowers/rose
    with stderr.status("Reading the items …") as status:
        names = ("image", "audio", "id_column", "truth", "encoding", "seed", "window", "regions")
        data = read_source(
            asked.path or path,  # as given, for errors: Path("https://…") loses a slash
            lambda done, total: status.update(f"Reading the items … {done:,} of {total:,}"),
            text=asked.get_text_columns(),
            drop=asked.drop or (),
            features=asked.features or asked.embeddings,
            features_option="--features" if asked.features else "--embeddings",
            method=asked.features_from,
            leave_out_blank=True,
            **{name: getattr(asked, name) for name in names},
        )
        stderr.print(f"features: {data.described.features}")
        for note in data.notes:
            stderr.print(f"note: {note}", style="yellow")
        asked.check_clusters(data.described.n_items)
        if known:
            _check_known(known, {item.id for item in data.items}, path, stderr)
        if asked.study:
            data = _shuffle_items(data, asked.seed)
            if not asked.clusters and not asked.discover:
                n_classes = len({item.truth for item in data.items} - {None})
                asked = replace(asked, clusters=n_classes or None)
        settings = Settings(
            seed=asked.seed,
            database=_hide_password(asked.db),
            study=_make_study_options(asked, data) if asked.study else None,
            **{
                "title": _SAMPLE_TITLE if wording else path.resolve().stem,
                **asked.get_changed_settings(),
            },
        )
        asked.check_range(settings)
        return Project.create(
            folder,
            X=data.X,
            items=data.items,
            settings=settings,
            described=data.described,
            source=path,
            database=asked.db,
            options=options,
            recipe=data.recipe,
            wording=wording,
        )


def _read_answered_ids(url: str) -> list[str]:
    """Return the ids of the items with answers in a database, in the order of the answers."""
    from likewise.studio.store import open_store

    store = open_store(url)
    try:
        events = store.read(lambda tx: tx.get_events(kinds=["answer"]))
    finally:
        store.close()
    return [id for event in events for id in event.body.get("items", ())]


def _check_known(known: list[str], ids: set[str], path: Path, stderr: Any) -> None:
    """Accept existing answers about these items, but raise an error for answers about other items."""
    unknown = [id for id in known if id not in ids]
    if unknown:
        raise click.UsageError(
            f"the database has answers about {unknown[0][:80]!r}, which is not among the items of {path}. "
            "Each project needs its own database; give an empty one, or an empty schema with "
            "?options=-csearch_path%3DNAME."
        )
    stderr.print("note: the database already has answers about these items; they are used.")


def _hide_password(url: str | None) -> str | None:
    if url is None:
        return None
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        given = make_url(url)  # its set() interprets None as "unchanged"
    except (ArgumentError, ValueError):
        return None  # opening it raises an error without the password
    query = {name: value for name, value in given.query.items() if name != "password"}
    plain = URL.create(given.drivername, given.username, None, given.host, given.port, given.database, query)
    return plain.render_as_string(hide_password=False)


def _shuffle_items(data: Any, seed: int) -> Any:
    """Put the items in random order, since row numbers would reveal the class if they are sorted by class."""
    import numpy as np

    items = list(data.items)
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    mixed = [replace(items[at], row=row) for row, at in enumerate(order)]
    return replace(data, X=data.X[order], items=mixed)


def _make_study_options(asked: StudioOptions, data: Any) -> dict[str, Any]:
    """Return the options of a study; raise an error if it cannot be run."""
    from likewise.studio.study import Study, StudyOptions
    from likewise.studio.study.pool import read_pool

    if not data.described.has_truth:
        raise click.UsageError(
            "a study needs the true classes: give their column with --truth, or sort the files into one "
            "folder per class."
        )
    names = {"pairs": "n_pairs", "triplets": "n_triplets"}
    given = {
        names.get(name, name): value
        for name in _OF_STUDIES
        if (value := getattr(asked, name)) is not None and name != "pool"
    }
    if asked.pool is not None:
        given["pool"] = read_pool(asked.pool)
    options = StudyOptions(seed=asked.seed, **given)
    items = list(data.items)
    Study(data.X, [item.id for item in items], [item.truth for item in items], options)
    return options.to_json()
