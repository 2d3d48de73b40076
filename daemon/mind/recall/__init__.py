"""Fills a new working memory with what the soul knows about a conversation, its users and itself."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import field
from pydantic import ValidationError

from daemon.core.expectations import Outcome
from daemon.core.fencing import clean_name
from daemon.core.lineage import INNER, author_id, kept_readers, may_think_again, read_readers, saw, session_id
from daemon.core.notes import NOTE_PARAM, SOUL_CHANNEL
from daemon.core.perception import Perception, Readers
from daemon.core.ports.channel import ThreadMessage
from daemon.core.sessions import CodeSession
from daemon.core.tempo import SURPRISING, dated
from daemon.core.text import shortened
from daemon.core.timeframes import time_in
from daemon.core.value import Value
from daemon.core.words import keys_of_words, shares_words, words_heard
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.memory.expectations.expected import Expected, ScoredPrediction
from daemon.memory.expectations.settling import OpenPrediction
from daemon.memory.knowledge.records.kinds import NOTHING_LEFT, JournalEntry, WorkflowState
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.turns import THOUGHT_TURNS, Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.mind.at_hand import NOTHING_AT_HAND, AtHand
from daemon.memory.mind.goal_changes import Goal
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.memory.senses.readings import Reading, Sensed
from daemon.memory.stream.keeping import BY_AUTHORITY
from daemon.memory.stream.reading import NO_THOUGHTS, KeptThought, LastThoughts
from daemon.mind.prompts import prompt
from daemon.mind.recall.looked_up import with_documents
from daemon.mind.recall.mood import with_people, with_state, with_workflow
from daemon.mind.thought import CognitiveOutput, without
from daemon.shared.who_works import in_short
from daemon.soul import Soul
from daemon.soul_engine import (
    AT_WORK,
    EXPECTED,
    GOALS,
    READINGS,
    SUMMARY,
    SURPRISES,
    begin,
    with_aside,
    with_cut_turn,
    with_notes,
    with_now,
    with_thoughts,
    with_thread,
)

_ACTUAL: Final = {Outcome.HIT: "it came true", Outcome.MISS: "it did not come true"}


def with_expected(memory: WorkingMemory, expected: Expected, soul: Soul, now_ms: int, zone: str) -> WorkingMemory:
    """Add predictions as data, since they may hold a person's words. The greatest surprise comes first.

    One line tells a soul that thinks whole thoughts how well it predicts. Without predictions the memory is unchanged.
    """
    surprises = [_scored(one) for one in expected.errors if one.surprise >= SURPRISING]
    as_expected = [_scored(one) for one in expected.errors if one.surprise < SURPRISING]
    line = expected.sums.in_words if soul.mind == "cycle" else ""
    lines = [
        *([Memory(Role.SYSTEM, line)] if line else []),
        *as_expected,
        *(_open(one, now_ms, zone) for one in expected.open),
    ]
    if surprises:
        memory = memory.with_region(SURPRISES, *surprises)
    return memory.with_region(EXPECTED, *lines) if lines else memory


def what_came(one: ScoredPrediction) -> str:
    return _ACTUAL[one.outcome]


def _scored(one: ScoredPrediction) -> Memory:
    about = f"{one.id}: you were {one.confidence:.0%} sure, and {what_came(one)}"
    return Memory(Role.USER, one.what, name=about, metadata=saw(one.thought))


def _open(one: OpenPrediction, now_ms: int, zone: str) -> Memory:
    over = f"over since {time_in(one.due_ms, zone)}" if one.due_ms <= now_ms else f"until {time_in(one.due_ms, zone)}"
    until = over if one.exchanges is None else f"within {one.exchanges} more replies"
    return Memory(Role.USER, one.what, name=f"{one.id}, {one.confidence:.0%} sure, {until}", metadata=saw(one.thought))


_STALE: Final = "What is stale was untouched for two weeks; it is shown for the last time."


def with_goals(memory: WorkingMemory, held: AtHand, now_ms: int, zone: str) -> WorkingMemory:
    """Add past intentions and the goals as data, since they may hold a person's words.

    Without any the memory is unchanged.
    """
    goals = held.goals
    meant = [
        Memory(Role.USER, one.words, name=f"you meant to do at {time_in(one.due_ms, zone)}", metadata=saw(one.thought))
        for one in held.intended
    ]
    lines = [Memory(Role.USER, one.goal, name=_about(one, now_ms, zone), metadata=saw(one.source)) for one in goals]
    about = [Memory(Role.SYSTEM, _STALE)] if any(one.stale for one in goals) else []
    return memory.with_region(GOALS, *about, *meant, *lines) if goals or meant else memory


def _about(goal: Goal, now_ms: int, zone: str) -> str:
    due = f"due {'since' if goal.due_ms <= now_ms else 'at'} {time_in(goal.due_ms, zone)}" if goal.due_ms else ""
    return ", ".join(filter(None, (f"your {'stale ' if goal.stale else ''}goal {goal.id}", due)))


_LONGEST: Final = 1_200  # characters of the last thought's inner speech
_SHORTEST: Final = 300  # of each of the others


def held_in(thought: KeptThought | None) -> CognitiveOutput | None:
    """Return the effective output of a kept thought, or None without a thought and for one of another form."""
    try:
        held = CognitiveOutput.model_validate_json(thought.output) if thought is not None else None
    except ValidationError:
        return None
    withheld = {part for part, reason in thought.refused if reason == BY_AUTHORITY} if thought is not None else set()
    return held and without(held, withheld)


def allowed_of(thoughts: LastThoughts) -> CognitiveOutput:
    """Return one thought with all that thoughts here proposed and an admin allowed since the last thought."""
    allowed = CognitiveOutput(inner_speech="")
    found: dict[str, object] = {"inner_speech": ""}
    for one in thoughts.settled:
        if one.allowed and one.value:
            # skip a field that is unreadable, has too many items, or of an older form
            with suppress(ValueError, RecursionError):
                value, before = json.loads(one.value), found.get(one.field)
                together = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
                allowed = CognitiveOutput.model_validate(found | {one.field: together})
                found[one.field] = together
    return allowed


def settled_lines(thoughts: LastThoughts) -> tuple[str, ...]:
    """Return an admin's decisions on proposals of thoughts here, for the thought that perceives them first."""
    return tuple(
        f"{'Allowed' if one.allowed else 'Declined'} by an admin: {one.field} {shortened(one.value, _SHORTEST)}".strip()
        for one in thoughts.settled
    )


def thoughts_in_mind(thoughts: LastThoughts, now_ms: int) -> tuple[str, ...]:
    """Return recent thoughts in short, and the conversation's own last thought whole, oldest first.

    Thoughts of another day are dated. The prompt dates the last thought itself.
    """
    recent = [
        dated(shortened(held.inner_speech, _SHORTEST), one.at_ms, now_ms)
        for one in thoughts.recent
        if (held := held_in(one)) is not None
    ]
    previous = held_in(thoughts.previous)
    texts = [*recent, "" if previous is None else _whole(previous)]
    came = (_line("Without effect", "; ".join(left_out(thoughts.previous))), *settled_lines(thoughts))
    texts[-1] = "\n".join(filter(None, (texts[-1], *came)))
    return tuple(filter(None, texts))


def left_out(thought: KeptThought | None) -> tuple[str, ...]:
    """Return the parts of a thought without effect and the reason, such as "goal_updates: duplicate", each once."""
    return () if thought is None else tuple(dict.fromkeys(f"{part}: {reason}" for part, reason in thought.refused))


def focus_of(thoughts: LastThoughts) -> str:
    """Return what the last thought of the conversation wanted to look out for or look up, or an empty string."""
    sought = [one for one in (held_in(thoughts.previous), allowed_of(thoughts)) if one is not None]
    focus = (words for one in sought for words in one.attention.focus_on)
    return " ".join((*focus, *(op.query for one in sought for op in one.memory_ops if op.query)))


def _whole(thought: CognitiveOutput) -> str:
    about = thought.self_model_updates
    lines = [
        shortened(thought.inner_speech, _LONGEST),
        "" if thought.external_speech else "You said nothing aloud.",
        _line("How you were", about.current_state),
        _line("Unsure of", about.new_uncertainty),
        _line("To look out for", "; ".join(thought.attention.focus_on)),
    ]
    return "\n".join(filter(None, lines))


def _line(what: str, words: str) -> str:
    return f"{what}: {words}" if words else ""


SENSE: Final = "sense"
"""The metadata key of a memory for the sense that it reached."""

_SENSED_LONGEST: Final = 120  # tokens of one line


def with_sensed(memory: WorkingMemory, sensed: Sensed, thoughts: LastThoughts, soul: Soul, zone: str) -> WorkingMemory:
    """Add as many sensed readings as the budget has room for, as data, and the number of those left out.

    Readings on which the last thought here focused come first, those it deprioritized last, and newer before older.
    Without readings the memory is unchanged.
    """
    if not (sensed.readings or sensed.dropped):
        return memory
    lines, left = list[Memory](), soul.budgets.readings
    for one in _in_order(sensed.readings, thoughts):
        left -= min(_SENSED_LONGEST, estimate_tokens(one.words))
        if lines and left < 0:
            break
        lines.append(_sensed_line(one, zone))
    return memory.with_region(READINGS, *_left_out(len(sensed.readings) - len(lines), sensed.dropped), *lines)


def _in_order(readings: Sequence[Reading], thoughts: LastThoughts) -> Sequence[Reading]:
    previous = held_in(thoughts.previous)
    if previous is None:
        return readings
    attention = previous.attention

    def place(one: Reading) -> int:
        words = words_heard(f"{one.sense} {one.words}")
        keys = keys_of_words(words)
        lifted = any(shares_words(what, words, keys) for what in attention.focus_on)
        return 0 if lifted else 2 if any(shares_words(what, words, keys) for what in attention.deprioritize) else 1

    return sorted(readings, key=place)


def _sensed_line(one: Reading, zone: str) -> Memory:
    times = f", {one.n} times, the last" if one.n > 1 else ""
    name = f"from {clean_name(one.sense)}{times} at {time_in(one.at_ms, zone)}"
    return Memory(Role.USER, one.words, name=name, metadata={SENSE: one.sense})


def _left_out(hidden: int, dropped: int) -> Sequence[Memory]:
    more = f"{hidden} more came, and are not shown." if hidden else ""
    gone = f"{dropped} older ones were dropped." if dropped else ""
    return [Memory(Role.SYSTEM, said)] if (said := " ".join(filter(None, (more, gone)))) else []


MONOLOGUE, READERS = "monologue", "readers"
"""The keys of what is stored privately with a reply: the thought, and its readers at that time."""

DEGRADED = "degraded"
"""The key that marks a reply for which a whole thought was asked and none could be read."""

_SHOWN = 2
_THOUGHTS_LONGEST = 400  # characters of a thought that is shown again


def thought_for(readers: Readers) -> Mapping[str, object]:
    """Return the readers to store with a thought, by which `last_thoughts` judges later readers."""
    return {READERS: kept_readers(readers)}


def last_thoughts(turns: Sequence[Turn], readers: Readers) -> tuple[str, ...]:
    """Return the last two thoughts, oldest first, whose readers were not fewer than these (`may_think_again`)."""
    known = [
        text
        for turn in turns[-THOUGHT_TURNS:]
        if isinstance(text := turn.thought.get(MONOLOGUE), str)
        and text.strip()
        and may_think_again(readers, read_readers(turn.thought.get(READERS)))
    ]
    return tuple(_shortened(text) for text in known[-_SHOWN:])


def _shortened(text: str) -> str:
    return text if len(text) <= _THOUGHTS_LONGEST else f"{text[:_THOUGHTS_LONGEST].rstrip()}…"


THREAD_MESSAGES_READ = 30
"""The most earlier messages of a thread that are read when the soul is mentioned in it."""


_UNANSWERED = "(You could not answer this: something failed. They were told so.)"
_TAKEN_BACK = "(What you said here was taken back; it counts as not said.)"


class RecalledFacts(Value):
    """The facts that may be known before a conversation's `readers`: user models by platform id, and the soul's state.

    `thread` are messages from before the soul was asked into the thread. `aside` is what users said to each other
    since its last reply. Both hold words of admitted users alone. `workflow` is what the visits here have left to do.
    `journal` is what the soul wrote for itself of visits before this audience. `thoughts` and `at_hand` are what a
    soul that thinks whole thoughts has in mind.
    """

    readers: Readers
    people: Mapping[str, tuple[UserModel, ...]] = field(default_factory=dict)
    own_state: SoulState | None = None
    thread: Sequence[ThreadMessage] = ()
    aside: Sequence[ThreadMessage] = ()
    workflow: WorkflowState = NOTHING_LEFT
    journal: Sequence[JournalEntry] = ()
    thoughts: LastThoughts = NO_THOUGHTS
    at_hand: AtHand = NOTHING_AT_HAND

    def of(self, person: str) -> tuple[UserModel, ...]:
        return self.people.get(person, ())


def recall(
    soul: Soul,
    perception: Perception,
    transcript: Transcript,
    *,
    known: RecalledFacts,
    now_ms: int,
) -> WorkingMemory:
    """Build the working memory before the perception: the soul, its state, time, place, users and earlier turns."""
    peopled = perception.conversation.channel not in {SOUL_CHANNEL, INNER}
    memory = with_now(begin(soul), now_ms, perception.place, perception.zone, peopled=peopled)
    where = perception.conversation
    memory = with_workflow(with_state(memory, known.own_state, soul, now_ms, where), known.workflow)
    memory = with_goals(memory, known.at_hand, now_ms, perception.zone)
    memory = with_sensed(memory, known.at_hand.sensed, known.thoughts, soul, perception.zone)
    memory = with_expected(memory, known.at_hand.expected, soul, now_ms, perception.zone)
    memory = with_people(memory, soul, *known.people.values(), workspace=where.workspace)
    memory = with_documents(memory, soul, known.at_hand.documents, now_ms)
    memory = with_notes(memory, SUMMARY, transcript.summary)
    memory = with_thread(memory, known.thread, where)
    journal = [(one.id, _as_written(one, soul, now_ms)) for one in known.journal]
    if whole := thoughts_in_mind(known.thoughts, now_ms):
        here = held_in(known.thoughts.previous) is not None
        memory = with_thoughts(memory, whole, journal, known.thoughts.ids, here=here)
    else:
        memory = with_thoughts(memory, last_thoughts(transcript.turns, known.readers), journal)
    memory = with_aside(memory, known.aside, where).concat(tuple(as_memory(turn) for turn in transcript.turns))
    newest = next((turn for turn in reversed(transcript.turns) if turn.speaker is Speaks.SOUL), None)
    return with_cut_turn(memory) if newest is not None and newest.kind is TurnKind.CUT else memory


def _as_written(line: JournalEntry, soul: Soul, now_ms: int) -> str:
    return dated(line.text, line.at_ms, now_ms) if soul.mind == "cycle" else line.text


def as_memory(turn: Turn) -> Memory:
    """Return a turn of the transcript as a memory. Of an apology only the fact is remembered, not the words."""
    if turn.speaker is not Speaks.SOUL:
        note = turn.thought.get(NOTE_PARAM)  # of another soul, and no turn of the store
        metadata = saw(note) if isinstance(note, str) else {}
        return Memory(Role.USER, turn.body, name=clean_name(turn.name), metadata=metadata)
    if turn.kind is TurnKind.APOLOGY:
        return Memory(Role.SYSTEM, _UNANSWERED)
    if not turn.body:
        return Memory(Role.SYSTEM, _TAKEN_BACK)
    said = {"verb": str(turn.thought.get("reply_verb", "said"))}
    if wish := turn.thought.get("calls_for"):
        said["calls_for"] = str(wish)
    return Memory(Role.ASSISTANT, turn.body, metadata=said)


def awakening_of(soul: Soul) -> str:
    """Return the instruction for the first thought. The soul.md, values and rules are in the prompt as always."""
    return prompt("first_thought", page=soul.awakening).strip()


_FRAME = 45  # tokens of the heading and the fence
_ABOUT = "sessions of Claude Code that run now"


def with_sessions(memory: WorkingMemory, sessions: Sequence[CodeSession], tokens: int) -> WorkingMemory:
    """Add the sessions as a note of at most these tokens, its heading and its fence included."""
    if not sessions:
        return memory
    ids = [name for one in sessions for name in (session_id(one.id), author_id(one.workspace, one.person))]
    return with_notes(memory, AT_WORK, in_short(sessions, tokens - _FRAME), about=_ABOUT, seen=ids)
