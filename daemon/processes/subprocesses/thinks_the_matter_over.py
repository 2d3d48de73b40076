"""Thinks once about a matter that a conversation has stayed with. The thought steers later answers."""

from msgspec.structs import replace

from daemon.mind.matter import Matter
from daemon.mind.prompts import prompt
from daemon.mind.recall import as_memory
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.soul_engine import begin

_READ = 24  # newest turns that are thought about


async def thinks_the_matter_over(context: SubprocessContext) -> None:
    """Keep the thought in the memory of the process `engaged`: one call for each matter, none before it is due.

    A thought that lost a race against a newer turn, or whose words were deleted, is dropped. Raises ModelError.
    """
    # Read before the turns: a message deleted during the run makes the memory outdated.
    kept = await context.process_memories.known(context.conversation)
    matter = Matter.kept(kept.memory) if kept is not None else Matter()
    if kept is None or kept.process != "engaged" or not matter.wants_depth:
        return
    turns = (await context.turns.transcript(context.conversation, _READ)).turns
    memory = begin(context.soul).concat(as_memory(turn) for turn in turns)
    _, thought = await context.think(memory, internal_monologue(context.soul.display_name, prompt("ponder")))
    now = replace(matter, thought=thought).to_json()
    stored = await context.process_memories.keep(context.conversation, now, instead_of=kept)
    context.emit("matter.thought_over" if stored else "matter.outrun", trace=context.trace_id)
