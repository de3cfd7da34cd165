"""Links that may be wrong: votes by hand, messages against enumeration, held-out rows against refits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from likewise import PropagationClustering, Supervision
from likewise.spectral import _propagation_clustering
from likewise.spectral._gaussian_metric import HintedMixtureRows, MixtureSpace, learn_metric
from likewise.spectral._link_evidence import (
    LinkVotes,
    _compute_likelihoods,
    _propagate,
    compute_unreliability,
    estimate_rate,
)
from likewise.supervision import sample_links


def votes_of(n, must=(), cannot=(), **weights):
    return LinkVotes.from_links(Supervision.from_links(n, must=must, cannot=cannot, **weights).links)


def groups_of(votes):
    return {frozenset(votes.rows[votes.join() == g].tolist()) for g in np.unique(votes.join())}


def test_a_row_linked_to_two_groups_stays_with_the_one_with_more_votes():
    must, cannot = [(0, 1), (1, 2), (0, 2), (3, 4), (0, 9), (3, 9), (4, 9)], [(0, 3), (1, 4)]
    votes = votes_of(10, must, cannot)
    assert groups_of(votes) == {frozenset({0, 1, 2}), frozenset({3, 4, 9})}
    doubted = votes.pairs[~votes.find_agreeing(votes.join())].tolist()
    assert doubted == [[0, 9]]


def test_one_wrong_must_link_does_not_merge_groups_that_two_cannot_links_keep_apart():
    votes = votes_of(6, [(0, 1), (1, 2), (3, 4), (4, 5), (2, 3)], [(0, 3), (1, 4)])
    assert groups_of(votes) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


def test_weights_count_as_numbers_of_votes():
    light = votes_of(2, [(0, 1)], [(0, 1)], must_weights=[1.0], cannot_weights=[2.0])
    heavy = votes_of(2, [(0, 1)], [(0, 1)], must_weights=[3.0], cannot_weights=[2.0])
    assert groups_of(light) == {frozenset({0}), frozenset({1})}
    assert groups_of(heavy) == {frozenset({0, 1})}


def test_groups_of_rows_become_votes():
    hints = Supervision.from_links(6, must_groups=[[0, 1, 2]], cannot_groups=[[0, 3, 4]])
    votes = LinkVotes.from_links(hints.links)
    assert votes.pairs.tolist() == [[0, 1], [1, 2], [0, 3], [0, 4], [3, 4]]
    assert votes.signs.tolist() == [1, 1, -1, -1, -1]


@given(st.lists(st.integers(0, 3), min_size=4, max_size=9), st.integers(0, 10_000))
def test_true_links_are_all_believed_and_their_groups_are_the_closure(labels, seed):
    y = np.array(labels)
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(len(y)) for j in range(i)])
    pairs = pairs[rng.random(len(pairs)) < 0.5]
    same = y[pairs[:, 0]] == y[pairs[:, 1]] if len(pairs) else np.empty(0, dtype=bool)
    hints = Supervision.from_links(len(y), must=pairs[same], cannot=pairs[~same])
    votes = LinkVotes.from_links(hints.links)
    group = votes.join()
    assert votes.find_agreeing(group).all()
    component = hints.closure().component[votes.rows]
    assert adjusted_rand_score(component, group) == 1.0


def enumerate_posterior(votes, prior, same, different):
    """Sum over all class assignments, by definition."""
    n, k = prior.shape
    yes, no = _compute_likelihoods(votes, same, different)
    marginal, together, total = np.zeros((n, k)), np.zeros(len(votes)), 0.0
    for classes in product(range(k), repeat=n):
        chance = np.prod([prior[i, c] for i, c in enumerate(classes)])
        agree = np.array([classes[i] == classes[j] for i, j in votes.places])
        chance *= np.prod(np.where(agree, yes, no))
        total += chance
        together += chance * agree
        marginal[np.arange(n), classes] += chance
    return marginal / total, together / total


@pytest.mark.parametrize("k", [2, 3])
def test_messages_along_a_tree_of_links_are_exact(k):
    rng = np.random.default_rng(k)
    votes = votes_of(5, [(0, 1), (1, 2)], [(1, 3), (3, 4)], must_weights=[1.0, 2.0])
    prior = rng.dirichlet(np.ones(k), size=5)
    classes, without = _propagate(votes, prior, 0.1, 0.2)
    expected, together = enumerate_posterior(votes, prior, 0.1, 0.2)
    np.testing.assert_allclose(classes, expected, atol=1e-6)
    yes, no = _compute_likelihoods(votes, 0.1, 0.2)
    np.testing.assert_allclose(yes * without / (yes * without + no * (1 - without)), together, atol=1e-6)


def test_chains_lose_certainty_and_evidence_adds_up():
    chain = votes_of(4, [(0, 1), (1, 2), (2, 3)])
    everything = np.ones(len(chain), dtype=bool)
    class_of, medoids = np.zeros(4, dtype=np.int64), np.array([0])
    one, two, three = compute_unreliability(chain, everything, class_of, medoids, 2, 0.1)[[0, 2, 3]]
    # The root is row 1, with the most links: 0 and 2 are adjacent, 3 is one step further.
    assert one == pytest.approx(0.1)
    assert two == pytest.approx(0.1)
    assert three == pytest.approx(0.1 * 0.9 + 0.9 * 0.1)
    again = votes_of(3, [(0, 1), (1, 2)], must_weights=[1.0, 2.0])
    chance = compute_unreliability(again, np.ones(2, dtype=bool), class_of[:3], medoids, 2, 0.1)
    assert chance[2] == pytest.approx(0.01 / (0.01 + 0.81))


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.25])
def test_the_rate_is_found_where_the_rows_predict_the_links(rate):
    rng = np.random.default_rng(0)
    predicted = np.where(rng.random(400) < rate, 0.05, 0.95)
    found, _ = estimate_rate(predicted)
    assert abs(found.mean - rate) < 0.07
    assert found.low - 0.01 < rate < found.high + 0.01
    assert found.low < found.mean < found.high
    few, _ = estimate_rate(predicted[:20])
    assert few.high - few.low > found.high - found.low


def blobs(n=150, k=3, gap=6.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return gap * np.eye(k)[y] + rng.normal(size=(n, k)), y


def noisy_links(y, n_links, n_wrong, seed=0):
    """Links of random pairs, the first few with the wrong sign; and the wrong ones."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(len(y), 2, replace=False) for _ in range(n_links)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    pairs = rng.permutation(pairs)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    wrong = np.arange(len(pairs)) < n_wrong
    same = same ^ wrong
    return Supervision.from_links(len(y), must=pairs[same], cannot=pairs[~same]), pairs[wrong]


def test_wrong_links_are_found_and_do_no_harm():
    X, y = blobs()
    hints, wrong = noisy_links(y, 80, 8)
    model = PropagationClustering(3, error_rate="learn", random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    pairs = np.concatenate([hints.must, hints.cannot])
    worst = {tuple(pair) for pair in pairs[np.argsort(model.link_proba_)[: len(wrong)]].tolist()}
    assert len(worst & {tuple(pair) for pair in wrong.tolist()}) >= 7
    assert 0.04 < model.error_rate_.mean < 0.2
    certain = PropagationClustering(3, random_state=0).fit(X, supervision=hints.drop_conflicts())
    assert adjusted_rand_score(y, certain.labels_) < adjusted_rand_score(y, model.labels_) - 0.05


def test_more_linked_rows_than_can_be_held_out_one_by_one(monkeypatch):
    monkeypatch.setattr("likewise.spectral._classes._MOST_ROWS", 20)
    X, y = blobs()
    hints, _ = noisy_links(y, 80, 8)
    model = PropagationClustering(3, error_rate="learn", random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.labels_) > 0.85


def test_a_given_rate_is_used_and_invalid_rates_are_refused():
    X, y = blobs(60)
    hints, _ = noisy_links(y, 30, 3)
    model = PropagationClustering(3, error_rate=0.1, random_state=0).fit(X, supervision=hints)
    assert model.error_rate_.mean == 0.1
    for rate in (0.5, 1.0, -0.1, "often", None):
        with pytest.raises(ValueError, match=r"error_rate must be 'learn' or a number from 0 to below 0\.5"):
            PropagationClustering(3, error_rate=rate).fit(X, supervision=hints)


def test_true_links_give_the_same_clusters_whether_certain_or_not():
    X, y = blobs(90, gap=4.0)
    hints = sample_links(y, 30, random_state=1)
    certain = PropagationClustering(3, random_state=0).fit(X, supervision=hints)
    weighed = PropagationClustering(3, error_rate="learn", random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(certain.labels_, weighed.labels_) > 0.9
    assert adjusted_rand_score(y, weighed.labels_) > 0.9


def test_a_held_out_row_has_the_value_of_a_fit_without_it():
    X, _ = blobs(40)
    smoother = PropagationClustering(3, random_state=0).fit(X)._ready.smoother
    rng = np.random.default_rng(3)
    rows, base = np.arange(0, 40, 5), rng.random((40, 2))
    values = rng.random((len(rows), 2))
    found = smoother.hold_out(base, rows, values)
    for at, row in enumerate(rows):
        rest = rows != row
        np.testing.assert_allclose(
            found[at], smoother.interpolate(base, rows[rest], values[rest])[row], atol=1e-4
        )


def test_noise_lets_a_row_deviate_from_its_value():
    X, _ = blobs(40)
    smoother = PropagationClustering(3, random_state=0).fit(X)._ready.smoother
    rows, base, values = np.array([0, 3]), np.zeros((40, 1)), np.array([[1.0], [1.0]])
    exact = smoother.interpolate(base, rows, values)[rows, 0]
    loose = smoother.interpolate(base, rows, values, noise=np.array([0.0, 10.0]))[rows, 0]
    np.testing.assert_allclose(exact, 1.0, atol=1e-6)
    assert loose[0] == pytest.approx(1.0, abs=1e-6)
    assert loose[1] < 0.9


# ---------------------------------------------------------------------- the metric


def low_variance(n=210, seed=2):
    """Three classes that differ only in two directions of small variance."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    Z = rng.normal(size=(n, 6)) * [3, 3, 3, 2, 0.25, 0.25]
    Z[:, 4:] += np.array([[0, 0], [1.5, 0], [0.75, 1.3]])[y]
    return Z @ np.linalg.qr(rng.normal(size=(6, 6)))[0], y


def test_a_metric_is_learned_if_the_columns_mislead():
    X, y = low_variance()
    hints = Supervision.from_labels([c if i < 45 else None for i, c in enumerate(y)]).to_links()
    plain = PropagationClustering(3, random_state=0).fit(X, supervision=hints)
    learned = PropagationClustering(3, learn_metric=True, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y[45:], plain.labels_[45:]) < 0.3
    assert adjusted_rand_score(y[45:], learned.labels_[45:]) > 0.8
    assert (learned.labels_[:45] == learned.labels_[y[:45].argsort(kind="stable")][y[:45] * 15]).all()


def test_the_graph_keeps_its_weight_if_mixtures_predict_no_better():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    y = np.arange(200) % 2
    X = (1 + 2 * y[:, None]) * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(
        size=(200, 2)
    )
    hints = Supervision.from_labels([c if i < 40 else None for i, c in enumerate(y)]).to_links()
    model = PropagationClustering(2, learn_metric=True, random_state=0).fit(X, supervision=hints)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.metric_.weights[0] > 0.5


def test_too_few_known_rows_give_no_metric():
    X, y = blobs(30)
    space = MixtureSpace(X, 3, 0)
    hinted = HintedMixtureRows.from_clusters(np.arange(6), y[:6], 3)
    assert learn_metric(space, lambda *_: np.full((30, 3), 1 / 3), hinted) is None


def test_log_evidence_grows_with_predicted_probability():
    high, medium, low = (estimate_rate(np.full(20, chance))[1] for chance in (0.9, 0.6, 0.1))
    assert high > medium > low


def test_a_metric_from_uncertain_links_resists_wrong_links(monkeypatch):
    X, y = low_variance(240)
    anchors = np.arange(3)
    scores = {}
    for min_links in (0, 10_000):  # 0: links may be treated as evidence; 10_000: never
        monkeypatch.setattr(_propagation_clustering, "_MIN_UNCERTAIN_LINKS", min_links)
        scores[min_links] = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            linked = rng.permutation(np.arange(3, 240))[:70]
            same = (y[linked, None] == y[anchors]) ^ (rng.random((70, 3)) < 0.2)
            pairs = np.stack(np.broadcast_arrays(linked[:, None], anchors), axis=-1)
            hints = Supervision.from_links(240, must=pairs[same], cannot=pairs[~same])
            model = PropagationClustering(3, error_rate="learn", learn_metric=True, random_state=0)
            model.fit(X, supervision=hints)
            scores[min_links].append(adjusted_rand_score(y, model.labels_))
    assert np.mean(scores[0]) > np.mean(scores[10_000]) + 0.05


def test_a_metric_that_is_reused_is_not_learned_again():
    X, y = low_variance(120)
    few = Supervision.from_labels([c if i < 30 else None for i, c in enumerate(y)]).to_links()
    more = Supervision.from_labels([c if i < 33 else None for i, c in enumerate(y)]).to_links()
    first = PropagationClustering(3, learn_metric=True, random_state=0).fit(X, supervision=few)
    second = (
        PropagationClustering(3, learn_metric=True, random_state=0).reuse_graph(first).reuse_metric(first)
    )
    assert second.fit(X, supervision=more).metric_ is first.metric_


def test_reusing_a_model_without_a_metric_gives_none():
    X, y = low_variance(120)
    few = Supervision.from_labels([c if i < 6 else None for i, c in enumerate(y)]).to_links()
    more = Supervision.from_labels([c if i < 33 else None for i, c in enumerate(y)]).to_links()
    first = PropagationClustering(3, learn_metric=True, random_state=0).fit(X, supervision=few)
    second = PropagationClustering(3, learn_metric=True, random_state=0).reuse_graph(first)
    assert second.fit(X, supervision=more).metric_ is not None
    assert second.reuse_metric(first).fit(X, supervision=more).metric_ is None


def test_many_columns_are_reduced_before_mixtures_are_fitted():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 50)) + 3 * y[:, None] * (np.arange(50) < 3)
    hints = sample_links(y, 40, random_state=0)
    model = PropagationClustering(2, learn_metric=True, random_state=0).fit(X, supervision=hints)
    assert model.metric_.space.n_columns == 30
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_many_links_of_large_weight_do_not_round_to_impossible():
    # Row 0 is in the class of 50 others beyond doubt, and apart from row 51.
    pairs = [(0, row) for row in range(1, 51)]
    votes = votes_of(52, must=pairs, cannot=[(0, 51)], must_weights=[10.0] * 50, cannot_weights=[10.0])
    prior = np.tile([0.98, 0.02], (52, 1))
    with np.errstate(divide="raise", invalid="raise"):
        classes, together = _propagate(votes, prior, 0.02, 0.02)
    assert np.isfinite(classes).all()
    assert (classes.argmax(axis=1) == [0] * 51 + [1]).all()
    assert together[:50].min() > 0.9
