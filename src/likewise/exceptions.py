"""Every error and warning of likewise.

::

    LikewiseError
    ├── SupervisionError (ValueError)           hints that are malformed in themselves
    │   ├── InconsistentSupervisionError        hints that contradict one another
    │   ├── UnsupportedSupervisionError         a kind of hint that the method does not honour
    │   └── InfeasibleSupervisionError          hints that no clustering with these parameters can meet
    ├── HierarchyError (ValueError)             a label hierarchy with a cycle, an unknown label, two parents
    ├── FileFormatError (ValueError)            a file that cannot be read as what it should be
    ├── DatasetNotFoundError (LookupError)      a data set that cannot be had on this machine
    ├── OracleError                             whoever answers failed, or gave what is no answer
    └── MissingDependencyError (ImportError)    an optional package is wanted and absent
    UserWarning
    ├── InconsistentSupervisionWarning          a soft method goes on with contradictory hints
    │   └── TooFewClustersWarning               cannot-links ask for more clusters than there are
    ├── QuestionableHintsWarning                hints were accepted, but may not mean what was intended
    ├── ThinSupervisionWarning                  hints are too few to learn from, and were not followed
    └── ChangedIdsWarning                       hints were written for other sample ids than these
        └── ShuffledIdsWarning                  for the same ids, in another order

Convergence is reported by scikit-learn's own ``ConvergenceWarning``.
"""

from __future__ import annotations

__all__ = [
    "ChangedIdsWarning",
    "DatasetNotFoundError",
    "FileFormatError",
    "HierarchyError",
    "InconsistentSupervisionError",
    "InconsistentSupervisionWarning",
    "InfeasibleSupervisionError",
    "LikewiseError",
    "MissingDependencyError",
    "OracleError",
    "QuestionableHintsWarning",
    "ShuffledIdsWarning",
    "SupervisionError",
    "ThinSupervisionWarning",
    "TooFewClustersWarning",
    "UnsupportedSupervisionError",
]


class LikewiseError(Exception):
    """What every error of likewise is."""


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


class DatasetNotFoundError(LikewiseError, LookupError):
    """A data set that cannot be had on this machine; the message says how to get it."""


class OracleError(LikewiseError):
    """Whoever answers failed, stopped, or gave what is no answer; ``question`` is what was asked."""

    def __init__(self, message: str, question: object = None) -> None:
        super().__init__(message)
        self.question = question


class MissingDependencyError(LikewiseError, ImportError):
    """An optional package is wanted and absent; the message says what to install."""


class InconsistentSupervisionWarning(UserWarning):
    """A soft method was given contradictory hints and weighs them against one another."""


class TooFewClustersWarning(InconsistentSupervisionWarning):
    """Cannot-links keep more rows apart from one another than there are clusters."""


class QuestionableHintsWarning(UserWarning):
    """Hints were accepted, but something about them may not be what was intended."""


class ThinSupervisionWarning(UserWarning):
    """Hints are too few to learn a metric from; distances stay what they are without them."""


class ChangedIdsWarning(UserWarning):
    """A file of hints was written for other sample ids; those that it names are all here."""


class ShuffledIdsWarning(ChangedIdsWarning):
    """A file of hints was written for the same sample ids in another order; the hints follow the ids."""
