"""How long tests wait for what should happen: so long that only a machine that hangs is noticed."""

import time

PATIENCE = 300.0  # seconds; a machine at load 20 is slow, and must not fail for that


def wait_until(holds, what="it"):
    """Wait for a condition, and say what did not happen."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {PATIENCE:.0f} s")
        time.sleep(0.002)
