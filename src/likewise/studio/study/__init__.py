"""Study mode: the user study of Pei (2017, section 3.5) as a feature, from the questions to the tables."""

from likewise.exceptions import StudyError
from likewise.studio.study.options import Marked, StudyOptions
from likewise.studio.study.plan import ALLOWED, TEXTS, Planned, Stage, Study
from likewise.studio.study.pool import read_pool
from likewise.studio.study.survey import SURVEY, Survey
from likewise.studio.study.veil import veiled

__all__ = [
    "ALLOWED",
    "SURVEY",
    "TEXTS",
    "Marked",
    "Planned",
    "Stage",
    "Study",
    "StudyError",
    "StudyOptions",
    "Survey",
    "read_pool",
    "veiled",
]
