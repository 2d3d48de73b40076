"""What souls and people share, and notes between souls: before a reply and after its commit."""

from dataclasses import replace

from daemon.core.contexts import ContextState, Writer
from daemon.core.errors import ChannelError, DaemonError
from daemon.core.event_sources import SourceEvent
from daemon.core.notes import SOUL_CHANNEL, SharedMessage
from daemon.core.perception import Place
from daemon.core.sessions import CodeSession, key_of
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import Dismissal, Speaks
from daemon.memory.shared.binding_acts import AskedToBind, DecidedToBind
from daemon.memory.shared.contexts import Change
from daemon.memory.shared.note_acts import SaidToSoul, SentNote
from daemon.memory.shared.question_acts import Decided, PutToSession
from daemon.runtime.cycle_state import Cycle
from daemon.shared.messages import Correspondence
from daemon.soul import Soul

_Shared = tuple[list[ContextState], list[SharedMessage], tuple[SourceEvent, ...]]


async def what_is_shared(cycle: Cycle, soul: Soul) -> _Shared:
    """The contexts that the readers may know, the notes sent from here, and programs' events here.

    None where they can't be read.
    """
    keys, where = shared_keys(cycle, soul), cycle.claim.conversation
    heard = cycle.readers.may_know(where.workspace)
    try:
        found = await cycle.services.contexts.these(keys) if keys else []
        sent = await cycle.services.notes.sent_from(where)
        events = await cycle.services.events.lately(where)
    except DaemonError as error:
        cycle.services.emit("contexts.failed", trace=cycle.trace_id, error=error)
        return [], [], ()
    contexts = [one for one in found if one.audience in heard]
    notes = [one for one in sent if cycle.readers.audience.within(one.audience)]
    return contexts, notes, events


async def with_notes_heard(cycle: Cycle, transcript: Transcript) -> Transcript:
    """The transcript of a conversation with another soul with that soul's notes, which are no turns. Raises StoreError.

    So they are never taken for what a person said.
    """
    heard = await cycle.services.notes.heard_before(cycle.claim.conversation)
    if not heard:
        return transcript
    both = sorted((*heard, *transcript.turns), key=lambda turn: (float(turn.ts), turn.speaker is Speaks.SOUL))
    return replace(transcript, turns=tuple(both))


async def correspondence(cycle: Cycle, soul: Soul) -> Correspondence | None:
    """What the soul may do with notes here; None where it may not act, or outsiders read. Raises StoreError."""
    services, newest = cycle.services, cycle.newest
    limits = services.limits(soul)
    if limits is None or limits.reads_only or newest.author in cycle.paused:
        return None
    if cycle.readers.apart or not cycle.readers.members_only or key_of(newest.author) is not None:
        return None
    found = await services.notes.correspondence(newest, cycle.readers.audience)
    hands_to = [one for one in found.souls if await _can_answer_there(cycle, one)]
    return replace(found, hands_to=tuple(hands_to)) if found.souls else None


async def _can_answer_there(cycle: Cycle, soul: str) -> bool:
    try:
        return not await why_not_there(cycle, soul)
    except ChannelError:
        return False


async def why_not_there(cycle: Cycle, soul: str) -> str:
    """The sentence by which a soul can't answer in the thread, since its app is not there; empty where it can.

    Raises StoreError, and NotDelivered while it can't be asked.
    """
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    apps = (await services.notes.other_apps(cycle.claim.conversation)).get(soul)
    if not apps:
        return ""
    called = (await services.notes.called()).get(soul, soul)
    if newest.place is Place.DM:
        return say("handoff_no_dm", name=called)
    there = [await cycle.channel.has_member(cycle.claim.conversation, app) for app in sorted(apps)]
    return "" if any(there) else say("handoff_not_in", name=called)


async def let_go_unheard(cycle: Cycle) -> None:
    """Dismiss a note that may not be used before those who read by now. Raises StoreError."""
    if cycle.messages and (why := await cycle.services.notes.why_not_heard(cycle.newest, cycle.readers)):
        cycle.dismissed = {**cycle.dismissed, cycle.newest.id: Dismissal(why)}
        cycle.messages = ()


def said_to_souls(cycle: Cycle, parts: tuple[str, ...]) -> tuple[SaidToSoul, ...]:
    """What becomes of a reply where the soul hears another one."""
    if not cycle.messages or not among_souls(cycle):
        return ()
    return cycle.services.notes.said(cycle.newest, "\n\n".join(parts))


def among_souls(cycle: Cycle) -> bool:
    """Whether a cycle belongs to a conversation in which the soul hears another one."""
    return cycle.claim.conversation.channel == SOUL_CHANNEL


async def who_is_at_work(cycle: Cycle) -> tuple[CodeSession, ...]:
    """The sessions that run now, before full members alone; none where that fails."""
    if not cycle.readers.members_only:
        return ()
    try:
        return await cycle.services.asking.living.seen()
    except DaemonError as error:
        cycle.services.emit("sessions.failed", trace=cycle.trace_id, error=error)
        return ()


def shared_keys(cycle: Cycle, soul: Soul) -> tuple[str, ...]:
    """The keys that a soul knows of: those of the settings and its own."""
    return tuple(dict.fromkeys((*cycle.services.shared_keys, *soul.shared_contexts)))


async def require_shareable(cycle: Cycle, key: str, change: Change) -> None:
    """Raises ContextRefused where a change of what is shared would be refused by the commit now, and StoreError."""
    writer = Writer(cycle.claim.conversation.soul, cycle.claim.audience)
    await cycle.services.contexts.require_allowed(key, change, writer)


def tell_others(cycle: Cycle, effect: CycleEffect, *, changed: bool = False) -> None:
    """Tell those who wait, once an effect is committed that holds notes or a handoff, or what is shared `changed`."""
    asks = any(isinstance(act, PutToSession | Decided | AskedToBind | DecidedToBind) for act in effect.acts)
    if changed or asks:  # a session may wait for it
        cycle.services.news.tell()
    if asks or effect.handoff is not None or any(isinstance(act, SentNote | SaidToSoul) for act in effect.acts):
        cycle.services.wake()
