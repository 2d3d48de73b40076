"""A thread goes to another soul and a session is asked, while the daemon is killed at one named point of either.

`python -m tests.kill joined` kills at every point that they pass; the last line is the figure.
"""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from daemon.core.ports.services import SystemClock
from daemon.core.sessions import Visibility
from daemon.local_slack.model import WorkspaceMessage
from daemon.local_slack.people_acting import PeopleActing
from daemon.memory.database import open_database
from daemon.memory.shared.keys import KeyAdmin
from tests.hooks.client import Client, Ran
from tests.journeys.problems import YES
from tests.journeys.souls import write_soul
from tests.kill.loop import KillStage, alive, stage
from tests.kill.scenes import LEASE, POSTED
from tests.kill.verdict import Figure, Watch, replies

GIVEN, TAKEN = "From now on Rolf answers here", "From now on I answer here in place of"
BOUND = "From now on what"
_WITHIN_S: Final = 120.0
_AGAIN_S: Final = 5.0  # after which Ada clicks again
_AN_HOUR: Final = 18  # questions to one session; 20 are the most
_IDLE: Final = f"SELECT {POSTED}"


@dataclass
class Harm(Figure):
    """What must not be, counted over all plays."""

    FAULTS: ClassVar = ("answered_twice", "lost_silently", "without_consent", "handed_wrong")
    plays: int = 0
    cuts: int = 0
    answered_twice: int = 0
    lost_silently: int = 0
    without_consent: int = 0
    handed_wrong: int = 0


class Joined:
    """One workspace with two souls in one daemon, and Ada's session. Where the daemon is dead, another is started."""

    def __init__(self, on: KillStage) -> None:
        self.harm = Harm()
        self._home, self._workspace, self._daemons = on.home, on.workspace, on.daemons
        self._acting = PeopleActing(on.workspace.workspace)
        self._pid, self._watch = 0, Watch(on.home)
        self._client: Client
        self._name = self._session = ""
        self._asked = 0
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._settings = {"http": True, "http_port": port, "souls": ["rolf"]}

    async def begin(self) -> None:
        """Start a daemon, and have a session of Ada's begin."""
        write_soul(self._home, "rolf", shown="Rolf", personality="You are Rolf, a sailor.")
        await self._spawn()
        await self._until(lambda: self._holds("SELECT count(*) FROM presence WHERE state = 'connected'"))
        clock = SystemClock()
        async with open_database(self._home / "memory.db", clock, create=False) as database:
            _, key = await KeyAdmin(database, clock, "root").add("U0ADA", Visibility.PROJECT)
        self._client = Client(self._home / "api", self._url, key)

    async def hands_over(self, crash: str = "") -> bool:
        """A thread goes to Rolf, who answers there then; gives whether the daemon died of it."""
        first = self._say("U0BEN", f"@soul please, thread {self.harm.plays}")
        await self._until(lambda: len(self._posts(first)) == 1 and self._holds(_IDLE))
        doomed = await self._armed(crash)
        self._say("U0BEN", "@soul hand this thread to Rolf", first)
        await self._until(lambda: {GIVEN, TAKEN} <= self._heads(first) and self._holds(_IDLE))
        self._say("U0BEN", "@soul please go on", first)
        await self._until(lambda: self._answers_of("rolf", first) >= 1 and self._holds(_IDLE))
        posts, twice = self._posts(first), self._answers_of("rolf", first) - 1
        said = [sum(post.text.startswith(head) for post in posts) for head in (GIVEN, TAKEN)]
        self.harm.answered_twice += twice
        self.harm.handed_wrong += said != [1, 1] or len(posts) != 4 + twice
        return self._played(doomed)

    async def asks(self, crash: str = "") -> bool:
        """Ben asks Ada's session, she clicks, it answers; gives whether the daemon died of it."""
        words = await self._question()
        doomed = await self._armed(crash)
        first = await self._put(words)
        self.harm.without_consent += words in await self._turn(f"before {self.harm.plays}", "too early")
        await self._clicked(words)
        await self._answered(words)
        await self._said_once(first, handed=False)
        return self._played(doomed)

    async def hands_over_while_asked(self, crash: str = "") -> bool:
        """Ben asks, Ada clicks, the thread goes to Rolf, the session answers; gives whether the daemon died of it."""
        words = await self._question()
        first = await self._put(words)
        await self._clicked(words)
        doomed = await self._armed(crash)
        self._say("U0BEN", "@soul hand this thread to Rolf", first)
        await self._until(lambda: {GIVEN, TAKEN} <= self._heads(first))
        await self._answered(words)
        await self._said_once(first, handed=True)
        return self._played(doomed)

    async def speaks_bound(self, crash: str = "") -> bool:
        """Ada binds a thread, says something there, and her session answers; gives whether the daemon died of it."""
        words = await self._question()
        first = self._say("U0ADA", f"@soul bind {self._name} here")
        await self._until(lambda: bool(self._found(first, BOUND)) and self._holds(_IDLE))
        doomed = await self._armed(crash)
        self._say("U0ADA", words, first)
        await self._answered(words)
        await self._said_once(first, handed=False)
        self.harm.handed_wrong += len(self._posts(first)) != 2
        return self._played(doomed)

    async def end(self) -> None:
        """Kill the last daemon."""
        self._watch.close()
        await self._daemons.end(self._pid)

    # -- daemons ------------------------------------------------------------------------------------------------------

    async def _spawn(self, crash: str = "") -> None:
        self._watch.close()
        passed = str(self._home / "passed")
        self._pid = await self._daemons.spawn(crash=crash, passed=passed, lease=LEASE, settings=self._settings)

    async def _armed(self, crash: str) -> int:
        """A new daemon, which dies at a point."""
        await self.end()
        await self._spawn(crash)
        return self._pid

    def _played(self, doomed: int) -> bool:
        died = not alive(doomed)
        self.harm.plays += 1
        self.harm.cuts += died
        return died

    async def _until(self, holds: Callable[[], bool], within: float = _WITHIN_S) -> None:
        """Wait until it holds, and start a daemon where none lives. Raises TimeoutError."""
        async with asyncio.timeout(within):
            while not holds():
                if not alive(self._pid):
                    await self._spawn()
                await asyncio.sleep(0.02)  # neither a file nor a process has events here

    # -- people and the session ---------------------------------------------------------------------------------------

    def _say(self, person: str, text: str, thread: WorkspaceMessage | None = None) -> WorkspaceMessage:
        speaker = self._workspace.workspace.state.people[person]
        return self._acting.say(speaker, "general", text, thread=thread.ts if thread else "")

    async def _question(self) -> str:
        """The words of the next question, to a session that can be asked."""
        if not self._asked % _AN_HOUR:
            await self._begin_session()
        self._asked += 1
        return f"what is number {self.harm.plays}?"

    async def _put(self, words: str) -> WorkspaceMessage:
        """Ben asks, once: a daemon that just began waits until it knows who reads."""
        first = self._say("U0BEN", f"@soul ask {self._name}: {words}")
        await self._until(lambda: self._button(words) is not None)
        return first

    async def _answered(self, words: str) -> None:
        """The session answers, in one of its next turns: a daemon that just began may hand it nothing for a while."""
        answered = f"SELECT count(*) FROM shared_messages WHERE state = 'answered' AND words = '{words}'"
        number, turns = self.harm.plays, itertools.count()
        async with asyncio.timeout(_WITHIN_S):
            while not self._holds(answered):
                await self._turn(f"{number} {next(turns)}", f"It is {number}.")

    async def _said_once(self, first: WorkspaceMessage, *, handed: bool) -> None:
        """Wait for the answer in the thread; it is to stand there once, said by Rolf if he has it."""
        answer = f"It is {self.harm.plays}."
        await self._until(lambda: bool(self._found(first, answer)) and self._holds(_IDLE))
        answers = self._found(first, answer)
        own = self._own_posts("rolf")
        self.harm.answered_twice += len(answers) - 1
        self.harm.handed_wrong += any((one.ts in own) is not handed for one in answers)

    async def _clicked(self, words: str) -> None:
        """Ada clicks, and again where nothing came of it."""
        decided = f"SELECT count(*) FROM shared_messages WHERE state <> 'held' AND words = '{words}'"
        ada = self._workspace.workspace.state.people["U0ADA"]
        while not self._holds(decided):
            button = self._button(words)
            assert button is not None
            self._acting.click(ada, "dm", button.ts, YES)
            with suppress(TimeoutError):
                await self._until(lambda: self._holds(decided), _AGAIN_S)

    async def _begin_session(self) -> None:
        """The next session of Ada's begins, in the process of the one before."""
        self._session = f"s{self._asked}"
        mine = f"SELECT name FROM sessions WHERE id = '{self._session}' AND state <> 'gone'"
        await self._report("SessionStart", source="startup")
        while not self._watch.rows(mine):  # the daemon was busy, and its script kept the event
            await self._report("UserPromptSubmit", prompt_id="p")
        self._name = str(self._watch.rows(mine)[0][0])

    async def _report(self, hook: str, **fields: object) -> Ran:
        event = {"session_id": self._session, "hook_event_name": hook, "cwd": str(self._client.home)}
        return await self._client.run(event | fields)

    async def _turn(self, turn: str, answer: str) -> str:
        """A turn of the session, which answers where it is handed something; gives what it was handed."""
        await self._until(lambda: alive(self._pid))
        await self._report("UserPromptSubmit", prompt_id=turn)
        read = (await self._report("Stop", prompt_id=turn, stop_hook_active=False)).context
        if read:
            await self._report("Stop", prompt_id=turn, stop_hook_active=True, last_assistant_message=answer)
        return read

    # -- what is there ------------------------------------------------------------------------------------------------

    def _button(self, words: str) -> WorkspaceMessage | None:
        posts = [post for post in replies(self._workspace) if words in str(post.blocks) and YES in str(post.blocks)]
        return posts[-1] if posts else None

    def _posts(self, first: WorkspaceMessage) -> list[WorkspaceMessage]:
        return [post for post in replies(self._workspace) if post.thread_ts == first.ts]

    def _heads(self, first: WorkspaceMessage) -> set[str]:
        return {head for post in self._posts(first) for head in (GIVEN, TAKEN) if post.text.startswith(head)}

    def _found(self, first: WorkspaceMessage, words: str) -> list[WorkspaceMessage]:
        return [post for post in self._posts(first) if words in f"{post.text} {post.blocks}"]

    def _answers_of(self, soul: str, first: WorkspaceMessage) -> int:
        """How many posts of a soul stand in a thread, without the one by which it took over."""
        own = self._own_posts(soul)
        return sum(post.ts in own and not post.text.startswith(TAKEN) for post in self._posts(first))

    def _own_posts(self, soul: str) -> set[object]:
        rows = self._watch.rows(f"SELECT platform_ts FROM outbox WHERE conversation LIKE '{soul}/%' AND state = 'sent'")
        return {row[0] for row in rows}

    def _holds(self, sql: str) -> bool:
        return self._watch.count(sql) > 0


@asynccontextmanager
async def joined(home: Path) -> AsyncIterator[Joined]:
    """A workspace with a daemon, where a session has begun."""
    async with stage(home, 0) as on:
        play = Joined(on)
        await play.begin()
        yield play
        await play.end()


async def every_point(home: Path) -> Harm:
    """Play each once for its points, and then once for each of them."""
    async with joined(home) as play:
        for scene in (play.hands_over, play.asks, play.hands_over_while_asked, play.speaks_bound):
            passed = home / "passed"
            passed.unlink(missing_ok=True)
            await scene()
            for place in sorted(set(passed.read_text(encoding="utf-8").split())):
                print(f"{scene.__name__} {place} died={await scene(place)} {play.harm}", flush=True)
        return play.harm
