"""The Slack `Channel`, which joins the parts of this package around one client and one identity."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.appearance import Appearance, Appearances, StatusLine, StatusOnly
from daemon.channels.slack.catch_up import CatchUp
from daemon.channels.slack.connection import PING_INTERVAL, Connection, SocketOptions, Supervisor
from daemon.channels.slack.delivery import SlackDelivery
from daemon.channels.slack.dialogs import home_view
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.files import FileFetcher, with_files
from daemon.channels.slack.gate import Managers, SlackGate
from daemon.channels.slack.installation import (
    AGENT_SCOPE,
    COMMANDS_SCOPE,
    FILES_SCOPE,
    MARKS_SCOPE,
    SHARE_SCOPE,
    check_tokens,
    fetch_identity,
)
from daemon.channels.slack.link_safety import ReplyGuard
from daemon.channels.slack.links import LinkReader, Permalinks, ThreadReader, own_reader
from daemon.channels.slack.listener import Listener, bolt_app
from daemon.channels.slack.markup import inert
from daemon.channels.slack.people import GROUPS_CHANGE, Directory, Names, OwnGroups
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.channels.slack.readers import RoomReaders
from daemon.channels.slack.refusals import DEAD_TOKEN, SlackIdentity, for_sending
from daemon.channels.slack.rooms import RoomFinder, RoomTalk
from daemon.channels.slack.sessions import Acknowledgements, Sessions
from daemon.channels.slack.speech import Drafts, SlackSpeech, StreamTarget
from daemon.channels.slack.splitting import split
from daemon.channels.slack.surfaces import SETTINGS_END, Surfaces
from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.last_line import LastLine
from daemon.core.perception import BELOW, ConversationKey, Perception, Place, Readers
from daemon.core.phrases import command_of
from daemon.core.ports import Intake
from daemon.core.ports.channel import Channel, LinkedMessages, Offers, Room, ThreadMessage
from daemon.core.ports.library import AttachedReply, FoundPost, Post
from daemon.core.ports.services import Clock, DraftLog, Emit, GateDecision, SharedFile, Speech
from daemon.core.room_ways import ManagedRoom
from daemon.core.sentences import HOUSE_WORDS, Suggestion, Words, house_suggestions
from daemon.core.settings_place import HomePage
from daemon.core.telemetry.redaction import Redactor
from daemon.core.text import Trusted

_STORING: Final = 3.0  # seconds that a stop waits for arrivals being stored
_DM, _USERS = "D", ("U", "W")  # the prefixes of the ids of DMs and of users; a bot without a user has only a B id


class SlackChannel(Channel):
    """The channel of one Slack workspace.

    `soul_for_channel` gives the soul of a channel by its id. The main soul (`settings.name`) also gets all DMs, and
    `settings.souls` are the others. `appearance_of` gives a soul's name and icon, None for the app's. `words_of` gives
    the sentences and `suggested` the suggested prompts, both by soul and language tag. `shown_name` gives the name that
    users see of a soul.
    """

    name = "slack"

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        emit: Emit,
        *,
        ping_interval: float = PING_INTERVAL,
        soul_for_channel: Callable[[str], str] | None = None,
        appearance_of: Callable[[str], Appearance | None] | None = None,
        words_of: Callable[[str, str], Words] = lambda _soul, _language: HOUSE_WORDS,
        suggested: Callable[[str, str], Sequence[Suggestion]] = lambda _soul, _language: house_suggestions(HOUSE_WORDS),
        shown_name: Callable[[str], str] = str,
    ) -> None:
        self._ping_interval = ping_interval
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._soul_for_channel, self._words_of, self._suggested = soul_for_channel, words_of, suggested
        self._shown_name = shown_name
        self._appearances = Appearances(appearance_of, emit)
        self._client = SlackClient(settings, clock, emit)
        self._redact = Redactor(settings.secrets)
        self._reader: EventReader | None = None
        self._supervisor: Supervisor | None = None
        self._listener: Listener | None = None
        self._directory = directory = Directory(self._client, clock)
        self._own_groups = OwnGroups(self._client)
        self._names = Names(directory, self._own_groups.handles)
        self._gate = SlackGate(directory, settings, clock, self._known_reader)
        self._readers = RoomReaders(self._client, directory, self._known_reader)
        self._managers = Managers(self._client, directory, self._gate, self._readers.has_member, settings.approvers)
        self._sessions = sessions = Sessions(self._client)
        self._drafts, known = Drafts(clock), self._known_reader
        self._delivery = SlackDelivery(self._client, self._drafts, sessions, self._appearances, known)
        self._status = StatusLine(self._client)
        self._marks = Acknowledgements(self._client, wanted=settings.slack_acknowledge)
        self._thread_reader = ThreadReader(self._client, self._gate, self._readers)
        self._links = LinkReader(self._client, directory, self._readers)
        self._talk = RoomTalk(self._client, self._gate)
        self._files = FileFetcher(self._client, settings.slack_api_url)
        self._permalinks = Permalinks(self._client, clock)
        self._rooms = RoomFinder(self._client, self._gate, settings, self._known_reader, self._readers.has_member)
        self._answers = PrivateAnswers(self._client, self._words_for, self.standing_of, self._rooms.find_room)

    async def identify(self) -> SlackIdentity:
        """Return our ids in the workspace. Waits while Slack can't be reached. Raises ConfigError for bad tokens."""
        return (await self._event_reader()).identity

    async def standing_of(self, person: str) -> GateDecision:
        return await self._gate.check_author(person, "", Place.DM)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Pass Slack's events to the intake until cancelled, then wait until arrivals in progress are stored."""
        reader, settings, gap = await self._event_reader(), self._settings, asyncio.Event()
        self._readers.share(intake.room_news, intake.person_rooms)
        await self._own_groups.read(reader.identity.user)
        listener = self._listener_for(reader, intake, gap.set)
        app = bolt_app(listener, reader.identity, self._client, self._emit)

        def forget() -> None:
            """Drop caches of threads and readers, since events of the gap were not heard."""
            self._thread_reader.forget()
            self._readers.forget_all()

        catch_up = CatchUp(self._client, reader, intake, settings, gap, forget)
        _, app_token = check_tokens(settings)
        sockets = [SocketOptions(number, app_token, self._ping_interval) for number in range(settings.slack_sockets)]
        connections = tuple(Connection(one, app, self._client, self._clock, self._emit) for one in sockets)
        await catch_up.set_out()
        self._listener = listener
        self._supervisor = Supervisor(connections, catch_up.run, self._clock, self._emit, gap)
        try:
            keep = LastLine(self._clock, self._emit).keep
            async with alongside(
                keep("status line", self._status.run),
                keep("marks", partial(self._marks.run, intake.marks, reader.identity.team, reader.identity.user)),
                keep("interactions", self._answers.run),
                keep("people who move", self._readers.follow_movers),
                keep("user groups", partial(self._own_groups.keep, reader.identity.user)),
            ):
                await self._supervisor.run(ready)
        finally:
            self._supervisor = self._listener = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STORING):
                    await listener.idle()

    def _listener_for(self, reader: EventReader, intake: Intake, on_not_stored: Callable[[], None]) -> Listener:
        manages = partial(self._managers.may_manage, reader.identity)
        surfaces = Surfaces(self._client, reader, intake, self._answers, manages, self._words_of, self._suggested)
        notes = {
            **dict.fromkeys(GROUPS_CHANGE, self._own_groups.take_note),
            **dict.fromkeys(SETTINGS_END, surfaces.end_settings),
        }
        judge, take_note, note = self._gate.check_author, self._readers.take_note, self._thread_reader.note
        answers, emit = self._answers, self._emit
        return Listener(reader, intake, answers, surfaces, judge, take_note, notes, note, on_not_stored, emit)

    async def close(self) -> None:
        await self._client.close()

    def healthy(self) -> bool:
        return self._supervisor is not None and self._supervisor.healthy()

    def trouble(self) -> str:
        return self._listener.trouble if self._listener is not None else ""

    async def admit(self, perception: Perception) -> GateDecision:
        return await self._gate.admit(perception)

    async def readers(self, perception: Perception) -> Readers:
        return await self._readers.readers(perception)

    @contextlib.asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[Callable[[str], None]]:
        """Show the status line while the body runs; Slack shows it in threads only."""
        where, thread = perception.conversation, self.reply_to(perception)
        thinking = self._words_of(where.soul, perception.language).say("thinking")
        status = self._status.shown(where.channel, thread, thinking)
        async with self._marks.shown(perception) as leave, status as say:
            yield lambda text: say(text) if text else leave()

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """Return the stream of a reply, or a `StatusOnly` where Slack or the settings allow no stream.

        Slack streams in threads and to users alone.
        """
        conversation, thread = perception.conversation, self.reply_to(perception)
        named = perception.place is not Place.DM
        status = partial(self._status.say, conversation.channel, thread)
        words = self._words_of(conversation.soul, perception.language)
        grows = self._settings.slack_streaming == "everywhere" if grows is None else grows
        allowed = not named or (grows and perception.author.startswith(_USERS))
        if not thread or not allowed:
            return StatusOnly(status, words)
        target = StreamTarget(
            conversation.channel,
            thread,
            recipient_team=self._home_of(perception) if named else "",
            recipient=perception.author if named else "",
            appearance=self._appearances.arguments_for(conversation.soul),
            status=status,
            opened=partial(self._status.end, conversation.channel, thread),
            guard=self._guard(trusted),
            words=words,
        )
        return SlackSpeech(self._client, target, drafts, self._drafts, self._clock, self._emit)

    def _home_of(self, perception: Perception) -> str:
        user = self._directory.known_user(perception.author)
        return (user.home if user else "") or perception.conversation.workspace

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """Split a reply into parts that each fit into a stream with cards and into a markdown block.

        Links are judged again in each part.
        """
        guard = self._guard(trusted)
        return tuple(inert(part, guard) for part in split(inert(reply, guard)))

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """Turn the long parts of a reply into files, or leave all as text if the scope for files is missing."""
        scopes = self._scopes()
        return (reply, ()) if scopes and SHARE_SCOPE not in scopes else with_files(self._redact(reply), key, words)

    def reply_to(self, perception: Perception) -> str:
        """Return the thread for the reply. Any message can begin a thread, in DMs too (Slack: agent view)."""
        root = perception.ts if perception.has_message else str(perception.params.get(BELOW, ""))
        return perception.conversation.posted_in or root

    async def find_room(self, contact: str) -> Room:
        return await self._rooms.find_room(contact)

    async def shared_room(self, person: str, name: str) -> Room:
        return await self._rooms.shared_room(person, name)

    async def deliver(self, post: Post) -> str:
        try:
            return await self._delivery.deliver(post)
        except ChannelRefused as error:
            if post.nod is not None and error.code not in DEAD_TOKEN:
                raise  # a refused reaction must not hold back the replies after it
            raise for_sending(error) from error

    async def find(self, post: Post) -> FoundPost | None:
        return await self._delivery.find(post)

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """Send an ephemeral message and return True, or return False in a DM, where it would only be less visible."""
        if conversation.channel.startswith(_DM):
            return False
        try:
            await self._answers.whisper(conversation.channel, person, text, thread_ts=thread or None)
        except DeliveryUncertain:
            return True
        except ChannelError:
            return False
        return True

    def offers(self, conversation: ConversationKey) -> Offers:
        """Return the features that the token's scopes allow, or all features if Slack doesn't list the scopes."""
        scopes = self._scopes()
        command = command_of(conversation.soul) if not scopes or COMMANDS_SCOPE in scopes else ""
        return Offers(not scopes or FILES_SCOPE in scopes, command, nods=MARKS_SCOPE in scopes, unasked=True)

    def waits_for(self, command: str) -> bool:
        return self._answers.waits_for(command)

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        return await self._answers.answer_command(command, parts)

    async def show_in_channel(self, post: Post) -> None:
        await self._delivery.broadcast(post)

    async def show_home(self, person: str, page: HomePage) -> None:
        await self._client.call("views.publish", user_id=person, view=home_view(page))

    async def managed_rooms(self, person: str) -> tuple[ManagedRoom, ...]:
        return await self._managers.rooms_of((await self._event_reader()).identity, person)

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """Name the session of a thread. Without the scope of agents there are no sessions."""
        scopes = self._scopes()
        if not scopes or AGENT_SCOPE in scopes:
            await self._sessions.name(conversation.channel, thread, self._redact(title))

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        return await self._readers.has_member(conversation.channel, account)

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        return await self._permalinks.of(conversation.channel, ts)

    async def language_of(self, person: str) -> str:
        try:
            user = await self._directory.user(person) if person.startswith(_USERS) else None
        except NotDelivered:
            return ""
        return user.language if user else ""

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        return await self._names.of(ids)

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """Return the messages of the thread before this one, or none if Slack can't be read now."""
        return await self._thread_reader.before(perception, self._reader, limit) if self._reader else ()

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        return await self._talk.since(perception, ts, await self._event_reader())

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        return await self._links.linked(perception, readers, self._reader) if self._reader else ()

    async def described(self, conversation: ConversationKey, file: SharedFile) -> SharedFile:
        return await self._files.described(file)

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        return await self._files.fetch(file)

    async def _words_for(self, channel: str, person: str) -> Words:
        soul = self._soul_for_channel(channel) if self._soul_for_channel is not None else self._settings.name
        return self._words_of(soul, await self.language_of(person))

    def _guard(self, trusted: Trusted | None) -> ReplyGuard | None:
        return ReplyGuard(trusted, self._redact) if trusted is not None else None

    async def _event_reader(self) -> EventReader:
        if self._reader is None:
            settings, groups = self._settings, self._own_groups.ids
            identity = await fetch_identity(self._client, settings, self._clock, self._emit)
            self._appearances.check_scope(identity)
            self._reader = own_reader(settings, identity, self._clock, groups, self._soul_for_channel, self._shown_name)
        return self._reader

    def _scopes(self) -> frozenset[str]:
        return self._reader.identity.scopes if self._reader is not None else frozenset()

    def _known_reader(self) -> EventReader:
        """Return the reader. Raises NotDelivered while our own ids are unknown."""
        if self._reader is None:
            raise NotDelivered("our own Slack ids are not known yet", retry_after=1.0)
        return self._reader
