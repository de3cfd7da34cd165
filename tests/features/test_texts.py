"""Text features: words, installed models, and functions of the user."""

import importlib.util

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from likewise.exceptions import FileFormatError, ModelError
from likewise.features import TextFeatures, text_features

TEXTS = ["the bird sings", "a bird flies", "stocks fell today", "stocks rose today", ""]
needs_wordllama = pytest.mark.skipif(
    not (importlib.util.find_spec("wordllama") and importlib.util.find_spec("tokenizers")),
    reason="likewise[text] is not installed",
)


def test_few_words_are_kept_as_they_are_and_empty_texts_are_left_out():
    found = text_features(TEXTS, method="words", named="'message'")
    assert found.description == "8 words of 'message'"
    assert found.notes == ("1 row without text in 'message' is left out.",)
    assert dict(found.failed) == {4: "it is empty."}
    assert found.X.shape == (4, 8)
    assert np.linalg.norm(found.X[2] - found.X[3]) < np.linalg.norm(found.X[0] - found.X[3])


def test_many_words_are_reduced_by_a_seeded_svd():
    texts = [f"word{k} word{k + 1} word{k + 2}" for k in range(30)]
    found = text_features(texts, method="words", n_features=5, random_state=1)
    assert found.description == "5 components of 32 words of the texts"
    again = text_features(texts, method="words", n_features=5, random_state=1)
    np.testing.assert_array_equal(found.X, again.X)


def test_no_text_and_no_words_are_errors():
    with pytest.raises(FileFormatError, match="every cell of 'a' is empty"):
        text_features([None, " "], named="'a'")
    with pytest.raises(FileFormatError, match="word of at least two letters"):
        text_features(["a", "?"], method="words")
    with pytest.raises(ValueError, match=r"'minilm.wordllama', or a function; got 'magic'"):
        text_features(TEXTS, method="magic")


def test_a_model_that_is_not_here_is_named_with_the_command_that_adds_it(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    with pytest.raises(ModelError, match="likewise models add minilm"):
        text_features(TEXTS, method="minilm")


@needs_wordllama
def test_wordllama_groups_by_meaning_where_no_word_is_shared(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))  # without MiniLM
    texts = ["a robin", "two eagles", "the sparrow", "bank loans", "interest rates", "a mortgage"]
    found = text_features(texts)
    assert found.description == "5 components of 256 numbers from WordLlama (English) of the texts"
    labels = KMeans(2, n_init=5, random_state=0).fit_predict(found.X)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1], labels) == 1.0
    np.testing.assert_allclose(text_features(texts[::-1]).X, found.X[::-1], atol=1e-4)


@needs_wordllama
@pytest.mark.parametrize("text", ["鸟 在 唱歌", "الطائر يغني في الحديقة"])
def test_other_scripts_fall_back_to_words_with_a_note(monkeypatch, tmp_path, text):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    found = text_features([text, f"{text} {text}", "bird"])
    assert "words" in found.description or "characters" in found.description
    assert "know English only" in found.notes[0]


@needs_wordllama
def test_a_model_that_is_used_on_other_scripts_says_that_it_is_english(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    mixed = ["a bird", "birds sing", "птица"]  # 14 Latin letters of 19
    assert "26% of the letters are not in the Latin script" in text_features(mixed).notes[0]
    assert "knows English" in text_features(["птица", "поёт"], method="wordllama").notes[0]
    assert text_features(["un été", "straße"]).notes == ()


@needs_wordllama
def test_many_texts_are_reduced_in_batches_as_a_sample_of_them(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    monkeypatch.setattr("likewise.features._texts._MOST_FITTED", 45)
    monkeypatch.setattr("likewise.features._texts._BATCH", 7)
    texts = [f"{animal} number {number}" for animal in ("bird", "cat", "dog") for number in range(30)]
    expected = TextFeatures("wordllama", n_features=5).fit(texts[::2]).transform(texts)
    np.testing.assert_allclose(
        TextFeatures("wordllama", n_features=5).fit_transform(texts), expected, atol=1e-5
    )


def test_scripts_without_spaces_are_compared_by_pairs_of_characters():
    texts = ["股票今天下跌", "股票今天上涨", "小鸟在唱歌", "小鸟在飞翔"]
    found = text_features(texts, method="words")
    assert "characters and pairs of them" in found.description
    assert np.linalg.norm(found.X[0] - found.X[1]) < np.linalg.norm(found.X[0] - found.X[2])


@needs_wordllama
def test_very_long_texts_one_emoji_and_half_a_character_have_finite_features():
    X = TextFeatures("wordllama").fit_transform(["bird " * 10_000, "🐦", "a", "", "half \ud83d a bird"])
    assert np.isfinite(X).all()
    assert (X[3] == 0).all()


def test_a_function_of_the_user_computes_the_rows():
    texts = ["ab", "abc", "abcd"]
    found = text_features(texts, method=lambda texts: np.array([[len(each), 1] for each in texts]))
    assert np.diff(np.abs(found.X[:, 0]), 2) == pytest.approx(2 * np.abs(found.X[0, 0]))  # -a, 0, a
    assert "2 numbers from <lambda>" in found.description
    with pytest.raises(ValueError, match=r"shape \(1, 1\).* for 2 texts"):
        text_features(["a", "b"], method=lambda texts: np.ones((1, 1)))
    with pytest.raises(ValueError, match=r"NaN or infinity for .b."):
        text_features(["a", "b"], method=lambda texts: np.array([[1.0], [np.nan]]))


def test_new_texts_are_transformed_as_those_of_the_fit():
    transformer = TextFeatures("words").fit(TEXTS)
    np.testing.assert_allclose(transformer.transform(TEXTS[1:3]), transformer.fit_transform(TEXTS)[1:3])
    assert len(transformer.get_feature_names_out()) == transformer.transform(["bird"]).shape[1]


def test_empty_texts_become_zeros_and_are_not_passed_to_the_function():
    received = []

    def encode(texts):
        received.extend(texts)
        return [[len(text), text.count("s")] for text in texts]

    features = TextFeatures(encode)
    X = features.fit_transform([*TEXTS, None, "  "])
    assert received == TEXTS[:4]
    assert (X[4:] == 0).all()
    np.testing.assert_array_equal(X[:4], TextFeatures(encode).fit_transform(TEXTS[:4]))
    np.testing.assert_allclose(features.transform(["", *TEXTS]), [X[4], *X[:5]], atol=1e-12)
    assert features.transform(["", ""]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(FileFormatError, match="every text is empty"):
        TextFeatures(encode).fit(["", None])


def test_texts_in_a_pipeline_and_in_a_table_of_one_column():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"message": [*TEXTS[:4], None]})
    shuffled = table["message"].sample(frac=1, random_state=0).astype("string")  # pandas marks gaps with NA
    assert len(text_features(shuffled, method="words").failed) == 1
    assert len(text_features([*TEXTS[:4], float("nan")], method="words").failed) == 1
    labels = make_pipeline(TextFeatures("words"), KMeans(2, n_init=3, random_state=0)).fit_predict(table)
    assert labels[2] == labels[3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("one text", "expected a list of texts; got one text"),
        ([], "expected at least one text"),
        (["a", 3], "row 1 is 3 of type int"),
        (np.array([["a", "b"]]), "expected one column of texts; got 2"),
    ],
)
def test_what_is_not_a_list_of_texts_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        TextFeatures("words").fit(given)
