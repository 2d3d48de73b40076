"""The pairing codes by which machines get keys: created, typed by a person, decided on, and fetched once.

Only the hashes of a code and of its machine's secret are stored. A code is found by its first half: a wrong second half
counts as a try at it. A person can type only a few wrong codes.
"""

import hmac
import json
import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from daemon.core.pairing import (
    FETCH_MS,
    LETTERS,
    LIVES_MS,
    MOST_A_MINUTE,
    MOST_OF_ONE,
    MOST_OPEN,
    TRIES,
    Begun,
    KeyRights,
    NoSuchCode,
    Paired,
    PairingOver,
    PairingState,
    TooManyCodes,
)
from daemon.core.ports.services import Clock
from daemon.core.sessions import Visibility
from daemon.core.value import Value
from daemon.memory.audit import record_act
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.shared.keys import OwnKey, hash_of, make_key, own_keys

_HALF: Final = 4
_MOST_REMEMBERED: Final = 200  # askers of codes; about twenty minutes' worth
_MINUTE_MS: Final = 60_000


class Pairing(Value):
    """A row of `pairings`, as far as it is asked for."""

    id: str
    machine: str
    state: PairingState
    person: str
    approval: str
    key: str
    rights: KeyRights
    until_ms: int


class Typed(StrEnum):
    """The result for a typed code."""

    RIGHT = "right"
    UNKNOWN = "unknown"  # no machine shows the code, or it has expired
    WRONG = "wrong"  # the second half fits no open code
    TAKEN = "taken"  # another person typed it before
    TOO_MANY = "too many"  # the person typed too many wrong codes


class WeighedCode(Value):
    """A typed code's result, and its pairing if any."""

    typed: Typed
    pairing: Pairing | None = None


class PairingStore:
    """The codes of one workspace, and the keys made of them."""

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self._askers: dict[str, str] = {}  # by the ids of their codes, oldest first

    async def begin(self, machine: str, asker: str, soul: str) -> Begun:
        """Create a code for a machine. An asker gets only a share of all codes. Raises TooManyCodes, and StoreError."""
        now, secret, id_ = self._clock.now_ms(), secrets.token_urlsafe(32), secrets.token_hex(8)

        async def unit(transaction: Transaction) -> str:
            await transaction.run("DELETE FROM pairings WHERE created_ms < :old", old=now - 6 * LIVES_MS)
            own = [one for one, began in self._askers.items() if began == asker]
            await _require_room(transaction, self._workspace, now, own)
            self._askers = dict([*self._askers.items(), (id_, asker)][-_MOST_REMEMBERED:])
            code = await _unused_code(transaction, self._workspace)
            await transaction.insert(
                "pairings",
                id=id_,
                workspace=self._workspace,
                front=hash_of(code[:_HALF]),
                code=hash_of(code),
                secret=hash_of(secret),
                machine=machine,
                state=PairingState.OPEN,
                created_ms=now,
                until_ms=now + LIVES_MS,
            )
            return code

        return Begun(await self._database.write(unit), secret, soul, now + LIVES_MS)

    async def weigh(self, code: str, person: str) -> WeighedCode:
        """Return the result for a typed code, without a change. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.read(lambda unit: weigh(unit, self._workspace, code, person, now))

    async def asked_by(self, approval: str) -> Pairing | None:
        """Return an approval's pairing while it can be decided on. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.read(lambda unit: asked_by(unit, self._workspace, approval, now))

    async def of_machine(self, code: str, secret: str) -> Pairing:
        """Return a machine's pairing. A wrong secret counts as a try. Raises NoSuchCode, and StoreError."""

        row = await self._database.read(lambda transaction: _row_of(transaction, self._workspace, code))
        if row is not None and _same(row["code"], code):
            if _same(row["secret"], secret):
                return _pairing(row)
            await self._database.write(lambda transaction: count_try(transaction, row["id"]))
        raise NoSuchCode("there is no such code", hint="begin again with POST /api/pair")

    async def hand_out(self, pairing: Pairing, name: str) -> Paired:
        """Create the allowed key, once, for a person called `name`. Raises PairingOver, and StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Paired | None:
            row = await transaction.one(
                """
                UPDATE pairings SET state = 'fetched' WHERE id = :id AND state = 'allowed' AND until_ms > :now
                RETURNING *
                """,
                id=pairing.id,
                now=now,
            )
            if row is None:
                return None
            found = _pairing(row)
            _, text = await make_key(transaction, found.key, found.person, found.rights, now, machine=found.machine)
            await record_act(transaction, actor=found.person, act="pair key", subject=found.key, now=now)
            return Paired(text, found.person, name, found.rights)

        if (made := await self._database.write(unit)) is None:
            raise PairingOver("the code is over", hint="begin again with POST /api/pair")
        return made

    async def keys_of(self, person: str) -> tuple[OwnKey, ...]:
        """Return a person's valid keys. Raises StoreError."""
        return await self._database.read(lambda transaction: own_keys(transaction, person))

    async def end(self, pairing: Pairing) -> None:
        """End a code for good, and revoke the key that it gave. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await kill_code(transaction, pairing.id)
            ended = await transaction.one(
                "UPDATE keys SET revoked_ms = :now WHERE id = :key AND revoked_ms IS NULL RETURNING id",
                key=pairing.key,
                now=now,
            )
            if ended:
                await record_act(transaction, actor=pairing.person, act="end paired key", subject=pairing.key, now=now)

        await self._database.write(unit)


async def weigh(transaction: Transaction, workspace: str, code: str, person: str, now: int) -> WeighedCode:
    wrong = await transaction.one(
        "SELECT count(*) AS n FROM wrong_codes WHERE workspace = :workspace AND person = :person AND at_ms > :since",
        workspace=workspace,
        person=person,
        since=now - LIVES_MS,
    )
    if wrong is not None and wrong["n"] >= TRIES:
        return WeighedCode(Typed.TOO_MANY)
    row = await _row_of(transaction, workspace, code)
    if row is None or row["state"] not in {PairingState.OPEN, PairingState.ASKED} or row["until_ms"] <= now:
        return WeighedCode(Typed.UNKNOWN)
    found = _pairing(row)
    if not _same(row["code"], code):
        return WeighedCode(Typed.WRONG, found)
    return WeighedCode(Typed.TAKEN if found.person not in {"", person} else Typed.RIGHT, found)


async def asked_by(transaction: Transaction, workspace: str, approval: str, now: int) -> Pairing | None:
    row = await transaction.one(
        """
        SELECT * FROM pairings WHERE approval = :approval AND approval <> '' AND workspace = :workspace
          AND state = 'asked' AND until_ms > :now
        """,
        approval=approval,
        workspace=workspace,
        now=now,
    )
    return _pairing(row) if row else None


async def count_try(transaction: Transaction, id_: str) -> None:
    """Count a wrong try at a code that gave no key yet. After TRIES the code is dead."""
    await transaction.run(
        """
        UPDATE pairings SET tries = tries + 1, state = CASE WHEN tries + 1 >= :most THEN 'dead' ELSE state END
        WHERE id = :id AND state IN ('open', 'asked', 'allowed')
        """,
        id=id_,
        most=TRIES,
    )


async def kill_code(transaction: Transaction, id_: str) -> None:
    await transaction.run("UPDATE pairings SET state = 'dead' WHERE id = :id", id=id_)


async def _require_room(transaction: Transaction, workspace: str, now: int, own: Sequence[str]) -> None:
    """Raise TooManyCodes over a limit: machines need no token. `own` are the ids of the same asker's codes."""
    counted = await transaction.one(
        """
        SELECT coalesce(sum(state = 'open' AND until_ms > :now), 0) AS open,
          coalesce(sum(created_ms > :since), 0) AS new,
          coalesce(sum(own.value IS NOT NULL AND state = 'open' AND until_ms > :now), 0) AS own_open,
          coalesce(sum(own.value IS NOT NULL AND created_ms > :since), 0) AS own_new
        FROM pairings LEFT JOIN json_each(:own) AS own ON own.value = pairings.id WHERE workspace = :workspace
        """,
        own=json.dumps(own),
        workspace=workspace,
        now=now,
        since=now - _MINUTE_MS,
    )
    assert counted is not None
    new, opened = counted["new"] >= MOST_A_MINUTE, counted["open"] >= MOST_OPEN
    if new or opened or _is_share(counted["own_new"], MOST_A_MINUTE) or _is_share(counted["own_open"], MOST_OPEN):
        raise TooManyCodes("so many machines ask for a code now", hint="try again in a minute")


def _is_share(number: int, most: int) -> bool:
    return number >= most // MOST_OF_ONE


async def _unused_code(transaction: Transaction, workspace: str) -> str:
    while True:
        letters = "".join(secrets.choice(LETTERS) for _ in range(2 * _HALF))
        if await _row_of(transaction, workspace, letters) is None:
            return f"{letters[:_HALF]}-{letters[_HALF:]}"


async def _row_of(transaction: Transaction, workspace: str, code: str) -> sqlite3.Row | None:
    return await transaction.one(
        "SELECT * FROM pairings WHERE workspace = :workspace AND front = :front",
        workspace=workspace,
        front=hash_of(code[:_HALF]),
    )


def _same(kept: str, text: str) -> bool:
    return hmac.compare_digest(kept, hash_of(text))


def _pairing(row: sqlite3.Row) -> Pairing:
    return Pairing(
        row["id"],
        row["machine"],
        PairingState(row["state"]),
        row["person"],
        row["approval"],
        row["key"],
        KeyRights(Visibility(row["visibility"]), bool(row["remember"]), bool(row["direct"])),
        row["until_ms"],
    )


class CodeTyped(Value):
    """A code typed by a person, and its earlier result. `approval` asks them about the machine, '' if others read."""

    code: str
    weighed: WeighedCode
    approval: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Apply the code (see `MemoryAct.perform`). Raises ReadersChanged if the code's result differs now."""
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


class MachineDecided(Value):
    """A person's decision about the machine of a `pairing`: its key's rights, or None."""

    approval: str
    pairing: str
    key: str
    rights: KeyRights | None

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Apply the decision (see `MemoryAct.perform`). Raises ReadersChanged if it can't be decided any more."""
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
