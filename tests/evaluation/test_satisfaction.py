"""Satisfied and violated hints, and the selection of rows for scores."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.evaluation import link_satisfaction, scores, triplet_satisfaction
from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision
from reference import evaluation as twin

ANSWERS = ("AB", "AC", "BC", "NEITHER")


def groups(*lists):
    sizes = [len(members) for members in lists]
    return SimpleNamespace(
        indptr=np.cumsum([0, *sizes]),
        members=np.array([i for members in lists for i in members], dtype=np.int64),
        weights=np.ones(len(lists)),
    )


def hints(n, *, must=(), cannot=(), must_groups=(), cannot_groups=(), triplets=(), answers=()):
    touched = np.zeros(n, dtype=bool)
    for named in (*must, *cannot, *must_groups, *cannot_groups, *triplets):
        touched[list(named)] = True
    return SimpleNamespace(
        shape=(n,),
        touched=touched,
        must=np.array(must, dtype=np.int64).reshape(-1, 2),
        cannot=np.array(cannot, dtype=np.int64).reshape(-1, 2),
        must_groups=groups(*must_groups),
        cannot_groups=groups(*cannot_groups),
        triplets=np.array(triplets, dtype=np.int64).reshape(-1, 3),
        answers=np.array([ANSWERS.index(a) for a in answers], dtype=np.int8),
    )


LABELS = ["x", "x", "y", "y", "z"]


def test_links_by_hand():
    got = link_satisfaction(LABELS, hints(5, must=[(0, 1), (1, 2)], cannot=[(2, 3), (0, 4), (1, 4)]))
    assert (got.n_must, got.n_must_kept, got.n_cannot, got.n_cannot_kept) == (2, 1, 3, 2)
    assert got.violated_must.tolist() == [[1, 2]]
    assert got.violated_cannot.tolist() == [[2, 3]]
    assert got.share == 3 / 5
    assert str(got) == "1 of 2 must-links and 2 of 3 cannot-links kept (60.0%)"


def test_groups_by_hand():
    # {0,1,2,3} has labels x x y y: 2 of its 6 pairs together. {2,3} is whole.
    # {0,2,4} is all apart: 3 of 3. {1,2,3} has y twice: 2 of 3 pairs apart.
    got = link_satisfaction(
        LABELS, hints(5, must_groups=[(0, 1, 2, 3), (2, 3)], cannot_groups=[(0, 2, 4), (1, 2, 3)])
    )
    assert (got.n_must, got.n_must_kept, got.n_cannot, got.n_cannot_kept) == (7, 3, 6, 5)
    assert (got.n_must_groups, got.n_violated_must_groups) == (2, 1)
    assert (got.n_cannot_groups, got.n_violated_cannot_groups) == (2, 1)
    assert len(got.violated_must) == len(got.violated_cannot) == 0
    assert got.share == 8 / 13


def test_no_links_are_all_satisfied():
    got = link_satisfaction(LABELS, hints(5))
    assert (got.n_must, got.n_cannot, got.share) == (0, 0, 1.0)
    assert got.violated_must.shape == got.violated_cannot.shape == (0, 2)
    assert triplet_satisfaction(LABELS, hints(5)).share == 1.0


def test_a_group_of_a_million_rows_is_counted():
    n = 1_000_000
    labels = np.arange(n) % 2
    got = link_satisfaction(labels, hints(n, must_groups=[range(n)]))
    assert got.n_must == n * (n - 1) // 2
    assert got.n_must_kept == 500_000 * 499_999


@st.composite
def problems(draw):
    n = draw(st.integers(3, 12))
    row = st.integers(0, n - 1)
    pair = st.lists(row, min_size=2, max_size=2, unique=True).map(tuple)
    triplet = st.lists(row, min_size=3, max_size=3, unique=True).map(tuple)
    group = st.lists(row, min_size=2, max_size=n, unique=True).map(tuple)
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    triplets = draw(st.lists(triplet, max_size=6))
    k = len(triplets)
    answers = draw(st.lists(st.sampled_from(ANSWERS), min_size=k, max_size=k))
    stated = {
        "must": draw(st.lists(pair, max_size=6)),
        "cannot": draw(st.lists(pair, max_size=6)),
        "must_groups": draw(st.lists(group, max_size=4)),
        "cannot_groups": draw(st.lists(group, max_size=4)),
    }
    return labels, stated, triplets, answers


@given(problems())
def test_links_against_enumeration(problem):
    labels, stated, *_ = problem
    got = link_satisfaction(labels, hints(len(labels), **stated))
    must = stated["must"] + twin.links_of_groups(stated["must_groups"])
    cannot = stated["cannot"] + twin.links_of_groups(stated["cannot_groups"])
    assert (got.n_must, got.n_cannot) == (len(must), len(cannot))
    assert got.n_must_kept == sum(labels[i] == labels[j] for i, j in must)
    assert got.n_cannot_kept == sum(labels[i] != labels[j] for i, j in cannot)
    assert got.n_violated_must_groups == sum(len({labels[i] for i in g}) > 1 for g in stated["must_groups"])
    assert got.n_violated_cannot_groups == sum(
        len({labels[i] for i in g}) < len(g) for g in stated["cannot_groups"]
    )
    assert [tuple(p) for p in got.violated_must] == [
        (i, j) for i, j in stated["must"] if labels[i] != labels[j]
    ]


@given(problems())
def test_triplets_against_the_definition(problem):
    labels, _, triplets, answers = problem
    got = triplet_satisfaction(labels, hints(len(labels), triplets=triplets, answers=answers))
    kept = [twin.triplet_kept(labels, t, a) for t, a in zip(triplets, answers, strict=True)]
    assert (got.n_triplets, got.n_kept) == (len(kept), sum(kept))
    assert got.violated.tolist() == [t for t, k in enumerate(kept) if not k]


@pytest.mark.parametrize(
    ("triplet", "true_answers"),
    [
        ((0, 1, 2), {"AB"}),  # x x y
        ((0, 2, 1), {"AC"}),
        ((2, 0, 1), {"BC"}),
        ((0, 2, 4), {"NEITHER"}),  # x y z
    ],
)
def test_triplets_by_hand(triplet, true_answers):
    for answer in ANSWERS:
        got = triplet_satisfaction(LABELS, hints(5, triplets=[triplet], answers=[answer]))
        assert got.n_kept == (answer in true_answers)


def test_neither_is_satisfied_by_three_equal_labels():
    got = triplet_satisfaction([5, 5, 5], hints(3, triplets=[(0, 1, 2)] * 4, answers=ANSWERS))
    assert got.violated.tolist() == [0, 1, 2]
    assert str(got) == "1 of 4 triplets kept (25.0%)"


def test_links_and_groups_together():
    bundle = Supervision.from_links(
        5, must=[(2, 1)], cannot=[(2, 3)], must_groups=[(0, 1, 2)], cannot_groups=[(0, 2, 4)]
    )
    got = link_satisfaction(LABELS, bundle)
    # must: (1,2) violated, group x x y keeps 1 of 3; cannot: (2,3) violated, group x y z keeps all 3.
    assert (got.n_must, got.n_must_kept, got.n_cannot, got.n_cannot_kept) == (4, 1, 4, 3)
    assert (got.violated_must.tolist(), got.violated_cannot.tolist()) == ([[1, 2]], [[2, 3]])
    assert triplet_satisfaction(LABELS, bundle).n_triplets == 0
    triplets = Supervision.from_triplets(5, [(2, 0, 1), (4, 2, 3)], ["BC", "AB"])
    got = triplet_satisfaction(LABELS, triplets)
    assert (got.n_kept, triplets.triplets[got.violated].tolist()) == (1, [[2, 3, 4]])
    assert scores(LABELS, LABELS, supervision=Supervision.from_links(5, [(0, 1)]), rows="touched").n_rows == 2


def test_scores_on_untouched_and_touched_rows():
    true, pred = [0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 1]
    given_hints = hints(6, must=[(0, 1)], cannot=[(0, 2)], must_groups=[(2, 3)])
    untouched = scores(true, pred, supervision=given_hints, rows="untouched")
    assert (untouched.n_rows, untouched.rand) == (2, 1.0)
    touched = scores(true, pred, supervision=given_hints, rows="touched")
    assert (touched.n_rows, touched.ari) == (4, 1.0)
    assert scores(true, pred, supervision=given_hints) == scores(true, pred)
    cut = [5, 4, 3, 2, 1, 0]  # the codes left after cutting need not be 0..k-1
    assert scores(cut, cut, supervision=given_hints, rows="untouched").purity == 1.0


def test_impossible_selections_of_rows_are_rejected():
    some = hints(3, must=[(0, 1)])
    with pytest.raises(ValueError, match="pass them as supervision="):
        scores([0, 0, 1], [0, 0, 1], rows="untouched")
    with pytest.raises(ValueError, match="every row is in a hint"):
        scores([0, 0], [0, 0], supervision=hints(2, must=[(0, 1)]), rows="untouched")
    with pytest.raises(ValueError, match="no row is in a hint"):
        scores([0, 0], [0, 0], supervision=hints(2), rows="touched")
    with pytest.raises(ValueError, match="'all', 'untouched', 'touched'; got 'none'"):
        scores([0, 0, 1], [0, 0, 1], supervision=some, rows="none")
    for call in (link_satisfaction, triplet_satisfaction):
        with pytest.raises(SupervisionError, match="are for 3 rows, but labels has 2"):
            call([0, 1], some)
        with pytest.raises(SupervisionError, match="got list"):
            call([0, 1], [(0, 1)])
    with pytest.raises(SupervisionError, match="are for 3 rows, but labels_true has 2"):
        scores([0, 1], [0, 1], supervision=some)
