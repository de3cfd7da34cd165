"""Change notes: every file in changes/ has the right form, and a release moves them into CHANGELOG.md."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GROUPS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
NAME = re.compile(rf"\+[a-z0-9-]+\.({'|'.join(GROUPS).lower()})\.md")
INTRODUCTION = "# Changelog\n\nAll changes of likewise"


def find_malformed_notes(folder):
    """Return one message for each file in the folder that is not a change note."""
    messages = []
    for path in sorted(folder.iterdir()):
        if path.name == "README.md":
            continue
        if not NAME.fullmatch(path.name):
            topic = re.sub(r"^[\d+]+[-.]?|\..*$", "", path.name) or "topic"
            messages.append(
                f"changes/{path.name}: expected a name like changes/+{topic}.fixed.md, where the group is "
                f"one of {', '.join(GROUPS).lower()}. Rename it with "
                f"`git mv changes/{path.name} changes/+{topic}.GROUP.md` and see changes/README.md."
            )
            continue
        text = path.read_text(encoding="utf-8").strip()
        if not text or "\n\n" in text or text.startswith(("#", "-", "*")):
            messages.append(
                f"changes/{path.name}: expected one paragraph of one to four sentences for a user, without "
                "a heading or a list. See changes/README.md."
            )
    return messages


def test_every_change_note_has_the_right_form():
    messages = find_malformed_notes(ROOT / "changes")
    assert not messages, "\n" + "\n".join(messages)


def test_a_folder_without_notes_has_the_right_form(tmp_path):
    assert find_malformed_notes(tmp_path) == []
    (tmp_path / "README.md").write_text("# Change notes\n")
    assert find_malformed_notes(tmp_path) == []


@pytest.mark.parametrize("name", ["0091-faster-closure.md", "faster-closure.md", "+faster-closure.better.md"])
def test_a_note_with_a_wrong_name_is_reported_with_the_right_one(tmp_path, name):
    (tmp_path / name).write_text("Closures are faster.\n")
    (message,) = find_malformed_notes(tmp_path)
    assert f"git mv changes/{name} changes/+faster-closure.GROUP.md" in message
    assert "added, changed, deprecated, removed, fixed, security" in message


@pytest.mark.parametrize("text", ["", "# Closure\n", "- Closures are faster.\n", "Faster.\n\nBecause.\n"])
def test_a_note_that_is_not_one_paragraph_is_reported(tmp_path, text):
    (tmp_path / "+closure.changed.md").write_text(text)
    (message,) = find_malformed_notes(tmp_path)
    assert "one paragraph" in message


def test_towncrier_knows_the_groups_of_keep_a_changelog():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    assert [each["name"] for each in settings["type"]] == GROUPS
    assert [each["directory"] for each in settings["type"]] == [group.lower() for group in GROUPS]


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def release(clone, version, date):
    """Build the changelog of a release in the clone, and return it."""
    run(
        *(sys.executable, "-m", "towncrier", "build", "--yes", "--version", version, "--date", date),
        cwd=clone,
    )
    return (clone / "CHANGELOG.md").read_text(encoding="utf-8")


def list_notes(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "README.md")


@pytest.fixture
def clone(tmp_path):
    """A clone of this repository with the notes and the settings of the work tree, all committed."""
    pytest.importorskip("towncrier", reason="towncrier is not installed; it is in the group dev")
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is not a clone of the repository, or git is not installed")
    clone = tmp_path / "clone"
    run("git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(clone), cwd=tmp_path)
    run("git", "read-tree", "HEAD", cwd=clone)
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, clone / name)
    shutil.copytree(ROOT / "changes", clone / "changes")
    commit(clone, "Use the notes of the work tree")
    return clone


def commit(clone, subject):
    run("git", "add", "--all", "changes", "CHANGELOG.md", "pyproject.toml", cwd=clone)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    run("git", *identity, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", subject, cwd=clone)


def test_a_release_moves_all_notes_into_the_changelog(clone):
    for group in GROUPS:
        (clone / "changes" / f"+made-up.{group.lower()}.md").write_text(f"A made-up note: {group}.\n")
    commit(clone, "Add made-up notes")
    notes = {
        path.name: path.read_text(encoding="utf-8").split()
        for path in (clone / "changes").iterdir()
        if path.name != "README.md"
    }

    changelog = release(clone, "97.1.0", "2030-02-03")

    assert changelog.startswith(INTRODUCTION)
    assert changelog.count("## 97.1.0 - 2030-02-03\n") == 1
    section = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    groups = re.split(r"^### (.*)\n", section, flags=re.MULTILINE)
    assert groups[1::2] == GROUPS
    for group, text in zip(GROUPS, groups[2::2], strict=True):
        assert f"- A made-up note: {group}.\n" in text
        words = " ".join(text.split())
        for name, note in notes.items():
            if name.endswith(f".{group.lower()}.md"):
                assert " ".join(note) in words, f"changes/{name} is missing from {group}"
    assert list_notes(clone / "changes") == []
    assert (clone / "changes" / "README.md").exists()  # or git would drop the folder
    tracked = run("git", "ls-files", "changes", cwd=clone).split()
    assert tracked == ["changes/README.md"]


def test_the_next_release_goes_above_the_last_one(clone):
    release(clone, "97.1.0", "2030-02-03")
    commit(clone, "Release 97.1.0")
    (clone / "changes" / "+made-up.fixed.md").write_text("A second note.\n")
    commit(clone, "Add a made-up note")

    changelog = release(clone, "97.2.0", "2030-03-04")

    assert changelog.startswith(INTRODUCTION)
    first, second = changelog.index("## 97.2.0 - 2030-03-04"), changelog.index("## 97.1.0 - 2030-02-03")
    assert first < changelog.index("- A second note.") < second
    assert "### Added" not in changelog[first:second]


def test_a_release_refuses_a_note_with_a_wrong_name(clone):
    (clone / "changes" / "0091-faster-closure.md").write_text("Closures are faster.\n")
    with pytest.raises(AssertionError, match=r"Invalid news fragment name: 0091-faster-closure\.md"):
        release(clone, "97.1.0", "2030-02-03")


def test_the_documentation_shows_unreleased_and_released_changes(clone):
    spec = importlib.util.spec_from_file_location("docs_conf", ROOT / "docs" / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    release(clone, "97.1.0", "2030-02-03")
    (clone / "changes" / "+made-up.fixed.md").write_text("A second note.\n")

    page = conf.render_release_notes(clone)

    unreleased, released = page.split("## 97.1.0 - 2030-02-03\n")
    assert unreleased.startswith("## Unreleased\n")
    assert "### Fixed\n\n- A second note.\n" in unreleased
    assert "97.1.0" not in unreleased
    assert "2030" not in released
