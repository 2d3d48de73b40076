"""Entries of a passport as rows: turns, summaries, and records with what their files hold that is unknown here."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from daemon.core.turn_fields import EpistemicMode
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.ids import reserve_id, turn_id, turn_seq
from daemon.memory.knowledge.records.kinds import Core, Episode, Fact, JournalEntry, Record, Sense, Sphere
from daemon.memory.knowledge.records.store import put_as
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.passport.entries import PassportEntry
from daemon.memory.passport.forms import (
    AnyForm,
    EpisodeForm,
    FactForm,
    JournalForm,
    OurRecord,
    SenseForm,
    SessionForm,
    TurnLLMForm,
    TurnUserForm,
)
from daemon.memory.passport.listing import HIGHEST_SEQ
from daemon.memory.passport.names import PassportKind, read_time
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.records import Speaks, Turn


async def put_entry(transaction: Transaction, entry: PassportEntry, now: int, *, as_is: bool) -> str:
    """Store an entry, without its links; gives the id that it has here. It has been admitted; `as_is`: see `Bounds`."""
    if entry.conversation is not None and entry.place is not None:
        await open_conversation(transaction, entry.conversation, entry.place, entry.origin.audience, entry.at_ms)
    if isinstance(entry.form, TurnUserForm | TurnLLMForm):
        return await _put_turn(transaction, entry, entry.form)
    if isinstance(entry.form, SessionForm):
        await _put_session(transaction, entry, entry.form, as_is=as_is)
    else:
        await reserve_id(transaction, entry.id)
        await put_as(transaction, await _record(transaction, entry), now)
    return entry.id


async def _put_turn(transaction: Transaction, entry: PassportEntry, form: TurnUserForm | TurnLLMForm) -> str:
    assert entry.conversation is not None
    ours, seq = form.soul_daemon, await _free_seq(transaction, entry.id)
    if isinstance(form, TurnUserForm):
        turn = Turn(
            speaker=Speaks.of(form.user_id),
            author=form.user_id,
            name=form.username,
            ts=ours.ts,
            body=form.text_excerpt,
            thought=ours.thought,
            seq=seq,
            kind=ours.kind,
            model=ours.model,
            emotion_signal=form.emotion_signal,
            salience_anchor=form.salience_anchor,
            intent=form.intent,
            intent_confidence=ours.intent_confidence,
        )
    else:
        turn = Turn(
            speaker=Speaks.SOUL,
            author=ours.author,
            name=ours.name,
            ts=ours.ts,
            body=form.text_excerpt,
            thought=ours.thought,
            seq=seq,
            kind=ours.kind,
            model=ours.model,
            epistemic_mode=EpistemicMode(form.epistemic_mode),
            confidence=form.confidence,
        )
    [stored] = await store_turns(
        transaction,
        [turn],
        conversation=entry.conversation,
        audience=entry.origin.audience,
        trace_id=ours.trace_id,
        now=entry.at_ms,
    )
    here = turn_id(turn.speaker, stored)
    if here != entry.id:
        await transaction.insert("passport_turns", seq=stored, id=entry.id)
    return here


async def _free_seq(transaction: Transaction, name: str) -> int:
    """The number in the id of a turn, if that is the id of a turn here and the number is free; else 0."""
    seq = turn_seq(name)
    if not seq or name not in {turn_id(one, seq) for one in Speaks} or seq > HIGHEST_SEQ:
        return 0
    return 0 if await transaction.one("SELECT 1 FROM turns WHERE seq = :seq", seq=seq) else seq


async def _put_session(transaction: Transaction, entry: PassportEntry, form: SessionForm, *, as_is: bool) -> None:
    """Store the summary of a conversation that has its turns and no summary.

    It covers no turn that is not here yet, or later ones would never be shown to the soul.
    """
    newest = await transaction.one("SELECT coalesce(max(seq), 0) AS seq FROM turns")
    assert newest is not None
    await transaction.run(
        """
        INSERT INTO working_memory (conversation, version, audience, summary, summarized_to, updated_ms)
        SELECT c.id, :version, c.audience, :summary, :up_to, :now FROM conversations c WHERE c.id = :id
        ON CONFLICT (conversation) DO NOTHING
        """,
        id=str(entry.conversation),
        version=form.soul_daemon.version,
        summary=form.summary,
        up_to=form.soul_daemon.summarized_to if as_is else min(form.soul_daemon.summarized_to, newest["seq"]),
        now=entry.at_ms,
    )


async def _record(transaction: Transaction, entry: PassportEntry) -> Record:
    ours = entry.form.soul_daemon
    assert isinstance(ours, OurRecord)
    there = await transaction.one("SELECT id FROM conversations WHERE id = :id", id=ours.conversation)
    room = ours.conversation if there else None
    kept = entry.form.model_copy(update={"soul_daemon": ours.model_copy(update={"conversation": room})})
    return _of_kind(
        kept,
        {
            "id": entry.id,
            "soul": ours.soul,
            "workspace": ours.workspace,
            "audience": entry.origin.audience,
            "channel": entry.origin.channel,
            "conversation": room,
            "text": ours.text,
            "at_ms": entry.at_ms,
            "trust": ours.trust,
            "significance": ours.significance,
            "person": ours.person,
            "extra": replace(entry, form=kept).unknown,
        },
    )


def _of_kind(form: AnyForm, common: Mapping[str, Any]) -> Record:
    match form:
        case EpisodeForm():
            kind = {PassportKind.CORE: Core, PassportKind.SPHERE: Sphere}.get(PassportKind(form.type), Episode)
            return kind(
                **common,
                state=form.soul_daemon.state,
                persona_id=form.persona_id,
                event_id=form.event_id,
                session_id=form.session_id,
                visit=form.soul_daemon.visit,
                situation=form.situation_context,
                summary=form.summary,
                workflow=form.workflow_state,
                state_snapshot=form.state_snapshot,
                tags=form.tags,
                cues=form.cues,
                closed_ms=form.soul_daemon.closed_ms,
            )
        case FactForm():
            ours = form.soul_daemon
            return Fact(
                **common,
                subject=form.subject,
                predicate=form.predicate,
                object=form.object,
                topic=ours.topic,
                confidence=form.confidence,
                claimed_by=ours.claimed_by,
                valid_from_ms=common["at_ms"] if ours.valid_from_ms is None else ours.valid_from_ms,
                valid_until_ms=ours.valid_until_ms,
                why_ended=ours.why_ended,
                used=form.access_count,
                used_ms=None if form.last_accessed is None else read_time(form.last_accessed),
            )
        case SenseForm():
            return Sense(
                **common,
                data_type=form.data_type,
                source=form.source,
                name=form.soul_daemon.name,
                media_type=form.soul_daemon.media_type,
                raw_data_ref=form.raw_data_ref,
                bytes=form.soul_daemon.bytes,
                qualia=form.qualia,
                features=form.extracted_features,
                physio_snapshot=form.physio_snapshot,
            )
        case JournalForm():
            return JournalEntry(**common, tone=form.soul_daemon.tone, tags=form.soul_daemon.tags)
        case _:
            raise AssertionError(f"{form.type} is no record")
