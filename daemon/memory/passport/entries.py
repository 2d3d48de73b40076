"""Files of a passport as they would be stored here: id, owner, audience, origin and links."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Origin, Place
from daemon.core.text import visible_line
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.records.links import Link, Relation, turn_id, turn_seq
from daemon.memory.passport.beside_forms import BesideForm, IntentionForm, QuestionForm, TopicForm, own_id
from daemon.memory.passport.beside_rows import BESIDE
from daemon.memory.passport.forms import (
    REFERENCES,
    AnyForm,
    EpisodeForm,
    FactForm,
    OurRecord,
    SenseForm,
    TurnLLMForm,
    TurnUserForm,
)
from daemon.memory.passport.names import PassportKind, as_time, read_time
from daemon.memory.passport.reading import Loaded, RefusedFile, read_again
from daemon.memory.passport.rendering import content_of, names_in, session_id, shared_with, unknown_in
from daemon.memory.queues.intention_rows import IN_MIND
from daemon.memory.queues.intentions import IDLE
from daemon.memory.records import JSONObject, Speaks

FOREIGN: Final = "passport"
"""The channel and the audience of a passport's memories without an audience: only the admin may see them."""

FOR_THE_ADMIN: Final = Origin(Audience(AudienceKind.OPERATOR, FOREIGN), FOREIGN)

_PRIVATE: Final = (Place.DM, Place.GROUP_DM, Place.PRIVATE_CHANNEL)


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner for memories that name none. By default only the admin may see them."""

    soul: str
    workspace: str
    origin: Origin = FOR_THE_ADMIN


@dataclass(frozen=True, slots=True)
class PassportEntry:
    """A file that may be stored.

    `form` has all the fields that the file leaves out, `links` use the passport's ids. `conversation` and `place` are
    None if the file names none.
    """

    loaded: Loaded
    form: AnyForm
    id: str
    at_ms: int
    origin: Origin
    links: tuple[Link, ...]
    conversation: ConversationKey | None = None
    place: Place | None = None

    @property
    def is_turn(self) -> bool:
        return isinstance(self.form, TurnUserForm | TurnLLMForm)

    @property
    def people(self) -> frozenset[str]:
        ours = self.form.soul_daemon
        named = (
            getattr(self.form, "user_id", ""),
            getattr(self.form, "subject", ""),
            getattr(ours, "person", ""),
            getattr(ours, "claimed_by", ""),
            getattr(ours, "behalf", ""),
            str((getattr(ours, "cue", None) or {}).get("person", "")),
        )
        return frozenset(filter(None, named))

    @property
    def said(self) -> str:
        return self.form.text_excerpt if isinstance(self.form, TurnUserForm | TurnLLMForm) else ""

    def refuse(self, reason: str) -> RefusedFile:
        return RefusedFile(self.loaded.path, reason)

    def within(self, knows: Callable[[str], bool]) -> "PassportEntry":
        """Return the entry with only the references to known ids."""
        kept = {
            name: tuple(one for one in getattr(self.form, name) if knows(one))
            for name in REFERENCES
            if hasattr(self.form, name)
        }
        if not isinstance(self.form, EpisodeForm) and not knows(getattr(self.form, "episode_id", "")):
            kept["episode_id"] = ""  # type: ignore[assignment]  # a text, as the form has it
        return replace(self, form=self.form.model_copy(update=kept))

    @property
    def unknown(self) -> JSONObject:
        return unknown_in(self.loaded.original, content_of(self.form))

    @property
    def left_out(self) -> tuple[str, ...]:
        return () if self._is_record else tuple(one for one in names_in(self.unknown) if one != "created_at")

    @property
    def content(self) -> JSONObject:
        if self._is_record:
            return self.loaded.original
        kept = shared_with(self.loaded.original, content_of(self.form))
        return {name: value for name, value in kept.items() if name != "episode_id"}

    @property
    def _is_record(self) -> bool:
        return isinstance(self.form.soul_daemon, OurRecord)


def entry_of(loaded: Loaded, owner: Owner, now: int) -> PassportEntry | RefusedFile:
    """Return the entry of a file, or its refusal."""
    try:
        return _entry(loaded, owner, now)
    except ValueError as error:
        return RefusedFile(loaded.path, visible_line(str(error)))


def _entry(loaded: Loaded, owner: Owner, now: int) -> PassportEntry:
    form, ours = loaded.form, loaded.form.soul_daemon
    written = form.learned_at if isinstance(form, FactForm) else form.created_at
    at_ms = now if written is None else read_time(written)
    key = ConversationKey.parse(ours.conversation) if ours.conversation else None
    if ours.audience:
        audience, channel = Audience.parse(ours.audience), ours.channel
        if not audience.id:
            raise ValueError("it does not say who may hear it")
    else:
        if isinstance(form, BesideForm):
            raise ValueError("it does not say who may hear it")
        audience, channel = owner.origin.audience, owner.origin.channel
        key = None
    place = Place(ours.place) if ours.place else None
    whose = Owner(ours.soul or owner.soul, ours.workspace or owner.workspace)
    if key is None and isinstance(form, TurnUserForm | TurnLLMForm):
        key, place = ConversationKey(whose.soul, whose.workspace, channel or FOREIGN), place or Place.TERMINAL
    _require_sense(whose, key, place, audience, channel)
    own: dict[str, object] = {
        "soul": whose.soul,
        "workspace": whose.workspace,
        "audience": str(audience),
        "channel": channel,
        "conversation": str(key) if key else None,
        **({"place": place} if place and not isinstance(ours, OurRecord) else {}),
    }
    name = loaded.id
    form = form.model_copy(update=_filled(form, own, name, at_ms))
    if isinstance(form, BesideForm):
        _require_whole(form, name, key, place)
    return PassportEntry(loaded, form, name, at_ms, Origin(audience, channel), tuple(_links(form, name)), key, place)


def _require_sense(
    whose: Owner, key: ConversationKey | None, place: Place | None, audience: Audience, channel: str
) -> None:
    if key is not None:
        if (key.soul, key.workspace) != (whose.soul, whose.workspace):
            raise ValueError("its conversation is of another soul or workspace")
        if channel and channel != key.channel:
            raise ValueError("its conversation is in another channel")
    if audience.kind is AudienceKind.WORKSPACE and audience.id != whose.workspace:
        raise ValueError("it is for another workspace than its own")
    if audience.kind is AudienceKind.WORKSPACE and place in _PRIVATE:
        raise ValueError("it comes from a private place and says that everybody may hear it")


def _require_whole(form: BesideForm, name: str, key: ConversationKey | None, place: Place | None) -> None:
    """Raise ValueError if the form lacks its conversation or room, or its id doesn't match its key."""
    ours = form.soul_daemon
    if isinstance(form, IntentionForm | TopicForm) and (key is None or place is None):
        raise ValueError("it does not say to which conversation it belongs")
    if isinstance(form, QuestionForm) and not ours.channel:
        raise ValueError("it does not say to which room it belongs")
    if isinstance(form, IntentionForm) and _is_no_plan(form.soul_daemon.slot):
        raise ValueError("its slot is none of a plan")
    if own_id(form) != name:
        raise ValueError("its id is not that of what it is about")


def _is_no_plan(slot: str) -> bool:
    return slot in {"", IDLE} or slot.startswith(IN_MIND)


def _filled(form: AnyForm, own: dict[str, object], name: str, at_ms: int) -> dict[str, object]:
    """Return the fields of a form that its file left out."""
    filled: dict[str, object] = {}
    foreign = not form.soul_daemon.audience
    if isinstance(form, FactForm):
        filled["learned_at"] = as_time(at_ms)
        own["id"] = name
        if foreign:
            own["text"] = form.soul_daemon.text or f"{form.subject} {form.predicate} {form.object}"
        if form.soul_daemon.valid_from_ms is None:
            own["valid_from_ms"] = at_ms
        if form.last_accessed is not None:
            filled["last_accessed"] = as_time(read_time(form.last_accessed))
        filled["source"] = "conversation"
    else:
        filled["created_at"] = as_time(at_ms)
    if isinstance(form, TurnLLMForm) and foreign:
        own |= {"author": form.soul_daemon.author or own["soul"], "name": form.soul_daemon.name or own["soul"]}
    if isinstance(form, EpisodeForm):
        summary = form.summary
        parts = (summary.content, summary.action_taken, summary.key_outcome, summary.future_implication)
        own["person"] = form.user_id
        if foreign:
            own |= {"text": form.soul_daemon.text or ". ".join(filter(None, parts)), "trust": Trust.INFERRED}
    return {**filled, "soul_daemon": form.soul_daemon.model_copy(update=own)}


def _links(form: AnyForm, name: str) -> Iterator[Link]:
    match form:
        case EpisodeForm():
            yield from (Link(name, Relation.TURN_REFS, one) for one in form.turn_refs)
            yield from (Link(one, Relation.EPISODE_ID, name) for one in form.sensory_refs)
            yield from (Link(one, Relation.EPISODE_REFS, name) for one in form.semantic_refs)
        case FactForm():
            yield from (Link(name, Relation.EPISODE_REFS, one) for one in form.episode_refs)
        case SenseForm():
            yield from (Link(name, Relation.EPISODE_ID, one) for one in filter(None, [form.episode_id]))
            yield from (Link(name, Relation.CONCEPT_REFS, one) for one in form.concept_refs)
        case TurnUserForm() | TurnLLMForm():
            yield from (Link(one, Relation.TURN_REFS, name) for one in filter(None, [form.episode_id]))
        case _:
            pass
    if isinstance(form.soul_daemon, OurRecord):
        yield from (Link(name, one.relation, one.target, one.quote) for one in form.soul_daemon.links)


def is_session_of(entry: PassportEntry) -> bool:
    return entry.conversation is not None and entry.id == session_id(str(entry.conversation))


T = TypeVar("T")

HIGHEST_SEQ: Final = 10**12
"""The highest number of a turn that a passport may bring."""

_TURNS: Final = (PassportKind.TURN_USER, PassportKind.TURN_LLM)
_LATER: Final = (PassportKind.SESSION, *(one.kind for one in BESIDE))
_CHANGED: Final = "it changed while it was read"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that may be stored: its real and its visible path in the passport, and the digest of its bytes.

    `author` is that of a turn. `linked`: the file has links, or should have.
    """

    file: str
    path: str
    digest: bytes
    id: str
    kind: PassportKind
    at_ms: int
    origin: Origin
    author: str
    linked: bool

    def refuse(self, reason: str) -> RefusedFile:
        return RefusedFile(self.path, reason)

    @property
    def order(self) -> tuple[int, int, int, str]:
        if self.kind not in _TURNS:
            return (2 + _LATER.index(self.kind) if self.kind in _LATER else 1, 0, 0, self.id)
        seq = turn_seq(self.id)
        ours = seq is not None and is_canonical(self.id)
        number = f"{self.id.partition('_')[2].zfill(20)} {self.kind is PassportKind.TURN_LLM}"
        return (0, 0 if ours else 1, seq if seq is not None and ours else self.at_ms, number)


class Listing:
    """A list of a passport's files. Equal origins and names are kept once, to save memory."""

    def __init__(self, folder: Path, owner: Owner, now: int) -> None:
        self._folder, self._owner, self._now = folder, owner, now
        self._origins: dict[Origin, Origin] = {}
        self._names: dict[str, str] = {}

    def entry(self, loaded: Loaded) -> PassportEntry | RefusedFile:
        return entry_of(loaded, self._owner, self._now)

    def listed(self, entry: PassportEntry) -> Listed:
        """Return the entry as a line of the list."""
        loaded, author = entry.loaded, getattr(entry.form, "user_id", "") if entry.is_turn else ""
        return Listed(
            file=loaded.file,
            path=loaded.file if loaded.path == loaded.file else loaded.path,
            digest=loaded.digest,
            id=entry.id,
            kind=loaded.kind,
            at_ms=entry.at_ms,
            origin=self._origins.setdefault(entry.origin, entry.origin),
            author=self._names.setdefault(author, author),
            linked=bool(entry.links) or isinstance(entry.form, FactForm),
        )

    def again(self, one: Listed) -> PassportEntry | RefusedFile:
        """Read a listed file again. A file that changed since is refused."""
        loaded = read_again(self._folder, one.file)
        if isinstance(loaded, RefusedFile):
            return loaded
        return self.entry(loaded) if loaded.digest == one.digest else one.refuse(_CHANGED)


def in_batches(many: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(many)
    while some := list(islice(waiting, size)):
        yield some


def is_canonical(name: str) -> bool:
    """Return True for a turn id of this memory.db's form, and for any id of something else."""
    seq = turn_seq(name)
    return seq is None or (name in {turn_id(Speaks.PERSON, seq), turn_id(Speaks.SOUL, seq)} and seq <= HIGHEST_SEQ)


def without_resting(rests: Mapping[str, Sequence[str]], gone: Collection[str]) -> dict[str, str]:
    """Return the names that depend on lost ones, directly or indirectly, each with the lost name."""
    lost, left = dict[str, str](), set(gone)
    while found := {
        name: missing
        for name, targets in rests.items()
        if name not in left and (missing := next((one for one in targets if one in left), None))
    }:
        lost |= found
        left |= found.keys()
    return lost
