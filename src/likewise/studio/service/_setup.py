"""What the owner sets in the page: the words of the questions, the guideline, and how questions are asked."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from likewise.exceptions import BadRequestError, ConflictError, NotFoundError, PictureError
from likewise.studio.data_files import FIRST, detect_content_type
from likewise.studio.project import Project
from likewise.studio.records import Settings
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers
from likewise.studio.service._views import GuidePictureView, GuideView, SetupView
from likewise.studio.wording import LONGEST_NAME, QUESTIONS, Wording, check_line

MOST_PICTURES = 100
MOST_OVERLAP, MOST_BUDGET = 20, 10_000_000
_SIDE = 1200  # pixels of a picture in the guideline
_UNUSED = 24 * 3600.0  # seconds after which a picture that the guideline does not mention is removed
_ASKING = ("n_clusters", "discover", "ask", "overlap", "budget", "independent")
_WORDS = ("criterion", "questions", "guideline", "examples")


class Setup:
    """Shows and changes the settings and the wording of a project.

    They are stored in project.json, which is replaced atomically: if the process is killed, either the old or
    the new settings remain. Other processes that have the project open see them within seconds.

    Parameters
    ----------
    project : Project
        The project.
    asking : QuestionsAndAnswers
        Shows items.
    use_changes : callable
        Called after a change.
    """

    def __init__(
        self, project: Project, asking: QuestionsAndAnswers, use_changes: Callable[[], None]
    ) -> None:
        self._project = project
        self._asking = asking
        self._use_changes = use_changes

    # ------------------------------------------------------------------ settings

    def show(self) -> SetupView:
        """Return everything that the owner can set."""
        settings, wording = self._project.settings, self._project.wording
        return {
            "title": settings.title,
            "criterion": wording.criterion,
            "questions": {kind: wording.questions.get(kind, "") for kind in QUESTIONS},
            "defaults": dict(QUESTIONS),
            "guideline": wording.guideline,
            "examples": self._asking.get_chosen_examples(),
            "n_clusters": settings.n_clusters,
            "discover": settings.discover,
            "ask": settings.ask,
            "overlap": settings.overlap,
            "budget": settings.budget,
            "independent": settings.independent,
            "study": settings.study is not None,
        }

    def change(self, given: Mapping[str, Any]) -> SetupView:
        """Store the given settings and keep the rest. `examples` has (name, rows) pairs."""
        changes = dict(given)
        if "examples" in changes:
            changes["examples"] = [[name, self._get_ids(rows)] for name, rows in changes["examples"]]
        self._project.change_settings(
            lambda settings, wording: (
                self._change_settings(settings, changes),
                self._change_wording(wording, changes),
            )
        )
        self._use_changes()
        self._remove_unused_pictures()
        return self.show()

    def _get_ids(self, rows: list[int]) -> list[str]:
        return [self._asking.get_item(row).id for row in rows]

    def _change_settings(self, settings: Settings, changes: Mapping[str, Any]) -> Settings:
        new = {name: changes[name] for name in _ASKING if name in changes}
        if isinstance(new.get("n_clusters"), list | tuple):
            if len(new["n_clusters"]) != 2:
                raise BadRequestError(
                    f"A range of groups has two numbers; got {len(new['n_clusters'])}.",
                    "For example, [50, 100].",
                )
            low, high = new["n_clusters"]
            new["n_clusters"] = low if low == high else (low, high)
            new.setdefault("discover", False)
        questions = {kind: text for kind, text in changes.get("questions", {}).items() if text}
        is_reworded = "questions" in changes and questions != self._project.wording.questions
        if settings.study is not None and (
            is_reworded or any(getattr(settings, name) != value for name, value in new.items())
        ):
            raise ConflictError(
                "The questions of a study cannot be changed.",
                "You can change only the title, criterion, guideline and examples.",
            )
        if "title" in changes:
            new["title"] = check_line(changes["title"], "The title", LONGEST_NAME)
            if not new["title"]:
                raise BadRequestError("The title must not be empty.")
        now = replace(settings, **new)
        n = self._project.items.n
        bounds = now.n_clusters if isinstance(now.n_clusters, tuple) else (now.n_clusters,)
        for bound in bounds:
            if bound is not None and not 2 <= bound <= n:
                raise BadRequestError(
                    f"The number of groups must be between 2 and the number of items, {n:,}; got {bound:,}.",
                    "Leave it empty if it is unknown.",
                )
        if isinstance(now.n_clusters, tuple) and now.n_clusters[0] > now.n_clusters[1]:
            raise BadRequestError(
                "The smaller number of a range of groups must come first; got {:,} to {:,}.".format(
                    *now.n_clusters
                ),
                "For example 50 to 100.",
            )
        now.check_range()
        if settings.study is None and now.n_clusters is None:
            now = replace(now, discover=True)
        if not 1 <= now.overlap <= MOST_OVERLAP:
            raise BadRequestError(
                f"The number of people per question must be between 1 and {MOST_OVERLAP}; got {now.overlap}."
            )
        if now.budget is not None and not 0 <= now.budget <= MOST_BUDGET:
            raise BadRequestError(f"The budget must be between 0 and {MOST_BUDGET:,}; got {now.budget:,}.")
        return now

    def _change_wording(self, wording: Wording, changes: Mapping[str, Any]) -> Wording:
        new = {name: changes[name] for name in _WORDS if name in changes}
        if not new:
            return wording
        now = Wording.from_json({**wording.to_json(), **new})
        now.check_references(self._project.items.n, {path.stem for path in self._list_pictures()})
        return now

    # ------------------------------------------------------------------ the guideline

    def show_guide(self) -> GuideView:
        """Return what people read before they answer."""
        settings, wording = self._project.settings, self._project.wording
        return {
            "title": settings.title,
            "criterion": wording.criterion,
            "text": wording.guideline,
            "items": self._asking.make_item_views(wording.list_items()),
            "examples": self._asking.get_chosen_examples(),
        }

    @property
    def _folder(self) -> Path:
        return self._project.folder / "guideline"

    def _list_pictures(self) -> list[Path]:
        return sorted(self._folder.glob("*.webp")) if self._folder.is_dir() else []

    def receive_picture(self, name: str, content: bytes) -> GuidePictureView:
        """Store a picture for the guideline, decoded and encoded again, so that nothing else is in it."""
        from likewise.features import read_picture

        if not (detect_content_type(content[:FIRST]) or "").startswith("image/"):
            raise BadRequestError(
                f"{name[:80]!r} is not a picture that the studio can show.",
                "Use PNG, JPEG, GIF, WebP or BMP.",
            )
        self._remove_unused_pictures()
        if len(self._list_pictures()) >= MOST_PICTURES:
            raise BadRequestError(
                f"The guideline has {MOST_PICTURES} pictures, which is the limit.",
                "Pictures that it does not mention are removed after a day.",
            )
        try:
            image = read_picture(io.BytesIO(content), side=_SIDE)
        except PictureError as error:
            raise BadRequestError(f"{name[:80]!r} cannot be read: {error}") from error
        out = io.BytesIO()
        image.save(out, "WEBP", quality=85)
        digest = hashlib.sha256(out.getvalue()).hexdigest()[:16]
        part = self._folder / f".{secrets.token_hex(8)}.part"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with open(part, "wb") as file:
                file.write(out.getvalue())
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._folder / f"{digest}.webp")
        except OSError as error:
            raise BadRequestError(f"The picture cannot be stored: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
        return {"picture": digest}

    def read_picture(self, digest: str) -> bytes:
        """Return a picture of the guideline."""
        try:
            return (self._folder / f"{digest}.webp").read_bytes()
        except OSError as error:
            raise NotFoundError("There is no such picture in the guideline.") from error

    def _remove_unused_pictures(self) -> None:
        used = self._project.wording.list_pictures()
        for path in self._list_pictures():
            with suppress(OSError):
                if path.stem in used:
                    os.utime(path)  # when it was last used
                elif time.time() - path.stat().st_mtime > _UNUSED:
                    path.unlink()
