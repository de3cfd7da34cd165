"""Write the tables of embeddings.py and growth.py from their JSON files into the documentation.

Run `python benchmarks/tables.py` after the benchmarks. In `benchmarks/README.md` and `docs/benchmarks.md`,
what stands between `<!-- table: embeddings fits -->` and `<!-- end of table -->` is replaced by the table of
the part `fits` in `results/embeddings.json`. A table whose part has not been measured stays as it is.
"""

import re
from pathlib import Path

import numpy as np

from _results import read_results

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "benchmarks" / "README.md", ROOT / "docs" / "benchmarks.md")
MARKED = re.compile(r"<!-- table: (\w+) (\w+) -->\n.*?<!-- end of table -->", re.DOTALL)
LINKS = {"random": "random links", "half": "half must-links"}
DATA = {
    "groups": "Gaussian groups",
    "embeddings": "mixed embeddings",
    "banking77": "Banking77",
    "clinc150": "CLINC150",
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


MAKE = {
    ("embeddings", "fits"): make_fits,
    ("embeddings", "nmi"): make_nmi,
    ("embeddings", "sparse"): make_sparse,
    ("embeddings", "cannot"): make_cannot,
    ("embeddings", "large"): make_large,
    ("growth", "cells"): make_cells,
}


def replace_table(match):
    name, part = match.groups()
    found = read_results(name).get(part)
    if found is None:
        print(f"{name} {part}: not measured here, the table stays as it is")
        return match.group(0)
    note, table = MAKE[name, part](found)
    measured = f"Measured on {found['date']} at commit {found['commit']} with `{found['command']}`.{note}"
    return f"<!-- table: {name} {part} -->\n{measured}\n\n{table}\n<!-- end of table -->"


def main():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(MARKED.sub(replace_table, text), encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(MARKED.findall(text))} tables")


if __name__ == "__main__":
    main()
