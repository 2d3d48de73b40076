"""Slash commands and acts on the home page, stored before they are acknowledged."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from daemon.core.perception import BELOW, BESIDE, NO_MESSAGE, Audience, ConversationKey, Modality, Place
from daemon.core.phrases import READS, Command, phrase_in, typed
from daemon.core.ports.arrivals import Acceptance, AskedAbout, TypedCommand, WhyAsked
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turns import OF_SOUL
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import FORGETTING, Asker, Forgotten, MemoryAct, Paused
from daemon.memory.queues.own_reminders import ReminderCancelled
from daemon.memory.queues.stops import stop_by_command
from daemon.memory.records import json_object

TYPED: Final = "typed"
"""The parameter that names the arrival of a slash command, by which it is answered where it was typed."""

HOME: Final = "home"
"""The parameter that names what was done on the home page."""


async def changes_wait(transaction: Transaction, where: ConversationKey, person: str) -> bool:
    """Return whether something waits there that changes what is known of the person."""
    rows = await transaction.rows(
        """
        SELECT body, place, modality, params FROM inbox
        WHERE conversation = :id AND state IN ('new', 'claimed') AND author = :person
          AND modality IN ('words', 'decision')
        """,
        id=str(where),
        person=person,
    )
    return any(_changes(row) for row in rows)


async def open_beside(
    transaction: Transaction, where: ConversationKey, place: Place, audience: Audience, now: int
) -> ConversationKey:
    """Return the conversation for what only reads in a room, and create its row."""
    beside = replace(where, thread=BESIDE)
    await open_conversation(transaction, beside, place, audience, now)
    return beside


def _changes(row: sqlite3.Row) -> bool:
    params = json_object(row["params"])
    if HOME in params:
        return True
    if TYPED in params:
        return typed(row["body"]).command not in READS
    if row["modality"] == Modality.DECISION:
        return str(params.get("approval", "")).startswith(FORGETTING)
    phrase = phrase_in(row["body"], alone=row["place"] == Place.DM)
    return phrase is not None and phrase.command not in READS


ASKED_IN: Final = "typed_in"
"""The parameter that names the room in which it was typed."""

DONE: Final = "done"
"""The parameter of a press that took effect when it was accepted."""

STOPS: Final = "stops"
"""The parameter that says how much a command stopped."""

_CORRECTS: Final = "wrong"  # what is typed there is the person's own words
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TO_ONE: Final[Mapping[str, Callable[[str], MemoryAct]]] = {"forget": Forgotten, "cancel": ReminderCancelled}


async def take_command(
    transaction: Transaction, command: TypedCommand, now: int
) -> tuple[Acceptance, str, tuple[str, ...]]:
    """Put a command into the inbox of its user's DM, and stop what it stops.

    A command that only reads is answered in parallel to the DM's talk (`open_beside`). A press on the home page takes
    effect here, unless an earlier change waits: then it keeps its place behind that. Returns the outcome and the
    conversations that have news.
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
    """Return what a press on the home page does to the person's own memory, or None for any other press."""
    act, _, about = home.partition(" ")
    if act in ("pause", "resume"):
        return Paused(paused=act == "pause")
    return _TO_ONE[act](about) if act in _TO_ONE and _ID.fullmatch(about) else None


async def take_question(transaction: Transaction, asked: AskedAbout, now: int) -> tuple[Acceptance, str]:
    """Put the question into the inbox of the conversation in which it is answered."""
    where = ConversationKey(asked.soul, asked.workspace, asked.channel, asked.thread)
    await open_conversation(transaction, where, asked.place, asked.audience, now, heard=True)
    await store_internal_event(
        transaction,
        name=asked.event_id,
        conversation=where,
        modality=Modality.WORDS,
        author=asked.author,
        place=asked.place,
        audience=str(asked.audience),
        body=asked.words,
        params={NO_MESSAGE: True},
        now=now,
    )
    return Acceptance.ACCEPTED, ""


MESSAGE: Final = "why"
"""The parameter of the event that names the message asked about."""


async def ask_why(transaction: Transaction, asked: WhyAsked, now: int) -> tuple[Acceptance, str]:
    """Put the question into the inbox, if the soul posted the message. Each use of the shortcut counts once."""
    row = await transaction.one(
        f"""
        SELECT c.id, c.place, c.audience, o.reply_to FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.platform_ts = :ts AND o.workspace = :workspace AND c.channel = :channel AND {OF_SOUL}
          AND o.revises IS NULL
        """,  # noqa: S608 - a constant of this package
        ts=asked.ts,
        soul=asked.soul,
        workspace=asked.workspace,
        channel=asked.channel,
    )
    if row is None:
        return Acceptance.IGNORED, "no message of the soul there"
    where = ConversationKey.parse(row["id"])
    if not await changes_wait(transaction, where, asked.author):
        where = await open_beside(transaction, where, Place(row["place"]), Audience.parse(row["audience"]), now)
    await store_internal_event(
        transaction,
        name=asked.event_id,
        conversation=where,
        modality=Modality.DECISION,
        author=asked.author,
        place=row["place"],
        audience=row["audience"],
        params={MESSAGE: asked.ts, BELOW: row["reply_to"]},
        now=now,
    )
    return Acceptance.ACCEPTED, ""
