"""What an action was chosen for: words that a model wrote and that may quote anybody, so that they are data."""

from daemon.core.working_memory import WorkingMemory
from daemon.soul_engine import with_notes

AIM = "aim"
"""The region in which they stand; the house's own words point there and never repeat them."""


def with_aim(memory: WorkingMemory, words: str) -> WorkingMemory:
    """Working memory with an action's input, as data; without one there is no such region."""
    return with_notes(memory, AIM, words)
