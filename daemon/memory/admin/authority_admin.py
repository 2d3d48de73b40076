"""An admin sets what a function of a mind may do by itself."""

from typing import Final

from daemon.core.authority import Function, Level
from daemon.core.errors import StoreError
from daemon.memory.audit import AuditedChanges
from daemon.memory.database import Transaction
from daemon.memory.senses.moments import tell_of_level
from daemon.memory.stream.authority import authority_of, decide_level

LONGEST_WHY: Final = 400


class AuthorityChanges(AuditedChanges):
    """Sets levels for the admin `actor`."""

    async def set(self, soul: str, function: Function, level: Level, why: str) -> Level:
        """Give a function a level, and count its parts anew; returns the level before. Raises StoreError."""
        if not why.strip() or len(why) > LONGEST_WHY:
            raise StoreError("the reason is missing or too long", hint=f"say why in at most {LONGEST_WHY} characters")
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Level:
            before = (await authority_of(transaction, soul)).level(function)
            await decide_level(transaction, soul, function, level, why=why.strip(), by=self._actor, now=now)
            await tell_of_level(transaction, soul, function, level, now)
            await self._record(transaction, "mind.authority", f"{soul} {function}", f"{before} to {level}")
            return before

        return await self._database.write(unit)
