"""A hard problem: the soul chooses its actions until it can answer, has to ask, or a limit is met (seed 001)."""

from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.core.limits import Limits
from daemon.core.perception import Modality
from daemon.core.ports.speech import Task
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism import REACHED, run_ism
from daemon.ism.actions import actions_for
from daemon.ism.actions.respond import answer
from daemon.ism.cards import card
from daemon.ism.guidance import goal_and_playbook
from daemon.ism.machine import End, LoopEvent, Machine
from daemon.ism.parked import lapsed
from daemon.ism.permission import carry_out, still_open
from daemon.ism.problem import Problem
from daemon.ism.regions import with_observation
from daemon.ism.sources import Sources, sources_of
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.stances import stance_of
from daemon.mind.steps.choose_actions import ChosenAction, choose_actions
from daemon.soul_engine import with_stance

_STILL_OPEN = "(Nobody has decided yet what you asked to be allowed before; don't ask for the same again.)"
_SWITCHED_OFF = "the autonomous loop is not enabled any more"


async def problem_solving(context: ProcessContext) -> Outcome:
    """Work on the problem, or go on with one that waited for an answer or a permission, also after a restart."""
    problem = Problem.resumed(context.state.process_memory, context.soul.display_name)
    problem.keep_for(context.cycle.readers)
    if problem.waits and context.perception.modality in {Modality.TIME, Modality.NOTE}:
        reply = await converse(context)  # a reminder or a note is answered; the problem keeps waiting
        return reply if isinstance(reply, Transition) else Stay(reply)
    if (elsewhere := await lapsed(context, problem)) is not None:
        return elsewhere
    memory = with_stance(await _resume(context, problem), stance_of(context.soul, "problem_solving"))
    limits = context.cycle.limits
    try:
        if limits is None:
            memory = await answer(context, problem, memory, "Answer as well as you can.")
            return _end(context, memory, _SWITCHED_OFF)
        return await _work(context, problem, limits, memory)
    except ModelError:
        if not context.motor.reply:
            raise
        speechless = context.motor.words.say("speechless")
        context.motor.settle(speechless)  # the outcome of a decision is reported even without a model
        return _end(context, memory, "the problem was given up")


async def _resume(context: ProcessContext, problem: Problem) -> WorkingMemory:
    """Apply the perception to the problem; choices and time restart at zero, tokens and money do not."""
    memory, perception = context.memory, context.perception
    problem.spent, problem.asks = replace(problem.spent, loops=0, seconds=0.0), False
    if perception.modality is not Modality.DECISION or not (problem.asker or context.capabilities.approvers):
        problem.asker = perception.author  # the user who allows an action does not take over the problem
    if perception.modality is Modality.DECISION and perception.params.get("approved"):
        memory = await _carry_out_approved(context, problem, memory)
    if await still_open(context, problem) is None:
        problem.approval = ""
        return memory
    return memory.with_memory(Memory(Role.SYSTEM, _STILL_OPEN))


async def _carry_out_approved(context: ProcessContext, problem: Problem, memory: WorkingMemory) -> WorkingMemory:
    """Carry out what was approved; users see the outcome below any reply, and a tool's result is kept as data."""
    result = await carry_out(context, str(context.perception.params.get("approval", "")))
    context.motor.add_below(f"_({result.sentence})_")
    observation = "\n\n".join(filter(None, (result.sentence, result.error, problem.add(result.passages))))
    problem.internal = with_observation(problem.internal, ChosenAction("What was allowed"), observation)
    return memory.with_memory(Memory(Role.SYSTEM, f"({result.sentence})"))


def _machine(context: ProcessContext, problem: Problem, limits: Limits, sources: Sources) -> Machine:
    goal, playbook = goal_and_playbook(context.soul)
    return Machine(
        goal=goal,
        playbook=playbook,
        actions=actions_for(context, problem, sources),
        limits=limits,
        conclude=lambda known, why: _conclude(context, problem, known, why),
        choose=lambda names: with_soul_creativity(context.soul, choose_actions(names)),
    )


async def _work(context: ProcessContext, problem: Problem, limits: Limits, memory: WorkingMemory) -> Outcome:
    """Run the loop; new messages interrupt it, are absorbed and steer it."""
    sources = await sources_of(context)
    machine = _machine(context, problem, limits, sources)
    asked_before = problem.approval
    while True:
        result = await run_ism(
            machine,
            memory,
            mind=context.mind,
            interrupt=context.interrupt,
            usage=context.cycle.usage,
            internal=problem.internal,
            spent_so_far=problem.spent,
            note=lambda event: _show(context, event, card(event, sources, problem.found, context.motor.words)),
        )
        problem.internal, problem.spent = result.internal, result.spent
        if result.outcome is not None:
            break
        # A question that was finished in the moment of the interruption is not asked.
        problem.asks, problem.approval = False, asked_before
        context.motor.withdraw_question()
        memory = await context.cycle.absorb_new_messages(result.memory)
    if isinstance(result.outcome, Transition):
        return result.outcome
    if problem.waits:
        return Stay(result.outcome.memory, process_memory=problem.to_json())
    ended = result.why if result.end in (End.DONE, End.CONCLUDED) else "the problem has been answered"
    return _end(context, result.outcome.memory, ended)


def _end(context: ProcessContext, memory: WorkingMemory, why: str) -> Outcome:
    """Back to `engaged`; after a mere visit for a decision the conversation keeps its own process."""
    visited = context.perception.modality is Modality.DECISION and context.state.params == context.perception.params
    return Stay(memory) if visited else Transition(memory, "engaged", why)


async def _conclude(context: ProcessContext, problem: Problem, memory: WorkingMemory, why: str) -> Stay:
    """The best answer so far; if the work was cut short, a line below the answer says why."""
    if why == REACHED:
        return Stay(await answer(context, problem, memory, "The goal is reached: tell the person what came of it."))
    instructions = (
        "The work ends here, unfinished. Answer as well as what was found allows, and say what is still open."
    )
    words = context.motor.words
    below = f"_{words.say('stopped', why=words.tell(why))}_"
    return Stay(await answer(context, problem, memory, instructions, below=below))


async def _show(context: ProcessContext, event: LoopEvent, task: Task | None) -> None:
    """Show users the progress of an action, and log why one failed."""
    if event.error is not None:
        context.cycle.emit("ism.action_failed", action=event.action, loop=event.loop, error=event.error)
    if task is not None:
        await context.motor.show(task)
