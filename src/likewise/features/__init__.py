"""Numeric features of images, sounds, texts and tables.

Each function returns :class:`Features`: a matrix, its description, and the inputs that could not be read. The
classes do the same as scikit-learn transformers. Nothing is downloaded. The best installed model is used; see
``likewise models``.
"""

from likewise.features._features import Features as Features
from likewise.features._features import FilePart as FilePart
from likewise.features._features import Step as Step
from likewise.features._features import find_scale as find_scale
from likewise.features._features import one_scale as one_scale
from likewise.features._images import ImageFeatures, image_features
from likewise.features._images import measure_picture as measure_picture
from likewise.features._images import read_picture as read_picture
from likewise.features._models import list_models
from likewise.features._recipes import read_recipe as read_recipe
from likewise.features._recipes import repeat_features
from likewise.features._recipes import write_recipe as write_recipe
from likewise.features._sounds import SoundFeatures, sound_features
from likewise.features._sounds import Wave as Wave
from likewise.features._sounds import log_mel as log_mel
from likewise.features._sounds import measure_seconds as measure_seconds
from likewise.features._sounds import read_wave as read_wave
from likewise.features._tabular import array_features as array_features
from likewise.features._tabular import table_features
from likewise.features._texts import TextFeatures, text_features

__all__ = [
    "ImageFeatures",
    "SoundFeatures",
    "TextFeatures",
    "image_features",
    "list_models",
    "repeat_features",
    "sound_features",
    "table_features",
    "text_features",
]
