"""The mental processes: functions that answer a perception in one state of the conversation (seeds 000 and 001)."""

from msgspec.structs import replace

from daemon.core.errors import ModelError
from daemon.core.expectations import Limits
from daemon.core.perception import Modality
from daemon.core.phrases import Command, Phrase
from daemon.core.ports.services import Task
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import shortened
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism import REACHED, run_ism
from daemon.ism.actions import actions_for
from daemon.ism.actions.respond import answer
from daemon.ism.cards import card
from daemon.ism.machine import End, LoopEvent, Machine, goal_and_playbook, lapsed
from daemon.ism.permission import carry_out, code_block, plain_sight, still_open
from daemon.ism.problem import Problem, with_observation
from daemon.ism.sources import Sources, sources_of
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.matter import Matter
from daemon.mind.pipelines import Manner, converse, say
from daemon.mind.process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.prompts import prompt
from daemon.mind.quotation import own_words_from
from daemon.mind.recall import awakening_of
from daemon.mind.reflection import reflect
from daemon.mind.reply import words_aloud
from daemon.mind.stances import NAMES_IT, MadePiece, stance_of
from daemon.mind.steps.choose_actions import ChosenAction, choose_actions
from daemon.mind.steps.decision import decision
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.liaise import SessionRequest, liaise, with_those_to_ask
from daemon.mind.steps.poetic_composition import poetic_composition
from daemon.mind.steps.respond import REPLY
from daemon.mind.taking_effect import newest_words
from daemon.mind.thought import occasion_of
from daemon.mind.transitions import confirmed
from daemon.shared.who_works import listed
from daemon.soul_engine import with_stance

_SWITCHED_OFF = "the autonomous loop is not enabled any more"


async def problem_solving(context: ProcessContext) -> Outcome:
    """Work on the problem until the soul can answer, has to ask, or meets a limit (seed 001), also after a restart."""
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
    """Apply the perception to the problem. Choices and time restart at zero, tokens and money do not."""
    memory, perception = context.memory, context.perception
    problem.spent, problem.asks = replace(problem.spent, loops=0, seconds=0.0), False
    if perception.modality is not Modality.DECISION or not (problem.asker or context.capabilities.approvers):
        problem.asker = perception.author  # the user who allows an action does not take over the problem
    if perception.modality is Modality.DECISION and perception.params.get("approved"):
        memory = await _carry_out_approved(context, problem, memory)
    if await still_open(context, problem) is None:
        problem.approval = ""
        return memory
    return memory.with_memory(Memory(Role.SYSTEM, prompt("still_open")))


async def _carry_out_approved(context: ProcessContext, problem: Problem, memory: WorkingMemory) -> WorkingMemory:
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
    """Run the loop. New messages interrupt it, are absorbed and steer it."""
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
    """Return to `engaged`. After a mere visit for a decision the conversation keeps its process."""
    visited = context.perception.modality is Modality.DECISION and context.state.params == context.perception.params
    return Stay(memory) if visited else Transition(memory, "engaged", why)


async def _conclude(context: ProcessContext, problem: Problem, memory: WorkingMemory, why: str) -> Stay:
    if why == REACHED:
        return Stay(await answer(context, problem, memory, "The goal is reached: tell the person what came of it."))
    instructions = (
        "The work ends here, unfinished. Answer as well as what was found allows, and say what is still open."
    )
    words = context.motor.words
    below = f"_{words.say('stopped', why=words.tell(why))}_"
    return Stay(await answer(context, problem, memory, instructions, below=below))


async def _show(context: ProcessContext, event: LoopEvent, task: Task | None) -> None:
    if event.error is not None:
        context.cycle.emit("ism.action_failed", action=event.action, loop=event.loop, error=event.error)
    if task is not None:
        await context.motor.show(task)


async def academic(context: ProcessContext) -> Outcome:
    """Answer as a scholar. When the model says that the person has turned to other matters, `engaged` answers."""
    mode = context.soul.mode("academic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no academic mode any more", execute_now=True)
    reply = await converse(context, stance_of(context.soul, "academic"), mode)
    return reply if isinstance(reply, Transition) else Stay(reply)


async def attending(context: ProcessContext) -> Outcome:
    """Report a program's event if it is worth saying. A model that is in doubt, or fails, says nothing."""
    if not await confirmed(context, prompt("worth_saying")):
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "attending"))))


_ACQUAINTED = 2  # replies after which the user is known, matter or not


async def curious(context: ProcessContext) -> Outcome:
    """Encourage the user. A matter that they work on, or a second reply, leads to `engaged`.

    The soul notices a matter by itself: as a topic in its state, or in the check of its reply.
    """
    if context.own_state is not None and context.own_state.topic:
        return Transition(context.memory, "engaged", "they are at a matter already", execute_now=True)
    reply = await converse(context, stance_of(context.soul, "curious"))
    if isinstance(reply, Transition):
        return reply
    if context.motor.annotations.get("soul_state_check") is True:
        return Transition(reply, "engaged", "a matter has come up")
    if context.state.invocations + 1 >= _ACQUAINTED:
        return Transition(reply, "engaged", "they know each other by now")
    return Stay(reply)


async def dormant(context: ProcessContext) -> Outcome:
    """Speak unasked after a silence if something is open. The usual answer is silence.

    No model is called in quiet hours, without an open task in the soul's state, or if the soul's file forbids it.
    """
    may_speak = context.soul.presence.speaks_when_dormant and context.cycle.silent_for != "quiet"
    if not may_speak or context.own_state is None or not context.own_state.task:
        return Stay(context.memory)
    if not await confirmed(context, prompt("can_move_on")):
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "dormant"))))


async def engaged(context: ProcessContext) -> Outcome:
    """Answer, unless the message calls for another process.

    It counts the exchanges on one matter, and `thinks_the_matter_over` adds a thought after the third.
    """
    matter = Matter.kept(context.state.process_memory)
    if context.perception.modality is Modality.WORDS:
        matter = matter.on(context.own_state.topic if context.own_state else "")
    reply = await converse(context, stance_of(context.soul, "engaged"), keep_in_mind=matter.in_mind)
    return reply if isinstance(reply, Transition) else Stay(reply, process_memory=matter.to_json())


async def exiting(context: ProcessContext) -> Outcome:
    """Say farewell if the soul does, but not in quiet hours. Otherwise no model is called."""
    if not context.soul.presence.says_farewell or context.cycle.silent_for == "quiet":
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "exiting"))))


async def greeting(context: ProcessContext) -> Outcome:
    """Welcome the user, then go to `curious`. A wish of the user comes first."""
    reply = await converse(context, stance_of(context.soul, "greeting"))
    return reply if isinstance(reply, Transition) else Transition(reply, "curious", "they have been welcomed")


_LONGEST_PROPOSAL = 500  # characters of words that a model proposes


async def liaising(context: ProcessContext) -> Outcome:
    """Put the user's words to the session, or say why not, and go back to `engaged`."""
    if context.cycle.put_to_session is None or context.perception.modality is not Modality.WORDS:
        reply = await converse(context, stance_of(context.soul, "liaising"))
        return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "no session may be asked here")
    said = await _put(context)
    context.motor.add_below(said)
    memory = context.memory.with_memory(Memory(Role.ASSISTANT, said, name=context.soul.display_name))
    return Transition(memory, "engaged", "what became of it has been said")


async def _put(context: ProcessContext) -> str:
    """Return the sentence about the result. Raises StoreError."""
    put, sessions = context.cycle.put_to_session, [one for one in context.cycle.at_work if one.may_be_asked]
    try:
        _, asked = await context.mind.run(with_those_to_ask(context.memory, sessions), liaise())
    except ModelError:
        return _unclear(context)
    if put is None or not asked.session or not asked.words:
        return _unclear(context)
    words = own_words_from(asked.words, newest_words(context), asked.session)
    command = Command.HAND if asked.task else Command.ASK
    text, act = await put(Phrase(command, words=words, name=asked.session))
    if act is not None:
        context.motor.decide(act)
        return f"{text}\n\n{code_block(plain_sight(remove_keys(words)))}"
    is_there = any(one.name.casefold() == asked.session.casefold() for one in sessions)
    return _proposal(context, command, asked) if is_there and not words else text


def _unclear(context: ProcessContext) -> str:
    say = context.motor.words.say
    return f"{say('ask_unclear')}\n\n{listed(context.cycle.at_work, context.motor.words)}"


def _proposal(context: ProcessContext, command: Command, asked: SessionRequest) -> str:
    """Show words that are not the person's own, for them to type. Such words go to no session."""
    proposed = shortened(remove_keys(words_aloud(asked.words)), _LONGEST_PROPOSAL)
    typed = code_block(plain_sight(f"{command} {asked.session}: {proposed}"))
    return f"{context.motor.words.say('ask_own_words')}\n\n{typed}"


_NEW, _MENDED, _SPOKEN_OF, _ATTENTION = "a new piece", "the piece changed", "a word about it", "plain attention"


async def poetic(context: ProcessContext) -> Outcome:
    """Reply as the poet, in the one call of any reply. The poem is kept, to mend and explain it later.

    When the model says that the person has turned to other matters, `engaged` answers.
    """
    mode = context.soul.mode("poetic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no poetic mode any more", execute_now=True)
    piece = MadePiece.kept(context.state.process_memory)
    stance = stance_of(context.soul, "poetic")
    reply = await converse(context, stance, mode, keep_in_mind=piece.in_mind, manner=Manner(_step_by_step, NAMES_IT))
    if isinstance(reply, Transition):
        return reply
    told = context.motor.annotations.get("made_piece")
    if told is not None or context.motor.annotations.get("calls_for") == "poem":
        piece = piece.made(context.motor.said, str(told or ""), mode)
        context.motor.annotate(register=piece.register or None, image_domain=piece.images or None)
    return Stay(reply, process_memory=piece.to_json())


async def _step_by_step(context: ProcessContext) -> Step[str]:
    """Decide first, in a separate call, what the user wants. A model that fails there composes."""
    asked = decision("What does the person want of the poet now?", (_NEW, _MENDED, _SPOKEN_OF, _ATTENTION))
    try:
        _, wanted = await context.mind.run(context.memory, with_soul_creativity(context.soul, asked))
    except ModelError:
        wanted = _NEW
    if wanted in (_SPOKEN_OF, _ATTENTION):
        return external_dialog(context.soul, REPLY)
    context.motor.annotate(made_piece="")
    return poetic_composition(context.soul, f"They want {wanted}.")


async def ready(context: ProcessContext) -> Outcome:
    contacts = "\n".join(f"- {one.name}: {one.can}" for one in context.soul.contacts) or prompt("no_contacts")
    reply = await converse(context, stance_of(context.soul, "ready", contacts=contacts))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "the way has been shown")


async def reflecting(context: ProcessContext) -> Outcome:
    """Think one whole thought, with what it looks up. The first thought ever is about the soul itself."""
    first = occasion_of(context.perception) == "awakening"
    stance = awakening_of(context.soul) if first else stance_of(context.soul, "reflecting")
    return Stay(await reflect(context, stance))


_DAY = 24


async def returning(context: ProcessContext) -> Outcome:
    """Welcome the user back, then go to `engaged`.

    The pause is the user's own, since in a channel each mention may begin a new thread without a silence.
    """
    visit = context.visit
    facts = {"number": str(visit.number), "pause": _pause(visit.away or visit.silence)}
    reply = await converse(context, stance_of(context.soul, "returning", **facts))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "they have been welcomed back")


def _pause(seconds: float) -> str:
    hours = round(seconds / 3600)
    if hours < 1:
        return "a while"
    if hours < 2 * _DAY:
        return f"{hours} hours" if hours > 1 else "an hour"
    return f"{round(hours / _DAY)} days"
