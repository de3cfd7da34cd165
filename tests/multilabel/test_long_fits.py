"""Fits that are expected to take more than a minute are announced."""

import warnings

import pytest
from scipy.sparse import csr_array

from likewise import base
from likewise.datasets import make_label_tree
from likewise.exceptions import LongFitWarning
from likewise.multilabel import CliqueLabelGraph, LatentHierarchyClassifier


@pytest.mark.parametrize("form", [lambda X: X, csr_array])
@pytest.mark.parametrize("cls", [CliqueLabelGraph, LatentHierarchyClassifier])
def test_a_long_fit_is_announced(monkeypatch, cls, form):
    data = make_label_tree(100, 4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)
        cls().fit(form(data.X), data.Z)
    monkeypatch.setattr(base, "_LONG", 1e-9)
    with pytest.warns(LongFitWarning, match=rf"{cls.__name__}: this fit will take about 1 minute.*sample"):
        cls().fit(form(data.X), data.Z)
