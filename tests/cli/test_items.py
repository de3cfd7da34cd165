"""Texts, pictures, sounds and embeddings as the data of commands."""

import json
import shlex

import numpy as np
import pytest
import soundfile
from PIL import Image

from likewise.cli._options import FEATURE_METHODS
from likewise.features._models import MODELS, can_run

TOPICS = {
    "card": ("lost my card", "card was stolen", "block the card", "new card please"),
    "loan": ("need a loan", "loan for a house", "rate of the loan", "repay my loan"),
}
MESSAGES = [
    (f"t{k}", text, topic)
    for k, (topic, text) in enumerate((topic, text) for topic, texts in TOPICS.items() for text in texts)
]
WORDS = ("--text", "message", "--id", "id", "--features-from", "words")
PIXELS = ("--features-from", "pixels")


@pytest.fixture
def texts(tmp_path):
    """Write t.csv with eight messages and two empty ones, and hints.csv."""
    rows = [*MESSAGES[:3], ("gap", "", "card"), *MESSAGES[3:], ("blank", "  ", "loan")]
    lines = ["id,message,topic", *(",".join(row) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "hints.csv").write_text("a,b,link\nt0,t1,must\nt0,t4,cannot\nt4,t5,must\n")
    return tmp_path


@pytest.fixture
def pictures(tmp_path):
    """Write dark and bright pictures into two folders, and a file that is no picture."""
    for k in range(8):
        path = tmp_path / "photos" / ("dark" if k < 4 else "light") / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(k).integers(0, 40, (12, 12, 3)) + (200 if k >= 4 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    (tmp_path / "photos" / "dark" / "bad.png").write_bytes(b"no picture")
    (tmp_path / "hints.csv").write_text(
        "a,b,link\ndark/0.png,dark/1.png,must\ndark/0.png,light/4.png,cannot\n"
    )
    return tmp_path


def labels_in(path):
    return dict(line.split(",") for line in path.read_text().splitlines()[1:])


# ---------------------------------------------------------------------- texts


def test_texts_are_clustered_and_described(run, texts):
    result = run("cluster", "t.csv", "-k", 2, *WORDS, "--hints", "hints.csv", "--out", "labels.csv")
    found = labels_in(texts / "labels.csv")
    assert list(found) == [id for id, _, _ in MESSAGES]
    assert len({found[id] for id, _, topic in MESSAGES if topic == "card"}) == 1
    assert found["t0"] != found["t4"]
    lines = result.stderr.splitlines()
    assert lines[0].startswith("rows        8, ")
    assert lines[0].endswith("features (left out: topic)")
    assert lines[1] == "features    16 words of 'message'"
    at = next(k for k, line in enumerate(lines) if line.startswith("contents"))
    described = "\n".join(lines[at:])
    assert lines[at].endswith(("card", "loan"))
    assert ": block the card" in described
    assert "typical " in described
    assert "doubtful " in described
    assert "note: 2 rows without text in 'message' are left out: gap, blank." in lines


def test_json_says_which_features_and_keywords(run, texts):
    document = json.loads(run("cluster", "t.csv", "-k", 2, *WORDS, "--json", "-q").stdout)
    assert document["feature_description"] == "16 words of 'message'"
    assert [one["keywords"][0] for one in document["contents"]] in (["card", "loan"], ["loan", "card"])
    assert all(one["columns"] == [] for one in document["contents"])
    assert document["notes"] == ["2 rows without text in 'message' are left out: gap, blank."]
    (texts / "n.csv").write_text("x,y\n0,1\n1,0\n9,9\n8,9\n")
    plain = json.loads(run("cluster", "n.csv", "-k", 2, "--json", "-q").stdout)
    assert plain["feature_description"] is None
    assert "keywords" not in plain["contents"][0]


def test_rows_without_ids_keep_the_numbers_that_they_have_in_the_file(run, texts):
    run("cluster", "t.csv", "-k", 2, *WORDS[:2], *WORDS[4:], "--out", "labels.csv", "-q")
    assert list(labels_in(texts / "labels.csv")) == ["0", "1", "2", "4", "5", "6", "7", "8"]


@pytest.mark.parametrize("command", ["cluster", "choose", "check"])
def test_a_hint_on_a_row_that_is_left_out_says_why(run, texts, command):
    (texts / "bad.csv").write_text("a,b,link\nt0,gap,must\n")
    words = {
        "cluster": ("t.csv", "-k", 2, "--hints", "bad.csv"),
        "choose": ("t.csv", "bad.csv"),
        "check": ("bad.csv", "t.csv"),
    }
    output = run(command, *words[command], *WORDS, code=1).stderr
    assert "bad.csv:2: the row 'gap' is left out: its text ('message') is empty." in output
    (texts / "bad.csv").write_text("a,b,link\nt0,t99,must\n")
    assert "no row has the id 't99'" in run(command, *words[command], *WORDS, code=1).stderr


def test_several_columns_of_text_and_their_keywords(run, texts):
    words = ("--text", "message", "--text", "topic", "--features-from", "words", "--drop", "id")
    both = json.loads(run("cluster", "t.csv", "-k", 2, *words, "--json", "-q").stdout)
    assert both["feature_description"].endswith("of 'message' and 'topic'")
    assert both["rows"] == 10  # no row lacks a topic
    words = ("--text", "message,topic", *words[4:])
    assert json.loads(run("cluster", "t.csv", "-k", 2, *words, "--json", "-q").stdout) == both


def test_check_compares_texts_with_hints_and_classes(run, texts):
    result = run("check", "hints.csv", "t.csv", *WORDS, "--truth", "topic", "-k", 2)
    assert "8 rows; 4 of them have hints" in result.stdout
    assert "coherent" in result.stdout
    assert "2 of 2 must-links, 1 of 1 cannot-links agree with it" in result.stdout
    assert "features    16 words of 'message'" in result.stderr
    document = json.loads(run("check", "hints.csv", "t.csv", *WORDS, "--json").stdout)
    assert document["feature_description"] == "16 words of 'message'"


def test_choose_and_ask_hand_over_how_the_data_are_read(run, texts):
    words = ("--methods", "pck-means", "--cv", 2, "-q", "--json")
    document = json.loads(run("choose", "t.csv", "hints.csv", "-k", "2:3", *WORDS, *words).stdout)
    handed = shlex.split(document["next"])
    assert handed[handed.index("--text") :][:4] == ["--text", "message", "--features-from", "words"]
    assert document["feature_description"] == "16 words of 'message'"
    run(*handed[1:], "-q")
    asked = ("ask", "t.csv", "-k", 2, *WORDS, "--hints", "answers.csv", "--json")
    result = run(*asked, input="y\nn\nq\n")
    assert "card" in result.output
    assert "Features: 16 words of 'message'." in result.output
    document = json.loads(result.stdout[result.stdout.index("{") :])
    handed = shlex.split(document["next"])
    assert handed[handed.index("--text") :][:4] == ["--text", "message", "--features-from", "words"]
    assert document["notes"][0] == "2 rows without text in 'message' are left out: gap, blank."
    run(*handed[1:], "-q")


def test_ask_shows_the_text_or_other_columns(run, texts):
    asked = ("ask", "t.csv", "-k", 2, *WORDS, "--save", "a.json")
    shown = run(*asked, input="q\n").output
    assert any(f"{id}: {text}\n" in shown for id, text, _ in MESSAGES)
    shown = run(*asked[:-1], "b.json", "--show", "topic", input="q\n").output
    assert ": card\n" in shown or ": loan\n" in shown
    assert "has no column 'nope'" in run(*asked[:-1], "c.json", "--show", "nope", code=2).stderr


def test_simulate_answers_from_the_topics(run, texts):
    words = ("--label", "topic", "--budget", 3, "--repeats", 1, "--strategies", "random", "--json", "-q")
    document = json.loads(run("simulate", "t.csv", *WORDS, *words).stdout)
    assert (document["n_rows"], document["clusters"]) == (8, 2)
    assert document["feature_description"] == "16 words of 'message'"


def test_texts_from_stdin_and_without_a_header(run, texts):
    content = (texts / "t.csv").read_text().partition("\n")[2]
    words = ("--no-header", "--id", "f0", "--text", "f1", "--features-from", "words", "--out", "labels.csv")
    result = run("cluster", "-", "-k", 2, *words, input=content)
    assert "of 'f1'" in result.stderr
    assert list(labels_in(texts / "labels.csv"))[:2] == ["t0", "t1"]


# ---------------------------------------------------------------------- pictures and sounds


def test_a_folder_of_pictures(run, pictures):
    words = ("-k", 2, *PIXELS, "--hints", "hints.csv", "--truth", "folder", "--out", "labels.csv")
    result = run("cluster", "photos", *words)
    found = labels_in(pictures / "labels.csv")
    assert list(found) == [f"{'dark' if k < 4 else 'light'}/{k}.png" for k in range(8)]
    assert "ARI 1.000" in result.stderr
    assert "grey pixels" in result.stderr.splitlines()[1]
    assert "typical   dark/" in result.stderr
    assert "1 file cannot be read and is left out: dark/bad.png (it is not a PNG" in result.stderr
    output = run("cluster", "photos", "-k", 2, "--truth", "kind", code=2).stderr
    assert "photos has no column 'kind'; it has 'file', 'folder'" in output
    (pictures / "bad.csv").write_text("a,b,link\ndark/0.png,dark/bad.png,must\n")
    output = run("cluster", "photos", "-k", 2, "--hints", "bad.csv", code=1).stderr
    assert "the row 'dark/bad.png' is left out: it cannot be read: it is not a PNG" in output


def test_a_folder_without_sub_folders_has_no_classes(run, pictures):
    output = run("cluster", "photos/dark", "-k", 2, *PIXELS, "--truth", "folder", code=2).stderr
    assert "--truth folder refers to sub-folders, and photos/dark has none." in output


def test_texts_in_bags(run, texts):
    (texts / "bags.csv").write_text("bag,labels\ncard,plastic\nloan,money\n")
    words = ("--method", "bag-spectral", "--bags", "bags.csv", "--bag-column", "topic", "--plot", "bags.png")
    result = run("cluster", "t.csv", "-k", 2, *WORDS, *words, "--out", "labels.csv")
    assert "8 of 8 rows in a cluster whose class is a label of their bag" in result.stderr
    assert (texts / "bags.png").exists()


def test_a_folder_in_the_other_commands(run, pictures):
    words = ("--label", "folder", "--budget", 2, "--repeats", 1, "--strategies", "random", "-q", "--json")
    assert json.loads(run("simulate", "photos", *PIXELS, *words).stdout)["clusters"] == 2
    assert "8 rows" in run("check", "hints.csv", "photos/", *PIXELS, "--truth", "folder").stdout
    shown = run("ask", "photos/", "-k", 2, *PIXELS, input="q\n").output
    assert ".png" in shown
    assert (pictures / "photos.ask.json").exists()
    run("choose", "photos", "hints.csv", "-k", 2, *PIXELS, "--methods", "pck-means", "--cv", 2, "-q")


def test_a_column_of_pictures_or_sounds(run, pictures):
    time = np.arange(4000) / 16_000
    lines = ["name,picture,sound"]
    for k in range(8):
        soundfile.write(pictures / f"{k}.wav", np.sin(2 * np.pi * (300 if k < 4 else 2000) * time), 16_000)
        lines.append(f"n{k},photos/{'dark' if k < 4 else 'light'}/{k}.png,{k}.wav")
    lines.append("none,,gone.wav")
    (pictures / "t.csv").write_text("\n".join(lines) + "\n")
    path = "photos/../t.csv"  # a way to the table that goes up
    for option, column, note in (
        ("--image", "picture", "1 row without a file in 'picture' is left out: none."),
        ("--audio", "sound", "1 file cannot be read and is left out: gone.wav (there is no such file)."),
    ):
        result = run("cluster", path, "-k", 2, option, column, "--id", "name", "--out", "labels.csv")
        found = labels_in(pictures / "labels.csv")
        assert list(found) == [f"n{k}" for k in range(8)]
        assert len({found[f"n{k}"] for k in range(4)}) == 1
        assert found["n0"] != found["n7"]
        assert f"note: {note}" in result.stderr
        assert ("n0: photos/dark/0.png" if option == "--image" else ": 0.wav") in result.stderr


def test_computed_features_are_kept_beside_the_data_for_all_commands(run, pictures, monkeypatch):
    run("cluster", "photos", "-k", 2, *PIXELS, "-q")
    kept = list((pictures / "photos" / ".likewise" / "features").iterdir())
    assert len(kept) == 1
    from likewise.features import _images

    monkeypatch.setattr(_images, "_summarize", None)  # is not called again
    words = ("--label", "folder", "--budget", 2, "--repeats", 1, "--strategies", "random", "-q")
    (pictures / "photos" / "dark" / "bad.png").unlink()
    run("simulate", "photos", *PIXELS, *words)
    assert list((pictures / "photos" / ".likewise" / "features").iterdir()) == kept


def test_the_folder_of_computed_features_is_in_a_folder_and_no_item(run, pictures, monkeypatch):
    monkeypatch.chdir(pictures / "photos")
    kept = pictures / "photos" / ".likewise" / "features"
    kept.mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(kept / "x.png")
    run("cluster", ".", "-k", 2, *PIXELS, "--out", "../labels.csv")
    assert len(labels_in(pictures / "labels.csv")) == 8
    assert not (pictures / ".likewise").exists()
    assert len(list(kept.iterdir())) == 2


def test_features_of_files_in_a_table_are_kept_beside_the_table(run, pictures):
    names = [f"photos/{'dark' if k < 4 else 'light'}/{k}.png" for k in range(8)]
    (pictures / "t.csv").write_text("\n".join(["file", *names]) + "\n")
    run("cluster", "t.csv", "-k", 2, "--image", "file", *PIXELS, "-q")
    assert (pictures / ".likewise" / "features").is_dir()
    assert not (pictures / "photos" / ".likewise").exists()


def test_columns_without_a_name_are_counted(texts):
    from likewise.cli._items import read_source

    (texts / "one.csv").write_text(",x\n0,1\n1,2\n")
    (texts / "two.csv").write_text(",,x\n0,5,1\n1,6,2\n")
    assert read_source(texts / "one.csv").notes[0].startswith("the column column 1 has no name; it may be an")
    assert read_source(texts / "two.csv").notes[0] == (
        "the columns column 1, column 2 have no name; they may be indexes written by pandas, and are not "
        "used as features. Use one of them as the ids with --id 'column 1'."
    )


@pytest.mark.skipif(not can_run(MODELS["minilm"]), reason="MiniLM is not installed")
def test_only_models_keep_features_of_texts(run, texts):
    run("cluster", "t.csv", "-k", 2, *WORDS, "-q")
    assert not (texts / ".likewise").exists()
    run("cluster", "t.csv", "-k", 2, *WORDS[:4], "--features-from", "minilm", "-q")
    assert [path.name.partition("-")[0] for path in (texts / ".likewise" / "features").iterdir()] == [
        "minilm"
    ]


def test_without_a_folder_to_write_to_features_are_computed_all_the_same(run, pictures):
    (pictures / "photos" / ".likewise").write_text("a file")
    run("cluster", "photos", "-k", 2, *PIXELS, "--out", "labels.csv", "-q")
    assert len(labels_in(pictures / "labels.csv")) == 8


# ---------------------------------------------------------------------- embeddings


@pytest.fixture
def vectors(texts):
    """Write a row of numbers for each of the ten rows of t.csv, as .npy and in two kinds of Parquet."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X = np.random.default_rng(0).normal(size=(10, 3)) + 9.0 * (np.arange(10) >= 5)[:, None]
    np.save(texts / "v.npy", X)
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(3)}), texts / "v.parquet")
    pq.write_table(pa.table({"vector": X.tolist()}), texts / "lists.parquet")
    return X


def test_embeddings_replace_the_columns(run, texts, vectors):
    run("cluster", "t.csv", "-k", 2, "--id", "id", "--embeddings", "v.npy", "--out", "labels.csv", "-q")
    found = labels_in(texts / "labels.csv")
    assert list(found)[3] == "gap"  # its text is not needed
    assert len(set(found.values())) == 2
    for file in ("v.parquet", "lists.parquet"):
        words = ("--id", "id", "--embeddings", file, "--out", "others.csv")
        result = run("cluster", "t.csv", "-k", 2, *words)
        assert labels_in(texts / "others.csv") == found
        assert f"features    3 numbers per row from {file}" in result.stderr
    result = run("cluster", "t.csv", "-k", 2, "--id", "id", "--text", "message", "--embeddings", "v.npy")
    assert ": lost my card" in result.stderr


def test_embeddings_of_the_hierarchy_and_the_other_commands(run, texts, vectors):
    (texts / "tags.csv").write_text("id,tag\n" + "".join(f"{id},{topic}\n" for id, _, topic in MESSAGES))
    words = ("--labels", "tags.csv", "--missing-rate", 0.1, "--json")
    one = json.loads(run("hierarchy", "t.csv", *words, "--embeddings", "v.parquet").stdout)
    assert one["features"] == ["3 numbers per row from v.parquet"]
    two = json.loads(run("hierarchy", "t.csv", *words, "--features", "v.npy").stdout)
    assert one["labels"] == two["labels"]
    words = (
        "-k",
        2,
        "--id",
        "id",
        "--embeddings",
        "v.npy",
        "--methods",
        "pck-means",
        "--cv",
        2,
        "--json",
        "-q",
    )
    document = json.loads(run("choose", "t.csv", "hints.csv", *words).stdout)
    assert "--embeddings v.npy" in document["next"]
    assert "8%" not in run("check", "hints.csv", "t.csv", "--id", "id", "--embeddings", "v.npy").stderr


def write_parquet(path, **columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def write_empty_lists(path):
    import pyarrow as pa

    write_parquet(path, a=pa.array([[]] * 10, pa.list_(pa.float64())))


@pytest.mark.parametrize(
    ("name", "write", "code", "output"),
    [
        (
            "e.npy",
            lambda path: np.save(path, [[0.0, np.nan]] * 10),
            1,
            "row 0, column 1 (counted from 0) is nan",
        ),
        ("e.npy", lambda path: np.save(path, np.ones((4, 2))), 1, "but there are 10 rows"),
        ("e.npy", lambda path: np.save(path, np.ones(10)), 1, "expected numbers of shape (rows, features)"),
        ("e.npy", lambda path: np.save(path, np.array([{}] * 10)), 1, "it contains Python objects"),
        ("e.npy", lambda path: path.write_bytes(b"x"), 1, "cannot be read as .npy"),
        ("e.npy", lambda path: None, 1, "there is no file 'e.npy'."),
        ("e.parquet", lambda path: None, 1, "there is no file 'e.parquet'."),
        ("e.parquet", lambda path: path.write_bytes(b"x"), 1, "e.parquet cannot be read as Parquet"),
        ("e.csv", lambda path: path.write_text("a\n1\n"), 2, "expected a .npy or .parquet file"),
        (
            "e.parquet",
            lambda path: write_parquet(path, a=[1.0] * 10, word=["x"] * 10),
            1,
            "e.parquet: the column 'word' has the type string; expected only columns of numbers",
        ),
        (
            "e.parquet",
            lambda path: write_parquet(path, a=[1.0] * 9),
            1,
            "has 9 rows, but there are 10 rows",
        ),
        ("e.parquet", lambda path: write_parquet(path, a=[1.0] * 9 + [None]), 1, "row 9, number 0"),
        (
            "e.parquet",
            lambda path: write_parquet(path, a=[[1.0]] * 9 + [[1.0, 2.0]]),
            1,
            "of different lengths",
        ),
        ("e.parquet", lambda path: write_parquet(path, a=[[]] * 10, b=[[]] * 10), 1, "has the type"),
        ("e.parquet", write_empty_lists, 1, "e.parquet has no numbers."),
        ("e.parquet", lambda path: write_parquet(path), 1, "e.parquet has no numbers."),
    ],
)
def test_embeddings_that_do_not_fit(run, texts, name, write, code, output):
    pytest.importorskip("pyarrow")
    write(texts / name)
    for words in (("cluster", "t.csv", "-k", 2), ("check", "hints.csv", "t.csv")):
        assert output in run(*words, "--id", "id", "--embeddings", name, code=code).stderr


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        (["t.csv", "--text", "mesage"], 2, "t.csv has no column 'mesage'; did you mean 'message'?"),
        (["n.csv", "--text", "x"], 1, "n.csv: expected text in the column 'x'; got only numbers, such as 1."),
        (
            ["t.csv", "--text", "message", "--image", "id"],
            2,
            "--text, --image and --audio exclude one another",
        ),
        (["t.csv", "--image", "message", "--audio", "id"], 2, "exclude one another; give only one of them"),
        (["t.csv", "--text", "message", "--id", "message"], 2, "the column 'message' is given for --id too"),
        (["t.csv", "--text", "message", "--features", "x"], 2, "leave --features out"),
        (
            ["t.csv", "--image", "message"],
            1,
            "(lost my card and 7 more): none of the 8 pictures can be read.",
        ),
        (
            ["t.json", "--text", "a"],
            1,
            "expected a CSV, Excel or Parquet table, or a folder; t.json is JSON.",
        ),
        (["folder", "--text", "message"], 2, "--text refers to a column of a table, but folder is a folder"),
        (["folder", "--id", "message"], 2, "--id refers to a column of a table, but folder is a folder"),
        (["folder"], 1, "folder has no pictures or sounds. It is empty; expected files that end with"),
        (["empty.csv", "--text", "a"], 1, "every cell of 'a' is empty; there is no text to learn from"),
        (["one.csv", "--text", "a"], 1, "one.csv: expected at least two items; got 1."),
        (["gone.csv", "--text", "a"], 1, "there is no file 'gone.csv'."),
        (["a.png", "--text", "a"], 1, "a.png is a single file; give its folder"),
        (["n.csv", "--features-from", "words"], 2, "but the data are a table of numbers; give --text"),
        (["t.csv", "--text", "message", "--features-from", "hog"], 2, "hog computes features of pictures"),
        (
            ["photos", "--features-from", "words"],
            2,
            "For pictures, expected auto, efficientnet, hog, pixels.",
        ),
        (["t.csv", "--text", "message", "--features-from", "word"], 2, "Did you mean 'words'?"),
        (["t.csv", "--embeddings", "v.npy", "--features-from", "words"], 2, "give one of them"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_does_not_fit_is_refused(run, texts, pictures, words, code, output):
    (texts / "n.csv").write_text("x,y\n1,2\n3,4\n")
    (texts / "folder").mkdir()
    (texts / "empty.csv").write_text('a,b\n"",1\n" ",2\n')
    (texts / "one.csv").write_text("a,b\nsome words,1\n,2\n")
    (texts / "t.json").write_text("[]")
    Image.new("RGB", (9, 9)).save(texts / "a.png")
    np.save(texts / "v.npy", np.ones((10, 1)))
    assert output in run("cluster", *words, "-k", 2, code=code).stderr


@pytest.mark.parametrize(
    "words",
    [("--text", "message"), ("--image", "a"), ("--embeddings", "v.npy"), ("--features-from", "words")],
)
def test_parquet_in_blocks_has_no_texts(run, texts, words):
    output = run("cluster", "--parquet", "rows.parquet", "-k", 2, *words, code=2).stderr
    assert f"{words[0]} needs the rows in memory, and --parquet reads them in blocks." in output


def test_a_model_that_is_not_there_says_how_to_add_it(run, texts, monkeypatch):
    monkeypatch.setattr("likewise.features._models.find_files", lambda model: None)
    words = (*WORDS[:4], "--features-from", "minilm")
    output = run("cluster", "t.csv", "-k", 2, *words, code=1).stderr
    assert "the model 'minilm' is not installed. Add it with: likewise models add minilm" in output


def test_the_methods_of_the_option_are_those_of_the_features():
    from likewise.features import _images, _sounds, _texts

    assert {
        "text": _texts.METHODS,
        "image": _images.METHODS,
        "sound": _sounds.METHODS,
    } == FEATURE_METHODS


def test_progress_counts_texts_on_a_terminal(monkeypatch):
    from likewise.cli import _output as output

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with output.show_count("Computing features") as progress:
        progress(3, 10)
    with output.show_count("Computing features", quiet=True) as progress:
        progress(3, 10)
