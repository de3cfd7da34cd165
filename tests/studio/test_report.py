"""The report: one page without scripts, with every text escaped, and code that runs."""

import base64
import contextlib
import hashlib
import io
import os
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from browser.conftest import CHROMIUM
from likewise.studio.exports import Snapshot
from likewise.studio.report import (
    DerivedResults,
    ReportData,
    gather,
    get_content_security_policy,
    make_report,
)
from likewise.studio.report._gather import (
    AnswerShown,
    ConflictShown,
    GroupShown,
    HintsShown,
    ItemShown,
    PersonShown,
    TimeShown,
    _describe_answer,
    map_picture,
)
from likewise.studio.report._page import make_data_uri
from likewise.studio.study.study_report import FigurePiece, Section, TablePiece
from small_projects import WEIRD, AnswerWriter, make, open_project_store

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\x00\u202e"
NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "nav",
        "main",
        "footer",
        "section",
        "figure",
    ),
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "div",
        "span",
        "a",
        "img",
        "bdi",
        "figcaption",
    ),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"),
    *("svg", "rect", "line", "polyline", "circle", "text"),
}


class Page(HTMLParser):
    """All tags with their attributes, and all text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open, self.preformatted = [], "", [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "pre":
            self.preformatted.append("")

    def handle_data(self, data):
        if "style" not in self.open[-1:]:
            self.text += data
        if "pre" in self.open[-1:]:
            self.preformatted[-1] += data

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def check(html):
    """Any page: no scripts, nothing external, headings in order, text alternatives for pictures."""
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    for tag, attrs in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attrs)
        if "src" in attrs:
            assert re.fullmatch(r"data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]+", attrs["src"])
        if tag == "a":
            assert attrs["href"].removeprefix("#") in ids
        if tag == "img":
            assert attrs["alt"]
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search("<style>(.*?)</style>", html, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == get_content_security_policy()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    return page


def dot():
    return map_picture(np.zeros((1, 2), np.float32), np.zeros(1, np.int32), {0: "#0072b2"})


def evil_data():
    item = ItemShown(
        0,
        EVIL,
        "image",
        EVIL + "!",
        text=EVIL,
        cells=((EVIL, EVIL),),
        picture=dot(),
        picture_type="image/png",
        broken=EVIL,
    )
    return ReportData(
        title=EVIL,
        kind="image",
        n_items=2,
        features=EVIL,
        made="2026-03-09",
        version="1",
        folder=EVIL,
        n_clusters=2,
        n_answers=3,
        n_undone=1,
        n_skipped=2,
        groups=(
            GroupShown(0, EVIL, 1, "#0072b2", (item,), (item,), (EVIL, EVIL)),
            GroupShown(1, None, 1, "#e69f00"),
        ),
        hints=HintsShown(1, 1, 1, (("together", (EVIL, EVIL)), ("a and b together", (EVIL,) * 3))),
        map_picture=dot(),
        map_method=EVIL,
        curve=((5, 0.3), (10, 0.02)),
        advice=EVIL,
        accuracy=0.8,
        interval=(0.7, 0.9),
        people=(PersonShown(EVIL, "owner", 3, 1, 1, 0.8, 0.6, 2.5),),
        n_shared=1,
        observed=1.0,
        alpha=0.5,
        times=(TimeShown("pair", EVIL, 3, 2.0, 1.0, 4.0),),
        seconds=(0.5, 2.0, 70.0),
        conflicts=(ConflictShown((item, item), (EVIL,) * 3, (AnswerShown(EVIL, "2026", EVIL),)),),
        n_conflicts=2,
        notes=(EVIL,),
        study=(
            Section("Study", (EVIL,)),
            Section(
                EVIL,
                (EVIL,),
                (TablePiece(EVIL, ("", EVIL), ((EVIL, EVIL),)),),
                (FigurePiece(EVIL, EVIL, dot()),),
            ),
        ),
    )


# ---------------------------------------------------------------------- the page


def test_every_text_of_a_page_is_escaped():
    page = check(make_report(evil_data()))
    seen = page.text
    shown = EVIL.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    assert seen.count(shown) >= 25
    assert [attrs.get("alt") for attrs in page.all("img")].count(shown) == 1
    assert "Contradictions" in seen
    assert "1 more contradiction in the studio" in seen
    assert "80% (70 to 90%)" in seen


def test_contradictions_are_folded_and_key_figures_come_first():
    data = replace(evil_data(), study=(), interval=(0.7, 1.1))
    html = make_report(data)
    page = check(html)
    (conflict,) = [attrs for attrs in page.all("details") if attrs.get("class") == "conflict"]
    assert "open" not in conflict
    assert "joined through 1 item" in page.text
    assert "80% (70 to 100%)" in page.text  # no share is larger
    assert html.index('class="figures"') < html.index("<h2")


def test_few_answers_show_nothing_yet():
    data = replace(evil_data(), study=())
    text = check(make_report(data)).text
    assert "3 answers: so few show nothing yet about the groups" in text
    assert "1 question: so few show nothing yet about their agreement" in text
    assert "Krippendorff" not in text
    assert "0.60" not in text  # the reliability of a person, from one shared question
    text = check(make_report(replace(data, n_answers=30, n_shared=12))).text
    assert "nothing yet" not in text
    assert "Krippendorff" in text


def test_pictures_that_may_contain_scripts_are_refused():
    with pytest.raises(ValueError, match="image/svg"):
        make_data_uri(b"<svg/>", "image/svg+xml")


def test_the_page_of_an_empty_project(tmp_path):
    project = make(tmp_path)
    with open_project_store(project) as store:
        snapshot = Snapshot.from_store(store)
    page = check(
        make_report(gather(project, snapshot, DerivedResults.from_project(project, snapshot), now=NOW))
    )
    assert "There are no answers yet" in page.text
    assert "No hints yet." in page.text
    assert "2026-03-09 12:00 UTC" in page.text
    assert "Who answered" not in page.text


# ---------------------------------------------------------------------- what it tells


@pytest.fixture
def project(tmp_path):
    """Ann and Bob answered; two of Ann's answers join two items that she answered DIFFERENT."""
    project = make(tmp_path)
    with open_project_store(project) as store:
        ann, bob = AnswerWriter(store, role="owner"), AnswerWriter(store, "Bob")
        for one, other in (("a1", "a2"), ("a2", "a3"), ("b1", "b2")):
            ann.answer(one, other, answer="SAME", seconds=1.0)
        ann.answer("a1", "b1", answer="DIFFERENT", seconds=3.0)
        ann.answer("a1", "a3", answer="DIFFERENT", seconds=5.0)
        bob.answer("a1", "a2", answer="SAME", seconds=4.0)
        bob.answer("a4", "b4", answer="UNSURE", seconds=9.0)
        bob.answer("a1", "a2", "b3", answer="AB", seconds=9.0)
        ann.undo(ann.answer("a4", "b3", answer="SAME"))
        ann.skip("a4", "b2")
        ann.name_group("a2", "wrens")
    yield project
    project.items.close()


def make_report_data(project):
    with open_project_store(project) as store:
        snapshot = Snapshot.from_store(store)
    return gather(project, snapshot, DerivedResults.from_project(project, snapshot), now=NOW)


def test_a_report_contains_answers_and_results(project):
    data = make_report_data(project)
    assert (data.n_items, data.n_clusters, data.n_answers, data.n_undone, data.n_skipped) == (8, 2, 8, 1, 1)
    assert sorted((group.title, group.size) for group in data.groups) == [("Group 2", 4), ("wrens", 4)]
    assert {item.id for group in data.groups for item in group.typical} <= {
        *["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"]
    }
    assert [(p.name, p.n_answers, p.n_shared, p.n_unsure, p.seconds) for p in data.people] == [
        ("Ann", 5, 1, 0, 1.0),
        ("Bob", 3, 1, 1, 9.0),
    ]
    assert (data.n_shared, data.observed) == (1, 1.0)
    assert [(one.kind, one.answer, one.n, one.median) for one in data.times] == [
        ("pair", "any", 7, 3.0),
        ("pair", "together", 4, 1.0),
        ("pair", "apart", 2, 4.0),
        ("pair", "unsure", 1, 9.0),
        ("triplet", "any", 1, 9.0),
        ("triplet", "two of three", 1, 9.0),
    ]
    (conflict,) = data.conflicts
    assert [item.id for item in conflict.items] == ["a1", "a3"]
    assert conflict.chain == ("a1", "a2", "a3")
    assert "a1 and a3: apart" in [answer.text for answer in conflict.answers]
    assert (data.hints.n_must, data.hints.n_cannot, data.hints.n_triplets) == (3, 2, 1)
    assert ("a and b together", ("a1", "a2", "b3")) in data.hints.first
    page = check(make_report(data))
    assert "Joined through: a1 = a2 = a3" in page.text
    assert "wrens" in page.text
    assert "text of a1" in page.text


def test_a_text_is_not_shown_twice_if_it_begins_with_its_title():
    items = (
        ItemShown(0, "t0", "text", "my card is lost", text="my card  is lost"),
        ItemShown(1, "t1", "text", "where is …", text="where is my\nparcel"),
        ItemShown(2, "t2", "text", "a title", text="another text"),
    )
    data = replace(evil_data(), groups=(GroupShown(0, None, 3, "#0072b2", items),), conflicts=())
    page = make_report(data)
    assert re.findall(r'class="name"><bdi>(.*?)</bdi>', page) == ["t0", "t1", "a title"]


def test_unusual_ids_and_texts_are_shown_unchanged(tmp_path):
    project = make(tmp_path, WEIRD, texts=[f"{id} {EVIL}" for id in WEIRD])
    with open_project_store(project) as store:
        eve = AnswerWriter(store, "<b>Eve</b>")
        eve.answer(WEIRD[0], WEIRD[1], answer="SAME")
        eve.name_group(WEIRD[0], "<i>group</i>")
        snapshot = Snapshot.from_store(store)
    page = check(make_report(gather(project, snapshot, DerivedResults.from_project(project, snapshot))))
    assert "<b>Eve</b>" in page.text
    assert "<i>group</i>" in page.text


def test_pictures_are_embedded_and_a_broken_one_is_reported(tmp_path):
    from PIL import Image

    from likewise.studio.project import Project
    from likewise.studio.records import Described, Item, Settings

    source = tmp_path / "birds"
    source.mkdir()
    names = ["wren.png", "lark.png", "owl.png", "broken.png"]
    for name in names[:3]:
        Image.new("RGB", (8, 8), "red").save(source / name)
    (source / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno more")
    project = Project.create(
        tmp_path / "birds.likewise",
        X=[[0.0], [0.1], [5.0], [5.1]],
        items=[Item(row, name, "image", name[:-4], media=name) for row, name in enumerate(names)],
        settings=Settings("Birds", n_clusters=2),
        described=Described("image", 4),
        source=source,
    )
    page = check(make_report(make_report_data(project)))
    assert {attrs["alt"] for attrs in page.all("img")} >= {"Picture wren", "Picture lark", "Picture owl"}
    assert "broken.png" in page.text
    project.items.close()


def test_groups_are_described_by_their_keywords(tmp_path):
    texts = ["a blue car", "my old car", "the car", "car keys", "one cat", "our cat", "cat and dog", "a cat"]
    project = make(tmp_path, texts=texts)
    data = make_report_data(project)
    assert sorted(group.description for group in data.groups) == [("car",), ("cat",)]
    page = make_report(data)
    check(page)
    assert page.count('<p class="soft"><bdi>car</bdi></p>') == 1
    assert "Set apart by" in page
    assert "described by 2 numbers" in page
    project.items.close()


def test_a_study_has_its_section(tmp_path):
    from likewise.studio.project import Project
    from likewise.studio.records import Described, Item, Settings
    from likewise.studio.study import StudyOptions

    source = tmp_path / "birds.csv"
    source.write_text("name\n")
    project = Project.create(
        tmp_path / "birds.likewise",
        X=np.arange(24.0).reshape(12, 2),
        items=[Item(row, f"s{row}", "text", f"s{row}", text="x", truth="ab"[row % 2]) for row in range(12)],
        settings=Settings("Birds", n_clusters=2, study=StudyOptions(n_pairs=4, n_triplets=2).to_json()),
        described=Described("text", 12, has_truth=True),
        source=source,
    )
    html = make_report(make_report_data(project))
    page = check(html)
    assert "Nobody has started" in page.text
    headings = re.findall("<h2[^>]*>([^<]*)", html)
    assert headings[0] == "Study"
    assert page.text.count("Participants who finished") == 1
    assert "Contradictions" not in html[: html.index("<h2")].partition("<main>")[2]
    project.items.close()


def test_a_data_file_that_changed_is_reported(project):
    project.source.write_text("name\nother\n")
    assert any("birds.csv" in note for note in make_report_data(project).notes)


def test_a_note_lists_items_that_are_gone(tmp_path):
    project = make(tmp_path).keep_comparison(["a2", "b1"])
    assert make_report_data(project).notes == ("2 items are gone from the data and not asked about: a2, b1.",)


def test_answers_in_words():
    from likewise.studio.records import StoredEvent

    def describe(answer, *items):
        body = {"kind": "pair" if len(items) == 2 else "triplet", "items": items, "answer": answer}
        return _describe_answer(StoredEvent(1, "k", "answer", 1, "", body))

    assert describe("SAME", "x", "y") == "x and y: together"
    assert describe("NEITHER", "x", "y", "z") == "x, y and z: neither"
    assert describe("BC", "x", "y", "z") == "y and z together, x apart"


def test_the_map_has_a_dot_for_each_item_in_the_colour_of_its_group():
    from PIL import Image

    xy = np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    data = map_picture(xy, np.array([0, 1], dtype=np.int32), {0: "#ff0000", 1: "#0000ff"})
    pixels = np.asarray(Image.open(io.BytesIO(data)))
    found = np.unique(np.ascontiguousarray(pixels).view(np.uint32))
    wanted = np.array([(0, 0, 0, 0), (255, 0, 0, 255), (0, 0, 255, 255)], dtype=np.uint8).view(np.uint32)
    assert found.tolist() == sorted(wanted.ravel().tolist())
    rows, columns = np.nonzero(pixels[:, :, 0])
    assert rows.mean() < 20  # the first is at the upper left, as on the page
    assert columns.mean() < 20


# ---------------------------------------------------------------------- code that runs


@pytest.mark.parametrize("conflict", [True, False])
def test_the_code_of_the_page_loads_the_result(project, tmp_path, monkeypatch, conflict):
    from click.testing import CliRunner

    from likewise.cli.projects import export as command

    if not conflict:
        with open_project_store(project) as store:
            wrong = Snapshot.from_store(store).answers[4]
            AnswerWriter(store, "Olga").undo(wrong)
    page = Page(make_report(make_report_data(project)))
    written, code = page.preformatted
    words = shlex.split(written)
    assert words[:2] == ["likewise", "export"]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, words[2:])
    assert result.exit_code == 0, result.output
    assert ("drop_conflicts" in code) == conflict
    found = {}
    exec(compile(code, "report", "exec"), found)
    assert found["ids"] == ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"]
    assert found["X"].shape == (8, 2)
    assert "wrens" in found["names"].values()
    assert len(found["hints"].must) == 3
    assert len(set(found["model"].labels_)) == 2


# ---------------------------------------------------------------------- in a browser


@contextlib.contextmanager
def browser():
    """Chromium of the system; on a machine without it the test is skipped, and fails in CI."""
    if not Path(CHROMIUM).exists():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{CHROMIUM} is not installed")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            yield started
        finally:
            started.close()


def test_axe_finds_nothing_and_nothing_is_fetched(tmp_path):
    axe = pytest.importorskip("axe_playwright_python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
    path = tmp_path / "report.html"
    path.write_text(make_report(evil_data()), encoding="utf-8")
    trouble = []
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: trouble.append(message.text))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(path.as_uri())
        page.evaluate(script)
        for scheme, what in (("light", "{}"), ("dark", "{runOnly: ['color-contrast']}")):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(f"axe.run({what})")["violations"]
            assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390  # no sideways scrolling
    assert [url for url in trouble if not url.startswith("data:image/")] == [path.as_uri()]
