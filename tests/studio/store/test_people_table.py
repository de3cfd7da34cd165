"""People, logins and sessions, on both databases."""

import hashlib

import pytest

from likewise.exceptions import BadValueError, NameTakenError, StoreError


def digest(word):
    return hashlib.sha256(word.encode()).hexdigest()


def test_people_are_returned_in_the_order_of_addition(store):
    ann = store.write(lambda t: t.add_person("Ann", "owner"))
    bob = store.write(lambda t: t.add_person("  Bob é ✓ ", "annotator"))
    assert (ann.name, ann.role, ann.active) == ("Ann", "owner", True)
    assert ann.created.endswith("+00:00")
    assert bob.name == "Bob é ✓"
    assert store.read(lambda t: t.get_people()) == [ann, bob]
    assert store.read(lambda t: t.get_person(bob.id)) == bob
    assert store.read(lambda t: t.get_person(99)) is None


def test_names_are_unique(store):
    store.write(lambda t: t.add_person("Ann", "owner"))
    with pytest.raises(NameTakenError, match=r"called 'Ann'\. Choose another"):
        store.write(lambda t: t.add_person("Ann ", "annotator"))
    assert len(store.read(lambda t: t.get_people())) == 1


def test_invalid_names_are_refused(store):
    bad = [
        ("", "empty"),
        (" \t", "empty"),
        ("x" * 201, "201 characters; expected at most 200"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        (3, "must be a text; got int"),
    ]
    for name, says in bad:
        with pytest.raises(BadValueError, match=says):
            store.write(lambda t, name=name: t.add_person(name, "owner"))
    assert store.read(lambda t: t.get_people()) == []


def test_an_unknown_role_is_refused(store):
    with pytest.raises(BadValueError, match="owner, annotator; got 'king'"):
        store.write(lambda t: t.add_person("Ann", "king"))


def test_a_login_works_once_and_before_it_expires(store):
    ann = store.write(lambda t: t.add_person("Ann", "owner"))
    for word in ("one", "late"):
        store.write(lambda t, word=word: t.add_login(ann.id, digest(word), 100.0))
    assert store.write(lambda t: t.take_login(digest("other"), 50.0)) is None
    assert store.write(lambda t: t.take_login(digest("one"), 99.9)) == ann
    assert store.write(lambda t: t.take_login(digest("one"), 99.9)) is None
    assert store.write(lambda t: t.take_login(digest("late"), 100.0)) is None


def test_a_session_is_valid_until_it_ends(store):
    ann = store.write(lambda t: t.add_person("Ann", "owner"))
    for word in ("desk", "phone", "sofa"):
        store.write(lambda t, word=word: t.add_session(ann.id, digest(word), 100.0))
    assert store.read(lambda t: t.find_session(digest("desk"), 99.0)) == ann
    assert store.read(lambda t: t.find_session(digest("desk"), 100.0)) is None
    assert store.read(lambda t: t.find_session(digest("nobody"), 0.0)) is None
    store.write(lambda t: t.drop_session(digest("desk")))
    assert store.read(lambda t: t.find_session(digest("desk"), 0.0)) is None
    assert store.read(lambda t: t.find_session(digest("phone"), 0.0)) == ann
    store.write(lambda t: t.drop_sessions(ann.id))
    assert store.read(lambda t: t.find_session(digest("phone"), 0.0)) is None


def test_deactivating_a_person_ends_their_sessions(store):
    ann = store.write(lambda t: t.add_person("Ann", "annotator"))
    store.write(lambda t: t.add_session(ann.id, digest("desk"), 100.0))
    store.write(lambda t: t.add_login(ann.id, digest("link"), 100.0))
    store.write(lambda t: t.set_active(ann.id, False))
    assert store.read(lambda t: t.get_person(ann.id)).active is False
    assert store.read(lambda t: t.find_session(digest("desk"), 0.0)) is None
    store.write(lambda t: t.set_active(ann.id, True))
    assert store.read(lambda t: t.find_session(digest("desk"), 0.0)) is None, "the old session stays ended"
    assert store.write(lambda t: t.take_login(digest("link"), 0.0)) is None


def test_an_inactive_person_cannot_log_in(store):
    ann = store.write(lambda t: t.add_person("Ann", "annotator"))
    store.write(lambda t: t.set_active(ann.id, False))
    store.write(lambda t: t.add_login(ann.id, digest("link"), 100.0))
    assert store.write(lambda t: t.take_login(digest("link"), 0.0)) is None


def test_unknown_people_have_no_logins(store):
    with pytest.raises(BadValueError, match="no person 7"):
        store.write(lambda t: t.add_login(7, digest("x"), 1.0))
    with pytest.raises(BadValueError, match="no person 7"):
        store.write(lambda t: t.set_active(7, True))
    with pytest.raises(BadValueError, match="between"):
        store.read(lambda t: t.get_person(2**63))


def test_only_digests_are_stored(store):
    ann = store.write(lambda t: t.add_person("Ann", "owner"))
    for given in ("secret", "A" * 64, "\ud800" * 64):
        with pytest.raises(BadValueError, match="digest"):
            store.write(lambda t, given=given: t.add_session(ann.id, given, 1.0))


def test_a_read_changes_nothing(store):
    with pytest.raises(StoreError, match=r"is read-only\. Use Store\.write"):
        store.read(lambda t: t.add_person("Ann", "owner"))
