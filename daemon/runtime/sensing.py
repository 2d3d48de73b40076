"""The files of the messages that a cycle answers, and the earlier picture that they may ask about."""

from dataclasses import replace
from typing import Final

from daemon.core.concurrency import time_limit
from daemon.core.perception import Modality
from daemon.core.ports.models import Image
from daemon.core.ports.speech import Task, TaskState
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.senses import KnownPicture, SentFile
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.records import Speaks
from daemon.mind.senses.sent_files import with_files
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul

_PATIENCE_S: Final = 20.0  # that a reply waits for files; the job after it has no such hurry
_FITS: Final = 4.0  # from which a question is taken to be about a picture: more than one frequent word
_FOLLOWS: Final = 2  # of the person's last messages, in which a picture is still what they talk about
_LATELY_MS: Final = 15 * 60_000


async def sense_files(
    cycle: Cycle, soul: Soul, transcript: Transcript, memory: WorkingMemory
) -> tuple[WorkingMemory, tuple[Image, ...]]:
    """Working memory with what the files of the newest messages hold, and the pictures to be shown.

    It costs no model call and never a reply: where it fails, the reply is made without it. `cycle.files` keeps them.
    """
    newest = [one for one in cycle.perceptions if one.modality is Modality.WORDS]
    if not newest:
        return memory, ()
    try:
        await _read(cycle, [one.ts for one in newest])
        pictures = [image for file in cycle.files if (image := await _picture(cycle, file.digest, file.read))]
        again = None if pictures else await _asked_about(cycle, transcript, "\n".join(one.content for one in newest))
        if again is not None and (image := await cycle.services.senses.picture(again.digest)) is not None:
            pictures.append(image)
        else:
            again = None
    except Exception as error:  # noqa: BLE001  # a broken file must not cost the reply
        cycle.services.emit("files.failed", trace=cycle.trace_id, error=error)
        return memory, ()
    return with_files(memory, cycle.files, soul.budgets.files, again), tuple(pictures)


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
    """Read a file, and show people a card while it is read."""
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
    """The one earlier picture that the newest words may be about; only of this room and of what everybody may know."""
    services, conversation = cycle.services, cycle.claim.conversation
    lately = [turn.ts for turn in transcript.turns if turn.speaker is Speaks.PERSON][-_FOLLOWS:]
    shown = await services.senses.latest_picture(conversation, lately) if lately else None
    if shown is not None and services.clock.now_ms() - shown.at_ms <= _LATELY_MS:
        return shown
    if cycle.newest.author in cycle.paused:
        return None
    found = await services.senses.picture_about(conversation, replace(cycle.readers, rooms=frozenset()), query)
    return found if found is not None and found.fit >= _FITS else None
