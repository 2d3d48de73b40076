"""Thoughts that rest on what a user takes back: one message by its place, or all of a person's words."""

import json
from collections.abc import Sequence
from typing import Final

from daemon.core.lineage import author_id, goal_id, message_id, model_id
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turns import handed_among
from daemon.memory.people.known import NAMES_OF_PERSON, PRIVATE
from daemon.memory.stream.emptying import empty_along, empty_thoughts_on, empty_thoughts_since, forget_noted

_GIVEN: Final = f"""
    SELECT soul, id FROM goals WHERE workspace = :workspace AND thought = ''
      AND (behalf = :person OR instr(goal, :person) > 0 OR conversation IN ({PRIVATE}))
    """  # noqa: S608 - a constant


async def empty_thoughts_of_message(transaction: Transaction, workspace: str, channel: str, ts: str) -> None:
    """Empty thoughts on a message, also if no soul has it as a turn, or its turn expired."""
    await empty_thoughts_on(transaction, [message_id(workspace, channel, ts)])
    aged = await transaction.rows(
        "SELECT seq, conversation FROM aged_turns WHERE workspace = :workspace AND channel = :channel AND ts = :ts",
        workspace=workspace,
        channel=channel,
        ts=ts,
    )
    await _empty_on_aged(transaction, aged)


async def empty_thoughts_of_person(transaction: Transaction, workspace: str, person: str, turns: Sequence[str]) -> None:
    """Empty thoughts on these turns of a person, their other words, their notes, and guesses about them.

    Thoughts on goals that an admin gave for them, in their DMs or by their id, are emptied too. No id is left that
    names the person.
    """
    notes = await transaction.rows(
        "SELECT id FROM shared_messages WHERE workspace = :workspace AND (behalf = :person OR owner = :person)",
        workspace=workspace,
        person=person,
    )
    goals = await transaction.rows(_GIVEN, workspace=workspace, person=person)
    given = [goal_id(row["soul"], row["id"]) for row in goals]
    await empty_thoughts_on(transaction, [*turns, author_id(workspace, person), *(row["id"] for row in notes), *given])
    guesses = model_id("*", workspace, person, "*")
    await empty_along(
        transaction,
        "SELECT thought AS id FROM thought_sources WHERE source >= 'UM_' AND source < 'UM~' AND source GLOB :guesses",
        guesses=guesses,
    )
    aged = await transaction.rows(  # theirs, and the replies to these
        f"""
        SELECT a.seq, a.conversation FROM aged_turns p CROSS JOIN aged_turns a
          ON a.workspace = p.workspace AND a.channel = p.channel AND a.ts = p.ts
        WHERE p.workspace = :workspace AND p.author IN ({NAMES_OF_PERSON})
        """,  # noqa: S608 - a constant
        workspace=workspace,
        person=person,
    )
    await _empty_on_aged(transaction, aged)
    for pattern in (guesses, author_id(workspace, person)):
        await forget_noted(transaction, pattern)


async def _empty_on_aged(transaction: Transaction, turns: Sequence[sqlite3.Row]) -> None:
    await empty_thoughts_on(transaction, [f"{kind}_{row['seq']}" for row in turns for kind in ("TU", "TL")])
    for row in turns:
        for one in sorted(await handed_among(transaction, row["conversation"])):
            await empty_thoughts_since(transaction, one, row["seq"])
    if turns:
        await transaction.run(
            "DELETE FROM aged_turns WHERE seq IN (SELECT value FROM json_each(:seqs))",
            seqs=json.dumps([row["seq"] for row in turns]),
        )
