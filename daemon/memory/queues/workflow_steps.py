"""Steps of workflows: each is stored once, by the id of its execution, and ends with an answer or with a note.

A step is a conversation of its own. What is asked and answered there is for its workflow alone, so that nothing of it
is recalled elsewhere.
"""

from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Place
from daemon.core.ports.arrivals import Acceptance, StepRun
from daemon.core.sentences import SENTENCES
from daemon.core.timetable import platform_time
from daemon.core.workflow_steps import STEP_CHANNEL, is_step
from daemon.memory.database import Transaction
from daemon.memory.notes import note_in_conversation
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.internal_events import store_internal_event

PROCESS: Final = "answering"
"""The mental process that a step visits."""

_WORKFLOW: Final = f"{STEP_CHANNEL}.steps"
"""The author of all steps: a workflow names no person, so that all of them share one person's caps."""

_NO_ANSWER: Final = "step"


async def take_step(transaction: Transaction, run: StepRun, now: int) -> tuple[Acceptance, str]:
    """Put the question of a step into the inbox; one without a question, or that may not ask, ends with a note."""
    where = ConversationKey(run.soul, run.workspace, STEP_CHANNEL, run.execution)
    audience = Audience(AudienceKind.CHANNEL, run.execution)
    await open_conversation(transaction, where, Place.TERMINAL, audience, now)
    if not run.question or not run.allowed:
        await _end_without_answer(transaction, where, "step_empty" if run.allowed else "step_off", now)
        return Acceptance.ACCEPTED, "a step without a question" if run.allowed else "workflows may not ask"
    await store_internal_event(
        transaction,
        name=run.execution,
        conversation=where,
        modality=Modality.EVENT,
        author=_WORKFLOW,
        place=Place.TERMINAL,
        audience=str(audience),
        body=run.question,
        process=PROCESS,
        params={},
        at_ms=now,
        now=now,
    )
    return Acceptance.ACCEPTED, ""


async def end_unanswered_step(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    """Have a step told that it gets no answer, where its cycle ended without one."""
    if effect.parts or not is_step(effect.claim.conversation):
        return
    late = any(one.stale for one in effect.dismissed.values())
    await _end_without_answer(transaction, effect.claim.conversation, "step_late" if late else "step_unanswered", now)


async def _end_without_answer(transaction: Transaction, where: ConversationKey, key: str, now: int) -> None:
    await note_in_conversation(
        transaction,
        str(where),
        _NO_ANSWER,
        SENTENCES[key],
        reply_to="",
        recipient="",
        newer_than_ts=platform_time(now),
        now=now,
    )
