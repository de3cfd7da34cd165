"""Text features: embeddings of installed models, or TF-IDF of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likewise._words import format_count, truncate
from likewise.exceptions import FileFormatError
from likewise.features._cache import RowCache, digest_text
from likewise.features._features import Features, FloatArray, Reduction, Step, find_scale
from likewise.features._models import MODELS, can_run, open_model

if TYPE_CHECKING:
    import os

Encoder = Callable[[Sequence[str]], Any]
_MANY = 20_000
_TABLE_WEIGHT = 0.7  # of WordLlama beside MiniLM: about half of its squared length
_BATCH = 2048
_MOST_FITTED = 50_000  # texts to which the components are fitted
_SAMPLE = 1000  # texts, to detect their script
_MOSTLY_LATIN = 0.9  # share of the letters, below which a note says that the models know English only
# Scripts that put no space between words: Thai to Burmese, Khmer, Japanese and Chinese.
_UNSPACED = ((0x0E00, 0x10A0), (0x1780, 0x1800), (0x3040, 0x3100), (0x3400, 0xA000), (0x20000, 0x30000))
METHODS = ("words", "wordllama", "minilm", "minilm-int8", "minilm+wordllama")
_TITLES = {"minilm": "MiniLM", "minilm-int8": "MiniLM in int8", "wordllama": "WordLlama"}


class TextFeatures(TransformerMixin, BaseEstimator):
    """Compute features of texts with the best installed model, or from their words.

    A model of embeddings returns one vector of unit length for each text. If MiniLM and WordLlama are both
    installed, 0.7 times the vector of WordLlama is appended to that of MiniLM. Without a model, a text is
    the TF-IDF weights of its words. Principal components (for words truncated SVD) reduce the rows to at most
    `n_features` numbers, which are scaled by one factor to a mean variance of 1. Nothing is downloaded.

    Parameters
    ----------
    method : {"auto", "words", "wordllama", "minilm", "minilm-int8", "minilm+wordllama"} or callable, \
            default="auto"
        "auto" uses all installed models, and "words" if there is none or if most letters of the first 1,000
        texts are not Latin, since the models know English only. A callable gets a list of all texts, and
        returns an array with one row for each; with more than 50,000 texts it first gets a sample of them.
        "minilm-int8" takes 0.4 times as long as "minilm", but the row of a text depends on its batch.
    n_features : int, default=100
        Maximum number of features.
    cache : path or None, default=None
        A folder in which to keep the vectors of MiniLM, so that each text is embedded once.
    random_state : int, default=0
        The seed of the truncated SVD.

    Attributes
    ----------
    method_ : str or callable
        The method that is used.
    description_ : str
        A description of the features for people.
    notes_ : tuple of str
        Further remarks on the texts.
    n_features_out_ : int
        The number of features.

    See Also
    --------
    text_features : The same as a function, which leaves out empty texts.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.pipeline import make_pipeline
    >>> from likewise.features import TextFeatures
    >>> texts = ["a red car", "a fast red car", "two small cats", "a small cat"]
    >>> labels = make_pipeline(TextFeatures(method="words"), KMeans(2, random_state=0)).fit_predict(texts)
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """

    _named = "the texts"  # in messages

    def __init__(
        self,
        method: str | Encoder = "auto",
        *,
        n_features: int = 100,
        cache: str | os.PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.n_features = n_features
        self.cache = cache
        self.random_state = random_state

    def fit(self, X: Iterable[str | None], y: object = None) -> Self:
        """Choose the method, and learn the vocabulary or the principal components.

        Parameters
        ----------
        X : iterable of str or None
            The texts.
        y : object
            Ignored.

        Returns
        -------
        self : TextFeatures
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    def fit_transform(
        self, X: Iterable[str | None], y: object = None, *, progress: Step | None = None
    ) -> FloatArray:
        """Fit the transformer, and return the features of the same texts.

        Parameters
        ----------
        X : iterable of str or None
            The texts.
        y : object
            Ignored.
        progress : callable or None
            Called as ``progress(n_done, n_total)`` while a model embeds the texts.

        Returns
        -------
        X_new : ndarray of shape (n_texts, n_features)
            The features; zeros for an empty text.
        """
        texts = _list_texts(X)
        self.notes_: tuple[str, ...] = ()
        self.method_ = self._choose_method(texts)
        if self.method_ == "words":
            found = self._fit_words(texts)
            self._scale = find_scale(found)
            found /= self._scale
        else:
            found = self._fit_encoded(texts, progress)
        self.n_features_out_ = found.shape[1]
        return found

    def transform(self, X: Iterable[str | None]) -> FloatArray:
        """Return the features of texts.

        Parameters
        ----------
        X : iterable of str or None
            The texts.

        Returns
        -------
        X_new : ndarray of shape (n_texts, n_features)
            The features; zeros for an empty text.
        """
        check_is_fitted(self)
        texts = _list_texts(X)
        if self.method_ != "words":
            kept = [text for text in texts if text.strip()]
            blocks = [self._reduction.apply(block) for block in self._encode(kept)] if kept else []
            found = np.concatenate([np.empty((0, self.n_features_out_), dtype=np.float32), *blocks])
            return _insert_zeros(found, texts)
        weights = self._vectorizer.transform(texts)
        found = weights.toarray() if self._components is None else weights @ self._components.T
        return np.asarray(found / self._scale)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the names of the features: text0, text1 and so on.

        Parameters
        ----------
        input_features : object
            Ignored.

        Returns
        -------
        names : ndarray of str
            One name for each feature.
        """
        check_is_fitted(self)
        return np.array([f"text{column}" for column in range(self.n_features_out_)], dtype=object)

    def _get_recipe(self) -> dict[str, Any]:
        """Return what was learned; nothing for a function, which cannot be kept in a file."""
        if not isinstance(self.method_, str):
            return {}
        recipe: dict[str, Any] = {"kind": "text", "method": self.method_, "n_features": self.n_features_out_}
        if self.method_ != "words":
            return recipe | self._reduction.get_arrays()
        recipe |= {
            "words": np.array(self._vectorizer.get_feature_names_out(), dtype=str),
            "idf": self._vectorizer.idf_,
            "characters": self._vectorizer.analyzer == "char",
            "scale": self._scale,
        }
        return recipe if self._components is None else recipe | {"components": self._components}

    @classmethod
    def _from_recipe(cls, learned: Mapping[str, Any], cache: str | os.PathLike[str] | None) -> TextFeatures:
        """Return a fitted transformer."""
        found = cls(learned["method"], cache=cache)
        found.method_, found.n_features_out_ = learned["method"], learned["n_features"]
        if found.method_ != "words":
            found._reduction = Reduction.from_arrays(learned)
            return found
        found._vectorizer = _make_vectorizer(learned["characters"], vocabulary=learned["words"].tolist())
        found._vectorizer.idf_ = learned["idf"]
        found._scale, found._components = learned["scale"], learned.get("components")
        return found

    def _choose_method(self, texts: list[str]) -> str | Encoder:
        method = self.method
        if callable(method):
            return method
        if method not in ("auto", *METHODS):
            expected = ", ".join(map(repr, ("auto", *METHODS)))
            raise ValueError(f"method must be one of {expected}, or a function; got {method!r}.")
        if method == "words":
            return method
        installed = [name for name in ("minilm", "wordllama") if can_run(MODELS[name])]
        if method == "auto" and not installed:
            self.notes_ = ("no model of texts is installed; `likewise models` shows how to get one.",)
            return "words"
        latin, _ = _measure_script(texts)
        if method == "auto" and latin < 0.5:
            self.notes_ = (
                "most texts are not in the Latin script, and the installed models know English only; the "
                "features are words instead.",
            )
            return "words"
        if latin < _MOSTLY_LATIN:
            self.notes_ = (
                f"{1 - latin:.0%} of the letters are not in the Latin script, and the model knows English "
                "only; compare it with the method 'words'.",
            )
        return "+".join(installed) if method == "auto" else method

    def _fit_encoded(self, texts: list[str], progress: Step | None) -> FloatArray:
        """Fit the reduction to a sample of the texts, and reduce all of them in batches."""
        kept = [text for text in texts if text.strip()]
        if not kept:
            raise FileFormatError("every text is empty.")
        step = -(-len(kept) // _MOST_FITTED)
        n_sampled = len(kept[::step]) if step > 1 else 0
        total = len(kept) + n_sampled

        def report(done: int, _: int) -> None:
            if progress is not None:
                progress(done, total)

        def report_after_sample(done: int, _: int) -> None:
            report(n_sampled + done, total)

        sample = np.concatenate(list(self._encode(kept[::step], report)))
        self._reduction = Reduction(self.n_features, equal_weights=False)
        found, source = self._reduction.fit(sample), _describe(self.method_, sample.shape[1])
        self.description_ = f"{format_count(found.shape[1], 'component')} of {source}"
        if step > 1:
            del sample
            found, first = np.empty((len(kept), found.shape[1]), dtype=found.dtype), 0
            for block in self._encode(kept, report_after_sample):
                found[first : first + len(block)] = self._reduction.apply(block)
                first += len(block)
        return _insert_zeros(found, texts)

    def _encode(self, texts: list[str], progress: Step | None = None) -> Iterator[FloatArray]:
        """Yield the rows of the model, a batch at a time."""
        if callable(self.method_):
            yield _check_encoded(np.asarray(self.method_(texts)), texts)
            return
        encoders = [partial(_encode_with, name) for name in self.method_.split("+")]
        is_kept = self.method_.startswith("minilm") and self.method_ != "minilm-int8"
        cache = RowCache(self.cache if is_kept else None, "minilm")
        try:
            for first in range(0, len(texts), _BATCH):
                batch = texts[first : first + _BATCH]
                parts = [_encode_once(batch, encoders[0], cache)]
                parts += [encode(batch) * np.float32(_TABLE_WEIGHT) for encode in encoders[1:]]
                yield np.hstack(parts)
                if progress is not None:
                    progress(first + len(batch), len(texts))
        finally:
            cache.save()

    def _fit_words(self, texts: list[str]) -> FloatArray:
        from sklearn.decomposition import TruncatedSVD

        pairs = _measure_script(texts)[1] > 0.5
        self._vectorizer = _make_vectorizer(pairs)
        analyze = self._vectorizer.build_analyzer()
        if not any(analyze(text) for text in texts):
            raise FileFormatError(
                f"no cell of {self._named} contains a word of at least two letters. Choose other columns."
            )
        words = self._vectorizer.fit_transform(texts)
        n_words, unit = words.shape[1], "characters and pairs of them" if pairs else "words"
        if n_words <= self.n_features:
            self._components = None
            self.description_ = f"{n_words} {unit}"
            return np.asarray(words.toarray(), dtype=np.float64)
        most = min(self.n_features, len(texts))
        # The last components of many texts are noise; two iterations find the others in half the time.
        rounds = 5 if len(texts) <= _MANY else 2
        svd = TruncatedSVD(most, n_iter=rounds, random_state=self.random_state)
        found = svd.fit_transform(words)
        self._components = svd.components_
        self.description_ = f"{most} components of {n_words:,} {unit}"
        return np.asarray(found, dtype=np.float64)


def text_features(
    texts: Sequence[str | None],
    *,
    n_features: int = 100,
    method: str | Encoder = "auto",
    named: str = "the texts",
    cache: str | os.PathLike[str] | None = None,
    progress: Step | None = None,
    random_state: int = 0,
) -> Features:
    """Compute features of texts with the best installed model, or from their words.

    Parameters
    ----------
    texts : sequence of str or None
        The texts. Empty ones are left out, and listed in ``failed``.
    n_features : int, default=100
        Maximum number of features.
    method : {"auto", "words", "wordllama", "minilm", "minilm-int8", "minilm+wordllama"} or callable, \
            default="auto"
        See :class:`TextFeatures`.
    named : str
        The name of the texts in messages.
    cache : path or None, default=None
        A folder in which to keep the vectors of MiniLM, so that each text is embedded once.
    progress : callable or None
        Called as ``progress(n_done, n_total)``.
    random_state : int, default=0
        The seed of the truncated SVD with "words".

    Returns
    -------
    Features
        One row for each text that is not empty.

    Examples
    --------
    >>> from likewise.features import text_features
    >>> found = text_features(["a red car", "", "a small cat"], method="words")
    >>> found.X.shape, dict(found.failed)
    ((2, 4), {1: 'it is empty.'})
    """
    whole = _list_texts(texts) if len(texts) else []
    failed = {row: "it is empty." for row, text in enumerate(whole) if not text.strip()}
    if len(failed) == len(whole):
        raise FileFormatError(f"every cell of {named} is empty; there is no text to learn from.")
    kept = [text for text in whole if text.strip()]
    transformer = TextFeatures(method, n_features=n_features, cache=cache, random_state=random_state)
    transformer._named = named
    X = transformer.fit_transform(kept, progress=progress)
    notes = list(transformer.notes_)
    if failed:
        is_or_are = "is" if len(failed) == 1 else "are"
        notes.append(f"{format_count(len(failed), 'row')} without text in {named} {is_or_are} left out.")
    recipe = transformer._get_recipe()
    return Features(X, f"{transformer.description_} of {named}", tuple(notes), failed, recipe)


def _make_vectorizer(characters: bool, **options: Any) -> Any:
    """Return TF-IDF of words, or of characters and pairs of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if characters:
        options |= {"analyzer": "char", "ngram_range": (1, 2)}
    return TfidfVectorizer(sublinear_tf=True, **options)


def _is_missing(cell: Any) -> bool:
    """Return True for NaN and NA, with which pandas marks missing values."""
    try:
        return bool(cell != cell)
    except TypeError:  # the truth of NA is undefined
        return True


def _list_texts(X: Any) -> list[str]:
    """Return a sequence, an array or a table of one column as a list of texts."""
    if isinstance(X, str):
        raise ValueError("expected a list of texts; got one text. Put it into a list.")
    if getattr(X, "ndim", 1) == 2:
        if X.shape[1] != 1:
            raise ValueError(f"expected one column of texts; got {X.shape[1]}.")
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    texts = []
    for row, text in enumerate(X):
        if text is None or _is_missing(text):
            text = ""
        if not isinstance(text, str):
            raise ValueError(f"expected texts; row {row} is {text!r} of type {type(text).__name__}.")
        texts.append(text)
    if not texts:
        raise ValueError("expected at least one text; got none.")
    return texts


def _insert_zeros(found: FloatArray, texts: list[str]) -> FloatArray:
    """Return the rows of the texts that are not empty, with rows of zeros for the others between them."""
    if len(found) == len(texts):
        return found
    whole = np.zeros((len(texts), found.shape[1]), dtype=found.dtype)
    whole[[bool(text.strip()) for text in texts]] = found
    return whole


def _check_encoded(found: np.ndarray, texts: list[str]) -> FloatArray:
    if found.ndim != 2 or len(found) != len(texts) or found.dtype.kind not in "fiub":
        raise ValueError(
            f"method returned an array of shape {found.shape} and type {found.dtype} for {len(texts)} texts; "
            "expected one row of numbers for each text."
        )
    found = found.astype(np.float32 if found.dtype.itemsize <= 4 else np.float64)
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        text = truncate(texts[row], 60)
        raise ValueError(f"method returned NaN or infinity for {text!r}; expected finite numbers.")
    return found


def _measure_script(texts: list[str]) -> tuple[float, float]:
    """Return the shares of letters in the Latin script, and in scripts that put no space between words."""
    n_latin = n_unspaced = n_letters = 0
    for text in islice(texts, _SAMPLE):
        for letter in filter(str.isalpha, text[:_SAMPLE]):
            n_letters += 1
            code = ord(letter)
            n_latin += code < 0x250 or 0x1E00 <= code < 0x1F00
            n_unspaced += any(first <= code < end for first, end in _UNSPACED)
    return (n_latin / n_letters, n_unspaced / n_letters) if n_letters else (1.0, 0.0)


def _encode_once(
    texts: list[str], encode: Callable[[Sequence[str]], FloatArray], cache: RowCache
) -> FloatArray:
    """Return the rows of the texts, from the cache where it has them."""
    keys = [digest_text(text) for text in texts]
    rows = {key: row for key in keys if (row := cache.get(key)) is not None}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
    if missing:
        for key, row in zip(missing, encode(list(missing.values())), strict=True):
            rows[key] = row
            cache.put(key, row)
    return np.stack([rows[key] for key in keys])


def _describe(method: str | Encoder, n_features: int) -> str:
    if callable(method):
        return f"{n_features} numbers from {getattr(method, '__name__', type(method).__name__)}"
    models = " and ".join(_TITLES[name] for name in method.split("+"))
    return f"{n_features} numbers from {models} (English)"


def _encode_with(name: str, texts: Sequence[str]) -> FloatArray:
    """Return the rows of a model, which is loaded when it is first needed."""
    # Half a surrogate pair, from a badly decoded file, is no text for a tokenizer.
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    return _load_encoder(name, open_model(name.removesuffix("-int8")))(clean)


@lru_cache
def _load_encoder(name: str, files: tuple[Path, ...]) -> Callable[[Sequence[str]], FloatArray]:
    from likewise.features import _minilm, _word_table

    if name == "wordllama":
        return _word_table.make_encoder(*files)
    weights = _minilm.read_safetensors(files[0].read_bytes())
    return _minilm.make_encoder(_minilm.build_minilm(weights, int8=name == "minilm-int8"), files[1])
