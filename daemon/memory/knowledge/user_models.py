"""The soul's knowledge of users: a versioned model for each user and audience with facts as notes, and time zones."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.timetable import recurrence_of
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.store import select
from daemon.memory.reader_codes import record_heard_by
from daemon.memory.records import read_row
from daemon.memory.worker_store import WorkerStore

LEARNS_OF_PEOPLE: Final = "models_the_visitor"
"""The job that looks through new words of users."""

MODEL_KEY: Final = "soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience"

GUESSES_HOLD_MS: Final = 30 * 86_400_000
"""Milliseconds for which guesses about a user are used without another look at their words."""

_LOOKED_AT: Final = f"""
    SELECT max(made_ms) AS at_ms FROM user_model_history WHERE {MODEL_KEY} AND trace_id <> ''
"""  # noqa: S608 - a constant

_CURRENT: Final = f"""
    r.soul = :soul AND r.workspace = :workspace AND r.person = :person AND r.audience = :audience
    AND k.valid_until_ms IS NULL AND r.trust <> '{Trust.CLAIM}'
"""  # claims by others are no notes about a person


class UserModel(Value):
    """A soul's knowledge of a user from conversations with one audience. All of it is data. `person` is the user id.

    `notes` are the texts of the facts that hold now, `facts` their ids in the same order. `whispers` is the guess at
    what the user leaves unsaid. `version` counts changes of notes and whispers alone. `seen_ms` is the time of the last
    message here. `modelled_to` is the seq of the newest turn that the notes cover. Earlier turns elsewhere may still
    wait.
    """

    soul: str
    person: str
    audience: Audience
    version: int
    name: str
    notes: tuple[str, ...]
    whispers: str
    visits: int
    interactions: int
    seen_ms: int
    modelled_to: int
    updated_ms: int
    facts: tuple[str, ...] = ()


class ModelVersion(Value):
    """A version of a user model as written at `made_ms`. `change` says what was new in it.

    Texts of facts that were forgotten since are left out. `change` then has `scrubbed`.
    """

    soul: str
    audience: Audience
    version: int
    notes: tuple[str, ...]
    whispers: str
    change: Mapping[str, object]
    trace_id: str
    made_ms: int


class UserModels(WorkerStore):
    """Reads what one worker's soul knows of users. `Learning` writes it."""

    async def known(self, person: str, readers: Readers, where: ConversationKey) -> tuple[UserModel, ...]:
        """Return the models of a user that these readers may know, in the order of `Readers.may_know`.

        With outsiders among the readers, only notes from this very channel are included. Guesses older than a month are
        left out.
        """
        heard, values = record_heard_by(readers, where)

        async def unit(transaction: Transaction) -> tuple[UserModel, ...]:
            found = []
            for audience in readers.may_know(where.workspace):
                key = model_key(self._worker.scope, person, audience)
                row = await transaction.one(f"SELECT * FROM user_models WHERE {MODEL_KEY}", **key)  # noqa: S608 - constant
                if row is not None:
                    facts = await select(transaction, Fact, f"{_CURRENT} AND {heard}", **key, **values)
                    looked = await transaction.one(_LOOKED_AT, **key)
                    fresh = looked is not None and (looked["at_ms"] or 0) > self._clock.now_ms() - GUESSES_HOLD_MS
                    found.append(_model(row, facts) if fresh else replace(_model(row, facts), whispers=""))
            return tuple(found)

        return await self._database.read(unit)

    async def model(self, person: str, audience: Audience) -> UserModel | None:
        """Return the model that conversations with this audience add to.

        None before the first commit with this user, and while they have remembering paused.
        """
        key = model_key(self._worker.scope, person, audience)

        async def unit(transaction: Transaction) -> UserModel | None:
            row = await transaction.one(
                f"""
                SELECT * FROM user_models m WHERE {MODEL_KEY} AND NOT EXISTS (
                  SELECT 1 FROM remembering p WHERE p.soul = m.soul AND p.workspace = m.workspace
                    AND p.person = m.person AND p.paused_ms IS NOT NULL)
                """,  # noqa: S608 - constant
                **key,
            )
            return _model(row, await current_facts(transaction, key)) if row else None

        return await self._database.read(unit)

    async def facts(self, person: str, audience: Audience) -> tuple[Fact, ...]:
        """Return the facts that hold now about a user, from conversations with this audience, oldest first."""
        key = model_key(self._worker.scope, person, audience)
        return await self._database.read(lambda transaction: current_facts(transaction, key))

    async def asked_since(self, person: str, seq: int) -> bool:
        """Return True if a user asked what is known of them after turn `seq`."""
        row = await self._database.one(
            """
            SELECT 1 FROM shown_facts WHERE soul = :soul AND workspace = :workspace AND person = :person
              AND shown_ms >= (SELECT said_ms FROM turns WHERE seq = :seq)
            """,
            person=person,
            seq=seq,
            **self._worker.scope,
        )
        return row is not None

    async def looked_through(self, person: str, conversation: ConversationKey) -> int:
        """Return the seq up to which a user's words in a conversation were looked through, or 0."""
        row = await self._database.one(
            "SELECT up_to FROM looked_through WHERE conversation = :conversation AND person = :person",
            conversation=str(conversation),
            person=person,
        )
        return int(row["up_to"]) if row else 0

    async def note_modelled(
        self, person: str, audience: Audience, *, conversation: ConversationKey, expected_version: int, modelled_to: int
    ) -> None:
        """Record that the turns of a conversation to `modelled_to` taught nothing, unless the model has changed."""
        key = model_key(self._worker.scope, person, audience)

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                f"""
                UPDATE user_models SET modelled_to = max(modelled_to, :modelled_to)
                WHERE {MODEL_KEY} AND version = :version RETURNING 1
                """,  # noqa: S608 - the key is a constant
                version=expected_version,
                modelled_to=modelled_to,
                **key,
            )
            if row is not None:
                await note_looked_through(transaction, conversation, person, modelled_to)

        await self._database.write(unit)


async def note_to_look_through(
    transaction: Transaction, conversation: ConversationKey, said: Mapping[str, int]
) -> None:
    """Record that a job was queued for what users said in a conversation, up to the given turn of each user."""
    for person, seq in said.items():
        await transaction.insert(
            "looked_through",
            "ON CONFLICT (conversation, person) DO UPDATE SET wanted_to = excluded.wanted_to",
            conversation=str(conversation),
            person=person,
            up_to=0,
            wanted_to=seq,
        )


async def note_looked_through(transaction: Transaction, conversation: ConversationKey, person: str, up_to: int) -> None:
    """Record up to which turn of a conversation a user's words were looked through."""
    await transaction.run(
        """
        INSERT INTO looked_through (conversation, person, up_to)
        SELECT id, :person, :up_to FROM conversations WHERE id = :conversation
        ON CONFLICT (conversation, person) DO UPDATE SET up_to = max(looked_through.up_to, excluded.up_to)
        """,
        conversation=str(conversation),
        person=person,
        up_to=up_to,
    )


def model_key(scope: Mapping[str, str], person: str, audience: Audience) -> dict[str, str]:
    """Return the key columns of a model. `scope` holds soul and workspace."""
    return {**scope, "person": person, "audience": str(audience)}


async def current_facts(transaction: Transaction, key: Mapping[str, str]) -> tuple[Fact, ...]:
    """Return the facts that hold now about a user for one audience, oldest first."""
    return tuple(await select(transaction, Fact, _CURRENT, **key))


async def list_models(database: Database, limit: int, *, person: str | None = None) -> tuple[UserModel, ...]:
    """Return the models of one user or of all, last seen first, for the admin: of every soul and audience."""
    which = "WHERE person = :person" if person is not None else ""

    async def unit(transaction: Transaction) -> list[UserModel]:
        rows = await transaction.rows(
            f"SELECT * FROM user_models {which} ORDER BY seen_ms DESC LIMIT :limit",  # noqa: S608 - constants
            person=person,
            limit=limit,
        )
        return [_model(row, await current_facts(transaction, _key_of(row))) for row in rows]

    found = await database.read(unit)
    return tuple(sorted(found, key=lambda one: (-one.seen_ms, one.person, str(one.audience))))


async def model_history(database: Database, person: str, limit: int) -> tuple[ModelVersion, ...]:
    """Return earlier versions of a user's models, newest first, for the admin: of every soul and audience."""

    async def unit(transaction: Transaction) -> tuple[ModelVersion, ...]:
        rows = await transaction.rows(
            """
            SELECT * FROM user_model_history WHERE person = :person
            ORDER BY made_ms DESC, audience, version DESC LIMIT :limit
            """,
            person=person,
            limit=limit,
        )
        lines = await transaction.rows("SELECT id, text FROM records WHERE person = :person", person=person)
        return tuple(_version(row, {line["id"]: line["text"] for line in lines}) for row in rows)

    return await database.read(unit)


async def record_encounter(
    transaction: Transaction,
    *,
    soul: str,
    workspace: str,
    person: str,
    name: str,
    audience: Audience,
    now: int,
    visit_timeout_ms: int,
) -> None:
    """Count an answered message of a user in the commit of its cycle, and a visit if it begins one.

    A visit begins with a message more than `visit_timeout_ms` after the last one here. Notes and version stay.
    """
    await transaction.run(
        """
        INSERT INTO user_models (soul, workspace, person, audience, version, name, visits, interactions, seen_ms,
                                 updated_ms)
        VALUES (:soul, :workspace, :person, :audience, 0, :name, 1, 1, :now, :now)
        ON CONFLICT (soul, workspace, person, audience) DO UPDATE SET
          name = CASE WHEN excluded.name = '' THEN user_models.name ELSE excluded.name END,
          interactions = user_models.interactions + 1,
          visits = user_models.visits + (user_models.seen_ms = 0 OR :now - user_models.seen_ms > :visit_timeout),
          seen_ms = max(user_models.seen_ms, excluded.seen_ms),
          updated_ms = max(user_models.updated_ms, excluded.updated_ms)
        """,
        soul=soul,
        workspace=workspace,
        person=person,
        audience=str(audience),
        name=name,
        now=now,
        visit_timeout=visit_timeout_ms,
    )


def _model(row: sqlite3.Row, found: Iterable[Fact]) -> UserModel:
    facts = tuple(found)
    columns = {name: row[name] for name in row.keys() if name != "workspace"}  # noqa: SIM118 - a row is no mapping
    lines = {"notes": tuple(fact.text for fact in facts), "facts": tuple(fact.id for fact in facts)}
    return UserModel(**{**columns, "audience": Audience.parse(row["audience"]), **lines})


def _key_of(row: sqlite3.Row) -> dict[str, str]:
    return {name: row[name] for name in ("soul", "workspace", "person", "audience")}


def _version(row: sqlite3.Row, lines: Mapping[str, str]) -> ModelVersion:
    change = json.loads(row["change"])
    ids = {name: change.get(name, []) for name in ("added", "retired")}
    corrected = change.get("corrected", [])
    named = [*ids["added"], *ids["retired"], *(one for pair in corrected for one in pair), *json.loads(row["notes"])]
    change |= {name: [lines[one] for one in found if one in lines] for name, found in ids.items()}
    change["corrected"] = [[lines[one] for one in pair] for pair in corrected if all(one in lines for one in pair)]
    if any(one not in lines for one in named):
        change["scrubbed"] = True
    notes = tuple(lines[one] for one in json.loads(row["notes"]) if one in lines)
    return read_row(ModelVersion, row, audience=Audience.parse, notes=lambda _: notes, change=lambda _: change)


class Zones(WorkerStore):
    """Reads and stores the time zones of users in one worker's workspace."""

    async def zone_of(self, person: str) -> str:
        """Return the IANA name of a user's last known time zone. Empty if unknown."""
        workspace = self._worker.workspace
        return await self._database.read(lambda transaction: zone_in(transaction, workspace, person))

    async def keep(self, zones: Mapping[str, str]) -> None:
        workspace, now = self._worker.workspace, self._clock.now_ms()
        await self._database.write(lambda transaction: keep_zones(transaction, workspace, zones, now))


async def zone_in(transaction: Transaction, workspace: str, person: str) -> str:
    row = await transaction.one(
        "SELECT zone FROM person_zones WHERE workspace = :workspace AND person = :person",
        workspace=workspace,
        person=person,
    )
    return str(row["zone"]) if row else ""


async def keep_zones(transaction: Transaction, workspace: str, zones: Mapping[str, str], now: int) -> None:
    """Store the time zones of users. An unknown zone leaves the last known one.

    Repeating intentions of a user who has moved become due at the same local time in the new zone.
    """
    for person, zone in zones.items():
        await transaction.run(
            """
            INSERT INTO person_zones (workspace, person, zone, updated_ms) VALUES (:workspace, :person, :zone, :now)
            ON CONFLICT (workspace, person) DO UPDATE SET zone = excluded.zone, updated_ms = excluded.updated_ms
              WHERE zone <> excluded.zone
            """,
            workspace=workspace,
            person=person,
            zone=zone,
            now=now,
        )
        await _reckon_anew(transaction, workspace, person, zone, now)


async def _reckon_anew(transaction: Transaction, workspace: str, person: str, zone: str, now: int) -> None:
    rows = await transaction.rows(
        """
        SELECT id, every, fired_day FROM intentions
        WHERE behalf = :person AND workspace = :workspace AND slot <> 'idle' AND state = 'waiting' AND every <> ''
          AND zone <> :zone AND due_ms > :now
        """,
        now=now,
        workspace=workspace,
        person=person,
        zone=zone,
    )
    for row in rows:
        rule = recurrence_of(row["every"])
        if rule is None or rule.hours:
            continue
        await transaction.run(
            "UPDATE intentions SET due_ms = :due, zone = :zone WHERE id = :id",
            due=rule.first(now, zone, row["fired_day"]).due_ms,
            zone=zone,
            id=row["id"],
        )
