"""How much is left to chance: a little at a desk, much where `CI=true`; each run prints its seed.

At a desk every run draws a seed of its own; `scripts/test` sets one in CI. `TEST_SEED=123 python -m pytest …` repeats a
run's draws.
"""

import os
import random
import secrets

THOROUGH = os.environ.get("CI") == "true"
SEED = int(os.environ.setdefault("TEST_SEED", str(secrets.randbelow(10**9))))  # workers inherit it


def tries(few: int, many: int) -> int:
    """How often to try: `few` at a desk, `many` in CI."""
    return many if THOROUGH else few


def dice(name: str) -> random.Random:
    """Random numbers for one test; other names and other runs give others."""
    return random.Random(f"{SEED} {name}")
