"""Storing what a passport holds besides memories, without changing existing rows or repeating past plans."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.timetable import FARTHEST_MS, next_slot, recurrence_of, require_seldom
from daemon.memory.database import Transaction
from daemon.memory.passport.beside_forms import (
    BesideForm,
    IntentionForm,
    ModelVersionForm,
    MoodForm,
    OurIntention,
    QuestionForm,
    TopicForm,
    UserModelForm,
)
from daemon.memory.passport.entries import PassportEntry
from daemon.memory.passport.names import read_time
from daemon.memory.passport.rows import PictureRoom
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.intention_rows import SILENCE, next_number
from daemon.memory.queues.intentions import has_room_for_one
from daemon.memory.records import as_json

_OVER: Final = "its time had passed when a passport brought it"
_NOT_WAITED_FOR: Final = "it waited for something that reminders no longer wait for"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits for an import: waiting intentions in all, and room for pictures.

    Without `room` pictures are only checked. `as_is`: everything is stored as in its file, in a memory.db that no soul
    uses.
    """

    most_intentions: int = 100
    room: PictureRoom | None = None
    as_is: bool = False


async def put_beside(transaction: Transaction, entry: PassportEntry, form: BesideForm, bounds: Bounds, now: int) -> str:
    """Store the form. Return the reason for a refusal, or ''."""
    match form:
        case IntentionForm():
            return await _put_intention(transaction, entry, form, bounds, now)
        case UserModelForm():
            await _put_model(transaction, form, as_is=bounds.as_is)
        case ModelVersionForm():
            return await _put_version(transaction, form)
        case MoodForm() | TopicForm() | QuestionForm():
            await _put_state(transaction, entry, form)
    return ""


async def _put_intention(
    transaction: Transaction, entry: PassportEntry, form: IntentionForm, bounds: Bounds, now: int
) -> str:
    key, place = entry.conversation, entry.place
    assert key is not None
    assert place is not None
    ours = form.soul_daemon
    if reason := await _why_not_there(transaction, entry, place):
        return reason
    if ours.state == "waiting" and not bounds.as_is:
        try:
            ours = _armed(ours, now)
        except ValueError as error:
            return str(error)
    if ours.state == "waiting":
        if await transaction.one(
            "SELECT 1 FROM intentions WHERE conversation = :id AND slot = :slot AND state = 'waiting'",
            id=str(key),
            slot=ours.slot,
        ):
            return "another plan waits in its slot"
        scope = {"soul": key.soul, "workspace": key.workspace}
        if not bounds.as_is and not await has_room_for_one(transaction, scope, bounds.most_intentions):
            return f"{bounds.most_intentions} plans wait already: raise SOUL_SCHEDULE_MAX"
    if not bounds.as_is:
        ours = ours.model_copy(update={"number": await _free_number(transaction, ours)})
    await open_conversation(transaction, key, place, entry.origin.audience, entry.at_ms)
    await _store_intention(transaction, form, ours)
    return ""


async def _free_number(transaction: Transaction, ours: OurIntention) -> int:
    taken = await transaction.one(
        """
        SELECT 1 FROM intentions
        WHERE behalf = :behalf AND workspace = :workspace AND slot <> 'idle' AND number = :number AND number > 0
        """,
        behalf=ours.behalf,
        workspace=ours.workspace,
        number=ours.number,
    )
    return await next_number(transaction, ours.behalf, ours.workspace) if taken or not ours.number else ours.number


async def _why_not_there(transaction: Transaction, entry: PassportEntry, place: Place) -> str:
    audience, channel = entry.origin.audience, str(entry.conversation).split("/")[2]
    in_room = audience.kind is AudienceKind.CHANNEL or (audience.kind is AudienceKind.DM and place is Place.DM)
    if audience.kind is AudienceKind.OPERATOR or (in_room and audience.id != channel):
        return "it is for others than those who read there"
    there = await transaction.one(
        "SELECT place, audience FROM conversations WHERE id = :id", id=str(entry.conversation)
    )
    if there and not (there["place"] == place and Audience.parse(there["audience"]).within(audience)):
        return "other people read in that conversation here"
    return ""


def _armed(ours: OurIntention, now: int) -> OurIntention:
    """Return a waiting intention with its next due time, or as cancelled. Raises ValueError if it can't wait."""
    if ours.cue is not None:
        return _over(ours, now, _NOT_WAITED_FOR)
    if (rule := recurrence_of(ours.every)) is not None:
        due = rule.after(ours.due_ms, now, ours.zone, ours.fired_day) if rule.hours else None
        return ours.model_copy(update={"due_ms": (due or rule.first(now, ours.zone, ours.fired_day)).due_ms})
    if ours.every:
        require_seldom(ours.every, now)
        return ours.model_copy(update={"due_ms": next_slot(ours.every, max(ours.due_ms, now))})
    if ours.due_ms > now + FARTHEST_MS:
        raise ValueError("it is due more than a year ahead")
    return ours if ours.due_ms > now else _over(ours, now)


def _over(ours: OurIntention, now: int, reason: str = _OVER) -> OurIntention:
    return ours.model_copy(update={"state": "cancelled", "reason": reason, "settled_ms": now})


async def _store_intention(transaction: Transaction, form: IntentionForm, ours: OurIntention) -> None:
    await transaction.insert(
        "intentions",
        id=form.intention_id.partition("_")[2],
        conversation=ours.conversation,
        soul=ours.soul,
        workspace=ours.workspace,
        slot=ours.slot,
        due_ms=ours.due_ms,
        every=ours.every,
        process=ours.process,
        params=as_json(dict(ours.params)),
        content=ours.content,
        behalf=ours.behalf,
        place=ours.place,
        audience=ours.audience,
        state=ours.state,
        reason=ours.reason,
        fired=ours.fired,
        created_ms=read_time(form.created_at),
        settled_ms=ours.settled_ms,
        faults=ours.faults,
        cue=SILENCE if ours.unless_answered else "",
        number=ours.number,
        zone=ours.zone,
        fired_day=ours.fired_day,
        errand=ours.errand,
        covers_to=ours.covers_to,
        asked_where=ours.asked_where,
        paused=ours.paused,
    )


async def _put_model(transaction: Transaction, form: UserModelForm, *, as_is: bool) -> None:
    """Store a user's model. It must not cover turns that don't exist here yet: they would never be processed."""
    ours = form.soul_daemon
    newest = await transaction.one("SELECT coalesce(max(seq), 0) AS seq FROM turns")
    assert newest is not None
    await transaction.insert(
        "user_models",
        soul=ours.soul,
        workspace=ours.workspace,
        person=form.user_id,
        audience=ours.audience,
        version=ours.version,
        name=form.username,
        whispers=ours.whispers,
        visits=ours.visits,
        interactions=ours.interactions,
        seen_ms=ours.seen_ms,
        modelled_to=ours.modelled_to if as_is else min(ours.modelled_to, newest["seq"]),
        updated_ms=read_time(form.created_at),
    )
    await transaction.run(
        """
        INSERT INTO looked_through (conversation, person, up_to)
        SELECT t.conversation, t.author, max(t.seq) FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.author = :person AND t.speaker = 'person' AND t.seq <= :modelled_to AND t.audience = :audience
          AND c.soul = :soul AND c.workspace = :workspace GROUP BY t.conversation, t.author ON CONFLICT DO NOTHING
        """,
        person=form.user_id,
        modelled_to=ours.modelled_to,
        audience=ours.audience,
        soul=ours.soul,
        workspace=ours.workspace,
    )


async def _put_version(transaction: Transaction, form: ModelVersionForm) -> str:
    ours = form.soul_daemon
    key = {"soul": ours.soul, "workspace": ours.workspace, "person": form.user_id, "audience": ours.audience}
    model = await transaction.one(
        """
        SELECT version FROM user_models
        WHERE soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience
        """,
        **key,
    )
    if model is None or model["version"] < ours.version:
        return "what is known of its user here has no such version"
    await transaction.insert(
        "user_model_history",
        **key,
        version=ours.version,
        notes=as_json(ours.notes),
        whispers=ours.whispers,
        change=as_json(dict(ours.change)),
        trace_id=ours.trace_id,
        made_ms=read_time(form.created_at),
    )
    return ""


async def _put_state(transaction: Transaction, entry: PassportEntry, form: MoodForm | TopicForm | QuestionForm) -> None:
    ours, at_ms = form.soul_daemon, read_time(form.created_at)
    scope = {"soul": ours.soul, "workspace": ours.workspace, "audience": ours.audience}
    match form:
        case MoodForm():
            await transaction.insert(
                "soul_state",
                **scope,
                version=form.soul_daemon.version,
                emotional_state=form.soul_daemon.emotional_state,
                felt_ms=form.soul_daemon.felt_ms,
                updated_ms=at_ms,
            )
        case TopicForm():
            assert entry.conversation is not None
            assert entry.place is not None
            await open_conversation(transaction, entry.conversation, entry.place, entry.origin.audience, at_ms)
            await transaction.insert(
                "conversation_topics",
                conversation=ours.conversation,
                audience=ours.audience,
                version=form.soul_daemon.version,
                topic=form.soul_daemon.topic,
                task=form.soul_daemon.task,
                updated_ms=at_ms,
            )
        case QuestionForm():
            await transaction.insert(
                "standing_questions",
                **scope,
                channel=ours.channel,
                question=form.soul_daemon.question,
                since_ms=at_ms,
            )
