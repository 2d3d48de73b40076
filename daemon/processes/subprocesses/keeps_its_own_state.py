"""Keeps the soul's mood for each audience, its topic and task in a conversation, and its question in a room."""

from collections.abc import Sequence

from daemon.core.step import NOTHING_HEARD, PLAINLY_STATED
from daemon.memory.knowledge.soul_states import NewState, OwnFeeling
from daemon.memory.records import Speaks, Turn
from daemon.mind.recall import as_memory
from daemon.mind.recall.mood import current_mood, with_state
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.feel import feel
from daemon.mind.steps.mental_query import Weighed, weigh_exchange
from daemon.soul_engine import begin

_MOVED = "Your own mood, or what you are talking about or have to do, changed with the last few turns."
_READ = 16  # newest turns by which the mood is judged


async def keeps_its_own_state(context: SubprocessContext) -> None:
    """Run `feel` if mood, topic or task changed, by the newest reply's check or else by one query.

    That query also returns how the message was heard and the reply stated, if the reply did not say so. A state
    derived from an outdated one is dropped. Raises ModelError.
    """
    soul = context.soul
    # Read before the turns: a message deleted during the run makes the state outdated.
    state = await context.soul_states.known(context.audience, context.conversation)
    turns = (await context.turns.transcript(context.conversation, _READ)).turns
    check = _check(turns)
    if check is False:
        return
    mood = current_mood(state, context.clock.now_ms(), soul)
    memory = with_state(begin(soul), state, soul, context.clock.now_ms()).concat(as_memory(turn) for turn in turns)
    if check is None:
        _, weighed = await context.think(memory, weigh_exchange(_MOVED))
        await context.turns.note_fields(*_described(turns, weighed))
        if not weighed.holds:
            return
    _, feeling = await context.think(memory, feel(soul, mood))
    kept = await context.soul_states.revise(
        context.audience,
        context.conversation,
        NewState(feeling.emotional_state, feeling.topic, feeling.task, feeling.question),
        instead_of=state,
    )
    if kept and feeling.qualia is not None:
        physio = soul.physio_in(feeling.emotional_state)
        await context.senses.feel(OwnFeeling(feeling.qualia, physio), context.conversation, context.audience)
    context.emit("soul_state.kept" if kept else "soul_state.outrun", trace=context.trace_id, changed=kept)


def _check(turns: Sequence[Turn]) -> bool | None:
    """Return the check of the newest reply: None where it carries no check, False where there is no reply."""
    newest = next((turn for turn in reversed(turns) if turn.speaker is Speaks.SOUL), None)
    check = newest.thought.get("soul_state_check") if newest else False
    return check if isinstance(check, bool) else None


def _described(turns: Sequence[Turn], weighed: Weighed) -> tuple[Turn, ...]:
    reply = next((turn for turn in reversed(turns) if turn.speaker is Speaks.SOUL), None)
    if reply is None:
        return ()
    messages = (turn for turn in reversed(turns) if turn.speaker is not Speaks.SOUL and turn.ts == reply.ts)
    heard = [turn.heard_as(weighed.heard) for turn in messages if turn.heard_as(NOTHING_HEARD) == turn][:1]
    stated = [reply.stated_as(weighed.stated)] if reply.stated_as(PLAINLY_STATED) == reply else []
    return (*heard, *stated)
