"""Strategies that choose questions, one file each: functions of what is known."""

from likewise.active.strategies._random import RandomPairs

__all__ = ["RandomPairs"]
