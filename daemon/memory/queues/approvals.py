"""Permission for single acts: asked under one post, decided once by the right person in time, used once.

A button only carries the question's id. Who may decide, until when, under which message and how often stands here, so
that a forged, late or repeated press changes nothing, and neither does a restart (design, section 8).
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.core.perception import Audience, ConversationKey, Modality
from daemon.core.ports import Acceptance, Clock, Decision
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.internal_events import record, store_occurrence
from daemon.memory.records import Worker, as_json

_WORDS = {"approved": "Allowed.", "refused": "Refused.", "expired": "Expired, nothing was done."}
_TOO_LATE = "too late"
_AT_ONCE = 100  # ended in one transaction, which has to be short
_AT_REST = """
  NOT EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = a.conversation AND o.state IN ('pending', 'sending')
                AND o.state = 'sending' AND o.approval = a.id AND o.platform_ts IS NULL)
"""  # while a question is being posted nobody knows its message, and its buttons could not be taken away


@dataclass(frozen=True, slots=True)
class NewApproval:
    """A question for permission: `id`, which never repeats, is what its buttons carry.

    `arguments` are exactly what will be done, `asked` the platform ids of those who may decide,
    until `expires_ms`. Raises ValueError when nobody is asked.
    """

    id: str
    tool: str
    arguments: Mapping[str, object]
    asked: tuple[str, ...]
    expires_ms: int

    def __post_init__(self) -> None:
        if not self.asked:
            raise ValueError("permission has to be asked of somebody")


@dataclass(frozen=True, slots=True)
class Approval:
    """A row of `approvals`; times in milliseconds UTC."""

    id: str
    conversation: str
    turn: int
    tool: str
    arguments: Mapping[str, object]
    asked: tuple[str, ...]
    audience: str
    state: str
    expires_ms: int
    decided_by: str
    decided_ms: int | None
    created_ms: int

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Approval":
        """Read an `approvals` row."""
        values = {name: row[name] for name in cls.__dataclass_fields__}
        read = {"arguments": json.loads(row["arguments"]), "asked": tuple(json.loads(row["asked"]))}
        return cls(**values | read)


async def store_approvals(
    transaction: Transaction,
    *,
    conversation: ConversationKey,
    turn: int,
    audience: Audience,
    approvals: Sequence[NewApproval],
    now: int,
) -> None:
    """Store the questions that a reply asks; the post that shows one carries its id in `outbox.approval`."""
    for new in approvals:
        await transaction.run(
            """
            INSERT INTO approvals (id, conversation, soul, workspace, turn, tool, arguments, asked, audience, state,
                                   expires_ms, created_ms)
            VALUES (:id, :conversation, :soul, :workspace, :turn, :tool, :arguments, :asked, :audience, 'waiting',
                    :expires, :now)
            """,
            id=new.id,
            conversation=str(conversation),
            soul=conversation.soul,
            workspace=conversation.workspace,
            turn=turn,
            tool=new.tool,
            arguments=as_json(dict(new.arguments)),
            asked=as_json(list(new.asked)),
            audience=str(audience),
            expires=new.expires_ms,
            now=now,
        )


async def decide(transaction: Transaction, decision: Decision, now: int) -> tuple[Acceptance, str]:
    """Take a press on a button: accepted once, from somebody asked, under the question's own message, in time.

    Then the decision waits in the inbox and the question loses its buttons. Any other press is put on record and
    changes nothing, but that one which comes too late ends the question as `Approvals.expire` does.
    """
    row = await transaction.one(
        """
        SELECT a.* FROM approvals a JOIN conversations c ON c.id = a.conversation
        WHERE a.id = :id AND a.soul = :soul AND a.workspace = :workspace AND c.channel = :channel
        """,
        id=decision.approval,
        soul=decision.soul,
        workspace=decision.workspace,
        channel=decision.channel,
    )
    asked = Approval.from_row(row) if row else None
    reason = await _why_not(transaction, asked, decision, now)
    state = "approved" if decision.approves else "refused"
    act = f"approval.{'ignored' if reason else state}"
    await record(transaction, actor=decision.author, act=act, subject=decision.approval[:200], detail=reason, now=now)
    if asked is not None and reason == _TOO_LATE:
        await close_question(transaction, asked, "expired", by="", now=now)
    if asked is None or reason:
        return Acceptance.IGNORED, reason
    await close_question(transaction, asked, state, by=decision.author, now=now)
    return Acceptance.ACCEPTED, state


async def _why_not(transaction: Transaction, asked: Approval | None, decision: Decision, now: int) -> str:
    """Why a press doesn't count; empty when it does."""
    if asked is None:
        return "no such question there"
    if asked.state != "waiting":
        return f"decided before: {asked.state}"
    if decision.author not in asked.asked:
        return "somebody else was asked"
    shown = await transaction.one(
        "SELECT 1 FROM outbox WHERE conversation = :conversation AND approval = :id AND platform_ts = :ts",
        conversation=asked.conversation,
        id=asked.id,
        ts=decision.ts,
    )
    if shown is None:
        return "not the message that asks"
    return _TOO_LATE if now >= asked.expires_ms else ""


async def close_question(transaction: Transaction, asked: Approval, state: str, *, by: str, now: int) -> None:
    """End a waiting question as `approved`, `refused` or `expired`: tell the soul, and take the buttons away.

    The soul perceives it from whoever decided; from the first of those asked, where none of them did.
    """
    await transaction.run(
        "UPDATE approvals SET state = :state, decided_by = :by, decided_ms = :now WHERE id = :id AND state = 'waiting'",
        state=state,
        by=by,
        now=now,
        id=asked.id,
    )
    place = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=asked.conversation)
    assert place is not None  # the row refers to it
    await store_occurrence(
        transaction,
        name=f"decision:{asked.id}",
        conversation=ConversationKey.parse(asked.conversation),
        modality=Modality.DECISION,
        author=by if by in asked.asked else asked.asked[0],
        place=place["place"],
        audience=asked.audience,
        body=f"{asked.tool}: {_WORDS[state]}",
        process="",
        params={"approval": asked.id, "approved": state == "approved", "by": by, "expired": state == "expired"},
        at_ms=now,
        now=now,
    )
    await _take_buttons_away(transaction, asked, f"\n\n_{_WORDS[state]}_", now)


async def _take_buttons_away(transaction: Transaction, asked: Approval, note: str, now: int) -> None:
    """Have the question's message say what came of it; one that nobody has seen yet is posted that way."""
    await transaction.run(
        """
        UPDATE outbox SET approval = NULL, body = body || :note
        WHERE conversation = :conversation AND approval = :id AND state = 'pending' AND platform_ts IS NULL
        """,
        note=note,
        conversation=asked.conversation,
        id=asked.id,
    )
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises)
        SELECT id || '!decided', conversation, soul, workspace, part, 1, body || :note, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, platform_ts
        FROM outbox WHERE conversation = :conversation AND approval = :id AND platform_ts IS NOT NULL
        ON CONFLICT (id) DO NOTHING
        """,
        note=note,
        conversation=asked.conversation,
        id=asked.id,
        now=now,
    )


async def is_being_posted(transaction: Transaction, asked: Approval) -> bool:
    """Whether the question is on its way to the platform just now, so that its message can't be named yet."""
    row = await transaction.one(f"SELECT 1 FROM approvals a WHERE id = :id AND {_AT_REST}", id=asked.id)  # noqa: S608 - a constant of this module
    return row is None


class Approvals:
    """Questions for permission of one worker's soul in its workspace."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def expire(self) -> int:
        """End the questions whose time is over and return how many they were: nothing was done."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                f"""
                SELECT * FROM approvals a WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
                  AND expires_ms <= :now AND {_AT_REST} ORDER BY expires_ms, id LIMIT :most
                """,  # noqa: S608 - a constant of this module
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                now=now,
                most=_AT_ONCE,
            )
            for row in rows:
                await close_question(transaction, Approval.from_row(row), "expired", by="", now=now)
            return len(rows)

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """When the next question expires; None: none waits."""

        async def unit(transaction: Transaction) -> int | None:
            row = await transaction.one(
                f"""
                SELECT min(expires_ms) AS due FROM approvals a
                WHERE soul = :soul AND workspace = :workspace AND state = 'waiting' AND {_AT_REST}
                """,  # noqa: S608 - a constant of this module
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return row["due"] if row else None

        return await self._database.read(unit)

    async def begin_use(self, name: str) -> Approval | None:
        """Take a permission for use, at most once ever; None when it was not given, or is used, or has grown old.

        It holds as long after the decision as the question stood open. One that is found in use was begun by a life
        that ended before it could tell: from then on it is `unknown`, and is never used again.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Approval | None:
            row = await transaction.one(
                """
                UPDATE approvals SET state = CASE state WHEN 'using' THEN 'unknown'
                  ELSE CASE WHEN decided_ms + expires_ms - created_ms < :now THEN 'expired' ELSE 'using' END END
                WHERE id = :id AND soul = :soul AND workspace = :workspace AND state IN ('approved', 'using')
                RETURNING *
                """,
                id=name,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                now=now,
            )
            return Approval.from_row(row) if row is not None and row["state"] == "using" else None

        return await self._database.write(unit)

    async def finish_use(self, name: str, state: str) -> None:
        """Note how the use ended: `used`, `failed` (nothing was done) or `unknown`."""
        await self._database.write(
            lambda transaction: transaction.run(
                """
                UPDATE approvals SET state = :state
                WHERE id = :id AND soul = :soul AND workspace = :workspace AND state IN ('using', 'unknown')
                """,
                state=state,
                id=name,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
        )

    async def status(self, name: str) -> Approval | None:
        """A question as it stands; None when there is none of that id."""

        async def unit(transaction: Transaction) -> Approval | None:
            row = await transaction.one(
                "SELECT * FROM approvals WHERE id = :id AND soul = :soul AND workspace = :workspace",
                id=name,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return Approval.from_row(row) if row else None

        return await self._database.read(unit)
