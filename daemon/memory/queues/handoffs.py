"""Handing a thread from one soul to another (seed 003), and posts for another conversation."""

import secrets
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, ConversationKey, Perception, Place
from daemon.core.sentences import Sentence
from daemon.core.timetable import surely_past
from daemon.core.value import Value
from daemon.memory.bound_threads import called_by_people, hand_on, is_hosted, other_apps
from daemon.memory.database import Transaction
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.knowledge.turns import give_summary, handed_among
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn, conversation_columns
from daemon.memory.tables import TABLES

_ARRIVES_MS: Final = 1_000  # later than the other soul's words


class HandoffRefused(DaemonError):
    """A thread that may not be handed over. Nothing changed."""


class Handoff(Value):
    """The soul that gets a thread. Both souls announce it to `recipient`, in the thread `reply_to`."""

    to: str
    recipient: str
    reply_to: str


async def at_its_holder(
    transaction: Transaction, perception: Perception, holder: str | None, now: int, *, at_home: str = ""
) -> Perception:
    """Return a new message as one of the soul that has its thread now.

    `holder` is the `handed_to` of the conversation it arrives for, or None if that is new. A thread that begins in DMs
    belongs to the soul they were handed to. A thread that begins in a channel belongs to the soul `at_home` there. If
    no daemon hosts that soul, the message is returned unchanged.
    """
    key = perception.conversation
    if at_home and await is_hosted(transaction, at_home, key.workspace):
        await open_conversation(transaction, key, perception.place, perception.audience, now)
        await _point_to(transaction, [str(key)], replace(key, soul=at_home))
        holder = at_home
    if holder is None and perception.place is Place.DM and key.thread:
        timeline = replace(key, thread="")
        row = await transaction.one("SELECT handed_to FROM conversations WHERE id = :id", id=str(timeline))
        holder = str(row["handed_to"]) if row else ""
        if holder:
            await open_conversation(transaction, key, perception.place, perception.audience, now)
            await _point_to(transaction, [str(key)], replace(key, soul=holder))
    if not holder or not await is_hosted(transaction, holder, key.workspace):
        return perception
    id_ = "/".join((holder, key.workspace, key.channel, perception.ts))
    return replace(perception, id=id_, conversation=replace(key, soul=holder))


async def hand_over(transaction: Transaction, where: ConversationKey, handoff: Handoff, now: int) -> None:
    """Give a thread to another soul, with what the first one knows of it.

    New messages still arrive for the first soul, whose row says to which soul it was handed. Edits and deletions also
    reach what was handed on (`handed_among`). Raises HandoffRefused.
    """
    row = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(where))
    if row is None or row["place"] == Place.TERMINAL or handoff.to == where.soul:
        raise HandoffRefused(f"{where} can't be handed to {handoff.to}", hint="give a thread of Slack and another soul")
    if row["place"] == Place.DM and handoff.to in await other_apps(transaction, where):
        raise HandoffRefused(
            f"{handoff.to} answers through another app, which can't write in these direct messages",
            hint="have the person write to that app itself",
        )
    to = replace(where, soul=handoff.to)
    await open_conversation(transaction, to, Place(row["place"]), Audience.parse(row["audience"]), now, heard=True)
    await _point_to(transaction, sorted({*await handed_among(transaction, str(where)), str(where), str(to)}), to)
    for statement in _GIVEN:
        await transaction.run(statement, old=str(where), new=str(to), soul=to.soul, now=now)
    await hand_on(transaction, where, to)
    await give_summary(transaction, where, to, row["audience"], now)
    await _give_what_waits(transaction, where, to)
    await _say_so(transaction, where, to, handoff, now)


async def _point_to(transaction: Transaction, conversations: list[str], to: ConversationKey) -> None:
    for one in conversations:
        await transaction.run(
            "UPDATE conversations SET handed_to = CASE WHEN id = :to THEN '' ELSE :soul END WHERE id = :id",
            to=str(to),
            soul=to.soul,
            id=one,
        )


async def _give_what_waits(transaction: Transaction, where: ConversationKey, to: ConversationKey) -> None:
    """Move the messages, notes and due events without a reply to the other soul. Decisions stay."""
    waiting = await transaction.rows(
        """
        SELECT * FROM inbox WHERE conversation = :id AND state IN ('new', 'claimed')
          AND modality IN ('words', 'note', 'time')
        """,
        id=str(where),
    )
    for row in waiting:
        moved = dict(row) | {"id": f"{to.soul}{row['id'].removeprefix(where.soul)}", "soul": to.soul, "state": "new"}
        await transaction.insert("inbox", "ON CONFLICT (id) DO NOTHING", **moved | {"conversation": str(to)})
        await transaction.run("DELETE FROM inbox WHERE id = :id", id=row["id"])
        await transaction.run(
            "UPDATE shared_messages SET inbox = :moved, heard_in = :to WHERE inbox = :id",
            moved=moved["id"],
            to=str(to),
            id=row["id"],
        )
        await transaction.run(
            "UPDATE OR IGNORE shared_files SET conversation = :to WHERE conversation = :id AND ts = :ts",
            to=str(to),
            id=str(where),
            ts=row["ts"],
        )


async def _say_so(
    transaction: Transaction, where: ConversationKey, to: ConversationKey, handoff: Handoff, now: int
) -> None:
    name, called = f"handed {secrets.token_hex(6)}", await called_by_people(transaction)
    on, here = (called.get(one.soul, one.soul) for one in (to, where))
    for key, said in ((where, Sentence("handed_on", name=on)), (to, Sentence("handed_here", name=here))):
        await note_in_conversation(
            transaction,
            str(key),
            name,
            said,
            reply_to=handoff.reply_to,
            recipient=handoff.recipient,
            now=now,
        )
    await transaction.run(
        "UPDATE outbox SET not_before = :due WHERE id = :id",
        due=now + _ARRIVES_MS,
        id=f"{to}!note:{name}",
    )


_GIVEN: Final = (
    # A cycle of the other soul that runs there doesn't know of this: it starts again.
    """
    UPDATE conversations SET taking_part = 1, forgotten = conversations.forgotten + 1, visit = c.visit,
      exchanges = c.exchanges, spoken_ms = c.spoken_ms, members_only = c.members_only,
      outsider_spoke = max(conversations.outsider_spoke, c.outsider_spoke)
    FROM conversations c WHERE c.id = :old AND conversations.id = :new
    """,
    # What a soul waits to be allowed it does itself, in the process in which it asked.
    """
    UPDATE conversations SET process = c.process, previous = c.previous, invocations = c.invocations,
      params = c.params, process_memory = c.process_memory
    FROM conversations c WHERE c.id = :old AND conversations.id = :new AND NOT EXISTS
      (SELECT 1 FROM approvals WHERE conversation IN (:old, :new) AND state = 'waiting' AND tool NOT GLOB 'mind.*')
    """,
    """
    INSERT INTO conversation_topics (conversation, audience, version, topic, task, updated_ms)
    SELECT :new, audience, 1, topic, task, :now FROM conversation_topics WHERE conversation = :old
    ON CONFLICT (conversation) DO UPDATE SET version = conversation_topics.version + 1, audience = excluded.audience,
      topic = excluded.topic, task = excluded.task, updated_ms = excluded.updated_ms
    """,
    """
    INSERT INTO standing_questions (soul, workspace, channel, audience, question, since_ms)
    SELECT :soul, q.workspace, q.channel, q.audience, q.question, q.since_ms
    FROM standing_questions q JOIN conversations c ON (c.soul, c.workspace, c.channel, c.audience) =
      (q.soul, q.workspace, q.channel, q.audience)
    WHERE c.id = :old ON CONFLICT DO NOTHING
    """,
    # What a soul has in mind stays with it.
    "DELETE FROM intentions WHERE conversation = :new AND slot = 'idle'",
    *(
        f"UPDATE OR IGNORE {table.name} SET conversation = :new, soul = :soul{change} "  # noqa: S608 - declared there
        f"WHERE conversation = :old AND {which}"
        for table in TABLES
        if table.moves
        for which, change in (table.moves,)
    ),
)


class CrossPost(Value):
    """A post for another conversation, which uses up the permission `approval`."""

    approval: str
    conversation: ConversationKey
    place: Place
    audience: Audience
    body: str


async def enqueue_cross_post(
    transaction: Transaction, cross_post: CrossPost, *, name: str, trace_id: str, now: int
) -> bool:
    """Queue a post once for its permission, or return False if that is used, expired or was never given.

    The other conversation gets a turn of the soul, called `name`: the soul remembers its post there.
    """
    permission = await transaction.one(
        """
        UPDATE approvals SET state = 'used'
        WHERE id = :id AND state = 'approved' AND decided_ms + expires_ms - created_ms >= :now RETURNING id
        """,
        id=cross_post.approval,
        now=now,
    )
    if permission is None:
        return False
    key = cross_post.conversation
    await open_conversation(transaction, key, cross_post.place, cross_post.audience, now)
    await transaction.insert(
        "outbox",
        id=f"{key}!errand:{cross_post.approval}",
        **conversation_columns(key),
        part=0,
        last=1,
        body=cross_post.body,
        reply_to="",
        recipient="",
        newer_than_ts=surely_past(now),
        audience=str(cross_post.audience),
        state="pending",
        created_ms=now,
    )
    turn = Turn(Speaks.SOUL, key.soul, name, f"{now / 1000:.6f}", cross_post.body)
    await store_turns(transaction, [turn], conversation=key, audience=cross_post.audience, trace_id=trace_id, now=now)
    return True
