"""Hints by index label: a data frame in another order is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise import COPKMeans, PCKMeans, Supervision
from likewise.active import Interview
from likewise.discriminative import MiniBatchDiscriminativeClustering
from likewise.evaluation import HintSearchCV, cross_validate_hints, link_satisfaction, scores
from likewise.exceptions import (
    InconsistentSupervisionError,
    InconsistentSupervisionWarning,
    InfeasibleSupervisionError,
    SupervisionError,
    TooFewClustersWarning,
)
from likewise.kmeans import MiniBatchPCKMeans
from likewise.metric import ITML
from likewise.mixture import MiniBatchPairwiseGaussianMixture
from likewise.spectral import SpectralLearning

FRAME = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]}, index=["a", "b", "c", "d"])
SHUFFLED = FRAME.loc[["b", "a", "c", "d"]]


def make_links_by_index(**links):
    return Supervision.from_links(index=FRAME.index, **links)


def two_clusters(X):
    return pd.Series([0, 0, 1, 1], index=X.index) if hasattr(X, "index") else np.array([0, 0, 1, 1])


MEETINGS = {
    "fit": lambda X, hints: PCKMeans(2, random_state=0).fit(X, supervision=hints),
    "fit of a metric": lambda X, hints: ITML(shrinkage=0).fit(X, supervision=hints),
    "fit with hints as links": lambda X, hints: SpectralLearning(2, as_links=True).fit(X, supervision=hints),
    "partial_fit of k-means": lambda X, hints: MiniBatchPCKMeans(2, random_state=0).partial_fit(
        X, supervision=hints
    ),
    "partial_fit of a mixture": lambda X, hints: MiniBatchPairwiseGaussianMixture(
        2, random_state=0
    ).partial_fit(X, supervision=hints),
    "partial_fit, discriminative": lambda X, hints: MiniBatchDiscriminativeClustering(
        2, random_state=0
    ).partial_fit(X, supervision=hints),
    "interview": lambda X, hints: Interview(X, n_clusters=2, supervision=hints),
    "search": lambda X, hints: HintSearchCV(PCKMeans(2, random_state=0), {}, cv=2, random_state=0).fit(
        X, supervision=hints
    ),
    "search in a pipeline": lambda X, hints: HintSearchCV(
        make_pipeline(StandardScaler(), PCKMeans(2, random_state=0)), {}, cv=2, random_state=0
    ).fit(X, supervision=hints),
    "cross-validation": lambda X, hints: cross_validate_hints(
        PCKMeans(2, random_state=0), X, hints, cv=2, random_state=0
    ),
    "satisfaction": lambda X, hints: link_satisfaction(two_clusters(X), hints),
    "scores": lambda X, hints: scores(two_clusters(X), [0, 0, 1, 1], supervision=hints),
    "diagnosis of rows": lambda X, hints: hints.diagnose(X),
    "diagnosis of labels": lambda X, hints: hints.diagnose(labels=two_clusters(X)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("meet", MEETINGS.values(), ids=MEETINGS)
def test_hints_by_index_refuse_a_frame_in_another_order(meet):
    hints = make_links_by_index(must=[("a", "b"), ("c", "d")], cannot=[("b", "c"), ("a", "d")])
    meet(FRAME, hints)
    with pytest.raises(SupervisionError, match=r"row 0 of \w+ has the index label 'b'.*expect 'a'"):
        meet(SHUFFLED, hints)
    meet(SHUFFLED, hints[[1, 0, 2, 3]])  # hints are reordered with the rows
    meet(SHUFFLED.to_numpy(), hints)


@pytest.mark.parametrize(
    "derive",
    [
        lambda hints: hints.select_kinds("links"),
        lambda hints: hints.to_links(),
        lambda hints: hints.drop_conflicts(),
        lambda hints: hints | Supervision.empty(4),
        lambda hints: Supervision.empty(4) | hints,
        lambda hints: pickle.loads(pickle.dumps(hints)),
    ],
    ids=["select_kinds", "to_links", "drop_conflicts", "joined", "joined to", "pickled"],
)
def test_hints_derived_from_hints_by_index_keep_the_index(derive):
    with pytest.raises(SupervisionError, match="another order"):
        PCKMeans(2).fit(SHUFFLED, supervision=derive(make_links_by_index(must=[("a", "b")])))


def test_hints_for_two_orders_of_rows_cannot_be_joined():
    shuffled = Supervision.from_labels({"a": "wren"}, index=SHUFFLED.index)
    with pytest.raises(SupervisionError, match="row 0 has the index label 'a' in the first and 'b' in the"):
        make_links_by_index(must=[("a", "b")]) | shuffled


def test_rows_without_a_label_of_their_own_are_compared_as_equal():
    frame = FRAME.set_axis([1.0, 2.0, float("nan"), 3.0])
    hints = Supervision.from_links(index=frame.index, must=[(1.0, 2.0)])
    assert PCKMeans(2, random_state=0).fit(frame, supervision=hints).labels_.shape == (4,)


def test_messages_about_hints_by_index_give_the_labels():
    hints = make_links_by_index(must=[("b", "c"), ("c", "d")], cannot=[("b", "d")])
    chain = r"rows 1 \('b'\) and 3 \('d'\).*through 1 \('b'\) – 2 \('c'\) – 3 \('d'\)\."
    with pytest.raises(InconsistentSupervisionError, match=chain):
        hints.closure()
    with pytest.raises(InconsistentSupervisionError, match=chain):
        COPKMeans(2).fit(FRAME, supervision=hints)
    with pytest.warns(InconsistentSupervisionWarning, match=chain):
        PCKMeans(2, random_state=0).fit(FRAME, supervision=hints)
    apart = make_links_by_index(cannot_groups=[["b", "c", "d"]])
    listed = r"rows 1 \('b'\), 2 \('c'\), 3 \('d'\)"
    with pytest.raises(InfeasibleSupervisionError, match=listed):
        COPKMeans(2).fit(FRAME, supervision=apart)
    with pytest.warns(TooFewClustersWarning, match=listed):
        Interview(FRAME, n_clusters=2, supervision=apart)
