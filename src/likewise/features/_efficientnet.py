"""EfficientNet-Lite0 (Tan and Le, 2019), a network trained on ImageNet, as an ONNX graph.

The weights are a PyTorch checkpoint in its old format, a pickle. It is read without PyTorch, and by an
unpickler that refuses everything but arrays, so that a manipulated file cannot run code.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from likewise.features._onnx import OnnxGraph

SIDE = 128  # pixels; the best of 64 to 224 on COIL-20
N_FEATURES = 1280
# Repeats, kernel, stride, expansion, channels of the output.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_STORAGES = {"FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4"}
Array = npt.NDArray[Any]


def read_checkpoint(file: IO[bytes]) -> dict[str, Array]:
    """Return the arrays of a PyTorch checkpoint: three headers, the arrays without data, and the data."""
    for _ in range(3):  # a magic number, the version of the format, and facts about the machine
        _Unpickler(file).load()
    reader = _Unpickler(file)
    described: Mapping[str, _Array] = reader.load()
    flat = {}
    for key in _Unpickler(file).load():
        count = int.from_bytes(file.read(8), "little")
        dtype = np.dtype(reader.storages[key])
        data = file.read(count * dtype.itemsize)
        if len(data) < count * dtype.itemsize:
            raise pickle.UnpicklingError("the data of an array are truncated")
        flat[key] = np.frombuffer(data, dtype=dtype)
    return {name: each.cut(flat) for name, each in described.items() if isinstance(each, _Array)}


class _Array:
    """The place of an array in a block of data."""

    def __init__(
        self, storage: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
    ) -> None:
        self._storage, self._offset, self._shape, self._strides = storage, offset, shape, strides

    def cut(self, flat: Mapping[str, Array]) -> Array:
        """Return the array; some are transposed, since the weights come from TensorFlow."""
        data = flat[self._storage]
        strides = tuple(step * data.itemsize for step in self._strides)
        last = self._offset + sum(
            (size - 1) * step for size, step in zip(self._shape, self._strides, strict=True)
        )
        if min(self._offset, *self._strides, 0) < 0 or last >= len(data):
            raise pickle.UnpicklingError("an array lies outside of its data")
        return np.ndarray(self._shape, data.dtype, data, self._offset * data.itemsize, strides)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.storages: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name == "_rebuild_tensor_v2":
            return _Array
        if module == "torch._utils" and name == "_rebuild_parameter":
            return lambda array, *_: array
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise pickle.UnpicklingError(f"the file refers to {module}.{name}, which is not an array")

    def persistent_load(self, pid: Any) -> str:
        _, dtype, key, *_ = pid
        self.storages[key] = dtype
        return str(key)


def build_efficientnet(weights: Mapping[str, Array], *, classes: bool = False) -> bytes:
    """Return the graph: pixels of shape (n, 3, side, side) to the pooled features, or to class scores.

    Batch normalisation is folded into the convolutions: with s = gamma / sqrt(variance + 1e-3), the kernel is
    W s and the shift is beta - mean s.
    """
    graph = OnnxGraph()
    zero, six = graph.constant(0.0), graph.constant(6.0)

    def convolve(x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, clip: bool = True) -> str:
        scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + 1e-3)
        kernel = weights[f"{name}.weight"] * scale[:, None, None, None]
        shift = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
        x = graph.add(
            "Conv",
            x,
            graph.constant(kernel),
            graph.constant(shift),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",  # the weights come from TensorFlow
        )
        return graph.add("Clip", x, zero, six) if clip else x

    x, channels = convolve("pixels", *_STEM, stride=2), 32
    block = 0
    for repeats, _, first_stride, expansion, out in _STAGES:
        for repeat in range(repeats):
            name = f"_blocks.{block}"
            stride = first_stride if repeat == 0 else 1
            start, wide = x, channels * expansion
            if expansion > 1:
                x = convolve(x, f"{name}._expand_conv", f"{name}._bn0")
            x = convolve(x, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, groups=wide)
            x = convolve(x, f"{name}._project_conv", f"{name}._bn2", clip=False)
            if stride == 1 and channels == out:
                x = graph.add("Add", x, start)
            channels, block = out, block + 1
    x = convolve(x, *_HEAD)
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x), axis=1)
    if classes:
        matrix, shift = graph.constant(weights["_fc.weight"].T), graph.constant(weights["_fc.bias"])
        x = graph.add("Add", graph.add("MatMul", x, matrix), shift)
    return graph.serialize({"pixels": (np.float32, 4)}, x)


_STEM = ("_conv_stem", "_bn0")
_HEAD = ("_conv_head", "_bn1")
