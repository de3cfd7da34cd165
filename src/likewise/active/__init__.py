"""Active learning: questions, answers, interviews, and the strategies that select the next question."""

from likewise._reasons import Reason
from likewise.active._comparison import Comparison, Curve, Estimate, Reached, RunFailure, Trace
from likewise.active._evidence import Contradiction, Event, Suspect
from likewise.active._interview import Interview
from likewise.active._pool import Pool
from likewise.active._questions import Answer, OddOne, Piles, Question, Reply
from likewise.active._simulate import Oracle, compare, simulate
from likewise.active._state import InterviewState, Strategy
from likewise.active._stopping import Outlook
from likewise.active.strategies import (
    QUIRE,
    ActiveSpectral,
    Alternating,
    FarthestFirst,
    FillTray,
    InformationGain,
    MarginalUncertainty,
    MinMax,
    NodeUncertainty,
    NormalizedPointUncertainty,
    ProbabilisticKNN,
    RandomPairs,
    UncertainRegions,
    WithThird,
)

__all__ = [
    "QUIRE",
    "ActiveSpectral",
    "Alternating",
    "Answer",
    "Comparison",
    "Contradiction",
    "Curve",
    "Estimate",
    "Event",
    "FarthestFirst",
    "FillTray",
    "InformationGain",
    "Interview",
    "InterviewState",
    "MarginalUncertainty",
    "MinMax",
    "NodeUncertainty",
    "NormalizedPointUncertainty",
    "OddOne",
    "Oracle",
    "Outlook",
    "Piles",
    "Pool",
    "ProbabilisticKNN",
    "Question",
    "RandomPairs",
    "Reached",
    "Reason",
    "Reply",
    "RunFailure",
    "Strategy",
    "Suspect",
    "Trace",
    "UncertainRegions",
    "WithThird",
    "compare",
    "simulate",
]
