"""The bag-constraint matrix: the sum of the paper, tables of values, bags as matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from likewise import Supervision
from likewise.exceptions import InconsistentSupervisionError
from likewise.spectral._bag_spectral import BagMatrices, compute_bag_terms
from profiles import fewer
from reference import bag_constraints as twin

SEEDS = st.integers(0, 10_000)
VARIANTS = ["printed", "exact", "labelled"]
# M = 4 bags: two of one label each, the same; one of another; one of both. G sums to 3^2/... see below.
TABLE = Supervision.from_bags(
    ["a", "a", "b", "c", "d", "d"], {"a": ["x"], "b": ["x"], "c": ["y"], "d": ["x", "y"]}
)
# Shares of x: 1, 1, 0, 1/2; of y: 0, 0, 1, 1/2. The sum of G is 2.5^2 + 1.5^2 = 8.5.
MU = 8.5 / 16


def matrix(hints, variant, alpha=1.0, weights=None, keep_must=True, keep_cannot=True):
    bag_matrices = BagMatrices.from_hints(hints)
    given_weights = np.ones(bag_matrices.allowed.shape[1]) if weights is None else weights
    terms = compute_bag_terms(
        bag_matrices,
        variant,
        alpha=alpha,
        weights=given_weights,
        keep_must=keep_must,
        keep_cannot=keep_cannot,
    )
    return sum(term.toarray() for term in terms)


def draw_case(seed, n=8):
    """Return bags of any label sets, unlabelled ones, rows in none, and labels of some rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 4, n)
    codes[0] = 0
    sets = {
        int(b): rng.choice(list("xyz"), rng.integers(1, 4), replace=False).tolist()
        for b in np.unique(codes)
        if b >= 0 and rng.uniform() < 0.75
    }
    hints = Supervision.from_bags([int(b) if b >= 0 else None for b in codes], sets)
    own = [
        str(rng.choice(sets[int(b)] if int(b) in sets else list("xyz"))) if rng.uniform() < 0.2 else None
        for b in codes
    ]
    return hints | Supervision.from_labels(own) if any(own) else hints


# ---------------------------------------------------------------------- by hand


@pytest.mark.parametrize(
    ("variant", "within", "across", "disjoint", "with_both", "within_both"),
    [
        ("printed", 1 - MU, 1.0, 0.0, 0.5, 0.5 - MU),
        ("exact", 1 - MU, 1 - MU, -MU, 0.5 - MU, 0.5 - MU),
        ("labelled", 1 - MU, 1 - MU, -MU, 0.5 - MU, 0.5 - MU),
    ],
)
def test_the_table_of_values(variant, within, across, disjoint, with_both, within_both):
    Q = matrix(TABLE, variant)
    assert_allclose(Q[0, 1], within)  # one bag of a single label
    assert_allclose(Q[0, 2], across)  # two bags of the same single label
    assert_allclose(Q[0, 3], disjoint)  # no label in common
    assert_allclose(Q[0, 4], with_both)  # one label of two in common
    assert_allclose(Q[4, 5], within_both)  # one bag of two labels


def test_unlabelled_bags_have_no_effect_on_the_labelled_variant():
    hints = Supervision.from_bags(["a", "a", "b", "u", "u", None], {"a": ["x"], "b": ["x"]})
    labelled = matrix(hints, "labelled")
    assert_allclose(labelled[:3, :3], 0.0, atol=1e-15)  # mu is 1, since all known rows are x
    assert not labelled[3:].any()
    # With M = 3 mu is 4 / 9. In the printed variant rows of an unlabelled bag repel each other.
    printed, exact = matrix(hints, "printed"), matrix(hints, "exact")
    assert_allclose(printed[3, [3, 4]], -4 / 9)
    assert_allclose(printed[3, [0, 1, 2, 5]], 0.0)
    assert_allclose(exact[3, :5], -4 / 9)
    assert not printed[5].any()
    assert not exact[5].any()


def test_bags_and_labels_of_rows_by_hand():
    hints = Supervision.from_bags(["a", "a", "b", None], {"a": ["x", "y"]})
    bag_matrices = BagMatrices.from_hints(hints | Supervision.from_labels([None, "y", None, "z"]))
    assert bag_matrices.codes.tolist() == [0, 2, 1, 3]
    assert bag_matrices.n_bags == 4
    assert bag_matrices.sets.classes == ("x", "y", "z")
    assert_array_equal(bag_matrices.allowed.toarray(), [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]])
    assert bag_matrices.labelled_bags.tolist() == [0, 1, 3]
    every = np.ones(4, dtype=bool)
    assert_array_equal(bag_matrices.make_indicators(every).toarray(), np.eye(4)[[0, 2, 1, 3]])


def test_a_row_label_outside_its_bag_is_a_contradiction():
    hints = Supervision.from_bags(["a", "a", "b"], {"a": ["x", "y"]})
    with pytest.raises(InconsistentSupervisionError, match=r"row 1 has the label 'z'.*'a' has only.*x.*y"):
        BagMatrices.from_hints(hints | Supervision.from_labels([None, "z", None]))
    BagMatrices.from_hints(hints | Supervision.from_labels([None, None, "z"]))  # bag b is unlabelled


def test_a_bag_whose_rows_are_all_labelled_is_not_counted():
    # Each row is then a separate bag: M is 2, not 3.
    hints = Supervision.from_bags(["a", "a"], {"a": ["x", "y"]}) | Supervision.from_labels(["x", "y"])
    assert_allclose(matrix(hints, "exact"), [[0.5, -0.5], [-0.5, 0.5]])
    assert_allclose(matrix(hints, "printed"), [[0.5, 0.0], [0.0, 0.5]])


# ---------------------------------------------------------------------- reference implementations


@fewer(2)
@given(SEEDS)
def test_the_exact_variant_is_the_sum_over_pairs_of_bags(seed):
    hints = draw_case(seed, 6)
    assert_allclose(matrix(hints, "exact"), twin.quadruple_sum(hints), atol=1e-12)


@fewer(2)
@given(SEEDS)
def test_the_printed_variant_equals_the_formula(seed):
    hints = draw_case(seed)
    bag_of, sets = twin.gather_hints(hints)
    B = np.array([[bag == name for name in sets] for bag in bag_of], dtype=float)
    Y = np.array([[(c in (s or ())) / len(s or "-") for s in sets.values()] for c in "xyz"])
    mu = (Y.T @ Y).sum() / len(sets) ** 2
    wanted = B @ (Y.T @ Y - mu * np.eye(len(sets))) @ B.T
    assert_allclose(matrix(hints, "printed"), wanted, atol=1e-12)


@given(SEEDS, st.sampled_from(VARIANTS), st.booleans(), st.booleans(), st.booleans())
def test_each_variant_equals_its_reference(seed, variant, without_links, more_clusters, weighed):
    hints = draw_case(seed)
    classes = BagMatrices.from_hints(hints).sets.classes
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(classes)) if weighed else np.ones(len(classes))
    wanted = twin.bag_matrix(
        hints, variant, without_links, more_clusters, dict(zip(classes, weights, strict=True))
    )
    found = matrix(
        hints,
        variant,
        alpha=0.3,
        weights=weights,
        keep_must=not without_links or more_clusters,
        keep_cannot=not without_links,
    )
    assert_allclose(found, 0.3 * wanted, atol=1e-12)


@given(SEEDS, st.sampled_from(VARIANTS), st.booleans())
def test_without_links_sets_only_implied_links_to_zero(seed, variant, more_clusters):
    hints = draw_case(seed)
    whole = matrix(hints, variant)
    left = matrix(hints, variant, keep_must=more_clusters, keep_cannot=False)
    bag_of, sets = twin.gather_hints(hints)
    known = [sets.get(bag) for bag in bag_of]
    for p in range(8):
        for q in range(8):
            a, b = known[p], known[q]
            both_known = a is not None and b is not None
            implied = both_known and (not a & b or (a == b and len(a) == 1 and not more_clusters))
            assert_allclose(left[p, q], 0.0 if implied else whole[p, q], atol=1e-12)


# ---------------------------------------------------------------------- laws


@fewer(2)
@given(SEEDS, st.sampled_from(VARIANTS))
def test_names_of_classes_and_bags_do_not_matter(seed, variant):
    hints = draw_case(seed)
    Q = matrix(hints, variant)
    assert_allclose(Q, Q.T, atol=1e-14)
    names = {"x": "q", "y": "a", "z": "m"}
    codes, bags = hints.bags.codes, hints.bags
    renamed = Supervision.from_bags(
        [99 - bags.names[c] if c >= 0 else None for c in codes],
        {
            99 - name: [names[label] for label in labels]
            for name, labels in zip(bags.names, bags.labels, strict=True)
            if labels is not None
        },
    )
    if hints.classes:
        renamed = renamed | Supervision.from_labels(
            [names[hints.classes[c]] if c >= 0 else None for c in hints.label_codes]
        )
    assert_allclose(matrix(renamed, variant), Q, atol=1e-12)
    order = np.random.default_rng(seed).permutation(8)
    assert_allclose(matrix(hints[order], variant), Q[np.ix_(order, order)], atol=1e-12)


def test_exact_and_labelled_agree_if_all_bags_are_labelled():
    assert_allclose(matrix(TABLE, "exact"), matrix(TABLE, "labelled"))


def test_the_size_of_the_terms_is_linear_in_rows_and_labels():
    rng = np.random.default_rng(0)
    hints = Supervision.from_bags(
        np.arange(5000) // 10, {b: rng.integers(0, 30, 3).tolist() for b in range(500)}
    )
    bag_matrices = BagMatrices.from_hints(hints)
    for variant in VARIANTS:
        terms = compute_bag_terms(
            bag_matrices, variant, alpha=1.0, weights=np.ones(30), keep_must=True, keep_cannot=True
        )
        assert sum(getattr(term.rows, "nnz", term.rows.size) for term in terms) <= 5000 * 4
