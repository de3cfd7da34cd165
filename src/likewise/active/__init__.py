"""Active learning: questions, answers, interviews, and the strategies that select the next question."""

from likewise._reasons import Reason as Reason
from likewise.active._comparison import Comparison as Comparison
from likewise.active._comparison import Curve as Curve
from likewise.active._comparison import Estimate as Estimate
from likewise.active._comparison import Reached as Reached
from likewise.active._comparison import RunFailure as RunFailure
from likewise.active._comparison import Trace as Trace
from likewise.active._evidence import Contradiction as Contradiction
from likewise.active._evidence import Event as Event
from likewise.active._evidence import Suspect as Suspect
from likewise.active._evidence import build_supervision as build_supervision
from likewise.active._evidence import collect_relations as collect_relations
from likewise.active._extension import Placements as Placements
from likewise.active._extension import carry_labels as carry_labels
from likewise.active._extension import find_answered_rows as find_answered_rows
from likewise.active._extension import find_far_rows as find_far_rows
from likewise.active._extension import match_labels as match_labels
from likewise.active._group_model import GroupClustering as GroupClustering
from likewise.active._interview import Interview
from likewise.active._pool import Pool
from likewise.active._questions import Answer, Question, Reply
from likewise.active._questions import AnswerValue as AnswerValue
from likewise.active._questions import InGroup as InGroup
from likewise.active._questions import Key as Key
from likewise.active._questions import Named as Named
from likewise.active._questions import OddOne as OddOne
from likewise.active._questions import Piles as Piles
from likewise.active._questions import Unlike as Unlike
from likewise.active._simulate import Oracle, compare, simulate
from likewise.active._state import InterviewState, Strategy
from likewise.active._state import check_rows as check_rows
from likewise.active._stopping import AdviceCode as AdviceCode
from likewise.active._stopping import Outlook as Outlook
from likewise.active._stopping import compute_changed_share as compute_changed_share
from likewise.active.strategies import (
    QUIRE,
    ActiveSpectral,
    Alternating,
    FarthestFirst,
    FillTray,
    GroupQuestions,
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
    "FarthestFirst",
    "FillTray",
    "GroupQuestions",
    "InformationGain",
    "Interview",
    "InterviewState",
    "MarginalUncertainty",
    "MinMax",
    "NodeUncertainty",
    "NormalizedPointUncertainty",
    "Oracle",
    "Pool",
    "ProbabilisticKNN",
    "Question",
    "RandomPairs",
    "Reply",
    "Strategy",
    "UncertainRegions",
    "WithThird",
    "compare",
    "simulate",
]
