"""A mind that goes on: what a soul holds beside its stream of thought."""

from alembic import op

revision = "0011"
down_revision = "0010"

CHANGES: tuple[str, ...] = (
    "CREATE INDEX thoughts_that_saw ON thoughts (conversation, saw_to) WHERE emptied = 0",
    # How a soul feels before an audience, on three axes since `moved_ms`, from when they fade; and how that feels, in
    # the words of the thought `felt_by`, with which they go.
    "ALTER TABLE soul_state ADD COLUMN valence REAL NOT NULL DEFAULT 0 CHECK (valence BETWEEN -1 AND 1)",
    "ALTER TABLE soul_state ADD COLUMN arousal REAL NOT NULL DEFAULT 0 CHECK (arousal BETWEEN -1 AND 1)",
    "ALTER TABLE soul_state ADD COLUMN dominance REAL NOT NULL DEFAULT 0 CHECK (dominance BETWEEN -1 AND 1)",
    "ALTER TABLE soul_state ADD COLUMN moved_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE soul_state ADD COLUMN felt_quality TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE soul_state ADD COLUMN felt_by TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX soul_state_felt_by ON soul_state (felt_by) WHERE felt_by <> ''",
    """
    CREATE TRIGGER feelings_go_with_their_thought AFTER UPDATE OF emptied, audience ON thoughts
    WHEN NEW.emptied = 1 OR NEW.audience <> OLD.audience
    BEGIN
      UPDATE soul_state SET felt_quality = '', felt_by = '' WHERE felt_by = NEW.id AND felt_by <> '';
    END
    """,
    # A message that surely was meant for the soul: a direct message, or a mention.
    "ALTER TABLE inbox ADD COLUMN addressed INTEGER NOT NULL DEFAULT 1 CHECK (addressed IN (0, 1))",
    # An answer without words: the name of an emoji, and the ts of the message that bears it.
    "ALTER TABLE outbox ADD COLUMN nod TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN nod_to TEXT NOT NULL DEFAULT ''",
    # What a soul means to do. Goals are numbered for each soul: G1, G2. `readers`: before whom it was made, as with a
    # thought. An open one that is untouched for long is stale; `stale_shown` says that a thought was shown it as such.
    """
    CREATE TABLE goals (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      id TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      audience TEXT NOT NULL,
      readers TEXT NOT NULL,                     -- JSON
      behalf TEXT NOT NULL,                      -- the person for whom it was made, '' for none
      goal TEXT NOT NULL,
      same_words TEXT NOT NULL,                  -- the goal in small letters and without marks, to know it again
      priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
      state TEXT NOT NULL CHECK (state IN ('open', 'done', 'abandoned', 'proposed')),
      follow_up INTEGER NOT NULL CHECK (follow_up IN (0, 1)),
      due_ms INTEGER,
      created_ms INTEGER NOT NULL,
      touched_ms INTEGER NOT NULL,
      closed_ms INTEGER,
      stale_shown INTEGER NOT NULL DEFAULT 0 CHECK (stale_shown IN (0, 1)),
      why TEXT NOT NULL,                         -- of its last change
      thought TEXT NOT NULL,                     -- the thought that made it, '' where an admin did
      changed_by TEXT NOT NULL,                  -- the thought whose words `why` holds
      UNIQUE (soul, id)
    ) STRICT
    """,
    "CREATE INDEX goals_in_force ON goals (soul, workspace, audience, touched_ms) WHERE state = 'open'",
    "CREATE INDEX goals_by_conversation ON goals (conversation)",
    "CREATE INDEX goals_by_thought ON goals (thought)",
    "CREATE INDEX goals_changed_by ON goals (changed_by)",
    "CREATE INDEX goals_by_person ON goals (behalf, workspace)",
    # How much each function of a soul's mind may do by itself, where that was decided or its parts were counted; no
    # row holds anybody's words. `recent` has one sign for each of its newest parts: 1 for a refused one.
    """
    CREATE TABLE mind_authority (
      soul TEXT NOT NULL,
      function TEXT NOT NULL,
      level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 3),
      why TEXT NOT NULL,
      decided_by TEXT NOT NULL,                  -- an admin, 'house', or '' where nothing was decided
      since_ms INTEGER NOT NULL,
      recent TEXT NOT NULL,
      PRIMARY KEY (soul, function)
    ) STRICT
    """,
    """
    CREATE TABLE mind_authority_history (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      function TEXT NOT NULL,
      level_before INTEGER NOT NULL,
      level INTEGER NOT NULL,
      why TEXT NOT NULL,
      decided_by TEXT NOT NULL,
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX proposals_by_conversation ON approvals (conversation) WHERE tool GLOB 'mind.*'",
    "CREATE INDEX proposals_by_soul ON approvals (soul, state) WHERE tool GLOB 'mind.*'",
    # What a soul expects, numbered for each soul: P1, P2. `kind` is what decides it; `exchanges`: how many are left
    # where it waits for exchanges; `shown`: a thought was given what came of it. With the words of its thought its own
    # go; numbers stay.
    """
    CREATE TABLE predictions (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      id TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      audience TEXT NOT NULL,
      readers TEXT NOT NULL,                     -- JSON: before whom it was expected
      thought TEXT NOT NULL REFERENCES thoughts (id),
      confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
      kind TEXT NOT NULL CHECK (kind IN ('reply', 'mention', 'silence', 'goal', 'tool', 'sense', 'none')),
      goal TEXT NOT NULL,                        -- the goal that has to be completed, '' for another kind
      made_ms INTEGER NOT NULL,
      due_ms INTEGER NOT NULL,
      exchanges INTEGER,
      state TEXT NOT NULL CHECK (state IN ('open', 'hit', 'miss', 'unresolved', 'withdrawn')),
      scored_by TEXT NOT NULL DEFAULT '' CHECK (scored_by IN ('', 'rule', 'person', 'judge')),
      surprise REAL,
      scored_ms INTEGER,
      shown INTEGER NOT NULL DEFAULT 0 CHECK (shown IN (0, 1)),
      what TEXT NOT NULL,
      timeframe TEXT NOT NULL,
      awaited TEXT NOT NULL,                     -- JSON: the check
      UNIQUE (soul, id)
    ) STRICT
    """,
    "CREATE INDEX predictions_here ON predictions (conversation, seq) WHERE state = 'open'",
    "CREATE INDEX predictions_due ON predictions (soul, workspace, due_ms) WHERE state = 'open'",
    "CREATE INDEX predictions_in_force ON predictions (soul, workspace, audience, seq) WHERE state = 'open'",
    """
    CREATE INDEX predictions_unseen ON predictions (conversation, surprise)
    WHERE shown = 0 AND state IN ('hit', 'miss')
    """,
    "CREATE INDEX predictions_of_goals ON predictions (soul, goal) WHERE state = 'open' AND goal <> ''",
    "CREATE INDEX predictions_by_thought ON predictions (thought)",
    "CREATE INDEX predictions_by_soul ON predictions (soul, seq)",
    "CREATE INDEX predictions_scored ON predictions (soul, state, scored_ms, kind, confidence)",
    # What all that a soul expected came to: figures alone.
    """
    CREATE TABLE prediction_sums (
      soul TEXT PRIMARY KEY,
      scored INTEGER NOT NULL,
      hits INTEGER NOT NULL,
      confidence REAL NOT NULL,
      squared REAL NOT NULL
    ) STRICT
    """,
    """
    CREATE TRIGGER predictions_summed AFTER UPDATE OF state ON predictions
    WHEN OLD.state = 'open' AND NEW.state IN ('hit', 'miss')
    BEGIN
      INSERT INTO prediction_sums (soul, scored, hits, confidence, squared)
      VALUES (NEW.soul, 1, NEW.state = 'hit', NEW.confidence, NEW.surprise * NEW.surprise)
      ON CONFLICT (soul) DO UPDATE SET scored = scored + 1, hits = hits + excluded.hits,
        confidence = confidence + excluded.confidence, squared = squared + excluded.squared;
    END
    """,
    """
    CREATE TRIGGER predictions_go_with_thoughts AFTER UPDATE OF emptied ON thoughts
    WHEN NEW.emptied = 1 AND OLD.emptied = 0
    BEGIN
      UPDATE predictions SET what = '', timeframe = '', awaited = json_object('kind', kind),
        state = CASE state WHEN 'open' THEN 'withdrawn' ELSE state END
      WHERE thought = NEW.id;
    END
    """,
    """
    CREATE TRIGGER predictions_narrow_with_thoughts AFTER UPDATE OF audience ON thoughts
    BEGIN
      UPDATE predictions SET audience = NEW.audience WHERE thought = NEW.id;
    END
    """,
    """
    CREATE TRIGGER predictions_of_goals_done AFTER UPDATE OF state ON goals
    WHEN NEW.state = 'done' AND OLD.state <> 'done'
    BEGIN
      UPDATE predictions SET state = 'hit', scored_by = 'rule', surprise = 1 - confidence, scored_ms = NEW.closed_ms
      WHERE soul = NEW.soul AND goal = NEW.id AND state = 'open' AND goal <> '' AND due_ms >= NEW.closed_ms;
    END
    """,
    # The documents of a mind, part by part: the newest row of a part is in force, all are its history. Those of the
    # soul itself (values, identity) have neither workspace nor audience. `attribute` is that of an entity, or what an
    # uncertainty is known by; `person` the one whom a belief is about, which fades at `until_ms`.
    """
    CREATE TABLE mind_documents (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      audience TEXT NOT NULL,
      document TEXT NOT NULL CHECK (document IN ('self_model', 'world_model', 'values', 'identity')),
      part TEXT NOT NULL,
      attribute TEXT NOT NULL,
      act TEXT NOT NULL CHECK (act IN ('hold', 'drop', 'adopt', 'reinterpret', 'deactivate', 'draft', 'commit',
        'revise', 'withdraw')),
      words TEXT NOT NULL,
      why TEXT NOT NULL,
      person TEXT NOT NULL,
      thought TEXT NOT NULL,
      conversation TEXT NOT NULL,                -- where it was thought
      readers TEXT NOT NULL,                     -- JSON: before whom
      at_ms INTEGER NOT NULL,
      until_ms INTEGER,
      newest INTEGER NOT NULL CHECK (newest IN (0, 1))
    ) STRICT
    """,
    """
    CREATE INDEX mind_documents_in_force ON mind_documents (soul, workspace, audience, document, seq) WHERE newest = 1
    """,
    """
    CREATE INDEX mind_documents_by_part ON mind_documents (soul, workspace, audience, document, part, attribute, seq)
    """,
    "CREATE INDEX mind_documents_by_thought ON mind_documents (thought)",
    "CREATE INDEX mind_documents_by_conversation ON mind_documents (conversation)",
    "CREATE INDEX mind_documents_by_person ON mind_documents (person, workspace) WHERE person <> ''",
    "CREATE INDEX mind_documents_by_end ON mind_documents (until_ms) WHERE until_ms IS NOT NULL",
    "CREATE INDEX mind_documents_by_age ON mind_documents (at_ms) WHERE audience <> ''",
    # Where what was in force goes, what was in force before is again.
    """
    CREATE TRIGGER mind_documents_as_before AFTER DELETE ON mind_documents WHEN OLD.newest = 1 BEGIN
      UPDATE mind_documents SET newest = 1 WHERE seq = (
        SELECT max(seq) FROM mind_documents WHERE soul = OLD.soul AND workspace = OLD.workspace
          AND audience = OLD.audience AND document = OLD.document AND part = OLD.part AND attribute = OLD.attribute);
    END
    """,
    # The newest ids whose words changed or went, for thoughts that are being thought meanwhile. Nothing is noted before
    # the first row, which has no id: a soul that thinks whole thoughts has read memory.
    """
    CREATE TABLE changed_words (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      source TEXT NOT NULL
    ) STRICT
    """,
    # It lost its words by its own age: what rests on it keeps its own until words change that led to it.
    "ALTER TABLE thoughts ADD COLUMN aged INTEGER NOT NULL DEFAULT 0 CHECK (aged IN (0, 1))",
    "CREATE INDEX thoughts_aged ON thoughts (conversation, saw_to) WHERE aged = 1",
    # Turns that are gone by their age, on which thoughts may rest: who deletes such a message empties these, too.
    """
    CREATE TABLE aged_turns (
      seq INTEGER PRIMARY KEY,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      ts TEXT NOT NULL,
      conversation TEXT NOT NULL,
      author TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX aged_turns_by_message ON aged_turns (workspace, channel, ts)",
    "CREATE INDEX aged_turns_by_author ON aged_turns (workspace, author)",
)


def upgrade() -> None:
    """Append what a mind holds that goes on."""
    for statement in CHANGES:
        op.execute(statement)
