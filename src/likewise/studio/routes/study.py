"""Routes of a study, for projects that are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field

from likewise.exceptions import NotFoundError
from likewise.studio.routes._common import Body, Key, Owner, Routes, TheStudio, Who
from likewise.studio.service import Studio
from likewise.studio.service._views import DoneView, ParticipantsView, StudyView

if TYPE_CHECKING:  # imports scikit-learn
    from likewise.studio.study.desk import StudyDesk

routes: Routes = Routes("study")
Choice = Literal["pair", "triplet", "none"]


class NextBody(Body):
    """A step to the next stage."""

    key: Key


class SurveyBody(Body):
    """The questionnaire; each answer is a kind of question, or none."""

    key: Key
    performance: Choice
    effort_per_query: Choice
    overall_effort: Choice
    frustration: Choice
    preference: Choice
    comments: Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")] = ""


def _get_desk(studio: Studio) -> StudyDesk:
    if not studio.asking.follows_plan:
        raise NotFoundError("This project is not a study.", "Create one with likewise studio PATH --study.")
    return cast("StudyDesk", studio.asking)


@routes.get("/api/study")
def study(studio: TheStudio, person: Who) -> StudyView:
    """Return the person's stage in the study."""
    return _get_desk(studio).show_stage(person)


@routes.get("/api/study/participants")
def participants(studio: TheStudio, owner: Owner) -> ParticipantsView:
    """Return how far each participant is."""
    return _get_desk(studio).show_participants()


@routes.post("/api/study/next")
def go_on(body: NextBody, studio: TheStudio, person: Who) -> StudyView:
    """Leave the introduction or a break."""
    return _get_desk(studio).go_on(person, body.key)


@routes.post("/api/study/survey")
def survey(body: SurveyBody, studio: TheStudio, person: Who) -> DoneView:
    """Submit the questionnaire, after all questions have been answered."""
    return _get_desk(studio).store_survey(person, body.key, body.model_dump(exclude={"key"}))
