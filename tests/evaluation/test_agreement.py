"""Pairwise F, purity and all scores together: by hand, against slow references, and by their laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score, v_measure_score

from likewise import evaluation
from likewise.evaluation import pairwise_f, purity_score, scores
from profiles import fewer
from reference import evaluation as twin

# Six rows. Clusters {0,1,2,3} and {4,5}; classes aaa b bb.
#   cells:     cluster 0 has 3 a and 1 b; cluster 1 has 2 b     pairs in both  3 + 0 + 1 = 4
#   clusters:  sizes 4 and 2                                    pairs          6 + 1     = 7
#   classes:   sizes 3 and 3                                    pairs          3 + 3     = 6
TRUE = ["a", "a", "a", "b", "b", "b"]
PRED = [0, 0, 0, 0, 1, 1]

labellings = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-1, 5), min_size=n, max_size=n)] * 2)
)


def test_six_rows_by_hand():
    assert pairwise_f(TRUE, PRED) == 8 / 13
    assert purity_score(TRUE, PRED) == (3 + 2) / 6
    assert purity_score(PRED, TRUE) == (3 + 2) / 6
    assert purity_score([0, 0, 1, 2], ["x", "x", "x", "x"]) == 0.5


def test_scores_by_hand():
    got = scores(TRUE, PRED)
    # 15 pairs: 4 together in both, 15 - 7 - 6 + 4 = 6 apart in both.
    assert got.rand == pytest.approx(10 / 15)
    # The expected number of pairs in both is 7 · 6 / 15 = 2.8; ARI = (4 - 2.8) / ((7 + 6) / 2 - 2.8).
    assert got.ari == pytest.approx(1.2 / 3.7)
    # I = 1/2 log(3/2) + 1/6 log(1/2) + 1/3 log 2;
    # H = log 2 for the classes and log 3 - 2/3 log 2 for the clusters.
    information = np.log(1.5) / 2 - np.log(2) / 6 + np.log(2) / 3
    entropy = np.log(2) + np.log(3) - 2 / 3 * np.log(2)
    assert got.nmi == pytest.approx(2 * information / entropy)
    assert got.v_measure == pytest.approx(got.nmi)
    assert (got.precision, got.recall, got.f, got.purity) == (4 / 7, 4 / 6, 8 / 13, 5 / 6)
    assert got.n_rows == 6


def test_scores_as_row_and_as_text():
    got = scores(TRUE, PRED)
    names = ["ari", "nmi", "rand", "v_measure", "purity", "precision", "recall", "f", "n_rows"]
    assert list(got.as_dict()) == names
    assert all(type(value) in (float, int) for value in got.as_dict().values())
    assert str(got).startswith("ARI 0.324  NMI 0.479  Rand 0.667")
    assert str(got).endswith("(6 rows)")


@pytest.mark.parametrize(
    ("true", "pred", "want"),
    [
        ([7], [3], (1.0, 1.0, 1.0)),  # one row: no pairs, equal partitions
        ([0, 1, 2], [2, 1, 0], (1.0, 1.0, 1.0)),  # all alone in both
        ([0, 0, 0], [0, 1, 2], (0.0, 0.0, 0.0)),  # no pair in the same cluster
        ([0, 1, 2], [0, 0, 0], (0.0, 0.0, 0.0)),  # no pair in the same class
        ([0, 0, 1, 1], [0, 1, 0, 1], (0.0, 0.0, 0.0)),  # all pairs wrong
    ],
)
def test_limiting_cases(true, pred, want):
    got = scores(true, pred)
    assert (got.precision, got.recall, got.f) == want
    assert pairwise_f(true, pred) == got.f


def test_one_row_scores_one_throughout():
    got = scores(["x"], [0]).as_dict()
    assert got.pop("n_rows") == 1
    assert set(got.values()) == {1.0}


@given(labellings)
def test_against_enumeration_of_pairs(drawn):
    true, pred = drawn
    got = scores(true, pred)
    assert (got.precision, got.recall, got.f) == pytest.approx(twin.pairwise(true, pred))
    assert purity_score(true, pred) == pytest.approx(twin.purity(true, pred))
    n = len(true)
    if n > 1:
        assert scores(true, pred).rand == pytest.approx(twin.pair_counts(true, pred)[3] / (n * (n - 1) / 2))


@given(labellings)
def test_the_bundle_equals_the_functions(drawn):
    true, pred = drawn
    got = scores(true, pred)
    assert got.ari == pytest.approx(adjusted_rand_score(true, pred))
    assert got.nmi == pytest.approx(normalized_mutual_info_score(true, pred))
    assert got.rand == pytest.approx(rand_score(true, pred))
    assert got.v_measure == pytest.approx(v_measure_score(true, pred))
    assert got.nmi == pytest.approx(got.v_measure, abs=1e-9)


@fewer(2)
@given(labellings, st.permutations(range(-1, 6)))
def test_names_of_labels_do_not_count(drawn, names):
    true, pred = drawn
    renamed = [names[p] for p in pred]
    assert scores(true, renamed).as_dict() == pytest.approx(scores(true, pred).as_dict())
    spelled = [f"class {t}" for t in true]
    assert scores(spelled, pred).as_dict() == pytest.approx(scores(true, pred).as_dict())


@given(labellings)
def test_exchanging_the_labellings_exchanges_precision_and_recall(drawn):
    true, pred = drawn
    one, other = scores(true, pred), scores(pred, true)
    assert (one.precision, one.recall, one.f) == (other.recall, other.precision, other.f)


@given(labellings)
def test_a_labelling_agrees_with_itself(drawn):
    got = scores(drawn[0], drawn[0]).as_dict()
    got.pop("n_rows")
    assert list(got.values()) == pytest.approx([1.0] * 8)


@given(labellings)
def test_purity_is_not_below_the_largest_class(drawn):
    true, pred = drawn
    assert purity_score(true, pred) >= np.unique(true, return_counts=True)[1].max() / len(true) - 1e-12


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_many_rows_do_not_overflow(dtype):
    n = 200_000  # the square of the number of pairs does not fit into 64 bits
    true = np.zeros(n, dtype=dtype)
    pred = (np.arange(n) % 2).astype(dtype)
    got = scores(true, pred)
    half, whole = 100_000 * 99_999 // 2, n * (n - 1) // 2
    assert got.precision == 1.0
    assert got.recall == pytest.approx(2 * half / whole, rel=1e-15)
    assert got.f == pytest.approx(4 * half / (2 * half + whole), rel=1e-15)
    assert got.rand == pytest.approx(2 * half / whole, rel=1e-15)
    assert got.purity == 1.0


def test_a_cluster_for_each_row_stays_sparse():
    n = 200_000  # a dense table would have 4·10^10 cells
    got = scores(np.arange(n), np.arange(n) // 2)
    assert (got.precision, got.recall, got.f) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("true", "pred", "words"),
    [
        ([0, 1], [0, 1, 1], "labels_true has 2 rows and labels_pred has 3"),
        ([], [], "labels_true is empty"),
        ([0.0, np.nan], [0, 1], r"labels_true\[1\] is nan"),
        ([0, 1], [None, 1], r"labels_pred\[0\] is None"),
        ([[0, 1]], [0, 1], r"got shape \(1, 2\)"),
        (np.array([0, "a"], dtype=object), [0, 1], "mixes values that cannot be compared"),
    ],
)
def test_bad_labels_are_refused(true, pred, words):
    for score in (pairwise_f, purity_score, scores):
        with pytest.raises(ValueError, match=words):
            score(true, pred)


def test_pandas_labels():
    pd = pytest.importorskip("pandas")
    assert scores(pd.Series(TRUE), pd.Series(PRED)) == scores(TRUE, PRED)
    assert scores(pd.Categorical(TRUE), PRED) == scores(TRUE, PRED)
    with pytest.raises(ValueError, match=r"labels_true\[1\] is (nan|<NA>)"):
        scores(pd.Series([1, None], dtype="Int64"), [0, 1])


def test_public_names_are_sorted_and_there():
    assert evaluation.__all__ == sorted(evaluation.__all__)
    assert all(hasattr(evaluation, name) for name in evaluation.__all__)
