"""Lower bounds in pyproject.toml are declared for every package, and `make test-oldest` installs them."""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("versions", ROOT / "tools" / "versions.py")
versions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(versions)
PROJECT = versions.read_project()


def test_pins_are_the_declared_floors_by_hand():
    assert versions.pin_lowest(["a>=1.2", "b[x,y]>=3", "c==4"]) == ["a==1.2", "b==3", "c==4"]


@pytest.mark.parametrize("requirement", ["a", "a<2", "a>=1,<2", "a=1"])
def test_a_requirement_without_a_plain_floor_is_refused(requirement):
    with pytest.raises(SystemExit, match="no floor"):
        versions.pin_lowest([requirement])


def test_every_requirement_of_a_user_has_a_floor_that_is_tested():
    pins = versions.pin_lowest(versions.list_requirements(PROJECT))
    names = [pin.partition("==")[0] for pin in pins]
    assert len(names) == len(set(names)), "one package, one floor"
    extras = PROJECT["project"]["optional-dependencies"]
    for requirement in [*PROJECT["project"]["dependencies"], *extras["studio"], *extras["scale"]]:
        assert requirement.replace(">=", "==").split("[")[0].split("==")[0] in names
    assert set(versions.list_extras(PROJECT)) | versions.OMITTED_EXTRAS == set(extras)


def test_development_floors_agree_with_those_of_users():
    pinned = dict(pin.split("==") for pin in versions.pin_lowest(versions.list_requirements(PROJECT)))
    for requirement in PROJECT["dependency-groups"]["dev"]:
        if isinstance(requirement, str) and (match := versions.REQUIREMENT.fullmatch(requirement)):
            assert pinned.get(match["name"], match["floor"]) == match["floor"], requirement


def test_supported_pythons_begin_at_the_one_that_is_required():
    pythons = versions.list_pythons(PROJECT)
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    assert pythons == [f"3.{minor}" for minor in range(11, 11 + len(pythons))]


def test_make_runs_these_versions():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target, options in (("test-oldest", " --oldest"), ("test-versions", "")):
        assert re.search(rf"^{target}:.*\n\t\$\(PYTHON\) tools/versions.py{options} --venv", makefile, re.M)
    for path in versions.TESTS:
        assert (ROOT / path).exists(), path


def test_this_environment_meets_the_floors():
    for pin in versions.pin_lowest(PROJECT["project"]["dependencies"]):
        name, floor = pin.split("==")
        assert [int(n) for n in re.findall(r"\d+", version(name))] >= [int(n) for n in floor.split(".")]


def test_a_python_that_is_not_there_is_skipped(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["versions.py", "3.99", "--venv", str(tmp_path / "venv")])
    assert versions.main() == 0
    assert "3.99: skipped: python3.99 is not installed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
