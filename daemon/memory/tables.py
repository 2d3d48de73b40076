"""One declaration for each table of memory.db: what it holds of people, and what is done with that.

Forgetting a person, the search for what is left of them, retention and the table in docs/PRIVACY.md follow from these
declarations. A test compares them with the schema.
"""

from types import MappingProxyType
from typing import Final

from daemon.core.value import Value
from daemon.memory import row_conditions as rows
from daemon.memory.goals_in_force import WITHOUT_WORDS

_OF_ONE_PERSON: Final = """
    bound_threads person_zones room_lists room_members shown_facts word_readings
"""
_OF_NO_PERSON: Final = """
    alarms awakenings consolidation_items consolidation_slots deliveries distrusted_indexes duties ended_intentions
    erased_words event_sources index_sizes introductions library_files llm_days loose_bytes marked_messages
    mind_authority mind_authority_history model_habits narrowings passport_turns passport_unfinished prediction_sums
    presence record_ids room_news sensed session_siblings surfaced thought_notes tick_counts ticks tools turn_places
    unread_places vector_queue watermarks
"""  # they hold numbers, ids of messages, rooms and records, and what the daemon keeps of itself


class Age(Value):
    """Rows that are older than a setting's days, by a column in milliseconds.

    `change` are SQL assignments; without them the row is deleted. Rows are found by `found`, along an index, and only
    those of them that meet `only` change. Without a setting, the column itself says when the row ends.
    """

    setting: str
    column: str
    change: str = ""
    found: str = "1 = 1"
    only: str = "1 = 1"


class Table(Value):
    """A table, and what it holds of people.

    `of` are the columns with the id of the person whose row it is, `names` those whose texts may name a person, `words`
    those with words of people or of the soul, with spaces between. `place` is SQL for the row's conversation,
    `workspace` for its workspace, '' if it has none.

    A person's rows are those of `of` and `names`, those in their direct messages, and those that meet a condition of
    `also`, except for `but`. They are deleted, or changed by `stays` (SQL assignments). Before that, `blanked` changes
    rows that stay (a condition and assignments). A `step` of the erasure treats the table instead.
    `repeats` says which rows of shared conversations may repeat the person's own words, in which columns, and what
    changes then: '' for deletion, REDACTED where the words alone go. `moves` says which rows go along to another soul
    that gets their conversation, and what changes then. `export` are the name and the columns of a person's own rows in
    the file that they get, with a condition. Old rows are changed by their `key`.
    """

    name: str
    of: str = ""
    names: str = ""
    words: str = ""
    place: str = ""
    workspace: str = "workspace"
    also: tuple[str, ...] = ()
    but: str = ""
    stays: str = ""
    blanked: tuple[tuple[str, str], ...] = ()
    step: bool = False
    repeats: tuple[str, str, str] | None = None
    moves: tuple[str, str] | None = None
    export: tuple[str, str, str] | None = None
    key: str = "id"
    ages: tuple[Age, ...] = ()

    @property
    def owned(self) -> str:
        """SQL for the rows that are a person's by an id in them, '' where there are none."""
        found = [f"{one} IN {rows.THEIR_NAMES} AND {one} <> ''" for one in self.of.split()]
        found += [f"instr({one}, :person) > 0" for one in self.names.split()]
        there = f" AND {self.workspace} = :workspace" if self.workspace else ""
        return f"({' OR '.join(found)}){there}" + (f" AND NOT ({self.but})" if self.but else "") if found else ""

    def erasure(self) -> tuple[str, ...]:
        """Return the statements that erase a person here, none where a step does it."""
        here = f"{self.place} IN {rows.THEIR_DMS}" if self.place else ""
        theirs = () if self.step else tuple(f"({one})" for one in (self.owned, here, *self.also) if one)
        blank = [f"UPDATE {self.name} SET {change} WHERE {which}" for which, change in self.blanked]  # noqa: S608 - literals
        if not theirs:
            return tuple(blank)
        act = f"UPDATE {self.name} SET {self.stays}" if self.stays else f"DELETE FROM {self.name}"  # noqa: S608 - literals
        return (*blank, f"{act} WHERE ({' OR '.join(theirs)}) AND NOT ({self.but or 0})")


def _of_its(table: str, other: str, column: str) -> str:
    """Return SQL for the workspace of the row of another table that a column names."""
    return f"(SELECT x.workspace FROM {other} x WHERE x.id = {table}.{column})"  # noqa: S608 - literals


_HERE: Final = "conversation"

T, A = Table, Age
TABLES: Final = (
    # what was said; retention finds its posts by the rows of the inbox
    T(
        "turns",
        of="author",
        words="body thought name emotion_signal salience_anchor intent",
        place=_HERE,
        workspace=_of_its("turns", "conversations", _HERE),
        step=True,
        key="seq",
        ages=(A("turn_days", "said_ms"),),
    ),
    # Files and posts are found by the rows of the inbox, which lose their author last.
    T(
        "shared_files",
        words="name found url reason",
        also=(rows.FILES,),
        workspace=_of_its("shared_files", "conversations", _HERE),
        key="seq",
        ages=(
            A("queue_text_days", "heard_ms", found="state IN ('waiting', 'refused')"),
            A("queue_text_days", "heard_ms", found="state = 'read'", only=rows.NO_TURN),
        ),
    ),
    T(
        "outbox",
        of="recipient",
        words="body answers reason",
        also=(
            f"id IN ({rows.ITS_PARTS} i.author IN {rows.THEIR_NAMES} AND i.workspace = :workspace)",
            f"id IN ({rows.ANSWERS})",
            f"workspace = :workspace AND {rows.ASKED}",
            f"conversation IN {rows.THEIR_DMS} AND state NOT IN ('pending', 'sending')",
        ),
        stays=f"""recipient = CASE WHEN id IN ({rows.ANSWERS}) AND recipient NOT IN {rows.THEIR_NAMES} THEN recipient
          ELSE '' END, reason = '', {rows.EMPTIED}""",
        repeats=("1 = 1", "body", rows.EMPTIED),
        ages=(A("queue_text_days", "created_ms", "cleared = 1, body = ''", "cleared = 0", rows.SENT),),
    ),
    T(
        "inbox",
        of="author",
        words="body envelope params name reason",
        place=_HERE,
        but=f"id = :spared OR {rows.SAID_SINCE.format('')}",
        stays=rows.UNSAID,
        repeats=("modality = 'time'", "body params", rows.REDACTED),
        ages=(
            A("trace_days", "received_ms", found="modality <> 'words'", only="state NOT IN ('new', 'claimed')"),
            A(
                "queue_text_days",
                "received_ms",
                "cleared = 1, body = '', envelope = '{}', aside = 0",
                "cleared = 0",
                rows.ANSWERED,
            ),
        ),
    ),
    T("feedback", of="author", words="why", workspace=_of_its("feedback", "outbox", "outbox")),
    T("judged_memories", of="author", workspace=_of_its("judged_memories", "outbox", "outbox")),
    # what was made of it
    T("aged_turns", of="author"),
    T("turn_words", words="words"),
    T("working_memory", words="summary", place=_HERE),
    T("conversation_topics", words="topic task", place=_HERE),
    T("standing_questions", words="question"),
    T("soul_state", words="emotional_state felt_quality", also=(rows.OF_PRIVATE_AUDIENCE,)),
    T(
        "transitions",
        words="reason params",
        place=_HERE,
        also=(rows.OF_NO_TURN,),
        repeats=("1 = 1", "reason params", ""),
        key="seq",
        ages=(A("trace_days", "at_ms"),),
    ),
    # what the soul thinks
    T(
        "thoughts",
        words="input output",
        place=_HERE,
        step=True,
        ages=(A("turn_days", "at_ms", "input = '', output = ''", found="emptied = 0"),),
    ),
    T("thought_sources", names="source", workspace="", step=True),
    T("changed_words", names="source", workspace="", stays="source = ''"),
    T(
        "goals",
        of="behalf",
        names="goal",
        words="goal same_words why",
        place=_HERE,
        blanked=((rows.PROMISED_TO_OTHERS, WITHOUT_WORDS), (rows.REASON_NAMES_THEM, "why = '', changed_by = ''")),
        key="seq",
        ages=(A("turn_days", "closed_ms", found="thought = ''"),),
    ),
    T("predictions", words="what timeframe awaited"),
    T(
        "mind_documents",
        of="person",
        words="attribute words why",
        place=_HERE,
        key="seq",
        ages=(A("", "until_ms", found="until_ms IS NOT NULL"), A("turn_days", "at_ms", found="audience <> ''")),
    ),
    # Records come later than thoughts, which keep what they made where both only grow old.
    T(
        "records",
        of="person",
        words="text extra",
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
        of="claimed_by subject",
        words="predicate object",
        workspace=_of_its("facts", "records", "id"),
        step=True,
        ages=(A("fact_days", "valid_until_ms", found="valid_until_ms IS NOT NULL"),),
    ),
    T("episodes", words="situation summary workflow state_snapshot tags cues"),
    T("senses", words="name qualia features physio_snapshot"),
    T("journal", words="tone tags"),
    T("record_words", words="words"),
    T("links", words="quote"),
    T(
        "readings",
        names="words",
        words="words said concerns",
        place=_HERE,
        moves=("state = 'waiting'", ", concerns = '', wakes_ms = NULL"),
        key="seq",
        ages=(
            A("queue_text_days", "at_ms", only="state <> 'waiting'"),
            A("queue_text_days", "at_ms", "state = 'dropped', words = '', wakes_ms = NULL", only="state = 'waiting'"),
        ),
    ),
    # people
    T(
        "user_models",
        of="person",
        words="name whispers",
        export=("visits", "audience, name, visits, interactions, seen_ms", "1 = 1 ORDER BY audience"),
    ),
    T("user_model_history", of="person", words="notes whispers change"),
    T("looked_through", of="person", workspace=_of_its("looked_through", "conversations", _HERE)),
    T("invitations", of="who", export=("invitation", "state, how, until_ms, asked_ms, at_ms", "1 = 1")),
    T(
        "initiatives",
        of="person",
        export=("written_unasked", "at_ms, promised, disliked AS unwanted", "1 = 1 ORDER BY seq"),
    ),
    T("remembering", of="person", export=("remembering", "paused_ms, informed_ms", "1 = 1")),
    *(T(one, of="person") for one in _OF_ONE_PERSON.split()),
    T("room_ways", of="person", words="instructions"),
    # what is to be done
    T(
        "intentions",
        of="behalf",
        words="content params reason",
        place=_HERE,
        repeats=("1 = 1", "content params", rows.REDACTED),
        export=(
            "reminders",
            "content AS text, cue AS waits_for, due_ms, every, state",
            "slot LIKE 'reminder-%' ORDER BY due_ms",
        ),
        moves=("state = 'waiting' AND slot NOT GLOB 'mind:*'", ""),
        ages=tuple(A("trace_days", "due_ms", found=f"state = '{one}'") for one in ("due", "cancelled")),
    ),
    T(
        "approvals",
        words="arguments",
        place=_HERE,
        also=(rows.ASKED_THEM,),
        blanked=((rows.ASKED_FOR_THEM, "state = 'expired'"),),
        repeats=("1 = 1", "arguments", ""),
        ages=tuple(A("trace_days", "created_ms", found=f"state = '{one}'") for one in rows.DECIDED),
    ),
    T("jobs", key="seq", ages=(A("job_days", "settled_ms", found="state = 'done'"),)),
    T(
        "consolidations",
        also=(rows.OF_PRIVATE_AUDIENCE,),
        ages=(A("trace_days", "began_ms", only="state <> 'running'"),),
    ),
    T("consolidation_changes", names="object", workspace=_of_its("consolidation_changes", "consolidations", "run")),
    # sessions, and what souls share
    T("keys", of="person", words="machine", workspace="", but=rows.USED_ELSEWHERE),
    T(
        "sessions",
        of="person",
        words="name person_name project cwd root branch topic reason",
        ages=(A("trace_days", "seen_ms"),),
    ),
    T("session_events", ages=(A("trace_days", "at_ms"),)),
    T("session_titles", ages=(A("trace_days", "noted_ms"),)),
    T("pairings", of="person", words="machine", ages=(A("trace_days", "created_ms"),)),
    T("wrong_codes", of="person", ages=(A("trace_days", "at_ms"),)),
    T(
        "shared_messages",
        of="behalf",
        words="words called asker reason prompt",
        also=(rows.ANSWERED_BY_THEM,),
        blanked=((rows.ASKED_THEIR_SESSION, "owner = '', called = ''"),),
        ages=(A("trace_days", "created_ms", only="state NOT IN ('held', 'waiting')"),),
    ),
    T("shared_context", words="data"),
    T("shared_context_history", words="data"),
    T("awareness", words="state"),
    T(
        "source_events",
        words="words",
        key="seq",
        ages=(A("queue_text_days", "at_ms", "cleared = 1, words = ''", "cleared = 0"),),
    ),
    T("library_passages", words="body"),
    T("library_words", words="words"),
    # what the daemon keeps of its work
    T("conversations", words="params process_memory", blanked=((rows.WAITED_FOR, "waiting_person = ''"),)),
    T("llm_calls", of="person", stays="person = ''", key="seq", ages=(A("call_days", "started_ms"),)),
    T("reservations", of="person", stays="person = ''"),
    T("spending", of="id", but="paid_by <> 'person'"),
    T("ledger", blanked=((rows.DIGESTS_OF_THEM, "salt = ''"),)),
    T("audit", of="object actor", workspace="", stays=rows.NAMELESS),
    T("tombstones", of="person", stays="person = ''", step=True),
    *(T(one) for one in _OF_NO_PERSON.split()),
)
BY_NAME: Final = MappingProxyType({one.name: one for one in TABLES})
