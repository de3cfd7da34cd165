"""Oracles, which answer questions: people and simulations. Each has a method ``answer(question)``."""

from likewise.oracles._annotators import Agreement, Annotator, Annotators, Verdict
from likewise.oracles._class_errors import CoarseOracle, ConfusionOracle, make_oracle
from likewise.oracles._console import ConsoleOracle, Wish
from likewise.oracles._given_answers import CallableOracle, LabelOracle, RecordedOracle
from likewise.oracles._simulated import FatigueOracle, LookAlikeOracle, NoisyOracle

__all__ = [
    "Agreement",
    "Annotator",
    "Annotators",
    "CallableOracle",
    "CoarseOracle",
    "ConfusionOracle",
    "ConsoleOracle",
    "FatigueOracle",
    "LabelOracle",
    "LookAlikeOracle",
    "NoisyOracle",
    "RecordedOracle",
    "Verdict",
    "Wish",
    "make_oracle",
]
