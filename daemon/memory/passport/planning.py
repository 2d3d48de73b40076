"""The plan of an import: new, existing and forgotten files, and refusals of files that lack others."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.perception import AudienceKind, ConversationKey, Origin, common
from daemon.core.sessions import key_of
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.learning import stands_in
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.records.links import DERIVING, Relation, origin_of, turn_seq
from daemon.memory.passport.beside_forms import BesideForm, IntentionForm, MoodForm, QuestionForm, TopicForm
from daemon.memory.passport.beside_rows import beside_standing
from daemon.memory.passport.entries import (
    Listed,
    Listing,
    PassportEntry,
    in_batches,
    is_canonical,
    is_session_of,
    without_resting,
)
from daemon.memory.passport.form_fields import OurLink
from daemon.memory.passport.forms import FactForm, OurRecord, SessionForm
from daemon.memory.passport.reading import RefusedFile, read_passport
from daemon.memory.passport.rendering import covers, without_links, without_moving
from daemon.memory.passport.rows import files_of, names_of_turns
from daemon.memory.people.tombstones import was_stored_before
from daemon.memory.records import JSONObject

_AT_ONCE: Final = 200

_THERE: Final = "it is here already and says something else"
_FORGOTTEN: Final = "it was forgotten here"
_ASKED: Final = "its person asked to be forgotten"
_ENDED: Final = "it ended here"


@dataclass(frozen=True, slots=True)
class Known:
    """A known id of a passport: its origin, and the words and author of a quoted turn."""

    origin: Origin
    words: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The entries to store, in this order, and the rest.

    `names` are the ids here of turns with another id in the passport. `resumed` are stored already, but lack
    links since an import was interrupted. `kept` has both by id. `known` are existing ids that are linked with them.
    """

    listing: Listing
    entries: Sequence[Listed]
    resumed: Sequence[Listed]
    unchanged: int
    refused: Sequence[RefusedFile]
    names: Mapping[str, str]
    kept: Mapping[str, Listed]
    known: Collection[str]

    def knows(self, name: str) -> bool:
        """Return True if an id exists once all is stored."""
        return name in self.kept or name in self.known

    def loose(self, entry: PassportEntry) -> PassportEntry:
        """Return the entry without links from memories that existed before: a passport changes none of them."""
        kept = tuple(one for one in entry.links if one.origin == entry.id or one.origin not in self.known)
        return replace(entry, links=kept)


@dataclass(slots=True)
class _Survey:
    """The result of the first pass over all files."""

    names: Mapping[str, str]
    unfinished: Collection[str]
    seen: set[str] = field(default_factory=set)
    fresh: dict[str, Listed] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    told: dict[str, ConversationKey] = field(default_factory=dict)  # entries made of a whole conversation
    erased: set[ConversationKey] = field(default_factory=set)
    refused: list[RefusedFile] = field(default_factory=list)
    unchanged: int = 0


async def plan(database: Database, folder: Path, listing: Listing) -> Plan:
    """Decide which files are stored. Raises StoreError."""
    survey = _Survey(await database.read(names_of_turns), await database.read(_unfinished))
    for files in in_batches(read_passport(folder), _AT_ONCE):
        some = list[PassportEntry]()
        for file in files:
            found = file if isinstance(file, RefusedFile) else _admitted(listing.entry(file), survey.seen)
            if isinstance(found, RefusedFile):
                survey.refused.append(found)
            else:
                some.append(found)
        for entry, standing in zip(
            some, await database.read(partial(_standings, entries=some, survey=survey)), strict=True
        ):
            _note(survey, listing, entry, standing)
    _drop_what_was_told(survey)
    known = await _drop_what_rests_on_nothing(database, listing, survey)
    ordered = sorted(survey.fresh.values(), key=lambda one: one.order)
    return Plan(
        listing=listing,
        entries=[one for one in ordered if one.id not in survey.begun],
        resumed=[one for one in ordered if one.id in survey.begun],
        unchanged=survey.unchanged,
        refused=survey.refused,
        names=survey.names,
        kept=survey.fresh,
        known=known,
    )


def _admitted(found: PassportEntry | RefusedFile, seen: set[str]) -> PassportEntry | RefusedFile:
    """Refuse an entry whose id another file has too, or a summary without its conversation's id."""
    if isinstance(found, RefusedFile):
        return found
    if found.id in seen:
        return found.refuse("its id stands in another file, too")
    if isinstance(found.form, SessionForm) and not is_session_of(found):
        return found.refuse("it is no summary of a conversation")
    seen.add(found.id)
    return found


def _note(survey: _Survey, listing: Listing, entry: PassportEntry, standing: str | None) -> None:
    """Sort an entry by its `standing`: None if it is new, '' if it is stored already, else the reason for a refusal."""
    half = _is_half(survey, entry)
    if standing is None or (half and not standing):
        survey.fresh[entry.id] = listing.listed(entry)
        if standing is not None:
            survey.begun.add(entry.id)
        elif (where := _told_where(entry)) is not None:
            survey.told[entry.id] = where
    elif standing:
        survey.refused.append(entry.refuse(standing))
        if standing == _ASKED and entry.conversation is not None:
            survey.erased.add(entry.conversation)
    else:
        survey.unchanged += 1


def _is_half(survey: _Survey, entry: PassportEntry) -> bool:
    return survey.names.get(entry.id, entry.id) in survey.unfinished


def _told_where(entry: PassportEntry) -> ConversationKey | None:
    """Return the conversation that an entry as a whole is made of, or None. No channel or thread means all."""
    ours, audience = entry.form.soul_daemon, entry.origin.audience
    match entry.form:
        case SessionForm() | TopicForm():
            return entry.conversation
        case QuestionForm():
            return ConversationKey(ours.soul, ours.workspace, ours.channel)
        case IntentionForm() | MoodForm() if audience.kind is AudienceKind.DM:
            return ConversationKey(ours.soul, ours.workspace, audience.id)
        case _:
            return None


def _drop_what_was_told(survey: _Survey) -> None:
    gone = survey.erased | {replace(one, thread="") for one in survey.erased}
    for name, where in survey.told.items():
        if where in gone:
            survey.refused.append(survey.fresh.pop(name).refuse(_ASKED))


async def _unfinished(transaction: Transaction) -> frozenset[str]:
    return frozenset(row["id"] for row in await transaction.rows("SELECT id FROM passport_unfinished"))


async def _standings(transaction: Transaction, entries: Sequence[PassportEntry], survey: _Survey) -> list[str | None]:
    return [await _standing(transaction, one, survey.names, half=_is_half(survey, one)) for one in entries]


async def _standing(
    transaction: Transaction, entry: PassportEntry, names: Mapping[str, str], *, half: bool
) -> str | None:
    """Return None for a new entry, '' for a stored equal one (with `half`: apart from links), else a refusal."""
    there, said = await written_as(transaction, entry, names), entry.content
    if there is not None:
        if half:
            there, said = without_links(there), without_links(said)
        return "" if covers(without_moving(there), without_moving(said)) else _THERE
    for person in entry.people:
        if await was_stored_before(transaction, entry.form.soul_daemon.workspace, person, entry.at_ms):
            return _ASKED
    gone = await transaction.one("SELECT 1 FROM ledger WHERE object = :id AND act LIKE 'erase %' LIMIT 1", id=entry.id)
    ended = isinstance(entry.form, IntentionForm) and await transaction.one(
        "SELECT 1 FROM ended_intentions WHERE id = :id", id=entry.id.partition("_")[2]
    )
    return _FORGOTTEN if gone else (_ENDED if ended else None)


async def written_as(transaction: Transaction, entry: PassportEntry, names: Mapping[str, str]) -> JSONObject | None:
    """Return the content that an export would write for an entry, or None if memory.db has none."""
    if isinstance(entry.form, BesideForm):
        found = await beside_standing(transaction, entry.form)
        return found.content if found else None
    file = await files_of(transaction, entry.loaded.kind, names.get(entry.id, entry.id), entry.conversation)
    return file.content if file else None


async def _drop_what_rests_on_nothing(database: Database, listing: Listing, survey: _Survey) -> frozenset[str]:
    """Refuse entries with links to nothing, or for a larger audience. Return the existing ids that are linked."""
    known, rests, faults = set[str](), dict[str, tuple[str, ...]](), dict[str, str]()
    for some in in_batches([one for one in survey.fresh.values() if one.linked], _AT_ONCE):
        entries = list[PassportEntry]()
        for one in some:
            entry = listing.again(one)
            if isinstance(entry, RefusedFile):
                faults[one.id] = entry.reason
            else:
                entries.append(entry)
        ends = {end for entry in entries for link in entry.links for end in (link.origin, link.target)}
        here = await _known(database, ends - survey.fresh.keys(), survey.names)
        known |= here.keys()
        there = {**here, **_of_passport(listing, survey.fresh, entries, ends)}
        for entry in entries:
            if fault := _fault(entry, there):
                faults[entry.id] = fault
            rests[entry.id] = tuple(one.target for one in _own_links(entry) if one.target in survey.fresh)
    for name, target in without_resting(rests, faults).items():
        faults.setdefault(name, f"it rests on {target}, which is not there")
    survey.refused += [survey.fresh.pop(name).refuse(fault) for name, fault in faults.items()]
    return frozenset(known)


def _of_passport(
    listing: Listing, fresh: Mapping[str, Listed], entries: Sequence[PassportEntry], ends: Iterable[str]
) -> dict[str, Known]:
    quoted = {link.target for entry in entries for link in entry.links if link.quote}
    found = dict[str, Known]()
    for name in ends:
        if (one := fresh.get(name)) is not None:
            entry = listing.again(one) if name in quoted else None
            words = entry.said if isinstance(entry, PassportEntry) else ""
            found[name] = Known(one.origin, words, one.author)
    return found


async def _known(database: Database, ids: set[str], names: Mapping[str, str]) -> dict[str, Known]:
    """Return those of the ids that memory.db has. `ids` and the keys are the passport's."""
    found: dict[str, Known] = {}
    waiting = sorted(ids)

    async def unit(transaction: Transaction, some: Sequence[str]) -> None:
        for one in some:
            here = names.get(one, one)
            origin = await origin_of(transaction, here)
            if origin is None or (one not in names and not is_canonical(one)):
                continue
            turn = await transaction.one("SELECT body, author FROM turns WHERE seq = :seq", seq=turn_seq(here))
            found[one] = Known(origin, turn["body"], turn["author"]) if turn else Known(origin)

    while waiting:
        some, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
        await database.read(lambda transaction, some=some: unit(transaction, some))  # type: ignore[misc]
    return found


def _fault(entry: PassportEntry, there: Mapping[str, Known]) -> str:
    """Return the reason to refuse an entry because of its links, or ''."""
    quoted = False
    for one in _own_links(entry):
        if fault := _fault_of_link(one, there.get(one.target)):
            return fault
        quoted = quoted or (one.relation is Relation.EVIDENCE and bool(one.quote) and _is_by(entry, there[one.target]))
    for link in entry.links:
        ends = there.get(link.origin), there.get(link.target)
        if not (link.relation in DERIVING and ends[0] and ends[1]):
            continue
        if common((ends[0].origin, ends[1].origin)) != ends[0].origin:
            return f"{link.origin} would be heard by more people than {link.target}"
    if isinstance(entry.form, FactForm) and entry.form.soul_daemon.trust in (Trust.OWN, Trust.CLAIM) and not quoted:
        return "no quotation proves it"
    return ""


def _fault_of_link(link: OurLink, target: Known | None) -> str:
    if target is None:
        return f"it rests on {link.target}, which is not there"
    if link.relation is Relation.EVIDENCE and key_of(target.author) is not None:
        return f"{link.target} was said in a session, which proves nothing"
    if link.quote and not stands_in(link.quote, target.words):
        return f"its quotation does not stand in {link.target}"
    return ""


def _own_links(entry: PassportEntry) -> Sequence[OurLink]:
    ours = entry.form.soul_daemon
    return ours.links if isinstance(ours, OurRecord) else ()


def _is_by(entry: PassportEntry, turn: Known) -> bool:
    assert isinstance(entry.form.soul_daemon, OurRecord)
    claimant = getattr(entry.form.soul_daemon, "claimed_by", "") or entry.form.soul_daemon.person
    return not claimant or claimant == turn.author
