"""Time: what was meant to be done by now, and how long ago the last thought was."""

from daemon.mind.mental_process import ProcessContext
from daemon.mind.thought.cognitive_input import Percept


class Time:
    """Implements `Sensing`."""

    name = "temporal"

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """See `Sensing.readings`."""
        previous = context.cycle.thoughts.previous
        meant = tuple(
            Percept(modality=self.name, content=one.words, source=f"intention:{one.id}")
            for one in context.cycle.at_hand.intended
        )
        if previous is None:
            return meant
        seconds = max(0.0, (context.mind.clock.now_ms() - previous.at_ms) / 1000)
        return (*meant, Percept(modality=self.name, content=f"{seconds:.1f} seconds since last cycle"))
