"""Time: what was meant to be done by now, how long ago the last thought was, a silence, and the end of a visit."""

from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.occasion import passed
from daemon.mind.thought.cognitive_input import Percept


class Time:
    """Implements `Sensing`."""

    name = "temporal"

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """See `Sensing.readings`."""
        previous, now_ms = context.cycle.thoughts.previous, context.mind.clock.now_ms()
        meant = (
            Percept(modality=self.name, content=one.words, source=f"intention:{one.id}")
            for one in context.cycle.at_hand.intended
        )
        seconds = 0.0 if previous is None else max(0.0, (now_ms - previous.at_ms) / 1000)
        since = () if previous is None else (f"{seconds:.1f} seconds since last cycle",)
        went = (*since, *passed(context.perception, context.visit))
        return (*meant, *(Percept(modality=self.name, content=one) for one in went))
