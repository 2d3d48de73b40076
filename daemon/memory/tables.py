"""One declaration for each table of memory.db: what it holds of people, and what is done with that.

Forgetting a person, the search for what is left of them, retention and the table in docs/PRIVACY.md follow from these
declarations. A test compares them with the schema.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from daemon.core.questions import BUTTON
from daemon.memory.goals_in_force import OWED, WITHOUT_WORDS

THEIR_NAMES: Final = "(SELECT value FROM json_each(:names))"
"""SQL for the names of a person: their id, and the author names of their sessions."""

THEIR_DMS: Final = "(SELECT value FROM json_each(:private))"
"""SQL for the ids of the person's direct messages."""

THEIR_ROOMS: Final = "(SELECT value FROM json_each(:shared))"
"""SQL for the ids of the person's other conversations."""

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

_SAID_SINCE: Final = """
    {0}state IN ('new', 'claimed') AND {0}modality = 'words' AND CAST(CAST({0}ts AS REAL) * 1000 AS INTEGER) > :said
    """  # a message that waits and was sent after the one that asked
_USED_ELSEWHERE: Final = """
    EXISTS (SELECT 1 FROM sessions s WHERE s.person = keys.person AND s.key = keys.id AND s.workspace <> :workspace)
    OR EXISTS (SELECT 1 FROM turns t CROSS JOIN conversations c ON c.id = t.conversation
               WHERE t.author = 'session.' || keys.id AND t.speaker = 'session' AND c.workspace <> :workspace)
    OR EXISTS (SELECT 1 FROM inbox i WHERE i.author = 'session.' || keys.id AND i.workspace <> :workspace)
    """  # the key goes when its person is forgotten there, too
_ANSWERS: Final = f"""
    {ITS_PARTS} i.id IN (SELECT inbox FROM shared_messages
      WHERE owner IN {THEIR_NAMES} AND kind IN ('answer', 'said') AND workspace = :workspace)
    """  # noqa: S608 - constants; the posts with what the person's sessions answered
_ASKED: Final = f"""
    EXISTS (SELECT 1 FROM shared_messages m WHERE m.behalf IN {THEIR_NAMES} AND m.kind IN ('question', 'task')
      AND m.workspace = :workspace AND instr(outbox.id, '!{BUTTON}' || m.id || '#') > 0)
    """  # noqa: S608 - constants; the posts that ask a session's owner for the person
_NO_TURN: Final = """
    NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation = shared_files.conversation AND t.ts = shared_files.ts
                AND t.speaker <> 'soul')
    """  # the message was never answered, and its file becomes no record
_FILES: Final = f"""
    seq IN (SELECT s.seq FROM inbox i CROSS JOIN shared_files s ON s.conversation = i.conversation AND s.ts = i.ts
      WHERE i.workspace = :workspace AND i.id <> :spared
        AND (i.author IN {THEIR_NAMES} OR i.conversation IN {THEIR_DMS}) AND NOT ({_SAID_SINCE.format("i.")}))
    """  # noqa: S608 - constants
_UNSAID: Final = """
    body = '', envelope = '{}', params = '{}', cleared = 1, aside = 0, name = '', author = '', message_id = '',
    revision = revision + 1, reason = 'its author asked to be forgotten', settled_ms = coalesce(settled_ms, :now),
    state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END
    """
_ANSWERED: Final = "state IN ('answered', 'ignored', 'withdrawn', 'stale', 'dropped') AND modality = 'words'"
_SENT: Final = """
    state IN ('sent', 'expired', 'dropped')
    AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = outbox.approval AND a.state = 'waiting')
    """
_DECIDED: Final = ("refused", "expired", "used", "failed", "unknown")
_ASKED_THEM: Final = f"""
    workspace = :workspace AND CASE WHEN NOT json_valid(asked) THEN instr(asked, :person) > 0
      ELSE EXISTS (SELECT 1 FROM json_each(approvals.asked) WHERE value IN {THEIR_NAMES}) END
    """  # noqa: S608 - a constant
_ASKED_FOR_THEM: Final = f"""
    state = 'waiting' AND id IN (SELECT '{BUTTON}' || m.id FROM shared_messages m
      WHERE m.behalf IN {THEIR_NAMES} AND m.kind IN ('question', 'task') AND m.workspace = :workspace)
    """  # noqa: S608 - constants
_ANSWERED_BY_THEM: Final = f"owner IN {THEIR_NAMES} AND kind IN ('answer', 'said') AND workspace = :workspace"
_ASKED_THEIR_SESSION: Final = f"owner IN {THEIR_NAMES} AND workspace = :workspace AND NOT ({_ANSWERED_BY_THEM})"
_PROMISED_TO_OTHERS: Final = f"""
    instr(goal, :person) > 0 AND workspace = :workspace AND behalf NOT IN {THEIR_NAMES} AND {OWED}
    """
_REASON_NAMES_THEM: Final = "instr(why, :person) > 0 AND workspace = :workspace"
_WAITED_FOR: Final = f"""
    waiting_person IN {THEIR_NAMES} AND workspace = :workspace AND NOT EXISTS (SELECT 1 FROM inbox i
      WHERE i.conversation = conversations.id AND i.author = waiting_person AND i.state IN ('new', 'claimed'))
    """  # noqa: S608 - constants
_DIGESTS_OF_THEM: Final = f"""
    object IN (SELECT 'audit ' || seq FROM audit WHERE object IN {THEIR_NAMES} OR actor IN {THEIR_NAMES})
    """  # noqa: S608 - constants; without its salt a digest says nothing of the row
_NAMELESS: Final = ", ".join(
    f"{one} = CASE WHEN {one} IN {THEIR_NAMES} THEN '' ELSE {one} END" for one in ("object", "actor")
)
_OF_NO_TURN: Final = f"conversation IN {THEIR_ROOMS} AND trace_id NOT IN (SELECT trace_id FROM turns)"  # noqa: S608 - constants
_OF_ONE_PERSON: Final = """
    bound_threads initiatives person_zones remembering room_lists room_members shown_facts word_readings
"""
_OF_NO_PERSON: Final = """
    alarms awakenings consolidation_items consolidation_slots deliveries distrusted_indexes duties ended_intentions
    erased_words event_sources index_sizes introductions library_files llm_days loose_bytes marked_messages
    mind_authority mind_authority_history model_habits narrowings passport_turns passport_unfinished prediction_sums
    presence record_ids room_news sensed session_siblings surfaced thought_notes tick_counts ticks tools turn_places
    unread_places vector_queue watermarks
"""  # they hold numbers, ids of messages, rooms and records, and what the daemon keeps of itself


@dataclass(frozen=True, slots=True)
class Age:
    """Rows that are older than a setting's days, by a column in milliseconds.

    `change` are SQL assignments; without them the row is deleted. Rows are found by `found`, along an index, and only
    those of them that meet `only` change. Without a setting, the column itself says when the row ends.
    """

    setting: str
    column: str
    change: str = ""
    found: str = "1 = 1"
    only: str = "1 = 1"


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and what it holds of people.

    `of` are the columns with the id of the person whose row it is, `names` the texts that may name a person, `words`
    the columns with words of people or of the soul. `place` is SQL for the row's conversation, `workspace` for its
    workspace, '' if it has none.

    A person's rows are those of `of` and `names`, those in their direct messages, and those that meet a condition of
    `also`, except for `but`. They are deleted, or changed by `stays` (SQL assignments). Before that, `blanked` changes
    rows that stay (a condition and assignments). A `step` of the erasure treats the table instead. Old rows are changed
    by their `key`.
    """

    name: str
    of: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    place: str = ""
    workspace: str = "workspace"
    also: tuple[str, ...] = ()
    but: str = ""
    stays: str = ""
    blanked: tuple[tuple[str, str], ...] = ()
    step: bool = False
    key: str = "id"
    ages: tuple[Age, ...] = ()

    @property
    def owned(self) -> str:
        """SQL for the rows that are a person's by an id in them, '' where there are none."""
        found = [f"{one} IN {THEIR_NAMES} AND {one} <> ''" for one in self.of]
        found += [f"instr({one}, :person) > 0" for one in self.names]
        there = f" AND {self.workspace} = :workspace" if self.workspace else ""
        return f"({' OR '.join(found)}){there}" + (f" AND NOT ({self.but})" if self.but else "") if found else ""

    def erasure(self) -> tuple[str, ...]:
        """Return the statements that erase a person here, none where a step does it."""
        here = f"{self.place} IN {THEIR_DMS}" if self.place else ""
        theirs = () if self.step else tuple(f"({one})" for one in (self.owned, here, *self.also) if one)
        blank = [f"UPDATE {self.name} SET {change} WHERE {rows}" for rows, change in self.blanked]  # noqa: S608 - literals
        if not theirs:
            return tuple(blank)
        act = f"UPDATE {self.name} SET {self.stays}" if self.stays else f"DELETE FROM {self.name}"  # noqa: S608 - literals
        return (*blank, f"{act} WHERE ({' OR '.join(theirs)}) AND NOT ({self.but or 0})")


def _of_its(table: str, other: str, column: str) -> str:
    """Return SQL for the workspace of the row of another table that a column names."""
    return f"(SELECT x.workspace FROM {other} x WHERE x.id = {table}.{column})"  # noqa: S608 - literals


_OF_PRIVATE_AUDIENCE: Final = f"""
    (soul, workspace, audience) IN (SELECT soul, workspace, audience FROM conversations WHERE id IN {THEIR_DMS})
    """  # noqa: S608 - a constant
_HERE: Final = "conversation"

T, A = Table, Age
TABLES: Final = (
    # Files and posts are found by the rows of the inbox, which lose their author last.
    T(
        "shared_files",
        words=("name", "found", "url", "reason"),
        also=(_FILES,),
        workspace=_of_its("shared_files", "conversations", _HERE),
        key="seq",
        ages=(
            A("queue_text_days", "heard_ms", found="state IN ('waiting', 'refused')"),
            A("queue_text_days", "heard_ms", found="state = 'read'", only=_NO_TURN),
        ),
    ),
    T(
        "outbox",
        of=("recipient",),
        words=("body", "answers", "reason"),
        also=(
            f"workspace = :workspace AND id IN ({ITS_PARTS} i.author IN {THEIR_NAMES} AND i.workspace = :workspace)",
            f"id IN ({_ANSWERS})",
            f"workspace = :workspace AND {_ASKED}",
            f"conversation IN {THEIR_DMS} AND state NOT IN ('pending', 'sending')",
        ),
        stays=f"recipient = CASE WHEN id IN ({_ANSWERS}) THEN recipient ELSE '' END, reason = '', {EMPTIED}",
        ages=(A("queue_text_days", "created_ms", "cleared = 1, body = ''", "cleared = 0", _SENT),),
    ),
    T(
        "inbox",
        of=("author",),
        words=("body", "envelope", "params", "name", "reason"),
        place=_HERE,
        but=f"id = :spared OR {_SAID_SINCE.format('')}",
        stays=_UNSAID,
        ages=(
            A("trace_days", "received_ms", found="modality <> 'words'", only="state NOT IN ('new', 'claimed')"),
            A(
                "queue_text_days",
                "received_ms",
                "cleared = 1, body = '', envelope = '{}', aside = 0",
                "cleared = 0",
                _ANSWERED,
            ),
        ),
    ),
    T("feedback", of=("author",), words=("why",), workspace=_of_its("feedback", "outbox", "outbox")),
    T("judged_memories", of=("author",), workspace=_of_its("judged_memories", "outbox", "outbox")),
    # what was said, and what was made of it
    T(
        "turns",
        of=("author",),
        words=("body", "thought", "name", "emotion_signal", "salience_anchor", "intent"),
        place=_HERE,
        workspace=_of_its("turns", "conversations", _HERE),
        step=True,
        key="seq",
        ages=(A("turn_days", "said_ms"),),
    ),
    T("aged_turns", of=("author",)),
    T("turn_words", words=("words",)),
    T("working_memory", words=("summary",), place=_HERE),
    T("conversation_topics", words=("topic", "task"), place=_HERE),
    T("standing_questions", words=("question",)),
    T("soul_state", words=("emotional_state", "felt_quality"), also=(_OF_PRIVATE_AUDIENCE,)),
    T(
        "transitions",
        words=("reason", "params"),
        place=_HERE,
        also=(_OF_NO_TURN,),
        key="seq",
        ages=(A("trace_days", "at_ms"),),
    ),
    # what the soul thinks
    T(
        "thoughts",
        words=("input", "output"),
        place=_HERE,
        step=True,
        ages=(A("turn_days", "at_ms", "input = '', output = ''", found="emptied = 0"),),
    ),
    T("thought_sources", names=("source",), workspace="", step=True),
    T("changed_words", names=("source",), workspace="", stays="source = ''"),
    T(
        "goals",
        of=("behalf",),
        names=("goal",),
        words=("goal", "same_words", "why"),
        place=_HERE,
        blanked=((_PROMISED_TO_OTHERS, WITHOUT_WORDS), (_REASON_NAMES_THEM, "why = '', changed_by = ''")),
        key="seq",
        ages=(A("turn_days", "closed_ms", found="thought = ''"),),
    ),
    T("predictions", words=("what", "timeframe", "awaited")),
    T(
        "mind_documents",
        of=("person",),
        words=("attribute", "words", "why"),
        place=_HERE,
        key="seq",
        ages=(A("", "until_ms", found="until_ms IS NOT NULL"), A("turn_days", "at_ms", found="audience <> ''")),
    ),
    # Records come later than thoughts, which keep what they made where both only grow old.
    T(
        "records",
        of=("person",),
        words=("text", "extra"),
        place=_HERE,
        step=True,
        ages=(
            A("episode_days", "at_ms", found="kind IN ('episode', 'core', 'sphere')"),
            A("sense_days", "at_ms", found="kind = 'sense'"),
            A("journal_days", "at_ms", found="kind = 'journal'"),
        ),
    ),
    T(
        "facts",
        of=("claimed_by", "subject"),
        words=("predicate", "object"),
        workspace=_of_its("facts", "records", "id"),
        step=True,
        ages=(A("fact_days", "valid_until_ms", found="valid_until_ms IS NOT NULL"),),
    ),
    T("episodes", words=("situation", "summary", "workflow", "state_snapshot", "tags", "cues")),
    T("senses", words=("name", "qualia", "features", "physio_snapshot")),
    T("journal", words=("tone", "tags")),
    T("record_words", words=("words",)),
    T("links", words=("quote",)),
    T(
        "readings",
        names=("words",),
        words=("words", "said", "concerns"),
        place=_HERE,
        key="seq",
        ages=(
            A("queue_text_days", "at_ms", only="state <> 'waiting'"),
            A("queue_text_days", "at_ms", "state = 'dropped', words = '', wakes_ms = NULL", only="state = 'waiting'"),
        ),
    ),
    # people
    T("user_models", of=("person",), words=("name", "whispers")),
    T("user_model_history", of=("person",), words=("notes", "whispers", "change")),
    T("looked_through", of=("person",), workspace=_of_its("looked_through", "conversations", _HERE)),
    T("invitations", of=("who",)),
    *(T(one, of=("person",)) for one in _OF_ONE_PERSON.split()),
    T("room_ways", of=("person",), words=("instructions",)),
    # what is to be done
    T(
        "intentions",
        of=("behalf",),
        words=("content", "params", "reason"),
        place=_HERE,
        ages=tuple(A("trace_days", "due_ms", found=f"state = '{one}'") for one in ("due", "cancelled")),
    ),
    T(
        "approvals",
        words=("arguments",),
        place=_HERE,
        also=(_ASKED_THEM,),
        blanked=((_ASKED_FOR_THEM, "state = 'expired'"),),
        ages=tuple(A("trace_days", "created_ms", found=f"state = '{one}'") for one in _DECIDED),
    ),
    T("jobs", key="seq", ages=(A("job_days", "settled_ms", found="state = 'done'"),)),
    T(
        "consolidations",
        also=(_OF_PRIVATE_AUDIENCE,),
        ages=(A("trace_days", "began_ms", only="state <> 'running'"),),
    ),
    T("consolidation_changes", names=("object",), workspace=_of_its("consolidation_changes", "consolidations", "run")),
    # sessions, and what souls share
    T("keys", of=("person",), words=("machine",), workspace="", but=_USED_ELSEWHERE),
    T(
        "sessions",
        of=("person",),
        words=("name", "person_name", "project", "cwd", "root", "branch", "topic", "reason"),
        ages=(A("trace_days", "seen_ms"),),
    ),
    T("session_events", ages=(A("trace_days", "at_ms"),)),
    T("session_titles", ages=(A("trace_days", "noted_ms"),)),
    T("pairings", of=("person",), words=("machine",), ages=(A("trace_days", "created_ms"),)),
    T("wrong_codes", of=("person",), ages=(A("trace_days", "at_ms"),)),
    T(
        "shared_messages",
        of=("behalf",),
        words=("words", "called", "asker", "reason", "prompt"),
        also=(_ANSWERED_BY_THEM,),
        blanked=((_ASKED_THEIR_SESSION, "owner = '', called = ''"),),
        ages=(A("trace_days", "created_ms", only="state NOT IN ('held', 'waiting')"),),
    ),
    T("shared_context", words=("data",)),
    T("shared_context_history", words=("data",)),
    T("awareness", words=("state",)),
    T(
        "source_events",
        words=("words",),
        key="seq",
        ages=(A("queue_text_days", "at_ms", "cleared = 1, words = ''", "cleared = 0"),),
    ),
    T("library_passages", words=("body",)),
    T("library_words", words=("words",)),
    # what the daemon keeps of its work
    T("conversations", words=("params", "process_memory"), blanked=((_WAITED_FOR, "waiting_person = ''"),)),
    T("llm_calls", of=("person",), stays="person = ''", key="seq", ages=(A("call_days", "started_ms"),)),
    T("reservations", of=("person",), stays="person = ''"),
    T("spending", of=("id",), but="paid_by <> 'person'"),
    T("ledger", blanked=((_DIGESTS_OF_THEM, "salt = ''"),)),
    T("audit", of=("object", "actor"), workspace="", stays=_NAMELESS),
    T("tombstones", of=("person",), stays="person = ''", step=True),
    *(T(one) for one in _OF_NO_PERSON.split()),
)
BY_NAME: Final = MappingProxyType({one.name: one for one in TABLES})
