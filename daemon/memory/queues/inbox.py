"""The inbox: every message is stored once before it is acknowledged, with a reason if it gets no reply."""

from collections.abc import Callable

from msgspec.structs import replace

from daemon.core.perception import AudienceKind, Perception, Place
from daemon.core.ports.arrivals import (
    Acceptance,
    Arrival,
    AskedAbout,
    Complaint,
    Decision,
    Deletion,
    Edit,
    Feedback,
    Joined,
    NewMessage,
    PickedAnswer,
    RoomWaySent,
    Source,
    Stop,
    TypedCommand,
    WhyAsked,
    Withdrawal,
)
from daemon.core.ports.services import Clock, Emit
from daemon.memory.bound_threads import is_for_session
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.shared_files import store_files
from daemon.memory.people.tombstones import was_said_before
from daemon.memory.queues.approvals import decide
from daemon.memory.queues.catch_up import CatchUpStore
from daemon.memory.queues.claims import note_crowd, open_conversation
from daemon.memory.queues.edits import delete_message, edit_message
from daemon.memory.queues.feedback import may_ask_why, store_complaint, store_feedback, withdraw_reply
from daemon.memory.queues.handoffs import at_its_holder
from daemon.memory.queues.intentions import cancel_answered
from daemon.memory.queues.offered_answers import close_offers, pick_answer
from daemon.memory.queues.own_reminders import next_reminder_ms
from daemon.memory.queues.person_rooms import PersonRoomsStore, RoomNewsStore
from daemon.memory.queues.room_ways import MarkedMessageStore, RoomWayStore, set_way, take_invitation, way_of
from daemon.memory.queues.stops import StopPlace, accept_stop, settle_stop, stop_work
from daemon.memory.queues.typed_commands import ask_why, take_command, take_question

MOST_WAITING = 200
"""The most conversations of one user that may wait at once, unless a setting says otherwise."""

_Pressed = Feedback | Complaint | Decision | PickedAnswer | Withdrawal
_Asked = WhyAsked | AskedAbout | Joined | RoomWaySent
_NoMessage = Edit | Deletion | _Pressed | _Asked
_ASIDE = "people talk to each other"
_GONE = (Acceptance.IGNORED, "deleted before it was received")
_ASIDE_LASTS = 600.0  # seconds after which a message below an aside is for the soul again


class Inbox:
    """The store of what channels receive, which implements the `Intake` port.

    A row's key is soul, workspace, channel and ts, because one mention makes two events with different ids. The ids of
    events are stored as well: only they identify a repeated edit or click.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        emit: Emit,
        on_accepted: Callable[[str], None],
        *,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._most_waiting = most_waiting
        self._database = database
        self._clock = clock
        self._emit = emit
        self._on_accepted = on_accepted
        self._catch_up_log = CatchUpStore(database, clock)
        self._room_news = RoomNewsStore(database, clock)
        self._person_rooms = PersonRoomsStore(database, clock)
        self._room_ways = RoomWayStore(database, clock)
        self.marks = MarkedMessageStore(database, clock)

    @property
    def catch_up_log(self) -> CatchUpStore:
        return self._catch_up_log

    @property
    def room_news(self) -> RoomNewsStore:
        return self._room_news

    @property
    def person_rooms(self) -> PersonRoomsStore:
        return self._person_rooms

    @property
    def room_ways(self) -> RoomWayStore:
        return self._room_ways

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once, durably. Raises StoreError when nothing was stored."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[Acceptance, str, tuple[str, ...]]:
            if not await _first_delivery(transaction, arrival, now):
                return Acceptance.DUPLICATE, "event repeated", ()
            if isinstance(arrival, Stop):
                thread = StopPlace(arrival.soul, arrival.workspace, arrival.channel, arrival.ts, arrival.author)
                return await accept_stop(transaction, thread, now)
            if isinstance(arrival, NewMessage):
                return await _hear(transaction, arrival, now, self._most_waiting)
            if isinstance(arrival, TypedCommand):
                return await take_command(transaction, arrival, now)
            return *await _accept(transaction, arrival, now), ("",)

        acceptance, reason, conversations = await self._database.write(unit, within=2.0)
        for conversation in conversations if acceptance is Acceptance.ACCEPTED else ():
            self._on_accepted(conversation)
        self._emit(f"inbox.{acceptance}", kind=type(arrival).__name__, reason=reason, event=arrival.event_id)
        return acceptance

    async def next_reminder_ms(self, soul: str, workspace: str, person: str) -> int | None:
        return await next_reminder_ms(self._database, soul, workspace, person)

    async def may_ask_why(self, feedback: Feedback) -> bool:
        now = self._clock.now_ms()
        return await self._database.write(lambda transaction: may_ask_why(transaction, feedback, now), within=1.0)


async def _hear(
    transaction: Transaction, arrival: NewMessage, now: int, most_waiting: int
) -> tuple[Acceptance, str, tuple[str, ...]]:
    """Store a message and stop what it stops. Returns the outcome and the conversations that have news."""
    message = await _at_its_holder(transaction, arrival, now)
    if message is None:
        return *_GONE, ()
    stopped = await _stopped_by(transaction, message, now)
    accepted = await _store_message(transaction, message, now)
    if stopped:
        await settle_stop(transaction, message.perception, now)
    elif accepted[0] is Acceptance.ACCEPTED:
        await close_offers(transaction, message.perception, now)
        await note_crowd(transaction, message, most_waiting)
    return *accepted, (*stopped, str(message.perception.conversation))


async def _stopped_by(transaction: Transaction, message: NewMessage, now: int) -> tuple[str, ...]:
    if not message.stops:
        return ()
    key, perception = message.perception.conversation, message.perception
    whole = perception.place is Place.DM and not key.thread
    place = StopPlace(key.soul, key.workspace, key.channel, key.thread, perception.author, whole=whole)
    return await stop_work(transaction, place, now)


async def _at_its_holder(transaction: Transaction, message: NewMessage, now: int) -> NewMessage | None:
    """Return the message as one of the soul that has its thread, or None if its deletion arrived first.

    The latter happens when the platform retries an event. A message that the first soul already has stays there.
    """
    key = message.perception.conversation
    row = await transaction.one(
        """
        SELECT (SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE id = :message) THEN '' ELSE handed_to END
                FROM conversations WHERE id = :id) AS handed_to,
          (SELECT soul FROM room_ways WHERE workspace = :workspace AND channel = :channel AND soul <> :soul) AS at_home,
          EXISTS (SELECT 1 FROM inbox WHERE id = :message) AS known,
          EXISTS (SELECT 1 FROM deliveries WHERE soul = :soul AND workspace = :workspace AND event_id = :gone) AS gone
        """,
        channel=key.channel,
        id=str(key),
        message=message.perception.id,
        soul=key.soul,
        workspace=key.workspace,
        gone=_tombstone(key.channel, message.perception.ts),
    )
    assert row is not None  # without a table there is one row
    if row["gone"]:
        return None
    at_home = (row["at_home"] or "") if row["handed_to"] is None and not row["known"] else ""
    perception = await at_its_holder(transaction, message.perception, row["handed_to"], now, at_home=at_home)
    return replace(message, perception=perception)


async def _accept(transaction: Transaction, arrival: _NoMessage, now: int) -> tuple[Acceptance, str]:
    match arrival:
        case Edit():
            return await _edit(transaction, arrival, now)
        case Deletion():
            return await _delete(transaction, arrival, now)
        case Feedback() | Complaint() | Decision() | PickedAnswer() | Withdrawal():
            return await _press(transaction, arrival, now)
    return await _store_asked(transaction, arrival, now)


async def _press(transaction: Transaction, pressed: _Pressed, now: int) -> tuple[Acceptance, str]:
    match pressed:
        case Feedback():
            return await store_feedback(transaction, pressed, now)
        case Complaint():
            return await store_complaint(transaction, pressed, now)
        case Decision():
            return await decide(transaction, pressed, now)
        case Withdrawal():
            return await withdraw_reply(transaction, pressed, now)
    return await pick_answer(transaction, pressed, now)


async def _store_asked(transaction: Transaction, asked: _Asked, now: int) -> tuple[Acceptance, str]:
    if isinstance(asked, RoomWaySent):
        return await set_way(transaction, asked, now)
    if isinstance(asked, Joined):
        return await take_invitation(transaction, asked, now)
    if isinstance(asked, AskedAbout):
        return await take_question(transaction, asked, now)
    return await ask_why(transaction, asked, now)


async def _delete(transaction: Transaction, deletion: Deletion, now: int) -> tuple[Acceptance, str]:
    tombstone = replace(deletion, event_id=_tombstone(deletion.channel, deletion.ts))
    if not await _first_delivery(transaction, tombstone, now):
        return Acceptance.DUPLICATE, "withdrawn before"
    return await delete_message(transaction, deletion, now)


async def _first_delivery(transaction: Transaction, arrival: Arrival, now: int) -> bool:
    where = arrival.perception.conversation if isinstance(arrival, NewMessage) else arrival
    row = await transaction.insert(
        "deliveries",
        "ON CONFLICT DO NOTHING RETURNING event_id",
        soul=where.soul,
        workspace=where.workspace,
        event_id=arrival.event_id,
        seen_ms=now,
    )
    return row is not None


async def _store_message(transaction: Transaction, message: NewMessage, now: int) -> tuple[Acceptance, str]:
    perception, key, aside = message.perception, message.perception.conversation, False
    if message.source is Source.BACKFILL and await was_said_before(
        transaction, key.workspace, perception.author, perception.ts
    ):
        return Acceptance.IGNORED, "its author asked to be forgotten"
    if await _known_to_another_soul(transaction, message):
        return Acceptance.DUPLICATE, "another soul has it"
    if not message.addressed:
        if not await _is_heard(transaction, perception):
            return Acceptance.IGNORED, "not addressed"
        aside = message.to_others or await _continues_aside(transaction, perception)
    shared = {"soul": key.soul, "workspace": key.workspace, "channel": key.channel}
    shared |= {"place": perception.place, "audience": str(perception.audience)}
    await open_conversation(transaction, key, perception.place, perception.audience, now, heard=True)
    row = await transaction.insert(
        "inbox",
        """
        ON CONFLICT (id) DO UPDATE SET state = 'new', aside = 0, reason = ''
          WHERE inbox.state = 'ignored' AND inbox.aside = 1 AND excluded.state = 'new' RETURNING id
        """,
        id=perception.id,
        ts=perception.ts,
        conversation=str(key),
        author=perception.author,
        name=perception.name,
        body=perception.content,
        source=message.source,
        state="ignored" if aside else "new",
        aside=aside,
        reason=_ASIDE if aside else "",
        received_ms=now,
        message_id=message.message_id,
        envelope=message.envelope,
        receiver=message.receiver,
        incomplete=message.incomplete,
        addressed=message.addressed,
        **shared,
    )
    if row is not None or not message.incomplete:
        await store_files(transaction, str(key), perception.ts, message.files, now)
    if row is None:
        completed = not message.incomplete and await _completed_by_twin(transaction, message, now)
        return (Acceptance.ACCEPTED, "completed by its twin") if completed else (Acceptance.DUPLICATE, "message known")
    if perception.audience.kind is not AudienceKind.DM:  # there no other person could answer
        await cancel_answered(transaction, key, now)
    return (Acceptance.IGNORED, _ASIDE) if aside else (Acceptance.ACCEPTED, "")


async def _known_to_another_soul(transaction: Transaction, message: NewMessage) -> bool:
    """Return whether another soul of this account has the message, since its channel was that soul's before."""
    key = message.perception.conversation
    row = message.receiver and await transaction.one(
        """
        SELECT 1 FROM inbox WHERE workspace = :workspace AND channel = :channel AND ts = :ts AND soul <> :soul
                              AND receiver IN ('', :receiver) AND modality = 'words'
        """,
        workspace=key.workspace,
        channel=key.channel,
        ts=message.perception.ts,
        soul=key.soul,
        receiver=message.receiver,
    )
    return bool(row)


async def _completed_by_twin(transaction: Transaction, message: NewMessage, now: int) -> bool:
    """Complete a message known from an incomplete event, and return whether its twin says more."""
    perception = message.perception
    row = await transaction.one(
        "UPDATE inbox SET incomplete = 0, envelope = :envelope WHERE id = :id AND incomplete = 1 RETURNING revision",
        id=perception.id,
        envelope=message.envelope,
    )
    if row is None or row["revision"]:
        return False  # complete already, or edited since: the newer text counts
    key = perception.conversation
    edit = Edit(
        message.event_id,
        key.soul,
        key.workspace,
        key.channel,
        perception.ts,
        perception.content,
        files=message.files,
    )
    return bool(await edit_message(transaction, edit, now))


async def _is_heard(transaction: Transaction, perception: Perception) -> bool:
    key = perception.conversation
    if await is_for_session(transaction, perception):
        return True
    way = await way_of(transaction, key.workspace, key.channel)
    return way.joins != "mention" and await _takes_part(transaction, str(key))


async def _takes_part(transaction: Transaction, conversation: str) -> bool:
    row = await transaction.one(
        """
        SELECT taking_part OR EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id
                                      AND i.state IN ('new', 'claimed') AND i.modality = 'words') AS takes_part
        FROM conversations c WHERE id = :id
        """,
        id=conversation,
    )
    return row is not None and bool(row["takes_part"])


async def _continues_aside(transaction: Transaction, perception: Perception) -> bool:
    """Return whether a message continues a talk among users: the newest message there is another user's aside."""
    row = await transaction.one(
        """
        SELECT a.author, CAST(:ts AS REAL) - CAST(a.ts AS REAL) AS later FROM inbox a
        WHERE a.conversation = :conversation AND a.aside = 1
          AND CAST(a.ts AS REAL) > coalesce((SELECT CAST(t.ts AS REAL) FROM turns t
                                             WHERE t.conversation = :conversation ORDER BY t.seq DESC LIMIT 1), 0)
          AND NOT EXISTS (SELECT 1 FROM inbox w WHERE w.conversation = :conversation
                          AND w.state IN ('new', 'claimed') AND CAST(w.ts AS REAL) > CAST(a.ts AS REAL))
        ORDER BY later LIMIT 1
        """,
        ts=perception.ts,
        conversation=str(perception.conversation),
    )
    return row is not None and row["author"] != perception.author and 0 <= row["later"] <= _ASIDE_LASTS


def _tombstone(channel: str, ts: str) -> str:
    return f"withdrawn/{channel}/{ts}"


async def _edit(transaction: Transaction, edit: Edit, now: int) -> tuple[Acceptance, str]:
    states = await edit_message(transaction, edit, now)
    if edit.asks is not None and all(state == "ignored" for state in states):
        asks = await _at_its_holder(transaction, edit.asks, now)
        return _GONE if asks is None else await _store_message(transaction, asks, now)
    if not states:
        return Acceptance.IGNORED, "message not known, or its text is the same"
    return Acceptance.ACCEPTED, f"edited while {', '.join(states)}"
