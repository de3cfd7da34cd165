"""Reading tables, and errors of invalid files."""

import codecs
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.exceptions import FileFormatError, MissingDependencyError
from likewise.tables import ColumnRoles, make_table, read_columns, standardize_columns


def read_table(path, roles, **options):
    return make_table(read_columns(path, **options), roles)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(content, name="t.csv", *, header=True, encoding="utf-8", **columns):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return read_table(name, ColumnRoles(**columns), header=header, encoding=encoding)

    return read


def read_refused(table, content, *args, **options):
    with pytest.raises(FileFormatError) as caught:
        table(content, *args, **options)
    return str(caught.value)


# ---------------------------------------------------------------------- what is read


def test_rows_without_ids_are_numbered_from_zero(table):
    found = table("x,y\n1,2.5\n3,-4e1\n")
    assert found.ids.ids == ("0", "1")
    assert found.feature_names == ("x", "y")
    assert found.dropped == ()
    np.testing.assert_array_equal(found.X, [[1, 2.5], [3, -40]])
    assert found.X.dtype == np.float64


def test_columns_are_what_the_options_say(table):
    text = "name,x,kind,y,z\n007,1,wren,2,5\n7,3,,4,6\n"
    found = table(text, id="name", truth="kind", drop=("z",))
    assert found.ids.ids == ("007", "7")
    assert found.feature_names == ("x", "y")
    assert found.dropped == ("kind", "z")
    assert found.kept == {"kind": ("wren", None)}
    chosen = table(text, id="name", features=("z", "x"))
    np.testing.assert_array_equal(chosen.X, [[5, 1], [6, 3]])
    assert chosen.dropped == ("kind", "y")


@pytest.mark.parametrize(
    "data",
    [
        b"x,y\n1,2\n3,4\n",
        b"x,y\r\n1,2\r\n3,4\r\n",
        codecs.BOM_UTF8 + b"x,y\n1,2\n3,4\n",
        b"x;y\n1;2\n3;4\n",
        b"x\ty\n1\t2\n3\t4\n",
        b"x, y\n1, 2\n3, 4\n",
        b'"x","y"\n"1","2"\n\n3,4\n\n\n',
        b"\nx,y\n1,2\n3,4",
    ],
)
def test_spellings_of_one_table(table, data):
    found = table(data)
    assert found.feature_names == ("x", "y")
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])


def test_a_file_without_header_is_read_on_request(table):
    found = table("1,2\n3,4\n", header=False)
    assert found.feature_names == ("f0", "f1")
    assert len(found.ids) == 2


def test_other_encodings_are_read_on_request(table):
    data = "größe,x\nä,1\nö,2\n"
    for encoding in ("latin-1", "utf-16"):
        assert table(data.encode(encoding), encoding=encoding, id="größe").ids.ids == ("ä", "ö")


def test_npy(table, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]], dtype=np.int32))
    found = read_table("a.npy", ColumnRoles(drop=("f1",)))
    assert found.feature_names == ("f0",)
    np.testing.assert_array_equal(found.X, [[1.0], [3.0]])


def save_workbook(path, *sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_an_excel_workbook_is_read_as_its_cells_say(table, tmp_path):
    rows = [["who", "x", "y", None], ["007", 1, 0.1, None], [], ["8", 2.0, -4, ""]]
    save_workbook(tmp_path / "t.xlsx", rows)
    found = read_table("t.xlsx", ColumnRoles(id="who"))
    assert found.ids.ids == ("007", "8")
    assert found.feature_names == ("x", "y")
    np.testing.assert_array_equal(found.X, [[1, 0.1], [2, -4]])
    rows[3][1] = "high"
    save_workbook(tmp_path / "t.xlsx", rows)
    with pytest.raises(FileFormatError, match=r"t\.xlsx:4: .*'high'"):  # the row of the sheet
        read_table("t.xlsx", ColumnRoles(id="who"))


def test_of_several_sheets_the_first_is_read_with_a_note(table, tmp_path):
    save_workbook(tmp_path / "t.xlsx", [["x"], [1], [2]], [["y"], [3]])
    with pytest.warns(UserWarning, match="only the first of 2 sheets, 'sheet 0', was read"):
        assert read_table("t.xlsx", ColumnRoles()).feature_names == ("x",)


def test_a_workbook_that_is_wrong(table, tmp_path):
    assert "cannot be read as an Excel workbook" in read_refused(table, b"PK\x03\x04" + b"\0" * 9, "t.xlsx")
    save_workbook(tmp_path / "t.xlsx", [])
    with pytest.raises(FileFormatError, match="is empty"):
        read_table("t.xlsx", ColumnRoles())


def test_parquet(table, tmp_path):
    columns = {
        "who": ["007", "7"],
        "n": [1, 2],
        "x": pa.array([0.5, 1.5], type=pa.float32()),
        "yes": [True, False],
        "d": pa.array([1, 2]).cast(pa.decimal128(24, 2)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = read_table("t.parquet", ColumnRoles(id="who"))
    assert found.ids.ids == ("007", "7")
    np.testing.assert_array_equal(found.X, [[1, 0.5, 1, 1], [2, 1.5, 0, 2]])
    assert read_table("t.parquet", ColumnRoles(id="n", drop=("who",))).ids.ids == ("1", "2")


def test_the_content_tells_the_format_where_the_name_does_not(table, tmp_path):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.dat")
    assert read_table("t.dat", ColumnRoles()).X.tolist() == [[1.0]]
    assert table("x\n2\n", name="t.txt").X.tolist() == [[2.0]]


def test_standardized_columns_have_mean_zero_and_variance_one():
    X = np.array([[1.0, 0.1, 1e9], [2.0, 0.1, 1e9 + 1], [6.0, 0.1, 1e9 + 2]])
    Z = standardize_columns(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(Z.std(axis=0), [1, 0, 1])


# ---------------------------------------------------------------------- CSV that is wrong


@pytest.mark.parametrize("data", ["", "\n\n", "   \n", codecs.BOM_UTF8])
def test_an_empty_file(table, data):
    assert "t.csv is empty" in read_refused(table, data)


def test_a_header_alone(table):
    assert read_refused(table, "x,y\n") == "t.csv has a header but no rows."


def test_numbers_in_place_of_a_header(table):
    text = read_refused(table, "1,2.5,3,4\n5,6,7,8\n")
    assert text.startswith(
        "t.csv:1: expected the names of the columns in the first row; got only numbers (1, 2.5, 3, …)"
    )
    assert "--no-header" in text


def test_a_header_where_none_was_expected(table):
    text = read_refused(table, "x,y\n1,2\n", header=False)
    assert "leave --no-header out" in text


def test_a_column_of_words_names_the_column_a_cell_and_ways_on(table):
    text = read_refused(table, "x,bird species,y\n1,wren,2\n3,owl,4\n")
    assert text.startswith("t.csv:2: the column 'bird species' is not numeric; it has 'wren'.")
    assert "--drop 'bird species'" in text
    assert "--id 'bird species'" in text
    assert "--features" in text


@pytest.mark.parametrize(
    ("cell", "option"), [("my card was stolen", "--text"), ("a/wren.JPG", "--image"), ("owl.wav", "--audio")]
)
def test_a_column_of_texts_or_files_suggests_the_option_for_it(table, cell, option):
    text = read_refused(table, f"x,what\n1,{cell}\n2,{cell}\n")
    assert f"To compute features from 'what', use {option} what. Leave out" in text


def test_several_columns_of_words_are_dropped_with_one_option(table):
    text = read_refused(table, "a,x,b\n1,1,u\nq,2,v\n")
    assert text.startswith("t.csv:3: the column 'a' is not numeric; it has 'q'. Neither is 'b'.")
    assert "--drop a,b" in text
    many = ",".join(f"c{c}" for c in range(12))
    assert "12 columns are not" in read_refused(table, f"{many}\n{','.join('w' * 12)}\n")


@pytest.mark.parametrize("cell", ["1_000", "0x1f", "1 2", "12%"])
def test_cells_that_are_almost_numbers(table, cell):
    assert f"it has {cell!r}" in read_refused(table, f"x,y\n1,2\n{cell},4\n")


def test_decimal_commas(table):
    assert "decimal comma" in read_refused(table, "x;y\n1,5;2\n")


@pytest.mark.parametrize(
    ("cell", "output"),
    [("", "is empty"), (" ", "is empty"), ("NaN", "is 'NaN'"), ("inf", "is 'inf'"), ("-inf", "")],
)
def test_gaps_are_reported_with_line_and_column(table, cell, output):
    text = read_refused(table, f"x,age\n1,2\n3,{cell}\n")
    assert text.startswith("t.csv:3: the column 'age'")
    assert output in text
    assert "--drop age" in text


def test_a_gap_in_a_single_column_is_not_passed_over(table):
    assert read_refused(table, "x\n1\n\n2\n").startswith("t.csv:3: the column 'x' is empty")
    assert table("x\n1\n2\n\n").X.tolist() == [[1], [2]]


def test_the_first_of_several_gaps(table):
    text = read_refused(table, "x,y\n1,\n,2\n")
    assert text.startswith("t.csv:2: the column 'y' is empty")
    assert "1 more column(s)" in text


def test_ragged_rows_are_reported_with_their_lines(table):
    text = read_refused(table, 'x,y\n1,2\n"1\n",2,3\n4\n')
    assert text == "t.csv:3: 3 cell(s), but the header has 2.\nt.csv:5: 1 cell(s), but the header has 2."
    many = read_refused(table, "x,y\n" + "1\n" * 8)
    assert many.count("\n") == 5
    assert many.endswith("and 3 more.")


def test_repeated_names(table):
    assert read_refused(table, "x,y,x\n1,2,3\n") == (
        "t.csv: columns 1 and 3 are both called 'x'; rename one of them."
    )


def test_a_column_without_a_name_is_not_taken_for_a_feature(table):
    text = read_refused(table, ",x\n0,5\n1,6\n")
    assert "--id 'column 1'" in text
    assert table(",x\n0,5\n1,6\n", drop=("column 1",)).feature_names == ("x",)
    assert table(",x\np,5\nq,6\n", id="column 1").ids.ids == ("p", "q")


def test_a_quote_that_is_never_closed(table):
    assert read_refused(table, 'x,y\n1,2\n"3,4\n').startswith("t.csv:3: a quote is opened and never closed")


@pytest.mark.parametrize(
    ("data", "tip"), [("name,x\nä,1\n".encode("latin-1"), "latin-1"), ("x\n1\n".encode("utf-16"), "utf-16")]
)
def test_other_encodings_are_named_as_an_option(table, data, tip):
    text = read_refused(table, data, drop=())
    assert "is not utf-8" in text
    assert f"--encoding {tip}" in text


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b"])
def test_old_workbooks_and_archives_are_recognised(table, start):
    assert read_refused(table, start + b"\0" * 9).startswith("t.csv is ")


# ---------------------------------------------------------------------- columns that are wrong


def test_repeated_ids_are_reported_with_both_lines(table):
    text = read_refused(table, "n,x\na,1\nb,2\na,3\n", id="n")
    assert text.startswith("t.csv:4: the id 'a' (column 'n') also occurs in line 2")


def test_an_empty_id(table):
    assert read_refused(table, "n,x\na,1\n,2\n", id="n").startswith("t.csv:3: the id (column 'n') is empty")


def test_no_feature_left(table):
    assert "no column left" in read_refused(table, "n,x\na,1\n", id="n", drop=("x",))


@pytest.mark.parametrize(
    ("columns", "option", "output"),
    [
        ({"id": "nam"}, "--id", "did you mean 'name'?"),
        ({"features": ("x", "q")}, "--features", "it has 'name', 'x', 'y'"),
        ({"drop": ("q",)}, "--drop", "no column 'q'"),
        ({"truth": "q"}, "--truth", "no column 'q'"),
        ({"id": "name", "features": ("name", "x")}, "--features", "for --id too"),
        ({"truth": "x", "features": ("x", "y")}, "--features", "for --truth too"),
        ({"drop": ("x",), "features": ("x",)}, "--features", "for --drop too"),
        ({"drop": ("x", "x")}, "--drop", "twice"),
    ],
)
def test_columns_named_wrongly_are_usage_errors(table, columns, option, output):
    with pytest.raises(FileFormatError) as caught:
        table("name,x,y\na,1,2\n", **columns)
    assert output in caught.value.message
    assert option == caught.value.parameter  # the command line shows such an error as one of usage


# ---------------------------------------------------------------------- other formats that are wrong


def npy(array, tmp_path, **options):
    np.save(tmp_path / "a.npy", array, **options)
    with pytest.raises(FileFormatError) as caught:
        read_table("a.npy", ColumnRoles())
    return str(caught.value)


def test_npy_that_is_wrong(table, tmp_path):
    assert "shape (3,)" in npy(np.zeros(3), tmp_path)
    assert "shape (0, 2)" in npy(np.zeros((0, 2)), tmp_path)
    assert "complex" in npy(np.zeros((2, 2), dtype=complex), tmp_path)
    assert "Python objects" in npy(np.array([[{}]], dtype=object), tmp_path, allow_pickle=True)
    text = npy(np.array([[1.0, 2.0], [3.0, np.nan]]), tmp_path)
    assert text.startswith("a.npy, row 1 (counted from 0): the column 'f1' is missing")
    assert "infinite" in npy(np.array([[1.0, np.inf]]), tmp_path)
    assert "cannot be read as .npy" in read_refused(table, "x\n1\n", "b.npy")
    np.savez(tmp_path / "z.npz", a=np.zeros((2, 2)))
    assert "holds several (.npz)" in read_refused(table, (tmp_path / "z.npz").read_bytes(), "c.npy")


def parquet(columns, tmp_path, **chosen):
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(FileFormatError) as caught:
        read_table("t.parquet", ColumnRoles(**chosen))
    return str(caught.value)


def test_parquet_that_is_wrong(table, tmp_path):
    assert "cannot be read as Parquet" in read_refused(table, "x\n1\n", "b.parquet")
    text = parquet({"x": [1, 2, None]}, tmp_path)
    assert text.startswith("t.parquet, row 2 (counted from 0): the column 'x' is missing")
    assert "it has 'wren'" in parquet({"x": [1, 2], "w": ["wren", "owl"]}, tmp_path)
    assert "'flag'" in parquet({"x": [1, 2], "flag": [True, None]}, tmp_path)
    assert "index written by pandas" in parquet({"x": [1], "__index_level_0__": [0]}, tmp_path)
    assert "decimal numbers" in parquet({"n": [0.5, 1.5], "x": [1, 2]}, tmp_path, id="n")
    assert "also occurs in row 0" in parquet({"n": ["a", "a"], "x": [1, 2]}, tmp_path, id="n")
    assert "is empty" in parquet({"n": ["a", None], "x": [1, 2]}, tmp_path, id="n")
    assert "no rows" in parquet({"x": pa.array([], type=pa.float64())}, tmp_path)


def test_parquet_without_pyarrow_says_what_to_install(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"likewise\[scale\]"):
        table(b"PAR1", "t.parquet")
