"""The documentation: every example runs, every link leads somewhere, and no public name is left out."""

import doctest
import importlib
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

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


def read_prose(page):
    """Return the text of a page without code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def read_anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST name them."""
    headings = re.findall(r"^#+ (.+)$", read_prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_anchors_of_links_exist(page):
    missing = []
    for link in LINK.findall(read_prose(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if anchor and target.suffix == ".md" and anchor not in read_anchors(target):
            missing.append(link)
    assert missing == []


def test_the_readme_is_short_and_begins_with_the_words_of_the_field():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    paragraph = " ".join(text.split("\n\n")[1].split()).lower()
    for word in (
        "constrained",
        "semi-supervised",
        "clustering",
        "must-link",
        "cannot-link",
        "active learning",
    ):
        assert word in paragraph


@pytest.mark.parametrize("word", ["LLM", "pandas", "text", "unlabelled", "spreadsheet"])
def test_what_newcomers_search_for_is_in_a_heading(word):
    pages = "\n".join(read_prose(page) for page in ROOT.glob("docs/*.md"))
    assert re.search(rf"^#.*\b{word}\b", pages, flags=re.MULTILINE | re.IGNORECASE)


def test_every_page_is_on_a_shelf():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    captions = re.findall(r"^:caption: (.+)$", index, flags=re.MULTILINE)
    assert captions == ["Tutorials", "How-to guides", "Explanation", "Reference"]
    listed = re.findall(
        r"^[\w-]+$", "\n".join(re.findall(r"^```{toctree}\n(.*?)^```", index, re.M | re.S)), re.M
    )
    pages = {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}
    assert sorted(listed) == sorted(pages)
    linked = {link.partition("#")[0] for link in LINK.findall(index)}
    assert [page for page in pages if f"{page}.md" not in linked] == []


@pytest.fixture
def link_terms():
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "link_terms.py")))


def test_every_page_links_the_first_use_of_a_term_to_the_glossary(link_terms):
    assert [
        page.name for page in link_terms.find_pages() if link_terms.link(page) != page.read_text("utf-8")
    ] == [], "run python docs/link_terms.py"


def test_terms_that_are_linked_are_in_the_glossary(link_terms):
    assert set(link_terms.TERMS) <= read_anchors(ROOT / "docs" / "glossary.md")


def test_only_prose_is_linked(link_terms):
    text = "# A hint\n\n`hint` and [a hint](x.md), $hint$\n\n```\nhint\n```\n\nMany hints: a hint.\n"
    expected = text.replace("Many hints", "Many [hints](glossary.md#hint)")
    assert link_terms.link_text(text) == expected
    assert link_terms.link_text(expected) == expected


PACKAGES = [
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


@pytest.mark.parametrize("package", PACKAGES)
def test_the_api_page_lists_every_public_name(package):
    listed = set(re.findall(r"\w+", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    public = importlib.import_module(f"likewise.{package}").__all__
    assert [name for name in public if name not in listed] == []
