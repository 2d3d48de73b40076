"""What the soul knows in the scenes of the golden prompts: one talk, two people, a moment."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place, Readers
from daemon.core.ports.channel import ThreadMessage
from daemon.core.ports.library import Passage, Tool
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.mind.recall import RecalledFacts, thought_for
from daemon.soul import Contact, Soul, SpeakingFirst, find_souls_directory, load_soul

NONCE = "c0de"
NOW_MS = 1_763_730_000_000  # Friday, 21 November 2025, 13:00 UTC
MINUTE = 60_000
IN_DM, IN_ROOM = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.WORKSPACE, "T1")
DM, ROOM = ConversationKey("minoan", "T1", "D1"), ConversationKey("minoan", "T1", "C1", "1.0")
HERE = Readers(IN_DM, members_only=True)

WORDS = Perception(
    id="p1",
    conversation=DM,
    modality=Modality.WORDS,
    content="And the second pump: is it the valve again?",
    author="U0ADA",
    audience=IN_DM,
    place=Place.DM,
    ts=f"{NOW_MS / 1000:.6f}",
    received_ms=NOW_MS,
    name="Ada",
    zone="Europe/Athens",
)
IN_PUBLIC = replace(WORDS, conversation=ROOM, audience=IN_ROOM, place=Place.PUBLIC_CHANNEL, zone="")
FOUND = (
    Passage("docs/pumps.md:12", "The second pump is fed through the north valve, which was changed in October."),
    Passage("talk of 2025-11-03", "Ben: the counter of pump two has been wrong since the flood."),
)
TOOLS = (Tool("shelf/look_up", "Explain a word.", {"type": "object"}, writes=False, fingerprint="f1"),)


@cache
def _shipped() -> Soul:
    return load_soul(find_souls_directory(None, Path("nowhere"), "minoan"), "minoan")


def soul(pipeline: str = "unified", mind: str = "process") -> Soul:
    """The shipped soul, with a person to hand things on to, that may speak first."""
    contact = Contact(name="Ben", slack="U0BEN", can="restarts the pumps")
    first = SpeakingFirst(speaks_when_dormant=True, says_farewell=True)
    how = {"pipeline": pipeline, "mind": mind}
    return _shipped().model_copy(update={**how, "contacts": (contact,), "presence": first})


def turns(kind: TurnKind = TurnKind.REPLY) -> tuple[Turn, ...]:
    """Two exchanges; the second reply is of the given kind."""
    private = {"reply_verb": "explained", **thought_for(HERE)}
    first = {**private, "monologue": "They want the plain cause, not the history of the pump house."}
    second = {**private, "monologue": "The counter may be wrong rather than the pump.", "reply_verb": "asked"}
    return (
        Turn(Speaks.PERSON, "U0ADA", "Ada", "1.0", "The figures of last week look odd.", seq=1),
        Turn(Speaks.SOUL, "minoan", "Kothar", "1.0", "The pump ran all weekend; hence the figures.", first, 2),
        Turn(Speaks.PERSON, "U0ADA", "Ada", "2.0", "Who left it on?", seq=3),
        Turn(Speaks.SOUL, "minoan", "Kothar", "2.0", "I can't tell. What does the log say?", second, 4, kind),
    )


def transcript(said: Sequence[Turn] | None = None) -> Transcript:
    """The talk so far, with a summary of what came before it."""
    summary = "Open:\n- Kothar owes Ada a plan of the valves by Monday\nSo far:\nThey are rebuilding the pump house."
    return Transcript(summary, 0, turns() if said is None else tuple(said))


def facts(readers: Readers = HERE) -> RecalledFacts:
    """What may be known: notes on Ada, a mood with topic, task and question, and in a room what others said."""
    audience = readers.audience
    model = UserModel("minoan", "U0ADA", audience, 3, "Ada", (), "", 2, 9, NOW_MS - MINUTE, 4, NOW_MS)
    known = replace(model, notes=("Leads the pump team.", "Prefers figures to adjectives."), whispers="Is it my fault?")
    state = SoulState("focused", NOW_MS - MINUTE, "the second pump", "draw the valves", "Did the dam hold?", 1, 1)
    if audience == IN_DM:
        return RecalledFacts(readers, {"U0ADA": (known,)}, state)
    before = (ThreadMessage("0.5", "U0BEN", "Ben", "Pump two is loud today."),)
    aside = (ThreadMessage("2.5", "U0BEN", "Ben", "Ask it about the valve, Ada."),)
    return RecalledFacts(readers, {"U0ADA": (known,)}, state, before, aside)
