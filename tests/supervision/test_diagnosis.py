from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from likewise import Supervision
from likewise.exceptions import SupervisionError
from reference.supervision import apart, coherence, drawn_hints, drawn_links, pairs_of, together

X = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [5, 0], [6, 0]])


def test_counts_by_hand():
    hints = (
        Supervision.from_links(
            10,
            must=[(0, 1), (1, 2), (0, 2)],
            cannot=[(0, 3), (2, 3), (1, 2), (3, 4)],
            cannot_groups=[[3, 4, 5]],
        )
        | Supervision.from_triplets(10, [(0, 1, 2), (0, 1, 2), (6, 7, 8)], ["AB", "AC", "NEITHER"])
        | Supervision.from_bags(["r"] * 2 + ["s"] * 2 + [None] * 6, {"r": ["x"]})
        | Supervision.from_labels(["a"] + [None] * 9)
    )
    found = hints.diagnose()
    assert (found.n_must, found.n_cannot, found.n_must_groups, found.n_cannot_groups) == (3, 4, 0, 1)
    assert found.n_group_pairs == 3
    assert found.coverage == 0.9
    assert found.component_sizes == (3,)
    assert found.n_conflicts == 1
    assert found.n_triplets == 3
    assert found.answers == {"AB": 1, "AC": 1, "BC": 0, "NEITHER": 1}
    assert found.n_triplet_conflicts == 1
    assert (found.n_bags, found.n_labelled_bags, found.n_labels, found.n_classes) == (2, 1, 1, 1)
    assert found.n_redundant_must == 1
    assert found.n_redundant_cannot == 2  # 2-3 repeats 0-3, and the group contains 3-4
    assert found.n_cannot_only == 3
    assert found.min_clusters == 3
    assert found.informativeness is None
    assert found.coherence is None


def test_describe_is_readable():
    hints = Supervision.from_links(6, must_groups=[[0, 1, 2]], cannot=[(2, 3)])
    hints |= Supervision.from_triplets(6, [(3, 4, 5)], "AB") | Supervision.from_bags([1] * 6)
    hints |= Supervision.from_labels(["a", *[None] * 5])
    assert hints.describe(X, labels=[0] * 6) == (
        "6 rows; 6 of them have hints (100%)\n"
        "links       0 must, 1 cannot, 1 must group(s), 0 cannot group(s) for 3 more\n"
        "components  1 of two rows or more, the largest of 3; 1 row(s) in cannot-links only\n"
        "conflicts   none\n"
        "redundant   0 of the must-links, 0 of the cannot-links\n"
        "triplets    1: 1 AB\n"
        "bags        1, 0 of them labelled\n"
        "labels      1 of 1 class(es)\n"
        "clusters    at least 2\n"
        "links are   25% informative"
    )
    assert Supervision.empty(3).describe() == "3 rows; 0 of them have hints (0%)"
    twice = Supervision.from_triplets(3, [(0, 1, 2)] * 2, ["AB", "AC"])
    assert "2: 1 AB, 1 AC; 1 with two answers" in twice.describe()


def test_informativeness_counts_what_a_clustering_gets_wrong():
    hints = Supervision.from_links(6, must=[(0, 1), (0, 4)], cannot=[(0, 2), (0, 5)])
    assert hints.diagnose(labels=[0, 0, 0, 1, 1, 1]).informativeness == 0.5
    assert hints.diagnose(labels=list("aabccd")).informativeness == 0.25
    groups = Supervision.from_links(6, must_groups=[[0, 1, 2, 3]], cannot_groups=[[3, 4, 5]])
    # Of 6 must pairs 0-3, 1-3 and 2-3 are violated; of 3 cannot pairs all.
    assert groups.diagnose(labels=[0, 0, 0, 1, 1, 1]).informativeness == 6 / 9
    assert Supervision.empty(6).diagnose(labels=[0] * 6).informativeness is None


def test_coherence_by_hand():
    same_way = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)])  # parallel, side by side
    assert same_way.diagnose(X).coherence == 0.0
    at_right_angles = Supervision.from_links(6, must=[(0, 1)], cannot=[(0, 2)])
    assert at_right_angles.diagnose(X).coherence == 1.0
    far_along = Supervision.from_links(6, must=[(0, 1)], cannot=[(4, 5)])  # one line, no overlap
    assert far_along.diagnose(X).coherence == 1.0
    end_to_end = Supervision.from_links(6, must=[(0, 1)], cannot=[(1, 4)])
    assert end_to_end.diagnose(X).coherence == 1.0
    slanted = np.array(
        [[0, 0], [1, 0], [0.5, 5], [3, 6], [0, 0], [0, 0]]
    )  # only 2-3 falls on 0-1, not 0-1 on 2-3
    assert Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)]).diagnose(slanted).coherence == 0.0
    assert Supervision.from_links(6, must=[(2, 3)], cannot=[(0, 1)]).diagnose(slanted).coherence == 0.0
    both = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3), (0, 2)])
    assert both.diagnose(X.tolist()).coherence == 0.5
    assert both.diagnose(pd.DataFrame(X)).coherence == 0.5
    assert Supervision.from_links(6, must=[(0, 1)]).diagnose(X).coherence is None
    same_point = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)])
    assert same_point.diagnose(np.array([[0.0], [1], [0.5], [0.5], [0], [0]])).coherence == 1.0


@pytest.mark.long
def test_coherence_of_many_links_is_estimated_and_repeats():
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(3000, 3))
    pairs = rng.permutation(3000).reshape(-1, 2)
    hints = Supervision.from_links(3000, must=pairs[:600], cannot=pairs[600:])
    assert len(hints.must) * len(hints.cannot) == 540_000
    every = hints.diagnose(rows).coherence
    more = rng.permutation(3000).reshape(-1, 2)
    both = hints | Supervision.from_links(3000, cannot=more)
    estimate = both.diagnose(rows).coherence
    assert estimate == both.diagnose(rows).coherence
    assert abs(estimate - every) < 0.05


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"X": X[:4]}, r"shape \(6, n_features\), got \(4, 2\)"),
        ({"X": X[:, 0]}, "n_features"),
        ({"X": csr_array(X)}, "dense table"),
        ({"X": np.where(X > 4, np.nan, X)}, "not finite"),
        ({"labels": [0, 1]}, "each of 6 rows, got 2"),
        ({"labels": [0, 1, None, 1, 1, 1]}, "each of 6 rows"),
    ],
)
def test_data_for_other_rows_are_refused(given, text):
    hints = Supervision.from_links(6, must=[(0, 1)], cannot=[(2, 3)])
    with pytest.raises(SupervisionError, match=text):
        hints.diagnose(**given)


@given(st.data())
def test_coherence_and_informativeness_equal_their_twins(data):
    n = data.draw(st.integers(2, 7))
    hints = data.draw(drawn_links(n))
    points = st.lists(st.integers(-3, 3), min_size=2, max_size=2)
    rows = np.array(data.draw(st.lists(points, min_size=n, max_size=n)), dtype=float)
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    found = hints.diagnose(rows, labels=labels)
    assert found.coherence == coherence(hints.must.tolist(), hints.cannot.tolist(), rows)
    # A pair in two groups counts twice, so the twin goes through pairs and groups one by one.
    wrong = [labels[i] != labels[j] for i, j in hints.must] + [
        labels[i] == labels[j] for i, j in hints.cannot
    ]
    wrong += [labels[i] != labels[j] for g in hints.must_groups for i, j in combinations(g, 2)]
    wrong += [labels[i] == labels[j] for g in hints.cannot_groups for i, j in combinations(g, 2)]
    assert found.informativeness == (np.mean(wrong) if wrong else None)


@given(drawn_hints())
def test_what_is_redundant_could_be_left_out(hints):
    found = hints.diagnose()
    edges = [frozenset(p) for p in hints.must.tolist()]
    edges += [frozenset(p) for p in hints.must_groups.list_star_edges().tolist()]
    joined = together(hints)
    n_components = len({tuple(row) for row in joined.tolist()})
    assert found.n_redundant_must == len(edges) - (len(hints) - n_components)
    component = joined.argmax(axis=1)
    between = [frozenset(component[[i, j]].tolist()) for i, j in hints.cannot if not joined[i, j]]
    by_group = {
        frozenset(component[[i, j]].tolist()) for g in hints.cannot_groups for i, j in combinations(g, 2)
    }
    assert found.n_redundant_cannot == len(between) - len(set(between) - by_group)
    assert found.n_conflicts == 0 or any(joined[i, j] for i, j in pairs_of(hints, "cannot"))
    assert found.n_cannot_only == sum(
        joined[i].sum() == 1 and any(i in pair for pair in pairs_of(hints, "cannot"))
        for i in range(len(hints))
    )


@given(st.integers(2, 6).flatmap(drawn_links))
def test_fewer_clusters_than_the_bound_never_do(hints):
    hints = hints.drop_conflicts()
    k = hints.diagnose().min_clusters - 1
    joined, kept_apart = together(hints), apart(hints)
    first = sorted(set(joined.argmax(axis=1).tolist()))

    def colourable(done, rest):
        if not rest:
            return True
        free = [c for c in range(k) if all(done[r] != c for r in done if kept_apart[r, rest[0]])]
        return any(colourable({**done, rest[0]: c}, rest[1:]) for c in free)

    assert not colourable({}, first)
