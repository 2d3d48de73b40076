"""Intentions that wait for a topic, a person or a silence, a part of version 6.

What is due then is the end of their time, or the silence.
"""

from daemon.memory.database.migrations.vector_triggers import triggers

INTENTIONS: tuple[str, ...] = (
    """
    ALTER TABLE intentions ADD COLUMN cue TEXT NOT NULL DEFAULT ''
      CHECK (cue IN ('', 'topic', 'person', 'silence'))
    """,
    "CREATE INDEX intentions_silences ON intentions (conversation) WHERE state = 'waiting' AND cue = 'silence'",
    """
    CREATE TABLE cues (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,     -- its vector is known as CU_ and this
      intention TEXT NOT NULL UNIQUE REFERENCES intentions (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      topic TEXT NOT NULL,                       -- what is to be written about; empty for anything
      person TEXT NOT NULL,                      -- platform id of who is to write; empty for anybody
      silence_ms INTEGER NOT NULL,               -- how long there are to be no words; 0: it waits for words
      since_ms INTEGER NOT NULL,                 -- words that were said before don't count
      until_ms INTEGER NOT NULL,
      fires_left INTEGER NOT NULL CHECK (fires_left > 0),
      pending TEXT NOT NULL DEFAULT '',          -- id of the inbox row that reports it now
      hits INTEGER NOT NULL DEFAULT 0            -- such rows so far
    ) STRICT
    """,
    "CREATE INDEX intentions_silent ON intentions (conversation) WHERE cue = 'silence' AND state = 'waiting'",
    "CREATE INDEX cues_for_words ON cues (soul, workspace) WHERE silence_ms = 0",
    "CREATE INDEX cues_by_person ON cues (person) WHERE person <> ''",
    "CREATE INDEX cues_pending ON cues (pending) WHERE pending <> ''",
    # A few words of each cue, or `@` and the person: a message is looked up by its own words, however many cues wait.
    """
    CREATE TABLE cue_words (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      word TEXT NOT NULL,
      cue INTEGER NOT NULL REFERENCES cues (seq) ON DELETE CASCADE,
      PRIMARY KEY (soul, workspace, word, cue)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX cue_words_of ON cue_words (cue)",
    # Messages that are still to be held against the cues.
    """
    CREATE TABLE heard_words (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      message TEXT NOT NULL UNIQUE,              -- id of the inbox row
      tries INTEGER NOT NULL DEFAULT 0,
      not_before INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX heard_words_next ON heard_words (soul, workspace, not_before)",
    # A person wrote: the silences of the conversation begin anew, and the words are queued for the other cues.
    """
    CREATE TRIGGER words_reach_cues AFTER INSERT ON inbox WHEN NEW.modality = 'words' BEGIN
      UPDATE intentions SET due_ms =
        (SELECT min(CAST(CAST(NEW.ts AS REAL) * 1000 AS INTEGER) + c.silence_ms, c.until_ms)
         FROM cues c WHERE c.intention = intentions.id)
      WHERE conversation = NEW.conversation AND state = 'waiting' AND cue = 'silence' AND EXISTS
        (SELECT 1 FROM cues c WHERE c.intention = intentions.id AND c.since_ms < CAST(NEW.ts AS REAL) * 1000
           AND (intentions.due_ms < CAST(NEW.ts AS REAL) * 1000 + c.silence_ms OR intentions.due_ms >= c.until_ms));
      INSERT INTO heard_words (soul, workspace, message)
      SELECT NEW.soul, NEW.workspace, NEW.id WHERE EXISTS
        (SELECT 1 FROM cues WHERE soul = NEW.soul AND workspace = NEW.workspace AND silence_ms = 0);
    END
    """,
    # However the report ends, the cue learns of it: one that was posted counts, after any other end it waits on.
    """
    CREATE TRIGGER cues_are_reported AFTER UPDATE OF state ON inbox
    WHEN NEW.modality = 'time' AND OLD.state IN ('new', 'claimed') AND NEW.state NOT IN ('new', 'claimed') BEGIN
      UPDATE intentions SET fired = fired + 1,
        settled_ms = CASE c.fires_left WHEN 1 THEN NEW.settled_ms END,
        state = CASE c.fires_left WHEN 1 THEN 'due' ELSE state END
      FROM (SELECT intention, fires_left FROM cues WHERE pending = NEW.id AND pending <> '') c -- so it finds the index
      WHERE NEW.state = 'answered' AND id = c.intention;
      UPDATE cues SET pending = '', fires_left = CASE NEW.state WHEN 'answered' THEN fires_left - 1 ELSE fires_left END
      WHERE pending = NEW.id AND pending <> '';
    END
    """,
    # Its words go as soon as it waits no more.
    """
    CREATE TRIGGER cues_end_with_their_intention AFTER UPDATE OF state ON intentions
    WHEN NEW.cue <> '' AND NEW.state <> 'waiting' BEGIN
      DELETE FROM cues WHERE intention = NEW.id;
    END
    """,
    *triggers("cues", "'CU_' || {row}.seq", "topic"),
)
