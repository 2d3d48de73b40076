"""Folds turns that no longer fit a prompt into the conversation's summary. The turns themselves are kept."""

from daemon.mind.recall import as_memory
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.summarize import summarize, turns_to_summarize
from daemon.soul import talk_budget
from daemon.soul_engine import transcript_window

_READ = 400  # turns read at once
_AT_ONCE = 24  # turns folded by one call: all must fit one message


async def summarizes_the_conversation(context: SubprocessContext) -> None:
    """Summarize until the rest fits half of the talk's room. Otherwise every later turn would need a new summary.

    A summary that lost a race (a deleted turn, a faster daemon) is dropped, and the next reply tries again. Raises
    ModelError.
    """
    soul, turns, conversation = context.soul, context.turns, context.conversation
    kept = await context.process_memories.known(conversation)
    rest = talk_budget(soul, kept.process if kept is not None else "") // 2
    while True:
        transcript = await turns.transcript(conversation, _READ)
        said = [as_memory(turn) for turn in transcript.turns]
        older, _ = transcript_window(said, rest, soul.budgets.turn)
        if not older:
            return
        folded = transcript.turns[: min(len(older), _AT_ONCE)]
        memory = turns_to_summarize(soul.display_name, transcript.summary, said[: len(folded)])
        _, summary = await context.think(memory, summarize(soul.display_name))
        stored = await turns.summarize(conversation, summary, folded[-1].seq, instead_of=transcript.summarized_to)
        if not stored:
            return
