"""What is left to chance: each run draws anew, and prints its seed.

`TEST_SEED=123 python -m pytest …` repeats a run's draws and the order of its tests.
"""

import os
import random
import secrets

SEED = int(os.environ.setdefault("TEST_SEED", str(secrets.randbelow(10**9))))  # workers inherit it


def dice(name: str) -> random.Random:
    """Random numbers for one test; other names and other runs give others."""
    return random.Random(f"{SEED} {name}")
