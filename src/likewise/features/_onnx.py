"""Write small ONNX graphs, and run them with onnxruntime on one thread.

The ``onnx`` package would take 31 MB only to write a file, so the few protobuf messages of the format are
encoded here (field numbers from ``onnx.proto``, operator set 17).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise._optional import require

_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3, np.dtype(np.int64): 7}
_OPERATOR_SET, _FORMAT_VERSION = 17, 8


class OnnxGraph:
    """An ONNX graph under construction; each method returns the names of the values that it adds."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._n_values = 0

    def add(self, operator: str, *inputs: str, **attributes: float | int | str | list[int]) -> str:
        """Add a node with one output."""
        return self.add_several(operator, 1, *inputs, **attributes)[0]

    def add_several(
        self, operator: str, n_outputs: int, *inputs: str, **attributes: float | int | str | list[int]
    ) -> list[str]:
        """Add a node with several outputs."""
        names = [self._make_name() for _ in range(n_outputs)]
        parts = [_text(1, each) for each in inputs]
        parts += [*(_text(2, name) for name in names), _text(4, operator)]
        parts += [_field(5, _encode_attribute(key, value)) for key, value in attributes.items()]
        self._nodes.append(_field(1, b"".join(parts)))
        return names

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add an array."""
        array = np.ascontiguousarray(values, dtype=dtype)
        name = self._make_name()
        parts = [_number(1, size) for size in array.shape]
        parts += [_number(2, _TYPES[array.dtype]), _text(8, name), _field(9, array.tobytes())]
        self._constants.append(_field(5, b"".join(parts)))
        return name

    def serialize(self, inputs: Mapping[str, tuple[npt.DTypeLike, int]], output: str) -> bytes:
        """Return the file; `inputs` maps each name to its type and its number of dimensions."""
        described = [_field(11, _encode_input(name, *each)) for name, each in inputs.items()]
        graph = [*self._nodes, _text(2, "likewise"), *self._constants, *described]
        graph.append(_field(12, _encode_input(output, np.float32, None)))
        operators = _field(8, _text(1, "") + _number(2, _OPERATOR_SET))
        return _number(1, _FORMAT_VERSION) + _field(7, b"".join(graph)) + operators

    def _make_name(self) -> str:
        self._n_values += 1
        return f"v{self._n_values}"


def load_graph(graph: bytes | os.PathLike[str], *, extra: str) -> Any:
    """Return an inference session that runs the graph on one thread."""
    runtime = require("onnxruntime", extra=extra)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    source = graph if isinstance(graph, bytes) else os.fspath(graph)
    return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


# ---------------------------------------------------------------------- protobuf


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are encoded in two's complement
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())


def _encode_attribute(name: str, value: float | int | str | list[int]) -> bytes:
    start = _text(1, name)
    if isinstance(value, str):
        return start + _text(4, value) + _number(20, 3)
    if isinstance(value, list):
        return start + b"".join(_number(8, each) for each in value) + _number(20, 7)
    if isinstance(value, int):
        return start + _number(3, value) + _number(20, 2)
    return start + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _encode_input(name: str, dtype: npt.DTypeLike, n_dimensions: int | None) -> bytes:
    kind = _number(1, _TYPES[np.dtype(dtype)])
    if n_dimensions is not None:  # all of unknown size
        kind += _field(2, b"".join(_field(1, _text(2, f"{name}{axis}")) for axis in range(n_dimensions)))
    return _text(1, name) + _field(2, _field(1, kind))
