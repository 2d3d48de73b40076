"""What schema 6 adds for recall: sizes of the indexes, the neighbours of turns, what surfaced to which reply."""

_TALK_GOES_ON_MS = 4 * 3_600_000  # a turn that comes later begins another talk
_CODES = "'[\"' || replace({row}.readers, ' ', '\",\"') || '\"]'"

RECALL: tuple[str, ...] = (
    # How many rows stand behind each code of an index, so that a word's rareness is counted among those.
    """
    CREATE TABLE index_sizes (
      name TEXT NOT NULL, code TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (name, code)
    ) STRICT, WITHOUT ROWID
    """,
    *(
        f"""
        INSERT INTO index_sizes (name, code, size)
        SELECT '{name}', code.value, count(*) FROM {name}_words w, json_each({_CODES.format(row="w")}) code
        GROUP BY code.value
        """  # noqa: S608 - literals of this module
        for name in ("turn", "library", "record")
    ),
    *(
        f"""
        CREATE TRIGGER {name}_words_{event} AFTER {change} ON {name}_words
        BEGIN
          INSERT INTO index_sizes (name, code, size)
          SELECT '{name}', value, {step} FROM json_each({_CODES.format(row=row)}) WHERE true
          ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
        END
        """  # noqa: S608 - literals of this module
        for name in ("turn", "library", "record")
        for event, change, row, step in (("counted", "INSERT", "NEW", 1), ("discounted", "DELETE", "OLD", -1))
    ),
    # A search walks every segment of an index, so that two of a size are joined already.
    *(
        f"INSERT INTO {name}_index ({name}_index, rank) VALUES ('usermerge', 2)"  # noqa: S608 - literals of this module
        for name in ("turn", "library", "record")
    ),
    # The turns before and behind a turn, of one talk and audience: their words help to find it, and none is copied.
    """
    CREATE TABLE turn_places (
      seq INTEGER PRIMARY KEY, before INTEGER, after INTEGER,
      visit INTEGER NOT NULL                     -- seq of the first turn of the talk
    ) STRICT
    """,
    f"""
    WITH behind AS (
      SELECT seq, conversation,
             CASE WHEN lag(audience) OVER talk = audience AND said_ms - lag(said_ms) OVER talk
                  BETWEEN 0 AND {_TALK_GOES_ON_MS} THEN lag(seq) OVER talk END AS before
      FROM turns WHERE kind <> 'apology' WINDOW talk AS (PARTITION BY conversation ORDER BY seq)
    )
    INSERT INTO turn_places (seq, before, after, visit)
    SELECT seq, before, CASE WHEN lead(before) OVER talk = seq THEN lead(seq) OVER talk END,
           max(CASE WHEN before IS NULL THEN seq END) OVER talk
    FROM behind WINDOW talk AS (PARTITION BY conversation ORDER BY seq)
    """,  # noqa: S608 - literals of this module
    f"""
    CREATE TRIGGER turns_placed AFTER INSERT ON turns WHEN NEW.kind <> 'apology'
    BEGIN
      INSERT INTO turn_places (seq, before, visit)
      SELECT NEW.seq, p.seq, p.visit FROM turns t JOIN turn_places p ON p.seq = t.seq
      WHERE t.seq = (SELECT seq FROM turns WHERE conversation = NEW.conversation AND seq < NEW.seq AND kind <> 'apology'
                     ORDER BY seq DESC LIMIT 1)
        AND t.audience = NEW.audience AND NEW.said_ms - t.said_ms BETWEEN 0 AND {_TALK_GOES_ON_MS};
      INSERT INTO turn_places (seq, visit) VALUES (NEW.seq, NEW.seq) ON CONFLICT DO NOTHING;
      UPDATE turn_places SET after = NEW.seq WHERE seq = (SELECT before FROM turn_places WHERE seq = NEW.seq);
    END
    """,  # noqa: S608 - literals of this module
    """
    CREATE TRIGGER turns_displaced AFTER DELETE ON turns
    BEGIN
      UPDATE turn_places SET after = g.after FROM turn_places g WHERE g.seq = OLD.seq AND turn_places.seq = g.before;
      UPDATE turn_places SET before = g.before FROM turn_places g WHERE g.seq = OLD.seq AND turn_places.seq = g.after;
      DELETE FROM turn_places WHERE seq = OLD.seq;
    END
    """,
    # What was shown to a reply while it was made; ids alone, which say nothing once their memory is gone.
    """
    CREATE TABLE surfaced (
      trace_id TEXT NOT NULL,                    -- of the reply
      id TEXT NOT NULL,                          -- TU_12, sem_0a1b2c3d, LB_7 …
      mark TEXT NOT NULL,                        -- by which the reply may cite it: `m1 3`; '': a fact of a person
      score REAL NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (trace_id, id)
    ) STRICT, WITHOUT ROWID
    """,
    # From a post of the soul's to the message that it answers.
    "CREATE INDEX inbox_by_answer ON inbox (answered_by) WHERE answered_by IS NOT NULL",
    """
    CREATE TRIGGER surfaced_goes_with_its_reply AFTER DELETE ON turns WHEN OLD.speaker = 'soul'
    BEGIN
      DELETE FROM surfaced WHERE trace_id = OLD.trace_id
        AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.trace_id = OLD.trace_id AND t.speaker = 'soul');
    END
    """,
    "CREATE INDEX user_models_met_last ON user_models (soul, workspace, seen_ms)",  # whose names a question may hold
)
