"""Check the claims of Pei & Fern (2014) against the recorded results."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SETS = ("letter_carroll", "msrcv2", "hja_birdsong")
FLOORS = {"letter_carroll": 0.55, "msrcv2": 0.61, "hja_birdsong": 0.76}


def scores(name, key, experiment="shares", measure="purity", results=EXPECTED):
    """Return the mean at each place of a curve."""
    curve = results["experiments"][experiment][name]["curves"][key]
    return dict(zip(curve["x"], curve[measure]["mean"], strict=True))


def check_tables_of_the_readme_are_what_was_measured(run):
    """Tables of the readme are what was measured."""
    for title, lines in run.tables(EXPECTED).items():
        assert "\n".join(lines) in README, title


def check_everything_was_measured(run):
    """Everything was measured."""
    assert EXPECTED["n_runs"] >= 10
    assert EXPECTED["skipped"] == {}
    assert list(EXPECTED["experiments"]) == list(dict.fromkeys(run.FIGURES.values()))
    assert all((FOLDER / "figures" / f"figure{number}.png").exists() for number in run.FIGURES)
    for experiment, sets in EXPECTED["experiments"].items():
        made = experiment == "development"
        assert tuple(sets) == run.sets_of(experiment)
        for name, found in sets.items():
            for key, curve in found["curves"].items():
                least = 5 if made else 10
                assert all(len(runs) >= least for runs in curve["purity"]["runs"]), (experiment, name, key)
            if not made:
                wanted = {
                    (point.key, point.x) for point in run.points_of(experiment, name, found["n_classes"])
                }
                got = {(key, x) for key, curve in found["curves"].items() for x in curve["x"]}
                assert got == wanted, (experiment, name)


def check_every_fit_settled():
    """Every fit settled."""
    for sets in EXPECTED["experiments"].values():
        for found in sets.values():
            assert not any(any(curve["not_settled"]) for curve in found["curves"].values())


def check_default_reaches_what_it_must_with_all_bags_labelled():
    """Default reaches what it must with all bags labelled."""
    for name in SETS:
        assert scores(name, "default")[1.0] >= FLOORS[name]


def check_default_is_never_below_clustering_without_hints():
    """Default is never below clustering without hints."""
    for name in SETS:
        bare = max(scores(name, key)[1.0] for key in ("sp", "sp_10"))
        assert all(mean >= bare for mean in scores(name, "default").values())


def check_default_is_better_than_every_published_method_at_every_share():
    """Default is better than every published method at every share."""
    for name in SETS:
        ours = scores(name, "default")
        for key in ("splearn", "splearn_additive", "spreg", "csp", "csp_without", "exact", "labelled"):
            assert all(ours[share] > mean for share, mean in scores(name, key).items()), key


def check_spectral_learning_beats_bag_constraints_if_it_is_normalised_alike():
    """Spectral learning beats bag constraints if it is normalised alike."""
    for name in SETS:
        assert scores(name, "splearn")[1.0] > scores(name, "csp")[1.0]
        assert scores(name, "splearn_additive")[1.0] < scores(name, "csp")[1.0]
        assert scores(name, "sp_additive")[1.0] < scores(name, "sp")[1.0] - 0.1  # with no hint at all


def check_bag_constraints_as_printed_gain_with_all_bags_labelled():
    """Bag constraints as printed gain with all bags labelled."""
    for name in SETS:
        assert scores(name, "csp")[1.0] > scores(name, "sp")[1.0] + 0.02
