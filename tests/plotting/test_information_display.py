"""Contents of the plot of information."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from likewise.evaluation import compare_hints
from likewise.evaluation._hint_information import pair_information, triplet_information
from likewise.plotting import InformationDisplay


def test_the_curves_are_those_of_equal_classes():
    display = InformationDisplay.from_classes(6)
    assert display.lines_["pair"].get_xdata().tolist() == [2, 3, 4, 5, 6]
    pair = [pair_information(np.full(k, 1 / k)) for k in range(2, 7)]
    triplet = [triplet_information(np.full(k, 1 / k)) for k in range(2, 7)]
    np.testing.assert_allclose(display.lines_["pair"].get_ydata(), pair)
    np.testing.assert_allclose(display.lines_["triplet"].get_ydata(), triplet)
    np.testing.assert_allclose(display.lines_["three pairs"].get_ydata(), np.multiply(3, pair))
    np.testing.assert_allclose(display.lines_["two triplets"].get_ydata(), np.multiply(2, triplet))
    assert display.marks_ == {}
    assert [len(ax.lines) for ax in display.axes_] == [2, 2]
    assert [ax.get_title() for ax in display.axes_] == ["one answer", "six rows shown"]


def test_a_distribution_is_marked_at_its_number_of_classes():
    found = compare_hints(shares=[0.9, 0.05, 0.05], noise_triplet=0.1)
    display = InformationDisplay.from_classes(2, marked=found)
    assert display.n_classes.tolist() == [2, 3]  # extended to include the mark
    assert display.marks_["two triplets"].get_xdata() == [3]
    assert display.marks_["two triplets"].get_ydata() == pytest.approx(found.two_triplets)
    assert display.marks_["three pairs"].get_ydata() == pytest.approx(found.three_pairs)
    # The curves have the same error rates as the mark.
    assert display.lines_["triplet"].get_ydata()[0] == pytest.approx(
        triplet_information([0.5, 0.5], noise=0.1)
    )


def test_it_draws_on_given_axes():
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert InformationDisplay.from_classes(axes=axes).figure_ is figure
    with pytest.raises(ValueError, match="two axes"):
        InformationDisplay.from_classes(axes=Figure().subplots(1, 3))


def test_it_is_written(tmp_path):
    InformationDisplay.from_classes(5).save(tmp_path / "bits.svg")
    assert b"<svg" in (tmp_path / "bits.svg").read_bytes()


@pytest.mark.parametrize("n", [1, 2.0, True, "9"])
def test_too_few_classes_are_refused(n):
    with pytest.raises(ValueError, match="max_classes"):
        InformationDisplay.from_classes(n)
