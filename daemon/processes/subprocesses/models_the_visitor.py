"""Learns about users from what they said: two gates, then a thought, notes and whispers (seed 000)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.user_models import NotesDiff, TurnRange, UserModel
from daemon.memory.records import Speaks, Turn
from daemon.mind.mental_subprocess import SubprocessContext
from daemon.mind.recall import as_memory
from daemon.mind.recall.people import with_people
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.visitor_notes import NotesChange, TooMuchLost, revised, visitor_notes, with_current_notes
from daemon.mind.steps.visitor_whispers import visitor_whispers
from daemon.soul_engine import begin

_READ = 120  # turns read
_AT_ONCE = 3  # users modelled after one reply
_NEW, _BEFORE = 24, 6  # turns learned from, and earlier turns shown as context

_THEM = (
    "the person who speaks here"  # commands never name the user: users choose their names, and one might be an order
)
_LEARNED = (
    f"In what {_THEM} said last they told something lasting about themselves: of their work, aims, ways or wishes."
)
_PONDER = f"What did {_THEM} just tell or show of themselves that will still matter in some weeks, and what not?"


@dataclass(frozen=True, slots=True)
class _Said:
    """The turns to learn from: `fresh` ones, oldest first, after those `before`, which were modelled already."""

    before: tuple[Turn, ...]
    fresh: tuple[Turn, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.before + self.fresh


async def models_the_visitor(context: SubprocessContext) -> None:
    """Update the model of each user who spoke here, newest speakers first, at most three.

    Only the user's own turns and the soul's replies to them count: what others say about a user is not noted. A
    revision that lost a race, or would lose too many notes, is dropped. Raises ModelError.
    """
    for person in _speakers((await context.turns.transcript(context.conversation, _READ)).turns)[:_AT_ONCE]:
        # Read before the turns: a message deleted meanwhile makes the model outdated.
        model = await context.user_models.model(person, context.audience)
        if model is None or model.interactions < context.soul.notes.min_interactions:
            continue
        said = _said_by(person, (await context.turns.transcript(context.conversation, _READ)).turns, model.modelled_to)
        if any(turn.speaker is Speaks.PERSON for turn in said.fresh):
            await _model(context, model, said)


def _speakers(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The users who spoke, newest first."""
    return tuple(dict.fromkeys(turn.author for turn in reversed(turns) if turn.speaker is Speaks.PERSON))


def _said_by(person: str, turns: Sequence[Turn], modelled_to: int) -> _Said:
    spoken = {turn.ts for turn in turns if turn.speaker is Speaks.PERSON and turn.author == person}
    own = [turn for turn in turns if (turn.ts in spoken if turn.speaker is Speaks.SOUL else turn.author == person)]
    fresh = [turn for turn in own if turn.seq > modelled_to][-_NEW:]
    before = [turn for turn in own if turn.seq <= modelled_to][-_BEFORE:]
    return _Said(tuple(before), tuple(fresh))


async def _model(context: SubprocessContext, model: UserModel, said: _Said) -> None:
    """The second gate, then the thought, the notes and the whispers."""
    memory = with_people(begin(context.soul), context.soul, (model,)).concat(as_memory(turn) for turn in said.turns)
    if not await _anything_learned(context, memory, model, said):
        await _nothing_learned(context, model, said)
        return
    ponder = internal_monologue(context.soul.display_name, _PONDER)
    memory, _ = await context.think(memory, ponder)
    memory = with_current_notes(memory, model.notes)
    memory, change = await context.think(memory, visitor_notes(model.notes, person=_THEM))
    try:
        notes = revised(model.notes, change, most_lost=context.soul.notes.most_lost)
    except TooMuchLost as error:
        context.emit("person.rewrite_refused", person=model.person, trace=context.trace_id, reason=error.message)
        await _nothing_learned(context, model, said)
        return
    whispers = ""
    if context.soul.notes.whispers:
        memory, whispers = await context.think(memory, visitor_whispers(_THEM))
    diff = _diff(model.notes, notes, change)
    await _store(context, memory, model, said, diff=diff, notes=notes, whispers=whispers)


async def _anything_learned(context: SubprocessContext, memory: WorkingMemory, model: UserModel, said: _Said) -> bool:
    """The checks of the fresh replies decide; where they are missing, one query does."""
    checks = [turn.thought.get("user_model_check") for turn in said.fresh if turn.speaker is Speaks.SOUL]
    if any(check is True for check in checks):
        return True
    if checks and all(check is False for check in checks):
        return False
    _, learned = await context.think(memory, mental_query(_LEARNED))
    return learned


async def _nothing_learned(context: SubprocessContext, model: UserModel, said: _Said) -> None:
    await context.user_models.note_modelled(
        model.person,
        model.audience,
        expected_version=model.version,
        modelled_to=said.fresh[-1].seq,
    )


async def _store(
    context: SubprocessContext,
    memory: WorkingMemory,
    model: UserModel,
    said: _Said,
    *,
    diff: NotesDiff,
    notes: tuple[str, ...],
    whispers: str,
) -> None:
    """Dual persistence (seed 000): first the store, then the region in working memory."""
    kept = await context.user_models.revise(
        model.person,
        model.audience,
        expected_version=model.version,
        notes=notes,
        whispers=whispers,
        change=diff,
        source=TurnRange(str(context.conversation), said.turns[0].seq, said.turns[-1].seq),
        most_lost=context.soul.notes.most_lost,
        trace_id=context.trace_id,
    )
    if not kept:
        context.emit("person.outrun", person=model.person, trace=context.trace_id)
        return
    memory = with_people(memory, context.soul, await context.user_models.known(model.person, (model.audience,)))
    context.emit("person.modelled", person=model.person, trace=context.trace_id, lines=len(notes))
    context.emit("memory.integrated", trace=context.trace_id, memory=memory)


def _diff(before: Sequence[str], after: Sequence[str], change: NotesChange) -> NotesDiff:
    """The change as it was applied, for the history."""
    corrected = tuple(_corrections(before, after, change))
    old, new = {line for line, _ in corrected}, {line for _, line in corrected}
    return NotesDiff(
        added=tuple(line for line in after if line not in before and line not in new),
        corrected=corrected,
        retired=tuple(line for line in before if line not in after and line not in old),
    )


def _corrections(before: Sequence[str], after: Sequence[str], change: NotesChange) -> Iterator[tuple[str, str]]:
    for number, text in change.correct:
        if 1 <= number <= len(before) and before[number - 1] not in after:
            line = before[number - 1]
            yield from ((line, new) for new in revised((line,), NotesChange(correct=((1, text),))) if new in after)
