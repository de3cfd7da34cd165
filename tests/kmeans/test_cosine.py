"""Cosine geometry: the clusters of rows of unit length, wherever the rows are."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from likewise import (
    ConstrainedKMeans,
    COPKMeans,
    MiniBatchMPCKMeans,
    MiniBatchPCKMeans,
    MKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    Supervision,
)
from likewise.supervision import sample_links

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 240)
X = rng.uniform(0.0, 1.0, size=(240, 6)) * (rng.random((240, 6)) < 0.6)
X[np.arange(240), 2 * Y] += 2.0
X *= rng.uniform(0.01, 100.0, size=(240, 1))  # only the directions tell the classes
LINKS = sample_links(Y, 30, random_state=0)
LABELS = Supervision.from_labels([int(c) if i < 9 else None for i, c in enumerate(Y)])
MEMBERS = {
    COPKMeans: LINKS, PCKMeans: LINKS, MiniBatchPCKMeans: LINKS, SeededKMeans: LABELS,
    ConstrainedKMeans: LABELS,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("cls", MEMBERS)
def test_the_clusters_are_those_of_rows_of_unit_length(cls, form, dtype):
    rows, hints = X.astype(dtype), MEMBERS[cls]
    ours = cls(3, metric="cosine", random_state=0).fit(form(rows), supervision=hints)
    unit = normalize(rows)
    theirs = cls(3, random_state=0).fit(form(unit), supervision=hints)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-5)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-4)
    np.testing.assert_array_equal(ours.predict(form(rows)), theirs.predict(form(unit)))
    np.testing.assert_allclose(ours.transform(form(rows)), theirs.transform(form(unit)), atol=1e-3)
    assert ours.score(form(rows)) == pytest.approx(theirs.score(form(unit)), rel=1e-4)


def test_the_length_of_a_row_does_not_matter():
    lengths = 2.0 ** rng.integers(-8, 8, size=(240, 1))
    model = PCKMeans(3, metric="cosine", random_state=0).fit(X, supervision=LINKS)
    again = PCKMeans(3, metric="cosine", random_state=0).fit(lengths * X, supervision=LINKS)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    np.testing.assert_array_equal(model.transform(X), model.transform(lengths * X))


def test_rows_in_files_and_on_dask_get_the_labels_of_rows_in_memory(tmp_path, dask_cluster):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = PCKMeans(3, metric="cosine", random_state=0)
    expected = model.fit(X, supervision=LINKS).labels_
    with dask_cluster.as_current():
        for rows in (mapped, da.from_array(X, chunks=(70, 6))):
            found = model.fit(rows, supervision=LINKS)
            np.testing.assert_array_equal(np.asarray(found.labels_), expected)
            np.testing.assert_array_equal(np.asarray(found.predict(rows)), found.predict(X))


def test_batches_are_scaled_as_well():
    ours, theirs = MiniBatchPCKMeans(3, metric="cosine", random_state=0), MiniBatchPCKMeans(3, random_state=0)
    for first in range(0, 240, 60):
        ours.partial_fit(X[first : first + 60])
        theirs.partial_fit(normalize(X[first : first + 60]))
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_row_of_zeros_stays_at_the_origin(form):
    rows = X.copy()
    rows[7] = 0.0
    model = PCKMeans(3, metric="cosine", random_state=0).fit(form(rows), supervision=LINKS)
    lengths = np.linalg.norm(model.cluster_centers_, axis=1)
    np.testing.assert_allclose(model.transform(form(rows))[7], lengths)
    assert model.predict(form(rows))[7] == lengths.argmin()


def test_given_centers_are_directions():
    init = X[[np.flatnonzero(c == Y)[0] for c in range(3)]]
    found = [PCKMeans(3, metric="cosine", init=scale * init).fit_predict(X) for scale in (1.0, 1000.0)]
    np.testing.assert_array_equal(*found)
    assert len(set(zip(Y.tolist(), found[0].tolist(), strict=True))) == 3


@pytest.mark.parametrize("cls", [MPCKMeans, MKMeans, MiniBatchMPCKMeans])
def test_a_learned_metric_refuses_it_and_says_what_to_do(cls):
    with pytest.raises(
        ValueError, match=r"metric must be 'full' or 'diagonal'.*preprocessing\.normalize.*'cosine'"
    ):
        cls(3, metric="cosine").fit(X)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match=r"metric must be .*'euclidean'.*'cosine'"):
        PCKMeans(3, metric="manhattan").fit(X)
