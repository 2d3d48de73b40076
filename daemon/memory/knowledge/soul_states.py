"""The soul's own state: its mood for each audience, its topic and task in a conversation, its question in a room."""

from dataclasses import dataclass

from daemon.core.perception import Audience, ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.worker_store import WorkerStore

QUESTION_LAPSES_MS = 60 * 24 * 3_600_000
"""How long a standing question is carried that nothing renews."""

_FELT = ("valence", "arousal", "dominance", "moved_ms", "felt_quality", "felt_by")
_STATE = "soul = :soul AND workspace = :workspace AND audience = :audience"


@dataclass(frozen=True, slots=True)
class SoulState:
    """The mood before one audience since `felt_ms`, from when it fades, and `topic` and `task` in one conversation.

    `question` is what the soul has wondered about in that room since an earlier time, maybe in another thread.
    `version` counts revisions of the mood, `topic_version` those of topic and task. Without any mood yet it is empty.
    The three axes (-1 to 1) were moved at `moved_ms` by the thought `felt_by`, which says how that feels; they fade
    from then.
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


@dataclass(frozen=True, slots=True)
class NewState:
    """What a revision stores; the caller has checked that the soul knows the emotional state."""

    emotional_state: str
    topic: str = ""
    task: str = ""
    question: str = ""


class SoulStates(WorkerStore):
    """Reads and revises the states of one worker's soul."""

    async def known(self, audience: Audience, conversation: ConversationKey) -> SoulState | None:
        """The state in a conversation before exactly this audience; None before the first revision."""

        async def unit(transaction: Transaction) -> SoulState | None:
            return await self._known(transaction, audience, conversation)

        return await self._database.read(unit)

    async def revise(
        self, audience: Audience, conversation: ConversationKey, new: NewState, *, instead_of: SoulState | None
    ) -> bool:
        """Store a new state from now on, made from the one known before (None for none).

        False, and nothing is written, when another version of mood, topic or task is in force by now.
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
        """Keep the question of a room, drop it, or put another in its place; an unchanged one keeps its age."""
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
    """Topic and task; a conversation that was deleted meanwhile has none."""
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
