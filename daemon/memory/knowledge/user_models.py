"""What the soul knows of people: a versioned model for each person and audience, with its history."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json

MODEL_KEY = "soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience"


class LossRefused(StoreError):
    """A rewrite of somebody's notes would have lost more of them at once than the soul allows; nothing was written."""


@dataclass(frozen=True, slots=True)
class UserModel:
    """What `soul` knows of a person from talk that `audience` may hear; `person` is their platform id.

    `notes` are lines and `whispers` the soul's guess at what goes unsaid; `version` counts changes of these two alone.
    `visits` and `interactions` count spells of talk and answered messages, `seen_ms` is when they last spoke here and
    `modelled_to` the seq of the newest turn that the notes know of. All of it is data.
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

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "UserModel":
        """Read a `user_models` row."""
        return cls(
            soul=row["soul"],
            person=row["person"],
            audience=Audience.parse(row["audience"]),
            version=row["version"],
            name=row["name"],
            notes=tuple(json.loads(row["notes"])),
            whispers=row["whispers"],
            visits=row["visits"],
            interactions=row["interactions"],
            seen_ms=row["seen_ms"],
            modelled_to=row["modelled_to"],
            updated_ms=row["updated_ms"],
        )


@dataclass(frozen=True, slots=True)
class FormerModel:
    """A version of somebody's model as it was written at `made_ms`; `change` tells what was new in it."""

    soul: str
    audience: Audience
    version: int
    notes: tuple[str, ...]
    whispers: str
    change: Mapping[str, object]
    trace_id: str
    made_ms: int


@dataclass(frozen=True, slots=True)
class Material:
    """The turns of a conversation, by their seq, that a revision was made of: all from `first` to `last`."""

    conversation: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class NotesDiff:
    """What a revision did to the lines of the notes; `corrected` pairs a line with what took its place."""

    added: tuple[str, ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()
    retired: tuple[str, ...] = ()


class UserModels:
    """Reads and revises the models of people."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def known(
        self, soul: str, workspace: str, person: str, audience: Audience, *, outsiders: bool = False
    ) -> tuple[UserModel, ...]:
        """What may be recalled of a person where `audience` listens: what was learned there, then what all may know.

        Before `outsiders` nothing that only the workspace may know.
        """
        everybody = audience if outsiders else Audience(AudienceKind.WORKSPACE, workspace)
        rows = await self._database.read(
            lambda transaction: transaction.rows(
                """
                SELECT * FROM user_models WHERE soul = :soul AND workspace = :workspace AND person = :person
                  AND audience IN (:audience, :everybody)
                ORDER BY CASE WHEN audience = :audience THEN 0 ELSE 1 END
                """,
                soul=soul,
                workspace=workspace,
                person=person,
                audience=str(audience),
                everybody=str(everybody),
            )
        )
        return tuple(UserModel.from_row(row) for row in rows)

    async def learned(self, soul: str, workspace: str, person: str, audience: Audience) -> UserModel | None:
        """The one model that talk before this audience adds to; None before the first commit with this person."""
        row = await self._database.read(lambda transaction: row_of(transaction, soul, workspace, person, str(audience)))
        return UserModel.from_row(row) if row else None

    async def revise(
        self,
        soul: str,
        workspace: str,
        person: str,
        audience: Audience,
        *,
        expected_version: int,
        notes: Sequence[str],
        whispers: str,
        change: NotesDiff,
        material: Material,
        most_lost: float,
        trace_id: str,
    ) -> bool:
        """Put new notes and whispers in place of the version they were made from, and a copy into the history.

        False, and nothing is written, when that version is no longer in force: somebody was faster, or words that it
        may have been made of were taken back. Raises LossRefused when more than `most_lost` (0..1) of the lines, and
        more than one, would vanish at once without a correction in their place.
        """
        key = {"soul": soul, "workspace": workspace, "person": person, "audience": str(audience)}
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            row = await row_of(transaction, soul, workspace, person, str(audience))
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
                modelled_to=material.last,
                now=now,
                **key,
            )
            await keep_version(
                transaction,
                key,
                version=expected_version + 1,
                notes=notes,
                whispers=whispers,
                change={**asdict(change), **asdict(material)},
                trace_id=trace_id,
                now=now,
            )
            return True

        return await self._database.write(unit)

    async def note_modelled(
        self, soul: str, workspace: str, person: str, audience: Audience, *, expected_version: int, modelled_to: int
    ) -> None:
        """Nothing was to be learned from the turns up to `modelled_to`; left alone when the model changed meanwhile."""
        await self._database.write(
            lambda transaction: transaction.run(
                f"""
                UPDATE user_models SET modelled_to = :modelled_to
                WHERE {MODEL_KEY} AND version = :version AND modelled_to < :modelled_to
                """,  # noqa: S608 - the key is a constant
                soul=soul,
                workspace=workspace,
                person=person,
                audience=str(audience),
                version=expected_version,
                modelled_to=modelled_to,
            )
        )

    async def list(self, limit: int, *, person: str | None = None) -> tuple[UserModel, ...]:
        """The models of one person or of all, those last seen first: for the admin, whatever the audience."""
        rows = await self._database.read(
            lambda transaction: transaction.rows(
                """
                SELECT * FROM user_models WHERE :person IS NULL OR person = :person
                ORDER BY seen_ms DESC, person, audience LIMIT :limit
                """,
                person=person,
                limit=limit,
            )
        )
        return tuple(UserModel.from_row(row) for row in rows)

    async def history(self, person: str, limit: int) -> tuple[FormerModel, ...]:
        """Earlier versions of a person's models, newest first: for the admin, whatever the audience."""
        rows = await self._database.read(
            lambda transaction: transaction.rows(
                """
                SELECT * FROM user_model_history WHERE person = :person
                ORDER BY made_ms DESC, audience, version DESC LIMIT :limit
                """,
                person=person,
                limit=limit,
            )
        )
        return tuple(
            FormerModel(
                soul=row["soul"],
                audience=Audience.parse(row["audience"]),
                version=row["version"],
                notes=tuple(json.loads(row["notes"])),
                whispers=row["whispers"],
                change=json.loads(row["change"]),
                trace_id=row["trace_id"],
                made_ms=row["made_ms"],
            )
            for row in rows
        )


async def record_encounter(
    transaction: Transaction,
    *,
    soul: str,
    workspace: str,
    person: str,
    name: str,
    audience: Audience,
    now: int,
    visit_silence_ms: int,
) -> None:
    """Part of a cycle's commit: a person was answered where `audience` listens; counts the visit and the interaction.

    A new visit begins when they were silent here for longer than `visit_silence_ms`. Notes and version stay.
    """
    await transaction.run(
        """
        INSERT INTO user_models (soul, workspace, person, audience, version, name, visits, interactions, seen_ms,
                                 updated_ms)
        VALUES (:soul, :workspace, :person, :audience, 0, :name, 1, 1, :now, :now)
        ON CONFLICT (soul, workspace, person, audience) DO UPDATE SET
          name = CASE WHEN excluded.name = '' THEN user_models.name ELSE excluded.name END,
          interactions = user_models.interactions + 1,
          visits = user_models.visits + (user_models.seen_ms = 0 OR :now - user_models.seen_ms > :silence),
          seen_ms = max(user_models.seen_ms, excluded.seen_ms),
          updated_ms = max(user_models.updated_ms, excluded.updated_ms)
        """,
        soul=soul,
        workspace=workspace,
        person=person,
        audience=str(audience),
        name=name,
        now=now,
        silence=visit_silence_ms,
    )


async def row_of(transaction: Transaction, soul: str, workspace: str, person: str, audience: str) -> sqlite3.Row | None:
    """The row of one model, for whoever works inside a transaction."""
    return await transaction.one(
        f"SELECT * FROM user_models WHERE {MODEL_KEY}",  # noqa: S608 - the key is a constant
        soul=soul,
        workspace=workspace,
        person=person,
        audience=audience,
    )


async def keep_version(
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
    await transaction.run(
        """
        INSERT INTO user_model_history (soul, workspace, person, audience, version, notes, whispers, change, trace_id,
                                        made_ms)
        VALUES (:soul, :workspace, :person, :audience, :version, :notes, :whispers, :change, :trace_id, :now)
        """,
        version=version,
        notes=as_json(list(notes)),
        whispers=whispers,
        change=as_json(change),
        trace_id=trace_id,
        now=now,
        **key,
    )


def _refuse_loss(
    before: Sequence[str], after: Sequence[str], corrected: Sequence[Sequence[str]], most_lost: float
) -> None:
    replaced = {old for old, new in corrected if new in after}
    lost = len(set(before) - set(after) - replaced)
    if lost > 1 and lost > most_lost * len(before):
        raise LossRefused(f"{lost} of {len(before)} notes would be lost at once", hint="nothing to do: the notes stay")
