"""BayesianClustering: clusters, warm refits, the posterior, and refused input."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import likewise.bayesian._bayesian_clustering as clustering
from likewise import Supervision
from likewise.bayesian import BayesianClustering
from likewise.datasets import load
from likewise.exceptions import (
    DatasetNotFoundError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
)
from likewise.supervision import sample_links, sample_triplets
from reference.bayesian import enumerate_posterior, pair_scores

X, Y = load_iris(return_X_y=True)
# Two clouds of three rows.
SIX = np.array([[-3.0, 0.1], [-2.8, -0.2], [-3.1, 0.0], [3.0, 0.1], [2.9, -0.1], [3.2, 0.2]])


def fit_model(hints=None, rows=X, n_clusters=3, **parameters):
    parameters = {"n_particles": 32, "n_moves": 3, "random_state": 0} | parameters
    return BayesianClustering(n_clusters, **parameters).fit(rows, supervision=hints)


def tree_of_links(y, n, seed=0):
    """Return true links that form a tree: each row is linked to an earlier one."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: n + 1]
    pairs = np.array([(rows[i], rows[rng.integers(i)]) for i in range(1, n + 1)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Supervision.from_links(len(y), must=pairs[same], cannot=pairs[~same])


# ---------------------------------------------------------------------- clusters


def test_clear_clusters_need_no_hints():
    model = fit_model(rows=SIX, n_clusters=2)
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:])) == 1
    assert model.labels_[0] != model.labels_[3]
    assert model.exact_
    np.testing.assert_array_equal(model.predict(SIX), model.labels_)


@pytest.mark.parametrize("sample", [sample_links, sample_triplets])
def test_hints_help(sample):
    plain, hinted = fit_model(), fit_model(sample(Y, 100, random_state=0))
    assert adjusted_rand_score(Y, hinted.labels_) > adjusted_rand_score(Y, plain.labels_) + 0.1


def test_links_and_triplets_together():
    hints = sample_links(Y, 40, random_state=0) | sample_triplets(Y, 40, random_state=0)
    model = fit_model(hints)
    assert adjusted_rand_score(Y, model.labels_) > 0.75
    assert model.violations_.share > 0.9
    assert model.triplet_violations_.share > 0.9


def test_a_tree_is_exact_and_large_cycles_are_not():
    assert fit_model(tree_of_links(Y, 60)).exact_
    assert not fit_model(sample_links(Y, 200, random_state=0)).exact_


def test_labels_of_hinted_rows_are_the_most_probable_jointly():
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 2), (2, 4)], cannot_weights=[9.0, 1.0])
    model = fit_model(hints, SIX, 2)
    rows = np.array([0, 1, 2, 4])
    _, _, _, value = enumerate_posterior(hints, rows, np.log(model.predict_proba(SIX)[rows]), 0.05)
    np.testing.assert_allclose(value[tuple(model.labels_[rows].tolist())], max(value.values()))


def test_weights_apply_to_the_original_columns():
    model = fit_model(sample_links(Y, 20, random_state=0))
    logits = X @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(logits.argmax(axis=1), model.predict(X))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p / p.sum(axis=1, keepdims=True), model.predict_proba(X), atol=1e-9)


def test_intercept_false_gives_zero_biases():
    model = fit_model(rows=X - X.mean(axis=0), intercept=False)
    np.testing.assert_allclose(model.intercept_, 0.0, atol=1e-12)


def test_the_prior_of_the_paper():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit_model(
            tree_of_links(Y, 60), precision=10.0, tau=1.0, balance=0.0, intercept=False, n_particles=24
        )
    assert adjusted_rand_score(Y, model.labels_) > 0.5


def test_the_prior_uses_a_sample_of_many_rows(monkeypatch):
    hints = tree_of_links(Y, 40)
    monkeypatch.setattr(clustering, "_PRIOR_ROWS", 60)
    model = fit_model(hints)
    assert len(model._posterior.seen) == 60
    assert adjusted_rand_score(Y, model.labels_) > 0.6


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_does_not_matter(threads):
    hints = sample_links(Y, 30, random_state=0)
    with threadpool_limits(threads):
        model = fit_model(hints)
    np.testing.assert_array_equal(model.particles_, fit_model(hints).particles_)


# ---------------------------------------------------------------------- warm refits


def test_a_warm_refit_continues_from_the_particles():
    model = fit_model(tree_of_links(Y, 10), warm_start=True)
    cold = model.particles_
    model.fit(X, supervision=tree_of_links(Y, 11))
    assert model.n_steps_ == 1
    assert model._posterior.n_refits == 1
    assert not np.array_equal(model.particles_, cold)


def test_a_warm_refit_is_repeatable_and_survives_pickling():
    one, other = (fit_model(tree_of_links(Y, 10), warm_start=True) for _ in range(2))
    other = pickle.loads(pickle.dumps(other))
    for model in (one, other):
        model.fit(X, supervision=tree_of_links(Y, 11))
    np.testing.assert_array_equal(one.particles_, other.particles_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


@pytest.mark.parametrize("change", ["rows", "prior", "particles"])
def test_a_refit_to_other_data_starts_again(change):
    model = fit_model(warm_start=True)
    rows = X[::-1] if change == "rows" else X
    model.set_params(**{"prior": {"tau": 9.0}, "particles": {"n_particles": 20}}.get(change, {}))
    model.fit(rows)
    assert model._posterior.n_refits == 0
    np.testing.assert_array_equal(model.particles_, clone_fit(model, rows).particles_)


def clone_fit(model, rows):
    return BayesianClustering(**model.get_params()).fit(rows)


def test_sequential_and_batch_answers_agree():
    """Compare co-membership probabilities of updated particles and of new particles."""
    hints = tree_of_links(Y, 20)
    parts = [
        Supervision.from_links(150, must=hints.must[:n], cannot=hints.cannot[:n]) for n in range(2, 21, 3)
    ]
    carried = fit_model(parts[0], warm_start=True, n_particles=64, n_moves=5)
    for part in parts[1:]:
        carried.fit(X, supervision=part)
    anew = fit_model(parts[-1], n_particles=64, n_moves=5)
    difference = carried.co_membership_proba() - anew.co_membership_proba()
    assert np.sqrt((difference**2).mean()) < 0.12


def test_answers_can_be_withdrawn():
    wrong = Supervision.from_links(6, must=[(0, 3), (1, 4), (2, 5)])
    model = fit_model(wrong, SIX, 2, warm_start=True, n_particles=64, n_moves=10)
    linked = model.co_membership_proba(pairs=[(0, 3)])[0]
    model.fit(SIX)
    assert model.co_membership_proba(pairs=[(0, 3)])[0] < linked - 0.3


# ---------------------------------------------------------------------- the posterior


def test_co_membership_uses_the_answers():
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(2, 3)])
    model = fit_model(hints, SIX, 2)
    chance = model.co_membership_proba()
    np.testing.assert_allclose(chance, chance.T)
    np.testing.assert_array_equal(np.diag(chance), 1.0)
    pairs = [(0, 2), (2, 0), (0, 3), (3, 5), (4, 5), (4, 4)]
    np.testing.assert_allclose(model.co_membership_proba(pairs=pairs), [chance[p] for p in pairs], atol=1e-12)
    # Connected rows are not independent given the weights: enumerate for each particle.
    expected = []
    features = model._posterior.features
    for W in model.particles_:
        logits = features[:4] @ W.T
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        expected.append(enumerate_posterior(hints, np.arange(4), log_p, 0.05)[2])
    np.testing.assert_allclose(chance[:4, :4], np.mean(expected, axis=0), atol=1e-9)


def test_co_membership_of_new_rows():
    model = fit_model(rows=SIX, n_clusters=2)
    chance = model.co_membership_proba([[-3.0, 0.0], [3.0, 0.0]])
    assert chance.shape == (2, 2)
    assert chance[0, 1] < 0.2
    assert model.co_membership_proba([[-3.0, 0.0], [3.0, 0.0]], pairs=[(0, 1)])[0] == pytest.approx(
        chance[0, 1]
    )


def test_the_best_pair_is_not_connected_already_unless_allowed():
    model = fit_model(tree_of_links(Y, 30))
    groups = model._posterior.number_groups()
    for a, b in model.best_pairs(20).pairs:
        assert groups[a] != groups[b] or groups[a] < 0
    scores = pair_scores(model.membership_samples(), 0.05, "info")
    assert model.best_pairs(cycles=True).scores[0] == pytest.approx(max(scores.values()))


def test_the_best_pair_of_some_rows():
    model = fit_model()
    rows = np.arange(5, 150, 7)
    first = model.best_pairs(rows=rows).pairs[0]
    assert set(first.tolist()) <= set(rows.tolist())
    second = model.best_pairs(rows=rows, exclude=[first[::-1], (0, 1)]).pairs[0]
    assert second.tolist() != first.tolist()
    assert model.best_pairs(2, rows=rows).pairs[1].tolist() == second.tolist()


def test_informative_questions_beat_random_questions():
    rows, y = load_wine(return_X_y=True)
    ends = {}
    for how in ("info", "random"):
        rng, hints = np.random.default_rng(0), Supervision.empty(len(y))
        model = fit_model(hints, rows, warm_start=True)
        for _ in range(25):
            pair = rng.choice(len(y), 2, replace=False) if how == "random" else model.best_pairs().pairs[0]
            kind = "must" if y[pair[0]] == y[pair[1]] else "cannot"
            hints |= Supervision.from_links(len(y), **{kind: [pair]})
            model.fit(rows, supervision=hints)
        ends[how] = adjusted_rand_score(y, model.labels_)
    assert ends["info"] > 0.93
    assert ends["info"] > ends["random"]


def test_scores_of_triplets():
    scores = fit_model().triplet_scores([(0, 60, 120), (0, 1, 2)])
    assert scores.shape == (2,)
    assert (scores >= 0).all()
    assert (scores <= np.log(4)).all()


def test_digits():
    """Golden: 60 random links on 3,165 digits, ARI .896, .959 and .946 with seeds 0 to 2 (November 2026)."""
    try:
        data = load("digits389")
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    model = fit_model(sample_links(data.y, 60, random_state=0), data.X)
    assert adjusted_rand_score(data.y, model.labels_) > 0.8


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number above 0 and below 0.5, got 0.0"),
        ({"epsilon": 0.5}, "epsilon must be"),
        ({"precision": 0}, "precision must be a number above 0"),
        ({"tau": -1}, "tau must be"),
        ({"balance": np.nan}, "balance must be"),
        ({"n_particles": 0}, "n_particles must be an integer of at least 1"),
        ({"n_moves": -1}, "n_moves"),
        ({"intercept": 1}, "intercept must be one of True, False"),
        ({"warm_start": "yes"}, "warm_start"),
        ({"n_clusters": 7}, "n_samples=6.*fewer clusters"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        fit_model(None, SIX, parameters.pop("n_clusters", 2), **parameters)


def test_one_cluster_and_a_triplet():
    with pytest.raises(InfeasibleSupervisionError, match="no triplet can be satisfied"):
        fit_model(Supervision.from_triplets(6, [(0, 1, 3)], "AB"), SIX, 1)


def test_contradictions_are_traded_off():
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.warns(InconsistentSupervisionWarning, match="0 – 1 – 2"):
        model = fit_model(hints, SIX, 2)
    assert model.labels_[0] == model.labels_[2]


def test_an_oracle_that_is_wrong_half_of_the_time():
    rng = np.random.default_rng(0)
    lies = tree_of_links(rng.integers(3, size=150), 100)
    model = fit_model(lies)
    assert np.isfinite(model.particles_).all()
    assert np.isfinite(model.co_membership_proba()).all()


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.array([[0.0], [1.0]])], ids=["identical", "two"])
def test_few_and_identical_rows(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit_model(Supervision.from_links(len(rows), cannot=[(0, 1)]), rows, 2)
    assert model.labels_[0] != model.labels_[1]
    assert np.isfinite(model.co_membership_proba()).all()
    assert len(model.best_pairs(50).pairs) == len(rows) * (len(rows) - 1) // 2 - 1


def test_methods_before_fitting():
    for ask in (BayesianClustering().best_pairs, BayesianClustering().co_membership_proba):
        with pytest.raises(NotFittedError):
            ask()
    with pytest.raises(NotFittedError):
        BayesianClustering().membership_samples(SIX)


@pytest.mark.parametrize(
    ("use", "arguments", "words"),
    [
        ("co_membership_proba", {"pairs": [(0, 6)]}, "pairs must contain row numbers: integers from 0 to 5"),
        ("co_membership_proba", {"pairs": [(0.5, 1)]}, "integers"),
        ("co_membership_proba", {"pairs": [(0, 1, 2)]}, r"pairs must have shape \(n, 2\), got \(1, 3\)"),
        ("best_pairs", {"exclude": [(-1, 0)]}, "exclude must contain row numbers"),
        ("best_pairs", {"rows": [9]}, "rows must contain row numbers"),
        ("best_pairs", {"criterion": "gain"}, "criterion must be one of"),
        ("triplet_scores", {"triplets": [(0, 1)]}, "triplets must have shape"),
    ],
)
def test_invalid_rows(use, arguments, words):
    model = fit_model(rows=SIX, n_clusters=2, n_particles=4)
    with pytest.raises(ValueError, match=words):
        getattr(model, use)(**arguments)
