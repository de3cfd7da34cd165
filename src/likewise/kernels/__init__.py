"""Compiled loops: arrays in, caller-owned arrays out, no objects and no randomness.

Nothing here is imported before a fit needs it, so ``import likewise`` never waits for numba.
"""
