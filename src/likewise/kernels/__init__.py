"""Compiled loops: arrays in, caller-owned arrays out, no objects and no randomness.

Kernels are imported when a fit first needs them, so ``import likewise`` does not import numba.
"""
