"""The stance of each mental process, the poems of the poetic one, and the context of subprocesses."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec.structs import asdict, replace

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import THOUGHT_ALONE, Clock, Emit
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.learning import Learning
from daemon.memory.knowledge.senses import Senses, SentFile
from daemon.memory.knowledge.soul_states import ProcessMemories, SoulStates
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModels
from daemon.memory.records import JSONObject
from daemon.mind.cognition import Mind
from daemon.mind.prompts import STANCES
from daemon.soul import Mode, Soul, filled
from daemon.soul_engine import PIECE, STANCE, with_notes, with_stance

HOUSE: Final[Mapping[str, str]] = MappingProxyType(
    {process: text.replace("{alone}", THOUGHT_ALONE) for process, text in STANCES.items()}
)
"""The daemon's stances by mental process, empty where the process has none."""


def stance_of(soul: Soul, process: str, **facts: str) -> str:
    """Return the instruction for a reply in a mental process, with the facts that its placeholders name."""
    return filled(soul.stance(process) or HOUSE.get(process, ""), facts)


T = TypeVar("T")


class SubprocessContext(Value):
    """Everything a subprocess may use (seed 000). `audience` is who can read `conversation`.

    `read_files` fetches and reads the files that wait for it, and returns all with what was found.
    """

    mind: Mind
    soul: Soul
    conversation: ConversationKey
    audience: Audience
    turns: Turns
    user_models: UserModels
    learning: Learning
    soul_states: SoulStates
    process_memories: ProcessMemories
    senses: Senses
    read_files: Callable[[ConversationKey, Sequence[SentFile]], Awaitable[list[SentFile]]]
    episodes: Episodes
    clock: Clock
    trace_id: str
    emit: Emit

    async def think(self, memory: WorkingMemory, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Run a step with the soul's own creativity, where it has one for the step. Raises what `Mind.run` raises."""
        return await self.mind.run(
            memory, replace(step, creativity=self.soul.creativity_of(step.name, step.creativity))
        )


Subprocess = Callable[[SubprocessContext], Awaitable[None]]
"""A function that may be cancelled at any moment and run again.

It writes its result in one transaction or not at all. Raises ModelError and StoreError.
"""


_LONGEST = 8_000  # characters of a poem that is kept

_LAST = 'The piece you made last stands under "Piece", its lines numbered for you alone.'
NAMES_IT = (
    "Only where your reply is a piece, new or mended, add a seventh element: "
    "<made_piece>its register; the world of its images</made_piece>."
)
"""The request for an extra element, for a model that answers in elements."""


class MadePiece(Value):
    """A poem, its register and the world of its images, words of the poetic mode or empty. An empty poem is none."""

    poem: str = ""
    register: str = ""
    images: str = ""

    @classmethod
    def kept(cls, process_memory: Mapping[str, object]) -> "MadePiece":
        """Read the poem in a process memory. Any other content gives none."""
        texts = [process_memory.get(name) for name in ("poem", "register", "images")]
        return cls(*texts) if all(isinstance(one, str) for one in texts) else cls()  # type: ignore[arg-type]

    def made(self, poem: str, told: str, mode: Mode) -> "MadePiece":
        """Return the poem that replaces this one. Of the poet's description only words of the mode are kept."""
        register = _named(told, mode.registers) or self.register
        return MadePiece(poem[:_LONGEST], register, _named(told, mode.image_domains) or self.images)

    def in_mind(self, memory: WorkingMemory) -> WorkingMemory:
        """Add the poem, and how to speak of it, to working memory."""
        if not self.poem:
            return memory
        form = f"Its register: {self.register}." if self.register else ""
        images = f"Its images come from: {self.images}." if self.images else ""
        stance = [one.content for one in memory.region(STANCE)]
        memory = with_stance(memory, "\n\n".join((*stance, " ".join(filter(None, (_LAST, form, images))))))
        return with_notes(memory, PIECE, _numbered(self.poem), about="the piece you made last")

    def to_json(self) -> JSONObject:
        return asdict(self) if self.poem else {}


def _named(told: str, words: tuple[str, ...]) -> str:
    return next((word for word in words if word.casefold() in told.casefold()), "")


def _numbered(poem: str) -> str:
    number, lines = 0, list[str]()
    for line in poem.splitlines():
        number += bool(line.strip())
        lines.append(f"{number}  {line}" if line.strip() else "")
    return "\n".join(lines)
