"""What a sense is: it gives a thought what it perceived, for those who read in the thought's conversation."""

from typing import Protocol

from daemon.mind.mental_process import ProcessContext
from daemon.mind.thought.cognitive_input import Percept


class Sensing(Protocol):
    """One sense; its `name` is the modality of its percepts."""

    name: str

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """What came since the last thought of this conversation, oldest first unless something weighs more."""
