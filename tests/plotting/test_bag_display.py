"""Contents of the plot of a clustering of bags."""

import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from likewise import Supervision
from likewise.exceptions import MissingDependencyError, SupervisionError
from likewise.plotting import BagDisplay
from likewise.plotting._bag_display import find_typical_rows
from likewise.plotting._figure import NOISE, PALETTE, VIOLATED
from likewise.tables import standardize_columns

# Two clusters with several rows and two with one; the bag of the fifth row lacks its class.
X = np.array(
    [[0.0, 0, 0, 0], [0, 1, 0, 0], [0, 0.4, 0, 0], [9, 9, 9, 9], [9, 8, 9, 9], [5, 5, 0, 0], [5, 0, 5, 0]]
)
LABELS = np.array([0, 0, 0, 1, 1, 2, 3])
CLASSES = ("wren", "owl", None, "wren")
HINTS = Supervision.from_bags(
    ["r1", "r1", "r2", "r2", "r3", None, "a long name of a bag"],
    {"r1": ["wren"], "r2": ["wren", "owl", "finch"], "r3": ["wren"]},
)


def draw_display(**options):
    return BagDisplay.from_predictions(X, LABELS, CLASSES, supervision=HINTS, **options)


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def colours(collection):
    return {to_hex(colour) for colour in collection.get_facecolor()}


# ---------------------------------------------------------------------- contents


def test_each_class_has_its_points_and_examples():
    display = draw_display()
    assert list(display.points_) == ["wren", "owl", None]
    assert [len(points.get_offsets()) for points in display.points_.values()] == [4, 2, 1]
    assert [colours(points) for points in display.points_.values()] == [
        {PALETTE[0].lower()},
        {PALETTE[1].lower()},
        {NOISE.lower()},
    ]
    # The clusters of a class alternate: the middle row of the first, then the only row of the other.
    assert {name: rows.tolist() for name, rows in display.examples_.items()} == {
        "wren": [6, 2, 0, 1],
        "owl": [3, 4],
    }
    assert display.n_left_out_ == 0


def test_rows_that_contradict_their_bag_are_marked():
    display = draw_display()
    assert display.against_ == {"wren": [], "owl": [4]}
    grid = display.axes_[1]
    red = [patch for patch in grid.patches if to_hex(patch.get_edgecolor()) == VIOLATED.lower()]
    assert len(red) == 1
    assert [text.get_text() for text in grid.texts if text.get_color() == VIOLATED] == ["r3"]
    assert "red: the bag is not labelled with the class" in grid.get_xlabel()


def test_bags_are_named_below_the_examples_and_classes_beside_them():
    grid = draw_display().axes_[1]
    assert texts_of(grid) == ["a long n…", "r2", "r1", "r1", "r2", "r3"]
    assert [tick.get_text() for tick in grid.get_yticklabels()] == ["wren\n4 rows", "owl\n2 rows"]
    assert grid.get_title() == "examples of each class\nno cluster for finch"


def test_omissions_are_reported():
    display = draw_display(max_classes=1, n_examples=2, max_points=3, title="birds")
    assert list(display.examples_) == ["wren"]
    assert display.examples_["wren"].tolist() == [6, 2]
    assert display.n_left_out_ == 1
    assert display.axes_[1].get_title().startswith("examples of the 1 largest of 2 classes")
    assert sum(len(points.get_offsets()) for points in display.points_.values()) == 3
    title = display.axes_[0].get_title().splitlines()
    assert title == ["birds", "3 of 7 rows shown", "grey: in clusters without a class (1)"]


def test_rows_are_shown_as_images_if_a_shape_is_given():
    grid = draw_display(image_shape=(2, 2)).axes_[1]
    assert len(grid.images) == 6
    np.testing.assert_array_equal(grid.images[4].get_array(), X[3].reshape(2, 2))
    assert grid.images[0].get_clim() == (0, 9)
    left, right, bottom, top = grid.images[0].get_extent()
    assert right - left == pytest.approx(bottom - top)
    assert "feature" not in grid.get_xlabel()


def test_profiles_are_standardised_features():
    grid = draw_display().axes_[1]
    assert not grid.images
    assert "one bar per feature" in grid.get_xlabel()
    frames = [patch for patch in grid.patches if hasattr(patch, "get_width")]
    stairs = [patch for patch in grid.patches if patch not in frames]
    assert (len(frames), len(stairs)) == (6, 6)
    middle = frames[0].get_y() + frames[0].get_height() / 2
    heights = middle - stairs[0].get_data().values
    expected = np.clip(standardize_columns(X)[6] / 2.5, -1, 1) * frames[0].get_height() / 2
    np.testing.assert_allclose(heights, expected)


def test_hints_and_bags_may_be_absent():
    display = BagDisplay.from_predictions(X, LABELS, CLASSES)
    assert texts_of(display.axes_[1]) == []
    assert display.against_ == {"wren": [], "owl": []}
    links = BagDisplay.from_predictions(
        X, LABELS, CLASSES, supervision=Supervision.from_links(7, must=[(0, 1)])
    )
    assert texts_of(links.axes_[1]) == []


def test_no_cluster_has_a_class():
    display = BagDisplay.from_predictions(X, LABELS, [None] * 4)
    assert display.examples_ == {}
    assert list(display.points_) == [None]
    assert display.axes_[1].get_title() == "no cluster has a class"
    display.figure_.draw_without_rendering()


def test_examples_can_be_chosen_in_an_embedding():
    space = np.array([[0.0], [0.0], [9.0], [0.0], [1.0], [0.0], [0.0]])
    near = draw_display(space=space).examples_["wren"].tolist()
    assert near == [6, 0, 1, 2]


def test_classes_may_be_numbers():
    hints = Supervision.from_bags([1, 1, 1, 1, 2, 2, 2], {1: [3, 4], 2: [3]})
    display = BagDisplay.from_predictions(X, LABELS, [3, 4, 3, 3], supervision=hints)
    assert display.against_ == {3: [], 4: [4]}


def test_typical_rows_by_hand():
    space = np.array([[0.0], [2.0], [1.0], [7.0]])
    labels = np.array([0, 0, 0, 1])
    assert find_typical_rows(space, labels, [0], 9).tolist() == [2, 0, 1]
    assert find_typical_rows(space, labels, [1, 0], 2).tolist() == [2, 3]
    assert find_typical_rows(space, labels, [5], 2).tolist() == []


# ---------------------------------------------------------------------- input


class Fitted(BaseEstimator):
    def fit(self, X):
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "labels_")


def test_an_estimator_is_plotted_with_its_classes():
    model = Fitted()
    with pytest.raises(NotFittedError):
        BagDisplay.from_estimator(model, X, HINTS)
    model.labels_, model.class_of_cluster_, model.embedding_ = LABELS, CLASSES, X[:, :1]
    display = BagDisplay.from_estimator(model, X, HINTS, n_examples=1)
    assert display.examples_["wren"].tolist() == [0]
    np.testing.assert_array_equal(display.space, X[:, :1])


def test_an_estimator_without_classes_is_rejected():
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(TypeError, match="KMeans has no class_of_cluster_"):
        BagDisplay.from_estimator(model, X)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_extension_determines_the_format(tmp_path, ending):
    path = tmp_path / f"bags.{ending}"
    draw_display().save(path)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
    if ending == "png":
        assert imread(path).std() > 0.01


def test_it_draws_only_on_the_given_axes():
    before = "matplotlib.pyplot" in sys.modules
    axes = Figure().subplots(1, 2)
    display = draw_display(axes=axes)
    assert display.axes_ == tuple(axes)
    assert ("matplotlib.pyplot" in sys.modules) == before
    with pytest.raises(ValueError, match="two axes"):
        draw_display(axes=axes[:1])


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"likewise\[plot\]"):
        draw_display()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[:, 0]}, r"X must have shape"),
        ({"X": np.where(X > 8, np.nan, X)}, "not finite"),
        ({"labels": LABELS[:3]}, "labels must be 7 integers"),
        ({"labels": LABELS.astype(str)}, "labels must be 7 integers"),
        ({"labels": LABELS - 1}, "labels range from -1 to 2"),
        ({"class_of_cluster": CLASSES[:2]}, "has 2 clusters, but labels range from 0 to 3"),
        ({"supervision": HINTS[:3]}, "are for 3 rows, but X has 7"),
        ({"image_shape": (2, 3)}, r"product is the 4 features of a row; got \(2, 3\)"),
        ({"image_shape": (4,)}, "image_shape must be a height and a width"),
        ({"space": X[:3]}, "with 7 rows, as X has"),
        ({"n_examples": 0}, "at least 1"),
        ({"max_points": 1}, "max_points at least 2"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"X": X, "labels": LABELS, "class_of_cluster": CLASSES, **change}
    with pytest.raises((ValueError, SupervisionError), match=message):
        BagDisplay.from_predictions(**given)
