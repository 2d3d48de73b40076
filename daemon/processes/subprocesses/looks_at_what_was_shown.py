"""Makes records of the files that users sent: pictures by one look, recordings and documents by what was read."""

from collections.abc import Sequence

from msgspec.structs import replace

from daemon.core.errors import MalformedReply, ModelRefused, NoAccess
from daemon.core.ports.services import FileKind
from daemon.memory.knowledge.senses import SentFile
from daemon.mind.recall.mood import current_mood
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.look import Seen, look
from daemon.mind.thought_input import seeing, sense_of_file
from daemon.soul_engine import begin

_AT_ONCE = 8  # pictures in one look


async def looks_at_what_was_shown(context: SubprocessContext) -> None:
    """Read the unread files, look at the pictures once, and store a record of each file.

    A file whose message was deleted leaves no record. If the model can't see pictures, the record says so. Raises
    ModelUnavailable and NoAccess: the look is tried again.
    """
    waiting = await context.senses.unrecorded(context.conversation)
    files = [one for one in await context.read_files(context.conversation, waiting) if one.state == "read"]
    seen = await _seen(context, [one for one in files if one.read and one.read.kind is FileKind.IMAGE][:_AT_ONCE])
    if not files:
        return
    state = await context.soul_states.known(context.audience, context.conversation)
    physio = context.soul.physio_in(current_mood(state, context.clock.now_ms(), context.soul))
    for file in files:
        sense = sense_of_file(file, context.conversation, context.soul.name, physio, seen.get(file.seq))
        stored = await context.senses.record(file, sense)
        if stored is not None:
            context.emit("sense.recorded", id=stored.id, kind=stored.data_type, trace=context.trace_id)


async def _seen(context: SubprocessContext, files: Sequence[SentFile]) -> dict[int, Seen]:
    """Return the description of each picture, by the number of its file."""
    found = [(file, await context.senses.picture(file.digest)) for file in files]
    pictures = [(file, image) for file, image in found if image is not None]
    if not pictures:
        return {}
    looking = replace(context, mind=seeing(context.mind, [image for _, image in pictures]))
    try:
        _, described = await looking.think(begin(context.soul), look(len(pictures)))
    except NoAccess:
        raise  # a look with the right key sees them
    except (ModelRefused, MalformedReply) as error:
        context.emit("sense.unseen", reason=error.message, trace=context.trace_id)
        return {}
    return {file.seq: one for (file, _), one in zip(pictures, described, strict=True) if one.description}
