"""Scores what was expected, once and without a model: by what a cycle heard, or when its time is over."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from msgspec.structs import asdict

from daemon.core.expectations import Came, Check, Kind, Noticed, Outcome, decided, surprise_of, when_over
from daemon.core.lineage import kept_readers
from daemon.core.perception import ConversationKey, Modality, Perception
from daemon.core.timeframes import Timeframe
from daemon.core.timetable import platform_time
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.id_series import next_number
from daemon.memory.records import Speaks, as_json, object_or_nothing
from daemon.memory.thought_parts import PartsTaken, StoredThought, came_before
from daemon.memory.worker_store import WorkerStore

MOST_OPEN: Final = 20
"""The most open expectations of one conversation."""


class NewPrediction(Value):
    """An expectation: its confidence (0 to 1), the time as the soul put it and as it was read, and its check."""

    what: str
    confidence: float
    said: str
    until: Timeframe
    check: Check


class OpenPrediction(Value):
    """An expectation that is not decided yet. `exchanges` are those left, None if its time alone counts."""

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
        plain = ("seq", "id", "what", "confidence", "made_ms", "due_ms", "exchanges", "conversation", "thought")
        return cls(**{name: row[name] for name in plain}, check=read_check(row["awaited"]))


class PredictionsMade(Value):
    """The expectations of one thought, as a part that takes effect when it is stored."""

    predictions: tuple[NewPrediction, ...]

    @property
    def field(self) -> str:
        return "predictions"

    @property
    def size(self) -> int:
        return len(self.predictions)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Store the expectations that repeat no open one, while there is room and their goal is known."""
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
    """Return the open expectations of a conversation, oldest first."""
    rows = await transaction.rows(
        "SELECT * FROM predictions WHERE conversation = :id AND state = 'open' ORDER BY seq", id=str(conversation)
    )
    return tuple(map(OpenPrediction.from_row, rows))


def plain_check(check: Check) -> Mapping[str, object]:
    """Return a check as JSON values, without what is empty."""
    return {name: value for name, value in asdict(check).items() if value}


def read_check(text: str) -> Check:
    """Read what `plain_check` wrote. A check without its words has its kind alone. One that can't be read is `none`."""
    held = object_or_nothing(text)
    kind, words = held.get("kind"), held.get("words")
    return Check(
        next((known for known in get_args(Kind) if known == kind), "none"),
        words=tuple(map(str, words)) if isinstance(words, list) else (),
        **{name: str(held.get(name, "")) for name in ("who", "id", "name")},
    )


def _repeats(new: NewPrediction, check: Check, what: str) -> bool:
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


SENSE: Final = "sense"
"""The parameter of a perception that names what it came from."""

_NAMES_OF_SENSES: Final = (SENSE, "program", "from")
_AT_ONCE: Final = 50  # scored in one transaction, which has to be short
_LOOKED_AT: Final = 100  # newest messages of a conversation
_DUE: Final = """
    SELECT * FROM predictions p WHERE soul = :soul AND workspace = :workspace AND state = 'open' AND due_ms <= :now
      AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = p.conversation AND i.state IN ('new', 'claimed'))
    ORDER BY due_ms LIMIT :most
    """  # what was heard in time and waits to be answered is scored where it is


class Score(Value):
    """The outcome of an expectation. `surprise` is None if nothing decided it."""

    prediction: OpenPrediction
    outcome: Outcome
    surprise: float | None


def events_of(perceptions: Iterable[Perception], tools: frozenset[str] = frozenset(), *, talk: bool = True) -> Came:
    """Return what the perceptions of a cycle let come true. Without `talk` there was no exchange."""
    heard = tuple(map(_heard, perceptions))
    return Came(heard, tools, exchange=talk and any(one.author for one in heard))


def scores(open_: Iterable[OpenPrediction], came: Came) -> tuple[Score, ...]:
    """Return the scores of the expectations that `came` decides, or whose exchanges are over."""
    found = list[Score]()
    for one in open_:
        outcome = decided(one.check, came, one.due_ms)
        if outcome is None and came.exchange and one.exchanges is not None and one.exchanges <= 1:
            outcome = when_over(one.check)
        if outcome is not None:
            found.append(_score(one, outcome))
    return tuple(found)


async def settle(
    transaction: Transaction, conversation: ConversationKey, came: Came, given: Sequence[str], now: int
) -> None:
    """Score what a cycle perceived, in its commit. The outcomes `given` to its thought (ids) count as shown."""
    open_ = await open_in(transaction, conversation)
    await _keep(transaction, scores(open_, came), now)
    if came.exchange and any(one.exchanges is not None for one in open_):
        await transaction.run(
            """
            UPDATE predictions SET exchanges = exchanges - 1
            WHERE conversation = :id AND state = 'open' AND exchanges IS NOT NULL
            """,
            id=str(conversation),
        )
    if given:
        await transaction.run(
            """
            UPDATE predictions SET shown = 1 WHERE conversation = :id AND shown = 0 AND state IN ('hit', 'miss')
              AND id IN (SELECT value FROM json_each(:given))
            """,
            id=str(conversation),
            given=as_json(list(given)),
        )


async def settle_reading(transaction: Transaction, conversation: ConversationKey, reading: Noticed, now: int) -> None:
    """Score what a reading decides, as soon as it is stored: its thought gets both."""
    await _keep(transaction, scores(await open_in(transaction, conversation), Came((reading,))), now)


class DuePredictions(WorkerStore):
    """The scoring of one soul's expectations whose time is over. Each call may raise StoreError."""

    async def next_due_ms(self) -> int | None:
        """Return when the next open expectation is over (ms), or None."""
        return await self._due_ms(
            "SELECT min(due_ms) AS due FROM predictions "
            "WHERE soul = :soul AND workspace = :workspace AND state = 'open'"
        )

    async def fall_due(self) -> int:
        """Score what is over, and return how many. What another daemon has scored is left alone."""
        which = {**self._worker.scope, "most": _AT_ONCE}
        if not await self._database.rows(_DUE, now=self._clock.now_ms(), **which):
            return 0

        async def unit(transaction: Transaction) -> int:
            now = self._clock.now_ms()
            rows = await transaction.rows(_DUE, now=now, **which)
            over = [_score(one, await _at_its_end(transaction, one)) for one in map(OpenPrediction.from_row, rows)]
            return await _keep(transaction, over, now)

        return await self._database.write(unit)


async def _keep(transaction: Transaction, found: Iterable[Score], now: int) -> int:
    kept = 0
    for one in found:
        rows = await transaction.rows(
            """
            UPDATE predictions SET state = :state, scored_by = 'rule', surprise = :surprise, scored_ms = :now
            WHERE seq = :seq AND state = 'open' RETURNING seq
            """,
            state=one.outcome,
            surprise=one.surprise,
            now=now,
            seq=one.prediction.seq,
        )
        kept += len(rows)
    return kept


def _score(one: OpenPrediction, outcome: Outcome) -> Score:
    return Score(one, outcome, surprise_of(outcome, one.confidence))


async def _at_its_end(transaction: Transaction, one: OpenPrediction) -> Outcome:
    """Return the final outcome, by unanswered and edited words. Exchanges that never came leave it undecided."""
    heard = (*await _said_aside(transaction, one), *await _edited(transaction, one))
    if (outcome := decided(one.check, Came(heard), one.due_ms)) is not None:
        return outcome
    return when_over(one.check) if one.exchanges is None else Outcome.UNRESOLVED


async def _said_aside(transaction: Transaction, one: OpenPrediction) -> tuple[Noticed, ...]:
    """Return what people who spoke to the soul there said to others in the thread since."""
    if one.check.kind not in ("reply", "mention", "silence"):
        return ()
    rows = await transaction.rows(
        """
        SELECT i.ts, i.author, i.name, i.body FROM inbox i
        WHERE i.conversation = :id AND i.aside = 1 AND i.ts > :made AND i.ts <= :due
          AND EXISTS (SELECT 1 FROM turns t WHERE t.conversation = :id AND t.author = i.author AND t.speaker = 'person')
        ORDER BY i.ts DESC LIMIT :most
        """,
        id=one.conversation,
        made=platform_time(one.made_ms),
        due=platform_time(one.due_ms),
        most=_LOOKED_AT,
    )
    return tuple(Noticed(_ms(row["ts"], one.due_ms), row["body"], row["author"], row["name"]) for row in rows)


async def _edited(transaction: Transaction, one: OpenPrediction) -> tuple[Noticed, ...]:
    """Return the answered messages, said since the expectation, whose text has changed."""
    if one.check.kind != "mention":
        return ()
    key = ConversationKey.parse(one.conversation)
    rows = await transaction.rows(
        """
        SELECT t.ts, t.author, t.name, t.body FROM turns t CROSS JOIN inbox i ON i.id = :place || t.ts
        WHERE t.conversation = :id AND t.speaker = 'person' AND t.said_ms > :made AND i.revision > 0
        ORDER BY t.seq DESC LIMIT :most
        """,
        id=one.conversation,
        place="/".join((key.soul, key.workspace, key.channel, "")),
        made=one.made_ms,
        most=_LOOKED_AT,
    )
    return tuple(Noticed(_ms(row["ts"], one.due_ms), row["body"], row["author"], row["name"]) for row in rows)


def _heard(one: Perception) -> Noticed:
    at_ms = _ms(one.ts, one.received_ms) if one.has_message else one.received_ms
    if one.modality is not Modality.WORDS:
        named = (str(one.params[key]) for key in _NAMES_OF_SENSES if one.params.get(key))
        return Noticed(at_ms, one.content, sense=next(named, str(one.modality)))
    person = Speaks.of(one.author) is Speaks.PERSON and not one.bot
    return Noticed(at_ms, one.content, one.author if person else "", one.name)


def _ms(ts: str, else_ms: int) -> int:
    try:
        return int(float(ts) * 1000)
    except (ValueError, OverflowError):
        return else_ms
