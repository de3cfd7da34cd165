"""Compute features of more inputs exactly as those of the first ones, and keep what that takes in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from likewise._words import format_count
from likewise.exceptions import FileFormatError
from likewise.features._features import Features, Step
from likewise.features._images import ImageFeatures
from likewise.features._sounds import SoundFeatures
from likewise.features._tabular import repeat_table_features
from likewise.features._texts import TextFeatures

_PLAIN = "plain"  # the array with everything that is no array, as JSON


def repeat_features(
    recipe: Mapping[str, Any],
    inputs: Any,
    *,
    cache: str | os.PathLike[str] | None = None,
    progress: Step | None = None,
) -> Features:
    """Compute features of other inputs with what was learned from the first ones.

    Components, means, scales, words and levels stay those of the first inputs, so their features do not
    change, and only the new inputs are read. A word or level that the first inputs did not have adds nothing.

    Parameters
    ----------
    recipe : mapping of str to object
        ``Features.recipe`` of the first inputs.
    inputs : sequence or mapping
        What the function was given that made the recipe: texts, paths, or the columns of a table.
    cache : path or None, default=None
        A folder in which to keep what was computed of texts and files.
    progress : callable or None
        Called as ``progress(n_done, n_total)`` for each file.

    Returns
    -------
    Features
        One row for each input that can be read; ``failed`` lists the others.

    Examples
    --------
    >>> from likewise.features import table_features, repeat_features
    >>> first = table_features({"cm": [1.0, 2.0, 3.0]})
    >>> repeat_features(first.recipe, {"cm": [2.0, 9.0]}).X.round(2).tolist()
    [[0.0], [8.57]]
    """
    kind = recipe.get("kind")
    if kind == "text":
        return _repeat_texts(recipe, list(inputs), cache)
    if kind == "table":
        return repeat_table_features(recipe, inputs)
    if kind in ("picture", "sound"):
        make = ImageFeatures if kind == "picture" else SoundFeatures
        return make(recipe["method"], cache=cache)._repeat(inputs, recipe, progress)
    raise FileFormatError(
        f"the features of more inputs cannot be computed: the kind of the recipe is {kind!r}; expected text, "
        "picture, sound or table."
    )


def _repeat_texts(
    recipe: Mapping[str, Any], texts: Sequence[str | None], cache: str | os.PathLike[str] | None
) -> Features:
    failed = {row: "it is empty." for row, text in enumerate(texts) if not (text or "").strip()}
    kept = [text for row, text in enumerate(texts) if row not in failed]
    if not kept:
        raise FileFormatError(f"{format_count(len(texts), 'text')} given, and none has words.")
    return Features(TextFeatures._from_recipe(recipe, cache).transform(kept), "", (), failed, recipe)


def write_recipe(path: Path, recipe: Mapping[str, Any]) -> None:
    """Write a recipe to a ``.npz`` file without Python objects."""
    arrays = {name: value for name, value in recipe.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in recipe.items() if name not in arrays}
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **{_PLAIN: np.array(json.dumps(plain))}, **arrays)


def read_recipe(path: Path) -> dict[str, Any]:
    """Read a recipe; raise an error that describes the problem."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
            plain: dict[str, Any] = json.loads(str(arrays.pop(_PLAIN)))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise FileFormatError(f"{path} cannot be read: {error}.") from error
    return plain | arrays
