"""Opens, continues and ends visits (episodes) in the commit of a cycle."""

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from daemon.core.perception import AudienceKind, ConversationKey, Origin
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Episode, SituationContext, Trust, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation, link, origin_of, turn_id, turn_seq
from daemon.memory.knowledge.records.store import change, put, select
from daemon.memory.records import Speaks, TurnKind

UNKNOWN = SituationContext(interaction_mode="", stakes_level="", time_pressure="")


REMEMBERED = """
    NOT EXISTS (SELECT 1 FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
                  AND t.speaker = 'person'
                JOIN remembering p ON p.soul = r.soul AND p.workspace = r.workspace AND p.person = t.author
                  AND p.paused_ms IS NOT NULL
                WHERE l.origin = k.id AND l.relation = 'turn_refs')
    """
"""The SQL condition that no user who spoke in a visit (`records r`, `episodes k`) has remembering paused."""


class VisitNote(Value):
    """A cycle's note about its visit. `persona` is the soul's name. Empty fields of `situation` say nothing new.

    `begins`: the visit before is over by its silence. `ends`: this visit is over. `opens`: a user spoke. `then` are the
    jobs that look an ended visit through. `wakes`: the soul thinks on its own initiative about the end of a visit.
    """

    persona: str = ""
    situation: SituationContext = UNKNOWN
    visit: int = 0
    begins: bool = False
    ends: bool = False
    opens: bool = False
    then: tuple[str, ...] = ()
    wakes: bool = False


NO_NOTE = VisitNote()


async def note_visit(
    transaction: Transaction, conversation: ConversationKey, note: VisitNote, said: int, now: int
) -> bool:
    """Add the conversation's newest `said` turns to its open episode, or open one. Return True if an episode ended.

    An episode has one audience. Words for other readers begin a new one.
    """
    if note == NO_NOTE:
        return False
    open_ = await open_episode(transaction, conversation)
    ids = await _newest(transaction, conversation, said) if said else []
    origin = await origin_of(transaction, ids[0]) if ids else None  # all turns were stored for the same readers
    ended = False
    if open_ is not None and (note.begins or (origin and origin != Origin(open_.audience, open_.channel))):
        await end_episode(transaction, open_, now)
        open_, ended = None, True
    if origin is not None and open_ is not None:
        await _continue(transaction, open_, note, ids, now)
    elif origin is not None and note.opens:
        open_ = await _open(transaction, conversation, note, ids, origin=origin, now=now)
    if note.ends and open_ is not None:
        await end_episode(transaction, open_, now)
        ended = True
    return ended


async def end_episode(transaction: Transaction, episode: Episode, now: int) -> None:
    """End a visit. Its episode then waits to be looked through."""
    await change(transaction, episode.id, now, "the visit is over", state="closing", closed_ms=now)


async def open_episode(transaction: Transaction, conversation: ConversationKey) -> Episode | None:
    found = await select(
        transaction, Episode, "r.conversation = :conversation AND k.state = 'open'", conversation=str(conversation)
    )
    return found[-1] if found else None


async def latest_before(transaction: Transaction, conversation: str, at_ms: int, seq: int) -> Episode | None:
    """Return the episode of a conversation before the one with this time and number."""
    found = await select(
        transaction,
        Episode,
        "r.conversation = :conversation AND (r.at_ms, r.seq) < (:at_ms, :seq)",
        "r.at_ms DESC, r.seq DESC LIMIT 1",
        conversation=conversation,
        at_ms=at_ms,
        seq=seq,
    )
    return found[0] if found else None


def goes_on(workflow: WorkflowState) -> bool:
    return bool(workflow.current_task or workflow.pending_items)


async def _open(
    transaction: Transaction,
    conversation: ConversationKey,
    note: VisitNote,
    ids: Sequence[str],
    *,
    origin: Origin,
    now: int,
) -> Episode:
    before = await latest_before(transaction, str(conversation), now, 2**62)
    same = before is not None and (before.audience, before.channel) == (origin.audience, origin.channel)
    workflow = before.workflow if before is not None and same else WorkflowState()
    onward = (before.event_id or before.id) if before is not None and goes_on(workflow) else ""
    session = f"{conversation}#{note.visit}"
    episode = Episode(
        soul=conversation.soul,
        workspace=conversation.workspace,
        audience=origin.audience,
        channel=origin.channel,
        conversation=str(conversation),
        person=await _visitor(transaction, origin, ids),
        text="",
        at_ms=now,
        trust=Trust.INFERRED,
        persona_id=note.persona,
        event_id=conversation.thread or onward,
        session_id=session,
        visit=note.visit,
        situation=replace(
            _merged(SituationContext(), note.situation), context_id=session, mission_goal=workflow.current_task
        ),
        workflow=workflow,
    )
    links = [Link("", Relation.TURN_REFS, one) for one in ids]
    links += inherited_from(before) if before is not None and same else []
    return await put(transaction, episode, now, links)


async def _visitor(transaction: Transaction, origin: Origin, ids: Sequence[str]) -> str:
    if origin.audience.kind is not AudienceKind.DM:
        return ""
    row = await transaction.one("SELECT author FROM turns WHERE seq = :seq", seq=turn_seq(ids[0]))
    return row["author"] if row else ""


def inherited_from(before: Episode) -> list[Link]:
    """Return the link by which an episode loses what it inherited when the one before loses its words."""
    return [Link("", Relation.SOURCES, before.id)] if before.workflow != WorkflowState() else []


async def _continue(transaction: Transaction, episode: Episode, note: VisitNote, ids: Sequence[str], now: int) -> None:
    await link(transaction, [Link(episode.id, Relation.TURN_REFS, one) for one in ids], now)
    situation = _merged(episode.situation, note.situation)
    if situation != episode.situation:
        await change(transaction, episode.id, now, "", situation=situation)


def _merged(before: SituationContext, newer: SituationContext) -> SituationContext:
    known = {name: value for name, value in asdict(newer).items() if value}
    return replace(before, **known)


async def _newest(transaction: Transaction, conversation: ConversationKey, said: int) -> list[str]:
    rows = await transaction.rows(
        "SELECT seq, speaker, kind FROM turns WHERE conversation = :conversation ORDER BY seq DESC LIMIT :said",
        conversation=str(conversation),
        said=said,
    )
    return [turn_id(Speaks(row["speaker"]), row["seq"]) for row in reversed(rows) if row["kind"] != TurnKind.APOLOGY]
