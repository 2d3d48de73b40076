"""Sixty questions over a small library and earlier talk, and how long the search takes over very much talk."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.hands import grade, load
from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Bot, Stage, stage
from bench.thinker import tagged
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place, Readers
from daemon.core.ports.services import SystemClock
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing

_ENOUGH: Final = 55
_WITHIN: Final = 30.0
_TURNS: Final = 100_000
_AT_ONCE: Final = 400  # turns that are stored in one unit
_DMS: Final = 40
_ASKED: Final = 200
_WORDS_OF_A_TURN: Final = 20
_VOCABULARY: Final = 30_000
_EVERYBODY: Final = Audience(AudienceKind.WORKSPACE, "T1")


async def measure(bench: Bench) -> list[Row]:
    """What the questions find, what that costs in tokens, and the time of a search."""
    return [*await _questions(), *await _times(bench.size(_TURNS, _TURNS // 10))]


@dataclass(slots=True)
class _Witness:
    """A model that keeps each prompt and always answers the same; it implements `Answering`."""

    prompts: list[str] = field(default_factory=list)

    def answer(self, body: Mapping[str, Any]) -> tuple[str, None]:
        """The answer; the prompt is kept."""
        self.prompts.append("\n".join(str(message["content"]) for message in body["messages"]))
        return tagged("Noted.", "Well."), None


class _Asked(Value):
    """The workspace of the measurement."""

    set_up: Stage
    witness: _Witness

    async def tell(self, room: str, person: str, text: str) -> None:
        """See `Workspace.tell`."""
        words = text if room == "dm" else f"@soul {text}"
        await self.set_up.reply_to(await self.set_up.say(person.lower(), room, words), _WITHIN)

    async def ask(self, room: str, person: str, text: str) -> str:
        """See `Workspace.ask`."""
        before = len(self.witness.prompts)
        await self.tell(room, person, text)
        return next(prompt for prompt in self.witness.prompts[before:] if text in prompt)


async def _questions() -> list[Row]:
    corpus, witness = load(), _Witness()
    with tempfile.TemporaryDirectory(prefix="bench-library-") as folder:
        library = ",".join(str(one) for one in corpus.write(Path(folder)))
        async with model_server() as model, stage(Bot.OURS, SOUL_LIBRARY=library, **model.settings) as set_up:
            model.thinker = witness
            await set_up.people.add_person("Dan")
            await set_up.people.join("Dan", "general")
            await set_up.people.add_channel("lab", kind="group", members=["Chloe", "Dan"])
            await set_up.people.add_channel("partners", members=["Chloe", "Dan", "Gus"])
            await set_up.start()
            await set_up.quiet()
            found = await grade(corpus, _Asked(set_up, witness))
    return [
        Row(
            f"questions whose answer is in the prompt, of {found.asked}",
            "",
            found.asked - len(found.missed),
            at_least=_ENOUGH,
            note="; ".join(found.missed),
        ),
        Row("words of closed rooms in prompts for others", "", len(found.leaked), at_most=0),
        Row("what was looked up, median", "tokens", quantile([float(one) for one in found.tokens], 0.5)),
        Row("what was looked up, most", "tokens", max(found.tokens), at_most=700),
    ]


async def _times(turns: int) -> list[Row]:
    """Searches of two kinds of reader over so many turns, half of them in DMs, half in public threads."""
    clock, draw = SystemClock(), random.Random(1)  # noqa: S311 - words to measure with
    words = ["".join(draw.choice("bdfglmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(_VOCABULARY)]
    often = [1 / (place + 5) for place in range(_VOCABULARY)]

    def said() -> str:
        return " ".join(draw.choices(words, often, k=_WORDS_OF_A_TURN))

    took: dict[str, list[float]] = {"a DM": [], "a channel": []}
    with tempfile.TemporaryDirectory(prefix="bench-turns-") as folder:
        async with open_database(Path(folder) / "memory.db", clock) as database:
            began = clock.monotonic()
            for number in range(turns // _AT_ONCE):
                await _store(database, number, [said() for _ in range(_AT_ONCE)])
            stored = (clock.monotonic() - began) * 1000 / turns
            search = Surfacing(database, clock)
            for number in range(_ASKED):
                for name, (where, audience) in {"a DM": _room(0), "a channel": _room(1)}.items():
                    query = " ".join(draw.choices(words, often, k=3 + number % 6))
                    began = clock.monotonic()
                    await search.surface(where, Readers(audience, members_only=True), [query], 5, AlreadyShown())
                    took[name].append((clock.monotonic() - began) * 1000)
    size = f"over {turns:,} turns"
    return [
        *(Row(f"search for {name} {size}, p50", "ms", quantile(times, 0.5), at_most=5) for name, times in took.items()),
        *(Row(f"search for {name} {size}, p95", "ms", quantile(times, 0.95)) for name, times in took.items()),
        Row("storing and indexing a turn", "ms", stored),
    ]


def _room(number: int) -> tuple[ConversationKey, Audience]:
    if number % 2:
        return ConversationKey("ada", "T1", f"C{number % 30}", str(number)), _EVERYBODY
    channel = f"D{number % _DMS}"
    return ConversationKey("ada", "T1", channel), Audience(AudienceKind.DM, channel)


async def _store(database: Database, number: int, bodies: Sequence[str]) -> None:
    where, audience = _room(number)
    turns = [
        Turn((Speaks.PERSON, Speaks.SOUL)[place % 2], "U1", "Ada", str(place), body)
        for place, body in enumerate(bodies)
    ]

    async def unit(transaction: Transaction) -> None:
        await open_conversation(transaction, where, Place.DM, audience, 0)
        await store_turns(transaction, turns, conversation=where, audience=audience, trace_id="t", now=number * 60_000)

    await database.write(unit)
