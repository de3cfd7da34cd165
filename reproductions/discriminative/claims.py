"""Check the claims of Pei (2017), chapter 3 against the recorded results."""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def mean(results, name, curve, level):
    """Return the mean of a curve at a level of hints."""
    found = results["data"][name]["curves"][curve]
    return found["mean"][found["levels"].index(level)]


def check_tables_of_the_readme_are_what_was_measured(run):
    """Tables of the readme are what was measured."""
    found = run.tables(EXPECTED)
    assert len(found) == 21
    for title, lines in found.items():
        assert "\n".join(lines) in README, title


def check_agreement_of_measures_in_the_readme_is_what_was_measured(run):
    """Agreement of measures in the readme is what was measured."""
    for measure, word in (("ari", "adjusted Rand index"), ("nmi", "normalised mutual information")):
        same, total = sys.modules["dc_report"].agreement(EXPECTED, measure)
        assert f"{word} {same} of {total}" in README


def check_everything_was_measured(run):
    """Everything was measured."""
    assert list(EXPECTED["data"]) == list(run.DATA)
    assert EXPECTED["skipped"] == {}
    assert list(EXPECTED["curves"]) == list(run.CURVES)
    for name, found in EXPECTED["data"].items():
        assert found["n_runs"] == (10 if name in run.SMALL else 5)
        for key in ("dc_p", "dc_r", "dc_r_c", "xing", "itml", "em", "lsml", "sparse_lp", "sssvad"):
            assert found["curves"][key]["levels"] == [1, 3, 6]
            assert all(len(runs) == found["n_runs"] for runs in found["curves"][key]["runs"])


def check_measured_quality():
    """Measured quality."""
    for name, curve, level, least in [
        ("digits389", "dc_p", 3, 0.96),
        ("ionosphere", "dc_p", 6, 0.82),
        ("balance_scale", "dc_p", 3, 0.75),
        ("letters_ijlt", "dc_r", 6, 0.63),
    ]:
        assert mean(EXPECTED, name, curve, level) >= least


def check_two_triplets_tell_more_than_three_pairs_on_all_data_sets():
    """Two triplets tell more than three pairs on all data sets."""
    for name, found in EXPECTED["data"].items():
        assert 2 * found["triplet_bits"] > 3 * found["pair_bits"], name


def check_the_svm_style_metric_is_never_better_than_the_best_other_baseline(run):
    """The svm style metric is never better than the best other baseline."""
    verdicts = run.tables(EXPECTED)["SVM-style metric less the best other baseline"][2:]
    words = [word for line in verdicts for word in line.split() if word in ("better", "same", "worse")]
    assert (words.count("better"), words.count("worse")) == (0, 14)
