"""The effects of a whole thought apart from its speech (seed 002, *Motor*), each in the commit of its reply."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import DaemonError, ModelError
from daemon.core.lineage import saw
from daemon.core.perception import AudienceKind
from daemon.core.ports.channel import Room
from daemon.core.ports.services import JUST_THOUGHT, SHARED
from daemon.core.step import SURE_OF_INTENT, heard_in
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line
from daemon.core.value import Value
from daemon.core.words import holds_whole, likeness, terms_of, words_of
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.knowledge.learning import Learned, Proved
from daemon.memory.knowledge.records.kinds import Fact, Topic
from daemon.memory.queues.remembering import Remembered
from daemon.memory.stream.keeping import NewThought
from daemon.mind.process import ProcessContext
from daemon.mind.prompts import prompt
from daemon.mind.quotation import Evidence, SaidAs, meant, proof
from daemon.mind.reading_tools import ToolsUsed, with_results
from daemon.mind.steps.note_down import note_down
from daemon.mind.steps.think import Considered, queries_of
from daemon.mind.steps.visitor_notes import MOST_LINES, NewLine, NotesChange, note_line
from daemon.mind.thought import CognitiveOutput, in_effect, occasion_of
from daemon.mind.thought_input import given_to
from daemon.mind.thought_parts import moment_of, parts_of, wants_noting
from daemon.soul_engine import THOUGHTS, seen_in

MOST_LOOKS: Final = 2
"""The most looks into memory before the soul has to answer."""


def take_effect(context: ProcessContext, thought: Considered, used: ToolsUsed, memory: WorkingMemory) -> None:
    """Hand the parts of a thought to the motor, as far as the mind's functions may act by themselves.

    `memory` is the source of its prompt, whose ids are stored with the thought. Parts that the daemon can't carry out
    are kept with the thought.
    """
    motor, authority = context.motor, context.cycle.thoughts.authority
    output = in_effect(thought.output, authority)
    if thought.reply:
        said = output.model_dump(include={"emotion_signal", "salience_anchor", "intent"})
        motor.describe(heard_in({**said, "confidence": str(SURE_OF_INTENT)}), thought.stated)
        learned = bool(output.world_model_updates) or (wants_noting(output) and not context.cycle.paused)
        motor.annotate(monologue=output.inner_speech or None, user_model_check=learned or output.user_model_check)
    motor.think(
        NewThought(
            occasion_of(context.perception),
            context.state.process,
            given_to(context).model_dump_json(exclude_defaults=True),
            _as_said(thought.output, thought.reply).model_dump_json(exclude_defaults=True),
            spoke=bool(thought.reply),
            surprise=context.cycle.at_hand.expected.surprise,
            did={"external_speech": 1} if thought.reply else {},
            refused=tuple((one.field, one.reason) for one in thought.read.refused),
            saw_thoughts=(*context.cycle.thoughts.ids, *sorted(seen_in(memory))),
            parts=(*parts_of(moment_of(context), output), *used.parts),
            authority=authority,
        )
    )


async def look_again(context: ProcessContext, thought: Considered, used: ToolsUsed) -> WorkingMemory:
    """Build the memory for the next thought about the same moment, with the results of the look and new messages."""
    memory = await context.cycle.absorb_new_messages(context.memory)
    sought = queries_of(in_effect(thought.output, context.cycle.thoughts.authority))
    memory = with_results(await context.cycle.look_again(memory, sought), used)
    private = "\n".join((thought.output.inner_speech, *thought.queries, *thought.calls))
    just_now = Memory(Role.USER, private, name=JUST_THOUGHT, metadata=saw())
    looked_up = prompt("looked_up")  # only the newest look is shown
    before = (one for one in memory.region(THOUGHTS) if one.content != looked_up)
    return memory.with_region(THOUGHTS, Memory(Role.SYSTEM, looked_up), just_now, *before)


def _as_said(output: CognitiveOutput, reply: str) -> CognitiveOutput:
    return output.model_copy(update={"external_speech": reply or None})


_SURELY = 0.5  # how alike a word has to be to one that was said, see `words.likeness`: forms of one word
_AT_ONCE = 12  # words of a text that are looked up together
_OF_OTHERS = (">", "&gt;", SHARED)


class NotSaid(Exception):
    """The person did not say it. The message is a clause about them."""


def newest_words(context: ProcessContext) -> list[str]:
    """Return the messages of the person who is answered since the last reply."""
    person = context.perception.author
    return [one.content for one in context.memory if one.metadata.get("source") == person]


def require_said(context: ProcessContext, room: Room, called: str, words: str) -> None:
    """Raise NotSaid for a room that the person did not name, or for words to others that they did not write.

    `called` is the model's name for the room. The room of this talk is always allowed. Any words may go where all
    readers there also read along here.
    """
    if room.channel == context.perception.conversation.channel:
        return
    own = "\n".join(_own_lines(newest_words(context)))
    if not (holds_whole(own, called.removeprefix("#")) or room.channel in own):
        raise NotSaid("they have not named that channel in what they just wrote; ask which one they mean")
    if room.audience.within(context.cycle.readers.audience):
        return
    said = set(words_of(own))
    wanted = words_of(words)
    for start in range(0, len(wanted), _AT_ONCE):
        terms = terms_of(" ".join(wanted[start : start + _AT_ONCE]))
        if any(max((likeness(term, word) for word in said), default=0.0) < _SURELY for term in terms):
            raise NotSaid(
                "in another place only their own words come up, and not all of these are in what they just wrote; ask "
                "them to write what it is to say there"
            )


def _own_lines(texts: list[str]) -> list[str]:
    return [line for text in texts for line in text.splitlines() if not line.lstrip().startswith(_OF_OTHERS)]


_MENTION: Final = re.compile(r"<@([UW][A-Z0-9]+)")
_WORD: Final = re.compile(
    r"[^\W_\u2e80-\U0010ffff]+|[\u2e80-\U0010ffff]"
)  # scripts without spaces: each sign is a word


class TooMuchLost(DaemonError):
    """A change would have removed too many of the notes at once. Nothing was changed."""


class Untaken(StrEnum):
    """The reason why a proposal is not taken, other than a missing proof."""

    EMPTY = "it says nothing"
    KEY = "it looks like a key"
    FULL = "there is no room for more"
    TWICE = "it was proposed twice"
    NO_LINE = "no line has this number"
    KIND = "its kind is unknown"


class Said(Value):
    """A message of the user: the seq of its turn and its words."""

    seq: int
    words: str


def judged(
    change: NotesChange, standing: Sequence[Fact], said: Sequence[Said], names: Sequence[str], *, most_lost: float
) -> Learned:
    """Return the accepted changes: each line proved by the user's own words, once, as far as there is room.

    `standing` are the facts in the order of their numbers, `said` what the user wrote, newest last. Raises TooMuchLost
    if more than one line and more than the share `most_lost` would be lost. A line is lost if it is retired, or
    corrected to a text that shares no word with it.
    """
    judge = _Judge(said, names, dict(enumerate(standing, start=1)))
    corrected = [(number, found) for number, line in change.correct if (found := judge.correction(number, line))]
    replaced = {number for number, _ in corrected}
    retired = [number for number, quote in change.retire.items() if judge.retires(number, quote)]
    gone = [number for number in retired if number not in replaced]
    _refuse_loss(judge.standing, gone, corrected, most_lost)
    room = MOST_LINES - len(standing) + len(gone)
    added = [found for line in change.add if (found := judge.addition(line))]
    judge.refused += [Untaken.FULL] * max(0, len(added) - room)
    return Learned(
        added=tuple(added[: max(0, room)]),
        corrected=tuple((judge.standing[number].id, found) for number, found in corrected),
        retired=tuple(judge.standing[number].id for number in gone),
        refused=tuple(map(str, judge.refused)),
        whispers=change.whispers,
    )


class _Judge:
    """The judge of one proposal after the other, which records why it refuses."""

    def __init__(self, said: Sequence[Said], names: Sequence[str], standing: Mapping[int, Fact]) -> None:
        self.standing = standing
        self.refused: list[str] = []
        self._said = said
        self._words = [one.words for one in said]
        self._names = names
        self._taken: set[str] = set()
        self._replaced: set[int] = set()

    def addition(self, line: NewLine) -> Proved | None:
        return self._proved(line)

    def correction(self, number: int, line: NewLine) -> Proved | None:
        if number not in self.standing or number in self._replaced:
            self.refused.append(Untaken.NO_LINE)
            return None
        if (found := self._proved(line)) and not found.claim:
            self._replaced.add(number)
            return found
        return None

    def retires(self, number: int, quote: str) -> bool:
        if number not in self.standing:
            self.refused.append(Untaken.NO_LINE)
            return False
        found = meant(quote, SaidAs.STATEMENT, self._words)
        if not isinstance(found, Evidence):
            self.refused.append(found)
        return isinstance(found, Evidence)

    def _proved(self, line: NewLine) -> Proved | None:
        if fault := self._fault(line):
            self.refused.append(fault)
            return None
        assert line.said_as is not None
        found = proof(line.text, line.quote, line.said_as, self._words, self._names)
        if not isinstance(found, Evidence):
            self.refused.append(found)
            return None
        self._taken.add(line.text.casefold())
        said = self._said[found.message]
        taken = Proved(line.text, said.seq, found.quote, line.subject, line.predicate, line.object, _topic(line.group))
        if line.said_as is not SaidAs.CLAIM:
            return replace(taken, subject="")
        mentioned = set(_MENTION.findall(found.quote))
        return replace(taken, claim=True, about=mentioned.pop() if len(mentioned) == 1 else "")

    def _fault(self, line: NewLine) -> Untaken | None:
        if not note_line(line.text):
            return Untaken.EMPTY
        if any(remove_keys(text) != text for text in (line.text, line.quote)):
            return Untaken.KEY
        if line.said_as is None:
            return Untaken.KIND
        return Untaken.TWICE if line.text.casefold() in self._taken else None


def _topic(group: str) -> Topic:
    return Topic(group) if group in set(Topic) else Topic.OTHER


def _refuse_loss(
    standing: Mapping[int, Fact], gone: Sequence[int], corrected: Sequence[tuple[int, Proved]], most_lost: float
) -> None:
    unlike = [number for number, line in corrected if not _akin(line.text, standing[number].text)]
    lost = len(gone) + len(unlike)
    if lost > 1 and lost > most_lost * len(standing):
        raise TooMuchLost(
            f"{lost} of {len(standing)} lines of notes would have been lost at once",
            hint="the notes are unchanged; the next conversation may change them line by line",
        )


def _akin(text: str, other: str) -> bool:
    words, others = (set(_WORD.findall(one.casefold())) for one in (text, other))
    return text == other or not words.isdisjoint(others)


_SHOWN = (
    "What you know about them, and the phrases by which they decide of it, stand below your reply. Say so in one "
    "sentence; claim nothing else about it, and don't say that anything was changed or deleted."
)
_ELSEWHERE = (
    "Nothing was shown, changed or deleted. How they can see what you know of them, in private, stands below your "
    "reply. Say so in one sentence."
)


async def show_own_memory(context: ProcessContext) -> str:
    """Put the person's list below the reply, or the way to it where others read along. Return what the prompt says."""
    motor, perception = context.motor, context.perception
    if context.cycle.readers.audience.kind is not AudienceKind.DM:
        motor.add_below(f"_{motor.words.say('own_way')}_")
        return _ELSEWHERE
    text, acts = await context.capabilities.own_memory(perception, context.cycle.readers, motor.words)
    motor.show_below(text)
    for act in acts:
        motor.decide(act)
    return _SHOWN


LONGEST: Final = 500
_OF_ONESELF: Final = re.compile(
    r"\b(?:i|i'm|i’m|me|my|mine|we|our|us|ich|mir|mich|mein\w*|wir|uns\w*)\b",  # noqa: RUF001 - as phones write it
    re.IGNORECASE,
)
_NOTHING: Final = "You have noted nothing: {why}. Say so, and promise nothing."


def own_words(words: str) -> Remembered | None:
    """Return a person's own words as something to remember, None where they are no plain statement."""
    content = one_line(words)[:LONGEST].rstrip(" .")
    if any(not line.strip() for line in words.strip().splitlines()):
        return None  # it asks for something else, too
    if remove_keys(content) != content:
        return None
    found = proof(content, content, SaidAs.STATEMENT, [content], ())
    if not isinstance(found, Evidence):
        return None
    return Remembered(content, significance=7, quote=found.quote, claim=not _OF_ONESELF.search(content))


async def handle_remembering(context: ProcessContext) -> str:
    """Note what the newest messages ask to be remembered, and return the result for the prompt."""
    if context.cycle.paused:
        return _NOTHING.format(why="remembering is paused until they say *resume remembering*")
    try:
        _, asked = await context.mind.run(context.memory, note_down())
    except ModelError:
        return _NOTHING.format(why="you could not make out what is meant")
    found = proof(asked.line, asked.quote, asked.kind, newest_words(context), (context.perception.name,))
    if not asked.line or remove_keys(asked.line) != asked.line:
        return _NOTHING.format(why="you could not make out what is meant")
    if not isinstance(found, Evidence):
        return _NOTHING.format(why=found)
    claim = not _OF_ONESELF.search(found.quote)
    context.motor.remember(
        asked.line, significance=asked.significance, tags=asked.tags, tone=asked.tone, quote=found.quote, claim=claim
    )
    return "You have noted what they asked you to remember; confirm it."
