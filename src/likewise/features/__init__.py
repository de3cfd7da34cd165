"""Numbers for things that are not numbers: pictures, sounds, texts and the rows of a table.

Each function returns :class:`Features`: a matrix, what it is in words, and what could not be read. They need
no model and fetch nothing; where an optional package gives better features and is installed, it is used.
"""

from likewise.features._arrays import array_features
from likewise.features._features import Features
from likewise.features._images import image_features
from likewise.features._sounds import sound_features
from likewise.features._tabular import table_features
from likewise.features._texts import text_features

__all__ = [
    "Features",
    "array_features",
    "image_features",
    "sound_features",
    "table_features",
    "text_features",
]
