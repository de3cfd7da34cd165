"""More inputs get the features that they would have had among the first ones, after a trip through a file."""

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from likewise.exceptions import FileFormatError
from likewise.features import (
    image_features,
    read_recipe,
    repeat_features,
    sound_features,
    table_features,
    text_features,
    write_recipe,
)

TEXTS = [
    f"the {color} {animal} number {n}"
    for n in range(9)
    for color in ("red", "blue")
    for animal in ("cat", "owl")
]


def through_file(folder, recipe):
    write_recipe(folder / "recipe.npz", recipe)
    return read_recipe(folder / "recipe.npz")


@pytest.mark.parametrize("n_features", [4, 100], ids=["components", "words"])
@pytest.mark.parametrize(
    "texts", [TEXTS, ["赤い猫と犬", "青い鳥", "赤い鳥と猫", "青い犬"]], ids=["words", "characters"]
)
def test_words(tmp_path, texts, n_features):
    made = text_features(texts, method="words", n_features=n_features)
    again = repeat_features(through_file(tmp_path, made.recipe), [*texts[:3], "", "zebra"])
    np.testing.assert_allclose(again.X[:3], made.X[:3], atol=1e-10)
    assert again.failed == {3: "it is empty."}
    assert len(again.X) == 4


def test_a_model_of_texts(tmp_path, monkeypatch):
    vectors = {
        text: np.random.default_rng(len(text) + 7 * at).normal(size=8) for at, text in enumerate(TEXTS)
    }
    encode = lambda name, texts: np.stack([vectors[text] for text in texts]).astype(np.float32)  # noqa: E731
    monkeypatch.setattr("likewise.features._texts._encode_with", encode)
    made = text_features(TEXTS, method="wordllama")
    again = repeat_features(through_file(tmp_path, made.recipe), TEXTS[5:9])
    np.testing.assert_allclose(again.X, made.X[5:9], atol=1e-5)


def test_pictures_and_sounds(tmp_path):
    rng = np.random.default_rng(0)
    pictures, sounds = [], []
    for at in range(6):
        pictures.append(tmp_path / f"{at}.png")
        Image.fromarray(rng.integers(0, 255, (20, 20, 3), dtype=np.uint8)).save(pictures[-1])
        sounds.append(tmp_path / f"{at}.wav")
        wave = np.sin(np.arange(8000) * (0.1 + 0.05 * at)) + 0.1 * rng.normal(size=8000)
        wavfile.write(sounds[-1], 8000, wave.astype(np.float32))
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    for make, paths, options in (
        (image_features, pictures, {"method": "pixels"}),
        (sound_features, sounds, {}),
    ):
        made = make(paths, **options)
        again = repeat_features(through_file(tmp_path, made.recipe), [paths[4], broken, paths[1]])
        np.testing.assert_allclose(again.X, made.X[[4, 1]], atol=1e-5)
        assert set(again.failed) == {1}


def test_tables(tmp_path):
    columns = {
        "cm": ["1", "", "3", "7.5", "2"],
        "huge": [1e200, 2e200, -1e200, 5e199, 0.0],
        "day": ["2024-01-01", "2024-01-05", "2024-02-01", "2024-01-01", "2023-01-01"],
        "who": ["a", "b", "a", "", "c"],
        "flat": ["x"] * 5,
    }
    made = table_features(columns, most_levels=3)
    again = repeat_features(through_file(tmp_path, made.recipe), columns)
    np.testing.assert_allclose(again.X, made.X, atol=1e-12)
    other = {"cm": ["x"], "huge": [None], "day": [""], "who": ["never seen"], "flat": ["y"]}
    odd = repeat_features(made.recipe, other).X
    assert odd.shape == (1, made.X.shape[1])
    assert np.isfinite(odd).all()
    with pytest.raises(FileFormatError, match="the column 'cm' is missing"):
        repeat_features(made.recipe, {"huge": [1.0]})


def test_bad_recipes(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"PK nothing")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_recipe(tmp_path / "x.npz")
    with pytest.raises(FileFormatError, match="the kind of the recipe is None"):
        repeat_features(text_features(["a b", "c d"], method=lambda texts: np.eye(len(texts))).recipe, ["a"])
