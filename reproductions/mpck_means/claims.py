"""Check the claims about MPCK-Means against the recorded results."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def value(results, name, method, links, what="mean"):
    """Return a value of a curve at a number of links."""
    found = results["data"][name]
    return found["curves"][method][what][found["links"].index(links)]


def check_tables_in_the_documentation_are_what_was_measured():
    """Tables in the documentation are what was measured."""
    for page in ["reproductions/mpck_means/README.md", "docs/benchmarks.md"]:
        text = (FOLDER.parents[1] / page).read_text(encoding="utf-8")
        for name, found in EXPECTED["data"].items():
            at = found["links"].index(200)
            cells = [f"{c['mean'][at]:.3f} ± {c['standard_error'][at]:.3f}" for c in found["curves"].values()]
            assert f"| {name} | {' | '.join(cells)} |" in text


def check_measured_quality_at_200_links():
    """Measured quality at 200 links."""
    for name, method, least in [
        ("iris", "mpck_full", 0.93),
        ("iris", "mpck_diagonal", 0.90),
        ("ionosphere", "mpck_full", 0.84),
        ("digits389", "mpck_full", 0.82),
        ("digits389", "mpck_diagonal", 0.82),
    ]:
        assert EXPECTED["n_seeds"] >= 10
        assert value(EXPECTED, name, method, 200) >= least
