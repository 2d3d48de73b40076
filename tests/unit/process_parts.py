"""Builders for the context of a mental process: its capabilities and its cycle, which offer nothing by default."""

from daemon.core.errors import ChannelRefused
from daemon.core.expectations import Limits
from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.core.ports.channel import Room
from daemon.core.working_memory import WorkingMemory
from daemon.memory.queues.approvals import Approval, Approvals
from daemon.memory.queues.intention_rows import Intention
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.own_reminders import OwnThings
from daemon.mind.process import Capabilities, CurrentCycle
from daemon.processes.wishes import WISHES


class NothingOwn(OwnThings):
    """Nothing waits for any person."""

    def __init__(self) -> None: ...

    async def reminders(self, person: str) -> tuple[Intention, ...]:
        return ()


class NoApprovals(Approvals):
    """A store without any approval."""

    def __init__(self) -> None:
        """Without a database."""

    async def status(self, approval: str) -> Approval | None:
        return None


async def _none(*_: object) -> tuple[()]:
    return ()


async def _has_room(user: str, planned: int) -> bool:
    return True


async def _unreachable(contact: str) -> Room:
    raise ChannelRefused(f"{contact} can't be written to from here", code="unreachable")


async def _unchanged(memory: WorkingMemory) -> WorkingMemory:
    return memory


def _ignore(event: str, /, **fields: object) -> None:
    """Log nothing."""


async def _nothing_known(*_: object) -> tuple[str, tuple[MemoryAct, ...]]:
    return "", ()


def capabilities() -> Capabilities:
    """No library, no tools, no approvals; room for every intention, no contact within reach."""
    return Capabilities(
        library=None,
        toolbox=None,
        approvals=NoApprovals(),
        may_intend=_has_room,
        intended=_none,
        find_room=_unreachable,
        approvers=(),
        admins=(),
        approval_seconds=900.0,
        own_memory=_nothing_known,
        own_things=NothingOwn(),
    )


def current_cycle(limits: Limits | None = None) -> CurrentCycle:
    """A cycle that has spent nothing, remembers nothing and receives no further message."""
    return CurrentCycle(
        limits=limits,
        usage=lambda: (0, 0.0),
        absorb_new_messages=_unchanged,
        recollect=_none,
        cite=lambda _: None,
        readers=Readers(Audience(AudienceKind.DM, "D1"), members_only=True),
        emit=_ignore,
        wishes=WISHES,
    )
