"""The soul's own state: mood, topic, task, question and feelings, the memory and path of its mental processes."""

import json
from collections.abc import Mapping, Sequence

from msgspec import field

from daemon.core.perception import Audience, ConversationKey
from daemon.core.value import Value, from_plain
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Qualia, Sense, Trust
from daemon.memory.knowledge.records.links import Link, Relation, turn_id
from daemon.memory.knowledge.records.store import put
from daemon.memory.records import JSONObject, Row, Speaks, as_json, json_object
from daemon.memory.worker_store import WorkerStore

QUESTION_LAPSES_MS = 60 * 24 * 3_600_000
"""Milliseconds after which an open question lapses if no thought renews it."""

_FELT = ("valence", "arousal", "dominance", "moved_ms", "felt_quality", "felt_by")
_STATE = "soul = :soul AND workspace = :workspace AND audience = :audience"


class SoulState(Value):
    """The mood for one audience since `felt_ms`, from when it fades, and `topic` and `task` in one conversation.

    `question` is the soul's open question in that channel, maybe from another thread. `version` counts revisions of the
    mood, `topic_version` those of topic and task. `emotional_state` is empty before the first mood. The three axes (-1
    to 1) were last moved at `moved_ms` by the thought `felt_by`, and fade from then. `felt_quality` puts that in words.
    """

    emotional_state: str
    felt_ms: int
    topic: str = ""
    task: str = ""
    question: str = ""
    version: int = 0
    topic_version: int = 0
    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0
    moved_ms: int = 0
    felt_quality: str = ""
    felt_by: str = ""


class NewState(Value):
    """A revision of the state. The caller has checked that the soul knows the emotional state."""

    emotional_state: str
    topic: str = ""
    task: str = ""
    question: str = ""


class SoulStates(WorkerStore):
    """Reads and revises the states of one worker's soul."""

    async def known(self, audience: Audience, conversation: ConversationKey) -> SoulState | None:
        """Return the state in a conversation for exactly this audience. None before the first revision."""

        async def unit(transaction: Transaction) -> SoulState | None:
            return await self._known(transaction, audience, conversation)

        return await self._database.read(unit)

    async def revise(
        self, audience: Audience, conversation: ConversationKey, new: NewState, *, instead_of: SoulState | None
    ) -> bool:
        """Store a new state in place of `instead_of` (None for no state).

        Return False, and write nothing, if another version of mood, topic or task is in force.
        """
        now, made_from = self._clock.now_ms(), instead_of or SoulState("", 0)

        async def unit(transaction: Transaction) -> bool:
            in_force = await self._known(transaction, audience, conversation) or SoulState("", 0)
            if (in_force.version, in_force.topic_version) != (made_from.version, made_from.topic_version):
                return False
            await self._store_mood(transaction, audience, new.emotional_state, now)
            await _store_topic(transaction, audience, conversation, new, now)
            await self._store_question(transaction, audience, conversation, new.question, now)
            return True

        return await self._database.write(unit)

    async def _known(
        self, transaction: Transaction, audience: Audience, conversation: ConversationKey
    ) -> SoulState | None:
        own = {**self._worker.scope, "audience": str(audience)}
        mood = await transaction.one(f"SELECT * FROM soul_state WHERE {_STATE}", **own)  # noqa: S608 - constant
        topic = await transaction.one(
            "SELECT * FROM conversation_topics WHERE conversation = :id AND audience = :audience",
            id=str(conversation),
            audience=str(audience),
        )
        question = await transaction.one(
            f"SELECT question FROM standing_questions WHERE {_STATE} AND channel = :channel AND since_ms > :lapsed",  # noqa: S608 - constant
            channel=conversation.channel,
            lapsed=self._clock.now_ms() - QUESTION_LAPSES_MS,
            **own,
        )
        if mood is None and topic is None and question is None:
            return None
        return SoulState(
            emotional_state=mood["emotional_state"] if mood else "",
            felt_ms=mood["felt_ms"] if mood else 0,
            topic=topic["topic"] if topic else "",
            task=topic["task"] if topic else "",
            question=question["question"] if question else "",
            version=mood["version"] if mood else 0,
            topic_version=topic["version"] if topic else 0,
            **({name: mood[name] for name in _FELT} if mood else {}),
        )

    async def _store_mood(self, transaction: Transaction, audience: Audience, mood: str, now: int) -> None:
        await transaction.run(
            """
            INSERT INTO soul_state (soul, workspace, audience, version, emotional_state, felt_ms, updated_ms)
            VALUES (:soul, :workspace, :audience, 1, :mood, :now, :now)
            ON CONFLICT (soul, workspace, audience) DO UPDATE SET version = soul_state.version + 1,
              emotional_state = excluded.emotional_state, felt_ms = excluded.felt_ms, updated_ms = excluded.updated_ms
            """,
            audience=str(audience),
            mood=mood,
            now=now,
            **self._worker.scope,
        )

    async def _store_question(
        self, transaction: Transaction, audience: Audience, conversation: ConversationKey, question: str, now: int
    ) -> None:
        """Store, replace or (if empty) delete the question of a channel. An unchanged question keeps its age."""
        await transaction.run(
            """
            INSERT INTO standing_questions (soul, workspace, channel, audience, question, since_ms)
            VALUES (:soul, :workspace, :channel, :audience, :question, :now)
            ON CONFLICT (soul, workspace, channel) DO UPDATE SET
              audience = excluded.audience, question = excluded.question, since_ms = excluded.since_ms
              WHERE question <> excluded.question OR audience <> excluded.audience
            """,
            channel=conversation.channel,
            audience=str(audience),
            question=question,
            now=now,
            **self._worker.scope,
        )
        await transaction.run(
            """
            DELETE FROM standing_questions
            WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND question = ''
            """,
            channel=conversation.channel,
            **self._worker.scope,
        )


async def _store_topic(
    transaction: Transaction, audience: Audience, conversation: ConversationKey, new: NewState, now: int
) -> None:
    """Store topic and task, unless the conversation was deleted."""
    await transaction.run(
        """
        INSERT INTO conversation_topics (conversation, audience, version, topic, task, updated_ms)
        SELECT id, :audience, 1, :topic, :task, :now FROM conversations WHERE id = :id
        ON CONFLICT (conversation) DO UPDATE SET version = conversation_topics.version + 1,
          audience = excluded.audience, topic = excluded.topic, task = excluded.task, updated_ms = excluded.updated_ms
        """,
        id=str(conversation),
        audience=str(audience),
        topic=new.topic,
        task=new.task,
        now=now,
    )


class KeptMemory(Value):
    """The mental process of a conversation and its memory, after the commit that made it `version`.

    `forgotten` counts how often earlier words were edited or deleted there.
    """

    process: str
    memory: JSONObject
    version: int
    forgotten: int


class ProcessMemories(WorkerStore):
    """Reads and changes process memories between two cycles. Within a cycle, its commit stores them."""

    async def known(self, conversation: ConversationKey) -> KeptMemory | None:
        """Return the memory as the last commit left it. None for an unknown conversation."""
        row = await self._database.one(
            "SELECT process, process_memory, version, forgotten FROM conversations WHERE id = :id", id=str(conversation)
        )
        if row is None:
            return None
        return KeptMemory(row["process"], json_object(row["process_memory"]), row["version"], row["forgotten"])

    async def keep(self, conversation: ConversationKey, memory: JSONObject, *, instead_of: KeptMemory) -> bool:
        """Store a memory in place of `instead_of`.

        Return False, and write nothing, if another cycle was committed, or a message was edited or deleted.
        """
        rows = await self._database.run(
            """
            UPDATE conversations SET process_memory = :memory
            WHERE id = :id AND version = :version AND process = :process AND forgotten = :forgotten RETURNING id
            """,
            memory=as_json(dict(memory)),
            id=str(conversation),
            version=instead_of.version,
            process=instead_of.process,
            forgotten=instead_of.forgotten,
        )
        return bool(rows)


class OwnFeeling(Value):
    """The soul's own feeling, and its bodily values."""

    qualia: Qualia
    physio: Mapping[str, float]


class NewestQualia:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, conversation: ConversationKey, since_ms: int) -> Qualia | None:
        """Return the qualia of the newest sense since a moment. None if there is none, or it can't be read."""
        rows = await self._database.rows(
            """
            SELECT s.qualia FROM records r JOIN senses s ON s.id = r.id
            WHERE r.conversation = :id AND r.kind = 'sense' AND r.at_ms >= :since
            ORDER BY r.at_ms DESC, r.seq DESC LIMIT 1
            """,
            id=str(conversation),
            since=since_ms,
        )
        try:
            return from_plain(Qualia, json_object(rows[0]["qualia"])) if rows else None
        except ValueError:
            return None


async def keep_feeling(
    transaction: Transaction,
    felt: OwnFeeling,
    where: ConversationKey,
    audience: Audience,
    now: int,
) -> Sense | None:
    """Store how the soul felt after the newest message of a conversation, without words. None if it has no message."""
    row = await transaction.one(
        "SELECT seq FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=str(where),
    )
    if row is None:
        return None
    sense = Sense(
        soul=where.soul,
        workspace=where.workspace,
        audience=audience,
        channel=where.channel,
        text="",
        at_ms=now,
        trust=Trust.INFERRED,
        significance=felt.qualia.significance,
        conversation=str(where),
        data_type="visual_pattern",
        source="feeling",
        qualia=felt.qualia,
        physio_snapshot=felt.physio,
    )
    return await put(transaction, sense, now, [Link("", Relation.EVIDENCE, turn_id(Speaks.PERSON, row["seq"]))])


class PathStep(Value):
    """A step between mental processes. `hop` counts from 0 within one perception.

    `act` is `enter`, `stay`, `move`, `visit`, `return` or `refuse`. `decided_by` is `rule`, `model` or `schedule`.
    `reason` is one sentence.
    """

    hop: int
    act: str
    origin: str
    target: str
    decided_by: str
    reason: str
    params: Mapping[str, object] = field(default_factory=dict)


async def store_path(
    transaction: Transaction, conversation: ConversationKey, trace_id: str, steps: Sequence[PathStep], now: int
) -> None:
    for step in steps:
        await transaction.insert(
            "transitions",
            conversation=str(conversation),
            trace_id=trace_id,
            hop=step.hop,
            act=step.act,
            origin=step.origin,
            target=step.target,
            decided_by=step.decided_by,
            reason=step.reason,
            params=as_json(dict(step.params)),
            at_ms=now,
        )


async def state_path(database: Database, conversation: ConversationKey, limit: int) -> list[Row]:
    """Return the newest `limit` steps of a conversation, oldest first.

    `model` is the id of the model that replied to that perception, or empty.
    """
    rows = await database.rows(
        """
        SELECT s.*, coalesce((SELECT max(t.model) FROM turns t
                              WHERE t.trace_id = s.trace_id AND t.speaker = 'soul'), '') AS model
        FROM transitions s WHERE s.conversation = :id ORDER BY s.seq DESC LIMIT :limit
        """,
        id=str(conversation),
        limit=limit,
    )
    return [{**dict(row), "params": json.loads(row["params"])} for row in reversed(rows)]
