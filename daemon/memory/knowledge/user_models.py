"""What the soul knows of users: a versioned model for each user and audience, with its history."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from daemon.core.errors import StoreError
from daemon.core.perception import Audience
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import as_json, read_row
from daemon.memory.worker_store import WorkerStore

MODEL_KEY = "soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience"


class LossRefused(StoreError):
    """A revision would delete more of the notes at once than the soul allows; nothing was written."""


@dataclass(frozen=True, slots=True)
class UserModel:
    """What `soul` knows of a user from conversations with one audience; `person` is the platform user id.

    `notes` are lines and `whispers` the soul's guess at what the user leaves unsaid; `version` counts changes of these
    two alone. `visits` and `interactions` count visits and answered messages, `seen_ms` is the time of the last one
    here, and `modelled_to` the seq of the newest turn that the notes cover. All of it is data.
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


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version of a user's model as written at `made_ms`; `change` says what was new in it."""

    soul: str
    audience: Audience
    version: int
    notes: tuple[str, ...]
    whispers: str
    change: Mapping[str, object]
    trace_id: str
    made_ms: int


@dataclass(frozen=True, slots=True)
class TurnRange:
    """The turns of a conversation that a revision was made from: seq `first` to `last`, both included."""

    conversation: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NotesDiff:
    """How a revision changed the lines of the notes; `corrected` pairs an old line with its new text."""

    added: tuple[str, ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()
    retired: tuple[str, ...] = ()


class UserModels(WorkerStore):
    """Reads and revises what one worker's soul knows of users."""

    async def known(self, person: str, audiences: Iterable[Audience]) -> tuple[UserModel, ...]:
        """The models of a user made before these audiences, in their order (see `Readers.may_know`)."""
        models = [await self.model(person, audience) for audience in audiences]
        return tuple(model for model in models if model)

    async def model(self, person: str, audience: Audience) -> UserModel | None:
        """The model that conversations with this audience add to; None before the first commit with this user."""
        row = await self._database.one(f"SELECT * FROM user_models WHERE {MODEL_KEY}", **self._key(person, audience))  # noqa: S608 - constant
        return _model(row) if row else None

    async def revise(
        self,
        person: str,
        audience: Audience,
        *,
        expected_version: int,
        notes: Sequence[str],
        whispers: str,
        change: NotesDiff,
        source: TurnRange,
        most_lost: float,
        trace_id: str,
    ) -> bool:
        """Replace the notes and whispers of a version, and copy the new ones into the history.

        False, and nothing is written, when `expected_version` is no longer in force: another revision was faster, or a
        message that it may be made from was edited or deleted. Raises LossRefused when more than `most_lost` (0..1) of
        the lines, and more than one, would go at once without a correction in their place.
        """
        key, now = self._key(person, audience), self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(f"SELECT * FROM user_models WHERE {MODEL_KEY}", **key)  # noqa: S608 - constant
            if row is None or row["version"] != expected_version:
                return False
            _refuse_loss(json.loads(row["notes"]), notes, change.corrected, most_lost)
            await transaction.run(
                f"""
                UPDATE user_models SET version = version + 1, notes = :notes, whispers = :whispers, updated_ms = :now,
                  modelled_to = max(modelled_to, :modelled_to) WHERE {MODEL_KEY}
                """,  # noqa: S608 - the key is a constant
                notes=as_json(list(notes)),
                whispers=whispers,
                modelled_to=source.last,
                now=now,
                **key,
            )
            await store_version(
                transaction,
                key,
                version=expected_version + 1,
                notes=notes,
                whispers=whispers,
                change={**asdict(change), **asdict(source)},
                trace_id=trace_id,
                now=now,
            )
            return True

        return await self._database.write(unit)

    async def note_modelled(self, person: str, audience: Audience, *, expected_version: int, modelled_to: int) -> None:
        """Record that the turns to `modelled_to` taught nothing, unless the model has changed meanwhile."""
        await self._database.run(
            f"""
            UPDATE user_models SET modelled_to = :modelled_to
            WHERE {MODEL_KEY} AND version = :version AND modelled_to < :modelled_to
            """,  # noqa: S608 - the key is a constant
            version=expected_version,
            modelled_to=modelled_to,
            **self._key(person, audience),
        )

    def _key(self, person: str, audience: Audience) -> dict[str, str]:
        return {**self._worker.scope, "person": person, "audience": str(audience)}


async def list_models(database: Database, limit: int, *, person: str | None = None) -> tuple[UserModel, ...]:
    """The models of one user or of all, last seen first, for the admin: of every soul and audience."""
    which = "WHERE person = :person" if person is not None else ""
    rows = await database.rows(
        f"SELECT * FROM user_models {which} ORDER BY seen_ms DESC LIMIT :limit",  # noqa: S608 - constants
        person=person,
        limit=limit,
    )
    return tuple(map(_model, sorted(rows, key=lambda row: (-row["seen_ms"], row["person"], row["audience"]))))


async def model_history(database: Database, person: str, limit: int) -> tuple[ModelVersion, ...]:
    """Earlier versions of a user's models, newest first, for the admin: of every soul and audience."""
    rows = await database.rows(
        """
        SELECT * FROM user_model_history WHERE person = :person
        ORDER BY made_ms DESC, audience, version DESC LIMIT :limit
        """,
        person=person,
        limit=limit,
    )
    return tuple(read_row(ModelVersion, row, audience=Audience.parse, notes=_lines, change=json.loads) for row in rows)


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
    """Count an answered message of a user in the commit of its cycle, and a visit when it begins one.

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


async def store_version(
    transaction: Transaction,
    key: Mapping[str, str],
    *,
    version: int,
    notes: Sequence[str],
    whispers: str,
    change: Mapping[str, object],
    trace_id: str,
    now: int,
) -> None:
    """Copy a version into the history."""
    await transaction.insert(
        "user_model_history",
        version=version,
        notes=as_json(list(notes)),
        whispers=whispers,
        change=as_json(change),
        trace_id=trace_id,
        made_ms=now,
        **key,
    )


def _model(row: sqlite3.Row) -> UserModel:
    return read_row(UserModel, row, audience=Audience.parse, notes=_lines)


def _lines(notes: str) -> tuple[str, ...]:
    return tuple(json.loads(notes))


def _refuse_loss(
    before: Sequence[str], after: Sequence[str], corrected: Sequence[Sequence[str]], most_lost: float
) -> None:
    replaced = {old for old, new in corrected if new in after}
    lost = len(set(before) - set(after) - replaced)
    if lost > 1 and lost > most_lost * len(before):
        raise LossRefused(f"{lost} of {len(before)} notes would be lost at once", hint="nothing to do: the notes stay")
