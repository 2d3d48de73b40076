"""Ended visits: their turns, their outcome and remaining tasks, and the soul's journal."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import field
from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.value import Value
from daemon.core.words import likeness, terms_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Episode, JournalEntry, StructuredSummary, Trust, WorkflowState
from daemon.memory.knowledge.records.ledger import last_write
from daemon.memory.knowledge.records.links import Link, Relation, cross_link, link, turn_id
from daemon.memory.knowledge.records.store import change, get, put, select
from daemon.memory.knowledge.visits import REMEMBERED, goes_on, inherited_from, latest_before
from daemon.memory.reader_codes import record_heard_by
from daemon.memory.records import Speaks, Turn, as_json
from daemon.memory.worker_store import WorkerStore

MOST_FAULTS: Final = 9
"""The failed looks after which a visit is closed without one. More than the five attempts of a single job."""

_PART: Final = "closes_the_visit"

FAULTS_OF: Final = f"""
    coalesce((SELECT i.faults FROM consolidation_items i WHERE i.part = '{_PART}' AND i.object = r.id), 0)
    """  # noqa: S608 - a constant
"""The SQL for how often a look at the visit `r` (of `records`) failed."""


async def faults_of(transaction: Transaction, episode: str) -> int:
    row = await transaction.one(f"SELECT {FAULTS_OF} AS faults FROM records r WHERE r.id = :id", id=episode)  # noqa: S608 - a constant
    return row["faults"] if row else 0


async def note_fault(transaction: Transaction, episode: str, reason: str) -> None:
    """Count one more failed look, unless the visit is gone. `reason` holds no words of users."""
    await transaction.run(
        """
        INSERT INTO consolidation_items (part, object, faults, reason)
        SELECT :part, id, 1, :reason FROM records WHERE id = :id
        ON CONFLICT (part, object) DO UPDATE SET faults = faults + 1, reason = excluded.reason
        """,
        part=_PART,
        id=episode,
        reason=reason,
    )


_CHECKS: Final = ("user_model_check", "soul_state_check")
_AT_ONCE: Final = 20  # visits in one read, to keep the transaction short
_CUES: Final = 8
_AKIN: Final = 0.5  # likeness above which two words count as the same


class ImplicationRefused(StoreError):
    """The implication shares no word with the outcome. Nothing was written."""


class EndedVisit(Value):
    """An episode that waits to be looked through, with its turns, oldest first.

    `before` is the inherited workflow. `eventful`: something was learned or decided, and looks have not failed too
    often. `stamp` is the last write to the episode: a later write makes `close` return False.
    """

    episode: Episode
    turns: tuple[Turn, ...]
    before: WorkflowState
    eventful: bool
    stamp: int


class Closing(Value):
    """The result of a visit. `journal` holds the soul's words for itself in a `tone`, or is empty.

    `state_snapshot` is the soul's state as numbers and words of closed lists, without words of the visit.
    """

    summary: StructuredSummary
    workflow: WorkflowState
    significance: int = 5
    tags: tuple[str, ...] = ()
    journal: str = ""
    tone: str = ""
    state_snapshot: Mapping[str, object] = field(default_factory=dict)


def require_founded(summary: StructuredSummary) -> None:
    """Raise ImplicationRefused if the implication shares no word with the outcome (seed 004, rule 4)."""
    said = words_of(summary.key_outcome)
    terms = terms_of(summary.future_implication)
    if summary.future_implication and not any(likeness(term, word) > _AKIN for term in terms for word in said):
        raise ImplicationRefused(
            "what is said to follow names nothing of the outcome", hint="name in it what it follows from"
        )


class Episodes(WorkerStore):
    async def ended(self, conversation: ConversationKey, without: Collection[str] = ()) -> tuple[EndedVisit, ...]:
        """Return the next visits of a conversation that wait to be looked through, up to a fixed number.

        Visits with failed looks come last, because one bad visit must not block the others. A visit of a user who has
        paused remembering waits until that user resumes it.
        """

        async def unit(transaction: Transaction) -> tuple[EndedVisit, ...]:
            found = await select(
                transaction,
                Episode,
                f"""
                r.conversation = :conversation AND k.state = 'closing'
                  AND r.id NOT IN (SELECT value FROM json_each(:without)) AND {REMEMBERED}
                """,  # noqa: S608 - a constant of this package
                f"{FAULTS_OF}, r.at_ms, r.seq LIMIT {_AT_ONCE}",
                conversation=str(conversation),
                without=as_json(sorted(without)),
            )
            return tuple([await _with_turns(transaction, one) for one in found])

        return await self._database.read(unit)

    async def count_fault(self, visit: EndedVisit, reason: str) -> None:
        """Count a look that failed because of the visit's content. After MOST_FAULTS the visit is closed anyway."""
        await self._database.write(lambda transaction: note_fault(transaction, visit.episode.id, reason))

    async def close(self, visit: EndedVisit, closing: Closing) -> bool:
        """Store the result of an ended visit with its journal, and pass its remaining tasks on to the next visit.

        Return False, and write nothing, if the episode was changed, closed or forgotten in between. Raises
        ImplicationRefused.
        """
        require_founded(closing.summary)
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            episode = await get(transaction, visit.episode.id)
            if not isinstance(episode, Episode) or await last_write(transaction, episode.id) != visit.stamp:
                return False
            goal = closing.workflow.current_task or episode.situation.mission_goal
            turns = await turns_of_episode(transaction, episode.id)
            await cross_link(transaction, [turn_id(turn.speaker, turn.seq) for turn in turns], now)
            await change(
                transaction,
                episode.id,
                now,
                "the visit was looked through",
                text=closing.summary.content,
                state="distilled" if await _has_core(transaction, episode.id) else "closed",
                summary=closing.summary,
                workflow=closing.workflow,
                situation=replace(episode.situation, mission_goal=goal),
                significance=closing.significance,
                tags=closing.tags,
                cues=_cues(turns),
                state_snapshot=closing.state_snapshot,
                closed_ms=episode.closed_ms or now,
            )
            await _pass_on(transaction, episode, closing.workflow, now)
            if closing.journal:
                await _write_journal(transaction, episode, closing, now)
            return True

        return await self._database.write(unit)

    async def drop(self, visit: EndedVisit) -> None:
        """Forget an episode that has no turns left, with everything made from it alone."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            if not await turns_of_episode(transaction, visit.episode.id):
                await forget(transaction, [visit.episode.id], now, "all of its words are gone")

        await self._database.write(unit)

    async def in_mind(self, conversation: ConversationKey, audience: Audience) -> WorkflowState:
        """Return the workflow of the newest episode of a conversation for this audience."""

        async def unit(transaction: Transaction) -> WorkflowState:
            found = await select(
                transaction,
                Episode,
                "r.conversation = :conversation AND r.audience = :audience",
                "r.at_ms DESC, r.seq DESC LIMIT 1",
                conversation=str(conversation),
                audience=str(audience),
            )
            return found[0].workflow if found else WorkflowState()

        return await self._database.read(unit)

    async def begun_ms(self, conversation: ConversationKey) -> int:
        """Return when the open visit of a conversation began (ms UTC), or 0 if there is none."""
        row = await self._database.read(
            lambda transaction: transaction.one(
                """
                SELECT r.at_ms FROM records r JOIN episodes k ON k.id = r.id
                WHERE r.conversation = :id AND r.kind = 'episode' AND k.state = 'open'
                ORDER BY r.at_ms DESC, r.seq DESC LIMIT 1
                """,
                id=str(conversation),
            )
        )
        return int(row["at_ms"]) if row else 0

    async def journal(self, conversation: ConversationKey, readers: Readers, most: int) -> tuple[JournalEntry, ...]:
        """Return the newest journal entries for exactly these readers and their channel, oldest first."""
        heard, values = record_heard_by(readers, conversation)

        async def unit(transaction: Transaction) -> tuple[JournalEntry, ...]:
            found = await select(
                transaction,
                JournalEntry,
                f"""
                r.soul = :soul AND r.workspace = :workspace AND r.audience = :audience AND r.channel = :channel
                AND {heard}
                """,
                "r.at_ms DESC, r.seq DESC LIMIT :most",
                audience=str(readers.audience),
                channel=conversation.channel,
                most=most,
                **values,
                **self._worker.scope,
            )
            return tuple(reversed(found))

        return await self._database.read(unit)


async def _with_turns(transaction: Transaction, episode: Episode) -> EndedVisit:
    turns = await turns_of_episode(transaction, episode.id)
    before = await latest_before(transaction, episode.conversation or "", episode.at_ms, episode.seq)
    faults = await faults_of(transaction, episode.id)
    return EndedVisit(
        episode=episode,
        turns=tuple(turns),
        before=before.workflow if before is not None and before.audience == episode.audience else WorkflowState(),
        eventful=(_reported(turns) or await _is_source(transaction, episode)) and faults < MOST_FAULTS,
        stamp=await last_write(transaction, episode.id),
    )


async def turns_of_episode(transaction: Transaction, episode: str) -> list[Turn]:
    rows = await transaction.rows(
        """
        SELECT t.* FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
        WHERE l.origin = :episode AND l.relation = :relation ORDER BY t.seq
        """,
        episode=episode,
        relation=Relation.TURN_REFS,
    )
    return list(map(Turn.from_row, rows))


def _cues(turns: Sequence[Turn]) -> tuple[str, ...]:
    counted = Counter(word for turn in turns for word in turn.salience_anchor)
    return tuple(word for word, _ in counted.most_common(_CUES))


async def _has_core(transaction: Transaction, episode: str) -> bool:
    row = await transaction.one(
        """
        SELECT 1 FROM links l JOIN records r ON r.id = l.origin AND r.kind = 'core'
        WHERE l.target = :id AND l.relation = 'sources'
        """,
        id=episode,
    )
    return row is not None


def _reported(turns: Sequence[Turn]) -> bool:
    own = [turn.thought for turn in turns if turn.speaker is Speaks.SOUL]
    return any(thought.get(check) is True for thought in own for check in _CHECKS)


async def _is_source(transaction: Transaction, episode: Episode) -> bool:
    """Return True if a fact was learned from its turns, or the topic or task was set since it began."""
    row = await transaction.one(
        """
        SELECT EXISTS (SELECT 1 FROM links l JOIN links e ON e.target = l.target AND e.relation = 'evidence'
                       WHERE l.origin = :id AND l.relation = 'turn_refs')
            OR EXISTS (SELECT 1 FROM conversation_topics t WHERE t.conversation = :conversation
                         AND t.updated_ms >= :began AND (t.topic <> '' OR t.task <> '')) AS found
        """,
        id=episode.id,
        conversation=episode.conversation,
        began=episode.at_ms,
    )
    return bool(row and row["found"])


async def _pass_on(transaction: Transaction, episode: Episode, workflow: WorkflowState, now: int) -> None:
    """Give the next visit, which began before this one was looked through, its inherited workflow."""
    later = await select(
        transaction,
        Episode,
        """
        r.conversation = :conversation AND r.audience = :audience AND (r.at_ms, r.seq) > (:at_ms, :seq)
          AND k.state IN ('open', 'closing')
        """,
        "r.at_ms, r.seq LIMIT 1",
        conversation=episode.conversation,
        audience=str(episode.audience),
        at_ms=episode.at_ms,
        seq=episode.seq,
    )
    for one in later:
        onward = one.event_id or ((episode.event_id or episode.id) if goes_on(workflow) else "")
        if (one.workflow, one.event_id) != (workflow, onward):
            situation = replace(one.situation, mission_goal=workflow.current_task)
            await change(transaction, one.id, now, "inherited", workflow=workflow, event_id=onward, situation=situation)
            passed = replace(episode, workflow=workflow)
            await link(transaction, [replace(made, origin=one.id) for made in inherited_from(passed)], now)


async def _write_journal(transaction: Transaction, episode: Episode, closing: Closing, now: int) -> None:
    """Store the soul's words about a visit, for the audience of the visit."""
    entry = JournalEntry(
        soul=episode.soul,
        workspace=episode.workspace,
        audience=episode.audience,
        channel=episode.channel,
        conversation=episode.conversation,
        text=closing.journal,
        at_ms=episode.at_ms,
        trust=Trust.INFERRED,
        significance=closing.significance,
        tone=closing.tone,
        tags=closing.tags,
    )
    await put(transaction, entry, now, [Link("", Relation.SOURCES, episode.id)])
