"""Parts for the tests of subprocesses: a memory.db with a conversation, a mind with a script, and its answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.services import FileKind, Image, ReadFile, SharedFile
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.learning import Learning
from daemon.memory.knowledge.senses import Senses, SentFile
from daemon.memory.knowledge.shared_files import SenseBytes, store_files
from daemon.memory.knowledge.soul_states import ProcessMemories, SoulState, SoulStates
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModel, UserModels, record_encounter
from daemon.memory.knowledge.visits import VisitNote, note_visit
from daemon.memory.records import Worker, as_json
from daemon.mind.cognition import Mind
from daemon.mind.matter import Matter
from daemon.mind.stances import SubprocessContext
from daemon.soul import Notes, Soul
from daemon.soul_engine import build_prompt
from tests.fakes import Events, FakeClock
from tests.models import Script, ScriptedLLM

WORKER = Worker("worker-1", "ada", "T1", 60_000)
SOUL = Soul(
    name="ada",
    display_name="Ada",
    personality="You are Ada.",
    emotional_states=("calm", "glad", "weary"),
    notes=Notes(min_interactions=2, most_lost=0.34, whispers=True),
)
ROOM = ConversationKey("ada", "T1", "C1", "1.0")
DM = ConversationKey("ada", "T1", "D1")
IN_ROOM, IN_DM = Audience(AudienceKind.CHANNEL, "C1"), Audience(AudienceKind.DM, "D1")
Thoughts = Mapping[str, object]
BEES = "I keep bees on the roof"
LEARNED: Thoughts = {"user_model_check": True}
NOT_LEARNED: Thoughts = {"user_model_check": False}


async def _as_they_are(_: ConversationKey, files: Sequence[SentFile]) -> list[SentFile]:
    return list(files)


@dataclass
class SubprocessBench:
    """A memory.db with turns, and a mind with a scripted model."""

    database: Database
    clock: FakeClock
    llm: ScriptedLLM = field(default_factory=ScriptedLLM)
    events: Events = field(default_factory=Events)
    soul: Soul = SOUL

    async def open(self, conversation: ConversationKey, audience: Audience) -> None:
        await self._run(
            "INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)"
            " VALUES (:id, 'ada', 'T1', :channel, :thread, 'dm', :audience, 1)",
            id=str(conversation),
            channel=conversation.channel,
            thread=conversation.thread,
            audience=str(audience),
        )

    async def say(
        self,
        person: str,
        words: str,
        reply: str = "",
        thought: Thoughts = LEARNED,
        *,
        conversation: ConversationKey = DM,
        audience: Audience = IN_DM,
        ts: str = "",
    ) -> None:
        """Store a message and its reply as the commit of a cycle does."""
        ts = ts or f"{self.clock.now_ms()}.{len(words)}{person}"
        await self._turn(conversation, audience, "person", person, f"Name of {person}", ts, words, {})
        if reply:
            await self._turn(conversation, audience, "soul", "ada", "Ada", ts, reply, thought)

        async def met(transaction: Transaction) -> None:
            await record_encounter(
                transaction,
                soul="ada",
                workspace="T1",
                person=person,
                name=f"Name of {person}",
                audience=audience,
                now=self.clock.now_ms(),
                visit_timeout_ms=1000,
            )

        await self.database.write(met)
        await self.clock.advance(1)

    async def visit_over(self, said: int, conversation: ConversationKey = DM) -> None:
        """End a visit that consists of the newest turns, as the commit of a cycle does."""
        note = VisitNote(opens=True, ends=True)
        await self.database.write(
            lambda transaction: note_visit(transaction, conversation, note, said, self.clock.now_ms())
        )

    async def _turn(self, conversation: ConversationKey, audience: Audience, *values: object) -> None:
        names = ("speaker", "author", "name", "ts", "body", "thought")
        given = dict(zip(names, values, strict=True))
        given["thought"] = json.dumps(given["thought"])
        await self._run(
            "INSERT INTO turns (conversation, speaker, author, name, ts, body, thought, audience, trace_id, said_ms)"
            " VALUES (:conversation, :speaker, :author, :name, :ts, :body, :thought, :audience, 't', 1)",
            conversation=str(conversation),
            audience=str(audience),
            **given,
        )

    async def show(self, name: str, conversation: ConversationKey = DM) -> None:
        """Store a picture that the newest message of a user shows, as a cycle has read it."""

        async def unit(transaction: Transaction) -> str:
            row = await transaction.one("SELECT ts FROM turns WHERE speaker = 'person' ORDER BY seq DESC LIMIT 1")
            assert row is not None
            ts: str = row["ts"]
            file = SharedFile("F1", name, "image/png", 120)
            await store_files(transaction, str(conversation), ts, [file], self.clock.now_ms())
            return ts

        [file] = await self.senses.of_messages(conversation, [await self.database.write(unit)])
        image = Image("image/jpeg", b"the bytes of a picture")
        read = ReadFile(FileKind.IMAGE, "image/png", width=640, height=480, color_hex="#c81e28", image=image)
        await self.senses.keep(file, read)

    async def keep(self, matter: Matter, *, process: str = "engaged") -> None:
        await self._run(
            "UPDATE conversations SET process = :process, process_memory = :memory, version = version + 1",
            process=process,
            memory=as_json(matter.to_json()),
        )

    async def _run(self, sql: str, **values: object) -> None:
        await self.database.write(lambda transaction: transaction.run(sql, **values))

    async def rows(self, sql: str) -> list[sqlite3.Row]:
        return await self.database.rows(sql)

    def context(self, conversation: ConversationKey = DM, audience: Audience = IN_DM) -> SubprocessContext:
        soul = self.soul
        mind = Mind(
            llm=self.llm,
            render=lambda known, step: build_prompt(known, step, budgets=soul.budgets, nonce="n0nce"),
            clock=self.clock,
            record=lambda _: None,
            cost=lambda _: None,
            trace_id="t",
        )
        return SubprocessContext(
            mind=mind,
            soul=soul,
            conversation=conversation,
            audience=audience,
            turns=Turns(self.database, self.clock),
            user_models=UserModels(self.database, self.clock, WORKER),
            learning=Learning(self.database, self.clock, WORKER),
            soul_states=SoulStates(self.database, self.clock, WORKER),
            process_memories=ProcessMemories(self.database, self.clock, WORKER),
            senses=self.senses,
            read_files=_as_they_are,
            episodes=Episodes(self.database, self.clock, WORKER),
            clock=self.clock,
            trace_id="t",
            emit=self.events,
        )

    @property
    def senses(self) -> Senses:
        return Senses(self.database, self.clock, SenseBytes(self.database.path.parent), 1_000_000)

    def script(self, *replies: Script) -> None:
        self.llm = ScriptedLLM(*replies)

    @property
    def steps(self) -> list[str]:
        return [prompt.step for prompt in self.llm.prompts]

    async def model(self, person: str = "U1", audience: Audience = IN_DM) -> UserModel:
        found = await UserModels(self.database, self.clock, WORKER).model(person, audience)
        assert found is not None
        return found

    async def state(self, audience: Audience = IN_DM, conversation: ConversationKey = DM) -> SoulState | None:
        return await SoulStates(self.database, self.clock, WORKER).known(audience, conversation)


def notes(
    *add: str,
    quote: str = BEES,
    correct: Mapping[int, str] | None = None,
    retire: tuple[int, ...] = (),
    whispers: str = "",
) -> str:
    """What a model proposes to note, all of it with the same quotation."""
    corrections = [{"line": line, "text": text, "quote": quote} for line, text in (correct or {}).items()]
    additions = [{"text": text, "quote": quote} for text in add]
    ended = [{"line": line, "quote": quote} for line in retire]
    return json.dumps({"add": additions, "correct": corrections, "retire": ended, "whispers": whispers})


def feeling(state: str = "glad", topic: str = "bees", task: str = "find a hive", question: str = "") -> str:
    return json.dumps({"emotional_state": state, "topic": topic, "task": task, "question": question})


async def two_talks(bench: SubprocessBench, thought: Thoughts = LEARNED) -> None:
    await bench.say("U1", "hello", "hello to you", NOT_LEARNED)
    await bench.say("U1", BEES, "how lovely", thought)
