"""Write the tables of embeddings.py, growth.py and many_groups.py from their JSON files into the docs.

Run `python benchmarks/tables.py` after the benchmarks. In `benchmarks/README.md`, `docs/benchmarks.md` and
`docs/many-groups.md`, what stands between `<!-- table: embeddings fits -->` and `<!-- end of table -->` is
replaced by the table of the part `fits` in `results/embeddings.json`. A table whose part is missing there
stays as it is. On a clean checkout no page changes.
"""

import re
from pathlib import Path

import numpy as np

from _results import read_results

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "benchmarks" / "README.md",
    ROOT / "docs" / "benchmarks.md",
    ROOT / "docs" / "many-groups.md",
)
MARKED = re.compile(r"<!-- table: (\w+) (\w+) -->\n.*?<!-- end of table -->", re.DOTALL)
LINKS = {"random": "random links", "half": "half must-links"}
DATA = {
    "groups": "Gaussian groups",
    "embeddings": "mixed embeddings",
    "banking77": "Banking77",
    "clinc150": "CLINC150",
    "stackoverflow": "Stack Overflow",
}


def format_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |")


def group(records, *keys):
    """Return records by the values of some keys, in the order of their first appearance."""
    groups = {}
    for record in records:
        groups.setdefault(tuple(record.get(key) for key in keys), []).append(record)
    return groups


def average(records, key):
    return float(np.mean([record[key] for record in records]))


def format_name(method, links):
    if links is None:
        return f"scikit-learn's `{method}`" if method == "KMeans" else method
    return f"`{method}`, {LINKS[links]}"


def format_range(records, floor):
    """Return the smallest and the largest ratio of CPU times to the floor with the same seed."""
    base = {record["seed"]: record["cpu"] for record in floor}
    ratios = [record["cpu"] / base[record["seed"]] for record in records]
    return f"{min(ratios):.2f}–{max(ratios):.2f}"


def make_fits(part):
    rows = []
    for (data, dtype), records in group(part["rows"], "data", "dtype").items():
        methods = group(records, "method", "links")
        floor = methods["KMeans", None]
        for (method, links), runs in methods.items():
            more = average(runs, "inertia") / average(floor, "inertia") - 1
            is_floor = runs is floor
            rows.append(
                [
                    f"{DATA[data]}, {dtype}" if is_floor else "",
                    format_name(method, links),
                    f"{average(runs, 'cpu'):.2f}",
                    "1" if is_floor else f"{average(runs, 'cpu') / average(floor, 'cpu'):.2f}",
                    "" if is_floor else format_range(runs, floor),
                    f"{average(runs, 'n_iter'):.0f}",
                    f"{average(runs, 'inertia'):,.0f}"
                    if is_floor
                    else f"{100 * more:+.1f} %".replace("-", "−"),
                ]
            )
    peers = ", ".join(f"{name} {version}" for name, version in part["peers"].items())
    note = f" Peers: {peers}." if peers else " The peers were not installed."
    header = ["rows", "method", "CPU s", "times `KMeans`", "range over seeds", "iterations", "inertia"]
    return note, format_table(header, rows)


def make_nmi(part):
    sets = group(part["rows"], "data")
    rows = []
    for (method, links), runs in group(part["rows"], "method", "links").items():
        by_set = group(runs, "data")
        cells = []
        for name, records in sets.items():
            floor = [record for record in records if record["method"] == "KMeans"]
            mine = by_set[name]
            gain = average(mine, "nmi") - average(floor, "nmi")
            gained = "" if method == "KMeans" else f" ({gain:+.3f})".replace("-", "−").replace("0.", ".")
            cells += [f"{average(mine, 'nmi'):.3f}".lstrip("0") + gained]
            cells += [f"{average(mine, 'cpu') / average(floor, 'cpu'):.1f}"]
        rows.append([format_name(method, links), *cells])
    header = [""] + [cell for (name,) in sets for cell in (DATA[name], "times `KMeans`")]
    return "", format_table(header, rows)


def make_sparse(part):
    rows = []
    for (columns, dtype), records in group(part["rows"], "columns", "dtype").items():
        methods = group(records, "method", "links")
        floor = methods["KMeans", None]
        for (method, links), runs in methods.items():
            dense = [record for record in runs if "equal_to_dense" in record]
            is_floor = runs is floor
            rows.append(
                [
                    f"{part['n_rows']:,} x {columns:,}, {dtype}" if is_floor else "",
                    format_name(method, links),
                    f"{average(runs, 'cpu'):.2f}",
                    "1" if is_floor else f"{average(runs, 'cpu') / average(floor, 'cpu'):.2f}",
                    f"{average(runs, 'n_iter'):.0f}",
                    f"{100 * dense[0]['equal_to_dense']:.0f} %, ARI {dense[0]['dense_ari']:.2f}"
                    if dense
                    else "",
                ]
            )
    header = ["rows", "method", "CPU s", "times `KMeans`", "iterations", "labels equal to the dense fit"]
    return "", format_table(header, rows)


def make_cannot(part):
    rows = [
        [f"`{r['method']}`", f"{r['hints']:.1f}", f"{r['cpu']:.1f}", str(r["n_iter"]), f"{r['violated']:,}",
         f"{r['nmi']:.3f}"]
        for r in part["rows"]
    ]  # fmt: skip
    header = ["", "CPU s of `Supervision.from_links`", "CPU s of the fit", "iterations", "violated", "NMI"]
    return "", format_table(header, rows)


def make_large(part):
    rows = [
        [DATA[r["data"]], f"{r['wall']:.0f}", f"{r['cpu']:.0f}", str(r["n_iter"]),
         f"{r['MiB_peak'] / 1024:.1f}", f"{r['nmi']:.3f}"]
        for r in part["rows"]
    ]  # fmt: skip
    header = ["`PCKMeans`", "seconds", "CPU s", "iterations", "GiB of the process at most", "NMI"]
    return "", format_table(header, rows)


def make_cells(part):
    cells = {(record["method"], record["rows"]): record for record in part["rows"]}
    sizes = sorted({record["rows"] for record in part["rows"]})
    floors = group([r for r in part["rows"] if r["floor"] is None], "method")
    rows = []
    for (floor,) in floors:
        used = [r for r in part["rows"] if r["floor"] == floor]
        for (name,) in [(floor,), *group(used, "method")]:
            times, memory = [], []
            for n in sizes:
                record, base = cells.get((name, n)), cells.get((floor, n), {})
                if record is None:
                    times, memory = [*times, "–"], [*memory, "–"]
                elif "stopped" in record:
                    told = any("take about" in line for line in record.get("warnings", []))
                    times, memory = (
                        [*times, record["stopped"] + (", announced" if told else "")],
                        [*memory, "–"],
                    )
                else:
                    ratio = (
                        f" ({record['cpu'] / base['cpu']:.1f} x)" if name != floor and "cpu" in base else ""
                    )
                    times.append(f"{record['cpu']:.2g}{ratio}")
                    memory.append(f"{record['MiB']:.0f}")
            short = name.removesuffix(", graph")
            given = ", graph given" if short != name else ""
            shown = f"**`{short}`**{given}" if name == floor else f"`{short}`{given}"
            rows.append([shown, *times, " / ".join(memory)])
    header = ["CPU s (times its floor)", *(f"{n:,} rows" for n in sizes), "MiB added by the fit"]
    commits = {record["commit"] for record in part["rows"]}
    note = f" Fits were stopped after {part['limit']:g} CPU seconds."
    if len(commits) > 1:
        note += f" Cells are from the commits {', '.join(sorted(commits))}."
    return note, format_table(header, rows)


# ---------------------------------------------------------------------- many groups


def format_score(value):
    return f"{value:.3f}".removeprefix("0")


def find_runs(part, method, k, errors=0.0):
    """Return the record of a method for each set."""
    wanted = (method, k, errors)
    return {r["set"]: r for r in part["rows"] if (r["method"], r["k"], r["errors"]) == wanted}


def average_at(record, position):
    """Return the means over the runs of the scores at one number of answers; position 0 is the start."""
    at = [run[min(position, len(run) - 1)] for run in record["runs"]]
    return {key: average(at, key) for key in at[0]}


def describe_commits(records):
    """Return a sentence that lists when and at which commits the records were measured."""
    found = sorted({(r["date"], r["commit"]) for r in records})
    return " Measured: " + ", ".join(f"{date} at commit {commit}" for date, commit in found) + "."


def make_group_questions(part):
    """Return the scores of questions about groups with true answers, K given and unknown."""
    rows, used = [], []
    known = {"given": find_runs(part, "groups", True), "unknown": find_runs(part, "groups", False)}
    for name in dict.fromkeys([*known["given"], *known["unknown"]]):
        for k, records in known.items():
            if name not in records:
                continue
            record = records[name]
            used.append(record)
            for position in range(1, len(record["budgets"]) + 1):
                mean = average_at(record, position)
                first = not rows or rows[-1][-1] != name
                untouched, start = mean["ari_untouched"], mean["ari_untouched_start"]
                rows.append(
                    [
                        DATA.get(name, name) if first else "",
                        str(record["classes"]) if first else "",
                        k if position == 1 else "",
                        f"{mean['answers']:,.0f}",
                        f"{mean['seconds']:,.0f}",
                        format_score(mean["accuracy"]),
                        format_score(mean["nmi"]),
                        f"{format_score(untouched)} ({format_score(start)})",
                        f"{mean['groups']:.1f}".removesuffix(".0"),
                        name,
                    ]
                )
    header = ["data", "groups", "K", "answers", "seconds", "accuracy", "NMI", "untouched (start)"]
    table = format_table([*header, "groups found"], [row[:-1] for row in rows])
    return describe_commits(used), table if rows else None


def make_wrong_answers(part):
    """Return the accuracy with 10 % wrong answers, and its gain divided by that with true answers."""
    rows, used, last = [], [], None
    for k in (True, False):
        true, wrong = find_runs(part, "groups", k), find_runs(part, "groups", k, 0.1)
        for name in (name for name in wrong if name in true):
            used += [true[name], wrong[name]]
            for position in range(1, len(wrong[name]["budgets"]) + 1):
                best, mean = (average_at(each[name], position) for each in (true, wrong))
                start = average_at(true[name], 0)["accuracy"]
                kept = (mean["accuracy"] - start) / (best["accuracy"] - start)
                shown = (name, k)
                rows.append(
                    [
                        "" if shown == last else DATA.get(name, name),
                        "" if shown == last else ("given" if k else "unknown"),
                        f"{mean['answers']:,.0f}",
                        format_score(mean["accuracy"]),
                        f"{kept:.2f}".replace("0.", "."),
                    ]
                )
                last = shown
    table = format_table(["data", "K", "answers", "accuracy", "kept"], rows) if rows else None
    return describe_commits(used), table


def format_at(record, seconds):
    """Return accuracy and NMI after some seconds, with a star if the method had ended before."""
    scores, over = [], record["runs"][0][-1]["seconds"] < seconds
    for run in record["runs"]:
        times = [point["seconds"] for point in run]
        scores.append([np.interp(seconds, times, [p[key] for p in run]) for key in ("accuracy", "nmi")])
    accuracy, nmi = np.mean(scores, axis=0)
    return f"{format_score(accuracy)} / {format_score(nmi)}{'*' if over else ''}"


def make_peers(part):
    """Return accuracy and NMI of all methods at the seconds that questions about groups take."""
    columns = {
        "groups, K unknown": find_runs(part, "groups", False),
        "COBRAS": find_runs(part, "COBRAS", False),
        "A3S": find_runs(part, "A3S", False),
        "groups, K given": find_runs(part, "groups", True),
        "pairs, K given": find_runs(part, "pairs", True),
        "random labels, K given": find_runs(part, "random labels", True),
    }
    peers = {**columns["COBRAS"], **columns["A3S"]}
    rows, used = [], []
    for name, record in peers.items():
        used += [records[name] for records in columns.values() if name in records]
        ours = columns["groups, K unknown"].get(name) or columns["groups, K given"].get(name)
        for position, budget in enumerate(record["budgets"], start=1):
            seconds = 5.0 * budget if ours is None else average_at(ours, position)["seconds"]
            cells = [format_at(runs[name], seconds) if name in runs else "–" for runs in columns.values()]
            shown = DATA.get(name, name) if position == 1 else ""
            rows.append([shown, f"{seconds:,.0f}", *cells])
    return describe_commits(used), format_table(["data", "seconds", *columns], rows) if rows else None


def make_first(part):
    cells = {(r["method"], tuple(r["shape"])): r for r in part["rows"]}
    shapes = list(dict.fromkeys(shape for _, shape in cells))
    rows = []
    for (name, floor), _ in group(part["rows"], "method", "floor").items():
        row = [f"`{name}`" if floor else f"**`{name}`**"]
        for shape in shapes:
            own, base = cells[name, shape], cells[floor or name, shape]
            for kind in ("cold", "warm"):
                beyond = f" ({own[kind] - base['warm']:+.2f})" if floor else ""
                row.append(f"{own[kind]:.2f}{beyond}")
        rows.append(row)
    header = ["CPU s (beyond its floor)"]
    for n, d, k, links in shapes:
        header += [f"{n:,} x {d}, k = {k}, {links:,} links: cold", "warm"]
    return "", format_table(header, rows)


MAKE = {
    ("many_groups", "truth"): make_group_questions,
    ("many_groups", "wrong"): make_wrong_answers,
    ("many_groups", "peers"): make_peers,
    ("embeddings", "fits"): make_fits,
    ("embeddings", "nmi"): make_nmi,
    ("embeddings", "sparse"): make_sparse,
    ("embeddings", "cannot"): make_cannot,
    ("embeddings", "large"): make_large,
    ("growth", "cells"): make_cells,
    ("growth", "first"): make_first,
}


def replace_table(match):
    name, part = match.groups()
    is_split = name == "many_groups"  # its methods may be measured one at a time, and share one part
    found = read_results(name).get("runs" if is_split else part)
    note, table = ("", None) if found is None else MAKE[name, part](found)
    if found is None or table is None:
        print(f"{name} {part}: not in results/{name}.json, the table stays as it is")
        return match.group(0)
    measured = f"Measured on {found['date']} at commit {found['commit']} with `{found['command']}`.{note}"
    measured = note.strip() if is_split else measured
    return f"<!-- table: {name} {part} -->\n{measured}\n\n{table}\n<!-- end of table -->"


def replace_tables(text):
    """Return the text of a page with its tables made from the results."""
    return MARKED.sub(replace_table, text)


def main():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(replace_tables(text), encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(MARKED.findall(text))} tables")


if __name__ == "__main__":
    main()
