"""Errors and warnings: one module, one base each, fields that survive pickling, and `render`."""

import ast
import builtins
import pickle

import pytest

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
from sources import SOURCE, list_files, list_nodes

MODULES = [path for path in list_files() if path.name != "exceptions.py"]
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
        for node in list_nodes(path)
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


# ---------------------------------------------------------------------- texts are not searched

EDITS = {
    *(
        "replace",
        "partition",
        "rpartition",
        "split",
        "rsplit",
        "splitlines",
        "startswith",
        "endswith",
        "find",
    ),
    *("index", "count", "removeprefix", "removesuffix", "strip", "lstrip", "rstrip", "translate", "format"),
}
MATCHES = {"match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}


def find_matched_texts(source):
    """Return the lines that search or edit the text of an exception or of a caught warning."""
    if "except " not in source and ".message" not in source:
        return []  # there is no such text
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted({line for scope in [tree, *functions] for line in _find_in(scope)})


def _find_in(scope):
    nodes = list(ast.walk(scope))
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    texts = set()

    def is_caught(node):
        if isinstance(node, ast.Attribute) and node.attr in ("message", "__cause__", "__context__"):
            return node.attr == "message" or is_caught(node.value)
        return isinstance(node, ast.Name) and node.id in caught

    def is_text(node):
        if isinstance(node, ast.Name):
            return node.id in texts
        if isinstance(node, ast.Attribute):  # error.message, error.suggestion, error.args
            return node.attr in ("message", "suggestion", "args") and is_caught(node.value)
        if isinstance(node, ast.Subscript):
            return is_text(node.value)
        if isinstance(node, ast.Call):
            named = isinstance(node.func, ast.Name) and node.func.id in ("str", "repr", "render")
            own = isinstance(node.func, ast.Attribute) and is_text(node.func.value)
            return own or (named and any(is_caught(part) or is_text(part) for part in node.args))
        if isinstance(node, ast.JoinedStr):
            values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            return any(is_caught(value) or is_text(value) for value in values)
        if isinstance(node, ast.BoolOp):
            return any(map(is_text, node.values))
        return isinstance(node, ast.BinOp) and (is_text(node.left) or is_text(node.right))

    for _ in range(3):  # a text may be handed from name to name
        for node in nodes:
            if isinstance(node, ast.Assign) and is_text(node.value):
                texts |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Compare):
            sought = isinstance(node.ops[0], ast.In | ast.NotIn) and is_text(node.comparators[0])
            equal = isinstance(node.ops[0], ast.Eq | ast.NotEq) and any(
                map(is_text, [node.left, *node.comparators])
            )
            if sought or equal:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            edited = node.func.attr in EDITS and is_text(node.func.value)
            if edited or (node.func.attr in MATCHES and any(map(is_text, node.args))):
                yield node.lineno


# The checks for authors of estimators are tests themselves: they are there to look at sentences.
SEARCHED = [path for path in MODULES if path != SOURCE / "testing.py"]


def test_no_module_matches_or_edits_the_text_of_an_exception():
    found = {path: find_matched_texts(path.read_text(encoding="utf-8")) for path in SEARCHED}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        'known = "format=" in str(error)',
        'raise ValueError(str(error).replace("rows", "items")) from error',
        'text = f"{error}"; found = re.search(r"\\d+", text)',
        'known = error.args[0].startswith("no row")',
        "text = str(error) or type(error).__name__; words = text.split()",
        'known = "converge" in str(caught[0].message)',
        'known = error.message == "no."',
        'text = render(error); text = text.rstrip(".")',
    ],
)
def test_matching_the_text_of_an_exception_would_be_found(line):
    assert find_matched_texts(f"try:\n    pass\nexcept Exception as error:\n    {line}\n") == [4]


@pytest.mark.parametrize(
    "line",
    [
        'raise ValueError(f"{path}: {error}") from error',
        'text = str(error) + " Go on."',
        'known = "a" in error.ids',
        'name = path.replace("a", str(error))',
    ],
)
def test_quoting_an_exception_is_allowed(line):
    assert find_matched_texts(f"try:\n    pass\nexcept Exception as error:\n    {line}\n") == []
