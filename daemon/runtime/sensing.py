"""The files and pictures of a talk, and what souls, programs and sessions share with a cycle."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from daemon.core.concurrency import time_limit
from daemon.core.contexts import ContextState, Writer
from daemon.core.errors import ChannelError, DaemonError
from daemon.core.notes import SOUL_CHANNEL, SharedMessage
from daemon.core.perception import Modality, Place
from daemon.core.ports.channel import ThreadMessage
from daemon.core.ports.services import MOST_FILES, Image, Task, TaskState
from daemon.core.sensing import SourceEvent
from daemon.core.sentences import Sentence
from daemon.core.sessions import CodeSession, key_of
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.senses import KnownPicture, SentFile
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.own_reminders import ReminderCancelled, ReminderMoved, ReminderPaused, ReminderResumed
from daemon.memory.records import Dismissal, Speaks
from daemon.memory.shared.contexts import Change
from daemon.memory.shared.keys import KeysEnded
from daemon.memory.shared.messages import SaidToSoul, SentNote
from daemon.memory.shared.pairings import CodeTyped, MachineDecided
from daemon.memory.shared.question_acts import AskedToBind, Decided, DecidedToBind, PutToSession
from daemon.mind.thought_input import with_files
from daemon.runtime.cycle_state import Cycle
from daemon.shared.events import Correspondence
from daemon.soul import Soul

_PATIENCE_S: Final = 20.0  # that a reply waits for files; the job after it has no such hurry
_FITS: Final = 4.0  # from which a question is taken to be about a picture: more than one frequent word
_FOLLOWS: Final = 2  # of the person's last messages, in which a picture is still what they talk about
_LATELY_MS: Final = 15 * 60_000


async def sense_files(
    cycle: Cycle, soul: Soul, transcript: Transcript, thread: Sequence[ThreadMessage], memory: WorkingMemory
) -> tuple[WorkingMemory, tuple[Image, ...]]:
    """Add the files of the newest messages and of the talk, and return the pictures to show.

    `thread` is what was said before the soul was asked in. Its files are read for this reply and kept nowhere. It
    costs no model call and never a reply: after a failure the reply is made without files. `cycle.files` and
    `cycle.earlier_files` keep them.
    """
    newest = [one for one in cycle.perceptions if one.modality is Modality.WORDS]
    if not newest:
        return memory, ()
    try:
        await _read(cycle, [one.ts for one in (*(aside.perception for aside in transcript.aside), *newest)])
        await _read_earlier(cycle, transcript, thread)
        pictures = [
            image
            for file in (*cycle.files, *cycle.earlier_files)
            if (image := await _picture(cycle, file.digest, file.read))
        ]
        again = None if pictures else await _asked_about(cycle, transcript, "\n".join(one.content for one in newest))
        if again is not None and (image := await cycle.services.senses.picture(again.digest)) is not None:
            pictures.append(image)
        else:
            again = None
    except Exception as error:  # noqa: BLE001  # a broken file must not cost the reply
        cycle.services.emit("files.failed", trace=cycle.trace_id, error=error)
        return memory, ()
    return with_files(memory, cycle.files, soul.budgets.files, again, cycle.earlier_files), tuple(pictures)


async def files_of_talk(cycle: Cycle, transcript: Transcript) -> tuple[SentFile, ...]:
    """Return the files of the talk whose content the store knows, newest first. Raises StoreError."""
    return tuple(await cycle.services.senses.of_talk(cycle.claim.conversation, _begun_ms(cycle, transcript)))


async def _read_earlier(cycle: Cycle, transcript: Transcript, thread: Sequence[ThreadMessage]) -> None:
    """Read the files of a thread, apart from those of the talk. Unreadable ones are named below the first reply."""
    services, conversation = cycle.services, cycle.claim.conversation
    newest = {(one.ts, one.file.id) for one in cycle.files}
    found = {key: one for one in cycle.earlier_files if (key := (one.ts, one.file.id)) not in newest}
    for number, (ts, file) in enumerate((said.ts, file) for said in thread for file in said.files):
        late = SentFile(0, ts, file, "waiting", Sentence("file_late"), None, "", 0, 0)
        fits = number < MOST_FILES
        many = replace(late, state="refused", reason=Sentence("file_one_too_many", most=MOST_FILES))
        found.setdefault((ts, file.id), late if fits else many)
    above = list(found.values())
    with suppress(TimeoutError):
        async with time_limit(services.clock, _PATIENCE_S):
            for number, one in enumerate(above):
                [above[number]] = await services.file_sensing.read(conversation, [one])
    if all(turn.speaker is not Speaks.SOUL for turn in transcript.turns):
        cycle.files += tuple(one for one in above if one.state == "refused")
        above = [one for one in above if one.state != "refused"]
    cycle.earlier_files = tuple(above)


def _begun_ms(cycle: Cycle, transcript: Transcript) -> int:
    """Return the earliest beginning of the talk: a thread is one talk, a timeline has a pause between two."""
    if cycle.claim.conversation.thread:
        return 0
    begun, pause = cycle.services.clock.now_ms(), cycle.services.visit_timeout_ms
    for said_ms in (int(float(turn.ts) * 1000) for turn in reversed(transcript.turns)):
        if begun - said_ms > pause:
            break
        begun = said_ms
    return begun - pause


async def _read(cycle: Cycle, timestamps: list[str]) -> None:
    services, conversation = cycle.services, cycle.claim.conversation
    cycle.files = tuple(await services.senses.of_messages(conversation, timestamps))
    if all(one.state != "waiting" for one in cycle.files):
        return
    try:
        async with time_limit(services.clock, _PATIENCE_S):
            for number, file in enumerate(cycle.files):
                if file.state == "waiting":
                    await _read_one(cycle, number, file)
    except TimeoutError:
        cycle.files = tuple(await services.senses.of_messages(conversation, timestamps))


async def _read_one(cycle: Cycle, number: int, file: SentFile) -> None:
    task = Task(f"file-{number}", cycle.words.say("doing_read_from", source=file.file.name), TaskState.IN_PROGRESS)
    await cycle.show(task)
    try:
        [read] = await cycle.services.file_sensing.read(cycle.claim.conversation, [file])
    except BaseException:
        await cycle.show(replace(task, state=TaskState.ERROR))
        raise
    cycle.files = (*cycle.files[:number], read, *cycle.files[number + 1 :])
    await cycle.show(replace(task, state=TaskState.ERROR if read.state == "refused" else TaskState.COMPLETE))


async def _picture(cycle: Cycle, digest: str, read: object) -> Image | None:
    image = getattr(read, "image", None)
    if isinstance(image, Image):
        return image
    return await cycle.services.senses.picture(digest)


async def _asked_about(cycle: Cycle, transcript: Transcript, query: str) -> KnownPicture | None:
    """Return the earlier picture that the newest words may be about, from this room and what all users may know."""
    services, conversation = cycle.services, cycle.claim.conversation
    lately = [turn.ts for turn in transcript.turns if turn.speaker is Speaks.PERSON][-_FOLLOWS:]
    shown = await services.senses.latest_picture(conversation, lately) if lately else None
    if shown is not None and services.clock.now_ms() - shown.at_ms <= _LATELY_MS:
        return shown
    if cycle.newest.author in cycle.paused:
        return None
    found = await services.senses.picture_about(conversation, replace(cycle.readers, rooms=frozenset()), query)
    return found if found is not None and found.fit >= _FITS else None


_Shared = tuple[list[ContextState], list[SharedMessage], tuple[SourceEvent, ...]]


async def what_is_shared(cycle: Cycle, soul: Soul) -> _Shared:
    """Return the contexts that the readers may know, the notes sent from here, and programs' events here.

    Return nothing where they can't be read.
    """
    keys, where = shared_keys(cycle, soul), cycle.claim.conversation
    heard = cycle.readers.may_know(where.workspace)
    try:
        found = await cycle.services.store.contexts.these(keys) if keys else []
        sent = await cycle.services.notes.sent_from(where)
        events = await cycle.services.store.events.lately(where)
    except DaemonError as error:
        cycle.services.emit("contexts.failed", trace=cycle.trace_id, error=error)
        return [], [], ()
    contexts = [one for one in found if one.audience in heard]
    notes = [one for one in sent if cycle.readers.audience.within(one.audience)]
    return contexts, notes, events


async def with_notes_heard(cycle: Cycle, transcript: Transcript) -> Transcript:
    """Add another soul's notes to the transcript of a conversation with that soul. Raises StoreError.

    The notes are no turns in the store, and are never taken for a person's words.
    """
    heard = await cycle.services.notes.heard_before(cycle.claim.conversation)
    if not heard:
        return transcript
    both = sorted((*heard, *transcript.turns), key=lambda turn: (float(turn.ts), turn.speaker is Speaks.SOUL))
    return replace(transcript, turns=tuple(both))


async def correspondence(cycle: Cycle, soul: Soul) -> Correspondence | None:
    """Return what the soul may do with notes here, None where it may not act, or outsiders read. Raises StoreError."""
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
    """Return the sentence by which a soul's app is missing in the thread, or an empty string.

    Raises StoreError, and NotDelivered while the platform can't be asked.
    """
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    apps = (await services.store.notes.other_apps(cycle.claim.conversation)).get(soul)
    if not apps:
        return ""
    called = (await services.notes.called()).get(soul, soul)
    if newest.place is Place.DM:
        return say("handoff_no_dm", name=called)
    there = [await cycle.channel.has_member(cycle.claim.conversation, app) for app in sorted(apps)]
    return "" if any(there) else say("handoff_not_in", name=called)


async def dismiss_unreadable_note(cycle: Cycle) -> None:
    """Dismiss a note that may not be used before the present readers. Raises StoreError."""
    if cycle.messages and (why := await cycle.services.notes.why_not_heard(cycle.newest, cycle.readers)):
        cycle.dismissed = {**cycle.dismissed, cycle.newest.id: Dismissal(why)}
        cycle.messages = ()


def said_to_souls(cycle: Cycle, parts: tuple[str, ...]) -> tuple[SaidToSoul, ...]:
    if not cycle.messages or not among_souls(cycle):
        return ()
    return cycle.services.notes.said(cycle.newest, "\n\n".join(parts))


def among_souls(cycle: Cycle) -> bool:
    return cycle.claim.conversation.channel == SOUL_CHANNEL


async def who_is_at_work(cycle: Cycle) -> tuple[CodeSession, ...]:
    """Return the sessions that run now, before full members alone, and none after a failure."""
    if not cycle.readers.members_only:
        return ()
    try:
        return await cycle.services.asking.living()
    except DaemonError as error:
        cycle.services.emit("sessions.failed", trace=cycle.trace_id, error=error)
        return ()


def shared_keys(cycle: Cycle, soul: Soul) -> tuple[str, ...]:
    """Return the keys that a soul knows of: those of the settings and its own."""
    return tuple(dict.fromkeys((*cycle.services.settings.shared_contexts, *soul.shared_contexts)))


async def require_shareable(cycle: Cycle, key: str, change: Change) -> None:
    """Raise ContextRefused if the commit would now refuse a change of what is shared, and StoreError."""
    writer = Writer(cycle.claim.conversation.soul, cycle.claim.audience)
    await cycle.services.store.contexts.require_allowed(key, change, writer)


_NEWS: Final = (PutToSession, Decided, AskedToBind, DecidedToBind, KeysEnded, CodeTyped, MachineDecided)
"""The acts for which a session or a machine may wait."""

_WORK: Final = (
    *(PutToSession, Decided, AskedToBind, DecidedToBind, SentNote, SaidToSoul, KeysEnded),
    *(ReminderCancelled, ReminderMoved, ReminderResumed, ReminderPaused),
)
"""The acts after which a conversation may have work."""


def tell_others(cycle: Cycle, effect: CycleEffect, *, changed: bool = False) -> None:
    """Notify those who wait, after the commit of acts, of a handoff, or if shared data has `changed`."""
    if changed or any(isinstance(act, _NEWS) for act in effect.acts):
        cycle.services.news.tell()
    if effect.handoff is not None or any(isinstance(act, _WORK) for act in effect.acts):
        cycle.services.wake()
