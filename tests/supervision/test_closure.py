import numpy as np
import pytest
from hypothesis import given

from likewise import Supervision
from likewise.exceptions import InconsistentSupervisionError, SupervisionError
from reference.supervision import apart, drawn_hints, pairs_of, together

CHAIN = Supervision.from_links(8, must=[(0, 3), (3, 5), (6, 7)], cannot=[(5, 1), (1, 6)])


def test_components_and_edges_by_hand():
    closed = CHAIN.closure()
    assert closed.component.tolist() == [0, 1, 2, 0, 3, 0, 4, 4]
    assert closed.sizes.tolist() == [3, 1, 1, 1, 2]
    assert closed.cannot.tolist() == [[0, 1], [1, 4]]
    assert [rows.tolist() for rows in closed.components()] == [[0, 3, 5], [6, 7]]
    assert [len(rows) for rows in closed.components(min_size=1)] == [3, 1, 1, 1, 2]
    assert closed.n_components == 5
    assert len(closed.conflicts) == 0


def test_relations_by_hand():
    stated = CHAIN.relation(3, 0)
    assert (stated.kind, stated.stated, stated.reason) == ("must", True, "3 = 0")
    inferred = CHAIN.relation(0, 5)
    assert (inferred.kind, inferred.stated, inferred.reason) == ("must", False, "0 = 3 = 5")
    broken = CHAIN.relation(7, 1)
    assert (broken.kind, broken.stated, broken.reason) == ("cannot", False, "7 = 6 ≠ 1")
    assert broken.steps == ((7, 6, "must"), (6, 1, "cannot"))
    assert CHAIN.relation(1, 5).stated
    nothing = CHAIN.relation(0, 7)  # both differ from the same row, which implies nothing
    assert (nothing.kind, nothing.steps, nothing.reason) == (
        "unknown",
        (),
        "their relation does not follow from the links",
    )


def test_groups_imply_links():
    hints = Supervision.from_links(7, must_groups=[[0, 1, 2]], cannot_groups=[[2, 3, 4]], must=[(4, 5)])
    assert hints.relation(1, 2).stated
    assert hints.relation(3, 4).stated
    assert hints.relation(3, 4).reason == "3 ≠ 4"
    assert hints.relation(1, 5).reason == "1 = 0 = 2 ≠ 4 = 5"
    assert [g.tolist() for g in hints.closure().cannot_groups] == [[0, 1, 2]]
    assert hints.relation(0, 6).kind == "unknown"


def test_a_stated_cannot_link_is_its_own_reason_even_beside_another():
    hints = Supervision.from_links(4, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    assert hints.relation(1, 3).reason == "1 ≠ 3"
    assert hints.relation(1, 3).stated


def test_a_contradiction_shows_the_chain():
    hints = Supervision.from_links(6, must=[(0, 3), (3, 5)], cannot=[(5, 0), (1, 2), (0, 3)])
    with pytest.raises(InconsistentSupervisionError) as error:
        hints.closure()
    assert "rows 0 and 3 are cannot-linked, but must-links connect them through 0 – 3." in str(error.value)
    assert "(There is 1 more contradiction.)" in str(error.value)
    dropped = hints.closure(on_conflict="drop")
    assert dropped.conflicts.tolist() == [[0, 3], [0, 5]]
    assert dropped.cannot.tolist() == [[1, 2]]
    assert hints.closure(on_conflict="keep").cannot.tolist() == [[0, 0], [1, 2]]
    assert hints.drop_conflicts().cannot.tolist() == [[1, 2]]
    assert hints.drop_conflicts().closure().conflicts.tolist() == []
    assert hints.relation(0, 5).kind == "must"  # must-links take precedence


def test_the_chain_in_a_contradiction_is_the_shortest():
    hints = Supervision.from_links(6, must=[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)], cannot=[(0, 3)])
    with pytest.raises(InconsistentSupervisionError, match="through 0 – 4 – 3"):
        hints.closure()


def test_a_link_given_twice_with_different_answers():
    with pytest.raises(InconsistentSupervisionError, match="through 0 – 1"):
        Supervision.from_links(3, must=[(0, 1)], cannot=[(1, 0)]).closure()


def test_a_contradiction_inside_a_cannot_group():
    hints = Supervision.from_links(5, must=[(0, 1), (1, 2)], cannot_groups=[[0, 2, 3]])
    with pytest.raises(InconsistentSupervisionError, match="through 0 – 1 – 2"):
        hints.closure()
    assert [g.tolist() for g in hints.closure("drop").cannot_groups] == [[0, 1]]
    assert hints.closure("keep").cannot.tolist() == [[0, 0]]
    assert [g.tolist() for g in hints.drop_conflicts().cannot_groups] == [[0, 3]]


def test_bad_questions():
    with pytest.raises(ValueError, match="on_conflict must be one of"):
        CHAIN.closure(on_conflict="ignore")
    with pytest.raises(SupervisionError, match="names row 8"):
        CHAIN.relation(0, 8)
    with pytest.raises(SupervisionError, match="names row -1"):
        CHAIN.relation(-1, 2)
    with pytest.raises(SupervisionError, match="row 2 twice"):
        CHAIN.relation(2, 2)
    with pytest.raises(SupervisionError, match="integer"):
        CHAIN.relation(0, 1.5)
    with pytest.raises(InconsistentSupervisionError, match="no chain of must-links joins rows 0 and 1"):
        CHAIN.closure().path(0, 1)


@given(drawn_hints())
def test_closure_equals_the_brute_force(hints):
    joined, kept_apart = together(hints), apart(hints)
    closed = hints.closure(on_conflict="keep")
    component = closed.component
    assert (joined == (component[:, None] == component)).all()
    first = [int(np.flatnonzero(component == c)[0]) for c in range(closed.n_components)]
    assert first == sorted(first)
    assert closed.sizes.tolist() == np.bincount(component).tolist()

    edges = {tuple(e) for e in closed.cannot.tolist()}
    for group in closed.cannot_groups:
        edges |= {(c, d) for c in group.tolist() for d in group.tolist() if c < d}
    n = hints.n_samples
    wanted = {
        tuple(sorted(component[[i, j]].tolist())) for i in range(n) for j in range(n) if kept_apart[i, j]
    }
    assert edges == wanted
    contradicted = {(i, j) for i, j in pairs_of(hints, "cannot") if joined[i, j]}
    assert bool(contradicted) == (len(closed.conflicts) > 0)
    assert {tuple(p) for p in closed.conflicts.tolist()} <= contradicted
    clean = hints.drop_conflicts()
    assert (together(clean) == joined).all()
    assert (apart(clean) == kept_apart & ~joined).all()


@given(drawn_hints())
def test_relation_equals_the_brute_force_and_its_steps_hold(hints):
    joined, kept_apart = together(hints), apart(hints)
    stated = {kind: pairs_of(hints, kind) for kind in ("must", "cannot")}
    for i in range(hints.n_samples):
        for j in range(hints.n_samples):
            if i == j:
                continue
            relation = hints.relation(i, j)
            assert relation.kind == ("must" if joined[i, j] else "cannot" if kept_apart[i, j] else "unknown")
            if relation.kind == "unknown":
                continue
            ends = [i, *(b for _, b, _ in relation.steps)]
            assert ends[-1] == j
            assert [a for a, _, _ in relation.steps] == ends[:-1]
            assert all((min(a, b), max(a, b)) in stated[kind] for a, b, kind in relation.steps)
            assert sum(kind == "cannot" for *_, kind in relation.steps) == (relation.kind == "cannot")
            assert relation.stated == ((min(i, j), max(i, j)) in stated[relation.kind])


@pytest.mark.long
def test_a_million_rows_and_links():
    n = 1_000_000
    rows = np.arange(n)
    # Chains of ten rows; each chain's last row is apart from the next chain's first.
    must = np.column_stack([rows[:-1], rows[1:]])[rows[:-1] % 10 != 9]
    cannot = np.column_stack([rows[9:-1:10], rows[10::10]])
    hints = Supervision.from_links(n, must=must, cannot=cannot)
    closed = hints.closure()
    assert closed.n_components == n // 10
    assert (closed.component == rows // 10).all()
    assert (closed.cannot == np.column_stack([np.arange(n // 10 - 1), np.arange(1, n // 10)])).all()
    assert hints.relation(500_000, 500_011).reason.count("=") == 10
    assert len(hints[::2].must) == 0


def test_a_chain_of_a_hundred_thousand_does_not_overflow():
    rows = np.arange(100_000)
    closed = Supervision.from_links(len(rows), must=np.column_stack([rows[:-1], rows[1:]])).closure()
    assert closed.n_components == 1
    assert len(closed.path(0, len(rows) - 1)) == len(rows)


@pytest.mark.long
def test_one_group_of_a_million_rows_takes_linear_space():
    hints = Supervision.from_links(1_000_000, must_groups=[np.arange(1_000_000)])
    assert hints.closure().n_components == 1
    assert hints.must_groups.n_pairs == 1_000_000 * 999_999 // 2
