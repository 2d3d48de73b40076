"""Language: what people and souls wrote, and what the house says of it."""

from typing import Final

from daemon.core.working_memory import DEFAULT_REGION, Role
from daemon.mind.mental_process import ProcessContext
from daemon.mind.thought.cognitive_input import Percept

_SOURCE: Final = "source"  # a key of the metadata of what people said


class Language:
    """Implements `Sensing`: what came since the soul's last reply, oldest first; the house's sentences are internal."""

    name = "language"

    def readings(self, context: ProcessContext) -> tuple[Percept, ...]:
        """See `Sensing.readings`."""
        turns = context.memory.region(DEFAULT_REGION)
        replies = [place for place, one in enumerate(turns) if one.role is Role.ASSISTANT]
        return tuple(
            Percept(
                modality=self.name if _SOURCE in one.metadata else "internal",
                content=one.content,
                source=f"user:{one.name}" if _SOURCE in one.metadata else one.name or "",
                embedding_summary=context.cycle.labels.get(one.content, ""),
            )
            for one in turns[replies[-1] + 1 if replies else 0 :]
        )
