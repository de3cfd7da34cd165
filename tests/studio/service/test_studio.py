"""A studio as a whole: a database belongs to one project, and slow folders are checked rarely."""

import time

import pytest

from likewise.exceptions import LikewiseError
from likewise.studio.project import Project
from likewise.studio.records import Described, Item, Settings
from likewise.studio.service import Studio, _studio
from likewise.studio.store import open_store
from patience import wait_until


def make_case(folder, name, word):
    source = folder / f"{name}.csv"
    source.write_text("x")
    return Project.create(
        folder / f"{name}.likewise",
        X=[[0.0], [1.0], [2.0]],
        items=[Item(i, str(i), "text", f"{word} {i}", text=f"{word} {i}") for i in range(3)],
        settings=Settings(name, n_clusters=2),
        described=Described("text", 3),
        source=source,
    )


class Silent:
    def __init__(self, hear):
        pass

    def start(self):
        pass

    def tell(self, message):
        pass

    def stop(self):
        pass


def test_answers_about_other_items_with_the_same_ids_are_refused(tmp_path, database_url):
    birds, cars = make_case(tmp_path, "birds", "wren"), make_case(tmp_path, "cars", "lorry")
    store = open_store(database_url)
    try:
        for _ in range(2):  # and opened again
            with Studio(birds, store=store, teller=Silent):
                pass
        with pytest.raises(LikewiseError, match="another project"), Studio(cars, store=store, teller=Silent):
            pass
        again = tmp_path / "again"
        again.mkdir()
        with Studio(make_case(again, "birds", "wren"), store=store, teller=Silent):  # created again from it
            pass
    finally:
        store.close()


def test_only_the_owner_sees_the_features_which_may_name_a_file(open_studio):
    desk = open_studio()
    assert desk.studio.show_me(desk.owner)["project"]["features"] == "2 numbers"
    assert desk.studio.show_me(desk.person("Ann"))["project"]["features"] == ""


def test_a_slow_folder_is_checked_rarely(open_studio, monkeypatch):
    looks, refreshed = [], []

    def slow(_):
        looks.append(True)
        time.sleep(0.05)

    monkeypatch.setattr(_studio, "_LOOK_EVERY", 0.001)
    monkeypatch.setattr(_studio, "_LOOK_SHARE", 1e-6)  # of the time: not again during this test
    monkeypatch.setattr(Project, "describe_changed_source", slow)
    desk = open_studio()
    refresh = desk.hub.refresh
    monkeypatch.setattr(desk.hub, "refresh", lambda: (refreshed.append(True), refresh()))
    wait_until(lambda: len(refreshed) >= 20, "a look at the store")
    assert len(looks) == 1
