"""Every error and warning of likewise, and how they are put into words.

::

    LikewiseError
    ├── SupervisionError (ValueError)           hints that are malformed in themselves
    │   ├── InconsistentSupervisionError        hints that contradict one another
    │   ├── UnsupportedSupervisionError         a kind of hint that the method does not honour
    │   └── InfeasibleSupervisionError          hints that no clustering with these parameters can meet
    ├── HierarchyError (ValueError)             a label hierarchy with a cycle, an unknown label, two parents
    ├── FileFormatError (ValueError)            a file that cannot be read as what it should be
    │   └── UnknownFormatError                  a file whose name does not tell its format
    ├── ChangedFileError                        another program has changed a file that is being written
    ├── LockedError                             another process holds a lock
    ├── PictureError (ValueError)               a file that is not a readable picture
    ├── SoundError (ValueError)                 a file that is not a readable sound
    ├── DatasetNotFoundError (LookupError)      a data set that cannot be had on this machine
    ├── OracleError                             whoever answers failed, or gave what is no answer
    ├── MissingDependencyError (ImportError)    an optional package is wanted and absent
    ├── ClusterError (RuntimeError)             a Dask cluster lost its workers or its scheduler
    ├── StudyError (ValueError)                 a study that cannot be held with these options
    ├── MediaError                              a file of an item that cannot be shown
    │   ├── OutsideFolderError                  its name leads out of the folder of the data
    │   └── NotAFileError                       its name leads to a folder, a pipe or a device
    ├── RequestError                            a request that the studio refuses
    │   ├── NotLoggedInError
    │   ├── NotAllowedError
    │   ├── NotFoundError
    │   ├── ConflictError
    │   ├── BadRequestError
    │   │   └── RequestTooLargeError
    │   └── TooManyRequestsError
    └── StoreError                              the database of the studio failed
        ├── BadValueError
        ├── NameTakenError
        ├── KeyReusedError
        ├── NewerProjectError
        ├── UnreachableError
        ├── InUseError
        ├── DiskFullError
        ├── TransactionConflictError
        └── TransactionUndoneError
    LikewiseWarning (UserWarning)
    ├── InconsistentSupervisionWarning          a soft method goes on with contradictory hints
    │   └── TooFewClustersWarning               cannot-links ask for more clusters than there are
    ├── QuestionableHintsWarning                hints were accepted, but may not mean what was intended
    ├── ThinSupervisionWarning                  hints are too few to learn from, and were not followed
    └── ChangedIdsWarning                       hints were written for other sample ids than these
        └── ShuffledIdsWarning                  for the same ids, in another order

Convergence is reported by scikit-learn's own ``ConvergenceWarning``.

Each carries fields beside its sentence (see :class:`LikewiseError`), so that no program has to search the
text. :func:`render` puts an error, a warning or the reason of a question into words, with ids for row
numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Protocol, Self

__all__ = [
    "BadRequestError",
    "BadValueError",
    "ChangedFileError",
    "ChangedIdsWarning",
    "ClusterError",
    "ConflictError",
    "DatasetNotFoundError",
    "DiskFullError",
    "FileFormatError",
    "HierarchyError",
    "InUseError",
    "InconsistentSupervisionError",
    "InconsistentSupervisionWarning",
    "InfeasibleSupervisionError",
    "KeyReusedError",
    "LikewiseError",
    "LikewiseWarning",
    "LockedError",
    "MediaError",
    "MissingDependencyError",
    "NameTakenError",
    "NewerProjectError",
    "NotAFileError",
    "NotAllowedError",
    "NotFoundError",
    "NotLoggedInError",
    "OracleError",
    "OutsideFolderError",
    "PictureError",
    "QuestionableHintsWarning",
    "RequestError",
    "RequestTooLargeError",
    "ShuffledIdsWarning",
    "SoundError",
    "StoreError",
    "StudyError",
    "SupervisionError",
    "ThinSupervisionWarning",
    "TooFewClustersWarning",
    "TooManyRequestsError",
    "TransactionConflictError",
    "TransactionUndoneError",
    "UnknownFormatError",
    "UnreachableError",
    "UnsupportedSupervisionError",
    "describe_cause",
    "render",
]

_MAX_NAMED = 10  # rows whose ids `render` adds


class Names(Protocol):
    """The names of rows: a sequence, `RowIds`, or a mapping from row numbers or ids."""

    def __getitem__(self, row: Any, /) -> Any:
        """Return the name of a row."""


def get_name(names: Names | None, row: int | str) -> str | None:
    """Return the name of a row, or None if it has none."""
    try:
        return None if names is None else str(names[row])
    except LookupError:
        return None


class _WithFields(BaseException):
    """The fields that errors and warnings share; see `LikewiseError`."""

    # A pickled error is made from its sentence alone, and then given its fields back: every other parameter
    # of a constructor here and below has a default.
    def __init__(
        self,
        message: str = "",
        suggestion: str = "",
        *,
        rows: Iterable[int] = (),
        chain: Iterable[int] = (),
        ids: Iterable[Any] = (),
        parameter: str | None = None,
        kinds: Iterable[str] = (),
        estimator: str | None = None,
        terms: Iterable[str] = (),
    ) -> None:
        self.message = message
        self.suggestion = suggestion
        self.rows = tuple(int(row) for row in rows)
        self.chain = tuple(int(row) for row in chain)
        self.ids = tuple(ids)
        self.parameter = parameter
        self.kinds = tuple(sorted(kinds))
        self.estimator = estimator
        self.terms = tuple(terms)
        super().__init__(self._write({}))

    def _write(self, words: Mapping[str, str]) -> str:
        """Return the sentence, with the words that the reader knows for classes and parameters."""
        text = f"{self.message} {self.suggestion}" if self.suggestion else self.message
        if self.estimator is not None:
            text = text.replace("{estimator}", words.get(self.estimator, self.estimator))
        for term in self.terms:
            text = text.replace("{" + term + "}", words.get(term, term))
        return text

    def add_text(self, text: str) -> Self:
        """Return a copy with more text after the sentence."""
        return self._copy(self.message, f"{self.suggestion} {text}".strip())

    def add_text_before(self, text: str) -> Self:
        """Return a copy with more text in front of the sentence."""
        return self._copy(f"{text}{self.message}", self.suggestion)

    def _copy(self, message: str, suggestion: str) -> Self:
        changed = copy.copy(self)
        changed.message, changed.suggestion = message, suggestion
        changed.args = (changed._write({}),)
        return changed

    def _render(self, names: Names | None, words: Mapping[str, str]) -> str:
        text = self._write(words)
        named = {
            row: name
            for row in (*self.rows, *self.chain)
            if (name := get_name(names, row)) not in (None, str(row))
        }
        if not named:
            return text
        shown = [f"row {row} is {name!r}" for row, name in list(named.items())[:_MAX_NAMED]]
        return f"{text} By id: {', '.join(shown)}{', …' if len(named) > _MAX_NAMED else ''}."


class LikewiseError(_WithFields, Exception):
    """What every error of likewise is: a sentence for people, and fields for programs.

    Parameters
    ----------
    message : str
        What was given and what was expected.
    suggestion : str, default=""
        How to go on. The text of the error is the message followed by the suggestion.
    rows : iterable of int, default=()
        The rows that the error is about.
    chain : iterable of int, default=()
        The chain of must-linked rows that contradicts a cannot-link between the first two of `rows`.
    ids : iterable, default=()
        The sample ids, or names of bags, that the error is about.
    parameter : str, optional
        The parameter that has a wrong value, or that can be set to go on.
    kinds : iterable of str, default=()
        The kinds of hint that the error is about: "links", "triplets", "labels", "bags".
    estimator : str, optional
        The class of the estimator that raised the error. ``{estimator}`` in the message stands for it.
    terms : iterable of str, default=()
        Names of Python, such as classes and parameters, that occur in braces in the message or the
        suggestion. The command line has other words for them.

    Attributes
    ----------
    message, suggestion, rows, chain, ids, parameter, kinds, estimator, terms
        What was given, as tuples where several are.

    Examples
    --------
    >>> from likewise import Supervision
    >>> from likewise.exceptions import SupervisionError, render
    >>> try:
    ...     Supervision.from_links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)]).closure()
    ... except SupervisionError as error:
    ...     print(error.rows, error.chain)
    ...     print(render(error, names=["wren", "owl", "finch"]))
    (0, 2) (0, 1, 2)
    rows 0 and 2 cannot be linked, ... By id: row 0 is 'wren', row 2 is 'finch', row 1 is 'owl'.
    """


class SupervisionError(LikewiseError, ValueError):
    """Hints that are malformed: a wrong index, a pair of one row, a weight that is not positive."""


class InconsistentSupervisionError(SupervisionError):
    """Hints that contradict one another, such as a cannot-link inside a must-link component."""


class UnsupportedSupervisionError(SupervisionError):
    """A kind of hint that the method cannot use. It is refused because to ignore it would be worse."""


class InfeasibleSupervisionError(SupervisionError):
    """Hints that are consistent, yet that no clustering with these parameters can meet."""


class HierarchyError(LikewiseError, ValueError):
    """Labels that form no such hierarchy: a cycle, an unknown label, one parent too many."""


class FileFormatError(LikewiseError, ValueError):
    """A file that cannot be read; the message names the file and the line."""


class UnknownFormatError(FileFormatError):
    """A file whose name does not tell its format, or a format that does not exist."""


class ChangedFileError(LikewiseError):
    """A file is not as this process left it, so that nothing can be appended to it."""


class LockedError(LikewiseError):
    """Another process holds the lock; ``holder`` is what it wrote about itself, empty if it wrote nothing."""

    def __init__(self, message: str = "", holder: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.holder = holder or {}


class PictureError(LikewiseError, ValueError):
    """A file that is no picture, or a broken or too large one; a sentence without the name of the file."""


class SoundError(LikewiseError, ValueError):
    """A file that is no sound, or a broken or empty one; a sentence without the name of the file."""


class DatasetNotFoundError(LikewiseError, LookupError):
    """A data set that cannot be had on this machine; the message says how to get it."""


class OracleError(LikewiseError):
    """Whoever answers failed, stopped, or gave what is no answer; ``question`` is what was asked."""

    def __init__(self, message: str = "", question: object = None) -> None:
        super().__init__(message)
        self.question = question


class MissingDependencyError(LikewiseError, ImportError):
    """An optional package is wanted and absent; the message says what to install."""


class ClusterError(LikewiseError, RuntimeError):
    """A Dask cluster could not do what was asked of it: workers or the scheduler were lost."""


# ---------------------------------------------------------------------- the studio


class StudyError(LikewiseError, ValueError):
    """A study that cannot be held so: too few items, one class only, options that make no sense."""


class MediaError(LikewiseError):
    """A file that cannot be shown.

    The message names no folder, which may be the true class.

    `reason` is "none" (the item has no such thing), "gone" (the file is not there), "refused" (it is not of a
    safe kind, or lies elsewhere) or "broken" (it cannot be read).
    """

    def __init__(
        self, message: str = "", reason: Literal["none", "gone", "refused", "broken"] = "broken"
    ) -> None:
        super().__init__(message)
        self.reason = reason


class OutsideFolderError(MediaError):
    """A name that leads out of the folder."""


class NotAFileError(MediaError):
    """A name that leads to a folder, a pipe or a device."""


class RequestError(LikewiseError):
    """A request that the studio refuses, with a code for programs and the status of the HTTP answer."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400


class NotLoggedInError(RequestError):
    """Nobody is logged in, or a login has run out."""

    code = "not_logged_in"
    status = 401


class NotAllowedError(RequestError):
    """Somebody asked for what only others may do or see."""

    code = "not_allowed"
    status = 403


class NotFoundError(RequestError):
    """There is no such thing."""

    code = "not_found"
    status = 404


class ConflictError(RequestError):
    """It does not go with what was said before."""

    code = "clash"
    status = 409


class BadRequestError(RequestError):
    """What was sent makes no sense."""

    code = "bad_request"
    status = 422


class RequestTooLargeError(BadRequestError):
    """The body of a request is larger than the studio accepts."""

    code = "too_large"
    status = 413


class TooManyRequestsError(RequestError):
    """Too many tries in too short a time."""

    code = "too_many"
    status = 429


class StoreError(LikewiseError):
    """The store cannot do what it was asked; nothing was kept unless the message says otherwise."""


class BadValueError(StoreError):
    """A value that cannot be kept; refused before the database is touched."""


class NameTakenError(StoreError):
    """Somebody has this name already."""


class KeyReusedError(StoreError):
    """The key of an event was used before, for something else or by somebody else."""


class NewerProjectError(StoreError):
    """The database was written by a newer likewise than this one."""


class UnreachableError(StoreError):
    """The database cannot be reached, or the connection to it was lost."""


class InUseError(StoreError):
    """Another studio uses the database."""


class DiskFullError(StoreError):
    """There is no room left for what was to be kept."""


class TransactionConflictError(StoreError):
    """Two transactions were in one another's way and this one was undone; it can be tried again."""


class TransactionUndoneError(StoreError):
    """The whole transaction is gone, and its cause says why."""


# ---------------------------------------------------------------------- warnings


class LikewiseWarning(_WithFields, UserWarning):
    """What every warning of likewise is; it has the fields of `LikewiseError`."""


class InconsistentSupervisionWarning(LikewiseWarning):
    """A soft method was given contradictory hints and weighs them against one another."""


class TooFewClustersWarning(InconsistentSupervisionWarning):
    """Cannot-links keep more rows apart from one another than there are clusters."""


class QuestionableHintsWarning(LikewiseWarning):
    """Hints were accepted, but something about them may not be what was intended."""


class ThinSupervisionWarning(LikewiseWarning):
    """Hints are too few to learn a metric from; distances stay what they are without them."""


class ChangedIdsWarning(LikewiseWarning):
    """A file of hints was written for other sample ids; those that it names are all here."""


class ShuffledIdsWarning(ChangedIdsWarning):
    """A file of hints was written for the same sample ids in another order; the hints follow the ids."""


# ---------------------------------------------------------------------- words


def render(
    message: BaseException | Any, names: Names | None = None, *, words: Mapping[str, str] | None = None
) -> str:
    """Put an error, a warning or the reason of a question into words.

    Parameters
    ----------
    message : LikewiseError, LikewiseWarning, Reason or any other exception
        What to put into words. Exceptions of other libraries are returned as they are.
    names : sequence, RowIds or mapping, optional
        The name of each row, such as its id in a file. The sentence of an error is followed by the names of
        its rows, unless they are the row numbers; a reason names the rows in place. None keeps the numbers.
    words : mapping of str to str, optional
        Other words for the classes and parameters that an error speaks of, and ``"row"`` and ``"rows"`` for
        the nouns that a reason uses.

    Returns
    -------
    text : str
        The sentence.

    Examples
    --------
    >>> from likewise.exceptions import InconsistentSupervisionError, render
    >>> error = InconsistentSupervisionError("rows 0 and 2 are apart.", rows=[0, 2])
    >>> render(error, names=["wren", "owl", "finch"])
    "rows 0 and 2 are apart. By id: row 0 is 'wren', row 2 is 'finch'."
    """
    write = getattr(message, "_render", None)
    if write is None:
        return str(message) or type(message).__name__
    text: str = write(names, words or {})
    return text or type(message).__name__


def describe_cause(error: BaseException | str) -> str:
    """Return the first line of another library's error without its full stop, to be quoted in a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
