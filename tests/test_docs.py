"""The documentation: every example runs, every link leads somewhere, and no public name is left out."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("reproductions/*/README.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.REPORT_ONLY_FIRST_FAILURE


def page_id(page):
    return page.relative_to(ROOT).as_posix()


def run_examples(text, name):
    """Run the Python blocks of a page in order, in one namespace; those with prompts are compared."""
    names = {"__name__": "__page__"}
    for block in BLOCK.finditer(text):
        code, line = block[1], text.count("\n", 0, block.start(1))
        if ">>>" not in code:
            exec(compile("\n" * line + code, name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, name, name, line)
        test.globs = names  # get_doctest copies them
        report = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)


@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=page_id)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(page.read_text(encoding="utf-8"), page_id(page))


def test_a_wrong_example_is_noticed():
    with pytest.raises(AssertionError, match="Expected"):
        run_examples("```python\n>>> x = 1\n\n```\n\n```python\n>>> x + 1\n3\n\n```\n", "page.md")
    with pytest.raises(ZeroDivisionError):
        run_examples("```python\nx = 0\n```\n```python\n1 / x\n```\n", "page.md")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    inside = [link.split("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    assert [link for link in inside if link and not (page.parent / link).exists()] == []


ROOMS = [
    "base",
    "supervision",
    "hierarchy",
    "multilabel",
    "kmeans",
    "mixture",
    "discriminative",
    "metric",
    "spectral",
    "active",
    "bayesian",
    "oracles",
    "evaluation",
    "datasets",
    "distributed",
    "features",
    "plotting",
    "testing",
]


@pytest.mark.parametrize("room", ROOMS)
def test_the_api_page_lists_every_public_name(room):
    listed = set(re.findall(r"\w+", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    public = importlib.import_module(f"likewise.{room}").__all__
    assert [name for name in public if name not in listed] == []
