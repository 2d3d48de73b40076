"""The import of a passport in small steps: a second run finishes the memories marked as unfinished."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from daemon.core.ports.services import Clock
from daemon.core.step import EpistemicMode
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Core, Episode, Fact, JournalEntry, Record, Sense, Sphere
from daemon.memory.knowledge.records.links import Link, link, reserve_id, turn_id, turn_seq
from daemon.memory.knowledge.records.store import put_as
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.passport.beside_forms import BesideForm
from daemon.memory.passport.beside_putting import Bounds, put_beside
from daemon.memory.passport.entries import HIGHEST_SEQ, Listed, Listing, Owner, PassportEntry, in_batches
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
from daemon.memory.passport.names import PassportKind, read_time
from daemon.memory.passport.planning import Plan, plan
from daemon.memory.passport.reading import RefusedFile, named
from daemon.memory.passport.rows import bring_pictures
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn


async def put_entry(transaction: Transaction, entry: PassportEntry, now: int, *, as_is: bool) -> str:
    """Store an admitted entry without its links. Return its id here. `as_is`: see `Bounds`."""
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
    seq = turn_seq(name)
    if not seq or name not in {turn_id(one, seq) for one in Speaks} or seq > HIGHEST_SEQ:
        return 0
    return 0 if await transaction.one("SELECT 1 FROM turns WHERE seq = :seq", seq=seq) else seq


async def _put_session(transaction: Transaction, entry: PassportEntry, form: SessionForm, *, as_is: bool) -> None:
    """Store a missing summary. It must not cover turns that don't exist here yet, or the soul never sees them."""
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


_AT_ONCE: Final = 100
"""The entries and links in one transaction, which must be short."""

_FIELDS: Final = 5
"""The most names of left-out fields in the result."""

PLAIN: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Imported:
    """The counts of an import, and the refused files. `left_out` are unknown fields, `fields` some names of them."""

    stored: int
    unchanged: int
    refused: tuple[RefusedFile, ...]
    pictures: int = 0
    left_out: int = 0
    fields: tuple[str, ...] = ()


async def import_passport(
    database: Database, folder: Path, owner: Owner, clock: Clock, bounds: Bounds = PLAIN
) -> Imported:
    """Store a passport's memories that memory.db lacks, and change nothing else. Raises StoreError."""
    done, _ = await bring(database, folder, owner, clock, bounds)
    return done


async def bring(database: Database, folder: Path, owner: Owner, clock: Clock, bounds: Bounds) -> tuple[Imported, Plan]:
    """Import as `import_passport`, and also return the plan."""
    now = clock.now_ms()
    work = _Work(await plan(database, folder, Listing(folder, owner, now)))
    for listed, fresh in ((work.decided.resumed, False), (work.decided.entries, True)):
        for some in work.steps(listed):
            links = work.links_now(some)
            unit = partial(_put, entries=some if fresh else (), links=links, work=work, bounds=bounds, now=now)
            named, late = await database.write(unit)
            work.names |= named
            work.refused += [one.refuse(reason) for one, reason in late]
            work.done -= {one.id for one, _ in late}
            if fresh:
                work.leave_out(some)
    for ids in in_batches(work.done, _AT_ONCE):
        await database.write(partial(_finish, ids=[work.names.get(one, one) for one in ids]))
    pictures, strange = await bring_pictures(database, folder, bounds.room)
    refused = (*work.decided.refused, *work.refused, *strange)
    left_out, fields = work.left_out, tuple(work.fields)
    return Imported(len(work.done), work.decided.unchanged, refused, pictures, left_out, fields), work.decided


class _Work:
    """The progress of an import: stored ids of the passport, and links that wait for their other end."""

    def __init__(self, decided: Plan) -> None:
        self.decided = decided
        self.names = dict(decided.names)
        self.done: set[str] = set()
        self.refused: list[RefusedFile] = []
        self.left_out = 0
        self.fields: dict[str, None] = {}
        self._gone: set[str] = set()
        self._waiting: dict[str, list[Link]] = {}

    def steps(self, listed: Sequence[Listed]) -> Iterator[list[PassportEntry]]:
        """Yield the entries of each transaction."""
        some, weight = list[PassportEntry](), 0
        for one in listed:
            entry = self.decided.listing.again(one)
            if isinstance(entry, PassportEntry) and (missing := self._missing(entry)):
                entry = entry.refuse(f"it rests on {missing}, which is not there")
            if isinstance(entry, RefusedFile):
                self._gone.add(one.id)
                self.refused.append(entry)
                continue
            some.append(self.decided.loose(entry))
            weight += 1 + len(entry.links)
            if weight > _AT_ONCE:
                yield some
                some, weight = [], 0
        if some:
            yield some

    def links_now(self, some: Sequence[PassportEntry]) -> list[Link]:
        """Return links whose ends are both stored once these entries are. Each comes once, quotations first."""
        self.done |= {one.id for one in some}
        found = dict[Link, None]()
        for one in some:
            for two in (*one.links, *self._waiting.pop(one.id, ())):
                ends = (two.origin, two.target)
                later = [end for end in ends if end in self.decided.kept and end not in self.done]
                if later:
                    self._waiting.setdefault(later[0], []).append(two)
                elif all(map(self.decided.knows, ends)):
                    found[two] = None
        return sorted(found, key=lambda link: not link.quote)

    def leave_out(self, some: Sequence[PassportEntry]) -> None:
        """Count the unknown fields that stored entries lose."""
        for one in some:
            names = one.within(self.decided.knows).left_out if one.id in self.done else ()
            self.left_out += len(names)
            self.fields |= dict.fromkeys(map(named, names[: _FIELDS - len(self.fields)]))

    def _missing(self, entry: PassportEntry) -> str:
        ours = entry.form.soul_daemon
        targets = (one.target for one in ours.links) if isinstance(ours, OurRecord) else ()
        return next((one for one in targets if one in self._gone), "")


async def _put(
    transaction: Transaction,
    *,
    entries: Sequence[PassportEntry],
    links: Sequence[Link],
    work: _Work,
    bounds: Bounds,
    now: int,
) -> tuple[dict[str, str], list[tuple[PassportEntry, str]]]:
    """Store entries and links. Return the new ids of turns that got another one here, and the refusals."""
    named, refused = dict[str, str](), list[tuple[PassportEntry, str]]()
    for entry in entries:
        kept = entry.within(work.decided.knows)
        if isinstance(kept.form, BesideForm):
            if reason := await put_beside(transaction, kept, kept.form, bounds, now):
                refused.append((entry, reason))
        elif (name := await put_entry(transaction, kept, now, as_is=bounds.as_is)) != entry.id:
            named[entry.id] = name

    def here(name: str) -> str:
        return named.get(name) or work.names.get(name, name)

    unfinished = "INSERT INTO passport_unfinished (id) VALUES (:key) ON CONFLICT DO NOTHING"
    await transaction.run_for_each(unfinished, [here(one.id) for one in entries])
    tied = [replace(one, origin=here(one.origin), target=here(one.target)) for one in links]
    await link(transaction, tied, now)
    return named, refused


async def _finish(transaction: Transaction, ids: Sequence[str]) -> None:
    await transaction.run_for_each("DELETE FROM passport_unfinished WHERE id = :key", ids)
