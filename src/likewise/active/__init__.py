"""Asking: questions, answers, interviews, and the strategies that choose what to ask next."""

from likewise.active._history import Contradiction, Event
from likewise.active._interview import Interview
from likewise.active._questions import Answer, Question, Reply
from likewise.active._simulate import Oracle, Trace, simulate
from likewise.active._state import State, Strategy
from likewise.active.strategies import (
    FarthestFirst,
    MarginalUncertainty,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    RandomPairs,
)

__all__ = [
    "Answer",
    "Contradiction",
    "Event",
    "FarthestFirst",
    "Interview",
    "MarginalUncertainty",
    "MinMax",
    "NodeUncertainty",
    "NormalizedPointUncertainty",
    "Oracle",
    "Question",
    "RandomPairs",
    "Reply",
    "State",
    "Strategy",
    "Trace",
    "simulate",
]
