"""Waiting in tests: the limit is so long that it only detects a hang."""

import time

PATIENCE = 300.0  # seconds; tests must not fail on a machine at load 20


def wait_until(holds, what="it"):
    """Wait for a condition, or fail with a message that names it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.002)
