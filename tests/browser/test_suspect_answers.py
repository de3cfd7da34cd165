"""Answers that look wrong in a real browser: shown with reasons, undone and confirmed."""

import json
import uuid

import pytest

from likewise.studio.records import NewEvent

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


def give(served, person, i, j, word):
    """Store an answer about two squares; their colour is their row modulo 3."""
    items = [f"square-{row:02d}.png" for row in (i, j)]
    body = {"kind": "pair", "items": items, "answer": word, "source": "import"}
    event = NewEvent(uuid.uuid4().hex, "answer", person.id, body)
    stored, _ = served.studio.store.write(lambda tx: tx.append(event))
    return stored.seq


def plant(served, person, *wrong):
    """Give right answers, and some wrong ones; return the seqs of the wrong ones."""
    for k in range(0, 18, 3):
        for colour in range(3):
            give(served, person, k + colour, k + colour + 3, "SAME")
        give(served, person, k, k + 1, "DIFFERENT")
        give(served, person, k + 1, k + 2, "DIFFERENT")
    seqs = [give(served, person, i, j, word) for i, j, word in wrong]
    served.studio.hub.refresh()
    return seqs


def kinds(visitor):
    return [event.kind for event in visitor.events()]


def test_suspect_answers_can_be_undone_and_confirmed(studios, visit, axe):
    served = studios("far squares")
    visitor = visit(served)
    page = visitor.page
    first, second = plant(served, visitor.person, (3, 7, "SAME"), (24, 35, "SAME"))
    visitor.go("conflicts")
    suspects = page.locator(".conflict.suspect")
    expect(suspects).to_have_count(2)
    expect(page.get_by_role("heading", name="Suspect answers")).to_be_visible()
    shown = suspects.filter(has_text="square-03.png")
    expect(shown).to_contain_text("square-07.png")
    expect(shown).to_contain_text("probably wrong:")
    expect(shown).to_contain_text("contradict it.")
    expect(shown).to_contain_text("you, ")
    expect(shown.locator("img")).to_have_count(2)
    assert axe(page) == []

    shown.get_by_role("button", name="Undo").click()
    expect(shown).to_have_count(0)
    undo = visitor.events()[-1]
    assert (undo.kind, undo.body["of"]) == ("undo", first)

    suspects.filter(has_text="square-24.png").get_by_role("button", name="Keep").click()
    expect(page.locator(".hint-notice")).to_contain_text("Kept.")
    expect(suspects.filter(has_text="square-24.png")).to_have_count(0)
    kept = visitor.events()[-1]
    assert (kept.kind, kept.body["of"]) == ("confirm", second)

    visitor.go("history")
    expect(page.locator(".past").first).to_contain_text("Kept: Same")
    page.locator(".past").first.get_by_role("button", name="Undo").click()
    expect(page.locator(".past").first).to_contain_text("undone")
    visitor.go("conflicts")
    expect(suspects.filter(has_text="square-24.png")).to_have_count(1)

    suspects.get_by_role("button", name="Ask again").click()
    expect(suspects).to_have_count(0)
    assert kinds(visitor)[-3:] == ["confirm", "undo", "again"]


@pytest.mark.parametrize(
    ("progress", "sentence"),
    [
        (
            {"n_answers": 40, "error_rate": [0.08, 0.04, 0.13]},
            "About 8 % of the answers are probably wrong (4 to 13 %).",
        ),
        (
            {"n_answers": 40, "error_rate": [0.003, 0.0, 0.02]},
            "Less than 1 % of the answers are probably wrong (0 to 2 %).",
        ),
        (
            {"n_answers": 40, "error_rate": [0.25, 0.1, 0.4]},
            "About 25 % of the answers are probably wrong (10 to 40 %). "
            "The answers disagree with the data and with "
            "each other: review the suspect answers before you go on.",
        ),
        ({"n_answers": 9, "error_rate": [0.08, 0.04, 0.13]}, ""),
        ({"n_answers": 40, "error_rate": None}, ""),
    ],
)
def test_the_share_of_wrong_answers_is_one_plain_sentence(run, progress, sentence):
    assert run("progress.js", f"m => m.errorSentence({json.dumps(progress)})") == sentence


@pytest.mark.parametrize(
    ("n_against", "n_near", "sentence"),
    [
        (2, 3, "2 other answers and 3 similar items contradict it."),
        (1, 0, "1 other answer contradicts it."),
        (0, 2, "2 similar items contradict it."),
        (0, 0, "It does not fit the items or the other answers."),
    ],
)
def test_reasons_are_given_as_a_sentence(run, n_against, n_near, sentence):
    reasons = json.dumps({"n_against": n_against, "n_near": n_near})
    assert run("conflicts.js", f"m => m.reasonSentence({reasons})") == sentence
