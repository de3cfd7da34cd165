"""The questionnaire: five comparisons, all required."""

import pytest

from likewise.exceptions import StudyError
from likewise.studio.study import SURVEY, Questionnaire
from likewise.studio.study.answers import compute_survey_rows
from studio.study.simulated import BETTER


def test_a_questionnaire_can_be_restored_from_its_event():
    survey = Questionnaire.from_answers({**BETTER, "comments": "Two are easier than three. 🐦"})
    assert Questionnaire.from_answers(survey.to_json()) == survey
    assert [question.name for question in SURVEY] == [name for name in BETTER if name != "comments"]


def test_comments_may_be_left_out():
    assert (
        Questionnaire.from_answers(
            {name: given for name, given in BETTER.items() if name != "comments"}
        ).comments
        == ""
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preference": "both"}, "preference must be one of pair, triplet and none; got 'both'"),
        ({"performance": None}, "performance must be"),
        ({"frustration": ["pair"]}, "frustration must be"),
        ({"comments": 3}, "comments must be text"),
        ({"comments": "x" * 10_001}, "10001 characters"),
    ],
)
def test_invalid_questionnaires_are_refused(change, message):
    with pytest.raises(StudyError, match=message):
        Questionnaire.from_answers({**BETTER, **change})


def test_all_problems_are_reported_at_once():
    with pytest.raises(
        StudyError, match=r"performance.*; effort_per_query.*; overall_effort.*; frustration.*; pref"
    ):
        Questionnaire.from_answers({})


def test_more_effort_for_triplets_counts_as_less_for_pairs():
    others = {**BETTER, "effort_per_query": "pair", "frustration": "pair", "preference": "none"}
    rows = {
        row.name: (row.pair, row.triplet, row.none)
        for row in compute_survey_rows(
            [Questionnaire.from_answers(BETTER), Questionnaire.from_answers(others)]
        )
    }
    assert rows == {
        "performance": (2, 0, 0),
        "effort_per_query": (1, 1, 0),
        "overall_effort": (2, 0, 0),
        "frustration": (0, 1, 1),
        "preference": (1, 0, 1),
    }
