"""The tests' builders: what a test is given to begin with, and prompts as text."""

from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.ports.arrivals import Deletion, Edit, NewMessage
from daemon.core.ports.library import Post
from daemon.core.ports.services import LLMCall, ModelRole, Prompt
from daemon.core.working_memory import estimate_tokens
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import Claim, Dismissal, InboxMessage, Speaks, Turn
from daemon.soul import Soul, Verbs

OPENING = '<internal_monologue verb="thought">Hm.</internal_monologue><external_dialogue verb="said">'
CLOSING = "</external_dialogue>"
SOUL, TEAM, CHANNEL = "ada", "T1", "C1"
LEASE = 60.0
DM = ConversationKey(SOUL, TEAM, "D1")
HERE = Audience(AudienceKind.DM, "D1")


def counted_anew(markdown: str) -> bool:
    """Whether a text has a list whose numbers a reader of Markdown counts by itself (CommonMark 5.3)."""
    return any(token.type == "ordered_list_open" for token in MarkdownIt("commonmark").parse(markdown))


def tagged(
    reply: str,
    *,
    monologue: str = "Let me see.",
    learned: bool = False,
    moved: bool = False,
    calls_for: str = "nothing",
    heard: str = "",
    stated: str = "",
) -> str:
    """An answer in the form of the fixed pipeline; `learned` and `moved` are its two checks.

    `heard` and `stated` are attributes of `stimulus_verb` and `external_dialogue`, as a model writes them.
    """
    return (
        f"<calls_for>{calls_for}</calls_for>\n"
        f"<stimulus_verb{heard and ' '}{heard}>asked</stimulus_verb>\n"
        f'<internal_monologue verb="thought">{monologue}</internal_monologue>\n'
        f'<external_dialogue verb="said"{stated and " "}{stated}>{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(moved).lower()}</soul_state_check>"
    )


def wanting(word: str) -> str:
    """An answer that begins with a wish; its reply is to be said only where the wish leads nowhere."""
    return tagged("It leads nowhere.", calls_for=word)


def shown(prompt: Prompt) -> str:
    return "\n".join([part.text for part in prompt.system] + [message.text for message in prompt.messages])


def tokens(prompt: Prompt) -> int:
    return sum(estimate_tokens(part.text) for part in prompt.system) + sum(
        estimate_tokens(message.text) for message in prompt.messages
    )


def new_message(
    ts: str = "100.000001",
    text: str = "hi",
    *,
    event: str = "",
    conversation: ConversationKey = DM,
    author: str = "U1",
    addressed: bool = True,
    to_others: bool = False,
    audience: Audience | None = None,
) -> NewMessage:
    """A message of Ben's as Slack delivers it, in his DM unless `conversation` says otherwise."""
    return NewMessage(
        event_id=event or f"E{conversation.channel}{ts}",
        perception=Perception.of_message(
            conversation=conversation,
            ts=ts,
            author=author,
            content=text,
            place=Place.DM,
            audience=audience or Audience(AudienceKind.DM, conversation.channel),
        ),
        addressed=addressed,
        to_others=to_others,
    )


def edited(ts: str, text: str, event: str = "", conversation: ConversationKey = DM) -> Edit:
    return Edit(event or f"edit-{ts}-{text}", SOUL, TEAM, conversation.channel, ts, text)


def deleted(ts: str, event: str = "", conversation: ConversationKey = DM) -> Deletion:
    return Deletion(event or f"gone-{ts}", SOUL, TEAM, conversation.channel, ts)


def thread(root: str, channel: str = CHANNEL) -> ConversationKey:
    return ConversationKey(SOUL, TEAM, channel, root)


def call(trace: str = "t1") -> LLMCall:
    return LLMCall(trace, ModelRole.PERSONA, "respond", "placeholder/parrot", 1, 2, "ok")


def effect(
    claim: Claim,
    *parts: str,
    answered: tuple[InboxMessage, ...] | None = None,
    dismissed: Mapping[str, Dismissal] | None = None,
    jobs: tuple[str, ...] = (),
) -> CycleEffect:
    """What a cycle commits that answers its claim with these parts, and with no reply when there are none."""
    answered = claim.messages if answered is None else answered
    messages = tuple(
        Turn(Speaks.PERSON, one.perception.author, "Ben", one.perception.ts, one.perception.content) for one in answered
    )
    newest = answered[-1].perception.ts if answered else "0"
    spoken = (Turn(Speaks.SOUL, SOUL, "Ada", newest, "".join(parts), {"why": "asked"}),) if parts else ()
    return CycleEffect(
        claim=claim,
        trace_id="t1",
        state=claim.state,
        visit_state=claim.visit_state,
        turns=messages + spoken,
        parts=parts,
        reply_to="",
        recipient="U1",
        newer_than_ts=newest,
        answered=answered,
        dismissed=dismissed or {},
        jobs=jobs,
        calls=(call(),),
    )


def perception(
    *,
    channel: str = "C1",
    thread: str = "",
    ts: str = "1750000000.000100",
    source: str = "U1",
    place: Place = Place.PUBLIC_CHANNEL,
    team: str = "T1",
    soul: str = "minoan",
    modality: Modality = Modality.WORDS,
) -> Perception:
    """Words in a public channel; the fields that matter to a test are given."""
    key = ConversationKey(soul, team, channel, thread)
    audience = Audience(AudienceKind.CHANNEL, channel)
    return Perception(f"{team}/{channel}/{ts}", key, modality, "hello", source, audience, place, ts, 0)


def post(
    channel: str = "C1",
    body: str = "Hello *there*.",
    reply_to: str = "",
    **more: Any,  # noqa: ANN401  # any field
) -> Post:
    return Post(
        key=more.pop("key", "k1"),
        conversation=ConversationKey(more.pop("soul", "minoan"), more.pop("team", "T1"), channel, reply_to),
        body=body,
        reply_to=reply_to,
        recipient=more.pop("recipient", "U0ADA"),
        newer_than_ts=more.pop("newer_than_ts", reply_to),
        **more,
    )


def soul(name: str = "Kothar") -> Soul:
    """A soul with this display name, two moods and verbs of its own."""
    verbs = Verbs(speech=("said", "sang"), thought=("weighed", "brooded"))
    return Soul(
        name="minoan",
        display_name=name,
        personality="You are Kothar.",
        emotional_states=("wry", "calm"),
        verbs=verbs,
    )
