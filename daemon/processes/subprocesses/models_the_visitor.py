"""Learns about users from what they said, in a lull: two gates, then notes with quotations and whispers (seed 000)."""

from collections.abc import Sequence

from msgspec.structs import replace

from daemon.core.errors import CapMet, ModelError, ModelUnavailable, NoAccess
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.learning import Learned, TurnRange
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import Speaks, Turn
from daemon.mind.recall import as_memory
from daemon.mind.recall.mood import with_people
from daemon.mind.stances import SubprocessContext
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.visitor_notes import NotesChange, visitor_notes, with_current_notes
from daemon.mind.steps.visitor_whispers import visitor_whispers
from daemon.mind.taking_effect import Said, TooMuchLost, judged
from daemon.soul_engine import begin

_LOOKED_AT = 400  # newest turns whose speakers are looked at
_NEW, _BEFORE = 24, 6  # turns learned from in one call, and earlier turns shown as context
_ROUNDS = 5  # such calls about one user

_THEM = (
    "the person who speaks here"  # commands never name the user: users choose their names, and one might be an order
)
_LEARNED = (
    f"In what {_THEM} said last they told something lasting about themselves: of their work, aims, ways or wishes."
)
_PONDER = f"What did {_THEM} just tell or show of themselves that will still matter in some weeks, and what not?"


class _Said(Value):
    """The turns to learn from: `fresh` ones, oldest first, after those `before`, which were modelled already."""

    before: tuple[Turn, ...]
    fresh: tuple[Turn, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.before + self.fresh


async def models_the_visitor(context: SubprocessContext) -> None:
    """Update the model of each user who spoke here, newest speakers first, from their oldest new words.

    A user who has said too little is left out, unless they asked what is known of them. Only the user's own turns and
    the soul's replies to them count, not what others say about the user. A revision that lost a race, or would lose
    too many notes, is dropped. A failed model call about one user does not stop the others, and is raised in the end.
    Raises ModelError.
    """
    failed: ModelError | None = None
    for person in await context.turns.speakers(context.conversation, _LOOKED_AT):
        try:
            rounds = 0
            while rounds < _ROUNDS and await _looks_through(context, person):
                rounds += 1
        except (CapMet, ModelUnavailable, NoAccess):
            raise
        except ModelError as error:
            failed = failed or error
    if failed is not None:
        raise failed


async def _looks_through(context: SubprocessContext, person: str) -> bool:
    """Learn from the first new words of a user. Return whether there were some, and they are looked through."""
    # Read before the turns: a message deleted during the run makes the model outdated.
    model = await context.user_models.model(person, context.audience)
    if model is None:
        return False
    before = await context.user_models.looked_through(person, context.conversation)
    said = await _said_by(context, person, before)
    fresh = [turn.seq for turn in said.fresh if turn.speaker is Speaks.PERSON]
    if not fresh or not (
        model.interactions >= context.soul.notes.min_interactions
        or await context.user_models.asked_since(person, fresh[0])
    ):
        return False
    await _model(context, model, said)
    return await context.user_models.looked_through(person, context.conversation) > before


async def _said_by(context: SubprocessContext, person: str, after: int) -> _Said:
    """Return what a user said after a turn, with its replies, which say whether the message taught something."""
    fresh, before = await context.turns.said_with(context.conversation, person, after, fresh=_NEW, before=_BEFORE)
    if len(fresh) == _NEW and fresh[-1].speaker is Speaks.PERSON:
        fresh = fresh[:-1]
    return _Said(before, fresh)


async def _model(context: SubprocessContext, model: UserModel, said: _Said) -> None:
    """Pass the second gate, then revise notes and whispers: one call, or three for a soul that thinks in steps."""
    memory = with_people(begin(context.soul), context.soul, (model,)).concat(as_memory(turn) for turn in said.turns)
    if not await _anything_learned(context, memory, model, said):
        await _nothing_learned(context, model, said)
        return
    facts = await context.user_models.facts(model.person, model.audience)
    memory, change = await _proposed(context, memory, [fact.text for fact in facts])
    try:
        learned = judged(
            change,
            facts,
            [Said(turn.seq, turn.body) for turn in said.fresh if turn.speaker is Speaks.PERSON],
            (model.name,),
            most_lost=context.soul.notes.most_lost,
        )
    except TooMuchLost as error:
        context.emit("person.rewrite_refused", person=model.person, trace=context.trace_id, reason=error.message)
        await _nothing_learned(context, model, said)
        return
    await _store(context, memory, model, said, learned)


async def _proposed(
    context: SubprocessContext, memory: WorkingMemory, lines: Sequence[str]
) -> tuple[WorkingMemory, NotesChange]:
    """Return the changes that the model proposes, with whispers if the soul has any."""
    whispers = context.soul.notes.whispers
    if context.soul.pipeline == "unified":
        memory = with_current_notes(memory, lines)
        memory, change = await context.think(memory, visitor_notes(lines, person=_THEM, whole=True))
        return memory, change if whispers else replace(change, whispers="")
    memory, _ = await context.think(memory, internal_monologue(context.soul.display_name, _PONDER))
    memory, change = await context.think(with_current_notes(memory, lines), visitor_notes(lines, person=_THEM))
    if whispers:
        memory, felt = await context.think(memory, visitor_whispers(_THEM))
        change = replace(change, whispers=felt)
    return memory, change


async def _anything_learned(context: SubprocessContext, memory: WorkingMemory, model: UserModel, said: _Said) -> bool:
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
        conversation=context.conversation,
        expected_version=model.version,
        modelled_to=said.fresh[-1].seq,
    )


async def _store(
    context: SubprocessContext, memory: WorkingMemory, model: UserModel, said: _Said, learned: Learned
) -> None:
    """Store the changes first, then update the region in working memory: dual persistence (seed 000)."""
    kept = await context.learning.revise(
        model.person,
        model.audience,
        learned,
        expected_version=model.version,
        source=TurnRange(context.conversation, said.turns[0].seq, said.turns[-1].seq),
        most_lost=context.soul.notes.most_lost,
        trace_id=context.trace_id,
    )
    if not kept:
        context.emit("person.outrun", person=model.person, trace=context.trace_id)
        return
    known = await context.user_models.model(model.person, model.audience)
    memory = with_people(memory, context.soul, (known,) if known else ())
    refused = len(learned.refused)
    lines = len(known.notes) if known else 0
    context.emit("person.modelled", person=model.person, trace=context.trace_id, lines=lines, refused=refused)
    context.emit("memory.integrated", trace=context.trace_id, memory=memory)
