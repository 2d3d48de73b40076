"""The pipelines of a reply, fixed (seed 000) or as one whole thought (seed 002), and the run of the processes."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

from msgspec.structs import replace

from daemon.core.errors import MalformedReply, ProcessFailed
from daemon.core.perception import Modality
from daemon.core.phrases import short_answers_in
from daemon.core.ports.services import ModelRole
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.core.working_memory import thought as in_thought
from daemon.memory.knowledge.soul_states import PathStep
from daemon.memory.records import ProcessState
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.motor import Silence
from daemon.mind.offering import offer
from daemon.mind.process import MOST_HOPS, Intent, MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.mind.reading_tools import reading_tools_of, with_results
from daemon.mind.recall import DEGRADED
from daemon.mind.reply_rules import ReplyRules
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.internal_monologue import led_monologue
from daemon.mind.steps.respond import REPLY, respond, wish_word
from daemon.mind.steps.think import Considered, think
from daemon.mind.taking_effect import MOST_LOOKS, look_again, take_effect
from daemon.mind.thought_input import with_passing_time
from daemon.mind.transitions import Lead, follow, may_leave_a_mode, opening_process, situation_of, why_refused
from daemon.soul import Mode
from daemon.soul_engine import with_mode, with_stance

Setting = Callable[[WorkingMemory], WorkingMemory]
"""A function that adds what only one reply of one process needs, such as a mode or a stance."""

_THINK = "What is this person after, and what do you make of it?"


async def _plainly(context: ProcessContext) -> Step[str]:
    return external_dialog(context.soul, REPLY)


class Manner(Value):
    """The manner in which a process speaks.

    `choose` gives the step that speaks where each step is a separate call. `more` is a sentence about an element that
    a model may add if it answers in elements.
    """

    choose: Callable[[ProcessContext], Awaitable[Step[str]]] = _plainly
    more: str = ""


_AS_ALWAYS = Manner()


async def converse(
    context: ProcessContext,
    stance: str = "",
    mode: Mode | None = None,
    keep_in_mind: Setting = lambda memory: memory,
    manner: Manner = _AS_ALWAYS,
) -> WorkingMemory | Transition:
    """Reply to the newest message by the soul's pipeline, and return the memory afterwards. Raises ModelError.

    Return the transition instead, before a word is said, where the message calls for another process. Another wish is
    carried out first, and the reply says what came of it. `stance` is the mental process's instruction for the reply,
    in the daemon's own words. `mode` adds its text. `keep_in_mind` adds what the process remembers. None of them goes
    along with a transition.
    """

    advice = " ".join(filter(None, (stance, ReplyRules(context).advice)))

    def setting(memory: WorkingMemory) -> WorkingMemory:
        return keep_in_mind(with_stance(with_mode(memory, mode.personality) if mode else memory, advice))

    return await _converse(context, setting, manner)


async def _converse(context: ProcessContext, setting: Setting, manner: Manner) -> WorkingMemory | Transition:
    if context.soul.mind == "cycle" and not manner.more and not context.cycle.thoughts.unfit:
        return await _whole_thought(context, setting, manner)
    return await _in_words(context, setting, manner)


async def _in_words(
    context: ProcessContext, setting: Setting, manner: Manner, *, unseen: bool = False
) -> WorkingMemory | Transition:
    """Run the fixed pipeline. `unseen` streams nothing, since other words were shown already."""
    pipeline = _unified if _keeps_form(context) else _split
    return await pipeline(context, setting, manner, unseen=unseen)


def _keeps_form(context: ProcessContext) -> bool:
    habit = context.mind.habit(ModelRole.PERSONA, "respond")
    return context.soul.pipeline == "unified" and not habit.speaks_split(context.mind.clock.now_ms())


async def _whole_thought(context: ProcessContext, setting: Setting, manner: Manner) -> WorkingMemory | Transition:
    """Run one streamed thought, of which only the speech is shown. An unreadable thought degrades to the pipeline.

    A thought that says nothing but looks into memory or uses tools is followed by another, at most `MOST_LOOKS` times.
    Full silence is an answer where it is allowed. Otherwise one plain call puts the thought in words.
    """

    def silence() -> Silence:
        return Silence.REFUSED if context.followed or context.motor.reply else context.cycle.silence()

    def may_be_silent(thought: Considered) -> bool:
        return silence() is Silence.UNSEEN or thought.is_chosen_silence

    reading = await reading_tools_of(context)
    context = replace(context, memory=with_results(context.memory, await reading.use_allowed(context)))
    for look in range(MOST_LOOKS + 1):
        lead, may_look = Lead(context), look < MOST_LOOKS
        asked = think(
            context.soul,
            lead.meanings,
            leads=lead.leads,
            may_look=may_look,
            may_be_silent=may_be_silent,
            tools=reading.described,
        )
        step = with_soul_creativity(context.soul, asked)
        shown = with_passing_time(setting(context.memory), context)
        async with aclosing(context.mind.stream(shown, step)) as running:
            try:
                await context.motor.speak(running)
                memory, thought = await running.finished()
            except MalformedReply as fault:
                context.cycle.emit("thought.degraded", trace=context.mind.trace_id, reason=fault.message)
                context.motor.annotate(**{DEGRADED: True})
                return await _in_words(context, setting, manner, unseen=bool(running.shown))
        calls_for = wish_word(thought.output.calls_for) or None
        if wish := lead.settle(calls_for, leads=thought.leads):
            return await _follow(context, setting, manner, wish)
        memory, thought = await _unless_silent(replace(context, memory=memory), manner, thought, silence())
        used = await reading.use(context, thought.output, looks=may_look and not thought.reply)
        take_effect(context, thought, used, shown)
        if thought.reply or look == MOST_LOOKS or not thought.looks:
            break
        context = replace(context, memory=await look_again(context, thought, used))
    if not thought.reply:
        context.motor.keep_silence(chosen := silence())
        context.note("stay", context.state.process, "model", chosen)
        return memory
    ReplyRules(context).note(thought.stated)
    context.motor.settle(thought.reply, cut=thought.cut)
    offer(context, short_answers_in(thought.output.short_answers))
    return memory


async def _unless_silent(
    context: ProcessContext, manner: Manner, thought: Considered, silence: Silence
) -> tuple[WorkingMemory, Considered]:
    if not thought.is_chosen_silence or silence is not Silence.REFUSED:
        return context.memory, thought
    inner = thought.output.inner_speech
    private = [in_thought(inner, name=context.soul.display_name)] if inner else []
    said = await say(replace(context, memory=context.memory.concat(private)), await manner.choose(context))
    return said, replace(thought, reply=said.at(-1).content, cut=context.motor.cut)


async def _unified(
    context: ProcessContext, setting: Setting, manner: Manner, *, unseen: bool
) -> WorkingMemory | Transition:
    """Run one streamed call. Only its reply part is shown while it streams."""
    lead = Lead(context)
    asked = respond(context.soul, lead.meanings, leads=lead.leads, more=manner.more, opening=ReplyRules(context).judge)
    step = with_soul_creativity(context.soul, asked)
    async with aclosing(context.mind.stream(setting(context.memory), step)) as thought:
        if not unseen:
            await context.motor.speak(thought)
        memory, response = await thought.finished()
    if wish := lead.settle(response.calls_for, leads=response.leads, strays=response.stray_wishes):
        return await _follow(context, setting, manner, wish)
    context.motor.settle(response.reply, cut=response.cut)
    context.motor.describe(response.heard, response.stated)
    offer(context, response.answers)
    context.motor.annotate(
        monologue=response.monologue,
        monologue_verb=response.monologue_verb,
        reply_verb=response.reply_verb,
        stimulus_verb=response.stimulus_verb,
        user_model_check=response.user_model,
        soul_state_check=response.soul_state,
        made_piece=response.made_piece,
    )
    return memory


async def _split(
    context: ProcessContext, setting: Setting, manner: Manner, *, unseen: bool
) -> WorkingMemory | Transition:
    """Run one call per step: a private thought and the reply. Jobs do the checks afterwards.

    The thought says what is called for. A model that only lost the form of one call speaks without the thought. In a
    mode it keeps the thought, which alone can leave the mode.
    """
    soul, memory = context.soul, setting(context.memory)
    if soul.pipeline == "split" or may_leave_a_mode(context):
        lead = Lead(context)
        asked = led_monologue(soul.display_name, _THINK, lead.meanings)
        memory, monologue = await context.mind.run(memory, with_soul_creativity(soul, asked))
        leads = lead.leads(monologue.calls_for or "")
        if wish := lead.settle(monologue.calls_for, leads=leads):
            return await _follow(context, setting, manner, wish)
        context.motor.annotate(monologue=monologue.text)
    context = replace(context, memory=memory)
    return await say(context, await manner.choose(context), unseen=unseen)


async def _follow(
    context: ProcessContext, setting: Setting, manner: Manner, wish: Intent
) -> WorkingMemory | Transition:
    if wish.carry_out is None:
        return follow(context, wish)
    context.followed.append(wish)
    context.motor.annotate(calls_for=wish.word)
    context.note("stay", context.state.process, "model", wish.reason)
    outcome = await wish.carry_out(context)
    memory = context.memory.with_memory(Memory(Role.SYSTEM, f"({outcome})")) if outcome else context.memory
    return await _converse(replace(context, memory=memory), setting, manner)


async def say(context: ProcessContext, step: Step[str], *, unseen: bool = False) -> WorkingMemory:
    """Stream a step's text as the reply and settle on it, and return the memory afterwards. Raises ModelError.

    `unseen` shows nothing before the commit.
    """
    async with aclosing(context.mind.stream(context.memory, with_soul_creativity(context.soul, step))) as thought:
        if not unseen:
            await context.motor.speak(thought)
        memory, reply = await thought.finished()
        cut = thought.cut
    context.motor.settle(reply, cut=cut)
    return memory


FALLBACK = "engaged"
"""The process of a conversation whose own process is gone, and of messages that another one must not handle."""

DECISION_PROCESS = "problem_solving"
"""The process that asks for permission. Decisions visit it from any state of the conversation."""


class ProcessRun(Value):
    """The result for one perception: the memory, the state at the end, and the path with its reasons."""

    memory: WorkingMemory
    state: ProcessState
    path: tuple[PathStep, ...]


async def run_processes(
    context: ProcessContext, state: ProcessState, processes: Mapping[str, MentalProcess]
) -> ProcessRun:
    """Run the current or visited process, and the targets of its immediate transitions.

    After a visit the conversation returns to its former state, unless the process transitioned or waits for an answer.
    Raises ProcessFailed after more than ten hops, and what the processes raise.
    """
    exists = state.process in processes and context.soul.may_be(state.process)
    run = _Run(context, processes, state if exists else ProcessState(FALLBACK, state.process))
    await run.run()
    return ProcessRun(run.context.memory, run.state, tuple(run.path))


class _Run:
    """The run of one perception through the processes."""

    def __init__(self, context: ProcessContext, processes: Mapping[str, MentalProcess], state: ProcessState) -> None:
        self.context = context
        self.state = state
        self.path: list[PathStep] = []
        self._processes = processes
        self._hop = 0
        self._home = state
        self._visits = False

    async def run(self) -> None:
        perception = self.context.perception
        if perception.process is not None and not self._visit(perception.process) and self._is_for_that_alone():
            return
        if perception.modality is Modality.DECISION:
            self._visit_for_decision()
        elif perception.modality is Modality.WORDS and not self._visits:
            self._begin()
        while not self._is_done(await self._run_process()):
            self._hop += 1
            if self._hop > MOST_HOPS:
                raise ProcessFailed(
                    f"{self.state.process} and others hand over to each other without end",
                    hint="see `soul mind trace` for the path",
                )
        if self._visits and not self._is_parked() and all(step.act != "move" for step in self.path):
            self._note("return", self._home.process, "schedule", "a visit hands the conversation back")
            self.state = self._home

    def _visit(self, process: str) -> bool:
        refused = self._why_refused(process)
        if refused:
            self._note("refuse", process, "schedule", refused, self.context.perception.params)
            return False
        self._go_visiting(process, "schedule", "it has fallen due")
        return True

    def _is_parked(self) -> bool:
        """Return whether the visited process waits for an answer. Then the conversation must stay in it."""
        return self.state.process == DECISION_PROCESS and bool(self.state.process_memory)

    def _visit_for_decision(self) -> None:
        if self.state.process != DECISION_PROCESS and DECISION_PROCESS in self._processes:
            self._go_visiting(DECISION_PROCESS, "rule", "what was asked to be allowed has been decided")

    def _go_visiting(self, process: str, decided_by: str, reason: str) -> None:
        self._visits = True
        self._note("visit", process, decided_by, reason, self.context.perception.params)
        self.state = ProcessState(process, self._home.process, 0, self.context.perception.params)

    def _is_for_that_alone(self) -> bool:
        return self.context.perception.asks_nothing

    def _begin(self) -> None:
        if not self._is_parked() and (
            opening := opening_process(self.state.process, situation_of(self._in(self.state)))
        ):
            self._move("enter", Transition(self.context.memory, *opening))

    def _why_refused(self, target: str) -> str:
        if target not in self._processes:
            return f"there is no process {target!r}"
        return why_refused(self.state.process, target, situation_of(self._in(self.state)))

    async def _run_process(self) -> Outcome:
        context = self._in(self.state)
        outcome = await self._processes[self.state.process](context)
        self.context = replace(self.context, memory=outcome.memory)
        return outcome

    def _is_done(self, outcome: Outcome) -> bool:
        """Apply the outcome of a process, and return whether the perception is handled."""
        state = self.state
        if isinstance(outcome, Transition) and outcome.to != state.process:
            refused = self._why_refused(outcome.to)
            if not refused:
                self._move("move", outcome)
                return not outcome.execute_now
            self._note("refuse", outcome.to, "rule", refused, outcome.params)
            if outcome.execute_now and not self.context.motor.reply and state.process != FALLBACK:
                self._note("visit" if self._visits else "move", FALLBACK, "rule", "the message needs a reply")
                self.state = ProcessState(FALLBACK, state.process)
                return False
        process_memory = (
            outcome.process_memory
            if isinstance(outcome, Stay) and outcome.process_memory is not None
            else state.process_memory
        )
        self.state = replace(state, invocations=state.invocations + 1, process_memory=process_memory)
        self._note("stay", state.process, "rule", "nothing leads elsewhere")
        return True

    def _move(self, act: str, transition: Transition) -> None:
        self._note(act, transition.to, transition.decided_by, transition.reason, transition.params)
        self.state = ProcessState(transition.to, self.state.process, 0, transition.params)

    def _note(
        self, act: str, target: str, decided_by: str, reason: str, params: Mapping[str, object] | None = None
    ) -> None:
        self.path.append(PathStep(self._hop, act, self.state.process, target, decided_by, reason, params or {}))

    def _in(self, state: ProcessState) -> ProcessContext:
        return replace(self.context, state=state, note=self._note)
