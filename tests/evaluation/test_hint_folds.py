"""Folds over hints: held-out hints, training hints and implied hints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.evaluation import HintKFold
from likewise.evaluation._hint_folds import NEITHER
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision, sample_links, sample_triplets

Y = np.repeat([0, 1, 2], 20)


def folds(hints, n=5, seed=0):
    return list(HintKFold(n, random_state=seed).split(hints))


def test_every_hint_is_held_out_once_and_trains_otherwise():
    hints = sample_links(Y, 43, random_state=0) | sample_triplets(Y, 31, random_state=0)
    for part in (hints.must, hints.cannot, hints.triplets):
        assert len(part) > 5
    out = [len(hints.must) - len(f.train.must) for f in folds(hints)]
    assert sum(out) == len(hints.must)
    assert max(out) - min(out) <= 1
    joined = Supervision.empty(60)
    for fold in folds(hints):
        joined |= fold.train
        n_out = len(hints.must) + len(hints.cannot) + len(hints.triplets)
        n_out -= len(fold.train.must) + len(fold.train.cannot) + len(fold.train.triplets)
        assert n_out == fold.n_scored + fold.n_implied
        assert n_out in (14, 15)
        n_neither = (hints.answers == NEITHER).sum() - (fold.train.answers == NEITHER).sum()
        assert abs(n_neither - (hints.answers == NEITHER).sum() / 5) < 1
    assert joined == hints


def test_weights_groups_and_bags_are_kept():
    hints = Supervision.from_links(
        8,
        must=[(0, 1), (2, 3)],
        cannot=[(0, 2), (4, 6)],
        must_weights=[2, 3],
        cannot_weights=[4, 5],
        must_groups=[[4, 5]],
        cannot_groups=[[6, 7]],
        must_group_weights=[7],
    ) | Supervision.from_bags(["r", None, None, None, None, None, "s", None], {"r": ["x"]})
    for fold in folds(hints, 2):
        assert next(iter(fold.train.must_groups)).tolist() == [4, 5]
        assert fold.train.must_groups.weights.tolist() == [7]
        assert next(iter(fold.train.cannot_groups)).tolist() == [6, 7]
        assert fold.train.bags is not None
        held_out = dict(zip(map(tuple, fold.pairs.tolist()), fold.pair_weights, strict=True))
        stated = {(0, 1): 2, (2, 3): 3, (0, 2): 4, (4, 6): 5}
        assert {pair: stated[pair] for pair in held_out} == held_out


def test_the_same_seed_gives_the_same_folds():
    hints = sample_links(Y, 30, random_state=0)
    assert [f.train for f in folds(hints)] == [f.train for f in folds(hints)]
    assert [f.train for f in folds(hints)] != [f.train for f in folds(hints, seed=1)]
    rng = np.random.RandomState(0)
    assert [f.train for f in HintKFold(5, random_state=rng).split(hints)] == [f.train for f in folds(hints)]


def test_links_implied_by_a_chain_are_not_scored():
    # Held out one at a time, each of the three sides of a triangle follows from the two others.
    hints = Supervision.from_links(5, must=[(0, 1), (1, 2), (0, 2)])
    assert [fold.n_scored for fold in folds(hints, 3)] == [0, 0, 0]
    hints = Supervision.from_links(5, must=[(0, 1)], cannot=[(1, 2), (0, 2)])
    by_pair = {}
    for fold in folds(hints, 3):
        held_out = "must" if not len(fold.train.must) else "cannot"
        by_pair.setdefault(held_out, []).append(fold.n_scored)
    assert by_pair == {"must": [1], "cannot": [0, 0]}


def test_a_contradicted_hint_is_decided_by_the_others():
    hints = Supervision.from_links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    for fold in folds(hints, 3):
        if not len(fold.train.cannot):
            assert fold.n_implied == 1


def test_training_triplets_imply_pairs():
    hints = Supervision.from_triplets(4, [(0, 1, 2)], "AB") | Supervision.from_links(4, must=[(0, 1)])
    for fold in folds(hints, 2):
        if len(fold.train.triplets):
            assert (fold.n_scored, fold.n_implied) == (0, 1)
        else:  # if a and b are together, AB and NEITHER are possible
            assert (fold.n_scored, fold.n_implied) == (1, 0)


def test_neither_about_the_same_components_is_implied():
    hints = Supervision.from_triplets(5, [(0, 1, 2), (0, 1, 3)], "NEITHER")
    assert [fold.n_implied for fold in folds(hints, 2)] == [0, 0]
    hints |= Supervision.from_links(5, must_groups=[[2, 3]])
    assert [fold.n_implied for fold in folds(hints, 2)] == [1, 1]


def test_neither_and_a_link_imply_the_rest():
    triplets = Supervision.from_triplets(6, [(0, 1, 2), (2, 3, 4)], "NEITHER")
    # 0 = 1 makes 0 = 1 = 2; 2 = 3 then makes 2 = 3 = 4.
    groups = Supervision.from_links(6, must_groups=[[0, 1], [2, 3]])
    hints = triplets | groups | Supervision.from_links(6, must=[(0, 4)])
    fold = next(f for f in folds(hints, 3) if not len(f.train.must))
    assert fold.n_implied == 1
    hints = triplets | Supervision.from_links(6, must=[(0, 4)], must_groups=[[0, 1]])
    fold = next(f for f in folds(hints, 3) if not len(f.train.must))
    assert fold.n_implied == 0


def test_groups_labels_and_bags_also_imply_links():
    pair = Supervision.from_links(6, cannot=[(0, 3), (1, 4)])
    for more in (
        Supervision.from_links(6, cannot_groups=[[0, 1, 3, 4]]),
        Supervision.from_bags(["r", "r", None, "s", "s", None], {"r": ["x"], "s": ["y"]}),
    ):
        assert [fold.n_implied for fold in folds(pair | more, 2)] == [1, 1]


def partitions(n):
    """Yield all partitions of n rows, as labels numbered in order of appearance."""
    found = [()]
    for _ in range(n):
        found = [(*labels, c) for labels in found for c in range(max(labels, default=-1) + 2)]
    return found


def possible_answers(hints, question):
    """Return the answers to a question in all partitions of the rows that satisfy the training hints."""
    answers = set()
    n = hints.n_samples
    for labels in partitions(n):
        if any(labels[i] != labels[j] for i, j in hints.must.tolist()):
            continue
        if any(labels[i] == labels[j] for i, j in hints.cannot.tolist()):
            continue
        answered = zip(hints.triplets.tolist(), hints.answers.tolist(), strict=True)
        if all(answer(labels, rows) == expected for rows, expected in answered):
            answers.add(answer(labels, question))
    return answers


def answer(labels, rows):
    if len(rows) == 2:
        return labels[rows[0]] == labels[rows[1]]
    a, b, c = (labels[row] for row in rows)
    if a == b != c:
        return 0
    if a == c != b:
        return 1
    return 2 if b == c != a else 3


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4))
def test_no_scored_question_follows_from_the_training_hints(seed, n_links, n_triplets):
    y = np.random.RandomState(seed).randint(0, 3, size=5)
    hints = sample_links(y, n_links, random_state=seed) | sample_triplets(y, n_triplets, random_state=seed)
    for fold in folds(hints, 2, seed):
        questions = [*fold.pairs.tolist(), *fold.triplets.tolist()]
        n_open = sum(len(possible_answers(fold.train, question)) > 1 for question in questions)
        # The closure misses consequences of several NEITHER at once, which are rare.
        simple = (fold.train.answers == NEITHER).sum() <= 1
        assert n_open == len(questions) or not simple


# ---------------------------------------------------------------------- labels


def test_held_out_labels_become_pairs_with_each_class():
    hints = Supervision.from_labels(["a", "a", "b", "b", "c", "c", None])
    seen = []
    for fold in folds(hints, 3):
        known = fold.train.label_codes >= 0
        assert known.sum() == 4
        held_out = set(np.flatnonzero(~known[:6]).tolist())
        assert all({i, j} & held_out for i, j in fold.pairs.tolist())
        assert 6 not in fold.pairs
        np.testing.assert_array_equal(fold.together, np.diff(fold.pairs // 2, axis=1)[:, 0] == 0)
        assert len({tuple(pair) for pair in fold.pairs.tolist()}) == len(fold.pairs)
        seen += sorted(held_out)
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]


def test_a_class_of_one_row_has_no_pair_within_it():
    hints = Supervision.from_labels(["a", "b", "c"])
    for fold in folds(hints, 3):
        assert not fold.together.any()


# ---------------------------------------------------------------------- invalid input


@pytest.mark.parametrize("n", [1, 0, 2.5, True, "5"])
def test_folds_must_be_a_number(n):
    with pytest.raises(ValueError, match="at least 2"):
        HintKFold(n)


def test_too_few_hints_raise_a_helpful_error():
    with pytest.raises(SupervisionError, match=r"4 pair.*into 5 folds.*fewer folds"):
        folds(Supervision.from_links(9, must=[(0, 1), (2, 3)], cannot=[(4, 5), (6, 7)]))
    with pytest.raises(SupervisionError, match="Groups of links and bags are never held out"):
        folds(Supervision.from_links(9, must_groups=[[0, 1, 2]]))


def test_hints_must_be_hints():
    with pytest.raises(SupervisionError, match="got list"):
        folds([(0, 1)])


def test_repr():
    assert repr(HintKFold(3, random_state=1)) == "HintKFold(3, random_state=1)"
