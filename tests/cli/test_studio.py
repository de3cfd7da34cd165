"""``likewise studio`` up to the moment it serves: every kind of data, and what it refuses, in its words."""

import dataclasses
import json
import socket

import click
import numpy as np
import pytest
from PIL import Image

from likewise.studio.project import Project
from likewise.studio.records import NewEvent
from likewise.studio.store import open_store
from small_projects import make

pytest.importorskip("fastapi")

TABLE = "name,message,picture,sound,x,y,class\n" + "".join(
    f"i{k},text {k} of {('a cat', 'an owl')[k % 2]},pics/{k}.png,sounds/{k}.wav,{k},{k % 2},{'ab'[k % 2]}\n"
    for k in range(6)
)


def picture(path, shade):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (shade, 0, 255 - shade)).save(path, "PNG")


def sound(path, pitch):
    import soundfile

    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.sin(np.arange(4000) * pitch), 8000)


@pytest.fixture
def data(tmp_path):
    """Data of every kind, six items each."""
    for k in range(6):
        picture(tmp_path / f"pics/{k}.png", 40 * k)
        picture(tmp_path / f"classes/{'ab'[k % 2]}/{k}.png", 40 * k)
        sound(tmp_path / f"sounds/{k}.wav", 0.05 + 0.1 * k)
    (tmp_path / "t.csv").write_text(TABLE)
    np.save(tmp_path / "numbers.npy", np.arange(18.0).reshape(6, 3))
    return tmp_path


@pytest.fixture
def served(monkeypatch):
    """Have the command come to the point of serving, and return at once."""
    from likewise.studio.server import StudioServer

    projects = []

    def serve(self, ready=None, **_):
        projects.append(self.project)
        self._socket.close()
        ready(None, self.make_link("token"))

    monkeypatch.setattr(StudioServer, "serve", serve)
    return projects


def studio(run, *words, **options):
    return run("studio", *words, "--no-open", **options)


def test_the_sample_is_created_and_then_used_again(run, tmp_path, served, monkeypatch):
    from likewise.studio.sample import write_sample

    monkeypatch.setattr("likewise.studio.sample.write_sample", lambda folder: write_sample(folder, n=20))
    shown = studio(run, "--sample", "photos/").stderr
    assert "Wrote drawings of birds to " in shown
    assert (tmp_path / "photos" / "bird-020.png").exists()
    assert "Wrote" not in studio(run, "--sample", "photos/").stderr
    assert [len(project.items.get_ids()) for project in served] == [20, 20]
    assert served[0].settings.n_clusters == 8
    assert served[0].settings.title == "Birds"
    assert served[0].wording.criterion.startswith("The same kind of bird")


def test_the_sample_is_not_drawn_over_something_else(run, data, served):
    for path in ("pics", "t.csv"):
        shown = " ".join(studio(run, "--sample", str(data / path), code=2).stderr.split())
        assert "exists already. Leave --sample out to use what is in it" in shown
    assert not served
    assert not list(data.glob("*.likewise"))
    assert sorted(path.name for path in (data / "pics").iterdir()) == [f"{k}.png" for k in range(6)]


@pytest.mark.parametrize(
    ("words", "kind", "truth"),
    [
        (["pics"], "image", False),
        (["classes"], "image", True),
        (["sounds"], "sound", False),
        (["t.csv", "--text", "message"], "text", False),
        (["t.csv", "--text", "message,class"], "text", False),
        (["t.csv", "--text", "message", "--text", "class", "--features-from", "words"], "text", False),
        (["t.csv", "--embeddings", "numbers.npy"], "row", False),
        (["t.csv", "--image", "picture", "--truth", "class"], "image", True),
        (["t.csv", "--audio", "sound", "--id", "name"], "sound", False),
        (["t.csv", "--drop", "message,picture,sound"], "row", False),
        (["t.csv", "--features", "numbers.npy"], "row", False),
        (["pics", "--features", "numbers.npy"], "image", False),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_the_same_command_makes_a_project_and_opens_it_again(run, data, served, words, kind, truth):
    for _ in range(2):
        output = json.loads(studio(run, *words, "-k", "2", "--json").stdout)
    made, again = served
    assert output["project"] == str(made.folder) == str(again.folder)
    assert output["login"].startswith(f"{output['url']}/login#")
    assert (made.described.kind, made.described.n_items, made.described.has_truth) == (kind, 6, truth)
    assert again.settings == made.settings
    assert made.describe_changed_source() is None


def test_a_parquet_table(run, data, served):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0, 2.0, 9.0], "y": ["a", "b", "b"]}), data / "p.parquet")
    studio(run, "p.parquet", "-k", "2")
    assert served[0].described.n_items == 3


def test_numbers_are_shown_with_sensible_digits(run, data, served):
    (data / "n.csv").write_text("x,y\n0.12345678901234567,2.50\n0.30000000000000004,1065\n5,3\n")
    studio(run, "n.csv", "-k", "2")
    shown = [dict(item.cells) for item in served[0].items.get_items([0, 1, 2])]
    assert shown == [{"x": "0.1235", "y": "2.50"}, {"x": "0.3", "y": "1065"}, {"x": "5", "y": "3"}]


def test_without_a_number_of_groups_answers_open_them(run, data, served):
    assert "without -k or --discover" in studio(run, "pics").stderr
    settings = served[0].settings
    assert (settings.discover, settings.n_clusters, settings.title) == (True, None, "pics")


def test_the_link_alone_is_on_stdout(run, data, served):
    result = studio(run, "pics", "-k", "2")
    assert len(result.stdout.splitlines()) == 1
    assert result.stdout.startswith("http://127.0.0.1:")
    assert "pics: 6 items" in result.stderr
    assert "Ended. All answers are in" in result.stderr


def test_what_can_be_changed_when_it_is_opened_again(run, data, served):
    studio(run, "pics", "-k", "2")
    studio(run, "pics.likewise", "-k", "3", "--overlap", "2", "--title", "Reds", "--ask", "both")
    studio(run, "pics", "--discover")
    changed, last = served[1].settings, served[2].settings
    assert (changed.n_clusters, changed.overlap, changed.title, changed.ask) == (3, 2, "Reds", "both")
    assert (last.n_clusters, last.discover, last.overlap, last.title) == (None, True, 2, "Reds")
    assert Project.open(data / "pics.likewise").settings == last
    assert "-k 99 needs at least as many items; got 6" in studio(run, "pics", "-k", "99", code=2).stderr


def test_a_range_of_groups(run, data, served):
    studio(run, "pics", "-k", "2:4")
    assert served[0].settings.n_clusters == (2, 4)
    assert Project.open(data / "pics.likewise").settings == served[0].settings
    assert "-k 2:99 needs at least as many items" in studio(run, "pics", "-k", "2:99", code=2).stderr
    assert "got 2 to 4 with 'pairs'" in studio(run, "pics", "--ask", "pairs", code=2).stderr
    assert "a range, such as 50:100; got '4:'" in studio(run, "pics", "-k", "4:", code=2).stderr
    studio(run, "pics", "-k", "3", "--ask", "pairs")
    assert served[1].settings.n_clusters == 3


@pytest.mark.parametrize(
    "words",
    [
        ["--text", "class"],
        ["--text", "message,class"],
        ["--image", "picture"],
        ["--truth", "class"],
        ["--seed", "3"],
        ["--features", "numbers.npy"],
        ["--embeddings", "numbers.npy"],
        ["--features-from", "words"],
        ["--study"],
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_how_the_data_are_read_cannot_be_changed(run, data, served, words):
    studio(run, "t.csv", "--text", "message", "-k", "2")
    output = studio(run, "t.csv", *words, code=2).stderr
    assert f"t.likewise exists, and {words[0]} cannot be changed any more" in output
    assert "--project" in output


def test_file_names_that_mean_trouble(run, tmp_path, served):
    names = ["with space", "quo'te\"", "🦉", "<script>alert(1)<", "two\nlines", "=1+1", "%2e%2e", "#?&", "-k"]
    for k, name in enumerate(names):
        picture(tmp_path / "o d'd" / f"{name}.png", 20 * k)
    studio(run, "o d'd", "-k", "2")
    assert sorted(served[0].items.get_ids()) == sorted(f"{name}.png" for name in names)
    assert served[0].folder.name == "o d'd.likewise"


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        ([], 2, "give the PATH of a folder or a table, or --sample"),
        (["nope"], 1, "there is no file or folder nope"),
        (
            ["https://example.org/t.csv"],
            1,
            "https://example.org/t.csv is a URL, and likewise downloads nothing",
        ),
        (["s3://bucket/t.csv"], 1, "s3://bucket/t.csv is a URL, and likewise downloads nothing"),
        (["empty"], 1, "It is empty; expected files that end with one of"),
        (["pics/0.png"], 1, "is a single file; give its folder: pics"),
        (["pics", "-k", "7"], 2, "-k 7 needs at least as many items; got 6"),
        (["pics", "-k", "1"], 2, "expected at least 2 clusters"),
        (["pics", "--text", "x"], 2, "--text refers to a column of a table, but pics is a folder"),
        (["pics", "--window", "nan"], 2, "nan is not in the range 0.1<=x<=120"),
        (["pics", "--window", "1e9"], 2, "not in the range 0.1<=x<=120"),
        (["pics", "--base-path", "a b"], 1, "a base path may have letters"),
        (["pics", "--base-path", "/a/../b"], 1, "a base path may have letters"),
        (["pics", "--base-path", "/a?b"], 1, "a base path may have letters"),
        (["pics", "--base-path", "/ä"], 1, "plain ASCII"),
        (["pics", "--public-url", "example.org"], 1, "expected what browsers show"),
        (["pics", "--public-url", "ftp://example.org"], 1, "expected what browsers show"),
        (["pics", "--public-url", "https://example.org:x"], 1, "expected what browsers show"),
        (["pics", "--public-url", "https://example.org/a b"], 1, "expected what browsers show"),
        (["pics", "--pairs", "3"], 2, "--pairs applies to studies; add --study"),
        (["pics", "--study", "-k", "2"], 2, "a study needs the true classes"),
        (["pics", "--db", "nonsense"], 1, "neither sqlite:///PATH nor postgresql://"),
        (["t.csv", "--text", "nope"], 2, "has no column 'nope'; it has 'name', 'message'"),
        (
            ["t.csv", "--text", "message", "--image", "picture"],
            2,
            "--text, --image and --audio exclude one another",
        ),
        (["t.csv", "--features", "short.npy"], 1, "short.npy has 2 row(s), but there are 6 rows"),
        (["t.csv", "--features", "t.csv"], 2, "expected a .npy file"),
        (["t.csv", "--embeddings", "short.npy"], 1, "short.npy has 2 row(s), but there are 6 rows"),
        (["t.csv", "--embeddings", "t.csv"], 2, "expected a .npy or .parquet file"),
        (["t.csv", "--embeddings", "short.npy", "--features", "short.npy"], 2, "give one of them"),
        (
            ["pics", "--features-from", "words"],
            2,
            "words computes features of texts, but the data are pictures",
        ),
        (["latin.csv", "--text", "name"], 1, "pass --encoding latin-1"),
        (["pics", "--project", "nowhere/p.likewise"], 1, "cannot be created: No such file or directory"),
        (["pics", "--project", "t.csv"], 1, "t.csv"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_refusals_say_a_way_on_and_leave_nothing_behind(run, data, served, words, code, output):
    (data / "empty").mkdir()
    (data / "latin.csv").write_bytes("name,x\nKäse,1\nBrot,2\n".encode("latin-1"))
    np.save(data / "short.npy", np.zeros((2, 3)))
    result = studio(run, *words, code=code)
    assert output in result.stderr
    assert result.stdout == ""
    assert not served
    left = [*data.rglob("*.likewise"), *data.rglob(".*.part")]
    assert [path for path in left if path.name != ".likewise"] == []  # computed features may be used again


def test_one_item_is_not_enough(run, tmp_path, served):
    picture(tmp_path / "one/1.png", 3)
    assert "one: expected at least two items; got 1" in studio(run, "one", code=1).stderr


def test_a_port_that_is_taken_and_an_address_of_another(run, data, served):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = studio(run, "pics", "-k", "2", "--port", port, code=1).stderr
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use. Choose another port" in said
    assert "Pass an address of this machine" in studio(run, "pics", "--host", "192.0.2.1", code=1).stderr


def test_listening_to_all_says_that_others_can_read_along(run, data, served):
    assert "without encryption" in studio(run, "pics", "-k", "2", "--host", "0.0.0.0").stderr


@pytest.mark.parametrize(
    ("change", "output"),
    [
        (lambda said: said | {"version": 99}, "written by a newer likewise"),
        (lambda said: said | {"format": "other"}, "is not the file of a project"),
        (lambda said: "{", "is incomplete"),
    ],
    ids=["newer", "other", "broken"],
)
def test_a_project_that_cannot_be_read(run, data, served, change, output):
    studio(run, "pics", "-k", "2")
    path = data / "pics.likewise/project.json"
    changed = change(json.loads(path.read_text()))
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    assert output in studio(run, "pics", code=1).stderr


def test_a_folder_that_ends_as_a_project_and_is_none(run, data):
    (data / "x.likewise").mkdir()
    assert "is not a project of the studio" in studio(run, "x.likewise", code=1).stderr


def test_a_database_of_a_newer_version(run, data):
    import sqlite3

    from likewise.studio.store._schema import VERSION_TABLE

    project = make_project(run, data)
    open_store(project.database_url).close()
    with sqlite3.connect(project.folder / "studio.sqlite") as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    said = studio(run, "pics", code=1).stderr
    assert "reads up to" in said
    assert "Install that version or a later one; nothing was changed" in said


def make_project(run, data):
    """Make a project by the command, which is kept from serving."""
    with pytest.MonkeyPatch.context() as patch:
        from likewise.studio.server import StudioServer

        patch.setattr(StudioServer, "serve", lambda self, ready=None, **_: self._socket.close())
        studio(run, "pics", "-k", "2")
    return Project.open(data / "pics.likewise")


def test_data_that_changed_or_are_gone_are_reported(run, data, served):
    studio(run, "pics", "-k", "2")
    picture(data / "pics/6.png", 3)
    assert "it had 6 files and now has 7" in studio(run, "pics").stderr
    (data / "pics").rename(data / "elsewhere")
    assert "cannot be read" in studio(run, "pics.likewise").stderr
    assert "cannot be read" in studio(run, "pics").stderr  # by the name that it had


# ---------------------------------------------------------------------- another database


def test_a_database_that_cannot_be_reached_is_reported_before_a_project_is_made(run, data, closed_port):
    url = f"postgresql://u:pass99word@127.0.0.1:{closed_port}/x"
    output = studio(run, "pics", "-k", "2", "--db", url, code=1).stderr
    assert f"x on 127.0.0.1:{closed_port} cannot be reached" in output
    assert "pass99word" not in output
    assert not (data / "pics.likewise").exists()


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        (
            "postgresql://u:p%40ss@h:5/n?options=-csearch_path%3Ds",
            "postgresql://u@h:5/n?options=-csearch_path%3Ds",
        ),
        ("postgresql://h/n?user=u&password=p%40ss", "postgresql://h/n?user=u"),
        ("sqlite:////tmp/x.sqlite", "sqlite:////tmp/x.sqlite"),
        (None, None),
    ],
)
def test_the_password_is_not_kept(url, kept):
    from likewise.cli.studio import _hide_password

    assert _hide_password(url) == kept


def test_a_database_is_for_one_project_and_takes_a_lost_one_back(run, data, served):
    url = f"sqlite:///{data / 'answers.sqlite'}"
    studio(run, "pics", "-k", "2", "--db", url)
    store = open_store(url)
    ann = store.write(lambda tx: tx.add_person("Ann", "owner"))
    body = {"kind": "pair", "items": ["0.png", "1.png"], "answer": "SAME", "source": "question"}
    store.write(lambda tx: tx.append(NewEvent("k", "answer", ann.id, body)))
    store.close()
    output = studio(run, "t.csv", "--text", "message", "-k", "2", "--db", url, code=2).stderr
    assert "has answers about '0.png', which is not among the items of t.csv" in output
    assert not (data / "t.likewise").exists()
    output = studio(run, "pics", "-k", "2", "--db", url, "--project", "again.likewise").stderr
    assert "already has answers about these items; they are used" in output


def test_a_study_knows_its_classes_and_tells_none_by_the_order_of_rows(tmp_path):
    from likewise.cli._items import SourceData
    from likewise.cli.studio import _shuffle_items
    from likewise.studio.records import Described, Item

    X = np.arange(40.0)[:, None]
    items = [Item(k, f"i{k}", "row", f"item {k}", truth="ab"[k // 20]) for k in range(40)]
    mixed = _shuffle_items(SourceData(X, items, Described("row", 40, has_truth=True)), 0)
    assert [item.row for item in mixed.items] == list(range(40))
    assert [f"i{int(x)}" for x in mixed.X[:, 0]] == [item.id for item in mixed.items]
    assert sorted(item.id for item in mixed.items) == sorted(item.id for item in items)
    assert "".join(item.truth for item in mixed.items[:20]) not in ("a" * 20, "b" * 20)


def test_a_different_database_is_refused(tmp_path):
    from likewise.cli.studio import _check_database

    project = make(tmp_path)
    _check_database(None, project)
    with pytest.raises(click.UsageError, match=r"keeps its answers in birds.likewise/studio.sqlite"):
        _check_database("postgresql://u:secret@h/birds", project)
    url = "postgresql://u@h/birds"
    moved = project.with_settings(dataclasses.replace(project.settings, database=url))
    _check_database("postgresql://u:secret@h/birds", moved)
    with pytest.raises(click.UsageError, match="postgresql://u@h/birds, and --db is another") as refused:
        _check_database("postgresql://u:secret@h/other", moved)
    assert "secret" not in str(refused.value)
