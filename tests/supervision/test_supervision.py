import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from likewise import Supervision
from likewise.exceptions import InconsistentSupervisionError, QuestionableHintsWarning, SupervisionError
from reference.supervision import (
    drawn_bags,
    drawn_hints,
    drawn_labels,
    drawn_links,
    drawn_triplets,
    list_statements,
    restrict,
)

LINKS = Supervision.from_links(
    6, must=[(3, 0), (0, 3)], cannot=[(5, 1)], must_weights=[1, 2], cannot_groups=[[4, 2, 0]]
)


# ------------------------------------------------------------------ by hand


def test_links_are_kept_in_one_form():
    assert LINKS.must.tolist() == [[0, 3]]
    assert LINKS.must_weights.tolist() == [2.0]
    assert LINKS.cannot.tolist() == [[1, 5]]
    assert [g.tolist() for g in LINKS.cannot_groups] == [[0, 2, 4]]
    assert LINKS.cannot_groups.n_pairs == 3
    assert LINKS.kinds == {"links"}
    assert LINKS.touched.tolist() == [True] * 6


def test_triplets_are_kept_in_one_form_and_the_odd_one_stays_odd():
    hints = Supervision.from_triplets(5, [(4, 1, 0), (2, 3, 0), (0, 1, 2)], ["AB", "BC", "neither"])
    assert hints.triplets.tolist() == [[0, 1, 2], [0, 1, 4], [0, 2, 3]]
    assert hints.answer_words == ("NEITHER", "BC", "AC")
    twice = Supervision.from_triplets(
        5, [(0, 1, 2), (1, 0, 2), (0, 1, 2)], ["AB", "AB", "AC"], weights=[1, 3, 2]
    )
    assert twice.answer_words == ("AB", "AC")
    assert twice.triplet_weights.tolist() == [3, 2]


def test_labels_of_any_kind():
    hints = Supervision.from_labels([("a", 1), None, ("b", 2), float("nan"), ("a", 1)])
    assert hints.label_codes.tolist() == [0, -1, 1, -1, 0]
    assert hints.classes == (("a", 1), ("b", 2))
    assert Supervision.from_labels(np.array(["x", "", "y"]), missing="").label_codes.tolist() == [0, -1, 1]
    mixed = Supervision.from_labels([1, "1", None, True])
    assert len(mixed.classes) == 2  # True is 1


@pytest.mark.parametrize(
    "labels",
    [
        [0, -1, 1],
        np.array([0, -1, 1]),
        np.array([0, -1, 1], dtype=np.int8),
        np.array([0.0, -1.0, 1.0]),
        pd.Series([0, -1, 1]),
        pd.Series([0, None, 1], dtype="Int64"),
        [0, np.nan, 1],
        np.array([0, None, 1], dtype=object),
    ],
)
def test_missing_labels_are_seen_whatever_holds_them(labels):
    assert Supervision.from_labels(labels, missing=-1).label_codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    "labels",
    [[2, -1, 1], np.array([2, -1, 1]), np.array([2.0, -1.0, 1.0]), [2, None, 1], [2, np.int8(-1), 1]],
)
def test_minus_one_means_unlabelled_and_the_repr_says_so(labels):
    hints = Supervision.from_labels(labels)
    assert hints.label_codes.tolist() == [1, -1, 0]
    assert hints == Supervision.from_labels([2, None, 1])
    says = "2 label(s) of 2 class(es), -1 read as unlabelled"
    assert (says in repr(hints)) == (None not in list(labels))
    assert repr(hints[:2]).endswith("-1 read as unlabelled)") == (None not in list(labels))
    assert repr(pickle.loads(pickle.dumps(hints))) == repr(hints)


def test_minus_one_is_a_class_if_nothing_is_missing_or_labels_are_words():
    assert Supervision.from_labels([2, -1, 1], missing=None).classes == (-1, 1, 2)
    assert Supervision.from_labels(["2", "-1", "1"]).classes == ("-1", "1", "2")
    assert Supervision.from_labels([False, True]).classes == (False, True)
    bare = repr(Supervision.from_labels([2, -1, 1], missing=None))
    assert "unlabelled" not in bare


def test_labels_minus_one_and_one_are_questioned():
    with pytest.warns(QuestionableHintsWarning, match="pass missing=None"):
        hints = Supervision.from_labels([1, -1, 1])
    assert hints.label_codes.tolist() == [0, -1, 0]
    assert len(Supervision.from_labels([1, -1, 1], missing=None).classes) == 2


def test_false_is_not_the_missing_marker_0():
    assert Supervision.from_labels([False, True], missing=0).classes == (False, True)


def test_pandas_missing_times_are_missing():
    days = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert Supervision.from_labels(days).label_codes.tolist() == [0, -1]


def test_bags():
    hints = Supervision.from_bags([1, 1, 2, None], {np.int64(1): [np.str_("wren")]})
    assert hints.bags.codes.tolist() == [0, 0, 1, -1]
    assert hints.bags.labels == (frozenset(["wren"]), None)
    assert hints.touched.tolist() == [True, True, False, False]


def test_repr_says_what_is_inside():
    every = (
        LINKS
        | Supervision.from_triplets(6, [(0, 1, 2)])
        | Supervision.from_labels(["a", *[None] * 5])
        | Supervision.from_bags(["r"] * 6)
    )
    assert repr(every) == (
        "Supervision(6 rows: 1 must, 1 cannot, 1 cannot group(s); 1 triplet(s); "
        "1 bag(s), 0 of them labelled; 1 label(s) of 1 class(es))"
    )
    assert repr(Supervision.empty(3)) == "Supervision(3 rows: no hints)"
    assert every.kinds == {"links", "triplets", "bags", "labels"}
    assert every.select_kinds("links") == LINKS
    assert every.select_kinds({"triplets"}, "bags").kinds == {"triplets", "bags"}


def test_empty_hints_say_nothing():
    none = Supervision.empty(4)
    assert not none
    assert none == Supervision.from_links(4) == Supervision.from_links(4, must=[], cannot=np.empty((0, 2)))
    assert none == Supervision.from_triplets(4, [], []) == Supervision.from_labels([None] * 4)
    assert none.must.shape == none.cannot.shape == (0, 2)
    assert none.triplets.shape == (0, 3)
    assert none.bags is None
    assert none.closure().n_components == 4
    assert none[1:3] == Supervision.empty(2)
    assert none | LINKS[:4] == LINKS[:4]


def test_it_is_aligned_with_the_rows():
    assert LINKS.shape == (6,)
    assert len(LINKS) == 6
    assert LINKS.ndim == 1
    assert LINKS[:4].must.tolist() == [[0, 3]]
    assert LINKS[[3, 1, 0]].must.tolist() == [[0, 2]]
    assert LINKS[np.array([True, False, False, True, False, False])].must.tolist() == [[0, 1]]
    assert LINKS[-3:].n_samples == 3
    assert [g.tolist() for g in LINKS[[4, 0]].cannot_groups] == [[0, 1]]
    with pytest.raises(TypeError, match=r"iterate over hints\.must"):
        iter(LINKS)
    with pytest.raises(TypeError, match="got one row"):
        LINKS[2]
    with pytest.raises(IndexError):
        LINKS[[6]]
    with pytest.raises(IndexError):
        LINKS[np.array([True, False])]
    with pytest.raises(IndexError, match="a slice, a mask or a list"):
        LINKS[[[0, 1], [2, 3]]]
    with pytest.raises(IndexError, match="one-dimensional"):
        LINKS[0:2, 0:2]
    with pytest.raises(SupervisionError, match="selects none of the 6 rows"):
        LINKS[6:]


def test_a_row_drawn_twice_has_its_links_on_the_first_copy():
    twice = (LINKS | Supervision.from_labels(["a", *[None] * 5]))[[0, 0, 3]]
    assert twice.must.tolist() == [[0, 2]]
    assert twice.label_codes.tolist() == [0, 0, -1]


def test_train_test_split_cuts_hints_with_the_rows():
    X = np.arange(6)[:, None]
    X_train, X_test, train, test = train_test_split(X, LINKS, random_state=0)
    assert train == LINKS[X_train[:, 0]]
    assert test == LINKS[X_test[:, 0]]


def test_merging_keeps_the_heavier_weight():
    other = Supervision.from_links(6, must=[(0, 3), (1, 2)], must_weights=[5, 0.5])
    assert (LINKS | other).must_weights.tolist() == [5.0, 0.5]


def test_merging_bags_and_labels_that_differ_is_an_error():
    with pytest.raises(InconsistentSupervisionError, match="row 1 is labelled 'b' and 'c'"):
        Supervision.from_labels(["a", "b"]) | Supervision.from_labels([None, "c"])
    with pytest.raises(InconsistentSupervisionError, match="row 0 is in the bags 'r1' and 'r2'"):
        Supervision.from_bags(["r1"]) | Supervision.from_bags(["r2"])
    with pytest.raises(InconsistentSupervisionError, match=r"bag 'r1' has the labels \('a',\) and \('b',\)"):
        Supervision.from_bags(["r1"], {"r1": ["a"]}) | Supervision.from_bags(["r1"], {"r1": ["b"]})


def test_merging_bags_fills_what_the_other_left_open():
    first = Supervision.from_bags(["r1", None, "r2"], {"r1": ["a"]})
    second = Supervision.from_bags(["r1", "r2", None], {"r2": ["b"]})
    merged = (first | second).bags
    assert merged.codes.tolist() == [0, 1, 1]
    assert merged.labels == (frozenset("a"), frozenset("b"))


def test_merging_labels_that_are_sets_does_not_depend_on_the_order():
    first = Supervision.from_labels([frozenset("ab"), None])  # sets are not ordered
    second = Supervision.from_labels([None, frozenset("cd")])
    assert first | second == second | first


def test_hints_for_another_number_of_rows_are_not_joined():
    with pytest.raises(SupervisionError, match="hints for 6 rows and hints for 5 rows"):
        LINKS | Supervision.empty(5)
    with pytest.raises(TypeError):
        LINKS | [(0, 1)]


def test_hints_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        LINKS.n = 3
    for array in (LINKS.must, LINKS.must_weights, LINKS.cannot, LINKS.cannot_groups.members):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    loaded = pickle.loads(pickle.dumps(LINKS))
    for array in (loaded.must, loaded.cannot_groups.members):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert copy.deepcopy(LINKS) is LINKS
    given = np.array([[0, 1]])
    hints = Supervision.from_links(3, must=given)
    given[0] = 2
    assert hints.must.tolist() == [[0, 1]]


def test_asking_does_not_change_what_equal_means():
    asked = Supervision.from_links(4, must_groups=[[0, 1]], cannot_groups=[[1, 2]])
    asked.relation(0, 2)
    assert asked == Supervision.from_links(4, must_groups=[[0, 1]], cannot_groups=[[1, 2]])
    assert hash(asked) == hash(pickle.loads(pickle.dumps(asked)))
    assert asked != Supervision.from_links(5, must_groups=[[0, 1]], cannot_groups=[[1, 2]])
    assert asked != "hints"


@pytest.mark.parametrize(
    "pairs",
    [
        np.array([[0, 1], [2, 1]], dtype=np.uint64),
        np.array([[0, 1], [1, 2]], dtype=np.int8),
        pd.DataFrame({"a": [0, 1], "b": [1, 2]}),
        ((0, 1), (1, 2)),
    ],
)
def test_pairs_may_come_in_any_array(pairs):
    assert Supervision.from_links(3, must=pairs).must.tolist() == [[0, 1], [1, 2]]


def test_groups_may_be_sets():
    assert Supervision.from_links(4, must_groups=[{3, 1}]).must_groups.members.tolist() == [1, 3]


# ------------------------------------------------------------------ rows named by index label


@pytest.mark.parametrize(
    "index", [["a", "b", "c", "d"], [30, 10, 20, 0], [("x", 1), ("x", 2), ("y", 1), ("y", 2)]]
)
@pytest.mark.parametrize("as_pandas", [True, False])
def test_hints_name_rows_by_index_label(index, as_pandas):
    p, q, r, s = index
    names = pd.Index(index) if as_pandas else index
    hints = Supervision.from_links(
        index=names, must=[(q, p)], cannot=[(s, q)], must_groups=[[p, q, r]], must_weights=[2]
    )
    assert hints == Supervision.from_links(
        4, must=[(0, 1)], cannot=[(1, 3)], must_groups=[[0, 1, 2]], must_weights=[2]
    )
    assert Supervision.from_triplets(index=names, triplets=[(s, q, p)], answers="AC") == (
        Supervision.from_triplets(4, [(3, 1, 0)], "AC")
    )
    frame = pd.DataFrame({"left": [q, s], "right": [p, q], "link": ["must", "no"], "who": ["Ann", "Bo"]})
    given = Supervision.from_frame(frame, index=names, a="left", b="right")
    assert given == Supervision.from_links(4, must=[(0, 1)], cannot=[(1, 3)])


def test_a_data_frame_of_links_has_weights_and_words_for_links():
    frame = pd.DataFrame(
        {"a": [10, 20, 10], "b": [20, 30, 30], "same": [True, False, False], "weight": [1, 2, 3]}
    )
    hints = Supervision.from_frame(frame, index=pd.Index([30, 20, 10]), link="same")
    assert hints == Supervision.from_links(
        3, must=[(2, 1)], cannot=[(1, 0), (2, 0)], cannot_weights=[2, 3], must_weights=[1]
    )
    for word, kind in (("Yes", "must"), ("n", "cannot"), (" same ", "must"), (1, "must"), (-1.0, "cannot")):
        one = Supervision.from_frame({"a": [0], "b": [1], "link": [word]}, index=range(2))
        assert len(getattr(one, kind)) == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Supervision.from_links(must=[(0, 1)]), "index=df.index if they name rows by label"),
        (lambda: Supervision.from_links(3, index=["a", "b"]), "n_samples is 3, but index has 2 labels"),
        (lambda: Supervision.from_links(index=["a", "b", "a"]), "rows 0 and 2 both have the index label 'a'"),
        (lambda: Supervision.from_links(index=pd.DataFrame({"x": [1]})), "such as df.index; got DataFrame"),
        (lambda: Supervision.from_links(index=[1, 2], must=[(1, "2")]), "did you mean 2, of type int?"),
        (
            lambda: Supervision.from_links(index=["wren", "owl"], must=[("wrem", "owl")]),
            "did you mean 'wren'?",
        ),
        (lambda: Supervision.from_links(index=["a", "b"], must=["ab"]), "must\\[0\\] is 'ab'"),
        (lambda: Supervision.from_links(index=["a", "b"], must=[("a",)]), "1 label\\(s\\); expected 2"),
        (
            lambda: Supervision.from_frame({"a": [0], "b": [1], "link": ["must"]}),
            "pass index=df.index, to which",
        ),
        (lambda: Supervision.from_frame({"a": [0], "b": [1]}, index=range(2)), "no column 'link'"),
        (
            lambda: Supervision.from_frame({"a": [0], "b": [1], "link": [0]}, index=range(2)),
            "0 may mean cannot",
        ),
        (
            lambda: Supervision.from_frame({"a": [0], "b": [7], "link": [1]}, index=range(2)),
            "row 0 of the frame",
        ),
    ],
)
def test_labels_that_name_no_row_are_refused(call, says):
    with pytest.raises(SupervisionError, match=says):
        call()


def test_a_series_is_aligned_by_its_index_or_refused():
    data = pd.DataFrame({"x": range(4)}, index=[40, 30, 20, 10])
    labels = pd.Series(["wren", "owl"], index=[10, 40])
    hints = Supervision.from_labels(labels, index=data.index)
    assert hints == Supervision.from_labels(["owl", None, None, "wren"])
    assert hints == Supervision.from_labels({10: "wren", 40: "owl"}, index=data.index)
    bags = Supervision.from_bags(pd.Series(["r1", "r2"], index=[10, 20]), {"r1": ["wren"]}, index=data.index)
    assert bags == Supervision.from_bags([None, None, "r2", "r1"], {"r1": ["wren"]})
    with pytest.raises(SupervisionError, match=r"pass labels\.to_numpy\(\)"):
        Supervision.from_labels(labels)
    with pytest.raises(SupervisionError, match="bags is a Series whose index is not 0, 1, 2"):
        Supervision.from_bags(pd.Series(["r1", "r2"], index=[1, 0]))
    with pytest.raises(SupervisionError, match="labels names 50, which is not in the index"):
        Supervision.from_labels(pd.Series(["wren"], index=[50]), index=data.index)
    with pytest.raises(SupervisionError, match="2 entries, but index has 4 labels"):
        Supervision.from_labels(["wren", "owl"], index=data.index)
    with pytest.raises(SupervisionError, match="must_weights is a Series whose index"):
        Supervision.from_links(3, must=[(0, 1), (1, 2)], must_weights=pd.Series([1.0, 2.0], index=[1, 0]))


def test_index_labels_do_not_import_pandas():
    code = (
        "import sys; from likewise import Supervision\n"
        "Supervision.from_labels([0, -1, 2]); Supervision.from_links(index=['a', 'b'], must=[('a', 'b')])\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"must": [(0, 4)]}, r"must\[0\] names row 4, but the rows are numbered 0 to 3"),
        ({"cannot": [(0, 1), (-1, 2)]}, r"cannot\[1\] names row -1"),
        ({"must": [(0, 1), (2, 2)]}, r"must\[1\] links row 2 with itself"),
        ({"must": [(0, 1, 2)]}, r"shape \(n, 2\).*got shape \(1, 3\)"),
        ({"must": [0, 1]}, r"got shape \(2,\)"),
        ({"must": [(0, 1), (2,)]}, "the lengths differ"),
        ({"must": [(0.0, 1.0)]}, "integer row numbers, got values of type float64"),
        ({"must": [("a", "b")]}, "pass index="),
        ({"must": [(True, False)]}, "integer row numbers"),
        ({"must": np.array([[2**63, 0]], dtype=np.uint64)}, "names row 9223372036854775808"),
        ({"must": [(0, 1)], "must_weights": [0]}, r"must_weights\[0\] is 0.0; weights must be finite"),
        ({"must": [(0, 1)], "must_weights": [np.nan]}, "must be finite and above 0"),
        ({"must": [(0, 1)], "must_weights": [1, 2]}, r"expected 1; got shape \(2,\)"),
        ({"must": [(0, 1)], "must_weights": "heavy"}, "must be numbers"),
        ({"must_groups": [[0, 1], [2, 2, 3]]}, r"must_groups\[1\] contains row 2 twice"),
        ({"must_groups": [[0]]}, r"has 1 row\(s\); a group needs at least two"),
        ({"must_groups": [[]]}, r"has 0 row\(s\)"),
        ({"cannot_groups": [[0, 9]]}, r"cannot_groups\[0\]\[1\] names row 9"),
        ({"cannot_groups": [0, 1]}, "a flat list of rows"),
        ({"cannot_groups": [[[0, 1], [2, 3]]]}, "a flat list of rows"),
        ({"cannot_groups": [[[0, 1], [2]]]}, "a flat list of rows"),
    ],
)
def test_bad_links_are_refused(given, text):
    with pytest.raises(SupervisionError, match=text):
        Supervision.from_links(4, **given)


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "at least 1"), (-1, "at least 1"), (2.0, "got float"), (True, "got bool"), ("4", "len")],
)
def test_bad_numbers_of_rows_are_refused(n, text):
    with pytest.raises(SupervisionError, match=text):
        Supervision.from_links(n)


@pytest.mark.parametrize(
    ("triplets", "answers", "text"),
    [
        ([(0, 1, 1)], "AB", r"triplets\[0\] is \(0, 1, 1\); expected three different rows"),
        ([(0, 1, 4)], "AB", "names row 4"),
        ([(0, 1)], "AB", r"shape \(n, 3\)"),
        ([(0, 1, 2)], "maybe", r"answers\[0\] is 'maybe'; expected one of AB, AC, BC, NEITHER"),
        ([(0, 1, 2)], ["AB", "AB"], "expected 1; got 2"),
    ],
)
def test_bad_triplets_are_refused(triplets, answers, text):
    with pytest.raises(SupervisionError, match=text):
        Supervision.from_triplets(4, triplets, answers)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ("abc", "one entry per row"),
        (3, "one entry per row"),
        ({0: "a"}, "one entry per row"),
        ({"a", "b"}, "one entry per row"),
        ([[1], [2]], "hashable"),
        (np.zeros((2, 2)), "one-dimensional"),
        ([], "at least 1"),
    ],
)
def test_bad_labels_are_refused(labels, text):
    with pytest.raises(SupervisionError, match=text):
        Supervision.from_labels(labels)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({"r2": ["a"]}, "contains bag 'r2', but no row is in it"),
        ({"r1": "wren"}, "must be a collection, got 'wren'"),
        ({"r1": 3}, "must be a collection, got 3"),
        ({"r1": []}, "empty set of labels"),
        ({"r1": [["a"]]}, "hashable"),
        ({"r1": ["a", None]}, "a missing label"),
    ],
)
def test_bad_bags_are_refused(labels, text):
    with pytest.raises(SupervisionError, match=text):
        Supervision.from_bags(["r1", None], labels)
    with pytest.raises(SupervisionError, match="bags must be a sequence"):
        Supervision.from_bags("r1")


def test_no_such_kind():
    with pytest.raises(SupervisionError, match="expected kinds of hints"):
        LINKS.select_kinds("pairs")


# ------------------------------------------------------------------ laws


@given(st.data())
def test_merging_is_idempotent_commutative_and_associative(data):
    n = data.draw(st.integers(2, 6))
    # One value of each kind, so there are no contradictions; labels and bags come from the same classes.
    whole = data.draw(drawn_hints(n))
    parts = [data.draw(drawn_links(n)) | _some(data, whole) for _ in range(3)]
    if n >= 3:
        parts[0] |= data.draw(drawn_triplets(n))
    a, b, c = parts
    assert a | a == a
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert Supervision.empty(n) | a == a


def _some(data, whole):
    kinds = data.draw(st.sets(st.sampled_from(["links", "triplets", "bags", "labels"])))
    return whole.select_kinds(kinds)


@given(st.data())
def test_merging_partial_labels_of_one_truth(data):
    n = data.draw(st.integers(1, 6))
    values = st.sampled_from(["x", 3, (1, 2), frozenset("ab"), frozenset("b")])
    truth = data.draw(st.lists(values, min_size=n, max_size=n))
    a, b = (
        Supervision.from_labels([v if data.draw(st.booleans()) else None for v in truth]) for _ in range(2)
    )
    assert a | b == b | a
    assert {truth[i] for i in range(n) if (a | b).label_codes[i] >= 0} == set((a | b).classes)


@given(drawn_hints(), st.data())
def test_restriction_is_what_its_twin_says_and_composes(hints, data):
    rows = data.draw(st.lists(st.integers(0, len(hints) - 1), min_size=1, unique=True))
    part = hints[rows]
    assert list_statements(part) == restrict(hints, rows)
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    assert part[again] == hints[np.array(rows)[again]]
    mask = np.isin(np.arange(len(hints)), rows)
    assert hints[mask] == hints[np.flatnonzero(mask)]
    assert hints[:] == hints


@given(st.data())
def test_order_and_direction_of_pairs_change_nothing(data):
    n = data.draw(st.integers(2, 7))
    pair = st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True)
    pairs = data.draw(st.lists(pair, min_size=1))
    turned = [p[::-1] if data.draw(st.booleans()) else p for p in data.draw(st.permutations(pairs))]
    assert Supervision.from_links(n, cannot=pairs) == Supervision.from_links(n, cannot=turned + pairs)


@given(st.permutations(range(3)), st.sampled_from(["AB", "AC", "BC", "NEITHER"]))
def test_the_order_within_a_triplet_changes_nothing(order, answer):
    rows = np.array([2, 5, 9])
    plain = Supervision.from_triplets(10, [rows], answer)
    if answer == "NEITHER":
        turned = answer
    else:
        two = sorted(order.index("ABC".index(letter)) for letter in answer)
        turned = "".join("ABC"[place] for place in two)
    assert Supervision.from_triplets(10, [rows[list(order)]], turned) == plain


@given(drawn_hints())
def test_a_pickle_holds_everything(hints):
    loaded = pickle.loads(pickle.dumps(hints))
    assert loaded == hints
    assert hash(loaded) == hash(hints)
    assert list_statements(loaded) == list_statements(hints)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(drawn_labels(n), drawn_bags(n))))
def test_kinds_come_apart_and_together(parts):
    labels, bags = parts
    both = labels | bags
    assert both.select_kinds("labels") == labels
    assert both.select_kinds("bags") == bags
