"""Keeps the soul's mood for each audience, its topic and task in a conversation, and its question in a room."""

from collections.abc import Sequence

from daemon.memory.knowledge.soul_states import NewState
from daemon.memory.records import Speaks, Turn
from daemon.mind.mental_subprocess import SubprocessContext
from daemon.mind.recall import as_memory
from daemon.mind.recall.mood import current_mood, with_state
from daemon.mind.steps.feel import feel
from daemon.mind.steps.mental_query import mental_query
from daemon.soul_engine import begin

_MOVED = "The soul's own mood, topic or task changed with the last few turns."
_READ = 16  # newest turns by which the mood is judged


async def keeps_its_own_state(context: SubprocessContext) -> None:
    """Run `feel` if mood, topic or task changed: the newest reply's check says so, or one query where it has none.

    A state derived from an outdated one is dropped. Raises ModelError.
    """
    soul = context.soul
    # Read before the turns: a message deleted meanwhile makes the state outdated.
    state = await context.soul_states.known(context.audience, context.conversation)
    turns = (await context.turns.transcript(context.conversation, _READ)).turns
    check = _check(turns)
    if check is False:
        return
    mood = current_mood(state, context.clock.now_ms(), soul)
    memory = with_state(begin(soul), state, soul, context.clock.now_ms()).concat(as_memory(turn) for turn in turns)
    if check is None and not (await context.think(memory, mental_query(_MOVED)))[1]:
        return
    _, feeling = await context.think(memory, feel(soul, mood))
    kept = await context.soul_states.revise(
        context.audience,
        context.conversation,
        NewState(feeling.emotional_state, feeling.topic, feeling.task, feeling.question),
        instead_of=state,
    )
    context.emit("soul_state.kept" if kept else "soul_state.outrun", trace=context.trace_id, changed=kept)


def _check(turns: Sequence[Turn]) -> bool | None:
    """What the newest reply says of itself; None where it carries no check, False where there is no reply."""
    newest = next((turn for turn in reversed(turns) if turn.speaker is Speaks.SOUL), None)
    check = newest.thought.get("soul_state_check") if newest else False
    return check if isinstance(check, bool) else None
