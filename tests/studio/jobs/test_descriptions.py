"""What sets the groups apart: keywords of texts, columns of tables, and a limited number of items read."""

import numpy as np
import pytest

from likewise.studio.items import ItemFile, write_items
from likewise.studio.jobs import descriptions
from likewise.studio.jobs.analysis import ProjectAnalysis
from likewise.studio.jobs.descriptions import describe_groups as describe
from likewise.studio.records import Item, Settings
from small_projects import IDS, make

TEXTS = (
    "my card has not arrived",
    "when will the card arrive",
    "the card never arrived",
    "card delivery",
    "I want a refund",
    "refund this payment",
    "the payment was refunded, or the refund is late",
    "payment twice",
)


@pytest.fixture
def write(tmp_path):
    """Write items, given as texts or as rows of cells, and return the file."""
    files = []

    def write(given, kind="text"):
        texts = [each if isinstance(each, str) else None for each in given]
        cells = [() if each is None or isinstance(each, str) else tuple(each.items()) for each in given]
        items = [Item(row, f"i{row}", kind, "x", texts[row], cells[row]) for row in range(len(given))]
        path = tmp_path / f"items-{len(files)}.sqlite"
        write_items(path, items)
        files.append(ItemFile(path))
        return files[-1]

    yield write
    for file in files:
        file.close()


def describe_groups(items, labels):
    """Return the phrases of each group."""
    return {group: one.phrases for group, one in describe(items, labels).items()}


def groups(*numbers):
    return np.array(numbers, dtype=np.int32)


def test_keywords_occur_in_two_texts_of_the_group_and_rarely_elsewhere(write):
    # "card" is in four texts and "arrived" in two; "refund" occurs three times and "payment" three times.
    found = describe_groups(write(TEXTS), groups(0, 0, 0, 0, 3, 3, 3, 3))
    assert found == {0: ("card", "arrived"), 3: ("payment", "refund")}


def test_columns_of_numbers_and_categories_with_their_means(write):
    rows = [
        {"cm": "1", "who": "anna", "plan": "free", "same": "5"},
        {"cm": "2", "who": "ben", "plan": "free", "same": "5"},
        {"cm": "NA", "who": "carl", "plan": "free", "same": "5"},
        *({"cm": "10", "who": f"person {row}", "plan": "team", "same": "5"} for row in range(17)),
        {"cm": "12", "who": "dora", "plan": "free", "same": ""},
    ]
    found = describe_groups(write(rows, "row"), groups(*[0] * 3, *[1] * 18))
    # The gap is replaced by the mean of the others, (1 + 2 + 17 * 10 + 12) / 20 = 9.25: a mean of 4.08.
    assert found[0] == ("plan free 100 % (others 6 %)", "cm 4.1 (others 10.1)")
    assert found[1] == ("plan team 94 % (others 0 %)", "cm 10.1 (others 4.1)")


def test_the_others_are_all_other_items_however_many_are_read(write, monkeypatch):
    monkeypatch.setattr(descriptions, "_MOST_ITEMS", 60)
    # Of the 420 items outside the second group, 10 are "b", and 20 have the value 1 in "cm".
    rows = [{"plan": "a", "cm": "0"}] * 400 + [{"plan": "b", "cm": "4"}] * 20
    rows += [{"plan": "b" if row % 2 else "a", "cm": "1"} for row in range(20)]
    labels = groups(*[0] * 400, *[1] * 20, *[2] * 20)
    found = describe_groups(write(rows, "row"), labels)
    assert set(found[1]) == {"plan b 100 % (others 2 %)", "cm 4.00 (others 0.05)"}
    assert found[0] == ("plan a 100 % (others 25 %)", "cm 0.00 (others 2.50)")
    monkeypatch.setattr(descriptions, "_MOST_ITEMS", 5_000)
    assert describe_groups(write(rows, "row"), labels) == found


def test_a_gap_is_replaced_by_the_mean_of_all_items(write, monkeypatch):
    monkeypatch.setattr(descriptions, "_MOST_ITEMS", 20)
    rows = [{"cm": "0"}] * 990 + [{"cm": "8"}] * 9 + [{"cm": ""}]
    found = describe_groups(write(rows, "row"), groups(*[0] * 990, *[1] * 10))
    # The mean of all items is about 0.07, so that of the second group is (9 * 8 + 0.07) / 10.
    assert found[1] == ("cm 7.21 (others 0.00)",)


def test_groups_that_are_not_described_count_as_others(write, monkeypatch):
    monkeypatch.setattr(descriptions, "_MOST_GROUPS", 2)
    rows = [{"cm": "0"}] * 20 + [{"cm": "4"}] * 15 + [{"cm": "10"}] * 10
    labels = groups(*[0] * 20, *[1] * 15, *[5] * 4, *[7] * 3, *[9] * 3)
    found = describe_groups(write(rows, "row"), labels)
    # (15 * 4 + 10 * 10) / 25 for the items outside the first group.
    assert found == {0: ("cm 0.0 (others 6.4)",)}
    words = write(["wren"] * 20 + ["lark"] * 15 + ["lark"] * 10)
    assert describe_groups(words, labels) == {0: ("wren",), 1: ("lark",)}


def test_of_many_columns_only_those_beyond_noise_are_shown(write):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 300))
    noise[:30, 7] += 3
    rows = [{f"c{j}": f"{value:.3f}" for j, value in enumerate(row)} for row in noise]
    found = describe_groups(write(rows, "row"), groups(*[0] * 30, *[1] * 30))
    assert [len(phrases) for phrases in found.values()] == [1, 1]
    assert all(phrases[0].startswith("c7 ") for phrases in found.values())


@pytest.mark.parametrize(
    ("given", "kind", "labels"),
    [
        (TEXTS, "text", [0] * 8),  # one group
        (TEXTS, "image", [0, 1] * 4),
        (TEXTS, "sound", [0, 1] * 4),
        (["", " ", "", "?"], "text", [0, 0, 1, 1]),
        ([{"a": "1"}, {"a": "1"}], "row", [0, 1]),  # constant
        ([{"a": ""}, {"a": " "}], "row", [0, 1]),
        ([None, None], "row", [0, 1]),  # no columns
    ],
)
def test_nothing_to_describe(write, given, kind, labels):
    assert describe_groups(write(given, kind), groups(*labels)) == {}


@pytest.mark.parametrize("most", [6, 60])
def test_few_members_of_each_group_are_read(write, monkeypatch, most):
    monkeypatch.setattr(descriptions, "_MOST_ITEMS", most)
    monkeypatch.setattr(descriptions, "_LEAST", 3)
    words = ("wren", "lark", "owl")
    file = write([words[row % 3 if row < 290 else 2] for row in range(300)])
    labels = groups(*(row % 3 if row < 290 else 2 for row in range(300)))
    read, get_items = [], file.get_items
    monkeypatch.setattr(file, "get_items", lambda rows: read.append(list(rows)) or get_items(rows))
    assert describe_groups(file, labels) == {0: ("wren",), 1: ("lark",), 2: ("owl",)}
    rows = max(read, key=len)
    assert rows == sorted(set(rows))
    assert np.bincount(labels[rows]).tolist() == [max(most // 3, 3)] * 3


def test_only_the_largest_groups_are_described(write, monkeypatch):
    monkeypatch.setattr(descriptions, "_MOST_GROUPS", 2)
    file = write(["wren"] * 3 + ["owl"] + ["lark"] * 2)
    assert describe_groups(file, groups(0, 0, 0, 1, 2, 2)) == {0: ("wren",), 2: ("lark",)}


def test_the_analysis_describes_its_picture_once(tmp_path, monkeypatch):
    project = make(tmp_path, texts=TEXTS)
    calls = []

    def count(*arguments, **options):
        calls.append(arguments)
        return describe(*arguments, **options)

    monkeypatch.setattr(descriptions, "describe_groups", count)
    analysis = ProjectAnalysis(
        project.load_features(), list(IDS), Settings("Birds", n_clusters=2), items=project.items
    )
    assert analysis.describe_groups().phrases == {}  # no picture yet
    for _ in range(2):
        analysis.make_picture()
        assert sorted(analysis.describe_groups().phrases.values()) == [
            ("card", "arrived"),
            ("payment", "refund"),
        ]
    assert len(calls) == 1  # the groups did not change
    project.items.close()


def test_a_name_is_made_of_two_phrases_and_shelved_items_are_in_no_group(write):
    found = describe(write(TEXTS), groups(0, 0, 0, 0, 3, 3, 3, 3))
    assert {group: one.name for group, one in found.items()} == {0: "card, arrived", 3: "payment, refund"}
    rows = [{"cm": str(row), "plan": "free" if row < 20 else "team"} for row in range(40)]
    found = describe(write(rows, "row"), groups(*[0] * 19, -1, *[1] * 20))
    assert {group: one.name for group, one in found.items()} == {
        0: "plan free, low cm",
        1: "plan team, high cm",
    }
