"""Episodes are visits: the commit of a cycle opens and continues them, a silence or another audience ends them.

An ended episode waits in the state `closing` until it is looked through; see `episodes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from daemon.core.perception import AudienceKind, ConversationKey, Origin
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Episode, SituationContext, Trust, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation, link, origin_of, turn_id, turn_seq
from daemon.memory.knowledge.records.store import change, put, select
from daemon.memory.records import Speaks, TurnKind

UNKNOWN = SituationContext(interaction_mode="", stakes_level="", time_pressure="")
"""A situation of which nothing is known."""


REMEMBERED = """
    NOT EXISTS (SELECT 1 FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
                  AND t.speaker = 'person'
                JOIN remembering p ON p.soul = r.soul AND p.workspace = r.workspace AND p.person = t.author
                  AND p.paused_ms IS NOT NULL
                WHERE l.origin = k.id AND l.relation = 'turn_refs')
    """
"""In SQL, of a visit in `records r` and `episodes k`: none who spoke in it has remembering paused; else it waits."""


@dataclass(frozen=True, slots=True)
class VisitNote:
    """What a cycle says of the visit that it belongs to.

    `persona` is the soul's name; empty fields of `situation` say nothing new. `begins`: the visit before is over by its
    silence. `ends`: this one is. `opens`: a person spoke. `then` are the jobs that look an ended visit through;
    `wakes`: the soul thinks by itself about the end of one.
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
"""A cycle that says nothing of its visit."""


async def note_visit(
    transaction: Transaction, conversation: ConversationKey, note: VisitNote, said: int, now: int
) -> bool:
    """Add the conversation's newest `said` turns to its open episode, or open one; gives whether one ended.

    An episode has one audience: words for other readers begin a new one.
    """
    if note == NO_NOTE:
        return False
    open_ = await open_episode(transaction, conversation)
    ids = await _newest(transaction, conversation, said) if said else []
    origin = await origin_of(transaction, ids[0]) if ids else None  # all of them were stored for the same readers
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
    """The visit is over: its episode waits to be looked through."""
    await change(transaction, episode.id, now, "the visit is over", state="closing", closed_ms=now)


async def open_episode(transaction: Transaction, conversation: ConversationKey) -> Episode | None:
    """The episode of a conversation that goes on, if one does."""
    found = await select(
        transaction, Episode, "r.conversation = :conversation AND k.state = 'open'", conversation=str(conversation)
    )
    return found[-1] if found else None


async def latest_before(transaction: Transaction, conversation: str, at_ms: int, seq: int) -> Episode | None:
    """The episode of a conversation that came before one with this time and number."""
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
    """Whether something was left to be done."""
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
    """The link by which an episode loses what it inherited when the one before loses its words."""
    return [Link("", Relation.SOURCES, before.id)] if before.workflow != WorkflowState() else []


async def _continue(transaction: Transaction, episode: Episode, note: VisitNote, ids: Sequence[str], now: int) -> None:
    await link(transaction, [Link(episode.id, Relation.TURN_REFS, one) for one in ids], now)
    situation = _merged(episode.situation, note.situation)
    if situation != episode.situation:
        await change(transaction, episode.id, now, "", situation=situation)


def _merged(before: SituationContext, newer: SituationContext) -> SituationContext:
    """What is newly known before what was known; an empty field says nothing."""
    known = {one.name: value for one in fields(newer) if (value := getattr(newer, one.name))}
    return replace(before, **known)


async def _newest(transaction: Transaction, conversation: ConversationKey, said: int) -> list[str]:
    """The ids of the newest turns, oldest first; an apology is none of the soul's words."""
    rows = await transaction.rows(
        "SELECT seq, speaker, kind FROM turns WHERE conversation = :conversation ORDER BY seq DESC LIMIT :said",
        conversation=str(conversation),
        said=said,
    )
    return [turn_id(Speaks(row["speaker"]), row["seq"]) for row in reversed(rows) if row["kind"] != TurnKind.APOLOGY]
