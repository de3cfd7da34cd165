"""All errors and warnings of likewise, and the function that renders them as text.

::

    LikewiseError
    ├── SupervisionError (ValueError)           hints that are malformed in themselves
    │   ├── InconsistentSupervisionError        hints that contradict one another
    │   ├── UnsupportedSupervisionError         a kind of hint that the method does not support
    │   └── InfeasibleSupervisionError          hints that no clustering with these parameters can satisfy
    ├── HierarchyError (ValueError)             a label hierarchy with a cycle, an unknown label, two parents
    ├── FileFormatError (ValueError)            a file that cannot be read in the expected format
    │   └── UnknownFormatError                  a file whose format cannot be inferred from its name
    ├── ChangedFileError                        another program changed a file that is being written
    ├── LockedError                             another process holds a lock
    ├── PictureError (ValueError)               a file that is not a readable picture
    ├── SoundError (ValueError)                 a file that is not a readable sound
    ├── ModelError                              a pre-trained model that is missing or damaged
    ├── DatasetNotFoundError (LookupError)      a data set that is not available on this machine
    ├── OracleError                             the oracle failed or returned an invalid answer
    ├── MissingDependencyError (ImportError)    an optional package is required but not installed
    ├── DaskClusterError (RuntimeError)         a Dask cluster lost its workers or its scheduler
    ├── StudyError (ValueError)                 a study that cannot run with these options
    ├── MediaError                              a file of an item that cannot be displayed
    │   ├── OutsideFolderError                  its path leads outside the data folder
    │   └── NotAFileError                       its path is a folder, a pipe or a device
    ├── RequestError                            a request that the studio rejects
    │   ├── NotLoggedInError
    │   │   └── LockedOutError
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
    ├── InconsistentSupervisionWarning          a soft method continues with contradictory hints
    │   └── TooFewClustersWarning               cannot-links require more clusters than there are
    ├── QuestionableHintsWarning                hints were accepted, but may not mean what was intended
    ├── ThinSupervisionWarning                  held-out hints do not support what was learned
    ├── LongFitWarning                          a fit is expected to take more than a minute
    └── ChangedIdsWarning                       hints were written for other sample ids
        └── ShuffledIdsWarning                  for the same ids, in another order

Convergence is reported by scikit-learn's own ``ConvergenceWarning``.

Each error and warning carries fields in addition to its text (see :class:`LikewiseError`), so programs never
need to parse the text. :func:`render` renders an error, a warning or the reason for a question, with sample
ids in place of row numbers.
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
    "ConflictError",
    "DaskClusterError",
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
    "LockedOutError",
    "LongFitWarning",
    "MediaError",
    "MissingDependencyError",
    "ModelError",
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
    "render",
]

_MAX_NAMED = 10  # number of rows whose ids `render` lists


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
    """Base class with the fields that errors and warnings share; see `LikewiseError`."""

    # Unpickling creates an error from its text alone and then restores its fields, so all parameters of the
    # constructors in this module have defaults.
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
        self.rows: tuple[int, ...] = tuple(int(row) for row in rows)
        self.chain: tuple[int, ...] = tuple(int(row) for row in chain)
        self.ids: tuple[Any, ...] = tuple(ids)
        self.parameter = parameter
        self.kinds: tuple[str, ...] = tuple(sorted(kinds))
        self.estimator = estimator
        self.terms: tuple[str, ...] = tuple(terms)
        super().__init__(self._write({}))

    def _write(self, words: Mapping[str, str]) -> str:
        """Return the text; `words` maps classes and parameters to replacements."""
        text = f"{self.message} {self.suggestion}" if self.suggestion else self.message
        if self.estimator is not None:
            text = text.replace("{estimator}", words.get(self.estimator, self.estimator))
        for term in self.terms:
            text = text.replace("{" + term + "}", words.get(term, term))
        return text

    def add_text(self, text: str) -> Self:
        """Return a copy with more text at the end.

        Parameters
        ----------
        text : str
            The text to append, after a space.

        Returns
        -------
        changed : same type as self
            A copy with the same fields; this error stays as it is.
        """
        return self._copy(self.message, f"{self.suggestion} {text}".strip())

    def add_text_before(self, text: str) -> Self:
        """Return a copy with more text at the beginning.

        Parameters
        ----------
        text : str
            The text to put in front of the message, including the space between the two.

        Returns
        -------
        changed : same type as self
            A copy with the same fields; this error stays as it is.
        """
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
    """Base class of all errors of likewise: a text for people and fields for programs.

    Parameters
    ----------
    message : str, default=""
        What was given and what was expected.
    suggestion : str, default=""
        How to go on. The text of the error is the message followed by the suggestion.
    rows : iterable of int, default=()
        The rows that the error is about.
    chain : iterable of int, default=()
        The chain of must-linked rows that contradicts a cannot-link between the first two of `rows`.
    ids : iterable, default=()
        The sample ids, or the names of bags, that the error is about.
    parameter : str, optional
        The parameter that has an invalid value, or that can be changed to resolve the problem.
    kinds : iterable of str, default=()
        The kinds of hint that the error is about: "links", "triplets", "labels", "bags".
    estimator : str, optional
        The class name of the estimator that raised the error. It replaces ``{estimator}`` in the message.
    terms : iterable of str, default=()
        Python names, such as classes and parameters, that occur in braces in the message or the suggestion.
        The command line replaces them with its own terms.

    Attributes
    ----------
    message, suggestion, rows, chain, ids, parameter, kinds, estimator, terms
        The parameters of the same name; iterables are stored as tuples.

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
    rows 0 and 2 are cannot-linked, ... By id: row 0 is 'wren', row 2 is 'finch', row 1 is 'owl'.
    """


class SupervisionError(LikewiseError, ValueError):
    """Hints that are malformed: an invalid index, a pair of one row, a weight that is not positive."""


class InconsistentSupervisionError(SupervisionError):
    """Hints that contradict one another, such as a cannot-link inside a must-link component."""


class UnsupportedSupervisionError(SupervisionError):
    """A kind of hint that the method does not support. It is refused rather than ignored."""


class InfeasibleSupervisionError(SupervisionError):
    """Hints that are consistent, but that no clustering with these parameters can satisfy."""


class HierarchyError(LikewiseError, ValueError):
    """An invalid label hierarchy: a cycle, an unknown label, or two parents where one is allowed."""


class FileFormatError(LikewiseError, ValueError):
    """A file that cannot be read; the message names the file and the line."""


class UnknownFormatError(FileFormatError):
    """A file whose format cannot be inferred from its name, or an unknown format."""


class ChangedFileError(LikewiseError):
    """A file was changed by another program, so this process cannot append to it."""


class LockedError(LikewiseError):
    """Another process holds the lock.

    Parameters
    ----------
    message : str, default=""
        What was given and what was expected.
    holder : mapping, optional
        What the process that holds the lock recorded about itself, such as its id. Empty by default.
    """

    def __init__(self, message: str = "", holder: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.holder: Mapping[str, Any] = holder or {}


class PictureError(LikewiseError, ValueError):
    """A file that is not a picture, or is damaged or too large. The message does not name the file."""


class SoundError(LikewiseError, ValueError):
    """A file that is not a sound, or is damaged or empty. The message does not name the file."""


class ModelError(LikewiseError):
    """A pre-trained model is missing or damaged."""


class DatasetNotFoundError(LikewiseError, LookupError):
    """A data set that is not available on this machine; the message says how to get it."""


class OracleError(LikewiseError):
    """The oracle failed, stopped, or returned an invalid answer.

    Parameters
    ----------
    message : str, default=""
        What was given and what was expected.
    question : Question, optional
        The question that was asked.
    """

    def __init__(self, message: str = "", question: object = None) -> None:
        super().__init__(message)
        self.question = question


class MissingDependencyError(LikewiseError, ImportError):
    """An optional package is required but not installed; the message says what to install."""


class DaskClusterError(LikewiseError, RuntimeError):
    """A computation on a Dask cluster failed because workers or the scheduler were lost."""


# ---------------------------------------------------------------------- the studio


class StudyError(LikewiseError, ValueError):
    """A study that cannot run as configured: too few items, a single class, conflicting options."""


class MediaError(LikewiseError):
    """A file that cannot be displayed.

    The message never names the folder, because the folder may be the true class.

    Parameters
    ----------
    message : str, default=""
        What was given and what was expected.
    reason : {"none", "gone", "refused", "broken"}, default="broken"
        The item has no such file ("none"), the file does not exist ("gone"), its type is not safe or it is
        outside the folder ("refused"), or it cannot be read ("broken").
    """

    def __init__(
        self, message: str = "", reason: Literal["none", "gone", "refused", "broken"] = "broken"
    ) -> None:
        super().__init__(message)
        self.reason = reason


class OutsideFolderError(MediaError):
    """A path that leads outside the folder."""


class NotAFileError(MediaError):
    """A path to a folder, a pipe or a device instead of a file."""


class RequestError(LikewiseError):
    """A request that the studio rejects, with a code for programs and the HTTP status."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400


class NotLoggedInError(RequestError):
    """Nobody is logged in, or the login has expired."""

    code = "not_logged_in"
    status = 401


class LockedOutError(NotLoggedInError):
    """The owner of the project has locked this person out."""

    code = "locked_out"


class NotAllowedError(RequestError):
    """The user is not allowed to do or see this."""

    code = "not_allowed"
    status = 403


class NotFoundError(RequestError):
    """What was requested does not exist."""

    code = "not_found"
    status = 404


class ConflictError(RequestError):
    """The request conflicts with an earlier one."""

    code = "clash"
    status = 409


class BadRequestError(RequestError):
    """The content of the request is invalid."""

    code = "bad_request"
    status = 422


class RequestTooLargeError(BadRequestError):
    """The body of a request is larger than the studio accepts."""

    code = "too_large"
    status = 413


class TooManyRequestsError(RequestError):
    """Too many requests in too short a time."""

    code = "too_many"
    status = 429


class StoreError(LikewiseError):
    """An operation of the store failed; nothing was saved unless the message says otherwise."""


class BadValueError(StoreError):
    """A value that cannot be stored; it is refused before anything is written to the database."""


class NameTakenError(StoreError):
    """The name is already taken."""


class KeyReusedError(StoreError):
    """The key of an event was already used for another event or by another person."""


class NewerProjectError(StoreError):
    """The database was written by a newer version of likewise."""


class UnreachableError(StoreError):
    """The database cannot be reached, or the connection to it was lost."""


class InUseError(StoreError):
    """Another studio uses the database."""


class DiskFullError(StoreError):
    """The disk is full, so the data could not be saved."""


class TransactionConflictError(StoreError):
    """Two transactions conflicted and this one was rolled back; it can be retried."""


class TransactionUndoneError(StoreError):
    """The whole transaction was rolled back; the cause of the error says why."""


# ---------------------------------------------------------------------- warnings


class LikewiseWarning(_WithFields, UserWarning):
    """Base class of all warnings of likewise; it has the fields of `LikewiseError`."""


class InconsistentSupervisionWarning(LikewiseWarning):
    """A soft method was given contradictory hints and trades them off against one another."""


class TooFewClustersWarning(InconsistentSupervisionWarning):
    """Cannot-links require more clusters than there are."""


class QuestionableHintsWarning(LikewiseWarning):
    """Hints were accepted, but they may not mean what was intended."""


class ThinSupervisionWarning(LikewiseWarning):
    """Held-out hints do not support the learned metric, so the prior metric is used."""


class LongFitWarning(LikewiseWarning):
    """A fit is expected to take more than a minute; raised before it begins."""


class ChangedIdsWarning(LikewiseWarning):
    """A file of hints was written for other sample ids, but every id in it exists in this data."""


class ShuffledIdsWarning(ChangedIdsWarning):
    """A file of hints was written for the same sample ids in another order; the hints follow the ids."""


# ---------------------------------------------------------------------- words


def render(
    message: BaseException | Any, names: Names | None = None, *, words: Mapping[str, str] | None = None
) -> str:
    """Render an error, a warning or the reason for a question as text.

    Parameters
    ----------
    message : LikewiseError, LikewiseWarning, Reason or any other exception
        What to render. The text of other libraries' exceptions is returned unchanged.
    names : sequence, RowIds or mapping, optional
        The name of each row, such as its id in a file. The names of the rows are listed after the text of an
        error, unless they equal the row numbers; in a reason they replace the row numbers.
    words : mapping of str to str, optional
        Replacements for the classes and parameters that an error mentions, and for the nouns ``"row"`` and
        ``"rows"`` in a reason.

    Returns
    -------
    text : str
        The rendered text.

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
    """Return the first line of another library's error without its full stop, to be quoted in a sentence.

    Parameters
    ----------
    error : BaseException or str
        The error, or its text.

    Returns
    -------
    text : str
        The line; the name of the error's class if it has no text.

    Examples
    --------
    >>> from likewise.exceptions import describe_cause
    >>> describe_cause(ValueError("no such column.\\nmore detail"))
    'no such column'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
