"""Oracles: whoever answers questions, person or simulation. Each has ``answer(question)``."""

from likewise.oracles._annotators import Agreement, Annotator, Annotators, Verdict
from likewise.oracles._callable import CallableOracle
from likewise.oracles._console import ConsoleOracle, Wish
from likewise.oracles._labels import LabelOracle
from likewise.oracles._noisy import NoisyOracle
from likewise.oracles._recorded import RecordedOracle

__all__ = [
    "Agreement",
    "Annotator",
    "Annotators",
    "CallableOracle",
    "ConsoleOracle",
    "LabelOracle",
    "NoisyOracle",
    "RecordedOracle",
    "Verdict",
    "Wish",
]
