"""What a soul expected and no rule decided, for a model to judge once; its verdicts are kept apart from all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.telemetry import LLMCall
from daemon.memory.database import Transaction
from daemon.memory.records import Turn
from daemon.memory.spending.llm_calls import store_calls
from daemon.memory.worker_store import WorkerStore

_TURNS: Final = 40  # newest ones, by which it is judged
_LASTS_MS: Final = 86_400_000  # a judge that is asked from today on doesn't begin with what is long over


@dataclass(frozen=True, slots=True)
class ToJudge:
    """Something that was expected, and what was said until its time was over, oldest first.

    `audience` is that of the thought that expected it, `read_by` that of the conversation now; `person` spoke last.
    """

    seq: int
    what: str
    conversation: ConversationKey
    audience: Audience
    read_by: Audience
    person: str
    turns: tuple[Turn, ...]


class Judgements(WorkerStore):
    """What one soul expected, to be judged. Each call may raise StoreError."""

    async def take(self) -> ToJudge | None:
        """The oldest that nothing decided, which is judged by nobody else from now on; None without any."""
        now = self._clock.now_ms()
        which = """
            SELECT seq FROM predictions WHERE soul = :soul AND workspace = :workspace AND kind = 'none'
              AND state = 'unresolved' AND judged_ms IS NULL AND what <> '' AND scored_ms > :since
            ORDER BY scored_ms LIMIT 1
            """
        values = {**self._worker.scope, "since": now - _LASTS_MS}
        if not await self._database.rows(which, **values):
            return None

        async def unit(transaction: Transaction) -> ToJudge | None:
            row = await transaction.one(
                f"UPDATE predictions SET judged_ms = :now WHERE seq = ({which}) RETURNING *",  # noqa: S608 - a literal
                now=now,
                **values,
            )
            if row is None:
                return None
            room = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=row["conversation"])
            said = await transaction.rows(
                """
                SELECT * FROM turns WHERE conversation = :id AND said_ms > :made AND said_ms <= :over AND passing = 0
                ORDER BY seq DESC LIMIT :most
                """,
                id=row["conversation"],
                made=row["made_ms"],
                over=row["scored_ms"],
                most=_TURNS,
            )
            turns = tuple(map(Turn.from_row, reversed(said)))
            return ToJudge(
                row["seq"],
                row["what"],
                ConversationKey.parse(row["conversation"]),
                Audience.parse(row["audience"]),
                Audience.parse(room["audience"] if room else row["audience"]),
                next((one["author"] for one in said if one["speaker"] == "person"), ""),
                turns,
            )

        return await self._database.write(unit)

    async def put_back(self, one: ToJudge) -> None:
        """Have it judged later, since nothing may be spent on it now."""
        await self._database.run("UPDATE predictions SET judged_ms = NULL WHERE seq = :seq", seq=one.seq)

    async def keep(self, one: ToJudge, came: bool | None, calls: Sequence[LLMCall]) -> None:
        """Store the verdict, None for none, and the calls that it took.

        It is no outcome like others: it has no surprise, is news to no thought, and no figure of foresight holds it.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await store_calls(transaction, calls)
            if came is not None:
                await transaction.run(
                    """
                    UPDATE predictions SET state = :state, scored_by = 'judge', scored_ms = :now, shown = 1, woken = 1
                    WHERE seq = :seq AND state = 'unresolved' AND what <> ''
                    """,
                    state="hit" if came else "miss",
                    now=now,
                    seq=one.seq,
                )

        await self._database.write(unit)
