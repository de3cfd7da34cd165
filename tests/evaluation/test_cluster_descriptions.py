"""What is in each cluster: keywords, columns, and typical and doubtful rows."""

from math import log, sqrt

import numpy as np
import pytest
from sklearn.cluster import KMeans

from likewise.evaluation import describe_clusters


class WithProbabilities:
    """An estimator that returns given probabilities."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def predict_proba(self, X):
        return self.probabilities


def test_four_points_by_hand():
    # The means are 2 and 10. Squared distances of rows 0, 1 and 2 to them: 4 and 100, 1 and 81, 9 and 25.
    X = [[0.0], [1.0], [5.0], [10.0]]
    first, second = describe_clusters(X, [0, 0, 0, 1], feature_names=["x"], n_rows=1)
    assert (first.cluster, first.size, first.keywords) == (0, 3, ())
    assert first.typical == (1,)
    assert first.doubtful == ((2, 1),)  # (25 - 9) / (25 + 9) is less than (100 - 4) / (100 + 4)
    (column,) = first.columns
    assert (column.name, column.mean, column.mean_elsewhere) == ("x", 2.0, 10.0)
    assert column.difference == pytest.approx(-8 / sqrt((16 + 9 + 1 + 36) / 4))
    assert (second.cluster, second.size, second.typical, second.doubtful) == (1, 1, (3,), ())
    assert (second.columns[0].mean, second.columns[0].mean_elsewhere) == (10.0, 2.0)
    assert second.columns[0].difference == pytest.approx(8 / sqrt(15.5))


def test_columns_are_listed_by_difference_and_small_ones_are_not():
    # Means of y: 2 and 3, which is 0.38 standard deviations; z is constant.
    X = [[0, 0, 1, 0], [6, 4, 1, 0], [8, 0, 1, 50], [14, 6, 1, 50]]
    first, second = describe_clusters(X, [0, 0, 1, 1], feature_names=["x", "y", "z", "u"])
    assert [(each.name, each.difference) for each in first.columns] == [("u", -2.0), ("x", -8 / 5)]
    assert [(each.name, each.difference) for each in second.columns] == [("u", 2.0), ("x", 8 / 5)]
    (only,) = describe_clusters(X, [0, 0, 1, 1], feature_names=["x", "y", "z", "u"], n_columns=1)[0].columns
    assert only.name == "u"


def test_means_are_reported_in_the_units_of_values():
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    first, _ = describe_clusters(X, [0, 0, 1, 1], feature_names=["price"], values=50 + 10 * X)
    assert (first.columns[0].mean, first.columns[0].mean_elsewhere) == (40.0, 60.0)
    assert first.columns[0].difference == -2.0


def test_keywords_by_hand():
    texts = ["red car", "red car car", "red boat", "blue boat boat", "blue red"]
    labels = [0, 0, 1, 1, 1]
    # Words of the clusters: 5 and 7, so 6 on average; in all texts: red 4, car 3, boat 3, blue 2.
    weights = [
        {"red": 2 / 5 * log(1 + 6 / 4), "car": 3 / 5 * log(1 + 6 / 3)},
        {"red": 2 / 7 * log(1 + 6 / 4), "boat": 3 / 7 * log(1 + 6 / 3), "blue": 2 / 7 * log(1 + 6 / 2)},
    ]
    found = describe_clusters(np.eye(5), labels, texts=texts)
    for each, expected in zip(found, weights, strict=True):
        assert each.keywords == tuple(sorted(expected, key=expected.get, reverse=True))
    assert found[1].keywords == ("boat", "blue", "red")
    assert describe_clusters(np.eye(5), labels, texts=texts, n_keywords=1)[1].keywords == ("boat",)


def test_a_keyword_occurs_in_two_texts_unless_there_is_only_one():
    texts = ["apple apple apple pear", "pear plum", "stone"]
    found = describe_clusters(np.eye(3), [0, 0, 1], texts=texts)
    assert [each.keywords for each in found] == [("pear",), ("stone",)]


def test_gaps_and_stop_words_are_no_keywords():
    found = describe_clusters(np.eye(4), [0, 0, 1, 1], texts=["the car", None, "the", ""])
    assert [each.keywords for each in found] == [(), ()]
    found = describe_clusters(np.eye(2), [0, 1], texts=["", "..."])
    assert [each.keywords for each in found] == [(), ()]


def test_parts_of_contractions_are_no_keywords():
    texts = [
        "The card ISN'T here, they've lost it",
        "My card isn\u2019t here: we'll see, they\u2019ve lost it",
        "",
    ]
    found = describe_clusters(np.eye(3), [0, 0, 1], texts=texts)
    assert set(found[0].keywords) == {"card", "lost"}


def test_rows_with_a_negative_label_are_left_out():
    X = [[0.0], [1.0], [5.0], [10.0]]
    texts = ["wolf", "wolf", "wolf", "crow"]
    expected = describe_clusters(X, [0, 0, 0, 2], feature_names=["x"], texts=texts, n_rows=1)
    # Row 0 is far away, and its words are frequent.
    found = describe_clusters(
        [[900.0], *X],
        [-1, 0, 0, 0, 2],
        feature_names=["x"],
        texts=["crow crow crow", *texts],
        n_rows=1,
    )
    assert [each.cluster for each in found] == [0, 2]
    for one, other in zip(found, expected, strict=True):
        assert (one.size, one.keywords) == (other.size, other.keywords)
        assert one.columns == other.columns
        assert one.typical == tuple(row + 1 for row in other.typical)
        assert one.doubtful == tuple((row + 1, second) for row, second in other.doubtful)


def test_left_out_rows_do_not_change_the_weights_of_columns():
    # Without row 0, row 1 is the most typical of its cluster; with it, y would hardly count.
    X = [[0.0, 1000.0], [3.0, 0.0], [0.0, 3.0], [1.0, -3.0], [30.0, 0.0], [30.0, 1.0]]
    labels = [-1, 0, 0, 0, 1, 1]
    whole = describe_clusters(X, labels, feature_names=["x", "y"], n_rows=1)
    alone = describe_clusters(X[1:], labels[1:], feature_names=["x", "y"], n_rows=1)
    assert whole[0].typical == tuple(row + 1 for row in alone[0].typical)


def test_probabilities_of_an_estimator_say_which_rows_are_doubtful():
    X = [[0.0], [0.1], [0.2], [-0.1], [9.0], [-9.0]]
    probabilities = [[0.9, 0.1, 0.0], [1, 0, 0], [0.6, 0.0, 0.4], [0.8, 0.2, 0.0], [0, 1, 0], [0, 0, 1]]
    first, *_ = describe_clusters(X, [0, 0, 0, 0, 1, 2], estimator=WithProbabilities(probabilities), n_rows=2)
    assert first.typical == (0, 1)  # 0.05 is the mean; both are 0.05 away
    assert first.doubtful == ((2, 2), (3, 1))  # margins 0.2 and 0.6


def test_too_few_probabilities_are_ignored():
    X = [[0.0], [1.0], [5.0], [10.0]]
    for estimator in (WithProbabilities(np.ones((4, 1))), None):
        first, _ = describe_clusters(X, [0, 0, 0, 1], estimator=estimator, n_rows=1)
        assert first.doubtful == ((2, 1),)


def test_distances_of_an_estimator_are_used():
    X = np.array([[0.0], [1.0], [5.0], [10.0], [11.0]])
    model = KMeans(2, init=np.array([[0.0], [10.0]]), n_init=1).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    first, second = describe_clusters(X, model.labels_, estimator=model, n_rows=2)
    assert (first.typical, first.doubtful) == ((1, 0), ((2, 1),))
    assert (second.typical, second.doubtful) == ((3, 4), ())


def test_one_cluster_has_nothing_to_compare_with():
    assert describe_clusters([[0.0], [1.0]], [0, 0]) == []
    assert describe_clusters([[0.0], [1.0]], [-1, -1]) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": [0, 1]}, "labels has 2 entries, but X has 3 rows"),
        ({"texts": ["a"]}, "texts has 1 entries, but X has 3 rows"),
        ({"values": [[1.0]]}, "values has 1 entries, but X has 3 rows"),
        ({"feature_names": ["x", "y"]}, "got 2 feature_names for 1 columns of X"),
        ({"labels": ["cat", "dog", "dog"]}, "labels must be a one-dimensional array of integers"),
        ({"labels": [0.5, 1.0, 1.0]}, "labels must be a one-dimensional array of integers"),
        ({"labels": [[0], [1], [1]]}, "labels must be a one-dimensional array of integers"),
        ({"X": [0.0, 1.0, 2.0]}, "X must have two dimensions; got shape"),
        ({"X": [[0.0], [np.nan], [2.0]]}, "contains NaN"),
    ],
)
def test_bad_input_is_refused(changed, message):
    given = {"X": [[0.0], [1.0], [2.0]], "labels": [0, 1, 1], **changed}
    with pytest.raises(ValueError, match=message):
        describe_clusters(given.pop("X"), given.pop("labels"), **given)


def test_texts_of_a_shuffled_series_with_gaps_stay_with_their_rows():
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(
        ["red car", "fast car", None, "small cat", "old cat", float("nan")], index=[5, 4, 3, 2, 1, 0]
    )
    X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    found = describe_clusters(X, [0, 0, 0, 1, 1, 1], texts=texts)
    assert [each.keywords for each in found] == [("car",), ("cat",)]


def test_numbers_of_clusters_may_have_gaps():
    X = [[0.0], [0.1], [5.0], [5.1]]
    found = describe_clusters(X, [7, 7, 100_000, 100_000], n_rows=1)
    assert [(each.cluster, each.typical, each.doubtful) for each in found] == [
        (7, (0,), ((1, 100_000),)),
        (100_000, (2,), ((3, 7),)),
    ]
