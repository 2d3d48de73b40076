"""The arms that tell of others' words: what *why* leads to, and sessions of Claude Code."""

from daemon.core.perception import AudienceKind
from daemon.core.sessions import HookEvent, KeyOwner, SessionWords, talk_of
from daemon.memory.database import Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.reasons import Ear, Reasons
from daemon.memory.shared.session_words import keep_said
from tests.leaks.arms import NOTHING, SOUL, Arm, AskedThere, Home, SaidThere
from tests.leaks.ground import Remark, dm_of
from tests.leaks.record_arms import Facts
from tests.leaks.slack import TEAM

_MEMORIES = 20  # of one reply
_HOOKS = ("UserPromptSubmit", "Stop", "PostCompact")


class Why(Facts):
    """Replies rested on facts of all rooms: asked why, the soul shows what may be heard, whatever changed since."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._reasons = Reasons(home.database)
        self._memories: list[tuple[str, str]] = []
        self._replies: dict[str, str] = {}

    async def keep(self, said: SaidThere) -> None:
        """Learn it, and let the soul say the newest ones in one reply."""
        await super().keep(said)
        row = await self.home.database.one("SELECT id FROM records ORDER BY seq DESC LIMIT 1")
        assert row is not None
        self._memories.append((row["id"], said.remark.text))
        some, trace, now = self._memories[-_MEMORIES:], f"why {said.seq}", self.home.clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            for place, (memory, _) in enumerate(some, 1):
                await transaction.insert("surfaced", trace_id=trace, id=memory, mark=f"m{place}", score=1.0, at_ms=now)
            body = " ".join(f"{text.capitalize()} [m{place}]." for place, (_, text) in enumerate(some, 1))
            (seq,) = await store_turns(
                transaction,
                [Turn(Speaks.SOUL, SOUL, SOUL, f"{said.perception.ts}1", body)],
                conversation=said.where,
                audience=said.readers.audience,
                trace_id=trace,
                now=now,
            )
            return seq

        self._replies[said.remark.topic] = f"TL_{await self.home.database.write(unit)}"

    async def shown(self, asked: AskedThere) -> str:
        """What bears the sentences of the reply that says it; the sentences themselves were read before."""
        return await self._why(asked, self._replies[asked.query.split()[-1].rstrip("?")])

    async def reached(self, asked: AskedThere) -> str:
        return await self._why(asked, list(self._replies.values())[-1])

    async def _why(self, asked: AskedThere, reply: str) -> str:
        found = await self._reasons.why(reply, [Ear(asked.where, asked.readers)])
        assert found is not None
        reasons = [reason for sentence in found.sentences for reason in sentence.reasons]
        return "\n".join((*(one.text for one in reasons), *(proof.quote for one in reasons for proof in one.evidence)))


class SessionsSaid(Arm):
    """What would be said in a DM is said in a session of that person instead; in other rooms people say it."""

    def says(self, remark: Remark) -> str:
        """In a DM nothing: what comes back of it came from the session."""
        return NOTHING if remark.room == dm_of(remark.person) else remark.text

    async def keep(self, said: SaidThere) -> None:
        """Let the session of a person say it, as one of its hooks tells."""
        if said.readers.audience.kind is not AudienceKind.DM:
            return
        number, now = said.remark.number, self.home.clock.now_ms()
        owner = KeyOwner(f"key{said.person}", said.person, said.remark.person, remember=True)
        event = HookEvent(f"e{number}", f"s{number % 3}", _HOOKS[number % len(_HOOKS)], now, 0, now)
        where = talk_of(SOUL, TEAM, owner, event.session)
        words = SessionWords(where, said.readers.audience, said.remark.text)
        await self.home.database.write(lambda unit: keep_said(unit, owner, event, words))
