"""The arms whose memories are records: facts, episodes with their journal, senses, and what is made of several."""

from random import Random

from daemon.core.errors import StoreError
from daemon.core.ports.services import FileKind, ReadFile, SharedFile
from daemon.memory.admin.remembered import facts_for, readers_at
from daemon.memory.database import Transaction
from daemon.memory.knowledge.episodes import Closing, Episodes
from daemon.memory.knowledge.learning import Learned, Learning, Proved, TurnRange
from daemon.memory.knowledge.records.kinds import Core, Episode, Sense, StructuredSummary, Trust, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation, common_of, origin_of
from daemon.memory.knowledge.records.store import get, put
from daemon.memory.knowledge.senses import Senses
from daemon.memory.knowledge.shared_files import SenseBytes, store_files
from daemon.memory.knowledge.user_models import UserModels
from daemon.memory.knowledge.visits import VisitNote, note_visit
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.remembering import Remembered
from tests.leaks.arms import NOTHING, Arm, AskedThere, Home, SaidThere
from tests.leaks.ground import PEOPLE
from tests.leaks.slack import user_id


class Facts(Arm):
    """Facts with their quotations: as they surface, as notes about people, and as their person asks for them."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._models = UserModels(home.database, home.clock, home.worker)
        self._learning = Learning(home.database, home.clock, home.worker)
        self._known = KnownOfPerson(home.database, home.clock, home.worker)

    async def keep(self, said: SaidThere) -> None:
        """Learn it from its turn, with a guess beside it."""
        audience, text = said.readers.audience, said.remark.text
        model = await self._models.model(said.person, audience)
        assert model is not None
        assert await self._learning.revise(
            said.person,
            audience,
            Learned(added=(Proved(text, said.seq, text),), whispers=f"wants us to know that {text}"),
            expected_version=model.version,
            source=TurnRange(said.where, said.seq, said.seq),
            most_lost=1.0,
            trace_id="t",
        )

    async def reached(self, asked: AskedThere) -> str:
        """Besides what surfaces: the notes and guesses about everybody, and the answer to *what do you know*."""
        where, readers, shown = asked.where, asked.readers, [await super().reached(asked)]
        for person in map(user_id, PEOPLE):
            for model in await self._models.known(person, readers, where):
                shown += [*model.notes, model.whispers]
        for fact in await self._known.facts(asked.person, readers, where):
            shown.append(fact.text)
            shown += [one.quote for one in await self._known.evidence(fact.id, readers, where)]
        if readers.members_only:
            shown.append(str(await self._known.export(asked.person, readers, where)))
        return "\n".join(shown)


class Claims(Facts):
    """What people have the soul note that is not about themselves, as it surfaces and as they may look at it."""

    async def keep(self, said: SaidThere) -> None:
        """They ask for it where they said it; of the words themselves nothing else holds them."""
        asker = Asker(said.person, said.where, said.readers.audience, said.perception.ts)
        noted, now = Remembered(said.remark.text, quote=NOTHING, claim=True), self.home.clock.now_ms()
        await self.home.database.write(lambda transaction: noted.perform(transaction, asker, now))


class Command(Facts):
    """`soul memory search` and `soul memory facts`, which know of readers what memory.db knows."""

    afterwards = True
    recall = 0.8  # whoever joined or changed is unknown until the next reply

    async def shown(self, asked: AskedThere) -> str:
        known = await self._by_file(asked)
        return await super().shown(known) if known else ""

    async def reached(self, asked: AskedThere) -> str:
        known = await self._by_file(asked)
        if known is None:
            return ""
        facts = await self.home.database.read(lambda transaction: facts_for(transaction, known.where, known.readers))
        return "\n".join((await super().reached(known), *(one.fact.text for one in facts)))

    async def _by_file(self, asked: AskedThere) -> AskedThere | None:
        async def unit(transaction: Transaction) -> AskedThere:
            where, readers = await readers_at(transaction, asked.where.soul, asked.person, asked.where.channel)
            return AskedThere(asked.query, where, readers, asked.person)

        try:
            return await self.home.database.read(unit)
        except StoreError:
            return None


class Visits(Arm):
    """Closed episodes with what is left to do, and the soul's journal."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._episodes = Episodes(home.database, home.clock, home.worker)

    async def keep(self, said: SaidThere) -> None:
        """The remark is a visit of its own, and looked through at once."""
        note = VisitNote("Minoan", ends=True, opens=True)
        now = self.home.clock.now_ms()
        await self.home.database.write(lambda transaction: note_visit(transaction, said.where, note, 1, now))
        for visit in await self._episodes.ended(said.where):
            closing = Closing(
                StructuredSummary(content=said.remark.text),
                WorkflowState(current_task=said.remark.text),
                journal=f"I wonder why {said.remark.text}",
            )
            assert await self._episodes.close(visit, closing)

    async def reached(self, asked: AskedThere) -> str:
        """What a cycle thinks of before it answers, too."""
        shown = [await super().reached(asked)]
        if asked.readers.members_only:
            shown.append(str(await self._episodes.in_mind(asked.where, asked.readers.audience)))
            shown += [one.text for one in await self._episodes.journal(asked.where, asked.readers, 100)]
        return "\n".join(shown)


class Files(Arm):
    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._senses = Senses(home.database, home.clock, SenseBytes(home.folder), 0)

    async def keep(self, said: SaidThere) -> None:
        """The turn shows a file with these words, which is read at once."""
        now, text = self.home.clock.now_ms(), said.remark.text
        shared = SharedFile(f"F{said.seq}", "notes.txt", "text/plain", 9, "https://files.slack.com/x")
        await self.home.database.write(
            lambda transaction: store_files(transaction, str(said.where), said.perception.ts, [shared], now)
        )
        (waiting,) = await self._senses.unrecorded(said.where)
        await self._senses.keep(waiting, ReadFile(FileKind.DOCUMENT, "text/plain", text))
        (read,) = await self._senses.unrecorded(said.where)
        sense = Sense(
            soul=said.where.soul,
            workspace=said.where.workspace,
            audience=said.readers.audience,
            channel=said.where.channel,
            conversation=str(said.where),
            person=said.person,
            trust=Trust.DOCUMENT,
            text=text,
            at_ms=now,
            data_type="document",
            raw_data_ref=f"{said.seq:064x}",
        )
        assert await self._senses.record(read, sense)

    async def reached(self, asked: AskedThere) -> str:
        picture = await self._senses.picture_about(asked.where, asked.readers, asked.query)
        return "\n".join((await super().reached(asked), picture.text if picture else ""))


class Derived(Arm):
    """Cores, each made of two memories, also of two rooms: only those hear it who may hear both."""

    recall = 0.0  # most memories are made into none

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._chance = Random("which are made into one")  # no secret
        self._made: list[str] = []

    async def keep(self, said: SaidThere) -> None:
        """The remark is an episode, and what it has in common with an earlier one is a core."""
        now = self.home.clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            own = await origin_of(transaction, said.turn)
            assert own is not None
            made = Episode(
                soul=said.where.soul,
                workspace=said.where.workspace,
                audience=own.audience,
                channel=own.channel,
                trust=Trust.INFERRED,
                text="",
                at_ms=now,
                state="closed",
                summary=StructuredSummary(content=said.remark.text),
            )
            made = await put(transaction, made, now, [Link("", Relation.TURN_REFS, said.turn)])
            await self._make(transaction, [made.id, *self._chance.sample(self._made, k=min(1, len(self._made)))], now)
            self._made.append(made.id)

        await self.home.database.write(unit)

    async def _make(self, transaction: Transaction, sources: list[str], now: int) -> None:
        records = [one for source in sources if isinstance(one := await get(transaction, source), Episode)]
        origin = await common_of(transaction, [one.id for one in records])
        if origin is None or len(records) == 1:
            return
        first = records[0]
        core = Core(
            soul=first.soul,
            workspace=first.workspace,
            audience=origin.audience,
            channel=origin.channel,
            trust=Trust.INFERRED,
            text=" and ".join(one.summary.content for one in records),
            at_ms=now,
            state="closed",
        )
        await put(transaction, core, now, [Link("", Relation.SOURCES, one.id) for one in records])
