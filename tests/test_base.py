"""The base classes: rules of parameters, checks of rows, warnings that name the caller."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import TransformerMixin
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import likewise.base
from likewise import PCKMeans, SeededKMeans, SpectralLearning, Supervision
from likewise.backends import as_rows
from likewise.base import HintedEstimator, Rule, Warned, repeat_warnings, validate_fit, validate_rows
from likewise.datasets import MemmapRows, ParquetRows
from likewise.exceptions import ThinSupervisionWarning, UnsupportedSupervisionError

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


# ---------------------------------------------------------------------- parameters


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize(
    ("keywords", "how"),
    [
        ({"must_link": [(0, 1)]}, r"Pass hints as one object, such as supervision=Supervision.from_links\("),
        ({"suprevision": None}, "Did you mean supervision?"),
    ],
)
def test_an_unknown_keyword_is_refused_with_the_way_to_pass_hints(method, keywords, how):
    (name,) = keywords
    with pytest.raises(TypeError, match=rf"^PCKMeans\.{method} has no parameter '{name}'; it takes .*{how}"):
        getattr(PCKMeans(2), method)(np.zeros((4, 2)), **keywords)


def test_a_method_with_parameters_of_any_name_takes_them():
    class Open(HintedEstimator):
        def fit(self, X, y=None, *, supervision=None, **more):
            self.more_ = more
            return self

    assert Open().fit([[0.0]], depth=3).more_ == {"depth": 3}


@pytest.mark.parametrize(
    ("rule", "wanted", "allowed", "refused"),
    [
        (Rule.integer(1), "an integer of at least 1", [1, np.int64(7)], [0, 1.0, True, "1", None]),
        (Rule.real(0), "a number of at least 0", [0, 0.5, np.float32(2)], [-1, np.nan, np.inf, False, "0"]),
        (Rule.real(0, strict=True), "a number above 0", [1e-300, 3], [0, -0.0]),
        (Rule.choice("a", None, 1), "one of 'a', None, 1", ["a", None, 1], ["b", 1.0, True]),
        (
            Rule.either(Rule.integer(2), Rule.choice(None)),
            "an integer of at least 2 or one of None",
            [2, None],
            [1, "2"],
        ),
    ],
)
def test_rules_of_parameters(rule, wanted, allowed, refused):
    assert rule.expected == wanted
    assert [value for value in allowed if not rule.holds(value)] == []
    assert [value for value in refused if rule.holds(value)] == []


# ---------------------------------------------------------------------- any estimator


class Centering(TransformerMixin, HintedEstimator):
    """A transformer that subtracts the mean of the labelled rows."""

    supported_hints = frozenset({"labels"})
    parameter_rules = {"power": Rule.integer(1)}  # noqa: RUF012

    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y=None, *, supervision=None):
        X, hints = validate_fit(self, X, y, supervision)
        self.mean_ = X[hints.label_codes >= 0].mean(axis=0)
        return self

    def transform(self, X):
        return validate_rows(self, X) - self.mean_


def test_any_estimator_can_validate_its_arguments():
    X, hints = [[1.0], [3.0], [8.0]], Supervision.from_labels([0, 1, None])
    model = Centering().fit(X, supervision=hints)
    assert model.transform([[2.0]]).tolist() == [[0.0]]
    with pytest.raises(UnsupportedSupervisionError, match="links"):
        Centering().fit(X, supervision=Supervision.from_links(3, must=[(0, 1)]))
    with pytest.raises(ValueError, match="power must be an integer of at least 1, got 0"):
        Centering(power=0).fit(X, supervision=hints)
    with pytest.raises(ValueError, match="2 features"):
        model.transform([[1.0, 2.0]])
    with pytest.raises(NotFittedError):
        Centering().transform(X)


def test_every_public_name_of_base_is_documented():
    for name in likewise.base.__all__:
        assert getattr(likewise.base, name).__doc__, name
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in likewise.base.__all__ if name not in page] == []


# ---------------------------------------------------------------------- rows


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_value_is_named_by_block_and_row(tmp_path, bad):
    X = np.random.default_rng(0).normal(size=(400, 5))
    model = PCKMeans(2, n_init=1).fit(X)
    X[137, 2] = bad
    np.save(tmp_path / "X.npy", X)
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), tmp_path / "X.parquet")
    said = "block 2 of X has .* in its row 37, column 2.*, which is row 137 of all"
    for rows in (
        MemmapRows(tmp_path / "X.npy", block_rows=50),
        ParquetRows(tmp_path / "X.parquet", block_rows=50),
    ):
        with pytest.raises(ValueError, match=said):
            PCKMeans(2).fit(rows)
    with pytest.raises(ValueError, match=r"block 0 of X has .* which is row 137 of all"):
        PCKMeans(2).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    with pytest.raises(ValueError, match=said):
        model.predict(MemmapRows(tmp_path / "X.npy", block_rows=50))


def test_a_missing_value_in_parquet_is_named_too(tmp_path):
    pq.write_table(
        pa.table({"a": [1.0, 2.0, None], "n": [1, None, 3], "t": [True, False, None]}), tmp_path / "x.parquet"
    )
    for column, row in (("a", 2), ("n", 1)):
        with pytest.raises(ValueError, match=f"block 0 of X has nan in its row {row}"):
            PCKMeans(2).fit(ParquetRows(tmp_path / "x.parquet", columns=[column]))


def test_empty_data_and_fewer_rows_than_clusters(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "two.parquet")
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="0 rows and 1 columns"):
        PCKMeans(2).fit(ParquetRows(tmp_path / "none.parquet"))
    with pytest.raises(ValueError, match="0 rows and 3 columns"):
        PCKMeans(2).fit(MemmapRows(tmp_path / "none.npy"))
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        PCKMeans(3).fit(ParquetRows(tmp_path / "two.parquet"))
    with pytest.raises(ValueError, match="are for 5 rows, but X has 2"):
        PCKMeans(2).fit(ParquetRows(tmp_path / "two.parquet"), supervision=Supervision.empty(5))
    with pytest.raises(ValueError, match="X has 1 features, but PCKMeans is expecting 2"):
        PCKMeans(2).fit([[0.0, 1], [2, 3], [4, 5]]).predict(ParquetRows(tmp_path / "two.parquet"))


def test_a_method_that_needs_all_rows_in_memory_says_so():
    with pytest.raises(TypeError, match="SpectralLearning works on rows in memory"):
        SpectralLearning(2).fit(as_rows(np.zeros((4, 2))))


def test_columns_keep_their_names(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 5))
    pq.write_table(pa.table({name: X[:, j] for j, name in enumerate("abcde")}), tmp_path / "x.parquet")
    model = PCKMeans(2, n_init=1, random_state=0).fit(ParquetRows(tmp_path / "x.parquet"))
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(ParquetRows(tmp_path / "x.parquet", columns=list("edcba")))


# ---------------------------------------------------------------------- warnings


def test_warnings_point_at_the_line_that_called():
    X, _ = load_digits(return_X_y=True)
    contradiction = Supervision.from_links(len(X), must=[(0, 1)], cannot=[(0, 1)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PCKMeans(10, n_init=1, max_iter=2, random_state=0).fit(X, supervision=contradiction)
        SeededKMeans(3, random_state=0).fit_predict(np.repeat([[0.0], [1.0]], 5, axis=0))
    assert len(caught) == 3
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


def test_warnings_of_several_fits_are_repeated_once_for_each_category():
    def caught(message, category):
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            warnings.warn(message, category, stacklevel=1)
        return Warned.from_record(records[0], before="fold 1: ")

    fits = [
        caught("slow", ConvergenceWarning),
        caught("few", ThinSupervisionWarning),
        caught("slow", ConvergenceWarning),
    ]
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        repeat_warnings(fits)
    assert [(record.category, str(record.message)) for record in records] == [
        (ConvergenceWarning, "fold 1: slow (1 more such warning(s) from other fits.)"),
        (ThinSupervisionWarning, "fold 1: few"),
    ]
    assert {Path(record.filename).name for record in records} == {Path(__file__).name}
