"""Waiting in tests: the limit is so long that it only detects a hang."""

import time

PATIENCE = 300.0  # seconds; tests must not fail on a machine at load 20


def wait_until(holds, what="it"):
    """Wait until `holds()` is true and return its value, or fail with a message that names the condition."""
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.002)
    return found
