"""Oracles, which answer questions: people and simulations. Each has a method ``answer(question)``."""

from likewise.oracles._annotators import Agreement as Agreement
from likewise.oracles._annotators import Annotator as Annotator
from likewise.oracles._annotators import Annotators
from likewise.oracles._annotators import Verdict as Verdict
from likewise.oracles._class_errors import CoarseOracle, ConfusionOracle, make_oracle
from likewise.oracles._console import ConsoleOracle
from likewise.oracles._console import Wish as Wish
from likewise.oracles._console import describe_suspect as describe_suspect
from likewise.oracles._console import find_suspects as find_suspects
from likewise.oracles._given_answers import CallableOracle, LabelOracle, RecordedOracle
from likewise.oracles._prompts import make_prompt, parse_answer
from likewise.oracles._simulated import FatigueOracle, LookAlikeOracle, NoisyOracle

__all__ = [
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
    "make_oracle",
    "make_prompt",
    "parse_answer",
]
