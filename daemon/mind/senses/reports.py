"""Reports: that something is so, as programs and the house say by readings."""

from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.sensed import SENSE
from daemon.mind.thought.cognitive_input import Percept
from daemon.soul_engine import READINGS


class Reports:
    """Implements `Sensing`: the readings that the prompt shows, in its order, and what it says of the rest."""

    name = "sense"

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """See `Sensing.readings`."""
        return tuple(
            Percept(
                modality=self.name,
                content=one.content,
                source=one.metadata.get(SENSE, ""),
                embedding_summary=context.cycle.labels.get(one.content, ""),
            )
            for one in context.memory.region(READINGS)
        )
