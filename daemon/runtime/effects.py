"""Builds the one value that a cycle commits (turns, posts, states, intentions, jobs), and the words of apologies."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from daemon.core.errors import (
    CapMet,
    ConfigError,
    CutShort,
    DaemonError,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    NoAccess,
    OnlyThought,
)
from daemon.core.initiative import PROMISED
from daemon.core.lineage import is_inner
from daemon.core.perception import Modality, Perception, Place
from daemon.core.ports.library import Passage, ReplyFile, Tool, Toolbox
from daemon.core.ports.services import LLMCall, ModelRole, Speech, Task
from daemon.core.sentences import Sentence
from daemon.core.timeframes import time_in
from daemon.core.timetable import CLOCKS_DIFFER_S
from daemon.core.value import Value
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.visits import NO_NOTE, VisitNote
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.handoffs import Handoff
from daemon.memory.queues.intention_rows import ASKED_IN, NewIntention
from daemon.memory.queues.intentions import IDLE
from daemon.memory.queues.jobs import LOOK
from daemon.memory.queues.memory_acts import Asker, InformedOfMemory
from daemon.memory.queues.permission_ends import PermissionLapses
from daemon.memory.records import JSONObject, ProcessState, Speaks, Turn, TurnKind, VisitState
from daemon.mind.matter import Matter
from daemon.mind.motor import Motor, Silence
from daemon.mind.pipelines import DECISION_PROCESS, ProcessRun
from daemon.mind.process import Capabilities, MentalProcess, Outcome, ProcessContext
from daemon.mind.recall import MONOLOGUE, as_memory, thought_for
from daemon.mind.recall.looked_up import marked
from daemon.mind.recall.visit import Visit
from daemon.processes.subprocesses import AFTER_A_VISIT
from daemon.runtime.away import away_note, away_turn, nod_of
from daemon.runtime.cycle_state import Cycle, intentions_come_back, readings_perceived, stale_goals_shown, thoughts_of
from daemon.runtime.jobs import note_of_visit
from daemon.runtime.sensing import among_souls, said_to_souls
from daemon.runtime.unasked import acts_of_promises, promises_kept
from daemon.shared.events import Doing
from daemon.soul import Soul, talk_budget
from daemon.soul_engine import transcript_window

MOODS_EVERY = 3
"""The number of replies without checks from one question about the soul's mood to the next."""


class Thinking(Value):
    """One cycle's thinking: the soul, its motor, the run of its processes, the recalled transcript and visit."""

    soul: Soul
    motor: Motor
    run: ProcessRun
    transcript: Transcript
    visit: Visit


def effect_of_cycle(
    cycle: Cycle, thinking: Thinking, parts: tuple[str, ...], files: tuple[ReplyFile, ...] = ()
) -> CycleEffect:
    """Build the effect of a cycle that thought, with its reply in `parts`, followed by `files`."""
    soul, motor, claim, newest = thinking.soul, thinking.motor, cycle.claim, cycle.newest
    turns = turns_of(cycle)
    if turns and newest.modality is Modality.WORDS:
        turns = (*turns[:-1], turns[-1].heard_as(motor.heard))
    if parts and motor.said:
        kind = TurnKind.CUT if motor.cut else TurnKind.REPLY
        said = cycle.says(motor.said, kind, passing=bool(cycle.paused))
        said = replace(said, thought=_private(cycle, motor), model=_spoken_by(cycle.calls))
        turns = (*turns, said.stated_as(motor.stated))
    services, now = cycle.services, cycle.services.clock.now_ms()
    effect = effect_of_words(cycle, parts, turns)
    return replace(
        effect,
        handoff=Handoff(motor.heir, effect.recipient, effect.reply_to) if motor.heir else None,
        state=thinking.run.state,
        visit_state=_visit_state(thinking.visit, claim.visit_state, cycle.perceptions, now, replied=bool(parts)),
        path=thinking.run.path,
        intentions=(*_asked_for(motor, cycle.perceptions), *_idle(cycle, claim.visit_state, now)),
        cancelled=motor.cancelled,
        approval=motor.approval,
        cross_post=motor.cross_post,
        jobs=() if cycle.paused or cycle.is_tick or _unposted(cycle) else _with_look(cycle, _jobs(thinking, turns)),
        acts=(
            *motor.remembered,
            *motor.acts,
            *((InformedOfMemory(),) if cycle.tells else ()),
            *said_to_souls(cycle, parts),
            *(stale_goals_shown(cycle) if parts or motor.thoughts else ()),
            *(intentions_come_back(cycle) if parts or motor.thoughts else ()),
            *(readings_perceived(cycle) if parts or motor.thoughts else ()),
            *acts_of_promises(cycle, motor, parts),
        ),
        asker=Asker(newest.author, claim.conversation, claim.audience, newest.ts),
        visit_note=_note_of_visit(cycle, soul, thinking.run.state),
        rooms=cycle.heard_by.rooms,
        lulls={"models_the_visitor": services.learning_lull_ms},
        surfaced=(*marked(cycle.found).items(), *motor.drawn_on.items()) if parts else (),
        known_facts=cycle.known_facts if parts else (),
        files=() if _unposted(cycle) else files,
        answers=motor.answers if parts and Speaks.of(newest.author) is Speaks.PERSON else (),
        most_intentions=services.settings.schedule_max,
        dates={**effect.dates, **motor.dates},
        given=tuple(one.id for one in cycle.at_hand.expected.errors),
        thoughts=thoughts_of(cycle, motor, thinking.run, thinking.transcript) if soul.mind == "cycle" else None,
        silent=motor.silence is not Silence.REFUSED,
        nod=nod_of(cycle, soul) if motor.silence is Silence.NOD else None,
    )


def effect_of_words(cycle: Cycle, parts: tuple[str, ...], turns: tuple[Turn, ...]) -> CycleEffect:
    """Build the effect of a cycle that thought nothing and ends with these words. Without words it ends an open draft.

    The conversation's state stays as it is, and the visit goes on where there are turns.
    """
    claim, services = cycle.claim, cycle.services
    away = away_note(cycle)
    turns = turns if away is None or parts else (*turns, away_turn(cycle, away))
    oldest = claim.messages[0].perception if claim.messages else None
    to = (cycle.messages or claim.messages)[-1].perception if claim.messages else None
    visit_state = replace(claim.visit_state, spoken_ms=services.clock.now_ms()) if turns else claim.visit_state
    return CycleEffect(
        claim=claim,
        trace_id=cycle.trace_id,
        state=claim.state,
        visit_state=visit_state,
        turns=turns,
        parts=() if _unposted(cycle) else parts,
        reply_to=cycle.channel.reply_to(to) if to else "",
        recipient=to.author if to else "",
        newer_than_ts=newer_than(oldest) if oldest else "0",
        answered=tuple(one for one in cycle.messages if one.id not in cycle.dismissed),
        dismissed=cycle.dismissed,
        away=away,
        calls=tuple(cycle.calls),
        visit_timeout_ms=services.visit_timeout_ms,
        visit_note=_note_of_visit(cycle, cycle.soul, claim.state),
        outsider_spoke=cycle.outsider_spoke,
        members_only=cycle.readers.members_only,
        nonce=cycle.nonce,
        zones={one.author: one.zone for one in cycle.perceptions if one.zone},
        dates=dict(cycle.dates),
        acts=(*said_to_souls(cycle, parts), *promises_kept(cycle, parts), *_permissions_lapse(cycle, turns)),
        quiet=services.quiet_hours if cycle.speaks_first else None,
        unasked=cycle.is_tick and PROMISED not in cycle.newest.params,
        used_tools=frozenset(cycle.used_tools),
        asker=Asker(to.author, claim.conversation, claim.audience, to.ts) if to else None,
        cap_shown_day=cycle.cap_shown_day,
    )


def _permissions_lapse(cycle: Cycle, turns: tuple[Turn, ...]) -> tuple[PermissionLapses, ...]:
    if all(turn.kind is not TurnKind.APOLOGY for turn in turns):
        return ()
    allowed = (one for one in cycle.perceptions if one.modality is Modality.DECISION and one.params.get("approved"))
    return tuple(PermissionLapses(str(one.params.get("approval", ""))) for one in allowed)


def _note_of_visit(cycle: Cycle, soul: Soul, state: ProcessState) -> VisitNote:
    return NO_NOTE if cycle.paused or _unposted(cycle) else note_of_visit(cycle, soul, state)


def _unposted(cycle: Cycle) -> bool:
    """Return whether no platform shows this conversation: a reply to a soul is a note, an inner room is silent."""
    return among_souls(cycle) or is_inner(cycle.claim.conversation)


def _spoken_by(calls: Sequence[LLMCall]) -> str:
    answers = [call.model for call in calls if call.role is ModelRole.PERSONA and call.outcome == "ok"]
    return answers[-1] if answers else ""


def _private(cycle: Cycle, motor: Motor) -> JSONObject:
    readers = thought_for(cycle.heard_by) if MONOLOGUE in motor.annotations else {}
    return {**motor.annotations, **readers}


def turns_of(cycle: Cycle) -> tuple[Turn, ...]:
    words = [one for one in cycle.perceptions if one.modality is Modality.WORDS]
    return tuple(
        Turn(Speaks.of(one.author), one.author, one.name, one.ts, one.content, passing=one.author in cycle.paused)
        for one in words
    )


def newer_than(perception: Perception) -> str:
    """Return a platform ts surely older than the reply. Events without a message have a ts of our clock."""
    if perception.has_message:
        return perception.ts
    return f"{max(0.0, float(perception.ts) - CLOCKS_DIFFER_S):.6f}"


def _visit_state(
    visit: Visit, before: VisitState, perceptions: Sequence[Perception], now_ms: int, *, replied: bool
) -> VisitState:
    if perceptions[-1].modality in {Modality.TIME, Modality.NOTE, Modality.EVENT, Modality.SENSE}:
        return before
    return VisitState(before.visit + visit.begins, visit.exchanges + replied, now_ms)


def _asked_for(motor: Motor, perceptions: Sequence[Perception]) -> tuple[NewIntention, ...]:
    """Return the new intentions with the ts of the messages that asked for them: deleting one cancels the intention."""
    messages = [one.ts for one in perceptions if one.modality is Modality.WORDS]
    return tuple(replace(one, params={**one.params, ASKED_IN: messages}) for one in motor.intentions)


def _idle(cycle: Cycle, visit_state: VisitState, now_ms: int) -> tuple[NewIntention, ...]:
    """Return the timer for the next silence: dormancy after a message, the end of the visit after dormancy."""
    soul, newest, timeout_ms = cycle.soul, cycle.newest, cycle.services.visit_timeout_ms
    if newest.modality in {Modality.NOTE, Modality.EVENT, Modality.SENSE}:
        return ()
    if newest.modality is not Modality.TIME:
        dormancy_ms = int(cycle.services.settings.dormant_after * 1000)
        process, due = "dormant", now_ms + dormancy_ms
        if dormancy_ms >= timeout_ms or not soul.may_be(process):
            process, due = "exiting", now_ms + timeout_ms
    elif newest.process == "dormant":
        process, due = "exiting", max(now_ms, visit_state.spoken_ms + timeout_ms)
    else:
        return ()
    if not soul.may_be(process):
        return ()
    return (NewIntention(slot=IDLE, due_ms=due, process=process, behalf=newest.author),)


def _jobs(thinking: Thinking, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the soul's subprocesses that have work, in its order. The reply's checks save the others a model call.

    Without checks the subprocesses ask the model, about the soul's rarely changing mood only now and then.
    """
    checks, soul = thinking.motor.annotations, thinking.soul
    mood = checks.get("soul_state_check", bool(turns) and thinking.visit.exchanges % MOODS_EVERY == MOODS_EVERY - 1)
    wanted = {
        "models_the_visitor": bool(turns) and checks.get("user_model_check") is not False,
        "keeps_its_own_state": mood is True and soul.mind != "cycle",  # there each thought says how it feels
        "thinks_the_matter_over": _wants_depth(thinking),
        "summarizes_the_conversation": _outgrown(
            (*thinking.transcript.turns, *turns), soul, thinking.run.state.process
        ),
    }
    after_reply = (name for name in soul.subprocesses if name not in (LOOK, *AFTER_A_VISIT))
    return tuple(name for name in after_reply if wanted.get(name, bool(turns)))


def _with_look(cycle: Cycle, jobs: tuple[str, ...]) -> tuple[str, ...]:
    return (LOOK, *jobs) if cycle.files else jobs


def _wants_depth(thinking: Thinking) -> bool:
    state = thinking.run.state
    return state.process == "engaged" and Matter.kept(state.process_memory).wants_depth


def _outgrown(turns: Sequence[Turn], soul: Soul, process: str) -> bool:
    said = [as_memory(turn) for turn in turns]
    older, _ = transcript_window(said, talk_budget(soul, process), soul.budgets.turn)
    return bool(older)


LATER = Sentence("advice_later")
_BROKEN = (Sentence("what_broken"), LATER)
_APOLOGIES: tuple[tuple[type[Exception], tuple[Sentence, Sentence]], ...] = (  # the first kind that fits counts
    (ConfigError, (Sentence("what_setup"), Sentence("advice_log"))),
    (NoAccess, (Sentence("what_setup"), Sentence("advice_log"))),
    (ModelRefused, (Sentence("what_refused"), Sentence("advice_put_differently"))),
    (ModelUnavailable, (Sentence("what_unreachable"), LATER)),
    (OnlyThought, (Sentence("what_only_thought"), Sentence("advice_think_less"))),
    (CutShort, (Sentence("what_too_long"), Sentence("advice_ask_less"))),
    (MalformedReply, (Sentence("what_form"), Sentence("advice_say_again"))),
    (DaemonError, (Sentence("what_unclear"), LATER)),
)


def apology_for(error: Exception) -> tuple[Sentence, Sentence]:
    """Return the apology's reason and advice. The details are in the log under the reference."""
    return next((words for kind, words in _APOLOGIES if isinstance(error, kind)), _BROKEN)


def cap_words(cycle: Cycle, met: CapMet) -> str:
    """Return the sentence about a cap, or an empty string if the conversation has read one today.

    The sentence is repeated where a reply was begun, and to a program, which waits for each answer.
    """
    services, claim, newest = cycle.services, cycle.claim, cycle.newest
    today = services.till.day().date
    begun = claim.draft is not None or any(call.first_ms is not None for call in cycle.calls)
    if claim.cap_shown_day == today and not begun and newest.place is not Place.TERMINAL:
        return ""
    cycle.cap_shown_day = today
    words = cycle.words
    if met.usd == 0:
        return words.say("cap_of_nothing")
    when = time_in(met.until_ms, newest.zone)
    cycle.dates[when] = met.until_ms  # others may read along on other clocks
    return words.say("cap_met", what=words.say(f"cap_of_{met.paid_by}"), when=when)


class ShownSpeech:
    """The implementation of `Speech` that shows the soul as speaking once it has said a word."""

    def __init__(self, speech: Speech, does: Callable[[Doing], None]) -> None:
        self._speech = speech
        self._does = does

    @property
    def shown(self) -> str:
        return self._speech.shown

    async def say(self, text: str) -> None:
        self._does(Doing.SPEAKING)
        await self._speech.say(text)

    async def show(self, task: Task) -> None:
        await self._speech.show(task)

    async def settle(self) -> None:
        await self._speech.settle()


def shown_solving(processes: Mapping[str, MentalProcess], does: Callable[[Doing], None]) -> Mapping[str, MentalProcess]:
    """Wrap the process for hard problems, to show that the soul solves one."""
    if DECISION_PROCESS not in processes:
        return processes
    solve = processes[DECISION_PROCESS]

    async def solving(context: ProcessContext) -> Outcome:
        does(Doing.SOLVING)
        try:
            return await solve(context)
        finally:
            does(Doing.THINKING)

    return {**processes, DECISION_PROCESS: solving}


def noting_tools(capabilities: Capabilities, note: Callable[[str], None]) -> Capabilities:
    """Wrap the toolbox: `note` is called with the name of each tool that was used."""
    toolbox = capabilities.toolbox
    return capabilities if toolbox is None else replace(capabilities, toolbox=_NotingToolbox(toolbox, note))


class _NotingToolbox(Value):
    toolbox: Toolbox
    note: Callable[[str], None]

    @property
    def known(self) -> tuple[Tool, ...]:
        return self.toolbox.known

    async def tools(self) -> tuple[Tool, ...]:
        return await self.toolbox.tools()

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        passage = await self.toolbox.use(name, arguments, fingerprint)
        self.note(name)
        return passage
