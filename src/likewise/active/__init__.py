"""Asking: questions, answers, and the strategies that choose what to ask next."""

from likewise.active._questions import Answer, Question, Reply
from likewise.active._state import State, Strategy
from likewise.active.strategies import RandomPairs

__all__ = ["Answer", "Question", "RandomPairs", "Reply", "State", "Strategy"]
