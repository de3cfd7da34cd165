"""Slow twins of likewise.supervision, and random hints to compare them on."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from likewise.supervision import TRIPLET_ANSWERS, Supervision


def list_statements(hints):
    """Return the content of hints as plain dictionaries from a hint to its weight or value."""
    out = {
        "must": {frozenset(p): w for p, w in zip(hints.must.tolist(), hints.must_weights, strict=True)},
        "cannot": {frozenset(p): w for p, w in zip(hints.cannot.tolist(), hints.cannot_weights, strict=True)},
        "triplets": {},
        "labels": {i: hints.classes[c] for i, c in enumerate(hints.label_codes) if c >= 0},
        "bags": {},
        "bag_labels": {},
    }
    for kind in ("must_groups", "cannot_groups"):
        groups = getattr(hints, kind)
        out[kind] = {frozenset(g.tolist()): w for g, w in zip(groups, groups.weights, strict=True)}
    triplets = zip(hints.triplets.tolist(), hints.answer_words, hints.triplet_weights, strict=True)
    for (a, b, c), answer, weight in triplets:
        odd = {"AB": c, "AC": b, "BC": a, "NEITHER": None}[answer]
        out["triplets"][frozenset((a, b, c)), odd] = weight
    if hints.bags is not None:
        names = hints.bags.names
        out["bags"] = {i: names[c] for i, c in enumerate(hints.bags.codes) if c >= 0}
        out["bag_labels"] = {
            n: labels for n, labels in zip(names, hints.bags.labels, strict=True) if labels is not None
        }
    return out


def restrict(hints, rows):
    """Return the content of hints restricted to `rows` (no row twice), renumbered."""
    old = list_statements(hints)
    new = {row: k for k, row in enumerate(rows)}

    def moved(statements, least=None):
        out = {}
        for members, weight in statements.items():
            kept = frozenset(new[i] for i in members if i in new)
            if len(kept) >= (least or len(members)):
                out[kept] = max(weight, out.get(kept, 0.0))
        return out

    out = {
        "must": moved(old["must"]),
        "cannot": moved(old["cannot"]),
        "must_groups": moved(old["must_groups"], least=2),
        "cannot_groups": moved(old["cannot_groups"], least=2),
        "triplets": {
            (frozenset(new[i] for i in members), None if odd is None else new[odd]): weight
            for (members, odd), weight in old["triplets"].items()
            if members <= new.keys()
        },
        "labels": {new[i]: label for i, label in old["labels"].items() if i in new},
        "bags": {new[i]: bag for i, bag in old["bags"].items() if i in new},
    }
    left = set(out["bags"].values())
    out["bag_labels"] = {bag: labels for bag, labels in old["bag_labels"].items() if bag in left}
    return out


def pairs_of(hints, kind):
    """Return all stated pairs of a kind, including the pairs of the groups."""
    pairs = {tuple(p) for p in getattr(hints, kind).tolist()}
    for group in getattr(hints, f"{kind}_groups"):
        pairs |= set(combinations(group.tolist(), 2))
    return pairs


def together(hints):
    """Return an n x n mask of rows that must-links connect (Warshall's algorithm)."""
    joined = np.eye(hints.n_samples, dtype=bool)
    for i, j in pairs_of(hints, "must"):
        joined[i, j] = joined[j, i] = True
    for k in range(hints.n_samples):
        joined |= joined[:, [k]] & joined[[k], :]
    return joined


def apart(hints):
    """Return an n x n mask of rows whose components have a cannot-link."""
    joined = together(hints)
    stated = np.zeros_like(joined)
    for i, j in pairs_of(hints, "cannot"):
        stated[i, j] = stated[j, i] = True
    return (joined.astype(int) @ stated @ joined) > 0


def coherence(must, cannot, X):
    """Return the fraction of must/cannot pairs without overlap in projection (Davidson et al. 2006)."""

    def overlap(a, b):
        start, end = X[b[0]], X[b[1]]
        length = np.linalg.norm(end - start)
        if length == 0:
            return 0.0
        at = sorted((X[i] - start) @ (end - start) / length for i in a)
        return max(min(at[1], length) - max(at[0], 0.0), 0.0) / length

    free = [overlap(m, c) < 1e-9 and overlap(c, m) < 1e-9 for m in must for c in cannot]
    return np.mean(free) if free else None


def bag_relation(first, second, more_clusters_than_classes):
    """Return the relation of two rows by the label sets of their bags (table of Pei and Fern 2014)."""
    if first is None or second is None:
        return "unknown"
    if not first & second:
        return "cannot"
    same_single = len(first) == 1 and first == second
    return "must" if same_single and not more_clusters_than_classes else "unknown"


# ---------------------------------------------------------------------- drawn hints

WEIGHTS = st.sampled_from([0.1, 0.5, 1.0, 2.0, 1 / 3])
NAMES = st.sampled_from(["wren", "owl", "thrush", "007", "7", 'é,"\n', " "])


@st.composite
def drawn_links(draw, n):
    rows = st.integers(0, n - 1)
    pair = st.lists(rows, min_size=2, max_size=2, unique=True)
    group = st.lists(rows, min_size=2, max_size=n, unique=True)
    given = {}
    for kind, member, most in (("must", pair, 6), ("cannot", pair, 6)):
        given[kind] = draw(st.lists(member, max_size=most))
        given[f"{kind}_weights"] = draw(
            st.lists(WEIGHTS, min_size=len(given[kind]), max_size=len(given[kind]))
        )
        groups = draw(st.lists(group, max_size=2))
        given[f"{kind}_groups"] = groups
        given[f"{kind}_group_weights"] = draw(st.lists(WEIGHTS, min_size=len(groups), max_size=len(groups)))
    return Supervision.from_links(n, **given)


@st.composite
def drawn_triplets(draw, n):
    rows = st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True)
    triplets = draw(st.lists(rows, max_size=5))
    each = {"min_size": len(triplets), "max_size": len(triplets)}
    answers = draw(st.lists(st.sampled_from(TRIPLET_ANSWERS), **each))
    return Supervision.from_triplets(n, triplets, answers, weights=draw(st.lists(WEIGHTS, **each)))


@st.composite
def drawn_labels(draw, n, values=NAMES):
    return Supervision.from_labels(draw(st.lists(st.none() | values, min_size=n, max_size=n)))


@st.composite
def drawn_bags(draw, n, values=NAMES):
    bags = draw(st.lists(st.none() | st.sampled_from(["r1", "r2", "r3", "04"]), min_size=n, max_size=n))
    labels = st.none() | st.frozensets(values, min_size=1, max_size=3)
    return Supervision.from_bags(bags, {bag: draw(labels) for bag in set(bags) - {None}})


@st.composite
def drawn_hints(draw, n=None):
    """Draw hints of any kinds for a few rows."""
    n = draw(st.integers(2, 8)) if n is None else n
    hints = Supervision.empty(n)
    if draw(st.booleans()):
        hints |= draw(drawn_links(n))
    if n >= 3 and draw(st.booleans()):
        hints |= draw(drawn_triplets(n))
    if draw(st.booleans()):
        hints |= draw(drawn_labels(n))
    if draw(st.booleans()):
        hints |= draw(drawn_bags(n))
    return hints
