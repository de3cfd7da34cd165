"""The class assigned to each cluster."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise import Supervision
from likewise.spectral._bag_spectral import BagMatrices, compute_profile, name_clusters


def make_bags(bags, bag_labels):
    return BagMatrices.from_hints(Supervision.from_bags(bags, bag_labels))


def test_a_class_that_always_occurs_with_another_names_a_cluster():
    # Every bag with an L has an E; E has a separate cluster, so the other cluster must be L.
    bags = ["one", "one", "two", "two", "three"]
    known = make_bags(bags, {"one": ["E", "L"], "two": ["E", "L"], "three": ["E"]})
    names = name_clusters(known, np.array([0, 1, 0, 1, 0]), 2)
    assert [known.sets.classes[c] for c in names] == ["E", "L"]


def test_a_cluster_without_labelled_bags_has_no_name():
    known = make_bags(["a", "a", "b"], {"a": ["wren"]})
    assert name_clusters(known, np.array([0, 0, 1]), 3).tolist() == [0, -1, -1]
    assert name_clusters(make_bags(["a", "a", "b"], {}), np.array([0, 0, 1]), 2).tolist() == [-1, -1]


def test_profiles_favour_the_name_and_sum_to_one():
    known = make_bags(["a", "a", "b", "b"], {"a": ["owl", "wren"], "b": ["owl", "wren"]})
    labels = np.array([0, 1, 0, 1])
    names = name_clusters(known, labels, 2)
    profile = compute_profile(known, labels, 2, names)
    assert sorted(names) == [0, 1]
    assert profile.argmax(axis=1).tolist() == names.tolist()
    np.testing.assert_allclose(profile.sum(axis=1), 1.0)


def objective(bags, bag_labels, labels, names, classes):
    """Number of rows with a label of their bag, plus number of bag labels that some row of the bag has."""
    of_row = [None if names[k] < 0 else classes[names[k]] for k in labels]
    rows = sum(name in bag_labels.get(bag, ()) for bag, name in zip(bags, of_row, strict=True))
    carried = sum(
        any(name == label for other, name in zip(bags, of_row, strict=True) if other == bag)
        for bag, some in bag_labels.items()
        for label in some
    )
    return rows + carried


@given(st.integers(0, 10_000))
def test_no_single_change_of_name_improves_the_objective(seed):
    rng = np.random.default_rng(seed)
    bags = rng.integers(0, 5, 14).tolist()
    bag_labels = {b: rng.choice(list("abc"), rng.integers(1, 4), replace=False).tolist() for b in set(bags)}
    labels = rng.integers(0, 4, 14)
    known = make_bags(bags, bag_labels)
    classes = known.sets.classes
    names = name_clusters(known, labels, 4)
    best = objective(bags, bag_labels, labels, names, classes)
    for cluster in set(labels.tolist()):
        for other in range(len(classes)):
            changed = names.copy()
            changed[cluster] = other
            assert objective(bags, bag_labels, labels, changed, classes) <= best
