"""Names say one thing: classes and modules are not named twice, and functions are verbs."""

import ast
from collections import defaultdict

import pytest

from sources import SOURCE, list_files, list_nodes

# The same role in several packages: a family's base class, its EM loop, its mini-batch members, readers.
ROLES = {"__init__", "_base", "_em", "_minibatch", "io", "items"}
# First words that are past participles or prepositions; as names of functions they do not say what is done.
NOT_VERBS = set(
    """
    told said made held kept drawn shown known given found taken took meant chosen grown begun lent gone
    sent written heard seen whole by about among inside outside without
    """.split()  # noqa: SIM905
)
VERBS = {"embed", "unembed", "need", "seed", "reseed", "feed", "exceed", "proceed"}
ALLOWED = {"hinted_estimator_checks"}


def is_verb(name):
    word = name.strip("_").split("_")[0]
    return word in VERBS or not (word.endswith("ed") or word in NOT_VERBS)


def functions(path):
    for node in list_nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property", "setter"}:
                yield node.name


def places(found):
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_class_name_is_defined_twice():
    found = defaultdict(set)
    for path in list_files():
        for node in list_nodes(path):
            if isinstance(node, ast.ClassDef):
                found[node.name].add(path.relative_to(SOURCE).as_posix())
    assert places(found) == {}


def test_no_module_name_has_two_meanings():
    found = defaultdict(set)
    for path in list_files():
        if path.stem not in ROLES:
            found[path.stem].add(path.relative_to(SOURCE).as_posix())
    assert places(found) == {}


def test_functions_are_not_named_by_participles():
    found = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in list_files()
        for name in functions(path)
        if not is_verb(name) and name not in ALLOWED
    }
    assert found == set()


@pytest.mark.parametrize(
    ("name", "expected"), [("_told", False), ("joined", False), ("fit", True), ("_embed", True)]
)
def test_participles_are_noticed(name, expected):
    assert is_verb(name) == expected
