"""The pairing routes, by which a machine receives a key without an admin, and the talk of sessions with the soul."""

import asyncio
import secrets
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from aiohttp import web
from pydantic import Field, StringConstraints

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import Refusal, RequestModel, ResponseModel, Scope
from daemon.channels.http.routes import Parameter, route, wait_for
from daemon.channels.http.stream import LiveReplies, Question, ReplyStream, require_words
from daemon.core.concurrency import time_limit
from daemon.core.http import is_loopback
from daemon.core.pairing import CODE
from daemon.core.perception import Audience, ConversationKey, Perception, Place
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Acceptance, NewMessage
from daemon.core.ports.library import StoredReply
from daemon.core.sessions import KeyOwner, Visibility, talk_of
from daemon.core.value import Value

_TABLES: Final = ("/proc/self/net/tcp", "/proc/self/net/tcp6")  # proc(5)
_IN_IPV6: Final = b"\0" * 10 + b"\xff" * 2  # RFC 4291, section 2.5.5.2
_ACCOUNT, _INODE = 7, 9  # fields of a row; the inode is 0 once the program has closed the socket


def asker_at(there: Any, here: Any) -> str:  # noqa: ANN401  # addresses as Python's sockets give them; None once it is closed
    """Return the account of a local program if the kernel lists it, else the address. Reads files.

    `there` and `here` are the two ends of a connection.
    """
    if not there or not here:
        return ""
    if is_loopback(there[0]):
        ends = [[_written(end, wide=wide) for end in (there, here)] for wide in (False, True)]
        for row in _rows():
            if row[1:3] in ends and row[_INODE] != "0":
                return f"account {row[_ACCOUNT]}"
    return str(there[0])


def _written(end: Any, *, wide: bool) -> str:  # noqa: ANN401  # as above
    """Return an address and port in the kernel's form. `wide`: an IPv4 address in the form of IPv6."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in end[0] else socket.AF_INET, end[0])
    if wide and len(packed) == struct.calcsize("I"):
        packed = _IN_IPV6 + packed
    return f"{''.join(f'{word:08X}' for (word,) in struct.iter_unpack('=I', packed))}:{end[1]:04X}"


def _rows() -> Iterator[list[str]]:
    for table in map(Path, _TABLES):
        if table.exists():
            with table.open(encoding="ascii") as lines:
                next(lines)
                yield from map(str.split, lines)


_MOST_WAITING: Final = 40  # machines whose answers wait for a decision


class PairRequest(RequestModel):
    """A machine that asks for a key."""

    machine: Annotated[str, StringConstraints(min_length=1, max_length=80)] = Field(
        description="What the person is shown of it, for instance its name: up to 80 characters."
    )


class PairBegun(ResponseModel):
    """The code that the person writes to the soul, and the secret that fetches the key."""

    code: str = Field(description="The person writes `pair CODE` to the soul, in a direct message in Slack.")
    secret: str = Field(description="Fetches the key, as bearer token. It stays on the machine.")
    soul: str = Field(description="The name of the soul.")
    until_ms: int = Field(description="Until when the code can be typed and decided on.")


class PairWaits(ResponseModel):
    """The person has not decided yet."""

    state: Literal["waits"] = "waits"


class PairKey(ResponseModel):
    """The key, which is shown this once."""

    state: Literal["paired"] = "paired"
    key: str = Field(description="The key. memory.db holds its hash alone.")
    person: str = Field(description="Whose it is: a Slack id.")
    name: str = Field(description="The person's name.")
    visibility: Visibility = Field(description="What others see of its sessions.")
    remember: bool = Field(description="Whether what its sessions ask to be kept is kept.")
    direct: bool = Field(description="Whether its sessions know the person's direct messages with the soul.")


class PairPages:
    """The handlers of pairing. All may raise Refusal, StoreError, and the errors of `MachinesPairing`."""

    def __init__(self, side: DaemonSide) -> None:
        self._pairing = side.pairing
        self._waiting = 0

    @route(
        "POST",
        "/api/pair",
        {200: "The code and the secret."},
        {429: "Ten codes a minute are given out, and twenty may be open; a third of both for one account or address."},
        scope=Scope.FREE,
    )
    async def pair(self, request: web.Request, asked: PairRequest) -> PairBegun:
        """Ask for a key.

        Gives a machine a code and a secret. Its person writes `pair CODE` to the soul in a direct message, is shown
        what the machine calls itself, and decides there by a click what its key may. A code lives for ten minutes. It
        is dead after five wrong tries, and once two people have typed it. Needs no token.
        """
        ends = map(request.get_extra_info, ("peername", "sockname"))
        return PairBegun.model_validate(
            await self._pairing.begin(asked.machine, await asyncio.to_thread(asker_at, *ends))
        )

    @route(
        "GET",
        "/api/pair/{code}",
        {200: "The key, which is shown this once.", 202: "The person has not decided yet; ask again."},
        {
            404: "There is no such code, it is over, or the secret is another.",
            410: "The code gives no key any more; the message says why.",
            422: "That can't be waited for.",
            429: "Forty machines wait already.",
        },
        scope=Scope.FREE,
    )
    async def paired(
        self,
        request: web.Request,
        code: Annotated[str, Parameter("path", "The code, as `BCDF-GHJK`.", CODE.pattern)],
        seconds: Annotated[float, wait_for("a decision")],
    ) -> PairKey | PairWaits:
        """Fetch the key.

        The bearer token is the secret. The key is given once: who fetches it a second time, with the same secret, ends
        it.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not CODE.fullmatch(code) or scheme.lower() != "bearer" or not secret.strip():
            raise Refusal(404, "unknown_code", "There is no such code.", "begin again with POST /api/pair")
        if self._waiting >= _MOST_WAITING:
            raise Refusal(429, "too_many", "So many machines wait now.", "try again", {"Retry-After": "5"})
        self._waiting += 1
        try:
            found = await self._pairing.fetch(code, secret.strip(), seconds)
        finally:
            self._waiting -= 1
        if found is None:
            return PairWaits()
        rights = found.rights
        return PairKey(
            key=found.key,
            person=found.person,
            name=found.name,
            visibility=rights.visibility,
            remember=rights.remember,
            direct=rights.direct,
        )


_TRIES: Final = 8


class SentWords(Value):
    """A message: the words, their author, the author's name, and the audience."""

    words: str
    author: str
    name: str
    audience: Audience


class HttpIntake:
    """The store of messages, which also finds known ones."""

    def __init__(self, side: DaemonSide, intake: Intake) -> None:
        self._side = side
        self._intake = intake
        self._last_ts = 0

    async def known(self, question: Question, words: str) -> StoredReply | None:
        """Return the reply to a known message. Raises Refusal if its text was different, and StoreError."""
        known = await self._side.find_reply(question.conversation, question.message_id)
        if known is not None and known.message != words:
            hint = "give every message an id of its own"
            raise Refusal(409, "other_words", "A message with a different text has this message_id.", hint)
        return known

    async def store(self, question: Question, message: SentWords) -> str:
        """Store a message once and return its ts. Raises Refusal if no free ts was found, StoreError."""
        where = question.conversation
        event = f"{where.channel}/{where.thread}/{question.message_id}"
        for attempt in range(_TRIES):
            ts = self.next_ts()
            perception = Perception.of_message(
                conversation=where,
                ts=ts,
                author=message.author,
                content=message.words,
                place=Place.TERMINAL,
                audience=message.audience,
                name=message.name,
            )
            arrival = NewMessage(
                f"{event}/{attempt}" if attempt else event, perception, addressed=True, message_id=question.message_id
            )
            if await self._intake.accept(arrival) is not Acceptance.DUPLICATE:
                return ts
            # Either the same message came a moment ago, or another message has the same ts.
            if (known := await self.known(question, message.words)) is not None:
                return known.ts
        raise Refusal(503, "busy", "The message could not be stored.", "try again", {"Retry-After": "1"})

    def next_ts(self) -> str:
        """Return seconds with six decimals, as Slack writes them, always larger than the last."""
        self._last_ts = max(self._last_ts + 1, self._side.clock.now_ms() * 1000 + secrets.randbelow(1000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"


_LONGEST_S: Final = 900.0  # seconds; a slower reply is fetched by asking again with the same id
_HOUR_MS: Final = 3_600_000
_MOST_CALLS_WAITING: Final = 10


class SessionTalk:
    """The talk of sessions with the soul. Each key may ask, or have a text stored, a number of times in an hour."""

    def __init__(self, side: DaemonSide, intake: HttpIntake, live: LiveReplies) -> None:
        self._side = side
        self._intake = intake
        self._live = live
        self._counting = asyncio.Lock()
        self._waiting = Counter[str]()

    def conversation(self, owner: KeyOwner, session: str) -> ConversationKey:
        return talk_of(self._side.soul, self._side.workspace, owner, session)

    async def ask(self, owner: KeyOwner, session: str, words: str, message_id: str) -> StoredReply:
        """Send a message and wait for the reply. The same id returns the same reply again, at no cost.

        Raises Refusal, NotDelivered while its owner's DM can't be found, and StoreError.
        """
        with self._waits(owner):
            return await self._ask(owner, session, words, message_id)

    async def keep(self, owner: KeyOwner, session: str, text: str) -> bool:
        """Store a text. Returns False if its owner has paused remembering. Raises as `ask` does."""
        audience = await self._side.sessions.audience(owner)
        async with self._counting:
            await self._require_budget(owner)
            return await self._side.memory.keep(owner, self.conversation(owner, session), text, audience)

    async def _ask(self, owner: KeyOwner, session: str, words: str, message_id: str) -> StoredReply:
        question = Question(self.conversation(owner, session), message_id or secrets.token_urlsafe(16))
        again = f"ask again with the id {question.message_id} and the same words"
        known = await self._intake.known(question, words) if message_id else None
        with self._live.reader(question.conversation, known.ts if known else self._intake.next_ts()) as reader:
            if known is None:
                reader.ts = float(await self._say(question, owner, words))
            try:
                async with time_limit(self._side.clock, _LONGEST_S):
                    reply = await ReplyStream(question, self._side, self._live).reply(reader)
            except TimeoutError:
                raise Refusal(504, "too_slow", "The soul has not answered yet.", again) from None
        if reply is None:
            raise Refusal(503, "stopping", "The daemon is stopping.", again)
        require_words(reply)
        return reply

    async def _say(self, question: Question, owner: KeyOwner, words: str) -> str:
        audience = await self._side.sessions.audience(owner)
        name = f"{owner.name}'s session" if owner.name else "the admin's session"
        async with self._counting:  # else concurrent calls could pass the budget together
            await self._require_budget(owner)
            return await self._intake.store(question, SentWords(words, owner.author, name, audience))

    async def _require_budget(self, owner: KeyOwner) -> None:
        hourly = self._side.settings.session_hourly
        if await self._side.memory.asked(owner, self._side.clock.now_ms() - _HOUR_MS) >= hourly:
            message = f"This key asked or had texts kept {hourly} times within an hour, which is the most."
            raise Refusal(429, "over_budget", message, "try again later; recall costs nothing")

    @contextmanager
    def _waits(self, owner: KeyOwner) -> Iterator[None]:
        """Count a question of a key until it is answered. The admin's token has no limit."""
        if owner.key and self._waiting[owner.key] >= _MOST_CALLS_WAITING:
            message = f"{_MOST_CALLS_WAITING} questions of this key wait for their replies, which is the most."
            raise Refusal(429, "too_many", message, "ask again once one of them is answered")
        self._waiting[owner.key] += 1
        try:
            yield
        finally:
            self._waiting[owner.key] -= 1
            self._waiting += Counter()  # drops keys with a count of zero
