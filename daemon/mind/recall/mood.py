"""The soul's state in the prompt: a mood that fades and colours its verbs; topic, task and question as data."""

from daemon.core.lineage import question_id, saw
from daemon.core.perception import ConversationKey
from daemon.core.sentences import SENTENCES
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.knowledge.records.kinds import WorkflowState
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.mind.mood_shift import faded
from daemon.mind.thought.cognitive_input import EmotionalState
from daemon.soul import Soul
from daemon.soul_engine import SOUL_STATE

_FAINTEST = 0.5  # a mood of less intensity counts as rest
_WANING = 0.75  # below it the mood is described as fading


def current_mood(state: SoulState | None, now_ms: int, soul: Soul) -> str:
    """The emotional state now: after the soul's half-life it gives way to rest.

    A state that soul.toml does not list (any more) counts as rest.
    """
    if state is None or state.emotional_state not in soul.emotional_states:
        return soul.rest_state
    return state.emotional_state if _intensity(state, now_ms, soul) >= _FAINTEST else soul.rest_state


def felt_now(state: SoulState | None, now_ms: int, soul: Soul) -> EmotionalState:
    """What is left on the three axes by now, and how it feels, as long as half of it is left."""
    if state is None:
        return EmotionalState()
    left = faded(state.moved_ms, now_ms, soul.mood.half_life_minutes)
    valence, arousal, dominance = (round(one * left, 2) for one in (state.valence, state.arousal, state.dominance))
    quality = state.felt_quality if left >= _FAINTEST else ""
    return EmotionalState(valence=valence, arousal=arousal, dominance=dominance, felt_quality=quality)


def state_in_words(state: SoulState | None, soul: Soul, now_ms: int) -> str:
    """The mood and its verbs as a sentence for the prompt; empty if the mood is rest without verbs of its own."""
    mood = current_mood(state, now_ms, soul)
    verbs = soul.verbs_in(mood)
    if mood == soul.rest_state and verbs == soul.verbs_in(""):
        return ""
    fading = ", less than before" if state and _intensity(state, now_ms, soul) < _WANING else ""
    speech, thought = ", ".join(verbs.speech), ", ".join(verbs.thought)
    return f"Your mood: {mood}{fading}. It shows in how you speak ({speech}) and think ({thought}); don't name it."


def status_of(state: SoulState | None, now_ms: int, soul: Soul, *, language: str, turn: int) -> str:
    """What the soul is shown to be doing while it thinks, in the words of its mood, other ones with each `turn`.

    Moods have no words in further languages: where `[words]` says it in a user's own, that is shown.
    """
    said = soul.words_in(language).say("thinking")
    if said != SENTENCES["thinking"]:
        return said
    words = soul.verbs_in(current_mood(state, now_ms, soul)).status
    return f"is {words[turn % len(words)]}…"


def with_state(
    memory: WorkingMemory, state: SoulState | None, soul: Soul, now_ms: int, where: ConversationKey | None = None
) -> WorkingMemory:
    """Put the mood as the daemon's own words, the rest as data: it derives from what users said.

    Topic and task come from the turns of the conversation `where` it is shown, the question from all of its room.
    """
    room = saw(question_id(where.workspace, where.channel)) if where else {}
    derived = [
        ("your topic here", state.topic if state else "", saw()),
        ("your task here", state.task if state else "", saw()),
        ("what you have wondered since an earlier time", state.question if state else "", room),
    ]
    if soul.mind == "cycle" and (felt := felt_now(state, now_ms, soul)) != EmotionalState():
        axes = f"valence {felt.valence:+}, arousal {felt.arousal:+}, dominance {felt.dominance:+}"
        derived.append(("how you feel", f"{felt.felt_quality} ({axes})".lstrip(), saw(state.felt_by if state else "")))
    mood = state_in_words(state, soul, now_ms)
    return memory.with_region(
        SOUL_STATE,
        *([Memory(Role.SYSTEM, mood)] if mood else []),
        *(Memory(Role.USER, text, name=what, metadata=seen) for what, text, seen in derived if text),
    )


def with_workflow(memory: WorkingMemory, workflow: WorkflowState) -> WorkingMemory:
    """Add what is being worked on here, and what is left of it, to the soul's state, as data: of visits here alone."""
    left = [
        ("what you are working on here since an earlier visit", workflow.current_task),
        ("what is left to do here", "; ".join(workflow.pending_items)),
    ]
    added = (Memory(Role.USER, text, name=what, metadata=saw()) for what, text in left if text)
    return memory.with_region(SOUL_STATE, *memory.region(SOUL_STATE), *added)


def _intensity(state: SoulState, now_ms: int, soul: Soul) -> float:
    return faded(state.felt_ms, now_ms, soul.mood.half_life_minutes)
