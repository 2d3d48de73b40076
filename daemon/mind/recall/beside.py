"""What a person has open beside the talk, in the prompt's region `beside`: names and addresses, as data."""

from collections.abc import Sequence
from typing import Final

from daemon.core.lineage import room_id
from daemon.core.looked_at import OpenBeside, Opened
from daemon.core.working_memory import WorkingMemory
from daemon.soul_engine import BESIDE, with_notes

_SAID: Final = {
    Opened.CHANNEL: "the channel {name}: {address}",
    Opened.MESSAGE: "a message in {name}: {address}",
    Opened.CANVAS: "a canvas",
    Opened.LIST: "a list",
}


def with_beside(memory: WorkingMemory, beside: Sequence[OpenBeside], workspace: str = "") -> WorkingMemory:
    """Put it into working memory, the most relevant first; a model sees it fenced."""
    lines = [_SAID[one.kind].format(name=one.name, address=one.address) for one in beside]
    rooms = [room_id(workspace, one.channel) for one in beside if one.channel]
    return with_notes(memory, BESIDE, *lines, seen=rooms) if lines else memory
