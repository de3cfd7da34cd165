"""``likewise check``: check a file of hints before any clustering."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise.cli import _options as opt
from likewise.cli import _output as output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from likewise.supervision import Diagnosis, RowIds, Supervision


_FEWEST_LINKS = 5  # of each kind, for a verdict on their coherence
_N_RANDOM_LINKS = 300  # must-links, and as many cannot-links, whose coherence is that of chance


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of the command."""

    hints: str = opt.argument(type=click.Path())
    data: str = opt.argument(type=click.Path(allow_dash=True))
    clusters: int | None = opt.integer(
        "-k",
        "--clusters",
        least=1,
        help="Also check that this many clusters suffice, and how many links k-means alone would break.",
    )
    bag_column: str | None = opt.column(
        "--bag-column", help="The column of DATA with the bag of each row; HINTS is then a table bag,labels."
    )
    table: opt.TableOptions
    standardize: bool = opt.standardize()
    truth: str | None = opt.column(
        "--truth", help="A column of true classes to compare the hints with; it is not used as a feature."
    )
    as_json: bool = opt.flag("--json", help="Print the findings as one JSON document.")


@click.command("check", cls=output.Command)
@opt.collect_options(CheckOptions)
def command(asked: CheckOptions) -> None:
    """Check a file of hints before using it.

    Reads HINTS for the rows of DATA (CSV, Parquet or .npy, a folder of pictures or sounds, or - for stdin)
    and reports the number of hints and of hinted rows, which hints are redundant or contradict one another,
    and the minimum number of clusters. The exit code is 1 if hints contradict one another.

    The last line rates the links. "60% informative": k-means without hints breaks 60% of them (needs -k).
    "38% coherent": of all pairs of a must-link and a cannot-link, 38% do not act along the same direction in
    the feature space. It is compared with the coherence of links between random rows: links that are clearly
    less coherent than these can make a clustering worse.

    \b
    Examples:
      likewise check hints.csv data.csv
      likewise check hints.csv data.csv --id name -k 3 --json
      likewise check bags.csv rows.csv --bag-column bag
      likewise check hints.csv tickets.csv --text message -k 8
    """
    output.check_inputs(asked.hints, asked.table.embeddings, data=asked.data)
    import numpy as np

    from likewise.cli._bag_report import describe_labels, describe_sizes, read_bag_hints
    from likewise.cli._methods import find_link_conflicts
    from likewise.exceptions import FileFormatError
    from likewise.tables import DataTable, get_ids, make_table, standardize_columns

    options, truth, clusters = asked.table, asked.truth, asked.clusters
    no_features = None
    with output.gather_warnings() as notes:
        if options.has_items(asked.data):
            with output.show_count("Computing features") as progress:
                table = options.read_table(asked.data, progress=progress, truth=truth, bag=asked.bag_column)
        else:
            columns = options.make_roles(truth=truth, bag=asked.bag_column)
            raw = options.read_columns(asked.data)
            columns.check(raw.names, raw.path)
            try:
                table = make_table(raw, columns)
            except FileFormatError as error:  # without features all is checked except the coherence
                no_features = str(error)
                kept = {name: raw.get_texts(name) for name in (truth, asked.bag_column) if name is not None}
                ids = get_ids(raw, options.id_column)
                table = DataTable(ids, np.empty((raw.n_rows, 0)), (), kept=kept)
        ids = table.ids
        if asked.bag_column is None:
            all_hints = options.read_hints([asked.hints], ids, data=asked.data)
        else:
            bags = table.kept[asked.bag_column]
            all_hints = read_bag_hints(
                asked.hints, bags, encoding=options.hints_encoding, column=asked.bag_column
            )
        X = None
        if no_features is None:
            X = standardize_columns(table.X) if asked.standardize else table.X
        found = all_hints.diagnose(X, labels=_cluster_without_hints(X, clusters))
        by_chance = None if found.coherence is None else _compute_chance_coherence(X)
        links, triplets = find_link_conflicts(all_hints, ids), find_triplet_conflicts(all_hints, ids)
        agreement = None if truth is None else compare_with_truth(all_hints, table.kept[truth], ids)
    notes[:0] = table.notes
    if no_features is not None and found.n_must and found.n_cannot:
        notes.append(f"coherence is left out: {no_features}")
    too_few = clusters is not None and found.min_clusters > clusters
    if asked.as_json:
        output.print_json(
            {
                **dataclasses.asdict(found),
                "feature_description": table.description,
                "chance_coherence": by_chance,
                "conflicts": [dataclasses.asdict(conflict) for conflict in links],
                "bags": None if all_hints.bags is None else describe_labels(all_hints.bags),
                "truth": None if agreement is None else dataclasses.asdict(agreement),
                "triplet_conflicts": [dataclasses.asdict(conflict) for conflict in triplets],
                "ok": not (links or triplets or too_few),
                "notes": notes,
            }
        )
    else:
        click.echo(str(found))
        if found.informativeness is not None:
            click.echo("            informative: share of the links that k-means without hints breaks")
        if found.coherence is not None and by_chance is not None:
            click.echo(
                "            coherent: share of pairs of a must-link and a cannot-link that do not act"
            )
            click.echo(
                f"            along the same direction. Links between random rows: {by_chance:.0%}. Verdict:"
            )
            click.echo(f"            {_judge_coherence(found, by_chance)}")
        if all_hints.bags is not None:
            click.echo(f"            {describe_sizes(all_hints.bags)}")
            _print_label_counts(describe_labels(all_hints.bags))
        if agreement is not None:
            click.echo(f"truth       {agreement}")
        _print_some("contradictions among links and labels (= together, ≠ apart)", links)
        _print_some("triplets with more than one answer", triplets)
        against = () if agreement is None else agreement.against
        _print_some(f"hints that disagree with the column {truth!r} (= together, ≠ apart)", against)
        output.print_features(table.description)
        output.print_notes(notes)
    if too_few:
        click.echo(
            f"the hints need at least {found.min_clusters} clusters, more than the {clusters} given.",
            err=True,
        )
    if links or triplets or too_few:
        raise click.exceptions.Exit(1)


def _cluster_without_hints(X: Any, n_clusters: int | None) -> Any:
    """Return the labels of k-means without hints, with which the links are compared."""
    if X is None or n_clusters is None or n_clusters > len(X):
        return None
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=5, random_state=0).fit_predict(X)


def _compute_chance_coherence(X: Any) -> float:
    """Return the coherence of links between random rows, with a fixed seed."""
    import numpy as np

    from likewise.supervision import Supervision

    rng = np.random.default_rng(0)
    first = rng.integers(len(X), size=2 * _N_RANDOM_LINKS)
    second = (first + rng.integers(1, len(X), size=len(first))) % len(X)
    pairs = np.column_stack([first, second])
    links = Supervision.from_links(len(X), must=pairs[:_N_RANDOM_LINKS], cannot=pairs[_N_RANDOM_LINKS:])
    coherence = links.diagnose(X).coherence
    assert coherence is not None
    return coherence


def _judge_coherence(found: Diagnosis, by_chance: float) -> str:
    """Say whether links are less coherent than random ones, by more than two standard errors."""
    n = min(found.n_must, found.n_cannot)  # pairs that share a link are not independent
    if n < _FEWEST_LINKS:
        return f"there are too few of one kind of links ({n}) to tell whether that is low"
    error = (by_chance * (1 - by_chance) / n) ** 0.5
    if found.coherence is not None and found.coherence < by_chance - 2 * error:
        return "clearly lower than by chance, so these links can make a clustering worse"
    return "not clearly lower than by chance, which is fine"


def _print_label_counts(words: dict[str, Any]) -> None:
    if not words["labelled"]:
        return
    click.echo(
        f"bag labels  {words['classes']} class(es), {words['labels_a_bag']:.1f} per bag on average; "
        f"{words['bags_with_one_label']} bag(s) with one label; {words['label_sets']} different sets"
    )
    if once := words["in_one_bag_only"]:
        more = f" and {len(once) - output.SHOWN} more" if len(once) > output.SHOWN else ""
        click.echo(f"            in one bag only: {', '.join(once[: output.SHOWN])}{more}")


def _print_some(title: str, conflicts: Sequence[Any]) -> None:
    if conflicts:
        click.echo(f"\n{title}")
    for line in output.format_first([f"  {conflict}" for conflict in conflicts], indent="  "):
        click.echo(line)


# ---------------------------------------------------------------------- triplets and true classes


@dataclass(frozen=True)
class TripletConflict:
    """A triplet with more than one answer."""

    items: tuple[str, str, str]
    answers: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.items)}: {' and '.join(self.answers)}"


def find_triplet_conflicts(hints: Supervision, ids: RowIds) -> list[TripletConflict]:
    """Return the triplets with more than one answer."""
    answers_of: dict[tuple[int, int, int], list[str]] = {}
    for (i, j, k), word in zip(hints.triplets.tolist(), hints.answer_words, strict=True):
        answers_of.setdefault((i, j, k), []).append(word)
    return [
        TripletConflict((ids[i], ids[j], ids[k]), tuple(words))
        for (i, j, k), words in answers_of.items()
        if len(words) > 1
    ]


@dataclass(frozen=True)
class TruthAgreement:
    """The number of hints that agree with the true classes; rows of unknown class are not counted."""

    right: dict[str, int]  # for each kind of hint, how many agree with the true classes
    compared: dict[str, int]  # and how many could be compared with them
    against: tuple[str, ...]  # the links and labels that disagree, by the ids of their rows

    def __str__(self) -> str:
        parts = [f"{self.right[kind]} of {n} {kind}" for kind, n in self.compared.items() if n]
        return f"{', '.join(parts)} agree with it" if parts else "no hint can be compared with it"


def compare_with_truth(hints: Supervision, classes: Sequence[str | None], ids: RowIds) -> TruthAgreement:
    """Compare links, triplets and labels with the true classes of the rows.

    >>> from likewise.supervision import RowIds, Supervision
    >>> hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
    >>> found = compare_with_truth(hints, ["owl", "owl", "wren", None], RowIds.from_ids(["a", "b", "c", "d"]))
    >>> print(found, found.against)
    1 of 2 must-links agree with it ('b = c',)
    """
    import numpy as np

    from likewise.evaluation import link_satisfaction, triplet_satisfaction

    names = sorted({name for name in classes if name is not None})
    code_of = {name: code for code, name in enumerate(names)}
    rows = np.array([row for row, name in enumerate(classes) if name is not None], dtype=np.int64)
    if not len(rows):
        return TruthAgreement({}, {}, ())
    codes = np.array([code_of[name] for name in classes if name is not None])
    known = hints[rows]
    links, triplets = link_satisfaction(codes, known), triplet_satisfaction(codes, known)
    labelled = np.flatnonzero(known.label_codes >= 0)
    wrong = [
        (row, known.classes[known.label_codes[row]])
        for row in labelled.tolist()
        if str(known.classes[known.label_codes[row]]) != names[codes[row]]
    ]
    pairs = [(links.violated_must, "="), (links.violated_cannot, "≠")]
    against = [
        f"{ids[rows[i]]} {sign} {ids[rows[j]]}" for violated, sign in pairs for i, j in violated.tolist()
    ]
    against += [f"{ids[rows[row]]} is {label}" for row, label in wrong]
    counts = {
        "must-links": (links.n_must_kept, links.n_must),
        "cannot-links": (links.n_cannot_kept, links.n_cannot),
        "triplets": (triplets.n_kept, triplets.n_triplets),
        "labels": (len(labelled) - len(wrong), len(labelled)),
    }
    right, compared = ({kind: pair[at] for kind, pair in counts.items()} for at in (0, 1))
    return TruthAgreement(right, compared, tuple(against))
