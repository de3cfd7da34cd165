"""Layers of the package: imports go down, families do not import one another, importing is fast."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "likewise"
LAYERS = [
    {
        "exceptions",
        "kernels",
        "_optional",
        "_compat",
        "_atomic_files",
        "_event_log",
        "_repr_html",
        "_templates",
        "_locks",
        "_parts",
        "_reasons",
        "_typing",
    },
    {"tables"},
    {"supervision", "hierarchy"},
    {
        "base",
        "backends",
        "_batches",
        "seeding",
        "evaluation",
        "datasets",
        "features",
    },
    {"kmeans", "mixture", "spectral", "discriminative", "bayesian", "metric", "multilabel", "active"},
    {"oracles", "testing", "plotting", "distributed"},
    {"studio"},
    {"cli"},
]
LAYER_OF = {package: number for number, packages in enumerate(LAYERS) for package in packages}
FAMILIES = LAYERS[4]


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == "likewise":
                names = [f"likewise.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("likewise."))


def find_upward_imports(path, package):
    for other in imports_of(path):
        if other == package or other not in LAYER_OF:
            continue
        if LAYER_OF[other] > LAYER_OF[package] or (package in FAMILIES and other in FAMILIES):
            yield f"{path.name} of {package} imports {other}"


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py" or path.parent != SOURCE]


def test_imports_go_down():
    files = {path: path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert set(files.values()) <= set(LAYER_OF), f"add the package to LAYERS in {Path(__file__).name}"
    assert [found for path, package in files.items() for found in find_upward_imports(path, package)] == []


def test_an_upward_import_is_noticed(tmp_path):
    climbing = tmp_path / "climbing.py"
    climbing.write_text("from likewise.cli import main\nfrom likewise.mixture import x\n")
    assert len(list(find_upward_imports(climbing, "kmeans"))) == 2


def test_interviews_name_no_higher_layer():
    names = re.compile(r"[\"']likewise\.(?!active\b)[a-z_]+")
    found = {
        path.name: names.findall(path.read_text(encoding="utf-8"))
        for path in (SOURCE / "active").rglob("*.py")
    }
    assert not any(found.values()), found


def test_every_part_for_a_role_can_be_imported():
    from likewise import _parts

    assert {role: _parts.get_part(role).__name__ for role in _parts._PARTS} == {
        "default model": "PropagationClustering",
        "model with draws": "BayesianClustering",
        "oracle by classes": "LabelOracle",
        "plot of curves": "CurveDisplay",
    }


def test_importing_likewise_loads_nothing_heavy():
    heavy = {"numba", "sklearn", "scipy", "numpy", "jinja2"}
    code = f"import likewise, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_making_hints_does_not_load_numba_or_scikit_learn():
    code = (
        "import likewise, sys\n"
        "likewise.Supervision.from_links(3, must=[(0, 1)], cannot=[(1, 2)]).relation(0, 2)\n"
        "print(sorted({'numba', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_imported():
    import likewise

    for name in likewise.__all__:
        assert getattr(likewise, name).__name__ == name
    assert set(likewise.__all__) <= set(dir(likewise))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = likewise.nothing


# ---------------------------------------------------------------------- a busy machine

TESTS = Path(__file__).parent
ROOT = TESTS.parent
# Patterns that fail on a busy machine, or if another process uses the same port.
HURRIES = {
    r"deadline=(?!None)": "Hypothesis's deadline; the profiles in conftest.py have none",
    r"suppress_health_check=\[": "it replaces the profile's list, and with it the one about slow examples",
    r"(?<!\w)timeout=[\d.]+": "a timeout in seconds; use PATIENCE",
    r"\.(?:wait|join)\((?:timeout=)?[\d]{1,3}\)": "a timeout in seconds; use PATIENCE",
    r"(?:set_default_timeout|to_be_visible|to_have_count)\(.*timeout=[\d_]+": "a timeout of the browser's",
    r"dashboard_address=None|:8787": "Dask's dashboard at its fixed port; use ':0'",
    r"\.bind\(\([^)]*, [1-9]\d*\)\)|[^_]port=[1-9]\d*": "a fixed port; use 0",
}


@pytest.mark.parametrize(("pattern", "why"), HURRIES.items(), ids=list(HURRIES.values()))
def test_no_test_uses_deadlines_or_fixed_ports(pattern, why):
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py")]
    files = [*TESTS.rglob("*.py"), *pages, *SOURCE.rglob("*.py")]
    if "timeout" in why or "Hypothesis" in why:
        files = list(TESTS.rglob("*.py"))  # timeouts in the package are for users
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        if path not in (Path(__file__), TESTS / "conftest.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], why


def test_hypothesis_has_no_deadline_and_accepts_slow_examples():
    import hypothesis

    for name in ("dev", "ci", "deep"):
        profile = hypothesis.settings.get_profile(name)
        assert profile.deadline is None
        assert hypothesis.HealthCheck.too_slow in profile.suppress_health_check
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings().suppress_health_check
