"""The poem that a conversation is at: kept as process memory, so that it can be mended and explained."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from daemon.core.working_memory import WorkingMemory
from daemon.memory.records import JSONObject
from daemon.soul import Mode
from daemon.soul_engine import PIECE, STANCE, with_notes, with_stance

_LONGEST = 8_000  # characters of a poem that is kept

_LAST = 'The piece you made last stands under "Piece", its lines numbered for you alone.'
NAMES_IT = (
    "Only where your reply is a piece, new or mended, add a seventh element: "
    "<made_piece>its register; the world of its images</made_piece>."
)
"""What is asked beside the reply of a model that answers in elements."""


@dataclass(frozen=True, slots=True)
class MadePiece:
    """A poem, its register and the world of its images, words of the poetic mode or empty; an empty poem is none."""

    poem: str = ""
    register: str = ""
    images: str = ""

    @classmethod
    def kept(cls, process_memory: Mapping[str, object]) -> "MadePiece":
        """The poem in a process memory; none where it holds anything else."""
        texts = [process_memory.get(name) for name in ("poem", "register", "images")]
        return cls(*texts) if all(isinstance(one, str) for one in texts) else cls()  # type: ignore[arg-type]

    def made(self, poem: str, told: str, mode: Mode) -> "MadePiece":
        """The poem that takes its place; of what the poet told of it only words of the mode are kept."""
        register = _named(told, mode.registers) or self.register
        return MadePiece(poem[:_LONGEST], register, _named(told, mode.image_domains) or self.images)

    def in_mind(self, memory: WorkingMemory) -> WorkingMemory:
        """Working memory with the poem, and how to speak of it."""
        if not self.poem:
            return memory
        form = f"Its register: {self.register}." if self.register else ""
        images = f"Its images come from: {self.images}." if self.images else ""
        stance = [one.content for one in memory.region(STANCE)]
        memory = with_stance(memory, "\n\n".join((*stance, " ".join(filter(None, (_LAST, form, images))))))
        return with_notes(memory, PIECE, _numbered(self.poem), about="the piece you made last")

    def to_json(self) -> JSONObject:
        """A process memory; empty for none."""
        return asdict(self) if self.poem else {}


def _named(told: str, words: tuple[str, ...]) -> str:
    return next((word for word in words if word.casefold() in told.casefold()), "")


def _numbered(poem: str) -> str:
    """The poem with a number before each line that is not blank, so that line three is the third."""
    number, lines = 0, list[str]()
    for line in poem.splitlines():
        number += bool(line.strip())
        lines.append(f"{number}  {line}" if line.strip() else "")
    return "\n".join(lines)
