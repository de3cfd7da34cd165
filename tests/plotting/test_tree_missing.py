"""Contents of the plot of missing rates."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from likewise.hierarchy import LabelHierarchy
from likewise.plotting import MissingRateDisplay


class Model(BaseEstimator):
    """The attributes of a fitted classifier that the plot uses."""

    def fit(self, X=None, Y=None):
        self.classes_ = np.array(["owl", "wren", "cod"], dtype=object)
        self.hierarchy_ = LabelHierarchy(["owl", "wren", "cod"], counts=[1200, 30, 7])
        self.missing_rates_ = np.array([0.1, 0.4, 0.25])
        self.missing_rate_ = 0.12
        return self


def ticks(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_dots_are_sorted_with_counts_beside_the_names(tmp_path):
    display = MissingRateDisplay.from_estimator(Model().fit(), title="tags")
    np.testing.assert_allclose(display.dots_.get_offsets(), [[0.4, 0], [0.25, 1], [0.1, 2]])
    assert ticks(display) == ["wren (30)", "cod (7)", "owl (1,200)"]
    assert display.order_.tolist() == [1, 2, 0]
    sizes = display.dots_.get_sizes()
    assert sizes[2] > sizes[0] > sizes[1]
    assert list(display.line_.get_xdata()) == [0.12, 0.12]
    assert display.ax_.get_xlabel() == "missing rate (dashed: all labels, 0.12)"
    low, high = display.ax_.get_ylim()
    assert low > high  # the highest rate is on top
    display.save(tmp_path / "missing.png")
    assert (tmp_path / "missing.png").read_bytes().startswith(b"\x89PNG")


def test_an_estimator_must_be_fitted_and_axes_may_be_given():
    with pytest.raises(NotFittedError):
        MissingRateDisplay.from_estimator(Model())
    axes = Figure().subplots()
    assert MissingRateDisplay.from_estimator(Model().fit(), ax=axes).ax_ is axes


def test_unknown_values_are_not_shown():
    display = MissingRateDisplay(["a", "b"], [0.0, 0.0]).plot()
    assert ticks(display) == ["a", "b"]
    assert display.line_ is None
    assert display.ax_.get_xlabel() == "missing rate"
    assert display.ax_.get_xlim()[1] > 0
    assert ticks(MissingRateDisplay(["a", "b"], [0.2, 0.1], counts=[np.nan, 3]).plot()) == ["a", "b (3)"]
    assert ticks(MissingRateDisplay(["$a$"], [0.2], counts=[0]).plot()) == ["$a$ (0)"]


def test_many_names_do_not_overlap():
    n = 120
    display = MissingRateDisplay([f"label {k}" for k in range(n)], np.linspace(0, 0.5, n)).plot()
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


@pytest.mark.parametrize(
    ("rates", "counts"), [([0.1], None), ([0.1, 0.2, 0.3], None), ([[0.1, 0.2]], None), ([0.1, 0.2], [1])]
)
def test_shapes_must_agree(rates, counts):
    with pytest.raises(ValueError, match="expected one rate and one count per label, 2 of each; got shapes"):
        MissingRateDisplay(["a", "b"], rates, counts=counts).plot()


def test_no_label_is_refused():
    with pytest.raises(ValueError, match="no labels to plot"):
        MissingRateDisplay([], []).plot()
