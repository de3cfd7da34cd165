"""Areas under curves, tables and the plot of benchmarks/active.py."""

import numpy as np

OURS = "likewise, default"


def area(curve, budget):
    """Return the mean of a curve over 0..budget answers; it is constant outside its first and last point."""
    if not curve:
        return 0.0
    answers, scores = np.array(curve, dtype=float).T
    line = np.interp(np.arange(budget + 1), answers, scores)
    return float((line[1:] + line[:-1]).mean() / 2)


def areas(curves, budgets):
    """Return the mean area over seeds for each method, set and budget."""
    return {
        method: {
            name: [float(np.mean([area(curve, budget) for curve in seeds])) for budget in budgets]
            for name, seeds in sets.items()
        }
        for method, sets in curves.items()
    }


def quality_table(found, notes, budgets):
    """Return a Markdown table: mean areas of each method and of ours, and sets on which ours is ahead."""
    lines = [
        "| | sets | " + " | ".join(f"{b} answers | ours there | ahead" for b in budgets) + " | cut short |"
    ]
    lines += ["| --- " * (3 * len(budgets) + 3) + "|"]
    mine = found.get(OURS, {})
    order = sorted(
        found, key=lambda m: (m != OURS, -len(found[m]), -np.mean([a[-1] for a in found[m].values()]))
    )
    for method in order:
        sets = found[method]
        both = [name for name in sets if name in mine]
        cells = []
        for at in range(len(budgets)):
            cells.append(f"{np.mean([a[at] for a in sets.values()]):.3f}")
            if method == OURS or not both:
                cells += ["", ""]
                continue
            lead = [mine[name][at] - sets[name][at] for name in both]
            cells += [f"{np.mean([mine[n][at] for n in both]):.3f}", f"{sum(d > 0 for d in lead)}"]
        lines.append(f"| {method} | {len(sets)} | {' | '.join(cells)} | {len(late(notes, method)) or ''} |")
    return "\n".join(lines)


def late(notes, method):
    """Return the sets on which a method ran out of time; a crash after all rows are placed does not count."""
    return {name for name, note in notes.get(method, {}).items() if "stopped" in note or "over" in note}


def in_time(found, notes, budgets):
    """Return a line: the number of peer runs with enough time in which ours is ahead."""
    mine = found.get(OURS, {})
    lead = np.array([
        np.subtract(mine[name], scores)
        for method, sets in found.items() if not method.startswith("likewise")
        for name, scores in sets.items() if name in mine and name not in late(notes, method)
    ]).reshape(-1, len(budgets))  # fmt: skip
    ahead = ", ".join(f"{n} at {b}" for n, b in zip((lead > 0).sum(axis=0), budgets, strict=True))
    return f"Not cut short: {len(lead)} pairs of a method and a set; ours ahead in {ahead} answers."


def sets_table(found, budgets):
    """Return a Markdown table: our area on each set, and the best of the others with its name."""
    mine = found.get(OURS, {})
    others = {m: sets for m, sets in found.items() if not m.startswith("likewise")}
    lines = ["| | " + " | ".join(f"{b} answers: ours | best of the others" for b in budgets) + " |"]
    lines += ["| --- " * (2 * len(budgets) + 1) + "|"]
    for name in mine:
        cells = []
        for at in range(len(budgets)):
            best = max(
                ((sets[name][at], m) for m, sets in others.items() if name in sets), default=(np.nan, "")
            )
            cells += [f"{mine[name][at]:.3f}", f"{best[0]:.3f} {best[1]}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def format_speed_table(found, names, budgets):
    """Return a Markdown table: CPU milliseconds per question, and their ratio to ours."""
    heads = [(name, budget) for name in names for budget in budgets]
    lines = ["| CPU ms per question | " + " | ".join(f"{name} {budget}" for name, budget in heads) + " |"]
    lines += ["| --- " * (len(heads) + 1) + "|"]
    for method, sets in found.items():
        cells = []
        for name, budget in heads:
            ms, at = sets.get(name, {}).get(budget, (None, 0))
            mine, asked = found[OURS][name][budget]
            if ms is None:
                cells.append("")
                continue
            short = f" (stopped at {at})" if at < min(budget, asked) else ""
            cells.append(f"{ms:.3g}" + ("" if method == OURS else f" = {ms / mine:.3g} x{short}"))
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(curves, marks, path):
    """Plot the mean over sets of each method that was run on all of them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    most = max(len(sets) for sets in curves.values())
    figure, axes = plt.subplots(figsize=(9, 6))
    for method, sets in curves.items():
        if len(sets) == most:
            lines = [np.interp(marks, *np.array(c).T) for seeds in sets.values() for c in seeds if c]
            axes.plot(marks, np.mean(lines, axis=0), label=method, lw=3 if method == OURS else 1)
    axes.set(xscale="symlog", xlabel="answers", ylabel=f"ARI, mean over {most} data sets")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120, bbox_inches="tight")
