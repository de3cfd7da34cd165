"""Rows with line numbers, and the problems of a file line by line."""

import pytest

from likewise.exceptions import FileFormatError
from likewise.tables import Problems, format_csv_line, iterate_csv, read_csv_rows


def test_rows_have_the_line_on_which_they_begin():
    problems = Problems("t.csv")
    assert list(iterate_csv('a,b\n"1\n2",3\n\n4,5\n', problems)) == [
        (1, ["a", "b"]),
        (2, ["1\n2", "3"]),
        (4, []),
        (5, ["4", "5"]),
    ]
    assert problems.found == []


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_formatted_lines_come_back(delimiter):
    cells = ["a,b", "c;d", "e\tf", 'g"h', "i\nj", "k\rl", ""]
    text = format_csv_line(cells, delimiter) + "\n"
    assert [row for _, row in iterate_csv(text, Problems("t.csv"))] == [cells]


def test_an_open_quote_is_a_problem_of_the_line_where_its_row_begins():
    problems = Problems("t.csv")
    assert list(iterate_csv('a,b\n1,"2\n3,4\n', problems, first_line=3)) == [(3, ["a", "b"])]
    assert problems.found == [
        (4, "a quote is opened and never closed; the file may be truncated."),
    ]


def test_comments_above_the_header_count_as_lines():
    table = read_csv_rows("# one\n# two\n\na,b\n1,2\n# three,4", Problems("t.csv"))
    assert (table.comments, table.line, table.header) == (["# one", "# two"], 4, ["a", "b"])
    assert list(table.rows) == [(5, ["1", "2"]), (6, ["# three", "4"])]
    assert table.unfinished == 6


def test_an_error_lists_the_first_problems_by_line():
    problems = Problems("t.csv", ", row ", shown=2, end="Nothing was kept.")
    problems.settle()
    for line in (3, 1, 2):
        problems.add(line, "wrong.")
    with pytest.raises(FileFormatError) as caught:
        problems.settle()
    assert str(caught.value).splitlines() == [
        "t.csv, row 1: wrong.",
        "t.csv, row 2: wrong.",
        "and 1 more.",
        "Nothing was kept.",
    ]
