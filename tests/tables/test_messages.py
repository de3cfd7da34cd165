"""What every reader of tables says about broken and odd files, compared with a committed snapshot.

Messages are a feature. After a wanted change, write the snapshot again with
``python tests/tables/test_messages.py`` and look at the difference.
"""

import gzip
import io
import json
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

SNAPSHOT = Path(__file__).with_name("messages.json")
IDS = ["s1", "s2", "s3"]
# The texts of other libraries differ between their versions.
OTHERS = re.compile(r"(cannot be read as (?:Parquet|an Excel workbook): ).*", re.DOTALL)
NUMPY = re.compile(r"np\.\w+\(([^()]*)\)")  # scalars as NumPy 2 prints them


def make_npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def make_parquet(columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def make_xlsx(*sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for at, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {at}")
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


TEXTS = {
    # the form of the file
    "empty.csv": b"",
    "blank.csv": b" \n\n",
    "comments.csv": b"# one\n# two\n",
    "latin.csv": "id,x\ns1,1\ns2,\xe9\n".encode("latin-1"),
    "utf16.csv": "id,x\ns1,1\n".encode("utf-16"),
    "bom.csv": b"\xef\xbb\xbfid,label\ns1,a\ns2,b\n",
    "windows.csv": b"id,label\r\ns1,a\r\n\r\ns2,b\r\n",
    "semicolons.csv": b"id;x;y\ns1;1;2\ns2;3;4\ns3;5;6\n",
    "tabs.tsv": b"id\tx\ty\ns1\t1\t2\ns2\t3\t4\n",
    "quote.csv": b'id,x\ns1,1\ns2,"2\ns3,3\n',
    "after_quote.csv": b'id,x\ns1,"1"2\n',
    "wide_cells.csv": b'id,"x\ny"\ns1,1\ns2,2,3\n',
    "ragged.csv": b"id,x\n" + b"".join(b"s%d,1,2\n" % k for k in range(8)),
    "header_only.csv": b"id,x\n",
    "numbers_only.csv": b"1,2,3,4\n5,6,7,8\n",
    "one_column.csv": b"x\n1\n\n3\n",
    "same_names.csv": b"id,x,x\ns1,1,2\n",
    "no_name.csv": b",id,x\n0,s1,1\n1,s2,2\n",
    "old_excel.csv": b"\xd0\xcf\x11\xe0rest",
    "archive.zip": b"PK\x03\x04rest",
    "packed.csv.gz": gzip.compress(b"id,x\ns1,1\n", mtime=0),
    "packed_badly.csv.gz": b"\x1f\x8brest",
    "unknown.dat": b"id,x\ns1,1\ns2,2\n",
    # cells
    "text.csv": b"id,x,y\ns1,1,red\ns2,2,blue\ns3,3,red\n",
    "gap.csv": b"id,x,y\ns1,1,2\ns2,,3\ns3,5,\n",
    "infinite.csv": b"id,x\ns1,1\ns2,inf\ns3,nan\n",
    "underscore.csv": b"id,x\ns1,1_000\ns2,2\n",
    "decimal_commas.csv": b"id;x\ns1;1,5\ns2;2,5\n",
    "decimals.csv": b"id,x\n1.5,1\n2.5,2\n",
    "id_twice.csv": b"id,x\ns1,1\ns2,2\ns1,3\n",
    "id_empty.csv": b"id,x\ns1,1\n,2\n",
    "many_words.csv": b"id,a,b,c,d,e,f,g,h,i\n" + b"s1,u,u,u,u,u,u,u,u,u\n",
    "flags.csv": b"id,x,y,flag\ns1,1,red,1\ns2,2,blue,0\ns3,3,red,1\n",
    "dates.csv": b"id,day,n\ns1,2026-01-01,1\ns2,2026-02-01,2\ns3,2026-03-01,\n",
    # hints
    "links.csv": b"a,b,link,weight\ns1,s2,must,\ns1,s9,must,1\ns1,s1,cannot,2\n"
    b"s2,s3,perhaps,1\ns2,s3,must,-1\n",
    "links_short.csv": b"a,b\ns1,s2\n",
    "links_typo.csv": b"a,b,link,weigth\ns1,s2,must,1\n",
    "labels.csv": b"id,label\ns1,a\nS2,b\ns1,c\n",
    "general.csv": b"kind,a,b,label\nmust,s1,s2,\nlabel,s1,,\nlabel,s1,s2,x\nmaybe,s1,s2,\n",
    "mark.csv": b"# likewise hints; n=x\nkind,a,b\nmust,s1,s2\n",
    "mark_cut.csv": b"# likewise hints; n=3; lines=4\nkind,a,b\nmust,s1,s2\nmust,s1,s",
    "triplets.csv": b"a,b,c,answer\ns1,s2,s3,AB\ns1,s2,s3,XY\ns1,s2,,AB\n",
    # bags
    "bags.csv": b"bag,labels\nr1,wren;owl\nr9,owl\nr2,\nr1,wren\n",
    "bags_short.csv": b"bag,label\nr1,wren\n",
    "bags_rows.csv": b"id,bag,label,f0\ns1,r1,wren,1\ns2,r1,owl,x\ns2,r2,,3\n",
    # trees
    "tree.csv": b"parent,child,score\nroot,a,1\na,b,x\na,a,1\na,,1\nroot,b,2\n",
    "tree_circle.csv": b"parent,child\na,b\nb,c\nc,a\n",
    "tree_other.csv": b"parent,child,size\nroot,a,1\n",
    "tree_short.csv": b"parent\nroot\n",
    # answers and groups
    "answers.csv": b"a,b,answer,seconds,time,undone\ns1,s2,SAME,x,,\ns1,s2,SAME,,noon,\ns1,s9,SAME,,,\n"
    b"s1,s2,SAME,,,maybe\ns1,s2,AB,,,\ns1,s1,SAME,,,\n",
    "answers_kind.csv": b"kind,a,b,c,answer\npair,s1,s2,s3,SAME\ntriplet,s1,s2,,AB\nfour,s1,s2,s3,AB\n",
    "answers_other.csv": b"a,b,answer,size\ns1,s2,SAME,1\n",
    "groups.csv": b"id,group,name\ns1,1,cats\ns2,1,dogs\ns1,2,\ns9,1,\n,1,\n",
    "groups_computed.csv": b"id,group,doubt\ns1,1,0.5\n",
    # pools of questions
    "pool.csv": b"a,b,c,difficulty\ns1,s2,,easy\ns1,,,easy\ns1,s2,s3,hard\ns1,s2,s3\ns1,s2,s3,easy,x\n",
    "pool_short.csv": b"a,b,difficulty\ns1,s2,easy\n",
    "pool_empty.csv": b"a,b,c,difficulty\n",
    # JSON
    "lines.jsonl": b'{"kind": "must", "items": ["s1", "s2"]}\n[1]\n{"kind": "must", "items": ["s1"]}\n'
    b'{"kind": "odd"}\n{"kind": "label", "item": "s1"}\n{"kind": "label", "item": "s1", "label": ""}\n'
    b'{"kind": "must", "items": ["s1", "s2"], "size": 1}\n',
    "constant.jsonl": b'{"kind": "must", "items": ["s1", "s2"], "weight": NaN}\n',
    "answers.jsonl": b'{"a": "s1", "b": "s2", "answer": "SAME", "seconds": true}\n{"a": "s1", "b": "s8"}\n',
    "tree.json": b'{"format": "other"}',
    "tree_version.json": b'{"format": "likewise label hierarchy", "version": 9}',
    "tree_labels.json": b'{"format": "likewise label hierarchy", "version": 1, "labels": [{"name": 1}]}',
    "tree_number.json": b'{"format": "likewise label hierarchy", "version": 1, "labels": '
    b'[{"name": "a", "score": true}]}',
    "tree.nwk": b"(a:x,b)root;",
}


def make_files():
    """Return the content of each file by its name."""
    gap = {"id": ["s1", "s2", None], "x": [1.0, None, 3.0], "n": [1, 2, None], "flag": [True, False, True]}
    return TEXTS | {
        "none.parquet": b"PAR1 is how it begins",
        "gap.parquet": make_parquet(gap),
        "rows.parquet": make_parquet({"id": IDS, "x": [1, 2, 3], "y": [1.5, 2.5, 3.5], "w": [True] * 3}),
        "links.parquet": make_parquet({"a": ["s1", "s1"], "b": ["s2", "s9"], "link": ["must", "must"]}),
        "no_rows.parquet": make_parquet({"id": []}),
        "decimal_ids.parquet": make_parquet({"id": [1.5, 2.5], "x": [1, 2]}),
        "index.parquet": make_parquet({"id": ["s1"], "__index_level_0__": [0]}),
        "none.xlsx": b"PK\x03\x04rest",
        "rows.xlsx": make_xlsx([["id", "x", None], ["s1", 1.0, None], [], ["s2", "red", None]], [[1]]),
        "ragged.xlsx": make_xlsx([["id", "x"], ["s1", 1, 2]]),
        "empty.xlsx": make_xlsx([]),
        "links.xlsx": make_xlsx([["a", "b", "link"], ["s1", "s2", "must"], ["s1", 7.0, "must"]]),
        "answers.xlsx": make_xlsx([["a", "b", "answer"], ["s1", "s2", "PERHAPS"]]),
        "rows.npy": make_npy(np.arange(6.0).reshape(3, 2)),
        "flat.npy": make_npy(np.arange(3)),
        "objects.npy": make_npy(np.array([{}, {}])),
        "words.npy": make_npy(np.array([["a", "b"]])),
        "infinite.npy": make_npy(np.array([[1.0, np.inf], [2.0, 3.0], [4.0, 5.0]])),
        "cut.npy": b"\x93NUMPY",
    }


def read_hints(path):
    from likewise.supervision import read_hints

    return read_hints(path, IDS)


def read_bag_labels(path):
    from likewise.supervision import read_bag_labels

    return read_bag_labels(path, ["r1", "r1", "r2"])


def read_bags(path):
    from likewise.supervision import read_bags

    read = read_bags(path, bag="bag" if "bag" in path else "id")
    return read.X.tolist(), read.supervision, read.feature_names, list(read.ids)


def read_tree(path):
    from likewise.hierarchy import read_hierarchy

    tree = read_hierarchy(path)
    return tree.names, tree.edges


def read_data(path):
    from likewise.tables import ColumnRoles, make_table, read_columns

    table = make_table(read_columns(path), ColumnRoles(id="id"))
    return list(table.ids), table.X.tolist(), table.feature_names


def read_bare_data(path):
    from likewise.tables import ColumnRoles, make_table, read_columns

    table = make_table(read_columns(path, header=False), ColumnRoles())
    return list(table.ids), table.X.tolist(), table.feature_names


def read_studio_data(path):
    from likewise.cli._items import read_source

    read = read_source(path, id_column=None if path.endswith(".npy") else "id")
    return np.asarray(read.X).round(6).tolist(), [item.id for item in read.items], read.described.notes


def read_tags(path):
    from likewise.cli._tags import read_tag_table
    from likewise.supervision import RowIds
    from likewise.tables import read_columns

    raw = read_columns(path, encoding_option="--labels-encoding")
    tags = read_tag_table(raw, RowIds.from_ids(IDS), id_column="id", separator=";", data="data.csv")
    return tags.Y.tolist(), tags.names, tags.layout, tags.notes


def read_answers(path):
    from likewise.studio._earlier_answers import read_earlier
    from likewise.supervision import RowIds

    read = read_earlier(Path(path), RowIds.from_ids(IDS))
    return read.form, read.answers, read.names, read.notes


def read_questions(path):
    from likewise.studio.study.pool import read_pool

    return read_pool(path)


def read_features(path):
    from likewise.features import array_features

    return array_features(path, n_rows=3).description


READERS = {
    reader.__name__: (reader, suffixes)
    for reader, suffixes in (
        (read_hints, (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".dat")),
        (read_bag_labels, (".csv", ".gz", ".jsonl", ".parquet")),
        (read_bags, (".csv", ".gz", ".parquet")),
        (read_tree, (".csv", ".json", ".nwk", ".dat")),
        (read_data, (".csv", ".tsv", ".gz", ".zip", ".parquet", ".xlsx", ".npy", ".dat")),
        (read_bare_data, (".csv", ".xlsx", ".npy")),
        (read_studio_data, (".csv", ".parquet", ".xlsx", ".npy")),
        (read_tags, (".csv", ".parquet", ".xlsx")),
        (read_answers, (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".dat")),
        (read_questions, (".csv",)),
        (read_features, (".npy",)),
    )
}

# Files that are of interest to some readers only, by the first word of their names.
OWN = {
    "labels": {"read_hints", "read_answers", "read_tags"},
    **{word: {"read_hints", "read_answers"} for word in ("links", "general", "mark", "triplets")},
    "bags": {"read_bag_labels", "read_bags"},
    "tree": {"read_tree"},
    "answers": {"read_answers"},
    "groups": {"read_answers"},
    "pool": {"read_questions"},
    "flags": {"read_data", "read_tags"},
}


def describe_outcome(reader, path):
    """Return the error, or the content that was read, with the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = f"read: {reader(path)}"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
    texts = [outcome, *(f"{one.category.__name__}: {one.message}" for one in caught)]
    return [OTHERS.sub(r"\1…", NUMPY.sub(r"\1", text)) for text in texts]


def collect_outcomes(name):
    """Return what a reader makes of each file, in the working directory."""
    reader, suffixes = READERS[name]
    found = {}
    for path, content in make_files().items():
        if path.endswith(suffixes) and name in OWN.get(re.split("[_.]", path)[0], READERS):
            Path(path).write_bytes(content)
            outcome = describe_outcome(reader, path)
            found[path] = outcome if len(outcome) > 1 else outcome[0]
    return found


COMMANDS = {
    "unknown id": "cluster text.csv -k 2 --id idd",
    "unknown feature": "cluster text.csv -k 2 --features x,z",
    "two roles": "cluster text.csv -k 2 --id id --drop id",
    "dropped twice": "cluster text.csv -k 2 --drop x,x",
    "truth and feature": "check labels.csv text.csv --id id --truth y --features y",
    "bag column": "cluster text.csv -k 2 --bag-column bag",
    "latin-1": "cluster latin.csv -k 2",
    "no header": "cluster numbers_only.csv -k 2",
    "header as a row": "cluster text.csv -k 2 --no-header",
    "hints in latin-1": "check latin.csv text.csv --id id",
    "hints of unknown format": "check unknown.dat text.csv --id id",
    "bag labels": "check bags.csv bags_rows.csv --bag-column bag",
    "studio: unknown text": "studio text.csv --text words --no-open",
    "studio: two roles": "studio text.csv --text y --truth y --no-open",
    "studio: three kinds": "studio text.csv --text y --image x --no-open",
    "tree: two roles": "hierarchy text.csv --labels labels.csv --id id --text y --drop y",
    "tree: unknown label column": "hierarchy text.csv --label-columns x,q",
    "tree: label column twice": "hierarchy text.csv --label-columns x,x",
    "tree: tags without ids": "hierarchy text.csv --labels labels.csv",
    "tree: fixed edges": "hierarchy flags.csv --id id --label-columns flag --drop y --fixed tree_short.csv",
    "shown": "ask text.csv -k 2 --id id --show z",
    "labels": "compare-hints text.csv --column z",
    "no rows": "compare-hints header_only.csv",
}


def run_commands():
    """Return the error that each command prints, in the working directory."""
    from click.testing import CliRunner

    from likewise.cli.main import cli

    for path, content in make_files().items():
        Path(path).write_bytes(content)
    found = {}
    for name, words in COMMANDS.items():
        result = CliRunner().invoke(cli, words.split(), prog_name="likewise")
        assert result.exit_code, (words, result.output)
        assert isinstance(result.exception, SystemExit), (words, result.exception)
        found[name] = result.output[result.output.index("Error:") :]
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.parametrize("name", READERS)
def test_readers_explain_broken_files_as_before(folder, name):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    assert collect_outcomes(name) == json.loads(SNAPSHOT.read_text(encoding="utf-8"))[name]


def test_commands_explain_broken_files_as_before(folder):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    assert run_commands() == json.loads(SNAPSHOT.read_text(encoding="utf-8"))["commands"]


def write_snapshot():
    """Write the snapshot from the code as it is."""
    os.environ["COLUMNS"] = "200"
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        outcomes = {name: collect_outcomes(name) for name in READERS}
        outcomes["commands"] = run_commands()
    text = json.dumps(outcomes, indent=1, ensure_ascii=False)
    SNAPSHOT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write_snapshot())
