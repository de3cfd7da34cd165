"""Reasons: templates and rows, rendered with numbers, ids and names."""

import pytest

from likewise.active import Question, Reason
from likewise.exceptions import render

REASON = Reason("{Row} is near to {rows:2}, of {things} such as {list:2}.", (3, 5, 7, 1, 2))


def test_a_reason_is_rendered_with_row_numbers_by_default():
    assert str(REASON) == "Row 3 is near to rows 5 and 7, of rows such as 1, 2."


def test_a_reason_is_rendered_with_names_and_nouns_in_place():
    names = {row: f"n{row}" for row in (1, 2, 3, 5, 7)}
    words = {"row": "item", "rows": "items", "things": "items"}
    assert (
        render(REASON, names, words=words) == "Item n3 is near to items n5 and n7, of items such as n1, n2."
    )


def test_rows_without_a_name_keep_their_numbers_and_their_noun():
    names, words = {3: 1, 5: 2}, {"row": "number", "rows": "numbers"}
    assert render(REASON, names, words=words) == "Number 1 is near to rows 5 and 7, of rows such as 1, 2."


def test_reasons_are_joined_and_renumbered():
    both = Reason("{Row} is first.", (1,)) + Reason("{Row} is second.", (2,))
    assert str(both.renumber(lambda row: 10 * row)) == "Row 10 is first. Row 20 is second."
    assert Reason() + both == both
    assert not Reason()
    assert str(Reason()) == ""


def test_a_plain_sentence_is_a_reason_without_rows():
    question = Question.pair(0, 1, reason="Row 7, {row} and {} stay.")
    assert question.reason.rows == ()
    assert str(question.renumber(lambda row: row + 1).reason) == "Row 7, {row} and {} stay."


def test_a_reason_survives_json():
    assert Reason.from_dict(REASON.to_dict()) == REASON


@pytest.mark.parametrize(
    ("template", "rows", "words"),
    [
        ("{Row} is near.", (), r"places for 1 row\(s\); got 0"),
        ("{rows:2}", (1, 2, 3), r"places for 2 row\(s\); got 3"),
        ("{line}", (), r"there is no placeholder \{line\}"),
        ("{rows}", (1,), r"there is no placeholder \{rows\}"),
        ("{", (), "cannot be read"),
    ],
)
def test_a_template_that_does_not_fit_its_rows_is_refused(template, rows, words):
    with pytest.raises(ValueError, match=words):
        Reason(template, rows)
