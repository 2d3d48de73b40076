"""Looks through a visit once it is over: one call, or none where nothing was learned and nothing decided."""

from msgspec.structs import replace

from daemon.core.errors import MalformedReply, ModelRefused, NoAccess
from daemon.memory.knowledge.episodes import Closing, EndedVisit, ImplicationRefused
from daemon.memory.knowledge.records.kinds import StructuredSummary, WorkflowState
from daemon.mind.recall import as_memory
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.close_episode import VisitReport, close_episode, with_left
from daemon.mind.steps.summarize import turns_to_summarize
from daemon.soul_engine import begin


async def closes_the_visit(context: SubprocessContext) -> None:
    """Close each visit of the conversation that has ended, oldest first, and write the soul's journal of it.

    A visit whose look fails waits behind the others, and is closed without a look after too many tries. If a message
    is deleted during the look, its result is dropped and a later run looks again. Raises ModelError.
    """
    seen = set[str]()
    while visits := await context.episodes.ended(context.conversation, seen):
        for visit in visits:
            await _close(context, visit)
            seen.add(visit.episode.id)


async def _close(context: SubprocessContext, visit: EndedVisit) -> None:
    if not visit.turns:
        await context.episodes.drop(visit)
        return
    if not visit.eventful:
        bare = Closing(StructuredSummary(), visit.before, significance=1)
        await context.episodes.close(visit, replace(bare, state_snapshot=await _felt(context, visit)))
        return
    try:
        report = await _report(context, visit)
    except NoAccess:
        raise  # no fault of the visit
    except (MalformedReply, ModelRefused) as fault:
        await context.episodes.count_fault(visit, type(fault).__name__)
        raise
    closing = replace(_closing(report), state_snapshot=await _felt(context, visit))
    try:
        kept = await context.episodes.close(visit, closing)
    except ImplicationRefused as refused:
        context.emit("episode.implication_refused", episode=visit.episode.id, reason=refused.message)
        kept = await context.episodes.close(visit, _without_implication(closing))
    event = "episode.closed" if kept else "episode.outrun"
    context.emit(event, episode=visit.episode.id, trace=context.trace_id)


async def _report(context: SubprocessContext, visit: EndedVisit) -> VisitReport:
    name, left = context.soul.display_name, visit.before
    said = turns_to_summarize(name, "", [as_memory(turn) for turn in visit.turns])
    items = ((left.current_task,) if left.current_task else ()) + left.pending_items
    memory = with_left(begin(context.soul).concat(said), items)
    _, report = await context.think(memory, close_episode(name))
    return report


def _closing(report: VisitReport) -> Closing:
    return Closing(
        summary=StructuredSummary(report.content, report.action_taken, report.key_outcome, report.future_implication),
        workflow=WorkflowState(report.current_task, report.completed_items, report.pending_items),
        significance=report.significance,
        tags=report.tags,
        journal=report.journal,
        tone=report.tone,
    )


async def _felt(context: SubprocessContext, visit: EndedVisit) -> dict[str, object]:
    episode = visit.episode
    state = await context.soul_states.known(episode.audience, context.conversation)
    ended = episode.closed_ms or context.clock.now_ms()
    if state is None or not state.emotional_state or not episode.at_ms <= state.felt_ms <= ended:
        return {}
    physio = context.soul.physio_in(state.emotional_state)
    return {"emotional_state": state.emotional_state, **({"physio_snapshot": physio} if physio else {})}


def _without_implication(closing: Closing) -> Closing:
    return replace(closing, summary=replace(closing.summary, future_implication=""))
