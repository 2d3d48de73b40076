"""Fills every table that can hold something of people, for several of them, from the declarations and the schema."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

from daemon.core.perception import ConversationKey
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.tables import TABLES, Table
from tests.given import SOUL, TEAM

FIRST = (
    *("conversations", "event_sources", "shared_context", "consolidations", "turns", "records", "inbox", "outbox"),
    *("feedback", "sessions", "thoughts", "intentions"),
)  # what other rows point to
NOT_HERE = {"tombstones", "turn_words", "record_words", "library_passages", "library_words"}  # what the daemon makes
LISTS = {"notes", "tags", "cues", "salience_anchor"}  # other words are in objects, also where plain text is kept
TRIES = 40  # drawn values may break a CHECK of their table


def schema_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The tables of the schema, without those of the full-text indexes, and the SQL that made them."""
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql <> ''").fetchall()
    virtual = [name for name, sql in found if sql.startswith("CREATE VIRTUAL")]
    return {
        name: sql for name, sql in found if not name.startswith(("sqlite_", *virtual)) and name != "alembic_version"
    }


def fill_for(connection: sqlite3.Connection, people: Mapping[str, str], chance: random.Random) -> None:
    """Give each person (id, own word) rows in every table, in their direct messages and in a room of all."""
    schema, by_name = schema_of(connection), {one.name: one for one in TABLES}
    tables = [by_name[name] for name in FIRST] + [one for one in TABLES if one.name not in {*FIRST, *NOT_HERE}]
    for number, (person, word) in enumerate(people.items()):
        for channel, audience in ((f"D{number}", f"dm:D{number}"), ("C1", f"workspace:{TEAM}")):
            ts = f"{number + 1}{int(channel == 'C1')}.5"
            row = _Row(connection, chance, person=person, word=word, channel=channel, audience=audience, ts=ts)
            for table in tables:
                if table.of or table.names or table.words or table.place or table.name in FIRST:
                    row.put(table, schema[table.name])


class _Row:
    """The rows of one person in one conversation, which point to each other."""

    def __init__(self, connection: sqlite3.Connection, chance: random.Random, **of: str) -> None:
        self._connection, self._chance = connection, chance
        self._person, self._word, channel = of["person"], of["word"], of["channel"]
        self._name = f"{ord(self._person[-1])}{channel[0]}"  # no id holds that of a person
        self._conversation = str(ConversationKey(SOUL, TEAM, channel, ""))
        thought, context = self._id("thoughts"), self._id("shared_context")
        self._same: dict[str, Any] = {
            "soul": SOUL, "workspace": TEAM, "conversation": self._conversation, "heard_in": self._conversation,
            "channel": channel, "room": channel, "thread": "", "audience": of["audience"], "ts": of["ts"],
            "trace_id": f"trace-{self._name}", "thought": thought, "changed_by": thought, "context_key": context,
            "outbox": f"{self._conversation}@{of['ts']}#0", "source": self._id("event_sources"), "part": 0, "last": 1,
            "run": self._id("consolidations"), "said_in": "", "file": "",
        }  # fmt: skip

    def _id(self, table: str) -> str:
        return f"{table}-{self._name}"

    def put(self, table: Table, sql: str) -> None:
        columns = self._connection.execute(f"PRAGMA table_info({table.name})").fetchall()
        drawn = dict(re.findall(r"(\w+) TEXT[^,]*?CHECK \(\s*\w+ IN\s*\(([^)]*)\)", sql, re.DOTALL))
        for attempt in range(TRIES):
            values = {
                name: value
                for _, name, kind, needed, default, key in columns
                if (value := self._value(table, name, kind, drawn.get(name, ""), needed and default is None, key))
                is not None
            } | self._special(table.name)
            try:
                marks = ", ".join("?" * len(values))
                self._connection.execute(
                    f"INSERT INTO {table.name} ({', '.join(values)}) VALUES ({marks}) ON CONFLICT DO NOTHING",
                    tuple(values.values()),
                )
            except sqlite3.IntegrityError as error:
                if attempt == TRIES - 1:
                    raise AssertionError(f"{table.name} takes no {values}") from error
            else:
                return

    def _value(self, table: Table, name: str, kind: str, among: str, needed: bool, key: int) -> Any:  # noqa: ANN401, PLR0911, PLR0917 - a column
        if kind == "INTEGER":
            return None if key and name in {"seq", "id"} else self._chance.choice((0, 1)) if needed else None
        if among:
            return self._chance.choice(re.findall(r"'([^']*)'", among))
        if name in table.of.split() or (table.name, name) in {("audit", "actor"), ("shared_messages", "owner")}:
            return self._person
        if name in table.names.split():
            return f"{self._word} {self._person}"
        if name in table.words.split():
            text = f"{self._word} {table.name}"
            return json.dumps([text] if name in LISTS else {"w": text})
        if name in self._same:
            return self._same[name]
        if key:
            return self._id(table.name)
        return {"TEXT": self._id(name), "REAL": 0.5}.get(kind) if needed else None

    def _special(self, table: str) -> dict[str, Any]:
        return dict(self._specials()).get(table, {})

    def _specials(self) -> Iterator[tuple[str, dict[str, Any]]]:
        turn = self._connection.execute("SELECT max(seq) FROM turns").fetchone()[0]
        post = self._same["outbox"]
        place = "dm" if self._same["audience"].startswith("dm:") else "channel"
        yield "conversations", {"id": self._conversation, "place": place, "waiting_person": "", "handed_to": ""}
        yield "turns", {"speaker": "person", "kind": "reply"}
        yield "user_models", {"version": 1}
        yield "user_model_history", {"version": 0}
        yield "records", {"id": self._id("facts"), "kind": "fact", "significance": 5}
        for one in ("facts", "episodes", "senses", "journal"):
            yield one, {"id": self._id("facts")}
        message = f"{SOUL}/{TEAM}/{self._same['channel']}/{self._same['ts']}"
        author = self._chance.choice((self._person, f"session.{self._id('keys')}"))
        yield "inbox", {"id": message, "answered_by": post, "place": place, "author": author}
        yield "outbox", {"id": post, "answers": "", "platform_ts": f"9{self._name}"}
        yield "approvals", {"asked": json.dumps([self._person])}
        yield "intentions", {"slot": f"reminder-{self._name}"}
        yield "links", {"origin": self._id("facts"), "relation": "evidence", "target": f"TU_{turn}"}
        yield "consolidation_changes", {"object": json.dumps({"person": self._person}), "former": "{}"}
        yield "consolidations", {"slot_ms": int(float(self._same["ts"]) * 10)}
        kind, inbox = self._chance.choice((("note", ""), ("question", ""), ("answer", ""), ("answer", message)))
        yield "shared_messages", {"inbox": inbox, "kind": kind}
        yield "sessions", {"state": "idle", "name": f"{self._word} {self._name}", "process": ""}
        yield "bound_threads", {"session": self._id("sessions")}
        yield "shared_context", {"writers": "[]", "version": 1}
        yield "shared_context_history", {"version": 1}
        yield "spending", {"paid_by": "person"}
        yield "readings", {"n": 1}
        yield "thoughts", {"passing": 0, "id": self._id("thoughts")}
        yield "awareness", {"member": self._name}
        yield "thought_sources", {"source": f"TU_{turn}"}
        yield "invitations", {"granted_by": ""}
