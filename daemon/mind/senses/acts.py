"""Acts: what of the last thought did not take effect, and what an admin decided of what was proposed."""

from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.stream import left_out, settled_lines
from daemon.mind.thought.cognitive_input import Percept


class Acts:
    """Implements `Sensing`."""

    name = "motor"

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """See `Sensing.readings`."""
        thoughts = context.cycle.thoughts
        came = (*left_out(thoughts.previous), *settled_lines(thoughts))
        return tuple(Percept(modality=self.name, content=one) for one in came)
