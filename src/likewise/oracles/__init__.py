"""Oracles, which answer questions: people and simulations. Each has a method ``answer(question)``."""

from likewise.oracles._annotators import Agreement, Annotator, Annotators, Verdict
from likewise.oracles._callable import CallableOracle
from likewise.oracles._class_errors import CoarseOracle, ConfusionOracle
from likewise.oracles._console import ConsoleOracle, Wish
from likewise.oracles._fatigue import FatigueOracle
from likewise.oracles._label_oracle import LabelOracle
from likewise.oracles._look_alike import LookAlikeOracle
from likewise.oracles._make import make_oracle
from likewise.oracles._noisy import NoisyOracle
from likewise.oracles._recorded import RecordedOracle

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
