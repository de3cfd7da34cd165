"""An open project: its store, its worker and the services that pages use."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from types import TracebackType

from likewise import __version__
from likewise.exceptions import LikewiseError
from likewise.studio.project import Project
from likewise.studio.records import FromWorker, Person, Picture
from likewise.studio.service._accounts import Accounts
from likewise.studio.service._broken_items import BrokenItems
from likewise.studio.service._group_pages import GroupPages
from likewise.studio.service._group_repairs import GroupRepairs
from likewise.studio.service._hub import Hub, Teller
from likewise.studio.service._profile import make_profile
from likewise.studio.service._questions_and_answers import QuestionsAndAnswers
from likewise.studio.service._setup import Setup
from likewise.studio.service._uploads import ItemUploads
from likewise.studio.service._views import MeView, ProfileView, make_who_view
from likewise.studio.store import Store, open_store

LEASE_SECONDS = 300.0
_LEAST_READY, _MOST_READY = 12, 90
_OF_QUESTIONS = ("ask", "n_clusters", "discover", "budget", "strategy", "seed")  # used by the worker
_LOOK_EVERY = 5.0  # seconds between checks for events that other processes wrote, such as imports
_LOOK_SHARE = 0.005  # maximum share of the time spent on checking the data; a folder may have 10^5 files


def compute_project_id(project: Project) -> str:
    """Return an id that distinguishes projects with the same title. It does not reveal the secret."""
    return hashlib.sha256(b"id" + project.get_secret()).hexdigest()[:16]


def _find_desk(project: Project) -> type[QuestionsAndAnswers]:
    """Return the class that asks: the only place that distinguishes studies from other projects."""
    if project.settings.study is None:
        return QuestionsAndAnswers
    from likewise.studio.study.desk import StudyDesk  # imports scikit-learn

    return StudyDesk


class Studio:
    """The studio of one project, used by pages, commands and tests.

    Parameters
    ----------
    project : Project
        The project.
    store : Store, optional
        The store of events; by default the database of the project, which `stop` then closes.
    teller : callable, optional
        Creates the object that derives questions and groups; by default a worker process.
    clock : callable
        Returns the time in seconds since 1970.
    lease_seconds : float
        How long a question is reserved for a person who sees it.

    Attributes
    ----------
    people, asking, groups, repairs, uploads, setup, broken
        Services for accounts, questions, groups, their repairs, new items, settings and broken items. In a
        study, `asking` is a :class:`~likewise.studio.study.desk.StudyDesk`.
    hub : Hub
        The latest derived state.
    id : str
        Distinguishes projects with the same title.

    Examples
    --------
    ::

        with Studio(Project.open("digits.likewise")) as studio:
            ann, token = studio.people.add("Ann", "annotator")
            asked = studio.asking.give_questions(ann, 1)
    """

    def __init__(
        self,
        project: Project,
        *,
        store: Store | None = None,
        teller: Callable[[Callable[[FromWorker], None]], Teller] | None = None,
        clock: Callable[[], float] = time.time,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self.project = project
        self.id: str = compute_project_id(project)
        self._own_store = store is None
        self.store: Store = (
            store if store is not None else open_store(project.database_url, backups=project.backups)
        )
        self.hub: Hub = Hub(
            self.store,
            teller or self._make_worker,
            self._count_wanted,
            clock,
            keep=self._keep_picture,
        )
        self.people: Accounts = Accounts(self.hub, clock)
        self.asking: QuestionsAndAnswers = _find_desk(project)(self.hub, project, clock, lease_seconds)
        self.groups: GroupPages = GroupPages(self.hub, project.items, self.asking)
        self.repairs: GroupRepairs = GroupRepairs(self.hub, project.items, self.asking)
        self.uploads: ItemUploads = ItemUploads(project, self.hub, self.asking, self.use_changes)
        self.setup: Setup = Setup(project, self.asking, self.use_changes)
        self.broken: BrokenItems = BrokenItems(self.hub, self.asking)
        self._refreshing = threading.Lock()
        self._profile: tuple[int, ProfileView] | None = None  # with the number of items it describes
        self._closing = threading.Event()
        self._looking = threading.Thread(target=self._look, name="likewise-looking", daemon=True)

    def _make_worker(self, hear: Callable[[FromWorker], None]) -> Teller:
        from likewise.studio.jobs.worker import Worker

        return Worker(self.project, hear)

    def _keep_picture(self, picture: Picture) -> None:
        self.repairs.note_picture(picture)
        self.project.keep_groups(picture.labels, picture.seq)

    def _count_wanted(self) -> int:
        """Return the number of questions to have ready: a few for each person who may answer."""
        if self.asking.follows_plan:
            return 0
        n_people = len(self.store.read(lambda tx: tx.get_people()))
        return min(max(_LEAST_READY, 6 * n_people), _MOST_READY)

    # ------------------------------------------------------------------ start and stop

    def __enter__(self) -> Studio:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Create the owner if there is none, and start the worker. A database serves one studio at a time."""
        try:
            self.store.hold()
            self._check_data()
            self.people.get_owner()
        except BaseException:
            if self._own_store:
                self.store.close()
            raise
        self.hub.start()
        self._looking.start()

    def _check_data(self) -> None:
        """Raise an error if the database has the answers of another project; its ids may be the same."""
        mark = self.project.mark()
        if self.store.write(lambda tx: tx.get_or_set("data", mark)) != mark:
            raise LikewiseError(
                "the database has the answers of another project, about other items. A database is for one "
                "project: pass an empty one with --db, or an empty schema with ?options=-csearch_path%3DNAME."
            )

    def stop(self) -> None:
        """Stop the worker and close the database. Acknowledged answers are never at risk."""
        self._closing.set()
        self.hub.stop()
        if self._own_store:
            self.store.close()

    def _look(self) -> None:
        """Check regularly for events of other processes, and whether the data have changed."""
        last_message, due = None, 0.0
        while not self._closing.wait(_LOOK_EVERY):
            try:
                self.store.hold()
                self.hub.refresh()
                self.use_changes()
                start = time.monotonic()
                if start < due:
                    continue
                changed = self.project.describe_changed_source()
                due = time.monotonic() + (time.monotonic() - start) / _LOOK_SHARE
                if changed is not None and changed != last_message:
                    self.hub.emit("trouble", {"text": changed})
                last_message = changed
            except Exception as error:
                self.hub.emit("trouble", {"text": str(error)})

    def use_changes(self) -> None:
        """Use items that were added to the project, and settings, by this process or another."""
        with self._refreshing:
            settings, wording = self.project.settings, self.project.wording
            has_new_items = self.project.refresh()
            now = self.project.settings
            if has_new_items:
                self._profile = None
                self.repairs.forget_columns()
                self.hub.use_new_items(self.project.items.n)
            if (now, self.project.wording) != (settings, wording):
                changed = any(getattr(now, name) != getattr(settings, name) for name in _OF_QUESTIONS)
                self.hub.use_new_settings(changed and not has_new_items)

    # ------------------------------------------------------------------ views

    def get_profile(self) -> ProfileView:
        """Return what is usual among the items; computed once for a number of items."""
        n = self.project.items.n
        if self._profile is None or self._profile[0] != n:
            self._profile = n, make_profile(self.project.items)
        return self._profile[1]

    def show_me(self, person: Person) -> MeView:
        """Return what a page shows about the project and the person."""
        project = self.project
        settings, described = project.settings, project.described
        is_owner = person.role == "owner"  # the features may name a file of this machine
        return {
            "person": make_who_view(person),
            "project": {
                "id": self.id,
                "title": settings.title,
                "kind": described.kind,
                "n_items": described.n_items,
                "ask": settings.ask,
                "overlap": settings.overlap,
                "n_clusters": settings.n_clusters,
                "discover": settings.discover,
                "study": self.asking.follows_plan,
                "criterion": project.wording.criterion,
                "has_guide": project.wording.has_guide,
                "shows_groups": not self.asking.hides_groups(person),
                "features": described.features if is_owner else "",
                "notes": list(described.notes) if is_owner else [],
            },
            "version": __version__,
        }
