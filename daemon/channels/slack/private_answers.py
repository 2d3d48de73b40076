"""The answers that one user alone sees: ephemeral messages, modals, the home tab, and answers to slash commands."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.arrivals import COMMAND, kind_of
from daemon.channels.slack.dialogs import Dialog, View, home_view
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.splitting import shown_once
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, StoreError
from daemon.core.lru import Lru
from daemon.core.ports.arrivals import AskedAbout, TypedCommand
from daemon.core.ports.channel import Room
from daemon.core.ports.services import GateDecision
from daemon.core.sentences import Sentence, Words
from daemon.core.settings_place import HomeItem, HomeSection

Work = Callable[[], Awaitable[None]]

_MOST: Final = 1_000  # pieces of work at once; more are dropped
_WITHIN: Final = 1.8  # seconds to find the user's DM; Slack waits three for the acknowledgement
_ADDRESS_LIVES: Final = 29 * 60.0  # seconds; Slack's half hour, less the time of an answer
_ADDRESSES: Final = 2_000
_ROOMS: Final = 2_000
_USES: Final = 5  # answers at one response_url


class PrivateAnswers:
    """The answers for one user, given in the background. Refusals of Slack or the store are only logged.

    `words_for` gives the words for a user in a channel, by their ids. `standing_of` gives the gate's decision on
    whether a user may talk with the soul at all. `find_room` opens a DM with a user. The response_url of a slash
    command is kept in this process alone, since its holder can post there for half an hour. After a restart, or with
    another daemon, the answer goes to the user's DM.
    """

    def __init__(
        self,
        client: SlackClient,
        words_for: Callable[[str, str], Awaitable[Words]],
        standing_of: Callable[[str], Awaitable[GateDecision]],
        find_room: Callable[[str], Awaitable[Room]],
    ) -> None:
        self._client = client
        self._find_room = find_room
        self.words_for, self.standing_of = words_for, standing_of
        self._addresses = Lru[str, str](_ADDRESSES, _ADDRESS_LIVES, client.clock.monotonic)
        self._rooms = Lru[str, Room](_ROOMS)
        self._waiting: asyncio.Queue[Work] = asyncio.Queue()
        self._at_work = set[asyncio.Task[None]]()

    def later(self, work: Work) -> None:
        """Queue the work. Returns at once."""
        if self._waiting.qsize() + len(self._at_work) < _MOST:
            self._waiting.put_nowait(work)
        else:
            self._client.emit("slack.interaction_left", reason="too many wait")

    async def run(self) -> None:
        """Run the queued work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                task = group.create_task(self._do(await self._waiting.get()))
                self._at_work.add(task)
                task.add_done_callback(self._at_work.discard)

    async def _do(self, work: Work) -> None:
        try:
            await work()
        except (ChannelError, StoreError) as error:
            self._client.emit("slack.interaction_left", reason=error.message)

    def tell(self, sentence: Sentence, payload: Payload) -> None:
        """Queue a sentence for the user of a payload. Returns at once."""
        self.later(partial(self._tell, sentence, payload))

    async def _tell(self, sentence: Sentence, payload: Payload) -> None:
        if kind_of(payload) == "app_home_opened":
            await self._refuse_home(payload.user)
            return
        text = (await self.words_for(payload.channel, payload.user)).tell(sentence)
        words = {"response_type": "ephemeral", "replace_original": False, "text": text}
        thread = (payload.part("container") or payload.part("message")).text("thread_ts")
        await self._client.respond(payload.text("response_url"), words | ({"thread_ts": thread} if thread else {}))

    async def _refuse_home(self, person: str) -> None:
        """Show on the home tab that the gate refuses the user."""
        decision = await self.standing_of(person)
        if not decision.admitted:
            words = await self.words_for("", person)
            page = (HomeSection(words.say("home_well"), (HomeItem(words.tell(_refusal(decision))),)),)
            await self._client.call("views.publish", user_id=person, view=home_view(page))

    async def below_input(self, sentence: Sentence, payload: Payload) -> dict[str, Any]:
        """Return the acknowledgement that shows a sentence below the first input of a submitted modal."""
        inputs = [one for one in payload.part("view").parts("blocks") if one.text("type") == "input"]
        text = (await self.words_for("", payload.user)).tell(sentence)
        return {"response_action": "errors", "errors": {inputs[0].text("block_id"): text}} if inputs else {}

    async def whisper(self, channel: str, person: str, text: str, **more: object) -> None:
        await self._client.call("chat.postEphemeral", channel=channel, user=person, text=text, **more)

    def open(
        self, dialog: Dialog, payload: Payload, make: Callable[[], Awaitable[View | Sentence]], otherwise: str
    ) -> None:
        """Queue a modal for the user of a payload. Returns at once.

        `make` gives its view, or a sentence that the user reads instead. After a failure that is the sentence of the
        key `otherwise`.
        """
        self.later(partial(self._open, dialog, payload, make, Sentence(otherwise)))

    async def _open(
        self, dialog: Dialog, payload: Payload, make: Callable[[], Awaitable[View | Sentence]], otherwise: Sentence
    ) -> None:
        try:
            decision = await self.standing_of(payload.user)
            if not decision.admitted and payload.is_at_home:
                return  # the home tab shows the refusal
            made = await make() if decision.admitted else _refusal(decision)
            if not isinstance(made, Sentence):
                await self._show(made, payload)
                return
        except (ChannelError, StoreError):
            made = otherwise
        if payload.is_at_home:  # there is no room for messages
            await self._show(dialog.refusal(await self.words_for("", payload.user), made), payload)
        else:
            await self._tell(made, payload)

    async def _show(self, view: View, payload: Payload) -> None:
        """Open a modal. Slack takes the payload's trigger_id for three seconds."""
        await self._client.call("views.open", trigger_id=payload.text("trigger_id"), view=view)

    async def placed(self, act: AskedAbout | TypedCommand, payload: Payload) -> AskedAbout | TypedCommand | Sentence:
        """Return an act with the DM for its answer, or the sentence for a user who gets none. Never raises."""
        try:
            async with asyncio.timeout(_WITHIN):
                decision = await self.standing_of(act.author)
                if not decision.admitted:
                    return _refusal(decision)
                if (room := self._rooms.get(act.author)) is None:  # a DM never changes
                    room = self._rooms[act.author] = await self._find_room(act.author)
        except (ChannelError, TimeoutError) as error:
            self._client.emit("slack.command_failed", reason=str(error) or "it took too long")
            return Sentence("command_refused" if isinstance(error, ChannelRefused) else "command_later")
        if kind_of(payload) == COMMAND and (url := payload.text("response_url")):
            self._addresses[act.event_id] = url
        return replace(act, channel=room.channel, audience=room.audience)

    def waits_for(self, command: str) -> bool:
        return command in self._addresses

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """Answer a slash command at its response_url. Returns False if Slack did not take the answer."""
        url = self._addresses.pop(command, "")
        try:
            for part in parts[:_USES]:
                await self._client.respond(url, shown_once(part))
        except DeliveryUncertain:
            return True
        except ChannelError as error:
            self._client.emit("slack.command_unanswered", reason=error.message)
            return False
        return True


def _refusal(decision: GateDecision) -> Sentence:
    return decision.say if isinstance(decision.say, Sentence) else Sentence("command_refused")
