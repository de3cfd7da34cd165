"""Contents of the plot of a clustering."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from likewise import Supervision
from likewise.exceptions import MissingDependencyError, SupervisionError
from likewise.plotting import ClusterDisplay
from likewise.plotting._cluster_display import project, select_links
from likewise.plotting._figure import KEPT, MARKERS, NOISE, PALETTE, VIOLATED

X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]])
LABELS = np.array([0, 0, 1, 1])


def legend_of(display):
    legend = display.ax_.get_legend()
    return [text.get_text() for text in legend.get_texts()]


def colours(collection):
    return {to_hex(colour) for colour in collection.get_facecolor()}


# ---------------------------------------------------------------------- contents


def test_points_and_links_are_drawn_once_each():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3), (2, 3), (1, 3)])
    display = ClusterDisplay.from_predictions(X, LABELS, supervision=hints)
    assert [len(points.get_offsets()) for points in display.clusters_] == [2, 2]
    np.testing.assert_array_equal(display.clusters_[1].get_offsets(), X[2:])
    assert {name: len(lines.get_segments()) for name, lines in display.links_.items()} == {
        "must": 1,
        "violated must": 1,
        "cannot": 2,
        "violated cannot": 1,
    }
    np.testing.assert_array_equal(display.links_["violated must"].get_segments()[0], X[[1, 2]])
    assert len(display.ax_.collections) == 6
    assert legend_of(display) == [
        "cluster 0 (2)",
        "cluster 1 (2)",
        "must-link (1)",
        "violated must-link (1)",
        "cannot-link (2)",
        "violated cannot-link (1)",
    ]


def test_lines_distinguish_kinds_and_violations():
    hints = Supervision.from_links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3), (2, 3)])
    links = ClusterDisplay.from_predictions(X, LABELS, supervision=hints).links_
    for name, lines in links.items():
        violated = name.startswith("violated")
        assert to_hex(lines.get_color()[0]) == (VIOLATED if violated else KEPT).lower()
        assert (lines.get_linewidth()[0] > 2) == violated
        dashed = lines.get_linestyle()[0][1] is not None
        assert dashed == name.endswith("cannot")


def test_the_order_of_colours_and_then_of_markers():
    n = len(PALETTE) + 2
    display = ClusterDisplay.from_predictions(np.arange(2.0 * n).reshape(n, 2), np.arange(n))
    assert [colours(points) for points in display.clusters_[: len(PALETTE)]] == [
        {colour.lower()} for colour in PALETTE
    ]
    assert colours(display.clusters_[-1]) == {PALETTE[1].lower()}
    paths = [points.get_paths()[0].vertices.tobytes() for points in display.clusters_]
    assert len(set(paths[:8])) == 1
    assert paths[8] == paths[9] != paths[0]
    assert len(MARKERS) == len(set(MARKERS))


def test_rows_in_no_cluster_are_grey_and_take_no_colour():
    display = ClusterDisplay.from_predictions(X, [-1, 3, 3, 7])
    assert colours(display.clusters_[0]) == {NOISE.lower()}
    assert colours(display.clusters_[1]) == {PALETTE[0].lower()}
    assert legend_of(display) == ["in no cluster (1)", "cluster 3 (2)", "cluster 7 (1)"]


def test_labels_may_be_words():
    display = ClusterDisplay.from_predictions(X, ["wren", "owl", "owl", "owl"])
    assert legend_of(display) == ["cluster owl (3)", "cluster wren (1)"]


def test_labelled_rows_have_a_dark_edge():
    hints = Supervision.from_labels(["a", None, "b", "b"])
    display = ClusterDisplay.from_predictions(X, LABELS, supervision=hints)
    rims = [[to_hex(rim) for rim in points.get_edgecolor()] for points in display.clusters_]
    assert rims == [["#000000", "#ffffff"], ["#000000", "#000000"]]


def test_many_clusters_do_not_fill_the_legend():
    n = 25
    display = ClusterDisplay.from_predictions(np.arange(2.0 * n).reshape(n, 2), np.arange(n))
    assert len(legend_of(display)) == 20
    assert legend_of(display)[-1] == "cluster 19 (1) and 5 more"


def test_title_axes_and_legend_follow_the_arguments():
    display = ClusterDisplay.from_predictions(
        X, LABELS, title="birds", feature_names=["width", "height"], legend=False
    )
    assert display.ax_.get_title() == "birds"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    assert display.ax_.get_legend() is None


# ---------------------------------------------------------------------- limits


def test_the_title_reports_omitted_links():
    n = 60
    rows = np.arange(2.0 * n).reshape(n, 2)
    must = [(i, i + 1) for i in range(0, n, 2)]
    hints = Supervision.from_links(n, must=must)
    labels = np.zeros(n, dtype=int)
    labels[50:52] = [0, 1]  # breaks (50, 51)
    display = ClusterDisplay.from_predictions(rows, labels, supervision=hints, max_links=5, title="t")
    assert display.ax_.get_title() == "t\n5 of 30 links shown"
    assert len(display.links_["violated must"].get_segments()) == 1
    assert len(display.links_["must"].get_segments()) == 4


def test_rows_are_sampled_but_linked_rows_are_always_shown():
    rng = np.random.RandomState(0)
    rows, labels = rng.normal(size=(1000, 2)), rng.randint(0, 3, size=1000)
    hints = Supervision.from_links(1000, must=[(3, 997)], cannot=[(500, 501)])
    display = ClusterDisplay.from_predictions(rows, labels, supervision=hints, max_points=50)
    assert len(display.points) == 50
    assert display.ax_.get_title() == "50 of 1,000 rows shown"
    drawn = {
        tuple(map(tuple, segment)) for lines in display.links_.values() for segment in lines.get_segments()
    }
    assert drawn == {tuple(map(tuple, rows[[3, 997]])), tuple(map(tuple, rows[[500, 501]]))}
    again = ClusterDisplay.from_predictions(rows, labels, supervision=hints, max_points=50)
    np.testing.assert_array_equal(display.points, again.points)


def test_links_left_out_with_their_rows_are_counted():
    n = 100
    hints = Supervision.from_links(n, must=[(i, i + 1) for i in range(0, n, 2)])
    display = ClusterDisplay.from_predictions(
        np.arange(2.0 * n).reshape(n, 2), np.zeros(n), supervision=hints, max_points=20
    )
    assert display.ax_.get_title() == "20 of 100 rows and 10 of 50 links shown"


def test_groups_are_drawn_as_stars_and_as_pairs():
    hints = Supervision.from_links(6, must_groups=[[0, 1, 2]], cannot_groups=[[3, 4, 5]])
    must, cannot = select_links(np.zeros(6), hints, 500)
    assert must.pairs.tolist() == [[0, 1], [0, 2]]
    assert cannot.pairs.tolist() == [[3, 4], [3, 5], [4, 5]]
    assert not must.violated.any()
    assert cannot.violated.all()
    big = Supervision.from_links(2000, cannot_groups=[range(2000)])
    _, cannot = select_links(np.zeros(2000), big, 10)
    assert len(cannot.pairs) == 10
    assert cannot.n_stated == 1999000


@pytest.mark.parametrize(
    ("n_must", "n_cannot", "shares"), [(3, 4, (3, 4)), (30, 10, (5, 5)), (2, 90, (2, 8)), (0, 20, (0, 10))]
)
def test_the_two_kinds_alternate(n_must, n_cannot, shares):
    pairs = [(i, i + 1) for i in range(200)]
    hints = Supervision.from_links(201, must=pairs[:n_must], cannot=pairs[100 : 100 + n_cannot])
    must, cannot = select_links(np.maximum(np.arange(201), 100), hints, 10)  # all are satisfied
    assert (len(must.pairs), len(cannot.pairs)) == shares


def test_violated_links_come_first():
    hints = Supervision.from_links(9, must=[(0, 1), (1, 2), (2, 3)], cannot=[(5, 6), (6, 7), (7, 8)])
    labels = np.array([0, 0, 0, 1, 1, 2, 3, 4, 4])
    must, cannot = select_links(labels, hints, 3)
    assert must.pairs.tolist() == [[0, 1], [2, 3]]
    assert must.violated.tolist() == [False, True]
    assert cannot.pairs.tolist() == [[7, 8]]


# ---------------------------------------------------------------------- projection


def test_more_features_are_projected_on_the_principal_components():
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(50, 5)) * [1, 10, 1, 5, 1]
    points, axes = project(rows)
    from sklearn.decomposition import PCA

    expected = PCA(2).fit_transform(rows)
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-9)
    assert axes[0].startswith("first component (")
    np.testing.assert_array_equal(project(rows)[0], points)


def test_one_feature_is_spread_out():
    display = ClusterDisplay.from_predictions([[1.0], [1.0], [2.0]], [0, 0, 1], feature_names=["weight"])
    assert display.ax_.get_xlabel() == "weight"
    assert display.ax_.get_ylabel() == ""
    assert len({tuple(point) for point in display.points}) == 3


@pytest.mark.parametrize("rows", [np.ones((4, 3)), np.ones((1, 3))])
def test_equal_rows(rows):
    points, axes = project(rows)
    np.testing.assert_allclose(points, 0)
    assert "0% of the variance" in axes[0]


# ---------------------------------------------------------------------- input


def test_from_estimator_uses_labels_or_predict():
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.labels, model.labels_)
    more = np.vstack([X, [[5.0, 7.0]]])
    np.testing.assert_array_equal(ClusterDisplay.from_estimator(model, more).labels, model.predict(more))
    with pytest.raises(NotFittedError):
        ClusterDisplay.from_estimator(KMeans(2), X)


def test_it_draws_on_given_axes_and_leaves_the_figure_alone():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    display = ClusterDisplay.from_predictions(X, LABELS, ax=right)
    assert display.figure_ is figure
    assert not left.collections
    assert len(right.collections) == 2


def test_its_own_figure_needs_no_screen_and_no_pyplot():
    code = (
        "import sys; from likewise.plotting import ClusterDisplay\n"
        "assert 'matplotlib' not in sys.modules\n"
        "ClusterDisplay.from_predictions([[0.0, 1.0], [2.0, 3.0]], [0, 1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(ClusterDisplay.from_predictions(X, LABELS).figure_.canvas, FigureCanvasAgg)


def test_the_png_shows_the_colours(tmp_path):
    hints = Supervision.from_links(4, must=[(1, 2)])
    display = ClusterDisplay.from_predictions(X, LABELS, supervision=hints)
    display.save(tmp_path / "p.png", dpi=80)
    image = (imread(tmp_path / "p.png")[:, :, :3] * 255).round().astype(int)
    assert image.shape == (440, 640, 3)
    shades = {tuple(pixel) for pixel in image.reshape(-1, 3).tolist()}
    for colour in (PALETTE[0], PALETTE[1], VIOLATED):
        assert tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)) in shades
    assert len(shades) > 50


def test_save_draws_if_nothing_was_drawn(tmp_path):
    ClusterDisplay(X, LABELS).save(tmp_path / "p.svg")
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


@pytest.mark.parametrize(
    ("rows", "labels", "options", "error"),
    [
        (np.zeros(3), [0, 0, 0], {}, "must have shape"),
        (np.zeros((0, 2)), [], {}, "must have shape"),
        ([[0.0, np.nan]], [0], {}, "not finite"),
        (X, [0, 1], {}, "labels must have shape"),
        (X, LABELS, {"max_points": 1}, "max_points"),
        (X, LABELS, {"max_links": -1}, "max_links"),
    ],
)
def test_invalid_input_is_rejected(rows, labels, options, error):
    with pytest.raises(ValueError, match=error):
        ClusterDisplay.from_predictions(rows, labels, **options)


def test_hints_about_other_rows_are_refused():
    with pytest.raises(SupervisionError, match="are for 5 rows"):
        ClusterDisplay.from_predictions(X, LABELS, supervision=Supervision.empty(5))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"likewise\[plot\]"):
        ClusterDisplay.from_predictions(X, LABELS)
