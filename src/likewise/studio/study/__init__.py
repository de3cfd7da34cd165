"""Study mode: the user study of Pei (2017, section 3.5), from the questions to the tables."""

from likewise.exceptions import StudyError
from likewise.studio.study.answers import SURVEY, Questionnaire
from likewise.studio.study.options import MarkedQuestion, StudyOptions
from likewise.studio.study.plan import ALLOWED, TEXTS, PlannedQuestion, Stage, Study, veil_item
from likewise.studio.study.pool import read_pool

__all__ = [
    "ALLOWED",
    "SURVEY",
    "TEXTS",
    "MarkedQuestion",
    "PlannedQuestion",
    "Questionnaire",
    "Stage",
    "Study",
    "StudyError",
    "StudyOptions",
    "read_pool",
    "veil_item",
]
