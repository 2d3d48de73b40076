"""Fills a new working memory with what the soul knows about a conversation, its users and itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.fencing import clean_name
from daemon.core.inner_room import INNER
from daemon.core.lineage import saw
from daemon.core.notes import NOTE_PARAM, SOUL_CHANNEL
from daemon.core.perception import Perception, Readers
from daemon.core.ports.channel import ThreadMessage
from daemon.core.spans import dated
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.knowledge.records.kinds import NOTHING_LEFT, JournalEntry, WorkflowState
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.mind.at_hand import NOTHING_AT_HAND, AtHand
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.memory.stream.reading import NO_THOUGHTS, LastThoughts
from daemon.mind.recall.documents import with_documents
from daemon.mind.recall.expected import with_expected
from daemon.mind.recall.goals import with_goals
from daemon.mind.recall.mood import with_state, with_workflow
from daemon.mind.recall.people import with_people
from daemon.mind.recall.sensed import with_sensed
from daemon.mind.recall.stream import held_in, thoughts_in_mind
from daemon.mind.recall.thoughts import last_thoughts
from daemon.soul import Soul
from daemon.soul_engine import (
    SUMMARY,
    begin,
    with_aside,
    with_cut_turn,
    with_notes,
    with_now,
    with_thoughts,
    with_thread,
)

THREAD_MESSAGES_READ = 30
"""Earlier messages of a thread that are read when the soul is mentioned in it."""


_UNANSWERED = "(You could not answer this: something failed. They were told so.)"
_TAKEN_BACK = "(What you said here was taken back; it counts as not said.)"


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """What may be known before a conversation's `readers`: user models by platform id, and the soul's own state.

    `thread` are messages from before the soul was asked into the thread, `aside` what users said to each other since
    its last reply, both of admitted users alone; the transcript holds what was meant for the soul. `workflow` is what
    the visits here have left to do, `journal` what the soul wrote for itself of visits before this audience. `thoughts`
    are the last ones of a soul that thinks whole thoughts, `at_hand` what it holds in force beside them.
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
        """The models of a user; empty if there are none."""
        return self.people.get(person, ())


def recall(
    soul: Soul,
    perception: Perception,
    transcript: Transcript,
    *,
    known: RecalledFacts,
    now_ms: int,
) -> WorkingMemory:
    """Working memory before the perception: the soul, its state, time and place, the users, and the earlier turns."""
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
    """A line of the journal; where whole thoughts are shown beside it, it says as they do how old it is."""
    return dated(line.text, line.at_ms, now_ms) if soul.mind == "cycle" else line.text


def as_memory(turn: Turn) -> Memory:
    """A turn of the transcript as a memory; an apology is none of the soul's words, so only the fact is remembered."""
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
