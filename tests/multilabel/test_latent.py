"""LatentHierarchyClassifier by hand and by its laws: regressions, trees, row order, names, searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise.datasets import make_label_tree
from likewise.exceptions import HierarchyError
from likewise.hierarchy import LabelHierarchy
from likewise.multilabel import BinaryRelevance, LatentHierarchyClassifier, Suggestion
from profiles import fewer
from reference import label_tree as twin

seeds = st.integers(0, 10_000)
EXACT = {"tol": 1e-10, "max_iter": 2000}


def small(seed=0, n=200, k=5, missing_rate=0.3):
    return make_label_tree(n, k, n_features=4, missing_rate=missing_rate, random_state=seed)


def tree_of(data):
    return LabelHierarchy.from_parents(data.parents)


# ---------------------------------------------------------------------- by hand


def test_two_labels_with_nothing_missing_are_two_regressions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    animal = X[:, 0] + rng.logistic(size=200) > 0
    cat = animal & (X[:, 1] + rng.logistic(size=200) > 0)
    Y = np.column_stack([animal, cat])
    model = LatentHierarchyClassifier([("0", "1")], missing_rate=0, l2=0.5, marginals="tree", **EXACT).fit(
        X, Y
    )
    whole = LogisticRegression(C=2.0, tol=1e-10).fit(X, animal)
    within = LogisticRegression(C=2.0, tol=1e-10).fit(X[animal], cat[animal])
    for c, theirs in enumerate((whole, within)):
        np.testing.assert_allclose(model.coef_[c], theirs.coef_[0], atol=1e-3)
        np.testing.assert_allclose(model.intercept_[c], theirs.intercept_[0], atol=1e-3)
    p, s = whole.predict_proba(X)[:, 1], within.predict_proba(X)[:, 1]
    chances = np.column_stack([p, p * s + (1 - p) * 1e-3])
    np.testing.assert_allclose(model.predict_proba(X), chances, atol=1e-3)
    assert model.hierarchy_.edges == (("0", "1"),)
    assert model.hierarchy_.margins.tolist() == [np.inf, np.inf]
    assert model.hierarchy_.counts.tolist() == Y.sum(axis=0).tolist()
    assert model.missing_rate_ == 0


@fewer(4)
@given(seed=seeds, k=st.integers(1, 5), l2=st.sampled_from([0.1, 1.0, 10.0]))
def test_complete_labels_on_a_given_tree_are_regressions_within_the_parent(seed, k, l2):
    data = small(seed, k=k)
    model = LatentHierarchyClassifier(tree_of(data), missing_rate=0, l2=l2, **EXACT).fit(data.X, data.Y)
    for c, p in enumerate(data.parents):
        rows = np.ones(200, dtype=bool) if p < 0 else data.Y[:, p]
        theirs = LogisticRegression(C=1 / l2, tol=1e-10).fit(data.X[rows], data.Y[rows, c])
        np.testing.assert_allclose(model.coef_[c], theirs.coef_[0], atol=5e-3)
        np.testing.assert_allclose(model.intercept_[c], theirs.intercept_[0], atol=5e-3)


def test_a_star_without_missing_labels_is_binary_relevance():
    data = small()
    model = LatentHierarchyClassifier(start="star", missing_rate=0, l2=0.5, **EXACT).fit(data.X, data.Z)
    theirs = BinaryRelevance(C=2.0).fit(data.X, data.Z)
    np.testing.assert_allclose(model.predict_proba(data.X), theirs.predict_proba(data.X), atol=2e-3)
    assert model.hierarchy_.edges == ()
    np.testing.assert_array_equal(model.complete_labels(data.X, data.Z), data.Z)


def test_probabilities_of_missing_labels_follow_from_bayes():
    # In a row without records the parent has probability p α / (…); in a row with the child it is certain.
    data = make_label_tree(300, 2, n_features=2, max_depth=2, missing_rate=0.3, random_state=3)
    model = LatentHierarchyClassifier([("0", "1")], missing_rate=0.3).fit(data.X, data.Z)
    x = data.X[:1]
    p, s = 1 / (1 + np.exp(-(x @ model.coef_.T + model.intercept_)[0]))
    eps = model.relaxations_[1]
    joint = {
        (0, 0): (1 - p) * (1 - eps),
        (0, 1): (1 - p) * eps * 0.3,
        (1, 0): p * (1 - s) * 0.3,
        (1, 1): p * s * 0.3 * 0.3,
    }
    total = sum(joint.values())
    wanted = [(joint[1, 0] + joint[1, 1]) / total, (joint[0, 1] + joint[1, 1]) / total]
    np.testing.assert_allclose(model.complete_labels(x, [[0, 0]])[0], wanted)
    above = p * s * 0.3 / (p * s * 0.3 + (1 - p) * eps)
    np.testing.assert_allclose(model.complete_labels(x, [[0, 1]])[0], [above, 1.0])
    assert model.suggest(x, [[0, 1]]) == [Suggestion(0, "0", pytest.approx(above))]
    both = sorted(zip(wanted, "01", strict=True), reverse=True)
    assert [(s.label, s.probability) for s in model.suggest(x, [[0, 0]])] == [
        (name, pytest.approx(chance)) for chance, name in both
    ]
    assert model.suggest(x, [[1, 1]]) == []


@fewer(4)
@given(seed=seeds, k=st.integers(1, 6))
def test_the_most_probable_labelling_is_enumerated(seed, k):
    data = small(seed, n=80, k=k)
    model = LatentHierarchyClassifier(decode="map").fit(data.X, data.Z)
    logits = data.X @ model.coef_.T + model.intercept_
    every, nothing = twin.states(k), np.zeros(k)
    found = model.predict(data.X[:20])
    for i in range(20):
        joint = twin.log_joint(model.hierarchy_.parents, logits[i], model.relaxations_, nothing, nothing)
        at = np.flatnonzero((every == found[i]).all(axis=1))[0]
        assert joint[at] == pytest.approx(joint.max())


# ---------------------------------------------------------------------- laws


@fewer(4)
@given(seed=seeds, missing_rate=st.sampled_from(["shared", "per-label", 0.0]))
def test_probabilities_respect_the_tree(seed, missing_rate):
    data = small(seed)
    model = LatentHierarchyClassifier(missing_rate=missing_rate, relaxation=1e-6).fit(data.X, data.Z)
    chances, completed = model.predict_proba(data.X), model.complete_labels(data.X, data.Z)
    for table in (chances, completed):
        assert ((table >= 0) & (table <= 1)).all()
    for c, p in enumerate(model.hierarchy_.parents):
        if p >= 0:
            assert (chances[:, c] <= chances[:, p] + model.relaxations_[c] + 1e-12).all()
            if missing_rate != 0.0:
                assert np.quantile(completed[:, c] - completed[:, p], 0.99) < 0.01
    assert (completed[data.Z] == 1).all()
    np.testing.assert_array_equal(model.decision_function(data.X) > 0, model.predict(data.X) == 1)
    np.testing.assert_array_equal(model.predict(data.X), chances > model.thresholds_)


def test_suggestions_are_the_most_probable_labels_not_recorded():
    data = small()
    model = LatentHierarchyClassifier().fit(data.X, data.Z)
    completed = model.complete_labels(data.X, data.Z)
    for top in (1, 2, 5, 100):
        found = model.suggest(data.X, data.Z, top=top)
        for row in range(200):
            suggestions = [s for s in found if s.row == row]
            assert len(suggestions) == min(top, 5 - data.Z[row].sum())
            chances = [s.probability for s in suggestions]
            assert chances == sorted(chances, reverse=True)
            assert chances == [completed[row, int(s.label)] for s in suggestions]
            assert not any(data.Z[row, int(s.label)] for s in suggestions)
            rest = set(range(5)) - {int(s.label) for s in suggestions} - set(np.flatnonzero(data.Z[row]))
            assert all(completed[row, c] <= chances[-1] for c in rest)
    sure = model.suggest(data.X, data.Z, least=0.9)
    assert sure == [s for s in model.suggest(data.X, data.Z) if s.probability >= 0.9]
    assert np.mean([data.Y[s.row, int(s.label)] for s in sure]) > 0.85


@fewer(16)
@given(seed=seeds)
@example(seed=350)
def test_the_order_of_labels_only_reorders_the_result(seed):
    data = small(seed, n=1500)  # with few rows two labels may be equal, and ties go to the first
    order = np.random.default_rng(seed).permutation(5)
    model = LatentHierarchyClassifier(missing_rate="per-label", tol=1e-6, max_iter=1000).fit(data.X, data.Z)
    other = LatentHierarchyClassifier(missing_rate="per-label", tol=1e-6, max_iter=1000).fit(
        data.X, pd.DataFrame(data.Z[:, order], columns=order)
    )
    assert set(other.hierarchy_.edges) == set(model.hierarchy_.edges)
    np.testing.assert_allclose(other.missing_rates_, model.missing_rates_[order], atol=1e-9)
    np.testing.assert_allclose(other.predict_proba(data.X), model.predict_proba(data.X)[:, order], atol=5e-3)
    np.testing.assert_allclose(other.hierarchy_.scores, model.hierarchy_.scores[order], atol=1e-6)
    np.testing.assert_allclose(other.hierarchy_.margins, model.hierarchy_.margins[order], atol=1e-6)


@fewer(8)
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter_and_doubled_rows_are_a_halved_penalty(seed):
    data = small(seed, n=300)
    # tree marginals only: combined ones put a row and its duplicate in different folds
    exact = {"marginals": "tree", "missing_rate": "shared", "tol": 1e-6, "max_iter": 1000}
    model = LatentHierarchyClassifier(l2=1.0, **exact).fit(data.X, data.Z)
    rows = np.random.default_rng(seed).permutation(300)
    other = LatentHierarchyClassifier(l2=1.0, **exact).fit(data.X[rows], data.Z[rows])
    # The rate is given as well: for a given hierarchy all edges would be used to estimate it.
    twice = LatentHierarchyClassifier(
        model.hierarchy_, **(exact | {"missing_rate": model.missing_rate_, "l2": 2.0})
    ).fit(np.vstack([data.X, data.X]), np.vstack([data.Z, data.Z]))
    for same in (other, twice):
        assert same.hierarchy_ == model.hierarchy_
        assert same.missing_rate_ == pytest.approx(model.missing_rate_)
        np.testing.assert_allclose(same.predict_proba(data.X), model.predict_proba(data.X), atol=5e-3)


def test_all_types_of_tables_give_the_same_model():
    data = small()
    wanted = LatentHierarchyClassifier().fit(data.X, data.Z)
    frame = pd.DataFrame(data.Z, columns=[f"l{c}" for c in range(5)])
    for X, Y in (
        (sparse.csr_array(data.X), data.Z),
        (data.X, sparse.csr_array(data.Z.astype(int))),
        (pd.DataFrame(data.X, columns=list("abcd")), frame),
        (sparse.csc_array(data.X), sparse.coo_array(data.Z.astype(float))),
    ):
        model = LatentHierarchyClassifier().fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X), wanted.predict_proba(data.X), atol=1e-6)
        completed = model.complete_labels(X, Y)
        np.testing.assert_allclose(completed, wanted.complete_labels(data.X, data.Z), atol=1e-6)


def test_columns_name_labels_everywhere():
    data = small()
    names = ["animal", "cat", "dog", "toy", "ball"]
    Y = pd.DataFrame(data.Z, columns=names)
    model = LatentHierarchyClassifier().fit(data.X, Y)
    assert model.classes_.tolist() == names
    assert model.hierarchy_.names == tuple(names)
    assert {s.label for s in model.suggest(data.X, Y)} <= set(names)
    # labels of a given hierarchy are matched by name, in any order
    edges = [("toy", "ball"), ("animal", "cat")]
    known = LabelHierarchy(sorted(names), edges)
    for form in (known, edges, tuple(edges)):
        given_tree = LatentHierarchyClassifier(form).fit(data.X, Y)
        assert given_tree.hierarchy_.names == tuple(names)
        assert set(given_tree.hierarchy_.edges) == set(edges)


@pytest.mark.parametrize("params", [{}, {"start": ("inclusion", "counts"), "n_init": 3}, {"decode": "map"}])
def test_the_same_seed_gives_the_same_model(params):
    data = small()
    model = LatentHierarchyClassifier(random_state=4, **params).fit(data.X, data.Z)
    chances = model.predict_proba(data.X)
    again = clone(model).fit(data.X, data.Z)
    np.testing.assert_array_equal(again.predict_proba(data.X), chances)
    assert again.hierarchy_ == model.hierarchy_
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(data.X), model.predict(data.X))
    np.testing.assert_array_equal(kept.complete_labels(data.X, data.Z), model.complete_labels(data.X, data.Z))
    assert kept.hierarchy_ == model.hierarchy_


def test_parameters_come_back_as_given():
    tree = LabelHierarchy(["a", "b"], [("a", "b")])
    model = LatentHierarchyClassifier(tree, l2=3.0, start=("star", "counts"), annealing=(0.1, 0.9))
    assert model.get_params()["hierarchy"] is tree
    copied = clone(model)
    assert copied.get_params()["hierarchy"] == tree
    assert {k: v for k, v in copied.get_params().items() if k != "hierarchy"} == {
        k: v for k, v in model.get_params().items() if k != "hierarchy"
    }


def test_the_start_with_the_largest_likelihood_is_kept():
    data = small(n=400)
    starts = ("star", "counts", "chow-liu", "inclusion")
    each = [LatentHierarchyClassifier(start=start).fit(data.X, data.Z) for start in starts]
    together = LatentHierarchyClassifier(start=starts).fit(data.X, data.Z)
    assert together.objective_ == pytest.approx(max(model.objective_ for model in each))


def test_in_searches_and_pipelines():
    data = small(n=150)
    pipe = make_pipeline(StandardScaler(), LatentHierarchyClassifier())
    grid = {"latenthierarchyclassifier__l2": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipe, grid, scoring="f1_micro", cv=3, error_score="raise").fit(data.X, data.Z)
    assert search.best_params_["latenthierarchyclassifier__l2"] in grid["latenthierarchyclassifier__l2"]
    assert search.best_score_ > 0.4
    found = cross_val_predict(LatentHierarchyClassifier(), data.X, data.Z, cv=3)
    assert f1_score(data.Y, found, average="micro") > 0.6
    assert cross_val_predict(
        LatentHierarchyClassifier(), data.X, data.Z, cv=3, method="predict_proba"
    ).shape == (150, 5)


def test_missing_labels_are_found_better_than_by_binary_relevance():
    data = make_label_tree(1500, 8, missing_rate=0.4, random_state=0)
    fit, new = slice(0, 1000), slice(1000, None)
    model = LatentHierarchyClassifier().fit(data.X[fit], data.Z[fit])
    plain = BinaryRelevance().fit(data.X[fit], data.Z[fit])
    ours, theirs = (f1_score(data.Y[new], m.predict(data.X[new]), average="micro") for m in (model, plain))
    assert ours > theirs + 0.1
    np.testing.assert_array_equal(model.hierarchy_.parents, data.parents)


def test_without_a_hierarchy_it_is_no_worse_than_binary_relevance():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 8))
        Y = 2 * X + rng.logistic(size=(1500, 8)) > 1.5
        fit, new = slice(0, 1000), slice(1000, None)
        model = LatentHierarchyClassifier().fit(X[fit], Y[fit])
        assert model.hierarchy_.edges == ()
        assert model.missing_rate_ < 0.15
        plain = BinaryRelevance().fit(X[fit], Y[fit])
        ours, theirs = (f1_score(Y[new], m.predict(X[new]), average="micro") for m in (model, plain))
        assert ours > theirs - 0.02


def test_a_column_of_large_numbers_does_not_slow_convergence():
    data = make_label_tree(800, 5, missing_rate=0.0, random_state=0)
    X = data.X.copy()
    X[:, 0] = 1000 * X[:, 0] + 5000
    model = LatentHierarchyClassifier([], missing_rate=0.0, tol=1e-7).fit(X, data.Y)
    for c in range(5):
        of_label = LogisticRegression(C=1.0, max_iter=5000).fit(
            StandardScaler().fit_transform(X), data.Y[:, c]
        )
        chances = of_label.predict_proba(StandardScaler().fit_transform(X))[:, 1]
        # the penalty depends on the scale of the column, so the two differ slightly
        np.testing.assert_allclose(model.predict_proba(X)[:, c], chances, atol=0.02)


@pytest.mark.parametrize(("n_labels", "n_rows", "most"), [(10, 200, 0.3), (30, 1000, 0.02)])
def test_unrelated_labels_are_children_of_the_root_except_by_chance(n_labels, n_rows, most):
    n_found = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Z = rng.random((n_rows, n_labels)) < rng.uniform(most / 10, most, n_labels)
        model = LatentHierarchyClassifier(max_iter=3, tol=1.0).fit(rng.normal(size=(n_rows, 2)), Z)
        n_found += len(model.hierarchy_.edges) > n_labels / 5
    assert n_found <= 1


def test_the_tree_and_the_rate_fit_each_other():
    data = make_label_tree(1000, 12, missing_rate=0.4, random_state=3)
    model = LatentHierarchyClassifier().fit(data.X, data.Z)
    again = LatentHierarchyClassifier(missing_rate=model.missing_rate_).fit(data.X, data.Z)
    assert again.hierarchy_ == model.hierarchy_
    np.testing.assert_allclose(again.hierarchy_.margins, model.hierarchy_.margins)
    assert (model.hierarchy_.scores >= 0).all()


def test_parameters_without_effect_are_rejected():
    data = small()
    with pytest.raises(ValueError, match=r"no thresholds; got threshold=0\.4\. Omit threshold"):
        LatentHierarchyClassifier(decode="map", threshold=0.4).fit(data.X, data.Z)
    model = LatentHierarchyClassifier(decode="map").fit(data.X, data.Z)
    with pytest.raises(ValueError, match="fit with decode='marginal' to calibrate"):
        model.calibrate(data.X, data.Z)
    with pytest.raises(HierarchyError, match="a list of pairs"):
        LatentHierarchyClassifier(zip(["0"], ["1"], strict=True)).fit(data.X, data.Z)
