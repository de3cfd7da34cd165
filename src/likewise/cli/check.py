"""``likewise check``: check a file of hints before any clustering."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from likewise.cli._options import (
    TableOptions,
    argument,
    collect_options,
    column_option,
    flag_option,
    integer_option,
)
from likewise.cli._output import Command, check_inputs, gather_warnings, print_json, print_notes

if TYPE_CHECKING:
    from likewise.cli._contradictions import LinkConflict, TripletConflict
    from likewise.supervision import Diagnosis

SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of the command."""

    hints: str = argument(type=click.Path())
    data: str = argument(type=click.Path(allow_dash=True))
    clusters: int | None = integer_option(
        "-k",
        "--clusters",
        least=1,
        help="Also check that this many clusters suffice, and how many links k-means alone would break.",
    )
    bag_column: str | None = column_option(
        "--bag-column", help="The column of DATA with the bag of each row; HINTS is then a table bag,labels."
    )
    table: TableOptions
    truth: str | None = column_option(
        "--truth", help="A column of true classes to compare the hints with; it is not used as a feature."
    )
    as_json: bool = flag_option("--json", help="Print the findings as one JSON document.")


@click.command("check", cls=Command)
@collect_options(CheckOptions)
def command(asked: CheckOptions) -> None:
    """Check a file of hints before using it.

    Reads HINTS for the rows of DATA (CSV, Parquet or .npy; - is stdin) and reports the number of hints and of
    hinted rows, which hints are redundant or contradict one another, and the minimum number of clusters. The
    exit code is 1 if hints contradict one another.

    The last line rates the links. "60% informative": k-means without hints breaks 60% of them (needs -k).
    "38% coherent": of all pairs of a must-link and a cannot-link, 38% do not act along the same direction in
    the feature space. With few coherent pairs, links can make a clustering worse.

    \b
    Examples:
      likewise check hints.csv data.csv
      likewise check hints.csv data.csv --id name -k 3 --json
      likewise check bags.csv rows.csv --bag-column bag
    """
    check_inputs(asked.hints, asked.data)
    from likewise.cli._bag_report import describe_labels, describe_sizes, read_bag_hints
    from likewise.cli._contradictions import compare_with_truth, find_link_conflicts, find_triplet_conflicts
    from likewise.cli._data_tables import get_ids, get_texts, make_table
    from likewise.cli._raw_tables import read_raw
    from likewise.exceptions import FileFormatError

    table, truth, clusters = asked.table, asked.truth, asked.clusters
    columns = table.make_roles(truth, asked.bag_column)
    with gather_warnings() as notes:
        raw = read_raw(asked.data, header=not table.no_header, encoding=table.encoding)
        columns.check(raw)
        ids = get_ids(raw, table.id_column)
        if asked.bag_column is None:
            all_hints = table.read_hints([asked.hints], ids, data=raw.path)
        else:
            bags = get_texts(raw, asked.bag_column)
            all_hints = read_bag_hints(
                asked.hints, bags, encoding=table.hints_encoding, column=asked.bag_column
            )
        X = None
        no_coherence = None
        try:
            X = make_table(raw, columns).X
        except FileFormatError as error:  # without features all is checked except the coherence
            no_coherence = str(error)
        found = all_hints.diagnose(X, labels=_cluster_without_hints(X, clusters))
        links, triplets = find_link_conflicts(all_hints, ids), find_triplet_conflicts(all_hints, ids)
        agreement = None if truth is None else compare_with_truth(all_hints, get_texts(raw, truth), ids)
    if no_coherence is not None and found.n_must and found.n_cannot:
        notes.append(f"coherence is left out: {no_coherence}")
    too_few = clusters is not None and found.min_clusters > clusters
    if asked.as_json:
        print_json(
            {
                **dataclasses.asdict(found),
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
        _print_worth(found)
        if all_hints.bags is not None:
            click.echo(f"            {describe_sizes(all_hints.bags)}")
            _print_label_counts(describe_labels(all_hints.bags))
        if agreement is not None:
            click.echo(f"truth       {agreement}")
        _print_conflicts(links, triplets)
        if agreement is not None and agreement.against:
            click.echo(f"\nhints that disagree with the column {truth!r} (= together, ≠ apart)")
            _print_some(list(agreement.against))
        print_notes(notes)
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


def _print_worth(found: Diagnosis) -> None:
    """Explain the percentages in the last line of the diagnosis."""
    if found.informativeness is not None:
        click.echo("            informative: share of the links that k-means without hints breaks")
    if found.coherence is not None:
        click.echo("            coherent: share of pairs of a must-link and a cannot-link that do not act")
        click.echo("            along the same direction; if it is low, links can make a clustering worse")


def _print_label_counts(words: dict[str, Any]) -> None:
    if not words["labelled"]:
        return
    click.echo(
        f"bag labels  {words['classes']} class(es), {words['labels_a_bag']:.1f} per bag on average; "
        f"{words['bags_with_one_label']} bag(s) with one label; {words['label_sets']} different sets"
    )
    if once := words["in_one_bag_only"]:
        more = f" and {len(once) - SHOWN} more" if len(once) > SHOWN else ""
        click.echo(f"            in one bag only: {', '.join(once[:SHOWN])}{more}")


def _print_conflicts(links: list[LinkConflict], triplets: list[TripletConflict]) -> None:
    if links:
        click.echo("\ncontradictions among links and labels (= together, ≠ apart)")
        _print_some(links)
    if triplets:
        click.echo("\ntriplets with more than one answer")
        _print_some(triplets)


def _print_some(conflicts: list[Any]) -> None:
    for conflict in conflicts[:SHOWN]:
        click.echo(f"  {conflict}")
    if len(conflicts) > SHOWN:
        click.echo(f"  and {len(conflicts) - SHOWN} more; --json lists all")
