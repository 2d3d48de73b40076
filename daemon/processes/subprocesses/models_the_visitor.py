"""Learns about people from what they said: two gates, then a thought, notes and whispers (seed 000)."""

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
from daemon.mind.steps.visitor_notes import NotesChange, TooMuchLost, notes_material, revised, visitor_notes
from daemon.mind.steps.visitor_whispers import visitor_whispers
from daemon.soul_engine import begin

_READ = 120  # turns looked at
_AT_ONCE = 3  # people modelled after one reply
_NEW, _BEFORE = 24, 6  # turns learned from, and turns shown before them so that they are understood

_THEM = "the person who speaks here"  # in commands never by name: people choose theirs, and it might be an order
_LEARNED = (
    f"In what {_THEM} said last they told something lasting about themselves: of their work, aims, ways or wishes."
)
_PONDER = f"What did {_THEM} just tell or show of themselves that will still matter in some weeks, and what not?"


@dataclass(frozen=True, slots=True)
class _Said:
    """What there is to learn from: `fresh` turns, oldest first, behind those `before` that were looked at already."""

    before: tuple[Turn, ...]
    fresh: tuple[Turn, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.before + self.fresh


async def models_the_visitor(context: SubprocessContext) -> None:
    """Bring what is known of each person up to what they said here since, newest speakers first, at most three.

    Only their own words and the soul's answers to them are looked at: what others say of somebody is no note about
    them. A revision that lost a race, or would lose too much, is dropped. Raises ModelError.
    """
    for person in _speakers((await context.turns.transcript(context.conversation, _READ)).turns)[:_AT_ONCE]:
        model = await context.user_models.model(
            person, context.audience
        )  # before the words: if these are taken back, it is obsolete
        if model is None or model.interactions < context.soul.notes.min_interactions:
            continue
        said = _said_by(person, (await context.turns.transcript(context.conversation, _READ)).turns, model.modelled_to)
        if any(turn.speaker is Speaks.PERSON for turn in said.fresh):
            await _model(context, model, said)


def _speakers(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Who spoke, the newest first."""
    return tuple(dict.fromkeys(turn.author for turn in reversed(turns) if turn.speaker is Speaks.PERSON))


def _said_by(person: str, turns: Sequence[Turn], modelled_to: int) -> _Said:
    heard = {turn.ts for turn in turns if turn.speaker is Speaks.PERSON and turn.author == person}
    own = [turn for turn in turns if (turn.ts in heard if turn.speaker is Speaks.SOUL else turn.author == person)]
    fresh = [turn for turn in own if turn.seq > modelled_to][-_NEW:]
    before = [turn for turn in own if turn.seq <= modelled_to][-_BEFORE:]
    return _Said(tuple(before), tuple(fresh))


async def _model(context: SubprocessContext, model: UserModel, said: _Said) -> None:
    """The second gate, and behind it what is learned, written to the store first and then kept in mind."""
    memory = with_people(begin(context.soul), context.soul, (model,)).concat(as_memory(turn) for turn in said.turns)
    if not await _anything_learned(context, memory, model, said):
        await _nothing_learned(context, model, said)
        return
    ponder = internal_monologue(context.soul.display_name, _PONDER)
    memory, _ = await context.think(memory, ponder)
    memory, asked = await context.think(notes_material(memory, model.notes), visitor_notes(model.notes, person=_THEM))
    try:
        notes = revised(model.notes, asked, most_lost=context.soul.notes.most_lost)
    except TooMuchLost as error:
        context.emit("person.rewrite_refused", person=model.person, trace=context.trace_id, reason=error.message)
        await _nothing_learned(context, model, said)
        return
    whispers = ""
    if context.soul.notes.whispers:
        memory, whispers = await context.think(memory, visitor_whispers(_THEM))
    change = _change(model.notes, notes, asked)
    await _keep(context, memory, model, said, change=change, notes=notes, whispers=whispers)


async def _anything_learned(context: SubprocessContext, memory: WorkingMemory, model: UserModel, said: _Said) -> bool:
    """What the replies were thought with decides; where they didn't say, the soul asks itself once."""
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


async def _keep(
    context: SubprocessContext,
    memory: WorkingMemory,
    model: UserModel,
    said: _Said,
    *,
    change: NotesDiff,
    notes: tuple[str, ...],
    whispers: str,
) -> None:
    """Dual persistence: first the store, then the region in working memory (seed 000)."""
    kept = await context.user_models.revise(
        model.person,
        model.audience,
        expected_version=model.version,
        notes=notes,
        whispers=whispers,
        change=change,
        source=TurnRange(str(context.conversation), said.turns[0].seq, said.turns[-1].seq),
        most_lost=context.soul.notes.most_lost,
        trace_id=context.trace_id,
    )
    if not kept:
        context.emit("person.outrun", person=model.person, trace=context.trace_id)
        return
    memory = with_people(memory, context.soul, await context.user_models.known(model.person, model.audience))
    context.emit("person.modelled", person=model.person, trace=context.trace_id, lines=len(notes))
    context.emit("memory.integrated", trace=context.trace_id, memory=memory)


def _change(before: Sequence[str], after: Sequence[str], asked: NotesChange) -> NotesDiff:
    """What became of the lines, told for the history."""
    corrected = tuple(_corrections(before, after, asked))
    old, new = {line for line, _ in corrected}, {line for _, line in corrected}
    return NotesDiff(
        added=tuple(line for line in after if line not in before and line not in new),
        corrected=corrected,
        retired=tuple(line for line in before if line not in after and line not in old),
    )


def _corrections(before: Sequence[str], after: Sequence[str], asked: NotesChange) -> Iterator[tuple[str, str]]:
    for number, text in asked.correct:
        if 1 <= number <= len(before) and before[number - 1] not in after:
            line = before[number - 1]
            yield from ((line, new) for new in revised((line,), NotesChange(correct=((1, text),))) if new in after)
