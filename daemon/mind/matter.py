"""The matter that a conversation stays with: how long it has been on it, and the one thought of depth about it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from daemon.core.working_memory import WorkingMemory
from daemon.memory.records import JSONObject
from daemon.soul_engine import DEPTH, STANCE, with_notes, with_stance

DEEP_AFTER = 3
"""Exchanges on one matter after which it is thought about once, to the ground."""

STEERS = (
    'You have thought this matter through; what came of it stands under "Depth". Let it steer your answer where it '
    "helps. Don't recite it, and drop it where they have moved on."
)
"""The instruction beside it, in the daemon's own words."""


@dataclass(frozen=True, slots=True)
class Matter:
    """A topic of the soul's state, the exchanges on it in a row, and the thought about it, empty until there is one."""

    topic: str = ""
    exchanges: int = 0
    thought: str = ""

    @classmethod
    def kept(cls, process_memory: Mapping[str, object]) -> "Matter":
        """The matter in a process memory; none where it holds anything else."""
        topic, exchanges, thought = (process_memory.get(name) for name in ("topic", "exchanges", "thought"))
        if not isinstance(topic, str) or not isinstance(exchanges, int) or not isinstance(thought, str):
            return cls()
        return cls(topic, exchanges, thought)

    def on(self, topic: str) -> "Matter":
        """The matter in an exchange on this topic; another topic is another matter, an empty one is none."""
        if not topic:
            return Matter()
        if topic != self.topic:
            return Matter(topic, exchanges=2)  # the exchange that raised it was the first
        return replace(self, exchanges=self.exchanges + 1)

    @property
    def wants_depth(self) -> bool:
        """Whether it is time for the thought."""
        return bool(self.topic) and self.exchanges >= DEEP_AFTER and not self.thought

    def in_mind(self, memory: WorkingMemory) -> WorkingMemory:
        """Working memory with the thought and how to use it, if there is one."""
        if not self.thought:
            return memory
        stance = "\n\n".join([*(one.content for one in memory.region(STANCE)), STEERS])
        about = "your own thought on this matter"
        return with_stance(with_notes(memory, DEPTH, self.thought, about=about), stance)

    def to_json(self) -> JSONObject:
        """A process memory; empty for no matter."""
        return asdict(self) if self.topic else {}
