"""Takes a slash command, and what is done on the home page: stored before it is acknowledged.

It is an event in the direct messages of its user. What only reads is answered beside the talk there (`beside`). A press
on the home page takes effect with its acceptance, so that it holds for each later message; only the page has to follow.
Where something that changes the same waits there, it keeps its place behind that. *Stop* stops with its acceptance;
only what it did is told later.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from daemon.core.perception import NO_MESSAGE, ConversationKey, Modality, Place
from daemon.core.phrases import READS, Command, typed
from daemon.core.ports.arrivals import Acceptance, TypedCommand
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.queues.beside import HOME, TYPED, changes_wait, open_beside
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker, Forgotten, MemoryAct, Paused
from daemon.memory.queues.own_reminders import ReminderCancelled
from daemon.memory.queues.stops import stop_by_command

ASKED_IN: Final = "typed_in"
"""The parameter that names the room in which it was typed."""

DONE: Final = "done"
"""The parameter of a press that took effect when it was accepted."""

STOPS: Final = "stops"
"""The parameter that says how much a command stopped."""

_CORRECTS: Final = "wrong"  # what is typed there is the person's own words
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TO_ONE: Final[Mapping[str, Callable[[str], MemoryAct]]] = {"forget": Forgotten, "cancel": ReminderCancelled}
"""What is done to one fact or reminder, by its id."""


async def take_command(
    transaction: Transaction, command: TypedCommand, now: int
) -> tuple[Acceptance, str, tuple[str, ...]]:
    """Put the words into the inbox of a conversation in which only their user reads, and stop what they stop.

    Gives the conversations that have news with the outcome.
    """
    where = ConversationKey(command.soul, command.workspace, command.channel)
    await open_conversation(transaction, where, Place.DM, command.audience, now)
    params: dict[str, object] = {TYPED: command.event_id, ASKED_IN: command.asked_in, NO_MESSAGE: True}
    if command.home:
        params[HOME] = command.home
    corrects, stopped = command.home.startswith(_CORRECTS), tuple[str, ...]()
    if not command.home and typed(command.words).command is Command.STOP:
        stopped = await stop_by_command(transaction, command, now)
        params[STOPS] = len(stopped)
        where = await open_beside(transaction, where, Place.DM, command.audience, now)
    elif not corrects and not await changes_wait(transaction, where, command.author):
        if (act := act_pressed(command.home)) is not None:
            await act.perform(transaction, Asker(command.author, where, command.audience, platform_time(now)), now)
            params[DONE] = True
        if command.home or typed(command.words).command in READS:
            where = await open_beside(transaction, where, Place.DM, command.audience, now)
    await store_internal_event(
        transaction,
        name=command.event_id,
        conversation=where,
        modality=Modality.WORDS if corrects else Modality.DECISION,
        author=command.author,
        place=Place.DM,
        audience=str(command.audience),
        body=command.words,
        params=params,
        now=now,
    )
    return Acceptance.ACCEPTED, "", (*stopped, "")


def act_pressed(home: str) -> MemoryAct | None:
    """What a press on the home page does to memory that is the person's own; None for any other press.

    What the store finds to be another's stays as it is.
    """
    act, _, about = home.partition(" ")
    if act in ("pause", "resume"):
        return Paused(paused=act == "pause")
    return _TO_ONE[act](about) if act in _TO_ONE and _ID.fullmatch(about) else None
