"""``likewise demo``: show on generated data how a clustering improves with more hints."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _output as output
from likewise.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from likewise.supervision import RowIds, Supervision

BUDGETS = (0, 2, 5, 10, 20, 40)
N_DRAWS = 20  # results vary much with which few hints are drawn
N_CLUSTERS = 3
FEATURES = ("width", "height")
_BAR = 30


@dataclass(frozen=True)
class Round:
    """Scores of clusterings with one number of hints, averaged over draws of the hints."""

    n_hints: int
    ari_untouched: float  # adjusted Rand index on the rows without hints in any round of the draw
    ari_all: float
    kept: float  # share of the hints that the clustering keeps


@click.command("demo", cls=output.Command)
@click.option(
    "--out-dir",
    type=click.Path(),
    default="likewise-demo",
    show_default=True,
    help="The folder for the files; it is created if necessary.",
)
@click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rounds as one JSON document.")
def command(out_dir: str, seed: int, as_json: bool) -> None:
    """Watch a clustering improve with more hints.

    Generates 300 rows that can be grouped in two ways, of which the less obvious one is the true one, and
    clusters them with 0 to 40 hints, for 20 draws of the hints. Writes the data, the hints and labels of the
    first draw, and a picture to a folder. The last line is a command to run next.

    \b
    Examples:
      likewise demo
      likewise demo --out-dir /tmp/demo --seed 7
    """
    from likewise.cli._report import make_labels_table
    from likewise.datasets import make_two_views
    from likewise.kmeans import MPCKMeans
    from likewise.supervision import RowIds

    folder = Path(out_dir)
    toy = make_two_views(random_state=seed)
    ids = RowIds.from_ids([f"r{row:03}" for row in range(len(toy.X))])
    runs: list[list[Round]] = []
    with output.gather_warnings() as notes, output.show_progress(N_DRAWS + 1) as step:
        for draw in range(N_DRAWS):
            step(f"clustering, draw {draw + 1} of {N_DRAWS}")
            growing = draw_growing_hints(toy.y, seed + draw)
            models = [MPCKMeans(N_CLUSTERS, random_state=seed).fit(toy.X, supervision=h) for h in growing]
            if draw == 0:
                hints, found = growing[-1], models[-1].labels_
            rows = zip(models, growing, strict=True)
            runs.append([_run_round(toy.y, model.labels_, h, growing[-1]) for model, h in rows])
        step("drawing")
        picture = _draw_picture(toy.X, found, hints, notes)
    scored = ("ari_untouched", "ari_all", "kept")
    rounds = [
        Round(group[0].n_hints, *(fmean(getattr(one, name) for one in group) for name in scored))
        for group in zip(*runs, strict=True)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "id": list(ids),
        **{name: toy.X[:, c].tolist() for c, name in enumerate(FEATURES)},
        "group": [f"g{code}" for code in toy.y.tolist()],
    }
    with output.Outputs() as outputs:
        outputs.add_table(str(folder / "data.csv"), data)
        outputs.add_table(str(folder / "hints.csv"), _as_links(hints, ids))
        outputs.add_table(str(folder / "labels.csv"), make_labels_table(ids, found))
        if picture is not None:
            outputs.add(str(folder / "clusters.png"), picture.save)
    if as_json:
        todo = suggest_command(folder, picture is not None)
        output.print_json({"rounds": [vars(one) for one in rounds], "next": todo, "notes": notes})
    else:
        _print_rounds(rounds, folder, picture is not None, notes)


def draw_growing_hints(y: Any, seed: int) -> list[Supervision]:
    """Return growing sets of links, each of which contains the one before it."""
    import numpy as np

    from likewise.supervision import Supervision, sample_links

    drawn = sample_links(y, BUDGETS[-1], random_state=seed)
    pairs = np.concatenate([drawn.must, drawn.cannot])
    is_must = np.arange(len(pairs)) < len(drawn.must)
    order = np.random.RandomState(seed).permutation(len(pairs))
    return [
        Supervision.from_links(len(y), must=pairs[use[is_must[use]]], cannot=pairs[use[~is_must[use]]])
        for use in (order[:n] for n in BUDGETS)
    ]


def suggest_command(folder: Path, drawn: bool) -> str:
    """Return a command that repeats the last round from the files."""
    words = [
        output.get_program_name(),
        "cluster",
        str(folder / "data.csv"),
        "-k",
        str(N_CLUSTERS),
        "--id",
        "id",
    ]
    words += ["--truth", "group", "--hints", str(folder / "hints.csv")]
    words += ["--out", str(folder / "labels.csv")]
    words += ["--plot", str(folder / "clusters.png")] if drawn else []
    return shlex.join(words)


def _as_links(hints: Supervision, ids: RowIds) -> dict[str, list[str]]:
    """Return the links in the layout that is easiest to edit: a, b, link."""
    names = list(ids)
    pairs = [(i, j, "must") for i, j in hints.must.tolist()]
    pairs += [(i, j, "cannot") for i, j in hints.cannot.tolist()]
    rows = [(names[i], names[j], kind) for i, j, kind in pairs]
    return dict(zip(("a", "b", "link"), map(list, zip(*rows, strict=True)), strict=True))


def _run_round(y: Any, labels: Any, hints: Supervision, all_hints: Supervision) -> Round:
    from sklearn.metrics import adjusted_rand_score

    from likewise.evaluation import link_satisfaction

    # Score the same rows in every round so that the scores are comparable.
    rest = ~all_hints.touched
    return Round(
        n_hints=len(hints.must) + len(hints.cannot),
        ari_untouched=float(adjusted_rand_score(y[rest], labels[rest])),
        ari_all=float(adjusted_rand_score(y, labels)),
        kept=link_satisfaction(labels, hints).share,
    )


def _draw_picture(X: Any, labels: Any, hints: Supervision, notes: list[str]) -> Any:
    from likewise.plotting import ClusterDisplay

    title = f"mpck-means with {BUDGETS[-1]} hints"
    try:
        return ClusterDisplay.from_predictions(
            X, labels, supervision=hints, feature_names=FEATURES, title=title
        )
    except MissingDependencyError as error:
        notes.append(f"there is no picture: {error}")
        return None


def _print_rounds(rounds: list[Round], folder: Path, drawn: bool, notes: list[str]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("hints", justify="right")
    table.add_column("ARI, rows without hints", min_width=_BAR + 7)
    table.add_column("ARI, all rows", justify="right")
    table.add_column("hints kept", justify="right")
    for one in rounds:
        bar = "█" * round(_BAR * max(one.ari_untouched, 0.0))
        cells = (
            f"{one.ari_untouched:5.2f} {bar}",
            f"{one.ari_all:.2f}",
            f"{one.kept:.0%}" if one.n_hints else "",
        )
        table.add_row(str(one.n_hints), *cells)
    stdout = output.make_console(stderr=False)
    stdout.print(
        "300 rows in 3 groups; k-means alone finds another grouping, and hints lead to the right one."
    )
    stdout.print(f"Scores are means over {N_DRAWS} draws of the hints (ARI: 1 is perfect, 0 is random).")
    stdout.print(table)
    for note in notes:
        stdout.print(f"note: {note}", style="yellow")
    names = ["data.csv", "hints.csv", "labels.csv", *(["clusters.png"] if drawn else [])]
    stdout.print(f"wrote {', '.join(names)} to {folder} (another demo overwrites them)\n")
    stdout.print("to answer questions about data in a browser, run: make studio\n")
    stdout.print("next, cluster the same file yourself, then edit hints.csv and try again:")
    stdout.print(f"  {suggest_command(folder, drawn)}", style="bold")
