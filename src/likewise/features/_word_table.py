"""WordLlama, a table with an embedding for each word piece; a text is the mean of its pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from likewise._optional import require
from likewise.features._minilm import read_safetensors

FloatArray = npt.NDArray[np.float32]
_BATCH = 4096


def make_encoder(
    table: os.PathLike[str], tokenizer: os.PathLike[str]
) -> Callable[[Sequence[str]], FloatArray]:
    """Return a function that embeds texts; a text without pieces becomes zeros."""
    with open(table, "rb") as file:
        rows = next(iter(read_safetensors(file.read()).values())).astype(np.float32)
    pieces = require("tokenizers", extra="text").Tokenizer.from_file(os.fspath(tokenizer))
    pieces.no_padding()
    pieces.no_truncation()

    def encode(texts: Sequence[str]) -> FloatArray:
        found = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
        for first in range(0, len(texts), _BATCH):
            batch = list(texts[first : first + _BATCH])
            ids = [each.ids for each in pieces.encode_batch_fast(batch, add_special_tokens=False)]
            ends = np.cumsum([0, *map(len, ids)])
            flat = np.concatenate([np.asarray(each, dtype=np.int64) for each in ids])
            counts = csr_array((np.ones(len(flat), np.float32), flat, ends), shape=(len(ids), len(rows)))
            found[first : first + len(ids)] = normalize(counts @ rows)  # a sum has the direction of the mean
        return found

    return encode
