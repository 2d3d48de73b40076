"""Words of DMs, private rooms, contexts, sessions and notes through every way out of a whole daemon with a parrot.

The model posts its whole prompt. The ways out are the rooms of Slack, the HTTP API, its MCP tools, what a session reads
as it begins, and the admin's commands.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Final, TypeVar
from unittest.mock import patch

import aiohttp
from pydantic import SecretStr

from daemon.core.notes import NoteBudget
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import Prompt
from daemon.core.sessions import KeyOwner, Visibility
from daemon.core.value import Value
from daemon.local_slack.server import serve_workspace
from daemon.memory.database import Database
from daemon.memory.shared.keys import KeyAdmin
from daemon.memory.shared.messages import NoteStore
from daemon.shared.events import send_as_admin
from daemon.shared.sessions import CodeSessions
from tests import template
from tests.fakes import TurnableClock
from tests.given import shown
from tests.http.daemons import TOKEN, bearer
from tests.journeys.asking import TEAM
from tests.journeys.house import House, settings_for
from tests.journeys.souls import write_soul
from tests.leaks.play import Count
from tests.leaks.shared_ground import (
    ADMIN,
    COMMAND,
    CONTEXTS,
    EVERYBODY,
    GUEST,
    MEMBERS,
    ROOMS,
    Canary,
    Ear,
    SharedGround,
    What,
    hearers_of,
    room_ear,
    session_ear,
)
from tests.leaks.slack import user_id
from tests.models import Reply
from tests.repeating import Repeating
from tests.workspace_client import WorkspaceClient

T = TypeVar("T")
Shown = tuple[str, Ear, Sequence[Canary]]
"""What was shown to whom, and the words that have to be in it."""

_PARROT: Final = Repeating(r"canary\d{5}", r"the \w+ belongs to canary\d{5}")
_PROBES: Final = 125  # of one world
_PAUSE_S: Final = 20.0  # between two of them: sessions that say nothing for an hour are gone
_NOTES_REST_S: Final = 61.0  # so that notes stay within the budget of a minute
_MCP: Final = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_COMMANDS: Final = (
    ("context", "list", "--json"),
    ("context", "presence", "souls", "--json"),
    ("sessions", "--json"),
    ("sessions", "--all", "--md"),
    ("queue", "notes", "list", "--json"),
    ("status", "--json"),
)


async def play_shared(probes: int, seed: int, *, talkative: bool = False) -> Count:
    """Ask so many questions of daemons whose model says all that it reads.

    `talkative`: a broken daemon, which keeps what is said in sessions for everybody.
    """

    async def everybody(_: CodeSessions, owner: KeyOwner) -> Audience:
        return Audience(AudienceKind.WORKSPACE, TEAM)

    with patch.object(CodeSessions, "audience", everybody) if talkative else nullcontext():
        return await _play_worlds(probes, seed)


async def _play_worlds(probes: int, seed: int) -> Count:
    count = Count()
    while count.probes < probes:
        ground, clock = SharedGround(Random(f"{seed} {count.probes}")), TurnableClock()  # no secret
        with template.folder() as folder:
            async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
                house = House(workspace, people, clock, settings_for(workspace, Path(folder)))
                try:
                    await _play(house, ground, min(_PROBES, probes - count.probes), count)
                finally:
                    await house.close()
    return count


async def _play(house: House, ground: SharedGround, probes: int, count: Count) -> None:
    async def repeats(prompt: Prompt) -> Reply:
        return _PARROT.answer(prompt)

    house.model.default = repeats
    write_soul(house.settings.home)
    write_soul(house.settings.home, "rolf", shown="Rolf", personality="You are Rolf, a sailor.")
    shared = {"souls": ("rolf",), "shared_contexts": tuple(CONTEXTS), "allow_guests": True}
    daemon = await house.start(None, name="tess", http_port=0, http_token=SecretStr(TOKEN), **shared)
    assert daemon.http is not None
    async with aiohttp.ClientSession() as client:
        town = SharedTown(house, ground, Door(daemon.http.url, client))
        await town.furnish()
        for _ in range(probes):
            house.clock.turn(_PAUSE_S)
            if ground.chance.random() < 0.1:  # now and then
                await ground.chance.choice(town.ways_in)()
            await town.ask(count)
        town.look_for_keys(count)


class SessionThere(Value):
    """A session of Claude Code, by the id that its hooks name, and the words that it is known by."""

    name: str
    person: str
    key: str
    branch: Canary
    folder: Canary
    project: Canary
    shown: bool
    remembers: bool

    @property
    def ear(self) -> Ear:
        return session_ear(self.name, self.person)


class Door:
    def __init__(self, url: str, client: aiohttp.ClientSession) -> None:
        self._url, self._client = url, client
        self._number = 0

    async def get(self, key: str, path: str) -> str:
        async with self._client.get(f"{self._url}{path}", headers=bearer(key)) as response:
            return await response.text()

    async def post(self, key: str, path: str, body: object, **headers: str) -> str:
        """What a key or the token gets for a body."""
        async with self._client.post(f"{self._url}{path}", json=body, headers=bearer(key) | headers) as response:
            return await response.text()

    async def tool(self, token: str, name: str, /, **given: object) -> str:
        self._number += 1
        params = {"name": name, "arguments": given}
        body = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        return await self.post(token, "/mcp", body, **_MCP)

    async def report(self, one: SessionThere, hook: str, now_ms: int, **fields: object) -> str:
        self._number += 1
        root = f"/home/{one.folder.text}/{one.project.text}"
        given = {"session_id": one.name, "hook_event_name": hook, "cwd": root}
        number = one.name.partition("-")[2]
        body = {
            "id": f"e{self._number}",
            "sent_ms": now_ms,
            "now_ms": now_ms,
            "hook": given | fields,
            "process": f"far/boot/1/{4000 + int(number)}/99",
            "host": "far",
            "root": root,
            "branch": one.branch.text,
        }
        return await self.post(one.key, "/api/sessions/events", body)


class SharedTown:
    """One workspace with one daemon, two souls, and sessions of four people."""

    def __init__(self, house: House, ground: SharedGround, entrance: Door) -> None:
        self._house, self._ground, self._door = house, ground, entrance
        self._ids: dict[str, str] = {}
        self._sessions: list[SessionThere] = []
        self.ways_in: list[Callable[[], Awaitable[None]]] = [
            *(self.say, self.share, self.begin_session, self.speak_in_session, self.send_note, self.ask_session)
        ]
        self._ways_out: list[Callable[[], Awaitable[Shown]]] = [
            *(self._in_room, self._who_works, self._all_contexts, self._one_context, self._own_sessions),
            *(self._presence, self._recall, self._ask_soul, self._working_on, self._begins, self._command),
            self._asks_for_words_of_a_session,
        ]

    # -- what happens -------------------------------------------------------------------------------------------------

    async def furnish(self) -> None:
        """Make the rooms and contexts, and have something in each of them."""
        people = self._house.people
        await people.add_person(GUEST, standing="guest")
        for room, kind in (("open", "channel"), ("lounge", "channel"), ("closed", "group")):
            self._ids[room] = str((await people.add_channel(room, kind=kind, members=sorted(ROOMS[room])))["id"])
        for person in sorted(EVERYBODY):
            self._ids[f"dm of {person}"] = await people.open_dm(person)
        for key, room in CONTEXTS.items():
            if room:
                await self._house.command("context", "define", key, "--audience", self._audience(room))
            await self.share(key)
        for room in ROOMS:
            await self.say(room)
        for person, visibility in (("Ada", "project"), ("Ben", "hidden"), ("Chloe", "topic"), (GUEST, "project")):
            await self.begin_session(person, visibility)
        for way in (self.speak_in_session, self.send_note, self.ask_session, self.hand_over):
            await way()

    async def say(self, room: str = "") -> None:
        room = room or self._any(sorted(ROOMS))
        word = self._ground.add(What.SAID, room, hearers_of(room))
        await self._answered(self._any(sorted(ROOMS[room])), room, f"the {word.topic} belongs to {word.text}")

    async def share(self, key: str = "") -> None:
        """The admin writes a context; what stood there may still be known to those who read it."""
        key = key or self._any(sorted(CONTEXTS))
        room = CONTEXTS[key]
        word = self._ground.add(What.CONTEXT, key, ROOMS[room] if room else MEMBERS, COMMAND)
        self._ground.shared[key] = word
        await self._house.command("context", "set", key, json.dumps({"owner": word.text}))

    async def begin_session(self, person: str = "", visibility: str = "") -> None:
        """A session begins; its folder is its owner's alone, branch and project are shown unless it is hidden.

        Its topic is shown where its key says so.
        """
        person = person or self._any(sorted(EVERYBODY))
        visible = Visibility(visibility or self._any(sorted(Visibility)))
        hides = visible is Visibility.HIDDEN
        remembers, name = self._ground.chance.random() < 0.7, f"session-{len(self._sessions)}"  # most do
        keys = KeyAdmin(self._database, self._house.clock, "root")
        _, key = await keys.add(user_id(person), visible, remember=remembers)
        hearers = frozenset({person}) | (frozenset() if hides else MEMBERS)
        branch = self._ground.add(What.BRANCH, name, hearers, ADMIN, COMMAND, owner=person)
        folder = self._ground.add(What.FOLDER, name, frozenset({person}), ADMIN, COMMAND, owner=person)
        project = self._ground.add(What.PROJECT, name, hearers, ADMIN, COMMAND, owner=person)
        told = hearers if visible is Visibility.TOPIC else frozenset({person})
        topic = self._ground.add(What.TOPIC, name, told, ADMIN, COMMAND, owner=person)
        shown = not hides and person != GUEST
        made = SessionThere(name, person, key, branch, folder, project, shown=shown, remembers=remembers)
        self._sessions.append(made)
        await self._report(made, "SessionStart", source="startup", session_title=f"about {topic.text}")

    async def speak_in_session(self) -> None:
        """Something is said in a session: by its owner, by its model, to the soul, and what it has kept."""
        one = self._any(self._sessions)
        own = frozenset({one.person})
        hearers = own if one.remembers else frozenset[str]()
        words = [self._ground.add(What.SPOKEN, one.name, hearers, one.name) for _ in range(3)]
        prompt, answer, summary = (f"the {word.topic} belongs to {word.text}" for word in words)
        await self._report(one, "UserPromptSubmit", prompt=prompt, prompt_id="p")
        await self._report(one, "Stop", last_assistant_message=answer, stop_hook_active=False, prompt_id="p")
        await self._report(one, "PostCompact", trigger="auto", compact_summary=summary)
        asked, kept = (self._ground.add(What.SPOKEN, one.name, own, one.name) for _ in range(2))
        await self._door.tool(one.key, "ask_soul", message=f"the {asked.topic} belongs to {asked.text}")
        await self._door.tool(one.key, "remember", text=f"the {kept.topic} belongs to {kept.text}")

    async def send_note(self) -> None:
        """The admin sends a soul a note whose answer, too, only some may know."""
        room = self._any(["open", "closed", "dm of Ada", "dm of Ben"])
        word = self._ground.add(What.NOTE, room, hearers_of(room))
        self._house.clock.turn(_NOTES_REST_S)
        store, budget = NoteStore(self._database, self._house.clock, TEAM), NoteBudget()
        words = f"the {word.topic} belongs to {word.text}"
        audience = Audience.parse(self._audience(room))
        await send_as_admin(store, TEAM, self._any(["tess", "rolf"]), words, audience=audience, budget=budget)
        await self._house.idle()

    async def ask_session(self) -> None:
        one = self._any([found for found in self._sessions if found.shown])
        room = self._any([name for name in ("open", "closed", f"dm of {one.person}") if one.person in ROOMS[name]])
        asked, told = (self._ground.add(What.ASKED, room, hearers_of(room), owner=one.person) for _ in range(2))
        rows = json.loads(await self._door.get(one.key, "/api/sessions"))
        name = next(row["name"] for row in rows if row["id"] == one.name)
        read = await self._answered(one.person, room, f"ask {name}: what of {asked.text}?")
        if "reads it as soon as" not in read:  # it was asked too often within the hour
            return
        *_, note = json.loads(await self._door.get(one.key, f"/api/sessions/{one.name}/notes"))
        path = f"/api/sessions/{one.name}/notes/{note['id']}/answer"
        await self._door.post(one.key, path, {"text": f"it is {told.text}"})
        await self._house.reply(self._ids[room], told.text)
        await self._house.idle()

    async def hand_over(self) -> None:
        """A thread of a private room goes to the other soul, which knows from then on what was said there."""
        word, room = self._ground.add(What.SAID, "closed", hearers_of("closed")), self._ids["closed"]
        ts = await self._house.say("Ada", room, f"@soul the {word.topic} belongs to {word.text}")
        await self._house.reply(room, word.text)
        await self._house.idle()
        await self._house.say("Ada", room, "@soul hand this thread to Rolf", thread=ts)
        await self._house.reply(room, "From now on I answer here")
        await self._house.idle()
        await self._house.answered("Ben", room, f"@soul whose is the {word.topic}?", thread=ts)

    # -- what is shown ------------------------------------------------------------------------------------------------

    async def ask(self, count: Count) -> None:
        """Ask by some way, and judge what is shown."""
        count.probes += 1
        text, ear, useful = await self._any(self._ways_out)()
        if useful:
            count.useful += 1
            count.recalled += all(one.text in text for one in useful)
        leaks = [word for word in self._ground.words if word.text in text and not word.known_at(ear)]
        count.leaks += [f"{word} was shown at {ear}" for word in leaks]
        count.leaks += [f"the key of {one.name} was shown at {ear}" for one in self._sessions if one.key in text]

    def look_for_keys(self, count: Count) -> None:
        """No key and no token stands in a prompt, in what is logged, or in memory.db."""
        files = b"".join(path.read_bytes() for path in self._house.settings.home.glob("memory.db*"))
        kept = {"prompts": "".join(map(shown, self._house.prompts)), "log": str(self._house.events.emitted)}
        for where, text in {**kept, "memory.db": files.decode(errors="replace")}.items():
            for secret in (TOKEN, *(one.key for one in self._sessions)):
                if secret in text:
                    count.leaks.append(f"{secret[:8]}… stands in {where}")

    async def _in_room(self) -> Shown:
        room = self._any(sorted(ROOMS))
        word, ear = self._ground.said_in(room), room_ear(room)
        text = await self._answered(self._any(sorted(ROOMS[room])), room, f"whose is the {word.topic}?")
        return text, ear, [word, *self._ground.shared_with(ear)]

    async def _asks_for_words_of_a_session(self) -> Shown:
        """Its owner is shown them in their direct messages alone, if they are kept; a guest nowhere."""
        word = self._any([one for one in self._ground.words if one.what is What.SPOKEN])
        room = self._any(sorted(ROOMS))
        text = await self._answered(self._any(sorted(ROOMS[room])), room, f"whose is the {word.topic}?")
        ear = room_ear(room)
        return text, ear, [word] if ear.readers == word.hearers and ear.readers <= MEMBERS else []

    async def _who_works(self) -> Shown:
        room = self._any(sorted(ROOMS))
        text = await self._answered(self._any(sorted(ROOMS[room])), room, "who is working on what?")
        ear = room_ear(room)
        return text, ear, [one.branch for one in self._sessions if one.shown and ear.readers <= MEMBERS]

    async def _all_contexts(self) -> Shown:
        key, ear = self._program()
        return await self._door.get(key, "/api/shared-context"), ear, self._ground.shared_with(ear)

    async def _one_context(self) -> Shown:
        key, ear = self._program()
        asked = self._any(sorted(CONTEXTS))
        useful = [one for one in self._ground.shared_with(ear) if one.where == asked]
        if self._ground.chance.random() < 0.5 and ear.owner:  # by either way
            return await self._door.tool(key, "context_get", key=asked), ear, useful
        return await self._door.get(key, f"/api/shared-context/{asked}"), ear, useful

    async def _own_sessions(self) -> Shown:
        key, ear = self._program()
        own = [one.branch for one in self._sessions if ear.owner in {"", one.person}]
        return await self._door.get(key, "/api/sessions"), ear, own

    async def _presence(self) -> Shown:
        key, ear = self._program()
        return await self._door.get(key, "/api/shared-context/souls/presence"), ear, []

    async def _recall(self) -> Shown:
        one, word = self._any(self._sessions), self._ground.said_in(self._any(sorted(ROOMS)))
        useful = [word] if word.where == "open" and one.person != GUEST else []
        return await self._door.tool(one.key, "recall", query=f"whose is the {word.topic}?"), one.ear, useful

    async def _ask_soul(self) -> Shown:
        one, word = self._any(self._sessions), self._ground.said_in(self._any(sorted(ROOMS)))
        useful = [word] if word.where == "open" and one.person != GUEST else []
        return await self._door.tool(one.key, "ask_soul", message=f"whose is the {word.topic}?"), one.ear, useful

    async def _working_on(self) -> Shown:
        one = self._any(self._sessions)
        useful = [other.branch for other in self._sessions if other.shown and one.person != GUEST]
        return await self._door.tool(one.key, "working_on"), one.ear, useful

    async def _begins(self) -> Shown:
        one = self._any(self._sessions)
        text = await self._report(one, "SessionStart", source="compact")
        return text, one.ear, self._ground.shared_with(one.ear)

    async def _command(self) -> Shown:
        text = await self._house.command(*self._any(_COMMANDS))
        return text, Ear(COMMAND, EVERYBODY), []

    # -- by whom ------------------------------------------------------------------------------------------------------

    def _program(self) -> tuple[str, Ear]:
        if self._ground.chance.random() < 0.2:  # now and then
            return TOKEN, Ear(ADMIN, MEMBERS)
        one = self._any(self._sessions)
        return one.key, one.ear

    async def _answered(self, person: str, room: str, text: str) -> str:
        if room.startswith("dm of"):
            return await self._house.answered(person, "dm", text)
        return await self._house.answered(person, self._ids[room], f"@soul {text}")

    async def _report(self, one: SessionThere, hook: str, **fields: object) -> str:
        return await self._door.report(one, hook, self._house.clock.now_ms(), **fields)

    def _audience(self, room: str) -> str:
        if room == "open":
            return f"workspace:{TEAM}"
        return f"{'dm' if room.startswith('dm of') else 'channel'}:{self._ids[room]}"

    @property
    def _database(self) -> Database:
        assert self._house.daemon is not None
        assert self._house.daemon.built is not None
        return self._house.daemon.built.store.database

    def _any(self, some: Sequence[T]) -> T:
        return self._ground.chance.choice(some)
