"""People, one-time login links and sessions."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import unicodedata
from collections.abc import Callable

from likewise.exceptions import (
    BadRequestError,
    LockedOutError,
    NotAllowedError,
    NotFoundError,
    NotLoggedInError,
    TooManyRequestsError,
)
from likewise.studio.records import Person, Role
from likewise.studio.service._hub import Hub
from likewise.studio.service._views import InvitedView, LinkView, PeopleView, make_person_view
from likewise.studio.store import Store, Transaction

SESSION_SECONDS = 30 * 24 * 3600.0
LINK_SECONDS = 7 * 24 * 3600.0
_TRIES, _TRIES_SECONDS = 30, 60.0  # maximum failed logins per address; a token has 256 bits
_MOST_ADDRESSES = 10_000
_REMEMBERED = 10.0  # seconds for which a session is cached
_MOST_REMEMBERED = 10_000
LONGEST_NAME = 100


def compute_digest(token: str) -> str:
    """Return the digest of a token that the store keeps; the token cannot be recovered from it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def clean_name(name: str, what: str) -> str:
    """Return a name without surrounding spaces; raise an error if it cannot be shown on one line."""
    name = unicodedata.normalize("NFC", name).strip()
    if not name or len(name) > LONGEST_NAME:
        raise BadRequestError(f"{what} must have 1 to {LONGEST_NAME} characters; got {len(name)}.")
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name) or re.search(
        "[\u202a-\u202e\u2066-\u2069]", name
    ):
        raise BadRequestError(f"{what} must be one line of text without control characters.")
    return name


def find_owner(store: Store) -> Person:
    """Return the first owner who is not locked out; create an owner if there is none."""

    def work(tx: Transaction) -> Person:
        found = [person for person in tx.get_people() if person.role == "owner"]
        found.sort(key=lambda person: not person.active)
        return found[0] if found else tx.add_person("owner", "owner")

    return store.write(work)


def make_link_token(store: Store, person: int, now: float) -> str:
    """Create a token that logs a person in once, within a week."""
    token = secrets.token_urlsafe(32)
    store.write(lambda tx: tx.add_login(person, compute_digest(token), now + LINK_SECONDS))
    return token


def _make_locked_out_error() -> LockedOutError:
    return LockedOutError(
        "The owner of this project has ended your access.",
        "Your answers are kept. Ask the owner if that is a mistake.",
    )


class Accounts:
    """People, their login links and their sessions."""

    def __init__(self, hub: Hub, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._store: Store = hub.store
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, list[float]] = {}  # by address; the latest failure is last
        self._seen: dict[str, tuple[Person, float]] = {}  # recently used sessions

    # ------------------------------------------------------------------ login

    def get_owner(self) -> Person:
        """Return the owner."""
        return find_owner(self._store)

    def make_link_token(self, person: int) -> str:
        """Create a token that logs a person in once, within a week."""
        return make_link_token(self._store, person, self._clock())

    def log_in(self, token: str, address: str = "") -> tuple[Person, str]:
        """Exchange the token of a link for the token of a session.

        A valid link always works. Only invalid links count as failures of the address they come from.
        """
        now = self._clock()
        session = secrets.token_urlsafe(32)

        def work(tx: Transaction) -> Person | None:
            person: Person | None = tx.take_login(compute_digest(token), now)
            if person is not None and person.active:
                tx.add_session(person.id, compute_digest(session), now + SESSION_SECONDS)
                return person
            return None

        # A read is cheap, so invalid tokens do not delay the writes of others.
        is_known, is_out = self._store.read(
            lambda tx: (tx.has_login(compute_digest(token)), tx.is_locked_out(compute_digest(token), now))
        )
        if is_out:
            raise _make_locked_out_error()
        person = self._store.write(work) if is_known else None
        if person is None:
            self._count_failure(address, now)
            raise NotLoggedInError(
                "This login link was already used, or has expired.",
                "Ask the owner for a new one. The owner gets one by running the same likewise studio command "
                "again, which does not disturb the running studio.",
            )
        return person, session

    def _count_failure(self, address: str, now: float) -> None:
        """Record a failed login; raise `TooManyRequestsError` if the address has too many."""
        with self._lock:
            times = [at for at in self._failed.pop(address, []) if at > now - _TRIES_SECONDS]
            is_over = len(times) >= _TRIES
            self._failed[address] = times if is_over else [*times, now]
            if len(self._failed) > _MOST_ADDRESSES:
                del self._failed[next(iter(self._failed))]
        if is_over:
            raise TooManyRequestsError(
                "There were too many failed logins from your address.",
                "Wait a minute and try again. An unused link always works.",
            )

    def find_by_session(self, token: str | None) -> Person:
        """Return the person of a session."""
        person = None
        if token:
            now, digest = self._clock(), compute_digest(token)
            person, until = self._seen.get(digest, (None, 0.0))
            if now >= until or now < until - _REMEMBERED:
                person = self._store.read(lambda tx: tx.find_session(digest, now))
                if person is not None:
                    self._remember(digest, person, now)
                elif self._store.read(lambda tx: tx.is_locked_out(digest, now)):
                    raise _make_locked_out_error()
        if person is None or not person.active:
            raise NotLoggedInError(
                "You are not logged in.", "Open your login link, or ask the owner for a new one."
            )
        return person

    def _remember(self, digest: str, person: Person, now: float) -> None:
        with self._lock:
            if len(self._seen) > _MOST_REMEMBERED:
                self._seen.clear()
            self._seen[digest] = (person, now + _REMEMBERED)

    def _forget(self) -> None:
        with self._lock:
            self._seen.clear()

    def log_out(self, token: str) -> None:
        """End a session."""
        self._store.write(lambda tx: tx.drop_session(compute_digest(token)))
        self._forget()

    # ------------------------------------------------------------------ managed by the owner

    def show_all(self) -> PeopleView:
        """Return all people and their agreement."""
        people = self._store.read(lambda tx: tx.get_people())
        agreement = self._hub.agreement
        reliabilities = {one.person: one for one in agreement.people} if agreement else {}
        return {
            "people": [make_person_view(person, reliabilities.get(person.id)) for person in people],
            "agreement": {
                "n_shared": agreement.n_shared if agreement else 0,
                "observed": agreement.observed if agreement else None,
                "alpha": agreement.alpha if agreement else None,
            },
        }

    def add(self, name: str, role: Role) -> tuple[Person, str]:
        """Add a person and create a login link."""
        name = clean_name(name, "The name of a person")

        def work(tx: Transaction) -> Person:
            if any(p.name.casefold() == name.casefold() for p in tx.get_people()):
                raise BadRequestError(f"There is already a person called {name}.", "Choose another name.")
            return tx.add_person(name, role)

        person = self._store.write(work)
        return person, self.make_link_token(person.id)

    def invite(self, name: str, role: Role, url: Callable[[str], str]) -> InvitedView:
        """Add a person, and return the view with the link."""
        person, token = self.add(name, role)
        return {"person": make_person_view(person, None), "link": url(token)}

    def make_new_link(self, person: int, url: Callable[[str], str]) -> LinkView:
        """Create another login link for a person."""
        found = self._get_person(person)
        if not found.active:
            raise NotAllowedError(f"{found.name} is locked out.", "Let them in again first.")
        return {"link": url(self.make_link_token(person))}

    def set_active(self, person: int, active: bool, by: Person) -> None:
        """Lock a person out or let them in again. Their answers are kept."""
        found = self._get_person(person)
        if found.id == by.id:
            raise NotAllowedError("You cannot lock yourself out.")

        def work(tx: Transaction) -> None:
            tx.set_active(person, active)
            if not active:
                tx.release(person)

        self._store.write(work)
        self._forget()

    def _get_person(self, person: int) -> Person:
        found = self._store.read(lambda tx: tx.get_person(person))
        if found is None:
            raise NotFoundError(f"There is no person with the number {person}.")
        return found
