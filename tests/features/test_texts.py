"""Text features."""

import sys
import types

import numpy as np
import pytest

from likewise.exceptions import FileFormatError, MissingDependencyError
from likewise.features import text_features
from likewise.features._texts import MODEL

TEXTS = ["the bird sings", "a bird flies", "stocks fell today", "stocks rose today", ""]


def test_few_words_are_kept_as_they_are():
    found = text_features(TEXTS, named="'message'")
    assert found.description == "8 words in 'message'"
    assert found.notes == ("1 row(s) have no text in 'message'.",)
    assert found.X.shape == (5, 8)
    assert (found.X[4] == 0).all()
    assert np.linalg.norm(found.X[2] - found.X[3]) < np.linalg.norm(found.X[0] - found.X[3])


def test_many_words_are_reduced_by_a_seeded_svd():
    texts = [f"word{k} word{k + 1} word{k + 2}" for k in range(30)]
    found = text_features(texts, n_features=5, random_state=1)
    assert found.description == "5 components of 32 words in the texts"
    np.testing.assert_array_equal(found.X, text_features(texts, n_features=5, random_state=1).X)


def test_no_text_and_no_words_are_errors():
    with pytest.raises(FileFormatError, match="every cell of 'a' is empty"):
        text_features([None, " "], named="'a'")
    with pytest.raises(FileFormatError, match="word of at least two letters"):
        text_features(["a", "?"])
    with pytest.raises(ValueError, match="'sentences' or 'auto'; got 'magic'"):
        text_features(TEXTS, method="magic")


def test_a_model_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, MODEL, None)
    with pytest.raises(MissingDependencyError, match=r"likewise\[sentences\]"):
        text_features(TEXTS, method="sentences")


def test_an_installed_model_is_used_and_nothing_is_fetched(monkeypatch, tmp_path):
    """Stubs replace the packages; the test checks that only local files are used."""
    asked = {}

    class SentenceTransformer:
        def __init__(self, path, **options):
            asked.update(options, path=path)

        def encode(self, texts, **options):
            return np.array([[len(text), 1.0] for text in texts])

    package = types.ModuleType(MODEL)
    package.get_model_path = lambda: tmp_path
    package.__spec__ = types.SimpleNamespace()
    transformers = types.ModuleType("sentence_transformers")
    transformers.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, MODEL, package)
    monkeypatch.setitem(sys.modules, "sentence_transformers", transformers)
    found = text_features(TEXTS, method="auto")
    assert asked == {"path": str(tmp_path), "device": "cpu", "local_files_only": True}
    assert found.X.shape == (5, 2)
    assert "MiniLM" in found.description
