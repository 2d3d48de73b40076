"""Questions for permission: each is asked in one post, decided once by a user who was asked, and used once."""

import json
from collections.abc import Mapping

from daemon.core.initiative import INVITING
from daemon.core.last_line import FAULTS
from daemon.core.pairing import answers_to
from daemon.core.perception import Audience, ConversationKey, Modality
from daemon.core.ports.arrivals import Acceptance, Decision
from daemon.core.questions import BUTTON
from daemon.core.sentences import SENTENCES
from daemon.core.value import Value
from daemon.memory.audit import record_act
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turns import OF_SOUL
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.stops import NOT_BEING_POSTED, lapse_now, remove_buttons, was_stopped
from daemon.memory.records import as_json, conversation_columns, read_row
from daemon.memory.stream.authority import OF_THE_MIND, settle_proposal
from daemon.memory.worker_store import WorkerStore

_WORDS = {"approved": SENTENCES["allowed"], "refused": SENTENCES["refused"], "expired": SENTENCES["expired"]}
_INVITATION_REFUSED = SENTENCES["invite_refused"]
_TOO_LATE = "too late"
_AT_ONCE = 100  # closed in one transaction, which has to be short


class NewApproval(Value):
    """A question for permission.

    Its `id` never repeats, and its buttons carry nothing else: a forged, late or repeated click changes nothing.
    `arguments` are exactly what the tool will get. `asked` are the users who may decide, by platform id. A permission
    isn't used if the tool's `fingerprint` has changed. Raises ValueError when `asked` is empty.
    """

    id: str
    tool: str
    arguments: Mapping[str, object]
    asked: tuple[str, ...]
    expires_ms: int
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.asked:
            raise ValueError("a question for permission needs at least one user to ask")


class Approval(Value):
    """A row of `approvals`."""

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
    fingerprint: str = ""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Approval":
        return read_row(cls, row, arguments=json.loads, asked=lambda asked: tuple(json.loads(asked)))


async def store_approval(
    transaction: Transaction,
    new: NewApproval,
    *,
    conversation: ConversationKey,
    turn: int,
    audience: Audience,
    now: int,
) -> None:
    """Store the question that a reply asks. The post that shows it carries its id in `outbox.approval`."""
    await transaction.insert(
        "approvals",
        id=new.id,
        **conversation_columns(conversation),
        turn=turn,
        tool=new.tool,
        arguments=as_json(dict(new.arguments)),
        asked=as_json(list(new.asked)),
        audience=str(audience),
        state="waiting",
        expires_ms=new.expires_ms,
        created_ms=now,
        fingerprint=new.fingerprint,
    )


async def decide(transaction: Transaction, decision: Decision, now: int) -> tuple[Acceptance, str]:
    """Take a click by a user who was asked, once, under the question's own message, before it expires.

    An accepted decision goes into the inbox, and the question loses its buttons. Any other click is only recorded in
    the audit log. A late click also expires the question, as `Approvals.expire` does. A click in a DM arrives for the
    main soul, but any soul may have asked the owner of a session there.
    """
    row = await transaction.one(
        f"""
        SELECT a.* FROM approvals a JOIN conversations c ON c.id = a.conversation
        WHERE a.id = :id AND a.workspace = :workspace AND c.channel = :channel
          AND (instr(a.id, :asking) = 1 OR {OF_SOUL})
        """,  # noqa: S608 - a constant of this package
        id=decision.approval,
        asking=BUTTON,
        soul=decision.soul,
        workspace=decision.workspace,
        channel=decision.channel,
    )
    asked = Approval.from_row(row) if row else None
    reason = await _why_refused(transaction, asked, decision, now)
    state = "approved" if decision.approves else "refused"
    act = f"approval.{'ignored' if reason else state}"
    await record_act(
        transaction, actor=decision.author, act=act, subject=decision.approval[:200], detail=reason, now=now
    )
    if asked is not None and reason == _TOO_LATE:
        await close_question(transaction, asked, "expired", by="", now=now)
    if asked is None or reason:
        return Acceptance.IGNORED, reason
    await close_question(transaction, asked, state, by=decision.author, now=now, answer=decision.answer)
    return Acceptance.ACCEPTED, state


async def _why_refused(transaction: Transaction, asked: Approval | None, decision: Decision, now: int) -> str:
    """Return why a click does not count, or '' if it does."""
    if asked is None:
        return "no such question there"
    if asked.state != "waiting":
        return f"decided before: {asked.state}"
    if decision.author not in asked.asked:
        return "another user was asked"
    if decision.answer and decision.answer not in answers_to(asked.id):
        return "no answer to that question"
    shown = await transaction.one(
        "SELECT 1 FROM outbox WHERE conversation = :conversation AND approval = :id AND platform_ts = :ts",
        conversation=asked.conversation,
        id=asked.id,
        ts=decision.ts,
    )
    if shown is None:
        return "not the message that asks"
    return _TOO_LATE if now >= asked.expires_ms else ""


async def close_question(
    transaction: Transaction, asked: Approval, state: str, *, by: str, now: int, answer: str = ""
) -> None:
    """Close a waiting question as `approved`, `refused` or `expired`, and remove its buttons.

    This puts an event into the inbox. Its author is the user who decided, or the first user asked if an admin or the
    deadline decided. A question that lapsed with a stopped reply makes no event.
    """
    if state == "expired" and await was_stopped(transaction, asked.conversation, asked.id):
        await lapse_now(transaction, asked.conversation, asked.id, now)
        return
    await transaction.run(
        "UPDATE approvals SET state = :state, decided_by = :by, decided_ms = :now WHERE id = :id AND state = 'waiting'",
        state=state,
        by=by,
        now=now,
        id=asked.id,
    )
    place = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=asked.conversation)
    assert place is not None  # the approval refers to it
    await store_internal_event(
        transaction,
        name=f"decision:{asked.id}",
        conversation=ConversationKey.parse(asked.conversation),
        modality=Modality.DECISION,
        author=by if by in asked.asked else asked.asked[0],
        place=place["place"],
        audience=asked.audience,
        body=f"{asked.tool}: {_WORDS[state]}",
        params={
            "approval": asked.id,
            "approved": state == "approved",
            "by": by,
            "expired": state == "expired",
            "answer": answer,
        },
        now=now,
    )
    if state == "expired" and await _was_taken_back(transaction, asked):
        await _empty_question(transaction, asked, now)
    else:
        said = _INVITATION_REFUSED if state == "refused" and asked.id.startswith(INVITING) else _WORDS[state]
        await remove_buttons(transaction, asked.conversation, asked.id, f"\n\n_{said}_", now)


async def take_back(transaction: Transaction, question: str, now: int) -> None:
    """Expire the question about a dropped message. `Approvals.expire` edits it once it is surely posted."""
    await transaction.run(
        "UPDATE approvals SET expires_ms = min(expires_ms, :now) WHERE id = :id AND state = 'waiting'",
        now=now,
        id=f"{BUTTON}{question}",
    )


async def _was_taken_back(transaction: Transaction, asked: Approval) -> bool:
    row = await transaction.one(
        "SELECT 1 FROM shared_messages WHERE id = :id AND state = 'dropped'", id=asked.id.removeprefix(BUTTON)
    )
    return row is not None


async def _empty_question(transaction: Transaction, asked: Approval, now: int) -> None:
    """Replace the text of a question that was taken back by one line."""
    whole = f"{asked.conversation}!{asked.id}"
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises, note)
        SELECT id || '!decided', conversation, soul, workspace, part, 0, :line, reply_to, recipient, newer_than_ts,
               audience, 'pending', :now, platform_ts, 1
        FROM outbox WHERE id >= :whole || '#' AND id < :whole || '#:' AND platform_ts IS NOT NULL
          AND revises IS NULL
        ON CONFLICT (id) DO NOTHING
        """,
        line=SENTENCES["ask_taken_back"],
        whole=whole,
        now=now,
    )
    await transaction.run(
        """
        UPDATE outbox SET approval = NULL, body = :line, note = 1,
          settled_ms = CASE WHEN state = 'pending' AND platform_ts IS NULL THEN :now ELSE settled_ms END,
          state = CASE WHEN state = 'pending' AND platform_ts IS NULL THEN 'dropped' ELSE state END
        WHERE id >= :whole || '#' AND id < :whole || '#:' AND revises IS NULL
        """,
        line=SENTENCES["ask_taken_back"],
        whole=whole,
        now=now,
    )


class Approvals(WorkerStore):
    """The questions for permission of one worker's soul in its workspace."""

    async def expire(self) -> int:
        """Close the questions whose deadline has passed, and return how many there were.

        A question that can't be closed in FAULTS tries just expires. Its error is raised after all others are closed.
        """
        now = self._clock.now_ms()

        async def due(transaction: Transaction) -> list[sqlite3.Row]:
            return await transaction.rows(
                f"""
                SELECT * FROM approvals a WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
                  AND expires_ms <= :now AND {NOT_BEING_POSTED} ORDER BY expires_ms, id LIMIT :most
                """,  # noqa: S608 - a constant of this module
                now=now,
                most=_AT_ONCE,
                **self._worker.scope,
            )

        async def move(transaction: Transaction, row: sqlite3.Row) -> bool:
            if row["tool"].startswith(OF_THE_MIND):
                await settle_proposal(transaction, row["id"], "expired", "", now)
                return True
            await close_question(transaction, Approval.from_row(row), "expired", by="", now=now)
            return True

        async def count_fault(transaction: Transaction, row: sqlite3.Row, _reason: str) -> None:
            await transaction.run(
                """
                UPDATE approvals SET faults = faults + 1,
                       state = CASE WHEN faults + 1 >= :most THEN 'expired' ELSE state END WHERE id = :id
                """,
                most=FAULTS,
                id=row["id"],
            )

        return await self._move_all(due, move, count_fault)

    async def next_due_ms(self) -> int | None:
        """Return when the next question expires (ms), or None if no question waits."""
        return await self._due_ms(
            f"""
            SELECT min(expires_ms) AS due FROM approvals a
            WHERE soul = :soul AND workspace = :workspace AND state = 'waiting' AND {NOT_BEING_POSTED}
            """  # noqa: S608 - a constant of this module
        )

    async def begin_use(self, approval_id: str) -> Approval | None:
        """Take a permission for use, once, or return None if it is not given, used up or expired.

        A permission holds as long after the decision as its question was open. A permission already in use belongs to a
        daemon that died before it stored the outcome. It becomes `unknown` and is never used again.
        """
        rows = await self._database.run(
            """
            UPDATE approvals SET state = CASE state WHEN 'using' THEN 'unknown'
              ELSE CASE WHEN decided_ms + expires_ms - created_ms < :now THEN 'expired' ELSE 'using' END END
            WHERE id = :id AND soul = :soul AND workspace = :workspace AND state IN ('approved', 'using')
            RETURNING *
            """,
            id=approval_id,
            now=self._clock.now_ms(),
            **self._worker.scope,
        )
        return Approval.from_row(rows[0]) if rows and rows[0]["state"] == "using" else None

    async def finish_use(self, approval_id: str, state: str) -> None:
        """Store how the use ended: `used`, `failed` (nothing was done) or `unknown`."""
        await self._database.run(
            """
            UPDATE approvals SET state = :state
            WHERE id = :id AND soul = :soul AND workspace = :workspace AND state IN ('using', 'unknown')
            """,
            state=state,
            id=approval_id,
            **self._worker.scope,
        )

    async def end_cut_off_use(self, approval_id: str) -> None:
        """Mark a use that was cut off as `unknown`."""
        await self._database.run(
            """
            UPDATE approvals SET state = 'unknown'
            WHERE id = :id AND soul = :soul AND workspace = :workspace AND state = 'using'
            """,
            id=approval_id,
            **self._worker.scope,
        )

    async def status(self, approval_id: str) -> Approval | None:
        """Return the question with this id in its current state, if it exists."""
        row = await self._database.one(
            "SELECT * FROM approvals WHERE id = :id AND soul = :soul AND workspace = :workspace",
            id=approval_id,
            **self._worker.scope,
        )
        return Approval.from_row(row) if row else None
