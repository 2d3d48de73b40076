"""What a person says and clicks when they pair a machine, stored with the words that tell of it."""

from dataclasses import dataclass

from daemon.core.pairing import FETCH_MS, KeyRights
from daemon.memory.database import Transaction
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.shared.pairings import Typed, WeighedCode, asked_by, count_try, kill_code, weigh


@dataclass(frozen=True, slots=True)
class CodeTyped:
    """A person typed a code, which was `weighed`; `approval` asks them about the machine, '' where others read."""

    code: str
    weighed: WeighedCode
    approval: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`. Raises ReadersChanged where the code is another thing by now."""
        workspace = asker.conversation.workspace
        if await weigh(transaction, workspace, self.code, asker.person, now) != self.weighed:
            raise ReadersChanged("the code is another thing now", hint="nothing to do: the reply is begun anew")
        typed, pairing = self.weighed.typed, self.weighed.pairing
        if typed in {Typed.UNKNOWN, Typed.WRONG}:
            await transaction.insert("wrong_codes", workspace=workspace, person=asker.person, at_ms=now)
        if pairing is None:
            return
        if typed is Typed.WRONG:
            await count_try(transaction, pairing.id)
        elif typed is Typed.TAKEN or not self.approval:
            await kill_code(transaction, pairing.id)
        else:
            await transaction.run(
                "UPDATE pairings SET state = 'asked', person = :person, approval = :approval WHERE id = :id",
                person=asker.person,
                approval=self.approval,
                id=pairing.id,
            )


@dataclass(frozen=True, slots=True)
class MachineDecided:
    """A person let a machine have a key with these rights, or none; `pairing` is what they were asked about."""

    approval: str
    pairing: str
    key: str
    rights: KeyRights | None

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`. Raises ReadersChanged where it can't be decided any more."""
        found = await asked_by(transaction, asker.conversation.workspace, self.approval, now)
        if found is None or found.id != self.pairing or found.person != asker.person:
            raise ReadersChanged("the code is dead by now", hint="nothing to do: the reply is begun anew")
        if self.rights is None:
            await transaction.run("UPDATE pairings SET state = 'refused' WHERE id = :id", id=found.id)
            return
        await transaction.run(
            """
            UPDATE pairings SET state = 'allowed', key = :key, visibility = :visibility, remember = :remember,
              direct = :direct, until_ms = :until WHERE id = :id
            """,
            key=self.key,
            visibility=self.rights.visibility,
            remember=self.rights.remember,
            direct=self.rights.direct,
            until=now + FETCH_MS,
            id=found.id,
        )
        await transaction.run(
            "UPDATE approvals SET state = 'used' WHERE id = :id AND state = 'approved' AND decided_by = :person",
            id=self.approval,
            person=asker.person,
        )
