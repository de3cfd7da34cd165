"""MiniLM (Wang et al., 2020), a sentence encoder of six layers, as an ONNX graph.

A text is cut into word pieces. Each layer computes, for the rows h of the pieces,

    h <- LayerNorm(h + attention(h) W_o),    attention = softmax(Q K^T / sqrt(32)) V in 12 heads,
    h <- LayerNorm(h + gelu(h W_1) W_2).

The embedding is the mean of the last h over the pieces, scaled to unit length.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.features._onnx import OnnxGraph, load_graph

FloatArray = npt.NDArray[np.float32]
N_HEADS = 12
MAX_PIECES = 256
BATCH = 32
_PAD, _NEVER = 0, -1e9


def read_safetensors(data: bytes | memoryview) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a safetensors file: a length, a JSON header and the raw data."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8 : 8 + length]))
    types = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        raw = data[8 + length + start : 8 + length + end]
        arrays[name] = np.frombuffer(raw, dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def build_minilm(
    weights: Mapping[str, npt.NDArray[Any]], *, n_heads: int = N_HEADS, int8: bool = False
) -> bytes:
    """Return the graph, which computes in float32.

    With `int8`, matrix products are computed with integers: weights have a scale for each column, and the
    input of each product one scale for the whole batch. The embedding of a text then depends on its batch.
    """
    graph = OnnxGraph()
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    head = width // n_heads

    def multiply(x: str, name: str, scale: float = 1.0) -> str:
        matrix = graph.constant(weights[f"{name}.weight"].T * np.float32(scale))
        shift = graph.constant(weights[f"{name}.bias"] * np.float32(scale))
        return graph.add("Add", graph.add("MatMul", x, matrix), shift)

    def multiply_int8(x: str, name: str, scale: float = 1.0) -> str:
        matrix = weights[f"{name}.weight"].T * np.float32(scale)
        unit = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 127
        small = graph.constant(np.round(matrix / unit), np.int8)
        rounded, step, zero = graph.add_several("DynamicQuantizeLinear", 3, x)
        product = graph.add("Cast", graph.add("MatMulInteger", rounded, small, zero), to=1)
        product = graph.add("Mul", product, graph.add("Mul", step, graph.constant(unit)))
        return graph.add("Add", product, graph.constant(weights[f"{name}.bias"] * np.float32(scale)))

    def normalize(x: str, name: str) -> str:
        scale, shift = graph.constant(weights[f"{name}.weight"]), graph.constant(weights[f"{name}.bias"])
        return graph.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-12)

    dense = multiply_int8 if int8 else multiply
    one, two = graph.constant([1], np.int64), graph.constant([2], np.int64)
    places = weights["embeddings.position_embeddings.weight"][:MAX_PIECES]
    places = places + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.add("Slice", graph.add("Shape", "ids"), one, two)
    words = graph.add("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "ids")
    zero = graph.constant([0], np.int64)
    start = graph.add("Slice", graph.constant(places), zero, length, zero)
    h = normalize(graph.add("Add", words, start), "embeddings.LayerNorm")
    absent = graph.add("Sub", graph.constant(1.0), "mask")
    absent = graph.add("Mul", absent, graph.constant(_NEVER))
    absent = graph.add("Unsqueeze", absent, graph.constant([1, 2], np.int64))
    by_head, whole = graph.constant([0, 0, n_heads, head], np.int64), graph.constant([0, 0, width], np.int64)
    n_layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for layer in range(n_layers):
        name = f"encoder.layer.{layer}"

        def split(part: str, order: list[int], scale: float = 1.0, h: str = h, name: str = name) -> str:
            found = dense(h, f"{name}.attention.self.{part}", scale)
            return graph.add("Transpose", graph.add("Reshape", found, by_head), perm=order)

        q = split("query", [0, 2, 1, 3], 1.0 / math.sqrt(head))
        k, v = split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        weighed = graph.add("Softmax", graph.add("Add", graph.add("MatMul", q, k), absent), axis=-1)
        mixed = graph.add("Transpose", graph.add("MatMul", weighed, v), perm=[0, 2, 1, 3])
        mixed = dense(graph.add("Reshape", mixed, whole), f"{name}.attention.output.dense")
        h = normalize(graph.add("Add", mixed, h), f"{name}.attention.output.LayerNorm")
        u = dense(h, f"{name}.intermediate.dense")
        error = graph.add("Erf", graph.add("Mul", u, graph.constant(math.sqrt(0.5))))
        u = graph.add("Mul", u, graph.add("Add", error, graph.constant(1.0)))
        u = dense(graph.add("Mul", u, graph.constant(0.5)), f"{name}.output.dense")
        h = normalize(graph.add("Add", u, h), f"{name}.output.LayerNorm")
    present = graph.add("Unsqueeze", "mask", two)
    total = graph.add("ReduceSum", graph.add("Mul", h, present), one, keepdims=0)
    mean = graph.add("Div", total, graph.add("ReduceSum", present, one, keepdims=0))
    found = graph.add("LpNormalization", mean, axis=-1, p=2)
    return graph.serialize({"ids": (np.int64, 2), "mask": (np.float32, 2)}, found)


def make_encoder(
    graph: bytes | os.PathLike[str], tokenizer: os.PathLike[str]
) -> Callable[[Sequence[str]], FloatArray]:
    """Return a function that embeds texts; in float32 a result hardly depends on the other texts (4e-8)."""
    from likewise._optional import require

    pieces = require("tokenizers", extra="text").Tokenizer.from_file(os.fspath(tokenizer))
    pieces.enable_truncation(MAX_PIECES)
    pieces.no_padding()
    session = load_graph(graph, extra="onnx")
    output = session.get_outputs()[0].name

    def encode(texts: Sequence[str]) -> FloatArray:
        found = [each.ids for each in pieces.encode_batch(list(texts))]
        order = sorted(range(len(found)), key=lambda row: len(found[row]))  # little padding in a batch
        rows: list[FloatArray] = []
        for first in range(0, len(order), BATCH):
            batch = [found[row] for row in order[first : first + BATCH]]
            ids = np.full((len(batch), max(map(len, batch))), _PAD, dtype=np.int64)
            for row, each in enumerate(batch):
                ids[row, : len(each)] = each
            mask = (np.arange(ids.shape[1]) < np.array([[len(each)] for each in batch])).astype(np.float32)
            rows.append(session.run([output], {"ids": ids, "mask": mask})[0])
        X = np.concatenate(rows)
        X[order] = X.copy()
        return X

    return encode
