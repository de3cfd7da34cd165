"""Validation of the parameters of an interview."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._blocks import Block, Rows, as_rows, is_distributed
from likewise.active._pool import LARGE, Pool
from likewise.active._questions import Question
from likewise.active._state import NEEDS, Strategy, check_rows
from likewise.base import check_finite, describe_too_few_clusters, integer, warn_caller
from likewise.exceptions import SupervisionError, TooFewClustersWarning
from likewise.supervision import RowIds, Supervision
from likewise.supervision._index import check_row_labels


def check_integer(name: str, value: Any, *, low: int) -> int:
    """Check that a value is an integer of at least `low`."""
    rule = integer(low)
    if not rule.holds(value):
        raise ValueError(f"Interview: {name} must be {rule.expected}, got {value!r}.")
    return int(value)


def check_data(X: Any, pool: Any) -> tuple[Any, Pool | None]:
    """Return the rows, as an array without a pool, and the pool if one is used.

    With "auto" this depends only on the number of rows; a small file is read into memory.
    """
    if pool is not None and pool != "auto" and not isinstance(pool, Pool):
        raise TypeError(f"Interview: pool must be a Pool, 'auto' or None, got {pool!r}.")
    if is_distributed(X) or (isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub"):
        X = as_rows(X)
    if not isinstance(X, Rows):
        X = check_rows(X)
        if pool is None or (pool == "auto" and len(X) <= LARGE):
            return X, None
        return as_rows(X), Pool() if pool == "auto" else pool
    if not len(X) or not X.shape[1]:
        raise ValueError(
            f"Interview: X has {len(X)} rows and {X.shape[1]} columns; expected at least one of each."
        )
    check_finite(X, "Interview")
    if len(X) > LARGE and pool is None:
        raise ValueError(
            f"Interview: pool=None needs all rows in memory, but X is a {type(X).__name__} of {len(X):,} "
            "rows. Pass an array, or leave pool out."
        )
    if pool is None or (pool == "auto" and len(X) <= LARGE):
        return check_rows(np.concatenate(list(X.map(_return_block)))), None
    return X, Pool() if pool == "auto" else pool


def _return_block(block: Block) -> Any:
    return block.X


def check_strategy(strategy: Any) -> Strategy:
    """Return the strategy, looked up by name if necessary; raise an error if it is not a strategy."""
    if isinstance(strategy, type) or not all(hasattr(strategy, part) for part in ("name", "needs", "choose")):
        raise TypeError(
            "Interview: expected a strategy such as RandomPairs(), with name, needs and choose, or the name "
            f"of a strategy, such as 'npu'; got {strategy!r}."
        )
    if unknown := set(strategy.needs) - set(NEEDS):
        raise ValueError(
            f"Interview: the strategy {strategy.name!r} needs {', '.join(map(repr, sorted(unknown)))}; "
            f"expected any of {', '.join(map(repr, NEEDS))}, or an empty set if it needs no model."
        )
    found: Strategy = strategy
    return found


def check_hints(supervision: Any, n_samples: int, X: Any) -> Supervision:
    """Check that the hints are for these rows; None becomes empty hints."""
    if supervision is None:
        return Supervision.empty(n_samples)
    if not isinstance(supervision, Supervision) or supervision.n_samples != n_samples:
        raise SupervisionError(
            f"Interview: supervision must be hints for the {n_samples} rows, got {supervision!r}. Create "
            "hints with Supervision.from_links(len(X), must=[(0, 3)], cannot=[(1, 7)])."
        )
    check_row_labels(supervision, X, "Interview")
    return supervision


def check_ids(ids: Any, n_samples: int) -> RowIds | None:
    """Check the ids of the rows, if there are any."""
    if ids is None:
        return None
    names = RowIds.from_ids(ids)
    if len(names) != n_samples:
        raise SupervisionError(f"Interview: expected one id per row, {n_samples}; got {len(names)}.")
    return names


def check_n_clusters(n_clusters: Any, model: Any, discover: bool, n_samples: int) -> int | None:
    """Return the number of clusters, as given or from the model; None if it is unknown."""
    of_model = getattr(model, "n_clusters", None)
    if discover and model is not None and of_model is None:
        raise ValueError(
            f"Interview: discover=True sets the parameter n_clusters, which {type(model).__name__} does not "
            "have."
        )
    if n_clusters is None:
        n_clusters = 2 if discover and model is None else of_model
    elif of_model is not None and of_model != n_clusters and not discover:
        raise ValueError(
            f"Interview: n_clusters={n_clusters}, but the model has n_clusters={of_model}. Set only one of "
            "them."
        )
    if n_clusters is None:
        return None
    k = check_integer("n_clusters", n_clusters, low=2)
    if k > n_samples:
        raise ValueError(
            f"Interview: n_clusters={k}, but there are only {n_samples} rows. Use fewer clusters."
        )
    return k


def warn_of_too_few_clusters(hints: Supervision, n_clusters: int | None) -> None:
    """Warn if the hints cannot-link more rows to one another than there are clusters."""
    if n_clusters is None or not (len(hints.cannot) or len(hints.cannot_groups)):
        return
    rows, few = hints.select_kinds("links").restrict_to_hinted()
    too_few = describe_too_few_clusters(
        TooFewClustersWarning, "Interview", few.closure(on_conflict="drop"), n_clusters, few, rows
    )
    if too_few is not None:
        warn_caller(too_few)


def check_question(question: Any, n_samples: int) -> None:
    """Raise an error if an object is not a question about these rows."""
    if not isinstance(question, Question):
        raise SupervisionError(f"expected a Question, as ask() returns; got {question!r}.")
    if max(question.rows) >= n_samples:
        raise SupervisionError(
            f"the question contains row {max(question.rows)}, but the rows are numbered 0 to "
            f"{n_samples - 1}. It may be a question of another interview."
        )
