"""Seeks the words that prove old notes, and retires the notes that nothing proved in time."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from daemon.memory.consolidation.quoting import PART, QuotableTurn, UnquotedNote
from daemon.mind.quotation import Evidence, SaidAs, proof
from daemon.mind.steps.find_quotations import find_quotations, with_lines_and_messages
from daemon.processes.consolidation.night import Night
from daemon.soul_engine import begin

_AT_ONCE = 12  # notes in one call
_MESSAGES = 24  # in one call, newest last


async def seeks_quotations(night: Night) -> None:
    """Seek once for each note: the model proposes words.

    Raises BudgetSpent, ModelError and StoreError.
    """
    quoting = night.stores.quoting
    notes = [note for note in await quoting.unsought(night.audience) if note.person not in night.paused]
    by_person = [list(group) for _, group in groupby(sorted(notes, key=_person), key=_person)]
    retire = partial(quoting.retire, night.run, most_lost=night.soul.notes.most_lost)
    await night.each(PART, await quoting.overdue(night.audience, night.clock.now_ms()), retire)
    pieces = [notes[start : start + _AT_ONCE] for notes in by_person for start in range(0, len(notes), _AT_ONCE)]
    await night.one_by_one(PART, pieces, lambda piece: [note.id for note in piece], partial(_ask, night))


def _person(note: UnquotedNote) -> str:
    return note.person


async def _ask(night: Night, notes: Sequence[UnquotedNote]) -> None:
    """Let the model propose words for some notes about one person, and take those that prove one."""
    sources = sorted({source for note in notes for source in note.sources}, key=lambda one: one.turn)[-_MESSAGES:]
    if sources:
        memory = with_lines_and_messages(
            begin(night.soul), [note.text for note in notes], [source.words for source in sources]
        )
        _, told = await night.think(memory, find_quotations(len(notes)))
        for place, (quote, said_as) in told.items():
            await _prove(night, notes[place], sources, quote, said_as)
    await night.stores.quoting.note_sought(night.run, tuple(note.id for note in notes))


async def _prove(
    night: Night, note: UnquotedNote, sources: Sequence[QuotableTurn], quote: str, said_as: SaidAs
) -> None:
    """Take a proposal if the words prove the line; only sources of this very note count."""
    own = [source for source in note.sources if source in sources]
    found = proof(note.text, quote, said_as, [source.words for source in own], note.names)
    if isinstance(found, Evidence) and said_as is not SaidAs.CLAIM:
        await night.stores.quoting.prove(night.run, note, own[found.message].turn, found.quote)
