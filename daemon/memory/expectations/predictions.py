"""What a soul expects: stored with the thought that expects it, for its audience, bounded for each conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, get_args

from daemon.core.expectations import Check, Kind
from daemon.core.perception import ConversationKey
from daemon.core.thought_readers import kept_readers
from daemon.core.timeframes import Timeframe
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.id_series import next_number
from daemon.memory.records import as_json, object_or_nothing
from daemon.memory.thought_parts import PartsTaken, StoredThought
from daemon.memory.thought_readability import came_before

MOST_OPEN: Final = 20
"""Open expectations of one conversation."""


@dataclass(frozen=True, slots=True)
class NewPrediction:
    """What is expected, how surely (0 to 1), by when as the soul put it and as the house reads it, and what decides."""

    what: str
    confidence: float
    said: str
    until: Timeframe
    check: Check


@dataclass(frozen=True, slots=True)
class OpenPrediction:
    """An expectation that nothing has decided yet; `exchanges` are those left, None where its time alone counts."""

    seq: int
    id: str
    what: str
    confidence: float
    check: Check
    made_ms: int
    due_ms: int
    exchanges: int | None
    conversation: str
    thought: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "OpenPrediction":
        """Read a `predictions` row."""
        plain = ("seq", "id", "what", "confidence", "made_ms", "due_ms", "exchanges", "conversation", "thought")
        return cls(**{name: row[name] for name in plain}, check=read_check(row["awaited"]))


@dataclass(frozen=True, slots=True)
class PredictionsMade:
    """The expectations of one thought, as a part that takes effect where it is stored."""

    predictions: tuple[NewPrediction, ...]

    @property
    def field(self) -> str:
        """The field of the thought."""
        return "predictions"

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.predictions)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Store those that repeat no open one, while there is room; one about a goal needs one that is known there."""
        open_ = list(await open_in(transaction, thought.conversation))
        refused = list[str]()
        for one in self.predictions:
            if any(_repeats(one, other.check, other.what) for other in open_):
                refused.append("duplicate")
            elif one.check.kind == "goal" and not await _is_known_goal(transaction, one.check.id, thought):
                refused.append("unknown")
            elif len(open_) >= MOST_OPEN:
                refused.append("too_many")
            else:
                open_.append(await _stored(transaction, one, thought))
        return PartsTaken(self.size - len(refused), refused)


async def open_in(transaction: Transaction, conversation: ConversationKey | str) -> tuple[OpenPrediction, ...]:
    """The open expectations of a conversation, oldest first."""
    rows = await transaction.rows(
        "SELECT * FROM predictions WHERE conversation = :id AND state = 'open' ORDER BY seq", id=str(conversation)
    )
    return tuple(map(OpenPrediction.from_row, rows))


def plain_check(check: Check) -> Mapping[str, object]:
    """A check as JSON values, without what is empty."""
    return {name: value for name, value in asdict(check).items() if value}


def read_check(text: str) -> Check:
    """What was written by `plain_check`; one without its words has its kind alone, and what can't be read is `none`."""
    held = object_or_nothing(text)
    kind, words = held.get("kind"), held.get("words")
    return Check(
        next((known for known in get_args(Kind) if known == kind), "none"),
        words=tuple(map(str, words)) if isinstance(words, list) else (),
        **{name: str(held.get(name, "")) for name in ("who", "id", "name")},
    )


def _repeats(new: NewPrediction, check: Check, what: str) -> bool:
    """Whether it waits for the same as an open one; what only people can decide differs by its words."""
    if new.check.same_thing != check.same_thing:
        return False
    return new.check.kind != "none" or _levelled(new.what) == _levelled(what)


def _levelled(words: str) -> Sequence[str]:
    return words.casefold().split()


async def _is_known_goal(transaction: Transaction, name: str, thought: StoredThought) -> bool:
    row = await transaction.one(
        "SELECT conversation, audience, readers FROM goals WHERE soul = :soul AND id = :id AND state = 'open'",
        soul=thought.conversation.soul,
        id=name.upper(),
    )
    return row is not None and came_before(row, thought.conversation, thought.readers)


async def _stored(transaction: Transaction, new: NewPrediction, thought: StoredThought) -> OpenPrediction:
    where = thought.conversation
    number = await next_number(transaction, f"P/{where.soul}")
    row = await transaction.insert(
        "predictions",
        "RETURNING *",
        id=f"P{number}",
        soul=where.soul,
        workspace=where.workspace,
        conversation=str(where),
        audience=str(thought.audience),
        readers=as_json(kept_readers(thought.readers)),
        thought=thought.id,
        confidence=new.confidence,
        kind=new.check.kind,
        goal=new.check.id.upper() if new.check.kind == "goal" else "",
        made_ms=thought.now,
        due_ms=new.until.until_ms,
        exchanges=new.until.exchanges,
        state="open",
        what=new.what,
        timeframe=new.said,
        awaited=as_json(plain_check(new.check)),
    )
    assert row is not None
    return OpenPrediction.from_row(row)
