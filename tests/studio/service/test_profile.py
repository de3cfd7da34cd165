"""What is usual among the items: ranges of columns, and common words."""

import numpy as np
import pytest

from likewise.studio.items import ItemFile, write_items
from likewise.studio.records import Item
from likewise.studio.service._profile import describe_column, make_profile


def test_a_typical_difference_is_that_of_two_random_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(50.0, 4.0, 1000).round(3)
    found = describe_column("x", [str(value) for value in values])
    inner = np.clip(values, *np.percentile(values, [1, 99]))
    pairs = inner[rng.integers(0, 1000, (20_000, 2))]
    assert found["typical"] == pytest.approx(np.sqrt(np.square(np.diff(pairs)).mean()), rel=0.03)
    assert (found["low"], found["high"]) == (values.min(), values.max())
    assert found["middle"] == pytest.approx(np.percentile(values, [25, 75]))


def test_one_wrong_value_does_not_hide_all_differences():
    values = [*map(str, range(200)), "1e12"]
    assert describe_column("x", values)["typical"] == pytest.approx(82, abs=1)


def test_levels_of_a_category_differ_by_one():
    found = describe_column("x", ["red"] * 3 + ["blue"] + [""])
    assert found["levels"] == ["red", "blue"]
    assert found["typical"] ** 2 == pytest.approx(2 * 0.75 * 0.25)
    assert (found["low"], found["middle"]) == (None, None)


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        (["0.3", "0.34", "0.5"], 2),
        (["438", "1080"], 0),
        (["127.0", "100.0"], 0),  # whole numbers, as many programs write them
        (["14.20", "14.23"], 2),
        (["0.001235", "1065"], 0),  # a thousandth does not matter in a range of a thousand
        (["1e-30", "2e-30"], 0),
        (["0.1234567", "0.1234568"], 6),
    ],
)
def test_all_numbers_of_a_column_have_the_same_decimals(cells, decimals):
    assert describe_column("x", cells)["decimals"] == decimals


@pytest.mark.parametrize("cells", [[], [""], ["nan", "inf"], ["a"], ["5", "5"], ["1e308", "-1e308"]])
def test_odd_columns_have_finite_numbers(cells):
    found = describe_column("x", cells)
    assert all(np.isfinite(value) for value in (found["typical"], found["low"] or 0, found["high"] or 0))


def test_names_are_no_category():
    assert describe_column("x", ["ann", "bob", "cleo"])["levels"] == []


def test_common_words_are_counted_once_per_text(tmp_path):
    texts = ["The card, the card!", "the Card arrived", "no words"]
    write_items(tmp_path / "i", [Item(row, str(row), "text", "t", text) for row, text in enumerate(texts)])
    found = make_profile(ItemFile(tmp_path / "i"))
    assert dict(found["words"]) == {"the": 2, "card": 2}  # a word of one text only is rare
    assert (found["n"], found["columns"]) == (3, [])
