"""The routes for sessions of Claude Code: their hooks report here, people's programs see them, notes are answered."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from aiohttp import web

from daemon.channels.http.auth import OWNER, no_entry
from daemon.channels.http.companion_polls import CompanionPolls
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.request_body import body_of, mended, read_body, read_raw
from daemon.channels.http.request_query import seconds_of
from daemon.channels.http.session_bodies import EventAnswer, NoteAnswer, NoteList, NoteReply, SessionEvent
from daemon.core.ports.clock import Clock
from daemon.core.sessions import Attended, Handed, KeyEnded, KeyOwner, TooManySessions

_LONGEST_PROCESS: Final = 400
T = TypeVar("T")


class SessionPages:
    """The handlers of sessions. All may raise Refusal, NotTheirSession and StoreError."""

    def __init__(self, side: DaemonSide, clock: Clock) -> None:
        self.polls = CompanionPolls(side, clock)
        self._sessions = side.sessions
        self._clock = clock
        self._polls = set[asyncio.Task[Any]]()

    def close(self) -> None:
        """Answer all who wait for notes at once: the daemon stops."""
        for poll in self._polls:
            poll.cancel()

    async def take(self, request: web.Request) -> web.Response:
        """Take what a hook sent, once."""
        event = body_of(mended(await read_raw(request)), SessionEvent).event(self._clock.now_ms())
        try:
            heard = await self._sessions.hear(event, request[OWNER])
        except KeyEnded as error:
            raise no_entry(error.hint) from error
        except TooManySessions as error:
            raise Refusal(409, "too_many_sessions", f"{error.message}.", error.hint) from error
        note = NoteAnswer.of(heard.note) if heard.note else None
        answer = EventAnswer(context=heard.context, note=note, remember=heard.words)
        left_out = None if heard.words else {"remember"}
        return web.json_response(body=answer.model_dump_json(exclude=left_out).encode())

    async def list(self, request: web.Request) -> web.Response:
        """Give the sessions that the key may see."""
        return web.json_response(await self._sessions.list(request[OWNER]))

    async def notes(self, request: web.Request) -> web.Response:
        """Give what people ask a session, once there is something new or the wait is over."""
        owner: KeyOwner = request[OWNER]
        if "process" in request.query:
            return await self._notes_of_companion(request, owner)
        notes = self._sessions.notes(owner, request.match_info["id"], seconds_of(request))
        found = await self._until_stop(asyncio.ensure_future(notes)) or ()
        await self._require_key(owner)
        return _listed(found)

    async def _notes_of_companion(self, request: web.Request, owner: KeyOwner) -> web.Response:
        """With what a companion is to wake its session; the header says which session that is."""
        wakes = request.query.get("wakes") == "yes"
        waiting = self.polls.wait(request, owner, _process(request), wakes=wakes, seconds=seconds_of(request))
        heard = await self._until_stop(asyncio.ensure_future(waiting)) or Attended("")
        await self._require_key(owner)
        response = _listed((heard.note,) if heard.note else ())
        response.headers["Soul-Session"] = heard.session
        return response

    async def _until_stop(self, poll: asyncio.Task[T]) -> T | None:
        """What a poll came to; None where the daemon stops, or the client left. Raises Refusal for an ended key."""
        self._polls.add(poll)
        try:
            await asyncio.wait((poll,))
        finally:
            poll.cancel()
            self._polls.discard(poll)
        try:
            return None if poll.cancelled() else poll.result()
        except KeyEnded as error:
            raise no_entry(error.hint) from error

    async def _require_key(self, owner: KeyOwner) -> None:
        """Raises Refusal where the key was revoked meanwhile."""
        if await self._sessions.still(owner) is None:
            raise no_entry("ask the admin for another key")

    async def reply(self, request: web.Request) -> web.Response:
        """Take a session's answer, once."""
        where, text = request.match_info, (await read_body(request, NoteReply)).text
        await self._sessions.answer(request[OWNER], where["id"], where["note"], text)
        return web.Response(status=204)


def _listed(notes: Sequence[Handed]) -> web.Response:
    return web.json_response(body=NoteList([NoteAnswer.of(one) for one in notes]).model_dump_json().encode())


def _process(request: web.Request) -> str:
    """The process of the session whose companion asks. Raises Refusal."""
    given = request.query.getall("process")
    if len(given) != 1 or not 0 < len(given[0]) <= _LONGEST_PROCESS or not given[0].isprintable():
        hint = "give it as the hooks do, as host/boot/namespace/pid/start"
        raise Refusal(422, "invalid", "That is no process.", hint)
    return given[0]
