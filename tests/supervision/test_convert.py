import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.exceptions import SupervisionError
from likewise.supervision import Supervision, bags_to_links, labels_to_links, triplets_to_links
from reference.supervision import (
    apart,
    bag_relation,
    drawn_bags,
    drawn_hints,
    drawn_labels,
    pairs_of,
    together,
)

BAGS = Supervision.from_bags(
    ["r1", "r1", "r2", "r3", "r3", "r4", None],
    {"r1": ["wren"], "r2": ["wren"], "r3": ["owl", "thrush"], "r4": None},
)


def kinds(hints):
    """What is implied of each pair of rows, by brute force."""
    return np.where(together(hints), "must", np.where(apart(hints), "cannot", "unknown"))


def test_labels_by_hand():
    links = labels_to_links(Supervision.from_labels(["b", "a", "b", None, "c", "a"]))
    assert {tuple(g.tolist()) for g in links.must_groups} == {(1, 5), (0, 2)}
    assert [g.tolist() for g in links.cannot_groups] == [[0, 1, 4]]
    assert len(links.must) == len(links.cannot) == 0
    assert links.relation(2, 5).reason == "2 = 0 ≠ 1 = 5"


def test_labels_with_more_clusters_than_classes():
    hints = Supervision.from_labels(["b", "a", "b", None])
    links = labels_to_links(hints, more_clusters_than_classes=True)
    assert links == Supervision.from_links(4, cannot=[(0, 1), (1, 2)])


def test_one_class_is_all_together():
    assert labels_to_links(Supervision.from_labels(["a", "a"])) == Supervision.from_links(
        2, must_groups=[[0, 1]]
    )
    assert labels_to_links(Supervision.from_labels(["a", None])) == Supervision.empty(2)


def test_bags_by_hand_for_as_many_clusters_as_classes():
    links = bags_to_links(BAGS)
    assert [g.tolist() for g in links.must_groups] == [[0, 1, 2]]
    assert links.cannot.tolist() == [[0, 3], [0, 4]]  # row 0 represents the wrens
    assert links.relation(2, 4).kind == "cannot"
    assert links.relation(3, 4).kind == "unknown"  # one bag, two labels
    assert links.relation(5, 0).kind == links.relation(6, 0).kind == "unknown"


def test_bags_by_hand_for_more_clusters_than_classes():
    links = bags_to_links(BAGS, more_clusters_than_classes=True)
    assert len(links.must) == len(links.must_groups) == 0
    assert links.cannot.tolist() == [[i, j] for i in range(3) for j in (3, 4)]


def test_triplets_by_hand():
    hints = Supervision.from_triplets(
        7, [(0, 1, 2), (1, 3, 4), (4, 5, 6), (0, 5, 6)], ["AB", "AC", "BC", "NEITHER"], weights=[1, 2, 3, 4]
    )
    links = triplets_to_links(hints)
    assert links.must.tolist() == [[0, 1], [1, 4], [5, 6]]
    assert links.must_weights.tolist() == [1, 2, 3]
    assert links.cannot.tolist() == [[0, 2], [1, 2], [1, 3], [3, 4], [4, 5], [4, 6]]
    assert links.cannot_weights.tolist() == [1, 1, 2, 2, 3, 3]


def test_to_links_joins_all_kinds_with_the_stated_links():
    stated = Supervision.from_links(7, must=[(5, 6)])
    triplets = Supervision.from_triplets(7, [(0, 5, 6)], "BC")
    labels = Supervision.from_labels(["x", None, None, "y", None, None, None])
    links = (stated | BAGS | triplets | labels).to_links()
    assert links.kinds == {"links"}
    assert links == stated | bags_to_links(BAGS) | triplets_to_links(triplets) | labels_to_links(labels)
    assert Supervision.empty(3).to_links() == Supervision.empty(3)


def test_too_many_pairs_are_counted_not_built():
    n = 3000
    hints = Supervision.from_labels(np.arange(n) % 3)
    assert labels_to_links(hints).cannot_groups.n_pairs == 3
    with pytest.raises(SupervisionError, match=r"the labels imply 3000000 cannot-links .* limit of 1000000"):
        labels_to_links(hints, more_clusters_than_classes=True)
    assert len(labels_to_links(hints[:30], more_clusters_than_classes=True, limit=300).cannot) == 300
    sets = {b: [b, b + 1] for b in range(n)}
    with pytest.raises(SupervisionError, match=r"the bags imply 4495501 cannot-links.*supports bags"):
        bags_to_links(Supervision.from_bags(np.arange(n), sets))


@pytest.mark.long
def test_a_million_labels_stay_linear():
    links = labels_to_links(Supervision.from_labels(np.arange(1_000_000) % 10))
    assert len(links.must_groups.members) == 1_000_000
    assert links.closure().n_components == 10


@given(st.integers(2, 7).flatmap(drawn_labels), st.booleans())
def test_labels_say_the_same_as_links(hints, more):
    found = kinds(labels_to_links(hints, more_clusters_than_classes=more))
    code = hints.label_codes
    for i in range(len(hints)):
        for j in range(len(hints)):
            known = i != j and min(code[i], code[j]) >= 0
            alike = "unknown" if more else "must"
            wanted = (alike if code[i] == code[j] else "cannot") if known else "unknown"
            assert i == j or found[i, j] == wanted


@given(st.integers(2, 7).flatmap(drawn_bags), st.booleans())
def test_bags_imply_the_table_and_its_closure(hints, more):
    links = bags_to_links(hints, more_clusters_than_classes=more)
    n = len(hints)
    bags = hints.bags
    sets = [None] * n if bags is None else [bags.labels[c] if c >= 0 else None for c in bags.codes]
    pairs = [(i, j, bag_relation(sets[i], sets[j], more)) for i in range(n) for j in range(i)]
    table = Supervision.from_links(
        n,
        must=[(i, j) for i, j, kind in pairs if kind == "must"],
        cannot=[(i, j) for i, j, kind in pairs if kind == "cannot"],
    )
    assert (kinds(links) == kinds(table)).all()
    if more:
        assert pairs_of(links, "cannot") == pairs_of(table, "cannot")


@given(drawn_hints())
def test_converting_twice_changes_nothing(hints):
    links = hints.to_links()
    assert links.to_links() == links
    assert hints.select_kinds("links") | links == links
