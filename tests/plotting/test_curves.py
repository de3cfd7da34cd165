"""Contents of the plot of a comparison."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.text import Text

from likewise.active import Comparison, Trace
from likewise.plotting import CurveDisplay
from likewise.plotting._curves import COLOURS, spread_out
from likewise.plotting._figure import QUIET


def runs(*scores):
    return {
        seed: Trace(np.array([0, 5, 10]), np.array(row, dtype=float), np.zeros(10))
        for seed, row in enumerate(scores)
    }


FOUND = Comparison(
    {
        "npu": runs([0.2, 0.6, 0.8], [0.2, 0.8, 0.8]),
        "random": runs([0.2, 0.2, 0.4], [0.2, 0.4, 0.4]),
        "broken": {},
    },
    score_name="adjusted Rand index",
)


def test_curves_bands_names_and_the_start():
    display = FOUND.plot()
    assert isinstance(display, CurveDisplay)
    assert list(display.lines_) == ["npu", "random"]  # a strategy without runs has no curve
    np.testing.assert_allclose(display.lines_["npu"].get_ydata(), [0.2, 0.7, 0.8])
    assert display.lines_["npu"].get_xdata().tolist() == [0, 5, 10]
    band = display.bands_["npu"].get_paths()[0].vertices
    np.testing.assert_allclose(band[:, 1].max(), 0.7 + 12.7062 * 0.1, atol=1e-3)
    assert [line.get_ydata()[0] for line in display.starts_] == [pytest.approx(0.2)]
    assert same_color(display.starts_[0].get_color(), QUIET)
    assert display.ax_.get_xlabel() == "answers"
    assert display.ax_.get_ylabel() == "adjusted Rand index"
    assert {name: text.get_text() for name, text in display.names_.items()} == {
        "npu": "npu",
        "random": "random",
    }
    assert display.names_["npu"].xy == (10, pytest.approx(0.8))
    assert display.ax_.get_ylim()[1] <= 1.02  # although the band exceeds the maximum score


def test_the_level_of_the_bands_can_be_given():
    wide, narrow = (FOUND.plot(level=level).bands_["npu"].get_paths()[0].vertices for level in (0.9, 0.5))
    assert np.ptp(wide[:, 1]) > np.ptp(narrow[:, 1])


def test_the_plot_says_what_the_bands_are():
    assert FOUND.plot(level=0.9).note_.get_text() == "bands: 90 % confidence intervals of the means"


def test_one_run_has_no_band():
    display = Comparison({"a": runs([0, 0.5, 1.0])}).plot()
    assert display.bands_ == {}
    assert display.note_ is None
    assert list(display.lines_) == ["a"]


def test_each_model_has_its_initial_level():
    display = Comparison({"a": runs([0.1, 0.5, 1]), "b": runs([0.4, 0.5, 1]), "c": runs([0.1, 0, 0])}).plot()
    assert [line.get_ydata()[0] for line in display.starts_] == [pytest.approx(0.1), pytest.approx(0.4)]
    assert display.starts_[0].get_color() == QUIET  # two strategies have it
    assert display.starts_[1].get_color() == display.lines_["b"].get_color()


def test_a_score_to_reach_is_marked():
    display = FOUND.plot(reach=0.75)
    levels = [line.get_ydata()[0] for line in display.ax_.get_lines() if len(set(line.get_ydata())) == 1]
    assert 0.75 in levels
    assert "0.75" in [text.get_text() for text in display.ax_.texts]


def test_names_of_many_strategies_do_not_overlap():
    found = Comparison({f"strategy {n}": runs([0, 0.5, 0.5 + n / 1000]) for n in range(16)})
    display = found.plot()
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in display.lines_.values()}
    assert len(looks) == 16
    display.figure_.draw_without_rendering()
    # Without the connecting line, which is part of the annotation.
    boxes = [Text.get_window_extent(text) for text in display.names_.values()]
    assert len(boxes) == 16
    for one, other in itertools.pairwise(boxes):  # sorted by the ends of the curves
        assert other.y0 >= one.y1 - 2


def test_names_are_moved_no_more_than_needed():
    np.testing.assert_allclose(spread_out(np.array([0.1, 0.5, 0.9]), 0.1), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(spread_out(np.array([0.5, 0.5]), 0.2), [0.4, 0.6])
    np.testing.assert_allclose(spread_out(np.array([1.0, 1.0]), 0.2), [0.8, 1.0])
    np.testing.assert_allclose(spread_out(np.array([0.0, 0.0, 0.0]), 0.9), [0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(spread_out(np.array([0.3]), 0.2), [0.3])


def test_colours_are_distinct_from_white():
    def luminance(colour):
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    assert min(1.05 / (luminance(colour) + 0.05) for colour in COLOURS) > 2


def test_on_given_axes_and_to_a_file(tmp_path):
    axes = Figure().subplots()
    display = CurveDisplay.from_comparison(FOUND, ax=axes, title="birds")
    assert display.ax_ is axes
    assert axes.get_title() == "birds"
    for name in ("curves.png", "curves.svg", "curves.pdf"):
        display.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no curves to plot"):
        CurveDisplay({}).plot()
