"""The soul's own text about itself, beside its soul.md: drafted, put in force, revised, taken back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from daemon.core.perception import AudienceKind
from daemon.memory.database import Transaction
from daemon.memory.mind.documents import HeldPart, MindDocument, NewPart, add_part, rows_of_soul
from daemon.memory.thought_parts import PartsTaken, StoredThought

_DOCUMENT: Final = MindDocument.IDENTITY
_TEXT: Final = "text"
IdentityAct = Literal["draft", "commit", "revise", "withdraw"]


@dataclass(frozen=True, slots=True)
class OwnText:
    """The text in force and the draft beside it, each empty for none; `thoughts` are the ids of those they are of."""

    text: str = ""
    draft: str = ""
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentityPatch:
    """What one thought does to that text, and why.

    `commit` puts the draft in force, `revise` other words in the place of those in force; `withdraw` takes back what is
    in force, or the draft where nothing is.
    """

    action: IdentityAct
    text: str
    why: str
    field: ClassVar[str] = "identity_update"
    size: ClassVar[int] = 1

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`. It is the soul's everywhere: only what the whole workspace may know goes in."""
        if thought.audience.kind is not AudienceKind.WORKSPACE or not thought.readers.members_only:
            return PartsTaken(0, ["private"])
        held = own_text(await rows_of_soul(transaction, thought.conversation.soul, _DOCUMENT))
        if why := self._why_not(held):
            return PartsTaken(0, [why])
        words = self.text if self.action in {"draft", "revise"} else ""
        await add_part(transaction, thought, NewPart(_DOCUMENT, _TEXT, words, act=self.action, why=self.why))
        return PartsTaken(1)

    def _why_not(self, held: OwnText) -> str:
        if self.action in {"draft", "revise"} and not self.text:
            return "empty"
        needed = {"commit": held.draft, "revise": held.text, "withdraw": held.text or held.draft}
        return "" if needed.get(self.action, self.text) else "unknown"


NO_TEXT: Final = OwnText()


def own_text(rows: Iterable[HeldPart]) -> OwnText:
    """What these rows make, oldest first; one whose words are gone leaves nothing behind."""
    text, draft = list[HeldPart](), list[HeldPart]()
    for row in rows:
        match row.act:
            case "draft":
                draft = [row]
            case "commit" if draft:
                text, draft = [*draft, row], []
            case "revise":
                text = [row]
            case "withdraw" if text:
                text = []
            case "withdraw":
                draft = []
    return OwnText(
        "".join(one.words for one in text),
        "".join(one.words for one in draft),
        tuple(one.thought for one in (*text, *draft)),
    )
