"""SQL conditions and assignments for the declarations of tables: a person's rows, and rows past their use.

Parameters are the `person` and `workspace`, lists as JSON (see below), `now`, and of *forget me* the message that is
`spared`, with the moment when it was `said` by Slack's clock, in ms.
"""

from typing import Final

from daemon.core.questions import BUTTON
from daemon.memory.goals_in_force import OWED

THEIR_NAMES: Final = "(SELECT value FROM json_each(:names))"
"""SQL for the names of a person: their id, and the author names of their sessions."""

THEIR_DMS: Final = "(SELECT value FROM json_each(:private))"
"""SQL for the ids of the person's direct messages."""

THEIR_ROOMS: Final = "(SELECT value FROM json_each(:shared))"
"""SQL for the ids of the person's other conversations."""

REDACTED: Final = "redacted"
"""In place of assignments: a row loses a person's own words alone."""

EMPTIED: Final = """
    body = '', cleared = CASE WHEN state = 'drafting' THEN cleared ELSE 1 END,
    settled_ms = CASE WHEN state IN ('drafting', 'sending') THEN settled_ms ELSE coalesce(settled_ms, :now) END,
    state = CASE WHEN state = 'pending' THEN 'dropped' ELSE state END
"""
"""SQL assignments for a post whose words are forgotten.

A post that is being sent may arrive all the same: the courier notices and ends it. The following cycle ends a draft,
which has no words yet.
"""

ITS_PARTS: Final = """
  SELECT p.id FROM inbox i CROSS JOIN outbox p ON p.conversation = i.conversation
    AND p.id >= substr(i.answered_by, 1, length(i.answered_by) - 1)
    AND p.id < substr(i.answered_by, 1, length(i.answered_by) - 1) || ':'
  WHERE i.answered_by IS NOT NULL AND
"""
"""SQL before a condition on rows `i` of `inbox`: the parts of their replies in `outbox`.

The first part has the key `…#0`. Parts are found by key: digits follow `#`, and `:` sorts after digits. Write `+state`
in a further condition, or SQLite scans all posts of a state instead.
"""

SAID_SINCE: Final = """
    {0}state IN ('new', 'claimed') AND {0}modality = 'words' AND CAST(CAST({0}ts AS REAL) * 1000 AS INTEGER) > :said
    """  # a message that waits and was sent after the one that asked
USED_ELSEWHERE: Final = """
    EXISTS (SELECT 1 FROM sessions s WHERE s.person = keys.person AND s.key = keys.id AND s.workspace <> :workspace)
    OR EXISTS (SELECT 1 FROM turns t CROSS JOIN conversations c ON c.id = t.conversation
               WHERE t.author = 'session.' || keys.id AND t.speaker = 'session' AND c.workspace <> :workspace)
    OR EXISTS (SELECT 1 FROM inbox i WHERE i.author = 'session.' || keys.id AND i.workspace <> :workspace)
    """  # the key goes when its person is forgotten there, too
ANSWERS: Final = f"""
    {ITS_PARTS} i.id IN (SELECT inbox FROM shared_messages
      WHERE owner IN {THEIR_NAMES} AND kind IN ('answer', 'said') AND workspace = :workspace)
    """  # noqa: S608 - constants; the posts with what the person's sessions answered
ASKED: Final = f"""
    EXISTS (SELECT 1 FROM shared_messages m WHERE m.behalf IN {THEIR_NAMES} AND m.kind IN ('question', 'task')
      AND m.workspace = :workspace AND instr(outbox.id, '!{BUTTON}' || m.id || '#') > 0)
    """  # noqa: S608 - constants; the posts that ask a session's owner for the person
NO_TURN: Final = """
    NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation = shared_files.conversation AND t.ts = shared_files.ts
                AND t.speaker <> 'soul')
    """  # the message was never answered, and its file becomes no record
FILES: Final = f"""
    seq IN (SELECT s.seq FROM inbox i CROSS JOIN shared_files s ON s.conversation = i.conversation AND s.ts = i.ts
      WHERE i.workspace = :workspace AND i.id <> :spared
        AND (i.author IN {THEIR_NAMES} OR i.conversation IN {THEIR_DMS}) AND NOT ({SAID_SINCE.format("i.")}))
    """  # noqa: S608 - constants
UNSAID: Final = """
    body = '', envelope = '{}', params = '{}', cleared = 1, aside = 0, name = '', author = '', message_id = '',
    revision = revision + 1, reason = 'its author asked to be forgotten', settled_ms = coalesce(settled_ms, :now),
    state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END
    """
ANSWERED: Final = "state IN ('answered', 'ignored', 'withdrawn', 'stale', 'dropped') AND modality = 'words'"
SENT: Final = """
    state IN ('sent', 'expired', 'dropped')
    AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = outbox.approval AND a.state = 'waiting')
    """
DECIDED: Final = ("refused", "expired", "used", "failed", "unknown")
ASKED_THEM: Final = f"""
    workspace = :workspace AND CASE WHEN NOT json_valid(asked) THEN instr(asked, :person) > 0
      ELSE EXISTS (SELECT 1 FROM json_each(approvals.asked) WHERE value IN {THEIR_NAMES}) END
    """  # noqa: S608 - a constant
ASKED_FOR_THEM: Final = f"""
    state = 'waiting' AND id IN (SELECT '{BUTTON}' || m.id FROM shared_messages m
      WHERE m.behalf IN {THEIR_NAMES} AND m.kind IN ('question', 'task') AND m.workspace = :workspace)
    """  # noqa: S608 - constants
ANSWERED_BY_THEM: Final = f"owner IN {THEIR_NAMES} AND kind IN ('answer', 'said') AND workspace = :workspace"
ASKED_THEIR_SESSION: Final = f"owner IN {THEIR_NAMES} AND workspace = :workspace AND NOT ({ANSWERED_BY_THEM})"
PROMISED_TO_OTHERS: Final = f"""
    instr(goal, :person) > 0 AND workspace = :workspace AND behalf NOT IN {THEIR_NAMES} AND {OWED}
    """
REASON_NAMES_THEM: Final = "instr(why, :person) > 0 AND workspace = :workspace"
WAITED_FOR: Final = f"""
    waiting_person IN {THEIR_NAMES} AND workspace = :workspace AND NOT EXISTS (SELECT 1 FROM inbox i
      WHERE i.conversation = conversations.id AND i.author = waiting_person AND i.state IN ('new', 'claimed'))
    """  # noqa: S608 - constants
DIGESTS_OF_THEM: Final = f"""
    object IN (SELECT 'audit ' || seq FROM audit WHERE object IN {THEIR_NAMES} OR actor IN {THEIR_NAMES})
    """  # noqa: S608 - constants; without its salt a digest says nothing of the row
NAMELESS: Final = ", ".join(
    f"{one} = CASE WHEN {one} IN {THEIR_NAMES} THEN '' ELSE {one} END" for one in ("object", "actor")
)
OF_NO_TURN: Final = f"conversation IN {THEIR_ROOMS} AND trace_id NOT IN (SELECT trace_id FROM turns)"  # noqa: S608 - constants
OF_PRIVATE_AUDIENCE: Final = f"""
    (soul, workspace, audience) IN (SELECT soul, workspace, audience FROM conversations WHERE id IN {THEIR_DMS})
    """  # noqa: S608 - a constant
