"""The file of items: by row, by id, from any thread."""

import os
import pickle
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import FileFormatError, LikewiseError
from likewise.studio.items import ItemFile, write_items
from likewise.studio.records import Item
from small_projects import make

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20)


def items_of(ids):
    return [Item(row, id, "row", f"t{row}", cells=(("a", str(row)),)) for row, id in enumerate(ids)]


@pytest.fixture
def file(tmp_path):
    write_items(tmp_path / "items.sqlite", items_of(f"i{k}" for k in range(2500)))
    found = ItemFile(tmp_path / "items.sqlite")
    yield found
    found.close()


def test_items_are_found_by_row_and_by_id(file):
    assert file.n == len(file) == 2500
    assert file.get(7).id == "i7"
    assert [item.row for item in file.get_items([9, 3, 9])] == [9, 3, 9]
    assert file.get_row("i2499") == 2499
    assert file.get_rows([f"i{k}" for k in range(2000)]) == list(range(2000))
    assert file.get_ids() == [f"i{k}" for k in range(2500)]
    assert list(file) == items_of(file.get_ids())
    assert file.get_items([]) == []


def test_rows_whose_file_is_gone_are_found_unless_all_are(tmp_path):
    items = [Item(row, f"{row}.png", "image", f"{row}.png", media=f"{row}.png") for row in range(3)]
    write_items(tmp_path / "items.sqlite", items)
    for row in range(3):
        (tmp_path / f"{row}.png").touch()
    with closing(ItemFile(tmp_path / "items.sqlite")) as file:
        assert file.find_missing(tmp_path) == []
        (tmp_path / "1.png").unlink()
        assert file.find_missing(tmp_path) == [1]
        assert file.find_missing(tmp_path / "unmounted") == []


def test_an_unknown_row_or_id_is_refused(file):
    with pytest.raises(LikewiseError, match="no item 2500; the rows are 0 to 2499"):
        file.get(2500)
    with pytest.raises(LikewiseError, match="no item -1"):
        file.get(-1)
    with pytest.raises(LikewiseError, match="no item with the id 'x'"):
        file.get_row("x")
    for odd in ("", "\x00", "\ud800", "x" * 10_000, "i7' OR 1=1 --"):
        with pytest.raises(LikewiseError, match="no item with the id"):
            file.get_row(odd)
    with pytest.raises(LikewiseError, match="no item 9223372036854775808"):
        file.get(2**63)


def test_many_threads_read_at_once(file):
    wrong = []

    def read(start):
        for k in range(start, start + 100):
            if file.get_row(file.get(k).id) != k:
                wrong.append(k)

    threads = [threading.Thread(target=read, args=(100 * t,)) for t in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    file.close()
    assert file.get(3).id == "i3"  # after closing it opens again


def test_it_can_be_pickled(file):
    again = pickle.loads(pickle.dumps(file))
    assert again.get(5) == file.get(5)
    again.close()


@given(st.lists(st.tuples(IDS, TEXT, TEXT, TEXT), min_size=1, max_size=8, unique_by=lambda row: row[0]))
def test_written_items_are_read_back(tmp_path_factory, rows):
    items = [
        Item(k, id, "text", title, text=text, cells=((value, title),), media=None, truth=value or None)
        for k, (id, title, text, value) in enumerate(rows)
    ]
    path = tmp_path_factory.mktemp("items") / "items.sqlite"
    assert write_items(path, iter(items)) == len(items)
    file = ItemFile(path)
    assert file.get_items(range(len(items))) == items
    assert [file.get_row(item.id) for item in items] == list(range(len(items)))
    assert file.get_classes() == [item.truth for item in items]
    file.close()


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (items_of(["a", "b", "a"]), "the id of item 2 was used for an earlier item"),
        ([Item(1, "a", "row", "")], "has row 1, but comes as row 0"),
        ([Item(0, "", "row", "")], "is empty"),
        ([Item(0, "a\x00", "row", "")], "NUL"),
        ([Item(0, "a\ud800", "row", "")], "half a character"),
        ([Item(0, "a", "row", "\udcff")], "not valid text"),
        ([Item(0, "a" * 2000, "row", "")], "2,000 characters; expected at most 1,000"),
        ([Item(0, "a", "film", "")], "is a 'film'"),
    ],
)
def test_invalid_items_are_refused(tmp_path, items, message):
    with pytest.raises(LikewiseError, match=message):
        write_items(tmp_path / "items.sqlite", items)


def test_a_damaged_or_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="is missing"):
        ItemFile(tmp_path / "items.sqlite")
    (tmp_path / "items.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(FileFormatError, match="cannot be read as the items of a project"):
        ItemFile(tmp_path / "items.sqlite")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them")
def test_threads_that_come_and_go_leave_no_open_files(tmp_path):
    items = make(tmp_path).items
    items.get(0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        thread = threading.Thread(target=items.get, args=(1,))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    items.close()
    assert items.get(2).row == 2
