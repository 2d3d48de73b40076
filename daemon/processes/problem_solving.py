"""A hard problem: the soul chooses what to do, until it can answer, has to ask, or a limit is met (seed 001)."""

from dataclasses import replace

from daemon.actions import actions_for
from daemon.actions.respond import answer
from daemon.fixed_pipeline import tempered
from daemon.ism import REACHED, run_ism
from daemon.ism.machine import End, LoopEvent, Machine, Progress
from daemon.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.perception import Modality
from daemon.ports import Task, TaskState
from daemon.solving.permission import carry_out
from daemon.solving.problem import Problem
from daemon.steps.choose_actions import choose_actions
from daemon.working_memory import Memory, Role, WorkingMemory

_GOAL = "Understand the problem that the person has, and help to solve it."
_PLAYBOOK = (
    "Look before you answer: what was said here, the documents, the tools. Think when results have to be put "
    "together. Ask only what nobody but the person can tell, and one thing at a time. What you don't find you don't "
    "make up. Hand on only what you can't do yourself. Answer as soon as you can; being thorough is no reason to go on."
)
_TITLES = {
    "Think": "Thinking it through",
    "Research": "Looking things up",
    "Ask": "Asking back",
    "Remind": "Making a note for later",
    "Respond": "Writing the answer",
    "Escalate": "Looking for who can help",
}
_STATES = {
    Progress.STARTED: TaskState.IN_PROGRESS,
    Progress.FINISHED: TaskState.COMPLETE,
    Progress.FAILED: TaskState.ERROR,
    Progress.CUT: TaskState.ERROR,
}


async def problem_solving(context: ProcessContext) -> Outcome:
    """Work at the problem, or go on with one that waited for an answer or a permission, also after a restart."""
    problem = Problem.resumed(context.kept, context.soul.display_name)
    memory = context.memory
    if context.perception.modality is Modality.DECISION:
        memory = await _decided(context, problem, memory)
    problem.waits_for = problem.approval = ""
    limits = context.means.limits
    if limits is None:
        return Transition(
            await answer(context, problem, memory, "Answer as well as you can."),
            "engaged",
            "the autonomous loop is not enabled any more",
        )
    # Somebody has spoken: choices and time begin anew, tokens and money count on.
    problem.spent = replace(problem.spent, loops=0, seconds=0.0)
    machine = Machine(
        goal=_GOAL,
        playbook=_PLAYBOOK,
        actions=actions_for(context, problem),
        limits=limits,
        conclude=lambda known, why: _conclude(context, problem, known, why),
        choose=lambda names: tempered(context.soul, choose_actions(names)),
    )
    return await _work(context, problem, machine, memory)


async def _work(context: ProcessContext, problem: Problem, machine: Machine, memory: WorkingMemory) -> Outcome:
    """Run the loop; whatever is said meanwhile is taken in and steers it."""
    while True:
        result = await run_ism(
            machine,
            memory,
            mind=context.mind,
            attention=context.attention,
            usage=context.means.usage,
            internal=problem.internal,
            spent_so_far=problem.spent,
            note=lambda event: _show(context, event),
        )
        problem.internal, problem.spent = result.internal, result.spent
        if result.outcome is not None:
            break
        memory = await context.means.take_in(result.memory)
    if isinstance(result.outcome, Stay) and not problem.waits_for:
        return Transition(result.outcome.memory, "engaged", _ended(result.end, result.why))
    if isinstance(result.outcome, Stay):
        return Stay(result.outcome.memory, keep=problem.to_json())
    return result.outcome


async def _decided(context: ProcessContext, problem: Problem, memory: WorkingMemory) -> WorkingMemory:
    """What was asked to be allowed was decided: do it if it was, and have in mind what came of it."""
    params = context.perception.params
    if not params.get("approved"):
        return memory  # the perception itself tells
    told, passages = await carry_out(context, str(params.get("approval", "")))
    found = problem.add(passages)
    memory = memory.with_memory(Memory(Role.SYSTEM, f"({told})"))
    return memory.with_region("permitted", Memory(Role.USER, found)) if found else memory


async def _conclude(context: ProcessContext, problem: Problem, memory: WorkingMemory, why: str) -> Stay:
    """The best answer so far; where the work was cut short it says so in the house's own words."""
    if why == REACHED:
        return Stay(await answer(context, problem, memory, "The goal is reached: tell the person what came of it."))
    instructions = (
        "The work ends here, unfinished. Answer as well as what was found allows, and say what is still open."
    )
    memory = await answer(context, problem, memory, instructions)
    context.motor.settle(f"{context.motor.reply}\n\n_(I stopped here: {why}.)_")
    return Stay(memory)


async def _show(context: ProcessContext, event: LoopEvent) -> None:
    state = _STATES.get(event.kind)
    if state is not None and event.action:
        await context.motor.show(Task(f"{event.loop}.{event.place}", _TITLES.get(event.action, event.action), state))


def _ended(end: End, why: str) -> str:
    return why if end in (End.DONE, End.CONCLUDED) else "the problem has been answered"
