"""Contents of the plot of a model choice."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from likewise import PCKMeans
from likewise.evaluation import HintSearchCV
from likewise.plotting import ChoiceDisplay
from likewise.supervision import sample_links

RESULTS = {
    "method": np.array(["a", "a", "a", "b", "b"], dtype=object),
    "n_clusters": np.array([3, 2, 3, 2, 3], dtype=object),
    "mean_test_score": np.array([0.5, 0.4, 0.7, 0.2, np.nan]),
    "error_test_score": np.array([0.1, 0.2, 0.05, 0.1, np.nan]),
}


def test_a_line_shows_the_best_at_each_number():
    display = ChoiceDisplay(RESULTS, best_index=2, scoring="balanced_accuracy").plot()
    line = display.lines_["a"].lines[0]
    np.testing.assert_allclose(line.get_ydata(), [0.4, 0.7])
    np.testing.assert_allclose(line.get_xdata().astype(float), [2, 3], atol=0.1)
    bars = display.lines_["a"].lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[0.2, 0.6], [0.65, 0.75]])
    assert display.lines_["b"].lines[0].get_ydata().tolist() == [0.2]  # the other failed
    np.testing.assert_allclose(display.best_.get_ydata(), [0.7])
    assert display.best_.get_xdata()[0] == line.get_xdata()[1]
    assert display.ax_.get_ylabel() == "balanced accuracy on held-out hints"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(texts) == ["a", "b", "chosen: a, 3 clusters"]


def test_a_method_that_always_failed_has_no_line():
    scores = np.where(RESULTS["method"] == "b", np.nan, RESULTS["mean_test_score"])
    display = ChoiceDisplay({**RESULTS, "mean_test_score": scores}, best_index=2).plot()
    assert list(display.lines_) == ["a"]


def test_from_a_search_and_to_a_file(tmp_path):
    y = np.repeat([0, 1], 10)
    X = y[:, None] * 5.0 + np.arange(20)[:, None] / 20
    search = HintSearchCV(PCKMeans(n_init=1, random_state=0), {"n_clusters": [2, 3]}, cv=2, random_state=0)
    with pytest.raises(NotFittedError):
        ChoiceDisplay.from_search(search)
    search.fit(X, supervision=sample_links(y, 20, random_state=0))
    axes = Figure().subplots()
    display = ChoiceDisplay.from_search(search, ax=axes, title="birds")
    assert display.ax_ is axes
    assert axes.get_title() == "birds"
    assert axes.get_xticks().tolist() == [2, 3]
    display.save(tmp_path / "choice.png")
    assert (tmp_path / "choice.png").read_bytes().startswith(b"\x89PNG")


def test_candidates_without_a_number_of_clusters_are_rejected():
    results = {**RESULTS, "n_clusters": np.array([None] * 5, dtype=object)}
    with pytest.raises(ValueError, match="a has no parameter n_clusters"):
        ChoiceDisplay(results, best_index=0).plot()


def test_scores_without_errors_are_drawn():
    y = np.repeat([0, 1], 10)
    X = y[:, None] * 5.0 + np.arange(20)[:, None] / 20

    def share(held_out):
        return held_out.right.mean()

    search = HintSearchCV(
        KMeans(n_init=1, random_state=0), {"n_clusters": [2, 3]}, cv=2, random_state=0, scoring=share
    ).fit(X, supervision=sample_links(y, 20, random_state=0))
    display = ChoiceDisplay.from_search(search)
    assert display.ax_.get_ylabel() == "share on held-out hints"
    assert np.isfinite(display.lines_["KMeans"].lines[2][0].get_segments()).all()
