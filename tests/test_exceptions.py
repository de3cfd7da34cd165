"""Errors and warnings: one module, one base each, fields that survive pickling, and `render`."""

import ast
import builtins
import pickle
from pathlib import Path

import pytest

import likewise
from likewise import exceptions
from likewise.exceptions import (
    InfeasibleSupervisionError,
    LikewiseError,
    LikewiseWarning,
    LockedError,
    MediaError,
    OracleError,
    describe_cause,
    render,
)

SOURCE = Path(likewise.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "exceptions.py")
CLASSES = [value for name in exceptions.__all__ if isinstance(value := getattr(exceptions, name), type)]
OWN_FIELDS = {
    OracleError: {"question": "q"},
    LockedError: {"holder": {"pid": 7}},
    MediaError: {"reason": "gone"},
}
FOREIGN = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def test_every_error_and_warning_is_defined_in_the_one_module():
    elsewhere = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if ast.unparse(base).rpartition(".")[2] in FOREIGN | set(exceptions.__all__)
    ]
    assert elsewhere == []


def test_every_error_and_warning_has_the_base_of_its_kind_and_stands_in_the_tree():
    assert set(CLASSES) >= {LikewiseError, LikewiseWarning}
    for kind in CLASSES:
        assert issubclass(kind, LikewiseWarning if issubclass(kind, Warning) else LikewiseError)
        assert f" {kind.__name__}" in exceptions.__doc__


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_pickling_keeps_the_sentence_and_the_fields(kind):
    own = next((fields for owner, fields in OWN_FIELDS.items() if issubclass(kind, owner)), None)
    if own is not None:
        error = kind("No.", **own)
    else:
        terms = ["PCKMeans"]
        error = kind(
            "{estimator}: no.", "Use {PCKMeans}.", rows=[3], kinds=["links"], estimator="RCA", terms=terms
        )
        assert str(error) == "RCA: no. Use PCKMeans."
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_an_error_is_rendered_with_ids_and_the_words_of_the_reader():
    error = InfeasibleSupervisionError(
        "{estimator}: rows 0 and 2 are apart.",
        "Use {PCKMeans}.",
        rows=[0, 2],
        estimator="COPKMeans",
        terms=["PCKMeans"],
    )
    assert str(error) == render(error) == "COPKMeans: rows 0 and 2 are apart. Use PCKMeans."
    words = {"COPKMeans": "--method cop-k-means", "PCKMeans": "--method pck-means"}
    assert render(error, ["wren", "owl", "finch"], words=words) == (
        "--method cop-k-means: rows 0 and 2 are apart. Use --method pck-means. "
        "By id: row 0 is 'wren', row 2 is 'finch'."
    )
    assert render(error, {0: "0", 2: "finch"}).endswith("By id: row 2 is 'finch'.")
    assert render(error, ["0", "1", "2"]) == str(error)  # the ids are the row numbers


def test_braces_of_the_user_are_not_taken_for_terms():
    error = LikewiseError("got {'estimator'} and {x}.", estimator="RCA")
    assert str(error) == "got {'estimator'} and {x}."


def test_many_rows_are_not_all_named():
    error = LikewiseError("too many.", rows=range(12))
    assert render(error, [f"i{row}" for row in range(12)]).endswith("row 9 is 'i9', ….")


def test_errors_of_other_libraries_are_rendered_as_they_are():
    assert render(ValueError("no.")) == "no."
    assert render(KeyError()) == "KeyError"
    assert describe_cause(ValueError("bad header.\nmore")) == "bad header"
    assert describe_cause(OSError()) == "OSError"
