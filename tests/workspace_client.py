"""A typed client of the control API, for tests and tools that use a workspace over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Final, Self, TypeVar

import aiohttp
from yarl import URL

from daemon.core.errors import DaemonError
from daemon.local_slack.model import Json

_Found = TypeVar("_Found")
_WAIT: Final = 60.0  # seconds after which a wait counts as a hang


class WorkspaceRefused(DaemonError):
    """An error: the workspace refused a request. `code` is the error name, the hint says what would work."""

    def __init__(self, code: str, hint: str) -> None:
        super().__init__(f"the workspace refused: {code}", hint=hint)
        self.code = code


class WorkspaceClient:
    """The users of a workspace over HTTP, by the orders and views of the same names:

    `async with WorkspaceClient(page_url) as people:`. `page_url` holds the workspace's key. Refusals raise
    WorkspaceRefused. An action that returns False met no open socket of the app.
    """

    def __init__(self, page_url: str) -> None:
        address = URL(page_url)
        self.url = str(address.origin())
        self._key = address.query.get("key", "")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        endless = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(
            timeout=endless,
            connector=aiohttp.TCPConnector(limit=0),
            headers={"Authorization": f"Bearer {self._key}"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    # -- people acting ----------------------------------------------------------------------------------------------

    async def say(
        self,
        person: str,
        channel: str,
        text: str,
        *,
        thread: str = "",
        broadcast: bool = False,
        files: Sequence[Json] = (),
    ) -> Json:
        """Post typed text, and return the message. `@Name` mentions. Files are `{name, text}` or `{name, base64}`."""
        fields = {"person": person, "channel": channel, "text": text, "thread": thread, "broadcast": broadcast}
        return dict((await self.post("say", **fields, files=list(files)))["message"])

    async def edit(self, person: str, channel: str, ts: str, text: str) -> Json:
        return dict((await self.post("edit", person=person, channel=channel, ts=ts, text=text))["message"])

    async def delete(self, person: str, channel: str, ts: str) -> None:
        await self.post("delete", person=person, channel=channel, ts=ts)

    async def react(self, person: str, channel: str, ts: str, name: str, *, remove: bool = False) -> None:
        await self.post("react", person=person, channel=channel, ts=ts, name=name, remove=remove)

    async def click(self, person: str, channel: str, ts: str, action_id: str, value: str = "") -> bool:
        return await self._deliver("click", person=person, channel=channel, ts=ts, action_id=action_id, value=value)

    async def shortcut(self, person: str, channel: str, ts: str, callback_id: str) -> bool:
        return await self._deliver("shortcut", person=person, channel=channel, ts=ts, callback_id=callback_id)

    async def press_home(self, person: str, action_id: str) -> bool:
        return await self._deliver("press_home", person=person, action_id=action_id)

    async def submit(self, person: str, view: str, **values: str | Sequence[str]) -> bool:
        return await self._deliver("submit", person=person, view=view, values=values)

    async def command(self, person: str, channel: str, command: str, text: str = "") -> bool:
        return await self._deliver("command", person=person, channel=channel, command=command, text=text)

    async def stop(self, person: str, channel: str, thread: str) -> str:
        return str((await self.post("stop", person=person, channel=channel, thread=thread))["event_id"])

    async def rename_session(self, person: str, channel: str, thread: str, title: str) -> str:
        order = await self.post("rename_session", person=person, channel=channel, thread=thread, title=title)
        return str(order["event_id"])

    async def open_dm(self, person: str) -> str:
        """Open a user's DM with the app, which raises app_home_opened. Return the channel's id."""
        return str((await self.post("open_dm", person=person))["channel"])

    async def join(self, person: str, channel: str, *, inviter: str = "") -> None:
        await self.post("join", person=person, channel=channel, inviter=inviter)

    async def leave(self, person: str, channel: str) -> None:
        await self.post("leave", person=person, channel=channel)

    async def convert(self, person: str, channel: str, kind: str) -> None:
        await self.post("convert", person=person, channel=channel, kind=kind)

    async def share(self, channel: str, *, end: bool = False) -> None:
        await self.post("share", channel=channel, end=end)

    async def change_standing(self, person: str, standing: str, *, admin: bool = False) -> None:
        await self.post("standing", person=person, standing=standing, admin=admin)

    async def add_person(
        self, name: str, *, standing: str = "member", team: str = "", zone: str = "", locale: str = "en-US"
    ) -> Json:
        """Add a user, and return Slack's user object."""
        made = await self.post("person", name=name, standing=standing, team=team, zone=zone, locale=locale)
        return dict(made["person"])

    async def add_channel(
        self, name: str, *, kind: str = "channel", members: Sequence[str] = (), app: bool = True, shared: bool = False
    ) -> Json:
        """Add a channel, and return Slack's conversation object."""
        room = await self.post("channel", name=name, kind=kind, members=list(members), app=app, shared=shared)
        return dict(room["channel"])

    # -- setting up -------------------------------------------------------------------------------------------------

    async def advance(self, seconds: float) -> None:
        await self.post("clock", advance=seconds)

    async def fault(self, method: str = "", **order: object) -> None:
        """Inject a fault of a Web API method, or of `socket=`, `room=` or `chunks=`."""
        kind = next((f"fault_{name}" for name in ("socket", "room", "chunks") if name in order), "fault")
        await self.post(kind, **({"method": method} if method else {}), **order)

    async def clear_faults(self) -> None:
        await self.post("clear_faults")

    async def limits(self, profile: str) -> None:
        await self.post("limits", profile=profile)

    async def scopes(self, *scopes: str) -> None:
        await self.post("scopes", scopes=list(scopes))

    async def emit(self, event: Json, channel: str = "") -> str:
        return str((await self.post("emit", event=event, channel=channel))["event_id"])

    async def emit_envelope(self, envelope: Json) -> bool:
        return await self._deliver("emit_envelope", envelope=envelope)

    async def repeat(self, event_id: str) -> None:
        await self.post("repeat", event_id=event_id)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def state(self, person: str = "") -> Json:
        return await self.get("state", person=person)

    async def messages(self, channel: str, *, person: str = "", thread: str = "", limit: int = 10_000) -> list[Json]:
        page = await self.get("messages", channel=channel, person=person, thread=thread, limit=str(limit))
        return list(page["messages"])

    async def ephemerals(self, person: str, channel: str) -> list[Json]:
        return list((await self.get("messages", person=person, channel=channel))["ephemerals"])

    async def posts_by_bot(self, channel: str, *, person: str = "", thread: str = "*") -> list[Json]:
        """Return the app's messages in a channel, threads included, oldest first."""
        bot = (await self.state())["bot"]["id"]
        return [m for m in await self.messages(channel, person=person, thread=thread) if m["user"] == bot]

    async def status_of(self, channel: str, thread: str) -> str:
        """Return the status line under a thread, or ''."""
        lines = (await self.state())["statuses"]
        return next((str(s["status"]) for s in lines if (s["channel"], s["thread_ts"]) == (channel, thread)), "")

    async def calls(self, method: str = "", *, after: int = 0) -> list[Json]:
        return list((await self.get("calls", method=method, after=str(after)))["calls"])

    async def modals(self, person: str) -> list[Json]:
        return list((await self.get("modals", person=person))["views"])

    async def deliveries(self, event_id: str = "") -> list[Json]:
        return list((await self.get("deliveries", event_id=event_id))["deliveries"])

    async def sockets(self) -> int:
        return len((await self.get("sockets"))["sockets"])

    async def met(self, method: str) -> bool:
        """Return True if calls have met all faults of a method. Such a call may still be running."""
        return method not in (await self.get("faults"))["faults"]

    # -- waiting ----------------------------------------------------------------------------------------------------

    async def wait_for(
        self,
        look: Callable[[], Awaitable[_Found | None]],
        timeout: float = _WAIT,  # noqa: ASYNC109  # the caller chooses
    ) -> _Found:
        """Call `look` now and after every change until it gives a true value. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._news() as news:
            while not (found := await look()):
                await anext(news)
            return found

    async def wait_for_post(self, channel: str, timeout: float = _WAIT) -> list[Json]:  # noqa: ASYNC109  # as above
        """Wait until the app has finished a message in a channel, and return its finished messages."""

        async def look() -> list[Json]:
            posts = await self.posts_by_bot(channel)
            return [post for post in posts if post.get("streaming_state") != "in_progress"]

        return await self.wait_for(look, timeout)

    async def wait_for_sockets(self, count: int) -> None:

        async def look() -> bool:
            return await self.sockets() == count

        await self.wait_for(look)

    async def wait_for_ack(self, event_id: str) -> Json:
        """Wait until a delivery of an event is acknowledged, and return that delivery."""

        async def look() -> Json | None:
            return next((d for d in await self.deliveries(event_id) if d["acked_at"] is not None), None)

        return await self.wait_for(look)

    async def events(self, person: str = "", after: int | None = None) -> AsyncGenerator[tuple[str, Json], None]:
        """Yield every change a person may see (all without a person) as (kind, data), beginning with `ready`."""
        params = {"person": person} if after is None else {"person": person, "after": str(after)}
        async with self._http().get(f"{self.url}/_control/events", params=params) as response:
            if response.status != HTTPStatus.OK:
                raise _refusal(await response.json())
            kind = ""
            async for line in response.content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)

    # -- HTTP -------------------------------------------------------------------------------------------------------

    async def post(self, order: str, **fields: object) -> Json:
        """Send any order of the control API."""
        async with self._http().post(f"{self.url}/_control/{order}", json=fields) as response:
            return _checked(await response.json())

    async def get(self, view: str, **fields: str) -> Json:
        """Read any view of the control API."""
        async with self._http().get(f"{self.url}/_control/{view}", params=fields) as response:
            return _checked(await response.json())

    async def _deliver(self, order: str, **fields: object) -> bool:
        return bool((await self.post(order, **fields))["delivered"])

    @asynccontextmanager
    async def _news(self) -> AsyncIterator[AsyncIterator[None]]:
        """Open the feed, and give an iterator that yields after every burst of changes."""
        async with self._http().get(f"{self.url}/_control/events") as response:
            await response.content.readuntil(b"\n\n")

            async def bursts() -> AsyncIterator[None]:
                while await response.content.readany():
                    yield
                raise TimeoutError("the workspace stopped during the wait")

            yield bursts()

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("enter the client with `async with` first")
        return self._session


def _checked(answer: Json) -> Json:
    if not answer.get("ok"):
        raise _refusal(answer)
    return answer


def _refusal(answer: Json) -> WorkspaceRefused:
    return WorkspaceRefused(str(answer.get("error")), str(answer.get("hint", "")))
