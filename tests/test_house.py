"""Layers of the package: imports go down, families do not import one another, importing is fast."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sources import SOURCE, list_files, list_nodes

PAGE = SOURCE.parents[1] / "docs" / "contributing-architecture.md"


def read_layers():
    """Return the layers that the architecture page draws, the lowest first."""
    picture = re.search(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    rows = re.findall(r"^│ ([^│]*)│", picture, re.MULTILINE)
    layers, names = [], ""
    for row in [*rows, "end"]:  # a layer may take several rows; all but its last end in a comma
        names += row.strip()
        if not names.endswith(","):
            layers.insert(0, {name.strip() for name in names.split(",")})
            names = ""
    return layers[1:]


LAYERS = read_layers()
LAYER_OF = {package: number for number, packages in enumerate(LAYERS) for package in packages}
FAMILIES = next(packages for packages in LAYERS if "kmeans" in packages)


def find_imports(path):
    """Yield the packages of likewise that a file imports: at its top, in functions, or by a string."""
    for node in list_nodes(path):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == "likewise":
                names = [f"likewise.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and re.fullmatch(r"likewise(\.\w+)+[.:\w]*", str(node.value)):
            names = [node.value]
        yield from (re.split(r"[.:]", name)[1] for name in names if name.startswith("likewise."))


def find_upward_imports(path, package):
    for other in find_imports(path):
        if other == package or other not in LAYER_OF:
            continue
        if LAYER_OF[other] > LAYER_OF[package] or (package in FAMILIES and other in FAMILIES):
            yield f"{path.name} of {package} imports {other}"


FILES = [path for path in list_files() if path.name != "__init__.py" or path.parent != SOURCE]


def test_imports_go_down():
    files = {path: path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert set(files.values()) == set(LAYER_OF), f"the picture in {PAGE.name} has every package and module"
    assert [found for path, package in files.items() for found in find_upward_imports(path, package)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from likewise.cli import main",
        "from likewise.mixture import x",
        "def f():\n    from likewise import studio",
        "importlib.import_module('likewise.plotting')",
        "MODEL = 'likewise.spectral:SpectralLearning'",
    ],
)
def test_an_import_that_climbs_or_crosses_is_noticed(tmp_path, line):
    climbing = tmp_path / "climbing.py"
    climbing.write_text(line)
    assert len(list(find_upward_imports(climbing, "kmeans"))) == 1


def find_private_imports(path, package):
    """Yield the imports of private modules of other packages."""
    for node in list_nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("likewise."):
            _, other, *inner = node.module.split(".")
            private = [
                name for name in (*inner, *(alias.name for alias in node.names)) if name.startswith("_")
            ]
            if other != package and private:
                yield f"{path.relative_to(SOURCE)}: {node.module}"


def test_few_private_modules_are_imported_by_other_packages():
    files = {path: path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    found = {line for path, package in files.items() for line in find_private_imports(path, package)}
    assert len(found) < 10, "\n".join(sorted(found))


def list_call_paths():
    """Return the steps of each call path of the page: a file, then names of functions and classes in it."""
    text = PAGE.read_text(encoding="utf-8").partition("## Five call paths")[2].partition("\n## ")[0]
    paths = {}
    for title, body in re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", text, re.DOTALL | re.MULTILINE):
        steps = re.findall(r"^\d+\. (.*?)(?=^\d+\. |\Z)", body, re.DOTALL | re.MULTILINE)
        paths[title] = [re.findall(r"`([^`]+)`", step) for step in steps]
    return paths


def test_the_call_paths_of_the_page_are_those_of_the_code():
    paths = list_call_paths()
    assert len(paths) == 5
    for title, steps in paths.items():
        reached = set()
        for number, (first, *names) in enumerate(steps):
            path = SOURCE / first
            assert path.is_file(), f"{title}: {first} does not exist"
            text = path.read_text(encoding="utf-8")
            missing = [
                name for name in names if not re.search(rf"\b{re.escape(name.split('.')[-1])}\b", text)
            ]
            assert missing == [], f"{title}: {first} has no {missing}"
            package = first.split("/")[0].removesuffix(".py")
            assert number == 0 or package in reached, (
                f"{title}: nothing before step {number + 1} imports {first}"
            )
            reached |= {package, *find_imports(path)}
            for other in path.parent.glob("*.py"):  # a package is reached as a whole
                reached |= set(find_imports(other))


@pytest.mark.parametrize(("name", "most"), [("walk_fit", (12, 90, 9)), ("walk_cluster", (24, 190, 12))])
def test_a_small_fit_and_a_command_take_short_paths(name, most, monkeypatch):
    monkeypatch.syspath_prepend(SOURCE.parents[1] / "tools")
    import walk

    found, deepest = getattr(walk, name)()
    counts = (len(found), sum(map(len, found.values())), len(deepest))
    assert all(count <= limit for count, limit in zip(counts, most, strict=True)), (counts, most)


# Functions with more than twelve parameters, and why.
LONG_PARAMETER_LISTS = {
    ("active/_simulate.py", "compare"),  # public; the options of an experiment, by keyword, all with defaults
    ("kernels/icm.py", "_group_costs"),  # a structure in their place makes fits slower; see `descend`
}


def find_long_parameter_lists(most):
    """Yield file and name of functions with more than `most` parameters, without constructors of estimators.

    These constructors list the parameters of a method, which are public, as in scikit-learn.
    """
    for path in SOURCE.rglob("*.py"):
        file = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name == "__init__" and file.split("/")[0] in FAMILIES:
                continue
            given = node.args
            named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            if sum(one is not None and one.arg not in ("self", "cls") for one in named) > most:
                yield file, node.name


def test_parameter_lists_are_short():
    assert set(find_long_parameter_lists(12)) == LONG_PARAMETER_LISTS


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


def test_small_fits_do_not_load_numba():
    code = (
        "import sys, numpy as np\n"
        "from likewise import COPKMeans, MPCKMeans, PCKMeans, Supervision\n"
        "X = np.random.default_rng(0).normal(size=(150, 4))\n"
        "hints = Supervision.from_links(150, must=[(0, 1), (2, 3)], cannot=[(0, 2)])\n"
        "for model in (COPKMeans(3), MPCKMeans(3), PCKMeans(3)):\n"
        "    model.fit(X, supervision=hints).predict(X)\n"
        "X = np.random.default_rng(0).normal(size=(2000, 16))\n"
        "pairs = np.random.default_rng(0).permutation(2000).reshape(-1, 2)\n"
        "hints = Supervision.from_links(2000, cannot=pairs)\n"
        "PCKMeans(10, n_init=1, max_iter=10).fit(X, supervision=hints)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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
