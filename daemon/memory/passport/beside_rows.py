"""Rows other than memories as files of a passport, identified by their table and row number."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.passport.beside_forms import (
    BesideForm,
    IntentionForm,
    ModelVersionForm,
    MoodForm,
    OurIntention,
    OurModelVersion,
    OurMood,
    OurQuestion,
    OurTopic,
    OurUserModel,
    QuestionForm,
    TopicForm,
    UserModelForm,
    id_made_of,
)
from daemon.memory.passport.names import PassportKind, as_time, path_of
from daemon.memory.passport.rendering import PassportFile, content_of
from daemon.memory.queues.intention_rows import IN_MIND, SILENCE
from daemon.memory.queues.intentions import IDLE
from daemon.memory.records import json_object

_SCOPE: Final = "soul = :soul AND workspace = :workspace"


@dataclass(frozen=True, slots=True)
class BesideTable:
    """A table whose rows are exported. `key` finds the row of a form, `only` selects the exported rows."""

    kind: PassportKind
    table: str
    form: Callable[[sqlite3.Row], BesideForm]
    key: str
    columns: str = ""
    joined: str = ""
    only: str = "TRUE"

    @property
    def select(self) -> str:
        return f"SELECT b.*{self.columns} FROM {self.table} b {self.joined} WHERE {self.only}"  # noqa: S608 - literals

    @property
    def after(self) -> str:
        return f"""
            SELECT rowid AS seq, '{self.table}:' || rowid AS id FROM {self.table} b
            WHERE rowid > :last AND {self.only} ORDER BY rowid LIMIT :most
        """  # noqa: S608 - literals of this module

    def file(self, row: sqlite3.Row) -> PassportFile:
        """Return the file of a row. Raises ValueError for a row that can't be a file."""
        form = self.form(row)
        name: str = getattr(form, f"{self.kind}_id")
        at_ms: int = row["created_ms"] if self.kind is PassportKind.INTENTION else 0
        return PassportFile(path_of(self.kind, name, at_ms), name, content_of(form))


async def beside_file(transaction: Transaction, key: str) -> PassportFile | None:
    """Return the file of the row `TABLE:ROWID`, or None."""
    name, _, number = key.partition(":")
    table = BY_TABLE[name]
    row = await transaction.one(f"{table.select} AND b.rowid = :row", row=int(number))
    return table.file(row) if row else None


async def beside_standing(transaction: Transaction, form: BesideForm) -> PassportFile | None:
    """Return the file of the row that a form would replace, or None."""
    table = BY_KIND[form.type]
    values = {name: value for name, value in _values(form).items() if f":{name}" in table.key}
    row = await transaction.one(f"{table.select} AND {table.key}", **values)
    return table.file(row) if row else None


def _values(form: BesideForm) -> Mapping[str, object]:
    ours = form.soul_daemon
    return {
        "id": form.intention_id.partition("_")[2] if isinstance(form, IntentionForm) else "",
        "soul": ours.soul,
        "workspace": ours.workspace,
        "audience": ours.audience,
        "channel": ours.channel,
        "conversation": ours.conversation,
        "person": getattr(form, "user_id", ""),
        "version": getattr(ours, "version", 0),
    }


def _intention(row: sqlite3.Row) -> IntentionForm:
    return IntentionForm(
        type=PassportKind.INTENTION,
        intention_id=f"IN_{row['id']}",
        created_at=as_time(row["created_ms"]),
        soul_daemon=OurIntention(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            channel=ConversationKey.parse(row["conversation"]).channel,
            conversation=row["conversation"],
            place=row["place"],
            slot=row["slot"],
            due_ms=row["due_ms"],
            every=row["every"],
            process=row["process"],
            params=json_object(row["params"]),
            content=row["content"],
            behalf=row["behalf"],
            state=row["state"],
            reason=row["reason"],
            fired=row["fired"],
            settled_ms=row["settled_ms"],
            faults=row["faults"],
            number=row["number"],
            zone=row["zone"],
            fired_day=row["fired_day"],
            errand=row["errand"],
            covers_to=row["covers_to"],
            asked_where=row["asked_where"],
            paused=row["paused"],
            unless_answered=row["cue"] == SILENCE,
        ),
    )


def _user_model(row: sqlite3.Row) -> UserModelForm:
    return UserModelForm(
        type=PassportKind.USER_MODEL,
        user_model_id=id_made_of("UM", row["soul"], row["workspace"], row["person"], row["audience"]),
        user_id=row["person"],
        username=row["name"],
        created_at=as_time(row["updated_ms"]),
        soul_daemon=OurUserModel(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            version=row["version"],
            whispers=row["whispers"],
            visits=row["visits"],
            interactions=row["interactions"],
            seen_ms=row["seen_ms"],
            modelled_to=row["modelled_to"],
        ),
    )


def _model_version(row: sqlite3.Row) -> ModelVersionForm:
    made_of = id_made_of("UV", row["soul"], row["workspace"], row["person"], row["audience"])
    return ModelVersionForm(
        type=PassportKind.MODEL_VERSION,
        user_model_version_id=f"{made_of}_{row['version']}",
        user_id=row["person"],
        created_at=as_time(row["made_ms"]),
        soul_daemon=OurModelVersion(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            version=row["version"],
            notes=tuple(json.loads(row["notes"])),
            whispers=row["whispers"],
            change=json_object(row["change"]),
            trace_id=row["trace_id"],
        ),
    )


def _mood(row: sqlite3.Row) -> MoodForm:
    return MoodForm(
        type=PassportKind.MOOD,
        soul_state_id=id_made_of("MOOD", row["soul"], row["workspace"], row["audience"]),
        created_at=as_time(row["updated_ms"]),
        soul_daemon=OurMood(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            version=row["version"],
            emotional_state=row["emotional_state"],
            felt_ms=row["felt_ms"],
        ),
    )


def _topic(row: sqlite3.Row) -> TopicForm:
    key = ConversationKey.parse(row["conversation"])
    return TopicForm(
        type=PassportKind.TOPIC,
        conversation_topic_id=id_made_of("TOPIC", row["conversation"]),
        created_at=as_time(row["updated_ms"]),
        soul_daemon=OurTopic(
            soul=key.soul,
            workspace=key.workspace,
            audience=row["audience"],
            channel=key.channel,
            conversation=row["conversation"],
            place=row["place"],
            version=row["version"],
            topic=row["topic"],
            task=row["task"],
        ),
    )


def _question(row: sqlite3.Row) -> QuestionForm:
    return QuestionForm(
        type=PassportKind.QUESTION,
        standing_question_id=id_made_of("ASK", row["soul"], row["workspace"], row["channel"]),
        created_at=as_time(row["since_ms"]),
        soul_daemon=OurQuestion(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            channel=row["channel"],
            question=row["question"],
        ),
    )


# In the order in which they are stored: a version needs its model.
BESIDE: Final = (
    BesideTable(
        PassportKind.INTENTION,
        "intentions",
        _intention,
        "b.id = :id",
        only=f"b.slot <> '{IDLE}' AND b.slot NOT GLOB '{IN_MIND}*'",
    ),
    BesideTable(
        PassportKind.USER_MODEL,
        "user_models",
        _user_model,
        f"{_SCOPE} AND person = :person AND audience = :audience",
    ),
    BesideTable(
        PassportKind.MODEL_VERSION,
        "user_model_history",
        _model_version,
        f"{_SCOPE} AND person = :person AND audience = :audience AND version = :version",
    ),
    BesideTable(PassportKind.MOOD, "soul_state", _mood, f"{_SCOPE} AND audience = :audience"),
    BesideTable(
        PassportKind.TOPIC,
        "conversation_topics",
        _topic,
        "b.conversation = :conversation",
        columns=", c.place",
        joined="JOIN conversations c ON c.id = b.conversation",
    ),
    BesideTable(PassportKind.QUESTION, "standing_questions", _question, f"{_SCOPE} AND channel = :channel"),
)
BY_TABLE: Final[Mapping[str, BesideTable]] = {one.table: one for one in BESIDE}
BY_KIND: Final[Mapping[PassportKind, BesideTable]] = {one.kind: one for one in BESIDE}
